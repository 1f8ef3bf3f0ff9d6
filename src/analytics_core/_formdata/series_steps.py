"""The steps that make series of a result: pivot, comparison, windows, resampling, names, shares, forecast."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from analytics_core._formdata.base_query import axis_label, time_grain
from analytics_core._formdata.form import Form, FormValue, column_label, metric_label

_COMPARISONS: Final = frozenset({"values", "difference", "percentage", "ratio"})
_DERIVED: Final = _COMPARISONS - {"values"}
_WINDOWS: Final = frozenset({"sum", "mean", "std"})
_SEPARATOR: Final = "__"
FLATTEN: Final = FormValue({"operation": "flatten"})


class Series:
    """The metrics and dimensions of a chart of series, and the periods that it compares.

    Args:
        form: the fields of the chart.
        metrics: what is measured, those that only sort among them.
        dimensions: what tells series apart.
    """

    def __init__(self, form: Form, metrics: Iterable[FormValue], dimensions: Iterable[FormValue]) -> None:
        self._form = form
        metrics, dimensions = tuple(metrics), tuple(dimensions)
        self._measured = tuple(dict.fromkeys(name for metric in metrics for name in metric.origin))
        self._split = tuple(dict.fromkeys(name for column in dimensions for name in column.origin))
        self._metrics = tuple(metric_label(metric.value) for metric in metrics)
        self._dimensions = tuple(column_label(column.value) for column in dimensions)
        self._axis = axis_label(form)
        self._kind = form.text("comparison_type")
        periods = form.items("time_compare") if self._kind in _COMPARISONS and self._metrics else ()
        origin = (form.name("time_compare"), form.name("comparison_type"), *self._measured)
        self.periods = tuple(FormValue(period.value, origin) for period in periods)
        self._compared = [
            (metric, period.value, f"{metric}{_SEPARATOR}{period.value}")
            for metric in self._metrics
            for period in self.periods
        ]

    def pivot(self) -> FormValue | None:
        """Return the step that makes a column of each series."""
        if self._axis is None or not self._metrics:
            return None
        aggregates = dict.fromkeys((*self._metrics, *(label for *_, label in self._compared)))
        options = {
            "index": [self._axis],
            "columns": list(self._dimensions),
            "aggregates": {label: {"operator": "mean"} for label in aggregates},
            "drop_missing_columns": not self._form.flag("show_empty_columns"),
        }
        return self._step("pivot", options, "x_axis", "groupby", "metrics", "time_compare", "show_empty_columns")

    def window(self) -> FormValue | None:
        """Return the step that sums or averages over a moving window, or adds up."""
        labels = (*self._metrics, *(label for *_, label in self._compared))
        columns = {label: label for label in labels}
        kind = self._form.get("rolling_type")
        if kind == "cumsum":
            return self._step("cum", {"operator": "sum", "columns": columns}, "rolling_type", "metrics")
        if not isinstance(kind, str) or kind not in _WINDOWS:
            return None
        options = {
            "rolling_type": kind,
            "window": _whole(self._form, "rolling_periods", 1),
            "min_periods": _whole(self._form, "min_periods", 0),
            "columns": columns,
        }
        return self._step("rolling", options, "rolling_type", "rolling_periods", "min_periods", "metrics")

    def compare(self) -> FormValue | None:
        """Return the step that computes differences, ratios or percentages between periods."""
        if not self._compared or self._kind not in _DERIVED:
            return None
        options = {
            "source_columns": [metric for metric, *_ in self._compared],
            "compare_columns": [label for *_, label in self._compared],
            "compare_type": self._kind,
            "drop_original_columns": True,
        }
        return self._step("compare", options, "comparison_type", "time_compare", "metrics")

    def resample(self) -> FormValue | None:
        """Return the step that gives the axis an even pace."""
        method, rule = self._form.get("resample_method"), self._form.get("resample_rule")
        if not method or not rule:
            return None
        fills = method == "zerofill"
        options = {"method": "asfreq" if fills else method, "rule": rule, "fill_value": 0 if fills else None}
        return self._step("resample", options, "resample_method", "resample_rule")

    def rename(self) -> FormValue | None:
        """Return the step that takes names of metrics away where they tell nothing apart."""
        if self._axis is None or not self._metrics:
            return None
        names: dict[str, str | None] = {
            self._derived(metric, label): self._short(metric, period) for metric, period, label in self._compared
        }
        if not names:
            is_split = self._dimensions or len(self._form.items("time_compare")) > 1
            wanted = self._form.flag("truncate_metric") and self._kind not in _DERIVED
            if not (is_split and wanted and len(self._metrics) == 1):
                return None
            names = {self._metrics[0]: None}
        options = {"columns": names, "level": 0, "inplace": True}
        return self._step("rename", options, "truncate_metric", "metrics", "groupby", "time_compare", "comparison_type")

    def share(self) -> FormValue | None:
        """Return the step that turns values into shares of their row or column."""
        orientation = self._form.get("contributionMode")
        if not orientation:
            return None
        options = {"orientation": orientation, "time_shifts": [period.value for period in self.periods]}
        return self._step("contribution", options, "contributionMode", "time_compare")

    def sort(self) -> FormValue | None:
        """Return the step that sorts the axis where the chart has one series a metric."""
        key, ascending = self._form.get("x_axis_sort"), self._form.get("x_axis_sort_asc")
        sortable = (self._axis, *self._metrics)
        if not key or ascending is None or key not in sortable or self._form.items("groupby"):
            return None
        by: dict[str, Any] = {"is_sort_index": True} if key == self._axis else {"by": key}
        return self._step("sort", {**by, "ascending": ascending}, "x_axis_sort", "x_axis_sort_asc")

    def forecast(self) -> FormValue | None:
        """Return the step that goes on with the series into the future."""
        if not self._form.flag("forecastEnabled"):
            return None
        options = {
            "time_grain": time_grain(self._form),
            "periods": self._form.count("forecastPeriods"),
            "confidence_interval": self._form.number("forecastInterval"),
            "yearly_seasonality": self._form.get("forecastSeasonalityYearly"),
            "weekly_seasonality": self._form.get("forecastSeasonalityWeekly"),
            "daily_seasonality": self._form.get("forecastSeasonalityDaily"),
            "index": self._axis,
        }
        told = {name: value for name, value in options.items() if value is not None}
        return self._step("prophet", told, "forecastEnabled", "forecastPeriods", "forecastInterval")

    def _step(self, operation: str, options: dict[str, Any], *fields: str) -> FormValue:
        """Return a step that comes from these fields; `metrics` and `groupby` stand for those of this chart."""
        own = {"metrics": self._measured, "groupby": self._split}
        origin = (name for field in fields for name in own.get(field, (self._form.name(field),)))
        return FormValue({"operation": operation, "options": options}, tuple(dict.fromkeys(origin)))

    def _derived(self, metric: str, label: str) -> str:
        return label if self._kind == "values" else _SEPARATOR.join((str(self._kind), metric, label))

    def _short(self, metric: str, period: str) -> str:
        return f"{metric}, {period}" if len(self._metrics) > 1 else period


def _whole(form: Form, name: str, default: int) -> int:
    value = form.number(name)
    return default if value is None else int(value)

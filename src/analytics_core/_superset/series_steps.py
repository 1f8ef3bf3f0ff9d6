"""The steps that make series of a result: pivot, comparison, windows, resampling, names, shares, forecast."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from analytics_core._records.chart_form import column_label, metric_label
from analytics_core._superset.base_query import axis_label
from analytics_core._superset.form import Form, FormValue

_COMPARISONS: Final = frozenset({"values", "difference", "percentage", "ratio"})
_AS_IT_IS: Final = "values"
_DERIVED: Final = _COMPARISONS - {_AS_IT_IS}
_OLD_COMPARISONS: Final = {"absolute": "difference"}
_WINDOWS: Final = frozenset({"sum", "mean", "std"})
_SUMMED: Final = "cumsum"
_SEASON: Final = "forecastSeasonality"
_SEASONS: Final = ("Yearly", "Weekly", "Daily")
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
        self._sources = {"metrics": _fields_of(metrics), "groupby": _fields_of(dimensions)}
        self._metrics = tuple([metric_label(metric.value) for metric in metrics])
        self._dimensions = [column_label(column.value) for column in dimensions]
        self._axis = axis_label(form)
        comparison = form.text("comparison_type")
        self._kind = _OLD_COMPARISONS.get(comparison, comparison) if comparison is not None else _AS_IT_IS
        self.periods = self._compared_periods()
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
            "columns": self._dimensions,
            "aggregates": {label: {"operator": "mean"} for label in aggregates},
            "drop_missing_columns": not self._form.flag("show_empty_columns"),
        }
        return self._step("pivot", options, "x_axis", "groupby", "metrics", "time_compare", "show_empty_columns")

    def window(self) -> FormValue | None:
        """Return the step that sums or averages over a moving window, or adds up."""
        kind = self._form.one_of("rolling_type", (_SUMMED, *_WINDOWS))
        if kind is None:
            return None
        columns = {label: label for label in (*self._metrics, *(label for *_, label in self._compared))}
        if kind == _SUMMED:
            return self._step("cum", {"operator": "sum", "columns": columns}, "rolling_type", "metrics")
        options = {
            "rolling_type": kind,
            "window": _integer(self._form, "rolling_periods", 1),
            "min_periods": _integer(self._form, "min_periods", 0),
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
        return self._share(self._form.get("contributionMode"), "contributionMode")

    def share_of_total(self) -> FormValue | None:
        """Return the step that turns values into shares of their row, as older kinds of charts ask for it."""
        return self._share("row" if self._form.flag("contribution") else None, "contribution")

    def _share(self, orientation: Any, field: str) -> FormValue | None:
        if not orientation:
            return None
        options = {"orientation": orientation, "time_shifts": [period.value for period in self.periods]}
        return self._step("contribution", options, field, "time_compare")

    def sort(self) -> FormValue | None:
        """Return the step that sorts the axis where the chart has one series a metric."""
        key, ascending = self._form.get("x_axis_sort"), self._form.get("x_axis_sort_asc")
        sortable = (self._axis, *self._metrics)
        if not key or ascending is None or key not in sortable or self._form.items("groupby"):
            return None
        by: dict[str, Any] = {"is_sort_index": True} if key == self._axis else {"by": key}
        return self._step("sort", {**by, "ascending": ascending}, "x_axis_sort", "x_axis_sort_asc")

    def forecast(self, grain: FormValue) -> FormValue | None:
        """Return the step that goes on with the series into the future, at the pace of the grain of the axis."""
        if not self._form.flag("forecastEnabled"):
            return None
        options = {
            "time_grain": grain.value,
            "periods": self._form.count("forecastPeriods"),
            "confidence_interval": self._form.number("forecastInterval"),
            **{f"{season.lower()}_seasonality": self._form.get(f"{_SEASON}{season}") for season in _SEASONS},
            "index": self._axis,
        }
        arguments = {name: value for name, value in options.items() if value is not None}
        seasons = (f"{_SEASON}{season}" for season in _SEASONS)
        fields = ("forecastEnabled", "forecastPeriods", "forecastInterval", *grain.origin, *seasons)
        return self._step("prophet", arguments, *fields)

    def _compared_periods(self) -> tuple[FormValue, ...]:
        """Return the periods: first those that name their distance, then the one that starts at a date of its own."""
        listed = self._form.listed("time_compare") if self._metrics else ()
        if listed and self._kind not in _COMPARISONS:
            self._form.one_of("comparison_type", _COMPARISONS)
            return ()
        if not listed:
            return ()
        origin = self._origin("time_compare", "comparison_type", "metrics")
        plain = [period for period in listed if period not in ("custom", "inherit")]
        found = [FormValue(period, origin) for period in plain]
        if "custom" in listed:
            found.append(FormValue(self._form.get("start_date_offset"), ("start_date_offset", *origin)))
        if "inherit" in listed:
            found.append(FormValue("inherit", origin))
        return tuple(found)

    def _step(self, operation: str, options: dict[str, Any], *fields: str) -> FormValue:
        return FormValue({"operation": operation, "options": options}, self._origin(*fields))

    def _origin(self, *fields: str) -> tuple[str, ...]:
        """Return these fields as they are stored; `metrics` and `groupby` stand for those of this chart."""
        found: list[str] = []
        for field in fields:
            if field in self._sources:
                found += self._sources[field]
            else:
                found.append(self._form.name(field))
        return tuple(found)

    def _derived(self, metric: str, label: str) -> str:
        return label if self._kind == _AS_IT_IS else _SEPARATOR.join((str(self._kind), metric, label))

    def _short(self, metric: str, period: str) -> str:
        return f"{metric}, {period}" if len(self._metrics) > 1 else period


def _fields_of(values: tuple[FormValue, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([name for value in values for name in value.origin]))


def _integer(form: Form, name: str, default: int) -> int:
    value = form.number(name)
    return default if value is None else int(value)

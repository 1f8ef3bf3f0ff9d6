"""Charts of how values are distributed: histograms, box plots, heatmaps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from analytics_core._records.chart_form import column_label, metric_label
from analytics_core._superset.base_query import (
    axis_columns,
    base_query,
    has_axis,
    mark_axis,
    temporal_columns,
)
from analytics_core._superset.chart_kind import ChartKind
from analytics_core._superset.draft import QueryDraft
from analytics_core._superset.form import Form, FormValue

_PERCENTILES: Final = re.compile(r"(\d{1,2})/(\d{1,2}) percentiles")


def _histogram(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    groups, measured = form.columns("groupby"), form.columns("column")
    query.put_list("columns", (*groups, *measured))
    query.drop("metrics")
    options = {
        "column": column_label(measured[0].value) if measured else None,
        "groupby": [column_label(group.value) for group in groups],
        "bins": form.count("bins"),
        "cumulative": form.flag("cumulative"),
        "normalize": form.flag("normalize"),
    }
    if not measured:
        form.reject("column", "must name the column whose values are counted")
    origin = ("column", "groupby", "bins", "cumulative", "normalize")
    query.put_steps(FormValue({"operation": "histogram", "options": options}, origin))
    return [query]


def _box_plot(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    groups = form.columns("groupby")
    spread = form.columns("columns") or form.columns("granularity_sqla")
    query.put_list("columns", (*temporal_columns(form, spread), *groups))
    query.put_list("series_columns", groups)
    options = {
        **_whiskers(form),
        "groupby": [column_label(group.value) for group in groups],
        "metrics": [metric_label(metric.value) for metric in query.list("metrics")],
    }
    origin = ("whiskerOptions", "groupby", "metrics")
    query.put_steps(FormValue({"operation": "boxplot", "options": options}, origin))
    return [query]


def _whiskers(form: Form) -> dict[str, Any]:
    option = form.text("whiskerOptions") or ""
    if option == "Tukey":
        return {"whisker_type": "tukey"}
    if option.startswith("Min/max"):
        return {"whisker_type": "min/max"}
    found = _PERCENTILES.match(option)
    if found is None:
        form.reject("whiskerOptions", "must be 'Tukey', 'Min/max (no outliers)' or such as '10/90 percentiles'")
        return {}
    return {"whisker_type": "percentile", "percentiles": [int(found[1]), int(found[2])]}


def _heatmap(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    axis = axis_columns(form) if has_axis(form) else ()
    groups = form.columns("groupby")
    columns = (*axis, *groups)
    query.put_list("columns", columns)
    metrics = form.metrics("metric")[:1]
    query.put_list("orderby", _heatmap_keys(form, columns, metrics))
    across = {"x": axis[:1], "y": groups[:1]}.get(str(form.get("normalize_across")), ())
    options: dict[str, Any] = {"metric": metric_label(metrics[0].value)} if metrics else {}
    if across:
        options["group_by"] = column_label(across[0].value)
    origin = ("metric", "normalize_across", "x_axis", "groupby")
    query.put_steps(FormValue({"operation": "rank", "options": options}, origin))
    mark_axis(form, query)
    return [query]


def _heatmap_keys(form: Form, columns: tuple[FormValue, ...], metrics: tuple[FormValue, ...]) -> Iterator[FormValue]:
    """Yield the sort keys of both axes: the column, or the metric for an axis that is sorted by values."""
    for name, column in zip(("sort_x_axis", "sort_y_axis"), columns, strict=False):
        order = form.text(name)
        if order and "value" not in order:
            yield FormValue([column.value, "asc" in order], (*column.origin, name))
        elif order:
            yield from (FormValue([metric_label(key.value), "asc" in order], (*key.origin, name)) for key in metrics)


_SORTED: Final = {"sort_x_axis": "alpha_asc", "sort_y_axis": "alpha_asc", "normalize_across": "heatmap"}

KINDS: Final = (
    ChartKind(name="histogram_v2", build=_histogram, defaults={"row_limit": 10_000, "bins": 5}, is_compared=True),
    ChartKind(
        name="box_plot", build=_box_plot, defaults={"row_limit": 10_000, "whiskerOptions": "Tukey"}, is_compared=True
    ),
    ChartKind(name="heatmap_v2", build=_heatmap, defaults={"row_limit": 10_000, **_SORTED}, is_compared=True),
)

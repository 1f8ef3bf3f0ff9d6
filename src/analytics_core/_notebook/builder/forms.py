"""The form data of a chart that asks what a query asks, by the kind of the chart."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from analytics_core._notebook.builder.expressions import ColumnExpression
from analytics_core._notebook.builder.payload import QueryAxes, chosen_series, extremes_of, limits_series, query_bounds
from analytics_core._notebook.builder.specification import QuerySpecification, VerbStep
from analytics_core.errors import QueryError, UnknownNameError

TABLE: Final = "table"


class ChartLayout(StrEnum):
    """Which fields of a form hold the columns of a chart."""

    SERIES = "series"
    PARTS = "parts"
    GRID = "grid"
    NUMBER = "number"
    PIVOT = "pivot"
    DISTRIBUTION = "distribution"


@dataclass(frozen=True, slots=True)
class ChartShape:
    """How a kind of chart names what it shows: its `viz_type`, its layout, and the fields of dimensions and metrics."""

    viz_type: str
    layout: ChartLayout
    dimensions: str = "groupby"
    metrics: str = "metrics"


SHAPES: Final[Mapping[str, ChartShape]] = MappingProxyType(
    {
        "line": ChartShape("echarts_timeseries_line", ChartLayout.SERIES),
        "bar": ChartShape("echarts_timeseries_bar", ChartLayout.SERIES),
        "area": ChartShape("echarts_area", ChartLayout.SERIES),
        "smooth": ChartShape("echarts_timeseries_smooth", ChartLayout.SERIES),
        "step": ChartShape("echarts_timeseries_step", ChartLayout.SERIES),
        "scatter": ChartShape("echarts_timeseries_scatter", ChartLayout.SERIES),
        "pie": ChartShape("pie", ChartLayout.PARTS, metrics="metric"),
        "funnel": ChartShape("funnel", ChartLayout.PARTS, metrics="metric"),
        "gauge": ChartShape("gauge_chart", ChartLayout.PARTS, metrics="metric"),
        "treemap": ChartShape("treemap_v2", ChartLayout.PARTS, metrics="metric"),
        "radar": ChartShape("radar", ChartLayout.PARTS),
        "sunburst": ChartShape("sunburst_v2", ChartLayout.PARTS, dimensions="columns", metrics="metric"),
        "heatmap": ChartShape("heatmap_v2", ChartLayout.GRID, metrics="metric"),
        "big_number": ChartShape("big_number", ChartLayout.NUMBER, metrics="metric"),
        "pivot_table": ChartShape("pivot_table_v2", ChartLayout.PIVOT),
        "histogram": ChartShape("histogram_v2", ChartLayout.DISTRIBUTION),
    }
)
"""The kinds that a query is drawn as, by short names; tables show what a query answers as it is."""

_ALLOWED: Final[Mapping[ChartLayout, tuple[str, ...]]] = MappingProxyType(
    {
        ChartLayout.SERIES: ("pivot", "rolling", "cumulative", "compare", "resample", "share", "forecast"),
        ChartLayout.NUMBER: ("rolling", "cumulative", "resample"),
        ChartLayout.PIVOT: ("pivot",),
    }
)
"""The steps that a chart has fields for, in the order in which it takes them."""

_ALONG_TIME: Final = (ChartLayout.SERIES, ChartLayout.NUMBER)
_QUESTION_FIELDS: Final = frozenset({"x_axis", "groupby", "columns", "column", "metric", "metrics", "viz_type"})
_SERIES_FIELDS: Final = frozenset({"series_columns", "series_limit", "limit", "series_limit_metric"})
_BOUND_FIELDS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "row_limit": frozenset({"row_limit", "server_pagination"}),
        "row_offset": frozenset({"row_offset"}),
        "orderby": frozenset({"order_by_cols", "order_desc", "sort_by_metric", "timeseries_limit_metric"}),
    }
)
"""The fields of forms that say what a query has under another name."""

_OTHER_KINDS: Final = (
    "charts of all kinds of the gallery are stored with their form: core.charts.create({'viz_type': 'waterfall', "
    "'params': json.dumps(form), ...})"
)
_WINDOWS: Final = ("mean", "sum", "std")
_BINS: Final = 20


def chart_form(kind: object, spec: QuerySpecification, axes: QueryAxes, *, dataset_id: int) -> dict[str, Any]:
    """Return the form of a chart that asks what a query asks.

    Raises:
        UnknownNameError: no such kind.
        QueryError: the kind has no field for a step, or for so many metrics or columns.
    """
    if not isinstance(kind, str) or kind not in SHAPES:
        raise UnknownNameError(str(kind), place=".chart", known=(TABLE, *SHAPES), hint=_OTHER_KINDS)
    shape = SHAPES[kind]
    _check_steps(kind, shape, spec, is_one_number=axes.axis is None)
    common = _common(spec, axes, dataset_id)
    series = [column.payload for column in axes.columns[1:]]
    if shape.layout is ChartLayout.SERIES and common.get("series_columns") != series:
        common.pop("series_columns", None)  # such a form tells series apart by them alone
    return {**common, **_columns(kind, shape, spec, axes), **_step_fields(spec)}


def chart_query(
    query: Mapping[str, Any], kind: str, spec: QuerySpecification, axes: QueryAxes, form: Collection[str]
) -> dict[str, Any]:
    """Return the query of a chart for the rows of the question, in its order; along a time axis, in order of time.

    Args:
        query: what the form of the chart asks; forms of many kinds have an order and a limit of their own.
        kind: of the chart.
        spec: the question.
        axes: its columns.
        form: the fields of the form that were given by hand; what they say stays.
    """
    given = set(form)
    if given & _QUESTION_FIELDS:
        return dict(query)
    bounds: dict[str, Any] = {"row_limit": None, "row_offset": None, **query_bounds(spec, axes)}
    # The order of a form would choose other rows than the question.
    if spec.limit is not None or spec.offset or kind == TABLE:
        bounds.setdefault("orderby", None)
    if axes.axis is not None and _runs_along_time(kind) and not bounds.get("orderby"):
        bounds["orderby"] = [[axes.axis.name, True]]
    overrides = {name: value for name, value in bounds.items() if not given & _BOUND_FIELDS.get(name, _SERIES_FIELDS)}
    return {name: value for name, value in {**query, **overrides}.items() if name not in overrides or value is not None}


def _runs_along_time(kind: str) -> bool:
    return kind in SHAPES and SHAPES[kind].layout in _ALONG_TIME


def table_form(spec: QuerySpecification, axes: QueryAxes, *, dataset_id: int) -> dict[str, Any]:
    """Return the form of a table of what a query answers; what a form of tables cannot say is left to its payload."""
    columns = [column.payload for column in axes.columns]
    common = {**_common(spec, axes, dataset_id), **_compared(spec), "viz_type": TABLE}
    if spec.metrics is None:
        return {**common, "query_mode": "raw", "all_columns": columns}
    metrics = [metric.payload for metric in spec.metrics]
    return {**common, "query_mode": "aggregate", "groupby": columns, "metrics": metrics}


# ------------------------------------------------------------------------------------------- what every form has
def _common(spec: QuerySpecification, axes: QueryAxes, dataset_id: int) -> dict[str, Any]:
    fields: dict[str, Any] = {"datasource": f"{dataset_id}__table", "adhoc_filters": _filters(spec)}
    if spec.time_range is not None:
        fields |= {"granularity_sqla": axes.time_column, "time_range": spec.time_range}
    if spec.order:
        fields["order_by_cols"] = [json.dumps([key.label, key.is_ascending]) for key in spec.order]
    if spec.layers:
        fields["annotation_layers"] = [dict(layer) for layer in spec.layers]
    if spec.offset:
        fields["row_offset"] = spec.offset
    return {**fields, **_limits(spec, axes)}


def _limits(spec: QuerySpecification, axes: QueryAxes) -> dict[str, Any]:
    fields: dict[str, Any] = {"row_limit": spec.limit}  # null: no limit of the kind, that of all questions
    if spec.top is None:
        return fields
    count, by = spec.top
    key = by or (spec.metrics[0].desc() if spec.metrics else None)
    if limits_series(spec, axes):
        fields |= {"series_columns": chosen_series(spec, axes), "series_limit": count}
    else:
        fields["row_limit"] = count if spec.limit is None else min(count, spec.limit)
    if key is not None:
        fields |= {"timeseries_limit_metric": key.payload, "order_desc": not key.is_ascending}
    return {**fields, **({"group_others_when_limit_reached": True} if spec.has_others else {})}


def _filters(spec: QuerySpecification) -> list[dict[str, Any]]:
    simple = [
        {
            "expressionType": "SIMPLE",
            "clause": "WHERE",
            "subject": item["col"],
            "operator": item["op"],
            **({"comparator": item["val"]} if "val" in item else {}),
        }
        for item in spec.filters
    ]
    written = (("WHERE", spec.where), ("HAVING", spec.having))
    texts = [
        {"expressionType": "SQL", "clause": clause, "sqlExpression": text} for clause, own in written for text in own
    ]
    return [*simple, *texts]


# --------------------------------------------------------------------------------------- columns and metrics by kind
def _columns(kind: str, shape: ChartShape, spec: QuerySpecification, axes: QueryAxes) -> dict[str, Any]:
    if shape.layout is ChartLayout.DISTRIBUTION:
        return _distribution(kind, shape, spec, axes)
    metrics = [metric.payload for metric in spec.metrics or ()]
    if not metrics:
        raise QueryError(f"a {kind} chart needs a metric; name one: query('revenue')")
    if shape.metrics == "metric" and len(metrics) > 1:
        raise QueryError(f"a {kind} chart shows one metric, and the query has {len(metrics)}")
    fields = {"viz_type": shape.viz_type, shape.metrics: metrics[0] if shape.metrics == "metric" else metrics}
    columns = [column.payload for column in axes.columns]
    match shape.layout:
        case ChartLayout.SERIES | ChartLayout.GRID:
            return {**fields, **_along(kind, shape, spec, axes), **_style(kind, spec, axes)}
        case ChartLayout.NUMBER:
            return {**fields, **_number(kind, axes, is_compared=bool(spec.offsets))}
        case ChartLayout.PIVOT:
            across = [name for step in spec.steps if step.verb == "pivot" for name in step.options["columns"]]
            return {
                **fields,
                **_totals(spec),
                "groupbyColumns": [column.payload for column in axes.columns if column.name in across],
                "groupbyRows": [column.payload for column in axes.columns if column.name not in across],
            }
    return {**fields, shape.dimensions: columns}


def _totals(spec: QuerySpecification) -> dict[str, Any]:
    """Return how cells are added up; of extremes also where no step asks for totals, which a field of the form may."""
    extremes = {extremes_of(spec).get(metric.name) for metric in spec.metrics or ()}
    extreme = extremes.pop() if len(extremes) == 1 else None
    function = _TOTALS[extreme] if not extremes else None
    if not any(step.verb == "pivot" and step.options["totals"] for step in spec.steps):
        return {} if extreme is None else {"aggregateFunction": function}
    if function is None:
        raise QueryError(f"a pivot table has totals of one kind; draw sums and extremes apart, or .chart('{TABLE}')")
    return {"rowTotals": True, "colTotals": True, "aggregateFunction": function}


_TOTALS: Final[Mapping[str | None, str]] = MappingProxyType({None: "Sum", "min": "Minimum", "max": "Maximum"})


def _style(kind: str, spec: QuerySpecification, axes: QueryAxes) -> dict[str, Any]:
    """Return what suits a kind: values of a step hold until the next one, and areas would hide one another."""
    if kind == "step":
        return {"seriesType": "end"}
    is_alone = len(axes.columns) < 2 or bool(spec.offsets) or any(step.verb == "forecast" for step in spec.steps)
    return {} if kind != "area" or is_alone else {"stack": "Stack"}


def _along(kind: str, shape: ChartShape, spec: QuerySpecification, axes: QueryAxes) -> dict[str, Any]:
    """Return an x-axis, the time axis where there is one, and what tells series or rows of a grid apart."""
    if not axes.columns:
        raise QueryError(f"a {kind} chart needs an axis; add .during('Last year', grain='month') or .by('country')")
    first, *rest = axes.columns
    if shape.layout is ChartLayout.GRID and len(rest) != 1:
        raise QueryError(f"a {kind} chart needs two columns, and the query has {len(axes.columns)}")
    fields: dict[str, Any] = {"x_axis": _axis_field(first, axes), "groupby": [column.payload for column in rest]}
    if axes.grain is not None:
        fields["time_grain_sqla"] = axes.grain
    if shape.layout is ChartLayout.GRID:
        return {**fields, "groupby": fields["groupby"][0]}
    key = _axis_order(spec)
    if axes.axis is None and key is not None:
        fields |= {"x_axis_sort": key[0], "x_axis_sort_asc": key[1]}
    return fields


def _axis_field(column: ColumnExpression, axes: QueryAxes) -> Any:
    """Return the column of an axis; its grain stands in a field of its own."""
    if column is not axes.axis or column.name != column.facts.name:
        return column.payload
    return column.facts.name


def _axis_order(spec: QuerySpecification) -> tuple[str, bool] | None:
    """Return by what categories along an axis are sorted."""
    if spec.order:
        return spec.order[0].label, spec.order[0].is_ascending
    if spec.top is None or not spec.metrics:
        return None
    key = spec.top[1] or spec.metrics[0].desc()
    return key.label, key.is_ascending


def _number(kind: str, axes: QueryAxes, *, is_compared: bool) -> dict[str, Any]:
    if axes.dimensions:
        raise QueryError(f"a {kind} chart shows one number, and the query is grouped by {axes.dimensions[0].name!r}")
    if axes.axis is None:
        return {"viz_type": "pop_kpi" if is_compared else "big_number_total"}
    return {"x_axis": _axis_field(axes.axis, axes), "time_grain_sqla": axes.grain}


def _distribution(kind: str, shape: ChartShape, spec: QuerySpecification, axes: QueryAxes) -> dict[str, Any]:
    if spec.metrics is not None or not axes.columns:
        raise QueryError(f"a {kind} chart counts the values of a column in its rows; name it: query().raw('amount')")
    measured, *groups = axes.columns
    grouped = [column.payload for column in groups]
    return {"viz_type": shape.viz_type, "column": measured.payload, "groupby": grouped, "bins": _BINS}


# -------------------------------------------------------------------------------------------------------- steps
def _check_steps(kind: str, shape: ChartShape, spec: QuerySpecification, *, is_one_number: bool) -> None:
    allowed = _ALLOWED.get(shape.layout, ())
    if shape.layout is ChartLayout.NUMBER and is_one_number:
        allowed = ("compare",)
    verbs = [step.verb for step in spec.steps]
    if shape.layout is ChartLayout.NUMBER and spec.offsets and (verbs or not is_one_number):
        raise QueryError(f"a {kind} chart compares one number with another one; leave out grain, show and other steps")
    unknown = next((verb for verb in verbs if verb not in allowed), "compare" if spec.offsets else None)
    if unknown is not None and unknown not in allowed:
        raise QueryError(f"a {kind} chart has no field for .{unknown}; leave it out, or draw .chart('{TABLE}')")
    pivots = [step.options for step in spec.steps if step.verb == "pivot"]
    lost = [
        option
        for one in pivots
        for option in ("fill", "totals")
        if one[option] is not None and one[option] is not False
    ]
    if "fill" in lost or (lost and shape.layout is not ChartLayout.PIVOT):
        raise QueryError(
            f"a {kind} chart has no field for {lost[0]} of .pivot; leave it out, or draw .chart('{TABLE}')"
        )
    places = [allowed.index(verb) for verb in verbs]
    if places != sorted(set(places)):
        order = ", ".join(f".{verb}" for verb in allowed)
        raise QueryError(f"a {kind} chart takes each step once and in this order: {order}; .chart('{TABLE}') takes all")


def _step_fields(spec: QuerySpecification) -> dict[str, Any]:
    fields = _compared(spec)
    for step in spec.steps:
        fields |= _FIELDS[step.verb](step) if step.verb in _FIELDS else {}
    return fields


def _compared(spec: QuerySpecification) -> dict[str, Any]:
    return {"time_compare": list(spec.offsets), "comparison_type": "values"} if spec.offsets else {}


def _window(step: VerbStep) -> dict[str, Any]:
    kind = step.options["rolling_type"]
    if kind not in _WINDOWS:
        raise QueryError(f"charts roll by {', '.join(_WINDOWS)}, not {kind!r}; .chart('{TABLE}') takes all")
    periods = step.options.get("min_periods", step.options["window"])
    return {"rolling_type": kind, "rolling_periods": step.options["window"], "min_periods": periods}


def _running(step: VerbStep) -> dict[str, Any]:
    if step.options["operator"] != "sum":
        raise QueryError(f"charts add up, and have no running {step.options['operator']}; .chart('{TABLE}') takes it")
    return {"rolling_type": "cumsum"}


def _even(step: VerbStep) -> dict[str, Any]:
    fill = step.options.get("fill_value")
    if fill is not None and (fill != 0 or step.options["method"] != "asfreq"):
        raise QueryError(f"charts fill with 0 by asfreq alone; .chart('{TABLE}') takes the others")
    method = step.options["method"] if fill is None else "zerofill"
    return {"resample_rule": step.options["rule"], "resample_method": method}


def _future(step: VerbStep) -> dict[str, Any]:
    return {
        "forecastEnabled": True,
        "forecastPeriods": step.options["periods"],
        "forecastInterval": step.options["confidence_interval"],
    }


_FIELDS: Final = MappingProxyType(
    {
        "rolling": _window,
        "cumulative": _running,
        "compare": lambda step: {"comparison_type": step.options["show"]},
        "resample": _even,
        "share": lambda step: {"contributionMode": step.options["orientation"]},
        "forecast": _future,
    }
)

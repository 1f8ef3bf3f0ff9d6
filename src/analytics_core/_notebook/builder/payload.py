"""From what a chain asks to a query context (contract, ChartDataQueryContextSchema)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from analytics_core._notebook.builder.expressions import ColumnExpression
from analytics_core._notebook.builder.operators import OrderKey
from analytics_core._notebook.builder.specification import QuerySpecification
from analytics_core._notebook.builder.steps import StepWriter
from analytics_core._notebook.builder.values import ColumnFacts, count_of, text_of
from analytics_core.errors import DuplicateLabelError, EmptyQueryError, QueryError
from analytics_core.models.enums import Aggregate, GenericType

BASE_AXIS: Final = "BASE_AXIS"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAxes:
    """The columns of a query: its time axis with its grain, and its dimensions beside it."""

    axis: ColumnExpression | None
    grain: str | None
    dimensions: tuple[ColumnExpression, ...]
    time_column: str | None

    @property
    def columns(self) -> tuple[ColumnExpression, ...]:
        """All columns that rows are grouped by, the axis first."""
        return self.dimensions if self.axis is None else (self.axis, *self.dimensions)


def query_axes(spec: QuerySpecification, *, main_time: str | None) -> QueryAxes:
    """Return the axis and the dimensions of a query.

    Args:
        spec: what is asked.
        main_time: the dataset's main time column.

    Raises:
        QueryError: a range or a grain of a dataset without a main time column.
    """
    time = spec.time_column or main_time
    if (spec.time_range is not None or spec.grain is not None) and time is None:
        raise QueryError(
            ".during needs a time column, and the dataset has no main one; name it: .as_time('ordered_on')"
        )
    if spec.grain is not None and time is not None:
        axis = _axis(time, spec.grain)
        dimensions = tuple(column for column in spec.columns if column.name != axis.name)
        return QueryAxes(axis=axis, grain=spec.grain, dimensions=dimensions, time_column=time)
    cut = next((column for column in spec.columns if _grain_of(column)), None)
    if cut is None:
        return QueryAxes(axis=None, grain=None, dimensions=spec.columns, time_column=time)
    axis = ColumnExpression(cut.facts, cut.code, {**cut.payload, "columnType": BASE_AXIS}, cut.name)
    dimensions = tuple(column for column in spec.columns if column is not cut)
    return QueryAxes(axis=axis, grain=_grain_of(cut), dimensions=dimensions, time_column=time)


def query_context(spec: QuerySpecification, *, dataset_id: int, main_time: str | None) -> dict[str, Any]:
    """Return the query context of what is asked; parts of it belong to the specification.

    Raises:
        EmptyQueryError: neither a metric nor a column.
        DuplicateLabelError: two of them have one name.
        QueryError: parts of the chain that do not go together; the message says what to do.
    """
    axes = query_axes(spec, main_time=main_time)
    query: dict[str, Any] = {"columns": [column.payload for column in axes.columns], **_metrics(spec)}
    _check_labels([column.name for column in axes.columns], [metric.name for metric in spec.metrics or ()])
    if spec.time_range is not None:
        query |= {"granularity": axes.time_column, "time_range": spec.time_range}
    extras = {"where": _joined(spec.where), "having": _joined(spec.having)}
    parts = {
        "filters": [dict(item) for item in spec.filters],
        "extras": {name: text for name, text in extras.items() if text},
        "time_offsets": list(spec.offsets),
        "annotation_layers": [dict(layer) for layer in spec.layers],
        "post_processing": _steps(spec, axes),
    }
    query |= {name: value for name, value in parts.items() if value}
    query |= query_bounds(spec, axes)
    return {"datasource": {"id": dataset_id, "type": "table"}, "queries": [query]}


def _axis(column: str, grain: str) -> ColumnExpression:
    from_name = {
        "columnType": BASE_AXIS,
        "expressionType": "SQL",
        "sqlExpression": column,
        "label": column,
        "timeGrain": grain,
        "isColumnReference": True,
    }
    facts = ColumnFacts(name=column, kind=GenericType.TEMPORAL, is_stored=True)
    return ColumnExpression(facts, column, from_name, column)


def _grain_of(column: ColumnExpression) -> str | None:
    return column.payload.get("timeGrain") if isinstance(column.payload, Mapping) else None


def _metrics(spec: QuerySpecification) -> dict[str, Any]:
    return {"metrics": None if spec.metrics is None else [metric.payload for metric in spec.metrics]}


def _check_labels(columns: Sequence[str], metrics: Sequence[str]) -> None:
    labels = [*columns, *metrics]
    if not labels:
        raise EmptyQueryError("the query asks for nothing; name a metric or a column: query('revenue').by('country')")
    twice = [label for label in dict.fromkeys(labels) if labels.count(label) > 1]
    if twice:
        raise DuplicateLabelError(twice)


def _joined(conditions: Sequence[str]) -> str:
    return " AND ".join(conditions)


def _steps(spec: QuerySpecification, axes: QueryAxes) -> list[dict[str, Any]]:
    if not spec.steps:
        return []
    return StepWriter(
        axis=None if axes.axis is None else axes.axis.name,
        groups=[column.name for column in axes.columns],
        metrics=[metric.name for metric in spec.metrics or ()],
        offsets=spec.offsets,
        grain=axes.grain,
        extremes=extremes_of(spec),
    ).operations(spec.steps)


def extremes_of(spec: QuerySpecification) -> dict[str, str]:
    """Return `min` or `max` by the label of each metric that is the least or the greatest value of a column."""
    aggregates = (
        (metric.name, metric.payload.get("aggregate"))
        for metric in spec.metrics or ()
        if isinstance(metric.payload, Mapping)
    )
    return {name: aggregate.lower() for name, aggregate in aggregates if aggregate in (Aggregate.MIN, Aggregate.MAX)}


def limits_series(spec: QuerySpecification, axes: QueryAxes) -> bool:
    """Tell whether `top` counts series, each with all of its rows, rather than the first rows of an order."""
    if spec.has_others and (spec.top is None or not axes.dimensions or not spec.metrics):
        raise QueryError(".others() groups what .top(n) leaves out; add a metric, .by(...) and .top(n)")
    several_rows = axes.axis is not None or spec.has_others or bool(spec.order) or bool(spec.top_of)
    return spec.top is not None and bool(axes.dimensions) and bool(spec.metrics) and several_rows


def chosen_series(spec: QuerySpecification, axes: QueryAxes) -> list[Any]:
    """Return the columns whose values `top` chooses; QueryError when rows are not grouped by them."""
    missing = [name for name in spec.top_of if name not in [column.name for column in axes.dimensions]]
    if missing:
        raise QueryError(f".top(of={missing[0]!r}): rows are not grouped by it; add .by({missing[0]!r})")
    return [column.payload for column in axes.dimensions if not spec.top_of or column.name in spec.top_of]


def query_bounds(spec: QuerySpecification, axes: QueryAxes) -> dict[str, Any]:
    """Return order and limits: of rows, or, where rows have a time axis or others are grouped, of series."""
    order, limit = spec.order, spec.limit
    bounds: dict[str, Any] = {}
    is_of_series = limits_series(spec, axes)
    if spec.top is not None:
        count, by = spec.top
        key = by or _first_metric(spec)
        if is_of_series:
            bounds = _series_limit(count, key, chosen_series(spec, axes), has_others=spec.has_others)
            order = order or ((key,) if axes.axis is None else ())
        else:
            order = order or (key,)
            limit = count if limit is None else min(count, limit)
    labels = {column.name for column in axes.columns} | {metric.name for metric in spec.metrics or ()}
    if order:
        bounds["orderby"] = [[key.label if key.label in labels else key.payload, key.is_ascending] for key in order]
    if limit is not None:
        bounds["row_limit"] = limit
    if spec.offset:
        bounds["row_offset"] = spec.offset
    return bounds


def _series_limit(count: int, key: OrderKey, columns: list[Any], *, has_others: bool) -> dict[str, Any]:
    return {
        "series_columns": columns,
        "series_limit": count,
        "series_limit_metric": key.payload,
        "order_desc": not key.is_ascending,
        **({"group_others_when_limit_reached": True} if has_others else {}),
    }


def _first_metric(spec: QuerySpecification) -> OrderKey:
    if not spec.metrics:
        raise QueryError(".top needs something to choose by; name it: .top(10, by='amount')")
    return spec.metrics[0].desc()


def annotation_layer(name: str, value: int | str) -> dict[str, Any]:
    """Return an annotation layer: the events of a stored one by its id, or a formula."""
    is_formula = isinstance(value, str)
    return {
        "name": text_of(name, "the name of an annotation layer"),
        "value": value if is_formula else count_of(value, "an annotation layer", least=1),
        "annotationType": "FORMULA" if is_formula else "EVENT",
        **({} if is_formula else {"sourceType": "NATIVE"}),
        "show": True,
        "showMarkers": False,
    }

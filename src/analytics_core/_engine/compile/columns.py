"""Resolves the columns of a query: names, ad-hoc columns and the time axis, each to an output."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import Any, TypeGuard

from analytics_core._engine.compile.fragments.parser import FragmentSlot
from analytics_core._engine.compile.plan import (
    BucketExpr,
    ColumnExpr,
    FragmentExpr,
    Origin,
    OriginKind,
    Output,
    OutputRole,
    StoredMoment,
)
from analytics_core._engine.compile.planning_context import PlanningContext, native_format
from analytics_core._engine.engines.types import TimeEncoding, TimeFormat, ValueKind
from analytics_core.errors import FragmentError, QueryError, UnknownColumnError, UnknownTimeGrainError
from analytics_core.models.enums import TimeGrain
from analytics_core.models.query import AdhocColumn, ChartDataExtras, ChartDataQueryObject, PostProcessingOperation

TIMESTAMP_LABEL = "__timestamp"
BASE_AXIS = "BASE_AXIS"
FORECASTS = frozenset({"forecast", "prophet"})
"""The operations that count in steps of the query's grain."""


def column_by_name(scope: PlanningContext, name: str) -> ColumnExpr | FragmentExpr:
    """Return the dataset's column `name` (or verbose name), calculated columns as their expression."""
    own = scope.view.find_column(name)
    if own is None:
        raise UnknownColumnError(name, dataset=scope.view.dataset.table_name, known=scope.view.columns)
    column = scope.view.columns[own]
    if not column.expression:
        return scope.view.physical[own]
    fragment = scope.read_stored(column.expression, FragmentSlot.CALCULATED, f"calculated column {own!r}")
    kind = scope.view.kinds[own]
    return replace(fragment, kind=fragment.kind if kind is ValueKind.UNKNOWN else kind, time=scope.view.times.get(own))


def parse_grain(text: str | None, *, place: str) -> TimeGrain | None:
    """Return the time grain of a text; None and '' mean no grain."""
    if not text:
        return None
    try:
        return TimeGrain(text)
    except ValueError:
        known = [grain.value for grain in TimeGrain]
        raise UnknownTimeGrainError(text, place=place, known=known) from None


def query_grain(query: ChartDataQueryObject) -> TimeGrain | None:
    """Return the grain of a query's `extras`, which its granularity and an x-axis without a grain of its own take."""
    text = query.extras.time_grain if query.extras else None
    return parse_grain(text, place="extras.time_grain")


def time_grain(query: ChartDataQueryObject) -> TimeGrain | None:
    """Return the grain of a query's time: that of its x-axis, else the one of its extras."""
    axis = next((column for column in query.columns if is_axis(column) and column.time_grain), None)
    return parse_grain(axis.time_grain, place="columns") if axis else query_grain(query)


def with_grain(query: ChartDataQueryObject, grain: TimeGrain) -> ChartDataQueryObject:
    """Return the query with another grain of its time: in its extras, its x-axis and its forecasts."""

    def moved(item: Any) -> Any:
        return item.model_copy(update={"time_grain": grain.value}) if is_axis(item) and item.time_grain else item

    return query.model_copy(
        update={
            "extras": (query.extras or ChartDataExtras()).model_copy(update={"time_grain": grain}),
            "columns": tuple(map(moved, query.columns)),
            "series_columns": tuple(map(moved, query.series_columns)),
            "orderby": tuple((moved(key), ascending) for key, ascending in query.orderby),
            "post_processing": tuple(_forecast_by(step, grain) for step in query.post_processing),
        }
    )


def _forecast_by(step: PostProcessingOperation, grain: TimeGrain) -> PostProcessingOperation:
    if step.operation not in FORECASTS or "time_grain" not in step.options:
        return step
    return step.model_copy(update={"options": {**step.options, "time_grain": grain.value}})


def is_axis(column: object) -> TypeGuard[AdhocColumn]:
    """Tell whether a query's column is its x-axis."""
    return not isinstance(column, str) and isinstance(column, AdhocColumn) and column.column_type == BASE_AXIS


def axis_column(columns: Iterable[str | AdhocColumn]) -> AdhocColumn | None:
    """Return the first x-axis column, or None."""
    return next((column for column in columns if is_axis(column)), None)


def axis_name(columns: Iterable[str | AdhocColumn]) -> str | None:
    """Return the expression text of the first x-axis column, or None."""
    axis = axis_column(columns)
    return axis.sql_expression if axis else None


def resolve_column(
    scope: PlanningContext,
    column: str | AdhocColumn,
    *,
    place: str,
    granularity: str | None,
    grain: TimeGrain | None,
    grouped: bool,
) -> Output:
    """Return the output of one item of a query's `columns`.

    A plain name equal to the query's granularity takes the query's grain when the query is grouped, an x-axis of
    moments without a grain of its own always.
    """
    origin = Origin(OriginKind.PAYLOAD, place)
    if isinstance(column, AdhocColumn):
        axis_grain = grain if is_axis(column) else None
        return _adhoc_output(scope, column, place=place, origin=origin, grain=axis_grain)
    bucket = grain if grouped and column == granularity else None
    return remembered(scope, (column, bucket, place), column, lambda: _named_output(scope, column, bucket, origin))


def remembered(scope: PlanningContext, key: Hashable, name: str, make: Callable[[], Output]) -> Output:
    """Return the output that the dataset's column or metric `name` always gives; one with a template is made anew."""
    output = scope.view.outputs.get(key)
    if output is None:
        output = make()
        column, metric = scope.view.columns.get(scope.view.find_column(name) or ""), scope.view.metrics.get(name)
        if not any(part and part.expression and "{" in part.expression for part in (column, metric)):
            scope.view.outputs.put(key, output)
    return output


def _named_output(scope: PlanningContext, column: str, bucket: TimeGrain | None, origin: Origin) -> Output:
    expr = column_by_name(scope, column)
    if bucket and expr.time is not None:
        return bucket_output(scope, expr, bucket, label=column, origin=origin)
    return plain_output(scope, expr, label=column, origin=origin)


def _adhoc_output(
    scope: PlanningContext, column: AdhocColumn, *, place: str, origin: Origin, grain: TimeGrain | None
) -> Output:
    text = column.sql_expression
    label = column.label or text
    if not text or not label:
        raise FragmentError(f"{place}: an ad-hoc column needs sqlExpression and a label")
    own = parse_grain(column.time_grain, place=place)
    expr = timed(adhoc_column(scope, column, place=place), is_moment=own is not None)
    if expr.time is not None and (own or is_axis(column)):
        return bucket_output(scope, expr, own or grain, label=label, origin=origin)
    return plain_output(scope, expr, label=label, origin=origin)


def timed(expr: ColumnExpr | FragmentExpr, *, is_moment: bool = False) -> ColumnExpr | FragmentExpr:
    """Return a fragment that gives moments as one that is known to; `is_moment`: whatever its SQL looks like."""
    if isinstance(expr, ColumnExpr) or expr.time is not None:
        return expr
    if is_moment:
        return replace(expr, kind=ValueKind.TIMESTAMP, time=TimeFormat(encoding=TimeEncoding.TIMESTAMP))
    return replace(expr, time=native_format(expr.kind)) if expr.kind.is_temporal else expr


def adhoc_column(scope: PlanningContext, column: AdhocColumn, *, place: str) -> ColumnExpr | FragmentExpr:
    """Return the column that an ad-hoc column names, or its SQL as an expression."""
    text = column.sql_expression or ""
    if scope.view.find_column(text) is not None:
        return column_by_name(scope, text)
    if column.is_column_reference:
        raise UnknownColumnError(text, dataset=scope.view.dataset.table_name, known=scope.view.columns)
    return scope.read(text, FragmentSlot.COLUMN, place)


def bucket_output(
    scope: PlanningContext, expr: ColumnExpr | FragmentExpr, grain: TimeGrain | None, *, label: str, origin: Origin
) -> Output:
    """Return an output of time buckets; without a grain the column stays as it is."""
    if grain is None:
        return plain_output(scope, expr, label=label, origin=origin)
    return Output(
        label=label,
        expr=BucketExpr(expr, grain, scope.view.dataset.offset),
        role=OutputRole.COLUMN,
        kind=ValueKind.TIMESTAMP,
        origin=origin,
        is_temporal=True,
        nullable=expr.nullable if isinstance(expr, ColumnExpr) else None,
    )


def plain_output(scope: PlanningContext, expr: ColumnExpr | FragmentExpr, *, label: str, origin: Origin) -> Output:
    """Return an output that is the column itself; whatever stores moments gives moments, moved by the dataset's offset.

    They are grouped and fetched as they are stored.
    """
    stored = stored_moment(scope, expr)
    return Output(
        label=label,
        expr=expr,
        role=OutputRole.COLUMN,
        kind=expr.kind if stored is None else stored.display_kind,
        origin=origin,
        is_temporal=expr.time is not None,
        nullable=expr.nullable if isinstance(expr, ColumnExpr) else None,
        stored=stored,
    )


def stored_moment(scope: PlanningContext, expr: ColumnExpr | FragmentExpr) -> StoredMoment | None:
    """Return how values of a column become the moments that are shown; None where they are that already."""
    hours = scope.view.dataset.offset
    if expr.time is None or (expr.time.is_native and not hours):
        return None
    return StoredMoment(time=expr.time, kind=expr.kind, hours=hours)


def timestamp_output(scope: PlanningContext, granularity: str | None, grain: TimeGrain | None) -> Output:
    """Return the `__timestamp` output of a time series."""
    if not granularity:
        raise QueryError(
            "is_timeseries: a time series needs a temporal column: give granularity, or an x-axis of a temporal column "
            '{"columnType": "BASE_AXIS", "sqlExpression": <column>, "timeGrain": <grain>}'
        )
    expr = column_by_name(scope, granularity)
    if expr.time is None:
        raise QueryError(f"granularity: column {granularity!r} of {scope.view.dataset.table_name!r} is not temporal")
    output = bucket_output(scope, expr, grain, label=TIMESTAMP_LABEL, origin=Origin(OriginKind.PAYLOAD, "granularity"))
    return replace(output, label=TIMESTAMP_LABEL)


def column_label(column: str | AdhocColumn) -> str:
    """Return the label under which a column appears in the result."""
    return column if isinstance(column, str) else column.label or column.sql_expression or ""

"""Resolves `series_limit`: which series stay, by which metric, and what becomes of the others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from analytics_core._engine.compile.columns import column_label
from analytics_core._engine.compile.metrics import check_aggregated, resolve_metric
from analytics_core._engine.compile.plan import (
    BucketExpr,
    Clause,
    ColumnExpr,
    FragmentExpr,
    InOthersExpr,
    Origin,
    OriginKind,
    OthersExpr,
    Output,
    OutputRole,
    PlanExpr,
    QueryPlan,
    RowLimit,
    SeriesLimit,
)
from analytics_core._engine.compile.planning_context import PlanningContext, check_count
from analytics_core._engine.engines.types import ValueKind
from analytics_core.errors import QueryError, UnsupportedByEngineError
from analytics_core.models.query import ChartDataQueryObject

OTHERS = "Others"
"""What the rest is called."""


def plan_series_limit(
    query: ChartDataQueryObject,
    scope: PlanningContext,
    outputs: Sequence[Output],
    where: tuple[Clause, ...],
) -> SeriesLimit | None:
    """Return the series limit of a query, or None when it has none or nothing to limit."""
    limit = query.series_limit
    check_count(limit, field="series_limit")
    if not limit or query.metrics is None:
        return None
    columns = series_positions(query, outputs)
    if not columns:
        return None
    spec = scope.view.spec
    if not (spec.allows_joins and spec.allows_subqueries):
        raise UnsupportedByEngineError(f"series_limit: {spec.label} cannot join the best series; use row_limit")
    return SeriesLimit(
        columns=columns,
        limit=limit,
        metric=_metric(query, scope, outputs),
        descending=query.order_desc is not False,
        group_others=bool(query.group_others_when_limit_reached),
        source=scope.view.source,
        where=where,
        origin=Origin(OriginKind.PAYLOAD, "series_limit"),
    )


def series_positions(query: ChartDataQueryObject, outputs: Sequence[Output]) -> tuple[int, ...]:
    """Return the positions of the series columns; by default all columns of a time series but its time."""
    wanted = [column_label(column) for column in query.series_columns or ()]
    labels = [output.label for output in outputs if output.role is OutputRole.COLUMN]
    missing = [label for label in wanted if label not in labels]
    if missing:
        raise QueryError(f"series_columns: {', '.join(map(repr, missing))} missing in columns; columns has: {labels}")
    if not wanted and query.is_timeseries and query.metrics:
        return tuple(i for i, o in enumerate(outputs) if o.role is OutputRole.COLUMN and not o.is_temporal)
    return tuple(labels.index(label) for label in dict.fromkeys(wanted))


def _metric(query: ChartDataQueryObject, scope: PlanningContext, outputs: Sequence[Output]) -> PlanExpr | None:
    if query.series_limit_metric:
        chosen = resolve_metric(scope, query.series_limit_metric, place="series_limit_metric")
        series = [outputs[position] for position in series_positions(query, outputs)]
        check_aggregated([chosen], series)
        return chosen.expr
    metrics = [output.expr for output in outputs if output.role is OutputRole.METRIC]
    return metrics[0] if metrics else None


def with_others(outputs: Sequence[Output], limit: SeriesLimit | None) -> tuple[Output, ...]:
    """Return the outputs with series columns that are null in rows that fall out of the limit, and what tells those."""
    if limit is None or not limit.group_others:
        return tuple(outputs)
    series = [_others(output, i) if i in limit.columns else output for i, output in enumerate(outputs)]
    return (*series, _in_others({output.label.casefold() for output in outputs}, limit.origin))


def _others(output: Output, position: int) -> Output:
    source = output.expr
    assert isinstance(source, ColumnExpr | FragmentExpr | BucketExpr)  # noqa: S101 - columns are; tells the type checker
    return replace(output, expr=OthersExpr(source, position), is_temporal=False)


def plan_of_series(plan: QueryPlan, limit: SeriesLimit) -> QueryPlan:
    """Return the plan that lists the series which the limit of a plan keeps, also those that its rows may hide."""
    outputs = (plan.outputs[position] for position in limit.columns)
    return replace(
        plan,
        outputs=tuple([replace(output, expr=_source(output.expr)) for output in outputs]),
        having=(),
        order=(),
        limit=RowLimit(rows=limit.limit, origin=limit.origin),
        series_limit=replace(limit, columns=tuple(range(len(limit.columns))), group_others=False),
    )


def _source(expr: PlanExpr) -> PlanExpr:
    return expr.source if isinstance(expr, OthersExpr) else expr


def _in_others(taken: Collection[str], origin: Origin) -> Output:
    label = "in_others"
    while label in taken:
        label += "_"
    return Output(
        label=label,
        expr=InOthersExpr(),
        role=OutputRole.COLUMN,
        kind=ValueKind.INTEGER,
        origin=origin,
        nullable=False,
    )


def unused_series_limit(query: ChartDataQueryObject, limit: SeriesLimit | None) -> tuple[str, ...]:
    """Return what a caller should know about a limit that limits nothing."""
    if not query.series_limit or limit is not None:
        return ()
    how = "name them in series_columns" if query.metrics is not None else "raw rows have none; give metrics"
    return (f"series_limit: {query.series_limit} limits nothing, since the query has no series: {how}",)

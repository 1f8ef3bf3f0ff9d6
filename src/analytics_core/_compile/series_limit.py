"""Resolves `series_limit`: which series stay, by which metric, and what becomes of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from analytics_core._compile.aggregation import check_aggregated
from analytics_core._compile.columns import column_label
from analytics_core._compile.metrics import resolve_metric
from analytics_core._compile.plan import (
    BucketExpr,
    Clause,
    ColumnExpr,
    FragmentExpr,
    Origin,
    OriginKind,
    OthersExpr,
    Output,
    OutputRole,
    PlanExpr,
    SeriesLimit,
)
from analytics_core._compile.scope import Scope, check_count
from analytics_core._engines.types import ValueKind
from analytics_core.errors import QueryError, UnsupportedByEngineError
from analytics_core.models.query import ChartDataQueryObject

OTHERS = "Others"


def plan_series_limit(
    query: ChartDataQueryObject,
    scope: Scope,
    outputs: Sequence[Output],
    *,
    where: tuple[Clause, ...],
) -> SeriesLimit | None:
    """Return the series limit of a query, or None when it has none or nothing to limit."""
    limit = query.series_limit
    check_count(limit, field="series_limit")
    if not limit or query.metrics is None or query.is_rowcount:
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


def _metric(query: ChartDataQueryObject, scope: Scope, outputs: Sequence[Output]) -> PlanExpr | None:
    if query.series_limit_metric:
        chosen = resolve_metric(scope, query.series_limit_metric, place="series_limit_metric")
        series = [outputs[position] for position in series_positions(query, outputs)]
        check_aggregated([chosen], series)
        return chosen.expr
    metrics = [output.expr for output in outputs if output.role is OutputRole.METRIC]
    return metrics[0] if metrics else None


def with_others(outputs: Sequence[Output], limit: SeriesLimit | None) -> tuple[Output, ...]:
    """Return the outputs with the series columns turned into 'Others' where they fall out of the limit."""
    if limit is None or not limit.group_others:
        return tuple(outputs)
    return tuple(_others(output, i) if i in limit.columns else output for i, output in enumerate(outputs))


def _others(output: Output, position: int) -> Output:
    source = output.expr
    assert isinstance(source, ColumnExpr | FragmentExpr | BucketExpr)  # noqa: S101 - columns are; tells the type checker
    return replace(output, expr=OthersExpr(source, position), kind=ValueKind.TEXT, is_temporal=False)

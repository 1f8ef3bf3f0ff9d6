"""Resolves the metrics of a query, saved or ad-hoc, and refuses those that name a column outside every aggregate.

Most engines refuse these themselves; SQLite would answer with the value of any row, so the planner decides for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from analytics_core._engine.compile.columns import column_by_name, remembered, stored_moment
from analytics_core._engine.compile.fragments.parser import FragmentSlot
from analytics_core._engine.compile.plan import (
    AggregateExpr,
    BucketExpr,
    Clause,
    ColumnExpr,
    Condition,
    FragmentExpr,
    Origin,
    OriginKind,
    Output,
    OutputRole,
    PlanExpr,
    columns_of,
)
from analytics_core._engine.compile.planning_context import PlanningContext
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.engines.types import TimeEncoding, TimeFormat, ValueKind
from analytics_core.errors import FilterValueError, FragmentError, UnknownMetricError
from analytics_core.models.enums import Aggregate, ExpressionType
from analytics_core.models.query import AdhocMetric

MetricRef = str | AdhocMetric


def metric_label(metric: MetricRef) -> str:
    """Return the label of a metric: its own, else its SQL, else `AGG(column)`."""
    if isinstance(metric, str):
        return metric
    if metric.label:
        return metric.label
    if metric.expression_type is ExpressionType.SQL:
        return metric.sql_expression or ""
    column = metric.column.column_name if metric.column else ""
    return f"{metric.aggregate.value}({column})" if metric.aggregate else column or ""


def resolve_metric(scope: PlanningContext, metric: MetricRef, *, place: str) -> Output:
    """Return the output of one metric."""
    if isinstance(metric, str):
        return saved_metric(scope, metric)
    origin = Origin(OriginKind.PAYLOAD, place)
    if metric.expression_type is ExpressionType.SQL:
        return _sql_metric(scope, metric, place=place, origin=origin)
    return _simple_metric(scope, metric, place=place, origin=origin)


def saved_metric(scope: PlanningContext, name: str) -> Output:
    """Return the output of the dataset's saved metric `name`."""
    return remembered(scope, name, name, lambda: _saved_metric(scope, name))


def _saved_metric(scope: PlanningContext, name: str) -> Output:
    stored = scope.view.metrics.get(name)
    if stored is None:
        raise UnknownMetricError(name, dataset=scope.view.dataset.table_name, known=scope.view.metrics)
    fragment = scope.read_stored(stored.expression, FragmentSlot.METRIC, f"metric {name!r}")
    origin = Origin(OriginKind.DATASET, f"metric {name!r}")
    return _metric_output(fragment, label=name, kind=fragment.kind, origin=origin)


def _sql_metric(scope: PlanningContext, metric: AdhocMetric, *, place: str, origin: Origin) -> Output:
    if not metric.sql_expression:
        raise FragmentError(f"{place}: an ad-hoc metric of type SQL needs sqlExpression")
    fragment = scope.read(metric.sql_expression, FragmentSlot.METRIC, place)
    return _metric_output(fragment, label=metric_label(metric), kind=fragment.kind, origin=origin)


def _simple_metric(scope: PlanningContext, metric: AdhocMetric, *, place: str, origin: Origin) -> Output:
    if metric.column is None or not metric.column.column_name or metric.aggregate is None:
        raise FragmentError(f"{place}: an ad-hoc metric of type SIMPLE needs column.column_name and aggregate")
    source = column_by_name(scope, metric.column.column_name)
    label, aggregate = metric_label(metric), metric.aggregate
    if source.time is not None and aggregate in (Aggregate.MIN, Aggregate.MAX):
        return _extreme_moment(scope, aggregate, source, label=label, origin=origin)
    kind = _aggregate_kind(aggregate, source.kind, column=metric.column.column_name)
    return _metric_output(AggregateExpr(aggregate, source), label=label, kind=kind, origin=origin)


def _extreme_moment(
    scope: PlanningContext, aggregate: Aggregate, source: ColumnExpr | FragmentExpr, *, label: str, origin: Origin
) -> Output:
    """Return the first or last moment of a column: of what is stored, where that sorts as the moments do."""
    is_read = source.time is not None and not _sorts_as_stored(source.time, scope.view.spec)
    operand = BucketExpr(source, None) if is_read else source
    if is_read and not source.kind.is_temporal:
        source = replace(source, kind=ValueKind.TIMESTAMP, time=TimeFormat(encoding=TimeEncoding.TIMESTAMP))
    stored = stored_moment(scope, source)
    kind = source.kind if stored is None else stored.display_kind
    output = _metric_output(AggregateExpr(aggregate, operand), label=label, kind=kind, origin=origin)
    return replace(output, stored=stored)


def _sorts_as_stored(time: TimeFormat, spec: EngineSpec) -> bool:
    node = exp.Null()
    return time.sorts_as_time if spec.sorted_moment is None else spec.sorted_moment(node, time) is node


def _metric_output(expr: AggregateExpr | FragmentExpr, *, label: str, kind: ValueKind, origin: Origin) -> Output:
    return Output(
        label=label,
        expr=expr,
        role=OutputRole.METRIC,
        kind=kind,
        origin=origin,
        is_temporal=kind.is_temporal,
        nullable=False if _counts(expr) else None,
    )


def _counts(expr: AggregateExpr | FragmentExpr) -> bool:
    """Tell whether a metric is a count, which is never NULL."""
    if isinstance(expr, FragmentExpr):
        return isinstance(expr.tree, exp.Count)
    return expr.aggregate in (Aggregate.COUNT, Aggregate.COUNT_DISTINCT)


def _aggregate_kind(aggregate: Aggregate, kind: ValueKind, *, column: str) -> ValueKind:
    if aggregate in (Aggregate.COUNT, Aggregate.COUNT_DISTINCT):
        return ValueKind.INTEGER
    if aggregate in (Aggregate.SUM, Aggregate.AVG) and (kind is ValueKind.TEXT or kind.is_temporal):
        raise FilterValueError(f"{aggregate.value} needs a numeric column; {column!r} holds {kind.value} values")
    if aggregate is Aggregate.AVG:
        return ValueKind.FLOAT
    if kind is ValueKind.BOOLEAN:
        return ValueKind.INTEGER
    return kind


def check_aggregated(metrics: Iterable[Output], outputs: Sequence[Output]) -> None:
    """Check that the metrics of grouped rows name only columns that are grouped or aggregated.

    Raises:
        FragmentError: a metric names another column.
    """
    grouped = _grouped_names(outputs)
    for metric in metrics:
        _check(metric.expr, grouped, what=f"metric {metric.label!r}")


_MAY_GATHER: Final = (exp.Column, exp.AggFunc, exp.Anonymous, exp.Window, exp.Query)


def notes_of_constants(outputs: Sequence[Output]) -> tuple[str, ...]:
    """Return a note where nothing makes one row of all: no group, and metrics that are the same in each row."""
    if not outputs or any(output.role is OutputRole.COLUMN or _may_gather(output.expr) for output in outputs):
        return ()
    labels = ", ".join(repr(output.label) for output in outputs)
    return (
        f"{labels} without an aggregate: each row of the source gives one of the answer; write an aggregate, such as "
        "MAX(...), for one row of all",
    )


def _may_gather(expr: PlanExpr) -> bool:
    tree = expr.tree if isinstance(expr, FragmentExpr) else None
    return tree is None or tree.find(*_MAY_GATHER) is not None


def check_having(having: Sequence[Clause], outputs: Sequence[Output]) -> None:
    """Check the same of conditions on groups; FragmentError names the column."""
    if not having:
        return
    grouped = _grouped_names(outputs)
    for clause in having:
        if isinstance(clause.predicate, Condition):
            _check(clause.predicate.fragment, grouped, what=clause.origin.place)


def _check(expr: PlanExpr, grouped: set[str], *, what: str) -> None:
    if not isinstance(expr, FragmentExpr) or expr.loose_columns <= grouped:
        return
    name = min(expr.loose_columns - grouped)
    raise FragmentError(
        f"{what}: column {name!r} is neither grouped nor inside an aggregate; write for example MAX({name})"
    )


def _grouped_names(outputs: Sequence[Output]) -> set[str]:
    """Return the columns that rows are grouped by, also those inside expressions: an engine may match the whole."""
    columns = (columns_of(output.expr) or () for output in outputs if output.role is OutputRole.COLUMN)
    return {name for names in columns for name in names}

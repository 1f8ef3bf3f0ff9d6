"""Resolves `orderby` to sort keys, and completes them so that the same query gives the same rows in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from analytics_core._engine.compile.columns import resolve_column
from analytics_core._engine.compile.metrics import check_aggregated, metric_label, resolve_metric
from analytics_core._engine.compile.plan import (
    BucketExpr,
    ColumnExpr,
    FragmentExpr,
    OrderTerm,
    Origin,
    OriginKind,
    OthersExpr,
    Output,
    OutputRole,
    PlanExpr,
)
from analytics_core._engine.compile.planning_context import PlanningContext
from analytics_core._engine.engines.nodes import quoted
from analytics_core._engine.engines.types import TimeEncoding
from analytics_core.errors import QueryError, UnknownColumnError, UnsupportedByEngineError
from analytics_core.models.query import AdhocColumn, AdhocMetric, ChartDataQueryObject


def plan_order(
    query: ChartDataQueryObject,
    scope: PlanningContext,
    outputs: Sequence[Output],
    *,
    grouped: bool,
    not_null: frozenset[str] = frozenset(),
) -> tuple[OrderTerm, ...]:
    """Return the sort keys of a query, completed by tie-breakers; columns of `not_null` hold no NULL in its rows.

    Grouped rows are also ordered by all their columns. Raw rows that are ordered or read by pages are also ordered by
    the primary key, else by all that is selected, in the direction of the last key that was asked for: so one index may
    serve all keys.
    """
    requested = [
        _known(_term(item, ascending, scope, outputs, place=f"orderby[{position}]", grouped=grouped), not_null)
        for position, (item, ascending) in enumerate(query.orderby)
    ]
    terms = {
        term.expr: term for term in reversed(requested)
    }  # some engines refuse a key given twice: the first decides
    requested = [term for term in requested if terms[term.expr] is term]
    if query.is_rowcount:
        return tuple(requested)
    if not grouped:
        paged = requested or "row_offset" in query.model_fields_set  # the first page has 0
        return _of_pages(requested, _tie_breakers(scope, outputs, requested), scope) if paged else ()
    has_metrics = any(output.role is OutputRole.METRIC for output in outputs)
    ties = {o.expr: o for o in outputs if o.role is OutputRole.COLUMN and o.expr not in terms}.values()
    origin = Origin(OriginKind.ENGINE, "tie-breaker: every column of a grouped query" if has_metrics else "tie-breaker")
    return _in_time_order([*requested, *(_order(output, descending=False, origin=origin) for output in ties)], scope)


def _of_pages(
    requested: Sequence[OrderTerm], ties: Sequence[OrderTerm], scope: PlanningContext
) -> tuple[OrderTerm, ...]:
    """Return the keys of raw rows; ties are broken in time order where no text makes that fail, then by the texts."""
    keys = _in_time_order(requested, scope)
    if scope.view.key:
        return (*keys, *ties)
    timed = [_in_time_order([tie], scope)[0] if _is_iso_text(tie.expr) else tie for tie in ties]
    texts = [tie for tie, term in zip(ties, timed, strict=True) if term.expr is not tie.expr]
    return (*keys, *timed, *texts)


def _is_iso_text(expr: PlanExpr) -> bool:
    if not isinstance(expr, ColumnExpr | FragmentExpr) or expr.time is None:
        return False
    return expr.time.encoding is TimeEncoding.ISO_TEXT


def _in_time_order(terms: Sequence[OrderTerm], scope: PlanningContext) -> tuple[OrderTerm, ...]:
    """Return the keys with texts such as `31/01/2024` as their moments, where the engine can read them."""
    moments = [(term, _as_time(term.expr, scope)) for term in terms]
    return tuple(term if expr is term.expr else replace(term, expr=expr) for term, expr in moments)


def _as_time(expr: PlanExpr, scope: PlanningContext) -> PlanExpr:
    if not isinstance(expr, ColumnExpr | FragmentExpr) or expr.time is None:
        return expr
    if expr.time.sorts_as_time:
        return expr
    if expr.time.encoding is TimeEncoding.ISO_TEXT and not scope.view.spec.compares_moments_as_text:
        return expr  # to read a text as a moment may fail
    try:
        scope.view.spec.moment(exp.Column(this=quoted("c")), expr.time)
    except UnsupportedByEngineError:
        return expr
    return BucketExpr(expr, None)


def _known(term: OrderTerm, not_null: frozenset[str]) -> OrderTerm:
    is_known = isinstance(term.expr, ColumnExpr) and term.expr.name in not_null
    return replace(term, nullable=False) if is_known else term


def _tie_breakers(scope: PlanningContext, outputs: Sequence[Output], requested: Sequence[OrderTerm]) -> list[OrderTerm]:
    descending = requested[-1].descending if requested else False
    origin = Origin(OriginKind.ENGINE, f"tie-breaker: {'primary key' if scope.view.key else 'everything selected'}")
    keys: list[tuple[PlanExpr, bool]]
    if scope.view.key:
        keys = [(scope.view.physical[name], False) for name in scope.view.key]
    else:
        keys = [(output.expr, output.nullable is not False) for output in outputs if _sortable(output, scope)]
    taken = {term.expr for term in requested if _tells_apart(term.expr, scope)}
    return [
        OrderTerm(expr=expr, descending=descending, nullable=nullable, origin=origin, breaks_ties=True)
        for expr, nullable in dict(keys).items()
        if expr not in taken
    ]


def _tells_apart(expr: PlanExpr, scope: PlanningContext) -> bool:
    """Tell whether the plain key of an expression is all that its ties need."""
    if not isinstance(expr, ColumnExpr | FragmentExpr):
        return True
    node, length = exp.Null(), expr.length if isinstance(expr, ColumnExpr) else None
    return scope.view.spec.tie_keys(node, expr.kind, length) == (node,)


def _sortable(output: Output, scope: PlanningContext) -> bool:
    return output.fetched_kind not in scope.view.spec.unsortable_kinds


def notes_of_order(
    query: ChartDataQueryObject, scope: PlanningContext, outputs: Sequence[Output], order: Sequence[OrderTerm]
) -> tuple[str, ...]:
    """Return what a reader of pages should know: where two rows that differ may come in any order."""
    if query.metrics is not None or query.is_rowcount or not order or scope.view.key:
        return ()
    cols = [output.label for output in outputs if not _sortable(output, scope)]
    if not cols:
        return ()
    return (
        f"rows that differ in {', '.join(map(repr, cols))} alone come in any order, and pages may lose or repeat them: "
        f"{scope.view.spec.label} may be unable to sort by that, and no primary key of the dataset is known",
    )


def _order(output: Output, *, descending: bool, origin: Origin) -> OrderTerm:
    nullable = output.nullable is not False or isinstance(output.expr, OthersExpr)
    return OrderTerm(expr=output.expr, descending=descending, nullable=nullable, origin=origin)


def _term(
    item: str | AdhocMetric | AdhocColumn,
    ascending: bool,
    scope: PlanningContext,
    outputs: Sequence[Output],
    *,
    place: str,
    grouped: bool,
) -> OrderTerm:
    origin = Origin(OriginKind.PAYLOAD, place)
    output = _selected(item, outputs) or _unselected(item, scope, outputs, place=place, grouped=grouped)
    return _order(output, descending=not ascending, origin=origin)


def _selected(item: str | AdhocMetric | AdhocColumn, outputs: Sequence[Output]) -> Output | None:
    match item:
        case str():
            label = item
        case AdhocMetric():
            label = metric_label(item)
        case _:
            label = item.label or item.sql_expression or ""
    return next((output for output in outputs if output.label == label), None)


def _unselected(
    item: str | AdhocMetric | AdhocColumn,
    scope: PlanningContext,
    outputs: Sequence[Output],
    *,
    place: str,
    grouped: bool,
) -> Output:
    if isinstance(item, AdhocMetric) or (isinstance(item, str) and item in scope.view.metrics):
        if not grouped:
            raise QueryError(f"{place}: raw rows cannot be ordered by a metric; give metrics, or order by a column")
        metric = resolve_metric(scope, item, place=place)
        check_aggregated([metric], outputs)
        return metric
    if isinstance(item, str) and scope.view.find_column(item) is None:
        known = [*scope.view.columns, *scope.view.metrics, *(output.label for output in outputs)]
        raise UnknownColumnError(item, dataset=scope.view.dataset.table_name, known=known)
    output = resolve_column(scope, item, place=place, granularity=None, grain=None, grouped=False)
    if grouped and output.expr not in [o.expr for o in outputs if o.role is OutputRole.COLUMN]:
        raise QueryError(
            f"{place}: a grouped query can be ordered by its columns and metrics only; {output.label!r} is neither"
        )
    return output

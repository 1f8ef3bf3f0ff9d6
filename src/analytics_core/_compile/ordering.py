"""Resolves `orderby` to sort keys, and completes them so that the same query gives the same rows in the same order."""

from __future__ import annotations

from collections.abc import Sequence

from analytics_core._compile.aggregation import check_aggregated
from analytics_core._compile.columns import resolve_column
from analytics_core._compile.metrics import metric_label, resolve_metric
from analytics_core._compile.plan import OrderTerm, Origin, OriginKind, OthersExpr, Output, OutputRole
from analytics_core._compile.scope import Scope
from analytics_core.errors import QueryError, UnknownColumnError
from analytics_core.models.query import AdhocColumn, AdhocMetric, ChartDataQueryObject


def plan_order(
    query: ChartDataQueryObject, scope: Scope, outputs: Sequence[Output], *, grouped: bool
) -> tuple[OrderTerm, ...]:
    """Return the sort keys of a query; grouped rows are also ordered by all their columns, as tie-breakers."""
    asked = [
        _term(item, ascending, scope, outputs, place=f"orderby[{position}]", grouped=grouped)
        for position, (item, ascending) in enumerate(query.orderby)
    ]
    terms = {term.expr: term for term in reversed(asked)}  # some engines refuse a key given twice: the first decides
    asked = [term for term in asked if terms[term.expr] is term]
    if not grouped or query.is_rowcount:
        return tuple(asked)
    has_metrics = any(output.role is OutputRole.METRIC for output in outputs)
    ties = {o.expr: o for o in outputs if o.role is OutputRole.COLUMN and o.expr not in terms}.values()
    origin = Origin(OriginKind.ENGINE, "tie-breaker: every column of a grouped query" if has_metrics else "tie-breaker")
    return (*asked, *(_order(output, descending=False, origin=origin) for output in ties))


def _order(output: Output, *, descending: bool, origin: Origin) -> OrderTerm:
    nullable = output.nullable is not False or isinstance(output.expr, OthersExpr)
    return OrderTerm(expr=output.expr, descending=descending, nullable=nullable, origin=origin)


def _term(
    item: str | AdhocMetric | AdhocColumn,
    ascending: bool,
    scope: Scope,
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
    item: str | AdhocMetric | AdhocColumn, scope: Scope, outputs: Sequence[Output], *, place: str, grouped: bool
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

"""Lowers ORDER BY and LIMIT: NULLs last on every engine, and still by an index where there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from analytics_core._engine.compile.fence import FenceForm, fence_of_plan
from analytics_core._engine.compile.lowering.expressions import (
    Lowering,
    aliases_of,
    is_constant,
    lower_displayed,
    lower_sorted,
)
from analytics_core._engine.compile.plan import (
    Clause,
    ColumnExpr,
    FragmentExpr,
    IsNull,
    OrderTerm,
    Origin,
    OriginKind,
    PlanExpr,
    QueryPlan,
    TableSource,
)
from analytics_core._engine.engines.nodes import number, quoted
from analytics_core._engine.engines.types import Collation, ValueKind

MOST_SPLIT_ROWS = 10_000
"""Rows up to the end of a page that are read in two parts and sorted again; beyond, an index saves less."""

_PAGE = "page"
_ORIGIN = Origin(OriginKind.ENGINE, "rows with a key before those without")

Select = Callable[[QueryPlan, Lowering], exp.Select]
"""Lowers a plan without its limit."""


def order_keys(terms: Sequence[OrderTerm], low: Lowering) -> list[exp.Expr]:
    """Return the sort keys of all terms that are not constants."""
    return [key for term in terms if not is_constant(term.expr) for key in sort_keys(term, low)]


def sort_keys(term: OrderTerm, low: Lowering) -> Iterator[exp.Ordered]:
    """Yield the sort keys of a term with NULLs last; where there is no NULL the engine's own default saves the work."""
    nulls_first = False if term.nullable else low.spec.nulls_first_by_default(term.descending)
    for key in low.written("sort", term.expr, lambda: _plain_keys(term, low)):
        yield exp.Ordered(this=key, desc=term.descending, nulls_first=nulls_first)


def _plain_keys(term: OrderTerm, low: Lowering) -> Sequence[exp.Expr]:
    key, expr = lower_sorted(term.expr, low), term.expr
    if not term.breaks_ties or not isinstance(expr, ColumnExpr | FragmentExpr):
        return (key,)
    return low.spec.tie_keys(key, expr.kind, expr.length if isinstance(expr, ColumnExpr) else None)


def set_limit(select: exp.Select, *, rows: int, offset: int = 0) -> None:
    """Give a SELECT its LIMIT, and its OFFSET where rows are skipped."""
    select.set("limit", exp.Limit(expression=number(rows)))
    if offset:
        select.set("offset", exp.Offset(expression=number(offset)))


def splits_nulls(plan: QueryPlan, low: Lowering, *, rows: int) -> bool:
    """Tell whether a page of raw rows is read in two parts, those with a first key before those without.

    Where NULLs last must be said, no index gives the order. Each part has it from the index of the key.
    """
    if not low.spec.splits_nulls or plan.grouped or not plan.order or not isinstance(plan.source, TableSource):
        return False
    first = plan.order[0]
    key = first.expr
    return (
        isinstance(key, ColumnExpr)
        and key.leads_index
        and (key.kind is not ValueKind.TEXT or key.collation is Collation.CODE_POINT)
        and first.nullable
        and low.spec.nulls_first_by_default(first.descending)
        and rows + plan.limit.offset <= MOST_SPLIT_ROWS
        and fence_of_plan(plan, low.spec).form is not FenceForm.TABLE  # it is read whole, without an index's order
    )


def split_select(plan: QueryPlan, low: Lowering, select: Select, *, rows: int) -> exp.Select:
    """Return the statement of a page in two parts; the second is not run where the first fills the page.

    `select` gives the SELECT of a part.
    """
    name = "not_null" if low.alias.casefold() != "not_null" else "not_null_"
    offset = plan.limit.offset
    known = replace(plan.order[0], nullable=False)
    full = _part(plan, low, select, (known, *plan.order[1:]), is_null=False)
    set_limit(full, rows=rows, offset=offset)
    rest = _part(plan, low, select, plan.order[1:], is_null=True)
    rest.set("where", exp.Where(this=exp.And(this=rest.args["where"].this, expression=_has_fewer(name, rows))))
    set_limit(rest, rows=rows + offset)
    if offset:
        rest = _without_first(rest, _not_skipped(plan, low, select))
    parts = exp.Union(this=_all_of(_table(name)), expression=exp.Subquery(this=rest), distinct=False)
    page = _page_of(parts, plan, low, rows=rows, offset=0)
    page.set("with_", exp.With(expressions=[exp.CTE(this=full, alias=exp.TableAlias(this=quoted(name)))]))
    return page


def _not_skipped(plan: QueryPlan, low: Lowering, select: Select) -> exp.Expr:
    """Return how many rows without a first key lie before a page: its offset less the rows that have one."""
    skipped = _part(replace(plan, outputs=plan.outputs[:1]), low, select, (), is_null=False, has_keys=False)
    set_limit(skipped, rows=plan.limit.offset)
    return exp.Sub(
        this=number(plan.limit.offset), expression=exp.Subquery(this=_count_of(_derived(skipped, "skipped")))
    )


def _without_first(rows: exp.Select, count: exp.Expr) -> exp.Select:
    """Return ordered rows without the first so many; a further column has the number of each."""
    order = rows.args.get("order")  # none where a row is its first key: without it all are alike
    numbered = exp.Window(this=exp.RowNumber(), order=order.copy() if order else None)
    rows.append("expressions", exp.Alias(this=numbered, alias=quoted("n")))
    names = [column.alias for column in rows.expressions[:-1]]
    rest = exp.Select(
        expressions=[exp.Column(this=quoted(name)) for name in names], from_=exp.From(this=_derived(rows, "rest"))
    )
    rest.set("where", exp.Where(this=exp.GT(this=exp.Column(this=quoted("n")), expression=count)))
    return rest


def sorts_apart(plan: QueryPlan, low: Lowering) -> bool:
    """Tell whether groups are made before their order and limit are thought of.

    PostgreSQL takes every pair of keys for a group of its own, so that a limit seems to spare most of the work of a
    join in a loop over sorted rows: it spares none.
    """
    return plan.series_limit is not None and low.spec.hashed_equal is not None and bool(plan.order)


def apart_select(plan: QueryPlan, low: Lowering, select: Select, *, rows: int) -> exp.Select:
    """Return the statement that sorts and limits the groups of a sub-query, which OFFSET 0 keeps apart."""
    groups = _with_keys(select(replace(plan, order=()), low), plan, low)
    groups.set("offset", exp.Offset(expression=number(0)))
    return _page_of(groups, plan, low, rows=rows, offset=plan.limit.offset)


def _page_of(relation: exp.Query, plan: QueryPlan, low: Lowering, *, rows: int, offset: int) -> exp.Select:
    """Return the rows of a relation made by `_with_keys`, in the order and with the aliases of the plan."""
    names = aliases_of(plan, low.spec)
    page = exp.Select(
        expressions=[
            exp.Alias(this=_column(f"c{position}"), alias=quoted(alias)) for position, alias in enumerate(names)
        ],
        from_=exp.From(this=_derived(relation, _PAGE)),
        order=exp.Order(expressions=_order_of_page(plan, low)),
    )
    set_limit(page, rows=rows, offset=offset)
    return page


def _part(
    plan: QueryPlan,
    low: Lowering,
    select: Select,
    order: Sequence[OrderTerm],
    *,
    is_null: bool,
    has_keys: bool = True,
) -> exp.Select:
    """Return the rows with or without a first key, in their order."""
    condition = Clause(IsNull(plan.order[0].expr, negated=not is_null), _ORIGIN)
    part = select(replace(plan, where=(*plan.where, condition), order=tuple(order)), low)
    return _with_keys(part, plan, low) if has_keys else part


def _with_keys(select: exp.Select, plan: QueryPlan, low: Lowering) -> exp.Select:
    """Return a SELECT with short aliases and, as further columns, the sort keys of the plan that are not selected."""
    for position, column in enumerate(select.expressions):
        column.set("alias", quoted(f"c{position}"))
    for key, name in _named_keys(plan, low):
        if name.startswith("k"):
            select.append("expressions", exp.Alias(this=key.this, alias=quoted(name)))
    return select


def _named_keys(plan: QueryPlan, low: Lowering) -> Iterator[tuple[exp.Expr, str]]:
    """Yield what is sorted by, and the column that holds it: `c0` if it is selected, else one of its own, `k0`.

    What stands below is the sort key, or the key before its collation.
    """
    low = replace(low, known=None)  # what stands below is a node
    selected: dict[PlanExpr, str] = {}
    for i, output in enumerate(plan.outputs):
        selected.setdefault(output.expr, f"c{i}")
    keys = [(term, key) for term in plan.order if not is_constant(term.expr) for key in sort_keys(term, low)]
    for position, (term, key) in enumerate(keys):
        # Nodes are compared with those of the same expression alone: to sqlglot texts are equal whatever their case.
        displayed = lower_displayed(term.expr, low, grouped=plan.grouped) if term.expr in selected else None
        placeholders = (one for one in (key, *key.find_all(exp.Collate)) if one.this.unnest() == displayed)
        placeholder = next(placeholders, None)
        yield (key, f"k{position}") if placeholder is None else (placeholder, selected[term.expr])


def _order_of_page(plan: QueryPlan, low: Lowering) -> list[exp.Expr]:
    ordered = []
    for placeholder, name in _named_keys(plan, low):
        placeholder.set("this", _column(name))
        ordered.append(placeholder.root())
    return ordered


def _has_fewer(name: str, rows: int) -> exp.Expr:
    """Return the condition that the first part has fewer rows than a page needs: tested once, before any row."""
    return exp.LT(this=exp.Subquery(this=_count_of(_table(name))), expression=number(rows))


def _count_of(relation: exp.Expr) -> exp.Select:
    return exp.Select(expressions=[exp.Count(this=exp.Star(), big_int=True)], from_=exp.From(this=relation))


def _all_of(relation: exp.Expr) -> exp.Select:
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=relation))


def _derived(query: exp.Query, name: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=quoted(name)))


def _table(name: str) -> exp.Table:
    return exp.Table(this=quoted(name))


def _column(name: str) -> exp.Column:
    return exp.Column(this=quoted(name), table=quoted(_PAGE))

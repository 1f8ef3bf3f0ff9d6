"""Lowers what a query reads: a table, or the SQL of a virtual dataset with its row rules inside."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from analytics_core._compile.dataset_view import VIRTUAL_ALIAS
from analytics_core._compile.fence import Fence, FenceForm
from analytics_core._compile.lower_predicate import conjunction
from analytics_core._compile.lowering import Lowering
from analytics_core._compile.plan import SqlSource, TableSource

RELATION_ALIAS = "ruled_table"
"""With which the columns of a row rule are qualified inside a virtual dataset."""

_OUTSIDE = ("alias", "joins", "laterals", "pivots")
"""The parts of a relation that stand around its rows: they go around the filtered sub-query."""


def lower_source(source: TableSource | SqlSource, fence: Fence, low: Lowering) -> exp.Expr:
    """Return the relation that a query reads: the source, or a derived table of its permitted rows."""
    relation = _relation(source, low)
    if fence.form is not FenceForm.TABLE:
        return relation
    where = conjunction(fence.inside, low)
    assert where is not None  # noqa: S101 - a fence has rules; tells the type checker
    permitted = exp.Select(
        expressions=_selected(fence.columns, low), from_=exp.From(this=relation), where=exp.Where(this=where)
    )
    return exp.Subquery(this=low.spec.guards.fence(permitted), alias=exp.TableAlias(this=_quoted(low.alias)))


def lower_where(fence: Fence, low: Lowering) -> exp.Expr | None:
    """Return the WHERE beside the relation of `lower_source`."""
    if fence.form is FenceForm.NONE:
        return conjunction(fence.inside, low)
    if fence.form is FenceForm.TABLE or not fence.outside:
        return conjunction(fence.outside, low)
    return exp.And(this=conjunction(fence.inside, low), expression=guard(fence, low))


def guard(fence: Fence, low: Lowering) -> exp.Case:
    """Return the conditions that may fail behind a CASE that asks for the rules again."""
    rules, outside = conjunction(fence.rules, low), conjunction(fence.outside, low)
    assert rules is not None  # noqa: S101 - a fence has rules; tells the type checker
    return exp.Case(ifs=[exp.If(this=rules, true=outside)], default=exp.Boolean(this=False))


def _selected(columns: tuple[str, ...] | None, low: Lowering) -> list[exp.Expr]:
    """Return what is read through a fence: the needed columns, and something where rows alone are counted."""
    if columns is None:
        return [exp.Star()]
    found: list[exp.Expr] = [exp.Column(this=_quoted(name), table=_quoted(low.alias)) for name in columns]
    return found or [exp.Alias(this=exp.Literal(this="1", is_string=False), alias=_quoted("one"))]


def _relation(source: TableSource | SqlSource, low: Lowering) -> exp.Expr:
    if isinstance(source, TableSource):
        return exp.Table(
            this=_quoted(source.table),
            db=_quoted(source.schema) if source.schema else None,
            catalog=_quoted(source.catalog) if source.catalog else None,
        )
    alias = exp.TableAlias(this=_quoted(VIRTUAL_ALIAS))
    if not low.spec.allows_cte_in_subquery and source.tree is not None:
        return exp.Subquery(this=bound_tree(source, low), alias=alias)
    text = bound_sql(source, low) if source.rules else source.sql  # the checked text is not written again
    return exp.Table(this=exp.Var(this=f"({text})"), alias=alias)


def bound_sql(source: SqlSource, low: Lowering) -> str:
    """Return the SQL of a virtual dataset with its row rules inside."""
    generator = Dialect.get_or_raise(low.spec.dialect).generator(comments=False)
    return generator.generate(bound_tree(source, low), copy=False)


def bound_tree(source: SqlSource, low: Lowering) -> exp.Expr:
    """Return a fresh tree in which each ruled relation gave way to a sub-query of its permitted rows."""
    assert source.tree is not None  # noqa: S101 - the guard gives a source with its tree; tells the type checker
    tree = source.tree.copy()
    tables = list(tree.find_all(exp.Table))
    ruled = [(tables[rule.position], rule) for rule in source.rules]
    _shorten_names(tree, [table for table, _ in ruled])
    for table, rule in ruled:
        where = conjunction([clause.predicate for clause in rule.clauses], low)
        assert where is not None  # noqa: S101 - a rule has clauses; tells the type checker
        table.replace(_filtered(table, where, low))
    return tree


def _filtered(table: exp.Table, where: exp.Expr, low: Lowering) -> exp.Subquery:
    alias = table.args.get("alias") or exp.TableAlias(this=table.this.copy())
    inner = exp.Table(**{name: part for name, part in table.copy().args.items() if name not in _OUTSIDE})
    inner.set("alias", exp.TableAlias(this=_quoted(RELATION_ALIAS)))
    permitted = exp.Select(expressions=[exp.Star()], from_=exp.From(this=inner), where=exp.Where(this=where))
    outside = {name: part for name, part in table.args.items() if name in _OUTSIDE and name != "alias"}
    rows = low.spec.guards.fence(permitted) if low.fences_relations else permitted
    return exp.Subquery(this=rows, alias=alias.copy(), **outside)


def _shorten_names(tree: exp.Expr, ruled: Iterable[exp.Table]) -> None:
    """Write `orders.id` for `sales.orders.id`: the sub-query that takes the place of the table has its name alone."""
    full = {(table.db.casefold(), table.name.casefold()) for table in ruled if table.db and not table.alias}
    for column in tree.find_all(exp.Column) if full else ():
        if (column.text("db").casefold(), column.table.casefold()) in full:
            column.set("db", None)
            column.set("catalog", None)


def _quoted(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=True)

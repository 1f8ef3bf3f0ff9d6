"""Lowers what a query reads: a table, or the SQL of a virtual dataset with its row rules inside."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from analytics_core._compile.dataset_view import VIRTUAL_ALIAS
from analytics_core._compile.lower_predicate import conjunction
from analytics_core._compile.lowering import Lowering
from analytics_core._compile.plan import SqlSource, TableSource

RELATION_ALIAS = "ruled_table"
"""With which the columns of a row rule are qualified inside a virtual dataset."""

_OUTSIDE = ("alias", "joins", "laterals", "pivots")
"""The parts of a relation that stand around its rows: they go around the filtered sub-query."""


def lower_source(source: TableSource | SqlSource, low: Lowering) -> exp.Expr:
    """Return the relation that a query reads."""
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
        table.replace(_filtered(table, where))
    return tree


def _filtered(table: exp.Table, where: exp.Expr) -> exp.Subquery:
    alias = table.args.get("alias") or exp.TableAlias(this=table.this.copy())
    inner = exp.Table(**{name: part for name, part in table.copy().args.items() if name not in _OUTSIDE})
    inner.set("alias", exp.TableAlias(this=_quoted(RELATION_ALIAS)))
    permitted = exp.Select(expressions=[exp.Star()], from_=exp.From(this=inner), where=exp.Where(this=where))
    outside = {name: part for name, part in table.args.items() if name in _OUTSIDE and name != "alias"}
    return exp.Subquery(this=permitted, alias=alias.copy(), **outside)


def _shorten_names(tree: exp.Expr, ruled: Iterable[exp.Table]) -> None:
    """Write `orders.id` for `sales.orders.id`: the sub-query that takes the place of the table has its name alone."""
    full = {(table.db.casefold(), table.name.casefold()) for table in ruled if table.db and not table.alias}
    for column in tree.find_all(exp.Column) if full else ():
        if (column.text("db").casefold(), column.table.casefold()) in full:
            column.set("db", None)
            column.set("catalog", None)


def _quoted(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=True)

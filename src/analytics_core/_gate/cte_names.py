"""Which names in a query stand for its own WITH clauses. In doubt a name is a table: then its row rules count."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from analytics_core._engines.spec import EngineSpec


def is_cte(table: exp.Table, spec: EngineSpec) -> bool:
    """Tell whether a WITH clause answers to the relation wherever engines look its name up."""
    name = table.this
    if table.db or table.catalog or not isinstance(name, exp.Identifier):
        return False
    wanted = _folded(name, spec)
    return any(_folded(cte, spec) == wanted for cte in _visible(table))


def _visible(node: exp.Expr) -> Iterator[exp.Identifier]:
    """Yield the names of the WITH clauses that are in sight of a node, the nearest query first."""
    child, parent = node, node.parent
    while parent is not None:
        if isinstance(parent, exp.With):
            yield from _named(_before(parent, child, node))
        elif isinstance(with_ := parent.args.get("with_"), exp.With) and child is not with_:
            yield from _named(with_.expressions)
        child, parent = parent, parent.parent


def _before(with_: exp.With, own: exp.Expr, node: exp.Expr) -> list[exp.Expr]:
    """Return the clauses that the one around `node` may read: those before it, and itself where it recurs."""
    position = next(i for i, clause in enumerate(with_.expressions) if clause is own)
    return list(with_.expressions[: position + (1 if _recurs(with_, own, node) else 0)])


def _recurs(with_: exp.With, own: exp.Expr, node: exp.Expr) -> bool:
    """Tell whether `node` is in the recursive term; in the first term engines may look for a table of that name.

    Only a plain UNION recurs: DuckDB looks for a table from INTERSECT, EXCEPT and UNION BY NAME.
    """
    body = own.this
    if not with_.args.get("recursive") or not isinstance(body, exp.Union) or body.args.get("by_name"):
        return False
    ancestor: exp.Expr | None = node
    while ancestor is not None and ancestor.parent is not body:
        ancestor = ancestor.parent
    return ancestor is body.expression


def _named(clauses: list[exp.Expr]) -> Iterator[exp.Identifier]:
    """Yield the names of relations; `WITH 1 AS t` of ClickHouse names a value, and hides no table."""
    for clause in clauses:
        alias = clause.args.get("alias")
        if alias is not None and isinstance(alias.this, exp.Identifier) and not clause.args.get("scalar"):
            yield alias.this


def _folded(name: exp.Identifier, spec: EngineSpec) -> tuple[str, bool]:
    """Return a name as the engine compares it; outside ASCII engines differ, so only the same spelling is the same."""
    if not name.name.isascii():
        return name.name, bool(name.quoted)
    return Dialect.get_or_raise(spec.dialect).normalize_identifier(name.copy()).name, False

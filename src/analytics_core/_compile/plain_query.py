"""Tells virtual datasets whose SQL cannot fail on any row from those whose SQL may."""

from __future__ import annotations

from sqlglot import exp

from analytics_core._engines.spec import EngineSpec

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_CONDITIONS = (*_COMPARISONS, exp.And, exp.Or, exp.Not, exp.Paren, exp.Is, exp.In, exp.Between, exp.Boolean)
_PARTS = (
    exp.Select, exp.From, exp.Table, exp.TableAlias, exp.Identifier, exp.Column, exp.Star, exp.Alias, exp.Where,
    exp.Join, exp.Subquery, exp.With, exp.CTE, exp.Distinct, exp.Order, exp.Ordered, exp.Limit, exp.Group, exp.Count,
    exp.Min, exp.Max, exp.Literal, exp.Null,
)  # fmt: skip
_PLAIN = (*_PARTS, *_CONDITIONS)


def is_plain_query(tree: exp.Expr | None, spec: EngineSpec) -> bool:
    """Tell whether a query takes, joins, filters and counts stored columns, and computes nothing that can fail."""
    if not isinstance(tree, exp.Select):
        return False
    return all(type(node) in _PLAIN and _is_plain_node(node, spec) for node in tree.walk())


def _is_plain_node(node: exp.Expr, spec: EngineSpec) -> bool:
    if isinstance(node, _CONDITIONS):
        return _is_plain_condition(node, spec)
    match node:
        case exp.Where():
            return isinstance(node.this, _CONDITIONS)
        case exp.Join():
            on, compares = node.args.get("on"), node.args.get("using") or node.args.get("method")
            return isinstance(on, _CONDITIONS) if on is not None else not (spec.guards.casts_columns and compares)
        case exp.With():
            return not node.args.get("recursive")
        case exp.Count() | exp.Min() | exp.Max():
            return not node.expressions and isinstance(node.this, exp.Column | exp.Star | exp.Distinct)
    return not isinstance(node, exp.Table) or isinstance(node.this, exp.Identifier)


def _is_plain_condition(node: exp.Expr, spec: EngineSpec) -> bool:
    match node:
        case exp.Boolean():
            return True
        case exp.Is():
            return isinstance(node.this, exp.Column) and isinstance(node.expression, exp.Null)
        case exp.And() | exp.Or() | exp.Not() | exp.Paren():
            return all(isinstance(part, _CONDITIONS) for part in node.iter_expressions())
    return _is_plain_comparison(list(node.iter_expressions()), spec)


def _is_plain_comparison(operands: list[exp.Expr], spec: EngineSpec) -> bool:
    """Tell whether a column is compared with literals or columns; where columns are cast, with texts alone."""
    column, *others = operands
    if spec.guards.casts_columns:
        return isinstance(column, exp.Column) and all(isinstance(o, exp.Literal) and o.is_string for o in others)
    return isinstance(column, exp.Column) and all(isinstance(other, exp.Column | exp.Literal) for other in others)

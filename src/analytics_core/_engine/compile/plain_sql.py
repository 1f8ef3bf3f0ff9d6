"""SQL that is safe beside row rules on every engine: plain metrics, and queries that compute nothing."""

from __future__ import annotations

from sqlglot import exp

from analytics_core._engine.engines.spec import EngineSpec

_PLAIN_AGGREGATES = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_OF_GROUPS = (
    *_PLAIN_AGGREGATES, *_COMPARISONS, exp.And, exp.Or, exp.Not, exp.Is, exp.Null, exp.Boolean, exp.Between, exp.In,
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Paren, exp.Coalesce, exp.Nullif, exp.Round, exp.Literal,
    exp.Distinct, exp.Star, exp.Identifier, exp.Case, exp.If,
)  # fmt: skip


def is_plain_metric(tree: exp.Expr | None) -> bool:
    """Tell whether a fragment aggregates plain columns and computes with the aggregates of groups alone."""
    if tree is None:
        return False
    aggregates = [node for node in tree.walk() if isinstance(node, _PLAIN_AGGREGATES)]
    inside = {id(part) for node in aggregates if _takes_a_column(node) for part in node.walk()}
    return bool(aggregates) and all(
        id(node) in inside or (isinstance(node, _OF_GROUPS) and not isinstance(node, _PLAIN_AGGREGATES))
        for node in tree.walk()
    )


def _takes_a_column(aggregate: exp.Expr) -> bool:
    """Tell whether an aggregate is over a plain column, its distinct values or all rows."""
    operand = aggregate.this
    if isinstance(operand, exp.Distinct) and len(operand.expressions) == 1:
        operand = operand.expressions[0]
    return isinstance(operand, exp.Column | exp.Star) and not aggregate.expressions


_QUERY_CONDITIONS = (*_COMPARISONS, exp.And, exp.Or, exp.Not, exp.Paren, exp.Is, exp.In, exp.Between, exp.Boolean)
_PARTS = (
    exp.Select, exp.From, exp.Table, exp.TableAlias, exp.Identifier, exp.Column, exp.Star, exp.Alias, exp.Where,
    exp.Join, exp.Subquery, exp.With, exp.CTE, exp.Distinct, exp.Order, exp.Ordered, exp.Limit, exp.Group, exp.Count,
    exp.Min, exp.Max, exp.Literal, exp.Null,
)  # fmt: skip
_PLAIN = (*_PARTS, *_QUERY_CONDITIONS)


def is_plain_query(tree: exp.Expr | None, spec: EngineSpec) -> bool:
    """Tell whether a query takes, joins, filters and counts stored columns, and computes nothing that can fail."""
    if not isinstance(tree, exp.Select):
        return False
    return all(type(node) in _PLAIN and _is_plain_node(node, spec) for node in tree.walk())


def _is_plain_node(node: exp.Expr, spec: EngineSpec) -> bool:
    if isinstance(node, _QUERY_CONDITIONS):
        return _is_plain_condition(node, spec)
    match node:
        case exp.Where():
            return isinstance(node.this, _QUERY_CONDITIONS)
        case exp.Join():
            on, compares = node.args.get("on"), node.args.get("using") or node.args.get("method")
            return isinstance(on, _QUERY_CONDITIONS) if on is not None else not (spec.guards.casts_columns and compares)
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
            return all(isinstance(part, _QUERY_CONDITIONS) for part in node.iter_expressions())
    return _is_plain_comparison(list(node.iter_expressions()), spec)


def _is_plain_comparison(operands: list[exp.Expr], spec: EngineSpec) -> bool:
    """Tell whether a column is compared with literals or columns; where columns are cast, with texts alone."""
    column, *others = operands
    if spec.guards.casts_columns:
        return isinstance(column, exp.Column) and all(isinstance(o, exp.Literal) and o.is_string for o in others)
    return isinstance(column, exp.Column) and all(isinstance(other, exp.Column | exp.Literal) for other in others)

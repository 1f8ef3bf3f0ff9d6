"""Which conditions and expressions of a plan cannot fail on any row, so that no error tells of a row that a rule hides.

Allow-lists: what nobody thought of may fail. Safe are comparisons of a plain column with bound values of its own type;
what a user wrote, casts, our own conversions of encoded dates and calculated columns are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlglot import exp

from analytics_core._compile.lower_predicate import moved
from analytics_core._compile.plan import (
    AggregateExpr,
    AllOf,
    AnyOf,
    BucketExpr,
    ColumnExpr,
    Compare,
    Comparison,
    FragmentExpr,
    InOthersExpr,
    InValues,
    IsNull,
    IsTruth,
    Match,
    OthersExpr,
    PlanExpr,
    Predicate,
    Within,
)
from analytics_core._engines.spec import BindValue, EngineSpec, TimeBound
from analytics_core._engines.types import TimeFormat, ValueKind
from analytics_core.errors import UnsupportedByEngineError
from analytics_core.models.enums import Aggregate

BoundOf = Callable[[exp.Expr, TimeFormat, datetime], TimeBound]


@dataclass(frozen=True, slots=True, kw_only=True)
class Safety:
    """What cannot fail on a row of one source, on one engine.

    `has_plain_columns`: the columns of the source are stored ones, not computed by the SQL of a virtual dataset.
    """

    spec: EngineSpec
    has_plain_columns: bool

    def of_condition(self, predicate: Predicate) -> bool:
        """Tell whether a condition in WHERE is safe."""
        check = _CONDITIONS.get(type(predicate))
        return check is not None and self.has_plain_columns and check(predicate, self.spec)

    def of_expr(self, expr: PlanExpr) -> bool:
        """Tell whether an expression in SELECT, GROUP BY or ORDER BY is safe."""
        if isinstance(expr, OthersExpr):
            return self.of_expr(expr.source)
        return self.has_plain_columns and _is_safe(expr)

    def of_groups(self, predicate: Predicate) -> bool:
        """Tell whether a condition in HAVING is safe: it is tested on groups alone, and what it groups is safe."""
        match predicate:
            case Compare() | InValues() | IsNull() | IsTruth() | Match():
                return self.of_expr(predicate.left) and not isinstance(predicate.left, ColumnExpr | BucketExpr)
        fragment = getattr(predicate, "fragment", None)
        return isinstance(fragment, FragmentExpr) and self.of_expr(fragment)


def _is_safe(expr: PlanExpr) -> bool:
    match expr:
        case ColumnExpr() | InOthersExpr() | AggregateExpr(source=None):
            return True
        case BucketExpr(source=ColumnExpr(kind=kind), hours=0):
            return kind.is_temporal
        case AggregateExpr(source=ColumnExpr(kind=kind), aggregate=aggregate):
            sums = aggregate in (Aggregate.SUM, Aggregate.AVG)
            return not sums or kind.is_numeric or kind is ValueKind.BOOLEAN
        case FragmentExpr(tree=tree):
            return is_plain_metric(tree)
    return False


# -------------------------------------------------------------------------------------------------------- conditions
def _compare(predicate: Compare, spec: EngineSpec) -> bool:
    left, value = predicate.left, predicate.value
    if not isinstance(left, ColumnExpr):
        return False
    if not isinstance(value, datetime):
        return _is_of_kind(value, left, spec)
    if predicate.op in (Comparison.EQUAL, Comparison.NOT_EQUAL):
        return _is_bare(left, value, spec.time_equal, spec)
    after = predicate.op in (Comparison.GREATER, Comparison.LESS_OR_EQUAL)
    return _is_bare(left, moved(value, microseconds=1) if after else value, spec.time_bound, spec)


def _membership(predicate: InValues, spec: EngineSpec) -> bool:
    left = predicate.left
    return isinstance(left, ColumnExpr) and all(
        _is_bare(left, value, spec.time_equal, spec) if isinstance(value, datetime) else _is_of_kind(value, left, spec)
        for value in predicate.values
    )


def _is_of_kind(value: BindValue, left: ColumnExpr, spec: EngineSpec) -> bool:
    """Tell whether a value is of the column's own type, or casts the column to one that holds all of its values."""
    kind = left.kind
    match value:
        case bool():
            return kind is ValueKind.BOOLEAN and _has_type(left, spec)
        case str():
            return kind is ValueKind.TEXT
        case int():
            return kind.is_numeric and _has_type(left, spec)
        case float():
            return kind in (ValueKind.FLOAT, ValueKind.INTEGER) and _has_type(left, spec)
        case Decimal():
            exact = kind is ValueKind.FLOAT or (kind.is_numeric and _keeps_digits(value, left, spec))
            return exact and _has_type(left, spec)
    return False


def _has_type(left: ColumnExpr, spec: EngineSpec) -> bool:
    """Tell whether the column can be compared as its declared type; a type may be said to be what it is not."""
    if not spec.casts_columns:
        return True
    return left.declared is not None and spec.as_declared(exp.Null(), left.declared) is not None


def _keeps_digits(value: Decimal, left: ColumnExpr, spec: EngineSpec) -> bool:
    """Tell whether no digits before the point are lost for those behind it, where the column is cast to the value's."""
    exponent = value.as_tuple().exponent
    if not spec.casts_columns:
        return True
    return left.numbers is not None and isinstance(exponent, int) and -exponent <= left.numbers.scale


def _within(predicate: Within, spec: EngineSpec) -> bool:
    left = predicate.left
    moments = [moment for moment in (predicate.since, predicate.until) if moment is not None]
    return isinstance(left, ColumnExpr) and all(
        _is_bare(left, moved(moment, hours=-predicate.hours), spec.time_bound, spec) for moment in moments
    )


def _is_bare(left: ColumnExpr, moment: datetime, bound_of: BoundOf, spec: EngineSpec) -> bool:
    """Tell whether a moment is compared with the stored column itself, or with what cannot fail for any value of it."""
    if left.time is None:
        return False
    column = exp.Column(this=exp.Identifier(this=left.name, quoted=True))
    try:
        bound = bound_of(column, left.time, moment)
    except UnsupportedByEngineError:
        return False
    if bound.left is not column and bound.near is None:
        return False
    if left.kind.is_temporal:
        return left.time.value_kind is left.kind and _has_type(left, spec)
    return bound.value is None or _is_of_kind(bound.value, left, spec)


def _null(predicate: IsNull, _spec: EngineSpec) -> bool:
    return isinstance(predicate.left, ColumnExpr)


def _truth(predicate: IsTruth, spec: EngineSpec) -> bool:
    left = predicate.left
    if not isinstance(left, ColumnExpr):
        return False
    return (left.kind is ValueKind.BOOLEAN or left.kind.is_numeric) and _has_type(left, spec)


def _match(predicate: Match, _spec: EngineSpec) -> bool:
    """A pattern that ends in a lone escape fails on some values only; what is no text would be cast."""
    left, pattern = predicate.left, predicate.pattern
    ends_escaped = (len(pattern) - len(pattern.rstrip("\\"))) % 2 == 1
    return isinstance(left, ColumnExpr) and left.kind is ValueKind.TEXT and not ends_escaped


def _members(predicate: AnyOf | AllOf, spec: EngineSpec) -> bool:
    safety = Safety(spec=spec, has_plain_columns=True)
    return all(safety.of_condition(member) for member in predicate.members)


_CONDITIONS: Mapping[type, Callable[[Any, EngineSpec], bool]] = {
    Compare: _compare,
    InValues: _membership,
    IsNull: _null,
    IsTruth: _truth,
    Match: _match,
    Within: _within,
    AnyOf: _members,
    AllOf: _members,
}


# ------------------------------------------------------------------------------------------------------- users' trees
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

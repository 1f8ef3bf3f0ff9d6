"""Lowers predicates to SQL conditions; every nested condition stands in parentheses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlglot import exp

from analytics_core._engine.compile.calendar import truncate
from analytics_core._engine.compile.lowering.expressions import MARK, Lowering, lower_expr, raw
from analytics_core._engine.compile.plan import (
    AllOf,
    AnyOf,
    BucketExpr,
    ColumnExpr,
    Compare,
    Comparison,
    Condition,
    FragmentExpr,
    InValues,
    IsNull,
    IsTruth,
    Match,
    PlanExpr,
    Predicate,
    Within,
)
from analytics_core._engine.engines.nodes import number
from analytics_core._engine.engines.spec import BindValue, TimeBound
from analytics_core._engine.engines.types import Collation, TimeEncoding, TimeFormat, ValueKind

_COMPARISONS: Mapping[Comparison, type[exp.Expr]] = {
    Comparison.EQUAL: exp.EQ,
    Comparison.NOT_EQUAL: exp.NEQ,
    Comparison.LESS: exp.LT,
    Comparison.LESS_OR_EQUAL: exp.LTE,
    Comparison.GREATER: exp.GT,
    Comparison.GREATER_OR_EQUAL: exp.GTE,
}
_EQUALITIES = (Comparison.EQUAL, Comparison.NOT_EQUAL)
_NEVER_CAST = (ValueKind.TEXT, ValueKind.OTHER, ValueKind.UNKNOWN)
_BUCKET_FORMAT = TimeFormat(encoding=TimeEncoding.TIMESTAMP)


def conjunction(predicates: Sequence[Predicate], low: Lowering) -> exp.Expr | None:
    """Return all predicates ANDed, or None when there are none."""
    if low.slots is not None and predicates:
        return low.slots.condition(predicates)
    nodes = [lower_predicate(predicate, low) for predicate in predicates]
    if not nodes:
        return None
    joined = nodes[0]
    for node in nodes[1:]:
        joined = exp.And(this=joined, expression=node)
    return joined


def lower_predicate(predicate: Predicate, low: Lowering) -> exp.Expr:
    """Return the condition of one predicate, safe to stand inside AND."""
    return _LOWERINGS[type(predicate)](predicate, low)


def _operand(expr: PlanExpr, low: Lowering) -> exp.Expr:
    return raw(expr, low) if isinstance(expr, ColumnExpr | FragmentExpr) else lower_expr(expr, low)


def _exact_text(expr: PlanExpr, low: Lowering) -> exp.Expr:
    """Return an operand; text by code point where its column would take texts for equal that are not the same."""
    folds = isinstance(expr, ColumnExpr) and expr.kind is ValueKind.TEXT and expr.collation is Collation.FOLDED
    return low.spec.text_key(_operand(expr, low)) if folds else _operand(expr, low)


def _compared(expr: PlanExpr, low: Lowering) -> exp.Expr:
    """Return what is compared with a value: a column of numbers, moments or truths as its type where that must hold."""
    node = _exact_text(expr, low)
    if not (low.holds_types and isinstance(expr, ColumnExpr) and expr.declared) or expr.kind in _NEVER_CAST:
        return node
    return low.spec.as_declared(node, expr.declared) or node


def _kind(expr: PlanExpr) -> ValueKind:
    return expr.kind if isinstance(expr, ColumnExpr | FragmentExpr) else ValueKind.UNKNOWN


def _time(expr: PlanExpr) -> TimeFormat:
    if isinstance(expr, ColumnExpr | FragmentExpr) and expr.time:
        return expr.time
    return _BUCKET_FORMAT


def _compare(predicate: Compare, low: Lowering) -> exp.Expr:
    if isinstance(predicate.value, datetime):
        return _compare_moment(predicate, predicate.value, low)
    left, kind = _compared(predicate.left, low), _kind(predicate.left)
    right = low.binds(predicate.value)
    if isinstance(predicate.value, str):
        left = low.spec.as_text(left) if kind is ValueKind.OTHER else left
        right = low.spec.text_equal(right) if predicate.op in _EQUALITIES else low.spec.text_order(right)
    exact = _COMPARISONS[predicate.op](this=left, expression=right)
    if predicate.op is not Comparison.EQUAL or not _needs_plain(predicate.left, [predicate.value], low):
        return exact
    return exp.And(this=exp.EQ(this=left.copy(), expression=low.binds(predicate.value)), expression=exact)


def _needs_plain(expr: PlanExpr, values: Sequence[BindValue], low: Lowering) -> bool:
    """Tell whether only an equality by the column's own collation finds its rows by an index.

    Equal texts are equal by every collation: said beside the exact equality it takes no row away. A text that the
    column's character set lacks would be refused; all sets have ASCII.
    """
    if not low.spec.searches_by_own_collation or not isinstance(expr, ColumnExpr) or expr.kind is not ValueKind.TEXT:
        return False
    if not expr.leads_index or expr.collation is Collation.CODE_POINT:
        return False
    return expr.collation is Collation.UTF8 or all(isinstance(value, str) and value.isascii() for value in values)


def _compare_moment(predicate: Compare, moment: datetime, low: Lowering) -> exp.Expr:
    left, time = _compared(predicate.left, low), _time(predicate.left)
    if predicate.op in _EQUALITIES:
        if not _may_be_label(predicate.left, moment):  # DuckDB 1.5 takes `date_trunc(x) <> no label` for true at NULL
            return _never(left, is_equal=predicate.op is Comparison.EQUAL)
        bound = low.spec.time_equal(left, time, moment)
        if bound.value is None:
            return _never(bound.left, is_equal=predicate.op is Comparison.EQUAL)
        return _equal_moment(predicate, bound, low)
    return _order_moment(predicate, left, time, moment, low)


def _may_be_label(expr: PlanExpr, moment: datetime) -> bool:
    """Tell whether a value of the expression can equal the moment: buckets equal their labels alone."""
    if not isinstance(expr, BucketExpr) or expr.grain is None:
        return True
    try:
        return truncate(moment, expr.grain) == moment
    except OverflowError:
        return False


def _order_moment(predicate: Compare, left: exp.Expr, time: TimeFormat, moment: datetime, low: Lowering) -> exp.Expr:
    """`>=` and `<` are the two comparisons that bounds are exact for; the others are those of the next microsecond."""
    op = predicate.op
    after = op in (Comparison.GREATER, Comparison.LESS_OR_EQUAL)
    node = exp.GTE if op in (Comparison.GREATER, Comparison.GREATER_OR_EQUAL) else exp.LT
    bound = low.spec.time_bound(left.copy(), time, moved(moment, microseconds=1) if after else moment)
    return _ordered(node, predicate.left, left, bound, low)


def _decoded(expr: PlanExpr, bound: TimeBound, low: Lowering) -> exp.Expr:
    """Return the left side of a bound; where all moments share it, its text is remembered with the column's."""
    if bound.decode is None or low.known is None or not isinstance(expr, ColumnExpr):
        return bound.left
    return low.known.nodes((bound.decode, expr, low.holds_types), lambda: [bound.left], low.spec)[0]


def _ordered(node: type[exp.Expr], expr: PlanExpr, column: exp.Expr, bound: TimeBound, low: Lowering) -> exp.Expr:
    """Return `column >= moment` or `column < moment`: by the column where that decides, for its index."""
    if bound.near is None:
        return node(this=_decoded(expr, bound, low), expression=low.binds(bound.value))
    first, last = bound.near
    possible, sure = (first, last) if node is exp.GTE else (last, first)
    at_all = node(this=column.copy(), expression=low.binds(possible))
    surely = node(this=column.copy(), expression=low.binds(sure))
    exact = node(this=_decoded(expr, bound, low), expression=low.binds(bound.value))
    return exp.Paren(this=exp.And(this=at_all, expression=exp.Paren(this=exp.Or(this=surely, expression=exact))))


def _equal_moment(predicate: Compare, bound: TimeBound, low: Lowering) -> exp.Expr:
    if bound.near is None or predicate.op is Comparison.NOT_EQUAL:
        return _COMPARISONS[predicate.op](this=bound.left, expression=low.binds(bound.value))
    first, last = bound.near
    from_first = exp.GTE(this=_operand(predicate.left, low), expression=low.binds(first))
    to_last = exp.LT(this=_operand(predicate.left, low), expression=low.binds(last))
    exact = exp.EQ(this=bound.left, expression=low.binds(bound.value))
    return exp.Paren(this=exp.And(this=exp.And(this=from_first, expression=to_last), expression=exact))


def _never(left: exp.Expr, *, is_equal: bool) -> exp.Expr:
    """Return what `left = x` is when no stored value can equal x: false, and for `<>` true where there is a value."""
    if is_equal:
        return exp.EQ(this=number(1), expression=number(0))
    return exp.Not(this=exp.Is(this=left, expression=exp.Null()))


def _membership(predicate: InValues, low: Lowering) -> exp.Expr:
    moments = [value for value in predicate.values if isinstance(value, datetime)]
    if moments:
        member = _moment_members(predicate, moments, low)
    elif predicate.values:
        left = _compared(predicate.left, low)
        if _kind(predicate.left) is ValueKind.OTHER and isinstance(predicate.values[0], str):
            left = low.spec.as_text(left)
        member = low.spec.in_list(left, predicate.values, _kind(predicate.left), low.binds)
        if not predicate.negated and _needs_plain(predicate.left, predicate.values, low):
            plain = exp.In(this=left.copy(), expressions=[low.binds(value) for value in predicate.values])
            member = exp.And(this=plain, expression=member)
    else:
        member = None
    return _with_null(predicate, member, low)


def _moment_members(predicate: InValues, moments: Sequence[datetime], low: Lowering) -> exp.Expr | None:
    left, time = predicate.left, _time(predicate.left)
    bounds = [low.spec.time_equal(_compared(left, low), time, moment) for moment in moments]
    values = [bound.value for bound in bounds if bound.value is not None]
    if not values:
        return None
    return exp.In(this=bounds[0].left, expressions=[low.binds(value) for value in values])


def _with_null(predicate: InValues, member: exp.Expr | None, low: Lowering) -> exp.Expr:
    if predicate.negated:
        not_null = exp.Not(this=exp.Is(this=_operand(predicate.left, low), expression=exp.Null()))
        if member is None:
            return not_null
        negated = exp.Not(this=exp.Paren(this=member))
        return exp.And(this=not_null, expression=negated) if predicate.with_null else negated
    if not predicate.with_null:
        return member or _never(_operand(predicate.left, low), is_equal=True)
    is_null = exp.Is(this=_operand(predicate.left, low), expression=exp.Null())
    return exp.Paren(this=exp.Or(this=is_null, expression=member)) if member is not None else is_null


def _null(predicate: IsNull, low: Lowering) -> exp.Expr:
    is_null = exp.Is(this=_operand(predicate.left, low), expression=exp.Null())
    return exp.Not(this=is_null) if predicate.negated else is_null


def _truth(predicate: IsTruth, low: Lowering) -> exp.Expr:
    return low.spec.is_true(_compared(predicate.left, low), _kind(predicate.left), predicate.truth)


def _match(predicate: Match, low: Lowering) -> exp.Expr:
    left = _exact_text(predicate.left, low)
    if _kind(predicate.left) is not ValueKind.TEXT:
        left = low.spec.as_text(left)
    like = low.spec.like(left, predicate.pattern, predicate.fold_case, low.binds)
    return exp.Not(this=exp.Paren(this=like)) if predicate.negated else like


def _within(predicate: Within, low: Lowering) -> exp.Expr:
    sides = []
    for node, moment in ((exp.GTE, predicate.since), (exp.LT, predicate.until)):
        if moment is None:
            continue
        column = _compared(predicate.left, low)
        bound = low.spec.time_bound(column.copy(), _time(predicate.left), moved(moment, hours=-predicate.hours))
        sides.append(_ordered(node, predicate.left, column, bound, low))
    return sides[0] if len(sides) == 1 else exp.And(this=sides[0], expression=sides[1])


def moved(moment: datetime, *, hours: int = 0, microseconds: int = 0) -> datetime:
    """Return the moment moved, or as it is at the ends of the calendar."""
    try:
        return moment + timedelta(hours=hours, microseconds=microseconds)
    except OverflowError:
        return moment


def _condition(predicate: Condition, low: Lowering) -> exp.Expr:
    fragment = predicate.fragment
    return exp.Paren(this=exp.Var(this=_with_values(fragment, low) if fragment.values else low.sql_of(fragment)))


def _with_values(fragment: FragmentExpr, low: Lowering) -> str:
    """Return the text of a fragment in which the numbers of its values are their names in this statement."""
    pieces = fragment.sql.split(MARK)
    return "".join(low.binds(fragment.values[int(piece)]).name if i % 2 else piece for i, piece in enumerate(pieces))


def _any_of(predicate: AnyOf, low: Lowering) -> exp.Expr:
    nodes = [lower_predicate(member, low) for member in predicate.members]
    if not nodes:
        return exp.EQ(this=number(1), expression=number(0))
    joined = nodes[0]
    for node in nodes[1:]:
        joined = exp.Or(this=joined, expression=node)
    return exp.Paren(this=joined)


def _all_of(predicate: AllOf, low: Lowering) -> exp.Expr:
    joined = conjunction(predicate.members, low)
    return exp.Paren(this=joined) if joined else exp.EQ(this=number(1), expression=number(1))


_LOWERINGS: Mapping[type, Callable[[Any, Lowering], exp.Expr]] = {
    Compare: _compare,
    InValues: _membership,
    IsNull: _null,
    IsTruth: _truth,
    Match: _match,
    Within: _within,
    Condition: _condition,
    AnyOf: _any_of,
    AllOf: _all_of,
}

"""The fence between the row rules of a query and what may fail: no engine may test the one before the other.

Whether an error comes is itself an answer: `1 / (id - 4) > 0` fails if row 4 exists, permitted or not, where an engine
tests it before the rule. Safe conditions stand with the rules, so that indexes serve them. Allow-lists say what is
safe: comparisons of a stored column with bound values of its own type, and SQL of operations that fail on no row of the
engine (`totality.py`); all other SQL, and our own conversions of encoded dates, may fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum, auto
from typing import Any, TypeGuard

from sqlglot import exp

from analytics_core._engine.compile.lowering.predicates import moved
from analytics_core._engine.compile.plain_sql import is_plain_metric, is_plain_query
from analytics_core._engine.compile.plan import (
    AggregateExpr,
    AllOf,
    AnyOf,
    BucketExpr,
    Clause,
    ColumnExpr,
    Compare,
    Comparison,
    Condition,
    FragmentExpr,
    InOthersExpr,
    InValues,
    IsNull,
    IsTruth,
    Match,
    OthersExpr,
    PlanExpr,
    Predicate,
    QueryPlan,
    SeriesLimit,
    SqlSource,
    TableSource,
    Within,
    columns_of,
    innermost,
)
from analytics_core._engine.compile.totality import Totality, meets_value, typed_sql
from analytics_core._engine.engines.nodes import quoted
from analytics_core._engine.engines.spec import BindValue, EngineSpec, TimeBound
from analytics_core._engine.engines.totals import NOTHING_IS_TOTAL, TotalOperations, Values
from analytics_core._engine.engines.types import Collation, TimeFormat, ValueKind
from analytics_core.errors import UnsupportedByEngineError
from analytics_core.models.enums import Aggregate


class FenceForm(StrEnum):
    """How rules are kept before the rest: not at all, by CASE in WHERE, by a derived table of the permitted rows."""

    NONE = auto()
    CASE = auto()
    TABLE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """How a statement reads its rows.

    `rules` are the conditions of row rules. `inside` are all conditions that stand with them, in the order of the plan,
    `outside` those that must see permitted rows alone. `columns` are what is read through a derived table; None: all.
    """

    form: FenceForm
    rules: tuple[Predicate, ...]
    inside: tuple[Predicate, ...]
    outside: tuple[Predicate, ...] = ()
    columns: tuple[str, ...] | None = None


def fence_of_plan(plan: QueryPlan, spec: EngineSpec) -> Fence:
    """Return how the statement of a plan reads its rows."""
    limit = plan.series_limit
    joined = [plan.outputs[position].expr for position in limit.columns] if limit else []
    exprs = [*(output.expr for output in plan.outputs), *(term.expr for term in plan.order)]
    return _fence(plan, plan.where, spec, exprs=exprs, joined=joined, having=plan.having)


def fence_of_series(plan: QueryPlan, limit: SeriesLimit, spec: EngineSpec) -> Fence:
    """Return how the inner query, which chooses the best series, reads its rows."""
    exprs = [plan.outputs[position].expr for position in limit.columns]
    exprs += [limit.metric] if limit.metric is not None else []
    return _fence(plan, limit.where, spec, exprs=exprs)


def fences_relations(plan: QueryPlan, spec: EngineSpec) -> bool:
    """Tell whether row rules inside a virtual dataset's SQL need fences: something in it or around it may fail."""
    if not isinstance(plan.source, SqlSource) or not plan.source.rules:
        return False
    safety = _safety(plan, spec)
    return not (
        bool(safety.stored)
        and all(safety.of_condition(clause.predicate) for clause in _conditions(plan))
        and all(safety.of_groups(clause.predicate) for clause in plan.having)
        and all(map(safety.of_expr, _computed(plan)))
    )


def _conditions(plan: QueryPlan) -> tuple[Clause, ...]:
    return (*plan.where, *(plan.series_limit.where if plan.series_limit else ()))


def _computed(plan: QueryPlan) -> list[PlanExpr]:
    limit = plan.series_limit
    chosen = [limit.metric] if limit and limit.metric is not None else []
    return [*(output.expr for output in plan.outputs), *(term.expr for term in plan.order), *chosen]


def typed_fragments(plan: QueryPlan, spec: EngineSpec) -> Mapping[FragmentExpr, str]:
    """Return the SQL that fails on no row as the engine is sent it beside row rules; the rules are sent as they are."""
    if not plan.row_rules or spec.total is None:
        return {}
    clauses = (*_conditions(plan), *plan.having, *plan.row_rules)
    exprs = [*_computed(plan), *_exprs_of(clause.predicate for clause in clauses if not clause.is_row_rule)]
    rules = set(_exprs_of(clause.predicate for clause in clauses if clause.is_row_rule))
    stored, fragments = _safety(plan, spec).stored, {one for one in map(innermost, exprs) if one not in rules}
    trees = {one: one.tree for one in fragments if isinstance(one, FragmentExpr) and not is_plain_metric(one.tree)}
    found = {one: typed_sql(tree, spec, stored) for one, tree in trees.items() if tree is not None}
    return {one: sql for one, sql in found.items() if sql is not None}


def _fence(
    plan: QueryPlan,
    where: Sequence[Clause],
    spec: EngineSpec,
    *,
    exprs: Sequence[PlanExpr],
    joined: Sequence[PlanExpr] = (),
    having: Sequence[Clause] = (),
) -> Fence:
    """Return the fence of one SELECT; `joined` are expressions that its joins compare."""
    rules = tuple(clause.predicate for clause in where if clause.is_row_rule)
    if not rules:
        return Fence(form=FenceForm.NONE, rules=(), inside=tuple(clause.predicate for clause in where))
    safety = _safety(plan, spec)
    is_safe = [clause.is_row_rule or safety.of_condition(clause.predicate) for clause in where]
    inside = tuple(clause.predicate for clause, safe in zip(where, is_safe, strict=True) if safe)
    outside = tuple(clause.predicate for clause, safe in zip(where, is_safe, strict=True) if not safe)
    tested = all(safety.of_groups(clause.predicate) for clause in having) and all(map(safety.of_expr, joined))
    computed = spec.guards.by_case or all(map(safety.of_expr, exprs))
    if tested and computed and not outside:
        return Fence(form=FenceForm.NONE, rules=rules, inside=inside)
    if tested and spec.guards.by_case:
        return Fence(form=FenceForm.CASE, rules=rules, inside=inside, outside=outside)
    read = [*exprs, *joined, *_exprs_of([*outside, *(clause.predicate for clause in having)])]
    return Fence(form=FenceForm.TABLE, rules=rules, inside=inside, outside=outside, columns=_columns(read))


def _safety(plan: QueryPlan, spec: EngineSpec) -> Safety:
    source = plan.source
    computes = isinstance(source, SqlSource) and not is_plain_query(source.tree, spec)
    has_bounds = isinstance(source, TableSource) or (spec.total is not None and spec.total.tells_signs)
    return Safety(spec=spec, stored={} if computes else plan.stored, has_bounds=has_bounds)


def _exprs_of(predicates: Iterable[Predicate]) -> Iterator[PlanExpr]:
    for predicate in predicates:
        match predicate:
            case Condition():
                yield predicate.fragment
            case AnyOf() | AllOf():
                yield from _exprs_of(predicate.members)
            case _:
                yield predicate.left


def _columns(exprs: Iterable[PlanExpr]) -> tuple[str, ...] | None:
    """Return the columns that expressions name, in the order of their first use; None where that cannot be told."""
    names: dict[str, None] = {}
    for expr in exprs:
        found = columns_of(expr)
        if found is None:
            return None
        names.update(dict.fromkeys(found))
    return tuple(names)


BoundOf = Callable[[exp.Expr, TimeFormat, datetime], TimeBound]


@dataclass(frozen=True, slots=True, kw_only=True)
class Safety:
    """What cannot fail on a row of one source, on one engine.

    `stored` are the types, as the database told them, of the columns that are stored; the others are computed by a view
    or by the SQL of a virtual dataset. Where none is stored nothing is safe: whatever is read may be computed first.
    `has_bounds`: the types tell which numbers a column holds; some engines tell no signs of a query's columns.
    """

    spec: EngineSpec
    stored: Mapping[str, str]
    has_bounds: bool = True

    @property
    def totality(self) -> Totality:
        """What reads the trees of users."""
        return Totality(self.spec, self.stored, has_bounds=self.has_bounds)

    @property
    def total(self) -> TotalOperations:
        """What never fails on the engine."""
        return self.spec.total or NOTHING_IS_TOTAL

    def of_condition(self, predicate: Predicate) -> bool:
        """Tell whether a condition in WHERE is safe."""
        check = _CONDITIONS.get(type(predicate))
        return check is not None and bool(self.stored) and check(predicate, self)

    def of_expr(self, expr: PlanExpr) -> bool:
        """Tell whether an expression in SELECT, GROUP BY or ORDER BY is safe."""
        if isinstance(expr, OthersExpr):
            return self.of_expr(expr.source)
        if isinstance(expr, FragmentExpr) and not is_plain_metric(expr.tree):
            return self.totality.of_groups(expr.tree)
        if isinstance(expr, AggregateExpr) and isinstance(expr.source, FragmentExpr):
            return _gathers(expr.aggregate, expr.source, self)
        if not self.stored or not _is_safe(expr):
            return False
        names = columns_of(expr)
        return names is not None and self.stored.keys() >= set(names)

    def of_rows(self, fragment: FragmentExpr) -> Values | None:
        """Return what SQL gives on any row; None where it may fail, or is compared as another kind than it gives."""
        found = None if fragment.values or fragment.time else self.totality.of_rows(fragment.tree)
        if found is None or self.total.takes_anything or fragment.kind is ValueKind.UNKNOWN:
            return found
        return found if fragment.kind is found.kind or (fragment.kind.is_numeric and found.kind.is_numeric) else None

    def is_stored(self, expr: PlanExpr) -> TypeGuard[ColumnExpr]:
        """Tell whether an expression is a stored column."""
        return isinstance(expr, ColumnExpr) and expr.name in self.stored

    def has_type(self, left: ColumnExpr) -> bool:
        """Tell whether no comparison casts the column to another type; a type may be declared to be what it is not."""
        if not self.spec.guards.casts_columns:
            return True
        if left.declared is None:
            return False
        can_declare = self.spec.as_declared(exp.Null(), left.declared) is not None
        return can_declare or self.stored.get(left.name) == left.declared

    def of_groups(self, predicate: Predicate) -> bool:
        """Tell whether a condition in HAVING is safe: it is tested on groups alone, and what it groups is safe."""
        match predicate:
            case Compare() | InValues() | IsNull() | IsTruth() | Match():
                return self.of_expr(predicate.left) and _is_of_groups(predicate.left)
        fragment = getattr(predicate, "fragment", None)
        return isinstance(fragment, FragmentExpr) and self.of_expr(fragment)


def _is_of_groups(expr: PlanExpr) -> bool:
    """Tell whether groups alone have what an expression gives: a key may be tested before rows are grouped."""
    if isinstance(expr, FragmentExpr):
        return expr.tree is not None and expr.tree.find(exp.AggFunc) is not None
    return not isinstance(expr, ColumnExpr | BucketExpr)


def _gathers(aggregate: Aggregate, source: FragmentExpr, safety: Safety) -> bool:
    values = safety.of_rows(source)
    if values is None or safety.total.takes_anything:
        return values is not None
    return aggregate not in (Aggregate.SUM, Aggregate.AVG) or values.kind.is_numeric or values.kind is ValueKind.BOOLEAN


def _is_safe(expr: PlanExpr) -> bool:
    match expr:
        case ColumnExpr() | InOthersExpr():
            return True
        case BucketExpr(source=ColumnExpr(kind=kind), hours=0):
            return kind.is_temporal
        case AggregateExpr(source=ColumnExpr(kind=kind), aggregate=aggregate):
            sums = aggregate in (Aggregate.SUM, Aggregate.AVG)
            return not sums or kind.is_numeric or kind is ValueKind.BOOLEAN
        case AggregateExpr(source=BucketExpr() as moments):
            return _is_safe(moments)
        case FragmentExpr(tree=tree):
            return is_plain_metric(tree)
    return False


# -------------------------------------------------------------------------------------------------------- conditions
def _condition(predicate: Condition, safety: Safety) -> bool:
    return (
        not predicate.fragment.values
        and Totality(safety.spec, safety.stored).of_rows(predicate.fragment.tree) is not None
    )


def _meets(left: FragmentExpr, values: Iterable[BindValue], safety: Safety) -> bool:
    """Tell whether SQL that fails on no row is compared with values of the kind that it gives."""
    found, total = safety.of_rows(left), safety.total
    if found is None or total.takes_anything:
        return found is not None and not any(isinstance(value, datetime) for value in values)
    return all(meets_value(found, value, any_digits=total.most_digits is None) for value in values)


def _compare(predicate: Compare, safety: Safety) -> bool:
    left, value, spec = predicate.left, predicate.value, safety.spec
    if isinstance(left, FragmentExpr):
        return _meets(left, [value], safety)
    if not safety.is_stored(left):
        return False
    if not isinstance(value, datetime):
        return _is_of_kind(value, left, safety)
    if predicate.op in (Comparison.EQUAL, Comparison.NOT_EQUAL):
        return _is_bare(left, value, spec.time_equal, safety)
    after = predicate.op in (Comparison.GREATER, Comparison.LESS_OR_EQUAL)
    return _is_bare(left, moved(value, microseconds=1) if after else value, spec.time_bound, safety)


def _membership(predicate: InValues, safety: Safety) -> bool:
    left, equal = predicate.left, safety.spec.time_equal
    if isinstance(left, FragmentExpr):
        return _meets(left, predicate.values, safety)
    return safety.is_stored(left) and all(
        _is_bare(left, value, equal, safety) if isinstance(value, datetime) else _is_of_kind(value, left, safety)
        for value in predicate.values
    )


def _is_of_kind(value: BindValue, left: ColumnExpr, safety: Safety) -> bool:
    """Tell whether a value is of the column's own type, or casts the column to one that holds all of its values."""
    return safety.has_type(left) and _fits(value, left, safety.spec)


def _fits(value: BindValue, left: ColumnExpr, spec: EngineSpec) -> bool:
    kind = left.kind
    match value:
        case bool():
            return kind is ValueKind.BOOLEAN
        case str():
            return kind is ValueKind.TEXT
        case int():
            return kind.is_numeric
        case float():
            return kind in (ValueKind.FLOAT, ValueKind.INTEGER)
        case Decimal():
            return kind is ValueKind.FLOAT or (kind.is_numeric and _keeps_digits(value, left, spec))
    return False


def _keeps_digits(value: Decimal, left: ColumnExpr, spec: EngineSpec) -> bool:
    """Tell whether no digits before the point are lost for those behind it, where the column is cast to the value's."""
    exponent = value.as_tuple().exponent
    if not spec.guards.casts_columns:
        return True
    return left.numbers is not None and isinstance(exponent, int) and -exponent <= left.numbers.scale


def _within(predicate: Within, safety: Safety) -> bool:
    left = predicate.left
    moments = [moment for moment in (predicate.since, predicate.until) if moment is not None]
    return safety.is_stored(left) and all(
        _is_bare(left, moved(moment, hours=-predicate.hours), safety.spec.time_bound, safety) for moment in moments
    )


def _is_bare(left: ColumnExpr, moment: datetime, bound_of: BoundOf, safety: Safety) -> bool:
    """Tell whether a moment is compared with the stored column itself, or with what cannot fail for any value of it."""
    if left.time is None:
        return False
    column = exp.Column(this=quoted(left.name))
    try:
        bound = bound_of(column, left.time, moment)
    except UnsupportedByEngineError:
        return False
    if bound.left is not column and bound.near is None:
        return False
    if left.kind.is_temporal:
        return left.time.value_kind is left.kind and safety.has_type(left)
    return bound.value is None or _is_of_kind(bound.value, left, safety)


def _null(predicate: IsNull, safety: Safety) -> bool:
    if isinstance(predicate.left, FragmentExpr):
        return safety.of_rows(predicate.left) is not None
    return safety.is_stored(predicate.left)


def _truth(predicate: IsTruth, safety: Safety) -> bool:
    left = predicate.left
    if isinstance(left, FragmentExpr):
        values = safety.of_rows(left)
        return values is not None and values.kind is ValueKind.BOOLEAN
    if not safety.is_stored(left):
        return False
    return (left.kind is ValueKind.BOOLEAN or left.kind.is_numeric) and safety.has_type(left)


def _match(predicate: Match, safety: Safety) -> bool:
    """A pattern that ends in a lone escape fails on some values only, and what is no text would be cast.

    On an engine whose LIKE is not total it fails on each row of a collation by which unlike texts are equal.
    """
    left, pattern = predicate.left, predicate.pattern
    if not safety.is_stored(left) or (left.collation is Collation.FOLDED and not safety.total.likes):
        return False
    ends_escaped = (len(pattern) - len(pattern.rstrip("\\"))) % 2 == 1
    return left.kind is ValueKind.TEXT and not ends_escaped and safety.has_type(left)


def _members(predicate: AnyOf | AllOf, safety: Safety) -> bool:
    return all(safety.of_condition(member) for member in predicate.members)


_CONDITIONS: Mapping[type, Callable[[Any, Safety], bool]] = {
    Condition: _condition,
    Compare: _compare,
    InValues: _membership,
    IsNull: _null,
    IsTruth: _truth,
    Match: _match,
    Within: _within,
    AnyOf: _members,
    AllOf: _members,
}

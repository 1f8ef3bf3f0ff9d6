"""The fence between the row rules of a query and what may fail: no engine may test the one before the other.

Whether an error comes is itself an answer: `1 / (id - 4) > 0` fails if row 4 exists, permitted or not, where an engine
tests it before the rule. Safe conditions (see `safety`) stand with the rules, so that indexes serve them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlglot import exp

from analytics_core._compile.plan import (
    AggregateExpr,
    AllOf,
    AnyOf,
    Clause,
    ColumnExpr,
    Condition,
    FragmentExpr,
    InOthersExpr,
    PlanExpr,
    Predicate,
    QueryPlan,
    SeriesLimit,
    SqlSource,
)
from analytics_core._compile.safety import Safety, is_plain_query
from analytics_core._engines.spec import EngineSpec


class FenceForm(StrEnum):
    """How rules are kept before the rest: not at all, by CASE in WHERE, by a derived table of the permitted rows."""

    NONE = "none"
    CASE = "case"
    TABLE = "table"


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
    limit = plan.series_limit
    exprs = [*(output.expr for output in plan.outputs), *(term.expr for term in plan.order)]
    exprs += [limit.metric] if limit and limit.metric is not None else []
    where = (*plan.where, *(limit.where if limit else ()))
    return not (
        bool(safety.stored)
        and all(safety.of_condition(clause.predicate) for clause in where)
        and all(safety.of_groups(clause.predicate) for clause in plan.having)
        and all(map(safety.of_expr, exprs))
    )


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
    return Safety(spec=spec, stored={} if computes else plan.stored)


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
        found = _columns_of(expr)
        if found is None:
            return None
        names.update(dict.fromkeys(found))
    return tuple(names)


def _columns_of(expr: PlanExpr) -> tuple[str, ...] | None:
    match expr:
        case ColumnExpr():
            return (expr.name,)
        case FragmentExpr():
            return tuple(column.name for column in expr.tree.find_all(exp.Column)) if expr.tree is not None else None
        case AggregateExpr():
            return _columns_of(expr.source) if expr.source is not None else ()
        case InOthersExpr():
            return ()
    return _columns_of(expr.source)

"""Statements by the shape of their plans: what differs in values alone is not written again, only its conditions are.

Real traffic asks the same chart with other values. Those stand in conditions and in the limit. All else of a statement
is written once; conditions are lowered anew for each plan, by the same code, since a value may decide how.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, starmap
from operator import is_
from typing import Final

from analytics_core._engine.compile.fence import Fence, FenceForm, fence_of_plan, fence_of_series
from analytics_core._engine.compile.lowering.expressions import (
    CONDITION,
    MARK,
    OFFSET,
    ROWS,
    KnownTexts,
    Lowering,
    Slots,
)
from analytics_core._engine.compile.lowering.order import sorts_apart, splits_nulls
from analytics_core._engine.compile.lowering.predicates import conjunction
from analytics_core._engine.compile.lowering.query import begin_lowering, lower, surplus_rows
from analytics_core._engine.compile.plan import Predicate, QueryPlan, SqlSource
from analytics_core._engine.compile.render import compile_plan, labels_and_kinds, written
from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.engines.spec import EngineSpec, dialect_of
from analytics_core._engine.engines.types import ValueKind
from analytics_core._tools.memo import IdentityMemo

Conditions = tuple[tuple[Predicate, ...], ...]

_LONGEST: Final = 100_000
"""Characters of a text that is remembered, without those of its conditions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementShape:
    """The text of a statement, cut at the marks of its conditions and of the numbers of its limit."""

    pieces: tuple[str, ...]
    labels: tuple[str, ...]
    kinds: tuple[ValueKind, ...]


class StatementShapes:
    """Compiles plans; bounded, safe between threads."""

    def __init__(self) -> None:
        self._shapes: IdentityMemo[StatementShape] = IdentityMemo(500)

    def compile(self, plan: QueryPlan, spec: EngineSpec, known: KnownTexts) -> Statement:
        """Return the statement of a plan, the very one that `compile_plan` gives; `known` is of its dataset's view."""
        low = begin_lowering(plan, spec, known)
        if not _has_shape(plan, low):
            return compile_plan(plan, spec, known)
        fences = _fences(plan, low)
        conditions = tuple(filter(None, _conditions(plan, fences)))
        objects = (known, plan.source, plan.outputs, plan.order, plan.series_limit and plan.series_limit.metric)
        key = (*_facts(plan), low.holds_types, tuple(low.typed.values()), tuple(map(_form, fences)))
        shape = self._shapes.get(objects, key)
        if shape is None:
            shape = _shape_of(plan, low, conditions)
            if sum(map(len, shape.pieces)) <= _LONGEST:
                self._shapes.put(objects, key, shape)
        return _filled(shape, plan, low, conditions)


def _has_shape(plan: QueryPlan, low: Lowering) -> bool:
    """Tell whether all values of a plan stand in its conditions and its limit, each written in one place."""
    source, rows = plan.source, plan.limit.rows + surplus_rows(plan)
    has_rules_inside = isinstance(source, SqlSource) and bool(source.rules)
    own_series = plan.series_limit is None or plan.series_limit.source is source
    return not has_rules_inside and own_series and (plan.count_rows or not splits_nulls(plan, low, rows=rows))


def _facts(plan: QueryPlan) -> tuple[Hashable, ...]:
    limit = plan.series_limit
    series = limit and (limit.columns, limit.limit, limit.descending, limit.group_others)
    return plan.grouped, plan.count_rows, bool(plan.limit.offset), bool(plan.having), series


def _form(fence: Fence) -> tuple[Hashable, ...]:
    return fence.form, fence.columns, bool(fence.inside), bool(fence.rules), bool(fence.outside)


def _fences(plan: QueryPlan, low: Lowering) -> tuple[Fence, ...]:
    """Return the fences of the statement and of the query that chooses its series, as they are lowered."""
    if not plan.count_rows and sorts_apart(plan, low):
        plan = replace(plan, order=())
    main = fence_of_plan(plan, low.spec)
    return (main,) if plan.series_limit is None else (main, fence_of_series(plan, plan.series_limit, low.spec))


def _conditions(plan: QueryPlan, fences: Sequence[Fence]) -> Conditions:
    """Return the conditions of a statement in the order in which they are lowered."""
    main, *series = fences
    found = [*_in_source(main), *(part for fence in series for part in (*_in_source(fence), *_in_where(fence)))]
    return (*found, *_in_where(main), tuple(clause.predicate for clause in plan.having))


def _in_source(fence: Fence) -> Conditions:
    return (fence.inside,) if fence.form is FenceForm.TABLE else ()


def _in_where(fence: Fence) -> Conditions:
    if fence.form is FenceForm.NONE:
        return (fence.inside,)
    if fence.form is FenceForm.TABLE or not fence.outside:
        return (fence.outside,)
    return fence.inside, fence.rules, fence.outside


def _shape_of(plan: QueryPlan, low: Lowering, conditions: Conditions) -> StatementShape:
    slots = Slots()
    tree, _ = lower(plan, low.spec, low.known, slots)
    lowered, listed = chain(*slots.conditions), chain(*conditions)
    assert all(starmap(is_, zip(lowered, listed, strict=True))), "lowered otherwise"  # noqa: S101 - binds rely on it
    text = dialect_of(low.spec.dialect).generator(comments=False).generate(tree, copy=False)
    labels, kinds = labels_and_kinds(plan)
    return StatementShape(pieces=tuple(text.split(MARK)), labels=labels, kinds=kinds)


def _filled(shape: StatementShape, plan: QueryPlan, low: Lowering, conditions: Conditions) -> Statement:
    """Return the statement of a plan by its shape."""
    texts = {ROWS: str(plan.limit.rows + surplus_rows(plan)), OFFSET: str(plan.limit.offset)}
    texts.update(_written_conditions(conditions, low))
    text = "".join([texts[piece] if i % 2 else piece for i, piece in enumerate(shape.pieces)])
    return written(text, low.binds, low.spec, labels=shape.labels, kinds=shape.kinds)


def _written_conditions(conditions: Conditions, low: Lowering) -> Iterator[tuple[str, str]]:
    """Yield each condition by its name; the same ones, as those of a query and of its series, are lowered once."""
    generator = dialect_of(low.spec.dialect).generator(comments=False)
    before: dict[tuple[int, ...], tuple[int, int, str]] = {}
    for number, predicates in enumerate(conditions):
        values, same = low.binds.values, tuple(map(id, predicates))
        if same in before:
            first, last, text = before[same]
            text = _bound_again(text, low, first=first, last=last)
        else:
            first, node = len(values), conjunction(predicates, low)
            assert node is not None  # noqa: S101 - there are predicates; tells the type checker
            text = generator.generate(node, copy=False)
            before[same] = first, len(values), text
        yield f"{CONDITION}{number}", text


def _bound_again(text: str, low: Lowering, *, first: int, last: int) -> str:
    """Bind the values of a text once more and return it with the names of these."""
    moved = len(low.binds.values) - first
    for value in list(low.binds.values.values())[first:last]:
        low.binds(value)
    pieces = text.split(MARK)
    return MARK.join([f"p{int(piece[1:]) + moved}" if i % 2 else piece for i, piece in enumerate(pieces)])

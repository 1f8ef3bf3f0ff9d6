"""Prints a plan: what is asked for, and for every clause where it came from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from sqlglot import exp

from analytics_core._engine.compile.fence import Fence, FenceForm, fence_of_plan, fence_of_series
from analytics_core._engine.compile.lowering.expressions import MARK, Binds, Lowering, is_constant, lower_expr, raw
from analytics_core._engine.compile.lowering.order import sort_keys
from analytics_core._engine.compile.lowering.predicates import lower_predicate
from analytics_core._engine.compile.lowering.query import begin_lowering, guard, lower_source, surplus_rows
from analytics_core._engine.compile.plan import (
    Clause,
    ColumnExpr,
    FragmentExpr,
    Origin,
    OriginKind,
    OthersExpr,
    OutputRole,
    PlanExpr,
    Predicate,
    QueryPlan,
    SqlSource,
)
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.engines.types import ValueKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedClause:
    """One clause of a statement: its part (`where`, `order by` ...), its SQL as people read it, and its origin."""

    part: str
    sql: str
    origin: str


def explain_plan(plan: QueryPlan, spec: EngineSpec) -> tuple[ExplainedClause, ...]:
    """Return every clause of a plan in the order of the statement."""
    return tuple(_Printer(plan, spec).clauses())


_FENCE = Origin(OriginKind.ENGINE, "row rules are tested before what may fail")
_BY_CODE_POINT = Origin(OriginKind.ENGINE, "text is told apart and ordered by code point")
_NULLS_LAST = Origin(OriginKind.ENGINE, "nulls come last in both directions")
_SURPLUS = Origin(OriginKind.ENGINE, "a row beyond the limit tells whether it cuts")


class _Printer:
    def __init__(self, plan: QueryPlan, spec: EngineSpec) -> None:
        self._plan = plan
        self._spec = spec
        self._begun = begin_lowering(plan, spec)

    def clauses(self) -> Iterator[ExplainedClause]:
        plan = self._plan
        for output in plan.outputs:
            yield self._clause("select", f"{self._expr(output.expr)} AS {output.label}", output.origin)
        source = plan.source.sql if isinstance(plan.source, SqlSource) else plan.source.table
        yield ExplainedClause(part="from", sql=source, origin=f"dataset: {plan.dataset_id or 'a stored statement'}")
        for rule in plan.source.rules if isinstance(plan.source, SqlSource) else ():
            yield from self._conditions(f"from {rule.relation}", rule.clauses)
        yield from self._conditions("where", plan.where)
        yield from self._fences()
        yield from self._groups()
        yield from self._conditions("having", plan.having)
        if plan.series_limit:
            yield self._clause("series limit", self._series(), plan.series_limit.origin)
        yield from () if plan.count_rows else self._order()
        yield self._clause("limit", str(plan.limit.rows), plan.limit.origin)
        if surplus_rows(plan):
            yield self._clause("limit", f"+ {surplus_rows(plan)}", _SURPLUS)
        if plan.limit.offset:
            yield ExplainedClause(part="offset", sql=str(plan.limit.offset), origin="payload: row_offset")
        if plan.count_rows:
            counted = "COUNT(*) of the rows above, up to the limit"
            yield ExplainedClause(part="rowcount", sql=counted, origin="payload: is_rowcount")

    def _groups(self) -> Iterator[ExplainedClause]:
        """Yield the keys by which rows are grouped, and those whose text is given a collation for it."""
        keys = [output for output in self._plan.outputs if output.role is OutputRole.COLUMN]
        for output in keys if self._plan.grouped else ():
            if not is_constant(output.expr):
                yield self._clause("group by", self._expr(output.expr), output.origin)
        for output in keys:
            source = output.expr.source if isinstance(output.expr, OthersExpr) else output.expr
            if isinstance(source, ColumnExpr | FragmentExpr) and source.kind is ValueKind.TEXT:
                low = self._low()
                plain = _text(raw(source, low), low.binds, self._spec)
                if plain != (collated := self._expr(source)):
                    yield self._clause("collate", collated, _BY_CODE_POINT)

    def _order(self) -> Iterator[ExplainedClause]:
        """Yield the sort keys as the statement has them, each with what puts its nulls last."""
        for term in self._plan.order:
            if is_constant(term.expr):
                continue
            for key in sort_keys(term, low := self._low()):
                yield self._clause("order by", _text(key, low.binds, self._spec), term.origin)
            if term.nullable and self._spec.nulls_first_by_default(term.descending):
                yield self._clause("nulls last", self._expr(term.expr), _NULLS_LAST)

    def _conditions(self, part: str, clauses: tuple[Clause, ...]) -> Iterator[ExplainedClause]:
        for clause in clauses:
            yield self._clause(part, self._predicate(clause.predicate), clause.origin)

    def _fences(self) -> Iterator[ExplainedClause]:
        """Yield where row rules are kept before what may fail on a row."""
        plan, spec = self._plan, self._spec
        for rule in plan.source.rules if isinstance(plan.source, SqlSource) and self._begun.fences_relations else ():
            yield self._clause("fence", f"the permitted rows of {rule.relation} are read before the rest", _FENCE)
        limit = plan.series_limit
        yield from self._fence("fence", fence_of_plan(plan, spec))
        yield from self._fence("fence of the series", fence_of_series(plan, limit, spec)) if limit else ()

    def _fence(self, part: str, fence: Fence) -> Iterator[ExplainedClause]:
        if fence.form is FenceForm.NONE:
            return
        low = self._low()
        is_table = fence.form is FenceForm.TABLE
        node = lower_source(self._plan.source, fence, low) if is_table else guard(fence, low)
        yield self._clause(part, _text(node, low.binds, self._spec), _FENCE)

    def _series(self) -> str:
        limit = self._plan.series_limit
        assert limit is not None  # noqa: S101 - asked by the caller; tells the type checker
        names = ", ".join(self._plan.outputs[i].label for i in limit.columns)
        metric = self._expr(limit.metric) if limit.metric is not None else "their names"
        rest = "; the others become 'Others'" if limit.group_others else ""
        return f"the {limit.limit} {'highest' if limit.descending else 'lowest'} of ({names}) by {metric}{rest}"

    def _clause(self, part: str, sql: str, origin: Origin) -> ExplainedClause:
        return ExplainedClause(part=part, sql=sql, origin=str(origin))

    def _expr(self, expr: PlanExpr) -> str:
        low = self._low()
        return _text(lower_expr(expr, low), low.binds, self._spec)

    def _low(self) -> Lowering:
        return replace(self._begun, binds=Binds())

    def _predicate(self, predicate: Predicate) -> str:
        low = self._low()
        return _text(lower_predicate(predicate, low), low.binds, self._spec)


def printed(predicate: Predicate, spec: EngineSpec, *, alias: str) -> str:
    """Return a condition as people read it, values inlined; `alias` is that of its columns."""
    low = Lowering(spec=spec, binds=Binds(), alias=alias)
    return _text(lower_predicate(predicate, low), low.binds, spec)


def _text(node: exp.Expr, binds: Binds, spec: EngineSpec) -> str:
    pieces = node.sql(spec.dialect).split(MARK)
    return "".join(spec.literal(binds.values[piece]) if i % 2 else piece for i, piece in enumerate(pieces))


def describe_range(text: str | None, since: datetime | None, until: datetime | None) -> str:
    """Return a range text with its resolved ends, as one line."""
    first = since.isoformat(sep=" ") if since else "the beginning"
    last = until.isoformat(sep=" ") if until else "the end"
    return f"{text or 'No filter'}: from {first} (included) to {last} (excluded), UTC"

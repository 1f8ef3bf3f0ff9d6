"""What `charts.explain` answers: the road of a chart query, stopped before execution, in words and as data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from analytics_core._engine.compile.explanation import ExplainedClause, describe_range, explain_plan
from analytics_core._engine.compile.plan import Origin, OriginKind, RejectedFilter
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.frames.pipeline import Step
from analytics_core._engine.querying.preparing import PreparedQuery
from analytics_core._engine.querying.result_cache import CacheKey, CacheTimeout
from analytics_core._tools.display.blocks import (
    Blocks,
    CodeBlock,
    ErrorBlock,
    HeadingBlock,
    facts,
    first_of,
    fold,
    notes,
    table,
)
from analytics_core._tools.display.bundles import mime_bundle
from analytics_core._tools.display.text import visible
from analytics_core._tools.display.values import value_text
from analytics_core.errors import AnalyticsError

_MOST_CLAUSES: Final = 100
_FIELD: Final = re.compile(rf"(?<=^{OriginKind.PAYLOAD}: )\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedQuery:
    """Why one query gives what it gives.

    Attributes:
        clauses: every clause of the statement with its origin, in the order of the statement; then the steps of
            post-processing.
        sql: the statement as people read it, values inlined.
        bound_sql: the statement as the driver gets it.
        parameters: its bound values.
        time_range: the range text with its resolved ends (UTC).
        cache_key: under which the result is kept; None when it is not.
        cache_key_parts: what the key is made of.
        cache_timeout: seconds, and who set them.
        applied_filters, rejected_filters: names of filters, and for rejected ones the reason.
        offsets: the explanations of the time comparisons, by their text.
        failure: the error that stopped the query, None when it can run.
    """

    clauses: tuple[ExplainedClause, ...] = ()
    sql: str = ""
    bound_sql: str = ""
    parameters: Any = ()
    time_range: str = ""
    cache_key: str | None = None
    cache_key_parts: Mapping[str, Any] = field(default_factory=dict)
    cache_timeout: str = ""
    applied_filters: tuple[str, ...] = ()
    rejected_filters: tuple[RejectedFilter, ...] = ()
    offsets: Mapping[str, ExplainedQuery] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    failure: AnalyticsError | None = None

    def __str__(self) -> str:
        return visible("\n".join(self._lines()))

    def _lines(self) -> list[str]:
        if self.failure is not None:
            return [f"This query cannot run: {self.failure.message}"]
        width = max((len(clause.part) for clause in self.clauses), default=0)
        lines = [f"{c.part:<{width}}  {c.sql}    <- {c.origin}" for c in self.clauses]
        lines.append(f"time range: {self.time_range}")
        lines += [f"rejected filter: {r.column} ({r.reason})" for r in self.rejected_filters]
        lines += [f"compared with {text}: {part.time_range}" for text, part in self.offsets.items()]
        lines.append(f"cache: {self.cache_timeout}; key {self.cache_key or 'none'}")
        lines += [f"note: {note}" for note in self.notes]
        return [*lines, "", self.sql]

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        return query_blocks(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The explanation of a query context: one part for each of its queries; print it, or read its fields."""

    queries: tuple[ExplainedQuery, ...]

    def __str__(self) -> str:
        if len(self.queries) == 1:
            return str(self.queries[0])
        return "\n\n".join(f"query {i}\n{query}" for i, query in enumerate(self.queries))

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        return _explanation_blocks(self)


def query_blocks(query: ExplainedQuery) -> Blocks:
    """Return what can be seen of an explained query: every clause with its origin; the rest folded."""
    if query.failure is not None:
        return [ErrorBlock(kind="This query cannot run", message=query.failure.message)]
    clauses, note = first_of(query.clauses, most=_MOST_CLAUSES, noun="clauses")
    columns = {name: [getattr(clause, name) for clause in clauses] for name in ("part", "sql", "origin")}
    rejected = (f"rejected filter: {one.column} ({one.reason})" for one in query.rejected_filters)
    details = {"time range": query.time_range, "cache": query.cache_timeout}
    compared = {f"compared with {text}": part.time_range for text, part in query.offsets.items()}
    bound = CodeBlock(text=f"{query.bound_sql}\n\n{value_text(query.parameters)}")
    return [
        *table(columns, below=note),
        *facts({**details, **compared}),
        *notes([*rejected, *query.notes]),
        *fold("SQL as people read it", [CodeBlock(text=query.sql)] if query.sql else []),
        *fold("SQL as the driver gets it, with its values", [bound] if query.bound_sql else []),
        *fold("key in the cache", [CodeBlock(text=query.cache_key)] if query.cache_key else []),
    ]


def _explanation_blocks(explanation: Explanation) -> Blocks:
    if len(explanation.queries) == 1:
        return query_blocks(explanation.queries[0])
    return [
        block
        for number, query in enumerate(explanation.queries)
        for block in (HeadingBlock(text=f"query {number}"), *query_blocks(query))
    ]


_PLACE: Final = re.compile(rf"^{OriginKind.PAYLOAD}: ([\w.]+)(?:\[(\d+)\])?")


def with_form_fields(explanation: Explanation, origins: Mapping[str, tuple[str, ...]]) -> Explanation:
    """Return an explanation whose clauses name the fields of the form that the payload was built of.

    Args:
        explanation: of a built payload.
        origins: for the path of each value of the payload, the fields that it comes from (`BuiltPayload.origins`).
    """
    if not origins:
        return explanation

    def named(clause: ExplainedClause, number: int) -> ExplainedClause:
        place = _PLACE.match(clause.origin)
        if place is None:
            return clause
        path = f"queries.{number}.{place[1]}" + (f".{place[2]}" if place[2] else "")
        fields = origins.get(path)
        return replace(clause, origin=f"{clause.origin}; form: {', '.join(fields)}") if fields else clause

    queries = (
        replace(query, clauses=tuple(named(clause, number) for clause in query.clauses))
        for number, query in enumerate(explanation.queries)
    )
    return Explanation(queries=tuple(queries))


def _explained_step(step: Step) -> ExplainedClause:
    place, _, _ = step.place.partition(" ")
    options = step.options.model_dump_json(by_alias=True, exclude_unset=True)
    return ExplainedClause(
        part="post-processing", sql=f"{step.operation.name} {options}", origin=str(Origin(OriginKind.PAYLOAD, place))
    )


def explained(
    prepared: PreparedQuery,
    spec: EngineSpec,
    *,
    key: CacheKey | None,
    timeout: CacheTimeout,
    offsets: Mapping[str, ExplainedQuery],
    notes: tuple[str, ...],
    steps: Sequence[Step] = (),
) -> ExplainedQuery:
    """Return the explanation of a prepared query and its steps; fields have the names that the payload gave them."""

    def as_written(field: re.Match[str]) -> str:
        return prepared.query.written(field[0])

    plan, statement = prepared.plan, prepared.statement
    return ExplainedQuery(
        clauses=(
            *(replace(clause, origin=_FIELD.sub(as_written, clause.origin)) for clause in explain_plan(plan, spec)),
            *map(_explained_step, steps),
        ),
        sql=statement.display_sql,
        bound_sql=statement.sql,
        parameters=statement.parameters,
        time_range=describe_range(plan.range_text, plan.since, plan.until),
        cache_key=key.text if key else None,
        cache_key_parts=key.parts if key else {},
        cache_timeout=str(timeout),
        applied_filters=plan.applied_filters,
        rejected_filters=plan.rejected_filters,
        offsets=offsets,
        notes=(*plan.unused, *plan.notes, *notes),
    )

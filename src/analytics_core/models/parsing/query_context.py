"""Reads the payload of a question: a query context without deprecated fields, or its faults, out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analytics_core.errors import PayloadSchemaError, Problem
from analytics_core.models.parsing import Payload, parse, payload_error, written
from analytics_core.models.query import ChartDataExtras, ChartDataQueryContext, ChartDataQueryObject

_RENAMED = (
    ("groupby", "columns"),
    ("granularity_orm", "granularity"),
    ("timeseries_limit", "series_limit"),
    ("timeseries_limit_metric", "series_limit_metric"),
)
_ALIASED = frozenset({"granularity_orm"})
"""Fields of which it is not known by which of their older names they were given."""
_EMPTY: dict[str, Any] = {name: ChartDataQueryObject.model_fields[name].default for name, _ in _RENAMED}


def modernise(query: ChartDataQueryObject) -> ChartDataQueryObject:
    """Return the query without deprecated fields; `where` and `having` are ANDed to those of `extras`."""
    moved = {new: getattr(query, old) for old, new in _RENAMED if getattr(query, old)}
    given_as = {new: old for old, new in _RENAMED if new in moved and old not in _ALIASED and not getattr(query, new)}
    if moved:
        moved |= _EMPTY
    if query.where or query.having:
        moved |= {"extras": _with_clauses(query), "where": None, "having": None}
    return query.model_copy(update=moved).given_as(given_as) if moved else query


def contradictions(query: ChartDataQueryObject) -> tuple[tuple[str, str], ...]:
    """Return the deprecated fields, each with its successor, that both have a value and not the same."""
    pairs = ((old, new, getattr(query, old), getattr(query, new)) for old, new in _RENAMED)
    return tuple((old, new) for old, new, before, after in pairs if before and after and before != after)


def _with_clauses(query: ChartDataQueryObject) -> ChartDataExtras:
    extras = query.extras or ChartDataExtras()
    clauses = {"where": _both(extras.where, query.where), "having": _both(extras.having, query.having)}
    return extras.model_copy(update={name: clause for name, clause in clauses.items() if clause is not None})


def _both(first: str | None, second: str | None) -> str | None:
    """Join two conditions; each keeps a line of its own, so that a comment in one cannot swallow the other."""
    if first and second and first.strip() != second.strip():
        return f"({first}\n) AND ({second}\n)"
    return first or second


def parse_query_context(
    payload: Payload | ChartDataQueryContext, *, text_is_checked: bool = False
) -> ChartDataQueryContext:
    """Return the query context of a payload, with its deprecated fields moved to their successors.

    `text_is_checked` says that the caller knows what `check_text` would find: nothing.

    Raises:
        PayloadFormatError: not a JSON object, or text that no engine can take (NUL, half a surrogate pair).
        PayloadSchemaError: fields that break the contract; `.problems` names each.
    """
    shape = "ChartDataQueryContextSchema"
    if isinstance(payload, Mapping) and "viz_type" in payload and "queries" not in payload:
        raise payload_error(shape, "viz_type", "this is the form data of a chart; ask charts.payload_of(form).payload")
    context = parse(ChartDataQueryContext, payload, shape=shape, text_is_checked=text_is_checked)
    if isinstance(payload, ChartDataQueryContext) and written(context) == written(payload):
        context = payload  # it knows by which of their names its fields were given
    _check_contradictions(context, shape)
    queries = tuple(modernise(query) for query in context.queries)
    changed = any(new is not old for new, old in zip(queries, context.queries, strict=True))
    return context.model_copy(update={"queries": queries}) if changed else context


def _check_contradictions(context: ChartDataQueryContext, shape: str) -> None:
    problems = [
        Problem(path=f"queries.{i}.{old}", message=f"is the older name of {new!r}, which has another value; give one")
        for i, query in enumerate(context.queries)
        for old, new in contradictions(query)
    ]
    if problems:
        raise PayloadSchemaError(shape=shape, problems=problems)

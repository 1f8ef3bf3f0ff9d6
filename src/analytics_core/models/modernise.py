"""Moves deprecated fields of a query to their successors, once, at the door."""

from __future__ import annotations

from typing import Any

from analytics_core.models.query import ChartDataExtras, ChartDataQueryObject

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

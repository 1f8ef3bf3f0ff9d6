"""The question behind the list of values that a dashboard's filter offers; pure."""

from __future__ import annotations

from typing import Any, Final

from analytics_core._records.dashboard import Dashboard
from analytics_core._resources.dashboard_content import filter_key
from analytics_core._resources.declared_filters import declared_filters
from analytics_core._resources.listing import LONGEST_SEARCH
from analytics_core.errors import LimitError, NotFoundError, QueryError

MOST_VALUES: Final = 10_000


def values_question(
    dashboard: Dashboard, filter_id: int | str, *, search: str | None, row_limit: int
) -> dict[str, Any]:
    """Return the query context for the values of a filter: the first column that it acts on.

    Raises:
        NotFoundError: the dashboard declares no such filter.
        QueryError: the filter offers no values, for example a time range.
        LimitError: `row_limit` is out of bounds, or `search` is too long.
    """
    declared = {item.key: item for item in declared_filters(dashboard)}
    found = declared.get(filter_key(filter_id) or "")
    if found is None:
        raise NotFoundError("filter", filter_id, place=f"of dashboard {dashboard.id}")
    if found.is_time or not found.targets:
        taken = "time grain" if found.is_grain else "time range"
        raise QueryError(f"filter {filter_id!r} takes a {taken} and has no list of values")
    _check_options(search, row_limit)
    dataset_id, column = found.targets[0]
    query: dict[str, Any] = {
        "columns": [column],
        "metrics": [],
        "orderby": [[column, True]],
        "row_limit": row_limit,
        "apply_fetch_values_predicate": True,
    }
    if search:
        query["filters"] = [{"col": column, "op": "ILIKE", "val": f"%{_plain(search)}%"}]
    return {"datasource": {"id": dataset_id, "type": "table"}, "queries": [query]}


def _check_options(search: object, row_limit: object) -> None:
    """Refuse what is out of bounds or of another kind: hosts pass on what stands in an address."""
    if not isinstance(row_limit, int) or isinstance(row_limit, bool) or not 1 <= row_limit <= MOST_VALUES:
        raise LimitError(f"row_limit must be an integer between 1 and {MOST_VALUES}")
    if search is not None and not (isinstance(search, str) and len(search) <= LONGEST_SEARCH):
        raise LimitError(f"search must be a text of {LONGEST_SEARCH} characters at most")


def _plain(text: str) -> str:
    """Return a text whose signs of patterns stand for themselves."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")

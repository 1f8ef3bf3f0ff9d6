"""What a filter of a dashboard offers to choose from, as a question to its dataset."""

from __future__ import annotations

from typing import Any, Final

from analytics_core._content.lists import LONGEST_SEARCH
from analytics_core._content.questions.dashboard_filters import DeclaredFilter, FilterKind
from analytics_core._content.questions.extra_filters import ExtraFilters, KnowsName, masked_filters, with_filters
from analytics_core.errors import LimitError, QueryError
from analytics_core.models.enums import ResultType

MOST_VALUES: Final = 10_000

_LISTED: Final = {
    FilterKind.TIME_GRAIN: ResultType.TIMEGRAINS,
    FilterKind.TIME_COLUMN: ResultType.COLUMNS,
    FilterKind.GROUP_BY: ResultType.COLUMNS,
}
_PREFILTERS: Final = ("adhoc_filters", "time_range", "granularity_sqla")


def options_question(
    declared: DeclaredFilter,
    *,
    within: ExtraFilters,
    search: str | None,
    row_limit: int,
    knows_name: KnowsName,
) -> dict[str, Any]:
    """Return the query context for what a filter offers, inside its own conditions and those of its parents.

    Values of a column are sorted as its maker says. A range offers the smallest and the largest value, as `min` and
    `max`.

    Raises:
        QueryError: the filter offers nothing to choose from, for example a time range.
        LimitError: `row_limit` is out of bounds, or `search` is too long.
    """
    _check_options(search, row_limit)
    source = {"id": declared.targets[0][0] if declared.targets else declared.dataset_id, "type": "table"}
    listed = _LISTED.get(declared.kind)
    has_list = listed is not None or declared.kind in (FilterKind.VALUES, FilterKind.RANGE)
    if not has_list or source["id"] is None:
        taken = _TAKEN.get(declared.kind, "a value")
        raise QueryError(f"filter {declared.key!r} takes {taken} and has no list of values")
    if search and declared.kind is not FilterKind.VALUES:
        raise QueryError(f"filter {declared.key!r} has no list of values to search")
    if listed is not None:
        return {"datasource": source, "queries": [{}], "result_type": listed.value}
    column = declared.targets[0][1]
    query = _ends(column) if declared.kind is FilterKind.RANGE else _values(declared, column, search, row_limit)
    own = masked_filters({name: declared.item[name] for name in _PREFILTERS if declared.item.get(name)})
    return with_filters({"datasource": source, "queries": [query]}, own.and_then(within), knows_name)


_TAKEN: Final = {
    FilterKind.TIME_RANGE: "a time range",
    FilterKind.TIME_GRAIN: "a time grain",
    FilterKind.TIME_COLUMN: "a time column",
}


def _values(declared: DeclaredFilter, column: str, search: str | None, row_limit: int) -> dict[str, Any]:
    metric = declared.item.get("sortMetric")
    key = metric if isinstance(metric, str) and metric else column
    return {
        "columns": [column],
        "metrics": [],
        "orderby": [[key, declared.control("sortAscending") is not False]],
        "row_limit": row_limit,
        "apply_fetch_values_predicate": True,
        "filters": [{"col": column, "op": "ILIKE", "val": f"%{_plain(search)}%"}] if search else [],
    }


def _ends(column: str) -> dict[str, Any]:
    ends = [
        {"expressionType": "SIMPLE", "column": {"column_name": column}, "aggregate": name, "label": name.lower()}
        for name in ("MIN", "MAX")
    ]
    return {"columns": [], "metrics": ends, "apply_fetch_values_predicate": True}


def _check_options(search: object, row_limit: object) -> None:
    """Refuse what is out of bounds or of another kind: hosts pass on what stands in an address."""
    if not isinstance(row_limit, int) or isinstance(row_limit, bool) or not 1 <= row_limit <= MOST_VALUES:
        raise LimitError(f"row_limit must be an integer between 1 and {MOST_VALUES}")
    if search is not None and not (isinstance(search, str) and len(search) <= LONGEST_SEARCH):
        raise LimitError(f"search must be a text of {LONGEST_SEARCH} characters at most")


def _plain(text: str) -> str:
    """Return a text whose signs of patterns stand for themselves."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")

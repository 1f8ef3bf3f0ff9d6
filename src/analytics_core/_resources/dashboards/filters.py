"""The filters of a dashboard: what they act on, changes of them, and the values that they offer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from analytics_core._records.dashboard import Dashboard
from analytics_core._resources.dashboards.content import FILTERS_KEY, charts_in, filter_key, filter_problems
from analytics_core._resources.lists import LONGEST_SEARCH
from analytics_core._resources.stored_json import json_object
from analytics_core.errors import LimitError, NotFoundError, PayloadSchemaError, Problem, QueryError, nearest
from analytics_core.models.dashboard import DashboardNativeFiltersUpdate
from analytics_core.models.parsing import payload_error

_TIME: Final = "filter_time"
_GRAIN: Final = "filter_timegrain"
_VALUES: Final = frozenset({"filter_select", "filter_range"})
_ROOT: Final = "ROOT_ID"

Layout = Callable[[], Mapping[str, Any]]
"""Gives the layout of a dashboard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredFilter:
    """One filter of a dashboard.

    `targets` are (dataset id, column) pairs; a time filter without any acts on the time of each chart in its scope, as
    one of time grains does.
    """

    key: str
    is_time: bool
    targets: tuple[tuple[int, str], ...]
    chart_ids: frozenset[int]
    is_grain: bool = False

    def acts_on(self, chart_id: int, dataset_id: int, column: str) -> bool:
        """Tell whether the filter is declared for this column of this dataset on this chart."""
        return chart_id in self.chart_ids and (dataset_id, column) in self.targets


def stored_filters(metadata: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the filters that the metadata of a dashboard hold; what is malformed is none."""
    stored = metadata.get(FILTERS_KEY)
    return [item for item in stored if isinstance(item, dict)] if isinstance(stored, list) else []


def declared_filters(dashboard: Dashboard) -> tuple[DeclaredFilter, ...]:
    """Return the filters of a dashboard that name what they act on; what is malformed declares nothing."""
    items, layout = stored_filters(json_object(dashboard.json_metadata)), layout_of(dashboard)
    return tuple(found for item in items if (found := _declared(item, dashboard, layout)) is not None)


def _declared(item: Mapping[str, Any], dashboard: Dashboard, layout: Layout) -> DeclaredFilter | None:
    key, kind = filter_key(item.get("id")), item.get("filterType")
    if key is None or kind not in (_TIME, _GRAIN, *_VALUES):
        return None
    targets = tuple(dict.fromkeys(_targets(item.get("targets")))) if kind != _GRAIN else ()
    if kind in _VALUES and not targets:
        return None
    reached = charts_in_scope(item, dashboard, layout)
    return DeclaredFilter(key=key, is_time=kind == _TIME, targets=targets, chart_ids=reached, is_grain=kind == _GRAIN)


def _targets(stored: Any) -> Iterator[tuple[int, str]]:
    for target in stored if isinstance(stored, list) else ():
        column = target.get("column") if isinstance(target, dict) else None
        name = column.get("name") if isinstance(column, dict) else None
        if isinstance(name, str) and type(target.get("datasetId")) is int:
            yield target["datasetId"], name


def layout_of(dashboard: Dashboard) -> Layout:
    """Return what reads the layout of a dashboard when it is needed, and once for all its filters."""
    return cache(lambda: json_object(dashboard.position_json))


def charts_in_scope(item: Mapping[str, Any], dashboard: Dashboard, layout: Layout) -> frozenset[int]:
    """Return the charts that a filter acts on: those listed, else those under the roots of its scope; else all."""
    every = frozenset(dashboard.chart_ids)
    listed = item.get("chartsInScope")
    if isinstance(listed, list):
        return every & {key for key in listed if type(key) is int}
    scope = item.get("scope")
    if not isinstance(scope, dict):
        return every
    roots, excluded = scope.get("rootPath"), scope.get("excluded")
    left_out = {key for key in excluded if type(key) is int} if isinstance(excluded, list) else set()
    names = _texts(roots)  # a scope without roots is malformed and reaches nothing
    reached = every if _ROOT in names else every & _under(names, layout())
    return reached - left_out


def _under(roots: set[str], layout: Mapping[str, Any]) -> frozenset[int]:
    """Return the charts that the layout places under these nodes: by their children, or by the parents they name."""
    nodes = {name: node for name, node in layout.items() if isinstance(node, dict)}
    reached = {name: node for name, node in nodes.items() if roots & _texts(node.get("parents"))}
    seen: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in nodes and name not in seen:
            seen.add(name)
            waiting += _texts(nodes[name].get("children"))
    return frozenset(charts_in({**reached, **{name: nodes[name] for name in seen}}))


def _texts(value: Any) -> set[str]:
    return {item for item in value if isinstance(item, str)} if isinstance(value, list) else set()


FiltersByKey = Mapping[str, Mapping[str, Any]]


def with_changed_filters(dashboard: Dashboard, update: DashboardNativeFiltersUpdate, *, shape: str) -> Dashboard:
    """Return the dashboard after an update of its filters; nothing else of its metadata changes.

    What is modified keeps its place, or comes last when its id is new. What `reordered` names comes first, in that
    order; the others follow in the order that they had.

    Raises:
        PayloadSchemaError: an id to delete or to reorder that the dashboard does not have.
    """
    metadata = json_object(dashboard.json_metadata)
    # What has no id stays in its place under a key of its own.
    stored = {filter_key(item.get("id")) or f"\x00{place}": item for place, item in enumerate(stored_filters(metadata))}
    modified = _checked_modified(update, shape=shape)
    _reject_unknown(update.deleted, stored, field="deleted", shape=shape)
    deleted = {filter_key(item) for item in update.deleted}
    changed = {key: item for key, item in {**stored, **modified}.items() if key not in deleted}
    _reject_unknown(update.reordered, changed, field="reordered", shape=shape)
    first = dict.fromkeys(str(item) for item in update.reordered)
    ordered = [changed[key] for key in first] + [item for key, item in changed.items() if key not in first]
    return replace(dashboard, json_metadata=_as_text({**metadata, FILTERS_KEY: ordered}, shape=shape))


def _as_text(metadata: Mapping[str, Any], *, shape: str) -> str:
    try:
        return json.dumps(metadata, ensure_ascii=False)
    except TypeError:  # a caller inside Python may give dates, sets and other objects
        raise payload_error(shape, "modified", "must hold JSON values only") from None


def _checked_modified(update: DashboardNativeFiltersUpdate, *, shape: str) -> FiltersByKey:
    problems = filter_problems(update.modified, path="modified")
    deleted = {filter_key(item) for item in update.deleted}
    problems += [
        Problem(path=f"modified.{position}.id", message="is deleted by the same update")
        for position, item in enumerate(update.modified)
        if filter_key(item.get("id")) in deleted
    ]
    if problems:
        raise PayloadSchemaError(shape=shape, problems=problems)
    return {str(item["id"]): item for item in update.modified}


def _reject_unknown(ids: Sequence[int | str], known: FiltersByKey, *, field: str, shape: str) -> None:
    problems = [
        Problem(path=f"{field}.{position}", message=f"there is no filter {filter_id!r}{_hint(filter_id, known)}")
        for position, filter_id in enumerate(ids)
        if filter_key(filter_id) not in known
    ]
    if problems:
        raise PayloadSchemaError(shape=shape, problems=problems)


def _hint(filter_id: int | str, known: FiltersByKey) -> str:
    names = [key for key in known if not key.startswith("\x00")]
    close = nearest(str(filter_id), names)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; it has {', '.join(names[:20])}" if names else "; it has none"


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

"""Changes of a dashboard's filters, applied to those that are stored; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from analytics_core._records.dashboard import Dashboard
from analytics_core._resources.dashboard_content import FILTERS_KEY, filter_key, filter_problems
from analytics_core._resources.json_text import json_object
from analytics_core.errors import PayloadSchemaError, Problem, nearest
from analytics_core.models.dashboard import DashboardNativeFiltersUpdate

Filters = dict[str, Mapping[str, Any]]


def with_changed_filters(dashboard: Dashboard, update: DashboardNativeFiltersUpdate, *, shape: str) -> Dashboard:
    """Return the dashboard after an update of its filters; nothing else of its metadata changes.

    What is modified keeps its place, or comes last when its id is new. What `reordered` names comes first, in that
    order; the others follow in the order that they had.

    Raises:
        PayloadSchemaError: an id to delete or to reorder that the dashboard does not have.
    """
    metadata = json_object(dashboard.json_metadata)
    stored = _by_key(metadata.get(FILTERS_KEY))
    modified = _checked_modified(update, shape=shape)
    _refuse_unknown(update.deleted, stored, field="deleted", shape=shape)
    deleted = {filter_key(item) for item in update.deleted}
    changed = {key: item for key, item in {**stored, **modified}.items() if key not in deleted}
    _refuse_unknown(update.reordered, changed, field="reordered", shape=shape)
    first = dict.fromkeys(str(item) for item in update.reordered)
    ordered = [changed[key] for key in first] + [item for key, item in changed.items() if key not in first]
    return replace(dashboard, json_metadata=_as_text({**metadata, FILTERS_KEY: ordered}, shape=shape))


def _as_text(metadata: Mapping[str, Any], *, shape: str) -> str:
    try:
        return json.dumps(metadata, ensure_ascii=False)
    except TypeError:  # a caller inside Python may give dates, sets and other objects
        problem = Problem(path="modified", message="must hold JSON values only")
        raise PayloadSchemaError(shape=shape, problems=[problem]) from None


def _by_key(stored: Any) -> Filters:
    """Return the stored filters by the key of their id; what has none stays in its place under a key of its own."""
    filters = [item for item in stored if isinstance(item, dict)] if isinstance(stored, list) else []
    return {filter_key(item.get("id")) or f"\x00{position}": item for position, item in enumerate(filters)}


def _checked_modified(update: DashboardNativeFiltersUpdate, *, shape: str) -> Filters:
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


def _refuse_unknown(ids: Sequence[int | str], known: Filters, *, field: str, shape: str) -> None:
    problems = [
        Problem(path=f"{field}.{position}", message=f"there is no filter {filter_id!r}{_hint(filter_id, known)}")
        for position, filter_id in enumerate(ids)
        if filter_key(filter_id) not in known
    ]
    if problems:
        raise PayloadSchemaError(shape=shape, problems=problems)


def _hint(filter_id: int | str, known: Filters) -> str:
    names = [key for key in known if not key.startswith("\x00")]
    close = nearest(str(filter_id), names)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; it has {', '.join(names[:20])}" if names else "; it has none"

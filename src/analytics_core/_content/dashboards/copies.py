"""Copies of dashboards, and what dashboards say of charts, with other charts in their places."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

from analytics_core._content.batches import by_ids, id_in, is_id
from analytics_core._content.charts.chart_references import Ids, with_texts_of_its_own
from analytics_core._content.questions.dashboard_content import chart_of
from analytics_core._content.stored_json import json_object
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.audit import Audit
from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.repositories import UnitOfWork
from analytics_core.models.dashboard import DashboardCopy


def copied_dashboard(source: Dashboard, copy: DashboardCopy, *, owner_id: int) -> Dashboard:
    """Return the record of a copy: a draft of the copier's, without slug, roles, tags and certification.

    What the payload leaves out (title, style, layout, and with it the charts) is the source's; its metadata always are
    the payload's.
    """
    title = copy.dashboard_title if copy.dashboard_title is not None else source.dashboard_title
    return Dashboard(
        uuid=str(uuid4()),
        dashboard_title=title,
        css=copy.css if copy.css is not None else source.css,
        position_json=source.position_json,
        owner_ids=(owner_id,),
        chart_ids=source.chart_ids,
    )


def with_charts_of_its_own(
    unit: UnitOfWork, dashboard: Dashboard, charts: Sequence[Chart], actor: Actor, *, now: datetime
) -> Dashboard:
    """Store a copy of each of the charts for the actor, and return the dashboard with the copies in their places."""
    copies = {chart.id: _copied_chart(chart, actor.id, now=now) for chart in charts}
    new_ids = {old: unit.charts.append(copy, actor_id=actor.id) for old, copy in copies.items()}
    for stored in by_ids(unit.charts, new_ids.values()).values():
        renamed = with_texts_of_its_own(stored, new_ids)  # a text names the chart by the id that it has only now
        if renamed != stored:
            unit.charts.update(renamed, actor_id=actor.id)
    return replace(
        dashboard,
        position_json=remapped_layout(dashboard.position_json, new_ids),
        json_metadata=remapped_metadata(dashboard.json_metadata, new_ids),
        chart_ids=tuple(new_ids.get(chart_id, chart_id) for chart_id in dashboard.chart_ids),
    )


def _copied_chart(chart: Chart, owner_id: int, *, now: datetime) -> Chart:
    """Return a chart like another one; who vouches for that one, saved or manages it, did not do so for the copy."""
    return replace(
        chart,
        id=0,
        uuid=str(uuid4()),
        owner_ids=(owner_id,),
        tag_ids=(),
        certified_by=None,
        certification_details=None,
        external_url=None,
        is_managed_externally=False,
        last_saved_at=now,
        last_saved_by=owner_id,
        audit=Audit(),
    )


_NewId = Callable[[int], int | None]
"""The new id of a chart; None takes away what speaks of it."""

_Rewrite = Callable[[Any, _NewId], Any]
_GONE: Final = object()


def remapped_layout(text: str | None, new_ids: Ids) -> str | None:
    """Return a layout with each chart replaced by the one that `new_ids` names for it."""
    if not text:
        return text
    layout = json_object(text)
    return json.dumps({name: _node(node, new_ids) for name, node in layout.items()}, ensure_ascii=False)


def remapped_metadata(text: str | None, new_ids: Ids, *, keep_others: bool = True) -> str | None:
    """Return metadata whose scopes, filters and settings speak of the charts that `new_ids` names.

    Other charts stay as they are, or with `keep_others` False are mentioned no longer.
    """
    if not text:
        return text
    metadata = json_object(text)

    def new_id(old: int) -> int | None:
        return new_ids.get(old, old if keep_others else None)

    return json.dumps(_object(_KEYS)(metadata, new_id), ensure_ascii=False)


def _node(node: Any, new_ids: Ids) -> Any:
    chart_id = chart_of(node)
    if chart_id is None or chart_id not in new_ids:
        return node
    meta = {name: value for name, value in node["meta"].items() if name != "uuid"}  # the uuid is the old chart's
    return {**node, "meta": {**meta, "chartId": new_ids[chart_id]}}


def _id(value: Any, new_id: _NewId) -> Any:
    """Return the new id in the same writing: a number, or the text of one."""
    if isinstance(value, str):
        old = id_in(value)
        return value if old is None or str(old) != value else _written(new_id(old), str)
    return _written(new_id(value), int) if is_id(value) else value


def _written(new: int | None, kind: type[int] | type[str]) -> Any:
    return _GONE if new is None else kind(new)


def _as_it_is(value: Any, _new_id: _NewId) -> Any:
    return value


def _array(of: _Rewrite) -> _Rewrite:
    """Return what rewrites the items of an array; a value of another kind stays as it is, here and below."""

    def rewrite(value: Any, new_id: _NewId) -> Any:
        if not isinstance(value, list):
            return value
        return [new for item in value if (new := of(item, new_id)) is not _GONE]

    return rewrite


def _object(
    parts: Mapping[str, _Rewrite] | None = None, *, rest: _Rewrite = _as_it_is, key: _Rewrite = _as_it_is
) -> _Rewrite:
    """Return what rewrites an object: these parts of it, the rest, and its keys."""
    known = parts or {}

    def rewrite(value: Any, new_id: _NewId) -> Any:
        if not isinstance(value, dict):
            return value
        changed = ((key(name, new_id), known.get(name, rest)(part, new_id)) for name, part in value.items())
        return {name: part for name, part in changed if name is not _GONE and part is not _GONE}

    return rewrite


def _text_by_chart(value: Any, new_id: _NewId) -> Any:
    rewrite = _object(key=_id)
    return json.dumps(rewrite(json_object(value), new_id), ensure_ascii=False) if isinstance(value, str) else value


_IDS: Final = _array(_id)
_SCOPED: Final = _object({"chartsInScope": _IDS, "scope": _object({"excluded": _IDS})})
_KEYS: Final[Mapping[str, _Rewrite]] = {
    "chart_configuration": _object(key=_id, rest=_object({"id": _id, "crossFilters": _SCOPED})),
    "global_chart_configuration": _SCOPED,
    "native_filter_configuration": _array(_SCOPED),
    "chart_customization_config": _array(_SCOPED),
    "timed_refresh_immune_slices": _IDS,
    "expanded_slices": _object(key=_id),
    "filter_scopes": _object(key=_id, rest=_object(rest=_object({"immune": _IDS}))),  # of older filter boxes, by column
    "default_filters": _text_by_chart,
}

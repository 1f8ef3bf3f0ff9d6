"""Turns chart payloads into records, and puts charts on dashboards and tags on charts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard, Tag
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._resources.batches import by_ids, every
from analytics_core._resources.dashboards.content import layout_without
from analytics_core._resources.listing import LARGEST_PAGE
from analytics_core._resources.reader import Reader
from analytics_core.errors import DashboardAccessError, NotFoundError, PayloadSchemaError, Problem
from analytics_core.models.chart import ChartPost, ChartPut
from analytics_core.models.enums import TagType
from analytics_core.models.references import TagReference

_KEPT_ON_NULL = frozenset({"slice_name", "is_managed_externally", "datasource_id", "datasource_type"})
_CONTEXT, _GENERATED = "query_context", "query_context_generation"
_TAKEN_APART = frozenset({"owners", "dashboards", "tags"})


def new_chart(post: ChartPost, *, uuid: str, owner_ids: tuple[int, ...]) -> Chart:
    """Return the record of a create payload."""
    record = Chart(uuid=uuid, slice_name=post.slice_name, owner_ids=owner_ids)
    return replace(record, **_copied(post))


def changed_chart(chart: Chart, put: ChartPut, *, owner_ids: tuple[int, ...]) -> Chart:
    """Return the record after an update; null clears what may be empty and leaves everything else as it is.

    A query context that a person wrote is not replaced by one that a system made (`query_context_generation`).
    """
    return replace(chart, **_respecting_the_writer(chart, _copied(put)), owner_ids=owner_ids)


def _respecting_the_writer(chart: Chart, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an update, without a generated query context where a person's is stored.

    A query context that comes without the flag is a person's.
    """
    if fields.get(_GENERATED):
        written_by_hand = bool(chart.query_context) and not chart.query_context_generation
        return {n: v for n, v in fields.items() if n not in (_CONTEXT, _GENERATED)} if written_by_hand else fields
    return {**fields, _GENERATED: False} if _CONTEXT in fields else fields


def _copied(payload: ChartPost | ChartPut) -> dict[str, Any]:
    return {
        name: value
        for name, value in payload.given().items()
        if name not in _TAKEN_APART and (value is not None or name not in _KEPT_ON_NULL)
    }


def place_on_dashboards(reader: Reader, *, chart_id: int, wanted: Iterable[int]) -> tuple[int, ...]:
    """Put a chart on these dashboards and take it from the others, and return the ids of those that changed.

    Dashboards that the actor may not read keep the chart: the actor cannot have meant them. Where the chart is taken
    away, its places leave the layout, so that the next change of the layout does not bring it back.

    Raises:
        NotFoundError, DashboardAccessError: a dashboard is unknown or not for this actor.
        OwnershipError: the actor may not change a dashboard that would get or lose the chart.
    """
    goal = frozenset(wanted)
    unit, actor = reader.unit, reader.actor
    showing = (ListFilter(col="chart_ids", op="eq", val=chart_id),)
    before = reader.among_dashboards(tuple(every(unit.dashboards, showing)))
    added = _readable(reader, goal - {dashboard.id for dashboard in before})
    removed = [dashboard for dashboard in before if dashboard.id not in goal]
    for dashboard in (*added, *removed):
        reader.policy.require_write(actor, dashboard)
    for dashboard in added:
        unit.dashboards.update(replace(dashboard, chart_ids=(*dashboard.chart_ids, chart_id)), actor_id=actor.id)
    for dashboard in removed:
        unit.dashboards.update(_without(dashboard, chart_id), actor_id=actor.id)
    return tuple(dashboard.id for dashboard in (*added, *removed))


def _without(dashboard: Dashboard, chart_id: int) -> Dashboard:
    left = tuple(other for other in dashboard.chart_ids if other != chart_id)
    return replace(dashboard, chart_ids=left, position_json=layout_without(dashboard.position_json, chart_id))


def _readable(reader: Reader, ids: frozenset[int]) -> Sequence[Dashboard]:
    found = by_ids(reader.unit.dashboards, ids)
    for missing in sorted(ids - found.keys()):
        raise NotFoundError("dashboard", missing)
    readable = reader.among_dashboards(tuple(found.values()))
    for rejected in sorted(ids - {dashboard.id for dashboard in readable}):
        raise DashboardAccessError(f"you have no access to dashboard {rejected}")
    return readable


def named_tags(unit: UnitOfWork, references: Sequence[TagReference], *, shape: str) -> tuple[int, ...]:
    """Return the ids of tags that a payload names by id, by name, or by both.

    Raises:
        NotFoundError: there is no such tag.
        PayloadSchemaError: an item names no tag, or its id and its name are of two tags.
    """
    if len(references) > LARGEST_PAGE:
        raise _problem(shape, "tags", f"may name {LARGEST_PAGE} tags at most")
    by_id = by_ids(unit.tags, (reference.id for reference in references if reference.id is not None))
    by_name = custom_tags(unit, [r.name for r in references if r.id is None and r.name is not None])
    ids = []
    for position, reference in enumerate(references):
        tag = by_name.get(reference.name or "") if reference.id is None else by_id.get(reference.id)
        if reference.id is None and reference.name is None:
            raise _problem(shape, f"tags.{position}", "needs an id or a name")
        if tag is None or reference.type not in (None, tag.type):
            raise NotFoundError("tag", reference.id if reference.id is not None else reference.name)
        if reference.name not in (None, tag.name):
            raise _problem(shape, f"tags.{position}.name", f"is not the name of tag {tag.id}; give the id or the name")
        ids.append(tag.id)
    return tuple(dict.fromkeys(ids))


def custom_tags(unit: UnitOfWork, names: Sequence[str]) -> dict[str, Tag]:
    """Return the tags made by people that have one of these names, by name."""
    if not names:
        return {}
    conditions = (
        ListFilter(col="name", op="in", val=tuple(dict.fromkeys(names))),
        ListFilter(col="type", op="eq", val=TagType.CUSTOM.value),
    )
    _, found = unit.tags.list(ListQuery(filters=conditions, page_size=len(names)))
    return {tag.name: tag for tag in found}


def _problem(shape: str, path: str, message: str) -> PayloadSchemaError:
    return PayloadSchemaError(shape=shape, problems=[Problem(path=path, message=message)])

"""What a user did lately with charts and dashboards (contract, `RecentActivityResponseSchema`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.log import LogEntry
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._resources.readable import Readable
from analytics_core._resources.readable_items import readable_charts, readable_dashboards
from analytics_core._security.actor import Actor
from analytics_core._security.policy import Policy
from analytics_core.models.log import RecentActivity, RecentActivityList

LATELY = timedelta(days=365)
_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """An entry with its chart or dashboard, which the actor may read."""

    entry: LogEntry
    item: Chart | Dashboard


def recent_activity(
    unit: UnitOfWork,
    *,
    policy: Policy,
    actor: Actor,
    readable: Readable,
    user_id: int,
    actions: Sequence[str] | None,
    distinct: bool,
    wanted: slice,
) -> RecentActivityList:
    """Return the `wanted` ones of a user's entries of the last year, newest first, as the actor may see them.

    The entries are read batch by batch until there are enough; each batch loads its charts and dashboards together.
    """
    since = readable.now - LATELY
    filters = [ListFilter(col="user_id", op="eq", val=user_id), ListFilter(col="dttm", op="gt", val=since)]
    if actions is not None:
        filters.append(ListFilter(col="action", op="in", val=tuple(actions)))
    seen = (one for batch in _batches(unit, tuple(filters)) for one in _readable_ones(unit, policy, actor, batch))
    shown = _first_of_each(seen, _identity) if distinct else seen
    found = islice(shown, wanted.start, wanted.stop)
    return RecentActivityList(result=tuple(_activity(one, readable) for one in found))


def _batches(unit: UnitOfWork, filters: tuple[ListFilter, ...]) -> Iterator[Sequence[LogEntry]]:
    page = 0
    while True:
        query = ListQuery(filters=filters, order_by=(("dttm", True), ("id", True)), page=page, page_size=_BATCH)
        _, entries = unit.logs.list(query)
        yield entries
        if len(entries) < _BATCH:
            return
        page += 1


def _readable_ones(unit: UnitOfWork, policy: Policy, actor: Actor, entries: Sequence[LogEntry]) -> Iterator[_Seen]:
    """Yield the entries whose dashboard, or else chart, the actor may read."""
    dashboards = readable_dashboards(unit, policy, actor, (entry.dashboard_id for entry in entries))
    charts = readable_charts(unit, policy, actor, (entry.slice_id for entry in entries if entry.dashboard_id is None))
    for entry in entries:
        item: Chart | Dashboard | None
        item = charts.get(entry.slice_id or 0) if entry.dashboard_id is None else dashboards.get(entry.dashboard_id)
        if item is not None:
            yield _Seen(entry=entry, item=item)


def _first_of_each(seen: Iterator[_Seen], identity: Callable[[_Seen], Hashable]) -> Iterator[_Seen]:
    known = set()
    for one in seen:
        if (key := identity(one)) not in known:
            known.add(key)
            yield one


def _identity(one: _Seen) -> Hashable:
    return one.entry.action, type(one.item), one.item.id


def _activity(one: _Seen, readable: Readable) -> RecentActivity:
    moment = one.entry.dttm
    is_chart = isinstance(one.item, Chart)
    return RecentActivity(
        action=one.entry.action,
        item_title=one.item.slice_name if isinstance(one.item, Chart) else one.item.dashboard_title,
        item_type="slice" if is_chart else "dashboard",
        item_url=readable.url("chart" if is_chart else "dashboard", {"id": one.item.id}),
        time=moment.timestamp() * 1000 if moment else None,
        time_delta_humanized=readable.delta(moment),
    )

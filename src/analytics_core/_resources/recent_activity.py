"""What a user did lately with charts and dashboards (contract, `RecentActivityResponseSchema`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._resources.batches import every_value
from analytics_core._resources.readable import Readable
from analytics_core._resources.reader import Reader
from analytics_core.models.log import RecentActivity, RecentActivityList

LATELY = timedelta(days=365)
_BATCH = 500

_CHART: Final = "slice"
_DASHBOARD: Final = "dashboard"
_COLUMNS: Final = {_DASHBOARD: "dashboard_id", _CHART: "slice_id"}
_IS_OF: Final = {
    _DASHBOARD: (ListFilter(col="dashboard_id", op="is_null", val=False),),
    _CHART: (
        ListFilter(col="dashboard_id", op="is_null", val=True),
        ListFilter(col="slice_id", op="is_null", val=False),
    ),
}
"""An entry that names a dashboard and a chart is about the dashboard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    """Something that was done to a chart or dashboard; `order` is its place among all that was done, by time."""

    order: tuple[datetime, int]
    action: str
    kind: str
    item_id: int


def recent_activity(
    reader: Reader,
    *,
    readable: Readable,
    user_id: int,
    actions: Sequence[str] | None,
    distinct: bool,
    wanted: slice,
) -> RecentActivityList:
    """Return the `wanted` ones of a user's entries of the last year, newest first, as the actor may see them.

    First the store tells which charts and dashboards the user dealt with, then what of those that the actor may read;
    so the work grows with them and with how far the page lies back, not with all that the user ever did.
    """
    since = readable.now - LATELY
    filters = [ListFilter(col="user_id", op="eq", val=user_id), ListFilter(col="dttm", op="gt", val=since)]
    if actions is not None:
        filters.append(ListFilter(col="action", op="in", val=tuple(actions)))
    titles = {kind: _titles(reader, kind, (*filters, *_IS_OF[kind])) for kind in _COLUMNS}
    read = _latest_of_each if distinct else _every_one
    done = [
        one
        for kind, of_kind in titles.items()
        if of_kind
        for one in read(reader.unit, kind, _among(kind, tuple(of_kind), filters), most=wanted.stop)
    ]
    done.sort(key=lambda one: one.order, reverse=True)
    return RecentActivityList(
        result=tuple(_activity(one, titles[one.kind][one.item_id], readable) for one in done[wanted])
    )


def _titles(reader: Reader, kind: str, filters: tuple[ListFilter, ...]) -> dict[int, str | None]:
    """Return the titles of what entries name, as far as it is there and the actor may read it, by id."""
    named = every_value(reader.unit.logs, _COLUMNS[kind], ListQuery(filters=filters))
    titles: dict[int, str | None] = {}
    while batch := tuple(islice(named, _BATCH)):
        if kind == _CHART:
            titles |= {key: chart.slice_name for key, chart in reader.charts(batch).items()}
        else:
            titles |= {key: board.dashboard_title for key, board in reader.dashboards(batch).items()}
    return titles


def _among(kind: str, ids: tuple[int, ...], filters: Sequence[ListFilter]) -> tuple[ListFilter, ...]:
    return (*filters, *_IS_OF[kind], ListFilter(col=_COLUMNS[kind], op="in", val=ids))


def _every_one(unit: UnitOfWork, kind: str, filters: tuple[ListFilter, ...], *, most: int) -> Iterator[_Done]:
    query = ListQuery(filters=filters, order_by=(("dttm", True), ("id", True)), page_size=most)
    for entry in unit.logs.list(query)[1]:
        item_id = entry.slice_id if kind == _CHART else entry.dashboard_id
        assert entry.dttm is not None  # noqa: S101 - the conditions ask for both; tells the type checker
        assert item_id is not None  # noqa: S101 - tells the type checker
        yield _Done(order=(entry.dttm, entry.id), action=entry.action, kind=kind, item_id=item_id)


def _latest_of_each(unit: UnitOfWork, kind: str, filters: tuple[ListFilter, ...], *, most: int) -> Iterator[_Done]:
    query = ListQuery(filters=filters, page_size=most)
    for (action, item_id), moment, entry_id in unit.logs.newest(("action", _COLUMNS[kind]), "dttm", query):
        yield _Done(order=(moment, entry_id), action=action, kind=kind, item_id=item_id)


def _activity(one: _Done, title: str | None, readable: Readable) -> RecentActivity:
    moment, _ = one.order
    return RecentActivity(
        action=one.action,
        item_title=title,
        item_type=one.kind,
        item_url=readable.url("chart" if one.kind == _CHART else "dashboard", {"id": one.item_id}),
        time=moment.timestamp() * 1000,
        time_delta_humanized=readable.delta(moment),
    )

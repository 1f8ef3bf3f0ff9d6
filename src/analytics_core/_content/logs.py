"""`core.logs`: who did what, when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final, TypeVar

from analytics_core._content.batches import every_value
from analytics_core._content.field_formatter import FieldFormatter, readable_now, stored_fields
from analytics_core._content.lists import (
    MOST_VALUES,
    Columns,
    Filters,
    Listing,
    Order,
    Page,
    ResourceLists,
    anybody,
    check_page,
)
from analytics_core._content.namespace import NamespaceWithDistinct
from analytics_core._content.reader import Reader
from analytics_core._content.stored_json import without_passwords, without_secrets
from analytics_core._content.user_directory import UserIndex, read_users
from analytics_core._engine.rights.policy import Permission
from analytics_core._engine.rights.relationships import Relationship
from analytics_core._records.audit import LogEntry
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core.errors import ChartAccessError, DashboardAccessError
from analytics_core.errors.base import short_repr
from analytics_core.models.log import LogGet, LogListItem, LogPost, RecentActivity, RecentActivityList, UserOfLog
from analytics_core.models.parsing import Payload, parse, payload_error

LogShape = TypeVar("LogShape", bound=LogGet)

_FARTHEST_BACK = 100_000
_RECENT = "RecentActivityResponseSchema"
_OWN_VERBS = frozenset(
    {"create", "update", "delete", "copy", "duplicate", "refresh", "grant", "revoke", "invalidate", "prune"}
    | {"tag", "untag", "add_favourite", "remove_favourite", "update_native_filters"}
    | {"guest_token", "revoke_guest_tokens", "upload", "start", "callback", "forget"}
)
"""Verbs of acts that the library writes itself, in the transaction of the act; nobody else writes them."""


def _readable_entries(reader: Reader, query: ListQuery) -> ListQuery:
    policy, actor = reader.policy, reader.actor
    if policy.reads_all_activity(actor):
        return query
    if not policy.allows(Permission.READ_ACTIVITY, frozenset({Relationship.THEMSELVES})):
        return replace(query, ids=frozenset())
    return replace(query, filters=(*query.filters, ListFilter(col="user_id", op="eq", val=actor.id)))


LISTS = ResourceLists(
    listing=Listing(
        shape="log entry",
        item=LogListItem,
        is_audited=False,
        integers=("id", "user_id", "dashboard_id", "slice_id", "duration_ms", "user"),
        texts=("action", "referrer"),
        moments=("dttm",),
        stored_as={"user": "user_id"},
    ),
    repository=lambda unit: unit.logs,
    item=lambda entry, facts: _log_answer(LogListItem, entry, facts.people),
    permission=anybody,
    people_of=lambda entry: (entry.user_id,),
    visibility=_readable_entries,
    people=("user",),
    distinct=("action",),
)


class Logs(NamespaceWithDistinct[LogListItem]):
    """The log of acts; entries are written and read, never changed, and go by `prune` alone.

    `related` takes `user`, `distinct` takes `action`.
    """

    _resource = LISTS

    def create(self, payload: LogPost | Payload) -> LogGet:
        """Record a view of a chart or dashboard, or another act that the host saw (`models.LogPost`).

        Values of secret-looking names in `json` are masked, and passwords in URLs, those of `referrer` too.

        Without `dttm` it happens now; without `user_id` the actor did it. Only administrators give those two.

        Raises:
            PayloadError: the payload breaks the shape, or names an act that the library records itself.
            UserActivityAccessError: an entry for somebody else, or with a moment of one's own choice.
            ChartAccessError, DashboardAccessError: the chart or dashboard is not there or not for this actor.

        Examples:
            >>> core.logs.create({"action": "mount_dashboard", "dashboard_id": 1}).action
            'mount_dashboard'
        """
        post = parse(LogPost, payload, shape="LogRestApi.post")
        _reject_own_acts(post.action)
        if post.dttm is not None or post.user_id not in (None, self._actor.id):
            self._runtime.policy.require_manage_logs(self._actor)
        moment = post.dttm or self._runtime.wall_clock.now()
        entry = LogEntry(
            action=post.action,
            user_id=self._actor.id if post.user_id is None else post.user_id,
            dashboard_id=post.dashboard_id,
            slice_id=post.slice_id,
            dttm=moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC),
            duration_ms=post.duration_ms,
            json=without_secrets(post.json_text),
            referrer=without_passwords(post.referrer) if post.referrer else post.referrer,
        )
        with self._runtime.store.unit_of_work() as unit:
            self._check_items(unit, entry)
            stored = unit.logs.add(entry, actor_id=self._actor.id)
        return self._answer(stored)

    def get(self, log_id: int) -> LogGet:
        """Return an entry; UserActivityAccessError for somebody else's, unless an administrator asks.

        Examples:
            >>> core.logs.get(1).action
            'database.create'
        """
        with self._runtime.store.unit_of_work() as unit:
            entry = unit.logs.get(log_id)
        self._runtime.policy.require_read_activity(self._actor, entry.user_id)
        return self._answer(entry)

    def list(
        self,
        filters: Filters = (),
        order_by: Order = "-dttm",
        page: int = 0,
        page_size: int = 25,
        columns: Columns = None,
    ) -> Page[LogListItem]:
        """Return one page of the entries, newest first: administrators see all, others their own.

        Examples:
            >>> [entry.action for entry in core.logs.list(page_size=2)]
            ['database.create', 'database.create']
        """
        return super().list(filters, order_by, page, page_size, columns)

    def recent_activity(
        self,
        user: int | None = None,
        *,
        actions: Sequence[str] | None = None,
        distinct: bool = True,
        page: int = 0,
        page_size: int = 25,
    ) -> RecentActivityList:
        """Return what a user did lately with charts and dashboards that the actor may still see, newest first.

        Args:
            user: an id; None: the actor. That of others is for administrators.
            actions: only these; None: all.
            distinct: one entry, the newest, for each action on each chart or dashboard.
            page: counts from 0.
            page_size: at the most 1000.

        Raises:
            UserActivityAccessError: the activity of somebody else.
            PayloadSchemaError: `actions` are no list of names, or a page out of bounds; pages end at 100,000 entries.

        Examples:
            >>> _ = core.logs.create({"action": "mount_dashboard", "dashboard_id": 1})
            >>> core.logs.recent_activity().result[0].item_title
            'Sales'
        """
        check_page(page, page_size, shape=_RECENT)
        _check_depth(page, page_size)
        _check_actions(actions)
        user_id = self._actor.id if user is None else user
        self._runtime.policy.require_read_activity(self._actor, user_id)
        with self._runtime.store.unit_of_work() as unit:
            return recent_activity(
                self._reader(unit),
                readable=readable_now(self._runtime),
                user_id=user_id,
                actions=actions,
                distinct=distinct,
                wanted=slice(page * page_size, (page + 1) * page_size),
            )

    def prune(self, older_than_days: int) -> int:
        """Remove the entries of more than so many days ago and return how many they were; for administrators.

        The pruning itself is logged.

        Examples:
            >>> core.logs.prune(older_than_days=30)
            0
        """
        self._runtime.policy.require_manage_logs(self._actor)
        oldest = oldest_after_pruning(older_than_days, now=self._runtime.wall_clock.now(), shape="logs.prune")
        with self._acting("log.prune") as (act, unit):
            removed = unit.logs.delete_matching([ListFilter(col="dttm", op="lt", val=oldest)])
            act.log(unit, details={"older_than_days": older_than_days, "removed": removed})
        return removed

    def _check_items(self, unit: UnitOfWork, entry: LogEntry) -> None:
        """Refuse a chart or dashboard that the actor may not read, in the words for one that is not there."""
        reader = self._reader(unit)
        charts = reader.charts([entry.slice_id])
        if entry.slice_id is not None and entry.slice_id not in charts:
            raise ChartAccessError(f"you have no access to chart {entry.slice_id}; ask for a grant on its dataset")
        dashboards = reader.dashboards([entry.dashboard_id])
        if entry.dashboard_id is not None and entry.dashboard_id not in dashboards:
            raise DashboardAccessError(f"you have no access to dashboard {entry.dashboard_id}; ask one of its owners")

    def _answer(self, entry: LogEntry) -> LogGet:
        return _log_answer(LogGet, entry, read_users(self._runtime.people, [entry.user_id]))


def _check_depth(page: int, page_size: int) -> None:
    """Refuse a page so far back that finding it would take too long: all that comes before it is read with it."""
    if (page + 1) * page_size > _FARTHEST_BACK:
        message = f"times page_size must stay within {_FARTHEST_BACK} entries; name actions to see fewer of them"
        raise payload_error(_RECENT, "page", message)


def _check_actions(actions: Any) -> None:
    if actions is None:
        return
    is_list = isinstance(actions, list | tuple | set | frozenset) and len(actions) <= MOST_VALUES
    if not is_list or not all(isinstance(action, str) for action in actions):
        raise payload_error(_RECENT, "actions", f"must be a list of {MOST_VALUES} names of acts at most")


def _reject_own_acts(action: str) -> None:
    resource, _, verb = action.rpartition(".")
    plain = "".join(character for character in verb.casefold() if character.isalpha() or character == "_")
    if resource and plain in _OWN_VERBS:  # nor in a spelling that a reader takes for it
        message = (
            f"{short_repr(action)} is recorded when it happens; name another act, for example "
            f"{short_repr(resource + '.view')}"
        )
        raise payload_error("LogRestApi.post", "action", message)


def _log_answer(shape: type[LogShape], entry: LogEntry, people: UserIndex) -> LogShape:
    user = people.users.get(entry.user_id or 0)
    log_user = UserOfLog(username=user.username) if user else None
    return shape(**stored_fields(entry, shape), json=entry.json, user=log_user)


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
class _ActivityEntry:
    """Something that was done to a chart or dashboard; `order` is its place among all that was done, by time."""

    order: tuple[datetime, int]
    action: str
    kind: str
    item_id: int


def recent_activity(
    reader: Reader,
    *,
    readable: FieldFormatter,
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


def _every_one(unit: UnitOfWork, kind: str, filters: tuple[ListFilter, ...], *, most: int) -> Iterator[_ActivityEntry]:
    query = ListQuery(filters=filters, order_by=(("dttm", True), ("id", True)), page_size=most)
    for entry in unit.logs.list(query)[1]:
        item_id = entry.slice_id if kind == _CHART else entry.dashboard_id
        assert item_id is not None  # noqa: S101 - the conditions ask for it; tells the type checker
        yield _ActivityEntry(order=(entry.dttm, entry.id), action=entry.action, kind=kind, item_id=item_id)


def _latest_of_each(
    unit: UnitOfWork, kind: str, filters: tuple[ListFilter, ...], *, most: int
) -> Iterator[_ActivityEntry]:
    query = ListQuery(filters=filters, page_size=most)
    for (action, item_id), moment, entry_id in unit.logs.newest(("action", _COLUMNS[kind]), "dttm", query):
        yield _ActivityEntry(order=(moment, entry_id), action=action, kind=kind, item_id=item_id)


def _activity(one: _ActivityEntry, title: str | None, readable: FieldFormatter) -> RecentActivity:
    moment, _ = one.order
    return RecentActivity(
        action=one.action,
        item_title=title,
        item_type=one.kind,
        item_url=readable.url("chart" if one.kind == _CHART else "dashboard", {"id": one.item_id}),
        time=moment.timestamp() * 1000,
        time_delta_humanized=readable.delta(moment),
    )


_DAYS = range(1, 36_501)


def oldest_after_pruning(older_than_days: Any, *, now: datetime, shape: str) -> datetime:
    """Return the moment before which things are old; PayloadSchemaError unless it is from 1 to 36,500 days ago."""
    if type(older_than_days) is not int or older_than_days not in _DAYS:
        message = f"must be a whole number from {_DAYS.start} to {_DAYS.stop - 1}"
        raise payload_error(shape, "older_than_days", message)
    return now - timedelta(days=older_than_days)

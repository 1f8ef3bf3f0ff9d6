"""`core.dashboards`: charts on a page, who sees them, and copies of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from uuid import uuid4

from analytics_core._content.batches import id_in
from analytics_core._content.changes import begin_act, reject_later_change, repeated
from analytics_core._content.css_templates import check_css
from analytics_core._content.dashboards.copies import copied_dashboard, with_charts_of_its_own
from analytics_core._content.dashboards.questions import DashboardQueries
from analytics_core._content.dashboards.records import (
    changed_dashboard,
    check_roles,
    dashboard_get,
    dashboard_item,
    is_slug,
    new_dashboard,
    placed_charts,
)
from analytics_core._content.field_formatter import readable_now
from analytics_core._content.lists import (
    CHARTS,
    DASHBOARDS,
    ROLES,
    TAGS,
    Listing,
    ResourceLists,
    anybody,
    makers_and_owners,
)
from analytics_core._content.needed_by_reports import require_unscheduled
from analytics_core._content.questions.dashboard_content import charts_in, checked_content
from analytics_core._content.questions.dashboard_filters import with_changed_filters
from analytics_core._content.related_names import RelatedNames, names_related_to_dashboards
from analytics_core._content.stored_json import json_object
from analytics_core._content.tags import Favourites
from analytics_core._content.user_directory import checked_owners, read_users
from analytics_core._content.written_back import read_changes
from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.repositories import UnitOfWork
from analytics_core.errors import NotFoundError
from analytics_core.models.base import uuid_in
from analytics_core.models.chart import FavoriteStatuses
from analytics_core.models.dashboard import (
    DashboardCopy,
    DashboardGet,
    DashboardListItem,
    DashboardNativeFiltersUpdate,
    DashboardPost,
    DashboardPut,
    TagTarget,
)
from analytics_core.models.parsing import Payload, parse

LISTING = Listing(
    shape="dashboard",
    item=DashboardListItem,
    texts=("uuid", "dashboard_title", "slug", "certified_by"),
    booleans=("published", "is_managed_externally"),
    links=("owners", "roles", "tags", "charts"),
    stored_as={"owners": "owner_ids", "roles": "role_ids", "tags": "tag_ids", "charts": "chart_ids"},
)

LISTS = ResourceLists(
    listing=LISTING,
    repository=lambda unit: unit.dashboards,
    item=lambda dashboard, facts: dashboard_item(
        dashboard, linked=facts.linked, people=facts.people, readable=facts.readable
    ),
    permission=anybody,
    linked=names_related_to_dashboards,
    people_of=makers_and_owners,
    visibility=DASHBOARDS.visibility,
    people=("owners", "created_by", "changed_by"),
    records={"charts": CHARTS, "roles": ROLES, "tags": TAGS},
    distinct=("certified_by", "slug"),
)

_POST, _PUT, _COPY = "DashboardRestApi.post", "DashboardRestApi.put", "DashboardCopySchema"
_FILTERS = "DashboardNativeFiltersConfigUpdateSchema"


class Dashboards(DashboardQueries):
    """Dashboards, as one actor may see and change them.

    In lists, by a chart that the actor may not read nothing is found. `related` takes `owners`, `created_by`,
    `changed_by`, `charts`, `roles` or `tags`; `distinct` takes `certified_by` or `slug`.
    """

    _resource = LISTS

    # ---------------------------------------------------------------------------------------------------- records
    def create(self, payload: DashboardPost | Payload) -> DashboardGet:
        """Store a dashboard (contract, `DashboardRestApi.post`); without `published` it is a draft.

        Without `owners` the creator owns it. Its charts are those that its layout places: `position_json`, or the key
        `positions` of `json_metadata`, which is stored as the layout.

        Raises:
            PayloadError: the payload breaks the shape, or names roles or charts that do not exist.
            ChartAccessError: the layout places a chart that the actor may not read.
            AccessError: it names a role that the actor does not have; administrators may name any.
            AlreadyExistsError: the slug is taken.

        Examples:
            >>> core.dashboards.create({"dashboard_title": "Returns", "slug": "returns"}).published
            False
        """
        post = parse(DashboardPost, payload, shape=_POST)
        act = begin_act(self._runtime, self._actor, "dashboard.create")
        owners = checked_owners(self._runtime.people, post.owners, actor=self._actor, shape=_POST)
        record = new_dashboard(post, uuid=str(uuid4()), owner_ids=owners, shape=_POST)
        with self._runtime.store.unit_of_work() as unit:
            check_roles(self._reader(unit), record.role_ids, before=(), shape=_POST)
            stored = unit.dashboards.add(self._with_charts(unit, record, before=None), actor_id=self._actor.id)
            act.log(unit, dashboard_id=stored.id)
            linked = self._linked(unit, stored)
        return self._answer(stored, *linked)

    def get(self, key: int | str) -> DashboardGet:
        """Return a dashboard by its id, its UUID or its slug; `charts` are the names of those that the actor may read.

        Raises:
            NotFoundError: there is none.
            DashboardAccessError: it is not for this actor.

        Examples:
            >>> core.dashboards.get("sales").dashboard_title
            'Sales'
        """
        with self._runtime.store.unit_of_work() as unit:
            dashboard = _found(unit, key)
            self._reader(unit).require_dashboard(dashboard)
            linked = self._linked(unit, dashboard)
        return self._answer(dashboard, *linked)

    @repeated
    def update(
        self,
        dashboard_id: int,
        payload: DashboardPut | DashboardGet | DashboardListItem | Payload,
        *,
        unchanged_since: datetime | str | None = None,
    ) -> DashboardGet:
        """Change a dashboard; only owners and administrators may (contract, `DashboardRestApi.put`).

        A layout decides the charts as in `create`. With `unchanged_since`, the `changed_on` of the dashboard that the
        caller read, a change that somebody else made since is not overwritten.

        Raises:
            PayloadError, ChartAccessError, AlreadyExistsError: as in `create`.
            OwnershipError: the actor does not own it, or another system manages it.
            StaleVersionError: somebody else changed it meanwhile.

        Examples:
            >>> core.dashboards.update(1, {"published": False}).published
            False
        """
        answers = self._answers(DashboardGet, self.get, dashboard_id)
        put = read_changes(DashboardPut, payload, shape=_PUT, answers=answers)
        act = begin_act(self._runtime, self._actor, "dashboard.update")
        owners = None
        if put.owners is not None:
            owners = checked_owners(self._runtime.people, put.owners, actor=self._actor, shape=_PUT)
        with self._runtime.store.unit_of_work() as unit:
            before = self._writable(unit, dashboard_id)
            reject_later_change(before, unchanged_since)
            after = changed_dashboard(before, put, owner_ids=owners, shape=_PUT)
            if put.roles is not None:
                had = before.role_ids
                check_roles(self._reader(unit), after.role_ids, before=had, shape=_PUT)
            after = self._with_charts(unit, after, before=before)
            details = {"fields": sorted(put.given())}
            stored = act.update(unit, unit.dashboards, before, after, dashboard_id=dashboard_id, details=details)
            linked = self._linked(unit, stored)
        return self._answer(stored, *linked)

    @repeated
    def delete(self, dashboard_id: int) -> None:
        """Remove a dashboard, not its charts; only owners and administrators may.

        Examples:
            >>> core.dashboards.delete(1)
            >>> core.dashboards.list().count, core.charts.list().count
            (0, 2)
        """
        with self._acting("dashboard.delete") as (act, unit):
            self._writable(unit, dashboard_id)
            require_unscheduled(self._reader(unit), dashboard_id, noun="dashboard")
            act.delete(unit, unit.dashboards, dashboard_id, dashboard_id=dashboard_id)

    # ------------------------------------------------------------------------------------------------- whole pages
    def copy(self, dashboard_id: int, payload: DashboardCopy | Payload) -> DashboardGet:
        """Store a copy of a dashboard that the actor may read, as a draft of their own (contract, DashboardCopySchema).

        Title, style and layout are the source's where the payload has none. With `duplicate_slices` the charts that
        the actor may read are copied too and belong to them; the others stay as they are on both dashboards.

        Raises:
            PayloadError, ChartAccessError: as in `create`.
            NotFoundError, DashboardAccessError: the source is unknown or not for this actor.

        Examples:
            >>> copied = core.dashboards.copy(1, {"dashboard_title": "Sales of 2025", "json_metadata": "{}"})
            >>> copied.id, copied.published, copied.charts
            (2, False, ('Revenue by country', 'Revenue by month'))
        """
        copy = parse(DashboardCopy, payload, shape=_COPY)
        check_css(copy.css, shape=_COPY)
        content = checked_content({"json_metadata": copy.json_metadata}, shape=_COPY)
        with self._acting("dashboard.copy") as (act, unit):
            source = self._reader(unit).dashboard(dashboard_id)
            record = replace(copied_dashboard(source, copy, owner_id=self._actor.id), **content)
            record = placed = self._with_charts(unit, record, before=source, shape=_COPY)
            if copy.duplicate_slices:
                charts = tuple(self._reader(unit).charts(record.chart_ids).values())
                record = with_charts_of_its_own(unit, record, charts, self._actor, now=self._runtime.wall_clock.now())
            stored = unit.dashboards.add(record, actor_id=self._actor.id)
            made = sorted({*record.chart_ids} - {*placed.chart_ids})
            details = {"source": dashboard_id, **({"charts": made} if made else {})}
            act.log(unit, dashboard_id=stored.id, details=details)
            linked = self._linked(unit, stored)
        return self._answer(stored, *linked)

    @repeated
    def update_native_filters(self, dashboard_id: int, payload: DashboardNativeFiltersUpdate | Payload) -> DashboardGet:
        """Change the filters of a dashboard (contract, DashboardNativeFiltersConfigUpdateSchema).

        `modified` replaces the filters of the same id and adds those of a new one; `deleted` removes; `reordered`
        names which come first, the others follow in the order they had. What others change at the same time stays.

        Raises:
            PayloadSchemaError: the payload breaks the shape, or an id to delete or reorder is unknown.
            OwnershipError: the actor does not own the dashboard.

        Examples:
            >>> core.dashboards.update_native_filters(1, {"deleted": ["country"], "modified": [], "reordered": []}).id
            1
            >>> core.dashboards.data(1).filters
            ()
        """
        update = parse(DashboardNativeFiltersUpdate, payload, shape=_FILTERS)
        with self._acting("dashboard.update_native_filters") as (act, unit):
            after = with_changed_filters(self._writable(unit, dashboard_id), update, shape=_FILTERS)
            stored = unit.dashboards.update(after, actor_id=self._actor.id)
            act.log(unit, dashboard_id=dashboard_id)
            linked = self._linked(unit, stored)
        return self._answer(stored, *linked)

    # ---------------------------------------------------------------------------------------------------- answers
    # -------------------------------------------------------------------------------------------------- favourites
    def add_favourite(self, dashboard_id: int) -> None:
        """Give the actor's star to a dashboard that they may read; a second one changes nothing.

        Examples:
            >>> core.dashboards.add_favourite(1)
            >>> core.dashboards.favourite_status([1])[0].value
            True
        """
        Favourites(self._runtime, self._actor, TagTarget.DASHBOARD).add(dashboard_id)

    def remove_favourite(self, dashboard_id: int) -> None:
        """Take the actor's star from a dashboard; nothing happens where there is none.

        Examples:
            >>> core.dashboards.remove_favourite(1)
            >>> core.dashboards.favourite_status([1])[0].value
            False
        """
        Favourites(self._runtime, self._actor, TagTarget.DASHBOARD).remove(dashboard_id)

    def favourite_status(self, ids: Iterable[int]) -> FavoriteStatuses:
        """Return for each id whether the actor gave a star to this dashboard; at most a thousand ids.

        Examples:
            >>> [(one.id, one.value) for one in core.dashboards.favourite_status([1])]
            [(1, False)]
        """
        return Favourites(self._runtime, self._actor, TagTarget.DASHBOARD).status(ids)

    # -------------------------------------------------------------------------------------------------------- inside
    def _writable(self, unit: UnitOfWork, dashboard_id: int) -> Dashboard:
        dashboard = self._reader(unit).dashboard(dashboard_id)
        self._runtime.policy.require_write(self._actor, dashboard)
        return dashboard

    def _with_charts(
        self, unit: UnitOfWork, record: Dashboard, *, before: Dashboard | None, shape: str = _PUT
    ) -> Dashboard:
        """Return the record with those of its charts that there are, once the actor may place the new ones."""
        known = (*before.chart_ids, *charts_in(json_object(before.position_json))) if before else ()
        shape = shape if before else _POST
        chart_ids = placed_charts(self._reader(unit), record.chart_ids, before=known, shape=shape)
        return replace(record, chart_ids=chart_ids)

    def _linked(self, unit: UnitOfWork, dashboard: Dashboard) -> tuple[RelatedNames, tuple[Chart, ...]]:
        """Return what stands around a dashboard, and those of its charts that the actor may read."""
        reader = self._reader(unit)
        return names_related_to_dashboards(reader, (dashboard,)), tuple(reader.charts(dashboard.chart_ids).values())

    def _answer(self, dashboard: Dashboard, linked: RelatedNames, charts: tuple[Chart, ...]) -> DashboardGet:
        people = read_users(self._runtime.people, makers_and_owners(dashboard))
        return dashboard_get(
            dashboard, charts=charts, linked=linked, people=people, readable=readable_now(self._runtime)
        )


def _found(unit: UnitOfWork, key: int | str) -> Dashboard:
    """Return the dashboard with this id, UUID or slug; texts that could be ids are never slugs."""
    if not isinstance(key, str):
        return unit.dashboards.get(key)
    if (number := id_in(key)) is not None:
        return unit.dashboards.get(number)
    uuid = uuid_in(key)
    found = None
    if uuid is not None:
        found = unit.dashboards.find(uuid=uuid)
    elif is_slug(key):
        found = unit.dashboards.find(slug=key)
    if found is None:
        raise NotFoundError("dashboard", key)
    return found

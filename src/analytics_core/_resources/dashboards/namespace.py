"""`core.dashboards`: charts on a page, who sees them, and copies of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Unpack
from uuid import uuid4

from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.repositories import UnitOfWork
from analytics_core._resources.batches import by_ids, id_in
from analytics_core._resources.changes import begin_act, reject_later_change, repeated
from analytics_core._resources.charts.extra_filters import ExtraFilters, GivenFilters, given_filters
from analytics_core._resources.charts.queries import ChartQueries
from analytics_core._resources.charts.records import chart_entity
from analytics_core._resources.css_templates import check_css
from analytics_core._resources.dashboards.acting import given_state, options_of
from analytics_core._resources.dashboards.answers import DashboardQuestions, OnChart, answered_dashboard, params_of
from analytics_core._resources.dashboards.content import charts_in, checked_content
from analytics_core._resources.dashboards.copies import (
    copied_dashboard,
    with_charts_of_its_own,
)
from analytics_core._resources.dashboards.filters import with_changed_filters
from analytics_core._resources.dashboards.pictures import (
    DashboardDrawer,
    ShownDashboard,
    dashboard_look,
)
from analytics_core._resources.dashboards.records import (
    changed_dashboard,
    check_roles,
    dashboard_dataset,
    dashboard_get,
    dashboard_item,
    is_slug,
    new_dashboard,
    placed_charts,
)
from analytics_core._resources.dashboards.values import SHAPE
from analytics_core._resources.field_formatter import readable_now
from analytics_core._resources.lists import (
    CHARTS,
    DASHBOARDS,
    ROLES,
    TAGS,
    Listing,
    ResourceLists,
    anybody,
    makers_and_owners,
)
from analytics_core._resources.namespace import NamespaceWithDistinct
from analytics_core._resources.people.directory import checked_owners, read_users
from analytics_core._resources.permalinks import kept_state
from analytics_core._resources.pictures import PictureDrawer
from analytics_core._resources.related_names import RelatedNames, names_related_to_dashboards
from analytics_core._resources.reports.needed import require_unscheduled
from analytics_core._resources.stored_json import json_object
from analytics_core._resources.tags import Favourites
from analytics_core._results.answer import ChartData
from analytics_core._results.dashboard_answer import DashboardData
from analytics_core._results.picture import Picture
from analytics_core.errors import NotFoundError
from analytics_core.models.base import uuid_in
from analytics_core.models.chart import ChartEntity, FavoriteStatuses
from analytics_core.models.dashboard import (
    DashboardCopy,
    DashboardGet,
    DashboardListItem,
    DashboardNativeFiltersUpdate,
    DashboardPost,
    DashboardPut,
    TagTarget,
)
from analytics_core.models.dataset import DashboardDataset
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


class Dashboards(NamespaceWithDistinct[DashboardListItem]):
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
        """
        with self._runtime.store.unit_of_work() as unit:
            dashboard = _found(unit, key)
            self._reader(unit).require_dashboard(dashboard)
            linked = self._linked(unit, dashboard)
        return self._answer(dashboard, *linked)

    @repeated
    def update(
        self, dashboard_id: int, payload: DashboardPut | Payload, *, unchanged_since: datetime | str | None = None
    ) -> DashboardGet:
        """Change a dashboard; only owners and administrators may (contract, `DashboardRestApi.put`).

        A layout decides the charts as in `create`. With `unchanged_since`, the `changed_on` of the dashboard that the
        caller read, a change that somebody else made since is not overwritten.

        Raises:
            PayloadError, ChartAccessError, AlreadyExistsError: as in `create`.
            OwnershipError: the actor does not own it, or another system manages it.
            StaleVersionError: somebody else changed it meanwhile.
        """
        put = parse(DashboardPut, payload, shape=_PUT)
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
            stored = unit.dashboards.update(self._with_charts(unit, after, before=before), actor_id=self._actor.id)
            act.log(unit, dashboard_id=dashboard_id, details={"fields": sorted(put.given())})
            linked = self._linked(unit, stored)
        return self._answer(stored, *linked)

    @repeated
    def delete(self, dashboard_id: int) -> None:
        """Remove a dashboard, not its charts; only owners and administrators may."""
        act = begin_act(self._runtime, self._actor, "dashboard.delete")
        with self._runtime.store.unit_of_work() as unit:
            self._writable(unit, dashboard_id)
            require_unscheduled(self._reader(unit), dashboard_id, noun="dashboard")
            unit.dashboards.delete(dashboard_id)
            act.log(unit, dashboard_id=dashboard_id)

    # ------------------------------------------------------------------------------------------------- whole pages
    def copy(self, dashboard_id: int, payload: DashboardCopy | Payload) -> DashboardGet:
        """Store a copy of a dashboard that the actor may read, as a draft of their own (contract, DashboardCopySchema).

        Title, style and layout are the source's where the payload has none. With `duplicate_slices` the charts that
        the actor may read are copied too and belong to them; the others stay as they are on both dashboards.

        Raises:
            PayloadError, ChartAccessError: as in `create`.
            NotFoundError, DashboardAccessError: the source is unknown or not for this actor.
        """
        copy = parse(DashboardCopy, payload, shape=_COPY)
        check_css(copy.css, shape=_COPY)
        content = checked_content({"json_metadata": copy.json_metadata}, shape=_COPY)
        act = begin_act(self._runtime, self._actor, "dashboard.copy")
        with self._runtime.store.unit_of_work() as unit:
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
        """
        update = parse(DashboardNativeFiltersUpdate, payload, shape=_FILTERS)
        act = begin_act(self._runtime, self._actor, "dashboard.update_native_filters")
        with self._runtime.store.unit_of_work() as unit:
            after = with_changed_filters(self._writable(unit, dashboard_id), update, shape=_FILTERS)
            stored = unit.dashboards.update(after, actor_id=self._actor.id)
            act.log(unit, dashboard_id=dashboard_id)
            linked = self._linked(unit, stored)
        return self._answer(stored, *linked)

    def charts(self, dashboard_id: int) -> tuple[ChartEntity, ...]:
        """Return the charts of a dashboard that the actor may read (contract, `ChartEntityResponseSchema`)."""
        readable = readable_now(self._runtime)
        with self._runtime.store.unit_of_work() as unit:
            reader = self._reader(unit)
            charts = reader.charts(reader.dashboard(dashboard_id).chart_ids).values()
        return tuple(chart_entity(chart, readable=readable) for chart in charts)

    def datasets(self, dashboard_id: int) -> tuple[DashboardDataset, ...]:
        """Return the datasets of a dashboard's charts that the actor may read, with all their columns and metrics.

        Each stands once (contract, `DashboardDatasetSchema`).
        """
        with self._runtime.store.unit_of_work() as unit:
            reader = self._reader(unit)
            dashboard = reader.dashboard(dashboard_id)
            datasets = reader.among_datasets(reader.datasets_of(dashboard))
            databases = by_ids(unit.databases, {dataset.database_id for dataset in datasets})
        people = read_users(self._runtime.people, (owner for dataset in datasets for owner in dataset.owner_ids))
        readable = readable_now(self._runtime)
        return tuple(
            dashboard_dataset(
                dataset,
                database=databases[dataset.database_id],
                spec=self._runtime.registry.get(databases[dataset.database_id].engine),
                people=people,
                readable=readable,
            )
            for dataset in datasets
        )

    # ---------------------------------------------------------------------------------------------------- answers
    def data(
        self,
        dashboard_id: int,
        *,
        filters: Mapping[str, Any] | None = None,
        cross_filters: Mapping[int, Mapping[str, Any]] | None = None,
        extra_filters: GivenFilters = None,
        url_params: Mapping[str, Any] | None = None,
        permalink: str | None = None,
        tabs: Sequence[str] | None = None,
        force: bool = False,
        parallel: int = 4,
        on_chart: OnChart | None = None,
    ) -> DashboardData:
        """Return the answers to the charts of a dashboard, with its filters as they are set.

        A filter that nobody sets has the value that its maker gave it. What a chart ends with is told in its place; the
        others are answered.

        Args:
            dashboard_id: the dashboard.
            filters: by the ids or names of filters, their values (a list of values, a pair of numbers for a range, the
                text of a time range, column or grain, names of columns to group by), or data masks; None clears.
            cross_filters: by the ids of charts, what is picked in them: values by columns, or a data mask.
            extra_filters: further filters for every chart, as in `charts.question`.
            url_params: parameters of the address, which templates of the charts read.
            permalink: the key of a permalink of this dashboard, whose filters and open tabs count where none are given.
            tabs: ids or titles of tabs; charts inside any of them are answered. None: all charts.
            force: read from the source, not the cache.
            parallel: how many charts are answered at a time, from 1 to 64.
            on_chart: is called with each `DashboardChart` as soon as it is there, in the caller's thread.

        Raises:
            UnknownNameError: a filter or a tab that the dashboard does not have.
            PayloadSchemaError: a value that a filter does not take, or cross filters of a chart that is not there.
            NotFoundError, DashboardAccessError: dashboard or permalink are unknown or not for this actor.
        """
        extra = given_filters(extra_filters, shape=SHAPE)
        with self._runtime.store.unit_of_work() as unit:
            reader = self._reader(unit)
            dashboard = reader.dashboard(dashboard_id)
            kept = {} if permalink is None else kept_state(reader, permalink, dashboard_id)
        given = given_state(
            filters=filters,
            cross_filters=cross_filters,
            kept=kept,
            extra=extra.and_then(ExtraFilters(url_params=params_of(url_params, kept))),
        )
        questions = DashboardQuestions(ChartQueries(self._runtime, self._actor), dashboard, given)
        return questions.answer(tabs=tabs, force=force, parallel=parallel, on_chart=on_chart)

    def picture(
        self, dashboard_id: int, *, format: str = "png", scale: float = 1.0, **shown: Unpack[ShownDashboard]
    ) -> Picture:
        """Return a picture of a dashboard, as the actor may see it.

        A PDF has a page for each tab; in a PNG or an SVG they stand one below the other. A chart that fails, or that
        the actor may not read, is drawn as a box that says so.

        Args:
            dashboard_id: the dashboard.
            format: `png`, `svg` or `pdf`.
            scale: how many pixels of a PNG each of the layout's becomes, from 0.5 to 4; fewer where it gets too large.
            shown: `theme` (`light` or `dark`), `width_px` (600 to 4,000; None: 1,200), and `filters`, `tabs`,
                `permalink` and `force` as in `data`.

        Raises:
            UnknownNameError, QueryError: a format, a theme or a number that cannot be.
            NotFoundError, AccessError, UnknownNameError, PayloadSchemaError: as in `data`.
            MissingExtraError: no renderer is wired, and the extra `charts` is not installed.
            PictureError: the renderer cannot draw it, or not in time.
        """
        look = dashboard_look(format=format, scale=scale, shown=shown)
        return self._drawer(dashboard_id, shown).picture(look)

    def page(self, dashboard_id: int, **shown: Unpack[ShownDashboard]) -> str:
        """Return a dashboard as one page of HTML, as the actor may see it, with its charts as SVG.

        The style sheet of the dashboard counts, without what would load something. Nothing on the page acts or is
        loaded, whatever its labels and texts say; a `Content-Security-Policy` in it says so to browsers, too.

        Args:
            dashboard_id: the dashboard.
            shown: as in `picture`.

        Raises:
            AnalyticsError: as in `picture`.
        """
        look = dashboard_look(format="svg", scale=1.0, shown=shown)
        return self._drawer(dashboard_id, shown).html(look)

    def filter_options(
        self,
        dashboard_id: int,
        filter_id: int | str,
        *,
        search: str | None = None,
        row_limit: int = 1_000,
        filters: Mapping[str, Any] | None = None,
    ) -> ChartData:
        """Return what a filter of the dashboard offers, inside the actor's rows and the values of its parents.

        A filter of values offers those of its column, sorted as its maker says; one of ranges the smallest and the
        largest value, as `min` and `max`; one of time grains or columns those that there are.

        Args:
            dashboard_id: the dashboard.
            filter_id: the id or the name of the filter.
            search: narrows values to those that hold it.
            row_limit: how many values at most, from 1 to 10,000.
            filters: what other filters are set to, as in `data`; those that this one depends on count.

        Raises:
            NotFoundError: the dashboard has no such filter.
            DashboardAccessError, DatasetAccessError: the dashboard or the dataset of the filter is not for this actor.
            QueryError: the filter has no list of values.
            UnknownNameError, PayloadSchemaError: `filters` name none of its filters, or a value that it does not take.
        """
        with self._runtime.store.unit_of_work() as unit:
            dashboard = self._reader(unit).dashboard(dashboard_id)
        given = given_state(filters=filters)
        ask = ChartQueries(self._runtime, self._actor).ask
        return options_of(dashboard, filter_id, given, ask, search=search, row_limit=row_limit)

    # -------------------------------------------------------------------------------------------------- favourites
    def add_favourite(self, dashboard_id: int) -> None:
        """Give the actor's star to a dashboard that they may read; a second one changes nothing."""
        Favourites(self._runtime, self._actor, TagTarget.DASHBOARD).add(dashboard_id)

    def remove_favourite(self, dashboard_id: int) -> None:
        """Take the actor's star from a dashboard; nothing happens where there is none."""
        Favourites(self._runtime, self._actor, TagTarget.DASHBOARD).remove(dashboard_id)

    def favourite_status(self, ids: Iterable[int]) -> FavoriteStatuses:
        """Return for each id whether the actor gave a star to this dashboard; at most a thousand ids."""
        return Favourites(self._runtime, self._actor, TagTarget.DASHBOARD).status(ids)

    # -------------------------------------------------------------------------------------------------------- inside
    def _drawer(self, dashboard_id: int, shown: ShownDashboard) -> DashboardDrawer:
        """Return what draws a dashboard, once its charts are answered."""
        drawer = PictureDrawer(self._runtime)
        answered = answered_dashboard(
            self._runtime,
            self._actor,
            dashboard_id,
            filters=shown.get("filters"),
            tabs=shown.get("tabs"),
            permalink=shown.get("permalink"),
            force=shown.get("force", False),
        )
        return DashboardDrawer(drawer, answered)

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

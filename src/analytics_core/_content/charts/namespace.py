"""`core.charts`: saved questions and the way they are drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import uuid4

from analytics_core._content.changes import begin_act, reject_later_change, repeated, until_accepted
from analytics_core._content.charts.questions import ChartQuestions
from analytics_core._content.charts.records import (
    changed_chart,
    chart_datasource,
    chart_get,
    chart_item,
    chart_screenshot,
    named_tags,
    new_chart,
    people_of,
    place_on_dashboards,
)
from analytics_core._content.field_formatter import readable_now
from analytics_core._content.lists import CHARTS, DASHBOARDS, DATASETS, TAGS, Listing, ResourceLists, anybody
from analytics_core._content.lookups.loading import find_dataset_of
from analytics_core._content.needed_by_reports import require_unscheduled
from analytics_core._content.questions.queries import ChartQueries
from analytics_core._content.reader import DATASET_NAME
from analytics_core._content.related_names import RelatedNames, names_related_to_charts
from analytics_core._content.tags import Favourites
from analytics_core._content.user_directory import UserIndex, checked_owners, read_users, stored_users
from analytics_core._content.written_back import read_changes
from analytics_core._engine.querying.stored_statements import STATEMENT_TYPES
from analytics_core._records.chart import Chart
from analytics_core._records.repositories import UnitOfWork
from analytics_core.errors import AnalyticsError, NotFoundError
from analytics_core.models.chart import (
    ChartDatasource,
    ChartGet,
    ChartListItem,
    ChartPost,
    ChartPut,
    ChartScreenshot,
    FavoriteStatuses,
)
from analytics_core.models.dashboard import TagTarget
from analytics_core.models.parsing import Payload, parse, payload_error

LISTING = Listing(
    shape="chart",
    item=ChartListItem,
    integers=("datasource_id",),
    texts=("uuid", "slice_name", "viz_type", "description", "datasource_type", "datasource_name", "certified_by"),
    booleans=("is_managed_externally",),
    moments=("last_saved_at",),
    links=("owners", "tags", "dashboards"),
    stored_as={"owners": "owner_ids", "tags": "tag_ids", "dashboards": "dashboard_ids"},
)

_POST, _PUT = "ChartRestApi.post", "ChartRestApi.put"

LISTS = ResourceLists(
    listing=LISTING,
    repository=lambda unit: unit.charts,
    item=lambda chart, facts: chart_item(chart, linked=facts.linked, people=facts.people, readable=facts.readable),
    permission=anybody,
    linked=names_related_to_charts,
    people_of=people_of,
    visibility=CHARTS.visibility,
    narrower={DATASET_NAME: lambda reader, query: replace(query, ids=reader.named_charts())},
    people=("owners", "created_by", "changed_by"),
    records={"datasets": DATASETS, "dashboards": DASHBOARDS, "tags": TAGS},
    distinct=("viz_type", "datasource_name", "certified_by"),
)


class Charts(ChartQuestions):
    """Charts, as one actor may see, change and ask them.

    In lists, by `datasource_name` only charts are found whose dataset the actor may read; ordered by it, the others
    come last as those without a name. `related` takes `owners`, `created_by`, `changed_by`, `datasets`, `dashboards` or
    `tags`; `distinct` takes `viz_type`, `datasource_name` (of datasets that the actor may read) or `certified_by`.
    """

    _resource = LISTS

    # -------------------------------------------------------------------------------------------------- questions
    # ---------------------------------------------------------------------------------------------------- records

    def create(self, payload: ChartPost | Payload) -> ChartGet:
        """Store a chart on a dataset that the actor may read (contract, `ChartRestApi.post`).

        `params`, the form data, are enough for a chart to be asked: a query context is made of them. Without `owners`
        the creator owns it. `dashboards` get the chart; the actor must be allowed to change them.

        Raises:
            PayloadError: the payload breaks the shape.
            NotFoundError, DatasetAccessError, DashboardAccessError: a dataset or dashboard is unknown or not for them.
            OwnershipError: the actor does not own one of the dashboards.

        Examples:
            >>> form = '{"viz_type": "pie", "groupby": ["channel"], "metric": "revenue"}'
            >>> pie = {"slice_name": "Channels", "viz_type": "pie", "datasource_id": 1, "datasource_type": "table"}
            >>> core.charts.create({**pie, "params": form}).id
            3
        """
        post = parse(ChartPost, payload, shape=_POST)
        act = begin_act(self._runtime, self._actor, "chart.create")
        owners = checked_owners(self._runtime.people, post.owners, actor=self._actor, shape=_POST)
        record = new_chart(post, uuid=str(uuid4()), owner_ids=owners)

        def change() -> tuple[Chart, RelatedNames]:
            with self._runtime.store.unit_of_work() as unit:
                self._reader(unit).require_layers(record)
                stored = unit.charts.add(self._stamped(self._on_dataset(unit, record)), actor_id=self._actor.id)
                details = self._placed(unit, stored.id, post.dashboards)
                act.log(unit, chart_id=stored.id, details=details)
                return stored, self._linked(unit, stored)

        return self._answer(*until_accepted(change, stale="dashboard"))

    def get(self, chart_id: int | str) -> ChartGet:
        """Return a chart, by its id or the name that it alone has; NotFoundError or ChartAccessError otherwise.

        Examples:
            >>> core.charts.get(1).slice_name
            'Revenue by country'
        """
        with self._runtime.store.unit_of_work() as unit:
            reader = self._reader(unit)
            chart = reader.chart_called(chart_id) if isinstance(chart_id, str) else reader.chart(chart_id)
            linked = names_related_to_charts(reader, (chart,), with_metadata=True)
            people = stored_users(unit, self._runtime.people, people_of(chart))
        return self._answer(chart, linked, people)

    def update(
        self,
        chart_id: int,
        payload: ChartPut | ChartGet | ChartListItem | Payload,
        *,
        unchanged_since: datetime | str | None = None,
    ) -> ChartGet:
        """Change a chart; only owners and administrators may (contract, `ChartRestApi.put`).

        `dashboards` and `tags` replace what the chart hangs on; dashboards that the actor may not read keep it. A query
        context that was made of other `params` goes when they change what the chart asks, unless a new one comes with
        them: the chart is asked by its form then. With
        `query_context_generation` true a query context was made by a system: it does not replace one that a person
        wrote, and does not count as saving the chart. With `unchanged_since`, the `changed_on` of the chart that the
        caller read (`changed_on_utc` of a list), a change that somebody else made since is not overwritten.

        Raises:
            PayloadError: the payload breaks the shape.
            NotFoundError: a dataset, dashboard or tag is unknown.
            OwnershipError: the actor does not own the chart, or a dashboard that would get or lose it.
            StaleVersionError: somebody else changed it meanwhile; a changed dashboard is read again instead.

        Examples:
            >>> core.charts.update(1, {"slice_name": "Best countries"}).slice_name
            'Best countries'
        """
        answers = self._answers(ChartGet, self.get, chart_id)
        put = read_changes(ChartPut, payload, shape=_PUT, answers=answers)
        act = begin_act(self._runtime, self._actor, "chart.update")
        owners = None
        if put.owners is not None:
            owners = checked_owners(self._runtime.people, put.owners, actor=self._actor, shape=_PUT)

        def change() -> tuple[Chart, RelatedNames]:
            with self._runtime.store.unit_of_work() as unit:
                before = self._writable(unit, chart_id)
                reject_later_change(before, unchanged_since)
                after = self._changed(unit, before, put, owners)
                details = {"fields": sorted(put.given()), **self._placed(unit, chart_id, put.dashboards)}
                stored = act.update(unit, unit.charts, before, after, chart_id=chart_id, details=details)
                return stored, self._linked(unit, stored)

        return self._answer(*until_accepted(change, stale=None if unchanged_since is None else "dashboard"))

    @repeated
    def delete(self, chart_id: int) -> None:
        """Remove a chart, from its dashboards too; only owners and administrators may.

        Examples:
            >>> core.charts.delete(2)
            >>> core.dashboards.get(1).charts
            ('Revenue by country',)
        """
        with self._acting("chart.delete") as (act, unit):
            self._writable(unit, chart_id)
            require_unscheduled(self._reader(unit), chart_id, noun="chart")
            act.delete(unit, unit.charts, chart_id, chart_id=chart_id)

    # ------------------------------------------------------------------------------------------------ what it is like
    def datasource(self, chart_id: int) -> ChartDatasource:
        """Return the dataset of a chart (contract, `ChartGetDatasourceResponseSchema`); none, if it is not for them.

        Examples:
            >>> core.charts.datasource(1).result.label
            'orders'
        """
        with self._runtime.store.unit_of_work() as unit:
            chart = self._reader(unit).chart(chart_id)
            dataset = find_dataset_of(unit, chart)
            readable = self._reader(unit).among_datasets(() if dataset is None else (dataset,))
        return chart_datasource(chart, next(iter(readable), None))

    def screenshot(self, chart_id: int) -> ChartScreenshot:
        """Return where the host shows a picture of a chart (contract, `ChartCacheScreenshotResponseSchema`).

        The addresses come from `Settings.url_for`; the host answers there with `picture`, as the same user. The key is
        another one after each change of the chart or its dataset, for each user, and when other rules bind them.
        Nothing is drawn by asking.

        Examples:
            >>> core.charts.screenshot(1).image_url.rpartition("/")[0]
            'https://app.example/chart_screenshot/1'
        """
        with self._runtime.store.unit_of_work() as unit:
            chart = self._reader(unit).chart(chart_id)
            dataset = find_dataset_of(unit, chart)
        queries = ChartQueries(self._runtime, self._actor)
        try:
            bound = queries.bound_now(chart_id)
        except AnalyticsError:  # its picture says so, and needs an address too
            bound = ""
        version = None if dataset is None else dataset.audit.version
        seen = f"{self._actor.id}:{version}:{bound}"
        return chart_screenshot(chart, seen=seen, readable=readable_now(self._runtime))

    # -------------------------------------------------------------------------------------------------- favourites
    def add_favourite(self, chart_id: int) -> None:
        """Give the actor's star to a chart that they may read; a second one changes nothing.

        Examples:
            >>> core.charts.add_favourite(2)
            >>> [one.value for one in core.charts.favourite_status([1, 2])]
            [False, True]
        """
        Favourites(self._runtime, self._actor, TagTarget.CHART).add(chart_id)

    def remove_favourite(self, chart_id: int) -> None:
        """Take the actor's star from a chart; nothing happens where there is none.

        Examples:
            >>> core.charts.remove_favourite(1)
            >>> core.charts.favourite_status([1])[0].value
            False
        """
        Favourites(self._runtime, self._actor, TagTarget.CHART).remove(chart_id)

    def favourite_status(self, ids: Iterable[int]) -> FavoriteStatuses:
        """Return for each id whether the actor gave a star to this chart; at most a thousand ids.

        Examples:
            >>> [(one.id, one.value) for one in core.charts.favourite_status([1, 2])]
            [(1, False), (2, False)]
        """
        return Favourites(self._runtime, self._actor, TagTarget.CHART).status(ids)

    # -------------------------------------------------------------------------------------------------------- inside
    def _writable(self, unit: UnitOfWork, chart_id: int) -> Chart:
        chart = self._reader(unit).chart(chart_id)
        self._runtime.policy.require_write(self._actor, chart)
        return chart

    def _changed(self, unit: UnitOfWork, before: Chart, put: ChartPut, owners: tuple[int, ...] | None) -> Chart:
        """Return the chart after an update, once what it newly names is checked."""
        after = changed_chart(before, put, owner_ids=owners or before.owner_ids)
        if (after.datasource_id, after.datasource_type) != (before.datasource_id, before.datasource_type):
            after = self._on_dataset(unit, after)
        self._reader(unit).require_layers(after, before=before)
        if "query_context" not in put.given():
            after = self._runtime.chart_contexts.with_fresh_context(after, before)
        if put.tags is not None:
            after = replace(after, tag_ids=named_tags(unit, put.tags, shape=_PUT))
        return after if put.query_context_generation or not put.model_fields_set else self._stamped(after)

    def _on_dataset(self, unit: UnitOfWork, chart: Chart) -> Chart:
        """Return the chart with its dataset's name, once the actor may read that dataset."""
        if chart.datasource_type in STATEMENT_TYPES:
            message = "charts are drawn from datasets; core.sql.save_as_dataset makes one of a stored statement"
            raise payload_error(_POST, "datasource_type", message)
        reader = self._reader(unit)
        dataset = reader.source_of(chart)
        if dataset is None:
            raise NotFoundError(f"{chart.datasource_type} datasource", chart.datasource_id)
        reader.require_dataset(dataset)
        return replace(chart, datasource_name=dataset.table_name)

    def _stamped(self, chart: Chart) -> Chart:
        return replace(chart, last_saved_at=self._runtime.wall_clock.now(), last_saved_by=self._actor.id)

    def _placed(self, unit: UnitOfWork, chart_id: int, wanted: Iterable[int] | None) -> dict[str, Any]:
        """Put the chart on the dashboards that a payload names, and return what the log says of it."""
        if wanted is None:
            return {}
        return {"dashboards": place_on_dashboards(self._reader(unit), chart_id=chart_id, wanted=wanted)}

    def _linked(self, unit: UnitOfWork, chart: Chart) -> RelatedNames:
        return names_related_to_charts(self._reader(unit), (chart,), with_metadata=True)

    def _answer(self, chart: Chart, linked: RelatedNames, people: UserIndex | None = None) -> ChartGet:
        people = people or read_users(self._runtime.people, people_of(chart))
        return chart_get(chart, linked=linked, people=people, readable=readable_now(self._runtime))

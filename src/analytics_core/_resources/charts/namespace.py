"""`core.charts`: saved questions and the way they are drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import uuid4

from analytics_core._formdata.payload import BuiltPayload
from analytics_core._jobs.handlers import JobKind
from analytics_core._jobs.job import Job
from analytics_core._lookups.loading import find_dataset_of
from analytics_core._pictures.data import Size
from analytics_core._querying.explain import Explanation, with_form_fields
from analytics_core._records.chart import Chart
from analytics_core._records.repositories import UnitOfWork
from analytics_core._resources.changes import begin_act, reject_later_change, repeated, until_accepted
from analytics_core._resources.charts.extra_filters import GivenFilters
from analytics_core._resources.charts.queries import ChartQueries, Question, question_text
from analytics_core._resources.charts.records import (
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
from analytics_core._resources.dashboards.shown_charts import ShownCharts
from analytics_core._resources.field_formatter import readable_now
from analytics_core._resources.jobs import job_of, submit_job
from analytics_core._resources.lists import (
    CHARTS,
    DASHBOARDS,
    DATASETS,
    TAGS,
    Listing,
    ResourceLists,
    anybody,
)
from analytics_core._resources.namespace import NamespaceWithDistinct
from analytics_core._resources.people.directory import checked_owners, read_users
from analytics_core._resources.pictures import PictureDrawer, checked_look, form_of_chart
from analytics_core._resources.reader import DATASET_NAME
from analytics_core._resources.related_names import RelatedNames, names_related_to_charts
from analytics_core._resources.reports.needed import require_unscheduled
from analytics_core._resources.tags import Favourites
from analytics_core._results.answer import ChartData
from analytics_core._results.batch_stream import BatchStream
from analytics_core._results.picture import Picture
from analytics_core.errors import AnalyticsError, JobNotFoundError, NotFoundError
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
from analytics_core.models.parsing import Payload, parse, read_object

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


class Charts(NamespaceWithDistinct[ChartListItem]):
    """Charts, as one actor may see, change and ask them.

    In lists, by `datasource_name` only charts are found whose dataset the actor may read; ordered by it, the others
    come last as those without a name. `related` takes `owners`, `created_by`, `changed_by`, `datasets`, `dashboards` or
    `tags`; `distinct` takes `viz_type`, `datasource_name` (of datasets that the actor may read) or `certified_by`.
    """

    _resource = LISTS

    # -------------------------------------------------------------------------------------------------- questions
    def data(self, question: Question, *, force: bool = False, strict: bool | None = None) -> ChartData:
        """Return the answer to a chart (by id) or a query context.

        Args:
            question: the id of a chart, or a query context.
            force: read from the source, not the cache.
            strict: refuse keys that nobody reads (`limit`, `order_by`) and parts that have no effect, instead of
                telling them in the notes; None: as `Settings.strict_queries` says.

        Raises:
            PayloadError: the payload breaks the shape, or is strict and holds keys that nobody reads.
            NotFoundError, AccessError: the chart or a dataset is unknown or not for this actor.
        """
        queries = ChartQueries(self._runtime, self._actor)
        request = queries.request(question, force=force, strict=strict)
        form = form_of_chart(queries.chart(question)) if isinstance(question, int) else request.context.form_data
        return replace(queries.run(request), form=form)

    def picture(
        self,
        question: Question,
        *,
        format: str = "png",
        theme: str = "light",
        width_px: int | None = None,
        height_px: int | None = None,
        scale: float = 1.0,
        force: bool = False,
    ) -> Picture:
        """Return a picture of a chart (by id) or of the answer to a query context, as the actor may see it.

        A stored chart is drawn as its form says. A bare query context is drawn by the `viz_type` of its `form_data`;
        without one a column of times with numbers becomes a line chart, a column of at most 50 texts with numbers bars,
        and everything else a table. A query that failed, and an answer without rows, are pictures that say so.

        Args:
            question: the id of a chart, or a query context.
            format: `png`, `svg` or `pdf`.
            theme: `light` or `dark`.
            width_px: the width of the layout, from 60 to 4,000; None: 640.
            height_px: likewise; None: 400.
            scale: how many pixels of a PNG each of these becomes, from 0.5 to 4.
            force: read from the source, not the cache.

        Raises:
            UnknownNameError, QueryError: a format, a theme or a number that cannot be.
            PayloadError, NotFoundError, AccessError: as in `data`.
            MissingExtraError: no renderer is wired, and the extra `charts` is not installed.
            PictureError: the renderer cannot draw it, or not in time.
        """
        look = checked_look(
            format=format, theme=theme, width_px=width_px, height_px=height_px, scale=scale, usual=Size()
        )
        drawer = PictureDrawer(self._runtime)
        queries = ChartQueries(self._runtime, self._actor)
        request = queries.request(question, force=force)
        if not isinstance(question, int):
            return drawer.of_answer(queries.run(request), request.context.form_data, look, title="")
        chart = queries.chart(question)
        return drawer.of_answer(queries.run(request), form_of_chart(chart), look, title=chart.slice_name)

    def question(
        self, chart_id: int, *, dashboard_id: int | None = None, extra_filters: GivenFilters = None
    ) -> dict[str, Any]:
        """Return the query context that a reader of a chart asks: what it stores, with a dashboard's filters added.

        `cache.warm_up_chart` with the same arguments fills exactly the entries that this question finds.

        Args:
            chart_id: the chart.
            dashboard_id: a dashboard that shows it, whose filters count with their default values.
            extra_filters: more filters, a list of `{col, op, val}` or its JSON text; `__time_range`, `__time_grain`
                and `__granularity` as `col` mean the time options of the query.

        Raises:
            QueryError: the chart stores neither a query context nor a form.
            NotFoundError, ChartAccessError, DashboardAccessError: unknown, or not for this actor.
        """
        return ShownCharts(self._runtime, self._actor).question(
            chart_id, dashboard_id=dashboard_id, extra_filters=extra_filters
        )[1]

    def payload(self, chart_id: int) -> BuiltPayload:
        """Return the query context that the form of a chart asks, with the fields that each of its values comes from.

        It is built of `params` whatever query context is stored; `data` asks it where none is stored, or where the form
        was edited since.

        Raises:
            QueryError: the chart stores no form that can be read.
            PayloadSchemaError: fields of the form cannot be used, all of them at once.
            NotFoundError, ChartAccessError: unknown, or not for this actor.
        """
        find = ChartQueries(self._runtime, self._actor).chart
        return self._runtime.chart_contexts.built(find(chart_id), find)

    def payload_of(self, form_data: Payload) -> BuiltPayload:
        """Return the query context that form data ask, as `payload` does for a stored chart.

        Nothing is looked up but the charts that are layers of a map.

        Args:
            form_data: what a chart stores as `params`, with `viz_type` and `datasource` (such as `12__table`); a
                mapping or its JSON text.

        Raises:
            PayloadFormatError: they are no JSON object.
            PayloadSchemaError: fields cannot be used, all of them at once.
        """
        find = ChartQueries(self._runtime, self._actor).chart
        return self._runtime.chart_contexts.of_form(read_object(form_data, shape="form_data"), find)

    def explain(self, question: Question, *, strict: bool | None = None) -> Explanation:
        """Return why the answer would be what it is: the statements, and who asked for each clause; nothing runs.

        Where a chart is asked by its form, clauses name the fields of the form too. `strict` is that of `data`.
        """
        queries = ChartQueries(self._runtime, self._actor)
        explanation = self._runtime.queries.explain(queries.request(question, strict=strict))
        return with_form_fields(explanation, queries.form_fields(question))

    def batches(self, question: Question, *, strict: bool | None = None) -> BatchStream:
        """Return the rows of a chart (by id) or of a query context with one query as Arrow record batches.

        A result of any size passes through a few megabytes of memory: the rows are read from the database as they are
        asked for, and no cache is read or filled. The row limit is that of `data`, with `Settings.stream_row_limit` as
        its cap where the host sets one. The rights that count are those of this call. Use it in a `with` block; the
        time of the whole is `Settings.request_timeout_s`, the consumer's own included.

        Args:
            question: the id of a chart, or a query context; annotation layers give no rows and count for nothing.
            strict: that of `data`.

        Raises:
            QueryError: the context has several queries, asks for no rows of a statement, or has post-processing, time
                comparisons or a group of all other series, which need all rows at once.
            AnalyticsError: what the query fails with, here or from the batches.
        """
        return ChartQueries(self._runtime, self._actor).batches(question, strict=strict)

    def submit(self, question: Question, *, force: bool = False, strict: bool | None = None) -> Job[ChartData]:
        """Start the answer in the background and return its job; `force` and `strict` are those of `data`.

        The rights that count are those when it runs, and again those when its result is read. What counts as now is the
        moment of this call.

        Raises:
            PayloadError, NotFoundError, AccessError: as in `data`, at once.
            ActorRequiredError: the host's directory does not know the actor, so that no worker could find them.
            JobError: no more work can be taken.
        """
        queries = ChartQueries(self._runtime, self._actor)
        requested, database = queries.for_job(question, force=force, strict=strict)
        return submit_job(
            self._runtime,
            self._actor,
            JobKind.CHART_DATA,
            question_text(requested),
            find_actor=lambda: self._anew()._actor,
            queue=database,
        )

    def job(self, job_id: str) -> Job[ChartData]:
        """Return a job that this actor submitted and may still read.

        Raises:
            JobNotFoundError: there is none, it is somebody else's, or its owner may not see all of its rows any more:
                other row rules bind them, a chart of an annotation layer is not for them, or SQL reads something else.
            AccessError: a dataset of its question may not be read any more.
        """
        record = self._runtime.job_registry.find(job_id)
        is_own = record.user_id == self._actor.id and record.kind == JobKind.CHART_DATA
        if not is_own or not self._runtime.job_registry.handler(record).may_read(record, self._actor):
            raise JobNotFoundError(job_id)
        return job_of(self._runtime, record, find_actor=lambda: self._anew()._actor)

    # ---------------------------------------------------------------------------------------------------- records

    def create(self, payload: ChartPost | Payload) -> ChartGet:
        """Store a chart on a dataset that the actor may read (contract, `ChartRestApi.post`).

        `params`, the form data, are enough for a chart to be asked: a query context is made of them. Without `owners`
        the creator owns it. `dashboards` get the chart; the actor must be allowed to change them.

        Raises:
            PayloadError: the payload breaks the shape.
            NotFoundError, DatasetAccessError, DashboardAccessError: a dataset or dashboard is unknown or not for them.
            OwnershipError: the actor does not own one of the dashboards.
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

    def get(self, chart_id: int) -> ChartGet:
        """Return a chart; NotFoundError or ChartAccessError otherwise."""
        with self._runtime.store.unit_of_work() as unit:
            chart = self._reader(unit).chart(chart_id)
            linked = self._linked(unit, chart)
        return self._answer(chart, linked)

    def update(
        self, chart_id: int, payload: ChartPut | Payload, *, unchanged_since: datetime | str | None = None
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
        """
        put = parse(ChartPut, payload, shape=_PUT)
        act = begin_act(self._runtime, self._actor, "chart.update")
        owners = None
        if put.owners is not None:
            owners = checked_owners(self._runtime.people, put.owners, actor=self._actor, shape=_PUT)

        def change() -> tuple[Chart, RelatedNames]:
            with self._runtime.store.unit_of_work() as unit:
                before = self._writable(unit, chart_id)
                reject_later_change(before, unchanged_since)
                after = self._changed(unit, before, put, owners)
                stored = unit.charts.update(after, actor_id=self._actor.id)
                details = self._placed(unit, chart_id, put.dashboards)
                act.log(unit, chart_id=chart_id, details={"fields": sorted(put.given()), **details})
                return stored, self._linked(unit, stored)

        return self._answer(*until_accepted(change, stale=None if unchanged_since is None else "dashboard"))

    @repeated
    def delete(self, chart_id: int) -> None:
        """Remove a chart, from its dashboards too; only owners and administrators may."""
        act = begin_act(self._runtime, self._actor, "chart.delete")
        with self._runtime.store.unit_of_work() as unit:
            self._writable(unit, chart_id)
            require_unscheduled(self._reader(unit), chart_id, noun="chart")
            unit.charts.delete(chart_id)
            act.log(unit, chart_id=chart_id)

    # ------------------------------------------------------------------------------------------------ what it is like
    def datasource(self, chart_id: int) -> ChartDatasource:
        """Return the dataset of a chart (contract, `ChartGetDatasourceResponseSchema`); none, if it is not for them."""
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
        """Give the actor's star to a chart that they may read; a second one changes nothing."""
        Favourites(self._runtime, self._actor, TagTarget.CHART).add(chart_id)

    def remove_favourite(self, chart_id: int) -> None:
        """Take the actor's star from a chart; nothing happens where there is none."""
        Favourites(self._runtime, self._actor, TagTarget.CHART).remove(chart_id)

    def favourite_status(self, ids: Iterable[int]) -> FavoriteStatuses:
        """Return for each id whether the actor gave a star to this chart; at most a thousand ids."""
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
        return after if put.query_context_generation else self._stamped(after)

    def _on_dataset(self, unit: UnitOfWork, chart: Chart) -> Chart:
        """Return the chart with its dataset's name, once the actor may read that dataset."""
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

    def _answer(self, chart: Chart, linked: RelatedNames) -> ChartGet:
        people = read_users(self._runtime.people, people_of(chart))
        return chart_get(chart, linked=linked, people=people, readable=readable_now(self._runtime))

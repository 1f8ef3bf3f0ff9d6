"""What dashboards are asked: the answers to their charts, pictures, pages and the choices of their filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from analytics_core._content.batches import by_ids
from analytics_core._content.charts.records import chart_entity
from analytics_core._content.dashboards.answers import DashboardRequest, OnChart, dashboard_questions
from analytics_core._content.dashboards.pictures import DashboardDrawer, DashboardView, dashboard_look, viewed
from analytics_core._content.dashboards.records import dashboard_dataset
from analytics_core._content.field_formatter import readable_now
from analytics_core._content.jobs.handlers import JobKind
from analytics_core._content.jobs.job import Job
from analytics_core._content.namespace import NamespaceWithDistinct
from analytics_core._content.pictures.drawing import PictureDrawer
from analytics_core._content.pictures.picture import Picture
from analytics_core._content.questions.acting_filters import given_state, options_of
from analytics_core._content.questions.extra_filters import GivenFilters
from analytics_core._content.questions.queries import ChartQueries
from analytics_core._content.user_directory import read_users
from analytics_core._engine.results.answer import ChartData
from analytics_core._engine.results.dashboard_answer import DashboardData
from analytics_core._pictures.data import Theme
from analytics_core.models.chart import ChartEntity
from analytics_core.models.dashboard import DashboardListItem
from analytics_core.models.dataset import DashboardDataset


class DashboardQueries(NamespaceWithDistinct[DashboardListItem]):
    """Asks dashboards for their answers and pictures, for one actor."""

    def charts(self, dashboard_id: int) -> tuple[ChartEntity, ...]:
        """Return the charts of a dashboard that the actor may read (contract, `ChartEntityResponseSchema`).

        Examples:
            >>> [chart.slice_name for chart in core.dashboards.charts(1)]
            ['Revenue by country', 'Revenue by month']
        """
        readable = readable_now(self._runtime)
        with self._runtime.store.unit_of_work() as unit:
            reader = self._reader(unit)
            charts = reader.charts(reader.dashboard(dashboard_id).chart_ids).values()
        return tuple(chart_entity(chart, readable=readable) for chart in charts)

    def datasets(self, dashboard_id: int) -> tuple[DashboardDataset, ...]:
        """Return the datasets of a dashboard's charts that the actor may read, with all their columns and metrics.

        Each stands once (contract, `DashboardDatasetSchema`).

        Examples:
            >>> [dataset.table_name for dataset in core.dashboards.datasets(1)]
            ['orders']
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
                spec=self._runtime.engine.registry.get(databases[dataset.database_id].engine),
                people=people,
                readable=readable,
            )
            for dataset in datasets
        )

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

        A filter that nobody sets has the value that its maker gave it. A chart that fails says so in its place.

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

        Examples:
            >>> [len(chart.answer[0]) for chart in core.dashboards.data(1, filters={"country": ["France"]})]
            [1, 4]
        """
        request = DashboardRequest(
            dashboard_id=dashboard_id, filters=filters, cross_filters=cross_filters, extra_filters=extra_filters,
            url_params=url_params, permalink=permalink, tabs=tabs, force=force, parallel=parallel,
        )  # fmt: skip
        return dashboard_questions(self._runtime, self._actor, request).answer(on_chart)

    def submit(
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
    ) -> Job[DashboardData]:
        """Start the answers in the background, as one job, and return it; the arguments are those of `data`.

        The rights that count are those when it runs, and again those when its result is read, which is refused as well
        where the dashboard asks other charts by then. What counts as now is the moment of this call.

        Raises:
            UnknownNameError, PayloadSchemaError, NotFoundError, DashboardAccessError: as in `data`, at once; of cross
                filters when the job runs.
            ActorRequiredError, JobError: as in `charts.submit`.

        Examples:
            >>> job = core.dashboards.submit(1, filters={"country": ["France"]})
            >>> [len(chart.answer[0]) for chart in job.result()]
            [1, 4]
        """
        request = DashboardRequest(
            dashboard_id=dashboard_id, filters=filters, cross_filters=cross_filters, extra_filters=extra_filters,
            url_params=url_params, permalink=permalink, tabs=tabs, force=force, parallel=parallel,
        )  # fmt: skip
        return self._submitted(JobKind.DASHBOARD_DATA, request)

    def job(self, job_id: str) -> Job[DashboardData]:
        """Return a job that this actor submitted and may still read.

        Raises:
            JobNotFoundError: there is none, it is somebody else's, or its owner may not see all that it tells any more.
            JobGoneError: it was theirs, and is forgotten.
            NotFoundError, AccessError: the dashboard may not be read any more.

        Examples:
            >>> job = core.dashboards.submit(1)
            >>> core.dashboards.job(job.job_id).result().charts[0].name
            'Revenue by country'
        """
        from analytics_core._content.background_jobs import readable_job

        return readable_job(
            self._runtime, job_id, JobKind.DASHBOARD_DATA, self._actor, find_actor=lambda: self._anew()._actor
        )

    def picture(
        self, dashboard_id: int, *, format: str = "png", scale: float = 1.0, **view: Unpack[DashboardView]
    ) -> Picture:
        """Return a picture of a dashboard, as the actor may see it.

        A PDF has a page for each tab; in a PNG or an SVG they stand one below the other. A chart that fails, or that
        the actor may not read, is drawn as a box that says so.

        Args:
            dashboard_id: the dashboard.
            format: `png`, `svg` or `pdf`.
            scale: how many pixels of a PNG each of the layout's becomes, from 0.5 to 4; fewer where it gets too large.
            view: `theme` (`light` or `dark`), `width_px` (600 to 4,000; None: 1,200), and `filters`, `tabs`,
                `permalink` and `force` as in `data`.

        Raises:
            UnknownNameError, QueryError: a format, a theme or a number that cannot be.
            NotFoundError, AccessError, UnknownNameError, PayloadSchemaError: as in `data`.
            MissingExtraError: no renderer is wired, and the extra `charts` is not installed.
            PictureError: the renderer cannot draw it, or not in time.

        Examples:
            >>> picture = core.dashboards.picture(1, format="pdf")
            >>> picture.save("sales.pdf").name, picture.data[:5]
            ('sales.pdf', b'%PDF-')
        """
        look = dashboard_look(format=format, scale=scale, options=view)
        return self._drawer(dashboard_id, view).picture(look)

    def submit_picture(
        self, dashboard_id: int, *, format: str = "png", scale: float = 1.0, **view: Unpack[DashboardView]
    ) -> Job[Picture]:
        """Start a picture in the background and return its job; the arguments are those of `picture`.

        It is drawn where the job runs, and can be saved in its own format alone. Rights count as in `submit`.

        Raises:
            AnalyticsError: as in `picture`, at once, but for what is found out by asking and drawing.
            ActorRequiredError, JobError: as in `charts.submit`.

        Examples:
            >>> core.dashboards.submit_picture(1, format="pdf").result().data[:5]
            b'%PDF-'
        """
        dashboard_look(format=format, scale=scale, options=view)
        options = {"theme": view.get("theme", Theme.LIGHT), "width_px": view.get("width_px")}
        look = {"format": format, "scale": scale, "options": options}
        return self._submitted(JobKind.PICTURE, viewed(dashboard_id, view), look=look)

    def page(self, dashboard_id: int, **view: Unpack[DashboardView]) -> str:
        """Return a dashboard as one page of HTML, as the actor may see it, with its charts as SVG.

        The style sheet of the dashboard counts, without what would load something. Nothing on the page acts or is
        loaded, whatever its labels and texts say; a `Content-Security-Policy` in it says so to browsers, too.

        Args:
            dashboard_id: the dashboard.
            view: as in `picture`.

        Raises:
            AnalyticsError: as in `picture`.

        Examples:
            >>> page = core.dashboards.page(1)
            >>> page.count("<svg") >= 2, "<script" in page
            (True, False)
        """
        look = dashboard_look(format="svg", scale=1.0, options=view)
        return self._drawer(dashboard_id, view).html(look)

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

        Examples:
            >>> [row[0] for row in core.dashboards.filter_options(1, "country", search="an")[0]]
            ['France', 'Germany']
        """
        with self._runtime.store.unit_of_work() as unit:
            dashboard = self._reader(unit).dashboard(dashboard_id)
        given = given_state(filters=filters)
        queries = ChartQueries(self._runtime, self._actor)
        return options_of(dashboard, filter_id, given, queries, search=search, row_limit=row_limit)

    def _submitted(
        self, kind: JobKind, request: DashboardRequest, *, look: Mapping[str, Any] | None = None
    ) -> Job[Any]:
        from analytics_core._content.dashboards.jobs import submit_dashboard

        dashboard_questions(self._runtime, self._actor, request).check()
        return submit_dashboard(
            self._runtime, self._actor, kind, request, find_actor=lambda: self._anew()._actor, look=look
        )

    def _drawer(self, dashboard_id: int, options: DashboardView) -> DashboardDrawer:
        """Return what draws a dashboard, once its charts are answered."""
        drawer = PictureDrawer(self._runtime)
        questions = dashboard_questions(self._runtime, self._actor, viewed(dashboard_id, options))
        return DashboardDrawer(drawer, questions.answered())

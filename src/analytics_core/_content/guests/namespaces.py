"""`core.dashboards` and `core.charts` for guests: what they may call and ask, and what answers leave out for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypedDict, Unpack, cast

from analytics_core._content.background_jobs import readable_job, submit_job
from analytics_core._content.batches import read_once
from analytics_core._content.charts.namespace import Charts
from analytics_core._content.dashboards.answers import DashboardRequest, OnChart
from analytics_core._content.dashboards.jobs import submit_dashboard
from analytics_core._content.dashboards.namespace import Dashboards
from analytics_core._content.dashboards.pictures import DashboardDrawer, DashboardView, dashboard_look, viewed
from analytics_core._content.guests.queries import (
    GuestQueries,
    dashboard_of_guest,
    given_by_guest,
    opened_by_guest,
    require_named_chart,
    require_named_dashboard,
)
from analytics_core._content.jobs.handlers import JobKind
from analytics_core._content.jobs.job import Job
from analytics_core._content.lists import MOST_FILTERS, Columns, Filters, Item, Listing, Order, Page
from analytics_core._content.lookups.chart_contexts import form_of_chart
from analytics_core._content.namespace import ListedNamespace
from analytics_core._content.pictures.drawing import PictureDrawer, chart_look
from analytics_core._content.pictures.picture import Picture
from analytics_core._content.questions.acting_filters import options_of
from analytics_core._content.questions.dashboard_filters import declared_filters
from analytics_core._content.questions.queries import Question, question_text
from analytics_core._content.runtime import ContentRuntime
from analytics_core._engine.results.answer import ChartData
from analytics_core._engine.results.dashboard_answer import DashboardData
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.people import GuestVisit
from analytics_core.errors import (
    DashboardAccessError,
    GuestAccessError,
    NotFoundError,
)
from analytics_core.errors.base import short_repr
from analytics_core.models.chart import ChartEntity, ChartGet, ChartListItem
from analytics_core.models.dashboard import DashboardGet, DashboardListItem
from analytics_core.models.dataset import DashboardDataset

_MAY = (
    "guests read the dashboards of their token with dashboards.get, list, charts, datasets, data, picture, page, "
    "filter_options, submit and job, and their charts with charts.get, list, data, picture, submit and job"
)


def reject(name: str) -> NoReturn:
    """Raise GuestAccessError for something that guests may not do."""
    raise GuestAccessError(f"guests may not use {name}; {_MAY}")


class GuestNamespace(Generic[Item]):
    """What guests may do with one namespace: lists of what their token opens, and the methods that a subclass has.

    What the namespace has beyond them, now or later, is refused when it is called.
    """

    _namespace: type[ListedNamespace[Item]]

    def __init__(self, runtime: ContentRuntime, visit: GuestVisit) -> None:
        self._runtime = runtime
        self._visit = visit

    def list(
        self, filters: Filters = (), order_by: Order = None, page: int = 0, page_size: int = 25, columns: Columns = None
    ) -> Page[Item]:
        """Return one page of what the token opens, without people and roles; the arguments are those of users' lists.

        Raises:
            GuestAccessError: a filter or an order by people or roles.
            PayloadSchemaError: as for users.
        """
        requested, order = without_people(self._namespace._resource.listing, filters, order_by)
        users_view = self._namespace(self._runtime, self._find_actor())
        found = users_view.list(requested, order, page, page_size, columns)
        return Page(count=found.count, result=tuple(map(for_guest, found)))

    def _find_actor(self) -> Actor:
        """Return the guest who acts, with what their token opens now."""
        return self._runtime.guests.actor(self._visit)

    def _job(self, job_id: str, kind: JobKind) -> Job[Any]:
        return readable_job(
            self._runtime, job_id, kind, self._find_actor(), find_actor=self._find_actor, visit=self._visit
        )

    if not TYPE_CHECKING:  # for type checkers, what is refused is not there

        def __getattr__(self, name: str) -> Callable[..., NoReturn]:
            if name.startswith("_") or not hasattr(self._namespace, name):
                raise AttributeError(name)

            def rejected(*_args: Any, **_options: Any) -> NoReturn:
                reject(f"{self._namespace.__name__.lower()}.{name}")

            return rejected

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *dir(self._namespace)})


_OF_PEOPLE: Final = frozenset({"owner_ids", "role_ids", "created_by", "changed_by", "last_saved_by"})


def without_people(listing: Listing, filters: Filters, order_by: Order) -> tuple[Filters, Order]:
    """Refuse to filter or order by people: what a guest does not see they must not find out either.

    Looks at the query that the store would be asked, and returns what can be read a second time.
    """
    given, order = read_once(filters, most=MOST_FILTERS), read_once(order_by, most=MOST_FILTERS)
    query = listing.query(filters=given, order_by=order, page=0, page_size=1, ids=None)
    for column in (*(item.col for item in query.filters), *(column for column, _ in query.order_by)):
        if column in _OF_PEOPLE:
            reject(f"a filter or an order by {column}")
    return given, order


_HIDDEN: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("owners", "roles"), ()),
    **dict.fromkeys(("changed_by", "changed_by_name", "created_by", "created_by_name", "last_saved_by")),
    **dict.fromkeys(("database", "default_endpoint", "fetch_values_predicate", "health_check_message", "perm")),
    **dict.fromkeys(("select_star", "sql", "template_params")),
}


def for_guest(answer: Item) -> Item:
    """Return an answer without people, roles, connections and the SQL of datasets."""
    given = answer.model_fields_set
    changes: dict[str, Any] = {name: empty for name, empty in _HIDDEN.items() if name in given}
    for part in ("columns", "metrics"):
        if part in given:
            changes[part] = tuple(_without_sql(item) for item in getattr(answer, part) or ())
    return answer.model_copy(update=changes)


def _without_sql(item: Any) -> Any:
    if isinstance(item, Mapping):
        return {name: None if name == "expression" else value for name, value in item.items()}
    fields = getattr(type(item), "model_fields", {})
    return item.model_copy(update={"expression": None}) if "expression" in fields else item


class GuestDashboards(GuestNamespace[DashboardListItem]):
    """The dashboards of a guest's token; each call asks anew whether it still opens them."""

    _namespace = Dashboards

    def get(self, key: int | str) -> DashboardGet:
        """Return a dashboard of the token by its id, its UUID or its slug, without people and roles."""
        dashboards = Dashboards(self._runtime, self._find_actor())
        try:
            return for_guest(dashboards.get(key))
        except (NotFoundError, DashboardAccessError):  # nobody learns which dashboards there are
            raise DashboardAccessError(f"the guest token does not open dashboard {short_repr(key)}") from None

    def charts(self, dashboard_id: int) -> tuple[ChartEntity, ...]:
        """Return the charts of a dashboard of the token."""
        return tuple(for_guest(chart) for chart in self._named(dashboard_id).charts(dashboard_id))

    def datasets(self, dashboard_id: int) -> tuple[DashboardDataset, ...]:
        """Return the datasets of its charts with their columns and metrics, without SQL and connections."""
        return tuple(for_guest(dataset) for dataset in self._named(dashboard_id).datasets(dashboard_id))

    def data(
        self,
        dashboard_id: int,
        *,
        filters: Mapping[str, Any] | None = None,
        tabs: Sequence[str] | None = None,
        parallel: int = 4,
        on_chart: OnChart | None = None,
    ) -> DashboardData:
        """Return the answers to the charts of a dashboard of the token, without their statements.

        The arguments are those of `dashboards.data`; filters that the dashboard declares take values, no data masks.

        Raises:
            GuestAccessError: a filter that the dashboard does not declare, or a data mask.
            UnknownNameError: a tab that the dashboard does not have.
            PayloadSchemaError: a value that a filter does not take.
            DashboardAccessError: the token does not open the dashboard.
        """
        request = DashboardRequest(dashboard_id=dashboard_id, filters=filters, tabs=tabs, parallel=parallel)
        return dashboard_of_guest(self._runtime, self._find_actor(), request).answer(on_chart)

    def submit(
        self,
        dashboard_id: int,
        *,
        filters: Mapping[str, Any] | None = None,
        tabs: Sequence[str] | None = None,
        parallel: int = 4,
    ) -> Job[DashboardData]:
        """Start the answers in the background and return their job; arguments and errors are those of `data`, at once.

        All is checked again when it runs and when its result is read, as with `charts.submit`.

        Raises:
            JobError: no more work can be taken; jobs of guests take half of `Settings.max_jobs` at most.
        """
        actor = self._find_actor()
        request = DashboardRequest(dashboard_id=dashboard_id, filters=filters, tabs=tabs, parallel=parallel)
        dashboard_of_guest(self._runtime, actor, request).check()
        find_actor, visit = self._find_actor, self._visit
        return submit_dashboard(
            self._runtime, actor, JobKind.DASHBOARD_DATA, request, find_actor=find_actor, visit=visit
        )

    def job(self, job_id: str) -> Job[DashboardData]:
        """Return a job that this guest submitted, as `charts.job` does.

        Raises:
            JobNotFoundError: there is none, it is somebody else's, a chart is stored anew, or other rules bind now.
            JobGoneError: it was theirs, and is forgotten.
            DashboardAccessError, GuestAccessError: the dashboard is not open any more, or not with what was set.
        """
        return self._job(job_id, JobKind.DASHBOARD_DATA)

    def picture(
        self, dashboard_id: int, *, format: str = "png", scale: float = 1.0, **view: Unpack[GuestView]
    ) -> Picture:
        """Return a picture of a dashboard of the token, of the guest's rows; the arguments are those of users'.

        Raises:
            GuestAccessError: as in `data`; a permalink, or to leave the cache out.
            AnalyticsError: as for users.
        """
        options = _for_guests(view)
        look = dashboard_look(format=format, scale=scale, options=options)
        return self._drawer(dashboard_id, options).picture(look)

    def page(self, dashboard_id: int, **view: Unpack[GuestView]) -> str:
        """Return a dashboard of the token as one page of HTML; arguments and errors are those of `picture`."""
        options = _for_guests(view)
        look = dashboard_look(format="svg", scale=1.0, options=options)
        return self._drawer(dashboard_id, options).html(look)

    def filter_options(
        self,
        dashboard_id: int,
        filter_id: int | str,
        *,
        search: str | None = None,
        row_limit: int = 1_000,
        filters: Mapping[str, Any] | None = None,
    ) -> ChartData:
        """Return what a declared filter offers, inside the rows of the guest and the values of its parents.

        Guests name the filter by its id alone.

        Raises:
            NotFoundError: the dashboard declares no such filter.
            DashboardAccessError: the token does not open the dashboard.
            GuestAccessError: `filters` name one that the dashboard does not declare, or hold a data mask.
        """
        queries, dashboard = opened_by_guest(self._runtime, self._find_actor(), dashboard_id)
        if not any(item.key == str(filter_id) for item in declared_filters(dashboard)):
            raise NotFoundError("filter", filter_id, place=f"of dashboard {dashboard.id}")
        given = given_by_guest(dashboard, filters)
        return options_of(dashboard, filter_id, given, queries, search=search, row_limit=row_limit)

    def _drawer(self, dashboard_id: int, options: DashboardView) -> DashboardDrawer:
        drawer = PictureDrawer(self._runtime)
        questions = dashboard_of_guest(self._runtime, self._find_actor(), viewed(dashboard_id, options))
        return DashboardDrawer(drawer, questions.answered())

    def _named(self, dashboard_id: int) -> Dashboards:
        actor = self._find_actor()
        require_named_dashboard(actor, dashboard_id)
        return Dashboards(self._runtime, actor)


class GuestView(TypedDict, total=False):
    """What of a dashboard a guest is shown, and how."""

    theme: str
    width_px: int | None
    filters: Mapping[str, Any] | None
    tabs: Sequence[str] | None


def _for_guests(options: GuestView) -> DashboardView:
    """Return what a guest asks of a picture; GuestAccessError for what is for users alone."""
    for name in ("permalink", "force"):
        if name in options:
            reject(name)
    return cast("DashboardView", options)


class GuestCharts(GuestNamespace[ChartListItem]):
    """The charts of a guest's dashboards; each call asks anew whether the token still opens them."""

    _namespace = Charts

    def get(self, chart_id: int) -> ChartGet:
        """Return a chart of the guest's dashboards, without people."""
        actor = self._find_actor()
        require_named_chart(actor, chart_id)
        return for_guest(Charts(self._runtime, actor).get(chart_id))

    def data(self, question: Question, *, force: bool = False, strict: bool | None = None) -> ChartData:
        """Return the answer to a chart by its id, or to a query context that names the chart in its form data.

        The context must be the stored one; filters that the dashboard declares, the order and the page may differ.
        `strict` is that of `charts.data`.

        Raises:
            GuestAccessError: it differs in something else, names no chart, or asks to leave the cache out.
            ChartAccessError: the chart is on none of the guest's dashboards.
        """
        return self._queries(force).answer(question, strict=strict)

    def picture(
        self,
        chart_id: int,
        *,
        format: str = "png",
        theme: str = "light",
        width_px: int | None = None,
        height_px: int | None = None,
        scale: float = 1.0,
    ) -> Picture:
        """Return a picture of a chart of the guest's dashboards, of their own rows; the arguments are those of users'.

        Raises:
            ChartAccessError: the chart is on none of the guest's dashboards.
            AnalyticsError: as for users.
        """
        look = chart_look(format=format, theme=theme, width_px=width_px, height_px=height_px, scale=scale)
        drawer, queries = PictureDrawer(self._runtime), self._queries(force=False)
        chart = queries.chart(chart_id)
        answer = queries.answer(chart_id, strict=None)
        return drawer.of_answer(answer, form_of_chart(chart), look, title=chart.slice_name)

    def submit(self, question: Question, *, force: bool = False, strict: bool | None = None) -> Job[ChartData]:
        """Start the answer in the background and return its job; arguments and errors are those of `data`, at once.

        All is checked again when it runs and when its result is read. It fails when the token is over or revoked before
        it runs, or a dashboard of it is not embedded any more. What counts as now is the moment of this call.

        Raises:
            JobError: no more work can be taken; jobs of guests take half of `Settings.max_jobs` at most.
        """
        queries = self._queries(force)
        payload, database = queries.for_job(question, strict=strict)
        return submit_job(
            self._runtime,
            queries.actor,
            JobKind.CHART_DATA,
            question_text(payload),
            find_actor=self._find_actor,
            queue=database,
            visit=self._visit,
        )

    def job(self, job_id: str) -> Job[ChartData]:
        """Return a job that this guest submitted, with this token or another one of the same user, resources and rules.

        Raises:
            JobNotFoundError: there is none, it is somebody else's, its chart is stored anew, or other rules bind now.
            JobGoneError: it was theirs, and is forgotten.
            ChartAccessError, GuestAccessError: the chart is not open any more, or not with what was asked.
        """
        return self._job(job_id, JobKind.CHART_DATA)

    def _queries(self, force: bool) -> GuestQueries:
        actor = self._find_actor()
        if force:
            reject("force")
        return GuestQueries(self._runtime, actor)

"""`core.dashboards` and `core.charts` for guests: what they may call and ask, and what answers leave out for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypedDict, Unpack, cast

from analytics_core._content.background_jobs import guest_key, is_own_of_guest, job_of, job_record, submit_job
from analytics_core._content.batches import by_ids, is_id, read_once
from analytics_core._content.charts.namespace import Charts
from analytics_core._content.dashboards.answers import DashboardQuestions, OnChart
from analytics_core._content.dashboards.namespace import Dashboards
from analytics_core._content.dashboards.pictures import DashboardDrawer, DashboardView, dashboard_look
from analytics_core._content.guests.requests import StoredRequest, answerable, reject_statements
from analytics_core._content.jobs.handlers import JobKind
from analytics_core._content.jobs.job import Job
from analytics_core._content.lists import MOST_FILTERS, Columns, Filters, Item, Listing, Order, Page
from analytics_core._content.lookups.chart_contexts import form_of_chart
from analytics_core._content.namespace import ListedNamespace
from analytics_core._content.pictures.drawing import PictureDrawer, chart_look
from analytics_core._content.pictures.picture import Picture
from analytics_core._content.questions.acting_filters import GivenState, given_state, options_of
from analytics_core._content.questions.contexts import context_with
from analytics_core._content.questions.dashboard_filters import DeclaredFilter, all_filters, declared_filters
from analytics_core._content.questions.extra_filters import ExtraFilters
from analytics_core._content.questions.queries import ChartJobPayload, JobQueries, Question, named_in, question_text
from analytics_core._content.reader import Reader
from analytics_core._content.runtime import ContentRuntime
from analytics_core._engine.compile.fingerprint import digest_of
from analytics_core._engine.querying.chart_request import ChartRequest
from analytics_core._engine.querying.reading import context_text
from analytics_core._engine.results.answer import ChartData
from analytics_core._engine.results.dashboard_answer import DashboardData
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.datasource import Dataset
from analytics_core._records.people import GuestVisit
from analytics_core._records.repositories import UnitOfWork
from analytics_core.errors import (
    ChartAccessError,
    DashboardAccessError,
    GuestAccessError,
    JobNotFoundError,
    NotFoundError,
)
from analytics_core.errors.base import short_repr
from analytics_core.models.chart import ChartEntity, ChartGet, ChartListItem
from analytics_core.models.dashboard import DashboardGet, DashboardListItem
from analytics_core.models.dataset import DashboardDataset
from analytics_core.models.parsing import Payload
from analytics_core.models.query import ChartDataQueryContext

_MAY = (
    "guests read the dashboards of their token with dashboards.get, list, charts, datasets, data, picture, page and "
    "filter_options, and their charts with charts.get, list, data, picture, submit and job"
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


def without_statements(answer: ChartData) -> ChartData:
    """Return the answer to a query without its SQL: values and row rules stand in it."""
    return replace(answer, results=tuple(replace(result, query="") for result in answer.results))


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
        queries, dashboard = self._opened(dashboard_id)
        given = _given_by_guest(dashboard, filters)
        questions = DashboardQuestions(queries, dashboard, given)
        return questions.answer(tabs=tabs, force=False, parallel=parallel, on_chart=on_chart)

    def picture(
        self, dashboard_id: int, *, format: str = "png", scale: float = 1.0, **view: Unpack[GuestView]
    ) -> Picture:
        """Return a picture of a dashboard of the token, of the guest's rows; the arguments are those of users'.

        Raises:
            GuestAccessError: as in `data`; a permalink, or to leave the cache out.
            AnalyticsError: as for users.
        """
        look = dashboard_look(format=format, scale=scale, options=_for_guests(view))
        return self._drawer(dashboard_id, view).picture(look)

    def page(self, dashboard_id: int, **view: Unpack[GuestView]) -> str:
        """Return a dashboard of the token as one page of HTML; arguments and errors are those of `picture`."""
        look = dashboard_look(format="svg", scale=1.0, options=_for_guests(view))
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
        """Return what a declared filter offers, inside the rows of the guest and the values of its parents.

        Guests name the filter by its id alone.

        Raises:
            NotFoundError: the dashboard declares no such filter.
            DashboardAccessError: the token does not open the dashboard.
            GuestAccessError: `filters` name one that the dashboard does not declare, or hold a data mask.
        """
        queries, dashboard = self._opened(dashboard_id)
        if not any(item.key == str(filter_id) for item in declared_filters(dashboard)):
            raise NotFoundError("filter", filter_id, place=f"of dashboard {dashboard.id}")
        given = _given_by_guest(dashboard, filters)
        return options_of(dashboard, filter_id, given, queries, search=search, row_limit=row_limit)

    def _drawer(self, dashboard_id: int, options: GuestView) -> DashboardDrawer:
        drawer = PictureDrawer(self._runtime)
        queries, dashboard = self._opened(dashboard_id)
        questions = DashboardQuestions(queries, dashboard, _given_by_guest(dashboard, options.get("filters")))
        return DashboardDrawer(drawer, questions.answered(tabs=options.get("tabs"), force=False))

    def _opened(self, dashboard_id: int) -> tuple[GuestQueries, Dashboard]:
        """Return a dashboard of the token with what answers its charts."""
        actor = self._named(dashboard_id)._actor
        with self._runtime.store.unit_of_work() as unit:
            dashboard = Reader(unit, self._runtime.policy, actor).dashboard(dashboard_id)
        return GuestQueries(self._runtime, actor), dashboard

    def _named(self, dashboard_id: int) -> Dashboards:
        """Refuse dashboards that the token does not open before looking for them."""
        actor = self._find_actor()
        if actor.guest is None or not is_id(dashboard_id) or dashboard_id not in actor.guest.dashboard_ids:
            raise DashboardAccessError(f"the guest token does not open dashboard {short_repr(dashboard_id)}")
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


def _given_by_guest(dashboard: Dashboard, filters: Mapping[str, Any] | None) -> GivenState:
    """Return the values that a guest sets; GuestAccessError for all that is no value of a declared filter."""
    declared, every = {item.key for item in declared_filters(dashboard)}, all_filters(dashboard)
    given = given_state(filters=filters)
    for name, value in given.filters.items():
        named = [item for item in every if item.key == name] or [item for item in every if item.name == name]
        if not named or any(item.key not in declared for item in named):  # an id may be the name of another one
            raise GuestAccessError(f"the dashboard declares no filter {short_repr(name)}", extra={"filter": str(name)})
        if isinstance(value, Mapping):
            raise GuestAccessError(
                f"filter {short_repr(name)}: guests give values, no data masks", extra={"filter": str(name)}
            )
    return given


_READS_ADDRESS = re.compile(r"""url_param(?:\s*\(\s*['"]([\w.-]+)['"]\s*[,)])?|\b(?:dataset|metric)\b""")
"""A macro that reads a parameter of the address, with its name where it is written; others may take it in."""


class GuestCharts(GuestNamespace[ChartListItem]):
    """The charts of a guest's dashboards; each call asks anew whether the token still opens them."""

    _namespace = Charts

    def get(self, chart_id: int) -> ChartGet:
        """Return a chart of the guest's dashboards, without people."""
        actor = self._find_actor()
        _require_named(actor, chart_id)
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
        actor = self._find_actor()
        record = job_record(self._runtime, job_id, owner=guest_key(self._visit))
        is_own = record.kind == JobKind.CHART_DATA and is_own_of_guest(record, self._visit)
        if not is_own or not self._runtime.job_registry.handler(record).may_read(record, actor):
            raise JobNotFoundError(job_id)
        return job_of(self._runtime, record, find_actor=self._find_actor)

    def _queries(self, force: bool) -> GuestQueries:
        actor = self._find_actor()
        if force:
            reject("force")
        return GuestQueries(self._runtime, actor)


class GuestQueries(JobQueries):
    """Answers questions of one guest: stored charts, with what may differ of them, and without their statements."""

    def answer(self, question: Question, *, strict: bool | None) -> ChartData:
        """Return the answer."""
        return self.run(self._request(question, strict=strict))

    def for_job(self, question: Question, *, strict: bool | None) -> tuple[ChartJobPayload, str]:
        """Return the payload of a job, and the name of the database that it asks; all is checked as in `answer`."""
        request = self._request(question, strict=strict)
        named, text = (question, None) if isinstance(question, int) else (None, self._text(question, strict=strict))
        payload = ChartJobPayload(chart_id=named, context=text, force=False, strict=request.strict)
        return payload, self._runtime.engine.questions.runner.database_of(request)

    def _text(self, question: ChartDataQueryContext | Payload, *, strict: bool | None) -> str:
        return context_text(question, self._read(question, strict=strict).context)

    def chart(self, chart_id: int) -> Chart:
        """Return a chart of the guest's dashboards."""
        _require_named(self.actor, chart_id)
        return super().chart(chart_id)

    def on_dashboard(self, chart: Chart, extra: ExtraFilters) -> ChartRequest:
        """Return what a chart requests with what the filters of a dashboard ask of it; the cache always counts."""
        context, notes, translate_error = context_with(
            self._runtime.chart_contexts, chart, extra, self.chart, self.knows_name
        )
        request = replace(self._read(context, strict=None), notes=notes, translate_error=translate_error)
        reject_statements(request.context)
        return replace(request, force=False, chart_cache_timeout=chart.cache_timeout)

    def run(self, request: ChartRequest) -> ChartData:
        """Return the answer without its statements."""
        return without_statements(super().run(request))

    def bound_by(self, request: ChartRequest) -> str:
        """Return a digest of what binds the guest, and of what they see of the chart's query."""
        return digest_of((request.context.model_dump_json(), self._runtime.engine.questions.runner.bound_by(request)))

    def _request_of_job(self, question: ChartJobPayload) -> ChartRequest:
        named = question.context if question.chart_id is None else question.chart_id
        return self._request(named or "", strict=question.strict)

    def _request(self, question: Question, *, strict: bool | None) -> ChartRequest:
        """Return what to run: the stored context with what the guest may change."""
        requested = None if isinstance(question, int) else self._read(question, strict=strict)
        chart_id = question if requested is None else named_in(requested.context)
        if not is_id(chart_id):
            raise GuestAccessError("guests ask for stored charts: name one in form_data.slice_id, or ask by its id")
        chart = self.chart(chart_id)
        own = self._runtime.chart_contexts.of_chart(chart, self.chart)
        request = replace(self._read(own.text, strict=strict), notes=own.notes)
        reject_statements(request.context)
        if requested is not None:
            derived = answerable(self._stored(chart, request.context, own.text), requested.context)
            request = request.on(derived) if derived != request.context else request
        return replace(
            request, force=False, chart_cache_timeout=chart.cache_timeout, translate_error=own.translate_error
        )

    def _stored(self, chart: Chart, context: ChartDataQueryContext, text: str) -> StoredRequest:
        sources = (context.datasource, *(query.datasource for query in context.queries))
        ids = {source.id for source in sources if source is not None} | {chart.dataset_id or 0}
        with self._runtime.store.unit_of_work() as unit:
            datasets = by_ids(unit.datasets, ids)
            filters = _filters_of(unit, self.actor)
        return StoredRequest(
            chart_id=chart.id,
            context=context,
            form_data=form_of_chart(chart),
            filters=filters,
            main_columns={key: dataset.main_dttm_col for key, dataset in datasets.items()},
            default_rows=self._runtime.settings.default_row_limit,
            most_rows=self._runtime.settings.max_row_limit,
            address_params=_address_params(text, datasets.values()),
        )


def _filters_of(unit: UnitOfWork, actor: Actor) -> tuple[DeclaredFilter, ...]:
    """Return the filters of the guest's dashboards; each says on which charts it acts."""
    named = actor.guest.dashboard_ids if actor.guest is not None else frozenset()
    return tuple(item for board in by_ids(unit.dashboards, named).values() for item in declared_filters(board))


def _address_params(context: str, datasets: Iterable[Dataset]) -> frozenset[str] | None:
    """Return the parameters of the address that templates of a chart may read; None where that cannot be told."""
    texts = [context]
    for dataset in datasets:
        texts += [dataset.sql or "", dataset.fetch_values_predicate or ""]
        texts += [column.expression or "" for column in dataset.columns]
        texts += [metric.expression for metric in dataset.metrics]
    templates = [text for text in texts if "{{" in text or "{%" in text]
    found = [name for text in templates for name in _READS_ADDRESS.findall(text)]
    return None if "" in found else frozenset(found)


def _require_named(actor: Actor, chart_id: Any) -> None:
    """Refuse charts that the token does not open before looking for them: nobody learns which there are."""
    if actor.guest is None or not is_id(chart_id) or chart_id not in actor.guest.chart_ids:
        raise ChartAccessError(f"chart {short_repr(chart_id)} is on none of the dashboards of the guest token")

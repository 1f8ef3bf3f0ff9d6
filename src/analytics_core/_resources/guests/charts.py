"""`core.charts` for guests: the charts of their dashboards, asked as they are stored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from analytics_core._compile.fingerprint import digest_of
from analytics_core._error_types import short_repr
from analytics_core._execution.cancel import CancelToken
from analytics_core._jobs.handlers import JobKind
from analytics_core._jobs.job import Job
from analytics_core._querying.chart_request import ChartRequest
from analytics_core._querying.reading import context_text, stored_context
from analytics_core._records.chart import Chart
from analytics_core._records.dataset import Dataset
from analytics_core._records.repositories import UnitOfWork
from analytics_core._resources.batches import by_ids, is_id
from analytics_core._resources.charts.answers import form_data
from analytics_core._resources.charts.namespace import LISTING as CHART_LISTING
from analytics_core._resources.charts.namespace import Charts
from analytics_core._resources.charts.queries import ChartJobPayload, Question, question_text
from analytics_core._resources.dashboards.filters import DeclaredFilter, declared_filters
from analytics_core._resources.guests.limits import (
    GuestNamespace,
    for_guest,
    page_for_guest,
    reject,
    without_people,
    without_statements,
)
from analytics_core._resources.guests.requests import StoredRequest, answerable, reject_statements
from analytics_core._resources.jobs import is_own_of_guest, job_of, submit_job
from analytics_core._resources.listing import Columns, Filters, Order, Page
from analytics_core._results.answer import ChartData
from analytics_core._runtime import Runtime
from analytics_core._security.actor import Actor
from analytics_core.errors import ChartAccessError, GuestAccessError, JobNotFoundError
from analytics_core.models.chart import ChartGet, ChartListItem
from analytics_core.models.parsing import Payload
from analytics_core.models.query import ChartDataQueryContext

_READS_ADDRESS = re.compile(r"""url_param(?:\s*\(\s*['"]([\w.-]+)['"]\s*[,)])?|\b(?:dataset|metric)\b""")
"""A macro that reads a parameter of the address, with its name where it is written; others may take it in."""


class GuestCharts(GuestNamespace):
    """The charts of a guest's dashboards; each call asks anew whether the token still opens them."""

    _namespace = Charts

    def get(self, chart_id: int) -> ChartGet:
        """Return a chart of the guest's dashboards, without people."""
        actor = self._find_actor()
        _require_named(actor, chart_id)
        return for_guest(Charts(self._runtime, actor).get(chart_id))

    def list(
        self, filters: Filters = (), order_by: Order = None, page: int = 0, page_size: int = 25, columns: Columns = None
    ) -> Page[ChartListItem]:
        """Return one page of the charts of the guest's dashboards, without people."""
        requested, order = without_people(CHART_LISTING, filters, order_by)
        return page_for_guest(
            Charts(self._runtime, self._find_actor()).list(requested, order, page, page_size, columns)
        )

    def data(self, question: Question, *, force: bool = False, strict: bool | None = None) -> ChartData:
        """Return the answer to a chart by its id, or to a query context that names the chart in its form data.

        The context must be the stored one; filters that the dashboard declares, the order and the page may differ.
        `strict` is that of `charts.data`.

        Raises:
            GuestAccessError: it differs in something else, names no chart, or asks to leave the cache out.
            ChartAccessError: the chart is on none of the guest's dashboards.
        """
        return self._queries(force).answer(question, strict=strict)

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
            ChartAccessError, GuestAccessError: the chart is not open any more, or not with what was asked.
        """
        actor = self._find_actor()
        record = self._runtime.job_registry.find(job_id)
        is_own = record.kind == JobKind.CHART_DATA and is_own_of_guest(record, self._visit)
        if not is_own or not self._runtime.job_registry.handler(record).may_read(record, actor):
            raise JobNotFoundError(job_id)
        return job_of(self._runtime, record, find_actor=self._find_actor)

    def _queries(self, force: bool) -> GuestQueries:
        actor = self._find_actor()
        if force:
            reject("force")
        return GuestQueries(self._runtime, actor)


class GuestQueries:
    """Answers questions of one guest: stored charts, now or in a job."""

    def __init__(self, runtime: Runtime, actor: Actor) -> None:
        self._runtime = runtime
        self.actor = actor

    def answer(self, question: Question, *, strict: bool | None) -> ChartData:
        """Return the answer, without its statements."""
        return without_statements(self._runtime.queries.run(self._request(question, strict=strict)))

    def for_job(self, question: Question, *, strict: bool | None) -> tuple[ChartJobPayload, str]:
        """Return the payload of a job, and the name of the database that it asks; all is checked as in `answer`."""
        request = self._request(question, strict=strict)
        strict = self._runtime.settings.strict_queries if strict is None else strict
        named, text = (question, None) if isinstance(question, int) else (None, self._text(question, strict=strict))
        payload = ChartJobPayload(chart_id=named, context=text, force=False, strict=strict)
        return payload, self._runtime.queries.database_of(request)

    def answer_job(self, question: ChartJobPayload, cancel: CancelToken) -> tuple[ChartData, str]:
        """Return the answer without its statements, and a digest of what bound the guest and of the chart's query."""
        queries = self._runtime.queries
        request = queries.begun(replace(self._request_of_job(question), cancel=cancel))
        bound = self._bound(request)
        return without_statements(queries.run(request)), bound

    def bound_on(self, question: ChartJobPayload) -> str:
        """Return a digest of what binds the guest now, and of what the chart stores now."""
        return self._bound(self._request_of_job(question))

    def _bound(self, request: ChartRequest) -> str:
        return digest_of((request.context.model_dump_json(), self._runtime.queries.bound_by(request)))

    def _request_of_job(self, question: ChartJobPayload) -> ChartRequest:
        named = question.context if question.chart_id is None else question.chart_id
        return self._request(named or "", strict=question.strict)

    def _text(self, question: ChartDataQueryContext | Payload, *, strict: bool) -> str:
        return context_text(question, self._read(question, strict=strict).context)

    def _read(self, question: ChartDataQueryContext | Payload, *, strict: bool | None) -> ChartRequest:
        strict = self._runtime.settings.strict_queries if strict is None else strict
        now = self._runtime.clock.now()
        return self._runtime.contexts.read(question, actor=self.actor, now=now, strict=strict)

    def _request(self, question: Question, *, strict: bool | None) -> ChartRequest:
        """Return what to run: the stored context with what the guest may change."""
        if isinstance(question, int):
            chart_id, requested = _as_id(question), None
        else:
            requested = self._read(question, strict=strict)
            chart_id = _named_chart(requested.context)
        _require_named(self.actor, chart_id)
        with self._runtime.store.unit_of_work() as unit:
            chart = unit.charts.get(chart_id)
            self._runtime.policy.require_read_chart(self.actor, chart, None)
            request = self._read(stored_context(chart), strict=strict)
            reject_statements(request.context)
            if requested is not None:
                stored = self._stored(unit, chart, request.context)
                derived = answerable(stored, requested.context)
                request = request.on(derived) if derived != request.context else request
        return replace(request, force=False, chart_cache_timeout=chart.cache_timeout)

    def _stored(self, unit: UnitOfWork, chart: Chart, context: ChartDataQueryContext) -> StoredRequest:
        sources = (context.datasource, *(query.datasource for query in context.queries))
        ids = {source.id for source in sources if source is not None} | {chart.dataset_id or 0}
        settings = self._runtime.settings
        datasets = by_ids(unit.datasets, ids)
        return StoredRequest(
            chart_id=chart.id,
            context=context,
            form_data=form_data(chart),
            filters=_filters_of(unit, self.actor, chart.id),
            main_columns={key: dataset.main_dttm_col for key, dataset in datasets.items()},
            default_rows=settings.default_row_limit,
            most_rows=settings.max_row_limit,
            address_params=_address_params(stored_context(chart), datasets.values()),
        )


def _filters_of(unit: UnitOfWork, actor: Actor, chart_id: int) -> tuple[DeclaredFilter, ...]:
    """Return the filters of the guest's dashboards that have this chart."""
    named = actor.guest.dashboard_ids if actor.guest is not None else frozenset()
    dashboards = by_ids(unit.dashboards, named).values()
    return tuple(item for d in dashboards if chart_id in d.chart_ids for item in declared_filters(d))


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


def _named_chart(context: ChartDataQueryContext) -> int:
    form = context.form_data
    named = form.get("slice_id") if isinstance(form, Mapping) else None
    return _as_id(named)


def _as_id(named: object) -> int:
    """Return what names a stored chart; GuestAccessError for everything else, true and false among it."""
    if not is_id(named):
        raise GuestAccessError("guests ask for stored charts: name one in form_data.slice_id, or ask by its id")
    return named

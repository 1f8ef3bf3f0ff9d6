"""What guests may ask: stored charts and the dashboards of their token, with what may differ of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from analytics_core._content.batches import by_ids, is_id
from analytics_core._content.dashboards.answers import DashboardQuestions, DashboardRequest
from analytics_core._content.guests.requests import StoredRequest, answerable, reject_statements
from analytics_core._content.lookups.chart_contexts import form_of_chart
from analytics_core._content.questions.acting_filters import GivenState, given_state
from analytics_core._content.questions.contexts import context_with
from analytics_core._content.questions.dashboard_filters import DeclaredFilter, all_filters, declared_filters
from analytics_core._content.questions.extra_filters import ExtraFilters
from analytics_core._content.questions.queries import ChartJobPayload, JobQueries, Question, named_in
from analytics_core._content.reader import Reader
from analytics_core._content.runtime import ContentRuntime
from analytics_core._engine.compile.fingerprint import digest_of
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.querying.chart_request import ChartRequest
from analytics_core._engine.querying.reading import context_text
from analytics_core._engine.results.answer import ChartData
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.datasource import Dataset
from analytics_core._records.repositories import UnitOfWork
from analytics_core.errors import ChartAccessError, DashboardAccessError, GuestAccessError
from analytics_core.errors.base import short_repr
from analytics_core.models.parsing import Payload
from analytics_core.models.query import ChartDataQueryContext

_READS_ADDRESS = re.compile(r"""url_param(?:\s*\(\s*['"]([\w.-]+)['"]\s*[,)])?|\b(?:dataset|metric)\b""")
"""A macro that reads a parameter of the address, with its name where it is written; others may take it in."""


def without_statements(answer: ChartData) -> ChartData:
    """Return the answer to a query without its SQL: values and row rules stand in it."""
    return replace(answer, results=tuple(replace(result, query="") for result in answer.results))


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
        require_named_chart(self.actor, chart_id)
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


def require_named_chart(actor: Actor, chart_id: Any) -> None:
    """Refuse charts that the token does not open before looking for them: nobody learns which there are."""
    if actor.guest is None or not is_id(chart_id) or chart_id not in actor.guest.chart_ids:
        raise ChartAccessError(f"chart {short_repr(chart_id)} is on none of the dashboards of the guest token")


# ---------------------------------------------------------------------------------------------------------- dashboards
def dashboard_of_guest(
    runtime: ContentRuntime, actor: Actor, request: DashboardRequest, *, cancel: CancelToken | None = None
) -> DashboardQuestions:
    """Return what answers a dashboard of the token; errors are those of a guest's `dashboards.data`."""
    queries, dashboard = opened_by_guest(runtime, actor, request.dashboard_id, cancel=cancel)
    return DashboardQuestions(queries, dashboard, given_by_guest(dashboard, request.filters), request)


def opened_by_guest(
    runtime: ContentRuntime, actor: Actor, dashboard_id: int, *, cancel: CancelToken | None = None
) -> tuple[GuestQueries, Dashboard]:
    """Return a dashboard of the token with what answers its charts."""
    require_named_dashboard(actor, dashboard_id)
    with runtime.store.unit_of_work() as unit:
        dashboard = Reader(unit, runtime.policy, actor).dashboard(dashboard_id)
    return GuestQueries(runtime, actor, cancel=cancel), dashboard


def require_named_dashboard(actor: Actor, dashboard_id: Any) -> None:
    """Refuse dashboards that the token does not open before looking for them."""
    if actor.guest is None or not is_id(dashboard_id) or dashboard_id not in actor.guest.dashboard_ids:
        raise DashboardAccessError(f"the guest token does not open dashboard {short_repr(dashboard_id)}")


def given_by_guest(dashboard: Dashboard, filters: Mapping[str, Any] | None) -> GivenState:
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

"""Questions to charts and query contexts: answered now, explained, or answered in the background."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from analytics_core._content.batches import is_stored_id
from analytics_core._content.jobs.answer_jobs import AnswerJobs
from analytics_core._content.jobs.handlers import JobOutcome
from analytics_core._content.lookups.chart_contexts import ChartContext, form_of_chart
from analytics_core._content.questions.contexts import context_with
from analytics_core._content.questions.extra_filters import ExtraFilters
from analytics_core._content.reader import Reader
from analytics_core._content.runtime import ContentRuntime
from analytics_core._engine.compile.fingerprint import digest_of
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.querying.chart_request import ChartRequest, TranslateError
from analytics_core._engine.querying.reading import context_text
from analytics_core._engine.results.answer import ChartData
from analytics_core._engine.results.answer_bytes import decode_job_answer, encode_answer
from analytics_core._engine.results.batch_stream import BatchStream
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.chart import Chart
from analytics_core._records.shared_state import JobRecord
from analytics_core.errors import AccessError, AnalyticsError, NotFoundError, StoredDataError
from analytics_core.models.enums import JobState, QueryStatus, ResultType
from analytics_core.models.parsing import Payload
from analytics_core.models.query import ChartDataDatasource, ChartDataQueryContext
from analytics_core.ports import Progress

Question = int | ChartDataQueryContext | Payload
"""The id or the name of a chart, or a query context (contract, ChartDataQueryContextSchema), also as JSON text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartJobPayload:
    """The payload of a job: a query context as JSON, the chart that it comes from, and how it was asked.

    `context` None is that of the chart as it is stored when the job runs; `notes` are those of how a context was made.
    """

    chart_id: int | None
    context: str | None
    force: bool
    strict: bool
    notes: Sequence[str] = ()


class JobQueries(ABC):
    """Answers questions of charts for one actor, now or in a job; a subclass says what a question requests.

    `cancel` stops them, where they have no other one.
    """

    def __init__(self, runtime: ContentRuntime, actor: Actor, *, cancel: CancelToken | None = None) -> None:
        self._runtime = runtime
        self._questions = runtime.engine.questions
        self.actor = actor
        self.cancel = cancel

    @property
    def progress(self) -> Progress:
        """What shows how far long work has come."""
        return self._runtime.progress

    def answer_job(self, question: ChartJobPayload) -> tuple[ChartData, str]:
        """Return the answer to the question of a job, and a digest of what bound its actor; it has its own budget."""
        request = self._questions.runner.begun(self._request_of_job(question))
        bound = self.bound_by(request)
        return self.run(request), bound

    def bound_on(self, question: ChartJobPayload) -> str:
        """Return a digest of what binds the actor now on all that answers the question of a job."""
        return self.bound_by(self._request_of_job(question))

    @abstractmethod
    def on_dashboard(self, chart: Chart, extra: ExtraFilters) -> ChartRequest:
        """Return what a chart requests with what the filters of a dashboard ask of it."""

    @abstractmethod
    def _request_of_job(self, question: ChartJobPayload) -> ChartRequest:
        """Return what the question of a job requests now."""

    def bound_by(self, request: ChartRequest) -> str:
        """Return a digest of what binds the actor now on all that answers what is requested."""
        return digest_of(self._questions.runner.bound_by(request))

    def run(self, request: ChartRequest) -> ChartData:
        """Return the answer to what is requested, as the actor may see it."""
        if request.cancel is None and self.cancel is not None:
            request = replace(request, cancel=self.cancel)
        return self._questions.runner.run(request)

    def ask(self, payload: Payload) -> ChartData:
        """Return the answer to a query context that the library made, whatever the settings say of strict ones."""
        return self.run(self._read(payload, strict=False))

    def _read(self, payload: ChartDataQueryContext | Payload, *, strict: bool | None) -> ChartRequest:
        """Return what the actor requests with a query context; `strict` None is as the settings say."""
        strict = self._runtime.settings.strict_queries if strict is None else strict
        now = self._runtime.clock.now()
        return self._questions.contexts.read(payload, actor=self.actor, now=now, strict=strict)

    def knows_name(self, source: Any, name: str) -> bool:
        """Tell whether the datasource of a query, as JSON writes it, has a column or metric of this name."""
        try:
            return self._questions.runner.knows_name(ChartDataDatasource.model_validate(source), name)
        except ValueError:
            return True

    def holds(self, dataset_id: int | None, column: Any, text: str) -> bool:
        """Tell whether a column of a dataset holds a text in rows that the actor may see."""
        request = {"datasource": {"id": dataset_id, "type": "table"}, "queries": [{"columns": [column], "metrics": []}]}
        try:
            return self._questions.runner.holds(self._read(request, strict=False), text)
        except AnalyticsError:
            return False

    def chart(self, chart_id: int) -> Chart:
        """Return a chart that the actor may read; NotFoundError or AccessError otherwise."""
        if not is_stored_id(chart_id):
            raise NotFoundError("chart", chart_id)
        chart, dataset = self._runtime.charts.load(chart_id)
        self._runtime.policy.require_read_chart(self.actor, chart, dataset)
        return chart


class ChartQueries(JobQueries):
    """Answers questions of one user."""

    def known(self, question: Question) -> Question:
        """Return a question with the id of a chart in the place of its name; a text that begins as JSON is none."""
        if not isinstance(question, str) or question.lstrip().startswith(("{", "[", '"')):
            return question
        with self._runtime.store.unit_of_work() as unit:
            reader = Reader(unit=unit, policy=self._runtime.policy, actor=self.actor)
            return reader.chart_called(question).id

    def request(self, question: Question, *, force: bool = False, strict: bool | None = None) -> ChartRequest:
        """Return what the actor requests with a question; `strict` None is as the settings say."""
        chart, payload, own = self._context_of(question)
        request = self._request(chart, payload, force=force, strict=strict)
        return request if own is None else replace(request, notes=own.notes, translate_error=own.translate_error)

    def bound_now(self, question: Question) -> str:
        """Return a digest of what binds the actor now on all that answers a question."""
        return self.bound_by(self.request(question))

    def form_fields(self, question: Question) -> Mapping[str, tuple[str, ...]]:
        """Return the fields of a chart's form that each value of its question comes from; empty for a stored one."""
        own = self._context_of(question)[2]
        built = None if own is None else own.built
        if built is None:
            return {}
        form = built.payload["form_data"]
        return {
            path: tuple(name for name in fields if name.partition(".")[0] in form)
            for path, fields in built.origins.items()
        }

    def on_dashboard(self, chart: Chart, extra: ExtraFilters) -> ChartRequest:
        """Return what a chart requests, as `request` does, with what the filters of a dashboard ask of it."""
        context, notes, translate_error = context_with(
            self._runtime.chart_contexts, chart, extra, self.chart, self.knows_name
        )
        return replace(
            self._request(chart, context, force=False, strict=None), notes=notes, translate_error=translate_error
        )

    def fill(self, chart: Chart, extra: ExtraFilters, cancel: CancelToken | None) -> ChartData:
        """Answer a chart anew with what stands around it, and keep the results as its readers would find them."""
        return self.run(replace(self.on_dashboard(chart, extra), force=True, cancel=cancel))

    def batches(self, question: Question, *, strict: bool | None = None) -> BatchStream:
        """Return the rows of a question in batches."""
        return self._questions.batches.stream(self.request(question, strict=strict))

    def rows_of(self, dataset_id: int, columns: Iterable[str] | None) -> BatchStream:
        """Return all rows of a dataset in batches; None: with all of its columns."""
        query = {"row_limit": 0} if columns is None else {"row_limit": 0, "columns": list(columns), "metrics": None}
        result_type = ResultType.SAMPLES if columns is None else ResultType.FULL
        datasource = {"id": dataset_id, "type": "table"}
        return self.batches({"datasource": datasource, "queries": [query], "result_type": result_type.value})

    def for_job(
        self, question: Question, *, force: bool = False, strict: bool | None = None
    ) -> tuple[ChartJobPayload, str]:
        """Return the payload of a job, and the name of the database that it asks; errors of `data` are raised here."""
        chart, payload, own = self._context_of(question)
        request = self._read(payload, strict=strict)
        requested = ChartJobPayload(
            chart_id=chart.id if chart else None,
            context=context_text(payload, request.context),
            force=force,
            strict=request.strict,
            notes=() if own is None else own.notes,
        )
        return requested, self._questions.runner.database_of(request)

    def _context_of(
        self, question: Question
    ) -> tuple[Chart | None, ChartDataQueryContext | Payload, ChartContext | None]:
        """Return the query context that a question asks, and the chart that it names by its id with how it was made."""
        if not isinstance(question, int):
            return None, question, None
        chart = self.chart(question)
        own = self._runtime.chart_contexts.of_chart(chart, self.chart)
        return chart, own.text, own

    def _request_of_job(self, question: ChartJobPayload) -> ChartRequest:
        chart = None if question.chart_id is None else self.chart(question.chart_id)
        request = self._request(chart, question.context or "", force=question.force, strict=question.strict)
        return replace(request, notes=tuple(question.notes), translate_error=self._form_behind(chart, question.context))

    def _form_behind(self, chart: Chart | None, context: str | None) -> TranslateError | None:
        """Return what tells errors by the form of a chart, if the context is of it; it may have changed since."""
        if chart is None:
            return None
        try:
            own = self._runtime.chart_contexts.of_chart(chart, self.chart)
        except AnalyticsError:
            return None
        return own.translate_error if own.text == context else None

    def _request(
        self, chart: Chart | None, payload: ChartDataQueryContext | Payload, *, force: bool, strict: bool | None
    ) -> ChartRequest:
        request = self._read(payload, strict=strict)
        form = request.context.form_data if chart is None else form_of_chart(chart)
        if chart is None and request.context.form_data:
            chart = self._named_chart(request.context)
        timeout = None if chart is None else chart.cache_timeout
        return replace(
            request,
            force=force or request.force,
            chart_cache_timeout=timeout,
            form=form,
            extra_bundle=picture_bundle_of,
        )

    def _named_chart(self, context: ChartDataQueryContext) -> Chart | None:
        """Return the chart that a query context says it belongs to, when it asks that chart's dataset."""
        named = named_in(context)
        if not is_stored_id(named) or context.custom_cache_timeout is not None:
            return None
        try:
            chart = self.chart(named)
        except (NotFoundError, AccessError):  # whoever asks may name any chart: it decides on nothing else
            return None
        return chart if context.datasource is not None and context.datasource.id == chart.dataset_id else None


def picture_bundle_of(answer: ChartData) -> dict[str, Any]:
    """Return an answer as a picture in notebooks; what draws it is loaded with the first one."""
    from analytics_core._content.pictures.display import vega_lite_of

    return vega_lite_of(answer)


def named_in(context: ChartDataQueryContext) -> Any:
    """Return what the form data of a query context give as the id of its chart, whatever it is; None: nothing."""
    return context.form_data.get("slice_id") if isinstance(context.form_data, Mapping) else None


_WORST_FIRST: Final = (JobState.STOPPED, JobState.TIMED_OUT, JobState.FAILED)


QueriesOfJob = Callable[[JobRecord, Actor, CancelToken | None], JobQueries]
"""Gives what answers a job for an actor at the job's moment, until it is cancelled."""


@dataclass(frozen=True, kw_only=True)
class ChartDataJobs(AnswerJobs):
    """Answers charts and query contexts in the background."""

    queries_of: QueriesOfJob

    def answer(self, job: JobRecord, actor: Actor, cancel: CancelToken) -> JobOutcome:
        """Return the answer to the question."""
        answer, bound = self.queries_of(job, actor, cancel).answer_job(_question(job))
        data = encode_answer(answer, key=job.job_id, seal=self.seal)
        return JobOutcome(state=_state_of(answer), data=data, bound=bound)

    def bound(self, job: JobRecord, actor: Actor) -> str:
        """Return a digest of the rules that bind the actor now, and of the relations that they are on."""
        return self.queries_of(job, actor, None).bound_on(_question(job))

    def read(self, job: JobRecord, data: bytes) -> ChartData:
        """Return the answer."""
        return replace(decode_job_answer(data, job_id=job.job_id, seal=self.seal), extra_bundle=picture_bundle_of)


def question_text(question: ChartJobPayload, *, look: Mapping[str, Any] | None = None) -> str:
    """Return a question as the payload of a job; with a `look`, of one that draws a picture so."""
    return json.dumps(asdict(question) if look is None else {"chart": asdict(question), "look": look})


def _question(job: JobRecord) -> ChartJobPayload:
    try:
        return ChartJobPayload(**json.loads(job.payload))
    except (TypeError, ValueError):
        raise StoredDataError(f"the payload of job {job.job_id!r} is none that this version reads") from None


def _state_of(answer: ChartData) -> JobState:
    statuses = {result.status for result in answer.results}
    return next((state for state in _WORST_FIRST if QueryStatus(state.value) in statuses), JobState.SUCCESS)

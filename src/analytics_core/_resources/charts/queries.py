"""Questions to charts and query contexts: answered now, explained, or answered in the background."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final, Protocol

from analytics_core._compile.fingerprint import digest_of
from analytics_core._execution.cancel import CancelToken
from analytics_core._jobs.handlers import JobOutcome
from analytics_core._querying.chart_request import ChartRequest
from analytics_core._querying.reading import context_text, stored_context
from analytics_core._records.chart import Chart
from analytics_core._records.shared_state import JobRecord, JobState
from analytics_core._resources.batches import is_stored_id
from analytics_core._results.answer import ChartData
from analytics_core._results.answer_bytes import decode_answer, encode_answer
from analytics_core._results.batch_stream import BatchStream
from analytics_core._runtime import Runtime
from analytics_core._security.actor import Actor
from analytics_core._security.keys import EntrySeal
from analytics_core.errors import AccessError, NotFoundError, StoredDataError
from analytics_core.models.enums import QueryStatus, ResultType
from analytics_core.models.parsing import Payload
from analytics_core.models.query import ChartDataQueryContext

Question = int | ChartDataQueryContext | Payload
"""The id of a chart, or a query context (contract, ChartDataQueryContextSchema)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartJobPayload:
    """The payload of a job: a query context as JSON, the chart that it comes from, and how it was asked.

    `context` None is that of the chart as it is stored when the job runs.
    """

    chart_id: int | None
    context: str | None
    force: bool
    strict: bool


class ChartQueries:
    """Answers questions of one actor."""

    def __init__(self, runtime: Runtime, actor: Actor) -> None:
        self._runtime = runtime
        self._actor = actor

    @property
    def username(self) -> str:
        """The name of whoever asks."""
        return self._actor.username

    def data(self, question: Question) -> ChartData:
        """Return the answer."""
        return self._runtime.queries.run(self.request(question))

    def request(self, question: Question, *, force: bool = False, strict: bool | None = None) -> ChartRequest:
        """Return what the actor requests with a question; `strict` None is as the settings say."""
        strict = self._runtime.settings.strict_queries if strict is None else strict
        if isinstance(question, int):
            chart = self._chart(question)
            return self._request(chart, stored_context(chart), force=force, strict=strict)
        return self._request(None, question, force=force, strict=strict)

    def fill(self, chart: Chart, payload: Payload, cancel: CancelToken | None) -> ChartData:
        """Answer a query context of a chart anew and keep the results as a reader of the chart would find them."""
        request = self._read(payload, strict=self._runtime.settings.strict_queries)
        filling = replace(request, force=True, chart_cache_timeout=chart.cache_timeout, cancel=cancel)
        return self._runtime.queries.run(filling)

    def batches(self, question: Question, *, strict: bool | None = None) -> BatchStream:
        """Return the rows of a question in batches."""
        return self._runtime.batches.stream(self.request(question, strict=strict))

    def rows_of(self, dataset_id: int, columns: Sequence[str] | None) -> BatchStream:
        """Return all rows of a dataset in batches; None: with all of its columns."""
        query = {"row_limit": 0} if columns is None else {"row_limit": 0, "columns": list(columns), "metrics": None}
        result_type = ResultType.SAMPLES if columns is None else ResultType.FULL
        datasource = {"id": dataset_id, "type": "table"}
        return self.batches({"datasource": datasource, "queries": [query], "result_type": result_type.value})

    def for_job(
        self, question: Question, *, force: bool = False, strict: bool | None = None
    ) -> tuple[ChartJobPayload, str]:
        """Return the payload of a job, and the name of the database that it asks; errors of `data` are raised here."""
        strict = self._runtime.settings.strict_queries if strict is None else strict
        chart = self._chart(question) if isinstance(question, int) else None
        payload = stored_context(chart) if chart is not None else question
        assert not isinstance(payload, int)  # noqa: S101 - an int names a chart; tells the type checker
        request = self._read(payload, strict=strict)
        context = context_text(payload, request.context)
        requested = ChartJobPayload(chart_id=chart.id if chart else None, context=context, force=force, strict=strict)
        return requested, self._runtime.queries.database_of(request)

    def answer_job(self, question: ChartJobPayload, cancel: CancelToken) -> tuple[ChartData, str]:
        """Return the answer to the question of a job, and a digest of what bound its actor; it has its own budget."""
        queries = self._runtime.queries
        request = queries.begun(replace(self._request_of_job(question), cancel=cancel))
        bound = digest_of(queries.bound_by(request))
        return queries.run(request), bound

    def bound_on(self, question: ChartJobPayload) -> str:
        """Return a digest of what binds the actor now on all that answers the question of a job."""
        return digest_of(self._runtime.queries.bound_by(self._request_of_job(question)))

    def _request_of_job(self, question: ChartJobPayload) -> ChartRequest:
        chart = None if question.chart_id is None else self._chart(question.chart_id)
        return self._request(chart, question.context or "", force=question.force, strict=question.strict)

    def _request(
        self, chart: Chart | None, payload: ChartDataQueryContext | Payload, *, force: bool, strict: bool
    ) -> ChartRequest:
        request = self._read(payload, strict=strict)
        if chart is None and request.context.form_data:
            chart = self._named_chart(request.context)
        timeout = None if chart is None else chart.cache_timeout
        return replace(request, force=force or request.force, chart_cache_timeout=timeout)

    def _read(self, payload: ChartDataQueryContext | Payload, *, strict: bool) -> ChartRequest:
        now = self._runtime.clock.now()
        return self._runtime.contexts.read(payload, actor=self._actor, now=now, strict=strict)

    def _named_chart(self, context: ChartDataQueryContext) -> Chart | None:
        """Return the chart that a query context says it belongs to, when it asks that chart's dataset."""
        form = context.form_data
        named = form.get("slice_id") if isinstance(form, Mapping) else None
        if not is_stored_id(named) or context.custom_cache_timeout is not None:
            return None
        try:
            chart = self._chart(named)
        except (NotFoundError, AccessError):  # whoever asks may name any chart: it decides on nothing else
            return None
        return chart if context.datasource is not None and context.datasource.id == chart.dataset_id else None

    def _chart(self, chart_id: int) -> Chart:
        if not is_stored_id(chart_id):
            raise NotFoundError("chart", chart_id)
        loaded = self._runtime.charts.load(chart_id)
        self._runtime.policy.require_read_chart(self._actor, loaded.chart, loaded.dataset)
        return loaded.chart


class JobQueries(Protocol):
    """What answers the questions of jobs for one actor."""

    def answer_job(self, question: ChartJobPayload, cancel: CancelToken) -> tuple[ChartData, str]:
        """Return the answer, and a digest of what bound the actor."""

    def bound_on(self, question: ChartJobPayload) -> str:
        """Return a digest of what binds the actor now."""


_WORST_FIRST: Final = (JobState.STOPPED, JobState.TIMED_OUT, JobState.FAILED)


class ChartDataJobs:
    """Runs and reads chart queries in the background (a `JobHandler`).

    Args:
        queries_of: gives what answers a job for an actor, at the job's moment.
        find_actor: tells who acts for a job, with the rights that they have now.
        seal: seals answers, so that whoever writes to the store makes none.
    """

    def __init__(
        self,
        *,
        queries_of: Callable[[JobRecord, Actor], JobQueries],
        find_actor: Callable[[JobRecord], Actor],
        seal: EntrySeal,
    ) -> None:
        self._queries = queries_of
        self._find_actor = find_actor
        self._seal = seal

    def run(self, job: JobRecord, cancel: CancelToken) -> JobOutcome:
        """Answer the question."""
        answer, bound = self._queries(job, self._find_actor(job)).answer_job(_question(job), cancel)
        return JobOutcome(
            state=_state_of(answer), data=encode_answer(answer, key=job.job_id, seal=self._seal), bound=bound
        )

    def may_read(self, job: JobRecord, actor: Actor) -> bool:
        """Tell whether the same rules bind the actor now, on the same relations, as when the job ran."""
        return job.bound is None or self._queries(job, actor).bound_on(_question(job)) == job.bound

    def read(self, job: JobRecord, data: bytes) -> ChartData:
        """Return the answer."""
        answer = decode_answer(data, key=job.job_id, seal=self._seal)
        if answer is None:
            raise StoredDataError(
                f"the metadata store holds no answer of job {job.job_id!r} that this version of analytics_core made "
                "with the secret key that it has now; submit the question again"
            )
        return answer


def question_text(question: ChartJobPayload) -> str:
    """Return a question as the payload of a job."""
    return json.dumps(asdict(question))


def _question(job: JobRecord) -> ChartJobPayload:
    try:
        return ChartJobPayload(**json.loads(job.payload))
    except (TypeError, ValueError):
        raise StoredDataError(f"the payload of job {job.job_id!r} is none that this version reads") from None


def _state_of(answer: ChartData) -> JobState:
    statuses = {result.status for result in answer.results}
    return next((state for state in _WORST_FIRST if QueryStatus(state.value) in statuses), JobState.SUCCESS)

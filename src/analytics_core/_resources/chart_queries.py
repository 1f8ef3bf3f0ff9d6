"""Questions to charts and query contexts: answered now, explained, or answered in the background."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from analytics_core._compile.fingerprint import digest_of
from analytics_core._execution.statements import CancelToken
from analytics_core._querying.answer import ChartData
from analytics_core._querying.call import Call
from analytics_core._querying.explain import Explanation
from analytics_core._querying.reading import ReadContext, context_text, stored_context
from analytics_core._records.chart import Chart
from analytics_core._resources.batches import is_stored_id
from analytics_core._runtime import Runtime
from analytics_core._security.actor import Actor
from analytics_core.errors import AccessError, NotFoundError
from analytics_core.models.parsing import Payload
from analytics_core.models.query import ChartDataQueryContext

Question = int | ChartDataQueryContext | Payload
"""The id of a chart, or a query context (contract, ChartDataQueryContextSchema)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQuestion:
    """The payload of a job: a query context as JSON, the chart that it comes from, and how it was asked."""

    chart_id: int | None
    context: str
    force: bool
    strict: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    read: ReadContext
    call: Call


class ChartQueries:
    """Answers questions of one actor."""

    def __init__(self, runtime: Runtime, actor: Actor) -> None:
        self._runtime = runtime
        self._actor = actor

    @property
    def username(self) -> str:
        """The name of whoever asks."""
        return self._actor.username

    def data(self, question: Question, *, force: bool = False, strict: bool | None = None) -> ChartData:
        """Return the answer; `strict` None is as the settings say."""
        asked = self._asked(question, force=force, strict=strict)
        return self._runtime.queries.run(asked.read, asked.call)

    def fill(self, chart: Chart, payload: Payload, cancel: CancelToken | None) -> ChartData:
        """Answer a query context of a chart anew and keep the results as a reader of the chart would find them."""
        strict = self._runtime.settings.strict_queries
        call = replace(self._call(chart.cache_timeout, strict=strict), cancel=cancel)
        return self._runtime.queries.run(_forced(self._runtime.contexts.read(payload, strict=strict)), call)

    def explain(self, question: Question, *, strict: bool | None = None) -> Explanation:
        """Return why the answer would be what it is; no statement runs."""
        asked = self._asked(question, strict=strict)
        return self._runtime.queries.explain(asked.read, asked.call)

    def for_job(
        self, question: Question, *, force: bool = False, strict: bool | None = None
    ) -> tuple[JobQuestion, str]:
        """Return the payload of a job, and the name of the database that it asks; errors of `data` are raised here."""
        strict = self._runtime.settings.strict_queries if strict is None else strict
        chart = self._chart(question) if isinstance(question, int) else None
        payload = stored_context(chart) if chart is not None else question
        assert not isinstance(payload, int)  # noqa: S101 - an int names a chart; tells the type checker
        read = self._runtime.contexts.read(payload, strict=strict)
        context = context_text(payload, read)
        asked = JobQuestion(chart_id=chart.id if chart else None, context=context, force=force, strict=strict)
        return asked, self._runtime.queries.database_of(read)

    def answer_job(self, question: JobQuestion, cancel: CancelToken) -> tuple[ChartData, str]:
        """Return the answer to the question of a job, and a digest of what bound its actor; it has its own budget."""
        asked, queries = self._asked_by_job(question), self._runtime.queries
        call = queries.begun(replace(asked.call, cancel=cancel))
        bound = digest_of(queries.bound_by(asked.read, call))
        return queries.run(asked.read, call), bound

    def bound_on(self, question: JobQuestion) -> str:
        """Return a digest of what binds the actor now on all that answers the question of a job."""
        asked = self._asked_by_job(question)
        return digest_of(self._runtime.queries.bound_by(asked.read, asked.call))

    def _asked_by_job(self, question: JobQuestion) -> _Asked:
        chart = None if question.chart_id is None else self._chart(question.chart_id)
        return self._asked_of(chart, question.context, force=question.force, strict=question.strict)

    def _asked(self, question: Question, *, force: bool = False, strict: bool | None = None) -> _Asked:
        strict = self._runtime.settings.strict_queries if strict is None else strict
        chart = self._chart(question) if isinstance(question, int) else None
        payload = stored_context(chart) if chart is not None else question
        assert not isinstance(payload, int)  # noqa: S101 - an int names a chart; tells the type checker
        return self._asked_of(chart, payload, force=force, strict=strict)

    def _asked_of(
        self, chart: Chart | None, payload: ChartDataQueryContext | Payload, *, force: bool, strict: bool
    ) -> _Asked:
        read = self._runtime.contexts.read(payload, strict=strict)
        chart = chart or self._named_chart(read.context)
        timeout = chart.cache_timeout if chart is not None else None
        return _Asked(read=_forced(read) if force else read, call=self._call(timeout, strict=strict))

    def _call(self, chart_cache_timeout: int | None, *, strict: bool) -> Call:
        now = self._runtime.clock.now()
        return Call(actor=self._actor, now=now, chart_cache_timeout=chart_cache_timeout, strict=strict)

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


def _forced(read: ReadContext) -> ReadContext:
    if read.context.force:
        return read
    return ReadContext(context=read.context.model_copy(update={"force": True}), digest=read.digest)

"""Dashboards, and pictures of charts and dashboards, in the background: what a job is given, and what is kept of it."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from itertools import islice
from typing import Any, Final, TypeVar

from analytics_core._content.background_jobs import submit_job
from analytics_core._content.batches import by_ids
from analytics_core._content.dashboards.answers import DashboardQuestions, DashboardRequest
from analytics_core._content.dashboards.pictures import DashboardDrawer, dashboard_look
from analytics_core._content.jobs.answer_jobs import AnswerJobs
from analytics_core._content.jobs.handlers import JobKind, JobOutcome
from analytics_core._content.jobs.job import Job
from analytics_core._content.jobs.turns import BESIDE
from analytics_core._content.pictures.drawing import PictureDrawer, chart_look
from analytics_core._content.pictures.picture import Picture
from analytics_core._content.questions.extra_filters import plain_filters
from analytics_core._content.questions.filter_values import SHAPE
from analytics_core._content.questions.queries import ChartJobPayload, QueriesOfJob, picture_bundle_of
from analytics_core._content.reader import Reader
from analytics_core._content.runtime import ContentRuntime
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.results.answer import ChartData, QueryResult
from analytics_core._engine.results.answer_bytes import decode_job_answer, encode_answer
from analytics_core._engine.results.dashboard_answer import DashboardChart, DashboardData, FilterState
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.keys import EntrySeal
from analytics_core._records.people import GuestVisit
from analytics_core._records.shared_state import JobRecord
from analytics_core._tools.typed_json import error_from_json, from_typed_json, typed_json
from analytics_core.errors import StatementStoppedError, StoredDataError
from analytics_core.models.enums import JobState, PictureFormat, ResultFormat, ResultType
from analytics_core.models.parsing import payload_error

Result = TypeVar("Result")
QuestionsOfJob = Callable[[JobRecord, Actor, DashboardRequest, CancelToken | None], DashboardQuestions]
"""Gives what answers the dashboard of a job for an actor at the job's moment, until it is cancelled."""

_UNREADABLE: Final = (ArithmeticError, AttributeError, KeyError, TypeError, ValueError)
_MOST_DATABASES: Final = 6
"""That the name of a queue has room for."""


def submit_dashboard(
    runtime: ContentRuntime,
    actor: Actor,
    kind: JobKind,
    request: DashboardRequest,
    *,
    find_actor: Callable[[], Actor],
    visit: GuestVisit | None = None,
    look: Mapping[str, Any] | None = None,
) -> Job[Any]:
    """Submit a job on a dashboard, once the request for it was checked.

    `look` are the arguments of `dashboard_look`, for a picture; the other ones, and errors, are those of `submit_job`.

    Raises:
        PayloadSchemaError: what is set holds a value that no job can carry.
    """
    with runtime.store.unit_of_work() as unit:
        reader = Reader(unit, runtime.policy, actor)
        datasets = reader.datasets_of(reader.dashboard(request.dashboard_id))
        databases = by_ids(unit.databases, {dataset.database_id for dataset in datasets}).values()
    queue = BESIDE.join([database.uuid for database in databases][:_MOST_DATABASES])
    given = {one.name: getattr(request, one.name) for one in fields(request)}
    given["extra_filters"] = plain_filters(request.extra_filters)
    try:
        payload = json.dumps({"dashboard": typed_json(given, other=_plain), "look": look})
    except RecursionError:
        raise payload_error(SHAPE, "dashboard", "is nested too deep for a job") from None
    return submit_job(runtime, actor, kind, payload, find_actor=find_actor, queue=queue, visit=visit)


def _plain(value: Any) -> Any:
    """Write a value of a type of its own as the plain one that it stands for."""
    match value:
        case Mapping():
            return typed_json(dict(value), other=_plain)
        case datetime():
            return ["datetime", value.isoformat()]
        case str():
            return typed_json(str.__str__(value), other=_plain)
        case int():
            return typed_json(int.__int__(value), other=_plain)
        case float():
            return typed_json(float.__float__(value), other=_plain)
    raise payload_error(SHAPE, "filters", f"a job carries no {type(value).__name__}; give a text, a number or a time")


@dataclass(frozen=True, kw_only=True)
class DashboardJobs(AnswerJobs):
    """Answers dashboards in the background."""

    questions_of: QuestionsOfJob

    def answer(self, job: JobRecord, actor: Actor, cancel: CancelToken) -> JobOutcome:
        """Return the answers to the charts; one that fails says so in its place."""
        answered, bound = self.questions_of(job, actor, _requested(job), cancel).answered_in_job()
        data = encode_answer(_flat(answered.data), key=job.job_id, seal=self.seal)
        return JobOutcome(state=JobState.SUCCESS, data=data, bound=bound)

    def bound(self, job: JobRecord, actor: Actor) -> str:
        """Return a digest of what binds the actor now on the charts and filters."""
        return self.questions_of(job, actor, _requested(job), None).bound()

    def read(self, job: JobRecord, data: bytes) -> DashboardData:
        """Return the answers."""
        return _read(job, data, self.seal, _dashboard)


@dataclass(frozen=True, kw_only=True)
class PictureJobs(AnswerJobs):
    """Draws charts and dashboards in the background; `runtime_of` gives the parts of a core at the job's moment."""

    queries_of: QueriesOfJob
    questions_of: QuestionsOfJob
    runtime_of: Callable[[JobRecord], ContentRuntime]

    def answer(self, job: JobRecord, actor: Actor, cancel: CancelToken) -> JobOutcome:
        """Return the picture."""
        drawer, chart = PictureDrawer(self.runtime_of(job)), _chart_requested(job)
        if chart is None:
            answered, bound = self.questions_of(job, actor, _requested(job), cancel).answered_in_job()
            picture = DashboardDrawer(drawer, answered).picture(dashboard_look(**_look(job)))
        else:
            queries = self.queries_of(job, actor, cancel)
            answer, bound = queries.answer_job(chart)
            if cancel.cancelled:
                raise StatementStoppedError("the job was cancelled before the chart was drawn")
            title = "" if chart.chart_id is None else queries.chart(chart.chart_id).slice_name
            picture = drawer.of_answer(answer, answer.form, chart_look(**_look(job)), title=title)
        form = {"picture": typed_json(_picture_facts(picture), other=_plain), "failure": picture.failure}
        data = encode_answer(ChartData(results=(), form=form), key=job.job_id, seal=self.seal)
        return JobOutcome(state=JobState.SUCCESS, data=data, bound=bound)

    def bound(self, job: JobRecord, actor: Actor) -> str:
        """Return a digest of what binds the actor now on all that the picture shows."""
        chart = _chart_requested(job)
        if chart is None:
            return self.questions_of(job, actor, _requested(job), None).bound()
        return self.queries_of(job, actor, None).bound_on(chart)

    def read(self, job: JobRecord, data: bytes) -> Picture:
        """Return the picture, which can be saved in its own format alone."""
        return _read(job, data, self.seal, _picture)


# ------------------------------------------------------------------------------------------------------------ payloads
def _requested(job: JobRecord) -> DashboardRequest:
    return _part(job, "dashboard", lambda part: DashboardRequest(**from_typed_json(part)))


def _chart_requested(job: JobRecord) -> ChartJobPayload | None:
    return _part(job, "chart", lambda part: part and ChartJobPayload(**part))


def _look(job: JobRecord) -> dict[str, Any]:
    return _part(job, "look", dict)


def _part(job: JobRecord, name: str, read: Callable[[Any], Result]) -> Result:
    try:
        return read(json.loads(job.payload).get(name))
    except _UNREADABLE:
        raise StoredDataError(f"the payload of job {job.job_id!r} is none that this version reads") from None


# ------------------------------------------------------------------------------------------------------------- results
def _read(job: JobRecord, data: bytes, seal: EntrySeal, read: Callable[[ChartData], Result]) -> Result:
    answer = decode_job_answer(data, job_id=job.job_id, seal=seal)
    try:
        return read(answer)
    except _UNREADABLE:
        raise StoredDataError(f"the store holds no result of job {job.job_id!r} that this version reads") from None


def _flat(data: DashboardData) -> ChartData:
    """Return the results of all charts one behind the other, and all else as a form."""
    answers = [chart.answer for chart in data.charts if chart.answer is not None]
    form = {
        "dashboard_id": data.dashboard_id,
        "notes": data.notes,
        "filters": [typed_json(asdict(state), other=_plain) for state in data.filters],
        "charts": [
            {
                "chart": {"chart_id": chart.chart_id, "name": chart.name, "tabs": chart.tabs},
                "failure": chart.failure,
                "answer": None if chart.answer is None else _facts_of_answer(chart.answer),
            }
            for chart in data.charts
        ],
    }
    return ChartData(results=tuple(result for answer in answers for result in answer.results), form=form)


def _facts_of_answer(answer: ChartData) -> dict[str, Any]:
    types = {"result_type": answer.result_type.value, "result_format": answer.result_format.value}
    return {**types, "form": answer.form, "results": len(answer.results)}


def _dashboard(answer: ChartData) -> DashboardData:
    facts, results = dict(answer.form or {}), iter(answer.results)
    return DashboardData(
        dashboard_id=facts["dashboard_id"],
        charts=tuple(_chart(chart, results) for chart in facts["charts"]),
        filters=tuple(FilterState(**from_typed_json(state)) for state in facts["filters"]),
        notes=tuple(facts["notes"]),
    )


def _chart(facts: Mapping[str, Any], results: Iterator[QueryResult]) -> DashboardChart:
    chart, of_answer, failure = facts["chart"], facts["answer"], facts["failure"]
    answer = of_answer and ChartData(
        results=tuple(islice(results, of_answer["results"])),
        result_type=ResultType(of_answer["result_type"]),
        result_format=ResultFormat(of_answer["result_format"]),
        form=of_answer["form"],
        extra_bundle=picture_bundle_of,
    )
    tabs = tuple(chart["tabs"])
    return DashboardChart(**{**chart, "tabs": tabs}, answer=answer, failure=failure and error_from_json(failure))


def _picture_facts(picture: Picture) -> dict[str, Any]:
    facts = {name: getattr(picture, name) for name in ("description", "width_px", "height_px", "specification")}
    return {**facts, "data": b64encode(picture.data).decode(), "format": picture.format.value}


def _picture(answer: ChartData) -> Picture:
    form = dict(answer.form or {})
    facts, failure = from_typed_json(form["picture"]), form["failure"]
    changed = {"data": b64decode(facts["data"]), "format": PictureFormat(facts["format"])}
    return Picture(**{**facts, **changed}, failure=failure and error_from_json(failure))

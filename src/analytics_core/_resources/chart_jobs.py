"""Jobs of kind `chart-data`: a question to a chart or a query context, answered in the background."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Final

from analytics_core._execution.cancel import CancelToken
from analytics_core._jobs.handlers import JobOutcome
from analytics_core._records.shared_state import JobRecord, JobState
from analytics_core._resources.chart_queries import ChartQueries, JobQuestion
from analytics_core._results.answer import ChartData
from analytics_core._results.answer_bytes import decode_answer, encode_answer
from analytics_core._runtime import Runtime
from analytics_core._security.actor import Actor
from analytics_core._security.keys import EntrySeal
from analytics_core.errors import StoredDataError
from analytics_core.models.enums import QueryStatus

_WORST_FIRST: Final = (JobState.STOPPED, JobState.TIMED_OUT, JobState.FAILED)


class ChartDataJobs:
    """Runs and reads chart queries in the background (a `JobHandler`).

    Args:
        runtime_of: the job's moment -> the parts of a core for which that is now.
        find_actor: tells who acts for a job, with the rights that they have now.
        seal: seals answers, so that whoever writes to the store makes none.
    """

    def __init__(
        self, *, runtime_of: Callable[[JobRecord], Runtime], find_actor: Callable[[JobRecord], Actor], seal: EntrySeal
    ) -> None:
        self._runtime_of = runtime_of
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

    def _queries(self, job: JobRecord, actor: Actor) -> ChartQueries:
        return ChartQueries(self._runtime_of(job), actor)


def question_text(question: JobQuestion) -> str:
    """Return a question as the payload of a job."""
    return json.dumps(asdict(question))


def _question(job: JobRecord) -> JobQuestion:
    try:
        return JobQuestion(**json.loads(job.payload))
    except (TypeError, ValueError):
        raise StoredDataError(f"the payload of job {job.job_id!r} is none that this version reads") from None


def _state_of(answer: ChartData) -> JobState:
    statuses = {result.status for result in answer.results}
    return next((state for state in _WORST_FIRST if QueryStatus(state.value) in statuses), JobState.SUCCESS)

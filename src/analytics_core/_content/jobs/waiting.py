"""Jobs that wait for long: handed over to the runner again, since its queue may have lost them."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from analytics_core._content.jobs.handlers import JobEnds, hand_over
from analytics_core._records.repositories import ListFilter, ListQuery
from analytics_core._records.settings import Settings
from analytics_core._records.shared_state import JobRecord
from analytics_core._tools.log import line_log
from analytics_core.errors import JobError, NotFoundError, StaleVersionError
from analytics_core.models.enums import JobState
from analytics_core.ports import JobRunner, MetadataStore

_LOG = line_log(__name__)
_MOST: Final = 1_000
_LEASES: Final = 2
"""For how many leases of a process (`Settings.job_lease_s`) a job waits before it is handed over again."""


def hand_over_again(
    store: MetadataStore, runner: JobRunner, settings: Settings, *, ends: JobEnds, own: str, now: datetime
) -> None:
    """End the jobs that are lost, and hand over again what waits for long: its id may be in no queue any more.

    The first time after two leases, then whenever the wait has doubled, so that a queue that is only long does not fill
    with copies; whichever copy comes first runs the job. `own` names the process that asks.
    """
    unfinished = ListQuery(
        filters=(ListFilter(col="ended_on", op="is_null", val=True),), order_by=(("id", False),), page_size=_MOST
    )
    with store.unit_of_work() as unit:
        jobs = [ends.settled(unit, job, own=own) for job in unit.jobs.list(unfinished)[1]]
    for job in jobs:
        if not _is_due(job, now, timedelta(seconds=_LEASES * settings.job_lease_s)):
            continue
        try:
            hand_over(runner, job, settings)
        except JobError as error:  # they wait on
            _LOG.error("jobs that wait are not handed over again: %s", error.message)
            return
        with suppress(StaleVersionError, NotFoundError), store.unit_of_work() as unit:  # unless somebody has it already
            unit.jobs.update(job, actor_id=job.author_id)


def _is_due(job: JobRecord, now: datetime, shortest: timedelta) -> bool:
    submitted, handed_over = job.audit.created_on, job.audit.changed_on
    if job.state is not JobState.PENDING or job.worker is not None or submitted is None or handed_over is None:
        return False
    return now - handed_over >= max(shortest, handed_over - submitted)

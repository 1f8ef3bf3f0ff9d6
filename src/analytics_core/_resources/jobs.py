"""`core.jobs`: work in the background, whatever its kind."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

from analytics_core._jobs.handlers import JobKind
from analytics_core._jobs.job import Job
from analytics_core._records.people import User
from analytics_core._records.repositories import ListFilter, ListQuery
from analytics_core._records.shared_state import JobRecord
from analytics_core._resources.listing import check_page
from analytics_core._resources.namespace import Namespace
from analytics_core._results.answer import ChartData
from analytics_core._runtime import Runtime
from analytics_core._security.actor import Actor
from analytics_core._security.keys import Purpose, derived_key
from analytics_core.errors import ActorRequiredError, JobNotFoundError, StoredDataError
from analytics_core.models.cache import CacheWarmUpResult
from analytics_core.models.results import JobItem, JobPage

RESULT_URL = "/api/v1/chart/data/{}"


class Jobs(Namespace):
    """The jobs of one actor; administrators list and stop those of everybody."""

    def get(self, job_id: str) -> Job[ChartData] | Job[tuple[CacheWarmUpResult, ...]]:
        """Return a job that the actor submitted, from any process.

        Raises:
            JobNotFoundError: there is none, or it is somebody else's.
        """
        record = self._runtime.job_registry.find(job_id)
        if record.user_id != self._actor.id:
            raise JobNotFoundError(job_id)
        return job_of(self._runtime, record, find_actor=lambda: self._anew()._actor)

    def list(self, *, page: int = 0, page_size: int = 25) -> JobPage:
        """Return the jobs of the actor, for administrators of everybody, the newest first.

        Args:
            page: counts from 0.
            page_size: jobs of a page, at most 100.

        Raises:
            PayloadError: a page that there cannot be.
        """
        check_page(page, page_size, shape="jobs")
        own = (ListFilter(col="user_id", op="eq", val=self._actor.id),)
        query = ListQuery(
            filters=() if self._actor.is_admin else own, order_by=(("id", True),), page=page, page_size=page_size
        )
        count, jobs = self._runtime.job_registry.list(query)
        return JobPage(count=count, result=tuple(map(_item, jobs)))

    def cancel(self, job_id: str) -> None:
        """Stop a job of the actor, for administrators of anybody, wherever it waits or runs.

        It returns at once; a statement that runs is stopped within a second, in any process. One that is over stays.

        Raises:
            JobNotFoundError: there is none, or it is somebody else's.
        """
        record = self._runtime.job_registry.find(job_id)
        if record.user_id != self._actor.id and not self._actor.is_admin:
            raise JobNotFoundError(job_id)
        self._runtime.job_registry.cancel(job_id)


def submit_job(
    runtime: Runtime, actor: Actor, kind: JobKind, payload: str, *, find_actor: Callable[[], Actor], queue: str = ""
) -> Job[Any]:
    """Submit a job of an actor, with the moment that counts as now, and return what they hold of it.

    Raises:
        ActorRequiredError: the directory does not know the actor.
        JobError: no more work can be taken.
    """
    record = runtime.job_registry.submit(
        kind,
        payload,
        user_id=actor.id,
        claims=claims_of(runtime, actor),
        moment=runtime.clock.now(),
        queue=queue,
    )
    return job_of(runtime, record, find_actor=find_actor)


def job_of(runtime: Runtime, record: JobRecord, *, find_actor: Callable[[], Actor]) -> Job[Any]:
    """Return what an actor holds of a job; `find_actor` tells who reads its result."""
    key = derived_key(runtime.settings.key, Purpose.JOB_CHANNEL)
    channel = hashlib.blake2b(str(record.user_id).encode(), key=key, digest_size=16).hexdigest()
    url = RESULT_URL.format(record.job_id)
    return Job(runtime.job_registry, record, channel_id=channel, result_url=url, find_actor=find_actor)


def _item(job: JobRecord) -> JobItem:
    return JobItem(
        job_id=job.job_id,
        kind=job.kind,
        state=job.state.value,
        user_id=str(job.user_id),
        created_on=job.audit.created_on,
        started_on=job.started_on,
        ended_on=job.ended_on,
        expires_on=job.expires_on,
    )


_CONTEXT: Final = "jobs.claims"


def claims_of(runtime: Runtime, actor: Actor) -> str | None:
    """Return the sealed claims of an actor whose rights are not those of the directory; None where they are.

    Raises:
        ActorRequiredError: the directory does not know the actor, so that no other process could ask about them.
    """
    known = runtime.known_user(actor.id)
    if known is None:
        raise ActorRequiredError(
            f"user {actor.username!r} is in no directory, so that no worker could find them; a job in the background"
        )
    if known.rights() == actor.user.rights():
        return None
    claimed = {name: value for name, value in asdict(actor.user).items() if name != "audit"}
    return runtime.secret_box.seal(json.dumps(claimed), context=_CONTEXT)


def claimed_user(runtime: Runtime, claims: str) -> User:
    """Return the user whom `claims_of` wrote; StoredDataError for anything else."""
    try:
        fields = json.loads(runtime.secret_box.open(claims, context=_CONTEXT))
        lists = {name: tuple(fields[name]) for name in ("role_ids", "role_names")}
        return User(**{**fields, **lists, "attributes": tuple(map(tuple, fields["attributes"]))})
    except (KeyError, TypeError, ValueError):
        raise StoredDataError("the claims of a job are none that this version reads") from None

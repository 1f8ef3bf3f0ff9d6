"""`core.jobs`: work in the background, whatever its kind."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter

from analytics_core._content.field_formatter import answer_as
from analytics_core._content.jobs.handlers import JobKind
from analytics_core._content.jobs.job import Job
from analytics_core._content.lists import check_page
from analytics_core._content.namespace import Namespace
from analytics_core._content.runtime import ContentRuntime
from analytics_core._engine.compile.fingerprint import digest_of
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.keys import Purpose, derived_key, is_marked, marked_key
from analytics_core._records.people import GuestVisit, User
from analytics_core._records.repositories import ListFilter, ListQuery
from analytics_core._records.secret import Secret
from analytics_core._records.shared_state import JobRecord
from analytics_core.errors import ActorRequiredError, JobGoneError, JobNotFoundError, StoredDataError
from analytics_core.models.cache import CacheWarmUpResult
from analytics_core.models.results import JobItem, JobPage

if TYPE_CHECKING:
    from analytics_core._content.pictures.picture import Picture
    from analytics_core._engine.results.answer import ChartData
    from analytics_core._engine.results.dashboard_answer import DashboardData

_MARK = "job of {}"
RESULT_URL = "/api/v1/chart/data/{}"


class Jobs(Namespace):
    """The jobs of one actor; administrators list and stop those of everybody."""

    def get(
        self, job_id: str
    ) -> Job[ChartData] | Job[DashboardData] | Job[Picture] | Job[tuple[CacheWarmUpResult, ...]]:
        """Return a job that the actor submitted, from any process.

        Raises:
            JobNotFoundError: there is none, or it is somebody else's; JobGoneError: it was theirs, and is forgotten.

        Examples:
            >>> job = core.charts.submit(1)
            >>> core.jobs.get(job.job_id).result()[0].rowcount
            3
        """
        record = job_record(self._runtime, job_id, owner=str(self._actor.id))
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

        Examples:
            >>> _ = core.charts.submit(1)
            >>> [(job.kind, job.state.value) for job in core.jobs.list()]
            [('chart-data', 'success')]
        """
        check_page(page, page_size, shape="jobs")
        own = (ListFilter(col="user_id", op="eq", val=self._actor.id),)
        query = ListQuery(
            filters=() if self._actor.is_admin else own, order_by=(("id", True),), page=page, page_size=page_size
        )
        count, jobs = self._runtime.job_registry.list(query)
        items = (answer_as(JobItem, job, state=job.state, user_id=job.owner_text) for job in jobs)
        return JobPage(count=count, result=tuple(items))

    def cancel(self, job_id: str) -> None:
        """Stop a job of the actor, for administrators of anybody, wherever it waits or runs.

        It returns at once; a statement that runs is stopped within a second, in any process. One that is over stays.

        Raises:
            JobNotFoundError: there is none, or it is somebody else's; JobGoneError: it was theirs, and is forgotten.

        Examples:
            >>> job = core.charts.submit(1)
            >>> core.jobs.cancel(job.job_id)
            >>> core.jobs.get(job.job_id).is_over
            True
        """
        record = job_record(self._runtime, job_id, owner=str(self._actor.id))
        if record.user_id != self._actor.id and not self._actor.is_admin:
            raise JobNotFoundError(job_id)
        self._runtime.job_registry.cancel(job_id)


def submit_job(
    runtime: ContentRuntime,
    actor: Actor,
    kind: JobKind,
    payload: str,
    *,
    find_actor: Callable[[], Actor],
    queue: str = "",
    visit: GuestVisit | None = None,
    job_id: str | None = None,
) -> Job[Any]:
    """Submit a job of an actor, with the moment that counts as now, and return what they hold of it.

    `visit` is a guest's: no directory knows them, so that the job holds what their token says. `job_id` is one of
    `new_job_key` that stands in a record already.

    Raises:
        ActorRequiredError: the directory does not know the actor.
        JobError: no more work can be taken.
    """
    owner = str(actor.id) if visit is None else guest_key(visit)
    job = JobRecord(
        job_id=job_id or new_job_key(runtime, owner),
        kind=kind.value,
        payload=payload,
        user_id=actor.id,
        claims=_claims_of(runtime, actor) if visit is None else _claims_text(visit),
        moment=runtime.clock.now(),
        queue=queue,
    )
    return job_of(runtime, runtime.job_registry.submit(job), find_actor=find_actor)


def new_job_key(runtime: ContentRuntime, owner: str) -> str:
    """Return an id that no job has, and that tells whose it is when the job is forgotten."""
    return marked_key(runtime.settings.key, _MARK.format(owner), secrets.token_bytes(24))


def job_record(runtime: ContentRuntime, job_id: str, *, owner: str) -> JobRecord:
    """Return a job, whose ever it is; JobNotFoundError otherwise, JobGoneError where the id was made for this owner."""
    try:
        return runtime.job_registry.find(job_id)
    except JobNotFoundError:
        if is_marked((runtime.settings.key, *runtime.settings.older_keys), _MARK.format(owner), job_id):
            raise JobGoneError(job_id) from None
        raise


def readable_job(
    runtime: ContentRuntime,
    job_id: str,
    kind: JobKind,
    actor: Actor,
    *,
    find_actor: Callable[[], Actor],
    visit: GuestVisit | None = None,
) -> Job[Any]:
    """Return a job of a kind that an actor submitted and may still read; `visit` is a guest's.

    Raises:
        JobNotFoundError: there is none, it is somebody else's, or other rules bind them now.
        JobGoneError: it was theirs, and is forgotten.
        AnalyticsError: what it asks is not open to them any more.
    """
    record = job_record(runtime, job_id, owner=str(actor.id) if visit is None else guest_key(visit))
    is_own = record.user_id == actor.id if visit is None else is_own_of_guest(record, visit)
    if record.kind != kind or not is_own or not runtime.job_registry.handler(record).may_read(record, actor):
        raise JobNotFoundError(job_id)
    return job_of(runtime, record, find_actor=find_actor)


def job_of(runtime: ContentRuntime, record: JobRecord, *, find_actor: Callable[[], Actor]) -> Job[Any]:
    """Return what an actor holds of a job; `find_actor` tells who reads its result."""
    key = derived_key(runtime.settings.key, Purpose.JOB_CHANNEL)
    channel = hashlib.blake2b(_owner_key(record).encode(), key=key, digest_size=16).hexdigest()
    url = RESULT_URL.format(record.job_id)
    return Job(runtime.job_registry, record, channel_id=channel, result_url=url, find_actor=find_actor)


_CLAIMS: Final[TypeAdapter[User | GuestVisit]] = TypeAdapter(User | GuestVisit)


def _claims_of(runtime: ContentRuntime, actor: Actor) -> Secret | None:
    """Return the claims of an actor whose rights are not those of the directory; None where they are.

    Raises:
        ActorRequiredError: the directory does not know the actor, so that no other process could ask about them.
    """
    known = runtime.known_user(actor.id)
    if known is None:
        raise ActorRequiredError(
            f"user {actor.username!r} is in no directory, so that no worker could find them; a job in the background"
        )
    return None if known.rights() == actor.user.rights() else _claims_text(actor.user)


def _claims_text(acting: User | GuestVisit) -> Secret:
    return Secret(json.dumps(_CLAIMS.dump_python(acting, mode="json", exclude={"audit"})))


def claimed(job: JobRecord) -> User | GuestVisit:
    """Return who acts for a job that holds claims; StoredDataError when it holds none that can be read."""
    try:
        return _CLAIMS.validate_python(json.loads(job.claims.reveal() if job.claims is not None else ""))
    except ValueError:
        raise StoredDataError(f"the claims of job {job.job_id!r} are none that this version reads") from None


def is_own_of_guest(job: JobRecord, visit: GuestVisit) -> bool:
    """Tell whether a guest with the same user, dashboards and rules submitted a job, with whichever token."""
    try:
        return not job.user_id and _owner_key(job) == guest_key(visit)
    except StoredDataError:  # whose it is cannot be told any more
        return False


def _owner_key(job: JobRecord) -> str:
    """Return what all jobs of one owner have in common, and no job of anybody else."""
    if job.user_id:
        return str(job.user_id)
    acting = claimed(job)
    if not isinstance(acting, GuestVisit):
        raise StoredDataError(f"the claims of job {job.job_id!r} are no guest's")
    return guest_key(acting)


def guest_key(visit: GuestVisit) -> str:
    """Return what all visits of one guest have in common: those with the same user, dashboards and rules."""
    return f"guest {digest_of(visit.grant.rights())}"

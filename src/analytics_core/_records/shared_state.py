"""What processes share through the store: jobs and their results, locks, OAuth 2.0 tokens, small texts under keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from analytics_core._records.audit import StoredRecord
from analytics_core._records.secret import Secret
from analytics_core.models.enums import JobState

NEXT_STATES: Final[Mapping[JobState, frozenset[JobState]]] = {
    JobState.PENDING: frozenset({JobState.RUNNING, JobState.STOPPED, JobState.FAILED, JobState.LOST}),
    JobState.RUNNING: frozenset(
        {JobState.SUCCESS, JobState.FAILED, JobState.STOPPED, JobState.TIMED_OUT, JobState.LOST}
    ),
    JobState.SUCCESS: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.STOPPED: frozenset(),
    JobState.TIMED_OUT: frozenset(),
    JobState.LOST: frozenset(),
}
"""Which states may follow each one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord(StoredRecord):
    """A job of `user_id` (0: of a guest); `payload` and `error` are JSON texts, times are aware and in UTC.

    A process claims the job by storing it as running with a token of its own as `worker`: of two that try, the store
    refuses one (StaleVersionError). It holds the job while its lease (`JobWorker`) holds; where nobody holds a waiting
    job, it counts as lost after `lease_until`. `claims` are what a host says of the user beyond its directory, or what
    a guest's token says; the store seals them. `moment` is the pinned present of the question, `bound` a digest of what
    bound the actor, `result_bytes` the size of the result in its parts. After `expires_on` (None: never) the job counts
    as gone. `traceparent` is the span in which the job was submitted, as the W3C writes it.
    """

    job_id: str
    kind: str
    payload: str
    user_id: int
    claims: Secret | None = None
    queue: str = ""
    moment: datetime | None = None
    state: JobState = JobState.PENDING
    cancel_requested: bool = False
    worker: str | None = None
    lease_until: datetime | None = None
    started_on: datetime | None = None
    ended_on: datetime | None = None
    bound: str | None = None
    error: str | None = None
    result_bytes: int | None = None
    expires_on: datetime | None = None
    traceparent: str | None = None

    @property
    def author_id(self) -> int | None:
        """Who writes the record: its user, or nobody that the store knows."""
        return self.user_id or None

    @property
    def owner_text(self) -> str | None:
        """The user's id as the contract writes it; None for a guest's job."""
        return str(self.user_id) if self.user_id else None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResultPart(StoredRecord):
    """A piece of a job's result; those of one job, in the order of their positions, are the whole."""

    job_record_id: int
    position: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JobWorker(StoredRecord):
    """A process that holds jobs under its `token` until `lease_until`, by the store's own time (`UnitOfWork.now`)."""

    token: str
    lease_until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A lock that is held: `owner` gives it back, and nobody else knows it.

    Of two leases of one name the later one has the higher `fencing_number`. What is written under a lock can keep that
    number, and refuse a lower one: it comes from a holder whose time was over without their noticing.
    """

    name: str
    owner: str = field(repr=False)
    fencing_number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LockRecord(StoredRecord):
    """A lock in the metadata store: `owner` holds it until `ends_on`, by the store's own time (`UnitOfWork.now`).

    Its id is the fencing number: a name that is held anew is a new record, and no id is given twice.
    """

    name: str
    owner: str
    ends_on: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuth2TokenRecord(StoredRecord):
    """The OAuth 2.0 tokens of one user for one database; the store seals them for these two.

    They were given to `client`, a digest of our registration at the provider: another one may not use them. An access
    token without `access_token_expiration` (aware, in UTC) never expires. Whoever refreshes them holds them until
    `refresh_until`, by the store's own time (`UnitOfWork.now`); None: nobody does.
    """

    user_id: int
    database_id: int
    client: str
    access_token: Secret | None = None
    access_token_expiration: datetime | None = None
    refresh_token: Secret | None = None
    refresh_until: datetime | None = None

    def is_fresh(self, now: datetime) -> bool:
        """Tell whether the access token may be used at this moment; at its expiration it may not."""
        end = self.access_token_expiration
        return self.access_token is not None and (end is None or now < end)

    @property
    def useless_after(self) -> datetime | None:
        """When the tokens are of no use any more; None: a refresh token gives others, or they never expire."""
        return None if self.refresh_token is not None else self.access_token_expiration


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyValue(StoredRecord):
    """A JSON text under a key that is unique among its `kind`; after `expires_on` (None: never) it counts as gone."""

    kind: str
    key: str
    value: str
    expires_on: datetime | None = None

"""Who made and changed a record, who did what, and what an operator may know of a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The audit columns of a record; times are aware and in UTC, users are ids (None: unknown or deleted).

    `version` starts at 1 and grows by one with each update; an update names the version it was made on.
    """

    created_on: datetime | None = None
    changed_on: datetime | None = None
    created_by: int | None = None
    changed_by: int | None = None
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRecord:
    """What every record of the store has: its id, which is 0 before it is stored, and its audit columns."""

    id: int = 0
    audit: Audit = field(default_factory=Audit)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry(StoredRecord):
    """One act; `slice_id` is the contract's name of a chart's id, `json` is a JSON text, `dttm` is aware and in UTC."""

    action: str
    dttm: datetime
    user_id: int | None = None
    dashboard_id: int | None = None
    slice_id: int | None = None
    duration_ms: int | None = None
    json: str | None = None
    referrer: str | None = None


class ObservationKind(StrEnum):
    """Which work is observed; all but questions only by a `WorkObserver`."""

    QUESTION = "question"
    STATEMENT = "statement"
    SIGN_IN = "sign_in"
    JOB = "job"
    REPORT = "report"
    DELIVERY = "delivery"
    PICTURE = "picture"


class WorkSpan:
    """What a `WorkObserver` makes of work that begins, and finds again in its observation; observers derive theirs."""

    __slots__ = ()

    def leave(self) -> None:
        """End what `WorkObserver.begin` did to the context of its thread; called once, in that context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Work that is over, without a value: neither of rows, nor of filters, nor a name or a secret.

    Attributes:
        kind: a question and its answer, or other work of which only a `WorkObserver` hears.
        actor_id: who asked; None for a guest, and where nobody did.
        dataset_id: what was asked; None where the question named none, and of other work.
        database_id, engine: of the dataset, or where a statement ran; None where they are not known.
        result_type: of a question what the contract calls so: `full`, `samples`, `drill_detail` ..., or `sql`; of a
            statement `query`, `script` or `estimate`; of a sign-in to a database `connection`, `authorization` or
            `renewal`; the kind of a job, of a recipient or of a schedule (`Alert`, `Report`); the format of a
            picture.
        is_cached: whether the answer was there already.
        rows: how many were answered; None when it failed, and of work that gives none.
        steps_ms: milliseconds of each step of a question: `prepare` (plan and compile), `database` (all statements),
            `results` (cache, post-processing, shaping) and `annotations`; empty for other work.
        error_type: the contract's name of the error, such as `GENERIC_DB_ENGINE_ERROR`, or the class of one that
            nobody expected; None when there is none.
        fingerprint: the same for questions whose statement differs in bound values alone; None without a statement.
        duration_ms: milliseconds from the beginning to the end; None where the beginning was not observed.
        waited_ms: milliseconds that a job waited before it began, and that a report began after it was due.
        result_bytes: of the rows of a statement as they were fetched, of a picture, or of a job's result.
        span: what `WorkObserver.begin` gave; None for other observers.
    """

    kind: ObservationKind = ObservationKind.QUESTION
    actor_id: int | None
    dataset_id: int | None
    database_id: int | None = None
    engine: str | None = None
    result_type: str
    is_cached: bool = False
    rows: int | None = None
    steps_ms: Mapping[str, float]
    error_type: str | None = None
    fingerprint: str | None = None
    duration_ms: float | None = None
    waited_ms: float | None = None
    result_bytes: int | None = None
    span: WorkSpan | None = field(default=None, repr=False, compare=False)

    @property
    def total_ms(self) -> float:
        """Milliseconds of all steps of a question, or of other work."""
        return sum(self.steps_ms.values()) if self.steps_ms else self.duration_ms or 0.0

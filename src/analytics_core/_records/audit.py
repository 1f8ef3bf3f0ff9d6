"""Who made and changed a record, who did what, and what an operator may know of a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


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
    user_id: int | None = None
    dashboard_id: int | None = None
    slice_id: int | None = None
    dttm: datetime | None = None
    duration_ms: int | None = None
    json: str | None = None
    referrer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One question and its answer, without a value: neither of rows, nor of filters, nor a name or a secret.

    Attributes:
        actor_id: who asked; None for a guest.
        dataset_id: what was asked; None where the question named none.
        database_id, engine: of the dataset; None where it could not be read.
        result_type: as the contract calls it: `full`, `samples`, `drill_detail` ...
        is_cached: whether the answer was there already.
        rows: how many were answered; None when the question failed.
        steps_ms: milliseconds of each step that was taken: `prepare` (plan and compile), `database` (all statements),
            `results` (cache, post-processing, shaping) and `annotations`.
        error_type: the contract's name of the error, such as `GENERIC_DB_ENGINE_ERROR`; None when there is none.
        fingerprint: the same for questions whose statement differs in bound values alone; None without a statement.
    """

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

    @property
    def total_ms(self) -> float:
        """Milliseconds of all steps."""
        return sum(self.steps_ms.values())

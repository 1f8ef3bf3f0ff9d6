"""Who made and changed a record, when, and which version it is."""

from __future__ import annotations

from dataclasses import dataclass
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

"""A log entry: who did what, when, and how long it took."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from analytics_core._records.audit import Audit


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One act; `slice_id` is the contract's name of a chart's id, `json` is a JSON text, `dttm` is aware and in UTC."""

    id: int = 0
    action: str
    user_id: int | None = None
    dashboard_id: int | None = None
    slice_id: int | None = None
    dttm: datetime | None = None
    duration_ms: int | None = None
    json: str | None = None
    referrer: str | None = None
    audit: Audit = field(default_factory=Audit)

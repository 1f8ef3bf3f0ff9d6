"""Changes on what the caller read: a record that somebody else changed since is not written over."""

from __future__ import annotations

from datetime import UTC, datetime

from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.dataset import Dataset
from analytics_core.errors import PayloadSchemaError, Problem, StaleVersionError


def refuse_later_change(record: Chart | Dashboard | Dataset, unchanged_since: object) -> None:
    """Raise StaleVersionError when the record has changed since this moment; a naive one is UTC, None asks nothing."""
    if unchanged_since is None:
        return
    kind = type(record).__name__.lower()
    read_on = _moment(unchanged_since, kind)
    changed_on = record.audit.changed_on
    if changed_on is not None and changed_on > read_on:
        raise StaleVersionError(kind, record.id)


def _moment(value: object, kind: str) -> datetime:
    """Return a moment, or the ISO 8601 text of one, as lists give it; a day alone is no moment."""
    read = _from_text(value) if isinstance(value, str) else value
    if not isinstance(read, datetime):
        problem = Problem(path="unchanged_since", message="must be a moment, such as `changed_on` of an answer")
        raise PayloadSchemaError(shape=f"{kind}s.update", problems=[problem])
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def _from_text(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if "T" in text else None
    except ValueError:
        return None

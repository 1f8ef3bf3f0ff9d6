"""Changes of records: logged with what they do, repeated when others are faster, never written over unread ones."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from analytics_core._content.runtime import ContentRuntime
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.audit import LogEntry, StoredRecord
from analytics_core._records.chart import Annotation, AnnotationLayer, Chart
from analytics_core._records.dashboard import CssTemplate, Dashboard, EmbeddedDashboard, Tag
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.people import Role, RowRule, User
from analytics_core._records.report import ReportSchedule
from analytics_core._records.repositories import Record, Repository, UnitOfWork
from analytics_core._records.sql_query import SavedQuery
from analytics_core.errors import StaleVersionError
from analytics_core.models.base import StrictShape
from analytics_core.models.parsing import payload_error
from analytics_core.ports import Clock

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_NAMES: Mapping[type[StoredRecord], tuple[str, str]] = {
    Annotation: ("annotation", "annotations"),
    AnnotationLayer: ("annotation layer", "annotation_layers"),
    Chart: ("chart", "charts"),
    CssTemplate: ("CSS template", "css_templates"),
    Dashboard: ("dashboard", "dashboards"),
    Database: ("database", "databases"),
    Dataset: ("dataset", "datasets"),
    EmbeddedDashboard: ("embedded dashboard", "embedded"),
    ReportSchedule: ("report schedule", "reports"),
    Role: ("role", "roles"),
    RowRule: ("row rule", "row_level_security"),
    SavedQuery: ("saved query", "saved_queries"),
    Tag: ("tag", "tags"),
    User: ("user", "users"),
}
"""What a record is called, and the namespace whose `update` changes it."""


def reject_later_change(record: StoredRecord, unchanged_since: object) -> None:
    """Raise StaleVersionError when the record has changed since this moment; a naive one is UTC, None asks nothing.

    The store gives each version of a record a later moment than the one before, also where the clock does not move on:
    the moment of a version tells it from all others.
    """
    if unchanged_since is None:
        return
    noun, namespace = _NAMES[type(record)]
    read_on = _moment(unchanged_since, namespace)
    changed_on = record.audit.changed_on
    if changed_on is not None and changed_on > read_on:
        raise StaleVersionError(noun, record.dashboard_id if isinstance(record, EmbeddedDashboard) else record.id)


def _moment(value: object, namespace: str) -> datetime:
    """Return a moment, or the ISO 8601 text of one, as lists give it; a day alone is no moment."""
    read = _from_text(value) if isinstance(value, str) else value
    if not isinstance(read, datetime):
        raise payload_error(
            f"{namespace}.update", "unchanged_since", "must be a moment, such as `changed_on` of an answer"
        )
    return read.replace(tzinfo=UTC) if read.utcoffset() is None else read


def _from_text(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if "T" in text else None
    except ValueError:
        return None


def changes_of(
    payload: StrictShape, kind: type[DataclassInstance], *, without: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Return what a payload changes of a record, by the payload's names, without some of them.

    Null clears the fields that are null at first, and leaves all others as they are; a UUID stays.
    """
    nullable = {one.name for one in fields(kind) if one.default is None} - {"uuid"}
    given = ((name, value) for name, value in payload.given().items() if name not in without)
    return {name: value for name, value in given if value is not None or name in nullable}


Result = TypeVar("Result")
Stored = TypeVar("Stored", bound=StoredRecord)
Arguments = ParamSpec("Arguments")

_ATTEMPTS = 10
_LONGEST_PAUSE_S = 0.01
"""Of the first pauses; later ones are longer, so that many writers of one record get out of each other's way."""


def until_accepted(change: Callable[[], Result], *, stale: str | None = None) -> Result:
    """Return the result of a change that reads, changes and writes in a unit of work of its own.

    With `stale`, a kind of record, only a change of such records by others makes it repeat.

    Raises:
        StaleVersionError: somebody else was faster ten times in a row, or changed a record of another kind.
    """
    attempt = 0
    while True:
        attempt += 1
        try:
            return change()
        except StaleVersionError as error:
            if stale not in (None, error.resource):
                error.retryable = False  # it is what the caller read
                raise
            if attempt == _ATTEMPTS:
                raise
        time.sleep(random.uniform(0, _LONGEST_PAUSE_S * attempt))  # noqa: S311 - a pause is no secret


def repeated(change: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return a method that repeats its change as `until_accepted` does, unless it is told `unchanged_since`.

    A caller that says nothing of what they read gives values that hold whatever was stored in the meantime.
    """

    @wraps(change)
    def repeating(*args: Arguments.args, **named: Arguments.kwargs) -> Result:
        if named.get("unchanged_since") is not None:
            return until_accepted(lambda: change(*args, **named), stale="")  # what the caller read stays stale
        return until_accepted(lambda: change(*args, **named))

    return repeating


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedAction:
    """An act that has begun; `log` ends it. `actor_id` is None for a guest: no stored user did it."""

    action: str
    actor_id: int | None
    started_s: float
    clock: Clock

    def add(self, unit: UnitOfWork, repository: Repository[Stored], record: Stored, key: str) -> Stored:
        """Store a new record and log it, with its id under this key."""
        stored = repository.add(record, actor_id=self.actor_id)
        self.log(unit, details={key: stored.id})
        return stored

    def delete(self, unit: UnitOfWork, repository: Repository[Record], record_id: int, **logged: Any) -> None:
        """Remove a record and log it."""
        repository.delete(record_id)
        self.log(unit, **logged)

    def update(
        self, unit: UnitOfWork, repository: Repository[Record], before: Record, after: Record, **logged: Any
    ) -> Record:
        """Store a changed record and log it; one that is what it was is neither, and keeps its version and moment."""
        if after == before:
            return before
        stored = repository.update(after, actor_id=self.actor_id)
        self.log(unit, **logged)
        return stored

    def log(
        self,
        unit: UnitOfWork,
        *,
        chart_id: int | None = None,
        dashboard_id: int | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the act with what it was done to; `details` are JSON values, never secrets."""
        entry = LogEntry(
            action=self.action,
            user_id=self.actor_id,
            dashboard_id=dashboard_id,
            slice_id=chart_id,
            dttm=self.clock.now(),
            duration_ms=round((self.clock.monotonic() - self.started_s) * 1000),
            json=json.dumps(details, ensure_ascii=False) if details else None,
        )
        unit.logs.append(entry, actor_id=self.actor_id)


def begin_act(runtime: ContentRuntime, actor: Actor, action: str) -> LoggedAction:
    """Return an act that begins now; `action` is `resource.verb`, for example `dashboard.update`."""
    return LoggedAction(
        action=action, actor_id=actor.stored_id, started_s=runtime.wall_clock.monotonic(), clock=runtime.wall_clock
    )

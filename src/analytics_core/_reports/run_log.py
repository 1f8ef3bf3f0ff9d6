"""The log of runs: what becomes of each, and of each of its messages, recorded before and after it is sent."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from analytics_core._content.changes import until_accepted
from analytics_core._content.jobs.heartbeat import is_dead
from analytics_core._records.message import Delivery, DeliveryState, Message, Recipient, shown_address
from analytics_core._records.report import (
    ReportDelivery,
    ReportExecution,
    ReportProgress,
    ReportSchedule,
    RunCause,
    RunState,
)
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._records.shared_state import JobRecord
from analytics_core._reports.alerts import Verdict, row_text
from analytics_core._reports.claims import kept_for
from analytics_core._reports.content import Content
from analytics_core._reports.messages import (
    manifest,
    tell_owners,
)
from analytics_core._reports.options import DeliveryPromise, options_of
from analytics_core._reports.runtime import ReportsRuntime
from analytics_core._reports.states import RunEvent, is_notice_due, is_within_grace, next_state
from analytics_core._tools.log import line_log
from analytics_core.errors import (
    ErrorType,
    NotFoundError,
    NotificationError,
    StoreUnavailableError,
)

ON_GRACE: Final = "within the grace period of the alert, whose query was not asked"
TOOK_TOO_LONG: Final = "the run took longer than its working_timeout"
EMPTY: Final = "there are no rows, and the schedule sends nothing then (extra.skip_when_empty)"
DEACTIVATED: Final = "the schedule was deactivated; what was not sent by then was not sent"
DIED_MIDWAY: Final = "the process that sent it died before it could record what became of it"
_SENDING: Final = "sending"
_IN_DOUBT: Final = (_SENDING, DeliveryState.UNKNOWN.value)
_STORE_AWAY_S: Final = 120.0
_STORE_PAUSE_S: Final = 1.0
_OLD_ROWS: Final = 1_000
_FEW: Final = 100
_MOST_DELIVERIES: Final = 100_000

_LOG = line_log(__name__)

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentRun:
    """A run that this process does: the schedule as it was when it began, its row, and the process by its lease.

    `progress` is where the schedule stood when this process read it last; None: it was not read, or is to be read anew.
    """

    schedule: ReportSchedule
    execution: ReportExecution
    worker: str | None = None
    progress: ReportProgress | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedDelivery:
    """A message on its way: to which addresses, what is wrong with others, and what the store has of the former."""

    addresses: Sequence[str]
    failures: Sequence[NotificationError]
    rows: Mapping[str, ReportDelivery]


class RunEndedError(Exception):
    """The run is not this process's any more: somebody else ended it, or has it, or may have it."""


class RunLog:
    """Writes what becomes of runs; each act is a transaction of its own."""

    def __init__(self, runtime: ReportsRuntime) -> None:
        self.runtime = runtime

    def begin(self, execution_id: int, job: JobRecord) -> CurrentRun | None:
        """Record that a run begins; None where it is over, belongs to another job, or need not be done."""

        def begin() -> CurrentRun | None:
            with self.runtime.content.store.unit_of_work() as unit:
                return self._begin(unit, execution_id, job)

        try:
            return until_accepted(begin)
        except NotFoundError:  # the schedule was deleted
            return None

    def _begin(self, unit: UnitOfWork, execution_id: int, job: JobRecord) -> CurrentRun | None:
        execution = unit.report_executions.get(execution_id)
        if execution.end_dttm is not None or execution.job_id != job.job_id:
            return None
        schedule = unit.report_schedules.get(execution.schedule_id)
        timeout = schedule.working_timeout
        begun = replace(
            execution,
            start_dttm=execution.start_dttm or self._now(),
            lease_until=None,
            late_on=None if timeout is None else unit.now() + timedelta(seconds=timeout),
        )
        stored = unit.report_executions.update(begun, actor_id=None)
        run = CurrentRun(schedule=schedule, execution=stored, worker=job.worker)
        if not schedule.active and stored.cause is not RunCause.MANUAL:
            self._end(unit, run, RunEvent.DEACTIVATED, message=DEACTIVATED)
            return None
        progress = unit.report_progress.find(schedule_id=schedule.id)
        run = replace(run, progress=progress)
        last = None if progress is None else progress.last_success_on
        in_grace = is_within_grace(grace_s=schedule.grace_period, last_success=last, now=self._moment(run))
        if schedule.is_alert and run.execution.cause is not RunCause.MANUAL and in_grace:
            self._end(unit, run, RunEvent.BEGUN_WITHIN_GRACE, message=ON_GRACE)
            return None
        return replace(run, progress=self._stand(unit, run, RunState.WORKING)[0])

    def has_begun_to_send(self, run: CurrentRun, recipient: Recipient | None = None) -> bool:
        """Tell whether a run before this one, of the same due time, has begun to send, to this recipient or to any."""
        with self.runtime.content.store.unit_of_work() as unit:
            if recipient is not None:
                return bool(_known_deliveries(unit, run.execution, [_key(recipient, recipient.addresses[0])]))
            of_run = (ListFilter(col="execution_id", op="eq", val=run.execution.id),)
            return bool(unit.report_deliveries.list(ListQuery(filters=of_run, page_size=1))[1])

    def end(
        self,
        run: CurrentRun,
        event: RunEvent,
        *,
        message: str | None = None,
        error_type: ErrorType = ErrorType.GENERIC_COMMAND_ERROR,
        verdict: Verdict | None = None,
        messages: Sequence[tuple[Recipient, Content]] = (),
    ) -> bool:
        """Record how a run ended; return whether its owners are to be told.

        Raises:
            RunEndedError: somebody else ended it.
        """

        def end(unit: UnitOfWork, held: CurrentRun) -> bool:
            done = replace(held, execution=replace(held.execution, **_facts(verdict, messages, held)))
            return self._end(unit, done, event, message=message, error_type=error_type)

        is_told = self._changed(run, end)
        _log_failure(run.schedule, run.execution, event, message)
        return is_told

    def keep(self, run: CurrentRun, verdict: Verdict) -> CurrentRun:
        """Record what an alert found before it is told to anybody: whoever takes the run up tells the others the same.

        Return the run as it is now.

        Raises:
            RunEndedError: somebody else ended it.
        """

        def keep(unit: UnitOfWork, held: CurrentRun) -> CurrentRun:
            found = replace(held.execution, **_facts(verdict, (), held))
            return replace(held, execution=unit.report_executions.update(found, actor_id=None))

        return self._changed(run, keep)

    def put_off(self, run: CurrentRun, seconds: float, *, message: str) -> None:
        """Leave a run to whoever looks after so many seconds, by the store's time: it was done, and lost no attempt.

        Raises:
            RunEndedError: somebody else ended it.
        """

        def put_off(unit: UnitOfWork, held: CurrentRun) -> None:
            waits = replace(
                held.execution,
                error_message=message,
                job_id=None,
                attempts=held.execution.attempts - 1,
                lease_until=unit.now() + timedelta(seconds=seconds),
                late_on=None,
            )
            unit.report_executions.update(waits, actor_id=None)

        self._changed(run, put_off)
        _LOG.warning("a run of report schedule %s goes on in %.0f s: %s", run.schedule.id, seconds, message)

    def close(
        self, execution: ReportExecution, event: RunEvent, message: str, error_type: ErrorType
    ) -> ReportSchedule | None:
        """End a run that another process does or did; return the schedule whose owners are to be told, None: nobody is.

        Where it is over meanwhile, nothing happens.
        """

        def end() -> tuple[ReportSchedule, bool]:
            with self.runtime.content.store.unit_of_work() as unit:
                schedule = unit.report_schedules.get(execution.schedule_id)
                held = self._held(unit, CurrentRun(schedule=schedule, execution=execution))
                return schedule, self._end(unit, held, event, message=message, error_type=error_type)

        try:
            schedule, is_told = until_accepted(end)
        except (RunEndedError, NotFoundError):
            return None
        _log_failure(schedule, execution, event, message)
        return schedule if is_told else None

    def tell_owners(self, execution_id: int) -> None:
        """Tell the owners of a schedule of a run that failed; nobody where either is gone."""
        with suppress(NotFoundError):
            with self.runtime.content.store.unit_of_work() as unit:
                execution = unit.report_executions.get(execution_id)
                schedule = unit.report_schedules.get(execution.schedule_id)
            tell_owners(self.runtime, schedule, execution, execution.error_message or "")

    def _end(
        self,
        unit: UnitOfWork,
        run: CurrentRun,
        event: RunEvent,
        *,
        message: str | None = None,
        error_type: ErrorType = ErrorType.GENERIC_COMMAND_ERROR,
    ) -> bool:
        state = next_state(run.execution.state, event)
        over = replace(
            run.execution,
            state=state,
            end_dttm=self._now(),
            error_message=message,
            error_type=error_type.value if state is RunState.ERROR else None,
            lease_until=None,
            late_on=None,
        )
        unit.report_executions.update(over, actor_id=None)
        _, is_told = self._stand(unit, replace(run, execution=over), state)
        self._forget_old(unit, run.schedule)
        return is_told

    def _stand(self, unit: UnitOfWork, run: CurrentRun, state: RunState) -> tuple[ReportProgress, bool]:
        """Record where the schedule stands now; return that, and whether its owners are to be told of an error."""
        progress = run.progress or unit.report_progress.find(schedule_id=run.schedule.id)
        progress = progress or ReportProgress(schedule_id=run.schedule.id)
        execution, now = run.execution, self._moment(run)
        changes: dict[str, Any] = {"last_eval_dttm": now, "last_state": state.value}
        if state is not RunState.ON_GRACE:
            changes |= {"last_value": execution.value, "last_value_row_json": execution.value_row_json}
        is_told = state is RunState.ERROR and is_notice_due(
            grace_s=run.schedule.grace_period, last_notice=progress.last_notice_on, now=now
        )
        if state is RunState.SUCCESS:
            changes |= {"last_success_on": now, "last_notice_on": None}
        elif state is RunState.NOT_TRIGGERED:
            changes |= {"last_notice_on": None}
        elif is_told:
            changes |= {"last_notice_on": now}
        stands, kept = replace(progress, **changes), unit.report_progress
        return (kept.update if progress.id else kept.add)(stands, actor_id=None), is_told

    def _forget_old(self, unit: UnitOfWork, schedule: ReportSchedule) -> None:
        """Forget runs that are older than the schedule keeps them, a thousand at a time; it has none when it is new."""
        kept, made_on = kept_for(schedule.log_retention), schedule.audit.created_on
        if kept is None or (made_on is not None and made_on > self._now() - kept):
            return
        filters = (
            ListFilter(col="schedule_id", op="eq", val=schedule.id),
            ListFilter(col="end_dttm", op="lt", val=self._now() - kept),
        )
        _, old = unit.report_executions.distinct("id", ListQuery(filters=filters, page_size=_OLD_ROWS))
        if old:
            unit.report_executions.delete_matching([ListFilter(col="id", op="in", val=tuple(old))])

    # ------------------------------------------------------------------------------------------------- deliveries
    def open_delivery(
        self, run: CurrentRun, recipient: Recipient, message: Message, *, only: Collection[str] | None = None
    ) -> OpenedDelivery:
        """Record that a message is on its way, and return to whom, and what is wrong with others.

        Left out are addresses that it went to before. Where the process that sent it died before it could record what
        became of it, the schedule says whether it goes there again. `only` are the addresses in question, None all.

        Raises:
            RunEndedError: somebody else ended the run, or may: the lease of this process is over, by the store's time.
        """

        def opened() -> OpenedDelivery:
            with self.runtime.content.store.unit_of_work() as unit:
                asked = recipient.addresses if only is None else tuple(only)
                if run.worker is not None and is_dead(unit, run.worker):
                    raise RunEndedError
                return self._opened(unit, self._held(unit, run), recipient, message, asked)

        return until_accepted(opened)

    def _opened(
        self, unit: UnitOfWork, run: CurrentRun, recipient: Recipient, message: Message, asked: Sequence[str]
    ) -> OpenedDelivery:
        repeats = options_of(run.schedule.extra).delivery is DeliveryPromise.AT_LEAST_ONCE
        keys = {address: _key(recipient, address) for address in asked}
        known = _known_deliveries(unit, run.execution, tuple(keys.values()))
        rows: dict[str, ReportDelivery] = {}
        told: list[NotificationError] = []
        for address, key in keys.items():
            before = known.get(key)
            if before is None:
                new = _sending(run.execution, recipient, message, address)
                rows[address] = unit.report_deliveries.add(new, actor_id=None)
            elif before.state == DeliveryState.UNAVAILABLE or (repeats and before.state in _IN_DOUBT):
                again = replace(before, state=_SENDING, reason=None, attempts=before.attempts + 1)
                rows[address] = unit.report_deliveries.update(again, actor_id=None)
            else:
                told += _settled(unit, before)
        return OpenedDelivery(addresses=tuple(rows), failures=told, rows={keys[one]: row for one, row in rows.items()})

    def pause_delivery(
        self,
        run: CurrentRun,
        recipient: Recipient,
        message: Message,
        found: Sequence[Delivery],
        sleep: Callable[[], None],
    ) -> None:
        """Wait for the next attempt; whoever takes up the run meanwhile knows what became of the ones before.

        Raises:
            RunEndedError: somebody else ended the run, or has it.
        """
        self.close_delivery(run, recipient, found)
        sleep()
        self.open_delivery(run, recipient, message, only=[one.address for one in found if not one.is_delivered])

    def close_delivery(
        self,
        run: CurrentRun,
        recipient: Recipient,
        found: Sequence[Delivery],
        rows: Mapping[str, ReportDelivery] | None = None,
    ) -> None:
        """Record what became of a message at each address that it was sent to.

        `rows` are what the store had of them, as far as this process knows: versions tell whether that is so still.
        """
        keys = [_key(recipient, delivery.address) for delivery in found]
        known = rows

        def close() -> None:
            nonlocal known
            with self.runtime.content.store.unit_of_work() as unit:
                stored, known = _known_deliveries(unit, run.execution, keys) if known is None else known, None
                for key, delivery in zip(keys, found, strict=True):
                    before = stored.get(key)
                    if before is not None:
                        done = replace(before, state=delivery.state.value, reason=delivery.reason or None)
                        unit.report_deliveries.update(done, actor_id=None)

        try:
            self._patiently(close)
        except NotFoundError:  # one that was known is gone
            self._patiently(close)

    # ----------------------------------------------------------------------------------------------------- inside
    def _changed(self, run: CurrentRun, change: Callable[[UnitOfWork, CurrentRun], Result]) -> Result:
        """Return the result of a change of a run, which must not be lost.

        It is made of the run as this process knows it, whose version tells whether it is so still; else it is read.

        Raises:
            RunEndedError: it is over, or another job does it.
        """
        known: CurrentRun | None = run

        def changed() -> Result:
            nonlocal known
            with self.runtime.content.store.unit_of_work() as unit:
                held, known = self._held(unit, run) if known is None else known, None
                return change(unit, held)

        try:
            return self._patiently(changed)
        except NotFoundError:
            raise RunEndedError from None

    def _held(self, unit: UnitOfWork, run: CurrentRun) -> CurrentRun:
        """Return a run with its row as it is now.

        Raises:
            RunEndedError: it is over, or another job does it.
        """
        try:
            now = unit.report_executions.get(run.execution.id)
        except NotFoundError:
            raise RunEndedError from None
        if now.end_dttm is not None or now.job_id != run.execution.job_id:
            raise RunEndedError
        return replace(run, execution=now, progress=None)

    def _patiently(self, change: Callable[[], Result]) -> Result:
        """Return the result of a change that must not be lost: while the store is away it is tried again."""
        begun = self.runtime.content.wall_clock.monotonic()
        while True:
            try:
                return until_accepted(change)
            except StoreUnavailableError as error:
                if not error.retryable or self.runtime.content.wall_clock.monotonic() - begun > _STORE_AWAY_S:
                    raise
                self.runtime.sleeper.sleep(_STORE_PAUSE_S)

    def _now(self) -> datetime:
        return self.runtime.content.wall_clock.now()

    def _moment(self, run: CurrentRun) -> datetime:
        """Return when a run counts as done: now, or its due time, where somebody's clock was put back meanwhile."""
        return max(self._now(), run.execution.scheduled_dttm)


def _log_failure(schedule: ReportSchedule, run: ReportExecution, event: RunEvent, message: str | None) -> None:
    """Tell whoever runs the process that a run ended in Error; where it did not, nothing."""
    if next_state(run.state, event) is RunState.ERROR:
        due, why = run.scheduled_dttm.isoformat(timespec="seconds"), " ".join((message or "").split())
        _LOG.warning("%s %s %r, due %s, ended in error: %s", schedule.type, schedule.id, schedule.name, due, why)


# ------------------------------------------------------------------------------------------------------------- rows
def _facts(
    verdict: Verdict | None, messages: Sequence[tuple[Recipient, Content]], run: CurrentRun
) -> Mapping[str, Any]:
    facts: dict[str, Any] = {}
    if verdict is not None:
        value = verdict.value
        facts["value"] = value if value is not None and math.isfinite(value) else None
        facts["value_row_json"] = None if verdict.value_row is None else row_text(verdict.value_row)
    if messages:
        facts["manifest"] = json.dumps(manifest(run.schedule, [content for _, content in messages]))
    return facts


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _known_deliveries(unit: UnitOfWork, execution: ReportExecution, keys: Sequence[str]) -> dict[str, ReportDelivery]:
    """Return the deliveries of a run to some recipients, by their keys; of many recipients those of all are read."""
    if len(keys) > _FEW:
        of_run = (ListFilter(col="execution_id", op="eq", val=execution.id),)
        query = ListQuery(filters=of_run, page_size=_MOST_DELIVERIES)
        return {delivery.recipient_key: delivery for delivery in unit.report_deliveries.list(query)[1]}
    found = (unit.report_deliveries.find(execution_id=execution.id, recipient_key=key) for key in keys)
    return {delivery.recipient_key: delivery for delivery in found if delivery is not None}


def _settled(unit: UnitOfWork, delivery: ReportDelivery) -> Sequence[NotificationError]:
    """Return what is wrong with a delivery that is not tried again; one that was cut off is in doubt for ever."""
    if delivery.state == _SENDING:
        delivery = replace(delivery, state=DeliveryState.UNKNOWN.value, reason=DIED_MIDWAY)
        unit.report_deliveries.update(delivery, actor_id=None)
    state = DeliveryState(delivery.state)
    error = Delivery(address=delivery.address, state=state, reason=delivery.reason or "").error()
    return [] if error is None else [error]


def _key(recipient: Recipient, address: str) -> str:
    return _sha(f"{recipient.kind}\0{address}")[:64]


def _sending(execution: ReportExecution, recipient: Recipient, message: Message, address: str) -> ReportDelivery:
    return ReportDelivery(
        execution_id=execution.id,
        recipient_key=_key(recipient, address),
        address=shown_address(address),
        state=_SENDING,
        subject=message.subject,
        files=json.dumps([file.name for file in (*message.images, *message.attachments)], ensure_ascii=False),
        attempts=1,
    )

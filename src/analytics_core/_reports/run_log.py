"""The log of runs: what becomes of each, and of each of its messages, recorded before and after it is sent."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from analytics_core._content.changes import until_accepted
from analytics_core._content.jobs.handlers import JobOutcome
from analytics_core._content.jobs.heartbeat import is_dead
from analytics_core._records.message import Delivery, Message, Recipient
from analytics_core._records.report import (
    ReportExecution,
    ReportProgress,
    ReportSchedule,
    RunCause,
    RunState,
)
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._records.shared_state import JobRecord
from analytics_core._reports.alerts import Verdict, row_text
from analytics_core._reports.claims import first_open, retention_of
from analytics_core._reports.content import Content
from analytics_core._reports.delivery_rows import OpenedDelivery, SentMessage, known_deliveries, opened, record
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
    StoreUnavailableError,
)
from analytics_core.models.enums import JobState

ON_GRACE: Final = "within the grace period of the alert, whose query was not asked"
TOOK_TOO_LONG: Final = "the run took longer than its working_timeout"
EMPTY: Final = "there are no rows, and the schedule sends nothing then (extra.skip_when_empty)"
DEACTIVATED: Final = "the schedule was deactivated; what was not sent by then was not sent"
ALONE: Final = "alone"
"""The note of the job of a run behind which none of its schedule waits."""

_DONE: Final = JobOutcome(state=JobState.SUCCESS, data=b"")
_STORE_AWAY_S: Final = 120.0
_STORE_PAUSE_S: Final = 1.0
_OLD_ROWS: Final = 1_000

_LOG = line_log(__name__)

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentRun:
    """A run that this process does: the schedule as it was when it began, its row, and its job as it was claimed.

    `progress` is where the schedule stood when this process read it last; None: it was not read, or is to be read anew.
    `is_first`: nobody began it before, so that nothing was sent of it.
    """

    schedule: ReportSchedule
    execution: ReportExecution
    job: JobRecord | None = None
    progress: ReportProgress | None = None
    is_first: bool = False


class RunEndedError(Exception):
    """The run is not this process's any more: somebody else ended it, or has it, or may have it."""


class RunLog:
    """Writes what becomes of runs; each act is a transaction of its own, but for the beginning."""

    def __init__(self, runtime: ReportsRuntime) -> None:
        self.runtime = runtime

    def begin(self, unit: UnitOfWork, execution_id: int, job: JobRecord) -> CurrentRun | None:
        """Record that a run begins; None where it is over, belongs to another job, or need not be done."""
        try:
            return self._begin(unit, execution_id, job)
        except NotFoundError:  # the schedule was deleted
            return None

    def _begin(self, unit: UnitOfWork, execution_id: int, job: JobRecord) -> CurrentRun | None:
        execution = unit.report_executions.get(execution_id)
        if execution.end_dttm is not None or execution.job_id != job.job_id:
            return None
        schedule = unit.report_schedules.get(execution.schedule_id)
        timeout, began = schedule.working_timeout, job.started_on  # by the store's time, in this transaction
        begun = replace(
            execution,
            start_dttm=execution.start_dttm or self._now(),
            lease_until=None,
            late_on=None if timeout is None or began is None else began + timedelta(seconds=timeout),
        )
        stored = unit.report_executions.update(begun, actor_id=None)
        run = CurrentRun(schedule=schedule, execution=stored, job=job, is_first=execution.start_dttm is None)
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
        if run.is_first:
            return False
        with self.runtime.content.store.unit_of_work() as unit:
            if recipient is not None:
                return bool(known_deliveries(unit, run.execution, recipient, recipient.addresses[:1]))
            of_run = (ListFilter(col="execution_id", op="eq", val=run.execution.id),)
            return bool(unit.report_deliveries.list(ListQuery(filters=of_run, page_size=1))[1])

    def end(
        self,
        run: CurrentRun,
        event: RunEvent,
        *,
        message: str | None = None,
        verdict: Verdict | None = None,
        messages: Sequence[tuple[Recipient, Content]] = (),
        sent: SentMessage | None = None,
    ) -> JobOutcome:
        """Record that a run ended well, what became of its last message, and that its job is over, if it is as known.

        Return how the job ended, with what is known of those behind it.

        Raises:
            RunEndedError: somebody else ended it; what became of the message is recorded all the same.
        """

        def end(unit: UnitOfWork, current: CurrentRun) -> JobOutcome:
            is_known = current is run
            if sent is not None:
                record(unit, current.execution, sent if is_known else replace(sent, rows=None))
            self._end(unit, _found(current, verdict, messages), event, message=message)
            if not is_known or run.job is None:
                return _DONE
            note = ALONE if first_open(unit, run.schedule.id) is None else ""
            return self.runtime.content.job_registry.ended(unit, run.job, replace(_DONE, note=note))

        try:
            return self._changed(run, end)
        except Exception:  # whatever it is goes on upwards: the message is where it is
            if sent is not None:
                self.close_delivery(run, sent)
            raise

    def fail(
        self,
        run: CurrentRun,
        message: str,
        error_type: ErrorType,
        *,
        verdict: Verdict | None = None,
        messages: Sequence[tuple[Recipient, Content]] = (),
    ) -> bool:
        """Record that a run ended in Error, and return whether its owners are to be told, by its job.

        Raises:
            RunEndedError: somebody else ended it.
        """

        def fail(unit: UnitOfWork, current: CurrentRun) -> bool:
            found = _found(current, verdict, messages)
            return self._end(unit, found, RunEvent.FAILED, message=message, error_type=error_type)

        needs_notice = self._changed(run, fail)
        _log_failure(run.schedule, run.execution, RunEvent.FAILED, message)
        return needs_notice

    def keep(self, run: CurrentRun, verdict: Verdict) -> CurrentRun:
        """Record what an alert found before it is told to anybody: whoever takes the run up tells the others the same.

        Return the run as it is now.

        Raises:
            RunEndedError: somebody else ended it.
        """

        def keep(unit: UnitOfWork, current: CurrentRun) -> CurrentRun:
            found = _found(current, verdict, ()).execution
            return replace(current, execution=unit.report_executions.update(found, actor_id=None))

        return self._changed(run, keep)

    def put_off(self, run: CurrentRun, seconds: float, *, message: str) -> None:
        """Leave a run to whoever looks after so many seconds, by the store's time: it was done, and lost no attempt.

        Raises:
            RunEndedError: somebody else ended it.
        """

        def put_off(unit: UnitOfWork, current: CurrentRun) -> None:
            waits = replace(
                current.execution,
                error_message=message,
                job_id=None,
                attempts=current.execution.attempts - 1,
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
                current = self._refreshed(unit, CurrentRun(schedule=schedule, execution=execution))
                return schedule, self._end(unit, current, event, message=message, error_type=error_type)

        try:
            schedule, needs_notice = until_accepted(end)
        except (RunEndedError, NotFoundError):
            return None
        _log_failure(schedule, execution, event, message)
        return schedule if needs_notice else None

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
        _, needs_notice = self._stand(unit, replace(run, execution=over), state)
        self._forget_old(unit, run.schedule)
        return needs_notice

    def _stand(self, unit: UnitOfWork, run: CurrentRun, state: RunState) -> tuple[ReportProgress, bool]:
        """Record where the schedule stands now; return that, and whether its owners are to be told of an error."""
        progress = run.progress or unit.report_progress.find(schedule_id=run.schedule.id)
        progress = progress or ReportProgress(schedule_id=run.schedule.id)
        execution, now = run.execution, self._moment(run)
        changes: dict[str, Any] = {"last_eval_dttm": now, "last_state": state.value}
        if state is not RunState.ON_GRACE:
            changes |= {"last_value": execution.value, "last_value_row_json": execution.value_row_json}
        needs_notice = state is RunState.ERROR and is_notice_due(
            grace_s=run.schedule.grace_period, last_notice=progress.last_notice_on, now=now
        )
        if state is RunState.SUCCESS:
            changes |= {"last_success_on": now, "last_notice_on": None}
        elif state is RunState.NOT_TRIGGERED:
            changes |= {"last_notice_on": None}
        elif needs_notice:
            changes |= {"last_notice_on": now}
        write = unit.report_progress.update if progress.id else unit.report_progress.add
        return write(replace(progress, **changes), actor_id=None), needs_notice

    def _forget_old(self, unit: UnitOfWork, schedule: ReportSchedule) -> None:
        """Forget runs that are older than the schedule keeps them, a thousand at a time; it has none when it is new."""
        retention, made_on = retention_of(schedule.log_retention), schedule.audit.created_on
        if retention is None or (made_on is not None and made_on > self._now() - retention):
            return
        filters = (
            ListFilter(col="schedule_id", op="eq", val=schedule.id),
            ListFilter(col="end_dttm", op="lt", val=self._now() - retention),
        )
        _, old = unit.report_executions.distinct("id", ListQuery(filters=filters, page_size=_OLD_ROWS))
        if old:
            unit.report_executions.delete_matching([ListFilter(col="id", op="in", val=tuple(old))])

    # ------------------------------------------------------------------------------------------------- deliveries
    def open_delivery(
        self,
        run: CurrentRun,
        recipient: Recipient,
        message: Message,
        *,
        only: Collection[str] | None = None,
        is_new: bool = False,
    ) -> OpenedDelivery:
        """Record that a message is on its way, and return to whom, and what is wrong with others.

        Left out are addresses that it went to before. Where the process that sent it died before it could record what
        became of it, the schedule says whether it goes there again. `only` are the addresses in question, None all;
        `is_new`: nothing was sent to them.

        Raises:
            RunEndedError: somebody else ended the run, or may: the lease of this process is over, by the store's time.
        """
        repeats = options_of(run.schedule.extra).delivery is DeliveryPromise.AT_LEAST_ONCE
        addresses = recipient.addresses if only is None else tuple(only)

        def open_() -> OpenedDelivery:
            with self.runtime.content.store.unit_of_work() as unit:
                if run.job is not None and run.job.worker is not None and is_dead(unit, run.job.worker):
                    raise RunEndedError
                execution = self._refreshed(unit, run).execution
                return opened(unit, execution, recipient, message, addresses, repeats=repeats, is_new=is_new)

        return until_accepted(open_)

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
        self.close_delivery(run, SentMessage(recipient=recipient, found=found))
        sleep()
        self.open_delivery(run, recipient, message, only=[one.address for one in found if not one.is_delivered])

    def close_delivery(self, run: CurrentRun, sent: SentMessage) -> None:
        """Record what became of a message."""
        first, later = sent, replace(sent, rows=None)

        def close() -> None:
            nonlocal first
            message, first = first, later
            with self.runtime.content.store.unit_of_work() as unit:
                record(unit, run.execution, message)

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
                latest, known = self._refreshed(unit, run) if known is None else known, None
                return change(unit, latest)

        try:
            return self._patiently(changed)
        except NotFoundError:
            raise RunEndedError from None

    def _refreshed(self, unit: UnitOfWork, run: CurrentRun) -> CurrentRun:
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
def _found(run: CurrentRun, verdict: Verdict | None, messages: Sequence[tuple[Recipient, Content]]) -> CurrentRun:
    """Return a run with what its query said, and what its messages were made of."""
    facts: dict[str, Any] = {}
    if verdict is not None:
        value = verdict.value
        facts["value"] = value if value is not None and math.isfinite(value) else None
        facts["value_row_json"] = None if verdict.value_row is None else row_text(verdict.value_row)
    if messages:
        facts["manifest"] = json.dumps(manifest(run.schedule, [content for _, content in messages]))
    return replace(run, execution=replace(run.execution, **facts))

"""Does the runs of alerts and reports, as jobs: judge, make all that is sent, send, and record what came of it.

A run that was taken up again, because whoever did it died, sends only what was not handed over before.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

from analytics_core._content.jobs.handlers import JobOutcome, Work
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.audit import ObservationKind
from analytics_core._records.message import Recipient
from analytics_core._records.report import ReportSchedule
from analytics_core._records.repositories import UnitOfWork
from analytics_core._records.shared_state import JobRecord
from analytics_core._reports.alerts import Verdict
from analytics_core._reports.content import Content
from analytics_core._reports.delivery import FIRST_LATER_S, Outages, later_s
from analytics_core._reports.delivery_rows import SentMessage
from analytics_core._reports.dispatcher import FOLLOW, NOTICE, RUN, RunDispatcher
from analytics_core._reports.messages import (
    FindActor,
    ReadActor,
    executor_for,
    messages_of,
    read_ahead,
    tell_owners,
    verdict_of,
)
from analytics_core._reports.options import DeliveryPromise, options_of
from analytics_core._reports.records import stored_crontab
from analytics_core._reports.run_log import ALONE, EMPTY, CurrentRun, RunEndedError, RunLog
from analytics_core._reports.runtime import ReportsRuntime
from analytics_core._reports.schedule import next_due
from analytics_core._reports.states import RunEvent
from analytics_core._tools.log import line_log
from analytics_core.errors import (
    AnalyticsError,
    ErrorType,
    NotificationError,
    StatementStoppedError,
    StoredDataError,
    StoreUnavailableError,
)
from analytics_core.models.enums import JobState

_LOG = line_log(__name__)


class ReportRuns:
    """Does runs of alerts and reports (a `JobHandler` of kind `report`).

    Args:
        runtime_of: gives the runtime whose clock stands at the due time of a job.
        find_actor: finds executors and recipients.
        read_actor: does so in a snapshot.
    """

    def __init__(
        self,
        *,
        runtime_of: Callable[[JobRecord], ReportsRuntime],
        find_actor: FindActor,
        read_actor: ReadActor,
    ) -> None:
        self._runtime_of = runtime_of
        self._find_actor = find_actor
        self._read_actor = read_actor
        self._here = threading.local()

    # ------------------------------------------------------------------------------------------------ as a handler
    def begin(self, job: JobRecord, unit: UnitOfWork) -> Work:
        """Record that a run begins, and return what does it, or tells of one that failed.

        How a run ends stands in its row, unless this process ends before: then others take it up. Where nobody waits
        for it, the run that waits behind it follows.
        """
        log, request = RunLog(self._runtime_of(job)), _run_ids(job)
        run = None if NOTICE in request else log.begin(unit, request[RUN], job)
        return partial(self._run, log, request, run)

    def _run(self, log: RunLog, request: Mapping[str, int], run: CurrentRun | None, cancel: CancelToken) -> JobOutcome:
        if NOTICE in request:
            log.tell_owners(request[NOTICE])
        outcome = JobOutcome(state=JobState.SUCCESS, data=b"")
        if run is not None:
            with suppress(RunEndedError):
                outcome = self._observed(log, run, cancel) or outcome
        if FOLLOW in request and outcome.note != ALONE and not log.runtime.content.job_registry.is_closing:
            self._follow(log.runtime, request[RUN])
        return outcome

    def may_read(self, job: JobRecord, actor: Actor) -> bool:
        """Nothing is read of these jobs."""
        return job.user_id == actor.id

    def read(self, job: JobRecord, data: bytes) -> None:
        """Nothing is read of these jobs: the log of the schedule has it."""

    def _follow(self, runtime: ReportsRuntime, run_id: int) -> None:
        """Have the run done that waits behind one that is over; where that fails, the next look does."""
        if getattr(self._here, "is_following", False):  # a runner does jobs at once: whoever followed before goes on
            return
        self._here.is_following = True
        try:
            RunDispatcher(runtime, waits=False).follow(run_id)
        except AnalyticsError as error:
            _LOG.warning("the run behind run %s waits for the next look: %s", run_id, error.message)
        finally:
            self._here.is_following = False

    # ------------------------------------------------------------------------------------------------------- a run
    def _observed(self, log: RunLog, run: CurrentRun, cancel: CancelToken) -> JobOutcome | None:
        """Do a run; an observer of all work hears how it ended, and how long after it was due it began."""
        tracer = log.runtime.content.engine.tracer
        if tracer is None:
            return self._do(log, run, cancel)[0]
        late = log.runtime.content.wall_clock.now() - run.execution.scheduled_dttm
        facts = {
            "actor_id": run.schedule.executor_id,
            "result_type": run.schedule.type,
            "waited_ms": max(late.total_seconds() * 1_000, 0.0),
        }
        with tracer.work(ObservationKind.REPORT, facts) as work:
            outcome, failed = self._do(log, run, cancel)
            work.error_type = None if failed is None else failed.value
            return outcome

    def _do(self, log: RunLog, run: CurrentRun, cancel: CancelToken) -> tuple[JobOutcome | None, ErrorType | None]:
        """Do a run; return how its job ended with it (None: it is to be ended), and as what the run failed, if so."""
        schedule = run.schedule
        try:
            executor = self._executor(log.runtime, schedule)
            verdict = self._verdict(log, run, executor, cancel)
            if verdict is not None and not verdict.is_triggered:
                return log.end(run, RunEvent.NOT_TRIGGERED, message=verdict.reason, verdict=verdict), None
            messages = self._messages(log.runtime, run, executor, verdict, cancel)
        except AnalyticsError as error:
            if _is_for_others(error, log.runtime):
                raise
            self._fail(log, run, error.message, error.error_type)
            return None, error.error_type
        outages: Outages = {}
        sent = [one for one in messages if not one[1].is_skipped or log.has_begun_to_send(run, one[0])]
        if not sent:
            return log.end(run, RunEvent.NOT_TRIGGERED, message=EMPTY, verdict=verdict, messages=messages), None
        if verdict is not None:
            run = log.keep(run, verdict)
        failures, last = self._send(log, run, sent, outages)
        if not failures:
            return log.end(run, RunEvent.SENT, verdict=verdict, messages=messages, sent=last), None
        if last is not None:
            log.close_delivery(run, last)
        reason, failed = ";".join(error.message for error in failures), ErrorType.REPORT_NOTIFICATION_ERROR
        seconds = _later_s(run, failures, log.runtime.content.wall_clock.now())
        if seconds is None:
            self._fail(log, run, reason, failed, messages=messages, verdict=verdict, outages=outages)
        else:
            log.put_off(run, seconds, message=reason)
        return None, failed

    def _executor(self, runtime: ReportsRuntime, schedule: ReportSchedule) -> Actor:
        if not schedule.is_alert:  # which may have nothing to say
            read_ahead(runtime, schedule, self._read_actor)
        return executor_for(schedule, self._find_actor, runtime.content.policy)

    def _verdict(self, log: RunLog, run: CurrentRun, executor: Actor, cancel: CancelToken) -> Verdict | None:
        """Return what an alert's query says, or said when it began to send; None for a report."""
        if not run.schedule.is_alert:
            return None
        if log.has_begun_to_send(run):
            row = run.execution.value_row_json
            value_row = None if row is None else json.loads(row)
            return Verdict(is_triggered=True, value=run.execution.value, value_row=value_row)
        return verdict_of(log.runtime, executor, run.schedule, cancel)

    def _messages(
        self, runtime: ReportsRuntime, run: CurrentRun, executor: Actor, verdict: Verdict | None, cancel: CancelToken
    ) -> Sequence[tuple[Recipient, Content]]:
        """Return what goes to whom, all of it made; recipients whose rows are the same share one message."""
        return messages_of(
            runtime,
            run.schedule,
            executor,
            find_actor=self._find_actor,
            verdict=verdict,
            scheduled=run.execution.scheduled_dttm,
            key=run.execution.uuid,
            cancel=cancel,
        )

    def _send(
        self, log: RunLog, run: CurrentRun, messages: Sequence[tuple[Recipient, Content]], outages: Outages
    ) -> tuple[Sequence[NotificationError], SentMessage | None]:
        """Send what was not sent before, and return what went wrong with whom.

        What became of each message is recorded before the next one, but for the last, which is returned too.
        """
        failures: list[NotificationError] = []
        last: SentMessage | None = None
        before: set[tuple[str, str]] = set()
        repeats = options_of(run.schedule.extra).delivery is DeliveryPromise.AT_LEAST_ONCE
        for recipient, content in messages:
            if last is not None:
                log.close_delivery(run, last)
                last = None
            named = {(recipient.kind, address) for address in recipient.addresses}
            is_new = run.is_first and before.isdisjoint(named)
            before |= named
            opened = log.open_delivery(run, recipient, content.message, is_new=is_new)
            failures += opened.failures
            if opened.addresses:
                found = log.runtime.deliveries.deliver(
                    content.message,
                    recipient,
                    only=opened.addresses,
                    repeats_unknown=repeats,
                    outages=outages,
                    pause=partial(log.pause_delivery, run, recipient, content.message),
                )
                last = SentMessage(recipient=recipient, found=found, rows=opened.rows)
                failures += [error for delivery in found if (error := delivery.error()) is not None]
        return failures, last

    def _fail(
        self,
        log: RunLog,
        run: CurrentRun,
        message: str,
        error_type: ErrorType,
        *,
        messages: Sequence[tuple[Recipient, Content]] = (),
        verdict: Verdict | None = None,
        outages: Outages | None = None,
    ) -> None:
        """Record that a run failed, and tell its owners, at most once per grace period."""
        if log.fail(run, message, error_type, verdict=verdict, messages=messages):
            tell_owners(log.runtime, run.schedule, run.execution, message, outages=outages)


def _later_s(run: CurrentRun, failures: Sequence[NotificationError], now: datetime) -> float | None:
    """Return in how many seconds a run is taken up again, as receivers were away; None: it is over.

    It does not get in the way of the next one: a minute before its schedule is due again it is tried no more.
    """
    schedule, begun = run.schedule, run.execution.start_dttm or now
    period = timedelta(seconds=options_of(schedule.extra).keep_trying_s)
    if not period:
        return None
    until = begun + period
    with suppress(StoredDataError):  # it is not due any more
        following = next_due(stored_crontab(schedule), schedule.timezone, after=begun)
        until = until if following is None else min(until, following - timedelta(seconds=FIRST_LATER_S))
    return later_s(failures, waited_s=(now - begun).total_seconds(), remaining_s=(until - now).total_seconds())


def _is_for_others(error: AnalyticsError, runtime: ReportsRuntime) -> bool:
    """Tell whether a run may end well elsewhere or later: its store is away, or its process ends."""
    is_stopped = isinstance(error, StatementStoppedError) and runtime.content.job_registry.is_closing
    return is_stopped or isinstance(error, StoreUnavailableError)


def _run_ids(job: JobRecord) -> Mapping[str, int]:
    """Return the id of the run that a job is about, under what is done."""
    try:
        args = json.loads(job.payload)
        return {name: int(args[name]) for name in (RUN, NOTICE, FOLLOW) if name in args} or {RUN: int(args[RUN])}
    except (ValueError, KeyError, TypeError):
        raise StoredDataError(f"the payload of job {job.job_id!r} is none that this version reads") from None

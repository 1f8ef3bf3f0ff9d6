"""Runs of alerts and reports: when they are due, what became of them, and trials of them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final
from uuid import uuid4

from analytics_core._content.batches import is_id
from analytics_core._content.changes import begin_act
from analytics_core._content.field_formatter import answer_as
from analytics_core._content.lists import (
    Columns,
    Filters,
    Listing,
    Lists,
    Order,
    Page,
    ResourceLists,
    all_of_it,
    anybody,
)
from analytics_core._content.namespace import NamespaceWithDistinct
from analytics_core._content.reader import Reader
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.report import ReportDelivery, ReportExecution, ReportSchedule, RunCause
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._reports.alerts import Verdict
from analytics_core._reports.dispatcher import RunDispatcher
from analytics_core._reports.messages import FindActor, manifest, verdict_of
from analytics_core._reports.records import stored_crontab
from analytics_core._reports.runtime import ReportsRuntime
from analytics_core._reports.schedule import due_times
from analytics_core._reports.trials import DryRun, Replay, Trial, compared, for_viewer, stored_manifest
from analytics_core.errors import ErrorType, NotFoundError, NotificationError, ReportError
from analytics_core.models.parsing import payload_error
from analytics_core.models.report import (
    DeliveryOfRun,
    ReportExecutionLogGet,
    ReportExecutionLogListItem,
    ReportScheduleListItem,
)

EXECUTIONS = ResourceLists(
    listing=Listing(
        shape="report execution",
        item=ReportExecutionLogListItem,
        texts=("state", "error_message", "error_type"),
        moments=("scheduled_dttm", "start_dttm", "end_dttm"),
    ),
    repository=lambda unit: unit.report_executions,
    item=lambda execution, _facts: answer_as(ReportExecutionLogListItem, execution).completed(execution.error_type),
    permission=anybody,
    visibility=all_of_it,
    people_of=lambda _execution: (),
)
_MOST_RUNS: Final = 1_000
_IN_TURN: Final = (("id", False),)
_RESOLUTION: Final = timedelta(microseconds=1)


class ScheduleRuns(NamespaceWithDistinct[ReportScheduleListItem]):
    """Runs schedules, tries them, and tells of their runs, for one actor."""

    def __init__(self, runtime: ReportsRuntime, actor: Actor, find_actor: FindActor) -> None:
        super().__init__(runtime.content, actor)
        self._reports = runtime
        self._find_actor = find_actor

    def next_runs(self, schedule_id: int, n: int = 5, *, after: datetime | None = None) -> tuple[datetime, ...]:
        """Return the next `n` moments at which a schedule is due, in UTC, whether or not it is active.

        Args:
            schedule_id: the schedule.
            n: from 1 to 1000.
            after: from when on, a naive one in UTC; None: now.

        Raises:
            NotFoundError, OwnershipError: as for `get`.
            PayloadSchemaError: `n` or `after` is none.

        Examples:
            >>> [f"{moment:%a %d %b %H:%M}" for moment in core.reports.next_runs(1, 2)]
            ['Mon 06 Jan 09:00', 'Mon 13 Jan 09:00']
        """
        shape = "next_runs"
        if not is_id(n) or not 1 <= n <= _MOST_RUNS:
            raise payload_error(shape, "n", f"must be a whole number from 1 to {_MOST_RUNS}")
        if not isinstance(after, datetime | None):
            raise payload_error(shape, "after", "must be a datetime")
        with self._runtime.store.unit_of_work() as unit:
            schedule = self._reader(unit).report(schedule_id)
        start = self._runtime.clock.now() if after is None else after
        start = start.replace(tzinfo=UTC) if start.utcoffset() is None else start
        return tuple(islice(due_times(stored_crontab(schedule), schedule.timezone, after=start), n))

    def executions(  # noqa: PLR0917 - the schedule, and then what every list takes
        self,
        schedule_id: int,
        filters: Filters = (),
        order_by: Order = "-scheduled_dttm",
        page: int = 0,
        page_size: int = 25,
        columns: Columns = None,
    ) -> Page[ReportExecutionLogListItem]:
        """Return one page of the runs of a schedule, the latest first; the other arguments are those of `list`.

        Raises:
            NotFoundError, OwnershipError: as for `get`.

        Examples:
            >>> _ = core.reports.run_now(1)
            >>> [run.state for run in core.reports.executions(1)]
            ['Success']
        """
        return self._runs(schedule_id).page(filters, order_by, page, page_size, columns)

    def execution(self, schedule_id: int, execution_id: int) -> ReportExecutionLogGet:
        """Return one run of a schedule (contract, `ReportExecutionLogRestApi.get`), and what became of its messages.

        Raises:
            NotFoundError, OwnershipError: as for `get`; or the schedule has no such run.

        Examples:
            >>> run = core.reports.run_now(1)
            >>> core.reports.execution(1, run.id).state
            'Success'
            >>> core.reports.execution(1, run.id).deliveries[0].to_payload()["recipient"]
            'bob@example.com'
        """
        with self._runtime.store.unit_of_work() as unit:
            self._reader(unit).report(schedule_id)
            execution = found_execution(unit, schedule_id, execution_id)
            of_run = (ListFilter(col="execution_id", op="eq", val=execution.id),)
            sent = unit.report_deliveries.list(ListQuery(filters=of_run, order_by=_IN_TURN, page_size=_MOST_RUNS))[1]
        record = answer_as(ReportExecutionLogGet, execution)
        return record.completed(execution.error_type, tuple(map(_delivery, sent)))

    def run_now(self, schedule_id: int, *, raise_errors: bool = False) -> ReportExecutionLogGet:
        """Run an alert or a report at once, whether or not it is active or within its grace period.

        Where jobs run in this process it returns when the run is over; else the run is on its way. With `raise_errors`
        a run that is over and ended in Error is raised.

        Raises:
            NotFoundError, OwnershipError: as for `get`.
            JobError: no more work can be taken now.
            NotificationError: with `raise_errors`: a recipient was not reached.
            ReportError: with `raise_errors`: what else it ended with; `error_type` tells what kind of error that was.

        Examples:
            >>> core.reports.run_now(1).state
            'Success'
        """
        act = begin_act(self._runtime, self._actor, "report.run_now")
        with self._runtime.store.unit_of_work() as unit:
            schedule = self._reader(unit).report(schedule_id)
            request = ReportExecution(
                uuid=str(uuid4()),
                schedule_id=schedule.id,
                scheduled_dttm=_off_the_beat(unit, schedule_id, self._runtime.clock.now()),
                cause=RunCause.MANUAL,
                lease_until=unit.now() + timedelta(seconds=self._runtime.settings.job_lease_s),
            )
            run = unit.report_executions.add(request, actor_id=None)
            act.log(unit, chart_id=schedule.chart_id, details={"report_schedule": schedule_id})
        dispatcher = RunDispatcher(self._reports, waits=True)
        job_id = dispatcher.submit(run)
        if job_id is not None and self._reports.jobs.is_local:
            dispatcher.wait_for(job_id)
        over = self.execution(schedule_id, run.id)
        if raise_errors and over.error_type is not None:
            is_unreached = over.error_type is ErrorType.REPORT_NOTIFICATION_ERROR
            message = over.error_message or "the run ended in Error"
            raise NotificationError(message) if is_unreached else ReportError(message, error_type=over.error_type)
        return over

    def evaluate(self, schedule_id: int, *, at: datetime | None = None) -> Verdict:
        """Ask the query of an alert and return what its validator says of the value; nothing is sent or stored.

        Args:
            schedule_id: the alert.
            at: what counts as now for its template, a naive moment in UTC; None: now.

        Raises:
            NotFoundError, OwnershipError: as for `get`.
            PayloadSchemaError: it is no alert, or `at` is no moment.
            AlertError: its query gives more than one value, or one that its validator cannot judge.
            AnalyticsError: what the query fails with.

        Examples:
            >>> alert = core.reports.create({
            ...     "name": "Many returns", "type": "Alert", "crontab": "@hourly", "chart": 1, "report_format": "TEXT",
            ...     "database": 1, "sql": "SELECT COUNT(*) FROM orders WHERE returned", "validator_type": "Operator",
            ...     "validator_config_json": {"op": ">", "threshold": 10},
            ...     "recipients": [{"type": "Email", "recipient_config_json": {"target": "bob@example.com"}}],
            ... })
            >>> core.reports.evaluate(alert.id).is_triggered
            True
        """
        trial = self._trial(schedule_id, at)
        if not trial.schedule.is_alert:
            raise payload_error("evaluate", "schedule_id", "must name an alert; a report has no query")
        return verdict_of(trial.runtime, trial.executor, trial.schedule, CancelToken())

    def dry_run(self, schedule_id: int, *, at: datetime | None = None) -> DryRun:
        """Do all that a run does but send: return what would go to whom, and for an alert what its query says.

        Messages with rows that somebody else may see, another owner or a recipient, are for administrators alone.

        Args:
            schedule_id: the alert or report.
            at: its due time, a naive moment in UTC; None: now.

        Raises:
            NotFoundError, OwnershipError: as for `get`.
            PayloadSchemaError: `at` is no moment.
            AccessError: it would run as another owner, or as other recipients, and the actor is no administrator.
            AnalyticsError: what the run would fail with.

        Examples:
            >>> ((recipient, message),) = core.reports.dry_run(1).messages
            >>> recipient.to, message.subject
            (('bob@example.com',), '[Report] Sales of the week: Revenue by country')
        """
        trial = self._trial(schedule_id, at, find_actor=for_viewer(self._actor, self._find_actor))
        verdict = None
        if trial.schedule.is_alert:
            verdict = verdict_of(trial.runtime, trial.executor, trial.schedule, CancelToken())
        return DryRun(verdict=verdict, messages=tuple(trial.messages(verdict)))

    def replay(self, schedule_id: int, execution_id: int) -> Replay:
        """Make what a run sent again, as of its due time, and return whether it is the same; nothing is sent.

        It is asked of the databases as they are now, with the rights that people have now.

        Raises:
            NotFoundError, OwnershipError: as for `execution`.
            ReportError: the run made nothing to compare with.
            AnalyticsError: what the run would fail with now.

        Examples:
            >>> run = core.reports.run_now(1)
            >>> core.reports.replay(1, run.id).is_equal
            True
        """
        with self._runtime.store.unit_of_work() as unit:
            self._reader(unit).report(schedule_id)
            execution = found_execution(unit, schedule_id, execution_id)
        if execution.manifest is None:
            raise ReportError(
                f"run {execution_id} made no message that could be compared; its state: {execution.state}"
            )
        trial = self._trial(schedule_id, execution.scheduled_dttm)
        verdict = Verdict(is_triggered=True, value=execution.value) if trial.schedule.is_alert else None
        contents = [content for _, content in trial.contents(verdict, key=execution.uuid)]
        return compared(stored_manifest(execution), manifest(trial.schedule, contents))

    def _trial(self, schedule_id: int, at: datetime | None, *, find_actor: FindActor | None = None) -> Trial:
        """Return a run of a schedule at a moment, as whom it would run as."""
        with self._runtime.store.unit_of_work() as unit:
            schedule = self._reader(unit).report(schedule_id)
        return Trial.of(self._reports, schedule, find_actor or self._find_actor, at=at)

    def _runs(self, schedule_id: int) -> Lists[ReportExecutionLogListItem]:
        def of_schedule(_reader: Reader, query: ListQuery) -> ListQuery:
            return replace(query, filters=(ListFilter(col="schedule_id", op="eq", val=schedule_id), *query.filters))

        def schedule(unit: UnitOfWork) -> ReportSchedule:
            return self._reader(unit).report(schedule_id)

        return self._lists(replace(EXECUTIONS, visibility=of_schedule, parent=schedule))


def _off_the_beat(unit: UnitOfWork, schedule_id: int, now: datetime) -> datetime:
    """Return a moment for a run that somebody asked for: neither a due time, which is on the second, nor taken.

    Due times are left to the schedule.
    """
    moment = now if now.microsecond else now + _RESOLUTION
    while unit.report_executions.find(schedule_id=schedule_id, scheduled_dttm=moment) is not None:
        moment += _RESOLUTION
    return moment


def _delivery(delivery: ReportDelivery) -> DeliveryOfRun:
    return DeliveryOfRun(
        recipient=delivery.address,
        state=delivery.state,
        attempts=delivery.attempts,
        subject=delivery.subject,
        files=tuple(json.loads(delivery.files or "[]")),
        reason=delivery.reason,
    )


def found_execution(unit: UnitOfWork, schedule_id: int, execution_id: int) -> ReportExecution:
    """Return a run of a schedule; NotFoundError for one of another schedule, too."""
    execution = unit.report_executions.get(execution_id)
    if execution.schedule_id != schedule_id:
        raise NotFoundError("report execution", execution_id)
    return execution

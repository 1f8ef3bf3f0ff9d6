"""`core.reports`: schedules of alerts and reports, when they run, and what became of their runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final
from uuid import uuid4

from analytics_core._execution.cancel import CancelToken
from analytics_core._records.report import ReportExecution, ReportProgress, ReportSchedule, RunCause
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._reporting.alerts import Verdict
from analytics_core._reporting.schedule import Crontab, due_times, next_due
from analytics_core._resources.batches import is_id
from analytics_core._resources.changes import begin_act, reject_later_change, repeated
from analytics_core._resources.field_formatter import shown_as
from analytics_core._resources.lists import (
    CHARTS,
    DASHBOARDS,
    DATABASES,
    Columns,
    Filters,
    Listing,
    Lists,
    Order,
    Page,
    ResourceLists,
    all_of_it,
    anybody,
    makers_and_owners,
)
from analytics_core._resources.namespace import NamespaceWithDistinct
from analytics_core._resources.people.directory import checked_owners, read_users
from analytics_core._resources.reader import Reader
from analytics_core._resources.reports import recipients
from analytics_core._resources.reports.content import is_alert
from analytics_core._resources.reports.dispatcher import RunDispatcher
from analytics_core._resources.reports.messages import FindActor, manifest, verdict_of
from analytics_core._resources.reports.records import (
    ScheduleRules,
    changed_schedule,
    names_of_targets,
    new_schedule,
    require_what_is_needed,
    schedule_get,
    schedule_item,
    stored_crontab,
)
from analytics_core._resources.reports.trials import DryRun, Replay, Trial, compared, for_viewer, stored_manifest
from analytics_core._runtime import Runtime
from analytics_core._security.actor import Actor
from analytics_core._security.policy import Permission
from analytics_core.errors import NotFoundError, ReportError, ReportExistsError
from analytics_core.models.parsing import Payload, parse, payload_error
from analytics_core.models.report import (
    RecipientType,
    ReportCreationMethod,
    ReportExecutionLogGet,
    ReportExecutionLogListItem,
    ReportScheduleGet,
    ReportScheduleListItem,
    ReportSchedulePost,
    ReportSchedulePut,
)

LISTS = ResourceLists(
    listing=Listing(
        shape="report schedule",
        item=ReportScheduleListItem,
        integers=("chart", "dashboard", "database", "chart_id", "dashboard_id"),
        texts=("name", "type", "creation_method", "crontab", "timezone", "description", "last_state"),
        booleans=("active",),
        moments=("last_eval_dttm",),
        links=("owners",),
        stored_as={"owners": "owner_ids", "chart": "chart_id", "dashboard": "dashboard_id", "database": "database_id"},
    ),
    repository=lambda unit: unit.report_schedules,
    item=lambda schedule, facts: schedule_item(
        schedule, facts.linked.get(schedule.id), people=facts.people, readable=facts.readable
    ),
    permission=anybody,
    linked=lambda reader, found: _progress_of(reader.unit, [schedule.id for schedule in found]),
    people_of=makers_and_owners,
    visibility=lambda reader, query: reader.visible("report_schedules", query),
    people=("owners", "created_by", "changed_by"),
    records={"chart": CHARTS, "dashboard": DASHBOARDS, "database": DATABASES},
    distinct=("name", "type", "timezone"),
)

EXECUTIONS = ResourceLists(
    listing=Listing(
        shape="report execution",
        item=ReportExecutionLogListItem,
        texts=("state", "error_message"),
        moments=("scheduled_dttm", "start_dttm", "end_dttm"),
    ),
    repository=lambda unit: unit.report_executions,
    item=lambda execution, _facts: shown_as(ReportExecutionLogListItem, execution),
    permission=anybody,
    visibility=all_of_it,
    people_of=lambda _execution: (),
)

_POST, _PUT = "ReportScheduleRestApi.post", "ReportScheduleRestApi.put"
_MADE_BESIDE: Final[Mapping[str, str]] = {
    ReportCreationMethod.CHARTS.value: "chart",
    ReportCreationMethod.DASHBOARDS.value: "dashboard",
}
_RESOLUTION: Final = timedelta(microseconds=1)
_MOST_RUNS: Final = 1_000
_WHAT_MOVES_RUNS: Final = ("crontab", "timezone", "active")


class Reports(NamespaceWithDistinct[ReportScheduleListItem]):
    """Alerts and reports: everybody who signed in creates them; owners and administrators see, run and change them.

    `related` takes `owners`, `created_by`, `changed_by`, `chart`, `dashboard` or `database`; `distinct` takes `name`,
    `type` or `timezone`.
    """

    _resource = LISTS

    def __init__(self, runtime: Runtime, actor: Actor, find_actor: FindActor) -> None:
        super().__init__(runtime, actor)
        self._find_actor = find_actor

    # ---------------------------------------------------------------------------------------------------- records
    def create(self, payload: ReportSchedulePost | Payload) -> ReportScheduleGet:
        """Store an alert or a report (contract, `ReportScheduleRestApi.post`); it is active unless it says otherwise.

        Without `owners` the creator owns it, and it shows their rows. What is sent where says `extra`, too; the page
        on reports lists its keys. One that is made beside a chart or a dashboard (`creation_method`) goes to the
        creator's own e-mail address, whatever recipients are named.

        Raises:
            PayloadError: all that is wrong, field by field.
            AccessError: the chart, dashboard or database is not for the actor; an alert's query takes a grant on the
                whole database.
            AlreadyExistsError: the name is taken by one of this type.
            ReportExistsError: the creator has one beside this chart or dashboard already.

        Example:
            core.reports.create({
                "name": "Orders, daily", "type": "Report", "crontab": "0 9 * * *", "timezone": "Europe/Berlin",
                "chart": 1, "report_format": "CSV",
                "recipients": [{"type": "Email", "recipient_config_json": {"target": "ada@example.com"}}],
            })
        """
        self._runtime.policy.require(Permission.ADD_REPORT, self._actor)
        post = parse(ReportSchedulePost, payload, shape=_POST)
        require_what_is_needed(post, shape=_POST)
        act = begin_act(self._runtime, self._actor, "report.create")
        owners = checked_owners(self._runtime.people, post.owners, actor=self._actor, shape=_POST)
        record = self._for_its_maker(
            new_schedule(
                post, uuid=str(uuid4()), owner_ids=owners, by=self._actor.id, picture=self._runtime.draws_pictures
            )
        )
        with self._runtime.store.unit_of_work() as unit:
            crontab = self._rules(unit).check(record, None, shape=_POST)
            self._reject_second(unit, record)
            stored = unit.report_schedules.add(record, actor_id=self._actor.id)
            progress = ReportProgress(schedule_id=stored.id, next_due_on=self._next_due(stored, crontab))
            unit.report_progress.append(progress, actor_id=None)
            act.log(unit, chart_id=stored.chart_id, details={"report_schedule": stored.id})
        return self._answer(stored)

    def get(self, schedule_id: int) -> ReportScheduleGet:
        """Return an alert or a report with how its last run ended; addresses of web hooks are masked.

        Raises:
            NotFoundError, OwnershipError: there is none, or the actor does not own it.
        """
        with self._runtime.store.unit_of_work() as unit:
            schedule = self._reader(unit).report(schedule_id)
        return self._answer(schedule)

    @repeated
    def update(
        self,
        schedule_id: int,
        payload: ReportSchedulePut | Payload,
        *,
        unchanged_since: datetime | str | None = None,
    ) -> ReportScheduleGet:
        """Change an alert or a report (`ReportScheduleRestApi.put`); only owners and administrators may.

        `owners` and `recipients` replace the stored lists; a masked address of a web hook stands for the stored one.
        With `unchanged_since`, the `changed_on` of the answer that the caller read (an attribute: the contract has no
        field for it), a change that somebody else made since is not overwritten; runs do not count.

        Raises:
            OwnershipError: the actor is neither.
            StaleVersionError: somebody else changed it meanwhile.
            AnalyticsError: as for `create`.
        """
        put = parse(ReportSchedulePut, payload, shape=_PUT)
        act = begin_act(self._runtime, self._actor, "report.update")
        owners = None
        if put.owners is not None:
            owners = checked_owners(self._runtime.people, put.owners, actor=self._actor, shape=_PUT)
        with self._runtime.store.unit_of_work() as unit:
            before = self._reader(unit).report(schedule_id)
            reject_later_change(before, unchanged_since)
            record = changed_schedule(before, put, owner_ids=owners or before.owner_ids, by=self._actor.id)
            crontab = self._rules(unit).check(record, before, shape=_PUT)
            stored = unit.report_schedules.update(record, actor_id=self._actor.id)
            is_moved = any(getattr(stored, name) != getattr(before, name) for name in _WHAT_MOVES_RUNS)
            self._move(unit, stored, crontab, is_moved=is_moved)
            act.log(unit, chart_id=stored.chart_id, details={"report_schedule": schedule_id})
        return self._answer(stored)

    @repeated
    def delete(self, schedule_id: int) -> None:
        """Remove an alert or a report with the log of its runs; only owners and administrators may.

        A run that goes on ends before it sends anything more.
        """
        act = begin_act(self._runtime, self._actor, "report.delete")
        with self._runtime.store.unit_of_work() as unit:
            schedule = self._reader(unit).report(schedule_id)
            unit.report_schedules.delete(schedule_id)
            act.log(unit, details={"report_schedule": schedule_id, "name": schedule.name})

    # ------------------------------------------------------------------------------------------------------- runs
    def next_runs(self, schedule_id: int, n: int = 5, *, after: datetime | None = None) -> tuple[datetime, ...]:
        """Return the next `n` moments at which a schedule is due, in UTC, whether or not it is active.

        Args:
            schedule_id: the schedule.
            n: from 1 to 1000.
            after: from when on, a naive one in UTC; None: now.

        Raises:
            NotFoundError, OwnershipError: as for `get`.
            PayloadSchemaError: `n` or `after` is none.
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
        """
        return self._runs(schedule_id).page(filters, order_by, page, page_size, columns)

    def execution(self, schedule_id: int, execution_id: int) -> ReportExecutionLogGet:
        """Return one run of a schedule (contract, `ReportExecutionLogRestApi.get`).

        Raises:
            NotFoundError, OwnershipError: as for `get`; or the schedule has no such run.
        """
        with self._runtime.store.unit_of_work() as unit:
            self._reader(unit).report(schedule_id)
            return shown_as(ReportExecutionLogGet, found_execution(unit, schedule_id, execution_id))

    # ---------------------------------------------------------------------------------------------- what would be
    def run_now(self, schedule_id: int) -> ReportExecutionLogGet:
        """Run an alert or a report at once, whether or not it is active or within its grace period.

        Where jobs run in this process it returns when the run is over; else the run is on its way.

        Raises:
            NotFoundError, OwnershipError: as for `get`.
            JobError: no more work can be taken now.
        """
        act = begin_act(self._runtime, self._actor, "report.run_now")
        with self._runtime.store.unit_of_work() as unit:
            schedule = self._reader(unit).report(schedule_id)
            asked = ReportExecution(
                uuid=str(uuid4()),
                schedule_id=schedule.id,
                scheduled_dttm=_off_the_beat(unit, schedule_id, self._runtime.clock.now()),
                cause=RunCause.MANUAL,
                lease_until=unit.now() + timedelta(seconds=self._runtime.settings.job_lease_s),
            )
            run = unit.report_executions.add(asked, actor_id=None)
            act.log(unit, chart_id=schedule.chart_id, details={"report_schedule": schedule_id})
        dispatcher = RunDispatcher(self._runtime, waits=True)
        job_id = dispatcher.submit(run)
        if job_id is not None and self._runtime.jobs.is_local:
            dispatcher.wait_for(job_id)
        return self.execution(schedule_id, run.id)

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
        """
        trial = self._trial(schedule_id, at)
        if not is_alert(trial.schedule):
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
        """
        trial = self._trial(schedule_id, at, find_actor=for_viewer(self._actor, self._find_actor))
        verdict = None
        if is_alert(trial.schedule):
            verdict = verdict_of(trial.runtime, trial.executor, trial.schedule, CancelToken())
        return DryRun(verdict=verdict, messages=tuple(trial.messages(verdict)))

    def replay(self, schedule_id: int, execution_id: int) -> Replay:
        """Make what a run sent again, as of its due time, and return whether it is the same; nothing is sent.

        It is asked of the databases as they are now, with the rights that people have now.

        Raises:
            NotFoundError, OwnershipError: as for `execution`.
            ReportError: the run made nothing to compare with.
            AnalyticsError: what the run would fail with now.
        """
        with self._runtime.store.unit_of_work() as unit:
            self._reader(unit).report(schedule_id)
            execution = found_execution(unit, schedule_id, execution_id)
        if execution.manifest is None:
            raise ReportError(
                f"run {execution_id} made no message that could be compared; its state: {execution.state}"
            )
        trial = self._trial(schedule_id, execution.scheduled_dttm)
        verdict = Verdict(is_triggered=True, value=execution.value) if is_alert(trial.schedule) else None
        contents = [content for _, content in trial.contents(verdict, key=execution.uuid)]
        return compared(stored_manifest(execution), manifest(trial.schedule, contents))

    # ----------------------------------------------------------------------------------------------------- inside
    def _trial(self, schedule_id: int, at: datetime | None, *, find_actor: FindActor | None = None) -> Trial:
        """Return a run of a schedule at a moment, as whom it would run as."""
        with self._runtime.store.unit_of_work() as unit:
            schedule = self._reader(unit).report(schedule_id)
        return Trial.of(self._runtime, schedule, find_actor or self._find_actor, at=at)

    def _runs(self, schedule_id: int) -> Lists[ReportExecutionLogListItem]:
        def of_schedule(_reader: Reader, query: ListQuery) -> ListQuery:
            return replace(query, filters=(ListFilter(col="schedule_id", op="eq", val=schedule_id), *query.filters))

        def schedule(unit: UnitOfWork) -> ReportSchedule:
            return self._reader(unit).report(schedule_id)

        return self._lists(replace(EXECUTIONS, visibility=of_schedule, parent=schedule))

    def _rules(self, unit: UnitOfWork) -> ScheduleRules:
        runtime = self._runtime
        return ScheduleRules(
            reader=self._reader(unit),
            settings=runtime.settings,
            draws_pictures=runtime.draws_pictures,
            takes=runtime.deliveries.takes,
            check_query=runtime.alert_queries.check,
            now=runtime.clock.now(),
        )

    def _for_its_maker(self, schedule: ReportSchedule) -> ReportSchedule:
        """Return a new schedule; one that is made beside a chart or a dashboard goes to its maker alone."""
        if schedule.creation_method not in _MADE_BESIDE:
            return schedule
        address = self._actor.user.email
        if not address:
            message = f"are you, where creation_method is {schedule.creation_method}, and you have no e-mail address"
            raise payload_error(_POST, "recipients", message)
        own = {"type": RecipientType.EMAIL.value, "recipient_config_json": {"target": address}}
        return replace(schedule, recipients=recipients.sealed([own]))

    def _reject_second(self, unit: UnitOfWork, schedule: ReportSchedule) -> None:
        target = _MADE_BESIDE.get(schedule.creation_method)
        if target is None:
            return
        key = getattr(schedule, f"{target}_id")
        same = {"creation_method": schedule.creation_method, "created_by": self._actor.id, f"{target}_id": key}
        filters = tuple(ListFilter(col=name, op="eq", val=value) for name, value in same.items())
        _, found = unit.report_schedules.list(ListQuery(filters=filters, page_size=1))
        if found:
            hint = f"you have {found[0].name!r} beside it; change that one"
            raise ReportExistsError("report schedule", target, key, hint=hint)

    def _next_due(self, schedule: ReportSchedule, crontab: Crontab) -> datetime | None:
        if not schedule.active:
            return None
        return next_due(crontab, schedule.timezone, after=self._runtime.wall_clock.now())

    def _move(self, unit: UnitOfWork, schedule: ReportSchedule, crontab: Crontab, *, is_moved: bool) -> None:
        """Record when a schedule is due next, where that is another moment now, or it was set aside as unreadable."""
        progress = unit.report_progress.find(schedule_id=schedule.id) or ReportProgress(schedule_id=schedule.id)
        if not is_moved and (progress.next_due_on is not None or not schedule.active):
            return
        moved = replace(progress, next_due_on=self._next_due(schedule, crontab))
        if progress.id:
            unit.report_progress.update(moved, actor_id=None)
        else:
            unit.report_progress.append(moved, actor_id=None)

    def _answer(self, schedule: ReportSchedule) -> ReportScheduleGet:
        with self._runtime.store.unit_of_work() as unit:
            named = names_of_targets(self._reader(unit), schedule)
            progress = unit.report_progress.find(schedule_id=schedule.id)
        people = read_users(self._runtime.people, schedule.owner_ids)
        return schedule_get(schedule, progress, named=named, people=people)


def _off_the_beat(unit: UnitOfWork, schedule_id: int, now: datetime) -> datetime:
    """Return a moment for a run that somebody asked for: neither a due time, which is on the second, nor taken.

    Due times are left to the schedule.
    """
    moment = now if now.microsecond else now + _RESOLUTION
    while unit.report_executions.find(schedule_id=schedule_id, scheduled_dttm=moment) is not None:
        moment += _RESOLUTION
    return moment


def found_execution(unit: UnitOfWork, schedule_id: int, execution_id: int) -> ReportExecution:
    """Return a run of a schedule; NotFoundError for one of another schedule, too."""
    execution = unit.report_executions.get(execution_id)
    if execution.schedule_id != schedule_id:
        raise NotFoundError("report execution", execution_id)
    return execution


def _progress_of(unit: UnitOfWork, schedule_ids: Sequence[int]) -> Mapping[int, ReportProgress]:
    """Return where schedules stand, by their ids."""
    if not schedule_ids:
        return {}
    these = (ListFilter(col="schedule_id", op="in", val=tuple(schedule_ids)),)
    _, found = unit.report_progress.list(ListQuery(filters=these, page_size=len(schedule_ids)))
    return {progress.schedule_id: progress for progress in found}

"""`core.reports`: schedules of alerts and reports, when they run, and what became of their runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import uuid4

from analytics_core._content.changes import begin_act, reject_later_change, repeated
from analytics_core._content.lists import (
    CHARTS,
    DASHBOARDS,
    DATABASES,
    Listing,
    ResourceLists,
    anybody,
    makers_and_owners,
)
from analytics_core._content.user_directory import checked_owners, read_users
from analytics_core._content.written_back import read_changes
from analytics_core._engine.rights.policy import Permission
from analytics_core._records.report import ReportProgress, ReportSchedule
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._reports import recipients
from analytics_core._reports.claims import shorten_waits
from analytics_core._reports.delivery import FIRST_LATER_S
from analytics_core._reports.dispatcher import RunDispatcher
from analytics_core._reports.records import (
    ScheduleRules,
    changed_schedule,
    names_of_targets,
    new_schedule,
    require_own_rows,
    require_what_is_needed,
    schedule_get,
    schedule_item,
)
from analytics_core._reports.runs import ScheduleRuns
from analytics_core._reports.schedule import Crontab, next_due
from analytics_core.errors import ReportExistsError
from analytics_core.models.parsing import Payload, parse, payload_error
from analytics_core.models.report import (
    RecipientType,
    ReportCreationMethod,
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


_POST, _PUT = "ReportScheduleRestApi.post", "ReportScheduleRestApi.put"
_MADE_BESIDE: Final[Mapping[str, str]] = {
    ReportCreationMethod.CHARTS.value: "chart",
    ReportCreationMethod.DASHBOARDS.value: "dashboard",
}
_WHAT_MOVES_RUNS: Final = ("crontab", "timezone", "active")


class Reports(ScheduleRuns):
    """Alerts and reports: everybody who signed in creates them; owners and administrators see, run and change them.

    `related` takes `owners`, `created_by`, `changed_by`, `chart`, `dashboard` or `database`; `distinct` takes `name`,
    `type` or `timezone`.
    """

    _resource = LISTS

    # ---------------------------------------------------------------------------------------------------- records
    def create(self, payload: ReportSchedulePost | Payload) -> ReportScheduleGet:
        """Store an alert or a report (contract, `ReportScheduleRestApi.post`); it is active unless it says otherwise.

        It shows the creator's rows; without `owners` they own it, too. What is sent where says `extra`, too; the page
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

        Examples:
            >>> core.reports.create({
            ...     "name": "Countries, every morning", "type": "Report", "crontab": "0 7 * * *",
            ...     "chart": 1, "report_format": "CSV",
            ...     "recipients": [{"type": "Email", "recipient_config_json": {"target": "bob@example.com"}}],
            ... }).id
            2
        """
        self._runtime.policy.require(Permission.ADD_REPORT, self._actor)
        post = parse(ReportSchedulePost, payload, shape=_POST)
        require_what_is_needed(post, shape=_POST)
        act = begin_act(self._runtime, self._actor, "report.create")
        owners = checked_owners(self._runtime.people, post.owners, actor=self._actor, shape=_POST)
        record = self._for_its_maker(
            new_schedule(
                post, uuid=str(uuid4()), owner_ids=owners, by=self._actor, picture=self._runtime.draws_pictures
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

        Examples:
            >>> core.reports.get(1).crontab
            '0 9 * * MON'
        """
        with self._runtime.store.unit_of_work() as unit:
            schedule = self._reader(unit).report(schedule_id)
        return self._answer(schedule)

    @repeated
    def update(
        self,
        schedule_id: int,
        payload: ReportSchedulePut | ReportScheduleGet | ReportScheduleListItem | Payload,
        *,
        unchanged_since: datetime | str | None = None,
    ) -> ReportScheduleGet:
        """Change an alert or a report (`ReportScheduleRestApi.put`); only owners and administrators may.

        `owners` and `recipients` replace the stored lists; a masked address of a web hook stands for the stored one.
        With `unchanged_since`, the `changed_on` of the answer that the caller read (an attribute: the contract has no
        field for it), a change that somebody else made since is not overwritten; runs do not count. One that is
        deactivated sends nothing more, but for a run that somebody asked for.

        It shows the rows that it showed before, whoever saves it, unless the actor lends it their own: with their id
        or user name as `extra.run_as`. Once the person whose rows it shows is taken off its owners, it sends nothing
        until somebody does.

        Raises:
            OwnershipError: the actor is neither.
            AccessError: it shows the rows of somebody else, and the actor, who is no administrator, would change what
                is sent, or to whom.
            StaleVersionError: somebody else changed it meanwhile.
            AnalyticsError: as for `create`.

        Examples:
            >>> core.reports.update(1, {"active": False}).active
            False
        """
        answers = self._answers(ReportScheduleGet, self.get, schedule_id)
        put = read_changes(ReportSchedulePut, payload, shape=_PUT, answers=answers)
        act = begin_act(self._runtime, self._actor, "report.update")
        owners = None
        if put.owners is not None:
            owners = checked_owners(self._runtime.people, put.owners, actor=self._actor, shape=_PUT)
        with self._runtime.store.unit_of_work() as unit:
            before = self._reader(unit).report(schedule_id)
            reject_later_change(before, unchanged_since)
            record = before
            if put.model_fields_set:
                record = changed_schedule(before, put, owner_ids=owners or before.owner_ids, by=self._actor)
                require_own_rows(self._actor, before, record)
                crontab = self._rules(unit).check(record, before, shape=_PUT)
                is_moved = any(getattr(record, name) != getattr(before, name) for name in _WHAT_MOVES_RUNS)
                self._move(unit, record, crontab, is_moved=is_moved)
            details = {"report_schedule": schedule_id}
            stored = act.update(unit, unit.report_schedules, before, record, chart_id=record.chart_id, details=details)
        if before.active and not stored.active:
            RunDispatcher(self._reports, waits=False).stop(schedule_id)
        return self._answer(stored)

    @repeated
    def delete(self, schedule_id: int) -> None:
        """Remove an alert or a report with the log of its runs; only owners and administrators may.

        A run that goes on ends before it sends anything more.

        Examples:
            >>> core.reports.delete(1)
            >>> core.reports.list().count
            0
        """
        act = begin_act(self._runtime, self._actor, "report.delete")
        with self._runtime.store.unit_of_work() as unit:
            schedule = self._reader(unit).report(schedule_id)
            unit.report_schedules.delete(schedule_id)
            act.log(unit, details={"report_schedule": schedule_id, "name": schedule.name})

    # ------------------------------------------------------------------------------------------------------- runs
    # ---------------------------------------------------------------------------------------------- what would be
    # ----------------------------------------------------------------------------------------------------- inside
    def _rules(self, unit: UnitOfWork) -> ScheduleRules:
        runtime = self._runtime
        return ScheduleRules(
            reader=self._reader(unit),
            settings=runtime.settings,
            draws_pictures=runtime.draws_pictures,
            takes=self._reports.deliveries.takes,
            check_query=runtime.engine.questions.alerts.check,
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
        if moved.next_due_on is not None:
            until_due = moved.next_due_on - self._runtime.wall_clock.now()
            shorten_waits(unit, schedule.id, until_due - timedelta(seconds=FIRST_LATER_S))
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


def _progress_of(unit: UnitOfWork, schedule_ids: Sequence[int]) -> Mapping[int, ReportProgress]:
    """Return where schedules stand, by their ids."""
    if not schedule_ids:
        return {}
    these = (ListFilter(col="schedule_id", op="in", val=tuple(schedule_ids)),)
    _, found = unit.report_progress.list(ListQuery(filters=these, page_size=len(schedule_ids)))
    return {progress.schedule_id: progress for progress in found}

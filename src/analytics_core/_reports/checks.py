"""Alerts and reports as they would run now: as whom, from what, to whom."""

from __future__ import annotations

from collections.abc import Iterator

from analytics_core._content.checks.report import CheckedRecord
from analytics_core._content.reader import Reader
from analytics_core._content.runtime import ContentRuntime
from analytics_core._records.report import ReportSchedule
from analytics_core._reports.messages import FindActor, executor_for
from analytics_core._reports.records import ScheduleRules, stored_crontab
from analytics_core._reports.schedule import next_due
from analytics_core.errors import AnalyticsError


def checked_schedule(runtime: ContentRuntime, schedule: ReportSchedule, find_actor: FindActor) -> CheckedRecord:
    """Return a schedule with why its next run would fail; charts, and the rows of alerts, are not asked."""
    return CheckedRecord(
        kind="alert" if schedule.is_alert else "report",
        id=schedule.id,
        uuid=schedule.uuid,
        name=schedule.name,
        problems=tuple(dict.fromkeys(_broken(runtime, schedule, find_actor))),
    )


def _broken(runtime: ContentRuntime, schedule: ReportSchedule, find_actor: FindActor) -> Iterator[str]:
    now = runtime.clock.now()
    try:
        next_due(stored_crontab(schedule), schedule.timezone, after=now)
        executor = executor_for(schedule, find_actor, runtime.policy)
    except AnalyticsError as error:
        yield error.message
        return
    try:
        with runtime.store.unit_of_work() as unit:
            rules = ScheduleRules(
                reader=Reader(unit, runtime.policy, executor),
                settings=runtime.settings,
                draws_pictures=True,
                takes=lambda _recipient: True,
                check_query=runtime.engine.questions.alerts.check,
                now=now,
            )
            yield from (f"{problem.path}: {problem.message}" for problem in rules.problems(schedule))
    except AnalyticsError as error:
        yield f"as user {executor.id}, whom it runs as: {error.message}"

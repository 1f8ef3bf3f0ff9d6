"""Who runs what is due: each due time is claimed once, by a row of the store, whoever looks and however often.

Rows are written in the transaction that moves the schedule on to its next due time, so that no due time is forgotten
and none comes twice: of two processes the store refuses one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final
from uuid import uuid4

from analytics_core._log import line_log
from analytics_core._records.report import ReportExecution, ReportProgress, ReportSchedule, RunCause, RunState
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._reporting.options import MissedRuns, options_of
from analytics_core._reporting.schedule import Crontab, due_times, next_due, parse_crontab, zone_of
from analytics_core._reporting.states import RunEvent, next_state
from analytics_core.errors import AlreadyExistsError, NotFoundError, StaleVersionError, StoredDataError
from analytics_core.ports import MetadataStore

_LOG = line_log(__name__)
MOST_AT_A_TIME: Final = 1_000
"""Schedules that are looked at, and due times of one schedule that are logged, in one go."""

MISSED: Final = "missed: nobody looked for due runs at its time"
STILL_WORKING: Final = "the run before still works; this one was not begun"
_NOTHING_LOGGED_BEFORE: Final = timedelta(days=90)
_LONGEST_KEPT_DAYS: Final = 36_500
_RESOLUTION: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What came of one look at a schedule: the runs that are claimed, and how many due times were missed."""

    runs: tuple[ReportExecution, ...] = ()
    missed: int = 0
    schedules: int = 0


class DueRuns:
    """Finds and claims what is due.

    Args:
        store: keeps schedules and runs.
        on_time_s: for how long a due time counts as on time, in seconds.
        lease_s: how long whoever claimed a run may take to have it begun, before somebody else does.
    """

    def __init__(self, store: MetadataStore, *, on_time_s: float, lease_s: float) -> None:
        self._store = store
        self._on_time = timedelta(seconds=on_time_s)
        self._lease = timedelta(seconds=lease_s)

    def due(self, now: datetime) -> Sequence[ReportProgress]:
        """Return schedules that are due, those first that wait longest; in one statement, whatever else is stored."""
        before = (ListFilter(col="next_due_on", op="lt", val=now + _RESOLUTION),)
        query = ListQuery(filters=before, order_by=(("next_due_on", False),), page_size=MOST_AT_A_TIME)
        with self._store.unit_of_work() as unit:
            return unit.report_progress.list(query)[1]

    def open_runs(self) -> Sequence[ReportExecution]:
        """Return the runs that are not over, the oldest first."""
        unfinished = (ListFilter(col="end_dttm", op="is_null", val=True),)
        order = (("scheduled_dttm", False),)
        with self._store.unit_of_work() as unit:
            return unit.report_executions.list(ListQuery(filters=unfinished, order_by=order, page_size=MOST_AT_A_TIME))[
                1
            ]

    def claim(self, due: ReportProgress, now: datetime) -> Claims:
        """Claim the due times of one schedule up to now; nothing where others were faster, or it is gone.

        One whose crontab or times cannot be told is not due any more, so that the others are.

        Raises:
            StoredDataError: what the store holds of it cannot be read here; it stays due, for others to read.
        """
        try:
            with self._store.unit_of_work() as unit:
                return self._claim(unit, due, now)
        except (ValueError, TypeError, ArithmeticError) as error:
            _LOG.error("report schedule %s cannot be read (%s)", due.schedule_id, type(error).__name__)
            return self._set_aside(due)
        except (StaleVersionError, AlreadyExistsError, NotFoundError):
            return Claims()

    def _set_aside(self, due: ReportProgress) -> Claims:
        with suppress(StaleVersionError, NotFoundError), self._store.unit_of_work() as unit:
            unit.report_progress.update(replace(due, next_due_on=None), actor_id=None)
        return Claims()

    def _claim(self, unit: UnitOfWork, due: ReportProgress, now: datetime) -> Claims:
        schedule = unit.report_schedules.get(due.schedule_id)
        crontab = _crontab_of(schedule)
        if crontab is None or due.next_due_on is None:
            unit.report_progress.update(replace(due, next_due_on=None), actor_id=None)
            return Claims()
        times = tuple(islice(_times(schedule, crontab, due.next_due_on, now), MOST_AT_A_TIME))
        is_all = len(times) < MOST_AT_A_TIME
        following = next_due(crontab, schedule.timezone, after=now if is_all else times[-1])
        unit.report_progress.update(replace(due, next_due_on=following), actor_id=None)
        return self._written(unit, schedule, times, now=now, is_all=is_all)

    def _written(
        self, unit: UnitOfWork, schedule: ReportSchedule, times: Sequence[datetime], *, now: datetime, is_all: bool
    ) -> Claims:
        """Write a row for each due time that has none: those to run as claimed, the others as over."""
        known = _rows_at(unit, schedule, times)
        new = [moment for moment in times if moment not in known]
        policy = _policy_of(schedule)
        chosen = frozenset(self._made_up_for(new, policy, now=now, is_all=is_all))
        is_busy = bool(chosen) and _is_busy(unit, schedule)
        why = STILL_WORKING if policy is not MissedRuns.ALL and is_busy else MISSED
        lease = unit.now() + self._lease
        runs: list[ReportExecution] = []
        over: list[ReportExecution] = []
        for moment in new:
            if moment in chosen and why is MISSED:
                held = None if runs or is_busy else lease  # others wait for the one before, and are taken up after it
                runs.append(unit.report_executions.add(_run(schedule, moment, held), actor_id=None))
            else:
                event = RunEvent.STILL_WORKING if moment in chosen else RunEvent.MISSED
                over.append(_over(schedule, moment, event, why=why if moment in chosen else MISSED, now=now))
        unit.report_executions.append_all(over, actor_id=None)
        return Claims(runs=() if is_busy else tuple(runs), missed=len(new) - len(chosen), schedules=1)

    def _made_up_for(
        self, times: Sequence[datetime], policy: MissedRuns, *, now: datetime, is_all: bool
    ) -> Sequence[datetime]:
        """Return which due times are run; while more wait than one look takes, the latest is not among them."""
        match policy:
            case MissedRuns.ALL:
                return times
            case MissedRuns.SKIP:
                return [moment for moment in times if now - moment <= self._on_time]
        return times[-1:] if is_all else ()


def _crontab_of(schedule: ReportSchedule) -> Crontab | None:
    """Return the crontab of an active schedule; None where it is not active, or somebody wrote nonsense into it.

    Raises:
        StoredDataError: this machine does not know the zone; another may.
    """
    if not schedule.active:
        return None
    zone_of(schedule.timezone)
    try:
        return parse_crontab(schedule.crontab)
    except ValueError:
        _LOG.error("report schedule %s has no crontab that can be read; it is not due any more", schedule.id)
        return None


def kept_for(log_retention: int | None) -> timedelta | None:
    """Return for how long the log of a schedule is kept, by its days, a century at most; None: for ever."""
    days = min(log_retention or 0, _LONGEST_KEPT_DAYS)
    return timedelta(days=days) if days > 0 else None


def _policy_of(schedule: ReportSchedule) -> MissedRuns:
    """Return which missed runs are made up for; where nobody can read it the latest, which ends in an error itself."""
    try:
        return options_of(schedule.extra).missed
    except StoredDataError:
        return MissedRuns.LATEST


def _times(schedule: ReportSchedule, crontab: Crontab, first: datetime, now: datetime) -> Iterator[datetime]:
    """Yield the due times from `first` until now whose log would still be kept."""
    start = max(first, now - (kept_for(schedule.log_retention) or _NOTHING_LOGGED_BEFORE)) - _RESOLUTION
    for moment in due_times(crontab, schedule.timezone, after=start):
        if moment > now:
            return
        yield moment


def _rows_at(unit: UnitOfWork, schedule: ReportSchedule, times: Sequence[datetime]) -> frozenset[datetime]:
    """Return at which of these moments the schedule has a run already: its clock, or its crontab, was put back."""
    if not times:
        return frozenset()
    filters = (
        ListFilter(col="schedule_id", op="eq", val=schedule.id),
        ListFilter(col="scheduled_dttm", op="in", val=tuple(times)),
    )
    _, found = unit.report_executions.distinct("scheduled_dttm", ListQuery(filters=filters, page_size=len(times)))
    return frozenset(found)


def _is_busy(unit: UnitOfWork, schedule: ReportSchedule) -> bool:
    filters = (
        ListFilter(col="schedule_id", op="eq", val=schedule.id),
        ListFilter(col="end_dttm", op="is_null", val=True),
    )
    return bool(unit.report_executions.list(ListQuery(filters=filters, page_size=1))[1])


def _run(schedule: ReportSchedule, moment: datetime, lease: datetime | None) -> ReportExecution:
    return ReportExecution(
        uuid=str(uuid4()), schedule_id=schedule.id, scheduled_dttm=moment, cause=RunCause.DUE, lease_until=lease
    )


def _over(schedule: ReportSchedule, moment: datetime, event: RunEvent, *, why: str, now: datetime) -> ReportExecution:
    state: RunState = next_state(None, event)
    cause = RunCause.MISSED if event is RunEvent.MISSED else RunCause.DUE
    return ReportExecution(
        uuid=str(uuid4()),
        schedule_id=schedule.id,
        scheduled_dttm=moment,
        cause=cause,
        state=state,
        start_dttm=now,
        end_dttm=now,
        error_message=why,
    )

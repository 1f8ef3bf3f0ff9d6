"""Who runs what is due: each due time is claimed once, by a row of the store, whoever looks and however often.

Rows are written in the transaction that moves the schedule on to its next due time, so that no due time is forgotten
and none comes twice: of two processes the store refuses one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count, islice
from typing import Final
from uuid import uuid4

from analytics_core._records.report import ReportExecution, ReportProgress, ReportSchedule, RunCause, RunState
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._reports.options import MissedRuns, options_of
from analytics_core._reports.schedule import Crontab, due_times, next_due, parse_crontab, zone_of
from analytics_core._reports.states import RunEvent, next_state
from analytics_core._tools.log import line_log
from analytics_core.errors import AlreadyExistsError, ErrorType, NotFoundError, StaleVersionError, StoredDataError
from analytics_core.ports import MetadataStore

_LOG = line_log(__name__)
MOST_AT_A_TIME: Final = 1_000
"""Schedules that are looked at, and due times of one schedule that are logged, in one go."""

MISSED: Final = "missed: nobody looked for due runs at its time"
STILL_WORKING: Final = "the run before still works, or waits; this one was not begun"
_OWNERS: Final = frozenset({"owner_ids"})
_OPEN: Final = (ListFilter(col="end_dttm", op="is_null", val=True),)
_FEW_SCHEDULES: Final = 500
_OPEN_OF_ALL: Final = ListQuery(filters=_OPEN, page_size=10_000_000)
_NOTHING_LOGGED_BEFORE: Final = timedelta(days=90)
_LONGEST_RETENTION_DAYS: Final = 36_500
_LONGEST_WAIT: Final = timedelta(days=1)
_RESOLUTION: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What came of one look at a schedule.

    `run` is the one that is begun now (None: none, or others come before), `schedule` its schedule, the owners left
    unread; `claimed` how many due times are run now or later, `missed` how many are not. `is_put_off`: nobody can tell
    yet whether the run before works, and the schedule stays due. `has_more`: it may be due once more by now.
    """

    run: ReportExecution | None = None
    schedule: ReportSchedule | None = None
    claimed: int = 0
    missed: int = 0
    schedules: int = 0
    is_put_off: bool = False
    has_more: bool = field(default=False, compare=False)


StoreRun = Callable[[UnitOfWork, ReportSchedule, ReportExecution, datetime], ReportExecution]
"""Stores a run that begins now, of a schedule, and returns it; the moment is the store's time."""


def _add(unit: UnitOfWork, _schedule: ReportSchedule, run: ReportExecution, _now: datetime) -> ReportExecution:
    return unit.report_executions.add(run, actor_id=None)


class _UndecidedError(Exception):
    """Nobody can tell yet whether the run before works."""


class DueRuns:
    """Finds and claims what is due.

    Args:
        store: keeps schedules and runs.
        on_time_s: for how long a due time counts as on time, in seconds.
        lease_s: how long whoever claimed a run may take to have it begun, before somebody else does.
        is_held: tells whether somebody held a job so long ago, or it waits for a worker; None: nobody knows yet.
    """

    def __init__(
        self,
        store: MetadataStore,
        *,
        on_time_s: float,
        lease_s: float,
        is_claimed: Callable[[UnitOfWork, str, timedelta], bool | None],
    ) -> None:
        self._store = store
        self._on_time = timedelta(seconds=on_time_s)
        self._lease = timedelta(seconds=lease_s)
        self._is_claimed = is_claimed

    def look(self, now: datetime) -> tuple[Sequence[ReportExecution], Sequence[ReportProgress]]:
        """Return what `open_runs` and `due` do, both as of one moment."""
        with self._store.unit_of_work() as unit:
            return _first_open_runs(unit), _due(unit, now, ())

    def due(self, now: datetime, *, but: Collection[int] = ()) -> Sequence[ReportProgress]:
        """Return schedules that are due, those first that wait longest; in one statement, whatever else is stored.

        Where all of these are `but` some, those that come after them.
        """
        with self._store.unit_of_work() as unit:
            return _due(unit, now, but)

    def open_runs(self) -> Sequence[ReportExecution]:
        """Return the first run of each schedule that is not over, the longest wait first.

        In one statement, unless one schedule has so many that they hide those of others.
        """
        with self._store.unit_of_work() as unit:
            return _first_open_runs(unit)

    def claim(self, due: ReportProgress, now: datetime, store_run: StoreRun = _add) -> Claims:
        """Claim the due times of one schedule up to now; nothing where others were faster, or it is gone.

        `store_run` stores the one that is begun now, in the transaction that claims them. A schedule whose crontab or
        times cannot be told is not due any more, so that the others are.

        Raises:
            StoredDataError: what the store holds of it cannot be read here; it stays due, for others to read.
        """
        try:
            try:
                return self._claimed(due, now, store_run, reads_rows=False)
            except AlreadyExistsError:  # some of its due times have rows: its clock, or its crontab, was put back
                return self._claimed(due, now, store_run, reads_rows=True)
        except _UndecidedError:
            return Claims(is_put_off=True)
        except (ValueError, TypeError, ArithmeticError) as error:
            _LOG.error("report schedule %s cannot be read (%s)", due.schedule_id, type(error).__name__)
            return self._set_aside(due)
        except (StaleVersionError, AlreadyExistsError, NotFoundError):
            return Claims(has_more=True)

    def _set_aside(self, due: ReportProgress) -> Claims:
        with suppress(StaleVersionError, NotFoundError), self._store.unit_of_work() as unit:
            unit.report_progress.update(replace(due, next_due_on=None), actor_id=None)
        return Claims()

    def _claimed(self, due: ReportProgress, now: datetime, store_run: StoreRun, *, reads_rows: bool) -> Claims:
        with self._store.unit_of_work() as unit:
            return self._claim(unit, due, now, store_run, reads_rows=reads_rows)

    def _claim(
        self, unit: UnitOfWork, due: ReportProgress, now: datetime, store_run: StoreRun, *, reads_rows: bool
    ) -> Claims:
        schedule = schedule_without_owners(unit, due.schedule_id)
        crontab = _crontab_of(schedule)
        if crontab is None or due.next_due_on is None:
            unit.report_progress.update(replace(due, next_due_on=None), actor_id=None)
            return Claims()
        times = tuple(islice(_times(schedule, crontab, due.next_due_on, now), MOST_AT_A_TIME))
        is_all = len(times) < MOST_AT_A_TIME
        following = next_due(crontab, schedule.timezone, after=now if is_all else times[-1])
        unit.report_progress.update(replace(due, next_due_on=following), actor_id=None)
        known = _rows_at(unit, schedule, times) if reads_rows else frozenset()
        new = [moment for moment in times if moment not in known]
        return self._written(unit, schedule, new, store_run, now=now, is_all=is_all)

    def _written(
        self,
        unit: UnitOfWork,
        schedule: ReportSchedule,
        new: Sequence[datetime],
        store_run: StoreRun,
        *,
        now: datetime,
        is_all: bool,
    ) -> Claims:
        """Write a row for each new due time: those to run as claimed, the others as over."""
        policy = _policy_of(schedule)
        chosen = frozenset(self._made_up_for(new, policy, now=now, is_all=is_all))
        before = _open_runs(unit, ListFilter(col="schedule_id", op="eq", val=schedule.id), most=2) if chosen else ()
        is_refused = policy is not MissedRuns.ALL and self._is_refused(unit, before, now - max(chosen, default=now))
        run, waiting, over = None, list[ReportExecution](), list[ReportExecution]()
        for moment in new:
            if moment not in chosen:
                over.append(_over(schedule, moment, RunEvent.MISSED, why=MISSED, now=now))
            elif is_refused:
                over.append(_over(schedule, moment, RunEvent.STILL_WORKING, why=STILL_WORKING, now=now))
            elif before or run is not None:  # it waits for the one before, and is taken up after it
                waiting.append(_run(schedule, moment, None))
            else:
                stores_now = unit.now()
                run = store_run(unit, schedule, _run(schedule, moment, stores_now + self._lease), stores_now)
        unit.report_executions.append_all([*waiting, *over], actor_id=None)
        claimed = len(waiting) + (run is not None)
        missed = len(new) - len(chosen)
        return Claims(run=run, schedule=schedule, claimed=claimed, missed=missed, schedules=1, has_more=not is_all)

    def _is_refused(self, unit: UnitOfWork, before: Sequence[ReportExecution], ago: timedelta) -> bool:
        """Tell whether a due time that came so long ago is not run, as the run before works; one may wait for others.

        Raises:
            _UndecidedError: whoever does the run before was not heard of since; it may have been killed.
        """
        if len(before) != 1:
            return bool(before)
        run, now = before[0], unit.now()
        if run.is_put_off:  # it ends soon, as this one is due
            return False
        if run.late_on is not None and run.late_on <= now:
            return False
        if run.lease_until is not None and run.lease_until > now:
            return True
        is_claimed = False if run.job_id is None else self._is_claimed(unit, run.job_id, ago)
        if is_claimed is None:
            raise _UndecidedError
        return is_claimed

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


def _due(unit: UnitOfWork, now: datetime, but: Collection[int]) -> Sequence[ReportProgress]:
    before = (ListFilter(col="next_due_on", op="lt", val=now + _RESOLUTION),)
    query = ListQuery(filters=before, order_by=(("next_due_on", False),), page_size=MOST_AT_A_TIME)
    for page in count():
        found = unit.report_progress.list(replace(query, page=page))[1]
        others = [progress for progress in found if progress.schedule_id not in but] if but else found
        if others or len(found) < MOST_AT_A_TIME:
            break
    return others


def _first_open_runs(unit: UnitOfWork) -> Sequence[ReportExecution]:
    found, hidden = _open_runs(unit, most=MOST_AT_A_TIME), list[int]()
    if len(found) == MOST_AT_A_TIME:
        hidden += unit.report_executions.distinct("schedule_id", _OPEN_OF_ALL)[1]
    firsts: dict[int, ReportExecution] = {}
    while True:
        for run in found:
            firsts.setdefault(run.schedule_id, run)
        hidden = [schedule_id for schedule_id in hidden if schedule_id not in firsts]
        if not hidden:
            return sorted(firsts.values(), key=lambda run: run.scheduled_dttm)
        some = ListFilter(col="schedule_id", op="in", val=tuple(hidden[:_FEW_SCHEDULES]))
        found = _open_runs(unit, some, most=MOST_AT_A_TIME)
        if len(found) < MOST_AT_A_TIME:  # these are all
            del hidden[:_FEW_SCHEDULES]


def schedule_without_owners(unit: UnitOfWork, schedule_id: int) -> ReportSchedule:
    """Return a schedule whose owners are left unread; NotFoundError where there is none."""
    found = unit.report_schedules.get_many((schedule_id,), without=_OWNERS)
    if not found:
        raise NotFoundError("report schedule", schedule_id)
    return found[0]


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


def retention_of(log_retention: int | None) -> timedelta | None:
    """Return for how long the log of a schedule is kept, by its days, a century at most; None: for ever."""
    days = min(log_retention or 0, _LONGEST_RETENTION_DAYS)
    return timedelta(days=days) if days > 0 else None


def _policy_of(schedule: ReportSchedule) -> MissedRuns:
    """Return which missed runs are made up for; where nobody can read it the latest, which ends in an error itself."""
    try:
        return options_of(schedule.extra).missed
    except StoredDataError:
        return MissedRuns.LATEST


def _times(schedule: ReportSchedule, crontab: Crontab, first: datetime, now: datetime) -> Iterator[datetime]:
    """Yield the due times from `first` until now whose log would still be kept."""
    start = max(first, now - (retention_of(schedule.log_retention) or _NOTHING_LOGGED_BEFORE)) - _RESOLUTION
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


def first_open(unit: UnitOfWork, schedule_id: int) -> ReportExecution | None:
    """Return the first run of a schedule that is not over; None: all are."""
    return next(iter(_open_runs(unit, ListFilter(col="schedule_id", op="eq", val=schedule_id), most=1)), None)


def begun_runs(unit: UnitOfWork, schedule_id: int) -> Sequence[ReportExecution]:
    """Return the runs of a schedule that have begun and are not over, but for those that somebody asked for."""
    of_schedule = ListFilter(col="schedule_id", op="eq", val=schedule_id)
    begun = ListFilter(col="start_dttm", op="is_null", val=False)
    by_itself = ListFilter(col="cause", op="neq", val=RunCause.MANUAL.value)
    return _open_runs(unit, of_schedule, begun, by_itself, most=MOST_AT_A_TIME)


def shorten_waits(unit: UnitOfWork, schedule_id: int, longest: timedelta) -> None:
    """Have runs that wait for receivers taken up after so long at the latest, as their schedule is due sooner now."""
    until = unit.now() + max(min(longest, _LONGEST_WAIT), timedelta())
    for run in _open_runs(unit, ListFilter(col="schedule_id", op="eq", val=schedule_id), most=MOST_AT_A_TIME):
        if run.is_put_off and run.job_id is None and run.lease_until is not None and run.lease_until > until:
            unit.report_executions.update(replace(run, lease_until=until), actor_id=None)


def _open_runs(unit: UnitOfWork, *of: ListFilter, most: int) -> Sequence[ReportExecution]:
    query = ListQuery(filters=(*_OPEN, *of), order_by=(("scheduled_dttm", False),), page_size=most)
    return unit.report_executions.list(query)[1]


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
        error_type=ErrorType.GENERIC_COMMAND_ERROR.value if state is RunState.ERROR else None,
    )

"""Budgets of `Settings.budgets`: what each statement may spend, and what all of a day have spent in all processes.

Each process adds what it spent to the metadata store a second after it was spent, so at most once a second; what it has
not added yet counts for itself. A process that is killed loses what it spent in its last second, and the seconds of the
statements that it ran.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from functools import reduce
from math import inf
from typing import Final

from analytics_core._engine.engines.costs import CostEstimates, Costs
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.execution.connections import Admission
from analytics_core._engine.execution.fetching import FetchedResult, FetchLimits, Give
from analytics_core._engine.execution.sessions.base import RunRequest, ScriptRequest, ScriptStatement, Session
from analytics_core._engine.frames.frame import Frame
from analytics_core._records.budget import Budget, BudgetSpan, BudgetUnit
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._records.shared_state import KeyValue
from analytics_core._tools.bounded_calls import start_thread
from analytics_core._tools.forks import forkable_rlock, tell_of_forks
from analytics_core._tools.log import line_log
from analytics_core.errors import (
    AlreadyExistsError,
    AnalyticsError,
    BudgetError,
    ResultTooLargeError,
    StaleVersionError,
    StoredDataError,
    StoreUnavailableError,
    ThreadLimitError,
    UnsupportedByEngineError,
)
from analytics_core.ports import Clock, MetadataStore

KIND: Final = "budget"
"""The kind of the records under which the store holds what a day has spent."""

_RETENTION: Final = timedelta(days=8)
_EVERY_S: Final = 1.0
_ATTEMPTS: Final = 3
_PATIENCE_S: Final = 20.0
"""While another thread is at the store: how long what is known of a day serves, and how long who knows none waits."""

_LOG = line_log(__name__)

Amounts = dict[BudgetUnit, float]
Later = Callable[[Callable[[], None]], object]
"""Does some work a second later."""


def in_a_second(work: Callable[[], None]) -> None:
    """Do some work a second later, in a thread of its own; ThreadLimitError."""

    def wait_and_work() -> None:
        time.sleep(_EVERY_S)
        work()

    start_thread(wait_and_work, name="budgets")


class BudgetLedger:
    """The budgets of a core, and what the present day has spent of them; any thread may use it.

    Args:
        budgets: those of the settings.
        store: where days are counted, for all processes.
        clock: tells the day.
        later: has what was spent written a second later.
    """

    def __init__(
        self, budgets: Sequence[Budget], store: MetadataStore, clock: Clock, *, later: Later = in_a_second
    ) -> None:
        self._budgets, self._store, self._clock, self._later = budgets, store, clock, later
        self._is_closed = self._is_away = False
        self._lock, self._store_lock = forkable_rlock(), forkable_rlock()  # the handler of a signal may close
        self.after_fork()
        tell_of_forks(self)

    def before_fork(self) -> None:
        """Go on: what this process spent stays its own."""

    def after_fork(self) -> None:
        """Be another process, which has spent nothing."""
        self._pending: dict[str, Amounts] = {}
        self._taken: dict[str, Amounts] = {}
        self._stored: dict[str, tuple[float, Amounts]] = {}
        self._unread: set[str] = set()
        self._is_due = False

    def allowance(self, admission: Admission) -> Allowance | None:
        """Return what the budgets leave to a statement; None where none is for it.

        Raises:
            BudgetError: a day has spent all.
            StoreUnavailableError, StoredDataError: nobody can tell what it has spent.
        """
        keys = self._keys(admission)
        bounds = self._bounds(keys)
        for bound in bounds:
            if bound.remaining <= 0:
                raise self.error(bound)
        counted = frozenset(key for budget, key in keys.items() if _counts_days(budget))
        return Allowance(self, admission.spec, bounds, counted) if bounds else None

    def notes(self, admission: Admission) -> tuple[str, ...]:
        """Return what the budgets let a statement spend, and what of it the day has spent; StoreUnavailableError."""
        return tuple(bound.with_spent() for bound in self._bounds(self._keys(admission)))

    def _keys(self, admission: Admission) -> dict[Budget, str]:
        """Return the budgets that are for a statement, with the key under which this day counts for each of them."""
        day = self._clock.now().astimezone(UTC).date().isoformat()
        return {one: f"{day}:{_subject(one, admission)}" for one in self._budgets if _is_for(one, admission)}

    def _bounds(self, keys: Mapping[Budget, str]) -> tuple[BudgetBound, ...]:
        spent = self._spent([key for budget, key in keys.items() if _counts_days(budget)])
        return tuple(
            BudgetBound(budget, unit, span, amount, spent[key].get(unit, 0.0) if span is BudgetSpan.DAY else 0.0)
            for budget, key in keys.items()
            for span in BudgetSpan
            for unit in BudgetUnit
            if (amount := budget.amount(unit, span)) is not None
        )

    def error(self, bound: BudgetBound, message: str = "") -> BudgetError:
        """Return the error for a statement that spends more than a bound leaves."""
        return bound.error(self._clock.now(), message)

    def _spent(self, keys: Sequence[str]) -> dict[str, Amounts]:
        """Return what was spent by now under keys of one day, in all processes as far as they told it."""
        if not self._are_known(keys, for_s=_EVERY_S):
            wait_s = 0.0 if self._are_known(keys, for_s=_PATIENCE_S) else _PATIENCE_S
            if self._store_lock.acquire(timeout=wait_s):  # while amounts are stored, nobody could tell where they stand
                try:
                    self._look_up(keys)
                finally:
                    self._store_lock.release()
            elif wait_s:
                raise StoreUnavailableError("what budgets have spent is not known: the metadata store does not answer")
        with self._lock:
            own = (self._taken, self._pending)
            return {key: reduce(_sum, (part.get(key, {}) for part in own), self._stored[key][1]) for key in keys}

    def _are_known(self, keys: Sequence[str], *, for_s: float) -> bool:
        now, stored = self._clock.monotonic(), self._stored
        return all(key in stored and now < stored[key][0] + for_s for key in keys)

    def _look_up(self, keys: Sequence[str]) -> None:
        """Read what the store holds under keys, unless another thread just did."""
        if self._are_known(keys, for_s=_EVERY_S):
            return
        now = self._clock.monotonic()
        with self._store.unit_of_work() as unit:
            read = {record.key: _amounts(record) for record in _records(unit, keys)}
        with self._lock:
            known = {key: known for key, known in self._stored.items() if now < known[0] + 2 * _PATIENCE_S}
            self._stored = known | {key: (now, read.get(key, {})) for key in keys}

    def add(self, keys: Collection[str], unit: BudgetUnit, amount: float) -> None:
        """Count what was spent under some keys; the store is told a second later."""
        if not keys or not amount:
            return
        for key in keys:
            self._count(key, {unit: amount})
        self._flush_later()

    def close(self) -> None:
        """Add to the store what is left; what cannot be added now is lost. The handler of a signal may call it."""
        self._is_closed = True
        self.flush()

    def flush(self) -> None:
        """Add to the store what this process spent since it did so last; what cannot be added now is tried again."""
        atexit.unregister(self.flush)
        with self._store_lock:
            with self._lock:
                self._is_due = False
                taken, self._pending = self._pending, {}
                self._taken = taken
            if not taken:
                return
            try:
                stored = self._added(taken)
            except Exception as error:  # border to a host's store: it is away
                self._put_back(error)
                return
            now = self._clock.monotonic()
            with self._lock:
                self._stored = self._stored | {key: (now, amounts) for key, amounts in stored.items()}
                self._taken, self._is_away = {}, False

    def _put_back(self, error: Exception) -> None:
        """Have amounts that could not be added tried again; the log says it once until the store is back."""
        if not self._is_away:
            code = error.code if isinstance(error, AnalyticsError) else type(error).__name__
            _LOG.warning("what budgets have spent is not stored yet (%s)", code)
        with self._lock:
            self._is_away = True
            taken, self._taken = self._taken, {}
            for key, amounts in taken.items():
                self._count(key, amounts)
        self._flush_later()

    def _count(self, key: str, amounts: Amounts) -> None:
        with self._lock:
            self._pending[key] = _sum(self._pending.get(key, {}), amounts)

    def _flush_later(self) -> None:
        """Add to the store in a second, or when the interpreter ends before that."""
        with self._lock:
            if self._is_due or self._is_closed:
                return
            self._is_due = True
        atexit.register(self.flush)
        try:
            self._later(self.flush)
        except BaseException as error:  # without a thread, the next statement tries again; Ctrl-C goes on upwards
            self._is_due = False
            if not isinstance(error, ThreadLimitError):
                raise

    def _added(self, added: dict[str, Amounts]) -> dict[str, Amounts]:
        for attempt in range(_ATTEMPTS):
            try:
                with self._store.unit_of_work() as unit:
                    sums = {key: self._sum_of(unit, key, added[key]) for key in sorted(added)}
                return {key: total for key, total in sums.items() if total is not None}
            except (StaleVersionError, AlreadyExistsError):  # another process was faster
                if attempt == _ATTEMPTS - 1:
                    raise
        return {}

    def _sum_of(self, unit: UnitOfWork, key: str, amounts: Amounts) -> Amounts | None:
        """Add to what the store holds under a key; None where that cannot be read, so that nobody spends of it."""
        try:
            return _add(unit, key, amounts)
        except StoredDataError as error:
            if key not in self._unread:
                self._unread.add(key)
                _LOG.warning("%s", error.message)
            return None


def _subject(budget: Budget, admission: Admission) -> str:
    """Return a text for whom a budget is for; budgets for the same count together."""
    person = (admission.actor.stored_id or 0) if budget.each_person else None
    named = json.dumps([budget.database, budget.role, budget.user, person])
    return hashlib.blake2b(named.encode(), digest_size=16).hexdigest()


def _is_for(budget: Budget, admission: Admission) -> bool:
    database, actor = admission.database, admission.actor
    return (
        budget.database in (None, database.id, database.database_name)
        and budget.user in (None, actor.stored_id, None if actor.guest else actor.username)
        and (budget.role is None or any(role.name == budget.role for role in actor.roles))
    )


def _counts_days(budget: Budget) -> bool:
    return any(budget.amount(unit, BudgetSpan.DAY) is not None for unit in BudgetUnit)


def _records(unit: UnitOfWork, keys: Sequence[str]) -> Sequence[KeyValue]:
    of_them = (ListFilter(col="kind", op="eq", val=KIND), ListFilter(col="key", op="in", val=list(keys)))
    return unit.key_values.list(ListQuery(filters=of_them, page_size=len(keys)))[1]


def _add(unit: UnitOfWork, key: str, amounts: Amounts) -> Amounts:
    """Add to what the store holds under a key, and return the sum."""
    record = unit.key_values.find(kind=KIND, key=key)
    total = _sum({} if record is None else _amounts(record), amounts)
    value = json.dumps(total)
    if record is not None:
        unit.key_values.update(replace(record, value=value), actor_id=None)
    else:
        gone_on = datetime.combine(date.fromisoformat(_day(key)), time_of_day.min, tzinfo=UTC) + _RETENTION
        unit.key_values.append(KeyValue(kind=KIND, key=key, value=value, expires_on=gone_on), actor_id=None)
    return total


def _day(key: str) -> str:
    return key.partition(":")[0]


def _amounts(record: KeyValue) -> Amounts:
    with suppress(ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        amounts = {BudgetUnit(unit): float(amount) for unit, amount in json.loads(record.value).items()}
        if all(0 <= amount < inf for amount in amounts.values()):
            return amounts
    raise StoredDataError(
        f"what the budget {record.key!r} has spent cannot be read: nobody spends of it before its next day, or before "
        "that record of the metadata store is removed"
    )


def _sum(first: Amounts, second: Amounts) -> Amounts:
    return {unit: first.get(unit, 0.0) + second.get(unit, 0.0) for unit in {**first, **second}}


@dataclass(frozen=True, slots=True)
class BudgetBound:
    """One amount of a budget; `spent` is what the day had spent before the statement."""

    budget: Budget
    unit: BudgetUnit
    span: BudgetSpan
    amount: float
    spent: float

    @property
    def remaining(self) -> float:
        """What a statement may spend; none or less when the day has spent all."""
        return self.amount - self.spent

    def __str__(self) -> str:
        unit = "of estimated cost" if self.unit is BudgetUnit.COST else self.unit
        return f"the budget of {self.budget} allows {self.amount:,.12g} {unit} per {self.span}"

    def with_spent(self) -> str:
        """Return the bound with what the day has spent of it."""
        return f"{self}, and {self.spent:,.12g} are spent" if self._shows_spent else str(self)

    @property
    def _shows_spent(self) -> bool:
        """Whether people may know what is spent: of costs the difference is an estimate, which comes from all rows."""
        return self.span is BudgetSpan.DAY and self.unit is not BudgetUnit.COST

    def error(self, now: datetime, message: str) -> BudgetError:
        """Return the error for more than is left; `message` says what the statement would do."""
        parts, free_at = [message] if message else [], None
        if self.span is BudgetSpan.DAY:
            free_at = datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), time_of_day.min, tzinfo=UTC)
            if self._shows_spent:
                parts.insert(0, f"{self.spent:,.12g} were spent before")
            elif not parts:
                parts.append("nothing is left")
            parts.append(f"it is free again at {free_at:%Y-%m-%d %H:%M} UTC")
        facts = {
            "budget": {"database": self.budget.database, "role": self.budget.role, "user": self.budget.user},
            "unit": self.unit.value,
            "per": self.span.value,
            "limit": self.amount,
            "spent": self.spent if self._shows_spent else None,
            "free_at": free_at and free_at.isoformat(),
        }
        return BudgetError(f"{self}: {'; '.join(parts)}", extra=facts, retryable=free_at is not None)


class Allowance:
    """What the budgets leave to one statement, or one script; it counts what is spent while it runs.

    Args:
        ledger: counts the day.
        spec: of the engine, which estimates costs.
        bounds: of all budgets that are for it.
        keys: under which the day is counted.
    """

    def __init__(
        self, ledger: BudgetLedger, spec: EngineSpec, bounds: Sequence[BudgetBound], keys: frozenset[str]
    ) -> None:
        self._ledger, self._spec, self._keys = ledger, spec, keys
        self._bounds = {unit: [bound for bound in bounds if bound.unit is unit] for unit in BudgetUnit}
        self._taken = dict.fromkeys(BudgetUnit, 0.0)
        self._given_rows = 0

    def tightest(self, unit: BudgetUnit) -> BudgetBound | None:
        """Return the bound that leaves the least; None: nothing bounds it."""
        return min(self._bounds[unit], key=lambda bound: bound.remaining, default=None)

    def limits(self, limits: FetchLimits) -> FetchLimits:
        """Return limits within the budgets; more rows than a budget leaves end the reading instead of being cut."""
        rows, seconds = self.tightest(BudgetUnit.ROWS), self.tightest(BudgetUnit.SECONDS)
        if rows is not None and rows.remaining < limits.max_rows:
            limits = replace(limits, max_rows=int(rows.remaining), ends_at_rows=True)
        if seconds is not None and seconds.remaining < limits.timeout_s:
            limits = replace(limits, timeout_s=seconds.remaining)
        return limits

    def late(self) -> BudgetError:
        """Return the error for a statement that took all the seconds that it had."""
        bound = self.tightest(BudgetUnit.SECONDS)
        assert bound is not None  # noqa: S101 - it set the time that is over; tells the type checker
        return self._ledger.error(bound, "the statement took longer and was stopped; ask for less")

    def run(self, session: Session, request: RunRequest) -> FetchedResult:
        """Run a statement on a session and count what it spends.

        Raises:
            BudgetError: its engine estimates a cost above what is left, before it runs, or it has more rows.
            UnsupportedByEngineError: there is a budget of cost, and no estimate.
            AnalyticsError: as `Session.run`.
        """
        with self._counting(request.limits):
            self._take_cost(lambda costs: session.estimate(request, costs))
            give = None if request.give is None else self._counted(request.give)
            fetched = session.run(replace(request, give=give))
            self._ledger.add(self._keys, BudgetUnit.ROWS, len(fetched.frame))
            return fetched

    def run_script(self, session: Session, request: ScriptRequest) -> FetchedResult | None:
        """Run a script on a session and count what its statements spend; all is undone where this raises, as there."""

        def begins(one: ScriptStatement, alone: RunRequest) -> None:
            if one.has_plan:
                self._take_cost(lambda costs: session.ask_costs(alone, costs))

        def done(count: int | None) -> None:
            self._take(BudgetUnit.ROWS, count or 0, "the statement has more; ask for less")
            request.done(count)

        with self._counting(request.limits):
            return session.run_script(replace(request, begins=begins, done=done))

    def _take(self, unit: BudgetUnit, amount: float, message: str) -> None:
        """Count what a statement spends; BudgetError, and nothing is counted, where that is more than is left."""
        for bound in self._bounds[unit]:
            before = self._taken[unit] if bound.span is BudgetSpan.DAY else 0.0
            if before + amount > bound.remaining:
                raise self._ledger.error(bound, message)
        self._taken[unit] += amount
        self._ledger.add(self._keys, unit, amount)

    def _take_cost(self, ask: Callable[[CostEstimates], Costs]) -> None:
        """Ask for the cost of a statement where a budget bounds it; how much that is comes from all rows: untold."""
        if not self._bounds[BudgetUnit.COST]:
            return
        costs = self._spec.costs
        estimated = None if costs is None else ask(costs).get(costs.counted)
        if estimated is None:
            raise UnsupportedByEngineError(
                f"a budget bounds the cost of statements here, and {self._spec.label} does not estimate this one's; an "
                "administrator may bound rows or seconds instead"
            )
        self._take(BudgetUnit.COST, estimated, "the statement would cost more; ask for less")

    def _counted(self, give: Give) -> Give:
        def count_and_give(part: Frame) -> bool:
            self._given_rows += len(part)
            self._ledger.add(self._keys, BudgetUnit.ROWS, len(part))
            return give(part)

        return count_and_give

    @contextmanager
    def _counting(self, limits: FetchLimits) -> Iterator[None]:
        """Count the seconds of the block, and the rows of a reading that ends at the limit."""
        started = time.monotonic()
        try:
            yield
        except ResultTooLargeError as error:
            rows = self.tightest(BudgetUnit.ROWS)
            if rows is None or "max_rows" not in error.extra:
                raise
            self._ledger.add(self._keys, BudgetUnit.ROWS, limits.max_rows - self._given_rows)
            raise self._ledger.error(rows, "the statement has more; ask for less") from None
        finally:
            self._ledger.add(self._keys, BudgetUnit.SECONDS, time.monotonic() - started)

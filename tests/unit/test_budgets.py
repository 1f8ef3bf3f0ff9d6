"""The arithmetic of budgets: whom they are for, what is left of a day, and when the store is told."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.execution import LIMITS, admission, database
from tests.support.stores import open_store

from analytics_core import Budget, Settings
from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.execution.budgets import BudgetLedger
from analytics_core._engine.execution.cancel import Stopper
from analytics_core._engine.execution.fetching import FetchedResult, FetchLimits
from analytics_core._engine.execution.sessions.base import RunRequest, Session
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.people import Role, User
from analytics_core._records.repositories import ListQuery
from analytics_core.errors import (
    AnalyticsError,
    BudgetError,
    ResultTooLargeError,
    SettingsError,
    StoredDataError,
    StoreUnavailableError,
)
from analytics_core.ports import MetadataStore
from analytics_core.testing import FixedClock

EVENING = datetime(2026, 5, 1, 23, 30, tzinfo=UTC)
SHOP = admission(database("duckdb:///:memory:", database_name="shop"))
STATEMENT = Statement(sql="SELECT 1", parameters=(), display_sql="SELECT 1", labels=(), kinds=())


class RowsSession(Session):
    """A session whose every statement gives so many rows, and costs as many."""

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def run(self, request: RunRequest) -> FetchedResult:
        rows = [1] * min(self._rows, request.limits.max_rows)
        frame = Frame(columns=(FrameColumn(name="a", kind=ValueKind.INTEGER, values=rows),))
        return FetchedResult(frame=frame, has_more=False, fetched_bytes=0)

    def estimate(self, request: RunRequest, costs: Any) -> dict[str, float]:
        return {costs.counted: float(self._rows)}


class PartsSession(RowsSession):
    """A session whose statement gives its rows as a part, and as many again at its end, if that is not too many."""

    def run(self, request: RunRequest) -> FetchedResult:
        fetched = super().run(request)
        assert request.give is not None
        assert request.give(fetched.frame)
        if 2 * self._rows > request.limits.max_rows:
            raise ResultTooLargeError("more", extra={"max_rows": request.limits.max_rows})
        return fetched


@dataclass
class Process:
    """A process with a ledger of its own; what it would do a second later waits in `due`."""

    ledger: BudgetLedger
    due: list[Callable[[], None]] = field(default_factory=list)

    def spend(self, rows: int, on: Any = SHOP) -> None:
        """Run a statement that gives so many rows."""
        allowance = self.ledger.allowance(on)
        if allowance is None:
            return
        limits = allowance.limits(LIMITS)
        request = RunRequest(connection=None, statement=STATEMENT, limits=limits, stopper=Stopper())  # type: ignore[arg-type] - nothing connects
        allowance.run(RowsSession(rows), request)

    def remaining(self, on: Any = SHOP) -> int:
        """Return how many rows a statement may give."""
        allowance = self.ledger.allowance(on)
        return LIMITS.max_rows if allowance is None else allowance.limits(LIMITS).max_rows

    def wait_a_second(self) -> None:
        """Do what is due."""
        due, self.due[:] = [*self.due], []
        for work in due:
            work()


@dataclass
class World:
    """A store, and a clock for all processes."""

    store: MetadataStore
    clock: FixedClock
    processes: list[Process] = field(default_factory=list)

    def process(self, *budgets: Budget) -> Process:
        """Start a process."""
        due: list[Callable[[], None]] = []
        self.processes.append(Process(BudgetLedger(budgets, self.store, self.clock, later=due.append), due))
        return self.processes[-1]

    def stored(self) -> list[dict[str, float]]:
        """Return what the store holds."""
        with self.store.unit_of_work() as unit:
            records = unit.key_values.list(ListQuery())[1]
        assert {record.kind for record in records} <= {"budget"}
        return [json.loads(record.value) for record in records]


@pytest.fixture
def world() -> Iterator[World]:
    clock = FixedClock(EVENING)
    with open_store("sqlite://", clock) as store:
        world = World(store, clock)
        yield world
        for process in world.processes:
            process.ledger.close()


def person(name: str, user_id: int, *roles: str) -> Any:
    """Return an admission of somebody with roles to the same database."""
    known = tuple(Role(id=number, name=role) for number, role in enumerate(roles, start=1))
    return replace(SHOP, actor=Actor(user=User(id=user_id, username=name), roles=known))


def test_what_is_not_stored_yet_counts_for_its_own_process_alone(world: World) -> None:
    first, second = world.process(Budget(rows_per_day=100)), world.process(Budget(rows_per_day=100))
    first.spend(60)
    assert (first.remaining(), second.remaining()) == (40, 100)
    first.wait_a_second()
    world.clock.advance(timedelta(seconds=1))
    assert (first.remaining(), second.remaining()) == (40, 40)
    second.spend(30)
    assert (first.remaining(), second.remaining()) == (40, 10)
    second.wait_a_second()
    assert first.remaining() == 40  # it looks once a second
    world.clock.advance(timedelta(seconds=1))
    assert (first.remaining(), second.remaining()) == (10, 10)
    assert [amounts["rows"] for amounts in world.stored()] == [90.0]


def test_the_store_is_told_once_a_second_however_many_statements_run(world: World) -> None:
    process = world.process(Budget(rows_per_day=1_000), Budget(database="shop", rows_per_day=2_000))
    for _ in range(20):
        process.spend(3)
    assert len(process.due) == 1
    assert world.stored() == []
    process.wait_a_second()
    assert [amounts["rows"] for amounts in world.stored()] == [60.0, 60.0]
    assert process.due == []
    process.spend(3)
    assert len(process.due) == 1
    process.ledger.close()
    assert [amounts["rows"] for amounts in world.stored()] == [63.0, 63.0]
    process.wait_a_second()
    assert process.due == []  # a closed core begins nothing any more


def test_a_day_that_has_spent_all_is_free_again_at_midnight_in_utc(world: World) -> None:
    process = world.process(Budget(rows_per_day=100))
    process.spend(100)
    with pytest.raises(BudgetError) as refused:
        process.spend(1)
    assert refused.value.message == (
        "the budget of everyone allows 100 rows per day: 100 were spent before; "
        "it is free again at 2026-05-02 00:00 UTC"
    )
    assert refused.value.extra == {
        "budget": {"database": None, "role": None, "user": None},
        "unit": "rows",
        "per": "day",
        "limit": 100,
        "spent": 100.0,
        "free_at": "2026-05-02T00:00:00+00:00",
    }
    assert refused.value.retryable
    world.clock.advance(timedelta(minutes=30))
    assert process.remaining() == 100


def test_a_statement_counts_on_the_day_on_which_it_began(world: World) -> None:
    process = world.process(Budget(rows_per_day=100))
    allowance = process.ledger.allowance(SHOP)
    assert allowance is not None
    world.clock.advance(timedelta(hours=1))
    request = RunRequest(connection=None, statement=STATEMENT, limits=LIMITS, stopper=Stopper())  # type: ignore[arg-type] - nothing connects
    allowance.run(RowsSession(80), request)
    assert process.remaining() == 100


def test_rows_that_are_handed_on_in_parts_count_as_all_others(world: World) -> None:
    process = world.process(Budget(rows_per_day=100))

    def stream(rows: int) -> None:
        allowance = process.ledger.allowance(SHOP)
        assert allowance is not None
        limits = allowance.limits(LIMITS)
        request = RunRequest(connection=None, statement=STATEMENT, limits=limits, stopper=Stopper())  # type: ignore[arg-type] - nothing connects
        allowance.run(PartsSession(rows), replace(request, give=lambda _part: True))

    stream(20)
    assert process.remaining() == 60
    with pytest.raises(BudgetError, match="40 were spent before; the statement has more"):
        stream(50)
    with pytest.raises(BudgetError, match="100 were spent before"):
        stream(1)


def test_the_tightest_of_database_role_and_person_counts_and_all_are_counted(world: World) -> None:
    process = world.process(
        Budget(database=1, rows_per_day=100),
        Budget(role="analysts", rows_per_day=80),
        Budget(user="ann", rows_per_day=50),
        Budget(database=2, rows_per_day=1),
        Budget(database="shop", role="analysts", user="bob", rows_per_statement=5),
    )
    ann, bob, eve = person("ann", 5, "analysts"), person("bob", 6, "staff", "analysts"), person("eve", 7, "staff")
    assert [process.remaining(one) for one in (ann, bob, eve)] == [50, 5, 100]
    process.spend(45, on=ann)
    assert [process.remaining(one) for one in (ann, bob, eve)] == [5, 5, 55]
    for _ in range(7):
        process.spend(5, on=bob)
    with pytest.raises(BudgetError, match="the budget of role 'analysts' allows 80 rows per day"):
        process.spend(1, on=ann)
    assert process.remaining(eve) == 20


def test_each_person_has_an_amount_of_their_own_where_that_is_said(world: World) -> None:
    process = world.process(Budget(role="analysts", each_person=True, rows_per_day=10))
    ann, bob = person("ann", 5, "analysts"), person("bob", 6, "analysts")
    process.spend(10, on=ann)
    assert process.remaining(bob) == 10
    with pytest.raises(BudgetError, match="role 'analysts', each person allows 10 rows"):
        process.spend(1, on=ann)


def test_a_statement_that_would_cost_more_does_not_run_and_counts_nothing(world: World) -> None:
    process = world.process(Budget(database=1, cost_per_statement=50, cost_per_day=70))
    with pytest.raises(BudgetError, match="allows 50 of estimated cost per statement: the statement would cost more"):
        process.spend(51)
    process.spend(50)
    with pytest.raises(
        BudgetError, match="allows 70 of estimated cost per day: the statement would cost more"
    ) as caught:
        process.spend(21)
    # What is spent would tell the estimate of the last statement, which comes from rows that rules hide, too.
    assert (caught.value.extra["spent"], "50" in caught.value.message) == (None, False)
    assert not [note for note in process.ledger.notes(SHOP) if "spent" in note]
    process.spend(20)
    with pytest.raises(BudgetError, match="allows 70 of estimated cost per day: nothing is left; it is free again at"):
        process.spend(1)
    process.wait_a_second()
    assert [(amounts["cost"], amounts["rows"]) for amounts in world.stored()] == [(70.0, 70.0)]


def test_limits_of_the_settings_stand_where_budgets_leave_more(world: World) -> None:
    limits = FetchLimits(max_rows=10, max_bytes=1, timeout_s=2.0)
    assert world.process(Budget(database=2, rows_per_day=1)).ledger.allowance(SHOP) is None
    wide = world.process(Budget(rows_per_day=10, seconds_per_statement=3)).ledger.allowance(SHOP)
    tight = world.process(Budget(rows_per_day=9, seconds_per_statement=1)).ledger.allowance(SHOP)
    assert wide is not None
    assert wide.limits(limits) == limits
    assert tight is not None
    assert tight.limits(limits) == replace(limits, max_rows=9, ends_at_rows=True, timeout_s=1)


class MeddledStore:
    """A store whose units of work begin with what a test puts there."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store
        self.first: Callable[[], object] = str

    @contextmanager
    def unit_of_work(self) -> Iterator[Any]:
        self.first()
        with self._store.unit_of_work() as unit:
            yield unit


@pytest.fixture
def meddled(world: World) -> World:
    return replace(world, store=MeddledStore(world.store))  # type: ignore[arg-type] - all that is asked of it


@pytest.mark.parametrize("error", [StoreUnavailableError("it is away"), ZeroDivisionError()], ids=["away", "host's"])
def test_what_cannot_be_stored_now_is_stored_later(
    world: World, meddled: Any, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    def away() -> None:
        raise error

    process = meddled.process(Budget(rows_per_day=100))
    process.spend(60)
    meddled.store.first = away
    for _ in range(3):
        process.wait_a_second()
        assert (world.stored(), len(process.due)) == ([], 1)
    assert [record.levelname for record in caplog.records] == ["WARNING"]  # once, however long it is away
    meddled.store.first = str
    assert process.remaining() == 40
    process.wait_a_second()
    assert [amounts["rows"] for amounts in world.stored()] == [60.0]


@for_each("text", ["{", "[]", "7", '{"rows": NaN}', '{"rows": -5}', '{"rows": 1e999}', '{"apples": 1}', "[" * 9_999])
def test_a_record_that_cannot_be_read_closes_its_own_budget_alone(text: str) -> None:
    clock = FixedClock(EVENING)
    with open_store("sqlite://", clock) as store:
        world = World(store, clock)
        process = world.process(Budget(user="ida", rows_per_day=100), Budget(user="bo", rows_per_day=100))
        ida, bo = person("ida", 7), person("bo", 8)
        process.spend(10, ida)
        process.wait_a_second()
        with store.unit_of_work() as unit:
            (record,) = unit.key_values.list(ListQuery())[1]
            unit.key_values.update(replace(record, value=text), actor_id=None)
        process.spend(10, ida)  # what is known serves for a second
        process.spend(10, bo)
        process.wait_a_second()
        clock.advance(timedelta(seconds=1))
        with pytest.raises(StoredDataError, match="before its next day"):
            process.remaining(ida)
        assert process.remaining(bo) == 90
        assert process.due == []
        clock.advance(timedelta(days=1))
        assert process.remaining(ida) == 100


def test_the_log_names_a_record_that_cannot_be_read_once(world: World, caplog: pytest.LogCaptureFixture) -> None:
    process = world.process(Budget(rows_per_day=100))
    process.spend(10)
    process.wait_a_second()
    with world.store.unit_of_work() as unit:
        (record,) = unit.key_values.list(ListQuery())[1]
        unit.key_values.update(replace(record, value="{"), actor_id=None)
    for _ in range(3):
        process.spend(10)
        process.wait_a_second()
    assert [one.levelname for one in caplog.records] == ["WARNING"]
    assert "2026-05-01" in caplog.text
    with world.store.unit_of_work() as unit:
        unit.key_values.delete_matching([])
    world.clock.advance(timedelta(seconds=1))
    assert process.remaining() == 100


def test_a_statement_does_not_wait_while_another_thread_is_at_the_store(meddled: Any) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        assert go_on.wait(20)

    process = meddled.process(Budget(rows_per_day=100))
    process.spend(60)
    meddled.clock.advance(timedelta(seconds=5))  # what is known is old, and serves
    meddled.store.first = hang
    adding = threading.Thread(target=process.wait_a_second)
    adding.start()
    assert begun.wait(20)
    process.spend(10)
    assert process.remaining() == 30  # what is on its way counts once
    meddled.store.first = str
    go_on.set()
    adding.join(20)
    assert process.remaining() == 30


def test_the_handler_of_a_signal_may_close_in_the_middle_of_a_look(world: World, meddled: Any) -> None:
    process = meddled.process(Budget(rows_per_day=100))
    process.spend(60)
    meddled.clock.advance(timedelta(seconds=5))

    def end() -> None:
        meddled.store.first = str
        process.ledger.close()

    meddled.store.first = end  # in the same thread, as a handler runs
    process.remaining()
    assert [amounts["rows"] for amounts in world.stored()] == [60.0]


ENDS_AT_ONCE = """
from analytics_core import AnalyticsCore, Budget, Settings
settings = Settings(secret_key={key!r}, data_roots=(".",), budgets=[Budget(rows_per_day=9)])
core = AnalyticsCore(settings, metadata_url={url!r})
core.create_first_administrator("ada")
ada = core.as_user("ada")
ada.databases.create({{"database_name": "empty", "orm_uri": "sqlite:///empty.db"}})
ada.sql("SELECT 1 AS one UNION ALL SELECT 2")
"""


def test_a_program_that_ends_at_once_and_closes_nothing_has_spent_all_the_same(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    (tmp_path / "empty.db").touch()
    subprocess.run([sys.executable, "-c", ENDS_AT_ONCE.format(key=KEY, url=url)], cwd=tmp_path, check=True)
    clock = FixedClock(EVENING)
    with open_store(url, clock) as store:
        assert [amounts["rows"] for amounts in World(store, clock).stored()] == [2.0]


def test_a_forked_process_does_not_count_what_its_parent_spent_again(world: World) -> None:
    process = world.process(Budget(rows_per_day=100))
    process.spend(60)
    process.ledger.before_fork()
    process.ledger.after_fork()
    assert process.remaining() == 100
    process.ledger.flush()
    assert world.stored() == []


@for_each(
    ("fields", "message"),
    [
        ({}, "bounds nothing; name one of rows_per_statement, rows_per_day"),
        ({"rows_per_day": 0}, "Budget.rows_per_day must be a whole number above 0"),
        ({"rows_per_day": 1.5}, "Budget.rows_per_day must be a whole number above 0"),
        ({"seconds_per_day": True}, "Budget.seconds_per_day must be a number above 0"),
        ({"seconds_per_statement": float("inf")}, "Budget.seconds_per_statement must be a number above 0"),
        ({"role": 3, "rows_per_day": 5}, "Budget.role must be a name, or None"),
        ({"database": True, "rows_per_day": 5}, "Budget.database must be a name or an id, or None"),
        ({"user": ("ann",), "rows_per_day": 5}, "Budget.user must be a name or an id, or None"),
        ({"cost_per_day": 5}, "a Budget of cost must name its database"),
    ],
)
def test_a_budget_that_bounds_nothing_or_oddly_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Budget(**fields)


KEY = "Zk3v9-xQ2Lw8_pR5tY7uB1nM4cD6eF0g"


def test_budgets_come_as_records_or_maps_and_from_the_environment() -> None:
    budget = Budget(role="analysts", rows_per_day=5)
    assert Settings(secret_key=KEY, budgets=(budget, {"role": "analysts", "rows_per_day": 5})).budgets == (budget,) * 2
    text = '[{"role": "analysts", "rows_per_day": 5}]'
    environment = {"ANALYTICS_CORE_SECRET_KEY": KEY, "ANALYTICS_CORE_BUDGETS": text}
    assert Settings.from_env(environment).budgets == (budget,)


@for_each(
    ("budgets", "message"),
    [
        ([{"rows": 5}], "a Budget has no 'rows'; it has database, role"),
        ([5], "Settings.budgets must hold Budget records, not int"),
        ({"rows_per_day": 5}, "Settings.budgets must be a tuple of budgets"),
    ],
)
def test_budgets_that_are_none_are_refused(budgets: Any, message: str) -> None:
    with pytest.raises(AnalyticsError, match=message):
        Settings(secret_key=KEY, budgets=budgets)

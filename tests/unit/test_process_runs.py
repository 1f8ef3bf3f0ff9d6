"""Processes that share a cache and a lock have one run; failures, dead holders, parts that are away, ends of waits."""

from __future__ import annotations

import itertools
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from analytics_core._core.adapters.caches import GuardedCache
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.execution.request_budget import RequestBudget
from analytics_core._engine.querying.process_runs import ProcessRuns
from analytics_core.errors import (
    QueryError,
    RequestLimitError,
    RequestTimeoutError,
    StatementStoppedError,
    StoreUnavailableError,
)
from analytics_core.ports import Lease

PROCESSES = 6


class SharedParts:
    """A cache and an extendable lock in the memory of a test; both can be away."""

    def __init__(self) -> None:
        self.entries: dict[str, bytes] = {}
        self.leases: dict[str, tuple[str, float]] = {}
        self.is_away = False
        self.calls = 0
        self._numbers = itertools.count(1)
        self._guard = threading.Lock()

    def get(self, key: str) -> bytes | None:
        self._called()
        return self.entries.get(key)

    def set(self, key: str, value: bytes, *, timeout_s: int | None) -> None:
        self._called()
        self.entries[key] = value

    def delete(self, key: str) -> None:
        self.entries.pop(key, None)

    def acquire(self, name: str, *, ttl_s: float) -> Lease | None:
        self._called()
        with self._guard:
            if self.leases.get(name, ("", 0.0))[1] > time.monotonic():
                return None
            owner = secrets.token_hex()
            self.leases[name] = owner, time.monotonic() + ttl_s
            return Lease(name=name, owner=owner, fencing_number=next(self._numbers))

    def extend(self, lease: Lease, *, ttl_s: float) -> bool:
        self._called()
        with self._guard:
            owner, ends = self.leases.get(lease.name, ("", 0.0))
            if owner != lease.owner or ends <= time.monotonic():
                return False
            self.leases[lease.name] = owner, time.monotonic() + ttl_s
            return True

    def release(self, lease: Lease) -> bool:
        self._called()
        with self._guard:
            if self.leases.get(lease.name, ("", 0.0))[0] != lease.owner:
                return False
            return self.leases.pop(lease.name)[1] > time.monotonic()

    def _called(self) -> None:
        self.calls += 1
        if self.is_away:
            raise StoreUnavailableError("away")


class World:
    """Processes whose runs wait until a test lets them go."""

    def __init__(self, *, longest_s: float = 60.0) -> None:
        self.parts = SharedParts()
        self.processes = [self._process(longest_s) for _ in range(PROCESSES)]
        self.runs = 0
        self.begun = threading.Semaphore(0)
        self.go = threading.Event()
        self.failures: list[BaseException] = []
        self.stores = True
        self._guard = threading.Lock()

    def _process(self, longest_s: float) -> ProcessRuns[str]:
        cache = GuardedCache(self.parts, wait_s=20.0)
        return ProcessRuns(cache, self.parts, ask=cache.ask, longest_s=longest_s)

    def find(self) -> str | None:
        try:
            found = self.parts.get("key")
        except StoreUnavailableError:
            return None
        return None if found is None else found.decode()

    def run(self) -> str:
        with self._guard:
            self.runs += 1
            failure = self.failures.pop(0) if self.failures else None
        self.begun.release()
        assert self.go.wait(20)
        if failure is not None:
            raise failure
        if self.stores:
            self.parts.entries["key"] = b"answer"
        return "answer"

    def ask(self, number: int, **ends: Any) -> str:
        return self.processes[number].answer("key", find=self.find, run=self.run, **ends)

    def many(self, pool: ThreadPoolExecutor) -> list[Future[str]]:
        """Have one process run and the others wait, then let the run go."""
        first = pool.submit(self.ask, 0)
        assert self.begun.acquire(timeout=10)
        others = [pool.submit(self.ask, number) for number in range(1, PROCESSES)]
        eventually(lambda: self.parts.calls > 4 * PROCESSES)
        self.go.set()
        return [first, *others]


def eventually(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(PROCESSES) as made:
        yield made


def test_many_processes_have_one_run(world: World, pool: ThreadPoolExecutor) -> None:
    assert [requested.result(10) for requested in world.many(pool)] == ["answer"] * PROCESSES
    assert world.runs == 1
    eventually(lambda: not world.parts.leases)


@pytest.mark.slow
def test_a_lease_is_extended_for_as_long_as_its_run_lasts(world: World, pool: ThreadPoolExecutor) -> None:
    first = pool.submit(world.ask, 0)
    assert world.begun.acquire(timeout=10)
    second = pool.submit(world.ask, 1)
    time.sleep(2.5)
    assert world.runs == 1
    world.go.set()
    assert (first.result(10), second.result(10), world.runs) == ("answer", "answer", 1)


def test_after_a_run_without_an_entry_all_who_waited_run_at_once(world: World, pool: ThreadPoolExecutor) -> None:
    world.stores = False
    assert [requested.result(10) for requested in world.many(pool)] == ["answer"] * PROCESSES
    assert world.runs == PROCESSES


def test_an_error_is_its_own_processs_and_the_others_run_at_once(world: World, pool: ThreadPoolExecutor) -> None:
    world.failures = [QueryError("no")] * PROCESSES
    for requested in world.many(pool):
        with pytest.raises(QueryError):
            requested.result(10)
    assert world.runs == PROCESSES


@pytest.mark.parametrize(
    "failure",
    [StatementStoppedError("cancelled"), RequestTimeoutError("over"), RequestLimitError("many"), KeyboardInterrupt()],
    ids=lambda failure: type(failure).__name__,
)
def test_a_run_that_its_caller_gave_up_is_begun_anew_by_one(
    world: World, pool: ThreadPoolExecutor, failure: BaseException
) -> None:
    world.failures = [failure]
    first, *others = world.many(pool)
    with pytest.raises(type(failure)):
        first.result(10)
    assert [requested.result(10) for requested in others] == ["answer"] * (PROCESSES - 1)
    assert world.runs == 2


def test_a_holder_that_never_came_back_keeps_others_out_for_a_moment(world: World) -> None:
    world.parts.acquire("run/key", ttl_s=0.3)  # as the holder asked, who then died
    world.go.set()
    began = time.monotonic()
    assert (world.ask(0), world.runs) == ("answer", 1)
    assert 0.2 < time.monotonic() - began < 5


def test_a_run_that_ended_while_the_lock_was_away_keeps_others_out_for_a_moment(
    world: World, pool: ThreadPoolExecutor
) -> None:
    first = pool.submit(world.ask, 0)
    assert world.begun.acquire(timeout=10)
    eventually(lambda: world.parts.leases["run/key"][1] > time.monotonic() + 1.5)  # extended
    world.parts.is_away, world.stores = True, False
    world.go.set()
    assert first.result(10) == "answer"
    world.parts.is_away = False
    began = time.monotonic()
    assert (world.ask(1), world.runs) == ("answer", 2)
    assert time.monotonic() - began < 1.5


def test_nobody_waits_longer_than_a_run_is_worth(pool: ThreadPoolExecutor) -> None:
    world = World(longest_s=0.2)
    first = pool.submit(world.ask, 0)
    assert world.begun.acquire(timeout=10)
    second = pool.submit(world.ask, 1)
    assert world.begun.acquire(timeout=10)
    world.go.set()
    assert (first.result(10), second.result(10), world.runs) == ("answer", "answer", 2)


def test_parts_that_are_away_are_asked_a_few_times_and_keep_nobody_from_running(world: World) -> None:
    world.parts.is_away = True
    world.go.set()
    assert [world.ask(0) for _ in range(20)] == ["answer"] * 20
    assert world.runs == 20
    assert world.parts.calls == 3  # then the circuit is open


def test_parts_that_go_away_end_the_wait(world: World, pool: ThreadPoolExecutor) -> None:
    first = pool.submit(world.ask, 0)
    assert world.begun.acquire(timeout=10)
    second = pool.submit(world.ask, 1)
    world.parts.is_away = True
    assert world.begun.acquire(timeout=10)
    world.go.set()
    assert (first.result(10), second.result(10), world.runs) == ("answer", "answer", 2)


def test_who_waits_may_be_cancelled_is_bound_by_the_request_and_ends_with_the_core(
    world: World, pool: ThreadPoolExecutor
) -> None:
    first = pool.submit(world.ask, 0)
    assert world.begun.acquire(timeout=10)
    token = CancelToken()
    waiting = pool.submit(world.ask, 1, cancel=token)
    token.cancel()
    with pytest.raises(StatementStoppedError, match="cancelled"):
        waiting.result(10)
    with pytest.raises(RequestTimeoutError, match=r"longer than 0\.2 seconds in all"):
        world.ask(2, budget=RequestBudget(timeout_s=0.2, statements=1, cells=1, sql_length=1))
    waiting = pool.submit(world.ask, 3)
    world.processes[3].close()
    with pytest.raises(StatementStoppedError, match="core was closed"):
        waiting.result(10)
    world.go.set()
    assert (first.result(10), world.runs) == ("answer", 1)


def test_who_looked_before_the_end_and_comes_after_it_does_not_run_again(world: World) -> None:
    world.go.set()
    assert world.ask(0) == "answer"
    eventually(lambda: "ended-key" in world.parts.entries and not world.parts.leases)
    assert (world.ask(1), world.runs) == ("answer", 1)  # `answer` is for those whose look found nothing

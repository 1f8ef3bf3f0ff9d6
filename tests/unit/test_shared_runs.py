"""Who asks the same at the same time waits for one run; errors, cancelled runs and late callers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.execution.request_budget import RequestBudget
from analytics_core._engine.querying.result_cache import SharedRuns
from analytics_core.errors import QueryError, RequestLimitError, RequestTimeoutError, StatementStoppedError

CALLERS = 16


class World:
    """Runs that wait until a test lets them go."""

    def __init__(self) -> None:
        self.shared: SharedRuns[str] = SharedRuns()
        self.retained: dict[str, str] = {}
        self.runs = 0
        self.begun = threading.Semaphore(0)
        self.looked = threading.Semaphore(0)
        self.go = threading.Event()
        self.failures: list[BaseException] = []

    def run(self) -> str:
        self.runs += 1
        self.begun.release()
        assert self.go.wait(20)
        if self.failures:
            raise self.failures.pop(0)
        self.retained["key"] = "answer"
        return "answer"

    def ask(self, cancel: CancelToken | None = None, find: Callable[[], str | None] | None = None) -> str:
        return self.shared.answer("key", find=find or self.find, run=self.run, cancel=cancel)

    def find(self) -> str | None:
        self.looked.release()
        return self.retained.get("key")

    def many(self, pool: ThreadPoolExecutor) -> list[Future[str]]:
        first = pool.submit(self.ask)
        assert self.begun.acquire(timeout=10)
        others = [pool.submit(self.ask) for _ in range(CALLERS - 1)]
        assert all(self.looked.acquire(timeout=10) for _ in range(CALLERS))
        time.sleep(0.1)  # from their look for a kept answer to their wait for the run
        self.go.set()
        return [first, *others]


@pytest.fixture
def world() -> World:
    return World()


def test_many_callers_have_one_run(world: World) -> None:
    with ThreadPoolExecutor(CALLERS) as pool:
        assert [requested.result(10) for requested in world.many(pool)] == ["answer"] * CALLERS
    assert world.runs == 1


def test_an_answer_that_is_not_kept_is_shared_all_the_same(world: World) -> None:
    world.retained = type("Forgetful", (dict,), {"get": lambda *_: None})()
    with ThreadPoolExecutor(CALLERS) as pool:
        assert [requested.result(10) for requested in world.many(pool)] == ["answer"] * CALLERS
    assert world.runs == 1


def test_an_error_is_an_error_for_all_and_is_not_kept(world: World) -> None:
    world.failures = [QueryError("no")]
    with ThreadPoolExecutor(CALLERS) as pool:
        for requested in world.many(pool):
            with pytest.raises(QueryError):
                requested.result(10)
    assert world.ask() == "answer"
    assert world.runs == 2


@pytest.mark.parametrize(
    "failure",
    [
        StatementStoppedError("cancelled"),
        KeyboardInterrupt(),
        RequestTimeoutError("its time is over"),
        RequestLimitError("it has too many statements"),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_a_run_that_its_caller_gave_up_is_begun_anew_by_another(world: World, failure: BaseException) -> None:
    world.failures = [failure]
    with ThreadPoolExecutor(CALLERS) as pool:
        first, *others = world.many(pool)
        with pytest.raises(type(failure)):
            first.result(10)
        assert [requested.result(10) for requested in others] == ["answer"] * (CALLERS - 1)
    assert world.runs == 2


def test_who_waits_may_be_cancelled_and_the_run_goes_on(world: World) -> None:
    token = CancelToken()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(world.ask)
        assert world.begun.acquire(timeout=10)
        waiting = pool.submit(world.ask, token)
        token.cancel()
        with pytest.raises(StatementStoppedError):
            waiting.result(10)
        world.go.set()
        assert first.result(10) == "answer"


def test_nobody_waits_longer_than_their_own_request_may(world: World) -> None:
    budget = RequestBudget(timeout_s=0.2, statements=1, cells=1, sql_length=1)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(world.ask)
        assert world.begun.acquire(timeout=10)
        with pytest.raises(RequestTimeoutError, match=r"longer than 0\.2 seconds in all"):
            world.shared.answer("key", find=lambda: None, run=world.run, budget=budget)
        world.go.set()
        assert first.result(10) == "answer"
    assert world.runs == 1


def test_who_looked_before_the_end_and_comes_after_it_does_not_run_again(world: World) -> None:
    looked, ended = threading.Event(), threading.Event()

    def find_late() -> str | None:
        found = world.retained.get("key")
        looked.set()
        assert ended.wait(10)
        return found

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(world.ask)
        assert world.begun.acquire(timeout=10)
        late = pool.submit(world.ask, None, find_late)
        assert looked.wait(10)
        world.go.set()
        assert first.result(10) == "answer"
        ended.set()
        assert late.result(10) == "answer"
    assert world.runs == 1


def test_other_keys_do_not_wait(world: World) -> None:
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(world.ask)
        assert world.begun.acquire(timeout=10)
        assert world.shared.answer("other", find=lambda: None, run=lambda: "other") == "other"
        world.go.set()
        assert first.result(10) == "answer"

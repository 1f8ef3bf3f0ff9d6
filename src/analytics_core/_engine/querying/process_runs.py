"""One run for all processes that ask the same at one time, through a cache and a lock that they share."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final, Generic, TypeVar

from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.execution.request_budget import RequestBudget
from analytics_core._tools.bounded_calls import BoundedCalls
from analytics_core.errors import (
    AnalyticsError,
    RequestLimitError,
    RequestTimeoutError,
    StatementStoppedError,
    ThreadLimitError,
)
from analytics_core.ports import Cache, ExtendableLock, Lease

Result = TypeVar("Result")

_FIRST_LEASE_S: Final = 0.2
"""How long a lease lasts that its holder has not extended: one that never came back to whoever asked for it."""
_LEASE_S: Final = 2.0
_EXTEND_S: Final = 0.5
_RELEASE_S: Final = 0.2
_LOOK_S: Final = 0.05
_MARK_S: Final = 2
"""How long others know that a run ended; none takes longer from a look for its entry to the lock."""


class ProcessRuns(Generic[Result]):
    """Runs by what they answer, among processes that share a cache and a lock; any thread may use it.

    Whoever gets the lock runs, and the others wait for the entry. Leases are short, and extended while the run lasts:
    two seconds after their holder died another one runs. A run leaves a mark in the cache when it ends: who gets the
    lock then and finds no entry (it failed, was too large, was lost) runs alone, so that nobody waits for a second run.
    Neither does whoever cannot ask the cache or the lock, nor whoever has waited for `longest_s`.

    Args:
        cache: keeps the answers, and the marks; it neither raises nor waits for long.
        lock: among the processes.
        ask: calls the lock under the name of what is asked, and returns None where it raises or takes long.
        longest_s: seconds after which nobody waits any more; then the run is done here.
    """

    def __init__(
        self,
        cache: Cache,
        lock: ExtendableLock,
        *,
        ask: Callable[[str, Callable[[], Any]], Any],
        longest_s: float,
    ) -> None:
        self._cache = cache
        self._lock = lock
        self._ask = ask
        self._longest_s = longest_s
        self._calls = BoundedCalls("shared run")
        self._is_closed = False

    def answer(
        self,
        key: str,
        *,
        find: Callable[[], Result | None],
        run: Callable[[], Result],
        cancel: CancelToken | None = None,
        budget: RequestBudget | None = None,
    ) -> Result:
        """Return what `run` returns, here or in another process whose answer `find` finds.

        Args:
            key: names the answer; equal keys mean equal answers.
            find: looks for an answer in the cache; it was there for nobody a moment ago.
            run: makes the answer and puts it into the cache.
            cancel: ends this caller's wait.
            budget: what is left of this caller's request, which ends the wait too.

        Raises:
            StatementStoppedError: `cancel` was used, or the core was closed.
            RequestTimeoutError: the time of this caller's request is over.
            AnalyticsError: the run failed.
        """
        latest = time.monotonic() + self._longest_s
        while True:
            # A tuple: None is what is asked in vain.
            found = self._ask("lock", lambda: (self._lock.acquire(f"run/{key}", ttl_s=_FIRST_LEASE_S),))
            if found is None:
                return run()
            if found[0] is not None:
                return self._lead(key, found[0], find, run)
            self._pause(cancel, budget)
            if (cached := find()) is not None:
                return cached
            if time.monotonic() >= latest:
                return run()

    def close(self) -> None:
        """End the wait of all who wait for other processes."""
        self._is_closed = True

    def _lead(self, key: str, lease: Lease, find: Callable[[], Result | None], run: Callable[[], Result]) -> Result:
        mark, over = f"ended-{key}", queue.SimpleQueue[bool]()
        has_ended = self._cache.get(mark) is not None
        with suppress(ThreadLimitError):  # the lease ends by itself
            self._calls.start(partial(self._hold, lease, mark, over))
        if has_ended:  # since this caller looked, or while it waited
            over.put(False)
            cached = find()
            return run() if cached is None else cached
        is_answer = False
        try:
            result = run()
            is_answer = True
        except (StatementStoppedError, RequestTimeoutError, RequestLimitError):
            raise  # this caller's wish, or budget, alone: another one shall run
        except AnalyticsError:
            is_answer = True
            raise
        finally:
            over.put(is_answer)
        return result

    def _hold(self, lease: Lease, mark: str, over: queue.SimpleQueue[bool]) -> None:
        """Extend a lease until the run is over, then mark it where it has an answer, and release the lock."""
        is_answer = None
        while is_answer is None:
            with suppress(Exception):  # whatever a lock says: the lease ends by itself, and the run goes on
                self._lock.extend(lease, ttl_s=_LEASE_S)
            with suppress(queue.Empty):
                is_answer = over.get(timeout=_EXTEND_S)
        if is_answer:
            self._cache.set(mark, b"ended", timeout_s=_MARK_S)
        self._release(lease)

    def _release(self, lease: Lease) -> None:
        """Release the lock, again and again where it is away: nobody shall wait for a run that is over."""
        latest = time.monotonic() + _LEASE_S
        while time.monotonic() < latest:
            with suppress(Exception):
                self._lock.release(lease)
                return
            time.sleep(_RELEASE_S)

    def _pause(self, cancel: CancelToken | None, budget: RequestBudget | None) -> None:
        time.sleep(_LOOK_S)
        if self._is_closed:
            raise StatementStoppedError("the core was closed while another process answered the question; ask again")
        if cancel is not None and cancel.cancelled:
            raise StatementStoppedError("the question was cancelled while another process answered it")
        if budget is not None:
            budget.check_time()

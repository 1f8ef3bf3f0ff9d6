"""One call for all threads of a process that ask for the same thing at the same time."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from analytics_core._tools.forks import forkable_lock, tell_of_forks
from analytics_core.errors import AnalyticsError

Result = TypeVar("Result")


class _Call(Generic[Result]):
    """A call on its way; `outcome` stays empty where it was interrupted."""

    def __init__(self) -> None:
        self.is_over = threading.Event()
        self.outcome: tuple[Result] | AnalyticsError | None = None


class SharedCalls(Generic[Result]):
    """Makes one call for all who ask for the same key meanwhile: they get what it returns, or the error it raises."""

    def __init__(self) -> None:
        self._guard = forkable_lock()
        self._running: dict[Hashable, _Call[Result]] = {}
        tell_of_forks(self)

    def run(self, key: Hashable, work: Callable[[], Result], *, longest_s: float) -> Result:
        """Return what `work` returns, here or in another thread that began it.

        Args:
            key: what is asked for.
            work: is done by the first who asks; it has an end of its own.
            longest_s: seconds after which nobody waits for another thread any more; then the work is done here.
        """
        while True:
            with self._guard:
                call = self._running.get(key)
                is_first = call is None
                if call is None:
                    call = self._running[key] = _Call()
            if is_first:
                return self._do(key, call, work)
            if not call.is_over.wait(longest_s):
                return work()
            if isinstance(call.outcome, AnalyticsError):
                raise copy.copy(call.outcome)
            if call.outcome is not None:
                return call.outcome[0]

    def before_fork(self) -> None:
        """Go on: calls are not inherited."""

    def after_fork(self) -> None:
        """Forget the calls of the parent's threads."""
        self._running = {}

    def _do(self, key: Hashable, call: _Call[Result], work: Callable[[], Result]) -> Result:
        try:
            result = work()
            call.outcome = (result,)
        except AnalyticsError as error:
            call.outcome = copy.copy(error)
            raise
        finally:
            with self._guard:
                if self._running.get(key) is call:
                    del self._running[key]
            call.is_over.set()
        return result

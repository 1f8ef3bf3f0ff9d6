"""One run for all who ask the same at the same time: the others wait for it instead of asking the database again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from analytics_core._execution.cancel import CancelToken
from analytics_core._execution.request_budget import RequestBudget
from analytics_core._forks import forkable_lock, tell_of_forks
from analytics_core.errors import AnalyticsError, RequestLimitError, RequestTimeoutError, StatementStoppedError

Result = TypeVar("Result")

_LOOK_S: Final = 0.05
"""How often who waits looks whether they were cancelled."""


@dataclass(slots=True)
class _Run(Generic[Result]):
    """A run under way; without result and error it was given up by whoever began it."""

    is_over: threading.Event = field(default_factory=threading.Event)
    result: Result | None = None
    error: AnalyticsError | None = None


class SharedRuns(Generic[Result]):
    """Runs by what they answer; any thread may use it.

    An error of the run is an error for all who wait; but a run that was cancelled or interrupted, or that was over the
    budget of its own request, is begun anew by one of those who wait. Nobody waits longer than their own request may.
    """

    def __init__(self) -> None:
        self._guard = forkable_lock()
        self._runs: dict[str, _Run[Result]] = {}
        self._ended = 0
        tell_of_forks(self)

    def answer(
        self,
        key: str,
        *,
        find: Callable[[], Result | None],
        run: Callable[[], Result],
        cancel: CancelToken | None = None,
        budget: RequestBudget | None = None,
    ) -> Result:
        """Return what `find` finds, or what one caller's `run` returns for all who ask for `key` meanwhile.

        Args:
            key: names the answer; equal keys mean equal answers.
            find: looks for a kept answer.
            run: makes the answer and keeps it.
            cancel: ends this caller's wait; the run goes on for the others.
            budget: what is left of this caller's request, which ends the wait too.

        Raises:
            StatementStoppedError: `cancel` was used.
            RequestTimeoutError: the time of this caller's request is over.
            AnalyticsError: the run failed.
        """
        ended: int | None = self._ended
        while True:
            if (kept := find()) is not None:
                return kept
            mine, current = self._lead_or_join(key, ended)
            if current is None:
                ended = None  # looked again; once is enough
                continue
            if mine:
                return self._lead(key, current, run)
            _wait(current, cancel, budget)
            if current.error is not None:
                raise current.error
            if current.result is not None:
                kept = find()  # an answer of one's own, where it was kept
                return current.result if kept is None else kept

    def before_fork(self) -> None:
        """Go on: runs end in the process that began them."""

    def after_fork(self) -> None:
        """Forget the runs of the parent."""
        self._runs = {}

    def _lead_or_join(self, key: str, ended: int | None) -> tuple[bool, _Run[Result] | None]:
        """Return the run to join, or a new one to lead; None when one ended since the look for a kept answer."""
        with self._guard:
            current = self._runs.get(key)
            if current is not None:
                return False, current
            if ended is not None and self._ended != ended:
                return False, None
            self._runs[key] = _Run()
            return True, self._runs[key]

    def _lead(self, key: str, current: _Run[Result], run: Callable[[], Result]) -> Result:
        try:
            current.result = run()
        except (StatementStoppedError, RequestTimeoutError, RequestLimitError):
            raise  # this caller's wish, or budget, alone
        except AnalyticsError as error:
            current.error = error
            raise
        else:
            return current.result
        finally:
            with self._guard:
                self._runs.pop(key, None)
                self._ended += 1
            current.is_over.set()


def _wait(current: _Run[Result], cancel: CancelToken | None, budget: RequestBudget | None) -> None:
    while not current.is_over.wait(_LOOK_S if cancel or budget else None):
        if cancel is not None and cancel.cancelled:
            raise StatementStoppedError("the question was cancelled while another caller's statement answered it")
        if budget is not None:
            budget.check_time()

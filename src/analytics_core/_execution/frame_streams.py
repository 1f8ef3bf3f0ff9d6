"""The rows of one statement in parts, each read when it is asked for: a few thousand rows are in memory at a time."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Final

from analytics_core._bounded_calls import PendingCall
from analytics_core._execution.cancel import CancelToken, Stopper, StopReason
from analytics_core._execution.connections import LATEST_S, Failure, Loan
from analytics_core._execution.fetching import FetchedResult, Give
from analytics_core._execution.request_budget import RequestBudget
from analytics_core._frames.frame import Frame
from analytics_core.errors import AnalyticsError, StatementTimeoutError

_PATIENCE_S: Final = 0.3
"""How long a statement may take to end by itself once nobody wants more of its rows."""


class Handover:
    """Where the thread that reads meets the one that consumes: a part is given, and the next one waited for.

    It is all that both hold, so that a consumer who drops the stream without a word is noticed.
    """

    def __init__(self) -> None:
        self.parts: SimpleQueue[Frame | None] = SimpleQueue()  # None: something happened to the reading thread
        self._wanted: SimpleQueue[bool] = SimpleQueue()  # its `put` may be called by the garbage collector

    def ask(self) -> None:
        """Ask for the next part."""
        self._wanted.put(True)

    def leave(self) -> None:
        """Say that nobody wants more."""
        self._wanted.put(False)

    def stop(self) -> None:
        """Wake both sides."""
        self.leave()
        self.parts.put(None)

    def giving(self, stopper: Stopper, timeout_s: float) -> Give:
        """Return what gives a part and waits for the next question, at the longest until the time is over."""
        deadline = time.monotonic() + timeout_s

        def give(part: Frame) -> bool:
            self.parts.put(part)
            try:
                is_wanted = self._wanted.get(timeout=max(deadline - time.monotonic(), 0.0))
            except Empty:
                stopper.note(StopReason.TIMED_OUT)
                return False
            return is_wanted and stopper.reason is None

        return give


class FrameStream:
    """Frames of one result, in order; the columns of all have the same names.

    The connection is given back when the last row was read, `close` was called, something failed, the time was over, or
    nobody holds the stream any more. One thread at a time may use it.

    Args:
        loan: of the connection.
        handover: what the work of the loan gives its parts to.
        start: starts work in another thread.
        cancel: stops the reading from any thread.
        budget: of the request, which bounds the time of the whole; None: nothing else does.
        wait_s: the seconds that each part may take; the loan's time is that of the whole.
    """

    def __init__(
        self,
        loan: Loan[FetchedResult],
        handover: Handover,
        *,
        start: Callable[[Callable[[], FetchedResult | Failure]], PendingCall[FetchedResult | Failure]],
        cancel: CancelToken,
        budget: RequestBudget | None,
        wait_s: float,
    ) -> None:
        self._loan, self._handover, self._budget, self._wait_s = loan, handover, budget, wait_s
        self._given = 0
        self._fetched: FetchedResult | None = None
        loan.stopper.on_stop(handover.stop)
        cancel.attach(loan.stopper)
        try:
            self._pending: PendingCall[FetchedResult | Failure] | None = start(_reading(loan, handover, cancel))
        except BaseException:  # no thread, or Ctrl-C: goes on upwards
            cancel.detach(loan.stopper)
            raise
        weakref.finalize(self, handover.leave).atexit = False

    @property
    def fetched(self) -> FetchedResult | None:
        """What is known of the whole result once its last part was read; before that, and after an early end, None."""
        return self._fetched

    def __iter__(self) -> Iterator[Frame]:
        return self

    def __next__(self) -> Frame:
        """Return the next frame; the first one may have no rows, no other one.

        Raises:
            StatementTimeoutError: it did not come in time.
            RequestTimeoutError: the time of the whole is over.
            StatementStoppedError, ResultTooLargeError, DatabaseError: as `Connections.use`.
        """
        if self._pending is None:
            raise StopIteration
        if self._given:  # the first one is read unasked
            self._handover.ask()
        started = time.perf_counter()
        try:
            part = self._next(self._pending)
        except BaseException:  # Ctrl-C too: goes on upwards
            self._give_up()
            raise
        finally:
            if self._budget:
                self._budget.end_statement(time.perf_counter() - started)
        if part is None:
            raise StopIteration
        self._given += 1
        return part

    def close(self) -> None:
        """Stop reading and give the connection back; nothing happens when that was done already."""
        pending = self._pending
        if pending is None:
            return
        self._handover.leave()
        try:
            if not pending.wait(_PATIENCE_S):
                self._loan.stopper.stop(StopReason.CANCELLED)
                pending.wait(LATEST_S)
        finally:
            self._give_up()

    def _next(self, pending: PendingCall[FetchedResult | Failure]) -> Frame | None:
        """Return the next part; None when there are no more."""
        part, is_late, left_s = None, False, self._loan.left_s
        try:
            part = self._handover.parts.get(timeout=max(min(self._wait_s, left_s), 0.0))
        except Empty:
            is_late = self._wait_s < left_s
            self._loan.stopper.stop(StopReason.TIMED_OUT)
        if part is not None:
            return part
        # The reading has ended, or it is stopped and about to end.
        outcome = pending.result() if pending.wait(LATEST_S) else self._loan.given_up(pending)
        if isinstance(outcome, Failure):
            outcome = replace(outcome, error=self._told(outcome.error, is_late=is_late))
            raise self._loan.told(outcome)
        self._fetched, self._pending = outcome, None
        return self._fetched.frame if len(self._fetched.frame) or not self._given else None

    def _told(self, error: AnalyticsError, *, is_late: bool) -> AnalyticsError:
        """Return the error; one for a time limit tells whose that was."""
        if is_late:
            return self._loan.timeout_error(self._wait_s, what="gave no rows for")
        return self._budget.timeout_error() if self._budget and isinstance(error, StatementTimeoutError) else error

    def _give_up(self) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            self._loan.stopper.stop(StopReason.CANCELLED)  # nothing, when it is over
            pending.abandon(_nothing)


def _reading(
    loan: Loan[FetchedResult], handover: Handover, cancel: CancelToken
) -> Callable[[], FetchedResult | Failure]:
    def outcome() -> FetchedResult | Failure:
        try:
            return loan.outcome()
        finally:
            cancel.detach(loan.stopper)
            handover.parts.put(None)

    return outcome


def _nothing(_late: FetchedResult | Failure | None) -> None:
    """Let what still comes go."""

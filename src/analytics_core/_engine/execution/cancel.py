"""Stopping a statement that runs on another thread: by its time limit, or because somebody cancels it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum

from analytics_core._tools.bounded_calls import start_thread
from analytics_core.errors import ThreadLimitError


class StopReason(StrEnum):
    """Why a statement was stopped."""

    CANCELLED = "cancelled"
    CLOSED = "closed"
    TIMED_OUT = "timed out"


class CancelToken:
    """Cancels statements from any thread: before they start, while they run, or (without effect) when they are over.

    One token may be given to several runs, one after the other or at the same time.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a handler of a signal may cancel while its own thread does
        self._reason: StopReason | None = None
        self._stoppers: list[Stopper] = []

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._reason is not None

    @property
    def is_in_use(self) -> bool:
        """Whether something runs under this token."""
        return bool(self._stoppers)

    def cancel(self, reason: StopReason = StopReason.CANCELLED) -> None:
        """Stop what runs under this token and let nothing start under it any more; returns at once, may be repeated."""
        with self._lock:
            self._reason = self._reason or reason
            stoppers = tuple(self._stoppers)
        for stopper in stoppers:
            stopper.stop(reason)

    def attach(self, stopper: Stopper) -> None:
        """Stop `stopper` too when this token is cancelled."""
        with self._lock:
            self._stoppers.append(stopper)
            reason = self._reason
        if reason is not None:
            stopper.stop(reason)

    def detach(self, stopper: Stopper) -> None:
        """Forget a run that is over, if it is not forgotten yet."""
        with self._lock, suppress(ValueError):
            self._stoppers.remove(stopper)


class Stopper:
    """Interrupts one run until it reports that it is over.

    Drivers lose an interrupt that comes before the statement has started, so it is repeated. No
    interrupt is sent after `finish`: the connection may serve another statement by then.

    Attributes:
        reason: why the run was stopped, None when it was not; statements look at it while they run.
    """

    def __init__(self) -> None:
        self._watches = False
        self._due: float | None = None
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._is_finished = False
        self.reason: StopReason | None = None
        self._interrupt: Callable[[], None] | None = None
        self._repeat_s = 0.02
        self._watcher: threading.Thread | None = None
        self._on_stop: Callable[[], None] = _nothing

    def note(self, reason: StopReason) -> None:
        """Remember the first reason; for a worker that stops itself."""
        if self.reason is None:
            self.reason = reason

    def on_stop(self, tell: Callable[[], None]) -> None:
        """Call `tell` when the run is stopped, at once when it was already."""
        self._on_stop = tell
        if self._wake.is_set():
            tell()

    def arm(self, interrupt: Callable[[], None], *, after_s: float | None, repeat_s: float = 0.02) -> None:
        """Say how to interrupt the run; with `after_s` that is due after so many seconds, for `watch`."""
        with self._lock:
            self._interrupt, self._repeat_s = interrupt, repeat_s
            self._due = None if after_s is None else time.monotonic() + after_s
            if self.reason is not None or (self._watches and self._due is not None):
                self._start_watcher()

    def watch(self) -> None:
        """Watch the time from now on, in a thread of its own: nobody else does."""
        if self._wake.is_set():  # stopping already, or over; see `stop`
            return
        with self._lock:
            self._watches = True
            if self._due is not None and not self._is_finished and self._watcher is None:
                self._start_watcher()

    def stop(self, reason: StopReason) -> None:
        """Interrupt the run now, and again until it is over; returns at once."""
        if self._wake.is_set():  # stopping already, or over; the lock may be held by an interrupt that takes long
            return
        is_watched = True
        with self._lock:
            if self._is_finished:
                return
            self.note(reason)
            self._wake.set()
            if self._interrupt is not None and self._watcher is None:
                try:
                    self._start_watcher()
                except ThreadLimitError:
                    is_watched = False
        self._on_stop()
        if not is_watched:  # no thread is to be had: once, from this one
            self._interrupt_once()

    def finish(self) -> None:
        """Say that the run is over; when this returns, no interrupt is under way."""
        with self._lock:
            self._is_finished = True
            self._interrupt = None
            self._wake.set()

    def _start_watcher(self) -> None:
        self._watcher = start_thread(self._watch, name="statement watcher")

    def _watch(self) -> None:
        if self.reason is None and self._due is not None:
            self._wake.wait(max(self._due - time.monotonic(), 0.0))
            self._wake.set()
        pause = threading.Event()
        while self._interrupt_once():
            pause.wait(self._repeat_s)

    def _interrupt_once(self) -> bool:
        """Interrupt the run; False when it is over."""
        with self._lock:
            if self._is_finished or self._interrupt is None:
                return False
            self.note(StopReason.TIMED_OUT)
            # Border: an interrupt may fail for any reason of the driver's (the server is gone, the connection is
            # just closing); the run itself reports what happened, and the next round tries again.
            with suppress(Exception):
                self._interrupt()
            return True


def _nothing() -> None:
    """Tell nobody."""

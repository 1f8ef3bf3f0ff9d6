"""The default `Observer`, a log record for each question, and the guard before an observer of a host."""

from __future__ import annotations

import contextvars
import logging
import queue
import re
import threading
import time
from typing import Final

from analytics_core._records.audit import Observation, ObservationKind, WorkSpan
from analytics_core._tools.bounded_calls import start_thread
from analytics_core._tools.forks import forkable_rlock, tell_of_forks
from analytics_core._tools.log import line_log
from analytics_core.errors import ThreadLimitError
from analytics_core.ports import Observer, WorkObserver

_QUESTIONS: Final = line_log("analytics_core.questions")


class LogObserver:
    """Logs each question at level INFO of `analytics_core.questions`; the record's `observation` has it whole."""

    def observe(self, observation: Observation) -> None:
        """Log one line, where somebody wants it."""
        if not _QUESTIONS.isEnabledFor(logging.INFO):
            return
        steps = ", ".join(f"{step} {ms:.1f} ms" for step, ms in observation.steps_ms.items())
        _QUESTIONS.info(
            "%s of dataset %s (%s) for %s: %s; %s; fingerprint %s",
            observation.result_type,
            observation.dataset_id,
            observation.engine,
            "a guest" if observation.actor_id is None else f"user {observation.actor_id}",
            observation.error_type or f"{observation.rows} rows{', cached' if observation.is_cached else ''}",
            steps or "no step taken",
            observation.fingerprint,
            extra={"observation": observation},
        )

    def close(self) -> None:
        """Do nothing: nothing is left to tell."""


_LOG = line_log(__name__)

_MOST_WAITING: Final = 1_000
_LATE_S: Final = 2.0
"""So long a call may take before the log tells; `close` waits no longer."""

_QUIET_S: Final = 60.0
"""The log has no second line about an observer for so long."""

_TRACEPARENT: Final = re.compile(r"[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}", re.ASCII)
"""As the W3C writes it; a store has no room for more."""

_IDLE_S: Final = 10.0
"""How long the thread stays for the next observation."""


class GuardedObserver:
    """Tells another observer, in a thread of its own, one observation after the other (port `Observer`).

    Each call runs in the context variables of whoever asked the question. The log has one line a minute, at most, about
    an observer that raises or is late; when `most_waiting` observations wait for it, further ones are dropped.

    Args:
        observer: what a host passed.
        most_waiting: how many observations may wait.
        late_s: seconds that one call may take before the log tells.
    """

    def __init__(self, observer: Observer, *, most_waiting: int = _MOST_WAITING, late_s: float = _LATE_S) -> None:
        self._observer = observer
        self._most_waiting = most_waiting
        self._late_s = late_s
        self._guard = forkable_rlock()
        self._start_anew()
        tell_of_forks(self)

    def _start_anew(self) -> None:
        self._inbox: queue.SimpleQueue[tuple[contextvars.Context, Observation] | None] = queue.SimpleQueue()
        self._is_running = False
        self._is_closing = False
        self._is_closed = threading.Event()
        self._reported_at: float | None = None
        self._calls_since: float | None = None

    def observe(self, observation: Observation) -> None:
        """Have the observer told soon; return at once."""
        since = self._calls_since
        if self._inbox.qsize() >= self._most_waiting:
            self._tell("is too slow: observations are dropped")
            return
        if since is not None and time.monotonic() - since > self._late_s:
            self._tell(f"takes longer than {self._late_s:g} s")
        if not self._is_closing:
            self._hand_over((contextvars.copy_context(), observation))

    def close(self) -> None:
        """Let what waits be told, and the observer be closed, for a short time."""
        if not self._is_closing:
            self._is_closing = True
            self._hand_over(None)
        self._is_closed.wait(self._late_s)

    def before_fork(self) -> None:
        """Go on: threads are not inherited."""

    def after_fork(self) -> None:
        """Leave what waits to the parent."""
        self._start_anew()

    def _hand_over(self, item: tuple[contextvars.Context, Observation] | None) -> None:
        with self._guard:
            self._inbox.put(item)
            begins = not self._is_running
            self._is_running = True
        if not begins:
            return
        try:
            start_thread(self._run, name="analytics-core-observer")
        except ThreadLimitError:
            with self._guard:
                self._is_running = False
            self._tell("found no thread")

    def _run(self) -> None:
        while self._took_one():
            pass

    def _took_one(self) -> bool:
        """Tell what comes next; False when nothing came for a while, or the end did."""
        try:
            item = self._inbox.get(timeout=_IDLE_S)
        except queue.Empty:
            with self._guard:
                self._is_running = not self._inbox.empty()
                return self._is_running
        if item is None:
            self._close_observer()
            return False
        context, observation = item
        self._calls_since = time.monotonic()
        try:
            context.run(self._observer.observe, observation)
        except BaseException as error:  # whatever ends a call of an observer ends nothing else
            self._tell(f"raised {type(error).__name__}")
        self._calls_since = None
        return True

    def _close_observer(self) -> None:
        try:
            self._observer.close()
        except BaseException as error:  # whatever ends it, the core is closed all the same
            self._tell(f"raised {type(error).__name__} when it was closed")
        self._is_closed.set()

    def _tell(self, what: str) -> None:
        now = time.monotonic()
        if self._reported_at is None or now - self._reported_at > _QUIET_S:
            self._reported_at = now
            _LOG.warning("the observer %s; answers go on", what)


class GuardedWorkObserver(GuardedObserver):
    """Tells an observer of all work, as `GuardedObserver` does, and has it begin in the thread that does the work.

    What it raises there is logged, and the work goes on without a span; one that was late is left alone for a minute.

    Args:
        observer, most_waiting, late_s: as for `GuardedObserver`.
    """

    def __init__(self, observer: WorkObserver, *, most_waiting: int = _MOST_WAITING, late_s: float = _LATE_S) -> None:
        super().__init__(observer, most_waiting=most_waiting, late_s=late_s)
        self._beginner = observer
        self._rests_until = 0.0

    def begin(self, kind: ObservationKind, *, traceparent: str | None = None) -> WorkSpan | None:
        """Return the span of work that begins; None where the observer has none."""
        begun = time.monotonic()
        if begun < self._rests_until or self._is_closing:
            return None
        try:
            span = self._beginner.begin(kind, traceparent=traceparent)
        except Exception as error:  # border: a host's own code
            self._tell(f"raised {type(error).__name__} when work began")
            span = None
        ended = time.monotonic()
        if ended - begun > self._late_s:
            self._rests_until = ended + _QUIET_S
            self._tell(f"took longer than {self._late_s:g} s when work began")
        return span

    def traceparent(self) -> str | None:
        """Return what the observer gives for a job, where that can be stored."""
        try:
            found = self._beginner.traceparent()
        except Exception as error:  # border: a host's own code
            self._tell(f"raised {type(error).__name__} when a job was submitted")
            return None
        return found if isinstance(found, str) and _TRACEPARENT.fullmatch(found) else None


def guarded(observer: Observer | None) -> Observer:
    """Return what a core tells of its work: a host's observer behind a guard, or else the log."""
    if observer is None:
        return LogObserver()
    return GuardedWorkObserver(observer) if isinstance(observer, WorkObserver) else GuardedObserver(observer)

"""Calls that are waited for no longer than their caller says, whatever they wait for themselves."""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar

from analytics_core._tools.forks import forkable_rlock, tell_of_forks
from analytics_core.errors import ThreadLimitError

Result = TypeVar("Result")

_IDLE_S: Final = 1.0
"""How long a thread without work stays for the next call."""

_LOOK_S: Final = 60.0
_LATEST_S: Final = 5.0
"""How long work that was stopped is waited for."""


def start_thread(target: Callable[..., object], *args: object, name: str) -> threading.Thread:
    """Start a thread that ends with the process, and return it.

    Raises:
        ThreadLimitError: the system gives no more.
    """
    thread = threading.Thread(target=target, args=args, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        raise ThreadLimitError from None
    return thread


class PendingCall(Generic[Result]):
    """A call on its way in another thread."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self.work = work
        self.context = contextvars.copy_context()
        self._signals: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._guard = threading.Lock()
        self._is_over = False
        self._dispose: Callable[[Result | None], object] | None = None
        self._result: Result | None = None
        self._error: BaseException | None = None

    @property
    def is_over(self) -> bool:
        """Whether the call has returned or raised."""
        return self._is_over

    def wait(self, timeout_s: float) -> bool:
        """Wait until the call is over, it is woken or `timeout_s` seconds have passed; tell whether it is over."""
        if not self._is_over and timeout_s > 0:
            with suppress(queue.Empty):
                self._signals.get(timeout=timeout_s)
        return self._is_over

    def wake(self) -> None:
        """End one wait although the call is not over."""
        self._signals.put(None)

    def result(self) -> Result:
        """Return what the call returned, or raise what it raised; only once it is over."""
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error = None  # a traceback that holds its own exception lives until the collector comes
        return self._result  # type: ignore[return-value]  # over without an error

    def abandon(self, dispose: Callable[[Result | None], object]) -> None:
        """Say that nobody waits any more; a result that still comes goes to `dispose`, None in place of an error."""
        with self._guard:
            self._dispose = dispose
            is_late = self._is_over
        if is_late:
            dispose(self._result)

    def end(self, result: Result | None, error: BaseException | None = None) -> None:
        """Say what became of the work, in the thread that did it."""
        with self._guard:
            self._result, self._error, self._is_over = result, error, True
            dispose = self._dispose
        self._signals.put(None)
        if dispose is not None:
            dispose(result)


class BoundedCalls:
    """Threads that do calls for others, so that a caller need not wait for what hangs.

    A thread without work waits for the next call for a while, since starting one costs more than a handover. One whose
    call hangs is out of use until the call returns; the process may end meanwhile. Any thread may use it.

    Args:
        name: of the threads.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._guard = forkable_rlock()
        self._idle: list[queue.SimpleQueue[PendingCall[Any] | None]] = []
        tell_of_forks(self)

    def start(self, work: Callable[[], Result]) -> PendingCall[Result]:
        """Start `work` at once in another thread, in the context of the caller.

        Raises:
            ThreadLimitError: the system gives no more threads; the work was not begun.
        """
        call = PendingCall(work)
        with self._guard:
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = queue.SimpleQueue()
            try:
                start_thread(self._serve, inbox, name=self._name)
            except BaseException:  # Ctrl-C: goes on upwards; the thread may run, and nobody would give it work
                inbox.put(None)
                raise
        inbox.put(call)
        return call

    def run(self, work: Callable[[], Result], *, stop: Callable[[], object]) -> Result:
        """Return what `work` returns in another thread, so that no handler of a signal runs in the middle of it.

        What a handler raises here (Ctrl-C, `sys.exit`) goes on upwards once `stop` was called and the work is over, or
        five seconds later.

        Raises:
            ThreadLimitError: the system gives no more threads; the work was not begun.
        """
        call = None
        try:
            call = self.start(work)
            while not call.wait(_LOOK_S):
                pass
        except BaseException:  # goes on upwards
            stop()
            if call is not None:
                call.wait(_LATEST_S)
            raise
        return call.result()

    def close(self) -> None:
        """Let the threads without work go; the object may be used again."""
        with self._guard:
            idle, self._idle = self._idle, []
        for inbox in idle:
            inbox.put(None)

    def before_fork(self) -> None:
        """Go on: threads are not inherited."""

    def after_fork(self) -> None:
        """Forget the threads of the parent."""
        self._idle = []

    def _serve(self, inbox: queue.SimpleQueue[PendingCall[Any] | None]) -> None:
        while (call := self._next(inbox)) is not None:
            try:
                result = call.context.run(call.work)
            except BaseException as error:  # border of a thread: whoever waits is told, whatever it is
                call.end(None, error)
            else:
                call.end(result)
                del result
            del call  # its result must not live as long as this thread waits
            with self._guard:
                self._idle.append(inbox)

    def _next(self, inbox: queue.SimpleQueue[PendingCall[Any] | None]) -> PendingCall[Any] | None:
        try:
            return inbox.get(timeout=_IDLE_S)
        except queue.Empty:
            with self._guard:
                if inbox in self._idle:
                    self._idle.remove(inbox)
                    return None
        return inbox.get()  # somebody took this thread in the same moment: a call, or the end, is on its way

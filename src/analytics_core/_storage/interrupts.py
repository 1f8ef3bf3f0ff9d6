"""Ctrl-C waits for the end of a unit of work: a transaction that is torn apart would keep its locks."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], Any]


class DeferredInterrupts:
    """A block in which SIGINT is only noted; its handler (KeyboardInterrupt, or a host's) runs when the block is over.

    Python raises KeyboardInterrupt between any two instructions of the main thread, also inside of what ends a `with`
    block; a connection that is lost there stays open, with its transaction, as long as the traceback lives. Other
    threads are never interrupted, and blocks inside a block are parts of it.
    """

    _handler: Handler | None = None
    _noted: tuple[int, FrameType | None] | None = None

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler) and not isinstance(getattr(handler, "__self__", None), DeferredInterrupts):
            self._handler = handler
            signal.signal(signal.SIGINT, self._note)

    def __exit__(self, *_failure: object) -> None:
        handler, self._handler = self._handler, None
        if handler is None:
            return
        signal.signal(signal.SIGINT, handler)
        if self._noted is not None:
            handler(*self._noted)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._noted = (number, frame)

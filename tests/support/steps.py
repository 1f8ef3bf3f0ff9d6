"""How much work something is, told without a clock: a loaded machine counts the same."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from sqlalchemy import event
from tests.support.many_records import TRANSACTION_CONTROL, engine_of

import analytics_core
from analytics_core import AnalyticsCore

_LIBRARY = str(Path(analytics_core.__file__).parent)


def calls_of(act: Callable[[], object]) -> int:
    """Return how many functions `act` called, those of C included; what it raises goes on upwards."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    with _profiled(count):
        act()
    return calls


@dataclass(slots=True)
class Work:
    """What an act cost in its thread: calls of functions of the library, statements and transactions of its store."""

    frames: int = 0
    transactions: int = 0
    statements: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        counted = f"{self.frames} frames, {self.transactions} transactions, {len(self.statements)} statements"
        return "\n".join([counted, *self.statements])


def work_of(core: AnalyticsCore, act: Callable[[], object]) -> Work:
    """Return what `act` costs; a frame is a call of a function of the library, or one more turn of its generators.

    Beginning and ending transactions and savepoints are no statements.
    """
    work, thread, engine = Work(), threading.get_ident(), engine_of(core)

    def count(frame: FrameType, kind: str, _argument: object) -> None:
        work.frames += kind == "call" and frame.f_code.co_filename.startswith(_LIBRARY)

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if threading.get_ident() == thread and not TRANSACTION_CONTROL.match(statement):
            work.statements.append(statement)

    def begin(_connection: Any) -> None:
        work.transactions += threading.get_ident() == thread

    event.listen(engine, "before_cursor_execute", note)
    event.listen(engine, "begin", begin)
    try:
        with _profiled(count):
            act()
    finally:
        event.remove(engine, "before_cursor_execute", note)
        event.remove(engine, "begin", begin)
    return work


@contextmanager
def _profiled(count: Callable[[Any, str, Any], None]) -> Iterator[None]:
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)

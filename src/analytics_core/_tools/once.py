"""A value that is made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from analytics_core._tools.forks import forkable_rlock

Value = TypeVar("Value")


class Once(Generic[Value]):
    """Gives what `make` returns: made at the first call, once, whichever thread comes first; errors are not kept.

    What is rarely needed, and what takes long to import, is wired by it.
    """

    __slots__ = ("_lock", "_made", "_make")

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._made: tuple[Value, ...] = ()
        self._lock = forkable_rlock()

    def __call__(self) -> Value:
        """Return the value."""
        if not self._made:
            with self._lock:
                if not self._made:
                    self._made = (self._make(),)
        return self._made[0]

    @property
    def made(self) -> tuple[Value, ...]:
        """The value, alone in a tuple; empty where nobody asked for it yet."""
        return self._made

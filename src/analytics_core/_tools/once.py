"""A value that is made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Once(Generic[Value]):
    """Gives what `make` returns, the same to everybody; errors are not kept.

    Threads that come first at one moment may each make one, and all get the first: there is no lock that a forked child
    could find taken. What is rarely needed, and what takes long to import, is wired by it.
    """

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._made: dict[None, Value] = {}

    def __call__(self) -> Value:
        """Return the value."""
        if not self._made:
            self._made.setdefault(None, self._make())
        return self._made[None]

    @property
    def made(self) -> tuple[Value, ...]:
        """The value, alone in a tuple; empty where nobody asked for it yet."""
        return tuple(self._made.values())

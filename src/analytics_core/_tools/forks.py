"""What a forked child must do anew: locks that another thread held, threads that are gone, connections of the parent.

The hook of the interpreter is one for the whole process, so this module alone keeps who is to be told: weakly.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from itertools import count
from typing import Any, Final, Generic, Protocol, TypeVar

Registered = TypeVar("Registered")


class SurvivesForks(Protocol):
    """Something that another process must not share."""

    def before_fork(self) -> None:
        """Let go, in the parent, of what a child must not inherit; the parent takes it up again when it needs it."""

    def after_fork(self) -> None:
        """Start anew, in the child; its locks are free already."""


class LivingObjects(Generic[Registered]):
    """Objects as long as they live, in the order in which they came.

    No callback is told when one goes, as a `WeakSet` has it: a Ctrl-C that comes while it runs would be swallowed. Each
    has a number of its own, so that threads may add and forget at one moment without a lock.
    """

    __slots__ = ("_most", "_numbers", "_references")

    def __init__(self) -> None:
        self._references: dict[int, weakref.ref[Any]] = {}
        self._numbers = count()
        self._most = _FEW

    def __len__(self) -> int:
        return len(self._references)

    def __iter__(self) -> Iterator[Registered]:
        return iter([one for reference in list(self._references.values()) if (one := reference()) is not None])

    def add(self, one: Registered) -> None:
        """Remember an object; those that are gone are forgotten now and then."""
        self._references[next(self._numbers)] = weakref.ref(one)
        if len(self._references) > self._most:
            for number, reference in list(self._references.items()):
                if reference() is None:
                    self._references.pop(number, None)
            self._most = max(_FEW, 2 * len(self._references))


_FEW: Final = 1_000
_LOCKS: Final[LivingObjects[Any]] = LivingObjects()
_OBJECTS: Final[LivingObjects[SurvivesForks]] = LivingObjects()


def forkable_lock() -> threading.Lock:
    """Return a lock that is free in a forked child, whoever held it when the process was forked."""
    lock = threading.Lock()
    _LOCKS.add(lock)
    return lock


def forkable_rlock() -> threading.RLock:
    """Return such a lock that its holder may take again."""
    lock = threading.RLock()
    _LOCKS.add(lock)
    return lock


def tell_of_forks(survivor: SurvivesForks) -> None:
    """Tell this object, as long as it lives, of each fork of the process."""
    _OBJECTS.add(survivor)


def _before() -> None:
    for survivor in _OBJECTS:
        survivor.before_fork()


def _in_child() -> None:
    for lock in _LOCKS:
        lock._at_fork_reinit()  # as the standard library does with its own locks
    for survivor in _OBJECTS:
        survivor.after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(before=_before, after_in_child=_in_child)

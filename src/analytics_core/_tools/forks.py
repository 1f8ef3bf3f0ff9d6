"""What a forked child must do anew: locks that another thread held, threads that are gone, connections of the parent.

The hook of the interpreter is one for the whole process, so this module alone keeps who is to be told: weakly.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Final, Protocol


class SurvivesForks(Protocol):
    """Something that another process must not share."""

    def before_fork(self) -> None:
        """Let go, in the parent, of what a child must not inherit; the parent takes it up again when it needs it."""

    def after_fork(self) -> None:
        """Start anew, in the child; its locks are free already."""


_LOCKS: Final[weakref.WeakSet[Any]] = weakref.WeakSet()
_OBJECTS: Final[weakref.WeakSet[SurvivesForks]] = weakref.WeakSet()


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
    for survivor in tuple(_OBJECTS):
        survivor.before_fork()


def _in_child() -> None:
    for lock in tuple(_LOCKS):
        lock._at_fork_reinit()  # as the standard library does with its own locks
    for survivor in tuple(_OBJECTS):
        survivor.after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(before=_before, after_in_child=_in_child)

"""A bounded memory of what was made before."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Generic, TypeVar

from analytics_core._tools.forks import forkable_lock

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Memo(Generic[Key, Value]):
    """The latest values by everything that they depend on; bounded, safe between threads.

    A key holds all that its value was made from, by value or by version: nothing is ever taken out because something
    changed. What is believed for a while only has its end beside the value.

    Args:
        capacity: how many values are kept; the one unused for longest makes room.
    """

    def __init__(self, capacity: int = 1_000) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[Key, Value] = OrderedDict()
        self._guard = forkable_lock()

    def get(self, key: Key) -> Value | None:
        """Return the value, or None."""
        with self._guard:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
            return found

    def put(self, key: Key, value: Value) -> None:
        """Keep a value; the one unused for longest makes room."""
        with self._guard:
            self._entries[key] = value
            self._entries.move_to_end(key)
            while len(self._entries) > self._capacity:
                self._entries.popitem(last=False)


class IdentityMemo(Generic[Value]):
    """The latest values by the very objects that they were made of; bounded, safe between threads.

    It is quicker than a `Memo` where objects are large and come again as they are. They must not change. An entry keeps
    its objects alive: no other one can have the identity of any of them.
    """

    def __init__(self, capacity: int = 1_000) -> None:
        self._entries: Memo[Hashable, tuple[tuple[Any, ...], Value]] = Memo(capacity)

    def get(self, objects: tuple[Any, ...], more: Hashable) -> Value | None:
        """Return the value that was made of these very objects and of `more`, which is compared; or None."""
        found = self._entries.get((*map(id, objects), more))
        return None if found is None else found[1]

    def put(self, objects: tuple[Any, ...], more: Hashable, value: Value) -> None:
        """Keep a value."""
        self._entries.put((*map(id, objects), more), (objects, value))

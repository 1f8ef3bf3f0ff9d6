"""Turns of work on a bounded number of places: what is slow in one queue does not keep the others waiting."""

from __future__ import annotations

from collections import Counter, deque
from typing import Final, Generic, TypeVar

OWNER: Final = " / "
"""Stands before the owner in the name of a queue, and behind all that the queue waits for, with `BESIDE` between."""

BESIDE: Final = " + "

Item = TypeVar("Item")


class Turns(Generic[Item]):
    """Work in queues that waits for one of so many places; whoever calls sees to it that one thread does at a time.

    A queue leaves as many places to the others as it takes: of 8 the first may take 4, a second one 2, a third and a
    fourth one 1 each. A queue of several names (`Email + Chat`) takes a place of each. An owner (`Email / user 3`)
    leaves as many to the other owners as they take of what the queue may still have. Whoever has the least at work
    comes next, and of those who have as much who waits longest.

    Args:
        places: how much may be at work at a time.
        most_per_queue: how much of one queue at the most, in place of this rule; None: the rule.
    """

    def __init__(self, places: int, *, most_per_queue: int | None = None) -> None:
        self._free = places
        self._most = most_per_queue
        self._waiting: dict[str, deque[Item]] = {}
        self._at_work: Counter[str] = Counter()

    def __bool__(self) -> bool:
        """Tell whether anything waits."""
        return bool(self._waiting)

    def add(self, queue: str, item: Item) -> None:
        """Let work wait in a queue."""
        self._waiting.setdefault(queue, deque()).append(item)

    def is_free(self, queue: str) -> bool:
        """Tell whether work of a queue would begin at once: nothing waits, and there is a place for it."""
        return not self._waiting and self._has_place(queue)

    def take(self) -> tuple[str, Item] | None:
        """Return the work whose turn it is, with its queue, where `end` gives its place back; None: none has one."""
        ready = [queue for queue in self._waiting if self._has_place(queue)]
        if not ready:
            return None
        queue = min(ready, key=self._load)
        line = self._waiting.pop(queue)
        item = line.popleft()
        if line:  # behind those who wait
            self._waiting[queue] = line
        self._free -= 1
        self._at_work.update(_parts(queue))
        return queue, item

    def end(self, queue: str) -> None:
        """Give the place of work of this queue back."""
        self._free += 1
        for part in _parts(queue):
            self._at_work[part] -= 1
            if not self._at_work[part]:
                del self._at_work[part]

    def _has_place(self, queue: str) -> bool:
        names, owner = _names(queue)
        at_work = max(self._at_work[name] for name in names)
        if self._free <= 0:
            return False
        if self._most is not None:
            return at_work < self._most
        return at_work < self._free and (owner is None or self._at_work[owner] < self._free - at_work)

    def _load(self, queue: str) -> tuple[int, int]:
        names, owner = _names(queue)
        at_work = max(self._at_work[name] for name in names)
        return (at_work if owner is None else self._at_work[owner]), at_work


def _names(queue: str) -> tuple[list[str], str | None]:
    """Return what a queue waits for, and whose it is; None: nobody is named."""
    names, separator, owner = queue.rpartition(OWNER)
    return (names if separator else queue).split(BESIDE), f"{OWNER}{owner}" if separator else None


def _parts(queue: str) -> list[str]:
    names, owner = _names(queue)
    return list(dict.fromkeys(names)) + ([] if owner is None else [owner])

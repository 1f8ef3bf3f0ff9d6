"""Many records by their ids, read together instead of one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Protocol, TypeGuard, TypeVar

from analytics_core._records.repositories import Repository

_LARGEST_ID = 2**31 - 1


class Stored(Protocol):
    """A record with an id."""

    @property
    def id(self) -> int:
        """The record's number."""


Record = TypeVar("Record", bound=Stored)


def by_ids(
    repository: Repository[Record], ids: Iterable[int], *, without: frozenset[str] = frozenset()
) -> dict[int, Record]:
    """Return the records of these ids that exist, by id and in the order of their ids; parts may be left unread."""
    found = repository.get_many(stored_ids(ids), without=without)
    return {record.id: record for record in found}


def stored_ids(ids: Iterable[int]) -> frozenset[int]:
    """Return those of the ids that a store may have given."""
    return frozenset(filter(is_stored_id, ids))


def is_id(key: object) -> TypeGuard[int]:
    """Tell whether a value is of the kind of ids: a whole number; `True`, which equals 1, is none."""
    return isinstance(key, int) and not isinstance(key, bool)


def is_stored_id(key: object) -> TypeGuard[int]:
    """Tell whether a store may have given this id."""
    return is_id(key) and 1 <= key <= _LARGEST_ID


def read_once(given: Any, *, most: int) -> Any:
    """Return what an iterable gives, cut after one more than may be, so that an endless one is refused; else as it is.

    A text or a mapping is not taken for a list of its letters or keys.
    """
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        return given
    return tuple(islice(given, most + 1))

"""Many records, read together instead of one by one."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count, islice
from typing import Any, Protocol, TypeGuard, TypeVar

from analytics_core._records.repositories import ListFilter, ListQuery, Repository, Scope
from analytics_core.errors import Problem

LARGEST_ID = 2**31 - 1
_BATCH = 500
_IDS = 10_000
_MOST_DIGITS = len(str(LARGEST_ID))


class RecordWithId(Protocol):
    """A record with an id."""

    @property
    def id(self) -> int:
        """The record's number."""


Record = TypeVar("Record", bound=RecordWithId)


def by_ids(
    repository: Repository[Record], ids: Iterable[int], *, without: frozenset[str] = frozenset()
) -> dict[int, Record]:
    """Return the records of these ids that exist, by id and in the order of their ids; parts may be left unread."""
    found = repository.get_many(stored_ids(ids), without=without)
    return {record.id: record for record in found}


def every(
    repository: Repository[Record],
    filters: tuple[ListFilter, ...] = (),
    *,
    ids: frozenset[int] | Scope | None = None,
    without: frozenset[str] = frozenset(),
) -> Iterator[Record]:
    """Yield all records of a repository that meet the filters and are among `ids` (None: all), batch by batch."""
    query = ListQuery(filters=filters, ids=ids, page_size=_BATCH, without=without)
    for page in count():
        _, records = repository.list(replace(query, page=page))
        yield from records
        if len(records) < _BATCH:
            return


def every_id(
    repository: Repository[Any], filters: tuple[ListFilter, ...] = (), *, ids: frozenset[int] | Scope | None = None
) -> Iterator[int]:
    """Yield the ids of all records that `every` would yield, without reading the records."""
    return every_value(repository, "id", ListQuery(filters=filters, ids=ids), batch=_IDS)


def every_value(repository: Repository[Any], column: str, query: ListQuery, *, batch: int = _BATCH) -> Iterator[Any]:
    """Yield the different values of a column among what a query finds, batch by batch."""
    for page in count():
        total, values = repository.distinct(column, replace(query, page=page, page_size=batch))
        yield from values
        if (page + 1) * batch >= total:
            return


def stored_ids(ids: Iterable[int]) -> frozenset[int]:
    """Return those of the ids that a store may have given."""
    return frozenset(filter(is_stored_id, ids))


def is_id(key: object) -> TypeGuard[int]:
    """Tell whether a value is of the kind of ids: a whole number; `True`, which equals 1, is none."""
    return isinstance(key, int) and not isinstance(key, bool)


def is_stored_id(key: object) -> TypeGuard[int]:
    """Tell whether a store may have given this id."""
    return is_id(key) and 1 <= key <= LARGEST_ID


def unknown_ids(ids: Iterable[int], known: Container[int], *, path: str, noun: str) -> list[Problem]:
    """Return a problem for each of the ids that is not among the known ones."""
    return [
        Problem(path=f"{path}.{position}", message=f"there is no {noun} {one}")
        for position, one in enumerate(ids)
        if one not in known
    ]


def id_in(text: str) -> int | None:
    """Return the id that a text is: plain digits; None for another, also where Python's `int` takes it."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None


def is_list(given: object) -> TypeGuard[Iterable[Any]]:
    """Tell whether a value gives others; a text or a mapping is not taken for a list of its letters or keys."""
    return isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping)


def read_once(given: Any, *, most: int) -> Any:
    """Return what a list gives, cut after one more than may be, so that an endless one is refused; else as it is."""
    return tuple(islice(given, most + 1)) if is_list(given) else given

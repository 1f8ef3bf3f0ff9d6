"""What stands in a record for parts that a list left unread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class NotRead(tuple[Any, ...]):
    """Parts that were not asked for; using them is a mistake that must not pass for a record without parts."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        raise _refusal()

    def __len__(self) -> int:
        raise _refusal()

    def __contains__(self, item: object) -> bool:
        raise _refusal()


def _refusal() -> TypeError:
    return TypeError("this record was listed without these parts; read it by its id to use or to store them")

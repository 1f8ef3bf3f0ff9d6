"""Repeats a change that others were faster than, where it does not depend on what the caller read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from analytics_core.errors import StaleVersionError

Result = TypeVar("Result")

_ATTEMPTS = 10


def until_accepted(change: Callable[[], Result], *, stale: str | None = None) -> Result:
    """Return the result of a change that reads, changes and writes in a unit of work of its own.

    With `stale`, a kind of record, only a change of such records by others makes it repeat.

    Raises:
        StaleVersionError: somebody else was faster ten times in a row, or changed a record of another kind.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return change()
        except StaleVersionError as error:
            if stale not in (None, error.resource):
                raise
    return change()

"""Repeats a change that others were faster than, where it does not depend on what the caller read."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from analytics_core.errors import StaleVersionError

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")

_ATTEMPTS = 10
_LONGEST_PAUSE_S = 0.01
"""Of the first pauses; later ones are longer, so that many writers of one record get out of each other's way."""


def until_accepted(change: Callable[[], Result], *, stale: str | None = None) -> Result:
    """Return the result of a change that reads, changes and writes in a unit of work of its own.

    With `stale`, a kind of record, only a change of such records by others makes it repeat.

    Raises:
        StaleVersionError: somebody else was faster ten times in a row, or changed a record of another kind.
    """
    attempt = 0
    while True:
        attempt += 1
        try:
            return change()
        except StaleVersionError as error:
            if stale not in (None, error.resource):
                error.retryable = False  # it is what the caller read
                raise
            if attempt == _ATTEMPTS:
                raise
        time.sleep(random.uniform(0, _LONGEST_PAUSE_S * attempt))  # noqa: S311 - a pause is no secret


def repeated(change: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return a method that repeats its change as `until_accepted` does, unless it is told `unchanged_since`.

    A caller that says nothing of what they read gives values that hold whatever was stored in the meantime.
    """

    @wraps(change)
    def repeating(*args: Arguments.args, **named: Arguments.kwargs) -> Result:
        if named.get("unchanged_since") is not None:
            return _once(lambda: change(*args, **named))
        return until_accepted(lambda: change(*args, **named))

    return repeating


def _once(change: Callable[[], Result]) -> Result:
    """Return the result of a change of what the caller read: once it is stale, it stays so."""
    try:
        return change()
    except StaleVersionError as error:
        error.retryable = False
        raise

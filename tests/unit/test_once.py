"""What is made at its first use is made then, and the same for all who ask."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from analytics_core._tools.once import Once


def test_nothing_is_made_before_somebody_asks() -> None:
    calls = list[int]()
    value = Once(lambda: calls.append(1) or object())
    assert (value.made, calls) == ((), [])
    first = value()
    assert (value(), value.made, calls) == (first, (first,), [1])


def test_an_error_is_not_kept() -> None:
    answers = iter([KeyError("away"), 7])

    def make() -> int:
        found = next(answers)
        if isinstance(found, Exception):
            raise found
        return found

    value = Once(make)
    with pytest.raises(KeyError):
        value()
    assert (value.made, value()) == ((), 7)


def test_threads_that_come_at_one_moment_get_the_same_value() -> None:
    together = Barrier(4)

    def make() -> object:
        together.wait(5)
        return object()

    value = Once(make)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: value(), range(4)))
    assert len({id(one) for one in found}) == 1

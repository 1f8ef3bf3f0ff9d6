"""Digests are equal for equal values in every process, and tell apart whatever is not one value."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import combinations
from typing import Any
from uuid import UUID

import pytest

from analytics_core._engine.compile.explanation import describe_range
from analytics_core._engine.compile.fingerprint import digest_of


class Colour(Enum):
    RED = 1
    BLUE = 2


@dataclass(frozen=True)
class Pair:
    one: Any
    two: Any = 2
    note: str = field(default="", compare=False)


@dataclass(frozen=True)
class OtherPair:
    one: Any
    two: Any = 2


@dataclass
class Loose:
    one: int = 1


@dataclass(frozen=True, eq=False)
class Unequal:
    one: int = 1


MOMENT = datetime(2026, 5, 1, 12, tzinfo=UTC)
DIFFERENT: tuple[Any, ...] = (
    *(None, False, True, 0, 1, -1, 2**70, 0.0, 1.0, "", "1", "None", "a", b"a", Decimal(1), Decimal("1.0")),
    *(UUID(int=1), timedelta(1), MOMENT, MOMENT.replace(tzinfo=None), date(2026, 5, 1), time(12), time(12, tzinfo=UTC)),
    *(
        (),
        (1,),
        (1, 2),
        (2, 1),
        ((1,), 2),
        ("1,2",),
        frozenset(),
        frozenset({1}),
        frozenset({1, 2}),
        frozenset({(1, 2)}),
    ),
    *(Colour.RED, Colour.BLUE, int, str, Colour, Pair(1), Pair(2), Pair(1, 3), OtherPair(1), Pair(Pair(1)), "\ud800"),
)


def test_values_that_differ_in_type_or_content_have_other_digests() -> None:
    digests = [digest_of(value) for value in DIFFERENT]
    assert {len(digest) for digest in digests} == {64}
    equal = [pair for pair in combinations(range(len(digests)), 2) if digests[pair[0]] == digests[pair[1]]]
    assert [(DIFFERENT[one], DIFFERENT[two]) for one, two in equal] == []


def test_equal_values_have_one_digest_that_stays_the_same() -> None:
    assert digest_of(frozenset(range(1_000))) == digest_of(frozenset(range(999, -1, -1)))
    assert digest_of(Pair(1, note="a")) == digest_of(Pair(1, note="b"))
    assert digest_of((1, "a", None)) == "a0abaea7eb5f548c9e3a488d2b96097c51c8088438bb2cef6f3cd30a667f7b5a"


def test_a_value_that_cannot_be_told_apart_is_refused() -> None:
    for value, name in ((Loose(), "Loose"), (Unequal(), "Unequal"), (object(), "object"), ({1}, "set")):
        for inside in (value, (value,), Pair(value)):
            broken: Any = inside
            with pytest.raises(TypeError, match=f"no digest of a {name}: it is no plain value and no frozen record"):
                digest_of(broken)


def test_a_range_is_told_with_both_of_its_ends() -> None:
    day = datetime(2026, 5, 1, tzinfo=UTC)
    first = "2026-05-01 00:00:00+00:00"
    for given, line in (
        (("Last day", day, day), f"Last day: from {first} (included) to {first} (excluded), UTC"),
        ((None, None, day), f"No filter: from the beginning (included) to {first} (excluded), UTC"),
        (("x", day, None), f"x: from {first} (included) to the end (excluded), UTC"),
    ):
        assert describe_range(*given) == line

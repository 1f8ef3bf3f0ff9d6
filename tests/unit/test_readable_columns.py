"""Columns of tables in messages: numbers as people read them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tests.support.cases import for_each

from analytics_core._engine.results.readable import is_long, readable_texts


@for_each(
    ("values", "texts"),
    [
        ([59573.710000000014, 44029.12999999999, None], ["59573.71", "44029.13", ""]),
        ([0.1 + 0.2, 0.5], ["0.3", "0.5"]),
        ([336.0, 245.0], ["336", "245"]),
        ([145.6569926650367, 7], ["145.66", "7.00"]),
        ([1 / 260, 0.9], ["0.00385", "0.90000"]),
        ([1.5, -12.25], ["1.50", "-12.25"]),
        ([0.000123456, 0.0], ["0.00012346", "0.00000000"]),
        ([0.0, 0.0], ["0", "0"]),
    ],
)
def test_fractions_of_a_column_are_rounded_alike(values: list[Any], texts: list[str]) -> None:
    assert readable_texts(values) == texts


@for_each(
    ("values", "texts"),
    [
        ([1e-9, 0.5], ["1e-09", "0.5"]),
        ([1.5, float("inf")], ["1.5", ""]),
        ([1e20, 1.5], ["1e+20", "1.5"]),
        ([Decimal("1.2345678"), Decimal("1000.10")], ["1.2345678", "1000.1"]),
        ([1.23456789, "a"], ["1.23456789", "a"]),
        ([True, False, None], ["True", "False", ""]),
        ([12345678901234567890, 1], ["12345678901234567890", "1"]),
        ([], []),
        ([None], [""]),
    ],
)
def test_other_columns_are_left_as_they_are(values: list[Any], texts: list[str]) -> None:
    assert readable_texts(values) == texts


def test_a_column_is_long_by_its_longest_text() -> None:
    assert not is_long(["2025-01-01 00:00:00", ""])
    assert is_long(["", "a sentence that needs more than one line"])

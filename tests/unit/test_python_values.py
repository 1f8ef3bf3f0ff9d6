"""Values of Python in payloads: what JSON lacks is told, or means what its writer meant, also in the background."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from tests.support.cases import for_each

from analytics_core._engine.compile.values import as_moment
from analytics_core.errors import PayloadFormatError
from analytics_core.models.strict_json import json_text, plain_values


@for_each(
    ("value", "expected"),
    [
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.float32(0.5), 0.5),
        (np.array([[1, 2]]), [[1, 2]]),
        (np.array(["a"]), ["a"]),
        ({3}, [3]),
        ((1, {"a": frozenset({np.int8(2)})}), [1, {"a": [2]}]),
        (10**30, 10**30),
        (None, None),
    ],
)
def test_values_of_python_are_those_of_json(value: Any, expected: Any) -> None:
    plain = plain_values({"v": value}, shape="S")
    assert plain == {"v": expected}
    assert json.loads(json_text({"v": value}, shape="S")) == {"v": expected}


@for_each(
    ("value", "expected"),
    [
        (datetime(2024, 1, 31, 10, tzinfo=UTC), "2024-01-31T10:00:00+00:00"),
        (date(2024, 1, 31), "2024-01-31"),
        (time(10, 30), "10:30:00"),
        (Decimal("12345678901234567.123456789"), "12345678901234567.123456789"),
        (UUID(int=1), str(UUID(int=1))),
    ],
)
def test_dates_and_decimals_stay_and_are_exact_texts_in_json(value: Any, expected: str) -> None:
    assert plain_values([value], shape="S") == [value]
    assert json.loads(json_text([value], shape="S")) == [expected]


@for_each("value", [b"\xff", object(), timedelta(1), np.datetime64("2024-01-01", "ns"), 1j])
def test_what_json_cannot_say_is_told_with_its_place(value: Any) -> None:
    with pytest.raises(PayloadFormatError, match=r"^S: queries\.0\.val holds a .*which JSON cannot say") as raised:
        plain_values({"queries": [{"val": value}]}, shape="S")
    assert type(value).__name__ in raised.value.message


def test_a_key_is_a_text() -> None:
    with pytest.raises(PayloadFormatError, match=r"S: a has a tuple as a key"):
        plain_values({"a": {(1, 2): 3}}, shape="S")


def test_a_date_is_its_first_moment() -> None:
    assert as_moment(date(2024, 2, 29), column="c") == datetime(2024, 2, 29)

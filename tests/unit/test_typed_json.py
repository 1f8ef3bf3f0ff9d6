"""JSON that keeps types: every value comes back as it was, through the text of two JSON libraries."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics_core._tools.typed_json import from_typed_json, typed_json


def unfolded(moment: Any) -> Any:
    """Return a moment that is not the second one of its name: no fixed offset has such."""
    return moment.replace(fold=0)


SCALARS = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.integers(2**62, 2**66), st.floats(allow_nan=False), st.binary()),
    *(st.text(), st.text(st.characters(categories=["Cs", "Lu"])), st.decimals(allow_nan=False), st.uuids()),
    *(st.dates(), st.times().map(unfolded), st.datetimes().map(unfolded), st.timedeltas()),
    *(st.datetimes(timezones=st.just(zone)).map(unfolded) for zone in (UTC, timezone(timedelta(hours=-3.5)))),
)
KEYS = st.one_of(st.text(), SCALARS, st.tuples(SCALARS, st.frozensets(SCALARS, max_size=2)))
VALUES = st.recursive(
    SCALARS | st.sets(SCALARS, max_size=3),
    lambda inside: st.one_of(
        st.lists(inside, max_size=4),
        st.lists(inside, max_size=4).map(tuple),
        st.dictionaries(KEYS, inside, max_size=3),
        st.dictionaries(st.text(), inside, max_size=3),
    ),
    max_leaves=12,
)


def reject(value: Any) -> Any:
    raise AssertionError(f"no plain value: {value!r}")


def typed(value: Any) -> Any:
    """Return a value with the types in it, which equality does not see."""
    if isinstance(value, dict):
        return dict, [(typed(key), typed(member)) for key, member in value.items()]
    if isinstance(value, list | tuple):
        return type(value), [typed(item) for item in value]
    if isinstance(value, set | frozenset):
        return type(value), sorted(repr(typed(item)) for item in value)
    return type(value), value


@given(VALUES)
def test_every_value_comes_back_with_its_type(value: Any) -> None:
    tree = typed_json(value, other=reject)
    for text in (json.dumps(tree, allow_nan=False), orjson.dumps(tree)):
        assert typed(from_typed_json(json.loads(text))) == typed(value)
        assert typed(from_typed_json(orjson.loads(text))) == typed(value)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_what_no_json_number_is_comes_back(value: str) -> None:
    for number in (float(value), Decimal(value)):
        found = from_typed_json(typed_json([number], other=reject))[0]
        assert (type(found), repr(found)) == (type(number), repr(number))


def test_plain_json_stands_as_it_is() -> None:
    value = {"a": 1, "b": {"c": None, "d": "é", "e": 2.5, "f": True}}
    assert typed_json(value, other=reject) == value


def test_a_list_in_the_place_of_a_name_is_no_list() -> None:
    assert from_typed_json(typed_json([["list", 1], "tuple"], other=reject)) == [["list", 1], "tuple"]


class Count(int):
    """A type of its own."""


def test_other_types_are_written_and_read_by_the_caller() -> None:
    tree = typed_json((Count(3), datetime.max), other=lambda value: ["Count", int(value)])
    assert from_typed_json(tree, readers={"Count": Count}) == (Count(3), datetime.max)
    with pytest.raises(KeyError):
        from_typed_json(tree)

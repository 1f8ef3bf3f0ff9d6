"""Cache entries: typed, versioned, checked; whatever is not one is a miss."""

from __future__ import annotations

import json
import pickle
import zlib
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.frames import frame_of

from analytics_core._frames.frame_bytes import frame_from_bytes
from analytics_core._querying.answer import ChartData, LimitEntry, QueryResult, failed_result
from analytics_core._querying.cache_entry import MAGIC, decode_entry, encode_entry
from analytics_core._querying.client_processing import client_processed
from analytics_core._querying.result_rows import ResultRows
from analytics_core.errors import QueryError, StoredDataError
from analytics_core.models.enums import ResultType

COLUMNS: dict[str, list[Any]] = {
    "i": [1, None, 2**40],
    "big": [2**70, 1, None],
    "f": [0.1, None, -0.0],
    "s": ["ä", None, "=1"],
    "b": [True, False, None],
    "d": [date(2024, 1, 1), None, date(1, 1, 1)],
    "t": [datetime(2024, 1, 1, 1), None, datetime(1600, 1, 1)],
    "z": [datetime(2024, 1, 1, tzinfo=UTC), None, None],
    "n": [Decimal("1.10"), None, Decimal("2")],
    "y": [b"\xff", None, b"x"],
    "c": [time(1, 2), None, None],
    "mixed": [1, "x", None],
    "nested": [{"a": [1]}, None, [1]],
    "other": [UUID(int=1), None, None],
    "nothing": [None, None, None],
}
FULL = QueryResult(
    cache_timeout=60,
    cached_dttm="2026-01-01T00:00:00",
    query="SELECT 1",
    annotation_data=[],
    applied_filters=({"column": "a"},),
    rejected_filters=({"column": "b", "reason": "not_in_datasource"},),
    colnames=tuple(COLUMNS),
    coltypes=(0,) * len(COLUMNS),
    rowcount=3,
    from_dttm=1,
    to_dttm=2,
    sql_rowcount=3,
    label_map={"a": ("a", "b")},
    notes=("note",),
    limits=(LimitEntry(limit="row_limit", rows=3, set_by="payload: row_limit", cut=False),),
    result_type=ResultType.SAMPLES,
    verbose_names={"i": "Number"},
)


def full() -> QueryResult:
    return replace(FULL, rows=ResultRows(frame_of(COLUMNS)))


def entry(key: str = "key") -> bytes:
    data = encode_entry(full(), key=key)
    assert data is not None
    return data


def test_a_stored_result_comes_back_with_every_field() -> None:
    found = decode_entry(entry(), key="key")
    assert found == replace(FULL, cache_key="key", is_cached=True)


def test_a_hit_gives_the_same_json_csv_and_data_as_the_first_answer() -> None:
    found = decode_entry(entry(), key="key")
    assert found is not None
    first, again = (ChartData(results=(r,)) for r in (replace(full(), cache_key="key", is_cached=True), found))
    assert json.loads(again.to_json()) == json.loads(first.to_json())
    assert again.to_payload() == first.to_payload()
    assert again.to_csv() == first.to_csv()


def test_typed_columns_come_back_typed() -> None:
    found = decode_entry(entry(), key="key")
    assert found is not None
    held = {column.name: column.to_list() for column in found.frame.columns}
    assert {name: held[name] for name in "ifsbdtyc"} == {name: COLUMNS[name] for name in "ifsbdtyc"}
    assert held["n"][0] == Decimal("1.10")
    assert held["z"][0] == datetime(2024, 1, 1, tzinfo=UTC)
    assert held["mixed"] == [1, "x", None]


def test_a_processed_result_comes_back_with_its_map() -> None:
    processed = client_processed(full(), form_data={"viz_type": "table"})
    data = encode_entry(processed, key="key")
    assert data is not None
    found = decode_entry(data, key="key")
    assert found is not None
    assert found.data == processed.data


def test_the_json_of_a_hit_is_the_stored_text_and_the_frame_is_not_decoded() -> None:
    rows = ResultRows(frame_of({"a": [1]}), encoded=b'[{"a":"stored"}]')
    data = encode_entry(QueryResult(rows=rows), key="key")
    assert data is not None
    found = decode_entry(data, key="key")
    assert found is not None
    assert b'"data":[{"a":"stored"}]' in ChartData(results=(found,)).to_json()


def test_failed_results_are_not_kept() -> None:
    assert encode_entry(failed_result(QueryError("no")), key="key") is None


def test_a_result_larger_than_the_bound_is_not_kept() -> None:
    assert encode_entry(full(), key="key", most_bytes=len(entry())) is not None
    assert encode_entry(full(), key="key", most_bytes=len(entry()) - 1) is None


@pytest.mark.parametrize("key", ["other", "", "key ", "KEY", "keykey", "ke"])
def test_an_entry_of_another_key_is_a_miss(key: str) -> None:
    assert decode_entry(entry("key"), key=key) is None


def test_an_entry_of_another_version_is_a_miss() -> None:
    assert decode_entry(MAGIC[:-1] + b"\x01" + entry()[len(MAGIC) :], key="key") is None


@given(st.data())
def test_any_changed_byte_is_a_miss(data: st.DataObject) -> None:
    held = bytearray(entry())
    position = data.draw(st.integers(0, len(held) - 1))
    held[position] ^= data.draw(st.integers(1, 255))
    assert decode_entry(bytes(held), key="key") is None


@given(st.integers(0, 400))
def test_an_entry_that_was_cut_or_grew_is_a_miss(length: int) -> None:
    assert decode_entry(entry()[:length], key="key") is None
    assert decode_entry(entry() + b"x" * (length + 1), key="key") is None


@pytest.mark.parametrize(
    "junk", [b"", b"x" * 500, MAGIC, MAGIC + b"\xff" * 100, pickle.dumps({"a": 1}), b"{}"], ids=len
)
def test_bytes_that_are_no_entry_are_a_miss(junk: bytes) -> None:
    assert decode_entry(junk, key="key") is None


@pytest.mark.parametrize("facts", [b"", b"[]", b"{}", b"not json", b'{"status":"success"}', b"null"])
def test_facts_of_another_shape_are_a_miss(facts: bytes) -> None:
    parts = (b"key", facts, b"", b"[]")
    rest = b"".join(len(part).to_bytes(8, "big") for part in parts) + b"".join(parts)
    assert decode_entry(MAGIC + zlib.crc32(rest).to_bytes(4, "big") + rest, key="key") is None


@pytest.mark.parametrize("junk", [b"", b"x" * 100, b"ARROW1" * 20])
def test_bytes_that_hold_no_frame_are_a_typed_error(junk: bytes) -> None:
    with pytest.raises(StoredDataError):
        frame_from_bytes(junk)

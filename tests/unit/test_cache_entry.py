"""Cache entries: typed, versioned, sealed; whatever is not one is a miss."""

from __future__ import annotations

import json
import pickle
import struct
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each
from tests.support.frames import frame_of

from analytics_core._engine.frames.arrow_frames import frame_from_bytes
from analytics_core._engine.results.answer import ChartData, LimitEntry, QueryResult, failed_result
from analytics_core._engine.results.answer_bytes import MAGIC, MOST_BYTES, decode_entry, encode_entry
from analytics_core._engine.results.client_processing import client_processed
from analytics_core._engine.results.rows import ResultRows
from analytics_core._engine.rights.keys import EntrySeal
from analytics_core._records.secret import Secret
from analytics_core.errors import QueryError, StoredDataError
from analytics_core.models.enums import ResultType

SEAL = EntrySeal(Secret("k3y-of-the-cache-0123456789"))
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
    "nested": [{"a": [date(2024, 1, 1)], 2: {Decimal("0.1")}}, None, ((1,), timedelta(1))],
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
    return replace(FULL, row_set=ResultRows(frame_of(COLUMNS)))


def entry(key: str = "key") -> bytes:
    data = encode_entry(full(), key=key, seal=SEAL)
    assert data is not None
    return data


def test_a_stored_result_comes_back_with_every_field() -> None:
    found = decode_entry(entry(), key="key", seal=SEAL)
    assert found == replace(FULL, cache_key="key", is_cached=True)


def test_a_hit_gives_the_same_json_csv_and_data_as_the_first_answer() -> None:
    found = decode_entry(entry(), key="key", seal=SEAL)
    assert found is not None
    first, again = (ChartData(results=(r,)) for r in (replace(full(), cache_key="key", is_cached=True), found))
    assert json.loads(again.to_json()) == json.loads(first.to_json())
    assert again.to_payload() == first.to_payload()
    assert again.to_csv() == first.to_csv()


def test_typed_columns_come_back_typed() -> None:
    found = decode_entry(entry(), key="key", seal=SEAL)
    assert found is not None
    cells = {column.name: column.to_list() for column in found.frame.columns}
    assert {name: cells[name] for name in "ifsbdtyc"} == {name: COLUMNS[name] for name in "ifsbdtyc"}
    assert cells["n"][0] == Decimal("1.10")
    assert cells["z"][0] == datetime(2024, 1, 1, tzinfo=UTC)
    assert cells["mixed"] == [1, "x", None]
    assert (cells["nested"], cells["other"]) == (COLUMNS["nested"], COLUMNS["other"])


def test_a_processed_result_comes_back_with_its_map() -> None:
    processed = client_processed(full(), form_data={"viz_type": "table"})
    data = encode_entry(processed, key="key", seal=SEAL)
    assert data is not None
    found = decode_entry(data, key="key", seal=SEAL)
    assert found is not None
    assert found.data == processed.data


ALONE: dict[str, tuple[list[Any], bool]] = {
    **{name: (values, name in {"i", "f", "s", "b", "d", "t", "z", "n", "nothing"}) for name, values in COLUMNS.items()},
    "empty": ([], True),
    "64 bits": ([-(2**63), 2**63 - 1], True),
    "nan": ([0.5, float("nan")], False),
    "nan among decimals": ([Decimal("NaN"), Decimal("-0.00")], True),
    "surrogate": (["\ud800"], False),
    "zoned and not": ([datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC)], False),
    "zone": ([datetime(2024, 1, 1, tzinfo=ZoneInfo("Africa/Lagos"))], False),
    "microseconds": ([datetime(1, 1, 1, 0, 0, 0, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)], True),
    "numbers as text": (["1", "[1]", "null"], True),
    "many": ([*range(1_001)], False),
}


@for_each("name", ALONE)
def test_few_plain_values_are_stored_as_json_and_all_others_as_arrow(name: str) -> None:
    values, is_json = ALONE[name]
    frame = frame_of({"label": values})
    data = encode_entry(QueryResult(row_set=ResultRows(frame)), key="key", seal=SEAL)
    assert data is not None
    assert (b'[["label"' in data) is is_json
    found = decode_entry(data, key="key", seal=SEAL)
    assert found is not None
    (column,) = found.frame.columns
    assert (column.name, column.kind) == ("label", frame.columns[0].kind)
    assert list(map(repr, map(_in_utc, column.to_list()))) == list(map(repr, map(_in_utc, values)))


def _in_utc(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value


def test_the_json_of_a_hit_is_the_stored_text_and_the_frame_is_not_decoded() -> None:
    rows = ResultRows(frame_of({"a": [1]}), encoded=b'[{"a":"stored"}]')
    data = encode_entry(QueryResult(row_set=rows), key="key", seal=SEAL)
    assert data is not None
    found = decode_entry(data, key="key", seal=SEAL)
    assert found is not None
    assert b'"data":[{"a":"stored"}]' in ChartData(results=(found,)).to_json()


def test_failed_results_are_not_kept() -> None:
    assert encode_entry(failed_result(QueryError("no")), key="key", seal=SEAL) is None


def test_a_result_larger_than_the_bound_is_not_kept() -> None:
    assert encode_entry(full(), key="key", seal=SEAL, most_bytes=len(entry())) is not None
    assert encode_entry(full(), key="key", seal=SEAL, most_bytes=len(entry()) - 1) is None


@for_each("key", ["other", "", "key ", "KEY", "keykey", "ke"])
def test_an_entry_of_another_key_is_a_miss(key: str) -> None:
    assert decode_entry(entry("key"), key=key, seal=SEAL) is None
    assert decode_entry(entry(key), key=key, seal=SEAL) is not None


@pytest.mark.parametrize("secret", ["k3y-of-the-cache-012345678", "K3y-of-the-cache-0123456789", ""])
def test_an_entry_of_another_secret_key_is_a_miss(secret: str) -> None:
    assert decode_entry(entry(), key="key", seal=EntrySeal(Secret(secret))) is None
    assert decode_entry(entry(), key="key", seal=EntrySeal(Secret("k3y-of-the-cache-0123456789"))) is not None


def test_an_entry_of_another_version_is_a_miss() -> None:
    for version in {0, 1, 2, 3, 4, 5, 6, 255} - {MAGIC[-1]}:
        assert decode_entry(MAGIC[:-1] + bytes([version]) + entry()[len(MAGIC) :], key="key", seal=SEAL) is None


@pytest.mark.slow
@given(st.data())
def test_any_changed_byte_is_a_miss(data: st.DataObject) -> None:
    encoded = bytearray(entry())
    position = data.draw(st.integers(0, len(encoded) - 1))
    encoded[position] ^= data.draw(st.integers(1, 255))
    assert decode_entry(bytes(encoded), key="key", seal=SEAL) is None


@given(st.integers(0, 400))
def test_an_entry_that_was_cut_or_grew_is_a_miss(length: int) -> None:
    assert decode_entry(entry()[:length], key="key", seal=SEAL) is None
    assert decode_entry(entry() + b"x" * (length + 1), key="key", seal=SEAL) is None


@for_each(
    "junk",
    [b"", b"x" * 500, MAGIC, MAGIC + b"\xff" * 100, MAGIC + bytes(100), pickle.dumps({"a": 1}), b"{}", "text", None, 7],
    ids=repr,
)
def test_what_is_no_entry_is_a_miss(junk: Any) -> None:
    assert decode_entry(junk, key="key", seal=SEAL) is None


def sealed(facts: bytes, *, frame: bytes = b"", records: bytes = b"[]", lengths: tuple[int, ...] = ()) -> bytes:
    """Return an entry that somebody with the secret key made; `lengths` are what it says of its parts."""
    head = struct.pack(">QQQQ", 3, *(lengths or (len(facts), len(frame), len(records))))
    parts = (head, facts, frame, records)
    return b"".join((MAGIC, SEAL.made("key", parts), *parts))


def facts_of(data: bytes) -> dict[str, Any]:
    start = len(MAGIC) + 28 + 32
    length = struct.unpack_from(">Q", data, start - 24)[0]
    found: dict[str, Any] = json.loads(data[start : start + length])
    return found


def test_an_entry_made_by_hand_opens_so_the_others_are_misses_for_their_own_reason() -> None:
    found = decode_entry(sealed(json.dumps(facts_of(entry())).encode()), key="key", seal=SEAL)
    assert found is not None
    assert found.colnames == tuple(COLUMNS)


@for_each(
    "facts",
    [
        b"",
        b"[]",
        b"{}",
        b"not json",
        b'{"status":"success"}',
        b"null",
        b"!!python/object/apply:os.system [touch loot]",
        b'{"py/object": "os.system"}',
        b"[" * 100_000,
    ],
    ids=lambda facts: facts[:20],
)
def test_facts_of_another_shape_are_a_miss(facts: bytes) -> None:
    assert decode_entry(sealed(facts), key="key", seal=SEAL) is None


@for_each(
    "changes",
    [
        {"status": "fine"},
        {"result_type": "query; drop"},
        {"label_map": []},
        {"label_map": {"a": None}},
        {"colnames": None},
        {"limits": [{"limit": "row_limit"}]},
        {"limits": ["row_limit"]},
    ],
    ids=repr,
)
def test_a_fact_of_another_kind_is_a_miss(changes: dict[str, Any]) -> None:
    facts = facts_of(entry())
    facts["results"][0].update(changes)
    assert decode_entry(sealed(json.dumps(facts).encode()), key="key", seal=SEAL) is None


@for_each("lengths", [(2**63, 0, 2), (0, 0, 0), (2**64 - 1, 1, 2), (1, 1, 1), (0, 2**62, 2)])
def test_lengths_that_lie_are_a_miss(lengths: tuple[int, ...]) -> None:
    facts = json.dumps(facts_of(entry())).encode()
    assert decode_entry(sealed(facts, lengths=lengths), key="key", seal=SEAL) is None


def test_an_entry_that_says_it_is_larger_than_the_bound_is_not_made() -> None:
    assert MOST_BYTES < 2**31
    assert encode_entry(full(), key="key", seal=SEAL, most_bytes=0) is None


def test_two_entries_of_one_result_are_not_alike_and_both_open() -> None:
    first, second = entry(), entry()
    assert first != second
    assert decode_entry(first, key="key", seal=SEAL) == decode_entry(second, key="key", seal=SEAL)


def test_the_seal_of_one_entry_holds_for_no_other() -> None:
    start, end = len(MAGIC), len(MAGIC) + 28
    other = encode_entry(QueryResult(row_set=ResultRows(frame_of({"a": [1]}))), key="key", seal=SEAL)
    assert other is not None
    assert decode_entry(other[:start] + entry()[start:end] + other[end:], key="key", seal=SEAL) is None
    assert decode_entry(other, key="key", seal=SEAL) is not None


@pytest.mark.parametrize("junk", [b"", b"x" * 100, b"ARROW1" * 20])
def test_bytes_that_hold_no_frame_are_a_typed_error(junk: bytes) -> None:
    with pytest.raises(StoredDataError):
        frame_from_bytes(junk)

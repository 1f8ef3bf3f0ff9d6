"""Laws of JSON records: the roads by columns and by dicts give one answer, and JSON that everybody reads."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each
from tests.support.frames import frame_of

from analytics_core._engine.frames.arrow_frames import frame_from_bytes, frame_to_bytes
from analytics_core._engine.results.rows import record_chunks, records

AWARE = st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1)).map(
    lambda moment: moment.replace(tzinfo=timezone(timedelta(hours=5, minutes=30)))
)
ONE_TYPE = {
    "integers": st.integers(-(2**70), 2**70),
    "small integers": st.integers(-(2**53), 2**53),
    "floats": st.floats(),
    "text": st.text(st.characters()),
    "ascii": st.text(st.sampled_from('ab"\\\n\x00\x1f /'), max_size=8),
    "booleans": st.booleans(),
    "days": st.dates(),
    "moments": st.datetimes(),
    "aware moments": AWARE,
    "decimals": st.decimals(),
    "money": st.decimals(-(10**6), 10**6, places=2),
    "bytes": st.binary(max_size=12),
    "times": st.times(),
    "durations": st.timedeltas(),
    "nested": st.lists(st.dates() | st.integers() | st.none(), max_size=3),
}
MIXED = st.one_of(*ONE_TYPE.values())
COLUMNS = st.one_of(*(st.lists(st.none() | values, max_size=12) for values in (*ONE_TYPE.values(), MIXED)))


def read_strictly(text: bytes) -> Any:
    def reject(constant: str) -> None:
        raise AssertionError(f"not JSON: {constant}")

    return json.loads(text, parse_constant=reject)


def by_columns(frame: Any, slice_rows: int = 50_000) -> bytes:
    return b"".join(record_chunks(frame, small_rows=0, slice_rows=slice_rows))


def by_dicts(frame: Any) -> bytes:
    return orjson.dumps(records(frame))


def same(left: Any, right: Any) -> bool:
    """Equal, with the sign of zero, but 1 and 1.0 are the same number."""
    return left == right and str(left).replace(".0", "") == str(right).replace(".0", "")


@given(first=COLUMNS, second=COLUMNS, slice_rows=st.integers(1, 7))
def test_the_road_by_columns_equals_the_road_by_dicts(first: list[Any], second: list[Any], slice_rows: int) -> None:
    rows = min(len(first), len(second))
    frame = frame_of({'a"\\': first[:rows], "ö\ud800": second[:rows]})
    fast, slow = read_strictly(by_columns(frame, slice_rows)), read_strictly(by_dicts(frame))
    assert fast == slow
    assert len(fast) == rows


@given(st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False)))
def test_every_double_comes_back_as_the_same_double(values: list[float | None]) -> None:
    for given_values in (values, pa.chunked_array([pa.array(values, pa.float64())])):
        read = [row["x"] for row in read_strictly(by_columns(frame_of({"x": given_values})))]
        assert [None if v is None else float(v).hex() for v in read] == [None if v is None else v.hex() for v in values]


ARROW_TYPES = [
    (pa.int8(), st.integers(-128, 127)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.float32(), st.floats(width=32)),
    (pa.float64(), st.floats()),
    (pa.bool_(), st.booleans()),
    (pa.string(), st.text()),
    (pa.large_string(), st.text()),
    (pa.dictionary(pa.int32(), pa.string()), st.text(max_size=2)),
    (pa.binary(), st.binary(max_size=8)),
    (pa.date32(), st.dates()),
    (pa.date64(), st.dates()),
    (pa.timestamp("s"), st.datetimes().map(lambda moment: moment.replace(microsecond=0))),
    (pa.timestamp("ms"), st.datetimes().map(lambda moment: moment.replace(microsecond=0))),
    (pa.timestamp("us"), st.datetimes()),
    (pa.timestamp("us", "UTC"), AWARE),
    (pa.timestamp("us", "Asia/Tokyo"), AWARE),
    (pa.timestamp("ns"), st.datetimes(datetime(1678, 1, 1), datetime(2262, 1, 1))),
    (pa.decimal128(38, 0), st.integers(-(10**30), 10**30).map(Decimal)),
    (pa.decimal128(20, 4), st.decimals(-(10**12), 10**12, places=4)),
    (pa.decimal128(30, 10), st.decimals(-(10**19), 10**19, places=10)),
    (pa.time64("us"), st.times()),
    (pa.duration("us"), st.timedeltas(timedelta(-(10**4)), timedelta(10**4))),
    (pa.list_(pa.int32()), st.lists(st.integers(0, 9), max_size=3)),
    (pa.null(), st.none()),
]


@pytest.mark.slow
@for_each(("kind", "values"), ARROW_TYPES, ids=[str(kind) for kind, _ in ARROW_TYPES])
def test_arrow_columns_of_every_type_are_written_as_their_values(kind: Any, values: st.SearchStrategy[Any]) -> None:
    @given(chunks=st.lists(st.lists(st.none() | values, max_size=5), max_size=3), skipped=st.integers(0, 3))
    def check(chunks: list[list[Any]], skipped: int) -> None:
        column = pa.chunked_array([pa.array(chunk, kind) for chunk in chunks], kind).slice(skipped)
        frame = frame_of({"x": column})
        assert read_strictly(by_columns(frame, 4)) == read_strictly(by_dicts(frame))

    check()


@given(COLUMNS)
def test_a_frame_that_was_stored_is_written_as_before(values: list[Any]) -> None:
    frame = frame_of({"x": values})
    stored = frame_from_bytes(frame_to_bytes(frame))
    if isinstance(stored.columns[0].values, list) and any(isinstance(value, date) for value in values):
        return  # moments of mixed columns are stored as ISO 8601 text; the JSON text is kept beside the frame
    assert read_strictly(by_dicts(stored)) == read_strictly(by_dicts(frame))


def test_the_sample_of_troublesome_doubles_is_exact() -> None:
    doubles = [1e16, 1e-7, 0.1, -0.0, 5e-324, 1.7976931348623157e308, 2.0**53, 0.30000000000000004, 1e22, -1e-300]
    read = read_strictly(by_columns(frame_of({"x": doubles})))
    assert all(same(row["x"], value) for row, value in zip(read, doubles, strict=True))


def test_moments_before_1970_are_rounded_down_on_both_roads() -> None:
    moments = [datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(1969, 12, 31, tzinfo=UTC).replace(tzinfo=None)]
    for values in (moments, pa.chunked_array([pa.array(moments)])):
        assert read_strictly(by_columns(frame_of({"x": values}))) == [{"x": -1}, {"x": -86_400_000}]


def test_times_of_day_are_text() -> None:
    assert read_strictly(by_columns(frame_of({"x": [time(1, 2, 3)]}))) == [{"x": "01:02:03"}]

"""Answers as bytes: every answer comes back as a reader sees it, and what is no whole answer is None."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.architecture.test_error_types import an_error, every_class
from tests.support.answers import seen
from tests.support.cases import for_each
from tests.support.frames import frame_of

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.results.answer import ChartData, LimitEntry, QueryResult, failed_result, listed_result
from analytics_core._engine.results.answer_bytes import MAGIC, decode_answer, decode_entry, encode_answer
from analytics_core._engine.results.client_processing import client_processed
from analytics_core._engine.results.rows import AnnotationData, ResultRows
from analytics_core._engine.rights.keys import EntrySeal
from analytics_core._records.secret import Secret
from analytics_core.errors import AnalyticsError, QueryError, ResultTooLargeError, UnknownColumnError
from analytics_core.models.enums import QueryStatus, ResultFormat, ResultType

SEAL = EntrySeal(Secret("k3y-of-the-jobs-0123456789"))
COLUMNS: dict[tuple[str, ValueKind], list[Any]] = {
    ("i", ValueKind.INTEGER): [1, None, 2**40],
    ("big", ValueKind.INTEGER): [2**70, 1, None],
    ("f", ValueKind.FLOAT): [0.1, None, 1e300],
    ("s", ValueKind.TEXT): ["ä", None, "=1"],
    ("b", ValueKind.BOOLEAN): [True, False, None],
    ("d", ValueKind.DATE): [date(2024, 1, 1), None, date(1, 1, 1)],
    ("t", ValueKind.TIMESTAMP): [datetime(2024, 1, 1, 1), None, datetime(1600, 1, 1)],
    ("z", ValueKind.TIMESTAMPTZ): [datetime(2024, 1, 1, tzinfo=UTC), None, None],
    ("n", ValueKind.DECIMAL): [Decimal("1.10"), None, Decimal("12345678901234567.123456789")],
    ("y", ValueKind.BYTES): [b"\xff", None, b"x"],
    ("c", ValueKind.TIME): [time(1, 2), None, None],
    ("mixed", ValueKind.OTHER): [1, "x", None],
    ("of a zone", ValueKind.OTHER): [datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1), None],
    ("nested", ValueKind.OTHER): [{"a": [Decimal("0.1"), date(2024, 1, 1)]}, None, [1, (2, b"x")]],
    ("numbers", ValueKind.NUMBERS): [[1, 2.5], None, []],
    ("other", ValueKind.OTHER): [UUID(int=1), timedelta(1), None],
    **{(f"no {kind}", kind): [None, None, None] for kind in ValueKind},
}
FRAMES = st.lists(st.sampled_from(list(COLUMNS)), unique=True, max_size=6).flatmap(
    lambda names: st.lists(st.integers(0, 2), max_size=5).map(
        lambda rows: Frame(
            columns=tuple(
                FrameColumn(name=name, kind=kind, values=[COLUMNS[name, kind][row] for row in rows])
                for name, kind in names
            )
        )
    )
)
TEXT = st.text(max_size=4)
COUNT = st.none() | st.integers(0, 2**53)
FILTERS = st.lists(st.dictionaries(TEXT, TEXT, max_size=2), max_size=2).map(tuple)
NAMES = st.lists(TEXT, max_size=3).map(tuple)
LIMITS = st.builds(LimitEntry, limit=TEXT, rows=COUNT, set_by=TEXT, cut=st.none() | st.booleans())
JSON = (
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
)
ANNOTATIONS = st.builds(
    AnnotationData,
    name=TEXT,
    annotation_type=st.sampled_from(["EVENT", "INTERVAL", "TIME_SERIES", None]),
    source_type=st.sampled_from(["NATIVE", "line", "table"]),
    columns=NAMES,
    records=st.lists(st.dictionaries(TEXT, JSON | st.lists(JSON, max_size=2), max_size=3), max_size=3).map(tuple),
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "cache_key": st.none() | TEXT,
    "cache_timeout": COUNT,
    "cached_dttm": st.none() | st.just("2026-01-01T00:00:00"),
    "is_cached": st.booleans(),
    "query": TEXT,
    "applied_filters": FILTERS,
    "rejected_filters": FILTERS,
    "coltypes": st.lists(st.integers(0, 3), max_size=3).map(tuple),
    "from_dttm": st.none() | st.integers(-(2**53), 2**53),
    "to_dttm": st.none() | st.integers(-(2**53), 2**53),
    "sql_rowcount": COUNT,
    "label_map": st.dictionaries(TEXT, NAMES, max_size=2),
    "indexnames": NAMES,
    "language": st.sampled_from(["sql", None]),
    "notes": NAMES,
    "limits": st.lists(LIMITS, max_size=2).map(tuple),
    "verbose_names": st.dictionaries(st.sampled_from(["i", "s", "n"]), TEXT, max_size=2),
    "result_type": st.sampled_from(ResultType),
}
KINDS = [
    kind
    for kind in dict.fromkeys(every_class())
    if kind.__module__.startswith("analytics_core.") and not issubclass(kind, AttributeError)
]
"""Attributes are asked for where a question is written: no query fails by them."""


@st.composite
def good_results(draw: st.DrawFn) -> QueryResult:
    frame = draw(FRAMES)
    entries = draw(st.none() | st.lists(ANNOTATIONS, max_size=2).map(tuple))
    return QueryResult(
        **{name: draw(values) for name, values in FIELDS.items()},
        colnames=frame.names,
        rowcount=len(frame),
        annotations=entries or (),
        annotation_data=None if entries is None else [item.to_payload() for item in entries],
        row_set=ResultRows(frame),
    )


@st.composite
def results(draw: st.DrawFn) -> QueryResult:
    match draw(st.sampled_from(["good", "good", "failed", "unknown", "listed", "table", "pivot"])):
        case "failed":
            error = an_error(draw(st.sampled_from(KINDS))).at(draw(TEXT))
            return failed_result(error, query=draw(TEXT), result_type=draw(FIELDS["result_type"]))
        case "unknown":
            return QueryResult(error=draw(TEXT), status=draw(st.sampled_from(QueryStatus)))
        case "listed":
            items = draw(st.lists(st.fixed_dictionaries({"name": TEXT, "dtype": JSON}), max_size=3))
            return listed_result(draw(st.sampled_from([ResultType.COLUMNS, ResultType.TIMEGRAINS])), items)
        case "table":
            result = replace(draw(good_results()), result_type=ResultType.POST_PROCESSED)
            return client_processed(result, form_data={"viz_type": "table"})
        case "pivot":
            rows = {"k": ["a", "b", None], "v": [Decimal("1.5"), 2**60, None]}
            form = {"viz_type": "pivot_table_v2", "groupbyRows": ["k"], "metrics": ["v"], "rowTotals": True}
            changes = {"result_type": ResultType.POST_PROCESSED, "verbose_names": {}}
            result = replace(draw(good_results()), **changes, row_set=ResultRows(frame_of(rows)))
            return client_processed(result, form_data={**form, "transposePivot": draw(st.booleans())})
    return draw(good_results())


ANSWERS = st.builds(
    ChartData,
    results=st.lists(results(), max_size=3).map(tuple),
    result_type=FIELDS["result_type"],
    result_format=st.sampled_from(ResultFormat),
)


def again(answer: ChartData) -> ChartData:
    found = decode_answer(encode_answer(answer, key="job 1", seal=SEAL), key="job 1", seal=SEAL)
    assert found is not None
    return found


@pytest.mark.slow
@given(ANSWERS)
def test_every_answer_comes_back_as_a_reader_sees_it(answer: ChartData) -> None:
    before = seen(answer)
    assert seen(again(answer)) == before
    assert again(again(answer)).to_json() == before["json"]


@pytest.mark.slow
@for_each("column", COLUMNS, ids=str)
@for_each("rows", [[0, 1, 2], [0], []], ids=str)
def test_every_column_comes_back_as_a_reader_sees_it(column: tuple[str, ValueKind], rows: list[int]) -> None:
    (name, kind), values = column, [COLUMNS[column][row] for row in rows]
    result_rows = ResultRows(frame_of({name: values}, **{name: kind}))
    answer = ChartData(results=(QueryResult(colnames=(name,), rowcount=len(rows), row_set=result_rows),))
    assert seen(again(answer)) == seen(answer)


@for_each("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error_of_a_query_comes_back(kind: type[AnalyticsError]) -> None:
    answer = ChartData(results=(failed_result(an_error(kind), query="SELECT 1"),))
    assert seen(again(answer)) == seen(answer)


def test_large_results_of_arrow_columns_come_back() -> None:
    table = {"n": pa.chunked_array([pa.array(range(2_000))]), "s": pa.chunked_array([pa.array(["x"] * 2_000)])}
    result_rows = ResultRows(frame_of(table, n=ValueKind.INTEGER, s=ValueKind.TEXT))
    answer = ChartData(results=(QueryResult(colnames=("n", "s"), rowcount=2_000, row_set=result_rows),) * 2)
    assert seen(again(answer)) == seen(answer)


FAILED = failed_result(UnknownColumnError("contry", dataset="orders", known=("country",)), query="SELECT 1")
MARKS = AnnotationData(name="m", annotation_type="EVENT", source_type="NATIVE", columns=("a",), records=({"a": 1},))
GOOD = QueryResult(annotations=(MARKS,), row_set=ResultRows(frame_of({"a": [1, 2]})))
ANSWER = ChartData(results=(GOOD, FAILED), result_type=ResultType.SAMPLES, result_format=ResultFormat.CSV)


def written() -> bytes:
    return encode_answer(ANSWER, key="job 1", seal=SEAL)


def test_an_answer_opens_under_its_own_key_and_secret_only() -> None:
    assert decode_answer(written(), key="job 1", seal=SEAL) is not None
    assert decode_answer(written(), key="job 2", seal=SEAL) is None
    assert decode_answer(written(), key="job 1", seal=EntrySeal(Secret("another-key-0123456789"))) is None


def test_an_answer_with_a_failed_query_or_of_two_is_no_entry_of_a_cache() -> None:
    for answer in (ANSWER, ChartData(results=(FAILED,)), ChartData(results=())):
        assert decode_entry(encode_answer(answer, key="k", seal=SEAL), key="k", seal=SEAL) is None
    assert decode_entry(encode_answer(ChartData(results=(GOOD,)), key="k", seal=SEAL), key="k", seal=SEAL) is not None


def test_an_answer_that_is_too_large_is_an_error() -> None:
    size = len(written())
    assert len(encode_answer(ANSWER, key="job 1", seal=SEAL, most_bytes=size)) == size
    for most_bytes in (size - 1, 100, 0):
        with pytest.raises(ResultTooLargeError, match=f"more than {most_bytes} bytes"):
            encode_answer(ANSWER, key="job 1", seal=SEAL, most_bytes=most_bytes)


@given(st.data())
def test_any_changed_byte_or_cut_is_no_answer(data: st.DataObject) -> None:
    encoded = bytearray(written())
    position = data.draw(st.integers(0, len(encoded) - 1))
    encoded[position] ^= data.draw(st.integers(1, 255))
    assert decode_answer(bytes(encoded), key="job 1", seal=SEAL) is None
    assert decode_answer(written()[:position], key="job 1", seal=SEAL) is None
    assert decode_answer(written() + bytes(position + 1), key="job 1", seal=SEAL) is None


@for_each("junk", [b"", MAGIC, MAGIC + bytes(28), MAGIC + bytes(100), b"{}", "text", None, 7, bytearray(9)])
def test_what_is_no_answer_is_none(junk: Any) -> None:
    assert decode_answer(junk, key="job 1", seal=SEAL) is None


def sealed(*content: bytes) -> bytes:
    """Return what somebody with the secret key made."""
    return b"".join((MAGIC, SEAL.made("job 1", content), *content))


@for_each("count", [0, 1, 2, 3, 4, 5, 2**32, 2**61, 2**64 - 1])
@for_each("rest", [b"", bytes(8), bytes(24), b"\xff" * 40])
def test_counts_and_lengths_that_lie_are_no_answer(count: int, rest: bytes) -> None:
    assert decode_answer(sealed(struct.pack(">Q", count), rest), key="job 1", seal=SEAL) is None


def test_a_failure_that_this_version_does_not_know_is_a_job_error_with_its_message() -> None:
    data = written()
    lengths = struct.unpack_from(">5Q", data, len(MAGIC) + 28 + 8)
    start = len(MAGIC) + 28 + 48
    facts = json.loads(data[start : start + lengths[0]])
    facts["results"][1]["failure"]["class"] = "FutureError"
    changed = json.dumps(facts).encode()
    head = struct.pack(">6Q", 5, len(changed), *lengths[1:])
    found = decode_answer(sealed(head, changed, data[start + lengths[0] :]), key="job 1", seal=SEAL)
    assert found is not None
    assert (type(found.results[1].failure).__name__, found.results[1].error) == ("JobError", FAILED.error)
    with pytest.raises(AnalyticsError, match="contry"):
        found.raise_for_error()


def test_writing_an_answer_spares_writing_its_json_again() -> None:
    result = QueryResult(row_set=ResultRows(frame_of({"a": [1]})))
    answer = ChartData(results=(result, failed_result(QueryError("no"))))
    before = answer.to_json()
    encode_answer(answer, key="job 1", seal=SEAL)
    (first,), (again,) = result.row_set.json_chunks(), result.row_set.json_chunks()
    assert first.obj is again.obj
    assert answer.to_json() == before

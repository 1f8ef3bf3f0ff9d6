"""The answer objects: the contract's fields first, ours behind them, errors typed."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pyarrow as pa
import pytest
from python_calamine import CalamineWorkbook
from tests.support.cases import for_each
from tests.support.frames import frame_of

from analytics_core._engine.engines.types import ValueKind as K
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.results.answer import ChartData, LimitEntry, QueryResult, failed_result, listed_result
from analytics_core._engine.results.rows import ResultRows
from analytics_core.errors import (
    FileWriteError,
    QueryError,
    StatementStoppedError,
    StatementTimeoutError,
    UnknownColumnError,
    UnknownNameError,
)
from analytics_core.models.enums import QueryStatus, ResultType

CONTRACT_KEYS = [
    *("cache_key", "cache_timeout", "cached_dttm", "is_cached", "query", "annotation_data", "applied_filters"),
    *("rejected_filters", "colnames", "coltypes", "data", "rowcount", "from_dttm", "to_dttm", "status", "error"),
    "stacktrace",
]
OUR_KEYS = ["sql_rowcount", "label_map", "indexnames", "notes", "limits"]


def result_of(columns: dict[str, Any], **known: Any) -> QueryResult:
    frame = frame_of(columns)
    return QueryResult(row_set=ResultRows(frame), colnames=frame.names, rowcount=len(frame), **known)


def answer_of(*results: QueryResult) -> ChartData:
    return ChartData(results=results)


def html_of(answer: ChartData) -> str:
    return str(answer._repr_mimebundle_()["text/html"])


def test_a_full_result_has_the_contracts_keys_and_then_ours() -> None:
    assert list(result_of({"a": [1]}).to_payload()) == CONTRACT_KEYS + OUR_KEYS


@pytest.mark.parametrize(
    ("result_type", "keys"),
    [
        (ResultType.QUERY, ["query", "language"]),
        (ResultType.RESULTS, ["colnames", "coltypes", "data", "rowcount", "sql_rowcount"]),
        (ResultType.COLUMNS, ["data"]),
        (ResultType.TIMEGRAINS, ["data"]),
    ],
)
def test_shorter_result_types_show_their_keys_and_the_ledger(result_type: ResultType, keys: list[str]) -> None:
    assert list(result_of({"a": [1]}, result_type=result_type).to_payload()) == [*keys, "notes", "limits"]


@for_each("rows", [0, 3, 5_000])
@for_each("result_type", list(ResultType))
def test_to_json_is_to_payload_as_json(result_type: ResultType, rows: int) -> None:
    result = result_of(
        {"n": list(range(rows)), "t": [datetime(2024, 1, 1)] * rows, "d": [Decimal("1.5")] * rows},
        result_type=result_type,
        applied_filters=({"column": "n"},),
        label_map={"n": ("n",)},
        limits=(LimitEntry(limit="row_limit", rows=3, set_by="payload: row_limit", cut=True),),
    )
    answer = answer_of(result, result)
    assert json.loads(answer.to_json()) == answer.to_payload()


def test_data_holds_json_values_and_the_frame_typed_ones() -> None:
    result = result_of({"t": [datetime(2024, 1, 1)], "n": [2**60]})
    assert result.data == [{"t": 1_704_067_200_000, "n": "1152921504606846976"}]
    assert next(result.frame.rows()) == (datetime(2024, 1, 1), 2**60)


def test_data_is_made_once_and_only_when_asked_for() -> None:
    loads = []
    rows = ResultRows(lambda: loads.append(1) or frame_of({"a": [1]}))
    result = QueryResult(row_set=rows)
    assert loads == []
    assert result.data is result.data
    assert loads == [1]


def test_the_answer_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        result_of({"a": [1]}).query = "x"  # type: ignore[misc]


def test_pandas_gives_typed_columns() -> None:
    frame = frame_of(
        {"n": [1, None], "t": [datetime(2024, 1, 1), None], "s": ["x", None]},
        n=K.INTEGER,
        t=K.TIMESTAMP,
        s=K.TEXT,
    )
    table = QueryResult(row_set=ResultRows(frame)).pandas()
    assert [str(dtype) for dtype in table.dtypes] == ["Int64", "datetime64[us]", "str"]


def test_pandas_keeps_whole_numbers_that_pass_64_bits() -> None:
    frame = frame_of({"n": [2**70]}, n=K.INTEGER)
    assert QueryResult(row_set=ResultRows(frame)).pandas()["n"][0] == 2**70


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (QueryError("no"), QueryStatus.FAILED),
        (StatementTimeoutError("late"), QueryStatus.TIMED_OUT),
        (StatementStoppedError("stopped"), QueryStatus.STOPPED),
    ],
)
def test_a_failed_result_tells_its_status_and_message(error: Any, status: QueryStatus) -> None:
    payload = failed_result(error, query="SELECT 1").to_payload()
    assert (payload["status"], payload["error"], payload["stacktrace"]) == (status.value, error.message, None)
    assert (payload["query"], payload["data"]) == ("SELECT 1", [])


MONEY = frame_of(
    {"m": [Decimal("1.10"), None, Decimal("12345678901234567.123456789")], "n": [1, None, 3], "s": ["x", None, "y"]},
    m=K.DECIMAL,
    n=K.INTEGER,
    s=K.TEXT,
)


def test_pandas_has_decimals_as_floats_unless_exact_ones_are_asked_for() -> None:
    result = QueryResult(row_set=ResultRows(MONEY))
    floats, exact = result.pandas(), result.pandas(decimals="exact")
    assert [str(dtype) for dtype in floats.dtypes] == ["float64", "Int64", "str"]
    assert floats["m"].tolist()[::2] == [1.1, 12345678901234567.123456789]
    assert floats["m"].isna().tolist() == [False, True, False]
    assert exact["m"].tolist() == MONEY.columns[0].values
    with pytest.raises(UnknownNameError, match="'exact'"):
        result.pandas(decimals="exakt")  # type: ignore[arg-type]


def test_decimals_of_arrow_columns_are_the_nearest_floats() -> None:
    values = [Decimal(text) for text in ("0.1", "123456789.123456789", "-99999999999999.99", "0.000000003")]
    frame = Frame(columns=(FrameColumn(name="m", kind=K.DECIMAL, values=pa.chunked_array([pa.array(values)])),))
    assert QueryResult(row_set=ResultRows(frame)).pandas()["m"].tolist() == [float(value) for value in values]


def test_rows_are_tuples_of_exact_values() -> None:
    assert QueryResult(row_set=ResultRows(MONEY)).rows() == [
        (Decimal("1.10"), 1, "x"),
        (None, None, None),
        (Decimal("12345678901234567.123456789"), 3, "y"),
    ]


EVERY_KIND: dict[K, list[Any]] = {
    K.INTEGER: [1, None],
    K.FLOAT: [0.5, None],
    K.DECIMAL: [Decimal("1.5"), None],
    K.TEXT: ["é", None],
    K.BOOLEAN: [True, None],
    K.DATE: [date(2024, 2, 29), None],
    K.TIMESTAMP: [datetime(2024, 1, 1, 1, 2, 3, 4), None],
    K.TIMESTAMPTZ: [datetime(2024, 1, 1, tzinfo=UTC), None],
    K.TIME: [time(1, 2, 3), None],
    K.BYTES: [b"\x00", None],
    K.NUMBERS: [[1, 2.5], None],
}


@for_each("kind", EVERY_KIND)
def test_an_arrow_table_has_the_values_of_the_frame_and_its_type_also_without_any(kind: K) -> None:
    values = EVERY_KIND[kind]
    table = QueryResult(row_set=ResultRows(frame_of({"a": values}, a=kind))).arrow()
    assert table.column("a").to_pylist() == values
    empty = QueryResult(row_set=ResultRows(frame_of({"a": [None]}, a=kind))).arrow().schema.field("a").type
    assert type(empty) is type(table.schema.field("a").type)


@for_each(
    ("values", "expected"),
    [
        ([2**70, None, -1], [Decimal(2**70), None, Decimal(-1)]),
        ([2**200, 1], [Decimal(2**200), Decimal(1)]),
        ([1, Decimal("2.5")], [Decimal("1.0"), Decimal("2.5")]),
        ([1, 2.5, None], [1.0, 2.5, None]),
        ([2**60, 2.5], [str(2**60), "2.5"]),
        ([1, "x", None], ["1", "x", None]),
        ([{"a": 1}, None], ['{"a":1}', None]),
        ([None, None], [None, None]),
    ],
)
def test_numbers_that_pass_64_bits_and_values_of_several_kinds_are_exact_in_arrow(values: Any, expected: Any) -> None:
    table = QueryResult(row_set=ResultRows(frame_of({"a": values}))).arrow()
    assert table.column("a").to_pylist() == expected


def test_libraries_read_a_result_as_an_arrow_stream() -> None:
    result = QueryResult(row_set=ResultRows(MONEY))
    assert pa.table(result).equals(result.arrow())
    assert pl.DataFrame(result).equals(result.polars())
    assert result.polars()["m"].to_list() == MONEY.columns[0].values


def test_files_are_written_where_a_path_is_given(tmp_path: Path) -> None:
    answer = answer_of(QueryResult(row_set=ResultRows(MONEY)), result_of({"a": [7]}))
    assert answer.to_csv(tmp_path / "first.csv") is None
    answer.to_csv(str(tmp_path / "second.csv"), query=1)
    answer.to_xlsx(tmp_path / "both.xlsx")
    for write in (answer.to_csv, answer.to_xlsx):
        with pytest.raises(FileWriteError, match="no folder"):
            write(tmp_path / "missing" / "a.file")
    assert (tmp_path / "first.csv").read_bytes() == answer.to_csv()
    assert (tmp_path / "second.csv").read_bytes() == answer.to_csv(query=1)
    assert CalamineWorkbook.from_path(tmp_path / "both.xlsx").sheet_names == ["Sheet1", "Sheet2"]


def large_answer(rows: int = 120_000) -> ChartData:
    columns = {"n": (K.INTEGER, pa.array(range(rows))), "t": (K.TEXT, pa.array([f'"{n}' for n in range(rows)]))}
    frame = Frame(
        columns=tuple(
            FrameColumn(name=name, kind=kind, values=pa.chunked_array([values]))
            for name, (kind, values) in columns.items()
        )
    )
    return answer_of(QueryResult(row_set=ResultRows(frame)), failed_result(QueryError("no")), result_of({"a": [7]}))


def test_an_answer_is_written_part_by_part_as_it_is_at_once(tmp_path: Path) -> None:
    answer, opened = large_answer(), [BytesIO(), BytesIO()]
    answer.write_json(tmp_path / "answer.json")
    answer.write_csv(str(tmp_path / "answer.csv"))
    answer.write_json(opened[0])
    answer.write_csv(opened[1], query=2)
    assert (tmp_path / "answer.json").read_bytes() == opened[0].getvalue() == answer.to_json()
    assert (tmp_path / "answer.csv").read_bytes() == answer.to_csv()
    assert opened[1].getvalue() == answer.to_csv(query=2)
    assert [type(part) for part in (*answer.iter_json(), *answer.iter_csv())].count(bytes) > 10


def test_a_kept_answer_comes_in_parts_too() -> None:
    answer = large_answer()
    answer[0].row_set.remember_json(memoryview(orjson.dumps(answer[0].data)))
    parts = list(answer.iter_json())
    assert b"".join(parts) == answer.to_json()
    assert max(map(len, parts)) <= 4 * 1024 * 1024


def test_what_cannot_be_written_is_told_before_anything_is(tmp_path: Path) -> None:
    answer = large_answer(10)
    for write in (answer.write_json, answer.write_csv):
        with pytest.raises(FileWriteError, match="no folder"):
            write(tmp_path / "missing" / "a.file")
        with pytest.raises(FileWriteError, match="not 7"):
            write(7)
    for road in (answer.iter_csv, partial(answer.write_csv, tmp_path / "b.csv")):
        with pytest.raises(QueryError, match=r"^no$"):
            road(query=1)
        with pytest.raises(QueryError, match="there is no query 3"):
            road(query=3)
    assert list(tmp_path.iterdir()) == []


READINGS: list[Callable[[QueryResult], Any]] = [
    lambda result: result.data,
    lambda result: result.frame,
    lambda result: result.pandas(),
    lambda result: result.arrow(),
    lambda result: result.rows(),
    lambda result: result.polars(),
    pa.table,
]


@for_each("read", READINGS)
def test_a_failed_result_is_no_empty_table(read: Callable[[QueryResult], Any]) -> None:
    error = UnknownColumnError("contry", dataset="orders", known=("country",))
    with pytest.raises(UnknownColumnError) as raised:
        read(failed_result(error))
    assert raised.value is error


@for_each("read", READINGS)
def test_a_result_of_a_statement_alone_is_no_empty_table(read: Callable[[QueryResult], Any]) -> None:
    with pytest.raises(QueryError, match="asked for its statement only"):
        read(QueryResult(result_type=ResultType.QUERY, query="SELECT 1"))


def test_a_failed_query_of_a_short_type_tells_its_error() -> None:
    payload = failed_result(QueryError("no"), result_type=ResultType.QUERY).to_payload()
    assert payload["error"] == "no"


def test_raise_for_error_raises_the_original_error_of_the_first_query_that_failed() -> None:
    error = UnknownColumnError("contry", dataset="orders", known=("country",))
    answer = answer_of(result_of({"a": [1]}), failed_result(error))
    with pytest.raises(UnknownColumnError) as raised:
        answer.raise_for_error()
    assert raised.value is error


def test_raise_for_error_gives_the_answer_back_when_all_is_well() -> None:
    answer = answer_of(result_of({"a": [1]}))
    assert answer.raise_for_error() is answer


def test_csv_uses_verbose_names_and_the_query_that_was_asked_for() -> None:
    answer = answer_of(result_of({"a": [1]}), result_of({"b": [2]}, verbose_names={"b": "Bees"}))
    assert answer.to_csv(query=1).decode("utf-8-sig") == "Bees\n2\n"


def test_an_answer_is_shown_in_a_line_and_says_where_its_rows_are() -> None:
    answer = answer_of(result_of({"a": [1, 2], "b": [3, 4]}))
    assert repr(answer) == "<ChartData: <QueryResult, success: 2 rows of a, b>>"
    with pytest.raises(AttributeError, match=r"each of its results has: results\[0\]\.pandas"):
        answer.pandas()  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"answer\.to_csv\(\)"):
        answer.results[0].to_csv()  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="has no attribute 'pands'"):
        answer.pands  # type: ignore[attr-defined]  # noqa: B018 - the reading is the test
    assert pickle.loads(pickle.dumps(answer)).results == answer.results


@pytest.mark.parametrize("query", [-1, 1, None, "0"])
def test_csv_of_a_query_that_is_not_there_is_a_typed_error(query: Any) -> None:
    with pytest.raises(QueryError, match="counted from 0"):
        answer_of(result_of({"a": [1]})).to_csv(query=query)


def test_csv_and_xlsx_of_a_failed_query_raise_its_error() -> None:
    answer = answer_of(failed_result(QueryError("no rows today")))
    for write in (answer.to_csv, answer.to_xlsx):
        with pytest.raises(QueryError, match="no rows today"):
            write()


def test_csv_of_a_statement_says_what_to_ask_for() -> None:
    with pytest.raises(QueryError, match="'full'"):
        answer_of(QueryResult(query="SELECT 1", result_type=ResultType.QUERY)).to_csv()


def test_lists_of_facts_are_data_and_a_table() -> None:
    items = [{"name": "Day", "duration": "P1D"}, {"name": "Week", "duration": "P1W"}]
    answer = answer_of(listed_result(ResultType.TIMEGRAINS, items))
    assert answer.results[0].data == items
    assert answer.to_csv().decode("utf-8-sig") == "name,duration\nDay,P1D\nWeek,P1W\n"
    assert json.loads(answer.to_json())["result"][0]["data"] == items


def test_the_notebook_table_is_escaped_and_says_what_cut_it() -> None:
    cut = LimitEntry(limit="row_limit", rows=30, set_by="payload: row_limit", cut=True)
    page = html_of(answer_of(result_of({"<b>": ["<script>"] * 30}, limits=(cut,))))
    assert "<script>" not in page
    assert "<b>" not in page
    assert "first 20 of 30 rows; cut at 30 rows by row_limit (payload: row_limit)" in page


def test_the_notebook_table_of_a_failed_query_is_its_message() -> None:
    page = html_of(answer_of(failed_result(QueryError("no <column>"))))
    assert page.endswith(">failed</b>: no &lt;column&gt;</p>")


def test_arrow_and_list_columns_give_the_same_answer() -> None:
    values = {"s": ["x", None], "n": [1, 2], "t": [datetime(2024, 1, 1), None]}
    arrow = {name: pa.chunked_array([column]) for name, column in values.items()}
    assert answer_of(result_of(arrow)).to_payload() == answer_of(result_of(values)).to_payload()


def test_the_notebook_table_tells_what_was_not_read() -> None:
    page = html_of(answer_of(result_of({"a": [1]}, notes=("kept but not read: limit, <order_by>",))))
    assert "<li>kept but not read: limit, &lt;order_by&gt;</li>" in page
    assert "<ul>" not in html_of(answer_of(result_of({"a": [1]})))

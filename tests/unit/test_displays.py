"""What notebooks show: values for people, nothing that acts, bounded, and never an exception."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each
from tests.support.frames import frame_of
from tests.support.html_texts import texts_of

from analytics_core import TimeRange
from analytics_core._content.pictures.data import picture_data
from analytics_core._content.pictures.picture import Picture
from analytics_core._engine.querying.explain import ExplainedQuery, Explanation
from analytics_core._engine.results.answer import ChartData, LimitEntry, QueryResult, failed_result
from analytics_core._engine.results.column_formats import ChartFormats
from analytics_core._engine.results.dashboard_answer import DashboardChart, DashboardData
from analytics_core._engine.results.plain_table import results_text
from analytics_core._engine.results.readable import written_columns
from analytics_core._engine.results.rows import ResultRows
from analytics_core._tools.display.blocks import (
    CodeBlock,
    ErrorBlock,
    FactsBlock,
    FoldBlock,
    HeadingBlock,
    ImageBlock,
    ListBlock,
    TableBlock,
)
from analytics_core._tools.display.bundles import blocks_html, mime_bundle
from analytics_core._tools.display.text import blocks_text, distinct_texts, visible
from analytics_core._tools.display.values import are_numbers, column_texts, value_text
from analytics_core.errors import (
    NotFoundError,
    PayloadSchemaError,
    PictureError,
    Problem,
    QueryError,
    UnknownNameError,
)
from analytics_core.models import DatabaseConnection, DatasetGet
from analytics_core.models.enums import PictureFormat

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e</table>\x00\x1b[31m"


def result_of(columns: dict[str, Any], **known: Any) -> QueryResult:
    frame = frame_of(columns)
    return QueryResult(row_set=ResultRows(frame), colnames=frame.names, rowcount=len(frame), **known)


def displayed(seen: Any) -> tuple[str, str]:
    bundle = seen._repr_mimebundle_()
    return bundle["text/html"], bundle["text/plain"]


# ------------------------------------------------------------------------------------------------------------ values
@for_each(
    ("values", "texts"),
    [
        ([627996.5599999999988, 1.0, None], ["627,996.56", "1.00", None]),
        ([0.00012, 0.5], ["0.00012", "0.50000"]),
        ([1e-9, 5.0], ["1e-09", "5"]),
        ([3.0, 4.0], ["3", "4"]),
        ([1, 9_999, 10_000, -1_234_567], ["1", "9999", "10,000", "-1,234,567"]),
        ([Decimal("1.10"), Decimal("20000.5")], ["1.1", "20,000.5"]),
        ([10**20, 3], ["100,000,000,000,000,000,000", "3"]),
        ([10**5000, 1], ["an integer of more than 40 digits", "1"]),
        ([float("nan"), 1.5, float("-inf")], ["nan", "1.5", "-inf"]),
        ([datetime(2024, 1, 1), None, datetime(2024, 2, 1)], ["2024-01-01", None, "2024-02-01"]),
        ([datetime(2024, 1, 1, 2), datetime(2024, 1, 1)], ["2024-01-01 02:00", "2024-01-01 00:00"]),
        ([datetime(2024, 1, 1, 2, 0, 3, tzinfo=UTC)], ["2024-01-01 02:00:03 UTC"]),
        ([date(2024, 1, 1)], ["2024-01-01"]),
        ([True, None, False], ["true", None, "false"]),
        (["null", ""], ["null", ""]),
        ([b"ab"], ["2 bytes: 0x6162"]),
        ([{"a": [1, None]}, [1.5]], ["{a: [1, null]}", "[1.5]"]),
    ],
)
def test_a_column_is_written_for_people(values: list[Any], texts: list[str | None]) -> None:
    assert column_texts(values) == texts


def test_numbers_of_things_are_not_grouped() -> None:
    assert column_texts([123456], name="customer_id") == ["123456"]
    assert column_texts([20251], name="Year") == ["20251"]
    assert column_texts([123456], name="paid") == ["123,456"]


def test_large_numbers_of_things_beside_fractions_are_not_grouped() -> None:
    assert column_texts([2**60, 0.5], name="id") == ["1152921504606846976", "0.5"]
    assert column_texts([2**60, 0.5], name="paid") == ["1,152,921,504,606,846,976", "0.5"]


def test_a_deep_or_long_value_is_cut() -> None:
    deep: list[Any] = []
    deep.append(deep)
    assert value_text(deep) == "[[[[…]]]]"
    assert value_text("x" * 200) == "x" * 119 + "…"
    assert value_text(list(range(1_000))).endswith("19, 980 more]")


@given(
    st.lists(
        st.one_of(
            st.none(), st.integers(), st.floats(), st.decimals(), st.booleans(), st.text(), st.binary(), st.datetimes()
        )
    )
)
def test_every_column_has_a_text_for_each_value(values: list[Any]) -> None:
    texts = column_texts(values)
    assert [text is None for text in texts] == [value is None for value in values]
    assert isinstance(are_numbers(values), bool)


# ------------------------------------------------------------------------------------------------------------ blocks
EVERY_BLOCK = [
    HeadingBlock(text=HOSTILE, detail=HOSTILE),
    FactsBlock(facts=((HOSTILE, HOSTILE), ("none", None))),
    TableBlock(heads=(HOSTILE, "n"), rows=((HOSTILE, None),), at_right=(False, True), below=HOSTILE),
    ListBlock(items=(HOSTILE,)),
    CodeBlock(text=HOSTILE),
    ErrorBlock(kind=HOSTILE, message=HOSTILE),
    ImageBlock(uri="data:image/png;base64,AA", description=HOSTILE + '" onload="x', width_px=3),
    FoldBlock(title=HOSTILE, blocks=(ListBlock(items=(HOSTILE,)),)),
]


def test_html_of_hostile_texts_is_only_what_sanitisers_let_pass() -> None:
    texts = texts_of(blocks_html(EVERY_BLOCK))
    assert sum("<script>alert(1)</script>" in text for text in texts) >= 12
    assert not any(sign in "".join(texts) for sign in "\x00\x1b\u202e")


def test_text_of_hostile_texts_has_nothing_that_a_terminal_obeys() -> None:
    text = blocks_text(EVERY_BLOCK)
    assert text.count("<script>alert(1)</script>") >= 10
    assert all(sign.isprintable() or sign == "\n" for sign in text)


def test_text_is_aligned_for_wide_letters_and_leaves_out_columns_that_do_not_fit() -> None:
    wide = TableBlock(heads=("a", "b"), rows=(("日本", "x"), ("abcd", "y")))
    assert blocks_text([wide]).splitlines()[2:] == ["日本  x", "abcd  y"]
    many = TableBlock(heads=tuple("abcdefgh"), rows=(("x" * 30,) * 8,))
    lines = blocks_text([many]).splitlines()
    assert max(map(len, lines)) <= 120
    assert lines[-1] == "5 more columns"


# ----------------------------------------------------------------------------------------------------------- results
def test_a_result_shows_rounded_numbers_at_the_right_dates_nulls_and_what_cut_it() -> None:
    cut = LimitEntry(limit="row_limit", rows=3, set_by="payload: row_limit", cut=True)
    table = {"day": [datetime(2024, 1, 1)] * 3, "revenue": [627996.5599999999988, None, 2.0]}
    page, text = displayed(
        result_of(table, limits=(cut,), notes=("a note",), query="SELECT 1", verbose_names={"day": "Day"})
    )
    assert '<td style="text-align:right">627,996.56</td>' in page
    assert texts_of(page)[:2] == ["Day", "revenue"]
    assert '<td style="text-align:left">2024-01-01</td>' in page
    assert ">&lt;NULL&gt;</span>" in page
    assert "<summary>SQL</summary>" in page
    assert text.splitlines()[2:] == [
        "2024-01-01  627,996.56",
        "2024-01-01      <NULL>",
        "2024-01-01        2.00",
        "3 rows; cut at 3 rows by row_limit (payload: row_limit)",
        "- a note",
        "▸ SQL",
    ]


def test_a_result_without_rows_and_one_of_its_statement_alone_say_so() -> None:
    assert displayed(result_of({"a": []}))[1].splitlines()[-1] == "0 rows"
    assert displayed(QueryResult(query="SELECT 1"))[1] == "SELECT 1"


def test_a_million_rows_are_shown_as_fast_as_a_few() -> None:
    large = result_of({"n": list(range(1_000_000)), "a": pa.chunked_array([pa.array(range(1_000_000))])})
    begun = time.perf_counter()
    page, text = displayed(ChartData(results=(large,)))
    assert time.perf_counter() - begun < 0.2
    assert "first 20 of 1,000,000 rows" in text
    assert len(page) < 10_000


def test_a_wide_result_shows_its_first_columns_and_counts_the_others() -> None:
    page, _ = displayed(result_of({f"c{number}": [number] for number in range(1_000)}))
    assert page.count("<th ") == 30
    assert "1 row; 970 more columns" in page


def test_fifty_results_of_a_notebook_stay_small() -> None:
    names = {"country": ["Germany"] * 30, "city": ["A city with a name"] * 30, "day": [datetime(2024, 5, 1)] * 30}
    table = {**names, "revenue": [1234567.891] * 30, "cost": [1.5] * 30}
    one = displayed(ChartData(results=(result_of(table, query="SELECT something FROM somewhere " * 30),)))
    assert 50 * sum(map(len, one)) < 500_000


def test_answers_and_results_have_a_length_positions_and_an_order() -> None:
    result = result_of({"a": [1, 2, 3], "b": pa.chunked_array([["x", "y", None]])})
    answer = ChartData(results=(result, failed_result(QueryError("no"))))
    assert len(answer) == 2
    assert answer[0] is result
    assert answer[-1].error == "no"
    assert list(answer) == [*answer[0:2]]
    assert len(result) == 3
    assert result[0] == (1, "x")
    assert result[-1] == (3, None)
    assert result[1:] == [(2, "y"), (3, None)]
    assert result[::-2] == [(3, None), (1, "x")]
    assert list(result) == result.rows()
    with pytest.raises(IndexError):
        result[3]
    with pytest.raises(QueryError, match="no"):
        answer[1][0]


# ------------------------------------------------------------------------------------------------------------ others
def test_an_object_that_fails_shows_its_error_and_an_unknown_one_only_its_name() -> None:
    class Failing:
        _repr_mimebundle_ = mime_bundle

        def __init__(self, error: Exception) -> None:
            self.error = error

        def _blocks(self) -> Any:
            raise self.error

    assert displayed(Failing(NotFoundError("dataset", 1)))[1] == "NotFoundError: there is no dataset 1"
    page, text = displayed(Failing(ValueError("postgresql://me:secret@host")))
    assert "secret" not in page + text
    assert text.startswith("ValueError: this object cannot be shown")


def test_who_interrupts_a_display_is_obeyed() -> None:
    class Slow:
        _repr_mimebundle_ = mime_bundle

        def _blocks(self) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        displayed(Slow())


def test_an_error_is_shown_with_all_its_problems() -> None:
    problems = [Problem(path=f"field{number}", message="is <b>wrong</b>") for number in range(30)]
    page, text = displayed(PayloadSchemaError(shape="ChartRestApi.post", problems=problems))
    assert "<b>wrong" not in page
    assert text.splitlines()[:2] == ["PayloadSchemaError: ChartRestApi.post is not valid", "- field0: is <b>wrong</b>"]
    assert "- and 10 more" in text


def test_a_traceback_for_notebooks_names_the_users_code_alone() -> None:
    def ask() -> None:
        TimeRange()
        raise NotFoundError("dataset", 9)

    with pytest.raises(NotFoundError) as caught:
        ask()
    lines = caught.value._render_traceback_()
    assert lines[-1] == "NotFoundError: there is no dataset 9"
    assert lines[-2].endswith('raise NotFoundError("dataset", 9)')
    assert lines[-2].startswith("test_displays.py, line ")


def test_a_dataset_shows_its_columns_and_metrics_and_no_rows() -> None:
    columns = [{"column_name": f"c{n}", "type": "INTEGER", "is_dttm": n == 0} for n in range(60)]
    dataset = DatasetGet.model_validate(
        {
            "id": 3,
            "table_name": "<orders>",
            "database": {"id": 1, "database_name": "shop", "backend": "sqlite"},
            "columns": columns,
            "metrics": [{"metric_name": "revenue", "expression": "SUM(amount)", "d3format": ",.2f"}],
        }
    )
    page, text = displayed(dataset)
    assert text.splitlines()[0] == "Dataset 3: <orders>  the table '<orders>', in shop (sqlite)"
    assert "10 more columns; 60 columns" in text
    assert "revenue      SUM(amount)  ,.2f" in text
    assert "&lt;orders&gt;" in page
    texts_of(page)


def test_a_password_of_a_connection_is_not_shown() -> None:
    connection = DatabaseConnection(
        database_name="shop", orm_uri="postgresql://me:XXXXXXXXXX@host/shop", extra='{"password": "hidden"}'
    )
    page, text = displayed(connection)
    assert "postgresql://me:XXXXXXXXXX@host/shop" in text
    assert "hidden" not in page + text


def test_an_answer_that_is_a_list_goes_over_its_items() -> None:
    from analytics_core.models.lists import DistinctItem, DistinctResponse

    empty, answer = DistinctResponse(), DistinctResponse(result=(DistinctItem(text="a"), DistinctItem(text="b")))
    assert [item.text for item in answer] == ["a", "b"]
    assert (len(answer), answer[1].text, bool(empty), len(empty)) == (2, "b", True, 0)
    assert answer == DistinctResponse(result=answer.result)
    assert answer.to_payload()["result"] == [{"text": "a"}, {"text": "b"}]


# ----------------------------------------------------------------------------------------------- texts of one line
TURNED = "\u202etxt.exe\u2066\x1b[31m\u200e\u200f\u061c"
ESCAPED = "\\u202etxt.exe\\u2066\\x1b[31m\\u200e\\u200f\\u061c"


def test_names_that_turn_the_direction_of_text_are_told_with_escapes() -> None:
    result = result_of({TURNED: [1]})
    failed = ExplainedQuery(failure=QueryError(f"no column {TURNED}"))
    chart = DashboardChart(chart_id=1, name="c", tabs=(), failure=QueryError(TURNED))
    texts = [
        repr(result),
        repr(chart),
        repr(ChartData(results=(result,))),
        str(QueryError(f"no column {TURNED}")),
        str(failed),
    ]
    texts.append(str(Explanation(queries=(ExplainedQuery(sql=f'SELECT "{TURNED}"\n\tFROM t'),))))
    assert [ESCAPED in text for text in texts] == [True] * 6
    assert [text for text in texts if not all(sign.isprintable() or sign in "\n\t" for sign in text)] == []
    assert texts[-1].endswith("\n\tFROM t")
    assert visible("مرحبا שלום é\n") == "مرحبا שלום é\n"


def test_ends_of_lines_of_two_characters_are_ends_of_lines() -> None:
    lines = "select 1\r\nfrom t"
    assert "select 1\nfrom t" in blocks_html((CodeBlock(text=lines),))
    assert blocks_text((CodeBlock(text=lines),)) == visible(lines) == "select 1\nfrom t"
    assert visible("a\rb") == r"a\x0db"
    assert "a�b" in blocks_html((CodeBlock(text="a\rb"),))


def test_texts_that_would_read_alike_are_numbered() -> None:
    assert distinct_texts(["a", "b", "a", "a (2)", "a"]) == ["a", "b", "a (2)", "a (2) (2)", "a (3)"]


def test_the_message_of_an_error_stays_as_it_is_for_programs() -> None:
    error = QueryError(f"no column {TURNED}")
    assert error.message == error.items()[0].message == f"no column {TURNED}"


def mail_text(result: QueryResult) -> str:
    written = written_columns(result, most_rows=5, formats=ChartFormats())
    return results_text([result], [written], most_rows=5)


def test_tables_of_mails_as_text_hold_nothing_that_turns_their_direction() -> None:
    text = mail_text(result_of({TURNED: [TURNED]}))
    assert all(sign.isprintable() or sign == "\n" for sign in text)
    assert text.count("txt.exe") == 2


def test_an_answer_of_a_dashboard_has_the_length_and_the_order_of_its_charts() -> None:
    charts = tuple(DashboardChart(chart_id=number, name=None, tabs=()) for number in (7, 3))
    assert (len(DashboardData(dashboard_id=1, charts=charts)), len(DashboardData(dashboard_id=1, charts=()))) == (2, 0)
    assert list(DashboardData(dashboard_id=1, charts=charts)) == list(charts)


def test_tables_of_mails_as_text_have_numbers_at_the_right_and_nothing_else() -> None:
    table = {"name": ["a", "bcd"], "count": [5, None], "known": [True, False], "none": [None, None]}
    text = mail_text(result_of({**table, "paid": [Decimal(7), Decimal(100)]}))
    assert text.splitlines()[:4] == [
        "name  count  known  none  paid",
        "----  -----  -----  ----  ----",
        "a         5  True            7",
        "bcd          False         100",
    ]


def test_several_results_are_headed_by_the_number_that_indexes_them_up_to_twenty() -> None:
    def text(count: int) -> str:
        return displayed(ChartData(results=tuple(result_of({"x": [f"row {number}"]}) for number in range(count))))[1]

    assert "results[" not in text(1)
    for count in (2, 20):
        assert [line for line in text(count).splitlines() if "results[" in line or "row " in line] == [
            line for number in range(count) for line in (f"results[{number}]", f"row {number}")
        ]
        assert "more results" not in text(count)
    assert "1 more results" in text(21)
    assert "results[20]" not in text(21)


def test_a_picture_tells_of_each_limit_that_cut_whether_it_counts_rows() -> None:
    limits = tuple(
        LimitEntry(limit=name, rows=rows, set_by="test", cut=cut)
        for name, rows, cut in (("a", 1, True), ("b", 2_000, True), ("c", None, True), ("d", 5, False), ("e", 5, None))
    )
    (data,) = picture_data(ChartData(results=(result_of({"x": [1]}, limits=limits),)))
    assert data.is_cut
    assert data.notes == (
        "The first 1 row; there are more (a).",
        "The first 2,000 rows; there are more (b).",
        "The answer was cut by c.",
    )


def test_a_picture_that_nobody_draws_anew_is_saved_in_its_own_format_alone(tmp_path: Path) -> None:
    one = Picture(data=b"own", format=PictureFormat.SVG, description="d", width_px=1, height_px=1)
    assert one.save(tmp_path / "a.svg").read_bytes() == b"own"
    with pytest.raises(PictureError, match=r"this picture is SVG alone; save it as \.svg"):
        one.save(tmp_path / "a.png")
    with pytest.raises(UnknownNameError, match=r"\.jpg"):
        one.save(tmp_path / "a.jpg")
    drawn = replace(one, redraw=lambda name: f"drawn as {name}".encode())
    assert drawn.save(tmp_path / "a.PNG").read_bytes() == b"drawn as png"
    assert drawn.save(tmp_path / "b.svg").read_bytes() == b"own"

"""post_processed: what the table and pivot charts show."""

from __future__ import annotations

import csv
import io
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from python_calamine import CalamineWorkbook
from tests.support.frames import frame_of

from analytics_core._results.answer import ChartData, QueryResult
from analytics_core._results.client_processing import client_processed
from analytics_core._results.rows import ResultRows
from analytics_core._results.spreadsheets import begins_like_formula
from analytics_core.errors import QueryError, ResultTooLargeError, UnknownNameError

SALES = frame_of(
    {
        "state": ["CA", "CA", "CA", "FL", "FL"],
        "gender": ["boy", "girl", "girl", "boy", None],
        "name": ["Al", "Bo", "Al", "Al", "Bo"],
        "num": [1, 2, 3, 4, 5],
        "max": [10.0, 20.0, 30.0, 40.0, 50.0],
    }
)


def processed(frame: Any = SALES, verbose_names: dict[str, str] | None = None, **form_data: Any) -> QueryResult:
    result = QueryResult(held=ResultRows(frame), colnames=frame.names, verbose_names=verbose_names or {})
    return client_processed(result, form_data=form_data)


def pivoted(**form_data: Any) -> Any:
    return processed(viz_type="pivot_table_v2", **{"metrics": ["num"], **form_data}).data


def test_a_table_is_a_map_of_columns_under_their_verbose_names() -> None:
    # the recorded answer of x_type_post_processed_table
    frame = frame_of({"country": ["USA", "Spain"], "count": [1004, 342]})
    result = processed(frame, {"count": "COUNT(*)"}, viz_type="table")
    assert result.data == {"country": {"0": "USA", "1": "Spain"}, "COUNT(*)": {"0": 1004, "1": 342}}
    assert (result.colnames, result.indexnames) == (("country", "COUNT(*)"), ("0", "1"))


@pytest.mark.parametrize("form_data", [{}, {"viz_type": "pie"}, {"viz_type": None}])
def test_other_charts_leave_the_rows_alone(form_data: dict[str, Any]) -> None:
    frame = frame_of({"a": [1]})
    assert processed(frame, **form_data).data == [{"a": 1}]


def test_an_empty_result_stays_empty() -> None:
    assert processed(frame_of({"num": []}), viz_type="pivot_table_v2", metrics=["num"]).data == []


def test_rows_are_labelled_by_value_in_order_with_null_last() -> None:
    frame = frame_of({"k": [10, None, 9], "num": [1, 2, 3]})
    assert processed(frame, viz_type="pivot_table_v2", groupbyRows=["k"], metrics=["num"]).data == {
        "num": {"9": 3, "10": 1, "NULL": 2}
    }


def test_columns_stand_below_their_metric() -> None:
    data = pivoted(groupbyRows=["state"], groupbyColumns=["name"], metrics=["num", "max"])
    assert list(data) == ["num Al", "num Bo", "max Al", "max Bo"]
    assert data["num Al"] == {"CA": 4, "FL": 4}


def test_combined_metrics_stand_below_the_columns() -> None:
    data = pivoted(groupbyRows=["state"], groupbyColumns=["name"], metrics=["num", "max"], combineMetric=True)
    assert list(data) == ["Al num", "Al max", "Bo num", "Bo max"]


def test_cells_without_a_row_are_null() -> None:
    data = pivoted(groupbyRows=["state"], groupbyColumns=["gender"])
    assert data == {"num boy": {"CA": 1, "FL": 4}, "num girl": {"CA": 5, "FL": None}, "num NULL": {"CA": None, "FL": 5}}


def test_totals_and_subtotals_have_their_names() -> None:
    data = pivoted(groupbyRows=["state", "gender"], metrics=["num", "max"], rowTotals=True, colTotals=True)
    assert data["Total (Sum)"] == {
        "CA boy": 11,
        "CA girl": 55,
        "CA Subtotal": 66,
        "FL boy": 44,
        "FL NULL": 55,
        "FL Subtotal": 99,
        "Total (Sum)": 165,
    }


def test_metrics_on_rows_are_listed_down_the_side() -> None:
    frame = frame_of({"gender": ["boy", "girl"], "num": [47123, 118065], "max": [1280, 2588]})
    form = {"groupbyRows": ["gender"], "metrics": ["num", "max"], "metricsLayout": "ROWS", "rowTotals": True}
    assert processed(frame, viz_type="pivot_table_v2", colTotals=True, **form).data == {
        "Total (Sum)": {
            "num boy": 47123,
            "num girl": 118065,
            "num Subtotal": 165188,
            "max boy": 1280,
            "max girl": 2588,
            "max Subtotal": 3868,
            "Total (Sum)": 169056,
        }
    }


def test_a_transposed_pivot_exchanges_rows_and_columns() -> None:
    assert pivoted(groupbyRows=["state"], transposePivot=True) == {
        "num CA": {"Total (Sum)": 6},
        "num FL": {"Total (Sum)": 9},
    }


def test_without_rows_and_columns_there_is_one_total() -> None:
    assert pivoted(metrics=["num", "max"]) == {"num": {"Total (Sum)": 15}, "max": {"Total (Sum)": 150}}


@pytest.mark.parametrize(
    ("aggregate", "value"),
    [
        ("Count", 3),
        ("Count Unique Values", 3),
        ("List Unique Values", "1, 2, 3"),
        ("Sum", 6),
        ("Average", 2),
        ("Median", 2),
        ("Sample Variance", 1),
        ("Sample Standard Deviation", 1),
        ("Minimum", 1),
        ("Maximum", 3),
        ("First", 1),
        ("Last", 3),
        ("Sum as Fraction of Total", 0.4),
        ("Count as Fraction of Total", 0.6),
        ("Sum as Fraction of Columns", 0.4),
        ("Sum as Fraction of Rows", 1),
    ],
)
def test_aggregates(aggregate: str, value: Any) -> None:
    assert pivoted(groupbyRows=["state"], aggregateFunction=aggregate)["num"]["CA"] == pytest.approx(value)


@pytest.mark.parametrize("aggregate", ["Sample Variance", "Sample Standard Deviation"])
def test_one_value_has_no_spread(aggregate: str) -> None:
    assert pivoted(groupbyRows=["state", "gender"], aggregateFunction=aggregate)["num"]["FL boy"] == 0


def test_fractions_of_rows_and_columns_follow_the_finished_table() -> None:
    form = {"groupbyRows": ["state"], "groupbyColumns": ["name"], "aggregateFunction": "Sum as Fraction of Rows"}
    for layout in ("COLUMNS", "ROWS"):
        data = pivoted(metricsLayout=layout, **form)
        rows = {label for line in data.values() for label in line}
        for label in rows:
            assert sum(line[label] for line in data.values()) == pytest.approx(1)


def test_decimals_add_up_with_floats() -> None:
    frame = frame_of({"a": [Decimal("1.5"), 2.0]})
    assert processed(frame, viz_type="pivot_table_v2", metrics=["a"]).data == {"a": {"Total (Sum)": 3.5}}


def test_moments_are_labels_in_iso_text() -> None:
    frame = frame_of({"t": [datetime(2024, 1, 1)], "a": [1]})
    data = processed(frame, viz_type="pivot_table_v2", groupbyRows=["t"], metrics=["a"]).data
    assert data == {"a": {"2024-01-01 00:00:00": 1}}


def test_ad_hoc_columns_and_metrics_are_found_by_their_label() -> None:
    frame = frame_of({"upper(x)": ["A"], "Sales": [1], "SUM(num)": [2]})
    data = processed(
        frame,
        viz_type="pivot_table_v2",
        groupbyRows=[{"sqlExpression": "upper(x)", "expressionType": "SQL"}],
        metrics=[
            {"label": "Sales"},
            {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": "num"}},
        ],
    ).data
    assert data == {"Sales": {"A": 1}, "SUM(num)": {"A": 2}}


def test_csv_of_a_pivot_has_the_row_labels_first() -> None:
    result = processed(viz_type="pivot_table_v2", groupbyRows=["state"], metrics=["num"])
    assert ChartData(results=(result,)).to_csv().decode("utf-8-sig") == ",num\nCA,6\nFL,9\n"


def test_an_unknown_column_names_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'state'"):
        pivoted(groupbyRows=["stat"])


def test_an_unknown_aggregate_names_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'Median'"):
        pivoted(aggregateFunction="Medians")


def test_text_that_should_add_up_is_a_typed_error() -> None:
    with pytest.raises(QueryError, match="needs numbers"):
        pivoted(metrics=["name"])


def test_an_aggregate_beyond_the_numbers_of_a_double_is_a_typed_error() -> None:
    with pytest.raises(QueryError, match="larger than a double"):
        processed(
            frame_of({"n": [1e300, -1e300]}),
            viz_type="pivot_table_v2",
            metrics=["n"],
            aggregateFunction="Sample Variance",
        )


def test_a_pivot_without_metrics_is_a_typed_error() -> None:
    with pytest.raises(QueryError, match="at least one metric"):
        pivoted(metrics=[])


def test_a_pivot_that_would_fill_the_memory_is_a_typed_error() -> None:
    frame = frame_of({"a": list(range(3_000)), "b": list(range(3_000)), "num": [1] * 3_000})
    with pytest.raises(ResultTooLargeError, match="cells"):
        processed(frame, viz_type="pivot_table_v2", groupbyRows=["a"], groupbyColumns=["b"], metrics=["num"])


@pytest.mark.parametrize("text", ["=1+1", "＋1", "\t@x", "-cmd"])
@pytest.mark.parametrize(
    "form_data",
    [
        {"viz_type": "table"},
        {"viz_type": "pivot_table_v2", "groupbyRows": ["state"], "groupbyColumns": ["gender"]},
        {"viz_type": "pivot_table_v2", "groupbyColumns": ["state"], "groupbyRows": ["gender"], "combineMetric": True},
        {"viz_type": "pivot_table_v2", "groupbyColumns": ["state"], "transposePivot": True},
    ],
)
def test_labels_of_a_processed_table_are_neutralised_in_files(text: str, form_data: dict[str, Any]) -> None:
    frame = frame_of({"state": [text, "a=1"], "gender": [text, "x"], text: [-1, 2]})
    answer = ChartData(results=(processed(frame, **{"metrics": [text], **form_data}),))
    fields = [
        field for row in csv.reader(io.StringIO(answer.to_csv().decode("utf-8-sig"), newline="")) for field in row
    ]
    book = CalamineWorkbook.from_filelike(io.BytesIO(answer.to_xlsx()))
    cells = [cell for row in book.get_sheet_by_index(0).to_python() for cell in row]
    for shown in (fields, [cell for cell in cells if isinstance(cell, str)]):
        assert [field for field in shown if begins_like_formula(field) and field != "-1"] == []
        assert any(field.startswith(("'" + text, "'" + text.strip())) for field in shown)
    assert -1 in cells
    assert "-1" in fields


def test_decimals_that_no_double_holds_add_up_to_the_last_digit() -> None:
    amounts = [Decimal("12345678901234567.89"), Decimal("0.10"), Decimal("-2.675")]
    frame = frame_of({"k": ["a", "b", "c"], "num": amounts})
    result = processed(frame, viz_type="pivot_table_v2", groupbyRows=["k"], metrics=["num"], colTotals=True)
    assert result.data["num"] == {"a": str(amounts[0]), "b": 0.1, "c": -2.675, "Total (Sum)": str(sum(amounts))}
    assert list(result.frame.columns[1].values) == [amounts[0], 0.1, -2.675, sum(amounts)]

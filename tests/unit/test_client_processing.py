"""post_processed: what the table and pivot charts show."""

from __future__ import annotations

import csv
import io
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from python_calamine import CalamineWorkbook
from tests.support.cases import for_each
from tests.support.frames import frame_of

from analytics_core._engine.results.answer import ChartData, QueryResult
from analytics_core._engine.results.client_processing import client_processed
from analytics_core._engine.results.rows import ResultRows
from analytics_core._engine.results.spreadsheets import begins_like_formula
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
    result = QueryResult(row_set=ResultRows(frame), colnames=frame.names, verbose_names=verbose_names or {})
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


@for_each(
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


def test_the_column_of_a_metric_may_be_named_as_forms_of_filters_name_it() -> None:
    metric = {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"columnName": "n"}}
    data = processed(frame_of({"SUM(n)": [2, 3]}), viz_type="pivot_table_v2", metrics=[metric]).data
    assert data == {"SUM(n)": {"Total (Sum)": 5}}


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


@pytest.mark.parametrize("aggregate", ["Sample Variance", "Sample Standard Deviation"])
def test_the_spread_of_texts_is_a_typed_error_without_them_and_that_of_infinities_is_null(aggregate: str) -> None:
    with pytest.raises(QueryError, match="needs numbers") as caught:
        processed(
            frame_of({"n": ["secret", "12"]}),
            None,
            viz_type="pivot_table_v2",
            metrics=["n"],
            aggregateFunction=aggregate,
        )
    assert "secret" not in str(caught.value)
    for first in (float("inf"), float("-inf")):
        data = processed(
            frame_of({"n": [first, 1.0]}), None, viz_type="pivot_table_v2", metrics=["n"], aggregateFunction=aggregate
        )
        assert data.data == {"n": {f"Total ({aggregate})": None}}


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


@pytest.mark.parametrize("totals", [{"rowTotals": True}, {"colTotals": True}])
def test_subtotals_and_totals_count_as_cells_before_anything_is_built(totals: dict[str, bool]) -> None:
    many = list(range(1_500))
    levels = {f"{side}{level}": many for side in "rc" for level in range(5)}
    form = {"groupbyRows": list(levels)[:5], "groupbyColumns": list(levels)[5:], "metrics": ["num"]}
    frame = frame_of({**levels, "num": [1] * 1_500})
    with pytest.raises(ResultTooLargeError, match="totals included"):
        processed(frame, viz_type="pivot_table_v2", **form, **totals)


def test_labels_of_many_levels_count_as_cells() -> None:
    levels = {f"r{level}": list(range(400)) for level in range(120)}
    frame = frame_of({**levels, "num": [1] * 400})
    with pytest.raises(ResultTooLargeError, match="with their labels"):
        processed(frame, viz_type="pivot_table_v2", groupbyRows=list(levels), metrics=["num"], colTotals=True)


@pytest.mark.parametrize("layout", ["ROWS", "COLUMNS"])
def test_a_table_that_is_too_large_tells_its_rows_and_columns(layout: str) -> None:
    frame = frame_of({"a": list(range(2_000)), "b": [*range(2_600)][:2_000], "num": [1] * 2_000})
    form = {"groupbyRows": ["a"], "groupbyColumns": ["b"], "metrics": ["num", "a", "b"], "metricsLayout": layout}
    message = "6000 rows and 2000 columns" if layout == "ROWS" else "2000 rows and 6000 columns"
    with pytest.raises(ResultTooLargeError, match=message):
        processed(frame, viz_type="pivot_table_v2", **form)


@pytest.mark.parametrize(
    "twice",
    [
        {"metrics": ["num", "num"]},
        {"metrics": ["num", {"label": "num"}, "Number"]},
        {"groupbyRows": ["state", "state", "State"]},
        {"groupbyRows": [], "groupbyColumns": ["state", "state"], "transposePivot": True},
    ],
)
def test_a_name_that_comes_twice_in_a_form_counts_once(twice: dict[str, Any]) -> None:
    form = {"groupbyRows": ["state"], "metrics": ["num"], "rowTotals": True, "colTotals": True, **twice}
    result = processed(SALES, {"num": "Number", "state": "State"}, viz_type="pivot_table_v2", **form)
    assert result.data == {
        "Number": {"CA": 6, "FL": 9, "Total (Sum)": 15},
        "Total (Sum)": {"CA": 6, "FL": 9, "Total (Sum)": 15},
    }


def test_columns_that_share_a_verbose_name_are_told_apart() -> None:
    names = {"num": "Size", "max": "Size"}
    form = {"groupbyRows": ["state"], "metrics": ["num", "max"], "rowTotals": True}
    grid = processed(SALES, names, viz_type="pivot_table_v2", **form)
    assert grid.data == {
        "Size": {"CA": 6, "FL": 9},
        "Size (2)": {"CA": 60, "FL": 90},
        "Total (Sum)": {"CA": 66, "FL": 99},
    }
    table = processed(SALES, names, viz_type="table")
    assert [table.data[name]["4"] for name in ("Size", "Size (2)")] == [5, 50]
    assert len(table.colnames) == len(table.data) == len(table.label_map) == 5


def test_a_column_both_down_and_across_labels_both() -> None:
    data = pivoted(groupbyRows=["state"], groupbyColumns=["state"], rowTotals=True)
    assert data == {
        "num CA": {"CA": 6, "FL": None},
        "num FL": {"CA": None, "FL": 9},
        "num Subtotal": {"CA": 6, "FL": 9},
        "Total (Sum)": {"CA": 6, "FL": 9},
    }


def test_a_column_is_both_a_label_and_a_metric() -> None:
    assert pivoted(groupbyRows=["num"], metrics=["num"]) == {"num": {str(n): n for n in range(1, 6)}}


@pytest.mark.slow
def test_many_labels_that_read_alike_are_numbered_in_one_pass() -> None:
    blanks = [" " * length for length in range(1, 10_001)]
    frame = frame_of({"a": blanks, "num": [1] * len(blanks)})
    labels = processed(frame, viz_type="pivot_table_v2", groupbyRows=["a"], metrics=["num"]).indexnames
    assert (labels[0], labels[1], labels[-1]) == ("", " (2)", " (10000)")
    assert len(set(labels)) == len(blanks)


def test_numbers_pass_over_labels_that_are_taken() -> None:
    frame = frame_of({"a": ["x (2)", "x", " x", "x "], "num": [1, 2, 3, 4]})
    data = processed(frame, viz_type="pivot_table_v2", groupbyRows=["a"], metrics=["num"]).data["num"]
    assert sorted(data.items()) == [("x", 3), ("x (2)", 2), ("x (2) (2)", 1), ("x (3)", 4)]


def test_equal_numbers_are_one_line_and_neighbours_beyond_doubles_are_two() -> None:
    big = 2**53
    labels = [1, 1.0, Decimal("1.00"), big, float(big), Decimal(big + 1), big + 1, Decimal("0.1"), 0.1]
    frame = frame_of({"a": labels, "num": [1] * len(labels)})
    data = processed(frame, viz_type="pivot_table_v2", groupbyRows=["a"], metrics=["num"]).data
    assert data == {"num": {"0.1": 2, "1": 3, str(big): 2, str(big + 1): 2}}


def test_decimals_that_doubles_do_not_tell_apart_are_two_lines() -> None:
    labels = [Decimal("0.12345678901234567891"), Decimal("0.12345678901234567892")]
    frame = frame_of({"a": labels, "num": [1, 2]})
    data = processed(frame, viz_type="pivot_table_v2", groupbyRows=["a"], metrics=["num"]).data
    assert data == {"num": {str(labels[0]): 1, str(labels[1]): 2}}


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([Decimal(2**53 + 1), Decimal(2**53 + 2)], str(2**54 + 3)),
        ([Decimal("12345678901234567.25"), 2.0], 12345678901234570.0),
        ([Decimal("NaN"), 2, float("nan"), None], 2),
        ([Decimal("1234567890123456789012345678.12"), Decimal("0.34")], "1234567890123456789012345678.46"),
    ],
)
def test_sums_of_large_decimals_are_numbers(values: list[Any], total: Any) -> None:
    assert processed(frame_of({"n": values}), viz_type="pivot_table_v2", metrics=["n"]).data["n"] == {
        "Total (Sum)": total
    }


def test_nan_is_null_as_a_label_and_as_a_value() -> None:
    nan = float("nan")
    frame = frame_of({"a": [nan, None, 1.5, nan], "num": [1, 2, nan, 4]})
    form = {"groupbyRows": ["a"], "metrics": ["num"], "colTotals": True}
    for aggregate, expected in (("Maximum", [None, 4, 4]), ("Count", [0, 3, 3]), ("Average", [None, 7 / 3, 7 / 3])):
        data = processed(frame, viz_type="pivot_table_v2", aggregateFunction=aggregate, **form).data["num"]
        assert list(data) == ["1.5", "NULL", f"Total ({aggregate})"]
        assert list(data.values()) == expected


def test_a_fraction_of_numbers_beyond_doubles_is_a_typed_error_or_right() -> None:
    form = {"viz_type": "pivot_table_v2", "groupbyRows": ["a"], "metrics": ["n"]}
    form["aggregateFunction"] = "Sum as Fraction of Total"
    huge = processed(frame_of({"a": ["x", "y"], "n": [10**400, 3 * 10**400]}), **form)
    assert huge.data == {"n": {"x": 0.25, "y": 0.75}}
    with pytest.raises(QueryError, match="larger than a double"):
        processed(frame_of({"a": ["x", "y"], "n": [10**400, 0.5]}), **form)


def test_label_maps_hold_plain_texts() -> None:
    result = processed(viz_type="pivot_table_v2", groupbyColumns=["state"], metrics=["num"])
    assert result.label_map == {"num CA": ("num", "CA"), "num FL": ("num", "FL")}
    assert {type(part) for parts in result.label_map.values() for part in parts} == {str}


@for_each("text", ["=1+1", "＋1", "\t@x", "-cmd"])
@for_each(
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
    for texts in (fields, [cell for cell in cells if isinstance(cell, str)]):
        assert [field for field in texts if begins_like_formula(field) and field != "-1"] == []
        assert any(field.startswith(("'" + text, "'" + text.strip())) for field in texts)
    assert -1 in cells
    assert "-1" in fields


def test_decimals_that_no_double_holds_add_up_to_the_last_digit() -> None:
    amounts = [Decimal("12345678901234567.89"), Decimal("0.10"), Decimal("-2.675")]
    frame = frame_of({"k": ["a", "b", "c"], "num": amounts})
    result = processed(frame, viz_type="pivot_table_v2", groupbyRows=["k"], metrics=["num"], colTotals=True)
    assert result.data["num"] == {"a": str(amounts[0]), "b": 0.1, "c": -2.675, "Total (Sum)": str(sum(amounts))}
    assert list(result.frame.columns[1].values) == [amounts[0], 0.1, -2.675, sum(amounts)]

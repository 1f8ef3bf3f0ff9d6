"""Pivot tables as pictures: the cells are those of `pivot`, in the orders and formats of the form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from tests.support.cases import for_each

from analytics_core._pictures.data import PictureData, Size
from analytics_core._pictures.specification import chart_specification
from analytics_core._tools.pivots import PivotLayout, pivot, pivot_aggregate

LANDS = ["B", "A", "B", "A", None, "B", "A", "A"]
SIZES = [10, 2, 2, 10, 10, 10, 100, 2]
YEARS = ["1", "2", "1", "1", "2", "2", "2", "2"]
SALES = [3, 4, 5, None, 7, 11, 13, 17]
COLUMNS: Mapping[str, Any] = {"land": LANDS, "size": SIZES, "year": YEARS, "n": SALES}
AGGREGATES = [
    *("Count", "Count Unique Values", "List Unique Values", "Sum", "Average", "Median", "Sample Variance"),
    *("Sample Standard Deviation", "Minimum", "Maximum", "First", "Last"),
    *(f"{base} as Fraction of {of}" for base in ("Sum", "Count") for of in ("Total", "Rows", "Columns")),
]


def draw(columns: Mapping[str, Any] = COLUMNS, **form: Any) -> dict[str, Any]:
    data = PictureData(columns=columns, labels={"n": "Sales"})
    fields = {"viz_type": "pivot_table_v2", "metrics": ["n"], "valueFormat": ".3f", **form}
    return chart_specification(fields, [data], size=Size(width_px=2_000, height_px=1_000))


def lines(specification: Mapping[str, Any]) -> list[list[str]]:
    """Return the texts of a picture line by line, from left to right."""
    found: defaultdict[float, list[tuple[float, str]]] = defaultdict(list)
    for layer in specification["layer"]:
        if layer["mark"]["type"] == "text":
            for row in layer["data"]["values"]:
                found[row["c1"]].append((row["c0"], row["c2"]))
    return [[text for _, text in sorted(texts)] for _, texts in sorted(found.items())]


def displayed(specification: Mapping[str, Any], headers: int) -> list[list[str]]:
    """Return the lines below the headers."""
    return lines(specification)[headers:]


def written(value: Any, form: str) -> list[str]:
    if value is None:
        return []
    return [value if isinstance(value, str) else format(value, form).replace("-", "\u2212")]


@for_each("aggregate", AGGREGATES)
@for_each("in_rows", [False, True])
def test_cells_and_totals_are_those_of_the_pivot(aggregate: str, in_rows: bool) -> None:
    layout = PivotLayout(
        rows=("land", "size"),
        columns=("year",),
        metrics=("n",),
        aggregate=pivot_aggregate(aggregate),
        row_totals=True,
        column_totals=True,
        metrics_on_rows=in_rows,
    )
    form = ".1%" if " as Fraction of " in aggregate else ".3f"
    cells = pivot(COLUMNS, layout, text=str).cells
    expected = [[text for value in line for text in written(value, form)] for line in cells]
    picture = draw(
        groupbyRows=["land", "size"],
        groupbyColumns=["year"],
        aggregateFunction=aggregate,
        rowTotals=True,
        colTotals=True,
        metricsLayout="ROWS" if in_rows else "COLUMNS",
    )
    drawn = displayed(picture, 1 if in_rows else 2)
    assert [line[len(line) - len(numbers) :] for line, numbers in zip(drawn, expected, strict=True)] == expected


@pytest.mark.parametrize("layout", ["ROWS", "COLUMNS"])
def test_totals_of_rows_stand_at_their_ends_and_those_of_columns_below(layout: str) -> None:
    columns = {"a": ["x", "y"], "b": ["p", "q"], "n": [1, 2]}
    form = {"groupbyRows": ["a"], "groupbyColumns": ["b"], "metricsLayout": layout}
    across, below = (lines(draw(columns, **form, **{name: True})) for name in ("rowTotals", "colTotals"))
    assert [line[-1] for line in across][-2:] == ["1.000", "2.000"]
    assert "Total (Sum)" in {text for line in across[:2] for text in line}
    assert below[-1] == ["Total (Sum)", "1.000", "2.000"]


def test_labels_that_are_numbers_sort_by_size_and_null_comes_last() -> None:
    columns = {"a": [10, None, 9, Decimal("100"), 2], "n": [1, 2, 3, 4, 5]}
    drawn = displayed(draw(columns, groupbyRows=["a"]), 1)
    assert [line[0] for line in drawn] == ["2", "9", "10", "100", "<NULL>"]
    headers = lines(draw(columns, groupbyColumns=["a"], rowOrder="key_z_to_a", colOrder="key_z_to_a"))[1]
    assert headers == ["100", "10", "9", "2", "<NULL>"]


def test_null_and_texts_that_read_alike_are_rows_of_their_own() -> None:
    columns = {"a": ["<NULL>", None, "x" * 200 + "1", "x" * 200 + "2"], "n": [1, 2, 4, 8]}
    drawn = displayed(draw(columns, groupbyRows=["a"]), 1)
    assert sorted(line[1] for line in drawn) == ["1.000", "2.000", "4.000", "8.000"]


def test_moments_sort_by_time_and_are_written_in_the_format_of_the_form() -> None:
    columns = {"day": [date(2024, 2, 1), date(2024, 1, 15), date(2023, 12, 31)], "n": [1, 2, 3]}
    drawn = displayed(draw(columns, groupbyRows=["day"], date_format="%d.%m.%Y"), 1)
    assert [line[0] for line in drawn] == ["31.12.2023", "15.01.2024", "01.02.2024"]


@pytest.mark.parametrize(
    ("order", "rows"),
    [
        ("value_a_to_z", ["<NULL>", "10", "Subtotal", "B", "2", "10", "Subtotal", "A", "100", "2", "Subtotal"]),
        ("value_z_to_a", ["A", "2", "100", "Subtotal", "B", "10", "2", "Subtotal", "<NULL>", "10", "Subtotal"]),
        ("key_z_to_a", ["B", "10", "2", "Subtotal", "A", "100", "2", "Subtotal", "<NULL>", "10", "Subtotal"]),
    ],
)
def test_rows_are_ordered_group_by_group_each_before_its_subtotal(order: str, rows: list[str]) -> None:
    columns = {name: [value for value, n in zip(values, SALES, strict=True) if n] for name, values in COLUMNS.items()}
    drawn = displayed(draw(columns, groupbyRows=["land", "size"], rowOrder=order, colTotals=True), 1)
    labels = [text for line in drawn for text in line[:-1]]
    assert labels == [*rows, "Total (Sum)"]


def test_columns_ordered_by_value_stay_below_their_metric() -> None:
    columns = {"a": ["x", "y"], "n": [1, 9], "m": [5, 4]}
    drawn = lines(draw(columns, groupbyColumns=["a"], metrics=["n", "m"], colOrder="value_z_to_a"))
    assert drawn == [["Sales", "m"], ["y", "x", "x", "y"], ["Total (Sum)", "9.000", "1.000", "5.000", "4.000"]]


@pytest.mark.parametrize(
    ("form", "note"),
    [
        ({"aggregateFunction": "Mode"}, "aggregateFunction: 'Mode' is not drawn; sums are"),
        ({"rowOrder": "sideways"}, "rowOrder: 'sideways' is no order; not applied"),
        ({"metrics": ["land"]}, "Not drawn as a pivot table: the pivot aggregate 'Sum' needs numbers"),
    ],
)
def test_what_a_pivot_table_cannot_do_stands_in_the_picture(form: dict[str, Any], note: str) -> None:
    assert note in draw(**{"groupbyRows": ["year"], **form})["description"]


def test_a_large_pivot_table_shows_its_first_lines_and_the_totals_of_all() -> None:
    many = [f"{number:04}" for number in range(3_000)]
    columns = {"a": many, "a2": ["x"] * 3_000, "b": many, "b2": ["x"] * 3_000, "n": [1] * 3_000}
    form = {"groupbyRows": ["a", "a2"], "groupbyColumns": ["b", "b2"], "rowTotals": True, "colTotals": True}
    picture = draw(columns, **form)
    assert "3,000 rows by 3,000 columns" in picture["description"]
    assert "of 6,004 columns." in picture["description"]
    few = lines(draw({**columns, "b": ["p", "q"] * 1_500}, **form))
    total = next(line for line in few if "Total (Sum)" in line[0] and len(line) > 1)
    assert total == ["Total (Sum)", "1500.000", "1500.000", "1500.000", "1500.000", "3000.000", "3000.000"]


def test_a_picture_of_a_pivot_table_computes_only_what_it_shows() -> None:
    many = list(range(1_000))
    levels = {f"{side}{level}": many for side in "ab" for level in range(10)}
    layout = PivotLayout(
        rows=tuple(levels)[:10],
        columns=tuple(levels)[10:],
        metrics=("n",),
        aggregate=pivot_aggregate("Sum"),
        row_totals=True,
        column_totals=True,
    )
    grid = pivot({**levels, "n": [1] * 1_000}, layout, text=str, limits=(200, 40))
    assert (len(grid.cells), len(grid.cells[0])) == (201, 41)
    assert (grid.row_count, grid.column_count) == (10_001, 10_002)


def test_a_column_both_down_and_across_labels_both() -> None:
    columns = {"a": ["x", "y", "y"], "n": [1, 2, 4]}
    drawn = lines(draw(columns, groupbyRows=["a"], groupbyColumns=["a"]))
    assert drawn[1:] == [["a", "x", "y"], ["x", "1.000"], ["y", "6.000"]]


def test_names_that_come_twice_in_the_form_count_once() -> None:
    form = {"groupbyRows": ["land", "land"], "metrics": ["n", "n"], "rowTotals": True}
    assert lines(draw(**form)) == lines(draw(groupbyRows=["land"], rowTotals=True))


def test_numbers_of_groups_and_of_what_the_form_leaves_out_are_no_metrics() -> None:
    drawn = lines(draw({"a": ["x", "y"], "size": [7, 8], "n": [1, 2]}, groupbyRows=["a"]))
    assert [line for line in drawn if "7.000" in line or "size" in line] == []
    assert ["x", "1.000"] in drawn
    sized = {"size": [7, 8], "n": [1, 2]}
    assert lines(draw(sized, groupbyRows=["size"], metrics=[])) == lines(draw(sized, groupbyRows=["size"]))

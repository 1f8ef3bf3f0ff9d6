"""The cells and totals of a pivot table against plain Python and exact fractions, for every aggregate."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from tests.support.cases import for_each
from tests.support.frames import frame_of

from analytics_core._engine.results.answer import QueryResult
from analytics_core._engine.results.client_processing import client_processed
from analytics_core._engine.results.rows import ResultRows

Row = tuple[str, str, str, int | None]

AGGREGATES: Mapping[str, Callable[[list[int]], Any]] = {
    "Count": len,
    "Count Unique Values": lambda row_set: len(set(row_set)),
    "List Unique Values": lambda row_set: ", ".join(map(str, dict.fromkeys(row_set))) if row_set else None,
    "Sum": lambda row_set: sum(row_set) if row_set else None,
    "Average": lambda row_set: Fraction(sum(row_set), len(row_set)) if row_set else None,
    "Median": lambda row_set: statistics.median(map(Fraction, row_set)) if row_set else None,
    "Sample Variance": lambda row_set: spread(row_set) if row_set else None,
    "Sample Standard Deviation": lambda row_set: math.sqrt(spread(row_set)) if row_set else None,
    "Minimum": lambda row_set: min(row_set) if row_set else None,
    "Maximum": lambda row_set: max(row_set) if row_set else None,
    "First": lambda row_set: row_set[0] if row_set else None,
    "Last": lambda row_set: row_set[-1] if row_set else None,
}
FRACTIONS = [f"{base} as Fraction of {of}" for base in ("Sum", "Count") for of in ("Total", "Rows", "Columns")]
TOTAL = ("", "", "")


def spread(numbers: list[int]) -> Fraction:
    return statistics.variance(map(Fraction, numbers)) if len(numbers) > 1 else Fraction(0)


def table() -> list[Row]:
    """Rows in the order of the finished table, one group without a value and one cell without a row."""
    source = random.Random(5)
    rows: list[Row] = [
        (land, town, year, source.randrange(1, 40))
        for land, town in (("A", "p"), ("A", "q"), ("B", "p"), ("C", "r"))
        for year in ("1", "2")
        for _ in range(3)
        if (land, year) != ("C", "2")
    ]
    return [(land, town, year, None if (land, town) == ("A", "q") else value) for land, town, year, value in rows]


ROWS = table()


def displayed(aggregate: str, **form: Any) -> dict[str, dict[str, Any]]:
    land, town, year, value = (list(column) for column in zip(*ROWS, strict=True))
    frame = frame_of({"land": land, "town": town, "year": year, "n": value})
    result = QueryResult(row_set=ResultRows(frame), colnames=frame.names)
    fields = {"viz_type": "pivot_table_v2", "groupbyRows": ["land", "town"], "groupbyColumns": ["year"]}
    fields |= {"metrics": ["n"], "aggregateFunction": aggregate, "rowTotals": True, "colTotals": True}
    data: dict[str, dict[str, Any]] = client_processed(result, form_data={**fields, **form}).data
    return data


def of(chosen: Iterable[Row], aggregate: Callable[[list[int]], Any]) -> Any:
    """Return the aggregate of the chosen rows; None where there is none."""
    rows = list(chosen)
    return aggregate([value for *_, value in rows if value is not None]) if rows else None


def lines(label: str) -> list[tuple[str, Callable[[Row], bool]]]:
    """The labels down the side and which rows each covers: towns, subtotals of lands, the total."""
    towns = [(f"{land} {town}", _town(land, town)) for land, town in (("A", "p"), ("A", "q"), ("B", "p"), ("C", "r"))]
    lands = [(f"{land} Subtotal", _land(land)) for land in "ABC"]
    return [*towns, *lands, (label, lambda _row: True)]


def _town(land: str, town: str) -> Callable[[Row], bool]:
    return lambda row: row[:2] == (land, town)


def _land(land: str) -> Callable[[Row], bool]:
    return lambda row: row[0] == land


def columns(label: str) -> list[tuple[str, Callable[[Row], bool]]]:
    years = [(f"n {year}", _year(year)) for year in ("1", "2")]
    return [*years, ("n Subtotal", lambda _row: True), (label, lambda _row: True)]


def _year(year: str) -> Callable[[Row], bool]:
    return lambda row: row[2] == year


def same(ours: Any, exact: Any) -> bool:
    if exact is None or isinstance(exact, str):
        return bool(ours == exact)
    return ours is not None and math.isclose(ours, exact, rel_tol=1e-12)


@for_each("layout", ["COLUMNS", "ROWS"])
@for_each("aggregate", AGGREGATES)
def test_cells_and_totals_are_aggregates_of_all_their_values(aggregate: str, layout: str) -> None:
    label = f"Total ({aggregate})"
    form = {"groupbyRows": ["year"], "groupbyColumns": ["land", "town"]} if layout == "ROWS" else {}
    data = displayed(aggregate, metricsLayout=layout, **form)
    for down, in_row in lines(label):
        for across, in_column in columns(label):
            exact = of((row for row in ROWS if in_row(row) and in_column(row)), AGGREGATES[aggregate])
            ours = data[down][across] if layout == "ROWS" else data[across][down]
            assert same(ours, exact), (down, across, ours, exact)


@for_each("aggregate", FRACTIONS)
def test_fractions_are_of_the_whole_row_column_or_table_and_so_are_those_of_totals(aggregate: str) -> None:
    base, _, total_key = aggregate.partition(" as Fraction of ")
    label = f"Total ({aggregate})"
    data = displayed(aggregate)
    for down, in_row in lines(label):
        for across, in_column in columns(label):
            part = of((row for row in ROWS if in_row(row) and in_column(row)), AGGREGATES[base])
            wholes = {
                "Total": ROWS,
                "Rows": [row for row in ROWS if in_row(row)],
                "Columns": [row for row in ROWS if in_column(row)],
            }
            total = of(wholes[total_key], AGGREGATES[base])
            exact = None if part is None or not total else Fraction(part) / Fraction(total)
            assert same(data[across][down], exact), (down, across, data[across][down], exact)
    assert data[label][label] == 1


def test_a_group_of_nulls_is_null_and_not_zero() -> None:
    assert displayed("Sum")["n 1"]["A q"] is None
    assert displayed("Count")["n 1"]["A q"] == 0


def test_null_and_the_text_null_are_two_rows_and_no_label_hides_another() -> None:
    frame = frame_of(
        {"a": ["NULL", None, "x", "x y", "Total (Sum)"], "b": ["", "", "y z", "z", ""], "n": [1, 2, 4, 8, 16]}
    )
    form = {"viz_type": "pivot_table_v2", "groupbyRows": ["a", "b"], "metrics": ["n"], "colTotals": True}
    result = client_processed(QueryResult(row_set=ResultRows(frame), colnames=frame.names), form_data=form)
    assert len(result.indexnames) == len(set(result.indexnames)) == len(result.data["n"])
    leaves = {label: value for label, value in result.data["n"].items() if "Subtotal" not in label}
    assert sorted(leaves.values()) == [1, 2, 4, 8, 16, 31]

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
    "Count Unique Values": lambda held: len(set(held)),
    "List Unique Values": lambda held: ", ".join(map(str, dict.fromkeys(held))) if held else None,
    "Sum": lambda held: sum(held) if held else None,
    "Average": lambda held: Fraction(sum(held), len(held)) if held else None,
    "Median": lambda held: statistics.median(map(Fraction, held)) if held else None,
    "Sample Variance": lambda held: spread(held) if held else None,
    "Sample Standard Deviation": lambda held: math.sqrt(spread(held)) if held else None,
    "Minimum": lambda held: min(held) if held else None,
    "Maximum": lambda held: max(held) if held else None,
    "First": lambda held: held[0] if held else None,
    "Last": lambda held: held[-1] if held else None,
}
FRACTIONS = [f"{base} as Fraction of {of}" for base in ("Sum", "Count") for of in ("Total", "Rows", "Columns")]
TOTAL = ("", "", "")


def spread(held: list[int]) -> Fraction:
    return statistics.variance(map(Fraction, held)) if len(held) > 1 else Fraction(0)


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


def shown(aggregate: str, **form: Any) -> dict[str, dict[str, Any]]:
    land, town, year, value = (list(column) for column in zip(*ROWS, strict=True))
    frame = frame_of({"land": land, "town": town, "year": year, "n": value})
    result = QueryResult(held=ResultRows(frame), colnames=frame.names)
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
    data = shown(aggregate, metricsLayout=layout, **form)
    for down, in_row in lines(label):
        for across, in_column in columns(label):
            exact = of((row for row in ROWS if in_row(row) and in_column(row)), AGGREGATES[aggregate])
            ours = data[down][across] if layout == "ROWS" else data[across][down]
            assert same(ours, exact), (down, across, ours, exact)


@for_each("aggregate", FRACTIONS)
def test_fractions_are_of_the_whole_row_column_or_table_and_so_are_those_of_totals(aggregate: str) -> None:
    base, _, whole_of = aggregate.partition(" as Fraction of ")
    label = f"Total ({aggregate})"
    data = shown(aggregate)
    for down, in_row in lines(label):
        for across, in_column in columns(label):
            part = of((row for row in ROWS if in_row(row) and in_column(row)), AGGREGATES[base])
            wholes = {
                "Total": ROWS,
                "Rows": [row for row in ROWS if in_row(row)],
                "Columns": [row for row in ROWS if in_column(row)],
            }
            whole = of(wholes[whole_of], AGGREGATES[base])
            exact = None if part is None or not whole else Fraction(part) / Fraction(whole)
            assert same(data[across][down], exact), (down, across, data[across][down], exact)
    assert data[label][label] == 1


def test_a_group_of_nulls_is_null_and_not_zero() -> None:
    assert shown("Sum")["n 1"]["A q"] is None
    assert shown("Count")["n 1"]["A q"] == 0


def test_null_and_the_text_null_are_two_rows_and_no_label_hides_another() -> None:
    frame = frame_of(
        {"a": ["NULL", None, "x", "x y", "Total (Sum)"], "b": ["", "", "y z", "z", ""], "n": [1, 2, 4, 8, 16]}
    )
    form = {"viz_type": "pivot_table_v2", "groupbyRows": ["a", "b"], "metrics": ["n"], "colTotals": True}
    result = client_processed(QueryResult(held=ResultRows(frame), colnames=frame.names), form_data=form)
    assert len(result.indexnames) == len(set(result.indexnames)) == len(result.data["n"])
    leaves = {label: value for label, value in result.data["n"].items() if "Subtotal" not in label}
    assert sorted(leaves.values()) == [1, 2, 4, 8, 16, 31]

"""Pivot tables agree with `pandas.pivot_table` and its margins, whatever labels and values they are given."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics_core._tools.pivots import Key, Label, PivotLayout, PivotOrder, PivotTable, pivot, pivot_aggregate
from analytics_core._tools.pivots.labels import labels_of

NAN = float("nan")
BIG = 2**53
NUMBERS = [
    1,
    1.0,
    Decimal("1.0"),
    -2,
    0.5,
    Decimal("0.50"),
    BIG,
    BIG + 1,
    float(BIG),
    Decimal(BIG + 1),
    Decimal(BIG + 2),
]
TEXTS = ["a", "1", "", "NULL", "Subtotal", "Total (Sum)", True, False]
LABELS = st.sampled_from([*NUMBERS, *TEXTS, None, NAN, Decimal("NaN"), math.inf])
VALUES = st.one_of(st.none(), st.just(NAN), st.integers(-40, 40), st.integers(-40, 40).map(lambda n: n / 8))
ROWS = st.lists(st.tuples(LABELS, LABELS, LABELS, LABELS, VALUES, VALUES), min_size=1, max_size=12)
NAMES = ("a", "b", "c", "d", "m", "n")
AGGREGATES = {"Sum": "sum", "Count": "count", "Average": "mean", "Minimum": "min", "Maximum": "max"}
EVERYTHING, BOTH = "everything", "both"
Row = tuple[Any, ...]
Cells = dict[tuple[tuple[Any, ...], tuple[Any, ...], str], Any]


def identity(value: Any) -> tuple[Any, ...]:
    """Return what tells a label from others, and sorts as labels do."""
    if value is None or value != value:
        return (3,)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return (2, str(value))
    return (1, math.inf) if value == math.inf else (1, Fraction(value))


def codes(frame: pd.DataFrame, names: Sequence[str]) -> dict[tuple[Any, ...], int]:
    found = sorted({identity(value) for name in names for value in frame[name]})
    return {label: code for code, label in enumerate(found)}


def expected(table: pd.DataFrame, down: Sequence[str], across: Sequence[str], aggregate: str) -> Cells:
    """Return every cell, subtotal and total by pandas: pivots of the outer levels alone give the subtotals."""
    found: Cells = {}
    tables = {"m": table, "n": table, BOTH: table.melt(id_vars=NAMES[:4], value_vars=NAMES[4:], value_name=BOTH)}
    for rows, columns, metric in product(range(1, len(down) + 1), range(1, len(across) + 1), tables):
        pivoted = pd.pivot_table(
            tables[metric],
            values=metric,
            index=list(down[:rows]),
            columns=list(across[:columns]),
            aggfunc=AGGREGATES[aggregate],
            margins=True,
            margins_name=EVERYTHING,
        )
        for column, line in pivoted.astype(object).where(pivoted.notna(), None).to_dict().items():
            found |= {(outer_labels(row), outer_labels(column), metric): value for row, value in line.items()}
    if aggregate == "Sum":
        # pandas gives 0 where there is no value
        counts = expected(table, down, across, "Count")
        return {key: value if counts[key] else None for key, value in found.items()}
    return found


def outer_labels(key: Any) -> tuple[Any, ...]:
    parts = key if isinstance(key, tuple) else (key,)
    return () if parts[0] == EVERYTHING else tuple(parts)


def own_labels(key: Key, known: Mapping[tuple[Any, ...], int]) -> tuple[Any, ...]:
    return tuple(known[identity(part.value)] for part in key if isinstance(part, Label))


def table_of(rows: Sequence[Row]) -> tuple[dict[str, list[Any]], pd.DataFrame, dict[tuple[Any, ...], int]]:
    columns = {name: list(values) for name, values in zip(NAMES, zip(*rows, strict=True), strict=True)}
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})
    known = codes(frame, NAMES[:4])
    labels = {name: [known[identity(value)] for value in columns[name]] for name in NAMES[:4]}
    numbers = {name: pd.Series(columns[name], dtype=float) for name in NAMES[4:]}
    return columns, pd.DataFrame(labels | numbers), known


def same(ours: Any, theirs: Any, aggregate: str) -> bool:
    if theirs is None:
        # pandas has no cell where all values are null; a count of them is 0
        return ours is None or (aggregate == "Count" and ours == 0)
    return ours is not None and math.isclose(ours, theirs, rel_tol=1e-12)


LAYOUTS = st.builds(
    lambda rows, columns, name, **rest: PivotLayout(
        rows=("a", "b")[:rows],
        columns=("c", "d")[:columns],
        metrics=("m", "n"),
        aggregate=pivot_aggregate(name),
        row_totals=True,
        column_totals=True,
        **rest,
    ),
    rows=st.integers(1, 2),
    columns=st.integers(1, 2),
    name=st.sampled_from(sorted(AGGREGATES)),
    combine_metrics=st.booleans(),
    metrics_on_rows=st.booleans(),
    row_order=st.sampled_from(PivotOrder),
    column_order=st.sampled_from(PivotOrder),
)


def check_against_pandas(rows: list[Row], layout: PivotLayout) -> None:
    columns, table, known = table_of(rows)
    grid = pivot(columns, layout, text=str)
    found = expected(table, layout.rows, layout.columns, layout.aggregate.name)
    compared = set()
    for (down, line), (place, across) in product(
        zip(grid.row_keys, grid.cells, strict=True), enumerate(grid.column_keys)
    ):
        metric = next((part for part in (*down, *across) if type(part) is str and part in ("m", "n")), BOTH)
        key = own_labels(down, known), own_labels(across, known), metric
        assert same(line[place], found.get(key), layout.aggregate.name), (key, line[place], found.get(key))
        compared.add(key)
    depth = len(layout.rows), len(layout.columns)
    assert compared >= {key for key in found if (len(key[0]), len(key[1])) == depth and key[2] != BOTH}


@pytest.mark.slow
@settings(max_examples=6)
@given(rows=ROWS, layout=LAYOUTS)
def test_cells_subtotals_and_totals_are_those_of_pandas(rows: list[Row], layout: PivotLayout) -> None:
    check_against_pandas(rows, layout)


@pytest.mark.long
@given(rows=ROWS, layout=LAYOUTS)
def test_many_pivot_tables_are_those_of_pandas(rows: list[Row], layout: PivotLayout) -> None:
    check_against_pandas(rows, layout)


@given(rows=ROWS, layout=LAYOUTS)
def test_rows_and_columns_sorted_by_label_are_sorted_by_value_with_null_last(
    rows: list[Row], layout: PivotLayout
) -> None:
    columns, _, known = table_of(rows)
    layout = replace(layout, row_order=PivotOrder.LABEL, column_order=PivotOrder.LABEL, metrics=("m",))
    grid = pivot(columns, layout, text=str)
    for keys, totals in ((grid.row_keys, grid.row_totals), (grid.column_keys, grid.column_totals)):
        labels = [own_labels(key, known) for place, key in enumerate(keys) if place not in totals]
        assert labels == sorted(set(labels))


@given(rows=ROWS, layout=LAYOUTS, most=st.tuples(st.integers(1, 9), st.integers(1, 9)))
def test_the_first_lines_of_a_pivot_table_are_those_of_the_whole(
    rows: list[Row], layout: PivotLayout, most: tuple[int, int]
) -> None:
    columns, _, _ = table_of(rows)
    full, part = pivot(columns, layout, text=str), pivot(columns, layout, text=str, limits=most)
    down, across = (
        [*[*range(len(keys) - 1)][:limit], len(keys) - 1] for keys, limit in zip(sides(full), most, strict=True)
    )
    assert part.cells == tuple([full.cells[row][column] for column in across] for row in down)
    assert sides(part) == (tuple(full.row_keys[row] for row in down), tuple(full.column_keys[c] for c in across))
    counts = len(full.row_keys), len(full.column_keys)
    assert (part.row_count, part.column_count) == (full.row_count, full.column_count) == counts
    groups = counts[0] - len(full.row_totals), counts[1] - len(full.column_totals)
    assert (part.row_groups, part.column_groups) == (full.row_groups, full.column_groups) == groups


def sides(grid: PivotTable) -> tuple[tuple[Key, ...], tuple[Key, ...]]:
    return grid.row_keys, grid.column_keys


@pytest.mark.slow
@given(rows=ROWS, layout=LAYOUTS, base=st.sampled_from(["Sum", "Count"]))
def test_fractions_are_of_the_totals_of_their_row_column_or_table(
    rows: list[Row], layout: PivotLayout, base: str
) -> None:
    columns, _, _ = table_of(rows)
    layout = replace(layout, row_order=PivotOrder.LABEL, column_order=PivotOrder.LABEL)
    plain = pivot(columns, replace(layout, aggregate=pivot_aggregate(base)), text=str).cells
    wholes: dict[str, Callable[[int, int], Any]] = {
        "Total": lambda _row, _column: plain[-1][-1],
        "Rows": lambda row, _column: plain[row][-1],
        "Columns": lambda _row, column: plain[-1][column],
    }
    for of, total_of in wholes.items():
        aggregate = pivot_aggregate(f"{base} as Fraction of {of}")
        cells = pivot(columns, replace(layout, aggregate=aggregate), text=str).cells
        for (row, line), column in product(enumerate(plain), range(len(plain[0]))):
            part, divisor = line[column], total_of(row, column)
            exact = None if part is None or not divisor else Fraction(part) / Fraction(divisor)
            assert (cells[row][column] is None) is (exact is None)
            assert exact is None or math.isclose(cells[row][column], exact, rel_tol=1e-12)


@given(one=LABELS, other=LABELS)
def test_labels_are_the_same_where_their_values_are_and_then_hash_alike(one: Any, other: Any) -> None:
    (first,), (second,) = labels_of([one], str), labels_of([other], str)
    assert (first == second) is (identity(one) == identity(other))
    assert first != second or hash(first) == hash(second)
    assert first != str(first)

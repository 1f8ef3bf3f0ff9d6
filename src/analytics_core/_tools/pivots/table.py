"""Columns turned into a grid of labelled rows and columns, with the aggregates and totals of the pivot chart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any, Final

from analytics_core._tools.pivots.aggregates import FractionOf, PivotAggregate
from analytics_core._tools.pivots.labels import Key, PivotOrder, arranged, labels_of, ordered
from analytics_core._tools.pivots.lines import Lines, line_count, lines
from analytics_core.errors import QueryError, ResultTooLargeError, UnknownNameError

MOST_CELLS: Final = 5_000_000
"""Cells that a pivot table may have, with its labels and totals: values that hardly repeat would fill the memory."""

Line = list[Any]
Columns = Mapping[str, Sequence[Any]]
"""The values of each column by its name, of equal length."""

Cells = Sequence[Mapping[int, Line]]
"""The values of each row by the places of their columns, which ascend; most cells of a wide table have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PivotLayout:
    """What goes where: names of columns and metrics, each once.

    `combine_metrics` puts the metric below the column labels instead of above; `metrics_on_rows` lists metrics down the
    side; `row_totals` adds a total at the end of each row, `column_totals` below each column, with subtotals of groups.
    With metrics down the side the two change places.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    metrics: tuple[str, ...]
    aggregate: PivotAggregate
    combine_metrics: bool = False
    metrics_on_rows: bool = False
    row_totals: bool = False
    column_totals: bool = False
    row_order: PivotOrder = PivotOrder.LABEL
    column_order: PivotOrder = PivotOrder.LABEL


@dataclass(frozen=True, slots=True, kw_only=True)
class PivotTable:
    """Cells by row and column; keys are labels from the outermost level inwards.

    `row_totals` and `column_totals` are the places of the rows and columns that are totals or subtotals. Where only the
    first rows and columns were asked for, `row_count` and `column_count` are those of the whole table; `row_groups` and
    `column_groups` count those of them that are no totals.
    """

    row_keys: tuple[Key, ...]
    column_keys: tuple[Key, ...]
    cells: tuple[Line, ...]
    row_totals: frozenset[int]
    column_totals: frozenset[int]
    row_count: int
    column_count: int
    row_groups: int
    column_groups: int

    def turned(self) -> PivotTable:
        """Return the grid with rows and columns exchanged."""
        cells = tuple([row[position] for row in self.cells] for position in range(len(self.column_keys)))
        return PivotTable(
            row_keys=self.column_keys,
            column_keys=self.row_keys,
            cells=cells,
            row_totals=self.column_totals,
            column_totals=self.row_totals,
            row_count=self.column_count,
            column_count=self.row_count,
            row_groups=self.column_groups,
            column_groups=self.row_groups,
        )


def pivot(
    columns: Columns, layout: PivotLayout, *, text: Callable[[Any], str], limits: tuple[int, int] | None = None
) -> PivotTable:
    """Return the grid of `layout`; without rows there is one row, named as totals are.

    A total is the aggregate of all values that it covers, not of the cells; a fraction is that of its value in the
    whole of its row or column, totals included.

    Args:
        columns: the values by the names of their columns; None and NaN are null.
        layout: which of them go where.
        text: the text of a value that is a label; values that are no numbers are the same where their texts are.
        limits: how many rows and columns to compute, the first ones and the total of all behind them; None: all.

    Raises:
        UnknownNameError: there is no such column.
        QueryError: there is no metric, or the aggregate needs numbers.
        ResultTooLargeError: more than `MOST_CELLS` cells, labels and totals included.
    """
    if not layout.metrics:
        raise QueryError("a pivot table needs at least one metric; name it in form_data.metrics")
    # Metrics stand over columns here; a layout with metrics down the side is turned at the end.
    outer, inner = layout.rows, layout.columns
    most_rows, most_columns = limits or (None, None)
    if layout.metrics_on_rows:
        outer, inner, most_rows, most_columns = inner, outer, most_columns, most_rows
    total = layout.aggregate.total_label
    rows, row_of = _distinct(_keys(columns, outer, text) if outer else [(total,)] * _length(columns))
    groups, group_of = _distinct(_keys(columns, inner, text) if inner else [()] * _length(columns))
    keys = rows, _column_keys(groups, layout)
    totals = (total if layout.column_totals and outer else None), (total if layout.row_totals else None)
    if limits is None:
        _check_size(keys, totals, layout)
    cells = _gathered(columns, (len(rows), len(groups)), row_of, group_of, layout)
    down_keys, across_keys, cells = _arranged(keys, cells, layout)
    down = lines(down_keys, total=totals[0], most=most_rows)
    across = lines(across_keys, total=totals[1], most=most_columns)
    grid = PivotTable(
        row_keys=down.keys,
        column_keys=across.keys,
        cells=_cells(cells, down, across, layout),
        row_totals=down.totals,
        column_totals=across.totals,
        row_count=down.count,
        column_count=across.count,
        row_groups=down.data,
        column_groups=across.data,
    )
    return grid.turned() if layout.metrics_on_rows else grid


def _length(columns: Columns) -> int:
    return len(next(iter(columns.values()), ()))


def _keys(columns: Columns, names: Sequence[str], text: Callable[[Any], str]) -> list[Key]:
    """Return the labels of every row under these columns."""
    return list(zip(*(labels_of(_column(columns, name), text) for name in names), strict=True))


def _column(columns: Columns, name: str) -> Sequence[Any]:
    if name not in columns:
        raise UnknownNameError(name, place="the result to be pivoted", known=tuple(columns))
    return columns[name]


def _distinct(keys: Sequence[Key]) -> tuple[list[Key], list[int]]:
    """Return the different keys, sorted, and the place of each key among them."""
    found = ordered(keys)
    places = {key: place for place, key in enumerate(found)}
    return found, [places[key] for key in keys]


def _column_keys(groups: Sequence[Key], layout: PivotLayout) -> list[Key]:
    if layout.combine_metrics:
        return [(*key, metric) for key in groups for metric in layout.metrics]
    return [(metric, *key) for metric in layout.metrics for key in groups]


def _check_size(keys: tuple[Sequence[Key], Sequence[Key]], totals: Sequence[str | None], layout: PivotLayout) -> None:
    """Count the cells, labels and totals included, before they are made."""
    down, across = (line_count(side, with_totals=bool(total)) for side, total in zip(keys, totals, strict=True))
    label_columns, label_rows = (len(side[0]) if side else 0 for side in keys)
    if (down + label_rows) * (across + label_columns) <= MOST_CELLS:
        return
    rows, columns = (across, down) if layout.metrics_on_rows else (down, across)
    raise ResultTooLargeError(
        f"the pivot table would have {rows} rows and {columns} columns, totals included; with their labels these are "
        f"more than {MOST_CELLS} cells; group by fewer columns, leave totals out or lower the row limit"
    )


def _gathered(
    columns: Columns, sizes: tuple[int, int], row_of: Sequence[int], group_of: Sequence[int], layout: PivotLayout
) -> Cells:
    """Return the values of each cell, in the order of the columns.

    Args:
        columns: the values by the names of their columns.
        sizes: how many rows the table has, and how many groups across.
        row_of: the place of the row of each value.
        group_of: the place of the group of each value.
        layout: which metrics there are, and whether they stand below their group.
    """
    found: list[dict[int, Line]] = [{} for _ in range(sizes[0])]
    apart, step = (1, len(layout.metrics)) if layout.combine_metrics else (sizes[1], 1)
    for number, metric in enumerate(layout.metrics):
        for row, group, value in zip(row_of, group_of, _column(columns, metric), strict=True):
            found[row].setdefault(number * apart + group * step, []).append(value)
    return [dict(sorted(row.items(), key=itemgetter(0))) for row in found]


def _arranged(
    keys: tuple[Sequence[Key], Sequence[Key]], cells: Cells, layout: PivotLayout
) -> tuple[Sequence[Key], Sequence[Key], Cells]:
    """Return sorted keys, and their cells, in the orders of the layout."""
    orders = [layout.row_order, layout.column_order]
    if layout.metrics_on_rows:
        orders.reverse()
    if set(orders) == {PivotOrder.LABEL}:
        return keys[0], keys[1], cells
    totals = (partial(_group_totals, cells, layout.aggregate, side) for side in (0, 1))
    down, across = map(arranged, keys, orders, totals)
    at = {place: new for new, place in enumerate(across)}
    moved = [{at[place]: values for place, values in cells[row].items()} for row in down]
    arranged_cells = [dict(sorted(row.items(), key=itemgetter(0))) for row in moved]
    return [keys[0][place] for place in down], [keys[1][place] for place in across], arranged_cells


def _group_totals(cells: Cells, aggregate: PivotAggregate, side: int, groups: Sequence[int]) -> list[Any]:
    """Return the aggregate of each group of rows (side 0) or columns (side 1), by the group's number of each."""
    members: list[Line] = [[] for _ in range(groups[-1] + 1)]
    for row, line in enumerate(cells):
        for column, values in line.items():
            members[groups[(row, column)[side]]].extend(values)
    return list(map(aggregate.of, members))


def _cells(cells: Cells, down: Lines, across: Lines, layout: PivotLayout) -> tuple[Line, ...]:
    aggregate = layout.aggregate
    every_row, every_column = range(down.data), range(across.data)
    # Of groups with one member the total covers what the member does: it is computed once.
    covers = {covered: place for place, covered in enumerate(dict.fromkeys(across.covers))}
    places = [covers[covered] for covered in across.covers]

    def made(rows: range, columns: range) -> Any:
        covered_values = list(_covered(cells[rows.start : rows.stop], columns))
        return aggregate.of(list(chain.from_iterable(covered_values))) if covered_values else None

    def line(rows: range) -> Line:
        row = _merged(cells[rows.start : rows.stop])
        found = [
            made(rows, columns)
            if len(columns) > 1
            else (aggregate.of(row[columns.start]) if columns.start in row else None)
            for columns in covers
        ]
        return [found[place] for place in places]

    computed = {rows: line(rows) for rows in dict.fromkeys(down.covers)}
    found = tuple(computed[rows] for rows in down.covers)
    if aggregate.fraction_of is None:
        return found
    if aggregate.fraction_of is FractionOf.TOTAL:
        total = made(every_row, every_column)
        return tuple([aggregate.fraction(cell, total) for cell in row] for row in found)
    if (aggregate.fraction_of is FractionOf.COLUMNS) is not layout.metrics_on_rows:
        wholes = line(every_row)
        return tuple(
            [aggregate.fraction(cell, total) for cell, total in zip(row, wholes, strict=True)] for row in found
        )
    wholes = [made(row, every_column) for row in down.covers]
    return tuple([aggregate.fraction(cell, total) for cell in row] for row, total in zip(found, wholes, strict=True))


def _merged(rows: Cells) -> Mapping[int, Line]:
    """Return the values of some rows by the places of their columns, in the order of the rows."""
    if len(rows) == 1:
        return rows[0]
    found: defaultdict[int, Line] = defaultdict(list)
    for row in rows:
        for place, values in row.items():
            found[place].extend(values)
    return found


def _covered(rows: Cells, columns: range) -> Iterator[Line]:
    """Yield the values of the cells of some rows and columns, row by row."""
    for row in rows:
        if len(columns) < len(row):
            yield from (row[place] for place in columns if place in row)
        else:
            yield from (values for place, values in row.items() if place in columns)

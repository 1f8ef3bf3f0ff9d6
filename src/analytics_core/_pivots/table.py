"""Columns turned into a grid of labelled rows and columns, with the aggregates and totals of the pivot chart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any, Final

from analytics_core._pivots.aggregates import FractionOf, PivotAggregate
from analytics_core._pivots.labels import Key, PivotOrder, arranged, label_of, ordered
from analytics_core.errors import QueryError, ResultTooLargeError, UnknownNameError

SUBTOTAL: Final = "Subtotal"
MOST_CELLS: Final = 5_000_000
"""Cells that a pivot table may have; values that hardly repeat would make one that fills the memory."""

Line = list[Any]
Columns = Mapping[str, Sequence[Any]]
"""The values of each column by its name, of equal length."""

Gathered = Mapping[tuple[Key, Key], Line]
"""The values of each cell that has any, by the keys of its row and its column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PivotLayout:
    """What goes where: names of columns and metrics.

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

    `row_totals` and `column_totals` are the places of the rows and columns that are totals or subtotals.
    """

    row_keys: tuple[Key, ...]
    column_keys: tuple[Key, ...]
    cells: tuple[Line, ...]
    row_totals: frozenset[int]
    column_totals: frozenset[int]

    def turned(self) -> PivotTable:
        """Return the grid with rows and columns exchanged."""
        cells = tuple([row[position] for row in self.cells] for position in range(len(self.column_keys)))
        return PivotTable(
            row_keys=self.column_keys,
            column_keys=self.row_keys,
            cells=cells,
            row_totals=self.column_totals,
            column_totals=self.row_totals,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lines:
    """The rows or the columns of a grid: the sorted keys of the data, the keys shown, and which data each covers."""

    data: Sequence[Key]
    keys: tuple[Key, ...]
    covers: tuple[slice, ...]
    totals: frozenset[int] = frozenset()


def pivot(columns: Columns, layout: PivotLayout, *, text: Callable[[Any], str]) -> PivotTable:
    """Return the grid of `layout`; without rows there is one row, named as totals are.

    A total is the aggregate of all values that it covers, not of the cells; a fraction is that of its value in the
    whole of its row or column, totals included.

    Args:
        columns: the values by the names of their columns; None is null.
        layout: which of them go where.
        text: the text of a value that is a label; values that are no numbers are the same where their texts are.

    Raises:
        UnknownNameError: there is no such column.
        QueryError: there is no metric, or the aggregate needs numbers.
        ResultTooLargeError: more than `MOST_CELLS` cells.
    """
    if not layout.metrics:
        raise QueryError("a pivot table needs at least one metric; name it in form_data.metrics")
    # Metrics stand over columns here; a layout with metrics down the side is turned at the end.
    outer, inner = (layout.columns, layout.rows) if layout.metrics_on_rows else (layout.rows, layout.columns)
    outer_keys, inner_keys = _keys(columns, outer, text), _keys(columns, inner, text)
    total = layout.aggregate.total_label
    if not outer:
        outer_keys = [(total,)] * len(outer_keys)
    gathered = _gathered(columns, outer_keys, inner_keys, layout)
    filled = {column for _, column in gathered}
    rows = ordered(outer_keys) if outer else [(total,)]
    across_keys = [key for key in _column_keys(ordered(inner_keys), layout) if key in filled]
    _check_size(len(rows), len(across_keys))
    rows, across_keys = _arranged(gathered, rows, across_keys, layout)
    down = _lines(rows, total if layout.column_totals and outer else None)
    across = _lines(across_keys, total if layout.row_totals else None)
    grid = PivotTable(
        row_keys=down.keys,
        column_keys=across.keys,
        cells=_cells(gathered, down, across, layout),
        row_totals=down.totals,
        column_totals=across.totals,
    )
    return grid.turned() if layout.metrics_on_rows else grid


def _gathered(columns: Columns, outer: Sequence[Key], inner: Sequence[Key], layout: PivotLayout) -> Gathered:
    """Return the values of each cell, in the order of the columns."""
    gathered: defaultdict[tuple[Key, Key], Line] = defaultdict(list)
    for metric in layout.metrics:
        for row_key, column_key, value in zip(outer, inner, _column(columns, metric), strict=True):
            whole = (*column_key, metric) if layout.combine_metrics else (metric, *column_key)
            gathered[row_key, whole].append(value)
    return gathered


def _arranged(
    gathered: Gathered, rows: Sequence[Key], columns: Sequence[Key], layout: PivotLayout
) -> tuple[list[Key], list[Key]]:
    """Return sorted keys in the orders of the layout."""
    down, across = layout.row_order, layout.column_order
    if layout.metrics_on_rows:
        down, across = across, down
    if down is across is PivotOrder.LABEL:
        return list(rows), list(columns)
    places = [{key: place for place, key in enumerate(keys)} for keys in (rows, columns)]
    held = sorted(gathered, key=lambda keys: (places[0][keys[0]], places[1][keys[1]]))
    orders = []
    for side, (keys, order) in enumerate(((rows, down), (columns, across))):
        groups: defaultdict[Key, Line] = defaultdict(list)
        for place in held if order.is_by_value else ():
            for level in range(1, len(place[side]) + 1):
                groups[place[side][:level]].extend(gathered[place])
        values = {key: layout.aggregate.of(group) for key, group in groups.items()}
        orders.append(arranged(keys, order, values))
    return orders[0], orders[1]


def _lines(keys: Sequence[Key], total: str | None) -> _Lines:
    """Return the lines of sorted keys; with a total also a subtotal behind each group, and a total behind them all."""
    if total is None:
        return _Lines(data=keys, keys=tuple(keys), covers=tuple(slice(place, place + 1) for place in range(len(keys))))
    lines = [*_with_subtotals(keys), (_padded((total,), len(keys[0])), slice(0, len(keys)), True)]
    totals = frozenset(place for place, (_, _, is_total) in enumerate(lines) if is_total)
    covers = tuple(covered for _, covered, _ in lines)
    return _Lines(data=keys, keys=tuple(key for key, _, _ in lines), covers=covers, totals=totals)


def _with_subtotals(keys: Sequence[Key]) -> Iterator[tuple[Key, slice, bool]]:
    """Yield the keys, and each group's subtotal behind it (True), inner groups first; keys come sorted by group."""
    levels = len(keys[0])
    starts = [0] * levels
    for position, key in enumerate(keys):
        yield key, slice(position, position + 1), False
        following = keys[position + 1] if position + 1 < len(keys) else ()
        for level in range(levels - 1, 0, -1):
            if following[:level] != key[:level]:
                yield _padded((*key[:level], SUBTOTAL), levels), slice(starts[level], position + 1), True
                starts[level] = position + 1


def _padded(key: Key, levels: int) -> Key:
    return (*key, *[""] * (levels - len(key)))


def _cells(gathered: Gathered, down: _Lines, across: _Lines, layout: PivotLayout) -> tuple[Line, ...]:
    aggregate = layout.aggregate
    by_row = _by_row(gathered, down.data, across.data)
    every_row, every_column = slice(0, len(down.data)), slice(0, len(across.data))

    def made(rows: slice, columns: slice) -> Any:
        held = list(_covered(by_row[rows], range(columns.start, columns.stop)))
        return aggregate.of(list(chain.from_iterable(held))) if held else None

    def line(rows: slice) -> Line:
        row = _merged(by_row[rows])
        return [
            made(rows, columns)
            if columns.stop - columns.start > 1
            else (aggregate.of(row[columns.start]) if columns.start in row else None)
            for columns in across.covers
        ]

    cells = tuple(map(line, down.covers))
    if aggregate.fraction_of is None:
        return cells
    if aggregate.fraction_of is FractionOf.TOTAL:
        whole = made(every_row, every_column)
        return tuple([_fraction(cell, whole) for cell in row] for row in cells)
    if (aggregate.fraction_of is FractionOf.COLUMNS) is not layout.metrics_on_rows:
        wholes = line(every_row)
        return tuple([_fraction(cell, whole) for cell, whole in zip(row, wholes, strict=True)] for row in cells)
    wholes = [made(row, every_column) for row in down.covers]
    return tuple([_fraction(cell, whole) for cell in row] for row, whole in zip(cells, wholes, strict=True))


def _by_row(gathered: Gathered, rows: Sequence[Key], columns: Sequence[Key]) -> list[dict[int, Line]]:
    """Return the values of each row by the places of their columns, which ascend."""
    places = {key: place for place, key in enumerate(rows)}, {key: place for place, key in enumerate(columns)}
    found: list[dict[int, Line]] = [{} for _ in rows]
    for column, row, values in sorted(
        ((places[1][column], places[0][row], values) for (row, column), values in gathered.items()),
        key=itemgetter(0),
    ):
        found[row][column] = values
    return found


def _merged(rows: Sequence[dict[int, Line]]) -> dict[int, Line]:
    """Return the values of some rows by the places of their columns, in the order of the rows."""
    if len(rows) == 1:
        return rows[0]
    found: defaultdict[int, Line] = defaultdict(list)
    for row in rows:
        for place, values in row.items():
            found[place].extend(values)
    return found


def _covered(rows: Sequence[Mapping[int, Line]], columns: range) -> Iterator[Line]:
    """Yield the values of the cells of some rows and columns, row by row; most cells of a wide table have none."""
    for row in rows:
        if len(columns) < len(row):
            yield from (row[place] for place in columns if place in row)
        else:
            yield from (values for place, values in row.items() if place in columns)


def _fraction(cell: Any, whole: Any) -> float | None:
    return None if cell is None or not whole else float(cell) / float(whole)


def _check_size(rows: int, columns: int) -> None:
    if rows * columns > MOST_CELLS:
        raise ResultTooLargeError(
            f"the pivot table would have {rows} rows and {columns} columns, more than {MOST_CELLS} cells; "
            "group by fewer columns or lower the row limit"
        )


def _column_keys(inner: Sequence[Key], layout: PivotLayout) -> list[Key]:
    if layout.combine_metrics:
        return [(*key, metric) for key in inner for metric in layout.metrics]
    return [(metric, *key) for metric in layout.metrics for key in inner]


def _column(columns: Columns, name: str) -> Sequence[Any]:
    if name not in columns:
        raise UnknownNameError(name, place="the result to be pivoted", known=tuple(columns))
    return columns[name]


def _keys(columns: Columns, names: Sequence[str], text: Callable[[Any], str]) -> list[Key]:
    """Return the labels of every row under these columns."""
    if not names:
        return [()] * len(next(iter(columns.values()), ()))
    labels = ([label_of(value, text) for value in _column(columns, name)] for name in names)
    return list(zip(*labels, strict=True))

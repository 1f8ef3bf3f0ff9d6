"""A frame turned into a grid of labelled rows and columns, with totals and subtotals, as the pivot chart shows it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from analytics_core._frames.frame import Frame
from analytics_core._frames.text_values import text_value
from analytics_core._querying.pivot_aggregates import FractionOf, PivotAggregate
from analytics_core.errors import QueryError, ResultTooLargeError, UnknownNameError

NULL_LABEL: Final = "NULL"
SUBTOTAL: Final = "Subtotal"
MOST_CELLS: Final = 5_000_000
"""Cells that a pivot table may have; values that hardly repeat would make one that fills the memory."""

Key = tuple[str, ...]
Line = list[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PivotLayout:
    """What goes where: names of columns and metrics of the frame.

    `combine_metrics` puts the metric below the column labels instead of above; `metrics_on_rows` lists metrics down the
    side; `row_totals` adds a total at the end of each row, `column_totals` below each column.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    metrics: tuple[str, ...]
    aggregate: PivotAggregate
    combine_metrics: bool = False
    metrics_on_rows: bool = False
    row_totals: bool = False
    column_totals: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Cells by row and column; keys are labels from the outermost level inwards."""

    row_keys: tuple[Key, ...]
    column_keys: tuple[Key, ...]
    cells: tuple[Line, ...]

    def turned(self) -> Grid:
        """Return the grid with rows and columns exchanged."""
        cells = tuple([row[position] for row in self.cells] for position in range(len(self.column_keys)))
        return Grid(row_keys=self.column_keys, column_keys=self.row_keys, cells=cells)


def pivot(frame: Frame, layout: PivotLayout) -> Grid:
    """Return the grid of `layout`; without rows there is one row, named as totals are.

    Raises:
        UnknownNameError: the frame has no such column.
        QueryError: there is no metric, or the aggregate needs numbers.
        ResultTooLargeError: more than `MOST_CELLS` cells.
    """
    if not layout.metrics:
        raise QueryError("a pivot table needs at least one metric; name it in form_data.metrics")
    aggregate = layout.aggregate
    # Metrics stand over columns here; a layout with metrics down the side is turned at the end.
    outer, inner = (layout.columns, layout.rows) if layout.metrics_on_rows else (layout.rows, layout.columns)
    grid = _grid(frame, outer, inner, layout)
    grid = _as_fractions(grid, aggregate.fraction_of, turned=layout.metrics_on_rows)
    if layout.row_totals:
        grid = _with_totals(grid.turned(), aggregate).turned()
    if layout.column_totals and outer:
        grid = _with_totals(grid, aggregate)
    return grid.turned() if layout.metrics_on_rows else grid


def _grid(frame: Frame, outer: Sequence[str], inner: Sequence[str], layout: PivotLayout) -> Grid:
    outer_keys, inner_keys = _keys(frame, outer), _keys(frame, inner)
    gathered: defaultdict[tuple[Key, Key], Line] = defaultdict(list)
    for metric in layout.metrics:
        values = _column(frame, metric)
        for row_key, column_key, value in zip(outer_keys, inner_keys, values, strict=True):
            whole = (*column_key, metric) if layout.combine_metrics else (metric, *column_key)
            gathered[row_key if outer else (layout.aggregate.total_label,), whole].append(value)
    rows = _ordered(outer_keys) if outer else [(layout.aggregate.total_label,)]
    filled = {column for _, column in gathered}
    columns = [key for key in _column_keys(_ordered(inner_keys), layout) if key in filled]
    _check_size(len(rows), len(columns))
    cells = tuple(
        [layout.aggregate.of(gathered[row, key]) if (row, key) in gathered else None for key in columns] for row in rows
    )
    return Grid(row_keys=tuple(rows), column_keys=tuple(columns), cells=cells)


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


def _column(frame: Frame, name: str) -> list[Any]:
    for column in frame.columns:
        if column.name == name:
            return column.to_list()
    raise UnknownNameError(name, place="the result to be pivoted", known=frame.names)


class _Label(str):
    """The text of a value, which sorts as the value does: numbers by size, the rest by its text, null last."""

    __slots__ = ("order",)
    order: tuple[int, Any]


def _label(value: Any) -> str:
    label = _Label(NULL_LABEL if value is None else text_value(value))
    if value is None:
        label.order = (2, 0)
    elif isinstance(value, int | float):
        label.order = (0, value)
    else:
        label.order = (1, str(label))
    return label


def _keys(frame: Frame, names: Sequence[str]) -> list[Key]:
    """Return the labels of every row of the frame under these columns."""
    if not names:
        return [()] * len(frame)
    return list(zip(*(map(_label, _column(frame, name)) for name in names), strict=True))


def _ordered(keys: Sequence[Key]) -> list[Key]:
    """Return the different keys, sorted by the values behind the labels; nulls come last."""
    return sorted(dict.fromkeys(keys), key=lambda key: [label.order for label in key if isinstance(label, _Label)])


def _as_fractions(grid: Grid, of: FractionOf | None, *, turned: bool) -> Grid:
    if of is None:
        return grid
    if of is FractionOf.TOTAL:
        whole = sum(_sum(row) for row in grid.cells)
        cells = tuple([_fraction(cell, whole) for cell in row] for row in grid.cells)
        return Grid(row_keys=grid.row_keys, column_keys=grid.column_keys, cells=cells)
    if (of is FractionOf.COLUMNS) is not turned:
        return _fractions_of_rows(grid.turned()).turned()
    return _fractions_of_rows(grid)


def _fractions_of_rows(grid: Grid) -> Grid:
    cells = tuple([_fraction(cell, _sum(row)) for cell in row] for row in grid.cells)
    return Grid(row_keys=grid.row_keys, column_keys=grid.column_keys, cells=cells)


def _sum(cells: Line) -> Any:
    return sum(cell for cell in cells if cell is not None)


def _fraction(cell: Any, whole: Any) -> float | None:
    return None if cell is None or not whole else float(cell) / float(whole)


def _with_totals(grid: Grid, aggregate: PivotAggregate) -> Grid:
    """Return the grid with a subtotal behind each group of rows and a total behind them all."""
    levels = len(grid.row_keys[0])
    pairs = list(_with_subtotals(grid, levels, aggregate))
    pairs.append((_padded((aggregate.total_label,), levels), _total(grid.cells, aggregate)))
    return Grid(
        row_keys=tuple(key for key, _ in pairs), column_keys=grid.column_keys, cells=tuple(line for _, line in pairs)
    )


def _with_subtotals(grid: Grid, levels: int, aggregate: PivotAggregate) -> Iterator[tuple[Key, Line]]:
    """Yield the rows, and each group's subtotal behind it, inner groups first; keys come sorted by group."""
    starts = [0] * levels
    for position, key in enumerate(grid.row_keys):
        yield key, grid.cells[position]
        following = grid.row_keys[position + 1] if position + 1 < len(grid.row_keys) else ()
        for level in range(levels - 1, 0, -1):
            if following[:level] != key[:level]:
                lines = grid.cells[starts[level] : position + 1]
                starts[level] = position + 1
                yield _padded((*key[:level], SUBTOTAL), levels), _total(lines, aggregate)


def _total(lines: Sequence[Line], aggregate: PivotAggregate) -> Line:
    return [aggregate.of(column) for column in zip(*lines, strict=True)]


def _padded(key: Key, levels: int) -> Key:
    return (*key, *[""] * (levels - len(key)))

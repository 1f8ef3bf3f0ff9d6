"""A frame turned into a grid of labelled rows and columns, with the aggregates and totals of the pivot chart."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import Any, Final

from analytics_core._frames.frame import Frame
from analytics_core._frames.values import text_value
from analytics_core.errors import QueryError, ResultTooLargeError, UnknownNameError

NULL_LABEL: Final = "NULL"
SUBTOTAL: Final = "Subtotal"
MOST_CELLS: Final = 5_000_000
"""Cells that a pivot table may have; values that hardly repeat would make one that fills the memory."""

Key = tuple[str, ...]
Line = list[Any]
Gathered = Mapping[tuple[Key, Key], Line]
"""The values of each cell that has any, by the keys of its row and its column."""


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
class PivotTable:
    """Cells by row and column; keys are labels from the outermost level inwards."""

    row_keys: tuple[Key, ...]
    column_keys: tuple[Key, ...]
    cells: tuple[Line, ...]

    def turned(self) -> PivotTable:
        """Return the grid with rows and columns exchanged."""
        cells = tuple([row[position] for row in self.cells] for position in range(len(self.column_keys)))
        return PivotTable(row_keys=self.column_keys, column_keys=self.row_keys, cells=cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lines:
    """The rows or the columns of a grid: the sorted keys of the data, the keys shown, and which data each covers."""

    data: Sequence[Key]
    keys: tuple[Key, ...]
    covers: tuple[slice, ...]


def pivot(frame: Frame, layout: PivotLayout) -> PivotTable:
    """Return the grid of `layout`; without rows there is one row, named as totals are.

    A total is the aggregate of all values that it covers, not of the cells; a fraction is that of its value in the
    whole of its row or column, totals included.

    Raises:
        UnknownNameError: the frame has no such column.
        QueryError: there is no metric, or the aggregate needs numbers.
        ResultTooLargeError: more than `MOST_CELLS` cells.
    """
    if not layout.metrics:
        raise QueryError("a pivot table needs at least one metric; name it in form_data.metrics")
    # Metrics stand over columns here; a layout with metrics down the side is turned at the end.
    outer, inner = (layout.columns, layout.rows) if layout.metrics_on_rows else (layout.rows, layout.columns)
    outer_keys, inner_keys = _keys(frame, outer), _keys(frame, inner)
    total = layout.aggregate.total_label
    if not outer:
        outer_keys = [(total,)] * len(frame)
    gathered = _gathered(frame, outer_keys, inner_keys, layout)
    filled = {column for _, column in gathered}
    rows = _ordered(outer_keys) if outer else [(total,)]
    columns = [key for key in _column_keys(_ordered(inner_keys), layout) if key in filled]
    _check_size(len(rows), len(columns))
    down = _lines(rows, total if layout.column_totals and outer else None)
    across = _lines(columns, total if layout.row_totals else None)
    cells = _cells(gathered, down, across, layout)
    grid = PivotTable(row_keys=down.keys, column_keys=across.keys, cells=cells)
    return grid.turned() if layout.metrics_on_rows else grid


def _gathered(frame: Frame, outer: Sequence[Key], inner: Sequence[Key], layout: PivotLayout) -> Gathered:
    """Return the values of each cell, in the order of the frame."""
    gathered: defaultdict[tuple[Key, Key], Line] = defaultdict(list)
    for metric in layout.metrics:
        for row_key, column_key, value in zip(outer, inner, _column(frame, metric), strict=True):
            whole = (*column_key, metric) if layout.combine_metrics else (metric, *column_key)
            gathered[row_key, whole].append(value)
    return gathered


def _lines(keys: Sequence[Key], total: str | None) -> _Lines:
    """Return the lines of sorted keys; with a total also a subtotal behind each group, and a total behind them all."""
    if total is None:
        return _Lines(data=keys, keys=tuple(keys), covers=tuple(slice(place, place + 1) for place in range(len(keys))))
    lines = list(_with_subtotals(keys))
    lines.append((_padded((total,), len(keys[0])), slice(0, len(keys))))
    return _Lines(data=keys, keys=tuple(key for key, _ in lines), covers=tuple(covered for _, covered in lines))


def _with_subtotals(keys: Sequence[Key]) -> Iterator[tuple[Key, slice]]:
    """Yield the keys, and each group's subtotal behind it, inner groups first; keys come sorted by group."""
    levels = len(keys[0])
    starts = [0] * levels
    for position, key in enumerate(keys):
        yield key, slice(position, position + 1)
        following = keys[position + 1] if position + 1 < len(keys) else ()
        for level in range(levels - 1, 0, -1):
            if following[:level] != key[:level]:
                yield _padded((*key[:level], SUBTOTAL), levels), slice(starts[level], position + 1)
                starts[level] = position + 1


def _padded(key: Key, levels: int) -> Key:
    return (*key, *[""] * (levels - len(key)))


def _cells(gathered: Gathered, down: _Lines, across: _Lines, layout: PivotLayout) -> tuple[Line, ...]:
    aggregate = layout.aggregate

    def made(rows_covered: slice, columns_covered: slice) -> Any:
        covered = (
            gathered.get((row, column)) for row in down.data[rows_covered] for column in across.data[columns_covered]
        )
        held = [values for values in covered if values is not None]
        return aggregate.of(held[0] if len(held) == 1 else list(chain.from_iterable(held))) if held else None

    cells = tuple([made(row, column) for column in across.covers] for row in down.covers)
    if aggregate.fraction_of is None:
        return cells
    every_row, every_column = slice(0, len(down.data)), slice(0, len(across.data))
    if aggregate.fraction_of is FractionOf.TOTAL:
        whole = made(every_row, every_column)
        return tuple([_fraction(cell, whole) for cell in line] for line in cells)
    if (aggregate.fraction_of is FractionOf.COLUMNS) is not layout.metrics_on_rows:
        wholes = [made(every_row, column) for column in across.covers]
        return tuple([_fraction(cell, whole) for cell, whole in zip(line, wholes, strict=True)] for line in cells)
    wholes = [made(row, every_column) for row in down.covers]
    return tuple([_fraction(cell, whole) for cell in line] for line, whole in zip(cells, wholes, strict=True))


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


def _column(frame: Frame, name: str) -> list[Any]:
    for column in frame.columns:
        if column.name == name:
            return column.to_list()
    raise UnknownNameError(name, place="the result to be pivoted", known=frame.names)


class _Label(str):
    """The text of a value, which sorts as the value does: numbers by size, the rest by its text, null last.

    Two labels are the same when their values are: null is not the text NULL.
    """

    __slots__ = ("order",)
    order: tuple[int, Any]

    def __eq__(self, other: object) -> bool:
        return self.order == other.order if isinstance(other, _Label) else str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


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


Values = Sequence[Any]


class FractionOf(StrEnum):
    """What a cell is shown as a fraction of."""

    TOTAL = "Total"
    ROWS = "Rows"
    COLUMNS = "Columns"


@dataclass(frozen=True, slots=True, kw_only=True)
class PivotAggregate:
    """An aggregate by its name in the form; `fraction_of` None shows the value itself."""

    name: str
    combine: Callable[[Values], Any]
    fraction_of: FractionOf | None = None

    @property
    def total_label(self) -> str:
        """What totals are called."""
        return f"Total ({self.name})"

    def of(self, values: Values) -> Any:
        """Return the aggregate of the values that are not None, None where there is none but for counts.

        Raises:
            QueryError: it cannot combine these values.
        """
        held = [value for value in values if value is not None]
        try:
            return self.combine(held)
        except (TypeError, statistics.StatisticsError):
            raise QueryError(
                f"the pivot aggregate {self.name!r} needs numbers; choose Count, First or another"
            ) from None


def _unless_empty(combine: Callable[[Values], Any]) -> Callable[[Values], Any]:
    return lambda values: combine(values) if values else None


def _unique_text(values: Values) -> str:
    return ", ".join(map(str, dict.fromkeys(values)))


def _variance(values: Values) -> float:
    return statistics.variance(map(float, values)) if len(values) > 1 else 0


def _deviation(values: Values) -> float:
    return statistics.stdev(map(float, values)) if len(values) > 1 else 0


_PLAIN: Final[Mapping[str, Callable[[Values], Any]]] = {
    "Count": len,
    "Count Unique Values": lambda values: len(set(values)),
    "List Unique Values": _unless_empty(_unique_text),
    "Sum": _unless_empty(sum),
    "Average": _unless_empty(lambda values: sum(values) / len(values)),
    "Median": _unless_empty(statistics.median),
    "Sample Variance": _unless_empty(_variance),
    "Sample Standard Deviation": _unless_empty(_deviation),
    "Minimum": _unless_empty(min),
    "Maximum": _unless_empty(max),
    "First": _unless_empty(lambda values: values[0]),
    "Last": _unless_empty(lambda values: values[-1]),
}


def pivot_aggregate(name: str) -> PivotAggregate:
    """Return the aggregate of this name, for example `Sum` or `Count as Fraction of Rows`; else UnknownNameError."""
    base, _, of = name.partition(" as Fraction of ")
    if of in tuple(FractionOf) and base in ("Sum", "Count"):
        return PivotAggregate(name=name, combine=_PLAIN[base], fraction_of=FractionOf(of))
    if name not in _PLAIN:
        fractions = [f"{base} as Fraction of {of}" for base in ("Sum", "Count") for of in FractionOf]
        raise UnknownNameError(name, place="form_data.aggregateFunction", known=[*_PLAIN, *fractions])
    return PivotAggregate(name=name, combine=_PLAIN[name])

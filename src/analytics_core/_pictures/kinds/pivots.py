"""Pivot tables: groups down and across, with an aggregate where they meet."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from analytics_core._display.blocks import counted
from analytics_core._pictures.cell_colours import conditional_fills
from analytics_core._pictures.drawing import CannotDrawError, ChartView, Drawing, PictureKind
from analytics_core._pictures.grid import GridColumn, draw_grid, fitting_rows
from analytics_core._pictures.number_formats import NumberFormat
from analytics_core._pictures.parts_data import texts_of

_MOST_ROWS: Final = 200
_MOST_COLUMNS: Final = 40
_TOTAL: Final = "Total"
_Key = tuple[str, ...]

_AGGREGATES: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "Sum": math.fsum,
    "Average": statistics.fmean,
    "Median": statistics.median,
    "Minimum": min,
    "Maximum": max,
    "First": lambda values: values[0],
    "Last": lambda values: values[-1],
    "Count": len,
    "Count Unique Values": lambda values: len(set(values)),
    "Sample Variance": lambda values: statistics.variance(values) if len(values) > 1 else 0.0,
    "Sample Standard Deviation": lambda values: statistics.stdev(values) if len(values) > 1 else 0.0,
}
_SHARES: Final = {"Total": (False, False), "Rows": (True, False), "Columns": (False, True)}
_PERCENT: Final = NumberFormat(spec=".1%")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cube:
    """The numbers of a pivot table by the keys of their row and column."""

    rows: Sequence[_Key]
    columns: Sequence[_Key]
    values: Mapping[tuple[_Key, _Key], Sequence[float]]
    aggregate: str

    def cell(self, row: _Key | None, column: _Key | None) -> float | None:
        """Return the aggregate of a row and a column; None stands for all of them."""
        told = self.aggregate
        share = told.partition(" as Fraction of ")
        if share[1]:
            of_row, of_column = _SHARES.get(share[2], (False, False))
            whole = self._plain(share[0], row if of_row else None, column if of_column else None)
            part = self._plain(share[0], row, column)
            return part / whole if part is not None and whole else None
        return self._plain(told, row, column)

    def _plain(self, name: str, row: _Key | None, column: _Key | None) -> float | None:
        if row is not None and column is not None:
            found = self.values.get((row, column), ())
        else:
            found = [
                value
                for (own_row, own_column), values in self.values.items()
                if (row is None or own_row == row) and (column is None or own_column == column)
                for value in values
            ]
        return float(_AGGREGATES[name](found)) if found else None


def _pivot(view: ChartView) -> Drawing:
    table, form = view.table, view.form
    metrics = [name for name in form.metrics("metrics") if name in table.names]
    groups = [name for name in form.columns("groupbyRows", "groupbyColumns") if name in table.names]
    metrics = metrics or [name for name in table.names if table.is_numeric(name) and name not in groups]
    if not metrics:
        raise CannotDrawError("the answer has no column of numbers.")
    down = [name for name in form.columns("groupbyRows") if name in table.names]
    across = [name for name in form.columns("groupbyColumns") if name in table.names and name not in down]
    if form.flag("transposePivot"):
        down, across = across, down
    if not down and not across:
        down = [name for name in table.names if name not in metrics]
    in_rows = form.get("metricsLayout") == "ROWS"
    cube = _cube(view, down, across, metrics, in_rows=in_rows)
    heads = [table.label(name) for name in down] + (["metric"] if in_rows else [])
    return _drawing(view, cube, heads or [""], [table.label(name) for name in metrics])


def _cube(
    view: ChartView, down: Sequence[str], across: Sequence[str], metrics: Sequence[str], *, in_rows: bool
) -> _Cube:
    table = view.table
    texts = {name: texts_of(view, table, name, "date_format") for name in (*down, *across)}
    values: dict[tuple[_Key, _Key], list[float]] = {}
    first = view.form.flag("combineMetric")
    for metric in metrics:
        label, numbers = table.label(metric), table.numbers(metric)
        for place, value in enumerate(numbers):
            row, column = (tuple(texts[name][place] for name in names) for names in (down, across))
            if in_rows:
                row = (*row, label)
            else:
                column = (*column, label) if first or not across else (label, *column)
            if value is not None:
                values.setdefault((row, column), []).append(value)
    aggregate = view.form.text("aggregateFunction") or "Sum"
    if aggregate.partition(" as Fraction of ")[0] not in _AGGREGATES:
        view.form.reject("aggregateFunction", "is not drawn; sums are")
        aggregate = "Sum"
    if not values:
        raise CannotDrawError("there is no number.")
    rows, columns = list(dict.fromkeys(row for row, _ in values)), list(dict.fromkeys(column for _, column in values))
    cube = _Cube(rows=rows, columns=columns, values=values, aggregate=aggregate)
    ranks = {table.label(metric): f"{rank:04d}" for rank, metric in enumerate(metrics)}
    rows = _ordered(rows, view.form.text("rowOrder"), lambda key: cube.cell(key, None) or 0.0, ranks)
    columns = _ordered(columns, view.form.text("colOrder"), lambda key: cube.cell(None, key) or 0.0, ranks)
    return _Cube(rows=rows, columns=columns, values=values, aggregate=aggregate)


def _ordered(
    keys: Sequence[_Key], order: str | None, value: Callable[[_Key], float], ranks: Mapping[str, str]
) -> list[_Key]:
    """Return keys sorted by their texts or values; metrics stay in the order of the form."""
    reverse = bool(order) and str(order).endswith("z_to_a")
    if order and order.startswith("value"):
        return sorted(keys, key=lambda key: (value(key), key), reverse=reverse)
    return sorted(keys, key=lambda key: tuple(ranks.get(part, part) for part in key), reverse=reverse)


def _drawing(view: ChartView, cube: _Cube, heads: Sequence[str], metrics: Sequence[str]) -> Drawing:
    rows, columns = cube.rows[:_MOST_ROWS], cube.columns[:_MOST_COLUMNS]
    fitting = fitting_rows(view)
    notes = []
    if len(columns) < len(cube.columns):
        notes.append(f"Shows {len(columns)} of {len(cube.columns):,} columns.")
    write = _writer(view, cube)
    levels = max(len(columns[0]), 1)
    has_total = view.form.flag("colTotals")
    grid = _head_columns(rows, heads, levels, has_total=has_total)
    for column in columns:
        numbers = [cube.cell(row, column) for row in rows]
        total = write(cube.cell(None, column)) if has_total else None
        name = column[-1] if len(metrics) == 1 else next((part for part in column if part in metrics), "")
        fills = conditional_fills(view, metrics[0] if len(metrics) == 1 else name, numbers)
        headers = column if any(column) else (metrics[0],)
        grid.append(
            GridColumn(
                headers=headers, texts=list(map(write, numbers[:fitting])), align="right", fills=fills, total=total
            )
        )
    if view.form.flag("rowTotals") and len(columns) > 1:
        totals = [write(cube.cell(row, None)) for row in rows[:fitting]]
        headers = (*[""] * (levels - 1), _TOTAL)
        whole = write(cube.cell(None, None)) if has_total else None
        grid.append(GridColumn(headers=headers, texts=totals, align="right", total=whole))
    told = f"Pivot table of {', '.join(metrics)} ({cube.aggregate}): {counted(len(cube.rows), 'row')} by "
    told += f"{counted(len(cube.columns), 'column')}"
    return draw_grid(view, grid, len(rows), told, notes, all_rows=len(cube.rows))


def _head_columns(rows: Sequence[_Key], heads: Sequence[str], levels: int, *, has_total: bool) -> list[GridColumn]:
    found = []
    for level, head in enumerate(heads):
        texts = [row[level] if level < len(row) else "" for row in rows]
        repeated = frozenset(
            place for place in range(1, len(rows)) if rows[place][: level + 1] == rows[place - 1][: level + 1]
        )
        headers = (*[""] * (levels - 1), head)
        total = (_TOTAL if not level else "") if has_total else None
        found.append(GridColumn(headers=headers, texts=texts, is_head=True, total=total, repeated=repeated))
    return found


def _writer(view: ChartView, cube: _Cube) -> Callable[[float | None], str]:
    form = _PERCENT if " as Fraction of " in cube.aggregate else view.number_format("valueFormat")
    return lambda value: "" if value is None else form.text(value)


KINDS: Final = (PictureKind(name="pivot_table_v2", noun="pivot table", draw=_pivot),)

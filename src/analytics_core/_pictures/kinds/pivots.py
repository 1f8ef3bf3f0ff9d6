"""Pivot tables: groups down and across, with an aggregate where they meet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final

from analytics_core._pictures import cells
from analytics_core._pictures.cell_colours import conditional_fills
from analytics_core._pictures.drawing import CannotDrawError, ChartView, Drawing, PictureKind
from analytics_core._pictures.form_fields import FormFields
from analytics_core._pictures.grid import GridColumn, draw_grid, fitting_rows
from analytics_core._pictures.number_formats import NumberFormat
from analytics_core._pictures.time_formats import moment_text
from analytics_core._tools.display.blocks import counted
from analytics_core._tools.pivots import (
    Key,
    Label,
    PivotAggregate,
    PivotLayout,
    PivotOrder,
    PivotTable,
    pivot,
    pivot_aggregate,
)
from analytics_core.errors import AnalyticsError, UnknownNameError

_MOST_ROWS: Final = 200
_MOST_COLUMNS: Final = 40
_METRIC: Final = "metric"
_PERCENT: Final = NumberFormat(spec=".1%")


def _pivot(view: ChartView) -> Drawing:
    layout = _layout(view)
    table = view.table
    columns = _measured({name: list(map(cells.plain, table.values(name))) for name in layout.metrics})
    columns |= {name: _labelled(view, name) for name in (*layout.rows, *layout.columns)}
    if all(value is None for name in layout.metrics for value in columns[name]):
        raise CannotDrawError("there is no number.")
    try:
        grid = pivot(columns, layout, text=str, limits=(_MOST_ROWS, _MOST_COLUMNS))
    except AnalyticsError as error:
        raise CannotDrawError(f"{error.message}.") from error
    return _drawing(view, layout, grid)


def _layout(view: ChartView) -> PivotLayout:
    table, form = view.table, view.form
    groups = [name for name in form.columns("groupbyRows", "groupbyColumns") if name in table.names]
    metrics = [name for name in form.metrics("metrics") if name in table.names]
    metrics = metrics or [name for name in table.names if table.is_numeric(name) and name not in groups]
    if not metrics:
        raise CannotDrawError("the answer has no column of numbers.")
    down = [name for name in form.columns("groupbyRows") if name in table.names]
    across = [name for name in form.columns("groupbyColumns") if name in table.names]
    if form.flag("transposePivot"):
        down, across = across, down
    in_rows = form.get("metricsLayout") == "ROWS"
    totals = form.flag("rowTotals"), form.flag("colTotals")
    row_totals, column_totals = reversed(totals) if in_rows else totals
    return PivotLayout(
        rows=tuple(down if down or across else [name for name in table.names if name not in metrics]),
        columns=tuple(across),
        metrics=tuple(metrics),
        aggregate=_aggregate(form),
        combine_metrics=form.flag("combineMetric"),
        metrics_on_rows=in_rows,
        row_totals=row_totals,
        column_totals=column_totals,
        row_order=_order(form, "rowOrder"),
        column_order=_order(form, "colOrder"),
    )


def _aggregate(form: FormFields) -> PivotAggregate:
    try:
        return pivot_aggregate(form.text("aggregateFunction") or "Sum")
    except UnknownNameError:
        form.reject("aggregateFunction", "is not drawn; sums are")
        return pivot_aggregate("Sum")


def _order(form: FormFields, name: str) -> PivotOrder:
    order = form.text(name) or PivotOrder.LABEL
    if order not in tuple(PivotOrder):
        form.reject(name, "is no order")
        return PivotOrder.LABEL
    return PivotOrder(order)


def _labelled(view: ChartView, name: str) -> list[Any]:
    """Return the values of a column whose values are labels; moments as milliseconds, which sort by time."""
    table = view.table
    return table.moments(name) if table.is_temporal(name) else [cells.plain(value) for value in table.values(name)]


def _measured(columns: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Return the values of metrics so that numbers add up; those that cannot be drawn are None.

    Decimal numbers add up with floats only as such; without any, they keep their digits.
    """
    has_floats = any(isinstance(value, float | timedelta) for column in columns.values() for value in column)

    def measured(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal | timedelta):
            return value
        number = cells.number(value)
        return number if number is None or isinstance(number, int) else float(number) if has_floats else value

    return {name: list(map(measured, column)) for name, column in columns.items()}


def _drawing(view: ChartView, layout: PivotLayout, grid: PivotTable) -> Drawing:
    heads = _head_columns(view, layout, grid)
    columns = [*heads, *_number_columns(view, layout, grid)]
    names = [view.table.label(name) for name in layout.metrics]
    counts = counted(grid.row_groups, "row"), counted(grid.column_groups, "column")
    summary = f"Pivot table of {', '.join(names)} ({layout.aggregate.name}): {counts[0]} by {counts[1]}"
    rows, all_rows = (count - _has_total(grid) for count in (len(grid.row_keys), grid.row_count))
    all_columns = len(heads) + grid.column_count
    return draw_grid(view, columns, rows, summary, (), all_rows=all_rows, all_columns=all_columns)


def _has_total(grid: PivotTable) -> bool:
    """Tell whether the last row is the total of all."""
    return len(grid.row_keys) - 1 in grid.row_totals


def _head_columns(view: ChartView, layout: PivotLayout, grid: PivotTable) -> list[GridColumn]:
    has_total = _has_total(grid)
    rows = grid.row_keys[: len(grid.row_keys) - has_total]
    texts = _label_texts(view, layout, rows, down=True)
    blank = [""] * (len(_levels(layout, down=False)) - 1)
    found = []
    for level, name in enumerate(_levels(layout, down=True)):
        repeated = (place for place in range(1, len(rows)) if rows[place][: level + 1] == rows[place - 1][: level + 1])
        found.append(
            GridColumn(
                headers=(*blank, view.table.label(name) if name in layout.rows else name),
                texts=[line[level] for line in texts],
                is_head=True,
                total=str(grid.row_keys[-1][level]) if has_total else None,
                repeated=frozenset(repeated),
            )
        )
    return found


def _number_columns(view: ChartView, layout: PivotLayout, grid: PivotTable) -> Iterator[GridColumn]:
    keys = grid.column_keys
    write, has_total, fitting = _writer(view, layout), _has_total(grid), fitting_rows(view)
    for place, (key, texts) in enumerate(zip(keys, _label_texts(view, layout, keys, down=False), strict=True)):
        values = [line[place] for line in grid.cells[: len(grid.cells) - has_total]]
        own = (part for part in key if not isinstance(part, Label) and part in layout.metrics)
        metric = layout.metrics[0] if len(layout.metrics) == 1 else next(own, "")
        coloured = [None if row in grid.row_totals else value for row, value in enumerate(values)]
        yield GridColumn(
            headers=_headers(texts),
            texts=list(map(write, values[:fitting])),
            align="right",
            fills=[] if place in grid.column_totals else conditional_fills(view, view.table.label(metric), coloured),
            total=write(grid.cells[-1][place]) if has_total else None,
        )


def _levels(layout: PivotLayout, *, down: bool) -> tuple[str, ...]:
    """Return the columns whose values label the rows or the columns, from the outermost level."""
    names = layout.rows if down else layout.columns
    if down is not layout.metrics_on_rows:
        return names or ("",)
    return (*names, _METRIC) if layout.combine_metrics else (_METRIC, *names)


def _label_texts(view: ChartView, layout: PivotLayout, keys: Sequence[Key], *, down: bool) -> list[tuple[str, ...]]:
    """Return what people read of keys: values in the formats of the form, metrics by their verbose names."""
    writers = [_label_writer(view, layout, name) for name in _levels(layout, down=down)]
    return [tuple(write(part) for write, part in zip(writers, key, strict=True)) for key in keys]


def _label_writer(view: ChartView, layout: PivotLayout, name: str) -> Callable[[str], str]:
    table = view.table
    is_temporal = name in table.names and table.is_temporal(name)
    spec, grain = view.time_format("date_format"), view.form.text("time_grain_sqla")

    def write(part: str) -> str:
        if not isinstance(part, Label):
            return table.label(part) if part in layout.metrics else part
        return moment_text(part.value, spec, grain=grain) if is_temporal else cells.text(part.value)

    return write


def _headers(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lines above a column; the name of a total stands in the last one, above its numbers."""
    filled = tuple(filter(None, texts))
    return (*filled[:-1], *[""] * (len(texts) - len(filled)), *filled[-1:])


def _writer(view: ChartView, layout: PivotLayout) -> Callable[[Any], str]:
    form = _PERCENT if layout.aggregate.fraction_of is not None else view.number_format("valueFormat")

    def write(value: Any) -> str:
        if value is None:
            return ""
        number = cells.number(value)
        return cells.text(value) if number is None or isinstance(value, str) else form.text(number)

    return write


KINDS: Final = (PictureKind(name="pivot_table_v2", noun="pivot table", draw=_pivot),)

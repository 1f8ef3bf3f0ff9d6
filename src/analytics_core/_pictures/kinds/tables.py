"""Tables of rows or groups: with formats, bars, colours and totals, and in place of a kind that is not drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from analytics_core._pictures import cells
from analytics_core._pictures.cell_colours import conditional_fills, has_conditions
from analytics_core._pictures.drawing import CannotDrawError, ChartView, Drawing, PictureKind
from analytics_core._pictures.grid import GridColumn, draw_grid, fitting_rows
from analytics_core._pictures.number_formats import NumberFormat, number_format, with_minus
from analytics_core._pictures.table import Table
from analytics_core._pictures.time_formats import moment_text, time_format
from analytics_core._tools.display.blocks import counted
from analytics_core._tools.display.values import column_texts

_MOST_ROWS: Final = 200
_MOST_COLUMNS: Final = 60
_COUNT: Final = "rowcount"
_SHARE: Final = NumberFormat(spec=",.2%")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """A column of the answer with what the form says of it."""

    name: str
    config: Mapping[str, Any]
    is_number: bool


def _table(view: ChartView) -> Drawing:
    table = view.table
    if not table.names:
        raise CannotDrawError("the answer has no columns.")
    return as_table(view)


def as_table(view: ChartView, note: str | None = None) -> Drawing:
    """Return the first answer as a table; a note tells why it is one."""
    table = next((one for one in view.tables if one.rows and one.names), view.table)
    columns = [_column(view, table, name) for name in table.names[:_MOST_COLUMNS]]
    visible = [column for column in columns if column.config.get("visible", True) is not False] or columns
    totals = _totals(view, table)
    notes = [note] if note else []
    drawn_columns = [
        _grid_column(view, table, column, totals, is_first=not place) for place, column in enumerate(visible)
    ]
    summary = f"Table of {counted(table.rows, 'row')}: {', '.join(table.label(name) for name in table.names[:10])}"
    rows = min(table.rows, _MOST_ROWS)
    all_columns = len(visible) + len(table.names[_MOST_COLUMNS:])
    all_rows = max(_count(view), table.rows)
    return draw_grid(view, drawn_columns, rows, summary, notes, all_rows=all_rows, all_columns=all_columns)


def _column(view: ChartView, table: Table, name: str) -> _Column:
    config = view.form.mapping("column_config").get(name)
    is_number = table.is_numeric(name)
    return _Column(name=name, config=config if isinstance(config, Mapping) else {}, is_number=is_number)


def _count(view: ChartView) -> int:
    """Return how many rows the server counted, where the form shows pages."""
    for table in view.tables[1:]:
        if _COUNT in table.names and table.rows:
            return int(table.numbers(_COUNT)[0] or 0)
    return 0


def _totals(view: ChartView, table: Table) -> Table | None:
    if not view.form.flag("show_totals") or len(view.tables) < 2:
        return None
    last = view.tables[-1]
    is_one = last.rows == 1 and _COUNT not in last.names and set(last.names) <= set(table.names)
    return last if is_one else None


def _grid_column(view: ChartView, table: Table, column: _Column, totals: Table | None, *, is_first: bool) -> GridColumn:
    name, config = column.name, column.config
    numbers = table.numbers(name)[:_MOST_ROWS] if column.is_number else []
    total, is_summed = None, totals is not None and name in totals.names
    texts = _texts(view, table, column, totals.values(name)[:1] if totals is not None and is_summed else ())
    if totals is not None:
        total = "Total" if is_first and not is_summed else ""
        if is_summed:
            total = texts.pop()
    label = config.get("customColumnName")
    align = config.get("horizontalAlign")
    width = config.get("columnWidth")
    return GridColumn(
        headers=(cells.shortened(label) if isinstance(label, str) and label else table.label(name),),
        texts=texts,
        align=align if align in ("left", "right", "center") else "right" if column.is_number else "left",
        fills=conditional_fills(view, name, numbers or table.values(name)[:_MOST_ROWS]),
        bars=_bars(view, column, numbers),
        total=total,
        width_px=float(width) if isinstance(width, int | float) and not isinstance(width, bool) and width > 0 else None,
    )


def _texts(view: ChartView, table: Table, column: _Column, total: Sequence[Any]) -> list[str]:
    """Return the texts of the cells that can be shown, and of the total behind them where there is one."""
    name, values = column.name, [*table.values(column.name)[: fitting_rows(view)], *total]
    if column.is_number:
        return _number_texts(view, column, list(map(cells.plain, values)))
    if not table.is_temporal(name):
        return [cells.text(value) for value in values]
    spec = time_format(column.config.get("d3TimeFormat")) or view.time_format("table_timestamp_format")
    grain = view.form.text("time_grain_sqla") if not spec else None
    return [moment_text(cells.moment_ms(value), spec, grain=grain) for value in values]


def _number_texts(view: ChartView, column: _Column, values: Sequence[Any]) -> list[str]:
    """Return the texts of numbers: those without a format as tables of notebooks have them."""
    usual = [with_minus(text or "") for text in column_texts(values, name=column.name)]
    numbers = map(cells.number, values)
    return [
        cells.text(value) if number is None else _formatted(view, column, number) or text
        for value, number, text in zip(values, numbers, usual, strict=True)
    ]


def _formatted(view: ChartView, column: _Column, value: float) -> str | None:
    """Return a number in the format that the form names for its column; None where it names none."""
    config = column.config
    small = config.get("d3SmallNumberFormat")
    spec = small if small and abs(value) < 1 else config.get("d3NumberFormat")
    currency = config.get("currencyFormat")
    if spec or currency:
        found = number_format(spec, currency)
        if found is not None:
            return found.text(value)
        view.form.reject("column_config", f"has no number format for {cells.shortened(column.name, 40)}")
    return _SHARE.text(value) if column.name.startswith("%") else None


def _bars(view: ChartView, column: _Column, numbers: Sequence[float | None]) -> list[tuple[float, float, str] | None]:
    """Return the bars behind the numbers of a column: from its zero, or for each from the left edge."""
    cell_bars = column.config.get("showCellBars")
    wanted = view.form.flag("show_cell_bars", absent=True) if cell_bars is None else cell_bars is True
    if cell_bars is None and view.form.get("show_cell_bars") is None and has_conditions(view, column.name):
        return []  # bars that nobody asked for would cover the colours
    is_table = str(view.form.get("viz_type")) in ("table", "ag-grid-table")
    measured = set(view.form.metrics("metrics", "percent_metrics"))
    measured |= {f"%{name}" for name in measured}
    is_measure = column.name in measured or (not measured and view.form.get("query_mode") == "raw")
    known = [value for value in numbers if value is not None]
    if not (wanted and is_table and is_measure and known) or not any(known):
        return []
    aligned = _flag(view, column, "alignPositiveNegative", "align_pn", absent=False)
    coloured = _flag(view, column, "colorPositiveNegative", "color_pn", absent=False)
    low, high = (0.0, max(abs(value) for value in known)) if aligned else (min(0.0, *known), max(0.0, *known))
    found: list[tuple[float, float, str] | None] = []
    for value in numbers:
        if value is None:
            found.append(None)
            continue
        colour = view.colours.neutral if not coloured else view.colours.good if value >= 0 else view.colours.bad
        ends = (0.0, abs(value) / high) if aligned else sorted((-low / (high - low), (value - low) / (high - low)))
        found.append((ends[0], ends[1], colour))
    return found


def _flag(view: ChartView, column: _Column, own: str, common: str, *, absent: bool) -> bool:
    option = column.config.get(own)
    return option if isinstance(option, bool) else view.form.flag(common, absent=absent)


KINDS: Final = (
    PictureKind(name="table", noun="table", draw=_table),
    PictureKind(name="ag-grid-table", noun="table", draw=_table),
)

"""Result type `post_processed`: what the table and pivot charts do with their rows before they show them.

Only the chart kinds `table` and `pivot_table_v2` do anything; every other result stays as it is. `data` becomes a map
of column label to a map of row label to value; columns carry their verbose names, labels of several levels are joined
by a blank, and of those that would read alike the later ones get a number. The form fields are `groupbyRows`,
`groupbyColumns` and `metrics`, in which a name counts once, `aggregateFunction`, `metricsLayout` (`ROWS`, `COLUMNS`),
`combineMetric`, `transposePivot`, `rowTotals` and `colTotals`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any, Final

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.frames.values import decimal_text, json_value, text_value
from analytics_core._engine.results.answer import QueryResult
from analytics_core._engine.results.rows import PlainRows, coltypes
from analytics_core._records.chart_form import column_label, metric_label
from analytics_core._tools.display.text import distinct_texts
from analytics_core._tools.pivots import PivotLayout, PivotTable, pivot, pivot_aggregate

TABLE: Final = "table"
PIVOT_TABLE: Final = "pivot_table_v2"


def client_processed(result: QueryResult, *, form_data: Mapping[str, Any]) -> QueryResult:
    """Return the result as the chart kind of `form_data` shows it.

    Raises:
        UnknownNameError: the form names a column or an aggregate that does not exist.
        QueryError: the aggregate does not fit the values.
        ResultTooLargeError: the pivot table would have too many cells.
    """
    kind = form_data.get("viz_type")
    if not len(result.frame) or kind not in (TABLE, PIVOT_TABLE):
        return result
    titles = _titles(result)
    frame = Frame(columns=tuple(replace(column, name=titles[column.name]) for column in result.frame.columns))
    if kind == TABLE:
        return _as_table(result, frame)
    layout = _layout(form_data, titles)
    return _as_grid(result, pivot(_columns(frame, layout.metrics), layout, text=text_value))


def _titles(result: QueryResult) -> dict[str, str]:
    """Return the verbose name of each column by its name; of columns that share one the later ones get a number."""
    names = result.frame.names
    return dict(zip(names, distinct_texts(result.verbose_names.get(name) or name for name in names), strict=True))


def _columns(frame: Frame, metrics: Sequence[str]) -> dict[str, list[Any]]:
    """Return the columns; decimals of metrics that add up with floats are floats, others keep their digits."""
    columns = {column.name: column.to_list() for column in frame.columns}
    has_floats = any(isinstance(value, float) for name in metrics for value in columns.get(name, ()))
    number = partial(_number, has_floats=has_floats)
    return {name: list(map(number if name in metrics else _label_value, values)) for name, values in columns.items()}


def _number(value: Any, *, has_floats: bool) -> Any:
    if not isinstance(value, Decimal):
        return value
    if not value.is_finite():
        return None
    return float(value) if has_floats else Decimal(decimal_text(value))


def _label_value(value: Any) -> Any:
    """Return a decimal as the number that reads as it does, if there is one; else the value."""
    if not isinstance(value, Decimal):
        return value
    near = json_value(value)
    return near if isinstance(near, int | float) and Decimal(repr(near)) == value else value


def _cell(value: Any) -> Any:
    """Return a cell as JSON has it, but for numbers of so many digits that they are texts there."""
    cell = json_value(value) if isinstance(value, Decimal) else value
    return value if isinstance(cell, str) else cell


def _as_table(result: QueryResult, frame: Frame) -> QueryResult:
    index = tuple(map(str, range(len(frame))))
    data = {column.name: dict(zip(index, column.to_list(), strict=True)) for column in frame.columns}
    parts = [result.label_map.get(name, (name,)) for name in result.frame.names]
    return replace(
        result,
        colnames=frame.names,
        indexnames=index,
        label_map=dict(zip(frame.names, parts, strict=True)),
        verbose_names={},
        row_set=PlainRows(data, frame=frame),
    )


def _as_grid(result: QueryResult, grid: PivotTable) -> QueryResult:
    index, names = _flat(grid.row_keys), _flat(grid.column_keys)
    lines = tuple(list(map(_cell, line)) for line in grid.turned().cells)
    columns = tuple(
        FrameColumn(name=name, kind=ValueKind.UNKNOWN, values=line) for name, line in zip(names, lines, strict=True)
    )
    labels = FrameColumn(name="", kind=ValueKind.TEXT, values=list(index))
    data = {name: dict(zip(index, line, strict=True)) for name, line in zip(names, lines, strict=True)}
    return replace(
        result,
        colnames=names,
        indexnames=index,
        coltypes=coltypes(Frame(columns=columns)),
        rowcount=len(index),
        label_map={name: tuple(map(str, filter(None, key))) for name, key in zip(names, grid.column_keys, strict=True)},
        verbose_names={},
        row_set=PlainRows(data, frame=Frame(columns=(labels, *columns))),
    )


def _flat(keys: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(distinct_texts(" ".join(key).strip() for key in keys))


def _layout(form_data: Mapping[str, Any], titles: Mapping[str, str]) -> PivotLayout:
    rows = _names(form_data.get("groupbyRows"), column_label, titles)
    columns = _names(form_data.get("groupbyColumns"), column_label, titles)
    if form_data.get("transposePivot"):
        rows, columns = columns, rows
    return PivotLayout(
        rows=rows,
        columns=columns,
        metrics=_names(form_data.get("metrics"), metric_label, titles),
        aggregate=pivot_aggregate(str(form_data.get("aggregateFunction") or "Sum")),
        combine_metrics=bool(form_data.get("combineMetric")),
        metrics_on_rows=form_data.get("metricsLayout") == "ROWS",
        row_totals=bool(form_data.get("rowTotals")),
        column_totals=bool(form_data.get("colTotals")),
    )


def _names(given: Any, label: Callable[[Any], str], titles: Mapping[str, str]) -> tuple[str, ...]:
    """Return the titles of columns and metrics that the form gives as names or ad-hoc objects, each once."""
    items = given if isinstance(given, list | tuple) else ()
    labels = [label(item) if isinstance(item, str | Mapping) else str(item) for item in items]
    return tuple(dict.fromkeys(titles.get(one, one) for one in labels))

"""Points by two numbers, and places on earth without a map under them."""

from __future__ import annotations

import math
from typing import Any, Final

from analytics_core._pictures import axes
from analytics_core._pictures.drawing import MOST_MARKS, CannotDrawError, ChartView, Drawing, PictureKind
from analytics_core._pictures.legends import legend_of
from analytics_core._pictures.parts_data import below_zero, texts_of
from analytics_core._pictures.table import Table
from analytics_core._tools.display.blocks import counted


def _bubble(view: ChartView) -> Drawing:
    table, form = view.table, view.form
    names = [
        next((name for name in form.metrics(field)[:1] if name in table.names), None) for field in ("x", "y", "size")
    ]
    numeric = [name for name in table.names if table.is_numeric(name)]
    free = iter([name for name in numeric if name not in names])
    across, up = (name or next(free, None) for name in names[:2])
    size = names[2]
    if across is None or up is None:
        raise CannotDrawError("the answer needs two columns of numbers.")
    entity = next((name for name in form.columns("entity") if name in table.names), None)
    series = next((name for name in form.columns("series") if name in table.names), entity)
    rows = _bubble_rows(view, table, (across, up, size), (entity, series))
    notes = below_zero((row["c2"] for row in rows), "drawn as the smallest bubbles") if size else []
    if len(rows) < table.rows:
        notes.append(f"Left out: {table.rows - len(rows):,} of {counted(table.rows, 'row')} without all numbers.")
    if len(rows) > MOST_MARKS:
        step = -(-len(rows) // MOST_MARKS)
        notes.append(f"Shows one of {step} points, of {len(rows):,} in all.")
        rows = rows[::step]
    layer = _bubble_layer(view, rows, (table.label(across), table.label(up), table.label(size) if size else None))
    fmt = view.number_format("y_axis_format")
    summary = f"Bubble chart of {table.label(up)} against {table.label(across)}: {counted(len(rows), 'point')}"
    if size:
        summary += f", sized by {table.label(size)}"
    if rows:
        best = max(rows, key=lambda row: row["c1"])
        named = best["c4"] or best["c3"]
        summary += f"; the highest is {named + ' with ' if named else ''}{fmt.text(best['c1'])}"
    return Drawing(layers=(layer,), description=summary, notes=tuple(notes))


def _bubble_rows(
    view: ChartView, table: Table, numbers: tuple[str, str, str | None], groups: tuple[str | None, str | None]
) -> list[dict[str, Any]]:
    columns = [table.numbers(name) if name else [1.0] * table.rows for name in numbers]
    texts = [texts_of(view, table, name) if name else [""] * table.rows for name in groups]
    rows = [
        {"c0": x, "c1": y, "c2": size, "c3": series, "c4": entity}
        for x, y, size, entity, series in zip(*columns, *texts, strict=True)
        if x is not None and y is not None and size is not None
    ]
    if not rows:
        raise CannotDrawError("no row has all of its numbers.")
    return sorted(rows, key=lambda row: -row["c2"])  # the small ones lie on the large ones


def _bubble_axes(
    view: ChartView, rows: list[dict[str, Any]], names: tuple[str, str, str | None]
) -> tuple[dict[str, Any], dict[str, Any]]:
    form = view.form
    logs = [
        axes.is_log(view, ("logXAxis", "x_log_scale"), [row["c0"] for row in rows]),
        axes.is_log(view, ("logYAxis", "y_log_scale"), [row["c1"] for row in rows]),
    ]
    across = axes.value_axis(
        view,
        view.number_format("xAxisFormat", "x_axis_format"),
        form.text("x_axis_title") or form.text("x_axis_label") or names[0],
        bounds=form.bounds("xAxisBounds", log=logs[0]),
        log=logs[0],
        zero=False,
    )
    up = axes.value_axis(
        view,
        view.number_format("y_axis_format"),
        form.text("y_axis_title") or form.text("y_axis_label") or names[1],
        bounds=form.bounds("y_axis_bounds", log=logs[1]),
        log=logs[1],
        zero=False,
    )
    across["axis"]["tickCount"] = max(2, view.size.width_px // 90)
    return across, up


def _bubble_layer(view: ChartView, rows: list[dict[str, Any]], names: tuple[str, str, str | None]) -> dict[str, Any]:
    form = view.form
    labels = list(dict.fromkeys(row["c3"] for row in rows))
    across, up = _bubble_axes(view, rows, names)
    largest = max(0.0, *(row["c2"] for row in rows)) or 1.0
    widest = min(max(form.number("max_bubble_size") or 25, 4), 100) * 0.8
    for row in rows:
        row["c5"] = (
            round(math.pi * max(widest * math.sqrt(max(row["c2"], 0.0) / largest), 2.5) ** 2, 1) if names[2] else 40
        )
    colour = {
        "field": "c3",
        "type": "nominal",
        "scale": {"domain": labels, "range": view.series_colours(labels)},
        "legend": legend_of(view, labels, symbol="circle"),
    }
    tips = [
        {"field": "c4", "type": "nominal", "title": "entity"},
        {"field": "c0", "type": "quantitative", "title": names[0]},
        {"field": "c1", "type": "quantitative", "title": names[1]},
    ]
    opacity = form.number("opacity")
    is_bounded = any({"domainMin", "domainMax"} & axis["scale"].keys() for axis in (across, up))
    mark: dict[str, Any] = {"type": "circle"} | ({"clip": True} if is_bounded else {})
    mark |= {"opacity": opacity if opacity is not None and 0 < opacity <= 1 else 0.6}
    mark |= {"stroke": view.colours.background, "strokeWidth": 0.5}
    size = {"field": "c5", "type": "quantitative", "scale": None, "legend": None}
    encoding = {
        "x": {"field": "c0", **across},
        "y": {"field": "c1", **up},
        "size": size,
        "color": colour,
        "tooltip": tips,
    }
    return {"data": {"values": rows}, "mark": mark, "encoding": encoding}


KINDS: Final = (PictureKind(name="bubble_v2", noun="bubble chart", draw=_bubble),)

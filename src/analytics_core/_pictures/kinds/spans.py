"""Steps and spans along an axis: waterfalls and Gantt charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from analytics_core._pictures import axes, cells
from analytics_core._pictures.drawing import CannotDrawError, ChartView, Drawing, PictureKind
from analytics_core._pictures.legends import legend_of
from analytics_core._pictures.parts_data import metric_column, texts_of
from analytics_core._pictures.text_metrics import text_width
from analytics_core._pictures.theme import LABEL_PX
from analytics_core._pictures.time_formats import moment_text
from analytics_core._tools.display.blocks import counted

_MOST_STEPS: Final = 150
_MOST_SPANS: Final = 1_000
_MOST_ROWS: Final = 60
_MOST_TEXTS: Final = 40


def _waterfall(view: ChartView) -> Drawing:
    table, form = view.table, view.form
    metric = metric_column(view, table, "metric")
    axis = next((name for name in form.columns("x_axis", "granularity_sqla") if name in table.names), None)
    others = [name for name in table.names if name != metric and not (name != axis and table.is_numeric(name))]
    axis = axis or (others[0] if others else None)
    if axis is None:
        raise CannotDrawError("the answer has no column for its axis.")
    split = next((name for name in form.columns("groupby") if name in table.names and name != axis), None)
    labels = texts_of(view, table, axis, "x_axis_time_format")
    parts = texts_of(view, table, split) if split else labels
    values = table.numbers(metric)
    steps = _steps(view, labels, parts, [value or 0 for value in values], has_parts=split is not None)
    missing = values.count(None)
    notes = [f"{counted(missing, 'step')} without a value: drawn as 0."] if missing else []
    if len(steps) > _MOST_STEPS:
        notes.append(f"Shows the first {_MOST_STEPS} of {len(steps):,} steps.")
        steps = steps[:_MOST_STEPS]
    names = cells.made_distinct(step["c0"] for step in steps)
    for step, name in zip(steps, names, strict=True):
        step["c0"] = name
    fmt = view.number_format("y_axis_format")
    layers = _waterfall_layers(view, steps, names, table.label(metric), table.label(axis))
    total = steps[-1]["c2"] if steps else 0.0
    summary = f"Waterfall of {table.label(metric)} by {table.label(axis)}: {counted(len(steps), 'step')}, which end at "
    summary += fmt.text(total)
    return Drawing(layers=tuple(layers), description=summary, notes=tuple(notes))


def _steps(
    view: ChartView, labels: Sequence[str], parts: Sequence[str], values: Sequence[float], *, has_parts: bool
) -> list[dict[str, Any]]:
    """Return the bars: each from the sum before it to the sum after it; with parts, a total after each place."""
    found: list[dict[str, Any]] = []
    at: float = 0
    for place, (label, part, value) in enumerate(zip(labels, parts, values, strict=True)):
        kind = "Increase" if value >= 0 else "Decrease"
        after = cells.total((at, value))
        found.append({"c0": part, "c1": at, "c2": after, "c3": kind, "c4": value})
        at = after
        is_last = place == len(labels) - 1 or labels[place + 1] != label
        if has_parts and is_last:
            found.append({"c0": label, "c1": 0.0, "c2": at, "c3": "Total", "c4": at})
    if not has_parts and view.form.flag("show_total", absent=True):
        found.append({"c0": "Total", "c1": 0.0, "c2": at, "c3": "Total", "c4": at})
    return found


def _waterfall_layers(
    view: ChartView, steps: list[dict[str, Any]], names: Sequence[str], measure: str, axis: str
) -> list[dict[str, Any]]:
    form, colours = view.form, view.colours
    fmt = view.number_format("y_axis_format")
    kinds = [kind for kind in ("Increase", "Decrease", "Total") if any(step["c3"] == kind for step in steps)]
    picked = {
        "Increase": form.rgb("increase_color") or colours.good,
        "Decrease": form.rgb("decrease_color") or colours.bad,
        "Total": form.rgb("total_color") or colours.neutral,
    }
    across = {"field": "c0", **axes.category_axis(view, names, form.text("x_axis_label") or axis)}
    totals = [step["c0"] for step in steps if step["c3"] == "Total"]
    if "values" in across["axis"] and len(totals) > 1:
        across["axis"]["values"] = totals
    up = axes.value_axis(view, fmt, form.text("y_axis_label") or measure)
    colour = {
        "field": "c3",
        "type": "nominal",
        "scale": {"domain": kinds, "range": [picked[kind] for kind in kinds]},
        "legend": legend_of(view, kinds, symbol="square"),
    }
    bars = {"x": across, "y": {"field": "c1", **up}, "y2": {"field": "c2"}, "color": colour}
    layers: list[dict[str, Any]] = [{"data": {"values": steps}, "mark": {"type": "bar"}, "encoding": bars}]
    if form.flag("show_value") and len(steps) <= _MOST_TEXTS:
        rows = [{"c0": step["c0"], "c2": max(step["c1"], step["c2"]), "c5": fmt.text(step["c4"])} for step in steps]
        encoding = {"x": across, "y": {"field": "c2", **up}, "text": {"field": "c5", "type": "nominal"}}
        size = LABEL_PX
        mark = {"type": "text", "baseline": "bottom", "dy": -3, "fontSize": size, "color": colours.text}
        widest = max(text_width(row["c5"], size) for row in rows)
        if widest <= (view.size.width_px - 90) / len(rows) + 4:
            layers.append({"data": {"values": rows}, "mark": mark, "encoding": encoding})
    return layers


def _gantt(view: ChartView) -> Drawing:
    table, form = view.table, view.form

    def column(field: str) -> str | None:
        return next((name for name in form.columns(field)[:1] if name in table.names), None)

    temporal = [name for name in table.names if table.is_temporal(name)]
    start, end = (
        column("start_time") or next(iter(temporal), None),
        column("end_time") or next(iter(temporal[1:]), None),
    )
    if start is None or end is None:
        raise CannotDrawError("the answer needs a column of starts and one of ends.")
    row = column("y_axis") or next((name for name in table.names if name not in (start, end)), None)
    series = column("series")
    labels = texts_of(view, table, row) if row else [""] * table.rows
    groups = texts_of(view, table, series) if series else [""] * table.rows
    spans: list[dict[str, Any]] = [
        {"c0": begins, "c1": ends, "c2": label, "c3": group}
        for begins, ends, label, group in zip(table.moments(start), table.moments(end), labels, groups, strict=True)
        if begins is not None and ends is not None and ends >= begins
    ]
    if not spans:
        raise CannotDrawError("no row has a start and an end after it.")
    remaining = table.rows - len(spans)
    notes = [f"Left out: {counted(remaining, 'row')} without a start and an end after it."] if remaining else []
    names = list(dict.fromkeys(span["c2"] for span in spans))
    if len(names) > _MOST_ROWS or len(spans) > _MOST_SPANS:
        known = set(names[:_MOST_ROWS])
        notes.append(f"Shows {min(len(names), _MOST_ROWS)} of {len(names):,} rows.")
        names, spans = names[:_MOST_ROWS], [span for span in spans if span["c2"] in known][:_MOST_SPANS]
    layers = _gantt_layers(view, spans, names, table.label(row) if row else "", has_series=series is not None)
    first, last = min(span["c0"] for span in spans), max(span["c1"] for span in spans)
    summary = f"Gantt chart of {counted(len(spans), 'span')} in {counted(len(names), 'row')} "
    summary += f"from {moment_text(first, '')} to {moment_text(last, '')}"
    return Drawing(layers=tuple(layers), description=summary, notes=tuple(notes))


def _gantt_layers(
    view: ChartView, spans: list[dict[str, Any]], names: Sequence[str], title: str, *, has_series: bool
) -> list[dict[str, Any]]:
    form = view.form
    moments = [span[end] for span in spans for end in ("c0", "c1")]
    across = axes.time_axis(view, moments, view.time_format("x_axis_time_format"), form.text("x_axis_title"))
    across["axis"]["grid"] = True
    up = axes.category_axis(view, names, form.text("y_axis_title") or title, horizontal=True)
    groups = list(dict.fromkeys(span["c3"] for span in spans))
    colour: dict[str, Any] = {"value": view.colours.accent}
    if has_series:
        colour = {
            "field": "c3",
            "type": "nominal",
            "scale": {"domain": groups, "range": view.series_colours(groups)},
            "legend": legend_of(view, groups, symbol="square"),
        }
    encoding = {"x": {"field": "c0", **across}, "x2": {"field": "c1"}, "y": {"field": "c2", **up}, "color": colour}
    mark = {"type": "bar", "cornerRadius": 2, "opacity": 0.9}
    short = [{"c0": span["c0"], "c2": span["c2"], "c3": span["c3"]} for span in spans if span["c0"] == span["c1"]]
    layers = [{"data": {"values": spans}, "mark": mark, "encoding": encoding}]
    if short:
        places = {key: value for key, value in encoding.items() if key != "x2"}
        layers.append({"data": {"values": short}, "mark": {"type": "tick", "thickness": 2}, "encoding": places})
    return layers


KINDS: Final = (
    PictureKind(name="waterfall", noun="waterfall", draw=_waterfall),
    PictureKind(name="gantt_chart", noun="Gantt chart", draw=_gantt),
)

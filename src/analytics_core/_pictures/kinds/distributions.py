"""How values are distributed: histograms and box plots."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from analytics_core._pictures import axes, cells
from analytics_core._pictures.drawing import MOST_MARKS, CannotDrawError, ChartView, Drawing, PictureKind
from analytics_core._pictures.legends import legend_of
from analytics_core._pictures.number_formats import NumberFormat
from analytics_core._pictures.parts_data import texts_of
from analytics_core._pictures.table import Table
from analytics_core._tools.display.blocks import counted
from analytics_core._tools.display.text import distinct_texts

_BIN: Final = re.compile(r"\s*(-?[\d.]+(?:e[+-]?\d+)?)\s+-\s+(-?[\d.]+(?:e[+-]?\d+)?)\s*", re.IGNORECASE)
_PARTS: Final = ("mean", "median", "max", "min", "q1", "q3", "count", "outliers")
_NEEDED: Final = ("median", "max", "min", "q1", "q3")
_MOST_GROUPS: Final = 100
_LABEL_GAP_PX: Final = 9
"""Between the bins and their labels, of which the first would lie on the 0 of the counts."""


def _histogram(view: ChartView) -> Drawing:
    table, form = view.table, view.form
    bins = [(name, float(found[1]), float(found[2])) for name in table.names if (found := _BIN.fullmatch(name))]
    if not bins:
        raise CannotDrawError("the answer has no columns of bins.")
    bins.sort(key=lambda item: item[1])
    groups = [name for name in table.names if name not in {name for name, *_ in bins}]
    columns = [texts_of(view, table, name) for name in groups]
    labels = [", ".join(keys) for keys in zip(*columns, strict=True)] if columns else ["all"] * table.rows
    labels = distinct_texts(cells.shortened(label) for label in labels)[:_MOST_GROUPS]
    is_share = form.flag("normalize") and not form.get("y_axis_format")
    fmt = NumberFormat(spec=".0%") if is_share else view.number_format("y_axis_format")
    layer = _bin_layer(view, bins, _bin_rows(table, bins, labels), labels, fmt)
    layers = [layer, _bin_labels(view, table, bins, fmt, layer["encoding"])] if form.flag("show_value") else [layer]
    write = view.number_format("x_axis_format").text
    summary = f"Histogram of {_measured(view)} in {counted(len(bins), 'bin')} "
    summary += f"from {write(bins[0][1])} to {write(bins[-1][2])}"
    counts = {name: cells.total(value or 0 for value in table.numbers(name)) for name, *_ in bins}
    _, low, high = max(bins, key=lambda item: counts[item[0]])
    return Drawing(layers=tuple(layers), description=f"{summary}; the fullest is {write(low)} to {write(high)}")


def _bin_layer(
    view: ChartView,
    bins: Sequence[tuple[str, float, float]],
    rows: list[dict[str, Any]],
    labels: Sequence[str],
    fmt: NumberFormat,
) -> dict[str, Any]:
    form = view.form
    title = form.text("x_axis_title") or _measured(view)
    across = axes.value_axis(view, view.number_format("x_axis_format"), title, zero=False, grid=False)
    across["axis"]["values"] = [bins[0][1], *(high for _, _, high in bins)]
    across["scale"]["nice"] = False
    across["axis"]["labelPadding"] = _LABEL_GAP_PX
    title = form.text("y_axis_title") or ("Share" if form.flag("normalize") else "Count")
    up = axes.value_axis(view, fmt, f"Cumulative {title.lower()}" if form.flag("cumulative") else title)
    colour = {
        "field": "c2",
        "type": "nominal",
        "scale": {"domain": labels, "range": view.series_colours(labels)},
        "legend": legend_of(view, labels, symbol="square"),
    }
    encoding = {"x": {"field": "c0", **across}, "x2": {"field": "c1"}, "y": {"field": "c3", **up}}
    encoding |= {"y2": {"field": "c4"}, "color": colour}
    mark = {"type": "rect", "stroke": view.colours.background, "strokeWidth": 1}
    return {"data": {"values": rows}, "mark": mark, "encoding": encoding}


def _bin_rows(table: Table, bins: Sequence[tuple[str, float, float]], labels: Sequence[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name, low, high in bins:
        at = 0.0
        for label, value in zip(labels, table.numbers(name), strict=False):
            if value is not None:
                rows.append({"c0": low, "c1": high, "c2": label, "c3": at, "c4": at + value})
                at += value
    return rows[:MOST_MARKS]


def _measured(view: ChartView) -> str:
    names = view.form.columns("column")
    return view.table.label(names[0]) if names else "values"


def _bin_labels(
    view: ChartView,
    table: Table,
    bins: Sequence[tuple[str, float, float]],
    fmt: NumberFormat,
    encoding: dict[str, Any],
) -> dict[str, Any]:
    rows = []
    for name, low, high in bins:
        total = cells.total(value or 0 for value in table.numbers(name))
        rows.append({"c0": (low + high) / 2, "c3": total, "c5": fmt.text(total)})
    places = {"x": encoding["x"], "y": encoding["y"], "text": {"field": "c5", "type": "nominal"}}
    mark = {"type": "text", "baseline": "bottom", "dy": -3, "color": view.colours.text}
    return {"data": {"values": rows}, "mark": mark, "encoding": places}


def _box_plot(view: ChartView) -> Drawing:
    table = view.table
    metrics = [name.removesuffix("__median") for name in table.names if name.endswith("__median")]
    metrics = [name for name in metrics if all(f"{name}__{part}" in table.names for part in _NEEDED)]
    if not metrics:
        raise CannotDrawError("the answer has no quartiles.")
    made = {f"{metric}__{part}" for metric in metrics for part in _PARTS}
    groups = [name for name in table.names if name not in made]
    columns = [texts_of(view, table, name, "date_format") for name in groups]
    labels = [", ".join(keys) for keys in zip(*columns, strict=True)] if columns else ["all"] * table.rows
    notes = [f"Shows the first {_MOST_GROUPS} of {table.rows:,} groups."] if table.rows > _MOST_GROUPS else []
    boxes, outliers = _boxes(table, metrics, distinct_texts(cells.shortened(label) for label in labels))
    if not boxes:
        raise CannotDrawError("no group has quartiles.")
    names = list(dict.fromkeys(row["c0"] for row in boxes))
    fmt = view.number_format("number_format", "y_axis_format")
    measures = [table.label(name) for name in metrics]
    layers = _box_layers(view, boxes, outliers, names=names, metrics=measures, fmt=fmt)
    highest = max(boxes, key=lambda row: row["c4"])
    summary = f"Box plot of {', '.join(table.label(name) for name in metrics)} for {counted(len(names), 'group')}"
    summary += (
        f"; medians from {fmt.text(min(row['c4'] for row in boxes))} to {fmt.text(highest['c4'])} ({highest['c0']})"
    )
    return Drawing(layers=tuple(layers), description=summary, notes=tuple(notes))


def _boxes(
    table: Table, metrics: Sequence[str], labels: Sequence[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    boxes, outliers = [], []
    for metric in metrics:
        columns = [table.numbers(f"{metric}__{part}") for part in ("min", "q1", "median", "q3", "max")]
        far = table.values(f"{metric}__outliers") if f"{metric}__outliers" in table.names else [None] * table.rows
        for row, label in enumerate(labels[:_MOST_GROUPS]):
            values = [column[row] for column in columns]
            if any(value is None for value in values):
                continue
            names = ("c2", "c3", "c4", "c5", "c6")
            boxes.append({"c0": label, "c1": table.label(metric), **dict(zip(names, values, strict=True))})
            members = far[row]
            listed = members if isinstance(members, list | tuple) else ()
            known = [value for value in map(cells.number, listed) if value is not None]
            outliers += [{"c0": label, "c1": table.label(metric), "c2": value} for value in known]
    return boxes, outliers[: MOST_MARKS - 4 * len(boxes)]


def _box_layers(
    view: ChartView,
    boxes: list[dict[str, Any]],
    outliers: list[dict[str, Any]],
    *,
    names: Sequence[str],
    metrics: Sequence[str],
    fmt: NumberFormat,
) -> list[dict[str, Any]]:
    form = view.form
    title = form.text("y_axis_title") or (metrics[0] if len(metrics) == 1 else None)
    log = axes.is_log(view, ("logAxis",), [row["c2"] for row in (*boxes, *outliers)])
    up = axes.value_axis(view, fmt, title, zero=False, log=log)
    base: dict[str, Any] = {"x": {"field": "c0", **axes.category_axis(view, names, form.text("x_axis_title"))}}
    colours = view.series_colours(metrics if len(metrics) > 1 else names)
    domain = metrics if len(metrics) > 1 else names
    base["color"] = {
        "field": "c1" if len(metrics) > 1 else "c0",
        "type": "nominal",
        "scale": {"domain": list(domain), "range": colours},
        "legend": legend_of(view, metrics, symbol="square") if len(metrics) > 1 else None,
    }
    if len(metrics) > 1:
        base["xOffset"] = {"field": "c1", "type": "nominal", "scale": {"domain": list(metrics)}}
    size = max(4, min(40, int((view.size.width_px - 80) / (len(names) * max(len(metrics), 1)) * 0.5)))

    def span(low: str, high: str, mark: dict[str, Any]) -> dict[str, Any]:
        encoding = {**base, "y": {"field": low, **up}, "y2": {"field": high}}
        return {"data": {"values": boxes}, "mark": mark, "encoding": encoding}

    def at(name: str, rows: list[dict[str, Any]], mark: dict[str, Any]) -> dict[str, Any]:
        return {"data": {"values": rows}, "mark": mark, "encoding": {**base, "y": {"field": name, **up}}}

    tick = {"type": "tick", "orient": "horizontal", "size": size * 0.6, "thickness": 1.5}
    median = {"type": "tick", "orient": "horizontal", "size": size, "thickness": 2, "color": view.colours.background}
    layers = [
        span("c2", "c6", {"type": "rule", "strokeWidth": 1.5}),
        at("c2", boxes, tick),
        at("c6", boxes, tick),
        span("c3", "c5", {"type": "bar", "size": size}),
        {**at("c4", boxes, median)},
    ]
    layers[-1]["encoding"] = {key: value for key, value in layers[-1]["encoding"].items() if key != "color"}
    if outliers:
        layers.append(at("c2", outliers, {"type": "point", "size": 16, "opacity": 0.7}))
    return layers


KINDS: Final = (
    PictureKind(name="histogram_v2", noun="histogram", draw=_histogram),
    PictureKind(name="box_plot", noun="box plot", draw=_box_plot),
)

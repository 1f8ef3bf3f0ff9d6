"""Axes of values, moments and categories."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from analytics_core._pictures import cells
from analytics_core._pictures.drawing import ChartView
from analytics_core._pictures.number_formats import NumberFormat
from analytics_core._pictures.text_metrics import text_width
from analytics_core._pictures.theme import LABEL_PX

_FEW_MOMENTS: Final = 8
_POWERS: Final = [10.0**power for power in range(-9, 19)]
_TICK_PX: Final = 70
_DAY_MS: Final = 86_400_000
_LONGEST_LABEL_PX: Final = 130


def value_axis(
    view: ChartView,
    form: NumberFormat,
    title: str | None,
    *,
    bounds: tuple[float | None, float | None] = (None, None),
    log: bool = False,
    zero: bool = True,
    grid: bool = True,
) -> dict[str, Any]:
    """Return the scale and axis of numbers."""
    is_open = bounds == (None, None)
    scale: dict[str, Any] = {"type": "log"} if log else {"zero": zero and bounds[0] is None, "nice": is_open}
    ends = zip(("domainMin", "domainMax"), bounds, strict=True)
    scale |= {name: end for name, end in ends if end is not None and not (log and end <= 0)}
    axis = {"title": axis_title(title), "grid": grid, "domain": False, "ticks": False, **form.axis()}
    axis |= {"tickCount": max(2, view.size.height_px // 60), "labelFlush": False, "labelOverlap": True}
    if log:
        axis["values"] = _POWERS
    return {"type": "quantitative", "scale": scale, "axis": axis}


def time_axis(view: ChartView, moments: Sequence[int], spec: str, title: str | None) -> dict[str, Any]:
    """Return the scale and axis of moments, in UTC; few of them have a tick each."""
    distinct = sorted(set(moments))
    axis: dict[str, Any] = {
        "title": axis_title(title),
        "grid": False,
        "labelOverlap": True,
        "labelFlush": False,
        "labelSeparation": 8,
    }
    if len(distinct) <= min(_FEW_MOMENTS, max(2, view.size.width_px // _TICK_PX)):
        axis["values"] = distinct
    else:
        axis["tickCount"] = max(3, view.size.width_px // _TICK_PX)
    if spec or len(distinct) == 1:
        is_day = not any(moment % _DAY_MS for moment in distinct)
        axis["format"] = spec or ("%Y-%m-%d" if is_day else "%Y-%m-%d %H:%M")
    return {"type": "temporal", "scale": {"type": "utc"}, "axis": axis}


def category_axis(
    view: ChartView,
    labels: Sequence[str],
    title: str | None,
    *,
    horizontal: bool = False,
    angle: float | None = None,
    room_px: float | None = None,
) -> dict[str, Any]:
    """Return the scale and axis of categories in their order; labels that are too wide to stand side by side lean.

    Args:
        view: the chart.
        labels: the categories.
        title: what the axis is called; None for nothing.
        horizontal: whether the categories stand one below the other.
        angle: by how many degrees labels lean; None for what fits.
        room_px: the length of the axis; None for about that of the picture.
    """
    width = room_px or view.size.width_px - 80
    axis: dict[str, Any] = {"title": axis_title(title), "grid": False, "ticks": False, "labelPadding": 6}
    count = max(len(labels), 1)
    if horizontal:
        axis["labelLimit"] = min(_LONGEST_LABEL_PX + 30, view.size.width_px // 3)
        fit = (room_px or view.size.height_px - 80) / (LABEL_PX + 2)
    else:
        room = width / count
        widest = max((text_width(label, LABEL_PX) for label in labels), default=0)
        lean = angle if angle is not None else 0 if widest <= room - 6 or len(labels) == 1 else -45
        axis |= {"labelAngle": lean, "labelLimit": _LONGEST_LABEL_PX}
        fit = width / (LABEL_PX + 4)
        if lean:
            fit = width / (LABEL_PX * 1.5)
            axis |= {"labelAlign": "right" if lean < 0 else "left", "labelBaseline": "middle"}
            axis["labelLimit"] = min(_LONGEST_LABEL_PX, view.size.height_px // 3)
    axis["labelOverlap"] = False
    if count > fit:
        axis["values"] = list(labels[:: math.ceil(count / max(fit, 1))])
    return {"type": "nominal", "sort": None, "scale": {"domain": list(labels)}, "axis": axis}


def axis_title(title: str | None) -> str | None:
    """Return the title of an axis as a short text; None for none."""
    return cells.shortened(title, 80) or None if title else None

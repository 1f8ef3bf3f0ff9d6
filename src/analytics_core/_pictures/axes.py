"""Axes of values, moments and categories."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from analytics_core._pictures import cells
from analytics_core._pictures.drawing import ChartView
from analytics_core._pictures.number_formats import NumberFormat
from analytics_core._pictures.text_metrics import text_width
from analytics_core._pictures.theme import LABEL_PX

_FEW_MOMENTS: Final = 8
_POWERS: Final = [10.0**power for power in range(-9, 19)]
_TICK_PX: Final = 70
_MINUTE_MS: Final = 60_000
_DAY_MS: Final = 86_400_000
_HOURS: Final = (1, 3, 6, 12, 24)
_STEPS_MS: Final = tuple(
    1_000 * seconds for seconds in (1, 5, 15, 30, 60, 300, 900, 1_800, *(3_600 * hour for hour in _HOURS))
)
"""From one tick of an axis to the next; the renderer chooses longer ones, and takes those of one second for one."""

_CROWDED: Final = 0.9
"""Ticks nearer than this share of the usual room are left out."""

_LONGEST_LABEL_PX: Final = 130
_LEAST_LABEL_PX: Final = 8


def value_axis(
    view: ChartView,
    form: NumberFormat,
    title: str | None,
    *,
    bounds: tuple[float | None, float | None] = (None, None),
    log: bool = False,
    least: float | None = None,
    zero: bool = True,
    grid: bool = True,
) -> dict[str, Any]:
    """Return the scale and axis of numbers; `least` is where a logarithmic one begins unless it has bounds."""
    is_open = bounds == (None, None)
    if log and least is not None and bounds[0] is None:
        bounds = (least, bounds[1]) if bounds[1] is None or least < bounds[1] else bounds
    scale: dict[str, Any] = (
        {"type": "log", "nice": is_open} if log else {"zero": zero and bounds[0] is None, "nice": is_open}
    )
    scale |= {name: end for name, end in zip(("domainMin", "domainMax"), bounds, strict=True) if end is not None}
    axis = {"title": axis_title(title), "grid": grid, "domain": False, "ticks": False, **form.axis()}
    axis |= {"tickCount": max(2, view.size.height_px // 60), "labelFlush": False, "labelOverlap": True}
    if log:
        axis["values"] = _POWERS
    return {"type": "quantitative", "scale": scale, "axis": axis}


def log_floor(values: Iterable[float]) -> float | None:
    """Return the power of ten where bars on a logarithmic axis begin, so that the smallest is seen; None for none."""
    least = min((value for value in values if value > 0), default=None)
    return None if least is None else 10.0 ** math.floor(math.log10(least / 2))


def is_log(view: ChartView, fields: Sequence[str], values: Iterable[float]) -> bool:
    """Tell whether one of some fields asks for a logarithmic axis, and all values have a place on it; told if not."""
    field = next((name for name in fields if view.form.flag(name)), None)
    if field is not None and any(value <= 0 for value in values):
        view.form.reject(field, "has no place for values not above 0")
        return False
    return field is not None


def time_axis(view: ChartView, moments: Sequence[int], spec: str, title: str | None) -> dict[str, Any]:
    """Return the scale and axis of moments, in UTC; few of them have a tick each.

    Where ticks stand within days, each label is a time of 24 hours, and the first one of a day has its date below.
    """
    distinct = sorted(set(moments))
    axis: dict[str, Any] = {
        "title": axis_title(title),
        "grid": False,
        "labelOverlap": True,
        "labelFlush": False,
        "labelSeparation": 8,
    }
    most = max(2, view.size.width_px // _TICK_PX)
    if len(distinct) <= min(_FEW_MOMENTS, most):
        axis["values"] = distinct
    else:
        axis["tickCount"] = max(3, most)
    if spec or len(distinct) == 1:
        is_day = not any(moment % _DAY_MS for moment in distinct)
        axis["format"] = spec or ("%Y-%m-%d" if is_day else "%Y-%m-%d %H:%M")
    elif ticks := _ticks(distinct, most, is_each="values" in axis):
        axis["values"] = ticks
        axis.pop("tickCount", None)
        if any(tick % _DAY_MS for tick in ticks):
            axis["labelExpr"] = _time_labels(ticks)
    return {"type": "temporal", "scale": {"type": "utc"}, "axis": axis}


def _ticks(distinct: Sequence[int], most: int, *, is_each: bool) -> list[int]:
    """Return the moments of ticks that do not crowd, at most a day from one to the next; none for longer steps."""
    if not distinct:
        return []
    first, last = distinct[0], distinct[-1]
    least = max((last - first) / most * _CROWDED, _STEPS_MS[0])
    if not is_each:
        least = max(least, _DAY_MS) if not any(moment % _DAY_MS for moment in distinct) else least
        step = next((step for step in _STEPS_MS if step >= least), None)
        return [] if step is None else list(range(-(-first // step) * step, last + 1, step)) or [first]
    found: list[int] = []
    for moment in distinct:
        if not found or moment - found[-1] >= least:
            found.append(moment)
    return found


def _time_labels(ticks: Sequence[int]) -> str:
    """Return the expression of the labels of ticks; it holds numbers and formats alone."""
    spec = "%H:%M:%S" if any(tick % _MINUTE_MS for tick in ticks) else "%H:%M"
    spec += ".%L" if any(tick % 1_000 for tick in ticks) else ""
    firsts = {tick // _DAY_MS: tick for tick in reversed(ticks)}
    dated = f"indexof({sorted(firsts.values())}, +datum.value) >= 0"
    time = f"utcFormat(datum.value, '{spec}')"
    return f"{dated} ? [{time}, utcFormat(datum.value, '%Y-%m-%d')] : {time}"


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
        angle: by how many degrees labels lean, below 0: they end at their tick; None for what fits.
        room_px: the length of the axis; None for about that of the picture.
    """
    width = room_px or view.size.width_px - 80
    axis: dict[str, Any] = {"title": axis_title(title), "grid": False, "ticks": False, "labelPadding": 6}
    count = max(len(labels), 1)
    if horizontal:
        axis["labelLimit"] = min(_LONGEST_LABEL_PX + 110, view.size.width_px * 2 // 5)
        room = (room_px or view.size.height_px - 80) / count
        if room < LABEL_PX + 2:
            axis["labelFontSize"] = max(int(room - 1), _LEAST_LABEL_PX)
        fit = room * count / (axis.get("labelFontSize", LABEL_PX) + 1)
    else:
        room = width / count
        widest = max((text_width(label, LABEL_PX) for label in labels), default=0)
        lean = angle if angle is not None else 0 if widest <= room - 6 or len(labels) == 1 else -45
        axis |= {"labelAngle": lean, "labelLimit": _LONGEST_LABEL_PX}
        fit = width / (LABEL_PX + 4)
        if lean:
            fit = width / (LABEL_PX * 1.5)
            axis |= {"labelAlign": "right", "labelBaseline": "middle"}
            axis["labelLimit"] = min(_LONGEST_LABEL_PX, view.size.height_px // 3)
    axis["labelOverlap"] = False
    if count > fit:
        step = math.ceil(count / max(fit, 1))
        axis["values"] = list(labels[::step])
        view.form.tell(f"Shows one name in {step} on an axis; the others have no room.")
    return {"type": "nominal", "sort": None, "scale": {"domain": list(labels)}, "axis": axis}


def axis_title(title: str | None) -> str | None:
    """Return the title of an axis as a short text; None for none."""
    return cells.shortened(title, 80) or None if title else None

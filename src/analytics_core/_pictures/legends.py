"""Legends that stay smaller than the plot that they explain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from analytics_core._pictures.drawing import ChartView
from analytics_core._pictures.text_metrics import text_width
from analytics_core._pictures.theme import LABEL_PX

_SYMBOL_PX: Final = 28
_ROW_PX: Final = 16
_LONGEST_PX: Final = 180
_SIDES: Final = frozenset({"left", "right", "top", "bottom"})


def legend_side(view: ChartView) -> str | None:
    """Return the edge of the legend; None where the form wants no legend."""
    if not view.form.flag("show_legend", absent=True):
        return None
    told = view.form.get("legendOrientation")
    return told if isinstance(told, str) and told in _SIDES else "top"


def legend_of(view: ChartView, labels: Sequence[str], *, symbol: str) -> dict[str, Any] | None:
    """Return the legend of labels; None where there is none, or nothing to tell apart.

    It takes at most a quarter of the height or a third of the width; what has no room is counted.
    """
    side = legend_side(view)
    if side is None or len(labels) < 2:
        return None
    width = min(max(text_width(label, LABEL_PX) for label in labels), _LONGEST_PX) + _SYMBOL_PX
    found: dict[str, Any] = {
        "orient": side,
        "title": None,
        "symbolType": symbol,
        "symbolStrokeWidth": 2,
        "symbolOpacity": 1,
    }
    if side in ("left", "right"):
        most = max(2, (view.size.height_px - 60) // _ROW_PX)
        label_px = min(_LONGEST_PX, view.size.width_px // 3)
        return {**found, "symbolLimit": most, "labelLimit": label_px, "columns": 1}
    columns = max(1, min(len(labels), int((view.size.width_px - 60) / width)))
    rows = max(1, view.size.height_px // 4 // _ROW_PX)
    # the renderer writes one more entry, which counts the others, where there are more than the limit
    limit = rows * columns if len(labels) <= rows * columns else rows * columns - 1
    return {**found, "columns": columns, "symbolLimit": max(limit, 1), "labelLimit": _LONGEST_PX, "columnPadding": 12}

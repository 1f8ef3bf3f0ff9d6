"""The fields of a form that hold one of a few words, and the words that pictures know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from analytics_core._pictures.theme import HEAT_SCHEMES, SERIES_SCHEMES

_TYPES: Final = ("line", "smooth", "step", "start", "middle", "end", "bar", "scatter")
_STACKED: Final = ("Stack", "Stream", "Expand", True, False)
_ORDERS: Final = ("name", "sum", "min", "max", "avg")
_SORTED: Final = ("alpha_asc", "alpha_desc", "value_asc", "value_desc")
_LABELS: Final = ("key", "value", "percent", "key_value", "key_percent", "key_value_percent", "value_percent")
_WORDS: Final[Mapping[str, tuple[Any, ...]]] = {
    "aggregation": ("LAST_VALUE", "sum", "min", "max", "mean", "median", "raw"),
    "color_scheme": SERIES_SCHEMES,
    "horizon_color_scale": ("series", "overall"),
    "label_type": (*_LABELS, *range(len(_LABELS))),
    "layout": ("force", "circular"),
    "legendOrientation": ("top", "bottom", "left", "right"),
    "linear_color_scheme": HEAT_SCHEMES,
    "metricsLayout": ("COLUMNS", "ROWS"),
    "normalize_across": ("heatmap", "x", "y"),
    "orient": ("LR", "RL", "TB", "BT"),
    "orientation": ("vertical", "horizontal"),
    "percent_calculation_type": ("first_step", "prev_step", "total"),
    "roseType": ("area", "radius", False),
    "rotation": ("square", "flat"),
    "seriesType": _TYPES,
    "seriesTypeB": _TYPES,
    "sort_series_type": _ORDERS,
    "sort_x_axis": _SORTED,
    "sort_y_axis": _SORTED,
    "stack": _STACKED,
    "stackB": _STACKED,
    "stacked_style": _STACKED,
    "subdomain_granularity": ("day", "hour", "min", "week", "month"),
    "x_axis_sort_series": _ORDERS,
}
_OF_KINDS: Final[Mapping[tuple[str, str], tuple[Any, ...]]] = {
    ("tree_chart", "layout"): ("orthogonal", "radial"),
    ("treemap_v2", "label_type"): ("key", "value", "key_value", 0, 1, 2),
}
_ANY_CASE: Final = frozenset({"aggregation", "label_type", "stack", "stackB", "stacked_style"})
"""The fields that are read without regard to case."""

_MOST_TOLD: Final = 8


def unknown_words(kind: str, fields: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    """Return what is wrong with each field that holds none of its words; nothing of those that hold any text.

    Args:
        kind: the kind of chart.
        fields: of its form.
        names: those that its picture reads.
    """
    found = {}
    for name in sorted(set(names) & _WORDS.keys()):
        words = _OF_KINDS.get((kind, name), _WORDS[name])
        told = fields.get(name)
        if told is None or told == "" or _compared(name, told) in [_compared(name, word) for word in words]:
            continue
        texts = [word for word in words if isinstance(word, str)]
        found[name] = f"is none of {', '.join(texts)}" if len(texts) <= _MOST_TOLD else "is not known to pictures"
    return found


def _compared(name: str, word: Any) -> Any:
    """Return a word as the readers of a field compare it."""
    if isinstance(word, str):
        return word.casefold() if name in _ANY_CASE else word
    return type(word), repr(word)

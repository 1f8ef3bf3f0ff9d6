"""The fields of a form that say how a chart is drawn; what cannot be used is left out and told, never raised.

Some fields hold one of a few words: those that pictures know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from analytics_core._pictures.cells import shortened
from analytics_core._pictures.theme import HEAT_SCHEMES, SERIES_SCHEMES
from analytics_core._records.chart_form import column_label, is_on, metric_label
from analytics_core.errors.base import short_repr

_LONGEST_QUOTED: Final = 60
_LARGEST: Final = 1e100


class FormFields:
    """The fields of a form, read one by one.

    Args:
        fields: as they are stored.
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields
        self._notes: list[str] = []
        self._read: set[str] = set()

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out, each once."""
        return tuple(dict.fromkeys(self._notes))

    def get(self, name: str) -> Any:
        """Return a field as it is stored; None where it is absent."""
        self._read.add(name)
        return self._fields.get(name)

    def tell(self, note: str) -> None:
        """Tell what is left out."""
        self._notes.append(note)

    def reject(self, name: str, message: str) -> None:
        """Tell that a field is not used."""
        self.reject_part(name, self.get(name), message)

    def reject_part(self, name: str, part: Any, message: str) -> None:
        """Tell that a part of a field is not used."""
        self.tell(f"{name}: {shortened(short_repr(part), _LONGEST_QUOTED)} {message}; not applied")

    def reject_unknown_words(self, kind: str) -> None:
        """Tell of each field that was read, and holds none of the words that it may."""
        for name, message in unknown_words(kind, self._fields, tuple(self._read)).items():
            self.reject(name, message)

    def text(self, name: str) -> str | None:
        """Return a text; None where it is absent or empty."""
        value = self.get(name)
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            self.reject(name, "is no text")
            return None
        return value

    def number(self, name: str) -> float | None:
        """Return a number, which editors store as text too; None where it is absent or empty."""
        value = self.get(name)
        if value is None or value == "":
            return None
        read = _number(value)
        if read is None:
            self.reject(name, "is no number")
        return read

    def flag(self, name: str, *, absent: bool = False) -> bool:
        """Tell whether a field is on; `absent` is what its absence means."""
        value = self.get(name)
        return absent if value is None else is_on(value)

    def bounds(self, name: str, *, log: bool = False) -> tuple[float | None, float | None]:
        """Return the least and the largest value of an axis; None where an end is open, or 0 on a logarithmic one."""
        value = self.get(name)
        if value is None:
            return None, None
        if not isinstance(value, list | tuple) or len(value) != 2:
            self.reject(name, "is no pair of numbers")
            return None, None
        low, high = (_number(end) for end in value)
        if low is not None and high is not None and low >= high:
            self.reject(name, "is no range")
            return None, None
        if log and any(end is not None and end <= 0 for end in (low, high)):
            self.reject_part(name, low if low is not None else high, "is not above 0, as a logarithmic axis is")
            return None, high if high is not None and high > 0 else None
        return low, high

    def items(self, name: str) -> list[Any]:
        """Return the items of a list, or one value as a list of it."""
        value = self.get(name)
        if value is None or value == "":
            return []
        return list(value) if isinstance(value, list | tuple) else [value]

    def mapping(self, name: str) -> Mapping[str, Any]:
        """Return an object; empty where it is absent."""
        value = self.get(name)
        return value if isinstance(value, Mapping) else {}

    def columns(self, *names: str) -> list[str]:
        """Return the labels of the columns of fields, each once."""
        return self._labels(names, column_label)

    def metrics(self, *names: str) -> list[str]:
        """Return the labels of the metrics of fields, each once."""
        return self._labels(names, metric_label)

    def _labels(self, names: Sequence[str], label: Callable[[Any], str]) -> list[str]:
        """Return the labels of what stands in fields, each once; what is no column and no metric has none."""
        items = (item for name in names for item in self.items(name))
        return list(dict.fromkeys(label(item) for item in items if item and isinstance(item, str | Mapping)))

    def rgb(self, name: str) -> str | None:
        """Return a picked colour (an object of r, g and b) as `#rrggbb`; None where it is absent."""
        value = self.mapping(name)
        parts = [_number(value.get(part)) for part in "rgb"]
        if any(part is None or not 0 <= part <= 255 for part in parts):
            return None
        return "#" + "".join(f"{int(part):02x}" for part in parts if part is not None)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        read = float(value)
    except (ValueError, OverflowError):
        return None
    return read if abs(read) <= _LARGEST else None


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

_MOST_LISTED: Final = 8


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
        named = fields.get(name)
        if named is None or named == "" or _compared(name, named) in [_compared(name, word) for word in words]:
            continue
        texts = [word for word in words if isinstance(word, str)]
        found[name] = f"is none of {', '.join(texts)}" if len(texts) <= _MOST_LISTED else "is not known to pictures"
    return found


def _compared(name: str, word: Any) -> Any:
    """Return a word as the readers of a field compare it."""
    if isinstance(word, str):
        return word.casefold() if name in _ANY_CASE else word
    return type(word), repr(word)

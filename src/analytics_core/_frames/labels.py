"""Labels of columns: their levels, the separator of joined ones, and how labels that hold it are told from it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import pandas as pd

from analytics_core.errors import PostProcessingError

SEPARATOR = ", "
"""Stands between the parts of a joined label."""


def escaped(part: str) -> str:
    r"""Return a part of a label with a backslash before each comma: `a, b` is `a\, b`."""
    return part.replace(",", "\\,")


def unescaped(label: str) -> str:
    r"""Return a label without the backslashes that `escaped` wrote: `a\, b` is `a, b`."""
    return label.replace("\\,", ",")


def split_label(label: str) -> tuple[str, ...]:
    r"""Return the unescaped parts of a joined label: `a\, b, c` is (`a, b`, `c`)."""
    parts = [""]
    for piece in label.split(SEPARATOR):
        if parts[-1].endswith("\\"):
            parts[-1] += SEPARATOR + piece
        else:
            parts.append(piece)
    return tuple(unescaped(part) for part in parts[1:])


def with_labels(frame: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """Return the frame with every text label of its columns, at every level, changed."""
    result = frame.copy(deep=False)
    if isinstance(frame.columns, pd.MultiIndex):
        changed = [tuple(_changed(part, change) for part in label) for label in frame.columns]
        result.columns = pd.MultiIndex.from_tuples(changed, names=frame.columns.names)
    else:
        result.columns = label_index((_changed(label, change) for label in frame.columns), name=frame.columns.name)
    return result


def _changed(part: Any, change: Callable[[str], str]) -> Any:
    return change(part) if isinstance(part, str) else part


def label_index(names: Iterable[Hashable], *, name: Hashable = None) -> pd.Index[Any]:
    """Return flat column labels as they are: text is not turned into another dtype."""
    return pd.Index(list(names), dtype=object, name=name, tupleize_cols=False)


def level_place(columns: pd.Index[Any], level: int | str, *, option: str) -> int:
    """Return the position of a level given by its name or its position; negative ones count from the end.

    Raises:
        PostProcessingError: there is no such level.
    """
    names = list(columns.names)
    if isinstance(level, str) and names.count(level) == 1:
        return names.index(level)
    if isinstance(level, int) and -len(names) <= level < len(names):
        return level % len(names)
    known = ", ".join(f"{place} ({name})" if name is not None else str(place) for place, name in enumerate(names))
    raise PostProcessingError(f"{option}: the labels have no level {level!r}; they have: {known}")

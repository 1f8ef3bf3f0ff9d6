"""Levels of labels, by name or by position."""

from __future__ import annotations

from typing import Any

import pandas as pd

from analytics_core.errors import PostProcessingError


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

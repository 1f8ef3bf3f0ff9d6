"""`flatten`: labels of several levels become one text, and the index becomes columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import pandas as pd

from analytics_core._engine.frames.columns import SEPARATOR, escaped, label_index, level_place, listed, unescaped
from analytics_core._engine.frames.values import text_value
from analytics_core.errors import PostProcessingError
from analytics_core.models.postprocessing import FlattenOptions


def apply(frame: pd.DataFrame, options: FlattenOptions) -> pd.DataFrame:
    """Return the frame with flat labels; every level of an index that means something becomes a column.

    Parts of a label are joined by a comma and a blank, commas inside them escaped, nulls left out. Labels of one level
    cannot lose it: `drop_levels` leaves them as they are.

    Raises:
        PostProcessingError: `drop_levels` names a level that is not there, or all of them; or different labels would
            read alike.
    """
    result = frame.copy(deep=False)
    levels = _remaining_levels(frame.columns, options.drop_levels)
    if frame.columns.nlevels > 1:
        joined = list(_joined(frame.columns, levels))
        _check_different(joined, frame.columns)
        result.columns = label_index(joined)
    else:
        result.columns = frame.columns.rename(None)
    return _with_index_as_columns(result) if options.reset_index else result


def _remaining_levels(columns: pd.Index[Any], dropped: Sequence[int | str]) -> list[int]:
    places = {level_place(columns, level, option="drop_levels") for level in dropped}
    if columns.nlevels == 1:
        return [0]
    levels = [place for place in range(columns.nlevels) if place not in places]
    if not levels:
        raise PostProcessingError("drop_levels: one level of the labels must be left")
    return levels


def _joined(columns: pd.Index[Any], levels: Sequence[int]) -> Iterable[str]:
    """Return the labels in one text each; what occurs in many labels is turned into text once."""
    if not isinstance(columns, pd.MultiIndex):
        return (_text(label) or "" for label in columns)
    # The code of a null is -1: the last of the texts.
    texts = [[*map(_text, columns.levels[place].tolist()), None] for place in levels]
    codes = zip(*(columns.codes[place].tolist() for place in levels), strict=True)
    parts = ([level[code] for level, code in zip(texts, label, strict=True)] for label in codes)
    return (SEPARATOR.join([part for part in label if part is not None]) for label in parts)


def _check_different(joined: Sequence[str], before: pd.Index[Any]) -> None:
    if len(set(joined)) < len(joined) and before.is_unique:
        alike = listed(name for name, count in Counter(joined).items() if count > 1)
        raise PostProcessingError(f"several columns would be called {alike}; rename them, or keep the levels apart")


def _text(part: Any) -> str | None:
    """Return a part of a label as escaped text, None for null."""
    if isinstance(part, str):
        return escaped(text_value(part))
    if part is None or (pd.api.types.is_scalar(part) and bool(pd.isna(part))):
        return None
    return escaped(text_value(part.to_pydatetime(warn=False) if isinstance(part, pd.Timestamp) else part))


def _with_index_as_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame, which is the caller's own copy, with its index as first columns and rows counted from 0.

    A plain count is dropped.

    Raises:
        PostProcessingError: a column bears the name of the index, or two levels of the index share one.
    """
    index = frame.index
    if isinstance(index, pd.RangeIndex) and index.name is None:
        return frame if index.start == 0 and index.step == 1 else frame.reset_index(drop=True)
    names = [_index_name(name, place, index.nlevels) for place, name in enumerate(index.names)]
    if len(set(names)) < len(names):
        raise PostProcessingError(f"reset_index: several levels of the index are called {listed(names)}; rename one")
    taken = [name for name in names if name in frame.columns]
    if taken:
        raise PostProcessingError(f"reset_index: a column is called {taken[0]!r} like the index; rename one")
    if index.nlevels > 1:
        return frame.reset_index(names=names)
    frame.index = pd.RangeIndex(len(frame))
    frame.insert(0, names[0], index.array)
    return frame


def _index_name(name: Hashable, place: int, levels: int) -> Hashable:
    if name is not None:
        return name
    return "index" if levels == 1 else f"level_{place}"


def flattened_for_output(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame as a result shows it, but for the escapes in its labels: flat, a named index as columns."""
    flat = apply(frame, FlattenOptions(reset_index=any(name is not None for name in frame.index.names)))
    flat.columns = label_index(str(label) for label in flat.columns)
    return flat


def display_labels(names: Sequence[str]) -> Sequence[str]:
    """Return the labels of a flat frame as a result shows them: unescaped, unless some would then be the same."""
    plain = [unescaped(name) for name in names]
    return plain if len(set(plain)) == len(set(names)) else names

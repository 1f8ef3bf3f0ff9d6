"""`rename`: new labels for columns."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from analytics_core._engine.frames.columns import did_you_mean, label_index, level_place, listed
from analytics_core.errors import PostProcessingError
from analytics_core.models.postprocessing import RenameOptions


def apply(frame: pd.DataFrame, options: RenameOptions) -> pd.DataFrame:
    """Return the frame with new labels at one level of its columns, or at all without `level`.

    Raises:
        PostProcessingError: a label or the level is not there, two columns would share a label, or one would have none.
    """
    if not options.columns:
        return frame.copy(deep=False)
    columns = frame.columns
    levels = range(columns.nlevels) if options.level is None else [level_place(columns, options.level, option="level")]
    _check_known(columns, levels, options.columns)
    if columns.nlevels == 1 and None in options.columns.values():
        raise PostProcessingError("columns: null leaves a part out of a label of several levels; here it has one")
    result = frame.copy(deep=False)
    result.columns = _renamed(columns, levels, options.columns)
    if columns.is_unique and not result.columns.is_unique:
        twice = result.columns[result.columns.duplicated()]
        raise PostProcessingError(f"columns: the label exists already: {listed(twice)}; choose another")
    return result


def _check_known(columns: pd.Index[Any], levels: Any, renames: Mapping[str, str | None]) -> None:
    known = dict.fromkeys(label for level in levels for label in columns.get_level_values(level))
    for name in renames:
        if name not in known:
            hint = did_you_mean(name, known)
            raise PostProcessingError(f"columns: there is no label {name!r}{hint} The labels are: {listed(known)}")


def _renamed(columns: pd.Index[Any], levels: Any, renames: Mapping[str, str | None]) -> pd.Index[Any]:
    if columns.nlevels == 1:
        return label_index((_new(label, renames) for label in columns), name=columns.name)
    parts = [
        label_index(_new(part, renames) if place in levels else part for part in columns.get_level_values(place))
        for place in range(columns.nlevels)
    ]
    return pd.MultiIndex.from_arrays(parts, names=columns.names)


def _new(label: Hashable, renames: Mapping[str, str | None]) -> Hashable:
    return renames[label] if isinstance(label, str) and label in renames else label

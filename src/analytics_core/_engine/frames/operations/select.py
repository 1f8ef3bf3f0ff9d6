"""`select`: some columns, in an order, under other names."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from analytics_core._engine.frames.columns import label_index, labels, listed, places_by_name, require_columns
from analytics_core.errors import PostProcessingError
from analytics_core.models.postprocessing import SelectOptions


def apply(frame: pd.DataFrame, options: SelectOptions) -> pd.DataFrame:
    """Return `columns` (all without it) but `exclude`, renamed; every option speaks of the names before renaming.

    Of multi-level columns a name stands for all under it.

    Raises:
        PostProcessingError: a name is no column, is chosen twice, or a new name exists already.
    """
    require_columns(frame, options.columns, option="columns")
    require_columns(frame, options.exclude, option="exclude")
    require_columns(frame, options.rename, option="rename")
    if len(set(options.columns)) < len(options.columns):
        raise PostProcessingError("columns: a column is chosen twice; name each once")
    result = frame.take(_places(frame, options), axis="columns")
    return _renamed(result, options.rename) if options.rename else result


def _places(frame: pd.DataFrame, options: SelectOptions) -> list[int]:
    present, under = labels(frame), places_by_name(frame)
    chosen = [place for name in options.columns for place in under[name]] if options.columns else range(len(present))
    excluded = set(options.exclude)
    return [place for place in chosen if present[place] not in excluded]


def _renamed(frame: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    columns = frame.columns
    changed = [names.get(str(label), label) for label in labels(frame)]
    renamed = label_index(changed, name=columns.names[0])
    if columns.nlevels > 1:
        rest = [columns.get_level_values(level) for level in range(1, columns.nlevels)]
        renamed = pd.MultiIndex.from_arrays([renamed, *rest], names=columns.names)
    # A set tells sooner than an index that no two are alike.
    if len(set(changed)) < len(changed) and columns.is_unique and not renamed.is_unique:
        raise PostProcessingError(f"rename: the label exists already: {listed(renamed[renamed.duplicated()])}")
    result = frame.copy(deep=False)
    result.columns = renamed
    return result

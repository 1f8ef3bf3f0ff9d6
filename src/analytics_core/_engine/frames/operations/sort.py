"""`sort`: rows in the order of columns, or of the index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from analytics_core._engine.frames.column_maps import only_column
from analytics_core._engine.frames.columns import Array
from analytics_core._engine.frames.grouping import key_codes, stable_order
from analytics_core.errors import PostProcessingError
from analytics_core.models.postprocessing import SortOptions


def apply(frame: pd.DataFrame, options: SortOptions) -> pd.DataFrame:
    """Return the rows in order: equal rows keep theirs, nulls come last in both directions.

    A plain count of rows as the index starts anew; other indexes go with their rows.

    Raises:
        PostProcessingError: a column is missing, or `ascending` does not fit `by`.
    """
    if options.is_sort_index:
        return _sorted_index(frame, options.ascending)
    names, ascending = _keys(options)
    if not names:
        return frame.copy(deep=False)
    keys = [
        _key(only_column(frame, name, option="by" if options.by else "columns"), ascending=up)
        for name, up in zip(names, ascending, strict=True)
    ]
    return _rows(frame, stable_order(keys))


def _keys(options: SortOptions) -> tuple[Sequence[str], Sequence[bool]]:
    if not options.by:
        return list(options.columns), list(options.columns.values())
    given = options.ascending or (True,)
    if len(given) not in (1, len(options.by)):
        raise PostProcessingError(f"ascending: give one value, or one for each of the {len(options.by)} names of by")
    return options.by, given if len(given) == len(options.by) else given * len(options.by)


def _key(series: pd.Series[Any], *, ascending: bool) -> Array:
    """Return numbers that sort as the column is to be sorted, nulls last."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind == "f":
        values = series.to_numpy()
        return values if ascending else -values
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":
        values = series.to_numpy()
        return values if ascending else ~values
    codes, size = key_codes(series)
    return codes if ascending else np.where(series.isna().to_numpy(), size, -codes)


def _sorted_index(frame: pd.DataFrame, ascending: Sequence[bool]) -> pd.DataFrame:
    index = frame.index
    if len(ascending) > 1 and len(ascending) != index.nlevels:
        raise PostProcessingError(f"ascending: give one value, or one for each of the {index.nlevels} levels")
    levels = [pd.Series(index.get_level_values(level).array) for level in range(index.nlevels)]
    ups = list(ascending or (True,)) if len(ascending) > 1 else [*(ascending or (True,))] * index.nlevels
    keys = [_key(level, ascending=up) for level, up in zip(levels, ups, strict=True)]
    return frame.iloc[stable_order(keys)]


def _rows(frame: pd.DataFrame, order: Array) -> pd.DataFrame:
    result = frame.take(order)
    index = frame.index
    if isinstance(index, pd.RangeIndex) and index.name is None:
        result.index = index
    return result

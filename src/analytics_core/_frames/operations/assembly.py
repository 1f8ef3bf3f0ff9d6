"""A table from the keys of groups and what was computed for each: in few blocks where that is possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from analytics_core._frames.operations.checks import Array

try:
    from pandas.api.internals import create_dataframe_from_blocks
except ImportError:  # pandas 2
    create_dataframe_from_blocks = None


def table_of(keys: Mapping[str, Any], made: Mapping[str, Array], *, rows: int) -> pd.DataFrame:
    """Return the frame of the keys' columns, then those that were made, of which one may take the place of a key.

    Where all keys are text the blocks of the frame are laid by hand, which takes half the time of a small table:
    neighbours of one type become one block. Other keys go the common way, which finds out about types.

    Args:
        keys: arrays of pandas, by the name of the column.
        made: NumPy arrays of numbers or of lists, by the name of the column.
        rows: how long each of them is.
    """
    index = pd.RangeIndex(rows)
    are_texts = bool(keys) and all(isinstance(key.dtype, pd.StringDtype) for key in keys.values())
    if create_dataframe_from_blocks is None or not rows or not are_texts or keys.keys() & made.keys():
        return pd.DataFrame({**keys, **made}, index=index, copy=False)
    blocks: list[tuple[Any, Array]] = [(key, np.array([place])) for place, key in enumerate(keys.values())]
    place = len(keys)
    for _, alike in groupby(made.values(), key=_dtype):
        block = _block(list(alike))
        blocks.append((block, np.arange(place, place + len(block))))
        place += len(block)
    table: pd.DataFrame = create_dataframe_from_blocks(blocks, index=index, columns=pd.Index([*keys, *made]))
    return table


def _dtype(array: Array) -> np.dtype[Any]:
    return array.dtype


def _block(arrays: Sequence[Array]) -> Array:
    """Return the arrays as rows of one; lists inside of them stay lists."""
    if len(arrays) == 1:
        return arrays[0].reshape(1, -1)
    block = np.empty((len(arrays), len(arrays[0])), dtype=arrays[0].dtype)
    for row, array in zip(block, arrays, strict=True):
        row[:] = array
    return block

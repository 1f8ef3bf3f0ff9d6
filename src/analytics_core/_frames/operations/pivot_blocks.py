"""The parts of a pivot table: the columns of one metric, and how parts become a frame."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from analytics_core._frames.operations.aggregators import EXACT
from analytics_core._frames.operations.checks import Array
from analytics_core._frames.operations.separators import label_index

Key = tuple[Hashable, ...]
"""The values that a column stands for, one for each of the option `columns`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The columns of one metric: a row of `values` for each row of the table, a column for each key."""

    metric: str
    keys: tuple[Key, ...]
    values: Array

    def without_missing_columns(self) -> Block:
        """Return the block without columns that hold nothing; all stay when no column holds anything."""
        held = np.asarray(~pd.isna(self.values).all(axis=0))
        if held.all() or not held.any():
            return self
        keys = tuple(key for key, keep in zip(self.keys, held, strict=True) if keep)
        return replace(self, keys=keys, values=self.values[:, held])

    def places(self, keys: Sequence[Key]) -> list[int]:
        """Return where the keys of this block stand among `keys`."""
        if len(keys) == len(self.keys):
            return list(range(len(keys)))
        at = {key: place for place, key in enumerate(keys)}
        return [at[key] for key in self.keys]

    def with_row(self, row: Array) -> Block:
        """Return the block with one more row."""
        return replace(self, values=_stacked([self.values, row], axis=0))

    def with_column(self, key: Key, column: Array, last: Array) -> Block:
        """Return the block with one more column, whose last cell is given apart."""
        column = _stacked([column, last], axis=0)
        return replace(self, keys=(*self.keys, key), values=_stacked([self.values, column], axis=1))

    def filled(self, value: float) -> Block:
        """Return the block with a number in every cell that holds nothing."""
        missing = pd.isna(self.values)
        return replace(self, values=np.where(missing, value, self.values)) if missing.any() else self


def _stacked(parts: Sequence[Array], *, axis: int) -> Array:
    return np.concatenate(parts, axis=axis)


def scattered(made: Any, places: Array, shape: tuple[int, int]) -> Array:
    """Return a table with the aggregates at their places and null elsewhere.

    Whole numbers become floats beside nulls, objects where floats would lose digits.
    """
    if not isinstance(made, np.ndarray):
        made = np.asarray(made.astype(object))
    if len(places) == shape[0] * shape[1]:
        return np.reshape(made, shape)
    exact = made.dtype.kind == "i" and np.abs(made).max(initial=0) > EXACT
    table = np.full(shape[0] * shape[1], np.nan, dtype=object if exact or made.dtype.kind == "O" else np.float64)
    table[places] = made
    return np.reshape(table, shape)


def joined(
    blocks: Sequence[Block], *, index: pd.Index[Any], names: Sequence[str], by_value: Sequence[Key] | None
) -> pd.DataFrame:
    """Return the frame of all blocks side by side, metric first; with the order of values, value first."""
    values = _side_by_side([block.values for block in blocks], index)
    if not names:
        values.columns = label_index(block.metric for block in blocks)
        return values
    values.columns = _labels(blocks, names)
    return values if by_value is None else _by_value(values, blocks, by_value)


def _side_by_side(tables: Sequence[Array], index: pd.Index[Any]) -> pd.DataFrame:
    if len({table.dtype for table in tables}) == 1:
        whole = tables[0] if len(tables) == 1 else np.hstack(tables)
        return _with_dtypes(pd.DataFrame(whole, index=index, copy=False))
    frames = [_with_dtypes(pd.DataFrame(table, index=index, copy=False)) for table in tables]
    return pd.concat(frames, axis=1)


def _with_dtypes(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the dtypes that its values have; whole numbers beside nulls stay whole.

    pandas would make floats of them, which round from 2^53 on.
    """
    for place in range(table.shape[1]):
        column: Any = table.iloc[:, place]
        if column.dtype.kind == "O" and _is_large_beside_nulls(column):
            table.isetitem(place, column.astype("Int64"))
    return table.infer_objects()


def _is_large_beside_nulls(column: pd.Series[Any]) -> bool:
    if pd.api.types.infer_dtype(column, skipna=True) != "integer":
        return False
    held = column.dropna()
    return len(held) < len(column) and EXACT < max(map(abs, held)) < 2**63


def _labels(blocks: Sequence[Block], names: Sequence[str]) -> pd.MultiIndex:
    metrics = [block.metric for block in blocks for _ in block.keys]
    keys = [key for block in blocks for key in block.keys]
    levels = [[key[place] for key in keys] for place in range(len(names))]
    return pd.MultiIndex.from_arrays(
        [label_index(metrics), *(label_index(level) for level in levels)], names=[None, *names]
    )


def _by_value(table: pd.DataFrame, blocks: Sequence[Block], order: Sequence[Key]) -> pd.DataFrame:
    """Return the columns value by value, the metrics inside each; values in this order, others behind."""
    at = {key: place for place, key in enumerate(order)}
    ranks = [(at.get(key, len(at)), metric) for metric, block in enumerate(blocks) for key in block.keys]
    result = table.iloc[:, sorted(range(len(ranks)), key=ranks.__getitem__)]
    return result.reorder_levels([*range(1, table.columns.nlevels), 0], axis=1)

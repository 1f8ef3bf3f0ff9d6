"""`pivot`: the values of some columns become columns, with aggregates in the cells.

Every row gets the number of its cell, and every aggregate runs over all cells at once (`aggregators`). A block is the
columns of one metric; blocks become a frame.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from analytics_core._engine.frames.aggregators import EXACT, aggregated, require_sources
from analytics_core._engine.frames.columns import Array, label_index, require_columns, require_flat
from analytics_core._engine.frames.grouping import Groups, group_rows
from analytics_core.errors import LimitError, PostProcessingError
from analytics_core.models.postprocessing import PivotOptions

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
        filled = np.asarray(~pd.isna(self.values).all(axis=0))
        if filled.all() or not filled.any():
            return self
        keys = tuple(key for key, keep in zip(self.keys, filled, strict=True) if keep)
        return replace(self, keys=keys, values=self.values[:, filled])

    def places(self, keys: Sequence[Key]) -> list[int]:
        """Return where the keys of this block stand among `keys`."""
        if len(keys) == len(self.keys):
            return list(range(len(keys)))
        at = {key: place for place, key in enumerate(keys)}
        return [at[key] for key in self.keys]

    def with_row(self, row: Array) -> Block:
        """Return the block with one more row."""
        return replace(self, values=np.concatenate([self.values, row]))

    def with_column(self, key: Key, column: Array, last: Array) -> Block:
        """Return the block with one more column, whose last cell is given apart."""
        column = np.concatenate([column, last])
        return replace(self, keys=(*self.keys, key), values=np.concatenate([self.values, column], axis=1))

    def filled(self, value: float) -> Block:
        """Return the block with a number in every cell that holds nothing."""
        missing = pd.isna(self.values)
        return replace(self, values=np.where(missing, value, self.values)) if missing.any() else self


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
        combined = tables[0] if len(tables) == 1 else np.hstack(tables)
        return _with_dtypes(pd.DataFrame(combined, index=index, copy=False))
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
    present = column.dropna()
    return len(present) < len(column) and EXACT < max(map(abs, present)) < 2**63


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


MOST_COLUMNS = 100_000
MOST_CELLS = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grid:
    """The rows that are in the table, and where each goes: its row and its column there."""

    frame: pd.DataFrame
    rows: Groups
    columns: Groups
    keys: tuple[Key, ...]


def apply(frame: pd.DataFrame, options: PivotOptions) -> pd.DataFrame:
    """Return the table: `index` as the index, columns of (metric, value ...) levels, metrics in the order of names.

    Raises:
        PostProcessingError: a column is missing, an option lacks, or an operator needs numbers.
        LimitError: the table would have more than 100,000 columns or 20,000,000 cells.
    """
    _check(frame, options)
    grid = _grid(frame, options)
    blocks = [_block(grid, name, options) for name in sorted(options.aggregates)]
    if options.metric_fill_value is not None:
        blocks = [block.filled(options.metric_fill_value) for block in blocks]
    by_value = grid.keys if options.combine_value_with_metric else None
    return joined(blocks, index=_index(grid, options), names=options.columns, by_value=by_value)


def _check(frame: pd.DataFrame, options: PivotOptions) -> None:
    require_flat(frame)
    if not options.index:
        raise PostProcessingError("index: give at least one column whose values become the rows")
    require_columns(frame, options.index, option="index")
    require_columns(frame, options.columns, option="columns")
    require_sources(frame, options.aggregates)
    across_and_down = [*options.index, *options.columns]
    twice = [name for name in across_and_down if across_and_down.count(name) > 1]
    if twice:
        raise PostProcessingError(f"index, columns: {twice[0]!r} is named twice; a column goes down or across, once")


# ------------------------------------------------------------------------------------------------------ rows and keys
def _grid(frame: pd.DataFrame, options: PivotOptions) -> _Grid:
    keys = [frame[name] for name in options.columns]
    if options.column_fill_value:
        keys = [_filled(key, options.column_fill_value) for key in keys]
    else:
        frame, keys = _with_all_keys(frame, keys)
    columns = group_rows(keys, length=len(frame))
    rows = group_rows([frame[name] for name in options.index], length=len(frame))
    _check_size(rows.size, columns.size * len(options.aggregates))
    values = [_as_labels(columns.keys(key), name, "columns") for key, name in zip(keys, options.columns, strict=True)]
    labels = zip(*(value.tolist() for value in values), strict=True) if keys else [()]
    return _Grid(frame=frame, rows=rows, columns=columns, keys=tuple(labels))


def _filled(key: pd.Series[Any], fill: str) -> pd.Series[Any]:
    missing = key.isna()
    return key.astype(object).mask(missing, fill) if missing.any() else key


def _with_all_keys(frame: pd.DataFrame, keys: Sequence[pd.Series[Any]]) -> tuple[pd.DataFrame, list[pd.Series[Any]]]:
    """Return the rows whose keys are all there."""
    missing = np.zeros(len(frame), dtype=bool)
    for key in keys:
        missing |= key.isna().to_numpy()
    if not missing.any():
        return frame, list(keys)
    return frame[~missing], [key[~missing] for key in keys]


def _check_size(rows: int, columns: int) -> None:
    cells = rows * columns
    if columns > MOST_COLUMNS or cells > MOST_CELLS:
        raise LimitError(
            f"the table would have {columns:,} columns and {cells:,} cells; at most {MOST_COLUMNS:,} columns and "
            f"{MOST_CELLS:,} cells are made: group by fewer columns, or limit the series of the query"
        )


# ------------------------------------------------------------------------------------------------------------- values
def _block(grid: _Grid, name: str, options: PivotOptions) -> Block:
    """Return the columns of one metric, with its totals when they are asked for."""
    shape = (grid.rows.size, grid.columns.size)
    cells = grid.rows.codes * shape[1] + grid.columns.codes
    values = _aggregated_cells(grid, name, options, cells, shape)
    block = Block(metric=name, keys=grid.keys, values=values)
    if options.drop_missing_columns:
        block = block.without_missing_columns()
    if not options.marginal_distributions:
        return block
    return _with_totals(block, grid, name, options)


def _aggregated_cells(grid: _Grid, name: str, options: PivotOptions, cells: Array, shape: tuple[int, int]) -> Array:
    """Return the aggregate of every cell that has rows, null for the others."""
    spec = options.aggregates[name]
    filled = np.flatnonzero(np.bincount(cells, minlength=shape[0] * shape[1]))
    if len(filled) < shape[0] * shape[1]:
        dense = np.empty(shape[0] * shape[1], dtype=np.int64)
        dense[filled] = np.arange(len(filled))
        cells = dense[cells]
    made = aggregated(grid.frame[spec.column or name], spec, cells, len(filled), option=f"aggregates.{name}")
    return scattered(made, filled, shape)


def _with_totals(block: Block, grid: _Grid, name: str, options: PivotOptions) -> Block:
    """Return the block with a row of totals, and a column of them when there are columns: aggregates over all rows."""
    total = options.marginal_distribution_name
    down = _aggregated_cells(grid, name, options, grid.columns.codes, (1, grid.columns.size))
    below = block.with_row(down[:, block.places(grid.keys)])
    if not options.columns:
        return below
    across = _aggregated_cells(grid, name, options, grid.rows.codes, (grid.rows.size, 1))
    corner = _aggregated_cells(grid, name, options, np.zeros_like(grid.rows.codes), (1, 1))
    key = (total, *[""] * (len(options.columns) - 1))
    if key in grid.keys:
        raise PostProcessingError(f"marginal_distribution_name: {total!r} is a value of the columns; choose another")
    return below.with_column(key, across, corner)


def _index(grid: _Grid, options: PivotOptions) -> pd.Index[Any]:
    keys = [_as_labels(grid.rows.keys(grid.frame[name]), name, "index") for name in options.index]
    if options.marginal_distributions:
        total = options.marginal_distribution_name
        if total in set(keys[0].tolist()):
            raise PostProcessingError(f"marginal_distribution_name: {total!r} is a value of the index; choose another")
        keys = [pd.Series([*key.tolist(), "" if place else total], dtype=object) for place, key in enumerate(keys)]
    if len(keys) == 1:
        index: pd.Index[Any] = pd.Index(keys[0].array, name=options.index[0])
        return index
    return pd.MultiIndex.from_arrays([key.array for key in keys], names=list(options.index))


def _as_labels(key: pd.Series[Any], name: str, option: str) -> pd.Series[Any]:
    """Return keys as pandas takes them for labels.

    Raises:
        PostProcessingError: they are lists or objects.
    """
    if key.dtype == np.float16:
        return key.astype(np.float32)
    if isinstance(key.dtype, pd.ArrowDtype) or pd.api.types.is_object_dtype(key.dtype):
        strange = next((value for value in key.tolist() if not isinstance(value, Hashable)), None)
        if strange is not None:
            raise PostProcessingError(
                f"{option}: column {name!r} holds lists or objects; pivot takes single values only"
            )
    return key

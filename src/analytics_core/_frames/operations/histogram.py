"""`histogram`: how many values lie in each of equal parts of their range."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from analytics_core._frames.operations.base import Operation
from analytics_core._frames.operations.checks import Array, numbers, require_columns, require_flat, require_numeric
from analytics_core._frames.operations.grouping import group_rows
from analytics_core.errors import LimitError, PostProcessingError
from analytics_core.models.postprocessing import HistogramOptions

MOST_CELLS = 20_000_000


def apply(frame: pd.DataFrame, options: HistogramOptions) -> pd.DataFrame:
    """Return one row (of each group, keys first) with a column `low - high` for each bin; the last bin holds its end.

    All groups share the bins. Nulls and infinities are left out; without a value there is no row. `cumulative` adds
    up from bin to bin, `normalize` divides by the sum of all cells of the result.

    Raises:
        PostProcessingError: a column is missing, or `column` holds no numbers.
        LimitError: the result would have more than 20,000,000 cells.
    """
    require_flat(frame)
    require_numeric(frame, [options.column], option="column")
    require_columns(frame, options.groupby, option="groupby")
    values = numbers(frame[options.column]).astype(np.float64, copy=False)
    held = np.isfinite(values)
    if not held.any():
        return frame.iloc[:0]
    kept = frame if held.all() else frame[held]
    groups = group_rows([kept[name] for name in options.groupby], length=len(kept))
    _check_size(groups.size, options.bins)
    edges = np.histogram_bin_edges(values[held], bins=options.bins)
    counts = _counts(values[held], edges, groups.codes, groups.size)
    table = pd.DataFrame(_finished(counts, options), columns=pd.Index(_labels(edges, options.groupby), dtype=object))
    for place, name in enumerate(options.groupby):
        table.insert(place, name, groups.keys(kept[name]).array)
    return table


def _check_size(groups: int, bins: int) -> None:
    if groups * bins > MOST_CELLS:
        raise LimitError(
            f"the histogram would have {groups * bins:,} cells; at most {MOST_CELLS:,} are made: "
            "use fewer bins or groups"
        )


def _counts(values: Array, edges: Array, codes: Array, size: int) -> Array:
    """Return the number of values in each bin of each group."""
    bins = len(edges) - 1
    width = edges[-1] - edges[0]
    place = np.minimum(((values - edges[0]) / width * bins).astype(np.int64), bins - 1)
    # Division may round across an edge: the edges themselves decide.
    place -= (values < edges[place]) & (place > 0)
    place += (values >= edges[place + 1]) & (place < bins - 1)
    return np.bincount(codes * bins + place, minlength=size * bins).reshape(size, bins)


def _finished(counts: Array, options: HistogramOptions) -> Array:
    table = counts.cumsum(axis=1) if options.cumulative else counts
    return table / table.sum() if options.normalize else table


def _labels(edges: Array, taken: Sequence[str]) -> list[str]:
    """Return `low - high` of each bin.

    Raises:
        PostProcessingError: two bins read alike, or one reads like a group column.
    """
    ends = edges.tolist()
    names = [f"{low} - {high}" for low, high in pairwise(ends)]
    if len({*names, *taken}) < len(names) + len(taken):
        raise PostProcessingError("bins: the values lie too close together for this many bins; use fewer")
    return names


OPERATION = Operation(name="histogram", options=HistogramOptions, apply=apply)

"""`histogram`: how many values lie in each of equal parts of their range."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite

import numpy as np
import pandas as pd

from analytics_core._engine.frames.columns import Array, numbers, require_columns, require_flat, require_numeric
from analytics_core._engine.frames.grouping import group_rows
from analytics_core.errors import LimitError, PostProcessingError
from analytics_core.models.postprocessing import HistogramOptions

MOST_CELLS = 20_000_000
_TOO_FAR = "column: the values lie too far apart: the width of their range is beyond a float"
_TOO_CLOSE = "bins: the values lie too close together for this many bins; use fewer"


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
    finite = np.isfinite(values)
    if not finite.any():
        return frame.iloc[:0]
    rows = frame if finite.all() else frame[finite]
    groups = group_rows([rows[name] for name in options.groupby], length=len(rows))
    _check_size(groups.size, options.bins)
    present = values if finite.all() else values[finite]
    edges = _edges(present, options.bins)
    counts = _counts(present, edges, groups.codes, groups.size)
    table = pd.DataFrame(_finished(counts, options), columns=pd.Index(_labels(edges, options.groupby), dtype=object))
    for place, name in enumerate(options.groupby):
        table.insert(place, name, groups.key_array(rows[name]))
    return table


def _check_size(groups: int, bins: int) -> None:
    if groups * bins > MOST_CELLS:
        raise LimitError(
            f"the histogram would have {groups * bins:,} cells; at most {MOST_CELLS:,} are made: "
            "use fewer bins or groups"
        )


def _edges(values: Array, bins: int) -> Array:
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            edges = np.histogram_bin_edges(values, bins=bins)
    except ValueError:
        wide = not isfinite(float(values.max()) - float(values.min()))
        raise PostProcessingError(_TOO_FAR if wide else _TOO_CLOSE) from None
    if not isfinite(edges[-1] - edges[0]):
        raise PostProcessingError(_TOO_FAR)
    return edges


def _counts(values: Array, edges: Array, codes: Array, size: int) -> Array:
    """Return the number of values in each bin of each group."""
    bins = len(edges) - 1
    width = edges[-1] - edges[0]
    share = values - edges[0]
    share /= width
    share *= bins
    place = share.astype(np.int64)
    np.minimum(place, bins - 1, out=place)
    # Division may round across an edge: the edges themselves decide. The first bin has no low end, the last no high.
    lows, highs = np.append(-np.inf, edges[1:-1]), np.append(edges[1:-1], np.inf)
    place -= values < lows[place]
    place += values >= highs[place]
    place += codes * bins
    return np.bincount(place, minlength=size * bins).reshape(size, bins)


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
        raise PostProcessingError(_TOO_CLOSE)
    return names

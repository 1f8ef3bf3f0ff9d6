"""`rank`: where each value stands among all, as a share from above 0 to 1."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analytics_core._engine.frames.column_maps import append_columns
from analytics_core._engine.frames.columns import Array, numbers, require_columns, require_flat, require_numeric
from analytics_core._engine.frames.grouping import group_rows, stable_order
from analytics_core.models.postprocessing import RankOptions

NEW_COLUMN = "rank"


def apply(frame: pd.DataFrame, options: RankOptions) -> pd.DataFrame:
    """Return the frame with the column `rank`: the percentile rank of `metric`, in all or within its group.

    Equal values share the mean of their ranks, a null has none; null is a group like others.

    Raises:
        PostProcessingError: a column is missing, or `metric` holds no numbers.
    """
    require_flat(frame)
    require_numeric(frame, [options.metric], option="metric")
    require_columns(frame, options.group_by, option="group_by")
    groups = group_rows([frame[name] for name in options.group_by], length=len(frame))
    ranks = percentile_ranks(numbers(frame[options.metric]), groups.codes, groups.size)
    return append_columns(frame, {NEW_COLUMN: ranks})


def percentile_ranks(values: Array, codes: Array, size: int) -> Array:
    """Return the rank of each value among those of its group, divided by how many the group has; NaN of NaN."""
    if not len(values):
        return np.empty(0)
    order = stable_order((codes, values))
    group, ordered = codes[order], values[order]
    counts = np.bincount(codes, minlength=size)
    valid_counts = np.bincount(codes[values == values], minlength=size)  # noqa: PLR0124 - only NaN differs from itself
    starts = np.flatnonzero(np.concatenate(([True], (group[1:] != group[:-1]) | (ordered[1:] != ordered[:-1]))))
    lengths = np.diff(starts, append=len(values))
    of_run = group[starts]
    before = starts - (np.cumsum(counts) - counts)[of_run]
    with np.errstate(all="ignore"):
        shares = (before + (lengths + 1) / 2) / valid_counts[of_run]
    shares[np.isnan(ordered[starts])] = np.nan
    ranks = np.empty(len(values))
    ranks[order] = np.repeat(shares, lengths)
    return ranks

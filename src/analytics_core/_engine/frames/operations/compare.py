"""`compare`: columns set against others, as for a metric and the same metric a year ago."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pandas as pd

from analytics_core._engine.frames.columns import (
    Array,
    labels,
    numbers,
    places_by_name,
    require_numeric,
    require_unique_columns,
)
from analytics_core.errors import PostProcessingError
from analytics_core.models.postprocessing import CompareOptions, CompareType

Rest = tuple[Hashable, ...]
"""What follows the first level of a label; empty for flat columns."""


def apply(frame: pd.DataFrame, options: CompareOptions) -> pd.DataFrame:
    """Return the frame with a column `TYPE__SOURCE__COMPARE` for each pair on the right.

    Of multi-level columns those are compared that are alike below the first level. A division by zero is null.

    Raises:
        PostProcessingError: the lists differ in length, or a column is missing or holds no numbers.
    """
    sources, compared = options.source_columns, options.compare_columns
    if len(sources) != len(compared):
        raise PostProcessingError(
            f"source_columns, compare_columns: the lists must be of one length, not {len(sources)} and {len(compared)}"
        )
    if sources:
        require_unique_columns(frame)
    require_numeric(frame, sources, option="source_columns")
    require_numeric(frame, compared, option="compare_columns")
    result = frame.copy(deep=False)
    for source, other in zip(sources, compared, strict=True):
        _add(result, frame, source, other, options)
    if not options.drop_original_columns or not sources:
        return result
    dropped = {*sources, *compared}
    return result.iloc[:, [place for place, label in enumerate(labels(result)) if label not in dropped]]


def _add(result: pd.DataFrame, frame: pd.DataFrame, source: str, other: str, options: CompareOptions) -> None:
    ours, theirs = _columns_under(frame, source), _columns_under(frame, other)
    name = f"{options.compare_type.value}__{source}__{other}"
    rests = dict.fromkeys([*ours, *theirs])
    nothing = np.full(len(frame) if len(rests) > min(len(ours), len(theirs)) else 0, np.nan)
    for rest in rests:
        label = (name, *rest) if rest else name
        values = _compared(ours.get(rest, nothing), theirs.get(rest, nothing), options)
        result[label] = pd.Series(values, index=frame.index, copy=False)  # an array would be copied


def _columns_under(frame: pd.DataFrame, name: str) -> dict[Rest, Array]:
    found: dict[Hashable, Array] = {
        frame.columns[place]: numbers(frame.iloc[:, place]) for place in places_by_name(frame).get(name, ())
    }
    return {label[1:] if isinstance(label, tuple) else (): values for label, values in found.items()}


def _compared(ours: Array, theirs: Array, options: CompareOptions) -> Array:
    with np.errstate(all="ignore"):
        if options.compare_type is CompareType.DIFFERENCE:
            return _difference(ours, theirs)
        change = _difference(ours, theirs) if options.compare_type is CompareType.PERCENTAGE else ours
        shares = np.asarray(np.true_divide(change, theirs))
        zeros = theirs == 0
        if zeros.any():
            shares[zeros] = np.nan
        return np.round(shares, options.precision, out=shares)


def _difference(ours: Array, theirs: Array) -> Array:
    """Return the difference, of whole numbers exact where it fits into 64 bits."""
    if ours.dtype.kind == theirs.dtype.kind == "i":
        low, high = float(ours.min(initial=0)), float(ours.max(initial=0))
        if max(high - theirs.min(initial=0), theirs.max(initial=0) - low) >= 2.0**63:
            return ours.astype(np.float64) - theirs
    return ours - theirs

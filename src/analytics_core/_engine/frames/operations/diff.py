"""`diff`: how much a value differs from the one some rows above, or some columns to the left."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analytics_core._engine.frames.column_maps import map_columns, with_results
from analytics_core._engine.frames.columns import Array
from analytics_core.models.postprocessing import DiffOptions


def apply(frame: pd.DataFrame, options: DiffOptions) -> pd.DataFrame:
    """Return the frame with the differences of the named columns, or of every numeric column when none is named.

    The first `periods` results are null; with negative `periods` each value is set against a later one, and the last
    are null. With axis 1 the named columns are set against each other in the order they are named.

    Raises:
        PostProcessingError: a column is missing or holds no numbers.
    """
    columns = map_columns(frame, options.columns)
    values = [column.values for column in columns]
    if options.axis == 1:
        return with_results(frame, columns, _across(values, options.periods))
    return with_results(frame, columns, [differences(column, options.periods) for column in values])


def differences(values: Array, periods: int) -> Array:
    """Return `values` less the value `periods` places before each; NaN where there is none."""
    result = np.empty(len(values))
    lag = min(abs(periods), len(values))
    later, earlier = values[lag:], values[: len(values) - lag]
    if periods >= 0:
        result[:lag] = np.nan
        _subtract(later, earlier, out=result[lag:])
    else:
        result[len(values) - lag :] = np.nan
        _subtract(earlier, later, out=result[: len(values) - lag])
    return result


def _across(values: list[Array], periods: int) -> list[Array]:
    results = [np.full(len(column), np.nan) for column in values]
    for place, column in enumerate(values):
        if 0 <= place - periods < len(values):
            _subtract(column, values[place - periods], out=results[place])
    return results


def _subtract(minuend: Array, subtrahend: Array, *, out: Array) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        np.subtract(minuend, subtrahend, out=out, dtype=np.float64)
        if minuend.dtype.kind != "f" and subtrahend.dtype.kind != "f":
            # Whole numbers are subtracted as such, so that large ones keep their last digits, unless that wraps around.
            exact = np.subtract(minuend, subtrahend, dtype=np.int64)
            np.copyto(out, exact, where=np.abs(out) < 2.0**63)

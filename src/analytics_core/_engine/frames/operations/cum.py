"""`cum`: running sums, products, least and greatest values down the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import pandas as pd

from analytics_core._engine.frames.column_maps import map_columns, with_results
from analytics_core._engine.frames.columns import Array, nulls_as_0
from analytics_core.models.postprocessing import CumOptions, CumulativeOperator

_RUNNING: Final[Mapping[CumulativeOperator, Callable[[Array], Array]]] = {
    CumulativeOperator.SUM: np.cumsum,
    CumulativeOperator.PROD: np.cumprod,
    CumulativeOperator.MIN: np.minimum.accumulate,
    CumulativeOperator.MAX: np.maximum.accumulate,
}
_INTEGER_LIMIT: Final = 2.0**63


def apply(frame: pd.DataFrame, options: CumOptions) -> pd.DataFrame:
    """Return the frame with the running values of the named columns, or of every numeric column when none is named.

    A null counts as 0. Whole numbers that would pass 64 bits become floats.

    Raises:
        PostProcessingError: a column is missing or holds no numbers.
    """
    columns = map_columns(frame, options.columns)
    return with_results(frame, columns, [cumulated(column.values, options.operator) for column in columns])


def cumulated(values: Array, operator: CumulativeOperator) -> Array:
    """Return the running values of one column of numbers."""
    run = _RUNNING[operator]
    if values.dtype.kind == "f":
        with np.errstate(over="ignore", invalid="ignore"):
            return run(nulls_as_0(values))
    integers = values.astype(np.int64, copy=False)
    if operator in (CumulativeOperator.MIN, CumulativeOperator.MAX) or not len(integers):
        return run(integers)
    with np.errstate(over="ignore"):
        rough = run(integers.astype(np.float64))
    # Integer sums and products wrap around silently; as floats they lose digits, but not their size.
    return rough if not np.abs(rough).max() < _INTEGER_LIMIT else run(integers)

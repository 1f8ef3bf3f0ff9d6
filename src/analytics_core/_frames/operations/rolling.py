"""`rolling`: what a window of rows makes of a column, the window moving down row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pandas as pd

from analytics_core._frames.operations import sliding
from analytics_core._frames.operations.base import Operation
from analytics_core._frames.operations.checks import Array
from analytics_core._frames.operations.column_maps import map_columns, numeric_column, only_place, with_results
from analytics_core._frames.operations.rolling_options import TypeOptions, read_type_options
from analytics_core._frames.operations.window_weights import window_weights
from analytics_core.errors import LimitError, PostProcessingError
from analytics_core.models.postprocessing import RollingOptions, RollingType, WindowType

_STEP_CELLS: Final = 2**17
MOST_WEIGHTS: Final = 100_000
MOST_WEIGHED_CELLS: Final = 1_000_000_000


def apply(frame: pd.DataFrame, options: RollingOptions) -> pd.DataFrame:
    """Return the frame with the rolling values of the named columns, or of every numeric column when none is named.

    Nulls and infinite values are left out of a window. A window with fewer than `min_periods` values gives null, unless
    they are counted; the first `min_periods` - 1 rows are cut off.

    Raises:
        PostProcessingError: a column is missing or holds no numbers, or an option is missing, unknown or out of bounds.
        LimitError: a weighted window over so many rows would take too long.
    """
    made_of = read_type_options(options)
    if options.min_periods is not None and options.min_periods > options.window:
        raise PostProcessingError(
            f"min_periods: a window of {options.window} rows never holds {options.min_periods} values"
        )
    columns = map_columns(frame, options.columns)
    values = [_finite(column.values) for column in columns]
    result = with_results(frame, columns, _rolled(frame, values, options, made_of))
    return result.iloc[options.min_periods - 1 :] if options.min_periods else result


def _finite(values: Array) -> Array:
    floats = values.astype(np.float64, copy=False)
    infinite = np.isinf(floats)
    return np.where(infinite, np.nan, floats) if infinite.any() else floats


def _rolled(
    frame: pd.DataFrame, values: Sequence[Array], options: RollingOptions, made_of: TypeOptions
) -> Sequence[Array]:
    needed = _values_needed(options, made_of.kind)
    if options.win_type is not None:
        return _weighed(values, options, made_of, rows=len(frame), needed=max(needed, 1))
    span = sliding.span_of(len(frame), options.window, center=options.center)
    if made_of.kind in _OWN_KERNELS:
        kernel = _OWN_KERNELS[made_of.kind]
        return [_where_enough(column, kernel(column, span), span, needed) for column in values]
    if made_of.kind in (RollingType.VAR, RollingType.STD):
        return [
            made for part in _parts(values) for made in _where_enough(part, _spread(part, span, made_of), span, needed)
        ]
    if made_of.kind in (RollingType.CORR, RollingType.COV):
        other = _second_column(frame, made_of.other)
        return [
            _where_enough(
                np.where(np.isnan(other), np.nan, column), _paired(column, other, span, made_of), span, needed
            )
            for column in values
        ]
    table = pd.DataFrame(dict(enumerate(values)), index=range(len(frame)), copy=False)
    windows = table.rolling(span.window, min_periods=min(needed, span.window), center=options.center)
    table = _of_each(windows, made_of)
    return [table.iloc[:, place].to_numpy(copy=True) for place in range(len(values))]


def _parts(values: Sequence[Array]) -> Iterator[Array]:
    """Yield the columns as rows of arrays, some at a time: many short ones cost little more than one."""
    step = max(_STEP_CELLS // max(len(values[0]), 1), 1) if values else 1
    return (np.stack(values[start : start + step]) for start in range(0, len(values), step))


def _spread(values: Array, span: sliding.Span, made_of: TypeOptions) -> Array:
    variances = sliding.variances(values, span, ddof=made_of.ddof)
    return variances if made_of.kind is RollingType.VAR else np.sqrt(variances)


def _values_needed(options: RollingOptions, kind: RollingType) -> int:
    if options.min_periods is not None:
        return options.min_periods
    return 0 if kind is RollingType.COUNT else options.window


_OWN_KERNELS: Final[Mapping[RollingType, Callable[[Array, sliding.Span], Array]]] = MappingProxyType(
    {
        RollingType.PROD: sliding.products,
        RollingType.SKEW: sliding.skews,
        RollingType.KURT: sliding.kurtoses,
        RollingType.ARGMIN: sliding.places_of_least,
        RollingType.ARGMAX: lambda values, span: sliding.places_of_least(-values, span),
    }
)


def _where_enough(values: Array, made: Array, span: sliding.Span, needed: int) -> Array:
    return np.where(sliding.counts(values, span) >= needed, made, np.nan)


def _of_each(windows: Any, made_of: TypeOptions) -> pd.DataFrame:
    """Return what pandas makes of the windows of each column."""
    made: pd.DataFrame
    if made_of.kind in (RollingType.QUANTILE, RollingType.PERCENTILE):
        made = windows.quantile(made_of.share, interpolation=made_of.interpolation)
    else:
        made = getattr(windows, made_of.kind.value)()
    return made


def _second_column(frame: pd.DataFrame, name: str) -> Array:
    option = "rolling_type_options.other"
    place = only_place(frame, name, option=option)
    return _finite(numeric_column(frame, place, option=option))


def _paired(values: Array, other: Array, span: sliding.Span, made_of: TypeOptions) -> Array:
    """Return the correlations or covariances of a column with the other."""
    if made_of.kind is RollingType.CORR:
        return sliding.correlations(values, other, span)
    return sliding.covariances(values, other, span, ddof=made_of.ddof)


def _weighed(
    values: Sequence[Array], options: RollingOptions, made_of: TypeOptions, *, rows: int, needed: int
) -> Sequence[Array]:
    window = options.window
    if window > MOST_WEIGHTS or window * rows * len(values) > MOST_WEIGHED_CELLS:
        raise LimitError(
            f"window: weighing {window:,} rows around each of {rows:,} takes too long; at most {MOST_WEIGHTS:,} "
            f"weights and {MOST_WEIGHED_CELLS:,} cells are weighed: take a shorter window, or no win_type"
        )
    weights = window_weights(options.win_type or WindowType.BOXCAR, window, options.rolling_type_options)
    span = sliding.Span(rows=rows, window=window, ahead=(window - 1) // 2 if options.center else 0)
    return [_where_enough(column, _weighed_column(column, span, weights, made_of), span, needed) for column in values]


def _weighed_column(values: Array, span: sliding.Span, weights: Array, made_of: TypeOptions) -> Array:
    if made_of.kind is RollingType.SUM:
        return sliding.weighted_sums(values, span, weights)
    if made_of.kind is RollingType.MEAN:
        return sliding.weighted_means(values, span, weights)
    variances = sliding.weighted_variances(values, span, weights, ddof=made_of.ddof)
    return variances if made_of.kind is RollingType.VAR else np.sqrt(variances)


OPERATION = Operation(name="rolling", options=RollingOptions, apply=apply)

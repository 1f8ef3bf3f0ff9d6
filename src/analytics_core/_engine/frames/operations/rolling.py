"""`rolling`: what a window of rows makes of a column, the window moving down row by row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pandas as pd

from analytics_core._engine.frames import sliding
from analytics_core._engine.frames.column_maps import map_columns, numeric_column, only_place, with_results
from analytics_core._engine.frames.columns import Array, listed
from analytics_core._engine.frames.sliding import parameter_names, window_weights
from analytics_core.errors import LimitError, PostProcessingError
from analytics_core.models.postprocessing import RollingOptions, RollingType, WindowType

INTERPOLATIONS: Final = ("linear", "lower", "higher", "midpoint", "nearest")

_SAME: Final[Mapping[RollingType, RollingType]] = MappingProxyType(
    {
        RollingType.AVERAGE: RollingType.MEAN,
        RollingType.CUMSUM: RollingType.SUM,
        RollingType.CUMPROD: RollingType.PROD,
        RollingType.PRODUCT: RollingType.PROD,
        RollingType.NANSUM: RollingType.SUM,
        RollingType.NANMIN: RollingType.MIN,
        RollingType.NANMAX: RollingType.MAX,
        RollingType.NANMEAN: RollingType.MEAN,
        RollingType.NANMEDIAN: RollingType.MEDIAN,
        RollingType.NANPERCENTILE: RollingType.PERCENTILE,
    }
)
"""Types that are another one by a second name: nulls are left out of every window, and the last of the running sums
of a window is its sum."""

_OWN_OPTIONS: Final[Mapping[RollingType, tuple[str, ...]]] = MappingProxyType(
    {
        RollingType.STD: ("ddof",),
        RollingType.VAR: ("ddof",),
        RollingType.PERCENTILE: ("q", "interpolation"),
        RollingType.QUANTILE: ("quantile", "q", "interpolation"),
        RollingType.CORR: ("other",),
        RollingType.COV: ("other", "ddof"),
    }
)
_WEIGHTED: Final = frozenset({RollingType.SUM, RollingType.MEAN, RollingType.STD, RollingType.VAR})


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeOptions:
    """What is made of a window.

    Args:
        kind: the rolling type, each by one name.
        ddof: what is taken off the number of values in a variance.
        share: which quantile is taken, 0 to 1.
        interpolation: how, between two values.
        other: the column of the second variable.
    """

    kind: RollingType
    ddof: int = 1
    share: float = 0.5
    interpolation: str = "linear"
    other: str = ""


def read_type_options(options: RollingOptions) -> TypeOptions:
    """Return the options of the rolling type, checked.

    Raises:
        PostProcessingError: an option is missing, unknown or out of bounds, or the type knows no weights.
    """
    kind = _SAME.get(options.rolling_type, options.rolling_type)
    given = options.rolling_type_options
    _require_weights_fit(kind, options.win_type)
    _require_known(options, kind)
    return TypeOptions(
        kind=kind,
        ddof=_ddof(given),
        share=_share(kind, given),
        interpolation=_interpolation(given),
        other=_other(kind, given),
    )


def _require_weights_fit(kind: RollingType, win_type: WindowType | None) -> None:
    if win_type is not None and kind not in _WEIGHTED:
        fitting = [name.value for name in RollingType if _SAME.get(name, name) in _WEIGHTED]
        raise PostProcessingError(f"win_type: {kind.value} knows no weights; with a win_type use: {listed(fitting)}")


def _require_known(options: RollingOptions, kind: RollingType) -> None:
    known = _OWN_OPTIONS.get(kind, ()) + (parameter_names(options.win_type) if options.win_type else ())
    unknown = [name for name in options.rolling_type_options if name not in known]
    if unknown:
        with_window = f" with win_type {options.win_type.value}" if options.win_type else ""
        raise PostProcessingError(
            f"rolling_type_options: Invalid options for {options.rolling_type.value}{with_window}: {listed(unknown)}; "
            f"it takes: {listed(known)}"
        )


def _ddof(given: Mapping[str, Any]) -> int:
    ddof = given.get("ddof", 1)
    if isinstance(ddof, bool) or not isinstance(ddof, int) or ddof < 0:
        raise PostProcessingError("rolling_type_options: ddof must be a whole number, 0 or more")
    return ddof


def _share(kind: RollingType, given: Mapping[str, Any]) -> float:
    if kind is RollingType.PERCENTILE:
        return _number_up_to(100, given.get("q"), "percentile needs q") / 100
    if kind is RollingType.QUANTILE:
        return _number_up_to(1, given.get("quantile", given.get("q")), "quantile needs quantile")
    return 0.5


def _number_up_to(most: int, value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value) or not 0 <= value <= most:
        raise PostProcessingError(f"rolling_type_options: {what}, a number from 0 to {most}")
    return value


def _interpolation(given: Mapping[str, Any]) -> str:
    name = given.get("interpolation", "linear")
    if name not in INTERPOLATIONS:
        raise PostProcessingError(f"rolling_type_options: interpolation must be one of: {listed(INTERPOLATIONS)}")
    return str(name)


def _other(kind: RollingType, given: Mapping[str, Any]) -> str:
    if kind not in (RollingType.CORR, RollingType.COV):
        return ""
    other = given.get("other")
    if not isinstance(other, str):
        raise PostProcessingError(f"rolling_type_options: {kind.value} needs other, the name of the second column")
    return other


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


def _spread(values: Array, span: sliding.WindowSpan, made_of: TypeOptions) -> Array:
    variances = sliding.variances(values, span, ddof=made_of.ddof)
    return variances if made_of.kind is RollingType.VAR else np.sqrt(variances)


def _values_needed(options: RollingOptions, kind: RollingType) -> int:
    if options.min_periods is not None:
        return options.min_periods
    return 0 if kind is RollingType.COUNT else options.window


_OWN_KERNELS: Final[Mapping[RollingType, Callable[[Array, sliding.WindowSpan], Array]]] = MappingProxyType(
    {
        RollingType.PROD: sliding.products,
        RollingType.SKEW: sliding.skews,
        RollingType.KURT: sliding.kurtoses,
        RollingType.ARGMIN: sliding.places_of_least,
        RollingType.ARGMAX: lambda values, span: sliding.places_of_least(-values, span),
    }
)


def _where_enough(values: Array, made: Array, span: sliding.WindowSpan, needed: int) -> Array:
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


def _paired(values: Array, other: Array, span: sliding.WindowSpan, made_of: TypeOptions) -> Array:
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
    span = sliding.WindowSpan(rows=rows, window=window, ahead=(window - 1) // 2 if options.center else 0)
    return [_where_enough(column, _weighed_column(column, span, weights, made_of), span, needed) for column in values]


def _weighed_column(values: Array, span: sliding.WindowSpan, weights: Array, made_of: TypeOptions) -> Array:
    if made_of.kind is RollingType.SUM:
        return sliding.weighted_sums(values, span, weights)
    if made_of.kind is RollingType.MEAN:
        return sliding.weighted_means(values, span, weights)
    variances = sliding.weighted_variances(values, span, weights, ddof=made_of.ddof)
    return variances if made_of.kind is RollingType.VAR else np.sqrt(variances)

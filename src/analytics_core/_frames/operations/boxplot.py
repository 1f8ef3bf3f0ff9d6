"""`boxplot`: for each group mean, median, whiskers, quartiles, count and outliers of the metrics."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from analytics_core._frames.operations.base import Operation
from analytics_core._frames.operations.checks import Array, is_numeric, labels, numbers, refuse_column
from analytics_core._frames.operations.column_maps import only_place
from analytics_core._frames.operations.grouping import Groups, group_rows
from analytics_core.errors import PostProcessingError
from analytics_core.models.postprocessing import BoxplotOptions, WhiskerType

_REACH: Final = 1.5
"""How many heights of the box a tukey whisker reaches at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The values of one metric that are not null, by group.

    Args:
        values: in the order of the rows.
        codes: the group of each value.
        sizes: how many values each group has.
        ordered: the values of the first group in rising order, those of the second ...
        starts: where each group begins in `ordered`.
    """

    values: Array
    codes: Array
    sizes: Array
    ordered: Array
    starts: Array


def apply(frame: pd.DataFrame, options: BoxplotOptions) -> pd.DataFrame:
    """Return one row for each group, sorted by the group's keys, with eight columns for each metric.

    Nulls are not counted; a group without values has null statistics and count 0. Text that reads as a number counts
    as one, other values of a column of objects as null; one where nothing reads as a number is refused.

    Raises:
        PostProcessingError: a column is missing, a metric holds no numbers, or `percentiles` are not two in order.
    """
    _require_percentiles(options)
    keys = [frame.iloc[:, only_place(frame, name, option="groupby")] for name in options.groupby]
    groups = group_rows(keys, length=len(frame))
    statistics = {
        metric: _statistics(sample_of(_metric(frame, metric), groups), options) for metric in _metrics(frame, options)
    }
    columns: dict[Hashable, Any] = {
        name: groups.keys(key).array for name, key in zip(options.groupby, keys, strict=True)
    }
    for name in next(iter(statistics.values()), ()):
        columns |= {f"{metric}__{name}": made[name] for metric, made in statistics.items()}
    return pd.DataFrame(columns, index=pd.RangeIndex(groups.size), copy=False)


def _require_percentiles(options: BoxplotOptions) -> None:
    if options.whisker_type is not WhiskerType.PERCENTILE:
        return
    low, high = options.percentiles or (0.0, 0.0)
    if not 0 <= low < high <= 100:
        raise PostProcessingError(
            "percentiles: percentile whiskers need two numbers from 0 to 100, the lower one first, such as [10, 90]"
        )


def _metrics(frame: pd.DataFrame, options: BoxplotOptions) -> Sequence[str]:
    if options.metrics is not None:
        return tuple(dict.fromkeys(options.metrics))
    return [
        str(label)
        for place, label in enumerate(labels(frame))
        if label not in options.groupby and is_numeric(frame.iloc[:, place], booleans=False)
    ]


def _metric(frame: pd.DataFrame, name: str) -> Array:
    series = frame.iloc[:, only_place(frame, name, option="metrics")]
    if is_numeric(series):
        return numbers(series)
    if not (pd.api.types.is_object_dtype(series.dtype) or pd.api.types.is_string_dtype(series.dtype)):
        refuse_column(frame, name, option="metrics")
    values = pd.to_numeric(series, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isnan(values).all() and series.notna().any():
        refuse_column(frame, name, option="metrics")
    return values


def sample_of(values: Array, groups: Groups) -> Sample:
    """Return the values that are not null, and the same sorted within each group."""
    codes = groups.codes
    if values.dtype.kind == "f":
        present = ~np.isnan(values)
        if not present.all():
            values, codes = values[present], codes[present]
    sizes = np.bincount(codes, minlength=groups.size)
    ends = np.cumsum(sizes)
    # Small codes are sorted by counting; few numbers need comparing after that.
    narrow = codes.astype(np.uint16) if groups.size <= 2**16 else codes
    ordered = values[np.argsort(narrow, kind="stable")]
    for start, end in zip(ends - sizes, ends, strict=True):
        ordered[start:end].sort()
    return Sample(values=values, codes=codes, sizes=sizes, ordered=ordered, starts=ends - sizes)


def _statistics(sample: Sample, options: BoxplotOptions) -> Mapping[str, Any]:
    """Return the statistics by name, in the order of the columns."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        first, third = percentile(sample, 25, midpoint=True), percentile(sample, 75, midpoint=True)
        low, high = _whiskers(sample, options, first, third)
        return {
            "mean": _means(sample),
            "median": percentile(sample, 50, midpoint=True),
            "max": high,
            "min": low,
            "q1": first,
            "q3": third,
            "count": sample.sizes,
            "outliers": _outliers(sample, low, high),
        }


def percentile(sample: Sample, q: float, *, midpoint: bool = False) -> Array:
    """Return the percentile of each group: on the line between the two nearest values, or midway between them."""
    place = np.maximum(sample.sizes - 1, 0) * (q / 100)
    below, above = np.floor(place).astype(np.int64), np.ceil(place).astype(np.int64)
    low, high = (_at(sample, sample.starts + offset).astype(np.float64) for offset in (below, above))
    share = 0.5 * (above > below) if midpoint else place - below
    # From the nearer end, as NumPy does it: so the ends themselves come out exact.
    result: Array = np.where(share < 0.5, low + (high - low) * share, high - (high - low) * (1 - share))
    return np.where(low == high, low, result)


def _at(sample: Sample, places: Array) -> Array:
    """Return the ordered values at a place in each group; NaN where the group is empty."""
    if sample.sizes.all():
        return sample.ordered[places]
    result = np.full(len(places), np.nan)
    held = sample.sizes > 0
    result[held] = sample.ordered[places[held]]
    return result


def _means(sample: Sample) -> Array:
    return np.bincount(sample.codes, weights=sample.values, minlength=len(sample.sizes)) / sample.sizes


def _whiskers(sample: Sample, options: BoxplotOptions, first: Array, third: Array) -> tuple[Array, Array]:
    """Return the ends of the lower and of the upper whisker of each group."""
    if options.whisker_type is WhiskerType.PERCENTILE and options.percentiles is not None:
        low, high = options.percentiles
        return percentile(sample, low), percentile(sample, high)
    lasts = sample.starts + sample.sizes - 1
    if options.whisker_type is WhiskerType.MIN_MAX:
        return _at(sample, sample.starts), _at(sample, lasts)
    reach = _REACH * (third - first)
    size = len(sample.sizes)
    below = np.bincount(sample.codes[sample.values < (first - reach)[sample.codes]], minlength=size)
    above = np.bincount(sample.codes[sample.values > (third + reach)[sample.codes]], minlength=size)
    return _at(sample, sample.starts + below), _at(sample, lasts - above)


def _outliers(sample: Sample, low: Array, high: Array) -> Array:
    """Return a list for each group, in the order of the rows: what lies above its whiskers, then what lies below."""
    result = np.empty(len(sample.sizes), dtype=object)
    if not len(result):
        return result
    # Few values lie beyond the ends of any group: only these are set against the ends of their own.
    above = np.flatnonzero(sample.values > np.fmin.reduce(high))
    above = above[sample.values[above] > high[sample.codes[above]]]
    below = np.flatnonzero(sample.values < np.fmax.reduce(low))
    below = below[sample.values[below] < low[sample.codes[below]]]
    for group, parts in enumerate(zip(_by_group(sample, above), _by_group(sample, below), strict=True)):
        result[group] = parts[0] + parts[1]
    return result


def _by_group(sample: Sample, rows: Array) -> list[list[Any]]:
    """Return the values of these rows, a list for each group."""
    codes = sample.codes[rows]
    values = sample.values[rows[np.argsort(codes, kind="stable")]].tolist()
    ends = np.cumsum(np.bincount(codes, minlength=len(sample.sizes))).tolist()
    return [values[start:end] for start, end in zip([0, *ends], ends, strict=False)]


OPERATION = Operation(name="boxplot", options=BoxplotOptions, apply=apply)

"""`boxplot`: for each group mean, median, whiskers, quartiles, count and outliers of the metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

import numpy as np
import pandas as pd

from analytics_core._engine.frames.column_maps import only_column
from analytics_core._engine.frames.columns import Array, is_numeric, labels, numbers, numeric_places, reject_column
from analytics_core._engine.frames.grouping import Groups, group_rows
from analytics_core.errors import PostProcessingError
from analytics_core.models.postprocessing import BoxplotOptions, WhiskerType

try:
    from pandas.api.internals import create_dataframe_from_blocks
except ImportError:  # pandas 2
    create_dataframe_from_blocks = None


def table_of(keys: Mapping[str, Any], made: Mapping[str, Array], *, rows: int) -> pd.DataFrame:
    """Return the frame of the keys' columns, then those that were made, of which one may take the place of a key.

    Where all keys are text the blocks of the frame are laid by hand, which takes half the time of a small table:
    neighbours of one type become one block. Other keys go the common way, which finds out about types.

    Args:
        keys: arrays of pandas, by the name of the column.
        made: NumPy arrays of numbers or of lists, by the name of the column.
        rows: how long each of them is.
    """
    index = pd.RangeIndex(rows)
    are_texts = bool(keys) and all(isinstance(key.dtype, pd.StringDtype) for key in keys.values())
    if create_dataframe_from_blocks is None or not rows or not are_texts or keys.keys() & made.keys():
        return pd.DataFrame({**keys, **made}, index=index, copy=False)
    blocks: list[tuple[Any, Array]] = [(key, np.array([place])) for place, key in enumerate(keys.values())]
    place = len(keys)
    for _, alike in groupby(made.values(), key=attrgetter("dtype")):
        block = _block(list(alike))
        blocks.append((block, np.arange(place, place + len(block))))
        place += len(block)
    table: pd.DataFrame = create_dataframe_from_blocks(blocks, index=index, columns=pd.Index([*keys, *made]))
    return table


def _block(arrays: Sequence[Array]) -> Array:
    """Return the arrays as rows of one; lists inside of them stay lists."""
    if len(arrays) == 1:
        return arrays[0].reshape(1, -1)
    block = np.empty((len(arrays), len(arrays[0])), dtype=arrays[0].dtype)
    for row, array in zip(block, arrays, strict=True):
        row[:] = array
    return block


_REACH: Final = 1.5
"""How many heights of the box a tukey whisker reaches at most."""
_BOX: Final = (25.0, 50.0, 75.0)
"""The percentiles of a box; they are found midway between two values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The values of one metric that are not null, by group.

    Args:
        values: in the order of the rows.
        codes: the group of each value.
        sizes: how many values each group has.
        starts: where each group begins in `grouped` and `ordered`.
        grouped: the values of the first group in the order of the rows, those of the second ...
        ordered: the same, each group in rising order.
    """

    values: Array
    codes: Array
    sizes: Array
    starts: Array
    grouped: Array
    ordered: Array


def apply(frame: pd.DataFrame, options: BoxplotOptions) -> pd.DataFrame:
    """Return one row for each group, sorted by the group's keys, with eight columns for each metric.

    Nulls are not counted; a group without values has null statistics and count 0. Text that reads as a number counts
    as one, other values of a column of objects as null; one where nothing reads as a number is refused.

    Raises:
        PostProcessingError: a column is missing, a metric holds no numbers, `percentiles` are not two in order, or a
            group column has the name of a statistic.
    """
    _require_percentiles(options)
    keys = [only_column(frame, name, option="groupby") for name in options.groupby]
    groups = group_rows(keys, length=len(frame))
    statistics = {
        metric: _statistics(sample_of(_metric(frame, metric), groups), options) for metric in _metrics(frame, options)
    }
    key_columns = {name: groups.key_array(key) for name, key in zip(options.groupby, keys, strict=True)}
    made = {
        f"{metric}__{name}": found[name]
        for name in next(iter(statistics.values()), ())
        for metric, found in statistics.items()
    }
    taken = [name for name in key_columns if name in made]
    if taken:
        raise PostProcessingError(f"groupby: {taken[0]!r} is the name of a statistic too; rename the column")
    return table_of(key_columns, made, rows=groups.size)


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
    present = labels(frame)
    return [str(present[place]) for place in numeric_places(frame) if present[place] not in options.groupby]


def _metric(frame: pd.DataFrame, name: str) -> Array:
    series = only_column(frame, name, option="metrics")
    if is_numeric(series):
        return numbers(series)
    if not (pd.api.types.is_object_dtype(series.dtype) or pd.api.types.is_string_dtype(series.dtype)):
        reject_column(frame, name, option="metrics")
    values = pd.to_numeric(series, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isnan(values).all() and series.notna().any():
        reject_column(frame, name, option="metrics")
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
    grouped = values[np.argsort(narrow, kind="stable")]
    ordered, starts = grouped.copy(), ends - sizes
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        ordered[start:end].sort()
    return Sample(values=values, codes=codes, sizes=sizes, starts=starts, grouped=grouped, ordered=ordered)


def _statistics(sample: Sample, options: BoxplotOptions) -> Mapping[str, Any]:
    """Return the statistics by name, in the order of the columns."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        first, middle, third, *ends = percentiles(sample, _wanted(options), midway=len(_BOX))
        low, high = ends or _whiskers(sample, options, first, third)
        return {
            "mean": np.bincount(sample.codes, weights=sample.values, minlength=len(sample.sizes)) / sample.sizes,
            "median": middle,
            "max": high,
            "min": low,
            "q1": first,
            "q3": third,
            "count": sample.sizes,
            "outliers": _outliers(sample, low, high),
        }


def _wanted(options: BoxplotOptions) -> Array:
    """Return the percentiles to find: those of the box, then the ends of its whiskers."""
    ends = options.percentiles if options.whisker_type is WhiskerType.PERCENTILE else None
    return np.array((*_BOX, *(ends or ())))


def percentiles(sample: Sample, qs: Array, *, midway: int) -> Array:
    """Return a row for each percentile with that of each group; the first `midway` of them lie in the middle.

    It lies on the line between the two nearest values, or midway between them.
    """
    place = np.maximum(sample.sizes - 1, 0) * (qs[:, None] / 100)
    below = place.astype(np.int64)
    share = place - below
    spots = sample.starts + below
    low, high = _at(sample, np.array((spots, spots + (share > 0)))).astype(np.float64, copy=False)
    share[:midway] = 0.5 * (share[:midway] > 0)
    # From the nearer end, as NumPy does it: so the ends themselves come out exact.
    rise = high - low
    result: Array = np.where(share < 0.5, low + rise * share, high - rise * (1 - share))
    return np.where(low == high, low, result)


def _at(sample: Sample, places: Array) -> Array:
    """Return the ordered values at a place in each group, the groups along the last axis; NaN where one is empty."""
    if sample.sizes.all():
        return sample.ordered[places]
    result = np.full(places.shape, np.nan)
    non_empty = sample.sizes > 0
    result[..., non_empty] = sample.ordered[places[..., non_empty]]
    return result


def _whiskers(sample: Sample, options: BoxplotOptions, first: Array, third: Array) -> tuple[Array, Array]:
    """Return the ends of the lower and of the upper whisker of each group; those by percentiles are found before.

    A whisker of Tukey never ends inside its box: where no value lies between the box and its reach, it has no length.
    """
    lasts = sample.starts + sample.sizes - 1
    if options.whisker_type is WhiskerType.MIN_MAX:
        return _at(sample, sample.starts), _at(sample, lasts)
    reach = _REACH * (third - first)
    below, above = _beyond(sample, first - reach, third + reach)
    low, high = _at(sample, sample.starts + _counts(sample, below)), _at(sample, lasts - _counts(sample, above))
    return _at_edge(low, first, low > first), _at_edge(high, third, high < third)


def _at_edge(ends: Array, edges: Array, inside: Array) -> Array:
    """Return the ends of whiskers, those inside their box at its edge; whole numbers stay whole where none is."""
    return np.where(inside, edges, ends) if inside.any() else ends


def _beyond(sample: Sample, low: Array, high: Array) -> tuple[Array, Array]:
    """Return the places in `grouped` of the values below `low` of their group, and of those above `high`."""
    below = np.flatnonzero(sample.grouped < np.repeat(low, sample.sizes))
    return below, np.flatnonzero(sample.grouped > np.repeat(high, sample.sizes))


def _ends(sample: Sample, places: Array) -> Array:
    """Return where among these places of `grouped`, which rise, those of each group end."""
    return np.searchsorted(places, sample.starts + sample.sizes)


def _counts(sample: Sample, places: Array) -> Array:
    return np.diff(_ends(sample, places), prepend=0)


def _outliers(sample: Sample, low: Array, high: Array) -> Array:
    """Return a list for each group, in the order of the rows: what lies above its whiskers, then what lies below."""
    result = np.empty(len(sample.sizes), dtype=object)
    below, above = _beyond(sample, low, high)
    result[:] = [
        [*upper, *lower] for upper, lower in zip(_by_group(sample, above), _by_group(sample, below), strict=True)
    ]
    return result


def _by_group(sample: Sample, places: Array) -> list[list[Any]]:
    """Return the values at these places of `grouped`, a list for each group."""
    values, ends = sample.grouped[places].tolist(), _ends(sample, places).tolist()
    return [values[start:end] for start, end in zip([0, *ends], ends, strict=False)]

"""The aggregate operators, each over all groups at once: sums by counting sort, order statistics by one sort.

`rows` are all rows of a group, `values` those that are not null. Floats are added in the order of the rows, so the
result is that of a plain loop, to the last bit. A mean of one value, which a float would round, is that value.

| operator | of a group | nulls | a group without values |
|---|---|---|---|
| sum, nansum, cumsum | the sum (of running sums the last) | skipped | 0 |
| prod, product, cumprod | the product (of running products the last) | skipped | 1 |
| mean, nanmean | sum / number of values | skipped | null |
| average, median, percentile | the mean, the middle, the value below which `q` percent lie | make it null | null |
| nanmedian, nanpercentile | the same | skipped | null |
| min, nanmin, max, nanmax | the extreme | skipped | null |
| std, var | of the population: divided by the number of values | skipped | null |
| argmin, argmax | the position of the first extreme among the rows, from 0 | skipped | null |
| count | the number of rows | counted | the number of rows |
| count_nonzero | the number of rows that are not 0 | counted | the number of rows |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd

from analytics_core._engine.frames.columns import Array, is_numeric, numbers, require_columns
from analytics_core._engine.frames.grouping import key_codes
from analytics_core.errors import PostProcessingError
from analytics_core.models.postprocessing import AggregateOperator as Op
from analytics_core.models.postprocessing import AggregateSpec

_LARGEST = 2.0**63
EXACT: Final = 2**53
"""Floats hold every whole number up to this size."""
_MOST_PARTITIONS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Numbers and the group of each: what the operators below work on."""

    values: Array
    codes: Array
    size: int

    def without_nulls(self) -> Cells:
        """Return the cells whose value is not null."""
        if self.values.dtype.kind != "f":
            return self
        missing = np.isnan(self.values)
        if not missing.any():
            return self
        return Cells(values=self.values[~missing], codes=self.codes[~missing], size=self.size)

    def counts(self) -> Array:
        """Return the number of cells in each group."""
        return np.bincount(self.codes, minlength=self.size)

    def floats(self) -> Array:
        """Return the values as float64."""
        return self.values.astype(np.float64, copy=False)


Operator = Callable[[Cells, float], Array]
"""Cells, with their nulls, and `q` in, one value for each group out."""


def require_sources(frame: pd.DataFrame, aggregates: Mapping[str, AggregateSpec]) -> None:
    """Check that there are aggregates, and a column for each.

    Raises:
        PostProcessingError: there is none, or a column is missing.
    """
    if not aggregates:
        raise PostProcessingError(
            'aggregates: give at least one, such as {"total": {"column": "x", "operator": "sum"}}'
        )
    for name, spec in aggregates.items():
        require_columns(frame, [spec.column or name], option=f"aggregates.{name}.column")


def aggregated(column: pd.Series[Any], spec: AggregateSpec, codes: Array, size: int, *, option: str) -> Any:
    """Return an array with the aggregate of each group; text and moments have counts and extremes only.

    Args:
        column: the values.
        spec: the operator and `q`.
        codes: the group of each row.
        size: the number of groups.
        option: where the aggregate stands among the options, for messages.

    Raises:
        PostProcessingError: the operator is missing, or needs numbers that the column does not hold.
    """
    if spec.operator is None:
        raise PostProcessingError(f"{option}.operator is missing; it is one of: {', '.join(Op)}")
    operator, q = _OPERATORS[spec.operator], float(spec.options.get("q", 0))
    with np.errstate(all="ignore"):
        if is_numeric(column):
            if spec.operator in _MEANS and (alone := _alone(column, codes, size)) is not None:
                return alone
            return operator(_cells(column, spec.operator, codes, size), q)
        if spec.operator not in _OF_ANYTHING:
            raise PostProcessingError(
                f"{option}.operator: {spec.operator.value} needs numbers, which column {column.name!r} does not hold; "
                f"for this column choose one of: {', '.join(op for op in Op if op in _OF_ANYTHING)}"
            )
        places = _places(column)
        result = operator(Cells(values=places, codes=codes, size=size), q)
        return _at_places(column, places, result) if spec.operator in _EXTREMES else result


def _alone(column: pd.Series[Any], codes: Array, size: int) -> Array | None:
    """Return the value of each group, which is its mean, where no group has two and floats would round one of them."""
    if not pd.api.types.is_object_dtype(column.dtype):
        return None
    present = column.notna().to_numpy()
    values, places = column.to_numpy()[present], codes[present]
    if np.bincount(places, minlength=size).max(initial=0) > 1 or not any(map(_is_rounded, values)):
        return None
    found = np.full(size, np.nan, dtype=object)
    found[places] = values
    return found


def _is_rounded(value: Any) -> bool:
    """Tell whether the nearest float reads as another number."""
    if not isinstance(value, Decimal | int) or (isinstance(value, int) and abs(value) <= EXACT):
        return False
    near = float(value)
    return not math.isfinite(near) or Decimal(repr(near)) != value


def _cells(column: pd.Series[Any], operator: Op, codes: Array, size: int) -> Cells:
    """Return the numbers of a column; nulls that do not count are left out of columns that floats might round."""
    holds_floats = isinstance(column.dtype, np.dtype) and column.dtype.kind == "f"
    if operator in _SKIP_NULLS and not holds_floats and column.hasnans:
        present = column.notna().to_numpy()
        return Cells(values=numbers(column[present]), codes=codes[present], size=size)
    return Cells(values=numbers(column), codes=codes, size=size)


def _places(column: pd.Series[Any]) -> Array:
    """Return the place of each value in the order of values, null for null."""
    places = key_codes(column)[0].astype(np.float64)
    places[column.isna().to_numpy()] = np.nan
    return places


def _at_places(column: pd.Series[Any], places: Array, wanted: Array) -> Any:
    """Return the values that stand at these places, null for null; the dtype stays."""
    order = np.argsort(places, kind="stable")
    missing = np.isnan(wanted)
    rows = np.full(len(wanted), -1)
    rows[~missing] = order[np.searchsorted(places[order], wanted[~missing])]
    return column.array.take(rows, allow_fill=True)


# ------------------------------------------------------------------------------------------------- sums and products
def _sum(cells: Cells, _q: float) -> Array:
    non_null = cells.without_nulls()
    sums = np.bincount(non_null.codes, weights=non_null.floats(), minlength=non_null.size)
    if non_null.values.dtype.kind != "i":
        return sums
    bound = np.bincount(non_null.codes, weights=np.abs(non_null.floats()), minlength=non_null.size)
    return _exact_integers(non_null, np.add, 0, bound=bound, floats=sums)


def _product(cells: Cells, _q: float) -> Array:
    non_null = cells.without_nulls()
    products = np.ones(non_null.size)
    np.multiply.at(products, non_null.codes, non_null.floats())
    return _exact_integers(non_null, np.multiply, 1, bound=np.abs(products), floats=products)


def _exact_integers(cells: Cells, ufunc: np.ufunc, start: int, *, bound: Array, floats: Array) -> Array:
    """Return exact whole numbers where the values are whole and the results surely fit into 64 bits, else floats."""
    if cells.values.dtype.kind != "i" or not np.all(bound < _LARGEST):
        return floats
    exact = np.full(cells.size, start, dtype=np.int64)
    ufunc.at(exact, cells.codes, cells.values)
    return exact


def _mean(cells: Cells, q: float) -> Array:
    non_null = cells.without_nulls()
    counts = non_null.counts()
    if non_null.values.dtype.kind == "i" and counts.max(initial=0) == 1 and np.abs(non_null.values).max() > EXACT:
        return _least(non_null, q)  # of one whole number each, which a float would round
    return np.bincount(non_null.codes, weights=non_null.floats(), minlength=non_null.size) / counts


def _variance(cells: Cells, q: float) -> Array:
    non_null = cells.without_nulls()
    one = np.zeros(non_null.size)
    one[non_null.codes] = non_null.floats()  # some value of the group: equal values are exactly 0 away from it
    from_one = non_null.floats() - one[non_null.codes]
    away = from_one - _mean(replace(non_null, values=from_one), q)[non_null.codes]
    return np.bincount(non_null.codes, weights=away * away, minlength=non_null.size) / non_null.counts()


# ----------------------------------------------------------------------------------------------------------- extremes
def _least(cells: Cells, _q: float, *, ufunc: np.ufunc = np.minimum) -> Array:
    non_null = cells.without_nulls()
    result = np.zeros(non_null.size, dtype=non_null.values.dtype)
    result[non_null.codes] = non_null.values  # some value of the group to start from
    ufunc.at(result, non_null.codes, non_null.values)
    return _null_where(result, non_null.counts() == 0)


_greatest = partial(_least, ufunc=np.maximum)


def _place_of_least(cells: Cells, q: float, *, extreme: Operator = _least) -> Array:
    """Return the position within each group of the first row that holds the group's extreme."""
    extremes = extreme(cells, q)
    order = np.argsort(cells.codes, kind="stable")
    counts = cells.counts()
    within = np.empty(len(order), dtype=np.int64)
    within[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    hits = np.flatnonzero(cells.values == extremes[cells.codes])[::-1]
    result = np.full(cells.size, -1, dtype=np.int64)
    result[cells.codes[hits]] = within[hits]
    return _null_where(result, result < 0)


# --------------------------------------------------------------------------------------------------- order statistics
def _median(cells: Cells, _q: float) -> Array:
    non_null = cells.without_nulls()
    counts = non_null.counts()
    low, high = _sorted_pair(non_null, counts, (counts - 1) // 2, counts // 2)
    return _null_where((low + high) / 2, counts == 0)


def _percentile(cells: Cells, q: float) -> Array:
    """Return the percentile between two neighbours as NumPy interpolates it by default."""
    non_null = cells.without_nulls()
    counts = non_null.counts()
    at = np.maximum(counts - 1, 0) * (q / 100)
    below = np.floor(at).astype(np.int64)
    low, high = _sorted_pair(non_null, counts, below, np.minimum(below + 1, np.maximum(counts - 1, 0)))
    part, gap = at - below, high - low
    between = np.where(part >= 0.5, high - gap * (1 - part), low + gap * part)
    return _null_where(np.where(part == 0, low, between), counts == 0)


def _sorted_pair(cells: Cells, counts: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Return the values at two places of every group's sorted values; of an empty group any."""
    if not len(cells.values):
        return np.zeros(cells.size), np.zeros(cells.size)
    starts, last = np.cumsum(counts) - counts, len(cells.values) - 1
    at_low, at_high = np.clip(starts + low, 0, last), np.clip(starts + high, 0, last)
    if cells.size > _MOST_PARTITIONS:
        ordered = cells.floats()[np.lexsort((cells.values, cells.codes))]
    else:
        ordered = _partitioned(cells, starts, at_low - starts, at_high - starts)
    return ordered[at_low], ordered[at_high]


def _partitioned(cells: Cells, starts: Array, low: Array, high: Array) -> Array:
    """Return the values group by group, right only at the two neighbouring places of each: faster than sorting all."""
    small = cells.codes.astype(np.int16)  # sorted by counting, and there are fewer groups than it holds
    ordered = cells.floats()[np.argsort(small, kind="stable")]
    ends = [*starts[1:].tolist(), len(ordered)]
    for start, end, first, second in zip(starts.tolist(), ends, low.tolist(), high.tolist(), strict=True):
        if end - start > 1:
            group = ordered[start:end]
            group.partition(second)
            if first < second:
                group[first] = group[:second].max()  # the one before; far cheaper than parting twice
    return ordered


# -------------------------------------------------------------------------------------------------------------- nulls
def _null_where(values: Array, missing: Array) -> Array:
    """Return the values with null at these places; whole numbers that a float would round stay whole, as objects."""
    if not missing.any():
        return values
    exact = values.dtype.kind == "i" and np.abs(values).max() > EXACT
    result = values.astype(object if exact else np.float64)
    result[missing] = np.nan
    return result


def _strict(operator: Operator) -> Operator:
    """Return the operator that gives null for a group with a null."""

    def strict(cells: Cells, q: float) -> Array:
        non_null = cells.without_nulls()
        if non_null is cells:
            return operator(cells, q)
        return _null_where(operator(non_null, q), non_null.counts() < cells.counts())

    return strict


_EXTREMES: Final = frozenset({Op.MIN, Op.MAX, Op.NANMIN, Op.NANMAX})
_OF_ANYTHING: Final = _EXTREMES | {Op.COUNT, Op.ARGMIN, Op.ARGMAX}
_SKIP_NULLS: Final = _EXTREMES | {
    *(Op.SUM, Op.NANSUM, Op.CUMSUM, Op.PROD, Op.PRODUCT, Op.CUMPROD),
    *(Op.MEAN, Op.NANMEAN, Op.NANMEDIAN, Op.NANPERCENTILE, Op.STD, Op.VAR),
}

_MEANS: Final = frozenset({Op.MEAN, Op.NANMEAN})
_OPERATORS: Final[Mapping[Op, Operator]] = {
    Op.AVERAGE: _strict(_mean),
    Op.ARGMIN: _place_of_least,
    Op.ARGMAX: partial(_place_of_least, extreme=_greatest),
    Op.CUMSUM: _sum,
    Op.CUMPROD: _product,
    Op.MAX: _greatest,
    Op.MEAN: _mean,
    Op.MEDIAN: _strict(_median),
    Op.NANSUM: _sum,
    Op.NANMIN: _least,
    Op.NANMAX: _greatest,
    Op.NANMEAN: _mean,
    Op.NANMEDIAN: _median,
    Op.MIN: _least,
    Op.PERCENTILE: _strict(_percentile),
    Op.PROD: _product,
    Op.PRODUCT: _product,
    Op.STD: lambda cells, q: np.sqrt(_variance(cells, q)),
    Op.SUM: _sum,
    Op.VAR: _variance,
    Op.COUNT: lambda cells, _q: cells.counts(),
    Op.COUNT_NONZERO: lambda cells, _q: np.bincount(cells.codes[cells.values != 0], minlength=cells.size),
    Op.NANPERCENTILE: _percentile,
}

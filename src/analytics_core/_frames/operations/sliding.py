"""Windows that pandas has no function for, or none that holds: products, places, variances, and weighted ones.

Each kernel takes one column of float64 with NaN for null, and returns a value for each row; where a window holds fewer
values than needed, the caller puts null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from analytics_core._frames.operations.checks import Array

_STEP_CELLS: Final = 2**20
"""How many cells of windows are laid out at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Which rows the window of a row covers.

    Args:
        rows: how many rows there are.
        window: how many rows a window covers where the frame does not end.
        ahead: how many of these come after the row itself; 0 unless the window is centred.
    """

    rows: int
    window: int
    ahead: int

    def bounds(self) -> tuple[Array, Array]:
        """Return for each row the first row of its window and the row after the last."""
        ends = np.arange(1, self.rows + 1) + self.ahead
        return np.clip(ends - self.window, 0, self.rows), np.minimum(ends, self.rows)


def span_of(rows: int, window: int, *, center: bool) -> Span:
    """Return the span of windows; one that covers every row from every row is cut to what there is."""
    held = min(window, 2 * rows + 1)
    return Span(rows=rows, window=held, ahead=(held - 1) // 2 if center else 0)


def counts(values: Array, span: Span) -> Array:
    """Return how many values of each window are not null."""
    starts, ends = span.bounds()
    none = np.zeros((*values.shape[:-1], 1), dtype=np.int64)
    total = np.concatenate((none, np.cumsum(~np.isnan(values), axis=-1)), axis=-1)
    result: Array = total[..., ends] - total[..., starts]
    return result


def products(values: Array, span: Span) -> Array:
    """Return the product of each window; nulls count as 1."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return _combined(np.where(np.isnan(values), 1.0, values), span, np.multiply, empty=1.0)


def places_of_least(values: Array, span: Span) -> Array:
    """Return where in each window its least value stands, counted from its first row; NaN where all is null.

    Of equal values the first counts.
    """
    missing = np.isnan(values)
    held = np.append(np.where(missing, np.inf, values), np.inf)
    nowhere = len(values)

    def lesser(older: Array, newer: Array) -> Array:
        return np.where(held[newer] < held[older], newer, older)

    rows = _combined(np.where(missing, nowhere, np.arange(len(values))), span, lesser, empty=nowhere)
    starts, _ = span.bounds()
    return np.where(rows < nowhere, (rows - starts).astype(np.float64), np.nan)


def variances(values: Array, span: Span, *, ddof: int) -> Array:
    """Return the variance of each window, of columns that lie in rows; no more than `ddof` values give null.

    It is merged from the parts of a window (Chan, Golub and LeVeque) and nothing is taken back: a huge value leaves no
    trace in the windows behind it, and equal values are exactly 0 away from their mean.
    """
    present = ~np.isnan(values)
    single = np.zeros((4, *values.shape))
    single[0], single[1] = present, np.where(present, values, 0.0)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        held, _, _, squares = _combined(single, span, _merged, empty=0.0)
        return np.where(held > ddof, squares / (held - ddof), np.nan)


def _merged(older: Array, newer: Array) -> Array:
    """Return of both parts how many values they hold, their mean, what it lacks to be exact, the squares around it."""
    a, b = older[0], newer[0]
    n = np.maximum(a + b, 1.0)
    distance = (newer[1] - older[1]) + (newer[2] - older[2])
    apart = np.where((a > 0) & (b > 0), distance, 0.0)
    start, lacked = np.where(a > 0, older[1:3], newer[1:3])
    step = apart * (b / n)
    mean = start + step
    back = mean - start
    lacks = lacked + ((start - (mean - back)) + (step - back))
    return np.stack((a + b, mean, lacks, older[3] + newer[3] + apart * apart * (a * b / n)))


def _combined(values: Array, span: Span, combine: Callable[[Array, Array], Array], *, empty: Any) -> Array:
    """Return `combine` over each window, in as many steps as the window's length has binary digits.

    Args:
        values: one entry for each row, along the last axis.
        span: the windows.
        combine: takes what older rows gave and what newer ones gave, and is associative.
        empty: the entry that changes nothing.
    """
    doubled = np.concatenate((values, np.full((*values.shape[:-1], span.ahead), empty, dtype=values.dtype)), axis=-1)
    result = np.full(doubled.shape, empty, dtype=values.dtype)
    done, size = 0, 1
    while True:
        if span.window & size:
            result = combine(_moved(doubled, done, empty), result)
            done += size
        if done == span.window:
            return result[..., span.ahead :]
        doubled = combine(_moved(doubled, size, empty), doubled)
        size *= 2


def _moved(values: Array, rows: int, empty: Any) -> Array:
    """Return the entries some rows further down."""
    kept = max(values.shape[-1] - rows, 0)
    before = np.full((*values.shape[:-1], values.shape[-1] - kept), empty, dtype=values.dtype)
    return np.concatenate((before, values[..., :kept]), axis=-1)


def weighted_sums(values: Array, span: Span, weights: Array) -> Array:
    """Return the weighted sum of each window; nulls count as 0."""
    return _laid_out(values, span, lambda cells, present: np.where(present, cells, 0.0) @ weights)


def weighted_means(values: Array, span: Span, weights: Array) -> Array:
    """Return the weighted mean of the values of each window; of equal values it is that value."""

    def means(cells: Array, present: Array) -> Array:
        from_one, one = _from_one(cells, present)
        return one + _means(from_one, present, weights)

    return _laid_out(values, span, means)


def weighted_variances(values: Array, span: Span, weights: Array, *, ddof: int) -> Array:
    """Return the weighted mean square distance from the weighted mean of each window, times n / (n - ddof).

    With equal weights it is the plain variance. A window with no more than `ddof` values gives null.
    """

    def variances(cells: Array, present: Array) -> Array:
        from_one, _ = _from_one(cells, present)
        means = _means(from_one, present, weights)
        squares = np.where(present, from_one - means[:, np.newaxis], 0.0) ** 2 @ weights
        held = present.sum(axis=1)
        made = squares / (present @ weights) * held / (held - ddof)
        return np.where(held > ddof, np.maximum(made, 0.0), np.nan)

    return _laid_out(values, span, variances)


def _from_one(cells: Array, present: Array) -> tuple[Array, Array]:
    """Return the cells as distances from one value of their window, and that value: equal ones are exactly 0 apart."""
    one = np.take_along_axis(cells, present.argmax(axis=1)[:, np.newaxis], axis=1)
    return np.where(present, cells - one, 0.0), one[:, 0]


def _means(cells: Array, present: Array, weights: Array) -> Array:
    result: Array = (np.where(present, cells, 0.0) @ weights) / (present @ weights)
    return result


def _laid_out(values: Array, span: Span, reduce: Callable[[Array, Array], Array]) -> Array:
    """Return `reduce` of the windows as rows of cells and of which of them are present, some windows at a time."""
    padded = np.concatenate((np.full(span.window - 1, np.nan), values, np.full(span.ahead, np.nan)))
    result = np.empty(span.rows)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for start, stop in _steps(span):
            cells = np.lib.stride_tricks.sliding_window_view(
                padded[start + span.ahead : stop + span.ahead + span.window - 1], span.window
            )
            result[start:stop] = reduce(cells, ~np.isnan(cells))
    return result


def _steps(span: Span) -> Iterator[tuple[int, int]]:
    step = max(_STEP_CELLS // span.window, 1)
    return ((start, min(start + step, span.rows)) for start in range(0, span.rows, step))

"""Variances, covariances, skewness and kurtosis of windows.

The moments of a window are merged from those of its parts (Chan, Golub and LeVeque; Pébay for the higher ones), never
taken back: a huge value leaves no trace in the windows behind it, and equal values are exactly 0 away from their mean.

Each kernel takes columns of float64 with NaN for null, one beside the other in rows of an array, and returns an array
of that shape; where a window holds fewer values than needed, the caller puts null.
"""

from __future__ import annotations

import numpy as np

from analytics_core._frames.operations.checks import Array
from analytics_core._frames.operations.sliding import Span, combined


def variances(values: Array, span: Span, *, ddof: int) -> Array:
    """Return the variance of each window; one with no more than `ddof` values gives null."""
    held, _, squares = _moments(values, span, order=2)
    return _divided(squares, held - ddof)


def skews(values: Array, span: Span) -> Array:
    """Return the skewness of each window, corrected for samples; of equal values, or fewer than 3, it is null."""
    held, _, squares, cubes = _moments(values, span, order=3)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        plain = (cubes / squares) * np.sqrt(held / squares)
        made: Array = plain * np.sqrt(held * (held - 1)) / (held - 2)
    return np.where((held > 2) & (squares > 0), made, np.nan)


def kurtoses(values: Array, span: Span) -> Array:
    """Return the excess kurtosis of each window, corrected for samples; of equal values, or fewer than 4, null."""
    held, _, squares, _, fourths = _moments(values, span, order=4)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        plain = held * (fourths / squares / squares)
        made: Array = ((held + 1) * plain - 3 * (held - 1)) * (held - 1) / ((held - 2) * (held - 3))
    return np.where((held > 3) & (squares > 0), made, np.nan)


def covariances(values: Array, other: Array, span: Span, *, ddof: int) -> Array:
    """Return the covariance of each window with that of another column, over the rows where both have a value."""
    held, _, _, _, _, products = _paired_moments(values, other, span)
    return _divided(products, held - ddof)


def correlations(values: Array, other: Array, span: Span) -> Array:
    """Return the correlation of each window with that of another column; null where either has equal values."""
    _, _, _, squares, other_squares, products = _paired_moments(values, other, span)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        made = products / np.sqrt(squares) / np.sqrt(other_squares)
    return np.where((squares > 0) & (other_squares > 0), np.clip(made, -1.0, 1.0), np.nan)


def _divided(squares: Array, by: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(by > 0, squares / by, np.nan)


# ---------------------------------------------------------------------------------------------------- merged moments
def _moments(values: Array, span: Span, *, order: int) -> Array:
    """Return the number of values of each window, their mean, and the sums of the powers of their distances from it."""
    present = ~np.isnan(values)
    single = np.zeros((order + 2, *values.shape))
    single[0], single[1] = present, np.where(present, values, 0.0)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        made: Array = combined(single, span, _merged, empty=0.0)[:-1]
    return made


def _merged(older: Array, newer: Array) -> Array:
    """Return the moments of both parts; the last entry is what the mean lacks to be exact."""
    a, b = older[0], newer[0]
    n = np.maximum(a + b, 1.0)
    apart = _apart(older, newer, 1, -1)
    made: Array = older + newer
    made[1], made[-1] = _mean(older, newer, apart * (b / n), 1, -1)
    square = apart * apart * (a * b / n)
    made[2] += square
    if len(made) > 4:
        made[3] += square * apart * ((a - b) / n) + 3 * apart * ((a * newer[2] - b * older[2]) / n)
    if len(made) > 5:
        made[4] += square * apart * apart * ((a * a - a * b + b * b) / (n * n))
        made[4] += 6 * apart * apart * ((a * a * newer[2] + b * b * older[2]) / (n * n))
        made[4] += 4 * apart * ((a * newer[3] - b * older[3]) / n)
    return made


def _apart(older: Array, newer: Array, mean: int, rest: int) -> Array:
    """Return how far apart the means of both parts are, 0 where one holds nothing."""
    distance = (newer[mean] - older[mean]) + (newer[rest] - older[rest])
    return np.where((older[0] > 0) & (newer[0] > 0), distance, 0.0)


def _mean(older: Array, newer: Array, step: Array, mean: int, rest: int) -> tuple[Array, Array]:
    """Return the mean of both parts, `step` away from the older one's, and what it lacks to be exact."""
    known = older[0] > 0
    start, lacked = np.where(known, older[mean], newer[mean]), np.where(known, older[rest], newer[rest])
    made = start + step
    back = made - start
    return made, lacked + ((start - (made - back)) + (step - back))


def _paired_moments(values: Array, other: Array, span: Span) -> Array:
    """Return the number of pairs of each window, both means, both sums of squares, and the sum of products."""
    second = np.broadcast_to(other, values.shape)
    present = ~(np.isnan(values) | np.isnan(second))
    single = np.zeros((8, *values.shape))
    single[0] = present
    single[1], single[2] = np.where(present, values, 0.0), np.where(present, second, 0.0)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        made: Array = combined(single, span, _merged_pairs, empty=0.0)[:-2]
    return made


def _merged_pairs(older: Array, newer: Array) -> Array:
    """Return the moments of both parts; the last two entries are what the means lack to be exact."""
    a, b = older[0], newer[0]
    n = np.maximum(a + b, 1.0)
    first, second = _apart(older, newer, 1, -2), _apart(older, newer, 2, -1)
    made: Array = older + newer
    made[1], made[-2] = _mean(older, newer, first * (b / n), 1, -2)
    made[2], made[-1] = _mean(older, newer, second * (b / n), 2, -1)
    part = a * b / n
    made[3] += first * first * part
    made[4] += second * second * part
    made[5] += first * second * part
    return made

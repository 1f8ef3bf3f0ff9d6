"""Means, variances, covariances, skewness and kurtosis of windows.

The moments of a window are merged from those of its parts (Chan, Golub and LeVeque; Pébay for the higher ones), never
taken back: a huge value leaves no trace in the windows behind it, and equal values are exactly 0 away from their mean.

Each kernel takes columns of float64 with NaN for null, one beside the other in rows of an array, and returns an array
of that shape; where a window holds fewer values than needed, the caller puts null.
"""

from __future__ import annotations

import numpy as np

from analytics_core._frames.operations.checks import Array
from analytics_core._frames.operations.sliding import Span, combined


def sums(values: Array, span: Span) -> Array:
    """Return the sum of each window; nulls count as 0."""
    made: Array = combined(np.where(np.isnan(values), 0.0, values), span, np.add, empty=0.0)
    return made


def means(values: Array, span: Span) -> Array:
    """Return the mean of each window; of equal values it is that value."""
    held, mean, away = _moments(values, span, order=2)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        quotient: Array = sums(values, span) / held
    return np.where((held > 0) & ((away == 0) | ~np.isfinite(quotient)), mean, quotient)


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
    single = np.zeros((order + 1, *values.shape))
    single[0], single[1] = present, np.where(present, values, 0.0)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return combined(single, span, _merged, empty=0.0)


def _merged(older: Array, newer: Array) -> Array:
    a, b = older[0], newer[0]
    n, apart = _sizes_and_distance(older, newer, 1)
    made: Array = older + newer
    made[1] = np.where(a > 0, older[1] + apart * (b / n), newer[1])
    square = apart * apart * (a * b / n)
    made[2] += square
    if len(made) > 3:
        made[3] += square * apart * ((a - b) / n) + 3 * apart * ((a * newer[2] - b * older[2]) / n)
    if len(made) > 4:
        made[4] += square * apart * apart * ((a * a - a * b + b * b) / (n * n))
        made[4] += 6 * apart * apart * ((a * a * newer[2] + b * b * older[2]) / (n * n))
        made[4] += 4 * apart * ((a * newer[3] - b * older[3]) / n)
    return made


def _sizes_and_distance(older: Array, newer: Array, place: int) -> tuple[Array, Array]:
    """Return how many values both hold, at least 1, and how far apart their means are, 0 where one holds none."""
    both = (older[0] > 0) & (newer[0] > 0)
    return np.maximum(older[0] + newer[0], 1.0), np.where(both, newer[place] - older[place], 0.0)


def _paired_moments(values: Array, other: Array, span: Span) -> Array:
    """Return the number of pairs of each window, both means, both sums of squares, and the sum of products."""
    second = np.broadcast_to(other, values.shape)
    present = ~(np.isnan(values) | np.isnan(second))
    single = np.zeros((6, *values.shape))
    single[0] = present
    single[1], single[2] = np.where(present, values, 0.0), np.where(present, second, 0.0)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return combined(single, span, _merged_pairs, empty=0.0)


def _merged_pairs(older: Array, newer: Array) -> Array:
    a, b = older[0], newer[0]
    n, first = _sizes_and_distance(older, newer, 1)
    _, second = _sizes_and_distance(older, newer, 2)
    made: Array = older + newer
    made[1] = np.where(a > 0, older[1] + first * (b / n), newer[1])
    made[2] = np.where(a > 0, older[2] + second * (b / n), newer[2])
    part = a * b / n
    made[3] += first * first * part
    made[4] += second * second * part
    made[5] += first * second * part
    return made

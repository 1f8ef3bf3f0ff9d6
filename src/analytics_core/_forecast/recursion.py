"""Recursive filters: each value is what comes in and weights of the values before it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analytics_core._forecast.types import Floats


def run_recursion(x: Floats, weights: Sequence[float] | Floats, *, backwards: bool = False) -> Floats:
    """Return y with y[t] = x[t] + weights[0] y[t-1] + weights[1] y[t-2] + ..., from a start at zero.

    A matrix `x` is filtered down each of its columns; `backwards` begins at the end. The recursion is a triangular
    system with few diagonals: LAPACK solves it several times faster than a filter of `scipy.signal` can be called.
    """
    from scipy.linalg.lapack import dtbtrs

    if not x.size or not len(weights):
        return x.astype(float)
    band = np.empty((len(weights) + 1, x.shape[0]), order="F")
    for lag, weight in enumerate(weights, start=1):
        band[lag] = -weight
    filtered: Floats
    filtered, _ = dtbtrs(band, x, uplo="L", diag="U", trans="T" if backwards else "N")
    return filtered

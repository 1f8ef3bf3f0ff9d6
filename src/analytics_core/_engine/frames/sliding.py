"""Sliding windows that pandas has no function for, or none that holds: products, places, moments, and weighted ones.

Each kernel takes one column of float64 with NaN for null, and returns a value for each row; where a window holds fewer
values than needed, the caller puts null.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from analytics_core._engine.frames.columns import Array
from analytics_core.errors import PostProcessingError
from analytics_core.models.postprocessing import WindowType

_STEP_CELLS: Final = 2**20
"""How many cells of windows are laid out at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSpan:
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


def span_of(rows: int, window: int, *, center: bool) -> WindowSpan:
    """Return the span of windows; one that covers every row from every row is cut to what there is."""
    width = min(window, 2 * rows + 1)
    return WindowSpan(rows=rows, window=width, ahead=(width - 1) // 2 if center else 0)


def counts(values: Array, span: WindowSpan) -> Array:
    """Return how many values of each window are not null."""
    starts, ends = span.bounds()
    none = np.zeros((*values.shape[:-1], 1), dtype=np.int64)
    total = np.concatenate((none, np.cumsum(~np.isnan(values), axis=-1)), axis=-1)
    result: Array = total[..., ends] - total[..., starts]
    return result


def products(values: Array, span: WindowSpan) -> Array:
    """Return the product of each window; nulls count as 1."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return _combined(np.where(np.isnan(values), 1.0, values), span, np.multiply, empty=1.0)


def places_of_least(values: Array, span: WindowSpan) -> Array:
    """Return where in each window its least value stands, counted from its first row; NaN where all is null.

    Of equal values the first counts.
    """
    missing = np.isnan(values)
    filled = np.append(np.where(missing, np.inf, values), np.inf)
    nowhere = len(values)

    def lesser(older: Array, newer: Array) -> Array:
        return np.where(filled[newer] < filled[older], newer, older)

    rows = _combined(np.where(missing, nowhere, np.arange(len(values))), span, lesser, empty=nowhere)
    starts, _ = span.bounds()
    return np.where(rows < nowhere, (rows - starts).astype(np.float64), np.nan)


def variances(values: Array, span: WindowSpan, *, ddof: int) -> Array:
    """Return the variance of each window, of columns that lie in rows; no more than `ddof` values give null.

    It is merged from the parts of a window (Chan, Golub and LeVeque) and nothing is taken back: a huge value leaves no
    trace in the windows behind it, and equal values are exactly 0 away from their mean.
    """
    present = ~np.isnan(values)
    single = np.zeros((4, *values.shape))
    single[0], single[1] = present, np.where(present, values, 0.0)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        sizes, _, _, squares = _combined(single, span, _merged, empty=0.0)
        return np.where(sizes > ddof, squares / (sizes - ddof), np.nan)


def skews(values: Array, span: WindowSpan) -> Array:
    """Return the skewness of each window, corrected for its size; NaN for fewer than 3 values, and for equal ones."""
    sizes, squares, cubes, _ = _moments(values, span)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        made = cubes / squares / np.sqrt(squares) * np.sqrt(sizes) * np.sqrt(sizes * (sizes - 1)) / (sizes - 2)
        return np.where((sizes > 2) & (squares > 0), made, np.nan)


def kurtoses(values: Array, span: WindowSpan) -> Array:
    """Return the excess kurtosis of each window, corrected likewise; NaN for fewer than 4 values, or equal ones."""
    sizes, squares, _, fourths = _moments(values, span)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        plain = fourths / squares / squares * sizes
        made = (sizes - 1) / ((sizes - 2) * (sizes - 3)) * ((sizes + 1) * plain - 3 * (sizes - 1))
        return np.where((sizes > 3) & (squares > 0), made, np.nan)


def covariances(values: Array, others: Array, span: WindowSpan, *, ddof: int) -> Array:
    """Return the covariance of the pairs of each window that are not null; no more than `ddof` pairs give null."""
    sizes, _, _, shared = _squares_of_pairs(values, others, span)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sizes > ddof, shared / (sizes - ddof), np.nan)


def correlations(values: Array, others: Array, span: WindowSpan) -> Array:
    """Return Pearson's correlation of such pairs; NaN where either side holds equal values only."""
    sizes, left, right, shared = _squares_of_pairs(values, others, span)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        made = np.clip(shared / np.sqrt(left) / np.sqrt(right), -1.0, 1.0)
        return np.where((sizes > 1) & (left > 0) & (right > 0), made, np.nan)


def _moments(values: Array, span: WindowSpan) -> tuple[Array, Array, Array, Array]:
    """Return of each window how many values it holds, and the sums of powers 2, 3 and 4 of what they are from the mean.

    They are merged from its parts, as variances are (Pebay 2008).
    """
    present = ~np.isnan(values)
    single = np.zeros((6, *values.shape))
    single[0], single[1] = present, np.where(present, values, 0.0)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        made = _combined(single, span, _merged_moments, empty=0.0)
    return made[0], made[3], made[4], made[5]


def _merged_moments(older: Array, newer: Array) -> Array:
    a, b = older[0], newer[0]
    n, apart = np.maximum(a + b, 1.0), _apart(older, newer)
    cubes = older[4] + newer[4] + apart**3 * (a * b * (a - b) / n**2) + 3 * apart * (a * newer[3] - b * older[3]) / n
    fourths = older[5] + newer[5] + apart**4 * (a * b * (a * a - a * b + b * b) / n**3)
    fourths += 6 * apart**2 * (a * a * newer[3] + b * b * older[3]) / n**2
    fourths += 4 * apart * (a * newer[4] - b * older[4]) / n
    return np.concatenate((_merged(older[:4], newer[:4]), np.stack((cubes, fourths))))


def _squares_of_pairs(values: Array, others: Array, span: WindowSpan) -> tuple[Array, Array, Array, Array]:
    """Return of each window how many pairs it holds, the squares around both means, and the products around them."""
    present = ~(np.isnan(values) | np.isnan(others))
    single = np.zeros((8, *values.shape))
    single[0], single[1], single[4] = present, np.where(present, values, 0.0), np.where(present, others, 0.0)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        made = _combined(single, span, _merged_pairs, empty=0.0)
    return made[0], made[3], made[6], made[7]


def _merged_pairs(older: Array, newer: Array) -> Array:
    right = [0, 4, 5, 6]
    a, b = older[0], newer[0]
    products_apart = _apart(older, newer) * _apart(older[right], newer[right])
    shared = older[7] + newer[7] + products_apart * (a * b / np.maximum(a + b, 1.0))
    sides = _merged(older[:4], newer[:4]), _merged(older[right], newer[right])[1:]
    return np.concatenate((*sides, shared[np.newaxis]))


def _apart(older: Array, newer: Array) -> Array:
    """Return how far the means of two parts are apart; 0 where one of them holds nothing."""
    distance = (newer[1] - older[1]) + (newer[2] - older[2])
    result: Array = np.where((older[0] > 0) & (newer[0] > 0), distance, 0.0)
    return result


def _merged(older: Array, newer: Array) -> Array:
    """Return of both parts how many values they hold, their mean, what it lacks to be exact, the squares around it."""
    a, b = older[0], newer[0]
    n = np.maximum(a + b, 1.0)
    apart = _apart(older, newer)
    start, lacked = np.where(a > 0, older[1:3], newer[1:3])
    step = apart * (b / n)
    mean = start + step
    back = mean - start
    lacks = lacked + ((start - (mean - back)) + (step - back))
    return np.stack((a + b, mean, lacks, older[3] + newer[3] + apart * apart * (a * b / n)))


def _combined(values: Array, span: WindowSpan, combine: Callable[[Array, Array], Array], *, empty: Any) -> Array:
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
    length = max(values.shape[-1] - rows, 0)
    before = np.full((*values.shape[:-1], values.shape[-1] - length), empty, dtype=values.dtype)
    return np.concatenate((before, values[..., :length]), axis=-1)


def weighted_sums(values: Array, span: WindowSpan, weights: Array) -> Array:
    """Return the weighted sum of each window; nulls count as 0."""
    return _laid_out(values, span, lambda cells, present: np.where(present, cells, 0.0) @ weights)


def weighted_means(values: Array, span: WindowSpan, weights: Array) -> Array:
    """Return the weighted mean of the values of each window; of equal values it is that value."""

    def means(cells: Array, present: Array) -> Array:
        from_one, one = _from_one(cells, present)
        return one + _means(from_one, present, weights)

    return _laid_out(values, span, means)


def weighted_variances(values: Array, span: WindowSpan, weights: Array, *, ddof: int) -> Array:
    """Return the weighted mean square distance from the weighted mean of each window, times n / (n - ddof).

    With equal weights it is the plain variance. A window with no more than `ddof` values gives null.
    """

    def variances(cells: Array, present: Array) -> Array:
        from_one, _ = _from_one(cells, present)
        means = _means(from_one, present, weights)
        squares = np.where(present, from_one - means[:, np.newaxis], 0.0) ** 2 @ weights
        sizes = present.sum(axis=1)
        made = squares / (present @ weights) * sizes / (sizes - ddof)
        return np.where(sizes > ddof, np.maximum(made, 0.0), np.nan)

    return _laid_out(values, span, variances)


def _from_one(cells: Array, present: Array) -> tuple[Array, Array]:
    """Return the cells as distances from one value of their window, and that value: equal ones are exactly 0 apart."""
    one = np.take_along_axis(cells, present.argmax(axis=1)[:, np.newaxis], axis=1)
    return np.where(present, cells - one, 0.0), one[:, 0]


def _means(cells: Array, present: Array, weights: Array) -> Array:
    result: Array = (np.where(present, cells, 0.0) @ weights) / (present @ weights)
    return result


def _laid_out(values: Array, span: WindowSpan, reduce: Callable[[Array, Array], Array]) -> Array:
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


def _steps(span: WindowSpan) -> Iterator[tuple[int, int]]:
    step = max(_STEP_CELLS // span.window, 1)
    return ((start, min(start + step, span.rows)) for start in range(0, span.rows, step))


_NEEDED: Final[Mapping[WindowType, tuple[str, ...]]] = MappingProxyType(
    {
        WindowType.KAISER: ("beta",),
        WindowType.GAUSSIAN: ("std",),
        WindowType.GENERAL_GAUSSIAN: ("p", "sig"),
        WindowType.SLEPIAN: ("width",),
    }
)
"""The parameters that a window type needs, each above 0."""

_OPTIONAL: Final[Mapping[WindowType, Mapping[str, float | None]]] = MappingProxyType(
    {WindowType.EXPONENTIAL: MappingProxyType({"center": None, "tau": 1.0})}
)
"""Further parameters, and what they are by default."""

_WIDEST_SLEPIAN: Final = 2.0


def parameter_names(kind: WindowType) -> tuple[str, ...]:
    """Return the parameters of a window type as `rolling_type_options` names them."""
    return (*_NEEDED.get(kind, ()), *_OPTIONAL.get(kind, ()), "sym")


def window_weights(kind: WindowType, window: int, options: Mapping[str, Any]) -> Array:
    """Return one weight for each row of a window, the oldest row first.

    Args:
        kind: the window type.
        window: how many rows the window has.
        options: parameters by name. `sym` false makes a window one longer and drops its last weight. `center` of
            exponential counts rows from the oldest one; by default the middle of the window.

    Raises:
        PostProcessingError: a parameter is missing, no number or out of bounds.
    """
    from scipy.signal import windows

    needed = [_number(kind, name, options.get(name), above=0) for name in _NEEDED.get(kind, ())]
    optional = [
        default
        if options.get(name) is None
        else _number(kind, name, options[name], above=None if default is None else 0)
        for name, default in _OPTIONAL.get(kind, {}).items()
    ]
    symmetric = _symmetric(kind, options)
    if kind is WindowType.SLEPIAN:
        return _slepian(window, needed[0], symmetric=symmetric)
    weights: Array = getattr(windows, kind.value)(window, *needed, *optional, sym=symmetric)
    return weights


def _slepian(window: int, width: float, *, symmetric: bool) -> Array:
    """Return the Slepian window of a full bandwidth, as SciPy's former function of that name gave it.

    That function took the half of `width`, halved once more, as the bandwidth W of the first discrete prolate
    spheroidal sequence; `dpss` takes NW, the number of weights times W: so NW = window * width / 4. The former scaled
    the greatest weight to 1. The dpss of today scales that of an even number of weights otherwise.
    """
    from scipy.signal import windows

    if not width < _WIDEST_SLEPIAN:
        raise PostProcessingError(f"rolling_type_options: the width of slepian must be below 2, not {width:g}")
    sequence: Array = windows.dpss(window, window * width / 4, sym=symmetric)
    weights: Array = sequence / sequence.max()
    return weights


def _symmetric(kind: WindowType, options: Mapping[str, Any]) -> bool:
    """Return whether the weights mirror each other; with a `center` of exponential they do not."""
    given = options.get("sym")
    if given is not None and not isinstance(given, bool):
        raise PostProcessingError(f"rolling_type_options: sym of {kind.value} must be true or false")
    return given is not False and options.get("center") is None


def _number(kind: WindowType, name: str, value: Any, *, above: float | None) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise PostProcessingError(
            f"rolling_type_options: a {kind.value} window needs {name}, a number"
            f"{f' above {above:g}' if above is not None else ''}"
        )
    if above is not None and not value > above:
        raise PostProcessingError(
            f"rolling_type_options: {name} of a {kind.value} window must be above {above:g}, not {value:g}"
        )
    return float(np.float64(value))

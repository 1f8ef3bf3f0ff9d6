"""Every rolling type against plain Python and exact fractions, behind huge values, over equal ones and around nulls."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
from tests.support.cases import for_each

from analytics_core import postprocessing
from analytics_core.models.postprocessing import RollingType

Values = Sequence[float | None]
Waiting = list[Fraction]


def mean(numbers: Waiting) -> Fraction:
    return sum(numbers, Fraction(0)) / len(numbers)


def powers(numbers: Waiting, power: int) -> Fraction:
    middle = mean(numbers)
    return sum(((value - middle) ** power for value in numbers), Fraction(0))


def variance(numbers: Waiting, ddof: int = 1) -> Fraction | None:
    return powers(numbers, 2) / (len(numbers) - ddof) if len(numbers) > ddof else None


def root(value: Fraction | None) -> float | None:
    return None if value is None else math.sqrt(value)


def skewness(numbers: Waiting) -> float | None:
    n, squares = len(numbers), powers(numbers, 2) if numbers else Fraction(0)
    if n < 3 or not squares:
        return None
    return float(powers(numbers, 3) / n) / float(squares / n) ** 1.5 * math.sqrt(n * (n - 1)) / (n - 2)


def kurtosis(numbers: Waiting) -> Fraction | None:
    n, squares = len(numbers), powers(numbers, 2) if numbers else Fraction(0)
    if n < 4 or not squares:
        return None
    plain = powers(numbers, 4) * n / squares**2
    return Fraction(n - 1, (n - 2) * (n - 3)) * ((n + 1) * plain - 3 * (n - 1))


def quantile(numbers: Waiting, share: Fraction) -> Fraction:
    ordered = sorted(numbers)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    after = ordered[min(below + 1, len(ordered) - 1)]
    return ordered[below] + (after - ordered[below]) * (place - below)


def place_of(window: Values, best: Callable[[list[float]], float]) -> int:
    present = [value for value in window if value is not None]
    return list(window).index(best(present))


OF_VALUES: dict[str, tuple[dict[str, Any], Callable[[Waiting], Any]]] = {
    **dict.fromkeys(("sum", "nansum", "cumsum"), ({}, lambda retained: sum(retained, Fraction(0)))),
    **dict.fromkeys(("mean", "average", "nanmean"), ({}, mean)),
    **dict.fromkeys(("median", "nanmedian"), ({}, lambda retained: quantile(retained, Fraction(1, 2)))),
    **dict.fromkeys(("min", "nanmin"), ({}, min)),
    **dict.fromkeys(("max", "nanmax"), ({}, max)),
    **dict.fromkeys(("prod", "product", "cumprod"), ({}, math.prod)),
    **dict.fromkeys(("percentile", "nanpercentile"), ({"q": 30}, lambda retained: quantile(retained, Fraction(3, 10)))),
    "quantile": ({"quantile": 0.25}, lambda retained: quantile(retained, Fraction(1, 4))),
    "std": ({}, lambda retained: root(variance(retained))),
    "var": ({"ddof": 2}, lambda retained: variance(retained, 2)),
    "skew": ({}, skewness),
    "kurt": ({}, kurtosis),
}


def covariance(pairs: list[tuple[Fraction, Fraction]], ddof: int = 1) -> Fraction | None:
    if len(pairs) <= ddof:
        return None
    left, right = mean([a for a, _ in pairs]), mean([b for _, b in pairs])
    return sum(((a - left) * (b - right) for a, b in pairs), Fraction(0)) / (len(pairs) - ddof)


def correlation(pairs: list[tuple[Fraction, Fraction]]) -> float | None:
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    if len(pairs) < 2 or not powers(one, 2) or not powers(other, 2):
        return None
    shared = covariance(pairs)
    assert shared is not None
    return float(shared) / math.sqrt(powers(one, 2) / (len(pairs) - 1) * powers(other, 2) / (len(pairs) - 1))


def windows(values: Values, window: int, *, center: bool) -> list[Values]:
    ahead = (window - 1) // 2 if center else 0
    return [values[max(row + ahead + 1 - window, 0) : row + ahead + 1] for row in range(len(values))]


def expected(kind: str, values: Values, other: Values, window: int, *, center: bool, least: int) -> list[Any]:
    made: list[Any] = []
    for rows, beside in zip(windows(values, window, center=center), windows(other, window, center=center), strict=True):
        numbers = [Fraction(value) for value in rows if value is not None]
        pairs = [(Fraction(a), Fraction(b)) for a, b in zip(rows, beside, strict=True) if None not in (a, b)]
        enough = len(pairs if kind in ("cov", "corr") else numbers) >= least
        made.append(_made(kind, rows, numbers, pairs) if enough else None)
    return made


def _made(kind: str, rows: Values, numbers: Waiting, pairs: list[tuple[Fraction, Fraction]]) -> Any:
    if kind == "count":
        return len(numbers)
    if kind in ("argmin", "argmax"):
        return place_of(rows, min if kind == "argmin" else max)
    if kind == "cov":
        return covariance(pairs)
    return correlation(pairs) if kind == "corr" else OF_VALUES[kind][1](numbers)


def small(source: random.Random) -> list[float | None]:
    return [source.choice([None, 0.1, 0.1, 0.3, 2.5, -7.25, 11.0]) for _ in range(40)]


def behind_huge(source: random.Random) -> list[float | None]:
    values: list[float | None] = [source.choice([1.0, 1.5, 2.25, 3.0]) for _ in range(40)]
    for row, size in ((3, 1e5), (14, -1e7), (25, 1e12)):
        values[row] = size
    return values


def equal(_source: random.Random) -> list[float | None]:
    return [1e7, -3e6, *[0.1] * 10, None, *[0.7] * 10, 1e9, *[1 / 3] * 10]


def far_from_zero(source: random.Random) -> list[float | None]:
    return [1e8 + source.choice([0.0, 0.5, 0.75, 2.0]) for _ in range(40)]


SHAPES: dict[str, Callable[[random.Random], list[float | None]]] = {
    "small": small,
    "behind huge values": behind_huge,
    "equal values": equal,
    "far from zero": far_from_zero,
}


@pytest.mark.slow
@for_each("shape", SHAPES)
@for_each("kind", [kind.value for kind in RollingType])
def test_every_rolling_type_is_that_of_plain_python(kind: str, shape: str) -> None:
    source = random.Random(f"{kind} {shape}")
    values = SHAPES[shape](source)
    other = [source.choice([None, 1.0, 2.0, 5.5]) for _ in values]
    frame = pd.DataFrame({"x": pd.Series(values, dtype="float64"), "y": pd.Series(other, dtype="float64")})
    options = OF_VALUES[kind][0] if kind in OF_VALUES else {"other": "y"} if kind in ("cov", "corr") else {}
    for window, center in ((1, False), (4, False), (5, True), (7, False), (60, True)):
        least = 0 if kind == "count" else 1
        wanted = expected(kind, values, other, window, center=center, least=least)
        made = postprocessing.rolling(
            frame,
            rolling_type=kind,
            columns={"x": "x"},
            window=window,
            center=center,
            min_periods=least,
            rolling_type_options=options,
        )["x"].tolist()
        for row, (ours, exact) in enumerate(zip(made, wanted, strict=True)):
            assert same(ours, exact), f"window {window} center {center} row {row}: {ours} is not {exact}"


def same(ours: float, exact: Any) -> bool:
    if exact is None or pd.isna(ours):
        return exact is None and pd.isna(ours)
    if abs(exact) > sys.float_info.max:
        return math.isinf(ours)
    if exact == 0:
        return abs(ours) < 1e-12
    return math.isclose(ours, exact, rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.slow
@for_each("win_type", [None, "boxcar", "hamming", "triang"])
@for_each("kind", ["std", "var"])
def test_windows_of_equal_values_have_no_spread_at_all(kind: str, win_type: str | None) -> None:
    frame = pd.DataFrame({"x": [1e7, *[0.1] * 12, 1e9, *[1 / 3] * 12]})
    made = postprocessing.rolling(frame, rolling_type=kind, columns={"x": "x"}, window=4, win_type=win_type)
    assert made["x"].tolist()[4:13] == [0.0] * 9
    assert made["x"].tolist()[17:] == [0.0] * 9
    means = postprocessing.rolling(frame, rolling_type="mean", columns={"x": "x"}, window=4, win_type=win_type)
    assert means["x"].tolist()[17:] == [1 / 3] * 9


@pytest.mark.parametrize("operator", ["std", "var"])
def test_groups_of_equal_values_have_no_spread_at_all(operator: str) -> None:
    frame = pd.DataFrame({"g": ["a"] * 3 + ["b"] * 7, "x": [0.1] * 3 + [1 / 3] * 7})
    made = postprocessing.aggregate(frame, groupby=["g"], aggregates={"x": {"column": "x", "operator": operator}})
    assert made["x"].tolist() == [0.0, 0.0]

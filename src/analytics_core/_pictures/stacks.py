"""Where series that stand on each other begin and end: values above zero upwards from it, values below it downwards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

Values = Sequence[float | None]
Ends = tuple[float, float]
UP: Final = 1
DOWN: Final = -1


def stacked(series: Sequence[Values], stack: str, *, sign: int) -> list[list[Ends]]:
    """Return where each series begins and ends at each place, of the values with one sign alone.

    A value of the other sign, and a missing one, has no height, so that those after it stand where it stands.

    Args:
        series: the values of each, one for each place.
        stack: `zero`; `normalize` for shares of the sum of all sizes at a place; `center` for stacks around zero.
        sign: `UP` or `DOWN`.
    """
    ends: list[list[Ends]] = [[] for _ in series]
    for column in zip(*series, strict=True):
        total = math.fsum(abs(value) for value in column if value is not None)
        scale = (total or 1.0) if stack == "normalize" else 1.0
        level = -total / 2 if stack == "center" else 0.0
        for own, value in zip(ends, column, strict=True):
            start = level
            level += value if has_sign(value, sign) and value is not None else 0.0
            own.append((round(start / scale, 12), round(level / scale, 12)) if scale != 1.0 else (start, level))
    return ends


def stacks_of(series: Sequence[Values], stack: str | None) -> dict[int, list[list[Ends]]]:
    """Return where series begin and end on each side of zero on which they have values; empty where none stack."""
    return {} if stack is None else {sign: stacked(series, stack, sign=sign) for sign in signs_of(series)}


def has_sign(value: float | None, sign: int) -> bool:
    """Tell whether a value stands on a side of zero; zero itself stands above."""
    return value is not None and (value >= 0) is (sign == UP)


def signs_of(series: Sequence[Values]) -> tuple[int, ...]:
    """Return the sides of zero on which series have values."""
    return tuple(sign for sign in (UP, DOWN) if any(has_sign(value, sign) for values in series for value in values))


def seen(values: Values, sign: int) -> list[bool]:
    """Tell at which places the area of a series on one side of zero is drawn: at its values and beside them."""
    own = [has_sign(value, sign) for value in values]
    return [any(own[max(place - 1, 0) : place + 2]) for place in range(len(own))]

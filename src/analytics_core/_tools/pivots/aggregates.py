"""The aggregates of pivot tables by their names in forms."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import localcontext
from enum import StrEnum
from functools import partial
from typing import Any, Final

from analytics_core._tools.pivots.labels import is_null
from analytics_core.errors import QueryError, UnknownNameError

Values = Sequence[Any]
_DECIMAL_DIGITS: Final = 100


class FractionOf(StrEnum):
    """What a cell is shown as a fraction of."""

    TOTAL = "Total"
    ROWS = "Rows"
    COLUMNS = "Columns"


@dataclass(frozen=True, slots=True, kw_only=True)
class PivotAggregate:
    """An aggregate by its name in the form; `fraction_of` None shows the value itself."""

    name: str
    combine: Callable[[Values], Any]
    fraction_of: FractionOf | None = None

    @property
    def total_label(self) -> str:
        """What totals are called."""
        return f"Total ({self.name})"

    def of(self, values: Values) -> Any:
        """Return the aggregate of the values that are not null (None, NaN); None where there is none but for counts.

        Raises:
            QueryError: it cannot combine these values.
        """
        return self._computed(self.combine, [value for value in values if not is_null(value)])

    def fraction(self, part: Any, total: Any) -> float | None:
        """Return what fraction of a whole an aggregate is; None where there is none, or the whole is 0.

        Raises:
            QueryError: a double does not hold it.
        """
        return None if part is None or not total else self._computed(_quotient, part, total)

    def _computed(self, function: Callable[..., Any], *given: Any) -> Any:
        try:
            return function(*given)
        except (TypeError, statistics.StatisticsError):
            raise QueryError(
                f"the pivot aggregate {self.name!r} needs numbers; choose Count, First or another"
            ) from None
        except OverflowError:
            raise QueryError(
                f"the pivot aggregate {self.name!r} of these values is larger than a double holds; choose another"
            ) from None


def _quotient(part: Any, total: Any) -> float:
    are_integers = isinstance(part, int) and isinstance(total, int)
    return part / total if are_integers else float(part) / float(total)


def _unless_empty(combine: Callable[[Values], Any]) -> Callable[[Values], Any]:
    return lambda values: combine(values) if values else None


def _sum(values: Values) -> Any:
    # The context's 28 digits are fewer than databases have.
    with localcontext(prec=_DECIMAL_DIGITS):
        return sum(values)


def _unique_text(values: Values) -> str:
    return ", ".join(map(str, dict.fromkeys(values)))


def _spread(values: Values, combine: Callable[[Sequence[float]], float]) -> float:
    if any(isinstance(value, str | bytes) for value in values):
        raise TypeError  # a text of digits would be read as a number
    numbers = list(map(float, values))
    if len(numbers) < 2:
        return 0
    return combine(numbers) if all(map(math.isfinite, numbers)) else math.nan


_PLAIN: Final[Mapping[str, Callable[[Values], Any]]] = {
    "Count": len,
    "Count Unique Values": lambda values: len(set(values)),
    "List Unique Values": _unless_empty(_unique_text),
    "Sum": _unless_empty(_sum),
    "Average": _unless_empty(lambda values: sum(values) / len(values)),
    "Median": _unless_empty(statistics.median),
    "Sample Variance": _unless_empty(partial(_spread, combine=statistics.variance)),
    "Sample Standard Deviation": _unless_empty(partial(_spread, combine=statistics.stdev)),
    "Minimum": _unless_empty(min),
    "Maximum": _unless_empty(max),
    "First": _unless_empty(lambda values: values[0]),
    "Last": _unless_empty(lambda values: values[-1]),
}


def pivot_aggregate(name: str) -> PivotAggregate:
    """Return the aggregate of this name, for example `Sum` or `Count as Fraction of Rows`; else UnknownNameError."""
    base, _, of = name.partition(" as Fraction of ")
    if of in tuple(FractionOf) and base in ("Sum", "Count"):
        return PivotAggregate(name=name, combine=_PLAIN[base], fraction_of=FractionOf(of))
    if name not in _PLAIN:
        fractions = [f"{base} as Fraction of {of}" for base in ("Sum", "Count") for of in FractionOf]
        raise UnknownNameError(name, place="form_data.aggregateFunction", known=[*_PLAIN, *fractions])
    return PivotAggregate(name=name, combine=_PLAIN[name])

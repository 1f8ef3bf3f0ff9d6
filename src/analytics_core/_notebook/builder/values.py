"""The values that people compare columns with: as a payload writes them, and whether a column can hold them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

from analytics_core._engine.compile.columns import parse_grain
from analytics_core._engine.compile.time_range import parse_time_range, resolve_time_range
from analytics_core._engine.compile.values import convert
from analytics_core._engine.engines.types import ValueKind
from analytics_core.errors import (
    FilterValueError,
    LimitError,
    MissingExtraError,
    QueryError,
    TimeRangeError,
    UnknownTimeGrainError,
)
from analytics_core.errors.base import short_repr
from analytics_core.models.enums import FilterOperator, GenericType, TimeGrain

Value = str | int | float | bool | Decimal | date | datetime | None
"""What a column is compared with; None finds nulls."""

Moment = str | date | datetime
"""An end of a range: a date, a moment, or either as text."""

TimeRangeText = str | tuple[Moment, Moment]
"""A range of time: a text of the contract (`Last quarter`, `2024-01-01 : 2024-04-01`), or its ends."""

TimeRangePart = TimeRangeText | Moment
"""What `during` is given: a range, or one of its two ends."""

_KINDS: Final = {
    GenericType.NUMERIC: ValueKind.DECIMAL,
    GenericType.STRING: ValueKind.TEXT,
    GenericType.BOOLEAN: ValueKind.BOOLEAN,
    GenericType.TEMPORAL: ValueKind.TIMESTAMP,
}
_PLAIN: Final = frozenset({bool, int, float, str})
LARGEST: Final = 1e300
_PROBES: Final = (datetime(1972, 7, 15, tzinfo=UTC), datetime(2096, 7, 15, tzinfo=UTC))
"""Two moments far apart, in leap years: a range that is impossible at both is so whenever it is asked."""

_EQUALITY: Final = frozenset({FilterOperator.EQUALS, FilterOperator.NOT_EQUALS})


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """What the builder knows of a column; `kind` None: its values are not checked when a line is written.

    `is_stored`: it is a column of the table, no expression.
    """

    name: str
    kind: GenericType | None
    is_stored: bool

    @property
    def is_number(self) -> bool:
        """Whether its values add up."""
        return self.kind is GenericType.NUMERIC

    @property
    def noun(self) -> str:
        """What its values are, in words."""
        return "values of no known kind" if self.kind is None else _NOUNS[self.kind]


_NOUNS: Final = {
    GenericType.NUMERIC: "numbers",
    GenericType.STRING: "text",
    GenericType.TEMPORAL: "moments",
    GenericType.BOOLEAN: "true and false",
}


def compared_value(facts: ColumnFacts, op: FilterOperator, value: object) -> Any:
    """Return a value as the payload of a filter has it.

    Raises:
        FilterValueError: the column cannot hold it, or the operator needs another one.
    """
    plain = plain_value(value, facts.name)
    if op in _EQUALITY and plain is None:
        return None
    if plain is None:
        raise FilterValueError(f"filter on {facts.name!r}: {op.value} needs a value; .is_null() finds nulls")
    if facts.kind is GenericType.BOOLEAN and op not in _EQUALITY:
        raise FilterValueError(f"filter on {facts.name!r}: Booleans are compared with == and != only")
    return fitting(facts, plain)


def member_values(facts: ColumnFacts, values: object) -> list[Any]:
    """Return the values of a list as the payload of a filter has them; at least one.

    Raises:
        FilterValueError: there are none, or one that the column cannot hold.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise FilterValueError(f"filter on {facts.name!r}: give a list of values, such as [{short_repr(values)}]")
    found = [fitting(facts, plain_value(value, facts.name)) for value in values]
    if not found:
        raise FilterValueError(f"filter on {facts.name!r}: give at least one value")
    return found


def fitting(facts: ColumnFacts, value: Any) -> Any:
    """Return the value; FilterValueError when the column cannot hold it, as the planner would say."""
    if facts.kind is not None and value is not None:
        convert(value, _KINDS[facts.kind], column=facts.name)
    return value


def plain_value(value: object, column: str) -> Any:
    """Return a value as JSON has it: moments as ISO 8601 text, decimals as exact text, numbers of NumPy as numbers."""
    if value is None or type(value) in _PLAIN:
        return value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    single = scalar(value)
    if isinstance(single, str):
        return str.__str__(single)
    if isinstance(single, int | float):
        return single
    if isinstance(value, list | tuple | set | frozenset):
        raise FilterValueError(f"filter on {column!r}: {short_repr(value)} are several values; use .isin([...])")
    raise FilterValueError(
        f"filter on {column!r}: {short_repr(value)} is no text, number, true, false, date, moment or None"
    )


def scalar(value: Any) -> object:
    """Return a scalar of NumPy as a plain value, a moment as text (its own value would be nanoseconds); else itself."""
    if getattr(value, "shape", None) != ():
        return value
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind == "M":
        return str(value.astype("datetime64[us]"))
    return value.item() if kind and kind in "biufU" else value


def range_text(*given: object) -> str:
    """Return a range of time as its text: of a text, of a pair of ends, or of the ends themselves.

    Raises:
        TimeRangeError: it is no range, or ends before it starts; the message shows what would work.
    """
    value = given[0] if len(given) == 1 else given
    if len(given) > 1 and isinstance(given[-1], str) and given[-1].upper() in TimeGrain.__members__:
        raise TimeRangeError(f"{given[-1]!r} is a grain, which has a name: .during(..., grain={given[-1]!r})")
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(end, date | str) for end in value):
        value = " : ".join(end.isoformat() if isinstance(end, date) else end.strip() for end in value)
    if not isinstance(value, str):
        raise TimeRangeError(
            f"{short_repr(value)} is no range of time; give text such as 'Last quarter' or '2024-01-01 : 2024-04-01', "
            "or its two ends: .during('2024-01-01', '2024-04-01'), .during(date(2024, 1, 1), date(2024, 4, 1))"
        )
    parse_time_range(value)
    _check_possible(value)
    return value


def _check_possible(text: str) -> None:
    """Raise TimeRangeError for a range that cannot be at any time, such as one that ends before it starts."""
    for place, moment in enumerate(_PROBES, start=1):
        try:
            resolve_time_range(text, now=moment)
        except MissingExtraError:
            return
        except TimeRangeError:
            if place == len(_PROBES):
                raise
        else:
            return


def grain_text(value: object) -> str:
    """Return a time grain as the contract has it (`P1M`), which may be given as a word (`month`).

    Raises:
        UnknownTimeGrainError: there is no such grain.
    """
    if isinstance(value, str) and value.upper() in TimeGrain.__members__:
        return TimeGrain[value.upper()].value
    try:
        grain = parse_grain(value, place="grain") if isinstance(value, str) else None
    except UnknownTimeGrainError:
        grain = None
    if grain is None:
        raise UnknownTimeGrainError(str(value), place="grain", known=[known.name.lower() for known in TimeGrain])
    return grain.value


def count_of(value: object, what: str, *, least: int = 0) -> int:
    """Return a count; LimitError when it is no whole number, or below the least one."""
    number = scalar(value)
    if not isinstance(number, int) or isinstance(number, bool) or number < least:
        raise LimitError(f"{what} takes a whole number, {least} or more, not {short_repr(value)}")
    return number


def limit_of(value: object) -> int:
    """Return a limit of rows; LimitError when it is no whole number above 0."""
    if type(value) is int and not value:
        raise LimitError(
            ".limit(0) would ask for no rows; leave it out for all that Settings.default_row_limit lets through, or "
            "give a number: .limit(100)"
        )
    return count_of(value, ".limit", least=1)


def number_of(value: object, what: str) -> int | float:
    """Return a finite number; QueryError when it is none."""
    number = scalar(value)
    if isinstance(number, bool) or not isinstance(number, int | float) or not -LARGEST <= number <= LARGEST:
        raise QueryError(f"{what} takes a number, not {short_repr(value)}")
    return number


def fraction_of(value: object, what: str) -> int | float:
    """Return a number between 0 and 1; QueryError when it is none."""
    number = number_of(value, what)
    if not 0 <= number <= 1:
        raise QueryError(f"{what} takes a number between 0 and 1, not {short_repr(value)}")
    return number


def text_of(value: object, what: str) -> str:
    """Return a text that says something; QueryError when it is none."""
    if isinstance(value, str) and value.strip():
        return value
    raise QueryError(f"{what} takes a text, not {short_repr(value)}")

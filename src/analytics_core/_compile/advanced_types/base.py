"""What an advanced data type is: how texts are read as ranges of the numbers that a column holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from analytics_core.models.enums import FilterOperator

ALL_COMPARISONS = (
    FilterOperator.EQUALS,
    FilterOperator.NOT_EQUALS,
    FilterOperator.IN,
    FilterOperator.NOT_IN,
    FilterOperator.GREATER,
    FilterOperator.GREATER_OR_EQUAL,
    FilterOperator.LESS,
    FilterOperator.LESS_OR_EQUAL,
)


@dataclass(frozen=True, slots=True)
class Span:
    """The numbers from `first` to `last`, both included."""

    first: int
    last: int

    @property
    def is_single(self) -> bool:
        """Whether it holds one number only."""
        return self.first == self.last

    def __str__(self) -> str:
        return str(self.first) if self.is_single else f"{self.first}-{self.last}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvancedDataType:
    """One advanced data type; a dataset's column names it in `advanced_data_type`.

    Args:
        name: what columns and callers call it.
        read: returns the numbers that a text means; ValueError, with a message for people, when it means none.
        show: returns how people write a range of numbers.
        operators: the filter operators that make sense for it.
    """

    name: str
    read: Callable[[str], tuple[Span, ...]]
    show: Callable[[Span], str]
    operators: tuple[FilterOperator, ...] = ALL_COMPARISONS


def number_span(text: str, *, largest: int) -> Span | None:
    """Return the range of `8000` or `8000-8010`; None when the text is not written so.

    Raises:
        ValueError: a number beyond `largest`, or a range that ends before it begins.
    """
    first, dash, last = (part.strip() for part in text.partition("-"))
    if not is_number(first) or (dash and not is_number(last)):
        return None
    span = Span(int(first), int(last) if dash else int(first))
    return checked_span(span, text=text, largest=largest)


def checked_span(span: Span, *, text: str, largest: int) -> Span:
    """Return a range that lies within 0 and `largest` and does not run backwards; ValueError otherwise."""
    if span.last > largest:
        raise ValueError(f"{text!r} is beyond {largest}")
    if span.first > span.last:
        raise ValueError(f"{text!r} ends before it begins")
    return span


def is_number(text: str) -> bool:
    """Tell whether a text is a whole number of ordinary digits, of a length that can be read quickly."""
    return text.isascii() and text.isdigit() and len(text) <= 40

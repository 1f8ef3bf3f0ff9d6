"""What texts are: the narrowest kind that fits every value of a column, and the values as that kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from itertools import combinations
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.files.dates import (
    ISO,
    ISO_DAY,
    ISO_MOMENT,
    ISO_OF_CALENDAR,
    ISO_ZONE,
    doubt_of,
    forms_like,
    has_time,
    moments,
    pattern_of,
    width_of_day,
)
from analytics_core._engine.files.limits import broken
from analytics_core.errors import FileUploadError

MOST_DIGITS: Final = 38
_INTEGER = r"-?(?:0|[1-9][0-9]*)"
_NOT_FINITE = r"-?(?i:nan|inf|infinity)"
_PATTERNS: Mapping[ValueKind, str] = {
    ValueKind.BOOLEAN: r"(?i:true|false)",
    ValueKind.INTEGER: _INTEGER,
    ValueKind.DECIMAL: rf"(?:{_INTEGER}(?:\.[0-9]+)?|-?\.[0-9]+)",
    ValueKind.FLOAT: rf"(?:{_INTEGER}(?:\.[0-9]*)?|-?\.[0-9]+)(?:[eE][+-]?[0-9]{{1,3}})?|{_NOT_FINITE}",
    ValueKind.DATE: ISO_DAY,
    ValueKind.TIMESTAMP: ISO_MOMENT,
}
"""What each kind is written like, the narrowest first; with leading zeros or a plus it is a code, and no number."""

_NARROWER: Mapping[ValueKind, ValueKind] = {
    ValueKind.DECIMAL: ValueKind.INTEGER,
    ValueKind.FLOAT: ValueKind.DECIMAL,
    ValueKind.TIMESTAMP: ValueKind.DATE,
}
"""Kinds all of whose texts are texts of another kind too."""

_LONG_NUMBER = r"\A-?([0-9]{16,})(?:\.[0-9]*)?\z"
"""A number whose whole part a double may round."""

_THOUSANDS = r"\A-?(?:[1-9][0-9]{0,2}\.[0-9]{3}|0|[1-9][0-9]{0,2})\z"
_DIGITS_OF_64_BITS: Final = 18
_DIGITS_OF_DOUBLES: Final = 15
_NO_TEXT: Final = r"[^\s\S]"

_CALLED: Mapping[ValueKind, str] = {
    ValueKind.BOOLEAN: "true or false",
    ValueKind.INTEGER: "a whole number of 64 bits",
    ValueKind.DECIMAL: "a decimal number that fits the column",
    ValueKind.FLOAT: "a number that a double can hold",
    ValueKind.DATE: "a date, such as 2024-01-31",
    ValueKind.TIMESTAMP: "a moment, such as 2024-01-31T10:00:00Z",
    ValueKind.TEXT: "a text without NUL that is valid Unicode",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnType:
    """The type of a column.

    Attributes:
        kind: of its values.
        whole_digits: of DECIMAL, before the point.
        scale: of DECIMAL, the digits after the point.
        form: of days and moments, how they are written; None: as the file's `date_format`, or else ISO 8601.
    """

    kind: ValueKind
    integer_digits: int = 0
    scale: int = 0
    form: str | None = None

    @property
    def precision(self) -> int:
        """All digits of a DECIMAL."""
        return max(self.integer_digits + self.scale, 1)

    @property
    def arrow(self) -> pa.DataType:
        """The type of its values in Arrow; moments are in UTC, without a zone."""
        if self.kind is ValueKind.DECIMAL:
            return pa.decimal128(self.precision, self.scale)
        return _ARROW[self.kind]

    def __str__(self) -> str:
        """Return the type as options and answers write it."""
        name = self.kind.name
        return f"{name}({self.precision},{self.scale})" if self.kind is ValueKind.DECIMAL else name


_ARROW: Mapping[ValueKind, pa.DataType] = {
    ValueKind.BOOLEAN: pa.bool_(),
    ValueKind.INTEGER: pa.int64(),
    ValueKind.FLOAT: pa.float64(),
    ValueKind.DATE: pa.date32(),
    ValueKind.TIMESTAMP: pa.timestamp("us"),
    ValueKind.TEXT: pa.string(),
}
TEXT: Final = ColumnType(kind=ValueKind.TEXT)
_TYPE = re.compile(r"(BOOLEAN|INTEGER|FLOAT|DATE|TIMESTAMP|TEXT)|DECIMAL\((\d{1,2}), ?(\d{1,2})\)")


def parse_type(text: str) -> ColumnType | None:
    """Return the type of a text such as `INTEGER` or `DECIMAL(10,2)`, case aside; None for another text."""
    found = _TYPE.fullmatch(text.strip().upper())
    if found is None:
        return None
    if found.group(1):
        return ColumnType(kind=ValueKind[found.group(1)])
    precision, scale = int(found.group(2)), int(found.group(3))
    if not max(scale, 1) <= precision <= MOST_DIGITS:
        return None
    return ColumnType(kind=ValueKind.DECIMAL, integer_digits=precision - scale, scale=scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenTexts:
    """What the texts of a column that were seen have in common: its type follows from this alone.

    Attributes:
        kinds: those that each of them may be, the narrowest first.
        whole_digits: the most before the point of a number without exponent.
        scale: the most after it.
        is_rounded: whether a number without exponent has a whole part that a double would change.
        may_be_thousands: whether the decimal character may stand between thousands in each of them.
        is_bare: whether each day or moment of ISO 8601 stands without a zone and blanks.
        forms: of days and moments, those in which each of them may be written, the likeliest first; None: no text was
            seen.
        told_apart: two forms each that read one of the texts as different days.
    """

    kinds: tuple[ValueKind, ...] = tuple(_PATTERNS)
    integer_digits: int = 0
    scale: int = 0
    is_rounded: bool = False
    may_be_thousands: bool = True
    is_bare: bool = True
    forms: tuple[str, ...] | None = None
    made_distinct: frozenset[tuple[str, str]] = frozenset()

    @property
    def is_text(self) -> bool:
        """Whether the column is text whatever else is in it."""
        return not self.kinds and self.forms == ()

    def type(self, *, has_format: bool = False) -> ColumnType:
        """Return the narrowest type that holds all texts; TEXT holds any, and a column without one is text."""
        if self.forms is None:
            return TEXT
        written = [ColumnType(kind=_kind_of(form), form=form) for form in self.forms]
        of_kinds = [found for kind in self.kinds if (found := self._type_of(kind)) is not None]
        numbers = [found for found in of_kinds if found.form is None]
        days = [found for found in of_kinds if found.form is not None]
        if not has_format:
            return next(iter((*numbers, *days, *written)), TEXT)
        is_day = self.integer_digits in map(width_of_day, self.forms)  # 20240131 is a number, too
        return next(iter((*written, *numbers, *days) if is_day else (*numbers, *written, *days)), TEXT)

    def _type_of(self, kind: ValueKind) -> ColumnType | None:
        if kind in (ValueKind.DATE, ValueKind.TIMESTAMP):
            return ColumnType(kind=kind, form=ISO)
        if kind is not ValueKind.DECIMAL:
            return None if kind is ValueKind.FLOAT and self.is_rounded else ColumnType(kind=kind)
        found = ColumnType(kind=kind, integer_digits=self.integer_digits, scale=self.scale)
        return found if found.precision <= MOST_DIGITS else None

    def fit(self, wanted: ColumnType) -> bool:
        """Tell whether a column of a type holds all texts as they are."""
        if wanted.kind is ValueKind.TEXT or self.forms is None:
            return True
        if wanted.form not in (None, ISO):
            return wanted.form in self.forms
        if wanted.kind is ValueKind.DECIMAL and wanted.kind in self.kinds:
            return self.integer_digits <= max(wanted.integer_digits, 1) and self.scale <= wanted.scale
        return wanted.kind in self.kinds and not (wanted.kind is ValueKind.FLOAT and self.is_rounded)

    def notes(self, column: str, reader: TextReader) -> tuple[str, ...]:
        """Return what the texts leave open, and how to say that it is to be read in the other way."""
        found = self.type(has_format=reader.date_format is not None)
        if found.kind is ValueKind.DECIMAL and found.scale == 3 and self.may_be_thousands and reader.thousands is None:
            return (_doubt_of_thousands(column, reader.decimal),)
        forms = self.forms or ()
        others = [form for form in forms[1:] if (forms[0], form) in self.made_distinct]
        return (doubt_of(column, forms[0], others),) if others and found.form == forms[0] else ()


def _kind_of(form: str) -> ValueKind:
    return ValueKind.TIMESTAMP if has_time(form) else ValueKind.DATE


def _doubt_of_thousands(column: str, decimal: str) -> str:
    other = "." if decimal == "," else ","
    return (
        f"column {column}: where its numbers have {decimal!r}, three digits are behind it, which is read as the "
        f"decimal character; if it stands between thousands, give decimal_character={other!r}, "
        f"thousands_character={decimal!r}"
    )


DOUBTED_HEADER: Final = (
    "the first row is read as names of columns, though all of it is written like the rows below; if it is data, give "
    "header_row=None"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReader:
    """How texts of a file become values; blanks around numbers, days and moments are left out.

    Attributes:
        decimal: the sign before the digits of a fraction.
        thousands: the sign between each three digits of whole numbers; None: there is none.
        date_format: of dates and moments, as `strptime` takes it; None: what the texts tell.
        max_cell_length: characters of one text.
    """

    decimal: str = "."
    thousands: str | None = None
    date_format: str | None = None
    max_cell_length: int = 100_000

    def seen(self, known: SeenTexts, texts: pa.Array) -> SeenTexts:
        """Return what was known of a column together with what these texts tell, nulls aside."""
        values = texts.drop_null()
        if not len(values) or known.is_text:
            return known
        trimmed = _trimmed(values)
        found = self._numbers(self._days(known, values, trimmed), trimmed)
        if ValueKind.BOOLEAN in found.kinds and not self._all_match(ValueKind.BOOLEAN, values):
            found = _without(found, ValueKind.BOOLEAN)
        return self._written(found, trimmed)

    def _numbers(self, known: SeenTexts, texts: pa.Array) -> SeenTexts:
        """Return what is known without those kinds of numbers that the texts are not, and with their digits."""
        matching: set[ValueKind] = set()
        for kind in (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.FLOAT):
            if kind in known.kinds and (_NARROWER.get(kind) in matching or self._all_match(kind, texts)):
                matching.add(kind)
            known = known if kind in matching else _without(known, kind)
        if not matching:
            return known
        plain = self._plain(texts)
        if ValueKind.DECIMAL in matching:
            digits, scale = _digits(plain)
            known = replace(known, integer_digits=max(known.integer_digits, digits), scale=max(known.scale, scale))
            if known.may_be_thousands:
                known = replace(known, may_be_thousands=_all(pc.match_substring_regex(plain, _THOUSANDS)))
        elif _cast(plain, ColumnType(kind=ValueKind.FLOAT)) is None:
            return _without(known, ValueKind.FLOAT)
        is_short = known.integer_digits <= _DIGITS_OF_64_BITS
        if ValueKind.INTEGER in matching and not is_short and _cast(plain, ColumnType(kind=ValueKind.INTEGER)) is None:
            known = _without(known, ValueKind.INTEGER)
        return known if known.is_rounded else replace(known, is_rounded=_has_rounded(plain))

    def _days(self, known: SeenTexts, values: pa.Array, texts: pa.Array) -> SeenTexts:
        is_day = False
        for kind in (ValueKind.DATE, ValueKind.TIMESTAMP):
            if kind not in known.kinds or is_day:
                continue
            is_day = self._all_match(kind, texts) and moments(texts, ISO) is not None
            known = known if is_day else _without(known, kind)
        if is_day and known.is_bare:
            return replace(known, is_bare=values.equals(texts) and not _any(pc.match_substring_regex(texts, ISO_ZONE)))
        return known

    def _written(self, known: SeenTexts, texts: pa.Array) -> SeenTexts:
        """Return what is known with those forms of days and moments alone that the texts have too."""
        forms = known.forms
        if forms is None:
            forms = (self.date_format,) if self.date_format else forms_like(texts[0].as_py())
        read = {form: found for form in forms if (found := moments(texts, form)) is not None}
        distinct = {
            (one, other)
            for one, other in combinations(read, 2)
            if (one, other) not in known.made_distinct and _any(pc.not_equal(read[one], read[other]))
        }
        return replace(known, forms=tuple(read), made_distinct=known.made_distinct | distinct)

    def is_header(self, first: Sequence[str | None]) -> bool:
        """Tell whether the first row of a file holds the names of its columns: a cell of it is a text, or empty."""
        return any(not cell or self._seen_one(cell).type().kind is ValueKind.TEXT for cell in first)

    def doubts_header(self, header: Sequence[str | None], seen: Sequence[SeenTexts]) -> bool:
        """Tell whether a row of names is written as the columns below it are, one of which at least is no text."""
        types = [known.type() for known in seen]
        return any(kind.kind is not ValueKind.TEXT for kind in types) and all(
            cell and self._seen_one(cell).fit(kind) for cell, kind in zip(header, types, strict=True)
        )

    def _seen_one(self, cell: str) -> SeenTexts:
        return self.seen(SeenTexts(), pa.array([cell], pa.string()))

    def alike(self, known: SeenTexts) -> str | None:
        """Return which texts, as an expression of RE2, change neither the type nor the notes of a column.

        Decimals may be longer than those that were seen, of 18 digits together. Texts in a form of `strptime` must be
        days of the calendar too. None: each text has to be seen.
        """
        found = known.type(has_format=self.date_format is not None)
        if known.forms is None:
            return _NO_TEXT
        if found.kind is ValueKind.TEXT:
            return None
        if found.form == ISO:
            return ISO_OF_CALENDAR[found.kind is ValueKind.DATE, known.is_bare]
        if found.form is not None:
            return pattern_of(found.form) if known.forms == (found.form,) else None
        is_doubted = found.scale == 3 and known.may_be_thousands
        return None if is_doubted or self.thousands is not None else self._alike_numbers(found)

    def _alike_numbers(self, found: ColumnType) -> str:
        point = re.escape(self.decimal)
        if found.kind is ValueKind.INTEGER:
            return rf" *{_integer_pattern(_DIGITS_OF_64_BITS)} *"
        if found.kind is ValueKind.DECIMAL:
            digits = _integer_pattern(max(found.integer_digits, _DIGITS_OF_64_BITS - found.scale))
            return rf" *{digits}(?:{point}[0-9]{{1,{found.scale}}})? *" if found.scale else rf" *{digits} *"
        if found.kind is ValueKind.FLOAT:
            digits = _integer_pattern(_DIGITS_OF_DOUBLES)
            return rf" *(?:{digits}(?:{point}[0-9]*)?(?:[eE][+-]?[0-9]{{1,2}})?|{_NOT_FINITE}) *"
        return _PATTERNS[found.kind]

    def values(self, texts: pa.Array, wanted: ColumnType, *, rows: Sequence[int], column: str) -> pa.Array:
        """Return the texts as values of a type; `rows` are their rows in the file.

        Raises:
            FileUploadError: one does not fit; the first one's row is told.
        """
        if wanted.kind is ValueKind.TEXT:
            return self._checked_text(texts, rows, column)
        if wanted.kind is not ValueKind.BOOLEAN:
            texts = _trimmed(texts)
        is_day = wanted.kind in (ValueKind.DATE, ValueKind.TIMESTAMP)
        wanted = replace(wanted, form=(wanted.form or self.date_format or ISO) if is_day else None)
        if wanted.form in (None, ISO):
            matches = pc.fill_null(self._matches(wanted.kind, texts), True)
            first_misfit = pc.index(matches, False).as_py()
            if first_misfit >= 0:
                raise misfit(wanted, rows[first_misfit], column)
        plain = self._plain(texts) if wanted.kind in _NUMBERS else texts
        return cast_or_raise(plain, wanted, rows=rows, column=column, cast=_cast)

    def _all_match(self, kind: ValueKind, texts: pa.Array) -> bool:
        return _all(self._matches(kind, texts))

    def _matches(self, kind: ValueKind, texts: pa.Array) -> pa.Array:
        pattern = _PATTERNS[kind]
        if kind in _NUMBERS and self.decimal != ".":
            pattern = pattern.replace(r"\.", re.escape(self.decimal))
        if kind in _NUMBERS and self.thousands is not None:
            grouped = rf"-?[1-9][0-9]{{0,2}}(?:{re.escape(self.thousands)}[0-9]{{3}})+"
            pattern = pattern.replace(_INTEGER, f"(?:{grouped}|{_INTEGER})")
        return pc.match_substring_regex(texts, rf"\A(?:{pattern})\z")

    def _plain(self, texts: pa.Array) -> pa.Array:
        """Return numbers as everybody writes them."""
        if self.thousands is not None:
            texts = pc.replace_substring(texts, self.thousands, "")
        return texts if self.decimal == "." else pc.replace_substring(texts, self.decimal, ".")

    def _checked_text(self, texts: pa.Array, rows: Sequence[int], column: str) -> pa.Array:
        for what, wrong in (
            (f"must be {_CALLED[ValueKind.TEXT]}", pc.match_substring(texts, "\0")),
            (
                f"the text has more than {self.max_cell_length} characters (Settings.upload_max_cell_length)",
                pc.greater(pc.utf8_length(texts), self.max_cell_length),
            ),
        ):
            first = pc.index(pc.fill_null(wrong, False), True).as_py()
            if first >= 0:
                raise broken(what, row=rows[first], column=column)
        return texts


_NUMBERS: Final = frozenset({ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.FLOAT})


def _integer_pattern(digits: int) -> str:
    return rf"-?(?:0|[1-9][0-9]{{0,{digits - 1}}})" if digits > 0 else _NO_TEXT


def _without(known: SeenTexts, kind: ValueKind) -> SeenTexts:
    return replace(known, kinds=tuple(one for one in known.kinds if one is not kind))


def _all(found: pa.Array) -> bool:
    return bool(pc.all(found, min_count=0).as_py())


def _any(found: pa.Array) -> bool:
    return bool(pc.any(found, min_count=0).as_py())


def _trimmed(texts: pa.Array) -> pa.Array:
    return pc.utf8_trim(texts, " ")


def _has_rounded(numbers: pa.Array) -> bool:
    """Tell whether a number without exponent has a whole part that a double would change."""
    found = pc.struct_field(pc.extract_regex(numbers, _LONG_NUMBER.replace("(", "(?P<whole>", 1)), "whole")
    return any(len(text) > MOST_DIGITS or int(float(text)) != int(text) for text in found.drop_null().to_pylist())


def _digits(values: pa.Array) -> tuple[int, int]:
    """Return the most digits before and after the point."""
    point = pc.find_substring(values, ".")
    length = pc.utf8_length(values)
    sign = pc.cast(pc.starts_with(values, "-"), pa.int32())
    ends = pc.if_else(pc.less(point, 0), length, point)
    digits = pc.subtract(ends, sign)
    scale = pc.max_element_wise(pc.subtract(pc.subtract(length, ends), 1), 0)
    return pc.max(digits).as_py(), pc.max(scale).as_py()


def _cast(texts: pa.Array, wanted: ColumnType) -> pa.Array | None:
    """Return texts of the right form as values; None when one is no value (the 30th of February, 1e999)."""
    try:
        if wanted.form is not None:
            found = moments(texts, wanted.form)
            return found if found is None else found.cast(wanted.arrow)
        if wanted.kind is ValueKind.BOOLEAN:
            return pc.equal(pc.utf8_lower(texts), "true")
        if wanted.kind is ValueKind.DECIMAL:
            return _decimals(texts, wanted)
        found = texts.cast(wanted.arrow)
    except pa.ArrowInvalid:
        return None
    if wanted.kind is ValueKind.FLOAT:
        is_valid = pc.or_(pc.is_finite(found), pc.match_substring_regex(texts, rf"\A{_NOT_FINITE}\z"))
        return found if _all(is_valid) else None
    return found


def _decimals(texts: pa.Array, wanted: ColumnType) -> pa.Array | None:
    values = texts.drop_null()
    if len(values):
        digits, scale = _digits(values)
        if scale > wanted.scale or digits > max(wanted.integer_digits, 1):
            return None
    return texts.cast(pa.decimal128(MOST_DIGITS, wanted.scale)).cast(wanted.arrow)


def misfit(wanted: ColumnType, row: int, column: str) -> FileUploadError:
    """Return the error for a value that is none of its column's type."""
    if wanted.form not in (None, ISO):
        return broken(f"must be a date of the form {wanted.form!r}", row=row, column=column)
    called = f"must be {_CALLED[wanted.kind]}"
    hint = "; give the column another type with column_data_types, such as TEXT"
    return broken(f"{called}{hint if wanted.kind is not ValueKind.TEXT else ''}", row=row, column=column)


def cast_or_raise(
    values: pa.Array,
    wanted: ColumnType,
    *,
    rows: Sequence[int],
    column: str,
    cast: Callable[[pa.Array, ColumnType], pa.Array | None],
) -> pa.Array:
    """Return what `cast` makes of all values, or raise FileUploadError with the row of the first it cannot take."""
    found = cast(values, wanted)
    if found is not None:
        return found
    low, high = 0, len(values)  # the first misfit is in [low, high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if cast(values.slice(low, middle - low), wanted) is None else (middle, high)
    raise misfit(wanted, rows[low], column)


def from_values(values: Sequence[Any], wanted: ColumnType, *, rows: Sequence[int], column: str) -> pa.Array:
    """Return Python values as an array; they are of the right class, but may be out of bounds."""
    if wanted.kind is ValueKind.DATE:
        values = [value.date() if isinstance(value, datetime) else value for value in values]
    if wanted.kind is ValueKind.TIMESTAMP:  # workbooks have midnights as days
        values = [datetime.combine(value, time.min) if type(value) is date else value for value in values]
    try:
        return pa.array(values, wanted.arrow)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
        pass
    for row, value in zip(rows, values, strict=True):
        try:
            pa.array([value], wanted.arrow)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
            raise misfit(wanted, row, column) from None
    raise misfit(wanted, rows[0], column)

"""What texts are: the narrowest kind that fits every value of a column, and the values as that kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from analytics_core._engines.types import ValueKind
from analytics_core._uploads.limits import broken
from analytics_core.errors import FileUploadError

MOST_DIGITS: Final = 38
_ZONE = r"[ ]?(?:Z|z|[+-][0-9]{2}(?::?[0-9]{2})?)"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT = rf"{_DAY}(?:[T ][0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:\.[0-9]{{1,6}})?)?(?:{_ZONE})?)?"
_WHOLE = r"-?(?:0|[1-9][0-9]*)"
_EXACT_DIGITS: Final = 15
"""So many digits before the point a FLOAT keeps, whatever they are."""

_PATTERNS: Mapping[ValueKind, str] = {
    ValueKind.BOOLEAN: r"(?i:true|false)",
    ValueKind.INTEGER: _WHOLE,
    ValueKind.DECIMAL: rf"(?:{_WHOLE}(?:\.[0-9]+)?|-?\.[0-9]+)",
    ValueKind.FLOAT: rf"(?:{_WHOLE}(?:\.[0-9]*)?|-?\.[0-9]+)(?:[eE][+-]?[0-9]{{1,3}})?",
    ValueKind.DATE: _DAY,
    ValueKind.TIMESTAMP: _MOMENT,
}
"""Leading zeros and plus signs are no numbers: they are post codes and telephone numbers."""

_WIDER: Mapping[ValueKind, tuple[ValueKind, ...]] = {
    ValueKind.UNKNOWN: tuple(_PATTERNS),
    ValueKind.BOOLEAN: (ValueKind.BOOLEAN,),
    ValueKind.INTEGER: (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.FLOAT),
    ValueKind.DECIMAL: (ValueKind.DECIMAL, ValueKind.FLOAT),
    ValueKind.FLOAT: (ValueKind.FLOAT,),
    ValueKind.DATE: (ValueKind.DATE, ValueKind.TIMESTAMP),
    ValueKind.TIMESTAMP: (ValueKind.TIMESTAMP,),
    ValueKind.TEXT: (),
}
"""What a column may still be once it was found to be of a kind."""

_CALLED: Mapping[ValueKind, str] = {
    ValueKind.BOOLEAN: "true or false",
    ValueKind.INTEGER: "a whole number of 64 bits",
    ValueKind.DECIMAL: "a decimal number that fits the column",
    ValueKind.FLOAT: "a finite number",
    ValueKind.DATE: "a date, such as 2024-01-31",
    ValueKind.TIMESTAMP: "a moment, such as 2024-01-31T10:00:00Z",
    ValueKind.TEXT: "a text without NUL that is valid Unicode",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnType:
    """The type of a column: its kind, and of DECIMAL the digits before and after the point."""

    kind: ValueKind
    whole_digits: int = 0
    scale: int = 0

    @property
    def precision(self) -> int:
        """All digits of a DECIMAL."""
        return max(self.whole_digits + self.scale, 1)

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
UNKNOWN: Final = ColumnType(kind=ValueKind.UNKNOWN)
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
    return ColumnType(kind=ValueKind.DECIMAL, whole_digits=precision - scale, scale=scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReader:
    """How texts of a file become values.

    Attributes:
        decimal: the sign before the digits of a fraction.
        date_format: of dates and moments, as `strptime` takes it; None: ISO 8601.
        max_cell_length: characters of one text.
    """

    decimal: str = "."
    date_format: str | None = None
    max_cell_length: int = 100_000

    def widened(self, known: ColumnType, texts: pa.Array) -> ColumnType:
        """Return the narrowest type that fits what is known and these texts, nulls aside; TEXT fits all."""
        values = texts.drop_null()
        if not len(values) or known.kind is ValueKind.TEXT:
            return known
        for kind in _WIDER[known.kind]:
            found = self._fitting(kind, known, values)
            if found is not None:
                return found
        return TEXT

    def _fitting(self, kind: ValueKind, known: ColumnType, values: pa.Array) -> ColumnType | None:
        if not pc.all(self._matches(kind, values)).as_py():
            return None
        if kind is ValueKind.FLOAT and (known.whole_digits > _EXACT_DIGITS or self._has_long_number(values)):
            return None  # it would be rounded to 16 digits
        found = ColumnType(kind=kind)
        if kind in (ValueKind.DECIMAL, ValueKind.INTEGER):
            found = _with_digits(kind, known, _digits(self._plain(values)))
        if found.precision > MOST_DIGITS:
            return None
        return found if _cast(self._plain(values), found) is not None else None

    def values(self, texts: pa.Array, wanted: ColumnType, *, rows: Sequence[int], column: str) -> pa.Array:
        """Return the texts as values of a type; `rows` are their rows in the file.

        Raises:
            FileUploadError: one does not fit; the first one's row is told.
        """
        if wanted.kind is ValueKind.TEXT:
            return self._checked_text(texts, rows, column)
        if self.date_format and wanted.kind in (ValueKind.DATE, ValueKind.TIMESTAMP):
            return self._formatted(texts, wanted, rows, column)
        matches = pc.fill_null(self._matches(wanted.kind, texts), True)
        first_misfit = pc.index(matches, False).as_py()
        if first_misfit >= 0:
            raise misfit(wanted, rows[first_misfit], column)
        return cast_or_raise(self._plain(texts), wanted, rows=rows, column=column, cast=_cast)

    def _matches(self, kind: ValueKind, texts: pa.Array) -> pa.Array:
        pattern = _PATTERNS[kind].replace(r"\.", re.escape(self.decimal)) if kind in _FRACTIONAL else _PATTERNS[kind]
        return pc.match_substring_regex(texts, rf"\A(?:{pattern})\z")

    def _has_long_number(self, values: pa.Array) -> bool:
        pattern = rf"\A-?[0-9]{{{_EXACT_DIGITS + 1},}}(?:{re.escape(self.decimal)}|\z)"
        return bool(pc.any(pc.match_substring_regex(values, pattern)).as_py())

    def _plain(self, texts: pa.Array) -> pa.Array:
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

    def _formatted(self, texts: pa.Array, wanted: ColumnType, rows: Sequence[int], column: str) -> pa.Array:
        """Read dates one by one, each different text once: Arrow's own reader takes the 31st of February."""
        read: dict[str, datetime | None] = {}
        values: list[Any] = []
        for row, text in zip(rows, texts.to_pylist(), strict=True):
            if text is not None and text not in read:
                try:
                    read[text] = _in_utc(datetime.strptime(text, self.date_format or ""))  # noqa: DTZ007 - naive is UTC
                except (ValueError, OverflowError, re.error):  # re.error: a form that names something twice
                    raise broken(f"must be a date of the form {self.date_format!r}", row=row, column=column) from None
            values.append(None if text is None else read[text])
        return from_values(values, wanted, rows=rows, column=column)


_FRACTIONAL: Final = frozenset({ValueKind.DECIMAL, ValueKind.FLOAT})


def _digits(values: pa.Array) -> tuple[int, int]:
    """Return the most digits before and after the point."""
    point = pc.find_substring(values, ".")
    length = pc.utf8_length(values)
    sign = pc.cast(pc.starts_with(values, "-"), pa.int32())
    ends = pc.if_else(pc.less(point, 0), length, point)
    whole = pc.subtract(ends, sign)
    scale = pc.max_element_wise(pc.subtract(pc.subtract(length, ends), 1), 0)
    return pc.max(whole).as_py(), pc.max(scale).as_py()


def _with_digits(kind: ValueKind, known: ColumnType, digits: tuple[int, int]) -> ColumnType:
    whole, scale = max(known.whole_digits, digits[0]), max(known.scale, digits[1])
    return ColumnType(kind=kind, whole_digits=whole, scale=scale)


def _cast(texts: pa.Array, wanted: ColumnType) -> pa.Array | None:
    """Return texts of the right form as values; None when one is no value (the 30th of February, 1e999)."""
    try:
        if wanted.kind is ValueKind.TIMESTAMP:
            return _in_time(_moments(texts))
        if wanted.kind is ValueKind.BOOLEAN:
            return pc.equal(pc.utf8_lower(texts), "true")
        if wanted.kind is ValueKind.DECIMAL:
            return _decimals(texts, wanted)
        found = texts.cast(wanted.arrow)
    except pa.ArrowInvalid:
        return None
    if wanted.kind is ValueKind.FLOAT:
        return found if pc.all(pc.is_finite(found.drop_null())).as_py() in (True, None) else None
    return _in_time(found) if wanted.kind is ValueKind.DATE else found


def _decimals(texts: pa.Array, wanted: ColumnType) -> pa.Array | None:
    values = texts.drop_null()
    if len(values):
        whole, scale = _digits(values)
        if scale > wanted.scale or whole > max(wanted.whole_digits, 1):
            return None
    return texts.cast(pa.decimal128(MOST_DIGITS, wanted.scale)).cast(wanted.arrow)


def _moments(texts: pa.Array) -> pa.Array:
    """Return moments in UTC; a naive one is in UTC, a day begins at midnight."""
    zoned = pc.replace_substring_regex(pc.utf8_upper(texts), pattern=" (Z|[+-])", replacement=r"\1")
    length = pc.utf8_length(zoned)
    is_naive = pc.invert(pc.match_substring_regex(pc.utf8_slice_codeunits(zoned, 10), r"[Z+-]"))
    whole = pc.if_else(pc.equal(length, 10), pc.binary_join_element_wise(zoned, "T00:00", ""), zoned)
    with_zone = pc.if_else(is_naive, pc.binary_join_element_wise(whole, "Z", ""), whole)
    return with_zone.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us"))


def _in_time(found: pa.Array) -> pa.Array | None:
    """Return dates or moments, all of them in the years 1 to 9999; None otherwise."""
    values = pc.drop_null(found)
    if not len(values):
        return found
    first: date = date.min
    last: date = date.max
    if pa.types.is_timestamp(found.type):
        first, last = datetime.combine(first, time.min), datetime.combine(last, time.max)
    within = pc.and_(
        pc.greater_equal(values, pa.scalar(first, found.type)), pc.less_equal(values, pa.scalar(last, found.type))
    )
    return found if pc.all(within).as_py() else None


def _in_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def misfit(wanted: ColumnType, row: int, column: str) -> FileUploadError:
    """Return the error for a value that is none of its column's type."""
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


def settled(found: ColumnType) -> ColumnType:
    """Return the type of a column once all rows were seen; one without values is text."""
    return TEXT if found.kind is ValueKind.UNKNOWN else found

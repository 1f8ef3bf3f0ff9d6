"""What kind of value a column holds, and how a temporal column stores its moments.

Moments that are texts or numbers are read by the contract's `python_date_format`, a `strftime` format.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, StrEnum, auto
from math import isfinite
from types import MappingProxyType
from typing import Any

from analytics_core.errors import UnsupportedByEngineError
from analytics_core.models.enums import GenericType

WIDTHS: Mapping[str, int] = MappingProxyType({"Y": 4, "m": 2, "d": 2, "H": 2, "M": 2, "S": 2, "f": 6})
"""The directives that are numbers of fixed width, largest unit first."""

_FIELDS: Mapping[str, str] = MappingProxyType(
    dict(zip(WIDTHS, ("year", "month", "day", "hour", "minute", "second", "microsecond"), strict=True))
)

NAMED_DIRECTIVES = frozenset({"b", "B", "I", "p"})
"""Further directives that engines with a parser of their own understand alike."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a format: a directive's letter, or text that stands for itself."""

    value: str
    is_directive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFormat:
    """A format as its pieces, in order."""

    source: str
    pieces: tuple[Piece, ...]

    @property
    def directives(self) -> tuple[str, ...]:
        """The letters of the directives, in order."""
        return tuple(piece.value for piece in self.pieces if piece.is_directive)

    @property
    def is_fixed_width(self) -> bool:
        """Whether every directive is a number of fixed width."""
        return all(letter in WIDTHS for letter in self.directives)

    @property
    def sorts_as_time(self) -> bool:
        """Whether its texts sort as the moments they mean: fixed width, from the year downwards, none left out."""
        return self.is_fixed_width and self.directives == tuple(WIDTHS)[: len(self.directives)]

    @property
    def is_digits(self) -> bool:
        """Whether its texts are digits only."""
        return self.is_fixed_width and all(piece.is_directive for piece in self.pieces)

    def missing_parts(self) -> tuple[str, ...]:
        """Return which of month (`m`) and day (`d`) the format does not name; they count as the first."""
        named = set(self.directives)
        return tuple(letter for letter, spelled in (("m", {"m", "b", "B"}), ("d", {"d"})) if not named & spelled)

    def has_clock(self) -> bool:
        """Return whether the format names hours, minutes or seconds."""
        return bool(set("HIMSf") & set(self.directives))

    def positions(self) -> dict[str, tuple[int, int]]:
        """Return letter -> (first place, counted from 1; width) of a format of fixed width."""
        found, place = {}, 1
        for piece in self.pieces:
            width = WIDTHS[piece.value] if piece.is_directive else len(piece.value)
            if piece.is_directive:
                found[piece.value] = (place, width)
            place += width
        return found

    def write(self, moment: datetime) -> str:
        """Return a moment as a text of this fixed-width format; finer units are cut off."""
        return "".join(
            f"{getattr(moment, _FIELDS[piece.value]):0{WIDTHS[piece.value]}d}" if piece.is_directive else piece.value
            for piece in self.pieces
        )

    def floor(self, moment: datetime) -> datetime:
        """Return the last moment that a text of this format can mean and that is not after `moment`."""
        cut: dict[str, Any] = {
            field: 1 if letter in "md" else 0 for letter, field in _FIELDS.items() if letter not in self.directives
        }
        return moment.replace(**cut)

    def ceil(self, moment: datetime) -> datetime | None:
        """Return the first moment of this resolution that is not before `moment`; None after the year 9999."""
        floor = self.floor(moment)
        if floor == moment:
            return moment
        try:
            return self._next(floor)
        except (OverflowError, ValueError):
            return None

    def _next(self, floor: datetime) -> datetime:
        finest = self.directives[-1]
        if finest == "Y":
            return floor.replace(year=floor.year + 1)
        if finest == "m":
            return floor.replace(year=floor.year + floor.month // 12, month=floor.month % 12 + 1)
        return floor + timedelta(**{f"{_FIELDS[finest]}s": 1})


def parse_format(source: str) -> TextFormat:
    """Return the pieces of a `strftime` format.

    Raises:
        UnsupportedByEngineError: a directive that no engine reads alike, one that is written twice, or no year.
    """
    pieces = tuple(map(_piece, _PIECE.finditer(source)))
    parsed = TextFormat(source=source, pieces=pieces)
    letters = parsed.directives
    for letter in letters:
        if letter not in WIDTHS and letter not in NAMED_DIRECTIVES:
            raise UnsupportedByEngineError(
                f"the date format {source!r} has %{letter}, which engines do not read alike; "
                f"these work: {_listed((*WIDTHS, *sorted(NAMED_DIRECTIVES)))}"
            )
    if "Y" not in letters or len(set(letters)) != len(letters):
        raise UnsupportedByEngineError(f"the date format {source!r} must name the year (%Y) and nothing twice")
    return parsed


def fixed_width_format(source: str, *, engine: str) -> TextFormat:
    """Return a format whose texts can be read by position.

    Raises:
        UnsupportedByEngineError: the format holds names of months or the like.
    """
    parsed = parse_format(source)
    if not parsed.is_fixed_width or ("f" in parsed.directives and not parsed.sorts_as_time):
        raise UnsupportedByEngineError(
            f"{engine} reads dates from text by position only, so {source!r} does not work there; "
            f"these do: {_listed(tuple(WIDTHS)[:-1])}, and %f after all of them"
        )
    return parsed


_PIECE = re.compile(r"%(?P<letter>[^%])|(?P<text>(?:[^%]|%%|%\Z)+)")


def _piece(found: re.Match[str]) -> Piece:
    letter = found["letter"]
    return Piece(letter, is_directive=True) if letter else Piece(found["text"].replace("%%", "%"), is_directive=False)


def _listed(letters: tuple[str, ...]) -> str:
    return ", ".join(f"%{letter}" for letter in letters)


class ValueKind(StrEnum):
    """The kind of a column or output, the same on every engine; NUMBERS are lists that post-processing made."""

    INTEGER = "integer"
    FLOAT = "float"
    DECIMAL = "decimal"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMPTZ = "timestamptz"
    TIME = "time"
    BYTES = "bytes"
    NUMBERS = "numbers"
    OTHER = "other"
    UNKNOWN = "unknown"

    @property
    def is_numeric(self) -> bool:
        """Whether values are numbers."""
        return self in (ValueKind.INTEGER, ValueKind.FLOAT, ValueKind.DECIMAL)

    @property
    def is_temporal(self) -> bool:
        """Whether values are dates or moments."""
        return self in (ValueKind.DATE, ValueKind.TIMESTAMP, ValueKind.TIMESTAMPTZ)

    @property
    def generic(self) -> GenericType | None:
        """The contract's code, None when unknown."""
        if self.is_numeric:
            return GenericType.NUMERIC
        if self.is_temporal or self is ValueKind.TIME:
            return GenericType.TEMPORAL
        if self is ValueKind.BOOLEAN:
            return GenericType.BOOLEAN
        return None if self is ValueKind.UNKNOWN else GenericType.STRING


class Collation(Enum):
    """How the texts of a column compare, as far as the name of its collation tells."""

    UNKNOWN = auto()
    CODE_POINT = auto()
    """By code point: nothing need be said."""
    EXACT = auto()
    """They are equal only where they are the same, but sorted otherwise."""
    FOLDED = auto()
    """Texts that are not the same are equal."""
    UTF8 = auto()
    """Not by code point; to compare so they need no conversion to another character set."""


class TimeEncoding(StrEnum):
    """How a temporal column stores a moment."""

    TIMESTAMP = "timestamp"
    TIMESTAMPTZ = "timestamptz"
    DATE = "date"
    ISO_TEXT = "iso_text"
    TEXT = "text"
    EPOCH_S = "epoch_s"
    EPOCH_MS = "epoch_ms"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeFormat:
    """The encoding of a temporal column; `strftime` is set for TEXT (also for numbers written as %Y or %Y%m%d).

    For native encodings it is what the dataset says of a column of such a type, for engines that keep moments as text.

    `value_kind` is the stored kind: TEXT and epoch formats may sit in text or integer columns.
    """

    encoding: TimeEncoding
    strftime: str | None = None
    value_kind: ValueKind = ValueKind.TIMESTAMP

    @property
    def is_native(self) -> bool:
        """Whether drivers give moments or days for what is stored."""
        return self.encoding in (TimeEncoding.TIMESTAMP, TimeEncoding.TIMESTAMPTZ, TimeEncoding.DATE)

    @property
    def sorts_as_time(self) -> bool:
        """Whether stored values surely sort as the moments that they mean; ISO texts may have different zones."""
        if self.encoding is TimeEncoding.TEXT:
            return self._format_sorts()
        is_text = self.encoding is TimeEncoding.ISO_TEXT or self.value_kind is ValueKind.TEXT
        return self.is_native or not is_text

    def _format_sorts(self) -> bool:
        try:
            return parse_format(self.strftime or "").sorts_as_time
        except UnsupportedByEngineError:
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberRange:
    """The exact numbers that a column can hold: from `low` to `high`, counted in units of `scale` decimal places.

    `DECIMAL(5, 2)` counts hundredths: from -99999 to 99999 at scale 2. `bits`: the column is one of bits, which become
    numbers by adding 0.
    """

    low: int
    high: int
    scale: int = 0
    bits: bool = False


def all_finite(values: Sequence[float | None]) -> bool:
    """Tell whether no number is infinite or NaN; false also for numbers so large that their sum is infinite."""
    return isfinite(sum(filter(None, values)))  # neither infinity nor NaN ever leaves a sum again


def bytes_text(value: bytes | bytearray | memoryview) -> str:
    """Return what answers show for bytes: their UTF-8 text, or `0x` and digits where it is none or holds a NUL."""
    content = bytes(value)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = "\0"
    return "0x" + content.hex() if "\0" in text else text

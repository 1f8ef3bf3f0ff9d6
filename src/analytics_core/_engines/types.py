"""What kind of value a column holds, and how a temporal column stores its moments."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum, auto

from analytics_core._engines.formats import parse_format
from analytics_core.errors import UnsupportedByEngineError
from analytics_core.models.enums import GenericType


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


def bytes_text(value: bytes | bytearray | memoryview) -> str:
    """Return what answers show for bytes: their UTF-8 text, or `0x` and digits where it is none or holds a NUL."""
    held = bytes(value)
    try:
        text = held.decode()
    except UnicodeDecodeError:
        text = "\0"
    return "0x" + held.hex() if "\0" in text else text

"""How days and moments are written in text files: as ISO 8601, or in a form that `strptime` names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

ISO: Final = "ISO 8601"
"""The form of days and moments such as 2024-01-31T10:00:00Z."""

_CLOCK: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?"
_ZONE: Final = r"(?:Z|z|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)"
ISO_DAY: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
ISO_MOMENT: Final = rf"{ISO_DAY}(?:[T ]{_CLOCK}(?:[ ]?{_ZONE})?)?"
ISO_ZONE: Final = rf":.*{_ZONE}\z"
_CALENDAR: Final = (
    "[12][0-9]{3}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
    "|(?:[12][0-9](?:0[48]|[2468][048]|[13579][26])|(?:1[26]|2[048])00)-02-29"
)
ISO_OF_CALENDAR: Final[Mapping[tuple[bool, bool], str]] = {
    (True, True): _CALENDAR,
    (True, False): f" *(?:{_CALENDAR}) *",
    (False, True): f"(?:{_CALENDAR})(?:[T ]{_CLOCK})?",
    (False, False): f" *(?:{_CALENDAR})(?:[T ]{_CLOCK}(?:[ ]?{_ZONE})?)? *",
}
"""Days and moments of the years 1000 to 2999; by whether they are days, and whether without a zone and blanks."""

_WRITTEN: Final = re.compile(
    r"(?P<first>\d{4}|\d{1,2})(?P<between>[/.\- ])\d{1,2}(?P=between)(?P<last>\d{4}|\d{1,2})"
    r"(?P<time>(?P<before>[ T])\d{1,2}:\d{2}(?P<seconds>:\d{2})?(?P<fraction>\.\d{1,6})?(?P<half> [AaPp][Mm])?)?",
    re.ASCII,
)
_ORDERS: Final = {(False, True): ("dmY", "mdY"), (True, False): ("Ymd",), (False, False): ("dmy", "mdy", "ymd")}
"""By whether the first and the last number have four digits: the order of day, month and year, the likeliest first."""

_DIRECTIVES: Final[Mapping[str, str]] = {
    "d": "3[01]|[12][0-9]|0?[1-9]",
    "m": "1[0-2]|0?[1-9]",
    "y": "[0-9]{2}",
    "Y": "[0-9]{4}",
    "H": "2[0-3]|[01]?[0-9]",
    "I": "1[0-2]|0?[1-9]",
    "M": "[0-5]?[0-9]",
    "S": "[0-5]?[0-9]",
    "f": "[0-9]{1,6}",
    "p": "[AaPp][Mm]",
}
_OF_THE_DAY: Final = frozenset("HIMSfpcXT")
_LAST: Final = datetime(2024, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
_FIRST_PARTS: Final = {"d": "day", "m": "month", "y": "year"}


def forms_like(text: str) -> tuple[str, ...]:
    """Return the forms in which a text may be written, the likeliest first: the day, the month, the year in front."""
    written = _WRITTEN.fullmatch(text)
    return tuple(_forms(written)) if written else ()


def _forms(written: re.Match[str]) -> Iterator[str]:
    long_years = (len(written["first"]) == 4, len(written["last"]) == 4)
    hour = "%I" if written["half"] else "%H"
    clock = f"{written['before']}{hour}:%M" if written["time"] else ""
    ends = ((written["seconds"], ":%S"), (written["fraction"], ".%f"), (written["half"], " %p"))
    clock += "".join(text for is_there, text in ends if is_there)
    for order in _ORDERS.get(long_years, ()):
        yield written["between"].join(f"%{part}" for part in order) + clock


def is_date_format(form: str) -> bool:
    """Tell whether `strptime` knows a form."""
    try:
        datetime.strptime(datetime(2024, 1, 2, tzinfo=UTC).strftime(form), form)  # noqa: DTZ007 - naive is UTC
    except (ValueError, re.error):  # re.error: a form that names something twice
        return False
    return "%" in form


def has_time(form: str) -> bool:
    """Tell whether a form of `strptime` says more than the day."""
    return any(directive in _OF_THE_DAY for directive in re.findall("%(.)", form))


def width_of_day(form: str) -> int | None:
    """Return how many characters a day has in a form of `strptime`; None where that names no whole day."""
    names_day = {"Y", "m", "d"} <= set(re.findall("%(.)", form))
    return len(_LAST.strftime(form)) if names_day else None


def moments(texts: pa.Array, form: str) -> pa.Array | None:
    """Return texts as moments in UTC without a zone; None when one has another form, or is no day of the calendar."""
    if form == ISO:
        return _as_moments(_with_zone(texts))
    pattern = _pattern(form)
    if pattern is None:
        return _by_strptime(texts, form)
    parts = pc.extract_regex(texts, rf"\A{pattern}\z")
    if parts.null_count > texts.null_count:
        return None
    part = {directive: pc.struct_field(parts, directive) for directive in _DIRECTIVES if f"?P<{directive}>" in pattern}
    return _as_moments(_iso(part))


def _pattern(form: str) -> str | None:
    """Return the texts of a form as an expression; None for one that has no whole date, or names further parts."""
    found = re.findall("%(.)", form)
    if len(set(found)) < len(found) or not set(found) <= _DIRECTIVES.keys() or not {"d", "m"} <= set(found):
        return None
    if len({"y", "Y"} & set(found)) != 1 or ("I" in found) != ("p" in found) or {"H", "I"} <= set(found):
        return None
    pieces = re.split("%(.)", form)
    return "".join(
        f"(?P<{piece}>{_DIRECTIVES[piece]})" if place % 2 else re.escape(piece) for place, piece in enumerate(pieces)
    )


def pattern_of(form: str) -> str | None:
    """Return an expression of RE2 for texts of a form of `strptime`, all of which are read if they are of the calendar.

    None: there is none.
    """
    pattern = _pattern(form)
    return None if pattern is None else f" *{pattern.replace(_DIRECTIVES['Y'], '[1-9][0-9]{3}')} *"


def _iso(part: Mapping[str, pa.Array]) -> pa.Array:
    """Return the parts of moments as ISO 8601."""
    year = part.get("Y")
    if year is None:
        century = pc.if_else(pc.greater(part["y"], "68"), "19", "20")
        year = pc.binary_join_element_wise(century, part["y"], "")
    day = pc.binary_join_element_wise(year, _two(part["m"]), _two(part["d"]), "-")
    hour = part.get("H")
    if "I" in part:
        twelve = pc.if_else(pc.equal(part["I"].cast(pa.int64()), 12), 0, part["I"].cast(pa.int64()))
        after_noon = pc.if_else(pc.equal(pc.utf8_upper(part["p"]), "PM"), 12, 0)
        hour = pc.add(twelve, after_noon).cast(pa.string())
    clock = [_two(one) if one is not None else "00" for one in (hour, part.get("M"), part.get("S"))]
    moment = pc.binary_join_element_wise(day, pc.binary_join_element_wise(*clock, ":"), "T")
    if "f" in part:
        moment = pc.binary_join_element_wise(moment, pc.utf8_rpad(part["f"], 6, "0"), ".")
    return pc.binary_join_element_wise(moment, "Z", "")


def _two(digits: pa.Array) -> pa.Array:
    return pc.utf8_lpad(digits, 2, "0")


def _with_zone(texts: pa.Array) -> pa.Array:
    """Return moments of ISO 8601 with their zone, to the microsecond; a naive one is in UTC, a day at midnight."""
    short = pc.replace_substring_regex(pc.utf8_upper(texts), pattern=r"(\.[0-9]{6})[0-9]+", replacement=r"\1")
    zoned = pc.replace_substring_regex(short, pattern=" (Z|[+-])", replacement=r"\1")
    length = pc.utf8_length(zoned)
    is_naive = pc.invert(pc.match_substring_regex(pc.utf8_slice_codeunits(zoned, 10), r"[Z+-]"))
    full = pc.if_else(pc.equal(length, 10), pc.binary_join_element_wise(zoned, "T00:00", ""), zoned)
    return pc.if_else(is_naive, pc.binary_join_element_wise(full, "Z", ""), full)


def _as_moments(texts: pa.Array) -> pa.Array | None:
    try:
        return within_years(texts.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us")))
    except pa.ArrowInvalid:
        return None


def _by_strptime(texts: pa.Array, form: str) -> pa.Array | None:
    """Read each different text by Python's own reader."""
    read: dict[str, datetime | None] = {}
    for text in pc.unique(texts.drop_null()).to_pylist():
        try:
            read[text] = _in_utc(datetime.strptime(text, form))  # noqa: DTZ007 - naive is UTC
        except (ValueError, OverflowError, re.error):  # re.error: a form that names something twice
            return None
    return pa.array([None if text is None else read[text] for text in texts.to_pylist()], pa.timestamp("us"))


def _in_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def within_years(found: pa.Array) -> pa.Array | None:
    """Return days or moments, all of them in the years 1 to 9999; None otherwise."""
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


def doubt_of(column: str, form: str, others: Sequence[str]) -> str:
    """Return which number of the dates of a column is read as the day, and how to say that it is another one."""
    first, *other_parts = (_FIRST_PARTS[one[1]] for one in (form, *others))
    *before, last = (f"{part}s" for part in (first, *other_parts))
    alternatives = "; ".join(
        f"if it is the {part}, give date_format={other!r}" for part, other in zip(other_parts, others, strict=True)
    )
    return (
        f"column {column}: no date tells {', '.join(before)} and {last} apart; the first number is read as the "
        f"{first}; {alternatives}, as the dates are written"
    )

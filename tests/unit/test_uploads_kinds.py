"""What texts of a file are: compared with Python's own readers, in parts and at once, and with what was refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from itertools import product
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.files.dates import ISO
from analytics_core._engine.files.kinds import ColumnType, SeenTexts, TextReader, parse_type
from analytics_core.errors import FileUploadError

TEXTS = st.one_of(
    st.sampled_from(
        [
            *("0", "-0", "00", "+1", "-1", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1_0"),
            *("1.5", ".5", "-.5", "1.", "1e3", "1E-3", "1e999", "1e400", "nan", "inf", "Infinity", "0x1F", "1,5", "٣"),
            *(
                "1439403621518935563",
                "1" * 38,
                "1" * 39,
                "1" * 38 + "2",
                "0." + "1" * 38,
                "true",
                "FALSE",
                "yes",
                "t",
                "null",
            ),
            *(" 1", "1 ", "1\n", "-", "."),
            *("2024-01-31", "2024-02-30", "0000-01-01", "9999-12-31", "2024-1-1", "20240131", "2024-01-31T10:00"),
            *("2024-01-31 10:00:00.25", "2024-01-31T10:00:00Z", "2024-01-31T10:00:00+02:00", "2024-01-31T25:00"),
            *("31.01.2024", "1.2.2024", "13.02.24", "02/13/24", "02/02/24", "24-2-13", "2024/1/5", "1.2.2024 9:05 pm"),
            *(" 1.50", "2.250 ", " 2024-01-31 "),
            *("0001-01-01T00:00+02:00", "2024-01-31 10:00 +0200", "10:00", "x"),
        ]
    ),
    st.integers().map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-1000, max_value=1000).map(str),
    st.floats().map(str),
    st.dates().map(str),
    st.datetimes().map(str),
    st.text(max_size=5),
)
ALIKE = (
    st.integers(-(10**19), 10**19).map(str),
    st.integers(-(10**19), 10**19).map(" {} ".format),
    st.decimals(-(10**9), 10**9, places=2).map(str),
    st.tuples(st.integers(-(10**20), 10**20), st.integers(0, 10**4)).map("{0[0]}.{0[1]}".format),
    st.floats(allow_nan=False).map(repr),
    st.booleans().map(str),
    st.dates(),
    st.datetimes().map(str),
    st.datetimes(timezones=st.timezones()).map(str),
    st.dates().map("{:%d.%m.%Y}".format),
    st.datetimes().map("{:%m/%d/%y %I:%M %p}".format),
    st.text(max_size=5),
)
"""Of one kind each."""

COLUMNS = st.lists(st.one_of(st.none(), TEXTS), min_size=1, max_size=6)


def texts(values: Sequence[str | None]) -> pa.Array:
    return pa.array(values, pa.string())


def value_of(text: str, kind: ValueKind) -> Any:
    """Return a text as Python reads it; None where it is none of the kind, or written as people write codes."""
    text = text if kind is ValueKind.BOOLEAN else text.strip(" ")
    number = re.fullmatch(r"-?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?", text, re.ASCII)
    try:
        if kind is ValueKind.BOOLEAN:
            return {"true": True, "false": False}.get(text.lower()) if text.isascii() else None
        if kind is ValueKind.DATE:
            return date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII) else None
        if kind is ValueKind.TIMESTAMP:
            return moment_of(text)
        if kind is ValueKind.FLOAT and re.fullmatch(r"-?(nan|inf|infinity)", text, re.IGNORECASE | re.ASCII):
            return float(text)
        if number is None or not any(letter.isdigit() for letter in text.lower().partition("e")[0]):
            return None
        if kind is ValueKind.INTEGER:
            found = int(text)
            return found if -(2**63) <= found < 2**63 else None
        if kind is ValueKind.DECIMAL:
            return Decimal(text) if "e" not in text.lower() and not text.endswith(".") else None
        double = float(text)
    except ValueError:
        return None
    return double if abs(double) < float("inf") else None


def moment_of(text: str) -> datetime | None:
    shape = r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?( ?([Zz]|[+-]\d\d(:?\d\d)?))?)?"
    if not re.fullmatch(shape, text, re.ASCII):
        return None
    found = datetime.fromisoformat(text.upper().replace(" +", "+").replace(" -", "-").replace(" Z", "Z"))
    try:
        return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        return None


def is_rounded(text: str) -> bool:
    """Tell whether a number without exponent loses digits before the point as a double."""
    parts = re.fullmatch(r" *(-?[0-9]*)([.][0-9]*)? *", text)
    return parts is not None and parts[1] not in ("", "-") and (len(parts[1]) > 38 or float(parts[1]) != int(parts[1]))


@for_each("kind", [ValueKind.BOOLEAN, ValueKind.INTEGER, ValueKind.FLOAT, ValueKind.DATE, ValueKind.TIMESTAMP])
@given(text=TEXTS)
def test_a_text_is_the_value_that_python_reads_or_is_refused(kind: ValueKind, text: str) -> None:
    wanted = value_of(text, kind)
    read = partial(TextReader().values, texts([text]), ColumnType(kind=kind), rows=[7], column="c")
    if wanted is not None:
        assert repr(read().to_pylist()[0]).lstrip("-") == repr(wanted).lstrip("-")  # NaN is not equal to itself
        return
    with pytest.raises(FileUploadError) as caught:
        read()
    assert caught.value.extra == {"row": 7, "column": "c"}


@given(values=COLUMNS)
def test_the_type_of_a_column_is_the_narrowest_that_holds_all_its_values(values: list[str | None]) -> None:
    found = TextReader().seen(SeenTexts(), texts(values)).type()
    there = [value for value in values if value is not None]
    kinds = (
        ValueKind.BOOLEAN,
        ValueKind.INTEGER,
        ValueKind.DECIMAL,
        ValueKind.FLOAT,
        ValueKind.DATE,
        ValueKind.TIMESTAMP,
    )
    fitting = [kind for kind in kinds if all(value_of(value, kind) is not None for value in there)]
    if ValueKind.DECIMAL in fitting and there:
        parts = [value.lstrip("-").partition(".") for value in there]
        if max(len(integer) for integer, _, _ in parts) + max(len(rest) for _, _, rest in parts) > 38:
            fitting.remove(ValueKind.DECIMAL)
    if ValueKind.FLOAT in fitting and any(map(is_rounded, there)):
        fitting.remove(ValueKind.FLOAT)
    if not fitting and there:
        fitting = [ValueKind.TIMESTAMP if ":" in there[0] else ValueKind.DATE for _ in forms_of(there)]
    assert found.kind is (fitting[0] if fitting and there else ValueKind.TEXT)


@given(values=COLUMNS)
def test_dates_of_other_forms_are_read_as_python_reads_them_with_the_day_first(values: list[str | None]) -> None:
    seen = TextReader().seen(SeenTexts(), texts(values))
    found, there = seen.type(), [value.strip(" ") for value in values if value is not None]
    forms = forms_of(there)
    if found.form in (None, ISO) or not forms:
        return
    ways = [[datetime.strptime(value, form) for value in there] for form in forms]
    read = TextReader().values(texts(there), found, rows=range(len(there)), column="c").to_pylist()
    assert [datetime(*value.timetuple()[:6]) for value in read] == [way.replace(microsecond=0) for way in ways[0]]
    assert bool(seen.notes("'c'", TextReader())) == any(way != ways[0] for way in ways)


def forms_of(there: list[str]) -> list[str]:
    """Return the forms of `strptime` in which all texts are written, the day first, then the month, then the year."""
    found = []
    for order, between, clock in product(("dmY", "mdY", "Ymd", "dmy", "mdy", "ymd"), "/-. ", CLOCKS):
        form = between.join(f"%{part}" for part in order) + clock
        years = r"\d{4}" if "Y" in order else r"\d{1,2}"
        parts = [years if part in "Yy" else r"\d{1,2}" for part in order]
        shape = " *" + re.escape(between).join(parts) + r"(\D.*)?"
        try:
            for text in there:
                datetime.strptime(text.strip(" "), form)
        except ValueError:
            continue
        if all(re.fullmatch(shape, text, re.ASCII) for text in there):
            found.append(form)
    return found


CLOCKS = [
    "",
    *(
        f"{before}{clock}"
        for before in " T"
        for clock in ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p")
    ),
]


@given(values=COLUMNS, cut=st.integers(0, 6))
def test_a_column_is_of_one_type_however_its_file_is_cut_into_batches(values: list[str | None], cut: int) -> None:
    reader = TextReader()
    once = reader.seen(SeenTexts(), texts(values))
    cut_up = reader.seen(reader.seen(SeenTexts(), texts(values[:cut])), texts(values[cut:]))
    assert cut_up.type() == once.type()
    assert cut_up.notes("'c'", reader) == once.notes("'c'", reader)


@given(data=st.data(), kind=st.sampled_from(ALIKE))
def test_texts_that_are_alike_change_neither_the_type_of_a_column_nor_its_notes(data: st.DataObject, kind: Any) -> None:
    reader = TextReader()
    of_kind = st.lists(kind.map(str), min_size=1, max_size=4)
    known = reader.seen(SeenTexts(), texts(data.draw(of_kind)))
    more = data.draw(of_kind | st.lists(TEXTS, max_size=3))
    found, pattern = known.type(), reader.alike(known)
    alike = [text for text in more if known.is_text or (pattern and is_like(pattern, text))]
    if found.form not in (None, ISO):
        alike = [text for text in alike if forms_of([text])]  # of the calendar
    after = reader.seen(known, texts(alike))
    assert after.notes("'c'", reader) == known.notes("'c'", reader)
    if found.kind is ValueKind.DECIMAL and found.precision <= 18:
        assert after.type().precision <= 18
        found = replace(found, integer_digits=after.integer_digits)
    assert after.type() == found


def is_like(pattern: str, text: str) -> bool:
    return bool(pc.match_substring_regex(texts([text]), rf"\A(?:{pattern})\z")[0].as_py())


@given(values=COLUMNS)
def test_the_values_of_a_column_fit_the_type_that_was_found_for_it(values: list[str | None]) -> None:
    reader = TextReader()
    found = reader.seen(SeenTexts(), texts(values)).type()
    if any("\0" in value for value in values if value):
        return
    read = reader.values(texts(values), found, rows=range(len(values)), column="c").to_pylist()
    assert [value is None for value in read] == [value is None for value in values]


@for_each(
    ("text", "known"),
    [
        ("integer", "INTEGER"), (" Text ", "TEXT"), ("DECIMAL(10,2)", "DECIMAL(10,2)"),
        ("decimal(38, 38)", "DECIMAL(38,38)"),
        ("DECIMAL(39,1)", None), ("DECIMAL(2,3)", None), ("DECIMAL(0,0)", None), ("DECIMAL", None),
        ("VARCHAR", None), ("", None),
    ],
)  # fmt: skip
def test_types_are_read_as_they_are_told(text: str, known: str | None) -> None:
    found = parse_type(text)
    assert (None if found is None else str(found)) == known

"""Formats of text columns: which are read, how they round, and which are refused with what would work."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each
from tests.support.engine_bench import column

from analytics_core._engine.engines.operators import escaped_like, glob
from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.engines.types import TimeEncoding, TimeFormat, ValueKind, parse_format
from analytics_core.errors import UnsupportedByEngineError

REGISTRY = installed_engines(())
SORTING = ["%Y", "%Y-%m", "%Y%m%d", "%Y-%m-%d %H", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S.%f"]


@for_each("source", SORTING)
@given(moment=st.datetimes())
def test_written_moments_read_back_as_their_floor(source: str, moment: datetime) -> None:
    parsed = parse_format(source)
    written = parsed.write(moment)
    assert datetime.strptime(written, source) == parsed.floor(moment)


@for_each("source", SORTING)
@given(first=st.datetimes(), second=st.datetimes())
def test_texts_of_sorting_formats_sort_as_their_moments(source: str, first: datetime, second: datetime) -> None:
    parsed = parse_format(source)
    assert parsed.sorts_as_time
    assert (parsed.write(first) < parsed.write(second)) == (parsed.floor(first) < parsed.floor(second))


@for_each("source", SORTING)
@given(moment=st.datetimes(max_value=datetime(9998, 1, 1)))
def test_rounding_up_is_the_least_moment_not_before(source: str, moment: datetime) -> None:
    parsed = parse_format(source)
    ceiled = parsed.ceil(moment)
    assert ceiled is not None
    assert ceiled >= moment
    assert parsed.floor(ceiled) == ceiled
    assert ceiled == moment or parsed.floor(ceiled - timedelta(microseconds=1)) < moment


def test_names_of_months_and_halves_of_days_are_read_by_engines_with_a_parser() -> None:
    for source in ("%d %b %Y", "%d %B %Y", "%Y-%m-%d %I:%M:%S %p"):
        assert parse_format(source).source == source
    for letter in "aAcdfHjmMSuUwWxXyzZ":
        source = f"%Y %{letter}"
        if letter in "dfHmMS":
            assert parse_format(source).directives == ("Y", letter)
        else:
            with pytest.raises(UnsupportedByEngineError, match=f"%{letter}, .* these work: .*%B, %I, %b, %p$"):
                parse_format(source)


def test_rounding_up_beyond_the_calendar_is_none() -> None:
    assert parse_format("%Y").ceil(datetime(9999, 2, 1)) is None


@for_each("source", ["%d/%m/%Y", "%Y-%d-%m", "%m%Y", "%Y %b", "%Y-%m-%d %M"])
def test_other_orders_do_not_sort_as_time(source: str) -> None:
    assert not parse_format(source).sorts_as_time


@for_each("source", ["%y-%m-%d", "%H:%M", "%Y%Y", "%s", "%Y-%m-%d %Z", "", "no directive", "%Y %A", "%"])
@for_each("name", REGISTRY.names())
def test_formats_that_engines_read_differently_are_refused_on_all(name: str, source: str) -> None:
    spec = REGISTRY.get(name)
    written = TimeFormat(encoding=TimeEncoding.TEXT, strftime=source, value_kind=ValueKind.TEXT)
    with pytest.raises(UnsupportedByEngineError):
        spec.moment(column("c"), written)
    with pytest.raises(UnsupportedByEngineError):
        spec.time_bound(column("c"), written, datetime(2024, 1, 31))


@for_each("source", ["%d%m%Y", "%Y-%m", "%b%Y"])
@for_each("name", REGISTRY.names())
def test_numbers_are_dates_only_when_they_begin_with_the_year_and_are_all_digits(name: str, source: str) -> None:
    written = TimeFormat(encoding=TimeEncoding.TEXT, strftime=source, value_kind=ValueKind.INTEGER)
    with pytest.raises(UnsupportedByEngineError, match=r"numbers|by position"):
        REGISTRY.get(name).time_bound(column("c"), written, datetime(2024, 1, 31))


def test_sqlite_names_the_formats_that_it_reads() -> None:
    written = TimeFormat(encoding=TimeEncoding.TEXT, strftime="%d %b %Y", value_kind=ValueKind.TEXT)
    with pytest.raises(UnsupportedByEngineError, match=r"SQLite reads dates from text by position only.*%Y, %m, %d"):
        REGISTRY.get("sqlite").moment(column("c"), written)


def test_literal_percent_signs_and_quotes_of_a_format_stand_for_themselves() -> None:
    written = TimeFormat(encoding=TimeEncoding.TEXT, strftime='\'%%%Y"at"%m', value_kind=ValueKind.TEXT)
    sql = {
        name: REGISTRY.get(name).moment(column("c"), written).sql(REGISTRY.get(name).dialect)
        for name in ("postgresql", "mysql")
    }
    assert sql["postgresql"] == 'CAST(TO_DATE("c", \'\'\'%YYYY"\\"at\\""MM\') AS TIMESTAMP)'
    assert "'''%%%Y\"at\"%m %d'" in sql["mysql"]


@given(text=st.text())
def test_escaped_text_without_wild_characters_matches_itself_only(text: str) -> None:
    pattern = "".join("\\" + char for char in text)
    unescaped, rest = "", escaped_like(pattern)
    while rest:
        if rest[0] == "!":
            rest = rest[1:]
        unescaped, rest = unescaped + rest[0], rest[1:]
    assert unescaped == text


@given(text=st.text(alphabet="a*?[]!%_\\", max_size=6))
def test_glob_of_escaped_text_matches_in_sqlite(text: str) -> None:
    pattern = "".join("\\" + char for char in text)
    connection = sqlite3.connect(":memory:")
    assert connection.execute("SELECT ? GLOB ?", (text, glob(pattern))).fetchone() == (1,)
    connection.close()

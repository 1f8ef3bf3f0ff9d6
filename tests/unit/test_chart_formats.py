"""Formats of charts: as d3 itself (by Vega, `format` and `utcFormat`) wrote the same values, and named formats."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each

from analytics_core._tools.formats import Currency, format_number, format_time, parse_currency
from analytics_core._tools.formats.numbers import NAMED_FORMATS
from analytics_core.errors.base import short_repr

NUMBERS_OF_D3: Final[tuple[tuple[float, str, str], ...]] = (
    (1234.5, ",.2f", "1,234.50"),
    (1.005, ".2f", "1.00"),
    (2.5, ".0f", "3"),
    (-2.5, ".0f", "-3"),
    (-0.0004, ".2f", "0.00"),
    (-0.0004, "+.2f", "-0.00"),
    (1234567.891, "+,.1f", "+1,234,567.9"),
    (-1234.5, "(,.1f", "(1,234.5)"),
    (1234.5, "$,.0f", "$1,235"),
    (-1234.5, "($,.2f", "($1,234.50)"),
    (0.256, ".1%", "25.6%"),
    (0.285, ".0%", "28%"),
    (-0.5, ".2~%", "-50%"),
    (12345, ",d", "12,345"),
    (-7, " d", "-7"),
    (7, " d", " 7"),
    (42, "010,d", "00,000,042"),
    (1234567, "012,.1f", "01,234,567.0"),
    (5, "*^9d", "****5****"),
    (5, "<4d", "5   "),
    (5, "=+6d", "+    5"),
    (-5, "_=6d", "-____5"),
    (0.00012, ".2s", "120µ"),
    (42000000.0, ".3s", "42.0M"),
    (42000000.0, ".3~s", "42M"),
    (999999, ".3s", "1.00M"),
    (0, ".3s", "0.00"),
    (1e-25, ".2s", "0.1y"),
    (1e26, ".3s", "100Y"),
    (1234.5678, "", "1234.5678"),
    (0.1, "", "0.1"),
    (1e21, "", "1e+21"),
    (1234567, "n", "1.23457e+6"),
    (1e-07, "g", "1.00000e-7"),
    (123456.789, ".4g", "1.235e+5"),
    (1000000000000000.0, "e", "1.000000e+15"),
    (0.5, ".2e", "5.00e-1"),
    (0.98765, ".3p", "98.8%"),
    (123456, ".2r", "120000"),
    (0.000123, ".2r", "0.00012"),
    (255, "x", "ff"),
    (255, "#X", "0xFF"),
    (255, "#b", "0b11111111"),
    (8, "o", "10"),
    (1e21, ",.2f", "1e+21"),
    (1.5, "c", "1.5"),
    (9.995, ".3~r", "9.99"),
)

MOMENTS_OF_D3: Final[tuple[tuple[int, str, str], ...]] = (
    (1741075509087, "%Y-%m-%d", "2025-03-04"),
    (1741075509087, "%d.%m.%y", "04.03.25"),
    (1741075509087, "%-d %b %Y", "4 Mar 2025"),
    (1741075509087, "%e", " 4"),
    (1741075509087, "%_H:%M", " 8:05"),
    (1741075509087, "%I:%M %p", "08:05 AM"),
    (1741075509087, "%a %A", "Tue Tuesday"),
    (1741075509087, "%B", "March"),
    (1741075509087, "%j", "063"),
    (1741075509087, "%U %W %V", "09 09 10"),
    (1741075509087, "%G-%g", "2025-25"),
    (1741075509087, "%u %w", "2 2"),
    (1741075509087, "%q", "1"),
    (1741075509087, "%L %f", "087 087000"),
    (1741075509087, "%s", "1741075509"),
    (1741075509087, "%Q", "1741075509087"),
    (1741075509087, "%x", "3/4/2025"),
    (1741075509087, "%X", "8:05:09 AM"),
    (1741075509087, "%c", "3/4/2025, 8:05:09 AM"),
    (1741075509087, "%Z", "+0000"),
    (1741075509087, "100%%", "100%"),
    (1741075509087, "%k", "k"),
    (1741075509087, "%0e", "04"),
    (1741075509087, "%H:%M:%S", "08:05:09"),
    (-34513200000, "%Y-%m-%d", "1968-11-27"),
    (-34513200000, "%d.%m.%y", "27.11.68"),
    (-34513200000, "%-d %b %Y", "27 Nov 1968"),
    (-34513200000, "%e", "27"),
    (-34513200000, "%_H:%M", "13:00"),
    (-34513200000, "%I:%M %p", "01:00 PM"),
    (-34513200000, "%a %A", "Wed Wednesday"),
    (-34513200000, "%B", "November"),
    (-34513200000, "%j", "332"),
    (-34513200000, "%U %W %V", "47 48 48"),
    (-34513200000, "%G-%g", "1968-68"),
    (-34513200000, "%u %w", "3 3"),
    (-34513200000, "%q", "4"),
    (-34513200000, "%L %f", "000 000000"),
    (-34513200000, "%s", "-34513200"),
    (-34513200000, "%Q", "-34513200000"),
    (-34513200000, "%x", "11/27/1968"),
    (-34513200000, "%X", "1:00:00 PM"),
    (-34513200000, "%c", "11/27/1968, 1:00:00 PM"),
    (-34513200000, "%Z", "+0000"),
    (-34513200000, "100%%", "100%"),
    (-34513200000, "%k", "k"),
    (-34513200000, "%0e", "27"),
    (-34513200000, "%H:%M:%S", "13:00:00"),
)


@for_each(("value", "spec", "text"), NUMBERS_OF_D3)
def test_number_reads_as_d3_writes_it(value: float, spec: str, text: str) -> None:
    assert format_number(value, spec) == text


@for_each(("value", "spec", "text"), MOMENTS_OF_D3)
def test_moment_reads_as_d3_writes_it(value: int, spec: str, text: str) -> None:
    assert format_time(value, spec) == text


@for_each(
    ("value", "name", "text"),
    [
        (0, "SMART_NUMBER", "0"),
        (12_345_678, "SMART_NUMBER", "12.3M"),
        (1_500_000_000, "SMART_NUMBER", "1.5B"),
        (-4_567, "SMART_NUMBER", "-4.57k"),
        (2.345, "SMART_NUMBER", "2.35"),
        (0.1234567, "SMART_NUMBER", "0.1235"),
        (0.00001234, "SMART_NUMBER", "12.3µ"),
        (12, "SMART_NUMBER_SIGNED", "+12"),
        (-12, "SMART_NUMBER_SIGNED", "-12"),
        (66_000, "DURATION", "1m 6s"),
        (59_999.99, "DURATION", "1m"),
        (500, "DURATION", "500ms"),
        (1_337_000_500, "DURATION", "15d 11h 23m 20.5s"),
        (1.40008, "DURATION_SUB", "1ms 400µs 80ns"),
        (10_500, "DURATION_COL", "0:10.5"),
        (3_723_000, "DURATION_COL", "1:02:03"),
        (1024, "MEMORY_DECIMAL", "1.02kB"),
        (1024, "MEMORY_BINARY", "1KiB"),
        (5_000_000, "MEMORY_TRANSFER_RATE_DECIMAL", "5MB/s"),
    ],
)
def test_named_format_reads_as_people_write_it(value: float, name: str, text: str) -> None:
    assert format_number(value, name) == text


def test_decimals_and_large_integers_keep_all_their_digits() -> None:
    assert format_number(Decimal("12345678901234567890.125"), ",.3f") == "12,345,678,901,234,567,890.125"
    assert format_number(2**70, "d") == str(2**70)


@for_each("spec", [",.2f", "d", ".3~s", ".1%", *NAMED_FORMATS])
@for_each(
    ("value", "text"),
    [
        (None, ""),
        (True, "True"),
        ("ten", "ten"),
        (float("nan"), "NaN"),
        (Decimal("sNaN"), "NaN"),
        (float("-inf"), "-Infinity"),
        (Decimal("1E+999999"), "Infinity"),
        (10**400, "Infinity"),
    ],
)
def test_what_is_no_number_of_a_double_is_told_in_words(value: Any, text: str, spec: str) -> None:
    assert format_number(value, spec) == text


@for_each("spec", ["words", ",.2k", "99999d", ".-1f", "SMART_number"])
def test_unknown_format_is_told_with_those_that_work(spec: str) -> None:
    with pytest.raises(ValueError, match="is no number format; give one of d3"):
        format_number(1, spec)


@pytest.mark.parametrize(
    ("given_currency", "text"),
    [
        ({"symbol": "EUR", "symbolPosition": "suffix"}, "1,234.50 €"),
        ('{"symbol": "USD", "symbolPosition": "prefix"}', "$ 1,234.50"),
        ({"symbol": "CHF"}, "CHF 1,234.50"),
    ],
)
def test_currency_stands_where_it_says_in_place_of_the_dollar(given_currency: Any, text: str) -> None:
    assert format_number(1234.5, "$,.2f", currency=parse_currency(given_currency)) == text


@for_each("nothing", [None, "", "USD", "[1]", "{", {}, {"symbol": ""}, {"symbol": 3}, {"symbol": "AUTO"}, 7])
def test_what_names_no_currency_is_none(nothing: Any) -> None:
    assert parse_currency(nothing) is None


def test_percent_of_an_amount_is_the_amount() -> None:
    assert format_number(12.3, ".1%", currency=Currency(symbol="€", is_behind=True)) == "12.3 €"


@given(st.integers(min_value=-(10**30), max_value=10**30))
def test_whole_number_with_commas_reads_back(number: int) -> None:
    assert int(format_number(number, ",d").replace(",", "")) == number


@given(st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=6) | st.sampled_from(tuple(NAMED_FORMATS)))
def test_any_format_of_any_double_is_a_text_or_a_told_error(number: float, spec: str) -> None:
    try:
        text = format_number(number, spec)
    except ValueError as error:
        text = str(error)
        is_expected = text.startswith(f"{short_repr(spec)} is no number format; give one of d3")
    else:
        is_expected = isinstance(text, str)
    assert text
    assert is_expected


@for_each(
    ("value", "text"),
    [
        (datetime(2025, 1, 1, tzinfo=UTC), "2025"),
        (datetime(2025, 3, 1, tzinfo=UTC), "March"),
        (datetime(2025, 3, 3, tzinfo=UTC), "Mon 03"),
        (datetime(2025, 3, 2, tzinfo=UTC), "Mar 02"),
        (datetime(2025, 3, 3, 9, tzinfo=UTC), "09 AM"),
        (datetime(2025, 3, 3, 9, 30, tzinfo=UTC), "09:30"),
        (datetime(2025, 3, 3, 9, 30, 5, tzinfo=UTC), ":05"),
        (datetime(2025, 3, 3, 9, 30, 5, 7_000, tzinfo=UTC), ".007"),
    ],
)
def test_smart_date_tells_a_moment_from_its_neighbours(value: datetime, text: str) -> None:
    assert format_time(value, "smart_date") == text


@for_each(
    ("value", "text"),
    [
        (date(2025, 3, 3), "2025-03-03 00"),
        (datetime(2025, 3, 3, 9), "2025-03-03 09"),
        (datetime(2025, 3, 3, 1, tzinfo=timezone(timedelta(hours=2))), "2025-03-02 23"),
        (None, ""),
        ("soon", "soon"),
        (True, "True"),
        (10**30, str(10**30)),
    ],
)
def test_moments_are_in_utc_and_what_is_none_is_its_text(value: Any, text: str) -> None:
    assert format_time(value, "%Y-%m-%d %H") == text

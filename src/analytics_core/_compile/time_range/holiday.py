"""Holidays by name, from the optional package `holidays`."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

from analytics_core._compile.time_range.refusal import shown
from analytics_core.errors import MissingExtraError, TimeRangeError, nearest

DEFAULT_COUNTRY = "US"
_FIRST_YEAR, _LAST_YEAR = 1900, 2100  # outside, the rules of most countries say nothing


def find_holiday(name: str, *, year: int, country: str) -> datetime:
    """Return midnight (UTC) of the first holiday of the year whose name starts with `name`, case ignored.

    Days on which a holiday is observed instead do not count. Names are the country's own or English.

    Raises:
        TimeRangeError: no such country, no such holiday in that year, or a year outside 1900 to 2100.
        MissingExtraError: the package `holidays` is not installed.
    """
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        raise TimeRangeError(f"HOLIDAY knows the years {_FIRST_YEAR} to {_LAST_YEAR}, not {year}")
    days = _holidays_of(_country_name(country), year)
    prefix = name.casefold()
    found = [day for day, known in days if known.casefold().startswith(prefix)] if prefix else []
    if not found:
        names = tuple(known for _, known in days)
        listed = ", ".join(nearest(name, names, most=3) or dict.fromkeys(names)) or "none"
        raise TimeRangeError(f"there is no holiday {shown(name)} in {country} in {year}; it has: {listed}")
    return datetime.combine(min(found), time(), tzinfo=UTC)


def _holidays_of(country: str, year: int) -> list[tuple[date, str]]:
    """Return the country's days and names, in its own language and in English.

    Languages are always named: without one, the package takes that of the process's environment.
    """
    from holidays import country_holidays

    known = country_holidays(country)
    languages = dict.fromkeys(one for one in (known.default_language, "en_US") if one in known.supported_languages)
    calendars = (country_holidays(country, years=year, observed=False, language=one) for one in languages or (None,))
    return [
        (day, name.strip()) for calendar in calendars for day, names in calendar.items() for name in names.split(";")
    ]


def _country_name(country: str) -> str:
    """Return the package's name for a country given by code (`DE`, `DEU`) or name (`Germany`, `United States`)."""
    try:
        from holidays.registry import COUNTRIES
    except ImportError:
        raise MissingExtraError(needed_for="HOLIDAY(...) in a time range", extra_name="holidays") from None
    known = {name.casefold(): name for names in COUNTRIES.values() for name in names}
    wanted = "".join(country.split()).casefold()
    if wanted not in known:
        near = nearest(wanted, known.values(), most=3)
        hint = f"did you mean {', '.join(near)}?" if near else "write its ISO code, for example 'US' or 'DE'"
        raise TimeRangeError(f"HOLIDAY knows no country {shown(country)}; {hint}")
    return known[wanted]

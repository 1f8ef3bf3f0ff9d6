"""Hypothesis strategies for time texts, built along the grammar, and for moments."""

from datetime import UTC, datetime

from hypothesis import strategies as st

from analytics_core._engine.compile.calendar import CalendarUnit

UNITS = st.sampled_from(tuple(CalendarUnit))
LONG_UNITS = st.sampled_from([unit for unit in CalendarUnit if not unit.is_clock])

moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))
present = st.datetimes(datetime(1950, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))


def unit_words(units=UNITS):
    return st.builds(lambda unit, plural: unit.value + plural, units, st.sampled_from(["", "s"]))


counts = st.integers(0, 400).map(str)
scopes = st.sampled_from(["last", "next", "prior"])
scoped = st.one_of(
    st.builds("{} {}".format, st.sampled_from(["this", "last", "next", "prior"]), unit_words()),
    st.builds("{} {} {}".format, scopes, counts, unit_words()),
)
long_scoped = st.builds("{} {}".format, st.sampled_from(["this", "last", "the", "next 2"]), unit_words(LONG_UNITS))

iso_days = st.dates(datetime(1900, 1, 1).date(), datetime(2200, 1, 1).date()).map(str)
iso_texts = st.one_of(
    iso_days,
    moments.map(lambda moment: moment.isoformat()),
    moments.map(lambda moment: moment.isoformat(" ") + "Z"),
    moments.map(lambda moment: moment.replace(microsecond=0).isoformat() + "+05:30"),
    st.integers(1900, 2200).map(str),
    moments.map(lambda moment: f"{moment:%Y-%m}"),
    moments.map(lambda moment: f"{moment:%G-W%V}"),
)
deltas = st.builds(
    "{} {}{}".format, counts, unit_words(), st.sampled_from(["", " ago", " later", " from now"])
)  # fmt: skip
plain_moments = st.one_of(
    iso_texts,
    deltas,
    scoped,
    st.sampled_from(["now", "today", "yesterday", "tomorrow"]),
    st.builds("{} of {}".format, st.sampled_from(["start", "beginning", "first", "1st day"]), scoped),
    st.builds("end of {}".format, long_scoped),
)


def _calls(inner):
    count = st.one_of(
        st.integers(-400, 400).map(str), st.builds("DATEDIFF({}, {}, {})".format, iso_days, iso_days, LONG_UNITS)
    )
    return st.one_of(
        st.builds("DATEADD({}, {}, {})".format, inner, count, LONG_UNITS),
        st.builds("DATETRUNC({}, {})".format, inner, UNITS),
        st.builds("LASTDAY({}, {})".format, inner, LONG_UNITS),
        st.builds("DATETIME({})".format, inner),
    )


sides = st.recursive(plain_moments, _calls, max_leaves=3)
between = st.builds("{} {} {}".format, st.one_of(st.just(""), sides), st.just(":"), st.one_of(st.just(""), sides))
relative_ranges = st.one_of(
    st.builds("{} {} {}".format, scopes.map(str.title), counts, unit_words()),
    st.builds("{} {}".format, st.sampled_from(["previous calendar", "current", "Last", "Next"]), unit_words()),
    st.builds("first {} of {}".format, unit_words(), scoped),
)
alone = st.one_of(
    iso_days, moments.map(lambda moment: f"{moment:%Y-%m}"), deltas, scoped, st.sampled_from(["today", "yesterday"])
)
ranges = st.one_of(between, relative_ranges, alone, st.just("No filter"))

_WORDS = (
    "last next this of the first 1st start end no filter ago from now later previous calendar current day weeks month"
)
_PIECES = "7 2020 - + : , ( ) ' \" 2020-01-01 2020-02-30 2020-W53 T10:00 Z DATEADD( DATETIME('now') LASTDAY( DATEDIFF("
fragments = st.sampled_from([*_WORDS.split(), *_PIECES.split()])
nearly = st.one_of(
    st.lists(fragments, max_size=12).map(" ".join), st.lists(fragments, max_size=12).map("".join), st.text(max_size=80)
)

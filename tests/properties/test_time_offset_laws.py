"""Laws of time offsets and of buckets in plain Python."""

from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each
from tests.support.time_texts import counts, iso_days, moments, nearly, unit_words

from analytics_core._engine.compile.calendar import CalendarUnit, add_units, last_day_of, start_of, truncate
from analytics_core._engine.compile.time_offset import parse_time_offset
from analytics_core.errors import TimeOffsetError
from analytics_core.models.enums import TimeGrain

offsets = st.one_of(
    st.builds("{} {}{}".format, counts, unit_words(), st.sampled_from(["", " ago", " later"])),
    st.sampled_from(["inherit", "y", "m", "w", "r"]),
    iso_days,
)
exact_offsets = st.one_of(
    st.builds(
        "{} {}{}".format,
        counts,
        st.sampled_from(["second", "minutes", "hours", "days", "week"]),
        st.sampled_from(["", " ago", " later"]),
    ),
    st.just("inherit"),
    iso_days,
)
enclosed = st.tuples(moments, moments).map(sorted)
LONGEST_BUCKET = timedelta(days=366)


@given(nearly)
def test_any_text_is_an_offset_or_refused(text):
    try:
        parse_time_offset(text)
    except TimeOffsetError:
        return


@given(offsets, enclosed)
def test_compared_range_keeps_its_order(text, bounds):
    since, until = parse_time_offset(text).shifted(*bounds)
    assert since <= until


@given(exact_offsets, enclosed)
def test_compared_range_of_a_fixed_shift_is_as_long_as_the_main_one(text, bounds):
    since, until = parse_time_offset(text).shifted(*bounds)
    assert until - since == bounds[1] - bounds[0]


@given(offsets, enclosed, st.one_of(st.none(), st.sampled_from(tuple(TimeGrain))))
def test_bucket_of_the_first_moment_goes_with_a_bucket_at_the_compared_start(text, bounds, grain):
    offset = parse_time_offset(text)
    since, _ = offset.shifted(*bounds)
    label = bounds[0] if grain is None else truncate(bounds[0], grain)
    partner = offset.compared_bucket(label, grain, *bounds)
    expected = since if grain is None else truncate(since, grain)
    assert abs(partner - expected) <= abs(bounds[0] - label) + LONGEST_BUCKET


@given(offsets, enclosed, moments, moments, st.sampled_from(tuple(TimeGrain)))
def test_compared_buckets_keep_the_order_of_main_ones(text, bounds, one, other, grain):
    offset = parse_time_offset(text)
    earlier, later = sorted((truncate(one, grain), truncate(other, grain)))
    assert offset.compared_bucket(earlier, grain, *bounds) <= offset.compared_bucket(later, grain, *bounds)


@given(offsets, enclosed, moments, st.sampled_from(tuple(TimeGrain)))
def test_compared_bucket_is_a_label(text, bounds, moment, grain):
    partner = parse_time_offset(text).compared_bucket(truncate(moment, grain), grain, *bounds)
    assert truncate(partner, grain) == partner


@given(moments, st.sampled_from(tuple(TimeGrain)))
def test_label_of_a_bucket_is_its_own_label(moment, grain):
    label = truncate(moment, grain)
    assert truncate(label, grain) == label


@given(moments, moments, st.sampled_from(tuple(TimeGrain)))
def test_labels_keep_the_order_of_moments(one, other, grain):
    earlier, later = sorted((one, other))
    assert truncate(earlier, grain) <= truncate(later, grain)


@given(moments, st.sampled_from(tuple(TimeGrain)))
def test_aware_and_naive_moments_have_the_same_label(moment, grain):
    assert truncate(moment.replace(tzinfo=UTC), grain).replace(tzinfo=None) == truncate(moment, grain)


FLOORS = {
    TimeGrain.FIVE_SECONDS: "5s",
    TimeGrain.FIFTEEN_MINUTES: "15min",
    TimeGrain.TEN_HOURS: "10h",
    TimeGrain.DAY: "1D",
}
PERIODS = {
    TimeGrain.WEEK: "W-SUN",
    TimeGrain.WEEK_STARTING_SUNDAY: "W-SAT",
    TimeGrain.MONTH: "M",
    TimeGrain.QUARTER: "Q",
    TimeGrain.YEAR: "Y",
}


@pytest.mark.parametrize("grain", FLOORS)
@given(moments)
def test_clock_grains_equal_pandas_floor(grain, moment):
    assert truncate(moment, grain) == pd.Timestamp(moment).floor(FLOORS[grain]).to_pydatetime()


@for_each("grain", PERIODS)
@given(moments)
def test_calendar_grains_equal_pandas_periods(grain, moment):
    assert truncate(moment, grain) == pd.Timestamp(moment).to_period(PERIODS[grain]).start_time.to_pydatetime()


@given(moments, st.sampled_from([unit for unit in CalendarUnit if not unit.is_clock]))
def test_last_day_of_a_unit_is_the_day_before_the_next_one(moment, unit):
    following = add_units(start_of(moment, unit), 1, unit)
    assert last_day_of(moment, unit) == following - timedelta(days=1)


@given(moments, st.integers(-1000, 1000), st.sampled_from(tuple(CalendarUnit)))
def test_adding_units_keeps_the_order_of_starts(moment, count, unit):
    start = start_of(moment, unit)
    assert start_of(add_units(start, count, unit), unit) == add_units(start, count, unit)


def test_first_representable_moment_has_a_day():
    assert truncate(datetime(1, 1, 1, 5), TimeGrain.DAY) == datetime(1, 1, 1)

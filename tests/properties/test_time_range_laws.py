"""Laws of time ranges: closed, ordered, rendered back, and moving with the clock."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.time_texts import nearly, present, ranges, relative_ranges

from analytics_core._engine.compile.time_range import TimeRange, parse_time_range, render_time_range, resolve_time_range
from analytics_core.errors import TimeRangeError

NOW = datetime(2024, 2, 29, 12, 30, 45, 123456, tzinfo=UTC)
relative_ends = st.sampled_from(["today", "now"])


def outcome(text, now, **options):
    """Return the bounds, or None where the text is refused."""
    try:
        found = resolve_time_range(text, now=now, **options)
    except TimeRangeError:
        return None
    return found.since, found.until


@given(st.one_of(nearly, ranges), present, relative_ends, relative_ends)
@example("9999-12-31T23:59:59.999999 : ", NOW, "today", "today")
def test_any_text_is_resolved_in_order_and_utc_or_refused(text, now, start, end):
    bounds = outcome(text, now, relative_start=start, relative_end=end)
    if bounds is None:
        return
    assert all(bound is None or bound.tzinfo is UTC for bound in bounds)
    since, until = bounds
    assert since is None or until is None or since <= until


@given(ranges, nearly, present)
def test_any_time_shift_is_resolved_or_refused(text, shift, now):
    outcome(text, now, time_shift=shift)


@given(ranges)
def test_every_text_along_the_grammar_is_read(text):
    parse_time_range(text)


@given(ranges)
def test_rendered_text_reads_back_as_the_same_tree(text):
    node = parse_time_range(text)
    assert parse_time_range(render_time_range(node)) == node


@given(ranges, present, relative_ends, relative_ends)
def test_rendered_text_resolves_to_the_same_bounds(text, now, start, end):
    options = {"relative_start": start, "relative_end": end}
    rendered = render_time_range(parse_time_range(text))
    assert outcome(rendered, now, **options) == outcome(text, now, **options)


@given(ranges, present)
def test_resolved_range_renders_to_a_text_with_the_same_bounds(text, now):
    bounds = outcome(text, now)
    if bounds is not None:
        rendered = render_time_range(TimeRange(since=bounds[0], until=bounds[1]))
        assert outcome(rendered, now + timedelta(days=1000)) == bounds


@given(ranges, present)
def test_case_and_blanks_do_not_matter(text, now):
    assert outcome("  ".join(text.swapcase().split(" ")), now) == outcome(text, now)


@given(relative_ranges, present, present, relative_ends, relative_ends)
def test_relative_ranges_never_move_back_while_time_goes_on(text, one, other, start, end):
    options = {"relative_start": start, "relative_end": end}
    earlier, later = (outcome(text, now, **options) for now in sorted((one, other)))
    if earlier is not None and later is not None:
        assert earlier[0] <= later[0]
        assert earlier[1] <= later[1]


@given(ranges, present, st.integers(0, 59))
def test_range_that_needs_no_seconds_moves_less_than_a_minute_within_a_minute(text, now, second):
    moments = now.replace(second=0, microsecond=0), now.replace(second=second)
    first, other = (outcome(text, moment) for moment in moments)
    if first is None or other is None or resolve_time_range(text, now=now).needs_seconds:
        return
    for bound, partner in zip(first, other, strict=True):
        assert (bound is None) == (partner is None)
        assert bound is None or abs(bound - partner) < timedelta(minutes=1)


@given(present, st.integers(1, 500))
def test_months_back_end_on_the_same_day_or_the_end_of_the_month(now, count):
    since = resolve_time_range(f"Last {count} months", now=now).since
    next_day = since + timedelta(days=1)
    assert since.day == now.day or (since.day < now.day and next_day.day == 1)


@given(present)
def test_months_of_a_year_lie_end_to_end(now):
    months = [
        resolve_time_range(f"start of last {n} months : start of last {n - 1} months", now=now)
        for n in range(12, 0, -1)
    ]
    assert all(one.until == following.since for one, following in pairwise(months))
    assert months[-1].until == resolve_time_range("current month", now=now).since

"""A bucket that is compared with one which the compared range cuts at another place is told, with what both hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pandas as pd
import pytest
from tests.support.cases import for_each
from tests.support.templates import sample_shop

import analytics_core
from analytics_core import DatasetHandle

_NOTE = re.compile(r"the bucket (\S+) \((\d+) days?\) is compared with the bucket (\S+), .* holds (\d+) days?")
_OFFSETS = ("1 year ago", "52 weeks ago", "1 month ago", "28 days ago", "inherit", "2023-05-05", "1 week later")
_RANGES = (
    ("2024-03-04 : 2024-04-01", "week"),
    ("2024-02-01 : 2024-02-29", "week"),
    ("2024-03-10 : 2024-04-07", "week_ending_saturday"),
    ("2024-01-01 : 2024-04-01", "month"),
    ("2024-03-15 : 2024-06-15", "month"),
    ("2024-01-01 : 2025-01-01", "quarter"),
    ("2024-02-01 : 2024-03-01", "day"),
)


@pytest.fixture(scope="module")
def days() -> Iterator[DatasetHandle]:
    """Yield a dataset with one row a day, so that counts of rows are days."""
    moments = pd.date_range("2022-01-01", "2025-12-31")
    with analytics_core.connect(pd.DataFrame({"day": moments, "rows": 1})) as core:
        yield core.dataset()


@pytest.mark.slow
@for_each(("time_range", "grain"), _RANGES)
@for_each("offset", _OFFSETS)
def test_a_note_tells_the_days_that_both_buckets_hold(
    days: DatasetHandle, time_range: str, grain: str, offset: str
) -> None:
    result = days.query("rows").during(time_range, grain=grain).compare(offset).run()[0]
    counted = {f"{row[0]:%Y-%m-%d}": row[1:] for row in result.rows()}
    matches = [_NOTE.search(note) for note in result.notes]
    assert all(matches)
    assert {one[1]: (int(one[2]), int(one[4])) for one in matches if one} == {
        one[1]: tuple(counted[one[1]]) for one in matches if one
    }
    if grain.startswith("week"):  # all whole weeks have seven days: those that differ are cut
        differing = {label for label, (own, other) in counted.items() if other is not None and own != other}
        assert differing == {one[1] for one in matches if one}


@pytest.mark.parametrize("grain", ["month", "quarter"])
def test_a_longer_bucket_that_the_compared_range_cuts_elsewhere_is_told(days: DatasetHandle, grain: str) -> None:
    query = days.query("rows").during("2024-03-15 : 2024-06-15", grain=grain).compare("28 days ago")
    assert all(_NOTE.search(note) for note in query.run()[0].notes)
    assert query.run()[0].notes


def test_whole_weeks_moved_by_a_year_are_told_and_what_would_keep_them_whole_works(days: DatasetHandle) -> None:
    weeks = days.query("rows").during("2024-03-04", "2024-04-01", grain="week")
    (note,) = weeks.compare("1 year ago").run()[0].notes
    assert note == (
        "1 year ago: the bucket 2024-03-25 (7 days) is compared with the bucket 2023-03-27, of which the compared "
        "range 2023-03-04 : 2023-04-01 holds 5 days; an offset in the unit of the buckets, such as '52 weeks ago', "
        "cuts both alike"
    )
    result = weeks.compare("52 weeks ago").run()[0]
    assert (result.notes, [row[1:] for row in result.rows()]) == ((), [(7, 7)] * 4)


@for_each(
    ("time_range", "grain", "offset"),
    [
        ("2024-01-01 : 2025-01-01", "month", "1 year ago"),
        ("2024-03-15 : 2024-06-15", "month", "1 month ago"),
        ("2024-01-01 : 2025-01-01", "quarter", "1 year ago"),
        ("2024-01-01 : 2025-01-01", "week", "1 year ago"),
        ("2024-02-01 : 2024-03-01", "day", "1 year ago"),
        ("2024-03-04 : 2024-04-01", None, "1 year ago"),
    ],
)
def test_buckets_that_are_cut_alike_have_no_note(
    days: DatasetHandle, time_range: str, grain: str | None, offset: str
) -> None:
    assert days.query("rows").during(time_range, grain=grain).compare(offset).run()[0].notes == ()


def test_a_range_of_another_column_than_the_axis_has_no_note() -> None:
    moments = pd.date_range("2023-01-01", "2024-12-31")
    frame = pd.DataFrame({"paid": moments, "ordered": moments - timedelta(days=3), "rows": 1})
    with analytics_core.connect(frame) as core:
        sales = core.dataset()
        query = sales.query("rows").where(sales.c.paid.during("2024-03-04 : 2024-04-01"))
        result = query.by(sales.c.ordered.grain("week")).compare("1 year ago").run()[0]
        assert (len(result.rows()), result.notes) == (5, ())


def test_moments_that_are_kept_as_text_are_told_too(tmp_path: Any) -> None:
    with analytics_core.connect(sample_shop(tmp_path / "shop.db")) as core:
        made = core.datasets.create({"database": 1, "table_name": "orders"})
        core.datasets.update(made.id, {"main_dttm_col": "order_date"})
        weeks = core.dataset("orders").query("amount").during(datetime(2024, 3, 4), datetime(2024, 4, 1), grain="week")
        assert [bool(_NOTE.search(note)) for note in weeks.compare("1 year ago").run()[0].notes] == [True]

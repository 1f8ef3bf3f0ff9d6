"""Ranges and grains beside a time axis, held against plain Python over the same orders, on every engine."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.shop import AMOUNT, ORDERS, SIZE, ask, axis, context, count, orders_core, rows, shop_url, total

from analytics_core.testing.sample_data import make_shop

SERVERS = ("postgres", "mariadb")
RANGE = "2024-02-10 : 2024-05-20"
SINCE, UNTIL = datetime(2024, 2, 10), datetime(2024, 5, 20)


@pytest.fixture(
    scope="module", params=["sqlite", "duckdb", *(pytest.param(name, marks=pytest.mark.server) for name in SERVERS)]
)
def core(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if request.param in SERVERS:
        url = make_shop(request.getfixturevalue(f"make_{request.param}_database")(), **SIZE)
    else:
        url = shop_url(tmp_path_factory.mktemp("axis"), request.param)
    with orders_core(url) as core:
        yield core


def month(moment: datetime) -> datetime:
    return datetime(moment.year, moment.month, 1)


def day(moment: datetime) -> datetime:
    return datetime(moment.year, moment.month, moment.day)


def counted(
    bucket: Callable[[datetime], datetime], since: datetime = SINCE, until: datetime = UNTIL
) -> dict[datetime, int]:
    return dict(Counter(bucket(row["order_date"]) for row in ORDERS if since <= row["order_date"] < until))


def ms(moment: datetime) -> int:
    return round(moment.replace(tzinfo=UTC).timestamp() * 1000)


def by_axis(grain: str | None = "P1M", **more: Any) -> dict[str, Any]:
    return {"columns": [axis(grain)], "metrics": ["count"], "time_range": RANGE, **more}


# ----------------------------------------------------------------------------------------------- compared date ranges
def test_a_date_range_is_compared_bucket_by_bucket_from_its_start(core: Any) -> None:
    query = by_axis(time_range="2024-01-01 : 2024-03-01", time_offsets=["2023-01-01 : 2023-03-01"])
    here = counted(month, datetime(2024, 1, 1), datetime(2024, 3, 1))
    before = counted(month, datetime(2023, 1, 1), datetime(2023, 3, 1))
    assert sorted(rows(core, query)) == [(at, n, before[at.replace(year=2023)]) for at, n in sorted(here.items())]


@for_each(
    ("compared", "length"),
    [("2023-03-02 : 2023-03-05", 3), ("2023-03-02 : 2023-04-20", 49), ("2024-02-20 : 2024-03-05", 14)],
)
def test_ranges_of_unequal_length_are_aligned_at_the_start(core: Any, compared: str, length: int) -> None:
    since, until = datetime(2024, 2, 26), datetime(2024, 3, 7)
    start = datetime.fromisoformat(compared[:10])
    other = counted(day, start, start + timedelta(days=length))
    expected = [(at, n, other.get(at - since + start)) for at, n in sorted(counted(day, since, until).items())]
    query = by_axis("P1D", time_range="2024-02-26 : 2024-03-07", time_offsets=[compared])
    assert sorted(rows(core, query)) == expected


@for_each("grain", ["P1W", "P1M", "P3M"])
def test_coarse_buckets_of_two_years_meet_in_order(core: Any, grain: str) -> None:
    query = by_axis(grain, time_range="2024-01-01 : 2024-12-30", time_offsets=["2023-01-02 : 2024-01-01"])
    amounts = {row[0]: row[1] for row in rows(core, by_axis(grain, time_range="2023-01-02 : 2024-01-01"))}
    answer = sorted(rows(core, query))
    assert [row[2] for row in answer] == [amounts[label] for label in sorted(amounts)][: len(answer)]


# ------------------------------------------------------------------------------------------------- grain and dashboard
@for_each(("spelling", "same"), [("P0.25Y", "P3M"), ("PT0.5H", "PT30M")])
def test_the_spellings_of_older_clients_cut_time_alike(core: Any, spelling: str, same: str) -> None:
    assert rows(core, by_axis(spelling)) == rows(core, by_axis(None, extras={"time_grain_sqla": spelling}))
    assert sorted(rows(core, by_axis(spelling))) == sorted(rows(core, by_axis(same)))


@for_each("way", ["time_grain_orm", "time_grain_sqla"])
def test_an_axis_without_grain_takes_that_of_the_extras(core: Any, way: str) -> None:
    assert dict(rows(core, by_axis(None, extras={way: "P1M"}))) == counted(month)
    assert dict(rows(core, by_axis("P1D", extras={way: "P1M"}))) == counted(day)


def test_the_grain_of_a_dashboard_moves_the_axis_of_its_charts(core: Any) -> None:
    given = {"slice_name": "By day", "datasource_id": 1, "datasource_type": "table"}
    query = by_axis("P1D", series_columns=[], orderby=[[axis("P1D"), True]], extras={"time_grain_sqla": "P1D"})
    chart = core.charts.create({**given, "query_context": json.dumps(context(query))}).id
    extra = {"extraFormData": {"time_grain_sqla": "P1M"}}
    metadata = {
        "native_filter_configuration": [{"id": "g", "filterType": "filter_timegrain", "defaultDataMask": extra}]
    }
    page = core.dashboards.create({"dashboard_title": "Page", "json_metadata": json.dumps(metadata)}).id
    core.charts.update(chart, {"dashboards": [page]})
    requested = [
        core.charts.question(chart, dashboard_id=page),
        core.charts.question(chart, extra_filters=[{"col": "__time_grain", "op": "==", "val": "P1M"}]),
    ]
    for question in requested:
        (result,) = core.charts.data(question).results
        assert dict(result.frame.rows()) == counted(month)
        assert result.notes == ()
    assert dict(core.charts.data(chart).results[0].frame.rows()) == counted(day)


# ----------------------------------------------------------------------------------------------- a range without column
def test_a_range_alone_bounds_the_axis_and_says_so(core: Any) -> None:
    result = ask(core, by_axis())
    assert dict(result.frame.rows()) == counted(month)
    assert (result.from_dttm, result.to_dttm, result.notes) == (ms(SINCE), ms(UNTIL), ())
    explained = core.charts.explain(context(by_axis())).queries[0]
    assert "from 2024-02-10 00:00:00 (included) to 2024-05-20 00:00:00" in explained.time_range
    assert [clause.origin for clause in explained.clauses if clause.part == "where"] == [
        f"payload: time_range {RANGE}, on the x-axis"
    ]


def test_a_range_alone_bounds_the_main_time_column_without_an_axis(core: Any) -> None:
    core.datasets.update(1, {"main_dttm_col": "order_date"})
    inside = [row for row in ORDERS if SINCE <= row["order_date"] < UNTIL]
    expected = Counter(row["channel"] for row in inside)
    assert dict(rows(core, {"columns": ["channel"], "metrics": ["count"], "time_range": RANGE})) == expected
    ((summed,),) = rows(core, {"metrics": [AMOUNT], "time_range": RANGE})
    assert summed == pytest.approx(total(lambda row: SINCE <= row["order_date"] < UNTIL))
    ((many,),) = rows(core, {"columns": ["id"], "time_range": RANGE, "is_rowcount": True})
    assert many == len(inside)
    assert {row[0] for row in rows(core, {"columns": ["id"], "time_range": RANGE})} == {row["id"] for row in inside}


def test_a_range_that_bounds_nothing_is_told_and_not_claimed(core: Any) -> None:
    core.datasets.update(1, {"main_dttm_col": None})
    query = {"metrics": ["count"], "time_range": RANGE}
    result = ask(core, query)
    assert rows(core, query) == [(len(ORDERS),)]
    assert (result.from_dttm, result.to_dttm) == (None, None)
    assert result.notes[0].startswith(f"time_range '{RANGE}' filters nothing: ")
    explained = core.charts.explain(context(query)).queries[0]
    assert explained.time_range == "No filter: from the beginning (included) to the end (excluded), UTC"
    assert explained.notes == result.notes


def test_details_of_a_chart_keep_the_range_of_its_axis(core: Any) -> None:
    core.datasets.update(1, {"main_dttm_col": None})
    result = ask(core, by_axis(row_limit=0), result_type="drill_detail")
    assert result.rowcount == count(lambda row: SINCE <= row["order_date"] < UNTIL)
    assert (result.from_dttm, result.to_dttm) == (ms(SINCE), ms(UNTIL))


def test_a_comparison_moves_the_range_of_the_axis(core: Any) -> None:
    before = counted(month, datetime(2023, 2, 10), datetime(2023, 5, 20))
    answer = rows(core, by_axis(time_offsets=["1 year ago"]))
    assert [row[2] for row in answer] == [before[row[0].replace(year=2023)] for row in answer]


def test_a_series_on_an_axis_needs_no_granularity(core: Any) -> None:
    result = ask(core, by_axis(is_timeseries=True))
    assert result.colnames == ("when", "count")
    assert dict(result.frame.rows()) == counted(month)


# ------------------------------------------------------------------------------------------------------------ templates
BOUNDED = "SELECT id, channel FROM orders WHERE order_date >= {since} AND order_date < {until}"
WAYS = {
    "quoted": ("'{{ from_dttm }}'", "'{{ to_dttm }}'"),
    "joined": ("'{{ '' ~ from_dttm }}'", "{{ [to_dttm]|where_in }}"),
    "text": ("{{ get_time_filter().from_expr }}", "{{ get_time_filter('order_date').to_expr }}"),
    "typed": (
        "{{ get_time_filter('order_date', target_type='TIMESTAMP').from_expr }}",
        "{{ get_time_filter('order_date', target_type='DATETIME').to_expr }}",
    ),
}


@for_each("way", sorted(WAYS))
def test_a_template_bounds_rows_as_a_clause_does(core: Any, way: str) -> None:
    since, until = WAYS[way]
    made = core.datasets.create(
        {"database": 1, "table_name": f"bounded {way}", "sql": BOUNDED.format(since=since, until=until)}
    )
    assert [column.column_name for column in made.columns] == ["id", "channel"]
    moments = sorted(row["order_date"] for row in ORDERS)
    ranges = [(SINCE, UNTIL), (moments[700], moments[900]), (datetime(2024, 1, 1), moments[-1])]
    for since_at, until_at in ranges:
        requested = {
            "columns": ["id"],
            "filters": [
                {"col": "order_date", "op": "TEMPORAL_RANGE", "val": f"{since_at.isoformat()} : {until_at.isoformat()}"}
            ],
            "row_limit": 0,
        }
        result = ask(core, requested, dataset=made.id)
        expected = {row["id"] for row in ORDERS if since_at <= row["order_date"] < until_at}
        assert {row[0] for row in result.frame.rows()} == expected
        assert (result.from_dttm, result.to_dttm, result.notes) == (ms(since_at), ms(until_at), ())


def test_a_dataset_may_name_what_only_a_query_gives(core: Any) -> None:
    bare = (
        "SELECT id, '{{ get_time_filter().time_range }}' AS asked, '{{ time_grain }}' AS grain FROM orders "
        "WHERE order_date >= '{{ from_dttm }}' AND (country = {{ url_param('land') }} "
        "OR country = {{ url_param('other', 'Germany') }}) "
        "LIMIT {{ row_limit }}"
    )
    made = core.datasets.create({"database": 1, "table_name": "bare", "sql": bare})
    assert [column.column_name for column in made.columns] == ["id", "asked", "grain"]
    core.datasets.refresh(made.id)
    query = {"columns": ["id", "asked", "grain"], "time_range": "2024-03-01 : ", "extras": {"time_grain_sqla": "P1M"}}
    answer = rows(core, {**query, "url_params": {"land": "France"}, "row_limit": 0}, dataset=made.id)
    lands = {"France", "Germany"}
    expected = {row["id"] for row in ORDERS if row["order_date"] >= datetime(2024, 3, 1) and row["country"] in lands}
    assert {row[0] for row in answer} == expected
    assert {row[1:] for row in answer} == {("2024-03-01 : ", "P1M")}

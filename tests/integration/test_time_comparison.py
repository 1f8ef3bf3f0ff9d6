"""Comparison with other ranges (`time_offsets`), held against plain Python over the same orders, on every engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.support.cases import for_each
from tests.support.shop import ORDERS, SIZE, ask, axis, context, count, orders_core, rows, shop_url

import analytics_core
from analytics_core import Settings, errors
from analytics_core.testing.sample_data import make_shop

YEAR = "2024-01-01 : 2025-01-01"


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def core(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with orders_core(shop_url(tmp_path_factory.mktemp("comparison"), request.param)) as core:
        yield core


def between(since: str, until: str) -> Callable[[dict[str, Any]], bool]:
    first, last = datetime.fromisoformat(since), datetime.fromisoformat(until)
    return lambda row: first <= row["order_date"] < last


def series(
    grain: str | None, *offsets: str, time_range: str = YEAR, columns: tuple[Any, ...] = (), **more: Any
) -> dict[str, Any]:
    return {
        "columns": [*([axis(grain)] if grain else []), *columns],
        "metrics": ["count"],
        "granularity": "order_date",
        "time_range": time_range,
        "time_offsets": list(offsets),
        **more,
    }


def by_bucket(bucket: Callable[[datetime], datetime]) -> dict[datetime, int]:
    counted: dict[datetime, int] = {}
    for row in ORDERS:
        key = bucket(row["order_date"])
        counted[key] = counted.get(key, 0) + 1
    return counted


def by_country(chosen: Callable[[Any], bool]) -> Mapping[Any, int]:
    return Counter(row["country"] for row in ORDERS if chosen(row))


def day(moment: datetime) -> datetime:
    return datetime(moment.year, moment.month, moment.day)


def month(moment: datetime) -> datetime:
    return datetime(moment.year, moment.month, 1)


def quarter(moment: datetime) -> datetime:
    return datetime(moment.year, 3 * ((moment.month - 1) // 3) + 1, 1)


def week(moment: datetime) -> datetime:
    return day(moment) - timedelta(days=moment.weekday())


# ----------------------------------------------------------------------------------------------------------- buckets
@pytest.mark.slow
@pytest.mark.parametrize(("grain", "bucket"), [("P1M", month), ("P3M", quarter)])
def test_months_and_quarters_are_compared_with_those_of_the_year_before(
    core: Any, grain: str, bucket: Callable[[datetime], datetime]
) -> None:
    counted = by_bucket(bucket)
    answer = rows(core, series(grain, "1 year ago"))
    assert {when for when, _, _ in answer} == {when for when in counted if when.year == 2024}
    for when, here, before in answer:
        assert here == counted[when]
        assert before == counted[when.replace(year=2023)]


def test_days_are_compared_with_the_day_a_week_before(core: Any) -> None:
    counted = by_bucket(day)
    answer = rows(core, series("P1D", "1 week ago", time_range="2024-03-01 : 2024-04-01"))
    assert len(answer) > 20
    for when, here, before in answer:
        assert here == counted[when]
        assert before == counted.get(when - timedelta(days=7))


@pytest.mark.slow
def test_weeks_are_compared_with_the_week_in_step_a_year_before(core: Any) -> None:
    counted = by_bucket(week)
    answer = rows(core, series("P1W", "1 year ago", time_range="2024-02-05 : 2024-11-25"))
    assert len(answer) == 42
    befores = [before for _, _, before in answer]
    for when, here, before in answer:
        assert here == counted[when]
        middle = when + timedelta(days=3, hours=12)
        partner = week(middle.replace(year=2023, day=min(middle.day, 28) if middle.month == 2 else middle.day))
        # At the ends the shifted range cuts a week in two: only whole weeks have their whole count.
        if datetime(2023, 2, 6) <= partner < datetime(2023, 11, 20):
            assert before == counted[partner]
    assert None not in befores[1:-1]


def test_a_bucket_without_a_partner_has_null(core: Any) -> None:
    answer = rows(core, series("P1M", "1 year ago", time_range="2023-01-01 : 2025-01-01"))
    nulls = [when for when, _, before in answer if before is None]
    assert nulls == [datetime(2023, number, 1) for number in range(1, 13)]
    assert len(answer) == 24


@pytest.mark.parametrize("condition", [{"having": "COUNT(*) > 75"}, {"filter": 75}])
def test_a_condition_on_a_metric_chooses_main_rows_and_cuts_no_partner(core: Any, condition: dict[str, Any]) -> None:
    counted = by_bucket(month)
    requested = series("P1M", "1 year ago")
    if "having" in condition:
        requested["extras"] = condition
    else:
        requested["filters"] = [{"col": "count", "op": ">", "val": condition["filter"]}]
    answer = rows(core, requested)
    chosen = {when for when, number in counted.items() if when.year == 2024 and number > 75}
    assert {when for when, _, _ in answer} == chosen
    for when, here, before in answer:
        assert (here, before) == (counted[when], counted[when.replace(year=2023)])
    assert any(before <= 75 for _, _, before in answer)


def test_an_empty_shifted_range_gives_the_columns_with_nulls(core: Any) -> None:
    result = ask(core, series("P1M", "10 years ago"))
    assert result.colnames == ("when", "count", "count__10 years ago")
    assert {row["count__10 years ago"] for row in result.data} == {None}


def test_a_partner_without_a_main_bucket_does_not_appear(core: Any) -> None:
    hostile = series("P1M", "1 year ago", filters=[{"col": "order_date", "op": ">=", "val": "2024-10-01"}])
    answer = rows(core, hostile)
    assert [row[0] for row in answer] == [datetime(2024, m, 1) for m in (10, 11, 12)]


# ------------------------------------------------------------------------------------------------------------- kinds
def test_without_columns_the_totals_stand_side_by_side(core: Any) -> None:
    offsets = ("1 year ago", "inherit", "2023-03-01", "2023-01-01 : 2023-02-01")
    result = ask(core, series(None, *offsets, time_range="2024-02-01 : 2024-03-01"))
    assert result.colnames == ("count", *(f"count__{offset}" for offset in offsets))
    assert list(result.frame.rows()) == [
        (
            count(between("2024-02-01", "2024-03-01")),
            count(between("2023-02-01", "2023-03-01")),
            count(between("2024-01-03", "2024-02-01")),  # the 29 days before
            count(between("2023-03-01", "2023-03-30")),
            count(between("2023-01-01", "2023-02-01")),
        )
    ]


def test_inherit_shifts_buckets_by_the_length_of_the_range(core: Any) -> None:
    counted = by_bucket(day)
    answer = rows(core, series("P1D", "inherit", time_range="2024-05-11 : 2024-05-21"))
    assert [(w, b) for w, _, b in answer] == [(w, counted.get(w - timedelta(days=10))) for w, _, _ in answer]


def test_a_date_moves_the_start_of_the_range_to_it(core: Any) -> None:
    counted = by_bucket(day)
    answer = rows(core, series("P1D", "2023-07-01", time_range="2024-05-11 : 2024-05-21"))
    distance = datetime(2024, 5, 11) - datetime(2023, 7, 1)
    assert [(w, b) for w, _, b in answer] == [(w, counted.get(w - distance)) for w, _, _ in answer]


def test_a_date_range_is_joined_on_what_is_not_time(core: Any) -> None:
    query = series(None, "2023-01-01 : 2023-04-01", columns=("category",), time_range="2024-01-01 : 2024-04-01")
    spring = between("2023-01-01", "2023-04-01")
    answer = rows(core, query)
    assert len(answer) > 2
    for category, _, before in answer:
        assert before == count(lambda row, c=category: row["category"] == c and spring(row))


def test_date_ranges_can_be_switched_off(tmp_path_factory: pytest.TempPathFactory) -> None:
    with orders_core(shop_url(tmp_path_factory.mktemp("off")), date_range_offsets=False) as core:
        with pytest.raises(errors.TimeOffsetError, match="date_range_offsets"):
            ask(core, series(None, "2023-01-01 : 2023-04-01"))
        assert rows(core, series(None, "2023-01-01"))


def test_several_offsets_keep_their_order_and_one_named_twice_counts_once(core: Any) -> None:
    result = ask(core, series("P1M", "2 months ago", "1 year ago", "2 months ago"))
    assert result.colnames == ("when", "count", "count__2 months ago", "count__1 year ago")
    counted = by_bucket(month)
    for when, _, two_months, year in result.frame.rows():
        back = datetime(when.year - (when.month <= 2), (when.month - 3) % 12 + 1, 1)
        assert two_months == counted[back]
        assert year == counted[when.replace(year=2023)]


def test_every_metric_is_compared(core: Any) -> None:
    query = series(None, "1 year ago")
    query["metrics"] = ["count", {"expressionType": "SQL", "sqlExpression": "MAX(quantity)", "label": "most"}]
    assert ask(core, query).colnames == ("count", "most", "count__1 year ago", "most__1 year ago")


# ------------------------------------------------------------------------------------------------- columns and series
def test_rows_of_columns_meet_their_own_partners_null_included(core: Any) -> None:
    in_2023 = between("2023-01-01", "2024-01-01")
    answer = rows(core, series(None, "1 year ago", columns=("channel",)))
    assert {row[0] for row in answer} == {"web", "app", "store", None}
    for channel, _, before in answer:
        assert before == count(lambda row, c=channel: row["channel"] == c and in_2023(row))


@pytest.mark.slow
@pytest.mark.parametrize("grain", [None, "P1M"])
def test_a_series_limit_keeps_the_same_series_in_both_ranges(core: Any, grain: str | None) -> None:
    in_2023, in_2024 = between("2023-01-01", "2024-01-01"), between("2024-01-01", "2025-01-01")
    query = series(grain, "1 year ago", columns=("country", "category"), series_columns=["country"], series_limit=2)
    answer = rows(core, query)
    places = by_country(in_2024)
    best = sorted(places, key=places.__getitem__)[-2:]
    first = 1 if grain else 0
    assert {row[first] for row in answer} == set(best)
    assert sum(row[-2] for row in answer) == sum(places[country] for country in best)
    if grain is None:
        for country, category, _, before in answer:
            chosen = count(
                lambda r, place=country, kind=category: r["country"] == place and r["category"] == kind and in_2023(r)
            )
            assert before == (chosen or None)


@pytest.mark.slow
@for_each("is_templated", [False, True])
@for_each("since", ["2024-01-01", "2024-09-01", "2024-12-01"])
def test_what_speaks_of_the_main_range_chooses_the_series_of_both(core: Any, since: str, is_templated: bool) -> None:
    """A condition on the x-axis, and the range that SQL of the dataset reads: the best series are those of the main."""
    dataset = 1
    if is_templated:
        sql = "SELECT * FROM orders WHERE order_date >= '{{ from_dttm }}' AND order_date < '{{ to_dttm }}'"
        dataset = core.datasets.create({"database": 1, "table_name": f"since {since}", "sql": sql}).id
    query = series(
        "P1Y",
        "1 year ago",
        columns=("country",),
        series_columns=["country"],
        series_limit=2,
        filters=[{"col": "order_date", "op": ">=", "val": since}],
    )
    in_2023, chosen = between("2023-01-01", "2024-01-01"), between(since, "2025-01-01")
    places = by_country(chosen)
    answer = rows(core, query, dataset=dataset)
    assert sorted((row[-2] for row in answer), reverse=True) == sorted(places.values(), reverse=True)[: len(answer)]
    for _, country, now, before in answer:
        assert now == places[country]
        assert before == (count(lambda r, c=country: r["country"] == c and in_2023(r)) or None)


def test_a_limit_of_rows_does_not_cut_the_compared_side(core: Any) -> None:
    full = {row[0]: row for row in rows(core, series("P1M", "1 year ago"))}
    query = series("P1M", "1 year ago", row_limit=3, row_offset=2, orderby=[["count", False]])
    cut = rows(core, query)
    assert len(cut) == 3
    assert cut == [full[row[0]] for row in cut]


def test_a_compared_side_that_is_cut_is_told(core: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    with orders_core(shop_url(tmp_path_factory.mktemp("cut")), default_row_limit=5) as small:
        result = ask(small, series("P1M", "1 year ago", row_limit=50))
    limits = [entry.to_payload() for entry in result.limits]
    assert limits[0]["cut"] is False
    assert limits[1] == {
        "limit": "row_limit of '1 year ago'",
        "rows": 5,
        "set_by": "setting: default_row_limit",
        "cut": True,
    }


def test_a_temporal_range_filter_moves_with_the_range(core: Any) -> None:
    query = series("P1M", "1 year ago")
    del query["granularity"], query["time_range"]
    query["filters"] = [{"col": "order_date", "op": "TEMPORAL_RANGE", "val": YEAR}]
    assert rows(core, query) == rows(core, series("P1M", "1 year ago"))


def test_a_relative_range_is_moved_from_its_resolved_ends(core: Any) -> None:
    then = core.as_of(datetime(2024, 6, 15, 8))
    (row,) = rows(then, series(None, "1 month ago", time_range="Last month"))
    assert row == (count(between("2024-05-15", "2024-06-15")), count(between("2024-04-15", "2024-05-15")))


# ---------------------------------------------------------------------------------------------------------- refusals
@for_each(
    ("change", "said"),
    [
        ({"time_range": "2024-01-01 : "}, "both start and end"),
        ({"time_range": None}, "both start and end"),
        ({"time_offsets": ["when pigs fly"]}, "not understood"),
        ({"time_offsets": ["2023-13-45"]}, "not understood"),
        ({"time_offsets": ["9000 years ago"]}, "years 1 to 9999"),
        ({"time_offsets": ["2024-01-01 : 2023-01-01"]}, "ends before"),
        ({"metrics": None, "columns": ["id"]}, "metrics"),
    ],
)
def test_what_cannot_be_compared_is_refused(core: Any, change: dict[str, Any], said: str) -> None:
    with pytest.raises(errors.TimeOffsetError, match=said):
        ask(core, {**series(None, "1 year ago"), **change})


def test_a_label_that_is_the_name_of_a_compared_metric_is_refused(core: Any) -> None:
    query = series(None, "1 year ago")
    taken = {"expressionType": "SQL", "sqlExpression": "MAX(id)", "label": "count__1 year ago"}
    with pytest.raises(errors.DuplicateLabelError, match="count__1 year ago"):
        ask(core, {**query, "metrics": ["count", taken]})
    assert ask(core, {**query, "metrics": ["count", {**taken, "label": "count__2 years ago"}]}).rowcount == 1


def test_samples_are_not_compared(core: Any) -> None:
    result = ask(core, series(None, "1 year ago", row_limit=2), result_type="samples")
    assert result.colnames == tuple(ORDERS[0])


def test_explain_shows_each_compared_range(core: Any) -> None:
    explained = core.charts.explain(context(series("P1M", "1 year ago", "inherit"))).queries[0]
    assert list(explained.offsets) == ["1 year ago", "inherit"]
    assert "from 2023-01-01 00:00:00 (included) to 2024-01-01 00:00:00" in explained.offsets["1 year ago"].time_range
    assert "2023-01-01" in explained.offsets["1 year ago"].sql
    assert "compared with 1 year ago" in str(explained)


@pytest.mark.server
@pytest.mark.parametrize("core", ["sqlite"], indirect=True)
@pytest.mark.parametrize("server", ["postgres_url", "mariadb_url"])
def test_servers_compare_as_the_embedded_engines_do(server: str, request: pytest.FixtureRequest, core: Any) -> None:
    url = make_shop(request.getfixturevalue(server), **SIZE)
    questions = [
        series("P1M", "1 year ago", "inherit"),
        series("P1W", "1 year ago", time_range="2024-02-05 : 2024-11-25"),
        series("P3M", "1 year ago", columns=("country",), series_columns=["country"], series_limit=2),
        series(None, "2023-01-01 : 2023-04-01", columns=("channel",), time_range="2024-01-01 : 2024-04-01"),
    ]
    with orders_core(url) as served:
        for question in questions:
            answer = rows(served, question)
            assert answer == rows(core, question)
            assert answer


# ------------------------------------------------------------------------------------------------------------ limits
def test_a_query_is_compared_with_so_many_ranges_at_most_and_one_named_twice_counts_once(tmp_path: Path) -> None:
    with orders_core(shop_url(tmp_path, "sqlite"), max_time_offsets=2) as core:
        few = core.charts.data(context(series("P1M", "1 year ago", "1 month ago", "1 year ago"))).results[0]
        many = core.charts.data(context(series("P1M", "1 year ago", "1 month ago", "1 week ago"))).results[0]
    assert few.failure is None
    assert isinstance(many.failure, errors.LimitError)
    assert "2 ranges at most (Settings.max_time_offsets), not 3" in many.failure.message


def test_a_context_holds_so_many_queries_at_most_on_every_road(tmp_path: Path) -> None:
    with orders_core(shop_url(tmp_path, "sqlite"), max_queries_per_context=2) as core:
        few, many = ({**context(), "queries": [series("P1M")] * count} for count in (2, 3))
        assert len(core.charts.data(few).results) == 2
        for ask in (core.charts.data, core.charts.explain, core.charts.submit):
            with pytest.raises(errors.LimitError, match="max_queries_per_context"):
                ask(many)


def test_a_core_must_allow_one_query_at_least() -> None:
    with pytest.raises(errors.SettingsError, match="max_queries_per_context must be at least 1"):
        Settings(secret_key="a-test-key-that-is-long-enough-9f3a", max_queries_per_context=0)


NESTED = {
    "duckdb": {
        "list": "[i % 2, NULL]",
        "list of lists": "[[i % 2], []]",
        "struct": "{'a': i % 2, 'b': [1]}",
        "map": "MAP {'k': i % 2}",
        "map of lists": "MAP {[i % 2]: 1}",
        "union": "union_value(num := i % 2)",
        "bytes": "CAST(CAST(i % 2 AS VARCHAR) AS BLOB)",
        "days": "[DATE '2024-01-01' + CAST(i % 2 AS INTEGER)]",
    },
    "postgresql": {
        "list": "ARRAY[i % 2, NULL]",
        "list of lists": "ARRAY[ARRAY[i % 2], ARRAY[1]]",
        "json": "jsonb_build_object('a', ARRAY[i % 2])",
        "interval": "i % 2 * INTERVAL '1 day'",
        "bytes": "CAST(CAST(i % 2 AS TEXT) AS BYTEA)",
    },
}
ROWS_OF = {"duckdb": "range(1, 6) AS r(i)", "postgresql": "generate_series(1, 5) AS r(i)"}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["duckdb", pytest.param("postgresql", marks=pytest.mark.server)])
def test_rows_are_compared_by_keys_that_are_lists_maps_and_structs(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str
) -> None:
    """Two groups of two and three rows this year, of two and four last year."""
    if engine == "postgresql":
        url = request.getfixturevalue("make_postgres_database")()
    else:
        url = f"duckdb:///{tmp_path}/nested.duckdb"
        duckdb.connect(f"{tmp_path}/nested.duckdb").close()
    columns = ", ".join(f'{expression} AS "{name}"' for name, expression in NESTED[engine].items())
    rows = f", {columns} FROM {ROWS_OF[engine]}"
    now, then = "TIMESTAMP '2024-01-05'", "TIMESTAMP '2023-01-05'"
    with analytics_core.connect(url) as core:
        parts = [f"SELECT {now} AS ts{rows}", f"SELECT {then}{rows}", f"SELECT {then}{rows} WHERE i = 1"]
        made = core.datasets.create({"database": 1, "table_name": "nested", "sql": " UNION ALL ".join(parts)})
        for name in NESTED[engine]:
            query = {"columns": [name], "metrics": ["count"], "granularity": "ts"}
            query |= {"time_range": "2024-01-01 : 2024-02-01", "time_offsets": ["1 year ago"]}
            data = core.charts.data({"datasource": {"id": made.id, "type": "table"}, "queries": [query]})
            found = [(row["count"], row["count__1 year ago"]) for row in data.results[0].data]
            assert sorted(found) == [(2, 2), (3, 4)], name

"""What a dataset adds to its table: SQL, templates, calculated columns, ways to store time, an offset, other names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.shop import (
    NOW,
    ORDERS,
    add_reader,
    ask,
    axis,
    column_put,
    context,
    count,
    hosted_core,
    orders_core,
    rows,
    shop_url,
)

from analytics_core import errors
from analytics_core.testing.clock import FixedClock

GERMAN = count(lambda row: row["country"] == "Germany")
EVENTS = [datetime(2024, 3, 30, 22) + timedelta(hours=7 * step) for step in range(60)]


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def core(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with orders_core(shop_url(tmp_path_factory.mktemp("datasets"), engine)) as core:
        yield core


def virtual(core: Any, name: str, sql: str, **changes: Any) -> int:
    made = core.datasets.create({"database": 1, "table_name": name, "sql": sql})
    if changes:
        core.datasets.update(made.id, changes)
    return int(made.id)


# ---------------------------------------------------------------------------------------------------- virtual datasets
@pytest.mark.slow
def test_a_virtual_dataset_is_queried_like_a_table(core: Any) -> None:
    sql = "SELECT country AS land, count(*) AS orders, max(order_date) AS latest FROM orders GROUP BY country;"
    dataset = virtual(core, "by land", sql)
    answer = rows(core, {"columns": ["land"], "metrics": ["count"]}, dataset=dataset)
    assert answer == [(land, 1) for land in sorted({row["country"] for row in ORDERS})]
    biggest = {"expressionType": "SQL", "sqlExpression": "MAX(orders)", "label": "most"}
    most = max(count(lambda row, c=c: row["country"] == c) for c in {row["country"] for row in ORDERS})
    assert rows(core, {"metrics": [biggest]}, dataset=dataset) == [(most,)]


def test_a_virtual_dataset_may_have_ctes_windows_joins_and_comments(core: Any) -> None:
    sql = """
        -- 'drop table orders;' is only a comment
        WITH big AS (SELECT *, row_number() OVER (PARTITION BY country ORDER BY id) AS nth FROM orders)
        SELECT big.id, big.country, c.name AS "customer name", 'delete from orders' AS note
        FROM big JOIN customers AS c ON c.id = big.customer_id
        WHERE nth <= 2 /* two each */
    """
    dataset = virtual(core, "first two", sql)
    assert ask(core, {"columns": ["customer name"], "metrics": []}, dataset=dataset).rowcount > 3
    assert rows(core, {"metrics": ["count"]}, dataset=dataset) == [(12,)]
    samples = ask(core, {}, dataset=dataset, result_type="samples")
    assert samples.colnames == ("id", "country", "customer name", "note")


@for_each(
    "sql",
    [
        "DELETE FROM orders",
        "SELECT 1; DROP TABLE orders",
        "WITH gone AS (DELETE FROM orders RETURNING id) SELECT * FROM gone",
        "PRAGMA table_info(orders)",
        "ATTACH 'other.db' AS other",
        "SELECT FROM WHERE",
        "   ",
    ],
)
def test_sql_that_is_not_one_select_is_no_dataset(core: Any, sql: str) -> None:
    with pytest.raises((errors.QueryError, errors.DatabaseError)):
        virtual(core, f"bad {sql[:20]}", sql)


# ------------------------------------------------------------------------------------------------------------ templates
def test_templates_write_values_as_literals(core: Any) -> None:
    dataset = virtual(core, "by address", "SELECT * FROM orders WHERE country = '{{ url_param('land', 'Germany') }}'")
    question = {"metrics": ["count"]}
    assert rows(core, question, dataset=dataset) == [(GERMAN,)]
    france = {**question, "url_params": {"land": "France"}}
    assert rows(core, france, dataset=dataset) == [(count(lambda row: row["country"] == "France"),)]
    hostile = {**question, "url_params": {"land": "x' OR '1'='1"}}
    assert rows(core, hostile, dataset=dataset) == [(0,)]


def test_template_parameters_of_the_dataset_are_used(core: Any) -> None:
    sql = "SELECT * FROM orders WHERE quantity >= {{ least | default(1) }}"
    dataset = virtual(core, "parameters", sql)
    assert rows(core, {"metrics": ["count"]}, dataset=dataset) == [(len(ORDERS),)]
    core.datasets.update(dataset, {"template_params": '{"least": 3}'})
    assert rows(core, {"metrics": ["count"]}, dataset=dataset) == [(count(lambda row: row["quantity"] >= 3),)]
    with core._runtime.content.store.unit_of_work() as unit:  # as it was stored before a key could stand once only
        before = unit.datasets.get(dataset)
        unit.datasets.update(replace(before, template_params='{"least": 3, "least": 1}'), actor_id=1)
    with pytest.raises(errors.TemplateError, match="template_params names the key 'least' twice"):
        rows(core, {"metrics": ["count"]}, dataset=dataset)


def test_templates_know_who_asks_and_answers_are_not_shared(engine: str, tmp_path_factory: Any) -> None:
    with hosted_core(shop_url(tmp_path_factory.mktemp("who"), engine)) as host:
        sql = "SELECT CASE WHEN id > 0 THEN {{ current_username() }} END AS who FROM orders"
        dataset = virtual(host.as_user("admin"), "who", sql)
        for name in ("anna", "bert"):
            reader = add_reader(host, name)
            for _ in range(2):
                assert rows(reader, {"columns": ["who"], "metrics": []}, dataset=dataset) == [(name,)]


RANGED = """
    SELECT * FROM orders
    WHERE 1 = 1
    {% if from_dttm %} AND order_date >= {{ get_time_filter('order_date').from_expr }} {% endif %}
    {% if to_dttm %} AND order_date < {{ get_time_filter('order_date').to_expr }} {% endif %}
"""


def test_templates_see_the_range_of_the_query(core: Any) -> None:
    dataset = virtual(core, "ranged", RANGED)
    query = {"metrics": ["count"], "time_range": "2024-01-01 : 2024-04-01", "granularity": "order_date"}
    spring = count(lambda row: datetime(2024, 1, 1) <= row["order_date"] < datetime(2024, 4, 1))
    result = ask(core, query, dataset=dataset)
    assert result.data == [{"count": spring}]
    assert result.query.count("2024-04-01") == 2


@pytest.mark.slow
def test_templates_see_the_shifted_range_of_a_comparison(core: Any) -> None:
    dataset = virtual(core, "ranged and compared", RANGED)
    query = {
        "columns": [axis("P1M")],
        "metrics": ["count"],
        "granularity": "order_date",
        "time_range": "2024-01-01 : 2024-04-01",
        "time_offsets": ["1 year ago"],
    }
    assert rows(core, query, dataset=dataset) == rows(core, query)
    by_filter = {**query, "filters": [{"col": "order_date", "op": "TEMPORAL_RANGE", "val": query["time_range"]}]}
    del by_filter["granularity"], by_filter["time_range"]
    assert rows(core, by_filter, dataset=dataset) == rows(core, query)


def test_a_filter_that_the_template_takes_over_is_removed_and_still_counts_as_applied(core: Any) -> None:
    where_in = (
        "SELECT channel FROM orders WHERE country IN {{ filter_values('country', remove_filter=True) | where_in }}"
    )
    dataset = virtual(core, "taken over", where_in.replace("remove_filter=True", "'Germany', remove_filter=True"))
    query = {"metrics": ["count"], "filters": [{"col": "country", "op": "IN", "val": ["France", "Brazil"]}]}
    result = ask(core, query, dataset=dataset)
    assert result.data == [{"count": count(lambda row: row["country"] in ("France", "Brazil"))}]
    assert result.applied_filters == ({"column": "country"},)
    assert result.rejected_filters == ()
    assert rows(core, {"metrics": ["count"]}, dataset=dataset) == [(GERMAN,)]


def test_only_the_sql_of_the_dataset_takes_filters_over_and_then_all_on_the_column(core: Any) -> None:
    members = "{{ filter_values('country', remove_filter=True) | where_in }}"
    several = [{"col": "country", "op": "IN", "val": ["France", "Brazil"]}, {"col": "country", "op": ">", "val": "C"}]
    for extras in ({}, {"where": f"country IN {members}"}):
        result = ask(core, {"metrics": ["count"], "filters": several, "extras": extras})
        assert result.data == [{"count": count(lambda row: row["country"] == "France")}]
        assert result.applied_filters == ({"column": "country"}, {"column": "country"})
    dataset = virtual(core, "all taken over", f"SELECT country FROM orders WHERE country IN {members}")
    result = ask(core, {"metrics": ["count"], "filters": several}, dataset=dataset)
    assert result.data == [{"count": count(lambda row: row["country"] in ("France", "Brazil"))}]
    assert result.applied_filters == ({"column": "country"}, {"column": "country"})


def test_a_time_filter_that_the_template_takes_over_still_gives_the_range(core: Any) -> None:
    sql = (
        "{% set t = get_time_filter('order_date', remove_filter=True) %}"
        "SELECT channel FROM orders {% if t.from_expr %} WHERE order_date >= {{ t.from_expr }} "
        "AND order_date < {{ t.to_expr }} {% endif %}"
    )
    dataset = virtual(core, "time taken over", sql)
    query = {
        "metrics": ["count"],
        "filters": [{"col": "order_date", "op": "TEMPORAL_RANGE", "val": "2024-01-01 : 2024-02-01"}],
        "time_offsets": ["1 year ago"],
    }
    result = ask(core, query, dataset=dataset)
    assert result.from_dttm == round(datetime(2024, 1, 1, tzinfo=UTC).timestamp() * 1000)
    assert result.applied_filters == ({"column": "order_date"},)
    (row,) = result.frame.rows()
    assert row == tuple(
        count(lambda r, year=year: datetime(year, 1, 1) <= r["order_date"] < datetime(year, 2, 1))
        for year in (2024, 2023)
    )


def test_a_granularity_keeps_the_range_of_a_filter_that_the_template_takes_over(core: Any) -> None:
    sql = "{% set taken = filter_values('order_date', remove_filter=True) %}SELECT order_date FROM orders"
    dataset = virtual(core, "range kept", sql)
    ranged = {"filters": [{"col": "order_date", "op": "TEMPORAL_RANGE", "val": "2024-01-01 : 2024-02-01"}]}
    january = count(lambda row: datetime(2024, 1, 1) <= row["order_date"] < datetime(2024, 2, 1))
    query = {"metrics": ["count"], "granularity": "order_date", **ranged}
    assert rows(core, query, dataset=dataset) == [(january,)]
    assert rows(core, {"metrics": ["count"], **ranged}, dataset=dataset) == [(len(ORDERS),)]


def test_a_range_to_now_in_a_template_is_cut_to_the_minute(engine: str, tmp_path_factory: Any) -> None:
    clock = FixedClock(NOW)
    with hosted_core(shop_url(tmp_path_factory.mktemp("minute"), engine), clock=clock) as host:
        core = host.as_user("admin")
        dataset = virtual(core, "ranged", RANGED)
        query = {"metrics": ["count"], "time_range": "2024-06-01 : now", "granularity": "order_date"}
        keys = []
        for seconds in (0, 59, 1):
            clock.advance(timedelta(seconds=seconds))
            keys.append(core.charts.explain(context(query, dataset=dataset)).queries[0].cache_key)
        assert keys[0] == keys[1] != keys[2]


def test_a_template_that_counts_seconds_is_rendered_each_time(engine: str, tmp_path_factory: Any) -> None:
    clock = FixedClock(NOW)
    with hosted_core(shop_url(tmp_path_factory.mktemp("seconds"), engine), clock=clock) as host:
        core = host.as_user("admin")
        sql = "SELECT * FROM orders WHERE order_date < {{ get_time_filter('x', default='Last 90 seconds').to_expr }}"
        dataset = virtual(core, "fresh", sql)
        first = ask(core, {"metrics": ["count"]}, dataset=dataset).query
        clock.advance(timedelta(seconds=1))
        assert ask(core, {"metrics": ["count"]}, dataset=dataset).query != first


def test_a_comparison_whose_template_alone_counts_seconds_is_run_each_time(engine: str, tmp_path_factory: Any) -> None:
    clock = FixedClock(NOW)
    with hosted_core(shop_url(tmp_path_factory.mktemp("before"), engine), clock=clock) as host:
        core = host.as_user("admin")
        latest = "order_date < {{ get_time_filter('x', default='Last 90 seconds').to_expr }}"
        sql = f"SELECT * FROM orders {{% if from_dttm and from_dttm[:4] == '2023' %}}WHERE {latest}{{% endif %}}"
        dataset = virtual(core, "fresh before", sql)
        year = {"time_range": "2024-01-01 : 2025-01-01", "granularity": "order_date", "time_offsets": ["1 year ago"]}
        assert not ask(core, {"metrics": ["count"], **year}, dataset=dataset).is_cached
        assert ask(core, {"metrics": ["count"], **year}, dataset=dataset).is_cached
        clock.advance(timedelta(seconds=1))
        assert not ask(core, {"metrics": ["count"], **year}, dataset=dataset).is_cached


@for_each(
    ("template", "error"),
    [
        ("{{ no_such() }}", errors.MissingTemplateValueError),
        ("{{ 1 / 0 }}", errors.TemplateError),
        ("{% for x in range(999999999) %}1{% endfor %}", errors.TemplateError),
        ("{{ ''.__class__.__mro__ }}", errors.TemplateError),
        ("{% include 'x' %}", errors.TemplateError),
        ("{{ unclosed", errors.TemplateError),
    ],
)
def test_a_template_that_fails_is_a_typed_error_of_its_query(core: Any, template: str, error: type[Exception]) -> None:
    data = core.charts.data(context({"metrics": ["count"], "extras": {"where": f"id > {template}"}}))
    with pytest.raises(error):
        data.raise_for_error()


def test_templates_can_be_switched_off(engine: str, tmp_path_factory: Any) -> None:
    with orders_core(shop_url(tmp_path_factory.mktemp("off"), engine), enable_templates=False) as core:
        query = {"metrics": ["count"], "extras": {"where": "country = '{{ 1 }}'"}}
        assert rows(core, query) == [(0,)]
        assert "{{ 1 }}" in ask(core, query).query


# --------------------------------------------------------------------------------- columns, metrics, predicate, names
def test_calculated_columns_group_filter_and_aggregate(core: Any) -> None:
    column_put(core, {"size": {"expression": "CASE WHEN quantity > 2 THEN 'big' ELSE 'small' END", "type": "VARCHAR"}})
    big = count(lambda row: row["quantity"] > 2)
    query = {"columns": ["size"], "metrics": ["count"]}
    assert rows(core, query) == [("big", big), ("small", len(ORDERS) - big)]
    filtered = {"metrics": ["count"], "filters": [{"col": "size", "op": "==", "val": "big"}]}
    assert rows(core, filtered) == [(big,)]
    distinct = {"expressionType": "SIMPLE", "column": {"column_name": "size"}, "aggregate": "COUNT_DISTINCT"}
    result = ask(core, {"metrics": [distinct]})
    assert result.data == [{"COUNT_DISTINCT(size)": 2}]


def test_saved_metrics_select_sort_and_filter(core: Any) -> None:
    metrics = [
        {"metric_name": "count", "expression": "COUNT(*)"},
        {"metric_name": "most", "expression": "MAX(quantity)"},
    ]
    dataset = virtual(core, "orders with metrics", "SELECT * FROM orders", metrics=metrics)
    query = {
        "columns": ["country"],
        "metrics": ["most"],
        "orderby": [["count", False]],
        "filters": [{"col": "count", "op": ">", "val": 150}],
    }
    places = {row["country"] for row in ORDERS}
    sizes = {place: count(lambda row, c=place: row["country"] == c) for place in places}
    wanted = sorted((place for place in places if sizes[place] > 150), key=lambda place: -sizes[place])
    assert [row[0] for row in rows(core, query, dataset=dataset)] == wanted


def test_the_fetch_values_predicate_binds_only_where_it_is_asked_for(core: Any) -> None:
    core.datasets.update(1, {"fetch_values_predicate": "country = 'Germany'"})
    assert rows(core, {"metrics": ["count"]}) == [(len(ORDERS),)]
    assert rows(core, {"metrics": ["count"], "apply_fetch_values_predicate": True}) == [(GERMAN,)]
    core.datasets.update(1, {"fetch_values_predicate": None})
    assert rows(core, {"metrics": ["count"], "apply_fetch_values_predicate": True}) == [(len(ORDERS),)]


def test_a_filter_may_name_a_column_by_its_verbose_name(core: Any) -> None:
    column_put(core, {"country": {"verbose_name": "Country of sale"}})
    query = {"metrics": ["count"], "filters": [{"col": "Country of sale", "op": "==", "val": "Germany"}]}
    result = ask(core, query)
    assert result.data == [{"count": GERMAN}]
    assert result.applied_filters == ({"column": "Country of sale"},)


# ----------------------------------------------------------------------------------------------- time in other clothes
@pytest.fixture(scope="module")
def times(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A core whose dataset 1 stores the same moments as seconds, milliseconds, text and a timestamp."""
    folder = tmp_path_factory.mktemp("times")
    url = f"sqlite:///{folder}/t.db" if engine == "sqlite" else f"duckdb:///{folder}/t.duckdb"
    bench = sa.create_engine(url)
    with bench.begin() as connection:
        connection.execute(
            sa.text(
                'CREATE TABLE orders (n INTEGER, "at" TIMESTAMP, s BIGINT, ms BIGINT, de VARCHAR(40), iso VARCHAR(40))'
            )
        )
        for number, moment in enumerate(EVENTS):
            seconds = round(moment.replace(tzinfo=UTC).timestamp())
            values = {
                "n": number,
                "at": moment.isoformat(" "),
                "s": seconds,
                "ms": seconds * 1000,
                "de": moment.strftime("%Y/%m/%d %H-%M-%S"),
                "iso": moment.isoformat(" "),
            }
            connection.execute(sa.text("INSERT INTO orders VALUES (:n, :at, :s, :ms, :de, :iso)"), values)
    bench.dispose()
    with orders_core(url) as core:
        stored = {
            "s": {"is_dttm": True, "python_date_format": "epoch_s"},
            "ms": {"is_dttm": True, "python_date_format": "epoch_ms"},
            "de": {"is_dttm": True, "python_date_format": "%Y/%m/%d %H-%M-%S"},
            "iso": {"is_dttm": True, "python_date_format": "%Y-%m-%d %H:%M:%S"},
        }
        column_put(core, stored)
        yield core


CLOTHES = ["at", "s", "ms", "de", "iso"]


@for_each("column", CLOTHES)
def test_every_way_to_store_time_gives_the_same_days(times: Any, column: str) -> None:
    query = {
        "columns": [axis("P1D", column=column)],
        "metrics": ["count"],
        "granularity": column,
        "time_range": "2024-04-01 : 2024-04-08T12:00:00",
    }
    wanted: dict[datetime, int] = {}
    for moment in EVENTS:
        if datetime(2024, 4, 1) <= moment < datetime(2024, 4, 8, 12):
            day = datetime(moment.year, moment.month, moment.day)
            wanted[day] = wanted.get(day, 0) + 1
    result = ask(times, query)
    assert result.coltypes == (2, 0)
    assert [tuple(row) for row in result.frame.rows()] == sorted(wanted.items())
    assert result.data[0]["when"] == round(min(wanted).replace(tzinfo=UTC).timestamp() * 1000)


@for_each("column", CLOTHES)
def test_comparisons_and_offsets_work_on_each(times: Any, column: str) -> None:
    query = {
        "metrics": ["count"],
        "filters": [
            {"col": column, "op": "TEMPORAL_RANGE", "val": "2024-04-03 : 2024-04-05"},
            {"col": column, "op": ">=", "val": "2024-04-03T06:00:00"},
        ],
        "time_offsets": ["1 day ago"],
    }
    (row,) = rows(times, query)
    assert row[0] == sum(datetime(2024, 4, 3, 6) <= moment < datetime(2024, 4, 5) for moment in EVENTS)


@for_each(
    ("name", "format_", "expected"),
    [("slashed", "%d/%m/%Y", "shown as null"), ("iso", None, "the column is shown as it is stored")],
)
def test_values_that_are_no_moments_are_counted_in_a_note(
    core: Any, name: str, format_: str | None, expected: str
) -> None:
    sql = "SELECT '31/01/2024' AS slashed, '2024-01-31' AS iso UNION ALL SELECT 'soon', 'soon'"
    dataset = virtual(core, f"misfits of {name}", sql)
    core.datasets.set_column(dataset, {"column_name": name, "is_dttm": True, "python_date_format": format_})
    note = f"column {name!r}: 1 values are no moments in the column's format; {expected}"
    assert note in ask(core, {"columns": [name]}, dataset=dataset).notes


@pytest.mark.slow
@for_each("column", CLOTHES)
def test_the_hours_of_a_dataset_move_its_moments(times: Any, column: str) -> None:
    times.datasets.update(1, {"offset": 5})
    try:
        query = {
            "columns": [axis("P1D", column=column)],
            "metrics": ["count"],
            "granularity": column,
            "time_range": "2024-04-01 : 2024-04-08",
        }
        moved = [moment + timedelta(hours=5) for moment in EVENTS]
        wanted: dict[datetime, int] = {}
        for moment in moved:
            if datetime(2024, 4, 1) <= moment < datetime(2024, 4, 8):
                day = datetime(moment.year, moment.month, moment.day)
                wanted[day] = wanted.get(day, 0) + 1
        assert rows(times, query) == sorted(wanted.items())
    finally:
        times.datasets.update(1, {"offset": 0})

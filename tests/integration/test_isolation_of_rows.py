"""Nobody sees, counts or infers rows that their row filters hide, on any road to data; nobody acts without a grant."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.shop import (
    AMOUNT,
    ORDERS,
    add_reader,
    ask,
    axis,
    column_put,
    context,
    count,
    fingerprint,
    hosted_core,
    rows,
    shop_url,
    total,
)

from analytics_core import AnalyticsCore, errors
from analytics_core._records.datasource import Dataset
from analytics_core._records.people import RowFilter, User

MINE = "Brazil"
FOREIGN = {row["country"] for row in ORDERS} - {MINE}
BRAZIL = [row for row in ORDERS if row["country"] == MINE]


class OnlyBrazil:
    """Anna sees Brazil; the rule is asked with who acts and on what."""

    def __init__(self) -> None:
        self.requested: list[tuple[str, str]] = []

    def row_filters(self, user: User, dataset: Dataset) -> Sequence[RowFilter]:
        self.requested.append((user.username, dataset.table_name))
        if user.username != "anna":
            return ()
        return (RowFilter(name="7 'Brazil only'", clause=f"country = '{MINE}'"),)


class Fixed:
    """Everybody is bound by the same filters."""

    def __init__(self, *filters: RowFilter) -> None:
        self.filters = filters

    def row_filters(self, user: User, dataset: Dataset) -> Sequence[RowFilter]:
        return self.filters


class Broken:
    """A source that cannot say."""

    def row_filters(self, user: User, dataset: Dataset) -> Sequence[RowFilter]:
        raise errors.StoredDataError("the rules cannot be read")


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return shop_url(tmp_path_factory.mktemp("isolation"), request.param)


@pytest.fixture(scope="module")
def host(url: str) -> Iterator[AnalyticsCore]:
    with hosted_core(url, row_filters=[OnlyBrazil()]) as host:
        yield host


@pytest.fixture(scope="module")
def anna(host: AnalyticsCore) -> AnalyticsCore:
    return add_reader(host, "anna")


# ------------------------------------------------------------------------------------------------ rules on every road
@pytest.mark.slow
def test_rows_and_metrics_are_those_of_the_permitted_rows(anna: Any) -> None:
    answer = rows(anna, {"columns": ["country"], "metrics": ["count", AMOUNT]})
    assert answer == [(MINE, len(BRAZIL), pytest.approx(total(lambda row: row["country"] == MINE)))]


@for_each("result_type", ["samples", "drill_detail", "full", "results"])
def test_raw_rows_are_the_permitted_ones(anna: Any, result_type: str) -> None:
    result = ask(anna, {"columns": ["id", "country"], "metrics": None, "row_limit": 2_000}, result_type=result_type)
    assert {row["country"] for row in result.data} == {MINE}
    assert sorted(row["id"] for row in result.data) == [row["id"] for row in BRAZIL]


def test_counts_of_rows_are_counts_of_permitted_rows(anna: Any) -> None:
    query = {"columns": ["id"], "metrics": None, "is_rowcount": True}
    assert ask(anna, query).data == [{"rowcount": len(BRAZIL)}]


def test_comparisons_hold_permitted_rows_only(anna: Any) -> None:
    query = {
        "columns": [],
        "metrics": ["count"],
        "granularity": "order_date",
        "time_range": "2024-01-01 : 2025-01-01",
        "time_offsets": ["1 year ago", "inherit", "2023-01-01", "2023-01-01 : 2024-01-01"],
    }
    (row,) = rows(anna, query)
    before = count(lambda r: r["country"] == MINE and r["order_date"] < datetime(2024, 1, 1))
    assert row[1] == before
    assert all(value <= len(BRAZIL) for value in row)


def test_the_choice_of_the_best_series_looks_at_permitted_rows_only(anna: Any, host: Any) -> None:
    query = {
        "columns": ["category", "channel"],
        "metrics": ["count"],
        "series_columns": ["category"],
        "series_limit": 1,
    }
    in_brazil: dict[str, int] = {}
    for row in BRAZIL:
        in_brazil[row["category"]] = in_brazil.get(row["category"], 0) + 1
    best = max(in_brazil, key=lambda category: (in_brazil[category], [-ord(c) for c in category]))
    result = ask(anna, query)
    assert {row["category"] for row in result.data} == {best}
    assert sum(row["count"] for row in result.data) == in_brazil[best]
    assert result.query.count(MINE) == 2  # in the inner query too


def test_others_are_permitted_rows_only(anna: Any) -> None:
    query = {
        "columns": ["category"],
        "metrics": ["count"],
        "series_columns": ["category"],
        "series_limit": 1,
        "group_others_when_limit_reached": True,
    }
    assert sum(row["count"] for row in ask(anna, query).data) == len(BRAZIL)


@for_each(
    "where",
    [
        "1 = 1 OR 1 = 1",
        f"country <> '{MINE}' OR country = '{MINE}'",
        "1 = 1) OR (1 = 1",
        "1 = 1 -- ",
        "1 = 1 /* ",
        "country = 'x' OR NOT (country = 'x')",
    ],
)
def test_no_condition_of_the_payload_widens_a_rule(anna: Any, where: str) -> None:
    for part in ("where", "having"):
        text = where if part == "where" else where.replace("country", "MIN(country)")
        data = anna.charts.data(context({"columns": ["country"], "metrics": ["count"], "extras": {part: text}}))
        if data.results[0].error is None:
            assert {row["country"] for row in data.results[0].data} <= {MINE}
        else:
            assert isinstance(data.results[0].failure, errors.QueryError)


@pytest.mark.parametrize("country", ["France", "Mars"])
def test_an_error_does_not_tell_whether_foreign_rows_exist(anna: Any, country: str) -> None:
    for where in (
        f"1 / (CASE WHEN country = '{country}' THEN 0 ELSE 1 END) > 0",
        f"CAST(CASE WHEN country = '{country}' THEN 'x' ELSE '1' END AS INTEGER) = 1",
    ):
        assert rows(anna, {"metrics": ["count"], "extras": {"where": where}}) == [(len(BRAZIL),)]


def test_a_filter_for_foreign_rows_finds_nothing(anna: Any) -> None:
    for country in FOREIGN:
        query = {"metrics": ["count"], "filters": [{"col": "country", "op": "==", "val": country}]}
        assert ask(anna, query).data == [{"count": 0}]


def test_a_calculated_column_of_the_same_name_does_not_fool_a_rule(url: str) -> None:
    with hosted_core(url, row_filters=[Fixed(RowFilter(name="mine", clause="land = 'Brazil'"))]) as host:
        admin = host.as_user("admin")
        column_put(admin, {"land": {"expression": "country", "type": "VARCHAR"}})
        data = admin.charts.data(context({"columns": ["country"], "metrics": ["count"]}))
        if data.results[0].error is None:
            assert {row["country"] for row in data.results[0].data} == {MINE}


def test_a_hosts_rule_on_a_table_binds_virtual_datasets_that_read_it(url: str) -> None:
    class OnlyOnOrders:
        def row_filters(self, user: User, dataset: Dataset) -> Sequence[RowFilter]:
            if (user.username, dataset.table_name) != ("anna", "orders"):
                return ()
            clause = 'country = \'{{ current_user_attribute("land", "Brazil") }}\''
            return (RowFilter(name="orders", clause=clause),)

    with hosted_core(url, row_filters=[OnlyOnOrders()]) as host:
        sql = "SELECT o.country FROM orders AS o JOIN customers AS c ON c.id = o.customer_id"
        virtual = host.as_user("admin").datasets.create({"database": 1, "table_name": "v", "sql": sql})
        anna, bert = add_reader(host, "anna"), add_reader(host, "bert")
        query = {"columns": ["country"], "metrics": []}
        for _again in range(2):
            assert rows(anna, query, dataset=virtual.id) == [(MINE,)]
            assert {row[0] for row in rows(bert, query, dataset=virtual.id)} == FOREIGN | {MINE}


def test_explain_says_which_rule_binds(anna: Any) -> None:
    clauses = anna.charts.explain(context({"metrics": ["count"]})).queries[0].clauses
    (rule,) = [clause for clause in clauses if clause.part == "where"]
    assert rule.origin == "row rule: 7 'Brazil only'"
    assert MINE in rule.sql


def test_a_source_of_rules_is_asked_with_the_user_and_the_dataset(url: str) -> None:
    source = OnlyBrazil()
    with hosted_core(url, row_filters=[source]) as host:
        ask(add_reader(host, "bert"), {"metrics": ["count"]})
    assert ("bert", "orders") in source.requested


def test_filters_of_a_group_are_ored_and_groups_are_anded(url: str) -> None:
    first = Fixed(
        RowFilter(name="a", clause="country = 'Brazil'", group_key="land"),
        RowFilter(name="b", clause="country = 'France'", group_key="land"),
    )
    second = Fixed(RowFilter(name="c", clause="channel = 'web' OR channel = 'app'"))
    with hosted_core(url, row_filters=[first, second]) as host:
        answer = rows(host.as_user("admin"), {"columns": ["country", "channel"], "metrics": []})
    assert {row[0] for row in answer} == {"Brazil", "France"}
    assert {row[1] for row in answer} == {"web", "app"}


def test_a_source_that_fails_stops_the_query(url: str) -> None:
    with hosted_core(url, row_filters=[Broken()]) as host, pytest.raises(errors.StoredDataError):
        host.as_user("admin").charts.data(context({"metrics": ["count"]}))


@for_each("clause", ["country =", "1 = 1; DELETE FROM orders", "no_such_column = 1", ""])
def test_a_rule_that_is_no_condition_stops_the_query(url: str, clause: str) -> None:
    with hosted_core(url, row_filters=[Fixed(RowFilter(name="bad", clause=clause))]) as host:
        data = host.as_user("admin").charts.data(context({"metrics": ["count"]}))
    assert data.results[0].rowcount == 0
    assert isinstance(data.results[0].failure, errors.QueryError)


def test_nothing_is_written_by_any_of_this(tmp_path: Path) -> None:
    url = shop_url(tmp_path)
    before = fingerprint(url)
    with hosted_core(url, row_filters=[OnlyBrazil()]) as host:
        anna = add_reader(host, "anna")
        for where in ("1 = 1; DELETE FROM orders", "1 = 1); DROP TABLE orders; --", "load_extension('x')"):
            assert anna.charts.data(context({"metrics": ["count"], "extras": {"where": where}})).results[0].error
    assert fingerprint(url) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["shop.db"]


# -------------------------------------------------------------------------------------------------------------- grants
@pytest.mark.parametrize("on", [("database", 1), ("dataset", 1)])
def test_a_grant_on_the_database_or_the_dataset_opens_it(host: Any, on: Any) -> None:
    reader = add_reader(host, f"reader of {on[0]}", on=on)
    assert rows(reader, {"metrics": ["count"]}) == [(len(ORDERS),)]


def test_a_grant_on_the_schema_opens_its_datasets_only(url: str) -> None:
    schema = "main"
    with hosted_core(url) as host:
        admin = host.as_user("admin")
        made = admin.datasets.create({"database": 1, "table_name": "customers", "schema": schema})
        reader = add_reader(host, "reader of schema", on=("schema", 1, schema))
        assert rows(reader, {"metrics": ["count"]}, dataset=made.id) == [(120,)]
        with pytest.raises(errors.DatasetAccessError):
            reader.charts.data(context({"metrics": ["count"]}))


@for_each("on", [None, ("database", 1), ("dataset", 1)])
def test_without_a_grant_there_is_no_way_in(url: str, on: Any) -> None:
    with hosted_core(url) as host:
        admin = host.as_user("admin")
        reader = add_reader(host, "somebody", on=on)
        if on is not None:
            admin.roles.revoke("readers somebody", on=on)
        for ask_for in (reader.charts.data, reader.charts.explain):
            for result_type in ("full", "query", "samples", "columns", "timegrains"):
                with pytest.raises(errors.DatasetAccessError) as rejection:
                    ask_for(context({"metrics": ["count"]}, result_type=result_type))
                assert rejection.value.status == 403
                assert "orders" not in str(rejection.value)


def test_one_forbidden_dataset_stops_the_context(url: str) -> None:
    with hosted_core(url) as host:
        customers = host.as_user("admin").datasets.create({"database": 1, "table_name": "customers"})
        reader = add_reader(host, "somebody", on=("dataset", 1))
        foreign = {"metrics": ["count"], "datasource": {"id": customers.id, "type": "table"}}
        with pytest.raises(errors.DatasetAccessError):
            reader.charts.data(context({"metrics": ["count"]}, foreign))


def test_a_job_of_somebody_without_a_grant_fails_with_the_refusal(url: str) -> None:
    with hosted_core(url) as host:
        job = add_reader(host, "somebody", on=None).charts.submit(context({"metrics": ["count"]}))
        with pytest.raises(errors.DatasetAccessError):
            job.result(timeout_s=20)


def test_series_and_axis_queries_bind_too(anna: Any) -> None:
    query = {"columns": [axis("P1Y"), "country"], "metrics": ["count"], "granularity": "order_date"}
    assert {row[1] for row in rows(anna, query)} == {MINE}


# ------------------------------------------------------------------------------------------------- charts and threads
def test_a_saved_chart_opens_no_dataset_that_its_reader_may_not_read(url: str) -> None:
    with hosted_core(url) as host:
        admin = host.as_user("admin")
        customers = admin.datasets.create({"database": 1, "table_name": "customers"})
        reader = add_reader(host, "somebody", on=("dataset", 1))
        stored = json.dumps(context({"metrics": ["count"]}, dataset=customers.id))
        saved = {"slice_name": "c", "datasource_id": 1, "datasource_type": "table", "query_context": stored}
        chart = admin.charts.create(saved)
        assert admin.charts.data(chart.id).results[0].data == [{"count": 120}]
        with pytest.raises(errors.DatasetAccessError):
            reader.charts.data(chart.id)
        own = reader.charts.create({**saved, "query_context": json.dumps(context({"metrics": ["count"]}))})
        assert reader.charts.data(own.id).results[0].data == [{"count": len(ORDERS)}]
        admin.roles.revoke("readers somebody", on=("dataset", 1))
        with pytest.raises(errors.AccessError):
            reader.charts.data(own.id)


@pytest.mark.slow
def test_many_people_at_once_get_their_own_rows(url: str) -> None:
    places = {"anna": "France", "bert": MINE}

    class EachTheirOwn:
        def row_filters(self, user: User, dataset: Dataset) -> Sequence[RowFilter]:
            place = places.get(user.username)
            return (RowFilter(name=user.username, clause=f"country = '{place}'"),) if place else ()

    with hosted_core(url, row_filters=[EachTheirOwn()]) as host:
        readers = {name: add_reader(host, name) for name in places}

        def requested(number: int) -> bool:
            name = ("anna", "bert")[number % 2]
            query = {"columns": ["country"], "metrics": ["count"], "row_limit": 10 + number % 3}
            return {row[0] for row in rows(readers[name], query, force=number % 5 == 0)} == {places[name]}

        with ThreadPoolExecutor(max_workers=8) as pool:
            assert all(pool.map(requested, range(120)))


def test_a_source_of_a_host_binds_other_datasets_over_the_same_table(url: str) -> None:
    class OnlyOnTheFirst:
        def row_filters(self, user: User, dataset: Dataset) -> Sequence[RowFilter]:
            return (RowFilter(name="mine", clause=f"country = '{MINE}'"),) if dataset.id == 1 else ()

    with hosted_core(url, row_filters=[OnlyOnTheFirst()]) as host:
        admin = host.as_user("admin")
        other = admin.datasets.create({"database": 1, "table_name": "orders", "schema": "main"})
        assert other.id != 1
        anna = add_reader(host, "anna")
        for dataset in (1, other.id):
            requested = context({"columns": ["country"], "metrics": ["count"]}, dataset=dataset)
            assert {row["country"] for row in anna.charts.data(requested).raise_for_error().results[0].data} == {MINE}

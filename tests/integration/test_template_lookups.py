"""Macros that look beyond the query: `metric`, `dataset`, `current_user_rls_rules`, `latest_partition`.

Expected rows are computed in plain Python over the same orders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.guests import chart, dashboard
from tests.support.shop import ORDERS, SIZE, add_reader, ask, hosted_core, rows, shop_url

from analytics_core import AnalyticsCore, errors
from analytics_core.testing.sample_data import make_shop

SERVERS = ("postgres", "mariadb")
DOUBLED = "CASE WHEN quantity > 1 THEN quantity * 2 ELSE 0 END"


@dataclass(frozen=True, kw_only=True)
class World:
    """A host's core on one engine: dataset 1 is `orders` with the metrics `count`, `units` and a calculated column."""

    engine: str
    url: str
    host: AnalyticsCore
    admin: AnalyticsCore

    def virtual(self, name: str, sql: str) -> int:
        return int(self.admin.datasets.create({"database": 1, "table_name": name, "sql": sql}).id)


@pytest.fixture(
    scope="module", params=["sqlite", "duckdb", *(pytest.param(name, marks=pytest.mark.server) for name in SERVERS)]
)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    if request.param in SERVERS:
        url = make_shop(request.getfixturevalue(f"make_{request.param}_database")(), **SIZE)
    else:
        url = shop_url(tmp_path_factory.mktemp("lookups"), request.param)
    with hosted_core(url, settings={"metadata_freshness_s": 0}) as host:
        admin = host.as_user("admin")
        stored = admin.datasets.get(1)
        fields = ("id", "column_name", "type", "is_dttm", "expression")
        columns = [{name: getattr(column, name) for name in fields} for column in stored.columns or ()]
        metrics = [
            {"metric_name": "count", "expression": "COUNT(*)"},
            {"metric_name": "units", "expression": "SUM(quantity) -- of all"},
            {"metric_name": "per order", "expression": "{{ metric('units') }} * 1.0 / {{ metric('count') }}"},
        ]
        calculated = {"column_name": "doubled", "type": "INTEGER", "expression": DOUBLED}
        admin.datasets.update(1, {"columns": [*columns, calculated], "metrics": metrics})
        yield World(engine=request.param, url=url, host=host, admin=admin)


def rule(world: World, name: str, clause: str, reader: Any, dataset: int = 1) -> int:
    role = next(item for item in world.admin.roles.list(page_size=100).result if item.name == f"readers {reader}")
    made = world.admin.row_level_security.create(
        {"name": name, "clause": clause, "filter_type": "Regular", "tables": [dataset], "roles": [role.id]}
    )
    return int(made.id)


def units(chosen: Callable[[dict[str, Any]], bool] = lambda _row: True) -> int:
    return sum(row["quantity"] for row in ORDERS if chosen(row))


# -------------------------------------------------------------------------------------------------------------- metric
def test_a_metric_stands_for_its_expression(world: World) -> None:
    adhoc = {
        "expressionType": "SQL",
        "sqlExpression": "{{ metric('units') }} + {{ metric('count', 1) }}",
        "label": "both",
    }
    ((both,),) = rows(world.admin, {"metrics": [adhoc]})
    assert int(both) == units() + len(ORDERS)
    ((average,),) = rows(world.admin, {"metrics": ["per order"]})
    assert float(average) == pytest.approx(units() / len(ORDERS), abs=1e-4)


def test_a_metric_of_another_dataset_stands_in_the_sql_of_a_dataset(world: World) -> None:
    made = world.virtual("units by land", "SELECT country, {{ metric('units', 1) }} AS n FROM orders GROUP BY country")
    expected: Counter[Any] = Counter()
    for row in ORDERS:
        expected[row["country"]] += row["quantity"]
    answer = rows(world.admin, {"columns": ["country", "n"]}, dataset=made)
    assert {land: int(n) for land, n in answer} == dict(expected)


def test_a_metric_stays_within_grants_and_names_what_it_lacks(world: World) -> None:
    made = world.virtual("metric of orders", "SELECT {{ metric('units', 1) }} AS n FROM orders")
    stranger = add_reader(world.host, f"stranger {world.engine}", ("dataset", made))
    with pytest.raises(errors.DatasetAccessError):
        ask(stranger, {"columns": ["n"]}, dataset=made)
    for text, kind in (
        ("{{ metric('unitz') }}", errors.UnknownMetricError),
        ("{{ metric('count', 999) }}", errors.NotFoundError),
        ("{{ metric('count', 'x') }}", errors.TemplateError),
    ):
        with pytest.raises(kind):
            ask(world.admin, {"metrics": [{"expressionType": "SQL", "sqlExpression": text, "label": "x"}]})


def test_metrics_that_take_each_other_in_are_refused(world: World) -> None:
    made = world.virtual("circle", "SELECT id FROM orders")
    metrics = [{"metric_name": a, "expression": f"{{{{ metric('{b}') }}}} + 1"} for a, b in (("a", "b"), ("b", "a"))]
    with pytest.raises(errors.PayloadSchemaError, match="in a circle"):
        world.admin.datasets.update(made, {"metrics": metrics})
    itself = {"expressionType": "SQL", "label": "x", "sqlExpression": f"{{% set rows = dataset({made}) %}}COUNT(*)"}
    with pytest.raises(errors.TemplateError, match=r"^template: templates look each other up in a circle"):
        ask(world.admin, {"metrics": [itself]}, dataset=made)


@pytest.mark.slow
def test_loops_of_metrics_inside_metrics_do_not_multiply(world: World) -> None:
    """If they did, an answer would take hours."""
    made = world.virtual("loops", "SELECT id FROM orders")
    loop = "{{% for i in range(9000) %}}{{% set x = {call} %}}{{% endfor %}}COUNT(*)"
    metrics = [{"metric_name": f"m{i}", "expression": loop.format(call=f"metric('m{i + 1}')")} for i in range(4)]
    world.admin.datasets.update(made, {"metrics": [*metrics, {"metric_name": "m4", "expression": "COUNT(*)"}]})
    reader = add_reader(world.host, f"looper {world.engine}", ("dataset", made))
    assert rows(reader, {"metrics": ["m0"]}, dataset=made) == [(len(ORDERS),)]
    datasets = {"expressionType": "SQL", "label": "x", "sqlExpression": loop.format(call=f"dataset({made})")}
    with pytest.raises(errors.TemplateError, match="in a circle"):
        rows(reader, {"metrics": [datasets]}, dataset=made)
    orders = {"expressionType": "SQL", "label": "x", "sqlExpression": loop.format(call="dataset(1)")}
    assert rows(world.admin, {"metrics": [orders]}, dataset=made) == [(len(ORDERS),)]


def test_the_templates_of_a_query_look_up_a_bounded_number_of_things(world: World) -> None:
    made = world.virtual("many metrics", "SELECT id FROM orders")
    world.admin.datasets.update(made, {"metrics": [{"metric_name": f"m{i}", "expression": "1"} for i in range(60)]})
    for number, is_refused in ((50, False), (51, True)):
        text = f"{{% for i in range({number}) %}}{{% set x = metric('m' ~ i) %}}{{% endfor %}}COUNT(*)"
        query = {"metrics": [{"expressionType": "SQL", "label": "x", "sqlExpression": text}]}
        if is_refused:
            with pytest.raises(errors.TemplateError, match="more than 50"):
                rows(world.admin, query, dataset=made)
        else:
            assert rows(world.admin, query, dataset=made) == [(len(ORDERS),)]


# ------------------------------------------------------------------------------------------------------------- dataset
def test_a_dataset_is_a_relation(world: World) -> None:
    sql = "SELECT country, SUM(doubled) AS n FROM {{ dataset(1) }} WHERE quantity > 0 GROUP BY country"
    made = world.virtual("over orders", sql)
    expected: Counter[Any] = Counter()
    for row in ORDERS:
        expected[row["country"]] += row["quantity"] * 2 if row["quantity"] > 1 else 0
    assert {a: int(n) for a, n in rows(world.admin, {"columns": ["country", "n"]}, dataset=made)} == dict(expected)


def test_columns_and_metrics_of_a_dataset_are_chosen(world: World) -> None:
    only = world.virtual("by channel", "SELECT * FROM {{ dataset(1, include_metrics=true, columns=['channel']) }}")
    found = world.admin.datasets.get(only)
    assert [column.column_name for column in found.columns or ()] == ["channel", "count", "units", "per order"]
    answer = rows(world.admin, {"columns": ["channel", "count", "units"]}, dataset=only)
    expected = {
        channel: (sum(1 for r in ORDERS if r["channel"] == channel), units(lambda r, c=channel: r["channel"] == c))
        for channel in {row["channel"] for row in ORDERS}
    }
    assert {a: (n, int(u)) for a, n, u in answer} == expected
    with pytest.raises(errors.UnknownColumnError):
        world.virtual("unknown", "SELECT * FROM {{ dataset(1, columns=['nope']) }}")


def test_the_rules_of_the_reader_hold_inside_a_dataset(world: World) -> None:
    made = world.virtual("counted", "SELECT COUNT(*) AS n, MIN(1 / (id - id + 1)) AS one FROM {{ dataset(1) }}")
    virtual = world.virtual("italy and france", "SELECT id, country FROM orders WHERE country IN ('Germany', 'France')")
    outer = world.virtual("over a virtual one", f"SELECT id, country FROM {{{{ dataset({virtual}) }}}}")
    name = f"bound {world.engine}"
    reader = add_reader(world.host, name)
    assert rows(reader, {"columns": ["n"]}, dataset=made) == [(len(ORDERS),)]
    rule(world, f"channels {world.engine}", "channel = 'web'", name)
    web = [row for row in ORDERS if row["channel"] == "web"]
    assert rows(reader, {"columns": ["n"]}, dataset=made) == [(len(web),)]
    assert rows(world.admin, {"columns": ["n"]}, dataset=made) == [(len(ORDERS),)]
    rule(world, f"lands {world.engine}", "country = 'Germany'", name, virtual)
    seen = rows(reader, {"columns": ["id", "country"], "row_limit": 0}, dataset=outer)
    assert {row[0] for row in seen} == {row["id"] for row in web if row["country"] == "Germany"}
    assert {row[1] for row in seen} == {"Germany"}


def test_an_answer_is_kept_apart_where_only_the_rules_inside_differ(world: World) -> None:
    made = world.virtual("kept", "SELECT COUNT(*) AS n FROM {{ dataset(1) }}")
    one, other = (f"{name} {world.engine}" for name in ("kept one", "kept other"))
    cores = {name: add_reader(world.host, name) for name in (one, other)}
    rule(world, f"only app {world.engine}", "channel = 'app'", one)
    question = {"columns": ["n"]}
    for _ in range(2):
        assert rows(cores[one], question, dataset=made) == [(sum(1 for r in ORDERS if r["channel"] == "app"),)]
        assert rows(cores[other], question, dataset=made) == [(len(ORDERS),)]
    made_later = rule(world, f"only store {world.engine}", "channel = 'store'", other)
    assert rows(cores[other], question, dataset=made) == [(sum(1 for r in ORDERS if r["channel"] == "store"),)]
    world.admin.row_level_security.delete(made_later)
    assert rows(cores[other], question, dataset=made) == [(len(ORDERS),)]


def test_a_changed_dataset_counts_at_once_where_it_is_taken_in(world: World) -> None:
    inner = world.virtual("inner", "SELECT id FROM orders WHERE id <= 3")
    outer = world.virtual("outer", f"SELECT COUNT(*) AS n FROM {{{{ dataset({inner}) }}}}")
    assert rows(world.admin, {"columns": ["n"]}, dataset=outer) == [(3,)]
    world.admin.datasets.update(inner, {"sql": "SELECT id FROM orders WHERE id <= 5"})
    assert rows(world.admin, {"columns": ["n"]}, dataset=outer) == [(5,)]
    assert ask(world.admin, {"columns": ["n"]}, dataset=outer).is_cached
    world.admin.cache.invalidate({"datasource_uids": [f"{inner}__table"]})
    assert not ask(world.admin, {"columns": ["n"]}, dataset=outer).is_cached


def test_what_a_comparison_alone_takes_in_counts_for_its_answer(world: World) -> None:
    inner = world.virtual("inner before", "SELECT id FROM orders")
    taken = f"WHERE id IN (SELECT id FROM {{{{ dataset({inner}) }}}})"
    before = f"{{% if from_dttm and from_dttm[:4] == '2023' %}}{taken}{{% endif %}}"
    outer = world.virtual("outer before", f"SELECT id, order_date FROM orders {before}")
    year = {"time_range": "2024-01-01 : 2025-01-01", "granularity": "order_date", "time_offsets": ["1 year ago"]}
    question = {"columns": [], "metrics": ["count"], **year}
    world.admin.datasets.update(outer, {"metrics": [{"metric_name": "count", "expression": "COUNT(*)"}]})
    assert [ask(world.admin, question, dataset=outer).is_cached for _ in range(2)] == [False, True]
    world.admin.cache.invalidate({"datasource_uids": [f"{inner}__table"]})
    assert not ask(world.admin, question, dataset=outer).is_cached


def test_a_dataset_stays_within_grants_databases_and_depth(world: World) -> None:
    made = world.virtual("of orders", "SELECT id FROM {{ dataset(1) }}")
    stranger = add_reader(world.host, f"outsider {world.engine}", ("dataset", made))
    with pytest.raises(errors.DatasetAccessError):
        ask(stranger, {"columns": ["id"]}, dataset=made)
    world.admin.roles.grant(stranger_role(world, f"outsider {world.engine}"), on=("dataset", 1))
    assert len(rows(stranger, {"columns": ["id"], "row_limit": 0}, dataset=made)) == len(ORDERS)
    with pytest.raises(errors.TemplateError, match="in a circle"):
        world.admin.datasets.update(made, {"sql": f"SELECT id FROM {{{{ dataset({made}) }}}}"})
    with pytest.raises(errors.SubqueryNotAllowedError):
        ask(world.admin, {"metrics": ["count"], "extras": {"where": "id IN (SELECT id FROM {{ dataset(1) }})"}})


def test_a_dataset_of_another_database_is_refused(tmp_path: Path) -> None:
    url = shop_url(tmp_path)
    with hosted_core(url) as host:
        admin = host.as_user("admin")
        admin.databases.create({"database_name": "shop again", "orm_uri": url})
        other = admin.datasets.create({"database": 2, "table_name": "products"}).id
        across = {"database": 1, "table_name": "across", "sql": f"SELECT * FROM {{{{ dataset({other}) }}}}"}
        with pytest.raises(errors.TemplateError, match="another database"):
            admin.datasets.create(across)


@pytest.mark.slow
@for_each("is_virtual", [False, True])
def test_no_condition_of_a_reader_is_tried_on_rows_that_rules_hide_inside(world: World, is_virtual: bool) -> None:
    inner = world.virtual("inside a fence", "SELECT id, channel FROM orders") if is_virtual else 1
    made = world.virtual(f"fenced {inner}", f"SELECT id, channel FROM {{{{ dataset({inner}) }}}}")
    name = f"fenced {inner} {world.engine}"
    reader = add_reader(world.host, name)
    tested_last = "LENGTH(REPLACE(REPLACE(channel, 'w', 'ww'), 'z', 'zz')) = 4 AND channel <> 'x'"
    rule(world, f"fence {inner} {world.engine}", tested_last, name, inner)
    fails = "CASE WHEN channel = 'app' THEN CAST(channel AS DECIMAL) ELSE 1 END = 1"
    question = {"metrics": ["count"], "extras": {"where": fails}}
    assert rows(reader, question, dataset=made) == [(sum(1 for row in ORDERS if row["channel"] == "web"),)]


def stranger_role(world: World, reader: str) -> Any:
    return next(item for item in world.admin.roles.list(page_size=100).result if item.name == f"readers {reader}")


# --------------------------------------------------------------------------------------------------------------- rules
def test_a_template_knows_the_rules_of_its_reader(world: World) -> None:
    sql = (
        "SELECT id, {% if current_user_rls_rules() %}'bound'{% else %}'free'{% endif %} AS how FROM orders "
        "WHERE 1 = 1 {% for clause in current_user_rls_rules() or [] %}AND ({{ clause }}) {% endfor %}"
    )
    made = world.virtual("told", sql)
    name = f"told {world.engine}"
    reader = add_reader(world.host, name)
    assert {row[0] for row in rows(reader, {"columns": ["how"]}, dataset=made)} == {"free"}
    rule(world, f"by name {world.engine}", "country <> '{{ current_username() }}'", name, made_for(world, made))
    rule(world, f"few {world.engine}", "id < 20", name, made_for(world, made))
    answer = rows(reader, {"columns": ["id", "how"]}, dataset=made)
    assert {row[1] for row in answer} == {"bound"}
    assert {row[0] for row in answer} == {row["id"] for row in ORDERS if row["id"] < 20 and row["country"] is not None}


def made_for(world: World, dataset: int) -> int:
    """Return a virtual dataset whose rules may use the columns of orders."""
    stored = world.admin.datasets.get(dataset)
    if "country" not in {column.column_name for column in stored.columns or ()}:
        world.admin.datasets.update(dataset, {"sql": (stored.sql or "").replace("SELECT id,", "SELECT id, country,")})
        world.admin.datasets.refresh(dataset)
    return dataset


# ---------------------------------------------------------------------------------------------------------- partitions
def partitioned(world: World) -> None:
    ranges = ((1, "p1"), (10, "p2"), (20, "p3"), (30, "p4"))
    engine = sa.create_engine(world.url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        if world.engine == "postgres":
            connection.exec_driver_sql("CREATE TABLE parts (day INT, kind TEXT) PARTITION BY RANGE (day)")
            connection.exec_driver_sql("CREATE TABLE kinds (day INT, kind TEXT) PARTITION BY LIST (kind)")
            for begin, name in ranges:
                connection.exec_driver_sql(
                    f"CREATE TABLE parts_{name} PARTITION OF parts FOR VALUES FROM ({begin}) TO ({begin + 9})"
                )
            for kind in ("it's", "b", "zz"):
                quoted = kind.replace("'", "''")
                connection.exec_driver_sql(f"CREATE TABLE \"k {quoted}\" PARTITION OF kinds FOR VALUES IN ('{quoted}')")
            connection.exec_driver_sql("CREATE TABLE plain (day INT)")
        else:
            bounds = ", ".join(f"PARTITION {name} VALUES LESS THAN ({begin + 9})" for begin, name in ranges)
            connection.exec_driver_sql(
                "CREATE TABLE parts (day INT, kind VARCHAR(9)) PARTITION BY RANGE (day) "
                f"(PARTITION p0 VALUES LESS THAN (1), {bounds})"
            )
            kinds = ", ".join(f"PARTITION k{i} VALUES IN ('{kind}')" for i, kind in enumerate(("it''s", "b", "zz")))
            connection.exec_driver_sql(
                f"CREATE TABLE kinds (day INT, kind VARCHAR(9)) PARTITION BY LIST COLUMNS (kind) ({kinds})"
            )
            connection.exec_driver_sql("CREATE TABLE plain (day INT)")
        connection.exec_driver_sql("INSERT INTO parts VALUES (2, 'a'), (12, 'b'), (21, 'c'), (22, 'd')")
        connection.exec_driver_sql("INSERT INTO kinds VALUES (1, 'b'), (2, 'it''s')")
    engine.dispose()


def test_the_latest_partition_is_the_newest_one_with_rows(world: World) -> None:
    if world.engine not in SERVERS:
        with pytest.raises(errors.UnsupportedByEngineError, match="not known"):
            world.virtual("latest", "SELECT id FROM orders WHERE id >= {{ latest_partition('orders') }}")
        return
    partitioned(world)
    made = world.virtual("latest", "SELECT kind FROM parts WHERE day >= {{ latest_partition('parts') }}")
    assert {row[0] for row in rows(world.admin, {"columns": ["kind"]}, dataset=made)} == {"c", "d"}
    listed = world.virtual("latest kind", "SELECT day FROM kinds WHERE kind = '{{ latest_partition('kinds') }}'")
    assert rows(world.admin, {"columns": ["day"]}, dataset=listed) == [(2,)]
    parts = world.admin.datasets.create({"database": 1, "table_name": "parts"}).id
    name = f"parts {world.engine}"
    reader = add_reader(world.host, name, ("dataset", made))
    with pytest.raises(errors.DatabaseAccessError):
        ask(reader, {"columns": ["kind"]}, dataset=made)
    world.admin.roles.grant(stranger_role(world, name), on=("dataset", parts))
    rule(world, f"old parts {world.engine}", "day < 20", name, parts)
    assert rows(reader, {"columns": ["kind"]}, dataset=made) == [("b",)]
    for table in ("plain", "nothing"):
        with pytest.raises(errors.QueryError, match="no partitions"):
            world.virtual(f"latest {table}", f"SELECT day FROM plain WHERE day = {{{{ latest_partition('{table}') }}}}")


def test_statements_of_look_ups_count_with_those_of_their_request(world: World) -> None:
    if world.engine not in SERVERS:
        return
    with hosted_core(world.url, settings={"max_statements_per_request": 2}) as host:
        admin = host.as_user("admin")
        sql = "SELECT kind FROM parts WHERE day >= {{ latest_partition('parts') }}"
        made = int(admin.datasets.create({"database": 1, "table_name": "two look-ups", "sql": sql}).id)
        with pytest.raises(errors.RequestLimitError, match="more than 2 statements"):
            ask(admin, {"columns": ["kind"]}, dataset=made)


def shared_partitions(world: World) -> tuple[int, int]:
    """Make a partitioned table of two tenants; return the datasets over it and over its newest partition."""
    bounds = {1: 10, 10: 20, 20: 30}
    columns = "CREATE TABLE shares (day INT, tenant VARCHAR(9)) PARTITION BY RANGE (day)"
    if world.engine == "postgres":
        parts = [
            f"CREATE TABLE shares_{since} PARTITION OF shares FOR VALUES FROM ({since}) TO ({until})"
            for since, until in bounds.items()
        ]
        statements = [columns, *parts]
    else:
        listed = ", ".join(f"PARTITION p{since} VALUES LESS THAN ({until})" for since, until in bounds.items())
        statements = [f"{columns} ({listed})"]
    engine = sa.create_engine(world.url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        for statement in (*statements, "INSERT INTO shares VALUES (2, 'acme'), (12, 'acme'), (22, 'globex')"):
            connection.exec_driver_sql(statement)
    engine.dispose()
    table = int(world.admin.datasets.create({"database": 1, "table_name": "shares"}).id)
    return table, world.virtual(
        "newest", "SELECT day, tenant FROM shares WHERE day >= {{ latest_partition('shares') }}"
    )


def test_a_guest_learns_of_no_partition_whose_rows_are_hidden(world: World) -> None:
    if world.engine not in SERVERS:
        with pytest.raises(errors.UnsupportedByEngineError):
            world.virtual("newest", "SELECT id FROM orders WHERE id >= {{ latest_partition('orders') }}")
        return
    table, newest = shared_partitions(world)
    query = {"columns": ["day", "tenant"], "metrics": []}
    chart_ids = [world.admin.charts.create(chart(name, n, query)).id for name, n in (("t", table), ("n", newest))]
    board = world.admin.dashboards.create(dashboard("shares", chart_ids[1]))
    uuid = world.admin.embedded.create(board.id, {"allowed_domains": []}).uuid

    def guest(*rules: dict[str, Any], all_rows: Any = False) -> AnalyticsCore:
        request = {"user": {"username": "g"}, "resources": [{"type": "dashboard", "id": uuid}], "rls": list(rules)}
        return world.host.as_guest(world.admin.embedded.guest_token(request, all_rows=all_rows))

    def newest_for(guest: AnalyticsCore) -> Any:
        return guest.charts.data(chart_ids[1]).raise_for_error().results[0].data

    own, foreign = {"day": 12, "tenant": "acme"}, {"day": 22, "tenant": "globex"}
    acme = {"clause": "tenant = 'acme'"}
    before = guest({**acme, "dataset": newest})
    world.admin.charts.update(chart_ids[0], {"dashboards": [board.id]})
    with pytest.raises(errors.DatasetAccessError, match="no row rule for table"):
        newest_for(before)
    assert newest_for(guest(acme)) == [own]
    assert newest_for(guest({**acme, "dataset": table}, {**acme, "dataset": newest})) == [own]
    assert newest_for(guest(all_rows=True)) == [foreign]


# ------------------------------------------------------------------------------------------- SQL from the address
STOLEN = "1 = 0) UNION SELECT id, country FROM orders WHERE (1 = 1"


def test_a_reader_gives_no_sql_to_a_dataset_whose_author_asks_for_a_part_of_it(world: World) -> None:
    listed, condition = (f"{{{{ url_param({name}, escape_result=false) }}}}" for name in ("'ids', '1'", "'q', '1 = 1'"))
    sql = f"SELECT id, channel FROM orders WHERE (id IN ({listed})) AND ({condition})"
    made = world.virtual("with sql of the address", sql)
    reader = add_reader(world.host, f"address {world.engine}", ("dataset", made))
    query = {"columns": ["id", "channel"], "metrics": []}

    def ids_for(core: AnalyticsCore, **params: str) -> set[int]:
        return {row[0] for row in rows(core, {**query, "url_params": params}, dataset=made)}

    assert ids_for(reader) == ids_for(world.admin) == {1}
    assert ids_for(reader, ids="1, 2,3") == {1, 2, 3}
    assert len(ids_for(world.admin, q=STOLEN)) == len(ORDERS)  # who may write SQL on the database may read it all
    for hostile in (STOLEN, "1 = 1", "country = 'Italy'", "EXISTS (SELECT 1 FROM orders)"):
        for name in ("q", "ids"):
            with pytest.raises(errors.TemplateError, match="people who may write SQL on the database"):
                ids_for(reader, **{name: hostile})

"""Guests of two tenants on four engines, embedded dashboards in two kinds of store, and what the cache keeps apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.guests import (
    NOW,
    QUERY,
    ROWS,
    RULE,
    GuestWorld,
    chart,
    context,
    dashboard,
    guest_world,
    later,
    requested,
)
from tests.support.stores import empty_store

from analytics_core import AnalyticsCore, errors

SUM = {"expressionType": "SIMPLE", "column": {"column_name": "amount"}, "aggregate": "SUM", "label": "sum"}
TENANTS = ["acme", "globex", "globex' OR '1'='1", "nobody"]
ENGINES = [
    "sqlite",
    "duckdb",
    pytest.param("postgresql", marks=pytest.mark.server),
    pytest.param("mysql", marks=pytest.mark.server),
]
STORES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.server)]


@pytest.fixture(scope="module", params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuestWorld]:
    """A world over each engine, with charts on virtual datasets that read the ruled table in awkward ways."""
    url = f"{request.param}:///{tmp_path_factory.mktemp('guests')}/shop.db"
    if request.param == "postgresql":
        url = request.getfixturevalue("make_postgres_database")()
    if request.param == "mysql":
        url = request.getfixturevalue("make_mariadb_database")()
    with guest_world(url) as made:
        virtual = {
            "plain": "SELECT tenant, city, amount FROM sales",
            "joined": "SELECT s.tenant, s.city, t.amount FROM sales AS s JOIN sales AS t ON t.id = s.id",
            "named": "WITH x AS (SELECT * FROM sales) SELECT tenant, city, amount FROM x",
        }
        for number, (name, sql) in enumerate(virtual.items(), start=5):
            dataset = made.admin.datasets.create({"database": 1, "table_name": name, "sql": sql})
            stored = made.admin.charts.create(chart(name, dataset.id, {"columns": ["city"], "metrics": [SUM]}))
            assert stored.id == number
        made.admin.dashboards.update(1, {"position_json": dashboard("x", 1, 2, 5, 6, 7)["position_json"]})
        yield made


@pytest.fixture(params=STORES)
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GuestWorld]:
    """A world in each kind of store."""
    store = f"sqlite:///{tmp_path}/store.db"
    if request.param == "postgresql":
        store = request.getfixturevalue("postgres_store_url")
        empty_store(store)
    with guest_world(f"sqlite:///{tmp_path}/shop.db", metadata_url=store) as made:
        yield made


@pytest.fixture(scope="module", params=STORES)
def unchanged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuestWorld]:
    """A world in each kind of store for tests of what is refused, which share it."""
    folder = tmp_path_factory.mktemp("unchanged")
    is_file = request.param == "sqlite"
    store = f"sqlite:///{folder}/store.db" if is_file else request.getfixturevalue("make_postgres_database")()
    with guest_world(f"sqlite:///{folder}/shop.db", metadata_url=store) as made:
        yield made


def revenue(tenant: str) -> dict[str, int]:
    """Return what each city of a tenant sold, in plain Python."""
    found: dict[str, int] = {}
    for _, owner, city, amount, _ in ROWS:
        if owner == tenant:
            found[city] = found.get(city, 0) + amount
    return found


def sold(guest: AnalyticsCore, question: Any = 1, metric: str = "revenue") -> dict[str, int]:
    data = guest.charts.data(question).raise_for_error().results[0].data
    return {row["city"]: int(row[metric]) for row in data}


# ----------------------------------------------------------------------------------------------------------- isolation
@pytest.mark.slow
@for_each("tenant", TENANTS)
def test_a_guest_sees_the_rows_of_their_tenant_on_every_road(world: GuestWorld, tenant: str) -> None:
    guest = world.guest(tenant)
    for _round in ("made", "kept in the cache"):
        assert sold(guest) == revenue(tenant)
        assert sold(guest, requested(filters=[{"col": "city", "op": "IS NOT NULL"}])) == revenue(tenant)
        foreign = [city for _, owner, city, _, _ in ROWS if owner != tenant]
        assert sold(guest, requested(filters=[{"col": "city", "op": "IN", "val": foreign}])) == {
            city: amount for city, amount in revenue(tenant).items() if city in foreign
        }
        ids = {row["id"] for row in guest.charts.data(2).raise_for_error().results[0].data}
        assert ids <= {number for number, owner, *_ in ROWS if owner == tenant}
        values = guest.dashboards.filter_options(1, "NATIVE_FILTER-city").raise_for_error().results[0].data
        assert {row["city"] for row in values} == set(revenue(tenant))


@pytest.mark.slow
@for_each("chart_id", [5, 6, 7])
def test_a_rule_for_all_datasets_binds_on_virtual_ones(world: GuestWorld, chart_id: int) -> None:
    for tenant in TENANTS:
        assert sold(world.guest(tenant), chart_id, "sum") == revenue(tenant)


@pytest.mark.slow
@for_each("chart_id", [5, 6, 7])
def test_a_rule_on_a_table_binds_where_the_sql_of_a_virtual_dataset_reads_it(world: GuestWorld, chart_id: int) -> None:
    for tenant in TENANTS:
        rule = {**RULE, "values": {"tenant": tenant}, "dataset": 1}
        token = world.admin.embedded.guest_token(world.request(rule), all_rows=[3, 4, 5])
        assert sold(world.host.as_guest(token), chart_id, "sum") == revenue(tenant)


def test_a_rule_on_a_table_narrows_what_the_sql_of_a_virtual_dataset_computes(tmp_path: Path) -> None:
    with guest_world(f"sqlite:///{tmp_path}/shop.db") as own:
        sql = "SELECT tenant, city, SUM(amount) OVER () AS of_all FROM sales"
        made = own.admin.datasets.create({"database": 1, "table_name": "shares", "sql": sql})
        added = own.admin.charts.create(chart("shares", made.id, {"columns": ["of_all"]}))
        own.admin.dashboards.update(1, {"position_json": dashboard("x", added.id)["position_json"]})
        tokens = [
            own.admin.embedded.guest_token(own.request(*rules)) for rules in ([RULE], [RULE, {**RULE, "dataset": 1}])
        ]
        views = [own.host.as_guest(token).charts.data(added.id).raise_for_error().results[0].data for token in tokens]
        mine, everybody = (sum(row[3] for row in ROWS if all_ or row[1] == "acme") for all_ in (False, True))
        assert [{row["of_all"] for row in rows} for rows in views] == [{everybody}, {mine}]  # as docs/explanation tells


def test_a_rule_on_a_dataset_binds_other_datasets_over_its_table(tmp_path: Path) -> None:
    with guest_world(f"sqlite:///{tmp_path}/shop.db") as world:
        other = world.admin.datasets.create({"database": 1, "table_name": "sales", "schema": "main"})
        metric = {**SUM, "label": "revenue"}
        stored = world.admin.charts.create(chart("again", other.id, {"columns": ["city"], "metrics": [metric]}))
        world.admin.dashboards.update(1, {"position_json": dashboard("x", 1, stored.id)["position_json"]})
        token = world.admin.embedded.guest_token(world.request({**RULE, "dataset": 1}), all_rows=[other.id])
        assert sold(world.host.as_guest(token), stored.id) == revenue("acme")
        world.admin.dashboards.update(1, {"position_json": dashboard("x", stored.id)["position_json"]})
        assert sold(world.host.as_guest(token), stored.id) == revenue("acme")


def test_two_rules_both_bind_and_stand_beside_stored_ones(world: GuestWorld) -> None:
    large = {"clause": "amount > {{ value('least') }}", "values": {"least": 15}}
    rules = [RULE, {"clause": "city = 'Bonn' OR city = 'Kiel'"}, large]
    stored = world.admin.row_level_security.create(
        {"name": "bonn", "clause": "city = 'Bonn'", "filter_type": "Base", "roles": [], "tables": [1]}
    )
    try:
        token = world.admin.embedded.guest_token(world.request(*rules))
        assert sold(world.host.as_guest(token)) == {"Bonn": 30}
    finally:
        world.admin.row_level_security.delete(stored.id)
    assert sold(world.host.as_guest(token)) == {"Bonn": 30, "Kiel": 20}


@for_each(
    ("clause", "values", "cities"),
    [
        ("tenant IN ({{ value('tenants') }})", {"tenants": ["acme", "globex"]}, {"Bonn", "Kiel", "Oslo", "Rome"}),
        ("tenant IN ({{ value('tenants') }})", {"tenants": ["acme", "x') OR ('1'='1"]}, {"Bonn", "Kiel"}),
        ("tenant = {{ value('t') }}", {"t": "acme' OR '1'='1"}, set()),
        ("tenant = {{ value('t') }}", {"t": "\\' OR 1=1 -- "}, set()),
        ("tenant = {{ value('t') }}", {"t": "globex' OR '1'='1"}, {"Pisa"}),
        ("amount = {{ value('n') }}", {"n": 1000}, {"Oslo"}),
    ],
)
def test_values_of_a_rule_are_bound_and_never_written(
    world: GuestWorld, clause: str, values: dict[str, Any], cities: set[str]
) -> None:
    request = world.request({"clause": clause, "values": values, "dataset": 1})
    token = world.admin.embedded.guest_token(request, all_rows=[3, 4, 5])
    assert set(sold(world.host.as_guest(token))) == cities


def test_no_or_in_a_clause_widens_another_rule(world: GuestWorld) -> None:
    token = world.admin.embedded.guest_token(world.request(RULE, {"clause": "1 = 1 OR tenant = 'globex'"}))
    assert sold(world.host.as_guest(token)) == revenue("acme")


@pytest.mark.slow
def test_many_guests_at_once_get_their_own_rows(world: GuestWorld) -> None:
    guests = {tenant: world.guest(tenant) for tenant in TENANTS}

    def fits(number: int) -> bool:
        tenant = TENANTS[number % len(TENANTS)]
        question = requested(row_limit=10 + number % 3) if number % 2 else 1
        return sold(guests[tenant], question) == revenue(tenant)

    with ThreadPoolExecutor(max_workers=6) as pool:
        assert all(pool.map(fits, range(60)))


def test_the_cache_keeps_guests_apart_and_serves_those_with_equal_rules(world: GuestWorld) -> None:
    first = world.guest("acme", username="anna").charts.data(5).results[0]
    same = world.guest("acme", username="bert").charts.data(5).results[0]
    other = world.guest("globex").charts.data(5).results[0]
    admin = world.admin.charts.data(5).results[0]
    assert same.is_cached
    assert same.cache_key == first.cache_key
    assert len({first.cache_key, other.cache_key, admin.cache_key}) == 3
    assert other.data != first.data


# ------------------------------------------------------------------------------------------------- embedded dashboards
def test_an_embedding_from_create_to_delete(stored: GuestWorld) -> None:
    embedded = stored.admin.embedded
    made = embedded.get(1)
    assert made.to_payload() == {
        "uuid": stored.uuid,
        "dashboard_id": "1",
        "allowed_domains": [],
        "changed_on": NOW.isoformat().replace("+00:00", "Z"),
        "changed_by": {"id": 1, "first_name": "", "last_name": "", "username": "admin"},
    }
    domains = ["https://Shop.example:443/", "http://localhost:8080", "https://shop.example"]
    assert embedded.update(1, {"allowed_domains": domains}).allowed_domains == (
        "https://shop.example",
        "http://localhost:8080",
    )
    again = embedded.create(1, {"allowed_domains": []})
    assert (again.uuid, again.allowed_domains) == (stored.uuid, ())
    assert embedded.get(stored.uuid.upper()).uuid == embedded.get("1").uuid == stored.uuid
    embedded.delete(1)
    for key in (1, "1", stored.uuid, "no such key"):
        with pytest.raises(errors.NotFoundError):
            embedded.get(key)
    for act in (embedded.delete, lambda key: embedded.update(key, {"allowed_domains": []})):
        with pytest.raises(errors.NotFoundError):
            act(1)
    assert embedded.create(1, {"allowed_domains": []}).uuid != stored.uuid


def test_owners_and_administrators_see_and_change_embeddings_and_nobody_else(stored: GuestWorld) -> None:
    owner = stored.admin.users.create({"username": "owner", "roles": []})
    stored.admin.users.create({"username": "stranger", "roles": []})
    stored.admin.dashboards.update(1, {"owners": [owner.id]})
    mine, foreign = stored.host.as_user("owner").embedded, stored.host.as_user("stranger").embedded
    assert [item.dashboard_id for item in mine.list()] == ["1"]
    assert stored.admin.embedded.list(order_by="-dashboard_id").count == 2
    assert mine.list(filters=[{"col": "dashboard_id", "op": "eq", "val": 2}]).count == 0
    assert mine.update(1, {"allowed_domains": ["https://a.example"]}).changed_by.username == "owner"
    mine.revoke_guest_tokens(dashboard_id=1)
    assert foreign.list().count == 0
    calls: list[Callable[[], Any]] = [
        lambda: foreign.get(1),
        lambda: foreign.get(stored.uuid),
        lambda: foreign.create(1, {"allowed_domains": []}),
        lambda: foreign.update(1, {"allowed_domains": []}),
        lambda: foreign.delete(1),
        lambda: mine.create(2, {"allowed_domains": []}),
    ]
    for call in calls:
        with pytest.raises(errors.OwnershipError) as rejection:
            call()
        assert rejection.value.status == 403


@for_each(
    "domain",
    [
        "shop.example",
        "*",
        "https://*.example",
        "https://shop.example/path",
        "https://user@shop.example",
        "https://shop.example\\@evil.example",
        "ftp://shop.example",
        "javascript:alert(1)",
        "https://",
        "https://shop.example:99999",
        "https://shop.example:",
        "https://shop.example?x",
        "https://shop.example#x",
        "https://bücher.example",
        "https://shop .example",
        "null",
        "",
        "https://" + "a" * 300,
    ],
)
def test_a_domain_that_is_no_origin_is_refused_with_its_place(unchanged: GuestWorld, domain: str) -> None:
    with pytest.raises(errors.PayloadSchemaError, match=r"allowed_domains\.1"):
        unchanged.admin.embedded.update(1, {"allowed_domains": ["https://shop.example", domain]})
    assert unchanged.admin.embedded.get(1).allowed_domains == ()


def test_a_dashboard_has_a_thousand_domains_at_most(stored: GuestWorld) -> None:
    domains = [f"https://shop{number}.example" for number in range(1_001)]
    for write in (stored.admin.embedded.create, stored.admin.embedded.update):
        with pytest.raises(errors.PayloadSchemaError, match="allowed_domains: may name 1000 domains at most"):
            write(1, {"allowed_domains": domains})
    assert stored.admin.embedded.get(1).allowed_domains == ()
    assert len(stored.admin.embedded.update(1, {"allowed_domains": domains[1:]}).allowed_domains) == 1_000


def test_tokens_and_revocations_live_in_the_store(stored: GuestWorld) -> None:
    token = stored.token("acme")
    assert sold(stored.host.as_guest(token)) == revenue("acme")
    later(stored, 1)
    for _twice in range(2):
        stored.admin.embedded.revoke_guest_tokens(dashboard_id=1)
    with pytest.raises(errors.GuestTokenError, match="revoked"):
        stored.host.as_guest(token)


def test_revocations_at_the_same_time_all_count(stored: GuestWorld) -> None:
    token = stored.token("acme", username="anna")
    later(stored, 1)
    revoke = stored.admin.embedded.revoke_guest_tokens
    with ThreadPoolExecutor(max_workers=4) as pool:
        list(pool.map(lambda _: revoke(subject="anna"), range(8)))
    with pytest.raises(errors.GuestTokenError, match="revoked"):
        stored.host.as_guest(token)


def test_a_deleted_dashboard_takes_its_embedding_with_it(stored: GuestWorld) -> None:
    token = stored.token("acme")
    stored.admin.dashboards.delete(1)
    assert [item.dashboard_id for item in stored.admin.embedded.list()] == ["2"]
    with pytest.raises(errors.GuestTokenError):
        stored.host.as_guest(token)


def test_a_chart_that_leaves_the_dashboard_leaves_its_guests(stored: GuestWorld) -> None:
    guest = stored.guest()
    token = stored.admin.embedded.guest_token(stored.request({**RULE, "dataset": 1}))
    assert guest.charts.get(2).slice_name == "rows"
    stored.admin.dashboards.update(1, {"position_json": dashboard("x", 1)["position_json"]})
    with pytest.raises(errors.ChartAccessError):
        guest.charts.get(2)
    stored.admin.dashboards.update(1, {"position_json": dashboard("x", 1, 3)["position_json"]})
    with pytest.raises(errors.DatasetAccessError, match="no row rule for dataset 2"):
        stored.host.as_guest(token).charts.data(3)


def test_a_guest_of_a_copy_asks_what_its_charts_store(stored: GuestWorld) -> None:
    question = {**context(QUERY), "form_data": {"slice_id": 1}}
    stored.admin.charts.update(1, {"query_context": json.dumps(question)})
    copy = stored.admin.dashboards.copy(1, {"json_metadata": "{}", "duplicate_slices": True})
    embedded = stored.admin.embedded.create(copy.id, {"allowed_domains": []})
    resources = [{"type": "dashboard", "id": embedded.uuid}]
    guest = stored.host.as_guest(stored.admin.embedded.guest_token({"user": {}, "resources": resources, "rls": [RULE]}))
    first = guest.dashboards.charts(copy.id)[0].id
    result = guest.charts.data(guest.charts.get(first).query_context or "").raise_for_error().results[0]
    assert {row["city"] for row in result.data} == {"Bonn", "Kiel"}


def test_the_domains_of_the_host_come_from_the_settings(tmp_path: Path) -> None:
    with guest_world(f"sqlite:///{tmp_path}/shop.db", available_domains=("a.example", "b.example")) as world:
        assert world.admin.embedded.available_domains().to_payload() == {"domains": ["a.example", "b.example"]}


def test_nothing_of_what_guests_do_writes_to_the_database(world: GuestWorld) -> None:
    before = world.admin.charts.data(
        {"datasource": {"id": 1, "type": "table"}, "queries": [{**QUERY, "time_range": None}], "force": True}
    )
    guest = world.guest("globex")
    for question in (1, 2, requested(filters=[{"col": "city", "op": "==", "val": "'; DROP TABLE sales; --"}])):
        guest.charts.data(question).raise_for_error()
    after = world.admin.charts.data(
        {"datasource": {"id": 1, "type": "table"}, "queries": [{**QUERY, "time_range": None}], "force": True}
    )
    assert before.results[0].data == after.results[0].data

"""Grants on a schema or a dataset, and hand-written SQL: which tables a statement may read, and what refusals tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.small_core import small_core
from tests.support.tenant_world import ENGINES, TenantWorld, rule, tenant_world, url_on

from analytics_core import AnalyticsCore
from analytics_core.errors import (
    AnalyticsError,
    DatabaseAccessError,
    DatabaseError,
    DatabaseNotFoundError,
    ErrorType,
    StatementRefusedError,
    TableAccessError,
)
from analytics_core.policy import RULES, Permission, Policy, Relationship

SCHEMAS = {"sqlite": "main", "duckdb": "main", "postgresql": "public"}
OWN = [1, 2, 3]

Run = Callable[[AnalyticsCore, str], Any]
ROADS: Mapping[str, Run] = {
    "call": lambda core, sql: core.sql(sql, database=1).rows(),
    "batches": lambda core, sql: core.sql.batches(sql, database=1).__enter__().close(),
    "explain": lambda core, sql: core.sql.explain(sql, database=1),
    "execute": lambda core, sql: core.sql.execute({"database_id": 1, "sql": sql}),
    "script": lambda core, sql: core.sql.execute({"database_id": 1, "sql": f"{sql}; {sql}"}),
    "lineage": lambda core, sql: core.sql.lineage(sql, database=1),
    "save": lambda core, sql: core.saved_queries.create({"label": "kept", "database": 1, "sql": sql}),
    "dataset": lambda core, sql: core.sql.save_as_dataset("kept", sql, database=1),
    "estimate": lambda core, sql: core.sql.estimate({"database_id": 1, "sql": sql}),
}
"""Every way in which a statement is run, read or saved."""


@pytest.fixture(scope="module", params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TenantWorld]:
    folder = tmp_path_factory.mktemp("grants")
    with tenant_world(request.param, url_on(request, folder), folder) as made:
        made.admin.row_level_security.create(rule(made, filter_type="Base", roles=[]))
        made.admin.databases.update(1, {"allow_dml": True, "allow_ctas": True, "allow_run_async": True})
        made.release()
        made.execute("CREATE VIEW every_sale AS SELECT id, tenant FROM sales")
        made.virtual("vault", "SELECT id FROM targets")
        yield made


@pytest.fixture(scope="module")
def people(world: TenantWorld) -> Mapping[str, AnalyticsCore]:
    """Somebody of the tenant `acme` with each grant, one who owns the dataset `sales`, and one without any."""
    virtual = next(one.id for one in world.admin.datasets.list().result if one.table_name == "vault")
    grants: Mapping[str, tuple[Any, ...] | None] = {
        "schema": ("schema", 1, schema_of(world)),
        "other schema": ("schema", 1, "elsewhere"),
        "dataset": ("dataset", 1),
        "virtual": ("dataset", virtual),
        "nothing": None,
    }
    for name, on in grants.items():
        role = world.admin.roles.create({"name": f"has {name}"})
        if on is not None:
            world.admin.roles.grant(role, on=on)
        world.admin.users.create({"username": name, "roles": [role.id], "attributes": {"tenant": "acme"}})
    owner = world.admin.users.create({"username": "owner", "roles": [], "attributes": {"tenant": "acme"}})
    world.admin.datasets.update(1, {"owners": [1, owner.id]})
    return {name: world.user(name) for name in (*grants, "owner")}


def schema_of(world: TenantWorld) -> str:
    return SCHEMAS.get(world.engine) or world.url.rpartition("/")[2].partition("?")[0]


def ids(core: AnalyticsCore, sql: str, **options: Any) -> list[int]:
    return sorted(row[0] for row in core.sql(sql, database=1, **options).rows())


# ----------------------------------------------------------------------------------------------------- what they open
@for_each("who", ["dataset", "owner"])
def test_a_dataset_opens_its_table_and_its_rules_bind(
    world: TenantWorld, people: Mapping[str, AnalyticsCore], who: str
) -> None:
    core = people[who]
    assert ids(core, "SELECT id FROM sales") == OWN
    assert ids(core, "WITH a AS (SELECT * FROM sales) SELECT a.id FROM a JOIN sales AS s ON s.id = a.id") == OWN
    assert core.sql.execute({"database_id": 1, "sql": "SELECT COUNT(*) AS n FROM sales"}).data == ({"n": 3},)
    assert core.sql.lineage("SELECT id FROM sales", database=1)[0].sources == ("sales.id",)
    assert core.sql.check("SELECT ammount FROM sales", database=1)[0].suggestions == ("amount",)


def test_a_schema_opens_its_tables_by_their_full_names(world: TenantWorld, people: Mapping[str, AnalyticsCore]) -> None:
    core, schema = people["schema"], schema_of(world)
    assert ids(core, f"SELECT id FROM {schema}.sales") == OWN
    assert ids(core, "SELECT id FROM targets", schema=schema) == [1, 4, 9]
    assert ids(core, "SELECT 1 AS id") == [1]
    assert core.sql.check(f"SELECT nosuch FROM {schema}.targets", database=1)[0].error_type is (
        ErrorType.COLUMN_DOES_NOT_EXIST_ERROR
    )
    with pytest.raises(TableAccessError, match="write the schema that you mean"):
        ids(core, "SELECT id FROM targets")


def test_a_view_is_a_relation_of_its_own(world: TenantWorld, people: Mapping[str, AnalyticsCore]) -> None:
    """A grant on its table does not open it, and one on it opens what it shows."""
    with pytest.raises(TableAccessError):
        ids(people["dataset"], "SELECT id FROM every_sale")
    made = world.admin.datasets.create({"database": 1, "table_name": "every_sale"})
    role = world.admin.roles.create({"name": "of the view"})
    world.admin.roles.grant(role, on=("dataset", made.id))
    world.admin.users.create({"username": "viewer", "roles": [role.id]})
    viewer = world.user("viewer")
    assert len(ids(viewer, "SELECT id FROM every_sale")) == 7
    with pytest.raises(TableAccessError):
        ids(viewer, "SELECT id FROM sales")


# --------------------------------------------------------------------------------------------------------- what is not
@for_each("road", ROADS)
def test_a_table_without_a_grant_and_one_that_is_missing_are_refused_alike(
    world: TenantWorld, people: Mapping[str, AnalyticsCore], road: str
) -> None:
    seen = set()
    for who in ("dataset", "owner", "virtual"):
        for table in ("targets", "nosuches", "vault", "t0rgets"):
            with pytest.raises(TableAccessError) as caught:
                ROADS[road](people[who], f"SELECT * FROM {table}")
            assert caught.value.extra == {"tables": [table]}
            seen.add(caught.value.message.replace(table, "X"))
    assert len(seen) == 1


@pytest.mark.server
def test_a_table_that_is_called_like_a_function_is_no_type(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    request.param = "postgresql"
    with tenant_world("postgresql", url_on(request, tmp_path), tmp_path) as world:
        role = world.admin.roles.create({"name": "narrow"})
        world.admin.roles.grant(role, on=("dataset", 1))
        world.admin.users.create({"username": "narrow", "roles": [role.id]})
        world.execute("CREATE TABLE network (id INTEGER)", 'CREATE TABLE "map" (id INTEGER)')
        seen = set()
        for name in ("network", "family", "map", "variant"):
            with pytest.raises(TableAccessError) as caught:
                world.user("narrow").sql(f"SELECT NULL::{name} AS x FROM sales", database=1)
            seen.add(caught.value.message.replace(name, "X"))
        assert len(seen) == 1


def test_functions_that_other_engines_have_are_not_called(
    world: TenantWorld, people: Mapping[str, AnalyticsCore]
) -> None:
    """The parser knows SEARCH and others of other engines; here an owner may have functions of these names."""
    for call in ("SEARCH(tenant, tenant)", "PARSE_URL(tenant)", "CHECK_XML(tenant)"):
        with pytest.raises(
            (StatementRefusedError, TableAccessError),
            match=r"which may read any table|cannot be written for this engine",
        ):
            people["dataset"].sql(f"SELECT {call} AS x FROM sales", database=1)
    sql = "SELECT UPPER(tenant) AS a, COALESCE(id, 1) AS b, CAST(id AS INTEGER) AS c, COUNT(*) AS d FROM sales"
    assert people["dataset"].sql(f"{sql} WHERE EXISTS (SELECT 1) AND id > 0 GROUP BY 1, 2, 3", database=1).rowcount == 3


def test_a_dataset_whose_table_is_gone_names_no_other_table(tmp_path: Path) -> None:
    """The nearest names are those of tables that the actor may read."""
    with small_core(tmp_path) as shop:
        shop.orders()
        reader = shop.reader(("dataset", 1))
        shop.run("ALTER TABLE orders RENAME TO orders_2024; CREATE TABLE order_fees (id INTEGER)")
        sql = "SELECT id FROM orders"
        calls = (lambda: reader.sql(sql, database=1), lambda: reader.sql.lineage(sql, database=1))
        for ask in calls:
            with pytest.raises(DatabaseError) as caught:
                ask()
            assert not {"orders_2024", "order_fees"} & set(re.findall(r"\w+", str(caught.value.to_payload())))
        problem = reader.sql.check(sql, database=1)[0]
        assert (problem.suggestions, "mean" in problem.message) == ((), False)
        assert set(shop.core.sql.check(sql, database=1)[0].suggestions) == {"orders_2024", "order_fees"}


@for_each("who", ["dataset", "virtual", "other schema", "nothing"])
def test_each_table_of_a_statement_takes_a_grant(
    world: TenantWorld, people: Mapping[str, AnalyticsCore], who: str
) -> None:
    for sql in (
        "SELECT s.id FROM sales AS s, targets AS t",
        "SELECT id FROM sales UNION ALL SELECT id FROM targets",
        "SELECT id FROM sales WHERE id IN (SELECT id FROM targets)",
        "WITH sales AS (SELECT * FROM targets) SELECT id FROM sales",
        "SELECT (SELECT MAX(goal) FROM targets) AS m FROM sales",
        f"SELECT id FROM {schema_of(world)}.targets",
        f"SELECT id FROM elsewhere.sales AS a, {schema_of(world)}.sales AS b",
    ):
        with pytest.raises((TableAccessError, DatabaseAccessError)):
            ids(people[who], sql)


def test_names_that_only_may_be_the_table_are_refused(world: TenantWorld, people: Mapping[str, AnalyticsCore]) -> None:
    folds = world.engine in ("sqlite", "duckdb")
    written = {'"SALES"': folds, "SALES": world.engine != "mysql", '"sales"': True, '"sales "': False}
    written |= {"elsewhere.sales": False, "main.main.sales": False, "sales_": False, "säles": False}
    for name, opens in written.items():
        text = name.replace('"', "`") if world.engine == "mysql" else name
        if opens:
            assert ids(people["dataset"], f"SELECT id FROM {text}") == OWN
        else:
            with pytest.raises((TableAccessError, StatementRefusedError)):
                ids(people["dataset"], f"SELECT id FROM {text}")


def test_functions_and_types_that_nobody_listed_take_the_whole_database(
    world: TenantWorld, people: Mapping[str, AnalyticsCore]
) -> None:
    """A function of the owner may read any table; a table is a type on PostgreSQL, and would tell that it is there."""
    assert people["dataset"].sql("SELECT UPPER(region), COUNT(*) AS n FROM sales GROUP BY 1", database=1).rowcount
    for call in ("report_of_all(id)", "targets(id)", *(() if world.engine == "mysql" else ("CAST(id AS targets)",))):
        with pytest.raises(TableAccessError, match=r"Settings\.allowed_functions"):
            ids(people["dataset"], f"SELECT {call} AS x FROM sales")


def test_a_refusal_repeats_no_name_that_a_template_brought_in(
    world: TenantWorld, people: Mapping[str, AnalyticsCore]
) -> None:
    hidden = next(one.id for one in world.admin.datasets.list().result if one.table_name == "vault")
    with pytest.raises(TableAccessError) as caught:
        ids(people["virtual"], f"SELECT * FROM {{{{ dataset({hidden}) }}}}")
    assert "targets" not in str(caught.value.to_payload())


def test_plans_and_changes_take_the_whole_database(world: TenantWorld, people: Mapping[str, AnalyticsCore]) -> None:
    schema = schema_of(world)
    before = world.admin.sql("SELECT COUNT(*) AS n FROM targets", database=1).rows()
    for who in ("schema", "dataset", "owner"):
        for sql in (
            f"INSERT INTO {schema}.targets (id) SELECT id FROM {schema}.targets",
            "INSERT INTO sales (id) VALUES (100)",
            "DELETE FROM targets",
            f"CREATE TABLE {schema}.stolen AS SELECT * FROM {schema}.targets",
            f"DROP TABLE {schema}.targets",
            f"EXPLAIN SELECT * FROM {schema}.targets",
        ):
            with pytest.raises((DatabaseAccessError, TableAccessError)):
                people[who].sql.execute({"database_id": 1, "sql": sql})
        with pytest.raises((DatabaseAccessError, TableAccessError)):
            people[who].sql.execute({"database_id": 1, "sql": "SELECT id FROM sales", "select_as_cta": True})
    assert world.admin.sql("SELECT COUNT(*) AS n FROM targets", database=1).rows() == before


def test_who_has_nothing_learns_nothing(world: TenantWorld, people: Mapping[str, AnalyticsCore]) -> None:
    for sql in ("SELECT 1 AS one", "SELECT * FROM targets", "no SQL"):
        for run in ROADS.values():
            with pytest.raises(DatabaseAccessError, match="you have no access to database 1"):
                run(people["nothing"], sql)
    with pytest.raises(DatabaseNotFoundError):
        people["nothing"].sql("SELECT 1 AS one", database="shop")
    assert people["dataset"].sql("SELECT id FROM sales", database="shop").rowcount == len(OWN)
    with pytest.raises(DatabaseAccessError, match="that reads no table"):
        people["dataset"].sql("SELECT 1 AS one", database=1)


def test_check_names_the_tables_that_are_missing(world: TenantWorld, people: Mapping[str, AnalyticsCore]) -> None:
    (problem,) = people["dataset"].sql.check("SELECT nosuch FROM sales, targets", database=1)
    assert problem.error_type is ErrorType.TABLE_SECURITY_ACCESS_ERROR
    assert "read targets on" in problem.message


def test_rows_in_store_are_closed_when_the_grant_is_gone(
    world: TenantWorld, people: Mapping[str, AnalyticsCore]
) -> None:
    role = world.admin.roles.create({"name": "for a while"})
    world.admin.roles.grant(role, on=("dataset", 1))
    attributes = {"tenant": "acme"}
    user = world.admin.users.create({"username": "passing", "roles": [role.id], "attributes": attributes})
    core = world.user("passing")
    run = core.sql.execute({"database_id": 1, "sql": "SELECT id FROM sales", "runAsync": True})
    assert len(wait(core, run.query.results_key).data) == len(OWN)
    world.admin.users.update(user.id, {"roles": []})
    with pytest.raises(AnalyticsError) as caught:
        core.sql.results(run.query.results_key)
    assert caught.value.status == 403


def wait(core: AnalyticsCore, key: str) -> Any:
    assert core.jobs.get(key).wait(20)
    return core.sql.results(key)


# ------------------------------------------------------------------------------------------------------------ the host
def test_a_host_may_close_hand_written_sql_to_grants_on_datasets(tmp_path: Path) -> None:
    only = {Relationship.ADMINISTRATOR, Relationship.DATABASE_GRANT, Relationship.SCHEMA_GRANT}
    policy = Policy({**RULES, Permission.QUERY_TABLE: only})
    with small_core(tmp_path, policy=policy) as shop:
        made = shop.orders()
        reader = shop.reader(("dataset", made.id))
        assert reader.datasets.get(made.id).id == made.id
        with pytest.raises(TableAccessError):
            reader.sql("SELECT * FROM orders", database=1)

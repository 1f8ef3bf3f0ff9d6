"""Relations of user-written SQL on four engines: every join, every name, and no read without a grant.

Beside tests/integration/test_row_rules_on_engines.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.tenant_world import ENGINES, TenantWorld, ask, ids, rule, tenant_world, url_on

from analytics_core import AnalyticsCore, errors

OWN = [1, 2, 3]
SCHEMAS = {"sqlite": "main", "duckdb": "main", "postgresql": "public"}


@pytest.fixture(scope="module", params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TenantWorld]:
    folder = tmp_path_factory.mktemp("relations")
    with tenant_world(request.param, url_on(request, folder), folder) as made:
        made.admin.row_level_security.create(rule(made))
        made.release()
        made.execute("CREATE VIEW every_sale AS SELECT id, tenant FROM sales")
        yield made


# --------------------------------------------------------------------------------------------------------------- joins
JOINS: Mapping[str, str] = {
    "left, the ruled side outer": "SELECT s.id AS a, t.id AS b FROM sales s LEFT JOIN targets t ON t.id = s.id",
    "left, the ruled side inner": "SELECT s.id AS a, t.id AS b FROM targets t LEFT JOIN sales s ON t.id = s.id",
    "left on nothing": "SELECT s.id AS a, t.id AS b FROM targets t LEFT JOIN sales s ON 1 = 0",
    "right": "SELECT s.id AS a, t.id AS b FROM targets t RIGHT JOIN sales s ON 1 = 0",
    "natural": "SELECT a.id AS a, b.id AS b FROM sales a NATURAL JOIN sales b",
    "natural left": "SELECT a.id AS a, b.id AS b FROM sales a NATURAL LEFT JOIN sales b",
    "using": "SELECT id AS a, t.goal AS b FROM sales s LEFT JOIN targets t USING (id)",
    "chain": "SELECT s.id AS a, r.id AS b FROM targets t LEFT JOIN sales s ON 1 = 1 LEFT JOIN sales r ON r.id = s.id",
    "in parentheses": "SELECT s.id AS a, r.id AS b FROM targets t LEFT JOIN (sales s JOIN sales r ON 1 = 1) ON 1 = 1",
    "comma": "SELECT s.id AS a, r.id AS b FROM sales s, sales r, targets t",
    "condition that reads": (
        "SELECT s.id AS a, t.id AS b FROM sales s JOIN targets t ON t.id = 9 AND s.id <= (SELECT MAX(id) FROM sales)"
    ),
}
JOINS_OF_ONE_ENGINE: Mapping[str, Mapping[str, str]] = {
    "sqlite": {"full": "SELECT s.id AS a, t.id AS b FROM sales s FULL OUTER JOIN targets t ON 1 = 0"},
    "duckdb": {
        "full": "SELECT s.id AS a, t.id AS b FROM sales s FULL JOIN targets t ON 1 = 0",
        "semi": "SELECT s.id AS a, 1 AS b FROM sales s SEMI JOIN targets t ON 1 = 1",
        "anti": "SELECT s.id AS a, 1 AS b FROM sales s ANTI JOIN targets t ON s.id = t.id",
        "asof": "SELECT s.id AS a, t.id AS b FROM targets t ASOF LEFT JOIN sales s ON t.id >= s.id",
        "positional": "SELECT s.id AS a, t.id AS b FROM targets t POSITIONAL JOIN sales s",
        "lateral": "SELECT s.id AS a, q.id AS b FROM targets s, LATERAL (SELECT r.id FROM sales r) q WHERE s.id = 1",
    },
    "postgresql": {
        "full": "SELECT s.id AS a, t.id AS b FROM sales s FULL JOIN targets t USING (id)",
        "lateral": "SELECT 1 AS a, q.id AS b FROM targets t LEFT JOIN LATERAL (SELECT id FROM sales) q ON true",
    },
    "mysql": {"straight": "SELECT s.id AS a, t.id AS b FROM targets t STRAIGHT_JOIN sales s"},
}
FOREIGN = {4, 5, 6, 7}


def joins() -> list[tuple[str | None, str]]:
    return [(None, name) for name in JOINS] + [(on, name) for on, own in JOINS_OF_ONE_ENGINE.items() for name in own]


@pytest.mark.slow
@for_each(("on", "name"), joins(), ids=lambda value: str(value or "all"))
def test_no_join_turns_a_rule_off(world: TenantWorld, on: str | None, name: str) -> None:
    if on not in (None, world.engine):
        return
    dataset = world.virtual(f"join {name} {on}", JOINS[name] if on is None else JOINS_OF_ONE_ENGINE[on][name])
    seen = pairs(world.user("acme"), dataset)
    targets = {1, 4, 9, 7, 8}  # ids and goals of the free table
    ruled = {value for pair in seen for value in pair} - targets - {None}
    assert ruled <= set(OWN)
    assert not {pair[0] for pair in seen if name != "lateral"} & FOREIGN
    assert pairs(world.admin, dataset) != seen or name in ("left on nothing", "anti")


def pairs(core: AnalyticsCore, dataset: int) -> list[tuple[Any, Any]]:
    found = ask(core, {"columns": ["a", "b"], "row_limit": 1_000}, dataset=dataset).data
    return sorted(((row["a"], row["b"]) for row in found), key=str)


# --------------------------------------------------------------------------------------------------------------- names
@pytest.mark.server
def test_a_name_that_postgresql_cuts_does_not_lead_past_a_rule(
    make_postgres_database: Callable[[], str], tmp_path: Path
) -> None:
    """The server cuts names at 63 bytes, so that a longer one reads the table of the first 63."""
    with tenant_world("postgresql", make_postgres_database(), tmp_path) as shop:
        name = "s" * 63
        shop.execute(f"CREATE TABLE {name} AS SELECT * FROM sales")
        made = shop.admin.datasets.create({"database": 1, "table_name": name})
        shop.admin.row_level_security.create(rule(shop, tables=[made.id]))
        assert ids(shop.user("acme"), made.id) == OWN
        assert ids(shop.user("acme"), shop.virtual("whole", f"SELECT id FROM {name}")) == OWN
        for written in (f"{name}x", f'"{name}x"', f"public.{name}{name}"):
            with pytest.raises(errors.StatementRefusedError, match="more than 63 bytes"):
                shop.virtual("cut", f"SELECT id FROM {written}")
        with pytest.raises(errors.StatementRefusedError, match="more than 63 bytes"):
            shop.admin.datasets.create({"database": 1, "table_name": f"{name}x"})


# -------------------------------------------------------------------------------------------------------------- grants
def schema_of(world: TenantWorld) -> str:
    return SCHEMAS.get(world.engine) or world.url.rpartition("/")[2].partition("?")[0]


@pytest.fixture(scope="module")
def people(world: TenantWorld) -> Mapping[str, AnalyticsCore]:
    """Somebody with each grant, and one without any."""
    grants = {
        "database": ("database", 1),
        "schema": ("schema", 1, schema_of(world)),
        "other schema": ("schema", 1, "elsewhere"),
        "dataset": ("dataset", 1),
        "nothing": None,
    }
    for name, on in grants.items():
        role = world.admin.roles.create({"name": f"has {name}"})
        if on is not None:
            world.admin.roles.grant(role, on=on)
        attributes = {"tenant": "acme"}
        world.admin.users.create({"username": f"has {name}", "roles": [role.id], "attributes": attributes})
    return {name: world.user(f"has {name}") for name in grants}


CATALOGS = {
    "sqlite": ("main", "sqlite_master"),
    "duckdb": ("information_schema", "tables"),
    "postgresql": ("pg_catalog", "pg_tables"),
    "mysql": ("information_schema", "TABLES"),
}


def attempts(world: TenantWorld) -> Mapping[str, Mapping[str, Any]]:
    """What somebody may want to read: a table, a view, a view of the catalog, each as a table and by SQL."""
    schema, catalog = schema_of(world), CATALOGS[world.engine]
    return {
        "table": {"table_name": "targets", "schema": schema},
        "view": {"table_name": "every_sale", "schema": schema},
        "catalog view": {"table_name": catalog[1], "schema": catalog[0]},
        "SQL over a table": {"table_name": "v1", "sql": "SELECT id FROM targets"},
        "SQL over a view": {"table_name": "v2", "sql": "SELECT id FROM every_sale"},
        "SQL over a catalog view": {"table_name": "v3", "sql": f"SELECT COUNT(*) AS n FROM {catalog[0]}.{catalog[1]}"},
        "SQL over nothing": {"table_name": "v4", "sql": "SELECT 1 AS id"},
    }


def allowed(who: str, world: TenantWorld) -> set[str]:
    """What each grant opens: SQL takes the whole database, a table its schema."""
    if who == "database":
        return set(attempts(world))
    in_schema = {"table", "view"} | ({"catalog view"} if CATALOGS[world.engine][0] == schema_of(world) else set())
    return in_schema if who == "schema" else set()


def opens(core: AnalyticsCore, payload: Mapping[str, Any]) -> bool:
    try:
        made = core.datasets.create({"database": 1, **payload})
    except errors.AccessError:
        return False
    except errors.DatabaseError:
        return True  # the database was asked: DuckDB's reflection does not find the views of its catalog
    core.datasets.delete(made.id)
    return True


@pytest.mark.slow
@for_each("who", ["database", "schema", "other schema", "dataset", "nothing"])
def test_no_grant_no_read_of_tables_views_and_catalog_views(
    world: TenantWorld, people: Mapping[str, AnalyticsCore], who: str
) -> None:
    opened = {name for name, payload in attempts(world).items() if opens(people[who], payload)}
    assert opened == allowed(who, world)


@pytest.mark.slow
def test_a_virtual_dataset_is_read_by_its_own_grant_only(
    world: TenantWorld, people: Mapping[str, AnalyticsCore]
) -> None:
    made = world.virtual("for who has a grant", "SELECT id FROM targets")
    for who in ("schema", "other schema", "dataset", "nothing"):
        with pytest.raises(errors.DatasetAccessError):
            ids(people[who], made)
    assert ids(people["database"], made) == [1, 4, 9]


def test_an_owner_without_a_grant_on_the_database_cannot_write_its_sql(
    world: TenantWorld, people: Mapping[str, AnalyticsCore]
) -> None:
    made = world.virtual("owned", "SELECT id FROM targets")
    owner = next(user for user in world.admin.users.list() if user.username == "has nothing")
    world.admin.datasets.update(made, {"owners": [owner.id]})
    for change in ({"sql": "SELECT id FROM sales"}, {"sql": "SELECT 1 AS id"}):
        with pytest.raises(errors.DatabaseAccessError):
            people["nothing"].datasets.update(made, change)
    with pytest.raises(errors.DatabaseAccessError):
        people["nothing"].datasets.duplicate({"base_model_id": made, "table_name": "copied"})
    assert people["nothing"].datasets.update(made, {"description": "mine"}).description == "mine"
    assert ids(people["nothing"], made) == [1, 4, 9]

"""Statements that analysts write: the rows are the driver's own, and under row rules those of a permitted mirror."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.analytic_statements import RULES, TABLES, VIEWS, in_dialect, statements
from tests.support.cases import for_each
from tests.support.mirrors import Mirror, Mirrored, comparable, mirrored
from tests.support.tenant_world import ENGINES, url_on

from analytics_core import AnalyticsCore
from analytics_core.errors import AnalyticsError, DatabaseError, StatementError, StatementRefusedError


@pytest.fixture(scope="module", params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrored]:
    engine, folder = request.param, tmp_path_factory.mktemp("statements")
    urls = [url_on(request, folder)] + [
        f"{engine}:///:memory:" if engine in ("sqlite", "duckdb") else url_on(request, folder) for _ in range(2)
    ]
    tables = {name: in_dialect(engine, made) for name, made in TABLES.items()}
    with mirrored(engine, urls, folder, tables, RULES, VIEWS) as made:
        yield made


def differences(core: AnalyticsCore, mirror: Mirror, schema: str) -> dict[str, str]:
    """Return what `core.sql` answers to statements and a mirror does not, by statement."""
    found = {}
    own, others = statements(mirror.engine, schema), statements(mirror.engine, mirror.schema)
    for sql, by_driver in zip(own, others, strict=True):
        expected = comparable(mirror.rows(by_driver))
        try:
            answer = comparable(core.sql(sql).rows())
        except AnalyticsError as error:
            found[sql] = f"{error} instead of {expected}"
            continue
        if answer != expected:
            found[sql] = f"{answer} instead of {expected}"
    return found


def test_statements_give_the_rows_that_the_driver_gives(world: Mirrored) -> None:
    assert differences(world.admin, world.complete, world.schema) == {}


def test_under_row_rules_statements_give_the_rows_of_a_database_of_permitted_rows(world: Mirrored) -> None:
    assert differences(world.reader, world.permitted, world.schema) == {}


def test_statements_find_tables_in_the_schema_that_is_named_beside_them(world: Mirrored) -> None:
    sql = "WITH items AS (SELECT id FROM large_orders) SELECT COUNT(*) FROM orders JOIN items ON items.id = orders.id"
    for core, mirror in ((world.admin, world.complete), (world.reader, world.permitted)):
        assert core.sql(sql, schema=world.schema).rows() == mirror.rows(sql)


LOST = {
    "a name": "SELECT :k, id AS :k FROM orders",
    "a path": "SELECT :k, JSON_EXTRACT(doc, :k) FROM orders",
    "a table": "SELECT :k AS a FROM :k",
    "a collation": "SELECT :k FROM orders ORDER BY region COLLATE :k",
    "a unit": "SELECT :k, EXTRACT(:k FROM placed) FROM orders",
    "a type": "SELECT :k, CAST(id AS :k) FROM orders",
}


@for_each("sql", LOST.values(), ids=LOST)
def test_a_parameter_that_is_bound_in_one_place_and_lost_in_another_is_refused(world: Mirrored, sql: str) -> None:
    with pytest.raises((StatementError, StatementRefusedError, DatabaseError)) as raised:
        world.reader.sql(sql, params={"k": "Orders"})
    assert "ue0f7" not in ascii(raised.value.message)


ROW_IDS = {"sqlite": ("rowid", "OID", "orders._rowid_"), "duckdb": ("rowid",), "postgresql": ("ctid", "orders.xmin")}
CATALOGS = {"sqlite": "sqlite_master", "duckdb": "duckdb_tables", "postgresql": "pg_class"}


def test_row_numbers_that_rules_would_hide_are_refused(world: Mirrored) -> None:
    for name in ROW_IDS.get(world.engine, ()):
        sql = f"SELECT {name} FROM orders"
        assert world.admin.sql.check(sql) == ()
        assert world.admin.sql(sql).rowcount > 0
        with pytest.raises(StatementRefusedError, match="cannot be read under row rules"):
            world.reader.sql(sql)


def test_relations_of_the_engine_are_no_missing_tables(world: Mirrored) -> None:
    for table in (CATALOGS.get(world.engine), "information_schema.tables" if world.engine != "sqlite" else None):
        if table is not None:
            assert world.admin.sql.check(f"SELECT * FROM {table}") == ()
    assert world.admin.sql.check("SELECT * FROM nowhere") != ()

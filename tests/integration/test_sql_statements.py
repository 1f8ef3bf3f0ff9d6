"""Statements that analysts write: the rows are the driver's own, and under row rules those of a permitted mirror."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from tests.support.analytic_statements import RULES, TABLES, VIEWS, in_dialect, scripts, statements
from tests.support.cases import for_each
from tests.support.mirrors import Mirror, Mirrored, comparable, mirrored
from tests.support.tenant_world import ENGINES, url_on

from analytics_core import AnalyticsCore
from analytics_core.errors import AnalyticsError, DatabaseError, StatementError, StatementRefusedError

Rows = Sequence[Sequence[Any]]
LIGHT = ("sqlite", "duckdb")
"""Engines without a server."""


@pytest.fixture(scope="module", params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrored]:
    engine, folder = request.param, tmp_path_factory.mktemp("statements")
    urls = [url_on(request, folder)] + [
        f"{engine}:///:memory:" if engine in ("sqlite", "duckdb") else url_on(request, folder) for _ in range(2)
    ]
    tables = {name: in_dialect(engine, made) for name, made in TABLES.items()}
    with mirrored(engine, urls, folder, tables, RULES, VIEWS) as made:
        made.admin.databases.update(1, {"allow_dml": True, "allow_ctas": True, "allow_cvas": True})
        yield made


def differences(core: AnalyticsCore, mirror: Mirror, schema: str) -> dict[str, str]:
    """Return what `core.sql` answers to statements and a mirror does not, by statement."""
    found = {}
    for sql in statements(mirror.engine):
        expected = mirror.rows(sql.replace("{schema}", mirror.schema))
        note(found, sql, expected, lambda sql=sql: core.sql(sql.replace("{schema}", schema)).rows())
    return found


def note(found: dict[str, str], sql: str, expected: Rows, answer: Callable[[], Rows]) -> None:
    """Note a difference, if there is one."""
    try:
        rows = comparable(answer())
    except AnalyticsError as error:
        found[sql] = f"{error} instead of {comparable(expected)}"
        return
    if rows != comparable(expected):
        found[sql] = f"{rows} instead of {comparable(expected)}"


def test_statements_give_the_rows_that_the_driver_gives(world: Mirrored) -> None:
    assert differences(world.admin, world.complete, world.schema) == {}


def test_what_runs_has_no_problem(world: Mirrored) -> None:
    check, queries = world.admin.sql.check, dict.fromkeys(statements(world.engine))
    if world.engine not in LIGHT:  # each check reads the catalog of a server: the others are tried without one
        queries = dict.fromkeys(sql for sql in queries if not any(sql in statements(engine) for engine in LIGHT))
    texts = [sql.replace("{schema}", world.schema).rstrip("; ") for sql in queries]
    scripts_of_ten = ["\n;\n".join(texts[place : place + 10]) for place in range(0, len(texts), 10)]
    assert {script: problems for script in scripts_of_ten if (problems := check(script))} == {}


def test_under_row_rules_statements_give_the_rows_of_a_database_of_permitted_rows(world: Mirrored) -> None:
    assert differences(world.reader, world.permitted, world.schema) == {}


def test_under_row_rules_scripts_give_the_rows_of_a_database_of_permitted_rows(world: Mirrored) -> None:
    found: dict[str, str] = {}
    for script in scripts(world.engine):
        given = [rows for part in script.split("; ") if (rows := world.permitted.rows(part))]
        note(found, script, given[-1], lambda script=script: rows_of_script(world.reader, script))
    assert found == {}


def test_the_guard_takes_three_hundred_statements_of_an_engine_and_refuses_two_in_a_hundred(world: Mirrored) -> None:
    taken = [*statements(world.engine), *scripts(world.engine)]
    for sql in (given := statements(world.engine, refused=True)):
        world.complete.rows(sql)
        with pytest.raises((StatementError, StatementRefusedError)):
            print(world.reader.sql(sql).rows(), sql)
    for script in (more := scripts(world.engine, refused=True)):
        with pytest.raises((StatementError, StatementRefusedError)):
            print(rows_of_script(world.reader, script), script)
    assert len(taken) >= 300
    assert len(given) + len(more) <= 0.02 * len(taken)


def rows_of_script(core: AnalyticsCore, script: str) -> Rows:
    """Return what a script answers."""
    return [tuple(row.values()) for row in core.sql.execute({"database_id": 1, "sql": script}).data]


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

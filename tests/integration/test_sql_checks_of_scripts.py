"""`core.sql.check` reads scripts and changes of data: each statement, with places in the whole text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.cases import for_each
from tests.support.small_core import SmallCore, small_core
from tests.support.tenant_world import ENGINES, TenantWorld, rule, tenant_world, url_on

from analytics_core import AnalyticsCore
from analytics_core.errors import ErrorType

Places = list[tuple[int | None, int | None, tuple[str, ...]]]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallCore]:
    with small_core(tmp_path_factory.mktemp("shop")) as made:
        made.core.databases.update(1, {"allow_dml": True, "allow_ctas": True})
        yield made


def places(core: AnalyticsCore, sql: str) -> Places:
    return [(one.line, one.column, one.suggestions) for one in core.sql.check(sql, database=1)]


SCRIPTS: dict[str, Places] = {
    "SELECT id FROM orders; SELECT name FROM people": [],
    "SELECT id FROM orders;\nSELECT nam FROM people;\n  SELECT iid FROM orders": [(2, 8, ("name",)), (3, 10, ("id",))],
    "SELECT 1; SELECT ammount FROM orders": [(1, 18, ("amount",))],
    "WITH t AS (SELECT ammount FROM orders) SELECT ammount FROM t": [(1, 19, ("amount",))],
    "WITH t AS (SELECT id, ammount FROM orders UNION SELECT 1, 2) SELECT t.ammount FROM t": [(1, 23, ("amount",))],
    "WITH t AS (SELECT 1 AS ammount) SELECT ammount FROM orders": [(1, 40, ("amount",))],
    "WITH t AS (SELECT 1 AS ammount) SELECT id FROM orders WHERE EXISTS (SELECT ammount FROM t)": [],
    "WITH t AS (SELECT id AS x FROM orders), u AS (SELECT x FROM t AS q) SELECT x, (SELECT u.x) FROM u": [],
    "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT n FROM t": [],
    "SELECT ammount AS ammount FROM orders": [(1, 8, ("amount",))],
    "SELECT SUM(amount) AS total FROM orders GROUP BY country ORDER BY total": [],
    "SELECT ammount FROM (SELECT ammount FROM orders) AS q": [(1, 29, ("amount",))],
    "SELECT (SELECT x FROM (SELECT o.id AS x) AS q) FROM orders AS o": [],
    "SELECT id FROM orders AS o WHERE EXISTS (WITH t AS (SELECT o.amount AS x) SELECT x FROM t)": [],
    "SELECT 1;\n\nSELECT id FROM": [(3, 11, ())],
    "SELECT 1; SELECT load_extension('x'); SELECT idd FROM orders": [(1, 11, ()), (1, 46, ("id",))],
    "SELECT 1;\nSELECT :one": [(2, 1, ())],
    "EXPLAIN SELECT idd FROM orders": [(1, 16, ("id",))],
    "SELECT 1;\nEXPLAIN QUERY PLAN SELECT idd FROM orders": [(2, 27, ("id",))],
    "INSERT INTO orders (id, day) VALUES (3, '2024-01-03')": [],
    "INSERT INTO orders (id, dai) VALUES (3, '2024-01-03')": [(1, 25, ("day",))],
    "INSERT INTO ordrs (id) VALUES (3)": [(1, 13, ("orders",))],
    "INSERT INTO orders (id) SELECT amount FROM people": [(1, 32, ())],
    "INSERT INTO orders (id, day) VALUES (1, '') ON CONFLICT (id) DO UPDATE SET day = excluded.day": [],
    "INSERT INTO orders (id, day) VALUES (1, '') ON CONFLICT (id) DO UPDATE SET dai = excluded.day": [
        (1, 76, ("day",))
    ],
    "UPDATE orders SET ammount = 1 WHERE idd = 2": [(1, 19, ("amount",)), (1, 37, ("id",))],
    "UPDATE orders SET amount = (SELECT MAX(born) FROM people WHERE name = orders.country)": [],
    "UPDATE orders SET amount = (SELECT MAX(bron) FROM people WHERE name = orders.country)": [(1, 40, ("born",))],
    "UPDATE orders AS o SET amount = 1 WHERE o.id = 2": [],
    "UPDATE orders AS o SET amount = s.total FROM (SELECT id, 1 AS total FROM orders) AS s WHERE s.id = o.id": [],
    "WITH c AS (SELECT idd AS x FROM orders) DELETE FROM people WHERE name IN (SELECT x FROM c)": [(1, 19, ("id",))],
    "DELETE FROM orders WHERE id = 1 RETURNING contry": [(1, 43, ("country",))],
    "CREATE TABLE made AS SELECT id FROM orders; SELECT anything FROM made; SELECT idd FROM orders": [(1, 79, ("id",))],
    "CREATE TABLE made AS SELECT idd FROM orders": [(1, 29, ("id",))],
    "ALTER TABLE orders ADD COLUMN more INTEGER; UPDATE orders SET more = 1": [],
    "DROP TABLE orders; DROP TABLE IF EXISTS nothing": [],
    "SELECT 1; VACUUM": [(None, None, ())],
    "SELECT 'not closed; SELECT 1": [(None, None, ())],
}


@for_each("sql", SCRIPTS)
def test_each_statement_is_checked_and_places_are_those_of_the_text(shop: SmallCore, sql: str) -> None:
    assert places(shop.core, sql) == SCRIPTS[sql], shop.core.sql.check(sql)


def test_messages_name_the_statement_and_its_place_in_the_text(shop: SmallCore) -> None:
    (problem,) = shop.core.sql.check("SELECT 1;\n\nSELECT id FROM")
    assert problem.message.startswith("statement 2 of 2: ")
    assert "in line 3, column 11" in problem.message


def test_nothing_runs(shop: SmallCore) -> None:
    assert shop.core.sql.check("DELETE FROM orders; CREATE TABLE x AS SELECT * FROM orders", database=1) == ()
    assert shop.core.sql("SELECT COUNT(*) AS n FROM orders", database=1).rows() == [(2,)]


def test_changes_are_a_problem_where_the_database_takes_none(tmp_path: Path) -> None:
    with small_core(tmp_path) as shop:
        first, second = shop.core.sql.check("SELECT 1;\nDELETE FROM orders;\nDROP TABLE people")
        assert [(one.line, one.column, one.error_type) for one in (first, second)] == [
            (2, 1, ErrorType.DML_NOT_ALLOWED_ERROR),
            (3, 1, ErrorType.DML_NOT_ALLOWED_ERROR),
        ]
        assert "allow_dml" in first.message


@pytest.fixture(scope="module", params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TenantWorld]:
    folder = tmp_path_factory.mktemp("checks")
    with tenant_world(request.param, url_on(request, folder), folder) as made:
        made.admin.databases.update(1, {"allow_dml": True})
        made.admin.row_level_security.create(rule(made))
        role = made.admin.roles.create({"name": "narrow"})
        made.admin.roles.grant(role, on=("dataset", 1))
        made.admin.users.create({"username": "narrow", "roles": [role.id]})
        yield made


def test_rules_and_grants_are_problems_of_their_statement(world: TenantWorld) -> None:
    sql = "SELECT id FROM sales;\nDELETE FROM sales;\nSELECT golal FROM targets"
    ruled, name = world.user("acme").sql.check(sql, database=1)
    assert (ruled.line, ruled.error_type) == (2, ErrorType.DML_NOT_ALLOWED_ERROR)
    assert (name.line, name.suggestions) == (3, ("goal",))
    changes, closed = world.user("narrow").sql.check(sql, database=1)
    assert (changes.line, changes.error_type) == (2, ErrorType.DATABASE_SECURITY_ACCESS_ERROR)
    assert (closed.line, closed.error_type) == (3, ErrorType.TABLE_SECURITY_ACCESS_ERROR)
    assert "goal" not in f"{closed.suggestions} {closed.message}"


def test_what_has_no_problem_runs_on_every_engine(world: TenantWorld) -> None:
    sql = (
        "INSERT INTO targets (id, tenant, goal) VALUES (20, 'acme', 1);"
        "UPDATE targets SET goal = (SELECT MAX(t.goal) FROM (SELECT * FROM targets) AS t) WHERE id = 20;"
        "DELETE FROM targets WHERE id = 20; SELECT COUNT(*) AS n FROM targets"
    )
    assert world.admin.sql.check(sql, database=1) == ()
    assert world.admin.sql.execute({"database_id": 1, "sql": sql}).data == ({"n": 3},)
    (problem,) = world.admin.sql.check(sql.replace("SET goal", "SET golal"), database=1)
    assert (problem.line, problem.column, problem.suggestions) == (1, 82, ("goal",))

"""Any SELECT under any row rules gives the rows that it gives in a database of the permitted rows alone."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import pytest
from hypothesis import settings
from pymysql import MySQLError
from tests.faults.servers import own_server, restart
from tests.support.analytic_statements import in_dialect
from tests.support.any_select import AnyDatabase, Writer, any_database
from tests.support.mirrors import Mirrored, comparable, mirrored
from tests.support.missing import skip_or_fail
from tests.support.servers import PrivateServer, ServerMissingError
from tests.support.tenant_world import ENGINES, url_on

from analytics_core.errors import AnalyticsError

A_DATABASE, A_RULE = 500, 50
"""So many statements are written for one database, and for one set of rules on it."""
LEAST_SAME = 0.9
MOST_ROWS = 20_000
"""More rows are not compared: the library cuts at a limit of its own."""
LONGEST_S = 3.0
"""What takes the mirror as long is left out: the library ends statements."""
ENDS = {"postgresql": "SET statement_timeout = '3s'", "mysql": "SET max_statement_time = 3"}
OTHER_PLAN = "SET optimizer_switch = 'derived_merge=off,derived_with_keys=off,in_to_exists=off'"
"""Without them MariaDB gives the right rows for more windows, also after NOT IN, and outer joins of derived tables."""
BUSY = "SELECT id FROM information_schema.processlist WHERE command IN ('Query', 'Killed') AND time > 5"
"""The statements of a server of MariaDB that neither its limit nor KILL has ended."""


@dataclass(frozen=True, kw_only=True)
class Databases:
    """An engine, what makes an empty database in a folder or on the server, and the server, where it may fail."""

    engine: str
    new: Callable[[Path], str]
    server: PrivateServer | None = None


@pytest.fixture
def mariadb_databases() -> Iterator[Databases]:
    with ExitStack() as stack:
        try:
            server: Any = stack.enter_context(own_server("mysql"))
        except ServerMissingError as missing:
            skip_or_fail(str(missing))
        yield Databases(engine="mysql", new=lambda _folder: str(server.make_database()), server=server)


@pytest.fixture(params=ENGINES)
def databases(request: pytest.FixtureRequest) -> Databases:
    if request.param == "mysql":
        found: Databases = request.getfixturevalue("mariadb_databases")
        return found
    return Databases(engine=request.param, new=partial(url_on, request))


def test_rows_are_those_of_a_database_of_permitted_rows(
    databases: Databases, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> None:
    engine, profile = databases.engine, settings.default
    assert profile is not None
    chosen = 0 if profile.derandomize else SystemRandom().randrange(10**9)
    seed = int(pytestconfig.getoption("--hypothesis-seed") or chosen)
    print(f"{engine}: --hypothesis-seed {seed}")
    wanted, found, counted = max(profile.max_examples, 100), list[str](), Counter[str]()
    for number in range(0, wanted, A_DATABASE):
        random, folders = Random(f"{seed}, {number}"), [tmp_path_factory.mktemp("any_select") for _ in range(3)]
        database = any_database(random)
        tables = {name: in_dialect(engine, made) for name, made in database.tables.items()}
        urls, rules = [databases.new(folder) for folder in folders], database.rules(random)
        with mirrored(engine, urls, folders[0], tables, rules, database.views) as world:
            for answer in answers(world, databases.server, database, random, min(A_DATABASE, wanted - number)):
                counted[answer.partition(":")[0]] += 1
                found += [f"block {number}: {answer}"] if ":" in answer else []
    print(*found, dict(counted), sep="\n")
    assert counted["different"] == 0, found
    assert counted["the same"] >= LEAST_SAME * wanted


@pytest.mark.server
def test_a_statement_on_which_the_server_ends_is_left_out(mariadb_databases: Databases, tmp_path: Path) -> None:
    urls, server = [mariadb_databases.new(tmp_path) for _ in range(3)], mariadb_databases.server
    assert server is not None
    with mirrored("mysql", urls, tmp_path, {"t": "a INTEGER | (1), (2)"}, {"t": "a = 1"}, {}) as world:
        assert answer_of_servers(world, server, "SELECT a FROM t") == "the same"
        os.kill(server.pid, signal.SIGKILL)
        assert answer_of_servers(world, server, "SELECT a FROM t") == "left out: the server failed"
        assert answer_of_servers(world, server, "SELECT a FROM t") == "the same"


@pytest.mark.server
def test_rows_that_depend_on_the_plan_of_the_server_are_left_out(mariadb_databases: Databases, tmp_path: Path) -> None:
    sql = (
        "SELECT MAX(c) OVER (ORDER BY a, b, c) AS p FROM seen WHERE c < ANY "
        "(SELECT MIN(seen.c) FROM seen, u GROUP BY seen.a, seen.b)"
    )
    urls, server = [mariadb_databases.new(tmp_path) for _ in range(3)], mariadb_databases.server
    assert server is not None
    tables = {
        "v": "a INTEGER, b INTEGER, c VARCHAR(9), hidden INTEGER | (1, 4, 'y', 0), (NULL, 4, 'z', 0), (4, 1, 'x', 1)",
        "u": "a INTEGER | (3), (2), (0)",
    }
    view = {"seen": "SELECT a, b, c, hidden FROM {all}v WHERE a IS NULL OR a IN (SELECT 1 FROM {all}u)"}
    with mirrored("mysql", urls, tmp_path, tables, {"v": "a = 1", "u": "a >= 0", "seen": "hidden = 0"}, view) as world:
        assert world.permitted.rows(sql) == [], "the server has no fault any more"
        assert answer_of_servers(world, server, sql) == "left out: the server's rows depend on its plan"
        assert answer_of_servers(world, server, "SELECT a FROM seen") == "the same"


@pytest.mark.server
def test_clauses_called_like_tables_do_not_end_the_server(mariadb_databases: Databases, tmp_path: Path) -> None:
    crashes = (
        "WITH u AS (SELECT a FROM v UNION SELECT a FROM v AS w), v AS (WITH x AS (SELECT a FROM u) SELECT 1 AS a), "
        "t AS (SELECT a FROM u) SELECT t.a FROM t, v"
    )
    hangs = (
        "WITH t AS (WITH u AS (SELECT a FROM u UNION SELECT a FROM t), x AS (SELECT p.a FROM u AS p, u AS q) "
        "SELECT a FROM u), u AS (SELECT 60 AS a UNION ALL SELECT p.a FROM t AS p, t AS q), v AS (SELECT a FROM t) "
        "SELECT a FROM u"
    )
    flat = (
        "WITH v AS (SELECT a FROM u), u AS (SELECT v.a FROM v, u), "
        "t AS (SELECT v.a FROM v, u UNION SELECT q.a FROM (SELECT a FROM v) AS q) SELECT a FROM t"
    )
    urls, server = [mariadb_databases.new(tmp_path) for _ in range(3)], mariadb_databases.server
    assert server is not None
    tables = dict.fromkeys("tuv", "a INTEGER | (1), (2)")
    with mirrored("mysql", urls, tmp_path, tables, {"u": "a > 0"}, {}) as world:
        for asker in (world.admin, world.reader):
            assert sorted(asker.sql(crashes).rows()) == [(1,), (2,)]
            assert sorted(asker.sql(hangs).rows()) == [(1,), (1,), (2,), (2,), (60,)]
            assert sorted(asker.sql(flat).rows()) == [(1,), (2,)]
    assert not has_failed(server)


def answers(
    world: Mirrored, server: PrivateServer | None, database: AnyDatabase, random: Random, many: int
) -> Iterator[str]:
    """Yield how the library answers any statements, beside the mirror of permitted rows."""
    end_long_statements(world)
    writer = Writer(random, world.engine, database)
    for number in range(many):
        if number % A_RULE == 0:
            world.rules.clauses.update(database.rules(random))
            world.permitted.keep(world.rules.clauses, database.tables)
        sql = writer.statement()
        answer = answer_of_servers(world, server, sql)
        yield f"{answer} under {world.rules.clauses} for {sql}" if ":" in answer else answer


def answer_of_servers(world: Mirrored, server: PrivateServer | None, sql: str) -> str:
    """Return how the library answers a statement; a server that fails on it is started again."""
    answer = answer_to(world, sql)
    if server is None or answer == "the same" or not has_failed(server):
        return answer
    restart(server)
    world.permitted.connect_again()
    end_long_statements(world)
    return "left out: the server failed"


def end_long_statements(world: Mirrored) -> None:
    """Let the server end what takes the mirror long."""
    if world.engine in ENDS:
        world.permitted.rows(ENDS[world.engine])


def has_failed(server: PrivateServer) -> bool:
    """Tell whether a server is gone, or busy for good with a statement that should have ended."""
    try:
        return bool(server.execute(BUSY))
    except server.driver_errors():
        return True


def answer_to(world: Mirrored, sql: str) -> str:
    """Return how the library answers a statement, beside the mirror."""
    began = time.monotonic()
    try:
        expected: list[Any] | Exception = world.permitted.rows(sql.replace("{schema}", world.permitted.schema))
    except Exception as error:
        expected = error
    if time.monotonic() - began > LONGEST_S or (isinstance(expected, list) and len(expected) > MOST_ROWS):
        return "too long"
    try:
        result = world.reader.sql(sql.replace("{schema}", world.schema))
        result.raise_for_error()
    except AnalyticsError as error:
        return "refused by both" if isinstance(expected, Exception) else f"different: {error} instead of {expected}"
    if isinstance(expected, list) and comparable(result.rows()) == comparable(expected):
        return "the same"
    if world.engine == "mysql" and (
        agree_by_another_plan(world, sql, str(result.query)) or comparable(result.rows()) == rows_of_views(world, sql)
    ):
        return "left out: the server's rows depend on its plan"
    return f"different: {result.rows()} instead of {expected}"


def rows_of_views(world: Mirrored, sql: str) -> list[str] | None:
    """Return the mirror's rows where each table is a view that MariaDB plans apart, as it does a relation under rules.

    The statement and its rows are the same: where the answers differ, the fault is the server's. It is seen with
    windows beside `< ANY` and IN of a sub-query.
    """
    mirror, views = world.permitted, f"{world.permitted.schema}_views"
    try:
        mirror.rows(f"CREATE OR REPLACE DATABASE {views}")
        for name in world.rules.clauses:
            rows = f"SELECT * FROM {mirror.schema}.`{name}` LIMIT 18446744073709551615"
            mirror.rows(f"CREATE VIEW {views}.`{name}` AS {rows}")
        mirror.rows(f"USE {views}")
        return comparable(mirror.rows(sql.replace("{schema}", views)))
    except MySQLError:
        return None
    finally:
        with suppress(MySQLError):  # of a lost connection
            mirror.rows(f"USE {mirror.schema}")


def agree_by_another_plan(world: Mirrored, sql: str, sent: str) -> bool:
    """Tell whether the mirror and what the library has sent give the same rows once MariaDB plans both otherwise."""
    mirror = world.permitted
    mirror.rows(OTHER_PLAN)
    try:
        expected = mirror.rows(sql.replace("{schema}", mirror.schema))
        mirror.rows(f"USE {world.schema}")
        return comparable(mirror.rows(sent)) == comparable(expected)
    except MySQLError:
        return False
    finally:
        with suppress(MySQLError):  # of a lost connection
            mirror.rows(f"USE {mirror.schema}")
            mirror.rows("SET optimizer_switch = 'default'")

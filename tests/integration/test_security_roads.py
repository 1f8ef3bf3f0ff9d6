"""Every road that takes SQL, on every engine: hostile text is a typed refusal without effect, look-alikes are answered.

The texts name what each engine would do: attach, copy, read files, sleep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest
from tests.support.attacks import ROADS, STRUCTURES, attack, hostile_texts
from tests.support.cases import for_each
from tests.support.security_world import (
    AGGREGATE_ROADS,
    CONDITION_ROADS,
    FILE_SECRET,
    FRAGMENT_ROADS,
    GROUP_ROADS,
    HIDDEN,
    HIDDEN_NUMBER,
    SECRET,
    STATEMENT_ROADS,
    VALUE_ROADS,
    World,
    rejection,
    reset,
    security_world,
)

from analytics_core import errors

ENGINES = [
    "sqlite",
    "duckdb",
    pytest.param("postgresql", marks=pytest.mark.server),
    pytest.param("mysql", marks=pytest.mark.server),
]


@pytest.fixture(scope="module", params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("audited")
    url = f"{request.param}:///{folder}/shop.db"
    if request.param == "postgresql":
        url = request.getfixturevalue("make_postgres_database")()
    if request.param == "mysql":
        url = request.getfixturevalue("make_mariadb_database")()
    with security_world(request.param, url, folder) as made:
        yield made


DRIVERS = {"sqlalchemy", "sqlite3", "duckdb", "_duckdb", "psycopg", "pymysql"}
RELATIONS = (
    "(SELECT secret FROM vault)",
    "(SELECT MAX(secret) FROM vault) IS NOT NULL",
    "EXISTS (SELECT 1 FROM vault WHERE secret LIKE 's%')",
    "id IN (SELECT id FROM vault)",
)
"""Refused in fragments; the author of a virtual dataset has a grant on the whole database."""

NO_EXPRESSIONS = (
    "1 = 1) OR (1 = 1",
    "1 = 1; DROP TABLE orders",
    "1); DELETE FROM orders; --",
    "1 = 1 UNION SELECT secret FROM vault",
    "id, secret FROM vault --",
)
DEEP = "DATE(" * 20 + "id" + ")" * 20
"""The SQL parser would read the innermost name a million times."""

STATEMENTS: Mapping[str, tuple[str, ...]] = {
    "all": (
        "DELETE FROM orders",
        "SELECT id FROM orders; DELETE FROM orders",
        "INSERT INTO orders (id) VALUES (9)",
        "WITH gone AS (SELECT 1) DELETE FROM orders",
        "CREATE TABLE loot AS SELECT * FROM vault",
        "DROP TABLE orders",
    ),
    "sqlite": (
        "ATTACH DATABASE '{folder}/loot.db' AS loot",
        "VACUUM INTO '{folder}/loot.db'",
        "PRAGMA query_only = OFF",
        "PRAGMA writable_schema = 1",
        "SELECT name AS id FROM pragma_database_list",
        "SELECT file AS id FROM pragma_database_list()",
    ),
    "duckdb": (
        "COPY orders TO '{folder}/loot.csv'",
        "COPY orders FROM '{folder}/secret.csv'",
        "ATTACH '{folder}/loot.duckdb' AS loot",
        "EXPORT DATABASE '{folder}/loot'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SELECT a AS id FROM read_csv('{folder}/secret.csv')",
        "SELECT a AS id FROM read_csv_auto(['{folder}/secret.csv'])",
        "SELECT a AS id FROM '{folder}/secret.csv'",
        'SELECT a AS id FROM "{folder}/secret.csv"',
        "SELECT content AS id FROM read_text('{folder}/*')",
        "SELECT file AS id FROM glob('{folder}/*')",
        "SELECT secret AS id FROM query('SELECT secret FROM vault')",
        "FROM read_blob('{folder}/secret.csv')",
    ),
    "postgresql": (
        "COPY orders TO '/tmp/analytics_core_loot'",
        "COPY (SELECT 1) TO PROGRAM 'touch /tmp/analytics_core_loot'",
        "SELECT id INTO loot FROM orders",
        "WITH gone AS (DELETE FROM orders RETURNING id) SELECT id FROM gone",
        "DO $$ BEGIN DELETE FROM orders; END $$",
        "SET transaction_read_only = off",
        "SELECT id FROM orders FOR UPDATE",
        "SELECT x.id FROM dblink('dbname=x', 'SELECT 1') AS x(id INT)",
    ),
    "mysql": (
        "SELECT id FROM orders INTO OUTFILE '/tmp/analytics_core_loot'",
        "SELECT id INTO DUMPFILE '/tmp/analytics_core_loot' FROM orders",
        "LOAD DATA INFILE '/etc/passwd' INTO TABLE orders",
        "SET SESSION TRANSACTION READ WRITE",
        "HANDLER orders OPEN",
        "SELECT id FROM orders FOR UPDATE",
    ),
}
FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "sqlite": (
        "load_extension('x')",
        "readfile('{folder}/secret.csv')",
        "writefile('{folder}/loot', 'x')",
        "randomblob(1000000000)",
    ),
    "duckdb": ("getenv('HOME')", "json_serialize_plan('SELECT secret FROM vault')", "current_setting('x')"),
    "postgresql": (
        "pg_read_file('/etc/passwd')",
        "pg_sleep(9)",
        "set_config('transaction_read_only', 'off', false)",
        "lo_import('/etc/passwd')",
        "query_to_xml('SELECT secret FROM vault', true, true, '')",
    ),
    "mysql": (
        "LOAD_FILE('/etc/passwd')",
        "SLEEP(9)",
        "BENCHMARK(1, 1)",
        "sys.ps_thread_account(1)",
        "GET_LOCK('x', 1)",
    ),
}
READERS: Mapping[str, tuple[str, ...]] = {
    "sqlite": ("id IN vault",),
    "duckdb": ("stats(city)", "(FROM read_text('{folder}/secret.csv'))", "read_csv('{folder}/secret.csv')"),
    "postgresql": (
        "CAST(pg_stat_get_activity(NULL) AS TEXT)",
        "pg_catalog.pg_stat_get_backend_activity(1)",
        "pg_stat_get_live_tuples(CAST('vault' AS regclass))",
        "pg_show_all_settings()",
    ),
    "mysql": ("(TABLE vault)",),
}
"""What shows rows of others in a fragment, whoever's rows the rules hide."""

HARMLESS = (
    "1; DROP TABLE orders",
    "(SELECT secret FROM vault)",
    "ATTACH DATABASE ''x'' AS y",
    "COPY orders TO ''x''; -- /* pg_sleep(9) */",
    "read_csv(''/etc/passwd'') LOAD_FILE(''x'') load_extension(''x'')",
    "{ not a template }",
)


def hostile_fragments(world: World) -> list[str]:
    engine = world.engine
    texts = [DEEP]
    texts += [
        *RELATIONS,
        *NO_EXPRESSIONS,
        *STATEMENTS["all"],
        *STATEMENTS[engine],
        *FUNCTIONS[engine],
        *READERS[engine],
    ]
    return [text.format(folder=world.folder) for text in texts]


def hostile_statements(world: World) -> list[str]:
    called = [f"SELECT {text} AS id FROM orders" for text in (DEEP, *FUNCTIONS[world.engine])]
    texts = [*STATEMENTS["all"], *STATEMENTS[world.engine], *called]
    return [text.format(folder=world.folder) for text in texts]


def chained(error: BaseException) -> Iterator[BaseException]:
    """Give the exceptions behind an error, suppressed ones too."""
    behind = error.__cause__ or error.__context__
    while behind is not None:
        yield behind
        behind = behind.__cause__ or behind.__context__


def assert_refused(world: World, road: Callable[[World, str], str], texts: list[str]) -> None:
    """Every text is refused by a typed error that shows nothing, and has no effect on database or files."""
    before = world.contents(), world.files()
    for text in texts:
        error = rejection(world, road, text)
        assert error is not None, f"answered: {text}"
        for secret in (SECRET, FILE_SECRET, HIDDEN):
            assert secret not in f"{error} {error.to_payload()}", text
        assert not DRIVERS & {type(behind).__module__.partition(".")[0] for behind in chained(error)}, text
    assert (world.contents(), world.files()) == before


@pytest.mark.slow
def test_what_an_engine_would_quote_of_a_hidden_row_comes_back_on_no_road(world: World) -> None:
    """A part of the session `attacks`, which tries all texts on all roads, and as other users of the database."""
    roads = {name: ROADS[name] for name in ("where", "ad-hoc column", "explain", "virtual, selected")}
    figures = attack(world, roads, hostile_texts(world.engine)[len(STRUCTURES) :: 4])
    assert (figures.through, figures.raw) == ([], [])
    assert min(figures.tried["refused"], figures.tried["answered"]) > 0


@pytest.mark.slow
@for_each("road", FRAGMENT_ROADS)
def test_hostile_fragments_are_refused(world: World, road: str) -> None:
    assert_refused(world, FRAGMENT_ROADS[road], hostile_fragments(world))


@for_each("road", STATEMENT_ROADS)
def test_hostile_statements_are_refused(world: World, road: str) -> None:
    assert_refused(world, STATEMENT_ROADS[road], hostile_statements(world))


@pytest.mark.slow
@for_each("road", [road for road in FRAGMENT_ROADS if road != "row rule"])
def test_no_condition_or_column_shows_a_hidden_row(world: World, road: str) -> None:
    widened = {
        **dict.fromkeys(CONDITION_ROADS, "1 = 1 OR visible = 0"),
        **dict.fromkeys(GROUP_ROADS, "MAX(visible) = 0 OR 1 = 1"),
        **dict.fromkeys(VALUE_ROADS, "city"),
        **dict.fromkeys(AGGREGATE_ROADS, "MAX(city)"),
    }
    try:
        answer = FRAGMENT_ROADS[road](world, widened[road])
        assert (HIDDEN in answer, str(HIDDEN_NUMBER) in answer) == (False, False)
    finally:
        reset(world)


@pytest.mark.slow
@for_each("text", HARMLESS)
def test_harmless_look_alikes_are_answered_on_every_road(world: World, text: str) -> None:
    literal = f"'{text}'"
    flag = f"CASE WHEN city = {literal} THEN 1 ELSE 0 END"
    written = {
        **dict.fromkeys(CONDITION_ROADS, f"id > 0 AND (city IS NULL OR city <> {literal})"),
        **dict.fromkeys(GROUP_ROADS, f"MAX({flag}) = 0"),
        **dict.fromkeys(VALUE_ROADS, flag),
        **dict.fromkeys(AGGREGATE_ROADS, f"MAX({flag})"),
        **dict.fromkeys(STATEMENT_ROADS, f"SELECT id, visible, {literal} AS note FROM orders -- {text}\n"),
    }
    roads = {**FRAGMENT_ROADS, **STATEMENT_ROADS}
    for road in [*roads][HARMLESS.index(text) % 2 :: 2]:  # each road takes every other text
        error = rejection(world, roads[road], written[road])
        assert error is None, f"{road}: {error}"


@pytest.mark.slow
def test_every_value_of_a_person_stays_a_value(world: World) -> None:
    for text in (*HARMLESS, *hostile_fragments(world), "\\' OR 1=1 --", "%(p0)s :p0 $p0 ?"):
        for op, value in (("==", text), ("IN", [text]), ("LIKE", text)):
            answer = world.ask({"columns": ["id"], "filters": [{"col": "city", "op": op, "val": value}]})
            assert '"rowcount":0' in answer


@pytest.mark.slow
def test_names_of_a_payload_are_looked_up_and_never_written(world: World) -> None:
    before = world.contents(), world.files()
    for text in hostile_fragments(world):
        for query in ({"columns": [text]}, {"metrics": [text]}, {"columns": ["id"], "orderby": [[text, True]]}):
            with pytest.raises(errors.AnalyticsError):
                world.ask(query)
    assert (world.contents(), world.files()) == before


def test_a_label_is_quoted_whatever_it_holds(world: World) -> None:
    for label in ('x" FROM vault --', "x` FROM vault #", "a]b", "it's", "1; DROP TABLE orders", "100% %(p0)s :p0 ?"):
        answer = world.ask({"columns": [{"label": label, "sqlExpression": "id"}]})
        assert SECRET not in answer
        assert '"rowcount":2' in answer


@for_each("name", ["{folder}/secret.csv", "read_csv('{folder}/secret.csv')", "vault; DROP TABLE orders"])
def test_a_table_is_a_name_and_never_a_file_or_a_function(world: World, name: str) -> None:
    before = world.contents(), world.files()
    # PostgreSQL would cut a long name: it is refused before the database is asked.
    with pytest.raises((errors.DatabaseError, errors.StatementRefusedError)) as rejected:
        world.core.datasets.create({"database": 1, "table_name": name.format(folder=world.folder)})
    assert FILE_SECRET not in str(rejected.value.to_payload())
    assert (world.contents(), world.files()) == before


def test_the_cap_holds_for_a_limit_that_a_person_wrote(world: World) -> None:
    sql = "SELECT a.id, a.visible FROM orders a CROSS JOIN orders b LIMIT 1000000"
    created = world.core.datasets.create({"database": 1, "table_name": world.new_name(), "sql": sql})
    plan = world.core.charts.explain(
        {"datasource": {"id": created.id, "type": "table"}, "queries": [{"columns": ["id"], "row_limit": 0}]}
    ).queries[0]
    assert plan.failure is None
    assert "100001" in (plan.sql or "")  # one row more than `max_row_limit`, to know that rows are missing

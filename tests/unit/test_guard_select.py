"""The SQL of a virtual dataset is one read-only query, and is sent as it was checked."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import duckdb
import pytest
import sqlglot
from tests.support.cases import for_each
from tests.support.fragments import ENGINES, engine

from analytics_core._engine.compile.fragments.sql_nodes import NodeIndex
from analytics_core._engine.gate.guard import check_select, means_the_same
from analytics_core._engine.gate.relations import relations_in
from analytics_core.errors import AnalyticsError, ErrorType, StatementRefusedError, VirtualDatasetError

READS = [
    "SELECT 1",
    "select * from orders;",
    "SELECT * FROM orders; -- the end",
    "SELECT 'drop table orders; delete from x' AS words FROM orders",
    "SELECT a FROM orders WHERE b = '/*! no */'",
    "SELECT * FROM orders WHERE a IN (SELECT a FROM customers)",
    "(SELECT 1) UNION ALL SELECT 2 FROM customers",
    "SELECT 1 UNION SELECT 2 EXCEPT SELECT 3",
    "WITH x AS (SELECT * FROM orders) SELECT * FROM x",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r",
    "SELECT a, COUNT(*) FROM orders GROUP BY 1 HAVING COUNT(*) > 1 ORDER BY 2 DESC LIMIT 5 OFFSET 2",
    "SELECT o.*, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b DESC) AS n FROM orders AS o LEFT JOIN c USING (id)",
    "SELECT (SELECT MAX(a) FROM customers) AS m, CASE WHEN a THEN 'x;y' ELSE 'z--' END FROM orders",
    "SELECT CAST(a AS DECIMAL(10, 2)), a % 2, '%' FROM orders",
    "SELECT update_time, deleted, created FROM insert_log",
    "SELECT * FROM orders CROSS JOIN customers",
    "SELECT DISTINCT a FROM orders WHERE EXISTS (SELECT 1 FROM customers)",
]
ROWS_OF_WITH = "WITH x(a, b) AS (VALUES (1, 2), (3, 4)) SELECT a FROM x"


@for_each("on", ENGINES)
@for_each("sql", READS)
def test_queries_are_accepted(sql: str, on: str) -> None:
    assert check_select(sql, spec=engine(on), place="dataset 'd'").sql


@for_each("on", ["sqlite", "duckdb", "postgresql"])
def test_rows_of_a_with_clause_are_no_new_group_of_operators(on: str) -> None:
    assert check_select(ROWS_OF_WITH, spec=engine(on), place="d").sql
    if engine(on).syntax.groups_comparisons:
        for more in (" WHERE a = b NOT IN (1)", " WHERE a NOT IN (1) = b"):
            with pytest.raises(StatementRefusedError, match="grouped differently"):
                check_select(ROWS_OF_WITH + more, spec=engine(on), place="d")


@for_each("on", ENGINES)
@for_each(
    "sql",
    [
        "DELETE FROM orders",
        "INSERT INTO orders VALUES (1)",
        "UPDATE orders SET a = 1",
        "MERGE INTO orders USING x ON 1 = 1 WHEN MATCHED THEN DELETE",
        "REPLACE INTO orders VALUES (1)",
        "CREATE TABLE x (a INT)",
        "CREATE TABLE x AS SELECT 1",
        "DROP TABLE orders",
        "ALTER TABLE orders ADD COLUMN x INT",
        "TRUNCATE TABLE orders",
        "WITH x AS (DELETE FROM orders RETURNING *) SELECT * FROM x",
        "WITH x AS (INSERT INTO orders VALUES (1) RETURNING *) SELECT * FROM x",
        "SELECT * INTO copy FROM orders",
        "SELECT * FROM orders FOR UPDATE",
        "EXPLAIN SELECT 1",
        "EXPLAIN ANALYZE DELETE FROM orders",
        "CALL f()",
        "SET x = 1",
        "BEGIN",
        "COMMIT",
        "COPY orders TO '/tmp/x'",
        "ATTACH '/tmp/x' AS y",
        "PRAGMA table_info(orders)",
        "VACUUM",
        "VACUUM INTO '/tmp/x'",
        "KILL 5",
        "USE other",
        "SHOW TABLES",
        "DESCRIBE orders",
        "LOCK TABLES orders READ",
        "GRANT ALL ON orders TO public",
        "DO $$ BEGIN END $$",
        "PREPARE x AS DELETE FROM orders",
        "EXECUTE x",
        "LISTEN x",
        "INSTALL httpfs",
        "LOAD httpfs",
        "EXPORT DATABASE 'x'",
        "HANDLER orders OPEN",
        "DECLARE c CURSOR FOR SELECT 1",
        "SELECT * FROM orders LIMIT ?",
        "SELECT * FROM orders WHERE a = :p0",
    ],
)
def test_whatever_is_no_plain_query_is_refused(sql: str, on: str) -> None:
    with pytest.raises(StatementRefusedError, match=r"^dataset 'd': ") as caught:
        check_select(sql, spec=engine(on), place="dataset 'd'")
    assert caught.value.error_type is ErrorType.DML_NOT_ALLOWED_ERROR
    assert ("databases.tables" in caught.value.message) == sql.startswith(("SHOW", "DESCRIBE", "PRAGMA"))


@for_each("on", ENGINES)
@for_each(
    ("sql", "message"),
    [
        ("", "it is empty"),
        (" ; ; ", "it is empty"),
        ("-- nothing", "it is empty"),
        ("SELECT 1; SELECT 2", "it holds several statements"),
        ("SELECT 1; DROP TABLE orders", "it holds several statements"),
        ("SELEC 1", r"no statement begins with SELEC; did you mean SELECT\?"),
        ("SELECT a b c FROM orders", "it is not valid SQL: see 'c' in line 1"),
        ("SELECT 'open", "a quote or comment is not closed"),
        ("SELECT {{ x }}", "template marks"),
        ("SELECT 1 /*! + 1 */", "comments that some servers execute"),
        ("SELECT a\x00b", r"control character U\+0000"),
        ("SELECT " + "(" * 9_000 + "1" + ")" * 9_000, "nested too deeply"),
    ],
)
def test_what_is_not_one_statement_is_refused(sql: str, message: str, on: str) -> None:
    with pytest.raises(VirtualDatasetError, match=message):
        check_select(sql, spec=engine(on), place="dataset 'd'")


@for_each(
    ("on", "sql"),
    [
        ("postgresql", "SELECT pg_sleep(5)"),
        ("postgresql", "SELECT * FROM dblink('x', 'y')"),
        ("postgresql", "SELECT * FROM pg_ls_dir('/')"),
        ("postgresql", "SELECT nextval('s')"),
        ("mysql", "SELECT LOAD_FILE('/etc/passwd')"),
        ("mysql", "SELECT 1 WHERE SLEEP(5) = 0"),
        ("mysql", "SELECT a INTO @x FROM orders"),
        ("sqlite", "SELECT load_extension('x')"),
        ("sqlite", "SELECT * FROM pragma_table_info('orders')"),
        ("sqlite", "SELECT * FROM pragma_database_list"),
        ("sqlite", "SELECT * FROM fsdir('/')"),
        ("duckdb", "SELECT * FROM read_csv('/etc/passwd')"),
        ("duckdb", "SELECT * FROM '/etc/passwd'"),
        ("duckdb", "SELECT * FROM 'data.parquet'"),
        ("duckdb", 'SELECT * FROM "data.csv"'),
        ("duckdb", "SELECT * FROM 'https://example.org/x.json'"),
        ("duckdb", "SELECT * FROM glob('*')"),
        ("duckdb", "SELECT * FROM query('DROP TABLE orders')"),
        ("duckdb", "SELECT * FROM duckdb_secrets()"),
        ("duckdb", "FROM sniff_csv('x')"),
        ("duckdb", "PIVOT 'data.csv' ON a USING SUM(b)"),
        ("duckdb", "UNPIVOT read_csv('/etc/passwd') ON a, b"),
        ("duckdb", "PIVOT duckdb_secrets() ON name USING COUNT(*)"),
        ("duckdb", "WITH q AS (SELECT * FROM 'data.csv') PIVOT q ON a IN (1) USING SUM(b)"),
        ("duckdb", "PIVOT orders ON a IN (1) USING MAX(getenv('HOME'))"),
    ],
)
def test_functions_and_files_that_reach_outside_are_refused(on: str, sql: str) -> None:
    with pytest.raises(StatementRefusedError, match=r"dataset 'd': .*(not allowed|is a file)"):
        check_select(sql, spec=engine(on), place="dataset 'd'")


@for_each("on", [*ENGINES, "bigquery", "databricks", "spark"])
def test_steps_after_pipes_are_refused(on: str) -> None:
    """The parser made one SELECT of them, which filtered before it cut the rows."""
    for sql in ("FROM orders |> LIMIT 1 |> WHERE a > 1", "SELECT a FROM orders |> RIGHT JOIN b ON a = b.x"):
        with pytest.raises(VirtualDatasetError, match="write them as sub-queries"):
            check_select(sql, spec=engine(on), place="d")
    assert "|>" in check_select("SELECT '|> LIMIT' AS a", spec=engine(on), place="d").sql


def test_comments_and_hints_are_not_sent() -> None:
    source = check_select(
        "SELECT /*+ MAX_EXECUTION_TIME(0) */ 1 -- x\n FROM a /* y */", spec=engine("mysql"), place="d"
    )
    assert source.sql == "SELECT 1 FROM a"


def test_the_meaning_of_regexp_is_kept_for_mariadb() -> None:
    source = check_select("SELECT a FROM t WHERE a REGEXP 'x'", spec=engine("mysql"), place="d")
    assert source.sql == "SELECT a FROM t WHERE (REGEXP_INSTR(a, 'x') > 0)"


@pytest.mark.slow
def test_a_long_in_list_is_read_in_time() -> None:
    members = ", ".join(map(str, range(10_000)))
    assert check_select(f"SELECT a FROM t WHERE a IN ({members})", spec=engine("sqlite"), place="d").sql


RUNNABLE = [
    "WITH x AS (SELECT a, b FROM orders WHERE a > 1) SELECT b, SUM(a) AS s FROM x GROUP BY b ORDER BY s DESC, b",
    "SELECT o.a, c.n FROM orders o LEFT JOIN customers c ON c.a = o.a AND c.n LIKE '%x%' ORDER BY 1, 2",
    "SELECT a, ROW_NUMBER() OVER (PARTITION BY b ORDER BY a) AS n FROM orders ORDER BY a",
    "SELECT a FROM orders UNION SELECT a FROM customers ORDER BY 1 LIMIT 3 OFFSET 1",
    "SELECT CASE WHEN a % 2 = 0 THEN 'even' ELSE 'odd' END AS k, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY 1",
    "SELECT a / 2 * 2 - (a - 1) AS x FROM orders WHERE NOT (a = 1 OR b = 'x') AND a NOT IN (9) ORDER BY 1",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT n FROM r ORDER BY n",
    "SELECT (SELECT MAX(a) FROM customers) AS m, 'it''s; --' AS t FROM orders WHERE EXISTS (SELECT 1 FROM customers)",
]
TABLES = [
    "CREATE TABLE orders (a INTEGER, b TEXT)",
    "INSERT INTO orders VALUES (1, 'x'), (2, 'y'), (3, 'x'), (4, NULL), (5, 'z')",
    "CREATE TABLE customers (a INTEGER, n TEXT)",
    "INSERT INTO customers VALUES (1, 'xx'), (2, 'y'), (7, NULL)",
]


@for_each("sql", RUNNABLE)
def test_the_checked_query_answers_as_the_written_one(sql: str) -> None:
    with closing(sqlite3.connect(":memory:")) as lite, closing(duckdb.connect()) as duck:
        for statement in TABLES:
            lite.execute(statement)
            duck.execute(statement)
        lite_sql = check_select(sql, spec=engine("sqlite"), place="d").sql
        assert lite.execute(lite_sql).fetchall() == lite.execute(sql).fetchall()
        duck_sql = check_select(sql, spec=engine("duckdb"), place="d").sql
        assert duck.execute(duck_sql).fetchall() == duck.execute(sql).fetchall()


@for_each("on", ENGINES)
@for_each("sql", ["SELECT", "SELECT (", "WITH", "SELECT * FROM", "(((", "SELECT FROM a", "VALUES", "FROM"])
def test_broken_text_is_a_typed_error(sql: str, on: str) -> None:
    with pytest.raises(AnalyticsError):
        assert not check_select(sql, spec=engine(on), place="d").sql.endswith("(")


@for_each("on", ENGINES)
@for_each(
    "other",
    [
        "SELECT x FROM customers",
        "SELECT x FROM shop.orders",
        "SELECT x FROM orders, customers",
        "SELECT x FROM orders WHERE x IN (SELECT x FROM customers)",
        "WITH orders AS (SELECT 1 AS x) SELECT x FROM orders",
        "SELECT x",
    ],
)
def test_a_query_that_reads_other_relations_does_not_mean_the_same(other: str, on: str) -> None:
    spec = engine(on)
    one, same, two = map(_index, ("SELECT x FROM orders", "SELECT x FROM orders AS o", other))
    reads = {index: relations_in(index, spec) for index in (one, same, two)}
    assert means_the_same(one, same, reads[one], reads[same])
    assert not means_the_same(one, two, reads[one], reads[two])
    assert not means_the_same(two, one, reads[two], reads[one])


def test_a_query_that_groups_its_operators_in_another_way_does_not_mean_the_same() -> None:
    texts = ("SELECT a - b - c AS x FROM orders", "SELECT a - (b - c) AS x FROM orders")
    one, two = map(_index, texts)
    spec = engine("sqlite")
    reads = [relations_in(index, spec) for index in (one, two)]
    assert reads[0] == reads[1]
    assert not means_the_same(one, two, *reads)


def _index(sql: str) -> NodeIndex:
    return NodeIndex(sqlglot.parse_one(sql))

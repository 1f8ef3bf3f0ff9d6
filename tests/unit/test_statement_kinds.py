"""Without permission to write only plain queries run: every other kind of statement is refused on every engine.

Kind by kind. What the databases themselves say to the same kinds is tried in
tests/integration/test_sessions_stay_read_only.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest
from tests.support.cases import for_each

from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.gate.guard import check_select, check_statement
from analytics_core.errors import ErrorType, StatementRefusedError, VirtualDatasetError

REGISTRY = installed_engines(())
EVERY_ENGINE = REGISTRY.names()

KINDS: Mapping[str, tuple[str, ...]] = {
    "changes of data": (
        "INSERT INTO sales VALUES (1)",
        "UPDATE sales SET amount = 1",
        "DELETE FROM sales",
        "MERGE INTO sales USING x ON 1 = 1 WHEN MATCHED THEN DELETE",
        "REPLACE INTO sales VALUES (1)",
        "UPSERT INTO sales VALUES (1)",
        "TRUNCATE TABLE sales",
    ),
    "changes of tables": (
        "CREATE TABLE x (a INT)",
        "CREATE TEMPORARY TABLE x AS SELECT 1",
        "CREATE OR REPLACE VIEW x AS SELECT 1",
        "ALTER TABLE sales ADD COLUMN x INT",
        "DROP TABLE sales",
        "RENAME TABLE sales TO x",
        "COMMENT ON TABLE sales IS 'x'",
        "CREATE FUNCTION f() RETURNS INT AS 'x'",
        "CREATE TRIGGER t AFTER INSERT ON sales BEGIN SELECT 1; END",
    ),
    "transaction control": (
        "BEGIN",
        "BEGIN TRANSACTION READ WRITE",
        "START TRANSACTION",
        "COMMIT",
        "END",
        "ROLLBACK",
        "ABORT",
        "SAVEPOINT s",
        "RELEASE SAVEPOINT s",
        "ROLLBACK TO SAVEPOINT s",
        "PREPARE TRANSACTION 'x'",
        "XA START 'x'",
    ),
    "session settings": (
        "SET x = 1",
        "SET LOCAL statement_timeout = 0",
        "SET SESSION TRANSACTION READ WRITE",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
        "SET @x = 1",
        "RESET ALL",
        "DISCARD ALL",
        "PRAGMA query_only = OFF",
        "USE other",
        "ALTER SESSION SET CURRENT_SCHEMA = other",
        "SHOW statement_timeout",
    ),
    "role switches": (
        "SET ROLE admin",
        "RESET ROLE",
        "SET SESSION AUTHORIZATION admin",
        "SET DEFAULT ROLE admin FOR u",
        "USE ROLE accountadmin",
        "EXECUTE AS USER = 'admin'",
        "REVERT",
        "GRANT ALL ON sales TO public",
        "REVOKE ALL ON sales FROM public",
    ),
    "anonymous blocks": (
        "DO $$ BEGIN DELETE FROM sales; END $$",
        "BEGIN NOT ATOMIC DELETE FROM sales; END",
        "DECLARE x INT; BEGIN DELETE FROM sales; END",
        "EXECUTE BLOCK AS BEGIN END",
        "DO SLEEP(1)",
    ),
    "calls": ("CALL f()", "EXEC f", "EXECUTE f 1", "EXECUTE PROCEDURE f()", "CALL pragma_version()"),
    "prepared statements": (
        "PREPARE p AS DELETE FROM sales",
        "PREPARE p AS SELECT 1",
        "PREPARE p FROM 'DELETE FROM sales'",
        "EXECUTE p",
        "EXECUTE IMMEDIATE 'DELETE FROM sales'",
        "DEALLOCATE p",
    ),
    "cursors": (
        "DECLARE c CURSOR FOR SELECT * FROM sales",
        "OPEN c",
        "FETCH ALL FROM c",
        "MOVE FORWARD ALL IN c",
        "CLOSE c",
        "HANDLER sales OPEN",
        "HANDLER sales READ FIRST",
    ),
    "maintenance": (
        "VACUUM",
        "VACUUM INTO '/tmp/x'",
        "ANALYZE sales",
        "ANALYZE TABLE sales",
        "REINDEX TABLE sales",
        "CLUSTER sales",
        "CHECKPOINT",
        "OPTIMIZE TABLE sales",
        "REPAIR TABLE sales",
        "CHECK TABLE sales",
        "FLUSH TABLES",
        "REFRESH MATERIALIZED VIEW x",
        "KILL 5",
        "SHUTDOWN",
        "INSTALL httpfs",
        "LOAD httpfs",
        "ATTACH '/tmp/x' AS y",
        "DETACH y",
        "LISTEN x",
        "NOTIFY x",
    ),
    "locks": ("LOCK TABLE sales", "LOCK TABLES sales READ", "UNLOCK TABLES", "LOCK INSTANCE FOR BACKUP"),
    "bulk copies": (
        "COPY sales TO '/tmp/x'",
        "COPY sales FROM '/tmp/x'",
        "COPY (SELECT * FROM sales) TO STDOUT",
        "COPY INTO sales FROM @stage",
        "UNLOAD ('SELECT * FROM sales') TO 's3://x'",
        "LOAD DATA INFILE '/tmp/x' INTO TABLE sales",
        "EXPORT DATABASE '/tmp/x'",
        "IMPORT DATABASE '/tmp/x'",
        "PUT file:///tmp/x @stage",
        "BULK INSERT sales FROM '/tmp/x'",
    ),
    "plan display": (
        "EXPLAIN SELECT 1",
        "EXPLAIN ANALYZE SELECT 1",
        "EXPLAIN ANALYZE DELETE FROM sales",
        "EXPLAIN (ANALYZE, VERBOSE) INSERT INTO sales VALUES (1)",
        "EXPLAIN ANALYZE EXECUTE p",
        "EXPLAIN ANALYZE CREATE TABLE x AS SELECT 1",
        "EXPLAIN PLAN FOR DELETE FROM sales",
        "DESCRIBE sales",
        "SUMMARIZE sales",
    ),
}


@for_each("on", EVERY_ENGINE)
@for_each("kind", KINDS)
def test_a_statement_that_is_no_query_is_refused(kind: str, on: str) -> None:
    for sql, check in itertools.product(KINDS[kind], (check_select_, check_statement_)):
        with pytest.raises(StatementRefusedError, match=r"read-only: one query|databases\.tables") as rejected:
            check(sql, on)
        assert rejected.value.error_type is ErrorType.DML_NOT_ALLOWED_ERROR


@pytest.mark.slow
@for_each("on", EVERY_ENGINE)
@for_each("kind", KINDS)
def test_neither_comments_nor_parentheses_nor_a_query_before_it_let_it_through(kind: str, on: str) -> None:
    covers = ("-- SELECT 1\n{}", "/* SELECT */ {}", "({})", ";{}", "SELECT 1; {}")
    for hidden in (cover.replace("{}", sql) for sql in KINDS[kind] for cover in covers):
        with pytest.raises((StatementRefusedError, VirtualDatasetError)):
            check_select_(hidden, on)


INSIDE = (
    "WITH gone AS (DELETE FROM sales RETURNING id) SELECT id FROM gone",
    "WITH made AS (INSERT INTO sales VALUES (1) RETURNING id) SELECT id FROM made",
    "WITH changed AS (UPDATE sales SET amount = 1 RETURNING id) SELECT id FROM changed",
    "WITH a AS (SELECT 1 AS id), b AS (DELETE FROM sales RETURNING id) SELECT a.id FROM a",
    "WITH a AS (WITH b AS (DELETE FROM sales RETURNING id) SELECT * FROM b) SELECT * FROM a",
    "SELECT * FROM (WITH b AS (DELETE FROM sales RETURNING id) SELECT * FROM b) AS q",
    "SELECT id FROM sales WHERE id IN (WITH b AS (DELETE FROM sales RETURNING id) SELECT * FROM b)",
    "SELECT 1 UNION ALL (WITH b AS (DELETE FROM sales RETURNING id) SELECT * FROM b)",
    "SELECT * FROM (DELETE FROM sales RETURNING id) AS q",
    "SELECT (INSERT INTO sales VALUES (1) RETURNING id) AS x",
    "SELECT * FROM sales JOIN (UPDATE sales SET amount = 1 RETURNING id) AS q ON 1 = 1",
    "WITH a AS (SELECT 1) DELETE FROM sales",
    "WITH a AS (SELECT 1) INSERT INTO sales SELECT * FROM a",
    "WITH a AS (SELECT 1) UPDATE sales SET amount = 1",
    "SELECT id INTO loot FROM sales",
    "SELECT id INTO TEMPORARY loot FROM sales",
    "SELECT id FROM sales FOR UPDATE",
    "SELECT id FROM sales FOR SHARE",
)


@for_each("on", EVERY_ENGINE)
def test_a_change_anywhere_in_the_tree_counts(on: str) -> None:
    for sql, check in itertools.product(INSIDE, (check_select_, check_statement_)):
        with pytest.raises((StatementRefusedError, VirtualDatasetError)):
            check(sql, on)


@for_each("on", ["sqlite", "duckdb", "postgresql", "mysql"])
@for_each("sql", INSIDE[:3])
def test_a_change_in_a_with_clause_is_refused_by_its_name(sql: str, on: str) -> None:
    with pytest.raises(StatementRefusedError, match=r"(DELETE|INSERT|UPDATE) changes data"):
        check_select_(sql, on)


LOOK_ALIKES = (
    "SELECT 'DELETE FROM sales; COMMIT' AS words FROM sales",
    "SELECT id FROM sales -- ; DROP TABLE sales\n",
    "SELECT id /* INSERT INTO sales VALUES (1) */ FROM sales",
    "SELECT s.updated, s.deleted, s.copied FROM sales AS s WHERE s.inserted IS NOT NULL",
    "SELECT insert_id, delete_flag, update_time FROM call_log",
    "WITH deleted AS (SELECT id FROM sales), inserted AS (SELECT id FROM deleted) SELECT id FROM inserted",
    "SELECT REPLACE(tenant, 'delete', 'x') AS tenant FROM sales",
    "SELECT id FROM vacuum_log WHERE note LIKE '%EXPLAIN ANALYZE%'",
    "SELECT CASE WHEN amount > 1 THEN 'BEGIN' ELSE 'END' END AS edge FROM sales",
)


@for_each("on", EVERY_ENGINE)
@for_each("sql", LOOK_ALIKES)
def test_a_query_that_only_looks_like_another_kind_runs(sql: str, on: str) -> None:
    assert check_select_(sql, on).startswith(("SELECT", "WITH"))
    assert check_statement_(sql, on).startswith(("SELECT", "WITH"))


HIDDEN_RELATIONS: Mapping[str, tuple[str, ...]] = {
    "sqlite": ("SELECT * FROM bytecode('SELECT 1')", "SELECT * FROM tables_used('SELECT 1')"),
    "duckdb": (
        "SELECT * FROM query('SELECT * FROM sales')",
        "SELECT * FROM query_table('sales')",
        "SELECT * FROM query_table(['sales', 'vault'])",
        "FROM json_execute_serialized_sql('x')",
        "FROM (SUMMARIZE sales)",
        "FROM (DESCRIBE sales)",
        "SELECT * FROM storage_info('sales')",
        "SELECT * FROM sqlite_query('x', 'SELECT 1')",
        "SELECT * FROM histogram_values(sales, amount)",
    ),
    "postgresql": (
        "SELECT query_to_xml('SELECT * FROM sales', true, true, '')",
        "SELECT table_to_xml('sales', true, true, '')",
        "SELECT cursor_to_xml('c', 1, true, true, '')",
        "SELECT schema_to_xml('public', true, true, '')",
        "SELECT database_to_xml(true, true, '')",
        "SELECT * FROM dblink('dbname=x', 'SELECT 1') AS x(id INT)",
        "SELECT * FROM crosstab('SELECT 1') AS x(id INT)",
        "SELECT * FROM xpath_table('id', 'doc', 'sales', '/a', 'true') AS x(id INT)",
        "SELECT ts_rewrite(to_tsquery('x'), 'SELECT 1')",
        "SELECT * FROM ts_stat('SELECT 1')",
        "SELECT currtid2('sales', '(0,1)')",
        "SELECT * FROM ROWS FROM (generate_series(1, 2), dblink('x', 'y')) AS q",
        "SELECT pg_catalog.\"query_to_xml\"('SELECT 1', true, true, '')",
        "SELECT query_to_xml/* x */ ('SELECT 1', true, true, '')",
    ),
    "mysql": ("SELECT spider_direct_sql('SELECT 1', '', '')", "SELECT sys.ps_thread_account(1)"),
    "trino": ("SELECT * FROM TABLE(pg.system.query(query => 'SELECT 1'))", "SELECT * FROM TABLE(raw_query('x'))"),
    "bigquery": ("SELECT * FROM EXTERNAL_QUERY('x', 'SELECT 1')",),
    "snowflake": ("SELECT * FROM TABLE(RESULT_SCAN('x'))", "SELECT * FROM TABLE('sales')"),
    "databricks": ("SELECT * FROM remote_query('x', query => 'SELECT 1')",),
    "mssql": ("SELECT * FROM OPENQUERY(x, 'SELECT 1')", "SELECT * FROM OPENROWSET('x', 'y', 'SELECT 1')"),
    "oracle": ("SELECT dbms_xmlgen.getxml('SELECT 1') FROM dual", "SELECT * FROM TABLE(dbms_sql.parse('x'))"),
    "clickhouse": ("SELECT * FROM remote('h', 'SELECT 1')", "SELECT * FROM viewIfPermitted(SELECT 1 ELSE null('x'))"),
    "druid": ("SELECT * FROM TABLE(EXTERN('{}', '{}'))",),
}


@for_each(("on", "sql"), [(on, sql) for on, texts in HIDDEN_RELATIONS.items() for sql in texts])
def test_a_function_that_takes_sql_or_the_name_of_a_table_is_refused(on: str, sql: str) -> None:
    with pytest.raises((StatementRefusedError, VirtualDatasetError)):
        check_select_(sql, on)


def check_select_(sql: str, on: str) -> str:
    return check_select(sql, spec=REGISTRY.get(on), place="d").sql


def check_statement_(sql: str, on: str) -> str:
    return check_statement(sql, spec=REGISTRY.get(on)).sql

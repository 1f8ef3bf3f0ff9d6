"""How a script is split, and which statements that change data the guard lets through."""

from __future__ import annotations

import pytest
from tests.support.cases import for_each

from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.gate.changes import MOST_EXPLAINED, split_script
from analytics_core._engine.gate.guard import check_statement
from analytics_core.errors import StatementError, StatementRefusedError, VirtualDatasetError

REGISTRY = installed_engines(())
FOUR = ("sqlite", "duckdb", "postgresql", "mysql")


def split(sql: str, on: str) -> list[str]:
    spec = REGISTRY.get(on)
    parts = split_script(sql, spec=spec, invalid=StatementError, rejected=StatementRefusedError)
    return [f"{part.explains} | {part.sql}".removeprefix(" | ") for part in parts]


@for_each("on", FOUR)
@for_each(
    ("sql", "parts"),
    [
        ("SELECT 1", ["SELECT 1"]),
        (";; SELECT 1 ;; DELETE FROM t; ", ["SELECT 1", "DELETE FROM t"]),
        ("SELECT ';' AS a; SELECT 2", ["SELECT ';' AS a", "SELECT 2"]),
        ("SELECT 1 /* ; */ AS a -- ; DROP TABLE t\n; SELECT 2", ["SELECT 1 /* ; */ AS a", "SELECT 2"]),
        ("EXPLAIN SELECT ';' -- ; DELETE FROM t\n; SELECT 2", ["EXPLAIN | SELECT ';'", "SELECT 2"]),
        ("-- a; b\nexplain /* ; */ SELECT 1", ["EXPLAIN | SELECT 1"]),
        ("SELECT 1; EXPLAIN  QUERY\nPLAN SELECT 2;", ["SELECT 1", "EXPLAIN QUERY PLAN | SELECT 2"]),
        ("INSERT INTO t VALUES (1); EXPLAIN SELECT 2", ["INSERT INTO t VALUES (1)", "EXPLAIN | SELECT 2"]),
    ],
)
def test_a_script_is_split_by_its_tokens(on: str, sql: str, parts: list[str]) -> None:
    assert split(sql, on) == parts


@for_each("on", FOUR)
def test_a_script_explains_so_many_statements_that_it_is_split_in_a_moment(on: str) -> None:
    assert len(split("EXPLAIN SELECT 1;" * MOST_EXPLAINED, on)) == MOST_EXPLAINED
    with pytest.raises(StatementError, match=f"explains more than {MOST_EXPLAINED} statements"):
        split("EXPLAIN SELECT 1;" * (MOST_EXPLAINED + 1), on)


@for_each("on", FOUR)
@for_each(
    "sql",
    [
        *("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT a", "SET a = 1", "CALL f()", "DO $$ x $$", "VACUUM", "ANALYZE t"),
        *("COPY t FROM 'x'", "GRANT ALL ON t TO b", "ATTACH 'x' AS y", "PREPARE p AS SELECT 1", "EXECUTE p", "LOCK t"),
        *("REPLACE INTO t VALUES (1)", "RENAME TABLE a TO b", "LOAD DATA INFILE 'x' INTO TABLE t", "USE x", "KILL 1"),
        *("SHOW TABLES", "DESCRIBE t", "DESC t", "PRAGMA x", "SUMMARIZE t", "EXPLAIN t", "EXPLAIN ANALYZE SELECT 1"),
        *("EXPLAIN (ANALYZE) DELETE FROM t", "EXPLAIN DELETE FROM t", "EXPLAIN EXPLAIN SELECT 1", "'SELECT' 1"),
        *("SELECT 1; EXPLAIN", "EXPLAIN; DELETE FROM t", "SELECT 1; /* x */ CALL f()"),
    ],
)
def test_no_other_word_begins_a_statement(on: str, sql: str) -> None:
    with pytest.raises((StatementError, StatementRefusedError)):
        split(sql, on)


ALLOWED = {
    "INSERT INTO t (a) SELECT b FROM o": FOUR,
    "INSERT INTO t VALUES (1, 'a'), (2, NULL)": FOUR,
    "INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2": FOUR[:3],
    "INSERT INTO t (a) VALUES (1) RETURNING a": FOUR,
    "UPDATE t SET a = (SELECT MAX(b) FROM o) WHERE a > 1": FOUR,
    "UPDATE t SET a = q.b FROM (SELECT b FROM o) AS q WHERE t.a = q.b": FOUR[:3],
    "DELETE FROM t WHERE a IN (SELECT b FROM o)": FOUR,
    "WITH q AS (SELECT b FROM o) DELETE FROM t WHERE a IN (SELECT b FROM q)": FOUR[:3],
    "MERGE INTO t USING (SELECT b FROM o) AS q ON t.a = q.b WHEN MATCHED THEN UPDATE SET a = 1": FOUR[1:3],
    "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20) DEFAULT 'x' NOT NULL, CHECK (a > 0))": FOUR,
    "CREATE TEMPORARY TABLE t AS SELECT 1 AS a": FOUR,
    "CREATE OR REPLACE VIEW v AS SELECT a FROM t": FOUR[1:],
    "CREATE UNIQUE INDEX i ON t (a)": FOUR,
    "CREATE SCHEMA s": FOUR[1:],
    "DROP SCHEMA s": FOUR[1:3],
    "DROP TABLE IF EXISTS t": FOUR,
    "TRUNCATE TABLE t": FOUR[1:],
    "ALTER TABLE t ADD COLUMN b INT": FOUR,
    "ALTER TABLE t DROP COLUMN b": FOUR,
    "ALTER TABLE t RENAME COLUMN a TO b": FOUR,
    "ALTER TABLE t RENAME TO u": FOUR,
}


@for_each(("on", "sql"), [(on, sql) for sql, engines in ALLOWED.items() for on in engines])
def test_changes_of_tables_pass(on: str, sql: str) -> None:
    found = check_statement(sql, spec=REGISTRY.get(on), allow_dml=True)
    assert found.changes_data
    assert found.sql.split()[0] == sql.split(maxsplit=1)[0]
    if sql == "DROP SCHEMA s":
        assert found.sql == "DROP SCHEMA s RESTRICT"


REFUSED = {
    "postgresql": [
        "CREATE TABLE t (LIKE o INCLUDING ALL)",
        "CREATE TABLE t PARTITION OF o FOR VALUES IN (1)",
        "CREATE TABLE t (a INT) INHERITS (o)",
        "CREATE TABLE t (a INT) TABLESPACE x",
        "CREATE MATERIALIZED VIEW m AS SELECT 1 AS a",
        "CREATE UNIQUE INDEX CONCURRENTLY i ON t (a)",
        "CREATE EXTENSION x",
        "CREATE FUNCTION f() RETURNS INT AS 'x'",
        "CREATE TABLE t AS SELECT pg_read_file('x') AS a",
        "DROP TABLE t CASCADE",
        "DROP SCHEMA s CASCADE",
        "DROP DATABASE d",
        "TRUNCATE t CASCADE",
        "ALTER TABLE t ATTACH PARTITION o FOR VALUES IN (1)",
        "ALTER TABLE t DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE t DROP COLUMN a CASCADE",
        "ALTER TABLE t OWNER TO x",
        "WITH gone AS (DELETE FROM o RETURNING a) INSERT INTO t SELECT a FROM gone",
        "WITH t AS (SELECT 1 AS a) DELETE FROM t",
        "WITH t AS (SELECT 1 AS a) INSERT INTO t SELECT a FROM t",
        "UPDATE pg_catalog.pg_authid SET rolsuper = TRUE",
        "INSERT INTO ac_users VALUES (1)",
        "DELETE FROM t WHERE a = pg_sleep(9)",
    ],
    "mysql": [
        "CREATE TABLE t (a INT) ENGINE=CONNECT TABLE_TYPE=CSV FILE_NAME='/etc/passwd'",
        "CREATE TABLE t (a INT) ENGINE=FEDERATED CONNECTION='mysql://x'",
        "CREATE TABLE t LIKE o",
        "CREATE DEFINER=`a`@`b` SQL SECURITY DEFINER VIEW v AS SELECT 1 AS a",
        "ALTER TABLE t EXCHANGE PARTITION p WITH TABLE o",
        "DROP DATABASE x",
        "UPDATE mysql.user SET a = 1",
        "INSERT INTO t SELECT a FROM o INTO OUTFILE '/x'",
    ],
    "sqlite": [
        "CREATE VIRTUAL TABLE t USING fts5(a)",
        "CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT 1",
        "UPDATE t SET a = load_extension('x')",
    ],
    "duckdb": [
        "CREATE TABLE t CLONE o",
        "CREATE MACRO f() AS 1",
        "CREATE TABLE t AS SELECT * FROM 'x.csv'",
        "INSERT INTO t SELECT * FROM read_csv('x')",
        "CREATE TYPE x AS ENUM ('a')",
    ],
}


@for_each(("on", "sql"), [(on, sql) for on, listed in REFUSED.items() for sql in listed])
def test_no_other_change_passes(on: str, sql: str) -> None:
    with pytest.raises((StatementRefusedError, VirtualDatasetError)):
        check_statement(sql, spec=REGISTRY.get(on), allow_dml=True)

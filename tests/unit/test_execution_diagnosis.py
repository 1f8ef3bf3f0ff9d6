"""Drivers' messages, as they were seen, become typed errors that hold names and nothing else of them."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.execution import admission, database, target

from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.execution.connections import Connections
from analytics_core._engine.execution.diagnosis import SentStatement, diagnose, error_code
from analytics_core._engine.execution.driver_limits import LOGGING_NAME, _in_time, without_driver_logs
from analytics_core._records.datasource import Access, Database, Identity
from analytics_core.errors import DatabaseError, ErrorType, StatementStoppedError, StatementTimeoutError

E = ErrorType
REGISTRY = installed_engines(())
SPEC = REGISTRY.get("sqlite")

# engine, message of its driver, error type, what the message must name
SEEN = [
    ("sqlite", "no such table: nosuch", E.TABLE_DOES_NOT_EXIST_ERROR, "nosuch"),
    ("sqlite", "no such column: t.nocol", E.COLUMN_DOES_NOT_EXIST_ERROR, "t.nocol"),
    ("sqlite", "no such function: nofunc", E.OBJECT_DOES_NOT_EXIST_ERROR, "nofunc"),
    ("sqlite", 'near "selec": syntax error', E.SYNTAX_ERROR, ""),
    ("sqlite", "incomplete input", E.SYNTAX_ERROR, ""),
    ("sqlite", "misuse of aggregate function SUM()", E.SYNTAX_ERROR, "aggregate stands"),
    ("sqlite", "misuse of aggregate: SUM()", E.SYNTAX_ERROR, "aggregate stands"),
    ("sqlite", "aggregate functions are not allowed in the GROUP BY clause", E.SYNTAX_ERROR, "aggregate stands"),
    (
        "sqlite",
        "SELECTs to the left and right of UNION do not have the same number of result columns",
        E.SYNTAX_ERROR,
        "unequal numbers",
    ),
    ("sqlite", "1st GROUP BY term out of range - should be between 1 and 1", E.SYNTAX_ERROR, "place of no column"),
    ("duckdb", "Binder Error: WHERE clause cannot contain aggregates!", E.SYNTAX_ERROR, "aggregate stands"),
    ("duckdb", "Binder Error: aggregate function calls cannot be nested", E.SYNTAX_ERROR, "aggregate stands"),
    (
        "duckdb",
        "Binder Error: Set operations can only apply to expressions with the same number of result columns",
        E.SYNTAX_ERROR,
        "unequal numbers",
    ),
    ("duckdb", "Binder Error: ORDER term out of range - should be between 1 and 1", E.SYNTAX_ERROR, "no column"),
    ("postgresql", "ORDER BY position 7 is not in select list", E.SYNTAX_ERROR, "place of no column"),
    ("sqlite", "ambiguous column name: i", E.GENERIC_DB_ENGINE_ERROR, "column i"),
    ("sqlite", "attempt to write a readonly database", E.DML_NOT_ALLOWED_ERROR, ""),
    ("sqlite", "not authorized", E.DML_NOT_ALLOWED_ERROR, ""),
    ("sqlite", "unable to open database file", E.CONNECTION_UNKNOWN_DATABASE_ERROR, ""),
    ("sqlite", "file is not a database", E.CONNECTION_UNKNOWN_DATABASE_ERROR, ""),
    ("sqlite", "integer overflow", E.GENERIC_DB_ENGINE_ERROR, "larger"),
    ("sqlite", "database is locked", E.GENERIC_DB_ENGINE_ERROR, "locked"),
    ("sqlite", "database or disk is full", E.GENERIC_DB_ENGINE_ERROR, "is full"),
    (
        "duckdb",
        'IO Error: Could not write file "/data/x.duckdb": No space left on device',
        E.GENERIC_DB_ENGINE_ERROR,
        "is full",
    ),
    ("mysql", "(1114, \"The table 'x' is full\")", E.GENERIC_DB_ENGINE_ERROR, "is full"),
    ("mysql", "(3, \"Error writing file './x' (Errcode: 28)\")", E.GENERIC_DB_ENGINE_ERROR, "is full"),
    ("mysql", "(0, '')", E.CONNECTION_HOST_DOWN_ERROR, "closed the connection"),
    ("postgresql", "FATAL:  the database system is shutting down", E.CONNECTION_HOST_DOWN_ERROR, "starts or stops"),
    ("postgresql", "FATAL:  the database system is starting up", E.CONNECTION_HOST_DOWN_ERROR, "starts or stops"),
    ("postgresql", 'relation "nosuch" does not exist\nLINE 1: ...', E.TABLE_DOES_NOT_EXIST_ERROR, "nosuch"),
    ("postgresql", 'column "nocol" does not exist\nLINE 1: ...', E.COLUMN_DOES_NOT_EXIST_ERROR, "nocol"),
    ("postgresql", "column t.nocol does not exist", E.COLUMN_DOES_NOT_EXIST_ERROR, "t.nocol"),
    ("postgresql", "function nofunc(integer) does not exist", E.OBJECT_DOES_NOT_EXIST_ERROR, "function nofunc"),
    (
        "duckdb",
        "Binder Error: No function matches the given name and argument types 'nofunc(VARCHAR)'. You might need to add",
        E.OBJECT_DOES_NOT_EXIST_ERROR,
        "function nofunc",
    ),
    (
        "duckdb",
        "IO Error: Trying to read a database file with version number 200, but we can only read versions between 64",
        E.CONNECTION_UNKNOWN_DATABASE_ERROR,
        "another version",
    ),
    (
        "duckdb",
        "IO Error: Corrupt database file: computed checksum 1 does not match stored checksum 2 in block at location 0",
        E.CONNECTION_UNKNOWN_DATABASE_ERROR,
        "damaged",
    ),
    ("postgresql", "operator does not exist: text + integer", E.OBJECT_DOES_NOT_EXIST_ERROR, "operator"),
    ("postgresql", 'syntax error at or near "selec"', E.SYNTAX_ERROR, ""),
    ("postgresql", "cannot insert multiple commands into a prepared statement", E.SYNTAX_ERROR, "one statement"),
    ("postgresql", "cannot execute INSERT in a read-only transaction", E.DML_NOT_ALLOWED_ERROR, ""),
    ("postgresql", "permission denied for table orders", E.CONNECTION_DATABASE_PERMISSIONS_ERROR, "orders"),
    ("postgresql", "permission denied for function pg_read_file", E.CONNECTION_DATABASE_PERMISSIONS_ERROR, ""),
    ("postgresql", "division by zero", E.GENERIC_DB_ENGINE_ERROR, "zero"),
    ("postgresql", "bigint out of range", E.GENERIC_DB_ENGINE_ERROR, "larger"),
    ("postgresql", 'invalid input syntax for type integer: "hidden"', E.GENERIC_DB_ENGINE_ERROR, "converted"),
    ("postgresql", 'date/time field value out of range: "hidden"', E.GENERIC_DB_ENGINE_ERROR, "date"),
    ("postgresql", "canceling statement due to statement timeout", E.CONNECTION_DATABASE_TIMEOUT, ""),
    ("postgresql", "canceling statement due to user request", E.GENERIC_DB_ENGINE_ERROR, "stopped"),
    (
        "postgresql",
        'connection failed: connection to server at "127.0.0.1", port 1 failed: FATAL:  role "ann" does not exist',
        E.CONNECTION_INVALID_USERNAME_ERROR,
        "ann",
    ),
    (
        "postgresql",
        'connection failed: ... FATAL:  password authentication failed for user "ann"',
        E.CONNECTION_INVALID_PASSWORD_ERROR,
        "ann",
    ),
    ("postgresql", '... FATAL:  database "shop" does not exist', E.CONNECTION_UNKNOWN_DATABASE_ERROR, "shop"),
    (
        "postgresql",
        "failed to resolve host 'db.invalid': [Errno -2] Name or service not known",
        E.CONNECTION_INVALID_HOSTNAME_ERROR,
        "db.invalid",
    ),
    (
        "postgresql",
        'connection failed: connection to server at "10.0.0.1", port 5433 failed: Connection refused\n\tIs the server',
        E.CONNECTION_PORT_CLOSED_ERROR,
        "port 5433 on host 10.0.0.1",
    ),
    ("postgresql", 'connection is bad: invalid port number: "99999"', E.CONNECTION_INVALID_PORT_ERROR, "port"),
    (
        "postgresql",
        'connection to server at "10.0.0.1", port 5432 failed: No route to host',
        E.CONNECTION_HOST_DOWN_ERROR,
        "10.0.0.1",
    ),
    ("postgresql", "connection timeout expired", E.CONNECTION_HOST_DOWN_ERROR, ""),
    ("mysql", "(1146, \"Table 'shop.nosuch' doesn't exist\")", E.TABLE_DOES_NOT_EXIST_ERROR, "table nosuch"),
    ("mysql", "(1054, \"Unknown column 't.nocol' in 'SELECT'\")", E.COLUMN_DOES_NOT_EXIST_ERROR, "t.nocol"),
    ("mysql", "(1305, 'FUNCTION shop.nofunc does not exist')", E.OBJECT_DOES_NOT_EXIST_ERROR, "function nofunc"),
    ("mysql", "(1064, \"You have an error in your SQL syntax; ... near 'hidden' at line 1\")", E.SYNTAX_ERROR, ""),
    ("mysql", "(1792, 'Cannot execute statement in a READ ONLY transaction')", E.DML_NOT_ALLOWED_ERROR, ""),
    (
        "mysql",
        "(1142, \"SELECT command denied to user 'ann'@'h' for table `shop`.`orders`\")",
        E.CONNECTION_DATABASE_PERMISSIONS_ERROR,
        "orders",
    ),
    ("mysql", "(1227, 'Access denied; you need FILE')", E.CONNECTION_DATABASE_PERMISSIONS_ERROR, "privilege"),
    ("mysql", "(1044, \"Access denied for user 'a' to database 'x'\")", E.CONNECTION_DATABASE_PERMISSIONS_ERROR, ""),
    (
        "mysql",
        "(1045, \"Access denied for user 'ann'@'h' (using password: YES)\")",
        E.CONNECTION_ACCESS_DENIED_ERROR,
        "ann",
    ),
    ("mysql", "(1049, \"Unknown database 'shop'\")", E.CONNECTION_UNKNOWN_DATABASE_ERROR, "shop"),
    (
        "mysql",
        "(2003, \"Can't connect to MySQL server on 'db.invalid' ([Errno -2] Name or service not known)\")",
        E.CONNECTION_INVALID_HOSTNAME_ERROR,
        "db.invalid",
    ),
    (
        "mysql",
        "(2003, \"Can't connect to MySQL server on '10.0.0.1' ([Errno 111] Connection refused)\")",
        E.CONNECTION_PORT_CLOSED_ERROR,
        "10.0.0.1",
    ),
    (
        "mysql",
        "(2003, \"Can't connect to MySQL server on '10.0.0.1' (timed out)\")",
        E.CONNECTION_HOST_DOWN_ERROR,
        "10.0.0.1",
    ),
    ("mysql", "(1969, 'Query ... interrupted (max_statement_time exceeded)')", E.CONNECTION_DATABASE_TIMEOUT, ""),
    ("mysql", "(1690, \"BIGINT value is out of range in 'hidden'\")", E.GENERIC_DB_ENGINE_ERROR, "larger"),
    ("mysql", "(2013, 'Lost connection to MySQL server during query')", E.CONNECTION_HOST_DOWN_ERROR, "closed"),
    ("clickhouse", "Code: 60. DB::Exception: Table default.hidden doesn't exist", E.TABLE_DOES_NOT_EXIST_ERROR, ""),
    ("clickhouse", "Code: 62. DB::Exception: Syntax error: hidden", E.SYNTAX_ERROR, ""),
    ("clickhouse", "Received ClickHouse exception, code: 60, server response: Code: 60. DB::Exception: Unknown table "
     "expression identifier 'nosuch'. In scope SELECT 1. (UNKNOWN_TABLE)", E.TABLE_DOES_NOT_EXIST_ERROR, "nosuch"),
    ("clickhouse", "Code: 184. DB::Exception: Aggregate function count() is inside", E.SYNTAX_ERROR, "aggregate"),
    ("clickhouse", "Code: 6. DB::Exception: 'hidden' as Int32", E.GENERIC_DB_ENGINE_ERROR, "converted"),
    ("clickhouse", "Setting join_use_nulls is readonly", E.CONNECTION_DATABASE_PERMISSIONS_ERROR, "readonly = 2"),
    ("spark", "TExecuteStatementResp(status=TStatus(statusCode=3, infoMessages=[\"*org.apache.hive.service.cli."
     "HiveSQLException:Error running query: [TABLE_OR_VIEW_NOT_FOUND] org.apache.spark.sql.AnalysisException: "
     "[TABLE_OR_VIEW_NOT_FOUND] The table or view `nosuch` was", E.TABLE_DOES_NOT_EXIST_ERROR, "nosuch"),
    ("spark", "org.apache.hive.service.cli.HiveSQLException: Error running query: [CAST_INVALID_INPUT] org.apache."
     "spark.SparkNumberFormatException: The value 'hidden' of", E.GENERIC_DB_ENGINE_ERROR, "converted"),
    ("spark", "org.apache.hive.service.cli.HiveSQLException: Error running query: java.lang.IllegalArgumentException: "
     "403 Invalid access token hidden\n\tat x.y(Z.scala:401)", E.GENERIC_DB_ENGINE_ERROR, "could not run"),
    ("spark", "org.apache.hive.service.cli.HiveSQLException: Query timed out after 5 s", E.CONNECTION_DATABASE_TIMEOUT,
     ""),
    ("spark", "org.apache.hive.service.cli.HiveSQLException: Error running query: [REMAINDER_BY_ZERO] org.apache.spark."
     "SparkArithmeticException: [REMAINDER_BY_ZERO] Remainder by", E.GENERIC_DB_ENGINE_ERROR, "zero"),
    ("spark", "Could not connect to any of [('10.0.0.1', 10000)]", E.CONNECTION_HOST_DOWN_ERROR, "10.0.0.1"),
    ("spark", "TSocket read 0 bytes", E.CONNECTION_HOST_DOWN_ERROR, "closed"),
    ("spark", "[Errno 32] Broken pipe", E.CONNECTION_HOST_DOWN_ERROR, "closed"),
    ("databricks", "Error during request to server: 403 Forbidden", E.CONNECTION_ACCESS_DENIED_ERROR, ""),
    ("trino", "TrinoUserError(name=TABLE_NOT_FOUND, message=\"line 1:15: Table 'a.b.c' does not exist\")",
     E.TABLE_DOES_NOT_EXIST_ERROR, "a.b.c"),
    ("trino", "name=COLUMN_NOT_FOUND, message=\"line 1:8: Column 'nocol' cannot be resolved\"",
     E.COLUMN_DOES_NOT_EXIST_ERROR, "nocol"),
    ("bigquery", "404 Not found: Table proj:data.nosuch was", E.TABLE_DOES_NOT_EXIST_ERROR, "proj:data.nosuch"),
    ("bigquery", "400 Unrecognized name: nocol at [1:8]", E.COLUMN_DOES_NOT_EXIST_ERROR, "nocol"),
    ("snowflake", "002003 (42S02): Object 'NOSUCH' does not exist or not authorized.",
     E.TABLE_DOES_NOT_EXIST_ERROR, "NOSUCH"),
    ("snowflake", "250001 (08001): Incorrect username or password", E.CONNECTION_ACCESS_DENIED_ERROR, ""),
    ("redshift", 'password authentication failed for user "ann"', E.CONNECTION_ACCESS_DENIED_ERROR, ""),
    ("redshift", 'relation "nosuch" does not exist', E.TABLE_DOES_NOT_EXIST_ERROR, "nosuch"),
    ("databricks", "[TABLE_OR_VIEW_NOT_FOUND] The view `nosuch` cannot", E.TABLE_DOES_NOT_EXIST_ERROR, "nosuch"),
    ("databricks", "[DIVIDE_BY_ZERO] Division by zero.", E.GENERIC_DB_ENGINE_ERROR, "zero"),
    ("mssql", "Invalid object name 'nosuch'.", E.TABLE_DOES_NOT_EXIST_ERROR, "nosuch"),
    ("mssql", "Login failed for user 'ann'.", E.CONNECTION_ACCESS_DENIED_ERROR, ""),
    ("oracle", 'ORA-00904: "NOCOL": invalid identifier', E.COLUMN_DOES_NOT_EXIST_ERROR, "NOCOL"),
    ("oracle", 'ORA-00918: S."A.B".NOCOL: column ambiguously specified', E.GENERIC_DB_ENGINE_ERROR, "column NOCOL"),
    ("oracle", f"ORA-00918: {'A.' * 60}A B: column ambiguously specified", E.GENERIC_DB_ENGINE_ERROR, "more than one"),
    ("oracle", "ORA-00942: table or view does not exist", E.TABLE_DOES_NOT_EXIST_ERROR, ""),
    ("druid", "Object 'nosuch' not found within 'druid'", E.TABLE_DOES_NOT_EXIST_ERROR, "nosuch"),
    ("druid", "Query timeout after 300000ms", E.CONNECTION_DATABASE_TIMEOUT, ""),
]  # fmt: skip


SENT = SentStatement(
    sql="""SELECT "nofunc"(t.nocol, i, "{0.__class__}") FROM "nosuch", "orders", a.b.c, proj.data.nosuch""",
    url=sa.URL.create("x", username="ann", host="10.0.0.1,db.invalid", port=5433, database="shop"),
)


class CodedError(Exception):
    """A server's error as psycopg gives it."""

    def __init__(self, text: str, sqlstate: str) -> None:
        super().__init__(text)
        self.sqlstate = sqlstate


def diagnosed(engine: str, error: str | Exception, sent: SentStatement = SENT) -> DatabaseError:
    spec = replace(SPEC, name=engine, label=engine, error_patterns=REGISTRY.get(engine).error_patterns)
    return diagnose(Exception(error) if isinstance(error, str) else error, spec, sent=sent)


@for_each(("engine", "text", "error_type", "named"), SEEN)
def test_a_message_becomes_its_type_and_names_what_is_missing(
    engine: str, text: str, error_type: ErrorType, named: str
) -> None:
    error = diagnosed(engine, text)
    assert error.error_type is error_type
    assert named in error.message
    assert "?" not in error.message.replace("there?", "")
    assert "hidden" not in str(error.to_payload())
    assert isinstance(error, StatementTimeoutError) is (error_type is E.CONNECTION_DATABASE_TIMEOUT)
    assert error.extra["engine_name"] == engine


def test_the_host_that_was_asked_for_is_told_and_not_its_address() -> None:
    sent = replace(SENT, url=sa.URL.create("x", host="localhost", port=1))
    text = 'connection to server at "127.0.0.1", port 1 failed: Connection refused'
    assert "port 1 on host localhost" in diagnosed("postgresql", text, sent).message


@pytest.mark.parametrize(("engine", "port"), [("postgresql", "5432"), ("redshift", "5439"), ("postgresql", "3306")])
def test_a_port_that_the_url_leaves_out_is_told_where_it_is_the_engines_own(engine: str, port: str) -> None:
    sent = SentStatement(url=sa.URL.create("x", host="localhost"))
    text = f'connection to server at "127.0.0.1", port {port} failed: Connection refused'
    spec = REGISTRY.get(engine)
    message = diagnose(Exception(text), spec, sent=sent).message
    assert (f"port {port} on host localhost" in message) == (port == str(spec.usual_port))


def test_what_fails_before_there_is_a_connection_speaks_of_no_statement() -> None:
    spec = replace(SPEC, name="postgresql", label="PostgreSQL")
    text = 'connection to server at "10.0.0.1", port 5433 failed: received invalid response to SSL negotiation: H'
    error = diagnose(Exception(text), spec, sent=SENT, is_connected=False)
    assert error.message.startswith("PostgreSQL takes no connection; check host, port and database")


class _Unreachable:
    """A connector of a driver over HTTP, which lets through what its sockets raise."""

    def engine(self, _database: Database, *, identity: Identity | None, access: Access = Access.READ) -> sa.Engine:
        assert (identity, access) == (None, Access.READ)
        return sa.create_engine("sqlite://", creator=self._open, **without_driver_logs(LOGGING_NAME))

    def _open(self) -> None:
        raise ConnectionError("HTTPConnectionPool(host=swordfish) does not answer")


def test_a_socket_error_of_a_driver_is_typed_and_not_repeated() -> None:
    connections = Connections(_Unreachable())  # type: ignore[arg-type]  # one method of a connector
    with pytest.raises(DatabaseError, match="takes no connection") as caught:
        connections.use(admission(database("sqlite://")), lambda _lent: None, timeout_s=5)
    assert "swordfish" not in str(caught.value.to_payload())


def test_pools_of_databases_log_nothing_of_a_driver_under_their_documented_name() -> None:
    with target("sqlite://") as found:
        pool = found.connector.engine(found.record).pool
    assert pool.logging_name == "analytics_core.database"
    assert not logging.getLogger("sqlalchemy.pool.impl.QueuePool.analytics_core.database").isEnabledFor(logging.ERROR)


def test_who_asks_after_a_close_is_told_of_it_though_nothing_connects() -> None:
    connections = Connections(_Unreachable())  # type: ignore[arg-type]  # one method of a connector
    connections.close()
    with pytest.raises(StatementStoppedError, match="the core was closed"):
        connections.use(admission(database("postgresql://h/d")), lambda _lent: None, timeout_s=5)


CANARY = "CANARY_T2"


@for_each(("engine", "text", "error_type", "named"), SEEN)
def test_a_name_that_was_not_sent_is_withheld(engine: str, text: str, error_type: ErrorType, named: str) -> None:
    nothing = SentStatement(sql="SELECT 1", url=sa.URL.create("x", host="elsewhere", port=1, username="eve"))
    error = diagnosed(engine, text, nothing)
    names = ("nosuch", "nocol", "nofunc", "orders", "ann", "10.0.0.1", "db.invalid", "5433")
    assert [name for name in names if name in text and name in str(error.to_payload()).casefold()] == []
    assert error.error_type is error_type


@for_each(
    "sql",
    [
        f"SELECT x AS {CANARY} FROM t WHERE y = '{CANARY}'",
        f'SELECT x AS "{CANARY}" FROM t',
        f"SELECT '{CANARY}' FROM t",
        f"SELECT $${CANARY}$$, E'{CANARY}', N'{CANARY}', U&'{CANARY}' FROM t",
        f"SELECT x FROM t -- {CANARY}",
        "SELECT 'not closed",
    ],
)
def test_texts_and_labels_of_a_statement_are_no_names(sql: str) -> None:
    """They may hold anything, such as somebody's guess at the value of a row."""
    spec = installed_engines(()).get("postgresql")
    failure = CodedError(f'schema "{CANARY}" does not exist', "3F000")
    error = diagnose(failure, spec, sent=SentStatement(sql=sql))
    assert error.error_type is E.SCHEMA_DOES_NOT_EXIST_ERROR
    assert CANARY not in str(error.to_payload())


@for_each(
    ("code", "error_type"),
    [
        ("22P02", E.GENERIC_DB_ENGINE_ERROR),
        ("22012", E.GENERIC_DB_ENGINE_ERROR),
        ("42501", E.CONNECTION_DATABASE_PERMISSIONS_ERROR),
        ("42883", E.OBJECT_DOES_NOT_EXIST_ERROR),
        ("99999", E.GENERIC_DB_ENGINE_ERROR),
    ],
)
@for_each("text", [row[1] for row in SEEN if row[0] == "postgresql"])
def test_the_code_of_a_server_decides_and_not_what_its_message_quotes(
    code: str, error_type: ErrorType, text: str
) -> None:
    types = {diagnosed("postgresql", CodedError(words, code)).error_type for words in (f'odd value: "{text}"', "odd")}
    assert types <= {error_type, E.GENERIC_DB_ENGINE_ERROR}
    assert len(types) == 1


@for_each(
    ("code", "error_type", "words"),
    [
        ("42P01", E.TABLE_DOES_NOT_EXIST_ERROR, "there is no table"),
        ("42703", E.COLUMN_DOES_NOT_EXIST_ERROR, "there is no column"),
        ("42883", E.OBJECT_DOES_NOT_EXIST_ERROR, "no function or operator"),
        ("42702", E.GENERIC_DB_ENGINE_ERROR, "in more than one table"),
        ("42601", E.SYNTAX_ERROR, "not correct SQL"),
        ("25006", E.DML_NOT_ALLOWED_ERROR, "only reads"),
        ("57014", E.GENERIC_DB_ENGINE_ERROR, "stopped on the server"),
        ("22012", E.GENERIC_DB_ENGINE_ERROR, "divides by zero"),
        ("22003", E.GENERIC_DB_ENGINE_ERROR, "larger than"),
        ("22P02", E.GENERIC_DB_ENGINE_ERROR, "cannot be converted"),
        ("54001", E.GENERIC_DB_ENGINE_ERROR, "too deeply nested"),
    ],
)
def test_a_code_tells_the_error_of_a_server_that_speaks_another_language(
    code: str, error_type: ErrorType, words: str
) -> None:
    error = diagnosed("postgresql", CodedError("Relation »geheim« existiert nicht", code))
    assert error.error_type is error_type
    assert words in error.message
    assert "geheim" not in str(error.to_payload())


def test_the_fields_of_a_message_of_redshift_are_read() -> None:
    error = diagnosed("redshift", Exception({"S": "ERROR", "C": "42P01", "M": 'relation "nosuch" does not exist'}))
    assert (error.error_type, error.extra["table"]) == (E.TABLE_DOES_NOT_EXIST_ERROR, "nosuch")


@for_each("engine", REGISTRY.names())
def test_an_unknown_message_is_not_repeated(engine: str) -> None:
    error = diagnosed(engine, "s3cr3t words of a driver: postgresql://ann:s3cr3t@host/db; SELECT secret FROM t")
    assert error.error_type is E.GENERIC_DB_ENGINE_ERROR
    assert "s3cr3t" not in str(error.to_payload())
    assert "secret" not in str(error.to_payload())


@for_each(
    "literal",
    ['relation "s3cr3t" does not exist', "no such table: s3cr3t", 'password authentication failed for user "s3cr3t"'],
)
@for_each("engine", ["sqlite", "duckdb", "postgresql", "mysql"])
def test_text_of_a_statement_that_a_driver_quotes_is_not_read_as_a_message(engine: str, literal: str) -> None:
    quoting = {
        "sqlite": f'near "{literal}": syntax error',
        "duckdb": f"Parser Error: syntax error at or near \"x\"\n\nLINE 1: SELECT '{literal}'",
        "postgresql": f"syntax error at or near \"x\"\nLINE 1: SELECT '{literal}'",
        "mysql": f"(1064, \"You have an error in your SQL syntax near '{literal}' at line 1\")",
    }
    error = diagnosed(engine, quoting[engine])
    assert error.error_type is E.SYNTAX_ERROR
    assert "s3cr3t" not in str(error.to_payload())


def test_names_are_cleaned_and_cut() -> None:
    error = diagnosed("sqlite", "no such table: a\x00\n\x1b[31mb" + "c" * 500)
    assert "\x1b" not in error.message
    assert "\n" not in error.message
    assert len(error.message) < 200


def test_braces_in_a_name_are_no_template() -> None:
    assert "{0.__class__}" in diagnosed("sqlite", "no such table: {0.__class__}").message


def test_a_very_long_message_is_read_quickly() -> None:
    diagnosed("postgresql", "x" * 5_000_000)


def test_the_drivers_code_is_kept_its_arguments_are_not() -> None:
    assert error_code(Exception(1146, "Table 's3cr3t'")) == "1146"
    assert error_code(Exception("s3cr3t password")) is None
    assert error_code(Exception("S3CR3T")) is None
    assert error_code(Exception()) is None


def test_a_pool_without_free_connections_is_named() -> None:
    error = diagnosed("sqlite", "QueuePool limit of size 5 overflow 10 reached, connection timed out, timeout 30.00")
    assert "in use" in error.message
    assert error.retryable


@for_each(
    ("engine", "error", "passes"),
    [
        ("sqlite", "database is locked", True),
        ("sqlite", "no such table: t", False),
        ("postgresql", CodedError("could not serialize access", "40001"), True),
        ("postgresql", CodedError("canceling statement due to conflict with recovery", "40001"), True),
        ("postgresql", CodedError("canceling statement due to lock timeout", "55P03"), True),
        ("postgresql", CodedError("sorry, too many clients already", "53300"), True),
        ("postgresql", CodedError("terminating connection due to administrator command", "57P01"), True),
        ("postgresql", CodedError("canceling statement due to statement timeout", "57014"), True),
        ("postgresql", CodedError("canceling statement due to user request", "57014"), False),
        ("postgresql", CodedError("division by zero", "22012"), False),
        ("mysql", "(1213, 'Deadlock found when trying to get lock; try restarting transaction')", True),
        ("mysql", "(2013, 'Lost connection to MySQL server during query')", True),
        ("mysql", "(1040, 'Too many connections')", True),
        ("mysql", "(1045, \"Access denied for user 'x'@'y' (using password: YES)\")", False),
    ],
    ids=str,
)
def test_what_may_be_over_later_says_so(engine: str, error: str | Exception, passes: bool) -> None:
    assert diagnosed(engine, error).retryable is passes


def test_a_driver_that_connects_for_ever_is_given_up_and_its_late_connection_closed() -> None:
    let_go, closed = threading.Event(), threading.Event()

    def connect(*, is_late: bool) -> Any:
        if is_late:
            let_go.wait(10)
        return SimpleNamespace(close=closed.set, thread=threading.current_thread().name)

    assert _in_time(connect, 10.0, failure=OSError)(is_late=False).thread == "connecting"
    with pytest.raises(OSError, match="the server does not answer"):
        _in_time(connect, 0.01, failure=OSError)(is_late=True)
    assert not closed.is_set()
    let_go.set()
    assert closed.wait(10)

r"""What drivers' messages mean, engine by engine (contract, section Errors).

Patterns of SQLite, DuckDB, PostgreSQL and MariaDB were made from messages that those engines gave; the others follow
their vendors' lists. Patterns begin at the start of a message where they can: further on it may quote a user's text.
Only names pass into templates: tables, columns, schemas, functions, hosts, ports, users.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from analytics_core._engines.spec import ErrorPattern
from analytics_core.errors import ErrorType

_NO_TABLE = "there is no table {table}"
_NO_COLUMN = "there is no column {column} in the tables of this statement"
_NO_SCHEMA = "there is no schema {schema}"
_NO_DATABASE = "there is no database {database} on this server"
_NO_FUNCTION = "there is no function {function}, or it does not take arguments of these types"
_SYNTAX = "the statement is not correct SQL for this engine"
_AMBIGUOUS = "the column {column} is in more than one table of this statement; write the table before it"
_NOT_GROUPED = "a column is neither grouped nor inside an aggregate"
_MANY_ROWS = "a sub-query that must give one value gives several rows or columns"
_READ_ONLY = "this connection only reads; the statement would change data, settings or files"
_ZERO = "the statement divides by zero"
_OVERFLOW = "a number is larger than the engine's type for it can hold"
_BAD_VALUE = "a value cannot be converted to the type that its column or function needs"
_BAD_TIME = "a date or time value is out of range"
_DENIED = "the database user may not do this on {table}"
_DENIED_ANY = "the database user lacks a privilege that this statement needs"
_BAD_LOGIN = "user name or password is not accepted by the server"
_BAD_USER = "the server does not know the user {user}"
_BAD_PASSWORD = "the server does not accept the password of user {user}"  # noqa: S105 - a message
_BAD_HOST = "the host name {host} cannot be found"
_PORT_CLOSED = "port {port} on host {host} refuses connections; is the server running there?"
_BAD_PORT = "{port} is not a valid port; ports are whole numbers from 1 to 65535"
_HOST_DOWN = "the host {host} does not answer; it may be down or behind a firewall"
_LOST = "the server closed the connection"
_TIMEOUT = "the statement was stopped by the server's time limit"
_KILLED = "the statement was stopped on the server"
_ONE_ONLY = "one statement at a time"
_TOO_DEEP = "the statement is too long or too deeply nested for this engine"
_LOCKED = "the database file is locked by another program; try again when it has finished"
_NO_MEMORY = "the statement needs more memory than the engine may use"

_E = ErrorType


def _patterns(*rows: tuple[str, ErrorType, str]) -> tuple[ErrorPattern, ...]:
    return tuple(ErrorPattern(pattern=row[0], error_type=row[1], template=row[2]) for row in rows)


_SQLITE = _patterns(
    (r"^no such table: (?P<table>.+)", _E.TABLE_DOES_NOT_EXIST_ERROR, _NO_TABLE),
    (r"^no such column: (?P<column>.+)", _E.COLUMN_DOES_NOT_EXIST_ERROR, _NO_COLUMN),
    (r"^no such function: (?P<function>.+)", _E.OBJECT_DOES_NOT_EXIST_ERROR, _NO_FUNCTION),
    (r"^unknown database (?P<schema>.+)", _E.SCHEMA_DOES_NOT_EXIST_ERROR, _NO_SCHEMA),
    (r"^ambiguous column name: (?P<column>.+)", _E.GENERIC_DB_ENGINE_ERROR, _AMBIGUOUS),
    (r"^wrong number of arguments to function (?P<function>\w+)", _E.OBJECT_DOES_NOT_EXIST_ERROR, _NO_FUNCTION),
    (r"^(attempt to write a readonly|not authorized|access to .* is prohibited)", _E.DML_NOT_ALLOWED_ERROR, _READ_ONLY),
    (r"^you can (?:only|execute) .*one statement", _E.SYNTAX_ERROR, _ONE_ONLY),
    (r": syntax error$|^unrecognized token|^incomplete input|^misuse of", _E.SYNTAX_ERROR, _SYNTAX),
    (r"^sub-select returns|^row value misused", _E.SYNTAX_ERROR, _MANY_ROWS),
    (r"^unable to open database file", _E.CONNECTION_UNKNOWN_DATABASE_ERROR, "the database file cannot be opened"),
    (
        r"^file is not a database|malformed$",
        _E.CONNECTION_UNKNOWN_DATABASE_ERROR,
        "the file is no SQLite database, or is damaged",
    ),
    (r"^database (?:table )?is locked|^database schema is locked", _E.GENERIC_DB_ENGINE_ERROR, _LOCKED),
    (r"^integer overflow|^python int too large", _E.GENERIC_DB_ENGINE_ERROR, _OVERFLOW),
    (
        r"^string or blob too big|too large$",
        _E.GENERIC_DB_ENGINE_ERROR,
        "a value is longer than this engine may make it",
    ),
    (
        r"^too many|^expression tree is too large|^parser stack overflow|^like or glob pattern too complex",
        _E.GENERIC_DB_ENGINE_ERROR,
        _TOO_DEEP,
    ),
    (r"^malformed json|^bad json path", _E.GENERIC_DB_ENGINE_ERROR, _BAD_VALUE),
    (r"^interrupted", _E.GENERIC_DB_ENGINE_ERROR, _KILLED),
)

_DUCKDB = _patterns(
    (
        r"^connection error: .*different configuration",
        _E.GENERIC_DB_ENGINE_ERROR,
        "the database file is open in this process with other settings; close that connection first",
    ),
    (r"^(?:io|connection) error: .*lock", _E.GENERIC_DB_ENGINE_ERROR, _LOCKED),
    (
        r"^io error: .*(?:does not exist|not a valid duckdb|cannot open)",
        _E.CONNECTION_UNKNOWN_DATABASE_ERROR,
        "the database file cannot be opened, or is no DuckDB database",
    ),
    (
        r"^catalog error: table with name .* because schema \"(?P<schema>[^\"]+)\" does not exist",
        _E.SCHEMA_DOES_NOT_EXIST_ERROR,
        _NO_SCHEMA,
    ),
    (r"^catalog error: (?:table|view) with name (?P<table>.+?) does not", _E.TABLE_DOES_NOT_EXIST_ERROR, _NO_TABLE),
    (r"^catalog error: \w* ?function with name \"?(?P<function>\w+)", _E.OBJECT_DOES_NOT_EXIST_ERROR, _NO_FUNCTION),
    (
        r"^binder error: no function matches",
        _E.OBJECT_DOES_NOT_EXIST_ERROR,
        "no function takes arguments of these types",
    ),
    (r"^binder error: referenced column \"(?P<column>[^\"]+)\"", _E.COLUMN_DOES_NOT_EXIST_ERROR, _NO_COLUMN),
    (
        r"^binder error: table \"[^\"]+\" does not have a column named \"(?P<column>[^\"]+)\"",
        _E.COLUMN_DOES_NOT_EXIST_ERROR,
        _NO_COLUMN,
    ),
    (r"^binder error: referenced table \"(?P<table>[^\"]+)\"", _E.TABLE_DOES_NOT_EXIST_ERROR, _NO_TABLE),
    (
        r"^binder error: ambiguous reference to column name \"(?P<column>[^\"]+)\"",
        _E.GENERIC_DB_ENGINE_ERROR,
        _AMBIGUOUS,
    ),
    (r"^binder error: .*must appear in the group by", _E.SYNTAX_ERROR, _NOT_GROUPED),
    (r"^binder error: catalog \"(?P<database>[^\"]+)\" does not exist", _E.OBJECT_DOES_NOT_EXIST_ERROR, _NO_DATABASE),
    (r"subquery returns \d+ columns|^invalid input error: more than one row returned", _E.SYNTAX_ERROR, _MANY_ROWS),
    (
        r"read-only|configuration has been locked|^permission error|loading external extensions is disabled"
        r"|disabled by configuration",
        _E.DML_NOT_ALLOWED_ERROR,
        _READ_ONLY,
    ),
    (r"^parser error: .*(memory exhausted|depth)", _E.GENERIC_DB_ENGINE_ERROR, _TOO_DEEP),
    (r"^(parser|binder) error", _E.SYNTAX_ERROR, _SYNTAX),
    (r"^out of range error|^conversion error: .*out of range for", _E.GENERIC_DB_ENGINE_ERROR, _OVERFLOW),
    (r"^conversion error: .*field value out of range", _E.GENERIC_DB_ENGINE_ERROR, _BAD_TIME),
    (r"^(conversion|mismatch type) error", _E.GENERIC_DB_ENGINE_ERROR, _BAD_VALUE),
    (r"^out of memory error", _E.GENERIC_DB_ENGINE_ERROR, _NO_MEMORY),
    (r"division by zero", _E.GENERIC_DB_ENGINE_ERROR, _ZERO),
    (r"^interrupt error", _E.GENERIC_DB_ENGINE_ERROR, _KILLED),
)

_POSTGRESQL = _patterns(
    (r"^relation \"(?P<table>[^\"]+)\" does not exist", _E.TABLE_DOES_NOT_EXIST_ERROR, _NO_TABLE),
    (r"^missing from-clause entry for table \"(?P<table>[^\"]+)\"", _E.TABLE_DOES_NOT_EXIST_ERROR, _NO_TABLE),
    (r"^column \"?(?P<column>[^\"\n]+?)\"? does not exist", _E.COLUMN_DOES_NOT_EXIST_ERROR, _NO_COLUMN),
    (r"^schema \"(?P<schema>[^\"]+)\" does not exist", _E.SCHEMA_DOES_NOT_EXIST_ERROR, _NO_SCHEMA),
    (
        r"^(?:function|operator) .*does not exist|^function .*is not unique",
        _E.OBJECT_DOES_NOT_EXIST_ERROR,
        "there is no function or operator for values of these types",
    ),
    (r"^column reference \"(?P<column>[^\"]+)\" is ambiguous", _E.GENERIC_DB_ENGINE_ERROR, _AMBIGUOUS),
    (r"^(?:column .* must appear in the group by|aggregate functions are not allowed)", _E.SYNTAX_ERROR, _NOT_GROUPED),
    (r"^(?:subquery must return only one|more than one row returned by a subquery)", _E.SYNTAX_ERROR, _MANY_ROWS),
    (r"^cannot insert multiple commands", _E.SYNTAX_ERROR, _ONE_ONLY),
    (
        r"read-only transaction|transaction read-write mode|copy cannot be used"
        r"|didn't (?:return|produce)|no result available",
        _E.DML_NOT_ALLOWED_ERROR,
        _READ_ONLY,
    ),
    (
        r"^permission denied for (?:table|relation|view|schema|sequence) (?P<table>\S+)",
        _E.CONNECTION_DATABASE_PERMISSIONS_ERROR,
        _DENIED,
    ),
    (r"^permission denied|^must be (?:superuser|owner)", _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, _DENIED_ANY),
    (r"^(?:syntax error|unterminated)|^each \w+ query must have the same", _E.SYNTAX_ERROR, _SYNTAX),
    (r"canceling statement due to statement timeout", _E.CONNECTION_DATABASE_TIMEOUT, _TIMEOUT),
    (r"canceling statement", _E.GENERIC_DB_ENGINE_ERROR, _KILLED),
    (r"^division by zero", _E.GENERIC_DB_ENGINE_ERROR, _ZERO),
    (
        r"^date/time field value out of range|^(?:timestamp|date|year|interval).* out of range"
        r"|^timestamp too (?:large|small)",
        _E.GENERIC_DB_ENGINE_ERROR,
        _BAD_TIME,
    ),
    (r"out of range|^numeric field overflow|^cannot take", _E.GENERIC_DB_ENGINE_ERROR, _OVERFLOW),
    (
        r"^invalid input syntax|^invalid byte sequence|cannot be (?:cast|matched)|^could not determine",
        _E.GENERIC_DB_ENGINE_ERROR,
        _BAD_VALUE,
    ),
    (r"^stack depth limit|^too many|^target lists can have", _E.GENERIC_DB_ENGINE_ERROR, _TOO_DEEP),
    (r"^out of memory|^invalid memory alloc", _E.GENERIC_DB_ENGINE_ERROR, _NO_MEMORY),
    (r"role \"(?P<user>[^\"]+)\" does not exist", _E.CONNECTION_INVALID_USERNAME_ERROR, _BAD_USER),
    (
        r"password authentication failed for user \"(?P<user>[^\"]+)\"",
        _E.CONNECTION_INVALID_PASSWORD_ERROR,
        _BAD_PASSWORD,
    ),
    (
        r"no password supplied|no pg_hba.conf entry|is not permitted to log in",
        _E.CONNECTION_ACCESS_DENIED_ERROR,
        _BAD_LOGIN,
    ),
    (r"database \"(?P<database>[^\"]+)\" does not exist", _E.CONNECTION_UNKNOWN_DATABASE_ERROR, _NO_DATABASE),
    (r"permission denied for database \"?(?P<table>[^\"\n]+)", _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, _DENIED),
    (
        r"failed to resolve host '(?P<host>[^']*)'|could not translate host name",
        _E.CONNECTION_INVALID_HOSTNAME_ERROR,
        _BAD_HOST,
    ),
    (r"invalid port number: \"(?P<port>[^\"]*)\"", _E.CONNECTION_INVALID_PORT_ERROR, _BAD_PORT),
    (
        r"connection to server at \"(?P<host>[^\"]+)\".* port (?P<port>\d+) failed: connection refused",
        _E.CONNECTION_PORT_CLOSED_ERROR,
        _PORT_CLOSED,
    ),
    (
        r"connection to server at \"(?P<host>[^\"]+)\""
        r".*(?:timeout|timed out|no route|unreachable|closed the connection)",
        _E.CONNECTION_HOST_DOWN_ERROR,
        _HOST_DOWN,
    ),
    (r"connection timeout expired|timeout expired", _E.CONNECTION_HOST_DOWN_ERROR, "the server did not answer in time"),
    (
        r"server does not support ssl|ssl (?:error|required)|certificate",
        _E.CONNECTION_ACCESS_DENIED_ERROR,
        "the encrypted connection that is asked for cannot be made with this server",
    ),
    (
        r"too many clients|remaining connection slots",
        _E.CONNECTION_ACCESS_DENIED_ERROR,
        "the server takes no more connections at present",
    ),
    (
        r"server closed the connection|terminating connection|connection (?:is lost|is closed|was closed)",
        _E.CONNECTION_HOST_DOWN_ERROR,
        _LOST,
    ),
)

_MYSQL = _patterns(
    (r"^\(1146, .Table '(?:[^'.]+\.)?(?P<table>[^']+)' doesn't exist", _E.TABLE_DOES_NOT_EXIST_ERROR, _NO_TABLE),
    (r"^\(1109, .Unknown table '(?P<table>[^']+)'", _E.TABLE_DOES_NOT_EXIST_ERROR, _NO_TABLE),
    (r"^\(1054, .Unknown column '(?P<column>[^']+)'", _E.COLUMN_DOES_NOT_EXIST_ERROR, _NO_COLUMN),
    (r"^\(1305, .\w+ (?:\w+\.)?(?P<function>\w+) does not exist", _E.OBJECT_DOES_NOT_EXIST_ERROR, _NO_FUNCTION),
    (r"^\(1049, .Unknown database '(?P<database>[^']+)'", _E.CONNECTION_UNKNOWN_DATABASE_ERROR, _NO_DATABASE),
    (r"^\(1052, .Column '(?P<column>[^']+)'", _E.GENERIC_DB_ENGINE_ERROR, _AMBIGUOUS),
    (r"^\((?:1055|1056|1111|1140|1247),", _E.SYNTAX_ERROR, _NOT_GROUPED),
    (r"^\((?:1241|1242),", _E.SYNTAX_ERROR, _MANY_ROWS),
    (r"^\((?:1064|1149|1248|1060|1235|1221|1222|1582|1583|4078),", _E.SYNTAX_ERROR, _SYNTAX),
    (r"^\((?:1792|1290|1223|1836|1099),", _E.DML_NOT_ALLOWED_ERROR, _READ_ONLY),
    (
        r"^\(114[23], .* for (?:table|column) `?(?P<table>[^\s\"]+?)[`\"]*\)?$",
        _E.CONNECTION_DATABASE_PERMISSIONS_ERROR,
        _DENIED,
    ),
    (r"^\((?:1142|1143|1227|1370|1044),", _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, _DENIED_ANY),
    (
        r"^\((?:1045|1698), .Access denied for user '(?P<user>[^']*)'",
        _E.CONNECTION_ACCESS_DENIED_ERROR,
        "the server does not accept user {user} with this password",
    ),
    (
        r"^\((?:1129|1130|1040|1203|1226),",
        _E.CONNECTION_ACCESS_DENIED_ERROR,
        "the server takes no connections from here at present",
    ),
    (
        r"^\(2003, .* on '(?P<host>[^']*)' .*(?:name or service|nodename|not known|getaddrinfo|temporary failure)",
        _E.CONNECTION_INVALID_HOSTNAME_ERROR,
        _BAD_HOST,
    ),
    (
        r"^\(2003, .* on '(?P<host>[^']*)' .*refused",
        _E.CONNECTION_PORT_CLOSED_ERROR,
        "the port on host {host} refuses connections; is the server running there?",
    ),
    (r"port must be 0-65535", _E.CONNECTION_INVALID_PORT_ERROR, "ports are whole numbers from 1 to 65535"),
    (r"^\(2003, .* on '(?P<host>[^']*)'", _E.CONNECTION_HOST_DOWN_ERROR, _HOST_DOWN),
    (r"^\((?:2006|2013|2055|1053|1927),", _E.CONNECTION_HOST_DOWN_ERROR, _LOST),
    (r"^\((?:1969|3024),|max_(?:statement|execution)_time exceeded", _E.CONNECTION_DATABASE_TIMEOUT, _TIMEOUT),
    (r"^\((?:1317|1028),", _E.GENERIC_DB_ENGINE_ERROR, _KILLED),
    (
        r"^\((?:1205|1213),",
        _E.GENERIC_DB_ENGINE_ERROR,
        "the statement waited too long for another one's lock; try again",
    ),
    (r"^\(1365,", _E.GENERIC_DB_ENGINE_ERROR, _ZERO),
    (r"^\((?:1264|1690|1916),", _E.GENERIC_DB_ENGINE_ERROR, _OVERFLOW),
    (r"^\((?:1292|1366|1411|1525|3140|4038),", _E.GENERIC_DB_ENGINE_ERROR, _BAD_VALUE),
    (r"^\((?:1436|1153|1390|1118|1117|1116|2027),", _E.GENERIC_DB_ENGINE_ERROR, _TOO_DEEP),
    (r"^\((?:1037|1038|1041|5),", _E.GENERIC_DB_ENGINE_ERROR, _NO_MEMORY),
    (r"^\((?:1267|1270|1271),", _E.GENERIC_DB_ENGINE_ERROR, "texts with different collations are compared"),
)

_REDSHIFT = (
    *_patterns(
        (r"^password authentication failed|IAM authentication", _E.CONNECTION_ACCESS_DENIED_ERROR, _BAD_LOGIN),
        (r"Query .* cancelled|abort query", _E.GENERIC_DB_ENGINE_ERROR, _KILLED),
    ),
    *_POSTGRESQL,
)

_CLICKHOUSE = _patterns(
    (r"Code: 60\b|UNKNOWN_TABLE", _E.TABLE_DOES_NOT_EXIST_ERROR, "a table of this statement does not exist"),
    (
        r"Code: 81\b|UNKNOWN_DATABASE",
        _E.CONNECTION_UNKNOWN_DATABASE_ERROR,
        "the database does not exist on this server",
    ),
    (
        r"(?:Code: (?:8|16|47)\b|UNKNOWN_IDENTIFIER|NO_SUCH_COLUMN)(?:.*identifier [`'](?P<column>[^`']+)[`'])?",
        _E.COLUMN_DOES_NOT_EXIST_ERROR,
        _NO_COLUMN,
    ),
    (r"Code: 46\b|UNKNOWN_FUNCTION", _E.OBJECT_DOES_NOT_EXIST_ERROR, "a function of this statement does not exist"),
    (r"Code: 62\b|SYNTAX_ERROR", _E.SYNTAX_ERROR, _SYNTAX),
    (r"Code: 215\b|NOT_AN_AGGREGATE", _E.SYNTAX_ERROR, _NOT_GROUPED),
    (r"Code: (?:193|194|516)\b|AUTHENTICATION_FAILED", _E.CONNECTION_ACCESS_DENIED_ERROR, _BAD_LOGIN),
    (r"Code: 164\b|READONLY", _E.DML_NOT_ALLOWED_ERROR, _READ_ONLY),
    (r"Code: 497\b|ACCESS_DENIED", _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, _DENIED_ANY),
    (r"Code: 159\b|TIMEOUT_EXCEEDED", _E.CONNECTION_DATABASE_TIMEOUT, _TIMEOUT),
    (r"Code: 394\b|QUERY_WAS_CANCELLED", _E.GENERIC_DB_ENGINE_ERROR, _KILLED),
    (r"Code: 153\b|ILLEGAL_DIVISION", _E.GENERIC_DB_ENGINE_ERROR, _ZERO),
    (r"Code: 241\b|MEMORY_LIMIT_EXCEEDED", _E.GENERIC_DB_ENGINE_ERROR, _NO_MEMORY),
    (r"Name or service not known|getaddrinfo", _E.CONNECTION_INVALID_HOSTNAME_ERROR, "the host name cannot be found"),
    (r"Connection refused", _E.CONNECTION_PORT_CLOSED_ERROR, "the port refuses connections"),
)

_TRINO = _patterns(
    (r"TABLE_NOT_FOUND(?:.*Table '(?P<table>[^']+)')?", _E.TABLE_DOES_NOT_EXIST_ERROR, _NO_TABLE),
    (r"SCHEMA_NOT_FOUND(?:.*Schema '(?P<schema>[^']+)')?", _E.SCHEMA_DOES_NOT_EXIST_ERROR, _NO_SCHEMA),
    (r"CATALOG_NOT_FOUND", _E.CONNECTION_UNKNOWN_DATABASE_ERROR, "the catalog does not exist on this server"),
    (r"COLUMN_NOT_FOUND(?:.*Column '(?P<column>[^']+)')?", _E.COLUMN_DOES_NOT_EXIST_ERROR, _NO_COLUMN),
    (r"FUNCTION_NOT_FOUND", _E.OBJECT_DOES_NOT_EXIST_ERROR, "a function of this statement does not exist"),
    (r"SYNTAX_ERROR", _E.SYNTAX_ERROR, _SYNTAX),
    (r"EXPRESSION_NOT_AGGREGATE", _E.SYNTAX_ERROR, _NOT_GROUPED),
    (r"PERMISSION_DENIED|Access Denied", _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, _DENIED_ANY),
    (r"error 401|Invalid credentials|Unauthorized", _E.CONNECTION_ACCESS_DENIED_ERROR, _BAD_LOGIN),
    (r"READ_ONLY_VIOLATION", _E.DML_NOT_ALLOWED_ERROR, _READ_ONLY),
    (r"EXCEEDED_TIME_LIMIT", _E.CONNECTION_DATABASE_TIMEOUT, _TIMEOUT),
    (r"USER_CANCELED|ADMINISTRATIVELY_KILLED", _E.GENERIC_DB_ENGINE_ERROR, _KILLED),
    (r"DIVISION_BY_ZERO", _E.GENERIC_DB_ENGINE_ERROR, _ZERO),
    (r"NUMERIC_VALUE_OUT_OF_RANGE", _E.GENERIC_DB_ENGINE_ERROR, _OVERFLOW),
    (r"INVALID_CAST_ARGUMENT|TYPE_MISMATCH", _E.GENERIC_DB_ENGINE_ERROR, _BAD_VALUE),
    (r"EXCEEDED_.*MEMORY", _E.GENERIC_DB_ENGINE_ERROR, _NO_MEMORY),
    (r"Failed to resolve|Name or service", _E.CONNECTION_INVALID_HOSTNAME_ERROR, "the host name cannot be found"),
    (r"Connection refused", _E.CONNECTION_PORT_CLOSED_ERROR, "the port refuses connections"),
)

_BIGQUERY = _patterns(
    (r"Not found: Table (?P<table>[\w.:\-]+)", _E.TABLE_DOES_NOT_EXIST_ERROR, _NO_TABLE),
    (r"Not found: Dataset (?P<schema>[\w.:\-]+)", _E.SCHEMA_DOES_NOT_EXIST_ERROR, _NO_SCHEMA),
    (r"Not found: Project", _E.CONNECTION_UNKNOWN_DATABASE_ERROR, "the project does not exist"),
    (r"Unrecognized name: (?P<column>\w+)", _E.COLUMN_DOES_NOT_EXIST_ERROR, _NO_COLUMN),
    (r"Function not found: (?P<function>\w+)", _E.OBJECT_DOES_NOT_EXIST_ERROR, _NO_FUNCTION),
    (r"Syntax error", _E.SYNTAX_ERROR, _SYNTAX),
    (r"neither grouped nor aggregated", _E.SYNTAX_ERROR, _NOT_GROUPED),
    (r"Access Denied|does not have .* permission", _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, _DENIED_ANY),
    (r"invalid_grant|could not automatically determine credentials", _E.CONNECTION_ACCESS_DENIED_ERROR, _BAD_LOGIN),
    (r"division by zero", _E.GENERIC_DB_ENGINE_ERROR, _ZERO),
    (r"overflow", _E.GENERIC_DB_ENGINE_ERROR, _OVERFLOW),
    (r"timed out|Job timeout", _E.CONNECTION_DATABASE_TIMEOUT, _TIMEOUT),
)

_SNOWFLAKE = _patterns(
    (r"Object '(?P<table>[^']+)' does not exist or not authorized", _E.TABLE_DOES_NOT_EXIST_ERROR, _NO_TABLE),
    (r"Schema '(?P<schema>[^']+)' does not exist", _E.SCHEMA_DOES_NOT_EXIST_ERROR, _NO_SCHEMA),
    (r"Database '(?P<database>[^']+)' does not exist", _E.CONNECTION_UNKNOWN_DATABASE_ERROR, _NO_DATABASE),
    (r"invalid identifier '(?P<column>[^']+)'", _E.COLUMN_DOES_NOT_EXIST_ERROR, _NO_COLUMN),
    (r"Unknown function (?P<function>\w+)", _E.OBJECT_DOES_NOT_EXIST_ERROR, _NO_FUNCTION),
    (r"syntax error", _E.SYNTAX_ERROR, _SYNTAX),
    (r"is not a valid group by", _E.SYNTAX_ERROR, _NOT_GROUPED),
    (r"Incorrect username or password", _E.CONNECTION_ACCESS_DENIED_ERROR, _BAD_LOGIN),
    (r"Insufficient privileges", _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, _DENIED_ANY),
    (r"Division by zero", _E.GENERIC_DB_ENGINE_ERROR, _ZERO),
    (r"statement timeout|reached its .*timeout", _E.CONNECTION_DATABASE_TIMEOUT, _TIMEOUT),
    (r"SQL execution canceled", _E.GENERIC_DB_ENGINE_ERROR, _KILLED),
    (r"out of representable range", _E.GENERIC_DB_ENGINE_ERROR, _OVERFLOW),
)

_DATABRICKS = _patterns(
    (r"TABLE_OR_VIEW_NOT_FOUND(?:.*view `(?P<table>[^`]+)`)?", _E.TABLE_DOES_NOT_EXIST_ERROR, _NO_TABLE),
    (r"SCHEMA_NOT_FOUND(?:.*schema `(?P<schema>[^`]+)`)?", _E.SCHEMA_DOES_NOT_EXIST_ERROR, _NO_SCHEMA),
    (r"CATALOG_NOT_FOUND|NO_SUCH_CATALOG", _E.CONNECTION_UNKNOWN_DATABASE_ERROR, "the catalog does not exist"),
    (r"UNRESOLVED_COLUMN(?:.*name `(?P<column>[^`]+)`)?", _E.COLUMN_DOES_NOT_EXIST_ERROR, _NO_COLUMN),
    (r"UNRESOLVED_ROUTINE", _E.OBJECT_DOES_NOT_EXIST_ERROR, "a function of this statement does not exist"),
    (r"PARSE_SYNTAX_ERROR|ParseException", _E.SYNTAX_ERROR, _SYNTAX),
    (r"MISSING_AGGREGATION|MISSING_GROUP_BY", _E.SYNTAX_ERROR, _NOT_GROUPED),
    (r"PERMISSION_DENIED|INSUFFICIENT_PERMISSIONS", _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, _DENIED_ANY),
    (r"Invalid access token|\b40[13]\b", _E.CONNECTION_ACCESS_DENIED_ERROR, _BAD_LOGIN),
    (r"DIVIDE_BY_ZERO", _E.GENERIC_DB_ENGINE_ERROR, _ZERO),
    (r"ARITHMETIC_OVERFLOW|NUMERIC_VALUE_OUT_OF_RANGE", _E.GENERIC_DB_ENGINE_ERROR, _OVERFLOW),
    (r"CAST_INVALID_INPUT", _E.GENERIC_DB_ENGINE_ERROR, _BAD_VALUE),
    (r"timed out", _E.CONNECTION_DATABASE_TIMEOUT, _TIMEOUT),
)

_MSSQL = _patterns(
    (r"Invalid object name '(?P<table>[^']+)'", _E.TABLE_DOES_NOT_EXIST_ERROR, _NO_TABLE),
    (r"Invalid column name '(?P<column>[^']+)'", _E.COLUMN_DOES_NOT_EXIST_ERROR, _NO_COLUMN),
    (r"'(?P<function>[^']+)' is not a recognized .*function name", _E.OBJECT_DOES_NOT_EXIST_ERROR, _NO_FUNCTION),
    (r"Cannot open database \\?\"(?P<database>[^\"\\]+)", _E.CONNECTION_UNKNOWN_DATABASE_ERROR, _NO_DATABASE),
    (r"Login failed for user '(?P<user>[^']*)'", _E.CONNECTION_ACCESS_DENIED_ERROR, _BAD_LOGIN),
    (r"Incorrect syntax near|Unclosed quotation mark", _E.SYNTAX_ERROR, _SYNTAX),
    (r"is invalid in the select list because", _E.SYNTAX_ERROR, _NOT_GROUPED),
    (r"permission was denied on the object '(?P<table>[^']+)'", _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, _DENIED),
    (r"Divide by zero", _E.GENERIC_DB_ENGINE_ERROR, _ZERO),
    (r"Arithmetic overflow", _E.GENERIC_DB_ENGINE_ERROR, _OVERFLOW),
    (r"Conversion failed", _E.GENERIC_DB_ENGINE_ERROR, _BAD_VALUE),
    (r"query timeout|HYT00", _E.CONNECTION_DATABASE_TIMEOUT, _TIMEOUT),
    (r"Operation cancelled", _E.GENERIC_DB_ENGINE_ERROR, _KILLED),
    (
        r"Adaptive Server is unavailable|server was not found",
        _E.CONNECTION_HOST_DOWN_ERROR,
        "the server does not answer",
    ),
)

_ORACLE = _patterns(
    (r"ORA-00942", _E.TABLE_DOES_NOT_EXIST_ERROR, "a table of this statement does not exist, or may not be read"),
    (r"ORA-00904: (?P<column>\S+): ", _E.COLUMN_DOES_NOT_EXIST_ERROR, _NO_COLUMN),
    (r"ORA-009(?:0[0-9]|[1-3][0-9])|ORA-01756", _E.SYNTAX_ERROR, _SYNTAX),
    (r"ORA-00979|ORA-00937", _E.SYNTAX_ERROR, _NOT_GROUPED),
    (r"ORA-01427", _E.SYNTAX_ERROR, _MANY_ROWS),
    (r"ORA-01017", _E.CONNECTION_ACCESS_DENIED_ERROR, _BAD_LOGIN),
    (r"ORA-1251[45]", _E.CONNECTION_UNKNOWN_DATABASE_ERROR, "the server does not know this service or database"),
    (r"ORA-01031", _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, _DENIED_ANY),
    (r"ORA-01456", _E.DML_NOT_ALLOWED_ERROR, _READ_ONLY),
    (r"ORA-01476", _E.GENERIC_DB_ENGINE_ERROR, _ZERO),
    (r"ORA-01426", _E.GENERIC_DB_ENGINE_ERROR, _OVERFLOW),
    (r"ORA-01722|ORA-018[0-9][0-9]", _E.GENERIC_DB_ENGINE_ERROR, _BAD_VALUE),
    (r"ORA-01013|DPY-4024", _E.CONNECTION_DATABASE_TIMEOUT, _TIMEOUT),
    (r"ORA-1254[15]|DPY-6005", _E.CONNECTION_PORT_CLOSED_ERROR, "the port refuses connections"),
)

_DRUID = _patterns(
    (r"Object '(?P<table>[^']+)' not found", _E.TABLE_DOES_NOT_EXIST_ERROR, _NO_TABLE),
    (r"Column '(?P<column>[^']+)' not found", _E.COLUMN_DOES_NOT_EXIST_ERROR, _NO_COLUMN),
    (r"No match found for function signature (?P<function>\w+)", _E.OBJECT_DOES_NOT_EXIST_ERROR, _NO_FUNCTION),
    (r"is not being grouped", _E.SYNTAX_ERROR, _NOT_GROUPED),
    (r"SQL parse failed|Encountered|Received an unexpected token", _E.SYNTAX_ERROR, _SYNTAX),
    (r"Unauthorized|\b401\b", _E.CONNECTION_ACCESS_DENIED_ERROR, _BAD_LOGIN),
    (r"Forbidden|\b403\b", _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, _DENIED_ANY),
    (r"Query timeout|QueryTimeoutException", _E.CONNECTION_DATABASE_TIMEOUT, _TIMEOUT),
    (r"Connection refused", _E.CONNECTION_PORT_CLOSED_ERROR, "the port refuses connections"),
)

ERROR_PATTERNS: Mapping[str, tuple[ErrorPattern, ...]] = MappingProxyType(
    {
        "sqlite": _SQLITE,
        "duckdb": _DUCKDB,
        "postgresql": _POSTGRESQL,
        "mysql": _MYSQL,
        "redshift": _REDSHIFT,
        "clickhouse": _CLICKHOUSE,
        "trino": _TRINO,
        "bigquery": _BIGQUERY,
        "snowflake": _SNOWFLAKE,
        "databricks": _DATABRICKS,
        "mssql": _MSSQL,
        "oracle": _ORACLE,
        "druid": _DRUID,
    }
)
"""Engine name -> patterns, tried in order."""

r"""Patterns of engines that were not tried here, after their vendors' lists."""

from __future__ import annotations

from analytics_core._engines.error_patterns.parts import (
    BAD_LOGIN,
    BAD_VALUE,
    DENIED,
    DENIED_ANY,
    KILLED,
    MANY_ROWS,
    NO_COLUMN,
    NO_DATABASE,
    NO_FUNCTION,
    NO_MEMORY,
    NO_SCHEMA,
    NO_TABLE,
    NOT_GROUPED,
    OVERFLOW,
    READ_ONLY,
    SYNTAX,
    TIMEOUT,
    ZERO,
    patterns,
)
from analytics_core._engines.error_patterns.tried import POSTGRESQL
from analytics_core.errors import ErrorType

_E = ErrorType

# How messages of drivers that tell no code begin; what follows may hold the value of a row.
_CODE = r"\A(?:(?!Code: \d).)*Code: "
_NAME = r"\A(?:(?!name=).)*name="
_HTTP = r"\A(?:\d{3} )?(?:(?:GET|POST) \S+ )?"
_COMPILATION = (
    r"\A(?:\d{6} \(\w{5}\): )?(?:[\w-]{8,}: )?(?:SQL compilation error:\s*(?:error line \d+ at position \d+\s*)?)?"
)
_CLASS = r"\A[^\['\"]{0,80}\["
_ODBC = r"\A(?:\('\w{5}', )?[\"']?(?:\(\d+, b?[\"'])?(?:\[[^\]]*\]\s*)*"

REDSHIFT = (
    *patterns(
        (r"^password authentication failed|^IAM authentication", _E.CONNECTION_ACCESS_DENIED_ERROR, BAD_LOGIN),
        (r"^Query \S* ?cancelled|^abort query", _E.GENERIC_DB_ENGINE_ERROR, KILLED),
    ),
    *POSTGRESQL,
)

CLICKHOUSE = patterns(
    (_CODE + r"60\b", _E.TABLE_DOES_NOT_EXIST_ERROR, "a table of this statement does not exist"),
    (
        _CODE + r"81\b",
        _E.CONNECTION_UNKNOWN_DATABASE_ERROR,
        "the database does not exist on this server",
    ),
    (
        _CODE + r"(?:8|16|47)\b(?:.*identifier [`'](?P<column>[^`']+)[`'])?",
        _E.COLUMN_DOES_NOT_EXIST_ERROR,
        NO_COLUMN,
    ),
    (_CODE + r"46\b", _E.OBJECT_DOES_NOT_EXIST_ERROR, "a function of this statement does not exist"),
    (_CODE + r"62\b", _E.SYNTAX_ERROR, SYNTAX),
    (_CODE + r"215\b", _E.SYNTAX_ERROR, NOT_GROUPED),
    (_CODE + r"(?:193|194|516)\b", _E.CONNECTION_ACCESS_DENIED_ERROR, BAD_LOGIN),
    (_CODE + r"164\b", _E.DML_NOT_ALLOWED_ERROR, READ_ONLY),
    (_CODE + r"497\b", _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, DENIED_ANY),
    (_CODE + r"159\b", _E.CONNECTION_DATABASE_TIMEOUT, TIMEOUT),
    (_CODE + r"394\b", _E.GENERIC_DB_ENGINE_ERROR, KILLED),
    (_CODE + r"153\b", _E.GENERIC_DB_ENGINE_ERROR, ZERO),
    (_CODE + r"241\b", _E.GENERIC_DB_ENGINE_ERROR, NO_MEMORY),
    (r"Name or service not known|getaddrinfo", _E.CONNECTION_INVALID_HOSTNAME_ERROR, "the host name cannot be found"),
    (r"Connection refused", _E.CONNECTION_PORT_CLOSED_ERROR, "the port refuses connections"),
)

TRINO = patterns(
    (_NAME + r"TABLE_NOT_FOUND(?:.*Table '(?P<table>[^']+)')?", _E.TABLE_DOES_NOT_EXIST_ERROR, NO_TABLE),
    (_NAME + r"SCHEMA_NOT_FOUND(?:.*Schema '(?P<schema>[^']+)')?", _E.SCHEMA_DOES_NOT_EXIST_ERROR, NO_SCHEMA),
    (_NAME + r"CATALOG_NOT_FOUND", _E.CONNECTION_UNKNOWN_DATABASE_ERROR, "the catalog does not exist on this server"),
    (_NAME + r"COLUMN_NOT_FOUND(?:.*Column '(?P<column>[^']+)')?", _E.COLUMN_DOES_NOT_EXIST_ERROR, NO_COLUMN),
    (_NAME + r"FUNCTION_NOT_FOUND", _E.OBJECT_DOES_NOT_EXIST_ERROR, "a function of this statement does not exist"),
    (_NAME + r"SYNTAX_ERROR", _E.SYNTAX_ERROR, SYNTAX),
    (_NAME + r"EXPRESSION_NOT_AGGREGATE", _E.SYNTAX_ERROR, NOT_GROUPED),
    (_NAME + r"PERMISSION_DENIED", _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, DENIED_ANY),
    (r"error 401|Invalid credentials|Unauthorized", _E.CONNECTION_ACCESS_DENIED_ERROR, BAD_LOGIN),
    (_NAME + r"READ_ONLY_VIOLATION", _E.DML_NOT_ALLOWED_ERROR, READ_ONLY),
    (_NAME + r"EXCEEDED_TIME_LIMIT", _E.CONNECTION_DATABASE_TIMEOUT, TIMEOUT),
    (_NAME + r"(?:USER_CANCELED|ADMINISTRATIVELY_KILLED)", _E.GENERIC_DB_ENGINE_ERROR, KILLED),
    (_NAME + r"DIVISION_BY_ZERO", _E.GENERIC_DB_ENGINE_ERROR, ZERO),
    (_NAME + r"NUMERIC_VALUE_OUT_OF_RANGE", _E.GENERIC_DB_ENGINE_ERROR, OVERFLOW),
    (_NAME + r"(?:INVALID_CAST_ARGUMENT|TYPE_MISMATCH)", _E.GENERIC_DB_ENGINE_ERROR, BAD_VALUE),
    (_NAME + r"EXCEEDED_.*MEMORY", _E.GENERIC_DB_ENGINE_ERROR, NO_MEMORY),
    (r"Failed to resolve|Name or service", _E.CONNECTION_INVALID_HOSTNAME_ERROR, "the host name cannot be found"),
    (r"Connection refused", _E.CONNECTION_PORT_CLOSED_ERROR, "the port refuses connections"),
)

BIGQUERY = patterns(
    (_HTTP + r"Not found: Table (?P<table>[\w.:\-]+)", _E.TABLE_DOES_NOT_EXIST_ERROR, NO_TABLE),
    (_HTTP + r"Not found: Dataset (?P<schema>[\w.:\-]+)", _E.SCHEMA_DOES_NOT_EXIST_ERROR, NO_SCHEMA),
    (_HTTP + r"Not found: Project", _E.CONNECTION_UNKNOWN_DATABASE_ERROR, "the project does not exist"),
    (_HTTP + r"Unrecognized name: (?P<column>\w+)", _E.COLUMN_DOES_NOT_EXIST_ERROR, NO_COLUMN),
    (_HTTP + r"Function not found: (?P<function>\w+)", _E.OBJECT_DOES_NOT_EXIST_ERROR, NO_FUNCTION),
    (_HTTP + r"Syntax error", _E.SYNTAX_ERROR, SYNTAX),
    (_HTTP + r"[\w ]+ references column .* neither grouped nor aggregated", _E.SYNTAX_ERROR, NOT_GROUPED),
    (_HTTP + r"Access Denied", _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, DENIED_ANY),
    (r"invalid_grant|could not automatically determine credentials", _E.CONNECTION_ACCESS_DENIED_ERROR, BAD_LOGIN),
    (_HTTP + r"division by zero", _E.GENERIC_DB_ENGINE_ERROR, ZERO),
    (_HTTP + r"\w+ overflow", _E.GENERIC_DB_ENGINE_ERROR, OVERFLOW),
    (_HTTP + r"(?:Operation|Job) (?:timed out|timeout)", _E.CONNECTION_DATABASE_TIMEOUT, TIMEOUT),
)

SNOWFLAKE = patterns(
    (
        _COMPILATION + r"Object '(?P<table>[^']+)' does not exist or not authorized",
        _E.TABLE_DOES_NOT_EXIST_ERROR,
        NO_TABLE,
    ),
    (_COMPILATION + r"Schema '(?P<schema>[^']+)' does not exist", _E.SCHEMA_DOES_NOT_EXIST_ERROR, NO_SCHEMA),
    (
        _COMPILATION + r"Database '(?P<database>[^']+)' does not exist",
        _E.CONNECTION_UNKNOWN_DATABASE_ERROR,
        NO_DATABASE,
    ),
    (_COMPILATION + r"invalid identifier '(?P<column>[^']+)'", _E.COLUMN_DOES_NOT_EXIST_ERROR, NO_COLUMN),
    (_COMPILATION + r"Unknown function (?P<function>\w+)", _E.OBJECT_DOES_NOT_EXIST_ERROR, NO_FUNCTION),
    (_COMPILATION + r"syntax error", _E.SYNTAX_ERROR, SYNTAX),
    (_COMPILATION + r"'[^']*' .*is not a valid group by", _E.SYNTAX_ERROR, NOT_GROUPED),
    (r"\A250\d{3} .*Incorrect username or password", _E.CONNECTION_ACCESS_DENIED_ERROR, BAD_LOGIN),
    (_COMPILATION + r"Insufficient privileges", _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, DENIED_ANY),
    (_COMPILATION + r"Division by zero", _E.GENERIC_DB_ENGINE_ERROR, ZERO),
    (_COMPILATION + r"Statement reached its .*timeout", _E.CONNECTION_DATABASE_TIMEOUT, TIMEOUT),
    (_COMPILATION + r"SQL execution canceled", _E.GENERIC_DB_ENGINE_ERROR, KILLED),
    (_COMPILATION + r"Number out of representable range", _E.GENERIC_DB_ENGINE_ERROR, OVERFLOW),
)

DATABRICKS = patterns(
    (_CLASS + r"TABLE_OR_VIEW_NOT_FOUND(?:.*view `(?P<table>[^`]+)`)?", _E.TABLE_DOES_NOT_EXIST_ERROR, NO_TABLE),
    (_CLASS + r"SCHEMA_NOT_FOUND(?:.*schema `(?P<schema>[^`]+)`)?", _E.SCHEMA_DOES_NOT_EXIST_ERROR, NO_SCHEMA),
    (
        _CLASS + r"(?:CATALOG_NOT_FOUND|NO_SUCH_CATALOG)",
        _E.CONNECTION_UNKNOWN_DATABASE_ERROR,
        "the catalog does not exist",
    ),
    (_CLASS + r"UNRESOLVED_COLUMN(?:.*name `(?P<column>[^`]+)`)?", _E.COLUMN_DOES_NOT_EXIST_ERROR, NO_COLUMN),
    (_CLASS + r"UNRESOLVED_ROUTINE", _E.OBJECT_DOES_NOT_EXIST_ERROR, "a function of this statement does not exist"),
    (_CLASS + r"PARSE_SYNTAX_ERROR", _E.SYNTAX_ERROR, SYNTAX),
    (_CLASS + r"(?:MISSING_AGGREGATION|MISSING_GROUP_BY)", _E.SYNTAX_ERROR, NOT_GROUPED),
    (_CLASS + r"(?:PERMISSION_DENIED|INSUFFICIENT_PERMISSIONS)", _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, DENIED_ANY),
    (r"Invalid access token|\b40[13]\b", _E.CONNECTION_ACCESS_DENIED_ERROR, BAD_LOGIN),
    (_CLASS + r"DIVIDE_BY_ZERO", _E.GENERIC_DB_ENGINE_ERROR, ZERO),
    (_CLASS + r"(?:ARITHMETIC_OVERFLOW|NUMERIC_VALUE_OUT_OF_RANGE)", _E.GENERIC_DB_ENGINE_ERROR, OVERFLOW),
    (_CLASS + r"CAST_INVALID_INPUT", _E.GENERIC_DB_ENGINE_ERROR, BAD_VALUE),
    (r"timed out", _E.CONNECTION_DATABASE_TIMEOUT, TIMEOUT),
)

MSSQL = patterns(
    (_ODBC + r"Invalid object name '(?P<table>[^']+)'", _E.TABLE_DOES_NOT_EXIST_ERROR, NO_TABLE),
    (_ODBC + r"Invalid column name '(?P<column>[^']+)'", _E.COLUMN_DOES_NOT_EXIST_ERROR, NO_COLUMN),
    (
        _ODBC + r"'(?P<function>[^']+)' is not a recognized .*function name",
        _E.OBJECT_DOES_NOT_EXIST_ERROR,
        NO_FUNCTION,
    ),
    (_ODBC + r"Cannot open database \\?\"(?P<database>[^\"\\]+)", _E.CONNECTION_UNKNOWN_DATABASE_ERROR, NO_DATABASE),
    (_ODBC + r"Login failed for user '(?P<user>[^']*)'", _E.CONNECTION_ACCESS_DENIED_ERROR, BAD_LOGIN),
    (_ODBC + r"(?:Incorrect syntax near|Unclosed quotation mark)", _E.SYNTAX_ERROR, SYNTAX),
    (_ODBC + r"Column '[^']*' is invalid in the select list because", _E.SYNTAX_ERROR, NOT_GROUPED),
    (
        _ODBC + r"The \w+ permission was denied on the object '(?P<table>[^']+)'",
        _E.CONNECTION_DATABASE_PERMISSIONS_ERROR,
        DENIED,
    ),
    (_ODBC + r"Divide by zero", _E.GENERIC_DB_ENGINE_ERROR, ZERO),
    (_ODBC + r"Arithmetic overflow", _E.GENERIC_DB_ENGINE_ERROR, OVERFLOW),
    (_ODBC + r"Conversion failed", _E.GENERIC_DB_ENGINE_ERROR, BAD_VALUE),
    (r"query timeout|HYT00", _E.CONNECTION_DATABASE_TIMEOUT, TIMEOUT),
    (_ODBC + r"Operation cancelled", _E.GENERIC_DB_ENGINE_ERROR, KILLED),
    (
        r"Adaptive Server is unavailable|server was not found",
        _E.CONNECTION_HOST_DOWN_ERROR,
        "the server does not answer",
    ),
)

ORACLE = patterns(
    (
        r"\A(?:\w+: )?(?:ORA-00942)",
        _E.TABLE_DOES_NOT_EXIST_ERROR,
        "a table of this statement does not exist, or may not be read",
    ),
    (r"\A(?:\w+: )?(?:ORA-00904: (?P<column>\S+): )", _E.COLUMN_DOES_NOT_EXIST_ERROR, NO_COLUMN),
    (r"\A(?:\w+: )?(?:ORA-009(?:0[0-9]|[1-3][0-9])|ORA-01756)", _E.SYNTAX_ERROR, SYNTAX),
    (r"\A(?:\w+: )?(?:ORA-00979|ORA-00937)", _E.SYNTAX_ERROR, NOT_GROUPED),
    (r"\A(?:\w+: )?(?:ORA-01427)", _E.SYNTAX_ERROR, MANY_ROWS),
    (r"\A(?:\w+: )?(?:ORA-01017)", _E.CONNECTION_ACCESS_DENIED_ERROR, BAD_LOGIN),
    (
        r"\A(?:\w+: )?(?:ORA-1251[45])",
        _E.CONNECTION_UNKNOWN_DATABASE_ERROR,
        "the server does not know this service or database",
    ),
    (r"\A(?:\w+: )?(?:ORA-01031)", _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, DENIED_ANY),
    (r"\A(?:\w+: )?(?:ORA-01456)", _E.DML_NOT_ALLOWED_ERROR, READ_ONLY),
    (r"\A(?:\w+: )?(?:ORA-01476)", _E.GENERIC_DB_ENGINE_ERROR, ZERO),
    (r"\A(?:\w+: )?(?:ORA-01426)", _E.GENERIC_DB_ENGINE_ERROR, OVERFLOW),
    (r"\A(?:\w+: )?(?:ORA-01722|ORA-018[0-9][0-9])", _E.GENERIC_DB_ENGINE_ERROR, BAD_VALUE),
    (r"\A(?:\w+: )?(?:ORA-01013|DPY-4024)", _E.CONNECTION_DATABASE_TIMEOUT, TIMEOUT),
    (r"\A(?:\w+: )?(?:ORA-1254[15]|DPY-6005)", _E.CONNECTION_PORT_CLOSED_ERROR, "the port refuses connections"),
)

DRUID = patterns(
    (r"Object '(?P<table>[^']+)' not found", _E.TABLE_DOES_NOT_EXIST_ERROR, NO_TABLE),
    (r"Column '(?P<column>[^']+)' not found", _E.COLUMN_DOES_NOT_EXIST_ERROR, NO_COLUMN),
    (r"No match found for function signature (?P<function>\w+)", _E.OBJECT_DOES_NOT_EXIST_ERROR, NO_FUNCTION),
    (r"is not being grouped", _E.SYNTAX_ERROR, NOT_GROUPED),
    (r"SQL parse failed|Encountered|Received an unexpected token", _E.SYNTAX_ERROR, SYNTAX),
    (r"Unauthorized|\b401\b", _E.CONNECTION_ACCESS_DENIED_ERROR, BAD_LOGIN),
    (r"Forbidden|\b403\b", _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, DENIED_ANY),
    (r"Query timeout|QueryTimeoutException", _E.CONNECTION_DATABASE_TIMEOUT, TIMEOUT),
    (r"Connection refused", _E.CONNECTION_PORT_CLOSED_ERROR, "the port refuses connections"),
)

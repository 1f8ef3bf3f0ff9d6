r"""Patterns of SQLite, DuckDB, PostgreSQL and MariaDB, made from messages that those engines gave."""

from __future__ import annotations

from analytics_core._engines.error_patterns.parts import (
    AMBIGUOUS,
    BAD_HOST,
    BAD_LOGIN,
    BAD_PASSWORD,
    BAD_PORT,
    BAD_TIME,
    BAD_USER,
    BAD_VALUE,
    DENIED,
    DENIED_ANY,
    HOST_DOWN,
    KILLED,
    LOCKED,
    LOST,
    MANY_ROWS,
    NO_COLUMN,
    NO_DATABASE,
    NO_FUNCTION,
    NO_MEMORY,
    NO_OBJECT,
    NO_SCHEMA,
    NO_TABLE,
    NOT_GROUPED,
    ONE_ONLY,
    OVERFLOW,
    PORT_CLOSED,
    READ_ONLY,
    SYNTAX,
    TIMEOUT,
    TOO_DEEP,
    ZERO,
    coded,
    patterns,
)
from analytics_core.errors import ErrorType

_E = ErrorType

SQLITE = patterns(
    (r"^no such table: (?P<table>.+)", _E.TABLE_DOES_NOT_EXIST_ERROR, NO_TABLE),
    (r"^no such column: (?P<column>.+)", _E.COLUMN_DOES_NOT_EXIST_ERROR, NO_COLUMN),
    (r"^no such function: (?P<function>.+)", _E.OBJECT_DOES_NOT_EXIST_ERROR, NO_FUNCTION),
    (r"^unknown database (?P<schema>.+)", _E.SCHEMA_DOES_NOT_EXIST_ERROR, NO_SCHEMA),
    (r"^ambiguous column name: (?P<column>.+)", _E.GENERIC_DB_ENGINE_ERROR, AMBIGUOUS),
    (r"^wrong number of arguments to function (?P<function>\w+)", _E.OBJECT_DOES_NOT_EXIST_ERROR, NO_FUNCTION),
    (r"^(attempt to write a readonly|not authorized|access to .* is prohibited)", _E.DML_NOT_ALLOWED_ERROR, READ_ONLY),
    (r"^you can (?:only|execute) .*one statement", _E.SYNTAX_ERROR, ONE_ONLY),
    (r"^near .*: syntax error$|^unrecognized token|^incomplete input|^misuse of", _E.SYNTAX_ERROR, SYNTAX),
    (r"^sub-select returns|^row value misused", _E.SYNTAX_ERROR, MANY_ROWS),
    (
        r"^unable to open database file",
        _E.CONNECTION_UNKNOWN_DATABASE_ERROR,
        "the database file cannot be opened; this process must be allowed to read it and its folder",
    ),
    (
        r"^file is not a database|^database disk image is malformed$",
        _E.CONNECTION_UNKNOWN_DATABASE_ERROR,
        "the file is no SQLite database, or is damaged",
    ),
    (r"^database (?:table )?is locked|^database schema is locked", _E.GENERIC_DB_ENGINE_ERROR, LOCKED),
    (r"^integer overflow|^python int too large", _E.GENERIC_DB_ENGINE_ERROR, OVERFLOW),
    (
        r"^string or blob too big|^[\w ]+ too large$",
        _E.GENERIC_DB_ENGINE_ERROR,
        "a value is longer than this engine may make it",
    ),
    (
        r"^too many|^expression tree is too large|^parser stack overflow|^like or glob pattern too complex",
        _E.GENERIC_DB_ENGINE_ERROR,
        TOO_DEEP,
    ),
    (r"^malformed json|^bad json path", _E.GENERIC_DB_ENGINE_ERROR, BAD_VALUE),
    (r"^interrupted", _E.GENERIC_DB_ENGINE_ERROR, KILLED),
)

DUCKDB = patterns(
    (
        r"^connection error: .*different configuration",
        _E.GENERIC_DB_ENGINE_ERROR,
        "the database file is open in this process with other settings; close that connection first",
    ),
    (
        r"^(?:io|connection) error: .*(?:could not set lock|conflicting lock|used by another process)",
        _E.GENERIC_DB_ENGINE_ERROR,
        LOCKED,
    ),
    (
        r"^io error: .*database file with version number",
        _E.CONNECTION_UNKNOWN_DATABASE_ERROR,
        "the database file was written by another version of DuckDB; install the version of the package duckdb that "
        "wrote it, or a newer one",
    ),
    (
        r"^io error: corrupt|^io error: .*checksum",
        _E.CONNECTION_UNKNOWN_DATABASE_ERROR,
        "the database file is damaged",
    ),
    (
        r"^io error: .*(?:does not exist|not a valid duckdb|cannot open)",
        _E.CONNECTION_UNKNOWN_DATABASE_ERROR,
        "the database file cannot be opened, or is no DuckDB database",
    ),
    (
        r"^(?:permission|missing extension) error: .*extension",
        _E.CONNECTION_UNKNOWN_DATABASE_ERROR,
        "this is no DuckDB database, but a file or function that needs an extension of DuckDB; extensions are not "
        "loaded here",
    ),
    (
        r"^catalog error: table with name .* because schema \"(?P<schema>[^\"]+)\" does not exist",
        _E.SCHEMA_DOES_NOT_EXIST_ERROR,
        NO_SCHEMA,
    ),
    (r"^catalog error: (?:table|view) with name (?P<table>.+?) does not", _E.TABLE_DOES_NOT_EXIST_ERROR, NO_TABLE),
    (r"^catalog error: \w* ?function with name \"?(?P<function>\w+)", _E.OBJECT_DOES_NOT_EXIST_ERROR, NO_FUNCTION),
    (
        r"^binder error: no function matches .*?'(?P<function>[^'(]+)\(",
        _E.OBJECT_DOES_NOT_EXIST_ERROR,
        NO_FUNCTION,
    ),
    (r"^binder error: referenced column \"(?P<column>[^\"]+)\"", _E.COLUMN_DOES_NOT_EXIST_ERROR, NO_COLUMN),
    (
        r"^binder error: table \"[^\"]+\" does not have a column named \"(?P<column>[^\"]+)\"",
        _E.COLUMN_DOES_NOT_EXIST_ERROR,
        NO_COLUMN,
    ),
    (r"^binder error: referenced table \"(?P<table>[^\"]+)\"", _E.TABLE_DOES_NOT_EXIST_ERROR, NO_TABLE),
    (
        r"^binder error: ambiguous reference to column name \"(?P<column>[^\"]+)\"",
        _E.GENERIC_DB_ENGINE_ERROR,
        AMBIGUOUS,
    ),
    (r"^binder error: .*must appear in the group by", _E.SYNTAX_ERROR, NOT_GROUPED),
    (r"^binder error: catalog \"(?P<database>[^\"]+)\" does not exist", _E.OBJECT_DOES_NOT_EXIST_ERROR, NO_DATABASE),
    (
        r"^binder error: subquery returns \d+ columns|^invalid input error: more than one row returned",
        _E.SYNTAX_ERROR,
        MANY_ROWS,
    ),
    (
        r"^invalid input error: (?:cannot execute statement of type|attempting to execute) .*read-only"
        r"|^transactioncontext error: .*read-only|^invalid configuration error: .*locked|^permission error",
        _E.DML_NOT_ALLOWED_ERROR,
        READ_ONLY,
    ),
    (r"^parser error: .*(memory exhausted|depth)", _E.GENERIC_DB_ENGINE_ERROR, TOO_DEEP),
    (r"^(parser|binder) error", _E.SYNTAX_ERROR, SYNTAX),
    (
        r"^out of range error"
        r"|^conversion error: type \S+ with value \S+ can't be cast because the value is out of range",
        _E.GENERIC_DB_ENGINE_ERROR,
        OVERFLOW,
    ),
    (r"^conversion error: \w+ field value out of range", _E.GENERIC_DB_ENGINE_ERROR, BAD_TIME),
    (
        r"^(conversion|mismatch type) error|^invalid input error: could not parse string",
        _E.GENERIC_DB_ENGINE_ERROR,
        BAD_VALUE,
    ),
    (r"^out of memory error", _E.GENERIC_DB_ENGINE_ERROR, NO_MEMORY),
    (r"^\w[\w ]* error: division by zero!?$", _E.GENERIC_DB_ENGINE_ERROR, ZERO),
    (r"^interrupt error", _E.GENERIC_DB_ENGINE_ERROR, KILLED),
)

_POSTGRESQL_STATEMENTS = coded(
    ("42P01", r"^relation \"(?P<table>[^\"]+)\" does not exist", _E.TABLE_DOES_NOT_EXIST_ERROR, NO_TABLE),
    ("42P01", r"^missing from-clause entry for table \"(?P<table>[^\"]+)\"", _E.TABLE_DOES_NOT_EXIST_ERROR, NO_TABLE),
    ("42P01", r"", _E.TABLE_DOES_NOT_EXIST_ERROR, NO_TABLE),
    (
        "42703",
        r"^column \"?(?P<column>[^\"\n]+?)\"?(?: of relation \"[^\"]+\")? does not exist",
        _E.COLUMN_DOES_NOT_EXIST_ERROR,
        NO_COLUMN,
    ),
    ("42703", r"", _E.COLUMN_DOES_NOT_EXIST_ERROR, NO_COLUMN),
    ("3F000", r"^schema \"(?P<schema>[^\"]+)\" does not exist", _E.SCHEMA_DOES_NOT_EXIST_ERROR, NO_SCHEMA),
    ("3F000", r"", _E.SCHEMA_DOES_NOT_EXIST_ERROR, NO_SCHEMA),
    ("3D000", r"^database \"(?P<database>[^\"]+)\" does not exist", _E.OBJECT_DOES_NOT_EXIST_ERROR, NO_DATABASE),
    ("3D000", r"", _E.OBJECT_DOES_NOT_EXIST_ERROR, NO_DATABASE),
    (
        "42883 42725",
        r"^function (?P<function>[^(]+)\(.*(?:does not exist|is not unique)",
        _E.OBJECT_DOES_NOT_EXIST_ERROR,
        NO_FUNCTION,
    ),
    (
        "42883 42725",
        r"^(?:function|operator) .*does not exist|^function .*is not unique",
        _E.OBJECT_DOES_NOT_EXIST_ERROR,
        "there is no function or operator for values of these types",
    ),
    ("42704", r"", _E.OBJECT_DOES_NOT_EXIST_ERROR, NO_OBJECT),
    ("42702", r"^column reference \"(?P<column>[^\"]+)\" is ambiguous", _E.GENERIC_DB_ENGINE_ERROR, AMBIGUOUS),
    (
        "42803",
        r"^(?:column .* must appear in the group by|aggregate functions are not allowed)",
        _E.SYNTAX_ERROR,
        NOT_GROUPED,
    ),
    ("42803", r"", _E.SYNTAX_ERROR, NOT_GROUPED),
    (
        "21000 42601",
        r"^(?:subquery must return only one|more than one row returned by a subquery)",
        _E.SYNTAX_ERROR,
        MANY_ROWS,
    ),
    ("42601", r"^cannot insert multiple commands", _E.SYNTAX_ERROR, ONE_ONLY),
    ("42601", r"^(?:syntax error|unterminated)|^each \w+ query must have the same", _E.SYNTAX_ERROR, SYNTAX),
    ("42601", r"", _E.SYNTAX_ERROR, SYNTAX),
    (
        "25006 25001",
        r"^cannot execute .* in a read-only transaction|^transaction read-write mode must be set",
        _E.DML_NOT_ALLOWED_ERROR,
        READ_ONLY,
    ),
    ("25006 25001", r"", _E.DML_NOT_ALLOWED_ERROR, READ_ONLY),
    (
        "42501",
        r"^permission denied for (?:table|relation|view|schema|sequence) (?P<table>\S+)",
        _E.CONNECTION_DATABASE_PERMISSIONS_ERROR,
        DENIED,
    ),
    ("42501", r"^permission denied for \w+ |^must be ", _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, DENIED_ANY),
    ("42501", r"", _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, DENIED_ANY),
    ("57014", r"^canceling statement due to statement timeout", _E.CONNECTION_DATABASE_TIMEOUT, TIMEOUT),
    ("57014", r"^canceling statement", _E.GENERIC_DB_ENGINE_ERROR, KILLED),
    ("22012", r"^division by zero", _E.GENERIC_DB_ENGINE_ERROR, ZERO),
    (
        "22008",
        r"^date/time field value out of range|^(?:timestamp|date|year|interval).* out of range"
        r"|^timestamp too (?:large|small)",
        _E.GENERIC_DB_ENGINE_ERROR,
        BAD_TIME,
    ),
    ("22008", r"", _E.GENERIC_DB_ENGINE_ERROR, BAD_TIME),
    (
        "22003 2201E 2201F 2201G",
        r"^[\w ]+ out of range|^numeric field overflow|^cannot take",
        _E.GENERIC_DB_ENGINE_ERROR,
        OVERFLOW,
    ),
    ("22003 2201E 2201F 2201G", r"", _E.GENERIC_DB_ENGINE_ERROR, OVERFLOW),
    (
        "22 42602 42804 42846 42P18",
        r"^invalid input syntax|^invalid byte sequence|^[\w ]+ cannot be (?:cast|matched)|^could not determine",
        _E.GENERIC_DB_ENGINE_ERROR,
        BAD_VALUE,
    ),
    ("22 42602 42804 42846 42P18", r"", _E.GENERIC_DB_ENGINE_ERROR, BAD_VALUE),
    ("54", r"^stack depth limit|^too many|^target lists can have", _E.GENERIC_DB_ENGINE_ERROR, TOO_DEEP),
    ("54", r"", _E.GENERIC_DB_ENGINE_ERROR, TOO_DEEP),
    ("53200 XX000", r"^out of memory|^invalid memory alloc", _E.GENERIC_DB_ENGINE_ERROR, NO_MEMORY),
    ("08 57P01 57P02 57P03", r"^terminating connection", _E.CONNECTION_HOST_DOWN_ERROR, LOST),
    ("08 57P01 57P02 57P03", r"", _E.CONNECTION_HOST_DOWN_ERROR, LOST),
)
_POSTGRESQL_CONNECTIONS = patterns(
    (
        r"^copy cannot be used|^the last operation didn't (?:return|produce)|^no result available",
        _E.DML_NOT_ALLOWED_ERROR,
        READ_ONLY,
    ),
    (r"role \"(?P<user>[^\"]+)\" does not exist", _E.CONNECTION_INVALID_USERNAME_ERROR, BAD_USER),
    (
        r"password authentication failed for user \"(?P<user>[^\"]+)\"",
        _E.CONNECTION_INVALID_PASSWORD_ERROR,
        BAD_PASSWORD,
    ),
    (
        r"no password supplied|no pg_hba.conf entry|is not permitted to log in",
        _E.CONNECTION_ACCESS_DENIED_ERROR,
        BAD_LOGIN,
    ),
    (r"database \"(?P<database>[^\"]+)\" does not exist", _E.CONNECTION_UNKNOWN_DATABASE_ERROR, NO_DATABASE),
    (
        r"permission denied for database \"?(?P<database>[^\"\n]+)",
        _E.CONNECTION_DATABASE_PERMISSIONS_ERROR,
        "the database user may not connect to {database}",
    ),
    (
        r"failed to resolve host '(?P<host>[^']*)'|could not translate host name",
        _E.CONNECTION_INVALID_HOSTNAME_ERROR,
        BAD_HOST,
    ),
    (r"invalid port number: \"(?P<port>[^\"]*)\"", _E.CONNECTION_INVALID_PORT_ERROR, BAD_PORT),
    (
        r"connection to server at \"(?P<host>[^\"]+)\".* port (?P<port>\d+) failed: connection refused",
        _E.CONNECTION_PORT_CLOSED_ERROR,
        PORT_CLOSED,
    ),
    (
        r"connection to server at \"(?P<host>[^\"]+)\""
        r".*(?:timeout|timed out|no route|unreachable|closed the connection)",
        _E.CONNECTION_HOST_DOWN_ERROR,
        HOST_DOWN,
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
        LOST,
    ),
)
POSTGRESQL = (*_POSTGRESQL_STATEMENTS, *_POSTGRESQL_CONNECTIONS)

MYSQL = patterns(
    (r"^\(1146, .Table '(?:[^'.]+\.)?(?P<table>[^']+)' doesn't exist", _E.TABLE_DOES_NOT_EXIST_ERROR, NO_TABLE),
    (r"^\(1109, .Unknown table '(?P<table>[^']+)'", _E.TABLE_DOES_NOT_EXIST_ERROR, NO_TABLE),
    (r"^\(1054, .Unknown column '(?P<column>[^']+)'", _E.COLUMN_DOES_NOT_EXIST_ERROR, NO_COLUMN),
    (r"^\(1305, .\w+ (?:\w+\.)?(?P<function>\w+) does not exist", _E.OBJECT_DOES_NOT_EXIST_ERROR, NO_FUNCTION),
    (r"^\(1049, .Unknown database '(?P<database>[^']+)'", _E.CONNECTION_UNKNOWN_DATABASE_ERROR, NO_DATABASE),
    (r"^\(1052, .Column '(?P<column>[^']+)'", _E.GENERIC_DB_ENGINE_ERROR, AMBIGUOUS),
    (r"^\((?:1055|1056|1111|1140|1247),", _E.SYNTAX_ERROR, NOT_GROUPED),
    (r"^\((?:1241|1242),", _E.SYNTAX_ERROR, MANY_ROWS),
    (r"^\((?:1064|1149|1248|1060|1235|1221|1222|1582|1583|4078),", _E.SYNTAX_ERROR, SYNTAX),
    (r"^\((?:1792|1290|1223|1836|1099),", _E.DML_NOT_ALLOWED_ERROR, READ_ONLY),
    (
        r"^\(114[23], .* for (?:table|column) (?:`[^`]+`\.)?`?(?P<table>[^\s\"]+?)[`\"]*\)?$",
        _E.CONNECTION_DATABASE_PERMISSIONS_ERROR,
        DENIED,
    ),
    (r"^\((?:1142|1143|1227|1370|1044),", _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, DENIED_ANY),
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
        BAD_HOST,
    ),
    (
        r"^\(2003, .* on '(?P<host>[^']*)' .*refused",
        _E.CONNECTION_PORT_CLOSED_ERROR,
        "the port on host {host} refuses connections; is the server running there?",
    ),
    (r"port must be 0-65535", _E.CONNECTION_INVALID_PORT_ERROR, "ports are whole numbers from 1 to 65535"),
    (r"^\(2003, .* on '(?P<host>[^']*)'", _E.CONNECTION_HOST_DOWN_ERROR, HOST_DOWN),
    (r"^\((?:2006|2013|2055|1053|1927),", _E.CONNECTION_HOST_DOWN_ERROR, LOST),
    (r"^\((?:1969|3024),", _E.CONNECTION_DATABASE_TIMEOUT, TIMEOUT),
    (r"^\((?:1317|1028),", _E.GENERIC_DB_ENGINE_ERROR, KILLED),
    (
        r"^\((?:1205|1213),",
        _E.GENERIC_DB_ENGINE_ERROR,
        "the statement waited too long for another one's lock; try again",
    ),
    (r"^\(1365,", _E.GENERIC_DB_ENGINE_ERROR, ZERO),
    (r"^\((?:1264|1690|1916),", _E.GENERIC_DB_ENGINE_ERROR, OVERFLOW),
    (r"^\((?:1292|1366|1411|1525|3140|4038),", _E.GENERIC_DB_ENGINE_ERROR, BAD_VALUE),
    (r"^\((?:1436|1153|1390|1118|1117|1116|2027),", _E.GENERIC_DB_ENGINE_ERROR, TOO_DEEP),
    (r"^\((?:1037|1038|1041|5),", _E.GENERIC_DB_ENGINE_ERROR, NO_MEMORY),
    (r"^\((?:1267|1270|1271),", _E.GENERIC_DB_ENGINE_ERROR, "texts with different collations are compared"),
)

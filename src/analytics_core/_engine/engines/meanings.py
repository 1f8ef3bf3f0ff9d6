"""What the messages of a driver mean: the meanings that engines share, and how patterns are made of them.

Where a driver tells a code, that decides; else a pattern begins at the start of a message, or after its fixed
beginning: further on it may quote a user's text, or the value of a row. Only names pass into templates: tables,
columns, schemas, functions, hosts, ports, users.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from analytics_core._engine.engines.spec import ErrorPattern
from analytics_core.errors import ErrorType

_E: Final = ErrorType


class ErrorMeaning(NamedTuple):
    """The type of an error and our words for it, in which names that a pattern found stand in braces.

    `retryable`: whether it may be over later although nobody changes anything; None: as the type tells.
    """

    error_type: ErrorType
    template: str
    retryable: bool | None = None

    def said(self, template: str) -> ErrorMeaning:
        """Return the same error in other words."""
        return self._replace(template=template)


NO_TABLE = ErrorMeaning(_E.TABLE_DOES_NOT_EXIST_ERROR, "there is no table {table}")
NO_COLUMN = ErrorMeaning(_E.COLUMN_DOES_NOT_EXIST_ERROR, "there is no column {column} in the tables of this statement")
NO_SCHEMA = ErrorMeaning(_E.SCHEMA_DOES_NOT_EXIST_ERROR, "there is no schema {schema}")
NO_DATABASE = ErrorMeaning(_E.CONNECTION_UNKNOWN_DATABASE_ERROR, "there is no database {database} on this server")
NO_OBJECT = ErrorMeaning(_E.OBJECT_DOES_NOT_EXIST_ERROR, "a type, role, collation or other object does not exist")
NO_FUNCTION = ErrorMeaning(
    _E.OBJECT_DOES_NOT_EXIST_ERROR, "there is no function {function}, or it does not take arguments of these types"
)
SYNTAX = ErrorMeaning(_E.SYNTAX_ERROR, "the statement is not correct SQL for this engine")
AMBIGUOUS = ErrorMeaning(
    _E.GENERIC_DB_ENGINE_ERROR,
    "the column {column} is in more than one table of this statement; write the table before it",
)
NOT_GROUPED = ErrorMeaning(_E.SYNTAX_ERROR, "a column is neither grouped nor inside an aggregate")
MISPLACED = ErrorMeaning(
    _E.SYNTAX_ERROR, "an aggregate stands where none may: in WHERE, GROUP BY or another aggregate; use a sub-query"
)
UNEQUAL = ErrorMeaning(_E.SYNTAX_ERROR, "the queries of a UNION, EXCEPT or INTERSECT have unequal numbers of columns")
NO_POSITION = ErrorMeaning(_E.SYNTAX_ERROR, "a number after ORDER BY or GROUP BY is the place of no column")
MANY_ROWS = ErrorMeaning(_E.SYNTAX_ERROR, "a sub-query that must give one value gives several rows or columns")
READ_ONLY = ErrorMeaning(
    _E.DML_NOT_ALLOWED_ERROR, "this connection only reads; the statement would change data, settings or files"
)
ZERO = ErrorMeaning(_E.GENERIC_DB_ENGINE_ERROR, "the statement divides by zero")
OVERFLOW = ErrorMeaning(_E.GENERIC_DB_ENGINE_ERROR, "a number is larger than the engine's type for it can hold")
BAD_VALUE = ErrorMeaning(
    _E.GENERIC_DB_ENGINE_ERROR, "a value cannot be converted to the type that its column or function needs"
)
BAD_TIME = ErrorMeaning(_E.GENERIC_DB_ENGINE_ERROR, "a date or time value is out of range")
MADE_MEANWHILE = ErrorMeaning(
    _E.GENERIC_DB_ENGINE_ERROR, "somebody else makes or made a table of this name meanwhile; try again", retryable=True
)
NEEDED = ErrorMeaning(
    _E.GENERIC_DB_ENGINE_ERROR,
    "views, foreign keys or other things depend on the table; drop them first, or append to it",
)
NO_NULLS = ErrorMeaning(_E.GENERIC_DB_ENGINE_ERROR, "the column {column} takes no nulls")
NOT_UNIQUE = ErrorMeaning(_E.GENERIC_DB_ENGINE_ERROR, "a value that may be there once (a key) is there already")
NOT_CHECKED = ErrorMeaning(_E.GENERIC_DB_ENGINE_ERROR, "a condition of the table (CHECK) does not hold")
NO_REFERENCE = ErrorMeaning(_E.GENERIC_DB_ENGINE_ERROR, "there is no row that a foreign key refers to")
TOO_LONG = ErrorMeaning(_E.GENERIC_DB_ENGINE_ERROR, "a text is longer than its column takes")
DENIED = ErrorMeaning(_E.CONNECTION_DATABASE_PERMISSIONS_ERROR, "the database user may not do this on {table}")
DENIED_ANY = ErrorMeaning(
    _E.CONNECTION_DATABASE_PERMISSIONS_ERROR, "the database user lacks a privilege that this statement needs"
)
BAD_LOGIN = ErrorMeaning(_E.CONNECTION_ACCESS_DENIED_ERROR, "user name or password is not accepted by the server")
NO_ENCRYPTION = BAD_LOGIN.said("the encrypted connection that is asked for cannot be made with this server")
TAKES_NO_ENCRYPTION = BAD_LOGIN.said("the server takes no encrypted connections, and the connection asks for one")
UNTRUSTED = BAD_LOGIN.said(
    "no trusted authority vouches for the server's certificate; give that of its own authority in server_cert of extra"
)
OTHER_NAME = BAD_LOGIN.said("the server's certificate is for another name than the host of the connection")
BAD_USER = ErrorMeaning(_E.CONNECTION_INVALID_USERNAME_ERROR, "the server does not know the user {user}")
BAD_PASSWORD = ErrorMeaning(
    _E.CONNECTION_INVALID_PASSWORD_ERROR, "the server does not accept the password of user {user}"
)
BAD_HOST = ErrorMeaning(_E.CONNECTION_INVALID_HOSTNAME_ERROR, "the host name {host} cannot be found")
PORT_CLOSED = ErrorMeaning(
    _E.CONNECTION_PORT_CLOSED_ERROR, "port {port} on host {host} refuses connections; is the server running there?"
)
BAD_PORT = ErrorMeaning(
    _E.CONNECTION_INVALID_PORT_ERROR, "{port} is not a valid port; ports are whole numbers from 1 to 65535"
)
HOST_DOWN = ErrorMeaning(
    _E.CONNECTION_HOST_DOWN_ERROR, "the host {host} does not answer; it may be down or behind a firewall"
)
SILENT = HOST_DOWN.said("the server does not answer; check host and port, and that it runs")
LOST = ErrorMeaning(_E.CONNECTION_HOST_DOWN_ERROR, "the server closed the connection")
TIMEOUT = ErrorMeaning(_E.CONNECTION_DATABASE_TIMEOUT, "the statement was stopped by the server's time limit")
KILLED = ErrorMeaning(_E.GENERIC_DB_ENGINE_ERROR, "the statement was stopped on the server")
ONE_ONLY = ErrorMeaning(_E.SYNTAX_ERROR, "one statement at a time")
TOO_DEEP = ErrorMeaning(_E.GENERIC_DB_ENGINE_ERROR, "the statement is too long or too deeply nested for this engine")
UNNAMED = ErrorMeaning(_E.GENERIC_DB_ENGINE_ERROR, "the statement failed")
LOCKED = ErrorMeaning(
    _E.GENERIC_DB_ENGINE_ERROR,
    "the database file is locked by another program; try again when it has finished",
    retryable=True,
)
NO_ROOM = ErrorMeaning(
    _E.GENERIC_DB_ENGINE_ERROR, "the disk of the database, or the room that it may take there, is full; make room on it"
)
LOCK_WAIT = ErrorMeaning(
    _E.GENERIC_DB_ENGINE_ERROR, "the statement waited too long for another one's lock; try again", retryable=True
)
UNDONE = ErrorMeaning(
    _E.GENERIC_DB_ENGINE_ERROR,
    "the server undid the statement because of others that ran at the same time; try again",
    retryable=True,
)
CROWDED = ErrorMeaning(
    _E.CONNECTION_ACCESS_DENIED_ERROR, "the server takes no more connections at present", retryable=True
)
BUSY = ErrorMeaning(
    _E.GENERIC_DB_ENGINE_ERROR, "the database takes no more requests at present; wait, and try again", retryable=True
)
USED_UP = ErrorMeaning(
    _E.GENERIC_DB_ENGINE_ERROR, "a quota of the database is used up; wait until it renews, or raise it", retryable=True
)
NO_MEMORY = ErrorMeaning(_E.GENERIC_DB_ENGINE_ERROR, "the statement needs more memory than the engine may use")
NO_NAMED_FUNCTION = ErrorMeaning(_E.OBJECT_DOES_NOT_EXIST_ERROR, "a function of this statement does not exist")
UNKNOWN_HOST = ErrorMeaning(_E.CONNECTION_INVALID_HOSTNAME_ERROR, "the host name cannot be found")
REFUSED_PORT = ErrorMeaning(_E.CONNECTION_PORT_CLOSED_ERROR, "the port refuses connections")


def coded(*rows: tuple[str, str, ErrorMeaning]) -> tuple[ErrorPattern, ...]:
    """Return patterns that their codes choose (two letters: a class of them); a text of theirs gives the names.

    A `|` at the end of a pattern makes a second one of it, for all other texts of these codes.
    """
    return tuple(
        ErrorPattern(codes=tuple(codes.split()), pattern=text, **meaning._asdict())
        for codes, pattern, meaning in rows
        for text in ((pattern[:-1], "") if pattern.endswith("|") else (pattern,))
    )


def patterns(*rows: tuple[str, ErrorMeaning], after: str = "") -> tuple[ErrorPattern, ...]:
    """Return patterns that the text of a message chooses; `after` is the fixed beginning of all of them."""
    return tuple(ErrorPattern(pattern=f"{after}(?:{pattern})", **meaning._asdict()) for pattern, meaning in rows)


UNREACHABLE: Final = patterns(
    (r"(?:NameResolutionError|Name or service not known|getaddrinfo failed)", UNKNOWN_HOST),
    (r"Connection refused", REFUSED_PORT),
    (r"(?:timed out|unreachable|No route to host)", SILENT),
    after=r"\A[\w('\" :]{0,40}HTTPS?ConnectionPool\(.*",
)
"""What drivers over HTTP let through of their client: no connection."""

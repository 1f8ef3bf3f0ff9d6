"""The words of errors that databases answer, and how their patterns are made."""

from __future__ import annotations

from analytics_core._engines.spec import ErrorPattern
from analytics_core.errors import ErrorType

NO_TABLE = "there is no table {table}"
NO_COLUMN = "there is no column {column} in the tables of this statement"
NO_SCHEMA = "there is no schema {schema}"
NO_DATABASE = "there is no database {database} on this server"
NO_OBJECT = "a type, role, collation or other object does not exist"
NO_FUNCTION = "there is no function {function}, or it does not take arguments of these types"
SYNTAX = "the statement is not correct SQL for this engine"
AMBIGUOUS = "the column {column} is in more than one table of this statement; write the table before it"
NOT_GROUPED = "a column is neither grouped nor inside an aggregate"
MANY_ROWS = "a sub-query that must give one value gives several rows or columns"
READ_ONLY = "this connection only reads; the statement would change data, settings or files"
ZERO = "the statement divides by zero"
OVERFLOW = "a number is larger than the engine's type for it can hold"
BAD_VALUE = "a value cannot be converted to the type that its column or function needs"
BAD_TIME = "a date or time value is out of range"
DENIED = "the database user may not do this on {table}"
DENIED_ANY = "the database user lacks a privilege that this statement needs"
BAD_LOGIN = "user name or password is not accepted by the server"
BAD_USER = "the server does not know the user {user}"
BAD_PASSWORD = "the server does not accept the password of user {user}"  # noqa: S105 - a message
BAD_HOST = "the host name {host} cannot be found"
PORT_CLOSED = "port {port} on host {host} refuses connections; is the server running there?"
BAD_PORT = "{port} is not a valid port; ports are whole numbers from 1 to 65535"
HOST_DOWN = "the host {host} does not answer; it may be down or behind a firewall"
LOST = "the server closed the connection"
TIMEOUT = "the statement was stopped by the server's time limit"
KILLED = "the statement was stopped on the server"
ONE_ONLY = "one statement at a time"
TOO_DEEP = "the statement is too long or too deeply nested for this engine"
LOCKED = "the database file is locked by another program; try again when it has finished"
NO_MEMORY = "the statement needs more memory than the engine may use"


def coded(*rows: tuple[str, str, ErrorType, str]) -> tuple[ErrorPattern, ...]:
    """Return patterns that their codes choose (two letters: a class of them); a text of theirs gives the names."""
    return tuple(
        ErrorPattern(codes=tuple(row[0].split()), pattern=row[1], error_type=row[2], template=row[3]) for row in rows
    )


def patterns(*rows: tuple[str, ErrorType, str]) -> tuple[ErrorPattern, ...]:
    """Return patterns that the text of a message chooses."""
    return tuple(ErrorPattern(pattern=row[0], error_type=row[1], template=row[2]) for row in rows)

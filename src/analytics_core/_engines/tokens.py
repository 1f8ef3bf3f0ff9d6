"""Writes `strftime` formats in the format languages of the engines' own parsers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from analytics_core._engines.formats import TextFormat
from analytics_core.errors import UnsupportedByEngineError


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatLanguage:
    """A format language: its token for each directive, and how it writes text that stands for itself."""

    tokens: Mapping[str, str]
    plain: Callable[[str], str]


def write_tokens(parsed: TextFormat, language: FormatLanguage) -> str:
    """Return a format in another language.

    Raises:
        UnsupportedByEngineError: the language has no token for a directive.
    """
    return "".join(
        _token(piece.value, parsed, language) if piece.is_directive else language.plain(piece.value)
        for piece in parsed.pieces
    )


def _token(letter: str, parsed: TextFormat, language: FormatLanguage) -> str:
    token = language.tokens.get(letter)
    if token is None:
        raise UnsupportedByEngineError(
            f"the engine cannot read %{letter} of the date format {parsed.source!r}; "
            f"these work there: {', '.join(f'%{known}' for known in language.tokens)}"
        )
    return token


def _doubled_percent(text: str) -> str:
    return text.replace("%", "%%")


def _double_quoted(text: str) -> str:
    """Quote text with letters, which would be read as tokens."""
    if not any(char.isalpha() or char in '"\\' for char in text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _single_quoted(text: str) -> str:
    if not any(char.isalpha() or char in "'[]{}#" for char in text):
        return text
    return "'" + text.replace("'", "''") + "'"


_POSTGRES_TOKENS = MappingProxyType(
    {
        "Y": "YYYY",
        "m": "MM",
        "d": "DD",
        "H": "HH24",
        "M": "MI",
        "S": "SS",
        "f": "US",
        "b": "Mon",
        "B": "Month",
        "I": "HH12",
        "p": "AM",
    }
)

POSTGRES = FormatLanguage(tokens=_POSTGRES_TOKENS, plain=_double_quoted)
"""`to_timestamp` of PostgreSQL and Redshift."""

ORACLE = FormatLanguage(tokens=MappingProxyType({**_POSTGRES_TOKENS, "f": "FF6"}), plain=_double_quoted)
"""`TO_TIMESTAMP` of Oracle."""

SNOWFLAKE = FormatLanguage(
    tokens=MappingProxyType({**_POSTGRES_TOKENS, "f": "FF6", "b": "MON", "B": "MMMM"}), plain=_double_quoted
)
"""`TO_TIMESTAMP_NTZ` of Snowflake."""

MYSQL = FormatLanguage(
    tokens=MappingProxyType(
        {
            "Y": "%Y",
            "m": "%m",
            "d": "%d",
            "H": "%H",
            "M": "%i",
            "S": "%s",
            "f": "%f",
            "b": "%b",
            "B": "%M",
            "I": "%h",
            "p": "%p",
        }
    ),
    plain=_doubled_percent,
)
"""`STR_TO_DATE` of MariaDB and MySQL, `date_parse` of Trino and Presto."""

BIGQUERY = FormatLanguage(
    tokens=MappingProxyType({letter: f"%{letter}" for letter in "YmdHMSbBIp"}), plain=_doubled_percent
)
"""`PARSE_DATETIME` of BigQuery, which reads no fractions apart from their seconds."""

JAVA = FormatLanguage(
    tokens=MappingProxyType(
        {
            "Y": "yyyy",
            "m": "MM",
            "d": "dd",
            "H": "HH",
            "M": "mm",
            "S": "ss",
            "f": "SSSSSS",
            "b": "MMM",
            "B": "MMMM",
            "I": "hh",
            "p": "a",
        }
    ),
    plain=_single_quoted,
)
"""`to_timestamp` of Spark and Databricks, `TIME_PARSE` of Druid."""

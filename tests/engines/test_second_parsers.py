"""The statements of the golden files, read by a parser that is not the library's own: the vendor's where pip has one.

SQLite, DuckDB and MySQL need none: their servers run these statements in other tests. Oracle has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest
from tests.support.cluster_servers import ClickhouseServer

STATEMENTS = Path(__file__).parents[1] / "golden" / "golden_files" / "statements"
EXCUSED = {
    ("databricks", "awkward values"): "the parser knows no backslash before a quote, which Databricks and Spark do",
}
"""What a parser refuses, and why the statement is right all the same."""

Parse = Callable[[str], object]


def _postgresql() -> Parse:
    pglast = pytest.importorskip("pglast")
    parse: Parse = pglast.parse_sql
    return parse


def _bigquery() -> Parse:
    pytest.importorskip("zetasql")
    from zetasql.api import Parser
    from zetasql.types import LanguageOptions

    parse: Parse = Parser(LanguageOptions().enable_maximum_language_features()).parse_statement
    return parse


def _trino() -> Parse:
    parser = pytest.importorskip("trino_query_parser")
    parse: Parse = parser.parse_statement
    return parse


def _datafusion(dialect: str) -> Parse:
    """Return the parser of DataFusion, which plans what it has read: that there are no tables is no matter."""
    datafusion = pytest.importorskip("datafusion")
    settings = datafusion.SessionConfig().set("datafusion.sql_parser.dialect", dialect)
    context = datafusion.SessionContext(settings)

    def parse(sql: str) -> object:
        try:
            return context.sql(sql)
        except Exception as error:  # it has one class for all of its errors
            if re.match(r"SQL error: (?:Parser|Tokenizer)Error", str(error)):
                raise
            return None

    return parse


PARSERS: Mapping[str, tuple[str, Callable[[], Parse]]] = {
    "postgresql": ("PostgreSQL's own (pglast)", _postgresql),
    "bigquery": ("GoogleSQL's own (zetasql)", _bigquery),
    "redshift": ("DataFusion, dialect Redshift", partial(_datafusion, "redshift")),
    "snowflake": ("DataFusion, dialect Snowflake", partial(_datafusion, "snowflake")),
    "mssql": ("DataFusion, dialect MsSQL", partial(_datafusion, "mssql")),
    "databricks": ("DataFusion, dialect Databricks", partial(_datafusion, "databricks")),
    "trino": ("Trino's own grammar (trino-query-parser)", _trino),
    "presto": ("Trino's own grammar", _trino),
    "druid": ("DataFusion, generic", partial(_datafusion, "generic")),
}


def statements_of(engine: str) -> dict[str, str]:
    """Return the statements of an engine, with their values in them, by name; without those that it refuses."""
    found = {}
    for part in re.split(r"^-- ==== ", (STATEMENTS / f"{engine}.sql").read_text(encoding="utf-8"), flags=re.MULTILINE):
        name, has_text, text = part.partition(" ====\n")[0], *part.partition("-- display\n")[1:]
        if has_text:
            found[name] = text.strip()
    return found


def refused_by(parse: Parse, engine: str) -> dict[str, str]:
    """Return the statements that a parser refuses, with its message."""
    refused, read = {}, statements_of(engine)
    for name, sql in read.items():
        try:
            parse(sql)
        except Exception as error:  # each parser has errors of its own
            refused[name] = f"{type(error).__name__}: {error}"[:300]
    known = {name: EXCUSED[engine, name] for name in refused if (engine, name) in EXCUSED}
    print(f"\n{engine}: {len(read) - len(refused)} of {len(read)} read, excused {known}")
    return {name: message for name, message in refused.items() if name not in known}


@pytest.mark.parametrize("engine", PARSERS)
def test_a_second_parser_reads_every_statement(engine: str) -> None:
    parse = PARSERS[engine][1]()
    with pytest.raises(Exception, match=r".+"):
        parse("SELECT a FROM (SELECT b")
    assert refused_by(parse, engine) == {}
    assert len(statements_of(engine)) > 20


def test_clickhouse_itself_reads_every_statement(clickhouse: ClickhouseServer) -> None:
    from clickhouse_connect.driver.binding import format_str

    def parse(sql: str) -> object:
        return clickhouse.execute(f"SELECT formatQuery({format_str(sql)})".replace("%", "%%"))

    assert refused_by(parse, "clickhouse") == {}

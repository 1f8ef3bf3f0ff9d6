"""What a row holds reaches no error: neither as a name, nor by the type that a driver's words would be taken for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.execution import Target, target
from tests.support.revealing import FRAGMENTS

from analytics_core.errors import DatabaseError

CANARY = "CANARY_T2"
# Texts that make an engine's message look like another one, once it quotes them.
MASKS = (
    CANARY,
    "read-only transaction CANARY_T2",
    'relation "CANARY_T2" does not exist',
    'x" does not exist, canceling statement due to statement timeout CANARY_T2',
    "no such table: CANARY_T2",
    "CANARY_T2: syntax error",
    "division by zero CANARY_T2",
    'FATAL: role "CANARY_T2" does not exist',
    "(1146, \"Table 'a.CANARY_T2' doesn't exist\")",
)
SETUP = (
    "CREATE TABLE hidden (id INTEGER, status VARCHAR(200))",
    *("INSERT INTO hidden VALUES ({}, '{}')".format(i, text.replace("'", "''")) for i, text in enumerate(MASKS)),
)


@pytest.fixture(scope="module")
def hidden(
    make_postgres_database: Callable[..., str],
    make_mariadb_database: Callable[..., str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str], Target]]:
    folder = tmp_path_factory.mktemp("hidden")
    urls = {"sqlite": f"sqlite:///{folder / 'h.db'}", "duckdb": f"duckdb:///{folder / 'h.duckdb'}"}
    made: dict[str, Target] = {}

    def give(engine: str) -> Target:
        if engine not in made:
            url = urls.get(engine) or {"postgresql": make_postgres_database, "mysql": make_mariadb_database}[engine]()
            _fill(engine, url)
            made[engine] = stack.enter_context(target(url, folder, engine=engine))
        return made[engine]

    with ExitStack() as stack:
        yield give


def _fill(engine: str, url: str) -> None:
    admin = sa.create_engine(url, poolclass=sa.NullPool)
    with admin.begin() as connection:
        for statement in SETUP:
            connection.execute(sa.text(statement.replace(":", "\\:")))
        if engine == "sqlite":
            connection.execute(sa.text("CREATE VIRTUAL TABLE notes USING fts5(body)"))
            connection.execute(sa.text("INSERT INTO notes VALUES ('x')"))
    admin.dispose()


ALIKE = [
    ("postgresql", "CAST(status AS int)"),
    ("postgresql", "CAST(status AS date)"),
    ("postgresql", "CAST(status AS json)"),
    ("postgresql", "date_trunc(status, now())"),
    ("postgresql", "has_schema_privilege(status, 'usage')"),
    ("mysql", "EXTRACTVALUE(1, CONCAT(0x7e, status))"),
    ("mysql", "UPDATEXML(1, CONCAT(0x7e, status), 1)"),
    ("duckdb", "CAST(status AS INTEGER)"),
    ("duckdb", "CAST(status AS DATE)"),
    ("duckdb", "CAST(status AS JSON)"),
    ("duckdb", "error(status)"),
    ("duckdb", "strptime(status, '%Y')"),
    ("sqlite", "json_extract(status, '$.a')"),
    ("sqlite", "json_extract('{}', status)"),
]
"""What fails for each of the texts in the same way."""


def reported(found: Target, fragment: str, *, rows: int = len(MASKS)) -> list[DatabaseError]:
    """Return the errors of a fragment on each of the first rows alone."""
    errors = []
    for number in range(rows):
        try:
            found.run(f"SELECT {fragment} FROM hidden WHERE id = {number}")
        except DatabaseError as error:
            errors.append(error)
    return errors


@pytest.mark.server
@pytest.mark.parametrize("engine", ["postgresql", "mysql", "duckdb", "sqlite"])
def test_no_value_of_a_row_stands_in_an_error(
    hidden: Callable[[str], Target], engine: str, caplog: pytest.LogCaptureFixture
) -> None:
    found = hidden(engine)
    caplog.clear()
    leaks = [
        (fragment, error.to_payload())
        for fragment in FRAGMENTS[engine]
        for error in reported(found, fragment.replace("%", "%%") if engine != "sqlite" else fragment, rows=3)
        if "canary" in str(error.to_payload()).casefold()
    ]
    assert leaks == []
    assert "canary" not in caplog.text.casefold()


@pytest.mark.server
@for_each(("engine", "fragment"), ALIKE)
def test_a_value_of_a_row_does_not_decide_what_its_error_is_taken_for(
    hidden: Callable[[str], Target], engine: str, fragment: str
) -> None:
    errors = reported(hidden(engine), fragment)
    assert len(errors) == len(MASKS)
    assert len({(error.error_type, error.message) for error in errors}) == 1


@pytest.mark.server
@pytest.mark.parametrize("engine", ["postgresql", "mysql", "duckdb", "sqlite"])
def test_a_name_of_the_statement_is_still_told(hidden: Callable[[str], Target], engine: str) -> None:
    with pytest.raises(DatabaseError, match="no_such_table"):
        hidden(engine).run("SELECT id FROM no_such_table")
    with pytest.raises(DatabaseError, match="no_such_column"):
        hidden(engine).run("SELECT h.no_such_column FROM hidden h")

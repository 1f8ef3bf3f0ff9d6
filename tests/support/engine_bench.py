"""The four engines with a driver, ready to run expressions that specs build; sessions run in UTC as in production."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest
import sqlalchemy as sa
from sqlglot import exp
from tests.support.time_reference import COLUMNS

from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.engines.spec import BindValue, EngineSpec, ParamStyle

BENCHES = (
    "sqlite",
    "duckdb",
    pytest.param("postgresql", marks=pytest.mark.server),
    pytest.param("postgresql-icu", marks=pytest.mark.server),
    pytest.param("mysql", marks=pytest.mark.server),
)
"""Parameters for tests that run on every engine; `postgresql-icu` is a database whose text sorts as in English."""


class Values:
    """The bound values of a statement, by the marks that stand for them in the tree."""

    def __init__(self) -> None:
        self.by_name: dict[str, BindValue] = {}

    def __call__(self, value: BindValue) -> exp.Expr:
        name = f"p{len(self.by_name)}"
        self.by_name[name] = value
        return exp.Var(this=f"\x01{name}\x01")

    def bound(self, text: str, style: ParamStyle) -> tuple[str, Any]:
        """Return the text and the parameters as the driver takes them."""
        pieces = text.split("\x01")
        names = pieces[1::2]
        if style is ParamStyle.PYFORMAT:
            pieces[::2] = [piece.replace("%", "%%") for piece in pieces[::2]]
        write = {ParamStyle.QMARK: "?", ParamStyle.NUMERIC_DOLLAR: "${}", ParamStyle.PYFORMAT: "%({})s"}[style]
        pieces[1::2] = [write.format(name) for name in names]
        parameters = {name: self.by_name[name] for name in names}
        return "".join(pieces), tuple(parameters.values()) if style is ParamStyle.QMARK else parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """An engine's spec and an open connection to an empty database of it."""

    name: str
    spec: EngineSpec
    connection: sa.Connection

    @property
    def engine(self) -> str:
        """The engine's name."""
        return self.spec.name

    def create(self, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
        """Make a table of columns name -> type, filled with rows."""
        quoted = self.connection.dialect.identifier_preparer.quote
        listed = ", ".join(f"{quoted(name)} {kind}" for name, kind in columns.items())
        self.connection.exec_driver_sql(f"CREATE TABLE {quoted(table)} ({listed})")
        places = ", ".join(f":v{i}" for i in range(len(columns)))
        insert = sa.text(f"INSERT INTO {quoted(table)} VALUES ({places})")
        self.connection.execute(insert, [{f"v{i}": value for i, value in enumerate(row)} for row in rows])
        self.connection.commit()

    def select(
        self,
        table: str,
        expressions: Sequence[exp.Expr],
        *,
        binds: Values | None = None,
        where: exp.Expr | None = None,
        order: exp.Expr | None = None,
        group: Sequence[exp.Expr] = (),
    ) -> list[tuple[Any, ...]]:
        """Run a SELECT built from nodes and return its rows."""
        select = exp.Select(
            expressions=[
                exp.Alias(this=node, alias=exp.Identifier(this=f"c{i}", quoted=True))
                for i, node in enumerate(expressions)
            ],
            from_=exp.From(this=exp.Table(this=exp.Identifier(this=table, quoted=True))),
        )
        if where is not None:
            select.set("where", exp.Where(this=where))
        if group:
            select.set("group", exp.Group(expressions=list(group)))
        if order is not None:
            select.set("order", exp.Order(expressions=[exp.Ordered(this=order, desc=False, nulls_first=False)]))
        text, parameters = (binds or Values()).bound(select.sql(self.spec.dialect), self.spec.paramstyle)
        return [tuple(row) for row in self.connection.exec_driver_sql(text, parameters).fetchall()]


def column(name: str) -> exp.Column:
    """Return a fresh column node."""
    return exp.Column(this=exp.Identifier(this=name, quoted=True))


@contextmanager
def open_bench(name: str, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """Open the bench called `name`; servers come from the fixtures of `tests/conftest.py`."""
    database = _OPENERS[name](request)
    try:
        with database.connect() as connection:
            _prepare(connection)
            yield Bench(
                name=name, spec=installed_engines(()).get(name.split("-", maxsplit=1)[0]), connection=connection
            )
    finally:
        database.dispose()


@contextmanager
def open_time_bench(name: str, request: pytest.FixtureRequest, moments: Sequence[datetime | None]) -> Iterator[Bench]:
    """Open the bench with a table `v` of the moments, numbered, in a column for each encoding of time."""
    with open_bench(name, request) as opened:
        rows = [[i, *(one.written(moment, opened.engine) for one in COLUMNS)] for i, moment in enumerate(moments)]
        opened.create("v", {"id": "INTEGER", **{one.name: one.types[opened.engine] for one in COLUMNS}}, rows)
        yield opened


def _prepare(connection: sa.Connection) -> None:
    if connection.dialect.name == "sqlite":
        raw: Any = connection.connection.driver_connection
        raw.create_function("ac_lower", 1, _lower, deterministic=True)
    if connection.dialect.name == "duckdb":
        connection.exec_driver_sql("SET GLOBAL TimeZone = 'UTC'")


def _lower(value: str | None) -> str | None:
    return value.lower() if isinstance(value, str) else value


def _sqlite(_request: pytest.FixtureRequest) -> sa.Engine:
    return sa.create_engine("sqlite://")


def _duckdb(_request: pytest.FixtureRequest) -> sa.Engine:
    return sa.create_engine("duckdb:///:memory:")


def _postgresql(request: pytest.FixtureRequest) -> sa.Engine:
    make = request.getfixturevalue("make_postgres_database")
    return sa.create_engine(make(), connect_args={"options": "-c TimeZone=UTC"})


def _postgresql_icu(request: pytest.FixtureRequest) -> sa.Engine:
    make = request.getfixturevalue("make_postgres_database")
    return sa.create_engine(make(icu_locale="en"), connect_args={"options": "-c TimeZone=UTC"})


def _mysql(request: pytest.FixtureRequest) -> sa.Engine:
    make = request.getfixturevalue("make_mariadb_database")
    return sa.create_engine(make(), connect_args={"init_command": "SET time_zone='+00:00'"})


_OPENERS = {
    "sqlite": _sqlite,
    "duckdb": _duckdb,
    "postgresql": _postgresql,
    "postgresql-icu": _postgresql_icu,
    "mysql": _mysql,
}

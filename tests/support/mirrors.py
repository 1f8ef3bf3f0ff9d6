"""A database under row rules, and two mirrors that a plain driver asks: one with all rows, one with the permitted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa
from tests.support.servers import LOOPBACK

from analytics_core import AnalyticsCore, Settings
from analytics_core._records.datasource import Dataset
from analytics_core._records.people import RowFilter, User

KEY = "k3y-of-the-mirrored-core-0123456789"
LONGEST_WAIT_S = 20
"""No answer of MariaDB is waited for longer: some statements never end there, whatever its limits."""


@dataclass(kw_only=True)
class Rules:
    """The clause of each table, which binds everybody but the administrator."""

    clauses: dict[str, str]

    def row_filters(self, user: User, dataset: Dataset) -> Sequence[RowFilter]:
        """Return the rule on the table of a dataset."""
        clause = self.clauses.get(dataset.table_name)
        return () if clause is None or user.username == "admin" else (RowFilter(name="rule", clause=clause),)


@dataclass(frozen=True, kw_only=True)
class Mirror:
    """One database that a driver asks by itself."""

    engine: str
    schema: str
    connection: Any = field(repr=False)

    @classmethod
    def of(cls, url: str) -> Self:
        """Return the database of a URL."""
        engine = sa.make_url(url).get_backend_name()
        bounds = {"read_timeout": LONGEST_WAIT_S} if engine == "mysql" else {}
        made = sa.create_engine(url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT", connect_args=bounds)
        if engine == "postgresql":  # it compiles what it takes to be long, and its estimates of new tables are high
            with made.connect() as connection:
                connection.exec_driver_sql(f'ALTER DATABASE "{made.url.database}" SET jit = off')
        return cls(engine=engine, schema=schema_of(engine, url), connection=made.connect().connection)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return what the driver gives for a statement."""
        cursor = self.connection.cursor()
        try:
            cursor.execute(sql)
            return list(cursor.fetchall()) if cursor.description else []
        finally:
            cursor.close()

    def connect_again(self) -> None:
        """Reach a server of MariaDB that was started again."""
        driver = self.connection.driver_connection
        if driver.open:
            driver.close()
        driver.connect()

    def keep(self, clauses: Mapping[str, str], names: Iterable[str]) -> None:
        """Fill the tables anew from those that hold all rows (`all_` before the name), as far as rules permit."""
        for name in names:
            table, complete = quoted(self.engine, name), quoted(self.engine, f"all_{name}")
            self.rows(f"DELETE FROM {table}")
            self.rows(f"INSERT INTO {table} SELECT * FROM {complete} WHERE {clauses.get(name, '1 = 1')}")


@dataclass(frozen=True, kw_only=True)
class Mirrored:
    """A core over one database; `reader` is bound by the rules, `admin` is not."""

    engine: str
    admin: AnalyticsCore
    reader: AnalyticsCore
    schema: str
    rules: Rules
    complete: Mirror
    permitted: Mirror


def schema_of(engine: str, url: str) -> str:
    """Return the schema of a database in which its tables are."""
    return {"postgresql": "public", "mysql": str(sa.make_url(url).database)}.get(engine, "main")


def quoted(engine: str, name: str) -> str:
    """Return a name in the quotes of the engine."""
    return f"`{name}`" if engine == "mysql" else f'"{name}"'


@contextmanager
def mirrored(
    engine: str,
    urls: Sequence[str],
    folder: Path,
    tables: Mapping[str, str],
    clauses: Mapping[str, str],
    views: Mapping[str, str],
) -> Iterator[Mirrored]:
    """Make tables (name -> `columns | rows`) and views in three databases; the core reads the first.

    The SQL of a view reads the table `{all}t`: a view shows what its own rule permits, whatever binds on the table.
    """
    mirrors = [Mirror.of(url) for url in urls]
    for mirror in mirrors:
        for name, made in tables.items():
            columns, _, rows = made.partition("|")
            for table in (name, f"all_{name}"):
                mirror.rows(f"CREATE TABLE {quoted(engine, table)} ({columns})")
                mirror.rows(f"INSERT INTO {quoted(engine, table)} VALUES {rows}")
    first, complete, permitted = mirrors
    for name, sql in views.items():
        inside = sql.format(all="all_")
        first.rows(f"CREATE VIEW {name} AS {sql.format(all='')}")
        complete.rows(f"CREATE VIEW {name} AS {inside}")
        permitted.rows(f"CREATE VIEW {name} AS SELECT * FROM ({inside}) AS v WHERE {clauses[name]}")
    for name in tables:
        first.rows(f"DROP TABLE {quoted(engine, f'all_{name}')}")
    first.connection.close()
    permitted.keep(clauses, tables)
    rules = Rules(clauses=dict(clauses))
    with ExitStack() as stack:
        stack.callback(complete.connection.close)
        stack.callback(permitted.connection.close)
        admin, reader = stack.enter_context(ruled_core(urls[0], folder, rules))
        yield Mirrored(
            engine=engine,
            admin=admin,
            reader=reader,
            schema=first.schema,
            rules=rules,
            complete=complete,
            permitted=permitted,
        )


@contextmanager
def ruled_core(url: str, folder: Path, rules: Rules) -> Iterator[tuple[AnalyticsCore, AnalyticsCore]]:
    """Give the cores of an administrator and of somebody bound by rules, over one database with a dataset for each."""
    settings = Settings(
        secret_key=KEY, data_roots=(folder,), allowed_networks=LOOPBACK, metadata_freshness_s=60, statement_timeout_s=20
    )
    with AnalyticsCore(settings, row_filters=[rules]) as host:
        admin = host.as_user(host.create_first_administrator("admin").id)
        admin.databases.create({"database_name": "shop", "orm_uri": url})
        for name in rules.clauses:
            admin.datasets.create({"database": 1, "table_name": name})
        role = admin.roles.create({"name": "readers"})
        admin.roles.grant(role, on=("database", 1))
        admin.users.create({"username": "reader", "roles": [role.id]})
        yield admin, host.as_user("reader")


def comparable(rows: Iterable[Sequence[Any]]) -> list[str]:
    """Return rows in a form in which drivers agree, sorted: SQL gives them in no order."""
    return sorted(repr([_comparable(value) for value in row]) for row in rows)


def _comparable(value: Any) -> Any:
    match value:
        case bool():
            return int(value)
        case float() if value != value:
            return None  # as the library gives it
        case int() | float() | Decimal():
            return f"{float(value):.9g}"
        case bytes() | bytearray() | memoryview():
            return bytes(value).hex()
        case date() | time():
            return value.isoformat().replace("T", " ").removesuffix(" 00:00:00")
        case timedelta():
            return (datetime.min + value).time().isoformat()
        case str() if value[:1] in ("[", "{"):
            with suppress(ValueError):
                return _comparable(json.loads(value))
        case list() | tuple():
            return [_comparable(item) for item in value]
        case dict():
            return {key: _comparable(item) for key, item in sorted(value.items())}
    return value

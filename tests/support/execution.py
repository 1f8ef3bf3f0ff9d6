"""What tests of execution share: databases, a connector, a runner, and how to say what they answered."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.servers import LOOPBACK

from analytics_core._core.adapters.connector import SqlAlchemyConnector
from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.execution.connections import Admission
from analytics_core._engine.execution.fetching import FetchedResult, FetchLimits
from analytics_core._engine.execution.statements import FrameStream, StatementRunner
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.datasource import Access, Database
from analytics_core._records.people import Role, User
from analytics_core._records.secret import Secret
from analytics_core._records.settings import Settings

KEY = "a-key-for-tests-0123456789"
LIMITS = FetchLimits(max_rows=100_000, max_bytes=100_000_000, timeout_s=20.0)
REGISTRY = installed_engines(())

SQLITE_ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
DUCKDB_ENDLESS = "SELECT count(*) FROM range(1000000) a, range(10000000) b WHERE a.range + b.range < 0"
POSTGRES_ENDLESS = "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b WHERE a + b < 0"
MARIADB_ENDLESS = "SELECT count(*) FROM seq_1_to_1000000 a, seq_1_to_1000000 b WHERE a.seq + b.seq < 0"


def database(uri: str, *, record_id: int = 1, engine: str | None = None, **fields: Any) -> Database:
    """Return a stored database record."""
    name = engine or uri.partition(":")[0].partition("+")[0]
    return Database(
        id=record_id,
        uuid=fields.pop("uuid", f"uuid-{record_id}"),
        database_name=fields.pop("database_name", "shop"),
        uri=Secret(uri),
        engine=name,
        **fields,
    )


def admission(record: Database, **fields: Any) -> Admission:
    """Return an admission of an administrator to a database."""
    actor = Actor(user=User(id=1, username="admin"), roles=(Role(id=1, name="Admin", is_admin=True),))
    identity = fields.pop("identity", None)
    known = {"may_know_why": True, **fields}
    return Admission(actor=actor, database=record, spec=REGISTRY.get(record.engine), identity=identity, **known)


def settings(*roots: Path, **fields: Any) -> Settings:
    """Return settings that open files below `roots` and reach the servers of the tests."""
    return Settings(**{"secret_key": KEY, "data_roots": roots, "allowed_networks": LOOPBACK, **fields})


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One database with a connector and a runner on it."""

    connector: SqlAlchemyConnector
    runner: StatementRunner
    record: Database

    @property
    def admission(self) -> Admission:
        """What nobody but the gate makes outside of tests."""
        return admission(self.record)

    def run(
        self,
        sql: str,
        parameters: tuple[Any, ...] | Mapping[str, Any] = (),
        *,
        limits: FetchLimits = LIMITS,
        columns: Mapping[str, ValueKind] | None = None,
        cancel: CancelToken | None = None,
    ) -> FetchedResult:
        """Run a statement; `columns` are the planned labels and kinds, None: taken from the result."""
        statement = self._statement(sql, parameters, columns)
        return self.runner.run(self.admission.to_run(statement), limits=limits, cancel=cancel)

    def stream(
        self,
        sql: str,
        *,
        limits: FetchLimits = LIMITS,
        wait_s: float = 10.0,
        columns: Mapping[str, ValueKind] | None = None,
        cancel: CancelToken | None = None,
    ) -> FrameStream:
        """Begin a statement whose rows are read in parts."""
        admitted = self.admission.to_run(self._statement(sql, (), columns))
        return self.runner.stream(admitted, limits=limits, wait_s=wait_s, cancel=cancel)

    @property
    def lent(self) -> int:
        """How many connections somebody holds."""
        engine = self.connector.engine(self.record, identity=None, access=Access.READ)
        return int(engine.pool.checkedout())

    def is_returned(self, within_s: float = 3.0) -> bool:
        """Tell whether nobody holds a connection, at the latest after so many seconds."""
        latest = time.monotonic() + within_s
        while self.lent and time.monotonic() < latest:
            time.sleep(0.01)
        return self.lent == 0

    def _statement(
        self, sql: str, parameters: tuple[Any, ...] | Mapping[str, Any], columns: Mapping[str, ValueKind] | None
    ) -> Statement:
        spec = REGISTRY.get(self.record.engine)
        given = parameters if isinstance(parameters, tuple) and parameters else dict(parameters or {})
        return Statement(
            sql=sql,
            parameters=given if given or spec.name != "sqlite" else (),
            display_sql=sql,
            labels=tuple(columns or ()),
            kinds=tuple((columns or {}).values()),
        )

    def rows(self, sql: str, parameters: tuple[Any, ...] | Mapping[str, Any] = (), **options: Any) -> list[Any]:
        """Return the rows of a statement."""
        return list(self.run(sql, parameters, **options).frame.rows())

    def values(self, sql: str, **options: Any) -> tuple[ValueKind, list[Any]]:
        """Return kind and values of the first column."""
        column = self.run(sql, **options).frame.columns[0]
        return column.kind, column.to_list()


@contextmanager
def target(uri: str, *roots: Path, engine: str | None = None, **fields: Any) -> Iterator[Target]:
    """Give a target for one `with` block."""
    record = database(uri, engine=engine)
    connector = SqlAlchemyConnector(settings=settings(*roots, **fields), specs=REGISTRY.get)
    try:
        yield Target(connector=connector, runner=StatementRunner(connector), record=record)
    finally:
        connector.close()


def limits(**changes: Any) -> FetchLimits:
    """Return the usual limits with changes."""
    values = {"max_rows": LIMITS.max_rows, "max_bytes": LIMITS.max_bytes, "timeout_s": LIMITS.timeout_s}
    return FetchLimits(**{**values, **changes})


def make_sqlite_file(path: Path, *statements: str) -> Path:
    """Make a SQLite file with these statements."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return path


def fingerprint(folder: Path) -> Mapping[str, str]:
    """Return the hash of every file below a folder: equal before and after means that nothing was written."""
    files: Sequence[Path] = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

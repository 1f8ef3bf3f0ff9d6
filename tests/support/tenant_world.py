"""Sales of several tenants on one engine, with stored row rules: each tenant is a user who may see their own rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.servers import LOOPBACK

from analytics_core import AnalyticsCore, Settings
from analytics_core.ports import Clock

ENGINES = [
    "sqlite",
    "duckdb",
    pytest.param("postgresql", marks=pytest.mark.server),
    pytest.param("mysql", marks=pytest.mark.server),
]
KEY = "k3y-of-the-tenants-core-0123456789"
TENANTS = ("acme", "bolt", "o'hare")
COLUMNS = "id INTEGER NOT NULL, tenant VARCHAR(20), region VARCHAR(20), amount INTEGER, sold_on TIMESTAMP"
Row = tuple[int, str | None, str | None, int | None, str]
ROWS: tuple[Row, ...] = (
    (1, "acme", "north", 10, "2024-01-05 00:00:00"),
    (2, "acme", "south", 20, "2024-02-06 00:00:00"),
    (3, "acme", "north", 30, "2023-02-07 00:00:00"),
    (4, "bolt", "north", 1000, "2024-01-05 00:00:00"),
    (5, "bolt", "west", 2000, "2023-02-05 00:00:00"),
    (6, "o'hare", "east", 5, "2024-01-09 00:00:00"),
    (7, None, "north", 70000, "2024-01-05 00:00:00"),
)
TENANT_CLAUSE = "tenant = {{ current_user_attribute('tenant') }}"


@dataclass(frozen=True, kw_only=True)
class TenantWorld:
    """A core over one database whose dataset 1 is `sales`; users are named like the tenants."""

    engine: str
    url: str
    host: AnalyticsCore
    admin: AnalyticsCore
    readers: int
    metadata_url: str

    def user(self, name: str) -> AnalyticsCore:
        """Return the core as a tenant."""
        return self.host.as_user(name)

    def fill(self, rows: Sequence[Row]) -> None:
        """Replace the rows of `sales`."""
        owner = sa.create_engine(self.url, poolclass=sa.NullPool)
        with owner.begin() as connection:
            connection.execute(sa.text("DELETE FROM sales"))
            for row in rows:
                values = dict(zip(("id", "tenant", "region", "amount", "sold_on"), row, strict=True))
                connection.execute(
                    sa.text("INSERT INTO sales VALUES (:id, :tenant, :region, :amount, :sold_on)"), values
                )
        owner.dispose()

    def execute(self, *statements: str) -> None:
        """Run statements as the owner of the database."""
        owner = sa.create_engine(self.url, poolclass=sa.NullPool)
        with owner.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)
        owner.dispose()

    def break_rules(self) -> None:
        """Spoil the stored rules, as an accident or an attacker of the metadata store would."""
        self._set_kind_of_rules("Nobody knows")

    def mend_rules(self) -> None:
        """Undo `break_rules`."""
        self._set_kind_of_rules("Regular")

    def _set_kind_of_rules(self, kind: str) -> None:
        store = sa.create_engine(self.metadata_url, poolclass=sa.NullPool)
        with store.begin() as connection:
            connection.execute(sa.text("UPDATE ac_row_rules SET filter_type = :kind"), {"kind": kind})
        store.dispose()

    def release(self) -> None:
        """Let go of the database: DuckDB gives a file to one holder at a time."""
        self.admin._runtime.parts.connector.dispose(1)

    def virtual(self, name: str, sql: str) -> int:
        """Return the id of a new virtual dataset."""
        return int(self.admin.datasets.create({"database": 1, "table_name": name, "sql": sql}).id)


def url_on(request: pytest.FixtureRequest, folder: Path) -> str:
    """Return the URL of a new database on the engine that a fixture is for, a file in the folder or on a server."""
    match request.param:
        case "postgresql":
            return str(request.getfixturevalue("make_postgres_database")())
        case "mysql":
            return str(request.getfixturevalue("make_mariadb_database")())
    return f"{request.param}:///{folder}/shop.db"


@contextmanager
def tenant_world(
    engine: str,
    url: str,
    folder: Path,
    *,
    clock: Clock | None = None,
    freshness_s: float = 0,
    timeout_s: float = 5.0,
) -> Iterator[TenantWorld]:
    """Fill the database of `url` and give the world over it; no rule is stored yet."""
    owner = sa.create_engine(url, poolclass=sa.NullPool)
    with owner.begin() as connection:
        connection.exec_driver_sql(f"CREATE TABLE sales ({COLUMNS})")
        connection.exec_driver_sql("CREATE TABLE targets (id INTEGER, tenant VARCHAR(20), goal INTEGER)")
        connection.exec_driver_sql("INSERT INTO targets VALUES (1, 'acme', 7), (4, 'bolt', 8), (9, 'bolt', 9)")
    owner.dispose()
    metadata_url = f"sqlite:///{folder}/metadata.sqlite3"
    settings = Settings(
        secret_key=KEY,
        data_roots=(folder,),
        allowed_networks=LOOPBACK,
        metadata_freshness_s=freshness_s,
        statement_timeout_s=timeout_s,
    )
    with AnalyticsCore(settings, metadata_url=metadata_url, clock=clock) as host:
        admin = host.as_user(host.create_first_administrator("admin").id)
        admin.databases.create({"database_name": "shop", "orm_uri": url})
        role = admin.roles.create({"name": "tenants"})
        admin.roles.grant(role, on=("database", 1))
        for tenant in TENANTS:
            admin.users.create({"username": tenant, "roles": [role.id], "attributes": {"tenant": tenant}})
        world = TenantWorld(engine=engine, url=url, host=host, admin=admin, readers=role.id, metadata_url=metadata_url)
        world.fill(ROWS)
        admin.datasets.create({"database": 1, "table_name": "sales"})
        yield world


def rule(world: TenantWorld, **changes: Any) -> dict[str, Any]:
    """Return the payload of the tenants' rule on dataset 1."""
    fields = {"name": "own rows", "clause": TENANT_CLAUSE, "filter_type": "Regular", "roles": [world.readers]}
    return {**fields, "tables": [1], **changes}


def ask(core: AnalyticsCore, query: Mapping[str, Any], *, dataset: int = 1, **options: Any) -> Any:
    """Return the result of one query, or raise its error."""
    source = {"id": dataset, "type": "table"}
    data = core.charts.data({"datasource": source, "queries": [dict(query)], "force": True, **options})
    data.raise_for_error()
    return data.results[0]


def ids(core: AnalyticsCore, dataset: int = 1, column: str = "id") -> list[int]:
    """Return the ids that somebody sees in a dataset."""
    return sorted(row[column] for row in ask(core, {"columns": [column], "row_limit": 1_000}, dataset=dataset).data)

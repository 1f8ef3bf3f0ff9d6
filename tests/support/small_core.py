"""A whole core over one small SQLite file, with people who have different rights."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.support.templates import copied_file, furnish

from analytics_core import AnalyticsCore, Settings
from analytics_core._engine.rights.policy import Policy
from analytics_core._records.datasource import Dataset
from analytics_core.ports import UserDirectory

SCRIPT = """
PRAGMA synchronous = OFF;
BEGIN;
CREATE TABLE orders (id INTEGER PRIMARY KEY, day DATE NOT NULL, country VARCHAR(20), amount DECIMAL(10, 2));
INSERT INTO orders VALUES (1, '2024-01-01', 'France', 10), (2, '2024-01-02', NULL, 20);
CREATE TABLE people (name TEXT, born TIMESTAMP);
COMMIT;
"""
KEY = "a-test-key-that-is-long-enough-9f3a"


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallCore:
    """The administrator's core, the file behind database 1, and more people."""

    core: AnalyticsCore
    file: Path

    def orders(self, **changes: Any) -> Any:
        """Create the dataset `orders`."""
        return self.core.datasets.create({"database": 1, "table_name": "orders", **changes})

    def stored_orders(self) -> Any:
        """Store the dataset `orders` without asking its database, which may let nobody in yet."""
        with self.core._runtime.content.store.unit_of_work() as unit:
            record = Dataset(uuid=str(uuid4()), database_id=1, table_name="orders")
            stored = unit.datasets.add(record, actor_id=1)
        return self.core.datasets.get(stored.id)

    def reader(self, *grants: Any, username: str = "reader") -> AnalyticsCore:
        """Create a user with these grants, and return the core as they see it."""
        role = self.core.roles.create({"name": f"role of {username}"})
        for grant in grants:
            self.core.roles.grant(role, on=grant)
        user = self.core.users.create({"username": username, "first_name": username.title(), "roles": [role.id]})
        return self.core.as_user(user.id)

    def execute(self, sql: str, **fields: Any) -> Any:
        """Execute a statement or a script on database 1, with further fields of the payload."""
        return self.core.sql.execute({"database_id": 1, "sql": sql, **fields})

    def run(self, script: str) -> None:
        """Change the file as its owner would."""
        with closing(sqlite3.connect(self.file)) as connection:
            connection.executescript(script)


@contextmanager
def small_core(
    folder: Path,
    *,
    people: UserDirectory | None = None,
    metadata_url: str = "sqlite://",
    policy: Policy | None = None,
    ports: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Iterator[SmallCore]:
    """Make the file and a core of an administrator, with the file as database 1.

    With `people`, a host's directory, its user 70 acts instead of the store's first user. `ports` are further
    arguments of the core, for example `metadata_url`.
    """
    file = copied_file(folder / "shop.db", "small", _make)
    choices = Settings(secret_key=KEY, data_roots=(folder,), **settings)
    chosen = {"users": people, "metadata_url": metadata_url, "policy": policy, **(ports or {})}
    with AnalyticsCore(choices, **chosen) as core:
        user_id = 1 if people is None else 70

        def fill() -> None:
            core.create_first_administrator("admin", first_name="Ada", last_name="Admin")
            core.as_user(user_id).databases.create({"database_name": "shop", "orm_uri": f"sqlite:///{file}"})

        if ports or people or policy or metadata_url != "sqlite://":
            fill()
        else:
            furnish(core, f"small {sorted(settings.items())}", fill, file=file)
        yield SmallCore(core=core.as_user(user_id), file=file)


def _make(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(SCRIPT)

"""The databases that hostile texts are tried on, each reached as its owner, a superuser or a plain user."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.attacks import SHARE
from tests.support.security_world import World, security_world
from tests.support.tenant_world import url_on

SERVER = pytest.mark.server
TARGETS = [
    pytest.param(("sqlite", "owner"), id="sqlite"),
    pytest.param(("duckdb", "owner"), id="duckdb"),
    pytest.param(("postgresql", "superuser"), id="postgresql superuser", marks=SERVER),
    pytest.param(("postgresql", "plain"), id="postgresql plain", marks=SERVER),
    pytest.param(("mysql", "superuser"), id="mariadb superuser", marks=SERVER),
    pytest.param(("mysql", "plain"), id="mariadb plain", marks=SERVER),
]


@contextmanager
def attacked(request: pytest.FixtureRequest, engine: str, role: str, folder: Any) -> Iterator[World]:
    """Give a world whose database is reached as this role; a reader and a guest may ask too."""
    request.param = engine
    url = url_on(request, folder)
    with security_world(engine, url, folder, timeout_s=60.0) as world:
        if role != "plain":
            yield world
            return
        world.core.databases.update(1, {"orm_uri": _as_plain_user(url, engine)})
        # What a plain user would be given, a superuser is given too: in the quick form they take fewer texts.
        yield replace(world, step=4 if SHARE > 1 else 1)


def _as_plain_user(url: str, engine: str) -> str:
    parsed = sa.make_url(url)
    owner = sa.create_engine(url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    name, word = f"plain_{parsed.database}"[:30], "pl4in-w0rd"
    statements = {
        "postgresql": (f"CREATE ROLE {name} LOGIN PASSWORD '{word}'", f"GRANT SELECT ON orders, vault TO {name}"),
        "mysql": (
            f"CREATE OR REPLACE USER '{name}'@'%%' IDENTIFIED BY '{word}'",
            f"GRANT SELECT ON `{parsed.database}`.* TO '{name}'@'%%'",
        ),
    }[engine]
    with owner.connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    owner.dispose()
    return parsed.set(username=name, password=word).render_as_string(hide_password=False)


@pytest.fixture(params=TARGETS, scope="module")
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, str]]:
    engine, role = request.param
    with attacked(request, engine, role, tmp_path_factory.mktemp("attacks")) as world:
        yield world, f"{engine} as {role}"


@pytest.fixture(scope="module")
def silent() -> Iterator[None]:
    """Switch logging off: every record of every statement would be kept until the end."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)

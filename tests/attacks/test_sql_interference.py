"""The SQL editor: a hostile statement is answered alike whether what is hidden from its actor is there or not.

Each is asked of two databases. The second one lacks the rows that a rule hides, and the table on which the actor has no
grant; rows, errors, side tables and plans must be equal, and none may take longer because of what is hidden.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.attacks import SHARE
from tests.support.hostile_statements import SECRETS, statements
from tests.support.security_world import World, security_world
from tests.support.tenant_world import ENGINES, url_on

from analytics_core import AnalyticsCore
from analytics_core.errors import AnalyticsError

LEAST = 500
STEP = SHARE * 5 if SHARE > 1 else 1
"""In the quick form each fortieth statement is tried."""
FLAGS = {"allow_dml": True, "allow_ctas": True, "allow_cvas": True}
SCHEMAS = {"sqlite": "main", "duckdb": "main", "postgresql": "public"}
SLOWER_S = 0.8
"""What a statement may take longer beside hidden rows; what goes after them by time takes a second there."""

ROADS: Mapping[str, Callable[[AnalyticsCore, str], object]] = {
    "call": lambda core, sql: core.sql(sql, database=1).to_payload(),
    "execute": lambda core, sql: _data_of(core.sql.execute({"database_id": 1, "sql": sql})),
    "explain": lambda core, sql: str(core.sql.explain(sql, database=1)),
    "check": lambda core, sql: str(core.sql.check(sql, database=1)),
    "lineage": lambda core, sql: str(core.sql.lineage(sql, database=1)),
}


def _data_of(done: Any) -> object:
    return done.data, done.columns, done.query.rows, done.query.extra, done.query.limiting_factor


@pytest.fixture(params=ENGINES)
def worlds(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[World, World]]:
    """Give a database, and one without what is hidden; a reader has a grant on the dataset `orders` alone."""
    folders = [tmp_path / "all", tmp_path / "less"]
    for folder in folders:
        folder.mkdir()
    urls = [url_on(request, folder) for folder in folders]
    with (
        security_world(request.param, urls[0], folders[0]) as full,
        security_world(request.param, urls[1], folders[1]) as less,
    ):
        less.core._runtime.parts.connector.dispose(1)
        owner = sa.create_engine(less.url, poolclass=sa.NullPool)
        with owner.begin() as connection:
            connection.exec_driver_sql("DELETE FROM orders WHERE visible = 0")
            connection.exec_driver_sql("DROP TABLE vault")
        owner.dispose()
        for world in (full, less):
            world.core.databases.update(1, FLAGS)
            role = world.core.roles.create({"name": "readers"})
            world.core.roles.grant(role, on=("dataset", 1))
            world.core.users.create({"username": "reader", "roles": [role.id]})
        yield full, less


def answer(world: World, core: AnalyticsCore, road: str, sql: str) -> tuple[str, float]:
    """Return all that an answer says, without the names of its own database, and how long it took."""
    began = time.monotonic()
    try:
        found = str(ROADS[road](core, sql))
    except AnalyticsError as error:
        found = f"{error} {error.to_payload()} {error.__cause__!r} {error.__context__!r}"
    took = time.monotonic() - began
    return found.replace(str(world.folder), "FOLDER").replace(_database(world), "DATABASE"), took


def _database(world: World) -> str:
    return sa.make_url(world.url).database or ""


def test_hostile_statements_are_answered_as_if_nothing_were_hidden(worlds: tuple[World, World], silent: None) -> None:
    full = worlds[0]
    before = full.contents()
    schema = SCHEMAS.get(full.engine)
    tried, differing = 0, list[str]()
    everything = {"orders": ("ruled", "reader"), "vault": ("reader",)}
    for table, actors in everything.items():
        texts = [
            list(dict.fromkeys(statements(world.engine, schema or _database(world), _database(world), table)))
            for world in worlds
        ]
        for number, pair in enumerate(zip(*texts, strict=True)):
            if number % STEP:
                continue
            tried += 1
            for place, who in enumerate(actors):
                roads = ["execute" if ";" in pair[0] or number % 2 else "call", [*ROADS][2 + (number + place) % 3]]
                for road in roads:
                    found = _difference(worlds, who, road, pair)
                    if found:
                        differing.append(f"{who}, {road}: {pair[0]!r}: {found}")
    print(f"\n{full.engine}: {tried} hostile statements, {len(differing)} answered by what is hidden")
    assert not differing, "\n".join(differing)
    assert tried * STEP >= LEAST
    assert full.contents() == before


def _difference(worlds: tuple[World, World], who: str, road: str, pair: tuple[str, str]) -> str | None:
    """Return how the answers of two databases differ, and None where they tell nothing."""
    cores = [world.core if who == "ruled" else world.core.as_user("reader") for world in worlds]
    (one, took), (other, took_other) = [answer(*args) for args in zip(worlds, cores, (road, road), pair, strict=True)]
    sent = pair[0]
    if any(secret in one and secret not in sent for secret in SECRETS.values()):
        return f"it holds a secret: {one}"
    if one.replace(sent, "") != other.replace(pair[1], "") and not _is_chance(worlds, cores, road, pair):
        return f"{one} <> {other}"
    if took > took_other + SLOWER_S:
        again = answer(worlds[0], cores[0], road, sent)[1], answer(worlds[1], cores[1], road, pair[1])[1]
        return f"{took} s <> {took_other} s, {again}" if again[0] > again[1] + SLOWER_S else None
    return None


def _is_chance(worlds: tuple[World, World], cores: list[AnalyticsCore], road: str, pair: tuple[str, str]) -> bool:
    """Whether both databases also give one answer, as where rows come in no order (ASOF JOIN of DuckDB)."""
    questions = zip(worlds, cores, pair, strict=True)
    ones, others = ({answer(w, core, road, sql)[0].replace(sql, "") for _ in range(10)} for w, core, sql in questions)
    return bool(ones & others)

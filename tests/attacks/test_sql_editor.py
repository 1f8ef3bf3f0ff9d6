"""The SQL editor: hostile texts in every place of a statement, and fragments that fail on hidden rows only.

`nox -s attacks` runs it on four engines. Statements that are hostile as a whole are among those of
`tests/integration/test_security_roads.py`, which knows the roads of the editor too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.support.attacks import SHARE, Figures, attack, hostile_texts, report
from tests.support.fence_trials import arrange, editor_leaks, fill, share_of_pairs
from tests.support.mirrors import Rules, ruled_core
from tests.support.security_world import EDITOR_ROADS, World
from tests.support.tenant_world import ENGINES, url_on

PLACES = (
    "{text}",
    "SELECT {text} AS x, visible FROM orders",
    "SELECT id, city FROM orders WHERE {text}",
    "SELECT id, city FROM orders ORDER BY {text}",
    "SELECT COUNT(*) FROM orders GROUP BY {text}",
    "SELECT MAX(id) FROM orders HAVING {text}",
    "SELECT o.id FROM orders AS o JOIN orders ON {text}",
    "SELECT * FROM {text}",
    "SELECT x.* FROM orders, {text} AS x",
    "WITH orders AS (SELECT * FROM orders WHERE {text}) SELECT id, city FROM orders",
    "WITH vault AS (SELECT {text} AS x FROM orders) SELECT * FROM vault",
    "SELECT id FROM orders UNION ALL SELECT {text} FROM orders",
    "SELECT id, (SELECT MAX({text}) FROM orders AS o WHERE o.id >= orders.id) FROM orders",
    "SELECT id FROM orders WHERE id IN ({text})",
    "SELECT id FROM orders LIMIT {text}",
    "SELECT id, RANK() OVER (ORDER BY {text}) FROM orders",
)

READERS: Mapping[str, Callable[[World, str], str]] = {
    "sql check": lambda world, text: str(world.core.sql.check(text)).replace(text, ""),
    "sql format": lambda world, text: world.core.sql.format(text).replace(text, ""),
    "sql lineage": lambda world, text: str(world.core.sql.lineage(text)).replace(text, ""),
    "sql estimate": lambda world, text: str(world.core.sql.estimate({"database_id": 1, "sql": text})),
}
"""What reads a statement and runs nothing."""

pytestmark = pytest.mark.usefixtures("silent")


def test_nothing_hidden_comes_back_from_any_place_of_a_statement(target: tuple[World, str]) -> None:
    world, name = target
    before = world.contents()
    texts = [place.format(text=text) for place in PLACES for text in hostile_texts(world.engine)[::SHARE]]
    for number, (road, ask) in enumerate({**EDITOR_ROADS, **READERS}.items()):
        report(f"{name}, {road}", attack(world, {road: ask}, texts[number :: 1 if road == "sql" else 7]))
    assert world.contents() == before


BESIDE: Mapping[str, Callable[[World, str], object]] = {
    "value": lambda world, text: world.core.sql("SELECT id, city FROM orders WHERE city <> :p", params={"p": text}),
    "list": lambda world, text: world.core.sql("SELECT id, city FROM orders WHERE city IN :p", params={"p": [text]}),
    "name": lambda world, text: world.core.sql("SELECT id, city FROM orders WHERE city <> :p", params={text: 1}),
    "schema": lambda world, text: world.core.sql("SELECT * FROM orders", schema=text),
    "database": lambda world, text: world.core.sql("SELECT * FROM orders", database=text),
    "template": lambda world, text: world.core.sql.execute(
        {"database_id": 1, "sql": "SELECT id, city FROM orders WHERE city <> '{{ p }}'", "templateParams": {"p": text}}
    ),
    "results": lambda world, text: world.core.sql.results(text),
}
"""What stands beside a statement."""


def test_nothing_hidden_comes_back_through_what_stands_beside_a_statement(target: tuple[World, str]) -> None:
    world, name = target
    figures = Figures()
    for number, (road, ask) in enumerate(BESIDE.items()):
        for text in hostile_texts(world.engine)[number % SHARE :: SHARE * world.step]:
            figures.add(road, text, lambda ask=ask, text=text: str(vars_of(ask(world, text))))  # type: ignore[misc]
    report(f"{name}, beside statements", figures)


def vars_of(found: object) -> object:
    """Return all that an answer says."""
    return found.to_payload() if hasattr(found, "to_payload") else found


SITUATIONS = ("bare", "index without the rule")


@pytest.fixture(params=ENGINES)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    return request.param, url_on(request, tmp_path)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_no_statement_fails_on_a_hidden_row(database: tuple[str, str], tmp_path: Path, situation: str) -> None:
    engine, url = database
    pairs = share_of_pairs(engine, SITUATIONS.index(situation) + 1, SHARE)
    owner = sa.create_engine(url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    with owner.connect() as connection:
        fill(connection, engine, 100)
        arrange(connection, engine, situation)
    rules = Rules(clauses={"orders": "tenant_id = 1"})
    with ruled_core(url, tmp_path, rules) as (_, reader):
        tried, failed = editor_leaks(reader, rules.clauses, engine, pairs)
    assert failed == {}
    assert tried > 500 // SHARE

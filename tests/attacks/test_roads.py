"""Every hostile text on every road: no hidden row and no secret comes back, and only typed errors do.

`nox -s attacks` runs it on four engines, on PostgreSQL and MariaDB as the superuser and as a plain user. The harmless
look-alikes must be answered. What was tried is printed.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.attacks import (
    BY_CITY,
    FEW,
    FOREIGN,
    GUEST_ROADS,
    HARMLESS,
    ROADS,
    SHARE,
    STORING_SHARE,
    STRUCTURES,
    Embedded,
    Figures,
    attack,
    context,
    hostile_texts,
    report,
)
from tests.support.security_world import (
    CONDITION_ROADS,
    SECRET,
    STATEMENT_ROADS,
    World,
    rejection,
    security_world,
)
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
        if role == "plain":
            world.core.databases.update(1, {"orm_uri": _as_plain_user(url, engine)})
        yield world


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


@pytest.fixture(autouse=True, scope="module")
def silent() -> Iterator[None]:
    """Switch logging off: every record of every statement would be kept until the end."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def reader(target: tuple[World, str]) -> World:
    """The world as a reader of dataset 1, who may not write SQL."""
    world = target[0]
    role = world.core.roles.create({"name": "readers"})
    world.core.roles.grant(role, on=("dataset", 1))
    made = world.core.users.create({"username": "reader", "roles": [role.id]})
    return replace(world, core=world.core.as_user(made.id))


@pytest.fixture(scope="module")
def embedded(target: tuple[World, str]) -> Embedded:
    core = target[0].core
    stored = {"slice_name": "by city", "viz_type": "table", "datasource_id": 1, "datasource_type": "table"}
    made = core.charts.create({**stored, "params": "{}", "query_context": json.dumps(context(BY_CITY))})
    targets = [{"datasetId": 1, "column": {"name": "city"}}]
    wanted = {"id": "NATIVE_FILTER-city", "filterType": "filter_select", "targets": targets, "chartsInScope": [made.id]}
    layout = {
        "ROOT_ID": {"type": "ROOT", "children": ["CHART-x"]},
        "CHART-x": {"type": "CHART", "children": [], "meta": {"chartId": made.id}},
    }
    dashboard = core.dashboards.create(
        {
            "dashboard_title": "shown",
            "published": True,
            "position_json": json.dumps(layout),
            "json_metadata": json.dumps({"native_filter_configuration": [wanted]}),
        }
    )
    shown = core.embedded.create(dashboard.id, {"allowed_domains": []})
    return Embedded(world=target[0], chart_id=made.id, uuid=shown.uuid or "")


def test_nothing_hidden_comes_back_to_somebody_who_writes_sql(target: tuple[World, str]) -> None:
    world, name = target
    before = world.contents()
    report(f"{name}, analyst", attack(world, ROADS, hostile_texts(world.engine)))
    assert world.contents() == before


def test_nothing_hidden_comes_back_to_a_reader(target: tuple[World, str], reader: World) -> None:
    roads = {road: ROADS[road] for road in FEW}
    report(f"{target[1]}, reader", attack(reader, roads, hostile_texts(reader.engine), SECRET))


def test_nothing_hidden_comes_back_to_a_guest(target: tuple[World, str], embedded: Embedded) -> None:
    figures, guest = Figures(foreign=(*FOREIGN, SECRET)), embedded.guest()
    assert "Bonn" in embedded.ask(guest)
    assert "Bonn" in GUEST_ROADS["guest's filter"](embedded, guest, "x")
    texts = hostile_texts(embedded.world.engine)
    for number, (name, road) in enumerate(GUEST_ROADS.items()):
        for text in texts[number % (3 * SHARE) :: 3 * SHARE]:
            figures.add(name, text, lambda road=road, text=text: road(embedded, guest, text))  # type: ignore[misc]
    for text in texts[:: STORING_SHARE * SHARE]:
        figures.add("rule of a token", text, lambda text=text: embedded.ask(embedded.guest(text)))  # type: ignore[misc]
    report(f"{target[1]}, guest", figures)


@pytest.mark.parametrize("road", ROADS)
def test_every_road_leads_somewhere(target: tuple[World, str], road: str) -> None:
    world, _ = target
    texts = ("id > 0", "MAX(id) > 0", "city", "No filter")
    assert any(rejection(world, ROADS[road], text) is None for text in texts)


def test_harmless_look_alikes_are_answered(target: tuple[World, str]) -> None:
    world, _ = target
    roads = {
        **CONDITION_ROADS,
        "result samples": ROADS["result samples"],
        "job": ROADS["job"],
        "explain": ROADS["explain"],
    }
    rejected = [
        (name, text, str(error))
        for name, road in roads.items()
        for text in HARMLESS
        if (error := rejection(world, road, text)) is not None
    ]
    assert rejected == []


def test_statements_on_the_roads_of_virtual_datasets(target: tuple[World, str]) -> None:
    world, name = target
    texts = [f"SELECT {text} AS id, visible FROM orders" for text in hostile_texts(world.engine)]
    report(f"{name}, statements", attack(world, STATEMENT_ROADS, [*texts, *STRUCTURES]))

"""Every hostile text on every road: no hidden row and no secret comes back, and only typed errors do.

`nox -s attacks` runs it on four engines, on PostgreSQL and MariaDB as the superuser and as a plain user. The harmless
look-alikes must be answered. What was tried is printed.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
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
)

pytestmark = pytest.mark.usefixtures("silent")


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
    embedding = core.embedded.create(dashboard.id, {"allowed_domains": []})
    return Embedded(world=target[0], chart_id=made.id, dashboard_id=dashboard.id, uuid=embedding.uuid or "")


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
    for road in ("guest's filter", "guest's filter, in a job"):
        assert "Bonn" in GUEST_ROADS[road](embedded, guest, "x")
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

"""What a guest sees of the annotation layers of a stored chart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.guests import QUERY, RULE, GuestWorld, chart, context, dashboard, forged, guest_world

from analytics_core import errors
from analytics_core._engine.rights.policy import RULES, Permission, Policy
from analytics_core._engine.rights.relationships import Relationship

NATIVE = {
    "name": "Events",
    "annotationType": "EVENT",
    "sourceType": "NATIVE",
    "value": 1,
    "show": True,
    "showMarkers": False,
    "style": "solid",
}
COLUMNS = {"timeColumn": "id", "titleColumn": "city", "descriptionColumns": [], "intervalEndColumn": ""}
DISPLAYED = {**NATIVE, "name": "Sales", "sourceType": "table", "value": 2, **COLUMNS}
HIDDEN = {**DISPLAYED, "name": "Secrets", "value": 3, "timeColumn": "word", "titleColumn": "word"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, module_store_url: str) -> Iterator[GuestWorld]:
    """A world in each kind of store, with one stored layer; each test begins by what chart 1 shows."""
    shop = tmp_path_factory.mktemp("guests") / "shop.db"
    with guest_world(f"sqlite:///{shop}", metadata_url=module_store_url) as made:
        layer = made.admin.annotation_layers.create({"name": "Releases"})
        day = "2024-02-01T00:00:00Z"
        event = {"start_dttm": day, "end_dttm": day, "short_descr": "2.0"}
        made.admin.annotations.create(layer.id, event)
        yield made


def show(world: GuestWorld, *layers: dict[str, Any]) -> None:
    """Store layers in chart 1, which is on the guest's dashboard."""
    stored = chart("by city", 1, {**QUERY, "annotation_layers": list(layers)})
    world.admin.charts.update(1, {"query_context": stored["query_context"]})


@for_each("by_id", [True, False])
def test_a_guest_sees_the_stored_annotations_of_a_chart(world: GuestWorld, by_id: bool) -> None:
    show(world, NATIVE)
    requested = context({**QUERY, "annotation_layers": [NATIVE]}, form_data={"slice_id": 1})
    result = world.guest().charts.data(1 if by_id else requested).results[0]
    assert {row["city"] for row in result.data} == {"Bonn", "Kiel"}
    assert [item["short_descr"] for item in result.annotations[0].records] == ["2.0"]


def test_a_layer_that_is_a_chart_of_the_dashboard_shows_the_rows_of_the_guest_only(world: GuestWorld) -> None:
    show(world, DISPLAYED)
    everybody = world.admin.charts.data(1).results[0].annotations[0].records
    assert {row["city"] for row in everybody} == {"Bonn", "Kiel"}  # two rows of all, which fill the cache
    globex = world.guest("globex").charts.data(1).results[0].annotations[0].records
    assert {row["city"] for row in globex} == {"Oslo", "Rome"}


def test_a_layer_that_is_a_chart_elsewhere_or_nowhere_shows_nothing_and_the_rest_is_answered(world: GuestWorld) -> None:
    show(world, HIDDEN, DISPLAYED)
    assert b"hidden-word" in world.admin.charts.data(1).to_json()
    answer = world.guest().charts.data(1).raise_for_error()
    result = answer.results[0]
    assert {row["city"] for row in result.data} == {"Bonn", "Kiel"}
    assert [item.name for item in result.annotations] == ["Sales"]
    assert result.notes == ("annotation layer 'Secrets' shows nothing: its source is not open to this guest",)
    assert b"hidden-word" not in answer.to_json()
    for nowhere in ({**HIDDEN, "value": 99}, {**NATIVE, "name": "Secrets", "value": 99}):
        show(world, nowhere, DISPLAYED)  # nobody learns which charts and layers there are
        assert world.guest().charts.data(1).raise_for_error().results[0].notes == result.notes


@pytest.fixture
def world_with_three(world: GuestWorld) -> Iterator[GuestWorld]:
    """The world with chart 3 on the guest's dashboard, too."""

    def place(*charts: int) -> None:
        world.admin.dashboards.update(1, {"position_json": dashboard("shown", *charts)["position_json"]})

    place(1, 2, 3)
    yield world
    place(1, 2)


def test_a_layer_of_the_dashboard_without_a_rule_in_the_token_shows_nothing(world_with_three: GuestWorld) -> None:
    world = world_with_three
    show(world, HIDDEN)
    token = world.admin.embedded.guest_token(world.request({**RULE, "dataset": 1}), all_rows=[2])
    result = world.host.as_guest(token).charts.data(1).raise_for_error()
    assert b"hidden-word" in result.to_json()
    closed = world.host.as_guest(forged(world, rls_rules=[{**RULE, "dataset": 1}])).charts.data(1).raise_for_error()
    assert b"hidden-word" not in closed.to_json()
    assert "not open to this guest" in closed.results[0].notes[0]


def test_somebody_who_is_signed_in_is_told_what_they_lack(world: GuestWorld) -> None:
    show(world, HIDDEN)
    role = world.admin.roles.create({"name": "readers"})
    world.admin.roles.grant(role, on=("dataset", 1))
    world.admin.users.create({"username": "anna", "roles": [role.id]})
    failure = world.host.as_user("anna").charts.data(1).results[0].failure
    assert isinstance(failure, errors.ChartAccessError)
    assert "Secrets" in str(failure)


def test_a_guest_cannot_bring_layers_or_read_them_elsewhere(world: GuestWorld) -> None:
    show(world)
    guest = world.guest()
    with pytest.raises(errors.GuestAccessError, match="annotation_layers"):
        guest.charts.data(context({**QUERY, "annotation_layers": [NATIVE]}, form_data={"slice_id": 1}))
    show(world, NATIVE)
    with pytest.raises(errors.GuestAccessError, match="annotation_layers"):
        guest.charts.data(context({**QUERY, "annotation_layers": [{**NATIVE, "value": 2}]}, form_data={"slice_id": 1}))
    for call in (lambda: guest.annotation_layers.get(1), lambda: guest.annotations.list(1)):
        with pytest.raises(errors.GuestAccessError):
            call()


@pytest.mark.slow
def test_a_host_may_keep_stored_annotations_from_guests(tmp_path: Path) -> None:
    own = Policy(
        {**RULES, Permission.READ_ANNOTATIONS: frozenset({Relationship.ADMINISTRATOR, Relationship.SIGNED_IN})}
    )
    with guest_world(f"sqlite:///{tmp_path}/shop.db", policy=own) as world:
        world.admin.annotation_layers.create({"name": "Releases"})
        show(world, NATIVE)
        assert world.admin.charts.data(1).results[0].failure is None
        answered = world.guest().charts.data(1).raise_for_error().results[0]
        assert (answered.annotations, len(answered.data)) == ((), 2)
        assert "not open to this guest" in answered.notes[0]

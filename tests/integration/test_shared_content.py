"""Annotation layers, annotations and CSS templates through the facade."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.shop import KEY

from analytics_core import AnalyticsCore, Settings
from analytics_core.errors import (
    ActorRequiredError,
    AlreadyExistsError,
    NotFoundError,
    OwnershipError,
    PayloadError,
    PayloadSchemaError,
)

EVENT = {"start_dttm": "2024-03-01T10:00:00Z", "end_dttm": "2024-03-01T10:00:00Z", "short_descr": "2.0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One host: an administrator, two people without any grant, and nobody."""

    host: AnalyticsCore
    url: str

    @property
    def admin(self) -> AnalyticsCore:
        return self.host.as_user("admin")

    @property
    def creator(self) -> AnalyticsCore:
        return self.host.as_user("creator")

    @property
    def reader(self) -> AnalyticsCore:
        return self.host.as_user("reader")

    def logged(self) -> list[tuple[str, int]]:
        """Return who did what, as the store's table has it."""
        engine = sa.create_engine(self.url, poolclass=sa.NullPool)
        with engine.connect() as connection:
            found = connection.execute(sa.text("SELECT action, user_id FROM ac_logs ORDER BY id")).all()
        return [(row.action, row.user_id) for row in found]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    url = f"sqlite:///{tmp_path}/meta.db"
    with AnalyticsCore(Settings(secret_key=KEY, metadata_freshness_s=0), metadata_url=url) as host:
        admin = host.as_user(host.create_first_administrator("admin", first_name="Ada", last_name="Admin").id)
        for name in ("creator", "reader"):
            admin.users.create({"username": name, "first_name": name.title(), "last_name": "Doe"})
        yield World(host=host, url=url)


def layer_of(core: AnalyticsCore, name: str = "Releases", **fields: Any) -> int:
    return core.annotation_layers.create({"name": name, **fields}).id


# ------------------------------------------------------------------------------------------------------------- layers
def test_a_layer_lives_from_creation_to_deletion(world: World) -> None:
    made = world.creator.annotation_layers.create({"name": "Releases", "descr": "what went out"})
    assert made.to_payload() == {"id": made.id, "name": "Releases", "descr": "what went out"}
    changed = world.creator.annotation_layers.update(made.id, {"descr": "all that went out"})
    assert (changed.name, changed.descr) == ("Releases", "all that went out")
    assert world.reader.annotation_layers.get(made.id) == changed
    world.creator.annotation_layers.delete(made.id)
    with pytest.raises(NotFoundError):
        world.creator.annotation_layers.get(made.id)
    wanted = [f"annotation_layer.{verb}" for verb in ("create", "update", "delete")]
    creator = world.admin.users.list(filters=[{"col": "username", "op": "eq", "val": "creator"}]).result[0].id
    assert [entry for entry in world.logged() if entry[0] in wanted] == [(action, creator) for action in wanted]


def test_everybody_reads_layers_and_sees_who_made_them(world: World) -> None:
    layer_id = layer_of(world.creator)
    world.admin.annotation_layers.update(layer_id, {"name": "Versions"})
    item = world.reader.annotation_layers.list().result[0].to_payload()
    assert (item["id"], item["name"]) == (layer_id, "Versions")
    assert item["created_by"] == {"first_name": "Creator", "last_name": "Doe"}
    assert item["changed_by"] == {"first_name": "Ada", "last_name": "Admin"}
    assert item["created_on"] <= item["changed_on"]
    assert item["changed_on_delta_humanized"]


def test_others_than_creator_and_administrators_do_not_change_a_layer(world: World) -> None:
    layer_id = layer_of(world.creator)
    for act in (
        lambda: world.reader.annotation_layers.update(layer_id, {"name": "Mine"}),
        lambda: world.reader.annotation_layers.delete(layer_id),
        lambda: world.reader.annotations.create(layer_id, EVENT),
    ):
        with pytest.raises(OwnershipError) as rejected:
            act()
        assert (rejected.value.status, rejected.value.error_type.value) == (403, "MISSING_OWNERSHIP_ERROR")
    assert world.reader.annotation_layers.get(layer_id).name == "Releases"
    assert world.reader.annotations.list(layer_id).count == 0
    world.admin.annotation_layers.delete(layer_id)


def test_names_of_layers_are_taken_once(world: World) -> None:
    layer_of(world.creator)
    other = layer_of(world.reader, "releases")
    with pytest.raises(AlreadyExistsError, match="Releases"):
        layer_of(world.reader)
    with pytest.raises(AlreadyExistsError, match="Releases"):
        world.reader.annotation_layers.update(other, {"name": "Releases"})


@for_each("payload", [{}, {"name": ""}, {"name": "x" * 251}, {"name": None}, {"name": "a", "x": 1}])
def test_layers_that_break_the_shape_are_refused(world: World, payload: dict[str, Any]) -> None:
    with pytest.raises(PayloadSchemaError):
        world.creator.annotation_layers.create(payload)
    assert world.creator.annotation_layers.list().count == 0


def test_layers_are_filtered_ordered_and_paged(world: World) -> None:
    for number in range(5):
        layer_of(world.creator if number % 2 else world.admin, f"layer {number}", descr="odd" if number % 2 else None)
    listed = world.reader.annotation_layers.list
    page = listed(order_by="-name", page=1, page_size=2, columns=["name"])
    assert page.to_payload() == {"count": 5, "result": [{"name": "layer 2"}, {"name": "layer 1"}]}
    odd = listed(filters=[{"col": "descr", "op": "eq", "val": "odd"}])
    assert [item.name for item in odd] == ["layer 1", "layer 3"]
    creator = world.admin.users.list(filters=[{"col": "username", "op": "eq", "val": "creator"}]).result[0].id
    assert listed(filters=[{"col": "created_by", "op": "eq", "val": creator}]).count == 2
    with pytest.raises(PayloadSchemaError, match="nam"):
        listed(filters=[{"col": "nam", "op": "eq", "val": "x"}])


# -------------------------------------------------------------------------------------------------------- annotations
def test_an_annotation_lives_from_creation_to_deletion(world: World) -> None:
    layer_id = layer_of(world.creator)
    made = world.creator.annotations.create(layer_id, {**EVENT, "long_descr": "new", "json_metadata": '{"a": 1}'})
    assert made.to_payload() == {
        "id": made.id,
        "start_dttm": "2024-03-01T10:00:00Z",
        "end_dttm": "2024-03-01T10:00:00Z",
        "short_descr": "2.0",
        "long_descr": "new",
        "json_metadata": '{"a": 1}',
        "layer": {"id": layer_id, "name": "Releases"},
    }
    changed = world.creator.annotations.update(layer_id, made.id, {"long_descr": None, "short_descr": "2.0.1"})
    assert (changed.short_descr, changed.long_descr, changed.json_metadata) == ("2.0.1", None, '{"a": 1}')
    assert world.reader.annotations.get(layer_id, made.id) == changed
    world.creator.annotations.delete(layer_id, made.id)
    with pytest.raises(NotFoundError):
        world.creator.annotations.get(layer_id, made.id)
    actions = [action for action, _ in world.logged() if action.startswith("annotation.")]
    assert actions == ["annotation.create", "annotation.update", "annotation.delete"]


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("2024-03-01", "2024-03-01T00:00:00Z"),
        ("2024-03-01T10:00:00", "2024-03-01T10:00:00Z"),
        ("2024-03-01T10:00:00+02:00", "2024-03-01T08:00:00Z"),
        ("2024-03-01T10:00:00.000001-05:00", "2024-03-01T15:00:00.000001Z"),
    ],
)
def test_moments_are_kept_in_utc_and_naive_ones_are_utc(world: World, given: str, stored: str) -> None:
    layer_id = layer_of(world.creator)
    payload = {**EVENT, "start_dttm": given, "end_dttm": "2025-01-01"}
    made = world.creator.annotations.create(layer_id, payload)
    assert world.reader.annotations.get(layer_id, made.id).to_payload()["start_dttm"] == stored


def test_an_annotation_does_not_end_before_it_starts(world: World) -> None:
    layer_id = layer_of(world.creator)
    with pytest.raises(PayloadSchemaError) as rejected:
        world.creator.annotations.create(layer_id, {**EVENT, "end_dttm": "2024-03-01T09:59:59Z"})
    assert [problem.path for problem in rejected.value.problems] == ["end_dttm"]
    assert "2024-03-01T10:00:00" in rejected.value.message
    made = world.creator.annotations.create(layer_id, EVENT)
    with pytest.raises(PayloadSchemaError, match="end_dttm"):
        world.creator.annotations.update(layer_id, made.id, {"start_dttm": "2024-03-02"})
    moved = {"start_dttm": "2024-03-02", "end_dttm": "2024-03-03"}
    assert world.creator.annotations.update(layer_id, made.id, moved).to_payload()["end_dttm"] == "2024-03-03T00:00:00Z"


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        {"short_descr": ""},
        {"short_descr": "x" * 501},
        {"short_descr": None},
        {"start_dttm": 1709280000},
        {"start_dttm": "soon"},
        {"start_dttm": "0001-01-01T00:00:00+14:00"},
        {"end_dttm": None},
        {"json_metadata": "{"},
        {"long_descr": "a\x00b"},
        {"layer": 2},
    ],
)
def test_annotations_that_break_the_shape_are_refused(world: World, change: dict[str, Any]) -> None:
    layer_id = layer_of(world.creator)
    with pytest.raises(PayloadError):
        world.creator.annotations.create(layer_id, {**EVENT, **change})
    made = world.creator.annotations.create(layer_id, EVENT)
    with pytest.raises(PayloadError):
        world.creator.annotations.update(layer_id, made.id, change)
    assert world.creator.annotations.get(layer_id, made.id) == made


def test_annotations_belong_to_their_layer(world: World) -> None:
    first, second = layer_of(world.creator, "a"), layer_of(world.creator, "b")
    made = world.creator.annotations.create(first, EVENT)
    for act in (
        lambda: world.creator.annotations.get(second, made.id),
        lambda: world.creator.annotations.update(second, made.id, {"short_descr": "x"}),
        lambda: world.creator.annotations.delete(second, made.id),
        lambda: world.creator.annotations.list(99),
        lambda: world.creator.annotations.create(99, EVENT),
    ):
        with pytest.raises(NotFoundError):
            act()
    assert world.reader.annotations.list(second).count == 0
    assert [item.id for item in world.reader.annotations.list(first)] == [made.id]


def test_annotations_go_with_their_layer(world: World) -> None:
    layer_id = layer_of(world.creator)
    made = world.creator.annotations.create(layer_id, EVENT)
    world.creator.annotation_layers.delete(layer_id)
    with pytest.raises(NotFoundError):
        world.creator.annotations.get(layer_id, made.id)


def test_who_made_the_layer_changes_what_an_administrator_put_there_and_a_reader_does_not(world: World) -> None:
    layer_id = layer_of(world.creator)
    made = world.admin.annotations.create(layer_id, EVENT)
    for act in (
        lambda: world.reader.annotations.update(layer_id, made.id, {"short_descr": "mine"}),
        lambda: world.reader.annotations.delete(layer_id, made.id),
    ):
        with pytest.raises(OwnershipError):
            act()
    assert world.creator.annotations.update(layer_id, made.id, {"short_descr": "ours"}).short_descr == "ours"
    world.creator.annotations.delete(layer_id, made.id)


def test_annotations_are_filtered_ordered_and_paged(world: World) -> None:
    layer_id = layer_of(world.creator)
    for day in (3, 1, 2):
        moment = f"2024-03-0{day}"
        world.creator.annotations.create(
            layer_id, {"start_dttm": moment, "end_dttm": moment, "short_descr": f"day {day}"}
        )
    listed = world.reader.annotations.list
    assert [item.short_descr for item in listed(layer_id, order_by="start_dttm")] == ["day 1", "day 2", "day 3"]
    after = [{"col": "start_dttm", "op": "gt", "val": "2024-03-01"}]
    page = listed(layer_id, after, "-start_dttm", 0, 1, columns=["short_descr", "created_by"])
    assert page.count == 2
    creator = world.admin.users.list(filters=[{"col": "username", "op": "eq", "val": "creator"}]).result[0].id
    assert page.to_payload()["result"] == [
        {"short_descr": "day 3", "created_by": {"first_name": "Creator", "id": creator}}
    ]


# ---------------------------------------------------------------------------------------------------------- templates
def test_a_css_template_lives_from_creation_to_deletion(world: World) -> None:
    made = world.creator.css_templates.create({"template_name": "Dark", "css": "a > b { color: white }"})
    assert made.to_payload()["css"] == "a > b { color: white }"
    assert (made.created_by.first_name, made.created_by.last_name) == ("Creator", "Doe")
    changed = world.creator.css_templates.update(made.id, {"css": None})
    assert (changed.template_name, changed.css) == ("Dark", None)
    item = world.reader.css_templates.list(filters=[{"col": "template_name", "op": "contains", "val": "ark"}]).result[0]
    assert (item.id, item.changed_by.first_name) == (made.id, "Creator")
    assert world.reader.css_templates.get(made.id) == changed
    for act in (
        lambda: world.reader.css_templates.update(made.id, {"css": "x"}),
        lambda: world.reader.css_templates.delete(made.id),
    ):
        with pytest.raises(OwnershipError):
            act()
    world.admin.css_templates.delete(made.id)
    with pytest.raises(NotFoundError):
        world.creator.css_templates.get(made.id)
    actions = [action for action, _ in world.logged() if action.startswith("css_template.")]
    assert actions == ["css_template.create", "css_template.update", "css_template.delete"]


@pytest.mark.parametrize("css", ["</style><script>alert(1)</script>", "a{} </STYLE >"])
def test_css_that_would_leave_its_style_element_is_refused(world: World, css: str) -> None:
    with pytest.raises(PayloadSchemaError, match="css"):
        world.creator.css_templates.create({"template_name": "x", "css": css})
    made = world.creator.css_templates.create({"css": ".style a > b::after { content: '<' }"})
    with pytest.raises(PayloadSchemaError, match="css"):
        world.creator.css_templates.update(made.id, {"css": css})
    assert world.creator.css_templates.get(made.id).css == ".style a > b::after { content: '<' }"


# ---------------------------------------------------------------------------------------------------------- strangers
def test_who_has_not_signed_in_reads_and_changes_nothing(world: World) -> None:
    user = world.admin.users.list(filters=[{"col": "username", "op": "eq", "val": "reader"}]).result[0]
    stranger = world.reader
    layer_of(stranger)
    world.admin.users.update(user.id, {"active": False})
    for core in (world.host, stranger):
        for namespace in ("annotation_layers", "annotations", "css_templates"):
            with pytest.raises(ActorRequiredError):
                getattr(core, namespace)

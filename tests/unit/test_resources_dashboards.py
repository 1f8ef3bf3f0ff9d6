"""Dashboards as records: what they hold, and who sees and changes them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.pages import add_chart, add_dashboard, layout, metadata_of, titles, two_datasets
from tests.support.small_core import SmallCore, small_core

from analytics_core.errors import (
    AccessError,
    AlreadyExistsError,
    ChartAccessError,
    DashboardAccessError,
    DatasetAccessError,
    ErrorType,
    InUseError,
    NotFoundError,
    OwnershipError,
    PayloadError,
    PayloadFormatError,
    PayloadSchemaError,
    StaleVersionError,
)
from analytics_core.models.parsing import field_names


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path, url_for=lambda kind, values: f"/{kind}/{values.get('id')}") as made:
        two_datasets(made)
        yield made


def role_of(shop: SmallCore, username: str) -> int:
    (role,) = (role for role in shop.core.roles.list() if role.name == f"role of {username}")
    return int(role.id)


# ------------------------------------------------------------------------------------------------------- what it holds
def test_a_dashboard_is_stored_and_owned_by_its_creator(shop: SmallCore) -> None:
    chart = add_chart(shop.core)
    made = add_dashboard(
        shop.core, chart, slug="sales", css=".a {}", certified_by="Ada", certification_details="checked", published=True
    )
    payload = shop.core.dashboards.get(made.id).to_payload()
    assert payload == made.to_payload()
    fields = ("dashboard_title", "slug", "css", "published", "certified_by", "certification_details", "charts")
    assert [payload[name] for name in fields] == ["Sales", "sales", ".a {}", True, "Ada", "checked", ["Revenue"]]
    assert payload["owners"] == [{"id": 1, "first_name": "Ada", "last_name": "Admin", "username": "admin"}]
    assert (payload["changed_by_name"], payload["is_managed_externally"]) == ("Ada Admin", False)
    assert (payload["url"], payload["thumbnail_url"]) == ("/dashboard/1", "/dashboard_thumbnail/1")
    assert json.loads(payload["position_json"]) == json.loads(layout(chart))


def test_an_empty_payload_makes_a_draft(shop: SmallCore) -> None:
    made = shop.core.dashboards.create({})
    assert (made.dashboard_title, made.published, made.charts, made.roles) == (None, False, (), ())
    (item,) = shop.core.dashboards.list()
    assert item.status == "draft"


def test_a_dashboard_is_found_by_id_uuid_and_slug(shop: SmallCore) -> None:
    made = add_dashboard(shop.core, slug="sales-2024")
    (item,) = shop.core.dashboards.list(filters=[{"col": "slug", "op": "eq", "val": "sales-2024"}])
    with shop.core._runtime.content.store.unit_of_work() as unit:
        uuid = unit.dashboards.get(made.id).uuid
    keys = (made.id, str(made.id), "sales-2024", uuid, uuid.upper())
    assert [shop.core.dashboards.get(key).id for key in keys] == [item.id] * 5


@for_each("key", [99, 0, -1, 2**70, "99", "9" * 40, "sales", "", "' OR 1=1 --", "0" * 32, "a\x00", "\ud800", "s" * 500])
def test_a_key_that_names_nothing_is_not_found(shop: SmallCore, key: int | str) -> None:
    add_dashboard(shop.core)
    with pytest.raises(NotFoundError):
        shop.core.dashboards.get(key)


def test_a_slug_is_taken_once(shop: SmallCore) -> None:
    add_dashboard(shop.core, slug="sales")
    other = add_dashboard(shop.core)
    with pytest.raises(AlreadyExistsError, match="slug 'sales'"):
        add_dashboard(shop.core, slug="sales")
    with pytest.raises(AlreadyExistsError, match="slug 'sales'"):
        shop.core.dashboards.update(other.id, {"slug": "sales"})
    assert [add_dashboard(shop.core, slug=slug).slug for slug in ("Sales", "säles", None, None)][2:] == [None, None]


@for_each("slug", ["a/b", "..", "a b", "a?b", "#", "<b>", "%2e", "7", "٣", "0" * 32, "a\n"])
def test_a_slug_that_is_no_part_of_an_address_is_refused(shop: SmallCore, slug: str) -> None:
    with pytest.raises(PayloadSchemaError, match="slug: "):
        add_dashboard(shop.core, slug=slug)


def test_an_update_changes_what_it_names_and_null_clears(shop: SmallCore) -> None:
    made = add_dashboard(shop.core, slug="sales", css=".a {}", certified_by="c", published=True, json_metadata="{}")
    changes = {"slug": None, "css": None, "published": None, "json_metadata": None, "dashboard_title": "New"}
    changed = shop.core.dashboards.update(made.id, changes)
    assert (changed.slug, changed.css, changed.published, changed.json_metadata) == (None, None, True, None)
    assert (changed.dashboard_title, changed.certified_by) == ("New", "c")
    assert shop.core.dashboards.update(made.id, {"slug": ""}).slug is None


# -------------------------------------------------------------------------------------------------- layout, metadata
def test_a_layout_decides_which_charts_the_dashboard_has(shop: SmallCore) -> None:
    one, two, three = (add_chart(shop.core, name) for name in ("One", "Two", "Three"))
    made = add_dashboard(shop.core, one, two, two)
    assert made.charts == ("One", "Two")
    assert shop.core.dashboards.update(made.id, {"position_json": layout(three)}).charts == ("Three",)
    assert shop.core.dashboards.update(made.id, {"dashboard_title": "x"}).charts == ("Three",)
    assert shop.core.dashboards.update(made.id, {"position_json": "{}"}).charts == ()


def test_positions_in_the_metadata_are_the_layout(shop: SmallCore) -> None:
    chart = add_chart(shop.core)
    metadata = {"color_scheme": "fire", "positions": json.loads(layout(chart)), "own_key": [1]}
    made = shop.core.dashboards.create({"json_metadata": json.dumps(metadata)})
    assert made.charts == ("Revenue",)
    assert json.loads(made.position_json or "") == json.loads(layout(chart))
    assert metadata_of(made) == {"color_scheme": "fire", "own_key": [1]}


def test_two_layouts_that_differ_are_refused(shop: SmallCore) -> None:
    chart = add_chart(shop.core)
    same = json.dumps({"positions": json.loads(layout(chart))})
    assert shop.core.dashboards.create({"json_metadata": same, "position_json": layout(chart)}).charts == ("Revenue",)
    with pytest.raises(PayloadSchemaError, match="differs from position_json"):
        shop.core.dashboards.create({"json_metadata": same, "position_json": layout()})


def test_a_chart_that_does_not_exist_is_refused_by_its_id(shop: SmallCore) -> None:
    with pytest.raises(PayloadSchemaError, match=r"position_json: places charts that do not exist: 41, 42"):
        add_dashboard(shop.core, 41, add_chart(shop.core), 42)
    with pytest.raises(PayloadSchemaError, match="do not exist"):
        add_dashboard(shop.core, 2**70)


def test_a_chart_deleted_meanwhile_does_not_keep_a_layout_from_being_saved(shop: SmallCore) -> None:
    gone, retained = add_chart(shop.core, "Gone"), add_chart(shop.core, "Kept")
    made = add_dashboard(shop.core, gone, retained)
    shop.core.charts.delete(gone)
    read = shop.core.dashboards.get(made.id)
    assert read.charts == ("Kept",)
    assert shop.core.dashboards.update(made.id, {"position_json": read.position_json}).charts == ("Kept",)


def test_a_chart_that_the_actor_may_not_read_is_not_placed(shop: SmallCore) -> None:
    chart = add_chart(shop.core, dataset=2)
    reader = shop.reader(("dataset", 1))
    with pytest.raises(ChartAccessError):
        add_dashboard(reader, chart)
    mine = add_dashboard(reader)
    with pytest.raises(ChartAccessError):
        reader.dashboards.update(mine.id, {"position_json": layout(chart)})


def test_an_owner_keeps_charts_that_somebody_else_placed(shop: SmallCore) -> None:
    chart = add_chart(shop.core, dataset=2)
    reader = shop.reader(("dataset", 1))
    mine = add_dashboard(reader)
    shop.core.dashboards.update(mine.id, {"position_json": layout(chart)})
    changed = reader.dashboards.update(mine.id, {"position_json": layout(chart), "css": "x"})
    assert changed.charts == ()  # the reader may not know it
    assert shop.core.dashboards.get(mine.id).charts == ("Revenue",)


@for_each(
    ("field", "text", "path"),
    [
        ("position_json", "[1]", "position_json: must be the text of a JSON object"),
        ("position_json", '"x"', "position_json: must be the text of a JSON object"),
        ("position_json", "{not json", "position_json: must be JSON text"),
        ("position_json", '{"a": NaN}', "position_json: must be the text of a JSON object"),
        ("position_json", '{"A": 1}', "position_json.A: must be an object"),
        ("position_json", '{"A": {"children": [1]}}', "position_json.A.children: must be an array of texts"),
        ("position_json", '{"A": {"meta": []}}', "position_json.A.meta: must be an object"),
        ("position_json", '{"A": {"type": "CHART"}}', "position_json.A.meta.chartId: must be the id of a chart"),
        ("position_json", '{"A": {"meta": {"chartId": "1"}}}', "position_json.A.meta.chartId: must be the id"),
        ("position_json", '{"A": {"meta": {"chartId": true}}}', "position_json.A.meta.chartId: must be the id"),
        ("json_metadata", "[]", "json_metadata: must be the text of a JSON object"),
        ("json_metadata", '{"positions": []}', "json_metadata.positions: must be an object"),
        ("json_metadata", '{"positions": {"A": 1}}', "json_metadata.positions.A: must be an object"),
        ("json_metadata", '{"refresh_frequency": "1"}', "json_metadata.refresh_frequency: must be an integer"),
        ("json_metadata", '{"stagger_refresh": 1}', "json_metadata.stagger_refresh: must be true or false"),
        ("json_metadata", '{"expanded_slices": []}', "json_metadata.expanded_slices: must be an object"),
        ("json_metadata", '{"timed_refresh_immune_slices": ["1"]}', "must be an array of ids of charts"),
        ("json_metadata", '{"native_filter_configuration": [1]}', "must be an array of objects"),
        ("json_metadata", '{"native_filter_configuration": [{}]}', r"configuration\.0\.id: must be an integer or a t"),
        ("json_metadata", '{"native_filter_configuration": [{"id": 1}, {"id": "1"}]}', "the id '1' is given twice"),
    ],
)
def test_json_that_breaks_its_shape_is_refused_with_its_place(
    shop: SmallCore, field: str, text: str, path: str
) -> None:
    with pytest.raises(PayloadSchemaError, match=path):
        shop.core.dashboards.create({field: text})


@for_each(
    ("part", "path"),
    [
        ({"targets": "x"}, "targets: must be an array of objects"),
        ({"targets": [{}, {"datasetId": "1"}]}, "targets.1.datasetId: must be the id of a dataset"),
        ({"targets": [{"column": "country"}]}, "targets.0.column: must be an object"),
        ({"scope": []}, "scope: must be an object"),
        ({"scope": {"excluded": ["1"]}}, "scope.excluded: must be an array of ids of charts"),
        ({"scope": {"rootPath": "ROOT_ID"}}, "scope.rootPath: must be an array of texts"),
        ({"chartsInScope": [True]}, "chartsInScope: must be an array of ids of charts"),
    ],
)
def test_a_filter_that_would_reach_nothing_is_refused_with_its_place(
    shop: SmallCore, part: dict[str, Any], path: str
) -> None:
    full = {"id": "F", "targets": [{"datasetId": 1, "column": {"name": "country"}}, {}], "scope": {"rootPath": ["R"]}}
    made = add_dashboard(shop.core, json_metadata=json.dumps({"native_filter_configuration": [full]}))
    filters = {"native_filter_configuration": [full, {"id": "G", **part}]}
    with pytest.raises(PayloadSchemaError, match=rf"json_metadata\.native_filter_configuration\.1\.{re.escape(path)}"):
        shop.core.dashboards.create({"json_metadata": json.dumps(filters)})
    changes = {"deleted": [], "modified": [{"id": "F", **part}], "reordered": []}
    with pytest.raises(PayloadSchemaError, match=rf"modified\.0\.{re.escape(path)}"):
        shop.core.dashboards.update_native_filters(made.id, changes)


@pytest.mark.parametrize(
    ("metadata", "path"),
    [
        ({"chart_configuration": {"1": 5}}, "chart_configuration.1: must be an object"),
        ({"chart_configuration": {"1": {"crossFilters": 5}}}, "chart_configuration.1.crossFilters: must be an object"),
        ({"chart_configuration": {"1": {"crossFilters": {"scope": "x"}}}}, "1.crossFilters.scope: must be an object"),
        ({"global_chart_configuration": {"chartsInScope": 1}}, "configuration.chartsInScope: must be an array of ids"),
    ],
)
def test_a_cross_filter_of_another_kind_is_refused_with_its_place(
    shop: SmallCore, metadata: dict[str, Any], path: str
) -> None:
    good = {"chart_configuration": {"1": {"id": 1, "crossFilters": {"scope": "global", "chartsInScope": [1]}}}}
    assert add_dashboard(shop.core, json_metadata=json.dumps(good)).json_metadata == json.dumps(good)
    with pytest.raises(PayloadSchemaError, match=re.escape(path)):
        shop.core.dashboards.create({"json_metadata": json.dumps(metadata)})


@for_each("inner", [r'{"a": "\u0000"}', r'{"a": "\ud800"}', '{"a":' * 80 + "1" + "}" * 80])
@for_each("field", ["position_json", "json_metadata"])
def test_hostile_text_inside_json_is_a_typed_refusal(shop: SmallCore, field: str, inner: str) -> None:
    with pytest.raises(PayloadFormatError, match=field):
        shop.core.dashboards.create({field: inner})
    with pytest.raises(PayloadError):
        shop.core.dashboards.create({field: "[" * 100_000})


@pytest.mark.parametrize(
    "text", ["", "{}", '{"unknown": {"a": [1]}}', '{"refresh_frequency": null, "color_scheme": "x"}']
)
def test_harmless_metadata_is_kept_as_it_is(shop: SmallCore, text: str) -> None:
    made = shop.core.dashboards.create({"json_metadata": text})
    assert made.json_metadata == (text or None)


# ----------------------------------------------------------------------------------------------------------- who sees
def test_a_draft_is_seen_by_its_owners_and_administrators_only(shop: SmallCore) -> None:
    reader, owner = shop.reader(("dataset", 1)), shop.reader(("dataset", 1), username="owner")
    mine = add_dashboard(owner, add_chart(owner))
    assert owner.dashboards.get(mine.id).id == shop.core.dashboards.get(mine.id).id == mine.id
    with pytest.raises(DashboardAccessError) as caught:
        reader.dashboards.get(mine.id)
    assert (caught.value.status, caught.value.error_type) == (403, ErrorType.DASHBOARD_SECURITY_ACCESS_ERROR)
    assert (titles(owner), titles(shop.core), titles(reader)) == (["Sales"], ["Sales"], [])
    owner.dashboards.update(mine.id, {"published": True})
    assert reader.dashboards.get(mine.id).charts == ("Revenue",)
    assert titles(reader) == ["Sales"]


def test_a_published_dashboard_needs_a_dataset_of_one_of_its_charts(shop: SmallCore) -> None:
    made = add_dashboard(shop.core, add_chart(shop.core, "A"), add_chart(shop.core, "B", dataset=2), published=True)
    reader, stranger = shop.reader(("dataset", 2)), shop.reader(username="stranger")
    assert reader.dashboards.get(made.id).charts == ("B",)
    assert [chart.slice_name for chart in reader.dashboards.charts(made.id)] == ["B"]
    assert [dataset.table_name for dataset in reader.dashboards.datasets(made.id)] == ["people"]
    for act in (stranger.dashboards.get, stranger.dashboards.charts, stranger.dashboards.datasets):
        with pytest.raises(DashboardAccessError):
            act(made.id)
    assert (titles(reader), titles(stranger)) == (["Sales"], [])


def test_a_published_dashboard_without_charts_is_for_everybody(shop: SmallCore) -> None:
    made = add_dashboard(shop.core, published=True)
    stranger = shop.reader()
    assert stranger.dashboards.get(made.id).id == made.id
    assert titles(stranger) == ["Sales"]


def test_roles_are_needed_in_addition_to_the_dataset(shop: SmallCore) -> None:
    reader, other = shop.reader(("dataset", 1)), shop.reader(("dataset", 1), username="other")
    without_data = shop.reader(username="blind")
    roles = [role_of(shop, "reader"), role_of(shop, "blind")]
    made = add_dashboard(shop.core, add_chart(shop.core), published=True, roles=roles)
    assert [role.name for role in made.roles] == ["role of reader", "role of blind"]
    assert reader.dashboards.get(made.id).id == made.id
    for rejected in (other, without_data):
        with pytest.raises(DashboardAccessError):
            rejected.dashboards.get(made.id)
        assert titles(rejected) == []
    shop.core.dashboards.update(made.id, {"roles": []})
    assert other.dashboards.get(made.id).roles == ()


def test_owners_name_roles_that_they_have_and_learn_of_no_others(shop: SmallCore) -> None:
    secret = shop.core.roles.create({"name": "project layoff"})
    owner = shop.reader(("dataset", 1), username="owner")
    (own,) = (item.value for item in owner.dashboards.related("roles").result)
    made = owner.dashboards.create({"dashboard_title": "Mine", "roles": [own]})
    assert [role.name for role in made.roles] == ["role of owner"]
    messages = set()
    for key in (secret.id, 99):
        with pytest.raises(AccessError) as created:
            owner.dashboards.create({"dashboard_title": "Spy", "roles": [key]})
        with pytest.raises(AccessError) as updated:
            owner.dashboards.update(made.id, {"roles": [own, key]})
        messages |= {str(rejection.value).replace(f"role {key}", "role N") for rejection in (created, updated)}
    assert len(messages) == 1
    shop.core.dashboards.update(made.id, {"roles": [own, secret.id]})
    dashboard = owner.dashboards.update(made.id, {"roles": [secret.id, own], "dashboard_title": "Ours"})
    assert {role.id for role in dashboard.roles} == {own, secret.id}
    assert owner.dashboards.update(made.id, {"roles": []}).roles == ()
    with pytest.raises(AccessError):
        owner.dashboards.update(made.id, {"roles": [secret.id]})


def test_roles_must_exist_and_stay_while_a_dashboard_names_them(shop: SmallCore) -> None:
    with pytest.raises(PayloadSchemaError, match=r"roles\.1: there is no role 99"):
        add_dashboard(shop.core, roles=[1, 99])
    role = shop.core.roles.create({"name": "spare"})
    made = add_dashboard(shop.core, roles=[role.id, role.id])
    with pytest.raises(InUseError, match="1 dashboards"):
        shop.core.roles.delete(role.id)
    with pytest.raises(PayloadSchemaError, match=r"roles\.0"):
        shop.core.dashboards.update(made.id, {"roles": [77]})


def test_seeing_a_dashboard_opens_no_data(shop: SmallCore) -> None:
    hidden = add_chart(shop.core, dataset=2)
    made = add_dashboard(shop.core, add_chart(shop.core), hidden, published=True)
    reader = shop.reader(("dataset", 1))
    assert reader.dashboards.get(made.id).id == made.id
    with pytest.raises(ChartAccessError):
        reader.charts.get(hidden)
    with pytest.raises(DatasetAccessError):
        reader.charts.data(
            {"datasource": {"id": 2, "type": "table"}, "queries": [{"columns": ["name"]}]}
        ).raise_for_error()


def test_only_owners_change_and_delete(shop: SmallCore) -> None:
    made = add_dashboard(shop.core, add_chart(shop.core), published=True)
    reader, stranger = shop.reader(("dataset", 1)), shop.reader(username="stranger")
    for act in (
        lambda core: core.dashboards.update(made.id, {"css": "x"}),
        lambda core: core.dashboards.delete(made.id),
    ):
        with pytest.raises(OwnershipError):
            act(reader)
        with pytest.raises(DashboardAccessError):
            act(stranger)
    shop.core.dashboards.update(made.id, {"owners": [1, 2]})
    assert reader.dashboards.update(made.id, {"css": "x"}).css == "x"
    reader.dashboards.delete(made.id)
    with pytest.raises(NotFoundError):
        shop.core.dashboards.get(made.id)
    assert shop.core.charts.list().count == 1


def test_nobody_loses_their_own_dashboard_by_naming_others(shop: SmallCore) -> None:
    reader = shop.reader()
    made = add_dashboard(reader)
    assert [owner.id for owner in reader.dashboards.update(made.id, {"owners": [1]}).owners] == [1, 2]
    with pytest.raises(PayloadSchemaError, match=r"owners\.0: there is no user 9"):
        add_dashboard(reader, owners=[9])


def test_a_dashboard_managed_externally_changes_only_for_its_manager(shop: SmallCore) -> None:
    made = add_dashboard(shop.core, is_managed_externally=True, published=True)
    for act in (
        lambda: shop.core.dashboards.update(made.id, {"css": "x"}),
        lambda: shop.core.dashboards.delete(made.id),
    ):
        with pytest.raises(OwnershipError, match="another system"):
            act()


def test_a_write_on_what_the_caller_has_not_read_is_refused(shop: SmallCore) -> None:
    made = add_dashboard(shop.core)
    shop.core.dashboards.update(made.id, {"css": "theirs"}, unchanged_since=made.changed_on)
    with pytest.raises(StaleVersionError):
        shop.core.dashboards.update(made.id, {"css": "mine"}, unchanged_since=made.changed_on)
    read = shop.core.dashboards.get(made.id)
    assert read.css == "theirs"
    assert read.changed_on is not None
    later = (read.changed_on + timedelta(seconds=1)).replace(tzinfo=None)  # a naive moment is UTC
    assert shop.core.dashboards.update(made.id, {"css": "mine"}, unchanged_since=later).css == "mine"


# -------------------------------------------------------------------------------------------------------------- lists
def test_a_listed_dashboard_has_its_computed_fields(shop: SmallCore) -> None:
    add_dashboard(shop.core, published=True, roles=[1])
    (item,) = shop.core.dashboards.list()
    payload = item.to_payload()
    assert (payload["status"], payload["url"], payload["thumbnail_url"]) == (
        "published",
        "/dashboard/1",
        "/dashboard_thumbnail/1",
    )
    assert payload["roles"] == [{"id": 1, "name": "Administrators"}]
    assert payload["owners"] == [{"id": 1, "first_name": "Ada", "last_name": "Admin"}] == [payload["created_by"]]
    assert (payload["changed_by_name"], payload["changed_by"]["id"]) == ("Ada Admin", 1)
    assert payload["changed_on_utc"].endswith("+00:00")
    assert payload["changed_on_delta_humanized"]
    assert payload["created_on_delta_humanized"]


@pytest.mark.parametrize(
    ("col", "op", "val", "expected"),
    [
        ("dashboard_title", "contains", "a", ["Alpha", "Beta"]),
        ("published", "eq", True, ["Beta"]),
        ("slug", "is_null", True, ["Alpha"]),
        ("owners", "eq", 2, ["Beta"]),
        ("owners", "in", [1, 2], ["Alpha", "Beta"]),
        ("roles", "eq", 1, ["Beta"]),
        ("charts", "eq", 1, ["Alpha"]),
        ("tags", "in", [5], []),
        ("created_by", "eq", 1, ["Alpha", "Beta"]),
    ],
)
def test_lists_are_filtered(shop: SmallCore, col: str, op: str, val: Any, expected: list[str]) -> None:
    shop.reader()
    add_dashboard(shop.core, add_chart(shop.core), dashboard_title="Alpha")
    add_dashboard(shop.core, dashboard_title="Beta", slug="b", published=True, owners=[2], roles=[1])
    assert titles(shop.core, filters=[{"col": col, "op": op, "val": val}]) == expected


@pytest.mark.parametrize(
    ("col", "op", "val"),
    [("owners", "neq", 1), ("owners", "eq", None), ("charts", "contains", "1"), ("tags", "in", ["a"])],
)
def test_links_are_filtered_by_ids_only(shop: SmallCore, col: str, op: str, val: Any) -> None:
    with pytest.raises(PayloadSchemaError, match=r"filters\.0\.val"):
        shop.core.dashboards.list(filters=[{"col": col, "op": op, "val": val}])


def test_lists_are_ordered_and_paged(shop: SmallCore) -> None:
    for title in ("B", "C", "A", "B"):
        add_dashboard(shop.core, dashboard_title=title)
    assert titles(shop.core, order_by="-dashboard_title") == ["C", "B", "B", "A"]
    pages = [shop.core.dashboards.list(order_by="dashboard_title", page=page, page_size=3) for page in range(3)]
    assert [[item.id for item in page] for page in pages] == [[3, 1, 4], [2], []]
    assert [page.count for page in pages] == [4, 4, 4]
    (item,) = shop.core.dashboards.list(columns=["status", "id"], page_size=1)
    assert item.to_payload() == {"id": 1, "status": "draft"}
    with pytest.raises(PayloadSchemaError, match="order_by"):
        shop.core.dashboards.list(order_by="owners")


def test_answers_hold_every_field_of_the_contract(shop: SmallCore) -> None:
    made = add_dashboard(shop.core, add_chart(shop.core))
    answers = (
        made,
        shop.core.dashboards.list().result[0],
        shop.core.dashboards.charts(made.id)[0],
        shop.core.dashboards.datasets(made.id)[0],
    )
    for answer in answers:
        assert set(answer.to_payload()) == set(field_names(type(answer)))


# ------------------------------------------------------------------------------------------------- charts, datasets
def test_the_charts_of_a_dashboard_are_shown_as_entities(shop: SmallCore) -> None:
    chart = add_chart(shop.core, description="**b** <script>x</script>", params='{"a": 1}', viz_type="line")
    made = add_dashboard(shop.core, chart)
    (entity,) = shop.core.dashboards.charts(made.id)
    payload = entity.to_payload()
    assert payload["form_data"] == {"a": 1, "slice_id": chart, "viz_type": "line", "datasource": "1__table"}
    assert "<strong>b</strong>" in payload["description_markeddown"]
    assert "script" not in payload["description_markeddown"]
    assert (payload["slice_name"], payload["slice_url"], payload["cache_timeout"]) == (
        "Revenue",
        f"/chart/{chart}",
        None,
    )
    assert payload["changed_on"]


def test_the_datasets_of_a_dashboard_stand_once_with_all_their_columns(shop: SmallCore) -> None:
    made = add_dashboard(shop.core, *(add_chart(shop.core, name) for name in "AB"))
    (dataset,) = shop.core.dashboards.datasets(made.id)
    payload = dataset.to_payload()
    assert payload["column_names"] == ["id", "day", "country", "amount"]
    assert [column["column_name"] for column in payload["columns"]] == payload["column_names"]
    assert [metric["metric_name"] for metric in payload["metrics"]] == ["count"]
    assert payload["database"]["name"] == "shop"
    assert (payload["database"]["backend"], payload["database"]["explore_database_id"]) == ("sqlite", 1)
    assert (payload["type"], payload["uid"], payload["main_dttm_col"]) == ("table", "1__table", "day")
    assert payload["owners"] == [{"id": 1, "first_name": "Ada", "last_name": "Admin"}]
    assert "secret" not in json.dumps(payload)


# ------------------------------------------------------------------------------------------------------------ hostile
def test_a_long_text_that_is_no_slug_is_refused_without_a_search(shop: SmallCore) -> None:
    with pytest.raises(NotFoundError) as rejected:  # tried in all ways to split it, this would take hours
        shop.core.dashboards.get("a" * 1_000_000 + "!")
    assert len(rejected.value.message) < 400


@pytest.mark.parametrize("slug", ["_", "-", "..", "~_~"])
def test_a_slug_needs_a_letter_or_a_digit(shop: SmallCore, slug: str) -> None:
    with pytest.raises(PayloadSchemaError, match="needs a letter or a digit"):
        add_dashboard(shop.core, slug=slug)


def test_style_that_would_leave_its_element_is_refused_in_dashboards_too(shop: SmallCore) -> None:
    made, css = add_dashboard(shop.core, css=".a > b {}"), "a{}</STYLE ><script>x</script>"
    for act in (
        lambda: add_dashboard(shop.core, css=css),
        lambda: shop.core.dashboards.update(made.id, {"css": css}),
        lambda: shop.core.dashboards.copy(made.id, {"json_metadata": "{}", "css": css}),
    ):
        with pytest.raises(PayloadSchemaError, match="css"):
            act()
    assert shop.core.dashboards.get(made.id).css == ".a > b {}"


def test_a_flood_of_owners_is_refused_before_anybody_looks_them_up(shop: SmallCore) -> None:
    with pytest.raises(PayloadSchemaError, match="owners: may name 1000 users at most"):
        add_dashboard(shop.core, owners=list(range(1, 1_002)))


def test_a_flood_of_problems_is_told_in_a_short_message(shop: SmallCore) -> None:
    with pytest.raises(PayloadSchemaError, match="and 900 more") as rejected:
        add_dashboard(shop.core, position_json=json.dumps({f"n{number}": 1 for number in range(1_000)}))
    assert (len(rejected.value.problems), len(rejected.value.message) < 10_000) == (1_000, True)


def test_what_was_read_is_named_by_a_moment(shop: SmallCore) -> None:
    made = add_dashboard(shop.core)
    with pytest.raises(PayloadSchemaError, match="unchanged_since: must be a moment"):
        shop.core.dashboards.update(made.id, {"css": "x"}, unchanged_since="2024-01-01")


@pytest.mark.parametrize("value", [timedelta(1), {1, 2}, {(1, 2): 3}, object()])
def test_filters_that_are_no_json_are_refused(shop: SmallCore, value: Any) -> None:
    made = add_dashboard(shop.core)
    with pytest.raises(PayloadSchemaError, match="modified: must hold JSON values only"):
        shop.core.dashboards.update_native_filters(
            made.id, {"deleted": [], "reordered": [], "modified": [{"id": "x", "value": value}]}
        )

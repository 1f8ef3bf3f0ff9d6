"""Copies of dashboards, and changes of their filters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.pages import add_chart, add_dashboard, layout, metadata_of, two_datasets
from tests.support.small_core import SmallCore, small_core

from analytics_core._content.dashboards.copies import remapped_layout, remapped_metadata
from analytics_core._content.questions.dashboard_content import without_places_of_others
from analytics_core.errors import DashboardAccessError, OwnershipError, PayloadSchemaError


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as made:
        two_datasets(made)
        yield made


# ------------------------------------------------------------------------------------------------------------- copies
def test_a_copy_shows_the_same_charts_and_is_a_draft_of_the_copier(shop: SmallCore) -> None:
    chart = add_chart(shop.core)
    source = add_dashboard(
        shop.core,
        chart,
        slug="sales",
        css=".a {}",
        published=True,
        certified_by="Ada",
        roles=[],
        is_managed_externally=True,
    )
    reader = shop.reader(("dataset", 1))
    copy = reader.dashboards.copy(source.id, {"json_metadata": '{"color_scheme": "x"}'})
    assert (copy.dashboard_title, copy.css, copy.json_metadata) == ("Sales", ".a {}", '{"color_scheme": "x"}')
    assert (copy.published, copy.slug, copy.certified_by, copy.is_managed_externally) == (False, None, None, False)
    assert [owner.username for owner in copy.owners] == ["reader"]
    assert [entity.id for entity in reader.dashboards.charts(copy.id)] == [chart]
    words = {"changed_on_delta_humanized", "created_on_delta_humanized"}  # how long ago it was
    assert shop.core.dashboards.get(source.id).model_dump(exclude=words) == source.model_dump(exclude=words)


def test_a_copy_takes_title_style_and_layout_of_the_payload(shop: SmallCore) -> None:
    one, two = add_chart(shop.core, "One"), add_chart(shop.core, "Two")
    source = add_dashboard(shop.core, one, two)
    metadata = json.dumps({"positions": json.loads(layout(two))})
    copy = shop.core.dashboards.copy(source.id, {"json_metadata": metadata, "dashboard_title": "New", "css": ""})
    assert (copy.dashboard_title, copy.css, copy.charts) == ("New", "", ("Two",))
    with pytest.raises(PayloadSchemaError, match="do not exist: 99"):
        shop.core.dashboards.copy(source.id, {"json_metadata": json.dumps({"positions": json.loads(layout(99))})})


def test_a_copy_with_its_own_charts_speaks_of_them_everywhere(shop: SmallCore) -> None:
    one, two = add_chart(shop.core, "One", params='{"a": 1}', certified_by="c"), add_chart(shop.core, "Two")
    source = add_dashboard(shop.core, one, two)
    metadata = json.dumps({"expanded_slices": {str(one): True}, "timed_refresh_immune_slices": [two]})
    reader = shop.reader(("dataset", 1))
    shop.core.dashboards.update(source.id, {"published": True})
    copy = reader.dashboards.copy(source.id, {"json_metadata": metadata, "duplicate_slices": True})
    new_one, new_two = (entity.id for entity in reader.dashboards.charts(copy.id))
    assert {new_one, new_two}.isdisjoint({one, two})
    assert json.loads(copy.position_json or "") == json.loads(layout(new_one, new_two))
    assert metadata_of(copy) == {"expanded_slices": {str(new_one): True}, "timed_refresh_immune_slices": [new_two]}
    copied = reader.charts.get(new_one)
    assert (copied.slice_name, copied.params, copied.certified_by) == ("One", '{"a": 1}', None)
    assert [owner.id for owner in copied.owners] == [2]
    assert [owner.id for owner in shop.core.charts.get(one).owners] == [1]


def test_what_the_charts_of_a_copy_store_names_the_copies(shop: SmallCore) -> None:
    one = add_chart(shop.core, "One")
    layers = [
        {"name": "a", "sourceType": "line", "value": str(one)},
        {"name": "b", "sourceType": "NATIVE", "value": one},
        {"name": "c", "source_type": "table", "value": one},
    ]
    question = {"queries": [{"columns": ["id"], "annotation_layers": layers}], "form_data": {"slice_id": 7, "x": 1}}
    two = add_chart(shop.core, "Two", query_context=json.dumps(question))
    own = {"slice_id": two, "dashboardId": 1, "annotation_layers": [{"sourceType": "table", "value": one}]}
    shop.core.charts.update(two, {"params": json.dumps(own)})
    source = add_dashboard(shop.core, one, two)
    copy = shop.core.dashboards.copy(source.id, {"json_metadata": "{}", "duplicate_slices": True})
    new_one, new_two = (entity.id for entity in shop.core.dashboards.charts(copy.id))
    copied = shop.core.charts.get(new_two)
    assert json.loads(copied.params or "") == {
        "slice_id": new_two,
        "annotation_layers": [{"sourceType": "table", "value": new_one}],
    }
    stored = json.loads(copied.query_context or "")
    assert stored["form_data"] == {"slice_id": new_two, "x": 1}
    assert [layer["value"] for layer in stored["queries"][0]["annotation_layers"]] == [str(new_one), one, new_one]
    assert shop.core.charts.get(two).query_context == json.dumps(question)


def test_the_charts_of_a_copy_were_saved_by_the_copier_now(shop: SmallCore) -> None:
    one = add_chart(shop.core, "One")
    source = add_dashboard(shop.core, one, published=True)
    earlier = shop.core.charts.list().result[0].last_saved_at
    reader = shop.reader(("dataset", 1)).as_of(datetime(2001, 1, 1))  # another now for queries is no time of saving
    reader.dashboards.copy(source.id, {"json_metadata": "{}", "duplicate_slices": True})
    original, copied = shop.core.charts.list(order_by="id").result
    assert original.last_saved_by is not None
    assert copied.last_saved_by is not None
    assert (original.last_saved_by.id, original.last_saved_at) == (1, earlier)
    assert copied.last_saved_by.id == 2
    assert copied.last_saved_at > earlier


def test_a_chart_that_the_copier_may_not_read_is_shared_and_not_copied(shop: SmallCore) -> None:
    mine, hidden = add_chart(shop.core, "Mine"), add_chart(shop.core, "Hidden", dataset=2)
    source = add_dashboard(shop.core, mine, hidden, published=True)
    reader = shop.reader(("dataset", 1))
    copy = reader.dashboards.copy(source.id, {"json_metadata": "{}", "duplicate_slices": True})
    assert copy.charts == ("Mine",)
    assert shop.core.charts.list().count == 3
    (placed_hidden,) = (entity.id for entity in shop.core.dashboards.charts(copy.id) if entity.slice_name == "Hidden")
    assert placed_hidden == hidden


def test_only_who_may_read_a_dashboard_copies_it(shop: SmallCore) -> None:
    source = add_dashboard(shop.core, add_chart(shop.core))
    with pytest.raises(DashboardAccessError):
        shop.reader(("dataset", 1)).dashboards.copy(source.id, {"json_metadata": "{}"})
    with pytest.raises(PayloadSchemaError, match="json_metadata"):
        shop.core.dashboards.copy(source.id, {"dashboard_title": "x"})


def test_every_place_that_names_a_chart_names_its_copy() -> None:
    scope = {"rootPath": ["ROOT_ID"], "excluded": [1, 5]}
    metadata = {
        "chart_configuration": {"1": {"id": 1, "crossFilters": {"scope": scope, "chartsInScope": [2, 1]}}, "x": 3},
        "global_chart_configuration": {"scope": scope, "chartsInScope": [1]},
        "native_filter_configuration": [{"id": "f", "scope": scope, "chartsInScope": [2], "tabsInScope": ["1"]}],
        "filter_scopes": {"1": {"country": {"scope": ["ROOT_ID"], "immune": [2]}}},
        "default_filters": '{"1": {"country": ["1"]}}',
        "refresh_frequency": 1,
        "own": {"1": [1]},
    }
    new = {"rootPath": ["ROOT_ID"], "excluded": [11, 5]}
    assert json.loads(remapped_metadata(json.dumps(metadata), {1: 11, 2: 12}) or "") == {
        "chart_configuration": {"11": {"id": 11, "crossFilters": {"scope": new, "chartsInScope": [12, 11]}}, "x": 3},
        "global_chart_configuration": {"scope": new, "chartsInScope": [11]},
        "native_filter_configuration": [{"id": "f", "scope": new, "chartsInScope": [12], "tabsInScope": ["1"]}],
        "filter_scopes": {"11": {"country": {"scope": ["ROOT_ID"], "immune": [12]}}},
        "default_filters": '{"11": {"country": ["1"]}}',
        "refresh_frequency": 1,
        "own": {"1": [1]},
    }


@pytest.mark.parametrize(
    "metadata",
    [
        {"chart_configuration": [1], "filter_scopes": 1, "expanded_slices": [], "default_filters": 5},
        {"chart_configuration": {"1": None}, "filter_scopes": {"1": 3}, "native_filter_configuration": {"a": 1}},
        {"global_chart_configuration": "x", "timed_refresh_immune_slices": 1, "native_filter_configuration": [3]},
    ],
)
def test_metadata_of_other_hosts_in_other_shapes_is_copied_without_failing(metadata: dict[str, Any]) -> None:
    copied = json.loads(remapped_metadata(json.dumps(metadata), {7: 8}) or "")
    assert set(copied) == set(metadata)
    nodes = {"A": 1, "B": {"meta": 2}, "C": {"meta": {"chartId": [7]}}, "D": {"meta": {"chartId": 7, "uuid": "u"}}}
    assert json.loads(remapped_layout(json.dumps(nodes), {7: 8}) or "") == {**nodes, "D": {"meta": {"chartId": 8}}}


# ------------------------------------------------------------------------------------------------------------ filters
A, B, C = ({"id": f"FILTER-{letter}", "name": letter} for letter in "ABC")


def with_filters(shop: SmallCore, *filters: dict[str, Any]) -> int:
    metadata = {"color_scheme": "x", "native_filter_configuration": list(filters)}
    return int(add_dashboard(shop.core, json_metadata=json.dumps(metadata)).id)


def change(shop: SmallCore, dashboard_id: int, **update: Any) -> list[Any]:
    payload = {"deleted": [], "modified": [], "reordered": [], **update}
    metadata = metadata_of(shop.core.dashboards.update_native_filters(dashboard_id, payload))
    assert metadata["color_scheme"] == "x"
    found: list[Any] = metadata["native_filter_configuration"]
    return found


def test_filters_are_deleted_replaced_added_and_reordered(shop: SmallCore) -> None:
    page = with_filters(shop, A, B, C)
    assert change(shop, page) == [A, B, C]
    assert change(shop, page, deleted=["FILTER-A"]) == [B, C]
    new = {"id": "FILTER-B", "name": "new"}
    assert change(shop, page, modified=[new]) == [new, C]
    assert change(shop, page, modified=[A]) == [new, C, A]
    assert change(shop, page, reordered=["FILTER-A", "FILTER-C"]) == [A, C, new]
    assert change(shop, page, deleted=["FILTER-A"], modified=[B], reordered=["FILTER-B"]) == [B, C]


def test_filters_with_the_contracts_integer_ids_are_found(shop: SmallCore) -> None:
    page = with_filters(shop, {"id": 1}, {"id": "2"})
    assert change(shop, page, reordered=[2, 1]) == [{"id": "2"}, {"id": 1}]
    assert change(shop, page, deleted=[2]) == [{"id": 1}]


def test_a_dashboard_without_metadata_gets_its_first_filter(shop: SmallCore) -> None:
    page = add_dashboard(shop.core)
    payload = {"deleted": [], "modified": [A], "reordered": []}
    assert metadata_of(shop.core.dashboards.update_native_filters(page.id, payload)) == {
        "native_filter_configuration": [A]
    }


@for_each(
    ("update", "message"),
    [
        ({"deleted": ["FILTER-X"]}, r"deleted\.0: there is no filter 'FILTER-X'; did you mean 'FILTER-[AB]'\?"),
        ({"reordered": ["FILTER-A", 7]}, r"reordered\.1: there is no filter 7; it has FILTER-A, FILTER-B"),
        ({"deleted": ["FILTER-A"], "reordered": ["FILTER-A"]}, r"reordered\.0: there is no filter"),
        ({"deleted": ["FILTER-A"], "modified": [A]}, r"modified\.0\.id: is deleted by the same update"),
        ({"modified": [{"name": "x"}]}, r"modified\.0\.id: must be an integer or a text"),
        ({"modified": [A, A]}, r"modified\.1\.id: the id 'FILTER-A' is given twice"),
        ({"deleted": None}, "deleted"),
        ({"deleted": [True]}, "deleted"),
    ],
)
def test_a_change_of_filters_that_makes_no_sense_changes_nothing(
    shop: SmallCore, update: dict[str, Any], message: str
) -> None:
    page = with_filters(shop, A, B)
    with pytest.raises(PayloadSchemaError, match=message):
        change(shop, page, **update)
    assert change(shop, page) == [A, B]


def test_only_owners_change_filters(shop: SmallCore) -> None:
    page = with_filters(shop, A)
    shop.core.dashboards.update(page, {"published": True})
    with pytest.raises(OwnershipError):
        shop.reader().dashboards.update_native_filters(page, {"deleted": [], "modified": [], "reordered": []})


def test_metadata_for_elsewhere_mentions_no_other_charts() -> None:
    metadata = {
        "chart_configuration": {"1": {"id": 1, "crossFilters": {"chartsInScope": [2, 9]}}, "9": {"id": 9}, "x": 3},
        "timed_refresh_immune_slices": [9, 2],
        "expanded_slices": {"9": True, "2": True},
        "filter_scopes": {"9": {}, "1": {"country": {"immune": [9]}}},
        "default_filters": '{"9": {}, "1": {"country": ["9"]}}',
    }
    text = remapped_metadata(json.dumps(metadata), {1: 11, 2: 12}, keep_others=False)
    assert json.loads(text or "") == {
        "chart_configuration": {"11": {"id": 11, "crossFilters": {"chartsInScope": [12]}}, "x": 3},
        "timed_refresh_immune_slices": [12],
        "expanded_slices": {"12": True},
        "filter_scopes": {"11": {"country": {"immune": []}}},
        "default_filters": '{"11": {"country": ["9"]}}',
    }


def test_places_of_other_charts_leave_the_layout_and_their_parents() -> None:
    layout = {
        "VERSION": "v2",
        "ROW": {"children": ["A", "B", "TEXT"]},
        "A": {"meta": {"chartId": 1}},
        "B": {"meta": {"chartId": 2}},
        "TEXT": {"meta": {"text": "x"}},
    }
    rest = json.loads(without_places_of_others(json.dumps(layout), [2]) or "")
    assert (sorted(rest), rest["ROW"]["children"]) == (["B", "ROW", "TEXT", "VERSION"], ["B", "TEXT"])

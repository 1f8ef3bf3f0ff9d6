"""What hangs on charts: dashboards, tags, stars, their source, and a query context that a person wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.support.pages import add_chart, add_dashboard, layout, two_datasets
from tests.support.small_core import SmallCore, small_core

from analytics_core.errors import (
    ChartAccessError,
    DashboardAccessError,
    FilterValueError,
    NotFoundError,
    OwnershipError,
    PayloadSchemaError,
)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path, url_for=lambda kind, values: f"/{kind}/{values.get('id')}") as made:
        two_datasets(made)
        yield made


def dashboards_of(core: Any, chart_id: int) -> list[int]:
    return [dashboard.id for dashboard in core.charts.get(chart_id).dashboards]


# -------------------------------------------------------------------------------------------------------- dashboards
def test_a_chart_is_attached_when_it_is_made_and_moved_by_an_update(shop: SmallCore) -> None:
    one, two = add_dashboard(shop.core, json_metadata="{}"), add_dashboard(shop.core)
    chart = add_chart(shop.core, dashboards=[one.id])
    assert shop.core.charts.get(chart).to_payload()["dashboards"] == [
        {"id": one.id, "dashboard_title": "Sales", "json_metadata": "{}"}
    ]
    assert shop.core.dashboards.get(one.id).charts == ("Revenue",)
    shop.core.charts.update(chart, {"dashboards": [two.id]})
    assert (shop.core.dashboards.get(one.id).charts, shop.core.dashboards.get(two.id).charts) == ((), ("Revenue",))
    shop.core.charts.update(chart, {"dashboards": None, "viz_type": "bar"})
    assert dashboards_of(shop.core, chart) == [two.id]
    shop.core.charts.update(chart, {"dashboards": []})
    assert dashboards_of(shop.core, chart) == []


def test_a_chart_that_is_taken_away_leaves_the_layout_and_does_not_come_back_with_it(shop: SmallCore) -> None:
    one, two = add_chart(shop.core, "One"), add_chart(shop.core, "Two")
    page = add_dashboard(shop.core, one, two)
    shop.core.charts.update(one, {"dashboards": []})
    position = json.loads(shop.core.dashboards.get(page.id).position_json or "")
    assert [position["ROOT_ID"]["children"], "CHART-0" in position, position["CHART-1"]["meta"]] == [
        ["CHART-1"],
        False,
        {"chartId": two},
    ]
    assert shop.core.dashboards.update(page.id, {"position_json": json.dumps(position)}).charts == ("Two",)


def test_a_listed_chart_shows_its_dashboards(shop: SmallCore) -> None:
    chart, other = add_chart(shop.core), add_chart(shop.core, "Other")
    pages = [add_dashboard(shop.core, chart), add_dashboard(shop.core, chart, other)]
    dashboards = {item.id: [page.id for page in item.dashboards] for item in shop.core.charts.list()}
    assert dashboards == {chart: [pages[0].id, pages[1].id], other: [pages[1].id]}
    (item,) = shop.core.charts.list(page_size=1)
    assert item.to_payload()["dashboards"][0] == {"id": pages[0].id, "dashboard_title": "Sales"}


def test_a_chart_is_attached_only_to_dashboards_that_the_actor_owns(shop: SmallCore) -> None:
    reader = shop.reader(("dataset", 1))
    published, draft = add_dashboard(shop.core, published=True), add_dashboard(shop.core)
    for page, error in ((published, OwnershipError), (draft, DashboardAccessError)):
        with pytest.raises(error):
            add_chart(reader, dashboards=[page.id])
    mine = add_dashboard(reader)
    chart = add_chart(reader, dashboards=[mine.id])
    with pytest.raises(OwnershipError):
        reader.charts.update(chart, {"dashboards": [mine.id, published.id]})
    assert dashboards_of(shop.core, chart) == [mine.id]


def test_a_chart_is_not_taken_from_a_dashboard_of_somebody_else(shop: SmallCore) -> None:
    reader = shop.reader(("dataset", 1))
    chart = add_chart(reader)
    hidden = add_dashboard(shop.core, chart)
    assert dashboards_of(reader, chart) == []  # a draft of another
    reader.charts.update(chart, {"dashboards": []})
    assert dashboards_of(shop.core, chart) == [hidden.id]
    shop.core.dashboards.update(hidden.id, {"published": True})
    with pytest.raises(OwnershipError):
        reader.charts.update(chart, {"dashboards": []})


def test_a_dashboard_managed_externally_gets_no_chart(shop: SmallCore) -> None:
    page = add_dashboard(shop.core, is_managed_externally=True)
    with pytest.raises(OwnershipError, match="another system"):
        add_chart(shop.core, dashboards=[page.id])


# --------------------------------------------------------------------------------------------------------------- tags
def test_tags_of_a_chart_are_named_by_id_or_by_name(shop: SmallCore) -> None:
    tags = {name: shop.core.tags.create({"name": name}).id for name in ("sales", "eu", "old")}
    chart = add_chart(shop.core)
    by_both = [{"id": tags["sales"]}, {"name": "eu"}, {"id": tags["old"], "name": "old", "type": 1}, {"name": "eu"}]
    changed = shop.core.charts.update(chart, {"tags": by_both})
    assert [tag.name for tag in changed.tags] == ["sales", "eu", "old"]
    assert changed.to_payload()["tags"][0] == {"id": tags["sales"], "name": "sales", "type": 1}
    (item,) = shop.core.charts.list(filters=[{"col": "tags", "op": "eq", "val": tags["eu"]}])
    assert [tag.name for tag in item.tags] == ["sales", "eu", "old"]
    assert shop.core.charts.update(chart, {"tags": None}).tags == changed.tags
    assert shop.core.charts.update(chart, {"tags": []}).tags == ()


@pytest.mark.parametrize(
    ("tag", "error", "message"),
    [
        ({"id": 99}, NotFoundError, "tag 99"),
        ({"id": 2**70}, NotFoundError, "tag"),
        ({"name": "none"}, NotFoundError, "tag 'none'"),
        ({"name": "Sales"}, NotFoundError, "tag 'Sales'"),
        ({"name": "sales", "type": 2}, NotFoundError, "tag 'sales'"),
        ({}, PayloadSchemaError, r"tags\.0: needs an id or a name"),
        ({"id": 1, "name": "eu"}, PayloadSchemaError, r"tags\.0\.name: is not the name of tag 1"),
        ({"id": "1"}, PayloadSchemaError, r"tags\.0\.id"),
        ({"label": "x"}, PayloadSchemaError, r"tags\.0\.label"),
    ],
)
def test_a_tag_that_nothing_answers_to_is_refused(
    shop: SmallCore, tag: dict[str, Any], error: type[Exception], message: str
) -> None:
    shop.core.tags.create({"name": "sales"})
    shop.core.tags.create({"name": "eu"})
    with pytest.raises(error, match=message):
        shop.core.charts.update(add_chart(shop.core), {"tags": [tag]})


def test_a_flood_of_tags_is_refused(shop: SmallCore) -> None:
    with pytest.raises(PayloadSchemaError, match="1000 tags at most"):
        shop.core.charts.update(add_chart(shop.core), {"tags": [{"name": str(n)} for n in range(1_001)]})


# -------------------------------------------------------------------------------------------------------------- stars
def test_stars_are_each_users_own(shop: SmallCore) -> None:
    one, two = add_chart(shop.core, "One"), add_chart(shop.core, "Two")
    reader = shop.reader(("dataset", 1))
    for _ in range(2):
        reader.charts.add_favourite(two)
    requested = reader.charts.favourite_status([one, two, 99, two]).to_payload()
    assert requested == {
        "result": [{"id": one, "value": False}, {"id": two, "value": True}, {"id": 99, "value": False}]
    }
    assert [status.value for status in shop.core.charts.favourite_status([one, two]).result] == [False, False]
    for _ in range(2):
        reader.charts.remove_favourite(two)
    assert [status.value for status in reader.charts.favourite_status([two]).result] == [False]
    assert reader.charts.favourite_status([]).result == ()


def test_stars_of_charts_and_dashboards_are_told_apart(shop: SmallCore) -> None:
    chart = add_chart(shop.core)
    page = add_dashboard(shop.core, chart)
    assert chart == page.id
    shop.core.dashboards.add_favourite(page.id)
    assert shop.core.dashboards.favourite_status([page.id]).result[0].value
    assert not shop.core.charts.favourite_status([chart]).result[0].value
    shop.core.dashboards.remove_favourite(page.id)
    assert not shop.core.dashboards.favourite_status([page.id]).result[0].value


def test_nobody_stars_what_they_may_not_read(shop: SmallCore) -> None:
    chart = add_chart(shop.core)
    page = add_dashboard(shop.core, chart, published=True)
    stranger = shop.reader()
    with pytest.raises(ChartAccessError):
        stranger.charts.add_favourite(chart)
    with pytest.raises(DashboardAccessError):
        stranger.dashboards.add_favourite(page.id)
    with pytest.raises(NotFoundError):
        shop.core.charts.add_favourite(99)


def test_a_star_can_be_taken_back_after_access_is_gone(shop: SmallCore) -> None:
    page = add_dashboard(shop.core, published=True)
    reader = shop.reader()
    reader.dashboards.add_favourite(page.id)
    shop.core.dashboards.update(page.id, {"published": False})
    reader.dashboards.remove_favourite(page.id)
    assert not reader.dashboards.favourite_status([page.id]).result[0].value


def test_stars_go_with_the_record(shop: SmallCore) -> None:
    page = add_dashboard(shop.core)
    shop.core.dashboards.add_favourite(page.id)
    shop.core.dashboards.delete(page.id)
    assert not shop.core.dashboards.favourite_status([page.id]).result[0].value


def test_only_ids_can_be_asked_about(shop: SmallCore) -> None:
    for ids in (["1"], [True], range(1_001)):
        with pytest.raises(PayloadSchemaError, match="ids"):
            shop.core.charts.favourite_status(ids)  # type: ignore[arg-type]
    with pytest.raises(FilterValueError):
        shop.core.charts.favourite_status([2**70])


# -------------------------------------------------------------------------------------- query context, source, picture
BY_HAND, MADE = '{"queries": []}', '{"queries": [{}]}'


def test_a_generated_query_context_does_not_replace_a_persons(shop: SmallCore) -> None:
    chart = add_chart(shop.core, query_context=BY_HAND)
    generated = {"query_context": MADE, "query_context_generation": True}
    stored = shop.core.charts.update(chart, {**generated, "viz_type": "bar"})
    assert (stored.query_context, stored.viz_type) == (BY_HAND, "bar")
    shop.core.charts.update(chart, {"query_context_generation": True})
    assert shop.core.charts.update(chart, generated).query_context == BY_HAND


def test_a_generated_query_context_fills_and_replaces_generated_ones(shop: SmallCore) -> None:
    chart = add_chart(shop.core)
    newer = '{"queries": [{}, {}]}'
    for text in (MADE, newer):
        changed = shop.core.charts.update(chart, {"query_context": text, "query_context_generation": True})
        assert changed.query_context == text
    assert shop.core.charts.update(chart, {"query_context": BY_HAND}).query_context == BY_HAND
    generated = {"query_context": MADE, "query_context_generation": True}
    assert shop.core.charts.update(chart, generated).query_context == BY_HAND
    shop.core.charts.update(chart, {"query_context": None})
    assert shop.core.charts.update(chart, generated).query_context == MADE


def test_generating_is_not_saving(shop: SmallCore) -> None:
    chart = add_chart(shop.core)
    shop.core.charts.update(chart, {"owners": [1, 2]} if shop.reader(("dataset", 1)) else {})
    (before,) = shop.core.charts.list()
    reader = shop.core.as_user("reader")
    reader.charts.update(chart, {"query_context": MADE, "query_context_generation": True})
    (after,) = shop.core.charts.list()
    assert (after.last_saved_at, after.last_saved_by) == (before.last_saved_at, before.last_saved_by)
    reader.charts.update(chart, {"viz_type": "bar"})
    assert shop.core.charts.list().result[0].last_saved_by.id == 2  # type: ignore[union-attr]


@pytest.mark.parametrize(("kind", "number"), [("table", 2), ("dataset", 3)])
def test_the_source_of_a_chart_is_told_to_who_may_read_it(shop: SmallCore, kind: str, number: int) -> None:
    chart = add_chart(shop.core, datasource_type=kind)
    value = {"datasource_id": 1, "datasource_type": number}
    assert shop.core.charts.datasource(chart).to_payload() == {
        "count": 1,
        "result": {"label": "orders", "value": value},
    }
    shop.reader(username="owner")
    shop.core.charts.update(chart, {"owners": [2]})
    assert shop.core.as_user("owner").charts.datasource(chart).to_payload() == {"count": 0, "result": None}
    with pytest.raises(ChartAccessError):
        shop.reader(username="stranger").charts.datasource(chart)


def test_the_address_of_a_picture_changes_with_the_chart_and_the_user(shop: SmallCore) -> None:
    chart = add_chart(shop.core)
    first = shop.core.charts.screenshot(chart)
    assert (first.chart_url, first.image_url) == (f"/chart/{chart}", f"/chart_screenshot/{chart}")
    assert shop.core.charts.screenshot(chart).cache_key == first.cache_key
    assert shop.reader(("dataset", 1)).charts.screenshot(chart).cache_key != first.cache_key
    shop.core.charts.update(chart, {"viz_type": "bar"})
    assert shop.core.charts.screenshot(chart).cache_key != first.cache_key


# ---------------------------------------------------------------------------------------------------------------- log
def test_every_write_is_logged_with_what_it_was_done_to(shop: SmallCore) -> None:
    page = add_dashboard(shop.core)
    chart = add_chart(shop.core, dashboards=[page.id])
    shop.core.charts.update(chart, {"viz_type": "bar"})
    shop.core.dashboards.update(page.id, {"position_json": layout(chart)})
    copy = shop.core.dashboards.copy(page.id, {"json_metadata": "{}"})
    shop.core.charts.add_favourite(chart)
    shop.core.tags.tag("dashboard", page.id, ["sales"])
    shop.core.dashboards.delete(copy.id)
    shop.core.charts.delete(chart)
    with pytest.raises(NotFoundError):
        shop.core.charts.update(chart, {})
    entries = [entry for entry in _log(shop) if not entry.action.startswith("data")]
    assert [(entry.action, entry.dashboard_id, entry.slice_id) for entry in entries] == [
        ("dashboard.create", page.id, None),
        ("chart.create", None, chart),
        ("chart.update", None, chart),
        ("dashboard.update", page.id, None),
        ("dashboard.copy", copy.id, None),
        ("chart.add_favourite", None, chart),
        ("dashboard.tag", page.id, None),
        ("dashboard.delete", copy.id, None),
        ("chart.delete", None, chart),
    ]
    assert {entry.user_id for entry in entries} == {1}
    assert json.loads(entries[1].json) == {"dashboards": [page.id]}
    assert all(entry.dttm <= datetime.now(UTC) for entry in entries)


def _log(shop: SmallCore) -> list[Any]:
    from analytics_core._records.repositories import ListQuery

    with shop.core._runtime.content.store.unit_of_work() as unit:
        return list(unit.logs.list(ListQuery(page_size=100))[1])

"""Custom tags: who makes, renames, uses and sees them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.pages import add_chart, add_dashboard, two_datasets
from tests.support.small_core import SmallCore, small_core

from analytics_core.errors import (
    AlreadyExistsError,
    ChartAccessError,
    DashboardAccessError,
    NotFoundError,
    OwnershipError,
    PayloadSchemaError,
)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path, url_for=lambda kind, values: f"/{kind}/{values.get('id')}") as made:
        two_datasets(made)
        yield made


def test_a_tag_is_made_read_changed_and_deleted(shop: SmallCore) -> None:
    made = shop.core.tags.create({"name": "sales", "description": "all of it"})
    assert shop.core.tags.get(made.id).to_payload() == made.to_payload()
    assert (made.name, made.type, made.description) == ("sales", 1, "all of it")
    assert made.to_payload()["created_by"] == {"id": 1, "first_name": "Ada", "last_name": "Admin"}
    changed = shop.core.tags.update(made.id, {"description": None})
    assert (changed.name, changed.description) == ("sales", None)
    assert shop.core.tags.update(made.id, {"name": "Sales"}).name == "Sales"
    shop.core.tags.delete(made.id)
    for act in (shop.core.tags.get, shop.core.tags.delete, lambda key: shop.core.tags.update(key, {})):
        with pytest.raises(NotFoundError, match="tag"):
            act(made.id)


def test_an_answer_written_back_is_no_change_and_an_older_one_is_refused(shop: SmallCore) -> None:
    made = shop.core.tags.create({"name": "weekly"})
    for given in (made, made.to_payload(), made.model_dump_json()):
        assert shop.core.tags.update(made.id, given).changed_on == made.changed_on
    changed = shop.core.tags.update(made.id, {**made.model_dump(), "description": "what is read on Mondays"})
    assert (changed.name, changed.description) == ("weekly", "what is read on Mondays")
    with pytest.raises(PayloadSchemaError) as rejected:
        shop.core.tags.update(made.id, made)
    assert [problem.path for problem in rejected.value.problems] == ["changed_on"]


def test_a_name_is_taken_once(shop: SmallCore) -> None:
    shop.core.tags.create({"name": "sales"})
    other = shop.core.tags.create({"name": "Sales"})
    with pytest.raises(AlreadyExistsError, match="name 'sales'"):
        shop.core.tags.create({"name": "sales"})
    with pytest.raises(AlreadyExistsError, match="name 'sales'"):
        shop.core.tags.update(other.id, {"name": "sales"})


@for_each("payload", [{}, {"name": ""}, {"name": "x" * 251}, {"name": None}, {"name": "a", "type": 2}])
def test_a_payload_that_breaks_the_shape_is_refused(shop: SmallCore, payload: dict[str, Any]) -> None:
    with pytest.raises(PayloadSchemaError):
        shop.core.tags.create(payload)


def test_only_who_made_a_tag_and_administrators_change_it(shop: SmallCore) -> None:
    reader, other = shop.reader(), shop.reader(username="other")
    mine = reader.tags.create({"name": "mine"})
    assert other.tags.get(mine.id).name == "mine"
    for act in (lambda: other.tags.update(mine.id, {"name": "x"}), lambda: other.tags.delete(mine.id)):
        with pytest.raises(OwnershipError):
            act()
    assert reader.tags.update(mine.id, {"name": "x"}).name == "x"
    shop.core.tags.delete(mine.id)


def test_tags_are_listed_filtered_and_paged(shop: SmallCore) -> None:
    for name in ("b", "c", "a"):
        shop.core.tags.create({"name": name})
    page = shop.core.tags.list(order_by="-name", page_size=2)
    assert (page.count, [tag.name for tag in page]) == (3, ["c", "b"])
    found = shop.reader().tags.list(filters=[{"col": "name", "op": "in", "val": ["a", "b"]}], columns=["name"])
    assert found.to_payload() == {"count": 2, "result": [{"name": "b"}, {"name": "a"}]}


def test_records_are_tagged_and_untagged_by_name(shop: SmallCore) -> None:
    page, chart = add_dashboard(shop.core), add_chart(shop.core)
    known = shop.core.tags.create({"name": "known"})
    for target, key in (("dashboard", page.id), ("chart", chart)):
        put_on = shop.core.tags.tag(target, key, ["known", "new", "known"])
        assert [tag.name for tag in put_on] == ["known", "new"]
        assert [tag.name for tag in shop.core.tags.tag(target, key, ["known"])] == ["known", "new"]
        assert [tag.name for tag in shop.core.tags.untag(target, key, ["new"])] == ["known"]
    assert [tag.id for tag in shop.core.dashboards.get(page.id).tags] == [known.id]
    assert [tag.id for tag in shop.core.charts.get(chart).tags] == [known.id]
    assert shop.core.tags.untag("chart", chart, ["known"]) == ()
    shop.core.tags.delete(known.id)
    assert shop.core.dashboards.get(page.id).tags == ()


def test_a_dashboard_keeps_its_tags_when_it_changes(shop: SmallCore) -> None:
    page = add_dashboard(shop.core)
    shop.core.tags.tag("dashboard", page.id, ["sales"])
    assert [tag.name for tag in shop.core.dashboards.update(page.id, {"css": "x"}).tags] == ["sales"]
    (item,) = shop.core.dashboards.list(filters=[{"col": "tags", "op": "in", "val": [1]}])
    assert [tag.name for tag in item.tags] == ["sales"]


def test_only_owners_tag(shop: SmallCore) -> None:
    page, chart = add_dashboard(shop.core, published=True), add_chart(shop.core)
    draft = add_dashboard(shop.core)
    reader, stranger = shop.reader(("dataset", 1)), shop.reader(username="stranger")
    for act in (reader.tags.tag, reader.tags.untag):
        for target, key in (("dashboard", page.id), ("chart", chart)):
            with pytest.raises(OwnershipError):
                act(target, key, ["sales"])
    with pytest.raises(DashboardAccessError):
        stranger.tags.tag("dashboard", draft.id, ["sales"])
    with pytest.raises(ChartAccessError):
        stranger.tags.tag("chart", chart, ["sales"])
    assert shop.core.tags.list().count == 0


@for_each(
    ("target", "names", "path"),
    [
        ("dataset", ["a"], "target"),
        ("chart", [], "names"),
        ("chart", "abc", "names"),
        ("chart", [""], r"names\.0"),
        ("chart", ["x" * 251], r"names\.0"),
        ("chart", [1], r"names\.0"),
        ("chart", ["a"] * 1_001, "names"),
    ],
)
def test_names_and_targets_that_cannot_be_are_refused(shop: SmallCore, target: str, names: Any, path: str) -> None:
    chart = add_chart(shop.core)
    with pytest.raises(PayloadSchemaError, match=path):
        shop.core.tags.tag(target, chart, names)


def test_taking_a_tag_that_does_not_exist_is_refused(shop: SmallCore) -> None:
    with pytest.raises(NotFoundError, match="tag 'none'"):
        shop.core.tags.untag("chart", add_chart(shop.core), ["none"])


def test_what_carries_a_tag_is_shown_to_who_may_read_it(shop: SmallCore) -> None:
    charts = [add_chart(shop.core, "One"), add_chart(shop.core, "Two", dataset=2), add_chart(shop.core, "Three")]
    for chart in charts:
        shop.core.tags.tag("chart", chart, ["sales"])
    for published in (True, False):
        shop.core.tags.tag("dashboard", add_dashboard(shop.core, published=published).id, ["sales"])
    add_dashboard(shop.core, published=True)
    (tag,) = shop.core.tags.list()
    reader = shop.reader(("dataset", 1))
    assert [carrier.name for carrier in reader.tags.tagged(tag.id, "chart")] == ["One", "Three"]
    second = shop.core.tags.tagged(tag.id, "chart", page=1, page_size=2)
    assert second.to_payload() == {
        "count": 3,
        "result": [{"id": charts[2], "type": "chart", "name": "Three", "url": f"/chart/{charts[2]}"}],
    }
    assert [carrier.id for carrier in reader.tags.tagged(tag.id, "dashboard")] == [1]
    assert shop.core.tags.tagged(tag.id, "dashboard").count == 2
    with pytest.raises(NotFoundError):
        reader.tags.tagged(99, "chart")
    with pytest.raises(PayloadSchemaError, match="page_size"):
        reader.tags.tagged(tag.id, "chart", page_size=0)


def test_what_happens_to_a_tag_is_logged_by_its_name(tmp_path: Path) -> None:
    with small_core(tmp_path) as shop:
        before = shop.core.logs.list().count
        made = shop.core.tags.create({"name": "spring"})
        shop.core.tags.update(made.id, {"description": "of 2024"})
        shop.core.tags.delete(made.id)
        logged = [entry.action for entry in shop.core.logs.list(order_by="id")][before:]
    assert logged == ["tag.create", "tag.update", "tag.delete"]

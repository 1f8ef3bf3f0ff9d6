"""Choices for related fields and distinct values: only what the actor may see."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.doors import NAMESPACES, kind_of
from tests.support.many_records import statements_of
from tests.support.small_core import SmallCore, small_core

from analytics_core import AnalyticsCore
from analytics_core._content import annotations
from analytics_core._content.lists import ResourceLists
from analytics_core._records.people import User
from analytics_core.errors import AccessError, NotFoundError, PayloadSchemaError, UnknownNameError

KINDS = {name: kind_of(name) for name in NAMESPACES}
WITH_LOOK_UPS: dict[str, ResourceLists[Any]] = {
    name: kind._resource for name, kind in KINDS.items() if hasattr(kind, "_resource")
} | {"annotations": annotations.LISTS}


@pytest.fixture
def shop(tmp_path: Path, metadata_url: str) -> Iterator[SmallCore]:
    with small_core(tmp_path, ports={"metadata_url": metadata_url}, metadata_freshness_s=0) as made:
        made.orders()
        made.core.datasets.create({"database": 1, "table_name": "people", "schema": "main"})
        yield made


def chart(core: AnalyticsCore, name: str, dataset: int = 1, viz_type: str = "pie") -> int:
    given = {"slice_name": name, "datasource_id": dataset, "datasource_type": "table", "viz_type": viz_type}
    return int(core.charts.create(given).id)


def names_on(core: AnalyticsCore, op: str, dashboards: Any) -> list[str]:
    found = core.charts.list([{"col": "dashboards", "op": op, "val": dashboards}], "slice_name")
    return [item.slice_name for item in found]


def texts(answer: Any) -> list[Any]:
    return [item.text for item in answer.result]


def test_administrators_choose_among_all_people_by_name(shop: SmallCore) -> None:
    shop.reader(username="zoe")
    shop.core.users.create({"username": "ghost", "active": False})
    assert texts(shop.core.charts.related("owners")) == ["Ada Admin", "Zoe", "ghost"]
    found = shop.core.charts.related("owners", filter="GHO").to_payload()
    assert found == {"count": 1, "result": [{"value": 3, "text": "ghost", "extra": {"active": False}}]}
    pages = [shop.core.charts.related("owners", page=page, page_size=2) for page in range(3)]
    assert [texts(page) for page in pages] == [["Ada Admin", "Zoe"], ["ghost"], []]
    assert [page.count for page in pages] == [3, 3, 3]


def test_people_without_names_are_sorted_and_found_by_their_user_names(shop: SmallCore) -> None:
    for first, last, username in (("", "", "Mo"), ("", "Zed", "a"), ("Bo", "", "b"), ("Mo", "", "c"), ("", "", "é_%")):
        shop.core.users.create({"username": username, "first_name": first, "last_name": last})
    assert texts(shop.core.charts.related("created_by")) == ["Ada Admin", "Bo", "Mo", "Mo", "Zed", "é_%"]
    assert [item.value for item in shop.core.charts.related("created_by", filter="mo").result] == [2, 5]
    assert texts(shop.core.charts.related("created_by", filter="_%")) == ["é_%"]
    assert texts(shop.core.charts.related("created_by", filter="a a")) == ["Ada Admin"]


def test_administrators_read_a_page_of_people_and_not_all_of_them(shop: SmallCore) -> None:
    with shop.core._runtime.content.store.unit_of_work() as unit:
        for number in range(60):
            unit.users.add(User(username=f"u{number:02}"), actor_id=1)
    with statements_of(shop.core) as seen:
        found = shop.core.charts.related("owners", filter="U", page=2, page_size=20)
    assert (found.count, texts(found)) == (60, [f"u{number}" for number in range(40, 60)])
    who_acts = 2 * 4  # nothing is believed here: the actor is read when the namespace is opened and when it is called
    assert len(seen) <= who_acts + 2, seen


def test_others_choose_among_themselves_and_whom_they_see_already(shop: SmallCore) -> None:
    hidden, reader = shop.reader(("dataset", 2), username="hidden"), shop.reader(("dataset", 1))
    chart(hidden, "secret", dataset=2)
    assert texts(reader.charts.related("owners")) == ["Reader"]
    chart(shop.core, "open")
    for field in ("owners", "created_by", "changed_by"):
        assert texts(reader.charts.related(field)) == ["Ada Admin", "Reader"]
    assert texts(hidden.charts.related("created_by")) == ["Hidden"]
    assert texts(hidden.datasets.related("owners")) == ["Ada Admin", "Hidden"]
    assert texts(shop.reader(username="stranger").databases.related("created_by")) == ["Stranger"]


def test_people_of_a_hosts_directory_are_found_by_the_records_that_name_them(tmp_path: Path) -> None:
    class Directory:
        def find(self, key: int | str) -> User | None:
            people = {70: User(id=70, username="eve", role_ids=(1,)), 71: User(id=71, username="bob", role_ids=(1,))}
            return people.get(key) if isinstance(key, int) else None

    with small_core(tmp_path, people=Directory()) as made:
        made.orders()
        chart(made.core.as_user(71), "x")
        assert texts(made.core.charts.related("owners")) == ["Ada Admin", "bob", "eve"]


@pytest.mark.slow
@for_each("size", [1, 2, 3, 4, 5, 100])
def test_people_of_a_host_stand_between_the_stored_ones_on_every_page(tmp_path: Path, size: int) -> None:
    hosted = {key: User(id=key, username=name, role_ids=(1,)) for key, name in enumerate("adfhz", start=70)}

    class Directory:
        def find(self, key: int | str) -> User | None:
            return hosted.get(key) if isinstance(key, int) else None

    with small_core(tmp_path, people=Directory()) as made:
        made.orders()
        for key in hosted:
            chart(made.core.as_user(key), "x")
        with made.core._runtime.content.store.unit_of_work() as unit:
            for name in "bcegi":
                unit.users.add(User(username=name), actor_id=1)
        related = made.core.as_user(70).charts.related
        pages = [related("owners", page=page, page_size=size) for page in range(12 // size + 2)]
    assert {page.count for page in pages} == {11}
    assert [text for page in pages for text in texts(page)] == ["Ada Admin", *"abcdefghiz"]


def test_records_are_chosen_among_what_one_may_read(shop: SmallCore) -> None:
    reader = shop.reader(("dataset", 2))
    assert texts(shop.core.charts.related("datasets")) == ["orders", "people"]
    assert texts(reader.charts.related("datasets")) == ["people"]
    assert shop.core.charts.related("datasets", filter="PEO").to_payload() == {
        "count": 1,
        "result": [{"value": 2, "text": "people", "extra": {}}],
    }
    assert texts(reader.datasets.related("database")) == []
    assert texts(shop.core.datasets.related("database")) == ["shop"]
    assert texts(reader.users.related("roles")) == ["role of reader"]
    assert texts(shop.core.users.related("roles")) == ["Administrators", "role of reader"]


def test_distinct_values_are_those_of_what_one_may_read(shop: SmallCore) -> None:
    chart(shop.core, "a")
    chart(shop.core, "b", dataset=2, viz_type="line")
    reader = shop.reader(("dataset", 1))
    assert shop.core.datasets.distinct("schema").to_payload() == {"count": 1, "result": [{"text": "main"}]}
    assert texts(reader.datasets.distinct("schema")) == []
    assert texts(shop.core.charts.distinct("viz_type")) == ["line", "pie"]
    assert texts(shop.core.charts.distinct("viz_type", filter="PI")) == ["pie"]
    assert texts(reader.charts.distinct("viz_type")) == ["pie"]
    assert texts(shop.core.databases.distinct("backend")) == ["sqlite"]
    assert texts(reader.logs.distinct("action")) == []
    reader.logs.create({"action": "a.view"})
    assert texts(reader.logs.distinct("action")) == ["a.view"]
    assert {"a.view", "chart.create"} <= set(texts(shop.core.logs.distinct("action")))
    assert texts(reader.logs.related("user")) == ["Reader"]


def test_choices_and_values_of_dashboards_are_those_that_one_may_see(shop: SmallCore) -> None:
    reader, stranger = shop.reader(("dataset", 1)), shop.reader(username="stranger")
    chart(shop.core, "open")
    chart(shop.core, "secret", dataset=2)
    shop.core.dashboards.create({"dashboard_title": "a", "slug": "draft", "certified_by": "Eve"})
    shop.core.dashboards.create({"dashboard_title": "b", "slug": "shown", "certified_by": "Bob", "published": True})
    admin = shop.core.dashboards
    assert texts(admin.related("charts")) == ["open", "secret"]
    assert texts(reader.dashboards.related("charts")) == ["open"]
    assert texts(admin.related("roles", filter="role of r")) == ["role of reader"]
    assert texts(stranger.dashboards.related("roles")) == ["role of stranger"]
    for field in ("owners", "created_by", "changed_by"):
        assert texts(admin.related(field)) == ["Ada Admin", "Reader", "Stranger"]
        assert texts(reader.dashboards.related(field)) == ["Ada Admin", "Reader"]
    assert texts(admin.distinct("certified_by")) == ["Bob", "Eve"]
    assert texts(reader.dashboards.distinct("certified_by")) == ["Bob"]
    assert texts(admin.distinct("slug", filter="RAF")) == ["draft"]
    assert texts(reader.dashboards.distinct("slug")) == ["shown"]


def test_choices_of_row_rules_are_for_whom_the_rules_are(shop: SmallCore) -> None:
    reader = shop.reader(("dataset", 1))
    rules = shop.core.row_level_security
    rule = {"name": "r", "clause": "amount > 1", "filter_type": "Regular", "roles": [2], "tables": [1]}
    rules.create(rule)
    assert texts(rules.related("tables")) == ["orders", "people"]
    assert texts(rules.related("tables", filter="PEO")) == ["people"]
    assert texts(rules.related("roles")) == ["Administrators", "role of reader"]
    assert texts(rules.related("created_by")) == ["Ada Admin", "Reader"]
    with pytest.raises(UnknownNameError, match="tables"):
        rules.related("table")
    with pytest.raises(AccessError):
        reader.row_level_security.related("tables")


@pytest.mark.parametrize(
    ("namespace", "payload"),
    [("annotation_layers", {"name": "x"}), ("css_templates", {"template_name": "x"}), ("tags", {"name": "x"})],
)
def test_who_made_shared_content_may_be_chosen(shop: SmallCore, namespace: str, payload: dict[str, Any]) -> None:
    maker, reader = shop.reader(username="maker"), shop.reader()
    assert texts(getattr(reader, namespace).related("created_by")) == ["Reader"]
    getattr(maker, namespace).create(payload)
    assert texts(getattr(reader, namespace).related("created_by")) == ["Maker", "Reader"]
    assert texts(getattr(reader, namespace).related("created_by", filter="MAK")) == ["Maker"]
    with pytest.raises(UnknownNameError, match="created_by"):
        getattr(reader, namespace).related("creator")


def test_dashboards_and_tags_of_charts_are_chosen_among_what_one_may_see(shop: SmallCore) -> None:
    reader = shop.reader(("dataset", 1))
    open_chart, secret = chart(shop.core, "open"), chart(shop.core, "secret", dataset=2)
    for title, placed, published in (("draft", open_chart, False), ("shown", open_chart, True), ("far", secret, True)):
        layout = {"CHART-1": {"type": "CHART", "id": "CHART-1", "children": [], "meta": {"chartId": placed}}}
        given = {"dashboard_title": title, "published": published, "position_json": json.dumps(layout)}
        shop.core.dashboards.create(given)
    reader.tags.create({"name": "blue"})
    assert texts(shop.core.charts.related("dashboards")) == ["draft", "far", "shown"]
    assert texts(reader.charts.related("dashboards")) == ["shown"]
    assert texts(reader.charts.related("dashboards", filter="HOW")) == ["shown"]
    assert reader.charts.related("dashboards", filter="far").count == 0
    assert names_on(shop.core, "eq", 1) == names_on(shop.core, "in", [1, 2, 99, 2**40]) == ["open"]
    assert names_on(shop.core, "in", [1, 2, 3]) == ["open", "secret"]
    assert names_on(reader, "in", [1, 2, 3]) == names_on(reader, "eq", 2) == ["open"]
    assert names_on(reader, "eq", 1) == []  # they see the chart, not that it is on the draft
    with pytest.raises(PayloadSchemaError, match="eq or in"):
        names_on(reader, "gt", 1)
    assert texts(shop.core.charts.related("tags")) == texts(reader.dashboards.related("tags")) == ["blue"]


def test_people_and_texts_of_annotations_are_those_of_the_layer(shop: SmallCore) -> None:
    maker, reader = shop.reader(username="maker"), shop.reader()
    layers = [maker.annotation_layers.create({"name": name}).id for name in ("a", "b")]
    event = {"start_dttm": "2024-01-01", "end_dttm": "2024-01-01"}
    for layer, text in ((layers[0], "sale"), (layers[0], "fair"), (layers[0], "sale"), (layers[1], "other")):
        maker.annotations.create(layer, {**event, "short_descr": text})
    shop.core.annotations.update(layers[1], 4, {"short_descr": "changed"})
    assert texts(reader.annotations.distinct(layers[0], "short_descr")) == ["fair", "sale"]
    assert texts(reader.annotations.distinct(layers[0], "short_descr", filter="SA", page_size=1)) == ["sale"]
    assert texts(reader.annotations.related(layers[0], "changed_by")) == ["Maker", "Reader"]
    assert texts(reader.annotations.related(layers[1], "changed_by")) == ["Ada Admin", "Reader"]
    for ask in (reader.annotations.related, reader.annotations.distinct):
        with pytest.raises(NotFoundError):
            ask(77, "short_descr")
        with pytest.raises(UnknownNameError, match=r"short_descr|created_by"):
            ask(layers[0], "nothing")


def test_owners_choose_among_the_dashboards_that_they_may_embed(shop: SmallCore) -> None:
    owner, stranger = shop.reader(username="owner"), shop.reader(username="stranger")
    shop.core.dashboards.create({"dashboard_title": "of the admin", "published": True})
    made = owner.dashboards.create({"dashboard_title": "own"})
    owner.embedded.create(made.id, {"allowed_domains": []})
    assert texts(owner.embedded.related("dashboard")) == ["own"]
    assert texts(shop.core.embedded.related("dashboard")) == ["of the admin", "own"]
    assert texts(stranger.embedded.related("dashboard")) == []
    assert texts(owner.embedded.related("created_by")) == ["Owner"]
    assert texts(stranger.embedded.related("changed_by")) == ["Stranger"]
    by_name = [{"col": "dashboard", "op": "eq", "val": made.id}]
    assert [item.uuid for item in owner.embedded.list(by_name)] == [owner.embedded.get(made.id).uuid]
    assert len(stranger.embedded.list()) == 0


def test_what_a_role_may_be_granted_is_for_administrators(shop: SmallCore) -> None:
    assert texts(shop.core.roles.related("databases")) == ["shop"]
    assert texts(shop.core.roles.related("datasets", filter="o")) == ["orders", "people"]
    with pytest.raises(AccessError):
        shop.reader(("dataset", 1)).roles.related("datasets")
    with pytest.raises(UnknownNameError, match="databases"):
        shop.core.roles.related("database")


@pytest.mark.parametrize(
    ("namespace", "field", "payload"),
    [
        ("annotation_layers", "name", {"descr": "d"}),
        ("css_templates", "template_name", {"css": ""}),
        ("tags", "name", {"description": "d"}),
    ],
)
def test_distinct_names_of_shared_content_come_once(
    shop: SmallCore, namespace: str, field: str, payload: dict[str, Any]
) -> None:
    reader = shop.reader()
    for name in ("Beta", "alpha"):
        getattr(shop.core, namespace).create({**payload, field: name})
    assert texts(getattr(reader, namespace).distinct(field)) == ["Beta", "alpha"]
    assert getattr(reader, namespace).distinct(field, filter="PHA").to_payload() == {
        "count": 1,
        "result": [{"text": "alpha"}],
    }
    with pytest.raises(UnknownNameError, match=field):
        getattr(reader, namespace).distinct("id")


def test_keys_of_groups_of_rules_are_for_whom_the_rules_are(shop: SmallCore) -> None:
    for name, key in (("a", "region"), ("b", "region"), ("c", None)):
        rule = {"name": name, "clause": "amount > 1", "filter_type": "Regular", "roles": [1], "tables": [1]}
        shop.core.row_level_security.create({**rule, "group_key": key})
    assert texts(shop.core.row_level_security.distinct("group_key")) == ["region"]
    with pytest.raises(AccessError):
        shop.reader().row_level_security.distinct("group_key")


LISTS_PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "lists.md").read_text(encoding="utf-8")
OFFERED_FOR_OTHERS = {
    "charts": {"datasets"},  # the filter is datasource_id
    "roles": {"databases", "datasets"},  # what `grant` takes
}


@for_each("namespace", WITH_LOOK_UPS)
def test_what_may_be_chosen_or_is_distinct_filters_the_list_by_the_same_name(namespace: str) -> None:
    lists = WITH_LOOK_UPS[namespace]
    offered = {*lists.people, *lists.records, *lists.distinct}
    assert offered - set(lists.listing.columns) == OFFERED_FOR_OTHERS.get(namespace, set())


@for_each("namespace", WITH_LOOK_UPS)
def test_what_may_be_chosen_or_is_distinct_is_documented(namespace: str) -> None:
    lists = WITH_LOOK_UPS[namespace]
    (row,) = (line for line in LISTS_PAGE.splitlines() if line.startswith(f"| `{namespace}`"))
    _, _, related, distinct, _ = row.split("|")
    assert set(re.findall(r"`(\w+)`", related)) - {"datasource_id", "grant"} == {*lists.people, *lists.records}
    assert set(re.findall(r"`(\w+)`", distinct)) == {*lists.distinct}
    text = inspect.getdoc(KINDS[namespace]) or ""
    assert [name for name in (*lists.people, *lists.records, *lists.distinct) if f"`{name}`" not in text] == []


def test_a_choice_finds_its_records_in_the_list(shop: SmallCore) -> None:
    maker = shop.reader(("database", 1), username="maker")
    chart(shop.core, "of the admin")
    chart(maker, "of the maker")
    for field in ("owners", "created_by", "changed_by"):
        chosen = shop.core.charts.related(field, filter="mak").result[0].value
        found = shop.core.charts.list([{"col": field, "op": "eq", "val": chosen}])
        assert [item.slice_name for item in found] == ["of the maker"]
    by_owner = [{"col": "owners", "op": "in", "val": [1]}]
    assert [item.table_name for item in shop.core.datasets.list(by_owner, "table_name")] == ["orders", "people"]
    assert len(shop.core.datasets.list([{"col": "database", "op": "eq", "val": 1}])) == 2
    assert len(shop.core.databases.list([{"col": "created_by", "op": "eq", "val": 1}])) == 1
    assert len(shop.core.databases.list([{"col": "changed_by", "op": "neq", "val": 1}])) == 0
    role = shop.core.users.related("roles", filter="maker").result[0].value
    assert [user.username for user in shop.core.users.list([{"col": "roles", "op": "eq", "val": role}])] == ["maker"]
    mine = [{"col": "user", "op": "eq", "val": maker.logs.related("user").result[0].value}]
    assert [entry.action for entry in shop.core.logs.list(mine)] == ["chart.create"]


@pytest.mark.each_store
@for_each("text", ["%", "_", "' OR 1=1 --", "\\"])
def test_a_searched_text_is_only_text(shop: SmallCore, text: str) -> None:
    assert shop.core.charts.related("datasets", filter=text).count == 0
    assert shop.core.datasets.distinct("schema", filter=text).count == 0
    assert shop.core.charts.related("owners", filter=text).count == 0


def test_unknown_fields_and_pages_out_of_bounds_are_refused(shop: SmallCore) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'owners'"):
        shop.core.charts.related("owner")
    with pytest.raises(UnknownNameError, match="viz_type"):
        shop.core.charts.distinct("params")
    for page, size in ((-1, 5), (0, 0), (0, 1001)):
        with pytest.raises(PayloadSchemaError):
            shop.core.charts.related("owners", page=page, page_size=size)
        with pytest.raises(PayloadSchemaError):
            shop.core.charts.distinct("viz_type", page=page, page_size=size)

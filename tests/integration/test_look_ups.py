"""Choices for related fields and distinct values: only what the actor may see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.small_core import SmallCore, small_core

from analytics_core import AnalyticsCore
from analytics_core._records.people import User
from analytics_core.errors import AccessError, PayloadSchemaError, UnknownNameError


@pytest.fixture
def shop(tmp_path: Path, metadata_url: str) -> Iterator[SmallCore]:
    with small_core(tmp_path, ports={"metadata_url": metadata_url}, metadata_freshness_s=0) as made:
        made.orders()
        made.core.datasets.create({"database": 1, "table_name": "people", "schema": "main"})
        yield made


def chart(core: AnalyticsCore, name: str, dataset: int = 1, viz_type: str = "pie") -> int:
    given = {"slice_name": name, "datasource_id": dataset, "datasource_type": "table", "viz_type": viz_type}
    return int(core.charts.create(given).id)


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


@pytest.mark.parametrize("text", ["%", "_", "' OR 1=1 --", "\\"])
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

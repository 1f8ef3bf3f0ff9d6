"""What a bundle leaves as it is, and what it leaves out, part by part."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.bundles import ASKING, BY_COUNTRY, ORDERS, SHOP, bundle, packed
from tests.support.small_core import SmallCore, small_core

from analytics_core._content.bundles.files import MOST_FILES, read_files
from analytics_core._records.dashboard import Tag
from analytics_core.errors import PayloadSchemaError

HERE = {"shop": 1}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as made:
        yield made


def only(*paths: str) -> dict[str, Any]:
    """Return some documents of the bundle."""
    return {path: content for path, content in bundle().items() if path.endswith(paths)}


def test_grants_and_rules_on_what_a_bundle_does_not_hold_stay(shop: SmallCore) -> None:
    other = shop.core.datasets.create({"database": 1, "table_name": "other", "sql": "SELECT 1 AS id"})
    role = shop.core.roles.create({"name": "few"})
    shop.core.roles.grant(role, on=other)
    rule = {"name": "r", "clause": "id = 1", "filter_type": "Base", "roles": [], "tables": [other.id]}
    shop.core.row_level_security.create(rule)
    documents = {
        **only("shop.yaml", "orders.yaml"),
        "export/roles/few.yaml": {"name": "few", "grants": [{"on": "dataset", "dataset_uuid": ORDERS}]},
        "export/row_rules/r.yaml": {**rule, "clause": "id = 2", "tables": [ORDERS]},
    }
    report = shop.core.load_bundle(packed(documents), databases=HERE, rules=True)
    orders = next(record.id for record in report.records if record.uuid == ORDERS)
    with shop.core._runtime.content.store.unit_of_work() as unit:
        stored = unit.roles.find(name="few")
        assert stored is not None
        assert {grant.target_id for grant in stored.grants} == {other.id, orders}
    bound = shop.core.row_level_security.get(1)
    assert bound.clause == "id = 2"
    assert {table.id for table in bound.tables} == {other.id, orders}
    shop.core.load_bundle(
        packed({**documents, "export/roles/few.yaml": {"name": "few", "grants": []}}), databases=HERE, rules=True
    )
    with shop.core._runtime.content.store.unit_of_work() as unit:
        stored = unit.roles.find(name="few")
        assert stored is not None
        assert {grant.target_id for grant in stored.grants} == {other.id}


def test_a_css_template_whose_name_two_have_is_refused(shop: SmallCore) -> None:
    document = {"export/css_templates/dark.yaml": {"template_name": "dark", "css": "a { color: red }"}}
    shop.core.load_bundle(packed(document))
    (only_one,) = shop.core.css_templates.list()
    assert only_one.css == "a { color: red }"
    shop.core.css_templates.create({"template_name": "dark", "css": ""})
    with pytest.raises(PayloadSchemaError, match="2 CSS templates here have this name; rename all but one"):
        shop.core.load_bundle(packed(document))


def test_a_query_context_comes_without_what_its_store_knew(shop: SmallCore) -> None:
    documents = bundle()
    chart = documents["export/charts/asked.yaml"]
    context = json.loads(chart["query_context"])
    context["form_data"] |= {"dashboardId": 31, "dashboards": [3], "row_limit": 5}
    chart["query_context"] = json.dumps(context)
    report = shop.core.load_bundle(packed(documents), databases=HERE)
    loaded: dict[Any, Any] = {record.uuid: record.id for record in report.records}
    stored = json.loads(shop.core.charts.get(loaded[ASKING]).query_context or "")
    assert stored["datasource"] == {"id": loaded[ORDERS], "type": "table"}
    assert stored["form_data"] == {
        "viz_type": "table",
        "metrics": ["count"],
        "row_limit": 5,
        "datasource": f"{loaded[ORDERS]}__table",
    }


def test_tags_that_nobody_gave_are_not_exported(shop: SmallCore) -> None:
    report = shop.core.load_bundle(packed(bundle()), databases=HERE)
    key: Any = next(record.id for record in report.records if record.uuid == BY_COUNTRY)
    made = shop.core.tags.create({"name": "mine", "description": "by hand"})
    with shop.core._runtime.content.store.unit_of_work() as unit:
        implied = unit.tags.add(Tag(name="owner:1", type=3), actor_id=1)
        chart = unit.charts.get(key)
        unit.charts.update(replace(chart, tag_ids=(made.id, implied.id)), actor_id=1)
    with zipfile.ZipFile(io.BytesIO(shop.core.export_bundle(charts=[key]))) as file:
        texts = {name: file.read(name).decode() for name in file.namelist()}
    assert any("mine" in text for text in texts.values())
    assert not any("owner:1" in text for text in texts.values())


def test_a_connection_that_is_made_takes_files_where_the_older_field_says_so(tmp_path: Path) -> None:
    with small_core(tmp_path) as shop:
        documents = only("shop.yaml", "orders.yaml")
        documents["export/databases/shop.yaml"] |= {"allow_csv_upload": True, "database_name": "copy"}
        shop.core.load_bundle(packed(documents), databases={"copy": f"sqlite:///{shop.file}"})
        made = next(one for one in shop.core.databases.list() if one.database_name == "copy")
        assert made.allow_file_upload is True
        assert str(shop.core.databases.get(made.id).uuid) == SHOP


# -------------------------------------------------------------------------------------------------------------- files
def zipped(*names: str) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name in names:
            file.writestr(name, "a: 1")
    return sink.getvalue()


def test_a_file_that_is_in_a_bundle_twice_is_refused() -> None:
    assert list(read_files(zipped("b.yaml", "a.yml", "c.txt"))) == ["a.yml", "b.yaml"]
    with pytest.raises(PayloadSchemaError, match=r"a\.yaml: is in the ZIP file twice"):
        read_files(zipped("a.yaml", "b.yaml", "a.yaml"))


@pytest.mark.slow
def test_as_many_files_as_may_be_are_read_and_no_more() -> None:
    names = [f"{place}.yaml" for place in range(MOST_FILES)]
    assert len(read_files(zipped(*names))) == MOST_FILES
    with pytest.raises(PayloadSchemaError, match=f"more than {MOST_FILES} files"):
        read_files(zipped(*names, "more.yaml"))


def test_a_name_of_a_file_may_be_so_long() -> None:
    longest = "x" * 495 + ".yaml"
    assert list(read_files(zipped(longest))) == [longest]
    with pytest.raises(PayloadSchemaError, match="a printable name of at most 500 characters"):
        read_files(zipped("x" + longest))
    assert yaml.safe_load(read_files(zipped("A.YAML"))["A.YAML"]) == {"a": 1}

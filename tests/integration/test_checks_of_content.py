"""`core.check`: what broke since it was stored, told once, and nothing that the actor may not read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.support.bundles import bundle, packed
from tests.support.small_core import SmallCore, small_core

HERE = {"shop": 1}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as made:
        made.core.load_bundle(packed(bundle()), databases=HERE)
        yield made


def problems(shop: SmallCore, **options: Any) -> dict[str, tuple[str, ...]]:
    return {f"{record.kind} {record.name}": record.problems for record in shop.core.check(**options).broken}


def test_what_is_sound_is_sound(shop: SmallCore) -> None:
    report = shop.core.check(answers=True)
    assert report
    assert str(report) == "0 of 7 records broken"
    assert report.markdown() == "**0 of 7 records broken**\n"


def test_a_column_that_was_dropped_breaks_what_uses_it_and_nothing_else(shop: SmallCore) -> None:
    shop.run("ALTER TABLE orders RENAME COLUMN country TO land")
    found = problems(shop)
    assert found == {
        "dataset orders": found["dataset orders"],
        "chart by country": found["chart by country"],
        "chart asked": found["chart asked"],
        "dashboard Board": ("filter 'Country': dataset 1 'orders' has no column 'country'",),
    }
    assert all("'country'" in " ".join(messages) for messages in found.values())
    assert "datasets.refresh" not in str(shop.core.check())
    notes = {record.name: record.notes for record in shop.core.check().records}
    assert notes["orders"] == ("column 'country' is gone from its table",)


def test_a_filter_that_is_not_applied_any_more_is_told(shop: SmallCore) -> None:
    only = {"expressionType": "SIMPLE", "clause": "WHERE", "subject": "country", "operator": "==", "comparator": "x"}
    form = {"viz_type": "table", "query_mode": "aggregate", "metrics": ["count"], "adhoc_filters": [only]}
    source = {"datasource_id": 1, "datasource_type": "table"}
    shop.core.charts.create({"slice_name": "filtered", "viz_type": "table", "params": json.dumps(form), **source})
    assert shop.core.check().broken == ()
    shop.run("ALTER TABLE orders RENAME COLUMN country TO land")
    (chart,) = [record for record in shop.core.check().broken if record.name == "filtered"]
    assert chart.problems == ("its filter on 'country' is not applied (not_in_datasource)",)


def test_a_table_that_was_dropped_breaks_its_charts_once(shop: SmallCore) -> None:
    shop.run("DROP TABLE people")
    found = problems(shop)
    assert set(found) == {"dataset people", "chart names"}
    assert found["chart names"] == ("dataset 2 'people' is broken",)


def test_a_column_that_came_is_known_without_a_refresh(shop: SmallCore) -> None:
    shop.run("ALTER TABLE people ADD COLUMN town TEXT")
    form = {"viz_type": "table", "query_mode": "aggregate", "metrics": ["count"], "groupby": ["town"]}
    chart = {"slice_name": "towns", "viz_type": "table", "params": json.dumps(form), "datasource_type": "table"}
    shop.core.charts.create({**chart, "datasource_id": 2})
    assert problems(shop, answers=True) == {}


def test_what_only_the_database_knows_is_found_by_asking(shop: SmallCore) -> None:
    shop.run("DROP TABLE people; CREATE VIEW people AS SELECT json_extract('no json', '$') AS name")
    assert problems(shop) == {}
    assert set(problems(shop, answers=True)) == {"chart names"}


def test_a_database_that_is_away_is_told_for_each_of_its_datasets_and_spares_the_others(
    shop: SmallCore, tmp_path: Path
) -> None:
    shop.file.rename(tmp_path / "elsewhere.db")
    found = problems(shop)
    assert {"dataset orders", "dataset people"} <= set(found)
    assert len(set(found["dataset orders"] + found["dataset people"])) == 1


def test_a_layout_that_places_a_deleted_chart_is_told(shop: SmallCore) -> None:
    shop.core.charts.delete(
        shop.core.charts.list(filters=[{"col": "slice_name", "op": "eq", "val": "in all"}]).result[0].id
    )
    assert problems(shop)["dashboard Board"][0].startswith("its layout places chart ")


def test_readers_hear_of_what_they_may_read_alone(shop: SmallCore) -> None:
    reader = shop.reader(("dataset", 2))
    shop.run("ALTER TABLE orders RENAME COLUMN country TO land; DROP TABLE people")
    report = reader.check()
    assert {(record.kind, record.name) for record in report.records} == {("dataset", "people"), ("chart", "names")}
    assert "orders" not in str(report)


def test_reports_are_plain_in_markdown_and_junit(shop: SmallCore) -> None:
    chart = shop.core.charts.list(filters=[{"col": "slice_name", "op": "eq", "val": "names"}]).result[0]
    shop.core.charts.update(chart.id, {"slice_name": "a|b <script>\n`x`"})
    shop.run("DROP TABLE people")
    report = shop.core.check()
    assert "a\\|b \\<script\\> \\`x\\`" in report.markdown()
    suite = ElementTree.fromstring(report.junit()).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("7", "2")
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert f"{chart.id} a|b <script>\n`x`".split()[0] in {str(name).split()[0] for name in failed}


def _charts_of_columns(shop: SmallCore) -> None:
    shop.core.datasets.refresh(1)  # the bundle names some of its columns
    form = {"viz_type": "table", "query_mode": "aggregate", "metrics": [], "groupby": [], "adhoc_filters": []}
    total = {"expressionType": "SIMPLE", "aggregate": "MAX", "column": {"column_name": "amount"}, "label": "total"}
    own = {"expressionType": "SQL", "sqlExpression": "MIN(amount) + 1", "label": "own"}
    since = {"expressionType": "SIMPLE", "clause": "WHERE", "subject": "day", "operator": "IS NOT NULL"}
    source = {"datasource_id": 1, "datasource_type": "table", "viz_type": "table"}
    for name, more in (
        ("total", {"metrics": [total]}),
        ("own", {"metrics": [own]}),
        ("days", {"groupby": ["day"], "metrics": ["count"]}),
        ("filtered", {"metrics": ["count"], "adhoc_filters": [since]}),
        ("neither", {"metrics": ["count"], "groupby": ["country"]}),
    ):
        shop.core.charts.create({"slice_name": name, "params": json.dumps({**form, **more}), **source})


def test_a_column_whose_kind_changed_breaks_the_charts_that_use_it(shop: SmallCore) -> None:
    _charts_of_columns(shop)
    assert problems(shop) == {}
    shop.run(
        "ALTER TABLE orders RENAME TO old; CREATE TABLE orders (id BIGINT, day TEXT, country TEXT, amount TEXT);"
        "INSERT INTO orders SELECT * FROM old"
    )
    number, moment = "column 'amount' is a text, and was a number", "column 'day' is a text, and was a moment"
    assert problems(shop) == {
        "chart total": (f"its {number}",),
        "chart own": (f"its {number}",),
        "chart days": (f"its {moment}",),
        "chart filtered": (f"its {moment}",),
    }
    notes = {record.name: record.notes for record in shop.core.check().records}
    assert notes["orders"] == (moment, number)
    shop.core.datasets.refresh(1)
    assert {"chart total", "chart own", "chart filtered"}.isdisjoint(problems(shop))


def test_a_type_that_was_told_to_the_dataset_alone_is_no_change(shop: SmallCore) -> None:
    columns = [{"column_name": name, "type": "TIMESTAMP", "is_dttm": True} for name in ("name", "born")]
    shop.core.datasets.update(2, {"columns": columns})
    assert "column 'name'" not in str(shop.core.check())

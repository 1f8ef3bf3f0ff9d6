"""The example that brings a dashboard from one store to another: twice, with changes between, and what it refuses."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from analytics_core import AnalyticsCore, Settings

SCRIPT = Path(__file__).parents[2] / "examples" / "promote_content.py"
KEYS = {"dev": "a-key-of-the-development-store-5f1c", "prod": "another-key-of-the-production-88aa"}
TABLES = "CREATE TABLE orders (id INTEGER, day DATE, country VARCHAR(20), amount INTEGER); "


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """The two stores, and the folder where their files are."""

    folder: Path
    dev: AnalyticsCore
    prod: AnalyticsCore

    def promote(self, key: str = "sales") -> subprocess.CompletedProcess[str]:
        """Run the example as a process of its own."""
        urls = (f"sqlite:///{self.folder}/dev-meta.db", f"sqlite:///{self.folder}/prod-meta.db")
        return subprocess.run(
            [sys.executable, "-W", "error", str(SCRIPT), *urls, key],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            cwd=self.folder,
            env={**os.environ, "FROM_KEY": KEYS["dev"], "TO_KEY": KEYS["prod"]},
        )


def _store(folder: Path, name: str, rows: str) -> AnalyticsCore:
    with closing(sqlite3.connect(folder / f"{name}.db")) as connection:
        connection.executescript(TABLES + rows)
    settings = Settings(secret_key=KEYS[name], data_roots=(folder,), metadata_freshness_s=0)
    core = AnalyticsCore(settings, metadata_url=f"sqlite:///{folder}/{name}-meta.db", acting_as="admin")
    core.create_first_administrator("admin")
    core.databases.create({"database_name": "shop", "orm_uri": f"sqlite:///{folder}/{name}.db"})
    return core


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    with ExitStack() as opened:
        dev = opened.enter_context(_store(tmp_path, "dev", "INSERT INTO orders VALUES (1, '2024-01-01', 'France', 1)"))
        live = "INSERT INTO orders VALUES (1, '2024-01-01', 'Peru', 70), (2, '2024-01-02', 'Peru', 5)"
        prod = opened.enter_context(_store(tmp_path, "prod", live))
        # Production numbers its records otherwise.
        prod.datasets.create({"database": 1, "table_name": "first", "sql": "SELECT 1 AS one"})
        for name in ("First", "Second", "Third"):
            prod.charts.create({"slice_name": name, "datasource_id": 1, "datasource_type": "table"})
        yield Stores(folder=tmp_path, dev=dev, prod=prod)


def context(dataset: int) -> str:
    query = {"columns": ["country"], "metrics": ["revenue"]}
    source = {"id": dataset, "type": "table"}
    return json.dumps(
        {"datasource": source, "queries": [query], "form_data": {"datasource": f"{dataset}__table", "slice_id": 1}}
    )


def write_dashboard(dev: AnalyticsCore) -> None:
    """Make the dashboard `sales`: a chart on a table, one on a SELECT, a filter, and what a deleted chart left."""
    orders = dev.datasets.create({"database": 1, "table_name": "orders"})
    dev.datasets.update(orders.id, {"metrics": [{"metric_name": "revenue", "expression": "SUM(amount)"}]})
    big = dev.datasets.create({"database": 1, "table_name": "big", "sql": "SELECT * FROM orders WHERE amount > 50"})
    made = [
        dev.charts.create({"slice_name": name, "datasource_id": source, "datasource_type": "table"}).id
        for name, source in (("Revenue", orders.id), ("Big ones", big.id), ("Gone", orders.id))
    ]
    dev.charts.update(made[0], {"query_context": context(orders.id), "params": '{"datasource": "1__table"}'})
    nodes = {f"CHART-{n}": {"type": "CHART", "meta": {"chartId": n, "uuid": "u"}, "children": []} for n in made}
    layout = {"GRID_ID": {"type": "GRID", "children": list(nodes)}, **nodes}
    country = {
        "id": "F1",
        "targets": [{"datasetId": big.id, "column": {"name": "country"}}],
        "chartsInScope": made,
        "scope": {"rootPath": ["ROOT_ID"], "excluded": [made[2]]},
    }
    metadata = {"native_filter_configuration": [country], "expanded_slices": {str(made[1]): True}}
    dev.dashboards.create(
        {
            "dashboard_title": "Sales",
            "slug": "sales",
            "position_json": json.dumps(layout),
            "json_metadata": json.dumps(metadata),
            "published": True,
        }
    )
    dev.charts.delete(made[2])


def ids(core: AnalyticsCore) -> dict[str, int]:
    return {chart.slice_name or "": chart.id for chart in core.dashboards.charts(core.dashboards.get("sales").id)}


def counts(core: AnalyticsCore) -> tuple[int, int, int]:
    return core.datasets.list().count, core.charts.list().count, core.dashboards.list().count


def rows(core: AnalyticsCore, chart: str) -> list[dict[str, Any]]:
    return [dict(row) for row in core.charts.data(ids(core)[chart]).raise_for_error().results[0].data]


def test_the_dashboard_is_there_with_its_charts_on_the_rows_of_production(stores: Stores) -> None:
    write_dashboard(stores.dev)
    done = stores.promote()
    assert (done.stderr, done.stdout) == ("", "dashboard 1\n")
    assert counts(stores.prod) == (3, 5, 1)
    assert ids(stores.prod) == {"Revenue": 4, "Big ones": 5}
    assert rows(stores.prod, "Revenue") == [{"country": "Peru", "revenue": 75}]
    revenue = stores.prod.charts.get(4)
    assert json.loads(revenue.params or "") == {"datasource": f"{_dataset(stores.prod, 'orders')}__table"}
    assert json.loads(revenue.query_context or "")["form_data"] == json.loads(revenue.params or "")


def test_layout_filters_and_scopes_speak_of_the_new_charts_and_of_nothing_deleted(stores: Stores) -> None:
    write_dashboard(stores.dev)
    stores.promote()
    page = stores.prod.dashboards.get("sales")
    layout, metadata = json.loads(page.position_json or ""), json.loads(page.json_metadata or "")
    assert [node["meta"] for node in layout.values() if "meta" in node] == [{"chartId": 4}, {"chartId": 5}]
    assert layout["GRID_ID"]["children"] == ["CHART-1", "CHART-2"]
    (country,) = metadata["native_filter_configuration"]
    assert (country["chartsInScope"], country["scope"]["excluded"]) == ([4, 5], [])
    assert country["targets"][0]["datasetId"] == _dataset(stores.prod, "big")
    assert metadata["expanded_slices"] == {"5": True}


def test_a_second_run_brings_changes_and_doubles_nothing(stores: Stores) -> None:
    write_dashboard(stores.dev)
    stores.promote()
    before = counts(stores.prod), ids(stores.prod)
    page = stores.prod.dashboards.get("sales")
    stores.prod.dashboards.update(page.id, {"published": True})
    orders = _dataset(stores.dev, "orders")
    stores.dev.datasets.update(
        orders, {"metrics": [{"metric_name": "revenue", "expression": "SUM(amount) * 2"}], "cache_timeout": 60}
    )
    sql = "SELECT country FROM orders WHERE amount > 60"
    stores.dev.datasets.update(_dataset(stores.dev, "big"), {"sql": sql})
    stores.dev.charts.update(ids(stores.dev)["Revenue"], {"description": "by country"})
    stores.dev.dashboards.update(1, {"dashboard_title": "Sales of the year"})
    done = stores.promote()
    assert (done.stderr, done.stdout) == ("", f"dashboard {page.id}\n")
    assert (counts(stores.prod), ids(stores.prod)) == before
    assert rows(stores.prod, "Revenue") == [{"country": "Peru", "revenue": 150}]
    assert stores.prod.charts.get(before[1]["Revenue"]).description == "by country"
    big = stores.prod.datasets.get(_dataset(stores.prod, "big"))
    assert (big.sql, [column.column_name for column in big.columns]) == (sql, ["country"])
    after = stores.prod.dashboards.get("sales")
    assert (after.dashboard_title, after.published) == ("Sales of the year", True)


def test_a_new_dashboard_is_a_draft_and_connections_and_grants_stay_where_they_are(stores: Stores) -> None:
    write_dashboard(stores.dev)
    stores.dev.roles.create({"name": "readers"})
    stores.dev.roles.grant("readers", on=("dataset", 1))
    stores.promote()
    assert stores.prod.dashboards.get("sales").published is False
    assert [role.name for role in stores.prod.roles.list().result] == ["Administrators"]
    assert "prod.db" in str(stores.prod.databases.connection(1).to_payload())
    assert stores.prod.databases.list().count == 1


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("ALTER TABLE orders RENAME TO sold", "orders"),
        ("ALTER TABLE orders DROP COLUMN country", "dataset 'orders' has no columns country in production"),
    ],
)
def test_what_production_lacks_is_told_and_no_chart_or_dashboard_is_made(
    stores: Stores, script: str, told: str
) -> None:
    write_dashboard(stores.dev)
    with closing(sqlite3.connect(stores.folder / "prod.db")) as connection:
        connection.executescript(script)
    done = stores.promote()
    assert done.returncode == 1
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert counts(stores.prod)[1:] == (3, 0)


def test_a_database_that_production_lacks_is_named(stores: Stores) -> None:
    write_dashboard(stores.dev)
    stores.prod.databases.update(1, {"database_name": "other"})
    done = stores.promote()
    assert (done.returncode, done.stderr) == (1, "dataset 'orders' needs a database 'shop' in production\n")
    assert counts(stores.prod) == (1, 3, 0)


def test_a_chart_without_a_place_in_the_layout_comes_too_and_stays_on_its_other_dashboards(stores: Stores) -> None:
    write_dashboard(stores.dev)
    loose = stores.dev.charts.create(
        {"slice_name": "Loose", "datasource_id": 1, "datasource_type": "table", "dashboards": [1]}
    )
    other = stores.prod.dashboards.create({"dashboard_title": "Other"})
    for _run in range(2):
        assert stores.promote().stderr == ""
        assert set(ids(stores.prod)) == {"Revenue", "Big ones", "Loose"}
    stores.prod.charts.update(ids(stores.prod)["Loose"], {"dashboards": [other.id, 2]})
    stores.dev.charts.update(loose.id, {"description": "new"})
    stores.promote()
    there = stores.prod.charts.get(ids(stores.prod)["Loose"])
    assert (there.description, [board.id for board in there.dashboards]) == ("new", [other.id, 2])


def test_a_dashboard_without_a_slug_is_told_and_overwrites_no_other(stores: Stores) -> None:
    write_dashboard(stores.dev)
    stores.dev.dashboards.update(1, {"slug": None})
    theirs = stores.prod.dashboards.create({"dashboard_title": "Theirs"})
    done = stores.promote("1")
    assert done.returncode == 1
    assert "has no slug" in done.stderr
    assert stores.prod.dashboards.get(theirs.id).dashboard_title == "Theirs"
    assert counts(stores.prod) == (1, 3, 1)


def test_charts_that_cannot_be_told_apart_are_refused(stores: Stores) -> None:
    write_dashboard(stores.dev)
    stores.dev.charts.update(ids(stores.dev)["Big ones"], {"slice_name": "Revenue"})
    done = stores.promote()
    assert (done.returncode, done.stderr) == (1, "two charts of the dashboard have the same name; rename one\n")
    assert counts(stores.prod) == (1, 3, 0)


def _dataset(core: AnalyticsCore, name: str) -> int:
    return core.datasets.list([{"col": "table_name", "op": "eq", "val": name}]).result[0].id

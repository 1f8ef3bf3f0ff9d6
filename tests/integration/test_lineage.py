"""Where the columns of answers come from, and what reads a table: `core.sql.lineage` and `core.lineage`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.small_core import SmallCore, small_core

from analytics_core._sql.lineage import TableLineage
from analytics_core.errors import (
    AnalyticsError,
    ChartAccessError,
    DatabaseAccessError,
    DatasetAccessError,
    NotFoundError,
    QueryError,
    UnknownColumnError,
)
from analytics_core.testing import Outbox

SQL = "WITH some AS (SELECT * FROM orders) SELECT s.country AS land, amount * 2 AS twice, p.name FROM some s, people p"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as made:
        fill(made)
        yield made


def fill(shop: SmallCore) -> None:
    """Store datasets 1 (the table), 2 (renames), 3 (a star) and 4 (another table), and what is drawn from them."""
    core = shop.core
    shop.orders()
    core.datasets.set_column(1, {"column_name": "loud", "expression": "UPPER(country)", "type": "TEXT"})
    core.datasets.set_metric(1, {"metric_name": "mean", "expression": "SUM(amount) / COUNT(DISTINCT country)"})
    core.datasets.create({"database": 1, "table_name": "renamed", "sql": SQL})
    core.datasets.set_metric(2, {"metric_name": "most", "expression": "MAX(twice)"})
    core.datasets.create({"database": 1, "table_name": "all", "sql": "SELECT * FROM main.orders"})
    core.datasets.create({"database": 1, "table_name": "people"})
    chart(core, "mean", 1, groupby=["day"], metrics=["mean"])
    chart(core, "lands", 2, groupby=["land"], metrics=["most"])
    chart(core, "amounts", 3, groupby=["day"], metrics=[simple("amount")])
    chart(core, "names", 4, groupby=["name"], metrics=["count"])
    board(core, "Sales", 1, 4)
    board(core, "People", 4)
    core.saved_queries.create({"label": "bound", "database": 1, "sql": "SELECT amount FROM orders WHERE id = :id"})
    core.saved_queries.create(
        {"label": "other", "database": 1, "sql": "WITH orders AS (SELECT 1 AS x) SELECT x FROM orders"}
    )
    role = core.roles.create({"name": "some"}).id
    core.row_level_security.create(
        {"name": "France", "filter_type": "Regular", "clause": "country = 'France'", "tables": [1], "roles": [role]}
    )


def chart(core: Any, name: str, dataset: int, **form: Any) -> None:
    params = {"viz_type": "table", "query_mode": "aggregate", **form}
    core.charts.create(
        {"slice_name": name, "viz_type": "table", "datasource_id": dataset, "datasource_type": "table",
         "params": json.dumps(params)}
    )  # fmt: skip


def board(core: Any, title: str, *charts: int) -> None:
    layout = {f"CHART-{key}": {"type": "CHART", "children": [], "meta": {"chartId": key}} for key in charts}
    core.dashboards.create({"dashboard_title": title, "position_json": json.dumps(layout)})


def simple(column: str) -> dict[str, Any]:
    return {"expressionType": "SIMPLE", "column": {"column_name": column}, "aggregate": "SUM", "label": "all"}


def sources(found: Any) -> dict[str, tuple[str, ...]]:
    return {one.column: one.sources for one in found}


def named(found: TableLineage) -> set[str]:
    return {f"{one.kind} {one.name}" for one in found.dependents}


# ------------------------------------------------------------------------------------------------------- of answers
def test_a_dataset_is_traced_through_calculated_columns_and_metrics(shop: SmallCore) -> None:
    assert sources(shop.core.sql.lineage(dataset=1)) == {
        "id": ("orders.id",),
        "day": ("orders.day",),
        "country": ("orders.country",),
        "amount": ("orders.amount",),
        "loud": ("orders.country",),
        "count": (),
        "mean": ("orders.amount", "orders.country"),
    }


def test_a_virtual_dataset_is_traced_to_the_tables_of_its_sql(shop: SmallCore) -> None:
    assert sources(shop.core.sql.lineage(dataset=2)) == {
        "land": ("orders.country",),
        "twice": ("orders.amount",),
        "name": ("people.name",),
        "count": (),
        "most": ("orders.amount",),
    }


def test_charts_and_dashboards_are_traced_by_what_they_ask(shop: SmallCore) -> None:
    assert sources(shop.core.sql.lineage(chart=2)) == {"land": ("orders.country",), "most": ("orders.amount",)}
    assert sources(shop.core.sql.lineage(chart=3)) == {"day": ("main.orders.day",), "all": ("main.orders.amount",)}
    board = shop.core.sql.lineage(dashboard=1)
    assert [(one.chart, one.column) for one in board] == [(1, "day"), (1, "mean"), (4, "name"), (4, "count")]
    assert board[1].sources == ("orders.amount", "orders.country")


def test_row_rules_change_no_origin_and_rights_bind(shop: SmallCore) -> None:
    role = shop.core.roles.list([{"col": "name", "op": "eq", "val": "some"}]).result[0].id
    reader = shop.reader(("database", 1))
    user = shop.core.users.list([{"col": "username", "op": "eq", "val": "reader"}]).result[0]
    shop.core.users.update(user.id, {"roles": [*(one.id for one in user.roles), role]})
    assert sources(reader.sql.lineage(dataset=2)) == sources(shop.core.sql.lineage(dataset=2))
    narrow = shop.reader(("dataset", 1), username="narrow")
    assert sources(narrow.sql.lineage(dataset=1))["loud"] == ("orders.country",)
    with pytest.raises(DatasetAccessError):
        narrow.sql.lineage(dataset=4)
    with pytest.raises(ChartAccessError):
        narrow.sql.lineage(chart=4)


@for_each(
    ("named", "error"),
    [
        ({}, QueryError),
        ({"sql": "SELECT 1", "dataset": 1}, QueryError),
        ({"dataset": 99}, NotFoundError),
        ({"chart": 99}, NotFoundError),
        ({"dashboard": 99}, NotFoundError),
    ],
)
def test_what_names_no_answer_is_refused(shop: SmallCore, named: dict[str, Any], error: type[AnalyticsError]) -> None:
    with pytest.raises(error):
        shop.core.sql.lineage(**named)


def test_a_chart_that_cannot_be_asked_says_why(shop: SmallCore) -> None:
    chart(shop.core, "broken", 1, groupby=["lost"], metrics=["count"])
    with pytest.raises(UnknownColumnError):
        shop.core.sql.lineage(chart=5)


# --------------------------------------------------------------------------------------------------- what reads it
def test_what_reads_a_table_is_found_through_sql_charts_and_dashboards(shop: SmallCore) -> None:
    found = shop.core.lineage("orders", database="shop")
    assert named(found) == {
        *("dataset orders", "dataset renamed", "dataset all", "saved query bound", "chart mean", "chart lands"),
        *("chart amounts", "dashboard Sales", "row rule France"),
    }
    assert (found.has_hidden, found.unread) == (False, ())
    assert [one.through for one in found.of("chart")] == ["dataset 1", "dataset 2", "dataset 3"]
    assert str(found) == "orders is read by 3 datasets, 1 saved query, 3 charts, 1 dashboard, 1 row rule"
    assert "dashboard" in str(found._repr_mimebundle_())
    assert named(shop.core.lineage("people")) == {
        *("dataset renamed", "dataset people", "chart lands", "chart names", "dashboard Sales", "dashboard People")
    }
    nothing = shop.core.lineage("nowhere")
    assert (bool(nothing), str(nothing)) == (False, "nowhere is read by nothing that you may see")


VIRTUAL = {"dataset orders", "dataset renamed", "dataset all"}


@for_each(
    ("column", "readers"),
    [
        ("country", {*VIRTUAL, "chart mean", "chart lands", "dashboard Sales", "row rule France"}),
        ("AMOUNT", {*VIRTUAL, "saved query bound", "chart mean", "chart lands", "chart amounts", "dashboard Sales"}),
        ("day", {"dataset orders", "dataset all", "chart mean", "chart amounts", "dashboard Sales"}),
        ("lost", set()),
    ],
)
def test_what_reads_a_column_is_found_by_every_name_that_it_gets(
    shop: SmallCore, column: str, readers: set[str]
) -> None:
    assert named(shop.core.lineage("orders", column=column)) == readers


def test_a_schema_leaves_out_the_tables_of_others(shop: SmallCore) -> None:
    shop.core.datasets.create({"database": 1, "table_name": "main orders", "sql": "SELECT id FROM main.orders"})
    assert "dataset main orders" in named(shop.core.lineage("orders", schema="main"))
    assert named(shop.core.lineage("orders", schema="other")).isdisjoint({"dataset main orders", "dataset all"})
    assert "dataset orders" in named(shop.core.lineage("orders", schema="other"))  # it names no schema


def test_filters_alerts_and_reports_that_read_it_are_found(tmp_path: Path) -> None:
    with small_core(tmp_path, ports={"notifiers": [Outbox()]}) as shop:
        fill(shop)
        _check_filters_alerts_and_reports(shop)


def _check_filters_alerts_and_reports(shop: SmallCore) -> None:
    target = {"targets": [{"datasetId": 3, "column": {"name": "country"}}], "id": "F", "name": "Land"}
    metadata = {"native_filter_configuration": [{**target, "filterType": "filter_select"}]}
    shop.core.dashboards.update(2, {"json_metadata": json.dumps(metadata)})
    common = {"crontab": "0 9 * * *", "recipients": [{"type": "Email", "recipient_config_json": {"target": "a@b.c"}}]}
    shop.core.reports.create({**common, "name": "daily", "type": "Report", "dashboard": 1, "report_format": "TEXT"})
    alert = {"sql": "SELECT COUNT(amount) FROM orders", "database": 1, "validator_type": "Not Null", "chart": 4}
    shop.core.reports.create({**common, "name": "few", "type": "Alert", "report_format": "TEXT", **alert})
    found = shop.core.lineage("orders", column="country")
    assert {"dashboard People", "report daily"} <= named(found)
    assert next(one.through for one in found.dependents if one.name == "People") == "filter 'Land'"
    assert "alert few" not in named(found)
    assert "alert few" in named(shop.core.lineage("orders", column="amount"))


def test_what_the_actor_may_not_see_is_told_without_a_name(shop: SmallCore) -> None:
    reader = shop.reader(("database", 1))
    found = reader.lineage("orders")
    assert "row rule France" not in named(found)
    assert (found.has_hidden, "France" in repr(found)) == (True, False)
    shop.core.datasets.create({"database": 1, "table_name": "closed", "sql": "SELECT * FROM orders"})
    narrow = shop.reader(("schema", 1, "main"), username="narrow")
    seen = narrow.lineage("orders", schema="main")
    assert seen.has_hidden
    assert named(seen) == set()
    assert str(seen) == "main.orders is read by nothing that you may see; more that you may not see"
    of_one = shop.reader(("dataset", 1), username="of_one").lineage("orders", database=1)
    assert of_one.has_hidden
    assert {one.name for one in of_one.dependents if one.kind == "dataset"} == {"orders"}
    with pytest.raises(DatabaseAccessError):
        shop.reader(username="stranger").lineage("orders", database=1)


@for_each("grant", [("schema", 1, "main"), ("dataset", 1)])
def test_nobody_learns_whether_a_table_without_a_grant_is_read(shop: SmallCore, grant: tuple[Any, ...]) -> None:
    reader, seen = shop.reader(grant, username=grant[0]), set()
    for table in ("people", "nowhere"):
        for column in (None, "name", "nosuch"):
            with pytest.raises(DatabaseAccessError) as caught:
                reader.lineage(table, database=1, column=column)
            seen.add(str(caught.value.to_payload()))
    assert len(seen) == 1


def test_sql_that_cannot_be_read_is_told(shop: SmallCore) -> None:
    with shop.core._runtime.content.store.unit_of_work() as unit:
        stored = unit.saved_queries.get(1)
        unit.saved_queries.update(replace(stored, sql="SELECT FROM WHERE"), actor_id=1)
    found = shop.core.lineage("orders")
    assert [(one.kind, one.name) for one in found.unread] == [("saved query", "bound")]
    assert shop.reader(("schema", 1, "main")).lineage("orders", schema="main").unread == ()


def test_many_datasets_take_few_statements_and_no_question(shop: SmallCore) -> None:
    for number in range(60):
        shop.core.datasets.create(
            {"database": 1, "table_name": f"d{number}", "sql": f"SELECT {number} AS n, day FROM orders"}
        )
        chart(shop.core, f"c{number}", 5 + number, groupby=["day"], metrics=["count"])
    statements: list[str] = []
    sa.event.listen(sa.engine.Engine, "before_cursor_execute", lambda *reported: statements.append(reported[2]))
    found = shop.core.lineage("orders", column="day")
    assert (len(found.of("dataset")), len(found.of("chart"))) == (62, 62)
    assert len(statements) < 40
    assert [text for text in statements if "ac_" not in text] == []

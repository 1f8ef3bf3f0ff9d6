"""Stored statements as datasources, and lineage, on each engine: their SQL differs, and the answers do not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.shop import AMOUNT, SIZE, axis, orders_core, shop_url

from analytics_core import AnalyticsCore
from analytics_core.testing.sample_data import make_shop

SQL = """
WITH paid AS (SELECT * FROM orders WHERE NOT returned)
SELECT p.order_date, p.country, p.amount * p.quantity AS amount, c.name AS buyer
FROM paid p JOIN customers c ON c.id = p.customer_id
"""


def check_statements(core: AnalyticsCore) -> None:
    """A stored statement answers as a virtual dataset of its SQL does."""
    virtual = core.datasets.create({"database": 1, "table_name": "paid", "sql": SQL}).id
    saved = core.saved_queries.create({"label": "paid", "database": 1, "sql": SQL}).id
    ran = core.sql.execute({"database_id": 1, "sql": SQL}).query_id
    question = {"columns": [axis("P1M"), "country"], "metrics": [AMOUNT], "time_range": "2023-03-01 : 2023-09-01"}
    answers = [
        core.charts.data({"datasource": {"id": key, "type": kind}, "queries": [question]}).raise_for_error().results[0]
        for kind, key in (("table", virtual), ("saved_query", saved), ("query", ran))
    ]
    assert answers[0].rowcount > 10
    assert [one.rows() for one in answers[1:]] == [answers[0].rows()] * 2


def check_lineage(core: AnalyticsCore) -> None:
    """The columns of charts are traced to those of tables, and back."""
    virtual = core.datasets.create({"database": 1, "table_name": "traced", "sql": SQL}).id
    core.datasets.set_metric(virtual, {"metric_name": "mean", "expression": "SUM(amount) / COUNT(DISTINCT buyer)"})
    form = {
        "viz_type": "echarts_timeseries_line", "x_axis": "order_date", "time_grain_sqla": "P1M", "metrics": ["mean"],
        "groupby": ["country"], "limit": 3, "show_empty_columns": True,
    }  # fmt: skip
    chart = core.charts.create(
        {"slice_name": "paid", "viz_type": form["viz_type"], "datasource_id": virtual, "datasource_type": "table",
         "params": json.dumps(form)}
    )  # fmt: skip
    found = {one.column: one.sources for one in core.sql.lineage(chart=chart.id)}
    assert found == {
        "order_date": ("orders.order_date",),
        "country": ("orders.country",),
        "mean": ("customers.name", "orders.amount", "orders.quantity"),
    }
    assert {one.column: one.sources for one in core.sql.lineage(dataset=virtual)}["buyer"] == ("customers.name",)
    readers = core.lineage("customers", column="name")
    assert {("dataset", "traced"), ("chart", "paid")} <= {(one.kind, one.name) for one in readers.dependents}


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_statements_are_asked_and_traced_on_files(engine: str, tmp_path: Path) -> None:
    with orders_core(shop_url(tmp_path, engine)) as core:
        check_statements(core)
        check_lineage(core)


@pytest.mark.server
@pytest.mark.parametrize("server", ["postgres_url", "mariadb_url"])
def test_statements_are_asked_and_traced_on_servers(server: str, request: pytest.FixtureRequest) -> None:
    with orders_core(make_shop(request.getfixturevalue(server), **SIZE)) as core:
        check_statements(core)
        check_lineage(core)

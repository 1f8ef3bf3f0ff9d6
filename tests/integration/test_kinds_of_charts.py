"""Kinds of charts without a recorded payload: what they answer is what SQL written by hand answers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.kind_answers import KindCase, answers_of, comparable

import analytics_core
from analytics_core import AnalyticsCore
from analytics_core._superset.registry import ChartKinds
from analytics_core.testing.sample_data import make_shop

KINDS = ChartKinds()


def metric(aggregate: str, column: str, label: str) -> dict[str, Any]:
    return {"expressionType": "SIMPLE", "aggregate": aggregate, "column": {"column_name": column}, "label": label}


def simple(subject: str, operator: str, comparator: Any) -> dict[str, Any]:
    base = {"expressionType": "SIMPLE", "clause": "WHERE", "subject": subject}
    return {**base, "operator": operator, "comparator": comparator}


AMOUNT, QUANTITY = metric("SUM", "amount", "amount"), metric("SUM", "quantity", "quantity")
DECEMBER = simple("order_date", "TEMPORAL_RANGE", "2024-12-01 : 2025-01-01")
AUTUMN = simple("order_date", "TEMPORAL_RANGE", "2024-09-01 : 2025-01-01")
TWO = simple("country", "IN", ["Germany", "France"])
MONTHLY: Mapping[str, Any] = {
    "x_axis": "order_date",
    "time_grain_sqla": "P1M",
    "metrics": [AMOUNT],
    "groupby": ["country"],
    "adhoc_filters": [AUTUMN, TWO],
}
MONTH = "strftime('%Y-%m-01 00:00:00', order_date)"
IN_AUTUMN = "order_date >= '2024-09-01' AND order_date < '2025-01-01'"
IN_DECEMBER = "order_date >= '2024-12-01' AND order_date < '2025-01-01'"
BOTH = """SUM(CASE WHEN country = 'France' THEN amount END) AS France,
          SUM(CASE WHEN country = 'Germany' THEN amount END) AS Germany"""
BY_MONTH = f"""SELECT {MONTH} AS order_date, {BOTH} FROM orders
               WHERE {IN_AUTUMN} AND country IN ('France', 'Germany') GROUP BY 1 ORDER BY 1"""

CASES = (
    KindCase(kind="echarts_timeseries", dataset="orders", form=MONTHLY, sql=[BY_MONTH]),
    KindCase(
        kind="echarts_timeseries_smooth",
        dataset="orders",
        form={**MONTHLY, "contributionMode": "row"},
        sql=[
            f"""SELECT order_date, France / (France + Germany) AS France, Germany / (France + Germany) AS Germany
                FROM ({BY_MONTH})"""
        ],
    ),
    KindCase(
        kind="echarts_timeseries_step",
        dataset="orders",
        form={**MONTHLY, "rolling_type": "cumsum"},
        sql=[
            f"""SELECT order_date, SUM(France) OVER (ORDER BY order_date) AS France,
                       SUM(Germany) OVER (ORDER BY order_date) AS Germany FROM ({BY_MONTH})"""
        ],
    ),
    KindCase(
        kind="echarts_timeseries_scatter",
        dataset="orders",
        form={**MONTHLY, "adhoc_filters": [AUTUMN], "limit": 2, "timeseries_limit_metric": AMOUNT, "order_desc": True},
        sql=[BY_MONTH],  # the two countries that buy most
    ),
    KindCase(
        kind="mixed_timeseries",
        dataset="orders",
        form={
            **MONTHLY,
            "metrics_b": [QUANTITY],
            "groupby_b": [],
            "adhoc_filters_b": [AUTUMN, simple("category", "==", "toys")],
            "time_compare_b": ["1 month ago"],
        },
        sql=[
            BY_MONTH,
            f"""SELECT {MONTH} AS order_date, SUM(quantity) AS quantity,
                       (SELECT SUM(quantity) FROM orders AS before WHERE before.category = 'toys'
                        AND strftime('%Y-%m', before.order_date, 'start of month', '+1 month')
                            = strftime('%Y-%m', orders.order_date)) AS "1 month ago"
                FROM orders WHERE {IN_AUTUMN} AND category = 'toys' GROUP BY 1 ORDER BY 1""",
        ],
    ),
    KindCase(
        kind="pop_kpi",
        dataset="orders",
        form={"metric": AMOUNT, "adhoc_filters": [DECEMBER], "time_compare": ["1 month ago"]},
        sql=[
            f"""SELECT SUM(amount) AS amount, (SELECT SUM(amount) FROM orders WHERE order_date >= '2024-11-01'
                       AND order_date < '2024-12-01') AS "amount__1 month ago" FROM orders WHERE {IN_DECEMBER}"""
        ],
    ),
    KindCase(
        kind="ag-grid-table",
        dataset="orders",
        form={
            "query_mode": "aggregate",
            "groupby": ["country", "category"],
            "metrics": [AMOUNT],
            "percent_metrics": [QUANTITY],
            "adhoc_filters": [AUTUMN],
            "row_limit": 100,
            "server_pagination": True,
            "server_page_length": 7,
            "show_totals": True,
        },
        sql=[
            f"""SELECT country, category, amount, quantity,
                       1.0 * quantity / (SELECT SUM(quantity) FROM orders WHERE {IN_AUTUMN}) AS "%quantity"
                FROM (SELECT country, category, SUM(amount) AS amount, SUM(quantity) AS quantity FROM orders
                      WHERE {IN_AUTUMN} GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 7) ORDER BY amount DESC""",
            f"SELECT COUNT(*) AS rowcount FROM (SELECT DISTINCT country, category FROM orders WHERE {IN_AUTUMN})",
            f"""SELECT SUM(amount) AS amount, SUM(quantity) AS quantity, 1.0 AS "%quantity"
                FROM orders WHERE {IN_AUTUMN}""",
        ],
    ),
    KindCase(
        kind="radar",
        dataset="orders",
        form={"groupby": ["category"], "metrics": [AMOUNT, QUANTITY], "row_limit": 3, "adhoc_filters": [AUTUMN]},
        sql=[
            f"""SELECT category, SUM(amount) AS amount, SUM(quantity) AS quantity FROM orders
                WHERE {IN_AUTUMN} GROUP BY 1 ORDER BY 2 DESC LIMIT 3"""
        ],
    ),
    KindCase(
        kind="graph_chart",
        dataset="orders",
        form={
            "source": "country",
            "target": "category",
            "target_category": "returned",
            "metric": QUANTITY,
            "adhoc_filters": [simple("channel", "IS NOT NULL", None)],
        },
        sql=[
            """SELECT country, category, returned, SUM(quantity) AS quantity FROM orders
               WHERE channel IS NOT NULL GROUP BY 1, 2, 3"""
        ],
        is_sorted=False,
    ),
    KindCase(
        kind="gantt_chart",
        dataset="orders",
        form={
            "start_time": "order_date",
            "end_time": {"expressionType": "SQL", "sqlExpression": "order_date", "label": "ended"},
            "y_axis": "channel",
            "series": "category",
            "tooltip_columns": ["country"],
            "tooltip_metrics": [QUANTITY],
            "order_by_cols": ['["id", false]'],
            "adhoc_filters": [simple("channel", "==", "store")],
            "row_limit": 20,
        },
        sql=[
            """SELECT order_date, order_date AS ended, channel, category, country, id, SUM(quantity) AS quantity
               FROM orders WHERE channel = 'store' GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY id DESC LIMIT 20"""
        ],
    ),
    KindCase(
        kind="cal_heatmap",
        dataset="orders",
        form={
            "granularity_sqla": "order_date",
            "time_range": "2024-12-01 : 2025-01-01",
            "domain_granularity": "month",
            "subdomain_granularity": "day",
            "metrics": ["count", AMOUNT],
        },
        sql=[
            f"""SELECT strftime('%Y-%m-%d 00:00:00', order_date) AS __timestamp, COUNT(*) AS count,
                       SUM(amount) AS amount FROM orders WHERE {IN_DECEMBER} GROUP BY 1"""
        ],
        is_sorted=False,
    ),
    KindCase(
        kind="country_map",
        dataset="orders",
        form={"entity": "country", "metric": AMOUNT, "select_country": "france", "groupby": ["category"]},
        sql=["SELECT country, SUM(amount) AS amount FROM orders GROUP BY 1"],
        is_sorted=False,
    ),
    KindCase(
        kind="para",
        dataset="orders",
        form={
            "series": "customer_id",
            "metrics": [QUANTITY],
            "secondary_metric": "count",
            "timeseries_limit_metric": AMOUNT,
            "order_desc": True,
            "row_limit": 9,
        },
        sql=[
            """SELECT customer_id, SUM(quantity) AS quantity, COUNT(*) AS count, SUM(amount) AS amount FROM orders
               GROUP BY 1 ORDER BY 4 DESC LIMIT 9"""
        ],
    ),
    KindCase(
        kind="partition",
        dataset="orders",
        form={
            "groupby": ["country", "category"],
            "metrics": [AMOUNT],
            "granularity_sqla": "order_date",
            "time_grain_sqla": "P1M",
            "time_series_option": "time_series",
            "time_range": "2024-11-01 : 2025-01-01",
            "order_desc": False,
        },
        sql=[
            f"""SELECT {MONTH} AS __timestamp, country, category, SUM(amount) AS amount FROM orders
                WHERE order_date >= '2024-11-01' AND order_date < '2025-01-01' GROUP BY 1, 2, 3 ORDER BY 4"""
        ],
    ),
    KindCase(
        kind="rose",
        dataset="orders",
        form={
            "groupby": ["country"],
            "metrics": [AMOUNT],
            "granularity_sqla": "order_date",
            "time_grain_sqla": "P1M",
            "time_range": "2024-09-01 : 2025-01-01",
            "adhoc_filters": [TWO],
            "contribution": True,
        },
        sql=[
            f"""SELECT order_date AS __timestamp, France / (France + Germany) AS "amount, France",
                       Germany / (France + Germany) AS "amount, Germany" FROM ({BY_MONTH})"""
        ],
    ),
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kinds") / "shop.db"
    make_shop(path, days=200, orders_per_day=6)
    return path


@pytest.fixture(scope="module")
def core(file: Path) -> Iterator[AnalyticsCore]:
    with analytics_core.connect(f"sqlite:///{file}") as connected:
        connected.datasets.create({"database": 1, "table_name": "orders"})
        yield connected


@pytest.mark.slow
@for_each("case", CASES, ids=lambda case: case.kind)
def test_a_kind_answers_as_sql_does(core: AnalyticsCore, file: Path, case: KindCase) -> None:
    wanted = []
    with closing(sqlite3.connect(file)) as connection:
        connection.row_factory = sqlite3.Row
        for sql in case.sql:
            wanted.append(comparable([dict(row) for row in connection.execute(sql)], case))
    assert all(wanted)
    assert answers_of(core, case, 1) == wanted


def test_the_kinds_that_were_compared_with_sql_say_so() -> None:
    checked = {name for name in KINDS if KINDS[name].is_checked}
    of_maps = {name for name in checked if name.startswith("deck_")}  # in tests/acceptance/check_maps.py
    assert checked - of_maps == {case.kind for case in CASES}
    assert all(KINDS[name].is_compared is not KINDS[name].is_checked for name in KINDS)

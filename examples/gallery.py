"""Every kind of chart as a picture, light and dark: run with `python examples/gallery.py FOLDER` (takes a minute).

Writes an SVG for each kind and theme into FOLDER/gallery, and a page that shows them, FOLDER/gallery.md.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import analytics_core
from analytics_core import AnalyticsCore
from analytics_core.testing.sample_data import make_shop

SALES = """
SELECT order_date AS day, quantity, amount, amount / quantity AS price, orders.category, products.name AS product,
    CASE country WHEN 'Österreich' THEN 'Austria' WHEN 'España' THEN 'Spain' WHEN '日本' THEN 'Japan' ELSE country END
        AS country,
    CASE country WHEN 'Germany' THEN 'DEU' WHEN 'France' THEN 'FRA' WHEN 'Österreich' THEN 'AUT'
        WHEN 'España' THEN 'ESP' WHEN 'Brazil' THEN 'BRA' ELSE 'JPN' END AS code,
    COALESCE(channel, 'phone') AS channel,
    CASE WHEN returned THEN 'returned' ELSE 'sold' END AS state,
    8.5 + (customer_id * 37 % 41) / 10.0 AS lon, 47.2 + (customer_id * 53 % 29) / 10.0 AS lat,
    13.4 AS to_lon, 52.5 AS to_lat
FROM orders JOIN products ON products.id = orders.product_id
"""
TASKS = """
SELECT 'Plan' AS task, 'Design' AS team, '2024-01-08' AS begins, '2024-02-02' AS ends
UNION ALL SELECT 'Draw', 'Design', '2024-01-29', '2024-03-01'
UNION ALL SELECT 'Build', 'Works', '2024-02-19', '2024-04-26'
UNION ALL SELECT 'Test', 'Works', '2024-04-01', '2024-05-17'
UNION ALL SELECT 'Open', 'Sales', '2024-05-13', '2024-06-07'
"""
TREE = """
SELECT 'shop' AS id, NULL AS parent, 'Shop' AS name, 9 AS weight
UNION ALL SELECT 'home', 'shop', 'Home', 4 UNION ALL SELECT 'out', 'shop', 'Outside', 5
UNION ALL SELECT 'kitchen', 'home', 'Kitchen', 3 UNION ALL SELECT 'books', 'home', 'Books', 1
UNION ALL SELECT 'garden', 'out', 'Garden', 3 UNION ALL SELECT 'toys', 'out', 'Toys', 2
"""
AREAS = """
SELECT '[[8,47],[10,47],[10,48.5],[8,48.5]]' AS outline, 'south' AS area, 12 AS orders
UNION ALL SELECT '[[8,48.5],[10,48.5],[10.5,50],[8,50]]', 'west', 30
UNION ALL SELECT '[[10,47],[12.5,47],[12,50],[10.5,50],[10,48.5]]', 'east', 21
"""
SHAPES = """
SELECT '{"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [' || outline || ']}}' AS shape
FROM (
    SELECT '[[8,47],[10,47],[10,48.5],[8,48.5],[8,47]]' AS outline
    UNION ALL SELECT '[[10,47],[12.5,47],[12,50],[10,48.5],[10,47]]'
)
"""
DATASETS = {"sales": SALES, "tasks": TASKS, "tree": TREE, "areas": AREAS, "shapes": SHAPES}
TIMES = {"sales": ("day",), "tasks": ("begins", "ends")}


def metric(expression: str, label: str) -> dict[str, Any]:
    """Return a metric that a form holds itself."""
    return {"expressionType": "SQL", "sqlExpression": expression, "label": label}


REVENUE, ORDERS = metric("SUM(amount)", "Revenue"), metric("COUNT(*)", "Orders")
ITEMS, PRICE = metric("SUM(quantity)", "Items"), metric("AVG(price)", "Price")
RETURNS = metric("AVG(CASE WHEN state = 'returned' THEN 1.0 ELSE 0.0 END)", "Returns")
MONTHLY = {"x_axis": "day", "time_grain_sqla": "P1M", "metrics": [REVENUE]}
BY_CATEGORY = {**MONTHLY, "groupby": ["category"]}
OF_CATEGORIES = {"groupby": ["category"], "metric": REVENUE}
FLOW = {"source": "channel", "target": "category", "metric": ORDERS}
PLACE = {"type": "latlong", "lonCol": "lon", "latCol": "lat"}
PLACES = {"spatial": PLACE, "size": ORDERS, "row_limit": 400, "point_radius_fixed": {"type": "metric", "value": ORDERS}}
TO = {"type": "latlong", "lonCol": "to_lon", "latCol": "to_lat"}

CHARTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "big_number": ("Revenue", "sales", {**MONTHLY, "metric": REVENUE, "y_axis_format": "$,.3~s", "compare_lag": 1}),
    "big_number_total": ("Orders in all", "sales", {"metric": ORDERS, "subheader": "in two years"}),
    "pop_kpi": (
        "Revenue of June",
        "sales",
        {
            "metric": REVENUE,
            "y_axis_format": "$,.0f",
            "granularity_sqla": "day",
            "time_range": "2024-06-01 : 2024-07-01",
            "time_compare": ["1 year ago"],
            "adhoc_filters": [],
        },
    ),
    "table": ("Countries", "sales", {"groupby": ["country"], "metrics": [REVENUE, ORDERS, RETURNS], "align_pn": True}),
    "ag-grid-table": ("Categories", "sales", {"groupby": ["category", "channel"], "metrics": [ORDERS, REVENUE]}),
    "pivot_table_v2": (
        "Countries and categories",
        "sales",
        {"groupbyRows": ["country"], "groupbyColumns": ["category"], "metrics": [ORDERS], "colTotals": True},
    ),
    "echarts_timeseries_line": ("Revenue by category", "sales", BY_CATEGORY),
    "echarts_timeseries_smooth": ("Orders", "sales", {**BY_CATEGORY, "metrics": [ORDERS]}),
    "echarts_timeseries_step": ("Items a quarter", "sales", {**MONTHLY, "metrics": [ITEMS], "time_grain_sqla": "P3M"}),
    "echarts_timeseries_bar": (
        "Revenue a quarter",
        "sales",
        {**BY_CATEGORY, "time_grain_sqla": "P3M", "stack": "Stack"},
    ),
    "echarts_area": ("Share of revenue", "sales", {**BY_CATEGORY, "stack": "Expand"}),
    "echarts_timeseries_scatter": (
        "Price of a week",
        "sales",
        {**MONTHLY, "metrics": [PRICE], "time_grain_sqla": "P1W"},
    ),
    "echarts_timeseries": ("Items", "sales", {**BY_CATEGORY, "metrics": [ITEMS], "seriesType": "middle"}),
    "mixed_timeseries": (
        "Orders and returns",
        "sales",
        {
            "x_axis": "day",
            "time_grain_sqla": "P1M",
            "metrics": [ORDERS],
            "metrics_b": [RETURNS],
            "seriesType": "bar",
            "seriesTypeB": "smooth",
            "yAxisIndexB": 1,
            "y_axis_format_secondary": ".0%",
        },
    ),
    "pie": ("Revenue by country", "sales", {"groupby": ["country"], "metric": REVENUE, "donut": True}),
    "funnel": ("Orders by channel", "sales", {"groupby": ["channel"], "metric": ORDERS}),
    "waterfall": ("Revenue by category", "sales", {"x_axis": "category", "metric": REVENUE, "groupby": []}),
    "treemap_v2": ("Where revenue comes from", "sales", {"groupby": ["country", "category"], "metric": REVENUE}),
    "sunburst_v2": ("Channels and categories", "sales", {"columns": ["channel", "category"], "metric": ORDERS}),
    "partition": ("Orders, part by part", "sales", {"groupby": ["channel", "category"], "metrics": [ORDERS]}),
    "word_cloud": ("Products", "sales", {"series": "product", "metric": REVENUE}),
    "heatmap_v2": (
        "Orders by country and category",
        "sales",
        {"x_axis": "category", "groupby": "country", "metric": ORDERS, "show_values": True},
    ),
    "cal_heatmap": (
        "Orders a day",
        "sales",
        {
            "metrics": [ORDERS],
            "granularity_sqla": "day",
            "time_range": "2024-01-01 : 2024-10-01",
            "domain_granularity": "month",
            "subdomain_granularity": "day",
        },
    ),
    "histogram_v2": ("Amounts", "sales", {"column": "amount", "bins": 12, "groupby": []}),
    "box_plot": (
        "Revenue of days",
        "sales",
        {
            "columns": ["day"],
            "time_grain_sqla": "P1M",
            "groupby": ["category"],
            "metrics": [REVENUE],
            "whiskerOptions": "Tukey",
        },
    ),
    "bubble_v2": (
        "Countries",
        "sales",
        {"entity": "country", "x": ORDERS, "y": PRICE, "size": REVENUE},
    ),
    "radar": ("Categories", "sales", {"groupby": ["category"], "metrics": [REVENUE, ORDERS, ITEMS, PRICE, RETURNS]}),
    "gauge_chart": ("Returns", "sales", {"metric": RETURNS, "number_format": ".0%", "max_val": 0.2, "groupby": []}),
    "para": ("Products", "sales", {"series": "product", "metrics": [ORDERS, REVENUE, PRICE, RETURNS]}),
    "horizon": ("Revenue a week", "sales", {"groupby": ["country"], "metrics": [REVENUE]}),
    "rose": (
        "Orders of each month",
        "sales",
        {
            "groupby": ["category"],
            "metrics": [ORDERS],
            "granularity_sqla": "day",
            "time_grain_sqla": "P1M",
            "time_range": "2024-01-01 : 2025-01-01",
        },
    ),
    "sankey_v2": ("From channels to categories", "sales", FLOW),
    "chord": ("Channels and categories", "sales", {"groupby": "channel", "columns": "category", "metric": ORDERS}),
    "graph_chart": ("Channels and categories", "sales", FLOW),
    "tree_chart": (
        "Departments",
        "tree",
        {"id": "id", "parent": "parent", "name": "name", "metric": metric("SUM(weight)", "w")},
    ),
    "gantt_chart": (
        "A new shop",
        "tasks",
        {"start_time": "begins", "end_time": "ends", "y_axis": "task", "series": "team", "metrics": []},
    ),
    "world_map": ("Orders of the world", "sales", {"entity": "code", "metric": ORDERS}),
    "country_map": ("Revenue by country", "sales", {"entity": "code", "metric": REVENUE}),
    "deck_scatter": ("Customers", "sales", PLACES),
    "deck_arc": ("Ways to the store", "sales", {"start_spatial": PLACE, "end_spatial": TO, "row_limit": 60}),
    "deck_path": ("Borders", "areas", {"line_column": "outline", "line_type": "json"}),
    "deck_polygon": (
        "Areas",
        "areas",
        {"line_column": "outline", "line_type": "json", "metric": metric("SUM(orders)", "Orders")},
    ),
    "deck_geojson": ("Shapes", "shapes", {"geojson": "shape"}),
    **{
        f"deck_{name}": (f"Customers ({name})", "sales", PLACES)
        for name in ("contour", "grid", "heatmap", "hex", "screengrid")
    },
}
"""By the kind: the name of the chart, its dataset and its form."""


WEEK = {"label": "week", "sqlExpression": "day", "expressionType": "SQL", "columnType": "BASE_AXIS", "timeGrain": "P1W"}
QUERIES: dict[str, dict[str, Any]] = {
    "horizon": {"columns": [WEEK, "country"], "metrics": [REVENUE], "orderby": [["week", True]]},
    "world_map": {"columns": ["code"], "metrics": [ORDERS]},
}
"""The questions of kinds whose forms ask for no column of times or countries."""


def create_datasets(core: AnalyticsCore) -> dict[str, int]:
    """Create the datasets of the charts, and return their ids by their names."""
    ids = {}
    for name, sql in DATASETS.items():
        made = core.datasets.create({"database": 1, "table_name": name, "sql": sql})
        ids[name] = made.id
        if times := TIMES.get(name):
            known = [column.column_name for column in core.datasets.get(made.id).columns]
            columns = [{"column_name": column, "is_dttm": column in times} for column in known]
            core.datasets.update(made.id, {"columns": columns, "main_dttm_col": times[0]})
    return ids


def pictures(core: AnalyticsCore) -> Iterator[tuple[str, str, bytes, str]]:
    """Give the kind, the theme, the SVG and the description of each chart."""
    ids = create_datasets(core)
    for kind, (title, dataset, form) in CHARTS.items():
        payload: dict[str, Any] = {
            "slice_name": title,
            "viz_type": kind,
            "datasource_id": ids[dataset],
            "datasource_type": "table",
            "params": json.dumps({"viz_type": kind, **form}),
        }
        if kind in QUERIES:
            context = {"datasource": {"id": ids[dataset], "type": "table"}, "queries": [QUERIES[kind]]}
            payload["query_context"] = json.dumps(context)
        chart = core.charts.create(payload)
        for theme in ("light", "dark"):
            picture = core.charts.picture(chart.id, format="svg", theme=theme, width_px=440, height_px=280)
            yield kind, theme, picture.data, picture.description


def main(folder: Path) -> None:
    """Write the pictures and the page that shows them."""
    (folder / "gallery").mkdir(parents=True, exist_ok=True)
    lines = ["# Gallery of charts", "", INTRODUCTION]
    with tempfile.TemporaryDirectory() as shop:
        url = make_shop(Path(shop) / "shop.db", orders_per_day=6)
        with analytics_core.connect(url) as core:
            for kind, theme, svg, description in pictures(core):
                (folder / f"gallery/{kind}-{theme}.svg").write_bytes(svg)
                alternative = re.sub(r"[\[\]*_`<>]", " ", description)
                lines += ["", f"## `{kind}`", ""] if theme == "light" else []
                lines.append(f"![{alternative} ({theme})](gallery/{kind}-{theme}.svg)")
    (folder / "gallery.md").write_text("\n".join([*lines, ""]), encoding="utf-8")


INTRODUCTION = """\
Every kind of chart that is drawn, light and dark, from the sample shop: `core.charts.picture(chart_id, format="svg",
theme="dark")`. The script `examples/gallery.py` makes these pictures and this page. Maps are drawn by longitude and
latitude, since nothing is loaded from a network; maps of countries are bars. A kind that is not in this list
(`deck_multi`, kinds of plug-ins) is a table that says so, and so is a chart whose answer lacks what its kind needs."""

if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))

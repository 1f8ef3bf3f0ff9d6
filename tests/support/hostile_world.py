"""Datasets, charts and dashboards with one hostile text wherever a text may stand."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from analytics_core import AnalyticsCore

TOTAL = {"expressionType": "SIMPLE", "column": {"column_name": "amount"}, "aggregate": "SUM"}


def stored(text: str, longest: int = 200) -> str:
    """Return as much of a text as names of records and columns may have."""
    return "".join(letter for letter in text if letter != "\0" and not "\ud800" <= letter <= "\udfff")[:longest]


def dataset(core: AnalyticsCore, folder: Path, text: str) -> int:
    """Return a dataset with a text in a value, in a column's name and in its label."""
    file, column = folder / "shop.db", stored(text, 60).replace('"', '""')
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f'CREATE TABLE orders (day DATE, region TEXT, amount REAL, "{column}" TEXT)')
        rows = [("2026-01-01", text.encode("utf-8", "replace").decode(), 1, text[:50]), ("2026-01-02", "EU", 2, "b")]
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", [(*row[:3], stored(row[3])) for row in rows])
        connection.commit()
    core.databases.create({"database_name": "shop", "sqlalchemy_uri": f"sqlite:///{file}"})
    made = core.datasets.create({"database": 1, "table_name": "orders"})
    columns = [{"id": one.id, "column_name": one.column_name} for one in core.datasets.get(made.id).columns]
    named = [{**one, "verbose_name": stored(text)} if one["column_name"] == "region" else one for one in columns]
    core.datasets.update(made.id, {"columns": named})
    return made.id


def charts(core: AnalyticsCore, dataset_id: int, text: str) -> list[int]:
    """Return charts of several kinds with a text in their names and in all of their fields that take one."""
    text = stored(text, 500)
    total = {**TOTAL, "label": stored(text, 100)}
    forms: list[dict[str, Any]] = [
        {"viz_type": "table", "query_mode": "raw", "all_columns": ["region", stored(text, 60)], "html": True},
        {"viz_type": "echarts_timeseries_bar", "x_axis": "region", "metrics": [total], "y_axis_title": text},
        {
            "viz_type": "pie",
            "groupby": ["region"],
            "metric": total,
            "color_scheme": text[:100],
            "number_format": text[:99],
        },
        {"viz_type": "echarts_timeseries_line", "x_axis": "day", "metrics": [total], "groupby": ["region"]},
        {"viz_type": "big_number_total", "metric": total, "subheader": text, "y_axis_format": text[:100]},
        {"viz_type": "table", "groupby": [stored(text, 60), "no column"], "metrics": [total]},
        {"viz_type": stored(text, 100) or "x", "groupby": ["region"], "metrics": [total]},
    ]
    colours = {stored(text): f"url({text[:100]})", "EU": f'red" onmouseover="{text[:50]}'}
    made = []
    for form in forms:
        params = json.dumps(
            {"datasource": f"{dataset_id}__table", "label_colors": colours, "show_legend": True, **form}
        )
        chart = {"slice_name": stored(text), "datasource_id": dataset_id, "datasource_type": "table", "params": params}
        made.append(core.charts.create({**chart, "viz_type": form["viz_type"]}).id)
    return made


def dashboard(
    core: AnalyticsCore, *, text: str, chart_ids: Sequence[int] = (), markdown: str = "", css: str = ""
) -> int:
    """Return a dashboard of two tabs with texts everywhere."""
    cells = [f"CHART-{chart}" for chart in chart_ids]
    places = {
        f"CHART-{chart}": {"type": "CHART", "children": [], "meta": {"chartId": chart, "width": 4, "height": 30}}
        for chart in chart_ids
    }
    nodes: dict[str, Any] = {
        "ROOT_ID": {"type": "ROOT", "children": ["GRID_ID"]},
        "GRID_ID": {"type": "GRID", "children": ["TABS"]},
        "TABS": {"type": "TABS", "children": ["TAB-1", "TAB-2"]},
        "TAB-1": {"type": "TAB", "children": ["HEADER", "MARKDOWN", "ROW"], "meta": {"text": stored(text)}},
        "TAB-2": {"type": "TAB", "children": ["INNER"], "meta": {"text": "Second"}},
        "INNER": {"type": "TABS", "children": ["TAB-3"]},
        "TAB-3": {"type": "TAB", "children": ["DIVIDER"], "meta": {"text": stored(text)}},
        "DIVIDER": {"type": "DIVIDER", "children": []},
        "HEADER": {"type": "HEADER", "meta": {"text": stored(text), "headerSize": stored(text)}},
        "MARKDOWN": {"type": "MARKDOWN", "meta": {"code": stored(f"{text}\n\n{markdown}", 2_000), "width": 12}},
        "ROW": {"type": "ROW", "children": cells},
        **places,
    }
    native = {
        "id": "NATIVE_FILTER-r",
        "name": stored(text),
        "filterType": "filter_select",
        "targets": [{"datasetId": 1, "column": {"name": "region"}}],
        "scope": {"rootPath": ["ROOT_ID"], "excluded": []},
    }
    metadata = json.dumps({"native_filter_configuration": [native] if chart_ids else []})
    payload = {"dashboard_title": stored(text) or "x", "css": css, "position_json": json.dumps(nodes)}
    return core.dashboards.create({**payload, "json_metadata": metadata}).id

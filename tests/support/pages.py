"""Dashboards for tests: a shop with two datasets, charts on them, people around them, and layouts."""

from __future__ import annotations

import json
from typing import Any

from tests.support.small_core import SmallCore

from analytics_core import AnalyticsCore


def layout(*chart_ids: int, **nodes: Any) -> str:
    """Return a layout with a place for each chart."""
    places = {
        f"CHART-{position}": {"type": "CHART", "id": f"CHART-{position}", "children": [], "meta": {"chartId": chart_id}}
        for position, chart_id in enumerate(chart_ids)
    }
    root = {"type": "ROOT", "id": "ROOT_ID", "children": list(places)}
    return json.dumps({"DASHBOARD_VERSION_KEY": "v2", "ROOT_ID": root, **places, **nodes})


def add_chart(core: AnalyticsCore, name: str = "Revenue", dataset: int = 1, **payload: Any) -> int:
    """Store a chart on a dataset and return its id."""
    made = core.charts.create({"slice_name": name, "datasource_id": dataset, "datasource_type": "table", **payload})
    return int(made.id)


def add_dashboard(core: AnalyticsCore, *chart_ids: int, **payload: Any) -> Any:
    """Store a dashboard that places these charts."""
    placed = {"position_json": layout(*chart_ids)} if chart_ids else {}
    return core.dashboards.create({"dashboard_title": "Sales", **placed, **payload})


def two_datasets(shop: SmallCore) -> None:
    """Store `orders` as dataset 1 and `people` as dataset 2."""
    shop.orders()
    shop.core.datasets.create({"database": 1, "table_name": "people"})


def metadata_of(dashboard: Any) -> Any:
    """Return the metadata of a dashboard as an object."""
    return json.loads(dashboard.json_metadata)


def titles(core: AnalyticsCore, **arguments: Any) -> list[str | None]:
    """Return the titles of the dashboards in a list."""
    return [item.dashboard_title for item in core.dashboards.list(**arguments)]

"""A small bundle as a Superset exports it: two datasets of a shop, four charts, and a dashboard with filters."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

SHOP = "00000000-0000-4000-8000-000000000001"
ORDERS, PEOPLE = (f"00000000-0000-4000-8000-0000000000{n}" for n in (11, 12))
BY_COUNTRY, IN_ALL, ASKING, NAMES = (f"00000000-0000-4000-8000-0000000000{n}" for n in (21, 22, 23, 24))
BOARD = "00000000-0000-4000-8000-000000000031"
COUNT = {"metric_name": "count", "expression": "COUNT(*)", "metric_type": "count", "extra": {"note": "all rows"}}


def column(name: str, **more: Any) -> dict[str, Any]:
    return {"column_name": name, "type": "TEXT", "groupby": True, "filterable": True, "expression": None, **more}


def chart(name: str, uuid: str, dataset: str = ORDERS, **params: Any) -> dict[str, Any]:
    return {
        "slice_name": name,
        "viz_type": "table",
        "params": {"viz_type": "table", "query_mode": "aggregate", "metrics": ["count"], "slice_id": 7, **params},
        "query_context": None,
        "cache_timeout": None,
        "uuid": uuid,
        "version": "1.0.0",
        "dataset_uuid": dataset,
    }


def _place(old: int, uuid: str) -> dict[str, Any]:
    return {"type": "CHART", "children": [], "meta": {"chartId": old, "uuid": uuid, "sliceName": "x"}}


def bundle() -> dict[str, Any]:
    """Return the documents of the bundle by their paths, for tests to change."""
    context = {
        "datasource": {"id": 99, "type": "table"},
        "queries": [{"columns": ["country"], "metrics": ["count"], "row_limit": 1}],
        "form_data": {"viz_type": "table", "slice_id": 7, "datasource": "99__table", "metrics": ["count"]},
    }
    requested_chart = {
        **chart("asked", ASKING),
        "query_context": json.dumps(context),
        "params": context["form_data"],
    }
    country = {
        "id": "FILTER-country",
        "name": "Country",
        "filterType": "filter_select",
        "targets": [{"datasetUuid": ORDERS, "column": {"name": "country"}}],
        "scope": {"rootPath": ["ROOT_ID"], "excluded": [42]},
        "chartsInScope": [111, 112],
    }
    metadata = {
        "native_filter_configuration": [country],
        "chart_configuration": {
            BY_COUNTRY: {"id": BY_COUNTRY, "crossFilters": {"scope": "global", "chartsInScope": [111]}}
        },
        "global_chart_configuration": {"scope": {"rootPath": ["ROOT_ID"], "excluded": []}, "chartsInScope": [IN_ALL]},
        "expanded_slices": {41: True},
        "timed_refresh_immune_slices": [42, 77],
        "default_filters": "{}",
    }
    position = {
        "DASHBOARD_VERSION_KEY": "v2",
        "ROOT_ID": {"type": "ROOT", "id": "ROOT_ID", "children": ["CHART-a", "CHART-b", "CHART-c"]},
        "CHART-a": _place(41, BY_COUNTRY),
        "CHART-b": _place(42, IN_ALL),
        "CHART-c": _place(43, ASKING),
    }
    found: dict[str, Any] = {
        "export/metadata.yaml": {"version": "1.0.0", "type": "Dashboard", "timestamp": "2024-01-01T00:00:00+00:00"},
        "export/databases/shop.yaml": {
            "database_name": "shop",
            "sqlalchemy_uri": "x://",
            "uuid": SHOP,
            "version": "1.0.0",
        },
        "export/datasets/shop/orders.yaml": {
            "table_name": "orders",
            "main_dttm_col": None,
            "schema": None,
            "sql": None,
            "uuid": ORDERS,
            "database_uuid": SHOP,
            "version": "1.0.0",
            "metrics": [COUNT],
            "columns": [
                column("id", type="BIGINT"),
                column("country", verbose_name="Country"),
                column("shouted", expression="UPPER(country)"),
                column("long_gone"),
            ],
            "normalize_columns": True,
        },
        "export/datasets/shop/people.yaml": {
            "table_name": "people",
            "uuid": PEOPLE,
            "database_uuid": SHOP,
            "version": "1.0.0",
            "metrics": [COUNT],
            "columns": [column("name")],
        },
        "export/charts/by_country.yaml": chart("by country", BY_COUNTRY, groupby=["country"]),
        "export/charts/in_all.yaml": chart("in all", IN_ALL),
        "export/charts/asked.yaml": requested_chart,
        "export/charts/names.yaml": chart("names", NAMES, PEOPLE, groupby=["name"], glow=3),
        "export/dashboards/board.yaml": {
            "dashboard_title": "Board",
            "slug": "board",
            "css": "",
            "published": True,
            "uuid": BOARD,
            "version": "1.0.0",
            "position": position,
            "metadata": metadata,
            "description": "What we sell",
        },
        "export/themes/x.yaml": {"theme_name": "dark", "json_data": {}, "version": "1.0.0"},
        "export/readme.txt": "no YAML",
    }
    return copy.deepcopy(found)


def texts(documents: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files of a bundle; texts and bytes are taken as they are."""
    return {
        path: content
        if isinstance(content, bytes)
        else str(content).encode()
        if isinstance(content, str)
        else yaml.safe_dump(content, sort_keys=False).encode()
        for path, content in documents.items()
    }


def packed(documents: Mapping[str, Any]) -> bytes:
    """Return a bundle as a ZIP file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
        for path, content in texts(documents).items():
            zipped.writestr(path, content)
    return file.getvalue()


def unpacked(documents: Mapping[str, Any], folder: Path) -> Path:
    """Write a bundle as a folder."""
    for path, content in texts(documents).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder

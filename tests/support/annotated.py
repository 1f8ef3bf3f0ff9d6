"""Short ways to make annotation layers and charts, and to ask queries that show them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.support.shop import AMOUNT, axis, context

from analytics_core import AnalyticsCore

YEAR = "2024-01-01 : 2025-01-01"
HOST: Mapping[str, Any] = {
    "columns": [axis("P1M")],
    "metrics": ["count"],
    "granularity": "order_date",
    "time_range": YEAR,
}
"""A query by month of the year 2024, which shows the layers of the tests."""


def layer(value: Any, source: str | None = "NATIVE", kind: str | None = "EVENT", **fields: Any) -> dict[str, Any]:
    """Return the configuration of a layer as clients send it."""
    given = {"name": "Marks", "show": True, "showMarkers": False, "value": value, **fields}
    named = {"sourceType": source, "annotationType": kind}
    return {**given, **{name: text for name, text in named.items() if text is not None}}


def releases(core: AnalyticsCore, *days: str, name: str = "Releases") -> int:
    """Store a layer with an event on each of these moments (or `start/end`), and return its id."""
    made = core.annotation_layers.create({"name": name})
    for day in days:
        start, _, end = day.partition("/")
        core.annotations.create(made.id, {"start_dttm": start, "end_dttm": end or start, "short_descr": day})
    return made.id


def chart(core: AnalyticsCore, query: Mapping[str, Any], *more: Mapping[str, Any], **fields: Any) -> int:
    """Store a chart of these queries on dataset 1, or on `dataset`, and return its id."""
    dataset = fields.pop("dataset", 1)
    stored = json.dumps(context(query, *more, dataset=dataset, result_type=fields.pop("result_type", "full")))
    payload = {"slice_name": "A chart", "datasource_id": dataset, "datasource_type": "table", "query_context": stored}
    return core.charts.create({**payload, **fields}).id


def answer(core: AnalyticsCore, *layers: Mapping[str, Any], query: Mapping[str, Any] = HOST, **options: Any) -> Any:
    """Return the result of a query that shows these layers; it may have failed."""
    return core.charts.data(context({**query, "annotation_layers": layers}, **options)).results[0]


def displayed(core: AnalyticsCore, *layers: Mapping[str, Any], query: Mapping[str, Any] = HOST, **options: Any) -> Any:
    """Return what the layers show as `{name: {columns, records}}`, read from the contract's field."""
    result = answer(core, *layers, query=query, **options)
    result.raise_for_error()
    payload = result.to_payload()["annotation_data"]
    return {name: json.loads(text) for item in payload for name, text in item.items()}


def titles(core: AnalyticsCore, *layers: Mapping[str, Any], query: Mapping[str, Any] = HOST) -> list[str]:
    """Return the titles of the stored annotations that the layers show."""
    return [item["short_descr"] for part in displayed(core, *layers, query=query).values() for item in part["records"]]


BY_MONTH: Mapping[str, Any] = {"columns": [axis("P1M", label="month")], "metrics": [AMOUNT]}
"""A chart by month without a time range of its own."""

"""A dataset to write questions on without a database, and what its namespace was asked."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from analytics_core import ChartData, DatasetHandle, Explanation
from analytics_core._superset.payload import BuiltPayload, build_payload
from analytics_core._superset.registry import ChartKinds
from analytics_core.models import ChartGet, DatasetGet

_COLUMNS: Mapping[str, tuple[int, str]] = {
    "id": (0, "INTEGER"),
    "product": (1, "VARCHAR(20)"),
    "country": (1, "VARCHAR(20)"),
    "status": (1, "VARCHAR(20)"),
    "amount": (0, "DECIMAL(10, 2)"),
    "quantity": (0, "INTEGER"),
    "ordered_on": (2, "TIMESTAMP"),
    "paid_on": (2, "DATE"),
    "is_new": (3, "BOOLEAN"),
    "odd name": (0, "INTEGER"),
    "query": (0, "INTEGER"),
    "double": (0, "INTEGER"),
    "port": (0, "INTEGER"),
}

SALES: Mapping[str, Any] = {
    "id": 7,
    "table_name": "sales",
    "description": "What was sold",
    "main_dttm_col": "ordered_on",
    "database": {"id": 1, "database_name": "main", "backend": "sqlite"},
    "columns": [
        {
            "column_name": name,
            "type": kind,
            "type_generic": code,
            "is_dttm": code == 2,
            "verbose_name": "Product name" if name == "product" else None,
            "expression": "amount * 2" if name == "double" else None,
            "advanced_data_type": "port" if name == "port" else None,
        }
        for name, (code, kind) in _COLUMNS.items()
    ],
    "metrics": [
        {"metric_name": "revenue", "expression": "SUM(amount)"},
        {"metric_name": "orders", "expression": "COUNT(*)"},
        {"metric_name": "quantity", "expression": "SUM(quantity)"},
    ],
}
"""A dataset whose metric `quantity` is called like a column."""


class RecordingCharts:
    """Charts that answer nothing and keep what they were asked and given."""

    def __init__(self) -> None:
        self.queried: list[Mapping[str, Any]] = []
        self.stored: list[Mapping[str, Any]] = []

    def data(self, question: Mapping[str, Any], *, force: bool = False) -> ChartData:
        self.queried.append(question)
        return ChartData(results=())

    def explain(self, question: Mapping[str, Any]) -> Explanation:
        self.queried.append(question)
        return Explanation(queries=())

    def payload_of(self, form_data: Mapping[str, Any]) -> BuiltPayload:
        return build_payload(form_data, ChartKinds())

    def create(self, payload: Mapping[str, Any]) -> ChartGet:
        self.stored.append(payload)
        return ChartGet(id=len(self.stored))

    def picture(self, question: Mapping[str, Any], **options: Any) -> Any:
        self.queried.append(question)
        return SimpleNamespace(options=options, failure=None)


def sales(charts: RecordingCharts | None = None, **changes: Any) -> DatasetHandle:
    """Return the dataset `sales`."""
    return DatasetHandle(DatasetGet.model_validate({**SALES, **changes}), charts or RecordingCharts())

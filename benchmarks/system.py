"""The library under measurement, asked through its public facade only."""

from __future__ import annotations

import copy
from types import ModuleType
from typing import Any

import analytics_core


class System:
    """One database of the workload behind `analytics_core.connect`; the row cap is raised to `max_row_limit`."""

    def __init__(self, url: str, workloads: ModuleType, *, max_row_limit: int = 100_000) -> None:
        self.core = analytics_core.connect(url, max_row_limit=max_row_limit)
        self._ids = {table: self._register(table, workloads) for table in workloads.TABLES}

    def _register(self, table: str, workloads: ModuleType) -> int:
        dataset = self.core.datasets.create({"database": 1, "table_name": table})
        metrics = [{"metric_name": name, "expression": sql} for name, sql in workloads.METRICS[table].items()]
        self.core.datasets.update(dataset.id, {"main_dttm_col": workloads.MAIN_TIME[table], "metrics": metrics})
        return int(dataset.id)

    def payload(self, context: dict[str, Any]) -> dict[str, Any]:
        """Return the harness's payload with our dataset's id in place of the table's name."""
        return {**copy.deepcopy(context), "datasource": {"id": self._ids[context["datasource"]], "type": "table"}}

    def rows(self, context: dict[str, Any]) -> dict[str, Any]:
        """Return the harness's payload for raw rows as they come: one that names an offset would have them sorted."""
        payload = self.payload(context)
        del payload["queries"][0]["row_offset"]
        return payload

    def sql(self, payload: dict[str, Any]) -> str:
        """Payload to SQL text, nothing executed."""
        return str(self.core.charts.data({**payload, "result_type": "query"}).results[0].query)

    def json(self, payload: dict[str, Any]) -> str | bytes:
        """Payload to the JSON answer."""
        answer: str | bytes = self.core.charts.data(payload).raise_for_error().to_json()
        return answer

    def close(self) -> None:
        """Close the facade."""
        self.core.close()

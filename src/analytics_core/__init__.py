"""analytics_core: a headless analytics engine.

    import analytics_core

    with analytics_core.connect("sqlite:///shop.db") as core:
        orders = core.datasets.create({"database": 1, "table_name": "orders"})
        answer = core.charts.data({"datasource": {"id": orders.id, "type": "table"}, "queries": [{...}]})

Importing this package loads the standard library only; public names load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analytics_core import errors, models, notifiers, plugins, policy, ports, postprocessing, testing
    from analytics_core._content.jobs.job import Job
    from analytics_core._content.lists import Page
    from analytics_core._core.connect import connect
    from analytics_core._core.facade import AnalyticsCore
    from analytics_core._core.guest_core import GuestCore
    from analytics_core._engine.compile.time_range import TimeRange, resolve_time_range
    from analytics_core._engine.querying.explain import Explanation
    from analytics_core._engine.results.answer import ChartData, QueryResult
    from analytics_core._engine.results.batch_stream import BatchStream
    from analytics_core._engine.results.dashboard_answer import DashboardData
    from analytics_core._notebook.builder.charts import QueryChart
    from analytics_core._notebook.builder.dataset import DatasetHandle
    from analytics_core._notebook.builder.query import DatasetQuery
    from analytics_core._records.budget import Budget
    from analytics_core._records.settings import Settings

__version__ = "0.1.0"

__all__ = [
    "AnalyticsCore",
    "BatchStream",
    "Budget",
    "ChartData",
    "DashboardData",
    "DatasetHandle",
    "DatasetQuery",
    "Explanation",
    "GuestCore",
    "Job",
    "Page",
    "QueryChart",
    "QueryResult",
    "Settings",
    "TimeRange",
    "connect",
    "errors",
    "models",
    "notifiers",
    "plugins",
    "policy",
    "ports",
    "postprocessing",
    "resolve_time_range",
    "testing",
]

_HOMES = {
    "AnalyticsCore": "analytics_core._core.facade",
    "connect": "analytics_core._core.connect",
    "GuestCore": "analytics_core._core.guest_core",
    "DatasetHandle": "analytics_core._notebook.builder.dataset",
    "DatasetQuery": "analytics_core._notebook.builder.query",
    "QueryChart": "analytics_core._notebook.builder.charts",
    "ChartData": "analytics_core._engine.results.answer",
    "QueryResult": "analytics_core._engine.results.answer",
    "DashboardData": "analytics_core._engine.results.dashboard_answer",
    "Explanation": "analytics_core._engine.querying.explain",
    "Budget": "analytics_core._records.budget",
    "Job": "analytics_core._content.jobs.job",
    "Page": "analytics_core._content.lists",
    "BatchStream": "analytics_core._engine.results.batch_stream",
    "Settings": "analytics_core._records.settings",
    "TimeRange": "analytics_core._engine.compile.time_range",
    "resolve_time_range": "analytics_core._engine.compile.time_range",
}
_MODULES = ("errors", "models", "notifiers", "plugins", "policy", "ports", "postprocessing", "testing")


if not TYPE_CHECKING:  # type checkers read the imports above

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            value = getattr(import_module(_HOMES[name]), name)
        elif name in _MODULES:
            value = import_module(f"{__name__}.{name}")
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__"})

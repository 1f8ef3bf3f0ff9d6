"""The contract's shapes as pydantic models, one file per resource; each is loaded on first use.

`SHAPES` maps the contract's names of shapes to their models.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "SHAPES": "shapes",
    "parse": "parsing",
    "parse_query_context": "parsing",
    **dict.fromkeys(("AdhocColumn", "AdhocMetric", "AdhocMetricColumn"), "adhoc"),
    "AnnotationLayer": "annotation_layer",
    **dict.fromkeys(
        (
            "ChartDataDatasource",
            "ChartDataExtras",
            "ChartDataFilter",
            "ChartDataQueryContext",
            "ChartDataQueryObject",
            "PostProcessingOperation",
        ),
        "query",
    ),
    **dict.fromkeys(("ChartGet", "ChartListItem", "ChartPost", "ChartPut"), "chart"),
    **dict.fromkeys(
        (
            "DatabaseConnection",
            "DatabaseGet",
            "DatabaseListItem",
            "DatabasePost",
            "DatabasePut",
            "DatabaseTestConnection",
            "SshTunnel",
        ),
        "database",
    ),
    **dict.fromkeys(
        (
            "ColumnPut",
            "DatasetGet",
            "DatasetListItem",
            "DatasetPost",
            "DatasetPut",
            "MetricPut",
            "SqlMetric",
            "TableColumn",
        ),
        "dataset",
    ),
    **dict.fromkeys(("GrantGet", "RoleGet", "RolePost", "RolePut", "UserGet", "UserPost", "UserPut"), "people"),
    **dict.fromkeys(
        (
            "DashboardReference",
            "DatasetReference",
            "RoleReference",
            "TagReference",
            "UserNames",
            "UserReference",
        ),
        "references",
    ),
}
"""Where each public name lives: the module of this package."""

__all__ = sorted(_HOME)  # noqa: PLE0605 - a sorted list of the names above


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOME]

"""What all who read the form data of charts know: old names of kinds, labels, and what is on."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

OLD_CHART_KINDS: Final = MappingProxyType(
    {
        "treemap": "treemap_v2",
        "sunburst": "sunburst_v2",
        "heatmap": "heatmap_v2",
        "histogram": "histogram_v2",
        "sankey": "sankey_v2",
        "bubble": "bubble_v2",
        "pivot_table": "pivot_table_v2",
        "line": "echarts_timeseries_line",
        "bar": "echarts_timeseries_bar",
        "area": "echarts_area",
        "calendar": "cal_heatmap",
    }
)
"""The names that kinds of charts have now, by those under which charts were stored before."""


def column_label(column: Any) -> str:
    """Return the label under which a column's values come back."""
    if isinstance(column, str):
        return column
    return str(column.get("label") or column.get("sqlExpression"))


def metric_label(metric: Any) -> str:
    """Return the label under which a metric's values come back."""
    if isinstance(metric, str):
        return metric
    if metric.get("label"):
        return str(metric["label"])
    column = metric.get("column")
    if metric.get("expressionType") == "SIMPLE" and isinstance(column, Mapping):
        return f"{metric.get('aggregate')}({column.get('columnName') or column.get('column_name')})"
    return str(metric.get("sqlExpression"))


def is_on(value: Any) -> bool:
    """Tell whether the value of a field says yes: old front ends stored it as text."""
    return value is True or (isinstance(value, str) and value.casefold() == "true")

"""Pivot tables: columns turned into a grid of labelled rows and columns, with aggregates and totals; pure."""

from analytics_core._tools.pivots.aggregates import PivotAggregate, pivot_aggregate
from analytics_core._tools.pivots.labels import Key, Label, PivotOrder
from analytics_core._tools.pivots.table import PivotLayout, PivotTable, pivot

__all__ = ["Key", "Label", "PivotAggregate", "PivotLayout", "PivotOrder", "PivotTable", "pivot", "pivot_aggregate"]

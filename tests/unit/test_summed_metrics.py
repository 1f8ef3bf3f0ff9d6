"""Totals and running sums of metrics that do not add up are told; those of sums and counts are not."""

from __future__ import annotations

from typing import Any

from tests.support.cases import for_each
from tests.support.planning import METRICS, dataset, query_of

from analytics_core._engine.frames.pipeline import read_steps
from analytics_core._engine.frames.registry import Operations
from analytics_core._engine.querying.answer_notes import notes_of_sums
from analytics_core._records.datasource import DatasetMetric

ORDERS = dataset(metrics=(*METRICS, DatasetMetric(metric_name="mean", expression="AVG(price)")))
PIVOT = {"viz_type": "pivot_table_v2", "rowTotals": True}
SHARE = {"expressionType": "SQL", "sqlExpression": "SUM(price) / COUNT(*)", "label": "share"}
HIGHEST = {"expressionType": "SIMPLE", "aggregate": "MAX", "column": {"column_name": "price"}, "label": "highest"}
ADDED = {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": "price"}, "label": "added"}


def reported(
    form: Any = None, *, metrics: Any = ("orders", "mean", SHARE, HIGHEST, ADDED), steps: Any = ()
) -> list[str]:
    query = query_of({"columns": ["city"], "metrics": list(metrics) or None, "post_processing": list(steps)})
    notes = notes_of_sums(query, read_steps(query.post_processing, Operations()), ORDERS, form)
    return [note.partition(" are sums, which do not say what it is of all rows together")[0] for note in notes]


@for_each(
    "form", [PIVOT, {**PIVOT, "aggregateFunction": "Sum as Fraction of Total"}, {**PIVOT, "viz_type": "pivot_table"}]
)
def test_totals_of_a_pivot_table_are_told_of_what_does_not_add_up(form: dict[str, Any]) -> None:
    assert reported(form) == [f"the totals of {name!r} in the pivot table" for name in ("mean", "share", "highest")]
    assert reported(form, metrics=["orders"]) == []
    assert reported(form, metrics=[]) == []


@for_each(
    "form",
    [
        None,
        "pivot_table_v2",
        {**PIVOT, "rowTotals": False},
        {**PIVOT, "viz_type": "table"},
        {**PIVOT, "aggregateFunction": "Maximum"},
    ],
)
def test_a_form_without_totals_that_are_sums_tells_nothing(form: Any) -> None:
    assert reported(form) == []


def test_running_sums_and_totals_of_steps_are_told_with_their_step() -> None:
    running = {"operation": "cum", "options": {"operator": "sum", "columns": {"mean": "mean", "orders": "orders"}}}
    assert reported(steps=[running]) == ["the running results of 'mean' in post_processing[0] (cum)"]
    assert reported(steps=[{**running, "options": {**running["options"], "operator": "max"}}]) == []
    pivot = {"index": ["city"], "columns": ["city"], "marginal_distributions": True}
    summed = {"operation": "pivot", "options": {**pivot, "aggregates": {"mean": {"operator": "sum"}}}}
    assert reported(steps=[summed]) == ["the totals of 'mean' in post_processing[0] (pivot)"]
    assert reported(steps=[{**summed, "options": {**summed["options"], "marginal_distributions": False}}]) == []

"""Notes on metrics that an answer adds up although they do not add up: averages, ratios, distinct counts, extremes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from analytics_core._compile.metrics import metric_label
from analytics_core._frames.pipeline import Step
from analytics_core._records.datasource import Dataset
from analytics_core.models.enums import Aggregate
from analytics_core.models.postprocessing import AggregateOperator, CumOptions, CumulativeOperator, PivotOptions
from analytics_core.models.query import AdhocMetric, ChartDataQueryObject

_ADDED_UP: Final = (Aggregate.SUM, Aggregate.COUNT)
_SUMS: Final = (AggregateOperator.SUM, AggregateOperator.NANSUM)
_NOT_ADDED_UP: Final = re.compile(
    r"\b(avg|mean|median|min|max|mode|std\w*|var\w*|corr|quantile\w*|percentile\w*|approx\w*)\s*\(|\bdistinct\b|/",
    re.IGNORECASE,
)
"""What tells in SQL that a metric of several groups is not the sum of those of each."""

_PIVOT_TABLE: Final = "pivot_table_v2"


def notes_of_sums(
    query: ChartDataQueryObject, steps: Sequence[Step], dataset: Dataset, form: object
) -> tuple[str, ...]:
    """Return a note for each sum of a metric that does not add up: totals of pivots, and running sums.

    Args:
        query: what is asked.
        steps: its post-processing.
        dataset: its saved metrics tell by their SQL whether they add up.
        form: the form data of the chart; those of a pivot table may ask for totals.
    """
    summed = [*_summed(steps), *_totals_of_form(query, form if isinstance(form, Mapping) else {})]
    if not summed:
        return ()
    saved = {metric.metric_name: metric.expression for metric in dataset.metrics}
    labels = [metric_label(metric) for metric in query.metrics or () if not _adds_up(metric, saved)]
    return tuple(
        f"{place} of {label!r} are sums, which do not say what it is of all rows together; ask for that by a query "
        "of its own"
        for label in labels
        for place, name in summed
        if name == label or name.startswith(f"{label}__")
    )


def _adds_up(metric: str | AdhocMetric, saved: Mapping[str, str]) -> bool:
    if isinstance(metric, str):
        return not _NOT_ADDED_UP.search(saved.get(metric, ""))
    if metric.aggregate is not None and metric.sql_expression is None:
        return metric.aggregate in _ADDED_UP
    return not _NOT_ADDED_UP.search(metric.sql_expression or "")


def _summed(steps: Sequence[Step]) -> Iterator[tuple[str, str]]:
    """Yield what adds up, in words, and the column that it adds up."""
    for step in steps:
        options = step.options
        if isinstance(options, PivotOptions) and options.marginal_distributions:
            sums = [(name, spec) for name, spec in options.aggregates.items() if spec.operator in _SUMS]
            yield from ((f"{step.place}: the totals", spec.column or name) for name, spec in sums)
        elif isinstance(options, CumOptions) and options.operator is CumulativeOperator.SUM:
            yield from ((f"{step.place}: the running results", name) for name in options.columns)


def _totals_of_form(query: ChartDataQueryObject, form: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    has_totals = any(form.get(name) is True for name in ("rowTotals", "colTotals"))
    if form.get("viz_type") != _PIVOT_TABLE or not has_totals or (form.get("aggregateFunction") or "Sum") != "Sum":
        return
    for metric in query.metrics or ():
        yield "the totals of the pivot table", metric_label(metric)

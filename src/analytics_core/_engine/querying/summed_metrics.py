"""Notes on metrics that an answer adds up although they do not add up: averages, ratios, distinct counts, extremes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from analytics_core._engine.compile.metrics import metric_label
from analytics_core._engine.frames.pipeline import Step
from analytics_core._records.chart_form import OLD_CHART_KINDS, is_on
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
        f"{what} of {label!r}{place} are sums, which do not say what it is of all rows together; ask for that by a "
        "query of its own"
        for label in labels
        for what, name, place in summed
        if name == label or name.startswith(f"{label}__")
    )


def _adds_up(metric: str | AdhocMetric, saved: Mapping[str, str]) -> bool:
    if isinstance(metric, str):
        return not _NOT_ADDED_UP.search(saved.get(metric, ""))
    if metric.aggregate is not None and metric.sql_expression is None:
        return metric.aggregate in _ADDED_UP
    return not _NOT_ADDED_UP.search(metric.sql_expression or "")


def _summed(steps: Sequence[Step]) -> Iterator[tuple[str, str, str]]:
    """Yield what adds up, in words, the column that it adds up, and where."""
    for step in steps:
        options, place = step.options, f" in {step.place}"
        if isinstance(options, PivotOptions) and options.marginal_distributions:
            sums = [(name, spec) for name, spec in options.aggregates.items() if spec.operator in _SUMS]
            yield from (("the totals", spec.column or name, place) for name, spec in sums)
        elif isinstance(options, CumOptions) and options.operator is CumulativeOperator.SUM:
            yield from (("the running results", name, place) for name in options.columns)


def _totals_of_form(query: ChartDataQueryObject, form: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    kind = str(form.get("viz_type"))
    has_totals = any(is_on(form.get(name)) for name in ("rowTotals", "colTotals"))
    is_sum = str(form.get("aggregateFunction") or "Sum").startswith("Sum")
    if OLD_CHART_KINDS.get(kind, kind) != _PIVOT_TABLE or not has_totals or not is_sum:
        return
    for metric in query.metrics or ():
        yield "the totals", metric_label(metric), " in the pivot table"

"""Totals of one query for the contributions of another: shares of everything, not of the rows that a limit left.

Tables with percent metrics send two queries: one with columns and a contribution, and one with the metrics alone. The
second gives the totals of the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from analytics_core._querying.payloads import AskedQuery
from analytics_core._results.answer import QueryResult
from analytics_core.models.postprocessing import Orientation
from analytics_core.models.query import ChartDataQueryObject, PostProcessingOperation

CONTRIBUTION = "contribution"
OPTION = "contribution_totals"


def totals_source(asked: Sequence[AskedQuery]) -> int | None:
    """Return the position of the query that gives totals: the first with metrics alone, when another needs them."""
    if not any(_needs_totals(step) for item in asked for step in item.query.post_processing):
        return None
    return next((place for place, item in enumerate(asked) if _has_metrics_alone(item.query)), None)


def _has_metrics_alone(query: ChartDataQueryObject) -> bool:
    return bool(query.metrics) and not (query.columns or query.post_processing or query.is_rowcount)


def _needs_totals(step: PostProcessingOperation) -> bool:
    return (
        step.operation == CONTRIBUTION
        and step.options.get("orientation") in (None, Orientation.COLUMN)
        and step.options.get(OPTION) is None
    )


def totals_of(result: QueryResult) -> dict[str, float]:
    """Return the numbers of a result of one row by their labels; of any other result none."""
    if len(result.held.frame) != 1:
        return {}
    values = {column.name: column.to_list()[0] for column in result.held.frame.columns}
    return {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    }


def with_totals(asked: AskedQuery, totals: Mapping[str, float]) -> AskedQuery:
    """Return the query with these totals in its contributions; totals that it brings itself stay."""
    steps = asked.query.post_processing
    if not totals or not any(map(_needs_totals, steps)):
        return asked
    given = tuple(
        step.model_copy(update={"options": {**step.options, OPTION: dict(totals)}}) if _needs_totals(step) else step
        for step in steps
    )
    query = asked.query.model_copy(update={"post_processing": given})
    return replace(asked, query=query, totals=tuple(totals.items()))

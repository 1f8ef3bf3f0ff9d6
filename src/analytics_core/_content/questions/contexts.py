"""The query context that readers of a stored chart ask, with what stands around the chart added."""

from __future__ import annotations

from typing import Any

from analytics_core._content.lookups.chart_contexts import ChartContext, ChartContexts, FindChart
from analytics_core._content.questions.extra_filters import ExtraFilters, KnowsName, with_filters
from analytics_core._engine.querying.chart_request import TranslateError
from analytics_core._records.chart import Chart
from analytics_core.errors import QueryError
from analytics_core.models.strict_json import RepeatedKeyError, read_json_once


def context_with(
    contexts: ChartContexts, chart: Chart, extra: ExtraFilters, find: FindChart, knows_name: KnowsName
) -> tuple[dict[str, Any], tuple[str, ...], TranslateError | None]:
    """Return the query context of a chart with what stands around it, notes of how it was made, and what tells errors.

    `find` gives the charts that are layers of a map. A time column that a dataset lacks is passed over.

    Raises:
        QueryError: the chart stores neither a context nor a form, or one that is no JSON object.
        PayloadSchemaError: fields of its form cannot be used.
    """
    own = contexts.of_chart(chart, find)
    notes = [*extra.notes, *(f"not applied, since it is not known here: {name}" for name in extra.unread)]
    if extra.group_by:
        grouped = contexts.grouped_by(chart, extra.group_by)
        if grouped is None:
            notes.append(f"not grouped by {', '.join(extra.group_by)}: the form of the chart groups by no column")
        own = grouped or own
    return with_filters(_content(chart, own), extra, knows_name), (*own.notes, *notes), own.translate_error


def _content(chart: Chart, own: ChartContext) -> dict[str, Any]:
    try:
        content = read_json_once(own.text)
    except RepeatedKeyError as error:
        raise QueryError(f"the query_context of chart {chart.id} {error}; save one with charts.update") from None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise QueryError(f"the query_context of chart {chart.id} is no JSON object; save one with charts.update")
    return content

"""What people pick in the charts of a dashboard, as filters of its other charts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from analytics_core._content.batches import id_in
from analytics_core._content.questions.dashboard_filters import charts_of_cross_filters
from analytics_core._content.questions.extra_filters import ExtraFilters
from analytics_core._content.questions.filter_values import SHAPE, as_meant, filters_of_mask, filters_on_columns
from analytics_core._content.stored_json import json_object
from analytics_core._engine.compile.columns import TIMESTAMP_LABEL, column_label, is_axis, query_grain
from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core.models.enums import FilterOperator
from analytics_core.models.parsing import payload_error
from analytics_core.models.query import AdhocColumn, ChartDataQueryContext, ChartDataQueryObject

CurrentContext = Callable[[int], ChartDataQueryContext | None]
"""Gives what a chart asks as its dashboard shows it now; None where it asks nothing."""

_MOST_LISTED: Final = 20
_VALUE_OPERATORS: Final = frozenset(
    {FilterOperator.EQUALS, FilterOperator.NOT_EQUALS, FilterOperator.IN, FilterOperator.NOT_IN}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picks:
    """What is picked in one chart, the charts that it acts on, and what it asks of them.

    A column of SQL that the chart defines is for the charts of its dataset; charts of others hear of its label.
    """

    reached: frozenset[int]
    asks: ExtraFilters
    dataset_id: int | None = None

    def on(self, chart: Chart) -> ExtraFilters:
        """Return what the picks ask of a chart."""
        if chart.id not in self.reached:
            return ExtraFilters()
        if chart.dataset_id == self.dataset_id:
            return self.asks
        return replace(self.asks, filters=tuple({**item, "col": _name(item["col"])} for item in self.asks.filters))


def _name(column: Any) -> Any:
    return column.get("label") if isinstance(column, Mapping) else column


def chart_key(key: Any) -> Any:
    """Return the id of a chart, which JSON writes as a text."""
    number = id_in(key) if isinstance(key, str) else None
    return key if number is None else number


def acting_picks(
    dashboard: Dashboard,
    given: Mapping[int, Any],
    permalink_masks: Mapping[str, Any],
    *,
    context_of: CurrentContext,
    holds: Callable[[int | None, Any, str], bool],
) -> tuple[tuple[Picks, ...], tuple[str, ...]]:
    """Return what picks inside charts ask of the other charts, and notes of those that act no more.

    Args:
        dashboard: the dashboard.
        given: values by columns, or data masks, by the ids of the charts in which they were picked.
        permalink_masks: the data masks of a permalink, those of filters among them.
        context_of: gives what the charts ask in which something is picked.
        holds: tells whether a column of a dataset holds a text.

    Raises:
        PayloadSchemaError: what is given is of no chart of the dashboard, or no pick.
    """
    masks = {chart_key(key): mask for key, mask in permalink_masks.items() if chart_key(key) in dashboard.chart_ids}
    picked = {**{key: (filters_of_mask(mask), True) for key, mask in masks.items()}, **_given(dashboard, given)}
    if picked and json_object(dashboard.json_metadata).get("cross_filters_enabled") is False:
        if given:
            raise payload_error(SHAPE, "cross_filters", "the dashboard has them off (cross_filters_enabled)")
        return (), ("what was picked in charts of the permalink is not applied: the dashboard has cross filters off",)
    found = []
    for key, reached in charts_of_cross_filters(picked, dashboard).items():
        asks, is_mask = picked[key]
        context = context_of(key) if asks.filters else None
        dataset_id = context.datasource.id if context and context.datasource else None
        if is_mask:
            asks = as_meant(asks, partial(holds, dataset_id), name=f"picked in chart {key}")
        found.append(Picks(reached=reached, asks=_by_displayed_columns(asks, context), dataset_id=dataset_id))
    return tuple(found), ()


def _given(dashboard: Dashboard, given: Mapping[int, Any]) -> dict[int, tuple[ExtraFilters, bool]]:
    """Return what the picks of a caller ask, and whether a data mask says so."""
    found = {}
    for key, value in given.items():
        place = f"cross_filters.{key}"
        if key not in dashboard.chart_ids:
            known = ", ".join(map(str, sorted(dashboard.chart_ids)[:_MOST_LISTED]))
            raise payload_error(SHAPE, place, f"is the id of no chart of the dashboard; those are {known}")
        if not isinstance(value, Mapping):
            raise payload_error(SHAPE, place, 'must be an object of columns and values, such as {"country": ["FR"]}')
        is_mask = isinstance(value.get("extraFormData"), Mapping)
        found[key] = filters_of_mask(value) if is_mask else filters_on_columns(value, place=place), is_mask
    return found


def _by_displayed_columns(asks: ExtraFilters, context: ChartDataQueryContext | None) -> ExtraFilters:
    """Return picks as the chart showed what is picked: of its own columns, by the grains that cut them."""
    if context is None:
        return asks
    columns = {label: found for query in context.queries for label, found in _displayed_columns(query)}
    filters = tuple(_with_displayed(item, columns) if _is_pick(item) else item for item in asks.filters)
    return replace(asks, filters=filters)


def _is_pick(item: Mapping[str, Any]) -> bool:
    return isinstance(item["col"], str) and str(item.get("op")).strip().upper() in _VALUE_OPERATORS


def _with_displayed(item: Mapping[str, Any], columns: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    own = {"grain": item["grain"]} if item.get("grain") else {}
    return {**item, **columns.get(item["col"], {}), **own}


def _displayed_columns(query: ChartDataQueryObject) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the labels of a query's columns with the column and the grain by which a filter finds their values."""
    grain, is_grouped = query_grain(query), query.metrics is not None
    if query.granularity:
        yield TIMESTAMP_LABEL, _filtered(query.granularity, grain)
    for column in query.columns:
        if isinstance(column, str):
            yield column, _filtered(column, grain if is_grouped and column == query.granularity else None)
            continue
        own = column.time_grain or (grain if is_axis(column) else None)
        yield column_label(column), _filtered(column, own)
        if is_axis(column) and query.granularity:  # which takes the place of an axis of moments
            yield query.granularity, _filtered(query.granularity, own)


def _filtered(column: str | AdhocColumn, grain: str | None) -> dict[str, Any]:
    """Return the parts of a filter on a column: one of SQL, or of another label, is said as the query says it."""
    named: Any = column
    if isinstance(column, AdhocColumn):
        is_name = column.sql_expression == column_label(column) and column_label(column).isidentifier()
        named = column.sql_expression if is_name else column.model_dump(mode="json", exclude_unset=True)
    return {"col": named, **({"grain": str(grain)} if grain else {})}

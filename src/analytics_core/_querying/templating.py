"""Templates of one query: who asks and what is asked go in, rendered SQL comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from analytics_core._compile.columns import axis_name, column_label
from analytics_core._compile.metrics import metric_label
from analytics_core._compile.scope import PlanLimits
from analytics_core._compile.templates import TemplateFilter, TemplateRenderer, TemplateValues, TimeBounds
from analytics_core._compile.time_bounds import NO_FILTER, naive, range_text, resolve_range, split_temporal
from analytics_core._compile.time_range import TimeRange, render_time_range
from analytics_core._engines.spec import EngineSpec
from analytics_core._querying.call import Call
from analytics_core._records.dataset import Dataset
from analytics_core.errors import TemplateError
from analytics_core.models.enums import FilterOperator
from analytics_core.models.query import ChartDataFilter, ChartDataQueryObject


class QueryRanges:
    """The time ranges of one query as its templates see them; `moved_to` is that of a time comparison.

    `counts_seconds` says whether a range that was asked for moves with every second.
    """

    def __init__(
        self, query: ChartDataQueryObject, *, now: datetime, limits: PlanLimits, moved_to: TimeRange | None
    ) -> None:
        self._query = query
        self._now = now
        self._limits = limits
        self._moved_to = moved_to
        self._moved_text = render_time_range(moved_to) if moved_to else None
        self.counts_seconds = False

    @property
    def own_text(self) -> str:
        """The text of the query's range."""
        return self._moved_text or own_range_text(self._query)

    def filter_text(self, item: ChartDataFilter) -> Any:
        """Return the value of a filter; for time ranges the one that counts for the query."""
        if item.op is not FilterOperator.TEMPORAL_RANGE:
            return item.val
        return self._moved_text or self._query.time_range or item.val

    def bounds(self, text: str) -> TimeBounds:
        """Return the bounds that a range text names, naive UTC."""
        found = self._moved_to if text == self._moved_text else None
        found = found or resolve_range(self._query, text, now=self._now, limits=self._limits)
        self.counts_seconds |= found.needs_seconds
        return naive(found.since), naive(found.until)


class BoundTemplates:
    """The templates of one query on one dataset; it remembers which filters the templates took over.

    The values are made when the first template needs them.
    """

    def __init__(
        self,
        renderer: TemplateRenderer | None,
        values: Callable[[], TemplateValues],
        *,
        dataset: Dataset,
        ranges: QueryRanges,
    ) -> None:
        self._renderer = renderer
        self._make_values = values
        self._values: TemplateValues | None = None
        self._dataset = dataset
        self._ranges = ranges
        self._removed: set[str] = set()

    @property
    def counts_seconds(self) -> bool:
        """Whether what was rendered so far moves with every second."""
        return self._ranges.counts_seconds

    def render(self, text: str) -> str:
        """Return the text with its template rendered; the text itself where it has none, or templates are off."""
        if self._renderer is None or "{" not in text:
            return text
        if self._values is None:
            self._values = self._make_values()
        rendered = self._renderer.render(text, self._values)
        self._removed.update(rendered.removed_filters)
        return rendered.text

    def render_source(self) -> str | None:
        """Return the SQL of a virtual dataset, rendered; None for a physical one."""
        return self.render(self._dataset.sql) if self._dataset.sql else None

    def taken_over(self, query: ChartDataQueryObject) -> tuple[str, ...]:
        """Return the names of the filters that the templates apply themselves (`remove_filter=True`)."""
        if not self._removed:
            return ()
        return tuple(name for name in (column_label(item.col) for item in query.filters) if name in self._removed)

    def without_removed_filters(self, query: ChartDataQueryObject) -> ChartDataQueryObject:
        """Return the query without the filters that the templates took over; its range stays what it was."""
        if not self._removed:
            return query
        kept = tuple(item for item in query.filters if column_label(item.col) not in self._removed)
        changes: dict[str, Any] = {"filters": kept}
        text = own_range_text(query)
        if text != NO_FILTER and not any(item.op is FilterOperator.TEMPORAL_RANGE for item in kept):
            changes["time_range"] = text
        return query.model_copy(update=changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    query: ChartDataQueryObject
    dataset: Dataset
    spec: EngineSpec
    call: Call
    ranges: QueryRanges

    def values(self) -> TemplateValues:
        """Return what the templates of the query may use."""
        query, user, ranges = self.query, self.call.actor.user, self.ranges
        since, until = ranges.bounds(ranges.own_text)
        return TemplateValues(
            dialect=self.spec.dialect,
            user_id=self.call.actor.stored_id,
            username=user.username,
            email=user.email,
            roles=tuple(sorted(role.name for role in self.call.actor.roles)),
            url_params=dict(query.url_params or {}),
            template_params=_parameters(self.dataset),
            filters=tuple(
                TemplateFilter(col=column_label(item.col), op=item.op.value, val=ranges.filter_text(item))
                for item in query.filters
            ),
            since=since,
            until=until,
            time_range=ranges.own_text,
            columns=tuple(column_label(column) for column in query.columns),
            metrics=tuple(metric_label(metric) for metric in query.metrics or ()),
            row_limit=query.row_limit,
            row_offset=query.row_offset,
            table_columns=tuple(column.column_name for column in self.dataset.columns),
            time_column=query.granularity or axis_name(query.columns) or self.dataset.main_dttm_col,
            time_grain=query.extras.time_grain if query.extras else None,
            resolve_range=ranges.bounds,
        )


class QueryTemplates:
    """Makes the templates of queries."""

    def __init__(self, renderer: TemplateRenderer | None, limits: PlanLimits) -> None:
        self._renderer = renderer
        self._limits = limits

    def for_query(
        self,
        query: ChartDataQueryObject,
        dataset: Dataset,
        spec: EngineSpec,
        call: Call,
        *,
        moved_to: TimeRange | None = None,
    ) -> BoundTemplates:
        """Return the templates of a query with the values that they may use.

        With `moved_to` they see the range of a time comparison instead of the query's own.
        """
        ranges = QueryRanges(query, now=call.now, limits=self._limits, moved_to=moved_to)
        asked = _Asked(query=query, dataset=dataset, spec=spec, call=call, ranges=ranges)
        return BoundTemplates(self._renderer, asked.values, dataset=dataset, ranges=ranges)


def own_range_text(query: ChartDataQueryObject) -> str:
    """Return the text of the range that a query asks for."""
    temporal, _ = split_temporal(query)
    return range_text(query, temporal, axis_name(query.columns))


def _parameters(dataset: Dataset) -> Mapping[str, Any]:
    if not dataset.template_params:
        return {}
    import orjson

    try:
        parsed = orjson.loads(dataset.template_params)
    except orjson.JSONDecodeError:
        raise TemplateError(f"dataset {dataset.table_name!r}: template_params is not JSON") from None
    if not isinstance(parsed, dict):
        raise TemplateError(f"dataset {dataset.table_name!r}: template_params must be a JSON object")
    return parsed

"""Templates of one query: who asks and what is asked go in, rendered SQL comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from analytics_core._compile.columns import axis_name, column_label
from analytics_core._compile.metrics import metric_label
from analytics_core._compile.templates import TemplateFilter, TemplateRenderer, TemplateValues, TimeBounds
from analytics_core._compile.time_bounds import range_text, split_temporal
from analytics_core._compile.time_range import resolve_time_range
from analytics_core._engines.spec import EngineSpec
from analytics_core._querying.call import Call
from analytics_core._records.dataset import Dataset
from analytics_core._settings import Settings
from analytics_core.errors import TemplateError
from analytics_core.models.query import ChartDataQueryObject


class BoundTemplates:
    """The templates of one query on one dataset; it remembers which filters the templates took over.

    The values are made when the first template needs them.
    """

    def __init__(
        self, renderer: TemplateRenderer | None, values: Callable[[], TemplateValues], dataset: Dataset
    ) -> None:
        self._renderer = renderer
        self._make_values = values
        self._values: TemplateValues | None = None
        self._dataset = dataset
        self._removed: set[str] = set()

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

    def without_removed_filters(self, query: ChartDataQueryObject) -> ChartDataQueryObject:
        """Return the query without the filters that the source's template applies itself (`remove_filter=True`)."""
        if not self._removed:
            return query
        kept = tuple(item for item in query.filters if item.col not in self._removed)
        return query.model_copy(update={"filters": kept})


class QueryTemplates:
    """Makes the templates of queries."""

    def __init__(self, renderer: TemplateRenderer | None, settings: Settings) -> None:
        self._renderer = renderer
        self._settings = settings

    def for_query(self, query: ChartDataQueryObject, dataset: Dataset, spec: EngineSpec, call: Call) -> BoundTemplates:
        """Return the templates of a query with the values that they may use."""
        return BoundTemplates(self._renderer, lambda: self._values(query, dataset, spec, call), dataset)

    def _values(self, query: ChartDataQueryObject, dataset: Dataset, spec: EngineSpec, call: Call) -> TemplateValues:
        resolve = self._resolver(query, call)
        temporal, _ = split_temporal(query)
        text = range_text(query, temporal, axis_name(query.columns))
        since, until = resolve(text)
        user = call.actor.user
        return TemplateValues(
            dialect=spec.dialect,
            user_id=user.id,
            username=user.username,
            email=user.email,
            roles=tuple(sorted(role.name for role in call.actor.roles)),
            url_params=dict(query.url_params or {}),
            template_params=_parameters(dataset),
            filters=tuple(_filter(item) for item in query.filters),
            since=since,
            until=until,
            time_range=text,
            columns=tuple(column_label(column) for column in query.columns),
            metrics=tuple(metric_label(metric) for metric in query.metrics or ()),
            row_limit=query.row_limit,
            row_offset=query.row_offset,
            table_columns=tuple(column.column_name for column in dataset.columns),
            time_column=query.granularity or dataset.main_dttm_col,
            time_grain=query.extras.time_grain if query.extras else None,
            resolve_range=resolve,
        )

    def _resolver(self, query: ChartDataQueryObject, call: Call) -> Callable[[str], TimeBounds]:
        def resolve(text: str) -> TimeBounds:
            found = resolve_time_range(
                text,
                now=call.now,
                relative_start=(query.extras and query.extras.relative_start) or self._settings.relative_start,
                relative_end=(query.extras and query.extras.relative_end) or self._settings.relative_end,
                time_shift=query.time_shift,
            )
            return (
                found.since.replace(tzinfo=None) if found.since else None,
                found.until.replace(tzinfo=None) if found.until else None,
            )

        return resolve


def _filter(item: Any) -> TemplateFilter:
    return TemplateFilter(col=column_label(item.col), op=item.op.value, val=item.val)


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

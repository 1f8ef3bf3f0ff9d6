"""Templates of one query: who asks and what is asked go in, rendered SQL comes out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analytics_core._compile.templates import TemplateRenderer, TemplateValues
from analytics_core._querying.call import Call
from analytics_core._records.dataset import Dataset
from analytics_core.errors import TemplateError
from analytics_core.models.query import ChartDataQueryObject


class BoundTemplates:
    """The templates of one query on one dataset; it remembers which filters the templates took over."""

    def __init__(self, renderer: TemplateRenderer | None, values: TemplateValues, dataset: Dataset) -> None:
        self._renderer = renderer
        self._values = values
        self._dataset = dataset
        self._removed: set[str] = set()

    def render(self, text: str) -> str:
        """Return the text with its template rendered; the text itself where templates are off."""
        if self._renderer is None:
            return text
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

    def __init__(self, renderer: TemplateRenderer | None) -> None:
        self._renderer = renderer

    def for_query(self, query: ChartDataQueryObject, dataset: Dataset, call: Call) -> BoundTemplates:
        """Return the templates of a query with the values that they may use."""
        return BoundTemplates(self._renderer, _values(query, dataset, call), dataset)


def _values(query: ChartDataQueryObject, dataset: Dataset, call: Call) -> TemplateValues:
    user = call.actor.user
    return TemplateValues(
        user_id=user.id,
        username=user.username,
        email=user.email,
        roles=tuple(sorted(role.name for role in call.actor.roles)),
        url_params=dict(query.url_params or {}),
        template_params=_parameters(dataset),
    )


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

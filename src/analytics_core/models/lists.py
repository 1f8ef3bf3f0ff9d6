"""How a list of records is narrowed; shapes of choices and of what hangs on a record (contract, related objects)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from analytics_core.models.base import Answer, Integer, JsonObject, ListAnswer, StrictShape


class ListOperator(StrEnum):
    """How a list is filtered."""

    EQUALS = "eq"
    NOT_EQUALS = "neq"
    GREATER = "gt"
    LESS = "lt"
    IN = "in"
    CONTAINS = "contains"
    STARTS_WITH = "starts_with"
    IS_NULL = "is_null"


class FilterItem(StrictShape):
    """One condition of a list; `is_null` takes true or false, `in` a list, the others one value."""

    col: str
    op: ListOperator
    val: Any = None


class RelatedItem(Answer):
    """One choice of a related field: its id, its text and more about it."""

    value: Integer | None = None
    text: str | None = None
    extra: JsonObject | None = None


class RelatedResponse(ListAnswer):
    """The choices of a related field (contract, `RelatedResponseSchema`)."""

    count: Integer = 0
    result: tuple[RelatedItem, ...] = ()


class DistinctItem(Answer):
    """One distinct value of a field."""

    text: str | None = None


class DistinctResponse(ListAnswer):
    """The distinct values of a field (contract, `DistincResponseSchema`)."""

    count: Integer = 0
    result: tuple[DistinctItem, ...] = ()


class RelatedChart(Answer):
    """A chart that uses a database or a dataset."""

    id: Integer = 0
    slice_name: str | None = None
    viz_type: str | None = None


class RelatedCharts(ListAnswer):
    """The charts that use a database or a dataset."""

    count: Integer = 0
    result: tuple[RelatedChart, ...] = ()


class RelatedDashboard(Answer):
    """A dashboard that uses a database or a dataset."""

    id: Integer = 0
    slug: str | None = None
    title: str | None = None
    json_metadata: JsonObject | None = None


class RelatedDashboards(ListAnswer):
    """The dashboards that use a database or a dataset."""

    count: Integer = 0
    result: tuple[RelatedDashboard, ...] = ()


class RelatedObjects(Answer):
    """What uses a database or a dataset (`DatabaseRelatedObjectsResponse`, `DatasetRelatedObjectsResponse`)."""

    charts: RelatedCharts | None = None
    dashboards: RelatedDashboards | None = None

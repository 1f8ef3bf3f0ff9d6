"""Shapes of emptying and warming up the cache (contract, Datasource reference, cache invalidation)."""

from __future__ import annotations

from pydantic import Field

from analytics_core.models.base import Answer, Integer, ListAnswer, Omittable, StrictShape, Texts
from analytics_core.models.enums import DatasourceType


class DatasourceName(StrictShape):
    """A datasource by its names (contract, `Datasource`)."""

    datasource_type: DatasourceType
    database_name: Omittable[str] = None
    datasource_name: Omittable[str] = None
    schema_name: Omittable[str] = Field(default=None, alias="schema")


class CacheInvalidationRequest(StrictShape):
    """Datasources whose cached answers are to go, by uid such as `3__table` or by name.

    Contract, `CacheInvalidationRequestSchema`.
    """

    datasource_uids: Omittable[Texts] = None
    datasources: Omittable[tuple[DatasourceName, ...]] = None


class ChartCacheWarmUpRequest(StrictShape):
    """A chart whose answers are to be computed ahead (contract, `ChartCacheWarmUpRequestSchema`)."""

    chart_id: Integer
    dashboard_id: Omittable[Integer] = None
    extra_filters: Omittable[str] = None


class DatasetCacheWarmUpRequest(StrictShape):
    """A dataset whose charts are to be computed ahead (contract, `DatasetCacheWarmUpRequestSchema`)."""

    db_name: str
    table_name: str
    dashboard_id: Omittable[Integer] = None
    extra_filters: Omittable[str] = None


class CacheWarmUpResult(Answer):
    """What became of the warm-up of one chart; `viz_error` is None when it went well."""

    chart_id: Integer = 0
    viz_error: str | None = None
    viz_status: str | None = None


class ChartCacheWarmUpResponse(ListAnswer):
    """What became of a chart's warm-up (contract, `ChartCacheWarmUpResponseSchema`)."""

    result: tuple[CacheWarmUpResult, ...] = ()


class DatasetCacheWarmUpResponse(ListAnswer):
    """What became of the warm-up of a dataset's charts (contract, response of `DatasetCacheWarmUpRequestSchema`)."""

    result: tuple[CacheWarmUpResult, ...] = ()

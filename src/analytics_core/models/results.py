"""Shapes of what a chart query answers (contract, `ChartDataResponseSchema`, `ChartDataAsyncResponseSchema`)."""

from __future__ import annotations

from pydantic import ConfigDict

from analytics_core.models.base import Answer, Bool, Ids, Objects, Texts, Whole
from analytics_core.models.enums import QueryStatus


class ChartDataResult(Answer):
    """The answer to one query (contract, `ChartDataResponseResult`); our notes and limits stand after its keys."""

    model_config = ConfigDict(extra="allow")

    cache_key: str | None
    cache_timeout: Whole | None
    cached_dttm: str | None
    is_cached: Bool
    query: str
    annotation_data: tuple[dict[str, str], ...] | None = None
    applied_filters: Objects = ()
    rejected_filters: Objects = ()
    colnames: Texts = ()
    coltypes: Ids = ()
    data: Objects = ()
    rowcount: Whole = 0
    from_dttm: Whole | None = None
    to_dttm: Whole | None = None
    status: QueryStatus | None = None
    error: str | None = None
    stacktrace: str | None = None


class ChartDataResponse(Answer):
    """The answer to a query context: one result a query (contract, `ChartDataResponseSchema`)."""

    result: tuple[ChartDataResult, ...] = ()


class ChartDataAsyncResponse(Answer):
    """Where the answer of a query in the background will be (contract, `ChartDataAsyncResponseSchema`)."""

    channel_id: str | None = None
    job_id: str | None = None
    result_url: str | None = None
    status: str | None = None
    user_id: str | None = None

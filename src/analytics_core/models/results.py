"""Shapes of what a chart query answers, of `core.jobs`, and of error bodies (contract, sections Chart data, Errors).

Every error's `to_payload()` is an error body; the shapes of jobs go beyond the contract.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import ConfigDict

from analytics_core._tools.display.blocks import Blocks
from analytics_core.errors import ErrorLevel, ErrorType
from analytics_core.models.base import Answer, Bool, Ids, Integer, JsonObject, ListAnswer, Objects, Texts
from analytics_core.models.display import page_blocks
from analytics_core.models.enums import JobState, QueryStatus


class ChartDataResult(Answer):
    """The answer to one query (contract, `ChartDataResponseResult`); our notes and limits stand after its keys."""

    model_config = ConfigDict(extra="allow")

    cache_key: str | None
    cache_timeout: Integer | None
    cached_dttm: str | None
    is_cached: Bool
    query: str
    annotation_data: tuple[dict[str, str], ...] | None = None
    applied_filters: Objects = ()
    rejected_filters: Objects = ()
    colnames: Texts = ()
    coltypes: Ids = ()
    data: Objects = ()
    rowcount: Integer = 0
    from_dttm: Integer | None = None
    to_dttm: Integer | None = None
    status: QueryStatus | None = None
    error: str | None = None
    stacktrace: str | None = None


class ChartDataResponse(ListAnswer):
    """The answer to a query context: one result a query (contract, `ChartDataResponseSchema`)."""

    result: tuple[ChartDataResult, ...] = ()


class ChartDataAsyncResponse(Answer):
    """Where the answer of a query in the background will be (contract, `ChartDataAsyncResponseSchema`)."""

    channel_id: str | None = None
    job_id: str | None = None
    result_url: str | None = None
    status: str | None = None
    user_id: str | None = None


class JobItem(Answer):
    """A job in a list: what it does, whose it is, where it stands, and when."""

    job_id: str
    kind: str
    state: JobState
    user_id: str | None
    created_on: datetime | None
    started_on: datetime | None
    ended_on: datetime | None
    expires_on: datetime | None


class JobPage(ListAnswer):
    """A page of jobs, and how many there are in all."""

    count: int
    result: tuple[JobItem, ...]

    def _blocks(self) -> Blocks:
        return page_blocks(self.result, self.count)


class ErrorEntry(Answer):
    """One item of `errors`: what went wrong, how bad it is and more about it (contract, item of `errors`)."""

    error_type: ErrorType | None = None
    message: str | None = None
    level: ErrorLevel | None = None
    extra: JsonObject | None = None


class ErrorBody(Answer):
    """The body of an error (contract, statuses 400 to 500); we send `errors` on every status."""

    model_config = ConfigDict(extra="allow")

    message: str | None = None


class ErrorBodyWithErrors(ErrorBody):
    """The body of an error with its items (contract, status 410)."""

    errors: tuple[ErrorEntry, ...] = ()

"""Shapes of activity logs (contract, section Logs and activity)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from analytics_core.models.base import (
    Answer,
    Integer,
    JsonInput,
    JsonText,
    ListAnswer,
    Moment,
    Number,
    Omittable,
    StrictShape,
    Text64,
    Text512,
    Text1024,
)


class UserOfLog(Answer):
    """The user of a log record (contract, field `user` of `LogRestApi.get`)."""

    username: Text64


class LogGet(Answer):
    """One log record (contract, `LogRestApi.get`); its field `json` is the attribute `json_text`."""

    action: Text512 | None = None
    dashboard_id: Integer | None = None
    slice_id: Integer | None = None
    user_id: Integer | None = None
    dttm: Moment | None = None
    duration_ms: Integer | None = None
    json_text: JsonText | None = Field(default=None, alias="json")
    referrer: Text1024 | None = None
    user: UserOfLog | None = None


class LogListItem(LogGet):
    """One log record of a list (contract, `LogRestApi.get_list`)."""


class LogPost(StrictShape):
    """A view or another act to record.

    The contract shows `id` alone for it (`LogRestApi.post`), which the store gives; the other fields are those that a
    record shows (`LogRestApi.get`), `user_id` for the contract's `user`.
    """

    id: Omittable[Integer] = None
    action: Annotated[str, StringConstraints(min_length=1, max_length=512)]
    dashboard_id: Integer | None = None
    slice_id: Integer | None = None
    user_id: Integer | None = None
    dttm: Moment | None = None
    duration_ms: Integer | None = None
    json_text: JsonInput | None = Field(default=None, alias="json")
    referrer: Text1024 | None = None


class LogPut(StrictShape):
    """Changes of a log record (contract, `LogRestApi.put`, which does not say what `user` is)."""

    action: Text512 | None = None
    dttm: Moment | None = None
    json_text: JsonInput | None = Field(default=None, alias="json")
    user: Any = None


class RecentActivity(Answer):
    """Something that a user did lately; `time` is in milliseconds since 1970 (contract, `RecentActivity`)."""

    action: str | None = None
    item_title: str | None = None
    item_type: str | None = None
    item_url: str | None = None
    time: Number | None = None
    time_delta_humanized: str | None = None


class RecentActivityList(ListAnswer):
    """What a user did lately (contract, `RecentActivityResponseSchema`)."""

    result: tuple[RecentActivity, ...] = ()

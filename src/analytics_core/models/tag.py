"""Shapes of tags and of what carries them; the contract shows tags in references only, so these are ours."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from analytics_core.models.base import Answer, Moment, Omittable, ReadOnly, StrictShape, Text250, Title250, Whole
from analytics_core.models.enums import TagType
from analytics_core.models.references import UserReference


class TagTarget(StrEnum):
    """What may carry a tag."""

    CHART = "chart"
    DASHBOARD = "dashboard"


class TagPost(StrictShape):
    """A custom tag to create."""

    name: Title250
    description: str | None = None


class TagPut(StrictShape):
    """Changes of a tag."""

    name: Omittable[Title250] = None
    description: str | None = None


class TagGet(Answer):
    """One tag."""

    id: Whole = 0
    name: Text250
    type: TagType = TagType.CUSTOM
    description: str | None = None
    created_by: UserReference | None = None
    changed_by: UserReference | None = None
    changed_on: Moment | None = None
    created_on_delta_humanized: ReadOnly[str] = None
    changed_on_delta_humanized: ReadOnly[str] = None


class TaggedRecord(Answer):
    """A chart or a dashboard that carries a tag."""

    id: Whole = 0
    type: TagTarget
    name: str | None = None
    url: str | None = None


class TagNames(StrictShape):
    """The names to put on a record, or to take from it."""

    target: TagTarget
    names: Annotated[tuple[Title250, ...], Field(min_length=1, max_length=1_000)]


class RecordIds(StrictShape):
    """The ids of records to ask about, at most a thousand."""

    ids: Annotated[tuple[Whole, ...], Field(max_length=1_000)]

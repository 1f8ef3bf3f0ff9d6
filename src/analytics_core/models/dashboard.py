"""Shapes of dashboards, of CSS templates that they may start from, and of tags on charts and dashboards.

The contract shows tags in references only, so the shapes of tags are ours.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from analytics_core.models.base import (
    Answer,
    Bool,
    Ids,
    Integer,
    JsonInput,
    JsonObject,
    JsonText,
    KeyValue,
    Moment,
    Objects,
    Omittable,
    ReadOnly,
    StampedAnswer,
    StrictShape,
    Text250,
    Text255,
    Text500,
    Texts,
    Title250,
    Title255,
)
from analytics_core.models.enums import TagType
from analytics_core.models.references import RoleReference, TagReference, UserDetails, UserReference

_FilterId = Integer | Annotated[str, StringConstraints(min_length=1, max_length=255)]
"""The id of a filter: the contract says integer; real clients make texts of their own."""


class DashboardPost(StrictShape):
    """A dashboard to create; without `owners` the creator owns it (contract, `DashboardRestApi.post`)."""

    dashboard_title: Text500 | None = None
    slug: Title255 | None = None
    css: Omittable[str] = None
    json_metadata: Omittable[JsonInput] = None
    position_json: Omittable[JsonInput] = None
    published: Omittable[Bool] = None
    owners: Omittable[Ids] = None
    roles: Omittable[Ids] = None
    certified_by: str | None = None
    certification_details: str | None = None
    external_url: str | None = None
    is_managed_externally: Bool | None = None


class DashboardPut(StrictShape):
    """Changes of a dashboard (contract, `DashboardRestApi.put`)."""

    dashboard_title: Text500 | None = None
    slug: Text255 | None = None
    css: str | None = None
    json_metadata: JsonInput | None = None
    position_json: JsonInput | None = None
    published: Bool | None = None
    owners: Ids | None = None
    roles: Ids | None = None
    certified_by: str | None = None
    certification_details: str | None = None
    external_url: str | None = None
    is_managed_externally: Bool | None = None


class DashboardCopy(StrictShape):
    """A copy to make of a dashboard; `duplicate_slices` copies its charts too (contract, `DashboardCopySchema`)."""

    json_metadata: JsonInput
    dashboard_title: Text500 | None = None
    css: Omittable[str] = None
    duplicate_slices: Omittable[Bool] = None


class DashboardNativeFiltersUpdate(StrictShape):
    """Changes of a dashboard's filters (contract, `DashboardNativeFiltersConfigUpdateSchema`)."""

    deleted: tuple[_FilterId, ...]
    modified: Objects
    reordered: tuple[_FilterId, ...]


class DashboardPermalinkState(StrictShape):
    """What a permalink to a dashboard remembers (contract, `DashboardPermalinkStateSchema`)."""

    active_tabs: Texts | None = Field(default=None, alias="activeTabs")
    anchor: str | None = None
    data_mask: JsonObject | None = Field(default=None, alias="dataMask")
    url_params: tuple[KeyValue, ...] | None = Field(default=None, alias="urlParams")


class DashboardGet(Answer):
    """One dashboard (contract, `DashboardGetResponseSchema`)."""

    id: Integer = 0
    dashboard_title: str | None = None
    slug: str | None = None
    css: str | None = None
    json_metadata: str | None = None
    position_json: str | None = None
    published: Bool | None = None
    certified_by: str | None = None
    certification_details: str | None = None
    changed_on: Moment | None = None
    changed_on_delta_humanized: str | None = None
    changed_by_name: str | None = None
    changed_by: UserDetails | None = None
    owners: tuple[UserDetails, ...] = ()
    roles: tuple[RoleReference, ...] = ()
    tags: tuple[TagReference, ...] = ()
    charts: Texts = ()
    is_managed_externally: Bool | None = None
    thumbnail_url: str | None = None
    url: str | None = None


class DashboardListItem(Answer):
    """One dashboard of a list (contract, `DashboardRestApi.get_list`)."""

    id: Integer = 0
    dashboard_title: Text500 | None = None
    slug: Text255 | None = None
    css: str | None = None
    json_metadata: JsonText | None = None
    position_json: JsonText | None = None
    published: Bool | None = None
    certified_by: str | None = None
    certification_details: str | None = None
    is_managed_externally: Bool = False
    changed_by: UserReference | None = None
    created_by: UserReference | None = None
    owners: tuple[UserReference, ...] = ()
    roles: tuple[RoleReference, ...] = ()
    tags: tuple[TagReference, ...] = ()
    changed_by_name: ReadOnly[str] = None
    changed_on_delta_humanized: ReadOnly[str] = None
    changed_on_utc: ReadOnly[str] = None
    created_on_delta_humanized: ReadOnly[str] = None
    status: ReadOnly[str] = None
    thumbnail_url: ReadOnly[str] = None
    url: ReadOnly[str] = None


class CssTemplatePost(StrictShape):
    """A CSS template to create (contract, `CssTemplateRestApi.post`)."""

    template_name: Text250 | None = None
    css: str | None = None


class CssTemplatePut(CssTemplatePost):
    """Changes of a CSS template (contract, `CssTemplateRestApi.put`)."""


class CssTemplateGet(StampedAnswer):
    """One CSS template (contract, `CssTemplateRestApi.get`)."""

    id: Integer = 0
    template_name: Text250 | None = None
    css: str | None = None
    created_by: UserReference | None = None


class CssTemplateListItem(CssTemplateGet):
    """One CSS template of a list (contract, `CssTemplateRestApi.get_list`)."""

    created_on: Moment | None = None
    changed_by: UserReference | None = None
    changed_on_delta_humanized: ReadOnly[str] = None


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

    id: Integer = 0
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

    id: Integer = 0
    type: TagTarget
    name: str | None = None
    url: str | None = None


class TagNames(StrictShape):
    """The names to put on a record, or to take from it."""

    target: TagTarget
    names: Annotated[tuple[Title250, ...], Field(min_length=1, max_length=1_000)]


class RecordIds(StrictShape):
    """The ids of records to ask about, at most a thousand."""

    ids: Annotated[tuple[Integer, ...], Field(max_length=1_000)]

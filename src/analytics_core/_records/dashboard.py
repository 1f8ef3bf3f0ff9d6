"""Stored dashboards, how they are embedded, their CSS templates; tags and favourites of charts and dashboards."""

from __future__ import annotations

from dataclasses import dataclass

from analytics_core._records.audit import StoredRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard(StoredRecord):
    """Charts on a page; `json_metadata` and `position_json` are JSON texts, `slug` is unique.

    Without `role_ids` everybody who may read its charts' datasets may open a published dashboard; with them one of the
    roles is needed too (contract, dashboard field `roles`).
    """

    uuid: str
    dashboard_title: str | None = None
    slug: str | None = None
    css: str | None = None
    json_metadata: str | None = None
    position_json: str | None = None
    published: bool = False
    certified_by: str | None = None
    certification_details: str | None = None
    external_url: str | None = None
    is_managed_externally: bool = False
    owner_ids: tuple[int, ...] = ()
    role_ids: tuple[int, ...] = ()
    chart_ids: tuple[int, ...] = ()
    tag_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedDashboard(StoredRecord):
    """Leave to show a dashboard inside other pages; no `allowed_domains`: every origin may."""

    uuid: str
    dashboard_id: int
    allowed_domains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CssTemplate(StoredRecord):
    """A named style sheet that dashboards may start from."""

    template_name: str | None = None
    css: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag(StoredRecord):
    """A label; `type` is the contract's number of the kind of tag (1: made by people)."""

    name: str
    type: int = 1
    description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Favourite(StoredRecord):
    """A user's star on a record; `target` is `chart` or `dashboard`."""

    user_id: int
    target: str
    target_id: int

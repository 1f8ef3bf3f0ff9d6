"""Turns dashboard payloads into records; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from analytics_core._records.dashboard import Dashboard
from analytics_core._resources.batches import uuid_in
from analytics_core._resources.css_text import check_css
from analytics_core._resources.dashboard_content import checked_content
from analytics_core.errors import PayloadSchemaError, Problem
from analytics_core.models.dashboard import DashboardPost, DashboardPut

_KEPT_ON_NULL = frozenset({"published", "is_managed_externally"})
_TAKEN_APART = frozenset({"owners", "roles", "slug", "json_metadata", "position_json"})
_SLUG = re.compile(r"[\w.~-]{1,255}")


def new_dashboard(post: DashboardPost, *, uuid: str, owner_ids: tuple[int, ...], shape: str) -> Dashboard:
    """Return the record of a create payload."""
    return replace(Dashboard(uuid=uuid, owner_ids=owner_ids), **_fields(post, shape=shape))


def changed_dashboard(
    dashboard: Dashboard, put: DashboardPut, *, owner_ids: tuple[int, ...] | None, shape: str
) -> Dashboard:
    """Return the record after an update; null clears what may be empty and leaves everything else as it is."""
    return replace(dashboard, **_fields(put, shape=shape), owner_ids=owner_ids or dashboard.owner_ids)


def is_slug(text: str) -> bool:
    """Tell whether a text has the characters of a slug."""
    return _SLUG.fullmatch(text) is not None and any(map(str.isalnum, text))


def _fields(payload: DashboardPost | DashboardPut, *, shape: str) -> dict[str, Any]:
    given = payload.given()
    check_css(given.get("css"), shape=shape)
    copied = {
        name: value
        for name, value in given.items()
        if name not in _TAKEN_APART and (value is not None or name not in _KEPT_ON_NULL)
    }
    return {**copied, **_slug_and_roles(given, shape=shape), **checked_content(given, shape=shape)}


def _slug_and_roles(given: Mapping[str, Any], *, shape: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if "slug" in given:
        fields["slug"] = _checked_slug(given["slug"], shape=shape)
    if given.get("roles") is not None:
        fields["role_ids"] = tuple(dict.fromkeys(given["roles"]))
    return fields


def _checked_slug(slug: str | None, *, shape: str) -> str | None:
    """Return a slug that can be a part of an address and be told from an id or a UUID; the empty one is none."""
    if not slug:
        return None
    if not is_slug(slug):
        problem = "may hold letters, digits, - . _ and ~, and needs a letter or a digit"
    elif slug.isdecimal() or uuid_in(slug):
        problem = "would be taken for an id; add a letter"
    else:
        return slug
    raise PayloadSchemaError(shape=shape, problems=[Problem(path="slug", message=problem)])

"""Shapes of CSS templates (contract, section CSS template)."""

from __future__ import annotations

from analytics_core.models.base import Moment, ReadOnly, StampedAnswer, StrictShape, Text250, Whole
from analytics_core.models.references import UserReference


class CssTemplatePost(StrictShape):
    """A CSS template to create (contract, `CssTemplateRestApi.post`)."""

    template_name: Text250 | None = None
    css: str | None = None


class CssTemplatePut(StrictShape):
    """Changes of a CSS template (contract, `CssTemplateRestApi.put`)."""

    template_name: Text250 | None = None
    css: str | None = None


class CssTemplateGet(StampedAnswer):
    """One CSS template (contract, `CssTemplateRestApi.get`)."""

    id: Whole = 0
    template_name: Text250 | None = None
    css: str | None = None
    created_by: UserReference | None = None


class CssTemplateListItem(CssTemplateGet):
    """One CSS template of a list (contract, `CssTemplateRestApi.get_list`)."""

    created_on: Moment | None = None
    changed_by: UserReference | None = None
    changed_on_delta_humanized: ReadOnly[str] = None

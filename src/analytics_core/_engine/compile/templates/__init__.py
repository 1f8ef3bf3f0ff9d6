"""Templates in users' SQL: rendered in a sandbox with a closed set of names, then parsed like any other text."""

from __future__ import annotations

from analytics_core._engine.compile.templates.macros import (
    ActorFacts,
    Lookups,
    TemplateFilter,
    TemplateValues,
    TimeBounds,
)
from analytics_core._engine.compile.templates.renderer import RenderedSql, TemplateRenderer, is_template
from analytics_core._engine.compile.templates.text import written_clause

__all__ = [
    "ActorFacts",
    "Lookups",
    "RenderedSql",
    "TemplateFilter",
    "TemplateRenderer",
    "TemplateValues",
    "TimeBounds",
    "is_template",
    "written_clause",
]

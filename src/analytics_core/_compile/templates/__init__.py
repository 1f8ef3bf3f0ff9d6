"""Templates in users' SQL: rendered in a sandbox with a closed set of names, then parsed like any other text."""

from __future__ import annotations

from analytics_core._compile.templates.actor_macros import ActorFacts
from analytics_core._compile.templates.held import written_clause
from analytics_core._compile.templates.lookups import Lookups
from analytics_core._compile.templates.macros import TemplateFilter, TemplateValues, TimeBounds
from analytics_core._compile.templates.renderer import Rendered, TemplateRenderer

__all__ = [
    "ActorFacts",
    "Lookups",
    "Rendered",
    "TemplateFilter",
    "TemplateRenderer",
    "TemplateValues",
    "TimeBounds",
    "written_clause",
]

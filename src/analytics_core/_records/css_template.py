"""A stored CSS template."""

from __future__ import annotations

from dataclasses import dataclass, field

from analytics_core._records.audit import Audit


@dataclass(frozen=True, slots=True, kw_only=True)
class CssTemplate:
    """A named style sheet that dashboards may start from."""

    id: int = 0
    template_name: str | None = None
    css: str | None = None
    audit: Audit = field(default_factory=Audit)

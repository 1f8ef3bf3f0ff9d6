"""Tags and favourites: what people stick on charts and dashboards."""

from __future__ import annotations

from dataclasses import dataclass, field

from analytics_core._records.audit import Audit


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A label; `type` is the contract's number of the kind of tag (1: made by people)."""

    id: int = 0
    name: str
    type: int = 1
    description: str | None = None
    audit: Audit = field(default_factory=Audit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Favourite:
    """A user's star on a record; `target` is `chart` or `dashboard`."""

    id: int = 0
    user_id: int
    target: str
    target_id: int
    audit: Audit = field(default_factory=Audit)

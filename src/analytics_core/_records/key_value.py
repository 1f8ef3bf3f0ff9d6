"""Small texts under a key: permalinks, form data, cut-off times of guest tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from analytics_core._records.audit import Audit


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyValue:
    """A JSON text under a key that is unique among its `kind`; after `expires_on` (None: never) it counts as gone."""

    id: int = 0
    kind: str
    key: str
    value: str
    expires_on: datetime | None = None
    audit: Audit = field(default_factory=Audit)

"""Stored annotation layers and their annotations."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from analytics_core._records.audit import Audit


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationLayer:
    """A named collection of annotations that charts may show."""

    id: int = 0
    name: str
    descr: str | None = None
    audit: Audit = field(default_factory=Audit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """Something that happened from `start_dttm` to `end_dttm` (aware, UTC); `json_metadata` is a JSON text."""

    id: int = 0
    layer_id: int
    start_dttm: datetime
    end_dttm: datetime
    short_descr: str
    long_descr: str | None = None
    json_metadata: str | None = None
    audit: Audit = field(default_factory=Audit)

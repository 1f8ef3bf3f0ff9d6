"""Time formats as forms name them (those of d3): moments in UTC as texts, and axes of Vega."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final

from analytics_core._pictures import cells
from analytics_core._tools.display.blocks import NULL
from analytics_core._tools.formats import format_time

SMART: Final = "smart_date"
_ADAPTIVE: Final = frozenset({"smart_date", "smart_date_verbose", "smart_date_detailed", "adaptive_formatting"})
_DIRECTIVE: Final = re.compile(r"%[-_0]?([A-Za-z%])")
_KNOWN: Final = frozenset("aAbBcdefgGHIjLmMpqQsSuUVwWxXyYZ%")


def time_format(spec: Any) -> str | None:
    """Return a d3 time format; empty where the form asks for what suits the axis, None where it is no format."""
    if spec is None or spec == "" or (isinstance(spec, str) and spec in _ADAPTIVE):
        return ""
    if not isinstance(spec, str) or len(spec) > 60 or not spec.isprintable():
        return None
    named = _DIRECTIVE.findall(spec)
    return spec if named and spec.count("%") >= len(named) and _KNOWN.issuperset(named) else None


def moment_text(ms: int | None, spec: str, *, grain: str | None = None) -> str:
    """Return a moment in UTC as text; an empty format writes as much of it as its grain has."""
    if ms is None:
        return NULL
    moment = cells.moment(ms)
    if moment is None:
        return str(ms)
    return format_time(moment, spec) if spec else _plain(moment, grain)


def _plain(moment: datetime, grain: str | None) -> str:
    if grain == "P1Y" and (moment.month, moment.day) == (1, 1):
        return f"{moment.year:04d}"
    if grain in ("P3M", "P0.25Y") and moment.month % 3 == 1 and moment.day == 1:
        return f"{moment.year:04d} Q{moment.month // 3 + 1}"
    if grain in ("P1M", "P3M", "P0.25Y") and moment.day == 1:
        return f"{moment.year:04d}-{moment.month:02d}"
    return cells.date_text(moment)

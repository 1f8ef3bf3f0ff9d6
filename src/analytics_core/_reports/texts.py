"""Subjects and bodies that a schedule writes itself: texts with the names of facts of a run in double braces; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Final

from analytics_core._reports.schedule import zone_of
from analytics_core.errors import nearest

_NAME: Final = re.compile(r"\{\{([^{}]*)\}\}")
"""Without braces inside, so that a text of many braces, or of one and many blanks, is read once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What texts of a schedule may name.

    `title` is that of the chart or dashboard, `scheduled` the due time in the schedule's zone, `value` the number that
    an alert's query gave, empty for a report.
    """

    name: str
    type: str
    title: str
    scheduled: str
    value: str = ""
    link: str = ""


FACTS: Final = tuple(one.name for one in fields(RunFacts))


def unknown_names(template: str) -> Iterator[str]:
    """Yield what is wrong with each name in a template that is none of the facts."""
    for name in map(str.strip, _NAME.findall(template)):
        if name not in FACTS:
            close = nearest(name, FACTS)
            hint = f"did you mean {close[0]!r}?" if close else f"it may name {', '.join(FACTS)}"
            yield f"names {name[:50]!r} in double braces; {hint}"
    if re.search(r"\{\{|\}\}", _NAME.sub("", template)):
        yield "has double braces without their counterparts; a name stands as {{ name }}"


def filled_in(template: str, facts: RunFacts) -> str:
    """Return a template with the facts in the places of their names; other names stay as they are."""
    known: Mapping[str, str] = {name: getattr(facts, name) for name in FACTS}
    return _NAME.sub(lambda found: known.get(found[1].strip(), found[0]), template)


def local_time(moment: datetime, zone: str) -> str:
    """Return a due time as people in the zone write it, to the minute: `2026-03-29 09:00 CEST`."""
    return f"{moment.astimezone(zone_of(zone)):%Y-%m-%d %H:%M %Z}"

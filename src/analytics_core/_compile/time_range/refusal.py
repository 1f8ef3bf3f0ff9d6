"""How a time text is refused: what was read, why not, and what would work."""

from __future__ import annotations

import re

from analytics_core.errors import TimeRangeError, nearest

_SHOWN_CHARACTERS = 60

_FORMS = (
    "Last {n} seconds", "Last {n} minutes", "Last {n} hours", "Last {n} days", "Last {n} weeks", "Last {n} months",
    "Last {n} quarters", "Last {n} years", "Next {n} hours", "Next {n} days", "Next {n} weeks", "Next {n} months",
    "Next {n} years", "Last day", "Last week", "Last month", "Last quarter", "Last year", "Next week", "Next month",
    "Next year", "No filter", "previous calendar week", "previous calendar month", "previous calendar quarter",
    "previous calendar year", "current day", "current week", "current month", "current quarter", "current year",
    "first week of this month", "first month of last quarter", "start of this month : now", "today", "yesterday",
    "tomorrow", "{n} days ago", "{n} hours ago", "{n} weeks ago", "{n} months ago", "{n} years ago",
    "{n} days from now", "{n} days ago : now", "{n} months ago : today",
)  # fmt: skip

_EXAMPLES = "'2024-01-01 : 2024-02-01', 'Last 7 days', '7 days ago : now', 'previous calendar month' or 'No filter'"


def shown(text: str) -> str:
    """Return the text as messages quote it, cut to a readable length."""
    return repr(text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…")


def impossible(text: str, reason: str) -> TimeRangeError:
    """Return the error for a text that is understood but means nothing; `reason` says what would work."""
    return TimeRangeError(f"time range {shown(text)} {reason}")


def refusal(text: str, reason: str) -> TimeRangeError:
    """Return the error for a text that is not understood: why, the nearest accepted form if any, and examples."""
    near = nearest(text[:_SHOWN_CHARACTERS], _forms_for(text))
    hint = f"did you mean {near[0]!r}? Other forms" if near else "write for example"
    return TimeRangeError(f"time range {shown(text)} {reason}; {hint}: {_EXAMPLES}")


def _forms_for(text: str) -> tuple[str, ...]:
    number = re.search(r"(?<![0-9])[0-9]{1,4}(?![0-9])", text)
    count = number.group() if number else "7"
    return tuple(form.format(n=count) for form in _FORMS)

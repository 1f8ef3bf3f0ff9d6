"""What a schedule says in its `extra`, for which the contract has no field of its own; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeVar

from analytics_core._reports.texts import unknown_names
from analytics_core.errors import Problem, StoredDataError, nearest


class MissedRuns(StrEnum):
    """Which due times are made up for when nobody looked at their time; the others are logged as missed."""

    SKIP = "skip"
    LATEST = "latest"
    ALL = "all"


class RunAs(StrEnum):
    """Whose rows are sent: those of the schedule's executor, or to each recipient their own."""

    EXECUTOR = "executor"
    RECIPIENT = "recipient"


class DeliveryPromise(StrEnum):
    """What happens to a message of which nobody knows whether it was handed over before its sender died."""

    AT_MOST_ONCE = "at_most_once"
    AT_LEAST_ONCE = "at_least_once"


class FurtherFormat(StrEnum):
    """Formats beyond those of the contract's `report_format`."""

    XLSX = "XLSX"
    PDF = "PDF"


class AttachedFormat(StrEnum):
    """Formats of files that come beside what the format of a schedule is."""

    CSV = "CSV"
    XLSX = "XLSX"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """The options of one schedule.

    `format` None is `report_format`, `attach` are files beside it; with `skip_when_empty` a message without rows is not
    sent; receivers that are away are tried again for `keep_trying_s` seconds. `filters` and `tabs` are those that a
    dashboard is asked with, no tabs for all of them; `subject` and `body` are templates, None for the library's own.
    """

    format: FurtherFormat | None = None
    attach: Sequence[str] = ()
    skip_when_empty: bool = False
    keep_trying_s: int = 0
    missed: MissedRuns = MissedRuns.LATEST
    run_as: RunAs = RunAs.EXECUTOR
    delivery: DeliveryPromise = DeliveryPromise.AT_MOST_ONCE
    filters: Mapping[str, Any] = field(default_factory=dict)
    tabs: Sequence[str] = ()
    subject: str | None = None
    body: str | None = None


_CHOICES: Final[Mapping[str, type[StrEnum]]] = {
    "format": FurtherFormat,
    "missed": MissedRuns,
    "run_as": RunAs,
    "delivery": DeliveryPromise,
}
_TEXTS: Final = ("subject", "body")
_LONGEST_TEMPLATE: Final = 10_000
_LONGEST_EXTRA: Final = 100_000
_MOST_KEYS: Final = 100
_LEAST_TRIED_S: Final = 300
_LONGEST_TRIED_S: Final = 86_400
KNOWN: Final = (*_CHOICES, *_TEXTS, "filters", "tabs", "attach", "skip_when_empty", "keep_trying_s")
"""The keys of `extra`."""
_STATE_OF_DASHBOARD: Final = "dashboard"
"""Superset's key for filters and tabs; empty, as its clients send it, it says nothing, and is taken."""

Choice = TypeVar("Choice", bound=StrEnum)


def options_in(extra: Mapping[str, Any]) -> tuple[ReportOptions, tuple[Problem, ...]]:
    """Return the options of an `extra`, and what is wrong with it; what is wrong is left out of the options."""
    given: dict[str, Any] = {}
    problems = []
    for name, value in extra.items():
        message = _problem(name, value)
        if message is not None:
            problems.append(Problem(path=f"extra.{name}", message=message))
        elif name in KNOWN and value is not None:
            given[name] = _CHOICES[name](value) if name in _CHOICES else value
    return ReportOptions(**given), tuple(problems)


def options_of(extra: str | None) -> ReportOptions:
    """Return the options of a stored `extra`.

    Raises:
        StoredDataError: the store holds no such options, so that nobody knows whose rows are sent, and how.
    """
    if not extra:
        return ReportOptions()
    content = extra_in(extra)
    options, problems = options_in({name: content[name] for name in KNOWN if name in content})
    if problems:
        raise StoredDataError(f"{problems[0].path} of a report schedule {problems[0].message}; save it anew")
    return options


def extra_in(extra: str | None) -> Mapping[str, Any]:
    """Return a stored `extra` as it was given; StoredDataError where the store holds no JSON object in its place."""
    try:
        content = json.loads(extra or "{}")
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise StoredDataError("the extra of a report schedule cannot be read; save it anew")
    return content


def size_problem(extra: Mapping[str, Any]) -> Problem | None:
    """Return what is wrong with an `extra` that is too large to be read at each run; None where nothing is."""
    if len(extra) > _MOST_KEYS:
        return Problem(path="extra", message=f"may have {_MOST_KEYS} keys at most")
    if len(json.dumps(extra, ensure_ascii=False)) > _LONGEST_EXTRA:
        return Problem(path="extra", message=f"may take {_LONGEST_EXTRA} characters as JSON at most")
    return None


def _problem(name: str, value: Any) -> str | None:
    """Return what is wrong with one key and its value; None where nothing is."""
    if name not in KNOWN:
        return _problem_of_other(name, value)
    if value is None:
        return None
    if name in _CHOICES:
        choices = tuple(_CHOICES[name])
        more = ", or the id or user name of who saves it" if name == "run_as" else ""
        return None if value in choices else f"must be one of {', '.join(choices)}{more}"
    if name in _TEXTS:
        is_text = isinstance(value, str) and len(value) <= _LONGEST_TEMPLATE
        wrong = f"must be a text of at most {_LONGEST_TEMPLATE} characters"
        return next(unknown_names(value), None) if is_text else wrong
    is_right, wrong = _judged(name, value)
    return None if is_right else wrong


def _judged(name: str, value: Any) -> tuple[bool, str]:
    """Return whether a value is one that a key takes, and what it must be."""
    texts = value if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value) else None
    match name:
        case "filters":
            return isinstance(value, Mapping), "must be an object: the filters that `dashboards.data` takes"
        case "tabs":
            return texts is not None, "must be an array of texts: titles or ids of tabs"
        case "attach":
            is_right = texts is not None and set(texts) <= set(AttachedFormat)
            return is_right, f"must be an array of {', '.join(AttachedFormat)}"
        case "keep_trying_s":
            is_right = type(value) is int and _LEAST_TRIED_S <= value <= _LONGEST_TRIED_S
            return is_right, f"must be a whole number of seconds, from {_LEAST_TRIED_S} to {_LONGEST_TRIED_S}"
    return isinstance(value, bool), "must be true or false"


def _problem_of_other(name: str, value: Any) -> str | None:
    if name == _STATE_OF_DASHBOARD and value:
        return "is not read; name filters in extra.filters, and tabs in extra.tabs"
    if name == _STATE_OF_DASHBOARD:
        return None
    close = nearest(name, KNOWN)
    hint = f"did you mean {close[0]!r}?" if close else f"the keys are {', '.join(KNOWN)}"
    return f"is no key that is read; {hint}"

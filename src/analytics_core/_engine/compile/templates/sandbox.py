"""The sandbox in which templates render: closed lists of nodes, names, filters and attributes, and a budget for all.

Nothing here trusts the template: every operation that can make something large asks first, every loop pays for its
rounds before it starts, and what is not listed does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Final

from analytics_core._engine.compile.templates.text import (
    MomentLiteral,
    MomentText,
    UserText,
    number_mark,
    quoted_mark,
    raw_text,
)
from analytics_core.errors import MissingTemplateValueError, TemplateError

MAX_TEXT: Final = 200_000
MAX_ITEMS: Final = 60_000
MAX_RANGE: Final = 10_000
MAX_STEPS: Final = 1_000_000
MAX_INTEGER: Final = 10**30


@dataclass(slots=True)
class TemplateSteps:
    """The steps of work that templates may still do: those of one rendering, or of all the renderings of a request."""

    remaining: int = MAX_STEPS


@dataclass(slots=True, kw_only=True)
class RenderState:
    """The budget of one rendering, and the filters that it took; `holds`: its values are bound instead of written."""

    steps: TemplateSteps = field(default_factory=TemplateSteps)
    holds: bool = False
    removed: list[str] = field(default_factory=list)

    def spend(self, steps: int) -> None:
        """Take `steps` from the budget; TemplateError when it is used up."""
        self.steps.remaining -= steps
        if self.steps.remaining < 0:
            raise TemplateError("the templates of the request do too much work; make their loops shorter")

    def text(self, length: int) -> None:
        """Pay for a text of `length` characters before it is made."""
        if length > MAX_TEXT:
            raise TemplateError(f"a template makes a text of more than {MAX_TEXT} characters")
        self.spend(1 + length // 8)


@dataclass(frozen=True, slots=True)
class Macro:
    """A function that templates may call; `run` gets the state first."""

    run: Callable[..., Any]


# ------------------------------------------------------------------------------------------------------------- values
def piece(value: object) -> str:
    """Return a scalar as it is written into SQL; lists, maps and missing values are refused."""
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case MomentText():
            return value.written
        case str():
            return str.__str__(value)
        case int() | float() if abs(value) <= MAX_INTEGER:
            return number_mark(value) if value < 0 else str(value)
        case datetime():
            return value.replace(tzinfo=None).isoformat(sep=" ")
        case date():
            return value.isoformat()
        case None:
            raise MissingTemplateValueError("a template writes something that has no value; give it a default(...)")
        case list() | tuple() | dict():
            raise TemplateError("a template writes a list; use |where_in, or join its members")
    if type(value).__name__ == "StrictUndefined":
        str(value)  # raises, and names what is missing
    raise TemplateError("a template writes something that is not text, a number or a date")


def join(state: RenderState, separator: object, items: Iterable[object]) -> str:
    """Return the items with the separator between them."""
    pieces = [piece(item) for item in bounded(state, items)]
    glue = piece(separator)
    state.text(sum(map(str.__len__, pieces)) + str.__len__(glue) * max(len(pieces) - 1, 0))
    return glue.join(pieces)


def bounded(state: RenderState, items: object) -> list[Any]:
    """Return the members of a list, the keys of a map or the letters of a text, after paying for them."""
    if not isinstance(items, list | tuple | dict | str):
        raise TemplateError("a template goes through something that is not a list")
    state.spend(1 + len(items))
    if len(items) > MAX_ITEMS:
        raise TemplateError(f"a template goes through more than {MAX_ITEMS} items")
    return list(items)


def flat(state: RenderState, value: object, depth: int = 3) -> Any:
    """Return a list or map after making sure that it is not nested deeper than `depth`."""
    if isinstance(value, list | tuple | dict):
        if depth == 0:
            raise TemplateError("a template nests lists too deeply")
        members = list(value.values()) if isinstance(value, dict) else value
        state.spend(1 + len(members))
        for member in members:
            flat(state, member, depth - 1)
    return value


def operate(state: RenderState, operator: str, left: Any, right: Any) -> Any:
    """Return the result of an operator; texts can only be added, numbers stay below 10^30.

    Moments subtract to a span of time, which moves a moment on by `+` and back by `-`.
    """
    state.spend(1)
    if operator == "+" and isinstance(left, str) and isinstance(right, str):
        return join(state, "", [left, right])
    if operator == "+" and isinstance(left, list) and isinstance(right, list):
        return bounded(state, left) + bounded(state, right)
    if operator in ("+", "-") and (moment := _moment(left)) is not None:
        return _moved(operator, moment, _moment(right) or right)
    if not (isinstance(left, int | float) and isinstance(right, int | float)):
        raise TemplateError(f"a template cannot use {operator!r} between these values")
    if operator == "**" and (abs(right) > 100 or abs(left) > 10**6):
        raise TemplateError("a template makes a number that is too large")
    result = _ARITHMETIC[operator](left, right)
    if isinstance(result, complex) or abs(result) > MAX_INTEGER:
        raise TemplateError("a template makes a number that is too large")
    return result


def _moment(value: Any) -> datetime | None:
    """Return a moment in UTC, without a zone; None for what is none."""
    moment = value.moment if isinstance(value, MomentText | MomentLiteral) else value
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        return moment if isinstance(moment, datetime) else None
    return moment.replace(tzinfo=None) - (moment.utcoffset() or timedelta())


def _moved(operator: str, moment: datetime, other: Any) -> datetime | timedelta:
    try:
        if operator == "-" and isinstance(other, datetime):
            return moment - other
        if isinstance(other, timedelta):
            return moment + (other if operator == "+" else -other)
    except OverflowError:
        raise TemplateError("a template makes a moment outside the years 1 to 9999") from None
    raise TemplateError(f"a template cannot use {operator!r} between a moment and that; a moment minus a moment works")


_ARITHMETIC: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
}


_FORMAT: Final = re.compile(r"(?:%[a-zA-Z%]|[^%]){0,100}")


def check_format(text: str) -> str:
    """Return a strftime format; TemplateError for widths and flags, which could make endless padding."""
    if not _FORMAT.fullmatch(text):
        raise TemplateError("a time format in a template may hold plain directives such as %Y only")
    return text


# --------------------------------------------------------------------------------------------------------- attributes
_TEXT_METHODS: Final = frozenset(
    {"upper", "lower", "strip", "lstrip", "rstrip", "title", "capitalize", "startswith", "endswith", "split"}
)
_MOMENT_FIELDS: Final = frozenset({"year", "month", "day", "hour", "minute", "second"})
_SPAN_FIELDS: Final = frozenset({"days", "seconds"})
_LOOP_FIELDS: Final = frozenset(
    {"index", "index0", "revindex", "revindex0", "first", "last", "length", "previtem", "nextitem"}
)


def find_attribute(obj: Any, name: str) -> Any:
    """Return what a template reads as `obj.name`; LookupError when templates may not read it."""
    if isinstance(obj, str):
        return _text_method(obj, name)
    if isinstance(obj, Mapping):
        return _map_method(obj, name)
    if isinstance(obj, date | timedelta):
        return _time_attribute(obj, name)
    if type(obj).__name__ == "LoopContext" and name in _LOOP_FIELDS:
        return getattr(obj, name)
    raise LookupError(name)


def _time_attribute(obj: date | timedelta, name: str) -> Any:
    if isinstance(obj, timedelta) and name == "total_seconds":
        return Macro(lambda _state: obj.total_seconds())
    if isinstance(obj, date) and name in ("strftime", "isoformat"):
        return Macro(lambda _state, *args: getattr(obj, name)(*(check_format(str(raw_text(arg))) for arg in args)))
    if name in (_SPAN_FIELDS if isinstance(obj, timedelta) else _MOMENT_FIELDS) and hasattr(obj, name):
        return getattr(obj, name)
    raise LookupError(name)


def _map_method(obj: Mapping[str, Any], name: str) -> Any:
    if name in obj:
        return obj[name]
    if name in ("items", "keys", "values"):
        return Macro(lambda state: [pair if name != "items" else list(pair) for pair in _spent(state, obj, name)])
    if name == "get":
        return Macro(lambda _state, key, default=None: obj.get(str(raw_text(key)), default))
    raise LookupError(name)


def _spent(state: RenderState, obj: Mapping[str, Any], name: str) -> list[Any]:
    state.spend(1 + len(obj))
    return list(getattr(obj, name)())


def _text_method(text: str, name: str) -> Macro:
    if name == "join":
        return Macro(lambda state, items: join(state, text, items))
    if name == "replace":
        return Macro(lambda state, old, new: replace_text(state, text, old, new))
    if name not in _TEXT_METHODS:
        raise LookupError(name)

    def run(state: RenderState, *args: object) -> Any:
        state.text(len(text))
        result = getattr(str(raw_text(text)), name)(*(raw_text(arg) for arg in args))
        return like(text, result)

    return Macro(run)


def like(text: object, result: Any) -> Any:
    """Return `result` marked as a user's text when `text` is."""
    if not isinstance(text, UserText):
        return result
    if isinstance(result, list):
        return [UserText(item) for item in result]
    return UserText(result) if isinstance(result, str) else result


def replace_text(state: RenderState, text: object, old: object, new: object) -> Any:
    """Return the text with each `old` replaced; its size is known before it is made."""
    source, before, after = (str(raw_text(item)) for item in (text, old, new))
    if not before:
        raise TemplateError("a template replaces nothing: replace() needs a text to look for")
    state.text(max(len(source) + source.count(before) * (len(after) - len(before)), len(source)))
    result = source.replace(before, after)
    return UserText(result) if isinstance(text, UserText) or isinstance(new, UserText) else result


def where_in(state: RenderState, values: object, default_to_none: bool = False) -> str | None:
    """Return `('a', 'b', 3)`; an empty list gives None, or (NULL), which no row is in."""
    items = bounded(state, values if isinstance(values, list | tuple) else [values])
    if not items:
        return None if default_to_none else "(NULL)"
    pieces = [_member(item) for item in items]
    state.text(sum(map(len, pieces)) + 2 * len(pieces))
    return f"({', '.join(pieces)})"


def _member(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, date | MomentText):
        return quoted_mark(piece(value))
    return quoted_mark(value) if isinstance(value, str) else piece(value)

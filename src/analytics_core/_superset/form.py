"""The form data of a chart: the fields that its editor stores, read one by one; what is wrong is told at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from analytics_core._records.chart_form import is_on
from analytics_core.errors import PayloadSchemaError, Problem
from analytics_core.errors.base import short_repr

SHAPE: Final = "form_data"
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_LISTS: Final = (list, tuple)
_UNSET: Final[tuple[Any, ...]] = (None, "", "None", False, [], {})
_OBJECTS: Final = (dict, Mapping)
"""Plain dicts first: they are what forms hold, and the quicker to tell."""


@dataclass(slots=True)
class FormValue:
    """A value of a payload with the fields of the form that it comes from.

    Nobody changes one. It is not frozen, since a form makes dozens, and a frozen record takes three times as long.
    """

    value: Any
    origin: tuple[str, ...] = ()


class Form:
    """The fields of a chart, and what was rejected of them.

    Args:
        fields: as they are stored.
        defaults: what the editor shows, and asks, where a field is absent; null is not absent.
        given_as: the names of fields that stand under another name than they are asked for.
        of: the form that this one is a view of; what is rejected or told of one is so of both.

    Attributes:
        get: returns a field by its name as it is stored, or its default; None where there is neither.
    """

    __slots__ = ("_given_as", "_notes", "_problems", "_values", "get")

    get: Callable[[str], Any]

    def __init__(
        self,
        fields: Mapping[str, Any],
        *,
        defaults: Mapping[str, Any] | None = None,
        given_as: Mapping[str, str] | None = None,
        of: Form | None = None,
    ) -> None:
        self._values: dict[str, Any] = {**(defaults or {}), **fields}
        self.get = self._values.get  # a method of ours would take twice as long, dozens of times a form
        self._given_as = given_as or {}
        self._problems: list[Problem] = [] if of is None else of._problems
        self._notes: list[str] = [] if of is None else of._notes

    def name(self, name: str) -> str:
        """Return the name under which a field is stored."""
        return self._given_as.get(name, name)

    def has(self, name: str) -> bool:
        """Tell whether a field is there; null counts."""
        return name in self._values

    def text(self, name: str) -> str | None:
        """Return a text; None where it is absent, null or empty."""
        value = self.get(name)
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            self.reject(name, "must be text")
            return None
        return value

    def number(self, name: str) -> int | float | None:
        """Return a number, which editors store as text too; None where it is absent, null or empty."""
        value = self.get(name)
        if value is None or value == "":
            return None
        read = _number(value)
        if read is None:
            self.reject(name, "must be a number")
        return read

    def count(self, name: str) -> int | None:
        """Return a whole number of things, None as in `number`."""
        value = self.get(name)
        if value is None or (type(value) is int and value >= 0):
            count: int | None = value
            return count
        value = self.number(name)
        if value is None:
            return None
        if value != int(value) or value < 0:
            self.reject(name, "must be a whole number, 0 or more")
            return None
        return int(value)

    def flag(self, name: str) -> bool:
        """Tell whether a field is on."""
        return is_on(self.get(name))

    def mapping(self, name: str) -> Mapping[str, Any]:
        """Return an object; empty where it is absent or null."""
        value = self.get(name)
        if value is None:
            return _NOTHING
        if not isinstance(value, _OBJECTS):
            self.reject(name, "must be an object")
            return _NOTHING
        found: Mapping[str, Any] = value
        return found

    def items(self, name: str) -> tuple[FormValue, ...]:
        """Return the items of a list, or one value as a list of it; nulls and empty texts are left out."""
        origin = (self._given_as.get(name, name),)
        return tuple([FormValue(item, origin) for item in self.listed(name)])

    def listed(self, name: str) -> Sequence[Any]:
        """Return the plain values of `items`."""
        value = self.get(name)
        if value is None or value == "":
            return ()
        if not isinstance(value, _LISTS):
            return (value,)
        return [item for item in value if item is not None and item != ""]

    def columns(self, name: str) -> tuple[FormValue, ...]:
        """Return the columns of a field: names and ad-hoc columns."""
        return self._checked(name, is_column, "must be the name of a column, or an ad-hoc column object")

    def metrics(self, name: str) -> tuple[FormValue, ...]:
        """Return the metrics of a field: names and ad-hoc metrics."""
        return self._checked(name, is_metric, "must be the name of a metric, or an ad-hoc metric object")

    def reject(self, path: str, message: str) -> None:
        """Note that a field is wrong; `check` raises for all of them."""
        first, dot, rest = path.partition(".")
        self._problems.append(Problem(path=f"{self.name(first)}{dot}{rest}", message=message))

    def check(self) -> None:
        """Raise PayloadSchemaError for all that was rejected."""
        if self._problems:
            raise PayloadSchemaError(shape=SHAPE, problems=self._problems)

    @property
    def notes(self) -> tuple[str, ...]:
        """What builders told of the form, each once."""
        return tuple(dict.fromkeys(self._notes))

    def tell(self, what: str, *names: str) -> None:
        """Tell what becomes of fields, or how a payload differs by them, where they are set to something."""
        fields = [self.name(name) for name in names if self.get(name) not in _UNSET]
        if fields:
            self._notes.append(f"{', '.join(fields)}: {what}")

    def one_of(self, name: str, known: Iterable[str]) -> str | None:
        """Return a text that is among the known ones; None for another, which is told, and where it is not set."""
        value = self.get(name)
        words = sorted(known)
        if isinstance(value, str) and value in words:
            return value
        if value not in _UNSET:
            note = f"{self.name(name)}: {short_repr(value)} is none of {', '.join(words)}, and is not applied"
            self._notes.append(note)
        return None

    def second(self, suffix: str, *, own: Iterable[str], defaults: Mapping[str, Any]) -> Form:
        """Return a view in which the fields with a suffix stand for those without it, where they are there.

        Where they are not, the view has those of the form, but for its `own`: they are as absent, with their defaults.
        """
        given_as = {name[: -len(suffix)]: name for name in self._values if name.endswith(suffix)}
        given_as |= {name: f"{name}{suffix}" for name in own}
        renamed = {name: self._values[stored] for name, stored in given_as.items() if stored in self._values}
        shared = {name: value for name, value in self._values.items() if name not in given_as}
        return Form({**shared, **renamed}, defaults=defaults, given_as=given_as, of=self)

    def _checked(self, name: str, is_kind: Callable[[Any], bool], message: str) -> tuple[FormValue, ...]:
        value = self.get(name)
        if value is None:
            return ()
        origin = (self._given_as.get(name, name),)
        if isinstance(value, str):
            return (FormValue(value, origin),) if value else ()
        found = []
        for place, item in enumerate(self.listed(name)):
            if is_kind(item):
                found.append(FormValue(item, origin))
            else:
                self.reject(f"{name}.{place}", message)
        return tuple(found)


def is_object(value: Any) -> bool:
    """Tell whether a value is an object."""
    return isinstance(value, _OBJECTS)


def is_column(value: Any) -> bool:
    """Tell whether a value can be a column: a name, or an object with an expression."""
    return isinstance(value, str) or (isinstance(value, _OBJECTS) and isinstance(value.get("sqlExpression"), str))


def is_metric(value: Any) -> bool:
    """Tell whether a value can be a metric: a name, or an object that says what it computes."""
    return isinstance(value, str) or (isinstance(value, _OBJECTS) and ("expressionType" in value or "label" in value))


def distinct(values: tuple[FormValue, ...], label: Callable[[Any], str]) -> tuple[FormValue, ...]:
    """Return values of which each label comes once, the first one."""
    if len(values) < 2:
        return values
    found: dict[str, FormValue] = {}
    for value in values:
        found.setdefault(label(value.value), value)
    return tuple(found.values())


def _number(value: Any) -> int | float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value if math.isfinite(value) else None
    try:
        read = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if not math.isfinite(read):
        return None
    return int(read) if read == int(read) else read

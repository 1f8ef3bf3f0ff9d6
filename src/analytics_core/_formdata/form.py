"""The form data of a chart: the fields that its editor stores, read one by one; what is wrong is told at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from analytics_core.errors import PayloadSchemaError, Problem

SHAPE: Final = "form_data"


class FormValue(NamedTuple):
    """A value of a payload with the fields of the form that it comes from."""

    value: Any
    origin: tuple[str, ...] = ()


class Form:
    """The fields of a chart; every field that is asked for counts as read.

    Args:
        fields: as they are stored.
        defaults: what the editor shows, and asks, where a field is absent; null is not absent.
        given_as: the names of fields that stand under another name than they are asked for.
        read: the names of fields that were asked for, shared with the form that this one is a view of.
        problems: what was rejected, shared likewise.
    """

    __slots__ = ("_defaults", "_fields", "_given_as", "_problems", "_read")

    def __init__(
        self,
        fields: Mapping[str, Any],
        *,
        defaults: Mapping[str, Any] | None = None,
        given_as: Mapping[str, str] | None = None,
        read: set[str] | None = None,
        problems: list[Problem] | None = None,
    ) -> None:
        self._fields = fields
        self._defaults = defaults or {}
        self._given_as = given_as or {}
        self._read = set() if read is None else read
        self._problems = [] if problems is None else problems

    @property
    def unread(self) -> frozenset[str]:
        """The names of the fields that nobody asked for."""
        return frozenset(self._fields.keys() - self._read)

    def name(self, name: str) -> str:
        """Return the name under which a field is stored."""
        return self._given_as.get(name, name)

    def get(self, name: str) -> Any:
        """Return a field as it is stored, or its default."""
        stored = self._given_as.get(name, name)
        self._read.add(stored)
        if stored in self._fields:
            return self._fields[stored]
        return self._defaults.get(name)

    def has(self, name: str) -> bool:
        """Tell whether a field is there; null counts."""
        stored = self.name(name)
        self._read.add(stored)
        return stored in self._fields or name in self._defaults

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
        value = self.number(name)
        if value is None:
            return None
        if value != int(value) or value < 0:
            self.reject(name, "must be a whole number, 0 or more")
            return None
        return int(value)

    def flag(self, name: str) -> bool:
        """Tell whether a field is on."""
        value = self.get(name)
        return value is True or (isinstance(value, str) and value.casefold() == "true")

    def mapping(self, name: str) -> Mapping[str, Any]:
        """Return an object; empty where it is absent or null."""
        value = self.get(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self.reject(name, "must be an object")
            return {}
        return value

    def items(self, name: str) -> tuple[FormValue, ...]:
        """Return the items of a list, or one value as a list of it; nulls and empty texts are left out."""
        value = self.get(name)
        listed = value if isinstance(value, list | tuple) else (value,)
        origin = (self.name(name),)
        return tuple(FormValue(item, origin) for item in listed if item is not None and item != "")

    def columns(self, name: str) -> tuple[FormValue, ...]:
        """Return the columns of a field: names and ad-hoc columns."""
        return tuple(self._checked(name, is_column, "must be the name of a column, or an ad-hoc column object"))

    def metrics(self, name: str) -> tuple[FormValue, ...]:
        """Return the metrics of a field: names and ad-hoc metrics."""
        return tuple(self._checked(name, is_metric, "must be the name of a metric, or an ad-hoc metric object"))

    def reject(self, path: str, message: str) -> None:
        """Note that a field is wrong; `check` raises for all of them."""
        first, dot, rest = path.partition(".")
        self._problems.append(Problem(path=f"{self.name(first)}{dot}{rest}", message=message))

    def check(self) -> None:
        """Raise PayloadSchemaError for all that was rejected."""
        if self._problems:
            raise PayloadSchemaError(shape=SHAPE, problems=self._problems)

    def second(self, suffix: str) -> Form:
        """Return a view in which the fields with a suffix stand for those without it, where they are there."""
        own = {name[: -len(suffix)]: name for name in self._fields if name.endswith(suffix)}
        return Form(self._fields, defaults=self._defaults, given_as=own, read=self._read, problems=self._problems)

    def _checked(self, name: str, is_kind: Any, message: str) -> Iterator[FormValue]:
        for place, item in enumerate(self.items(name)):
            if is_kind(item.value):
                yield item
            else:
                self.reject(f"{name}.{place}", message)


def is_column(value: Any) -> bool:
    """Tell whether a value can be a column: a name, or an object with an expression."""
    return isinstance(value, str) or (isinstance(value, Mapping) and isinstance(value.get("sqlExpression"), str))


def is_metric(value: Any) -> bool:
    """Tell whether a value can be a metric: a name, or an object that says what it computes."""
    return isinstance(value, str) or (isinstance(value, Mapping) and bool(value.keys() & {"expressionType", "label"}))


def column_label(column: Any) -> str:
    """Return the label under which a column's values come back."""
    if isinstance(column, str):
        return column
    return str(column.get("label") or column.get("sqlExpression"))


def metric_label(metric: Any) -> str:
    """Return the label under which a metric's values come back."""
    if isinstance(metric, str):
        return metric
    if metric.get("label"):
        return str(metric["label"])
    column = metric.get("column")
    if metric.get("expressionType") == "SIMPLE" and isinstance(column, Mapping):
        return f"{metric.get('aggregate')}({column.get('columnName') or column.get('column_name')})"
    return str(metric.get("sqlExpression"))


def distinct(values: tuple[FormValue, ...], label: Any) -> tuple[FormValue, ...]:
    """Return values of which each label comes once, the first one."""
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

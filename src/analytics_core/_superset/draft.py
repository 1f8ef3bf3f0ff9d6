"""A query on its way from a form: its fields, each with the fields of the form that it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from analytics_core._superset.form import FormValue


class QueryDraft:
    """The fields of one query; a list keeps the origin of each of its items."""

    __slots__ = ("_fields", "_parts")

    def __init__(self) -> None:
        self._fields: dict[str, FormValue | tuple[FormValue, ...]] = {}
        self._parts: dict[str, Mapping[str, FormValue]] = {}

    def put(self, name: str, value: Any, *origin: str) -> None:
        """Set a field to a value that comes from these fields of the form."""
        self._fields[name] = FormValue(value, origin)

    def put_object(self, name: str, parts: Mapping[str, FormValue]) -> None:
        """Set a field to an object, each of whose parts keeps its origin."""
        self._fields[name] = FormValue({part: item.value for part, item in parts.items()})
        self._parts[name] = parts

    def put_list(self, name: str, values: Iterable[FormValue]) -> None:
        """Set a field to a list."""
        self._fields[name] = tuple(values)

    def put_steps(self, *steps: FormValue | None) -> None:
        """Set the steps of the post-processing; None among them is a step that the form does not ask for."""
        self._fields["post_processing"] = tuple([step for step in steps if step is not None])

    def value(self, name: str) -> Any:
        """Return the value of a field that is no list, None where there is none."""
        field = self._fields.get(name)
        return field.value if isinstance(field, FormValue) else None

    def list(self, name: str) -> tuple[FormValue, ...]:
        """Return the items of a list, empty where there is none."""
        field = self._fields.get(name, ())
        return () if isinstance(field, FormValue) else field

    def drop(self, *names: str) -> None:
        """Take fields out."""
        for name in names:
            self._fields.pop(name, None)

    def copy(self) -> QueryDraft:
        """Return a draft of its own with the same fields."""
        other = QueryDraft()
        other._fields, other._parts = dict(self._fields), dict(self._parts)
        return other

    def written(self) -> dict[str, Any]:
        """Return the query as a payload has it; what every query has is empty where the form says nothing of it."""
        query: dict[str, Any] = {
            "annotation_layers": [],
            "applied_time_extras": {},
            "custom_form_data": {},
            "custom_params": {},
            "url_params": {},
        }
        for name, field in self._fields.items():
            query[name] = field.value if isinstance(field, FormValue) else [item.value for item in field]
        return query

    def origins(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the path of each value that comes from the form, with the fields that it comes from."""
        for name, field in self._fields.items():
            if isinstance(field, FormValue):
                if field.origin:
                    yield name, field.origin
                continue
            for place, item in enumerate(field):
                if item.origin:
                    yield f"{name}.{place}", item.origin
        for name, parts in self._parts.items():
            if name in self._fields:
                yield from ((f"{name}.{part}", item.origin) for part, item in parts.items() if item.origin)

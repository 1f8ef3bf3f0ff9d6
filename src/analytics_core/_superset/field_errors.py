"""Errors of built payloads in the terms of their form: which of its fields are behind what is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any, Final

from analytics_core._superset.form import SHAPE
from analytics_core._superset.payload import BuiltPayload
from analytics_core.errors import (
    AnalyticsError,
    ErrorType,
    PayloadSchemaError,
    TimeOffsetError,
    TimeRangeError,
    UnknownNameError,
)
from analytics_core.errors.base import short_repr
from analytics_core.models.parsing import check_text
from analytics_core.models.parsing.query_context import parse_query_context

_PLACE: Final = re.compile(
    r"\b(post_processing|metrics|columns|filters)\[(\d+)\]|\b(extras)\.(where|having)\b|^(is_timeseries):"
)
_CONDITIONS: Final = (".extras.where", ".extras.having")
_MOST_LISTED: Final = 100
"""At most so many fields are named for one problem: a form may hold thousands, all of them wrong."""


def check_form(form_data: Mapping[str, Any]) -> None:
    """Raise PayloadFormatError for the first field that holds a text or a number that no engine can take."""
    check_text(list(form_data), shape=SHAPE)
    for name, value in form_data.items():
        check_text(value, shape=f"{SHAPE}.{short_repr(name)}")


def check_built(built: BuiltPayload) -> None:
    """Raise PayloadSchemaError with the fields of the form whose values make no query context."""
    try:
        parse_query_context(built.payload)
    except PayloadSchemaError as error:
        known = _fields_by_place(built)
        problems = [
            replace(problem, path=_listed(fields), message=f"{problem.message} ({problem.path})") if fields else problem
            for problem in error.problems
            for fields in (_fields_at(problem.path, known),)
        ]
        raise PayloadSchemaError(shape=SHAPE, problems=problems) from None


def naming_fields(built: BuiltPayload, error: AnalyticsError, position: int) -> AnalyticsError:
    """Return an error of one of the queries of a built payload with the fields of its form before its message."""
    query = f"queries.{position}."
    fields: tuple[str, ...] = ()
    name = _missing_name(error)
    if name:
        fields = _fields_that_mention(name, query, built)
    if not fields and (place := _PLACE.search(error.message)):
        fields = built.origins.get(query + ".".join(part for part in place.groups() if part), ())
    if not fields:
        fields = _fields_of_times(error, query, built)
    return copy(error).at(f"{SHAPE}: {_listed(fields)}") if fields else error


def _fields_of_times(error: AnalyticsError, query: str, built: BuiltPayload) -> tuple[str, ...]:
    """Return the fields behind an error of a compared period, or those that hold the range that an error quotes."""
    if isinstance(error, TimeOffsetError):
        return built.origins.get(f"{query}time_offsets.0", ())
    if not isinstance(error, TimeRangeError):
        return ()
    paths = [path for path in built.origins if path == f"{query}time_range" or path.startswith(f"{query}filters.")]
    return tuple(field for path in paths if _quotes(error, _at(path, built)) for field in built.origins[path])


def _quotes(error: AnalyticsError, value: Any) -> bool:
    text = value.get("val") if isinstance(value, Mapping) else value
    return isinstance(text, str) and repr(text) in error.message


def _missing_name(error: AnalyticsError) -> str | None:
    """Return the name that an error says nothing has: here, or in the database by the time that rows are read."""
    if isinstance(error, UnknownNameError):
        return error.name
    if error.error_type is not ErrorType.COLUMN_DOES_NOT_EXIST_ERROR:
        return None
    column = error.extra.get("column")  # as the engine writes it: with its table, in quotes
    return re.split(r"[.\s]", column)[-1].strip("\"'`[]") if isinstance(column, str) else None


def _listed(fields: tuple[str, ...]) -> str:
    return ", ".join(dict.fromkeys(fields))


def _fields_by_place(built: BuiltPayload) -> dict[str, tuple[str, ...]]:
    """Return the fields behind each value and behind what is inside it; of places where very many are, the first."""
    found: dict[str, dict[str, None]] = {}
    for place, fields in built.origins.items():
        path = place
        while path.count(".") > 1:
            inside = found.setdefault(path, {})
            if len(inside) < _MOST_LISTED:
                inside.update(dict.fromkeys(fields))
            path = path.rpartition(".")[0]
    return {path: tuple(inside) for path, inside in found.items()}


def _fields_at(path: str, known: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the fields behind a value: its own, those of what is inside it, or those of the nearest one around it."""
    while path.count(".") > 1:
        if path in known:
            return known[path]
        path = path.rpartition(".")[0]
    return ()


def _fields_that_mention(name: str, query: str, built: BuiltPayload) -> tuple[str, ...]:
    paths = [path for path in built.origins if path.startswith(query) and ".post_processing." not in path]
    return tuple(field for path in paths if _mentions(path, name, built) for field in built.origins[path])


def _mentions(path: str, name: str, built: BuiltPayload) -> bool:
    value = _at(path, built)
    return name in value if path.endswith(_CONDITIONS) else _holds(value, name)


def _at(path: str, built: BuiltPayload) -> Any:
    value: Any = built.payload
    for part in path.split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def _holds(value: Any, name: str) -> bool:
    if isinstance(value, Mapping):
        return any(_holds(item, name) for item in value.values())
    if isinstance(value, list | tuple):
        return any(_holds(item, name) for item in value)
    return bool(value == name)

"""Keys of a query context that nobody reads: told in the notes of a result, refused where a question is strict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel

from analytics_core._querying.annotation_overrides import READ_OVERRIDES
from analytics_core.errors import Problem, nearest
from analytics_core.models.problems import unknown_field
from analytics_core.models.query import (
    AdhocMetric,
    AdhocMetricColumn,
    AnnotationLayer,
    ChartDataQueryContext,
    ChartDataQueryObject,
)

_MARKS: Final = frozenset({"isNew", "datasourceWarning"})
"""What editors of charts write beside an ad-hoc metric, for themselves."""

_Key = tuple[BaseModel, str, str]
"""The object that holds an unread key, the object's place in the payload (with a dot at the end), and the key."""


def unread_keys(context: ChartDataQueryContext) -> tuple[Problem, ...]:
    """Return each key of a context that no shape has, with its place and the name that comes nearest.

    Keys without a value (null, empty text, list or object) ask nothing and do not count; clients send some always.
    """
    own = (_problem(key) for key in _keys_of(context, ""))
    layers = (
        Problem(path=f"queries.{i}.annotation_layers.{j}.overrides.{name}", message=_unknown_override(name))
        for i, query in enumerate(context.queries)
        for j, layer in enumerate(query.annotation_layers)
        for name in _unread_overrides(layer)
    )
    return (*own, *layers)


def unread_names(context: ChartDataQueryContext, query: ChartDataQueryObject) -> tuple[str, ...]:
    """Return the unread keys that bear on one query, sorted: its own with their places in it, then the context's."""
    own = sorted(f"{place}{name}" for _, place, name in _keys_of(query, ""))
    around = sorted(name for name in _extra(context))
    return (*own, *(f"{name} (beside queries)" for name in around))


def _keys_of(shape: BaseModel, place: str) -> Iterator[_Key]:
    if isinstance(shape, AdhocMetricColumn):
        return  # clients send all that they know of the column; its name is what counts
    for name in _extra(shape):
        yield shape, place, name
    for name, field in type(shape).model_fields.items():
        written = field.serialization_alias or field.alias or name
        yield from _keys_in(getattr(shape, name), f"{place}{written}.")


def _keys_in(value: Any, place: str) -> Iterator[_Key]:
    if isinstance(value, BaseModel):
        yield from _keys_of(value, place)
    elif isinstance(value, tuple):
        for position, item in enumerate(value):
            if isinstance(item, BaseModel | tuple):
                yield from _keys_in(item, f"{place}{position}.")


def _extra(shape: BaseModel) -> Sequence[str]:
    marks = _MARKS if isinstance(shape, AdhocMetric) else frozenset()
    extra = shape.model_extra or {}
    return [name for name, value in extra.items() if name not in marks and not _is_empty(value)]


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | tuple | Mapping) and not value)


def _problem(key: _Key) -> Problem:
    shape, place, name = key
    return Problem(path=f"{place}{name}", message=unknown_field(name, type(shape)))


def _unread_overrides(layer: AnnotationLayer) -> list[str]:
    return sorted(name for name in layer.overrides or {} if name not in READ_OVERRIDES)


def _unknown_override(name: str) -> str:
    close = nearest(name, READ_OVERRIDES)
    hint = f"did you mean {close[0]!r}?" if close else f"those are {', '.join(sorted(READ_OVERRIDES))}"
    return f"is no override that is read; {hint}"

"""The filters that templates may use; each gets the rendering's state first and pays for what it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from analytics_core._compile.templates.sandbox import (
    RenderState,
    bounded,
    check_format,
    flat,
    join,
    like,
    piece,
    replace_text,
    where_in,
)
from analytics_core._compile.templates.text import MomentLiteral, MomentText, raw_text
from analytics_core.errors import TemplateError


def _textual(method: str) -> Callable[..., Any]:
    def run(state: RenderState, value: object) -> Any:
        text = value if isinstance(value, str) else piece(value)
        state.text(len(text))
        return like(text, getattr(str(raw_text(text)), method)())

    return run


def _number(make: Callable[[str], float]) -> Callable[..., float]:
    def run(_state: RenderState, value: object, default: float = 0) -> float:
        raw = str(raw_text(value))
        try:
            return make(raw) if len(raw) <= 40 else default
        except ValueError:
            return default

    return run


def _to_datetime(
    _state: RenderState,
    value: object,
    format: str = "%Y-%m-%d %H:%M:%S",  # noqa: A002 - the filter's documented name
) -> datetime | None:
    if value is None or isinstance(value, MomentText | MomentLiteral):
        return None if value is None else value.moment
    text, pattern = str(raw_text(value)), check_format(str(raw_text(format)))
    try:
        return datetime.strptime(text[:100], pattern)  # noqa: DTZ007 - times without zone are UTC throughout
    except ValueError:
        raise TemplateError("to_datetime: a value does not fit its format") from None


def _sorted(state: RenderState, value: object, reverse: bool = False) -> list[Any]:
    items = bounded(state, value)
    state.spend(8 * len(items))
    return sorted(items, key=lambda item: str(raw_text(item)), reverse=reverse)


def _unique(state: RenderState, value: object) -> list[Any]:
    return list(dict.fromkeys(bounded(state, value)))


def _edge(index: int) -> Callable[..., Any]:
    def run(_state: RenderState, value: Any) -> Any:
        return value[index] if isinstance(value, list | tuple) and value else None

    return run


def _extreme(choose: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    def run(state: RenderState, value: object) -> Any:
        items = bounded(state, value)
        return choose(items) if items else None

    return run


def _rounded(_state: RenderState, value: float, precision: int = 0) -> float:
    return round(float(value), max(-15, min(15, int(precision))))


def _length(state: RenderState, value: Any) -> int:
    state.spend(1)
    return len(value)


def _absolute(_state: RenderState, value: float) -> float:
    return abs(value)


def _string(state: RenderState, value: object) -> str:
    text = piece(value)
    state.text(len(text))
    return text


def _each(state: RenderState, value: object, weight: int) -> list[Any]:
    items = bounded(state, value)
    state.spend(len(items) * weight)
    return items


def _weigh(state: RenderState, value: Any) -> Any:
    if isinstance(value, list | tuple | dict):
        state.spend(1 + len(value))
    return value


LANGUAGE_FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    "upper": _textual("upper"),
    "lower": _textual("lower"),
    "trim": _textual("strip"),
    "title": _textual("title"),
    "capitalize": _textual("capitalize"),
    "string": _string,
    "replace": replace_text,
    "join": lambda state, value, d="": join(state, d, value),
    "length": _length,
    "count": _length,
    "first": _edge(0),
    "last": _edge(-1),
    "int": _number(int),
    "float": _number(float),
    "round": _rounded,
    "abs": _absolute,
    "min": _extreme(min),
    "max": _extreme(max),
    "sum": _extreme(sum),
    "sort": _sorted,
    "unique": _unique,
    "list": bounded,
    "where_in": where_in,
    "to_datetime": _to_datetime,
    "_flat": flat,
    "_each": _each,
    "_concat": lambda state, value: join(state, "", value),
    "_weigh": _weigh,
}
"""The filters; those with a leading underscore are put in by the sandbox and cannot be written."""

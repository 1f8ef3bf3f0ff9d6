"""Turns what pydantic found wrong into our problems: the field's path, what is wrong, and what would work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from analytics_core.errors import PayloadSchemaError, Problem, nearest

_EXPECTED: Mapping[str, str] = {
    "missing": "is required",
    "string_type": "must be text",
    "int_type": "must be an integer",
    "int_from_float": "must be an integer",
    "int_parsing": "must be an integer",
    "bool_type": "must be true or false",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "tuple_type": "must be an array",
    "uuid_type": "must be a UUID",
    "uuid_parsing": "must be a UUID",
    "datetime_type": "must be a moment in ISO 8601",
    "datetime_parsing": "must be a moment in ISO 8601",
    "datetime_from_date_parsing": "must be a moment in ISO 8601",
}
_BOUNDS: Mapping[str, str] = {
    "string_too_long": "may have {max_length} characters at the most",
    "string_too_short": "must not be empty",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be {ge} or more",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be {le} or less",
    "too_short": "must not be empty",
    "too_long": "may have {max_length} {unit} at the most",
}
_OTHER_SIGNS: Mapping[str, str] = {"=": "==", "===": "==", "<>": "!=", "!==": "!=", "=>": ">=", "=<": "<="}
"""Comparisons as other languages write them: those whose signs look alike mean something else."""
_CHOICES = frozenset({"query_column", "query_metric", "order_key"})
_LONGEST_ECHO = 60


def schema_error(error: ValidationError, *, shape: str, model: type[BaseModel]) -> PayloadSchemaError:
    """Return the error of a payload that breaks `shape`; values of the payload are repeated for enums only."""
    details = error.errors(include_url=False, include_context=True, include_input=True)
    return PayloadSchemaError(shape=shape, problems=[_problem(detail, model) for detail in details])


def _problem(detail: ErrorDetails, model: type[BaseModel]) -> Problem:
    path = [part for part in detail["loc"] if not str(part).startswith("<")]
    return Problem(path=".".join(map(str, path)), message=_message(detail, path, model))


def _message(detail: ErrorDetails, path: Sequence[int | str], model: type[BaseModel]) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "extra_forbidden":
        return unknown_field(str(path[-1]), _model_at(model, path[:-1]))
    if kind == "enum":
        return _unknown_value(detail["input"], str(context.get("expected", "")))
    if kind == "value_error":
        return str(context["error"])
    if kind in _CHOICES:
        return f"{detail['msg']}{_but(kind, detail['input'])}"
    if kind in _EXPECTED:
        return f"{_EXPECTED[kind]}{_but(kind, detail['input'])}"
    return _bound(kind, context) or detail["msg"]


def _but(kind: str, value: Any) -> str:
    if kind == "missing":
        return ""
    return ", not null" if value is None else f", not {_json_kind(value)}"


def _json_kind(value: Any) -> str:
    match value:
        case bool():
            return "a Boolean"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case Mapping():
            return "an object"
        case list() | tuple():
            return "an array"
    return f"a {type(value).__name__}"


def _bound(kind: str, context: Mapping[str, Any]) -> str | None:
    template = _BOUNDS.get(kind)
    unit = "items" if context.get("field_type") in ("Tuple", "List") else "characters"
    return template.format_map({"unit": unit, **context}) if template else None


def _unknown_value(value: Any, expected: str) -> str:
    known = [item.strip().strip("'") for item in expected.replace(" or ", ", ").split(", ")]
    if not isinstance(value, str):
        return f"must be one of {', '.join(known)}; not {_json_kind(value) if value is not None else 'null'}"
    meant = _OTHER_SIGNS.get(value.strip())
    close = [meant] if meant in known else nearest(value, known) if any(map(str.isalpha, value)) else []
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"{value[:_LONGEST_ECHO]!r} is not one of {', '.join(known)}{hint}"


def unknown_field(name: str, model: type[BaseModel] | None) -> str:
    """Return what is wrong with a key that is none of the shape's fields, and which of them comes near."""
    known = field_names(model) if model else ()
    close = nearest(name, known)
    hint = f"; did you mean {close[0]!r}?" if close else f"; the fields are {', '.join(known)}" if known else ""
    return f"is not a field here{hint}"


def field_names(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the contract's names of a shape's fields, in order."""
    return tuple(field.serialization_alias or field.alias or name for name, field in model.model_fields.items())


def _model_at(model: type[BaseModel], path: Iterable[int | str]) -> type[BaseModel] | None:
    """Return the shape at a path of a payload: the one whose keys a problem there is about."""
    current: type[BaseModel] | None = model
    for part in path:
        if isinstance(part, int) or current is None:
            continue
        by_name = dict(zip(field_names(current), current.model_fields.values(), strict=True))
        field = by_name.get(part) or current.model_fields.get(part)
        current = _shape_in(field.annotation) if field else None
    return current


def _shape_in(annotation: Any) -> type[BaseModel] | None:
    """Return the first shape inside an annotation such as `tuple[Shape, ...] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and not issubclass(annotation, Enum):
        return annotation
    arguments = getattr(annotation, "__args__", ())
    return next((shape for item in arguments if (shape := _shape_in(item)) is not None), None)

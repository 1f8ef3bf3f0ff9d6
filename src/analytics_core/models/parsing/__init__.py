"""Reads every payload: bytes, text or a mapping in; a checked shape, or its faults, out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic_core import ErrorDetails

from analytics_core.errors import PayloadFormatError, PayloadSchemaError, Problem, nearest
from analytics_core.models.strict_json import RepeatedKeyError, plain_values, read_json_once

Shape = TypeVar("Shape", bound=BaseModel)
Payload = Mapping[str, Any] | str | bytes | bytearray

_DEEPEST = 64
_MOST_DIGITS = 4_300
_MOST_BITS = int(_MOST_DIGITS * math.log2(10))
"""Python writes no integers with more digits, and reads none from JSON."""


def parse(model: type[Shape], payload: Shape | Payload, *, shape: str, text_is_checked: bool = False) -> Shape:
    """Return the payload as a `model`; errors call it by its name in the contract, `shape`.

    A model is checked as what it writes is: it may have been made without validation.

    Raises:
        PayloadFormatError: not a JSON object, a model of another shape, or text that no engine can take.
        PayloadSchemaError: fields that break the shape.
    """
    content = content_of(payload, model, shape=shape)
    if not text_is_checked:
        check_text(content, shape=shape)
    try:
        return model.model_validate(content if isinstance(content, dict) else dict(content))
    except ValidationError as error:
        raise schema_error(error, shape=shape, model=model) from None


def read_object(payload: Payload, *, shape: str) -> Mapping[str, Any]:
    """Return the object that a payload of any fields is, with plain values.

    Raises:
        PayloadFormatError: not a JSON object, or text that no engine can take.
    """
    content = content_of(payload, None, shape=shape)
    check_text(content, shape=shape)
    read: Mapping[str, Any] = plain_values(content, shape=shape)
    return read


def written(payload: BaseModel) -> dict[str, Any]:
    """Return what a model says: the fields that it was given, under the contract's names, secrets unmasked."""
    return payload.model_dump(by_alias=True, exclude_unset=True, warnings=False, fallback=str)


def content_of(payload: Any, model: type[BaseModel] | None, *, shape: str) -> Mapping[str, Any]:
    """Return the fields of a payload as they were given; PayloadFormatError where it is no object."""
    if isinstance(payload, Mapping):
        return payload
    if model is not None and isinstance(payload, model):
        return written(payload)
    if not isinstance(payload, str | bytes | bytearray):
        known = "a mapping or JSON text" if model is None else f"a mapping, JSON text or a {model.__name__}"
        raise PayloadFormatError(f"{shape}: a payload is {known}, not {type(payload).__name__}")
    try:
        content = read_json_once(payload, parse_constant=_reject_constant)
    except RepeatedKeyError as error:
        raise PayloadFormatError(f"{shape}: the payload {error}") from None
    except (ValueError, RecursionError):
        raise PayloadFormatError(f"{shape}: the payload is not valid JSON") from None
    if not isinstance(content, dict):
        raise PayloadFormatError(f"{shape}: a payload is one JSON object")
    return content


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(name)


def check_text(content: Any, *, shape: str) -> None:
    """Check every text and number of a payload, at any depth.

    Raises:
        PayloadFormatError: NUL, half a surrogate pair, NaN or infinity, more than 4,300 digits, or nesting beyond 64
            levels.
    """
    level: list[Any] = [content]
    for _ in range(_DEEPEST):
        if not level:
            return
        level = _next_level(level, shape)
    raise PayloadFormatError(f"{shape}: the payload is nested more than {_DEEPEST} levels deep")


def _next_level(level: list[Any], shape: str) -> list[Any]:
    deeper: list[Any] = []
    for value in level:
        if isinstance(value, str):
            if "\x00" in value or not (value.isascii() or _encodes(value)):
                raise PayloadFormatError(f"{shape}: a text holds a NUL character or half a surrogate pair")
        elif isinstance(value, Mapping):
            deeper += value
            deeper += value.values()
        elif isinstance(value, list | tuple | set | frozenset):
            deeper += value
        elif isinstance(value, float) and not math.isfinite(value):
            raise PayloadFormatError(f"{shape}: NaN and infinity are not JSON; use null")
        elif isinstance(value, int) and value.bit_length() > _MOST_BITS:
            raise PayloadFormatError(f"{shape}: a number has more than {_MOST_DIGITS} digits")
        elif isinstance(value, SecretStr):
            deeper.append(value.get_secret_value())
        elif isinstance(value, BaseModel):
            deeper.append(written(value))
    return deeper


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# --------------------------------------------------------------------------------------- what is wrong with a payload
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


def payload_error(shape: str, path: str, message: str) -> PayloadSchemaError:
    """Return the error of a payload, called by its name in the contract, in which one place is wrong."""
    return PayloadSchemaError(shape=shape, problems=[Problem(path=path, message=message)])


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
        current = shape_in(field.annotation) if field else None
    return current


def shape_in(annotation: Any) -> type[BaseModel] | None:
    """Return the first shape inside an annotation such as `tuple[Shape, ...] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and not issubclass(annotation, Enum):
        return annotation
    arguments = getattr(annotation, "__args__", ())
    return next((shape for item in arguments if (shape := shape_in(item)) is not None), None)

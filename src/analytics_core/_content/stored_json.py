"""JSON that the store gives back, which anybody may have written: texts inside records, and values of keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from analytics_core._engine.execution.connection_uri import mask_options
from analytics_core._records.shared_state import KeyValue
from analytics_core._tools.display.blocks import MASK
from analytics_core.errors import PayloadError, StoredDataError
from analytics_core.models.parsing import parse

_DEEPEST: Final = 64


def json_object(text: str | None) -> dict[str, Any]:
    """Return the object that a JSON text holds; empty when it holds anything else, or nests deeper than answers may."""
    try:
        content = _DECODER.decode(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) and not _is_too_deep(content, text or "") else {}


def without_secrets(text: str | None) -> str | None:
    """Return a JSON text with the values of secret-looking names masked, and the passwords in URLs.

    Texts in it that are JSON objects or lists are read alike. What nests deeper than answers may is masked as a whole.
    """
    if not text:
        return text
    try:
        content = _DECODER.decode(text)
    except ValueError:
        return without_passwords(text)
    except RecursionError:
        return json.dumps(MASK)
    hidden = MASK if _is_too_deep(content, text) else _without_secrets(mask_options(content))
    return text if hidden == content else json.dumps(hidden, ensure_ascii=False)


def without_passwords(text: str) -> str:
    """Return a text with the passwords in its URLs masked; a port, also one before an `@` further on, is none."""
    return _PASSWORD_IN_URL.sub(rf"\g<1>{MASK}@", text)


def _without_secrets(content: Any) -> Any:
    match content:
        case dict():
            return {name: _without_secrets(value) for name, value in content.items()}
        case list():
            return [_without_secrets(item) for item in content]
        case str():
            return without_secrets(content) if content.lstrip()[:1] in {"{", "["} else without_passwords(content)
    return content


_PASSWORD_IN_URL: Final = re.compile(r"(://[^\s:/@]*:)(?!\d{1,5}(?:[/?#]|$))(?:[^\s/?#]*@|[^\s@]{1,256}@)")


def _nothing(_name: str) -> None:
    """Stand for NaN and infinity, which are not JSON."""


_DECODER: Final = json.JSONDecoder(parse_constant=_nothing)


def _is_too_deep(content: Any, text: str) -> bool:
    if text.count("{") + text.count("[") <= _DEEPEST:  # most texts: nothing to walk through
        return False
    level = [content]
    for _ in range(_DEEPEST):
        level = [child for value in level for child in _children(value)]
        if not level:
            return False
    return True


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


Shape = TypeVar("Shape", bound=BaseModel)


def stored_object(record: KeyValue, fields: Mapping[str, tuple[type, ...]]) -> Mapping[str, Any]:
    """Return the JSON object of a record that holds exactly these fields, each of one of these types.

    Raises:
        StoredDataError: it holds anything else.
    """
    content = _read(record.value)
    if not isinstance(content, dict) or set(content) != set(fields):
        raise _unreadable(record)
    if not all(type(content[name]) in types for name, types in fields.items()):
        raise _unreadable(record)
    return content


def stored_shape(record: KeyValue, model: type[Shape], content: Mapping[str, Any]) -> Shape:
    """Return a part of a record as the shape that it was stored as; StoredDataError when it is none."""
    try:
        return parse(model, content, shape=record.kind)
    except PayloadError:
        raise _unreadable(record) from None


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _unreadable(record: KeyValue) -> StoredDataError:
    return StoredDataError(f"the stored {record.kind.replace('_', ' ')} cannot be read; store it once more")

"""Reads what the key-value store gives back: bytes of a store are untrusted, whoever wrote them (SECURITY.md 1)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from analytics_core._records.shared_state import KeyValue
from analytics_core.errors import PayloadError, StoredDataError
from analytics_core.models.parsing import parse

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
        found = parse(model, content, shape=record.kind)
    except PayloadError:
        found = None
    if found is None:
        raise _unreadable(record)
    return found


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _unreadable(record: KeyValue) -> StoredDataError:
    return StoredDataError(f"the stored {record.kind.replace('_', ' ')} cannot be read; store it once more")

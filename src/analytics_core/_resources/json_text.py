"""JSON texts inside records: read without failing, since older hosts may have stored anything."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

_DEEPEST: Final = 64


def json_object(text: str | None) -> dict[str, Any]:
    """Return the object that a JSON text holds; empty when it holds anything else, or nests deeper than answers may."""
    try:
        content = _DECODER.decode(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) and not _is_too_deep(content, text or "") else {}


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

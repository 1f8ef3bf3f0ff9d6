"""What a value looks like as text in CSV files, spreadsheets and tables for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

from analytics_core._engines.types import bytes_text
from analytics_core._frames.json_values import clean_text, decimal_text, nested_value


def _nothing(_value: None) -> str:
    return ""


def _float(value: float) -> str:
    return repr(value) if value - value == 0 else ""


def _moment(value: datetime) -> str:
    return value.isoformat(" ") if value == value else ""  # noqa: PLR0124 - only NaT differs from itself


def _decimal(value: Decimal) -> str:
    return decimal_text(value) if value.is_finite() else ""


def _nested(value: Any) -> str:
    import orjson

    return orjson.dumps(nested_value(value)).decode()


_BY_TYPE: Final[Mapping[type, Callable[[Any], str]]] = {
    str: clean_text,
    type(None): _nothing,
    bool: str,
    int: str,
    float: _float,
    datetime: _moment,
    date: str,
    Decimal: _decimal,
    time: str,
    timedelta: str,
    bytes: bytes_text,
    bytearray: bytes_text,
    memoryview: bytes_text,
    list: _nested,
    tuple: _nested,
    set: _nested,
    frozenset: _nested,
    dict: _nested,
}


def text_value(value: Any) -> str:
    """Return the text of one value: null is empty, moments are ISO 8601 with a blank, numbers are not grouped."""
    known = _BY_TYPE.get(type(value))
    if known is not None:
        return known(value)
    # Order matters: a datetime is a date, a bool is an int.
    kind = next((kind for kind in _BY_TYPE if isinstance(value, kind)), None)
    return clean_text(str(value)) if kind is None else _BY_TYPE[kind](value)

"""The codes of `coltypes`: 0 number, 1 text, 2 date or moment, 3 Boolean (contract, ChartDataResponseResult).

The rule, first match wins:

1. A column whose output is flagged temporal is 2, whatever it holds.
2. A column with at least one value is what its values are: whole numbers, floats and decimals (also mixed) 0,
   Booleans 3, days and moments 2, everything else and every other mixture 1.
3. A column without a value is what was declared for its label: the kind of the query's own output or of the dataset's
   column of that name.
4. Otherwise (a column that only time comparison or post-processing made, with nothing in it) it is 1.

Rule 3 speaks only of labels of the query: `count__1 year ago` with nothing in it is 1, as every recorded server has it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from analytics_core._engines.types import ValueKind
from analytics_core._frames.arrow_frames import is_arrow
from analytics_core._frames.frame import Frame, FrameColumn
from analytics_core._frames.values import value_types
from analytics_core.models.enums import GenericType


def coltypes(
    frame: Frame, *, declared: Mapping[str, ValueKind] | None = None, temporal: Collection[str] = ()
) -> tuple[int, ...]:
    """Return the code of each column of `frame`.

    Args:
        frame: the result, after time comparison and post-processing.
        declared: the kinds of the query's outputs (and of the dataset's columns) by label.
        temporal: the labels of outputs that are flagged temporal.
    """
    return tuple([int(_code(column, declared or {}, temporal)) for column in frame.columns])


def _code(column: FrameColumn, declared: Mapping[str, ValueKind], temporal: Collection[str]) -> GenericType:
    if column.name in temporal:
        return GenericType.TEMPORAL
    values = column.values
    is_list = isinstance(values, list) or not is_arrow(values)
    found = _list_code(column.to_list()) if is_list else _arrow_code(values)
    if found is None:
        found = declared.get(column.name, ValueKind.UNKNOWN).generic
    return GenericType.STRING if found is None else found


def _list_code(values: list[Any]) -> GenericType | None:
    """Return the code of the values, None when there are none."""
    codes = set(map(_type_code, value_types(values)))
    if len(codes) > 1:
        return GenericType.STRING
    return codes.pop() if codes else None


def _type_code(kind: type) -> GenericType:
    if issubclass(kind, bool):
        return GenericType.BOOLEAN
    if issubclass(kind, int | float | Decimal):
        return GenericType.NUMERIC
    return GenericType.TEMPORAL if issubclass(kind, date) else GenericType.STRING


def _arrow_code(values: Any) -> GenericType | None:
    import pyarrow.types as kinds

    if values.null_count == len(values):
        return None
    kind = values.type
    if kinds.is_boolean(kind):
        return GenericType.BOOLEAN
    if kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind):
        return GenericType.NUMERIC
    return GenericType.TEMPORAL if kinds.is_timestamp(kind) or kinds.is_date(kind) else GenericType.STRING

"""How a list of records is narrowed."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from analytics_core.models.base import StrictShape


class ListOperator(StrEnum):
    """How a list is filtered."""

    EQUALS = "eq"
    NOT_EQUALS = "neq"
    GREATER = "gt"
    LESS = "lt"
    IN = "in"
    CONTAINS = "contains"
    STARTS_WITH = "starts_with"
    IS_NULL = "is_null"


class FilterItem(StrictShape):
    """One condition of a list; `is_null` takes true or false, `in` a list, the others one value."""

    col: str
    op: ListOperator
    val: Any = None

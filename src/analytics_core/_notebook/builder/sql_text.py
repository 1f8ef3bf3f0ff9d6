"""SQL that arithmetic, aggregates and comparisons of the builder become: text that means the same on every engine."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from analytics_core._notebook.builder.values import LARGEST, ColumnFacts, scalar
from analytics_core.errors import FilterValueError
from analytics_core.errors.base import short_repr
from analytics_core.models.enums import Aggregate, FilterOperator

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIGNS: Final = {"==": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def column_sql(facts: ColumnFacts) -> str | None:
    """Return a column as SQL; None where its name needs quotes, which differ by engine, or it is an expression."""
    return facts.name if facts.is_stored and _PLAIN_NAME.fullmatch(facts.name) else None


def aggregate_sql(aggregate: Aggregate, text: str) -> str:
    """Return an aggregate of SQL as SQL."""
    if aggregate is Aggregate.COUNT_DISTINCT:
        return f"COUNT(DISTINCT {text})"
    return f"{aggregate.value}({text})"


def column_aggregate_sql(aggregate: Aggregate, facts: ColumnFacts) -> str | None:
    """Return an aggregate of a column as SQL; None where engines would give different digits or kinds."""
    counts = aggregate in (Aggregate.COUNT, Aggregate.COUNT_DISTINCT)
    text = column_sql(facts)
    if text is None or aggregate is Aggregate.AVG or not (counts or facts.is_number):
        return None
    return aggregate_sql(aggregate, text)


def combined_sql(left: str, sign: str, right: str) -> str:
    """Return two operands joined by `+`, `-`, `*` or `/`; a quotient is no whole number, and null where it has none."""
    if sign == "/":
        return f"CAST({left} AS DOUBLE) / NULLIF({right}, 0)"
    return f"{left} {sign} {right}"


def number_sql(value: object) -> str | None:
    """Return a finite number as SQL; None when it is none."""
    if isinstance(value, Decimal) and not value.is_finite():
        return None
    number = float(value) if isinstance(value, Decimal) else scalar(value)
    if not isinstance(number, int | float) or isinstance(number, bool) or not abs(number) <= LARGEST:
        return None
    text = format(value, "f") if isinstance(value, Decimal) else str(number)
    return f"({text})" if text.startswith("-") else text


def compared_sql(left: str, op: FilterOperator, right: str) -> str:
    """Return a comparison as SQL."""
    return f"{left} {_SIGNS[op.value]} {right}"


def compared_with_number(text: str, op: FilterOperator, value: object, name: str) -> str:
    """Return the SQL of a comparison with a number: how other values are written differs by engine.

    Raises:
        FilterValueError: the value is no number.
    """
    number = number_sql(value)
    if number is None or op.value not in _SIGNS:
        raise FilterValueError(
            f"{name!r} is compared as SQL, with a number, not {short_repr(value)}; write the whole condition as "
            "dataset.sql('...')"
        )
    return compared_sql(text, op, number)

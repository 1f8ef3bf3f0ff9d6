"""Whether an alert fires: what its query gave, judged by its validator; pure (contract, section Report schedule)."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any, Final

from analytics_core.errors import AlertError
from analytics_core.models.report import ComparisonOperator


class AlertValidator(StrEnum):
    """What an alert's value is judged by; the contract's words, in any case (`validator_type`)."""

    NOT_NULL = "not null"
    OPERATOR = "operator"

    @classmethod
    def _missing_(cls, value: object) -> AlertValidator | None:
        lowered = value.strip().lower() if isinstance(value, str) else None
        return next((one for one in cls if one.value == lowered), None)


NO_ROWS: Final = "Query returned no rows (empty result set)"
NULL_VALUE: Final = "Query returned NULL value"
COMPARISONS: Final[Mapping[ComparisonOperator, Callable[[Decimal, Decimal], bool]]] = {
    ComparisonOperator.LESS: operator.lt,
    ComparisonOperator.LESS_OR_EQUAL: operator.le,
    ComparisonOperator.GREATER: operator.gt,
    ComparisonOperator.GREATER_OR_EQUAL: operator.ge,
    ComparisonOperator.EQUALS: operator.eq,
    ComparisonOperator.NOT_EQUALS: operator.ne,
}


_LONGEST_ROW: Final = 10_000
_CUT_AT: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether an alert fires.

    `value` is the number that was judged, `value_row` the row by its column; both None without a row. `reason` says why
    nothing could be judged.
    """

    is_triggered: bool
    value: float | None = None
    value_row: Mapping[str, Any] | None = None
    reason: str | None = None


def row_text(row: Mapping[str, Any]) -> str:
    """Return the row that was judged as JSON text for the log; what would make it long is cut, and a text then."""
    text = json.dumps(row, default=str)
    if len(text) <= _LONGEST_ROW:
        return text
    return json.dumps({name[:_CUT_AT]: str(value)[:_CUT_AT] for name, value in row.items()})


def single_value(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[bool, Any]:
    """Return whether there is a value, and the value, of a result of one column and at most one row.

    Raises:
        AlertError: there are more.
    """
    if len(rows) > 1:
        raise AlertError(
            "the alert's query returned more than one row; it must return one value: aggregate, or LIMIT 1"
        )
    if len(columns) != 1:
        raise AlertError(f"the alert's query returned {len(columns)} columns; it must return one value in one column")
    return (True, rows[0][0]) if rows else (False, None)


def fires_unless_empty(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Verdict:
    """Judge by the validator 'Not Null': it fires when the value is none of null, NaN, an empty text and 0."""
    has_value, value = single_value(columns, rows)
    row = {columns[0]: value} if has_value else None
    number = _number(value)
    amount = None if number is None or not number.is_finite() else float(number)
    if not has_value or value is None or (number is not None and number.is_nan()):
        return Verdict(is_triggered=False, value_row=row, reason=NULL_VALUE if has_value else NO_ROWS)
    return Verdict(is_triggered=value != "" and number != 0, value=amount, value_row=row)


def fires_when(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], *, op: ComparisonOperator, threshold: float
) -> Verdict:
    """Judge by the validator 'Operator': it fires when `value op threshold`; null never does.

    Raises:
        AlertError: the value is no number.
    """
    has_value, value = single_value(columns, rows)
    row = {columns[0]: value} if has_value else None
    if value is None:
        return Verdict(is_triggered=False, value_row=row, reason=NULL_VALUE if has_value else NO_ROWS)
    number = _number(value if not isinstance(value, str) else _as_number(value))
    if number is None:
        kind = "text" if isinstance(value, str) else type(value).__name__
        raise AlertError(f"the alert's query returned {kind}, and no number to compare with {threshold:g}")
    if number.is_nan():
        return Verdict(is_triggered=False, value_row=row, reason=NULL_VALUE)
    fires = COMPARISONS[op](number, Decimal(repr(float(threshold))))
    return Verdict(is_triggered=fires, value=float(number), value_row=row)


def _number(value: Any) -> Decimal | None:
    """Return a value of a database as an exact number; None where it is none."""
    if isinstance(value, bool | int | Decimal):
        return Decimal(value)
    if isinstance(value, float):
        return Decimal("NaN") if math.isnan(value) else Decimal(repr(value))
    return None


def _as_number(text: str) -> Decimal | None:
    """Return the number that a text writes, as engines without exact decimals return them; None where it is none."""
    try:
        return Decimal(text.strip())
    except InvalidOperation:
        return None

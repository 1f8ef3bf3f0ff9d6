"""Conditions on rows and groups: what comparisons of columns and metrics give, joined by `&` and `|`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NoReturn

from analytics_core.errors import QueryError
from analytics_core.models.enums import FilterOperator


class ConditionPlace(StrEnum):
    """What a condition speaks of: `where` takes those on rows, `having` those on groups."""

    ROWS = "rows"
    GROUPS = "groups"
    ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleCondition:
    """One filter of a payload, or one SQL condition; `filter` has `col`, `op` and `val` (contract, ChartDataFilter)."""

    place: ConditionPlace
    filter: Mapping[str, Any] | None = None
    sql: str = ""


_INVERSE: Final = MappingProxyType(
    {
        FilterOperator.EQUALS: FilterOperator.NOT_EQUALS,
        FilterOperator.NOT_EQUALS: FilterOperator.EQUALS,
        FilterOperator.LESS: FilterOperator.GREATER_OR_EQUAL,
        FilterOperator.GREATER_OR_EQUAL: FilterOperator.LESS,
        FilterOperator.GREATER: FilterOperator.LESS_OR_EQUAL,
        FilterOperator.LESS_OR_EQUAL: FilterOperator.GREATER,
        FilterOperator.IN: FilterOperator.NOT_IN,
        FilterOperator.NOT_IN: FilterOperator.IN,
        FilterOperator.LIKE: FilterOperator.NOT_LIKE,
        FilterOperator.NOT_LIKE: FilterOperator.LIKE,
        FilterOperator.ILIKE: FilterOperator.NOT_ILIKE,
        FilterOperator.NOT_ILIKE: FilterOperator.ILIKE,
        FilterOperator.IS_NULL: FilterOperator.IS_NOT_NULL,
        FilterOperator.IS_NOT_NULL: FilterOperator.IS_NULL,
    }
)
"""What holds where an operator does not, nulls aside; IS TRUE is missing, since null is neither true nor false."""

_MEMBERS: Final = frozenset({FilterOperator.EQUALS, FilterOperator.IN, FilterOperator.IS_NULL})


@dataclass(frozen=True, slots=True, repr=False)
class QueryCondition:
    """Conditions that must all hold: for `where` on rows, for `having` on groups.

    `a & b` is both. `a | b` is what the contract can say: one column that equals any of several values. `~a` is what
    holds where `a` does not; a null meets neither.
    """

    singles: tuple[SingleCondition, ...]
    code: str

    def __and__(self, other: QueryCondition) -> QueryCondition:
        if not isinstance(other, QueryCondition):
            reject_operand("&", other)
        return QueryCondition((*self.singles, *other.singles), f"{_grouped(self.code)} & {_grouped(other.code)}")

    def __or__(self, other: QueryCondition) -> QueryCondition:
        if not isinstance(other, QueryCondition):
            reject_operand("|", other)
        code = f"{_grouped(self.code)} | {_grouped(other.code)}"
        members = [_members(condition.singles) for condition in (self, other)]
        (left, values), (right, others) = members
        if left is None or left != right:
            raise QueryError(
                "| joins conditions that compare one column with values (== or .isin), since all filters of a query "
                f"must hold; write {code} as SQL: .where(dataset.sql('country = ... OR channel = ...'))"
            )
        joined = {"col": left, "op": FilterOperator.IN.value, "val": [*values, *others]}
        return QueryCondition((SingleCondition(place=self.singles[0].place, filter=joined),), code)

    def __invert__(self) -> QueryCondition:
        given = self.singles[0].filter if len(self.singles) == 1 else None
        inverse = _INVERSE.get(given["op"]) if given is not None else None
        if given is None or inverse is None:
            raise QueryError(
                f"~ inverts one comparison, and there is no filter for ~({self.code}); write the opposite out, or as "
                "SQL: .where(dataset.sql('NOT (...)'))"
            )
        single = SingleCondition(place=self.singles[0].place, filter={**given, "op": inverse.value})
        return QueryCondition((single,), f"~{_grouped(self.code)}")

    __rand__ = __and__
    __ror__ = __or__

    def __bool__(self) -> NoReturn:
        raise QueryError(
            f"{self.code} is a condition of a query, neither true nor false here; join conditions with & (not 'and'), "
            "| (not 'or') and ~ (not 'not'), each in parentheses, and write a < b < c as .between"
        )

    def __repr__(self) -> str:
        return self.code


def reject_operand(sign: str, other: object) -> NoReturn:
    """Say that `&` and `|` stand between conditions: they bind closer than comparisons."""
    raise QueryError(
        f"{sign} joins conditions, and {other!r} is none; put each comparison in parentheses: (a == 1) {sign} (b == 2)"
    )


def _members(singles: tuple[SingleCondition, ...]) -> tuple[Any, list[Any]]:
    """Return the column of an only condition and the values that it may have; None: it is another condition."""
    given = singles[0].filter if len(singles) == 1 else None
    if given is None or given["op"] not in _MEMBERS:
        return None, []
    value = given.get("val")
    return given["col"], value if isinstance(value, list) else [value]


def _grouped(code: str) -> str:
    """Return the code of a condition in parentheses, unless it is one call."""
    return code if code.endswith(")") and " " not in code.split("(", maxsplit=1)[0] else f"({code})"

"""What operators on columns, metrics and SQL give: conditions, keys of an order, and arithmetic."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, NoReturn

from analytics_core._notebook.builder.conditions import ConditionPlace, QueryCondition, SingleCondition, reject_operand
from analytics_core._notebook.builder.sql_text import combined_sql, compared_sql, compared_with_number, number_sql
from analytics_core._notebook.builder.values import Value, text_of
from analytics_core._superset.base_query import in_brackets
from analytics_core.errors import FilterValueError, FragmentError, QueryError
from analytics_core.errors.base import short_repr
from analytics_core.models.enums import ExpressionType, FilterOperator, GenericType


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One key of an order: what rows are ordered by, and in which direction."""

    payload: Any
    label: str
    is_ascending: bool
    code: str

    def __repr__(self) -> str:
        return self.code


class ComparableExpression:
    """What can be compared, ordered by, and calculated with: `sales.sum.revenue / sales.count()`."""

    __slots__ = ()

    code: str
    name: str

    @abstractmethod
    def _compare(self, op: FilterOperator, value: object) -> QueryCondition:
        """Return the condition `self op value`."""

    @abstractmethod
    def _order(self, *, is_ascending: bool) -> OrderKey:
        """Return the key of an order by this."""

    @abstractmethod
    def _operand(self) -> str | None:
        """Return this as SQL to calculate with; None: there is no such SQL."""

    @abstractmethod
    def _speaks_of(self) -> ConditionPlace:
        """Return whether this is a value of a row, or of a group."""

    @property
    def _kind(self) -> GenericType | None:
        """The kind of its values, None: not known."""
        return None

    def _compared(self, op: FilterOperator, value: object) -> QueryCondition:
        if not isinstance(value, ComparableExpression):
            return self._compare(op, value)
        code = f"{self.code} {op.value} {value.code}"
        if None not in (self._kind, value._kind) and self._kind is not value._kind:
            raise FilterValueError(f"{code}: the two hold values of different kinds")
        text = compared_sql(_operand_sql(self, code), op, _operand_sql(value, code))
        return QueryCondition((SingleCondition(place=_common_place(self, value, code), sql=text),), code)

    def __add__(self, other: Operand) -> SqlExpression:
        return _combined(self, "+", other)

    def __radd__(self, other: Operand) -> SqlExpression:
        return _combined(other, "+", self)

    def __sub__(self, other: Operand) -> SqlExpression:
        return _combined(self, "-", other)

    def __rsub__(self, other: Operand) -> SqlExpression:
        return _combined(other, "-", self)

    def __mul__(self, other: Operand) -> SqlExpression:
        return _combined(self, "*", other)

    def __rmul__(self, other: Operand) -> SqlExpression:
        return _combined(other, "*", self)

    def __truediv__(self, other: Operand) -> SqlExpression:
        return _combined(self, "/", other)

    def __rtruediv__(self, other: Operand) -> SqlExpression:
        return _combined(other, "/", self)

    def __eq__(self, value: object) -> QueryCondition:  # type: ignore[override]
        return self._compared(FilterOperator.EQUALS, value)

    def __ne__(self, value: object) -> QueryCondition:  # type: ignore[override]
        return self._compared(FilterOperator.NOT_EQUALS, value)

    def __lt__(self, value: Value | ComparableExpression) -> QueryCondition:
        return self._compared(FilterOperator.LESS, value)

    def __le__(self, value: Value | ComparableExpression) -> QueryCondition:
        return self._compared(FilterOperator.LESS_OR_EQUAL, value)

    def __gt__(self, value: Value | ComparableExpression) -> QueryCondition:
        return self._compared(FilterOperator.GREATER, value)

    def __ge__(self, value: Value | ComparableExpression) -> QueryCondition:
        return self._compared(FilterOperator.GREATER_OR_EQUAL, value)

    def __hash__(self) -> int:
        return hash(self.code)

    def between(self, low: Value, high: Value) -> QueryCondition:
        """Return the condition that this lies between two values, both included.

        A date is its first moment: of moments, those of the last day after midnight are left out; `during` takes the
        day after it as its end.

        Examples:
            >>> orders.c.amount.between(1, 2)
            orders.c.amount.between(1, 2)
        """
        both = (self >= low) & (self <= high)
        return QueryCondition(both.singles, f"{self.code}.between({low!r}, {high!r})")

    def asc(self) -> OrderKey:
        """Return the key of an ascending order, for `order`.

        Examples:
            >>> orders.c.country.asc()
            orders.c.country.asc()
        """
        return self._order(is_ascending=True)

    def desc(self) -> OrderKey:
        """Return the key of a descending order, for `order`.

        Examples:
            >>> orders.query("revenue").by("country").order(orders.m.revenue.desc()).run().results[0].rows()[0][0]
            'Germany'
        """
        return self._order(is_ascending=False)

    def __and__(self, other: object) -> NoReturn:
        reject_operand("&", self)

    def __or__(self, other: object) -> NoReturn:
        reject_operand("|", self)

    __rand__ = __and__
    __ror__ = __or__

    def __contains__(self, item: object) -> NoReturn:
        raise QueryError(f"'in' cannot ask {self.code}; use {self.code}.isin([...]), or .like('%text%') on text")

    def __bool__(self) -> NoReturn:
        raise QueryError(f"{self.code} has no value here; compare it with one: {self.code} == ...")

    def __repr__(self) -> str:
        return self.code


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SqlExpression(ComparableExpression):
    """SQL of a person, or of arithmetic: a metric for `query`, a column for `by`, a condition for `where`, `having`.

    `place` is what the values of arithmetic speak of; of a person's SQL it is not known.
    """

    text: str
    name: str
    code: str
    place: ConditionPlace = ConditionPlace.ANY

    def label(self, label: str) -> SqlExpression:
        """Return the SQL under another name of the result."""
        return replace(self, name=text_of(label, "a label"), code=f"{self.code}.label({label!r})")

    @property
    def condition(self) -> QueryCondition:
        """The SQL as a condition."""
        single = SingleCondition(place=self.place, sql=in_brackets(self.text))
        return QueryCondition((single,), self.code)

    def _operand(self) -> str | None:
        return in_brackets(self.text)

    def _speaks_of(self) -> ConditionPlace:
        return self.place

    def written(self) -> dict[str, Any]:
        """Return the SQL as a payload has a metric or a column."""
        return {"expressionType": ExpressionType.SQL.value, "sqlExpression": self.text, "label": self.name}

    def _compare(self, op: FilterOperator, value: object) -> QueryCondition:
        text = compared_with_number(in_brackets(self.text), op, value, self.name)
        code = f"{self.code} {op.value} {value!r}"
        return QueryCondition((SingleCondition(place=self.place, sql=text),), code)

    def _order(self, *, is_ascending: bool) -> OrderKey:
        code = f"{self.code}.{'asc' if is_ascending else 'desc'}()"
        return OrderKey(self.written(), self.name, is_ascending, code)


def sql_expression(text: object, label: str | None, owner: str) -> SqlExpression:
    """Return SQL as a value; FragmentError when it is no text."""
    if not isinstance(text, str) or not text.strip():
        raise FragmentError(f"SQL is a text such as 'SUM(amount) / COUNT(*)', not {short_repr(text)}")
    named = "" if label is None else f", label={label!r}"
    return SqlExpression(text, text if label is None else text_of(label, "a label"), f"{owner}.sql({text!r}{named})")


Operand = ComparableExpression | int | float | Decimal
"""What arithmetic is made of: columns, metrics, SQL and numbers."""


def _combined(left: object, sign: str, right: object) -> SqlExpression:
    """Return what two operands give; QueryError when one is none, or they do not go together."""
    code = f"({_code(left)} {sign} {_code(right)})"
    text = combined_sql(_number_operand(left, code), sign, _number_operand(right, code))
    return SqlExpression(text, f"{_name(left)} {sign} {_name(right)}", code, _common_place(left, right, code))


def _number_operand(side: object, code: str) -> str:
    if isinstance(side, ComparableExpression):
        if side._kind not in (GenericType.NUMERIC, None):
            raise QueryError(f"{code}: {side.code} does not hold numbers; write the whole as dataset.sql('...')")
        return _operand_sql(side, code)
    text = number_sql(side)
    if text is None:
        raise QueryError(f"{code}: {short_repr(side)} is no number")
    return text


def _operand_sql(side: ComparableExpression, code: str) -> str:
    text = side._operand()
    if text is None:
        raise QueryError(
            f"{code}: {side.code} cannot be written as SQL that is the same on every engine; write the whole as "
            "dataset.sql('...')"
        )
    return text


def _common_place(left: object, right: object, code: str) -> ConditionPlace:
    """Return what two operands speak of together; QueryError when one is of rows and one of groups."""
    sides = [side for side in (left, right) if isinstance(side, ComparableExpression)]
    places = {side._speaks_of() for side in sides} - {ConditionPlace.ANY}
    if len(places) > 1:
        raise QueryError(f"{code}: a column has a value in each row, a metric one in each group; aggregate the column")
    return places.pop() if places else ConditionPlace.ANY


def _code(side: object) -> str:
    return side.code if isinstance(side, ComparableExpression) else short_repr(side)


def _name(side: object) -> str:
    if not isinstance(side, ComparableExpression):
        return str(side)
    return f"({side.name})" if isinstance(side, SqlExpression) else side.name

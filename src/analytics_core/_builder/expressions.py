"""Columns, metrics and SQL of a dataset as values with operators; each knows how a payload writes it."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final, NoReturn

from analytics_core._builder.conditions import ConditionPlace, QueryCondition, SingleCondition, reject_operand
from analytics_core._builder.values import (
    LARGEST,
    ColumnFacts,
    TimeRangeText,
    Value,
    compared_value,
    grain_text,
    member_values,
    plain_value,
    range_text,
    scalar,
    text_of,
)
from analytics_core._error_types import short_repr
from analytics_core._formdata.base_query import in_brackets
from analytics_core.errors import FilterValueError, FragmentError, QueryError
from analytics_core.models.enums import Aggregate, ExpressionType, FilterOperator, GenericType

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SYMBOLS: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})


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
    """What can be compared, and ordered by."""

    __slots__ = ()

    code: str
    name: str

    @abstractmethod
    def _compare(self, op: FilterOperator, value: object) -> QueryCondition:
        """Return the condition `self op value`."""

    @abstractmethod
    def _order(self, *, is_ascending: bool) -> OrderKey:
        """Return the key of an order by this."""

    def _compared(self, op: FilterOperator, value: object) -> QueryCondition:
        if isinstance(value, ComparableExpression):
            raise QueryError(
                f"{self.code} {op.value} {value.code}: a filter compares with a value; write it as SQL: "
                ".where(dataset.sql('a > b'))"
            )
        return self._compare(op, value)

    def __eq__(self, value: object) -> QueryCondition:  # type: ignore[override]
        return self._compared(FilterOperator.EQUALS, value)

    def __ne__(self, value: object) -> QueryCondition:  # type: ignore[override]
        return self._compared(FilterOperator.NOT_EQUALS, value)

    def __lt__(self, value: Value) -> QueryCondition:
        return self._compared(FilterOperator.LESS, value)

    def __le__(self, value: Value) -> QueryCondition:
        return self._compared(FilterOperator.LESS_OR_EQUAL, value)

    def __gt__(self, value: Value) -> QueryCondition:
        return self._compared(FilterOperator.GREATER, value)

    def __ge__(self, value: Value) -> QueryCondition:
        return self._compared(FilterOperator.GREATER_OR_EQUAL, value)

    def __hash__(self) -> int:
        return hash(self.code)

    def between(self, low: Value, high: Value) -> QueryCondition:
        """Return the condition that this lies between two values, both included.

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
class ColumnExpression(ComparableExpression):
    """A column of a dataset, to group by, to compare and to add up."""

    facts: ColumnFacts
    code: str
    payload: Any
    name: str

    def isin(self, values: Iterable[Value]) -> QueryCondition:
        """Return the condition that the column has one of these values; None among them finds nulls.

        Examples:
            >>> orders.query(orders.count()).where(orders.c.country.isin(["France", "Germany"])).run().results[0].rows()
            [(...,)]
        """
        return self._listed(FilterOperator.IN, values, "isin")

    def not_in(self, values: Iterable[Value]) -> QueryCondition:
        """Return the condition that the column has none of these values.

        Examples:
            >>> orders.c.country.not_in(["France"])
            orders.c.country.not_in(['France'])
        """
        return self._listed(FilterOperator.NOT_IN, values, "not_in")

    def like(self, pattern: str) -> QueryCondition:
        """Return the condition that the text has a pattern: `%` for any characters, `_` for one; case counts.

        Examples:
            >>> orders.c.country.like("F%")
            orders.c.country.like('F%')
        """
        return self._matched(FilterOperator.LIKE, pattern, "like")

    def ilike(self, pattern: str) -> QueryCondition:
        """Return the condition that the text has a pattern, in any case.

        Examples:
            >>> orders.c.country.ilike("f%")
            orders.c.country.ilike('f%')
        """
        return self._matched(FilterOperator.ILIKE, pattern, "ilike")

    def is_null(self) -> QueryCondition:
        """Return the condition that there is no value.

        Examples:
            >>> orders.c.channel.is_null()
            orders.c.channel.is_null()
        """
        return self._unary(FilterOperator.IS_NULL, "is_null")

    def not_null(self) -> QueryCondition:
        """Return the condition that there is a value.

        Examples:
            >>> orders.c.channel.not_null()
            orders.c.channel.not_null()
        """
        return self._unary(FilterOperator.IS_NOT_NULL, "not_null")

    def is_true(self) -> QueryCondition:
        """Return the condition that a Boolean is true.

        Examples:
            >>> orders.c.returned.is_true()
            orders.c.returned.is_true()
        """
        return self._unary(FilterOperator.IS_TRUE, "is_true")

    def is_false(self) -> QueryCondition:
        """Return the condition that a Boolean is false.

        Examples:
            >>> orders.c.returned.is_false()
            orders.c.returned.is_false()
        """
        return self._unary(FilterOperator.IS_FALSE, "is_false")

    def during(self, time_range: TimeRangeText) -> QueryCondition:
        """Return the condition that a moment lies in a range of time: `Last quarter`, `2024-01-01 : 2024-04-01`.

        The first moment counts, the end does not. Each time column may have a range of its own.

        Examples:
            >>> orders.c.order_date.during("Last week")
            orders.c.order_date.during('Last week')
        """
        text = range_text(time_range)
        if self.facts.kind not in (GenericType.TEMPORAL, None):
            raise FilterValueError(f"{self.code}.during needs a time column; it holds {self.facts.noun}")
        return self._filtered(FilterOperator.TEMPORAL_RANGE, f"{self.code}.during({time_range!r})", val=text)

    def grain(self, grain: str) -> ColumnExpression:
        """Return the time column cut into buckets, to group by: `month` or `P1M`, `week`, `day` ...

        Examples:
            >>> len(orders.query("revenue").by(orders.c.order_date.grain("year")).run().results[0].rows())
            2
        """
        if self.facts.kind not in (GenericType.TEMPORAL, None):
            raise FilterValueError(f"{self.code}.grain needs a time column; it holds {self.facts.noun}")
        cut = {**self._reference(), "timeGrain": grain_text(grain)}
        return replace(self, payload=cut, code=f"{self.code}.grain({grain!r})")

    def label(self, label: str) -> ColumnExpression:
        """Return the column under another name of the result."""
        named = {**self._reference(), "label": text_of(label, "a label")}
        return replace(self, payload=named, name=label, code=f"{self.code}.label({label!r})")

    def _reference(self) -> dict[str, Any]:
        if isinstance(self.payload, Mapping):
            return dict(self.payload)
        return {
            "expressionType": ExpressionType.SQL.value,
            "sqlExpression": self.facts.name,
            "label": self.name,
            "isColumnReference": True,
        }

    def _compare(self, op: FilterOperator, value: object) -> QueryCondition:
        return self._filtered(op, f"{self.code} {op.value} {value!r}", val=compared_value(self.facts, op, value))

    def _listed(self, op: FilterOperator, values: Iterable[Value], method: str) -> QueryCondition:
        found = member_values(self.facts, values)
        return self._filtered(op, f"{self.code}.{method}({found!r})", val=found)

    def _matched(self, op: FilterOperator, pattern: str, method: str) -> QueryCondition:
        if not isinstance(pattern, str):
            raise FilterValueError(f"filter on {self.facts.name!r}: .{method} needs a text pattern, such as 'Bo%'")
        return self._filtered(op, f"{self.code}.{method}({pattern!r})", val=pattern)

    def _unary(self, op: FilterOperator, method: str) -> QueryCondition:
        return self._filtered(op, f"{self.code}.{method}()")

    def _filtered(self, op: FilterOperator, code: str, **value: Any) -> QueryCondition:
        given = {"col": self.facts.name, "op": op.value, **value}
        return QueryCondition((SingleCondition(place=ConditionPlace.ROWS, filter=given),), code)

    def _order(self, *, is_ascending: bool) -> OrderKey:
        code = f"{self.code}.{'asc' if is_ascending else 'desc'}()"
        return OrderKey(self.payload, self.name, is_ascending, code)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MetricExpression(ComparableExpression):
    """A metric of a dataset: a saved one, an aggregate of a column, or SQL.

    `filter_name` is the name under which filters find it, `sql` its text for conditions; None: there is none.
    """

    payload: Any
    name: str
    code: str
    filter_name: str | None = None
    sql: str | None = None

    def label(self, label: str) -> MetricExpression:
        """Return the metric under another name of the result.

        Raises:
            QueryError: it is a saved metric, whose name is that of the dataset.
        """
        if not isinstance(self.payload, Mapping):
            raise QueryError(f"{self.code} is a saved metric, which comes back under its own name; rename the column")
        named = {**self.payload, "label": text_of(label, "a label"), "hasCustomLabel": True}
        return replace(self, payload=named, name=label, code=f"{self.code}.label({label!r})")

    def _compare(self, op: FilterOperator, value: object) -> QueryCondition:
        code = f"{self.code} {op.value} {value!r}"
        if self.filter_name is not None:
            given = {"col": self.filter_name, "op": op.value, "val": plain_value(value, self.name)}
            return QueryCondition((SingleCondition(place=ConditionPlace.GROUPS, filter=given),), code)
        if self.sql is None:
            raise QueryError(f"{code}: the contract has no filter on this metric; use .having(dataset.sql('...'))")
        text = compared_sql(self.sql, op, value, self.name)
        return QueryCondition((SingleCondition(place=ConditionPlace.GROUPS, sql=text),), code)

    def _order(self, *, is_ascending: bool) -> OrderKey:
        code = f"{self.code}.{'asc' if is_ascending else 'desc'}()"
        return OrderKey(self.payload, self.name, is_ascending, code)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SqlExpression(ComparableExpression):
    """SQL of a person: a metric for `query`, a column for `by`, a condition for `where` and `having`."""

    text: str
    name: str
    code: str

    def label(self, label: str) -> SqlExpression:
        """Return the SQL under another name of the result."""
        return replace(self, name=text_of(label, "a label"), code=f"{self.code}.label({label!r})")

    @property
    def condition(self) -> QueryCondition:
        """The SQL as a condition."""
        single = SingleCondition(place=ConditionPlace.ANY, sql=in_brackets(self.text))
        return QueryCondition((single,), self.code)

    @property
    def metric(self) -> MetricExpression:
        """The SQL as a metric."""
        return MetricExpression(self._written(), self.name, self.code, sql=in_brackets(self.text))

    @property
    def column(self) -> ColumnExpression:
        """The SQL as a column."""
        facts = ColumnFacts(name=self.name, kind=None, is_stored=False)
        return ColumnExpression(facts, self.code, self._written(), self.name)

    def _written(self) -> dict[str, Any]:
        return {"expressionType": ExpressionType.SQL.value, "sqlExpression": self.text, "label": self.name}

    def _compare(self, op: FilterOperator, value: object) -> QueryCondition:
        text = compared_sql(in_brackets(self.text), op, value, self.name)
        code = f"{self.code} {op.value} {value!r}"
        return QueryCondition((SingleCondition(place=ConditionPlace.ANY, sql=text),), code)

    def _order(self, *, is_ascending: bool) -> OrderKey:
        code = f"{self.code}.{'asc' if is_ascending else 'desc'}()"
        return OrderKey(self._written(), self.name, is_ascending, code)


def sql_expression(text: object, label: str | None, owner: str) -> SqlExpression:
    """Return SQL as a value; FragmentError when it is no text."""
    if not isinstance(text, str) or not text.strip():
        raise FragmentError(f"SQL is a text such as 'SUM(amount) / COUNT(*)', not {short_repr(text)}")
    named = "" if label is None else f", label={label!r}"
    return SqlExpression(text, text if label is None else text_of(label, "a label"), f"{owner}.sql({text!r}{named})")


def aggregate_of(aggregate: Aggregate, facts: ColumnFacts, code: str, *, label: str | None = None) -> MetricExpression:
    """Return the aggregate of a column as a metric, called `SUM(amount)` unless it has a label.

    Raises:
        FilterValueError: a sum or an average of a column that does not hold numbers.
    """
    if aggregate in (Aggregate.SUM, Aggregate.AVG) and facts.kind in (GenericType.STRING, GenericType.TEMPORAL):
        raise FilterValueError(f"{aggregate.value} needs a numeric column; {facts.name!r} holds {facts.noun}")
    name = f"{aggregate.value}({facts.name})" if label is None else label
    payload = {
        "expressionType": ExpressionType.SIMPLE.value,
        "column": {"column_name": facts.name},
        "aggregate": aggregate.value,
        "label": name,
    }
    return MetricExpression(payload, name, code, sql=_aggregate_sql(aggregate, facts))


def _aggregate_sql(aggregate: Aggregate, facts: ColumnFacts) -> str | None:
    """Return an aggregate as SQL that means the same on every engine; None where its text would not."""
    counts = aggregate in (Aggregate.COUNT, Aggregate.COUNT_DISTINCT)
    if not (facts.is_stored and _PLAIN_NAME.fullmatch(facts.name)) or not (counts or facts.is_number):
        return None
    if aggregate is Aggregate.COUNT_DISTINCT:
        return f"COUNT(DISTINCT {facts.name})"
    return None if aggregate is Aggregate.AVG else f"{aggregate.value}({facts.name})"


def compared_sql(text: str, op: FilterOperator, value: object, name: str) -> str:
    """Return the SQL of a comparison with a number: how other values are written differs by engine.

    Raises:
        FilterValueError: the value is no number.
    """
    number = float(value) if isinstance(value, Decimal) else scalar(value)
    is_number = isinstance(number, int | float) and not isinstance(number, bool) and abs(number) <= LARGEST
    if not is_number or op.value not in _SYMBOLS:
        raise FilterValueError(
            f"{name!r} is compared as SQL, with a number, not {short_repr(value)}; write the whole condition as "
            "dataset.sql('...')"
        )
    sign = {"==": "=", "!=": "<>"}.get(op.value, op.value)
    return f"{text} {sign} {format(value, 'f') if isinstance(value, Decimal) else number}"

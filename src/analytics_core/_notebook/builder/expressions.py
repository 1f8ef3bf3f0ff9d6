"""Columns, metrics and SQL of a dataset as values with operators; each knows how a payload writes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from analytics_core._notebook.builder.conditions import ConditionPlace, QueryCondition, SingleCondition
from analytics_core._notebook.builder.operators import ComparableExpression, OrderKey, SqlExpression
from analytics_core._notebook.builder.sql_text import (
    aggregate_sql,
    column_aggregate_sql,
    column_sql,
    compared_with_number,
)
from analytics_core._notebook.builder.values import (
    ColumnFacts,
    TimeRangePart,
    Value,
    compared_value,
    grain_text,
    member_values,
    plain_value,
    range_text,
    text_of,
)
from analytics_core._superset.base_query import in_brackets
from analytics_core.errors import FilterValueError, QueryError
from analytics_core.models.enums import Aggregate, ExpressionType, FilterOperator, GenericType


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

    def during(self, *time_range: TimeRangePart) -> QueryCondition:
        """Return the condition that a moment lies in a range of time: `Last quarter`, `2024-01-01 : 2024-04-01`.

        The first moment counts, the end does not; both may also be given as two arguments. Each time column may have a
        range of its own.

        Examples:
            >>> orders.c.order_date.during("Last week")
            orders.c.order_date.during('Last week')
        """
        text = range_text(*time_range)
        if self.facts.kind not in (GenericType.TEMPORAL, None):
            raise FilterValueError(f"{self.code}.during needs a time column; it holds {self.facts.noun}")
        said = ", ".join(map(repr, time_range))
        return self._filtered(FilterOperator.TEMPORAL_RANGE, f"{self.code}.during({said})", val=text)

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

    @property
    def _kind(self) -> GenericType | None:
        return self.facts.kind

    def _operand(self) -> str | None:
        is_cut = isinstance(self.payload, Mapping) and "timeGrain" in self.payload
        return None if is_cut else column_sql(self.facts)

    def _speaks_of(self) -> ConditionPlace:
        return ConditionPlace.ROWS

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

    `filter_name` is the name under which filters find it, `sql` its text for conditions and arithmetic; None: there is
    none.
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

    def _operand(self) -> str | None:
        return self.sql

    def _speaks_of(self) -> ConditionPlace:
        return ConditionPlace.GROUPS

    def _compare(self, op: FilterOperator, value: object) -> QueryCondition:
        code = f"{self.code} {op.value} {value!r}"
        if self.filter_name is not None:
            given = {"col": self.filter_name, "op": op.value, "val": plain_value(value, self.name)}
            return QueryCondition((SingleCondition(place=ConditionPlace.GROUPS, filter=given),), code)
        if self.sql is None:
            raise QueryError(f"{code}: the contract has no filter on this metric; use .having(dataset.sql('...'))")
        text = compared_with_number(self.sql, op, value, self.name)
        return QueryCondition((SingleCondition(place=ConditionPlace.GROUPS, sql=text),), code)

    def _order(self, *, is_ascending: bool) -> OrderKey:
        code = f"{self.code}.{'asc' if is_ascending else 'desc'}()"
        return OrderKey(self.payload, self.name, is_ascending, code)


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
    return MetricExpression(payload, name, code, sql=column_aggregate_sql(aggregate, facts))


def aggregate_of_sql(aggregate: Aggregate, source: SqlExpression, code: str) -> MetricExpression:
    """Return the aggregate of SQL that is a value of a row; QueryError when it is one of a group."""
    if source.place is ConditionPlace.GROUPS:
        raise QueryError(f"{code}: {source.code} is a metric already; aggregates are made of columns")
    name = f"{aggregate.value}({source.name})"
    return sql_metric(SqlExpression(aggregate_sql(aggregate, source.text), name, code, ConditionPlace.GROUPS))


def sql_metric(source: SqlExpression) -> MetricExpression:
    """Return SQL as a metric."""
    return MetricExpression(source.written(), source.name, source.code, sql=in_brackets(source.text))


def sql_column(source: SqlExpression) -> ColumnExpression:
    """Return SQL as a column to group by."""
    facts = ColumnFacts(name=source.name, kind=None, is_stored=False)
    return ColumnExpression(facts, source.code, source.written(), source.name)

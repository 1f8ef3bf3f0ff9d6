"""`dataset.c`, `dataset.m`, `dataset.sum` ...: columns and metrics by their names, which editors complete."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from keyword import iskeyword
from typing import Final, Generic, TypeVar

from analytics_core._notebook.builder.expressions import (
    ColumnExpression,
    MetricExpression,
    aggregate_of,
    aggregate_of_sql,
)
from analytics_core._notebook.builder.operators import SqlExpression
from analytics_core._notebook.builder.values import ColumnFacts
from analytics_core.errors import FilterValueError, QueryError, UnknownColumnError, UnknownMetricError
from analytics_core.models.enums import Aggregate, ExpressionType, GenericType

Named = TypeVar("Named")

_NUMBERS_AS_TEXT: Final = (
    "; where it is meant to hold numbers, read them as such: connect(path, decimal_character=',', "
    "thousands_character='.') for a CSV file of 1.234,56, pandas.to_numeric for a frame"
)


_COUNT_OF_ROWS: Final = re.compile(r"\s*COUNT\s*\(\s*(\*|1)\s*\)\s*", re.IGNORECASE)


class AmbiguousNameError(QueryError):
    """A name that means two things of a dataset; the message says how to write either."""


class UnknownColumnAttributeError(UnknownColumnError, AttributeError):  # type: ignore[misc]  # name
    """A column that the dataset does not have, read as an attribute: `hasattr` and editors take it for what it is."""


class UnknownMetricAttributeError(UnknownMetricError, AttributeError):  # type: ignore[misc]  # name
    """A metric that the dataset does not have, read as an attribute."""


class NameAccessor(Generic[Named]):
    """Things of a dataset by their names: as attributes, which editors complete, or as `["odd name"]`.

    Args:
        names: the names, in the order of the dataset.
        find: gives the thing of a name, or raises an error that names the nearest one.
    """

    __slots__ = ("_find", "_names")

    def __init__(self, names: Sequence[str], find: Callable[[str], Named]) -> None:
        self._names = names
        self._find = find

    def __getattr__(self, name: str) -> Named:
        if name.startswith("_") and name not in self._names:  # what notebooks and copies look for
            raise AttributeError(name)
        return self._find(name)

    def __getitem__(self, name: str) -> Named:
        return self._find(name)

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __dir__(self) -> list[str]:
        return [name for name in self._names if name.isidentifier() and not iskeyword(name)]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._names)

    def __repr__(self) -> str:
        return f"<{', '.join(self._names)}>"


class AggregateAccessor(NameAccessor[MetricExpression]):
    """An aggregate of each column that it can be made of: `dataset.sum.amount`, or `dataset.sum("amount")`.

    Arithmetic on columns, and SQL, are given as an argument: `dataset.sum(dataset.c.revenue - dataset.c.cost)`.
    """

    __slots__ = ("_find_sql",)

    def __init__(
        self,
        names: Sequence[str],
        find: Callable[[str], MetricExpression],
        find_sql: Callable[[SqlExpression], MetricExpression],
    ) -> None:
        super().__init__(names, find)
        self._find_sql = find_sql

    def __call__(self, column: str | ColumnExpression | SqlExpression) -> MetricExpression:
        """Return the aggregate of a column, or of SQL that has a value in each row."""
        if isinstance(column, SqlExpression):
            return self._find_sql(column)
        return self._find(column.facts.name if isinstance(column, ColumnExpression) else column)


class CountAccessor(AggregateAccessor):
    """The number of rows, `dataset.count()`, or of the values of a column, `dataset.count.email`."""

    __slots__ = ("_rows",)

    def __init__(
        self,
        names: Sequence[str],
        find: Callable[[str], MetricExpression],
        find_sql: Callable[[SqlExpression], MetricExpression],
        rows: MetricExpression,
    ) -> None:
        super().__init__(names, find, find_sql)
        self._rows = rows

    def __call__(self, column: str | ColumnExpression | SqlExpression | None = None) -> MetricExpression:
        """Return the number of rows, or of the values of a column that are not null."""
        return self._rows if column is None else super().__call__(column)


class DatasetNames:
    """The columns and metrics of a dataset, as values that lines are written with.

    Args:
        owner: how code calls the dataset: `sales`.
        dataset: its name in errors.
        columns: the facts of its columns by their names.
        verbose: names of columns by the names that people see.
        metrics: the expressions of its saved metrics by their names.
    """

    __slots__ = ("_columns", "_metrics", "_verbose", "dataset", "owner")

    def __init__(
        self,
        owner: str,
        dataset: str,
        *,
        columns: Mapping[str, ColumnFacts],
        verbose: Mapping[str, str],
        metrics: Mapping[str, str],
    ) -> None:
        self.owner = owner
        self.dataset = dataset
        self._columns = columns
        self._verbose = verbose
        self._metrics = metrics

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._columns)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the saved metrics."""
        return tuple(self._metrics)

    def facts(self, name: str) -> ColumnFacts:
        """Return what is known of a column, by its name or the one that people see; UnknownColumnError otherwise."""
        own = self._columns.get(name) or self._columns.get(self._verbose.get(name, ""))
        if own is None:
            hint = f"it is a metric: {self._code('m', name)}, or query({name!r})" if name in self._metrics else ""
            raise UnknownColumnAttributeError(str(name), dataset=self.dataset, known=self._columns, hint=hint)
        return own

    def column(self, name: str) -> ColumnExpression:
        """Return a column; UnknownColumnError otherwise."""
        facts = self.facts(name)
        return ColumnExpression(facts, self._code("c", facts.name), facts.name, facts.name)

    def saved_metric(self, name: str) -> MetricExpression:
        """Return a saved metric; UnknownMetricError otherwise.

        Filters find a metric by its name only where no column is called so.
        """
        if name not in self._metrics:
            hint = f"it is a column: {self._code('sum', name)}, or query({name!r})" if name in self._columns else ""
            raise UnknownMetricAttributeError(str(name), dataset=self.dataset, known=self._metrics, hint=hint)
        is_hidden = name in self._columns or name in self._verbose
        sql = f"({self._metrics[name]}\n)"
        return MetricExpression(name, name, self._code("m", name), filter_name=None if is_hidden else name, sql=sql)

    def metric(self, name: str) -> MetricExpression:
        """Return the saved metric of a name, else the sum of the numeric column of this name, called as the column.

        Raises:
            UnknownMetricError: nothing is called so; the message names the nearest metric or numeric column.
            FilterValueError: the column does not hold numbers.
            AmbiguousNameError: it is a number of rows and a numeric column.
        """
        if self.is_ambiguous(name):
            raise AmbiguousNameError(
                f"{name!r} of dataset {self.dataset!r} is a saved metric that counts rows, and a numeric column; write "
                f"{self._code('m', name)} for the rows, {self._code('sum', name)} for the sum of the column"
            )
        if name in self._metrics:
            return self.saved_metric(name)
        if name in self._columns or name in self._verbose:
            return self.sum_of(self.facts(name), repr(name))
        numeric = [column for column, facts in self._columns.items() if facts.is_number]
        raise UnknownMetricAttributeError(str(name), dataset=self.dataset, known=(*self._metrics, *numeric))

    def is_ambiguous(self, name: str) -> bool:
        """Tell whether a name is that of a metric which counts rows, as each dataset has, and of a numeric column.

        Any other metric of the name of a column was made so by somebody, and says what they mean by it.
        """
        is_number = name in self._columns and self._columns[name].is_number
        return is_number and _COUNT_OF_ROWS.fullmatch(self._metrics.get(name, "")) is not None

    def sum_of(self, facts: ColumnFacts, code: str) -> MetricExpression:
        """Return the sum of a numeric column, called as the column; FilterValueError when it holds something else."""
        if facts.kind not in (GenericType.NUMERIC, None):
            raise FilterValueError(
                f"column {facts.name!r} of dataset {self.dataset!r} holds {facts.noun}, which do not add up; group by "
                f"it with .by({facts.name!r}), or count it: {self._code('count_distinct', facts.name)}"
                f"{_NUMBERS_AS_TEXT if facts.kind is GenericType.STRING else ''}"
            )
        return aggregate_of(Aggregate.SUM, facts, code, label=facts.name)

    def aggregates(self, aggregate: Aggregate, name: str) -> AggregateAccessor:
        """Return an aggregate of each column that it can be made of."""
        of_numbers = aggregate in (Aggregate.SUM, Aggregate.AVG)
        offered = [
            column
            for column, facts in self._columns.items()
            if not of_numbers or facts.kind in (GenericType.NUMERIC, None)
        ]

        def find(column: str) -> MetricExpression:
            facts = self.facts(column)
            return aggregate_of(aggregate, facts, self._code(name, facts.name))

        def find_sql(source: SqlExpression) -> MetricExpression:
            return aggregate_of_sql(aggregate, source, f"{self.owner}.{name}({source.code})")

        if aggregate is not Aggregate.COUNT:
            return AggregateAccessor(offered, find, find_sql)
        rows = {"expressionType": ExpressionType.SQL.value, "sqlExpression": "COUNT(*)", "label": "count"}
        return CountAccessor(
            offered, find, find_sql, MetricExpression(rows, "count", f"{self.owner}.count()", sql="COUNT(*)")
        )

    def _code(self, accessor: str, name: str) -> str:
        plain = name.isidentifier() and not iskeyword(name)
        return f"{self.owner}.{accessor}.{name}" if plain else f"{self.owner}.{accessor}[{name!r}]"

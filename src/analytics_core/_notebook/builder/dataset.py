"""`core.dataset("sales")`: a dataset to write questions on, with its columns and metrics."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from keyword import iskeyword
from typing import Final, Protocol

from analytics_core._notebook.builder.accessors import AggregateAccessor, CountAccessor, DatasetNames, NameAccessor
from analytics_core._notebook.builder.arguments import MetricLike
from analytics_core._notebook.builder.expressions import ColumnExpression, MetricExpression
from analytics_core._notebook.builder.operators import SqlExpression, sql_expression
from analytics_core._notebook.builder.query import DatasetQuery
from analytics_core._notebook.builder.runnable import ChartNamespace
from analytics_core._notebook.builder.specification import QuerySpecification
from analytics_core._notebook.builder.values import ColumnFacts
from analytics_core._tools.display.blocks import Blocks, next_line
from analytics_core._tools.display.bundles import mime_bundle
from analytics_core.errors import NotFoundError, QueryError, nearest
from analytics_core.errors.base import known_list
from analytics_core.models.dataset import DatasetGet, DatasetListItem, TableColumn
from analytics_core.models.enums import Aggregate, GenericType

MOST_NAMES: Final = 1_000
"""How many names of datasets are looked at for the nearest one."""


class DatasetNamespace(Protocol):
    """What the builder asks of `core.datasets`."""

    def get(self, dataset_id: int | str) -> DatasetGet:
        """Return a dataset by its id or name."""

    def list(self, *, order_by: str, page_size: int, columns: tuple[str, ...]) -> Iterable[DatasetListItem]:
        """Return a page of datasets."""


class DatasetHandle:
    """A dataset to ask: its columns and metrics as values, and queries that are built of them.

    What it knows of its columns was read when it was made, as the actor may see it; a query that runs asks anew
    what may be read.

    Args:
        facts: the dataset.
        charts: what answers its queries.

    Examples:
        >>> import tempfile, analytics_core
        >>> from analytics_core.testing.sample_data import make_shop
        >>> folder = tempfile.TemporaryDirectory()
        >>> core = analytics_core.connect(make_shop(f"{folder.name}/shop.db"))
        >>> revenue = {"metric_name": "revenue", "expression": "SUM(amount)"}
        >>> made = core.datasets.create({"database": 1, "table_name": "orders"})
        >>> made = core.datasets.update(made.id, {"main_dttm_col": "order_date", "metrics": [revenue]})
        >>> orders = core.dataset("orders")
        >>> [row[0] for row in orders.query("revenue").by("country").top(2).run().results[0].rows()]
        ['Germany', 'France']
        >>> core.close()
        >>> folder.cleanup()
    """

    def __init__(self, facts: DatasetGet, charts: ChartNamespace) -> None:
        self._facts = facts
        self._charts = charts
        name = facts.table_name
        owner = name if name.isidentifier() and not iskeyword(name) else f"core.dataset({name!r})"
        self._names = DatasetNames(
            owner,
            name,
            columns={column.column_name: _column_facts(column) for column in facts.columns},
            verbose={column.verbose_name: column.column_name for column in facts.columns if column.verbose_name},
            metrics={metric.metric_name: metric.expression for metric in facts.metrics},
        )

    # ------------------------------------------------------------------------------------------------------- facts
    @property
    def id(self) -> int:
        """The id of the dataset.

        Examples:
            >>> orders.id
            1
        """
        return self._facts.id

    @property
    def name(self) -> str:
        """The name of the dataset.

        Examples:
            >>> orders.name
            'orders'
        """
        return self._facts.table_name

    @property
    def description(self) -> str | None:
        """What its owners say of it; None: nothing.

        Examples:
            >>> orders.description is None
            True
        """
        return self._facts.description

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns, in their order.

        Examples:
            >>> orders.columns[:2]
            ('id', 'order_date')
        """
        return self._names.columns

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of its saved metrics.

        Examples:
            >>> orders.metrics
            ('revenue',)
        """
        return self._names.metrics

    # ------------------------------------------------------------------------------------------ columns and metrics
    @cached_property
    def c(self) -> NameAccessor[ColumnExpression]:
        """Its columns: `orders.c.status`, `orders.c["odd name"]`; an unknown one is an UnknownColumnError.

        Examples:
            >>> orders.c.country
            orders.c.country
        """
        return NameAccessor(self._names.columns, self._names.column)

    @cached_property
    def m(self) -> NameAccessor[MetricExpression]:
        """Its saved metrics: `orders.m.revenue`; an unknown one is an UnknownMetricError.

        Examples:
            >>> orders.m.revenue
            orders.m.revenue
        """
        return NameAccessor(self._names.metrics, self._names.saved_metric)

    @cached_property
    def sum(self) -> AggregateAccessor:
        """Sums of numeric columns: `orders.sum.amount`, called `SUM(amount)` in the result.

        Examples:
            >>> orders.sum.amount.label("total")
            orders.sum.amount.label('total')
        """
        return self._names.aggregates(Aggregate.SUM, "sum")

    @cached_property
    def avg(self) -> AggregateAccessor:
        """Averages of numeric columns.

        Examples:
            >>> orders.query(orders.avg.amount).pandas().columns.tolist()
            ['AVG(amount)']
        """
        return self._names.aggregates(Aggregate.AVG, "avg")

    @cached_property
    def min(self) -> AggregateAccessor:
        """Least values of columns.

        Examples:
            >>> orders.query(orders.min.order_date.label('first')).pandas().columns.tolist()
            ['first']
        """
        return self._names.aggregates(Aggregate.MIN, "min")

    @cached_property
    def max(self) -> AggregateAccessor:
        """Greatest values of columns.

        Examples:
            >>> orders.query(orders.max.amount).by('country').top(1).run()[0].colnames
            ('country', 'MAX(amount)')
        """
        return self._names.aggregates(Aggregate.MAX, "max")

    @cached_property
    def count(self) -> CountAccessor:
        """`orders.count()`: how many rows; `orders.count.email`: how many values that are not null.

        Examples:
            >>> orders.count()
            orders.count()
        """
        accessor = self._names.aggregates(Aggregate.COUNT, "count")
        assert isinstance(accessor, CountAccessor)  # noqa: S101 - made so; tells the type checker
        return accessor

    @cached_property
    def count_distinct(self) -> AggregateAccessor:
        """Numbers of different values of columns.

        Examples:
            >>> orders.query(orders.count_distinct.customer_id.label('customers')).run()[0].colnames
            ('customers',)
        """
        return self._names.aggregates(Aggregate.COUNT_DISTINCT, "count_distinct")

    def sql(self, expression: str, *, label: str | None = None) -> SqlExpression:
        """Return SQL in the words of the dataset's engine: a metric, a column or a condition, by where it is put.

        Args:
            expression: one expression, such as `SUM(amount) / COUNT(*)`; it is read when the query runs.
            label: its name in the result; None: the expression itself.

        Raises:
            FragmentError: it is no text.

        Examples:
            >>> orders.query(orders.sql("SUM(amount) / COUNT(*)", label="each")).run().results[0].colnames
            ('each',)
        """
        return sql_expression(expression, label, self._names.owner)

    # -------------------------------------------------------------------------------------------------------- query
    def query(self, *metrics: MetricLike) -> DatasetQuery:
        """Return a query for metrics; without any, for the different values of the columns it is grouped by.

        Args:
            metrics: names of saved metrics or of numeric columns, whose sum is meant; `orders.sum.amount` and the like;
                numeric columns; SQL.

        Raises:
            UnknownMetricError: nothing is called so; the message names what comes nearest.
            FilterValueError: a column that does not hold numbers.

        Examples:
            >>> orders.query("revenue", orders.max.amount).run().results[0].colnames
            ('revenue', 'MAX(amount)')
        """
        return DatasetQuery(self._facts, self._names, self._charts, QuerySpecification()).query(*metrics)

    def __repr__(self) -> str:
        return self._names.owner

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        return [*self._facts._blocks(), *next_line(self._example())]

    def _example(self) -> str:
        metric = next((name for name in self.m if not self._names.is_ambiguous(name)), None)
        texts = (one.column_name for one in self._facts.columns if one.type_generic is GenericType.STRING)
        column = next(texts, next(iter(self.columns), "column"))
        said = f"query({metric!r})" if metric else "query()"
        return f"{self._names.owner}.{said}.by({column!r})"


def find_dataset(name: int | str | None, datasets: DatasetNamespace, charts: ChartNamespace) -> DatasetHandle:
    """Return a dataset to ask, by its id or name; None: the only one that there is.

    Raises:
        NotFoundError: there is none that the actor may read; the message names the nearest one.
        QueryError: none is named, and there are several.
        DatasetAccessError: the dataset of this id is not for the actor.
    """
    try:
        return DatasetHandle(datasets.get(_only_id(datasets) if name is None else name), charts)
    except NotFoundError:
        known = [item.table_name for item in _listed(datasets)] if isinstance(name, str) else []
        close = nearest(name, known)
        if not isinstance(name, str) or name in known:
            raise
        hint = (
            f"did you mean {close[0]!r}?" if close else f"there are: {known_list(known)}" if known else "there is none"
        )
        how = "a frame, also one that a connection has registered, becomes one by core.dataset_from"
        raise NotFoundError("dataset", name, place=f"({hint if close else f'{hint}; {how}'})") from None


def _only_id(datasets: DatasetNamespace) -> int:
    """Return the id of the only dataset; QueryError when there are none or several."""
    found = _listed(datasets)
    if len(found) == 1:
        return found[0].id
    if not found:
        raise QueryError("this core has no dataset that you may read; make one with datasets.create")
    names = known_list([item.table_name for item in found])
    raise QueryError(f"this core has {len(found)} datasets; name the one that is meant: {names}")


def _listed(datasets: DatasetNamespace) -> tuple[DatasetListItem, ...]:
    return tuple(datasets.list(order_by="table_name", page_size=MOST_NAMES, columns=("id", "table_name")))


def _column_facts(column: TableColumn) -> ColumnFacts:
    kind = GenericType.TEMPORAL if column.is_dttm else column.type_generic
    return ColumnFacts(
        name=column.column_name,
        kind=None if column.advanced_data_type else kind,
        is_stored=not column.expression,
    )

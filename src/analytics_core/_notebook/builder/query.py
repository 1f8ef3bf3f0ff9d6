"""`DatasetQuery`: a query that is built step by step; nothing runs before it is told to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analytics_core._engine.compile.time_offset import parse_time_offset
from analytics_core._notebook.builder.accessors import DatasetNames
from analytics_core._notebook.builder.arguments import (
    COMPARISONS,
    ORIENTATIONS,
    ColumnLike,
    Comparison,
    ConditionLike,
    MetricLike,
    OrderLike,
    Orientation,
    choice_of,
    choosing_key,
    column_of,
    conditions_of,
    group_name,
    metric_of,
    one_of,
    order_key,
    with_metrics,
)
from analytics_core._notebook.builder.charts import QueryChart, query_chart, table_chart
from analytics_core._notebook.builder.expressions import ColumnExpression
from analytics_core._notebook.builder.forms import TABLE
from analytics_core._notebook.builder.payload import annotation_layer, query_axes, query_context
from analytics_core._notebook.builder.runnable import ChartNamespace, RunnableQuery
from analytics_core._notebook.builder.specification import ChainCall, QuerySpecification, VerbStep
from analytics_core._notebook.builder.values import (
    TimeRangePart,
    count_of,
    fraction_of,
    grain_text,
    limit_of,
    number_of,
    range_text,
    text_of,
)
from analytics_core.errors import QueryError
from analytics_core.models.chart import ChartGet
from analytics_core.models.dataset import DatasetGet

Named = Mapping[str, object] | None


class DatasetQuery(RunnableQuery):
    """A query on a dataset: each step returns another one, so that a base may be asked in several ways.

    Nothing runs before `run`, `sql`, `explain` or a display. What names and values can be checked without the database
    is checked when the line is written, everything else when it runs. `repr` shows the query as code.

    Args:
        facts: the dataset.
        names: its columns and metrics.
        charts: what answers queries.
        specification: what has been said so far.

    Examples:
        `orders` is the dataset that the example of `DatasetHandle` makes.

        >>> query = orders.query("revenue").by("country").where(orders.c.channel == "web").top(2)
        >>> query
        orders.query('revenue').by('country').where(orders.c.channel == 'web').top(2)
        >>> [row[0] for row in query.run().results[0].rows()]
        ['Germany', 'France']
    """

    __slots__ = ("_facts", "_made", "_names", "_specification")

    def __init__(
        self, facts: DatasetGet, names: DatasetNames, charts: ChartNamespace, specification: QuerySpecification
    ) -> None:
        super().__init__(charts)
        self._facts = facts
        self._names = names
        self._specification = specification
        self._made: dict[str, Any] | None = None

    # --------------------------------------------------------------------------------------------------------- what
    def query(self, *metrics: MetricLike) -> DatasetQuery:
        """Return the query with further metrics; what they may be, `DatasetHandle.query` says.

        Raises:
            UnknownMetricError: nothing is called so; the message names what comes nearest.
            FilterValueError: a column that does not hold numbers.

        Examples:
            >>> orders.query("revenue").query(orders.count()).payload()["queries"][0]["metrics"][0]
            'revenue'
        """
        spec = self._specification
        if spec.metrics is None:
            raise QueryError(".raw asks for rows, which have no metrics; begin another query for metrics")
        found = tuple([metric_of(self._names, metric) for metric in metrics])
        return self._with("query", metrics, metrics=(*spec.metrics, *found))

    def by(self, *columns: ColumnLike) -> DatasetQuery:
        """Return the query grouped by columns too.

        Args:
            columns: names, columns such as `orders.c.ordered_on.grain("month")`, or SQL.

        Raises:
            UnknownColumnError: there is no such column; the message names the nearest one.

        Examples:
            >>> [row[0] for row in orders.query("revenue").by("channel").run().results[0].rows()]
            ['app', 'store', 'web', None]
        """
        found = tuple([column_of(self._names, column) for column in columns])
        return self._with("by", columns, columns=(*self._specification.columns, *found))

    def raw(self, *columns: ColumnLike) -> DatasetQuery:
        """Return the query for rows as they are stored, without metrics.

        Args:
            columns: as for `by`; none: all columns of the dataset.

        Raises:
            UnknownColumnError: there is no such column.
            QueryError: the query has metrics.

        Examples:
            >>> orders.query().raw("id", "country").limit(1).run().results[0].rows()
            [(1, '...')]
        """
        if self._specification.metrics:
            raise QueryError(".raw asks for rows, which have no metrics; begin with query() without any")
        found = tuple([column_of(self._names, column) for column in columns or self._names.columns])
        return self._with("raw", columns, metrics=None, columns=(*self._specification.columns, *found))

    # --------------------------------------------------------------------------------------------------------- time
    def during(self, *time_range: TimeRangePart | None, grain: str | None = None) -> DatasetQuery:
        """Return the query for a range of time, cut into buckets where a grain is given.

        The time column is the dataset's main one, unless `as_time` names another. The first moment counts, the end does
        not. Buckets come back under the name of the time column, before all other columns.

        Args:
            time_range: such as `Last quarter` or `2024-01-01 : 2024-04-01`, or both ends; none: all time.
            grain: such as `month` or `P1M`.

        Raises:
            TimeRangeError, UnknownTimeGrainError: it is none; the message shows what would work.

        Examples:
            >>> len(orders.query("revenue").during("2024-01-01 : 2024-04-01", grain="month").run().results[0].rows())
            3
        """
        given: dict[str, Any] = {} if grain is None else {"grain": grain_text(grain)}
        said = () if time_range == (None,) else time_range
        return self._with("during", said, {"grain": grain}, time_range=range_text(*said) if said else None, **given)

    def as_time(self, column: str | ColumnExpression) -> DatasetQuery:
        """Return the query with another time column for `during`.

        Raises:
            UnknownColumnError: there is no such column.

        Examples:
            >>> orders.query("revenue").as_time("order_date").during("2024").payload()["queries"][0]["granularity"]
            'order_date'
        """
        return self._with("as_time", (column,), time_column=column_of(self._names, column).facts.name)

    def compare(self, *offsets: str, show: Comparison = "values") -> DatasetQuery:
        """Return the query compared with other times: each metric once more as `METRIC__OFFSET`.

        The range of `during` must have both ends (contract, `time_offsets`). Groups of the other alone are left out.

        Args:
            offsets: such as `1 year ago`, `28 days ago`, or `inherit` for the time just before.
            show: `values` beside each other; or in place of them the `difference`, the `ratio`, or the `percentage`
                (0.1 is a tenth more) of now and then.

        Raises:
            TimeOffsetError: it is none; the message shows what would work.

        Examples:
            >>> year = orders.query("revenue").during("2024-01-01 : 2025-01-01")
            >>> year.compare("1 year ago").run().results[0].colnames
            ('revenue', 'revenue__1 year ago')
        """
        one_of(show, COMPARISONS, "show of .compare")
        for offset in offsets:
            parse_time_offset(text_of(offset, ".compare"))
        change = None if show == "values" else {"show": show}
        return self._with("compare", offsets, change, step=change, offsets=(*self._specification.offsets, *offsets))

    # ------------------------------------------------------------------------------------ conditions, order, limits
    def where(self, *conditions: ConditionLike) -> DatasetQuery:
        """Return the query of rows that meet all conditions, those of earlier calls too.

        Args:
            conditions: such as `orders.c.status == "paid"`, joined by `&`; or SQL.

        Raises:
            QueryError: no condition, or one on metrics, which `having` takes.

        Examples:
            >>> toys = (orders.c.category == "toys") & (orders.c.amount > 100)
            >>> orders.query(orders.count()).where(toys).run().results[0].rows()
            [(...,)]
        """
        added = conditions_of(self._names, self._specification, "where", conditions)
        return self._with("where", conditions, **added)

    def having(self, *conditions: ConditionLike) -> DatasetQuery:
        """Return the query of groups that meet all conditions, those of earlier calls too.

        Args:
            conditions: such as `orders.m.revenue > 1000` or `orders.sum.amount > 1000`; or SQL. Aggregates are compared
                with numbers.

        Raises:
            QueryError: no condition, or one on columns, which `where` takes.

        Examples:
            >>> orders.query("revenue").by("country").having(orders.m.revenue > 300_000).run().results[0].rows()
            [('Germany', ...)]
        """
        added = conditions_of(self._names, self._specification, "having", conditions)
        return self._with("having", conditions, **added)

    def order(self, *keys: OrderLike) -> DatasetQuery:
        """Return the query ordered by these keys; those of earlier calls go before.

        Args:
            keys: names of columns and metrics, descending with a leading minus (`-revenue`); columns and metrics
                themselves, or `orders.c.country.desc()`.

        Raises:
            UnknownColumnError: nothing is called so.

        Examples:
            >>> orders.query("revenue").by("country").order("-revenue", "country").payload()["queries"][0]["orderby"]
            [['revenue', False], ['country', True]]
        """
        found = tuple([order_key(self._names, self._specification, key) for key in keys])
        return self._with("order", keys, order=(*self._specification.order, *found))

    def top(self, count: int, *, by: OrderLike | None = None, of: str | ColumnExpression | None = None) -> DatasetQuery:
        """Return the query for the greatest rows by a metric; with a time axis, for the greatest series.

        `by("product").top(10)` gives ten rows. Where a time axis or an order of its own says how rows come, and with
        `others`, the ten products are chosen first, and all of their rows are given (contract, `series_limit`).

        Args:
            count: how many.
            by: the metric that chooses, or of rows the column; None: the first metric.
            of: the column whose values are chosen, where rows are grouped by others too; None: all columns together.

        Raises:
            LimitError: no whole number above 0.
            UnknownColumnError: nothing is called so.

        Examples:
            >>> [row[0] for row in orders.query("revenue").by("country").top(2).run().results[0].rows()]
            ['Germany', 'France']
        """
        key = None if by is None else choosing_key(self._names, self._specification, by)
        chosen = () if of is None else (group_name(self._names, self._specification, of),)
        found = (count_of(count, ".top", least=1), key)
        return self._with("top", (count,), {"by": by, "of": of}, top=found, top_of=chosen)

    def others(self) -> DatasetQuery:
        """Return the query with what `top` leaves out as one more group, `Others`.

        Examples:
            >>> [row[0] for row in orders.query("revenue").by("country").top(2).others().run().results[0].rows()]
            ['Others', 'Germany', 'France']
        """
        return self._with("others", has_others=True)

    def limit(self, rows: int) -> DatasetQuery:
        """Return the query for so many rows at most: the first by `order`, else by the columns of `by`.

        Raises:
            LimitError: no whole number above 0.

        Examples:
            >>> len(orders.query("revenue").by("country").limit(4).run().results[0].rows())
            4
        """
        return self._with("limit", (rows,), limit=limit_of(rows))

    def offset(self, rows: int) -> DatasetQuery:
        """Return the query without the first rows; errors are those of `limit`.

        Examples:
            >>> len(orders.query("revenue").by("country").offset(4).run().results[0].rows())
            2
        """
        return self._with("offset", (rows,), offset=count_of(rows, ".offset"))

    # -------------------------------------------------------------------------------------------- steps on the rows
    def pivot(self, *columns: str | ColumnExpression, fill: float | None = None, totals: bool = False) -> DatasetQuery:
        """Return the query with a column for each value of these columns, and a row for each value of the others.

        Headings are the values, or `METRIC, VALUE` where there are several metrics.

        Args:
            columns: what goes across; the query is grouped by them.
            fill: a number in place of what is missing; None leaves it null.
            totals: add a row and a column `All`: sums, or extremes of `min`, `max`; a note tells of sums of averages.

        Raises:
            UnknownColumnError: there is no such column.
            QueryError: none is named.

        Examples:
            >>> orders.query("revenue").by("country", "channel").pivot("channel").run().results[0].colnames
            ('country', '<NULL>', 'app', 'store', 'web')
        """
        if not columns:
            raise QueryError(".pivot needs the columns that go across: .pivot('country')")
        fill = None if fill is None else number_of(fill, "fill of .pivot")
        names = [group_name(self._names, self._specification, column) for column in columns]
        said = {"fill": fill, "totals": totals or None}
        return self._with("pivot", columns, said, step={"columns": names, "fill": fill, "totals": totals})

    def rolling(self, window: int, kind: str = "mean", *, min_periods: int | None = None) -> DatasetQuery:
        """Return the query with an aggregate over the last rows in place of each value.

        Args:
            window: how many rows, the own one included; a month without rows is none: `resample` first.
            kind: `mean`, `sum`, `median`, `min`, `max`, `std` and the others of `RollingType`.
            min_periods: how many values a window needs; None: all.

        Raises:
            LimitError: no whole number above 0.
            UnknownNameError: no such kind.

        Examples:
            >>> weeks = orders.query("revenue").during("2024-01-01 : 2025-01-01", grain="week")
            >>> weeks.rolling(4, "sum").run().results[0].colnames
            ('order_date', 'revenue')
        """
        choice_of(kind, "kind of .rolling")
        options: dict[str, Any] = {"rolling_type": kind, "window": count_of(window, ".rolling", least=1)}
        if min_periods is not None:
            options["min_periods"] = count_of(min_periods, "min_periods of .rolling")
        return self._with("rolling", (window, kind), {"min_periods": min_periods}, step=options)

    def cumulative(self, operator: str = "sum") -> DatasetQuery:
        """Return the query with running results in place of values, from the first row down; of averages a note warns.

        Args:
            operator: `sum`, `prod`, `min` or `max`.

        Raises:
            UnknownNameError: no such operator.

        Examples:
            >>> orders.query(orders.count()).by("channel").cumulative().run().results[0].rows()[-1]
            (None, ...)
        """
        choice_of(operator, "operator of .cumulative")
        return self._with("cumulative", () if operator == "sum" else (operator,), step={"operator": operator})

    def share(self, orientation: Orientation = "column") -> DatasetQuery:
        """Return the query with shares in place of values: 0.25 is a quarter (contract, `contribution`).

        Args:
            orientation: of the whole `column`, or of the `row`, which makes sense after `pivot`.

        Raises:
            UnknownNameError: neither.

        Examples:
            >>> shares = orders.query("revenue").by("country").share().run().results[0].rows()
            >>> round(sum(share for _, share in shares), 6)
            1.0
        """
        one_of(orientation, ORIENTATIONS, "orientation of .share")
        return self._with("share", () if orientation == "column" else (orientation,), step={"orientation": orientation})

    def resample(self, rule: str, method: str = "asfreq", *, fill: float | None = None) -> DatasetQuery:
        """Return the query with rows at an even pace along its time axis.

        Args:
            rule: the pace, such as `1D` or `1MS` (months by their first day).
            method: `asfreq`, `ffill`, `bfill`, `linear`, `mean`, `median` or `sum`.
            fill: a number in place of what is left null.

        Raises:
            UnknownNameError: no such method.

        Examples:
            >>> weeks = orders.query("revenue").during("2024-01-01 : 2024-01-15", grain="week")
            >>> len(weeks.resample("1D", "ffill").run().results[0].rows())
            8
        """
        choice_of(method, "method of .resample")
        options: dict[str, Any] = {"rule": text_of(rule, ".resample"), "method": method}
        if fill is not None:
            options["fill_value"] = number_of(fill, "fill of .resample")
        return self._with("resample", (rule, method), {"fill": fill}, step=options)

    def forecast(self, periods: int, *, confidence: float = 0.8) -> DatasetQuery:
        """Return the query with a forecast of each value: columns `NAME__yhat`, `__yhat_lower`, `__yhat_upper`.

        Args:
            periods: how many steps of the time grain.
            confidence: how sure the band is, between 0 and 1.

        Raises:
            LimitError: no whole number.
            QueryError: no such confidence.

        Examples:
            >>> months = orders.query("revenue").during("2023-01-01 : 2025-01-01", grain="month")
            >>> len(months.forecast(3).run().results[0].rows())
            27
        """
        sure = fraction_of(confidence, "confidence of .forecast")
        options = {"periods": count_of(periods, ".forecast"), "confidence_interval": sure}
        return self._with("forecast", (periods,), {} if confidence == 0.8 else {"confidence": confidence}, step=options)

    def annotate(self, name: str, value: int | str) -> DatasetQuery:
        """Return the query with an annotation layer: events of a stored layer, or a formula of `x`.

        The answer has events in `annotation_data` under this name; a formula is left to whoever draws (contract,
        `AnnotationLayer`).

        Args:
            name: what it is called.
            value: an id of `core.annotation_layers`, or a formula such as `2 * x`.

        Examples:
            >>> orders.query("revenue").annotate("goal", "2 * x").run().results[0].rowcount
            1
        """
        layer = annotation_layer(name, value)
        return self._with("annotate", (name, value), layers=(*self._specification.layers, layer))

    # ------------------------------------------------------------------------------------------------------- charts
    def chart(self, kind: str = "table", **form: Any) -> QueryChart:
        """Return the query as a chart: form data that front ends draw, and its picture.

        Args:
            kind: `line`, `bar`, `area`, `pie`, `table`, `big_number` and the others that the message of an unknown one
                lists. A table shows the answer as it is; the others ask what their form asks.
            form: further fields of the form, such as `stack="Stack"` or `show_legend=False`; `theme` is of `picture`.

        Raises:
            UnknownNameError: no such kind, or no such field of a form.
            QueryError: a step that such a chart has no field for.

        Examples:
            >>> orders.query("revenue").by("country").top(5).chart("bar").form_data["x_axis"]
            'country'
        """
        spec, dataset_id = self._specification, self._facts.id
        form = with_metrics(self._names, spec, form)
        axes = query_axes(spec, main_time=self._facts.main_dttm_col)
        if kind == TABLE:
            return table_chart(spec, axes, self.payload(), dataset_id=dataset_id, form=form, charts=self._charts)
        return query_chart(kind, spec, axes, dataset_id=dataset_id, form=form, charts=self._charts)

    def save_as(self, name: str) -> ChartGet:
        """Store the query as a chart, a table, and return it: `core.charts.data` answers it as `run` does.

        Raises:
            PayloadError: a name that no chart may have.
            AccessError: the actor may not store charts on it.

        Examples:
            >>> saved = orders.query("revenue").by("country").save_as("Revenue")
            >>> core.charts.data(saved.id).results[0].rowcount
            6
        """
        return self.chart(TABLE).save_as(name)

    def __repr__(self) -> str:
        return ".".join([self._names.owner, *map(repr, self._specification.calls)])

    def _with(
        self, call: str, said: tuple[object, ...] = (), named: Named = None, *, step: Named = None, **changes: Any
    ) -> DatasetQuery:
        """Return the query after one more call, with what it changes and its step on the rows."""
        spec = self._specification
        spoken = {name: value for name, value in (named or {}).items() if value is not None}
        if step is not None:
            changes["steps"] = (*spec.steps, VerbStep(verb=call, options=step))
        changed = spec._replace(calls=(*spec.calls, ChainCall(call, said, spoken)), **changes)
        return DatasetQuery(self._facts, self._names, self._charts, changed)

    def _context(self) -> dict[str, Any]:
        """Return the query context, made once."""
        if self._made is None:
            facts = self._facts
            self._made = query_context(self._specification, dataset_id=facts.id, main_time=facts.main_dttm_col)
        return self._made

"""`DatasetQuery`: a query that is built step by step; nothing runs before it is told to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

from analytics_core._builder.accessors import DatasetNames
from analytics_core._builder.arguments import (
    ColumnLike,
    ConditionLike,
    MetricLike,
    OrderLike,
    choosing_key,
    column_of,
    conditions_of,
    group_name,
    metric_of,
    one_of,
    order_key,
)
from analytics_core._builder.charts import ChartNamespace, QueryChart
from analytics_core._builder.conditions import ConditionPlace
from analytics_core._builder.expressions import ColumnExpression
from analytics_core._builder.forms import TABLE, chart_form, table_form
from analytics_core._builder.payload import query_axes, query_context
from analytics_core._builder.specification import QuerySpecification, VerbStep
from analytics_core._builder.values import TimeRangeText, count_of, grain_text, range_text
from analytics_core._compile.time_offset import parse_time_offset
from analytics_core._display.blocks import Blocks, CodeBlock
from analytics_core._display.bundles import mime_bundle
from analytics_core._error_types import short_repr
from analytics_core._querying.explain import Explanation
from analytics_core._results.answer import ChartData
from analytics_core._results.display import answer_blocks
from analytics_core.errors import QueryError
from analytics_core.models.chart import ChartGet
from analytics_core.models.dataset import DatasetGet
from analytics_core.models.postprocessing import CumulativeOperator, ResampleMethod, RollingType

if TYPE_CHECKING:
    import pandas as pd

Comparison = Literal["values", "difference", "percentage", "ratio"]
_COMPARISONS: Final = ("values", "difference", "percentage", "ratio")
_ORIENTATIONS: Final = ("column", "row")


class DatasetQuery:
    """A query on a dataset: each step returns another one, so that a base may be asked in several ways.

    Nothing runs before `run`, `sql`, `explain` or a display. What names and values can be checked without the database
    is checked when the line is written, everything else when it runs. `repr` shows the query as code.

    Args:
        facts: the dataset.
        names: its columns and metrics.
        charts: what answers queries.
        specification: what has been said so far.

    Examples:
        >>> import analytics_core
        >>> from analytics_core.testing.sample_data import make_shop
        >>> core = analytics_core.connect(make_shop())
        >>> _ = core.datasets.create({"database": 1, "table_name": "orders"})
        >>> orders = core.dataset("orders")
        >>> query = orders.query("amount").by("country").where(orders.c.channel == "web").top(2)
        >>> print(query.pandas().to_string(index=False))
        country    amount
        Germany ...
         France ...
        >>> core.close()
    """

    __slots__ = ("_charts", "_facts", "_names", "_specification")

    def __init__(
        self,
        facts: DatasetGet,
        names: DatasetNames,
        charts: ChartNamespace,
        specification: QuerySpecification | None = None,
    ) -> None:
        self._facts = facts
        self._names = names
        self._charts = charts
        self._specification = QuerySpecification() if specification is None else specification

    # --------------------------------------------------------------------------------------------------------- what
    def query(self, *metrics: MetricLike) -> DatasetQuery:
        """Return the query with further metrics; what they may be, `DatasetHandle.query` says.

        Raises:
            UnknownMetricError: nothing is called so; the message names what comes nearest.
            FilterValueError: a column that does not hold numbers.
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
        """
        if self._specification.metrics:
            raise QueryError(".raw asks for rows, which have no metrics; begin with query() without any")
        found = tuple([column_of(self._names, column) for column in columns or self._names.columns])
        return self._with("raw", columns, metrics=None, columns=(*self._specification.columns, *found))

    # --------------------------------------------------------------------------------------------------------- time
    def during(self, time_range: TimeRangeText | None = None, *, grain: str | None = None) -> DatasetQuery:
        """Return the query for a range of time, cut into buckets where a grain is given.

        The time column is the dataset's main one, unless `as_time` names another. The first moment counts, the end does
        not. Buckets come back under the name of the time column, before all other columns.

        Args:
            time_range: such as `Last quarter` or `2024-01-01 : 2024-04-01`, or two dates; None: all time.
            grain: such as `month` or `P1M`.

        Raises:
            TimeRangeError, UnknownTimeGrainError: it is none; the message shows what would work.
        """
        given = {"time_range": None if time_range is None else range_text(time_range)}
        if grain is not None:
            given["grain"] = grain_text(grain)
        ranges = () if time_range is None else (time_range,)
        return self._with("during", ranges, {} if grain is None else {"grain": grain}, **given)

    def as_time(self, column: str | ColumnExpression) -> DatasetQuery:
        """Return the query with another time column for `during`.

        Raises:
            UnknownColumnError: there is no such column.
        """
        return self._with("as_time", (column,), time_column=column_of(self._names, column).facts.name)

    def compare(self, *offsets: str, show: Comparison = "values") -> DatasetQuery:
        """Return the query compared with other times: each metric once more as `METRIC__OFFSET`.

        The range of `during` must have both ends (contract, `time_offsets`).

        Args:
            offsets: such as `1 year ago`, `28 days ago`, or `inherit` for the time just before.
            show: `values` beside each other; or in place of them the `difference`, the `ratio`, or the `percentage`
                (0.1 is a tenth more) of now and then.

        Raises:
            TimeOffsetError: it is none; the message shows what would work.
        """
        one_of(show, _COMPARISONS, "show of .compare")
        for offset in offsets:
            parse_time_offset(offset)
        changes: dict[str, Any] = {"offsets": (*self._specification.offsets, *offsets)}
        if show != "values":
            changes["steps"] = self._further_step("compare", show=show)
        return self._with("compare", offsets, {} if show == "values" else {"show": show}, **changes)

    # --------------------------------------------------------------------------------------------------- conditions
    def where(self, *conditions: ConditionLike) -> DatasetQuery:
        """Return the query of rows that meet all conditions, those of earlier calls too.

        Args:
            conditions: such as `orders.c.status == "paid"`, joined by `&`; or SQL.

        Raises:
            QueryError: no condition, or one on metrics, which `having` takes.
        """
        spec, found = self._specification, conditions_of(self._names, "where", conditions, ConditionPlace.GROUPS)
        filters = [single.filter for single in found if single.filter is not None]
        texts = [single.sql for single in found if single.filter is None]
        return self._with("where", conditions, filters=(*spec.filters, *filters), where=(*spec.where, *texts))

    def having(self, *conditions: ConditionLike) -> DatasetQuery:
        """Return the query of groups that meet all conditions, those of earlier calls too.

        Args:
            conditions: such as `orders.m.revenue > 1000` or `orders.sum.amount > 1000`; or SQL. Aggregates are compared
                with numbers.

        Raises:
            QueryError: no condition, or one on columns, which `where` takes.
        """
        spec, found = self._specification, conditions_of(self._names, "having", conditions, ConditionPlace.ROWS)
        filters = [single.filter for single in found if single.filter is not None]
        texts = [single.sql for single in found if single.filter is None]
        return self._with("having", conditions, filters=(*spec.filters, *filters), having=(*spec.having, *texts))

    # ---------------------------------------------------------------------------------------------- order and limits
    def order(self, *keys: OrderLike) -> DatasetQuery:
        """Return the query ordered by these keys; those of earlier calls go before.

        Args:
            keys: names of columns and metrics, descending with a leading minus (`-revenue`); columns and metrics
                themselves, or `orders.c.country.desc()`.

        Raises:
            UnknownColumnError: nothing is called so.
        """
        found = tuple([order_key(self._names, self._specification, key) for key in keys])
        return self._with("order", keys, order=(*self._specification.order, *found))

    def top(self, count: int, *, by: OrderLike | None = None) -> DatasetQuery:
        """Return the query for the greatest rows by a metric; with a time axis, for the greatest series.

        `by("product").top(10)` gives ten rows. Where a time axis or an order of its own says how rows come, and with
        `others`, the ten products are chosen first, and all of their rows are given (contract, `series_limit`).

        Args:
            count: how many.
            by: the metric that chooses, or of rows the column; None: the first metric.

        Raises:
            LimitError: no whole number above 0.
            UnknownColumnError: nothing is called so.
        """
        number = count_of(count, ".top", least=1)
        key = None if by is None else choosing_key(self._names, self._specification, by)
        return self._with("top", (count,), {} if by is None else {"by": by}, top=(number, key))

    def others(self) -> DatasetQuery:
        """Return the query with what `top` leaves out as one more group, `Others`."""
        return self._with("others", has_others=True)

    def limit(self, rows: int) -> DatasetQuery:
        """Return the query for so many rows at most; 0: as many as `Settings.max_row_limit` lets through.

        Raises:
            LimitError: no whole number, or below 0.
        """
        return self._with("limit", (rows,), limit=count_of(rows, ".limit"))

    def offset(self, rows: int) -> DatasetQuery:
        """Return the query without the first rows.

        Raises:
            LimitError: no whole number, or below 0.
        """
        return self._with("offset", (rows,), offset=count_of(rows, ".offset"))

    # -------------------------------------------------------------------------------------------- steps on the rows
    def pivot(self, *columns: str | ColumnExpression, fill: float | None = None, totals: bool = False) -> DatasetQuery:
        """Return the query with a column for each value of these columns, and a row for each value of the others.

        Headings are the values, or `METRIC, VALUE` where there are several metrics.

        Args:
            columns: what goes across; the query is grouped by them.
            fill: a number in place of what is missing; None leaves it null.
            totals: add sums as a row and a column `All`.

        Raises:
            UnknownColumnError: there is no such column.
            QueryError: none is named.
        """
        if not columns:
            raise QueryError(".pivot needs the columns that go across: .pivot('country')")
        names = [group_name(self._names, self._specification, column) for column in columns]
        options = {name: value for name, value in {"fill": fill, "totals": totals}.items() if value}
        return self._with(
            "pivot", columns, options, steps=self._further_step("pivot", columns=names, fill=fill, totals=totals)
        )

    def rolling(self, window: int, kind: str = "mean", *, min_periods: int | None = None) -> DatasetQuery:
        """Return the query with an aggregate over the last rows in place of each value.

        Args:
            window: how many rows, the own one included.
            kind: `mean`, `sum`, `median`, `min`, `max`, `std` and the others of `RollingType`.
            min_periods: how many values a window needs; None: all.

        Raises:
            LimitError: no whole number above 0.
            UnknownNameError: no such kind.
        """
        one_of(kind, [known.value for known in RollingType], "kind of .rolling")
        options: dict[str, Any] = {"rolling_type": kind, "window": count_of(window, ".rolling", least=1)}
        if min_periods is not None:
            options["min_periods"] = count_of(min_periods, "min_periods of .rolling")
        told = {} if min_periods is None else {"min_periods": min_periods}
        return self._with("rolling", (window, kind), told, steps=self._further_step("rolling", **options))

    def cumulative(self, operator: str = "sum") -> DatasetQuery:
        """Return the query with running results in place of values, from the first row down.

        Args:
            operator: `sum`, `prod`, `min` or `max`.

        Raises:
            UnknownNameError: no such operator.
        """
        one_of(operator, [known.value for known in CumulativeOperator], "operator of .cumulative")
        said = () if operator == "sum" else (operator,)
        return self._with("cumulative", said, steps=self._further_step("cumulative", operator=operator))

    def share(self, orientation: Literal["column", "row"] = "column") -> DatasetQuery:
        """Return the query with shares in place of values: 0.25 is a quarter (contract, `contribution`).

        Args:
            orientation: of the whole `column`, or of the `row`, which makes sense after `pivot`.

        Raises:
            UnknownNameError: neither.
        """
        one_of(orientation, _ORIENTATIONS, "orientation of .share")
        said = () if orientation == "column" else (orientation,)
        return self._with("share", said, steps=self._further_step("share", orientation=orientation))

    def resample(self, rule: str, method: str = "asfreq", *, fill: float | None = None) -> DatasetQuery:
        """Return the query with rows at an even pace along its time axis.

        Args:
            rule: the pace, such as `1D` or `1MS` (months by their first day).
            method: `asfreq`, `ffill`, `bfill`, `linear`, `mean`, `median` or `sum`.
            fill: a number in place of what is left null.

        Raises:
            UnknownNameError: no such method.
        """
        one_of(method, [known.value for known in ResampleMethod], "method of .resample")
        options = {"rule": rule, "method": method, **({} if fill is None else {"fill_value": fill})}
        told = {} if fill is None else {"fill": fill}
        return self._with("resample", (rule, method), told, steps=self._further_step("resample", **options))

    def forecast(self, periods: int, *, confidence: float = 0.8) -> DatasetQuery:
        """Return the query with a forecast of each value: columns `NAME__yhat`, `__yhat_lower`, `__yhat_upper`.

        Args:
            periods: how many steps of the time grain.
            confidence: how sure the band is, between 0 and 1.

        Raises:
            LimitError: no whole number.
            QueryError: no such confidence.
        """
        number = count_of(periods, ".forecast")
        if not _is_fraction(confidence):
            raise QueryError(f"confidence of .forecast is a number between 0 and 1, not {short_repr(confidence)}")
        steps = self._further_step("forecast", periods=number, confidence_interval=confidence)
        return self._with("forecast", (periods,), {} if confidence == 0.8 else {"confidence": confidence}, steps=steps)

    def annotate(self, name: str, value: int | str) -> DatasetQuery:
        """Return the query with an annotation layer: the id of a stored layer of events, or a formula of `x`.

        The answer has it in `annotation_data`, under its name (contract, `AnnotationLayer`).

        Args:
            name: what it is called.
            value: an id of `core.annotation_layers`, or a formula such as `2 * x`.
        """
        is_formula = isinstance(value, str)
        layer = {
            "name": name,
            "value": value,
            "annotationType": "FORMULA" if is_formula else "EVENT",
            **({} if is_formula else {"sourceType": "NATIVE"}),
            "show": True,
            "showMarkers": False,
        }
        return self._with("annotate", (name, value), layers=(*self._specification.layers, layer))

    # ------------------------------------------------------------------------------------------------------ answers
    def payload(self) -> dict[str, Any]:
        """Return the query context of this query, a plain dict of its own (contract, ChartDataQueryContextSchema).

        Raises:
            EmptyQueryError, DuplicateLabelError: nothing is asked, or two things have one name.
            QueryError: steps that do not go together; the message says what to do.
        """
        return query_context(self._specification, dataset_id=self._facts.id, main_time=self._facts.main_dttm_col)

    @property
    def sql(self) -> str:
        """The statement that would run, values written in; nothing runs.

        Raises:
            AnalyticsError: what stops the query.
        """
        query = self.explain().queries[0]
        if query.failure is not None:
            raise query.failure
        return query.sql

    def explain(self) -> Explanation:
        """Return why the answer would be what it is, as `charts.explain` does; nothing runs."""
        return self._charts.explain(self.payload())

    def run(self, *, force: bool = False) -> ChartData:
        """Return the answer: `run().results[0]` has the rows.

        Args:
            force: read from the source, not the cache.

        Raises:
            AnalyticsError: what the query fails with, typed: also what has changed since the dataset was read.
        """
        return self._charts.data(self.payload(), force=force).raise_for_error()

    def pandas(self) -> pd.DataFrame:
        """Run the query and return its rows as a pandas DataFrame; `run` has the other forms.

        Raises:
            AnalyticsError: what the query fails with.
        """
        return self.run().results[0].pandas()

    def chart(self, kind: str = "table", **form: Any) -> QueryChart:
        """Return the query as a chart: form data that front ends draw, and its picture.

        Args:
            kind: `line`, `bar`, `area`, `pie`, `table`, `big_number` and the others that the message of an unknown one
                lists. A table shows the answer as it is; the others ask what their form asks.
            form: further fields of the form, such as `stack="Stack"` or `show_legend=False`.

        Raises:
            UnknownNameError: no such kind.
            QueryError: a step that such a chart has no field for.
        """
        spec, dataset_id = self._specification, self._facts.id
        axes = query_axes(spec, main_time=self._facts.main_dttm_col)
        if kind == TABLE:
            fields = table_form(spec, axes, dataset_id=dataset_id)
            return QueryChart({**fields, **form}, self._charts, self.payload())
        return QueryChart({**chart_form(kind, spec, axes, dataset_id=dataset_id), **form}, self._charts)

    def save_as(self, name: str) -> ChartGet:
        """Store the query as a chart, a table, and return it: `core.charts.data` answers it as `run` does.

        Raises:
            PayloadError: a name that no chart may have.
            AccessError: the actor may not store charts on this dataset.
        """
        return self.chart(TABLE).save_as(name)

    def __repr__(self) -> str:
        return ".".join([self._names.owner, *self._specification.code])

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        """Run the query, and return its answer below it as code."""
        return [CodeBlock(text=repr(self)), *answer_blocks(self.run().results)]

    # ------------------------------------------------------------------------------------------------------- inside
    def _with(
        self, call: str, said: Sequence[object] = (), named: Mapping[str, object] | None = None, **changes: Any
    ) -> DatasetQuery:
        """Return the query after one more call, as code and with what it changes."""
        arguments = [*map(repr, said), *(f"{name}={value!r}" for name, value in (named or {}).items())]
        code = (*self._specification.code, f"{call}({', '.join(arguments)})")
        return DatasetQuery(self._facts, self._names, self._charts, replace(self._specification, code=code, **changes))

    def _further_step(self, verb: str, **options: Any) -> tuple[VerbStep, ...]:
        return (*self._specification.steps, VerbStep(verb=verb, options=options))


def _is_fraction(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1

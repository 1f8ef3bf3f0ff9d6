"""What the calls of a chain are given, by name or as values: metrics, columns, conditions, keys of an order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, Literal, get_args

from analytics_core._notebook.builder.accessors import DatasetNames
from analytics_core._notebook.builder.conditions import ConditionPlace, QueryCondition, SingleCondition
from analytics_core._notebook.builder.expressions import ColumnExpression, MetricExpression, sql_column, sql_metric
from analytics_core._notebook.builder.operators import ComparableExpression, OrderKey, SqlExpression
from analytics_core._notebook.builder.specification import QuerySpecification
from analytics_core.errors import QueryError, UnknownColumnError, UnknownNameError
from analytics_core.errors.base import short_repr
from analytics_core.models.enums import Aggregate

MetricLike = str | MetricExpression | ColumnExpression | SqlExpression
ColumnLike = str | ColumnExpression | SqlExpression
ConditionLike = QueryCondition | SqlExpression
OrderLike = str | OrderKey | MetricExpression | ColumnExpression | SqlExpression

Comparison = Literal["values", "difference", "percentage", "ratio"]
Orientation = Literal["column", "row"]
COMPARISONS: Final[tuple[str, ...]] = get_args(Comparison)
ORIENTATIONS: Final[tuple[str, ...]] = get_args(Orientation)

_METRIC_FIELDS: Final = frozenset(
    {"metric", "metrics", "percent_metrics", "secondary_metric", "series_limit_metric", "timeseries_limit_metric"}
)
_SPOKEN_OF: Final = {"where": "rows", "having": "groups"}


def metric_of(names: DatasetNames, metric: object) -> MetricExpression:
    """Return a metric: a saved one by its name, else the sum of a numeric column.

    Raises:
        UnknownMetricError: nothing is called so.
        FilterValueError: the column does not hold numbers.
        QueryError: it is nothing that could be a metric.
    """
    match metric:
        case str():
            return names.metric(metric)
        case MetricExpression():
            return metric
        case ColumnExpression():
            return names.sum_of(metric.facts, metric.code)
        case SqlExpression(place=ConditionPlace.ROWS):
            return names.aggregates(Aggregate.SUM, "sum")(metric)
        case SqlExpression():
            return sql_metric(metric)
    raise QueryError(f"{_rejected(metric)} is no metric; give a name, {names.owner}.sum.NAME or SQL")


def with_metrics(names: DatasetNames, spec: QuerySpecification, form: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields of a form that were given by hand, with metrics as payloads have them.

    A name is that of a metric of the query, else what it is in `query`.

    Raises:
        UnknownMetricError, FilterValueError, QueryError: as `metric_of`.
    """

    def written(metric: object) -> Any:
        own = next((one for one in spec.metrics or () if isinstance(metric, str) and one.name == metric), None)
        if metric is None or isinstance(metric, Mapping):
            return metric
        return (metric_of(names, metric) if own is None else own).payload

    return {
        name: value
        if name not in _METRIC_FIELDS
        else [written(one) for one in value]
        if isinstance(value, list | tuple)
        else written(value)
        for name, value in form.items()
    }


def column_of(names: DatasetNames, column: object) -> ColumnExpression:
    """Return a column; UnknownColumnError or QueryError otherwise."""
    match column:
        case str():
            return names.column(column)
        case ColumnExpression():
            return column
        case SqlExpression(place=ConditionPlace.GROUPS):
            raise QueryError(f"{column.code} is a metric, which rows cannot be grouped by")
        case SqlExpression():
            return sql_column(column)
    raise QueryError(f"{_rejected(column)} is no column; give a name, {names.owner}.c.NAME or SQL")


def _rejected(given: object) -> str:
    several = " (each is an argument of its own)" if isinstance(given, list | tuple | set) else ""
    return f"{short_repr(given)}{several}"


def group_name(names: DatasetNames, spec: QuerySpecification, column: object) -> str:
    """Return the label of a column that a query is grouped by, or will be."""
    if isinstance(column, str) and any(column == own.name for own in spec.columns):
        return column
    return column_of(names, column).name


def conditions_of(
    names: DatasetNames, spec: QuerySpecification, call: str, conditions: Sequence[object]
) -> dict[str, Any]:
    """Return what a call of `where` or `having` changes: the filters, and beside them the SQL.

    Raises:
        QueryError: no condition, or one that the other call takes.
    """
    wrong = ConditionPlace.GROUPS if call == "where" else ConditionPlace.ROWS
    found: list[SingleCondition] = []
    for item in conditions:
        condition = item.condition if isinstance(item, SqlExpression) else item
        if not isinstance(condition, QueryCondition):
            raise QueryError(
                f".{call} takes conditions, such as {names.owner}.c.NAME == 'a', .is_true() of a Boolean or "
                f"{names.owner}.sql('a = 1'), not {short_repr(item)}"
            )
        if any(single.place is wrong for single in condition.singles):
            other = "having" if call == "where" else "where"
            raise QueryError(f".{call} speaks of {_SPOKEN_OF[call]}, and {condition.code} does not; use .{other}")
        found += condition.singles
    filters = (*spec.filters, *(single.filter for single in found if single.filter is not None))
    texts = (*getattr(spec, call), *(single.sql for single in found if single.filter is None))
    return {"filters": filters, call: texts}


def order_key(names: DatasetNames, spec: QuerySpecification, key: object, *, is_ascending: bool = True) -> OrderKey:
    """Return a key of an order; a leading minus of a name means descending.

    Raises:
        UnknownColumnError: nothing is called so.
        QueryError: it is nothing to order by.
    """
    if isinstance(key, OrderKey):
        return key
    if isinstance(key, str):
        name, is_ascending = _read_sign(names, spec, key, is_ascending)
        key = _named(names, spec, name)
    if isinstance(key, ComparableExpression):
        return key.asc() if is_ascending else key.desc()
    raise QueryError(f"{short_repr(key)} is nothing to order by; give a name such as '-revenue'")


def choosing_key(names: DatasetNames, spec: QuerySpecification, key: object) -> OrderKey:
    """Return what chooses the greatest: of groups a metric, also the sum of a numeric column; of rows a column."""
    is_selected = any(key == metric.name for metric in spec.metrics or ()) if isinstance(key, str) else True
    if spec.metrics is not None and not is_selected:
        return metric_of(names, key).desc()
    return order_key(names, spec, key, is_ascending=False)


def _read_sign(names: DatasetNames, spec: QuerySpecification, name: str, is_ascending: bool) -> tuple[str, bool]:
    if name.startswith("-") and name not in _known(names, spec):
        return name[1:], False
    return name, is_ascending


def _known(names: DatasetNames, spec: QuerySpecification) -> tuple[str, ...]:
    selected = [one.name for one in (*spec.columns, *(spec.metrics or ()))]
    return (*selected, *names.metrics, *names.columns)


def _named(names: DatasetNames, spec: QuerySpecification, name: str) -> ComparableExpression:
    for one in (*spec.columns, *(spec.metrics or ())):
        if one.name == name:
            return one
    is_of_rows = spec.metrics is None and name in names.columns
    if name in names.metrics and not is_of_rows:
        return names.metric(name)
    if name not in names.columns:
        raise UnknownColumnError(name, dataset=names.dataset, known=_known(names, spec))
    return names.column(name)


def one_of(value: object, known: Sequence[str], place: str) -> None:
    """Raise UnknownNameError, with the nearest name, for a word that is none of these."""
    if not isinstance(value, str) or value not in known:
        raise UnknownNameError(str(value), place=place, known=known)


def choice_of(value: object, place: str) -> None:
    """Raise UnknownNameError, with the nearest name, for what the operation of a step does not take there."""
    from analytics_core.models.postprocessing import CumulativeOperator, ResampleMethod, RollingType

    choices: dict[str, Iterable[StrEnum]] = {
        "kind of .rolling": RollingType,
        "operator of .cumulative": CumulativeOperator,
        "method of .resample": ResampleMethod,
    }
    one_of(value, [known.value for known in choices[place]], place)

"""The chart-query shapes: a query context and its queries (contract, section Chart data query).

They take all that the contract grants and what real clients send: keys beyond the contract are kept, and
the names of older clients are accepted (`time_grain_sqla`, `granularity_sqla`). Its door is `models.parsing`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AliasChoices, BeforeValidator, Field, PrivateAttr

from analytics_core.models.adhoc import AdhocColumn, AdhocMetric, AdhocMetricColumn, OrderKey, QueryColumn, QueryMetric
from analytics_core.models.annotation_layer import AnnotationLayer
from analytics_core.models.base import (
    Bool,
    Count,
    Flag,
    LenientShape,
    Listed,
    Name,
    NullMeans,
    Omittable,
    ShortText,
    SqlText,
    Whole,
)
from analytics_core.models.enums import (
    DatasourceType,
    FilterOperator,
    RelativeTime,
    ResultFormat,
    ResultType,
    TimeGrain,
)

__all__ = [
    "AdhocColumn",
    "AdhocMetric",
    "AdhocMetricColumn",
    "ChartDataDatasource",
    "ChartDataExtras",
    "ChartDataFilter",
    "ChartDataQueryContext",
    "ChartDataQueryObject",
    "PostProcessingOperation",
]


class ChartDataDatasource(LenientShape):
    """What is queried; `type` decides what `id` counts (contract, `datasource` of a query context)."""

    id: Whole
    type: Omittable[DatasourceType] = None


def _read_grain(value: Any) -> Any:
    """Return a time grain as it was sent; the empty text, as in columns, is none."""
    return None if value == "" else value


class ChartDataExtras(LenientShape):
    """Conditions in SQL and time options of a query (contract, `ChartDataExtras`)."""

    having: Omittable[SqlText] = None
    where: Omittable[SqlText] = None
    relative_start: Omittable[RelativeTime] = None
    relative_end: Omittable[RelativeTime] = None
    time_grain: Annotated[TimeGrain | None, BeforeValidator(_read_grain)] = Field(
        default=None,
        validation_alias=AliasChoices("time_grain_orm", "time_grain_sqla"),
        serialization_alias="time_grain_orm",
    )


def _read_operator(value: Any) -> Any:
    if not isinstance(value, str) or isinstance(value, FilterOperator):
        return value
    folded = value.strip().upper()
    if folded == "REGEX":
        raise ValueError("REGEX is no longer offered; use LIKE or ILIKE with % and _")
    return folded


def _read_filter_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        raise ValueError("must be text, a number, true, false, null or a list of these")
    if not isinstance(value, list | tuple | set | frozenset):
        return value
    if any(issubclass(kind, list | tuple | Mapping) for kind in set(map(type, value))):
        raise ValueError("a list of values holds text, numbers, true, false and null only")
    return tuple(value)


FilterValue = str | int | float | bool | list[str | int | float | bool | None] | None
"""What a filter compares with, as the JSON schema tells it."""


class ChartDataFilter(LenientShape):
    """One condition `col op val`; what `val` may be depends on `op` (contract, `ChartDataFilter`)."""

    col: QueryColumn
    op: Annotated[FilterOperator, BeforeValidator(_read_operator)]
    val: Annotated[Any, BeforeValidator(_read_filter_value, json_schema_input_type=FilterValue)] = None
    grain: Omittable[Name] = None
    is_extra: Omittable[Bool] = Field(default=None, alias="isExtra")


class PostProcessingOperation(LenientShape):
    """One step of post-processing: the operation's name and its options (contract, Post-processing operation)."""

    operation: Name
    options: Annotated[dict[str, Any], NullMeans({})] = Field(default_factory=dict)


def _without_nulls(value: Any) -> Any:
    return [item for item in value if item is not None] if isinstance(value, list | tuple) else value


class ChartDataQueryObject(LenientShape):
    """One query of a query context; every field may be left out or null (contract, `ChartDataQueryObject`).

    `metrics` None asks for raw rows, an empty list for the distinct rows of `columns`. `row_limit` None is the
    configured limit and 0 only the cap. `models.modernise` moves the deprecated fields to their successors.
    """

    annotation_layers: Listed[AnnotationLayer] = ()
    applied_time_extras: dict[str, Any] | None = None
    apply_fetch_values_predicate: Flag = False
    columns: Listed[QueryColumn] = ()
    datasource: ChartDataDatasource | None = None
    extras: ChartDataExtras | None = None
    filters: Listed[ChartDataFilter] = ()
    granularity: Name | None = None
    granularity_orm: Name | None = Field(
        default=None,
        validation_alias=AliasChoices("granularity_orm", "granularity_sqla"),
        serialization_alias="granularity_orm",
    )
    group_others_when_limit_reached: Flag = False
    groupby: Listed[QueryColumn] = ()
    having: SqlText | None = None
    where: SqlText | None = None
    is_rowcount: Flag = False
    is_timeseries: Bool | None = None
    metrics: tuple[QueryMetric, ...] | None = None
    order_desc: Bool | None = None
    orderby: Listed[tuple[OrderKey, Bool]] = ()
    post_processing: Annotated[tuple[PostProcessingOperation, ...], BeforeValidator(_without_nulls), NullMeans(())] = ()
    result_type: ResultType | None = None
    row_limit: Annotated[Whole, Field(ge=0)] | None = None
    row_offset: Annotated[Whole, Field(ge=0), NullMeans(0)] = 0
    series_columns: Listed[QueryColumn] = ()
    series_limit: Count = 0
    series_limit_metric: QueryMetric | None = None
    time_offsets: Listed[ShortText] = ()
    time_range: ShortText | None = None
    time_shift: ShortText | None = None
    timeseries_limit: Count = 0
    timeseries_limit_metric: QueryMetric | None = None
    url_params: dict[str, str] | None = None
    _given_as: Mapping[str, str] = PrivateAttr(default_factory=dict)

    def given_as(self, names: Mapping[str, str]) -> Self:
        """Return this very query with the names under which its payload gave the fields that were moved."""
        self._given_as = names
        return self

    def written(self, name: str) -> str:
        """Return the name under which the payload gave a field: its own, or the deprecated one (`groupby`)."""
        return self._given_as.get(name, name)


class ChartDataQueryContext(LenientShape):
    """A whole request: the datasource, its queries and how to answer (contract, `ChartDataQueryContextSchema`).

    `custom_cache_timeout` is in seconds; None leaves it to the chart, the dataset and the database.
    """

    datasource: Omittable[ChartDataDatasource] = None
    queries: tuple[ChartDataQueryObject, ...] = ()
    force: Flag = False
    custom_cache_timeout: Whole | None = None
    form_data: Any = None
    result_format: ResultFormat = ResultFormat.JSON
    result_type: ResultType = ResultType.FULL

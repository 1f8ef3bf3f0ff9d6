"""The chart-query shapes: a query context, its queries, their ad-hoc columns and metrics, their annotation layers.

They take all that the contract grants (section Chart data query) and what real clients send: keys beyond the contract
are kept, and the names of older clients are accepted (`time_grain_sqla`, `granularity_sqla`). They are read by
`models.parsing`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AliasChoices,
    BeforeValidator,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    PrivateAttr,
    Tag,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from analytics_core.models.base import (
    Bool,
    Count,
    Flag,
    Integer,
    LenientShape,
    Listed,
    Name,
    NullMeans,
    Omittable,
    ShortText,
    SqlText,
)
from analytics_core.models.enums import (
    Aggregate,
    DatasourceType,
    ExpressionType,
    FilterOperator,
    RelativeTime,
    ResultFormat,
    ResultType,
    TimeGrain,
)


def _folded(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


def _without_empty(value: Any) -> Any:
    """Return a choice in capitals; the empty text, with which clients fill a form, stands for none."""
    return None if value == "" else _folded(value)


class AdhocColumn(LenientShape):
    """A column defined in a query: a column of the dataset or one SQL expression, under a label.

    `column_type` BASE_AXIS marks the x-axis; its `time_grain` (ISO 8601 duration) cuts time into buckets.
    """

    label: Name | None = None
    sql_expression: SqlText | None = Field(default=None, alias="sqlExpression")
    expression_type: Annotated[ExpressionType | None, BeforeValidator(_without_empty)] = Field(
        default=None, alias="expressionType"
    )
    column_type: Name | None = Field(default=None, alias="columnType")
    time_grain: Name | None = Field(default=None, alias="timeGrain")
    is_column_reference: Bool | None = Field(default=None, alias="isColumnReference")
    has_custom_label: Bool | None = Field(default=None, alias="hasCustomLabel")
    option_name: Name | None = Field(default=None, alias="optionName")
    datasource_warning: Bool | None = Field(default=None, alias="datasourceWarning")


class AdhocMetricColumn(LenientShape):
    """The column of a SIMPLE ad-hoc metric (contract, `ChartDataAdhocMetricSchema.column`)."""

    column_name: Omittable[Name] = None
    type: Name | None = None


class AdhocMetric(LenientShape):
    """A metric defined in a query: an aggregate over a column, or one SQL expression.

    Contract, `ChartDataAdhocMetricSchema`. Nulls stand for absent fields, as real clients send them.
    """

    expression_type: Annotated[ExpressionType, BeforeValidator(_folded)] = Field(alias="expressionType")
    aggregate: Annotated[Aggregate | None, BeforeValidator(_without_empty)] = None
    column: AdhocMetricColumn | None = None
    sql_expression: SqlText | None = Field(default=None, alias="sqlExpression")
    has_custom_label: Bool | None = Field(default=None, alias="hasCustomLabel")
    label: Name | None = None
    option_name: Name | None = Field(default=None, alias="optionName")
    time_grain: Omittable[Name] = Field(default=None, alias="timeGrain")
    is_extra: Omittable[Bool] = Field(default=None, alias="isExtra")

    @model_validator(mode="after")
    def _complete(self) -> AdhocMetric:
        if self.expression_type is ExpressionType.SIMPLE and self.aggregate is None:
            raise ValueError("a SIMPLE metric needs aggregate: AVG, COUNT, COUNT_DISTINCT, MAX, MIN or SUM")
        if self.expression_type is ExpressionType.SQL and self.sql_expression is None:
            raise ValueError("an SQL metric needs sqlExpression")
        if self.has_custom_label and not self.label:
            raise ValueError("hasCustomLabel is true, so label must be given")
        return self


def _kind_of_column(value: Any) -> str | None:
    if isinstance(value, str):
        return "<name>"
    return "<column>" if isinstance(value, dict | AdhocColumn) else None


def _kind_of_metric(value: Any) -> str | None:
    if isinstance(value, str):
        return "<name>"
    if isinstance(value, dict) and isinstance(value.get("label"), str):
        return "<metric>" if value.keys() & {"expressionType", "expression_type", "aggregate", "column"} else "<saved>"
    return "<metric>" if isinstance(value, dict | AdhocMetric) else None


def _kind_of_order_key(value: Any) -> str | None:
    if isinstance(value, dict):
        return "<column>" if _is_column(value) else _kind_of_metric(value)
    return "<metric>" if isinstance(value, AdhocMetric) else _kind_of_column(value)


def _is_column(value: dict[Any, Any]) -> bool:
    if value.keys() & {"columnType", "isColumnReference"}:
        return True
    return "sqlExpression" in value and not value.keys() & {"expressionType", "expression_type", "aggregate", "column"}


def _label_of(value: Any) -> Any:
    return value["label"]


class _AnyOf:
    """Writes a union as `anyOf`: JSON schemas know no discriminator that tells an ad-hoc column from a metric."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        written = handler(schema)
        return {"anyOf": written.pop("oneOf"), **written} if "oneOf" in written else written


SavedMetric = Annotated[
    str, BeforeValidator(_label_of, json_schema_input_type=dict[Literal["label"], Name]), Tag("<saved>")
]
"""The older form `{"label": name}` of a saved metric; it becomes the name."""

QueryColumn = Annotated[
    Annotated[Name, Tag("<name>")] | Annotated[AdhocColumn, Tag("<column>")],
    Discriminator(
        _kind_of_column,
        custom_error_type="query_column",
        custom_error_message="must be the name of a column, or an ad-hoc column object",
    ),
    _AnyOf(),
]
"""An item of `columns`: a name or an ad-hoc column."""

QueryMetric = Annotated[
    Annotated[Name, Tag("<name>")] | Annotated[AdhocMetric, Tag("<metric>")] | SavedMetric,
    Discriminator(
        _kind_of_metric,
        custom_error_type="query_metric",
        custom_error_message="must be the name of a metric, or an ad-hoc metric object",
    ),
    _AnyOf(),
]
"""An item of `metrics`: a saved metric's name or an ad-hoc metric."""

OrderKey = Annotated[
    Annotated[Name, Tag("<name>")]
    | Annotated[AdhocMetric, Tag("<metric>")]
    | Annotated[AdhocColumn, Tag("<column>")]
    | SavedMetric,
    Discriminator(
        _kind_of_order_key,
        custom_error_type="order_key",
        custom_error_message="must be the name of a column or metric, or an ad-hoc one",
    ),
    _AnyOf(),
]
"""What an item of `orderby` sorts by."""


class AnnotationType(StrEnum):
    """What a layer shows."""

    FORMULA = "FORMULA"
    INTERVAL = "INTERVAL"
    EVENT = "EVENT"
    TIME_SERIES = "TIME_SERIES"


class AnnotationSource(StrEnum):
    """Where the data of a layer comes from."""

    NONE = ""
    LINE = "line"
    NATIVE = "NATIVE"
    TABLE = "table"


class AnnotationOpacity(StrEnum):
    """How opaque a layer is drawn."""

    NONE = ""
    LOW = "opacityLow"
    MEDIUM = "opacityMedium"
    HIGH = "opacityHigh"


class AnnotationStyle(StrEnum):
    """The line of a time-series layer."""

    DASHED = "dashed"
    DOTTED = "dotted"
    SOLID = "solid"
    LONG_DASHED = "longDashed"


class ChartAnnotationLayer(LenientShape):
    """One layer over a chart; `value` is a formula, or the id of the source (contract, `AnnotationLayer`)."""

    name: Name
    show: Bool
    show_markers: Bool = Field(alias="showMarkers")
    value: Any
    annotation_type: Omittable[AnnotationType] = Field(default=None, alias="annotationType")
    source_type: Omittable[AnnotationSource] = Field(default=None, alias="sourceType")
    color: Name | None = None
    opacity: AnnotationOpacity | None = None
    style: Omittable[AnnotationStyle] = None
    width: Omittable[Annotated[float, Field(ge=0, strict=True)]] = None
    hide_line: Bool | None = Field(default=None, alias="hideLine")
    show_label: Bool | None = Field(default=None, alias="showLabel")
    description_columns: Omittable[tuple[Name, ...]] = Field(default=None, alias="descriptionColumns")
    interval_end_column: Name | None = Field(default=None, alias="intervalEndColumn")
    time_column: Name | None = Field(default=None, alias="timeColumn")
    title_column: Name | None = Field(default=None, alias="titleColumn")
    overrides: dict[str, Any] | None = None


class ChartDataDatasource(LenientShape):
    """What is queried; `type` decides what `id` counts (contract, `datasource` of a query context)."""

    id: Integer
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
    configured limit and 0 only the cap. `models.parsing` moves the deprecated fields to their successors.
    """

    annotation_layers: Listed[ChartAnnotationLayer] = ()
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
    row_limit: Annotated[Integer, Field(ge=0)] | None = None
    row_offset: Annotated[Integer, Field(ge=0), NullMeans(0)] = 0
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
    custom_cache_timeout: Integer | None = None
    form_data: Any = None
    result_format: ResultFormat = ResultFormat.JSON
    result_type: ResultType = ResultType.FULL

"""Ad-hoc columns and metrics: what a query defines in place (contract, section Chart data query)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, GetJsonSchemaHandler, Tag, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from analytics_core.models.base import Bool, LenientShape, Name, Omittable, SqlText
from analytics_core.models.enums import Aggregate, ExpressionType


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

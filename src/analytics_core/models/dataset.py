"""Shapes of datasets, their columns and metrics, also as dashboards and the explore view show them (contract, Dataset).

The contract's field `schema` is the attribute `schema_name` of payloads; answers also have it as `schema`. Beyond the
contract, an update takes `always_filter_main_dttm`, which older clients send.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, Field, StringConstraints

from analytics_core._tools.display.blocks import Blocks
from analytics_core.models.base import (
    Answer,
    AnswerWithSchema,
    Bool,
    Ids,
    Integer,
    JsonInput,
    JsonObject,
    JsonText,
    Moment,
    Objects,
    Omittable,
    ReadOnly,
    StrictShape,
    Text32,
    Text128,
    Text250,
    Text255,
    Text1000,
    Text1024,
    TextLists,
    Texts,
    Title250,
    Title255,
    UuidText,
)
from analytics_core.models.display import dataset_blocks
from analytics_core.models.enums import GenericType
from analytics_core.models.references import UserNames, UserReference
from analytics_core.models.strict_json import check_keys_once


# ---------------------------------------------------------------------------------------------------------- payloads
class MetricPut(StrictShape):
    """A metric of an updated dataset; a known `id` keeps the stored metric's identity (`DatasetMetricsPut`)."""

    metric_name: Title255
    expression: str
    id: Omittable[Integer] = None
    verbose_name: Text1024 | None = None
    description: str | None = None
    metric_type: Annotated[Text32, StringConstraints(min_length=1)] | None = None
    d3format: Annotated[Text128, StringConstraints(min_length=1)] | None = None
    currency: Annotated[Text128, StringConstraints(min_length=1), AfterValidator(check_keys_once)] | None = None
    warning_text: str | None = None
    extra: JsonInput | None = None
    uuid: UuidText | None = None


class DatasetPost(StrictShape):
    """A dataset to create: a table of a database, or with `sql` a virtual one (contract, `DatasetRestApi.post`).

    Beyond the contract, it may name its `metrics`.
    """

    database: Integer
    table_name: Title250
    schema_name: Text250 | None = Field(default=None, alias="schema")
    sql: str | None = None
    owners: Omittable[Ids] = None
    metrics: Omittable[tuple[MetricPut, ...]] = None
    external_url: str | None = None
    is_managed_externally: Bool | None = None


class ColumnPut(StrictShape):
    """A column of an updated dataset; a known `id` keeps the stored column's identity (`DatasetColumnsPut`)."""

    column_name: Title255
    id: Omittable[Integer] = None
    verbose_name: Text1024 | None = None
    description: str | None = None
    expression: str | None = None
    extra: JsonInput | None = None
    type: str | None = None
    advanced_data_type: Title255 | None = None
    python_date_format: Title255 | None = None
    filterable: Omittable[Bool] = None
    groupby: Omittable[Bool] = None
    is_active: Bool | None = None
    is_dttm: Bool | None = None
    uuid: UuidText | None = None


class DatasetPut(StrictShape):
    """Changes of a dataset; `columns` and `metrics` replace the stored lists (contract, `DatasetRestApi.put`).

    `offset` is in hours, `cache_timeout` in seconds.
    """

    table_name: Title250 | None = None
    database_id: Omittable[Integer] = None
    schema_name: Text255 | None = Field(default=None, alias="schema")
    sql: str | None = None
    description: str | None = None
    default_endpoint: str | None = None
    main_dttm_col: str | None = None
    always_filter_main_dttm: Bool | None = None
    offset: Integer | None = None
    cache_timeout: Integer | None = None
    fetch_values_predicate: Text1000 | None = None
    filter_select_enabled: Bool | None = None
    is_sqllab_view: Bool | None = None
    is_managed_externally: Bool | None = None
    external_url: str | None = None
    extra: JsonInput | None = None
    template_params: JsonInput | None = None
    owners: Omittable[Ids] = None
    columns: Omittable[tuple[ColumnPut, ...]] = None
    metrics: Omittable[tuple[MetricPut, ...]] = None


# ----------------------------------------------------------------------------------------------------------- answers
class DatabaseOfDatasetItem(Answer):
    """The database of a listed dataset."""

    id: Integer = 0
    database_name: Text250


class DatabaseOfDataset(DatabaseOfDatasetItem):
    """The database of a dataset (contract, field `database` of `DatasetRestApi.get`)."""

    backend: ReadOnly[str] = None


class TableColumn(Answer):
    """A column of a dataset; `type_generic` is the contract's type code (`DatasetRestApi.get.TableColumn`)."""

    id: Integer = 0
    column_name: Text255
    verbose_name: Text1024 | None = None
    description: str | None = None
    expression: str | None = None
    extra: JsonText | None = None
    type: str | None = None
    advanced_data_type: Text255 | None = None
    python_date_format: Text255 | None = None
    filterable: Bool | None = None
    groupby: Bool | None = None
    is_active: Bool | None = None
    is_dttm: Bool | None = None
    uuid: UuidText | None = None
    created_on: Moment | None = None
    changed_on: Moment | None = None
    type_generic: ReadOnly[GenericType] = None


class SqlMetric(Answer):
    """A saved metric of a dataset (contract, `DatasetRestApi.get.SqlMetric`)."""

    id: Integer = 0
    metric_name: Text255
    expression: str
    verbose_name: Text1024 | None = None
    description: str | None = None
    metric_type: Text32 | None = None
    d3format: Text128 | None = None
    currency: Text128 | None = None
    warning_text: str | None = None
    extra: JsonText | None = None
    created_on: Moment | None = None
    changed_on: Moment | None = None


class _DatasetAnswer(AnswerWithSchema):
    """What a dataset and an item of a list of datasets share."""

    id: Integer = 0
    table_name: Text250
    schema_name: Text255 | None = Field(default=None, alias="schema")
    sql: str | None = None
    description: str | None = None
    extra: JsonText | None = None
    default_endpoint: str | None = None
    changed_by: UserNames | None = None
    owners: tuple[UserReference, ...] = ()
    datasource_type: ReadOnly[str] = None
    kind: ReadOnly[str] = None


class DatasetGet(_DatasetAnswer):
    """One dataset with its columns and metrics (contract, `DatasetRestApi.get`)."""

    fetch_values_predicate: str | None = None
    filter_select_enabled: Bool | None = None
    is_sqllab_view: Bool | None = None
    is_managed_externally: Bool = False
    main_dttm_col: Text250 | None = None
    offset: Integer | None = None
    cache_timeout: Integer | None = None
    template_params: JsonText | None = None
    created_on: Moment | None = None
    changed_on: Moment | None = None
    created_by: UserNames | None = None
    database: DatabaseOfDataset
    columns: tuple[TableColumn, ...]
    metrics: tuple[SqlMetric, ...]
    changed_on_humanized: ReadOnly[str] = None
    created_on_humanized: ReadOnly[str] = None
    column_formats: ReadOnly[dict[str, str]] = None
    currency_formats: ReadOnly[dict[str, Any]] = None
    datasource_name: ReadOnly[str] = None
    granularity_orm: ReadOnly[tuple[tuple[str, str], ...]] = None
    name: ReadOnly[str] = None
    order_by_choices: ReadOnly[tuple[tuple[str, str], ...]] = None
    select_star: ReadOnly[str] = None
    time_grain_orm: ReadOnly[tuple[tuple[str, str], ...]] = None
    uid: ReadOnly[str] = None
    url: ReadOnly[str] = None
    verbose_map: ReadOnly[dict[str, str]] = None

    def _blocks(self) -> Blocks:
        kind = "virtual, of its SQL" if self.sql else f"the table {self.table_name!r}"
        source = f"{kind}, in {self.database.database_name} ({self.database.backend})"
        return dataset_blocks(self, source=source, columns=self.columns, metrics=self.metrics)


class DatasetListItem(_DatasetAnswer):
    """One dataset of a list (contract, `DatasetRestApi.get_list`)."""

    database: DatabaseOfDatasetItem
    changed_by_name: ReadOnly[str] = None
    changed_on_delta_humanized: ReadOnly[str] = None
    changed_on_utc: ReadOnly[str] = None
    explore_url: ReadOnly[str] = None


class DatabaseSummary(Answer):
    """The database of a dataset in a dashboard (contract, Database summary object)."""

    id: Integer = 0
    name: str | None = None
    backend: str | None = None
    allows_cost_estimate: Bool | None = None
    allows_subquery: Bool | None = None
    allows_virtual_table_explore: Bool | None = None
    disable_data_preview: Bool | None = None
    disable_drill_to_detail: Bool | None = None
    explore_database_id: Integer | None = None


class DatabaseNameOnly(Answer):
    """A database by its name (contract, the second summary object)."""

    database_name: str | None = None


class _DescribedDataset(AnswerWithSchema):
    """What both descriptions of a dataset share."""

    id: Integer = 0
    name: str | None = None
    table_name: str | None = None
    sql: str | None = None
    uid: str | None = None
    type: str | None = None
    perm: str | None = None
    params: str | None = None
    cache_timeout: Integer | None = None
    column_formats: JsonObject | None = None
    columns: Objects = ()
    currency_formats: JsonObject | None = None
    datasource_name: str | None = None
    default_endpoint: str | None = None
    edit_url: str | None = None
    fetch_values_predicate: str | None = None
    filter_select: Bool | None = None
    filter_select_enabled: Bool | None = None
    granularity_orm: TextLists | None = Field(
        default=None,
        validation_alias=AliasChoices("granularity_orm", "granularity_sqla"),
        serialization_alias="granularity_orm",
    )
    health_check_message: str | None = None
    is_sqllab_view: Bool | None = None
    main_dttm_col: str | None = None
    metrics: Objects = ()
    offset: Integer | None = None
    order_by_choices: TextLists | None = None
    select_star: str | None = None
    template_params: str | None = None
    time_grain_orm: TextLists | None = Field(
        default=None,
        validation_alias=AliasChoices("time_grain_orm", "time_grain_sqla"),
        serialization_alias="time_grain_orm",
    )
    verbose_map: dict[str, str] | None = None

    def _blocks(self) -> Blocks:
        source = "virtual, of its SQL" if self.sql else f"the table {self.table_name!r}"
        return dataset_blocks(self, source=source, columns=self.columns, metrics=self.metrics)


class DashboardDataset(_DescribedDataset):
    """A dataset of a dashboard, with what the dashboard needs of it (contract, `DashboardDatasetSchema`)."""

    column_names: Texts = ()
    column_types: Ids = ()
    database: DatabaseSummary | None = None
    owners: Objects = ()


class DatasetDescription(_DescribedDataset):
    """A dataset as the explore view shows it (contract, `Dataset`); `owners` are ids of users."""

    database: JsonObject | None = None
    description: str | None = None
    extra: str | None = None
    owners: Ids = ()


class DatasetDuplicate(StrictShape):
    """A virtual dataset to copy under another name (contract, `DatasetDuplicateSchema`)."""

    base_model_id: Integer
    table_name: Title250


class GetOrCreateDataset(StrictShape):
    """A table whose dataset is wanted, made if there is none (contract, `GetOrCreateDatasetSchema`)."""

    database_id: Integer
    table_name: Title250
    schema_name: Text250 | None = Field(default=None, alias="schema")
    template_params: Omittable[JsonInput] = None

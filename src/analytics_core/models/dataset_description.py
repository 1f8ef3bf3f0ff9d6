"""Datasets as dashboards and the explore view show them (contract, `DashboardDatasetSchema` and `Dataset`)."""

from __future__ import annotations

from pydantic import AliasChoices, Field

from analytics_core.models.base import (
    Answer,
    AnswerWithSchema,
    Bool,
    Ids,
    JsonObject,
    Objects,
    TextLists,
    Texts,
    Whole,
)


class DatabaseSummary(Answer):
    """The database of a dataset in a dashboard (contract, Database summary object)."""

    id: Whole = 0
    name: str | None = None
    backend: str | None = None
    allows_cost_estimate: Bool | None = None
    allows_subquery: Bool | None = None
    allows_virtual_table_explore: Bool | None = None
    disable_data_preview: Bool | None = None
    disable_drill_to_detail: Bool | None = None
    explore_database_id: Whole | None = None


class DatabaseName(Answer):
    """A database by its name (contract, the second summary object)."""

    database_name: str | None = None


class _DescribedDataset(AnswerWithSchema):
    """What both descriptions of a dataset share."""

    id: Whole = 0
    name: str | None = None
    table_name: str | None = None
    sql: str | None = None
    uid: str | None = None
    type: str | None = None
    perm: str | None = None
    params: str | None = None
    cache_timeout: Whole | None = None
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
    offset: Whole | None = None
    order_by_choices: TextLists | None = None
    select_star: str | None = None
    template_params: str | None = None
    time_grain_orm: TextLists | None = Field(
        default=None,
        validation_alias=AliasChoices("time_grain_orm", "time_grain_sqla"),
        serialization_alias="time_grain_orm",
    )
    verbose_map: dict[str, str] | None = None


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

"""Shows the datasets of a dashboard as its page needs them."""

from __future__ import annotations

from analytics_core._engines.spec import EngineSpec
from analytics_core._records.database import Database
from analytics_core._records.dataset import Dataset
from analytics_core._resources.dataset_answers import (
    DATASOURCE_TYPE,
    database_summary,
    dataset_get,
    describe_dataset,
    permission_name,
)
from analytics_core._resources.people_index import PeopleIndex
from analytics_core._resources.readable import Readable
from analytics_core.models.dataset_description import DashboardDataset

_AS_IN_THE_DATASET = (
    "id",
    "name",
    "table_name",
    "schema",
    "sql",
    "uid",
    "cache_timeout",
    "column_formats",
    "columns",
    "currency_formats",
    "datasource_name",
    "default_endpoint",
    "fetch_values_predicate",
    "filter_select_enabled",
    "granularity_orm",
    "is_sqllab_view",
    "main_dttm_col",
    "metrics",
    "offset",
    "order_by_choices",
    "owners",
    "select_star",
    "template_params",
    "time_grain_orm",
    "verbose_map",
)


def dashboard_dataset(
    dataset: Dataset, *, database: Database, spec: EngineSpec, people: PeopleIndex, readable: Readable
) -> DashboardDataset:
    """Return a dataset with all its columns and metrics (contract, `DashboardDatasetSchema`).

    `params` is null: datasets have no parameters. What the host's check says of a dataset is shown here too.
    """
    answer = dataset_get(dataset, database=database, spec=spec, people=people, readable=readable)
    payload = answer.to_payload()
    return DashboardDataset(
        **{name: payload[name] for name in _AS_IN_THE_DATASET},
        column_names=tuple(column.column_name for column in dataset.columns),
        column_types=tuple(sorted({c.type_generic for c in answer.columns if c.type_generic is not None})),
        database=database_summary(database, spec),
        edit_url=readable.url("dataset_edit", {"id": dataset.id}),
        filter_select=dataset.filter_select_enabled,
        health_check_message=_health(dataset, database=database, spec=spec, readable=readable),
        params=None,
        perm=permission_name(dataset, database),
        type=DATASOURCE_TYPE,
    )


def _health(dataset: Dataset, *, database: Database, spec: EngineSpec, readable: Readable) -> str | None:
    """Return what the host's check says; without one nothing is described for it, which costs half as much again."""
    if readable.settings.dataset_health_check is None:
        return None
    return describe_dataset(dataset, database=database, spec=spec, readable=readable).health_check_message

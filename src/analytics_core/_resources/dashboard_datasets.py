"""Shows the datasets of a dashboard as its page needs them."""

from __future__ import annotations

from analytics_core._engines.spec import EngineSpec
from analytics_core._records.database import Database
from analytics_core._records.dataset import Dataset
from analytics_core._resources.dataset_answers import DATASOURCE_TYPE, dataset_get
from analytics_core._resources.json_text import json_object
from analytics_core._resources.people_index import PeopleIndex
from analytics_core._resources.readable import Readable
from analytics_core.models.dataset_description import DashboardDataset, DatabaseSummary

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

    `perm`, `params` and `health_check_message` are null: the library has nothing of the kind.
    """
    answer = dataset_get(dataset, database=database, spec=spec, people=people, readable=readable)
    payload = answer.to_payload()
    return DashboardDataset(
        **{name: payload[name] for name in _AS_IN_THE_DATASET},
        column_names=tuple(column.column_name for column in dataset.columns),
        column_types=tuple(sorted({c.type_generic for c in answer.columns if c.type_generic is not None})),
        database=_summary(database),
        edit_url=readable.url("dataset", {"id": dataset.id}),
        filter_select=dataset.filter_select_enabled,
        health_check_message=None,
        params=None,
        perm=None,
        type=DATASOURCE_TYPE,
    )


def _summary(database: Database) -> DatabaseSummary:
    extra = json_object(database.extra)
    explored = extra.get("explore_database_id")
    return DatabaseSummary(
        id=database.id,
        name=database.database_name,
        backend=database.engine,
        allows_cost_estimate=False,
        allows_subquery=True,
        allows_virtual_table_explore=extra.get("allows_virtual_table_explore") is not False,
        disable_data_preview=extra.get("disable_data_preview") is True,
        disable_drill_to_detail=extra.get("disable_drill_to_detail") is True,
        explore_database_id=explored if type(explored) is int else database.id,
    )

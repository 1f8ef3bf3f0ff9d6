"""Shows a stored dataset as the contract's shapes, computed fields included."""

from __future__ import annotations

import json
from typing import Any

from analytics_core._content.databases.records import database_summary
from analytics_core._content.field_formatter import FieldFormatter, answer_as, stored_fields
from analytics_core._content.stored_json import json_object
from analytics_core._content.user_directory import UserIndex
from analytics_core._engine.compile.table_preview import select_star
from analytics_core._engine.engines.grains import grain_name
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._records.datasource import Database, Dataset, DatasetColumn, DatasetMetric
from analytics_core._records.repositories import DatabaseName
from analytics_core.models.dataset import (
    DatabaseOfDataset,
    DatabaseOfDatasetItem,
    DatasetDescription,
    DatasetGet,
    DatasetListItem,
    SqlMetric,
    TableColumn,
)
from analytics_core.models.enums import TimeGrain

DATASOURCE_TYPE = "table"


def dataset_get(
    dataset: Dataset, *, database: Database, spec: EngineSpec, people: UserIndex, readable: FieldFormatter
) -> DatasetGet:
    """Return one dataset (contract, `DatasetRestApi.get`)."""
    backend = DatabaseOfDataset(id=database.id, database_name=database.database_name, backend=database.engine)
    return answer_as(
        DatasetGet,
        dataset,
        schema=dataset.schema,
        **_computed(dataset, spec, readable),
        created_by=people.names(dataset.audit.created_by),
        changed_by=people.names(dataset.audit.changed_by),
        owners=people.references(dataset.owner_ids),
        database=backend,
        columns=tuple(_column(column, spec) for column in dataset.columns),
        metrics=tuple(_metric(metric) for metric in dataset.metrics),
    )


def dataset_item(
    dataset: Dataset, *, database: DatabaseName, people: UserIndex, readable: FieldFormatter
) -> DatasetListItem:
    """Return one dataset of a list (contract, `DatasetRestApi.get_list`)."""
    audit = dataset.audit
    return answer_as(
        DatasetListItem,
        dataset,
        schema=dataset.schema,
        database=DatabaseOfDatasetItem(id=database.id, database_name=database.database_name),
        owners=people.references(dataset.owner_ids),
        changed_by=people.names(audit.changed_by),
        changed_by_name=people.full_name(audit.changed_by),
        changed_on_delta_humanized=readable.delta(audit.changed_on),
        changed_on_utc=readable.utc(audit.changed_on),
        datasource_type=DATASOURCE_TYPE,
        explore_url=readable.url("explore", {"datasource_type": DATASOURCE_TYPE, "datasource_id": dataset.id}),
        kind=_kind(dataset),
    )


def describe_dataset(
    dataset: Dataset, *, database: Database, spec: EngineSpec, readable: FieldFormatter
) -> DatasetDescription:
    """Return a dataset as the explore view shows it (contract, `Dataset`), with what the host's check says of it."""
    computed = _computed(dataset, spec, readable)
    shared = {name: computed[name] for name in computed if name in DatasetDescription.model_fields}
    description = answer_as(
        DatasetDescription,
        dataset,
        schema=dataset.schema,
        **shared,
        type=DATASOURCE_TYPE,
        database=database_summary(database, spec).to_payload(),
        columns=tuple(_column(column, spec).to_payload() for column in dataset.columns),
        metrics=tuple(_metric(metric).to_payload() for metric in dataset.metrics),
        owners=dataset.owner_ids,
        edit_url=readable.url("dataset_edit", {"id": dataset.id}),
        filter_select=dataset.filter_select_enabled,
        perm=permission_name(dataset, database),
        params=None,
        health_check_message=None,
    )
    check = readable.settings.dataset_health_check
    return description.model_copy(update={"health_check_message": check(description)}) if check else description


def permission_name(dataset: Dataset, database: Database) -> str:
    """Return what people call the right to read a dataset."""
    return f"[{database.database_name}].[{dataset.table_name}](id:{dataset.id})"


def _computed(dataset: Dataset, spec: EngineSpec, readable: FieldFormatter) -> dict[str, Any]:
    name = f"{dataset.schema}.{dataset.table_name}" if dataset.schema else dataset.table_name
    temporal = [column.column_name for column in dataset.columns if column.is_dttm]
    return {
        "changed_on_humanized": readable.delta(dataset.audit.changed_on),
        "created_on_humanized": readable.delta(dataset.audit.created_on),
        "column_formats": {m.metric_name: m.d3format for m in dataset.metrics if m.d3format},
        "currency_formats": {m.metric_name: json_object(m.currency) for m in dataset.metrics if m.currency},
        "datasource_name": dataset.table_name,
        "datasource_type": DATASOURCE_TYPE,
        "granularity_orm": tuple((column, column) for column in temporal),
        "kind": _kind(dataset),
        "name": name,
        "order_by_choices": _order_by_choices(dataset),
        "select_star": None if dataset.sql else select_star(dataset, spec),
        "time_grain_orm": tuple((grain.value, grain_name(grain)) for grain in TimeGrain),
        "uid": f"{dataset.id}__{DATASOURCE_TYPE}",
        "url": readable.url("dataset", {"id": dataset.id}),
        "verbose_map": _verbose_map(dataset),
    }


def _kind(dataset: Dataset) -> str:
    return "virtual" if dataset.sql else "physical"


def _order_by_choices(dataset: Dataset) -> tuple[tuple[str, str], ...]:
    names = sorted(column.column_name for column in dataset.columns)
    directions = ((True, "[asc]"), (False, "[desc]"))
    return tuple((json.dumps([name, ascending]), f"{name} {sign}") for name in names for ascending, sign in directions)


def _verbose_map(dataset: Dataset) -> dict[str, str]:
    columns = {column.column_name: column.verbose_name or column.column_name for column in dataset.columns}
    metrics = {metric.metric_name: metric.verbose_name or metric.metric_name for metric in dataset.metrics}
    return {"__timestamp": "Time", **columns, **metrics}


def _column(column: DatasetColumn, spec: EngineSpec) -> TableColumn:
    generic = spec.value_kind(column.type).generic if column.type else None
    return TableColumn(**stored_fields(column, TableColumn), type_generic=generic)


def _metric(metric: DatasetMetric) -> SqlMetric:
    return SqlMetric(**stored_fields(metric, SqlMetric))

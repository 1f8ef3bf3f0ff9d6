"""Shows a stored dashboard and its datasets as the contract's shapes, computed fields included."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from analytics_core._engines.spec import EngineSpec
from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.database import Database
from analytics_core._records.dataset import Dataset
from analytics_core._resources.datasets.answers import (
    DATASOURCE_TYPE,
    database_summary,
    dataset_get,
    describe_dataset,
    permission_name,
)
from analytics_core._resources.field_formatter import FieldFormatter
from analytics_core._resources.people.directory import UserIndex
from analytics_core._resources.related_names import RelatedNames
from analytics_core.models.dashboard import DashboardGet, DashboardListItem
from analytics_core.models.dataset import DashboardDataset


def dashboard_get(
    dashboard: Dashboard, *, charts: Iterable[Chart], linked: RelatedNames, people: UserIndex, readable: FieldFormatter
) -> DashboardGet:
    """Return one dashboard with the names of `charts` (contract, `DashboardGetResponseSchema`)."""
    audit = dashboard.audit
    owners = (people.details(owner) for owner in dashboard.owner_ids)
    return DashboardGet(
        **_stored(dashboard),
        **_computed(dashboard, linked, people, readable),
        changed_on=audit.changed_on,
        changed_by=people.details(audit.changed_by),
        owners=tuple(owner for owner in owners if owner is not None),
        charts=tuple(chart.slice_name for chart in charts),
    )


def dashboard_item(
    dashboard: Dashboard, *, linked: RelatedNames, people: UserIndex, readable: FieldFormatter
) -> DashboardListItem:
    """Return one dashboard of a list (contract, `DashboardRestApi.get_list`)."""
    audit = dashboard.audit
    return DashboardListItem(
        **_stored(dashboard),
        **_computed(dashboard, linked, people, readable),
        changed_by=people.reference(audit.changed_by),
        created_by=people.reference(audit.created_by),
        owners=people.references(dashboard.owner_ids),
        changed_on_utc=readable.utc(audit.changed_on),
        created_on_delta_humanized=readable.delta(audit.created_on),
        status="published" if dashboard.published else "draft",
    )


def _stored(dashboard: Dashboard) -> dict[str, Any]:
    return {
        "id": dashboard.id,
        "dashboard_title": dashboard.dashboard_title,
        "slug": dashboard.slug,
        "css": dashboard.css,
        "json_metadata": dashboard.json_metadata,
        "position_json": dashboard.position_json,
        "published": dashboard.published,
        "certified_by": dashboard.certified_by,
        "certification_details": dashboard.certification_details,
        "is_managed_externally": dashboard.is_managed_externally,
    }


def _computed(
    dashboard: Dashboard, linked: RelatedNames, people: UserIndex, readable: FieldFormatter
) -> dict[str, Any]:
    address = {"id": dashboard.id, "slug": dashboard.slug}
    return {
        "roles": linked.role_references(dashboard.role_ids),
        "tags": linked.tag_references(dashboard.tag_ids),
        "changed_by_name": people.full_name(dashboard.audit.changed_by),
        "changed_on_delta_humanized": readable.delta(dashboard.audit.changed_on),
        "thumbnail_url": readable.url("dashboard_thumbnail", address),
        "url": readable.url("dashboard", address),
    }


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
    dataset: Dataset, *, database: Database, spec: EngineSpec, people: UserIndex, readable: FieldFormatter
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


def _health(dataset: Dataset, *, database: Database, spec: EngineSpec, readable: FieldFormatter) -> str | None:
    """Return what the host's check says; without one nothing is described for it, which costs half as much again."""
    if readable.settings.dataset_health_check is None:
        return None
    return describe_dataset(dataset, database=database, spec=spec, readable=readable).health_check_message

"""Shows a stored dashboard as the contract's shapes, computed fields included."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._resources.people_index import PeopleIndex
from analytics_core._resources.readable import Readable
from analytics_core._resources.surroundings import Around
from analytics_core.models.dashboard import DashboardGet, DashboardListItem


def dashboard_get(
    dashboard: Dashboard, *, charts: Iterable[Chart], around: Around, people: PeopleIndex, readable: Readable
) -> DashboardGet:
    """Return one dashboard with the names of `charts` (contract, `DashboardGetResponseSchema`)."""
    audit = dashboard.audit
    owners = (people.details(owner) for owner in dashboard.owner_ids)
    return DashboardGet(
        **_stored(dashboard),
        **_computed(dashboard, around, people, readable),
        changed_on=audit.changed_on,
        changed_by=people.details(audit.changed_by),
        owners=tuple(owner for owner in owners if owner is not None),
        charts=tuple(chart.slice_name for chart in charts),
    )


def dashboard_item(
    dashboard: Dashboard, *, around: Around, people: PeopleIndex, readable: Readable
) -> DashboardListItem:
    """Return one dashboard of a list (contract, `DashboardRestApi.get_list`)."""
    audit = dashboard.audit
    return DashboardListItem(
        **_stored(dashboard),
        **_computed(dashboard, around, people, readable),
        changed_by=people.reference(audit.changed_by),
        created_by=people.reference(audit.created_by),
        owners=people.references(dashboard.owner_ids),
        changed_on_utc=readable.utc(audit.changed_on),
        created_on_delta_humanized=readable.delta(audit.created_on),
        status="published" if dashboard.published else "draft",
    )


def people_of(dashboard: Dashboard) -> tuple[int | None, ...]:
    """Return the ids of the people whom an answer names."""
    return (dashboard.audit.created_by, dashboard.audit.changed_by, *dashboard.owner_ids)


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


def _computed(dashboard: Dashboard, around: Around, people: PeopleIndex, readable: Readable) -> dict[str, Any]:
    address = {"id": dashboard.id, "slug": dashboard.slug}
    return {
        "roles": around.role_references(dashboard.role_ids),
        "tags": around.tag_references(dashboard.tag_ids),
        "changed_by_name": people.full_name(dashboard.audit.changed_by),
        "changed_on_delta_humanized": readable.delta(dashboard.audit.changed_on),
        "thumbnail_url": readable.url("dashboard_thumbnail", address),
        "url": readable.url("dashboard", address),
    }

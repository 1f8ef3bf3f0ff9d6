"""Stored dashboards: made of payloads, checked for what they name, and shown as the contract's shapes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from analytics_core._content.batches import by_ids, unknown_ids
from analytics_core._content.changes import changes_of
from analytics_core._content.css_templates import check_css
from analytics_core._content.datasets.answers import describe_dataset
from analytics_core._content.field_formatter import FieldFormatter, answer_as
from analytics_core._content.questions.dashboard_content import checked_content
from analytics_core._content.reader import Reader
from analytics_core._content.related_names import RelatedNames
from analytics_core._content.user_directory import UserIndex
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.rights.policy import Permission
from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.datasource import Database, Dataset
from analytics_core.errors import AccessError, PayloadSchemaError
from analytics_core.models.base import uuid_in
from analytics_core.models.dashboard import DashboardGet, DashboardListItem, DashboardPost, DashboardPut
from analytics_core.models.dataset import DashboardDataset
from analytics_core.models.parsing import field_names, payload_error

_TAKEN_APART = frozenset({"owners", "roles", "slug", "json_metadata", "position_json"})
_SLUG = re.compile(r"[\w.~-]{1,255}")


def new_dashboard(post: DashboardPost, *, uuid: str, owner_ids: tuple[int, ...], shape: str) -> Dashboard:
    """Return the record of a create payload."""
    return replace(Dashboard(uuid=uuid, owner_ids=owner_ids), **_fields(post, shape=shape))


def changed_dashboard(
    dashboard: Dashboard, put: DashboardPut, *, owner_ids: tuple[int, ...] | None, shape: str
) -> Dashboard:
    """Return the record after an update; null clears what may be empty and leaves everything else as it is."""
    return replace(dashboard, **_fields(put, shape=shape), owner_ids=owner_ids or dashboard.owner_ids)


def is_slug(text: str) -> bool:
    """Tell whether a text has the characters of a slug."""
    return _SLUG.fullmatch(text) is not None and any(map(str.isalnum, text))


def _fields(payload: DashboardPost | DashboardPut, *, shape: str) -> dict[str, Any]:
    given = payload.given()
    check_css(given.get("css"), shape=shape)
    copied = changes_of(payload, Dashboard, without=_TAKEN_APART)
    return {**copied, **_slug_and_roles(given, shape=shape), **checked_content(given, shape=shape)}


def _slug_and_roles(given: Mapping[str, Any], *, shape: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if "slug" in given:
        fields["slug"] = _checked_slug(given["slug"], shape=shape)
    if given.get("roles") is not None:
        fields["role_ids"] = tuple(dict.fromkeys(given["roles"]))
    return fields


def _checked_slug(slug: str | None, *, shape: str) -> str | None:
    """Return a slug that can be a part of an address and be told from an id or a UUID; the empty one is none."""
    if not slug:
        return None
    if not is_slug(slug):
        problem = "may hold letters, digits, - . _ and ~, and needs a letter or a digit"
    elif slug.isdecimal() or uuid_in(slug):
        problem = "would be taken for an id; add a letter"
    else:
        return slug
    raise payload_error(shape, "slug", problem)


def check_roles(reader: Reader, role_ids: Iterable[int], *, before: Iterable[int], shape: str) -> None:
    """Check the roles that a dashboard is to have; those that it had `before` may stay.

    Who may not manage people names roles that they have: an id would tell whether there is such a role, and the answer
    what it is called.

    Raises:
        PayloadSchemaError: for each role that does not exist.
        AccessError: a role that the actor neither has nor manages.
    """
    wanted, allowed = tuple(role_ids), frozenset(before) | reader.actor.role_ids
    if not reader.policy.sees_all(Permission.MANAGE_PEOPLE, reader.actor):
        strange = [role_id for role_id in wanted if role_id not in allowed]
        if strange:
            raise AccessError(
                f"you have no role {strange[0]}; name roles that you have (dashboards.related('roles')), or ask an "
                "administrator to add this one"
            )
        return
    known = by_ids(reader.unit.roles, wanted, without=frozenset({"grants"}))
    problems = unknown_ids(wanted, known, path="roles", noun="role")
    if problems:
        raise PayloadSchemaError(shape=shape, problems=problems)


def placed_charts(reader: Reader, chart_ids: Iterable[int], *, before: Iterable[int], shape: str) -> tuple[int, ...]:
    """Return which of the charts that a layout names the dashboard has.

    A chart that is new on it must exist and be readable for the actor. One that was named before may have been deleted
    since: its place in the layout stays, and nothing else does.

    Raises:
        PayloadSchemaError: a layout names a chart that does not exist.
        ChartAccessError: or one that the actor may not read.
    """
    wanted, known_before = tuple(chart_ids), frozenset(before)
    charts = by_ids(reader.unit.charts, wanted)
    missing = [chart_id for chart_id in wanted if chart_id not in charts and chart_id not in known_before]
    if missing:
        listed = ", ".join(map(str, missing[:20]))
        raise payload_error(shape, "position_json", f"places charts that do not exist: {listed}")
    new = [charts[chart_id] for chart_id in wanted if chart_id in charts and chart_id not in known_before]
    reader.require_charts(new)
    return tuple(chart_id for chart_id in wanted if chart_id in charts)


def dashboard_get(
    dashboard: Dashboard, *, charts: Iterable[Chart], linked: RelatedNames, people: UserIndex, readable: FieldFormatter
) -> DashboardGet:
    """Return one dashboard with the names of `charts` (contract, `DashboardGetResponseSchema`)."""
    owners = (people.details(owner) for owner in dashboard.owner_ids)
    return answer_as(
        DashboardGet,
        dashboard,
        **_computed(dashboard, linked, people, readable),
        changed_by=people.details(dashboard.audit.changed_by),
        owners=tuple(owner for owner in owners if owner is not None),
        charts=tuple(chart.slice_name for chart in charts),
    )


def dashboard_item(
    dashboard: Dashboard, *, linked: RelatedNames, people: UserIndex, readable: FieldFormatter
) -> DashboardListItem:
    """Return one dashboard of a list (contract, `DashboardRestApi.get_list`)."""
    audit = dashboard.audit
    return answer_as(
        DashboardListItem,
        dashboard,
        **_computed(dashboard, linked, people, readable),
        changed_by=people.reference(audit.changed_by),
        created_by=people.reference(audit.created_by),
        owners=people.references(dashboard.owner_ids),
        changed_on_utc=readable.utc(audit.changed_on),
        created_on_delta_humanized=readable.delta(audit.created_on),
        status="published" if dashboard.published else "draft",
    )


def _computed(
    dashboard: Dashboard, linked: RelatedNames, people: UserIndex, readable: FieldFormatter
) -> dict[str, Any]:
    address = {"id": dashboard.id, "slug": dashboard.slug}
    texts = dashboard.css, dashboard.position_json, dashboard.json_metadata
    content = (dashboard.uuid, dashboard.dashboard_title, *texts, tuple(dashboard.chart_ids))
    return {
        "roles": linked.role_references(dashboard.role_ids),
        "tags": linked.tag_references(dashboard.tag_ids),
        "changed_by_name": people.full_name(dashboard.audit.changed_by),
        "changed_on_delta_humanized": readable.delta(dashboard.audit.changed_on),
        "thumbnail_url": readable.thumbnail_url("dashboard_thumbnail", address, content=content),
        "url": readable.url("dashboard", address),
    }


def dashboard_dataset(
    dataset: Dataset, *, database: Database, spec: EngineSpec, people: UserIndex, readable: FieldFormatter
) -> DashboardDataset:
    """Return a dataset with all its columns and metrics (contract, `DashboardDatasetSchema`).

    What the host's check says of a dataset is shown here too.
    """
    payload = describe_dataset(dataset, database=database, spec=spec, readable=readable).to_payload()
    kinds = {column["type_generic"] for column in payload["columns"]}
    own = {
        "column_names": tuple(column.column_name for column in dataset.columns),
        "column_types": tuple(sorted(kinds - {None})),
        "owners": tuple(owner.to_payload() for owner in people.references(dataset.owner_ids)),
    }
    names = field_names(DashboardDataset)
    return DashboardDataset(**{**{name: value for name, value in payload.items() if name in names}, **own})

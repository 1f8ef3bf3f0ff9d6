"""Makes a dashboard of another one, with its charts or with copies of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import uuid4

from analytics_core._records.audit import Audit
from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.repositories import UnitOfWork
from analytics_core._resources.batches import by_ids
from analytics_core._resources.chart_remap import with_texts_of_its_own
from analytics_core._resources.dashboard_remap import remapped_layout, remapped_metadata
from analytics_core._security.actor import Actor
from analytics_core.models.dashboard import DashboardCopy


def copied_dashboard(source: Dashboard, copy: DashboardCopy, *, owner_id: int) -> Dashboard:
    """Return the record of a copy: a draft of the copier's, without slug, roles, tags and certification.

    What the payload leaves out (title, style, layout, and with it the charts) is the source's; its metadata always are
    the payload's.
    """
    title = copy.dashboard_title if copy.dashboard_title is not None else source.dashboard_title
    return Dashboard(
        uuid=str(uuid4()),
        dashboard_title=title,
        css=copy.css if copy.css is not None else source.css,
        position_json=source.position_json,
        owner_ids=(owner_id,),
        chart_ids=source.chart_ids,
    )


def with_charts_of_its_own(
    unit: UnitOfWork, dashboard: Dashboard, charts: Sequence[Chart], actor: Actor, *, now: datetime
) -> Dashboard:
    """Store a copy of each of the charts for the actor, and return the dashboard with the copies in their places."""
    copies = {chart.id: _copied_chart(chart, actor.id, now=now) for chart in charts}
    new_ids = {old: unit.charts.append(copy, actor_id=actor.id) for old, copy in copies.items()}
    for stored in by_ids(unit.charts, new_ids.values()).values():
        renamed = with_texts_of_its_own(stored, new_ids)  # a text names the chart by the id that it has only now
        if renamed != stored:
            unit.charts.update(renamed, actor_id=actor.id)
    return replace(
        dashboard,
        position_json=remapped_layout(dashboard.position_json, new_ids),
        json_metadata=remapped_metadata(dashboard.json_metadata, new_ids),
        chart_ids=tuple(new_ids.get(chart_id, chart_id) for chart_id in dashboard.chart_ids),
    )


def _copied_chart(chart: Chart, owner_id: int, *, now: datetime) -> Chart:
    """Return a chart like another one; who vouches for that one, saved or manages it, did not do so for the copy."""
    return replace(
        chart,
        id=0,
        uuid=str(uuid4()),
        owner_ids=(owner_id,),
        tag_ids=(),
        certified_by=None,
        certification_details=None,
        external_url=None,
        is_managed_externally=False,
        last_saved_at=now,
        last_saved_by=owner_id,
        audit=Audit(),
    )

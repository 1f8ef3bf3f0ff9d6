"""`core.dashboards` for guests: the dashboards that their token names."""

from __future__ import annotations

from analytics_core._error_types import short_repr
from analytics_core._resources.batches import is_id
from analytics_core._resources.dashboards.namespace import LISTING as DASHBOARD_LISTING
from analytics_core._resources.dashboards.namespace import Dashboards
from analytics_core._resources.guests.limits import (
    GuestNamespace,
    for_guest,
    page_for_guest,
    without_people,
    without_statements,
)
from analytics_core._resources.listing import Columns, Filters, Order, Page
from analytics_core._results.answer import ChartData
from analytics_core.errors import DashboardAccessError, NotFoundError
from analytics_core.models.chart import ChartEntity
from analytics_core.models.dashboard import DashboardGet, DashboardListItem
from analytics_core.models.dataset import DashboardDataset


class GuestDashboards(GuestNamespace):
    """The dashboards of a guest's token; each call asks anew whether it still opens them."""

    _namespace = Dashboards

    def get(self, key: int | str) -> DashboardGet:
        """Return a dashboard of the token by its id, its UUID or its slug, without people and roles."""
        dashboards = Dashboards(self._runtime, self._find_actor())
        try:
            return for_guest(dashboards.get(key))
        except (NotFoundError, DashboardAccessError):  # nobody learns which dashboards there are
            raise DashboardAccessError(f"the guest token does not open dashboard {short_repr(key)}") from None

    def list(
        self, filters: Filters = (), order_by: Order = None, page: int = 0, page_size: int = 25, columns: Columns = None
    ) -> Page[DashboardListItem]:
        """Return one page of the dashboards of the token, without people and roles."""
        requested, order = without_people(DASHBOARD_LISTING, filters, order_by)
        return page_for_guest(
            Dashboards(self._runtime, self._find_actor()).list(requested, order, page, page_size, columns)
        )

    def charts(self, dashboard_id: int) -> tuple[ChartEntity, ...]:
        """Return the charts of a dashboard of the token."""
        return tuple(for_guest(chart) for chart in self._named(dashboard_id).charts(dashboard_id))

    def datasets(self, dashboard_id: int) -> tuple[DashboardDataset, ...]:
        """Return the datasets of its charts with their columns and metrics, without SQL and connections."""
        return tuple(for_guest(dataset) for dataset in self._named(dashboard_id).datasets(dashboard_id))

    def filter_values(
        self, dashboard_id: int, filter_id: int | str, *, search: str | None = None, row_limit: int = 1_000
    ) -> ChartData:
        """Return the values that a declared filter offers, inside the rows of the guest."""
        dashboards = self._named(dashboard_id)
        found = dashboards.filter_values(dashboard_id, filter_id, search=search, row_limit=row_limit)
        return without_statements(found)

    def _named(self, dashboard_id: int) -> Dashboards:
        """Refuse dashboards that the token does not open before looking for them."""
        actor = self._find_actor()
        if actor.guest is None or not is_id(dashboard_id) or dashboard_id not in actor.guest.dashboard_ids:
            raise DashboardAccessError(f"the guest token does not open dashboard {short_repr(dashboard_id)}")
        return Dashboards(self._runtime, actor)

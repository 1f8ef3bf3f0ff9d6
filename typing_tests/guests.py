"""A guest reads their dashboards and charts; what is refused to them is not there."""

from typing import assert_type

from analytics_core import AnalyticsCore, ChartData, DashboardData, GuestCore, Job, Page, models
from analytics_core.testing import assert_isolated


def shown(core: AnalyticsCore, token: str) -> None:
    guest = core.as_guest(token, origin="https://shop.example")
    assert_type(guest, GuestCore)
    assert_type(guest.charts.get(1), models.ChartGet)
    assert_type(guest.charts.list(), Page[models.ChartListItem])
    assert_type(guest.charts.submit(1), Job[ChartData])
    assert_type(guest.charts.job("key").result(timeout_s=1), ChartData)
    assert_type(guest.charts.job("key").user_id, str | None)
    assert_type(guest.dashboards.submit(1, filters={"country": ["France"]}), Job[DashboardData])
    assert_type(guest.dashboards.get("sales"), models.DashboardGet)
    assert_type(guest.dashboards.filter_options(1, "FILTER-1"), ChartData)
    assert_isolated(core, {"queries": []}, tenants=[guest, "anna"])


def one_view_for_users_and_guests(core: AnalyticsCore | GuestCore, chart: int) -> ChartData:
    assert_type(core.dashboards.charts(1), tuple[models.ChartEntity, ...])
    assert_type(core.charts.submit(chart), Job[ChartData])
    assert_type(core.dashboards.submit(1).result().chart(chart), ChartData)
    return core.charts.data(chart)


def rejected(guest: GuestCore) -> None:
    guest.charts.create({})  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    guest.dashboards.copy(1, {})  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    guest.datasets  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    guest.jobs  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    guest.as_user(1)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    guest.charts.data(1, forced=True)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]

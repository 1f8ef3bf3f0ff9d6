"""Payloads are mappings, JSON or the model of that call, and no other model."""

from datetime import datetime
from typing import Any, assert_type

from analytics_core import AnalyticsCore, ChartData, Job, Page, models


def a_chart(core: AnalyticsCore, requested: models.ChartDataQueryContext) -> None:
    post = models.ChartPost(slice_name="a", datasource_id=1, datasource_type=models.DatasourceType.TABLE)
    made = core.charts.create(post)
    assert_type(made, models.ChartGet)
    assert_type(made.to_payload(), dict[str, Any])
    assert_type(made.changed_on, datetime | None)
    core.charts.update(made.id, models.ChartPut(slice_name="b", owners=(1,)), unchanged_since=made.changed_on)
    core.charts.update(made.id, {"slice_name": "b"})
    core.charts.update(made.id, '{"slice_name": "b"}')
    assert_type(core.charts.data(requested), ChartData)
    assert_type(core.charts.submit(requested), Job[ChartData])
    assert_type(core.charts.submit(requested).result(timeout_s=3), ChartData)


def other_records(core: AnalyticsCore) -> None:
    core.tags.create(models.TagPost(name="finance"))
    core.dashboards.create(models.DashboardPost(dashboard_title="Sales"))
    core.annotation_layers.create(models.AnnotationLayerPost(name="releases"))
    core.datasets.update(1, core.datasets.get(1))
    core.cache.warm_up_chart(models.ChartCacheWarmUpRequest(chart_id=1))


def lists(core: AnalyticsCore) -> None:
    shown = core.charts.list(filters=[{"col": "slice_name", "op": "contains", "val": "a"}], order_by="-changed_on")
    assert_type(shown, Page[models.ChartListItem])
    assert_type(shown.count, int)
    assert_type(core.tags.list(), Page[models.TagGet])
    core.charts.list([models.FilterItem(col="id", op=models.ListOperator.IN, val=[1, 2])], columns=["id"])


def mistakes(core: AnalyticsCore, requested: models.ChartDataQueryContext) -> None:
    core.charts.create(models.ChartPut())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    core.charts.create(["slice_name"])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    core.charts.update(1, models.TagPut())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    core.charts.create(requested)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    core.charts.data(1.5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    core.charts.data(1, forced=True)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    core.charts.list(filters="id")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    core.charts.updated(1)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    core.slices  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    models.ChartPost(slice_name=1)  # type: ignore[call-arg, arg-type]  # pyright: ignore[reportCallIssue]
    models.ChartPots  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]

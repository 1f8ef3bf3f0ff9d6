"""What can be done with records beside making, reading, changing and deleting them: by whom, in each kind of store.

The owner and the reader may query database 1, the stranger has no grant, the guest holds a token of another dashboard.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.guests import QUERY, chart, dashboard, guest_world, people_of

from analytics_core import AnalyticsCore
from analytics_core.errors import (
    AccessError,
    AnalyticsError,
    ChartAccessError,
    DashboardAccessError,
    DatabaseAccessError,
    DatasetAccessError,
    GuestAccessError,
    OwnershipError,
)

FILTER = {"id": "F", "filterType": "filter_select", "targets": [{"datasetId": 1, "column": {"name": "city"}}]}
NO_CHANGE = {"deleted": [], "modified": [], "reordered": []}
FORM = {"datasource_id": 1, "datasource_type": "table", "form_data": "{}"}
Refusal = type[AnalyticsError] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Records of the owner, and keys that they made."""

    people: dict[str, AnalyticsCore]
    dataset: int
    columns: tuple[int, ...]
    metric: int
    chart: int
    dashboard: int
    form_key: str
    chart_link: str
    dashboard_link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """An act, and what it raises for others than the owner, who may do it; None: they may do it too."""

    run: Callable[[AnalyticsCore, Place], Any]
    reader: Refusal
    stranger: Refusal
    owner: Refusal = None
    guest: Refusal = GuestAccessError


def _name(core: AnalyticsCore) -> str:
    """Return a name that nobody else chooses."""
    return repr(core).replace(" ", "_")


def _untagged(core: AnalyticsCore, place: Place) -> Any:
    place.people["owner"].tags.tag("chart", place.chart, ["t"])
    return core.tags.untag("chart", place.chart, ["t"])


def _warmed(core: AnalyticsCore, place: Place) -> None:
    (done,) = core.cache.warm_up_chart({"chart_id": place.chart}).result
    assert done.viz_status == "success"


_OF_OWNERS = {"reader": OwnershipError}
_OF_READERS = {"reader": None}

DEEDS = {
    # ------------------------------------------------------------------------------------------------- datasets
    "refresh": Deed(run=lambda c, p: c.datasets.refresh(p.dataset), **_OF_OWNERS, stranger=DatasetAccessError),
    "delete_column": Deed(
        run=lambda c, p: c.datasets.delete_column(p.dataset, p.columns[0]), **_OF_OWNERS, stranger=DatasetAccessError
    ),
    "delete_metric": Deed(
        run=lambda c, p: c.datasets.delete_metric(p.dataset, p.metric), **_OF_OWNERS, stranger=DatasetAccessError
    ),
    "duplicate": Deed(
        run=lambda c, p: c.datasets.duplicate({"base_model_id": p.dataset, "table_name": _name(c)}),
        **_OF_READERS,
        stranger=DatasetAccessError,
    ),
    "get_or_create": Deed(
        run=lambda c, _: c.datasets.get_or_create({"database_id": 1, "table_name": "sales"}),
        **_OF_READERS,
        stranger=DatabaseAccessError,
    ),
    "related_objects": Deed(
        run=lambda c, p: c.datasets.related_objects(p.dataset), **_OF_READERS, stranger=DatasetAccessError
    ),
    "tables of a database": Deed(run=lambda c, _: c.databases.tables(1), **_OF_READERS, stranger=DatabaseAccessError),
    "invalidate": Deed(
        run=lambda c, p: c.cache.invalidate({"datasource_uids": [f"{p.dataset}__table"]}),
        **_OF_OWNERS,
        stranger=DatasetAccessError,
    ),
    # --------------------------------------------------------------------------------------------------- charts
    "data of a chart": Deed(
        run=lambda c, p: c.charts.data(p.chart).raise_for_error(),
        **_OF_READERS,
        stranger=ChartAccessError,
        guest=ChartAccessError,
    ),
    "question": Deed(run=lambda c, p: c.charts.question(p.chart), **_OF_READERS, stranger=ChartAccessError),
    "datasource": Deed(run=lambda c, p: c.charts.datasource(p.chart), **_OF_READERS, stranger=ChartAccessError),
    "screenshot": Deed(run=lambda c, p: c.charts.screenshot(p.chart), **_OF_READERS, stranger=ChartAccessError),
    "star of a chart": Deed(run=lambda c, p: c.charts.add_favourite(p.chart), **_OF_READERS, stranger=ChartAccessError),
    "warm_up_chart": Deed(run=_warmed, **_OF_READERS, stranger=ChartAccessError),
    "view of a chart": Deed(
        run=lambda c, p: c.explore.context(chart_id=p.chart), **_OF_READERS, stranger=ChartAccessError
    ),
    "log of a view": Deed(
        run=lambda c, p: c.logs.create({"action": "chart.view", "slice_id": p.chart}),
        **_OF_READERS,
        stranger=ChartAccessError,
    ),
    "tag": Deed(run=lambda c, p: c.tags.tag("chart", p.chart, ["t"]), **_OF_OWNERS, stranger=ChartAccessError),
    "untag": Deed(run=_untagged, **_OF_OWNERS, stranger=ChartAccessError),
    # ----------------------------------------------------------------------------------------------- dashboards
    "copy": Deed(
        run=lambda c, p: c.dashboards.copy(p.dashboard, {"json_metadata": "{}", "duplicate_slices": True}),
        **_OF_READERS,
        stranger=DashboardAccessError,
    ),
    "update_native_filters": Deed(
        run=lambda c, p: c.dashboards.update_native_filters(p.dashboard, NO_CHANGE),
        **_OF_OWNERS,
        stranger=DashboardAccessError,
    ),
    "charts of a dashboard": Deed(
        run=lambda c, p: c.dashboards.charts(p.dashboard),
        **_OF_READERS,
        stranger=DashboardAccessError,
        guest=DashboardAccessError,
    ),
    "datasets of a dashboard": Deed(
        run=lambda c, p: c.dashboards.datasets(p.dashboard),
        **_OF_READERS,
        stranger=DashboardAccessError,
        guest=DashboardAccessError,
    ),
    "filter_options": Deed(
        run=lambda c, p: c.dashboards.filter_options(p.dashboard, "F").raise_for_error(),
        **_OF_READERS,
        stranger=DashboardAccessError,
        guest=DashboardAccessError,
    ),
    "star of a dashboard": Deed(
        run=lambda c, p: c.dashboards.add_favourite(p.dashboard), **_OF_READERS, stranger=DashboardAccessError
    ),
    "embed": Deed(
        run=lambda c, p: c.embedded.create(p.dashboard, {"allowed_domains": []}),
        **_OF_OWNERS,
        stranger=OwnershipError,
    ),
    "guest_token": Deed(
        run=lambda c, p: c.embedded.guest_token({"user": {}, "rls": [], "resources": []}),
        owner=AccessError,
        reader=AccessError,
        stranger=AccessError,
    ),
    # ------------------------------------------------------------------------------------------- states under keys
    "form data": Deed(run=lambda c, p: c.explore.get_form_data(p.form_key), **_OF_READERS, stranger=DatasetAccessError),
    "other form data": Deed(
        run=lambda c, p: c.explore.update_form_data(p.form_key, FORM), **_OF_OWNERS, stranger=DatasetAccessError
    ),
    "new form data": Deed(
        run=lambda c, _: c.explore.create_form_data(FORM), **_OF_READERS, stranger=DatasetAccessError
    ),
    "link to a chart": Deed(
        run=lambda c, p: c.permalinks.get_for_chart(p.chart_link), **_OF_READERS, stranger=DatasetAccessError
    ),
    "link to a dashboard": Deed(
        run=lambda c, p: c.permalinks.get_for_dashboard(p.dashboard_link), **_OF_READERS, stranger=DashboardAccessError
    ),
    "new link to a dashboard": Deed(
        run=lambda c, p: c.permalinks.create_for_dashboard(p.dashboard, {"anchor": _name(c)}),
        **_OF_READERS,
        stranger=DashboardAccessError,
    ),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, module_store_url: str) -> Iterator[Place]:
    shop = tmp_path_factory.mktemp("acts") / "shop.db"
    with guest_world(f"sqlite:///{shop}", metadata_url=module_store_url) as world:
        people = people_of(world)
        owner = people["owner"]
        made = owner.datasets.create({"database": 1, "table_name": "own", "sql": "SELECT city, amount FROM sales"})
        made = owner.datasets.update(made.id, {"metrics": [{"metric_name": "n", "expression": "COUNT(*)"}]})
        stored = owner.charts.create(chart("own", 1, QUERY))
        metadata = json.dumps({"native_filter_configuration": [FILTER]})
        board = owner.dashboards.create({**dashboard("own", stored.id), "json_metadata": metadata})
        state = {"formData": {"datasource": "1__table", "slice_id": stored.id}}
        yield Place(
            people={**people, "guest": world.guest()},
            dataset=made.id,
            columns=tuple(column.id or 0 for column in made.columns),
            metric=made.metrics[0].id or 0,
            chart=stored.id,
            dashboard=board.id,
            form_key=owner.explore.create_form_data(FORM),
            chart_link=owner.permalinks.create_for_chart(state).key,
            dashboard_link=owner.permalinks.create_for_dashboard(board.id, {"anchor": "x"}).key,
        )


@pytest.mark.each_store
@pytest.mark.slow
@for_each("name", DEEDS)
def test_whoever_may_do_it_does_it_and_others_are_refused_by_type(place: Place, name: str) -> None:
    deed = DEEDS[name]
    for who in ("guest", "stranger", "reader", "owner"):
        rejection, core = getattr(deed, who), place.people[who]
        if rejection is None:
            deed.run(core, place)
            continue
        with pytest.raises(AnalyticsError) as rejected:
            deed.run(core, place)
        assert rejected.type is rejection, f"{who}: {rejected.value!r}"
        assert (rejected.value.status, rejected.value.to_payload()["errors"][0]["error_type"]) == (
            403,
            rejection.default_type.value,
        )

"""Dashboards, tags and stars from their making to their end, and several people at once, in every kind of store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.pages import add_chart, add_dashboard, layout, metadata_of, titles, two_datasets
from tests.support.small_core import SmallCore, small_core

from analytics_core import AnalyticsCore
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.policy import Policy
from analytics_core._records.repositories import ListQuery
from analytics_core.errors import (
    AlreadyExistsError,
    DashboardAccessError,
    NotFoundError,
    OwnershipError,
    StaleVersionError,
)

KINDS = [
    "sqlite",
    pytest.param("postgres", marks=pytest.mark.server),
    pytest.param("mariadb", marks=[pytest.mark.server, pytest.mark.long]),
]


class Interrupting(Policy):
    """A policy during whose next decision about a write something else happens."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: list[Callable[[], object]] = []

    def require_write(self, actor: Actor, record: Any) -> None:
        if self.meanwhile:
            self.meanwhile.pop()()
        super().require_write(actor, record)


@pytest.fixture
def policy() -> Interrupting:
    return Interrupting()


@pytest.fixture(params=KINDS)
def shop(request: pytest.FixtureRequest, tmp_path: Path, policy: Interrupting) -> Iterator[SmallCore]:
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/meta.db"
    else:
        url = request.getfixturevalue(f"make_{request.param}_database")()
    with small_core(tmp_path, metadata_url=url, policy=policy) as made:
        two_datasets(made)
        yield made


def test_a_filter_by_a_chart_that_one_may_not_read_finds_nothing(tmp_path: Path) -> None:
    with small_core(tmp_path, metadata_freshness_s=0) as made:
        made.orders()
        made.core.datasets.create({"database": 1, "table_name": "people"})
        board = made.core.dashboards.create({"dashboard_title": "Board", "published": True}).id
        public, hidden = (
            made.core.charts.create(
                {"slice_name": "x", "datasource_id": key, "datasource_type": "table", "dashboards": [board]}
            ).id
            for key in (1, 2)
        )
        reader = made.reader(("dataset", 1))

        def found(core: AnalyticsCore, op: str, value: Any) -> int:
            return core.dashboards.list(filters=[{"col": "charts", "op": op, "val": value}]).count

        requested = (("eq", public), ("eq", hidden), ("in", [hidden]), ("in", [public, hidden]), ("in", []), ("eq", 99))
        assert [found(reader, *item) for item in requested] == [1, 0, 0, 1, 0, 0]
        assert [found(made.core, *item) for item in requested] == [1, 1, 1, 1, 0, 0]


def test_a_dashboard_lives_from_draft_to_deletion(shop: SmallCore) -> None:
    owner, reader = shop.reader(("dataset", 1), username="owner"), shop.reader(("dataset", 1))
    stranger = shop.reader(username="stranger")
    chart = add_chart(owner)
    page = add_dashboard(owner, chart, slug="größe", json_metadata='{"label_colors": {"日本": "#fff"}}')
    for rejected in (reader, stranger):
        with pytest.raises(DashboardAccessError):
            rejected.dashboards.get("größe")
    owner.dashboards.update(page.id, {"published": True, "certified_by": "Ada"})
    assert reader.dashboards.get("größe").charts == ("Revenue",)
    assert metadata_of(reader.dashboards.get(page.id)) == {"label_colors": {"日本": "#fff"}}
    assert (titles(shop.core), titles(reader), titles(stranger)) == (["Sales"], ["Sales"], [])
    reader.dashboards.add_favourite(page.id)
    reader.dashboards.add_favourite(page.id)
    copy = reader.dashboards.copy(page.id, {"json_metadata": "{}", "duplicate_slices": True})
    with pytest.raises(OwnershipError):
        reader.dashboards.delete(page.id)
    assert [tag.name for tag in owner.tags.tag("dashboard", page.id, ["eu", "größe"])] == ["eu", "größe"]
    assert [carrier.id for carrier in reader.tags.tagged(owner.tags.list().result[0].id, "dashboard")] == [page.id]
    owner.dashboards.delete(page.id)
    assert not reader.dashboards.favourite_status([page.id]).result[0].value
    assert [item.id for item in reader.dashboards.list()] == [copy.id]
    with pytest.raises(NotFoundError):
        owner.dashboards.get(page.id)


def test_lists_give_the_same_pages_everywhere(shop: SmallCore) -> None:
    for title, slug in (("b", "1b"), ("C", None), (None, "x"), ("ä", "y"), ("b", None)):
        add_dashboard(shop.core, dashboard_title=title, slug=slug)
    assert titles(shop.core, order_by="dashboard_title") == ["C", "b", "b", "ä", None]
    assert titles(shop.core, order_by=["-slug"]) == ["ä", None, "b", "C", "b"]
    page = shop.core.dashboards.list(order_by="-dashboard_title", page=1, page_size=2)
    assert (page.count, [item.dashboard_title for item in page]) == (5, ["b", "C"])
    contains = {"col": "dashboard_title", "op": "contains", "val": "B"}
    assert titles(shop.core, filters=[contains]) == ["b", "b"]
    with pytest.raises(AlreadyExistsError, match="slug 'x'"):
        add_dashboard(shop.core, slug="x")


def test_the_second_of_two_writers_learns_of_the_first(shop: SmallCore, policy: Interrupting) -> None:
    page = add_dashboard(shop.core)
    seen = shop.core.dashboards.get(page.id).changed_on
    policy.meanwhile.append(lambda: shop.core.dashboards.update(page.id, {"css": "first"}))
    with pytest.raises(StaleVersionError, match="changed by somebody else"):
        shop.core.dashboards.update(page.id, {"css": "second", "dashboard_title": "second"}, unchanged_since=seen)
    read = shop.core.dashboards.get(page.id)
    assert (read.css, read.dashboard_title) == ("first", "Sales")
    assert _actions(shop.core).count("dashboard.update") == 1


@pytest.mark.parametrize("shop", KINDS[1:], indirect=True)  # in a file, one writer waits for the other
@pytest.mark.parametrize("has_chart", [False, True])
def test_a_chart_is_put_on_a_dashboard_that_changes_meanwhile(
    shop: SmallCore, policy: Interrupting, *, has_chart: bool
) -> None:
    page = add_dashboard(shop.core)
    chart = add_chart(shop.core) if has_chart else None
    policy.meanwhile.append(lambda: shop.core.dashboards.update(page.id, {"css": "theirs"}))
    if chart is None:
        add_chart(shop.core, dashboards=[page.id])
    else:
        # the first decision is about the chart itself, before the dashboards are read
        policy.meanwhile.append(lambda: None)
        shop.core.charts.update(chart, {"dashboards": [page.id]})
    read = shop.core.dashboards.get(page.id)
    assert (read.css, read.charts, shop.core.charts.list().count) == ("theirs", ("Revenue",), 1)
    assert _actions(shop.core).count("chart.create") == 1


def test_a_chart_that_changes_meanwhile_is_not_written_over(shop: SmallCore, policy: Interrupting) -> None:
    chart = add_chart(shop.core)
    seen = shop.core.charts.list().result[0].changed_on_utc
    policy.meanwhile.append(lambda: shop.core.charts.update(chart, {"viz_type": "theirs"}))
    with pytest.raises(StaleVersionError, match="chart"):
        shop.core.charts.update(chart, {"viz_type": "mine", "dashboards": []}, unchanged_since=seen)
    assert shop.core.charts.get(chart).viz_type == "theirs"


def test_changes_of_filters_at_the_same_time_are_all_kept(shop: SmallCore, policy: Interrupting) -> None:
    page = add_dashboard(shop.core)
    shop.core.dashboards.update_native_filters(page.id, _filters("old"))
    policy.meanwhile.append(lambda: shop.core.dashboards.update_native_filters(page.id, _filters("theirs")))
    changed = shop.core.dashboards.update_native_filters(page.id, {**_filters("mine"), "deleted": ["old"]})
    assert [item["id"] for item in metadata_of(changed)["native_filter_configuration"]] == ["theirs", "mine"]


def test_many_writers_lose_nothing_silently(shop: SmallCore) -> None:
    page = add_dashboard(shop.core)

    def write(number: int) -> str:
        try:
            shop.core.dashboards.update_native_filters(page.id, _filters(f"f{number}"))
        except StaleVersionError:
            return ""
        return f"f{number}"

    with ThreadPoolExecutor(4) as pool:
        accepted = {name for name in pool.map(write, range(12)) if name}
    stored = metadata_of(shop.core.dashboards.get(page.id))["native_filter_configuration"]
    assert {item["id"] for item in stored} == accepted
    assert len(accepted) > 1


def test_tags_made_by_several_at_once_are_one(shop: SmallCore) -> None:
    pages = [add_dashboard(shop.core) for _ in range(4)]

    def tag(page: Any) -> list[str | None]:
        return [tag.name for tag in shop.core.tags.tag("dashboard", page.id, ["same", f"own {page.id}"])]

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(tag, pages))
    assert all("same" in names and len(names) == 2 for names in results)
    assert shop.core.tags.list(filters=[{"col": "name", "op": "eq", "val": "same"}]).count == 1


def test_a_chart_attached_while_the_dashboard_changes_is_not_lost(shop: SmallCore, policy: Interrupting) -> None:
    one, two = add_chart(shop.core, "One"), add_chart(shop.core, "Two")
    page = add_dashboard(shop.core)
    seen = shop.core.dashboards.get(page.id).changed_on
    policy.meanwhile.append(lambda: shop.core.charts.update(one, {"dashboards": [page.id]}))
    with pytest.raises(StaleVersionError):
        shop.core.dashboards.update(page.id, {"position_json": layout(two)}, unchanged_since=seen)
    assert shop.core.dashboards.get(page.id).charts == ("One",)


def test_a_refused_copy_leaves_no_chart_behind(shop: SmallCore) -> None:
    page = add_dashboard(shop.core, add_chart(shop.core))
    with pytest.raises(Exception, match="4000"):
        shop.core.dashboards.copy(page.id, {"json_metadata": json.dumps({"positions": json.loads(layout(4000))})})
    assert (shop.core.charts.list().count, shop.core.dashboards.list().count) == (1, 1)
    assert "dashboard.copy" not in _actions(shop.core)


@pytest.mark.slow
@pytest.mark.parametrize("namespace", ["dashboards", "charts"])
def test_a_list_takes_as_many_statements_for_many_rows_as_for_few(tmp_path: Path, namespace: str) -> None:
    with small_core(tmp_path) as shop:
        two_datasets(shop)
        reader = shop.reader(("dataset", 1))
        pages = [add_dashboard(shop.core, add_chart(shop.core), published=True, roles=[]) for _ in range(2)]
        few = _statements(reader, namespace)
        for number in range(12):
            chart = add_chart(shop.core, f"chart {number}", dashboards=[page.id for page in pages])
            page = add_dashboard(shop.core, chart, published=True)
            shop.core.tags.tag("dashboard", page.id, [f"tag {number}"])
            shop.core.tags.tag("chart", chart, [f"tag {number}"])
        many = _statements(reader, namespace)
        assert getattr(reader, namespace).list().count == 14
        assert many <= few + 1  # the tags, which were not there before


def _statements(core: AnalyticsCore, namespace: str) -> int:
    """Return how many statements one page takes; before, whoever acts is known."""
    getattr(core, namespace).list()
    seen: list[str] = []
    engine = core._runtime.content.store._engine  # type: ignore[attr-defined]
    listen: Any = lambda *arguments: seen.append(arguments[2])  # noqa: E731
    sa.event.listen(engine, "before_cursor_execute", listen)
    try:
        getattr(core, namespace).list()
    finally:
        sa.event.remove(engine, "before_cursor_execute", listen)
    return sum(statement.startswith("SELECT") for statement in seen)


def _filters(*names: str) -> dict[str, Any]:
    return {"deleted": [], "modified": [{"id": name} for name in names], "reordered": []}


def _actions(core: AnalyticsCore) -> list[str]:
    with core._runtime.content.store.unit_of_work() as unit:
        return [entry.action for entry in unit.logs.list(ListQuery(page_size=1_000))[1]]

"""The explore view: stored form data, permalinks, and what a view starts from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.pages import add_chart, add_dashboard
from tests.support.small_core import KEY, SmallCore, small_core

from analytics_core import AnalyticsCore, Settings
from analytics_core._engine.rights.keys import permalink_keys
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.secret import Secret
from analytics_core.errors import (
    AccessError,
    ChartAccessError,
    DashboardAccessError,
    DatasetAccessError,
    GoneError,
    NotFoundError,
    OwnershipError,
    PayloadSchemaError,
)
from analytics_core.testing.clock import FixedClock

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)
FORM: dict[str, Any] = {"datasource_id": 1, "datasource_type": "table", "form_data": '{"viz_type": "pie"}'}


def address(kind: str, values: Any) -> str:
    return f"/{kind}/" + "/".join(str(value) for value in values.values())


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture
def shop(tmp_path: Path, metadata_url: str, clock: FixedClock) -> Iterator[SmallCore]:
    ports = {"metadata_url": metadata_url, "clock": clock}
    with small_core(tmp_path, ports=ports, url_for=address, metadata_freshness_s=0) as made:
        made.orders()
        yield made


def chart(core: AnalyticsCore, **payload: Any) -> int:
    given = {"slice_name": "Revenue", "datasource_id": 1, "datasource_type": "table", **payload}
    return int(core.charts.create(given).id)


def keys_stored(shop: SmallCore) -> int:
    with shop.core._runtime.content.store.unit_of_work() as unit:
        return unit.key_values._connection.exec_driver_sql("SELECT count(*) FROM ac_key_values").scalar_one()


def key_is_gone(read: Callable[[], Any]) -> bool:
    """Tell whether a key is refused as gone; False: as one that there never was."""
    with pytest.raises(NotFoundError) as refusal:
        read()
    assert refusal.value.to_payload()["errors"][0]["error_type"] == "OBJECT_DOES_NOT_EXIST_ERROR"
    assert isinstance(refusal.value, GoneError) is (refusal.value.status == 410)
    return refusal.value.status == 410


def other_keys(key: str) -> list[str]:
    """Return keys that look like one of ours, and were given to nobody."""
    first, last = ("B" if letter == "A" else "A" for letter in (key[0], key[-1]))
    return [first + key[1:], key[:-1] + last, key[4:], key + key[:4], key + "=", f" {key}", "long gone", "", "ü"]


# --------------------------------------------------------------------------------------------------------- form data
def test_form_data_is_stored_read_changed_and_removed(shop: SmallCore) -> None:
    reader = shop.reader(("dataset", 1))
    key = reader.explore.create_form_data(FORM)
    assert len(key) >= 43
    assert reader.explore.get_form_data(key) == '{"viz_type": "pie"}'
    assert reader.explore.update_form_data(key, {**FORM, "form_data": '{"a": 1}'}) == key
    assert reader.explore.get_form_data(key) == '{"a": 1}'
    reader.explore.delete_form_data(key)
    with pytest.raises(GoneError):
        reader.explore.get_form_data(key)
    logged = [entry.action for entry in reader.logs.list(order_by="id")]
    assert logged == ["form_data.create", "form_data.update", "form_data.delete"]


def test_two_keys_are_never_the_same(shop: SmallCore) -> None:
    assert len({shop.core.explore.create_form_data(FORM) for _ in range(5)}) == 5


@pytest.mark.each_store
def test_only_a_key_that_was_given_is_gone(shop: SmallCore, metadata_url: str, clock: FixedClock) -> None:
    form = shop.core.explore.create_form_data(FORM)
    link = shop.core.permalinks.create_for_chart(state()).key
    clock.advance(timedelta(days=8))
    shop.core.permalinks.prune(older_than_days=1)
    shop.core.explore.create_form_data(FORM)  # clears the former row away
    explore, permalinks = shop.core.explore, shop.core.permalinks
    assert key_is_gone(lambda: explore.get_form_data(form))
    assert key_is_gone(lambda: permalinks.get_for_chart(link))
    assert key_is_gone(lambda: shop.reader(username="sent it").permalinks.get_for_chart(link))
    for key in (*other_keys(form), link):
        assert not key_is_gone(lambda key=key: explore.get_form_data(key))
    for key in (*other_keys(link), form):
        assert not key_is_gone(lambda key=key: permalinks.get_for_chart(key))
    assert not key_is_gone(lambda: permalinks.get_for_dashboard(link))
    if metadata_url == "sqlite://":
        return
    new = "another key, also long enough 1"
    for settings, is_gone in (
        (Settings(secret_key=new, previous_secret_keys=(KEY,)), True),
        (Settings(secret_key=new), False),
    ):
        with AnalyticsCore(settings, metadata_url=metadata_url, clock=clock, acting_as=1) as core:
            assert key_is_gone(lambda core=core: core.permalinks.get_for_chart(link)) is is_gone
            assert key_is_gone(lambda core=core: core.explore.get_form_data(form)) is is_gone


def test_a_permalink_of_a_version_before_the_mark_goes_on_until_it_is_pruned(shop: SmallCore) -> None:
    made = shop.core.permalinks.create_for_chart(state()).key
    with shop.core._runtime.content.store.unit_of_work() as unit:
        record = unit.key_values.find(kind="chart_permalink", key=made)
        assert record is not None
        old = permalink_keys([Secret(KEY)], record.kind, f"{record.kind}\x001\x00{record.value}")[-1]
        unit.key_values.update(replace(record, key=old), actor_id=1)
    assert shop.core.permalinks.create_for_chart(state()).key == old != made
    assert shop.core.permalinks.get_for_chart(old).datasource_id == 1
    assert not key_is_gone(lambda: shop.core.permalinks.get_for_chart(other_keys(old)[0]))


@for_each(
    ("change", "path"),
    [
        ({"form_data": "{"}, "form_data"),
        ({"form_data": {"a": 1}}, "form_data"),
        ({"datasource_type": "cube"}, "datasource_type"),
        ({"datasource_id": "1"}, "datasource_id"),
        ({"chart_id": None}, "chart_id"),
        ({"owner": 1}, "owner"),
    ],
)
def test_malformed_form_data_is_refused_with_its_path(shop: SmallCore, change: dict[str, Any], path: str) -> None:
    with pytest.raises(PayloadSchemaError) as rejection:
        shop.core.explore.create_form_data({**FORM, **change})
    assert [problem.path for problem in rejection.value.problems] == [path]


@for_each("change", [{"datasource_id": 99}, {"datasource_type": "query"}, {"chart_id": 99}])
def test_form_data_of_nothing_is_refused(shop: SmallCore, change: dict[str, Any]) -> None:
    with pytest.raises(NotFoundError):
        shop.core.explore.create_form_data({**FORM, **change})


def test_knowing_a_key_is_no_authorisation(shop: SmallCore) -> None:
    key = shop.core.explore.create_form_data({**FORM, "chart_id": chart(shop.core)})
    stranger, reader = shop.reader(username="stranger"), shop.reader(("dataset", 1))
    for act in (
        lambda: stranger.explore.get_form_data(key),
        lambda: stranger.explore.context(form_data_key=key),
        lambda: stranger.explore.update_form_data(key, FORM),
        lambda: stranger.explore.delete_form_data(key),
        lambda: stranger.explore.create_form_data(FORM),
    ):
        with pytest.raises(DatasetAccessError):
            act()
    assert reader.explore.get_form_data(key) == FORM["form_data"]
    shop.core.roles.revoke("role of reader", on=("dataset", 1))
    with pytest.raises(DatasetAccessError):
        reader.explore.get_form_data(key)


def test_only_who_stored_form_data_changes_it(shop: SmallCore) -> None:
    reader = shop.reader(("dataset", 1))
    key = reader.explore.create_form_data(FORM)
    for act in (
        lambda: shop.core.explore.update_form_data(key, FORM),
        lambda: shop.core.explore.delete_form_data(key),
    ):
        with pytest.raises(OwnershipError):
            act()
    assert shop.core.explore.get_form_data(key) == FORM["form_data"]


def test_form_data_cannot_be_moved_to_a_dataset_without_a_grant(shop: SmallCore) -> None:
    people = shop.core.datasets.create({"database": 1, "table_name": "people"})
    reader = shop.reader(("dataset", 1))
    key = reader.explore.create_form_data(FORM)
    with pytest.raises(DatasetAccessError):
        reader.explore.update_form_data(key, {**FORM, "datasource_id": people.id})


def test_form_data_ends_a_week_after_its_last_change_and_its_row_goes(shop: SmallCore, clock: FixedClock) -> None:
    key = shop.core.explore.create_form_data(FORM)
    clock.advance(timedelta(days=6))
    shop.core.explore.update_form_data(key, FORM)
    clock.advance(timedelta(days=6))
    assert shop.core.explore.get_form_data(key) == FORM["form_data"]
    clock.advance(timedelta(days=1))
    assert key_is_gone(lambda: shop.core.explore.get_form_data(key))
    assert key_is_gone(lambda: shop.core.explore.update_form_data(key, FORM))
    clock.advance(timedelta(seconds=1))
    shop.core.explore.create_form_data(FORM)
    assert keys_stored(shop) == 1
    assert key_is_gone(lambda: shop.core.explore.get_form_data(key))


def test_form_data_outlives_its_chart(shop: SmallCore) -> None:
    made = chart(shop.core)
    key = shop.core.explore.create_form_data({**FORM, "chart_id": made})
    shop.core.charts.delete(made)
    assert shop.core.explore.get_form_data(key) == FORM["form_data"]
    context = shop.core.explore.context(form_data_key=key)
    assert (context.slice, context.message, context.form_data["viz_type"]) == (None, None, "pie")
    shop.core.explore.delete_form_data(key)
    with pytest.raises(GoneError, match="form data"):
        shop.core.explore.get_form_data(key)


@pytest.mark.server
def test_many_people_store_form_data_at_once_on_mariadb(
    tmp_path: Path, make_mariadb_database: Callable[[], str], clock: FixedClock
) -> None:
    with small_core(tmp_path, ports={"metadata_url": make_mariadb_database(), "clock": clock}) as made:
        made.orders()
        made.core.explore.create_form_data(FORM)
        clock.advance(timedelta(days=8))  # the first one is over, and every writer clears it away
        with ThreadPoolExecutor(8) as pool:
            keys = set(pool.map(lambda _: made.core.explore.create_form_data(FORM), range(64)))
        assert len(keys) == keys_stored(made) == 64
        with ThreadPoolExecutor(8) as pool:
            links = {done.key for done in pool.map(lambda _: made.core.permalinks.create_for_chart(state()), range(32))}
        assert len(links) == 1


def test_another_now_for_queries_neither_ends_nor_prolongs_form_data(shop: SmallCore, clock: FixedClock) -> None:
    mine = shop.core.explore.create_form_data(FORM)
    later = shop.core.as_of(NOW + timedelta(days=10_000))
    theirs = later.explore.create_form_data(FORM)
    assert later.explore.get_form_data(mine) == FORM["form_data"]
    clock.advance(timedelta(days=8))
    for core in (shop.core, shop.core.as_of(NOW)):
        for key in (mine, theirs):
            with pytest.raises(NotFoundError):
                core.explore.get_form_data(key)


# ----------------------------------------------------------------------------------------------------------- context
def test_a_view_of_a_dataset(shop: SmallCore) -> None:
    context = shop.core.explore.context(datasource="1__table").to_payload()
    dataset = context["dataset"]
    assert (context["slice"], context["message"], context["form_data"]) == (None, None, {"datasource": "1__table"})
    assert {name: dataset[name] for name in ("id", "type", "uid", "name", "table_name", "main_dttm_col", "owners")} == {
        "id": 1,
        "type": "table",
        "uid": "1__table",
        "name": "orders",
        "table_name": "orders",
        "main_dttm_col": "day",
        "owners": [1],
    }
    assert [column["column_name"] for column in dataset["columns"]] == ["id", "day", "country", "amount"]
    assert [metric["expression"] for metric in dataset["metrics"]] == ["COUNT(*)"]
    assert (dataset["database"]["name"], dataset["database"]["backend"]) == ("shop", "sqlite")
    assert dataset["granularity_orm"] == [["day", "day"]]
    assert dataset["verbose_map"]["count"] == "COUNT(*)"
    assert (dataset["edit_url"], dataset["perm"]) == ("/dataset_edit/1", "[shop].[orders](id:1)")
    assert dataset["select_star"].startswith("SELECT")
    json.dumps(context)


@for_each("datasource", ["1__table", "1__dataset", 1, {"id": 1, "type": "table"}])
def test_every_way_to_name_a_datasource(shop: SmallCore, datasource: Any) -> None:
    assert shop.core.explore.context(datasource=datasource).dataset.id == 1


@for_each("datasource", ["1", "table__1", "1__cube", "1__table; DROP", True, 1.5, {"id": "1"}, [1]])
def test_what_names_no_datasource_is_refused(shop: SmallCore, datasource: Any) -> None:
    with pytest.raises(PayloadSchemaError, match="1__table"):
        shop.core.explore.context(datasource=datasource)


def test_a_view_of_nothing_is_refused_with_what_would_work(shop: SmallCore) -> None:
    with pytest.raises(PayloadSchemaError, match="chart_id"):
        shop.core.explore.context()
    with pytest.raises(NotFoundError):
        shop.core.explore.context(datasource="9__table")
    with pytest.raises(NotFoundError):
        shop.core.explore.context(chart_id=9)


def test_a_view_of_a_chart(shop: SmallCore) -> None:
    made = chart(shop.core, params='{"metric": "count"}', viz_type="pie", description="**b** <script>x</script>")
    context = shop.core.explore.context(chart_id=made)
    assert context.slice.slice_id == made
    assert (context.slice.slice_name, context.slice.owners, context.slice.datasource) == ("Revenue", (1,), "1__table")
    assert "<strong>b</strong>" in context.slice.description_markeddown
    assert "script" not in context.slice.description_markeddown
    assert context.form_data == {"metric": "count", "slice_id": made, "viz_type": "pie", "datasource": "1__table"}


def test_stored_form_data_goes_before_the_chart(shop: SmallCore) -> None:
    made = chart(shop.core, params='{"metric": "count", "x": 1}', viz_type="line")
    key = shop.core.explore.create_form_data({**FORM, "chart_id": made})
    context = shop.core.explore.context(form_data_key=key)
    assert context.slice.slice_id == made
    assert context.form_data["viz_type"] == "pie"
    assert context.form_data["metric"] == "count"


def test_form_data_cannot_name_another_dataset_than_it_was_stored_for(shop: SmallCore) -> None:
    shop.core.datasets.create({"database": 1, "table_name": "people"})
    reader = shop.reader(("dataset", 1))
    key = reader.explore.create_form_data({**FORM, "form_data": '{"datasource": "2__table"}'})
    context = reader.explore.context(form_data_key=key)
    assert (context.dataset.id, context.form_data["datasource"]) == (1, "1__table")


def test_form_data_cannot_name_another_chart_than_the_one_that_is_shown(shop: SmallCore) -> None:
    made, other = chart(shop.core), chart(shop.core)
    text = json.dumps({"slice_id": other, "viz_type": "pie"})
    for given, expected in (({"chart_id": made}, made), ({}, None)):
        key = shop.core.explore.create_form_data({**FORM, "form_data": text, **given})
        assert shop.core.explore.context(form_data_key=key).form_data.get("slice_id") == expected
        assert shop.core.explore.context(form_data_key=key, chart_id=other).form_data["slice_id"] == other


def test_lost_form_data_is_told_and_the_chart_or_dataset_shown(shop: SmallCore) -> None:
    made = chart(shop.core)
    of_chart = shop.core.explore.context(chart_id=made, form_data_key="gone")
    assert "state of the chart" in (of_chart.message or "")
    assert "state of the dataset" in (shop.core.explore.context(datasource=1, form_data_key="gone").message or "")


def test_a_view_shows_nothing_that_the_actor_may_not_read(shop: SmallCore) -> None:
    made = chart(shop.core)
    stranger = shop.reader()
    with pytest.raises(ChartAccessError):
        stranger.explore.context(chart_id=made)
    with pytest.raises(DatasetAccessError):
        stranger.explore.context(datasource=1)
    people = shop.core.datasets.create({"database": 1, "table_name": "people"})
    owner = shop.reader(("dataset", people.id), username="owner")
    with pytest.raises(ChartAccessError):
        owner.explore.context(chart_id=made, datasource=people.id)


def test_a_host_tells_what_is_wrong_with_a_dataset(tmp_path: Path) -> None:
    with small_core(tmp_path, dataset_health_check=lambda dataset: f"{dataset.table_name} is late") as made:
        made.orders()
        assert made.core.explore.context(datasource=1).dataset.health_check_message == "orders is late"
        chart = add_chart(made.core)
        (board_dataset,) = made.core.dashboards.datasets(add_dashboard(made.core, chart).id)
        assert board_dataset.health_check_message == "orders is late"


def test_a_dashboard_describes_a_dataset_once_where_the_host_checks_none(tmp_path: Path) -> None:
    requested: list[str] = []
    with small_core(tmp_path, url_for=lambda kind, values: requested.append(kind)) as made:
        made.orders()
        dashboard = add_dashboard(made.core, add_chart(made.core))
        requested.clear()
        made.core.dashboards.datasets(dashboard.id)
    assert sorted(requested) == ["dataset", "dataset_edit"]


def test_a_dashboard_tells_the_same_of_a_dataset_as_the_explore_view(shop: SmallCore) -> None:
    extra = {"explore_database_id": 7, "disable_drill_to_detail": True, "allows_virtual_table_explore": False}
    shop.core.databases.update(1, {"extra": json.dumps(extra)})
    (board_dataset,) = shop.core.dashboards.datasets(add_dashboard(shop.core, add_chart(shop.core)).id)
    explored = shop.core.explore.context(datasource=1).dataset.to_payload()
    assert explored["database"]["explore_database_id"] == 7
    assert shop.core.databases.list().result[0].explore_database_id == 7
    dashboard = board_dataset.to_payload()
    shared = set(explored) & set(dashboard) - {"owners"}  # ids here, people there
    assert {name: dashboard[name] for name in shared} == {name: explored[name] for name in shared}


# -------------------------------------------------------------------------------------------------------- permalinks
def state(**form_data: Any) -> dict[str, Any]:
    return {"formData": {"datasource": "1__table", "viz_type": "pie", **form_data}, "urlParams": [["a", "1"]]}


def test_a_permalink_holds_the_state_of_a_chart(shop: SmallCore) -> None:
    made = chart(shop.core)
    link = shop.core.permalinks.create_for_chart(state(slice_id=made))
    assert link.url == f"/chart_permalink/{link.key}"
    found = shop.core.permalinks.get_for_chart(link.key)
    assert found.to_payload() == {
        "chartId": made,
        "datasourceId": 1,
        "datasourceType": "table",
        "state": state(slice_id=made),
    }
    context = shop.core.explore.context(permalink_key=link.key)
    assert context.form_data == {
        "slice_id": made,
        "datasource": "1__table",
        "viz_type": "pie",
        "url_params": {"a": "1"},
    }


def test_the_same_state_of_the_same_person_gives_the_same_key(shop: SmallCore) -> None:
    reader = shop.reader(("dataset", 1))
    first = reader.permalinks.create_for_chart(state()).key
    assert reader.permalinks.create_for_chart(dict(reversed(state().items()))).key == first
    others = {reader.permalinks.create_for_chart(state(x=1)).key, shop.core.permalinks.create_for_chart(state()).key}
    assert len({first, *others}) == 3
    assert [entry.action for entry in reader.logs.list()].count("permalink.create") == 2


@pytest.mark.each_store
def test_a_key_cannot_be_made_without_the_secret(shop: SmallCore, metadata_url: str, clock: FixedClock) -> None:
    key = shop.core.permalinks.create_for_chart(state()).key
    assert len(key) == 32
    if metadata_url == "sqlite://":
        return
    rotated = Settings(secret_key="another key, also long enough 1", previous_secret_keys=(KEY,))
    with AnalyticsCore(rotated, metadata_url=metadata_url, clock=clock, acting_as=1) as core:
        assert core.permalinks.create_for_chart(state()).key == key
        assert core.permalinks.get_for_chart(key).state.form_data["viz_type"] == "pie"
    other = Settings(secret_key="another key, also long enough 2")
    with AnalyticsCore(other, metadata_url=metadata_url, clock=clock, acting_as=1) as core:
        assert core.permalinks.create_for_chart(state()).key != key


@pytest.mark.each_store
def test_many_at_once_make_one_permalink(shop: SmallCore) -> None:
    with ThreadPoolExecutor(6) as pool:
        keys = {done.key for done in pool.map(lambda _: shop.core.permalinks.create_for_chart(state()), range(12))}
    assert len(keys) == 1
    assert keys_stored(shop) == 1


@for_each(
    ("payload", "path"),
    [
        ({}, "formData"),
        ({"formData": {}}, "formData.datasource"),
        ({"formData": {"datasource": "orders"}}, "formData.datasource"),
        ({"formData": {"datasource": "1__table", "slice_id": "1"}}, "formData.slice_id"),
    ],
)
def test_a_malformed_state_is_refused_with_its_path(shop: SmallCore, payload: Any, path: str) -> None:
    with pytest.raises(PayloadSchemaError) as rejection:
        shop.core.permalinks.create_for_chart(payload)
    assert [problem.path for problem in rejection.value.problems] == [path]


def test_a_permalink_opens_only_what_the_actor_may_read(shop: SmallCore) -> None:
    link = shop.core.permalinks.create_for_chart(state(slice_id=chart(shop.core)))
    stranger, reader = shop.reader(username="stranger"), shop.reader(("dataset", 1))
    with pytest.raises(DatasetAccessError):
        stranger.permalinks.get_for_chart(link.key)
    with pytest.raises(DatasetAccessError):
        stranger.permalinks.create_for_chart(state())
    with pytest.raises(DatasetAccessError):
        stranger.explore.context(permalink_key=link.key)
    assert reader.permalinks.get_for_chart(link.key).datasource_id == 1
    with pytest.raises(NotFoundError):
        reader.permalinks.get_for_chart(link.key + "x")
    with pytest.raises(NotFoundError):
        reader.permalinks.get_for_dashboard(link.key)


def test_old_permalinks_go_when_an_administrator_prunes_them_and_nothing_else_does(
    shop: SmallCore, clock: FixedClock
) -> None:
    old = shop.core.permalinks.create_for_chart(state(x="old"))
    form = shop.core.explore.create_form_data(FORM)
    clock.advance(timedelta(days=5))
    new = shop.core.permalinks.create_for_chart(state(x="new"))
    clock.advance(timedelta(hours=1))
    assert [shop.core.permalinks.prune(older_than_days=days) for days in (6, 4, 4)] == [0, 1, 0]
    with pytest.raises(GoneError, match="permalink"):
        shop.core.permalinks.get_for_chart(old.key)
    assert shop.core.permalinks.get_for_chart(new.key).state.form_data["x"] == "new"
    assert shop.core.explore.get_form_data(form)
    assert shop.core.permalinks.create_for_chart(state(x="old")).key == old.key
    logged = [json.loads(entry.json_text) for entry in shop.core.logs.list() if entry.action == "permalink.prune"]
    assert logged[1] == {"older_than_days": 4, "removed": 1}


def test_a_permalink_that_is_exactly_so_old_is_not_pruned(shop: SmallCore, clock: FixedClock) -> None:
    shop.core.permalinks.create_for_chart(state())
    clock.advance(timedelta(days=4))
    assert shop.core.permalinks.prune(older_than_days=4) == 0
    clock.advance(timedelta(microseconds=1))
    assert shop.core.permalinks.prune(older_than_days=4) == 1


def test_pruning_permalinks_is_for_administrators_and_never_takes_everything(shop: SmallCore) -> None:
    with pytest.raises(AccessError, match="remove old permalinks"):
        shop.reader().permalinks.prune(older_than_days=30)
    for days in (0, -1, 10**9, True, "30"):
        with pytest.raises(PayloadSchemaError, match="older_than_days"):
            shop.core.permalinks.prune(older_than_days=days)  # type: ignore[arg-type]


def test_a_permalink_outlives_its_chart(shop: SmallCore) -> None:
    made = chart(shop.core)
    link = shop.core.permalinks.create_for_chart(state(slice_id=made))
    shop.core.charts.delete(made)
    assert shop.core.permalinks.get_for_chart(link.key).chart_id is None
    context = shop.core.explore.context(permalink_key=link.key)
    assert (context.slice, "slice_id" in context.form_data) == (None, False)


def test_a_permalink_holds_the_state_of_a_dashboard(shop: SmallCore) -> None:
    reader = shop.reader()
    record = Dashboard(uuid="00000000-0000-0000-0000-000000000001", owner_ids=(2,))
    with shop.core._runtime.content.store.unit_of_work() as unit:
        board = unit.dashboards.add(record, actor_id=2).id
    given = {"activeTabs": ["a"], "anchor": "b", "dataMask": {"f": {"x": [1]}}, "urlParams": [["a", "1"]]}
    link = reader.permalinks.create_for_dashboard(board, given)
    assert link.url == f"/dashboard_permalink/{link.key}"
    assert reader.permalinks.create_for_dashboard(board, given).key == link.key
    assert reader.permalinks.get_for_dashboard(link.key).to_payload() == {"dashboardId": board, "state": given}
    stranger = shop.reader(("dataset", 1), username="stranger")
    with pytest.raises(DashboardAccessError):
        stranger.permalinks.get_for_dashboard(link.key)
    with pytest.raises(DashboardAccessError):
        stranger.permalinks.create_for_dashboard(board, given)
    with pytest.raises(NotFoundError):
        reader.permalinks.create_for_dashboard(board + 9, given)
    with pytest.raises(PayloadSchemaError, match="activeTab"):
        reader.permalinks.create_for_dashboard(board, {"activeTab": []})


def test_whoever_may_read_a_published_dashboard_opens_its_permalinks(shop: SmallCore) -> None:
    made = chart(shop.core)
    board = shop.core.dashboards.create({"dashboard_title": "Board", "published": True}).id
    shop.core.charts.update(made, {"dashboards": [board]})
    link = shop.core.permalinks.create_for_dashboard(board, {"anchor": "x"})
    reader, stranger = shop.reader(("dataset", 1)), shop.reader(username="stranger")
    assert reader.permalinks.get_for_dashboard(link.key).state.anchor == "x"
    with pytest.raises(DashboardAccessError):
        stranger.permalinks.get_for_dashboard(link.key)

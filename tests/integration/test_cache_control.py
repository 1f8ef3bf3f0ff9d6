"""Kept answers: made unreachable by dataset, in every process, and computed ahead exactly where readers look."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.many_records import statements_of
from tests.support.small_core import KEY, SmallCore, small_core

from analytics_core import AnalyticsCore, Settings
from analytics_core._core.adapters.caches import MemoryCache
from analytics_core._core.adapters.clock import SystemClock
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.policy import Policy
from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.datasource import Dataset
from analytics_core._records.repositories import ListQuery
from analytics_core.errors import (
    AnalyticsError,
    ChartAccessError,
    DashboardAccessError,
    DatasetAccessError,
    NotFoundError,
    OwnershipError,
    PayloadSchemaError,
    QueryError,
)

QUERY: dict[str, Any] = {"columns": ["country"], "metrics": ["count"], "orderby": [["count", False]]}


def context(dataset: int = 1, **query: Any) -> dict[str, Any]:
    return {"datasource": {"id": dataset, "type": "table"}, "queries": [{**QUERY, **query}]}


@pytest.fixture
def cache() -> MemoryCache:
    return MemoryCache(max_bytes=10_000_000, clock=SystemClock())


@pytest.fixture
def shop(tmp_path: Path, metadata_url: str, cache: MemoryCache) -> Iterator[SmallCore]:
    ports = {"metadata_url": metadata_url, "cache": cache}
    with small_core(tmp_path, ports=ports, metadata_freshness_s=0) as made:
        made.orders()
        made.core.datasets.create({"database": 1, "table_name": "people"})
        yield made


def chart(core: AnalyticsCore, requested: Any = None, dataset: int = 1, **payload: Any) -> int:
    text = requested if isinstance(requested, str) or requested is None else json.dumps(requested)
    given = {"slice_name": "Revenue", "datasource_id": dataset, "datasource_type": "table", "query_context": text}
    return int(core.charts.create({**given, **payload}).id)


def is_cached(core: AnalyticsCore, question: Any) -> bool:
    (result,) = core.charts.data(question).results
    assert result.error is None, result.error
    return bool(result.is_cached)


def board(shop: SmallCore, *chart_ids: int, metadata: Any = None, layout: Any = None, owner: int = 1) -> int:
    record = Dashboard(
        uuid=f"00000000-0000-0000-0000-{owner:012}",
        chart_ids=chart_ids,
        owner_ids=(owner,),
        json_metadata=json.dumps(metadata),
        position_json=json.dumps(layout),
    )
    with shop.core._runtime.content.store.unit_of_work() as unit:
        return unit.dashboards.add(record, actor_id=owner).id


# ------------------------------------------------------------------------------------------------------ invalidation
@pytest.mark.parametrize(
    "request_",
    [
        {"datasource_uids": ["1__table"]},
        {"datasource_uids": ["1__dataset"]},
        {"datasources": [{"datasource_type": "table", "database_name": "shop", "datasource_name": "orders"}]},
    ],
)
def test_the_answers_of_a_dataset_are_unreachable_and_others_stay(shop: SmallCore, request_: dict[str, Any]) -> None:
    people = {"datasource": {"id": 2, "type": "table"}, "queries": [{"columns": ["name"]}]}
    for question in (context(), people):
        assert [is_cached(shop.core, question) for _ in range(2)] == [False, True]
    assert shop.core.cache.invalidate(request_) == 1
    assert is_cached(shop.core, people)
    assert [is_cached(shop.core, context()) for _ in range(2)] == [False, True]
    assert shop.core.cache.invalidate(request_) == 1
    assert not is_cached(shop.core, context())
    entry = shop.core.logs.list(filters=[{"col": "action", "op": "eq", "val": "cache.invalidate"}]).result[0]
    assert entry.json_text == '{"dataset_ids": [1]}'


def test_an_answer_is_read_anew_from_the_source(shop: SmallCore) -> None:
    def total() -> int:
        (result,) = shop.core.charts.data(context(columns=[])).results
        return int(result.data[0]["count"])

    assert total() == 2
    shop.run("INSERT INTO orders VALUES (3, '2024-01-03', 'Italy', 5)")
    assert total() == 2
    shop.core.cache.invalidate({"datasource_uids": ["1__table"]})
    assert total() == 3


@pytest.mark.each_store
def test_another_process_with_the_same_cache_follows(tmp_path: Path, metadata_url: str, cache: MemoryCache) -> None:
    url = metadata_url if metadata_url != "sqlite://" else f"sqlite:///{tmp_path / 'meta.db'}"
    settings = Settings(secret_key=KEY, data_roots=(tmp_path,), metadata_freshness_s=0)
    with small_core(tmp_path, ports={"metadata_url": url, "cache": cache}) as shop:
        shop.orders()
        with AnalyticsCore(settings, metadata_url=url, cache=cache, acting_as=1) as other:
            assert [is_cached(shop.core, context()), is_cached(other, context())] == [False, True]
            shop.core.cache.invalidate({"datasource_uids": ["1__table"]})
            assert not is_cached(other, context())


@pytest.mark.each_store
def test_many_invalidations_at_once_all_succeed(shop: SmallCore) -> None:
    def invalidate(_: int) -> int:
        return shop.core.cache.invalidate({"datasource_uids": ["2__table", "1__table", "1__table"]})

    assert is_cached(shop.core, context()) is False
    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(invalidate, range(6))) == {2}
    assert not is_cached(shop.core, context())


def test_only_owners_empty_the_cache_of_a_dataset(shop: SmallCore) -> None:
    reader, stranger = shop.reader(("dataset", 1)), shop.reader(username="stranger")
    wish = {"datasource_uids": ["1__table"]}
    with pytest.raises(OwnershipError):
        reader.cache.invalidate(wish)
    with pytest.raises(DatasetAccessError):
        stranger.cache.invalidate(wish)
    shop.core.datasets.update(1, {"owners": [1, 2]})
    assert reader.cache.invalidate(wish) == 1


@pytest.mark.each_store
@pytest.mark.slow
def test_all_datasets_are_done_or_none(shop: SmallCore) -> None:
    shop.core.datasets.update(1, {"owners": [1]})
    reader = shop.reader(("dataset", 1), ("dataset", 2))
    shop.core.datasets.update(1, {"owners": [1, 2]})
    assert not is_cached(shop.core, context())
    with pytest.raises(OwnershipError):
        reader.cache.invalidate({"datasource_uids": ["1__table", "2__table"]})
    with pytest.raises(NotFoundError):
        shop.core.cache.invalidate({"datasource_uids": ["1__table", "9__table"]})
    assert is_cached(shop.core, context())


@for_each(
    ("payload", "path"),
    [
        ({"datasource_uids": ["orders"]}, "datasource_uids.0"),
        ({"datasource_uids": ["1__table", "1'; DROP"]}, "datasource_uids.1"),
        ({"datasources": [{"datasource_type": "table", "datasource_name": ""}]}, "datasources.0.datasource_name"),
        ({"datasources": [{"datasource_type": "table", "database_name": "shop"}]}, "datasources.0.datasource_name"),
        ({"datasources": [{"datasource_type": "x"}]}, "datasources.0.datasource_type"),
        ({"uids": []}, "uids"),
    ],
)
def test_a_malformed_request_is_refused_with_its_path(shop: SmallCore, payload: Any, path: str) -> None:
    with pytest.raises(PayloadSchemaError) as rejection:
        shop.core.cache.invalidate(payload)
    assert [problem.path for problem in rejection.value.problems] == [path]


@for_each(
    "name",
    [
        {"database_name": "shop", "datasource_name": "nothing"},
        {"database_name": "nothing", "datasource_name": "orders"},
        {"database_name": "shop", "datasource_name": "orders", "schema": "elsewhere"},
        {"datasource_name": "nothing"},
        {"datasource_name": "orders", "schema": "elsewhere"},
    ],
)
def test_a_name_that_means_nothing_is_not_found(shop: SmallCore, name: dict[str, str]) -> None:
    with pytest.raises(NotFoundError):
        shop.core.cache.invalidate({"datasources": [{"datasource_type": "table", **name}]})
    assert shop.core.cache.invalidate({}) == 0


@pytest.mark.slow
def test_a_name_without_a_database_means_the_datasets_of_that_name_in_all(shop: SmallCore) -> None:
    named = {"datasources": [{"datasource_type": "table", "datasource_name": "orders"}]}
    assert not is_cached(shop.core, context())
    assert shop.core.cache.invalidate(named) == 1
    assert not is_cached(shop.core, context())
    shop.core.databases.create({"database_name": "again", "orm_uri": f"sqlite:///{shop.file}"})
    shop.core.datasets.create({"database": 2, "table_name": "orders"})
    assert not is_cached(shop.core, context(3))
    assert shop.core.cache.invalidate(named) == 2
    assert not is_cached(shop.core, context(3))
    reader, stranger = shop.reader(("dataset", 1)), shop.reader(username="stranger")
    shop.core.datasets.update(1, {"owners": [2]})
    assert reader.cache.invalidate(named) == 1
    assert is_cached(shop.core, context(3))
    with pytest.raises(DatasetAccessError):
        stranger.cache.invalidate(named)


def rejection(act: Callable[[], Any]) -> tuple[str, str]:
    with pytest.raises(AnalyticsError) as rejected:
        act()
    return type(rejected.value).__name__, rejected.value.message


def test_nobody_learns_by_guessing_names_which_datasets_there_are(shop: SmallCore) -> None:
    stranger, reader = shop.reader(username="stranger"), shop.reader(("dataset", 1))
    grantee = shop.reader(("database", 1), username="grantee")

    def invalidate(core: AnalyticsCore, database: str, table: str) -> tuple[str, str]:
        name = {"datasource_type": "table", "database_name": database, "datasource_name": table}
        return rejection(lambda: core.cache.invalidate({"datasources": [name]}))

    def warm_up(core: AnalyticsCore, database: str, table: str) -> tuple[str, str]:
        return rejection(lambda: core.cache.warm_up_dataset({"db_name": database, "table_name": table}))

    for ask in (invalidate, warm_up):
        there, absent = ask(stranger, "shop", "people"), ask(stranger, "shop", "peeple")
        elsewhere = ask(stranger, "shup", "people")
        assert there[0] == absent[0] == elsewhere[0] == "DatasetAccessError"
        assert there[1] == absent[1].replace("peeple", "people") == elsewhere[1].replace("shup", "shop")
        assert ask(reader, "shop", "people") == there
        assert ask(reader, "shop", "peeple") == absent
        assert ask(grantee, "shop", "peeple")[0] == "NotFoundError"


def test_many_datasets_are_found_by_as_many_statements_as_one(shop: SmallCore) -> None:
    def statements(request: dict[str, Any]) -> int:
        with statements_of(shop.core) as seen, pytest.raises(AnalyticsError):
            shop.core.cache.invalidate(request)
        return len(seen)

    name = {"datasource_type": "table", "database_name": "shop", "datasource_name": "orders"}
    absent = {**name, "datasource_name": "nothing"}
    few = statements({"datasource_uids": ["1__table", "2__table"], "datasources": [name, absent]})
    many = {"datasource_uids": ["1__table", "2__table"] * 50, "datasources": [name] * 50 + [absent]}
    assert statements(many) == few
    assert "1000 datasets at most" in rejection(lambda: shop.core.cache.invalidate({"datasources": [name] * 1001}))[1]


def test_a_deleted_dataset_leaves_nothing_behind(shop: SmallCore) -> None:
    shop.core.cache.invalidate({"datasource_uids": ["2__table"]})
    shop.core.datasets.delete(2)
    with shop.core._runtime.content.store.unit_of_work() as unit:
        assert unit.key_values.distinct("key", ListQuery()) == (0, [])


# ----------------------------------------------------------------------------------------------------------- warm-up
def warmed(answer: Any) -> list[tuple[int, str | None, str | None]]:
    return [(one.chart_id, one.viz_error, one.viz_status) for one in answer]


def test_after_a_warm_up_the_reader_finds_the_answer(shop: SmallCore) -> None:
    made = chart(shop.core, context())
    assert warmed(shop.core.cache.warm_up_chart({"chart_id": made}).result) == [(made, None, "success")]
    reader = shop.reader(("dataset", 1))
    assert is_cached(shop.core, made)
    assert is_cached(reader, made)
    assert is_cached(reader, context())


def test_a_warm_up_reads_anew(shop: SmallCore) -> None:
    made = chart(shop.core, context(columns=[]))
    shop.core.charts.data(made)
    shop.run("INSERT INTO orders VALUES (3, '2024-01-03', 'Italy', 5)")
    shop.core.cache.warm_up_chart({"chart_id": made})
    (result,) = shop.core.charts.data(made).results
    assert (result.is_cached, result.data[0]["count"]) == (True, 3)


def test_every_query_of_a_chart_is_warmed_up(shop: SmallCore) -> None:
    requested = {**context(), "queries": [QUERY, {"columns": ["day"]}]}
    made = chart(shop.core, requested)
    shop.core.cache.warm_up_chart({"chart_id": made})
    assert [result.is_cached for result in shop.core.charts.data(made).results] == [True, True]


def test_extra_filters_fill_what_a_reader_with_these_filters_asks(shop: SmallCore) -> None:
    made = chart(shop.core, context(filters=[{"col": "amount", "op": ">", "val": 1}]))
    extra = '[{"col": "country", "op": "==", "val": "France"}]'
    shop.core.cache.warm_up_chart({"chart_id": made, "extra_filters": extra})
    filters = [{"col": "amount", "op": ">", "val": 1}, {"col": "country", "op": "==", "val": "France", "isExtra": True}]
    assert is_cached(shop.core, context(filters=filters))
    assert is_cached(shop.core, shop.core.charts.question(made, extra_filters=extra))
    assert not is_cached(shop.core, made)


FRANCE = {"filters": [{"col": "country", "op": "IN", "val": ["France"]}]}


def native(extra: Any, **scope: Any) -> dict[str, Any]:
    return {"id": "f", "type": "NATIVE_FILTER", "defaultDataMask": {"extraFormData": extra}, **scope}


def test_a_dashboards_filters_are_applied_as_its_readers_see_them(shop: SmallCore) -> None:
    time_filter = {"col": "day", "op": "TEMPORAL_RANGE", "val": "No filter"}
    made = chart(shop.core, context(filters=[time_filter]))
    metadata = {"native_filter_configuration": [native(FRANCE), native({"time_range": "2024-01-01 : 2024-02-01"})]}
    on = board(shop, made, metadata=metadata)
    (result,) = shop.core.cache.warm_up_chart({"chart_id": made, "dashboard_id": on}).result
    assert (result.viz_error, result.viz_status) == (None, "success")
    as_read = [
        {"col": "day", "op": "TEMPORAL_RANGE", "val": "2024-01-01 : 2024-02-01"},
        {"col": "country", "op": "IN", "val": ["France"], "isExtra": True},
    ]
    (answer,) = shop.core.charts.data(context(filters=as_read)).results
    assert answer.is_cached
    assert [row["country"] for row in answer.data] == ["France"]
    assert is_cached(shop.core, shop.core.charts.question(made, dashboard_id=on))
    assert not is_cached(shop.core, made)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scope", "reached"),
    [
        ({}, True),
        ({"chartsInScope": [1]}, True),
        ({"chartsInScope": [2]}, False),
        ({"chartsInScope": []}, False),
        ({"scope": {"rootPath": ["ROOT_ID"], "excluded": []}}, True),
        ({"scope": {"rootPath": ["ROOT_ID"], "excluded": [1]}}, False),
        ({"scope": {"rootPath": ["TAB-a"], "excluded": []}}, True),
        ({"scope": {"rootPath": ["TAB-b"], "excluded": []}}, False),
        ({"scope": {"rootPath": [], "excluded": []}}, False),
        ({"scope": "everything"}, True),
        ({"scope": {"excluded": []}}, False),
        ({"scope": {"rootPath": ["ROW-by-children"], "excluded": []}}, True),
        ({"scope": {"rootPath": ["ROW-elsewhere"], "excluded": []}}, False),
    ],
)
def test_a_filter_reaches_the_charts_of_its_scope(shop: SmallCore, scope: dict[str, Any], reached: bool) -> None:
    made = chart(shop.core, context())
    layout = {
        "CHART-1": {"meta": {"chartId": made}, "parents": ["ROOT_ID", "TAB-a"]},
        "ROW-by-children": {"children": ["COLUMN-1"]},
        "ROW-elsewhere": {"children": ["ROW-elsewhere", "nothing", 5]},
        "COLUMN-1": {"children": ["CHART-1"]},
        "x": 1,
        "y": {"meta": None},
    }
    on = board(shop, made, metadata={"native_filter_configuration": [native(FRANCE, **scope), 5]}, layout=layout)
    requested = shop.core.charts.question(made, dashboard_id=on)
    assert bool(requested["queries"][0].get("filters")) is reached


@pytest.mark.parametrize("metadata", [None, [], "x", {"native_filter_configuration": {"a": 1}}])
def test_any_metadata_of_a_dashboard_leaves_the_chart_as_it_is(shop: SmallCore, metadata: Any) -> None:
    made = chart(shop.core, context())
    on = board(shop, made, metadata=metadata)
    assert shop.core.charts.question(made, dashboard_id=on) == context()


def test_time_options_of_extra_filters_take_the_place_of_the_querys(shop: SmallCore) -> None:
    made = chart(shop.core, context(extras={"time_grain_sqla": "P1D", "where": "1 = 1"}, granularity_sqla="country"))
    extra = [
        {"col": "__time_range", "op": "==", "val": "2024-01-01 : 2024-02-01"},
        {"col": "__time_grain", "op": "==", "val": "P1M"},
        {"col": "__granularity", "op": "==", "val": "day"},
    ]
    (query,) = shop.core.charts.question(made, extra_filters=extra)["queries"]
    assert query["time_range"] == "2024-01-01 : 2024-02-01"
    assert query["extras"] == {"where": "1 = 1", "time_grain_orm": "P1M"}
    assert query["granularity"] == "day"
    assert "granularity_sqla" not in query
    shop.core.cache.warm_up_chart({"chart_id": made, "extra_filters": json.dumps(extra)})
    assert is_cached(shop.core, shop.core.charts.question(made, extra_filters=extra))


def test_keys_of_extra_filters_that_nobody_reads_are_refused(shop: SmallCore) -> None:
    made = chart(shop.core, context())
    for column in ("country", "__time_range"):
        with pytest.raises(PayloadSchemaError, match="'value' is no key of a filter; did you mean 'val'"):
            shop.core.charts.question(made, extra_filters=[{"col": column, "op": "==", "value": "2024"}])


def test_what_stops_a_chart_is_told_in_its_result(shop: SmallCore) -> None:
    broken = chart(shop.core, context(columns=["nothing"]))
    empty, no_object = chart(shop.core), chart(shop.core, "[1]")
    (result,) = shop.core.cache.warm_up_chart({"chart_id": broken}).result
    assert (result.viz_status, "nothing" in (result.viz_error or "")) == ("failed", True)
    (result,) = shop.core.cache.warm_up_chart({"chart_id": empty}).result
    assert "has no query_context" in (result.viz_error or "")
    (result,) = shop.core.cache.warm_up_chart({"chart_id": no_object}).result
    assert "no JSON object" in (result.viz_error or "")
    for made in (empty, no_object):
        with pytest.raises(QueryError):
            shop.core.charts.question(made)


@for_each("queries", [5, {"a": 1}, [5], [{"filters": 5, "extras": [1]}]])
def test_a_stored_context_of_any_form_fails_with_a_typed_error(shop: SmallCore, queries: Any) -> None:
    made = chart(shop.core, {**context(), "queries": queries})
    extra = '[{"col": "__time_grain", "val": "P1D"}, {"col": "country", "op": "==", "val": "x"}]'
    (result,) = shop.core.cache.warm_up_chart({"chart_id": made, "extra_filters": extra}).result
    assert result.viz_error != "the answer could not be computed"


def test_a_dataset_is_warmed_up_by_its_charts(shop: SmallCore) -> None:
    first = chart(shop.core, context())
    broken = chart(shop.core, context(columns=["nothing"]))
    second = chart(shop.core, context(columns=["day"]))
    chart(shop.core, {**context(2), "queries": [{"columns": ["name"]}]}, dataset=2)
    answer = shop.core.cache.warm_up_dataset({"db_name": "shop", "table_name": "orders"})
    assert [(one.chart_id, one.viz_status) for one in answer.result] == [
        (first, "success"),
        (broken, "failed"),
        (second, "success"),
    ]
    assert is_cached(shop.core, first)
    assert is_cached(shop.core, second)
    on = board(shop, second)
    answer = shop.core.cache.warm_up_dataset({"db_name": "shop", "table_name": "orders", "dashboard_id": on})
    assert [one.chart_id for one in answer.result] == [second]


def test_a_fault_of_a_hosts_part_stops_its_chart_only_and_is_logged_without_its_text(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Faulty(Policy):
        def require_read_chart(self, actor: Actor, chart: Chart, dataset: Dataset | None) -> None:
            if chart.slice_name == "faulty":
                raise RuntimeError("secret-of-a-row")

    with small_core(tmp_path, policy=Faulty()) as shop:
        shop.orders()
        first, second = (chart(shop.core, context(columns=[column])) for column in ("day", "country"))
        faulty = chart(shop.core, context())
        shop.core.charts.update(faulty, {"slice_name": "faulty"})
        answers = warmed(shop.core.cache.warm_up_many([first, faulty, second]))
    assert [(key, status) for key, _, status in answers] == [
        (first, "success"),
        (faulty, "failed"),
        (second, "success"),
    ]
    assert f"the warm-up of chart {faulty} ended by an unexpected RuntimeError" in caplog.text
    assert "secret-of-a-row" not in caplog.text + str(answers)


def test_a_warm_up_of_many_streams_and_survives_single_failures(shop: SmallCore) -> None:
    ids = [chart(shop.core, context()), chart(shop.core), chart(shop.core, context(columns=["day"]))]
    progress = shop.core.cache.warm_up_many([ids[0], 999, *ids[1:]])
    assert warmed([next(progress)]) == [(ids[0], None, "success")]
    assert not is_cached(shop.core, ids[2])
    rest = warmed(progress)
    assert [(key, status) for key, _, status in rest] == [(999, "failed"), (ids[1], "failed"), (ids[2], "success")]
    assert is_cached(shop.core, ids[2])
    assert [one.chart_id for one in shop.core.cache.warm_up_many()] == ids
    on = board(shop, ids[2])
    assert [one.chart_id for one in shop.core.cache.warm_up_many(dashboard_id=on)] == [ids[2]]


@pytest.mark.slow
def test_a_warm_up_of_a_hundred_charts_goes_through_all_of_them(shop: SmallCore) -> None:
    ids = [chart(shop.core, context(row_limit=number + 1) if number % 10 else None) for number in range(100)]
    progress = shop.core.cache.warm_up_many()
    assert next(progress).chart_id == ids[0]
    assert not is_cached(shop.core, ids[99])  # it is told before the others are done
    statuses = [one.viz_status for one in progress]
    assert (len(statuses), statuses.count("failed")) == (99, 9)
    assert all(is_cached(shop.core, key) for number, key in enumerate(ids) if number % 10)


def test_a_warm_up_does_not_reach_what_the_actor_may_not_read(shop: SmallCore) -> None:
    made = chart(shop.core, context())
    on = board(shop, made)
    stranger, reader = shop.reader(username="stranger"), shop.reader(("dataset", 1))
    with pytest.raises(ChartAccessError):
        stranger.cache.warm_up_chart({"chart_id": made})
    with pytest.raises(ChartAccessError):
        stranger.charts.question(made)
    with pytest.raises(DatasetAccessError):
        stranger.cache.warm_up_dataset({"db_name": "shop", "table_name": "orders"})
    assert list(stranger.cache.warm_up_many()) == []
    assert [one.viz_status for one in stranger.cache.warm_up_many([made])] == ["failed"]
    for act in (
        lambda: stranger.cache.warm_up_chart({"chart_id": made, "dashboard_id": on}),
        lambda: stranger.cache.warm_up_many(dashboard_id=on),
    ):
        with pytest.raises((ChartAccessError, DashboardAccessError)):
            act()
    assert not is_cached(reader, made)
    shop.core.dashboards.update(on, {"published": False})
    for act in (
        lambda: reader.charts.question(made, dashboard_id=on),
        lambda: reader.cache.warm_up_chart({"chart_id": made, "dashboard_id": on}),
    ):
        with pytest.raises(DashboardAccessError):
            act()


def test_wrong_requests_of_a_warm_up_are_refused_at_once(shop: SmallCore) -> None:
    made = chart(shop.core, context())
    core = shop.core
    for extra in ("{", "5", '{"a": 1}', "[5]", '[{"op": "=="}]'):
        with pytest.raises(PayloadSchemaError, match="extra_filters"):
            core.cache.warm_up_chart({"chart_id": made, "extra_filters": extra})
        with pytest.raises(PayloadSchemaError, match="extra_filters"):
            core.cache.warm_up_many([made], extra_filters=extra)
    with pytest.raises(NotFoundError):
        core.cache.warm_up_chart({"chart_id": 99})
    with pytest.raises(NotFoundError):
        core.cache.warm_up_many(dashboard_id=99)
    for name in ({"db_name": "shop", "table_name": "x"}, {"db_name": "x", "table_name": "orders"}):
        with pytest.raises(NotFoundError):
            core.cache.warm_up_dataset(name)
    (result,) = core.cache.warm_up_chart({"chart_id": made, "dashboard_id": board(shop)}).result
    assert "on dashboard" in (result.viz_error or "")

"""Which answers come from the cache, for how long, and for whom."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from tests.support.cases import for_each
from tests.support.faulty_caches import BrokenCache, HangingCache
from tests.support.many_records import statements_of
from tests.support.shop import AMOUNT, NOW, ORDERS, add_reader, ask, axis, column_put, context, hosted_core, shop_url

from analytics_core import errors
from analytics_core._core.adapters.caches import MemoryCache
from analytics_core._records.datasource import Dataset
from analytics_core._records.people import RowFilter, User
from analytics_core.testing.clock import FixedClock

QUERY: dict[str, Any] = {"columns": ["country"], "metrics": ["count", AMOUNT]}


class NotingCache:
    """A memory cache that notes what it is told to keep, and for how long."""

    def __init__(self, clock: FixedClock) -> None:
        self.retained: dict[str, bytes] = {}
        self.timeouts: list[int | None] = []
        self._cache = MemoryCache(max_bytes=10_000_000, clock=clock)

    def get(self, key: str) -> bytes | None:
        return self._cache.get(key)

    def set(self, key: str, value: bytes, *, timeout_s: int | None) -> None:
        self.retained[key] = value
        self.timeouts.append(timeout_s)
        self._cache.set(key, value, timeout_s=timeout_s)

    def delete(self, key: str) -> None:
        self._cache.delete(key)


class Countries:
    """Lets each named user see one country; who is not named sees everything."""

    def __init__(self, allowed: dict[str, str]) -> None:
        self.allowed = allowed

    def row_filters(self, user: User, dataset: Dataset) -> Sequence[RowFilter]:
        country = self.allowed.get(user.username)
        return [RowFilter(name=f"only {country}", clause=f"country = '{country}'")] if country else []


class Bench:
    """A core with a clock and a cache that can be looked at."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.clock = FixedClock(NOW)
        self.cache = NotingCache(self.clock)
        self.countries = Countries({})
        self.url = shop_url(folder)
        self.host = hosted_core(self.url, clock=self.clock, cache=self.cache, row_filters=[self.countries], **options)
        self.core = self.host.as_user("admin")

    def key(self, query: dict[str, Any] | None = None, **options: Any) -> str | None:
        return ask(self.core, query or QUERY, **options).cache_key

    def forget_orders(self) -> None:
        """Delete all orders behind the library's back."""
        with sqlite3.connect(self.url.removeprefix("sqlite:///")) as connection:
            connection.execute("DELETE FROM orders")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.host.close()


# --------------------------------------------------------------------------------------------------------- hits
def test_a_second_answer_comes_from_the_cache_and_is_the_same(bench: Bench) -> None:
    fresh = bench.core.charts.data(context(QUERY))
    fresh_csv, fresh_xlsx, fresh_payload = fresh.to_csv(), fresh.to_xlsx(), fresh.to_payload()
    bench.forget_orders()
    cached = bench.core.charts.data(context(QUERY))
    first, second = fresh.results[0], cached.results[0]
    assert (first.is_cached, second.is_cached) == (False, True)
    assert second.cached_dttm == "2025-01-01T12:00:00"
    assert cached.to_csv() == fresh_csv
    assert list(second.frame.rows()) == list(first.frame.rows())
    assert len(cached.to_xlsx()) == len(fresh_xlsx)
    cache_fields = {"is_cached": True, "cached_dttm": second.cached_dttm}
    assert {**fresh_payload["result"][0], **cache_fields} == cached.to_payload()["result"][0]


def test_the_json_of_a_hit_is_the_json_of_the_fresh_answer(bench: Bench) -> None:
    fresh = json.loads(bench.core.charts.data(context(QUERY)).to_json())["result"][0]
    cached = json.loads(bench.core.charts.data(context(QUERY)).to_json())["result"][0]
    for field in ("is_cached", "cached_dttm"):
        del fresh[field], cached[field]
    assert cached == fresh


def test_force_reads_from_the_source_and_keeps_the_new_answer(bench: Bench) -> None:
    assert ask(bench.core, QUERY).rowcount == 6
    bench.forget_orders()
    assert ask(bench.core, QUERY).rowcount == 6
    assert ask(bench.core, QUERY, force=True).rowcount == 0
    again = ask(bench.core, QUERY)
    assert (again.rowcount, again.is_cached) == (0, True)
    assert bench.core.charts.data(context(QUERY), force=True).results[0].is_cached is False


def test_errors_are_never_kept(bench: Bench) -> None:
    broken = {"metrics": [{"expressionType": "SQL", "sqlExpression": "SUM(no_such_function(id))", "label": "x"}]}
    assert bench.core.charts.data(context(broken)).results[0].error
    assert bench.core.charts.data(context({"columns": ["nope"]})).results[0].error
    assert bench.cache.retained == {}


def test_bytes_that_do_not_decode_or_belong_to_another_key_are_a_miss(bench: Bench) -> None:
    key = bench.key()
    other = bench.key({"metrics": ["count"]})
    assert key
    assert other
    for hostile in (b"", b"\x80\x04}.", bench.cache.retained[other], bench.cache.retained[key][:-1]):
        bench.cache.set(key, hostile, timeout_s=None)
        result = ask(bench.core, QUERY)
        assert (result.is_cached, result.rowcount) == (False, 6)
    assert ask(bench.core, QUERY).is_cached


# ---------------------------------------------------------------------------------------------------- parts of the key
def test_the_same_question_in_other_words_shares_a_key(bench: Bench) -> None:
    assert bench.key() == bench.key({"groupby": ["country"], "metrics": ["count", AMOUNT]})
    assert bench.key() == bench.key({**QUERY, "filters": [], "orderby": None})


@for_each(
    "change",
    [
        {"columns": ["category"]},
        {"metrics": ["count"]},
        {"row_limit": 5},
        {"row_offset": 1},
        {"orderby": [["count", True]]},
        {"filters": [{"col": "country", "op": "==", "val": "France"}]},
        {"filters": [{"col": "id", "op": ">", "val": 1}]},
        {"extras": {"where": "id > 1"}},
        {"extras": {"having": "count(*) > 1"}},
        {"granularity": "order_date", "time_range": "Last year"},
        {"is_rowcount": True},
        {"applied_time_extras": {"__time_range": "Last week"}},
    ],
)
def test_another_question_has_another_key(bench: Bench, change: dict[str, Any]) -> None:
    assert bench.key() != bench.key({**QUERY, **change})


def test_another_result_type_has_another_key(bench: Bench) -> None:
    assert bench.key() != bench.key(result_type="results")


def test_another_form_of_a_processed_result_is_another_answer(bench: Bench) -> None:
    def requested(aggregate: str) -> Any:
        form = {"viz_type": "pivot_table_v2", "groupbyRows": ["country"], "metrics": ["count"]}
        query = {"columns": ["country", "channel"], "metrics": ["count"], "row_limit": 12}
        form["aggregateFunction"] = aggregate
        return ask(bench.core, query, result_type="post_processed", form_data=form).data

    assert requested("Sum") != requested("Maximum")
    assert requested("Sum") == requested("Sum")


def test_notes_belong_to_the_payload_and_not_to_the_kept_answer(bench: Bench) -> None:
    assert ask(bench.core, {**QUERY, "colour": "red"}).notes == ("kept but not read: colour",)
    cached = ask(bench.core, QUERY)
    assert (cached.is_cached, cached.notes) == (True, ())


def test_notes_of_steps_belong_to_the_kept_answer(bench: Bench) -> None:
    axis = {
        "columnType": "BASE_AXIS",
        "expressionType": "SQL",
        "sqlExpression": "order_date",
        "label": "day",
        "timeGrain": "P1D",
    }
    options = {"time_grain": "P1D", "periods": 2, "confidence_interval": 0.8, "yearly_seasonality": True}
    query = {
        "columns": [axis],
        "metrics": ["count"],
        "row_limit": 20,
        "post_processing": [{"operation": "forecast", "options": options}],
    }
    fresh, cached = ask(bench.core, {**query, "colour": "red"}), ask(bench.core, query)
    assert (fresh.is_cached, cached.is_cached) == (False, True)
    assert [note.partition(":")[0] for note in fresh.notes] == ["kept but not read", "post_processing[0] (forecast)"]
    assert cached.notes == fresh.notes[1:]


def test_a_changed_dataset_or_database_has_another_key(bench: Bench) -> None:
    first = bench.key()
    bench.core.datasets.update(1, {"description": "changed"})
    second = bench.key()
    bench.core.databases.update(1, {"cache_timeout": 77})
    third = bench.key()
    assert len({first, second, third}) == 3
    column_put(bench.core, {"country": {"verbose_name": "Land"}})
    assert ask(bench.core, QUERY).verbose_names["country"] == "Land"


def test_a_replaced_dataset_is_another_one(bench: Bench) -> None:
    first = bench.key()
    bench.core.datasets.delete(1)
    with pytest.raises(errors.NotFoundError):
        bench.core.charts.data(context(QUERY))
    made = bench.core.datasets.create({"database": 1, "table_name": "orders"})
    assert ask(bench.core, QUERY, dataset=made.id).cache_key != first


def test_stores_that_share_a_cache_do_not_share_answers(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    clock = FixedClock(NOW)
    cache = NotingCache(clock)
    first = hosted_core(shop_url(tmp_path / "a"), clock=clock, cache=cache)
    url = shop_url(tmp_path / "b")
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        connection.execute("DELETE FROM orders WHERE country <> 'France'")
    second = hosted_core(url, clock=clock, cache=cache)
    with first, second:
        assert ask(first.as_user("admin"), QUERY).rowcount == 6
        assert ask(second.as_user("admin"), QUERY).rowcount == 1


# -------------------------------------------------------------------------------------------------- relative ranges
LAST_WEEK = {**QUERY, "granularity": "order_date", "time_range": "Last 7 days"}
LAST_SECONDS = {**QUERY, "granularity": "order_date", "time_range": "Last 90 seconds"}
TO_NOW = {**QUERY, "granularity": "order_date", "time_range": "2024-06-01 : now"}


def test_a_relative_range_is_cut_to_the_minute(bench: Bench) -> None:
    first, before = bench.key(TO_NOW), ask(bench.core, TO_NOW).to_dttm
    bench.clock.advance(timedelta(seconds=59))
    assert bench.key(TO_NOW) == first
    bench.clock.advance(timedelta(seconds=1))
    assert bench.key(TO_NOW) != first
    assert ask(bench.core, TO_NOW).to_dttm == before + 60_000


def test_a_range_that_counts_seconds_is_not_cut(bench: Bench) -> None:
    first = ask(bench.core, LAST_SECONDS)
    bench.clock.advance(timedelta(seconds=1))
    second = ask(bench.core, LAST_SECONDS)
    assert second.cache_key != first.cache_key
    assert second.from_dttm == first.from_dttm + 1_000


def test_a_second_range_that_counts_seconds_moves_too(bench: Bench) -> None:
    fragment = {"expressionType": "SQL", "sqlExpression": "order_date", "label": "other"}
    filters = [
        {"col": "order_date", "op": "TEMPORAL_RANGE", "val": "2024-01-01 : 2025-01-01"},
        {"col": "order_date", "op": "TEMPORAL_RANGE", "val": "Last 90 seconds"},
    ]
    query = {"columns": [fragment], "metrics": ["count"], "filters": filters}
    first = ask(bench.core, query).query
    bench.clock.advance(timedelta(seconds=1))
    assert ask(bench.core, query).query != first


def test_a_fixed_range_keeps_its_key_for_ever(bench: Bench) -> None:
    query = {**QUERY, "granularity": "order_date", "time_range": "2024-01-01 : 2024-02-01"}
    first = bench.key(query)
    bench.clock.advance(timedelta(days=400))
    assert bench.key(query) == first


def test_as_of_has_its_own_bounds_and_key(bench: Bench) -> None:
    now = ask(bench.core, LAST_WEEK)
    then = ask(bench.core.as_of(datetime(2024, 3, 10, 9, tzinfo=UTC)), LAST_WEEK)
    naive = ask(bench.core.as_of(datetime(2024, 3, 10, 9)), LAST_WEEK)
    assert now.to_dttm == round(datetime(2025, 1, 1, tzinfo=UTC).timestamp() * 1000)
    assert then.to_dttm == round(datetime(2024, 3, 10, tzinfo=UTC).timestamp() * 1000)
    assert then.cache_key != now.cache_key
    assert (naive.cache_key, naive.is_cached) == (then.cache_key, True)
    assert ask(bench.core, LAST_WEEK).cache_key == now.cache_key


# ----------------------------------------------------------------------------------------------------------- timeouts
def test_the_timeout_is_the_custom_one_then_the_charts_the_datasets_the_databases_the_settings(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings={"cache_timeout_s": 50})
    core, data = bench.core, context(QUERY)
    with bench.host:
        assert ask(core, QUERY).cache_timeout == 50
        core.databases.update(1, {"cache_timeout": 40})
        assert ask(core, QUERY).cache_timeout == 40
        core.datasets.update(1, {"cache_timeout": 30})
        assert ask(core, QUERY).cache_timeout == 30
        chart = core.charts.create(
            {
                "slice_name": "c",
                "datasource_id": 1,
                "datasource_type": "table",
                "query_context": json.dumps(data),
                "cache_timeout": 20,
            }
        )
        assert core.charts.data(chart.id, force=True).results[0].cache_timeout == 20
        assert ask(core, QUERY, custom_cache_timeout=10, force=True).cache_timeout == 10
        assert bench.cache.timeouts == [50, 40, 30, 20, 10]
        custom = json.dumps({**data, "custom_cache_timeout": 5})
        core.charts.update(chart.id, {"query_context": custom})
        assert core.charts.data(chart.id).results[0].cache_timeout == 5


def test_the_timeout_of_a_chart_counts_for_a_question_that_names_it(bench: Bench) -> None:
    core, source = bench.core, {"datasource_id": 1, "datasource_type": "table"}
    named = core.charts.create({"slice_name": "c", "cache_timeout": 20, **source}).id
    assert ask(core, QUERY, form_data={"slice_id": named}, force=True).cache_timeout == 20
    assert ask(core, QUERY, form_data={"slice_id": named}, custom_cache_timeout=10, force=True).cache_timeout == 10
    core.charts.update(named, {"cache_timeout": -1})
    assert ask(core, QUERY, form_data={"slice_id": named}).cache_key is None
    default = ask(core, QUERY).cache_timeout
    for other in (99, 2**70, -1, True, "1", None, [named]):
        assert ask(core, QUERY, form_data={"slice_id": other}).cache_timeout == default
    other_dataset = core.datasets.create({"database": 1, "table_name": "other", "sql": "SELECT 1 AS a"}).id
    core.charts.update(named, {"cache_timeout": 20, "datasource_id": other_dataset, "datasource_type": "table"})
    assert ask(core, QUERY, form_data={"slice_id": named}, force=True).cache_timeout == default


def test_the_timeout_of_a_chart_counts_for_no_question_that_names_a_dataset_for_each_query(bench: Bench) -> None:
    source = {"datasource_id": 1, "datasource_type": "table"}
    named = bench.core.charts.create({"slice_name": "c", "cache_timeout": 20, **source}).id
    query = {**QUERY, "datasource": {"id": 1, "type": "table"}}
    data = bench.core.charts.data({"queries": [query], "form_data": {"slice_id": named}, "force": True})
    assert data.results[0].cache_timeout == ask(bench.core, QUERY, force=True).cache_timeout


def test_a_kept_answer_is_given_without_a_look_into_the_store_however_its_chart_is_named(bench: Bench) -> None:
    core = bench.core
    source = {"datasource_id": 1, "datasource_type": "table", "query_context": json.dumps(context(QUERY))}
    named = core.charts.create({"slice_name": "c", **source}).id
    for question in (context(QUERY), named, context(QUERY, form_data={"slice_id": named})):
        core.charts.data(question)
        with statements_of(core) as seen:
            assert core.charts.data(question).results[0].is_cached
        assert seen == []
    core.charts.update(named, {"cache_timeout": 7})  # a change by the same core counts at once
    assert core.charts.data(named, force=True).results[0].cache_timeout == 7


def test_a_timeout_of_zero_never_expires(bench: Bench) -> None:
    assert ask(bench.core, QUERY, custom_cache_timeout=0).cache_timeout == 0
    assert bench.cache.timeouts == [None]
    bench.clock.advance(timedelta(days=4_000))
    assert ask(bench.core, QUERY, custom_cache_timeout=0).is_cached


def test_zero_of_a_dataset_is_a_choice_and_not_a_gap(bench: Bench) -> None:
    bench.core.databases.update(1, {"cache_timeout": 40})
    bench.core.datasets.update(1, {"cache_timeout": 0})
    assert ask(bench.core, QUERY).cache_timeout == 0


def test_minus_one_keeps_nothing_and_reads_nothing(bench: Bench) -> None:
    ask(bench.core, QUERY)
    result = ask(bench.core, QUERY, custom_cache_timeout=-1)
    assert (result.is_cached, result.cache_key) == (False, None)
    assert len(bench.cache.timeouts) == 1


def test_an_entry_is_over_when_its_time_is(bench: Bench) -> None:
    ask(bench.core, QUERY, custom_cache_timeout=60)
    bench.clock.advance(timedelta(seconds=59))
    assert ask(bench.core, QUERY, custom_cache_timeout=60).is_cached
    bench.clock.advance(timedelta(seconds=1))
    assert not ask(bench.core, QUERY, custom_cache_timeout=60).is_cached


# ------------------------------------------------------------------------------------------------------ who shares
def test_users_with_other_row_filters_never_share(bench: Bench) -> None:
    bench.countries.allowed = {"anna": "France", "bert": "Brazil"}
    anna, bert, carl = (add_reader(bench.host, name) for name in ("anna", "bert", "carl"))
    answers = [ask(user, QUERY) for user in (anna, bert, carl, bench.core)]
    assert [answer.rowcount for answer in answers] == [1, 1, 6, 6]
    assert len({answer.cache_key for answer in answers[:3]}) == 3
    again = [ask(user, QUERY) for user in (bert, anna)]
    assert [[row["country"] for row in answer.data] for answer in again] == [["Brazil"], ["France"]]
    assert all(answer.is_cached for answer in again)


def test_users_with_the_same_rows_share(bench: Bench) -> None:
    bench.countries.allowed = {"anna": "France", "bert": "France"}
    anna, bert = add_reader(bench.host, "anna"), add_reader(bench.host, "bert")
    assert ask(anna, QUERY).is_cached is False
    assert ask(bert, QUERY).is_cached is True


def test_a_rule_that_changes_while_the_core_runs_counts_at_once(bench: Bench) -> None:
    anna = add_reader(bench.host, "anna")
    assert ask(anna, QUERY).rowcount == 6
    bench.countries.allowed = {"anna": "France"}
    assert ask(anna, QUERY).rowcount == 1
    bench.countries.allowed = {}
    assert ask(anna, QUERY).rowcount == 6


def test_a_lost_grant_counts_although_the_answer_is_kept(bench: Bench) -> None:
    anna = add_reader(bench.host, "anna")
    assert ask(anna, QUERY).rowcount == 6
    bench.core.roles.revoke("readers anna", on=("database", 1))
    with pytest.raises(errors.DatasetAccessError):
        anna.charts.data(context(QUERY))


def test_where_the_database_impersonates_each_user_has_an_answer_of_their_own(tmp_path: Path) -> None:
    bench = Bench(tmp_path, database={"impersonate_user": True})
    with bench.host:
        anna, bert = add_reader(bench.host, "anna"), add_reader(bench.host, "bert")
        keys = {user.charts.explain(context(QUERY)).queries[0].cache_key for user in (anna, bert)}
        parts = anna.charts.explain(context(QUERY)).queries[0].cache_key_parts
    assert len(keys) == 2
    assert parts["identity"] == "anna"


def test_the_parts_of_the_key_are_told(bench: Bench) -> None:
    bench.countries.allowed = {"anna": "France"}
    parts = add_reader(bench.host, "anna").charts.explain(context(QUERY)).queries[0].cache_key_parts
    assert parts["rules"] == ["row rule: only France"]
    assert "version 1" in parts["dataset"]
    assert parts["identity"] is None


def test_time_offsets_are_part_of_the_key(bench: Bench) -> None:
    query = {**QUERY, "columns": [axis("P1M")], "granularity": "order_date", "time_range": "2024-01-01 : 2024-04-01"}
    keys = {bench.key({**query, "time_offsets": offsets}) for offsets in ([], ["1 year ago"], ["1 month ago"])}
    assert len(keys) == 3


def test_a_result_larger_than_the_cache_is_answered_and_not_kept(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings={"cache_max_bytes": 2_000})
    with bench.host:
        everything = {"columns": list(ORDERS[0]), "metrics": None}
        assert ask(bench.core, everything).rowcount == len(ORDERS)
        assert ask(bench.core, everything).is_cached is False


def test_an_actor_is_a_value(bench: Bench) -> None:
    anna = add_reader(bench.host, "anna")
    user = replace(bench.core.as_user("anna")._actor().user)
    assert ask(bench.host.as_user(user), QUERY).rowcount == ask(anna, QUERY).rowcount


@pytest.mark.parametrize("kind", [BrokenCache, HangingCache])
def test_no_answer_needs_the_cache(tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: type[BrokenCache]) -> None:
    cache = kind()
    with hosted_core(shop_url(tmp_path), cache=cache) as host:
        core = host.as_user("admin")
        core.databases.update(1, {"extra": '{"metadata_cache_timeout": {"table_cache_timeout": 600}}'})
        started = time.monotonic()
        for _ in range(5):
            assert ask(core, QUERY).rowcount == 6
            assert core.databases.tables(1)
        assert time.monotonic() - started < 10
    if isinstance(cache, HangingCache):
        cache.over.set()
    assert "hunter2" not in caplog.text
    assert "the cache" in caplog.text


@pytest.mark.slow
def test_one_cold_question_of_many_callers_is_one_statement(tmp_path: Path) -> None:
    with hosted_core(shop_url(tmp_path)) as host:
        core = host.as_user("admin")
        reader = add_reader(host, "reader")
        endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000000) SELECT x FROM n"
        slow = core.datasets.create({"database": 1, "table_name": "slow", "sql": endless})
        with host._runtime.content.store.unit_of_work() as unit:
            engine = host._runtime.parts.connector.engine(unit.databases.get(1))
        sent: list[str] = []
        sqlalchemy.event.listen(engine, "checkout", lambda raw, *_: raw.set_trace_callback(sent.append))
        with ThreadPoolExecutor(32) as pool:
            question = context({"metrics": ["count"]}, dataset=slow.id)
            requested = [pool.submit((core, reader)[n % 2].charts.data, question) for n in range(32)]
            counts = {answer.result().raise_for_error().results[0].data[0]["count"] for answer in requested}
        assert counts == {1_000_000}
        assert sum("RECURSIVE" in sql for sql in sent) == 1
        core.charts.data(question, force=True).raise_for_error()
        assert sum("RECURSIVE" in sql for sql in sent) == 2

"""Chart queries in the background, over real statements: states, owners, and a cancel that stops the statement."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.shop import ORDERS, add_reader, context, hosted_core, shop_url

from analytics_core import AnalyticsCore, Settings, errors
from analytics_core._records.people import User
from analytics_core.models.enums import QueryStatus
from analytics_core.models.parsing.query_context import parse_query_context
from analytics_core.models.query import ChartDataQueryContext
from analytics_core.testing import FakeRenderer
from analytics_core.testing.sample_data import make_shop

FAST: dict[str, Any] = {"metrics": ["count"]}
CROSS = "FROM orders AS a, orders AS b, orders AS c, orders AS d WHERE sin(a.id + c.id + d.id) > 2"
SLOW_SQL = {
    # Minutes of work without a cancel.
    "sqlite": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2000000000) SELECT x FROM n",
    "duckdb": f"SELECT a.id * b.id % 7 AS x {CROSS}",
    "postgresql": f"SELECT a.id AS x {CROSS}",
    "mysql": f"SELECT a.id AS x {CROSS}",
}
HARD_STOP_S = 20


def slow_dataset(core: Any, engine: str) -> int:
    """Return the id of a virtual dataset that takes minutes to read."""
    made = core.datasets.create({"database": 1, "table_name": "slow", "sql": SLOW_SQL[engine]})
    return int(made.id)


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def host(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnalyticsCore]:
    with hosted_core(shop_url(tmp_path_factory.mktemp("jobs"), engine)) as host:
        yield host


@pytest.fixture(scope="module")
def core(host: AnalyticsCore) -> AnalyticsCore:
    return host.as_user("admin")


@pytest.fixture(scope="module")
def slow(core: AnalyticsCore, engine: str) -> dict[str, Any]:
    return context({"metrics": ["count"]}, dataset=slow_dataset(core, engine))


def wait_until_running(job: Any) -> None:
    end = time.monotonic() + HARD_STOP_S
    while job.status is QueryStatus.PENDING and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.2)  # let the statement reach the database


def test_a_job_gives_the_answer_that_asking_gives(core: Any) -> None:
    job = core.charts.submit(context(FAST))
    answer = job.result(timeout_s=HARD_STOP_S)
    assert answer.raise_for_error().results[0].data == [{"count": len(ORDERS)}]
    assert job.status is QueryStatus.SUCCESS


def test_the_payload_of_a_job_is_the_contracts(core: Any) -> None:
    job = core.charts.submit(context(FAST))
    assert job.wait(HARD_STOP_S)
    payload = job.to_payload()
    assert set(payload) == {"channel_id", "job_id", "result_url", "status", "user_id"}
    assert payload["status"] == "success"
    assert payload["job_id"] in payload["result_url"]
    assert payload["user_id"] == "1"


def test_its_owner_finds_it_again_and_nobody_else(host: Any, core: Any, engine: str) -> None:
    job = core.charts.submit(context(FAST))
    assert host.as_user("admin").charts.job(job.job_id).result(HARD_STOP_S).results[0].error is None
    other = add_reader(host, "nosy")
    for key in (job.job_id, "no-such-job", ""):
        with pytest.raises(errors.JobNotFoundError):
            other.charts.job(key)


def test_a_forgotten_job_is_gone_for_its_owner_and_nobody_else(host: Any, core: Any, engine: str) -> None:
    job = core.charts.submit(context(FAST))
    assert job.wait(HARD_STOP_S)
    other = add_reader(host, "late")
    with host._runtime.content.store.unit_of_work() as unit:
        unit.jobs.delete(job._record.id)
    for find, status in (
        *((find, 410) for find in (core.charts.job, core.jobs.get, core.jobs.cancel)),
        *((find, 404) for find in (other.charts.job, other.jobs.get, other.jobs.cancel)),
    ):
        with pytest.raises(errors.JobNotFoundError, match="there is no job") as refusal:
            find(job.job_id)
        assert refusal.value.status == status
        assert isinstance(refusal.value, errors.GoneError) is (status == 410)
    with pytest.raises(errors.JobGoneError):
        job.result()


def test_a_failed_query_is_in_the_answer_of_its_job(core: Any) -> None:
    job = core.charts.submit(context({"columns": ["nope"]}, FAST))
    answer = job.result(timeout_s=HARD_STOP_S)
    assert job.status is QueryStatus.FAILED
    assert answer.results[1].data == [{"count": len(ORDERS)}]
    with pytest.raises(errors.UnknownColumnError):
        answer.raise_for_error()


def test_a_payload_that_cannot_be_read_is_refused_at_once(core: Any) -> None:
    with pytest.raises(errors.PayloadError):
        core.charts.submit({"datasource": {"id": 1, "type": "table"}, "queries": "all"})


def test_a_saved_chart_can_run_in_the_background(core: Any) -> None:
    chart = core.charts.create(
        {"slice_name": "c", "datasource_id": 1, "datasource_type": "table", "query_context": json.dumps(context(FAST))}
    )
    assert core.charts.submit(chart.id).result(timeout_s=HARD_STOP_S).results[0].data == [{"count": len(ORDERS)}]


def test_charts_are_warmed_up_in_a_job(core: Any) -> None:
    stored = {
        "datasource_id": 1,
        "datasource_type": "table",
        "query_context": json.dumps(context(FAST, {**FAST, "row_limit": 3})),
    }
    good = core.charts.create({"slice_name": "good", **stored})
    bad = core.charts.create({"slice_name": "bad", "datasource_id": 1, "datasource_type": "table"})
    job = core.cache.submit_warm_up([good.id, bad.id])
    warmed, failed = job.result(timeout_s=HARD_STOP_S)
    assert (warmed.chart_id, warmed.viz_error) == (good.id, None)
    assert "query_context" in str(failed.viz_error)
    assert all(result.is_cached for result in core.charts.data(good.id).results)
    assert core.jobs.get(job.job_id).result() == (warmed, failed)
    with pytest.raises(errors.JobNotFoundError):  # it is no chart query
        core.charts.job(job.job_id)
    with pytest.raises(errors.PayloadError):
        core.cache.submit_warm_up("all")


def test_a_cancelled_warm_up_stops_its_statement(core: Any, slow: dict[str, Any]) -> None:
    stored = {"datasource_type": "table", "datasource_id": slow["datasource"]["id"], "query_context": json.dumps(slow)}
    chart = core.charts.create({"slice_name": "slow", **stored})
    job = core.cache.submit_warm_up([chart.id])
    wait_until_running(job)
    job.cancel()
    assert job.wait(HARD_STOP_S / 2)
    assert job.state == "stopped"
    with pytest.raises(errors.StatementStoppedError):
        job.result()


ROWS_OF_ONE = {
    "columns": ["id"],
    "filters": [{"col": "id", "op": "IN", "val": np.array([1, 2])}],
    "orderby": [["id", True]],
}


@pytest.mark.parametrize("read", [dict, ChartDataQueryContext.model_validate])
def test_values_of_python_mean_the_same_in_models_and_in_the_background(core: Any, read: Any) -> None:
    requested = read(context(ROWS_OF_ONE))
    answer = core.charts.data(requested).raise_for_error()
    assert answer.results[0].data == [{"id": 1}, {"id": 2}]
    assert core.charts.submit(requested).result(timeout_s=HARD_STOP_S).results[0].data == answer.results[0].data


@pytest.mark.parametrize("value", [b"\xff", object()])
def test_what_json_cannot_say_is_refused_at_once(core: Any, value: Any) -> None:
    strange = {"col": "id", "op": "==", "val": value}
    for asking in (
        lambda: core.charts.data(context({**FAST, "filters": [strange]})),
        lambda: core.charts.submit(context({**FAST, "filters": [strange]})),
        lambda: core.charts.submit(parse_query_context(context(FAST)).model_copy(update={"form_data": {"x": value}})),
        lambda: core.cache.submit_warm_up([1], extra_filters=[strange]),
    ):
        with pytest.raises(errors.PayloadFormatError, match="which JSON cannot say"):
            asking()


def test_jobs_are_found_listed_and_stopped_by_their_owner_and_administrators(host: Any, core: Any) -> None:
    owner, other = add_reader(host, "owns a job"), add_reader(host, "owns none")
    job = owner.charts.submit(context(FAST))
    assert job.wait(HARD_STOP_S)
    assert owner.jobs.get(job.job_id).result().results[0].data == [{"count": len(ORDERS)}]
    (listed,) = owner.jobs.list().result
    assert (listed.job_id, listed.kind, listed.state, listed.user_id) == (
        job.job_id,
        "chart-data",
        "success",
        job.user_id,
    )
    assert listed.state.is_over
    # SQLite's clock, which tells when it began and ended, counts milliseconds.
    created_ms = listed.created_on.replace(microsecond=listed.created_on.microsecond // 1000 * 1000)
    assert created_ms <= listed.started_on <= listed.ended_on < listed.expires_on
    assert other.jobs.list().count == 0
    assert job.job_id in {item.job_id for item in core.jobs.list(page_size=100).result}
    core.jobs.cancel(job.job_id)  # it is over
    assert job.state == "success"
    for asking in (lambda: other.jobs.get(job.job_id), lambda: other.jobs.cancel(job.job_id)):
        with pytest.raises(errors.JobNotFoundError):
            asking()
    with pytest.raises(errors.PayloadError):
        owner.jobs.list(page_size=0)


def test_running_a_job_takes_no_actor_or_an_administrator(host: Any, core: Any) -> None:
    job = core.charts.submit(context(FAST))
    assert job.wait(HARD_STOP_S)
    for allowed in (host, core):
        allowed.run_job(job.job_id)
        allowed.run_job("no such job")
    with pytest.raises(errors.AccessError, match="administrator"):
        add_reader(host, "runs jobs").run_job(job.job_id)


def test_a_person_whom_no_worker_could_find_is_refused_a_job(host: Any) -> None:
    ghost = host.as_user(User(id=9_999, username="ghost", role_names=("Administrators",)))
    assert ghost.charts.data(context(FAST)).results[0].error is None
    with pytest.raises(errors.ActorRequiredError, match="in no directory"):
        ghost.charts.submit(context(FAST))


def test_cancel_stops_the_statement(core: Any, slow: dict[str, Any]) -> None:
    job = core.charts.submit(slow)
    wait_until_running(job)
    assert job.status is QueryStatus.RUNNING
    with pytest.raises(errors.JobError):
        job.result(timeout_s=0.05)
    job.cancel()
    assert job.wait(HARD_STOP_S)
    assert job.status is QueryStatus.STOPPED
    with pytest.raises(errors.StatementStoppedError):
        job.result().raise_for_error()


def test_cancel_stops_the_queries_that_would_come_next(core: Any, slow: dict[str, Any]) -> None:
    job = core.charts.submit({**slow, "queries": [*slow["queries"], {"metrics": ["count"], "row_limit": 7}]})
    wait_until_running(job)
    job.cancel()
    assert job.wait(HARD_STOP_S)
    assert [result.status for result in job.result().results] == [QueryStatus.STOPPED, QueryStatus.STOPPED]


def test_the_connection_serves_the_next_question_after_a_cancel(core: Any, slow: dict[str, Any]) -> None:
    job = core.charts.submit(slow)
    wait_until_running(job)
    job.cancel()
    job.cancel()
    assert job.wait(HARD_STOP_S)
    answer = core.charts.data(context(FAST), force=True).raise_for_error()
    assert answer.results[0].data == [{"count": len(ORDERS)}]


def test_a_stopped_answer_is_not_kept(core: Any, slow: dict[str, Any]) -> None:
    for _ in range(2):
        job = core.charts.submit(slow)
        wait_until_running(job)
        assert not job.is_over
        job.cancel()
        assert job.wait(HARD_STOP_S)
        assert job.status is QueryStatus.STOPPED


@pytest.mark.slow
def test_the_time_limit_stops_a_statement(engine: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    url = shop_url(tmp_path_factory.mktemp("timeout"), engine)
    with hosted_core(url, settings={"statement_timeout_s": 1.0}) as host:
        core = host.as_user("admin")
        dataset = slow_dataset(core, engine)
        data = core.charts.data(context({"metrics": ["count"]}, dataset=dataset))
        assert data.results[0].status is QueryStatus.TIMED_OUT
        with pytest.raises(errors.StatementTimeoutError):
            data.raise_for_error()
        assert core.charts.data(context(FAST)).raise_for_error().results[0].data == [{"count": len(ORDERS)}]


@pytest.mark.slow
def test_the_time_of_a_request_stops_its_statement_and_leaves_the_others_unasked(
    engine: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    url = shop_url(tmp_path_factory.mktemp("request"), engine)
    with hosted_core(url, settings={"request_timeout_s": 1.5}) as host:
        core = host.as_user("admin")
        slow = {"datasource": {"id": slow_dataset(core, engine), "type": "table"}, "metrics": ["count"]}
        requested = {**context(FAST), "queries": [FAST, slow, {**FAST, "row_limit": 7}, FAST]}
        job = core.charts.submit(requested)
        for answer in (core.charts.data(requested), job.result(HARD_STOP_S)):
            statuses = [result.status for result in answer.results]
            assert statuses == [QueryStatus.SUCCESS, *[QueryStatus.TIMED_OUT] * 3]
            failure = answer.results[1].failure
            assert isinstance(failure, errors.RequestTimeoutError)
            assert "longer than 1.5 seconds in all (Settings.request_timeout_s)" in failure.message
        assert job.status is QueryStatus.TIMED_OUT
        assert core.charts.data(context(FAST)).results[0].status is QueryStatus.SUCCESS


def test_closing_a_core_stops_its_jobs(engine: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    host = hosted_core(shop_url(tmp_path_factory.mktemp("closing"), engine))
    core = host.as_user("admin")
    job = core.charts.submit(context({"metrics": ["count"]}, dataset=slow_dataset(core, engine)))
    wait_until_running(job)
    host.close()
    assert job.status is QueryStatus.STOPPED


@pytest.mark.server
@pytest.mark.parametrize(("server", "name"), [("postgres_url", "postgresql"), ("mariadb_url", "mysql")])
def test_cancel_stops_the_statement_of_a_server(server: str, name: str, request: pytest.FixtureRequest) -> None:
    url = make_shop(request.getfixturevalue(server), days=200, orders_per_day=5)
    with hosted_core(url) as host:
        core = host.as_user("admin")
        job = core.charts.submit(context({"metrics": ["count"]}, dataset=slow_dataset(core, name)))
        wait_until_running(job)
        assert job.status is QueryStatus.RUNNING
        job.cancel()
        assert job.wait(HARD_STOP_S)
        assert job.status is QueryStatus.STOPPED


def test_a_result_is_read_as_long_as_its_key_is_a_previous_one(tmp_path: Path) -> None:
    def opened(key: str, *previous: str) -> AnalyticsCore:
        choices = Settings(secret_key=key, previous_secret_keys=previous, data_roots=(tmp_path,))
        return AnalyticsCore(choices, metadata_url=f"sqlite:///{tmp_path}/meta.db", renderer=FakeRenderer())

    old, new = "the-key-of-these-tests-5c1d", "another-key-of-these-tests-8e02"
    with opened(old) as core:
        admin = core.as_user(core.create_first_administrator("admin").id)
        admin.databases.create({"database_name": "shop", "sqlalchemy_uri": make_shop(tmp_path / "shop.db")})
        admin.datasets.create({"database": 1, "table_name": "orders"})
        admin.charts.create(
            {
                "slice_name": "c",
                "datasource_id": 1,
                "datasource_type": "table",
                "query_context": json.dumps(context(FAST)),
            }
        )
        layout = {"CHART-1": {"type": "CHART", "children": [], "meta": {"chartId": 1}}}
        admin.dashboards.create({"dashboard_title": "d", "position_json": json.dumps(layout)})
        jobs: list[Any] = [admin.charts.submit(1), admin.dashboards.submit(1), admin.charts.submit_picture(1)]
        results = [job.result(timeout_s=20) for job in jobs]
    with opened(new, old) as core:
        assert [repr(core.as_user("admin").jobs.get(job.job_id).result()) for job in jobs] == [*map(repr, results)]
        assert core.as_user("admin").jobs.get(jobs[2].job_id).result() == results[2]
    with opened(new) as core:
        for job in jobs:
            with pytest.raises(errors.StoredDataError, match="secret key"):
                core.as_user("admin").jobs.get(job.job_id).result(timeout_s=20)

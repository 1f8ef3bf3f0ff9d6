"""A server behind a proxy that stops forwarding: every answer comes at most two seconds after its limit."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.execution import MARIADB_ENDLESS, POSTGRES_ENDLESS, Target, limits, target
from tests.support.shop import context, hosted_core, shop_url
from tests.support.stalling_proxy import StallingProxy, stalling_proxy, through

from analytics_core import AnalyticsCore
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.execution.reflection import Reflector
from analytics_core.errors import (
    AnalyticsError,
    DatabaseError,
    StatementStoppedError,
    StatementTimeoutError,
    StoreUnavailableError,
)

pytestmark = pytest.mark.server

LIMIT_S = 1.0
BEYOND_S = 5.0


@dataclass(frozen=True, kw_only=True)
class Behind:
    """A database of one engine behind a proxy."""

    name: str
    shop: Target
    proxy: StallingProxy
    endless: str


@pytest.fixture(params=["postgresql", pytest.param("mysql", marks=pytest.mark.long)])
def behind(
    request: pytest.FixtureRequest,
    make_postgres_database: Callable[..., str],
    make_mariadb_database: Callable[[], str],
) -> Iterator[Behind]:
    is_postgres = request.param == "postgresql"
    url = make_postgres_database() if is_postgres else make_mariadb_database()
    port = int(url.rpartition(":")[2].partition("/")[0])
    with (
        stalling_proxy(port) as proxy,
        target(through(url, proxy), engine=request.param, statement_timeout_s=LIMIT_S) as shop,
    ):
        yield Behind(
            name=request.param,
            shop=shop,
            proxy=proxy,
            endless=POSTGRES_ENDLESS if is_postgres else MARIADB_ENDLESS,
        )


def failure_of(work: Callable[[], object], *, most_s: float = LIMIT_S + BEYOND_S) -> AnalyticsError:
    """Return the typed error of `work`, which must come in time."""
    started = time.monotonic()
    with pytest.raises(AnalyticsError) as caught:
        work()
    assert time.monotonic() - started < most_s
    return caught.value


def failures_of(*works: Callable[[], object]) -> list[AnalyticsError]:
    """Return the typed errors of works that are done at the same time, each of which must come in time."""
    with ThreadPoolExecutor(len(works)) as threads:
        return list(threads.map(failure_of, works))


def run(behind: Behind, sql: str = "SELECT 1", **options: object) -> Callable[[], object]:
    return lambda: behind.shop.run(sql, limits=limits(timeout_s=LIMIT_S), **options)  # type: ignore[arg-type]


def test_a_pooled_connection_that_hangs_is_given_up(behind: Behind) -> None:
    assert behind.shop.rows("SELECT 1") == [(1,)]
    behind.proxy.stall()
    assert isinstance(failure_of(run(behind)), StatementTimeoutError)


def test_a_server_that_takes_connections_and_says_nothing_is_given_up(behind: Behind) -> None:
    behind.proxy.stall()
    failure = failure_of(run(behind))
    assert isinstance(failure, DatabaseError)
    assert "did not answer" in failure.message


def test_a_server_that_hangs_while_a_statement_runs_is_given_up(behind: Behind) -> None:
    assert behind.shop.rows("SELECT 1") == [(1,)]  # it is connected before it hangs
    threading.Timer(0.3, behind.proxy.stall).start()
    assert isinstance(failure_of(run(behind, behind.endless)), StatementTimeoutError)


def test_a_server_that_hangs_while_rows_come_is_given_up(behind: Behind) -> None:
    rows = "generate_series(1, 9000000)" if behind.name == "postgresql" else "seq_1_to_9000000"
    most = limits(timeout_s=LIMIT_S, max_rows=10**7, max_bytes=10**10)
    threading.Timer(0.3, behind.proxy.stall).start()
    failure = failure_of(lambda: behind.shop.run(f"SELECT repeat('x', 500) FROM {rows} AS n", limits=most))
    assert isinstance(failure, DatabaseError)


@pytest.mark.parametrize("many", ["before the first rows", "between two parts"])
def test_a_stream_is_given_up_too(behind: Behind, many: str) -> None:
    rows = "generate_series(1, 20000)" if behind.name == "postgresql" else "seq_1_to_20000"
    stream = behind.shop.stream(f"SELECT repeat('x', 20000) FROM {rows} AS n", wait_s=LIMIT_S)
    if many == "between two parts":
        next(stream)
    behind.proxy.stall()
    failure = failure_of(lambda: list(stream))  # what the network holds may still come
    assert isinstance(failure, DatabaseError)


def test_a_stream_that_is_closed_is_not_waited_for_long(behind: Behind) -> None:
    rows = "generate_series(1, 20000)" if behind.name == "postgresql" else "seq_1_to_20000"
    stream = behind.shop.stream(f"SELECT repeat('x', 20000) FROM {rows} AS n", wait_s=LIMIT_S)
    next(stream)
    behind.proxy.stall()
    started = time.monotonic()
    stream.close()
    assert time.monotonic() - started < BEYOND_S
    assert behind.shop.is_returned(LIMIT_S + 3 * BEYOND_S)


def test_cancelling_is_answered_although_the_server_hangs(behind: Behind) -> None:
    assert behind.shop.rows("SELECT 1") == [(1,)]
    token = CancelToken()
    threading.Timer(0.2, behind.proxy.stall).start()
    threading.Timer(0.4, token.cancel).start()
    long = limits(timeout_s=60)
    failure = failure_of(lambda: behind.shop.run(behind.endless, limits=long, cancel=token), most_s=0.4 + BEYOND_S)
    assert isinstance(failure, StatementStoppedError)


@pytest.mark.parametrize("question", ["schemas", "tables", "functions"])
def test_reflection_ends_too(behind: Behind, question: str) -> None:
    patient, reflector = (Reflector(behind.shop.connector, timeout_s=seconds) for seconds in (60, LIMIT_S))
    assert getattr(patient, question)(behind.shop.admission) is not None
    behind.proxy.stall()
    assert isinstance(failure_of(lambda: getattr(reflector, question)(behind.shop.admission)), DatabaseError)


def test_many_callers_are_all_answered_in_time(behind: Behind) -> None:
    assert behind.shop.rows("SELECT 1") == [(1,)]
    behind.proxy.stall()
    taken: list[float] = []

    def ask() -> None:
        started = time.monotonic()
        with pytest.raises(AnalyticsError):
            run(behind)()
        taken.append(time.monotonic() - started)

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 20
    assert max(taken) < LIMIT_S + BEYOND_S


def test_a_server_that_comes_back_is_asked_again(behind: Behind) -> None:
    assert behind.shop.rows("SELECT 1") == [(1,)]
    behind.proxy.stall()
    failure_of(run(behind))
    behind.proxy.resume()
    assert behind.shop.rows("SELECT 2", limits=limits(timeout_s=20)) == [(2,)]


@pytest.mark.long
def test_a_lost_connection_puts_no_driver_text_into_the_log(behind: Behind, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    assert behind.shop.rows("SELECT 1") == [(1,)]
    behind.proxy.stall()
    failure_of(run(behind))
    failure_of(run(behind, behind.endless))
    time.sleep(LIMIT_S + BEYOND_S)  # what was given up ends by itself
    text = "\n".join(record.getMessage() for record in caplog.records if record.levelno >= logging.INFO)
    assert not any(record.exc_info for record in caplog.records)
    assert not any(word in text.lower() for word in ("127.0.0.1", "psycopg", "pymysql", "lost connection", "traceback"))


@pytest.fixture(params=["postgresql", pytest.param("mysql", marks=pytest.mark.long)])
def store_behind(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    make_postgres_database: Callable[..., str],
    make_mariadb_database: Callable[[], str],
) -> Iterator[tuple[AnalyticsCore, StallingProxy]]:
    """A core whose metadata store is behind a proxy, and whose data is a file."""
    url = make_postgres_database() if request.param == "postgresql" else make_mariadb_database()
    port = int(url.rpartition(":")[2].partition("/")[0])
    settings = {"store_timeout_s": LIMIT_S, "metadata_freshness_s": 0}
    with stalling_proxy(port) as proxy:
        host = hosted_core(shop_url(tmp_path), metadata_url=through(url, proxy), settings=settings)
        with host:
            yield host, proxy


def test_a_store_that_hangs_is_given_up_and_asked_again(
    store_behind: tuple[AnalyticsCore, StallingProxy], caplog: pytest.LogCaptureFixture
) -> None:
    host, proxy = store_behind
    core = host.as_user("admin")
    for _ in range(2):
        proxy.stall()
        failures = failures_of(
            lambda: core.datasets.get(1),
            lambda: core.datasets.update(1, {"description": "new"}),
            lambda: core.charts.data(context({"metrics": ["count"]})),
        )
        assert {type(failure) for failure in failures} == {StoreUnavailableError}
        proxy.resume()
        assert core.datasets.get(1).description is None
    records = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert not any(record.exc_info or "server" in record.getMessage().lower() for record in records)


def test_a_store_that_hangs_in_the_middle_of_a_unit_is_given_up(
    store_behind: tuple[AnalyticsCore, StallingProxy],
) -> None:
    host, proxy = store_behind

    def write() -> None:
        with host._runtime.content.store.unit_of_work() as unit:
            dataset = unit.datasets.get(1)
            proxy.stall()
            unit.datasets.update(replace(dataset, description="half"), actor_id=1)

    assert isinstance(failure_of(write), StoreUnavailableError)
    proxy.resume()
    assert host.as_user("admin").datasets.get(1).description is None


def test_jobs_on_other_databases_do_not_wait_for_one_that_hangs(behind: Behind, tmp_path: Path) -> None:
    with hosted_core(shop_url(tmp_path), settings={"job_workers": 2, "statement_timeout_s": 5.0}) as host:
        core = host.as_user("admin")
        url = behind.shop.record.uri.reveal()
        other = core.databases.create({"database_name": "behind", "orm_uri": url})
        hanging = core.datasets.create({"database": other.id, "table_name": "v", "sql": "SELECT 1 AS one"})
        core.charts.data(context({"metrics": ["count"]})).raise_for_error()  # heavy packages are loaded
        behind.proxy.stall()
        requested = [core.charts.submit(context({"columns": ["one"]}, dataset=hanging.id)) for _ in range(6)]
        started = time.monotonic()
        healthy = [core.charts.submit(context({"metrics": ["count"]}), force=True) for _ in range(6)]
        for job in healthy:
            job.result(timeout_s=4).raise_for_error()
        assert time.monotonic() - started < 4
        for job in requested:
            job.cancel()


def made_patiently(core: AnalyticsCore, payload: dict[str, Any]) -> int:
    """Return the id of a dataset; the first question of a busy machine may take longer than the limit of the tests."""
    for _ in range(10):
        with suppress(StatementTimeoutError):
            return int(core.datasets.create(payload).id)
    return int(core.datasets.create(payload).id)


@pytest.fixture
def datasets_behind(behind: Behind, tmp_path: Path) -> Iterator[tuple[AnalyticsCore, int, int]]:
    """A core over a database that may hang, and a table and a virtual dataset there."""
    with hosted_core(shop_url(tmp_path), settings={"statement_timeout_s": LIMIT_S}) as host:
        core = host.as_user("admin")
        other = core.databases.create({"database_name": "behind", "orm_uri": behind.shop.record.uri.reveal()})
        made = made_patiently(core, {"database": other.id, "table_name": "v", "sql": "SELECT 1 AS one"})
        yield core, int(other.id), made
        behind.proxy.resume()
        time.sleep(BEYOND_S)  # what was given up ends by itself


@pytest.mark.parametrize("is_pooled", [True, False])
def test_columns_of_virtual_datasets_are_asked_no_longer_than_the_limit(
    behind: Behind, datasets_behind: tuple[AnalyticsCore, int, int], is_pooled: bool
) -> None:
    core, database, made = datasets_behind
    if not is_pooled:
        core._runtime.parts.connector.dispose(database)
    new = {"database": database, "table_name": "w", "sql": "SELECT 2 AS two"}
    behind.proxy.stall()
    failures = failures_of(
        lambda: core.datasets.create(new),
        lambda: core.datasets.update(made, {"sql": "SELECT 3 AS three"}),
        lambda: core.datasets.refresh(made),
    )
    assert all(isinstance(failure, DatabaseError) for failure in failures)
    behind.proxy.resume()
    assert [column.column_name for column in core.datasets.get(made).columns or ()] == ["one"]


def test_reflection_that_hangs_between_two_questions_ends_too(
    behind: Behind, datasets_behind: tuple[AnalyticsCore, int, int]
) -> None:
    core, _, made = datasets_behind
    threading.Timer(0.2, behind.proxy.stall).start()
    failure, latest = None, time.monotonic() + 20 * LIMIT_S
    while failure is None and time.monotonic() < latest:
        started = time.monotonic()
        try:
            core.datasets.refresh(made)
        except DatabaseError as error:
            failure = error
        taken = time.monotonic() - started
    assert failure is not None  # one that hangs when its last connection goes back has its answer: the next one fails
    assert taken < LIMIT_S + BEYOND_S

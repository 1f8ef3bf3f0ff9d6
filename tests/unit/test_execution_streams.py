"""Results in parts, on SQLite and DuckDB: the same rows, few of them in memory, and the connection given back."""

from __future__ import annotations

import gc
import signal
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from tests.support.cases import for_each
from tests.support.execution import DUCKDB_ENDLESS, SQLITE_ENDLESS, Target, limits, make_sqlite_file, target

from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.engines.types import ValueKind as K
from analytics_core._engine.execution.cancel import CancelToken, Stopper
from analytics_core._engine.execution.connections import Connections
from analytics_core._engine.execution.fetching import FetchedResult
from analytics_core._engine.execution.request_budget import RequestBudget
from analytics_core._engine.execution.sessions.base import RunRequest, Session
from analytics_core._engine.execution.statements import FrameStream, Handover
from analytics_core._records.datasource import Access
from analytics_core._tools.bounded_calls import BoundedCalls, PendingCall
from analytics_core.errors import (
    AnalyticsError,
    DatabaseError,
    RequestTimeoutError,
    ResultTooLargeError,
    StatementRefusedError,
    StatementStoppedError,
    StatementTimeoutError,
)

PART = 16_384
MANY = 50_000
ENDLESS = {"sqlite": SQLITE_ENDLESS, "duckdb": DUCKDB_ENDLESS}

SQLITE_ALONE = pytest.mark.parametrize("shop", ["sqlite"], indirect=True)
"""DuckDB reads ahead in memory that it bounds itself, which is not traced, and its columns have types."""


@pytest.fixture(params=["sqlite", "duckdb"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    if request.param == "duckdb":
        url = "duckdb:///:memory:"
    else:
        url = f"sqlite:///{make_sqlite_file(tmp_path / 'shop.db', 'CREATE TABLE t (i INTEGER)')}"
    with target(url, tmp_path) as found:
        yield found


def numbers(shop: Target, count: int, columns: str = "i") -> str:
    if shop.record.engine == "duckdb":
        return f"SELECT {columns} FROM (SELECT range AS i FROM range(1, {count + 1})) AS n"
    return f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) SELECT {columns} FROM n"


def values(stream: FrameStream) -> list[Any]:
    return [row[0] for frame in stream for row in frame.rows()]


@pytest.mark.slow
@for_each("count", [1, 5, PART - 1, PART, PART + 1, 2 * PART, MANY])
def test_a_stream_has_the_rows_of_the_result(shop: Target, count: int) -> None:
    sql, most = numbers(shop, count), limits(max_rows=count)
    stream = shop.stream(sql, limits=most)
    assert values(stream) == list(range(1, count + 1))
    assert stream.fetched is not None
    assert not stream.fetched.has_more
    assert shop.is_returned()


def test_parts_are_of_some_thousand_rows(shop: Target) -> None:
    sizes = [len(frame) for frame in shop.stream(numbers(shop, MANY))]
    assert sum(sizes) == MANY
    assert max(sizes) <= PART + 2_048 * 5


def test_no_rows_are_one_frame_with_the_columns(shop: Target) -> None:
    columns = {"a": K.INTEGER, "b": K.TEXT}
    subquery = numbers(shop, 1, "i, 'x'")
    (frame,) = shop.stream(f"SELECT * FROM ({subquery}) AS q WHERE i < 0", columns=columns)
    assert (len(frame), frame.names, [column.kind for column in frame.columns]) == (0, ("a", "b"), [K.INTEGER, K.TEXT])


@for_each("most", [1, PART, 20_000])
def test_the_row_limit_cuts_and_tells(shop: Target, most: int) -> None:
    stream = shop.stream(numbers(shop, MANY), limits=limits(max_rows=most))
    assert values(stream) == list(range(1, most + 1))
    assert stream.fetched is not None
    assert stream.fetched.has_more
    assert shop.is_returned()


@SQLITE_ALONE
def test_only_one_part_is_read_ahead_of_the_consumer(shop: Target) -> None:
    stream = shop.stream(SQLITE_ENDLESS.replace("count(*)", "i"), limits=limits(max_rows=10**9))
    assert len(next(stream)) >= PART
    stream.close()
    assert shop.lent == 0


# -------------------------------------------------------------------------------------------- the connection goes back
def test_an_early_end_gives_the_connection_back_at_once(shop: Target) -> None:
    stream = shop.stream(numbers(shop, MANY))
    next(stream)
    assert shop.lent == 1
    stream.close()
    assert shop.lent == 0
    stream.close()
    assert list(stream) == []


def test_a_stream_that_nobody_holds_any_more_gives_its_connection_back(shop: Target) -> None:
    stream = shop.stream(numbers(shop, MANY))
    next(stream)
    del stream
    gc.collect()
    assert shop.is_returned()


def test_a_stream_that_nobody_ever_read_gives_its_connection_back(shop: Target) -> None:
    shop.stream(numbers(shop, MANY))
    gc.collect()
    assert shop.is_returned()


@pytest.mark.slow
def test_a_connection_serves_again_after_each_kind_of_end(shop: Target) -> None:
    for _ in range(3):
        assert len(values(shop.stream(numbers(shop, MANY)))) == MANY
        early = shop.stream(numbers(shop, MANY))
        next(early)
        early.close()
        assert shop.rows(numbers(shop, 2)) == [(1,), (2,)]


def test_an_error_in_the_middle_is_diagnosed_and_gives_the_connection_back(shop: Target) -> None:
    late = "abs(CASE WHEN i = 40000 THEN -9223372036854775807 - 1 ELSE i END)"
    if shop.record.engine == "duckdb":
        late = "CAST(CASE WHEN i = 40000 THEN 'x' ELSE CAST(i AS VARCHAR) END AS INTEGER)"
    stream = shop.stream(numbers(shop, MANY, late))
    with pytest.raises(DatabaseError) as caught:
        values(stream)
    assert caught.value.__cause__ is None
    assert shop.is_returned()
    assert list(stream) == []


def test_statements_that_do_not_read_are_refused(shop: Target) -> None:
    for hostile in ("DROP TABLE t", "CREATE TABLE other (i INTEGER)", "ATTACH 'other.db' AS other"):
        with pytest.raises((StatementRefusedError, DatabaseError)):
            next(shop.stream(hostile))
        assert shop.is_returned()


# ------------------------------------------------------------------------------------------------------------- stopping
def test_the_first_rows_must_come_in_time(shop: Target) -> None:
    started = time.monotonic()
    with pytest.raises(StatementTimeoutError) as caught:
        next(shop.stream(ENDLESS[shop.record.engine], wait_s=0.3))
    assert time.monotonic() - started < 2.3
    assert "no rows for 0.3 seconds" in caught.value.message
    assert shop.is_returned()


def test_the_time_of_the_whole_counts_the_consumers_own(shop: Target) -> None:
    stream = shop.stream(numbers(shop, MANY), limits=limits(timeout_s=0.5))
    next(stream)
    assert shop.is_returned()  # nobody asked for more, and nobody will
    with pytest.raises(StatementTimeoutError):
        list(stream)


def test_the_time_of_a_request_bounds_its_stream(shop: Target) -> None:
    budget = RequestBudget(timeout_s=0.5, statements=1, cells=1, sql_length=1)
    statement = shop._statement(numbers(shop, MANY), (), None)
    stream = shop.runner.stream(shop.admission.to_run(statement), limits=limits(), wait_s=9.0, budget=budget)
    next(stream)
    time.sleep(0.6)
    with pytest.raises(RequestTimeoutError):
        list(stream)
    assert shop.is_returned()


def test_cancelling_stops_a_stream_that_works(shop: Target) -> None:
    token = CancelToken()
    threading.Timer(0.2, token.cancel).start()
    started = time.monotonic()
    with pytest.raises(StatementStoppedError):
        next(shop.stream(ENDLESS[shop.record.engine], cancel=token))
    assert time.monotonic() - started < 2.2
    assert shop.is_returned()


def test_cancelling_stops_a_stream_that_waits_for_its_consumer(shop: Target) -> None:
    token = CancelToken()
    stream = shop.stream(numbers(shop, MANY), cancel=token)
    next(stream)
    token.cancel()
    assert shop.is_returned()
    with pytest.raises(StatementStoppedError):
        next(stream)


def test_a_token_that_was_cancelled_lets_nothing_begin(shop: Target) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(StatementStoppedError):
        next(shop.stream(numbers(shop, 1), cancel=token))


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let SIGINT interrupt this process, also where a shell started it in the background."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_a_wait_and_gives_the_connection_back(shop: Target) -> None:
    stream = shop.stream(ENDLESS[shop.record.engine])
    threading.Timer(0.3, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    assert shop.is_returned()
    assert list(stream) == []


class InterruptedCalls(BoundedCalls):
    """Starts a call, and is interrupted by Ctrl-C once it works."""

    def __init__(self, has_begun: threading.Event) -> None:
        super().__init__("interrupted")
        self._has_begun = has_begun

    def start(self, work: Callable[[], Any]) -> PendingCall[Any]:
        super().start(work)
        assert self._has_begun.wait(5)
        raise KeyboardInterrupt


@pytest.mark.parametrize("is_streamed", [False, True])
def test_ctrl_c_while_a_statement_starts_stops_it(shop: Target, is_streamed: bool) -> None:
    has_begun, most = threading.Event(), limits(timeout_s=60)

    def endless(connection: Any, session: Session, stopper: Stopper, _remaining_s: float) -> FetchedResult:
        has_begun.set()
        statement = Statement(sql=ENDLESS[shop.record.engine], parameters=(), display_sql="", labels=(), kinds=())
        return session.run(RunRequest(connection=connection, statement=statement, limits=most, stopper=stopper))

    loan = Connections(shop.connector).loan(shop.admission, endless, timeout_s=60)
    calls, token = InterruptedCalls(has_begun), CancelToken()
    begin = partial(loan.result, calls, token)
    if is_streamed:
        begin = partial(FrameStream, loan, Handover(), calls=calls, cancel=token, budget=None, late=None, wait_s=60)
    with pytest.raises(KeyboardInterrupt):
        begin()
    assert shop.is_returned()


@pytest.mark.slow
def test_a_connection_that_hangs_when_it_goes_back_is_given_up_with_a_typed_error(shop: Target) -> None:
    engine = shop.connector.engine(shop.record, identity=None, access=Access.READ)
    release = threading.Event()

    @event.listens_for(engine.pool, "reset")
    def _hang(*_context: object) -> None:
        release.wait(10)

    with pytest.raises(StatementTimeoutError):
        shop.run("SELECT 1", limits=limits(timeout_s=0.2))
    release.set()
    assert shop.is_returned()


# --------------------------------------------------------------------------------------------------------------- bounds
def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


@pytest.mark.slow
@SQLITE_ALONE
def test_what_is_in_memory_does_not_grow_with_the_result(shop: Target) -> None:
    columns = "i, 'a text of some length ' || i, i / 3.0"

    def read(count: int) -> Callable[[], None]:
        def work() -> None:
            for _ in shop.stream(numbers(shop, count, columns), limits=limits(max_rows=10**7, timeout_s=300)):
                pass

        return work

    few, many = peak(read(2 * PART)), peak(read(8 * PART))
    assert many < few * 1.3


def test_wide_rows_come_few_at_a_time(shop: Target) -> None:
    text = "printf('%.*c', 100000, 'x')" if shop.record.engine == "sqlite" else "repeat('x', 100000)"
    sizes = [len(frame) for frame in shop.stream(numbers(shop, 1_200, text))]
    assert sum(sizes) == 1_200
    assert max(sizes) <= 600


def test_a_part_beyond_the_byte_budget_is_a_typed_error(shop: Target) -> None:
    text = "printf('%.*c', 100000, 'x')" if shop.record.engine == "sqlite" else "repeat('x', 100000)"
    with pytest.raises(ResultTooLargeError):
        list(shop.stream(numbers(shop, 1_200, text), limits=limits(max_bytes=500_000)))
    assert shop.is_returned()


@SQLITE_ALONE
def test_a_column_keeps_the_kind_of_its_first_part(shop: Target) -> None:
    kinds = [
        frame.columns[0].kind
        for frame in shop.stream(numbers(shop, MANY, f"CASE WHEN i <= {PART} THEN 0.5 ELSE 1 END"))
    ]
    assert set(kinds) == {K.FLOAT}


@pytest.mark.slow
def test_many_streams_share_the_pool(shop: Target) -> None:
    found: list[int | AnalyticsError] = []

    def read() -> None:
        try:
            found.append(len(values(shop.stream(numbers(shop, MANY)))))
        except AnalyticsError as error:
            found.append(error)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [MANY] * 8
    assert shop.is_returned()

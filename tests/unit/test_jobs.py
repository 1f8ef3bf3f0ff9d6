"""Jobs have a state, an owner and a way to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pyarrow
import pytest

from analytics_core._adapters.job_runners import InlineJobRunner, ThreadJobRunner
from analytics_core._engines.types import ValueKind
from analytics_core._frames.frame import Frame, FrameColumn
from analytics_core._querying.answer import ChartData, QueryResult, failed_result
from analytics_core._querying.jobs import Job, JobBook
from analytics_core._querying.result_rows import ResultRows
from analytics_core.errors import (
    AnalyticsError,
    JobError,
    JobNotFoundError,
    QueryError,
    StatementStoppedError,
    StatementTimeoutError,
)
from analytics_core.models.enums import QueryStatus

ANSWER = ChartData(results=(QueryResult(),))


class Token:
    """A way to stop that remembers whether it was used."""

    def __init__(self) -> None:
        self.stopped = threading.Event()

    def cancel(self) -> None:
        self.stopped.set()


class HoldingRunner:
    """Keeps work until it is told to run it."""

    def __init__(self) -> None:
        self.held: list[Callable[[], None]] = []

    def submit(self, job_id: str, run: Callable[[], None], *, queue: str = "") -> None:
        self.held.append(run)

    def close(self) -> None:
        self.held.clear()


def submitted(work: Callable[[], ChartData]) -> Job:
    return JobBook(runner=InlineJobRunner()).submit(work, user_id=7, cancel=Token())


def raising(error: Exception) -> Callable[[], ChartData]:
    def work() -> ChartData:
        raise error

    return work


def test_a_job_that_ends_well_gives_its_answer() -> None:
    job = submitted(lambda: ANSWER)
    assert job.status is QueryStatus.SUCCESS
    assert job.result(timeout_s=0) is ANSWER


def test_the_payload_is_the_contracts() -> None:
    payload = submitted(lambda: ANSWER).to_payload()
    assert list(payload) == ["channel_id", "job_id", "result_url", "status", "user_id"]
    assert payload["user_id"] == "7"
    assert payload["result_url"].endswith(payload["job_id"])


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (QueryError("no"), QueryStatus.FAILED),
        (StatementTimeoutError("too long"), QueryStatus.TIMED_OUT),
        (StatementStoppedError("stopped"), QueryStatus.STOPPED),
    ],
)
def test_a_failed_job_keeps_the_original_error(error: AnalyticsError, status: QueryStatus) -> None:
    job = submitted(raising(error))
    assert job.status is status
    with pytest.raises(type(error)) as raised:
        job.result()
    assert raised.value is error


def test_an_unexpected_error_is_told_without_its_text() -> None:
    job = submitted(raising(RuntimeError("password=hunter2")))
    with pytest.raises(JobError) as raised:
        job.result()
    assert "hunter2" not in str(raised.value)


def test_an_answer_with_a_stopped_query_is_a_stopped_job_that_can_be_read() -> None:
    answer = ChartData(results=(QueryResult(), failed_result(StatementStoppedError("stopped"))))
    job = submitted(lambda: answer)
    assert job.status is QueryStatus.STOPPED
    assert job.result() is answer


def test_a_waiting_job_that_is_cancelled_never_runs() -> None:
    runner, token, ran = HoldingRunner(), Token(), []
    job = JobBook(runner=runner).submit(lambda: ran.append(1) or ANSWER, user_id=1, cancel=token)  # type: ignore[func-returns-value]
    job.cancel()
    runner.held[0]()
    assert (ran, job.status, token.stopped.is_set()) == ([], QueryStatus.STOPPED, True)


def test_a_running_job_is_stopped_through_its_token() -> None:
    token, running = Token(), threading.Event()

    def work() -> ChartData:
        running.set()
        assert token.stopped.wait(30)
        raise StatementStoppedError("stopped")

    book = JobBook(runner=ThreadJobRunner(workers=1))
    job = book.submit(work, user_id=1, cancel=token)
    assert running.wait(30)
    assert job.status is QueryStatus.RUNNING
    job.cancel()
    assert job.wait(30)
    assert job.status is QueryStatus.STOPPED
    book.close()


def test_cancelling_a_finished_job_changes_nothing() -> None:
    job = submitted(lambda: ANSWER)
    job.cancel()
    assert job.status is QueryStatus.SUCCESS


def test_a_result_that_is_not_there_yet_is_a_typed_error() -> None:
    job = JobBook(runner=HoldingRunner()).submit(lambda: ANSWER, user_id=1, cancel=Token())
    assert job.wait(0) is False
    with pytest.raises(JobError, match="not over"):
        job.result(timeout_s=0)


def test_the_owner_finds_a_job_again_by_id_as_number_or_text() -> None:
    book = JobBook(runner=InlineJobRunner())
    job = book.submit(lambda: ANSWER, user_id=7, cancel=Token())
    assert book.get(job.job_id, user_id=7) is job
    assert book.get(job.job_id, user_id="7") is job


@pytest.mark.parametrize(("owner", "reader"), [(7, 8), (7, None), (7, "07"), (None, None), (None, 7)])
def test_nobody_else_finds_a_job(owner: int | None, reader: int | str | None) -> None:
    book = JobBook(runner=InlineJobRunner())
    job = book.submit(lambda: ANSWER, user_id=owner, cancel=Token())
    with pytest.raises(JobNotFoundError):
        book.get(job.job_id, user_id=reader)


def test_an_unknown_job_is_told_like_one_of_somebody_else() -> None:
    book = JobBook(runner=InlineJobRunner())
    job = book.submit(lambda: ANSWER, user_id=7, cancel=Token())
    messages = []
    for job_id in (job.job_id, "unknown"):
        with pytest.raises(JobNotFoundError) as raised:
            book.get(job_id, user_id=8)
        messages.append(str(raised.value).replace(job_id, "ID"))
    assert messages[0] == messages[1]


def test_the_oldest_finished_jobs_are_forgotten_first() -> None:
    book = JobBook(runner=InlineJobRunner(), max_jobs=2)
    jobs = [book.submit(lambda: ANSWER, user_id=1, cancel=Token()) for _ in range(3)]
    with pytest.raises(JobNotFoundError):
        book.get(jobs[0].job_id, user_id=1)
    assert book.get(jobs[2].job_id, user_id=1) is jobs[2]


def test_a_book_full_of_unfinished_jobs_takes_no_more() -> None:
    book = JobBook(runner=HoldingRunner(), max_jobs=1)
    book.submit(lambda: ANSWER, user_id=1, cancel=Token())
    with pytest.raises(JobError, match="try again later"):
        book.submit(lambda: ANSWER, user_id=1, cancel=Token())


class RunnerAway(InlineJobRunner):
    """A host's runner whose queue cannot be reached."""

    def submit(self, job_id: str, run: Callable[[], None], *, queue: str = "") -> None:
        raise ConnectionError("amqp://host:hunter2@queue")


def test_a_job_that_no_runner_takes_is_over_and_told() -> None:
    closed = InlineJobRunner()
    closed.close()
    for runner, told in ((closed, "closed"), (RunnerAway(), "the job runner failed; try again later$")):
        book = JobBook(runner=runner, max_jobs=1)
        for _ in range(2):  # one that was still waiting would take the only place
            with pytest.raises(JobError, match=told):
                book.submit(lambda: ANSWER, user_id=1, cancel=Token())


def test_a_thread_runner_refuses_more_than_may_wait() -> None:
    runner, go_on = ThreadJobRunner(workers=1, max_waiting=1), threading.Event()
    for name in ("runs", "waits"):
        runner.submit(name, lambda: go_on.wait(30) and None)
    with pytest.raises(JobError, match="try again later"):
        runner.submit("too many", lambda: None)
    go_on.set()
    runner.close()


def test_closing_the_book_stops_what_runs() -> None:
    token = Token()

    def work() -> ChartData:
        token.stopped.wait(30)
        return ANSWER

    book = JobBook(runner=ThreadJobRunner(workers=1))
    job = book.submit(work, user_id=1, cancel=token)
    book.close()
    assert token.stopped.is_set()
    assert job.is_over


def test_no_queue_takes_all_workers() -> None:
    runner, held, done = ThreadJobRunner(workers=4), threading.Event(), threading.Event()
    started = threading.Semaphore(0)

    def hang() -> None:
        started.release()
        held.wait(20)

    for number in range(10):
        runner.submit(f"hangs {number}", hang, queue="a database that hangs")
    assert all(started.acquire(timeout=5) for _ in range(2))
    runner.submit("healthy", done.set, queue="another database")
    assert done.wait(5)
    assert not started.acquire(timeout=0.1)
    held.set()
    runner.close()


def test_what_waits_in_a_queue_runs_in_its_order_and_is_not_lost_at_the_end() -> None:
    runner, order = ThreadJobRunner(workers=2, workers_per_queue=1), list[int]()
    for number in range(50):
        runner.submit(f"job {number}", lambda number=number: order.append(number), queue="one")  # type: ignore[misc]
    runner.close()
    assert order == list(range(50))


def test_queues_take_turns_on_the_workers() -> None:
    runner, held, order = ThreadJobRunner(workers=1, workers_per_queue=1), threading.Event(), list[str]()
    runner.submit("first", lambda: held.wait(20) and None)
    for number in range(20):
        runner.submit(f"busy {number}", lambda: order.append("busy"), queue="busy")
    runner.submit("other", lambda: order.append("other"), queue="other")
    held.set()
    runner.close()
    assert order.index("other") <= 2


def answer_of(rows: int) -> ChartData:
    column = FrameColumn(name="x", kind=ValueKind.TEXT, values=["x" * 1_000 for _ in range(rows)])
    return ChartData(results=(QueryResult(held=ResultRows(Frame(columns=(column,)))),))


def test_finished_jobs_are_kept_by_bytes_the_oldest_go_first() -> None:
    book = JobBook(runner=InlineJobRunner(), max_bytes=1_000_000)
    jobs = [book.submit(lambda: answer_of(300), user_id=7, cancel=Token()) for _ in range(6)]
    small = book.submit(lambda: ANSWER, user_id=7, cancel=Token())

    def is_kept(job: Job) -> bool:
        try:
            return book.get(job.job_id, user_id=7) is job
        except JobNotFoundError:
            return False

    assert [is_kept(job) for job in jobs] == [False, False, False, True, True, True]
    huge = book.submit(lambda: answer_of(3_000), user_id=7, cancel=Token())
    assert [is_kept(job) for job in (*jobs, small, huge)] == [False] * 7 + [True]


@pytest.mark.parametrize(
    "values", [["x" * 1_000] * 5_000, [b"x" * 1_000] * 5_000, pyarrow.chunked_array([["x" * 1_000] * 5_000])]
)
def test_what_an_answer_takes_is_judged_well(values: Any) -> None:
    column = FrameColumn(name="x", kind=ValueKind.TEXT, values=values)
    held = ChartData(results=(QueryResult(held=ResultRows(Frame(columns=(column,)))),)).held_bytes
    assert 5_000_000 <= held < 5_500_000

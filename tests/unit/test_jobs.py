"""Jobs are records with a state, an owner and a way to stop; one process runs each."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.stores import open_store

from analytics_core._content.jobs.handlers import JobKind, JobOutcome, Work, new_job_id
from analytics_core._content.jobs.heartbeat import Heartbeat, is_dead
from analytics_core._content.jobs.job import Job
from analytics_core._content.jobs.registry import JobRegistry
from analytics_core._content.storage.store import SqlMetadataStore
from analytics_core._core.adapters.clock import SystemSleeper
from analytics_core._core.adapters.job_runners import InlineJobRunner, ThreadJobRunner
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.people import User
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._records.settings import Settings
from analytics_core._records.shared_state import JobRecord, JobWorker, KeyValue
from analytics_core.errors import (
    AnalyticsError,
    JobError,
    JobNotFoundError,
    QueryError,
    StaleVersionError,
    StatementStoppedError,
    StatementTimeoutError,
    StoreUnavailableError,
)
from analytics_core.models.enums import JobState, QueryStatus
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.store.records import START

OWNER = Actor(user=User(id=7, username="ann"), roles=())
DONE = JobOutcome(state=JobState.SUCCESS, data=b"42", bound="b")


def new_job(kind: JobKind) -> JobRecord:
    return JobRecord(job_id=new_job_id(), kind=kind.value, payload="{}", user_id=OWNER.id)


class Handler:
    """Runs what a test gives it, and writes `beside` as it begins; what it made is a text."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.begun: list[str] = []
        self.beside: Callable[[UnitOfWork], object] = lambda _: None
        self.may = True

    def begin(self, job: JobRecord, unit: UnitOfWork) -> Work:
        self.begun.append(job.job_id)
        self.beside(unit)
        return self.work

    def may_read(self, job: JobRecord, actor: Actor) -> bool:
        return self.may

    def read(self, job: JobRecord, data: bytes) -> str:
        return data.decode()


class HoldingRunner:
    """Keeps jobs until it is told to run them; `is_local` as a test says."""

    def __init__(self, *, is_local: bool = True) -> None:
        self.is_local = is_local
        self.retained: list[str] = []
        self.run: Callable[[str], None] = lambda _: None

    def start(self, run_job: Callable[[str], None]) -> None:
        self.run = run_job

    def submit(self, job_id: str, *, queue: str = "") -> None:
        self.retained.append(job_id)

    def close(self) -> None:
        self.retained.clear()


class Desk:
    """A book over a store in memory, and what its jobs do."""

    def __init__(self, store: SqlMetadataStore, runner: Any, work: Work, **settings: Any) -> None:
        self.store = store
        self.handler = Handler(work)
        choices = Settings(secret_key=secrets.token_urlsafe(32), **settings)
        self.book = JobRegistry(store=store, runner=runner, settings=choices, sleeper=SystemSleeper(), tracer=None)
        self.book.start({JobKind.CHART_DATA: lambda: self.handler})

    def submit(self) -> Job[str]:
        return self.job(self.book.submit(new_job(JobKind.CHART_DATA)))

    def job(self, record: JobRecord) -> Job[str]:
        return Job(self.book, record, channel_id="c", result_url=f"/{record.job_id}", find_actor=lambda: OWNER)

    def stored(self, job: Job[str]) -> JobRecord:
        with self.store.unit_of_work() as unit:
            found = unit.jobs.find(job_id=job.job_id)
        assert found is not None
        return found

    def change(self, job: Job[str], **fields: Any) -> None:
        with self.store.unit_of_work() as unit:
            unit.jobs.update(replace(self.stored(job), **fields), actor_id=None)


@pytest.fixture
def store() -> Iterator[SqlMetadataStore]:
    with open_store("sqlite://", FixedClock(START)) as store:
        yield store


@pytest.fixture
def desk(store: SqlMetadataStore) -> Iterator[Callable[..., Desk]]:
    """Make a desk; what it holds ends with the test."""
    made: list[Desk] = []

    def make(work: Work = lambda _: DONE, runner: Any = None, **settings: Any) -> Desk:
        made.append(Desk(store, InlineJobRunner() if runner is None else runner, work, **settings))
        return made[-1]

    yield make
    for at in made:
        at.book.close()


def raising(error: Exception) -> Work:
    def work(_: CancelToken) -> JobOutcome:
        raise error

    return work


def test_a_job_that_ends_well_gives_its_answer_and_keeps_it_in_the_store(desk: Any) -> None:
    at = desk()
    job = at.submit()
    assert (job.status, job.state, job.result(timeout_s=0)) == (QueryStatus.SUCCESS, JobState.SUCCESS, "42")
    assert at.job(at.book.find(job.job_id)).result() == "42"
    record = at.stored(job)
    assert (record.bound, record.result_bytes, record.error) == ("b", 2, None)
    assert record.started_on
    assert record.ended_on
    assert record.expires_on
    assert record.started_on <= record.ended_on < record.expires_on


def test_the_payload_is_the_contracts(desk: Any) -> None:
    payload = desk().submit().to_payload()
    assert list(payload) == ["channel_id", "job_id", "result_url", "status", "user_id"]
    assert (payload["user_id"], payload["result_url"]) == ("7", f"/{payload['job_id']}")


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (QueryError("no"), JobState.FAILED),
        (StatementTimeoutError("too long"), JobState.TIMED_OUT),
        (StatementStoppedError("stopped"), JobState.STOPPED),
    ],
)
def test_a_failed_job_keeps_its_error(desk: Any, error: AnalyticsError, state: JobState) -> None:
    at = desk(raising(error))
    job = at.submit()
    assert job.state is state
    with pytest.raises(type(error)) as raised:
        at.job(at.book.find(job.job_id)).result()
    assert raised.value.message == error.message


def test_an_unexpected_error_is_told_without_its_text(desk: Any) -> None:
    job = desk(raising(RuntimeError("password=hunter2"))).submit()
    with pytest.raises(JobError, match="unexpected") as raised:
        job.result()
    assert "hunter2" not in str(raised.value)


def test_an_interrupted_job_is_over(desk: Any) -> None:
    def work(_: CancelToken) -> JobOutcome:
        raise KeyboardInterrupt

    at = desk(work)
    with pytest.raises(KeyboardInterrupt):
        at.submit()
    _, (job,) = at.book.list(ListQuery())
    assert job.state is JobState.STOPPED


@pytest.mark.parametrize("is_local", [True, False])
def test_a_waiting_job_that_is_cancelled_never_runs(desk: Any, is_local: bool) -> None:
    runner = HoldingRunner(is_local=is_local)
    at = desk(runner=runner)
    job = at.submit()
    job.cancel()
    runner.run(job.job_id)
    assert (at.handler.begun, job.state) == ([], JobState.STOPPED)
    with pytest.raises(StatementStoppedError, match="before it ran"):
        job.result()


def waiting(running: threading.Event) -> Work:
    def work(cancel: CancelToken) -> JobOutcome:
        running.set()
        while not cancel.cancelled:
            threading.Event().wait(0.01)
        raise StatementStoppedError("stopped")

    return work


def test_a_running_job_is_stopped_at_once_in_its_process(desk: Any) -> None:
    running = threading.Event()
    at = desk(waiting(running), ThreadJobRunner(workers=1))
    job = at.submit()
    assert running.wait(30)
    assert job.status is QueryStatus.RUNNING
    job.cancel()
    assert job.wait(30)
    assert job.state is JobState.STOPPED
    at.book.close()


def test_a_running_job_is_stopped_by_what_another_process_wrote(desk: Any, store: SqlMetadataStore) -> None:
    running = threading.Event()
    at = desk(waiting(running), ThreadJobRunner(workers=1))
    job = at.submit()
    assert running.wait(30)
    other = desk(runner=HoldingRunner())
    other.book.cancel(job.job_id)
    assert job.wait(30)
    assert job.state is JobState.STOPPED
    at.book.close()


def test_cancelling_a_finished_job_changes_nothing(desk: Any) -> None:
    at = desk()
    job = at.submit()
    job.cancel()
    at.book.cancel(job.job_id)
    assert job.state is JobState.SUCCESS


def test_a_result_that_is_not_there_yet_is_a_typed_error(desk: Any) -> None:
    job = desk(runner=HoldingRunner()).submit()
    assert job.wait(0) is False
    with pytest.raises(JobError, match="not over"):
        job.result(timeout_s=0)


@for_each("key", ["unknown", "", None, 5, ["x"]])
def test_an_unknown_job_is_not_found(desk: Any, key: Any) -> None:
    with pytest.raises(JobNotFoundError):
        desk().book.find(key)


def test_a_job_that_two_workers_take_is_run_once(desk: Any, store: SqlMetadataStore) -> None:
    runner = HoldingRunner(is_local=False)
    at, other = desk(runner=runner), desk(runner=HoldingRunner(is_local=False))
    job = at.submit()
    for book in (other.book, at.book, other.book):
        book.run(job.job_id)
    assert (at.handler.begun, other.handler.begun) == ([], [job.job_id])
    assert job.result() == "42"


def test_a_job_of_a_kind_that_is_not_known_fails(desk: Any, store: SqlMetadataStore) -> None:
    at = desk()
    job = at.job(at.book.submit(new_job(JobKind.WARM_UP)))
    assert job.state is JobState.FAILED
    with pytest.raises(JobError, match="kind 'warm-up'"):
        job.result()


# ---------------------------------------------------------------------------------------------------------- beginning
def begin_by(first: Exception) -> Callable[[UnitOfWork], object]:
    """Return what writes a small text beside the claim of a job, and raises an error after that for the first time."""
    errors = [first]

    def beside(unit: UnitOfWork) -> None:
        unit.key_values.append(KeyValue(kind="of a test", key=str(len(errors)), value="{}"), actor_id=None)
        if errors:
            raise errors.pop()

    return beside


def written(store: SqlMetadataStore) -> list[str]:
    with store.unit_of_work() as unit:
        return [one.key for one in unit.key_values.list(ListQuery())[1]]


@pytest.mark.parametrize("error", [QueryError("no"), ValueError("unexpected")])
def test_what_a_handler_wrote_before_it_could_not_begin_is_not_stored(desk: Any, error: Exception) -> None:
    at = desk()
    at.handler.beside = begin_by(error)
    job = at.submit()
    assert (at.stored(job).state, len(at.handler.begun), written(at.store)) == (JobState.FAILED, 1, [])
    with pytest.raises(AnalyticsError, match="no" if isinstance(error, QueryError) else "unexpected error"):
        job.result()


@pytest.mark.parametrize(
    "error", [StaleVersionError("report execution", 1), StoreUnavailableError("the metadata store is restarted")]
)
def test_a_job_is_begun_anew_where_others_were_faster_or_the_store_was_away(desk: Any, error: Exception) -> None:
    at = desk()
    at.handler.beside = begin_by(error)
    job = at.submit()
    assert (job.result(), len(at.handler.begun), written(at.store)) == ("42", 2, ["0"])


@pytest.mark.parametrize("goes_elsewhere", [False, True])
def test_a_job_that_is_handed_over_again_while_it_is_claimed_is_run_unless_it_went_elsewhere(
    desk: Any, store: SqlMetadataStore, goes_elsewhere: bool
) -> None:
    runner = HoldingRunner(is_local=False)
    at = Desk(OutdatedReads(store), runner, lambda _: DONE)  # type: ignore[arg-type]
    at.store = store
    job = at.submit()
    if goes_elsewhere:
        at.change(job, state=JobState.RUNNING, worker="of another machine")
    runner.run(job.job_id)
    assert at.stored(job).state is (JobState.RUNNING if goes_elsewhere else JobState.SUCCESS)
    at.book.close()


class OutdatedReads:
    """A store whose first unit of work that reads a job to claim it sees it as it was before its last change."""

    def __init__(self, store: SqlMetadataStore) -> None:
        self._store = store
        self._is_outdated = True

    @contextmanager
    def unit_of_work(self) -> Iterator[Any]:
        with self._store.unit_of_work() as unit:
            yield SimpleNamespace(
                now=unit.now,
                jobs=SimpleNamespace(
                    find=lambda **by: self._before(unit.jobs.find(**by)),
                    update=unit.jobs.update,
                    add=unit.jobs.add,
                    list=unit.jobs.list,
                    newest=unit.jobs.newest,
                ),
                job_results=unit.job_results,
                job_workers=unit.job_workers,
            )

    def _before(self, job: JobRecord) -> JobRecord:
        if not self._is_outdated:
            return job
        self._is_outdated = False
        audit = replace(job.audit, version=job.audit.version - 1)
        return replace(job, state=JobState.PENDING, worker=None, audit=audit)


def test_a_job_waits_for_a_store_that_is_away_as_its_process_takes_it(desk: Any, store: SqlMetadataStore) -> None:
    staged, runner = StagedStore(store), HoldingRunner(is_local=False)
    at = Desk(staged, runner, lambda _: DONE)  # type: ignore[arg-type]
    job = at.submit()

    def away() -> None:
        raise StoreUnavailableError("the metadata store is restarted")

    staged.before[threading.current_thread()] = away
    runner.run(job.job_id)
    assert job.state is JobState.SUCCESS
    at.book.close()


# ------------------------------------------------------------------------------------------------------------- leases
def test_jobs_of_a_process_that_died_are_lost(desk: Any, store: SqlMetadataStore) -> None:
    at = desk(runner=HoldingRunner())
    waits, runs = at.submit(), at.submit()
    at.change(runs, state=JobState.RUNNING)
    other = desk(runner=HoldingRunner())
    assert {other.book.find(job.job_id).state for job in (waits, runs)} == {JobState.PENDING, JobState.RUNNING}
    with store.unit_of_work() as unit:
        (worker,) = unit.job_workers.list(ListQuery())[1]
        unit.job_workers.update(replace(worker, lease_until=unit.now() - timedelta(seconds=1)), actor_id=None)
    for job in (waits, runs):
        assert other.book.find(job.job_id).state is JobState.LOST
        assert other.job(at.stored(job)).status is QueryStatus.FAILED
        with pytest.raises(JobError, match="lost"):
            other.job(at.stored(job)).result()


def test_a_job_that_no_worker_takes_is_lost_in_the_end(desk: Any) -> None:
    at = desk(runner=HoldingRunner(is_local=False), job_wait_s=30)
    job = at.submit()
    assert job.state is JobState.PENDING
    with at.store.unit_of_work() as unit:
        past = unit.now() - timedelta(seconds=1)
    at.change(job, lease_until=past)
    assert job.state is JobState.LOST
    with pytest.raises(JobError, match="submit it again") as lost:
        job.result()
    assert (lost.value.code, lost.value.retryable) == ("ASYNC_WORKERS_ERROR", True)
    with pytest.raises(JobError, match=r"within 30 seconds \(Settings.job_wait_s\)"):
        job.result()


def test_what_ends_after_its_job_was_lost_changes_nothing(desk: Any) -> None:
    runner = HoldingRunner()
    at = desk(runner=runner)
    job = at.submit()

    def lost(_: CancelToken) -> JobOutcome:
        at.change(job, state=JobState.LOST, ended_on=START, error=json.dumps({"message": "lost"}))
        return DONE

    at.handler.work = lost
    runner.run(job.job_id)
    assert at.stored(job).state is JobState.LOST
    assert at.stored(job).result_bytes is None


@pytest.mark.slow
def test_the_lease_of_a_process_is_renewed_while_it_holds_jobs(desk: Any, store: SqlMetadataStore) -> None:
    at = desk(runner=HoldingRunner(), job_lease_s=1.5)
    job = at.submit()
    threading.Event().wait(2.5)
    other = desk(runner=HoldingRunner())
    assert other.book.find(job.job_id).state is JobState.PENDING
    at.book.close()


class SlowStore:
    """A store whose units of work take a while to begin."""

    def __init__(self, store: SqlMetadataStore, pause_s: float) -> None:
        self._store = store
        self._pause_s = pause_s

    def unit_of_work(self) -> Any:
        time.sleep(self._pause_s)
        return self._store.unit_of_work()


@pytest.mark.slow
def test_the_lease_holds_also_while_the_store_is_slow(store: SqlMetadataStore) -> None:
    slow: Any = SlowStore(store, pause_s=0.3)
    heartbeat = Heartbeat(slow, lease_s=3.0, stop=lambda _: None, settle=lambda: None, look_s=0.05)
    heartbeat.hold()
    end = time.monotonic() + 5
    while time.monotonic() < end:
        with store.unit_of_work() as unit:
            assert not is_dead(unit, heartbeat.token)
        time.sleep(0.05)
    heartbeat.close()


def test_a_job_that_its_process_is_handed_twice_is_held_until_it_ends(desk: Any) -> None:
    running, runner = threading.Event(), HoldingRunner(is_local=False)
    at = desk(waiting(running), runner)
    job = at.submit()
    thread = threading.Thread(target=runner.run, args=(job.job_id,))
    thread.start()
    assert running.wait(30)
    runner.run(job.job_id)
    job.cancel()
    thread.join(30)
    assert (job.state, at.handler.begun) == (JobState.STOPPED, [job.job_id])


def test_a_job_whose_end_was_not_recorded_is_lost_while_its_process_lives(desk: Any) -> None:
    at = desk(runner=HoldingRunner())
    job, other = at.submit(), at.submit()
    at.book._drop(job.job_id)
    at.book._settle_own()
    assert (at.stored(job).state, at.stored(other).state) == (JobState.LOST, JobState.PENDING)
    with pytest.raises(JobError, match="could not be recorded"):
        job.result()


@pytest.mark.parametrize("state", [JobState.PENDING, JobState.RUNNING])
def test_a_job_that_its_process_does_not_hold_any_more_is_found_as_lost(desk: Any, state: JobState) -> None:
    at = desk(runner=HoldingRunner())
    jobs = [at.submit(), at.submit()]
    for job in jobs:
        at.change(job, state=state, worker=at.book._heartbeat.token)
    at.book._drop(jobs[0].job_id)
    assert [at.book.find(job.job_id).state for job in jobs] == [JobState.LOST, state]


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_process_that_comes_back_stops_what_was_taken_from_it(desk: Any, is_gone: bool) -> None:
    running = threading.Event()
    at = desk(waiting(running), ThreadJobRunner(workers=1))
    job = at.submit()
    assert running.wait(30)
    if is_gone:
        with at.store.unit_of_work() as unit:
            unit.jobs.delete(at.stored(job).id)
    else:
        at.change(job, state=JobState.LOST, ended_on=START, error=json.dumps({"message": "lost"}))
    at.book._settle_own()
    at.book._runner.close()  # waits until it stopped
    assert at.book._jobs == {}


def test_a_job_that_is_gone_since_it_was_read_is_not_recorded_as_lost(desk: Any) -> None:
    at = desk(runner=HoldingRunner())
    job = at.submit()
    with at.store.unit_of_work() as unit:
        read = unit.jobs.find(job_id=job.job_id)
        unit.jobs.delete(read.id)
        assert at.book._ends.lose(unit, read, "its process ended") == read


class StagedStore:
    """A store that does something for a thread before its next unit of work, or after it."""

    def __init__(self, store: SqlMetadataStore) -> None:
        self._store = store
        self.before: dict[threading.Thread, Callable[[], object]] = {}
        self.after: dict[threading.Thread, Callable[[], object]] = {}

    @contextmanager
    def unit_of_work(self) -> Iterator[UnitOfWork]:
        here = threading.current_thread()
        self.before.pop(here, lambda: None)()
        with self._store.unit_of_work() as unit:
            yield unit
        self.after.pop(here, lambda: None)()


@pytest.mark.parametrize("is_listed", [True, False])
def test_a_job_that_is_claimed_during_a_look_at_what_is_held_goes_on(
    desk: Any, store: SqlMetadataStore, is_listed: bool
) -> None:
    running, done, claims, may_claim = (threading.Event() for _ in range(4))

    def work(cancel: CancelToken) -> JobOutcome:
        running.set()
        assert done.wait(30)
        return JobOutcome(state=JobState.STOPPED if cancel.cancelled else JobState.SUCCESS, data=b"")

    staged, runner = StagedStore(store), HoldingRunner(is_local=False)
    at = Desk(staged, runner, work)  # type: ignore[arg-type]
    job = at.submit()
    at.book._heartbeat.hold()
    worker, here = threading.Thread(target=runner.run, args=(job.job_id,)), threading.current_thread()
    staged.before[worker] = lambda: (claims.set(), may_claim.wait(30))
    if not is_listed:
        worker.start()
        assert claims.wait(30)

    def claim() -> None:
        if is_listed:
            worker.start()
        may_claim.set()
        assert running.wait(30)

    (staged.before if is_listed else staged.after)[here] = claim
    at.book._settle_own()
    done.set()
    worker.join(30)
    assert job.state is JobState.SUCCESS
    at.book.close()


def test_a_submission_that_is_interrupted_leaves_nothing_behind(desk: Any) -> None:
    class Interrupted(HoldingRunner):
        def submit(self, job_id: str, *, queue: str = "") -> None:
            raise KeyboardInterrupt

    at = desk(runner=Interrupted())
    with pytest.raises(KeyboardInterrupt):
        at.submit()
    assert [job.state for job in at.book.list(ListQuery())[1]] == [JobState.FAILED]
    assert at.book._jobs == {}


# -------------------------------------------------------------------------------------------------------------- room
def retained(at: Desk, jobs: list[Job[str]]) -> list[bool]:
    with at.store.unit_of_work() as unit:
        return [unit.jobs.find(job_id=job.job_id) is not None for job in jobs]


def test_expired_jobs_are_not_found_and_go_at_the_next_end(desk: Any) -> None:
    at = desk()
    first = at.submit()
    at.change(first, expires_on=START - timedelta(days=9_000))
    with pytest.raises(JobNotFoundError):
        at.book.find(first.job_id)
    at.submit()
    assert retained(at, [first]) == [False]
    with at.store.unit_of_work() as unit:
        owner = ListFilter(col="job_record_id", op="eq", val=first._record.id)
        assert unit.job_results.list(ListQuery(filters=(owner,)))[0] == 0


def test_expired_jobs_go_at_the_next_end_however_many_they_are(desk: Any, store: SqlMetadataStore) -> None:
    at, long_ago = desk(max_jobs=2), START - timedelta(days=9_000)
    old = JobRecord(job_id="", kind="k", payload="{}", user_id=1, state=JobState.FAILED, ended_on=long_ago)
    with store.unit_of_work() as unit:
        expired = [replace(old, job_id=f"old {number}", expires_on=long_ago) for number in range(250)]
        unit.jobs.append_all(expired, actor_id=None)
    last = at.submit()
    with store.unit_of_work() as unit:
        assert [job.job_id for job in unit.jobs.list(ListQuery())[1]] == [last.job_id]


def test_a_process_that_takes_its_first_job_forgets_those_that_ended_long_ago(
    desk: Any, store: SqlMetadataStore
) -> None:
    with store.unit_of_work() as unit:
        now = unit.now()
        for name, ago in (("old", timedelta(days=1, minutes=1)), ("late", timedelta(hours=23))):
            unit.job_workers.append(JobWorker(token=name, lease_until=now - ago), actor_id=None)
    desk().submit()
    with store.unit_of_work() as unit:
        tokens = {worker.token for worker in unit.job_workers.list(ListQuery())[1]}
    assert (len(tokens), "late" in tokens, "old" in tokens) == (2, True, False)


def test_results_are_kept_by_bytes_and_the_oldest_go_first(desk: Any) -> None:
    at = desk(lambda _: replace(DONE, data=b"x" * 300), jobs_max_bytes=1_000)
    jobs = [at.submit() for _ in range(6)]
    assert retained(at, jobs) == [False, False, False, True, True, True]
    at.handler.work = lambda _: replace(DONE, data=b"y" * 3_000)
    huge = at.submit()
    assert retained(at, [*jobs, huge]) == [False] * 6 + [True]
    assert huge.result() == "y" * 3_000


def test_as_many_finished_jobs_are_kept_as_may_wait(desk: Any) -> None:
    at = desk(raising(QueryError("no")), max_jobs=3)
    jobs = [at.submit() for _ in range(4)]
    at.handler.work = lambda _: DONE
    jobs += [at.submit() for _ in range(2)]
    assert retained(at, jobs) == [False, False, False, True, True, True]


def test_a_large_result_is_kept_in_parts(desk: Any) -> None:
    data = bytes(range(65, 91)) * 400_000
    job = desk(lambda _: replace(DONE, data=data)).submit()
    assert job.result() == data.decode()


def test_so_many_unfinished_jobs_take_no_more_until_one_is_lost(desk: Any) -> None:
    at = desk(runner=HoldingRunner(is_local=False), max_jobs=1)
    job = at.submit()
    with pytest.raises(JobError, match=r"Settings.max_jobs\); try again later") as rejection:
        at.submit()
    assert rejection.value.retryable
    with at.store.unit_of_work() as unit:
        past = unit.now() - timedelta(seconds=1)
    at.change(job, lease_until=past)
    at.submit()
    assert at.stored(job).state is JobState.LOST


# ------------------------------------------------------------------------------------------------------------ runners
class BrokenRunner(HoldingRunner):
    """A host's runner whose queue is away."""

    def submit(self, job_id: str, *, queue: str = "") -> None:
        raise ConnectionError("amqp://user:hunter2@queue:5672")


def test_a_job_that_no_runner_takes_is_over_and_told(desk: Any) -> None:
    at = desk(runner=BrokenRunner())
    for _ in range(3):
        with pytest.raises(JobError, match="the job runner failed") as rejection:
            at.submit()
        assert "hunter2" not in str(rejection.value)
        assert rejection.value.__cause__ is None
    assert {job.state for job in at.book.list(ListQuery())[1]} == {JobState.FAILED}
    runner = InlineJobRunner()
    at = desk(runner=runner)
    runner.close()
    with pytest.raises(JobError, match="closed"):
        at.submit()


def started(runner: ThreadJobRunner, works: dict[str, Callable[[], Any]]) -> ThreadJobRunner:
    runner.start(lambda job_id: works[job_id.split()[0]]())
    return runner


def test_a_thread_runner_refuses_more_than_may_wait() -> None:
    go_on = threading.Event()
    runner = started(ThreadJobRunner(workers=1, max_waiting=1), {"job": lambda: go_on.wait(30)})
    for name in ("job that runs", "job that waits"):
        runner.submit(name)
    with pytest.raises(JobError, match="try again later"):
        runner.submit("job too many")
    go_on.set()
    runner.close()


def test_a_runner_serves_one_core() -> None:
    runner = ThreadJobRunner(workers=1)
    with pytest.raises(JobError, match="belongs to no core"):
        runner.submit("job")
    runner.start(lambda _: None)
    with pytest.raises(JobError, match="another core"):
        runner.start(lambda _: None)


def test_closing_the_book_stops_what_runs_and_what_waits(desk: Any) -> None:
    running = threading.Event()
    at = desk(waiting(running), ThreadJobRunner(workers=1))
    runs, waits = at.submit(), at.submit()
    assert running.wait(30)
    at.book.close()
    assert (runs.state, waits.state, len(at.handler.begun)) == (JobState.STOPPED, JobState.STOPPED, 1)


def test_a_book_that_closes_begins_no_job(desk: Any) -> None:
    runner = HoldingRunner(is_local=False)
    at = desk(runner=runner)
    job = at.submit()
    at.book.close()
    runner.run(job.job_id)
    assert (at.stored(job).state, at.handler.begun) == (JobState.PENDING, [])


def test_no_queue_takes_all_workers() -> None:
    gate, done, begun = threading.Event(), threading.Event(), threading.Semaphore(0)
    works = {"hangs": lambda: (begun.release(), gate.wait(20)), "healthy": done.set}
    runner = started(ThreadJobRunner(workers=4), works)
    for number in range(10):
        runner.submit(f"hangs {number}", queue="a database that hangs")
    assert all(begun.acquire(timeout=5) for _ in range(2))
    runner.submit("healthy", queue="another database")
    assert done.wait(5)
    assert not begun.acquire(timeout=0.1)
    gate.set()
    runner.close()


def test_what_waits_in_a_queue_runs_in_its_order_and_is_not_lost_at_the_end() -> None:
    runner, order = ThreadJobRunner(workers=2, workers_per_queue=1), list[str]()
    runner.start(order.append)
    names = [f"job {number}" for number in range(50)]
    for name in names:
        runner.submit(name, queue="one")
    runner.close()
    assert order == names


def test_queues_take_turns_on_the_workers() -> None:
    gate, order = threading.Event(), list[str]()
    works = {
        "first": lambda: gate.wait(20),
        "busy": lambda: order.append("busy"),
        "other": lambda: order.append("other"),
    }
    runner = started(ThreadJobRunner(workers=1, workers_per_queue=1), works)
    runner.submit("first")
    for number in range(20):
        runner.submit(f"busy {number}", queue="busy")
    runner.submit("other", queue="other")
    gate.set()
    runner.close()
    assert order.index("other") <= 2

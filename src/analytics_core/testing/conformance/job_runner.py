"""What every `JobRunner` must keep."""

from __future__ import annotations

import threading

import pytest

from analytics_core.errors import JobError
from analytics_core.ports import JobRunner

_PATIENCE_S = 30.0


class _Jobs:
    """The jobs that were run."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self._counted = threading.Semaphore(0)

    def run(self, job_id: str) -> None:
        self.done.append(job_id)
        self._counted.release()

    def wait_for(self, count: int) -> None:
        assert all(self._counted.acquire(timeout=_PATIENCE_S) for _ in range(count))


class JobRunnerConformance:
    """Subclass it and override the fixture `runner`; for a runner that is not local, have a worker call `run_job`."""

    @pytest.fixture
    def runner(self) -> JobRunner:
        """Return the runner under test, open and not started."""
        raise NotImplementedError("override the fixture `runner`")

    def test_a_submitted_job_is_run(self, runner: JobRunner) -> None:
        """Soon, and without further calls."""
        jobs = _Jobs()
        runner.start(jobs.run)
        runner.submit("job")
        jobs.wait_for(1)
        runner.close()

    def test_close_waits_for_what_was_submitted(self, runner: JobRunner) -> None:
        """After `close` of a local runner nothing is half done."""
        jobs, names = _Jobs(), [f"job {number:02}" for number in range(20)]
        runner.start(jobs.run)
        for name in names:
            runner.submit(name)
        runner.close()
        assert not runner.is_local or sorted(jobs.done) == names

    def test_a_closed_runner_takes_no_job(self, runner: JobRunner) -> None:
        """JobError, and the job is not run."""
        jobs = _Jobs()
        runner.start(jobs.run)
        runner.close()
        with pytest.raises(JobError):
            runner.submit("job")
        assert jobs.done == []

    def test_jobs_of_every_queue_are_run(self, runner: JobRunner) -> None:
        """Whatever it is called, also a queue that was empty for a while."""
        jobs, names = _Jobs(), [f"job {number:02}" for number in range(20)]
        runner.start(jobs.run)
        for number, name in enumerate(names):
            runner.submit(name, queue=f"queue {number % 3}")
        jobs.wait_for(20)
        runner.close()
        assert sorted(jobs.done) == names

    def test_close_may_be_repeated(self, runner: JobRunner) -> None:
        """A second `close` does nothing."""
        runner.start(_Jobs().run)
        runner.close()
        runner.close()

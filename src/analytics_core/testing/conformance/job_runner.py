"""What every `JobRunner` must keep."""

from __future__ import annotations

import threading

import pytest

from analytics_core.errors import JobError
from analytics_core.ports import JobRunner

_PATIENCE_S = 30.0


class JobRunnerConformance:
    """Subclass it and override the fixture `runner`."""

    @pytest.fixture
    def runner(self) -> JobRunner:
        """Return the runner under test, open."""
        raise NotImplementedError("override the fixture `runner`")

    def test_submitted_work_is_done(self, runner: JobRunner) -> None:
        """Soon, and without further calls."""
        done = threading.Event()
        runner.submit("job", done.set)
        assert done.wait(_PATIENCE_S)
        runner.close()

    def test_close_waits_for_what_was_submitted(self, runner: JobRunner) -> None:
        """After `close` nothing is half done."""
        done: list[int] = []
        for number in range(20):
            runner.submit(f"job {number}", lambda number=number: done.append(number))  # type: ignore[misc]
        runner.close()
        assert sorted(done) == list(range(20))

    def test_a_closed_runner_takes_no_work(self, runner: JobRunner) -> None:
        """JobError, and the work is not run."""
        done: list[int] = []
        runner.close()
        with pytest.raises(JobError):
            runner.submit("job", lambda: done.append(1))
        assert done == []

    def test_work_of_every_queue_is_done(self, runner: JobRunner) -> None:
        """Whatever it is called, also a queue that was empty for a while."""
        done: list[int] = []
        for number in range(20):
            runner.submit(f"job {number}", lambda number=number: done.append(number), queue=f"queue {number % 3}")  # type: ignore[misc]
        runner.close()
        assert sorted(done) == list(range(20))

    def test_close_may_be_repeated(self, runner: JobRunner) -> None:
        """A second `close` does nothing."""
        runner.close()
        runner.close()

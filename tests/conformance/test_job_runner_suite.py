"""The library's own job runners keep the promises of the port."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.support.redis_server import RedisServer

from analytics_core._core.adapters.job_runners import InlineJobRunner, ThreadJobRunner
from analytics_core.celery import QUEUES, CeleryJobRunner
from analytics_core.testing.conformance.job_runner import JobRunnerConformance


class TestInlineJobRunner(JobRunnerConformance):
    @pytest.fixture
    def runner(self) -> InlineJobRunner:
        return InlineJobRunner()


class TestThreadJobRunner(JobRunnerConformance):
    @pytest.fixture
    def runner(self) -> ThreadJobRunner:
        return ThreadJobRunner(workers=2)


class _RunnerWithWorker(CeleryJobRunner):
    """A runner whose worker is a thread of this process, from its start on."""

    stop: Callable[[], object] = staticmethod(lambda: None)

    def start(self, run_job: Callable[[str], None]) -> None:
        from celery.contrib.testing.worker import start_worker

        super().start(run_job)
        worker = start_worker(self.app, perform_ping_check=False, queues=[*QUEUES.values(), "analytics.jobs"])
        worker.__enter__()
        self.stop = lambda: worker.__exit__(None, None, None)


@pytest.mark.slow
@pytest.mark.server
class TestCeleryJobRunner(JobRunnerConformance):
    @pytest.fixture
    def runner(self, own_redis: RedisServer) -> Iterator[CeleryJobRunner]:
        made = _RunnerWithWorker(own_redis.url)  # else messages of the test before come, too
        yield made
        made.stop()

"""The library's own job runners keep the promises of the port."""

from __future__ import annotations

import pytest

from analytics_core._core.adapters.job_runners import InlineJobRunner, ThreadJobRunner
from analytics_core.testing.conformance.job_runner import JobRunnerConformance


class TestInlineJobRunner(JobRunnerConformance):
    @pytest.fixture
    def runner(self) -> InlineJobRunner:
        return InlineJobRunner()


class TestThreadJobRunner(JobRunnerConformance):
    @pytest.fixture
    def runner(self) -> ThreadJobRunner:
        return ThreadJobRunner(workers=2)

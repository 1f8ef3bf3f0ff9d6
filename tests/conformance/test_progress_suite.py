"""The library's own ways to show progress keep the promises of the port."""

from __future__ import annotations

import pytest

from analytics_core._core.adapters.progress_bars import SilentProgress, TqdmProgress
from analytics_core.ports import Progress
from analytics_core.testing.conformance.progress import ProgressConformance


class TestSilentProgress(ProgressConformance):
    @pytest.fixture
    def progress(self) -> Progress:
        return SilentProgress()


class TestTqdmProgress(ProgressConformance):
    @pytest.fixture
    def progress(self) -> Progress:
        return TqdmProgress(is_forced=True, delay_s=0)


class TestTqdmProgressThatNoOneWatches(ProgressConformance):
    @pytest.fixture
    def progress(self) -> Progress:
        return TqdmProgress(delay_s=0)

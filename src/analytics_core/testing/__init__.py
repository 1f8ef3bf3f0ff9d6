"""Fakes, sample data, conformance suites and helpers of tests for those who build on analytics_core."""

from __future__ import annotations

from analytics_core._core.adapters.job_runners import InlineJobRunner
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.isolation import assert_isolated
from analytics_core.testing.outbox import Outbox, OutboxEntry
from analytics_core.testing.renderer import DrawnPicture, FakeRenderer

__all__ = [
    "DrawnPicture",
    "FakeRenderer",
    "FixedClock",
    "InlineJobRunner",
    "Outbox",
    "OutboxEntry",
    "assert_isolated",
]

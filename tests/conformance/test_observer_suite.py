"""The library's own observer keeps the promises of the port, and so does the guard before a host's."""

from __future__ import annotations

import pytest

from analytics_core._core.adapters.observers import GuardedObserver, LogObserver
from analytics_core.ports import Observer
from analytics_core.testing.conformance.observer import ObserverConformance


class TestLogObserver(ObserverConformance):
    @pytest.fixture
    def observer(self) -> Observer:
        return LogObserver()


class TestGuardedObserver(ObserverConformance):
    @pytest.fixture
    def observer(self) -> Observer:
        return GuardedObserver(LogObserver())

"""The library's own observers keep the promises of the port, and so do the guards before a host's."""

from __future__ import annotations

import pytest

from analytics_core._core.adapters.observers import GuardedObserver, GuardedWorkObserver, LogObserver
from analytics_core.ports import ObservationKind, Observer, WorkObserver, WorkSpan
from analytics_core.testing.conformance.observer import ObserverConformance, WorkObserverConformance


class TestLogObserver(ObserverConformance):
    @pytest.fixture
    def observer(self) -> Observer:
        return LogObserver()


class TestGuardedObserver(ObserverConformance):
    @pytest.fixture
    def observer(self) -> Observer:
        return GuardedObserver(LogObserver())


class Speechless(LogObserver):
    """Makes no spans."""

    def begin(self, kind: ObservationKind, *, traceparent: str | None = None) -> WorkSpan | None:
        return None

    def traceparent(self) -> str | None:
        return None


class TestGuardedWorkObserver(WorkObserverConformance):
    @pytest.fixture
    def observer(self) -> WorkObserver:
        return GuardedWorkObserver(Speechless())

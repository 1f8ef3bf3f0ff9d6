"""The library's own observers keep the promises of the port, and so do the guards before a host's."""

from __future__ import annotations

import pytest

from analytics_core._core.adapters.observers import GuardedObserver, GuardedWorkObserver, LogObserver
from analytics_core.otel import OpenTelemetryObserver
from analytics_core.ports import Observer, WorkObserver
from analytics_core.testing.conformance.observer import ObserverConformance, WorkObserverConformance


class TestLogObserver(ObserverConformance):
    @pytest.fixture
    def observer(self) -> Observer:
        return LogObserver()


class TestGuardedObserver(ObserverConformance):
    @pytest.fixture
    def observer(self) -> Observer:
        return GuardedObserver(LogObserver())


class TestOpenTelemetryObserver(WorkObserverConformance):
    @pytest.fixture
    def observer(self) -> WorkObserver:
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.trace import TracerProvider

        return OpenTelemetryObserver(TracerProvider(shutdown_on_exit=False), MeterProvider(shutdown_on_exit=False))


class TestOpenTelemetryObserverWithoutProviders(WorkObserverConformance):
    @pytest.fixture
    def observer(self) -> WorkObserver:
        return OpenTelemetryObserver()


class TestGuardedWorkObserver(WorkObserverConformance):
    @pytest.fixture
    def observer(self) -> WorkObserver:
        return GuardedWorkObserver(OpenTelemetryObserver())

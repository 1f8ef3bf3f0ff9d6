"""The engines of the library keep the promises of a spec."""

from __future__ import annotations

import pytest

from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core.testing.conformance.engine import EngineConformance

_REGISTRY = installed_engines(())


@pytest.mark.parametrize("name", _REGISTRY.names(), scope="class")
class TestEveryEngine(EngineConformance):
    @pytest.fixture
    def spec(self, name: str) -> EngineSpec:
        return _REGISTRY.get(name)

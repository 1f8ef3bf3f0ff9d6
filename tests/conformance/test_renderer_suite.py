"""The library's own renderer keeps the promises of the port, and so does the fake."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from analytics_core.ports import Renderer
from analytics_core.renderers import VegaRenderer
from analytics_core.testing import FakeRenderer
from analytics_core.testing.conformance.renderer import RendererConformance


@pytest.fixture(scope="module")
def one_renderer() -> Iterator[VegaRenderer]:
    made = VegaRenderer()
    yield made
    made.close()


class TestVegaRenderer(RendererConformance):
    @pytest.fixture
    def renderer(self, request: pytest.FixtureRequest) -> Iterator[Renderer]:
        if "closed" not in request.node.name:
            yield request.getfixturevalue("one_renderer")
            return
        made = VegaRenderer()
        yield made
        made.close()


class TestFakeRenderer(RendererConformance):
    @pytest.fixture
    def renderer(self) -> Renderer:
        return FakeRenderer()

    @pytest.fixture
    def wrong_specification(self) -> None:
        return None

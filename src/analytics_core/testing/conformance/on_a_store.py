"""What all suites about a `MetadataStore` need: the store, and the clock that it must use."""

from __future__ import annotations

import pytest

from analytics_core.ports import MetadataStore
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.conformance.records import START


class OnAStore:
    """Override the fixture `store`; it must use the fixture `clock` and start empty for each test."""

    @pytest.fixture
    def clock(self) -> FixedClock:
        """Return the clock that the store must use."""
        return FixedClock(START)

    @pytest.fixture
    def store(self, clock: FixedClock) -> MetadataStore:
        """Return the store under test."""
        raise NotImplementedError("override the fixture `store`")

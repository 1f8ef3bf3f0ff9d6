"""What every `Observer` must keep."""

from __future__ import annotations

import pytest

from analytics_core.ports import Observation, Observer

_ALL_KNOWN = Observation(
    actor_id=1,
    dataset_id=2,
    database_id=3,
    engine="postgresql",
    result_type="full",
    is_cached=True,
    rows=4,
    steps_ms={"prepare": 0.5, "database": 10.0, "results": 1.5, "annotations": 0.0},
    fingerprint="0123456789abcdef",
)
_NOTHING_KNOWN = Observation(
    actor_id=None, dataset_id=None, result_type="samples", steps_ms={}, error_type="GENERIC_DB_ENGINE_ERROR"
)


class ObserverConformance:
    """Subclass it and override the fixture `observer`."""

    @pytest.fixture
    def observer(self) -> Observer:
        """Return the observer under test, open."""
        raise NotImplementedError("override the fixture `observer`")

    @pytest.mark.parametrize("observation", [_ALL_KNOWN, _NOTHING_KNOWN], ids=["answered", "failed"])
    def test_it_takes_every_observation(self, observer: Observer, observation: Observation) -> None:
        """One of a cached answer, and one of a guest's question that failed before its dataset was read."""
        for _ in range(3):
            observer.observe(observation)
        observer.close()

    def test_close_may_be_repeated(self, observer: Observer) -> None:
        """A second `close` does nothing."""
        observer.close()
        observer.close()

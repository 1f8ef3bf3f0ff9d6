"""What every `Observer` must keep, and every `WorkObserver`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analytics_core.ports import Observation, ObservationKind, Observer, WorkObserver

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


_TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class WorkObserverConformance(ObserverConformance):
    """Subclass it and override the fixture `observer` with one that is a `WorkObserver`."""

    @pytest.fixture
    def observer(self) -> WorkObserver:
        """Return the observer under test, open."""
        raise NotImplementedError("override the fixture `observer`")

    def test_it_is_a_work_observer(self, observer: WorkObserver) -> None:
        """The core finds that out by its methods."""
        assert isinstance(observer, WorkObserver)

    def test_work_of_every_kind_begins_is_left_and_is_observed(self, observer: WorkObserver) -> None:
        """One inside of the other; the outer one ends last, and what was left may be observed later."""
        begun = [(kind, observer.begin(kind)) for kind in ObservationKind]
        for _, span in reversed(begun):
            if span is not None:
                span.leave()
        for kind, span in reversed(begun):
            observer.observe(replace(_NOTHING_KNOWN, kind=kind, span=span, duration_ms=1.0, waited_ms=2.0))
        observer.close()

    def test_it_observes_work_without_a_span(self, observer: WorkObserver) -> None:
        """Of work whose beginning failed, or was not begun, there is none."""
        for kind in ObservationKind:
            observer.observe(replace(_ALL_KNOWN, kind=kind, result_bytes=5))
        observer.close()

    def test_a_job_begins_in_the_trace_that_it_was_submitted_in(self, observer: WorkObserver) -> None:
        """What is present then is None, or of that trace; afterwards it is as before."""
        before = observer.traceparent()
        span = observer.begin(ObservationKind.JOB, traceparent=_TRACEPARENT)
        during = observer.traceparent()
        assert during is None or during.split("-")[1] == _TRACEPARENT.split("-")[1]
        if span is not None:
            span.leave()
        assert observer.traceparent() == before

    def test_a_traceparent_that_is_none_does_no_harm(self, observer: WorkObserver) -> None:
        """Another version of the library, or another observer, may have stored it."""
        span = observer.begin(ObservationKind.JOB, traceparent="00-not-one-01")
        if span is not None:
            span.leave()

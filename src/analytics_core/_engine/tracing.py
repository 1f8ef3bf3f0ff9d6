"""Work that is observed from its beginning, where the observer of a core hears of more than questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from time import perf_counter
from typing import Any

from analytics_core._records.audit import Observation, ObservationKind, WorkSpan
from analytics_core.errors import AnalyticsError
from analytics_core.ports import Observer, WorkObserver


class Work:
    """One piece of work under way.

    Attributes:
        facts: fields of its observation that are known so far.
        error_type: of what went wrong without being raised.
    """

    def __init__(self, observer: Observer, kind: ObservationKind, span: WorkSpan | None) -> None:
        self.span = span
        self.facts: dict[str, Any] = {}
        self.error_type: str | None = None
        self._observer, self._kind = observer, kind
        self._begun = perf_counter()
        self._is_current = True

    @property
    def duration_ms(self) -> float:
        """Milliseconds from its beginning until now."""
        return (perf_counter() - self._begun) * 1_000

    def leave(self) -> None:
        """Let nothing else be a part of this work; called in the context in which it began."""
        if self._is_current and self.span is not None:
            self._is_current = False
            with suppress(Exception):  # border: a host's own code, on which no answer depends
                self.span.leave()

    def end(self, error: BaseException | None = None) -> None:
        """Have the observer told of work that is over, by an error or without."""
        self.leave()
        if isinstance(error, AnalyticsError):
            self.error_type = error.error_type.value
        elif error is not None:  # nobody expected it
            self.error_type = type(error).__name__
        facts = {"actor_id": None, "dataset_id": None, "result_type": "", "steps_ms": {}, **self.facts}
        observation = Observation(
            kind=self._kind, span=self.span, duration_ms=self.duration_ms, error_type=self.error_type, **facts
        )
        self._observer.observe(observation)


class Tracer:
    """Begins work for an observer that hears of all of it."""

    def __init__(self, observer: WorkObserver) -> None:
        self._observer = observer

    def begin(self, kind: ObservationKind, *, traceparent: str | None = None) -> Work:
        """Begin work in the thread that does it; whoever calls sees to it that it is left there."""
        return Work(self._observer, kind, self._observer.begin(kind, traceparent=traceparent))

    @contextmanager
    def work(
        self, kind: ObservationKind, facts: Mapping[str, Any], *, traceparent: str | None = None
    ) -> Iterator[Work]:
        """Return a context in which work is done; it is observed at the end, whatever that is."""
        work = self.begin(kind, traceparent=traceparent)
        work.facts.update(facts)
        try:
            yield work
        except BaseException as error:  # whatever ends it goes on upwards
            work.end(error)
            raise
        work.end()

    def traceparent(self) -> str | None:
        """Return what a job is submitted with, so that it is a part of the present work; None: it stands alone."""
        return self._observer.traceparent()


def tracer_of(observer: Observer) -> Tracer | None:
    """Return what begins work for the observer of a core; None where it hears of questions alone."""
    return Tracer(observer) if isinstance(observer, WorkObserver) else None

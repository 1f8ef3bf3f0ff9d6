"""Spans and metrics of a core by OpenTelemetry (extra `otel`).

One span for each question, statement, sign-in to a database, job, run of a report, attempt to deliver and picture, each
a part of the work in which it began; jobs are parts of what they were submitted in, wherever they run. Neither spans
nor metrics hold a value, a text of SQL or the name of a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from analytics_core.errors import MissingExtraError
from analytics_core.ports import Observation, ObservationKind, WorkSpan

if TYPE_CHECKING:
    from contextvars import Token

    from opentelemetry.context import Context
    from opentelemetry.metrics import CallbackOptions, MeterProvider
    from opentelemetry.metrics import Observation as Measurement
    from opentelemetry.trace import Span, TracerProvider

__all__ = ["OpenTelemetryObserver"]

_SCOPE: Final = "analytics_core"
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1_800.0)
"""Bounds of the buckets of all histograms."""

_SPAN_KINDS: Final = {
    ObservationKind.STATEMENT: "CLIENT",
    ObservationKind.SIGN_IN: "CLIENT",
    ObservationKind.DELIVERY: "CLIENT",
    ObservationKind.JOB: "CONSUMER",
}
_OF_DATABASES: Final = (ObservationKind.QUESTION, ObservationKind.STATEMENT, ObservationKind.SIGN_IN)


class _Core(Protocol):
    def health(self) -> Any: ...


class _OpenSpan(WorkSpan):
    """A span that is not over, and the present one until it is left."""

    __slots__ = ("_detach", "_span", "_token")

    def __init__(self, span: Span, token: Token[Context], detach: Any) -> None:
        self._span, self._token, self._detach = span, token, detach

    def __deepcopy__(self, _memo: object) -> _OpenSpan:
        """Return itself: `dataclasses.asdict` of an observation may be asked for."""
        return self

    def leave(self) -> None:
        """Make the span before it the present one."""
        self._detach(self._token)

    def end(self, name: str, attributes: Mapping[str, Any], duration_ms: float, *, failed: Any) -> None:
        """Export the span; `failed` is the status of one that failed, else None."""
        if self._span.is_recording():
            self._span.update_name(name)
            self._span.set_attributes(attributes)
            if failed is not None:
                self._span.set_status(failed)
        start_ns = getattr(self._span, "start_time", None)  # those of other makers may not tell: they end now
        self._span.end(end_time=None if start_ns is None else start_ns + round(duration_ms * 1e6))


class OpenTelemetryObserver:
    """Makes spans and metrics of all work of a core (port `WorkObserver`).

    Spans end, and metrics are counted, in the thread of the core's observer, so exporters hold up no answer. Samplers
    and `on_start` of span processors run in the thread that does the work.

    Args:
        tracer_provider: makes the spans; None: the global one of OpenTelemetry, also where it is set later.
        meter_provider: makes the metrics; None likewise.

    Raises:
        MissingExtraError: OpenTelemetry is not installed.

    Examples:
        >>> from opentelemetry.sdk.trace import TracerProvider
        >>> from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        >>> from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        >>> from analytics_core import AnalyticsCore, Settings
        >>> from analytics_core.otel import OpenTelemetryObserver
        >>> spans, provider = InMemorySpanExporter(), TracerProvider()
        >>> provider.add_span_processor(SimpleSpanProcessor(spans))
        >>> settings = Settings(secret_key="a key of a page, no secret: 7Fq2xT")
        >>> core = AnalyticsCore(settings, observer=OpenTelemetryObserver(tracer_provider=provider))
        >>> core.close()
    """

    def __init__(
        self, tracer_provider: TracerProvider | None = None, meter_provider: MeterProvider | None = None
    ) -> None:
        try:
            from opentelemetry import context, metrics, trace
            from opentelemetry.trace.propagation import tracecontext
        except ImportError:
            raise MissingExtraError(needed_for="OpenTelemetryObserver", extra_name="otel") from None
        self._trace, self._context, self._measurement = trace, context, metrics.Observation
        self._propagator = tracecontext.TraceContextTextMapPropagator()
        self._providers = (tracer_provider, meter_provider)
        self._watched: _Core | None = None
        self._tracer = trace.get_tracer(_SCOPE, tracer_provider=tracer_provider)
        self._meter = metrics.get_meter(_SCOPE, meter_provider=meter_provider)
        self._durations = self._histogram("analytics_core.work.duration", "How long work took.")
        self._operations = self._histogram("db.client.operation.duration", "Duration of database client operations.")
        self._waits = self._histogram("analytics_core.job.wait", "How long jobs waited before they began.")
        self._lateness = self._histogram("analytics_core.report.lateness", "How late runs of reports began.")
        self._rows = self._meter.create_counter("analytics_core.rows", "{row}", "Rows of questions and statements.")
        self._bytes = self._meter.create_counter(
            "analytics_core.io", "By", "Bytes fetched by statements, of pictures and of results of jobs."
        )

    def _histogram(self, name: str, description: str) -> Any:
        return self._meter.create_histogram(name, "s", description, explicit_bucket_boundaries_advisory=_SECONDS)

    # ----------------------------------------------------------------------------------------------------------- port
    def begin(self, kind: ObservationKind, *, traceparent: str | None = None) -> WorkSpan:
        """Begin a span, and make it the present one."""
        parent = self._context.get_current()
        if traceparent is not None:
            parent = self._propagator.extract({"traceparent": traceparent}, context=self._context.Context())
        span = self._tracer.start_span(
            kind.value,
            context=parent,
            kind=self._trace.SpanKind[_SPAN_KINDS.get(kind, "INTERNAL")],
            attributes={"analytics_core.kind": kind.value},
        )
        token = self._context.attach(self._trace.set_span_in_context(span))
        return _OpenSpan(span, token, self._context.detach)

    def traceparent(self) -> str | None:
        """Return the present span as the W3C writes it."""
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier)
        return carrier.get("traceparent")

    def observe(self, observation: Observation) -> None:
        """End the span of the work, and count it."""
        labels = _labels(observation)
        duration_ms = observation.total_ms if observation.duration_ms is None else observation.duration_ms
        if isinstance(observation.span, _OpenSpan):
            failed = None if observation.error_type is None else self._trace.Status(self._trace.StatusCode.ERROR)
            attributes = {**labels, **_details(observation)}
            observation.span.end(_span_name(observation), attributes, duration_ms, failed=failed)
        self._durations.record(duration_ms / 1_000, labels)
        if observation.kind is ObservationKind.STATEMENT:
            self._operations.record(duration_ms / 1_000, _of_database(observation))
        self._count(observation)

    def _count(self, observation: Observation) -> None:
        of_kind = {"analytics_core.kind": observation.kind.value, "analytics_core.result_type": observation.result_type}
        if observation.rows is not None:
            self._rows.add(observation.rows, of_kind)
        if observation.result_bytes is not None:
            self._bytes.add(observation.result_bytes, of_kind)
        waits = {ObservationKind.JOB: self._waits, ObservationKind.REPORT: self._lateness}.get(observation.kind)
        if waits is not None and observation.waited_ms is not None:
            of_type = {"analytics_core.result_type": observation.result_type}
            waits.record(observation.waited_ms / 1_000, of_type)

    def close(self) -> None:
        """Have the providers that were handed over export what is left; they stay open, since they are the host's."""
        for provider in self._providers:
            flush = getattr(provider, "force_flush", None)
            if flush is not None:
                flush()

    # ----------------------------------------------------------------------------------------------------------- jobs
    def watch(self, core: _Core) -> None:
        """Measure how many jobs of a core's store wait, run and are lost, whenever metrics are read.

        Each time `core.health()` is asked, of the core that was named last. Processes of one store give the same
        numbers: take one of them, not the sum.
        """
        if self._watched is None:
            self._meter.create_observable_gauge(
                "analytics_core.jobs", [self._jobs], "{job}", "Jobs in the store, by their state."
            )
        self._watched = core

    def _jobs(self, _options: CallbackOptions) -> Iterable[Measurement]:
        jobs = None if self._watched is None else self._watched.health().jobs
        if jobs is None:  # the store is away
            return []
        counts = {"waiting": jobs.waiting, "running": jobs.running, "lost": jobs.lost}
        return [self._measurement(count, {"analytics_core.job.state": state}) for state, count in counts.items()]


def _labels(observation: Observation) -> dict[str, Any]:
    """Return what metrics are counted by: words of the contract and of this library, and the engine."""
    found: dict[str, Any] = {
        "analytics_core.kind": observation.kind.value,
        "analytics_core.result_type": observation.result_type,
    }
    if observation.kind is ObservationKind.QUESTION:
        found["analytics_core.cached"] = observation.is_cached
    if observation.kind in _OF_DATABASES and observation.engine is not None:
        found["db.system.name"] = observation.engine
    if observation.error_type is not None:
        found["error.type"] = observation.error_type
    return found


def _of_database(observation: Observation) -> dict[str, Any]:
    """Return what OpenTelemetry's own metric of databases is counted by."""
    found = {"db.operation.name": observation.result_type, "db.system.name": observation.engine or "other_sql"}
    return found if observation.error_type is None else {**found, "error.type": observation.error_type}


def _details(observation: Observation) -> dict[str, Any]:
    """Return what spans say beyond the labels."""
    found: dict[str, Any] = {
        "user.id": None if observation.actor_id is None else str(observation.actor_id),
        "analytics_core.dataset.id": observation.dataset_id,
        "analytics_core.database.id": observation.database_id,
        "analytics_core.fingerprint": observation.fingerprint,
        "analytics_core.rows": observation.rows,
        "analytics_core.bytes": observation.result_bytes,
        "analytics_core.waited_ms": observation.waited_ms,
        **{f"analytics_core.step.{step}_ms": ms for step, ms in observation.steps_ms.items()},
    }
    if observation.kind is ObservationKind.STATEMENT:
        found |= {"db.operation.name": observation.result_type, "db.response.returned_rows": observation.rows}
    if observation.kind is ObservationKind.JOB:
        found |= {
            "messaging.system": _SCOPE,
            "messaging.operation.type": "process",
            "messaging.operation.name": "process",
            "messaging.destination.name": observation.result_type,
        }
    return {name: value for name, value in found.items() if value is not None}


def _span_name(observation: Observation) -> str:
    if observation.kind is ObservationKind.STATEMENT:
        return f"{observation.result_type} {observation.engine or 'other_sql'}"
    kind = "process" if observation.kind is ObservationKind.JOB else observation.kind.value
    return f"{kind} {observation.result_type}".strip()

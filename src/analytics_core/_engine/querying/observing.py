"""What is observed of a question: counted and measured, never a value of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from time import perf_counter

from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.execution.request_budget import RequestBudget
from analytics_core._engine.gate.loaded_datasets import LoadedDataset
from analytics_core._engine.querying.chart_request import ChartRequest
from analytics_core._engine.results.answer import QueryResult
from analytics_core._engine.tracing import Tracer
from analytics_core._records.audit import Observation, ObservationKind
from analytics_core.errors import AnalyticsError
from analytics_core.models.enums import ResultType


class Stopwatch:
    """Measures the steps of one question, the first of which is `prepare`; its statements are a step of their own.

    `statement` and `fingerprint` are what is known of the question so far. `work` is the question where a tracer has
    it begin here; else None.
    """

    def __init__(self, budget: RequestBudget | None, tracer: Tracer | None = None) -> None:
        self.work = None if tracer is None else tracer.begin(ObservationKind.QUESTION)
        self.statement = ""
        self.fingerprint: str | None = None
        self._budget = budget
        self._steps_ms: dict[str, float] = {}
        self._step = "prepare"
        self._at = perf_counter()
        self._before_s = self._database_s = budget.database_s if budget else 0.0

    def begin(self, step: str) -> None:
        """End the step that is under way, and begin another."""
        now, database_s = perf_counter(), self._budget.database_s if self._budget else 0.0
        self._steps_ms[self._step] = max(now - self._at - (database_s - self._database_s), 0.0) * 1_000
        self._step, self._at, self._database_s = step, now, database_s

    def end(self) -> dict[str, float]:
        """End the last step and return the milliseconds of all; nothing else is a part of the question any more."""
        self.begin("")
        if self.work is not None:
            self.work.leave()
        if self._database_s > self._before_s:
            self._steps_ms["database"] = (self._database_s - self._before_s) * 1_000
        return self._steps_ms


def observed(
    result: QueryResult, result_type: ResultType, loaded: LoadedDataset, request: ChartRequest, watch: Stopwatch
) -> Observation:
    """Return the observation of a question that was answered, or failed."""
    failure, work = result.failure, watch.work
    return Observation(
        actor_id=request.actor.stored_id,
        dataset_id=loaded.dataset.id or None,  # a stored statement is no dataset
        database_id=loaded.database.id,
        engine=loaded.spec.name,
        result_type=result_type.value,
        is_cached=result.is_cached,
        rows=result.rowcount if failure is None else None,
        steps_ms=watch.end(),
        error_type=None if failure is None else failure.error_type.value,
        fingerprint=watch.fingerprint,
        duration_ms=None if work is None else work.duration_ms,
        span=None if work is None else work.span,
    )


def observed_rejection(
    error: AnalyticsError,
    dataset_id: int | None,
    result_type: ResultType,
    request: ChartRequest,
    watch: Stopwatch,
) -> Observation:
    """Return the observation of a question whose dataset could not be read."""
    watch.end()
    work = watch.work
    return Observation(
        actor_id=request.actor.stored_id,
        dataset_id=dataset_id,
        result_type=result_type.value,
        steps_ms={},
        error_type=error.error_type.value,
        duration_ms=None if work is None else work.duration_ms,
        span=None if work is None else work.span,
    )


def fingerprint_of(statements: Iterable[Statement]) -> str:
    """Return a digest of the texts of statements, in which values are bound."""
    digest = hashlib.blake2b(digest_size=12)
    for statement in statements:
        digest.update(statement.sql.encode() + b"\0")
    return digest.hexdigest()

"""Statements that are observed, each from its beginning: for cores whose observer hears of all work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.engines.costs import CostEstimates, Costs
from analytics_core._engine.execution.connections import Admission, AdmittedStatement, observed_facts
from analytics_core._engine.execution.fetching import FetchedResult, FetchLimits
from analytics_core._engine.execution.sessions.base import ScriptStatement
from analytics_core._engine.execution.statements import FrameStream, StatementRunner
from analytics_core._engine.frames.frame import Frame
from analytics_core._engine.oauth.user_tokens import UserTokens
from analytics_core._engine.tracing import Tracer, Work
from analytics_core._records.audit import ObservationKind
from analytics_core.ports import Connector

if TYPE_CHECKING:
    from analytics_core._engine.execution.budgets import BudgetLedger


class TracedFrameStream(FrameStream):
    """Frames of one result, whose end is observed; of a stream that is dropped without a word nothing is."""

    work: Work | None = None
    _rows = 0

    def __next__(self) -> Frame:
        """Return the next frame; errors as for `FrameStream`."""
        try:
            part = super().__next__()
        except StopIteration:
            self._end(None)
            raise
        except BaseException as error:  # goes on upwards
            self._end(error)
            raise
        self._rows += len(part)
        return part

    def close(self) -> None:
        """Stop reading."""
        super().close()
        self._end(None)

    def _end(self, error: BaseException | None) -> None:
        work, self.work = self.work, None
        if work is not None:
            work.facts["rows"] = None if error else self._rows
            work.end(error)


class TracedStatementRunner(StatementRunner):
    """Runs statements as `StatementRunner` does, and has the observer hear of each."""

    _frames = TracedFrameStream

    def __init__(
        self, connector: Connector, tokens: UserTokens | None, budgets: BudgetLedger | None, tracer: Tracer
    ) -> None:
        super().__init__(connector, tokens, budgets, tracer)
        self._tracer = tracer

    def run(self, admitted: AdmittedStatement, **terms: Any) -> FetchedResult:
        """Run a statement and return its rows."""
        with self._tracer.work(ObservationKind.STATEMENT, _facts(admitted.admission, "query")) as work:
            fetched = super().run(admitted, **terms)
            work.facts.update(_of_result(fetched))
            return fetched

    def run_script(
        self, admission: Admission, statements: Sequence[ScriptStatement], **terms: Any
    ) -> FetchedResult | None:
        """Run statements in one transaction, and return the rows of the last that gave some."""
        with self._tracer.work(ObservationKind.STATEMENT, _facts(admission, "script")) as work:
            fetched = super().run_script(admission, statements, **terms)
            work.facts.update({} if fetched is None else _of_result(fetched))
            return fetched

    def estimate(
        self, admission: Admission, statements: Sequence[Statement], costs: CostEstimates, *, limits: FetchLimits
    ) -> tuple[Costs, ...]:
        """Return what the engine estimates for each statement."""
        with self._tracer.work(ObservationKind.STATEMENT, _facts(admission, "estimate")):
            return super().estimate(admission, statements, costs, limits=limits)

    def stream(self, admitted: AdmittedStatement, **terms: Any) -> FrameStream:
        """Begin to run a statement and return its rows in parts; it is observed when the last one was read."""
        work = self._tracer.begin(ObservationKind.STATEMENT)
        work.facts.update(_facts(admitted.admission, "query"))
        try:
            frames = super().stream(admitted, **terms)
        except BaseException as error:  # goes on upwards
            work.end(error)
            raise
        work.leave()
        assert isinstance(frames, TracedFrameStream)  # noqa: S101 - the class says so; tells the type checker
        frames.work = work
        return frames


def _facts(admission: Admission, result_type: str) -> dict[str, Any]:
    return {**observed_facts(admission), "result_type": result_type}


def _of_result(fetched: FetchedResult) -> dict[str, Any]:
    return {"rows": len(fetched.frame), "result_bytes": fetched.fetched_bytes}

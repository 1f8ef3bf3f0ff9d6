"""Runs one statement on a user's database, whole or in parts as they are asked for: within its limits, stoppable."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.execution.cancel import CancelToken, Stopper, StopReason
from analytics_core._engine.execution.connections import (
    LATEST_S,
    Admission,
    AdmittedStatement,
    Connections,
    Failure,
    Loan,
)
from analytics_core._engine.execution.fetching import FetchedResult, FetchLimits, Give
from analytics_core._engine.execution.sessions.base import (
    RunRequest,
    ScriptRequest,
    ScriptStatement,
    Session,
    ends_stops,
)
from analytics_core._engine.frames.frame import Frame
from analytics_core._engine.oauth.user_tokens import UserTokens
from analytics_core._engine.tracing import Tracer
from analytics_core._records.datasource import Access
from analytics_core._records.settings import Settings
from analytics_core._tools.bounded_calls import BoundedCalls, PendingCall
from analytics_core.errors import AnalyticsError, DatabaseError, ErrorType, StatementTimeoutError
from analytics_core.ports import Clock, Connector, MetadataStore

if TYPE_CHECKING:
    from analytics_core._engine.engines.costs import CostEstimates, Costs
    from analytics_core._engine.execution.budgets import Allowance, BudgetLedger
    from analytics_core._engine.execution.request_budget import RequestBudget

_PATIENCE_S: Final = 0.3
"""How long a statement may take to end by itself once nobody wants more of its rows."""


def _unconfirmed(error: DatabaseError) -> DatabaseError:
    """Return the error for a commit that failed: what the database answered is no doubt, a lost connection is one."""
    if error.retryable and error.error_type is ErrorType.GENERIC_DB_ENGINE_ERROR:
        return error
    return DatabaseError(
        f"the database did not confirm that the changes are there ({error.message}); look before you run it again",
        error_type=error.error_type,
        engine=error.engine,
        retryable=False,
    )


class Handover:
    """Where the thread that reads meets the one that consumes: a part is given, and the next one waited for.

    It is all that both hold, so that a consumer who drops the stream without a word is noticed.
    """

    def __init__(self) -> None:
        self.parts: SimpleQueue[Frame | None] = SimpleQueue()  # None: something happened to the reading thread
        self._wanted: SimpleQueue[bool] = SimpleQueue()  # its `put` may be called by the garbage collector

    def ask(self) -> None:
        """Ask for the next part."""
        self._wanted.put(True)

    def leave(self) -> None:
        """Say that nobody wants more."""
        self._wanted.put(False)

    def stop(self) -> None:
        """Wake both sides."""
        self.leave()
        self.parts.put(None)

    def giving(self, stopper: Stopper, timeout_s: float) -> Give:
        """Return what gives a part and waits for the next question, at the longest until the time is over."""
        deadline = time.monotonic() + timeout_s

        def give(part: Frame) -> bool:
            self.parts.put(part)
            try:
                is_wanted = self._wanted.get(timeout=max(deadline - time.monotonic(), 0.0))
            except Empty:
                stopper.note(StopReason.TIMED_OUT)
                return False
            return is_wanted and stopper.reason is None

        return give


class FrameStream:
    """Frames of one result, in order; the columns of all have the same names.

    The connection is given back when the last row was read, `close` was called, something failed, the time was over, or
    nobody holds the stream any more. One thread at a time may use it.

    Args:
        loan: of the connection.
        handover: what the work of the loan gives its parts to.
        calls: the threads that read.
        cancel: stops the reading from any thread.
        budget: of the request, which counts the time of each part; None: nobody does.
        late: gives the error for the time of the whole; None: the loan's own tells it.
        wait_s: the seconds that each part may take; the loan's time is that of the whole.
    """

    def __init__(
        self,
        loan: Loan[FetchedResult],
        handover: Handover,
        *,
        calls: BoundedCalls,
        cancel: CancelToken,
        budget: RequestBudget | None,
        late: Callable[[], AnalyticsError] | None,
        wait_s: float,
    ) -> None:
        self._loan, self._handover, self._budget, self._wait_s = loan, handover, budget, wait_s
        self._late = late
        self._given = 0
        self._fetched: FetchedResult | None = None
        loan.stopper.on_stop(handover.stop)
        loan.stopper.watch()  # nobody waits for the end of its time while the consumer works
        cancel.attach(loan.stopper)
        try:
            self._pending: PendingCall[FetchedResult | Failure] | None = calls.start(_reading(loan, handover, cancel))
        except BaseException:  # no thread, or Ctrl-C: goes on upwards
            loan.stopper.stop(StopReason.CANCELLED)
            cancel.detach(loan.stopper)
            raise
        weakref.finalize(self, handover.leave).atexit = False

    @property
    def fetched(self) -> FetchedResult | None:
        """What is known of the whole result once its last part was read; before that, and after an early end, None."""
        return self._fetched

    def __iter__(self) -> Iterator[Frame]:
        return self

    def __next__(self) -> Frame:
        """Return the next frame; the first one may have no rows, no other one.

        Raises:
            StatementTimeoutError: it did not come in time.
            RequestTimeoutError: the time of the whole is over.
            StatementStoppedError, ResultTooLargeError, DatabaseError: as `StatementRunner.run`.
        """
        if self._pending is None:
            raise StopIteration
        if self._given:  # the first one is read unasked
            self._handover.ask()
        started = time.perf_counter()
        try:
            part = self._next(self._pending)
        except Exception:  # what became of the reading; it goes on upwards
            self._give_up()
            raise
        except BaseException:  # Ctrl-C: goes on upwards
            self._pending, pending = None, self._pending
            self._loan.interrupt(pending)
            raise
        finally:
            if self._budget:
                self._budget.end_statement(time.perf_counter() - started)
        if part is None:
            raise StopIteration
        self._given += 1
        return part

    def close(self) -> None:
        """Stop reading and give the connection back; nothing happens when that was done already."""
        pending = self._pending
        if pending is None:
            return
        self._handover.leave()
        try:
            if not pending.wait(_PATIENCE_S):
                self._loan.stopper.stop(StopReason.CANCELLED)
                pending.wait(LATEST_S)
        finally:
            self._give_up()

    def _next(self, pending: PendingCall[FetchedResult | Failure]) -> Frame | None:
        """Return the next part; None when there are no more."""
        part, is_late, rest_s = None, False, self._loan.remaining_s
        try:
            part = self._handover.parts.get(timeout=max(min(self._wait_s, rest_s), 0.0))
        except Empty:
            is_late = self._wait_s < rest_s
            self._loan.stopper.stop(StopReason.TIMED_OUT)
        if part is not None:
            return part
        # The reading has ended, or it is stopped and about to end.
        outcome = pending.result() if pending.wait(LATEST_S) else self._loan.given_up()
        if isinstance(outcome, Failure):
            outcome = replace(outcome, error=self._with_origin(outcome.error, is_late=is_late))
            raise self._loan.to_error(outcome)
        self._fetched, self._pending = outcome, None
        return self._fetched.frame if len(self._fetched.frame) or not self._given else None

    def _with_origin(self, error: AnalyticsError, *, is_late: bool) -> AnalyticsError:
        """Return the error; one for a time limit tells whose that was."""
        if is_late:
            return self._loan.timeout_error(self._wait_s, what="gave no rows for")
        return self._late() if self._late and isinstance(error, StatementTimeoutError) else error

    def _give_up(self) -> None:
        self._pending = None
        self._loan.stopper.stop(StopReason.CANCELLED)  # nothing, when it is over


def _reading(
    loan: Loan[FetchedResult], handover: Handover, cancel: CancelToken
) -> Callable[[], FetchedResult | Failure]:
    def outcome() -> FetchedResult | Failure:
        try:
            return loan.outcome()
        finally:
            cancel.detach(loan.stopper)
            handover.parts.put(None)

    return outcome


def ledger_of(settings: Settings, store: MetadataStore, clock: Clock) -> BudgetLedger | None:
    """Return what counts the budgets of the settings; without any None, and nothing is loaded."""
    if not settings.budgets:
        return None
    from analytics_core._engine.execution.budgets import BudgetLedger

    return BudgetLedger(settings.checked_budgets, store, clock)


@dataclass(frozen=True, slots=True)
class _Terms:
    """Under which limits a statement runs, for how long, and the error for a time that is not the statement's own."""

    limits: FetchLimits
    timeout_s: float
    late: Callable[[], AnalyticsError] | None
    allowance: Allowance | None


class StatementRunner:
    """Runs statements through a connector; any thread may use it.

    Everything that is read of users' data, and every script, passes here: so the budgets are those of all roads.
    """

    _frames: type[FrameStream] = FrameStream

    def __init__(
        self,
        connector: Connector,
        tokens: UserTokens | None = None,
        budgets: BudgetLedger | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self._connections = Connections(connector, tokens, tracer)
        self._budgets = budgets

    def close(self) -> None:
        """Stop the statements that run, and begin no more; whoever asked is told by a StatementStoppedError."""
        self._connections.close()
        if self._budgets is not None:
            self._budgets.close()

    def budget_notes(self, admission: Admission) -> tuple[str, ...]:
        """Return what budgets let a statement spend, and what of it the day has spent, a sentence for each amount."""
        return () if self._budgets is None else self._budgets.notes(admission)

    def _terms(self, admission: Admission, limits: FetchLimits, budget: RequestBudget | None) -> _Terms:
        """Return on which terms a statement runs; RequestTimeoutError, RequestLimitError, BudgetError: it may not."""
        late: Callable[[], AnalyticsError] | None = None
        allowance = None if self._budgets is None else self._budgets.allowance(admission)
        if allowance is not None:
            within = allowance.limits(limits)
            late = allowance.late if within.timeout_s < limits.timeout_s else None
            limits = within
        timeout_s = budget.begin_statement(limits.timeout_s) if budget else limits.timeout_s
        if budget and timeout_s < limits.timeout_s:
            late = budget.timeout_error
        return _Terms(limits, timeout_s, late, allowance)

    def run(
        self,
        admitted: AdmittedStatement,
        *,
        limits: FetchLimits,
        cancel: CancelToken | None = None,
        budget: RequestBudget | None = None,
    ) -> FetchedResult:
        """Run a statement and return its rows; the transaction is rolled back whatever happens.

        Args:
            admitted: where to run and as whom; text and bound values in the driver's own style.
            limits: rows, bytes and seconds.
            cancel: stops the run from another thread.
            budget: what is left of the request that the statement belongs to; None: it stands alone.

        Raises:
            StatementTimeoutError: the time limit stopped it.
            RequestTimeoutError, RequestLimitError: the request is over its budget.
            BudgetError: a budget of the settings leaves less than the statement spends.
            StatementStoppedError: `cancel` stopped it.
            ResultTooLargeError: the byte budget was crossed.
            StatementRefusedError: it is no query.
            DatabaseError: the database refused it or could not be reached; diagnosed, without the driver's text.
        """
        started, statement = time.perf_counter(), admitted.statement
        terms = self._terms(admitted.admission, limits, budget)

        def run(connection: sa.Connection, session: Session, stopper: Stopper, rest_s: float) -> FetchedResult:
            bounds = replace(terms.limits, timeout_s=rest_s)
            request = RunRequest(connection=connection, statement=statement, limits=bounds, stopper=stopper)
            return terms.allowance.run(session, request) if terms.allowance else session.run(request)

        try:
            loan = self._connections.loan(admitted.admission, run, timeout_s=terms.timeout_s, sql=statement.sql)
            fetched = loan.result(self._connections.calls, cancel)
        except StatementTimeoutError:
            if terms.late:
                raise terms.late() from None
            raise
        finally:
            if budget:
                budget.end_statement(time.perf_counter() - started)
        if budget:
            budget.take_cells(fetched.frame)
        return replace(fetched, duration_s=time.perf_counter() - started)

    def run_script(
        self,
        admission: Admission,
        statements: Sequence[ScriptStatement],
        *,
        limits: FetchLimits,
        done: Callable[[int | None], None],
        cancel: CancelToken | None = None,
        budget: RequestBudget | None = None,
    ) -> FetchedResult | None:
        """Run statements in one transaction, commit it, and return the rows of the last that gave some.

        `limits` are those of the whole, in seconds, and of each statement, in rows and bytes. `done` is told what each
        gave or changed. Where this raises, all is undone that the engine undoes.

        Raises:
            DatabaseError: the database did not confirm that the changes are there, or as for `run`.
            AnalyticsError: as for `run`.
        """
        commits, started = threading.Event(), time.perf_counter()
        terms = self._terms(admission, limits, budget)

        def run(
            connection: sa.Connection, session: Session, stopper: Stopper, rest_s: float
        ) -> tuple[FetchedResult | None]:
            bounds, begin_to_commit = replace(terms.limits, timeout_s=rest_s), ends_stops(stopper, commits)
            script = ScriptRequest(connection, statements, bounds, stopper, admission.access, done, begin_to_commit)
            return (terms.allowance.run_script(session, script) if terms.allowance else session.run_script(script),)

        sent = ";\n".join(one.statement.sql for one in statements)
        try:
            loan = self._connections.loan(admission, run, timeout_s=terms.timeout_s, sql=sent)
            fetched = loan.result(self._connections.calls, cancel)[0]
        except DatabaseError as error:
            if commits.is_set() and admission.access is Access.WRITE:
                raise _unconfirmed(error) from None
            if isinstance(error, StatementTimeoutError) and terms.late:
                raise terms.late() from None
            raise
        finally:
            if budget:
                budget.end_statement(time.perf_counter() - started)
        if budget and fetched is not None:
            budget.take_cells(fetched.frame)
        return fetched

    def estimate(
        self, admission: Admission, statements: Sequence[Statement], costs: CostEstimates, *, limits: FetchLimits
    ) -> tuple[Costs, ...]:
        """Return what the engine estimates for each statement; none of them runs.

        Raises:
            StatementTimeoutError, DatabaseError: as for `run`.
            UnsupportedByEngineError: the engine does not plan such a statement before it runs.
        """

        def ask(connection: sa.Connection, session: Session, stopper: Stopper, rest_s: float) -> tuple[Costs, ...]:
            bounds = replace(limits, timeout_s=rest_s)
            requests = (
                RunRequest(connection=connection, statement=one, limits=bounds, stopper=stopper) for one in statements
            )
            return tuple([session.estimate(request, costs) for request in requests])

        sent = ";\n".join(statement.sql for statement in statements)
        return self._connections.use(admission, ask, timeout_s=limits.timeout_s, sql=sent)

    def stream(
        self,
        admitted: AdmittedStatement,
        *,
        limits: FetchLimits,
        wait_s: float,
        cancel: CancelToken | None = None,
        budget: RequestBudget | None = None,
    ) -> FrameStream:
        """Begin to run a statement and return its rows in parts; arguments and errors are those of `run`.

        The bytes of `limits` are those of one part. Its seconds are those of the whole, the consumer's own among them:
        the statement and its connection wait for the consumer. `wait_s` are those that each part may take.
        """
        statement, handover = admitted.statement, Handover()
        terms = self._terms(admitted.admission, limits, budget)

        def run(connection: sa.Connection, session: Session, stopper: Stopper, rest_s: float) -> FetchedResult:
            bounds, give = replace(terms.limits, timeout_s=rest_s, answer_s=wait_s), handover.giving(stopper, rest_s)
            request = RunRequest(connection=connection, statement=statement, limits=bounds, stopper=stopper, give=give)
            return terms.allowance.run(session, request) if terms.allowance else session.run(request)

        loan = self._connections.loan(admitted.admission, run, timeout_s=terms.timeout_s, sql=statement.sql)
        return self._frames(
            loan,
            handover,
            calls=self._connections.calls,
            cancel=CancelToken() if cancel is None else cancel,
            budget=budget,
            late=terms.late or (budget.timeout_error if budget else None),
            wait_s=wait_s,
        )

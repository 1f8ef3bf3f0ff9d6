"""Runs one statement on a user's database: within its limits, stoppable, rolled back, its failures diagnosed."""

from __future__ import annotations

import time
from dataclasses import replace

import sqlalchemy as sa

from analytics_core._execution.admission import AdmittedStatement
from analytics_core._execution.cancel import CancelToken, Stopper
from analytics_core._execution.connections import Connections
from analytics_core._execution.fetching import FetchedResult, FetchLimits
from analytics_core._execution.frame_streams import FrameStream, Handover
from analytics_core._execution.request_budget import RequestBudget
from analytics_core._execution.sessions.base import RunRequest, Session
from analytics_core.errors import StatementTimeoutError
from analytics_core.ports import Connector

__all__ = ["CancelToken", "FetchLimits", "FetchedResult", "StatementRunner"]


class StatementRunner:
    """Runs statements through a connector; any thread may use it."""

    def __init__(self, connector: Connector) -> None:
        self._connections = Connections(connector)

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
            StatementStoppedError: `cancel` stopped it.
            ResultTooLargeError: the byte budget was crossed.
            StatementRefusedError: it is no query.
            DatabaseError: the database refused it or could not be reached; diagnosed, without the driver's text.
        """
        started, statement = time.perf_counter(), admitted.statement
        timeout_s = budget.begin_statement(limits.timeout_s) if budget else limits.timeout_s

        def run(connection: sa.Connection, session: Session, stopper: Stopper, left_s: float) -> FetchedResult:
            left = replace(limits, timeout_s=left_s)
            return session.run(RunRequest(connection=connection, statement=statement, limits=left, stopper=stopper))

        try:
            fetched = self._connections.use(
                admitted.admission, run, timeout_s=timeout_s, sql=statement.sql, cancel=cancel
            )
        except StatementTimeoutError:
            if budget and timeout_s < limits.timeout_s:
                raise budget.timeout_error() from None
            raise
        finally:
            if budget:
                budget.end_statement(time.perf_counter() - started)
        if budget:
            budget.take_cells(fetched.frame)
        return replace(fetched, duration_s=time.perf_counter() - started)

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
        timeout_s = budget.begin_statement(limits.timeout_s) if budget else limits.timeout_s

        def run(connection: sa.Connection, session: Session, stopper: Stopper, left_s: float) -> FetchedResult:
            left, give = replace(limits, timeout_s=left_s, answer_s=wait_s), handover.giving(stopper, left_s)
            return session.run(
                RunRequest(connection=connection, statement=statement, limits=left, stopper=stopper, give=give)
            )

        loan = self._connections.loan(admitted.admission, run, timeout_s=timeout_s, sql=statement.sql)
        token = CancelToken() if cancel is None else cancel
        return FrameStream(loan, handover, start=self._connections.start, cancel=token, budget=budget, wait_s=wait_s)

"""Runs one statement on a user's database: within its limits, stoppable, rolled back, its failures diagnosed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from analytics_core._compile.plan import Statement
from analytics_core._engines.spec import EngineSpec
from analytics_core._execution.cancel import CancelToken, Stopper, StopReason
from analytics_core._execution.diagnosis import Sent, diagnose
from analytics_core._execution.fetching import Fetched, FetchLimits
from analytics_core._execution.sessions.base import VALUE_FAILURES, RunRequest, Session
from analytics_core._execution.sessions.choice import session_of
from analytics_core._frames.frame import Frame
from analytics_core._records.database import Database
from analytics_core.errors import (
    AnalyticsError,
    DatabaseError,
    StatementStoppedError,
    StatementTimeoutError,
)
from analytics_core.ports import Connector

__all__ = ["CancelToken", "Executed", "FetchLimits", "StatementRunner"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """The outcome of a statement.

    `has_more` says that rows beyond `max_rows` existed. `duration_s` counts from the first contact with the pool to the
    last row; `fetched_bytes` is what the rows took while they were fetched.
    """

    frame: Frame
    has_more: bool
    duration_s: float
    fetched_bytes: int


class StatementRunner:
    """Runs statements through a connector; any thread may use it."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector

    def run(
        self,
        database: Database,
        spec: EngineSpec,
        statement: Statement,
        *,
        limits: FetchLimits,
        identity: str | None = None,
        cancel: CancelToken | None = None,
    ) -> Executed:
        """Run a statement and return its rows; the transaction is rolled back whatever happens.

        Args:
            database: where to run.
            spec: the facts of its engine.
            statement: text and bound values in the driver's own style.
            limits: rows, bytes and seconds.
            identity: the user name to connect as, where the database impersonates.
            cancel: stops the run from another thread.

        Raises:
            StatementTimeoutError: the time limit stopped it.
            StatementStoppedError: `cancel` stopped it.
            ResultTooLargeError: the byte budget was crossed.
            StatementRefusedError: it is no query.
            DatabaseError: the database refused it or could not be reached; diagnosed, without the driver's text.
        """
        started = time.perf_counter()
        engine = self._connector.engine(database, identity=identity)
        stopper = Stopper()
        token = cancel or CancelToken()
        token.attach(stopper)
        try:
            fetched = _Run(engine=engine, spec=spec, statement=statement, limits=limits, stopper=stopper).result()
        finally:
            stopper.finish()
            token.detach(stopper)
        return Executed(
            frame=fetched.frame,
            has_more=fetched.has_more,
            duration_s=time.perf_counter() - started,
            fetched_bytes=fetched.fetched_bytes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One statement on its way."""

    engine: sa.Engine
    spec: EngineSpec
    statement: Statement
    limits: FetchLimits
    stopper: Stopper

    def result(self) -> Fetched:
        """Return the rows, or raise the typed error of what went wrong, with no driver's exception behind it."""
        session = session_of(self.engine)
        outcome = self._guarded(lambda: self._on_connection(session))
        if isinstance(outcome, AnalyticsError):
            raise outcome
        return outcome

    def _guarded(self, run: Callable[[], Fetched]) -> Fetched | AnalyticsError:
        """Border to the drivers: return their failures diagnosed, so that no exception of theirs is chained."""
        driver_errors = (SQLAlchemyError, self.engine.dialect.loaded_dbapi.Error, *VALUE_FAILURES)
        try:
            fetched = run()
        except AnalyticsError as error:
            return error
        except driver_errors as error:
            return self._stop_error() or self._named_limit(diagnose(error, self.spec, sent=self._sent()))
        return self._stop_error() or fetched

    def _sent(self) -> Sent:
        return Sent(sql=self.statement.sql, url=self.engine.url)

    def _on_connection(self, session: Session) -> Fetched:
        with self.engine.connect() as connection:
            self._raise_if_stopped()
            request = RunRequest(
                connection=connection, statement=self.statement, limits=self.limits, stopper=self.stopper
            )
            try:
                return session.run(request)
            finally:
                # Before the connection goes back: no interrupt may reach whoever gets it next.
                self.stopper.finish()

    def _raise_if_stopped(self) -> None:
        if error := self._stop_error():
            raise error

    def _stop_error(self) -> DatabaseError | None:
        if self.stopper.reason is StopReason.CANCELLED:
            return StatementStoppedError("the statement was cancelled and has been stopped", engine=self.spec.name)
        return self._timeout_error() if self.stopper.reason is StopReason.TIMED_OUT else None

    def _timeout_error(self) -> StatementTimeoutError:
        return StatementTimeoutError(
            f"the statement ran longer than {self.limits.timeout_s:g} seconds and was stopped; "
            "narrow the time range or raise the limit",
            engine=self.spec.name,
            extra={"timeout_s": self.limits.timeout_s},
        )

    def _named_limit(self, error: DatabaseError) -> DatabaseError:
        """Return the error; one for the server's own time limit says how many seconds that was."""
        return self._timeout_error() if isinstance(error, StatementTimeoutError) else error

"""Admissions to users' databases, and work on their connections: within its time, stoppable, its failures diagnosed."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.engines.guards import DatabaseFiles
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.execution.cancel import CancelToken, Stopper, StopReason
from analytics_core._engine.execution.diagnosis import SentStatement, diagnose
from analytics_core._engine.execution.sessions.base import VALUE_FAILURES, Session
from analytics_core._engine.execution.sessions.choice import session_of
from analytics_core._engine.oauth.exchange import asking
from analytics_core._engine.oauth.user_tokens import UserTokens
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.tracing import Tracer
from analytics_core._records.audit import ObservationKind
from analytics_core._records.datasource import Access, Database, Identity
from analytics_core._tools.bounded_calls import BoundedCalls, PendingCall
from analytics_core._tools.forks import tell_of_forks
from analytics_core._tools.log import line_log
from analytics_core.errors import (
    AnalyticsError,
    DatabaseError,
    ErrorType,
    StatementStoppedError,
    StatementTimeoutError,
    ThreadLimitError,
)
from analytics_core.ports import Connector


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Proof that an actor may reach a database, as `identity` (None: the account of its URI) and with `access`.

    Only `Gate.admit` makes one, and nothing reaches a database without it. `may_know_why` says whether the actor may
    create connections: others learn nothing of the network by those that fail.
    """

    actor: Actor
    database: Database
    spec: EngineSpec
    identity: Identity | None
    access: Access = Access.READ
    may_know_why: bool = False

    def to_run(self, statement: Statement) -> AdmittedStatement:
        """Return a statement that may be executed under this admission."""
        return AdmittedStatement(admission=self, statement=statement)


def observed_facts(admission: Admission) -> dict[str, Any]:
    """Return what an observer hears of work under an admission."""
    database, actor = admission.database, admission.actor
    return {"actor_id": actor.stored_id, "database_id": database.id or None, "engine": admission.spec.name}


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmittedStatement:
    """A statement that may be executed, with the admission that it was made from (`Admission.to_run`)."""

    admission: Admission
    statement: Statement


Result = TypeVar("Result")
Failed = TypeVar("Failed", bound=AnalyticsError)

_LOG = line_log(__name__)

LATEST_S: Final = 1.5
"""How long after its time limit, or after it was cancelled, work is waited for; whoever asked is answered then."""

_LOOK_AGAIN_S: Final = 0.01


Work = Callable[[sa.Connection, Session, Stopper, float], Result]
"""Work on a connection: it is given its session, what may stop it, and the seconds that are left."""


class Connections:
    """Connections of users' databases, lent for one piece of work; any thread may use it.

    The work runs in a thread of its own. So its time limit holds for all that it waits for, in every driver: names
    that do not resolve, a full pool, a server that takes connections and says nothing. And Ctrl-C reaches whoever
    waits, not a driver, some of which swallow it.

    Attributes:
        calls: the threads.
    """

    def __init__(self, connector: Connector, tokens: UserTokens | None = None, tracer: Tracer | None = None) -> None:
        self._connector = connector
        self._tokens = tokens
        self._tracer = tracer
        self._closing = CancelToken()
        self.calls = BoundedCalls("database")
        tell_of_forks(self)

    def close(self) -> None:
        """Stop all work, let none begin any more, and wait until the drivers have left their calls, but not for long.

        Whoever asked is told by a StatementStoppedError. A handler of a signal may call it.
        """
        self._closing.cancel(StopReason.CLOSED)
        latest = time.monotonic() + LATEST_S
        while self._closing.is_in_use and time.monotonic() < latest:
            time.sleep(_LOOK_AGAIN_S)
        self.calls.close()

    def before_fork(self) -> None:
        """Go on: threads are not inherited."""

    def after_fork(self) -> None:
        """Be another process, in which nothing runs."""
        self._closing = CancelToken()

    def use(
        self,
        admission: Admission,
        work: Work[Result],
        *,
        timeout_s: float,
        cancel: CancelToken | None = None,
        sql: str = "",
        names: Sequence[str] = (),
    ) -> Result:
        """Return what `work` returns; its transaction is rolled back whatever happens.

        An error may repeat the `names` that were asked for, and those in the statement `sql`.

        Raises:
            StatementTimeoutError: the time is over, at the latest two seconds ago.
            StatementStoppedError: `cancel` or `close` stopped it.
            DatabaseError: the database refused it or could not be reached; diagnosed, without the driver's text.
            AnalyticsError: what `work` raises of its own.
        """
        loan = self.loan(admission, work, timeout_s=timeout_s, sql=sql, names=names)
        return loan.result(self.calls, cancel)

    def loan(
        self,
        admission: Admission,
        work: Work[Result],
        *,
        timeout_s: float,
        sql: str = "",
        names: Sequence[str] = (),
    ) -> Loan[Result]:
        """Return the loan of a connection for `work`, whose time begins now; its `outcome` is for one of `calls`."""
        identity = admission.identity
        if identity is not None and identity.user_id is not None and self._tokens is not None:
            look_up = partial(self._tokens.of, admission.database, identity.user_id)
            token = asking(look_up, admission.database, may_know_why=admission.may_know_why)
            identity = replace(identity, token=token)
        engine: sa.Engine = self._connector.engine(admission.database, identity=identity, access=admission.access)
        sent = SentStatement(sql=sql, names=tuple(names), url=engine.url)
        return Loan(
            engine=engine,
            admission=admission,
            work=work,
            timeout_s=timeout_s,
            sent=sent,
            tokens=self._tokens,
            closing=self._closing,
            tracer=self._tracer,
        )


_SIGNED_IN: Final = "analytics_core signed in"
"""What is kept beside a connection whose sign-in was observed."""

_CLIENTS_OF_DRIVERS: Final = ("requests", "urllib3", "thrift", "TCLIService")
"""Packages by which drivers speak HTTP and Thrift."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong, as the caller hears of it; `lost` says that a connection did not survive it."""

    error: AnalyticsError
    lost: bool = False


class Loan(Generic[Result]):
    """One connection on loan."""

    def __init__(
        self,
        *,
        engine: sa.Engine,
        admission: Admission,
        work: Work[Result],
        timeout_s: float,
        sent: SentStatement,
        tokens: UserTokens | None,
        closing: CancelToken,
        tracer: Tracer | None,
    ) -> None:
        self.stopper = Stopper()
        self._closing = closing
        self._admission = admission
        self._tokens = tokens
        self._tracer = tracer
        self._engine = engine
        self._spec = admission.spec
        self._tells_why = admission.may_know_why or admission.spec.guards.database_files is not DatabaseFiles.NONE
        self._work = work
        self._timeout_s = timeout_s
        self._sent = sent
        self._deadline = time.monotonic() + timeout_s
        self._is_connected = False

    @property
    def remaining_s(self) -> float:
        """The seconds that are left; none or fewer when the time is over."""
        return self._deadline - time.monotonic()

    def result(self, calls: BoundedCalls, cancel: CancelToken | None) -> Result:
        """Do the work in another thread and return its result, or raise what became of it; `cancel` stops it."""
        token = CancelToken() if cancel is None else cancel
        token.attach(self.stopper)
        pending = None
        try:
            pending = calls.start(self.outcome)
            outcome = self._wait(pending)
        except BaseException:  # no thread, or Ctrl-C: goes on upwards
            self.interrupt(pending)
            raise
        finally:
            token.detach(self.stopper)
        if isinstance(outcome, Failure):
            raise self.to_error(outcome)
        return outcome

    def interrupt(self, pending: PendingCall[Result | Failure] | None) -> None:
        """Stop the work and let the driver leave its call: the end of a process that is inside of one is a crash."""
        self.stopper.stop(StopReason.CANCELLED)
        if pending is not None:
            self._is_soon_over(pending)

    def _wait(self, pending: PendingCall[Result | Failure]) -> Result | Failure:
        """Return the outcome, or give up what is late: its thread ends when its driver lets it."""
        self.stopper.on_stop(pending.wake)
        is_over = pending.wait(self.remaining_s) or self._is_soon_over(pending)
        return pending.result() if is_over else self.given_up()

    def _is_soon_over(self, pending: PendingCall[Result | Failure]) -> bool:
        """Wait for work that was stopped or has had its time; False when it does not end."""
        with suppress(ThreadLimitError):  # it is given up in time all the same
            self.stopper.watch()
        latest = self._deadline + LATEST_S
        while not pending.is_over:
            now = time.monotonic()
            if now >= latest:
                return False
            if self.stopper.reason is not None:
                latest = min(latest, now + LATEST_S)
            pending.wait(latest - now)
        return True

    def outcome(self) -> Result | Failure:
        """Border to the drivers: do the work; return failures diagnosed, so that no exception of theirs is chained."""
        self._closing.attach(self.stopper)
        try:
            if error := self._stop_error():
                return Failure(error)
            opened = self._engine.connect() if self._tracer is None else self._signed_in(self._tracer)
            with opened as connection:
                self._is_connected = True
                if error := self._stop_error():
                    raise error
                try:
                    result = self._work(
                        connection, session_of(self._engine), self.stopper, max(self.remaining_s, 0.001)
                    )
                finally:
                    # Before the connection goes back: no interrupt may reach whoever gets it next.
                    self.stopper.finish()
        except AnalyticsError as error:
            return Failure(self._without_why(error))
        except Exception as error:  # border to drivers, which fall over odd answers; what is ours goes on upwards
            if not self._is_of_driver(error):
                raise
            lost = self._is_connected and isinstance(error, DBAPIError) and error.connection_invalidated
            found = diagnose(error, self._spec, sent=self._sent, is_connected=self._is_connected)
            if isinstance(found, StatementTimeoutError):  # the server's own limit: ours says how many seconds that was
                found = self.timeout_error(self._timeout_s)
            if not isinstance(error, sa.exc.TimeoutError):  # that is of the pool: all its connections are in use
                found = self._without_why(found)
            return Failure(self._stop_error() or found, lost)
        finally:
            self.stopper.finish()
            self._closing.detach(self.stopper)
        stopped = self._stop_error()
        return Failure(stopped) if stopped else result

    def _signed_in(self, tracer: Tracer) -> sa.Connection:
        """Return a connection; one that is new, or that the database refuses, is observed as a sign-in."""
        work = tracer.begin(ObservationKind.SIGN_IN)
        work.facts.update(observed_facts(self._admission), result_type="connection")
        try:
            connection = self._engine.connect()
        except Exception as error:  # border to drivers; it goes on upwards
            work.end(diagnose(error, self._spec, sent=self._sent, is_connected=False))
            raise
        if _SIGNED_IN in connection.info:  # the pool had it
            work.leave()
        else:
            connection.info[_SIGNED_IN] = True
            work.end()
        return connection

    def _is_of_driver(self, error: Exception) -> bool:
        """Tell whether the driver raised it; some raise what is no error of their DBAPI, or fall over odd answers."""
        dbapi = self._engine.dialect.loaded_dbapi
        if isinstance(error, (SQLAlchemyError, dbapi.Error, *VALUE_FAILURES)):
            return True
        *_, (frame, _line) = traceback.walk_tb(error.__traceback__)
        raised_in = str(frame.f_globals.get("__name__", ""))
        return raised_in.partition(".")[0] in (dbapi.__name__.partition(".")[0], *_CLIENTS_OF_DRIVERS)

    def to_error(self, failure: Failure) -> AnalyticsError:
        """Return the error to raise for a failure; a connection that was lost is logged."""
        if failure.lost:
            database_id = self._admission.database.id
            _LOG.warning("a connection to database %s was lost (%s)", database_id, failure.error.error_type)
        return failure.error

    def given_up(self) -> Failure:
        """Stop the work, which nobody waits for any longer; return what to tell whoever asked."""
        self.stopper.stop(StopReason.TIMED_OUT)  # nothing, where only the connection does not go back
        return Failure(self._stop_error() or self._without_why(self.timeout_error(self._timeout_s)), lost=True)

    def _stop_error(self) -> DatabaseError | None:
        if self.stopper.reason is StopReason.CANCELLED:
            return StatementStoppedError("the statement was cancelled and has been stopped", engine=self._spec.name)
        if self.stopper.reason is StopReason.CLOSED:
            return StatementStoppedError(
                "the core was closed, and the statement has been stopped", engine=self._spec.name
            )
        if self.stopper.reason is StopReason.TIMED_OUT:
            return self._without_why(self.timeout_error(self._timeout_s))
        return None

    def _without_why(self, error: Failed) -> Failed | DatabaseError:
        """Return one error for every connection that fails: refused, closed, down and not let in are all the same.

        Only whose own token was not enough is told so, and where to sign in.
        """
        if self._is_connected or not isinstance(error, DatabaseError):
            return error
        admission = self._admission
        if self._tokens is not None and self._tokens.add_way_in(error, admission.database, admission.identity):
            return error
        if self._tells_why:
            return error
        return DatabaseError(
            "the database cannot be reached; an administrator learns why by testing its connection",
            error_type=ErrorType.CONNECTION_HOST_DOWN_ERROR,
            engine=self._spec.name,
        )

    def timeout_error(self, timeout_s: float, *, what: str = "ran longer than") -> StatementTimeoutError:
        """Return the error for work that was stopped after so many seconds; `what` it did meanwhile."""
        message = (
            f"the statement {what} {timeout_s:g} seconds and was stopped; "
            "ask for less, such as a shorter time range, or raise the limit"
            if self._is_connected
            else f"the database did not answer within {timeout_s:g} seconds; check that its server runs"
        )
        return StatementTimeoutError(message, engine=self._spec.name, extra={"timeout_s": timeout_s})

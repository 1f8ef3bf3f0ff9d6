"""An end for every wait of the drivers of servers: for connecting, for each answer, for the look at an idle connection.

A server may hang in many ways (a stopped process, a proxy or a firewall that forwards nothing); the connection stays
open and nothing comes. Whoever waits for such a driver must not rely on the server's own time limits.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import event

from analytics_core._engine.execution.sessions.opening import BeforeConnect, opener
from analytics_core._tools.bounded_calls import BoundedCalls

CONNECT_TIMEOUT_S: Final = 10
"""What connecting may take, when the host says nothing else."""

_IDLE_ANSWER_S: Final = 1.0
"""A pooled connection that takes longer to answer is replaced."""

LOGGING_NAME: Final = "analytics_core.database"
"""What SQLAlchemy calls the pools of users' databases in logs."""


def bound_waits(
    engine: sa.Engine,
    *,
    answer_s: float,
    connect_s: float | None = None,
    before_connect: Sequence[BeforeConnect] = (),
) -> None:
    """Give every wait on this engine's connections an end: for PostgreSQL (psycopg) and MySQL or MariaDB (PyMySQL).

    Args:
        engine: as it was made, without connections.
        answer_s: seconds that the server may leave a connection without an answer; see `allow_answer`.
        connect_s: seconds that connecting may take in all, the resolving of names included; None: as long as the
            driver's own limits let it.
        before_connect: what changes the arguments of each new connection.
    """
    connect = opener(engine, before_connect)
    if connect_s is not None:
        connect = _in_time(connect, connect_s, failure=engine.dialect.loaded_dbapi.OperationalError)

    def expect_answers(raw: Any, *_context: Any) -> None:
        allow_answer(raw, answer_s)

    open_by(engine, connect)
    event.listen(engine, "connect", expect_answers, insert=True)
    # The pool looks at a connection before it gives it away; it tells of `checkout` when that is done.
    event.listen(engine, "checkout", expect_answers)
    event.listen(engine, "checkin", _expect_idle)


def open_by(engine: sa.Engine, connect: Callable[..., Any]) -> None:
    """Have the pool of an engine open its connections by `connect`, which takes what its driver would."""

    def open_connection(_dialect: Any, _record: Any, positional: Any, named: dict[str, Any]) -> Any:
        return connect(*positional, **named)

    event.listen(engine, "do_connect", open_connection)


def allow_answer(raw: Any, seconds: float) -> None:
    """Let the server take so many seconds for each answer on this connection of a driver, until it is given back."""
    if hasattr(raw, "answer_s"):
        raw.answer_s = seconds
    elif hasattr(raw, "_read_timeout"):  # PyMySQL has no public name for it
        raw._read_timeout = raw._write_timeout = seconds


def without_driver_logs(logging_name: str) -> dict[str, str]:
    """Return the option by which the pool of an engine logs nothing of what a driver says.

    It would log a lost connection with the driver's text and a traceback. A host that wants them gives the logger
    `sqlalchemy.pool.impl.QueuePool.<name>` a level of its own.
    """
    logger = logging.getLogger(f"sqlalchemy.pool.impl.QueuePool.{logging_name}")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL + 1)
    return {"pool_logging_name": logging_name}


def _expect_idle(raw: Any, _record: Any) -> None:
    if raw is not None:
        allow_answer(raw, _IDLE_ANSWER_S)


def _in_time(connect: Callable[..., Any], connect_s: float, *, failure: type[Exception]) -> Callable[..., Any]:
    calls = BoundedCalls("connecting")

    def connect_in_time(*positional: Any, **named: Any) -> Any:
        pending = calls.start(lambda: connect(*positional, **named))
        if pending.wait(connect_s):
            return pending.result()
        pending.abandon(lambda raw: raw.close() if raw is not None else None)
        raise failure("the server does not answer")

    return connect_in_time

"""Loads a table on a connection of its own: in time, stoppable, its failures diagnosed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import sqlalchemy as sa

from analytics_core._execution.cancel import Stopper
from analytics_core._execution.connections import Admission, Connections
from analytics_core._execution.sessions.base import DriverFailureError, Session
from analytics_core._execution.sessions.loaders import loader_of
from analytics_core._execution.sessions.loading import Loader, LoadRequest
from analytics_core._oauth.user_tokens import UserTokens
from analytics_core._uploads.table import FileColumn
from analytics_core.errors import UnsupportedByEngineError
from analytics_core.ports import Connector


class TableLoader:
    """Writes tables through a connector; any thread may use it."""

    def __init__(self, connector: Connector, tokens: UserTokens | None = None) -> None:
        self._connections = Connections(connector, tokens)

    def check(self, admission: Admission, columns: Sequence[FileColumn]) -> None:
        """Raise UnsupportedByEngineError, or FileUploadError for columns that the engine cannot hold."""
        _loader(admission).check_columns(columns)

    def load(self, admission: Admission, request: LoadRequest, *, timeout_s: float) -> int:
        """Write all rows and return their number, or write nothing.

        Raises:
            DatabaseError: the database refused it, diagnosed; StatementTimeoutError: it took too long.
            FileUploadError: what the batches raise.
        """
        loader = _loader(admission)

        def work(connection: sa.Connection, session: Session, stopper: Stopper, left_s: float) -> int:
            with session.limited(connection, stopper, timeout_s=left_s):
                stoppable = replace(request, begin_to_commit=_ends_stops(stopper))
                return loader.load(connection, stoppable)

        names = [request.table, *filter(None, [request.schema]), *(column.name for column in request.columns)]
        return self._connections.use(admission, work, timeout_s=timeout_s, names=names)


def _loader(admission: Admission) -> Loader:
    loader = loader_of(admission.spec.name)
    if loader is None:
        raise UnsupportedByEngineError(f"files are not uploaded to {admission.spec.label} here")
    return loader


def _ends_stops(stopper: Stopper) -> Callable[[], None]:
    """Return what ends the time in which the work may be stopped: from there on it is committed."""

    def end() -> None:
        if stopper.reason is not None:
            raise DriverFailureError("stopped before the commit")
        stopper.finish()

    return end

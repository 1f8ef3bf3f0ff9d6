"""Loads a table on a connection of its own: in time, stoppable, its failures diagnosed."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

import sqlalchemy as sa

from analytics_core._engine.execution.cancel import Stopper
from analytics_core._engine.execution.connections import Admission, Connections
from analytics_core._engine.execution.sessions.base import Session, ends_stops
from analytics_core._engine.execution.sessions.choice import loader_of
from analytics_core._engine.execution.sessions.loading import Loader, LoadRequest
from analytics_core._engine.files.limits import broken
from analytics_core._engine.files.table import FileColumn
from analytics_core._engine.oauth.user_tokens import UserTokens
from analytics_core._engine.tracing import Tracer
from analytics_core.errors import DatabaseError, ErrorType, FileUploadError, UnsupportedByEngineError
from analytics_core.ports import Connector


class TableLoader:
    """Writes tables through a connector; any thread may use it."""

    def __init__(self, connector: Connector, tokens: UserTokens | None = None, tracer: Tracer | None = None) -> None:
        self._connections = Connections(connector, tokens, tracer)

    def close(self) -> None:
        """Stop what loads, before its rows are committed, and load nothing afterwards; what commits goes on.

        It waits for either, but not for long, as `Connections.close` does.
        """
        self._connections.close()

    def check(self, admission: Admission, columns: Sequence[FileColumn]) -> None:
        """Raise UnsupportedByEngineError, or FileUploadError for columns that the engine cannot hold."""
        _loader(admission).check_columns(columns)

    def load(self, admission: Admission, request: LoadRequest, *, timeout_s: float) -> int:
        """Write all rows and return their number, or write nothing.

        Raises:
            DatabaseError: the database refused it, diagnosed, or did not confirm that it was written;
                StatementTimeoutError: it took too long.
            StatementStoppedError: the loader was closed.
            FileUploadError: what the batches raise, or a row that the table does not take.
        """
        loader, commits, of_rows = _loader(admission), threading.Event(), threading.Event()

        def work(connection: sa.Connection, session: Session, stopper: Stopper, rest_s: float) -> int:
            with session.limited(connection, stopper, timeout_s=rest_s):
                stoppable = replace(request, begin_to_commit=ends_stops(stopper, commits))
                try:
                    return loader.load(connection, stoppable)
                except Exception as error:  # the driver's goes on upwards to be diagnosed, every other as it is
                    if loader.is_of_rows(error):
                        of_rows.set()
                    raise

        columns = [*(column.name for column in request.columns), *request.other_columns]
        names = [request.table, *filter(None, [request.schema]), *columns]
        try:
            return self._connections.use(admission, work, timeout_s=timeout_s, names=names)
        except DatabaseError as error:
            if of_rows.is_set():
                raise _rejected(error, request, columns) from None
            if not commits.is_set() or (error.retryable and error.error_type is ErrorType.GENERIC_DB_ENGINE_ERROR):
                raise  # what the database answered is no doubt
            raise DatabaseError(
                f"the database did not confirm that the rows were written ({error.message}); look whether they are "
                "there before you upload again",
                error_type=error.error_type,
                engine=error.engine,
                retryable=False,
            ) from None


def _loader(admission: Admission) -> Loader:
    loader = loader_of(admission.spec.name)
    if loader is None:
        raise UnsupportedByEngineError(f"files are not uploaded to {admission.spec.label} here")
    return loader


def _rejected(error: DatabaseError, request: LoadRequest, columns: Sequence[str]) -> FileUploadError:
    """Return the error for a row that the table does not take; the row of the file is told where it is known."""
    place, found = request.rejected.place, request.rejected.column or error.extra.get("column")
    row = None if place is None else request.row_number(place)
    column = next((name for name in columns if name.casefold() == str(found).casefold()), None)
    return broken(f"the table does not take it: {error.message}", row=row, column=column)

"""What a user's database holds: schemas, tables, columns with the engine's own type texts, columns of a query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

import sqlalchemy as sa

from analytics_core._engine.engines.spec import ParamStyle
from analytics_core._engine.execution.cancel import Stopper
from analytics_core._engine.execution.connections import Admission, Connections
from analytics_core._engine.execution.sessions.base import Session
from analytics_core._engine.execution.sessions.choice import metadata_of
from analytics_core._engine.execution.sessions.metadata import (
    BoundQuery,
    EngineMetadata,
    ReflectedColumn,
    ReflectedTable,
)
from analytics_core._engine.execution.sessions.table_details import TableDetails
from analytics_core._engine.files.names import is_unfinished
from analytics_core._engine.oauth.user_tokens import UserTokens
from analytics_core._engine.tracing import Tracer
from analytics_core._records.datasource import Access
from analytics_core.errors import AnalyticsError, DatabaseError, ErrorType, nearest
from analytics_core.errors.base import LONGEST_KEY, short_repr
from analytics_core.ports import Connector

Result = TypeVar("Result")


class Reflector:
    """Asks databases what they hold, on their read-only connections; any thread may use it.

    Each question takes the admission of who asks.

    Args:
        connector: gives the engines.
        tokens: of users, for databases that are asked in their name; None: there are none.
        timeout_s: seconds that one question may take.
        may_see: tells whether errors may name a schema, or tables of it (None: the default one), to an actor.
        tracer: has an observer hear of sign-ins; None: nobody does.
    """

    def __init__(
        self,
        connector: Connector,
        tokens: UserTokens | None = None,
        *,
        timeout_s: float = 60.0,
        may_see: Callable[[Admission, str | None], bool] = lambda _admission, _schema: True,
        tracer: Tracer | None = None,
    ) -> None:
        self._connections = Connections(connector, tokens, tracer)
        self._timeout_s = timeout_s
        self._may_see = may_see

    def close(self) -> None:
        """Stop what is asked, and ask no more; whoever asked is told by a StatementStoppedError."""
        self._connections.close()

    def schemas(self, admission: Admission) -> tuple[str, ...]:
        """Return the schema names, sorted."""
        return self._ask(admission, lambda metadata, connection: metadata.schemas(connection))

    def tables(self, admission: Admission, schema: str | None = None) -> tuple[ReflectedTable, ...]:
        """Return tables and views of a schema (None: the default one) but for unfinished uploads, sorted by name.

        Raises:
            DatabaseError: the database does not answer, or there is no such schema.
        """
        try:
            found = self._ask(
                admission, lambda metadata, connection: metadata.tables(connection, schema), names=(schema,)
            )
        except DatabaseError as error:
            if schema and error.error_type in _NOT_THERE:
                self._check_schema(admission, schema)
            raise
        if not found and schema:
            self._check_schema(admission, schema)
        return tuple(table for table in found if not is_unfinished(table.name))

    def default_schema(self, admission: Admission) -> str | None:
        """Return the schema that a name without one means; None on engines without any."""
        return self._ask(admission, lambda metadata, connection: metadata.default_schema(connection))

    def functions(self, admission: Admission) -> tuple[str, ...]:
        """Return the names of the functions that the database knows, sorted; none where it does not tell."""
        return self._ask(admission, lambda metadata, connection: metadata.functions(connection))

    def columns(
        self,
        admission: Admission,
        *,
        table: str,
        schema: str | None = None,
        catalog: str | None = None,
    ) -> tuple[ReflectedColumn, ...]:
        """Return the columns of a table or view, in their order.

        Raises:
            DatabaseError: of type TABLE_DOES_NOT_EXIST_ERROR, with the nearest names, when there is no such table, and
                SCHEMA_DOES_NOT_EXIST_ERROR when there is no such schema.
        """
        full_schema = f"{catalog}.{schema}" if catalog and schema else schema
        names = (table, schema, catalog)
        columns = self._ask(
            admission,
            lambda metadata, connection: _with_storage(metadata, connection, table, full_schema),
            names=names,
        )
        if not columns:
            if schema and not catalog:
                self._check_schema(admission, schema)
            raise self._no_table(admission, table=table, schema=schema)
        return columns

    def details(self, admission: Admission, *, table: str, schema: str | None) -> TableDetails:
        """Return keys, indexes, defaults and comments of a table that there is."""
        return self._ask(
            admission,
            lambda metadata, connection: metadata.details(connection, table, schema),
            names=tuple(filter(None, (table, schema))),
        )

    def catalogs(self, admission: Admission) -> tuple[str, ...]:
        """Return the catalogs whose tables a statement may name, sorted; none on engines without any."""
        return self._ask(admission, lambda metadata, connection: metadata.catalogs(connection))

    def stores(self, admission: Admission, relations: Iterable[tuple[str, str | None]]) -> bool:
        """Tell whether relations (name and schema) are stored tables without columns that are computed."""

        def question(metadata: EngineMetadata, connection: sa.Connection) -> bool:
            return all(metadata.computed_columns(connection, *relation) == frozenset() for relation in relations)

        return self._ask(admission, question)

    def columns_of_select(
        self, admission: Admission, sql: str, *, permitted: BoundQuery | None = None
    ) -> tuple[ReflectedColumn, ...]:
        """Return the columns of one checked SELECT, without reading more than a few rows.

        Types come from the engine; what SQLite does not know of an expression is read off the first rows.

        Args:
            admission: where it runs, and as whom.
            sql: the SELECT.
            permitted: the SELECT over the rows that may be read, as the driver takes it; None: over all rows.

        Raises:
            DatabaseError: the statement fails.
        """
        query = permitted or (sql.replace("%", "%%") if admission.spec.paramstyle is ParamStyle.PYFORMAT else sql, None)
        pairs = self._ask(
            admission, lambda metadata, connection: metadata.query_columns(connection, sql, query), sql=sql
        )
        return tuple(ReflectedColumn(name=name, type_text=type_text) for name, type_text in pairs)

    def _ask(
        self,
        admission: Admission,
        question: Callable[[EngineMetadata, sa.Connection], Result],
        *,
        names: Sequence[str | None] = (),
        sql: str = "",
    ) -> Result:
        """Answer a question on one connection in time; an error may repeat `names`, and those in `sql`."""

        def ask(connection: sa.Connection, session: Session, stopper: Stopper, rest_s: float) -> Result:
            metadata = metadata_of(connection.dialect)
            with (
                session.limited(connection, stopper, timeout_s=rest_s),
                metadata.free(connection.connection.driver_connection),
            ):
                return question(metadata, connection)

        sent, reading = tuple(filter(None, names)), replace(admission, access=Access.READ)
        return self._connections.use(reading, ask, timeout_s=self._timeout_s, sql=sql, names=sent)

    def _check_schema(self, admission: Admission, schema: str) -> None:
        """Raise DatabaseError with the nearest names when there is no such schema; what cannot be listed may be one."""
        try:
            known = self._ask(admission, lambda metadata, connection: metadata.every_schema(connection))
        except AnalyticsError:
            return
        if not known or schema.casefold() in (name.casefold() for name in known):
            return
        near = nearest(schema, [name for name in known if self._may_see(admission, name)], most=3)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        database = admission.database
        raise DatabaseError(
            f"database {database.database_name!r} has no schema {short_repr(schema)}{hint}",
            error_type=ErrorType.SCHEMA_DOES_NOT_EXIST_ERROR,
            engine=database.engine,
            extra={"schema": schema[:LONGEST_KEY], "suggestions": list(near)},
        )

    def _no_table(self, admission: Admission, *, table: str, schema: str | None) -> DatabaseError:
        try:
            known = [found.name for found in self.tables(admission, schema)] if self._may_see(admission, schema) else []
        except AnalyticsError:  # the list is only a help; without it the error is still right
            known = []
        near = nearest(table, known, most=3)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        place, database = f"schema {short_repr(schema)} of " if schema else "", admission.database
        return DatabaseError(
            f"{place}database {database.database_name!r} has no table {short_repr(table)}{hint}",
            error_type=ErrorType.TABLE_DOES_NOT_EXIST_ERROR,
            engine=database.engine,
            extra={"table": table[:LONGEST_KEY], "suggestions": list(near)},
        )


def _with_storage(
    metadata: EngineMetadata, connection: sa.Connection, table: str, schema: str | None
) -> tuple[ReflectedColumn, ...]:
    """Return the columns with whether each is stored; none when there is no such table."""
    found = metadata.columns(connection, table, schema)
    computed = metadata.computed_columns(connection, table, schema) if found else None
    if computed is None:
        return found
    return tuple(replace(column, is_stored=column.name not in computed) for column in found)


_NOT_THERE = frozenset({ErrorType.TABLE_DOES_NOT_EXIST_ERROR, ErrorType.SCHEMA_DOES_NOT_EXIST_ERROR})

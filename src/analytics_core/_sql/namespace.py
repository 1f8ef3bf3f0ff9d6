"""`core.sql`: statements of people, each answered like a chart query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from analytics_core._error_types import known_list
from analytics_core._querying.chart_request import ChartRequest
from analytics_core._querying.sql_parameters import checked_values
from analytics_core._querying.sql_queries import SqlQuestion
from analytics_core._records.datasource import Database
from analytics_core._records.repositories import ListQuery
from analytics_core._resources.batches import every
from analytics_core._resources.namespace import Namespace
from analytics_core._results.batch_stream import BatchStream
from analytics_core._sql.explanation import ExplainedSql
from analytics_core._sql.result import SqlResult
from analytics_core.errors import DatabaseNotFoundError, QueryError, StatementError, nearest

Parameter = str | int | float | bool | bytes | Decimal | date | datetime | None
Parameters = Mapping[str, Parameter | Sequence[Parameter] | AbstractSet[Parameter]]
"""Values of `:name` in a statement, by name; a list goes after IN."""


class Sql(Namespace):
    """Statements that people write, under the row rules of whoever asks (contract, SQL editor and queries).

    Each relation of a statement carries the rules that bind the actor on its table. A statement is one query that only
    reads; whoever runs it needs a grant on the whole database, which must not be closed to the editor
    (`expose_in_sqllab`).
    """

    def __call__(
        self,
        sql: str,
        *,
        database: int | str | None = None,
        params: Parameters | None = None,
        schema: str | None = None,
        row_limit: int | None = None,
    ) -> SqlResult:
        """Return the rows of a statement.

        Args:
            sql: one SELECT, in the SQL of the database.
            database: its id or its name; None: the only one that there is.
            params: values for `:name` in the statement. They are bound, never written into the text.
            schema: where tables are that the statement names without a schema; None: as the database looks for them.
            row_limit: how many rows at the most; None or 0: `Settings.default_row_limit`. A smaller LIMIT of the
                statement stands, and the `limits` of the result say which one cut.

        Raises:
            DatabaseAccessError: the actor may not write SQL on this database, or it is closed to the editor.
            StatementError: it is no SQL of the database, or its parameters do not fit.
            StatementRefusedError: it is not one query that only reads, or it reads what nobody may.
            DatabaseError: the database refuses it, or cannot be reached.

        Examples:
            >>> core.sql("SELECT country, SUM(amount) AS revenue FROM orders GROUP BY country").rowcount
            6
            >>> core.sql("SELECT COUNT(*) AS orders FROM orders WHERE country IN :some", params={"some": ["France"]})[0]
            (...,)
        """
        now = self._anew()
        asked = _question(sql, params, schema, row_limit)
        answer = now._runtime.sql_queries.run(now._request(), now._database(database), asked)
        return SqlResult.of(answer, now._runtime)

    def batches(
        self,
        sql: str,
        *,
        database: int | str | None = None,
        params: Parameters | None = None,
        schema: str | None = None,
        row_limit: int | None = None,
    ) -> BatchStream:
        """Return the rows of a statement as Arrow batches, read from the database as they are asked for.

        Arguments and errors are those of `core.sql(...)`; without a `row_limit` it gives `Settings.stream_row_limit`
        rows at the most.

        Examples:
            >>> with core.sql.batches("SELECT id FROM orders") as batches:
            ...     sum(batch.num_rows for batch in batches) > 100
            True
        """
        asked = _question(sql, params, schema, row_limit)
        return self._runtime.sql_queries.stream(self._request(), self._database(database), asked)

    def explain(
        self,
        sql: str,
        *,
        database: int | str | None = None,
        params: Parameters | None = None,
        schema: str | None = None,
        row_limit: int | None = None,
    ) -> ExplainedSql:
        """Return what a statement would run as, which tables it reads, and which row rules bind on them.

        Arguments and errors are those of `core.sql(...)`; nothing runs.

        Examples:
            >>> core.sql.explain("SELECT id FROM orders").tables
            ('orders',)
        """
        asked = _question(sql, params, schema, row_limit)
        return ExplainedSql.of(self._runtime.sql_queries.ready(self._request(), self._database(database), asked))

    def _request(self) -> ChartRequest:
        return self._runtime.queries.begun(ChartRequest(actor=self._actor, now=self._runtime.clock.now()))

    def _database(self, named: int | str | None) -> Database:
        """Return a database by its id or name, or the only one.

        Raises:
            DatabaseNotFoundError: there is none that the actor may see; the message names the nearest one.
            DatabaseAccessError: the database of this id is not for the actor.
            QueryError: none is named, and there are several.
        """
        with self._runtime.store.unit_of_work() as unit:
            reader = self._reader(unit)
            if isinstance(named, int) and not isinstance(named, bool):
                return reader.database(named)
            found = reader.databases(database.id for database in every(unit.databases, ListQuery().filters))
        by_name = {database.database_name: database for database in found.values()}
        if named is None:
            return _only(by_name)
        if isinstance(named, str) and named in by_name:
            return by_name[named]
        close = nearest(str(named), by_name)
        hint = f"did you mean {close[0]!r}?" if close else f"there are: {known_list(by_name)}" if by_name else "none"
        raise DatabaseNotFoundError("database", str(named), place=f"({hint})")


def _only(databases: Mapping[str, Database]) -> Database:
    if len(databases) == 1:
        return next(iter(databases.values()))
    if not databases:
        raise QueryError("this core has no database that you may read; make one with databases.create")
    raise QueryError(
        f"this core has {len(databases)} databases; name the one that is meant: database={known_list(databases)}"
    )


def _question(sql: Any, params: Any, schema: Any, row_limit: int | None) -> SqlQuestion:
    if not isinstance(sql, str):
        raise StatementError(f"a statement is text, not {type(sql).__name__}")
    if not isinstance(schema, str | None):
        raise StatementError(f"a schema is named by text, not {type(schema).__name__}")
    return SqlQuestion(sql=sql, schema=schema or None, values=checked_values(params), row_limit=row_limit)

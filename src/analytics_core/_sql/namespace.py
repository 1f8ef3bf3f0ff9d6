"""`core.sql`: statements of people, each answered like a chart query."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import uuid4

from analytics_core._content.background_jobs import job_of, job_record
from analytics_core._content.batches import every
from analytics_core._content.changes import begin_act
from analytics_core._content.datasets.namespace import Datasets
from analytics_core._content.datasets.records import changed_dataset, new_dataset
from analytics_core._content.namespace import Namespace
from analytics_core._engine.compile.templates import is_template
from analytics_core._engine.querying.chart_request import ChartRequest
from analytics_core._engine.querying.sql_parameters import checked_values
from analytics_core._engine.querying.sql_queries import SqlQuestion
from analytics_core._engine.querying.stored_statements import require_open_editor, statement_dataset
from analytics_core._engine.results.answer import ChartData, QueryResult
from analytics_core._engine.results.batch_stream import BatchStream
from analytics_core._engine.rights.row_rules import TableName
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.sql_query import SqlQuery
from analytics_core._sql.explanation import ExplainedSql
from analytics_core._sql.lineage import TableLineage, TableReaders, answer_lineage
from analytics_core._sql.reading import ColumnLineage, SqlProblem, begun_text, formatted, lineage_of, problems_of_script
from analytics_core._sql.result import SqlResult, answer_columns, client_result
from analytics_core._sql.runs import EXECUTE_SHAPE, SqlRuns, new_record, settled
from analytics_core.errors import (
    AlreadyExistsError,
    DatabaseError,
    DatabaseNotFoundError,
    ErrorType,
    JobGoneError,
    JobNotFoundError,
    NotFoundError,
    QueryAccessError,
    QueryError,
    StatementError,
    nearest,
)
from analytics_core.errors.base import known_list
from analytics_core.models.dataset import DatasetGet, DatasetPost, DatasetPut
from analytics_core.models.parsing import Payload, parse
from analytics_core.models.sql_editor import EstimateQueryCost, ExecutePayload, QueryExecutionResponse

Parameter = str | int | float | bool | bytes | Decimal | date | datetime | None
Parameters = Mapping[str, Parameter | Sequence[Parameter] | AbstractSet[Parameter]]
"""Values of `:name` in a statement, by name; a list goes after IN."""


class Sql(Namespace):
    """Statements that people write, under the row rules of whoever asks (contract, SQL editor and queries).

    Each relation of a statement carries the rules that bind the actor on its table. A statement is one query that only
    reads; whoever runs it needs a grant on the database, or on each table that it reads: by its schema, or by a dataset
    over it. The database must not be closed to the editor (`expose_in_sqllab`).
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
            TableAccessError: it reads tables on which the actor has no grant, whether they are there or not.
            StatementError: it is no SQL of the database, or its parameters do not fit.
            StatementRefusedError: it is not one query that only reads, or it reads what nobody may.
            DatabaseError: the database refuses it, or cannot be reached.

        Examples:
            >>> core.sql("SELECT country, SUM(amount) FROM orders GROUP BY country", database="shop").rowcount
            6
            >>> some = "SELECT COUNT(*) AS orders FROM orders WHERE country IN :some"
            >>> core.sql(some, database="shop", params={"some": ["France", "Germany"]})[0]
            (...,)
        """
        now = self._anew()
        question = _question(sql, params, schema, row_limit)
        named = now._database(database)
        try:
            answer = now._runtime.engine.sql_queries.run(now._request(), named, question)
        except DatabaseError as error:
            raise now._with_nearest_name(error, named, question) from None
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
            >>> with core.sql.batches("SELECT id FROM orders", database="shop") as batches:
            ...     sum(batch.num_rows for batch in batches) > 100
            True
        """
        question = _question(sql, params, schema, row_limit)
        return self._runtime.engine.sql_queries.stream(self._request(), self._database(database), question)

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
            >>> core.sql.explain("SELECT id FROM orders", database="shop").tables
            ('orders',)
        """
        question = _question(sql, params, schema, row_limit)
        ready = self._runtime.engine.sql_queries.ready(self._request(), self._database(database), question)
        return ExplainedSql.of(ready, self._runtime.engine.statements.budget_notes(ready.admission))

    def check(
        self, sql: str, *, database: int | str | None = None, schema: str | None = None
    ) -> tuple[SqlProblem, ...]:
        """Return what is wrong with a statement or a script, each problem with its place and the nearest names.

        Nothing runs. Tables and columns are compared with those that there are, as far as the actor may see them, but
        for those that a script makes or alters. No problems: one query can be asked, and `execute` takes scripts and
        changes of data, which the database may still refuse for reasons of its own. A template is rendered first;
        parameters of a query need no values.

        Raises:
            DatabaseNotFoundError, DatabaseAccessError, QueryError: as for `core.sql(...)`.

        Examples:
            >>> found = core.sql.check("SELECT ammount FROM orders", database=1)
            >>> [(one.line, one.column, one.suggestions) for one in found]
            [(1, 8, ('amount',))]
        """
        return self._problems(self._database(database), _question(sql, None, schema, None))

    def format(self, sql: str, *, database: int | str | None = None) -> str:
        """Return a statement laid out over lines, in the SQL of its database; comments stay.

        Raises:
            StatementError: it cannot be read.

        Examples:
            >>> print(core.sql.format("select id from orders where id=1", database=1))
            SELECT
              id
            FROM orders
            WHERE
              id = 1
        """
        return formatted(_text(sql), self._runtime.engine.sql_queries.spec_of(self._database(database)))

    def lineage(
        self,
        sql: str | None = None,
        *,
        database: int | str | None = None,
        schema: str | None = None,
        dataset: int | None = None,
        chart: int | None = None,
        dashboard: int | None = None,
    ) -> tuple[ColumnLineage, ...]:
        """Return which columns of which tables each column of an answer comes from; nothing runs.

        The answer is that of a statement, of a dataset (its columns and metrics), of a chart or of the charts of a
        dashboard, by their ids; virtual datasets, calculated columns and saved metrics are followed to their tables.

        Raises:
            TableAccessError: as for `core.sql(...)`.
            QueryError: not one of them is named.
            NotFoundError, AccessError: a record is unknown, or not for this actor.
            StatementError: it cannot be read, or a column cannot be traced.
            DatabaseError: a table is not there, or the database cannot be reached.

        Examples:
            >>> core.sql.lineage("SELECT country, SUM(amount) AS revenue FROM orders GROUP BY 1", database=1)[1].sources
            ('orders.amount',)
            >>> [one.sources for one in core.sql.lineage(chart=1)]
            [('orders.country',), ('orders.amount',)]
        """
        if sum(one is not None for one in (sql, dataset, chart, dashboard)) != 1:
            raise QueryError("name one of sql, dataset, chart and dashboard")
        if sql is None:
            return answer_lineage(self._runtime, self._actor, dataset=dataset, chart=chart, dashboard=dashboard)
        question, named = _question(sql, None, schema, None), self._database(database)
        return lineage_of(*begun_text(self._runtime, self._request(), named, question))

    def estimate(self, payload: EstimateQueryCost | Payload) -> tuple[dict[str, float], ...]:
        """Return what a statement, or each of a script, would cost (contract, `EstimateQueryCostSchema`); none runs.

        Each has the numbers that its engine estimates for it as it would run, with its limit, by name: PostgreSQL
        `startup_cost` and `total_cost` in its own unit, and `rows` of the result; MariaDB and MySQL `rows` that are
        examined; DuckDB `rows` of the result and `rows_of_steps`, those of all steps of the plan; BigQuery `bytes` that
        are read; Snowflake `bytes` and `partitions`; Trino `rows` and `bytes` of the result, and `cpu_cost`. A number
        that the engine does not know is left out; a statement that has no plan, such as DROP TABLE, has none.

        Raises:
            PayloadError: the payload breaks the shape.
            UnsupportedByEngineError: the engine estimates nothing, or not such a statement.
            StatementRefusedError: row rules bind on what is read: estimates come from all rows; and as `execute`.
            DatabaseAccessError: a view, whose plan tells of what is behind it, without a grant on the whole database.
            TableAccessError, StatementError, TemplateError, DatabaseError: as for `execute`.

        Examples:
            >>> import analytics_core
            >>> other = analytics_core.connect("duckdb://")
            >>> other.sql.estimate({"database_id": 1, "sql": "SELECT * FROM RANGE(10) AS numbers"})
            ({'rows': 10.0, 'rows_of_steps': 10.0},)
        """
        post = parse(EstimateQueryCost, payload, shape="EstimateQueryCostSchema")
        params = None if post.template_params is None else json.dumps(post.template_params)
        question = SqlQuestion(sql=post.sql, schema=post.schema_name or None, template_params=params)
        database = self._database(post.database_id)
        return tuple(map(dict, self._runtime.engine.sql_scripts.estimate(self._request(), database, question)))

    def _readers(
        self, table: str, *, database: int | str | None, schema: str | None, column: str | None
    ) -> TableLineage:
        """Return what reads a table; `AnalyticsCore.lineage` tells more."""
        found, name = self._database(database), TableName(table=table, schema=schema)
        self._runtime.engine.gate.admit(self._actor, found, on=name)
        return TableReaders(self._runtime, self._actor, found, name, column).lineage()

    def _problems(self, database: Database, question: SqlQuestion) -> tuple[SqlProblem, ...]:
        return problems_of_script(self._runtime, self._request(), database, question)

    def _with_nearest_name(self, error: DatabaseError, database: Database, question: SqlQuestion) -> DatabaseError:
        """Return an error of a table or column that is not there with the name that comes nearest."""
        if error.error_type not in (ErrorType.COLUMN_DOES_NOT_EXIST_ERROR, ErrorType.TABLE_DOES_NOT_EXIST_ERROR):
            return error
        found = next((one for one in self._problems(database, question) if one.suggestions), None)
        if found is None:
            return error
        message = f"{error.message}; did you mean {found.suggestions[0]!r}?"
        return DatabaseError(message, error_type=error.error_type, engine=error.engine, extra=error.extra)

    def save_as_dataset(
        self,
        name: str,
        sql: str | None = None,
        *,
        saved_query: int | None = None,
        query: int | None = None,
        database: int | str | None = None,
        schema: str | None = None,
        template_params: str | None = None,
    ) -> DatasetGet:
        """Store a statement as a virtual dataset, its columns read from the database, and return that.

        Args:
            name: of the dataset.
            sql: one SELECT. A saved query or an execution brings its SQL, database, schema and parameters itself.
            saved_query: the id of a saved query.
            query: the id of an execution.
            database: as for `core.sql(...)`.
            schema: where tables are that the statement names without a schema.
            template_params: values for its template, a JSON object as text.

        Raises:
            QueryError: none or several of `sql`, `saved_query` and `query`, or fields that such a record brings itself.
            NotFoundError, QueryAccessError: there is no such record, or it is the execution of somebody else.
            TableAccessError: it reads tables on which the actor has no grant.
            DatabaseAccessError: a template, which may read other tables later, without a grant on the whole database.
            AnalyticsError: as for `core.datasets.create`, with `sql`.

        Examples:
            >>> large = "SELECT country, amount FROM orders WHERE amount > 90"
            >>> core.sql.save_as_dataset("large", large, database="shop").is_sqllab_view
            True
        """
        plain, known = self._statement(sql, saved_query, query, (database, schema, template_params))
        fields = {"template_params": plain.template_params or template_params, "is_sqllab_view": True}
        put = parse(DatasetPut, fields, shape=_DATASET)
        if is_template(plain.sql or ""):
            self._runtime.engine.sql_queries.admit(self._actor, known)
        source = {"database": known.id, "table_name": name, "schema": plain.schema, "sql": plain.sql}
        post = parse(DatasetPost, source, shape=_DATASET)
        act = begin_act(self._runtime, self._actor, "dataset.create")
        record = new_dataset(post, owner_ids=(self._actor.id,), new_uuid=lambda: str(uuid4()))
        record = changed_dataset(record, put, owner_ids=record.owner_ids, new_uuid=lambda: str(uuid4()))
        datasets = Datasets(self._runtime, self._actor)
        return datasets._answer(datasets._store_new(record, known, act, is_statement=True), known)

    def _statement(
        self, sql: str | None, saved_query: int | None, query: int | None, own: tuple[Any, Any, Any]
    ) -> tuple[Dataset, Database]:
        """Return the statement that is meant, as a dataset without columns, and its database."""
        named = {"saved_query": saved_query, "query": query}
        stored = {kind: key for kind, key in named.items() if key is not None}
        if len(stored) + (sql is not None) != 1 or (stored and any(field is not None for field in own)):
            raise QueryError("name one of sql, saved_query and query; database, schema and template_params go with sql")
        for kind, key in stored.items():
            with self._runtime.store.unit_of_work() as unit:
                return statement_dataset(unit, self._runtime.policy, self._actor, kind=kind, key=key)
        named_database, schema, _ = own
        question, database = _question(sql, None, schema, None), self._database(named_database)
        require_open_editor(database)
        plain = Dataset(
            uuid="", database_id=database.id, table_name="statement", schema=question.schema, sql=question.sql
        )
        return plain, database

    def execute(self, payload: ExecutePayload | Payload) -> QueryExecutionResponse:
        """Run a statement, or a script of several, and keep a record of it (contract, `ExecutePayloadSchema`).

        All statements are checked before the first one runs, on one connection and in one transaction; the rows of the
        last query are the answer. Those that change data take `allow_dml` of the database, and no table whose row rules
        bind the actor. With `select_as_cta` a table or view (`ctas_method`) is made of the last query.

        A `client_id` that the actor gave before runs nothing again: the answer tells of that execution. With `runAsync`
        it runs in the background: `core.queries.get` tells how far it is, and `core.sql.results` gives its rows under
        `results_key`.

        Raises:
            PayloadError: the payload breaks the shape.
            DatabaseAccessError: the database takes nothing in the background (`allow_run_async`); and as `core.sql`.
            StatementRefusedError: a statement may not run, because of its kind, a flag or a row rule; then none did.
            StatementError: INVALID_CTAS_QUERY_ERROR, INVALID_CVAS_QUERY_ERROR: nothing can be made of it.
            AnalyticsError: what the statement fails with; its record tells it, too.

        Examples:
            >>> run = core.sql.execute({"database_id": 1, "sql": "SELECT COUNT(*) AS n FROM orders", "queryLimit": 5})
            >>> run.status, run.query.limiting_factor, run.query.rows
            ('success', 'NOT_LIMITED', 1)
        """
        post = parse(ExecutePayload, payload, shape=EXECUTE_SHAPE)
        database = self._database(post.database_id)
        runs = SqlRuns(self._runtime, self._actor)
        query, is_new = runs.begin(new_record(self._runtime, post, database, self._actor))
        if not is_new:
            if query.sql != post.sql:
                raise AlreadyExistsError("query of another statement", "client_id", query.client_id)
            return self._response(settled(self._runtime, query), database, None)
        if post.run_async:
            submitted = runs.submit(query, database, find_actor=lambda: self._anew()._actor)
            return self._response(submitted, database, None)
        done, answer = runs.run_here(query, database)
        return self._response(done, database, answer.result)

    def results(self, key: str) -> QueryExecutionResponse:
        """Return the rows of an execution in the background, by its `results_key`; it must be over.

        Raises:
            QueryAccessError: it is somebody else's, or other row rules bind the actor now.
            QueryError: RESULTS_BACKEND_ERROR: the rows are not kept any more.
            JobError: it is not over yet.
            AnalyticsError: what the statement failed with.

        Examples:
            >>> core.databases.update(1, {"allow_run_async": True}).id
            1
            >>> run = core.sql.execute({"database_id": 1, "sql": "SELECT 1 AS one", "runAsync": True})
            >>> core.sql.results(run.query.results_key).data
            ({'one': 1},)
        """
        with self._runtime.store.unit_of_work() as unit:
            query = unit.sql_queries.find(results_key=key) if key else None
            if query is None:
                raise NotFoundError("query", key)
            if query.user_id != self._actor.id:
                raise QueryAccessError(f"query {query.id} is somebody else's; run the statement yourself")
            database = unit.databases.get(query.database_id)
        try:
            record = job_record(self._runtime, key, owner=str(self._actor.id))
            answer: ChartData = job_of(self._runtime, record, find_actor=lambda: self._actor).result(0)
        except JobGoneError:
            message = f"the rows of query {query.id} are not kept any more; run the statement again"
            raise QueryError(message, error_type=ErrorType.RESULTS_BACKEND_ERROR) from None
        except JobNotFoundError:
            message = f"other row rules bind you now than when query {query.id} ran; run the statement again"
            raise QueryAccessError(message) from None
        return self._response(settled(self._runtime, query), database, answer.results[0])

    def _response(self, query: SqlQuery, database: Database, result: QueryResult | None) -> QueryExecutionResponse:
        columns = None if result is None else answer_columns(result, expand=query.expand_data)
        return QueryExecutionResponse(
            query_id=query.id,
            status=query.state.value,
            query=client_result(query, database, self._actor),
            columns=() if columns is None else columns.columns,
            selected_columns=() if columns is None else columns.selected,
            expanded_columns=() if columns is None else columns.expanded,
            data=() if columns is None else columns.data,
        )

    def _request(self) -> ChartRequest:
        return self._runtime.request(self._actor)

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
                database = unit.databases.get(named)
                if not reader.reads_within(database):
                    reader.policy.require_read_database(self._actor, database)
                return database
            found = [database for database in every(unit.databases) if reader.reads_within(database)]
        by_name = {database.database_name: database for database in found}
        if named is None:
            return _only(by_name)
        if isinstance(named, str) and named in by_name:
            return by_name[named]
        close = nearest(str(named), by_name)
        known = f"there are: {known_list(sorted(by_name))}" if by_name else "none"
        hint = f"did you mean {close[0]!r}?" if close else known
        raise DatabaseNotFoundError(named, place=f"({hint})")


def _only(databases: Mapping[str, Database]) -> Database:
    if len(databases) == 1:
        return next(iter(databases.values()))
    if not databases:
        raise QueryError("this core has no database that you may read; make one with databases.create")
    known = known_list(sorted(databases))
    raise QueryError(f"this core has {len(databases)} databases; name the one that is meant by database=: {known}")


def _text(sql: Any) -> str:
    if not isinstance(sql, str):
        raise StatementError(f"a statement is text, not {type(sql).__name__}")
    return sql


def _question(sql: Any, params: Any, schema: Any, row_limit: int | None) -> SqlQuestion:
    if not isinstance(schema, str | None):
        raise StatementError(f"a schema is named by text, not {type(schema).__name__}")
    return SqlQuestion(sql=_text(sql), schema=schema or None, values=checked_values(params), row_limit=row_limit)


_DATASET = "DatasetRestApi.post"

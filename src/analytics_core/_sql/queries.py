"""`core.queries`: what was run in the SQL editor, and where it stands."""

from __future__ import annotations

from dataclasses import replace

from analytics_core._content.batches import by_ids, is_stored_id
from analytics_core._content.field_formatter import answer_as
from analytics_core._content.lists import (
    Columns,
    Filters,
    Listing,
    Order,
    Page,
    PageFacts,
    ResourceLists,
    anybody,
)
from analytics_core._content.namespace import NamespaceWithDistinct
from analytics_core._content.reader import Reader
from analytics_core._engine.querying.stored_statements import require_own_query
from analytics_core._records.datasource import Database
from analytics_core._records.repositories import ListFilter, ListQuery
from analytics_core._records.sql_query import QueryState, SqlQuery
from analytics_core._sql.runs import now_ms, settled
from analytics_core.errors import NotFoundError
from analytics_core.models.dataset import DatabaseNameOnly
from analytics_core.models.sql_editor import DatabaseOfQuery, QueryGet, QueryListItem


def _own(reader: Reader, query: ListQuery) -> ListQuery:
    """Narrow a list to the actor's own executions, unless they see those of all."""
    if reader.policy.reads_all_activity(reader.actor):
        return query
    return replace(query, filters=(*query.filters, ListFilter(col="user_id", op="eq", val=reader.actor.id)))


def _item(query: SqlQuery, facts: PageFacts) -> QueryListItem:
    database: Database | None = facts.linked.get(query.database_id)
    name = None if database is None else DatabaseNameOnly(database_name=database.database_name)
    return facts.answer(
        QueryListItem,
        query,
        status=query.state.value,
        schema=query.schema,
        database=name,
        sql_tables=tuple({"table": table} for table in query.tables),
        user=facts.people.details(query.user_id),
        tracking_url=query.tracking_url,
    )


LISTS = ResourceLists(
    listing=Listing(
        shape="query",
        item=QueryListItem,
        integers=("user", "database", "rows"),
        numbers=("start_time", "end_time"),
        texts=("status", "schema", "sql", "executed_sql", "tab_name", "sql_editor_id", "sql_tables", "client_id"),
        stored_as={"user": "user_id", "database": "database_id", "status": "state"},
    ),
    repository=lambda unit: unit.sql_queries,
    item=_item,
    permission=anybody,
    visibility=_own,
    linked=lambda reader, queries: by_ids(reader.unit.databases, {query.database_id for query in queries}),
    people_of=lambda query: (query.user_id,),
    people=("user",),
    distinct=("status",),
)


_UNFINISHED = ListQuery(filters=(ListFilter(col="state", op="in", val=("pending", "running")),), page_size=200)


class Queries(NamespaceWithDistinct[QueryListItem]):
    """What the actor executed; administrators see what everybody did.

    `related` takes `user`, `distinct` takes `status`.
    """

    _resource = LISTS

    def list(
        self, filters: Filters = (), order_by: Order = None, page: int = 0, page_size: int = 25, columns: Columns = None
    ) -> Page[QueryListItem]:
        """Return one page of executions; arguments and errors are those of every list.

        `user` and `database` are filtered by their ids, `status`, `sql`, `executed_sql`, `sql_tables` and the names of
        the editor as texts, `start_time` and `end_time` as milliseconds since 1970.

        Examples:
            >>> run = core.sql.execute({"database_id": 1, "sql": "SELECT COUNT(*) AS n FROM orders"})
            >>> core.queries.list([{"col": "sql_tables", "op": "contains", "val": "orders"}]).count
            1
        """
        with self._runtime.store.unit_of_work() as unit:
            unfinished = unit.sql_queries.list(_own(self._reader(unit), _UNFINISHED))[1]
        for query in unfinished:
            settled(self._runtime, query)
        return super().list(filters, order_by, page, page_size, columns)

    def get(self, query_id: int) -> QueryGet:
        """Return one execution (contract, `QueryRestApi.get`).

        Raises:
            NotFoundError: there is none.
            QueryAccessError: it is somebody else's.

        Examples:
            >>> run = core.sql.execute({"database_id": 1, "sql": "SELECT 1 AS one"})
            >>> core.queries.get(run.query_id).status
            'success'
        """
        query = self._query(query_id)
        database = DatabaseOfQuery(id=query.database_id)
        fields = {"status": query.state.value, "schema": query.schema, "tracking_url": query.tracking_url}
        return answer_as(QueryGet, query, database=database, **fields)

    def stop(self, query: int | str) -> None:
        """Stop an execution, in whichever process it runs: one that waits never begins, else its statement is stopped.

        It returns at once; one that is over stays as it is.

        Args:
            query: its id, or the `client_id` that the actor gave it.

        Raises:
            NotFoundError: there is none.
            QueryAccessError: it is somebody else's.

        Examples:
            >>> run = core.sql.execute({"database_id": 1, "sql": "SELECT 1 AS one", "client_id": "mine"})
            >>> core.queries.stop("mine")
        """
        found = self._query(query)
        if found.state.is_over:
            return
        self._runtime.job_registry.cancel(found.job_id)
        with self._runtime.store.unit_of_work() as unit:
            now = unit.sql_queries.get(found.id)
            fields = {"error_message": "it was stopped before it began", "end_time": now_ms(self._runtime)}
            stopped = now.moved(QueryState.STOPPED, **fields) if now.state is QueryState.PENDING else None
            if stopped is not None:
                unit.sql_queries.update(stopped, actor_id=self._actor.id)

    def _query(self, key: int | str) -> SqlQuery:
        with self._runtime.store.unit_of_work() as unit:
            if isinstance(key, str):
                found = unit.sql_queries.find(user_id=self._actor.id, client_id=key)
            else:
                found = unit.sql_queries.find(id=key) if is_stored_id(key) else None
            if found is None:
                raise NotFoundError("query", key)
            require_own_query(self._runtime.policy, self._actor, found)
        return settled(self._runtime, found)

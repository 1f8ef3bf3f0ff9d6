"""`core.saved_queries`: statements that people keep, to run them again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

from analytics_core._content.batches import by_ids, every
from analytics_core._content.changes import reject_later_change, repeated
from analytics_core._content.charts.records import named_tags
from analytics_core._content.checks.report import CheckedRecord
from analytics_core._content.field_formatter import answer_as
from analytics_core._content.lists import Listing, PageFacts, ResourceLists, anybody
from analytics_core._content.namespace import NamespaceWithDistinct
from analytics_core._content.reader import Reader
from analytics_core._content.related_names import tag_reference
from analytics_core._content.user_directory import read_users
from analytics_core._content.written_back import read_changes
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.querying.chart_request import ChartRequest
from analytics_core._engine.querying.sql_queries import saved_question
from analytics_core._records.datasource import Database
from analytics_core._records.repositories import ListQuery, NamesQuery, UnitOfWork
from analytics_core._records.sql_query import SavedQuery
from analytics_core._sql.reading import KnownTables, problems_of
from analytics_core.errors import DatabaseAccessError, MissingTemplateValueError, TemplateError
from analytics_core.models.dataset import DatabaseOfDatasetItem
from analytics_core.models.parsing import Payload, parse
from analytics_core.models.references import TagReference
from analytics_core.models.sql_editor import SavedQueryGet, SavedQueryListItem, SavedQueryPost, SavedQueryPut

_SHAPE: Final = "saved query payload"


@dataclass(frozen=True, slots=True)
class _LinkedRecords:
    """What stands around saved queries: their databases and their tags, by id."""

    databases: Mapping[int, Database]
    tags: Mapping[int, TagReference]

    @classmethod
    def read(cls, unit: UnitOfWork, queries: list[SavedQuery]) -> _LinkedRecords:
        """Return what stands around these saved queries."""
        tags = unit.names(NamesQuery(tags=frozenset(key for query in queries for key in query.tag_ids))).tags
        return cls(
            databases=by_ids(unit.databases, {query.database_id for query in queries}),
            tags={key: tag_reference(tag) for key, tag in tags.items()},
        )

    def fields(self, query: SavedQuery) -> dict[str, Any]:
        """Return the fields of an answer that tell of them."""
        database = self.databases[query.database_id]
        return {
            "database": DatabaseOfDatasetItem(id=database.id, database_name=database.database_name),
            "schema": query.schema,
            "tags": tuple(self.tags[key] for key in query.tag_ids if key in self.tags),
        }


def _readable(reader: Reader, query: ListQuery) -> ListQuery:
    """Narrow a list to saved queries that the actor may see."""
    seen = reader.visible_saved_queries()
    return replace(query, filters=(*query.filters, *seen.filters), ids=seen.ids)


def _item(query: SavedQuery, facts: PageFacts) -> SavedQueryListItem:
    around: _LinkedRecords = facts.linked
    return facts.answer(SavedQueryListItem, query, **around.fields(query))


LISTS = ResourceLists(
    listing=Listing(
        shape="saved query",
        item=SavedQueryListItem,
        integers=("database",),
        texts=("label", "description", "sql", "schema", "uuid"),
        links=("tags",),
        stored_as={"database": "database_id", "tags": "tag_ids"},
    ),
    repository=lambda unit: unit.saved_queries,
    item=_item,
    permission=anybody,
    visibility=_readable,
    linked=lambda reader, queries: _LinkedRecords.read(reader.unit, list(queries)),
    distinct=("label", "schema"),
)


class SavedQueries(NamespaceWithDistinct[SavedQueryListItem]):
    """Saved queries: whoever may run a statement saves it, for whoever has a grant on the whole database.

    Creators read and change their own as long as they may read a table there.

    `related` takes `created_by` or `changed_by`, `distinct` takes `label` or `schema`.
    """

    _resource = LISTS

    def create(self, payload: SavedQueryPost | Payload) -> SavedQueryGet:
        """Keep a statement that `core.sql` takes; templates and parameters are looked at when it runs.

        Raises:
            PayloadError: the payload breaks the shape.
            DatabaseAccessError: the actor may not write SQL on this database.
            TableAccessError: it reads tables on which the actor has no grant.
            MissingTemplateValueError: without a grant on the whole database, a template that lacks values.
            StatementError, StatementRefusedError: no statement that could ever run.

        Examples:
            >>> query = {"label": "Countries", "database": 1, "sql": "SELECT DISTINCT country FROM orders"}
            >>> core.sql(core.saved_queries.create(query).sql, database=1).rowcount
            6
        """
        post = parse(SavedQueryPost, payload, shape=_SHAPE)
        with self._acting("saved_query.create") as (act, unit):
            record = SavedQuery(
                uuid=str(uuid4()),
                label=post.label,
                database_id=post.database,
                sql=post.sql,
                description=post.description,
                schema=post.schema_name,
                template_params=post.template_params,
                tag_ids=named_tags(unit, post.tags, shape=_SHAPE),
            )
            self._check(unit, record)
            stored = act.add(unit, unit.saved_queries, record, "saved_query")
        return self._answer(stored)

    def get(self, query_id: int) -> SavedQueryGet:
        """Return a saved query.

        Raises:
            NotFoundError: there is none.
            DatabaseAccessError: the actor has no grant on its whole database, nor made it.

        Examples:
            >>> made = core.saved_queries.create({"label": "One", "database": 1, "sql": "SELECT 1 AS one"})
            >>> core.saved_queries.get(made.id).label
            'One'
        """
        with self._runtime.store.unit_of_work() as unit:
            query = self._readable(unit, query_id)
        return self._answer(query)

    @repeated
    def update(
        self,
        query_id: int,
        payload: SavedQueryPut | SavedQueryGet | Payload,
        *,
        unchanged_since: datetime | str | None = None,
    ) -> SavedQueryGet:
        """Change a saved query; only its creator and administrators may.

        With `unchanged_since`, the `changed_on` of what the caller read, a change that somebody else made since is not
        overwritten.

        Raises:
            PayloadError: as in `create`.
            DatabaseAccessError, TableAccessError, MissingTemplateValueError: as in `create` and `get`.
            OwnershipError: somebody else made it.
            StaleVersionError: somebody else changed it meanwhile.

        Examples:
            >>> made = core.saved_queries.create({"label": "One", "database": 1, "sql": "SELECT 1 AS one"})
            >>> core.saved_queries.update(made.id, {"label": "Uno"}).label
            'Uno'
        """
        answers = self._answers(SavedQueryGet, self.get, query_id)
        put = read_changes(SavedQueryPut, payload, shape=_SHAPE, answers=answers)
        given = put.given()
        names = {"database": "database_id", "schema_name": "schema", "schema": "schema"}
        with self._acting("saved_query.update") as (act, unit):
            before = self._readable(unit, query_id)
            self._runtime.policy.require_write_saved_query(self._actor, before)
            reject_later_change(before, unchanged_since)
            changes = {names.get(name, name): value for name, value in given.items() if name != "tags"}
            if put.tags is not None:
                changes["tag_ids"] = named_tags(unit, put.tags, shape=_SHAPE)
            after = replace(before, **changes)
            self._check(unit, after)
            stored = act.update(unit, unit.saved_queries, before, after, details={"saved_query": query_id})
        return self._answer(stored)

    @repeated
    def delete(self, query_id: int) -> None:
        """Forget a saved query; only its creator and administrators may.

        Examples:
            >>> made = core.saved_queries.create({"label": "One", "database": 1, "sql": "SELECT 1 AS one"})
            >>> core.saved_queries.delete(made.id)
        """
        with self._acting("saved_query.delete") as (act, unit):
            self._runtime.policy.require_write_saved_query(self._actor, self._readable(unit, query_id))
            act.delete(unit, unit.saved_queries, query_id, details={"saved_query": query_id})

    def _checked(self) -> Iterator[CheckedRecord]:
        """Yield each saved query with what is wrong with it today; a database that cannot be reached is asked once."""
        with self._runtime.store.unit_of_work() as unit:
            reader = self._reader(unit)
            seen = reader.visible_saved_queries()
            queries = tuple(every(unit.saved_queries, seen.filters, ids=seen.ids))
            databases = by_ids(unit.databases, {query.database_id for query in queries})
        known: dict[tuple[int, str | None], KnownTables] = {}
        away: dict[int, str] = {}
        for query in queries:
            database = databases[query.database_id]
            problems: tuple[str, ...] = (away[database.id],) if database.id in away else ()
            notes: tuple[str, ...] = ()
            if not problems:
                tables = known.setdefault(
                    (database.id, query.schema),
                    KnownTables(self._runtime, self._actor, database, self._spec(database), query.schema),
                )
                problems, notes = self._problems(query, tables)
                away.update((database.id, error.message) for error in tables.errors if error.retryable)
            yield CheckedRecord(
                kind="saved query", id=query.id, uuid=query.uuid, name=query.label, problems=problems, notes=notes
            )

    def _problems(self, query: SavedQuery, tables: KnownTables) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return what is wrong with a saved query, and why it was not looked at."""
        try:
            rendered = self._runtime.engine.sql_queries.begun(
                self._request(), tables.database, saved_question(query)
            ).rendered
        except (MissingTemplateValueError, DatabaseAccessError) as error:
            return (), (f"it was not looked at: {error.message}",)
        except TemplateError as error:
            return (error.message,), ()
        return tuple(dict.fromkeys(problem.message for problem in problems_of(rendered, tables))), ()

    def _spec(self, database: Database) -> EngineSpec:
        return self._runtime.engine.registry.get(database.engine)

    def _readable(self, unit: UnitOfWork, query_id: int) -> SavedQuery:
        query = unit.saved_queries.get(query_id)
        self._reader(unit).require_saved_query(query)
        return query

    def _check(self, unit: UnitOfWork, query: SavedQuery) -> None:
        database = unit.databases.get(query.database_id)
        if not self._reader(unit).reads_within(database):
            self._runtime.policy.require_read_database(self._actor, database)
        self._runtime.engine.sql_queries.check_saved(self._request(), database, saved_question(query))

    def _request(self) -> ChartRequest:
        return self._runtime.request(self._actor)

    def _answer(self, query: SavedQuery) -> SavedQueryGet:
        with self._runtime.store.unit_of_work() as unit:
            around = _LinkedRecords.read(unit, [query])
        people = read_users(self._runtime.people, (query.audit.created_by,))
        return answer_as(
            SavedQueryGet, query, created_by=people.reference(query.audit.created_by), **around.fields(query)
        )

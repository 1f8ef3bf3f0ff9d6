"""`core.saved_queries`: statements that people keep, to run them again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

from analytics_core._compile.templates import is_template
from analytics_core._querying.sql_parameters import without_parameters
from analytics_core._records.datasource import Database
from analytics_core._records.repositories import ListFilter, ListQuery, NamesQuery, UnitOfWork
from analytics_core._records.sql_query import SavedQuery
from analytics_core._resources.batches import by_ids
from analytics_core._resources.changes import begin_act, reject_later_change, repeated
from analytics_core._resources.charts.records import named_tags
from analytics_core._resources.field_formatter import shown_as
from analytics_core._resources.lists import Listing, PageFacts, ResourceLists, anybody
from analytics_core._resources.namespace import NamespaceWithDistinct
from analytics_core._resources.people.directory import read_users
from analytics_core._resources.reader import Reader
from analytics_core._resources.related_names import tag_reference
from analytics_core._resources.written_back import read_changes
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
    """Narrow a list to saved queries of databases on which the actor may run SQL."""
    found = reader.unit.databases.list(ListQuery(page_size=10_000))[1]
    ids = [one.id for one in found if reader.policy.can_query_database(reader.actor, one)]
    return replace(query, filters=(*query.filters, ListFilter(col="database_id", op="in", val=ids)))


def _item(query: SavedQuery, facts: PageFacts) -> SavedQueryListItem:
    around: _LinkedRecords = facts.linked
    return facts.shown(SavedQueryListItem, query, **around.fields(query))


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
    """Saved queries: whoever may run SQL on their database reads and makes them, creators change them.

    `related` takes `created_by` or `changed_by`, `distinct` takes `label` or `schema`.
    """

    _resource = LISTS

    def create(self, payload: SavedQueryPost | Payload) -> SavedQueryGet:
        """Keep a statement that `core.sql` takes; templates and parameters are looked at when it runs.

        Raises:
            PayloadError: the payload breaks the shape.
            DatabaseAccessError: the actor may not write SQL on this database.
            StatementError, StatementRefusedError: no statement that could ever run.

        Examples:
            >>> query = {"label": "Countries", "database": 1, "sql": "SELECT DISTINCT country FROM orders"}
            >>> core.sql(core.saved_queries.create(query).sql, database=1).rowcount
            6
        """
        post = parse(SavedQueryPost, payload, shape=_SHAPE)
        act = begin_act(self._runtime, self._actor, "saved_query.create")
        with self._runtime.store.unit_of_work() as unit:
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
            stored = unit.saved_queries.add(record, actor_id=self._actor.id)
            act.log(unit, details={"saved_query": stored.id})
        return self._answer(stored)

    def get(self, query_id: int) -> SavedQueryGet:
        """Return a saved query.

        Raises:
            NotFoundError: there is none.
            DatabaseAccessError: the actor may not write SQL on its database.

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
            DatabaseAccessError: as in `get`.
            OwnershipError: somebody else made it.
            StaleVersionError: somebody else changed it meanwhile.

        Examples:
            >>> made = core.saved_queries.create({"label": "One", "database": 1, "sql": "SELECT 1 AS one"})
            >>> core.saved_queries.update(made.id, {"label": "Uno"}).label
            'Uno'
        """
        answers = self._answers(SavedQueryGet, self.get, query_id)
        put = read_changes(SavedQueryPut, payload, shape=_SHAPE, answers=answers)
        act = begin_act(self._runtime, self._actor, "saved_query.update")
        given = put.given()
        names = {"database": "database_id", "schema_name": "schema", "schema": "schema"}
        with self._runtime.store.unit_of_work() as unit:
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
        act = begin_act(self._runtime, self._actor, "saved_query.delete")
        with self._runtime.store.unit_of_work() as unit:
            self._runtime.policy.require_write_saved_query(self._actor, self._readable(unit, query_id))
            unit.saved_queries.delete(query_id)
            act.log(unit, details={"saved_query": query_id})

    def _readable(self, unit: UnitOfWork, query_id: int) -> SavedQuery:
        query = unit.saved_queries.get(query_id)
        self._runtime.policy.require_query_database(self._actor, unit.databases.get(query.database_id))
        return query

    def _check(self, unit: UnitOfWork, query: SavedQuery) -> None:
        """Refuse what could never run, as far as that is known without its templates and parameters."""
        admission = self._runtime.sql_queries.admit(self._actor, unit.databases.get(query.database_id))
        if not is_template(query.sql):
            self._runtime.gate.statement(admission.spec, without_parameters(query.sql, admission.spec))

    def _answer(self, query: SavedQuery) -> SavedQueryGet:
        with self._runtime.store.unit_of_work() as unit:
            around = _LinkedRecords.read(unit, [query])
        people = read_users(self._runtime.people, (query.audit.created_by,))
        return shown_as(
            SavedQueryGet, query, created_by=people.reference(query.audit.created_by), **around.fields(query)
        )

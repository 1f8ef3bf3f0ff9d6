"""The lists of a resource, the choices for its related fields and the different values of a field, for one actor.

Each call goes one way: the permission, what was given is checked, one unit of work reads what the actor may see, the
answer is written. What may be chosen is what filters of the list take: the related field and the filter have the same
name where the list has such a filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic

from analytics_core._engines.registry import EngineRegistry
from analytics_core._records.repositories import ListFilter, ListQuery, Repository, UnitOfWork
from analytics_core._resources.batches import every_value
from analytics_core._resources.field_formatter import FieldFormatter, readable_now
from analytics_core._resources.listing import (
    LONGEST_SEARCH,
    Columns,
    Filters,
    Item,
    Listing,
    Order,
    Page,
    check_page,
    only,
)
from analytics_core._resources.people.directory import ChoiceQuery, UserIndex, all_users, people_unstored, read_users
from analytics_core._resources.reader import DASHBOARD_PARTS, Reader
from analytics_core._runtime import Runtime
from analytics_core._security.actor import Actor
from analytics_core._security.policy import Permission, Policy
from analytics_core.errors import PayloadSchemaError, Problem, UnknownNameError
from analytics_core.models.lists import DistinctItem, DistinctResponse, RelatedItem, RelatedResponse

Visibility = Callable[[Reader, ListQuery], ListQuery]
"""Narrows a query of records to what an actor may see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """What the items of a page are written with; `linked` is what the resource read beside the records."""

    linked: Any
    people: UserIndex
    readable: FieldFormatter
    registry: EngineRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordChoices:
    """Records of one kind that may be chosen: what the actor may see of them, and the column that people read.

    `without` names parts of the records that a choice does not show, which are left unread.
    """

    repository: Callable[[UnitOfWork], Repository[Any]]
    visibility: Visibility
    text: str
    without: frozenset[str] = frozenset()


def anybody(_policy: Policy, _actor: Actor) -> None:
    """Refuse nobody: what an actor may see is narrowed, not forbidden."""


def _nothing(_reader: Reader, _records: Sequence[Any]) -> None:
    """Read nothing beside the records of a page."""


def makers(record: Any) -> tuple[int | None, ...]:
    """Return who made and who changed a record."""
    return (record.audit.created_by, record.audit.changed_by)


def makers_and_owners(record: Any) -> tuple[int | None, ...]:
    """Return who made, changed and owns a record."""
    return (*makers(record), *record.owner_ids)


def all_of_it(_reader: Reader, query: ListQuery) -> ListQuery:
    """Return the query as it is, for a resource that whoever may ask for it sees whole."""
    return query


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLists(Generic[Item]):
    """How one resource is listed and looked up.

    `permission` raises unless the actor may ask at all, `parent` unless there is what the records belong to;
    `visibility` says which records they see, and `narrower` of which records the values of a field are told, where
    those are fewer. `item` writes a record of a page, with what `linked` read in the same unit of work and with the
    people of `people_of`. `people` maps related fields to the column with users' ids, `records` maps the others to
    their choices; `distinct` maps fields to their columns.
    """

    listing: Listing
    repository: Callable[[UnitOfWork], Repository[Any]]
    item: Callable[[Any, PageFacts], Item]
    permission: Callable[[Policy, Actor], None]
    visibility: Visibility
    parent: Callable[[UnitOfWork], object] | None = None
    linked: Callable[[Reader, Sequence[Any]], Any] = _nothing
    people_of: Callable[[Any], Iterable[int | None]] = makers
    narrower: Mapping[str, Visibility] = field(default_factory=dict)
    people: Mapping[str, str] = field(default_factory=dict)
    records: Mapping[str, RecordChoices] = field(default_factory=dict)
    distinct: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lists(Generic[Item]):
    """The lists of one resource, as one actor may ask for them: `list`, `related` and `distinct` of a namespace."""

    runtime: Runtime
    actor: Actor
    resource: ResourceLists[Item]

    def page(self, filters: Filters, order_by: Order, page: int, page_size: int, columns: Columns) -> Page[Item]:
        """Return one page of the records that the actor may see.

        Raises:
            AccessError: the actor may not ask.
            PayloadSchemaError: an unknown column or operator, a value of another kind, or a page out of bounds.
        """
        resource, listing = self.resource, self.resource.listing
        resource.permission(self.runtime.policy, self.actor)
        fields = listing.fields(columns)
        query = listing.query(filters=filters, order_by=order_by, page=page, page_size=page_size, ids=None)
        with self.runtime.store.unit_of_work() as unit:
            if resource.parent is not None:
                resource.parent(unit)
            reader = self._reader(unit)
            count, found = resource.repository(unit).list(resource.visibility(reader, query))
            linked = resource.linked(reader, found)
        people = read_users(self.runtime.people, (person for record in found for person in resource.people_of(record)))
        facts = PageFacts(
            linked=linked, people=people, readable=readable_now(self.runtime), registry=self.runtime.registry
        )
        return Page(count=count, result=tuple(only(resource.item(record, facts), fields) for record in found))

    def related(self, name: str, text: str, page: int, page_size: int) -> RelatedResponse:
        """Return the choices of a related field that the actor may see (contract, `RelatedResponseSchema`).

        People are, for administrators, all stored users; for others themselves and whom the records that they may see
        name in this field.

        Raises:
            AccessError: the actor may not ask.
            UnknownNameError: the resource has no such related field.
            PayloadSchemaError: a page out of bounds, or a `filter` that is no text or too long.
        """
        resource, known = self.resource, (*self.resource.people, *self.resource.records)
        self._require()
        if name not in known:  # asked of a tuple, so that what cannot be hashed is no more than unknown
            raise UnknownNameError(name, place=f"the related fields of {resource.listing.shape}s", known=known)
        wanted = _checked(text, page, page_size, shape=f"the choices of {name!r}")
        if name in resource.people:
            return self._people(resource.people[name], wanted)
        return self._records(resource.records[name], wanted)

    def distinct(self, name: str, text: str, page: int, page_size: int) -> DistinctResponse:
        """Return the values of a field among the records that the actor may see, sorted; nulls are left out.

        Contract, `DistincResponseSchema`.

        Raises:
            AccessError: the actor may not ask.
            UnknownNameError: the distinct values of this field cannot be asked for.
            PayloadSchemaError: a page out of bounds, or a `filter` that is no text or too long.
        """
        resource, known = self.resource, tuple(self.resource.distinct)
        self._require()
        if name not in known:
            raise UnknownNameError(name, place=f"the distinct fields of {resource.listing.shape}s", known=known)
        wanted, column = _checked(text, page, page_size, shape=f"the values of {name!r}"), resource.distinct[name]
        visibility = resource.narrower.get(name, resource.visibility)
        with self.runtime.store.unit_of_work() as unit:
            query = visibility(self._reader(unit), _query(column, wanted))
            count, values = resource.repository(unit).distinct(column, query)
        return DistinctResponse(count=count, result=tuple(DistinctItem(text=str(value)) for value in values))

    def _require(self) -> None:
        """Raise unless the actor may ask, and what the records belong to is there."""
        self.resource.permission(self.runtime.policy, self.actor)
        if self.resource.parent is not None:
            with self.runtime.store.unit_of_work() as unit:
                self.resource.parent(unit)

    def _records(self, choices: RecordChoices, wanted: ChoiceQuery) -> RelatedResponse:
        ordered = replace(_query(choices.text, wanted), order_by=((choices.text, False),), without=choices.without)
        with self.runtime.store.unit_of_work() as unit:
            count, found = choices.repository(unit).list(choices.visibility(self._reader(unit), ordered))
        items = (RelatedItem(value=record.id, text=getattr(record, choices.text), extra={}) for record in found)
        return RelatedResponse(count=count, result=tuple(items))

    def _people(self, column: str, wanted: ChoiceQuery) -> RelatedResponse:
        with self.runtime.store.unit_of_work() as unit:
            named = self._named(self._reader(unit), column)
            is_whole = self.runtime.policy.sees_all(Permission.MANAGE_PEOPLE, self.actor)
            ids = people_unstored(unit, self.runtime, self.actor, named) if is_whole else set(named)
        if is_whole:
            return all_users(self.runtime, self.actor, ids, wanted)
        seen = {**read_users(self.runtime.people, ids - {self.actor.id}).users, self.actor.id: self.actor.user}
        return wanted.cut(seen.values())

    def _named(self, reader: Reader, column: str) -> Iterator[int]:
        """Yield the people whom visible records name in a column; nothing is read before the first is taken."""
        visible = self.resource.visibility(reader, ListQuery())
        yield from every_value(self.resource.repository(reader.unit), column, visible)

    def _reader(self, unit: UnitOfWork) -> Reader:
        return Reader(unit, self.runtime.policy, self.actor)


def _checked(text: Any, page: int, page_size: int, *, shape: str) -> ChoiceQuery:
    check_page(page, page_size, shape=shape)
    if not isinstance(text, str) or len(text) > LONGEST_SEARCH:
        message = f"must be text of {LONGEST_SEARCH} characters at most"
        raise PayloadSchemaError(shape=shape, problems=[Problem(path="filter", message=message)])
    return ChoiceQuery(text=text, page=page, page_size=page_size)


def _query(column: str, wanted: ChoiceQuery) -> ListQuery:
    searched = (ListFilter(col=column, op="contains", val=wanted.text),) if wanted.text else ()
    return ListQuery(filters=searched, page=wanted.page, page_size=wanted.page_size)


def _own_roles(reader: Reader, query: ListQuery) -> ListQuery:
    sees_all = reader.policy.sees_all(Permission.MANAGE_PEOPLE, reader.actor)
    return replace(query, ids=None if sees_all else reader.actor.role_ids)


ROLES = RecordChoices(
    repository=lambda unit: unit.roles, visibility=_own_roles, text="name", without=frozenset({"grants"})
)
TAGS = RecordChoices(repository=lambda unit: unit.tags, visibility=all_of_it, text="name")
DATABASES = RecordChoices(
    repository=lambda unit: unit.databases,
    visibility=lambda reader, query: reader.visible("databases", query),
    text="database_name",
)
DATASETS = RecordChoices(
    repository=lambda unit: unit.datasets,
    visibility=lambda reader, query: reader.visible("datasets", query),
    text="table_name",
    without=frozenset({"columns", "metrics", "owner_ids"}),
)
CHARTS = RecordChoices(
    repository=lambda unit: unit.charts,
    visibility=lambda reader, query: reader.visible("charts", query),
    text="slice_name",
    without=frozenset({"owner_ids", "tag_ids"}),
)
DASHBOARDS = RecordChoices(
    repository=lambda unit: unit.dashboards,
    visibility=lambda reader, query: reader.visible("dashboards", query),
    text="dashboard_title",
    without=DASHBOARD_PARTS,
)

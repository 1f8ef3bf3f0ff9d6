"""Choices for related fields, such as the owners of charts, and the distinct values of a field.

What may be chosen is what filters of the list take: the related field and the filter have the same name where the list
has such a filter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from analytics_core._records.repositories import ListFilter, ListQuery, Repository, UnitOfWork
from analytics_core._resources.batches import every_value
from analytics_core._resources.listing import LONGEST_SEARCH, check_page
from analytics_core._resources.people_choices import Wanted, all_people
from analytics_core._resources.people_index import read_people
from analytics_core._resources.reader import DASHBOARD_PARTS, Reader
from analytics_core._runtime import Runtime
from analytics_core._security.actor import Actor
from analytics_core._security.policy import Act
from analytics_core.errors import PayloadSchemaError, Problem, UnknownNameError
from analytics_core.models.related import DistinctItem, DistinctResponse, RelatedItem, RelatedResponse

Scope = Callable[[Reader], ListQuery]
"""Returns the query of all records that an actor may see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordChoices:
    """Records of one kind that may be chosen: what the actor may see of them, and the column that people read.

    `without` names parts of the records that a choice does not show, which are left unread.
    """

    repository: Callable[[UnitOfWork], Repository[Any]]
    scope: Scope
    text: str
    without: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUps:
    """What may be looked up in one resource: where its records are, and which of them the actor may see (`scope`).

    `people` maps related fields to the column with users' ids, `records` maps the others to their choices; `distinct`
    maps fields to their columns. `narrower` says of which records the values of a field are told, where those are fewer
    than the actor may see.
    """

    shape: str
    repository: Callable[[UnitOfWork], Repository[Any]]
    scope: Scope
    narrower: Mapping[str, Scope] = field(default_factory=dict)
    people: Mapping[str, str] = field(default_factory=dict)
    records: Mapping[str, RecordChoices] = field(default_factory=dict)
    distinct: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Choices:
    """The look-ups of a resource, as one actor may ask for them: `related` and `distinct` of a namespace."""

    runtime: Runtime
    actor: Actor
    look_ups: LookUps

    def related(self, name: str, text: str, page: int, page_size: int) -> RelatedResponse:
        """Return the choices of a related field that the actor may see (contract, `RelatedResponseSchema`).

        People are, for administrators, all stored users; for others themselves and whom the records that they may see
        name in this field.

        Raises:
            UnknownNameError: the resource has no such related field.
            PayloadSchemaError: a page out of bounds, or a `filter` that is no text or too long.
        """
        look_ups, known = self.look_ups, (*self.look_ups.people, *self.look_ups.records)
        if name not in known:  # asked of a tuple, so that what cannot be hashed is no more than unknown
            raise UnknownNameError(name, place=f"the related fields of {look_ups.shape}s", known=known)
        wanted = _checked(text, page, page_size, shape=f"the choices of {name!r}")
        if name in look_ups.people:
            return _people(look_ups, self.runtime, self.actor, look_ups.people[name], wanted)
        return _records(look_ups.records[name], self.runtime, self.actor, wanted)

    def distinct(self, name: str, text: str, page: int, page_size: int) -> DistinctResponse:
        """Return the values of a field among the records that the actor may see, sorted; nulls are left out.

        Contract, `DistincResponseSchema`.

        Raises:
            UnknownNameError: the distinct values of this field cannot be asked for.
            PayloadSchemaError: a page out of bounds, or a `filter` that is no text or too long.
        """
        look_ups, known = self.look_ups, tuple(self.look_ups.distinct)
        if name not in known:
            raise UnknownNameError(name, place=f"the distinct fields of {look_ups.shape}s", known=known)
        wanted, column = _checked(text, page, page_size, shape=f"the values of {name!r}"), look_ups.distinct[name]
        with self.runtime.store.unit_of_work() as unit:
            scope = look_ups.narrower.get(name, look_ups.scope)
            query = _page_of(scope(Reader(unit, self.runtime.policy, self.actor)), column, wanted)
            count, values = look_ups.repository(unit).distinct(column, query)
        return DistinctResponse(count=count, result=tuple(DistinctItem(text=str(value)) for value in values))


def _checked(text: Any, page: int, page_size: int, *, shape: str) -> Wanted:
    check_page(page, page_size, shape=shape)
    if not isinstance(text, str) or len(text) > LONGEST_SEARCH:
        message = f"must be text of {LONGEST_SEARCH} characters at most"
        raise PayloadSchemaError(shape=shape, problems=[Problem(path="filter", message=message)])
    return Wanted(text=text, page=page, page_size=page_size)


def _records(choices: RecordChoices, runtime: Runtime, actor: Actor, wanted: Wanted) -> RelatedResponse:
    with runtime.store.unit_of_work() as unit:
        query = _page_of(choices.scope(Reader(unit, runtime.policy, actor)), choices.text, wanted)
        query = replace(query, order_by=((choices.text, False),), without=choices.without)
        count, found = choices.repository(unit).list(query)
    items = (RelatedItem(value=record.id, text=getattr(record, choices.text), extra={}) for record in found)
    return RelatedResponse(count=count, result=tuple(items))


def _page_of(scope: ListQuery, column: str, wanted: Wanted) -> ListQuery:
    searched = (ListFilter(col=column, op="contains", val=wanted.text),) if wanted.text else ()
    return replace(scope, filters=(*scope.filters, *searched), page=wanted.page, page_size=wanted.page_size)


def _people(look_ups: LookUps, runtime: Runtime, actor: Actor, column: str, wanted: Wanted) -> RelatedResponse:
    def named(unit: UnitOfWork) -> set[int]:
        scope = look_ups.scope(Reader(unit, runtime.policy, actor))
        return set(every_value(look_ups.repository(unit), column, scope))

    if runtime.policy.sees_all(Act.MANAGE_PEOPLE, actor):
        return all_people(runtime, actor, named, wanted)
    with runtime.store.unit_of_work() as unit:
        seen = named(unit)
    return wanted.cut({**read_people(runtime.people, seen - {actor.id}).users, actor.id: actor.user}.values())


def all_of_it(_reader: Reader) -> ListQuery:
    """Return the query of all records, for a resource that whoever may ask for it sees whole."""
    return ListQuery()


def _own_roles(reader: Reader) -> ListQuery:
    sees_all = reader.policy.sees_all(Act.MANAGE_PEOPLE, reader.actor)
    return ListQuery(ids=None if sees_all else reader.actor.role_ids)


ROLES = RecordChoices(repository=lambda unit: unit.roles, scope=_own_roles, text="name", without=frozenset({"grants"}))
TAGS = RecordChoices(repository=lambda unit: unit.tags, scope=all_of_it, text="name")
DATABASES = RecordChoices(
    repository=lambda unit: unit.databases,
    scope=lambda reader: reader.visible("databases"),
    text="database_name",
)
DATASETS = RecordChoices(
    repository=lambda unit: unit.datasets,
    scope=lambda reader: reader.visible("datasets"),
    text="table_name",
    without=frozenset({"columns", "metrics", "owner_ids"}),
)
CHARTS = RecordChoices(
    repository=lambda unit: unit.charts,
    scope=lambda reader: reader.visible("charts"),
    text="slice_name",
    without=frozenset({"owner_ids", "tag_ids"}),
)
DASHBOARDS = RecordChoices(
    repository=lambda unit: unit.dashboards,
    scope=lambda reader: reader.visible("dashboards"),
    text="dashboard_title",
    without=DASHBOARD_PARTS,
)

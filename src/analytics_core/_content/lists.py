"""The lists of a resource, the choices for its related fields and the different values of a field, for one actor.

Each call goes one way: the permission, what was given is checked, one unit of work reads what the actor may see, the
answer is written. What may be chosen is what filters of the list take: the related field and the filter have the same
name where the list has such a filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from itertools import islice
from operator import attrgetter
from typing import Any, Generic, SupportsIndex, TypeVar, cast, overload

from analytics_core._content.batches import every_value, is_list
from analytics_core._content.field_formatter import AnswerShape, FieldFormatter, answer_as, readable_now
from analytics_core._content.reader import DASHBOARD_PARTS, Kind, Reader
from analytics_core._content.runtime import ContentRuntime
from analytics_core._content.user_directory import ChoiceQuery, UserIndex, all_users, people_unstored, read_users
from analytics_core._engine.engines.registry import EngineRegistry
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.policy import Permission, Policy
from analytics_core._records.audit import StoredRecord
from analytics_core._records.repositories import ListFilter, ListQuery, Repository, Scope, UnitOfWork
from analytics_core._tools.display.blocks import Blocks, plural
from analytics_core._tools.display.bundles import mime_bundle
from analytics_core.errors import NotFoundError, PayloadSchemaError, UnknownNameError, nearest
from analytics_core.errors.base import short_repr
from analytics_core.models.base import Answer
from analytics_core.models.display import page_blocks
from analytics_core.models.lists import (
    DistinctItem,
    DistinctResponse,
    FilterItem,
    ListOperator,
    RelatedItem,
    RelatedResponse,
)
from analytics_core.models.parsing import field_names, parse, payload_error

Item = TypeVar("Item", bound=Answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Item]):
    """The records of one page; `count` is how many match in all."""

    count: int
    result: tuple[Item, ...]

    def __iter__(self) -> Iterator[Item]:
        return iter(self.result)

    def __len__(self) -> int:
        return len(self.result)

    @overload
    def __getitem__(self, position: SupportsIndex) -> Item: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, position: SupportsIndex | slice) -> Item | tuple[Item, ...]:
        return self.result[position]

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        return page_blocks(self.result, self.count)

    def to_payload(self) -> dict[str, Any]:
        """Return `{count, result}` as the contract's lists are written."""
        return {"count": self.count, "result": [item.to_payload() for item in self.result]}


LARGEST_PAGE = 1_000
MOST_FILTERS = 100
MOST_VALUES = 1_000
LONGEST_SEARCH = 1_000
Filters = Iterable[FilterItem | Mapping[str, Any]]
Order = str | Sequence[str] | None
Columns = Iterable[str] | None


class ColumnKind(Enum):
    """What a listed column holds, and so what may be compared with it."""

    INTEGER = "an integer"
    NUMBER = "a number"
    TEXT = "text"
    BOOLEAN = "true or false"
    MOMENT = "a moment in ISO 8601"
    LINKS = "the id of a record"


_AUDITED = {
    "id": ColumnKind.INTEGER,
    "created_by": ColumnKind.INTEGER,
    "changed_by": ColumnKind.INTEGER,
    "created_on": ColumnKind.MOMENT,
    "changed_on": ColumnKind.MOMENT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The rules of one resource's lists: the columns that may be filtered and sorted by, and the shape of an item.

    Columns are named as callers call them; `stored_as` says where the store calls one otherwise. `is_audited` stands
    for the id of a record and for who made and changed it when. `links` hold ids of other records, of which a record
    may have several: `eq` and `in` find one of them, nothing orders. `without` names parts of the records that an item
    does not show, which are left unread.
    """

    shape: str
    item: type[Answer]
    is_audited: bool = True
    integers: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    booleans: tuple[str, ...] = ()
    moments: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    stored_as: Mapping[str, str] = field(default_factory=dict)
    without: frozenset[str] = frozenset()

    @property
    def columns(self) -> Mapping[str, ColumnKind]:
        """What each column holds, by the name that callers use."""
        of_kind = {
            ColumnKind.INTEGER: self.integers,
            ColumnKind.NUMBER: self.numbers,
            ColumnKind.TEXT: self.texts,
            ColumnKind.BOOLEAN: self.booleans,
            ColumnKind.MOMENT: self.moments,
            ColumnKind.LINKS: self.links,
        }
        own = {name: kind for kind, names in of_kind.items() for name in names}
        return {**_AUDITED, **own} if self.is_audited else own

    def column(self, name: str) -> str:
        """Return what the store calls a column."""
        return self.stored_as.get(name, name)

    def query(
        self, *, filters: Filters, order_by: Order, page: int, page_size: int, ids: frozenset[int] | Scope | None
    ) -> ListQuery:
        """Return the checked query.

        Raises:
            PayloadSchemaError: an unknown column or operator, a value of another kind, or a page out of bounds.
        """
        check_page(page, page_size, shape=self._shape)
        items = self._several(filters, "filters", most=MOST_FILTERS)
        order = self._several([order_by] if isinstance(order_by, str) else order_by, "order_by", most=MOST_FILTERS)
        return ListQuery(
            filters=tuple(self._filter(item, place=f"filters.{i}") for i, item in enumerate(items)),
            order_by=tuple(dict.fromkeys(map(self._order, order))),
            page=page,
            page_size=page_size,
            ids=ids,
            without=self.without,
        )

    def fields(self, names: Iterable[str] | None) -> frozenset[str] | None:
        """Return the names of the fields to give back, checked; None stands for all."""
        if names is None:
            return None
        known = field_names(self.item)
        wanted = self._several(names, "columns", most=LARGEST_PAGE)
        return frozenset(self._known(name, known, place=f"columns.{i}") for i, name in enumerate(wanted))

    def _several(self, given: Any, place: str, *, most: int) -> tuple[Any, ...]:
        """Return the items of an argument that is an array, or nothing; no more than a statement can take."""
        if given is not None and not is_list(given):
            raise self._problem(place, "must be an array")
        items = tuple(islice(given or (), most + 1))
        if len(items) > most:
            raise self._problem(place, f"may have {most} items at most")
        return items

    def _filter(self, given: FilterItem | Mapping[str, Any], *, place: str) -> ListFilter:
        item = parse(FilterItem, given, shape=f"{self.shape} {place}")
        column = self._known(item.col, self.columns, place=f"{place}.col")
        value = self._value(item, self.columns[column], place=f"{place}.val")
        op, stored = item.op.value, self.column(column)
        if value is None and item.op in (ListOperator.EQUALS, ListOperator.NOT_EQUALS):
            return ListFilter(col=stored, op=ListOperator.IS_NULL.value, val=item.op is ListOperator.EQUALS)
        return ListFilter(col=stored, op=op, val=value)

    def _value(self, item: FilterItem, kind: ColumnKind, *, place: str) -> Any:
        if kind is ColumnKind.LINKS and item.op not in (ListOperator.EQUALS, ListOperator.IN):
            raise self._problem(place, f"{item.col} holds ids of records; filter it by eq or in")
        match item.op:
            case ListOperator.IS_NULL:
                if item.val is not None and not isinstance(item.val, bool):
                    raise self._problem(place, "must be true or false for the operator is_null")
                return item.val is not False
            case ListOperator.IN:
                if not isinstance(item.val, list | tuple):
                    raise self._problem(place, "must be a list for the operator in")
                return tuple(
                    self._single(value, kind, place) for value in self._several(item.val, place, most=MOST_VALUES)
                )
            case ListOperator.CONTAINS | ListOperator.STARTS_WITH:
                if kind is not ColumnKind.TEXT:
                    raise self._problem(place, f"{item.op.value} is for text columns; {item.col} is not one")
                if isinstance(item.val, str) and len(item.val) > LONGEST_SEARCH:
                    raise self._problem(place, f"may have {LONGEST_SEARCH} characters at most for {item.op.value}")
            case ListOperator.EQUALS | ListOperator.NOT_EQUALS if item.val is None and kind is not ColumnKind.LINKS:
                return None
        return self._single(item.val, kind, place)

    def _single(self, value: Any, kind: ColumnKind, place: str) -> Any:
        match kind, value:
            case (ColumnKind.BOOLEAN, bool()) | (ColumnKind.TEXT, str()):
                return value
            case ColumnKind.INTEGER | ColumnKind.LINKS, int() if not isinstance(value, bool):
                return value
            case ColumnKind.NUMBER, int() | float() if not isinstance(value, bool):
                return value
            case ColumnKind.MOMENT, str() | datetime():
                return self._moment(value, place)
        raise self._problem(place, f"must be {kind.value}")

    def _moment(self, value: str | datetime, place: str) -> datetime:
        try:
            moment = datetime.fromisoformat(value) if isinstance(value, str) else value
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        except (ValueError, OverflowError):
            raise self._problem(place, f"must be {ColumnKind.MOMENT.value}") from None

    def _order(self, text: Any) -> tuple[str, bool]:
        ordered = [name for name, kind in self.columns.items() if kind is not ColumnKind.LINKS]
        name = self._known(text.removeprefix("-") if isinstance(text, str) else text, ordered, place="order_by")
        return self.column(name), text.startswith("-")

    def _known(self, name: Any, known: Iterable[str], *, place: str) -> str:
        if not isinstance(name, str):
            raise self._problem(place, "must be the name of a column")
        names = tuple(known)
        if name in names:
            return name
        close = nearest(name, names)
        hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(names)}"
        raise self._problem(place, f"there is no column {short_repr(name)}; {hint}")

    def _problem(self, path: str, message: str) -> PayloadSchemaError:
        return payload_error(self._shape, path, message)

    @property
    def _shape(self) -> str:
        noun = self.shape
        return f"the list of {f'{noun[:-1]}ies' if noun.endswith('y') else f'{noun}s'}"


def check_page(page: Any, page_size: Any, *, shape: str) -> None:
    """Check which page is asked for; PayloadSchemaError when it is out of bounds."""
    for path, number in (("page", page), ("page_size", page_size)):
        if not isinstance(number, int) or isinstance(number, bool):
            raise payload_error(shape, path, "must be an integer")
    if page < 0:
        raise payload_error(shape, "page", "must be 0 or more")
    if not 1 <= page_size <= LARGEST_PAGE:
        raise payload_error(shape, "page_size", f"must be between 1 and {LARGEST_PAGE}")


def only(item: Item, fields: frozenset[str] | None) -> Item:
    """Return the item with these fields only (names of the contract); None keeps all."""
    if fields is None:
        return item
    names = dict(zip(field_names(type(item)), type(item).model_fields, strict=True))
    chosen = {attribute: getattr(item, attribute) for name, attribute in names.items() if name in fields}
    return cast("Item", type(item).model_construct(_fields_set=set(chosen), **chosen))


Visibility = Callable[[Reader, ListQuery], ListQuery]
"""Narrows a query of records to what an actor may see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """What the items of a page are written with; `linked` is what the resource read beside the records."""

    linked: Any
    people: UserIndex
    readable: FieldFormatter
    registry: EngineRegistry

    def answer(
        self,
        shape: type[AnswerShape],
        record: StoredRecord,
        person: Callable[[UserIndex, int | None], Answer | None] = UserIndex.reference,
        **computed: Any,
    ) -> AnswerShape:
        """Return a record as an item of a list, with who made and changed it when, as far as the shape shows it."""
        audit = record.audit
        fields = {
            "created_by": person(self.people, audit.created_by),
            "changed_by": person(self.people, audit.changed_by),
            "changed_on_delta_humanized": self.readable.delta(audit.changed_on),
        }
        return answer_as(shape, record, **{n: fields[n] for n in fields if n in shape.model_fields}, **computed)


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

    `permission` raises unless the actor may ask at all (`list_permission`: where fewer may list than look up), `parent`
    unless there is what the records belong to; `visibility` says which records they see, and `narrower` of which
    records the values of a field are told, where those are fewer. `item` writes a record of a page, with what `linked`
    read in the same unit of work and with the people of `people_of`. `people` names the related fields with users' ids,
    `records` maps the others to their choices; `distinct` names the fields whose values are told.
    """

    listing: Listing
    repository: Callable[[UnitOfWork], Repository[Any]]
    item: Callable[[Any, PageFacts], Item]
    permission: Callable[[Policy, Actor], None]
    visibility: Visibility
    list_permission: Callable[[Policy, Actor], None] | None = None
    parent: Callable[[UnitOfWork], object] | None = None
    linked: Callable[[Reader, Sequence[Any]], Any] = _nothing
    people_of: Callable[[Any], Iterable[int | None]] = makers
    narrower: Mapping[str, Visibility] = field(default_factory=dict)
    people: tuple[str, ...] = ("created_by", "changed_by")
    records: Mapping[str, RecordChoices] = field(default_factory=dict)
    distinct: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lists(Generic[Item]):
    """The lists of one resource, as one actor may ask for them: `list`, `related` and `distinct` of a namespace."""

    runtime: ContentRuntime
    actor: Actor
    resource: ResourceLists[Item]

    def page(self, filters: Filters, order_by: Order, page: int, page_size: int, columns: Columns) -> Page[Item]:
        """Return one page of the records that the actor may see; see `ListedNamespace.list`."""
        resource, listing = self.resource, self.resource.listing
        (resource.list_permission or resource.permission)(self.runtime.policy, self.actor)
        fields = listing.fields(columns)
        query = listing.query(filters=filters, order_by=order_by, page=page, page_size=page_size, ids=None)
        query = replace(query, count_up_to=self.runtime.settings.max_list_count)
        with self.runtime.store.unit_of_work() as unit:
            if resource.parent is not None:
                resource.parent(unit)
            reader = self._reader(unit)
            count, found = resource.repository(unit).list(resource.visibility(reader, query))
            linked = resource.linked(reader, found)
        people = read_users(self.runtime.people, (person for record in found for person in resource.people_of(record)))
        facts = PageFacts(
            linked=linked, people=people, readable=readable_now(self.runtime), registry=self.runtime.engine.registry
        )
        return Page(count=count, result=tuple(only(resource.item(record, facts), fields) for record in found))

    def one(self, record_id: int) -> Item:
        """Return the record of an id as its list shows it; NotFoundError where the actor may see none."""
        found = self.page([{"col": "id", "op": "eq", "val": record_id}], None, 0, 1, None)
        if not found:
            raise NotFoundError(self.resource.listing.shape, record_id)
        return found[0]

    def related(self, name: str, text: str, page: int, page_size: int) -> RelatedResponse:
        """Return the choices of a related field (contract, `RelatedResponseSchema`); see `ListedNamespace.related`."""
        resource, known = self.resource, (*self.resource.people, *self.resource.records)
        self._require()
        if name not in known:  # asked of a tuple, so that what cannot be hashed is no more than unknown
            raise UnknownNameError(name, place=f"the related fields of {plural(resource.listing.shape)}", known=known)
        wanted = _checked(text, page, page_size, shape=f"the choices of {name!r}")
        if name in resource.people:
            return self._people(resource.listing.column(name), wanted)
        return self._records(resource.records[name], wanted)

    def distinct(self, name: str, text: str, page: int, page_size: int) -> DistinctResponse:
        """Return the values of a field (contract, `DistincResponseSchema`); see `NamespaceWithDistinct.distinct`."""
        resource, listing = self.resource, self.resource.listing
        self._require()
        if name not in resource.distinct:
            raise UnknownNameError(
                name, place=f"the distinct fields of {plural(listing.shape)}", known=resource.distinct
            )
        wanted, column = _checked(text, page, page_size, shape=f"the values of {name!r}"), listing.column(name)
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
            sees_all = self.runtime.policy.sees_all(Permission.MANAGE_PEOPLE, self.actor)
            ids = people_unstored(unit, self.runtime, self.actor, named) if sees_all else set(named)
        if sees_all:
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
        raise payload_error(shape, "filter", message)
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


def _readable(kind: Kind, text: str, without: frozenset[str] = frozenset()) -> RecordChoices:
    """Return the records of a kind that not everybody sees alike: those that the actor may read."""
    return RecordChoices(
        repository=attrgetter(kind),
        visibility=lambda reader, query: reader.visible(kind, query),
        text=text,
        without=without,
    )


DATABASES = _readable("databases", "database_name")
DATASETS = _readable("datasets", "table_name", frozenset({"columns", "metrics", "owner_ids"}))
CHARTS = _readable("charts", "slice_name", frozenset({"owner_ids", "tag_ids"}))
DASHBOARDS = _readable("dashboards", "dashboard_title", DASHBOARD_PARTS)

"""The base of every namespace of a core: each public call acts with the rights that its actor has at that moment.

What notebooks show of a namespace is here too: what it is for, its first records, and its methods.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from types import FunctionType
from typing import Any, Final, Generic, Self, TypeVar

from pydantic import ValidationError

from analytics_core._content.changes import LoggedAction, begin_act
from analytics_core._content.lists import Columns, Filters, Item, Lists, Order, Page, ResourceLists
from analytics_core._content.reader import Reader
from analytics_core._content.runtime import ContentRuntime
from analytics_core._content.written_back import Answers
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.repositories import UnitOfWork
from analytics_core._tools.display.blocks import Block, Blocks, HeadingBlock, fold, table
from analytics_core._tools.display.bundles import error_block, mime_bundle
from analytics_core.errors import AnalyticsError, StoredDataError
from analytics_core.models.base import Answer
from analytics_core.models.display import page_blocks
from analytics_core.models.lists import DistinctResponse, RelatedResponse


class Namespace:
    """What one actor may do with one part of a core.

    One that `live` made may be kept: each public call is made on a namespace made anew, with the actor as they are
    then, so that nobody acts who was deactivated since or with a role that they lost. One call has one actor from its
    beginning to its end; what goes on after it (an iterator, a job) asks `_anew` again.
    """

    _make: Callable[[], Self] | None = None
    _is_call = False

    def __init__(self, runtime: ContentRuntime, actor: Actor) -> None:
        self._runtime = runtime
        self._actor = actor

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, member in tuple(vars(cls).items()):
            if name.startswith("_"):
                continue
            if isinstance(member, FunctionType):
                setattr(cls, name, _acting_now(member))
            elif isinstance(member, property) and isinstance(member.fget, FunctionType):
                setattr(cls, name, property(_acting_now(member.fget)))

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        return namespace_blocks(self)

    def _reader(self, unit: UnitOfWork) -> Reader:
        """Return what the actor may read in this unit of work."""
        return Reader(unit, self._runtime.policy, self._actor)

    @contextmanager
    def _acting(self, action: str) -> Iterator[tuple[LoggedAction, UnitOfWork]]:
        """Give an act that begins now, as `begin_act`, and the one unit of work that it takes."""
        act = begin_act(self._runtime, self._actor, action)
        with self._runtime.store.unit_of_work() as unit:
            yield act, unit

    def _lists(self, resource: ResourceLists[Item]) -> Lists[Item]:
        """Return the lists and look-ups of a resource, as the actor may ask for them."""
        return Lists(self._runtime, self._actor, resource)

    def _anew(self) -> Self:
        """Return this namespace with the rights that its actor has now, for one call; itself, if it is not live."""
        if self._make is None:
            return self
        made = self._make()
        made._make, made._is_call = self._make, True
        return made


Part = TypeVar("Part", bound=Namespace)


def live(make: Callable[[], Part]) -> Part:
    """Return what `make` returns, which is asked again for each public call."""
    namespace = make()
    namespace._make = make
    return namespace


def _unreadable(error: ValidationError) -> StoredDataError:
    """Return the error of a stored record that breaks the shape of its answer: somebody else wrote into the store."""
    fields = ", ".join(sorted({".".join(map(str, detail["loc"])) for detail in error.errors(include_input=False)}))
    return StoredDataError(
        f"the metadata store holds a value that {error.title} cannot have, in {fields}; mend the record"
    )


def _acting_now(method: FunctionType) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Namespace, *args: Any, **options: Any) -> Any:
        try:
            return method(self if self._is_call else self._anew(), *args, **options)
        except ValidationError as error:  # of an answer: what callers pass is read by `models.parsing`
            raise _unreadable(error) from None

    return call


class ListedNamespace(Namespace, Generic[Item]):
    """A namespace whose records are listed, and chosen for fields of them, as `_resource` says."""

    _resource: ResourceLists[Item]

    def _answers(self, shape: type[Answer], get: Callable[[int], Answer], record_id: int) -> Answers:
        """Return what shows a record now: as `get` shows it, and as lists do."""
        answers: Answers = {shape: partial(get, record_id)}
        item = self._resource.listing.item
        return answers if item is shape else {**answers, item: partial(self._lists(self._resource).one, record_id)}

    def list(
        self, filters: Filters = (), order_by: Order = None, page: int = 0, page_size: int = 25, columns: Columns = None
    ) -> Page[Item]:
        """Return one page of the records that the actor may see.

        Args:
            filters: conditions `{col, op, val}`; op is eq, neq, gt, lt, in, contains, starts_with or is_null. People,
                as in `created_by`, go by their ids; columns with ids of several records, as `owners`, take eq and in.
            order_by: a column's name or several; a leading minus sorts descending.
            page: counts from 0.
            page_size: at the most 1000.
            columns: the fields to give back; None for all.

        Raises:
            AccessError: the actor may not ask.
            PayloadSchemaError: an unknown column or operator, a value of another kind, or a page out of bounds.

        Examples:
            >>> page = core.charts.list([{"col": "slice_name", "op": "contains", "val": "month"}], page_size=5)
            >>> page.count, page[0].slice_name
            (1, 'Revenue by month')
        """
        return self._lists(self._resource).page(filters, order_by, page, page_size, columns)

    def related(self, field: str, filter: str = "", page: int = 0, page_size: int = 25) -> RelatedResponse:
        """Return what may be chosen for a related field of the records, for a filter of the list or a form.

        Of records those that the actor may see; of people, for administrators, all in the store, for others themselves
        and whom the records that they may see name in this field.

        Args:
            field: the related field.
            filter: only choices whose text contains this, in any case.
            page: counts from 0.
            page_size: at the most 1000.

        Raises:
            AccessError: the actor may not ask.
            UnknownNameError: there is no such related field; the message names those there are.
            PayloadSchemaError: a page out of bounds, or a `filter` that is no text or too long.

        Examples:
            >>> [choice.text for choice in core.charts.related("owners", filter="ada").result]
            ['Ada Lovelace']
        """
        return self._lists(self._resource).related(field, filter, page, page_size)


class NamespaceWithDistinct(ListedNamespace[Item]):
    """A listed namespace that also tells which values a field of its records has."""

    def distinct(self, field: str, filter: str = "", page: int = 0, page_size: int = 25) -> DistinctResponse:
        """Return the different values of a field among the records that the actor may see, sorted, without nulls.

        Arguments and errors are those of `related`.

        Examples:
            >>> [choice.text for choice in core.datasets.distinct("table_name", filter="order").result]
            ['big_orders', 'orders']
        """
        return self._lists(self._resource).distinct(field, filter, page, page_size)


_FIRST_RECORDS: Final = 10


def namespace_blocks(namespace: object) -> Blocks:
    """Return what can be seen of a namespace; its first records are read from the metadata store, as `list` does."""
    kind = type(namespace)
    pages = first_page(getattr(namespace, "list", None)) if hasattr(kind, "_resource") else []
    return [HeadingBlock(text=kind.__name__, detail=_first_line(kind)), *pages, *fold("methods", methods_table(kind))]


def first_page(list_records: Callable[..., Any] | None) -> Blocks:
    """Return the first records that `list` gives; an error in their place where the actor may not ask."""
    if list_records is None:
        return []
    try:
        page = list_records(page_size=_FIRST_RECORDS)
    except AnalyticsError as error:
        return [error_block(error)]
    return page_blocks(page.result, page.count)


def methods_table(kind: type) -> tuple[Block, ...]:
    """Return the public methods of a class, with what each gives."""
    methods = dict(_methods(kind))
    return table({"method": list(methods), "what it gives": list(methods.values())})


def _methods(kind: type) -> Iterator[tuple[str, str]]:
    for name, member in inspect.getmembers(kind):
        if name.startswith("_") and name != "__call__":
            continue
        if isinstance(member, property):
            yield name, _first_line(member.fget)
        elif callable(member):
            yield f"{name.removeprefix('__call__')}{_parameters(member)}", _first_line(member)


def _parameters(method: Callable[..., Any]) -> str:
    """Return the names of a method's parameters; the optional ones as `...`."""
    given = list(inspect.signature(method).parameters.values())[1:]
    required = [one.name for one in given if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
    return f"({', '.join([*required, *(['...'] if len(given) > len(required) else [])])})"


def _first_line(seen: Any) -> str:
    return (inspect.getdoc(seen) or "").partition("\n")[0]

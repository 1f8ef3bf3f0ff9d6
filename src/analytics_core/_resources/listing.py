"""What a caller may ask of a list, checked before the store sees it, and the page that comes back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto
from itertools import islice
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel

from analytics_core._error_types import short_repr
from analytics_core._records.repositories import ListFilter, ListQuery, Scope
from analytics_core.errors import PayloadSchemaError, Problem, nearest
from analytics_core.models.base import Answer
from analytics_core.models.lists import FilterItem, ListOperator
from analytics_core.models.parsing import field_names, parse

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

    INTEGER = auto()
    TEXT = auto()
    BOOLEAN = auto()
    MOMENT = auto()
    LINKS = auto()
    """Ids of other records, of which a record may have several: `eq` and `in` find one of them, nothing orders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The rules of one resource's lists: the columns that may be filtered and sorted by, and the shape of an item.

    `columns` maps the names callers use to what they hold; `stored_as` says where the store calls a column otherwise.
    `without` names parts of the records that an item does not show, which are left unread.
    """

    shape: str
    item: type[BaseModel]
    columns: Mapping[str, ColumnKind]
    stored_as: Mapping[str, str]
    without: frozenset[str] = frozenset()

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
        if given is not None and (isinstance(given, str | Mapping) or not isinstance(given, Iterable)):
            raise self._problem(place, "must be an array")
        items = tuple(islice(given or (), most + 1))
        if len(items) > most:
            raise self._problem(place, f"may have {most} items at most")
        return items

    def _filter(self, given: FilterItem | Mapping[str, Any], *, place: str) -> ListFilter:
        item = parse(FilterItem, given, shape=f"{self.shape} {place}")
        column = self._known(item.col, self.columns, place=f"{place}.col")
        value = self._value(item, self.columns[column], place=f"{place}.val")
        op, stored = item.op.value, self.stored_as.get(column, column)
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
            case ColumnKind.BOOLEAN, bool():
                return value
            case ColumnKind.INTEGER | ColumnKind.LINKS, int() if not isinstance(value, bool):
                return value
            case ColumnKind.TEXT, str():
                return value
            case ColumnKind.MOMENT, str() | datetime():
                return self._moment(value, place)
        raise self._problem(place, f"must be {_KIND_NAMES[kind]}")

    def _moment(self, value: str | datetime, place: str) -> datetime:
        try:
            moment = datetime.fromisoformat(value) if isinstance(value, str) else value
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        except (ValueError, OverflowError):
            raise self._problem(place, f"must be {_KIND_NAMES[ColumnKind.MOMENT]}") from None

    def _order(self, text: Any) -> tuple[str, bool]:
        ordered = [name for name, kind in self.columns.items() if kind is not ColumnKind.LINKS]
        name = self._known(text.removeprefix("-") if isinstance(text, str) else text, ordered, place="order_by")
        return self.stored_as.get(name, name), text.startswith("-")

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
        return PayloadSchemaError(shape=self._shape, problems=[Problem(path=path, message=message)])

    @property
    def _shape(self) -> str:
        return f"the list of {self.shape}s"


def check_page(page: Any, page_size: Any, *, shape: str) -> None:
    """Check which page is asked for; PayloadSchemaError when it is out of bounds."""
    for path, number in (("page", page), ("page_size", page_size)):
        if not isinstance(number, int) or isinstance(number, bool):
            raise PayloadSchemaError(shape=shape, problems=[Problem(path=path, message="must be an integer")])
    if page < 0:
        raise PayloadSchemaError(shape=shape, problems=[Problem(path="page", message="must be 0 or more")])
    if not 1 <= page_size <= LARGEST_PAGE:
        problem = Problem(path="page_size", message=f"must be between 1 and {LARGEST_PAGE}")
        raise PayloadSchemaError(shape=shape, problems=[problem])


_KIND_NAMES: Mapping[ColumnKind, str] = {
    ColumnKind.INTEGER: "an integer",
    ColumnKind.TEXT: "text",
    ColumnKind.BOOLEAN: "true or false",
    ColumnKind.MOMENT: "a moment in ISO 8601",
    ColumnKind.LINKS: "the id of a record",
}


def only(item: Item, fields: frozenset[str] | None) -> Item:
    """Return the item with these fields only (names of the contract); None keeps all."""
    if fields is None:
        return item
    names = dict(zip(field_names(type(item)), type(item).model_fields, strict=True))
    kept = {attribute: getattr(item, attribute) for name, attribute in names.items() if name in fields}
    return cast("Item", type(item).model_construct(_fields_set=set(kept), **kept))

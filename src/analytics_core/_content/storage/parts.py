"""What belongs to one record and is kept in tables of its own: columns, owners, roles and more; or was left unread."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    CompoundSelect,
    Connection,
    Executable,
    RowMapping,
    Select,
    Table,
)

from analytics_core._content.storage.column_types import RowCheck, UtcMoment
from analytics_core.errors import AlreadyExistsError


def among(column: sa.ColumnElement[Any], ids: Iterable[int]) -> sa.ColumnElement[bool]:
    """Return the condition that `column` is one of `ids`, written into the statement: servers limit parameters."""
    return column.in_(sa.bindparam(None, sorted(ids), expanding=True, literal_execute=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemParts:
    """Parts of a dataset with an id of their own, in an order: its columns and its metrics."""

    noun: str
    table: Table
    item_type: Callable[..., Any]
    attribute: str = field(init=False)
    parent: Column[Any] = field(init=False)
    collection: Callable[[Iterable[Any]], Any] = field(init=False, default=tuple)
    _reader: RowReader = field(init=False)
    _check: RowCheck = field(init=False)
    _fields: tuple[str, ...] = field(init=False)
    _load_statement: Select[Any] = field(init=False)

    def __post_init__(self) -> None:
        parent, reader = self.table.c.dataset_id, RowReader(self.table, without=frozenset({"position"}))
        statement = sa.select(*reader.columns).where(parent.in_(_parent_ids()))
        given_here = {"id", "position", "created_on", "changed_on", parent.name}
        object.__setattr__(self, "attribute", f"{self.noun}s")
        object.__setattr__(self, "parent", parent)
        object.__setattr__(self, "_reader", reader)
        object.__setattr__(self, "_check", RowCheck(self.table))
        object.__setattr__(self, "_fields", tuple(one.name for one in self.table.columns if one.name not in given_here))
        ordered = statement.order_by(parent, self.table.c.position, self.table.c.id)
        object.__setattr__(self, "_load_statement", ordered)

    def load(self, connection: Connection, parent_ids: Collection[int]) -> Mapping[int, Sequence[Any]]:
        """Return the items of each parent, in their order, read by one statement; parents without any are left out."""
        found: dict[int, list[Any]] = {}
        for row in self._reader.rows(connection, self._load_statement, {"parent_ids": parent_ids}):
            found.setdefault(row.pop(self.parent.name), []).append(self.item_type(**row))
        return found

    def write(
        self, connection: Connection, parent_id: int, wanted: Collection[Any], *, now: datetime, is_new: bool = False
    ) -> None:
        """Make the stored items equal to `wanted`: those whose id is known keep id, uuid and creation time.

        A new record has none yet.
        """
        self._check_names(wanted)
        statement = sa.select(self.table).where(self.parent == parent_id)
        rows = [] if is_new else connection.execute(statement).mappings().all()
        stored, added = {row["id"]: row for row in rows}, []
        for position, item in enumerate(wanted):
            values = self._values(item, position)
            self._check(f"{self.noun} {self._name(item)!r}", values)
            known = stored.pop(item.id, None)
            if known is None:
                added.append(self._new({**values, self.parent.name: parent_id}, now=now))
            else:
                self._change(connection, known, values, now=now)
        if added:
            connection.execute(sa.insert(self.table), added)
        if stored:
            connection.execute(sa.delete(self.table).where(among(self.table.c.id, stored)))

    def _values(self, item: Any, position: int) -> dict[str, Any]:
        return {"position": position, **{name: getattr(item, name) for name in self._fields}}

    def _new(self, values: Mapping[str, Any], *, now: datetime) -> dict[str, Any]:
        identity = values["uuid"] or str(uuid.uuid4())
        return {**values, "uuid": identity, "created_on": now, "changed_on": now}

    def _change(self, connection: Connection, stored: RowMapping, values: Mapping[str, Any], *, now: datetime) -> None:
        changed = {name: value for name, value in values.items() if name != "uuid" and stored[name] != value}
        if changed:
            statement = sa.update(self.table).where(self.table.c.id == stored["id"])
            connection.execute(statement.values(**changed, changed_on=now))

    def _check_names(self, wanted: Collection[Any]) -> None:
        seen: set[str] = set()
        for name in map(self._name, wanted):
            if name in seen:
                raise AlreadyExistsError(self.noun, f"{self.noun}_name", name)
            seen.add(name)

    def _name(self, item: Any) -> str:
        return str(getattr(item, f"{self.noun}_name"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueParts:
    """Parts that are nothing but their value: owners, roles of a user, grants of a role.

    `read` makes a value of the columns beside the parent's, in their order (None: ids, taken as they are), `to_row` the
    columns of a value.
    `value_column` is the column of a table of pairs that holds the value. Values that `is_ids` are ids of other
    records, by which lists may be filtered.
    """

    attribute: str
    noun: str
    table: Table
    parent: Column[Any]
    read: Callable[..., Any] | None
    to_row: Callable[[Any], dict[str, Any]]
    collection: Callable[[Iterable[Any]], Any]
    value_column: Column[Any] = field(init=False)
    is_ids: bool = field(init=False)
    _check: RowCheck = field(init=False)
    _load_statement: Select[Any] = field(init=False)

    def __post_init__(self) -> None:
        values = [column for column in self.table.columns if column.name != self.parent.name]
        statement = sa.select(self.parent, *values).where(self.parent.in_(_parent_ids()))
        object.__setattr__(self, "value_column", values[0])
        object.__setattr__(self, "is_ids", self.attribute.endswith("_ids"))
        object.__setattr__(self, "_check", RowCheck(self.table))
        object.__setattr__(self, "_load_statement", statement.order_by(*self.table.primary_key))

    def load(self, connection: Connection, parent_ids: Collection[int]) -> Mapping[int, Sequence[Any]]:
        """Return the values of each parent, in the order of their keys."""
        found: dict[int, list[Any]] = {}
        for parent_id, *values in connection.execute(self._load_statement, {"parent_ids": parent_ids}):
            found.setdefault(parent_id, []).append(self.read(*values) if self.read else values[0])
        return found

    def write(
        self,
        connection: Connection,
        parent_id: int,
        wanted: Collection[Any],
        *,
        now: datetime,  # noqa: ARG002 - as other parts
        is_new: bool = False,
    ) -> None:
        """Make the stored values equal to `wanted`, row by row, so that only those rows are locked that change.

        A new record has none yet.
        """
        stored = set() if is_new else set(self.load(connection, (parent_id,)).get(parent_id, ()))
        for value in stored - set(wanted):
            row = {**self.to_row(value), self.parent.name: parent_id}
            matches = [self.table.c[name] == part for name, part in row.items()]
            connection.execute(sa.delete(self.table).where(*matches))
        new = [value for value in dict.fromkeys(wanted) if value not in stored]
        added = [{**self.to_row(value), self.parent.name: parent_id} for value in new]
        for row in added:
            self._check(self.noun, row)
        if added:
            connection.execute(sa.insert(self.table), added)


Parts = ItemParts | ValueParts
"""One attribute of a record that is kept in a table of its own."""


@dataclass(frozen=True, slots=True)
class RecordParts:
    """All parts of one kind of records, and the statement that reads those of them together that are ids.

    Its rows are the number of the part among `links`, the record's id and the value. There is none without two of them.
    """

    parts: tuple[Parts, ...]
    links: tuple[ValueParts, ...] = field(init=False)
    _statement: CompoundSelect[Any] | None = field(init=False)

    def __post_init__(self) -> None:
        links, ids = links_of(self.parts), _parent_ids()
        selects = [
            sa.select(sa.literal_column(str(number)).label("part"), link.parent, link.value_column).where(
                link.parent.in_(ids)
            )
            for number, link in enumerate(links)
        ]
        object.__setattr__(self, "links", tuple(links))
        object.__setattr__(self, "_statement", sa.union_all(*selects) if len(selects) > 1 else None)

    def add(self, connection: Connection, rows: Sequence[dict[str, Any]], *, without: frozenset[str]) -> None:
        """Give each row what other tables hold of its record; parts named by `without` are left unread."""
        ids = sorted(map(itemgetter("id"), rows))
        found = {} if self._statement is None or without else self._found_links(connection, self._statement, ids)
        for part in self.parts:
            name = part.attribute
            if name in without:
                for row in rows:
                    row[name] = UnreadParts()
                continue
            values = found[name] if name in found else part.load(connection, ids)
            for row in rows:
                row[name] = part.collection(values.get(row["id"], ()))

    def _found_links(
        self, connection: Connection, statement: CompoundSelect[Any], parent_ids: Collection[int]
    ) -> dict[str, Mapping[int, Sequence[int]]]:
        """Return the ids by the part's attribute and by record, sorted."""
        found: dict[str, dict[int, list[int]]] = {link.attribute: {} for link in self.links}
        for number, parent_id, value in sorted(map(tuple, connection.execute(statement, {"parent_ids": parent_ids}))):
            found[self.links[number].attribute].setdefault(parent_id, []).append(value)
        return dict(found)


def _parent_ids() -> BindParameter[Any]:
    """Return the place of the records' ids, which are written into the statement: servers limit parameters."""
    return sa.bindparam("parent_ids", expanding=True, literal_execute=True)


def links_of(parts: Iterable[Parts]) -> list[ValueParts]:
    """Return the parts that are ids."""
    return [part for part in parts if isinstance(part, ValueParts) and part.is_ids]


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads rows of one table; `columns` is what statements of rows select, all but those left out by `without`.

    Moments become aware here, a row at a time: as a type's own work that is a call for each cell.
    """

    table: Table
    without: frozenset[str] = frozenset()
    columns: tuple[ColumnElement[Any], ...] = field(init=False)
    _moments: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        read = [column for column in self.table.columns if column.name not in self.without]
        moments = tuple(column.name for column in read if isinstance(column.type, UtcMoment))
        columns = [sa.type_coerce(column, sa.DateTime()) if column.name in moments else column for column in read]
        object.__setattr__(self, "columns", tuple(columns))
        object.__setattr__(self, "_moments", moments)

    def rows(
        self, connection: Connection, statement: Executable, values: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """Return the rows that a statement of `columns`, and of what it names besides, gives for these values."""
        result = connection.execute(statement, values)
        names, rows = tuple(result.keys()), []
        for cells in result:
            row = dict(zip(names, cells, strict=True))
            for name in self._moments:
                if (moment := row[name]) is not None:
                    row[name] = moment.replace(tzinfo=UTC)
            rows.append(row)
        return rows


class UnreadParts(tuple[Any, ...]):
    """Parts that were not asked for; using them is a mistake that must not pass for a record without parts."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        raise _rejection()

    def __len__(self) -> int:
        raise _rejection()

    def __contains__(self, item: object) -> bool:
        raise _rejection()


def _rejection() -> TypeError:
    return TypeError("this record was listed without these parts; read it by its id to use or to store them")

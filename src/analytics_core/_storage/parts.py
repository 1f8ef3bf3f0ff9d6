"""What belongs to one record and is kept in tables of its own: columns, metrics, owners, roles, grants."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy import BindParameter, Column, CompoundSelect, Connection, RowMapping, Table

from analytics_core._storage.row_checks import check_row
from analytics_core.errors import AlreadyExistsError


def among(column: sa.ColumnElement[Any], ids: Iterable[int]) -> sa.ColumnElement[bool]:
    """Return the condition that `column` is one of `ids`, written into the statement: servers limit parameters."""
    return column.in_(sa.bindparam(None, sorted(ids), expanding=True, literal_execute=True))


class Parts(Protocol):
    """One attribute of a record that is kept in a table of its own."""

    @property
    def attribute(self) -> str:
        """The field of the record."""

    def load(self, connection: Connection, parent_ids: Collection[int]) -> Mapping[int, Any]:
        """Return the parts of each of these records, read by one statement; records without any are left out."""

    def collect(self, parts: Iterable[Any]) -> Any:
        """Return parts in the collection that the record's field holds."""

    def add(self, connection: Connection, parent_id: int, wanted: Collection[Any], *, now: datetime) -> None:
        """Store the parts of a new record, which has none yet."""

    def replace(self, connection: Connection, parent_id: int, wanted: Collection[Any], *, now: datetime) -> None:
        """Make the stored parts equal to `wanted`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemParts:
    """Parts with an id of their own, in an order: the columns and the metrics of a dataset."""

    attribute: str
    noun: str
    name_field: str
    table: Table
    parent: Column[Any]
    item_type: Callable[..., Any]

    def load(self, connection: Connection, parent_ids: Collection[int]) -> Mapping[int, Sequence[Any]]:
        """Return the items of each parent, in their order."""
        statement = sa.select(self.table).where(among(self.parent, parent_ids))
        ordered = statement.order_by(self.parent, self.table.c.position, self.table.c.id)
        found: dict[int, list[Any]] = {}
        for row in connection.execute(ordered).mappings():
            found.setdefault(row[self.parent.name], []).append(self._item(row))
        return found

    def collect(self, parts: Iterable[Any]) -> tuple[Any, ...]:
        """Return a tuple."""
        return tuple(parts)

    def add(self, connection: Connection, parent_id: int, wanted: Collection[Any], *, now: datetime) -> None:
        """Store the items of a new record."""
        self._make_equal(connection, parent_id, wanted, stored={}, now=now)

    def replace(self, connection: Connection, parent_id: int, wanted: Collection[Any], *, now: datetime) -> None:
        """Keep id, uuid and creation time of items whose id is known, add the others, delete the rest."""
        statement = sa.select(self.table).where(self.parent == parent_id)
        stored = {row["id"]: row for row in connection.execute(statement).mappings()}
        self._make_equal(connection, parent_id, wanted, stored=stored, now=now)

    def _make_equal(
        self,
        connection: Connection,
        parent_id: int,
        wanted: Collection[Any],
        *,
        stored: dict[int, RowMapping],
        now: datetime,
    ) -> None:
        self._check_names(wanted)
        added: list[dict[str, Any]] = []
        for position, item in enumerate(wanted):
            values = self._values(item, position)
            check_row(f"{self.noun} {getattr(item, self.name_field)!r}", self.table, values)
            known = stored.pop(item.id, None)
            if known is None:
                added.append(self._new({**values, self.parent.name: parent_id}, now=now))
            else:
                self._change(connection, known, values, now=now)
        if added:
            connection.execute(sa.insert(self.table), added)
        if stored:
            connection.execute(sa.delete(self.table).where(among(self.table.c.id, stored)))

    def _item(self, row: RowMapping) -> Any:
        values = dict(row)
        del values["position"], values[self.parent.name]
        return self.item_type(**values)

    def _values(self, item: Any, position: int) -> dict[str, Any]:
        given_here = {"id", "position", "created_on", "changed_on", self.parent.name}
        fields = [column.name for column in self.table.columns if column.name not in given_here]
        return {"position": position, **{name: getattr(item, name) for name in fields}}

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
        for name in (getattr(item, self.name_field) for item in wanted):
            if name in seen:
                raise AlreadyExistsError(self.noun, self.name_field, name)
            seen.add(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueParts:
    """Parts that are nothing but their value: owners, roles of a user, grants of a role.

    `value_column` is the column of a table of pairs that holds the value.
    """

    attribute: str
    noun: str
    table: Table
    parent: Column[Any]
    read: Callable[[RowMapping], Any]
    write: Callable[[Any], dict[str, Any]]
    collection: Callable[[Iterable[Any]], Any]
    value_column: Column[Any] = field(init=False)

    def __post_init__(self) -> None:
        value_column = next(column for column in self.table.columns if column.name != self.parent.name)
        object.__setattr__(self, "value_column", value_column)

    @property
    def is_ids(self) -> bool:
        """Tell whether the values are ids of other records, by which lists may be filtered."""
        return self.attribute.endswith("_ids")

    def load(self, connection: Connection, parent_ids: Collection[int]) -> Mapping[int, Sequence[Any]]:
        """Return the values of each parent, in the order of their keys."""
        statement = sa.select(self.table).where(among(self.parent, parent_ids)).order_by(*self.table.primary_key)
        found: dict[int, list[Any]] = {}
        for row in connection.execute(statement).mappings():
            found.setdefault(row[self.parent.name], []).append(self.read(row))
        return found

    def collect(self, parts: Iterable[Any]) -> Any:
        """Return the collection of the record's field."""
        return self.collection(parts)

    def add(self, connection: Connection, parent_id: int, wanted: Collection[Any], *, now: datetime) -> None:  # noqa: ARG002 - as other parts
        """Store the values of a new record."""
        self._insert(connection, parent_id, dict.fromkeys(wanted))

    def replace(self, connection: Connection, parent_id: int, wanted: Collection[Any], *, now: datetime) -> None:  # noqa: ARG002 - as other parts
        """Remove what is not wanted and add what is new; row by row, so that only those rows are locked."""
        stored = set(self.load(connection, {parent_id}).get(parent_id, ()))
        for value in stored - set(wanted):
            row = {**self.write(value), self.parent.name: parent_id}
            matches = [self.table.c[name] == part for name, part in row.items()]
            connection.execute(sa.delete(self.table).where(*matches))
        self._insert(connection, parent_id, [value for value in dict.fromkeys(wanted) if value not in stored])

    def _insert(self, connection: Connection, parent_id: int, values: Iterable[Any]) -> None:
        added = [{**self.write(value), self.parent.name: parent_id} for value in values]
        for row in added:
            check_row(self.noun, self.table, row)
        if added:
            connection.execute(sa.insert(self.table), added)


def load_parts(
    connection: Connection, parts: Collection[Parts], parent_ids: Collection[int], *, links: CompoundSelect[Any] | None
) -> list[tuple[Parts, Mapping[int, Any]]]:
    """Return each part with what it is of each record; `links` is the `links_statement` of these parts."""
    if links is None:
        return [(part, part.load(connection, parent_ids)) for part in parts]
    linked, others = _links_of(parts), [part for part in parts if not _is_link(part)]
    found: dict[int, dict[int, list[int]]] = {}
    for number, parent_id, value in sorted(map(tuple, connection.execute(links, {"parent_ids": parent_ids}))):
        found.setdefault(number, {}).setdefault(parent_id, []).append(value)
    loaded = [(part, part.load(connection, parent_ids)) for part in others]
    return [*((link, found.get(number, {})) for number, link in enumerate(linked)), *loaded]


def links_statement(parts: Collection[Parts]) -> CompoundSelect[Any] | None:
    """Return the statement that reads all parts that are ids together; None when there are not two of them.

    Its rows are the number of the part among them, the record's id and the value; `parent_ids` names the records.
    """
    ids: BindParameter[Any] = sa.bindparam("parent_ids", expanding=True, literal_execute=True)
    selects = [
        sa.select(sa.literal_column(str(number)).label("part"), link.parent, link.value_column).where(
            link.parent.in_(ids)
        )
        for number, link in enumerate(_links_of(parts))
    ]
    return sa.union_all(*selects) if len(selects) > 1 else None


def _links_of(parts: Iterable[Parts]) -> list[ValueParts]:
    return [part for part in parts if isinstance(part, ValueParts) and part.is_ids]


def _is_link(part: Parts) -> bool:
    return isinstance(part, ValueParts) and part.is_ids

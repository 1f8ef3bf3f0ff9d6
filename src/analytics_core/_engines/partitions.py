"""How engines tell the partitions of a table, read to values that are ordered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final

from sqlglot import exp

_LITERAL: Final = re.compile(r"\s*('(?:[^']|'')*'|[^',()\s]+)\s*(?:,|$)")
_POSTGRES_RANGE: Final = re.compile(r"FOR VALUES FROM \((.*)\) TO \((.*)\)", re.DOTALL)
_POSTGRES_LIST: Final = re.compile(r"FOR VALUES IN \((.*)\)", re.DOTALL)
_OPEN: Final = frozenset({"MINVALUE", "MAXVALUE", "NULL"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """One partition: the node that reads its rows alone, and the value by which they are found."""

    table: exp.Table
    value: str


PartitionRow = Sequence[str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReader:
    """How one engine tells partitions.

    Attributes:
        sql: asks for texts about each partition of a table; its marks are bound to the table and the schema.
        read: the table's node and those rows -> its partitions that have a value.
    """

    sql: str
    read: Callable[[exp.Table, Iterable[PartitionRow]], tuple[Partition, ...]]


def in_order(partitions: Iterable[Partition]) -> list[Partition]:
    """Return partitions, the newest first: by number where all values are numbers, else by text."""
    known = list(partitions)
    numbers = {partition.value: number for partition in known if (number := _number(partition.value)) is not None}
    if all(partition.value in numbers for partition in known):
        return sorted(known, key=lambda partition: numbers[partition.value], reverse=True)
    return sorted(known, key=lambda partition: partition.value, reverse=True)


def read_postgres(table: exp.Table, rows: Iterable[PartitionRow]) -> tuple[Partition, ...]:
    """Return the partitions of (schema, name, bounds); one of a range is found by where it begins."""
    found = []
    for schema, name, bounds in rows:
        relation = exp.Table(this=_quoted(name or ""), db=_quoted(schema or ""), catalog=table.args.get("catalog"))
        if (value := _postgres_value(bounds or "")) is not None:
            found.append(Partition(table=relation, value=value))
    return tuple(found)


def _postgres_value(bounds: str) -> str | None:
    begins = _POSTGRES_RANGE.fullmatch(bounds)
    if begins:
        first = _LITERAL.match(begins[1])
        return _plain(first[1]) if first else None
    listed = _POSTGRES_LIST.fullmatch(bounds)
    return _largest(listed[1]) if listed else None


def read_mysql(table: exp.Table, rows: Iterable[PartitionRow]) -> tuple[Partition, ...]:
    """Return the partitions of (name, method, description), in order; a range begins where the one before ends."""
    found: list[Partition] = []
    begins: str | None = None
    for name, method, description in rows:
        kind = (method or "").partition(" ")[0].upper()
        value = begins if kind == "RANGE" else _largest(description or "") if kind == "LIST" else None
        if value is not None:
            selected = table.copy()
            selected.set("partition", exp.Partition(expressions=[_quoted(name or "")]))
            found.append(Partition(table=selected, value=value))
        first = _LITERAL.match(description or "")
        begins = _plain(first[1]) if first else None
    return tuple(found)


def _largest(listed: str) -> str | None:
    values = [_plain(match[1]) for match in _LITERAL.finditer(listed)]
    known = [value for value in values if value is not None]
    numbers = [number for number in map(_number, known) if number is not None]
    if not known:
        return None
    return known[numbers.index(max(numbers))] if len(numbers) == len(known) else max(known)


def _plain(literal: str) -> str | None:
    if literal.upper() in _OPEN:
        return None
    return literal[1:-1].replace("''", "'") if literal.startswith("'") else literal


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _quoted(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=True)


POSTGRES_PARTITIONS: Final = PartitionReader(
    sql=(
        "SELECT n.nspname::text AS a, c.relname::text AS b, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS c "
        "FROM pg_catalog.pg_class t JOIN pg_catalog.pg_namespace s ON s.oid = t.relnamespace "
        "JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid "
        "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE t.relkind = 'p' AND t.relname = {table} "
        "AND s.nspname = COALESCE({schema}, CURRENT_SCHEMA()) ORDER BY 2"
    ),
    read=read_postgres,
)

MYSQL_PARTITIONS: Final = PartitionReader(
    sql=(
        "SELECT partition_name AS a, partition_method AS b, partition_description AS c "
        "FROM information_schema.partitions WHERE table_name = {table} "
        "AND table_schema = COALESCE({schema}, DATABASE()) AND partition_name IS NOT NULL "
        "ORDER BY partition_ordinal_position"
    ),
    read=read_mysql,
)

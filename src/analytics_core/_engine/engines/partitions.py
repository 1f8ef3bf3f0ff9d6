"""How engines tell the partitions of a table, read to values that are ordered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final

from sqlglot import exp

_LITERAL: Final = re.compile(r"\s*('(?:[^']|'')*'|[^',()\s]+)\s*(?:,|$)")
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


def largest_literal(listed: str) -> str | None:
    """Return the largest value of a list of literals; None: it holds none."""
    values = [_plain(match[1]) for match in _LITERAL.finditer(listed)]
    known = [value for value in values if value is not None]
    numbers = [number for number in map(_number, known) if number is not None]
    if not known:
        return None
    return known[numbers.index(max(numbers))] if len(numbers) == len(known) else max(known)


def first_literal(listed: str) -> str | None:
    """Return the first value of a list of literals; None: it is no value, or there is none."""
    first = _LITERAL.match(listed)
    return _plain(first[1]) if first else None


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

"""Relations as a query names them, and the places of their names in its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRef:
    """A relation as a query names it; None where the query leaves a part out."""

    table: str
    schema: str | None = None
    catalog: str | None = None

    def __str__(self) -> str:
        return ".".join(part for part in (self.catalog, self.schema, self.table) if part)


class NamePlace(NamedTuple):
    """Where a text names a table: from `start` to before `end`, in characters; does an alias follow?"""

    start: int
    end: int
    has_alias: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A relation that a query reads; `position` counts the tables of its tree.

    `place` is where the text of the query names it; None where that is not known, or there is more to it than a name.
    """

    position: int
    table: TableRef
    place: NamePlace | None = None

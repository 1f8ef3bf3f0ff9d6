"""Row rules as they are stored, and the conditions that they become for an actor."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from analytics_core._records.audit import Audit


class RowRuleType(StrEnum):
    """Whom a rule binds: REGULAR those who have one of its roles, BASE everybody who has none of them."""

    REGULAR = "Regular"
    BASE = "Base"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRule:
    """A condition on the rows of datasets; rules that share a `group_key` are ORed, all else is ANDed."""

    id: int = 0
    name: str
    clause: str
    filter_type: RowRuleType = RowRuleType.REGULAR
    group_key: str | None = None
    description: str | None = None
    role_ids: tuple[int, ...] = ()
    dataset_ids: tuple[int, ...] = ()
    audit: Audit = field(default_factory=Audit)


HeldValue = str | int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Placeholder:
    """The place of a value in a clause: a text in quotes that holds `mark`; the value is bound and never written.

    A member of a list stands alone between its quotes; other values may be a part of a longer text.
    """

    mark: str
    value: HeldValue
    is_member: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """One row rule as it binds an actor: `clause` is an SQL condition, `name` tells people which rule it is.

    Conditions that share a `group_key` are ORed; groups and keyless ones are ANDed (contract, row-level security).

    Attributes:
        columns: (name, type) of the columns that the clause may use; None: those of the dataset that is queried.
        placeholders: the values of templates in the clause, once they are rendered.
        is_of_guest: whether a guest token brought it.
    """

    name: str
    clause: str
    group_key: str | None = None
    columns: tuple[tuple[str, str | None], ...] | None = None
    placeholders: tuple[Placeholder, ...] = ()
    is_of_guest: bool = False

"""A stored row-level security rule."""

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

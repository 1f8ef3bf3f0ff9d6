"""Shapes of row-level security rules (contract, section Row-level security rule)."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field

from analytics_core.models.base import (
    AnswerWithSchema,
    Ids,
    Omittable,
    ReadOnly,
    StampedAnswer,
    StrictShape,
    Title255,
    Whole,
)
from analytics_core.models.references import RoleReference


class RowRuleFilterType(StrEnum):
    """Whom a rule binds: Regular the users of its roles, Base all users but those of its roles."""

    REGULAR = "Regular"
    BASE = "Base"


class RowRulePost(StrictShape):
    """A rule to create: a SQL condition over datasets, `tables` (contract, `RLSRestApi.post`)."""

    name: Title255
    clause: str
    filter_type: RowRuleFilterType
    roles: Ids
    tables: Annotated[Ids, Field(min_length=1)]
    description: str | None = None
    group_key: str | None = None


class RowRulePut(StrictShape):
    """Changes of a rule; `roles` and `tables` replace the stored lists (contract, `RLSRestApi.put`)."""

    name: Omittable[Title255] = None
    clause: Omittable[str] = None
    filter_type: Omittable[RowRuleFilterType] = None
    roles: Omittable[Ids] = None
    tables: Omittable[Ids] = None
    description: str | None = None
    group_key: str | None = None


class TableReference(AnswerWithSchema):
    """A dataset that a rule binds; the contract names this shape, `Tables`, and does not show it."""

    model_config = ConfigDict(extra="allow")

    id: Whole = 0
    table_name: str | None = None


class RowRuleGet(StampedAnswer):
    """One rule (contract, `RLSRestApi.get`)."""

    id: Whole = 0
    name: str | None = None
    description: str | None = None
    clause: str | None = None
    filter_type: RowRuleFilterType | None = None
    group_key: str | None = None
    roles: tuple[RoleReference, ...] = ()
    tables: tuple[TableReference, ...] = ()


class RowRuleListItem(RowRuleGet):
    """One rule of a list (contract, `RLSRestApi.get_list`)."""

    changed_on_delta_humanized: ReadOnly[str] = None

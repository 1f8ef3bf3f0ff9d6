"""Shapes of users and roles, and of the rules on the rows that they see (contract, section Row-level security rule).

The contract names people only in references, so their shapes are ours.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field

from analytics_core.models.administrator import FirstAdministrator
from analytics_core.models.base import (
    Answer,
    AnswerWithSchema,
    Bool,
    Ids,
    Integer,
    LoginName,
    Moment,
    Omittable,
    ReadOnly,
    StampedAnswer,
    StrictShape,
    Text64,
    Text255,
    Title255,
)
from analytics_core.models.references import RoleReference


def _texts(value: Any) -> Any:
    """Return one text or several, or say what was meant: a union of the two has no message of its own."""
    if isinstance(value, str) or (isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)):
        return value
    raise ValueError("must be text, or an array of texts")


_Attributes = dict[str, Annotated[str | tuple[str, ...], BeforeValidator(_texts)]]
"""By name; an attribute may have several values."""


class UserPost(FirstAdministrator):
    """A user to create; `attributes` are texts, or lists of texts, that row rules may use."""

    active: Bool = True
    roles: Ids = ()
    attributes: _Attributes = Field(default_factory=dict)


class UserPut(StrictShape):
    """Changes of a user; `roles` and `attributes` replace the stored ones."""

    username: Omittable[LoginName] = None
    first_name: Omittable[Text64] = None
    last_name: Omittable[Text64] = None
    email: Text255 | None = None
    active: Omittable[Bool] = None
    roles: Omittable[Ids] = None
    attributes: Omittable[_Attributes] = None


class UserGet(Answer):
    """One user."""

    id: Integer
    username: Text64
    first_name: Text64
    last_name: Text64
    email: Text255 | None = None
    active: Bool
    roles: tuple[RoleReference, ...] = ()
    attributes: _Attributes = Field(default_factory=dict)
    changed_on: Moment | None = None


class RolePost(StrictShape):
    """A role to create; `is_admin` roles may do everything."""

    name: LoginName
    is_admin: Bool = False


class RolePut(StrictShape):
    """Changes of a role."""

    name: Omittable[LoginName] = None
    is_admin: Omittable[Bool] = None


class GrantGet(Answer):
    """What a grant opens: a database, one schema of a database, or a dataset."""

    on: str
    id: Integer
    schema_name: str | None = None


class RoleGet(Answer):
    """One role with its grants."""

    id: Integer
    name: Text64
    is_admin: Bool
    grants: tuple[GrantGet, ...] = ()
    changed_on: Moment | None = None


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

    id: Integer = 0
    table_name: str | None = None


class RowRuleGet(StampedAnswer):
    """One rule (contract, `RLSRestApi.get`)."""

    id: Integer = 0
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

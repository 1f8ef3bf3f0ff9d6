"""Shapes of users and roles; the contract names people only in references, so these are ours."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from analytics_core.models.base import Answer, Bool, Ids, Moment, Omittable, StrictShape, Text64, Text255, Whole
from analytics_core.models.references import RoleReference


def _texts(value: Any) -> Any:
    """Return one text or several, or say what was meant: a union of the two has no message of its own."""
    if isinstance(value, str) or (isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)):
        return value
    raise ValueError("must be text, or an array of texts")


_Attributes = dict[str, Annotated[str | tuple[str, ...], BeforeValidator(_texts)]]
"""By name; an attribute may have several values."""

_Login = Annotated[Text64, Field(min_length=1)]


class FirstAdministrator(StrictShape):
    """Who begins a store; all else is theirs to do."""

    username: _Login
    first_name: Text64 = ""
    last_name: Text64 = ""
    email: Text255 | None = None


class UserPost(StrictShape):
    """A user to create; `attributes` are texts, or lists of texts, that row rules may use."""

    username: _Login
    first_name: Text64 = ""
    last_name: Text64 = ""
    email: Text255 | None = None
    active: Bool = True
    roles: Ids = ()
    attributes: _Attributes = Field(default_factory=dict)


class UserPut(StrictShape):
    """Changes of a user; `roles` and `attributes` replace the stored ones."""

    username: Omittable[_Login] = None
    first_name: Omittable[Text64] = None
    last_name: Omittable[Text64] = None
    email: Text255 | None = None
    active: Omittable[Bool] = None
    roles: Omittable[Ids] = None
    attributes: Omittable[_Attributes] = None


class UserGet(Answer):
    """One user."""

    id: Whole
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

    name: _Login
    is_admin: Bool = False


class RolePut(StrictShape):
    """Changes of a role."""

    name: Omittable[_Login] = None
    is_admin: Omittable[Bool] = None


class GrantGet(Answer):
    """What a grant opens: a database, one schema of a database, or a dataset."""

    on: str
    id: Whole
    schema_name: str | None = None


class RoleGet(Answer):
    """One role with its grants."""

    id: Whole
    name: Text64
    is_admin: Bool
    grants: tuple[GrantGet, ...] = ()
    changed_on: Moment | None = None

"""Users, roles and grants."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from analytics_core._records.audit import Audit


class GrantTarget(StrEnum):
    """What a role may be given access to."""

    DATABASE = "database"
    SCHEMA = "schema"
    DATASET = "dataset"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Read access to one database, one schema of a database, or one dataset.

    `target_id` is a database id for DATABASE and SCHEMA, a dataset id for DATASET; `schema` is set for SCHEMA only.
    """

    target: GrantTarget
    target_id: int
    schema: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A named set of grants; `is_admin` roles may do everything."""

    id: int = 0
    name: str
    is_admin: bool = False
    grants: frozenset[Grant] = frozenset()
    audit: Audit = field(default_factory=Audit)


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A person; `attributes` are (name, value) pairs that row rules may use; a name may have several values.

    A person of the store has their roles in `role_ids`. A host's directory may name roles of the store in `role_names`
    instead, or too: exactly as they are written there. The store keeps no `role_names`.
    """

    id: int = 0
    username: str
    first_name: str = ""
    last_name: str = ""
    email: str | None = None
    active: bool = True
    role_ids: tuple[int, ...] = ()
    role_names: tuple[str, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    audit: Audit = field(default_factory=Audit)

    def rights(self) -> tuple[object, ...]:
        """Return what the user's rights come from, whatever the order of the roles."""
        attributes = frozenset(self.attributes)
        return self.username, self.active, frozenset(self.role_ids), frozenset(self.role_names), attributes

"""Users, roles and grants; guests: what a token says, and what it opens now; the row rules that bind all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from analytics_core._records.audit import StoredRecord


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
class Role(StoredRecord):
    """A named set of grants; `is_admin` roles may do everything."""

    name: str
    is_admin: bool = False
    grants: frozenset[Grant] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class User(StoredRecord):
    """A person; `attributes` are (name, value) pairs that row rules may use; a name may have several values.

    A person of the store has their roles in `role_ids`. A host's directory may name roles of the store in `role_names`
    instead, or too: exactly as they are written there. The store keeps no `role_names`.
    """

    username: str
    first_name: str = ""
    last_name: str = ""
    email: str | None = None
    active: bool = True
    role_ids: tuple[int, ...] = ()
    role_names: tuple[str, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()

    def rights(self) -> tuple[object, ...]:
        """Return what the user's rights come from, whatever the order of the roles."""
        attributes = frozenset(self.attributes)
        return self.username, self.active, frozenset(self.role_ids), frozenset(self.role_names), attributes


GuestValue = str | int | float | tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestRule:
    """A condition on the rows that a guest sees of one dataset, or of all (`dataset_id` None).

    `values` are what `{{ value('name') }}` in the clause stands for; they are bound and never written. Rules with 1 and
    with 1.0 are two: as texts they name different rows.
    """

    clause: str
    dataset_id: int | None = None
    values: tuple[tuple[str, GuestValue], ...] = ()
    _kinds: tuple[type, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_kinds", tuple([type(value) for _, value in self.values]))


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestGrant:
    """What a verified token says.

    Attributes:
        embedded: the uuids of the embedded dashboards that it opens.
        all_rows: the ids of datasets that need no rule; None: no dataset needs one.
        issued_on, expires_on: aware, UTC.
    """

    username: str
    first_name: str
    last_name: str
    attributes: tuple[tuple[str, str], ...]
    embedded: tuple[str, ...]
    rules: tuple[GuestRule, ...]
    all_rows: frozenset[int] | None
    issued_on: datetime
    expires_on: datetime

    def rights(self) -> tuple[object, ...]:
        """Return who the guest is and what their rights come from: the same for a token that is minted anew."""
        named = self.username, self.first_name, self.last_name, frozenset(self.attributes)
        return *named, frozenset(self.embedded), frozenset(self.rules), self.all_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestVisit:
    """A verified token in use, on a page of `origin`."""

    grant: GuestGrant
    origin: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestPass:
    """What a guest may read at this moment; equal passes have equal rights, whichever token they came from."""

    dashboard_ids: frozenset[int]
    chart_ids: frozenset[int]
    dataset_ids: frozenset[int]
    rules: tuple[GuestRule, ...]
    all_rows: frozenset[int] | None

    def needs_rule(self, dataset_id: int) -> bool:
        """Tell whether the guest sees nothing of the dataset unless a rule of the token binds there."""
        return self.all_rows is not None and dataset_id not in self.all_rows


class RowRuleType(StrEnum):
    """Whom a rule binds: REGULAR those who have one of its roles, BASE everybody who has none of them."""

    REGULAR = "Regular"
    BASE = "Base"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRule(StoredRecord):
    """A condition on the rows of datasets; rules that share a `group_key` are ORed, all else is ANDed."""

    name: str
    clause: str
    filter_type: RowRuleType = RowRuleType.REGULAR
    group_key: str | None = None
    description: str | None = None
    role_ids: tuple[int, ...] = ()
    dataset_ids: tuple[int, ...] = ()


RuleValue = str | int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Placeholder:
    """The place of a value in a clause: a text in quotes that holds `mark`; the value is bound and never written.

    A member of a list stands alone between its quotes; other values may be a part of a longer text.
    """

    mark: str
    value: RuleValue
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

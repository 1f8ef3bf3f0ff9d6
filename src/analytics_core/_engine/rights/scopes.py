"""What an actor may read, as a scope: the answer of the policy's table to all records at once.

Each permission has the ways in which its relationships come about; they say the same as `Policy.can_read_*` does of one
record, and a property test holds the two together. Where the ways are not known, because a host's policy decides by
more than the table, there is no scope: then each record must be asked about.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.policy import Permission, Policy
from analytics_core._engine.rights.relationships import AnyRelationship, HasRole, Relationship
from analytics_core._records.people import GrantTarget, GuestPass
from analytics_core._records.repositories import Audience, Scope

NOT_LOOKED_AT: Final = frozenset({"columns", "metrics"})
"""What the rules of the table do not look at in a dataset."""

_ALWAYS: Final = ("allows", "enough_for")
_DECIDED_BY: Final[Mapping[Permission, tuple[str, ...]]] = {
    Permission.READ_DATABASE: ("can_read_database",),
    Permission.READ_DATASET: ("can_read_dataset",),
    Permission.READ_CHART: ("can_read_chart", "can_read_dataset"),
    Permission.READ_DASHBOARD: ("can_read_dashboard", "_is_audience", "can_read_dataset"),
    Permission.MANAGE_REPORT: ("can_manage_report",),
}
_KNOWN: Final = frozenset(
    {
        Relationship.ADMINISTRATOR,
        Relationship.OWNER,
        Relationship.DATABASE_GRANT,
        Relationship.SCHEMA_GRANT,
        Relationship.DATASET_GRANT,
        Relationship.READER_OF_ITS_DATASET,
        Relationship.AUDIENCE,
        Relationship.GUEST_OF_ITS_DASHBOARD,
    }
)


def scope_of(policy: Policy, permission: Permission, actor: Actor) -> Scope | None:
    """Return the records that the actor has a permission to read; None: each record must be asked about."""
    methods = _DECIDED_BY[permission]
    needed = {permission, Permission.READ_DATASET} if "can_read_dataset" in methods else {permission}
    if not decides_by_table(policy, *methods):
        return None
    for one in needed:
        enough = policy.enough_for(one)
        if not (enough <= _KNOWN or all(isinstance(other, HasRole) for other in enough - _KNOWN)):
            return None
    return _scope(policy, permission, actor)


def needs_full_datasets(policy: Policy) -> bool:
    """Tell whether a policy may look at all of a dataset to judge its charts: it does so by methods of its own."""
    return not decides_by_table(policy, *_DECIDED_BY[Permission.READ_CHART])


def decides_by_table(policy: Policy, *methods: str) -> bool:
    """Tell whether these methods are those of `Policy` itself, which know the table and the records alone."""
    for name in (*_ALWAYS, *methods):
        if getattr(getattr(policy, name), "__func__", None) is not getattr(Policy, name):
            return False
    return True


def _scope(policy: Policy, permission: Permission, actor: Actor) -> Scope:
    enough = policy.enough_for(permission)
    if actor.guest is not None:
        is_open = Relationship.GUEST_OF_ITS_DASHBOARD in enough
        return Scope(ids=_named_by_token(permission, actor.guest) if is_open else frozenset())
    if (actor.is_admin and Relationship.ADMINISTRATOR in enough) or any(
        HasRole(name) in enough for name in actor.role_names
    ):
        return Scope(everything=True)
    owner_id = actor.id if Relationship.OWNER in enough else None
    if permission is Permission.MANAGE_REPORT:
        return Scope(owner_id=owner_id)
    return _scope_by_grants(policy, permission, actor, owner_id)


def _scope_by_grants(policy: Policy, permission: Permission, actor: Actor, owner_id: int | None) -> Scope:
    """Return what somebody reads by owning it, or by grants of their roles."""
    enough = policy.enough_for(permission)
    match permission:
        case Permission.READ_DATABASE:
            return Scope(ids=_granted_databases(enough, actor))
        case Permission.READ_DATASET:
            return _granted_datasets(enough, actor, owner_id=owner_id)
        case Permission.READ_CHART:
            through = Relationship.READER_OF_ITS_DATASET in enough
            return Scope(
                owner_id=owner_id, drawn_from=_scope(policy, Permission.READ_DATASET, actor) if through else None
            )
    datasets = _scope(policy, Permission.READ_DATASET, actor)
    audience = Audience(role_ids=actor.role_ids, datasets=datasets) if Relationship.AUDIENCE in enough else None
    return Scope(owner_id=owner_id, audience=audience)


def _named_by_token(permission: Permission, guest: GuestPass) -> frozenset[int]:
    named = {
        Permission.READ_DATASET: guest.dataset_ids,
        Permission.READ_CHART: guest.chart_ids,
        Permission.READ_DASHBOARD: guest.dashboard_ids,
    }
    return named.get(permission, frozenset())


def _granted_databases(enough: frozenset[AnyRelationship], actor: Actor) -> frozenset[int]:
    opening = {GrantTarget.DATABASE: Relationship.DATABASE_GRANT, GrantTarget.SCHEMA: Relationship.SCHEMA_GRANT}
    return frozenset(grant.target_id for grant in actor.grants if opening.get(grant.target) in enough)


def _granted_datasets(enough: frozenset[AnyRelationship], actor: Actor, *, owner_id: int | None) -> Scope:
    grants = actor.grants

    def ids(relationship: Relationship, target: GrantTarget) -> frozenset[int]:
        found = (grant.target_id for grant in grants if grant.target is target and grant.schema is None)
        return frozenset(found) if relationship in enough else frozenset()

    named = ((grant.target_id, grant.schema) for grant in grants if grant.target is GrantTarget.SCHEMA and grant.schema)
    return Scope(
        owner_id=owner_id,
        ids=ids(Relationship.DATASET_GRANT, GrantTarget.DATASET),
        database_ids=ids(Relationship.DATABASE_GRANT, GrantTarget.DATABASE),
        schemas=frozenset((key, schema) for key, schema in named if schema)
        if Relationship.SCHEMA_GRANT in enough
        else frozenset(),
    )

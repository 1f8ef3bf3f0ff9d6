"""What an actor may read, as a scope: the answer of the policy's table to all records at once.

Each act has the ways in which its standings come about; they say the same as `Policy.can_read_*` does of one record,
and a property test holds the two together. Where the ways are not known, because a host's policy decides by more than
the table, there is no scope: then each record must be asked about.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from analytics_core._records.people import GrantTarget, GuestPass
from analytics_core._records.repositories import Audience, Scope
from analytics_core._security.actor import Actor
from analytics_core._security.policy import Act, AnyStanding, HasRole, Policy, Standing

_ALWAYS: Final = ("allows", "enough_for")
_DECIDED_BY: Final[Mapping[Act, tuple[str, ...]]] = {
    Act.READ_DATABASE: ("can_read_database",),
    Act.READ_DATASET: ("can_read_dataset",),
    Act.READ_CHART: ("can_read_chart", "can_read_dataset"),
    Act.READ_DASHBOARD: ("can_read_dashboard", "_is_audience", "can_read_dataset"),
}
_KNOWN: Final = frozenset(
    {
        Standing.ADMINISTRATOR,
        Standing.OWNER,
        Standing.DATABASE_GRANT,
        Standing.SCHEMA_GRANT,
        Standing.DATASET_GRANT,
        Standing.READER_OF_ITS_DATASET,
        Standing.AUDIENCE,
        Standing.GUEST_OF_ITS_DASHBOARD,
    }
)


def scope_of(policy: Policy, act: Act, actor: Actor) -> Scope | None:
    """Return the records on which the actor may do an act of reading; None: each record must be asked about."""
    needed = {act, Act.READ_DATASET} if act in (Act.READ_CHART, Act.READ_DASHBOARD) else {act}
    if not decides_by_table(policy, *_DECIDED_BY[act]) or not all(_is_known(policy.enough_for(one)) for one in needed):
        return None
    return _scope(policy, act, actor)


def decides_by_table(policy: Policy, *methods: str) -> bool:
    """Tell whether these methods are those of `Policy` itself, which know the table and the records alone."""
    names = (*_ALWAYS, *methods)
    return all(getattr(getattr(policy, name), "__func__", None) is getattr(Policy, name) for name in names)


def _is_known(enough: frozenset[AnyStanding]) -> bool:
    return all(isinstance(standing, HasRole) or standing in _KNOWN for standing in enough)


def _scope(policy: Policy, act: Act, actor: Actor) -> Scope:
    enough = policy.enough_for(act)
    if actor.guest is not None:
        named = _named_by_token(act, actor.guest) if Standing.GUEST_OF_ITS_DASHBOARD in enough else frozenset()
        return Scope(ids=named)
    if (actor.is_admin and Standing.ADMINISTRATOR in enough) or any(
        HasRole(name) in enough for name in actor.role_names
    ):
        return Scope(everything=True)
    owner_id = actor.id if Standing.OWNER in enough else None
    match act:
        case Act.READ_DATABASE:
            return Scope(ids=_granted_databases(enough, actor))
        case Act.READ_DATASET:
            return _granted_datasets(enough, actor, owner_id=owner_id)
        case Act.READ_CHART:
            through = Standing.READER_OF_ITS_DATASET in enough
            return Scope(owner_id=owner_id, drawn_from=_scope(policy, Act.READ_DATASET, actor) if through else None)
    datasets = _scope(policy, Act.READ_DATASET, actor)
    audience = Audience(role_ids=actor.role_ids, datasets=datasets) if Standing.AUDIENCE in enough else None
    return Scope(owner_id=owner_id, audience=audience)


def _named_by_token(act: Act, guest: GuestPass) -> frozenset[int]:
    match act:
        case Act.READ_DATASET:
            return guest.dataset_ids
        case Act.READ_CHART:
            return guest.chart_ids
        case Act.READ_DASHBOARD:
            return guest.dashboard_ids
    return frozenset()


def _granted_databases(enough: frozenset[AnyStanding], actor: Actor) -> frozenset[int]:
    opening = {GrantTarget.DATABASE: Standing.DATABASE_GRANT, GrantTarget.SCHEMA: Standing.SCHEMA_GRANT}
    return frozenset(grant.target_id for grant in actor.grants if opening.get(grant.target) in enough)


def _granted_datasets(enough: frozenset[AnyStanding], actor: Actor, *, owner_id: int | None) -> Scope:
    grants = actor.grants

    def ids(standing: Standing, target: GrantTarget) -> frozenset[int]:
        found = (grant.target_id for grant in grants if grant.target is target and grant.schema is None)
        return frozenset(found) if standing in enough else frozenset()

    named = ((grant.target_id, grant.schema) for grant in grants if grant.target is GrantTarget.SCHEMA and grant.schema)
    return Scope(
        owner_id=owner_id,
        ids=ids(Standing.DATASET_GRANT, GrantTarget.DATASET),
        database_ids=ids(Standing.DATABASE_GRANT, GrantTarget.DATABASE),
        schemas=frozenset((key, schema) for key, schema in named if schema)
        if Standing.SCHEMA_GRANT in enough
        else frozenset(),
    )

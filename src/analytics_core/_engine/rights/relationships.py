"""How an actor stands to records: by their roles, by owning or making them, by grants, or by a guest's token."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from analytics_core._engine.rights.actor import Actor
from analytics_core._records.datasource import Dataset
from analytics_core._records.people import Grant, GrantTarget


class Relationship(Enum):
    """How an actor stands to a record."""

    ADMINISTRATOR = auto()
    OWNER = auto()
    DATABASE_GRANT = auto()
    SCHEMA_GRANT = auto()
    DATASET_GRANT = auto()
    READER_OF_ITS_DATASET = auto()
    THEMSELVES = auto()
    SIGNED_IN = auto()
    CREATOR = auto()
    AUDIENCE = auto()
    """Somebody for whom a dashboard was published: by its roles, and by the datasets of its charts."""
    GUEST_OF_ITS_DASHBOARD = auto()
    """A guest whose token names the dashboard, or one with this chart, or one with a chart of this dataset."""


@dataclass(frozen=True, slots=True)
class HasRole:
    """How whoever has the role of this name stands to every record; for the tables of hosts."""

    name: str


AnyRelationship = Relationship | HasRole
"""Any way in which somebody stands to a record."""


def relationships_on_database(actor: Actor, database_id: int) -> frozenset[AnyRelationship]:
    """Return how the actor stands to a database; a grant on any of its schemas counts as SCHEMA_GRANT."""
    found: set[AnyRelationship] = set(general_relationships(actor))
    for grant in actor.grants:
        if grant.target_id == database_id and grant.target is GrantTarget.DATABASE:
            found.add(Relationship.DATABASE_GRANT)
        if grant.target_id == database_id and grant.target is GrantTarget.SCHEMA:
            found.add(Relationship.SCHEMA_GRANT)
    return frozenset(found)


def relationships_on_schema(actor: Actor, database_id: int, schema: str | None) -> frozenset[AnyRelationship]:
    """Return how the actor stands to the tables of one schema; an unnamed schema matches no schema grant."""
    grants = actor.grants
    found: set[AnyRelationship] = set(general_relationships(actor))
    if Grant(target=GrantTarget.DATABASE, target_id=database_id) in grants:
        found.add(Relationship.DATABASE_GRANT)
    if schema and Grant(target=GrantTarget.SCHEMA, target_id=database_id, schema=schema) in grants:
        found.add(Relationship.SCHEMA_GRANT)
    return frozenset(found)


def relationships_on_dataset(actor: Actor, dataset: Dataset) -> frozenset[AnyRelationship]:
    """Return how the actor stands to a dataset."""
    if actor.guest is not None:
        return guest_relationships(dataset.id in actor.guest.dataset_ids)
    found = relationships_on_schema(actor, dataset.database_id, dataset.schema) | owner_relationships(
        actor, dataset.owner_ids
    )
    if Grant(target=GrantTarget.DATASET, target_id=dataset.id) in actor.grants:
        found |= {Relationship.DATASET_GRANT}
    return found


def guest_relationships(is_named: bool) -> frozenset[AnyRelationship]:
    """Return how a guest stands to a record: by their token, and in no other way."""
    return frozenset({Relationship.GUEST_OF_ITS_DASHBOARD}) if is_named else frozenset()


def general_relationships(actor: Actor) -> frozenset[AnyRelationship]:
    """Return how an actor stands to every record: by being an administrator, and by the roles that they have."""
    by_role: frozenset[AnyRelationship] = frozenset(map(HasRole, actor.role_names))
    return by_role | {Relationship.ADMINISTRATOR} if actor.is_admin else by_role


def owner_relationships(actor: Actor, owner_ids: tuple[int, ...]) -> frozenset[AnyRelationship]:
    """Return how an actor stands to a record that these people own."""
    general = general_relationships(actor)
    return general | {Relationship.OWNER} if actor.stored_id in owner_ids else general


def signed_in_relationships(actor: Actor) -> frozenset[AnyRelationship]:
    """Return how an actor stands to what everybody shares: whoever acts and is no guest has signed in."""
    if actor.guest is not None:
        return guest_relationships(is_named=False)
    return general_relationships(actor) | {Relationship.SIGNED_IN}


def creator_relationships(actor: Actor, *creators: int | None) -> frozenset[AnyRelationship]:
    """Return how an actor stands to a record by who made it; one whose maker was deleted has none."""
    relationships = signed_in_relationships(actor)
    return relationships | {Relationship.CREATOR} if actor.stored_id in {*creators} - {None} else relationships

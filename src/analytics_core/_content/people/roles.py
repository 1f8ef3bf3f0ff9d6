"""`core.roles`: named sets of grants."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from analytics_core._content.changes import reject_later_change, repeated
from analytics_core._content.field_formatter import answer_as
from analytics_core._content.lists import DATABASES, DATASETS, Listing, ResourceLists, all_of_it
from analytics_core._content.namespace import ListedNamespace
from analytics_core._content.written_back import read_changes
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.people import Grant, GrantTarget, Role, User
from analytics_core._records.repositories import UnitOfWork
from analytics_core.errors import AccessError, NotFoundError
from analytics_core.models.database import DatabaseGet, DatabaseListItem
from analytics_core.models.dataset import DatasetGet, DatasetListItem
from analytics_core.models.parsing import Payload, parse, payload_error
from analytics_core.models.people import GrantGet, RoleGet, RolePost, RolePut

RoleKey = int | str | RoleGet
On = DatabaseGet | DatabaseListItem | DatasetGet | DatasetListItem | tuple[str, int] | tuple[str, int, str]
"""What a grant opens: a record, or `("database", id)`, `("schema", database id, name)` or `("dataset", id)`."""

GrantChange = Callable[[UnitOfWork, frozenset[Grant]], frozenset[Grant]]

LISTS = ResourceLists(
    listing=Listing(
        shape="role", item=RoleGet, is_audited=False, integers=("id",), texts=("name",), booleans=("is_admin",)
    ),
    repository=lambda unit: unit.roles,
    item=lambda role, _facts: _answer(role),
    permission=lambda policy, actor: policy.require_manage_people(actor),
    visibility=all_of_it,
    people_of=lambda _role: (),
    people=(),
    records={"databases": DATABASES, "datasets": DATASETS},
)


class Roles(ListedNamespace[RoleGet]):
    """Roles and what they give access to; only administrators manage them.

    `related` takes what a role may be granted: `databases` or `datasets`.
    """

    _resource = LISTS

    def create(self, payload: RolePost | Payload) -> RoleGet:
        """Store a role without grants; AlreadyExistsError when the name is taken.

        Examples:
            >>> core.roles.create({"name": "Auditors"}).grants
            ()
        """
        self._runtime.policy.require_manage_people(self._actor)
        post = parse(RolePost, payload, shape="role payload")
        with self._acting("role.create") as (act, unit):
            stored = act.add(unit, unit.roles, Role(name=post.name, is_admin=post.is_admin), "role_id")
        return _answer(stored)

    def get(self, role_id: int) -> RoleGet:
        """Return a role with its grants.

        Examples:
            >>> core.roles.get(2).name
            'Analysts'
        """
        self._runtime.policy.require_manage_people(self._actor)
        with self._runtime.store.unit_of_work() as unit:
            return _answer(unit.roles.get(role_id))

    @repeated
    def update(
        self, role_id: int, payload: RolePut | RoleGet | Payload, *, unchanged_since: datetime | str | None = None
    ) -> RoleGet:
        """Change a role's name or rank; its grants stay.

        With `unchanged_since`, the `changed_on` of the role that the caller read, a change that somebody else made
        since is not overwritten; a grant that was given or taken is a change, too.

        Raises:
            PayloadError: the payload breaks the shape.
            AccessError, NotFoundError: only administrators manage roles, and they keep their own rank; there is no such
                role.
            AlreadyExistsError: the name is taken.
            StaleVersionError: somebody else changed it meanwhile.

        Examples:
            >>> core.roles.update(2, {"name": "Analysts of sales"}).name
            'Analysts of sales'
        """
        self._runtime.policy.require_manage_people(self._actor)
        put = read_changes(RolePut, payload, shape="role payload", answers=self._answers(RoleGet, self.get, role_id))
        with self._acting("role.update") as (act, unit):
            before = unit.roles.get(role_id)
            reject_later_change(before, unchanged_since)
            changed = replace(before, **put.given())
            if role_id in self._actor.role_ids:
                roles = remaining_roles(self._actor, role_id, changed)
                require_remaining_admin(self._actor, user=self._actor.user, roles=roles)
            stored = act.update(unit, unit.roles, before, changed, details={"role_id": role_id})
        return _answer(stored)

    @repeated
    def delete(self, role_id: int) -> None:
        """Remove a role.

        Raises:
            AccessError, NotFoundError: only administrators remove roles, and they keep their own rank; there is no such
                role.
            InUseError: somebody whom the store knows has it.

        Examples:
            >>> core.roles.delete(core.roles.create({"name": "Auditors"}).id)
            >>> core.roles.list().count
            2
        """
        self._runtime.policy.require_manage_people(self._actor)
        with self._acting("role.delete") as (act, unit):
            unit.roles.delete(role_id)
            if role_id in self._actor.role_ids:  # by the word of a host's directory, of which the store knows nothing
                roles = remaining_roles(self._actor, role_id, None)
                require_remaining_admin(self._actor, user=self._actor.user, roles=roles)
            act.log(unit, details={"role_id": role_id})

    def grant(self, role: RoleKey, *, on: On) -> RoleGet:
        """Give a role read access to a database, a schema of one, or a dataset; twice is the same as once.

        Example:
            core.roles.grant("analysts", on=core.datasets.get(3))
            core.roles.grant("analysts", on=("schema", 1, "sales"))

        Examples:
            >>> role = core.roles.grant("Analysts", on=core.databases.get(1))
            >>> len(role.grants)
            2
        """
        return self._with_grants("role.grant", role, on, lambda unit, grants: grants | {_checked_grant(unit, on)})

    def revoke(self, role: RoleKey, *, on: On) -> RoleGet:
        """Take read access from a role; nothing happens when it has none.

        Examples:
            >>> core.roles.revoke("Analysts", on=("dataset", 1)).grants
            ()
        """
        return self._with_grants("role.revoke", role, on, lambda _unit, grants: grants - {_grant_of(on)})

    @repeated
    def _with_grants(self, action: str, role: RoleKey, on: On, change: GrantChange) -> RoleGet:
        self._runtime.policy.require_manage_people(self._actor)
        with self._acting(action) as (act, unit):
            stored = _find_role(unit, role)
            grants = change(unit, stored.grants)
            if grants != stored.grants:
                stored = unit.roles.update(replace(stored, grants=grants), actor_id=self._actor.id)
                act.log(unit, details={"role_id": stored.id, "on": _described(_grant_of(on))})
        return _answer(stored)


def _find_role(unit: UnitOfWork, key: RoleKey) -> Role:
    if isinstance(key, str):
        found = unit.roles.find(name=key)
        if found is None:
            raise NotFoundError("role", key)
        return found
    return unit.roles.get(key.id if isinstance(key, RoleGet) else key)


def _checked_grant(unit: UnitOfWork, on: On) -> Grant:
    """Return the grant on a record that exists."""
    grant = _grant_of(on)
    if grant.target is GrantTarget.DATASET:
        unit.datasets.get(grant.target_id)
    else:
        unit.databases.get(grant.target_id)
    return grant


def _grant_of(on: On) -> Grant:
    match on:
        case DatabaseGet() | DatabaseListItem():
            return Grant(target=GrantTarget.DATABASE, target_id=on.id)
        case DatasetGet() | DatasetListItem():
            return Grant(target=GrantTarget.DATASET, target_id=on.id)
        case ("database", int(target_id)):
            return Grant(target=GrantTarget.DATABASE, target_id=target_id)
        case ("dataset", int(target_id)):
            return Grant(target=GrantTarget.DATASET, target_id=target_id)
        case ("schema", int(target_id), str(schema)) if schema:
            return Grant(target=GrantTarget.SCHEMA, target_id=target_id, schema=schema)
    forms = "a database, a dataset, ('database', id), ('schema', database id, name) or ('dataset', id)"
    raise payload_error("grant", "on", f"must be {forms}")


def _described(grant: Grant) -> dict[str, Any]:
    described: dict[str, Any] = {"target": grant.target.value, "id": grant.target_id}
    return {**described, "schema": grant.schema} if grant.schema else described


def _answer(role: Role) -> RoleGet:
    ordered = sorted(role.grants, key=lambda grant: (grant.target.value, grant.target_id, grant.schema or ""))
    grants = tuple(GrantGet(on=grant.target.value, id=grant.target_id, schema_name=grant.schema) for grant in ordered)
    return answer_as(RoleGet, role, grants=grants)


def require_remaining_admin(actor: Actor, *, user: User | None, roles: Iterable[Role]) -> None:
    """Check that an administrator who changes themselves is one after it.

    Args:
        actor: who acts.
        user: they, as they would be; None when they would be deleted.
        roles: the roles that they would have.

    Raises:
        AccessError: they would be an administrator no more.
    """
    stays = user is not None and user.active and any(role.is_admin for role in roles)
    if actor.is_admin and not stays:
        raise AccessError(
            "you may not stop being an administrator by yourself, since nobody might be left; ask another one"
        )


def remaining_roles(actor: Actor, role_id: int, changed: Role | None) -> tuple[Role, ...]:
    """Return the actor's roles after a change of one of them; None when it would be deleted.

    Whom a host's directory gives a role by its name loses it with that name.
    """
    others = tuple(role for role in actor.roles if role.id != role_id)
    stays = changed is not None and (role_id in actor.user.role_ids or changed.name in actor.user.role_names)
    return (*others, changed) if changed is not None and stays else others

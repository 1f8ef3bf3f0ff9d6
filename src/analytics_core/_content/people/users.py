"""`core.users`: the people who act."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from analytics_core._content.batches import by_ids, unknown_ids
from analytics_core._content.changes import begin_act, reject_later_change, repeated
from analytics_core._content.field_formatter import answer_as
from analytics_core._content.lists import ROLES, Listing, ResourceLists, anybody
from analytics_core._content.namespace import ListedNamespace
from analytics_core._content.needed_by_reports import require_runs_nothing
from analytics_core._content.people.roles import require_remaining_admin
from analytics_core._content.reader import Reader
from analytics_core._content.written_back import read_changes
from analytics_core._engine.rights.policy import Permission
from analytics_core._records.people import Role, User
from analytics_core._records.repositories import ListQuery, UnitOfWork
from analytics_core.errors import PayloadSchemaError
from analytics_core.models.parsing import Payload, parse
from analytics_core.models.people import UserGet, UserPost, UserPut
from analytics_core.models.references import RoleReference


def _themselves(reader: Reader, query: ListQuery) -> ListQuery:
    sees_all = reader.policy.sees_all(Permission.MANAGE_PEOPLE, reader.actor)
    return replace(query, ids=None if sees_all else frozenset({reader.actor.id}))


LISTS = ResourceLists(
    listing=Listing(
        shape="user",
        item=UserGet,
        is_audited=False,
        integers=("id",),
        texts=("username", "first_name", "last_name", "email"),
        booleans=("active",),
        moments=("created_on", "changed_on"),
        links=("roles",),
        stored_as={"roles": "role_ids"},
    ),
    repository=lambda unit: unit.users,
    item=lambda user, facts: _user_get(user, facts.linked),
    list_permission=lambda policy, actor: policy.require_manage_people(actor),
    permission=anybody,
    linked=lambda reader, found: _roles(reader.unit, {role_id for user in found for role_id in user.role_ids}),
    people_of=lambda _user: (),
    people=(),
    visibility=_themselves,
    records={"roles": ROLES},
)


class Users(ListedNamespace[UserGet]):
    """Users; administrators manage them, everybody may read their own record.

    `related` takes `roles`, which everybody may ask for: others find their own.
    """

    _resource = LISTS

    def create(self, payload: UserPost | Payload) -> UserGet:
        """Store a user; AlreadyExistsError when the user name is taken.

        Examples:
            >>> core.users.create({"username": "joan", "first_name": "Joan", "roles": [2]}).roles[0].name
            'Analysts'
        """
        self._runtime.policy.require_manage_people(self._actor)
        post = parse(UserPost, payload, shape="user payload")
        with self._acting("user.create") as (act, unit):
            _reject_unknown_roles(unit, post.roles)
            stored = act.add(unit, unit.users, _with_given(User(username=post.username), post), "user_id")
            return _answer(unit, stored)

    def get(self, user_id: int) -> UserGet:
        """Return a user; others than oneself only for administrators.

        Examples:
            >>> core.users.get(2).first_name
            'Grace'
        """
        if user_id != self._actor.id:
            self._runtime.policy.require_manage_people(self._actor)
        with self._runtime.store.unit_of_work() as unit:
            return _answer(unit, unit.users.get(user_id))

    @repeated
    def update(
        self, user_id: int, payload: UserPut | UserGet | Payload, *, unchanged_since: datetime | str | None = None
    ) -> UserGet:
        """Change a user; `roles` and `attributes` replace the stored ones.

        With `unchanged_since`, the `changed_on` of the user that the caller read, a change that somebody else made
        since is not overwritten.

        Raises:
            PayloadError: the payload breaks the shape or names an unknown role.
            AccessError, NotFoundError: only administrators manage users, and they keep their own rank; there is no such
                user.
            AlreadyExistsError: the user name is taken.
            StaleVersionError: somebody else changed it meanwhile.

        Examples:
            >>> core.users.update(2, {"email": "grace@example.com"}).email
            'grace@example.com'
        """
        self._runtime.policy.require_manage_people(self._actor)
        put = read_changes(UserPut, payload, shape="user payload", answers=self._answers(UserGet, self.get, user_id))
        with self._acting("user.update") as (act, unit):
            _reject_unknown_roles(unit, put.roles or ())
            before = unit.users.get(user_id)
            reject_later_change(before, unchanged_since)
            changed = _with_given(before, put)
            if user_id == self._actor.id:
                require_remaining_admin(self._actor, user=changed, roles=by_ids(unit.roles, changed.role_ids).values())
            stored = act.update(unit, unit.users, before, changed, details={"user_id": user_id})
            return _answer(unit, stored)

    @repeated
    def delete(self, user_id: int) -> None:
        """Remove a user; what they made stays, without them as an owner.

        Raises:
            InUseError: alerts or reports run as them.
            AccessError, NotFoundError: only administrators remove users, and never themselves; there is no such user.

        Examples:
            >>> core.users.delete(2)
            >>> core.users.list().count
            1
        """
        self._runtime.policy.require_manage_people(self._actor)
        act = begin_act(self._runtime, self._actor, "user.delete")
        if user_id == self._actor.id:
            require_remaining_admin(self._actor, user=None, roles=())
        with self._runtime.store.unit_of_work() as unit:
            require_runs_nothing(self._reader(unit), user_id)
            act.delete(unit, unit.users, user_id, details={"user_id": user_id})


def _with_given(user: User, payload: UserPost | UserPut) -> User:
    """Return a user after a payload."""
    changes = payload.given()
    if "roles" in changes:
        changes["role_ids"] = tuple(dict.fromkeys(changes.pop("roles")))
    if "attributes" in changes:
        changes["attributes"] = _pairs(changes["attributes"])
    return replace(user, **changes)


def _pairs(attributes: Mapping[str, str | tuple[str, ...]]) -> tuple[tuple[str, str], ...]:
    """Return attributes as they are stored: an attribute with several values is several pairs."""
    listed = ((name, (given,) if isinstance(given, str) else given) for name, given in attributes.items())
    return tuple((name, value) for name, values in listed for value in dict.fromkeys(values))


def _values_by_name(pairs: Iterable[tuple[str, str]]) -> dict[str, str | tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, value in pairs:
        found[name] = (*found.get(name, ()), value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _reject_unknown_roles(unit: UnitOfWork, role_ids: Sequence[int]) -> None:
    if problems := unknown_ids(role_ids, _roles(unit, role_ids), path="roles", noun="role"):
        raise PayloadSchemaError(shape="user payload", problems=problems)


def _roles(unit: UnitOfWork, role_ids: Iterable[int]) -> Mapping[int, Role]:
    return by_ids(unit.roles, role_ids, without=ROLES.without)


def _answer(unit: UnitOfWork, user: User) -> UserGet:
    return _user_get(user, _roles(unit, user.role_ids))


def _user_get(user: User, roles: Mapping[int, Role]) -> UserGet:
    return answer_as(
        UserGet,
        user,
        roles=tuple(RoleReference(id=role.id, name=role.name) for role in roles.values() if role.id in user.role_ids),
        attributes=_values_by_name(user.attributes),
    )

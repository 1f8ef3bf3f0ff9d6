"""Who begins a store: its first administrator."""

from __future__ import annotations

from typing import Final, TypedDict

from analytics_core._core.runtime import CoreRuntime
from analytics_core._records.people import Role, User
from analytics_core._records.repositories import ListQuery, UnitOfWork
from analytics_core.errors import AlreadyExistsError
from analytics_core.models.administrator import FirstAdministrator
from analytics_core.models.parsing import parse

ADMINISTRATORS: Final = "Administrators"


class PersonNames(TypedDict, total=False):
    """What is told of the first administrator beside their login."""

    first_name: str
    last_name: str
    email: str | None


def create_first_administrator(runtime: CoreRuntime, username: str, names: PersonNames) -> User:
    """Create user 1, an administrator, in a store without people, and return them."""
    requested = parse(FirstAdministrator, {**names, "username": username}, shape="first administrator")
    with runtime.content.store.unit_of_work() as unit:
        _reject_second_start(unit)
        role = unit.roles.add(Role(name=ADMINISTRATORS, is_admin=True), actor_id=None)
        return unit.users.add(User(role_ids=(role.id,), **requested.model_dump()), actor_id=None)


def _reject_second_start(unit: UnitOfWork) -> None:
    """Refuse a store that somebody began: a role that was given another name does not make it empty."""
    hint = "this store has its first administrator, go on with core.as_user(...)"
    if unit.roles.find(name=ADMINISTRATORS) is not None:
        raise AlreadyExistsError("role", "name", ADMINISTRATORS, hint=hint)
    _, people = unit.users.list(ListQuery(page_size=1))
    if people:
        raise AlreadyExistsError("user", "id", people[0].id, hint=hint)

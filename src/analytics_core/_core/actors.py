"""Who acts: the keys that hosts give for people, and the actors whom they name at the moment of a call."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from analytics_core._content.storage.store_backed import StoredUserDirectory
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.people import GuestVisit, Role, User
from analytics_core._records.repositories import Snapshot, UnitOfWork
from analytics_core._records.shared_state import JobRecord
from analytics_core.errors import ActorRequiredError, AnalyticsError
from analytics_core.errors.base import short_repr

if TYPE_CHECKING:
    from analytics_core._core.runtime import CoreRuntime

UserKey = int | str | User


@dataclass(frozen=True, slots=True, kw_only=True)
class HostUser:
    """A user whose rights are the host's word; `is_known`: the directory must go on knowing them."""

    user: User
    is_known: bool


class Actors:
    """Finds who acts, with the roles that they have now."""

    def __init__(self, runtime: CoreRuntime) -> None:
        self._runtime = runtime

    def find(self, key: UserKey | HostUser, at: Snapshot | None = None) -> Actor:
        """Return the actor behind a key; `at`: as they are in a snapshot, unless they were just read.

        Raises:
            ActorRequiredError: nobody answers to it, or the person is not active.
        """
        if isinstance(key, HostUser):
            return self._runtime.actors.get(key, partial(self._read_host_user, key))
        check_user_key(key)
        return self._runtime.actors.get(key, partial(self._read, key, at), at=at)

    def of_job(self, job: JobRecord) -> Actor:
        """Return who acts for a job: who submitted it, with what they may do by now."""
        if job.claims is None:
            return self.find(job.user_id)
        from analytics_core._content.background_jobs import claimed

        acting = claimed(job)
        if isinstance(acting, GuestVisit):
            return self._runtime.content.guests.actor(acting)
        return self._read_host_user(HostUser(user=acting, is_known=True))

    def lasting_key(self, user: UserKey) -> UserKey | HostUser:
        """Return what names the same person later: a name may go to somebody else, a record grows old."""
        check_user_key(user)
        if not isinstance(user, User):
            return self.find(user).id if isinstance(user, str) else user
        known = self._runtime.content.known_user(user.id)
        if known is not None and known.rights() == user.rights():
            return user.id
        return HostUser(user=user, is_known=known is not None)

    def _read(self, key: UserKey, at: Snapshot | None = None) -> Actor:
        people, store = self._runtime.content.people, self._runtime.content.store
        if isinstance(key, str | int) and isinstance(people, StoredUserDirectory):
            # our own people and their roles are of one moment
            with store.unit_of_work() if at is None else nullcontext(at.unit) as unit:
                return _checked_actor(key, people.find_in(unit, key), unit)
        user = key if isinstance(key, User) else people.find(key)
        with store.unit_of_work() if at is None else nullcontext(at.unit) as unit:
            return _checked_actor(key, user, unit)

    def _read_host_user(self, key: HostUser) -> Actor:
        if key.is_known:
            known = self._runtime.content.known_user(key.user.id)
            if known is None or not known.active:
                raise _no_actor(key.user)
        return self._read(key.user)


def check_user_key(key: Any) -> None:
    """Raise ActorRequiredError for what names nobody, though it may equal a key: True and 1.0 equal the id 1."""
    if isinstance(key, bool) or not isinstance(key, int | str | User):
        raise ActorRequiredError(f"{short_repr(key)} names nobody, give an id, a user name or a User; this call")
    try:
        hash(key)
    except TypeError:
        raise ActorRequiredError("role_ids, role_names and attributes of a User are tuples; this call") from None
    if isinstance(key, User):
        _check_attributes(key)


def _check_attributes(user: User) -> None:
    """Raise ActorRequiredError for attributes that may equal others and mean other rows, as True and 1.0 equal 1."""
    if not all(map(_is_pair_of_texts, user.attributes)):
        raise ActorRequiredError("attributes of a User are pairs of texts; this call")


def _is_pair_of_texts(pair: object) -> bool:
    return isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(text, str) for text in pair)


def _checked_actor(key: UserKey, user: User | None, unit: UnitOfWork) -> Actor:
    if user is None or not user.active:
        raise _no_actor(key)
    if user.id < 1:  # people without an id would own each other's jobs and records
        raise ActorRequiredError(f"user {user.username!r} has no id; this call")
    _check_attributes(user)
    return Actor(user=user, roles=_roles_of(unit, user))


def _no_actor(key: UserKey) -> ActorRequiredError:
    named = key.username if isinstance(key, User) else key  # the rest of a user is nobody's business
    error = ActorRequiredError()
    hint = "give the id, the user name or the User of an active person"
    AnalyticsError.__init__(error, f"nobody active answers to {short_repr(named)}; {hint}")  # who asks acts already
    return error


def _roles_of(unit: UnitOfWork, user: User) -> tuple[Role, ...]:
    """Return the roles that a user names by id or by name and that exist; one that does not gives nothing."""
    roles = [*unit.roles.get_many(user.role_ids)] if user.role_ids else []
    for name in user.role_names:
        role = unit.roles.find(name=name)
        if role is not None and role.name == name and role not in roles:  # some servers find names in any case
            roles.append(role)
    return tuple(roles)

"""The ports whose default is the metadata store itself: locks, and the directory of users."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from datetime import timedelta

from analytics_core._records.people import User
from analytics_core._records.repositories import UnitOfWork
from analytics_core._records.shared_state import Lease, LockRecord
from analytics_core.errors import AlreadyExistsError, FilterValueError, NotFoundError, StaleVersionError
from analytics_core.ports import MetadataStore


class StoreLock:
    """Locks among all processes of one metadata store; they end by the store's own clock (port `Lock`).

    Names have at most 250 characters. Not to be asked inside a unit of work.
    """

    def __init__(self, store: MetadataStore) -> None:
        self._store = store

    def acquire(self, name: str, *, ttl_s: float) -> Lease | None:
        """Return a lease for `ttl_s` seconds from this call, or None when somebody else holds the lock.

        Raises:
            StoreUnavailableError: nobody can tell.
        """
        owner = secrets.token_urlsafe(16)
        try:
            with self._store.unit_of_work() as unit:
                now = unit.now()
                stored = unit.locks.find(name=name)
                if stored is not None and stored.ends_on > now:
                    return None
                if stored is not None:
                    unit.locks.delete(stored.id)
                lock = LockRecord(name=name, owner=owner, ends_on=now + timedelta(seconds=ttl_s))
                number = unit.locks.append(lock, actor_id=None)
        except (AlreadyExistsError, NotFoundError, StaleVersionError):  # somebody else was faster
            return None
        return Lease(name=name, owner=owner, fencing_number=number)

    def release(self, lease: Lease) -> bool:
        """Give the lock back; False when its time was over."""
        try:
            with self._store.unit_of_work() as unit:
                stored = unit.locks.find(name=lease.name, owner=lease.owner)
                if stored is None:
                    return False
                unit.locks.delete(stored.id)
                return stored.ends_on > unit.now()
        except (NotFoundError, StaleVersionError):  # its time was over, and somebody else took it
            return False


class StoredUserDirectory:
    """Finds users in the metadata store (port `BulkUserDirectory`)."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store

    def find(self, key: int | str) -> User | None:
        """Return the user with this id (int) or user name (str), or None."""
        with self._store.unit_of_work() as unit:
            return self.find_in(unit, key)

    @staticmethod
    def find_in(unit: UnitOfWork, key: int | str) -> User | None:
        """Return the same user, read in a unit of work that reads more."""
        try:
            return unit.users.find(username=key) if isinstance(key, str) else unit.users.get(key)
        except (NotFoundError, FilterValueError):  # a text that no store can hold is nobody's name
            return None

    def find_many(self, user_ids: Collection[int]) -> tuple[User, ...]:
        """Return the users of these ids that exist, their roles left unread, by one statement."""
        with self._store.unit_of_work() as unit:
            return tuple(unit.users.get_many(user_ids, without=frozenset({"role_ids"})))

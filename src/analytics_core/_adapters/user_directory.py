"""Users as the metadata store knows them."""

from __future__ import annotations

from collections.abc import Collection

from analytics_core._records.people import User
from analytics_core._records.repositories import UnitOfWork
from analytics_core.errors import FilterValueError, NotFoundError
from analytics_core.ports import MetadataStore


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

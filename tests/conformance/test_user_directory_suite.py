"""The directory of the stored people keeps the promises of the port."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.stores import open_store

from analytics_core._content.storage.store import SqlMetadataStore
from analytics_core._content.storage.store_backed import StoredUserDirectory
from analytics_core._records.people import Role, User
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.conformance.user_directory import BulkUserDirectoryConformance
from analytics_core.testing.store.records import START, a_user


class TestStoredUserDirectory(BulkUserDirectoryConformance):
    @pytest.fixture
    def store(self) -> Iterator[SqlMetadataStore]:
        with open_store("sqlite://", FixedClock(START)) as store:
            yield store

    @pytest.fixture
    def directory(self, store: SqlMetadataStore) -> StoredUserDirectory:
        return StoredUserDirectory(store)

    @pytest.fixture
    def people(self, store: SqlMetadataStore) -> tuple[User, User]:
        with store.unit_of_work() as unit:
            role = unit.roles.add(Role(name="r"), actor_id=None)
            first = unit.users.add(a_user("ada", role_ids=(role.id,), attributes=(("a", "b"),)), actor_id=None)
            return first, unit.users.add(a_user(str(first.id)), actor_id=None)

"""What was read of a store is remembered for a moment, also what several read in one snapshot of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.stores import open_store

from analytics_core._content.lookups.loading import StoreReadCache, snapshot
from analytics_core._content.storage.store import SqlMetadataStore
from analytics_core._records.people import Role
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.store.records import START


@pytest.fixture
def store() -> Iterator[SqlMetadataStore]:
    with open_store("sqlite://", FixedClock(START)) as store:
        yield store


@pytest.mark.parametrize("is_changed", [False, True])
def test_what_is_read_in_a_snapshot_is_remembered_unless_the_store_changed_since(
    store: SqlMetadataStore, is_changed: bool
) -> None:
    cache: StoreReadCache[str, int] = StoreReadCache(store, FixedClock(START), seconds=1, nouns=("user",))
    with snapshot(store) as at:
        pass
    if is_changed:
        with store.unit_of_work() as unit:
            unit.roles.add(Role(name="of another kind than what is read"), actor_id=None)
    assert cache.get("a", lambda: 1, at=at) == 1
    assert cache.get("a", lambda: 2) == (2 if is_changed else 1)

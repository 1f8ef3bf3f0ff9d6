"""A record that was listed without some of its parts cannot pass for one that has none."""

from __future__ import annotations

import pytest
from tests.support.cases import for_each
from tests.support.stores import open_store

from analytics_core._content.storage.parts import UnreadParts
from analytics_core._records.repositories import ListQuery
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.store.records import START, a_database, a_dataset


@for_each("use", [list, tuple, len, set, bool, lambda parts: 1 in parts, lambda parts: (*parts, 1)])
def test_using_unread_parts_is_an_error(use):
    with pytest.raises(TypeError, match="listed without these parts"):
        use(UnreadParts())


def test_a_dataset_listed_without_columns_cannot_be_stored_without_them():
    with open_store("sqlite://", FixedClock(START)) as store, store.unit_of_work() as unit:
        database = unit.databases.add(a_database(), actor_id=None)
        stored = unit.datasets.add(a_dataset(database.id, owner_ids=(1,)), actor_id=None)
        _, (listed,) = unit.datasets.list(ListQuery(without=frozenset({"columns", "metrics"})))
        assert listed.owner_ids == (1,)
        with pytest.raises(TypeError, match="listed without these parts"):
            unit.datasets.update(listed, actor_id=None)
        assert unit.datasets.get(stored.id) == stored

"""Many threads on one store: every reader sees whole datasets, every writer is told when somebody was faster."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import pytest
import sqlalchemy as sa
from tests.support.stores import KEY, open_store

from analytics_core._core.adapters.secret_box import AesGcmSecretBox
from analytics_core._records.datasource import DatasetColumn
from analytics_core._records.secret import Secret
from analytics_core.errors import NotFoundError, StaleVersionError
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.store.records import START, a_chart, a_database, a_dataset

IN_FILES_AND_SERVERS = (
    "file",
    pytest.param("postgres", marks=pytest.mark.server),
    pytest.param("mariadb", marks=pytest.mark.server),
)


@pytest.fixture(params=["memory", *IN_FILES_AND_SERVERS])
def store(request, tmp_path, reused_store):
    urls = {"memory": "sqlite://", "file": f"sqlite:///{tmp_path}/meta.db"}
    url = urls.get(request.param) or reused_store(request.param)
    with open_store(url, FixedClock(START)) as store:
        yield store


@pytest.fixture
def dataset_ids(store):
    with store.unit_of_work() as unit:
        database = unit.databases.add(a_database(), actor_id=None)
        made = [a_dataset(database.id, f"t{number}", columns=(), extra="0") for number in range(3)]
        return [unit.datasets.add(dataset, actor_id=None).id for dataset in made]


def grow(store, dataset_id, *, by, chance):
    """Add columns one change at a time; `extra` always tells how many there must be."""
    for _ in range(by):
        accepted = False
        while not accepted:
            try:
                with store.unit_of_work() as unit:
                    dataset = unit.datasets.get(dataset_id)
                    column = DatasetColumn(column_name=f"c{chance.getrandbits(60)}")
                    columns = (*dataset.columns[1:], column, replace(column, column_name=column.column_name + "b"))
                    unit.datasets.update(replace(dataset, columns=columns, extra=str(len(columns))), actor_id=None)
                accepted = True
            except StaleVersionError:
                pass


def check_entire(store, dataset_id, *, times):
    for _ in range(times):
        with store.unit_of_work() as unit:
            dataset = unit.datasets.get(dataset_id)
        assert len(dataset.columns) == int(dataset.extra)


@pytest.mark.slow
def test_eight_writers_and_two_readers_of_three_datasets(store, dataset_ids):
    with ThreadPoolExecutor(10) as pool:
        running = [
            pool.submit(grow, store, dataset_ids[number % 3], by=5, chance=random.Random(number)) for number in range(8)
        ]
        running += [pool.submit(check_entire, store, dataset_ids[number], times=30) for number in range(2)]
        for done in running:
            done.result()
    with store.unit_of_work() as unit:
        grown = [unit.datasets.get(dataset_id) for dataset_id in dataset_ids]
    # the first change adds two columns, each later one adds two and drops one
    assert [dataset.audit.version for dataset in grown] == [16, 16, 11]
    assert [len(dataset.columns) for dataset in grown] == [16, 16, 11]


def write_both(store, first, second, *, meet, name):
    """Write on two charts and add one, going on after a refusal; tell whether the unit ended well."""
    try:
        with store.unit_of_work() as unit:
            unit.charts.update(replace(unit.charts.get(first), params=name), actor_id=None)
            meet.wait(20)
            with suppress(StaleVersionError):
                unit.charts.update(replace(unit.charts.get(second), params=name), actor_id=None)
            unit.charts.append(a_chart(name), actor_id=None)
    except StaleVersionError:
        return False
    return True


@pytest.mark.server
@pytest.mark.parametrize("server", ["postgres", "mariadb"])
def test_a_unit_that_a_deadlock_undid_is_not_committed_in_part(server, reused_store):
    with open_store(reused_store(server), FixedClock(START)) as store:
        with store.unit_of_work() as unit:
            one, two = (unit.charts.append(a_chart(name), actor_id=None) for name in ("one", "two"))
        meet = threading.Barrier(2)
        with ThreadPoolExecutor(2) as pool:
            futures = {
                name: pool.submit(write_both, store, *charts, meet=meet, name=name)
                for name, charts in (("a", (one, two)), ("b", (two, one)))
            }
            ended_well = {name for name, done in futures.items() if done.result()}
        with store.unit_of_work() as unit:
            added = {name for name in futures if unit.charts.find(slice_name=name)}
            written = {unit.charts.get(chart_id).params for chart_id in (one, two)}
    assert ended_well
    assert added == ended_well
    assert written == ended_well  # whoever ended well has written their first chart at least


class Interrupted(AesGcmSecretBox):
    """Lets somebody else act before it seals for the first time after `before` was set."""

    before = None

    def seal(self, text, *, context):
        if self.before is not None:
            act, self.before = self.before, None
            act()
        return super().seal(text, context=context)


@pytest.mark.parametrize(
    "kind",
    ["file", pytest.param("postgres", marks=pytest.mark.server), pytest.param("mariadb", marks=pytest.mark.server)],
)
def test_a_secret_that_is_replaced_while_all_are_sealed_anew_is_left_alone(kind, reused_store, tmp_path):
    url = f"sqlite:///{tmp_path}/meta.db" if kind == "file" else reused_store(kind)
    box, clock = Interrupted(KEY), FixedClock(START)
    with open_store(url, clock, box=box) as store, open_store(url, clock) as other:
        with store.unit_of_work() as unit:
            stored = [unit.databases.add(a_database(name), actor_id=None) for name in ("a", "b", "c")]

        def replace_one():
            with other.unit_of_work() as unit:
                unit.databases.update(replace(stored[1], uri=Secret("new")), actor_id=None)

        box.before = replace_one
        assert store.reseal_secrets() == 2
        with store.unit_of_work() as unit:
            uris = [unit.databases.get(one.id).uri for one in stored]
    assert uris == [stored[0].uri, Secret("new"), stored[2].uri]


def test_a_wide_dataset_is_stored_by_few_statements(store, dataset_ids):
    seen = []
    sa.event.listen(store._engine, "before_cursor_execute", lambda *call: seen.append(call[2]))
    wide = tuple(DatasetColumn(column_name=f"c{number}") for number in range(300))
    with store.unit_of_work() as unit:
        dataset = unit.datasets.get(dataset_ids[0])
        made = unit.datasets.update(replace(dataset, columns=wide), actor_id=None)
    assert [column.column_name for column in made.columns] == [column.column_name for column in wide]
    assert [column.id for column in made.columns] == sorted({column.id for column in made.columns})
    assert len(seen) < 30, seen


@pytest.mark.parametrize("store", IN_FILES_AND_SERVERS, indirect=True)  # in memory the inner unit is part of the outer
def test_of_two_units_that_delete_a_record_one_is_told_that_somebody_was_faster(store, dataset_ids):
    with store.unit_of_work() as slow:
        assert slow.datasets.get(dataset_ids[0]).id == dataset_ids[0]
        with store.unit_of_work() as fast:
            fast.datasets.delete(dataset_ids[0])
        with pytest.raises((NotFoundError, StaleVersionError)):
            slow.datasets.delete(dataset_ids[0])

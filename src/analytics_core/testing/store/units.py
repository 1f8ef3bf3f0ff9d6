"""What a store must keep of units of work: all or nothing, many at once, the revision, its own time."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import timedelta

import pytest

from analytics_core._records.audit import LogEntry
from analytics_core._records.people import Role
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._records.shared_state import KeyValue
from analytics_core.errors import (
    AlreadyExistsError,
    PayloadSchemaError,
    StaleVersionError,
    StoreUnavailableError,
)
from analytics_core.models.enums import JobState
from analytics_core.ports import MetadataStore
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.store.fixtures import StoreSuite
from analytics_core.testing.store.kinds import AWKWARD, KINDS, NamedIds
from analytics_core.testing.store.records import START, a_chart, a_database, a_dataset, a_job

_PAUSE_S = 0.02


class UnitConformance(StoreSuite):
    """All or nothing, what others see of it meanwhile, many records at once, the revision, the store's time."""

    # ------------------------------------------------------------------------------------------------ one record

    def test_values_that_not_every_store_can_hold_are_refused_by_every_store(
        self, store: MetadataStore, named: NamedIds
    ) -> None:
        """One answer everywhere; the field is named, and nothing is stored."""
        for kind, field, value in (
            ("databases", "database_name", "x" * 251),
            ("databases", "database_name", "a\x00b"),
            ("databases", "extra", "\ud800"),
            ("databases", "cache_timeout", 2**31),
            ("annotations", "short_descr", "x" * 501),
            ("annotation_layers", "name", "x" * 251),
            ("job_results", "data", bytes(8_000_001)),
        ):
            record = replace(KINDS[kind].bare(named), **{field: value})
            with store.unit_of_work() as unit, pytest.raises(PayloadSchemaError, match=field):
                getattr(unit, kind).append(record, actor_id=None)
        with store.unit_of_work() as unit:
            assert unit.job_results.list(ListQuery()) == (0, ())

    # --------------------------------------------------------------------------------------- records that pile up
    def test_many_are_added_in_one_go_all_or_none(self, store: MetadataStore) -> None:
        """Each as it is added alone; where the key of one is taken none is there, and the unit may go on."""
        many = [KeyValue(kind="k", key=key, value=AWKWARD) for key in ("a", "b", "c")]
        with store.unit_of_work() as unit:
            unit.key_values.append_all([], actor_id=None)
            unit.key_values.append_all(many, actor_id=7)
            with pytest.raises(AlreadyExistsError):
                unit.key_values.append_all([replace(many[0], key="d"), many[1]], actor_id=7)
        with store.unit_of_work() as unit:
            stored = unit.key_values.list(ListQuery(order_by=(("key", False),)))[1]
        found = [(one.key, one.value, one.audit.created_by, one.audit.version) for one in stored]
        assert found == [(one.key, AWKWARD, 7, 1) for one in many]

    def test_a_removal_of_many_moves_the_revision(self, store: MetadataStore, named: NamedIds) -> None:
        """As a deletion of one does."""
        with store.unit_of_work() as unit:
            unit.key_values.append(KINDS["key_values"].bare(named), actor_id=None)
        before = store.revision()
        with store.unit_of_work() as unit:
            assert unit.key_values.delete_matching([ListFilter(col="kind", op="eq", val="k")]) == 1
        assert store.revision() > before

    def test_expired_keys_and_old_entries_go_together_and_nothing_else(self, store: MetadataStore) -> None:
        """All conditions hold for what is removed; the number of removed records comes back."""
        later = START + timedelta(days=2)
        with store.unit_of_work() as unit:
            for key, ends in (("a", START), ("b", later), ("c", None)):
                unit.key_values.add(KeyValue(kind="form", key=key, value="{}", expires_on=ends), actor_id=1)
            unit.key_values.add(KeyValue(kind="other", key="a", value="{}", expires_on=START), actor_id=1)
            for moment in (START, later):
                unit.logs.append(LogEntry(action="view", dttm=moment), actor_id=1)
            ended = ListFilter(col="expires_on", op="lt", val=START + timedelta(days=1))
            of_forms = ListFilter(col="kind", op="eq", val="form")
            assert unit.key_values.delete_matching([ended, of_forms]) == 1
            assert unit.key_values.delete_matching([ended, of_forms]) == 0
            assert unit.logs.delete_matching([replace(ended, col="dttm")]) == 1
        with store.unit_of_work() as unit:
            remaining = [(record.kind, record.key) for record in unit.key_values.list(ListQuery())[1]]
            assert remaining == [("form", "b"), ("form", "c"), ("other", "a")]
            assert [entry.dttm for entry in unit.logs.list(ListQuery())[1]] == [later]

    def test_the_newest_of_each_combination_comes_first(self, unit: UnitOfWork) -> None:
        """Values together, each with the latest moment and the highest id, one page of them."""
        ids = [
            unit.logs.append(LogEntry(action=action, slice_id=slice_id, dttm=moment), actor_id=1)
            for action, slice_id, hours in (("a", 1, 1), ("b", 1, 2), ("a", 1, 3), ("a", 2, 2), ("a", None, 9))
            for moment in (START + timedelta(hours=hours),)
        ]
        of_charts = ListQuery(filters=(ListFilter(col="slice_id", op="is_null", val=False),))
        found = unit.logs.newest(("action", "slice_id"), "dttm", of_charts)
        assert [(tuple(values), moment, last) for values, moment, last in found] == [
            (("a", 1), START + timedelta(hours=3), ids[2]),
            (("a", 2), START + timedelta(hours=2), ids[3]),
            (("b", 1), START + timedelta(hours=2), ids[1]),
        ]
        second = unit.logs.newest(("action", "slice_id"), "dttm", replace(of_charts, page=1, page_size=2))
        assert [values for values, _, _ in second] == [("b", 1)]
        assert unit.logs.newest(("action",), "dttm", replace(of_charts, ids=frozenset())) in ((), [])

    def test_writers_at_the_same_time_lose_nothing_silently(self, store: MetadataStore) -> None:
        """Eight threads count to ten each; whoever is refused reads again."""
        with store.unit_of_work() as unit:
            chart = unit.charts.add(a_chart(params="0"), actor_id=None)

        def count_up() -> None:
            for _ in range(10):
                _until_accepted(lambda: _increment(store, chart.id))

        with ThreadPoolExecutor(8) as pool:
            for done in [pool.submit(count_up) for _ in range(8)]:
                done.result()
        with store.unit_of_work() as unit:
            counted = unit.charts.get(chart.id)
        assert (counted.params, counted.audit.version) == ("80", 81)

    # ------------------------------------------------------------------------------------------------ all or nothing

    def test_a_refused_write_leaves_the_rest_of_the_unit(self, store: MetadataStore) -> None:
        """What was refused is gone entirely, what was accepted stays."""
        with store.unit_of_work() as unit:
            database = unit.databases.add(a_database(), actor_id=None)
            twice = a_dataset(database.id).columns[:1] * 2
            with pytest.raises(AlreadyExistsError, match="column_name 'day'"):
                unit.datasets.add(a_dataset(database.id, columns=twice), actor_id=None)
            unit.charts.add(a_chart("remaining"), actor_id=None)
        with store.unit_of_work() as unit:
            assert unit.datasets.find(table_name="orders") is None
            assert unit.charts.find(slice_name="remaining") is not None

    def test_others_see_a_unit_only_when_it_is_complete(self, store: MetadataStore) -> None:
        """A reader in another thread finds both charts or none."""
        begun, seen = threading.Event(), []

        def look() -> None:
            begun.wait(10)
            with store.unit_of_work() as unit:
                seen.append(_names(unit))

        with ThreadPoolExecutor(1) as pool:
            looked = pool.submit(look)
            with store.unit_of_work() as unit:
                unit.charts.add(a_chart("a"), actor_id=None)
                begun.set()
                unit.charts.add(a_chart("b"), actor_id=None)
            looked.result()
        assert seen[0] in ([], ["a", "b"])

    def test_what_a_unit_reads_is_of_one_moment(self, store: MetadataStore) -> None:
        """A change that others complete between two reads does not show in the second; a write of it is refused."""
        with store.unit_of_work() as unit:
            chart = unit.charts.add(a_chart("a", params="1"), actor_id=None)
        with ThreadPoolExecutor(1) as pool, store.unit_of_work() as unit:
            read = unit.charts.get(chart.id)
            changing = pool.submit(_increment, store, chart.id)
            wait([changing], timeout=1)  # a store that lets one unit in at a time makes it wait
            assert unit.charts.get(chart.id) == read
            assert unit.charts.list(ListQuery())[1] == (read,)
            if changing.done():
                with pytest.raises(StaleVersionError):
                    unit.charts.update(replace(read, params="0"), actor_id=None)
        changing.result()
        with store.unit_of_work() as unit:
            assert unit.charts.get(chart.id).params == "2"

    def test_the_revision_grows_with_what_bears_on_a_kind(self, store: MetadataStore) -> None:
        """With nouns, a change of these kinds and every deletion moves it; without, any change does."""
        seen = [(store.revision(), store.revision("user", "role"))]
        with store.unit_of_work() as unit:
            chart = unit.charts.add(a_chart(), actor_id=None)
        seen.append((store.revision(), store.revision("user", "role")))
        with store.unit_of_work() as unit:
            unit.roles.add(Role(name="watched"), actor_id=None)
        seen.append((store.revision(), store.revision("user", "role")))
        with store.unit_of_work() as unit:
            unit.charts.delete(chart.id)
        seen.append((store.revision(), store.revision("user", "role")))
        assert all(earlier < later for (earlier, _), (later, _) in itertools.pairwise(seen))
        people = [of_people for _, of_people in seen]
        assert people[0] <= people[1] < people[2] < people[3]

    # ----------------------------------------------------------------------------------------------- the store's time
    def test_the_time_of_the_store_is_not_the_clock_of_the_process(
        self, store: MetadataStore, clock: FixedClock
    ) -> None:
        """It is aware, in UTC, goes on inside a unit, and is no clock that a host may set."""
        with store.unit_of_work() as unit:
            first = unit.now()
            unit.jobs.append(a_job(), actor_id=None)
            clock.advance(timedelta(days=400))
            time.sleep(_PAUSE_S)
            second = unit.now()
        with store.unit_of_work() as unit:
            third = unit.now()
        assert first.utcoffset() == timedelta(0)
        assert timedelta(seconds=_PAUSE_S / 2) <= second - first < timedelta(minutes=10)
        assert second <= third < second + timedelta(minutes=10)

    def test_a_lease_by_the_store_s_time_is_found_when_it_is_over(self, store: MetadataStore) -> None:
        """Moments that the store tells are kept as they are and compare with each other."""
        with store.unit_of_work() as unit:
            now = unit.now()
            for name, lease in (("over", -1), ("runs", 3_600)):
                until = now + timedelta(seconds=lease)
                unit.jobs.append(a_job(name, state=JobState.RUNNING, lease_until=until), actor_id=1)
            unit.jobs.append(a_job("waits"), actor_id=1)
        with store.unit_of_work() as unit:
            running = ListFilter(col="state", op="eq", val=JobState.RUNNING)
            assert unit.jobs.list(ListQuery(filters=(running,)))[0] == 2
            over = ListFilter(col="lease_until", op="lt", val=unit.now())
            _, found = unit.jobs.list(ListQuery(filters=(running, over)))
        assert [(job.job_id, job.lease_until) for job in found] == [("over", now - timedelta(seconds=1))]

    def test_a_closed_store_answers_nothing_any_more(self, store: MetadataStore) -> None:
        """Neither a unit of work nor a revision, by which others would take what they kept for fresh; twice is once."""
        store.close()
        store.close()
        with pytest.raises(StoreUnavailableError, match="closed"), store.unit_of_work():
            pass
        with pytest.raises(StoreUnavailableError, match="closed"):
            store.revision()


def _names(unit: UnitOfWork) -> list[str]:
    return [name for name in ("a", "b") if unit.charts.find(slice_name=name)]


def _increment(store: MetadataStore, chart_id: int) -> None:
    with store.unit_of_work() as unit:
        chart = unit.charts.get(chart_id)
        unit.charts.update(replace(chart, params=str(int(chart.params or 0) + 1)), actor_id=None)


def _until_accepted(act: Callable[[], None]) -> None:
    while True:
        try:
            return act()
        except StaleVersionError:
            continue

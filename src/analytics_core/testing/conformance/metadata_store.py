"""What every `MetadataStore` must keep: records, their history, and all or nothing."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import timedelta

import pytest

from analytics_core._records.audit import LogEntry
from analytics_core._records.people import Grant, GrantTarget, Role
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._records.shared_state import KeyValue
from analytics_core.errors import (
    AlreadyExistsError,
    NotFoundError,
    PayloadSchemaError,
    StaleVersionError,
    StoreUnavailableError,
)
from analytics_core.ports import MetadataStore
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.conformance.records import (
    BARE,
    START,
    NamedIds,
    StoreSuite,
    a_chart,
    a_database,
    a_dataset,
    a_user,
)


class MetadataStoreConformance(StoreSuite):
    """Subclass it and override the fixture `store`; it must use the fixture `clock` and start empty for each test."""

    # ------------------------------------------------------------------------------------------------ one record
    def test_find_gives_the_exact_match_or_none(self, unit: UnitOfWork) -> None:
        """Case, accents and trailing blanks count."""
        added = unit.users.add(a_user("ada"), actor_id=None)
        assert unit.users.find(username="ada") == added
        for other in ("Ada", "ada ", "adá", "", "a%", "' OR 1=1 --"):
            assert unit.users.find(username=other) is None

    def test_names_that_differ_in_case_or_blanks_are_different_names(self, unit: UnitOfWork) -> None:
        """Every store compares by code point."""
        ids = [unit.databases.add(a_database(name), actor_id=None).id for name in ("shop", "Shop", "shop ", "shöp")]
        assert len(set(ids)) == 4

    def test_values_that_not_every_store_can_hold_are_refused_by_every_store(
        self, store: MetadataStore, named: NamedIds
    ) -> None:
        """One answer everywhere; the field is named."""
        for kind, field, value in (
            ("databases", "database_name", "x" * 251),
            ("databases", "database_name", "a\x00b"),
            ("databases", "extra", "\ud800"),
            ("databases", "cache_timeout", 2**31),
            ("annotations", "short_descr", "x" * 501),
            ("annotation_layers", "name", "x" * 251),
        ):
            record = replace(BARE[kind](named), **{field: value})
            with store.unit_of_work() as unit, pytest.raises(PayloadSchemaError, match=field):
                getattr(unit, kind).append(record, actor_id=None)

    # --------------------------------------------------------------------------------------- records that pile up
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
            kept = [(record.kind, record.key) for record in unit.key_values.list(ListQuery())[1]]
            assert kept == [("form", "b"), ("form", "c"), ("other", "a")]
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

    # ------------------------------------------------------------------------------------------------- history
    def test_adding_signs_the_record(self, unit: UnitOfWork) -> None:
        """Who, when, version 1."""
        audit = unit.charts.add(a_chart(), actor_id=7).audit
        assert (audit.created_on, audit.changed_on, audit.created_by, audit.changed_by) == (START, START, 7, 7)
        assert audit.version == 1

    def test_changing_signs_the_change_and_keeps_the_origin(self, store: MetadataStore, clock: FixedClock) -> None:
        """Creation stays; change and version move."""
        with store.unit_of_work() as unit:
            added = unit.charts.add(a_chart(), actor_id=7)
        later = clock.advance(timedelta(minutes=5))
        with store.unit_of_work() as unit:
            changed = unit.charts.update(replace(added, slice_name="new"), actor_id=8)
        assert changed.slice_name == "new"
        assert (changed.audit.created_on, changed.audit.created_by) == (START, 7)
        assert (changed.audit.changed_on, changed.audit.changed_by, changed.audit.version) == (later, 8, 2)

    @pytest.mark.parametrize("step_s", [0, -60])
    def test_a_version_is_later_than_the_one_before_whatever_the_clock_says(
        self, store: MetadataStore, clock: FixedClock, step_s: int
    ) -> None:
        """`changed_on` tells versions apart, also when two changes are quick or the clock is put back."""
        with store.unit_of_work() as unit:
            seen = [unit.charts.add(a_chart(), actor_id=None)]
        for _ in range(3):
            clock.advance(timedelta(seconds=step_s))
            with store.unit_of_work() as unit:
                unit.charts.update(seen[-1], actor_id=None)
            with store.unit_of_work() as unit:
                seen.append(unit.charts.get(seen[-1].id))
        moments = [chart.audit.changed_on for chart in seen if chart.audit.changed_on is not None]
        assert len(moments) == 4
        assert moments == sorted(set(moments))

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

    def test_grants_end_with_what_they_were_for(self, unit: UnitOfWork) -> None:
        """A role keeps only grants on what is there."""
        database = unit.databases.add(a_database(), actor_id=None)
        dataset = unit.datasets.add(a_dataset(database.id), actor_id=None)
        on_schema = Grant(target=GrantTarget.SCHEMA, target_id=database.id, schema="s")
        on_database = Grant(target=GrantTarget.DATABASE, target_id=database.id)
        on_dataset = Grant(target=GrantTarget.DATASET, target_id=dataset.id)
        grants = frozenset({on_schema, on_database, on_dataset})
        role = unit.roles.add(Role(name="r", grants=grants), actor_id=None)
        assert role.grants == grants
        unit.datasets.delete(dataset.id)
        assert unit.roles.get(role.id).grants == {on_schema, on_database}
        unit.databases.delete(database.id)
        assert unit.roles.get(role.id).grants == frozenset()

    # ------------------------------------------------------------------------------------------------ all or nothing
    def test_a_failed_unit_leaves_nothing_behind(self, store: MetadataStore) -> None:
        """An exception in the block undoes all of it."""
        with pytest.raises(NotFoundError), store.unit_of_work() as unit:  # noqa: PT012 - all of the block counts
            unit.charts.add(a_chart("lost"), actor_id=None)
            unit.charts.get(-1)
        with store.unit_of_work() as unit:
            assert unit.charts.find(slice_name="lost") is None

    def test_a_refused_write_leaves_the_rest_of_the_unit(self, store: MetadataStore) -> None:
        """What was refused is gone entirely, what was accepted stays."""
        with store.unit_of_work() as unit:
            database = unit.databases.add(a_database(), actor_id=None)
            twice = a_dataset(database.id).columns[:1] * 2
            with pytest.raises(AlreadyExistsError, match="column_name 'day'"):
                unit.datasets.add(a_dataset(database.id, columns=twice), actor_id=None)
            unit.charts.add(a_chart("kept"), actor_id=None)
        with store.unit_of_work() as unit:
            assert unit.datasets.find(table_name="orders") is None
            assert unit.charts.find(slice_name="kept") is not None

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

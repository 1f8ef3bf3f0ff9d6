"""What every `MetadataStore` must keep: records, their history, their uniqueness, and all or nothing."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from analytics_core._records.audit import LogEntry
from analytics_core._records.dashboard import Favourite, Tag
from analytics_core._records.people import Grant, GrantTarget, Role
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._records.secret import Secret
from analytics_core._records.shared_state import KeyValue
from analytics_core.errors import (
    AlreadyExistsError,
    DatabaseNotFoundError,
    InUseError,
    NotFoundError,
    PayloadSchemaError,
    StaleVersionError,
    StoreUnavailableError,
)
from analytics_core.ports import MetadataStore
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.conformance.records import (
    START,
    StoreSuite,
    a_chart,
    a_dashboard,
    a_database,
    a_dataset,
    a_user,
)

_KINDS: dict[str, Callable[[], Any]] = {
    "users": a_user,
    "roles": lambda: Role(name="analysts"),
    "databases": a_database,
    "charts": a_chart,
    "dashboards": a_dashboard,
    "tags": lambda: Tag(name="sales"),
    "favourites": lambda: Favourite(user_id=1, target="chart", target_id=1),
}


class MetadataStoreConformance(StoreSuite):
    """Subclass it and override the fixture `store`; it must use the fixture `clock` and start empty for each test."""

    # ------------------------------------------------------------------------------------------------ one record
    @pytest.mark.parametrize("kind", _KINDS)
    def test_a_stored_record_comes_back_as_it_was(self, store: MetadataStore, kind: str) -> None:
        """Nothing but id and audit is added."""
        record = _KINDS[kind]()
        with store.unit_of_work() as unit:
            added = getattr(unit, kind).add(record, actor_id=None)
        with store.unit_of_work() as unit:
            assert getattr(unit, kind).get(added.id) == added
        assert replace(added, id=0, audit=record.audit) == record

    @pytest.mark.parametrize("kind", _KINDS)
    def test_a_missing_record_is_a_typed_error_when_got_changed_and_deleted(
        self, store: MetadataStore, kind: str
    ) -> None:
        """NotFoundError, also for ids that no store could hold."""
        for absent in (1, 0, -1, 2**40, 2**70):
            record = replace(_KINDS[kind](), id=absent)
            for act, argument in (("get", absent), ("delete", absent), ("update", record)):
                options = {"actor_id": None} if act == "update" else {}
                with store.unit_of_work() as unit, pytest.raises(NotFoundError):
                    getattr(getattr(unit, kind), act)(argument, **options)

    def test_every_field_of_every_record_survives(self, store: MetadataStore) -> None:
        """Texts in any script, long texts, numbers at their ends, moments to the microsecond."""
        text = "Größe — 価格 😀 'quoted' \"and\" \\ %_ \n"
        database = a_database(text, extra=text * 2000, cache_timeout=-1, force_ctas_schema=text, allow_dml=True)
        chart = a_chart(text, params=text, cache_timeout=2**31 - 1, last_saved_at=START, query_context_generation=False)
        user = a_user(
            text, attributes=(("region", text), ("region", "EU"), ("", "")), active=False, email="a@b.example"
        )
        with store.unit_of_work() as unit:
            cases: Any = ((unit.databases, database), (unit.charts, chart), (unit.users, user))
            for repository, record in cases:
                stored = repository.add(record, actor_id=None)
                assert replace(stored, id=0, audit=record.audit) == record

    def test_secrets_come_back_and_absent_ones_stay_absent(self, store: MetadataStore) -> None:
        """A sealed secret opens again; None is no secret."""
        with store.unit_of_work() as unit:
            tunnelled = unit.databases.add(a_database("a", ssh_tunnel=Secret('{"password": "x"}')), actor_id=None)
            plain = unit.databases.add(a_database("b"), actor_id=None)
        assert tunnelled.uri.reveal() == "postgresql://u:hunter2@h/shop"
        assert tunnelled.ssh_tunnel == Secret('{"password": "x"}')
        assert plain.ssh_tunnel is None

    def test_find_gives_the_exact_match_or_none(self, store: MetadataStore) -> None:
        """Case, accents and trailing blanks count."""
        with store.unit_of_work() as unit:
            added = unit.users.add(a_user("ada"), actor_id=None)
            assert unit.users.find(username="ada") == added
            for other in ("Ada", "ada ", "adá", "", "a%", "' OR 1=1 --"):
                assert unit.users.find(username=other) is None

    def test_names_that_differ_in_case_or_blanks_are_different_names(self, store: MetadataStore) -> None:
        """Every store compares by code point."""
        with store.unit_of_work() as unit:
            ids = [unit.databases.add(a_database(name), actor_id=None).id for name in ("shop", "Shop", "shop ", "shöp")]
        assert len(set(ids)) == 4

    def test_text_that_not_every_store_can_hold_is_refused_by_every_store(self, store: MetadataStore) -> None:
        """One answer everywhere; the field is named."""
        for field, value in (
            ("database_name", "x" * 251),
            ("database_name", "a\x00b"),
            ("extra", "\ud800"),
            ("cache_timeout", 2**31),
        ):
            with store.unit_of_work() as unit, pytest.raises(PayloadSchemaError, match=field):
                unit.databases.add(replace(a_database(), **{field: value}), actor_id=None)  # type: ignore[arg-type]

    def test_ids_are_never_given_twice(self, store: MetadataStore) -> None:
        """A grant on a deleted record must not come to life with another one."""
        with store.unit_of_work() as unit:
            first = unit.charts.add(a_chart("a"), actor_id=None)
            unit.charts.delete(first.id)
        with store.unit_of_work() as unit:
            assert unit.charts.add(a_chart("b"), actor_id=None).id > first.id

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

    def test_the_newest_of_each_combination_comes_first(self, store: MetadataStore) -> None:
        """Values together, each with the latest moment and the highest id, one page of them."""
        with store.unit_of_work() as unit:
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

    def test_a_key_is_given_once_within_its_kind(self, store: MetadataStore) -> None:
        """The second writer of a key is refused, and the first one's value stays."""
        with store.unit_of_work() as unit:
            first = unit.key_values.add(KeyValue(kind="form", key="a", value="1"), actor_id=1)
            unit.key_values.add(KeyValue(kind="other", key="a", value="2"), actor_id=1)
            with pytest.raises(AlreadyExistsError):
                unit.key_values.append(KeyValue(kind="form", key="a", value="3"), actor_id=2)
            assert unit.key_values.find(kind="form", key="a") == first

    # ------------------------------------------------------------------------------------------------- history
    def test_adding_signs_the_record(self, store: MetadataStore) -> None:
        """Who, when, version 1."""
        with store.unit_of_work() as unit:
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

    def test_a_change_of_an_old_version_is_refused_and_changes_nothing(self, store: MetadataStore) -> None:
        """The second writer learns that somebody was faster."""
        with store.unit_of_work() as unit:
            added = unit.charts.add(a_chart(), actor_id=None)
        with store.unit_of_work() as unit:
            unit.charts.update(replace(added, slice_name="first"), actor_id=None)
        with store.unit_of_work() as unit, pytest.raises(StaleVersionError):
            unit.charts.update(replace(added, slice_name="second"), actor_id=None)
        with store.unit_of_work() as unit:
            assert unit.charts.get(added.id).slice_name == "first"

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

    # ------------------------------------------------------------------------------------- uniqueness, references
    def test_taken_names_are_refused_by_name(self, store: MetadataStore) -> None:
        """The message names the field, not a constraint."""
        with store.unit_of_work() as unit:
            cases: Any = (
                (unit.users, lambda: a_user("ada"), "username"),
                (unit.roles, lambda: Role(name="ada"), "name"),
                (unit.databases, lambda: a_database("for key 'uq_ac_databases_uuid'"), "database_name"),
            )
            for repository, make, field in cases:
                repository.add(make(), actor_id=None)
                with pytest.raises(AlreadyExistsError) as rejection:
                    repository.add(make(), actor_id=None)
                assert rejection.value.field_name == field

    def test_a_taken_uuid_is_refused_as_such(self, store: MetadataStore) -> None:
        """Two unique keys of one table are told apart."""
        with store.unit_of_work() as unit:
            unit.databases.add(a_database("a", uuid="u"), actor_id=None)
            with pytest.raises(AlreadyExistsError, match="uuid"):
                unit.databases.add(a_database("b", uuid="u"), actor_id=None)

    def test_renaming_to_a_taken_name_is_refused(self, store: MetadataStore) -> None:
        """Updates keep names unique too."""
        with store.unit_of_work() as unit:
            unit.databases.add(a_database("a"), actor_id=None)
            second = unit.databases.add(a_database("b"), actor_id=None)
            with pytest.raises(AlreadyExistsError, match="database_name"):
                unit.databases.update(replace(second, database_name="a"), actor_id=None)

    def test_a_table_of_a_database_has_one_dataset_also_without_schema(self, store: MetadataStore) -> None:
        """No schema equals no schema; another schema, catalog, case or database is another table."""
        with store.unit_of_work() as unit:
            one = unit.databases.add(a_database("a"), actor_id=None).id
            two = unit.databases.add(a_database("b"), actor_id=None).id
            unit.datasets.add(a_dataset(one, "t"), actor_id=None)
            with pytest.raises(AlreadyExistsError, match="table_name 't'"):
                unit.datasets.add(a_dataset(one, "t"), actor_id=None)
            for other in (a_dataset(one, "t", schema="s"), a_dataset(one, "t", catalog="s"), a_dataset(one, "T")):
                assert unit.datasets.add(other, actor_id=None).schema == other.schema
            assert unit.datasets.add(a_dataset(two, "t"), actor_id=None).schema is None

    def test_a_database_with_datasets_stays(self, store: MetadataStore) -> None:
        """InUseError says how many need it; afterwards the unit goes on."""
        with store.unit_of_work() as unit:
            database = unit.databases.add(a_database(), actor_id=None)
            dataset = unit.datasets.add(a_dataset(database.id), actor_id=None)
            with pytest.raises(InUseError, match="1 datasets"):
                unit.databases.delete(database.id)
            unit.datasets.delete(dataset.id)
            unit.databases.delete(database.id)
        with store.unit_of_work() as unit:
            assert unit.databases.find(database_name="shop") is None

    def test_a_role_with_users_stays(self, store: MetadataStore) -> None:
        """People do not change what they may do by a deletion elsewhere."""
        with store.unit_of_work() as unit:
            role = unit.roles.add(Role(name="r"), actor_id=None)
            user = unit.users.add(a_user(role_ids=(role.id,)), actor_id=None)
            with pytest.raises(InUseError, match="1 users"):
                unit.roles.delete(role.id)
            unit.users.delete(user.id)
            unit.roles.delete(role.id)

    def test_references_to_nothing_are_refused(self, store: MetadataStore) -> None:
        """The missing record is named."""
        with store.unit_of_work() as unit:
            with pytest.raises(DatabaseNotFoundError):
                unit.datasets.add(a_dataset(99), actor_id=None)
            with pytest.raises(NotFoundError, match="role 98"):
                unit.users.add(a_user(role_ids=(98,)), actor_id=None)
            assert unit.users.find(username="ada") is None

    def test_a_deleted_user_is_forgotten_by_the_records(self, store: MetadataStore) -> None:
        """Ownerships and signatures of a deleted person are gone; the records stay."""
        with store.unit_of_work() as unit:
            user = unit.users.add(a_user(), actor_id=None)
            chart = unit.charts.add(a_chart(owner_ids=(user.id, user.id + 1), last_saved_by=user.id), actor_id=user.id)
            unit.users.delete(user.id)
            left = unit.charts.get(chart.id)
        assert left.owner_ids == (user.id + 1,)
        assert (left.audit.created_by, left.audit.changed_by, left.last_saved_by) == (None, None, None)

    def test_grants_end_with_what_they_were_for(self, store: MetadataStore) -> None:
        """A role keeps only grants on what is there."""
        with store.unit_of_work() as unit:
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

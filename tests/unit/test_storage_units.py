"""Units of work on a store in memory: nesting, closing, statements, secrets."""

from __future__ import annotations

import threading
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.stores import open_store

from analytics_core._content.storage import tables
from analytics_core._content.storage.listing import StatementCache, page_statement
from analytics_core._content.storage.record_kinds import DATASET_KIND
from analytics_core._content.storage.store import SqlMetadataStore
from analytics_core._content.storage.store_backed import StoredUserDirectory
from analytics_core._core.adapters.secret_box import AesGcmSecretBox
from analytics_core._records.audit import Audit, LogEntry
from analytics_core._records.people import Role
from analytics_core._records.repositories import ListFilter, ListQuery
from analytics_core._records.secret import Secret
from analytics_core._records.shared_state import JobRecord
from analytics_core.errors import (
    FilterValueError,
    NotFoundError,
    PayloadSchemaError,
    StoredDataError,
    StoreUnavailableError,
    UnknownNameError,
)
from analytics_core.models.enums import JobState
from analytics_core.ports import Clock, MetadataStore, SecretBox, UserDirectory
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.store.kinds import KINDS, store_named
from analytics_core.testing.store.records import START, a_chart, a_database, a_dataset, a_user

OLD, NEW = Secret("the old key, long enough"), Secret("the new key, long enough")


@pytest.fixture
def store():
    with open_store("sqlite://", FixedClock(START)) as store:
        yield store


@contextmanager
def counted_statements(store):
    """Collect the statements that a store runs; reading them is what these tests are about."""
    statements: list[str] = []

    def note(_connection, _cursor, statement, *_rest):
        statements.append(statement)

    sa.event.listen(store._engine, "before_cursor_execute", note)
    yield statements
    sa.event.remove(store._engine, "before_cursor_execute", note)


def test_the_parts_keep_their_ports(store):
    assert isinstance(store, MetadataStore)
    assert isinstance(AesGcmSecretBox(NEW), SecretBox)
    assert isinstance(FixedClock(START), Clock)
    assert isinstance(StoredUserDirectory(store), UserDirectory)


def test_a_unit_inside_a_unit_of_the_same_thread_is_a_part_of_it(store):
    with store.unit_of_work() as outer:
        outer.charts.add(a_chart("outer"), actor_id=None)
        with store.unit_of_work() as inner:
            assert inner.charts.find(slice_name="outer") is not None
            inner.charts.add(a_chart("inner"), actor_id=None)
    with store.unit_of_work() as unit:
        assert unit.charts.list(ListQuery())[0] == 2


def test_a_moment_before_the_first_year_of_utc_is_refused_by_name(store):
    early = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))
    with store.unit_of_work() as unit, pytest.raises(PayloadSchemaError, match="dttm: must be a moment of the years"):
        unit.logs.append(LogEntry(action="a", dttm=early), actor_id=None)


def test_a_written_job_is_what_is_read_of_it(store):
    moment = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    queried = JobRecord(job_id="j", kind="k", payload="{}", user_id=1, moment=moment, claims=Secret("s"))
    with store.unit_of_work() as unit:
        added = unit.jobs.add(queried, actor_id=1)
        assert added == unit.jobs.get(added.id)
        assert added.moment.tzinfo is UTC
        changed = unit.jobs.update(replace(added, state=JobState.RUNNING, lease_until=moment), actor_id=2)
        assert changed == unit.jobs.get(added.id)
        assert (changed.audit.version, changed.audit.created_by, changed.audit.changed_by) == (2, 1, 2)
        unread = unit.jobs.update(replace(changed, audit=Audit(version=2)), actor_id=None)
        assert unread == unit.jobs.get(added.id)


def test_a_failed_inner_unit_leaves_the_outer_one(store):
    with store.unit_of_work() as outer:
        outer.charts.add(a_chart("outer"), actor_id=None)
        with pytest.raises(NotFoundError), store.unit_of_work() as inner:  # noqa: PT012
            inner.charts.add(a_chart("inner"), actor_id=None)
            inner.charts.get(-1)
    with store.unit_of_work() as unit:
        assert [chart.slice_name for chart in unit.charts.list(ListQuery())[1]] == ["outer"]


def test_the_bytes_of_a_result_are_no_column_of_lists(store):
    with store.unit_of_work() as unit:
        for query in (
            ListQuery(filters=(ListFilter(col="data", op="eq", val=b"x"),)),
            ListQuery(order_by=(("data", False),)),
        ):
            with pytest.raises(UnknownNameError, match=r"'data'.*job_record_id"):
                unit.job_results.list(query)


def test_the_time_of_the_store_opens_no_transaction(store, tmp_path):
    with open_store(f"sqlite:///{tmp_path}/meta.db", FixedClock(START)) as filed:
        with counted_statements(filed) as statements, filed.unit_of_work() as unit:
            unit.now()
        assert statements == ["SELECT strftime('%Y-%m-%d %H:%M:%f', 'now') AS store_moment_1"]


def test_two_stores_in_memory_know_nothing_of_each_other(store):
    with store.unit_of_work() as unit:
        unit.charts.add(a_chart(), actor_id=None)
    with open_store("sqlite://", FixedClock(START)) as other, other.unit_of_work() as unit:
        assert unit.charts.list(ListQuery()) == (0, ())


def test_a_store_in_memory_that_another_thread_uses_is_not_waited_for_for_ever():
    box = AesGcmSecretBox(NEW)
    with closing(SqlMetadataStore("sqlite://", secret_box=box, clock=FixedClock(START), timeout_s=0.05)) as store:
        began, may_end = threading.Event(), threading.Event()

        def use():
            with store.unit_of_work():
                began.set()
                may_end.wait(20)

        user = threading.Thread(target=use)
        user.start()
        began.wait(20)
        said = r"by another thread for more than 0\.05 seconds"
        with pytest.raises(StoreUnavailableError, match=said), store.unit_of_work() as unit:
            unit.charts.list(ListQuery())
        may_end.set()
        user.join()
        with store.unit_of_work() as unit:
            assert unit.charts.list(ListQuery()) == (0, ())


def test_journals_cost_those_who_keep_other_records_nothing(store):
    with store.unit_of_work() as unit:
        named = store_named(unit)
    for kind, facts in ((kind, facts) for kind, facts in KINDS.items() if facts.is_journal):
        before = store.revision()
        with store.unit_of_work() as unit:
            journal = getattr(unit, kind)
            journal.delete(journal.add(facts.bare(named), actor_id=None).id)
        assert store.revision() == before, kind


def test_a_closed_store_says_so(store):
    store.close()
    with pytest.raises(StoreUnavailableError, match="closed") as rejection, store.unit_of_work():
        pass
    assert not rejection.value.retryable


def test_a_page_of_datasets_takes_four_statements_however_long_it_is(store):
    with store.unit_of_work() as unit:
        database = unit.databases.add(a_database(), actor_id=None)
        for number in range(30):
            unit.datasets.add(a_dataset(database.id, f"t{number}", owner_ids=(1,)), actor_id=None)
    with counted_statements(store) as statements, store.unit_of_work() as unit:
        total, found = unit.datasets.list(ListQuery(page_size=30))
    assert (total, len(found)) == (30, 30)
    assert len([text for text in statements if text.startswith("SELECT")]) == 4


def test_lists_that_differ_in_values_alone_share_a_statement():
    cache = StatementCache()

    def of_tables(*names, page=0):
        among = (ListFilter(col="table_name", op="in", val=names), ListFilter(col="database_id", op="eq", val=7))
        return page_statement(DATASET_KIND, ListQuery(filters=among, page=page), cache)

    first, values = of_tables("a", "b")
    second, others = of_tables("c", page=3)
    assert first is second
    assert values["value_0"] == ["a", "b"]
    assert others["value_0"] == ["c"]
    assert of_tables("c", None)[0] is not first
    params = first.compile().params
    assert (params["value_0"], params["value_1"]) == (None, None), "what one list looked for is kept for others"


@pytest.mark.parametrize("value", [True, 1.0, "1"])
def test_a_kept_statement_takes_no_value_that_only_equals_a_good_one(store, value):
    with store.unit_of_work() as unit:
        for wanted in (1, 2):
            unit.datasets.list(ListQuery(filters=(ListFilter(col="database_id", op="eq", val=wanted),)))
        with pytest.raises(FilterValueError):
            unit.datasets.list(ListQuery(filters=(ListFilter(col="database_id", op="eq", val=value),)))


def test_moments_are_aware_in_records_their_parts_and_what_lists_tell_of_them(store):
    with store.unit_of_work() as unit:
        database = unit.databases.add(a_database(), actor_id=None)
        dataset = unit.datasets.add(a_dataset(database.id), actor_id=None)
        _, [moment] = unit.datasets.distinct("changed_on", ListQuery())
    assert {moment, dataset.audit.created_on, dataset.columns[0].created_on} == {START}


def test_a_look_at_the_version_takes_one_statement(store):
    with store.unit_of_work() as unit:
        database = unit.databases.add(a_database(), actor_id=None)
        dataset = unit.datasets.add(a_dataset(database.id), actor_id=None)
    with counted_statements(store) as statements, store.unit_of_work() as unit:
        unit.datasets.version(dataset.id)
    assert len(statements) == 1


def test_after_resealing_the_previous_key_is_not_needed(tmp_path):
    url, clock = f"sqlite:///{tmp_path}/meta.db", FixedClock(START)
    with open_store(url, clock, box=AesGcmSecretBox(OLD)) as store, store.unit_of_work() as unit:
        unit.databases.add(a_database("a", ssh_tunnel=Secret("{}")), actor_id=None)
        before = unit.databases.add(a_database("b"), actor_id=None)
    with open_store(url, clock, box=AesGcmSecretBox(NEW, previous_keys=(OLD,))) as store:
        assert store.reseal_secrets() == 3
    with open_store(url, clock, box=AesGcmSecretBox(NEW)) as store, store.unit_of_work() as unit:
        assert unit.databases.get(before.id) == before


def test_without_resealing_the_previous_key_is_needed(tmp_path):
    url, clock = f"sqlite:///{tmp_path}/meta.db", FixedClock(START)
    with open_store(url, clock, box=AesGcmSecretBox(OLD)) as store, store.unit_of_work() as unit:
        stored = unit.databases.add(a_database(), actor_id=None)
    with (
        open_store(url, clock, box=AesGcmSecretBox(NEW)) as store,
        store.unit_of_work() as unit,
        pytest.raises(StoredDataError, match="previous_secret_keys"),
    ):
        unit.databases.get(stored.id).uri.reveal()


def test_a_secret_moved_to_another_record_does_not_open(store):
    with store.unit_of_work() as unit:
        first = unit.databases.add(a_database("a"), actor_id=None)
        second = unit.databases.add(a_database("b"), actor_id=None)
    databases = tables.DATABASES
    with store._engine.begin() as connection:
        stolen = sa.select(databases.c.uri).where(databases.c.id == first.id).scalar_subquery()
        connection.execute(sa.update(databases).where(databases.c.id == second.id).values(uri=stolen))
    with store.unit_of_work() as unit, pytest.raises(StoredDataError):
        unit.databases.get(second.id).uri.reveal()


@pytest.mark.parametrize("text", ["", "null", "5", '{"a": 1}', "[[1]]", "[1]"])
def test_stored_attributes_that_do_not_decode_are_a_typed_error(store, text):
    with store.unit_of_work() as unit:
        user = unit.users.add(a_user(), actor_id=None)
    with store._engine.begin() as connection:
        connection.execute(sa.update(tables.USERS).values(attributes=text))
    with store.unit_of_work() as unit, pytest.raises(StoredDataError):
        unit.users.get(user.id)


def test_the_directory_finds_users_by_id_and_by_name(store):
    with store.unit_of_work() as unit:
        role = unit.roles.add(Role(name="r"), actor_id=None)
        ada = unit.users.add(a_user("ada", role_ids=(role.id,)), actor_id=None)
    directory = StoredUserDirectory(store)
    assert directory.find(ada.id) == directory.find("ada") == ada
    assert directory.find(99) is None
    assert directory.find("grace") is None
    assert directory.find(str(ada.id)) is None


@for_each("record_id", ["1", 1.5, None, 2**31, 2**70])
def test_what_is_no_stored_id_finds_nothing_at_once(store, record_id):
    with store.unit_of_work() as unit:
        unit.charts.add(a_chart(), actor_id=None)
        for act in (unit.charts.get, unit.charts.version, unit.charts.delete):
            with pytest.raises(NotFoundError):  # an id that is counted up to takes minutes
                act(record_id)


@pytest.mark.parametrize("dashboard_id", ["board", "1", 1.5])
def test_what_is_no_integer_does_not_lie_in_a_column_of_them(store, dashboard_id):
    entry = LogEntry(action="dashboard.update", dttm=datetime(2026, 5, 1, tzinfo=UTC), dashboard_id=dashboard_id)
    with pytest.raises(PayloadSchemaError, match="dashboard_id: must be an integer"), store.unit_of_work() as unit:
        unit.logs.append(entry, actor_id=None)

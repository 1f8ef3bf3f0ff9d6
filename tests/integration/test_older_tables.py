"""Code and tables of two revisions of a line: each uses the other, and nothing that either stored is lost."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from tests.support.older_stores import LATER, OLDER, give_back, later_columns, set_revision, stay_at, take_back
from tests.support.stores import KEY

from analytics_core._content.jobs.registry import JobRegistry
from analytics_core._content.storage.migrate import HEAD, VERSION_TABLE, migrate, migrate_store
from analytics_core._content.storage.record_kinds import RecordKind
from analytics_core._content.storage.store import SqlMetadataStore
from analytics_core._content.storage.store_engine import make_store_engine
from analytics_core._content.storage.tables import METADATA
from analytics_core._content.storage.unit_of_work import SqlUnitOfWork
from analytics_core._core.adapters.clock import SystemSleeper
from analytics_core._core.adapters.secret_box import AesGcmSecretBox
from analytics_core._records.repositories import ListFilter, ListQuery
from analytics_core._records.settings import Settings
from analytics_core._records.shared_state import JobRecord
from analytics_core.errors import NotFoundError, StoreOutdatedError, StoreUnavailableError
from analytics_core.testing import InlineJobRunner
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.store.kinds import KINDS, filled, store_named
from analytics_core.testing.store.records import START, a_chart, a_user

CLOCK = FixedClock(START)
SERVERS = [pytest.param(kind, marks=pytest.mark.server) for kind in ("postgres", "mariadb")]
LATER_KINDS = {"sql_queries", "saved_queries"}
"""The kinds of records that came with 0101."""
LATER_COLUMNS = {"traceparent"}
"""What jobs have since 0102."""


@pytest.fixture(params=["file", *SERVERS])
def url(request, tmp_path):
    if request.param == "file":
        return f"sqlite:///{tmp_path}/meta.db"
    return request.getfixturevalue(f"make_{request.param}_database")()


@pytest.fixture
def engine(url):
    engine = make_store_engine(url)
    yield engine
    engine.dispose()


@pytest.fixture
def open_older(url):
    """Open the store as it is."""
    opened = []

    def open_as_it_is():
        box = AesGcmSecretBox(KEY)
        opened.append(SqlMetadataStore(url, secret_box=box, clock=CLOCK, migrates=False))
        return opened[-1]

    yield open_as_it_is
    for store in opened:
        store.close()


def shape(engine):
    inspector = sa.inspect(engine)
    return {name: {column["name"] for column in inspector.get_columns(name)} for name in inspector.get_table_names()}


# ------------------------------------------------------------------------------------------------------------ opening
def test_a_new_store_is_made_and_an_older_one_is_left_as_it_is(engine, url, open_older, tmp_path):
    open_older()
    assert migrate(engine) == ()
    with engine.begin() as connection:
        connection.execute(sa.schema.DDL("DROP TABLE ac_saved_statement_tags"))
    set_revision(engine, OLDER)
    assert open_older().table_revision() == OLDER
    assert migrate_store(url, dry_run=False)[0][0].startswith(f"{LATER[0]}: ")
    assert open_older().table_revision() == HEAD


def test_a_dry_run_prints_what_makes_the_tables_and_changes_nothing(engine, url, tmp_path):
    stay_at(engine, OLDER, tmp_path)
    made = shape(engine)
    revisions, script = migrate_store(engine.url.render_as_string(hide_password=False), dry_run=True)
    assert (shape(engine), [line.partition(":")[0] for line in revisions]) == (made, LATER)
    statements = re.sub(r"^--.*$", "", script, flags=re.MULTILINE).split(";\n")
    with engine.begin() as connection:
        for statement in filter(str.strip, statements):
            connection.exec_driver_sql(statement)
    assert shape(engine) == {**{table.name: set(table.c.keys()) for table in METADATA.sorted_tables}, **versions(made)}
    assert migrate_store(url, dry_run=True) == ((), "")


def versions(made):
    return {name: columns for name, columns in made.items() if name == VERSION_TABLE}


# ------------------------------------------------------------------------------------------------------------- tables
def test_tables_that_are_not_there_are_empty_until_somebody_migrates(engine, open_older, tmp_path):
    stay_at(engine, OLDER, tmp_path)
    made = shape(engine)
    store = open_older()
    with store.unit_of_work() as unit:
        named = store_named(unit)
        for kind in LATER_KINDS:
            records = getattr(unit, kind)
            assert (records.list(ListQuery()), records.find(id=1), records.get_many([1])) == ((0, ()), None, ())
            assert records.distinct("sql", ListQuery()) == (0, [])
            with pytest.raises(NotFoundError):
                records.get(1)
            with pytest.raises(NotFoundError):
                records.delete(1)
            with pytest.raises(StoreOutdatedError, match=r"no place for .*'0100'; .*python -m analytics_core migrate"):
                records.append(KINDS[kind].bare(named), actor_id=None)
        assert unit.sql_queries.delete_matching([ListFilter(col="end_time", op="lt", val=1.0)]) == 0
        unit.users.delete(unit.users.add(a_user("gone"), actor_id=None).id)
        unit.tags.delete(named.other["tags"])
    assert shape(engine) == made
    migrate(engine)
    with store.unit_of_work() as unit:
        stored = unit.saved_queries.append(KINDS["saved_queries"].bare(named), actor_id=None)
    with store.unit_of_work() as unit:
        assert unit.saved_queries.list(ListQuery())[0] == stored == 1


@pytest.mark.parametrize(
    ("table", "column"), [("ac_row_rules", None), ("ac_row_rule_roles", None), ("ac_users", "active")]
)
def test_what_the_revision_has_is_not_empty_when_it_is_gone(table, column, engine, open_older, tmp_path):
    stay_at(engine, OLDER, tmp_path)
    with engine.begin() as connection:
        if column is None:
            connection.exec_driver_sql(f"ALTER TABLE {table} RENAME TO other_{table}")
        else:
            connection.exec_driver_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
    with pytest.raises(StoreUnavailableError, match=f"no table {table} as that has it") as caught:
        open_older()
    assert not caught.value.retryable


def test_a_view_that_stands_for_a_table_is_read(engine, open_older, tmp_path):
    stay_at(engine, OLDER, tmp_path)
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE ac_row_rules RENAME TO other_rules")
        connection.exec_driver_sql("CREATE VIEW ac_row_rules AS SELECT * FROM other_rules")
    with open_older().unit_of_work() as unit:
        assert unit.row_rules.list(ListQuery()) == (0, ())


@pytest.mark.slow
def test_records_of_an_older_revision_are_used_as_ever(engine, open_older, tmp_path):
    stay_at(engine, OLDER, tmp_path)
    store = open_older()
    with store.unit_of_work() as unit:
        named = store_named(unit)
        for kind in KINDS.keys() - LATER_KINDS:
            records = getattr(unit, kind)
            record = without(filled(kind, named), LATER_COLUMNS)
            stored = records.get(records.append(record, actor_id=None))
            assert records.update(stored, actor_id=None).audit.version == 2


# ------------------------------------------------------------------------------------------------------------ columns
def test_columns_that_are_not_there_hold_nothing_until_somebody_migrates(engine, open_older):
    """All columns that could have been added later are taken out of the tables."""
    migrate(engine)
    complete = shape(engine)
    taken = take_back(engine)
    assert len(list(later_columns())) > 100
    store = open_older()
    with store.unit_of_work() as unit:
        named = store_named(unit)
        for kind, facts in KINDS.items():
            records, table = getattr(unit, kind), kind_of(kind).table.name
            record = without(facts.bare(named), taken.get(table, set()))
            stored = records.get(records.append(record, actor_id=None))
            changed = records.update(stored, actor_id=None)
            assert (changed, changed.audit.version) == (replace(stored, audit=changed.audit), 2)
            lacking = sorted(taken.get(table, set()) & {one.name for one in fields(record)})
            for name in lacking:
                filters = (ListFilter(col=name, op="eq", val=None),)
                if name in kind_of(kind).listed_columns:
                    query = ListQuery(filters=filters, order_by=((name, True),), page_size=1)
                    assert records.list(query)[0] >= 1, (kind, name)
    assert {name: columns | taken.get(name, set()) for name, columns in shape(engine).items()} == complete
    give_back(engine)
    with store.unit_of_work() as unit:
        stored = unit.charts.append(replace(a_chart("new"), description="d", last_saved_at=START), actor_id=None)
        assert (unit.charts.get(stored).description, unit.charts.get(stored).last_saved_at) == ("d", START)


@pytest.mark.parametrize("revision", [OLDER, HEAD])
def test_a_job_is_stored_without_its_trace_where_that_has_no_place(revision, engine, open_older, tmp_path):
    stay_at(engine, revision, tmp_path)
    trace = f"00-{'ab' * 16}-{'cd' * 8}-01"
    store, tracer, settings = open_older(), SimpleNamespace(traceparent=lambda: trace), Settings(secret_key=KEY)
    book = JobRegistry(store=store, runner=InlineJobRunner(), settings=settings, sleeper=SystemSleeper(), tracer=tracer)
    job = JobRecord(job_id="new", kind="report", payload="{}", user_id=1)
    with store.unit_of_work() as unit:
        book.add(unit, job, unit.now())
    with store.unit_of_work() as unit:
        assert unit.jobs.find(job_id="new").traceparent == (trace if revision == HEAD else None)


def kind_of(name: str) -> RecordKind:
    return vars(SqlUnitOfWork)[name]._make.args[0]


def without(record, names):
    """Return a record that holds nothing in fields of these names."""
    return replace(record, **{one.name: None for one in fields(record) if one.name in names and one.name != "texts"})

"""The tables come to be once, whoever starts together, and data survives what comes later."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from tests.support.newest_tables import newest_tables
from tests.support.stores import open_store

from analytics_core._content.storage.migrate import HEAD, MIGRATIONS, NEWEST_TABLES, VERSION_TABLE, migrate
from analytics_core._content.storage.store_engine import make_store_engine
from analytics_core._content.storage.tables import METADATA
from analytics_core._records.dashboard import Tag
from analytics_core._records.repositories import ListQuery
from analytics_core.errors import SettingsError, StoreUnavailableError
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.store.kinds import KINDS, filled, store_named
from analytics_core.testing.store.records import START, a_chart, a_database, a_dataset

SUPPORT = Path(__file__).parents[1] / "support"
CLOCK = FixedClock(START)


SERVERS = [pytest.param(kind, marks=pytest.mark.server) for kind in ("postgres", "mariadb")]
ONE_SERVER = ["file", SERVERS[0], pytest.param("mariadb", marks=[pytest.mark.server, pytest.mark.long])]
"""Where making the tables, which MariaDB takes longest for, is no part of what is tried."""


@pytest.fixture(params=["file", *SERVERS])
def make_url(request, tmp_path):
    """Give the URL of another empty store of one kind by each call."""
    if request.param == "file":
        numbers = count()
        return lambda: f"sqlite:///{tmp_path}/meta{next(numbers)}.db"
    return request.getfixturevalue(f"make_{request.param}_database")


@pytest.fixture
def url(make_url):
    return make_url()


@pytest.fixture
def engine(url):
    engine = make_store_engine(url)
    yield engine
    engine.dispose()


@pytest.fixture
def later_history(tmp_path):
    history = tmp_path / "migrations"
    shutil.copytree(MIGRATIONS, history, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(SUPPORT / "later_migration.py", history / "versions" / "r9999_later.py")
    return history


@pytest.fixture
def history_of_the_line(tmp_path):
    """A history with a later revision of the line that the code's tables are of."""
    history = shutil.copytree(MIGRATIONS, tmp_path / "line", ignore=shutil.ignore_patterns("__pycache__"))
    later = (SUPPORT / "later_migration.py").read_text(encoding="utf-8").replace('"9999"', f'"{LATER_OF_THE_LINE}"')
    (history / "versions" / f"r{LATER_OF_THE_LINE}_later.py").write_text(later, encoding="utf-8")
    return history


LATER_OF_THE_LINE = f"{HEAD[:2]}99"


def start_together(*arguments, processes=4):
    command = [sys.executable, str(SUPPORT / "open_store_process.py"), *map(str, arguments)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = [subprocess.Popen(command, **pipes) for _ in range(processes)]
    for process in started:
        process.stdin.write("go\n")
        process.stdin.flush()
    return [(process.communicate(timeout=120)[1], process.returncode) for process in started]


def version_rows(engine):
    with engine.connect() as connection:
        return [row[0] for row in connection.execute(sa.text(f"SELECT version_num FROM {VERSION_TABLE}"))]


def test_the_newest_revision_is_the_one_that_the_code_expects():
    assert ScriptDirectory(MIGRATIONS).get_current_head() == HEAD


def shape(engine):
    """Return all that a store's tables are, but for the order of columns, which statements never rely on."""
    inspector = sa.inspect(engine)
    return {
        name: {
            "columns": {
                column["name"]: (str(column["type"]), column["nullable"], column["default"], column.get("primary_key"))
                for column in inspector.get_columns(name)
            },
            "primary key": inspector.get_pk_constraint(name),
            "foreign keys": sorted(map(str, inspector.get_foreign_keys(name))),
            "unique": sorted(map(str, inspector.get_unique_constraints(name))),
            "checks": sorted(map(str, inspector.get_check_constraints(name))),
            "indexes": sorted(map(str, inspector.get_indexes(name))),
        }
        for name in inspector.get_table_names()
    }


STEP_BY_STEP = MIGRATIONS / "versions" / ".."
"""The history by another path: a store that follows it goes through every revision."""


@pytest.mark.slow
def test_a_new_file_has_exactly_what_the_history_makes(tmp_path):
    at_once, step_by_step = (make_store_engine(f"sqlite:///{tmp_path}/{name}.db") for name in ("new", "old"))
    migrate(at_once)
    migrate(step_by_step, history=STEP_BY_STEP)
    assert shape(at_once) == shape(step_by_step)
    assert len(shape(at_once)) == len(METADATA.tables) + 1
    assert version_rows(at_once) == version_rows(step_by_step) == [HEAD]
    at_once.dispose()
    step_by_step.dispose()


def test_a_new_file_that_was_cut_off_is_made_whole_later(tmp_path):
    engine = make_store_engine(f"sqlite:///{tmp_path}/meta.db")
    sa.event.listen(engine, "before_cursor_execute", cut_off_at(VERSION_TABLE))
    with pytest.raises(RuntimeError, match="cut off"):
        migrate(engine)
    assert sa.inspect(engine).get_table_names() == []
    engine.dispose()
    with open_store(f"sqlite:///{tmp_path}/meta.db", CLOCK) as store, store.unit_of_work() as unit:
        assert unit.databases.add(a_database(), actor_id=None).id == 1


def cut_off_at(table):
    def cut_off(_connection, _cursor, statement, *_further):
        if statement.startswith(f"CREATE TABLE {table}"):
            raise RuntimeError("cut off")

    return cut_off


def test_a_file_with_tables_of_its_own_keeps_them(tmp_path):
    engine = make_store_engine(f"sqlite:///{tmp_path}/meta.db")
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE notes (word TEXT)"))
    migrate(engine)
    assert set(sa.inspect(engine).get_table_names()) == {*METADATA.tables, VERSION_TABLE, "notes"}
    assert version_rows(engine) == [HEAD]
    engine.dispose()


@pytest.mark.slow
def test_migrations_make_exactly_the_tables_of_the_code(engine, make_url):
    migrate(engine, history=STEP_BY_STEP)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE, "compare_type": True})
        assert compare_metadata(context, METADATA) == []
    created = make_store_engine(make_url())
    METADATA.create_all(created)
    migrated = shape(engine)
    del migrated[VERSION_TABLE]
    assert migrated == shape(created)
    created.dispose()


def test_a_store_in_memory_has_exactly_the_tables_of_the_code():
    assert NEWEST_TABLES.read_text(encoding="utf-8") == newest_tables(), "run python -m tests.support.newest_tables"


@pytest.mark.long
@pytest.mark.slow
def test_four_processes_that_start_together_migrate_once(url, engine):
    results = start_together(url)
    assert [code for _, code in results] == [0, 0, 0, 0], results
    assert version_rows(engine) == [HEAD]


def test_opening_again_changes_nothing(url, engine):
    with open_store(url, CLOCK) as store, store.unit_of_work() as unit:
        stored = unit.databases.add(a_database(), actor_id=None)
    with open_store(url, CLOCK) as store, store.unit_of_work() as unit:
        assert unit.databases.get(stored.id) == stored
    assert version_rows(engine) == [HEAD]


@pytest.mark.slow
def test_a_later_revision_runs_once_on_a_store_with_data(url, engine, later_history):
    with open_store(url, CLOCK) as store, store.unit_of_work() as unit:
        database = unit.databases.add(a_database(), actor_id=None)
        dataset = unit.datasets.add(a_dataset(database.id), actor_id=None)
    results = start_together(url, later_history, "9999", processes=2)
    assert [code for _, code in results] == [0, 0], results
    assert version_rows(engine) == ["9999"]
    with engine.connect() as connection:
        assert "later" in {column["name"] for column in sa.inspect(connection).get_columns("ac_charts")}
        assert connection.execute(sa.select(METADATA.tables["ac_datasets"].c.id)).scalars().all() == [dataset.id]


NOT_YET = {"0100": {"sql_queries", "saved_queries"}, "0101": set(), "0102": set()}
"""The kinds of records that a revision before the newest had no tables for; before 0102 jobs had no `traceparent`."""


def copy_records(url, target):
    """Copy what the tables of another store take of this one, and return the tables."""
    taken = sa.MetaData()
    taken.reflect(target)
    source = make_store_engine(url)
    with source.connect() as reading, target.begin() as writing:
        for table in METADATA.sorted_tables:
            if table.name in taken.tables:
                columns = [column for column in table.c if column.name in taken.tables[table.name].c]
                rows = reading.execute(sa.select(*columns)).mappings().all()
                writing.execute(sa.insert(table), [dict(row) for row in rows])
    source.dispose()
    return taken


def all_rows(engine, metadata):
    tables = [table for table in metadata.tables.values() if table.name != VERSION_TABLE]
    with engine.connect() as connection:
        return {table.name: sorted(map(str, connection.execute(sa.select(table)))) for table in tables}


@pytest.mark.parametrize("revision", NOT_YET)
def test_a_store_of_an_older_revision_moves_forward_and_the_code_uses_its_records(engine, url, tmp_path, revision):
    numbers = [path.name[1:5] for path in (MIGRATIONS / "versions").glob("r????_*.py")]
    later = [f"r{number}_*" for number in numbers if number > revision]
    history = shutil.copytree(MIGRATIONS, tmp_path / "older", ignore=shutil.ignore_patterns("__pycache__", *later))
    migrate(engine, history=history, head=revision)
    assert (version_rows(engine), sorted(numbers)) == ([revision], [*NOT_YET, HEAD])
    filled_url = f"sqlite:///{tmp_path}/filled.db"
    with open_store(filled_url, CLOCK) as store, store.unit_of_work() as unit:
        named = store_named(unit)
        ids = {kind: getattr(unit, kind).append(filled(kind, named), actor_id=None) for kind in KINDS}
        records = {kind: getattr(unit, kind).get(id_) for kind, id_ in ids.items() if kind not in NOT_YET[revision]}
    if revision < "0102":
        records["jobs"] = dataclasses.replace(records["jobs"], traceparent=None)
    tables = copy_records(filled_url, engine)
    before = all_rows(engine, tables)
    assert all(before.values())
    with open_store(url, CLOCK) as store, store.unit_of_work() as unit:
        assert {kind: getattr(unit, kind).get(ids[kind]) for kind in records} == records
        assert not any(getattr(unit, kind).list(ListQuery())[1] for kind in NOT_YET[revision])
        assert unit.charts.update(records["charts"], actor_id=None).audit.version == 2
    after = all_rows(engine, tables)
    assert {name for name, rows in after.items() if rows != before[name]} == {"ac_charts"}
    assert version_rows(engine) == [HEAD]


@pytest.mark.parametrize("make_url", ONE_SERVER, indirect=True)
def test_a_store_of_a_newer_version_of_the_library_is_left_alone(engine, url, later_history):
    migrate(engine, history=later_history, head="9999")
    with pytest.raises(SettingsError, match="newer version"), open_store(url, CLOCK):
        pass
    assert version_rows(engine) == ["9999"]


@pytest.mark.parametrize("make_url", ONE_SERVER, indirect=True)
def test_a_store_of_a_later_revision_of_the_line_is_used(engine, url, history_of_the_line):
    migrate(engine, history=history_of_the_line, head=LATER_OF_THE_LINE)
    with open_store(url, CLOCK) as store, store.unit_of_work() as unit:
        assert unit.charts.get(unit.charts.append(a_chart("new"), actor_id=None)).slice_name == "new"
        assert store.table_revision() == LATER_OF_THE_LINE
    assert version_rows(engine) == [LATER_OF_THE_LINE]


@pytest.mark.parametrize("make_url", ONE_SERVER, indirect=True)
def test_a_process_that_a_later_revision_of_its_line_overtook_goes_on(engine, url, history_of_the_line):
    with open_store(url, CLOCK) as store:
        with store.unit_of_work() as unit:
            before = unit.charts.add(a_chart("before"), actor_id=None)
        migrate(engine, history=history_of_the_line, head=LATER_OF_THE_LINE)
        with store.unit_of_work() as unit:
            unit.charts.update(before, actor_id=None)
            unit.charts.append(a_chart("after"), actor_id=None)
        store.reseal_secrets()
        with store.unit_of_work() as unit:
            assert [(chart.slice_name, chart.audit.version) for chart in unit.charts.list(ListQuery())[1]] == [
                ("before", 2),
                ("after", 1),
            ]


@pytest.mark.slow
@pytest.mark.parametrize("make_url", SERVERS, indirect=True)
def test_nobody_waits_long_behind_a_migration_that_waits(engine, url, history_of_the_line):
    """A backup holds what it reads until it ends; what is to be changed waits, and others read meanwhile."""
    migrate(engine)
    read = sa.select(METADATA.tables["ac_charts"].c.id)
    with ThreadPoolExecutor() as pool, engine.connect() as backup:
        backup.execute(read).all()
        migrating = pool.submit(migrate, engine, history=history_of_the_line, head=LATER_OF_THE_LINE)
        until = time.monotonic() + 6
        while time.monotonic() < until:
            with engine.connect() as connection:
                assert connection.execute(read).all() == []
            time.sleep(0.05)
        assert not migrating.done()
        backup.rollback()
        assert len(migrating.result(timeout=60)) == 1
    assert version_rows(engine) == [LATER_OF_THE_LINE]


def test_a_store_of_an_older_line_is_brought_up_to_date_or_refused_with_the_command(tmp_path, later_history):
    engine = make_store_engine(f"sqlite:///{tmp_path}/meta.db")
    migrate(engine)
    with pytest.raises(SettingsError, match=f"'{HEAD}', .* needs '9999'; .*python -m analytics_core migrate"):
        migrate(engine, history=later_history, head="9999", only_new=True)
    assert version_rows(engine) == [HEAD]
    (ran,) = migrate(engine, history=later_history, head="9999")
    assert ran.startswith("9999: A revision after the newest one")
    assert version_rows(engine) == ["9999"]
    engine.dispose()


@pytest.mark.parametrize("make_url", ONE_SERVER, indirect=True)
def test_a_store_from_before_the_first_release_is_refused_with_what_to_do(engine, url):
    migrate(engine)
    for revision in ("0001", "0009"):
        with engine.begin() as connection:
            connection.execute(sa.text(f"UPDATE {VERSION_TABLE} SET version_num = '{revision}'"))
        with pytest.raises(SettingsError) as raised, open_store(url, CLOCK):
            pass
        advice = f"revision '{revision}'.* before 0\\.1\\.0; .* name an empty store"
        assert re.search(advice, raised.value.message), f"{revision}: {raised.value.message}"
        assert version_rows(engine) == [revision]


@pytest.mark.parametrize("make_url", ONE_SERVER, indirect=True)
def test_a_process_that_a_newer_version_overtook_reads_and_no_longer_writes(engine, url, later_history):
    with open_store(url, CLOCK) as store:
        with store.unit_of_work() as unit:
            unit.tags.add(Tag(name="before"), actor_id=None)
        migrate(engine, history=later_history, head="9999")
        with pytest.raises(StoreUnavailableError, match="another version"), store.unit_of_work() as unit:
            unit.tags.add(Tag(name="after"), actor_id=None)
        with pytest.raises(StoreUnavailableError, match="another version"):
            store.reseal_secrets()
        with store.unit_of_work() as unit:
            assert [tag.name for tag in unit.tags.list(ListQuery())[1]] == ["before"]


@pytest.mark.parametrize("make_url", ONE_SERVER, indirect=True)
def test_a_process_that_a_newer_version_overtook_changes_no_report_and_no_job(engine, url, later_history):
    """Of every kind of record; what is written while somebody reads goes on, so that a renewed token is not lost."""
    with open_store(url, CLOCK) as store:
        with store.unit_of_work() as unit:
            named = store_named(unit)
            stored = {
                kind: getattr(unit, kind).append(facts.bare(named), actor_id=None) for kind, facts in KINDS.items()
            }
        migrate(engine, history=later_history, head="9999")
        refused = {
            (kind, act) for kind in KINDS for act in ("update", "delete") if is_refused(store, kind, stored, act)
        }
    goes_on = {"logs", "locks", "oauth2_tokens"}
    assert refused == {(kind, act) for kind in KINDS if kind not in goes_on for act in ("update", "delete")}


def is_refused(store, kind, stored, act):
    try:
        with store.unit_of_work() as unit:
            records = getattr(unit, kind)
            records.update(records.get(stored[kind]), actor_id=None) if act == "update" else records.delete(
                stored[kind]
            )
    except StoreUnavailableError as error:
        return not error.retryable
    return False


def test_a_migration_that_was_cut_off_is_completed(engine):
    migrate(engine)
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE ac_chart_owners"))
        connection.execute(sa.text("DROP TABLE ac_job_results"))
        next(index for index in METADATA.tables["ac_jobs"].indexes if index.name == "ix_ac_jobs_expiry").drop(
            connection
        )
        connection.execute(sa.text(f"DROP TABLE {VERSION_TABLE}"))
    migrate(engine)
    assert version_rows(engine) == [HEAD]
    made = sa.inspect(engine)
    assert made.has_table("ac_chart_owners")
    assert made.has_table("ac_job_results")
    assert "ix_ac_jobs_expiry" in {index["name"] for index in made.get_indexes("ac_jobs")}

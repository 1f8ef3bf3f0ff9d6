"""What lies around the statements: logs, files, cached bytes, metadata, and what a connection may ask for."""

from __future__ import annotations

import copy
import json
import logging
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.execution import LIMITS, REGISTRY, database, make_sqlite_file, settings, target
from tests.support.servers import LOOPBACK
from tests.support.shop import add_reader, context, hosted_core, shop_url

from analytics_core import AnalyticsCore, Settings, errors
from analytics_core._content.storage.tables import METADATA
from analytics_core._core.adapters.caches import MemoryCache
from analytics_core._core.adapters.clock import SystemClock
from analytics_core._core.adapters.connector import SqlAlchemyConnector
from analytics_core._engine.compile.fragments.parser import FragmentParser
from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.compile.templates import TemplateRenderer
from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.execution.cancel import Stopper
from analytics_core._engine.execution.reflection import Reflector
from analytics_core._engine.execution.sessions.base import RunRequest, Session
from analytics_core._engine.execution.statements import StatementRunner
from analytics_core._engine.frames.arrow_frames import frame_from_bytes, frame_to_bytes
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.gate.gate import Gate
from analytics_core._engine.gate.metadata import CachedNames, MetadataReader
from analytics_core._engine.gate.relations import STORE_TABLES
from analytics_core._engine.gate.row_security import RowSecurity
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.keys import EntrySeal
from analytics_core._engine.rights.policy import Policy
from analytics_core._engine.rights.row_rules import RuleSet, TableName
from analytics_core._records.datasource import Access, Dataset, Identity
from analytics_core._records.people import Role, User
from analytics_core._tools.once import Once
from analytics_core.testing.sample_data import make_shop

PASSWORD = "pa55:w@rd/of%joe"
WORDS = {
    "password": PASSWORD,
    "encoded password": quote(PASSWORD, safe=""),
    "query token": "t0ken-in-the-query",
    "key": "k3y-of-the-logged-core-0123456789",
    "older key": "0lder-key-of-the-core-0123456789",
    "value": "v4lue-of-a-filter",
    "extra": "extra-pa55word",
}


def server_url(engine: str, request: pytest.FixtureRequest) -> str:
    """Return the URL of a user of the server who has the seeded password."""
    fixture = "make_postgres_database" if engine == "postgresql" else "make_mariadb_database"
    url = sa.make_url(make_shop(request.getfixturevalue(fixture)(), seed=1, days=5, orders_per_day=1))
    admin = sa.create_engine(url, poolclass=sa.NullPool)
    with admin.begin() as connection:
        if engine == "postgresql":
            connection.exec_driver_sql("DROP ROLE IF EXISTS joe")
            connection.exec_driver_sql(f"CREATE ROLE joe SUPERUSER LOGIN PASSWORD '{PASSWORD.replace('%', '%%')}'")
        else:
            connection.exec_driver_sql(
                f"CREATE OR REPLACE USER joe@'127.0.0.1' IDENTIFIED BY '{PASSWORD.replace('%', '%%')}'"
            )
            connection.exec_driver_sql("GRANT ALL ON *.* TO joe@'127.0.0.1'")
    return url.set(username="joe", password=PASSWORD).render_as_string(hide_password=False)


@pytest.mark.slow
@pytest.mark.logs_secrets("the test's own engine makes the user; what comes after it is searched by the test itself")
@pytest.mark.parametrize(
    "engine",
    [
        "sqlite",
        "duckdb",
        pytest.param("postgresql", marks=pytest.mark.server),
        pytest.param("mysql", marks=pytest.mark.server),
    ],
)
def test_no_log_record_holds_a_secret(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("sqlalchemy", "sqlalchemy.engine", "sqlalchemy.pool", "psycopg", "pymysql", "alembic", "asyncio"):
        caplog.set_level(logging.DEBUG, logger=name)
    url = server_url(engine, request) if engine in ("postgresql", "mysql") else shop_url(tmp_path, engine)
    caplog.clear()  # what the administrator's own engine said
    hosted = Settings(
        secret_key=WORDS["key"],
        previous_secret_keys=(WORDS["older key"],),
        data_roots=(tmp_path,),
        allowed_networks=LOOPBACK,
    )
    texts: list[str] = []
    with AnalyticsCore(hosted, metadata_url=f"sqlite:///{tmp_path}/meta.db") as host:
        host.create_first_administrator("admin")
        for call in broad_calls(host.as_user("admin"), url):
            texts.append(outcome(call))
    assert any(record.name.startswith("sqlalchemy") for record in caplog.records)
    logged = [f"{r.getMessage()} {r.args!r} {r.exc_text or ''} {vars(r)!r}" for r in caplog.records]
    for what, word in WORDS.items():
        assert not [text for text in logged if word in text], what
        if what != "value":  # the statement that an answer shows to who asked has it
            assert not [text for text in texts if word in text], what


def outcome(call: Any) -> str:
    """Return all that a call gives or raises, as text."""
    try:
        found = call()
    except errors.AnalyticsError as error:
        return f"{error!r} {error} {json.dumps(error.to_payload(), default=str)}"
    return f"{found!r} {found}"


def broad_calls(admin: AnalyticsCore, url: str) -> Iterator[Any]:
    """Give calls of every kind: sound ones, failing ones, refused ones."""
    yield lambda: admin.databases.create({"database_name": "shop", "orm_uri": url})
    yield lambda: admin.datasets.create({"database": 1, "table_name": "orders"})
    sql = "SELECT * FROM orders WHERE country <> '{{ url_param('land', 'x') }}'"
    yield lambda: admin.datasets.create({"database": 1, "table_name": "made", "sql": sql})
    value = {"filters": [{"col": "country", "op": "!=", "val": WORDS["value"]}]}
    for result_type in ("full", "samples", "query", "drill_detail", "results", "columns", "post_processed"):
        requested = context({"columns": ["country"], "metrics": ["count"], **value}, result_type=result_type)
        yield lambda requested=requested: admin.charts.data(requested).to_payload()
    templated = context({"columns": ["country"], "url_params": {"land": "France"}}, dataset=2)
    yield lambda: admin.charts.data(templated).to_csv()
    yield lambda: admin.charts.explain(templated)
    yield lambda: admin.charts.submit(templated).result(timeout_s=20)
    fails = {"expressionType": "SQL", "sqlExpression": "nope(country)", "label": "x"}
    yield lambda: admin.charts.data(context({"columns": [fails]})).results[0].failure
    yield admin.databases.list
    yield lambda: admin.databases.connection(1)
    yield lambda: admin.databases.update(1, {"orm_uri": f"postgresql://joe:{WORDS['encoded password']}@[x/y"})
    far = f"postgresql+psycopg://joe:{WORDS['encoded password']}@127.0.0.1:1/x"
    yield lambda: admin.databases.test_connection({"orm_uri": far})
    yield lambda: admin.databases.create({"database_name": "far", "orm_uri": far})
    yield lambda: admin.datasets.create({"database": 2, "table_name": "orders"})
    yield lambda: admin.databases.update(2, {"extra": json.dumps({"password": WORDS["extra"]})})
    token = f"mysql+pymysql://joe@127.0.0.1:1/x?token={WORDS['query token']}"
    yield lambda: admin.databases.create({"database_name": "token", "orm_uri": token})
    yield lambda: copy.copy(admin._runtime.parts.settings)


# ------------------------------------------------------------------------------------------------------------- files
SCRIPT = """
import sys, analytics_core
from analytics_core.errors import AnalyticsError
url = sys.argv[1]
texts = ["1=1; ATTACH 'loot' AS x", "load_extension('x')", "writefile('loot', 'x')", "VACUUM INTO 'loot'",
         "COPY orders TO 'loot.csv'", "read_csv('loot.csv')", "country <> 'COPY orders TO loot.csv'"]
with analytics_core.connect(url) as core:
    core.datasets.create({"database": 1, "table_name": "orders"})
    for text in texts:
        query = {"columns": ["country"], "metrics": ["count"], "extras": {"where": text}}
        asked = {"datasource": {"id": 1, "type": "table"}, "queries": [query]}
        answer = core.charts.data(asked)
        for form in (answer.to_json, answer.to_csv, answer.to_xlsx):
            try:
                form()
            except AnalyticsError:
                pass
        try:
            core.datasets.create({"database": 1, "table_name": "v", "sql": text})
        except AnalyticsError:
            pass
        core.charts.explain(asked)
print("ended")
"""


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_no_file_is_made_or_changed_anywhere(engine: str, tmp_path: Path) -> None:
    """Not beside the database, in the working folder, in the home or in the folder for temporary files."""
    places = {name: tmp_path / name for name in ("data", "work", "home", "temporary")}
    for place in places.values():
        place.mkdir()
    url = shop_url(places["data"], engine)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    environment = {
        **os.environ,
        "HOME": str(places["home"]),
        "TMPDIR": str(places["temporary"]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-c", SCRIPT, url]
    run = subprocess.run(
        command, cwd=places["work"], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.stdout == "ended\n", run.stderr
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert {path for path in tmp_path.rglob("*") if path.is_dir()} == set(places.values())


# -------------------------------------------------------------------------------------------------------- second walls
def test_limits_of_sqlite_hold_without_the_first_wall(tmp_path: Path) -> None:
    make_sqlite_file(tmp_path / "shop.db", "CREATE TABLE orders (id INTEGER)")
    with target(f"sqlite:///{tmp_path}/shop.db", tmp_path) as shop:
        for sql in (
            f"SELECT {'NOT ' * 2_000}1",
            f"SELECT 1 {'UNION ALL SELECT 1 ' * 600}",
            "SELECT length(hex(hex(hex(zeroblob(20000000)))))",
            f"SELECT 1 /* {'x' * 11_000_000} */",
        ):
            with pytest.raises(errors.DatabaseError):
                shop.rows(sql)
        assert shop.rows(f"SELECT {'NOT ' * 20}1") == [(1,)]
        assert shop.rows(f"SELECT count(*) FROM (SELECT 1 {'UNION ALL SELECT 1 ' * 20})") == [(21,)]


@pytest.mark.parametrize("sql", ["DELETE FROM orders", "SET x = 1", "/* SELECT */ CALL f()", ""])
def test_engines_without_a_session_of_their_own_start_queries_only(sql: str) -> None:
    statement = Statement(sql=sql, parameters=(), display_sql=sql, labels=(), kinds=())
    untouched: Any = None
    request = RunRequest(connection=untouched, statement=statement, limits=LIMITS, stopper=Stopper())
    with pytest.raises(errors.StatementRefusedError):
        Session().run(request)


# ------------------------------------------------------------------------------------------------------- cached bytes
class OpenCache:
    """A cache that an attacker can write to."""

    def __init__(self) -> None:
        self.retained: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        """Return what is kept."""
        return self.retained.get(key)

    def set(self, key: str, value: bytes, *, timeout_s: float | None) -> None:
        """Keep a value."""
        self.retained[key] = bytes(value)

    def delete(self, key: str) -> None:
        """Forget a value."""
        self.retained.pop(key, None)

    def clear(self) -> None:
        """Forget all."""
        self.retained.clear()


def of_another_version(entry: bytes) -> bytes:
    return entry[:7] + bytes([entry[7] + 1]) + entry[8:]


def with_other_facts(entry: bytes) -> bytes:
    """Change a fact, length for length, as somebody would who may write to the cache and has no key."""
    changed = entry.replace(b'"status":"success"', b'"status":"unknown"')
    assert changed != entry
    return changed


def with_other_rows(entry: bytes) -> bytes:
    """Change the rows that an answer would show."""
    at = entry.rindex(b"count")
    return entry[:at] + b"COUNT" + entry[at + 5 :]


def of_the_format_before(entry: bytes) -> bytes:
    """Return the rows in the format that had a checksum and no seal."""
    parts = (b"key", b"{}", b"", entry[-20:])
    rest = struct.pack(">QQQQ", *map(len, parts)) + b"".join(parts)
    return b"ACQR\x00\x00\x00\x02" + zlib.crc32(rest).to_bytes(4, "big") + rest


def test_poisoned_entries_are_misses(tmp_path: Path) -> None:
    cache = OpenCache()
    with hosted_core(shop_url(tmp_path), cache=cache) as host:
        anna, query = add_reader(host, "anna"), context({"columns": ["country"], "metrics": ["count"]})
        honest = anna.charts.data(query).results[0]
        anna.charts.data(context({"metrics": ["count"]}))
        key = next(key for key in cache.retained if key == honest.cache_key)
        entry, foreign = cache.retained[key], next(value for name, value in cache.retained.items() if name != key)
        poisons = [foreign, entry[: len(entry) // 2], entry + b"x", b"", entry[:8], of_another_version(entry)]
        poisons += [with_other_facts(entry), with_other_rows(entry), of_the_format_before(entry)]
        poisons += [b"\x80\x05cos\nsystem\n(S'touch loot'\ntR.", b"!!python/object:x {}"]
        for poison in poisons:
            cache.retained[key] = poison
            result = anna.charts.data(query).results[0]
            assert (result.is_cached, result.data) == (False, honest.data)
        assert anna.charts.data(query).results[0].is_cached


def test_stored_columns_that_point_outside_their_bytes_are_a_typed_error() -> None:
    texts = pa.array(["ab" * 500, "c"], pa.large_string())
    stored = bytes(frame_to_bytes(Frame(columns=(FrameColumn(name="x", kind=ValueKind.TEXT, values=texts),))))
    assert len(list(frame_from_bytes(stored).rows())) == 2
    offsets = struct.pack("<3q", 0, 1_000, 1_001)
    assert stored.count(offsets) == 1
    with pytest.raises(errors.StoredDataError):
        frame_from_bytes(stored.replace(offsets, struct.pack("<3q", 0, 5_000, 90_000)))


# ------------------------------------------------------------------------------------------------------------- metadata
class SeenIdentities:
    """A connector that remembers who connects, in front of the real one."""

    def __init__(self, connector: SqlAlchemyConnector) -> None:
        self._connector = connector
        self.seen: list[str | None] = []

    def engine(self, record: Any, *, identity: Identity | None = None, access: Access = Access.READ) -> sa.Engine:
        """Return the engine, for anybody."""
        assert access is Access.READ
        self.seen.append(identity and identity.username)
        return self._connector.engine(record)

    def dispose(self, database_id: int) -> None:
        """Close the engines of a database."""
        self._connector.dispose(database_id)


class NoRules:
    """Knows no row rule."""

    def book(self, *_where: object, **_who: object) -> RuleSet:
        """Return an empty book."""
        return RuleSet()

    def tables(self, _database_id: int, _table: TableName) -> tuple[Dataset, ...]:
        """Return no dataset."""
        return ()


@pytest.mark.parametrize("impersonates", [True, False])
def test_metadata_is_read_as_the_user_where_the_database_impersonates(tmp_path: Path, impersonates: bool) -> None:
    make_sqlite_file(tmp_path / "shop.db", "CREATE TABLE orders (id INTEGER)")
    real = SqlAlchemyConnector(settings=settings(tmp_path), specs=REGISTRY.get)
    connector = SeenIdentities(real)
    reflector = Reflector(connector)
    row_security = RowSecurity(
        books=NoRules(), sources=(), renderer=TemplateRenderer(), parser=FragmentParser(max_length=100)
    )
    metadata = MetadataReader(
        gate=Gate(
            policy=Policy(),
            registry=REGISTRY,
            runner=StatementRunner(connector),
            row_security=Once(lambda: row_security),
            books=NoRules(),
        ),
        policy=Policy(),
        reflector=reflector,
        names=CachedNames(
            reflector, MemoryCache(max_bytes=1_000_000, clock=SystemClock()), EntrySeal(settings(tmp_path).key)
        ),
        row_security=Once(lambda: row_security),
        timeout_s=30.0,
    )
    anna = Actor(user=User(id=7, username="anna"), roles=(Role(id=1, name="all", is_admin=True),))
    record = database(f"sqlite:///{tmp_path}/shop.db", impersonate_user=impersonates)
    orders = Dataset(id=1, uuid="u", table_name="orders", database_id=1)
    metadata.columns_of(anna, orders, record, sql=None)
    metadata.columns_of(anna, orders, record, sql="SELECT id FROM orders")
    metadata.try_connection(anna, record)
    with suppress(errors.DatabaseError):
        metadata.columns_of(anna, Dataset(id=1, uuid="u", table_name="nosuch", database_id=1), record, sql=None)
    real.close()
    assert set(connector.seen) == ({"anna"} if impersonates else {None})


def test_metadata_needs_a_grant(tmp_path: Path) -> None:
    with hosted_core(shop_url(tmp_path)) as host:
        stranger = add_reader(host, "stranger", on=None)
        narrow = add_reader(host, "narrow", on=("dataset", 1))
        for person in (stranger, narrow):
            for change in ({}, {"sql": "SELECT * FROM customers"}, {"sql": "SELECT 1 AS a"}):
                with pytest.raises(errors.AccessError):
                    person.datasets.create({"database": 1, "table_name": "customers", **change})
            with pytest.raises(errors.AccessError):
                person.databases.test_connection({"orm_uri": "sqlite://"})
        wide = add_reader(host, "wide", on=("database", 1))
        assert wide.datasets.create({"database": 1, "table_name": "customers"}).columns


# ----------------------------------------------------------------------------------------------------- metadata store
def test_the_tables_of_a_store_are_no_data(tmp_path: Path) -> None:
    assert set(METADATA.tables) | {"ac_alembic_version"} == STORE_TABLES
    host = AnalyticsCore(settings(tmp_path), metadata_url=f"sqlite:///{tmp_path}/meta.db")
    with host:
        core = host.as_user(host.create_first_administrator("admin").id)
        core.databases.create({"database_name": "own", "orm_uri": f"sqlite:///{tmp_path}/meta.db"})
        for changes in ({"table_name": "ac_users"}, {"table_name": "v", "sql": "SELECT * FROM ac_users"}):
            with pytest.raises(errors.StatementRefusedError, match="metadata store"):
                core.datasets.create({"database": 1, **changes})


# ---------------------------------------------------------------------------------------------------- connection URIs
SMUGGLED = ["1%26mode%3Drwc", "1%26vfs%3Dunix-none", "1%26mode%3Dmemory", "1%23", "1%00%26mode=rwc"]


@pytest.mark.parametrize("value", SMUGGLED)
def test_the_value_of_an_option_starts_no_option_of_its_own(tmp_path: Path, value: str) -> None:
    make_sqlite_file(tmp_path / "shop.db", "CREATE TABLE orders (id INTEGER)", "INSERT INTO orders VALUES (1)")
    for name in ("shop.db", "new.db"):
        uri = f"sqlite:///{tmp_path}/{name}?immutable={value}"
        with target(uri, tmp_path) as shop, pytest.raises(errors.ConnectionUriError, match="immutable"):
            shop.rows("SELECT id FROM orders")
    assert [path.name for path in tmp_path.iterdir()] == ["shop.db"]


def test_a_file_is_opened_read_only(tmp_path: Path) -> None:
    make_sqlite_file(tmp_path / "shop.db", "CREATE TABLE orders (id INTEGER)", "INSERT INTO orders VALUES (1)")
    with target(f"sqlite:///{tmp_path}/shop.db?immutable=1", tmp_path) as shop:
        assert shop.rows("SELECT id FROM orders") == [(1,)]
        raw = shop.connector.engine(shop.record).raw_connection()
        raw.driver_connection.set_authorizer(None)  # the first wall away: the file itself is read-only
        with pytest.raises(Exception, match="readonly"):
            raw.cursor().execute("INSERT INTO orders VALUES (2)")
        raw.close()


def test_a_harmless_option_of_a_file_still_works(tmp_path: Path) -> None:
    make_sqlite_file(tmp_path / "shop.db", "CREATE TABLE orders (id INTEGER)")
    with target(f"sqlite:///{tmp_path}/shop.db?immutable=1", tmp_path) as shop:
        assert shop.rows("SELECT count(*) FROM orders") == [(0,)]


@pytest.mark.slow
@for_each(
    "uri",
    [
        "sqlite:////etc/passwd",
        "sqlite:///{folder}/../other.db",
        "sqlite:///{folder}/shop.db?vfs=unix-none",
        "sqlite+pysqlcipher:///{folder}/shop.db",
        "duckdb:///{folder}/x.duckdb?access_mode=READ_WRITE",
        "duckdb:///{folder}/x.duckdb?allow_unsigned_extensions=true",
        "duckdb:///md:shop",
        "mysql+pymysql://h/d?local_infile=1",
        "mysql+pymysql://h/d?init_command=DROP%20TABLE%20x",
        "postgresql+psycopg://h/d?options=-c%20default_transaction_read_only%3Doff",
        "postgresql+psycopg://h/d?service=evil",
        "shillelagh://",
    ],
)
@for_each("road", ["create", "update", "test"])
def test_hostile_uris_are_refused_on_every_road(tmp_path: Path, uri: str, road: str) -> None:
    with AnalyticsCore(Settings(secret_key=WORDS["key"], data_roots=(tmp_path,))) as host:
        core = host.as_user(host.create_first_administrator("admin").id)
        core.databases.create({"database_name": "sound", "orm_uri": "sqlite://"})
        given = {"orm_uri": uri.format(folder=tmp_path)}
        roads = {
            "create": lambda: core.databases.create({"database_name": "evil", **given}),
            "update": lambda: core.databases.update(1, given),
            "test": lambda: core.databases.test_connection(given),
        }
        with pytest.raises(errors.ConnectionUriError) as rejected:
            roads[road]()
        assert given["orm_uri"] not in str(rejected.value.to_payload())
    assert list(tmp_path.iterdir()) == []

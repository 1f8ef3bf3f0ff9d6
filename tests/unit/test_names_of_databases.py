"""Names of schemas and tables are kept as long as a database says, sealed, and for nobody else's question."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.execution import REGISTRY, admission, database

from analytics_core._content.databases.records import engine_information
from analytics_core._core.adapters.caches import MemoryCache
from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.execution.connections import Admission
from analytics_core._engine.execution.sessions.choice import loader_of, takes_rows
from analytics_core._engine.execution.sessions.metadata import ReflectedColumn, ReflectedTable
from analytics_core._engine.files.kinds import TEXT, ColumnType
from analytics_core._engine.files.table import FileColumn
from analytics_core._engine.gate.metadata import CachedNames, FoundColumn, _reject_twins, timeout_problems, with_kinds
from analytics_core._engine.gate.uploads import _as_existing, _decimal, upload_targets
from analytics_core._engine.rights.keys import EntrySeal
from analytics_core._records.audit import Audit
from analytics_core._records.datasource import Identity
from analytics_core._records.secret import Secret
from analytics_core.errors import FileUploadError, VirtualDatasetError
from analytics_core.testing.clock import FixedClock

NOW = datetime(2026, 5, 1, tzinfo=UTC)
POSTGRES, SQLITE, MYSQL = (REGISTRY.get(name) for name in ("postgresql", "sqlite", "mysql"))


class CountingReflector:
    """Has a schema and a table more at each question."""

    def __init__(self) -> None:
        self.calls = 0

    def schemas(self, _admission: Admission) -> Sequence[str]:
        self.calls += 1
        return tuple(f"s{number}" for number in range(self.calls))

    def tables(self, _admission: Admission, schema: str | None) -> Sequence[ReflectedTable]:
        self.calls += 1
        view = ReflectedTable(name="v", is_view=True, is_materialized=True)
        return (ReflectedTable(name=f"{schema} {self.calls}"), view)


class World:
    """Names over a cache; `shop` is the database whose `extra` says how long they are kept."""

    def __init__(self, **timeouts: Any) -> None:
        self.clock = FixedClock(NOW)
        self.cache = MemoryCache(max_bytes=1_000_000, clock=self.clock)
        self.reflector: Any = CountingReflector()
        self.names = CachedNames(self.reflector, self.cache, EntrySeal(Secret("a-key-for-tests-0123456789")))
        self.shop = database("postgresql://u:pw@h/shop", extra=json.dumps({"metadata_cache_timeout": timeouts}))

    def schemas(self, *, force: bool = False, **changes: Any) -> int:
        """Return how many questions the schemas come from."""
        identity = changes.pop("identity", None)
        return len(self.names.schemas(admission(replace(self.shop, **changes), identity=identity), force=force))

    def tables(self, schema: str | None = None, *, force: bool = False) -> tuple[ReflectedTable, ...]:
        return self.names.tables(admission(self.shop), schema, force=force)


def test_names_are_cached_for_the_seconds_of_their_kind() -> None:
    for timeouts, count in (({"schema_cache_timeout": 60}, [1, 1, 2]), ({"table_cache_timeout": 60}, [1, 2, 3])):
        w = World(**timeouts)
        found = [w.schemas(), w.schemas()]
        w.clock.advance(timedelta(seconds=60))
        assert [*found, w.schemas()] == count
    w = World(table_cache_timeout=60)
    first = w.tables("a")
    assert first == (ReflectedTable(name="a 1"), ReflectedTable(name="v", is_view=True, is_materialized=True))
    assert w.tables("a") == first
    assert w.tables("b")[0].name == "b 2"
    assert w.tables(None)[0].name == "None 3"
    w.clock.advance(timedelta(seconds=60))
    assert w.tables("a")[0].name == "a 4"


def test_nought_caches_for_ever_and_what_cannot_be_set_caches_nothing() -> None:
    for value, is_cached in ((0, True), (2**31 - 1, True), (2**31, False), (-1, False), (True, False), (1.5, False)):
        w = World(schema_cache_timeout=value, table_cache_timeout=value)
        w.schemas()
        w.clock.advance(timedelta(days=2_000 if value == 0 else 1))
        assert w.schemas() == (1 if is_cached else 2), value
    for extra in (None, "", "[]", "{", '{"metadata_cache_timeout": 5}', '{"metadata_cache_timeout": null}'):
        w = World()
        w.shop = replace(w.shop, extra=extra)
        assert [w.schemas(), w.schemas(), len(w.tables()), w.reflector.calls] == [1, 2, 2, 3], extra


def test_force_asks_and_keeps_the_new_answer() -> None:
    w = World(schema_cache_timeout=60, table_cache_timeout=60)
    assert [w.schemas(), w.schemas(force=True), w.schemas()] == [1, 2, 2]
    assert [w.tables("a", force=force)[0].name for force in (False, True, False)] == ["a 3", "a 4", "a 4"]


def test_a_list_belongs_to_one_database_in_one_version_at_one_address_for_one_user() -> None:
    w = World(schema_cache_timeout=60)
    assert w.schemas() == 1
    changes: tuple[dict[str, Any], ...] = (
        {"id": 2},
        {"uuid": "other"},
        {"audit": Audit(version=w.shop.audit.version + 1)},
        {"uri": Secret("postgresql://u:pw@g/shop")},
        {"identity": Identity(username="ada")},
        {"identity": Identity(username="eve")},
    )
    for number, change in enumerate(changes, start=2):
        assert w.schemas(**change) == number, change
        assert w.schemas(**change) == number, change
    assert w.schemas(uri=Secret("postgresql://u:0ther@h/shop")) == 1  # a password is no address


def test_tables_that_changed_are_asked_anew_for_all_and_schemas_are_not() -> None:
    w = World(schema_cache_timeout=60, table_cache_timeout=60)
    assert (w.schemas(), w.tables("a")[0].name) == (1, "a 2")
    w.names.forget_tables(admission(w.shop))
    assert (w.schemas(), w.tables("a")[0].name) == (1, "a 3")
    w.names.forget_tables(admission(replace(w.shop, id=9)))
    assert w.tables("a")[0].name == "a 3"


def test_an_entry_that_was_not_sealed_for_its_key_is_a_miss() -> None:
    w = World(schema_cache_timeout=60)
    w.schemas()
    (key,) = [key for key in w.cache._entries if "generation" not in key]
    entry = w.cache.get(key) or b""
    forged = json.dumps([["evil"], ["worse"], ["worst"]]).encode()
    for spoilt in (b"", entry[:10], entry[:-1], forged, entry[:28] + forged, bytes([entry[0] ^ 1]) + entry[1:]):
        before = w.reflector.calls
        w.cache.set(key, spoilt, timeout_s=60)
        assert w.schemas() == before + 1, spoilt
    assert b"pw" not in key.encode()


def test_a_timeout_that_cannot_be_is_named_with_its_place() -> None:
    def paths(value: Any) -> list[str]:
        return [problem.path for problem in timeout_problems(json.dumps({"metadata_cache_timeout": value}))]

    both = ["metadata_cache_timeout.schema_cache_timeout", "metadata_cache_timeout.table_cache_timeout"]
    assert paths({"schema_cache_timeout": -1, "table_cache_timeout": "5"}) == both
    assert paths({"schema_cache_timeout": None, "table_cache_timeout": 2**31}) == both[1:]
    for value in ({}, None, {"schema_cache_timeout": 0, "table_cache_timeout": 2**31 - 1}, {"other": "x"}):
        assert paths(value) == [], value
    for value in (5, [], "x", True):
        assert paths(value) == ["metadata_cache_timeout"], value
    for text in (None, "", "{", "[]", "5", "[" * 100_000):
        assert timeout_problems(text) == (), text
    (problem,) = timeout_problems('{"metadata_cache_timeout": 5}')
    assert problem.message == "must be an object with schema_cache_timeout and table_cache_timeout"


def test_columns_keep_what_was_reflected_and_get_their_kind() -> None:
    given = ReflectedColumn(
        name="n", type_text="INTEGER", nullable=False, key_position=2, leads_index=True, collation="C", is_stored=True
    )
    (found,) = with_kinds([given], POSTGRES)
    assert found == FoundColumn(
        name="n",
        type="INTEGER",
        kind=ValueKind.INTEGER,
        nullable=False,
        key_position=2,
        leads_index=True,
        collation="C",
        is_stored=True,
    )
    assert (found.stored_type, replace(found, is_stored=False).stored_type) == ("INTEGER", None)
    (bare,) = with_kinds([ReflectedColumn(name="n", type_text="text")], POSTGRES)
    assert bare == FoundColumn(name="n", type="text", kind=ValueKind.TEXT)


def test_two_columns_of_one_name_are_refused_as_the_engine_compares_names() -> None:
    folds = [spec for spec in (POSTGRES, SQLITE, MYSQL) if spec.folds_names]
    exact = [spec for spec in (POSTGRES, SQLITE, MYSQL) if not spec.folds_names]
    assert folds
    assert exact
    for spec in (*folds, *exact):
        _reject_twins(["a", "b", "", "", "*", "*"], "dataset 'd'", spec)
        with pytest.raises(VirtualDatasetError, match=r"dataset 'd': two columns are called 'a'; give each an alias"):
            _reject_twins(["a", "b", "a"], "dataset 'd'", spec)
    for spec in folds:
        with pytest.raises(VirtualDatasetError, match="called 'A'"):
            _reject_twins(["a", "A"], "d", spec)
    for spec in exact:
        _reject_twins(["a", "A"], "d", spec)


# ------------------------------------------------------------------------------------------------- tables of uploads
def decimal(int_digits: int, scale: int) -> ColumnType:
    return ColumnType(kind=ValueKind.DECIMAL, integer_digits=int_digits, scale=scale)


def test_decimals_of_a_file_are_no_wider_than_the_column_that_takes_them() -> None:
    integer = ColumnType(kind=ValueKind.INTEGER)
    cases = (
        ("NUMERIC", TEXT, decimal(28, 10)),
        ("NUMERIC", integer, replace(integer, kind=ValueKind.DECIMAL, integer_digits=19)),
        ("NUMERIC", decimal(5, 3), decimal(5, 3)),
        ("DECIMAL(10, 2)", TEXT, decimal(8, 2)),
        ("DECIMAL( 10 )", TEXT, decimal(10, 0)),
        ("DECIMAL(10,2)", decimal(5, 3), decimal(5, 2)),
        ("DECIMAL(10,2)", decimal(9, 1), decimal(8, 1)),
        ("DECIMAL(30,2)", integer, decimal(19, 0)),
        ("DECIMAL(10,2)", integer, decimal(8, 0)),
    )
    for type_text, mine, meant in cases:
        assert _decimal(type_text, mine) == meant, (type_text, mine)


def test_rows_are_appended_under_the_names_and_types_of_the_table() -> None:
    existing = [
        ReflectedColumn(name="Id", type_text="INTEGER"),
        ReflectedColumn(name="at", type_text="timestamp with time zone"),
        ReflectedColumn(name="price", type_text="NUMERIC(8,2)"),
        ReflectedColumn(name="raw", type_text="bytea"),
    ]
    mine = [
        FileColumn(header="ID", name="id"),
        FileColumn(header="at", name="AT"),
        FileColumn(header=None, name="price"),
    ]
    found = _as_existing(mine, existing, POSTGRES)
    assert [(column.header, column.name) for column in found] == [("ID", "Id"), ("at", "at"), (None, "price")]
    assert [column.type.kind for column in found] == [ValueKind.INTEGER, ValueKind.TIMESTAMP, ValueKind.DECIMAL]
    with pytest.raises(FileUploadError, match="the table has no such column; it has: Id, at, price, raw"):
        _as_existing([FileColumn(header="x", name="x")], existing, POSTGRES)
    with pytest.raises(FileUploadError, match="files have no values for the type bytea"):
        _as_existing([FileColumn(header="raw", name="raw")], existing, POSTGRES)


def test_uploads_go_to_engines_with_a_loader_and_to_no_schema_of_the_engine() -> None:
    loaded = {name for name in REGISTRY.names() if loader_of(name) is not None}
    assert loaded == {"sqlite", "duckdb", "postgresql", "mysql"}
    assert {name for name in REGISTRY.names() if takes_rows(name)} == loaded
    assert not engine_information(None)["supports_file_upload"]
    assert upload_targets(POSTGRES, ("public", "information_schema", "PG_CATALOG", "sales")) == ("public", "sales")
    assert upload_targets(REGISTRY.get("trino"), ("public",)) == ()

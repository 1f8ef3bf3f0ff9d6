"""`metadata_cache_timeout` of a database: how long the names of its schemas and tables are kept, and for whom."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.execution import admission
from tests.support.guests import NOW
from tests.support.small_core import KEY, SmallCore, small_core

from analytics_core._core.adapters.caches import MemoryCache
from analytics_core._engine.rights.keys import EntrySeal
from analytics_core._records.datasource import Identity
from analytics_core._records.secret import Secret
from analytics_core.errors import DatabaseAccessError, DatabaseError, PayloadSchemaError
from analytics_core.testing.clock import FixedClock


class OpenCache(MemoryCache):
    """A cache whose lists a test may look into and write to."""

    def __init__(self, clock: FixedClock) -> None:
        super().__init__(max_bytes=1_000_000, clock=clock)
        self.retained: dict[str, bytes] = {}

    def set(self, key: str, value: bytes, *, timeout_s: int | None) -> None:
        if not key.startswith("generation-"):
            self.retained[key] = value
        super().set(key, value, timeout_s=timeout_s)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture
def cache(clock: FixedClock) -> OpenCache:
    return OpenCache(clock)


@pytest.fixture
def shop(tmp_path: Path, clock: FixedClock, cache: OpenCache) -> Iterator[SmallCore]:
    with small_core(tmp_path, ports={"clock": clock, "cache": cache}) as made:
        yield made


def keep(shop: SmallCore, **timeouts: Any) -> None:
    """Set how long names are kept; None: not said."""
    shop.core.databases.update(1, {"extra": json.dumps({"metadata_cache_timeout": timeouts})})


def names(shop: SmallCore, **options: Any) -> list[str | None]:
    return [table.value for table in shop.core.databases.tables(1, "main", **options)]


def sealed(key: str, rows: list[list[Any]], *, secret: str = KEY) -> bytes:
    """Return an entry of the cache, as who knows a secret key makes it."""
    content = json.dumps(rows).encode()
    return EntrySeal(Secret(secret)).made(key, (content,)) + content


def test_an_upload_makes_everybodys_kept_tables_be_asked_anew(shop: SmallCore, cache: OpenCache) -> None:
    keep(shop, table_cache_timeout=0)
    metadata = shop.core._runtime.engine.metadata
    with shop.core._runtime.content.store.unit_of_work() as unit:
        stored = unit.databases.get(1)
    people = [admission(stored, identity=Identity(username=name)) for name in ("anna", "ben")]
    listed = [[table.name for table in metadata._names.tables(one, "main", force=False)] for one in people]
    shop.run("CREATE TABLE later (id INTEGER)")
    metadata._names.forget_tables(people[0])
    for one in people:
        assert [table.name for table in metadata._names.tables(one, "main", force=False)] == ["later", *listed[0]]


def test_tables_are_kept_as_long_as_the_database_says(shop: SmallCore, clock: FixedClock) -> None:
    keep(shop, table_cache_timeout=60)
    assert names(shop) == ["orders", "people"]
    shop.run("CREATE TABLE later (id INTEGER); CREATE VIEW seen AS SELECT 1 AS a")
    clock.advance(timedelta(seconds=59))
    assert names(shop) == ["orders", "people"]
    clock.advance(timedelta(seconds=1))
    tables = {table.value: table.type for table in shop.core.databases.tables(1, "main")}
    assert tables == {"later": "table", "orders": "table", "people": "table", "seen": "view"}
    shop.run("DROP TABLE later")
    cached = {table.value: table.type for table in shop.core.databases.tables(1, "main")}
    assert cached == tables  # views are still views


@pytest.mark.parametrize("timeouts", [{}, {"schema_cache_timeout": 60}, {"table_cache_timeout": None}])
def test_what_is_unset_is_not_kept(shop: SmallCore, cache: OpenCache, timeouts: dict[str, Any]) -> None:
    keep(shop, **timeouts)
    names(shop)
    shop.run("CREATE TABLE later (id INTEGER)")
    assert "later" in names(shop)
    assert cache.retained == {}


def test_nought_keeps_for_ever_and_force_asks_anew(shop: SmallCore, clock: FixedClock) -> None:
    keep(shop, table_cache_timeout=0)
    names(shop)
    shop.run("CREATE TABLE later (id INTEGER)")
    clock.advance(timedelta(days=10_000))
    assert "later" not in names(shop)
    assert "later" in names(shop, force=True)
    shop.run("DROP TABLE later")
    assert "later" in names(shop)  # force has kept what it found


def test_a_changed_database_is_asked_anew(shop: SmallCore) -> None:
    keep(shop, table_cache_timeout=0)
    names(shop)
    shop.run("CREATE TABLE later (id INTEGER)")
    shop.core.databases.update(1, {"allow_dml": True})
    assert "later" in names(shop)


def test_schemas_are_kept_and_each_actor_sees_their_own(shop: SmallCore, cache: OpenCache) -> None:
    shop.orders()
    keep(shop, schema_cache_timeout=60)
    assert shop.core.databases.schemas(1) == ("main",)
    (key,) = cache.retained
    cache.set(key, sealed(key, [["main"], ["stage"]]), timeout_s=60)
    assert shop.core.databases.schemas(1) == ("main", "stage")  # it is read from the cache
    assert shop.reader(("schema", 1, "stage")).databases.schemas(1) == ("stage",)
    with pytest.raises(DatabaseAccessError):
        shop.reader(("dataset", 1), username="stranger").databases.schemas(1)
    assert shop.core.databases.schemas(1, force=True) == ("main",)


def test_who_may_not_read_a_schema_gets_nothing_out_of_the_cache(shop: SmallCore) -> None:
    keep(shop, table_cache_timeout=0)
    names(shop)
    elsewhere = shop.reader(("schema", 1, "elsewhere"))
    with pytest.raises(DatabaseAccessError):
        elsewhere.databases.tables(1, "main")
    with pytest.raises(DatabaseAccessError):
        elsewhere.databases.tables(1, "main", force=True)


def test_errors_and_other_schemas_are_not_mixed_up(shop: SmallCore, cache: OpenCache) -> None:
    keep(shop, table_cache_timeout=0)
    with pytest.raises(DatabaseError):
        shop.core.databases.tables(1, "nosuch")
    assert cache.retained == {}
    assert names(shop) == [table.value for table in shop.core.databases.tables(1)]
    assert len(cache.retained) == 2


@pytest.mark.parametrize("impersonates", [True, False])
def test_people_share_names_unless_the_database_impersonates(
    shop: SmallCore, cache: OpenCache, *, impersonates: bool
) -> None:
    keep(shop, schema_cache_timeout=0)
    shop.core.databases.update(1, {"impersonate_user": impersonates})
    cache.retained.clear()
    for name in ("anna", "bert"):
        shop.reader(("database", 1), username=name).databases.schemas(1)
    assert len(cache.retained) == (2 if impersonates else 1)


def test_no_address_or_password_is_in_a_key(shop: SmallCore, cache: OpenCache) -> None:
    keep(shop, table_cache_timeout=0)
    names(shop)
    assert all(str(shop.file).encode() not in key.encode() + value for key, value in cache.retained.items())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda _entry, _key: b"",
        lambda _entry, _key: b"\xff\x00",
        lambda _entry, _key: b"[" * 100_000,
        lambda entry, _key: entry[:-1],
        lambda entry, _key: entry.replace(b"people", b"planes"),
        lambda _entry, key: sealed(key, [["x", False]], secret="k3y-of-somebody-else-00"),
        lambda _entry, key: sealed(key + "0", [["x", False]]),
        lambda _entry, _key: b'[["x", false]]',
    ],
)
def test_a_spoilt_entry_is_a_miss(shop: SmallCore, cache: OpenCache, spoil: Any) -> None:
    keep(shop, table_cache_timeout=0)
    names(shop)
    (key,) = cache.retained
    cache.set(key, spoil(cache.retained[key], key), timeout_s=None)
    assert names(shop) == ["orders", "people"]


@for_each(
    ("given", "path"),
    [
        (5, "metadata_cache_timeout"),
        (["x"], "metadata_cache_timeout"),
        ({"schema_cache_timeout": "60"}, "metadata_cache_timeout.schema_cache_timeout"),
        ({"table_cache_timeout": -1}, "metadata_cache_timeout.table_cache_timeout"),
        ({"table_cache_timeout": True}, "metadata_cache_timeout.table_cache_timeout"),
        ({"table_cache_timeout": 1.5}, "metadata_cache_timeout.table_cache_timeout"),
        ({"table_cache_timeout": 2**31}, "metadata_cache_timeout.table_cache_timeout"),
    ],
)
def test_a_timeout_that_cannot_be_is_refused_with_its_place(shop: SmallCore, given: Any, path: str) -> None:
    extra = json.dumps({"metadata_cache_timeout": given})
    with pytest.raises(PayloadSchemaError) as rejection:
        shop.core.databases.update(1, {"extra": extra})
    assert [problem.path for problem in rejection.value.problems] == [path]
    parameters = {"configuration_method": "orm_form", "engine": "sqlite", "database_name": "new", "extra": extra}
    with pytest.raises(PayloadSchemaError) as rejection:
        shop.core.databases.validate_parameters(parameters)
    assert [problem.path for problem in rejection.value.problems] == [f"extra.{path}"]

"""The library's own lock keeps the promises of the port on every kind of store, and so does a fake."""

from __future__ import annotations

import itertools
import secrets
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from tests.support.stores import empty_store, open_store

from analytics_core._content.storage.store_backed import StoreLock
from analytics_core._core.adapters.clock import SystemClock
from analytics_core.ports import ExtendableLock, Lease
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.conformance.lock import ExtendableLockConformance, LockConformance
from analytics_core.testing.store.records import START


class FakeLock:
    """Locks in the memory of a test."""

    def __init__(self, clock: FixedClock) -> None:
        self._clock = clock
        self._retained: dict[str, tuple[str, datetime]] = {}
        self._numbers = itertools.count(1)
        self._guard = threading.Lock()

    def acquire(self, name: str, *, ttl_s: float) -> Lease | None:
        with self._guard:
            now = self._clock.now()
            if name in self._retained and self._retained[name][1] > now:
                return None
            owner = secrets.token_hex()
            self._retained[name] = owner, now + timedelta(seconds=ttl_s)
            return Lease(name=name, owner=owner, fencing_number=next(self._numbers))

    def extend(self, lease: Lease, *, ttl_s: float) -> bool:
        with self._guard:
            now = self._clock.now()
            owner, ends_on = self._retained.get(lease.name, ("", now))
            if owner != lease.owner or ends_on <= now:
                return False
            self._retained[lease.name] = owner, now + timedelta(seconds=ttl_s)
            return True

    def release(self, lease: Lease) -> bool:
        with self._guard:
            owner, ends_on = self._retained.get(lease.name, ("", self._clock.now()))
            if owner != lease.owner:
                return False
            del self._retained[lease.name]
            return ends_on > self._clock.now()


class TestFake(ExtendableLockConformance):
    @pytest.fixture
    def clock(self) -> FixedClock:
        return FixedClock(START)

    @pytest.fixture
    def lock(self, clock: FixedClock) -> ExtendableLock:
        return FakeLock(clock)

    @pytest.fixture
    def let_pass(self, clock: FixedClock) -> Callable[[float], None]:
        return lambda seconds: clock.advance(timedelta(seconds=seconds)) and None


class OnAStore(LockConformance):
    @pytest.fixture
    def let_pass(self) -> Callable[[float], None]:
        return time.sleep  # the store has a clock of its own


class TestInMemory(OnAStore):
    @pytest.fixture
    def lock(self):
        with open_store("sqlite://", SystemClock()) as store:
            yield StoreLock(store)


class TestInSqliteFile(OnAStore):
    @pytest.fixture
    def lock(self, tmp_path):
        with open_store(f"sqlite:///{tmp_path}/meta.db", SystemClock()) as store:
            yield StoreLock(store)


@pytest.fixture(scope="module")
def postgres_store_url(postgres_server):
    return postgres_server.make_database()


@pytest.fixture(scope="module")
def mariadb_store_url(make_mariadb_database):
    return make_mariadb_database()


@pytest.mark.server
class TestInPostgres(OnAStore):
    @pytest.fixture
    def lock(self, postgres_store_url):
        with open_store(postgres_store_url, SystemClock()) as store:
            yield StoreLock(store)
        empty_store(postgres_store_url)


@pytest.mark.server
class TestInMariadb(OnAStore):
    @pytest.fixture
    def lock(self, mariadb_store_url):
        with open_store(mariadb_store_url, SystemClock()) as store:
            yield StoreLock(store)
        empty_store(mariadb_store_url)

"""A cache and a lock on a Redis server keep the promises of their ports."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

import pytest
from tests.support.redis_server import RedisServer

from analytics_core._core.adapters.caches import GuardedCache
from analytics_core.ports import Cache, ExtendableLock
from analytics_core.redis import RedisCache, RedisLock
from analytics_core.testing.conformance.cache import CacheConformance
from analytics_core.testing.conformance.lock import ExtendableLockConformance

PATIENT_S = 20.0
"""The machine may be busy with other tests."""


class TestRedisCache(CacheConformance):
    @pytest.fixture
    def cache(self, redis_server: RedisServer) -> Cache:
        return RedisCache(redis_server.url, prefix=secrets.token_hex(8), timeout_s=PATIENT_S)

    @pytest.fixture
    def let_pass(self) -> Callable[[float], None]:
        return time.sleep  # the server has a clock of its own


class TestGuardedRedisCache(TestRedisCache):
    @pytest.fixture
    def cache(self, redis_server: RedisServer) -> Cache:
        cache = RedisCache(redis_server.url, prefix=secrets.token_hex(8), timeout_s=PATIENT_S)
        return GuardedCache(cache, wait_s=PATIENT_S)


class TestRedisLock(ExtendableLockConformance):
    @pytest.fixture
    def lock(self, redis_server: RedisServer) -> ExtendableLock:
        return RedisLock(redis_server.url, prefix=secrets.token_hex(8), timeout_s=PATIENT_S)

    @pytest.fixture
    def let_pass(self) -> Callable[[float], None]:
        return time.sleep

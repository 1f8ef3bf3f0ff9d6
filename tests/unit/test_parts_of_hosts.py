"""What a host gives a core takes the place of the library's own part."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import pytest

from analytics_core import AnalyticsCore, Settings
from analytics_core._core.adapters.clock import SystemSleeper
from analytics_core._core.adapters.progress_bars import SilentProgress
from analytics_core._core.wiring.parts import address_finder, memory_or_guarded
from analytics_core._engine.rights.policy import Policy
from analytics_core.errors import DatabaseError
from analytics_core.ports import DestinationPurpose
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.renderer import FakeRenderer

SETTINGS = Settings(secret_key="a" * 8 + "b1C2d3E4f5G6h7")
PARTS: dict[str, Any] = {
    "renderer": FakeRenderer(),
    "policy": Policy(),
    "progress": SilentProgress(),
    "sleeper": SystemSleeper(),
    "clock": FixedClock(datetime(2026, 1, 1, tzinfo=UTC)),
}


def test_a_core_uses_what_it_is_given_and_else_a_part_of_its_own() -> None:
    with AnalyticsCore(SETTINGS, **PARTS) as core, AnalyticsCore(SETTINGS) as plain:
        used = {name: getattr(core._runtime.parts, name) for name in PARTS}
        own = {name: getattr(plain._runtime.parts, name) for name in PARTS}
    assert {name for name, part in used.items() if part is not PARTS[name]} == set()
    assert {name for name, part in own.items() if part is PARTS[name]} == set()


class SlowCache:
    """A cache of a host whose calls take a fifth of a second."""

    def get(self, key: str) -> bytes | None:
        time.sleep(0.2)
        return b"value"

    def set(self, key: str, value: bytes, *, timeout_s: int | None) -> None:
        self.get(key)

    def delete(self, key: str) -> None:
        self.get(key)


class QuickerCache(SlowCache):
    """One that says that its calls take no longer than a moment."""

    longest_call_s = 0.01


def test_a_cache_that_says_how_long_its_calls_take_is_waited_for_as_long() -> None:
    clock = PARTS["clock"]
    assert memory_or_guarded(SlowCache(), SETTINGS, clock).get("key") == b"value"
    assert memory_or_guarded(QuickerCache(), SETTINGS, clock).get("key") is None


class OnlyThisMachine:
    """A policy of a host: the reverse of the library's own."""

    def may_reach(self, destination: Any) -> bool:
        return str(destination.address) == "127.0.0.1"


def test_the_policy_of_a_host_says_alone_which_addresses_may_be_reached() -> None:
    own, hosts = address_finder(SETTINGS, None), address_finder(SETTINGS, OnlyThisMachine())
    purpose = DestinationPurpose.DATABASE
    assert hosts.find("127.0.0.1", 5432, purpose=purpose) == ("127.0.0.1",)
    assert own.find("8.8.8.8", 5432, purpose=purpose) == ("8.8.8.8",)
    with pytest.raises(DatabaseError):
        hosts.find("8.8.8.8", 5432, purpose=purpose)
    with pytest.raises(DatabaseError, match=r"a host allows private addresses by Settings\.allowed_networks"):
        own.find("127.0.0.1", 5432, purpose=purpose)

"""What a host gives a core takes the place of the library's own part."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from analytics_core import AnalyticsCore, Settings
from analytics_core._core.adapters.clock import SystemSleeper
from analytics_core._core.adapters.progress_bars import SilentProgress
from analytics_core._core.wiring.parts import address_finder
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

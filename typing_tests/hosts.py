"""What hosts write: ports, policies, operations' functions, errors of their own."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, assert_type

from analytics_core import AnalyticsCore, Settings, TimeRange, errors, ports, resolve_time_range
from analytics_core.policy import RULES, HasRole, Permission, Policy, Relationship
from analytics_core.ports import RowFilter, User


class OwnCache:
    def __init__(self) -> None:
        self._held: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        return self._held.get(key)

    def set(self, key: str, value: bytes, *, timeout_s: int | None) -> None:
        self._held[key] = value

    def delete(self, key: str) -> None:
        self._held.pop(key, None)


class WholeTenants:
    def row_filters(self, user: User, dataset: Any) -> Sequence[RowFilter]:
        return (RowFilter(name="tenant", clause="tenant = 'acme'"),)


class ClosedError(errors.AccessError, code="CLOSED_ERROR"):
    """What a policy of this host raises at night."""


class Half:
    def get(self, key: str) -> bytes:
        return b""


def a_host(settings: Settings) -> AnalyticsCore:
    cache: ports.Cache = OwnCache()
    policy = Policy({**RULES, Permission.WRITE_DATABASE: frozenset({Relationship.ADMINISTRATOR, HasRole("engineers")})})
    core = AnalyticsCore(settings, cache=cache, policy=policy, row_filters=[WholeTenants()])
    AnalyticsCore(settings, cache=Half())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    AnalyticsCore(settings, caches=cache)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    return core


def a_range() -> datetime | None:
    found = resolve_time_range("Last week", now=datetime.now(UTC))
    assert_type(found, TimeRange)
    assert_type(ClosedError("closed").code, str)
    return found.since

"""The facade takes every port that `analytics_core.ports` promises, and uses what it is given."""

from __future__ import annotations

import inspect
import time
import typing
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.small_core import KEY, SmallCore, small_core

from analytics_core import AnalyticsCore, Settings, ports
from analytics_core._content.storage.store import SqlMetadataStore
from analytics_core._content.storage.store_backed import StoreLock
from analytics_core._core.adapters.caches import MemoryCache
from analytics_core._core.adapters.clock import SystemClock
from analytics_core._core.adapters.connector import SqlAlchemyConnector
from analytics_core._core.adapters.job_runners import InlineJobRunner
from analytics_core._core.adapters.observers import LogObserver
from analytics_core._core.adapters.progress_bars import SilentProgress
from analytics_core._core.adapters.secret_box import AesGcmSecretBox
from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.rights.policy import Policy
from analytics_core._records.people import User
from analytics_core._records.secret import Secret
from analytics_core.errors import DatabaseError, SettingsError
from analytics_core.testing.renderer import FakeRenderer

ELSEWHERE = {"UrlFor": "Settings.url_for"}
"""Ports that are no argument of the facade, and where they are given."""

COUNT = {"datasource": {"id": 1, "type": "table"}, "queries": [{"metrics": ["count"]}], "force": False}


def promised() -> dict[str, type]:
    named = {name: getattr(ports, name) for name in ports.__all__}
    return {
        name: port for name, port in named.items() if inspect.isclass(port) and getattr(port, "_is_protocol", False)
    }


def taken() -> set[Any]:
    hints = typing.get_type_hints(AnalyticsCore.__init__)
    return {member for hint in hints.values() for member in (hint, *typing.get_args(hint))}


@for_each("name", sorted(promised()))
def test_the_facade_takes_every_port(name: str) -> None:
    port = promised()[name]
    if name in ELSEWHERE:
        assert callable(Settings(secret_key=KEY, url_for=lambda _kind, _values: None).url_for)
        return
    is_taken = any(inspect.isclass(one) and one in port.__mro__ for one in taken() - {object})
    assert is_taken


def test_the_facade_takes_no_protocol_that_is_no_port() -> None:
    protocols = {one for one in taken() if inspect.isclass(one) and getattr(one, "_is_protocol", False)}
    assert protocols <= set(promised().values())


class Falsy:
    """Is another object in all but its truth value; counts what is asked of it."""

    def __init__(self, behind: object) -> None:
        self.requested: Counter[str] = Counter()
        self._behind = behind

    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        return 0

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            self.requested[name] += 1
        return getattr(self._behind, name)


class NoRules:
    def row_filters(self, user: User, dataset: Any) -> tuple[()]:
        return ()


class Two:
    """A host's people."""

    def find(self, key: int | str) -> User | None:
        return User(id=1, username="admin", role_ids=(1,)) if key in (1, "admin") else None


def a_store(_folder: Path) -> Any:
    return SqlMetadataStore("sqlite://", secret_box=AesGcmSecretBox(Secret(KEY)), clock=SystemClock())


def a_connector(folder: Path) -> Any:
    choices = Settings(secret_key=KEY, data_roots=(folder,))
    return SqlAlchemyConnector(settings=choices, specs=installed_engines(()).get)


CLIENT = {
    "id": "us",
    "secret": "between-us",
    "scope": "read",
    "authorization_request_uri": "https://provider.example/authorize",
    "token_request_uri": "https://provider.example/token",
    "redirect_uri": "https://app.example/callback",
}


class Tokens:
    """A provider whose tokens are over at once."""

    def request(self, uri: str, fields: Any, *, content_type: Any, timeout_s: float) -> dict[str, Any]:
        return {"access_token": "a", "refresh_token": "r", "expires_in": 0}


class NoNetwork:
    def may_reach(self, destination: Any) -> bool:
        """Tell that nothing may be reached."""
        return False


class ShortPauses:
    def sleep(self, seconds: float) -> None:
        """Return ten times as soon as it should."""
        time.sleep(seconds / 10)


HOSTS: dict[str, Callable[[Path], Any]] = {
    "cache": lambda _: MemoryCache(max_bytes=100_000, clock=SystemClock()),
    "clock": lambda _: SystemClock(),
    "connector": a_connector,
    "engines": lambda _: installed_engines(()),
    "jobs": lambda _: InlineJobRunner(),
    "lock": lambda folder: StoreLock(a_store(folder)),
    "network": lambda _: NoNetwork(),
    "observer": lambda _: LogObserver(),
    "policy": lambda _: Policy(),
    "progress": lambda _: SilentProgress(),
    "renderer": lambda _: FakeRenderer(),
    "secret_box": lambda _: AesGcmSecretBox(Secret(KEY)),
    "sleeper": lambda _: ShortPauses(),
    "store": a_store,
    "token_endpoint": lambda _: Tokens(),
    "users": lambda _: Two(),
}


def use(small: SmallCore) -> None:
    """Ask whatever may be asked of a host's object."""
    small.orders()
    assert small.core.charts.data(COUNT).raise_for_error().results[0].rowcount == 1
    assert small.core.charts.picture(COUNT).data
    assert small.core.prune().is_complete
    assert small.core.charts.submit(COUNT).result(timeout_s=30).results[0].rowcount == 1
    oauth, lock = small.core.oauth, small.core._runtime.parts.lock
    guarded = small.core.databases.create({"database_name": "guarded", "orm_uri": "postgresql://u@127.0.0.1:1/x"}).id
    oauth.callback(state=oauth.start(guarded).state, code="c")
    assert lock.acquire(f"refresh_oauth2_token/1/{guarded}", ttl_s=0.2) is not None  # somebody renews it, and dies
    assert oauth.access_token(guarded) == "a"
    with pytest.raises(DatabaseError):
        small.core.databases.test_connection({"orm_uri": "postgresql+psycopg://u:p@127.0.0.1:1/x"})


@pytest.mark.long
@pytest.mark.slow
@for_each("name", sorted(HOSTS))
def test_a_hosts_object_is_used_although_it_counts_as_false(tmp_path: Path, name: str) -> None:
    host = Falsy(HOSTS[name](tmp_path))
    ports = {"token_endpoint": Tokens(), "sleeper": ShortPauses(), name: host}
    with small_core(tmp_path, ports=ports, oauth2_clients={"guarded": CLIENT}) as small:
        use(small)
    assert host.requested


def test_a_hosts_object_stands_for_every_argument_that_may_be_none() -> None:
    given = inspect.signature(AnalyticsCore.__init__).parameters
    assert {name for name, one in given.items() if one.default is None} - {"acting_as"} == set(HOSTS)


def test_a_source_of_row_filters_and_the_addresses_of_a_host_may_count_as_false(tmp_path: Path) -> None:
    source = Falsy(NoRules())

    class Addresses(Falsy):
        def __call__(self, kind: str, values: Any) -> str:
            return f"/{kind}/{values['id']}"

    with small_core(tmp_path, ports={"row_filters": (source,)}, url_for=Addresses(None)) as small:
        dataset = small.orders()
        assert small.core.charts.data(COUNT).raise_for_error()
        chart = small.core.charts.create({"slice_name": "c", "datasource_id": dataset.id, "datasource_type": "table"})
        assert small.core.charts.get(chart.id).url == f"/chart/{chart.id}"
    assert source.requested["row_filters"]


@for_each("name", [*sorted(HOSTS), "row_filters"])
def test_what_is_no_such_port_is_refused_when_the_core_is_made(name: str) -> None:
    given = [5] if name == "row_filters" else 5
    with pytest.raises(SettingsError, match=rf"^{name}: a \w+ has \w+.*, which 5 has not"):
        AnalyticsCore(Settings(secret_key=KEY), **{name: given})


def test_a_core_closes_what_it_was_handed(tmp_path: Path) -> None:
    hosts = {name: Falsy(HOSTS[name](tmp_path)) for name in ("connector", "jobs", "store")}
    with small_core(tmp_path, ports=hosts):
        pass
    assert all(host.requested["close"] for host in hosts.values())


def test_secrets_in_a_hosts_store_are_sealed_anew(tmp_path: Path) -> None:
    host = Falsy(a_store(tmp_path))
    with small_core(tmp_path, ports={"store": host}) as small:
        assert small.core.reseal_secrets() == 1
    assert host.requested["reseal_secrets"]


def test_records_are_kept_in_one_place(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    with pytest.raises(SettingsError, match="either metadata_url or store"):
        AnalyticsCore(Settings(secret_key=KEY), metadata_url=f"sqlite:///{tmp_path}/meta.db", store=store)
    store.close()

"""Which addresses may be reached, and what a name leads to at the moment of a connection."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from ipaddress import ip_address

import pytest
from tests.support.cases import for_each

from analytics_core import Settings
from analytics_core._core.adapters.network import PublicNetworkPolicy
from analytics_core._core.connect import _server_of
from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.network import AddressFinder, Lookup, is_host
from analytics_core.errors import DatabaseError, ErrorType, SettingsError
from analytics_core.ports import Destination, DestinationPurpose, NetworkPolicy

PUBLIC = (
    "1.1.1.1",
    "8.8.8.8",
    "93.184.215.14",
    "2606:4700::1111",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
)
NOT_PUBLIC = (
    *("0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254"),
    *("169.254.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1"),
    *("192.168.0.1", "198.18.0.1", "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.1.2.3", "240.0.0.1"),
    *("255.255.255.255", "168.63.129.16"),
    *("::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0:7f00:1", "64:ff9b::7f00:1"),
    *("64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "100::1", "2001::1", "2001:0:808:808::1", "2001:db8::1", "2001:2::1"),
    *("2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:a00:1::", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254"),
    *("fe80::1", "fe80::1%2", "fec0::1", "ff02::1", "ff0e::1", "8000::1"),
)


def destination(address: str, *, host: str = "db.example.com", port: int | None = 5432) -> Destination:
    return Destination(purpose=DestinationPurpose.DATABASE, host=host, address=ip_address(address), port=port)


@for_each("address", PUBLIC)
def test_public_addresses_may_be_reached(address: str) -> None:
    assert PublicNetworkPolicy().may_reach(destination(address)) is True


@for_each("address", NOT_PUBLIC)
def test_no_other_address_may_be_reached_in_whichever_form(address: str) -> None:
    assert PublicNetworkPolicy().may_reach(destination(address)) is False


@for_each(
    ("entry", "address", "host", "port", "expected"),
    [
        ("10.0.0.0/8", "10.9.8.7", "db", 5432, True),
        ("10.0.0.0/8", "11.0.0.1", "db", 5432, True),  # public anyway
        ("10.0.0.0/8", "192.168.0.1", "db", 5432, False),
        ("10.0.0.0/8", "::ffff:10.9.8.7", "db", 5432, True),
        ("10.0.0.0/8", "64:ff9b::a09:807", "db", 5432, False),  # another road, through a gateway
        ("10.0.0.1", "10.0.0.1", "db", 1, True),
        ("10.0.0.1", "10.0.0.2", "db", 1, False),
        ("10.0.0.1:5432", "10.0.0.1", "db", 5432, True),
        ("10.0.0.1:5432", "10.0.0.1", "db", 5433, False),
        ("10.0.0.1:5432", "10.0.0.1", "db", None, False),
        ("10.0.0.0/8:5432", "10.1.1.1", "db", 5432, True),
        ("10.0.0.0/8:5432", "10.1.1.1", "db", 22, False),
        ("fd12::/16", "fd12::7", "db", 5432, True),
        ("fd12::1", "fd12::1", "db", 5432, True),
        ("[fd12::1]:5432", "fd12::1", "db", 5432, True),
        ("[fd12::1]:5432", "fd12::1", "db", 5433, False),
        ("[::1]", "::1", "localhost", 5433, True),
        ("db.internal", "10.0.0.1", "db.internal", 5432, True),
        ("DB.Internal.", "10.0.0.1", "db.internal", 5432, True),
        ("db.internal", "10.0.0.1", "DB.INTERNAL.", 5432, True),
        ("db.internal", "10.0.0.1", "xdb.internal", 5432, False),
        ("db.internal", "10.0.0.1", "db.internal.evil.example", 5432, False),
        ("db.internal:5432", "10.0.0.1", "db.internal", 5432, True),
        ("db.internal:5432", "10.0.0.1", "db.internal", 22, False),
    ],
)
def test_a_host_allows_networks_addresses_and_names(
    entry: str, address: str, host: str, port: int | None, expected: bool
) -> None:
    assert PublicNetworkPolicy((entry,)).may_reach(destination(address, host=host, port=port)) is expected


@for_each(
    "entry",
    [
        *("", " ", "10.0.0.1/8", "10.0.0.0/33", "http://db", "db/5432", "db:0", "db:65536", "db:99999999999", "a,b"),
        *("[::1", "[db]:1:2", "*.internal", "/var/run/postgresql", "user@db", "db:http", 7, None, b"db"),
        *("10.1.2.300", "10.1.2", "256.0.0.1:5432"),
    ],
)
def test_an_entry_that_is_none_of_these_stops_the_start(entry: object) -> None:
    with pytest.raises(SettingsError, match="allowed_networks"):
        PublicNetworkPolicy((entry,))  # type: ignore[arg-type]


def test_the_setting_is_a_list_and_no_text() -> None:
    with pytest.raises(SettingsError, match="allowed_networks"):
        Settings(secret_key="a-key-for-tests-0123456789", allowed_networks="10.0.0.0/8")  # type: ignore[arg-type]


@for_each("text", ["db", "db.example.com", "my_db", "bücher.example", "10.0.0.1", "::1", "2130706433"])
def test_a_host_is_one_name_or_address(text: str) -> None:
    assert is_host(text)


@for_each(
    "text",
    [
        *("", "a,b", "a b", "/tmp", "@abstract", "%31", "127.0.0.1%00", "fe80::1%eth0", "db\\instance", "a;Server=b"),
        *("(DESCRIPTION=(HOST=a))", "a/b", "a:b:g", "[::1]", "a?b", "a#b", "a\n", "x" * 254),
    ],
)
def test_lists_paths_escapes_and_descriptions_are_no_host(text: str) -> None:
    assert not is_host(text)


class _Answers:
    """A lookup that gives one answer after the other; the last one stays."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)

    def __call__(self, _host: str, _port: int | None) -> Sequence[str]:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def finder(*answers: Sequence[str], policy: NetworkPolicy | None = None) -> AddressFinder:
    return AddressFinder(policy or PublicNetworkPolicy(), lookup=_Answers(*answers))


def failure(found: AddressFinder, host: str = "db.example.com", *, must_allow_all: bool = False) -> DatabaseError:
    with pytest.raises(DatabaseError) as caught:
        found.find(host, 5432, purpose=DestinationPurpose.DATABASE, must_allow_all=must_allow_all)
    return caught.value


def test_addresses_come_in_the_order_of_the_lookup() -> None:
    found = finder(["8.8.8.8", "1.1.1.1", "2606:4700::1111"])
    assert found.find("db", 1, purpose=DestinationPurpose.DATABASE) == ("8.8.8.8", "1.1.1.1", "2606:4700::1111")


def test_addresses_that_are_not_allowed_are_left_out() -> None:
    assert finder(["10.0.0.1", "1.1.1.1"]).find("db", 1, purpose=DestinationPurpose.MAIL) == ("1.1.1.1",)


def test_whoever_looks_the_name_up_again_gets_all_or_nothing() -> None:
    found = failure(finder(["10.0.0.1", "1.1.1.1"]), must_allow_all=True)
    assert found.error_type is ErrorType.CONNECTION_ACCESS_DENIED_ERROR


def test_a_name_without_an_allowed_address_is_refused() -> None:
    found = failure(finder(["10.0.0.1", "fd00::1"]))
    assert found.error_type is ErrorType.CONNECTION_ACCESS_DENIED_ERROR
    assert "10.0.0.1" not in str(found)
    assert not found.retryable


def test_each_call_asks_anew() -> None:
    found = finder(["1.1.1.1"], ["127.0.0.1"])
    assert found.find("db", 1, purpose=DestinationPurpose.DATABASE) == ("1.1.1.1",)
    assert failure(found).error_type is ErrorType.CONNECTION_ACCESS_DENIED_ERROR


@for_each("host", ["no-such-host.invalid", "a..b", "x" * 100, "", "a,b", "%31"])
def test_a_name_that_leads_nowhere_is_told(host: str) -> None:
    found = failure(AddressFinder(PublicNetworkPolicy()), host)
    assert found.error_type is ErrorType.CONNECTION_INVALID_HOSTNAME_ERROR


@pytest.mark.parametrize("answer", [(), ("no address",)])
def test_a_lookup_that_answers_nothing_useful_leads_nowhere(answer: Sequence[str]) -> None:
    assert failure(finder(answer)).error_type is ErrorType.CONNECTION_INVALID_HOSTNAME_ERROR


@pytest.fixture
def hanging() -> Iterator[Lookup]:
    end = threading.Event()

    def lookup(_host: str, _port: int | None) -> Sequence[str]:
        end.wait(30)
        return ()

    yield lookup
    end.set()


def test_a_lookup_that_hangs_is_given_up(hanging: Lookup) -> None:
    found = AddressFinder(PublicNetworkPolicy(), lookup=hanging, timeout_s=0.2)
    started = time.monotonic()
    assert failure(found).error_type is ErrorType.CONNECTION_HOST_DOWN_ERROR
    assert time.monotonic() - started < 2.0


class _Raises:
    def may_reach(self, _destination: Destination) -> bool:
        raise RuntimeError("hunter2")


class _SaysSomething:
    def may_reach(self, _destination: Destination) -> bool:
        return "yes"  # type: ignore[return-value]


@pytest.mark.parametrize("policy", [_Raises(), _SaysSomething()])
def test_a_policy_that_fails_allows_nothing(policy: NetworkPolicy, caplog: pytest.LogCaptureFixture) -> None:
    found = failure(finder(["1.1.1.1"], policy=policy))
    assert found.error_type is ErrorType.CONNECTION_ACCESS_DENIED_ERROR
    assert "hunter2" not in caplog.text + str(found)


def test_a_policy_is_told_what_the_connection_is_for() -> None:
    destinations: list[Destination] = []

    class Curious:
        def may_reach(self, destination: Destination) -> bool:
            destinations.append(destination)
            return destination.purpose is DestinationPurpose.TUNNEL

    found = finder(["10.0.0.1"], policy=Curious())
    assert found.find("bastion", 22, purpose=DestinationPurpose.TUNNEL) == ("10.0.0.1",)
    assert destinations == [
        Destination(purpose=DestinationPurpose.TUNNEL, host="bastion", address=ip_address("10.0.0.1"), port=22),
    ]


@for_each("url", ["sqlite://", "duckdb://", "bogus://h/d", "postgresql://a,b/d"])
def test_a_notebook_without_a_server_allows_none(url: str) -> None:
    assert _server_of(url, Settings(secret_key="a" * 8 + "b1C2d3E4f5G6h7"), installed_engines(())) == ()

"""Advanced data types: how addresses and ports read, and what filters on such columns find."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.shop import KEY as SHOP_KEY
from tests.support.small_core import SmallCore, small_core

from analytics_core import AnalyticsCore, Settings, connect
from analytics_core._engine.compile.advanced_types import Span, read_ports
from analytics_core.errors import SettingsError, UnknownNameError

ROWS = [("10.0.0.1", 80), ("10.0.0.9", 443), ("192.168.1.1", 8080), (None, None)]


def number(address: str | None) -> int | None:
    if address is None:
        return None
    parts = [int(part) for part in address.split(".")]
    return sum(part << shift for part, shift in zip(parts, (24, 16, 8, 0), strict=True))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallCore]:
    with small_core(tmp_path_factory.mktemp("types")) as made:
        made.run("CREATE TABLE hits (ip BIGINT, port INTEGER, name TEXT)")
        with closing(sqlite3.connect(made.file)) as connection:
            connection.executemany("INSERT INTO hits VALUES (?, ?, ?)", [(number(a), p, str(p)) for a, p in ROWS])
            connection.commit()
        made.core.datasets.create({"database": 1, "table_name": "hits"})
        kinds = {"ip": "internet_address", "port": "port", "name": "port"}
        columns = [
            {"column_name": name, "type": type_, "advanced_data_type": kinds[name]}
            for name, type_ in (("ip", "BIGINT"), ("port", "INTEGER"), ("name", "TEXT"))
        ]
        made.core.datasets.update(1, {"columns": columns})
        yield made


def found(core: AnalyticsCore, col: str, op: str, val: Any = None) -> list[Any]:
    query = {"columns": ["name"], "filters": [{"col": col, "op": op, "val": val}], "orderby": [["name", True]]}
    (result,) = core.charts.data({"datasource": {"id": 1, "type": "table"}, "queries": [query]}).results
    if result.error:
        raise AssertionError(result.error)
    return [row["name"] for row in result.data]


# ----------------------------------------------------------------------------------------------------------- reading
@for_each(
    ("kind", "values", "numbers", "expected"),
    [
        ("internet_address", ["1.1.1.1"], ("16843009",), "1.1.1.1"),
        ("internet_address", [16843009], ("16843009",), "1.1.1.1"),
        ("internet_address", ["10.0.0.0/30"], ("167772160-167772163",), "10.0.0.0-10.0.0.3"),
        ("internet_address", ["10.0.0.2/30"], ("167772160-167772163",), "10.0.0.0-10.0.0.3"),
        ("internet_address", ["10.0.0.1 - 10.0.0.2"], ("167772161-167772162",), "10.0.0.1-10.0.0.2"),
        ("internet_address", ["167772161-167772162"], ("167772161-167772162",), "10.0.0.1-10.0.0.2"),
        ("internet_address", ["2001:db8::1"], ("42540766411282592856903984951653826561",), "2001:db8::1"),
        ("internet_address", ["0.0.0.0/0"], ("0-4294967295",), "0.0.0.0-255.255.255.255"),
        ("internet_address", ["1.1.1.1", "1.1.1.2"], ("16843009", "16843010"), "1.1.1.1, 1.1.1.2"),
        ("port", ["443"], ("443",), "443"),
        ("port", [443], ("443",), "443"),
        ("port", ["8000-8010"], ("8000-8010",), "8000-8010"),
        ("port", ["HTTPS "], ("443",), "443"),
        ("port", ["ftp", 80], ("20", "21", "80"), "20, 21, 80"),
        ("internet_address", ["4294967296"], ("4294967296",), "::1:0:0"),
        ("internet_address", ["255.255.255.255"], ("4294967295",), "255.255.255.255"),
        ("internet_address", [str(2**128 - 1)], (str(2**128 - 1),), "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("internet_address", ["0" * 39 + "1"], ("1",), "0.0.0.1"),
        ("port", ["0"], ("0",), "0"),
        ("port", ["65535"], ("65535",), "65535"),
        ("port", [], (), ""),
    ],
)
def test_values_are_read_as_numbers_and_shown(
    shop: SmallCore, kind: str, values: list[Any], numbers: tuple[str, ...], expected: str
) -> None:
    answer = shop.core.explore.advanced_data_type(kind, values)
    assert (answer.values, answer.display_value, answer.error_message) == (numbers, expected, "")
    assert answer.valid_filter_operators == ("==", "!=", "IN", "NOT IN", ">", ">=", "<", "<=")


@for_each(
    ("kind", "value", "message"),
    [
        ("internet_address", "1.1.1", "is no internet address; write 10.0.0.1"),
        ("internet_address", "1.1.1.256", "is no internet address"),
        ("internet_address", "10.0.0.0/33", "is no internet address"),
        ("internet_address", "", "is no internet address"),
        ("internet_address", "1.1.1.1; DROP TABLE x", "is no internet address"),
        ("internet_address", "10.0.0.9-10.0.0.1", "ends before it begins"),
        ("internet_address", "10.0.0.1-::1", "from one version of addresses to the other"),
        ("internet_address", str(2**128), "is beyond"),
        ("internet_address", "9" * 5000, "is no internet address"),
        ("internet_address", "0" * 40 + "1", "is no internet address"),
        ("internet_address", "x" * 201, f"{'x' * 200}...' is no internet address"),
        ("internet_address", "x" * 200, f"{'x' * 200}' is no internet address"),
        ("port", "x" * 101, f"{'x' * 100}' is no port; write 443"),
        ("port", "65536", "is beyond 65535"),
        ("port", "-1", "is no port"),
        ("port", "10-5", "ends before it begins"),
        ("port", "htps", "did you mean 'https'?"),
        ("port", "１２", "is no port"),
        ("port", "", "is no port"),
    ],
)
def test_what_does_not_read_is_told_and_not_raised(shop: SmallCore, kind: str, value: str, message: str) -> None:
    reads, number = ("80", "80") if kind == "port" else ("1.1.1.1", "16843009")
    answer = shop.core.explore.advanced_data_type(kind, [reads, value, reads])
    assert message in (answer.error_message or "")
    assert len(answer.error_message or "") < 500
    assert (answer.values, answer.display_value) == ((number, number), "")


SERVICES = """
ftp 20 21, ssh 22, telnet 23, smtp 25, dns 53, dhcp 67 68, tftp 69, http 80, kerberos 88, pop3 110, ntp 123,
netbios 137 138 139, imap 143, snmp 161 162, bgp 179, irc 194, ldap 389, https 443, smb 445, smtps 465, syslog 514,
submission 587, ldaps 636, ftps 989 990, imaps 993, pop3s 995, mssql 1433, oracle 1521, nfs 2049, mysql 3306, rdp 3389,
sip 5060 5061, postgresql 5432, amqp 5672, vnc 5900, redis 6379, mongodb 27017
"""


def test_each_service_has_the_ports_of_the_register() -> None:
    for service in SERVICES.split(","):
        name, *ports = service.split()
        assert [str(span) for span in read_ports(name)] == ports, name


def test_an_unknown_type_is_refused_with_the_nearest(shop: SmallCore) -> None:
    assert shop.core.explore.advanced_data_types == ("internet_address", "port")
    with pytest.raises(UnknownNameError, match="did you mean 'port'"):
        shop.core.explore.advanced_data_type("ports", ["80"])


# ----------------------------------------------------------------------------------------------------------- filters
@for_each(
    ("col", "op", "val", "names"),
    [
        ("ip", "==", "10.0.0.1", ["80"]),
        ("ip", "==", "10.0.0.0/8", ["443", "80"]),
        ("ip", "==", 167772161, ["80"]),
        ("ip", "!=", "10.0.0.1", ["443", "8080"]),
        ("ip", "!=", "10.0.0.0/8", ["8080"]),
        ("ip", "IN", ["10.0.0.0/29", "192.168.1.1"], ["80", "8080"]),
        ("ip", "IN", ["10.0.0.1", None], ["80", "None"]),
        ("ip", "NOT IN", ["10.0.0.0/29", "192.168.1.1"], ["443"]),
        ("ip", ">", "10.0.0.0/8", ["8080"]),
        ("ip", ">=", "10.0.0.9", ["443", "8080"]),
        ("ip", "<", "10.0.0.9", ["80"]),
        ("ip", "<=", "10.0.0.0/8", ["443", "80"]),
        ("ip", "==", "2001:db8::/32", []),
        ("ip", "!=", "2001:db8::/32", ["443", "80", "8080"]),
        ("ip", "==", "::/0", ["443", "80", "8080"]),
        ("ip", ">", "2001:db8::1", []),
        ("ip", "<", "2001:db8::1", ["443", "80", "8080"]),
        ("ip", "IS NULL", None, ["None"]),
        ("ip", "==", None, ["None"]),
        ("port", "==", "https", ["443"]),
        ("port", "IN", ["http", "8000-9000"], ["80", "8080"]),
        ("port", "NOT IN", ["http", "8000-9000"], ["443"]),
    ],
)
def test_a_filter_finds_what_people_mean(shop: SmallCore, col: str, op: str, val: Any, names: list[str]) -> None:
    assert found(shop.core, col, op, val) == names


def test_a_text_column_is_compared_as_text(shop: SmallCore) -> None:
    assert found(shop.core, "name", "==", "80") == ["80"]
    assert found(shop.core, "name", "==", "http") == []


@for_each(
    ("op", "val", "message"),
    [
        ("==", "htps", "did you mean 'https'"),
        ("==", ["http", "https"], "takes one value"),
        ("LIKE", "8%", "it has: "),
        (">", "ftp", "takes one value that means one range"),
        (">", None, "takes one value"),
        ("IN", [], "at least one value"),
        ("==", True, "text or whole numbers"),
        ("==", 80.5, "text or whole numbers"),
    ],
)
def test_a_filter_that_cannot_be_read_says_what_would_work(shop: SmallCore, op: str, val: Any, message: str) -> None:
    with pytest.raises(AssertionError) as failure:
        found(shop.core, "port", op, val)
    assert message in str(failure.value)


def test_the_values_of_an_answer_can_be_filtered_by(shop: SmallCore) -> None:
    answer = shop.core.explore.advanced_data_type("internet_address", ["10.0.0.0/29"])
    assert found(shop.core, "ip", "IN", list(answer.values)) == ["80"]


# ---------------------------------------------------------------------------------------------------------- plug-ins
PLUGIN = """
from analytics_core.plugins import AdvancedDataType, Span

def read(text):
    if text not in ("low", "high"):
        raise ValueError("write low or high")
    return (Span(0, 9) if text == "low" else Span(10, 99),)

LEVEL = AdvancedDataType(name="level", read=read, show=lambda span: "low" if span.first == 0 else "high")
"""


def plugin(folder: Path, target: str) -> None:
    info = folder / "kinds-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kinds\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[analytics_core.advanced_data_types]\nlevel = {target}\n")
    (folder / f"kinds_{folder.name.replace('-', '_')}.py").write_text(PLUGIN)


def test_a_package_adds_a_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = f"kinds_{tmp_path.name.replace('-', '_')}"
    plugin(tmp_path, f"{module}:LEVEL")
    monkeypatch.syspath_prepend(str(tmp_path))
    with connect("sqlite://") as core:
        answer = core.explore.advanced_data_type("level", ["low"])
        assert (answer.display_value, answer.values) == ("low", ("0-9",))
        assert core.explore.advanced_data_type("level", ["x"]).error_message == "write low or high"
    sys.modules.pop(module)


def test_an_entry_point_that_is_no_type_stops_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    targets = {"json:loads": "must name an AdvancedDataType", "json:nothing": "cannot be loaded"}
    for number, (target, message) in enumerate(targets.items()):
        info = tmp_path / f"kinds_{number}"
        info.mkdir()
        plugin(info, target)
        monkeypatch.syspath_prepend(str(info))
        with pytest.raises(SettingsError, match=message):
            AnalyticsCore(Settings(secret_key=SHOP_KEY))
        shutil.rmtree(info)


def test_a_range_writes_itself_as_it_is_read() -> None:
    assert [str(Span(1, 1)), str(Span(1, 2))] == ["1", "1-2"]

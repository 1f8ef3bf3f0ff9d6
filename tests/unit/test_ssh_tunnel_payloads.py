"""SSH tunnels of payloads: what is stored, what is shown, when secrets are kept, and what is refused by which field."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from tests.support.cases import for_each
from tests.support.small_core import small_core

from analytics_core import AnalyticsCore
from analytics_core._engine.execution.ssh_keys import KeyProblemError, read_host_key, read_private_key
from analytics_core._records.ssh_tunnel import StoredTunnel
from analytics_core._tools.display.blocks import MASK
from analytics_core.errors import ConnectionUriError, PayloadSchemaError

URI = "postgresql+psycopg://ann:s3same-uri@db.example/sales"
MASKED_URI = f"postgresql+psycopg://ann:{MASK}@db.example/sales"


def private_key(passphrase: str = "") -> str:
    how = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    made = ed25519.Ed25519PrivateKey.generate()
    return made.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, how).decode()


def public_key() -> str:
    made = ed25519.Ed25519PrivateKey.generate().public_key()
    return made.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


HOST_KEY, OTHER_HOST_KEY = public_key(), public_key()
TUNNEL = {"server_address": "gate.example", "username": "maria", "password": "s3same-gate", "host_key": HOST_KEY}
BY_KEY = {name: value for name, value in TUNNEL.items() if name != "password"}


@pytest.fixture
def core(tmp_path: Path) -> Iterator[AnalyticsCore]:
    with small_core(tmp_path) as made:
        yield made.core


def add(core: AnalyticsCore, tunnel: Any, uri: str = URI) -> int:
    made = core.databases.create({"database_name": "sales", "orm_uri": uri, "ssh_tunnel": tunnel})
    return int(made.id)


def retained(core: AnalyticsCore, number: int) -> StoredTunnel:
    with core._runtime.content.store.unit_of_work() as unit:
        tunnel = unit.databases.get(number).ssh_tunnel
    assert tunnel is not None
    return StoredTunnel.from_secret(tunnel)


def displayed(core: AnalyticsCore, number: int) -> dict[str, Any]:
    tunnel = core.databases.connection(number).ssh_tunnel
    assert tunnel is not None
    return {name: value for name, value in tunnel.model_dump().items() if value is not None}


def fields_of(core: AnalyticsCore, tunnel: Any) -> list[str]:
    with pytest.raises(PayloadSchemaError) as caught:
        add(core, tunnel)
    for secret in ("s3same", "BEGIN", MASK):
        assert secret not in str(caught.value)
    return [problem.path for problem in caught.value.problems]


def test_a_tunnel_is_stored_whole_and_shown_without_its_secrets(core: AnalyticsCore) -> None:
    number = add(core, TUNNEL)
    tunnel = retained(core, number)
    assert (tunnel.server_port, tunnel.password and tunnel.password.reveal()) == (22, "s3same-gate")
    answer = core.databases.connection(number)
    assert "s3same" not in f"{answer!r} {answer.model_dump_json()}"
    assert answer.ssh_tunnel is not None
    assert (answer.ssh_tunnel.server_address, answer.ssh_tunnel.host_key) == ("gate.example", HOST_KEY)
    assert answer.ssh_tunnel.password is not None
    assert answer.ssh_tunnel.private_key is None


def test_null_removes_a_tunnel_and_silence_keeps_it(core: AnalyticsCore) -> None:
    number = add(core, TUNNEL)
    core.databases.update(number, {"cache_timeout": 5})
    assert retained(core, number).username == "maria"
    core.databases.update(number, {"ssh_tunnel": None, "orm_uri": URI})
    assert core.databases.connection(number).ssh_tunnel is None


def test_a_mask_keeps_the_stored_secret(core: AnalyticsCore) -> None:
    number = add(core, TUNNEL)
    core.databases.update(number, {"ssh_tunnel": {**TUNNEL, "password": MASK}, "orm_uri": MASKED_URI})
    core.databases.update(number, {"ssh_tunnel": {"username": "maria"}})
    password = retained(core, number).password
    assert password is not None
    assert password.reveal() == "s3same-gate"


def test_a_key_given_in_place_of_a_password_replaces_it(core: AnalyticsCore) -> None:
    number = add(core, TUNNEL)
    core.databases.update(
        number, {"ssh_tunnel": {**BY_KEY, "private_key": private_key("pass"), "private_key_password": "pass"}}
    )
    core.databases.update(number, {"ssh_tunnel": {**BY_KEY, "private_key": MASK}})
    tunnel = retained(core, number)
    assert (tunnel.password, tunnel.private_key_password and tunnel.private_key_password.reveal()) == (None, "pass")


BY_OPENED_KEY = {**BY_KEY, "private_key": private_key("pass"), "private_key_password": "pass"}


@for_each("tunnel", [TUNNEL, BY_OPENED_KEY], ids=["password", "key"])
@for_each(
    "form",
    [
        lambda answer: answer.ssh_tunnel,
        lambda answer: answer.to_payload()["ssh_tunnel"],
        lambda answer: answer.model_dump()["ssh_tunnel"],
        lambda answer: answer.model_dump(mode="json")["ssh_tunnel"],
        lambda answer: json.loads(answer.model_dump_json())["ssh_tunnel"],
    ],
    ids=["object", "payload", "values", "JSON values", "JSON"],
)
def test_a_tunnel_written_back_keeps_its_secrets(
    core: AnalyticsCore, tunnel: dict[str, Any], form: Callable[[Any], Any]
) -> None:
    number = add(core, tunnel)
    before = retained(core, number)
    core.databases.update(number, {"ssh_tunnel": form(core.databases.connection(number))})
    assert retained(core, number) == before
    core.databases.delete(number)


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"server_address": "evil.example"},
        {"server_port": 2222},
        {"username": "root"},
        {"host_key": OTHER_HOST_KEY},
        {"host_key": None, "insecure_host_key": True},
    ],
)
def test_stored_secrets_are_sent_nowhere_else(core: AnalyticsCore, elsewhere: dict[str, Any]) -> None:
    number = add(core, TUNNEL)
    for password in ({"password": MASK}, {}):
        with pytest.raises(PayloadSchemaError, match=r"ssh_tunnel\.password"):
            core.databases.update(number, {"ssh_tunnel": {**BY_KEY, **password, **elsewhere}, "orm_uri": URI})
    tunnel = {**TUNNEL, **elsewhere}
    for uri in ({}, {"orm_uri": MASK}, {"orm_uri": MASKED_URI}, {"orm_uri": MASKED_URI.replace("X", "%58", 1)}):
        with pytest.raises(ConnectionUriError, match="give the password"):
            core.databases.update(number, {"ssh_tunnel": tunnel, **uri})
        with pytest.raises(ConnectionUriError, match="give the password"):
            core.databases.test_connection({"database_name": "sales", "orm_uri": MASKED_URI, "ssh_tunnel": tunnel})
    core.databases.update(number, {"ssh_tunnel": tunnel, "orm_uri": URI})


def test_a_stored_password_of_the_uri_does_not_leave_its_tunnel(core: AnalyticsCore) -> None:
    number = add(core, None)
    for database in ({"ssh_tunnel": TUNNEL}, {"ssh_tunnel": TUNNEL, "orm_uri": MASKED_URI}):
        with pytest.raises(ConnectionUriError, match="give the password"):
            core.databases.update(number, database)
    core.databases.update(number, {"ssh_tunnel": TUNNEL, "orm_uri": URI})
    with pytest.raises(ConnectionUriError, match="give the password"):
        core.databases.update(number, {"ssh_tunnel": None})


def dsa_key() -> str:
    made = dsa.generate_private_key(1024)
    return made.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()


def strange_curve() -> str:
    made = ec.generate_private_key(ec.SECP256K1())
    return made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@for_each(
    ("changes", "field"),
    [
        ({"host_key": None}, "host_key"),
        ({"host_key": "ssh-dss AAAAB3NzaC1kc3M="}, "host_key"),
        ({"host_key": "ssh-ed25519 s3same"}, "host_key"),
        ({"insecure_host_key": True}, "insecure_host_key"),
        ({"server_address": None}, "server_address"),
        ({"server_address": "gate example"}, "server_address"),
        ({"username": ""}, "username"),
        ({"password": None}, "password"),
        ({"password": MASK}, "password"),
        ({"private_key": private_key()}, "private_key"),
        ({"private_key_password": "s3same"}, "private_key_password"),
        ({"password": "", "private_key": "s3same"}, "private_key"),
        ({"password": "", "private_key": private_key()[:200]}, "private_key"),
        ({"password": "", "private_key": dsa_key()}, "private_key"),
        ({"password": "", "private_key": strange_curve()}, "private_key"),
        ({"password": "", "private_key": private_key("s3same")}, "private_key_password"),
        ({"password": "", "private_key": private_key("a"), "private_key_password": "s3same"}, "private_key_password"),
        ({"password": "", "private_key": private_key(), "private_key_password": "s3same"}, "private_key_password"),
    ],
)
def test_what_would_not_work_is_refused_by_its_field(core: AnalyticsCore, changes: dict[str, Any], field: str) -> None:
    tunnel = {name: value for name, value in {**TUNNEL, **changes}.items() if value is not None}
    assert fields_of(core, tunnel) == [f"ssh_tunnel.{field}"]


def test_a_key_that_would_take_hours_to_open_is_refused() -> None:
    import base64

    text = private_key("a")
    key_bytes = bytearray(base64.b64decode("".join(text.splitlines()[1:-1])))
    place = key_bytes.index(b"bcrypt") + 6 + 4 + 4 + 16
    key_bytes[place : place + 4] = (2**31).to_bytes(4, "big")
    lines = [text.splitlines()[0], base64.b64encode(bytes(key_bytes)).decode(), text.splitlines()[-1]]
    with pytest.raises(ValueError, match="rounds"):
        read_private_key("\n".join(lines), "a")


def test_what_is_no_key_of_a_host_is_refused_by_its_field() -> None:
    with pytest.raises(KeyProblemError, match=r"\Ahost_key: must be the ed25519, rsa or ecdsa public key") as caught:
        read_host_key("ssh-ed25519 AAAA")
    assert str(caught.value) == f"{caught.value.field}: {caught.value.message}"


@pytest.mark.parametrize("uri", ["sqlite://", "duckdb://"])
def test_files_take_no_tunnels(core: AnalyticsCore, uri: str) -> None:
    with pytest.raises(ConnectionUriError, match="SSH"):
        add(core, TUNNEL, uri)


def test_engines_tell_whether_they_take_tunnels(core: AnalyticsCore) -> None:
    number = add(core, TUNNEL)
    details = {database: core.databases.get(database).engine_information for database in (1, number)}
    assert [details[place] and details[place]["disable_ssh_tunneling"] for place in (1, number)] == [True, False]

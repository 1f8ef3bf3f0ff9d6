"""Forged, stolen and replayed states and codes open nothing, addresses lead nowhere else, and no secret is told."""

from __future__ import annotations

import base64
import json
import logging
import pickle
import socket
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from tests.support.oauth_provider import CLIENT_SECRET, Provider, provider, settings_for
from tests.support.small_core import KEY, SmallCore, small_core

from analytics_core import AnalyticsCore, errors
from analytics_core._engine.oauth.clients import client_digest
from analytics_core._engine.rights.keys import Purpose, derived_key
from analytics_core._records.repositories import ListQuery
from analytics_core._records.secret import Secret
from analytics_core.models.database import OAuth2Client
from analytics_core.testing.clock import FixedClock

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


CLIENT = {
    "id": "us",
    "secret": "between-us",
    "scope": "read",
    "authorization_request_uri": "https://provider.example/authorize",
    "redirect_uri": "https://app.example/callback",
}


@pytest.fixture
def guard() -> Iterator[Provider]:
    with provider() as made:
        yield made


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture
def small(guard: Provider, clock: FixedClock, tmp_path: Path) -> Iterator[SmallCore]:
    meta = f"sqlite:///{tmp_path}/meta.db"
    with small_core(tmp_path, metadata_url=meta, ports={"clock": clock}, **settings_for(guard)) as made:
        yield made


@pytest.fixture
def core(small: SmallCore) -> AnalyticsCore:
    return small.core


def claims(**changes: Any) -> dict[str, Any]:
    fields = {
        "exp": int(START.timestamp()) + 300,
        "jti": "a-number-of-nobody",
        "client": "0" * 64,
        "database_id": 1,
        "user_id": 1,
        "default_redirect_uri": "https://app.example/",
        "tab_id": "t",
        **changes,
    }
    return {name: value for name, value in fields.items() if value is not ...}


def key(secret: str = KEY, purpose: Purpose = Purpose.OAUTH_STATE) -> bytes:
    return derived_key(Secret(secret), purpose, length=64)


def signed(payload: dict[str, Any], with_key: Any = None, algorithm: str = "HS256", **headers: Any) -> str:
    text = jwt.encode(payload, key() if with_key is None else with_key, algorithm=algorithm, headers=headers or None)
    return text.replace(".", "%2E")


def rejected(core: AnalyticsCore, guard: Provider, state: Any, code: str = "code-of-the-attacker") -> str:
    """Return why a callback was refused; the provider is not asked, and nothing that was brought is repeated."""
    before = guard.requests.total()
    with pytest.raises(errors.OAuth2Error) as caught:
        core.oauth.callback(state=state, code=code)
    assert guard.requests.total() == before
    assert core.oauth.list() == ()
    text = str(caught.value.to_payload()) + "".join(traceback.format_exception(caught.value))
    assert code not in str(caught.value.to_payload())
    assert not (isinstance(state, str) and len(state) > 20 and state in text)
    return caught.value.message


def unsigned(header: dict[str, Any], payload: dict[str, Any]) -> str:
    parts = [json.dumps(header).encode(), json.dumps(payload).encode()]
    return "%2E".join([*(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts), ""])


def test_a_state_of_ours_is_what_the_forgeries_are_like(core: AnalyticsCore, guard: Provider) -> None:
    with core._runtime.content.store.unit_of_work() as unit:
        ours = client_digest(OAuth2Client.model_validate(guard.client()), unit.databases.get(1))
    with pytest.raises(errors.OAuth2Error, match="gave no access token"):
        core.oauth.callback(state=signed(claims(client=ours)), code="a code of nobody")
    assert guard.requests.total() == 1


@pytest.mark.parametrize("secret", [KEY + "x", KEY[:-1], "another-s3cret-of-another-host-77"])
def test_a_state_that_another_key_signed_is_refused(core: AnalyticsCore, guard: Provider, secret: str) -> None:
    rejected(core, guard, signed(claims(), key(secret)))


@pytest.mark.parametrize("purpose", [one for one in Purpose if one is not Purpose.OAUTH_STATE])
def test_keys_of_other_purposes_sign_no_state(core: AnalyticsCore, guard: Provider, purpose: Purpose) -> None:
    rejected(core, guard, signed(claims(), key(purpose=purpose)))


def test_the_secret_key_itself_signs_no_state(core: AnalyticsCore, guard: Provider) -> None:
    rejected(core, guard, signed(claims(), KEY.encode()))
    rejected(core, guard, signed(claims(), derived_key(Secret(KEY), Purpose.OAUTH_STATE)))


@pytest.mark.parametrize("algorithm", ["HS384", "HS512"])
def test_the_header_does_not_choose_the_algorithm(core: AnalyticsCore, guard: Provider, algorithm: str) -> None:
    rejected(core, guard, signed(claims(), algorithm=algorithm))


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "", "HS256"])
def test_an_unsigned_state_is_refused(core: AnalyticsCore, guard: Provider, algorithm: str) -> None:
    rejected(core, guard, unsigned({"alg": algorithm, "typ": "JWT"}, claims()))


def test_a_state_of_a_private_key_is_refused(core: AnalyticsCore, guard: Provider) -> None:
    private = generate_private_key(public_exponent=65537, key_size=2048)
    rejected(core, guard, signed(claims(), private, algorithm="RS256"))


@pytest.mark.parametrize("headers", [{"crit": ["x"], "x": 1}, {"crit": ["exp"]}])
def test_a_header_that_asks_for_other_rules_is_refused(core: AnalyticsCore, guard: Provider, headers: Any) -> None:
    rejected(core, guard, signed(claims(), **headers))


@pytest.mark.parametrize(
    "change",
    [
        *({name: ...} for name in ("exp", "jti", "client", "database_id", "user_id", "default_redirect_uri", "tab_id")),
        *({"user_id": value} for value in ("1", True, 1.0, None, [1])),
        *({"database_id": value} for value in ("1", True, 1.0, None, {})),
        *({"default_redirect_uri": value} for value in (1, None, ["x"])),
        *({"tab_id": value} for value in (1, None)),
        *({"exp": value} for value in ("soon", None, 1e300, True, -1, int(START.timestamp()) + 86_400)),
        {"jti": 7},
        {"client": 7},
    ],
)
def test_claims_are_of_their_exact_kind(core: AnalyticsCore, guard: Provider, change: dict[str, Any]) -> None:
    rejected(core, guard, signed(claims(**change)))


@pytest.mark.parametrize("text", [None, 7, b"x", "", ".", "%2E%2E", "a.b.c", "x" * 10_000, "\x00", "é.é.é", "\ud800"])
def test_what_is_no_state_is_refused(core: AnalyticsCore, guard: Provider, text: Any) -> None:
    rejected(core, guard, text)


def test_five_minutes_and_no_longer(core: AnalyticsCore, guard: Provider, clock: FixedClock) -> None:
    late = guard.authorize(core.oauth.start(1).url)
    clock.advance(timedelta(minutes=5))
    assert "over" in rejected(core, guard, late["state"], late["code"])
    just = guard.authorize(core.oauth.start(1).url)
    clock.advance(timedelta(minutes=4, seconds=59))
    core.oauth.callback(**just)


def test_a_pinned_moment_does_not_open_what_is_over(core: AnalyticsCore, guard: Provider, clock: FixedClock) -> None:
    late = guard.authorize(core.oauth.start(1).url)
    clock.advance(timedelta(minutes=6))
    rejected(core.as_of(START), guard, late["state"], late["code"])


def test_a_state_counts_once_in_all_threads_and_processes(
    core: AnalyticsCore, guard: Provider, clock: FixedClock, tmp_path: Path
) -> None:
    given = guard.authorize(core.oauth.start(1).url)
    late = FixedClock(START)  # on a machine whose clock is behind
    other = AnalyticsCore(
        core._runtime.parts.settings, metadata_url=f"sqlite:///{tmp_path}/meta.db", acting_as=1, clock=late
    )

    def bring(number: int) -> str:
        try:
            (core, other)[number % 2].oauth.callback(**given)
        except errors.OAuth2Error as error:
            return error.message
        return "stored"

    with other:
        with ThreadPoolExecutor(max_workers=8) as pool:
            outcomes = list(pool.map(bring, range(8)))
        assert outcomes.count("stored") == 1
        assert guard.requests.total() == 1
        clock.advance(timedelta(minutes=5 + 60))
        assert core.prune().key_values == 0
        core.oauth.forget(1)
        assert "used" in rejected(other, guard, given["state"], given["code"])
    clock.advance(timedelta(seconds=1))
    assert core.prune().key_values == 1


def test_a_callback_of_somebody_else_is_refused(small: SmallCore, guard: Provider) -> None:
    """Neither the victim's callback in the attacker's session, nor the attacker's in the victim's."""
    core, other = small.core, small.reader(small.stored_orders())
    of_admin = guard.authorize(core.oauth.start(1).url)
    assert "not yours" in rejected(other, guard, of_admin["state"], of_admin["code"])
    of_reader = guard.authorize(other.oauth.start(1).url)
    assert "not yours" in rejected(core, guard, of_reader["state"], of_reader["code"])
    core.oauth.callback(**of_admin)  # the attempt has not used it up


def test_a_stolen_code_cannot_be_redeemed_with_a_state_of_ones_own(small: SmallCore, guard: Provider) -> None:
    """PKCE: the code belongs to the state that it was given for."""
    attacker = small.reader(small.stored_orders())
    stolen = guard.authorize(small.core.oauth.start(1).url, "victim")["code"]
    with pytest.raises(errors.OAuth2Error, match="invalid_grant"):
        attacker.oauth.callback(state=attacker.oauth.start(1).state, code=stolen)
    assert attacker.oauth.access_token(1) is None


def test_somebody_who_lost_the_database_brings_nothing_home(small: SmallCore, guard: Provider) -> None:
    dataset = small.stored_orders()
    reader = small.reader(dataset)
    given = guard.authorize(reader.oauth.start(1).url)
    small.core.datasets.delete(dataset.id)
    with pytest.raises(errors.DatabaseAccessError):
        reader.oauth.callback(**given)
    with pytest.raises(errors.DatabaseAccessError):
        reader.oauth.access_token(1)
    assert guard.requests.total() == 0


def test_nobody_sees_or_takes_tokens_of_others(small: SmallCore, guard: Provider) -> None:
    other = small.reader(small.stored_orders())
    small.core.oauth.callback(**guard.authorize(small.core.oauth.start(1).url))
    assert (other.oauth.access_token(1), other.oauth.list()) == (None, ())
    other.oauth.forget(1)
    assert small.core.oauth.access_token(1) == guard.issued[0]


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/",
        "https://app.example.evil.example/",
        "https://app.example@evil.example/",
        "https://user:pw@app.example/",
        "https://app.example:8443/",
        "http://app.example/",
        "//app.example/",
        "/\\evil.example",
        "https:\\\\evil.example",
        "https://app.example\\@evil.example/",
        "https://evil.example\\.app.example/",
        "https://app.example\t@evil.example/",
        " https://app.example/",
        "https://app.example/\r\nSet-Cookie: a=b",
        "javascript:alert(1)//https://app.example",
        "data:text/html,x",
        "https:app.example",
        "https:///app.example",
        "https://[::1]/",
        "https://app.example%00.evil.example/",
        "https://app。example/",
        "",
        "x" * 3_000,
        7,
        b"https://app.example/",
        ["https://app.example/"],
    ],
)
def test_nobody_is_led_to_another_origin(core: AnalyticsCore, address: Any) -> None:
    with pytest.raises(errors.OAuth2Error, match="redirect_to") as caught:
        core.oauth.start(1, redirect_to=address)
    assert "evil" not in caught.value.message


@pytest.mark.parametrize(
    "address",
    ["https://app.example", "https://app.example/a/b?c=d&e=@f#g", "https://app.example:443/x", "HTTPS://APP.example/x"],
)
def test_pages_of_the_origin_are_led_to(core: AnalyticsCore, guard: Provider, address: str) -> None:
    given = guard.authorize(core.oauth.start(1, redirect_to=address).url)
    assert core.oauth.callback(**given).redirect_to == address


def test_without_configured_origins_nobody_is_led_anywhere(tmp_path: Path, guard: Provider) -> None:
    settings = settings_for(guard, oauth2_redirect_origins=())
    with small_core(tmp_path, **settings) as small, pytest.raises(errors.OAuth2Error, match="redirect_to"):
        small.core.oauth.start(1, redirect_to="https://app.example/")


@pytest.mark.parametrize("name", ["authorization_request_uri", "token_request_uri"])
@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "http://provider.example/", "https://u:p@provider.example/", "ftp://x/", "", "/x"],
)
def test_a_client_with_another_kind_of_address_starts_nothing(
    tmp_path: Path, guard: Provider, name: str, address: str
) -> None:
    settings = settings_for(guard, oauth2_clients={"shop": guard.client(**{name: address})})
    with (
        pytest.raises((errors.OAuth2Error, errors.SettingsError), match=name),
        small_core(tmp_path, **settings) as small,
    ):
        small.core.oauth.start(1)


def test_what_the_providers_page_is_told_cannot_be_changed_by_its_own_address(tmp_path: Path, guard: Provider) -> None:
    page = f"{guard.url}/authorize?state=evil&redirect_uri=https://evil.example/&tenant=7"
    clients = {"shop": guard.client(authorization_request_uri=page)}
    with small_core(tmp_path, **settings_for(guard, oauth2_clients=clients)) as small:
        started = small.core.oauth.start(1)
    assert "evil" not in started.url
    assert "tenant=7" in started.url


def test_guests_have_no_tokens_and_start_nothing(small: SmallCore) -> None:
    runtime = small.core._runtime.content
    with runtime.store.unit_of_work() as unit:
        database = unit.databases.get(1)
    assert runtime.engine.oauth.tokens.access_token(database, 0) is None


@pytest.mark.parametrize(
    "uri",
    ["https://127.0.0.1:1/token", "https://169.254.169.254/token", "https://[::1]/token", "https://localhost/token"],
)
def test_a_client_of_a_payload_leads_nowhere_that_the_network_policy_forbids(core: AnalyticsCore, uri: str) -> None:
    """The settings' own client leads to this machine, on one port."""
    own = {**CLIENT, "token_request_uri": uri}
    with core._runtime.content.store.unit_of_work() as unit:
        secret = Secret(json.dumps({"oauth2_client_info": own}))
        unit.databases.update(replace(unit.databases.get(1), secret_extra=secret), actor_id=1)
    with pytest.raises(errors.TokenEndpointError, match="network policy"):
        core.oauth.callback(state=core.oauth.start(1).state, code="code-of-the-user")


def test_who_signs_in_learns_nothing_of_hosts_and_ports_behind_the_token_endpoint(
    small: SmallCore, guard: Provider, clock: FixedClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Closed, silent, forbidden, unknown and odd are one error for a plain user; administrators learn which it is."""
    core, plain = small.core, small.reader(small.core.databases.get(1))
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    host = guard.url.replace("http:", "https:")
    uris = [f"http://127.0.0.1:{port}/t", f"{host}/token", "https://10.0.0.1/t", "https://nosuch.invalid/t", ""]
    payloads: dict[bool, set[str]] = {True: set(), False: set()}
    for uri in uris:
        own = guard.client(token_request_uri=uri) if uri else guard.client()
        guard.misbehaviour = None if uri else "error"
        with core._runtime.content.store.unit_of_work() as unit:
            secret = Secret(json.dumps({"oauth2_client_info": own}))
            unit.databases.update(replace(unit.databases.get(1), secret_extra=secret), actor_id=1)
        for who in (core, plain):
            state = who.oauth.start(1).state
            with pytest.raises(errors.TokenEndpointError) as failed:
                who.oauth.callback(state=state, code="c")
            payloads[who is core].add(json.dumps(failed.value.to_payload(), sort_keys=True, default=str))
            assert failed.value.__cause__ is failed.value.__context__ is None
    assert (len(payloads[False]), len(payloads[True])) == (1, len(uris))
    assert "cannot be found" in caplog.text


def test_a_masked_secret_is_sent_nowhere_else(core: AnalyticsCore, guard: Provider, clock: FixedClock) -> None:
    """Whoever changes where tokens are renewed gets no refresh token of those who authorized before."""
    core.oauth.callback(**guard.authorize(core.oauth.start(1).url))
    clock.advance(timedelta(hours=2))
    with provider() as other:
        with core._runtime.content.store.unit_of_work() as unit:
            secret = Secret(json.dumps({"oauth2_client_info": guard.client(token_request_uri=f"{other.url}/token")}))
            unit.databases.update(replace(unit.databases.get(1), secret_extra=secret), actor_id=1)
        assert core.oauth.access_token(1) is None
        assert other.requests.total() == 0


# ----------------------------------------------------------------------------------------------------------- secrets
def test_no_secret_is_told_anywhere(
    core: AnalyticsCore, guard: Provider, clock: FixedClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    given = guard.authorize(core.oauth.start(1).url)
    answers = [core.oauth.callback(**given), core.oauth.list()]
    clock.advance(timedelta(hours=2))
    core.oauth.access_token(1)
    clock.advance(timedelta(hours=2))
    guard.misbehaviour = "error"
    with pytest.raises(errors.TokenEndpointError) as failed:
        core.oauth.access_token(1)
    verifier = guard.bodies[0]["code_verifier"]
    secrets = [CLIENT_SECRET, given["code"], verifier, *guard.issued, *guard._refresh_tokens]
    with core._runtime.content.store.unit_of_work() as unit:
        logged = [entry.json for entry in unit.logs.list(ListQuery(page_size=100))[1]]
        token = unit.oauth2_tokens.find(database_id=1, user_id=1)
    texts = [
        repr(answers),
        repr(token),
        str(failed.value.to_payload()),
        repr(core._runtime.parts.settings),
        *map(str, logged),
    ]
    texts += ["".join(traceback.format_exception(failed.value)), repr(core._runtime), caplog.text]
    assert [secret for secret in secrets if any(secret in text for text in texts)] == []


def test_what_signs_states_is_never_pickled(core: AnalyticsCore) -> None:
    signer = core._runtime.engine.oauth.flow._signer
    for one in (signer, signer._keys[0]):
        with pytest.raises(TypeError, match="never pickled"):
            pickle.dumps(one)
    assert key().hex() not in repr(signer) + repr(signer._keys)
    assert str(key()) not in repr(signer) + repr(signer._keys)


def test_the_store_holds_no_token_in_the_clear(core: AnalyticsCore, guard: Provider, tmp_path: Path) -> None:
    core.oauth.callback(**guard.authorize(core.oauth.start(1).url))
    files = b"".join(path.read_bytes() for path in tmp_path.glob("meta.db*"))
    assert not any(secret.encode() in files for secret in (*guard.issued, *guard._refresh_tokens, CLIENT_SECRET))


# ------------------------------------------------------------------------------------------------------- other servers
FORMER, OTHER = "postgresql://u:pw@former.example:5432/d", "postgresql://u:pw@other.example:5432/d"


def signing_in(core: AnalyticsCore, guard: Provider) -> tuple[int, dict[str, Any]]:
    """Return a database, and what a user who authorizes for it brings home."""
    extra = json.dumps({"oauth2_client_info": guard.client()})
    database = core.databases.create({"database_name": "pg", "orm_uri": FORMER, "extra": extra}).id
    return database, guard.authorize(core.oauth.start(database).url)


def test_an_authorization_for_a_server_is_none_for_the_one_that_follows(core: AnalyticsCore, guard: Provider) -> None:
    database, brought = signing_in(core, guard)
    core.databases.update(database, {"orm_uri": OTHER})
    with pytest.raises(errors.OAuth2Error, match="or its server, changed meanwhile"):
        core.oauth.callback(**brought)
    assert core.oauth.access_token(database) is None


def test_a_token_that_comes_while_the_database_is_led_elsewhere_is_not_shown_there(
    core: AnalyticsCore, guard: Provider
) -> None:
    database, brought = signing_in(core, guard)
    guard.delay_s = 1.0
    home = threading.Thread(target=lambda: core.oauth.callback(**brought))
    home.start()
    while not guard.requests:
        time.sleep(0.01)
    core.databases.update(database, {"orm_uri": OTHER})
    home.join()
    guard.delay_s = 0.0
    assert core.oauth.access_token(database) is None
    core.databases.update(database, {"orm_uri": FORMER})
    assert core.oauth.access_token(database) is None


def test_another_password_of_the_same_server_leaves_the_token(core: AnalyticsCore, guard: Provider) -> None:
    database, brought = signing_in(core, guard)
    core.databases.update(database, {"orm_uri": "postgresql://v:other@former.example:5432/d"})
    core.oauth.callback(**brought)
    assert core.oauth.access_token(database) is not None

"""The client of token endpoints: bounded in time and size, no redirects, certificates checked, nothing repeated."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.oauth_provider import CLIENT_ID, CLIENT_SECRET, Provider, make_authority, provider
from tests.support.small_core import KEY

from analytics_core import Settings, errors
from analytics_core._core.adapters.pinned_connection import PinnedConnection
from analytics_core._core.adapters.token_endpoint import HttpsTokenEndpoint
from analytics_core._engine.network import system_lookup
from analytics_core.models.database import OAuth2ContentType
from analytics_core.ports import TokenEndpoint

FIELDS = {
    "grant_type": "refresh_token",
    "refresh_token": "r3fresh",
    "client_id": CLIENT_ID,
    "client_secret": CLIENT_SECRET,
}


@pytest.fixture(scope="module")
def plain() -> Iterator[Provider]:
    with provider() as made:
        yield made


@pytest.fixture(autouse=True)
def _well_behaved(plain: Provider) -> Iterator[None]:
    yield
    plain.misbehaviour = None


def endpoint(resolve: Any = system_lookup, **settings: Any) -> HttpsTokenEndpoint:
    return HttpsTokenEndpoint(
        Settings(secret_key=KEY, **{"oauth2_http_hosts": ("127.0.0.1",), **settings}), resolve=resolve
    )


def ask(uri: str, *, timeout_s: float = 5.0, resolve: Any = system_lookup, **settings: Any) -> Any:
    made = endpoint(resolve, **settings)
    assert isinstance(made, TokenEndpoint)
    return made.request(uri, FIELDS, content_type=OAuth2ContentType.DATA, timeout_s=timeout_s)


def rejected(uri: str, **options: Any) -> errors.TokenEndpointError:
    """Return why a request failed; nothing that was sent or came back is in it."""
    with pytest.raises(errors.TokenEndpointError) as rejection:
        ask(uri, **options)
    texts = [
        repr(one) + str(getattr(one, "__dict__", ""))
        for one in (rejection.value, rejection.value.__cause__, rejection.value.__context__)
    ]
    assert not any(secret in text for text in texts for secret in ("hunter2", "r3fresh", CLIENT_SECRET))
    return rejection.value


def test_a_refusal_of_the_provider_is_an_answer(plain: Provider) -> None:
    assert ask(f"{plain.url}/token")["error"] == "invalid_grant"


@for_each(
    ("content_type", "kind"),
    [(OAuth2ContentType.JSON, "application/json"), (OAuth2ContentType.DATA, "application/x-www-form-urlencoded")],
)
def test_fields_arrive_as_a_form_or_as_json(plain: Provider, content_type: OAuth2ContentType, kind: str) -> None:
    endpoint().request(f"{plain.url}/token", FIELDS, content_type=content_type, timeout_s=5.0)
    assert (plain.bodies[-1], plain.content_types[-1]) == (FIELDS, kind)


def test_a_connection_that_was_given_up_before_it_was_made_is_closed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        connection = PinnedConnection("127.0.0.1", listening.getsockname()[1], timeout_s=5.0)
        connection.abort()
        with pytest.raises(OSError, match="aborted") as caught:
            connection.open(["127.0.0.1"], tls=None)
        with listening.accept()[0] as other:
            other.settimeout(1.0)
            assert other.recv(1) == b"", caught


def test_an_address_may_have_a_query(plain: Provider) -> None:
    assert ask(f"{plain.url}?tenant=7")["error"] == "invalid_grant"


@pytest.mark.slow
@pytest.mark.parametrize("misbehaviour", ["hanging", "dripping", "dripping_headers"])
def test_no_answer_takes_longer_than_its_time(plain: Provider, misbehaviour: str) -> None:
    plain.misbehaviour = misbehaviour
    began = time.monotonic()
    assert rejected(f"{plain.url}/token", timeout_s=0.7).retryable
    assert 0.5 < time.monotonic() - began < 2.5


@for_each(
    ("misbehaviour", "match", "passes"),
    [
        ("html", "no JSON object", False),
        ("malformed", "no JSON object", False),
        ("array", "no JSON object", False),
        ("deep", "no JSON object", False),
        ("huge", "more than 1000000 bytes", False),
        ("huge_chunks", "more than 1000000 bytes", False),
        ("error", "status 500", True),
        ("busy", "status 429", True),
        ("error_page", "status 404", False),
        ("redirect", "redirects", False),
        ("closing", "broke off", True),
    ],
)
def test_an_answer_that_is_none_is_a_typed_error(plain: Provider, misbehaviour: str, match: str, passes: bool) -> None:
    plain.misbehaviour = misbehaviour
    before = plain.requests.total()
    error = rejected(f"{plain.url}/token", timeout_s=20)
    assert match in error.message
    assert error.retryable is passes
    assert plain.requests.total() == before + 1


def test_nobody_listening_is_a_typed_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert "cannot be reached" in rejected(f"http://127.0.0.1:{port}/token").message


def test_a_host_that_never_takes_the_request_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=1) as server:
        began = time.monotonic()
        rejected(f"http://127.0.0.1:{server.getsockname()[1]}/token", timeout_s=0.5)
        assert time.monotonic() - began < 2.5


def test_a_name_that_is_looked_up_for_ever_is_given_up() -> None:
    waiting = threading.Event()

    def never(_host: str, _port: int) -> tuple[str, ...]:
        waiting.wait(20)
        return ()

    began = time.monotonic()
    rejected("https://provider.example/token", timeout_s=0.3, resolve=never)
    assert time.monotonic() - began < 2.5
    waiting.set()


def test_the_connection_goes_to_the_address_that_was_checked(plain: Provider) -> None:
    seen = []

    def checked(host: str, port: int) -> tuple[str, ...]:
        seen.append((host, port))
        return ("127.0.0.1",)

    uri = plain.url.replace("127.0.0.1", "provider.example")
    assert ask(f"{uri}/token", resolve=checked, oauth2_http_hosts=("provider.example",))["error"] == "invalid_grant"
    assert seen == [("provider.example", int(uri.rpartition(":")[2]))]


def test_what_refuses_an_address_is_heard() -> None:
    def refusing(_host: str, _port: int) -> tuple[str, ...]:
        raise errors.TokenEndpointError("this address may not be reached", retryable=False)

    assert rejected("https://provider.example/token", resolve=refusing).message == "this address may not be reached"


@for_each(
    "uri",
    [
        "http://provider.example/token",
        "ftp://127.0.0.1/token",
        "file:///etc/passwd",
        "https://user:hunter2@provider.example/token",
        "https://provider.example/token#x",
        "https://provider.example\\@evil.example/",
        "https:///token",
        "https://provider.example:99999/",
        "https://provider.example/a b",
        "//provider.example/token",
        "",
    ],
)
def test_only_https_and_named_hosts_are_asked(uri: str) -> None:
    def never(_host: str, _port: int) -> tuple[str, ...]:
        raise AssertionError

    assert "no https address" in rejected(uri, resolve=never).message


# ------------------------------------------------------------------------------------------------------------- HTTPS
def test_https_takes_the_certificate_of_the_host_by_a_trusted_authority(tmp_path: Path) -> None:
    with provider(tmp_path) as made:
        assert ask(f"{made.url}/token", oauth2_ca_file=made.ca_file)["error"] == "invalid_grant"
        assert "certificate" in rejected(f"{made.url}/token").message
        assert sum(made.requests.values()) == 1


def test_a_certificate_for_another_name_is_refused(tmp_path: Path) -> None:
    with provider(tmp_path, named="other.example") as made:
        assert "certificate" in rejected(f"{made.url}/token", oauth2_ca_file=made.ca_file).message
        uri = made.url.replace("127.0.0.1", "other.example")
        options: Any = {"oauth2_ca_file": made.ca_file, "resolve": lambda _host, _port: ("127.0.0.1",)}
        assert ask(f"{uri}/token", **options)["error"] == "invalid_grant"
        rejected(f"{made.url.replace('127.0.0.1', 'provider.example')}/token", **options)
        assert sum(made.requests.values()) == 1


def test_https_to_a_host_that_does_not_speak_it(plain: Provider) -> None:
    uri = plain.url.replace("http:", "https:")
    assert "encrypted" in rejected(f"{uri}/token").message


def test_a_file_of_authorities_that_cannot_be_read_does_not_start(tmp_path: Path) -> None:
    make_authority(tmp_path, "x")
    (tmp_path / "bad.pem").write_text("no certificate")
    for name in ("missing.pem", "bad.pem"):
        with pytest.raises(errors.SettingsError, match="oauth2_ca_file"):
            endpoint(oauth2_ca_file=tmp_path / name)

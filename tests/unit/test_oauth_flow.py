"""The way of a user to a provider and back, and what is said to who has no token: every refusal and each address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from tests.support.stores import open_store

from analytics_core._engine.oauth.clients import client_digest
from analytics_core._engine.oauth.exchange import TokenRequests
from analytics_core._engine.oauth.flow import AuthorizationFlow
from analytics_core._engine.oauth.state import StateSigner
from analytics_core._engine.oauth.stored_tokens import StoredTokens
from analytics_core._engine.oauth.user_tokens import OAuthParts, UserTokens
from analytics_core._engine.rights.keys import Purpose, derived_key
from analytics_core._records.datasource import Identity
from analytics_core._records.secret import Secret
from analytics_core._records.settings import Settings
from analytics_core._tools.once import Once
from analytics_core.errors import (
    DatabaseError,
    DatabaseNotFoundError,
    ErrorType,
    OAuth2Error,
    OAuth2RedirectError,
)
from analytics_core.models.database import OAuth2Client
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.store.records import a_database, a_user

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEY = "a-test-key-that-is-long-enough-9f3a"
CLIENT = OAuth2Client(
    id="our-client",
    secret="s3cret",
    scope="read sales",
    authorization_request_uri="https://id.example/authorize?tenant=7&empty=&scope=all",
    token_request_uri="https://id.example/token",
    redirect_uri="https://app.example/callback",
)
SHOP = replace(a_database(), id=3)


class Provider:
    """Answers each request alike."""

    def __init__(self) -> None:
        self.sent: list[Mapping[str, str]] = []

    def request(self, _uri: str, fields: Mapping[str, str], **_: Any) -> Mapping[str, Any]:
        self.sent.append(fields)
        return {"access_token": "a1", "expires_in": 60}


class World:
    """A flow over a store in memory; `client` is what the database is guarded by."""

    def __init__(self, store: Any, client: OAuth2Client | None, settings: Mapping[str, Any]) -> None:
        clock = FixedClock(NOW)
        self.client, self.store, self.provider = client, store, Provider()
        self.settings = Settings(secret_key=KEY, **settings)
        self.signer = StateSigner(self.settings, clock)
        self.stored = StoredTokens(store, clock)
        self.flow = AuthorizationFlow(
            settings=self.settings,
            signer=self.signer,
            stored=self.stored,
            requests=TokenRequests(self.provider),
            client_of=lambda database: self.client,
        )


@contextmanager
def world(client: OAuth2Client | None = CLIENT, **settings: Any) -> Iterator[World]:
    with open_store("sqlite://", FixedClock(NOW)) as store:
        yield World(store, client, settings)


def test_the_page_of_the_provider_is_told_all_that_it_needs_and_keeps_its_own_words() -> None:
    with world() as w:
        request = w.flow.start(SHOP, 7, tab_id="t")
        page = urlsplit(request.url)
        assert (page.scheme, page.netloc, page.path, page.fragment) == ("https", "id.example", "/authorize", "")
        signed = w.flow.read(request.state, 7)
        assert parse_qsl(page.query, keep_blank_values=True) == [
            ("tenant", "7"),
            ("empty", ""),
            ("response_type", "code"),
            ("client_id", "our-client"),
            ("redirect_uri", "https://app.example/callback"),
            ("scope", "read sales"),
            ("state", request.state),
            ("code_challenge", signed.challenge),
            ("code_challenge_method", "S256"),
            ("access_type", "offline"),
            ("prompt", "consent"),
        ]
        assert (request.redirect_uri, request.tab_id) == ("https://app.example/callback", "t")
        assert "state" not in repr(request).replace("state=", "")
        assert (signed.claims.user_id, signed.claims.database_id, signed.claims.tab_id) == (7, 3, "t")
        assert signed.client == client_digest(CLIENT, SHOP)
        assert len(w.flow.start(SHOP, 7).tab_id) == 36
        with pytest.raises(OAuth2Error, match="the state is not yours"):
            w.flow.read(request.state, 8)


def test_afterwards_users_are_led_to_pages_of_named_origins_only() -> None:
    with world(oauth2_redirect_origins=("https://app.example",)) as w:
        for page in ("https://app.example/a?b#c", "https://app.example", "https://APP.example:443/a"):
            signed = w.flow.read(w.flow.start(SHOP, 7, redirect_to=page).state, 7)
            assert w.flow.leads_to(SHOP, signed) == page
        signed = w.flow.read(w.flow.start(SHOP, 7).state, 7)
        assert w.flow.leads_to(SHOP, signed) is None
        strange: tuple[Any, ...] = ("https://app.example:444/", "http://app.example/", "https://u@app.example/")
        unlike = (
            "/a\r\nX: y",
            "/a\tb",
            "/a b",
            "/\\evil",
            "/ä",
            "/" + "a" * 2_000,
        )  # read apart
        strange += (" https://app.example/", *(f"https://app.example{path}" for path in unlike))
        for page in (*strange, "", "/a", "https://app.example\\@evil/", "https://[app/", "javascript:1", 5):
            with pytest.raises(OAuth2Error, match="redirect_to is no address of an origin in Settings"):
                w.flow.start(SHOP, 7, redirect_to=page)
    with world() as w, pytest.raises(OAuth2Error, match="redirect_to is no address"):
        w.flow.start(SHOP, 7, redirect_to="https://app.example/a")


def test_without_a_client_a_callback_or_an_address_that_is_taken_nobody_starts() -> None:
    plain = CLIENT.model_copy(update={"token_request_uri": "http://id.example/token"})
    cases: tuple[tuple[OAuth2Client | None, Mapping[str, Any], str], ...] = (
        (None, {}, "database 'shop' has no OAuth 2.0 client; name one"),
        (plain, {}, "its token_request_uri must be an https address"),
        (
            CLIENT.model_copy(update={"authorization_request_uri": "https://u@id.example/"}),
            {},
            "its authorization_request_uri must be an https address",
        ),
        (CLIENT.model_copy(update={"redirect_uri": None}), {}, "nobody says where the provider of database 'shop'"),
        (CLIENT.model_copy(update={"redirect_uri": ""}), {"url_for": lambda page, facts: None}, "nobody says where"),
    )
    for client, settings, match in cases:
        with world(client, **settings) as w, pytest.raises(OAuth2Error, match=match):
            w.flow.start(SHOP, 7)
    with world(plain, oauth2_http_hosts=("id.example",)) as w:
        assert w.flow.start(SHOP, 7).redirect_uri == "https://app.example/callback"
    calls: list[Any] = []

    def url_for(page: str, facts: Any) -> str:
        calls.append((page, facts))
        return "https://host.example/back"

    with world(CLIENT.model_copy(update={"redirect_uri": None}), url_for=url_for) as w:
        assert w.flow.start(SHOP, 7).redirect_uri == "https://host.example/back"
        assert calls == [("oauth2_callback", {})]


def test_a_code_is_redeemed_once_for_the_client_and_server_that_it_was_asked_for() -> None:
    with world() as w:
        with w.store.unit_of_work() as unit:
            user_id = unit.users.add(a_user(), actor_id=None).id
            database = unit.databases.add(a_database(), actor_id=None)
        signed = w.flow.read(w.flow.start(database, user_id).state, user_id)
        with w.store.unit_of_work() as unit:
            w.flow.use(unit, signed)
            (used,) = [unit.key_values.find(kind="oauth2_state", key=signed.number)]
            assert (used.value, used.expires_on) == (
                f'{{"database_id": {database.id}}}',
                NOW + timedelta(minutes=65),
            )
        with pytest.raises(OAuth2Error, match="the state was used before"), w.store.unit_of_work() as unit:
            w.flow.use(unit, signed)
        w.flow.finish(database, signed, Secret("c0de"))
        (sent,) = w.provider.sent
        assert (sent["code"], sent["code_verifier"]) == ("c0de", signed.verifier.reveal())
        assert sent["redirect_uri"] == "https://app.example/callback"
        assert w.stored.record_of(database.id, user_id) is not None
        moved = replace(database, uri=Secret("postgresql://elsewhere/shop"))
        for changed, client in ((moved, CLIENT), (database, CLIENT.model_copy(update={"id": "other"}))):
            w.client = client
            with pytest.raises(OAuth2Error, match="or its server, changed meanwhile; start the authorization anew"):
                w.flow.finish(changed, signed, Secret("c0de"))
        assert len(w.provider.sent) == 1
        w.client = CLIENT
        with pytest.raises(DatabaseNotFoundError):
            w.flow.finish(replace(database, id=99), signed, Secret("c0de"))


def test_states_are_signed_with_keys_that_every_release_derives_alike() -> None:
    with world() as w:
        (keys,) = w.signer._keys
    assert keys.signing == derived_key(Secret(KEY), Purpose.OAUTH_STATE, length=64)
    assert keys.verifying == derived_key(Secret(KEY), Purpose.OAUTH_VERIFIER, length=64)
    assert len({keys.signing, keys.verifying}) == 2


def test_who_has_no_token_is_sent_to_the_provider_and_who_has_one_gets_it() -> None:
    with world() as w:
        known = {7: "t0k"}
        tokens: Any = SimpleNamespace(
            access_token=lambda database, user_id: known.get(user_id),
            record_of=lambda database, user_id: 5 if user_id in known else None,
        )
        parts = OAuthParts(flow=w.flow, tokens=tokens)
        users = UserTokens(parts=Once(lambda: parts), client_of=lambda database: w.client)
        assert users.of(SHOP, 7) == Secret("t0k")
        with pytest.raises(OAuth2RedirectError) as raised:
            users.of(SHOP, 8)
        assert raised.value.extra["url"].startswith("https://id.example/authorize?")
        assert (users.authorization(SHOP, 7), users.authorization(SHOP, 8)) == (5, None)
        with pytest.raises(OAuth2Error, match="store it, let the user sign in"):
            users.of(replace(SHOP, id=0), 7)
        assert users.are_needed_by(SHOP)
        w.client = None
        assert not users.are_needed_by(SHOP)


def test_the_way_to_sign_in_stands_beside_an_error_of_signing_in_alone() -> None:
    class Failure(DatabaseError):
        def __init__(self, error_type: ErrorType) -> None:
            super().__init__("no")
            self.error_type = error_type
            self.added: list[Any] = []

        def beside(self, other: Any) -> Any:
            self.added.append(other)

    ada = Identity(username="ada", user_id=7)
    known = (
        ErrorType.CONNECTION_INVALID_USERNAME_ERROR,
        ErrorType.CONNECTION_INVALID_PASSWORD_ERROR,
        ErrorType.CONNECTION_ACCESS_DENIED_ERROR,
    )
    with world() as w:
        parts = OAuthParts(flow=w.flow, tokens=SimpleNamespace())  # type: ignore[arg-type]
        users = UserTokens(parts=Once(lambda: parts), client_of=lambda database: w.client)
        for error_type in ErrorType:
            failure = Failure(error_type)
            assert users.add_way_in(failure, SHOP, ada) is (error_type in known), error_type
            assert [type(one) for one in failure.added] == [OAuth2RedirectError] * (error_type in known)
        for identity in (None, Identity(username="ada", user_id=None)):
            failure = Failure(known[0])
            assert not users.add_way_in(failure, SHOP, identity)
            assert failure.added == []
        w.client = None  # nobody can sign in: what went wrong first is told
        failure = Failure(known[0])
        assert users.add_way_in(failure, SHOP, ada)
        assert failure.added == []

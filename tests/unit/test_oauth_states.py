"""States of authorizations, registrations at providers and their answers: what is accepted, up to each bound."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import pickle
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest

from analytics_core._engine.oauth.clients import (
    client_digest,
    client_of_database,
    client_problems,
    provider_address,
    web_address,
)
from analytics_core._engine.oauth.exchange import TokenGrant, TokenRequests, asking, malformed, refusal
from analytics_core._engine.oauth.flow import known_refusal
from analytics_core._engine.oauth.state import StateSigner
from analytics_core._records.secret import Secret
from analytics_core._records.settings import Settings
from analytics_core.errors import AnalyticsError, DatabaseError, OAuth2Error, TokenEndpointError
from analytics_core.models.database import OAuth2Client, OAuth2ContentType, OAuth2State
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.store.records import a_database

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEY, OLDER = "a-test-key-that-is-long-enough-9f3a", "0lder-key-of-the-tests-long-enough-77"
CLAIMS = OAuth2State(database_id=3, user_id=7, default_redirect_uri="https://app.example/a", tab_id="t")
FACTS: Mapping[str, Any] = {
    "id": "our-client",
    "secret": "s3cret",
    "scope": "read",
    "authorization_request_uri": "https://id.example/authorize",
    "token_request_uri": "https://id.example/token",
}


def client(**changes: Any) -> OAuth2Client:
    return OAuth2Client(**{**FACTS, **changes})


def signer(now: datetime = NOW, *, key: str = KEY, **settings: Any) -> StateSigner:
    return StateSigner(Settings(secret_key=key, **settings), FixedClock(now))


def forged(made: StateSigner, *, headers: dict[str, Any] | None = None, **changes: Any) -> str:
    """Return a state that is signed as ours are, with other claims."""
    claims = {**CLAIMS.model_dump(), "exp": int(NOW.timestamp()) + 60, "jti": "n", "client": "c", **changes}
    return jwt.encode({k: v for k, v in claims.items() if v is not None}, made._keys[0].signing, "HS256", headers)


# ---------------------------------------------------------------------------------------------------------- the states
def test_a_state_comes_back_as_it_was_signed_and_belongs_to_itself_alone() -> None:
    made = signer(NOW + timedelta(milliseconds=999))
    text, signed = made.sign(CLAIMS, client="digest")
    assert made.read(text) == made.read(text.replace("%2E", ".")) == signed
    assert (signed.claims, signed.client, signed.expires_on) == (CLAIMS, "digest", NOW + timedelta(minutes=5))
    _, other = made.sign(CLAIMS, client="digest")
    assert len({signed.number, other.number, signed.verifier.reveal(), other.verifier.reveal()}) == 4
    assert (len(signed.number), len(signed.verifier.reveal())) == (43, 86)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(signed.verifier.reveal().encode()).digest())
    assert signed.challenge == challenge.decode().rstrip("=")


def test_a_state_is_over_at_its_end_and_one_of_a_far_future_is_none() -> None:
    text, _ = signer().sign(CLAIMS, client="c")
    assert signer(NOW + timedelta(minutes=5) - timedelta(microseconds=1)).read(text)
    assert signer(NOW - timedelta(minutes=5)).read(text)  # the clocks of two machines may differ
    for now, match in (
        (NOW + timedelta(minutes=5), "its five minutes are over"),
        (NOW - timedelta(minutes=5, microseconds=1), "does not say what a state says"),
    ):
        with pytest.raises(OAuth2Error, match=match):
            signer(now).read(text)


def test_what_is_no_state_of_ours_opens_nothing() -> None:
    made = signer()
    good = forged(made)
    assert made.read(good).number == "n"
    longest = forged(made, default_redirect_uri="x" * (6_144 - len(good) * 3 // 4))
    assert len(longest) < 8_193
    ours, content = "not one of this service", "does not say what a state says"
    cases: tuple[tuple[object, str], ...] = (
        (None, ours),
        (b"x", ours),
        ("", ours),
        ("x" * 8_193, ours),
        (good[:-2], ours),
        (forged(signer(key=OLDER)), ours),
        (forged(made, headers={"crit": ["exp"]}), ours),
        (jwt.encode(json.loads("{}"), "", "none"), ours),
        (forged(made, jti=5), f"{ours}|{content}"),  # newer versions of PyJWT look at it, too
        *((forged(made, **{name: value}), content) for name, value in (("jti", None), ("client", None), ("client", 5))),
        *((forged(made, exp=value), content) for value in (None, 5.5, 10**17)),
        *((forged(made, **{name: value}), content) for name in ("database_id", "tab_id") for value in (None, [])),
    )
    for text, match in cases:
        with pytest.raises(OAuth2Error, match=match):
            made.read(text)


def test_older_keys_read_states_and_sign_none() -> None:
    text, signed = signer(key=OLDER).sign(CLAIMS, client="c")
    both = signer(previous_secret_keys=(OLDER,))
    assert both.read(text) == signed
    newer, _ = both.sign(CLAIMS, client="c")
    assert signer().read(newer)
    with pytest.raises(OAuth2Error, match="not one of this service"):
        signer(key=OLDER).read(newer)


def test_keys_of_states_are_never_pickled() -> None:
    for made in (signer(), signer()._keys[0]):
        with pytest.raises(TypeError, match="never pickled"):
            pickle.dumps(made)


# ------------------------------------------------------------------------------------------------- the registrations
def test_the_databases_own_client_goes_first_then_that_of_its_name_then_of_its_engine() -> None:
    own, named, engine = client(id="own"), client(id="named"), client(id="engine")
    secret = Secret(json.dumps({"oauth2_client_info": {**FACTS, "id": "own"}}))
    both = {"shop": named, "postgresql": engine}
    assert client_of_database(a_database(secret_extra=secret), both) == own
    assert client_of_database(a_database(), both) == named
    assert client_of_database(a_database(secret_extra=Secret('{"other": 1}')), both) == named
    assert client_of_database(a_database(name="other"), both) == engine
    assert client_of_database(a_database(name="other"), {"shop": named}) is None


def test_a_client_that_cannot_be_read_is_told_without_its_text() -> None:
    for text, match in (("[]", "no JSON object"), ("{s3cret", "no JSON object"), ('{"oauth2_client_info": 5}', "")):
        with pytest.raises(OAuth2Error, match=f"database 'shop' cannot be used: .*{match}") as raised:
            client_of_database(a_database(secret_extra=Secret(text)), {})
        assert "s3cret" not in str(raised.value)


def test_a_digest_changes_with_client_token_address_and_server_and_not_with_the_account() -> None:
    def digest(uri: str = "postgresql://u:pw@h:1/d?a=b", **changes: Any) -> str:
        return client_digest(client(**changes), replace(a_database(), uri=Secret(uri)))

    first = digest()
    for uri in ("postgresql://h:1/d?a=b", "postgresql://v@h:1/d?a=b", "postgresql://v:p:w@h:1/d?a=b"):
        assert digest(uri) == first, uri
    assert digest(secret="other", scope="other") == first
    others = [digest("postgresql://u:pw@g:1/d?a=b"), digest("postgresql://u:pw@h:1/d?a=c"), digest(id="x")]
    assert len({first, *others, digest(token_request_uri="https://id.example/t")}) == 5
    assert len(first) == 64


def test_an_address_of_a_provider_is_https_or_http_on_a_named_host_without_user_and_fragment() -> None:
    for uri in ("https://h/p", "https://h:443/p?a=b", "http://h", "https://h/" + "x" * 1_990):
        parts = web_address(uri)
        assert parts is not None
        assert parts.geturl() == uri
    longest = "https://h/" + "x" * 1_991
    for uri in (longest, "", "h/p", "ftp://h/p", "https:///p", "https://u@h/p", "https://u:p@h", "https://h/#f"):
        assert web_address(uri) is None, uri
    for uri in ("https://h:0/", "https://h:99999/", "https://[h/", "https://h/ p", "https://h\\@g/", "https://é/"):
        assert web_address(uri) is None, uri
    assert provider_address("https://h/p", ()) is not None
    assert provider_address("http://h/p", ("h",)) is not None
    assert provider_address("http://h/p", ("g",)) is provider_address("https://u@h/", ("h",)) is None


def test_each_part_of_a_client_that_nobody_could_use_is_named() -> None:
    def paths(**changes: Any) -> list[str]:
        return [problem.path for problem in client_problems(client(**changes))]

    assert paths() == paths(redirect_uri="https://app.example/back") == paths(redirect_uri="") == []
    for name in ("authorization_request_uri", "token_request_uri", "redirect_uri"):
        assert paths(**{name: "nowhere"}) == [name]
    assert paths(id="") == ["id"]
    (problem,) = client_problems(client(token_request_uri="x"))
    assert problem.message == "must be an address such as https://host/path"
    (problem,) = client_problems(client(id=""))
    assert problem.message == "must be what the provider calls us, not empty"


# ------------------------------------------------------------------------------------------------------- the answers
class FixedEndpoint:
    """Gives one answer, or raises it."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.sent: list[tuple[str, Mapping[str, str], OAuth2ContentType, float]] = []

    def request(
        self, uri: str, fields: Mapping[str, str], *, content_type: OAuth2ContentType, timeout_s: float
    ) -> Mapping[str, Any]:
        self.sent.append((uri, dict(fields), content_type, timeout_s))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[no-any-return]


def redeem(endpoint: FixedEndpoint) -> TokenGrant:
    return TokenRequests(endpoint).redeem(
        client(), Secret("c0de"), redirect_uri="https://app.example/", verifier=Secret("v"), timeout_s=3.0
    )


def refresh(answer: Any) -> TokenGrant | None:
    return TokenRequests(FixedEndpoint(answer)).refresh(client(), Secret("r1"), timeout_s=3.0)


def test_codes_and_refresh_tokens_are_sent_with_the_client_to_its_address() -> None:
    endpoint = FixedEndpoint({"access_token": "a", "expires_in": 60, "refresh_token": "r"})
    assert redeem(endpoint) == TokenGrant(access_token=Secret("a"), expires_in_s=60.0, refresh_token=Secret("r"))
    TokenRequests(endpoint).refresh(client(request_content_type="data"), Secret("r1"), timeout_s=4.0)
    ours = {"client_id": "our-client", "client_secret": "s3cret"}
    code = {"code": "c0de", "redirect_uri": "https://app.example/", "code_verifier": "v"}
    uri = "https://id.example/token"
    assert endpoint.sent == [
        (uri, {**ours, "grant_type": "authorization_code", **code}, OAuth2ContentType.JSON, 3.0),
        (uri, {**ours, "grant_type": "refresh_token", "refresh_token": "r1"}, OAuth2ContentType.DATA, 4.0),
    ]


def test_the_life_of_a_token_is_a_number_of_seconds_up_to_a_century() -> None:
    century = 100 * 366 * 86_400
    for given, seconds in ((None, None), (0, 0.0), ("60", 60.0), (1.5, 1.5), (century, float(century))):
        grant = refresh({"access_token": "a", "expires_in": given})
        assert grant is not None
        assert (grant.expires_in_s, grant.refresh_token) == (seconds, None), given
    for given in (-1, century + 1, math.nan, math.inf, True, False, "soon", [], 10**400):
        odd = refresh({"access_token": "a", "expires_in": given, "refresh_token": "r"})
        assert odd == TokenGrant(access_token=Secret("a"), refresh_token=Secret("r")), given


def test_tokens_are_printable_texts_and_an_answer_without_one_gives_none() -> None:
    for answer in ({}, {"access_token": None}, {"access_token": ""}, {"error": "invalid_grant"}):
        assert refresh(answer) is None
    grant = refresh({"access_token": "a", "refresh_token": ""})
    assert grant == TokenGrant(access_token=Secret("a"))
    for name in ("access_token", "refresh_token"):
        for value in (5, "a\n", "é", ["a"]):
            with pytest.raises(TokenEndpointError, match=f"{name} is no text of printable characters") as raised:
                refresh({"access_token": "a", name: value})
            assert not raised.value.retryable


KNOWN_CODES = (  # RFC 6749, 4.1.2.1 and 5.2, then OpenID Connect Core, 3.1.2.6
    *("invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type"),
    *("invalid_scope", "access_denied", "unsupported_response_type", "server_error", "temporarily_unavailable"),
    *("interaction_required", "login_required", "account_selection_required", "consent_required"),
)


def test_a_refusal_is_repeated_by_its_known_code_alone() -> None:
    for code, said in (*((code, f": {code}") for code in KNOWN_CODES), ("s3cret", ""), (None, ""), (["a_code"], "")):
        assert refusal({"error": code}) == said
        assert known_refusal(code) == (code if said else None)
        with pytest.raises(OAuth2Error) as raised:
            redeem(FixedEndpoint({"error": code}))
        assert raised.value.message == f"the provider gave no access token for this authorization{said}"


def test_whatever_an_endpoint_raises_holds_nothing_that_was_sent() -> None:
    ours = TokenEndpointError("it is slow")
    for raised, said in ((ours, "it is slow"), (ValueError("s3cret"), "the client that asks token endpoints failed")):
        with pytest.raises(TokenEndpointError) as caught:
            redeem(FixedEndpoint(raised))
        assert (caught.value.message, caught.value.__cause__) == (said, None)
    for answer in (None, [], "text"):
        with pytest.raises(TokenEndpointError, match="an answer that cannot be used: it is no object") as caught:
            redeem(FixedEndpoint(answer))
        assert not caught.value.retryable


def test_why_an_endpoint_cannot_be_asked_is_told_to_those_who_may_know() -> None:
    def fail(error: AnalyticsError) -> Any:
        raise error

    database = a_database()
    assert asking(lambda: 5, database, may_know_why=False) == 5
    for may_know_why, said in ((True, "no host h"), (False, "'shop' cannot be asked; the log tells")):
        with pytest.raises(TokenEndpointError, match=said):
            asking(lambda: fail(TokenEndpointError("no host h")), database, may_know_why=may_know_why)
    with pytest.raises(DatabaseError, match="other"):
        asking(lambda: fail(DatabaseError("other")), database, may_know_why=False)
    assert malformed("x").retryable is False

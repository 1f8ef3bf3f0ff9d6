"""Guest tokens between their times, and origins in their one spelling: up to each bound."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest

from analytics_core._engine.rights.guest_tokens import GuestTokens, attributes_of, named
from analytics_core._engine.rights.origins import allows_origin, read_origin
from analytics_core._records.settings import Settings
from analytics_core.errors import (
    GuestTokenError,
    LimitError,
)
from analytics_core.models.embedded import GuestTokenCreate, GuestUser
from analytics_core.testing.clock import FixedClock

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
REQUEST = GuestTokenCreate.model_validate(
    {"user": {"username": "ada"}, "resources": [{"type": "dashboard", "id": "x"}], "rls": []}
)


def tokens(now: datetime = NOW, **settings: Any) -> GuestTokens:
    return GuestTokens(Settings(secret_key="a-test-key-that-is-long-enough-9f3a", **settings), FixedClock(now))


def forged(**changes: Any) -> str:
    made = tokens()
    issued = NOW.timestamp()
    claims = {
        "type": "guest",
        "aud": made._settings.guest_token_audience,
        "iat": issued,
        "exp": issued + 60,
        "jti": "n" * 16,
        "sub": "ada",
        "user": {"username": "ada"},
        "resources": [{"type": "dashboard", "id": "x"}],
        "rls_rules": [],
        "all_rows": True,
        **changes,
    }
    return jwt.encode(claims, made._keys[0], algorithm="HS256")


def test_a_token_is_read_between_its_times_and_for_no_longer_than_settings_allow() -> None:
    second, issued = timedelta(seconds=1), NOW.timestamp()
    text = tokens().sign(REQUEST, embedded=("x", "y", "x"), all_rows=(3, 4), life_s=60.0)
    grant = tokens().read(text)
    assert (grant.username, grant.embedded, grant.all_rows, grant.rules) == ("ada", ("x", "y"), frozenset({3, 4}), ())
    assert (grant.issued_on, grant.expires_on) == (NOW, NOW + 60 * second)
    assert tokens(NOW + 59 * second).read(text) == grant
    for after, is_over in ((59, False), (60, True)):
        made = tokens(NOW + after * second)
        for act in (made.check_not_over, lambda _, made=made: made.read(text)):
            if is_over:
                with pytest.raises(GuestTokenError, match="it has expired"):
                    act(grant)
            else:
                act(grant)
    most = tokens()._settings.guest_token_max_life_s
    tokens().read(forged(iat=issued + 30, exp=issued + 30 + most))
    for changes in ({"iat": issued + 30.01}, {"exp": issued + most + 0.01}, {"iat": issued + 20, "exp": issued + 10}):
        with pytest.raises(GuestTokenError, match="its times are not those of a guest token"):
            tokens().read(forged(**changes))
    strange = ({"sub": "eve"}, {"all_rows": False}, {"all_rows": ()}, {"type": "user"}, {"user": 5})
    for changes in strange:
        with pytest.raises(GuestTokenError):
            tokens().read(forged(**changes))
    assert tokens().read(forged(all_rows=True)).all_rows is None


def test_a_life_is_more_than_nothing_and_at_most_that_of_the_settings() -> None:
    made = tokens(guest_token_max_life_s=100.0, guest_token_life_s=50.0)
    for life, lasts in ((None, 50), (100.0, 100), (1, 1)):
        grant = made.read(made.sign(REQUEST, embedded=("x",), all_rows=True, life_s=life))
        assert grant.expires_on - grant.issued_on == timedelta(seconds=lasts)
    for life in (0, -1, 100.1, True, "5"):
        wrong: Any = life
        with pytest.raises(LimitError, match="life_s must be more than 0 and at most 100"):
            made.sign(REQUEST, embedded=("x",), all_rows=True, life_s=wrong)
    size = len(made.sign(REQUEST, embedded=("x",), all_rows=True, life_s=None))
    small = tokens(guest_token_max_bytes=size - 1, guest_token_max_life_s=100.0, guest_token_life_s=50.0)
    with pytest.raises(LimitError, match=f"the guest token would take {size} bytes"):
        small.sign(REQUEST, embedded=("x",), all_rows=True, life_s=None)
    exact = tokens(guest_token_max_bytes=size, guest_token_max_life_s=100.0, guest_token_life_s=50.0)
    assert exact.read(exact.sign(REQUEST, embedded=("x",), all_rows=True, life_s=None))
    for token in (None, 5, b"x", "x" * (size + 1)):
        with pytest.raises(GuestTokenError, match="it is not one of this service"):
            exact.read(token)


def test_a_guest_has_the_names_that_the_host_gave_and_ours_for_the_others() -> None:
    def names(**given: Any) -> tuple[str | None, ...]:
        user = named(GuestUser(**given) if given else None)
        return user.username, user.first_name, user.last_name

    assert names() == ("guest_user", "Guest", "User")
    assert names(username="ada") == ("ada", "Guest", "User")
    assert names(first_name="A", last_name="L") == ("guest_user", "A", "L")
    user = GuestUser(username="ada", attributes={"region": ["North", "South"], "tier": "1"})
    assert attributes_of(user) == (("region", "North"), ("region", "South"), ("tier", "1"))
    assert attributes_of(GuestUser(username="ada")) == ()


def test_an_origin_has_one_spelling_and_nothing_beside_scheme_host_and_port() -> None:
    for text, origin in (
        ("https://Shop.example", "https://shop.example"),
        ("https://shop.example/", "https://shop.example"),
        ("https://shop.example:443", "https://shop.example"),
        ("http://shop.example:443", "http://shop.example:443"),
        ("http://localhost:80", "http://localhost"),
        ("https://[::1]:8443", "https://[::1]:8443"),
        ("https://[::1]", "https://[::1]"),
        (f"https://{'a' * 63}.example", f"https://{'a' * 63}.example"),
    ):
        assert read_origin(text) == origin
        assert allows_origin((origin,), text)
        assert not allows_origin(("https://other.example",), text)
    letters = "x." * 146
    assert len(f"https://{letters}") == 300
    assert read_origin(f"https://{letters[:-1]}x") is not None
    assert read_origin(f"https://{letters}xx") is None
    wrong = ("ftp://h", "https://", "https://h/a", "https://h?", "https://h#", "https://u@h", "https://h:", "h", "")
    for text in (
        *wrong,
        "https://*.h",
        "https://-h",
        "https://h..i",
        f"https://{'a' * 64}",
        "https://h:x",
        "https://h i",
    ):
        assert read_origin(text) is None, text
        assert not allows_origin(("https://h",), text)
    for value in (None, 5, "https://[::1]x", "https://[h]", "https://h\\i", "https://h:99999"):
        assert read_origin(value) is None, value
    assert allows_origin((), None)
    assert not allows_origin(("https://h",), None)

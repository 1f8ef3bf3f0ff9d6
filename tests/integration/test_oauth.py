"""Users authorize at a real provider, and their tokens are kept, renewed and removed as the contract says."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jwt
import pytest
from tests.support.cases import for_each
from tests.support.oauth_provider import CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, Provider, provider, settings_for
from tests.support.small_core import KEY, SmallCore, small_core

from analytics_core import AnalyticsCore, errors
from analytics_core._engine.oauth.state import StateSigner
from analytics_core._engine.oauth.token_renewal import STORE_MARGIN_S
from analytics_core._records.repositories import ListQuery
from analytics_core._records.secret import Secret
from analytics_core._records.shared_state import Lease, OAuth2TokenRecord
from analytics_core.testing.clock import FixedClock

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def guard() -> Iterator[Provider]:
    with provider() as made:
        yield made


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture
def open_core(guard: Provider, clock: FixedClock, tmp_path: Path) -> Iterator[Callable[..., SmallCore]]:
    """Return what makes a core whose database 1 is guarded."""
    opened = []

    def make(*, ports: Any = None, metadata_url: str = "sqlite://", **settings: Any) -> SmallCore:
        given = {"clock": clock, **(ports or {})}
        context = small_core(tmp_path, ports=given, metadata_url=metadata_url, **settings_for(guard, **settings))
        opened.append(context)
        return context.__enter__()

    yield make
    for context in opened:
        context.__exit__(None, None, None)


@pytest.fixture
def core(open_core: Callable[..., SmallCore]) -> AnalyticsCore:
    return open_core().core


def authorize(core: AnalyticsCore, guard: Provider, account: str = "ada") -> Any:
    return core.oauth.callback(**guard.authorize(core.oauth.start(1).url, account))


def records(core: AnalyticsCore) -> list[OAuth2TokenRecord]:
    with core._runtime.content.store.unit_of_work() as unit:
        return list(unit.oauth2_tokens.list(ListQuery())[1])


def stale(core: AnalyticsCore, **changes: Any) -> None:
    """Change the one token record."""
    with core._runtime.content.store.unit_of_work() as unit:
        (found,) = unit.oauth2_tokens.list(ListQuery())[1]
        unit.oauth2_tokens.update(replace(found, **changes), actor_id=None)


# ------------------------------------------------------------------------------------------------- the way and back
def test_a_user_authorizes_once_and_has_a_token(core: AnalyticsCore, guard: Provider) -> None:
    assert core.oauth.access_token(1) is None
    started = core.oauth.start(1, redirect_to="https://app.example/sales?tab=2", tab_id="tab-7")
    params = dict(parse_qsl(urlsplit(started.url).query))
    assert params.pop("state") == started.state
    assert len(params.pop("code_challenge")) == 43
    assert params == {
        "response_type": "code",
        "client_id": CLIENT_ID,
        "redirect_uri": REDIRECT_URI,
        "scope": "read sales",
        "code_challenge_method": "S256",
        "access_type": "offline",
        "prompt": "consent",
    }
    done = core.oauth.callback(**guard.authorize(started.url))
    assert (done.database_id, done.tab_id, done.redirect_to) == (1, "tab-7", "https://app.example/sales?tab=2")
    assert core.oauth.access_token(1) == guard.issued[-1]
    (sent,) = guard.bodies
    assert len(sent.pop("code_verifier")) == 86
    assert sent.pop("code").startswith("code-")
    assert sent == {
        "grant_type": "authorization_code",
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "redirect_uri": REDIRECT_URI,
    }


@pytest.mark.parametrize(
    ("kind", "sent"), [("json", "application/json"), ("data", "application/x-www-form-urlencoded")]
)
def test_requests_are_written_as_the_client_says(
    open_core: Callable[..., SmallCore], guard: Provider, kind: str, sent: str
) -> None:
    core = open_core(oauth2_clients={"shop": guard.client(request_content_type=kind)}).core
    authorize(core, guard)
    assert (guard.content_types, core.oauth.access_token(1)) == ([sent], guard.issued[-1])


def test_the_state_is_a_jwt_without_periods(core: AnalyticsCore) -> None:
    started = core.oauth.start(1, tab_id="t")
    assert "." not in started.state
    signer = StateSigner(core._runtime.parts.settings, core._runtime.content.clock)
    key = signer._keys[0].signing
    text = started.state.replace("%2E", ".")
    claims = jwt.decode(text, key, algorithms=["HS256"], options={"verify_exp": False})
    assert claims.pop("jti")
    assert claims.pop("client")
    assert claims == {
        "exp": int(START.timestamp()) + 300,
        "database_id": 1,
        "user_id": 1,
        "default_redirect_uri": REDIRECT_URI,
        "tab_id": "t",
    }


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_the_configured_algorithm_signs(open_core: Callable[..., SmallCore], guard: Provider, algorithm: str) -> None:
    core = open_core(oauth2_jwt_algorithm=algorithm).core
    text = core.oauth.start(1).state.replace("%2E", ".")
    assert jwt.get_unverified_header(text)["alg"] == algorithm
    authorize(core, guard)


@pytest.mark.parametrize("algorithm", ["none", "RS256", "hs256", ""])
def test_no_other_algorithm_starts(open_core: Callable[..., SmallCore], algorithm: str) -> None:
    with pytest.raises(errors.SettingsError, match="oauth2_jwt_algorithm"):
        open_core(oauth2_jwt_algorithm=algorithm)


def test_the_host_says_where_the_provider_leads_back_to(open_core: Callable[..., SmallCore], guard: Provider) -> None:
    client = {key: value for key, value in guard.client().items() if key != "redirect_uri"}
    where = {"oauth2_callback": "https://app.example/from-host"}
    core = open_core(oauth2_clients={"shop": client}, url_for=lambda kind, _: where.get(kind)).core
    started = core.oauth.start(1)
    assert (
        started.redirect_uri == dict(parse_qsl(urlsplit(started.url).query))["redirect_uri"] == where["oauth2_callback"]
    )
    assert core.oauth.callback(**guard.authorize(started.url)).redirect_to is None
    where.clear()
    with pytest.raises(errors.OAuth2Error, match="oauth2_callback"):
        core.oauth.start(1)


def test_without_a_callback_nothing_starts(open_core: Callable[..., SmallCore], guard: Provider) -> None:
    client = {key: value for key, value in guard.client().items() if key != "redirect_uri"}
    core = open_core(oauth2_clients={"shop": client}).core
    with pytest.raises(errors.OAuth2Error, match="redirect_uri"):
        core.oauth.start(1)


def test_a_database_without_a_client_takes_no_authorization(open_core: Callable[..., SmallCore]) -> None:
    core = open_core(oauth2_clients={}).core
    assert core.oauth.access_token(1) is None
    with pytest.raises(errors.OAuth2Error, match="has no OAuth"):
        core.oauth.start(1)


def test_the_client_of_the_database_goes_before_those_of_the_settings(
    open_core: Callable[..., SmallCore], guard: Provider
) -> None:
    clients = {"sqlite": guard.client(id="of the engine"), "shop": guard.client(id="of the name")}
    core = open_core(oauth2_clients=clients).core

    def id_sent() -> str:
        return dict(parse_qsl(urlsplit(core.oauth.start(1).url).query))["client_id"]

    assert id_sent() == "of the name"
    own = Secret(json.dumps({"oauth2_client_info": guard.client(id="its own"), "credentials_info": {}}))
    with core._runtime.content.store.unit_of_work() as unit:
        unit.databases.update(replace(unit.databases.get(1), secret_extra=own), actor_id=1)
    assert id_sent() == "its own"


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("{hunter2", "no JSON object"),
        ("[1]", "no JSON object"),
        ('{"oauth2_client_info": {"secret": "hunter2"}}', "is required"),
        ('{"oauth2_client_info": "hunter2"}', "."),
    ],
)
def test_a_client_that_cannot_be_read_is_told_without_its_text(core: AnalyticsCore, text: str, match: str) -> None:
    with core._runtime.content.store.unit_of_work() as unit:
        unit.databases.update(replace(unit.databases.get(1), secret_extra=Secret(text)), actor_id=1)
    for ask in (core.oauth.start, core.oauth.access_token):
        with pytest.raises(errors.OAuth2Error, match=match) as caught:
            ask(1)
        assert "hunter2" not in repr(caught.value) + str(caught.value.to_payload())


def test_the_provider_may_refuse(core: AnalyticsCore, guard: Provider) -> None:
    state = core.oauth.start(1).state
    with pytest.raises(errors.OAuth2Error, match=r"refused the authorization: access_denied$"):
        core.oauth.callback(state=state, error="access_denied")
    with pytest.raises(errors.OAuth2Error, match="used before"):
        core.oauth.callback(**guard.authorize(core.oauth.start(1).url) | {"state": state})
    with pytest.raises(errors.OAuth2Error, match=r"refused the authorization$"):
        core.oauth.callback(state=core.oauth.start(1).state, error="<script>hunter2</script>")
    assert guard.requests.total() == 0


@pytest.mark.parametrize("code", [None, "", 7, "x" * 9_000])
def test_without_a_code_nothing_is_sent(core: AnalyticsCore, guard: Provider, code: Any) -> None:
    with pytest.raises(errors.OAuth2Error, match="no code"):
        core.oauth.callback(state=core.oauth.start(1).state, code=code)
    assert guard.requests.total() == 0


def test_a_redirect_tells_what_clients_look_for(core: AnalyticsCore) -> None:
    database = core._runtime.content.store.unit_of_work
    with database() as unit:
        found = unit.databases.get(1)
    error = core._runtime.engine.oauth.flow.redirect_error(found, 1, tab_id="t")
    item = error.to_payload()["errors"][0]
    assert (error.status, item["error_type"], item["level"]) == (403, "OAUTH2_REDIRECT", "warning")
    assert item["extra"].keys() == {"url", "tab_id", "redirect_uri"}
    assert (item["extra"]["tab_id"], item["extra"]["redirect_uri"]) == ("t", REDIRECT_URI)


# --------------------------------------------------------------------------------- the contract's table of moves
def test_a_token_counts_until_its_expiration_and_not_at_it(
    core: AnalyticsCore, guard: Provider, clock: FixedClock
) -> None:
    authorize(core, guard)
    clock.advance(timedelta(seconds=3_599, microseconds=999_999))
    assert core.oauth.access_token(1) == guard.issued[0]
    assert guard.requests["refresh_token"] == 0
    clock.advance(timedelta(microseconds=1))
    assert core.oauth.access_token(1) == guard.issued[1]
    assert guard.requests["refresh_token"] == 1
    (token,) = records(core)
    assert token.access_token_expiration == clock.now() + timedelta(hours=1)
    assert token.refresh_until is None


def test_rotated_refresh_tokens_are_stored(core: AnalyticsCore, guard: Provider, clock: FixedClock) -> None:
    authorize(core, guard)
    for turn in range(1, 4):
        clock.advance(timedelta(hours=2))
        assert core.oauth.access_token(1) == guard.issued[turn]
    assert len({body.get("refresh_token") for body in guard.bodies}) == 4


def test_a_provider_that_does_not_rotate_goes_on_with_the_first(
    core: AnalyticsCore, guard: Provider, clock: FixedClock
) -> None:
    guard.rotates = False
    authorize(core, guard)
    for turn in range(1, 3):
        clock.advance(timedelta(hours=2))
        assert core.oauth.access_token(1) == guard.issued[turn]


def test_a_token_that_is_over_and_has_no_refresh_token_is_deleted(
    core: AnalyticsCore, guard: Provider, clock: FixedClock
) -> None:
    guard.gives_refresh_tokens = False
    authorize(core, guard)
    assert core.oauth.access_token(1) == guard.issued[0]
    clock.advance(timedelta(hours=2))
    assert core.oauth.access_token(1) is None
    assert records(core) == []


def test_a_refresh_without_a_token_changes_nothing(core: AnalyticsCore, guard: Provider, clock: FixedClock) -> None:
    authorize(core, guard)
    before, listed = records(core)[0], core.oauth.list()
    clock.advance(timedelta(hours=2))
    guard.revoke()
    for misbehaviour in (None, "no_token"):
        guard.misbehaviour = misbehaviour
        assert core.oauth.access_token(1) is None
        after = records(core)[0]
        assert replace(after, audit=replace(after.audit, version=before.audit.version)) == before
    guard.misbehaviour = "error"
    with pytest.raises(errors.TokenEndpointError):
        core.oauth.access_token(1)
    assert core.oauth.list() == listed


def test_a_renewal_is_a_change_of_the_tokens(core: AnalyticsCore, guard: Provider, clock: FixedClock) -> None:
    authorize(core, guard)
    clock.advance(timedelta(hours=2))
    assert core.oauth.access_token(1) is not None
    assert [token.changed_on for token in core.oauth.list()] == [clock.now()]


def test_a_token_of_which_the_provider_gives_no_end_counts_until_it_is_forgotten(
    open_core: Callable[..., SmallCore], clock: FixedClock
) -> None:
    class Endless:
        def request(self, *_: Any, **__: Any) -> dict[str, str]:
            return {"access_token": "endless"}

    core = open_core(ports={"token_endpoint": Endless()}).core
    core.oauth.callback(state=core.oauth.start(1).state, code="c")
    clock.advance(timedelta(days=3_000))
    assert core.oauth.access_token(1) == "endless"
    core.oauth.forget(1)
    assert core.oauth.access_token(1) is None


@pytest.mark.parametrize("seconds", ["60", 60, 60.5])
def test_some_providers_write_the_seconds_as_text(
    open_core: Callable[..., SmallCore], clock: FixedClock, seconds: Any
) -> None:
    class OfText:
        def request(self, *_: Any, **__: Any) -> dict[str, Any]:
            return {"access_token": "a", "expires_in": seconds}

    core = open_core(ports={"token_endpoint": OfText()}).core
    core.oauth.callback(state=core.oauth.start(1).state, code="c")
    assert core.oauth.list()[0].access_token_expiration == clock.now() + timedelta(seconds=float(seconds))


@for_each("seconds", [-1, True, "soon", [], float("nan"), 1e300, None])
def test_a_token_whose_time_cannot_be_read_counts_until_it_is_forgotten(
    open_core: Callable[..., SmallCore], seconds: Any
) -> None:
    class Odd:
        def request(self, *_: Any, **__: Any) -> dict[str, Any]:
            return {"access_token": "a", "expires_in": seconds}

    core = open_core(ports={"token_endpoint": Odd()}).core
    core.oauth.callback(state=core.oauth.start(1).state, code="c")
    assert core.oauth.list()[0].access_token_expiration is None
    assert core.oauth.access_token(1) == "a"


@pytest.mark.slow
@for_each(
    "answer",
    [
        {"access_token": 7},
        {"access_token": ["a"]},
        {"access_token": "a\nb"},
        {"access_token": "a", "refresh_token": 1},
        [],
        None,
        "text",
    ],
)
def test_an_answer_that_cannot_be_used_is_told_and_stores_nothing(
    open_core: Callable[..., SmallCore], answer: Any
) -> None:
    class Odd:
        def request(self, *_: Any, **__: Any) -> Any:
            return answer

    core = open_core(ports={"token_endpoint": Odd()}).core
    with pytest.raises(errors.TokenEndpointError):
        core.oauth.callback(state=core.oauth.start(1).state, code="c")
    assert records(core) == []


def test_a_new_authorization_replaces_all_tokens(core: AnalyticsCore, guard: Provider) -> None:
    authorize(core, guard)
    guard.gives_refresh_tokens = False
    authorize(core, guard, "ada's other account")
    (token,) = records(core)
    assert (core.oauth.access_token(1), token.refresh_token) == (guard.issued[1], None)


# ------------------------------------------------------------------------------------------------------ life cycle
def test_tokens_go_with_the_user_the_database_and_by_wish(open_core: Callable[..., SmallCore], guard: Provider) -> None:
    small = open_core(oauth2_clients={"sqlite": guard.client()})
    admin, reader = small.core, small.reader()
    role = admin.roles.create({"name": "of the shop"})
    admin.roles.grant(role, on=admin.databases.get(1))
    person = admin.users.create({"username": "bo", "roles": [role.id]})
    bo = admin.as_user(person.id)
    for one in (admin, bo):
        authorize(one, guard)
    assert len(records(admin)) == 2
    with pytest.raises(errors.DatabaseAccessError):
        reader.oauth.start(1)
    admin.users.delete(person.id)
    assert [token.user_id for token in records(admin)] == [1]
    admin.databases.delete(1)
    assert records(admin) == []


def test_tokens_of_another_client_are_not_used(
    open_core: Callable[..., SmallCore], guard: Provider, tmp_path: Path
) -> None:
    core = open_core(metadata_url=f"sqlite:///{tmp_path}/meta.db").core
    authorize(core, guard)
    assert core.oauth.access_token(1)
    stale(core, client="0" * 64)
    assert core.oauth.access_token(1) is None
    assert records(core) == []


@pytest.mark.parametrize(
    ("change", "stays"),
    [({"id": "another"}, False), ({"token_request_uri": "https://evil.example/token"}, False), ({"scope": "x"}, True)],
)
def test_tokens_go_when_the_client_of_the_database_changes(
    open_core: Callable[..., SmallCore], guard: Provider, change: dict[str, str], stays: bool
) -> None:
    core = open_core().core
    authorize(core, guard)
    runtime = core._runtime.content
    own = Secret(json.dumps({"oauth2_client_info": guard.client(**change)}))
    with runtime.store.unit_of_work() as unit:
        stored = unit.databases.get(1)
        changed = unit.databases.update(replace(stored, secret_extra=own), actor_id=1)
        runtime.engine.oauth.tokens.drop_for_others(unit, changed, before=stored, is_elsewhere=False)
    assert bool(records(core)) is stays


def test_own_tokens_are_listed_without_their_values(core: AnalyticsCore, guard: Provider, clock: FixedClock) -> None:
    authorize(core, guard)
    (token,) = core.oauth.list()
    assert (token.database_id, token.is_renewable) == (1, True)
    assert token.access_token_expiration == clock.now() + timedelta(hours=1)
    assert not any(secret in repr(token) for secret in (guard.issued[0], "refresh-"))
    core.oauth.forget(1)
    core.oauth.forget(1)
    assert core.oauth.list() == ()


def test_what_was_done_stands_in_the_log_without_a_secret(core: AnalyticsCore, guard: Provider) -> None:
    authorize(core, guard)
    core.oauth.forget(1)
    with core._runtime.content.store.unit_of_work() as unit:
        entries = [(entry.action, entry.json) for entry in unit.logs.list(ListQuery())[1]]
    expected = json.dumps({"database_id": 1})
    assert [entry for entry in entries if entry[0].startswith("oauth.")] == [
        ("oauth.start", expected),
        ("oauth.callback", expected),
        ("oauth.forget", expected),
    ]


def test_tokens_are_sealed_anew_and_pruned(
    open_core: Callable[..., SmallCore], guard: Provider, clock: FixedClock
) -> None:
    core = open_core().core
    authorize(core, guard)
    assert core.reseal_secrets() == 3
    assert core.oauth.access_token(1) == guard.issued[0]
    clock.advance(timedelta(days=3))
    assert core.prune().oauth2_tokens == 0
    stale(core, refresh_token=None)
    assert core.prune().oauth2_tokens == 1
    assert core.prune().key_values == 0  # the used state went with the first
    assert records(core) == []


def test_somebody_with_one_dataset_may_authorize(open_core: Callable[..., SmallCore], guard: Provider) -> None:
    small = open_core()
    reader = small.reader(small.stored_orders())
    authorize(reader, guard, "reader")
    assert reader.oauth.access_token(1) == guard.issued[0]
    assert small.core.oauth.access_token(1) is None


# ---------------------------------------------------------------------------------------------- one refresh for all
def test_threads_of_a_process_share_one_refresh(
    open_core: Callable[..., SmallCore], guard: Provider, clock: FixedClock, tmp_path: Path
) -> None:
    core = open_core(metadata_url=f"sqlite:///{tmp_path}/meta.db").core
    authorize(core, guard)
    clock.advance(timedelta(hours=2))
    guard.delay_s = 0.3
    with ThreadPoolExecutor(max_workers=50) as pool:
        tokens = list(pool.map(lambda _: core.oauth.access_token(1), range(50)))
    assert set(tokens) == {guard.issued[1]}
    assert guard.requests["refresh_token"] == 1


def test_threads_share_the_error_of_one_refresh(
    open_core: Callable[..., SmallCore], guard: Provider, clock: FixedClock
) -> None:
    core = open_core().core
    authorize(core, guard)
    clock.advance(timedelta(hours=2))
    guard.misbehaviour, guard.delay_s = "error", 0.5
    barrier = threading.Barrier(8)

    def ask(_: int) -> errors.TokenEndpointError:
        barrier.wait()
        with pytest.raises(errors.TokenEndpointError, match="status 500") as caught:
            core.oauth.access_token(1)
        return caught.value

    with ThreadPoolExecutor(max_workers=8) as pool:
        raised = list(pool.map(ask, range(8)))
    assert len({id(error) for error in raised}) == 8
    assert guard.requests["refresh_token"] == 1
    assert records(core)[0].refresh_until is None


@dataclass
class BusyLock:
    """A lock that somebody else holds; `release_after` attempts it is free."""

    free_after: int = 1_000
    attempts: int = 0

    def acquire(self, name: str, *, ttl_s: float) -> Lease | None:
        self.attempts += 1
        assert name == "refresh_oauth2_token/1/1"
        assert ttl_s > 30  # longer than a request may take
        return Lease(name=name, owner="me", fencing_number=1) if self.attempts > self.free_after else None

    def release(self, lease: Lease) -> bool:
        return True


class CountedSleep:
    def __init__(self) -> None:
        self.steps: list[float] = []
        self.then: dict[int, Callable[[], object]] = {}

    def sleep(self, seconds: float) -> None:
        self.steps.append(seconds)
        self.then.get(len(self.steps), lambda: None)()


@pytest.mark.slow
def test_a_lock_that_stays_taken_is_tried_five_times_with_growing_pauses(
    open_core: Callable[..., SmallCore], guard: Provider, clock: FixedClock
) -> None:
    lock, sleeper = BusyLock(), CountedSleep()
    core = open_core(ports={"lock": lock, "sleeper": sleeper}).core
    authorize(core, guard)
    clock.advance(timedelta(hours=2))
    with pytest.raises(errors.OAuth2Error, match="too long") as caught:
        core.oauth.access_token(1)
    assert caught.value.retryable
    assert lock.attempts == 5
    assert (
        30.0 + STORE_MARGIN_S < sum(sleeper.steps) <= 10 + 20 + 40 + 40
    )  # longer than the lock of a dead process lasts
    assert max(sleeper.steps) <= 0.1
    assert guard.requests["refresh_token"] == 0


def test_whoever_waits_returns_as_soon_as_the_token_is_fresh(
    open_core: Callable[..., SmallCore], guard: Provider, clock: FixedClock
) -> None:
    lock, sleeper = BusyLock(), CountedSleep()
    core = open_core(ports={"lock": lock, "sleeper": sleeper}).core
    authorize(core, guard)
    clock.advance(timedelta(hours=2))
    later = clock.now() + timedelta(hours=1)
    sleeper.then[3] = lambda: stale(core, access_token=Secret("of another process"), access_token_expiration=later)
    assert core.oauth.access_token(1) == "of another process"
    assert len(sleeper.steps) == 3


def test_whoever_waits_goes_on_when_the_other_one_gives_up(
    open_core: Callable[..., SmallCore], guard: Provider, clock: FixedClock
) -> None:
    lock, sleeper = BusyLock(free_after=1), CountedSleep()
    core = open_core(ports={"lock": lock, "sleeper": sleeper}).core
    authorize(core, guard)
    clock.advance(timedelta(hours=2))
    with core._runtime.content.store.unit_of_work() as unit:
        end = unit.now() + timedelta(minutes=5)
    stale(core, refresh_until=end)
    sleeper.then[2] = lambda: stale(core, refresh_until=None)
    assert core.oauth.access_token(1) == guard.issued[1]
    assert (len(sleeper.steps), lock.attempts) == (3, 2)  # the last one while the lock is let go


def test_inside_the_lock_the_record_is_read_again(
    open_core: Callable[..., SmallCore], guard: Provider, clock: FixedClock
) -> None:
    class RefreshedMeanwhile(BusyLock):
        def acquire(self, name: str, *, ttl_s: float) -> Lease | None:
            later = clock.now() + timedelta(hours=1)
            stale(core, access_token=Secret("just stored"), access_token_expiration=later)
            return super().acquire(name, ttl_s=ttl_s)

    core = open_core(ports={"lock": RefreshedMeanwhile(free_after=0)}).core
    authorize(core, guard)
    clock.advance(timedelta(hours=2))
    assert core.oauth.access_token(1) == "just stored"
    assert guard.requests["refresh_token"] == 0


class ChangesMeanwhile:
    """A provider's answer that comes after something else happened."""

    def __init__(self, answer: dict[str, Any], act: Callable[[], object]) -> None:
        self.answer, self.act = answer, act

    def request(self, _uri: str, fields: Any, **_: Any) -> dict[str, Any]:
        if fields["grant_type"] == "refresh_token":
            self.act()
        return self.answer


def test_a_holder_whose_lock_has_ended_writes_nothing_over(
    open_core: Callable[..., SmallCore], clock: FixedClock
) -> None:
    later = START + timedelta(days=9)
    newer = {"access_token": Secret("newer"), "refresh_token": Secret("r2"), "access_token_expiration": later}
    endpoint = ChangesMeanwhile({"access_token": "late", "expires_in": 60, "refresh_token": "r1"}, lambda: None)
    core = open_core(ports={"token_endpoint": endpoint}).core
    core.oauth.callback(state=core.oauth.start(1).state, code="c")
    clock.advance(timedelta(hours=1))
    endpoint.act = lambda: stale(core, **newer)
    assert core.oauth.access_token(1) == "newer"
    (token,) = records(core)
    assert {name: getattr(token, name) for name in newer} == newer


def test_what_is_forgotten_during_a_refresh_does_not_come_back(
    open_core: Callable[..., SmallCore], clock: FixedClock
) -> None:
    endpoint = ChangesMeanwhile({"access_token": "late", "expires_in": 60, "refresh_token": "r1"}, lambda: None)
    core = open_core(ports={"token_endpoint": endpoint}).core
    core.oauth.callback(state=core.oauth.start(1).state, code="c")
    clock.advance(timedelta(hours=1))
    endpoint.act = lambda: core.oauth.forget(1)
    assert core.oauth.access_token(1) is None
    assert records(core) == []


def test_a_hosts_endpoint_that_raises_is_told_in_our_words(open_core: Callable[..., SmallCore]) -> None:
    class Raises:
        def request(self, _uri: str, fields: Any, **_: Any) -> Any:
            raise RuntimeError(f"cannot send {fields}")

    core = open_core(ports={"token_endpoint": Raises()}).core
    with pytest.raises(errors.TokenEndpointError) as caught:
        core.oauth.callback(state=core.oauth.start(1).state, code="the-code")
    chain = [caught.value, caught.value.__cause__, caught.value.__context__]
    assert not any(secret in repr(one) for one in chain for secret in ("the-code", CLIENT_SECRET))


def test_keys_of_before_still_read_states(open_core: Callable[..., SmallCore], guard: Provider, tmp_path: Path) -> None:
    meta = f"sqlite:///{tmp_path}/meta.db"
    url = open_core(metadata_url=meta).core.oauth.start(1).url
    from analytics_core import Settings

    fresh = Settings(
        secret_key="an0ther-k3y-of-the-same-host-987654321", previous_secret_keys=(KEY,), **settings_for(guard)
    )
    with AnalyticsCore(fresh, metadata_url=meta, acting_as=1, clock=FixedClock(START)) as later:
        later.oauth.callback(**guard.authorize(url))
        assert later.oauth.access_token(1) == guard.issued[0]


# ------------------------------------------------------------------------------------- a store that is away meanwhile
@pytest.mark.slow
def test_a_new_token_is_stored_as_soon_as_the_store_is_back(
    open_core: Callable[..., SmallCore], clock: FixedClock, tmp_path: Path
) -> None:
    file = tmp_path / "meta.db"
    endpoint = ChangesMeanwhile({"access_token": "first", "expires_in": 60, "refresh_token": "r1"}, lambda: None)
    core = open_core(ports={"token_endpoint": endpoint}, metadata_url=f"sqlite:///{file}", store_timeout_s=0.3).core
    core.oauth.callback(state=core.oauth.start(1).state, code="c")
    clock.advance(timedelta(hours=1))
    endpoint.answer = {"access_token": "rotated", "expires_in": 60, "refresh_token": "r2"}
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)

    def lock_for_a_while() -> None:
        other.execute("BEGIN IMMEDIATE")
        threading.Timer(1.5, lambda: other.execute("ROLLBACK")).start()

    endpoint.act = lock_for_a_while
    assert core.oauth.access_token(1) == "rotated"
    (token,) = records(core)
    assert token.refresh_token == Secret("r2")
    other.close()


def test_closing_waits_for_a_token_that_is_renewed(
    open_core: Callable[..., SmallCore], clock: FixedClock, tmp_path: Path
) -> None:
    endpoint = ChangesMeanwhile({"access_token": "first", "expires_in": 60, "refresh_token": "r1"}, lambda: None)
    core = open_core(ports={"token_endpoint": endpoint}, metadata_url=f"sqlite:///{tmp_path}/meta.db").core
    core.oauth.callback(state=core.oauth.start(1).state, code="c")
    clock.advance(timedelta(hours=1))
    endpoint.answer = {"access_token": "rotated", "expires_in": 60, "refresh_token": "r2"}
    requested = threading.Event()

    def answer_late() -> None:
        requested.set()
        time.sleep(0.5)

    endpoint.act = answer_late
    with ThreadPoolExecutor(max_workers=1) as pool:
        renewal = pool.submit(core.oauth.access_token, 1)
        assert requested.wait(10)
        core.close()
        assert renewal.result(timeout=10) == "rotated"


# --------------------------------------------------------------------------- connections that somebody leads elsewhere
TUNNEL = {"server_address": "evil.example", "server_port": 22, "username": "x", "password": "x"}


@pytest.mark.parametrize(
    "change",
    [
        {"ssh_tunnel": {**TUNNEL, "insecure_host_key": True}},
        {"extra": json.dumps({"engine_params": {"connect_args": {"sslmode": "disable"}}})},
    ],
)
def test_tokens_go_when_a_database_is_reached_another_way(
    open_core: Callable[..., SmallCore], guard: Provider, change: dict[str, Any]
) -> None:
    settings = {"oauth2_clients": {"other": guard.client()}}
    core = open_core(**settings).core
    uri = "postgresql://svc@db.example.com/shop?sslmode=prefer"
    other = core.databases.create({"database_name": "other", "orm_uri": uri})
    core.oauth.callback(**guard.authorize(core.oauth.start(other.id).url))
    assert core.oauth.access_token(other.id)
    core.databases.update(other.id, change)
    assert core.oauth.access_token(other.id) is None


def test_a_stored_password_is_not_sent_with_other_options_of_the_driver(open_core: Callable[..., SmallCore]) -> None:
    core = open_core().core
    verified = json.dumps({"engine_params": {"connect_args": {"sslmode": "verify-full"}}})
    uri = "postgresql://svc:stored@db.example.com/shop"
    other = core.databases.create({"database_name": "other", "orm_uri": uri, "extra": verified})
    weaker = json.dumps({"engine_params": {"connect_args": {"sslmode": "disable"}}})
    for extra in ("{}", weaker):
        with pytest.raises(errors.ConnectionUriError, match="give the password again"):
            core.databases.update(other.id, {"extra": extra})
    core.databases.update(other.id, {"extra": weaker, "orm_uri": uri})
    core.databases.update(other.id, {"extra": weaker, "cache_timeout": 5})


def test_a_code_is_not_shown_to_a_client_that_took_the_place_of_the_first(
    open_core: Callable[..., SmallCore], guard: Provider
) -> None:
    core = open_core(oauth2_clients={}).core
    own = {"oauth2_client_info": guard.client()}
    uri = "postgresql://svc@db.example.com/shop"
    other = core.databases.create({"database_name": "other", "orm_uri": uri, "extra": json.dumps(own)})
    given = guard.authorize(core.oauth.start(other.id).url)
    evil = {"oauth2_client_info": guard.client(token_request_uri=f"{guard.url}/elsewhere")}
    core.databases.update(other.id, {"extra": json.dumps(evil)})
    with pytest.raises(errors.OAuth2Error, match="changed meanwhile"):
        core.oauth.callback(**given)
    assert guard.requests["authorization_code"] == 0

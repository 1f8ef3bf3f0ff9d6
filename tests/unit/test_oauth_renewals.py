"""Stored tokens are used while they are fresh, renewed once under a lock, and never written over by an older answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from tests.support.stores import open_store

from analytics_core._engine.oauth.clients import client_digest
from analytics_core._engine.oauth.exchange import TokenGrant, TokenRequests
from analytics_core._engine.oauth.stored_tokens import StoredTokens, TokenOwner
from analytics_core._engine.oauth.token_renewal import OAuthTokens, SharedCalls
from analytics_core._records.datasource import Database
from analytics_core._records.secret import Secret
from analytics_core._records.shared_state import Lease, OAuth2TokenRecord
from analytics_core.errors import DatabaseError, OAuth2Error, StoreUnavailableError, TokenEndpointError
from analytics_core.models.database import OAuth2Client
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.store.records import a_database, a_user

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CLIENT = OAuth2Client(
    id="our-client",
    secret="s3cret",
    scope="read",
    authorization_request_uri="https://id.example/authorize",
    token_request_uri="https://id.example/token",
)


class FreeLock:
    """Gives each lease at once, or none to the first so many."""

    def __init__(self, taken: int = 0) -> None:
        self.taken = taken
        self.acquired: list[tuple[str, float]] = []
        self.released = 0

    def acquire(self, name: str, *, ttl_s: float) -> Lease | None:
        self.acquired.append((name, ttl_s))
        is_free = len(self.acquired) > self.taken
        return Lease(name=name, owner=f"{len(self.acquired)}", fencing_number=1) if is_free else None

    def release(self, lease: Lease) -> bool:
        self.released += 1
        return True


class SlowLock(FreeLock):
    """Takes some seconds for each answer."""

    def __init__(self, clock: FixedClock, seconds: float, taken: int) -> None:
        super().__init__(taken)
        self.clock, self.seconds = clock, seconds

    def acquire(self, name: str, *, ttl_s: float) -> Lease | None:
        self.clock.advance(timedelta(seconds=self.seconds))
        return super().acquire(name, ttl_s=ttl_s)


class FailingStore(StoredTokens):
    """Fails so many times to store what a provider gave."""

    def __init__(self, store: Any, clock: FixedClock, failures: list[Exception]) -> None:
        super().__init__(store, clock)
        self.failures = failures

    def renew(self, claimed: OAuth2TokenRecord, grant: TokenGrant) -> str | None:
        if self.failures:
            raise self.failures.pop(0)
        return super().renew(claimed, grant)


class World:
    """A store with one user and one database, and a provider that answers by a script."""

    def __init__(self, store: Any, clock: FixedClock, lock: FreeLock, stored: StoredTokens) -> None:
        self.clock, self.lock, self.store, self.stored = clock, lock, store, stored
        self.client: OAuth2Client | Exception | None = CLIENT
        self.slept: list[float] = []
        self.changes: list[dict[str, Any]] = []
        """What others store while this process sleeps."""
        self.answers: list[Any] = []
        self.sent: list[str] = []
        with store.unit_of_work() as unit:
            self.user_id = unit.users.add(a_user(), actor_id=None).id
            self.database = unit.databases.add(a_database(), actor_id=None)
        self.owner = TokenOwner(
            database_id=self.database.id, user_id=self.user_id, client=client_digest(CLIENT, self.database)
        )
        self.tokens = OAuthTokens(
            stored=self.stored,
            lock=lock,
            clock=clock,
            sleeper=self,
            requests=TokenRequests(self),
            client_of=self.client_of,
            timeout_s=30.0,
        )

    def client_of(self, _database: Database) -> OAuth2Client | None:
        if isinstance(self.client, Exception):
            raise self.client
        return self.client

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self.changes:
            self.change(**self.changes.pop(0))
        self.clock.advance(timedelta(seconds=seconds))

    def request(self, _uri: str, fields: Any, **_: Any) -> Any:
        self.sent.append(fields["refresh_token"])
        answer = self.answers.pop(0)
        answer = answer() if callable(answer) else answer
        if isinstance(answer, Exception):
            raise answer
        return answer

    def add(self, **changes: Any) -> OAuth2TokenRecord:
        facts = {"access_token": Secret("a1"), "refresh_token": Secret("r1"), "access_token_expiration": NOW}
        whose = {"user_id": self.user_id, "database_id": self.database.id, "client": self.owner.client}
        record = OAuth2TokenRecord(**{**whose, **facts, **changes})
        with self.store.unit_of_work() as unit:
            return unit.oauth2_tokens.add(record, actor_id=None)

    def record(self) -> OAuth2TokenRecord | None:
        with self.store.unit_of_work() as unit:
            return unit.oauth2_tokens.find(database_id=self.database.id, user_id=self.user_id)

    def change(self, **changes: Any) -> None:
        with self.store.unit_of_work() as unit:
            found = unit.oauth2_tokens.find(database_id=self.database.id, user_id=self.user_id)
            unit.oauth2_tokens.update(replace(found, **changes), actor_id=None)

    def get(self) -> str | None:
        return self.tokens.access_token(self.database, self.user_id)


@contextmanager
def world(
    *, taken: int = 0, lock_s: float = 0.0, stored_by: Callable[[Any, FixedClock], StoredTokens] = StoredTokens
) -> Iterator[World]:
    clock = FixedClock(NOW)
    with open_store("sqlite://", clock) as store:
        yield World(store, clock, SlowLock(clock, lock_s, taken), stored_by(store, clock))


# ------------------------------------------------------------------------------------------------------ what is stored
def test_a_token_that_is_fresh_is_used_and_one_that_is_over_is_renewed_or_deleted() -> None:
    later, r1 = NOW + timedelta(microseconds=1), Secret("r1")
    cases: tuple[tuple[dict[str, Any], Any, bool], ...] = (
        ({"access_token_expiration": later}, "a1", True),
        ({"access_token_expiration": None}, "a1", True),
        ({"access_token_expiration": None, "refresh_token": None}, "a1", True),
        ({"access_token_expiration": NOW}, OAuth2TokenRecord, True),
        ({"access_token": None, "refresh_token": r1}, OAuth2TokenRecord, True),
        ({"access_token_expiration": NOW, "refresh_token": None}, None, False),
        ({"access_token_expiration": later, "client": "another"}, None, False),
    )
    for facts, state, stays in cases:
        with world() as w:
            record = w.add(**facts)
            found = w.stored.look_up(w.owner)
            assert (type(found) if isinstance(found, OAuth2TokenRecord) else found) == state, facts
            assert (w.record() is not None) is stays
            assert w.stored.record_of(w.database.id, w.user_id) == (record.id if stays else None)
            again, is_claimed = w.stored.look_again(w.owner)
            assert (again, is_claimed) == (found, False)


def test_what_an_authorization_brings_takes_the_place_of_all_that_was_there() -> None:
    with world() as w:
        w.stored.keep(w.owner, TokenGrant(access_token=Secret("a2"), expires_in_s=60.0, refresh_token=Secret("r2")))
        first = w.record()
        assert first is not None
        assert (first.access_token, first.refresh_token, first.client) == (Secret("a2"), Secret("r2"), w.owner.client)
        assert (first.access_token_expiration, first.refresh_until) == (NOW + timedelta(seconds=60), None)
        w.change(refresh_until=NOW, client="another")
        w.stored.keep(w.owner, TokenGrant(access_token=Secret("a3")))
        second = w.record()
        assert second is not None
        assert (second.id, second.access_token, second.refresh_token) == (first.id, Secret("a3"), None)
        assert (second.access_token_expiration, second.refresh_until) == (None, None)
        assert second.client == w.owner.client


def test_a_claim_marks_what_is_to_be_renewed_and_returns_what_is_not() -> None:
    with world() as w:
        assert w.stored.claim(w.owner, for_s=40.0) is None
        w.add()
        claimed = w.stored.claim(w.owner, for_s=40.0)
        assert isinstance(claimed, OAuth2TokenRecord)
        with w.store.unit_of_work() as unit:
            assert claimed.refresh_until is not None
            assert timedelta(seconds=30) < claimed.refresh_until - unit.now() <= timedelta(seconds=40)
        assert w.stored.look_again(w.owner) == (w.record(), True)
        w.change(refresh_until=claimed.refresh_until - timedelta(seconds=41))
        assert w.stored.look_again(w.owner) == (w.record(), False)
        w.change(access_token_expiration=None)
        assert w.stored.claim(w.owner, for_s=40.0) == "a1"


def test_an_answer_is_written_only_over_what_was_claimed() -> None:
    grant = TokenGrant(access_token=Secret("a2"), expires_in_s=60.0)
    changes: tuple[tuple[dict[str, Any], str | None], ...] = (
        ({}, "a2"),
        ({"refresh_token": Secret("newer"), "access_token_expiration": None}, "a1"),
        ({"access_token": Secret("newer"), "access_token_expiration": None}, "newer"),
        ({"client": "another"}, None),
    )
    for change, token in changes:
        with world() as w:
            w.add()
            claimed = w.stored.claim(w.owner, for_s=40.0)
            assert isinstance(claimed, OAuth2TokenRecord)
            w.change(**change)
            before = w.record()
            assert w.stored.renew(claimed, grant) == token, change
            after = w.record()
            assert after is not None
            if change:
                assert after == before
            else:
                assert (after.access_token, after.refresh_token) == (Secret("a2"), Secret("r1"))
                assert (after.access_token_expiration, after.refresh_until) == (NOW + timedelta(seconds=60), None)


def test_a_claim_that_is_given_up_leaves_its_mark_nowhere_and_takes_back_no_other() -> None:
    with world() as w:
        w.add()
        claimed = w.stored.claim(w.owner, for_s=40.0)
        assert isinstance(claimed, OAuth2TokenRecord)
        assert w.stored.give_up(claimed) is None
        assert (w.record() or claimed).refresh_until is None
        other = claimed.refresh_until + timedelta(seconds=9) if claimed.refresh_until else None
        w.change(refresh_until=other, access_token=Secret("newer"), access_token_expiration=None)
        assert w.stored.give_up(claimed) == "newer"
        assert (w.record() or claimed).refresh_until == other
        with w.store.unit_of_work() as unit:
            unit.oauth2_tokens.delete(claimed.id)
        assert w.stored.give_up(claimed) is None
        assert w.stored.renew(claimed, TokenGrant(access_token=Secret("a2"))) is None
        assert w.record() is None


# ------------------------------------------------------------------------------------------------------------ renewals
def test_a_token_is_renewed_under_the_lock_of_its_user_and_database() -> None:
    with world() as w:
        w.add()
        w.answers = [{"access_token": "a2", "refresh_token": "r2", "expires_in": 60}]
        assert (w.get(), w.get()) == ("a2", "a2")
        assert w.sent == ["r1"]
        assert w.lock.acquired == [(f"refresh_oauth2_token/{w.user_id}/{w.database.id}", 40.0)]
        assert (w.lock.released, w.slept, w.tokens._renewing) == (1, [], set())
        assert w.tokens.record_of(w.database, w.user_id) == (w.record() or w.add()).id


class AbsentLock(FreeLock):
    """A lock on a server that is away."""

    def acquire(self, name: str, *, ttl_s: float) -> Lease | None:
        self.acquired.append((name, ttl_s))
        raise StoreUnavailableError("Redis does not answer")


@contextmanager
def world_without_lock() -> Iterator[World]:
    clock = FixedClock(NOW)
    with open_store("sqlite://", clock) as store:
        yield World(store, clock, AbsentLock(), StoredTokens(store, clock))


def test_a_token_is_renewed_where_the_lock_is_away() -> None:
    with world_without_lock() as w:
        w.add()
        w.answers = [lambda: w.tokens._renewing != set() and {"access_token": "a2", "expires_in": 60}]
        assert (w.get(), w.get()) == ("a2", "a2")
        assert (w.sent, len(w.lock.acquired), w.tokens._renewing, w.slept) == (["r1"], 1, set(), [])


def test_where_the_lock_is_away_the_mark_of_another_process_is_waited_for() -> None:
    with world_without_lock() as w:
        w.add(refresh_until=datetime(2999, 1, 1, tzinfo=UTC))
        w.changes = [{"access_token": Secret("a3"), "access_token_expiration": NOW + timedelta(hours=1)}]
        assert w.get() == "a3"
        assert w.sent == []


def test_where_the_lock_is_away_one_of_two_who_read_the_same_record_claims_it() -> None:
    with world_without_lock() as w:
        w.add()
        found, _ = w.stored.look_again(w.owner)
        assert isinstance(found, OAuth2TokenRecord)
        assert w.stored.claim_unchanged(found, for_s=40) is not None
        assert w.stored.claim_unchanged(found, for_s=40) is None
        assert w.stored.look_again(w.owner)[1] is True


def test_nobody_is_asked_for_who_has_no_token_or_no_client() -> None:
    with world() as w:
        assert w.get() is None
        w.add(access_token_expiration=None)
        assert w.get() == "a1"
        assert w.tokens.access_token(w.database, 0) is None
        assert (w.sent, w.lock.acquired) == ([], [])
        w.client = None
        assert w.get() is None


def test_a_renewal_that_fails_takes_its_mark_back_and_its_lock_is_let_go() -> None:
    failure = TokenEndpointError("down")
    for answer in (failure, {"error": "invalid_grant"}):
        with world() as w:
            w.add()
            w.answers = [answer]
            if answer is failure:
                with pytest.raises(TokenEndpointError, match="down"):
                    w.get()
            else:
                assert w.get() is None
            record = w.record()
            assert record is not None
            assert (record.access_token, record.refresh_token, record.refresh_until) == (
                Secret("a1"),
                Secret("r1"),
                None,
            )
            assert (w.lock.released, w.tokens._renewing) == (1, set())


def test_who_asks_while_the_renewal_of_another_user_fails_gets_their_own_token() -> None:
    with world() as w:
        with w.store.unit_of_work() as unit:
            other = unit.users.add(replace(a_user(), username="other"), actor_id=None).id
        w.add()
        w.add(user_id=other, refresh_token=Secret("r2"))
        tokens: list[str | None] = []

        def fail() -> Exception:
            thread = threading.Thread(
                target=lambda: tokens.append(w.tokens.access_token(w.database, other)), daemon=True
            )
            thread.start()
            thread.join(5.0)
            return TokenEndpointError("down for the first one")

        w.answers = [fail, {"access_token": "a2", "expires_in": 60}]
        with pytest.raises(TokenEndpointError, match="the first one"):
            w.get()
        assert (tokens, w.sent) == (["a2"], ["r1", "r2"])


def test_a_store_that_took_half_of_the_margin_is_not_followed_by_a_request() -> None:
    for seconds, is_sent in ((5.0, True), (5.1, False)):
        with world(lock_s=seconds) as w:
            w.add()
            w.answers = [{"access_token": "a2"}]
            if is_sent:
                assert w.get() == "a2"
            else:
                with pytest.raises(OAuth2Error, match="took too long") as raised:
                    w.get()
                assert raised.value.retryable
            assert bool(w.sent) is is_sent


def test_what_a_provider_gave_is_stored_again_and_again_while_the_lock_lasts() -> None:
    away = StoreUnavailableError("away", retryable=True)
    for count, is_stored in ((3, True), (10_000, False)):
        with world(stored_by=partial(FailingStore, failures=[away] * count)) as w:
            w.add()
            w.answers = [{"access_token": "a2"}]
            if is_stored:
                assert w.get() == "a2"
                assert w.slept == [0.2] * 3
            else:
                with pytest.raises(StoreUnavailableError):
                    w.get()
                assert 39.5 < sum(w.slept) <= 40.0
    full = StoreUnavailableError("full", retryable=False)
    with world(stored_by=partial(FailingStore, failures=[full])) as w:
        w.add()
        w.answers = [{"access_token": "a2"}]
        with pytest.raises(StoreUnavailableError):
            w.get()
        assert w.slept == []


def test_who_waits_for_another_process_looks_ten_times_a_second_and_asks_itself_at_last() -> None:
    with world(taken=2) as w:
        w.add()
        w.answers = [{"access_token": "a2"}]
        assert w.get() == "a2"
        assert len(w.lock.acquired) == 3
        assert max(w.slept) == 0.1
        assert 5.0 + 10.0 <= sum(w.slept) + 0.01 <= 10.0 + 20.0 + 0.02
    with world(taken=5) as w:
        w.add()
        with pytest.raises(OAuth2Error, match="renewed by others for too long") as raised:
            w.get()
        assert raised.value.retryable
        assert (len(w.lock.acquired), w.sent) == (5, [])
        assert 5 + 10 + 20 + 40 - 0.1 <= sum(w.slept) <= 10 + 20 + 40 + 40.1


def test_tokens_of_another_client_or_server_go_and_those_of_others_stay() -> None:
    for client, is_elsewhere, stays in (("same", False, True), ("same", True, False), ("other", False, False)):
        with world() as w:
            w.add()
            changed = w.database
            if client == "other":
                changed = replace(w.database, uri=Secret("postgresql://elsewhere/shop"))
            with w.store.unit_of_work() as unit:
                w.tokens.drop_for_others(unit, changed, before=w.database, is_elsewhere=is_elsewhere)
            assert (w.record() is not None) is stays, (client, is_elsewhere)


def test_tokens_that_were_given_to_the_client_of_now_stay_when_it_comes_back() -> None:
    with world() as w:
        w.add()
        former = replace(w.database, uri=Secret("postgresql://former/shop"))
        with w.store.unit_of_work() as unit:
            w.tokens.drop_for_others(unit, w.database, before=former, is_elsewhere=False)
        assert w.record() is not None
        w.client = OAuth2Error("unreadable")
        assert w.tokens._digest_of(w.database) == ""


# -------------------------------------------------------------------------------------------------------- shared calls
def run_together(calls: SharedCalls[str], works: list[Callable[[], str]], *, longest_s: float) -> list[Any]:
    """Run works of one key in threads, the first of which has begun before the others ask."""
    begun, go_on = threading.Event(), threading.Event()

    def first() -> str:
        begun.set()
        assert go_on.wait(10)
        return works[0]()

    def result(work: Callable[[], str]) -> Any:
        try:
            return calls.run("key", work, longest_s=longest_s)
        except DatabaseError as error:
            return error

    with ThreadPoolExecutor(len(works)) as pool:
        leading = pool.submit(result, first)
        assert begun.wait(10)
        if longest_s < 1:
            others = [pool.submit(result, work).result() for work in works[1:]]
            go_on.set()
            return [leading.result(), *others]
        waiting = [pool.submit(result, work) for work in works[1:]]
        threading.Timer(0.05, go_on.set).start()
        return [leading.result(), *(one.result() for one in waiting)]


def test_who_asks_meanwhile_gets_the_result_or_a_copy_of_the_error() -> None:
    calls: SharedCalls[str] = SharedCalls()
    assert run_together(calls, [lambda: "one", lambda: "two"], longest_s=10.0) == ["one", "one"]
    assert calls._running == {}
    failure = DatabaseError("no")

    def fail() -> str:
        raise failure

    first, second = run_together(calls, [fail, lambda: "two"], longest_s=10.0)
    assert first is failure
    assert (type(second), second.message, second is failure) == (DatabaseError, "no", False)
    assert calls.run("key", lambda: "later", longest_s=10.0) == "later"


def test_nobody_waits_longer_than_they_may_and_another_key_does_not_wait() -> None:
    calls: SharedCalls[str] = SharedCalls()
    assert run_together(calls, [lambda: "one", lambda: "two"], longest_s=0.01) == ["one", "two"]
    assert calls.run("a", lambda: calls.run("b", lambda: "inner", longest_s=10.0), longest_s=10.0) == "inner"
    calls._running["key"] = object()  # type: ignore[assignment]  # a call of a parent's thread
    calls.after_fork()
    assert calls.run("key", lambda: "mine", longest_s=10.0) == "mine"

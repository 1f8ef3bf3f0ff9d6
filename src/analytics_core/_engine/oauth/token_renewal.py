"""Access tokens of users for databases, renewed by one caller at a time in all processes of a store."""

from __future__ import annotations

import copy
import random
import threading
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Final, Generic, TypeVar

from analytics_core._engine.oauth.clients import ClientOf, client_digest
from analytics_core._engine.oauth.exchange import TokenGrant, TokenRequests
from analytics_core._engine.oauth.stored_tokens import StoredTokens, TokenOwner, TokenState
from analytics_core._records.datasource import Database
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._records.shared_state import Lease, OAuth2TokenRecord
from analytics_core._tools.forks import forkable_lock, tell_of_forks
from analytics_core.errors import AnalyticsError, OAuth2Error, StoreUnavailableError
from analytics_core.models.database import OAuth2Client
from analytics_core.ports import Clock, Lock, Sleeper

LOCK_NAMESPACE: Final = "refresh_oauth2_token"
ATTEMPTS: Final = 5
_FIRST_PAUSE_S: Final = 10.0
_LOOK_AGAIN_S: Final = 0.1
_STORE_PAUSE_S: Final = 0.2
_BATCH: Final = 500

STORE_MARGIN_S: Final = 10.0
"""What a lock lasts longer than a request may take: what is read before and written after it comes into this time."""


class OAuthTokens:
    """Gives users their access tokens for databases (contract, Per-user database OAuth 2.0).

    A token that is over is renewed under a lock of the user and the database. Callers of one process share the call of
    the first; the first of each other process waits, and sees in the store what came of it. Where the lock is away, the
    mark on the record, which one process alone can set, stands for it.

    Args:
        stored: the token records.
        lock: among the processes of the store.
        clock: tells how long things last.
        sleeper: lets time pass while another process renews a token.
        requests: asks the providers.
        client_of: finds the registration of a database.
        timeout_s: seconds that one request to a provider may take.
    """

    def __init__(
        self,
        *,
        stored: StoredTokens,
        lock: Lock,
        clock: Clock,
        sleeper: Sleeper,
        requests: TokenRequests,
        client_of: ClientOf,
        timeout_s: float,
    ) -> None:
        self._stored = stored
        self._lock = lock
        self._clock = clock
        self._sleeper = sleeper
        self._requests = requests
        self._client_of = client_of
        self._timeout_s = timeout_s
        self._lock_s = timeout_s + STORE_MARGIN_S
        self._shared: SharedCalls[str | None] = SharedCalls()
        self._renewing: set[str] = set()
        tell_of_forks(self)

    def access_token(self, database: Database, user_id: int) -> str | None:
        """Return a token that may be used now, from the store or renewed; None when the user must authorize first.

        A token that is over and cannot be renewed is deleted; one that the provider does not renew stays as it is.

        Raises:
            TokenEndpointError: the provider cannot be asked.
            OAuth2Error: the database's client cannot be used, or others renew the token for too long.
        """
        client = self._client_of(database)
        if client is None or user_id < 1:
            return None
        owner = TokenOwner(database_id=database.id, user_id=user_id, client=client_digest(client, database))
        found = self._stored.look_up(owner)
        if not isinstance(found, OAuth2TokenRecord):
            return found
        longest_s = 2 * ATTEMPTS * self._lock_s
        return self._shared.run(owner, lambda: self._renewed(owner, client), longest_s=longest_s)

    def record_of(self, database: Database, user_id: int) -> int | None:
        """Return the id of the record that holds the tokens of a user; None: there is none."""
        return self._stored.record_of(database.id, user_id)

    def drop_for_others(self, unit: UnitOfWork, database: Database, *, before: Database, is_elsewhere: bool) -> None:
        """Delete the tokens for a changed database that were not given to the client it has now, nor for its server.

        With `is_elsewhere` it is reached at another server, which is shown no token that was given for the former one.
        """
        present = self._digest_of(database)
        if present == self._digest_of(before) and not is_elsewhere:
            return
        others = [ListFilter(col="database_id", op="eq", val=database.id)]
        if not is_elsewhere:
            others.append(ListFilter(col="client", op="neq", val=present))
        while found := unit.oauth2_tokens.list(ListQuery(filters=tuple(others), page_size=_BATCH))[1]:
            for token in found:
                unit.oauth2_tokens.delete(token.id)

    def _digest_of(self, database: Database) -> str:
        try:
            client = self._client_of(database)
        except AnalyticsError:  # a client that cannot be read has no tokens
            client = None
        return "" if client is None else client_digest(client, database)

    def _renewed(self, owner: TokenOwner, client: OAuth2Client) -> str | None:
        name = f"{LOCK_NAMESPACE}/{owner.user_id}/{owner.database_id}"
        for attempt in range(ATTEMPTS):
            began_s = self._clock.monotonic()
            try:
                lease = self._lock.acquire(name, ttl_s=self._lock_s)
            except StoreUnavailableError:
                renewed = self._renewed_without_lock(owner, client, began_s)
                if renewed is not None:
                    return renewed[0]
                lease = None
            if lease is not None:
                return self._renewed_under(lease, owner, client, began_s)
            if attempt + 1 < ATTEMPTS:
                found = self._wait(owner, self._pause_s(attempt))
                if not isinstance(found, OAuth2TokenRecord):
                    return found
        raise OAuth2Error("the OAuth 2.0 token is being renewed by others for too long; ask again", retryable=True)

    def _pause_s(self, attempt: int) -> float:
        """Return how long to wait at the most: exponential with jitter, and no longer than any lock lasts.

        At least half of it is certain: all pauses together outlast the lock of a process that died.
        """
        longest_s: float = _FIRST_PAUSE_S * 2**attempt
        return min(random.uniform(longest_s / 2, longest_s), self._lock_s)  # noqa: S311 - a pause is no secret

    def _wait(self, owner: TokenOwner, pause_s: float) -> TokenState:
        """Wait for whoever renews the token, as long as they do and no longer than `pause_s`; return what came of it.

        A record comes back when it is still to be renewed, by somebody else: the one who did has ended or given up.
        """
        found, was_locked = self._stored.look_again(owner)
        waited_s = 0.0
        while isinstance(found, OAuth2TokenRecord) and waited_s < pause_s:
            step_s = min(_LOOK_AGAIN_S, pause_s - waited_s)
            self._sleeper.sleep(step_s)
            waited_s += step_s
            found, is_locked = self._stored.look_again(owner)
            if was_locked and not is_locked:
                self._sleeper.sleep(_LOOK_AGAIN_S)  # the lock is let go a moment after its claim
                break
            was_locked = was_locked or is_locked
        return found

    def _renewed_under(self, lease: Lease, owner: TokenOwner, client: OAuth2Client, began_s: float) -> str | None:
        self._renewing.add(lease.owner)
        try:
            claimed = self._stored.claim(owner, for_s=self._lock_s)  # ends no earlier than the lock, which began before
            if not isinstance(claimed, OAuth2TokenRecord):
                return claimed
            return self._request_grant(claimed, client, began_s)
        finally:
            with suppress(Exception):  # whatever a lock says: it ends by itself
                self._lock.release(lease)
            self._renewing.discard(lease.owner)

    def _renewed_without_lock(
        self, owner: TokenOwner, client: OAuth2Client, began_s: float
    ) -> tuple[str | None] | None:
        """Return the token by itself; None where another process renews it."""
        found, is_claimed = self._stored.look_again(owner)
        if not isinstance(found, OAuth2TokenRecord):
            return (found,)
        claimed = None if is_claimed else self._stored.claim_unchanged(found, for_s=self._lock_s)
        if claimed is None:
            return None
        name = f"{owner.user_id}/{owner.database_id}"  # of which this process renews one at a time
        self._renewing.add(name)
        try:
            return (self._request_grant(claimed, client, began_s),)
        finally:
            self._renewing.discard(name)

    def _request_grant(self, claimed: OAuth2TokenRecord, client: OAuth2Client, began_s: float) -> str | None:
        """Ask the provider and store what it gives, before the lock may end."""
        assert claimed.refresh_token is not None  # noqa: S101 - only such records are renewed; tells the type checker
        try:
            if self._clock.monotonic() - began_s > STORE_MARGIN_S / 2:
                raise OAuth2Error(
                    "the metadata store took too long to renew an OAuth 2.0 token; ask again", retryable=True
                )
            grant = self._requests.refresh(client, claimed.refresh_token, timeout_s=self._timeout_s)
        except BaseException:  # whatever it is goes on upwards; others need not wait for the end of the claim
            with suppress(AnalyticsError):  # what went wrong first is told
                self._stored.give_up(claimed)
            raise
        return self._stored.give_up(claimed) if grant is None else self._store_grant(claimed, grant, began_s)

    def _store_grant(self, claimed: OAuth2TokenRecord, grant: TokenGrant, began_s: float) -> str | None:
        """Store what the provider gave, again and again while the lock holds: the former token is of no use now."""
        while True:
            try:
                return self._stored.renew(claimed, grant)
            except StoreUnavailableError as error:
                if not error.retryable or self._clock.monotonic() - began_s > self._lock_s - _STORE_PAUSE_S:
                    raise
            self._sleeper.sleep(_STORE_PAUSE_S)

    def close(self) -> None:
        """Wait until the renewals of this process are over, no longer than any takes: what they bring is stored."""
        latest = time.monotonic() + self._lock_s
        while self._renewing and time.monotonic() < latest:
            time.sleep(_LOOK_AGAIN_S)

    def before_fork(self) -> None:
        """Go on: threads are not inherited."""

    def after_fork(self) -> None:
        """Renew nothing: what the parent renews, the parent ends."""
        self._renewing = set()


Result = TypeVar("Result")


class _Call(Generic[Result]):
    """A call on its way; `outcome` stays empty where it was interrupted."""

    def __init__(self) -> None:
        self.is_over = threading.Event()
        self.outcome: tuple[Result] | AnalyticsError | None = None


class SharedCalls(Generic[Result]):
    """Makes one call for all who ask for the same key meanwhile: they get what it returns, or the error it raises."""

    def __init__(self) -> None:
        self._guard = forkable_lock()
        self._running: dict[Hashable, _Call[Result]] = {}
        tell_of_forks(self)

    def run(self, key: Hashable, work: Callable[[], Result], *, longest_s: float) -> Result:
        """Return what `work` returns, here or in another thread that began it.

        Args:
            key: what is asked for.
            work: is done by the first who asks; it has an end of its own.
            longest_s: seconds after which nobody waits for another thread any more; then the work is done here.
        """
        while True:
            with self._guard:
                call = self._running.get(key)
                is_first = call is None
                if call is None:
                    call = self._running[key] = _Call()
            if is_first:
                return self._do(key, call, work)
            if not call.is_over.wait(longest_s):
                return work()
            if isinstance(call.outcome, AnalyticsError):
                raise copy.copy(call.outcome)
            if call.outcome is not None:
                return call.outcome[0]

    def before_fork(self) -> None:
        """Go on: calls are not inherited."""

    def after_fork(self) -> None:
        """Forget the calls of the parent's threads."""
        self._running = {}

    def _do(self, key: Hashable, call: _Call[Result], work: Callable[[], Result]) -> Result:
        try:
            result = work()
            call.outcome = (result,)
        except AnalyticsError as error:
            call.outcome = copy.copy(error)
            raise
        finally:
            with self._guard:
                if self._running.get(key) is call:
                    del self._running[key]
            call.is_over.set()
        return result

"""The token records of the store: what they allow, who renews them, and that nothing newer is written over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, TypeVar

from analytics_core._engine.oauth.exchange import TokenGrant
from analytics_core._records.repositories import UnitOfWork
from analytics_core._records.shared_state import OAuth2TokenRecord
from analytics_core.errors import AlreadyExistsError, NotFoundError, StaleVersionError
from analytics_core.ports import Clock, MetadataStore

Result = TypeVar("Result")
_ATTEMPTS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenOwner:
    """Whose tokens: those of a user for a database, given to the `client` of this digest."""

    database_id: int
    user_id: int
    client: str


TokenState = OAuth2TokenRecord | str | None
"""An access token that may be used now; a record whose token must be renewed first; None: there is nothing to use."""


class StoredTokens:
    """Reads and writes token records, each time in a unit of work of its own (contract, States and transitions)."""

    def __init__(self, store: MetadataStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def look_up(self, owner: TokenOwner) -> TokenState:
        """Return what an owner has; what is over and cannot be renewed, or is another client's, is deleted."""
        return self._repeated(lambda: self._look_up(owner))

    def record_of(self, database_id: int, user_id: int) -> int | None:
        """Return the id of the record of a user's tokens for a database; None: there is none."""
        with self._store.unit_of_work() as unit:
            found = unit.oauth2_tokens.find(database_id=database_id, user_id=user_id)
            return None if found is None else found.id

    def look_again(self, owner: TokenOwner) -> tuple[TokenState, bool]:
        """Return what an owner has by now, and whether somebody renews it."""
        with self._store.unit_of_work() as unit:
            found = self._state(_find(unit, owner), owner)
            until = found.refresh_until if isinstance(found, OAuth2TokenRecord) else None
            return found, until is not None and unit.now() < until

    def claim(self, owner: TokenOwner, *, for_s: float) -> TokenState:
        """Read a record again and mark it as renewed by the caller for `for_s` seconds; call it under the lock.

        A record comes back marked; what others made of it in the meantime comes back as it is.
        """

        def attempt() -> TokenState:
            with self._store.unit_of_work() as unit:
                found = self._state(_find(unit, owner), owner)
                if not isinstance(found, OAuth2TokenRecord):
                    return found
                marked = replace(found, refresh_until=unit.now() + timedelta(seconds=for_s))
                return unit.oauth2_tokens.update(marked, actor_id=owner.user_id)

        return self._repeated(attempt)

    def claim_unchanged(self, found: OAuth2TokenRecord, *, for_s: float) -> OAuth2TokenRecord | None:
        """Mark a record as renewed by the caller, without a lock; None where it has changed since it was read."""
        try:
            with self._store.unit_of_work() as unit:
                marked = replace(found, refresh_until=unit.now() + timedelta(seconds=for_s))
                return unit.oauth2_tokens.update(marked, actor_id=found.user_id)
        except (NotFoundError, StaleVersionError):
            return None

    def renew(self, claimed: OAuth2TokenRecord, grant: TokenGrant) -> str | None:
        """Store what a provider gave for a claimed record, and return the access token.

        It is not written over tokens that somebody else stored since the claim, by whoever's lock had ended: theirs
        comes back, as far as it may be used.
        """

        def attempt() -> str | None:
            with self._store.unit_of_work() as unit:
                found = _find(unit, claimed)
                if found is None or _tokens_of(found) != _tokens_of(claimed):
                    return self._fresh(found)
                unit.oauth2_tokens.update(self._granted(found, grant), actor_id=found.user_id)
            return grant.access_token.reveal()

        return self._repeated(attempt)

    def give_up(self, claimed: OAuth2TokenRecord) -> str | None:
        """Take back the mark of a claim; return the access token that somebody else stored meanwhile, if any."""

        def attempt() -> str | None:
            with self._store.unit_of_work() as unit:
                found = _find(unit, claimed)
                if found is not None and found.refresh_until == claimed.refresh_until:
                    unit.oauth2_tokens.update(replace(found, refresh_until=None), actor_id=found.user_id)
            return self._fresh(found)

        return self._repeated(attempt)

    def keep(self, owner: TokenOwner, grant: TokenGrant) -> None:
        """Store what a provider gave for an authorization, in place of all that the owner had.

        Raises:
            DatabaseNotFoundError: the database is gone.
        """

        def attempt() -> None:
            with self._store.unit_of_work() as unit:
                found = _find(unit, owner)
                bare = OAuth2TokenRecord(user_id=owner.user_id, database_id=owner.database_id, client=owner.client)
                if found is None:
                    unit.oauth2_tokens.append(self._granted(bare, grant), actor_id=owner.user_id)
                else:
                    again = replace(bare, id=found.id, audit=found.audit)
                    unit.oauth2_tokens.update(self._granted(again, grant), actor_id=owner.user_id)

        self._repeated(attempt, also=AlreadyExistsError)

    def _look_up(self, owner: TokenOwner) -> TokenState:
        with self._store.unit_of_work() as unit:
            found = _find(unit, owner)
            state = self._state(found, owner)
            if state is None and found is not None:
                unit.oauth2_tokens.update(found, actor_id=owner.user_id)  # refused when it has changed since
                unit.oauth2_tokens.delete(found.id)
            return state

    def _state(self, found: OAuth2TokenRecord | None, owner: TokenOwner) -> TokenState:
        if found is None or found.client != owner.client:
            return None
        fresh = self._fresh(found)
        return found if fresh is None and found.refresh_token is not None else fresh

    def _fresh(self, found: OAuth2TokenRecord | None) -> str | None:
        if found is None or found.access_token is None or not found.is_fresh(self._clock.now()):
            return None
        return found.access_token.reveal()

    def _granted(self, record: OAuth2TokenRecord, grant: TokenGrant) -> OAuth2TokenRecord:
        """Return a record with new tokens; a provider that gives no new refresh token goes on with the old one."""
        life_s = grant.expires_in_s
        return replace(
            record,
            access_token=grant.access_token,
            access_token_expiration=None if life_s is None else self._clock.now() + timedelta(seconds=life_s),
            refresh_token=grant.refresh_token or record.refresh_token,
            refresh_until=None,
        )

    @staticmethod
    def _repeated(attempt: Callable[[], Result], *, also: type[Exception] = StaleVersionError) -> Result:
        """Return the result of a unit of work, made again when others were faster."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return attempt()
            except (StaleVersionError, also):
                continue
            except NotFoundError as error:
                if error.resource == "database":
                    raise
        return attempt()


def _find(unit: UnitOfWork, owner: TokenOwner | OAuth2TokenRecord) -> OAuth2TokenRecord | None:
    return unit.oauth2_tokens.find(database_id=owner.database_id, user_id=owner.user_id)


def _tokens_of(record: OAuth2TokenRecord) -> tuple[object, ...]:
    return record.client, record.access_token, record.refresh_token

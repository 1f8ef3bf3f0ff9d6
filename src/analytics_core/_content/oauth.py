"""`core.oauth`: how a user allows the host to reach databases on their behalf, and the tokens that came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from analytics_core._content.batches import every, is_stored_id
from analytics_core._content.changes import begin_act, repeated
from analytics_core._content.namespace import Namespace
from analytics_core._engine.oauth.exchange import Answer, asking
from analytics_core._engine.oauth.flow import AuthorizationRequest, known_refusal
from analytics_core._engine.rights.policy import Permission
from analytics_core._records.datasource import Database
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._records.secret import Secret
from analytics_core._records.shared_state import OAuth2TokenRecord
from analytics_core.errors import DatabaseAccessError, OAuth2Error
from analytics_core.models.parsing import check_text, payload_error

_LONGEST_CODE = 8_192
_LONGEST_TAB_ID = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedAuthorization:
    """What a callback has brought about: the user's tokens for a database are stored.

    Attributes:
        database_id: the database.
        tab_id: of the browser's tab that waits for the end.
        redirect_to: where the user wanted to go afterwards; None when `start` was not told.
    """

    database_id: int
    tab_id: str
    redirect_to: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSummary:
    """What a user may know of their tokens for a database, without the tokens.

    Attributes:
        database_id: the database.
        access_token_expiration: aware, in UTC; None: it never expires.
        is_renewable: whether there is a refresh token, so that a new access token comes without the user.
        created_on: when the user authorized first.
        changed_on: when tokens were stored last.
    """

    database_id: int
    access_token_expiration: datetime | None
    is_renewable: bool
    created_on: datetime | None
    changed_on: datetime | None


class OAuth(Namespace):
    """The authorizations of one actor (contract, Per-user database OAuth 2.0); nobody has those of others."""

    def start(
        self, database_id: int, redirect_to: str | None = None, tab_id: str | None = None
    ) -> AuthorizationRequest:
        """Return the address of the provider's page where the actor allows the host to reach a database for them.

        The provider leads them back to the host's callback, which hands `state` and `code` to `callback`, within five
        minutes.

        Args:
            database_id: the database.
            redirect_to: where the host may send them in the end; of an origin in `Settings.oauth2_redirect_origins`.
            tab_id: tells the browser's tab that waits for the end; None: a new one.

        Raises:
            DatabaseNotFoundError, DatabaseAccessError: the database is unknown or not for this actor.
            OAuth2Error: it has no client, nobody knows the callback, or `redirect_to` is not allowed.

        Examples:
            >>> core.oauth.start(2).url.partition("?")[0]
            'https://login.example/authorize'
        """
        _check_tab_id(tab_id)
        act = begin_act(self._runtime, self._actor, "oauth.start")
        database = self._database(database_id)
        request = self._runtime.engine.oauth.flow.start(
            database, self._actor.id, redirect_to=redirect_to, tab_id=tab_id
        )
        with self._runtime.store.unit_of_work() as unit:
            act.log(unit, details={"database_id": database_id})
        return request

    def callback(self, *, state: str, code: str | None = None, error: str | None = None) -> CompletedAuthorization:
        """End an authorization: redeem its code and store the tokens, in place of those that the actor had.

        Args:
            state: as the provider gave it back; it is accepted once, and only from who started.
            code: as the provider gave it.
            error: what the provider gave in place of a code.

        Raises:
            OAuth2Error: the state is not the actor's, none of ours, over or used; the provider refuses, or gives no
                token.
            TokenEndpointError: the provider cannot be asked; start anew. Why is told to those who may edit all
                databases; for others it is in the log.
            DatabaseNotFoundError, DatabaseAccessError: the database is gone, or not for this actor any more.

        Examples:
            >>> begun = core.oauth.start(2, redirect_to="https://app.example/sales")
            >>> done = core.oauth.callback(state=begun.state, code="from-the-provider")
            >>> done.database_id, done.redirect_to
            (2, 'https://app.example/sales')
        """
        act = begin_act(self._runtime, self._actor, "oauth.callback")
        signed = self._runtime.engine.oauth.flow.read(state, self._actor.id)
        database = self._database(signed.claims.database_id)
        details = {"database_id": database.id, **({} if error is None else {"error": known_refusal(error) or "other"})}
        with self._runtime.store.unit_of_work() as unit:
            self._runtime.engine.oauth.flow.use(unit, signed)
            act.log(unit, details=details)
        if error is not None:
            reason = known_refusal(error)
            raise OAuth2Error(f"the provider refused the authorization{f': {reason}' if reason else ''}")
        if not isinstance(code, str) or not 0 < len(code) <= _LONGEST_CODE:
            raise OAuth2Error("the provider gave no code; start the authorization anew")
        self._asking(lambda: self._runtime.engine.oauth.flow.finish(database, signed, Secret(code)), database)
        return CompletedAuthorization(
            database_id=database.id,
            tab_id=signed.claims.tab_id,
            redirect_to=self._runtime.engine.oauth.flow.leads_to(database, signed),
        )

    def access_token(self, database_id: int) -> str | None:
        """Return the actor's token for a database that may be used now; None when they must authorize first.

        One that is over is renewed, once in all processes of the store (contract, States and transitions).

        Raises:
            DatabaseNotFoundError, DatabaseAccessError: the database is unknown or not for this actor.
            OAuth2Error, TokenEndpointError: it cannot be renewed now; why is told as in `callback`.

        Examples:
            >>> core.oauth.access_token(2) is None
            True
            >>> begun = core.oauth.start(2)
            >>> _ = core.oauth.callback(state=begun.state, code="from-the-provider")
            >>> core.oauth.access_token(2)
            'token for authorization_code'
        """
        database = self._database(database_id)
        return self._asking(lambda: self._runtime.engine.oauth.tokens.access_token(database, self._actor.id), database)

    @repeated
    def forget(self, database_id: int) -> None:
        """Delete the actor's tokens for a database, if they have any; the provider is not told.

        Examples:
            >>> core.oauth.forget(2)
            >>> core.oauth.list()
            ()
        """
        with self._acting("oauth.forget") as (act, unit):
            found = _find(unit, database_id, self._actor.id)
            if found is not None:
                unit.oauth2_tokens.delete(found.id)
                act.log(unit, details={"database_id": database_id})

    def list(self) -> tuple[TokenSummary, ...]:
        """Return for which databases the actor has tokens, without the tokens.

        Examples:
            >>> begun = core.oauth.start(2)
            >>> _ = core.oauth.callback(state=begun.state, code="from-the-provider")
            >>> [(token.database_id, token.is_renewable) for token in core.oauth.list()]
            [(2, True)]
        """
        of_actor = (ListFilter(col="user_id", op="eq", val=self._actor.id),)
        with self._runtime.store.unit_of_work() as unit:
            found = sorted(every(unit.oauth2_tokens, of_actor), key=lambda token: token.database_id)
        return tuple(
            TokenSummary(
                database_id=token.database_id,
                access_token_expiration=token.access_token_expiration,
                is_renewable=token.refresh_token is not None,
                created_on=token.audit.created_on,
                changed_on=token.audit.changed_on,
            )
            for token in found
        )

    def _asking(self, work: Callable[[], Answer], database: Database) -> Answer:
        may_know_why = self._runtime.policy.sees_all(Permission.WRITE_DATABASE, self._actor)
        return asking(work, database, may_know_why=may_know_why)

    def _database(self, database_id: int) -> Database:
        """Return a database that the actor may ask: it, one of its schemas or one of its datasets is open to them."""
        with self._runtime.store.unit_of_work() as unit:
            reader = self._reader(unit)
            try:
                return reader.database(database_id)
            except DatabaseAccessError:
                of_it = ListFilter(col="database_id", op="eq", val=database_id)
                if not unit.datasets.list(reader.visible("datasets", ListQuery(filters=(of_it,), page_size=1)))[0]:
                    raise
            return unit.databases.get(database_id)


def _check_tab_id(tab_id: object) -> None:
    if tab_id is not None and not (isinstance(tab_id, str) and len(tab_id) <= _LONGEST_TAB_ID):
        raise payload_error("oauth.start", "tab_id", f"must be text of at most {_LONGEST_TAB_ID} characters")
    check_text(tab_id, shape="oauth.start")


def _find(unit: UnitOfWork, database_id: object, user_id: int) -> OAuth2TokenRecord | None:
    if not is_stored_id(database_id):
        return None
    return unit.oauth2_tokens.find(database_id=database_id, user_id=user_id)

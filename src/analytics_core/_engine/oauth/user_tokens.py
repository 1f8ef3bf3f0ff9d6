"""Whether a database is asked in the name of its users, and the token of the one who asks."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from analytics_core._engine.oauth.clients import ClientOf
from analytics_core._engine.oauth.flow import AuthorizationFlow
from analytics_core._engine.oauth.tokens import OAuthTokens
from analytics_core._records.datasource import Database, Identity
from analytics_core._records.secret import Secret
from analytics_core.errors import AnalyticsError, ErrorType, OAuth2Error

_NOT_LET_IN: Final = frozenset(
    {
        ErrorType.CONNECTION_INVALID_USERNAME_ERROR,
        ErrorType.CONNECTION_INVALID_PASSWORD_ERROR,
        ErrorType.CONNECTION_ACCESS_DENIED_ERROR,
    }
)
"""What an engine says when a token is not, or no longer, good enough."""


class UserTokens:
    """Gives databases with an OAuth 2.0 client the tokens of their users (contract, Per-user database OAuth 2.0).

    Args:
        flow: sends users to the provider.
        tokens: those that are stored, renewed when they are over.
        client_of: finds the registration of a database.
    """

    def __init__(self, *, flow: AuthorizationFlow, tokens: OAuthTokens, client_of: ClientOf) -> None:
        self._flow = flow
        self._tokens = tokens
        self._client_of = client_of

    def are_asked_by(self, database: Database) -> bool:
        """Tell whether a database is reached with the tokens of its users; OAuth2Error where that cannot be told."""
        return self._client_of(database) is not None

    def authorization(self, database: Database, user_id: int) -> int | None:
        """Return the record of what a user was given when they signed in; None when they have not, or signed out."""
        return self._tokens.record_of(database, user_id)

    def of(self, database: Database, user_id: int) -> Secret:
        """Return the token of a user that may be used now.

        Raises:
            OAuth2RedirectError: the user must sign in at the provider first.
            OAuth2Error, TokenEndpointError: the token cannot be renewed now, or nobody can sign in.
        """
        if database.id < 1:
            raise OAuth2Error(
                "a connection with an OAuth 2.0 client is tried as a user who has signed in: store it, let the user "
                "sign in (oauth.start), then ask it"
            )
        token = self._tokens.access_token(database, user_id)
        if token is None:
            raise self._flow.redirect_error(database, user_id)
        return Secret(token)

    def add_way_in(self, failure: AnalyticsError, database: Database, identity: Identity | None) -> bool:
        """Tell whether a user was not let in by their token; the way to sign in is then beside the failure."""
        if identity is None or identity.user_id is None or failure.error_type not in _NOT_LET_IN:
            return False
        with suppress(AnalyticsError):  # nobody can sign in: what went wrong first is told
            failure.beside(self._flow.redirect_error(database, identity.user_id))
        return True

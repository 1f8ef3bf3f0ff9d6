"""Whether a database is asked in the name of its users, and the token of the one who asks."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from analytics_core._engine.oauth.clients import ClientOf
from analytics_core._records.datasource import Database, Identity
from analytics_core._records.secret import Secret
from analytics_core._tools.once import Once
from analytics_core.errors import AnalyticsError, ErrorType, OAuth2Error

if TYPE_CHECKING:
    from analytics_core._engine.oauth.flow import AuthorizationFlow
    from analytics_core._engine.oauth.token_renewal import OAuthTokens

_NOT_LET_IN: Final = frozenset(
    {
        ErrorType.CONNECTION_INVALID_USERNAME_ERROR,
        ErrorType.CONNECTION_INVALID_PASSWORD_ERROR,
        ErrorType.CONNECTION_ACCESS_DENIED_ERROR,
    }
)
"""What an engine says when a token is not, or no longer, good enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthParts:
    """Users' tokens for databases: how they are got, and how they stay fresh."""

    flow: AuthorizationFlow
    tokens: OAuthTokens


class UserTokens:
    """Gives databases with an OAuth 2.0 client the tokens of their users (contract, Per-user database OAuth 2.0).

    Args:
        parts: what sends users to the provider, and gives the tokens that are stored; it is loaded with the first one.
        client_of: finds the registration of a database.
    """

    def __init__(self, *, parts: Once[OAuthParts], client_of: ClientOf) -> None:
        self._parts = parts
        self._client_of = client_of

    def are_needed_by(self, database: Database) -> bool:
        """Tell whether a database is reached with the tokens of its users; OAuth2Error where that cannot be told."""
        return self._client_of(database) is not None

    def authorization(self, database: Database, user_id: int) -> int | None:
        """Return the record of what a user was given when they signed in; None when they have not, or signed out."""
        return self._parts().tokens.record_of(database, user_id)

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
        token = self._parts().tokens.access_token(database, user_id)
        if token is None:
            raise self._parts().flow.redirect_error(database, user_id)
        return Secret(token)

    def add_way_in(self, failure: AnalyticsError, database: Database, identity: Identity | None) -> bool:
        """Tell whether a user was not let in by their token; the way to sign in is then beside the failure."""
        if identity is None or identity.user_id is None or failure.error_type not in _NOT_LET_IN:
            return False
        with suppress(AnalyticsError):  # nobody can sign in: what went wrong first is told
            failure.beside(self._parts().flow.redirect_error(database, identity.user_id))
        return True

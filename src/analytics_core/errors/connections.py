"""Errors of connections to users' databases: what the database answered, and authorizations that are missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analytics_core.errors.base import AnalyticsError, ErrorLevel, ErrorType


# ---------------------------------------------------------------------------------------------------------- databases
class DatabaseError(AnalyticsError, error_type=ErrorType.GENERIC_DB_ENGINE_ERROR):
    """What a user's database answered, diagnosed to one of the contract's types; the driver's text is not repeated."""

    status = 400

    def __init__(
        self,
        message: str,
        *,
        error_type: ErrorType | None = None,
        engine: str | None = None,
        extra: Mapping[str, Any] | None = None,
        retryable: bool | None = None,
    ) -> None:
        facts = {"engine_name": engine, **(extra or {})}
        super().__init__(message, error_type=error_type, extra=facts, retryable=retryable)
        self.engine = engine


class ConnectionUriError(DatabaseError, error_type=ErrorType.CONNECTION_MISSING_PARAMETERS_ERROR):
    """A connection URI or its options are malformed or not allowed; the URI itself is not repeated."""

    status = 422


class SshTunnelError(DatabaseError, code="SSH_TUNNEL_ERROR"):
    """The SSH tunnel to a database does not open or was lost; `.reason`, in `.extra` too, says why.

    One of host_key, password, private_key, passphrase, unreachable, refused and forbidden (from there), lost, closed.
    """

    def __init__(
        self, what: str, *, reason: str, error_type: ErrorType | None = None, retryable: bool | None = None
    ) -> None:
        message = f"the SSH server of the database's tunnel {what}"
        super().__init__(message, error_type=error_type, extra={"reason": reason}, retryable=retryable)
        self.reason = reason


class StatementTimeoutError(DatabaseError, error_type=ErrorType.CONNECTION_DATABASE_TIMEOUT):
    """The statement was stopped by its time limit."""

    retryable = True


class RequestTimeoutError(StatementTimeoutError, error_type=ErrorType.BACKEND_TIMEOUT_ERROR):
    """The time that one request has in all is over; a statement that ran then was stopped."""


class StatementStoppedError(DatabaseError, code="STATEMENT_STOPPED_ERROR"):
    """The statement was stopped because somebody cancelled it, or closed the core."""


# ---------------------------------------------------------------------------------------------------------- OAuth 2.0
class OAuth2RedirectError(AnalyticsError, error_type=ErrorType.OAUTH2_REDIRECT):
    """The user must sign in at the provider of a database; `extra` has `url` (where), `tab_id` and `redirect_uri`."""

    status = 403

    def __init__(self, url: str, *, tab_id: str, redirect_uri: str) -> None:
        super().__init__(
            "sign in at the provider of this database first: open the address in `url` of this error, then ask again",
            level=ErrorLevel.WARNING,
            extra={"url": url, "tab_id": tab_id, "redirect_uri": redirect_uri},
        )


class OAuth2Error(AnalyticsError, error_type=ErrorType.OAUTH2_REDIRECT_ERROR):
    """An authorization at the provider of a database that cannot be started, completed or renewed."""

    status = 400


class TokenEndpointError(OAuth2Error, code="TOKEN_ENDPOINT_ERROR"):
    """The token endpoint of a provider cannot be reached, or its answer cannot be used; nothing of it is repeated."""

    retryable = True

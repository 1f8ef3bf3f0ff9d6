"""What is sent to a provider's token endpoint, and what its answers mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from analytics_core._engine.tracing import Tracer
from analytics_core._records.audit import ObservationKind
from analytics_core._records.datasource import Database
from analytics_core._records.secret import Secret
from analytics_core._tools.log import line_log
from analytics_core.errors import AnalyticsError, ErrorType, OAuth2Error, TokenEndpointError
from analytics_core.models.database import OAuth2Client
from analytics_core.ports import TokenEndpoint

Answer = TypeVar("Answer")

_LOG = line_log(__name__)

_LONGEST_LIFE_S: Final = 100 * 366 * 86_400
KNOWN_REFUSALS: Final = frozenset(
    {
        *("invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type"),
        *("invalid_scope", "access_denied", "unsupported_response_type", "server_error", "temporarily_unavailable"),
        *("interaction_required", "login_required", "account_selection_required", "consent_required"),
    }
)
"""Codes of RFC 6749 and OpenID Connect; a provider's own words are not repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenGrant:
    """Tokens as a provider gave them; `expires_in_s` None: it did not say, and they count until they are forgotten."""

    access_token: Secret
    expires_in_s: float | None = None
    refresh_token: Secret | None = None


class TokenRequests:
    """Asks the token endpoint of a client for tokens; nothing of a request or an answer comes into an error."""

    def __init__(self, endpoint: TokenEndpoint, tracer: Tracer | None = None) -> None:
        self._endpoint = endpoint
        self._tracer = tracer

    def redeem(
        self, client: OAuth2Client, code: Secret, *, redirect_uri: str, verifier: Secret, timeout_s: float
    ) -> TokenGrant:
        """Return the tokens that a code stands for.

        Raises:
            OAuth2Error: the provider gives none.
            TokenEndpointError: it cannot be asked.
        """
        given = {"code": code.reveal(), "redirect_uri": redirect_uri, "code_verifier": verifier.reveal()}
        answer = self._ask(client, {"grant_type": "authorization_code", **given}, timeout_s)
        grant = _grant(answer)
        if grant is None:
            raise OAuth2Error(f"the provider gave no access token for this authorization{refusal(answer)}")
        return grant

    def refresh(self, client: OAuth2Client, refresh_token: Secret, *, timeout_s: float) -> TokenGrant | None:
        """Return fresh tokens, or None when the provider gives none, for example since the person was locked out.

        Raises:
            TokenEndpointError: it cannot be asked.
        """
        fields = {"grant_type": "refresh_token", "refresh_token": refresh_token.reveal()}
        return _grant(self._ask(client, fields, timeout_s))

    def _ask(self, client: OAuth2Client, fields: Mapping[str, str], timeout_s: float) -> Mapping[str, Any]:
        if self._tracer is None:
            return self._answer(client, fields, timeout_s)
        facts = {"result_type": "renewal" if "refresh_token" in fields else "authorization"}
        with self._tracer.work(ObservationKind.SIGN_IN, facts) as work:
            answer = self._answer(client, fields, timeout_s)
            if _text(answer, "access_token") is None:
                work.error_type = ErrorType.OAUTH2_REDIRECT_ERROR.value
            return answer

    def _answer(self, client: OAuth2Client, fields: Mapping[str, str], timeout_s: float) -> Mapping[str, Any]:
        named = {"client_id": client.id, "client_secret": client.secret.get_secret_value(), **fields}
        kind = client.request_content_type
        try:
            answer: object = self._endpoint.request(
                client.token_request_uri, named, content_type=kind, timeout_s=timeout_s
            )
        except AnalyticsError as error:
            failure: AnalyticsError = error
        except Exception:  # border to a host's client: its words may hold what was sent
            failure = TokenEndpointError("the client that asks token endpoints failed")
        else:
            if isinstance(answer, Mapping):
                return answer
            failure = malformed("it is no object")
        raise failure from None


def asking(work: Callable[[], Answer], database: Database, *, may_know_why: bool) -> Answer:
    """Return what `work` does, which may ask a token endpoint; where that fails, only who may know why is told why.

    Whoever may sign in would learn else which hosts and ports of the host's network are open. The log has it.
    """
    try:
        return work()
    except TokenEndpointError as error:
        if may_know_why:
            raise
        _LOG.warning("the token endpoint of database %d cannot be asked: %s", database.id, error.message)
    raise TokenEndpointError(
        f"the token endpoint of database {database.database_name!r} cannot be asked; the log tells an administrator why"
    )


def refusal(answer: Mapping[str, Any]) -> str:
    """Return the code by which a provider says why, where it is one of the known ones."""
    code = answer.get("error")
    return f": {code}" if isinstance(code, str) and code in KNOWN_REFUSALS else ""


def malformed(why: str) -> TokenEndpointError:
    """Return the error of an answer that cannot be used."""
    return TokenEndpointError(f"the token endpoint gave an answer that cannot be used: {why}", retryable=False)


def _grant(answer: Mapping[str, Any]) -> TokenGrant | None:
    """Return the tokens of an answer; None when there is no access token in it."""
    access_token = _text(answer, "access_token")
    if access_token is None:
        return None
    refresh_token = _text(answer, "refresh_token")
    return TokenGrant(
        access_token=Secret(access_token),
        expires_in_s=_seconds(answer.get("expires_in")),
        refresh_token=None if refresh_token is None else Secret(refresh_token),
    )


def _text(answer: Mapping[str, Any], name: str) -> str | None:
    value = answer.get(name)
    if value is not None and not (isinstance(value, str) and value.isprintable() and value.isascii()):
        raise malformed(f"{name} is no text of printable characters")
    return value or None


def _seconds(value: object) -> float | None:
    """Return `expires_in`, which some providers send as text; None for what is no number of seconds up to a century.

    The token beside it is good all the same: it counts as one of which nobody said how long it lasts.
    """
    if value is None or isinstance(value, bool):
        return None
    try:
        seconds = float(value)  # type: ignore[arg-type]  # what is no number fails
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if not 0 <= seconds <= _LONGEST_LIFE_S:
        _LOG.warning("a token endpoint gave an expires_in that is no number of seconds; the token counts without it")
        return None
    return seconds

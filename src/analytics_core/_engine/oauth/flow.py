"""The way of a user to a provider and back: where to send them, and what becomes of what they bring."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit
from uuid import uuid4

from analytics_core._engine.oauth.clients import PLAIN_ADDRESS, ClientOf, client_digest, provider_address
from analytics_core._engine.oauth.exchange import KNOWN_REFUSALS, TokenRequests
from analytics_core._engine.oauth.state import SignedState, StateSigner
from analytics_core._engine.oauth.stored_tokens import StoredTokens, TokenOwner
from analytics_core._engine.rights.origins import allows_origin
from analytics_core._records.datasource import Database
from analytics_core._records.repositories import UnitOfWork
from analytics_core._records.secret import Secret
from analytics_core._records.settings import Settings
from analytics_core._records.shared_state import KeyValue
from analytics_core.errors import AlreadyExistsError, OAuth2Error, OAuth2RedirectError, StaleVersionError
from analytics_core.models.database import OAuth2Client, OAuth2State

CALLBACK_PAGE: Final = "oauth2_callback"
USED_STATE_KIND: Final = "oauth2_state"
_MOST_USED_STATES: Final = timedelta(hours=1)
"""Beyond the end of a state: the clocks of two machines may differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationRequest:
    """Where to send a user, so that they allow us to reach a database on their behalf.

    Attributes:
        url: the provider's page.
        state: what the provider gives back with its answer.
        redirect_uri: the host's callback, where the provider leads them.
        tab_id: tells the browser's tab that waits for the end.
    """

    url: str = field(repr=False)
    state: str = field(repr=False)
    redirect_uri: str
    tab_id: str


class AuthorizationFlow:
    """Begins and ends authorizations (contract, Per-user database OAuth 2.0).

    Args:
        settings: key and algorithm of states, origins, the host's callback, the time limit of requests.
        signer: signs and reads states.
        stored: the token records.
        requests: asks the providers.
        client_of: finds the registration of a database.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        signer: StateSigner,
        stored: StoredTokens,
        requests: TokenRequests,
        client_of: ClientOf,
    ) -> None:
        self._settings = settings
        self._signer = signer
        self._stored = stored
        self._requests = requests
        self._client_of = client_of

    def start(
        self, database: Database, user_id: int, *, redirect_to: str | None = None, tab_id: str | None = None
    ) -> AuthorizationRequest:
        """Return where a user authorizes us; nothing is kept until they come back, for five minutes at the most.

        Raises:
            OAuth2Error: the database has no client, there is no callback, or `redirect_to` is not of an allowed origin.
        """
        client = self._client(database)
        redirect_uri = self._redirect_uri(client, database)
        if redirect_to is not None and not self._may_lead_to(redirect_to):
            raise OAuth2Error(
                "redirect_to is no address of an origin in Settings.oauth2_redirect_origins; "
                "give one such as https://app.example/page, or leave it out"
            )
        tab_id = str(uuid4()) if tab_id is None else tab_id
        claims = OAuth2State(
            database_id=database.id, user_id=user_id, default_redirect_uri=redirect_to or redirect_uri, tab_id=tab_id
        )
        state, signed = self._signer.sign(claims, client=client_digest(client, database))
        url = _authorization_url(client, signed, state=state, redirect_uri=redirect_uri)
        return AuthorizationRequest(url=url, state=state, redirect_uri=redirect_uri, tab_id=tab_id)

    def redirect_error(self, database: Database, user_id: int, *, tab_id: str | None = None) -> OAuth2RedirectError:
        """Return the error that sends a user to the provider; errors of its own are those of `start`."""
        request = self.start(database, user_id, tab_id=tab_id)
        return OAuth2RedirectError(request.url, tab_id=request.tab_id, redirect_uri=request.redirect_uri)

    def read(self, state: object, user_id: int) -> SignedState:
        """Return a state that this user may bring; OAuth2Error when it is somebody else's, none of ours, or over."""
        signed = self._signer.read(state)
        if signed.claims.user_id != user_id:
            raise OAuth2Error("the state is not yours; start an authorization of your own")
        return signed

    @staticmethod
    def use(unit: UnitOfWork, signed: SignedState) -> None:
        """Remember that a state came back; OAuth2Error when it did before, in any process of the store."""
        entry = KeyValue(
            kind=USED_STATE_KIND,
            key=signed.number,
            value=json.dumps({"database_id": signed.claims.database_id}),
            expires_on=signed.expires_on + _MOST_USED_STATES,
        )
        try:
            unit.key_values.append(entry, actor_id=signed.claims.user_id)
        except (AlreadyExistsError, StaleVersionError):
            raise OAuth2Error("the state was used before; start the authorization anew") from None

    def finish(self, database: Database, signed: SignedState, code: Secret) -> None:
        """Redeem the code of an authorization and store the tokens, in place of those that the user had.

        Raises:
            OAuth2Error: the provider gives none, or the database has no client any more.
            TokenEndpointError: it cannot be asked.
        """
        client = self._client(database)
        digest = client_digest(client, database)
        if digest != signed.client:
            reason = "the OAuth 2.0 client of the database, or its server, changed meanwhile"
            raise OAuth2Error(f"{reason}; start the authorization anew")
        redirect_uri = self._redirect_uri(client, database)
        grant = self._requests.redeem(
            client,
            code,
            redirect_uri=redirect_uri,
            verifier=signed.verifier,
            timeout_s=self._settings.oauth2_timeout_s,
        )
        owner = TokenOwner(database_id=database.id, user_id=signed.claims.user_id, client=digest)
        self._stored.keep(owner, grant)

    def leads_to(self, database: Database, signed: SignedState) -> str | None:
        """Return where the user wanted to go afterwards; None when they did not say."""
        requested = signed.claims.default_redirect_uri
        return None if requested == self._redirect_uri(self._client(database), database) else requested

    def _client(self, database: Database) -> OAuth2Client:
        client = self._client_of(database)
        if client is None:
            raise OAuth2Error(
                f"database {database.database_name!r} has no OAuth 2.0 client; name one in its extra "
                "(oauth2_client_info) or in Settings.oauth2_clients"
            )
        for name in ("authorization_request_uri", "token_request_uri"):
            if provider_address(getattr(client, name), self._settings.oauth2_http_hosts) is None:
                raise OAuth2Error(
                    f"the OAuth 2.0 client of database {database.database_name!r} cannot be used: its {name} must be "
                    "an https address without user and fragment; plain http takes a host in Settings.oauth2_http_hosts"
                )
        return client

    def _redirect_uri(self, client: OAuth2Client, database: Database) -> str:
        if client.redirect_uri:
            return client.redirect_uri
        url_for = self._settings.url_for
        address = None if url_for is None else url_for(CALLBACK_PAGE, {})
        if not address:
            raise OAuth2Error(
                f"nobody says where the provider of database {database.database_name!r} leads people back to; give its "
                f"client a redirect_uri, or answer {CALLBACK_PAGE!r} in Settings.url_for"
            )
        return address

    def _may_lead_to(self, address: object) -> bool:
        """Tell whether an address is a page of a configured origin, however clients might read it."""
        allowed = self._settings.oauth2_redirect_origins
        if not allowed or not isinstance(address, str) or not PLAIN_ADDRESS.fullmatch(address):
            return False
        try:
            parts = urlsplit(address)
        except ValueError:
            return False
        return allows_origin(allowed, f"{parts.scheme}://{parts.netloc}")


def known_refusal(error: object) -> str | None:
    """Return the code by which a provider refused an authorization, where it is one of the known ones."""
    return error if isinstance(error, str) and error in KNOWN_REFUSALS else None


def _authorization_url(client: OAuth2Client, signed: SignedState, *, state: str, redirect_uri: str) -> str:
    """Return the provider's page with all that it must be told; what its own address says already stays."""
    params = {
        "response_type": "code",
        "client_id": client.id,
        "redirect_uri": redirect_uri,
        "scope": client.scope,
        "state": state,
        "code_challenge": signed.challenge,
        "code_challenge_method": "S256",
        "access_type": "offline",
        "prompt": "consent",
    }
    page = urlsplit(client.authorization_request_uri)
    own = [pair for pair in parse_qsl(page.query, keep_blank_values=True) if pair[0] not in params]
    return urlunsplit((page.scheme, page.netloc, page.path, urlencode([*own, *params.items()]), ""))

"""The default `TokenEndpoint`: one POST by HTTPS, on the standard library alone."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from typing import Any, Final, NoReturn
from urllib.parse import urlencode, urlsplit

from analytics_core._core.adapters.http_client import DEFAULT_PORTS, HttpClient, HttpProblem, Resolve
from analytics_core._engine.oauth.clients import provider_address
from analytics_core._engine.oauth.exchange import malformed
from analytics_core._records.settings import Settings
from analytics_core.errors import SettingsError, TokenEndpointError
from analytics_core.models.database import OAuth2ContentType

MOST_BYTES: Final = 1_000_000


def place_of(uri: str) -> tuple[str, int] | None:
    """Return host and port of an address, None where it has none."""
    try:
        parts = urlsplit(uri)
        return (parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme])
    except (ValueError, KeyError):
        return None


class HttpsTokenEndpoint:
    """Asks token endpoints by HTTPS (port `TokenEndpoint`); any thread may use it.

    Addresses are checked before, and connected to as they were checked; the certificate must be the host's. No redirect
    is followed, no proxy and no cookie is used. An answer has at most a million bytes.

    Args:
        settings: `oauth2_http_hosts` and `oauth2_ca_file`.
        resolve: gives the addresses of a host.

    Raises:
        SettingsError: `oauth2_ca_file` cannot be read.
    """

    def __init__(self, settings: Settings, *, resolve: Resolve) -> None:
        self._http_hosts = settings.oauth2_http_hosts
        self._resolve = resolve
        self._client = HttpClient(
            "analytics_core-oauth",
            tls=_tls_context(settings),
            advice="; see Settings.oauth2_ca_file",
            most_bytes=MOST_BYTES,
        )

    def request(
        self, uri: str, fields: Mapping[str, str], *, content_type: OAuth2ContentType, timeout_s: float
    ) -> Mapping[str, Any]:
        """Return the JSON object that the endpoint answers with; within `timeout_s` in all, whatever hangs or drips."""
        parts = provider_address(uri, self._http_hosts)
        if parts is None:
            raise TokenEndpointError("the token endpoint has no https address", retryable=False)
        body, kind = _body(fields, content_type)
        answer = self._client.post(
            parts,
            body,
            headers={"Accept": "application/json", "Content-Type": kind},
            resolve=self._resolve,
            timeout_s=timeout_s,
        )
        if isinstance(answer, HttpProblem):
            raise TokenEndpointError(f"the token endpoint {answer.what}")
        return _object_of(answer.status, answer.body)


def _tls_context(settings: Settings) -> ssl.SSLContext | None:
    path = settings.oauth2_ca_file
    try:
        return None if path is None else ssl.create_default_context(cafile=str(path))
    except (OSError, ssl.SSLError):
        raise SettingsError("Settings.oauth2_ca_file is no readable file of certificates (PEM)") from None


def _body(fields: Mapping[str, str], content_type: OAuth2ContentType) -> tuple[bytes, str]:
    if content_type is OAuth2ContentType.JSON:
        return json.dumps(dict(fields)).encode(), "application/json"
    return urlencode(dict(fields)).encode(), "application/x-www-form-urlencoded"


def _object_of(status: int, body: bytes) -> Mapping[str, Any]:
    """Return the object of an answer: of tokens, or of a refusal as RFC 6749 has it."""
    if 300 <= status < 400:
        raise malformed("it redirects, which is not followed")
    if status == 429 or status >= 500:
        raise TokenEndpointError(f"the token endpoint answered with status {status}")
    if len(body) > MOST_BYTES:
        raise malformed(f"it has more than {MOST_BYTES} bytes")
    content = _read_json(body)
    is_refusal = 400 <= status <= 403 and isinstance(content, dict) and isinstance(content.get("error"), str)
    if isinstance(content, dict) and (200 <= status < 300 or is_refusal):
        return content
    raise malformed("it is no JSON object" if 200 <= status < 300 else f"it has status {status}")


def _read_json(body: bytes) -> object:
    try:
        return json.loads(body, parse_constant=_reject)
    except (ValueError, RecursionError):
        return None


def _reject(_constant: str) -> NoReturn:
    raise ValueError

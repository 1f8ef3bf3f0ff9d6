"""The default `TokenEndpoint`: one POST by HTTPS, on the standard library alone."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NoReturn
from urllib.parse import SplitResult, urlencode, urlsplit

from analytics_core._bounded_calls import BoundedCalls
from analytics_core._oauth.clients import provider_address
from analytics_core._oauth.exchange import malformed
from analytics_core._settings import Settings
from analytics_core.errors import SettingsError, TokenEndpointError
from analytics_core.models.database import OAuth2ContentType

MOST_BYTES: Final = 1_000_000
_DEFAULT_PORTS: Final = {"https": 443, "http": 80}

Resolve = Callable[[str, int], Sequence[str]]
"""Gives the addresses of a host that may be connected to; raises AnalyticsError when there are none."""


def place_of(uri: str) -> tuple[str, int] | None:
    """Return host and port of an address, None where it has none."""
    try:
        parts = urlsplit(uri)
        return (parts.hostname or "", parts.port or _DEFAULT_PORTS[parts.scheme])
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
        self._tls = _tls_context(settings)
        self._calls = BoundedCalls("analytics_core-oauth")

    def request(
        self, uri: str, fields: Mapping[str, str], *, content_type: OAuth2ContentType, timeout_s: float
    ) -> Mapping[str, Any]:
        """Return the JSON object that the endpoint answers with; within `timeout_s` in all, whatever hangs or drips."""
        parts = provider_address(uri, self._http_hosts)
        if parts is None:
            raise TokenEndpointError("the token endpoint has no https address", retryable=False)
        exchange = _Exchange(parts, self._resolve, self._tls if parts.scheme == "https" else None, timeout_s)
        call = self._calls.start(lambda: exchange.post(fields, content_type))
        if not call.wait(timeout_s):
            exchange.abort()
            call.abandon(lambda _answer: None)
            raise TokenEndpointError(f"the token endpoint gave no whole answer within {timeout_s:g} seconds")
        return call.result()


class _Exchange:
    """One request and its answer, which another thread may abort."""

    def __init__(self, parts: SplitResult, resolve: Resolve, tls: ssl.SSLContext | None, timeout_s: float) -> None:
        self._parts = parts
        self._resolve = resolve
        self._tls = tls
        self._timeout_s = timeout_s
        self._host = parts.hostname or ""
        self._port = parts.port or _DEFAULT_PORTS[parts.scheme]
        self._socket: socket.socket | None = None

    def post(self, fields: Mapping[str, str], content_type: OAuth2ContentType) -> Mapping[str, Any]:
        """Return the object of the answer."""
        connection = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout_s)
        target = f"{self._parts.path or '/'}{'?' + self._parts.query if self._parts.query else ''}"
        body, kind = _body(fields, content_type)
        headers = {"Accept": "application/json", "Content-Type": kind, "Connection": "close"}
        try:
            connection.sock = self._connected()
            connection.request("POST", target, body=body, headers=headers)
            with connection.getresponse() as answer:
                return _object_of(answer.status, answer.read(MOST_BYTES + 1))
        except (OSError, http.client.HTTPException, ValueError) as error:
            problem = _problem(error)
        finally:
            connection.close()
        raise TokenEndpointError(problem)

    def abort(self) -> None:
        """End the exchange, wherever its thread is."""
        held = self._socket
        if held is not None:
            with suppress(OSError):
                held.shutdown(socket.SHUT_RDWR)

    def _connected(self) -> socket.socket:
        """Return a connection to the first address that takes one; by TLS it is the named host's."""
        failure: OSError = OSError("no address")
        for address in self._resolve(self._host, self._port):
            try:
                self._socket = plain = socket.create_connection((address, self._port), self._timeout_s)
            except OSError as error:
                failure = error
                continue
            if self._tls is None:
                return plain
            try:
                # The handshake comes after, so that `abort` reaches the socket while the other side drips it.
                self._socket = tls = self._tls.wrap_socket(
                    plain, server_hostname=self._host, do_handshake_on_connect=False
                )
                tls.do_handshake()
            except BaseException:  # whatever it is goes on upwards; the connection must not stay open
                self._socket.close()
                raise
            return self._socket
        raise failure


def _tls_context(settings: Settings) -> ssl.SSLContext:
    path = settings.oauth2_ca_file
    try:
        return ssl.create_default_context(cafile=None if path is None else str(path))
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
    told = _read_json(body)
    is_refusal = 400 <= status <= 403 and isinstance(told, dict) and isinstance(told.get("error"), str)
    if isinstance(told, dict) and (200 <= status < 300 or is_refusal):
        return told
    raise malformed("it is no JSON object" if 200 <= status < 300 else f"it has status {status}")


def _read_json(body: bytes) -> object:
    try:
        return json.loads(body, parse_constant=_reject)
    except (ValueError, RecursionError):
        return None


def _reject(_constant: str) -> NoReturn:
    raise ValueError


def _problem(error: Exception) -> str:
    """Return what went wrong in words of our own: those of the system hold addresses."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return "the token endpoint has no certificate of a trusted authority for its name; see Settings.oauth2_ca_file"
    if isinstance(error, ssl.SSLError):
        return "no encrypted connection to the token endpoint could be made"
    if isinstance(error, TimeoutError):
        return "the token endpoint does not answer in time"
    if isinstance(error, http.client.HTTPException):
        return "the token endpoint broke off its answer, or does not speak HTTP"
    return "the token endpoint cannot be reached"

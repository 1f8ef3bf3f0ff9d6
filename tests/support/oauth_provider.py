"""A real OAuth 2.0 provider on the loopback, HTTP or HTTPS, that rotates refresh tokens and misbehaves on demand."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import json
import secrets
import ssl
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

CLIENT_ID, CLIENT_SECRET = "our-client", "client-s3cret-of-the-tests"
REDIRECT_URI = "https://app.example/callback"


@dataclass
class Provider:
    """What the provider knows, and how it behaves; tests read and set it.

    Attributes:
        life_s: of the access tokens that it gives.
        delay_s: before it answers at its token endpoint.
        misbehaviour: what it does there instead of answering; a name of `_MISBEHAVIOURS`, or None.
        rotates: whether a refresh token is good once.
        keeps_family: whether a refresh token that comes again revokes what came of it, as RFC 9700 asks.
        requests: what came to the token endpoint, by `grant_type`.
        bodies: the fields of these requests, in their order.
    """

    url: str = ""
    ca_file: Path | None = None
    life_s: float = 3_600
    delay_s: float = 0.0
    misbehaviour: str | None = None
    rotates: bool = True
    gives_refresh_tokens: bool = True
    requests: Counter[str] = field(default_factory=Counter)
    bodies: list[dict[str, str]] = field(default_factory=list)
    content_types: list[str] = field(default_factory=list)
    issued: list[str] = field(default_factory=list)
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)
    _refresh_tokens: dict[str, str] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def client(self, **changes: Any) -> dict[str, Any]:
        """Return the client configuration of the contract."""
        return {
            "id": CLIENT_ID,
            "secret": CLIENT_SECRET,
            "scope": "read sales",
            "authorization_request_uri": f"{self.url}/authorize",
            "token_request_uri": f"{self.url}/token",
            "redirect_uri": REDIRECT_URI,
            **changes,
        }

    def authorize(self, url: str, account: str = "ada") -> dict[str, str]:
        """Answer as the page does when this account allows what is asked: return what the callback is given."""
        request = dict(parse_qsl(urlsplit(url).query))
        assert request["client_id"] == CLIENT_ID
        code = f"code-{secrets.token_urlsafe(16)}"
        with self._guard:
            self._codes[code] = {**request, "account": account}
        return {"state": request["state"], "code": code}

    def revoke(self) -> None:
        """Forget every refresh token."""
        with self._guard:
            self._refresh_tokens.clear()

    def refresh_token(self, account: str = "ada") -> str:
        """Return a refresh token that is good."""
        token = f"refresh-{account}-{secrets.token_urlsafe(16)}"
        with self._guard:
            self._refresh_tokens[token] = account
        return token

    def answer(self, request: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
        """Return status and body of the token endpoint."""
        if (request.get("client_id"), request.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET):
            return 401, {"error": "invalid_client"}
        with self._guard:
            account = self._account(request)
            if account is None:
                return 400, {"error": "invalid_grant", "error_description": f"bad {request.get('refresh_token')}"}
            return 200, self._tokens(account, request)

    def _account(self, request: Mapping[str, str]) -> str | None:
        if request.get("grant_type") == "refresh_token":
            token = request.get("refresh_token", "")
            return self._refresh_tokens.pop(token, None) if self.rotates else self._refresh_tokens.get(token)
        begun = self._codes.pop(request.get("code", ""), None)
        if begun is None or begun["redirect_uri"] != request.get("redirect_uri"):
            return None
        digest = hashlib.sha256(request.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        return begun["account"] if challenge == begun["code_challenge"] else None

    def _tokens(self, account: str, request: Mapping[str, str]) -> dict[str, Any]:
        access = f"access-{account}-{secrets.token_urlsafe(16)}"
        self.issued.append(access)
        tokens: dict[str, Any] = {"access_token": access, "token_type": "Bearer", "expires_in": self.life_s}
        if self.gives_refresh_tokens and (self.rotates or request.get("grant_type") != "refresh_token"):
            tokens["refresh_token"] = f"refresh-{account}-{secrets.token_urlsafe(16)}"
            self._refresh_tokens[tokens["refresh_token"]] = account
        return tokens


class _Handler(BaseHTTPRequestHandler):
    provider: Provider

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        """Answer at the token endpoint."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kind = self.headers.get("Content-Type", "")
        request = json.loads(body) if "json" in kind else {k: v[0] for k, v in parse_qs(body.decode()).items()}
        with self.provider._guard:
            self.provider.requests[request.get("grant_type", "")] += 1
            self.provider.bodies.append(request)
            self.provider.content_types.append(kind)
        time.sleep(self.provider.delay_s)
        if self.provider.misbehaviour is not None:
            getattr(self, f"_{self.provider.misbehaviour}")()
            return
        status, reply = self.provider.answer(request)
        self._send(status, json.dumps(reply).encode())

    def do_GET(self) -> None:
        """Let somebody with the account that the header names pass the page."""
        given = self.provider.authorize(self.path, self.headers.get("X-Account", "ada"))
        where = dict(parse_qsl(urlsplit(self.path).query))["redirect_uri"]
        self.send_response(302)
        self.send_header("Location", f"{where}?{urlencode(given)}")
        self.end_headers()

    def _send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    # ------------------------------------------------------------------------------------------------ misbehaviours
    def _hanging(self) -> None:
        time.sleep(30)

    def _dripping(self) -> None:
        self.send_response(200)
        self.end_headers()
        for _ in range(300):
            self.wfile.write(b" ")
            self.wfile.flush()
            time.sleep(0.1)

    def _dripping_headers(self) -> None:
        for letter in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 300:
            self.wfile.write(bytes([letter]))
            self.wfile.flush()
            time.sleep(0.1)

    def _html(self) -> None:
        self._send(200, b"<html>hunter2</html>")

    def _malformed(self) -> None:
        self._send(200, b'{"access_token": "hunter2", ')

    def _array(self) -> None:
        self._send(200, b'["hunter2"]')

    def _number(self) -> None:
        self._send(200, b'{"access_token": 7, "expires_in": 60}')

    def _deep(self) -> None:
        self._send(200, b'{"access_token": ' + b"[" * 100_000)

    def _lasting(self) -> None:
        self._send(200, b'{"access_token": "a", "expires_in": 1e999}')

    def _huge(self) -> None:
        self._send(200, b'{"access_token": "' + b"x" * 5_000_000 + b'"}')

    def _huge_chunks(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for _ in range(5_000):
            self.wfile.write(b"3e8\r\n" + b" " * 1_000 + b"\r\n")

    def _error(self) -> None:
        self._send(500, b'{"error": "hunter2"}')

    def _error_page(self) -> None:
        self._send(404, b"hunter2")

    def _busy(self) -> None:
        self._send(429, b'{"error": "hunter2"}')

    def _redirect(self) -> None:
        self._send(307, b"", Location=f"{self.provider.url}/elsewhere")

    def _closing(self) -> None:
        self.close_connection = True

    def _no_token(self) -> None:
        self._send(200, b'{"token_type": "Bearer"}')


@contextmanager
def provider(tls_folder: Path | None = None, *, named: str = "127.0.0.1") -> Iterator[Provider]:
    """Run a provider; with a folder by HTTPS, with a certificate for `named` of an authority whose file is there."""
    made = Provider()

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *_: object) -> None:
            """Clients that go away are no news."""

    server = Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"provider": made}))
    scheme = "http"
    if tls_folder is not None:
        scheme, context = "https", ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.ca_file = make_authority(tls_folder, named)
        context.load_cert_chain(tls_folder / "server.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    made.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()


def make_authority(folder: Path, named: str) -> Path:
    """Make an authority and a server's certificate that it signed; return the file of the authority."""
    authority_key, server_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = _certificate("an authority of the tests", authority_key, None, authority_key, is_authority=True)
    server = _certificate(named, server_key, authority.subject, authority_key, is_authority=False)
    path = folder / "authority.pem"
    path.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    key = server_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "server.pem").write_bytes(key + server.public_bytes(serialization.Encoding.PEM))
    return path


def _certificate(
    named: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name | None,
    signer: ec.EllipticCurvePrivateKey,
    *,
    is_authority: bool,
) -> x509.Certificate:
    subject, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, named)]), datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer or subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    if is_authority:
        usage = x509.KeyUsage(
            digital_signature=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        builder = builder.add_extension(usage, critical=True)
    else:
        is_address = named.replace(".", "").isdigit()
        name: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(named)) if is_address else x509.DNSName(named)
        builder = builder.add_extension(x509.SubjectAlternativeName([name]), critical=False)
    return builder.sign(signer, hashes.SHA256())


def settings_for(made: Provider, **changes: Any) -> dict[str, Any]:
    """Return the settings by which database `shop` is guarded by a provider."""
    return {
        "oauth2_clients": {"shop": made.client()},
        "oauth2_http_hosts": () if made.ca_file else ("127.0.0.1",),
        "oauth2_ca_file": made.ca_file,
        "oauth2_redirect_origins": ("https://app.example",),
        **changes,
    }

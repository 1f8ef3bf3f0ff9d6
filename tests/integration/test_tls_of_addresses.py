"""TLS verifies the name of a host, also where the connection leads to an address that we chose."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from analytics_core._engine.execution.sessions.base import OpenRequest
from analytics_core._engine.execution.sessions.choice import make_session
from analytics_core._engine.execution.sessions.opening import ADDRESSES

NAME = "db.example.com"


def _certificate(folder: Path) -> Path:
    """Write a key and a certificate of `NAME` that vouches for itself, and return the file of both."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return file


def _greet_as_postgresql(connection: socket.socket) -> None:
    connection.recv(8)  # SSLRequest
    connection.sendall(b"S")


def _greet_as_mysql(connection: socket.socket) -> None:
    capabilities = 0x00008A01 | 0x0800  # protocol 4.1, secure connection, long password, TLS
    greeting = (
        b"\x0a10.11.0-MariaDB\x00" + struct.pack("<I", 7) + b"saltsalt\x00" + struct.pack("<H", capabilities & 0xFFFF)
    )
    greeting += b"\x2d\x02\x00" + struct.pack("<H", 0x0008) + b"\x15" + bytes(10) + b"saltsaltsalt\x00"
    greeting += b"mysql_native_password\x00"
    connection.sendall(len(greeting).to_bytes(3, "little") + b"\x00" + greeting)
    connection.recv(36)  # SSLRequest


@dataclass
class TlsServer:
    """A server that takes connections as far as TLS, and remembers how many came through it."""

    certificate: Path
    greet: Callable[[socket.socket], None]
    listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    secured: int = 0

    def serve(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        with suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                connection.settimeout(5)
                with closing(connection), suppress(OSError):
                    self.greet(connection)
                    with context.wrap_socket(connection, server_side=True) as secured:
                        if secured.recv(1):  # the client sends on: it has verified us
                            self.secured += 1


@dataclass(frozen=True, kw_only=True)
class Engine:
    """How an engine is asked to verify a server."""

    scheme: str
    greet: Callable[[socket.socket], None]
    verify: Callable[[Path], dict[str, Any]]


ENGINES = (
    Engine(
        scheme="postgresql+psycopg",
        greet=_greet_as_postgresql,
        verify=lambda ca: {"sslmode": "verify-full", "sslrootcert": str(ca), "gssencmode": "disable"},
    ),
    Engine(
        scheme="mysql+pymysql",
        greet=_greet_as_mysql,
        verify=lambda ca: {"ssl_ca": str(ca), "ssl_verify_identity": True, "ssl_verify_cert": True},
    ),
)


@pytest.fixture(params=ENGINES, ids=lambda engine: engine.scheme)
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.param
    return found


@pytest.fixture
def server(engine: Engine, tmp_path: Path) -> Iterator[TlsServer]:
    made = TlsServer(certificate=_certificate(tmp_path), greet=engine.greet)
    thread = threading.Thread(target=made.serve, daemon=True)
    thread.start()
    yield made
    made.listener.shutdown(socket.SHUT_RDWR)
    made.listener.close()
    thread.join(5)


def connect(engine: Engine, server: TlsServer, host: str) -> None:
    """Connect to the server's address under a name; the server ends every connection after TLS."""

    def lead(named: dict[str, Any]) -> None:
        named[ADDRESSES] = "127.0.0.1"

    port = int(server.listener.getsockname()[1])
    request = OpenRequest(
        url=sa.URL.create(engine.scheme, username="u", password="p", host=host, port=port, database="d"),
        connect_args=engine.verify(server.certificate),
        before_connect=(lead,),
    )
    made = make_session(engine.scheme.partition("+")[0]).make_engine(request)
    try:
        with pytest.raises(sa.exc.OperationalError):
            made.connect()
    finally:
        made.dispose()


def test_the_certificate_of_the_name_is_taken_at_the_address(engine: Engine, server: TlsServer) -> None:
    connect(engine, server, NAME)
    assert server.secured == 1


@pytest.mark.parametrize("host", ["other.example.com", "127.0.0.1"])
def test_the_certificate_of_another_name_is_refused(engine: Engine, server: TlsServer, host: str) -> None:
    connect(engine, server, host)
    assert server.secured == 0

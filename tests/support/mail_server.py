"""Real mail servers on the loopback: aiosmtpd, which misbehaves on demand, and one that says what a script says."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session
from tests.support.oauth_provider import make_authority

USER, PASSWORD = "reports", "pa55:w@rd with ü"


@dataclass(frozen=True, slots=True)
class ArrivedMail:
    """One mail as the server has it."""

    sender: str
    recipients: tuple[str, ...]
    content: bytes
    port_of_client: int

    def parsed(self) -> EmailMessage:
        """Return it as the standard library reads it."""
        found = message_from_bytes(self.content, policy=policy.default)
        assert isinstance(found, EmailMessage)
        assert not [part.defects for part in found.walk() if part.defects]
        return found


@dataclass
class MailServer:
    """What arrived, and how the server behaves; tests read and set it.

    Attributes:
        replies: to RCPT, by address.
        after_data: its reply to a mail; `hang`, `break`, or the reply; None: taken.
    """

    port: int = 0
    ca_file: Path | None = None
    mails: list[ArrivedMail] = field(default_factory=list)
    replies: dict[str, str] = field(default_factory=dict)
    after_data: str | None = None
    users: list[str] = field(default_factory=list)
    greetings: list[str] = field(default_factory=list)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    async def handle_EHLO(
        self, server: SMTP, session: Session, envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        """Remember who greets."""
        session.host_name = hostname
        self.greetings.append(hostname)
        return responses

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Answer as the test wants."""
        reply = self.replies.get(address, "250 OK")
        if reply.startswith("250"):
            envelope.rcpt_tos.append(address)
        return reply

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        """Keep the mail, unless the test wants it otherwise."""
        if self.after_data == "hang":
            await asyncio.sleep(20)
        if self.after_data in ("break", "hang"):
            assert server.transport is not None
            server.transport.abort()
            await asyncio.sleep(20)
        if self.after_data is not None:
            return self.after_data
        content = envelope.original_content
        assert isinstance(content, bytes)
        with self._guard:
            mail = ArrivedMail(envelope.mail_from or "", tuple(envelope.rcpt_tos), content, session.peer[1])
            self.mails.append(mail)
        return "250 OK"

    def authenticate(self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        """Let in whoever knows the password."""
        is_right = (data.login, data.password) == (USER.encode(), PASSWORD.encode())
        if is_right:
            self.users.append(data.login.decode())
        return AuthResult(success=is_right, handled=False)


@contextmanager
def mail_server(tls_folder: Path | None = None, *, security: str = "none", **options: Any) -> Iterator[MailServer]:
    """Run a server; with a folder it has a certificate for 127.0.0.1 of an authority whose file is there."""
    logging.getLogger("mail.log").setLevel(logging.WARNING)  # the server would log every line that it reads
    made = MailServer(port=_free_port())
    if tls_folder is not None:
        made.ca_file = make_authority(tls_folder, options.pop("named", "127.0.0.1"))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls_folder / "server.pem")
        options["tls_context" if security == "starttls" else "ssl_context"] = context
    if options.get("auth_required"):
        options |= {"authenticator": made.authenticate, "auth_require_tls": security == "starttls"}
    controller = Controller(made, hostname="127.0.0.1", port=made.port, **options)
    controller.start()
    made.greetings.clear()
    try:
        yield made
    finally:
        controller.stop()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


# -------------------------------------------------------------------------------------------------- by a script
SCRIPT = {
    "greeting": b"220 hello\r\n",
    "EHLO": b"250-hello\r\n250 SIZE 1000000\r\n",
    "MAIL": b"250 OK\r\n",
    "RCPT": b"250 OK\r\n",
    "DATA": b"354 go on\r\n",
    ".": b"250 OK\r\n",
    "RSET": b"250 OK\r\n",
    "QUIT": b"221 bye\r\n",
}


@dataclass
class ScriptedServer:
    """Says what its script has for the first word of a line; `drip`, `hang`, `deaf`, `flood`, `close` are done."""

    port: int = 0
    script: dict[str, Any] = field(default_factory=dict)
    said: list[bytes] = field(default_factory=list)
    connections: int = 0
    stop: threading.Event = field(default_factory=threading.Event)

    def serve(self, connection: socket.socket) -> None:
        """Talk to one client."""
        with connection, connection.makefile("rb") as lines, suppress(OSError):
            if not self._say(connection, "greeting"):
                return
            is_mail = False
            for line in lines:
                if is_mail and line != b".\r\n":
                    continue
                word = "." if is_mail else line.split()[0].decode("latin-1").upper() if line.split() else ""
                is_mail = word == "DATA" and self._of(word) == SCRIPT["DATA"]
                self.said.append(line)
                if not self._say(connection, word):
                    return

    def _of(self, word: str) -> Any:
        return self.script.get(word, SCRIPT.get(word, b"500 what\r\n"))

    def _say(self, connection: socket.socket, word: str) -> bool:
        what = self._of(word)
        if what == "hang":
            self.stop.wait(20)
        elif what == "deaf":
            connection.sendall(SCRIPT[word])
            self.stop.wait(20)
        elif what == "drip":
            while not self.stop.wait(0.05):
                connection.sendall(b"2")
        elif what == "flood":
            while not self.stop.is_set():
                connection.sendall(b"250-more of it\r\n" * 1_000)
        elif isinstance(what, bytes):
            connection.sendall(what)
            return True
        return False


@contextmanager
def scripted_server(script: Mapping[str, Any]) -> Iterator[ScriptedServer]:
    """Run a server that says what a script says, and else what is usual."""
    made = ScriptedServer(script=dict(script))
    threads = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        made.port = server.getsockname()[1]

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    made.connections += 1
                    thread = threading.Thread(target=made.serve, args=(connection,), daemon=True)
                    thread.start()
                    threads.append(thread)

        acceptor = threading.Thread(target=accept, daemon=True)
        acceptor.start()
        try:
            yield made
        finally:
            made.stop.set()
            server.shutdown(socket.SHUT_RDWR)
            for thread in (acceptor, *threads):
                thread.join(5)

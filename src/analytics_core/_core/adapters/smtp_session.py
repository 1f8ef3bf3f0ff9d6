"""Connections to one mail server: opened, encrypted, signed in, and kept for a while for the next mail."""

from __future__ import annotations

import base64
import queue
import smtplib
import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from analytics_core._core.adapters.pinned_connection import PinnedConnection
from analytics_core._engine.network import is_host
from analytics_core._records.secret import Secret
from analytics_core._reports.mail import parse_address
from analytics_core._tools.bounded_calls import start_thread
from analytics_core._tools.forks import forkable_rlock, tell_of_forks
from analytics_core.errors import NotificationError, SettingsError, ThreadLimitError
from analytics_core.ports import Clock

_PORTS: Final = {"starttls": 587, "tls": 465, "none": 25}
_MOST_LINES: Final = 100
"""Lines of one reply that are read."""

_LONGEST_LINE: Final = 2_048
_CHECK_S: Final = 5.0
"""Seconds that a connection which waited may take to say that it is alive."""

_MOST_IDLE: Final = 8
"""Connections that wait at the most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmtpSettings:
    """The mail server that takes our mails, and how it is spoken to.

    Attributes:
        host: its name, whose certificate it must have where the connection is encrypted.
        sender: the address that mails come from, with or without a name: `Reports <reports@example.com>`.
        port: None: 587 with `starttls`, 465 with `tls`, 25 with `none`.
        security: `starttls`: encrypted before anything else is said, or not spoken to at all; `tls`: encrypted from
            the first byte; `none`: plain text, without a user name.
        username: None: it takes mails without one.
        password: a text becomes a secret.
        timeout_s: what one attempt may take in all, in seconds.
        idle_s: seconds after which a connection that nobody uses is closed, at the latest after twice as many.
        max_bytes: of a mail as it is sent; the server's own limit counts too where it is lower.
        ca_file: certificates (PEM) of the authorities that are trusted; None: those of the system.

    Raises:
        SettingsError: a value that cannot be, or a password that would be sent in plain text.
    """

    host: str
    sender: str
    port: int | None = None
    security: Literal["starttls", "tls", "none"] = "starttls"
    username: str | None = None
    password: Secret | str | None = field(default=None, repr=False)
    timeout_s: float = 60.0
    idle_s: float = 10.0
    max_bytes: int = 20_000_000
    ca_file: Path | str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.password, str):
            object.__setattr__(self, "password", Secret(self.password))
        if self.security not in _PORTS:
            raise SettingsError("SmtpSettings.security must be 'starttls', 'tls' or 'none'")
        if not is_host(self.host):
            raise SettingsError("SmtpSettings.host must be the name or the address of one host")
        if not 0 < self.place[1] < 65_536:
            raise SettingsError("SmtpSettings.port must be a number from 1 to 65535")
        if min(self.timeout_s, self.idle_s, self.max_bytes - 20_000) <= 0:
            raise SettingsError("SmtpSettings.timeout_s and idle_s must be above 0, and max_bytes above 20000")
        self._check_the_sign_in()

    @property
    def place(self) -> tuple[str, int]:
        """Host and port."""
        return self.host, _PORTS[self.security] if self.port is None else self.port

    def _check_the_sign_in(self) -> None:
        if (self.username is None) is not (self.password is None):
            raise SettingsError("SmtpSettings.username and password are given together, or neither of them")
        if self.username is not None and self.security == "none":
            raise SettingsError(
                "a password is never sent over a connection that is not encrypted; "
                "set SmtpSettings.security to 'starttls' or 'tls'"
            )
        try:
            parse_address(self.sender)
        except NotificationError:
            raise SettingsError("SmtpSettings.sender must be an e-mail address, with or without a name") from None


def unexpected_reply(code: int, to: str) -> NotificationError:
    """Return the error of a reply that ends a delivery; the server's words are not in it.

    Args:
        code: of the reply; below 100: it was none.
        to: what was said before it, such as `DATA`.
    """
    if code < 100:
        return NotificationError("the mail server does not speak SMTP", retryable=True)
    return NotificationError(f"the mail server answered {to} with {code}", retryable=code < 500)


class _SmtpClient(smtplib.SMTP):
    """The standard library's client over a connection that is open already; replies are bounded."""

    def use(self, connection: socket.socket) -> None:
        """Speak over this connection from now on; nothing that was said over another one counts."""
        self.sock, self.file = connection, None
        self.ehlo_resp = self.helo_resp = None
        self.esmtp_features: dict[str, str] = {}
        self.does_esmtp = False

    def getreply(self) -> tuple[int, bytes]:
        """Return code and text of a reply; -1 where it is none."""
        if self.sock is None:
            raise smtplib.SMTPServerDisconnected("no connection")
        if self.file is None:
            self.file = self.sock.makefile("rb")
        lines = []
        for _ in range(_MOST_LINES):
            line = self.file.readline(_LONGEST_LINE)
            if not line:
                raise smtplib.SMTPServerDisconnected("closed")
            if not line[:3].isdigit() or not line.endswith(b"\n"):
                break
            lines.append(line[4:].strip())
            if line[3:4] != b"-":
                return int(line[:3]), b"\n".join(lines)
        return -1, b""


class SmtpSession:
    """One connection to the mail server; one thread at a time uses it, and any may abort it.

    Args:
        settings: which server.
        own_name: what we say who we are.
        tls: checks certificates.
    """

    def __init__(self, settings: SmtpSettings, *, own_name: str, tls: ssl.SSLContext) -> None:
        self._settings = settings
        self._tls = tls
        self._client = _SmtpClient(local_hostname=own_name)
        host, port = settings.place
        self._connection = PinnedConnection(host, port, timeout_s=settings.timeout_s)

    def open(self, addresses: Sequence[str]) -> None:
        """Connect to one of the addresses, encrypt, and sign in.

        Raises:
            NotificationError: the server does not want us, or not in the way that the settings ask for.
            OSError: it cannot be reached, or breaks off.
        """
        made = self._connection.open(addresses, tls=self._tls if self._settings.security == "tls" else None)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._client.use(made)
        code, _ = self._client.getreply()
        if code != 220:
            raise unexpected_reply(code, "the connection")
        self._greet()
        if self._settings.security == "starttls":
            self._encrypt()
            self._greet()
        if self._settings.username is not None:
            self._sign_in(self._settings.username, _revealed(self._settings.password))

    @property
    def max_bytes(self) -> int | None:
        """The size of mail that the server takes, in bytes; None where it does not say."""
        size = self._client.esmtp_features.get("size", "").strip()
        return (int(size) or None) if size.isascii() and size.isdigit() and len(size) < 19 else None

    @property
    def takes_sizes(self) -> bool:
        """Whether the server wants to know the size of a mail before."""
        return self._client.has_extn("size")

    def command(self, verb: str, argument: str = "") -> int:
        """Say something, and return the code of the reply; -1 where it is none."""
        return self._client.docmd(verb, argument)[0]

    def send(self, data: bytes) -> None:
        """Send a part of a mail."""
        self._client.send(data)

    def reply(self) -> int:
        """Wait for a reply, and return its code."""
        return self._client.getreply()[0]

    def is_alive(self) -> bool:
        """Tell whether the server still listens; what was begun and not ended is forgotten by it."""
        sock = self._client.sock
        if sock is None:
            return False
        try:
            sock.settimeout(min(_CHECK_S, self._settings.timeout_s))
            return self.command("RSET") == 250
        except (OSError, ValueError):
            return False
        finally:
            with suppress(OSError):
                sock.settimeout(self._settings.timeout_s)

    def abort(self) -> None:
        """End the connection, wherever its thread is; nothing that is sent afterwards leaves this machine."""
        self._connection.abort()

    def close(self, *, politely: bool = True) -> None:
        """Close the connection, and say so before; nobody waits for what the server says to that."""
        if politely and self._client.sock is not None:
            with suppress(OSError, ValueError):
                self._client.sock.settimeout(1.0)
                self._client.putcmd("QUIT")
        with suppress(OSError):
            self._client.close()
        self._connection.close()

    def _greet(self) -> None:
        code, _ = self._client.ehlo()
        if 500 <= code < 600:
            code, _ = self._client.helo()
        if code != 250:
            raise unexpected_reply(code, "EHLO")

    def _encrypt(self) -> None:
        """Encrypt the connection; there is no other way to go on, since somebody between may hide the offer."""
        if not self._client.has_extn("starttls"):
            raise NotificationError("the mail server does not offer STARTTLS, and nothing is sent in plain text")
        code = self.command("STARTTLS")
        if code != 220:
            raise unexpected_reply(code, "STARTTLS")
        self._client.use(self._connection.encrypt(self._tls))

    def _sign_in(self, username: str, password: str) -> None:
        ways = self._client.esmtp_features.get("auth", "").upper().split()
        if "PLAIN" in ways:
            identity = "\0".join(("", username, password))
            code = self.command("AUTH", f"PLAIN {_in_base64(identity)}")
        elif "LOGIN" in ways:
            code = self.command("AUTH", "LOGIN")
            for text in (username, password):
                code = self.command(_in_base64(text)) if code == 334 else code
        else:
            raise NotificationError("the mail server takes no user name by PLAIN or LOGIN")
        if code != 235:
            raise unexpected_reply(code, "the user name and password")


def _revealed(password: Secret | str | None) -> str:
    return password.reveal() if isinstance(password, Secret) else password or ""


def _in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


class SmtpPool:
    """Connections that wait for the next mail, and are closed where none comes; any thread may use it.

    Args:
        idle_s: how long they wait, in seconds.
        clock: tells how long they did.
    """

    def __init__(self, *, idle_s: float, clock: Clock) -> None:
        self._idle_s = idle_s
        self._clock = clock
        self._guard = forkable_rlock()
        self._idle: list[tuple[float, SmtpSession]] = []
        self._end: queue.SimpleQueue[None] | None = None
        self._is_closed = False
        tell_of_forks(self)

    def take(self) -> SmtpSession | None:
        """Return the connection that was used last, None where none waits; it may be dead."""
        self._close_old()
        with self._guard:
            return self._idle.pop()[1] if self._idle else None

    def put(self, session: SmtpSession) -> None:
        """Keep a connection for the next mail."""
        try:
            is_pooled = self._keep(session)
        except ThreadLimitError:  # nobody would close it
            is_pooled = False
        if not is_pooled:
            session.close()

    def close(self) -> None:
        """Close what waits, now and later."""
        with self._guard:
            self._is_closed = True
            idle, self._idle = self._idle, []
            if self._end is not None:
                self._end.put(None)
        for _, session in idle:
            session.close()

    def before_fork(self) -> None:
        """Go on: the child closes its own ends alone."""

    def after_fork(self) -> None:
        """Forget the connections of the parent, which goes on speaking over them."""
        idle, self._idle, self._end = self._idle, [], None
        for _, session in idle:
            session.close(politely=False)

    def _keep(self, session: SmtpSession) -> bool:
        with self._guard:
            if self._is_closed or len(self._idle) >= _MOST_IDLE:
                return False
            if self._end is None:
                end: queue.SimpleQueue[None] = queue.SimpleQueue()
                start_thread(self._watch, end, name="analytics_core-mail-idle")
                self._end = end
            self._idle.append((self._clock.monotonic(), session))
            return True

    def _watch(self, end: queue.SimpleQueue[None]) -> None:
        """Close what waited for too long, in a thread of its own that ends when nothing waits."""
        while True:
            with suppress(queue.Empty):
                end.get(timeout=self._idle_s)
                return
            self._close_old()
            with self._guard:
                if not self._idle:
                    self._end = None
                    return

    def _close_old(self) -> None:
        now = self._clock.monotonic()
        with self._guard:
            old = [session for since, session in self._idle if now - since >= self._idle_s]
            self._idle = [(since, session) for since, session in self._idle if now - since < self._idle_s]
        for session in old:
            session.close()

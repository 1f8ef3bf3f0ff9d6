"""The notifier of e-mail: one SMTP server, on the standard library alone."""

from __future__ import annotations

import re
import ssl
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

from analytics_core._core.adapters.clock import SystemClock
from analytics_core._core.adapters.smtp_session import SmtpPool, SmtpSession, SmtpSettings, unexpected_reply
from analytics_core._records.message import Attachment, Delivery, DeliveryState, Message, Recipient
from analytics_core._records.network import DestinationPurpose
from analytics_core._reports.mail import fitted, mail_headers, mail_parts, parse_address
from analytics_core._tools.bounded_calls import BoundedCalls
from analytics_core._tools.forks import forkable_lock
from analytics_core.errors import AnalyticsError, NotificationError, SettingsError, ThreadLimitError
from analytics_core.ports import AddressLookup, Clock

_LINE_WITH_DOT: Final = re.compile(rb"^\.", re.MULTILINE)
_HEADERS_FREE: Final = 8_000
"""Bytes of headers for which the fitting of a mail leaves room; longer ones take theirs from the parts."""

_HEADER_STEP: Final = 16_000
"""By so many bytes at a time, so that mails with headers of other lengths share their parts."""


class EmailNotifier:
    """Sends messages as e-mail to recipients of the kind `Email` (port `Notifier`); any thread may use it.

    A connection leads to an address that the network policy allows and is used again for the next mail. The parts of a
    message are made once, however many recipients it has. What is too large for the server is left out, and the mail
    says where it is found.

    Args:
        settings: the mail server.
        clock: tells the date of mails; None: the system's.

    Raises:
        SettingsError: `ca_file` cannot be read.
    """

    def __init__(self, settings: SmtpSettings, *, clock: Clock | None = None) -> None:
        self._settings = settings
        self._sender = parse_address(settings.sender)
        self._clock = SystemClock() if clock is None else clock
        self._tls = _tls_context(settings)
        self._lookup: AddressLookup | None = None
        self._mails = _RenderedMails()
        self._pool = SmtpPool(idle_s=settings.idle_s, clock=self._clock)
        self._calls = BoundedCalls("analytics_core-mail")

    def start(self, addresses: AddressLookup) -> None:
        """Take what gives the addresses of the mail server."""
        self._lookup = addresses

    def takes(self, recipient: Recipient) -> bool:
        """Tell whether all of its addresses are e-mail addresses, and its kind is `Email`."""
        if recipient.kind != "Email":
            return False
        try:
            return bool([parse_address(address) for address in recipient.addresses])
        except NotificationError:
            return False

    def send(
        self, message: Message, recipient: Recipient, *, only: Collection[str] | None = None
    ) -> Sequence[Delivery]:
        """Try once to send one mail to the addresses, and return what became of it at each, within `timeout_s`.

        Raises:
            NotificationError: it was not started, or is closed; the recipient is none for mail.
        """
        lookup = self._lookup
        if lookup is None:
            raise NotificationError("the notifier of e-mail is not started, or closed")
        if not self.takes(recipient):
            raise NotificationError("e-mail goes to recipients of the kind 'Email', and to e-mail addresses alone")
        attempt = _MailAttempt(address for address in recipient.addresses if only is None or address in only)
        if not attempt.open:
            return ()
        self._run(attempt, lambda: self._deliver(attempt, message, recipient, lookup))
        return attempt.deliveries()

    def close(self) -> None:
        """Close the connections that wait; nothing is sent afterwards."""
        self._lookup = None
        self._pool.close()
        self._calls.close()

    def _run(self, attempt: _MailAttempt, work: Callable[[], None]) -> None:
        try:
            call = self._calls.start(work)
        except ThreadLimitError as error:
            raise NotificationError(error.message, retryable=True) from None
        if call.wait(self._settings.timeout_s):
            call.result()
            return
        attempt.abort()
        call.abandon(lambda _: None)
        attempt.end(f"the mail server was not done within {self._settings.timeout_s:g} seconds")

    def _deliver(self, attempt: _MailAttempt, message: Message, recipient: Recipient, lookup: AddressLookup) -> None:
        """Send one mail, and put down what became of it, whatever that is."""
        try:
            session = self._session(attempt, lookup)
            try:
                self._transfer(session, attempt, message, recipient)
            except BaseException:  # whatever it is goes on upwards; nobody knows what the server thinks of it
                session.close(politely=False)
                raise
            if attempt.release():
                self._pool.put(session)
            else:
                session.close(politely=False)
        except AnalyticsError as error:
            attempt.end(error.message, is_lasting=not error.retryable)
        except (OSError, ValueError) as error:
            attempt.end(_problem(error), is_lasting=isinstance(error, ssl.SSLCertVerificationError))

    def _session(self, attempt: _MailAttempt, lookup: AddressLookup) -> SmtpSession:
        """Return a connection that waited and is alive, or a new one."""
        while (waiting := self._pool.take()) is not None:
            if attempt.hold(waiting) and waiting.is_alive():
                return waiting
            waiting.close(politely=False)
        session = SmtpSession(self._settings, own_name=self._sender.domain, tls=self._tls)
        try:
            if not attempt.hold(session):
                raise OSError("aborted")
            session.open(lookup(*self._settings.place, DestinationPurpose.MAIL))
        except BaseException:  # whatever it is goes on upwards; the connection must not stay open
            session.close(politely=False)
            raise
        return session

    def _transfer(self, session: SmtpSession, attempt: _MailAttempt, message: Message, recipient: Recipient) -> None:
        headers = mail_headers(message, recipient, sender=self._sender, moment=self._clock.now())
        mail = self._mails.get(message, self._room(session, headers))
        if not self._announce(session, attempt, len(headers) + mail.size_bytes):
            return
        code = session.command("DATA")
        if code != 354:
            raise unexpected_reply(code, "DATA")
        session.send(headers + mail.body)
        attempt.may_have_arrived = True
        session.send(b".\r\n")
        code = session.reply()
        if code < 100:
            raise OSError("no reply")
        attempt.tell_rest(code, "the mail", note=mail.omitted)

    def _room(self, session: SmtpSession, headers: bytes) -> int:
        """Return the bytes that a mail may have, less what its headers have beyond the usual."""
        limit = min(self._settings.max_bytes, session.max_bytes or self._settings.max_bytes)
        steps = -(-max(len(headers) - _HEADERS_FREE, 0) // _HEADER_STEP)
        return limit - steps * _HEADER_STEP

    def _announce(self, session: SmtpSession, attempt: _MailAttempt, size: int) -> bool:
        """Name sender and addresses; tell whether the server takes the mail for one of them."""
        size_option = f" SIZE={size}" if session.takes_sizes else ""
        code = session.command(f"MAIL FROM:<{self._sender.address}>{size_option}")
        if code != 250:
            raise unexpected_reply(code, "MAIL FROM")
        for address, names in attempt.open.items():
            code = session.command(f"RCPT TO:<{address}>")
            if code == 421 or code < 100:
                raise unexpected_reply(code, "RCPT TO")
            if code >= 300:
                attempt.tell(names, code, "RCPT TO")
        return attempt.is_any_open


class _MailAttempt:
    """One attempt, which another thread may end: what became of it at each address so far.

    Attributes:
        open: the addresses as the protocol has them, and as the recipient does.
        may_have_arrived: whether all of the mail was, or may have been, sent, and no reply came.
    """

    def __init__(self, addresses: Iterable[str]) -> None:
        self._addresses = tuple(addresses)
        self.open: dict[str, list[str]] = {}
        for address in self._addresses:
            self.open.setdefault(parse_address(address).address, []).append(address)
        self.may_have_arrived = False
        self._guard = threading.Lock()
        self._found: dict[str, Delivery] = {}
        self._session: SmtpSession | None = None
        self._is_aborted = False

    def hold(self, session: SmtpSession) -> bool:
        """Use a connection from now on; False: the attempt was aborted."""
        with self._guard:
            self._session = session
            return not self._is_aborted

    def release(self) -> bool:
        """Use the connection no more, which nobody ends from now on; False: the attempt was aborted before."""
        with self._guard:
            self._session = None
            return not self._is_aborted

    def abort(self) -> None:
        """End the connection, wherever its thread is."""
        with self._guard:
            self._is_aborted = True
            if self._session is not None:
                self._session.abort()

    @property
    def is_any_open(self) -> bool:
        """Whether there is an address of which nothing is told yet."""
        with self._guard:
            return len(self._found) < len(self._addresses)

    def tell(self, names: Iterable[str], code: int, to: str) -> None:
        """Put down that the server refuses these addresses, with this code as its answer to what was said."""
        error = unexpected_reply(code, to)
        self._put(names, DeliveryState.UNAVAILABLE if error.retryable else DeliveryState.REFUSED, error.message)

    def tell_rest(self, code: int, to: str, *, note: str) -> None:
        """Put down the server's answer to all of the mail for all the others."""
        if code >= 300:
            self.tell(self._addresses, code, to)
        else:
            self._put(self._addresses, DeliveryState.DELIVERED, note)

    def end(self, reason: str, *, is_lasting: bool = False) -> None:
        """Put down for all the others why they were not reached, or that nobody knows."""
        if self.may_have_arrived:
            why = f"all of the mail was sent, and no answer came: {reason}"
            self._put(self._addresses, DeliveryState.UNKNOWN, why)
        self._put(self._addresses, DeliveryState.REFUSED if is_lasting else DeliveryState.UNAVAILABLE, reason)

    def deliveries(self) -> tuple[Delivery, ...]:
        """Return what became of the mail at each address, in their order."""
        with self._guard:
            return tuple(self._found[address] for address in self._addresses)

    def _put(self, names: Iterable[str], state: DeliveryState, reason: str) -> None:
        """Put down what became of the mail at these addresses, where nothing is told yet."""
        with self._guard:
            for name in names:
                self._found.setdefault(name, Delivery(address=name, state=state, reason=reason))


# ---------------------------------------------------------------------------------------------------------- the parts
@dataclass(frozen=True, slots=True, kw_only=True)
class _RenderedMail:
    """The parts of a message as they are sent; `omitted` says what is not in them."""

    body: bytes
    size_bytes: int
    omitted: str


@dataclass(slots=True)
class _MailEntry:
    """The parts of one message, for the room that they were made for last."""

    guard: threading.Lock = field(default_factory=forkable_lock)
    room: int = -1
    mail: _RenderedMail | None = None


class _RenderedMails:
    """Parts of messages, made once as long as the message is used; any thread may use it."""

    def __init__(self) -> None:
        self._guard = forkable_lock()
        self._entries: WeakKeyDictionary[Message, _MailEntry] = WeakKeyDictionary()

    def get(self, message: Message, room: int) -> _RenderedMail:
        """Return the parts of a message for mails of at most `room` bytes.

        Raises:
            NotificationError: a file cannot be read any more.
        """
        with self._guard:
            entry = self._entries.setdefault(message, _MailEntry())
        with entry.guard:
            if entry.mail is None or entry.room != room:
                entry.mail, entry.room = _render(message, room), room
            return entry.mail


def _render(message: Message, room: int) -> _RenderedMail:
    mail, omitted = fitted(message, max_bytes=max(room, 0))
    body = b"".join(mail_parts(mail))  # ends with a line break, so that a dot behind it stands alone
    is_cut = not omitted and mail.text != message.text
    return _RenderedMail(
        body=_LINE_WITH_DOT.sub(b"..", body), size_bytes=len(body), omitted=_omission_note(omitted, is_cut=is_cut)
    )


def _omission_note(omitted: Sequence[Attachment], *, is_cut: bool) -> str:
    if is_cut:
        return "the end of its text was left out, with which the mail would have been too large"
    names = ", ".join(file.name for file in omitted)
    return f"left out, as the mail would have been too large: {names}" if names else ""


# --------------------------------------------------------------------------------------------------------- the server
def _tls_context(settings: SmtpSettings) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=None if settings.ca_file is None else str(settings.ca_file))
    except (OSError, ssl.SSLError):
        raise SettingsError("SmtpSettings.ca_file is no readable file of certificates (PEM)") from None


def _problem(error: OSError | ValueError) -> str:
    """Return why the server is spoken to no more, in words of our own: those of the system hold addresses."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return "the mail server has no certificate of a trusted authority for its name; see SmtpSettings.ca_file"
    if isinstance(error, ssl.SSLError):
        return "the mail server cannot be reached by an encrypted connection"
    if isinstance(error, TimeoutError):
        return "the mail server does not answer in time"
    return "the mail server cannot be reached, or broke off the connection"

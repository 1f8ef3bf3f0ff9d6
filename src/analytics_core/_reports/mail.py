"""A message as an e-mail: headers that nothing can be smuggled into, parts, and what to do without when it is large.

The parts are the same for everybody and made once; the headers are those of one recipient. Pure.
"""

from __future__ import annotations

import binascii
import hashlib
import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import format_datetime
from typing import Final
from urllib.parse import quote

from analytics_core._records.message import Attachment, Message, Recipient, checked_line
from analytics_core.errors import NotificationError

_ADDRESS: Final = re.compile(r"(?:(?P<name>[^<>]*?)\s*<(?P<in_angles>[^<>]*)>|(?P<bare>[^<>]*))")
_LOCAL: Final = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}")
_DOMAIN: Final = re.compile(r"(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f.:IPv]+\]")
_ENTRY: Final = re.compile(r'(?:[^",;]|"[^"]*"?)+')
_LONGEST_ENTRY: Final = 500
_AMBIGUOUS: Final = frozenset("ßς\u200c\u200d")
"""Letters that the older and the newer rules for names of domains take to different places."""

_PER_WORD: Final = 42
"""Bytes of a header that one encoded word takes: 75 characters, its signs included."""

_PER_LINE: Final = 57
_HEADERS_OF_PART: Final = 1_200
"""Bytes that the headers of one part take at the most."""

_HEADERS_OF_MAIL: Final = 10_000
"""Bytes that are left free for the headers of a mail and for notes."""

_BYTES_OF_CHARACTER: Final = 13
_IN_TAG: Final = r"[^>]{0,10000}"
"""What else stands in a tag: a description of a picture may have 1,000 characters, and six for each."""

"""Bytes that one character of a text takes at the most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailAddress:
    """An e-mail address as the protocol takes it, its domain in ASCII, and the name before it."""

    address: str
    name: str = ""

    @property
    def domain(self) -> str:
        """What stands after the sign."""
        return self.address.rpartition("@")[2]


def split_addresses(text: str) -> tuple[str, ...]:
    """Return the e-mail addresses of a text that has commas or semicolons between them, outside of quotes."""
    return tuple(filter(None, map(str.strip, _ENTRY.findall(text)))) if text else ()


def parse_address(text: str) -> MailAddress:
    """Return an e-mail address, with or without a name: `ada@example.com`, `Ada Müller <ada@example.com>`.

    Raises:
        NotificationError: it is none; letters beyond ASCII may stand in the name and the domain only.
    """
    found = _ADDRESS.fullmatch(checked_line(text, "recipient").strip()) if len(text) <= _LONGEST_ENTRY else None
    local, _, domain = ((found["in_angles"] or found["bare"]) if found else "").strip().rpartition("@")
    domain = _domain_in_ascii(domain)
    if not found or not _LOCAL.fullmatch(local) or ".." in local or not _DOMAIN.fullmatch(domain):
        raise NotificationError(f"{text[:100]!r} is no e-mail address that mail can be sent to", recipient=text[:100])
    name = (found["name"] or "").strip()
    if len(name) > 1 and name[0] == name[-1] == '"':
        name = re.sub(r"\\(.)", r"\1", name[1:-1])
    return MailAddress(address=f"{local}@{domain}", name=name)


def _domain_in_ascii(domain: str) -> str:
    """Return a domain as name servers know it; empty where it has no such form."""
    if domain.isascii():
        return domain
    try:
        return "" if _AMBIGUOUS & set(domain) else domain.encode("idna").decode("ascii")
    except UnicodeError:
        return ""


# ------------------------------------------------------------------------------------------------------------ headers
def mail_headers(message: Message, recipient: Recipient, *, sender: MailAddress, moment: datetime) -> bytes:
    """Return the headers that one recipient's copy has before its parts; `bcc` is not among them."""
    to, cc = (list(map(parse_address, addresses)) for addresses in (recipient.to, recipient.cc))
    lines = [
        ("From", _mailbox(sender)),
        ("To", _mailboxes(to)),
        *([("Cc", _mailboxes(cc))] if cc else []),
        ("Subject", _unstructured(message.subject)),
        ("Date", format_datetime(moment)),
        ("Message-ID", f"<{message.key_for(recipient)}@{sender.domain.strip('[]')}>"),
        ("Auto-Submitted", "auto-generated"),
        ("MIME-Version", "1.0"),
    ]
    return "".join(f"{name}: {value}\r\n" for name, value in lines).encode("ascii")


def _mailboxes(addresses: Iterable[MailAddress]) -> str:
    return ",\r\n ".join(map(_mailbox, addresses))


def _mailbox(address: MailAddress) -> str:
    if not address.name:
        return address.address
    if address.name.isascii() and len(address.name) <= 60 and "=?" not in address.name:
        quoted = re.sub(r'(["\\])', r"\\\1", address.name)
        return f'"{quoted}" <{address.address}>'
    return f"{_encoded_words(address.name)}\r\n <{address.address}>"


def _unstructured(text: str) -> str:
    return text if text.isascii() and len(text) <= 66 and "=?" not in text else _encoded_words(text)


def _encoded_words(text: str) -> str:
    words, word = [], b""
    for character in text:
        if len(word) + len(character.encode()) > _PER_WORD:
            words.append(word)
            word = b""
        word += character.encode()
    words.append(word)
    return "\r\n ".join(f"=?utf-8?b?{binascii.b2a_base64(part, newline=False).decode()}?=" for part in words)


# -------------------------------------------------------------------------------------------------------------- parts
def mail_parts(message: Message) -> Iterator[bytes]:
    """Yield what follows the headers of each copy, in pieces; the first begins with the last headers.

    Raises:
        NotificationError: a file cannot be read any more.
    """
    body: Iterable[bytes] = _text_part("plain", message.text)
    boundary = hashlib.sha256(message.key.encode()).hexdigest()[:24]
    if message.html is not None:
        html_part: Iterable[bytes] = _text_part("html", message.html)
        if message.images:
            pictures = (_file_part(image, is_inline=True) for image in message.images)
            html_part = _multipart("related", f"r_{boundary}", [html_part, *pictures], root="text/html")
        body = _multipart("alternative", f"a_{boundary}", [body, html_part])
    files = message.attachments if message.html is not None else (*message.images, *message.attachments)
    if files:
        parts = (_file_part(file, is_inline=False) for file in files)
        body = _multipart("mixed", f"m_{boundary}", [body, *parts])
    yield from body


def _multipart(kind: str, boundary: str, parts: Sequence[Iterable[bytes]], *, root: str = "") -> Iterator[bytes]:
    """Yield parts with a boundary between, which none of them has: neither of their encodings writes `=_`."""
    type_option = f'; type="{root}"' if root else ""
    yield f'Content-Type: multipart/{kind}{type_option};\r\n boundary="=_{boundary}"\r\n\r\n'.encode()
    for part in parts:
        yield f"--=_{boundary}\r\n".encode()
        yield from part
    yield f"--=_{boundary}--\r\n".encode()


def _text_part(kind: str, text: str) -> Iterator[bytes]:
    yield f"Content-Type: text/{kind}; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n".encode()
    lines = re.sub(r"\r\n|\r|\n", "\r\n", text).removesuffix("\r\n") + "\r\n"
    yield binascii.b2a_qp(lines.encode(), istext=True)


def _file_part(file: Attachment, *, is_inline: bool) -> Iterator[bytes]:
    is_plain = file.name.isascii() and not set(file.name) & set('"\\')
    name = f'filename="{file.name}"' if is_plain else f"filename*=utf-8''{quote(file.name, safe='')}"
    named = f"Content-ID: <{file.content_id}>\r\n" if is_inline else ""
    yield (
        f"Content-Type: {file.content_type}\r\nContent-Transfer-Encoding: base64\r\n{named}"
        f"Content-Disposition: {'inline' if is_inline else 'attachment'};\r\n {name}\r\n\r\n"
    ).encode()
    for chunk in file.chunks():
        lines = range(0, len(chunk), _PER_LINE)
        yield b"".join(binascii.b2a_base64(chunk[at : at + _PER_LINE], newline=False) + b"\r\n" for at in lines)


# --------------------------------------------------------------------------------------------------------------- size
def fitted(message: Message, *, max_bytes: int) -> tuple[Message, tuple[Attachment, ...]]:
    """Return the message as a mail of at most `max_bytes`, and the files and pictures that were left out of it.

    A note with their names, their sizes and the link stands in their place. Pictures go before files, in their order.
    Of a text that is larger alone the beginning is sent.
    """
    room = max_bytes - _HEADERS_OF_MAIL - _bytes_of_text(message)
    if room < 0:
        message = _shortened(message, most_characters=(max_bytes - _HEADERS_OF_MAIL) // _BYTES_OF_CHARACTER)
        room = 0
    omitted = []
    for file in (*message.images, *message.attachments):
        size = _encoded_bytes(file)
        if size <= room:
            room -= size
        else:
            omitted.append(file)
    if not omitted:
        return message, ()
    return without(message, omitted, why="It would have made this mail too large"), tuple(omitted)


def without(message: Message, omitted: Sequence[Attachment], *, why: str) -> Message:
    """Return a message without some of its files and pictures, and a note with the link where they were."""
    gone = {id(file) for file in omitted}
    named = ", ".join(f"{file.name} ({_size(file.size_bytes)})" for file in omitted)
    note = f"Not attached: {named}. {why}"
    text = f"{message.text.rstrip()}\n\n{note}{f'; see {message.link}' if message.link else ''}.\n"
    return replace(
        message,
        text=text,
        html=None if message.html is None else _html_without(message.html, omitted, reason=note, link=message.link),
        images=tuple(file for file in message.images if id(file) not in gone),
        attachments=tuple(file for file in message.attachments if id(file) not in gone),
    )


def _html_without(page: str, omitted: Sequence[Attachment], *, reason: str, link: str | None) -> str:
    where = "" if link is None else f'; see <a href="{html.escape(link)}">{html.escape(link)}</a>'
    note = f"<p>{html.escape(reason)}{where}.</p>"
    for file in omitted:
        if file.content_id:
            tag = rf"<img\b{_IN_TAG}\bsrc=([\"'])cid:{re.escape(file.content_id)}\1{_IN_TAG}>"
            page = re.sub(tag, f"<em>[{html.escape(file.name)}]</em>", page)
    head, body, tail = page.rpartition("</body>")
    return f"{head}{note}{body}{tail}" if body else f"{page}{note}"


def _shortened(message: Message, *, most_characters: int) -> Message:
    """Return a message with the beginning of its text alone."""
    where = f"; see {message.link}" if message.link else ""
    note = f"The rest of this text would have made this mail too large{where}."
    return replace(message, text=f"{message.text[: max(most_characters, 0)].rstrip()}\n\n{note}\n", html=None)


def _bytes_of_text(message: Message) -> int:
    bodies = [message.text] if message.html is None else [message.text, message.html]
    return sum(len(chunk) for body in bodies for chunk in _text_part("html", body))


def _encoded_bytes(file: Attachment) -> int:
    lines = -(-file.size_bytes // _PER_LINE)
    return lines * 78 + _HEADERS_OF_PART


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1_000:
            return f"{count:.0f} {unit}" if unit == "bytes" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1_000
    return f"{count:.1f} GB"

"""What is sent to people, to whom, and what became of it."""

from __future__ import annotations

import hashlib
import os
import re
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import BinaryIO, Final
from urllib.parse import urlsplit

from analytics_core._tools.display.blocks import MASK
from analytics_core.errors import NotificationError

_CHUNK: Final = 57 * 1_024
"""Bytes that are read at a time: whole lines of base64."""

_CONTENT_TYPE: Final = re.compile(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,80}", re.IGNORECASE)
_CONTENT_ID: Final = re.compile(r"[\w.+@-]{1,120}", re.ASCII)
_LONGEST_NAME: Final = 180


def checked_line(text: str, field_name: str) -> str:
    """Return a text that stands in one line of a message, other control characters as blanks.

    Raises:
        NotificationError: it has a line break or a NUL, which would begin a line of its own.
    """
    if not isinstance(text, str):
        raise NotificationError(f"the {field_name} of a message must be a text, not {type(text).__name__}")
    if text.isascii() and text.isprintable():
        return text
    if any(character in "\r\n\0\u2028\u2029\x85\x0b\x0c" for character in text):
        raise NotificationError(f"the {field_name} of a message must be one line, without line breaks and NUL")
    plain = "".join(" " if unicodedata.category(character) == "Cc" else character for character in text)
    return valid_unicode(plain)


def valid_unicode(text: str) -> str:
    """Return a text that can be encoded: halves of surrogate pairs become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class Attachment:
    """A file of a message, or a picture inside of its HTML.

    Attributes:
        name: as the reader sees it; of a longer one the end is kept.
        content_type: such as `text/csv`.
        content: the bytes, or an open binary file that can be read from any place until the message is handed over,
            such as a `SpooledTemporaryFile`; several threads may read it.
        content_id: what the HTML calls a picture by, as `<img src="cid:...">`; empty for files.
    """

    name: str
    content_type: str
    content: bytes | BinaryIO = field(repr=False)
    content_id: str = ""
    size_bytes: int = field(init=False)
    _guard: threading.Lock = field(init=False, repr=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", _file_name(checked_line(self.name, "file name")))
        if not _CONTENT_TYPE.fullmatch(checked_line(self.content_type, "content type")):
            raise NotificationError("the content type of a file must be one such as 'text/csv', without parameters")
        if self.content_id and not _CONTENT_ID.fullmatch(checked_line(self.content_id, "content id")):
            raise NotificationError("the content id of a picture has letters, digits and the signs . _ + - @ only")
        object.__setattr__(self, "size_bytes", self._measure())

    def chunks(self) -> Iterator[bytes]:
        """Yield the content in pieces whose sizes, but of the last, are a multiple of 57.

        Raises:
            NotificationError: the file ends before the size that it had, or cannot be read any more.
        """
        for start in range(0, self.size_bytes, _CHUNK):
            yield self._read(start, min(_CHUNK, self.size_bytes - start))

    def _read(self, start: int, count: int) -> bytes:
        if isinstance(self.content, bytes):
            return self.content[start : start + count]
        try:
            with self._guard:
                self.content.seek(start)
                chunk = self.content.read(count)
        except (OSError, ValueError):  # ValueError: it is closed
            chunk = b""
        if len(chunk) != count:
            raise NotificationError(f"the file {self.name} of a message cannot be read any more")
        return chunk

    def _measure(self) -> int:
        if isinstance(self.content, bytes):
            return len(self.content)
        try:
            return self.content.seek(0, os.SEEK_END)
        except (OSError, ValueError, AttributeError):
            raise NotificationError(f"the content of {self.name} must be bytes, or a binary file to read") from None


def _file_name(name: str) -> str:
    """Return a name without folders and of at most 180 bytes, its ending kept."""
    plain = re.sub(r"[/\\]", "_", name).strip() or "file"
    if len(plain.encode()) <= _LONGEST_NAME:
        return plain
    stem, dot, ending = plain.rpartition(".")
    suffix = f"{dot}{ending}" if stem and len(ending.encode()) <= 10 else ""
    return plain.encode()[: _LONGEST_NAME - len(suffix.encode())].decode("utf-8", "ignore") + suffix


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class Message:
    """What is sent, the same to everybody; many threads may send it at once.

    Attributes:
        key: names it for ever: who sends it again after a failure gives the same one, so that receivers can drop the
            second copy.
        subject: one line.
        text: all of it as plain text.
        html: the same as HTML, which must be safe to show; None: text alone.
        images: pictures inside of the HTML, by their `content_id`.
        attachments: files.
        link: where the reader finds all of it, for what is too large to be sent.
    """

    key: str
    subject: str
    text: str
    html: str | None = None
    images: tuple[Attachment, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    link: str | None = None

    def __post_init__(self) -> None:
        if not checked_line(self.key, "key"):
            raise NotificationError("the key of a message must not be empty")
        object.__setattr__(self, "subject", checked_line(self.subject, "subject").strip())
        object.__setattr__(self, "text", _body(self.text))
        object.__setattr__(self, "html", None if self.html is None else _body(self.html))
        if self.link is not None and not re.fullmatch(r"https?://\S+", checked_line(self.link, "link")):
            raise NotificationError("the link of a message must be an address that begins with https:// or http://")
        named = [image.content_id for image in self.images]
        if not all(named) or len(set(named)) < len(named):
            raise NotificationError("each picture of a message needs a content id of its own")

    def key_for(self, recipient: Recipient) -> str:
        """Return what names this message to this recipient for ever, in hexadecimal digits."""
        facts = "\0".join((self.key, recipient.kind, *recipient.to, "", *recipient.cc, "", *recipient.bcc))
        return hashlib.sha256(facts.encode()).hexdigest()[:40]


def _body(text: str) -> str:
    if not isinstance(text, str):
        raise NotificationError(f"the text of a message must be a text, not {type(text).__name__}")
    return plain_text(text)


def plain_text(text: str) -> str:
    """Return a text that every store and receiver takes: without NUL and halves of surrogate pairs."""
    return valid_unicode(text.replace("\0", "\N{REPLACEMENT CHARACTER}"))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Recipient:
    """Where one copy of a message goes.

    Attributes:
        kind: what takes it there: `Email`, `Chat`, or another one that a notifier of the host's takes.
        to: e-mail addresses, with or without names; or one channel or the address of one web hook, which is a secret.
        cc: further e-mail addresses.
        bcc: e-mail addresses that the others do not see.
    """

    kind: str
    to: tuple[str, ...]
    cc: tuple[str, ...] = ()
    bcc: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("to", "cc", "bcc"):
            lines = tuple([checked_line(address, "recipient").strip() for address in getattr(self, name)])
            object.__setattr__(self, name, lines)
        if not all(self.addresses) or not self.to:
            raise NotificationError("a recipient needs an address, and none may be empty")

    @property
    def addresses(self) -> tuple[str, ...]:
        """All of its addresses, each once."""
        return tuple(dict.fromkeys((*self.to, *self.cc, *self.bcc)))

    @property
    def receiver(self) -> str:
        """What takes it there, as queues and logs name it: e-mail is one receiver, and each host of web hooks."""
        has_host = bool(self.to) and "://" in self.to[0]
        return f"{self.kind} {display_address(self.to[0])}" if has_host else self.kind

    def __repr__(self) -> str:
        fields = (f"{name}={tuple(map(display_address, getattr(self, name)))!r}" for name in ("to", "cc", "bcc"))
        return f"Recipient(kind={self.kind!r}, {', '.join(fields)})"


def display_address(address: str) -> str:
    """Return an address as messages and logs show it: of a web hook no more than its host."""
    if "://" not in address:
        return address
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        host = ""
    return f"{address.partition('://')[0]}://{host}/{MASK}"


def is_masked(address: str) -> bool:
    """Tell whether it is what `display_address` gives for a web hook, in place of the address itself."""
    return "://" in address and address.endswith(f"/{MASK}")


class DeliveryState(StrEnum):
    """What became of a message on its way to one address."""

    DELIVERED = "delivered"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Delivery:
    """What became of a message on its way to one address.

    Attributes:
        address: as the recipient has it; that of a web hook is a secret.
        state: `DELIVERED`: the receiver has taken it over. `REFUSED`: it never will. `UNAVAILABLE`: it was not
            delivered, and trying again may help. `UNKNOWN`: all of it was sent and the answer did not come, so that it
            may have been delivered.
        reason: why it was not delivered, or what was left out; no secrets, no words of the receiver's.
        retry_after_s: for how long the receiver asks to be left alone, in seconds; None: it did not say.
    """

    address: str
    state: DeliveryState
    reason: str = ""
    retry_after_s: float | None = None

    @property
    def is_delivered(self) -> bool:
        """Whether the receiver has taken the message over."""
        return self.state is DeliveryState.DELIVERED

    def error(self) -> NotificationError | None:
        """Return what is told of it, with the address and the reason; None where it was delivered."""
        if self.is_delivered:
            return None
        address = display_address(self.address)
        how = "may or may not have been reached" if self.state is DeliveryState.UNKNOWN else "was not reached"
        return NotificationError(
            f"{address} {how}: {self.reason}",
            retryable=self.state is DeliveryState.UNAVAILABLE,
            retry_after_s=self.retry_after_s,
            recipient=address,
        )

    def __repr__(self) -> str:
        return f"Delivery({display_address(self.address)!r}, {self.state.value!r}, {self.reason!r})"

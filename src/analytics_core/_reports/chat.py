"""A message as the text of a chat: it calls nobody, has no markup, and is no longer than chats take. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final

from analytics_core._records.message import Attachment, Message
from analytics_core._reports.mail import without

_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_CALLS: Final = re.compile(r"@(?=(?:all|channel|everyone|group|here)\b)", re.IGNORECASE)
_UNSEEN: Final = "\N{ZERO WIDTH SPACE}"


def chat_text(message: Message, *, max_characters: int, omitted: Sequence[Attachment] = (), why: str = "") -> str:
    """Return subject, text and notes of a message, escaped, in at most `max_characters`.

    Of a longer text the beginning is there, and the link. Words that call everybody in a channel call nobody.

    Args:
        message: what is said.
        max_characters: 1,000 at least.
        omitted: files and pictures that are named in a note.
        why: they are, as the end of a sentence of its own.
    """
    body = "\n\n".join(part for part in (message.subject, message.text.strip()) if part)
    notes = [without(replace(message, text="", html=None), omitted, why=why).text.strip()] if omitted else []
    text = "\n\n".join((_plain(body), *map(_plain, notes)))
    if len(text) <= max_characters:
        return text
    where = f"; see {message.link}" if message.link else ""
    notes = [f"The rest of this text is too long for a chat{where}.", *notes]
    tail = _beginning("\n\n".join(notes), max_characters // 2)
    return f"{_beginning(body, max_characters - len(tail) - 2)}\n\n{tail}"


def _plain(text: str) -> str:
    return _CALLS.sub(f"@{_UNSEEN}", text).translate(_ESCAPES)


def _beginning(text: str, most: int) -> str:
    """Return a text in at most so many characters, none of its escapes cut in two."""
    plain = _plain(text)
    if len(plain) <= most:
        return plain
    quiet = _CALLS.sub(f"@{_UNSEEN}", text[:most])
    lengths = list(accumulate(len(character.translate(_ESCAPES)) for character in quiet))
    return f"{quiet[: bisect_right(lengths, most - 1)].rstrip().translate(_ESCAPES)}…"

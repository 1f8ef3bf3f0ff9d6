"""Tells secret keys that others can guess: the defaults of well-known software, placeholders, patterns."""

from __future__ import annotations

import re
from typing import Final

_NOT_LETTERS: Final = re.compile(r"[^a-z0-9]")

_PLACEHOLDERS: Final = (
    *("changeme", "changethis", "replaceme", "replacethis", "placeholder", "insecure", "notasecret", "notsecret"),
    *("thisisasecret", "thisisthesecret", "thisismysecret", "thisismyscret", "yoursecret", "yourown", "mysecretkey"),
    *("testnondev", "nondevsecret", "secretkeyhere", "your256bitsecret", "temporarykey", "temporarysecret"),
    *("donotuse", "qwertyuiop", "asdfghjkl", "zxcvbnm", "1q2w3e4r"),
)
"""What stands in the defaults, templates and manuals from which such keys are copied, without case and signs."""

_WORDS: Final = re.compile(
    "secret|scret|password|passphrase|pass|default|random|generated|complex|secure|security|session|cookie|token|guest"
    "|guests|admin|administrator|user|analytics|superset|flask|django|fastapi|example|sample|change|insert|replace"
    "|test|tests|testing|dev|development|prod|production|staging|local|demo|your|own|this|that|here|some|very|super"
    "|strong|long|the|my|is|to|me|in|of|for|and|key|keys|jwt|core|app|embed|embedded|web|server|host"
)
_FEWEST_LEFT: Final = 6
"""So many characters must be left beside such words, half of them no sequence and no repetition."""

_FEWEST_UNFORESEEN: Final = 10
_FEWEST_DIFFERENT: Final = 6


def can_be_guessed(key: str) -> bool:
    """Tell whether a key is a well-known one, made of the usual words, or a pattern."""
    plain = _NOT_LETTERS.sub("", key.casefold())
    if any(placeholder in plain for placeholder in _PLACEHOLDERS) or len(set(key)) < _FEWEST_DIFFERENT:
        return True
    left = _WORDS.sub("", plain) if plain else key
    return len(left) < _FEWEST_LEFT or 2 * _unforeseen(left) < _FEWEST_LEFT or _unforeseen(key) < _FEWEST_UNFORESEEN


def _unforeseen(text: str) -> int:
    """Count the characters that neither go on with a sequence (`1234`, `aaaa`) nor repeat what stood before."""
    count, position = 0, 0
    while position < len(text):
        repeated = _repeated(text, position)
        if repeated:
            position += repeated
            continue
        count += not _goes_on(text, position)
        position += 1
    return count


def _repeated(text: str, position: int) -> int:
    """Return how many characters from here stood together before; three at least, else 0."""
    length = 3
    while position + length <= len(text) and text[position : position + length] in text[: position + length - 1]:
        length += 1
    return length - 1 if length > 3 else 0


def _goes_on(text: str, position: int) -> bool:
    """Whether a character goes on with the step of the two before it."""
    if position < 2:
        return False
    before, last, this = map(ord, text[position - 2 : position + 1])
    return this - last == last - before and abs(this - last) <= 1

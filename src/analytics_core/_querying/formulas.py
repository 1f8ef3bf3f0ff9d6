"""Text that a spreadsheet would read as a formula is made harmless (SECURITY.md 3.13)."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

SIGNS: Final = frozenset("=+-@|%＝＋－＠｜％﹦﹢﹣﹫﹪⁺₊⁼₌⁻₋−⩵⩶﬩")
"""What a formula may begin with, and every character that becomes one of these when text is normalised (NFKC)."""

_NEGATIVE_NUMBER: Final = re.compile(r"-\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_SKIPPED: Final = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})


def neutral_text(text: str) -> str:
    """Return `text`, with a `'` before it when it begins with a formula sign.

    White space, control and invisible characters and quotation marks before the sign do not hide it. A text that is
    nothing but a negative number (`-10.5`) is left alone.
    """
    if not text or text[0].isalnum():
        return text
    if begins_like_formula(text) and not _NEGATIVE_NUMBER.fullmatch(text):
        return "'" + text
    return text


def begins_like_formula(text: str) -> bool:
    """Say whether the first visible character of `text`, quotation marks aside, is a formula sign."""
    for character in text:
        if character in SIGNS:
            return True
        if character != '"' and unicodedata.category(character) not in _SKIPPED:
            return False
    return False

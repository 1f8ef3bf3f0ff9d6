"""How wide texts are, and how they are shortened to a width: by the metrics of the font that pictures are set in."""

from __future__ import annotations

from typing import Final

FONT: Final = "Liberation Sans, Arial, Helvetica, sans-serif"
"""Liberation Sans comes with the renderer; the others have the same metrics."""

_ASCII: Final = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 "
    "584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 "
    "667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 "
    "278 556 500 722 500 500 500 334 260 334 584"
)
_WIDTHS: Final = {chr(32 + place): int(width) / 1000 for place, width in enumerate(_ASCII.split())}
_OTHER: Final = 0.6
_WIDE: Final = 1.0
_FIRST_WIDE: Final = 0x2E80
_BOLD: Final = 1.08
_WIDEST: Final = 1.14
"""Browsers without these fonts set texts in wider ones, such as DejaVu Sans."""

ELLIPSIS: Final = "…"


def text_width(text: str, font_px: float, *, bold: bool = False) -> float:
    """Return how many pixels wide a text is at most, in the font of pictures or in one that takes its place."""
    em = sum(_WIDTHS.get(letter) or (_WIDE if ord(letter) >= _FIRST_WIDE else _OTHER) for letter in text)
    return em * font_px * _WIDEST * (_BOLD if bold else 1)


def fitted(text: str, width_px: float, font_px: float, *, bold: bool = False) -> str:
    """Return a text that is no wider than a width; where it is cut, it ends in an ellipsis."""
    if text_width(text, font_px, bold=bold) <= width_px:
        return text
    room = width_px - text_width(ELLIPSIS, font_px, bold=bold)
    taken = 0.0
    for place, letter in enumerate(text):
        taken += text_width(letter, font_px, bold=bold)
        if taken > room:
            return text[:place].rstrip() + ELLIPSIS if place else ""
    return text


def wrapped(text: str, width_px: float, font_px: float, *, most: int = 3) -> list[str]:
    """Return a text as lines of a width, broken at spaces; what does not fit in the last line is cut."""
    lines: list[str] = []
    line = ""
    words = text.split()
    for place, word in enumerate(words):
        longer = f"{line} {word}" if line else word
        if not line or text_width(longer, font_px) <= width_px:
            line = longer
        elif len(lines) == most - 1:
            line = " ".join((line, *words[place:]))
            break
        else:
            lines.append(line)
            line = word
    return [fitted(one, width_px, font_px) for one in (*lines, line) if one]

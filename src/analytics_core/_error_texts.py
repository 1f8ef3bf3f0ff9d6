"""Keeps the messages of errors readable, however much was wrong."""

from __future__ import annotations

from collections.abc import Sequence

_LONGEST_KEY = 300


def short_repr(key: object) -> str:
    """Return a key as a message repeats it: of a long one the beginning."""
    try:
        text = repr(key)
    except RecursionError:  # nested too deeply to be written
        text = f"{type(key).__name__} of many levels"
    except ValueError:  # integers of more than 4,300 digits are not written
        text = f"{type(key).__name__} of many digits"
    return text if len(text) <= _LONGEST_KEY else f"{text[:_LONGEST_KEY]}..."


def joined(texts: Sequence[str], *, of: int) -> str:
    """Return the texts in a row, and how many more of them there are."""
    more = [f"and {of - len(texts)} more"] if of > len(texts) else []
    return "; ".join([*texts, *more])

"""Text that must not be seen by accident."""

from __future__ import annotations

from typing import Final, NoReturn

MASK: Final = "XXXXXXXXXX"


class Secret:
    """A text whose every printed, copied or pickled form is a mask; `reveal` gives the text (SECURITY.md 3.12)."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text itself; call it as late as possible."""
        return self._text

    def __repr__(self) -> str:
        return f"Secret({MASK!r})"

    __str__ = __repr__

    def __format__(self, _spec: str) -> str:
        return repr(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret is never pickled")

"""Text that must not be seen by accident."""

from __future__ import annotations

from typing import NoReturn

from analytics_core._tools.display.blocks import MASK
from analytics_core.errors import StoredDataError


class Secret:
    """A text whose every printed, copied or pickled form is a mask; `reveal` gives the text."""

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


class UnopenedSecret(Secret):
    """A stored secret that no key opens here: its record is read, and the secret kept as it is or replaced.

    Args:
        sealed: as it is stored.
        context: what it was sealed for.
        problem: why it does not open.
    """

    __slots__ = ("_context", "_problem")

    def __init__(self, sealed: str, *, context: str, problem: str) -> None:
        super().__init__(sealed)
        self._context = context
        self._problem = problem

    def reveal(self) -> NoReturn:
        """Raise StoredDataError, which tells why it does not open."""
        raise StoredDataError(self._problem)

    def sealed_for(self, context: str) -> str:
        """Return the stored text, to be stored again in the same place; StoredDataError for another one."""
        return self._text if context == self._context else self.reveal()

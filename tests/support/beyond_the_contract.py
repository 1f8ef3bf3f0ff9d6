"""The places where the shapes part from the contract on purpose: `beyond_the_contract.txt`, which explains itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

TEXT = Path(__file__).with_suffix(".txt")


class Excuses:
    """Knows which differences are meant, and which of its lines excused none."""

    def __init__(self) -> None:
        lines = (line.strip() for line in TEXT.read_text(encoding="utf-8").splitlines())
        self._patterns = {line: _pattern(line) for line in lines if line and not line.startswith("#")}
        self._used: set[str] = set()

    def remaining(self, differences: Iterable[tuple[str, str]]) -> list[str]:
        """Return the differences, given as (check, what is wrong), that no line excuses."""
        return [f"{check}: {wrong}" for check, wrong in differences if not self._excuses(check)]

    def unused(self) -> list[str]:
        """Return the lines that excused nothing so far."""
        return sorted(set(self._patterns) - self._used)

    def _excuses(self, check: str) -> bool:
        found = {line for line, pattern in self._patterns.items() if pattern.fullmatch(check)}
        self._used |= found
        return bool(found)


def _pattern(line: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, line.split("*"))))

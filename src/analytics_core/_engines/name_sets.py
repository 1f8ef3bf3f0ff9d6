"""Sets of names in which one entry may stand for a family of names, written as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import translate
from typing import Final

_FAMILY: Final = "*"
_EXCEPT: Final = "!"


@dataclass(frozen=True, slots=True)
class NameSet:
    """Lower-case names, and families of them: `has_*_privilege` holds each name with this beginning and end.

    `without` are names that belong to no family all the same.
    """

    names: frozenset[str] = frozenset()
    families: tuple[re.Pattern[str], ...] = ()
    without: frozenset[str] = frozenset()

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or name in self.without:
            return name in self.names
        return name in self.names or any(family.fullmatch(name) for family in self.families)

    def __bool__(self) -> bool:
        return bool(self.names or self.families)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.names))

    def __or__(self, more: Iterable[str]) -> NameSet:
        other = name_set(" ".join(more))
        return NameSet(self.names | other.names, (*self.families, *other.families), self.without | other.without)


NO_NAMES: Final = NameSet()


def name_set(*groups: str) -> NameSet:
    """Return the set of the words in the texts; a word with `*` is a family, one with `!` before it is in none."""
    words = [word.lower() for group in groups for word in group.split()]
    return NameSet(
        names=frozenset(word for word in words if _FAMILY not in word and not word.startswith(_EXCEPT)),
        families=tuple(re.compile(translate(word)) for word in words if _FAMILY in word),
        without=frozenset(word[1:] for word in words if word.startswith(_EXCEPT)),
    )

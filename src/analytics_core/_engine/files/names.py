"""Names of columns and tables that every engine takes as they are."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final, TypeGuard

from analytics_core.models.parsing import payload_error

LONGEST_NAME: Final = 63
"""Bytes: PostgreSQL cuts what is longer."""

RESERVED_PREFIX: Final = "analytics_core_upload_"
"""Tables of uploads that are not finished, on engines that commit a new table at once."""

_TABLE = re.compile(r"[^\W\d]\w*")
_UNSAFE = re.compile(r"[\"'`\[\]\\;%{}:\x00-\x1f\x7f-\x9f\ud800-\udfff\U00010000-\U0010ffff]")
_INVISIBLE: Final = frozenset({"Cf", "Co", "Cn", "Zl", "Zp"})


def column_names(given: Sequence[str | None], *, are_plain: bool = True) -> tuple[str, ...]:
    """Return a name for each header: cut to 63 bytes, without quotes and control characters, told apart by number.

    Names that differ by case alone count as one, since engines fold them; an empty header is named by its place. Where
    they need not be plain for every engine, blanks around them alone are left out.
    """
    # A header that needs no change keeps its name, wherever it stands.
    texts = [_cleaned(text or "") if are_plain else (text or "").strip() for text in given]
    cleaned = [text or f"column_{place}" for place, text in enumerate(texts, start=1)]
    taken: set[str] = set()
    free = set(map(_folded, cleaned))
    return tuple(_distinct_name(name, taken, free) for name in cleaned)


def check_table_name(name: object) -> str:
    """Return the name of a table to upload into; PayloadSchemaError for what is no plain name on every engine."""
    shape = "databases.upload"
    if not is_plain_name(name):
        raise payload_error(
            shape, "table", f"must be a name of letters, digits and underscores, of at most {LONGEST_NAME} bytes"
        )
    if is_unfinished(name):
        raise payload_error(shape, "table", f"must not begin with {RESERVED_PREFIX!r}, as unfinished uploads do")
    return name


def is_plain_name(name: object) -> TypeGuard[str]:
    """Tell whether every engine takes it for the name of a table, as it is."""
    return isinstance(name, str) and _TABLE.fullmatch(name) is not None and _cleaned(name) == name


def is_unfinished(table: str) -> bool:
    """Tell whether a table is, by its name, one of an upload that is not finished."""
    return table.casefold().startswith(RESERVED_PREFIX)


def _cleaned(text: str) -> str:
    plain = "".join(
        letter
        for letter in unicodedata.normalize("NFC", text[:1_000])
        if unicodedata.category(letter) not in _INVISIBLE
    )
    return _cut(" ".join(_UNSAFE.sub("_", plain).split()), LONGEST_NAME)


def _cut(text: str, most: int) -> str:
    return text.encode("utf-8")[:most].decode("utf-8", errors="ignore").strip()


def _folded(name: str) -> str:
    """Return what is the same for names that some engine takes for one: MariaDB writes both i's of Turkish as I."""
    return name.replace("\u0130", "i").upper().casefold()


def _distinct_name(name: str, taken: set[str], free: set[str]) -> str:
    """Return the name, or with the first number that no other header has; note it as taken."""
    found, number = name, 1
    while _folded(found) in taken or (number > 1 and _folded(found) in free):
        number += 1
        ending = f"_{number}"
        found = _cut(name, LONGEST_NAME - len(ending)) + ending
    taken.add(_folded(found))
    return found

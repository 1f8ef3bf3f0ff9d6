"""Labels of outputs: unique, printable, and short enough for the engine when they become aliases."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from itertools import count

from analytics_core._compile.plan import Output
from analytics_core.errors import DuplicateLabelError, QueryError

_LONGEST_LABEL = 1_000
_HASH_LENGTH = 8
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def check_labels(outputs: Sequence[Output]) -> None:
    """Refuse empty, unprintable, over-long and repeated labels."""
    counts = Counter(output.label for output in outputs)
    repeated = [label for label, count in counts.items() if count > 1]
    if repeated:
        raise DuplicateLabelError(repeated)
    for label in counts:
        if not label or len(label) > _LONGEST_LABEL or _CONTROL.search(label):
            raise QueryError(
                f"label {label[:40]!r} cannot name a column: use 1 to {_LONGEST_LABEL} printable characters"
            )


def aliases(labels: Sequence[str], *, max_bytes: int | None, largest: str = "\U0010ffff") -> list[str]:
    """Return an SQL alias for each label: the label itself, or cut and hashed where it is too long or not unique.

    Aliases differ also when case is ignored, as some engines do; results are matched by position, never by alias.
    Characters beyond `largest` become underscores.
    """
    seen: set[str] = set()
    result = []
    for position, label in enumerate(labels):
        known = "".join("_" if letter > largest else letter for letter in label) if max(label) > largest else label
        alias = _shortened(known.strip(), max_bytes)
        if alias.casefold() in seen or alias != label:
            alias = _free(known, position, seen, max_bytes)
        seen.add(alias.casefold())
        result.append(alias)
    return result


def _shortened(label: str, max_bytes: int | None) -> str:
    if max_bytes is None or len(label.encode()) <= max_bytes:
        return label
    return label.encode()[:max_bytes].decode(errors="ignore")


def _free(label: str, position: int, seen: set[str], max_bytes: int | None) -> str:
    """Return a cut and hashed alias that is not taken, not even by a label made to look like one."""
    tries = (_hashed(label, position, turn, max_bytes) for turn in count())
    return next(alias for alias in tries if alias.casefold() not in seen)


def _hashed(label: str, position: int, turn: int, max_bytes: int | None) -> str:
    digest = hashlib.sha256(f"{turn} {label}".encode()).hexdigest()[:_HASH_LENGTH]
    suffix = f"_{position}_{digest}"
    room = (max_bytes or 60) - len(suffix)
    return _shortened(label.strip(), room).strip() + suffix

"""The rows or the columns of a pivot table: the groups of the data, with subtotals and a total behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from analytics_core._tools.pivots.labels import Key, shared_levels

SUBTOTAL: Final = "Subtotal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """The keys of the lines to compute, and which keys of the data each covers.

    Attributes:
        keys: one for each line.
        covers: the places of the data that each line covers.
        totals: which of the lines are totals or subtotals.
        data: how many keys the data has.
        count: how many lines the whole table has, also those that are not computed.
    """

    keys: tuple[Key, ...]
    covers: tuple[range, ...]
    totals: frozenset[int]
    data: int
    count: int


def line_count(keys: Sequence[Key], *, with_totals: bool) -> int:
    """Return how many lines sorted keys have, without making them."""
    if not with_totals or not keys:
        return len(keys)
    ends = [*shared_levels(keys)[1:], 0]
    return len(keys) + sum(len(keys[0]) - 1 - common for common in ends) + 1


def lines(keys: Sequence[Key], *, total: str | None, most: int | None) -> Lines:
    """Return the lines of sorted keys; with a `total` also a subtotal behind each group, and a total behind them all.

    `most` is how many lines to make beside the total; None makes all.
    """
    has_totals = total is not None and len(keys) > 0
    found = list(islice(_with_subtotals(keys) if has_totals else _plain(keys), most))
    if total is not None and keys:
        found.append((_padded((total,), len(keys[0])), range(len(keys)), True))
    return Lines(
        keys=tuple(key for key, _, _ in found),
        covers=tuple(covered for _, covered, _ in found),
        totals=frozenset(place for place, (_, _, is_total) in enumerate(found) if is_total),
        data=len(keys),
        count=line_count(keys, with_totals=has_totals),
    )


def _plain(keys: Sequence[Key]) -> Iterator[tuple[Key, range, bool]]:
    return ((key, range(place, place + 1), False) for place, key in enumerate(keys))


def _with_subtotals(keys: Sequence[Key]) -> Iterator[tuple[Key, range, bool]]:
    """Yield the keys, and each group's subtotal behind it (True), inner groups first; keys come sorted by group."""
    levels = len(keys[0])
    starts = [0] * levels
    ends = [*shared_levels(keys)[1:], 0]
    for place, (key, common) in enumerate(zip(keys, ends, strict=True)):
        yield key, range(place, place + 1), False
        for level in range(levels - 1, common, -1):
            yield _padded((*key[:level], SUBTOTAL), levels), range(starts[level], place + 1), True
            starts[level] = place + 1


def _padded(key: Key, levels: int) -> Key:
    return (*key, *[""] * (levels - len(key)))

"""The labels of a pivot table, and the orders in which its rows and columns stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from enum import StrEnum
from itertools import accumulate, pairwise
from typing import Any, Final

NULL_LABEL: Final = "NULL"
_NULLS: Final = 2
"""The rank of null, behind numbers and texts."""

Key = tuple[str, ...]
"""Labels, and names of metrics and totals, from the outermost level inwards."""

Rank = tuple[int, Any]


class PivotOrder(StrEnum):
    """How rows or columns follow each other, by the names that forms have for it."""

    LABEL = "key_a_to_z"
    LABEL_DESCENDING = "key_z_to_a"
    VALUE = "value_a_to_z"
    VALUE_DESCENDING = "value_z_to_a"

    @property
    def is_by_value(self) -> bool:
        """Whether the totals decide, rather than the labels."""
        return self in (PivotOrder.VALUE, PivotOrder.VALUE_DESCENDING)

    @property
    def is_descending(self) -> bool:
        """Whether the largest comes first."""
        return self in (PivotOrder.LABEL_DESCENDING, PivotOrder.VALUE_DESCENDING)


class Label(str):
    """The text of a value, which sorts as the value does: numbers by size, the rest by its text, null and NaN last.

    Two labels are the same when their values are: 1 is 1.0, null is not the text NULL. No label is the same as a plain
    text, which names a metric or a total.
    """

    __slots__ = ("order", "value")
    order: Rank
    value: Any

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Label) and self.order == other.order)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.order)


def is_null(value: Any) -> bool:
    """Tell whether a value is None or no number."""
    if isinstance(value, float):
        return value != value  # noqa: PLR0124 - only NaN differs from itself
    return value is None or (isinstance(value, Decimal) and value.is_nan())


def labels_of(values: Iterable[Any], text: Callable[[Any], str]) -> list[Label]:
    """Return the label of each value, one object for all that are the same; `text` is given what is not null."""
    found: dict[Label, Label] = {}
    texts: dict[str, Label] = {}  # most labels are texts that come again and again
    labels = []
    for value in values:
        label = texts.get(value) if type(value) is str else None
        if label is None:
            label = _label(value, text)
            label = found.setdefault(label, label)
            if type(value) is str:
                texts[value] = label
        labels.append(label)
    return labels


def _label(value: Any, text: Callable[[Any], str]) -> Label:
    label = Label(NULL_LABEL if is_null(value) else text(value))
    label.order, label.value = _rank(value, label), None if is_null(value) else value
    return label


def _rank(value: Any, text: object) -> Rank:
    if is_null(value):
        return (_NULLS, 0)
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return (0, value) if is_number else (1, str(text))


def ordered(keys: Iterable[Key]) -> list[Key]:
    """Return the different keys, sorted by the values behind the labels; nulls come last."""
    return sorted(dict.fromkeys(keys), key=lambda key: [label.order for label in key if isinstance(label, Label)])


def shared_levels(keys: Sequence[Key]) -> list[int]:
    """Return how many labels each key has in common with the one before it, from the outermost level inwards."""
    return [0, *[_common(before, key) for before, key in pairwise(keys)]] if keys else []


def _common(before: Key, key: Key) -> int:
    pairs = enumerate(zip(before, key, strict=True))
    return next((level for level, (one, other) in pairs if one != other), len(key))


def arranged(keys: Sequence[Key], order: PivotOrder, totals: Callable[[Sequence[int]], Sequence[Any]]) -> list[int]:
    """Return the places of sorted keys in another order, group by group, nulls last; metrics stay where they are.

    Args:
        keys: of equal length, sorted by their labels.
        order: the order.
        totals: returns the value of each group, given the number of the group of each key; not asked when labels
            decide.
    """
    places = list(range(len(keys)))
    if order is PivotOrder.LABEL or not keys:
        return places
    shared = shared_levels(keys)
    # Sorting keeps the order of equals: inner levels, sorted before, stay sorted inside each group.
    for level in reversed(range(len(keys[0]))):
        if not isinstance(keys[0][level], Label):
            metrics = {metric: place for place, metric in enumerate(dict.fromkeys(key[level] for key in keys))}
            places.sort(key=[metrics[key[level]] for key in keys].__getitem__)
            continue
        ranks: list[tuple[Rank, ...]] = [(label.order,) for key in keys if isinstance(label := key[level], Label)]
        if order.is_by_value:
            groups = [number - 1 for number in accumulate(common <= level for common in shared)]
            values = [_rank(value, value) for value in totals(groups)]
            ranks = [(values[group], *rank) for group, rank in zip(groups, ranks, strict=True)]
        places.sort(key=ranks.__getitem__, reverse=order.is_descending)
        places.sort(key=[rank[0][0] == _NULLS for rank in ranks].__getitem__)
    return places

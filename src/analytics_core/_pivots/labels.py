"""The labels of a pivot table, and the orders in which its rows and columns stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

NULL_LABEL: Final = "NULL"
_NULLS: Final = 2
"""The rank of null, behind numbers and texts."""

Key = tuple[str, ...]
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
    """The text of a value, which sorts as the value does: numbers by size, the rest by its text, null last.

    Two labels are the same when their values are: null is not the text NULL.
    """

    __slots__ = ("order", "value")
    order: Rank
    value: Any

    def __eq__(self, other: object) -> bool:
        return self.order == other.order if isinstance(other, Label) else str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def label_of(value: Any, text: Callable[[Any], str]) -> Label:
    """Return the label of a value; `text` is given what is not null."""
    label = Label(NULL_LABEL if value is None else text(value))
    label.order, label.value = _rank(value, label), value
    return label


def _rank(value: Any, text: object) -> Rank:
    if value is None:
        return (_NULLS, 0)
    return (0, value) if isinstance(value, int | float | Decimal) else (1, str(text))


def ordered(keys: Sequence[Key]) -> list[Key]:
    """Return the different keys, sorted by the values behind the labels; nulls come last."""
    return sorted(dict.fromkeys(keys), key=lambda key: [label.order for label in key if isinstance(label, Label)])


def arranged(keys: Sequence[Key], order: PivotOrder, values: Mapping[Key, Any]) -> list[Key]:
    """Return sorted keys in another order, group by group, nulls last; metrics stay where they are.

    Args:
        keys: of equal length, sorted by their labels.
        order: the order.
        values: the value of each group, by the first labels of its keys; not read when labels decide.
    """
    found = list(keys)
    # Sorting keeps the order of equals: inner levels, sorted before, stay sorted inside each group.
    for level in reversed(range(len(keys[0]) if keys else 0)):
        if isinstance(keys[0][level], Label):
            found = _by_level(found, level, order, values)
        else:
            metrics = list(dict.fromkeys(key[level] for key in keys))
            found = [key for metric in metrics for key in found if key[level] == metric]
    return found


def _by_level(keys: Sequence[Key], level: int, order: PivotOrder, values: Mapping[Key, Any]) -> list[Key]:
    def rank(key: Key) -> tuple[Rank, ...]:
        label = key[level]
        own = (label.order,) if isinstance(label, Label) else ()
        if not order.is_by_value:
            return own
        value = values[key[: level + 1]]
        return (_rank(value, value), *own)

    found = sorted(keys, key=rank, reverse=order.is_descending)
    return sorted(found, key=lambda key: rank(key)[0][0] == _NULLS)

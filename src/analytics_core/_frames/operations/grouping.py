"""Groups of rows: every row gets the number of its group, groups are numbered in the order of their keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from analytics_core._frames.operations.checks import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The group of each row, how many groups there are, and the first row of each."""

    codes: Array
    size: int
    first: Array

    def keys(self, series: pd.Series[Any]) -> pd.Series[Any]:
        """Return the key of each group: what the column of keys holds in the group's first row."""
        return pd.Series(series.array.take(self.first), dtype=series.dtype, copy=False)


def group_rows(keys: Sequence[pd.Series[Any]], *, length: int) -> Groups:
    """Return the groups of rows with equal keys; nulls are equal to each other and come last.

    Without keys all rows are one group, which is there even when there are no rows.
    """
    if not keys:
        return Groups(codes=np.zeros(length, dtype=np.int64), size=1, first=np.zeros(min(length, 1), dtype=np.int64))
    codes, size = key_codes(keys[0])
    for key in keys[1:]:
        further, count = key_codes(key)
        codes, size = _compressed(codes * max(count, 1) + further)
    return Groups(codes=codes, size=size, first=_first_rows(codes, size))


def key_codes(key: pd.Series[Any]) -> tuple[Array, int]:
    """Return the place of each value among the sorted different ones, nulls last, and how many there are."""
    codes, different = _factorized(key)
    codes = codes.astype(np.int64, copy=False)
    order = _sorted_places(different)
    missing = bool(codes.min(initial=0) < 0)
    if not missing and np.all(order[1:] > order[:-1]):
        return codes, len(order)  # the values came first in their order
    places = np.empty(len(order) + 1, dtype=np.int64)
    places[order] = np.arange(len(order))
    places[-1] = len(order)  # nulls: their code is -1
    return places[codes], len(order) + missing


def _factorized(key: pd.Series[Any]) -> tuple[Array, Any]:
    try:
        return pd.factorize(key)
    except (TypeError, NotImplementedError):  # lists, objects and sets: their text tells them apart
        held = key.astype(object)
        texts = [None if missing else _hashable(value) for value, missing in zip(held, key.isna(), strict=True)]
        return pd.factorize(pd.Series(texts, dtype=object))


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return (type(value).__name__, repr(value))
    return value


def _sorted_places(different: Any) -> Array:
    """Return the positions that sort the values; values of different types are sorted type by type."""
    if not pd.api.types.is_object_dtype(different):
        return np.asarray(pd.Index(different).argsort(), dtype=np.int64)
    values = list(different)
    try:
        order = sorted(range(len(values)), key=values.__getitem__)
    except TypeError:
        ranked = [_rank(value) for value in values]
        order = sorted(range(len(values)), key=ranked.__getitem__)
    return np.asarray(order, dtype=np.int64)


_KINDS: tuple[type | tuple[type, ...], ...] = ((int, float, Decimal), str, date, time, timedelta, bytes)


def _rank(value: Any) -> tuple[int, Any]:
    """Return a key that sorts numbers before text before the rest."""
    kind = next((place for place, kind in enumerate(_KINDS) if isinstance(value, kind)), len(_KINDS))
    return (kind, value) if kind < 2 else (kind, f"{type(value).__name__} {value}")


def _compressed(codes: Array) -> tuple[Array, int]:
    """Return codes without gaps, in the same order, so that further keys cannot overflow them."""
    places, different = pd.factorize(codes, sort=True)
    return places.astype(np.int64, copy=False), len(different)


def _first_rows(codes: Array, size: int) -> Array:
    first = np.full(size, -1)
    start, end = 0, 4 * size
    while start < len(codes) and first.min() < 0:  # most often all groups are among the first rows
        part = codes[start:end]
        found = np.full(size, -1)
        found[part[::-1]] = np.arange(start + len(part) - 1, start - 1, -1)
        first = np.where(first < 0, found, first)
        start, end = end, 4 * end
    return first

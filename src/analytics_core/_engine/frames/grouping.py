"""Rows by keys: every row gets the number of its group, and rows are sorted by one sort of whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pandas as pd

from analytics_core._engine.frames.columns import Array

_MANY_TEXTS: Final = 5_000
"""From how many texts on it pays to look whether they are of one length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The group of each row, and how many groups there are.

    Args:
        codes: the group of each row.
        size: the number of groups.
        first: the first row of each group.
        known: the keys of the groups, where finding the groups gave them too; `first` is empty then.
    """

    codes: Array
    size: int
    first: Array
    known: Any = None

    def keys(self, series: pd.Series[Any]) -> pd.Series[Any]:
        """Return the key of each group: what the column of keys holds in the group's first row."""
        return pd.Series(self.key_array(series), dtype=series.dtype, copy=False)

    def key_array(self, series: pd.Series[Any]) -> Any:
        """Return the keys as an array, for a column of a frame."""
        return series.array.take(self.first) if self.known is None else self.known


def group_rows(keys: Sequence[pd.Series[Any]], *, length: int) -> Groups:
    """Return the groups of rows with equal keys; nulls are equal to each other and come last.

    Without keys all rows are one group, which is there even when there are no rows.
    """
    if not keys:
        return Groups(codes=np.zeros(length, dtype=np.int64), size=1, first=np.zeros(min(length, 1), dtype=np.int64))
    codes, different, size = _places_among_sorted(keys[0])
    if len(keys) == 1 and isinstance(keys[0].dtype, pd.StringDtype) and len(different) == size:
        return Groups(codes=codes, size=size, first=np.zeros(0, dtype=np.int64), known=different)
    for key in keys[1:]:
        further, count = key_codes(key)
        codes, size = _compressed(codes * max(count, 1) + further)
    return Groups(codes=codes, size=size, first=_first_rows(codes, size))


def key_codes(key: pd.Series[Any]) -> tuple[Array, int]:
    """Return the place of each value among the sorted different ones, nulls last, and how many there are."""
    codes, _, size = _places_among_sorted(key)
    return codes, size


def _places_among_sorted(key: pd.Series[Any]) -> tuple[Array, Any, int]:
    """Return the place of each value among the sorted different ones, these without null, and how many with null."""
    text = isinstance(key.dtype, pd.StringDtype)
    codes, different = factorized_texts(key) if text else _factorized(key)
    codes = codes.astype(np.int64, copy=False)
    order = different.argsort() if text else _sorted_places(different)
    missing = bool(codes.min(initial=0) < 0)
    if not missing and np.all(order[1:] > order[:-1]):
        return codes, different, len(order)  # the values came first in their order
    places = np.empty(len(order) + 1, dtype=np.int64)
    places[order] = np.arange(len(order))
    places[-1] = len(order)  # nulls: their code is -1
    return places[codes], different.take(order), len(order) + missing


def factorized_texts(key: pd.Series[Any]) -> tuple[Array, Any]:
    """Return the number of each text among the different ones, as they first come, and these; null is -1."""
    found = _factorized_as_bytes(key) if len(key) >= _MANY_TEXTS else None
    codes, different = key.array.factorize() if found is None else found
    return codes, different


def _factorized_as_bytes(key: pd.Series[Any]) -> tuple[Array, Any] | None:
    """Return the same where no text is null and all are of one length, as codes of countries and days are, else None.

    Arrow finds equal ones sooner when it knows that.
    """
    import pyarrow as pa

    array = pa.array(key, type=pa.large_string())
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    _, starts, letters = array.buffers()
    bounds = np.frombuffer(starts, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    width = int(bounds[1] - bounds[0])
    if array.null_count or not width or (np.diff(bounds) != width).any():
        return None
    alike = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(array), [None, letters.slice(bounds[0])])
    found = alike.dictionary_encode()
    different = found.dictionary.cast(pa.large_binary()).cast(pa.large_string())
    return found.indices.to_numpy().astype(np.int64), pd.array(different, dtype=key.dtype)


def _factorized(key: pd.Series[Any]) -> tuple[Array, Any]:
    try:
        return pd.factorize(key)
    except (TypeError, NotImplementedError):  # lists, objects and sets: their text tells them apart
        objects = key.astype(object)
        texts = [None if missing else _hashable(value) for value, missing in zip(objects, key.isna(), strict=True)]
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


_BITS = 63


def stable_order(keys: Sequence[Array]) -> Array:
    """Return the rows in ascending order of numeric keys, the first key first; equal rows keep their order.

    NaN comes last.
    """
    rows = len(keys[0])
    row_bits = rows.bit_length()
    packed, size = np.zeros(rows, dtype=np.int64), 1
    for key in keys if rows else ():
        places, different = _places(key)
        size *= different
        if size.bit_length() + row_bits > _BITS:
            return np.lexsort(keys[::-1])  # the last key of lexsort is the first to count
        packed = packed * different + places
    packed <<= row_bits
    packed |= np.arange(rows)
    packed.sort()
    packed &= (1 << row_bits) - 1
    return packed


def _places(key: Array) -> tuple[Array, int]:
    """Return a place for each value, in their order, and how many places there are."""
    if key.dtype.kind in "iu":
        low, high = int(key.min()), int(key.max())
        if high - low < 2 * len(key):
            return (key - low).astype(np.int64, copy=False), high - low + 1
    order = np.argsort(key)
    ordered = key[order]
    fresh = np.zeros(len(key), dtype=np.int64)
    # A value after NaN is NaN: the last place holds them all.
    fresh[1:] = (ordered[1:] != ordered[:-1]) & (ordered[:-1] == ordered[:-1])
    places = np.empty(len(key), dtype=np.int64)
    places[order] = np.cumsum(fresh)
    return places, int(places[order[-1]]) + 1

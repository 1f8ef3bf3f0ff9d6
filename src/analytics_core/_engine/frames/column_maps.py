"""Source columns, of numbers or of text, and what becomes of them: results in their place, or under a new name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from analytics_core._engine.frames.columns import (
    Array,
    is_numeric,
    labels,
    listed,
    numbers,
    numeric_places,
    places_by_name,
    reject_column,
    require_columns,
)
from analytics_core.errors import PostProcessingError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedColumn:
    """One source column: its numbers, and where what becomes of them goes.

    Args:
        values: the numbers; they may share memory with the frame.
        home: the place of the column that the result replaces; None for a new column.
        target: the label of the result.
    """

    values: Array
    home: int | None
    target: Hashable


def map_columns(frame: pd.DataFrame, names: Mapping[str, str]) -> list[MappedColumn]:
    """Return the numeric columns that `names` maps to targets; of multi-level columns all under a first-level name.

    Without names, every numeric column is mapped to itself.

    Raises:
        PostProcessingError: a source is missing, named twice or not numeric, two results would share a name, or one
            would replace several columns.
    """
    column_labels = list(frame.columns)
    if not names:
        return [
            MappedColumn(values=numbers(frame.iloc[:, place]), home=place, target=column_labels[place])
            for place in numeric_places(frame)
        ]
    require_columns(frame, names, option="columns")
    _require_distinct(names.values())
    _require_one_place(frame, (target for source, target in names.items() if source != target))
    home_of: dict[Hashable, int] = {label: place for place, label in enumerate(column_labels)}
    places = places_by_name(frame)
    chosen = [(place, source == target, target) for source, target in names.items() for place in places[source]]
    targets = [_renamed(column_labels[place], target) for place, _, target in chosen]
    _require_distinct(label for label, (_, in_place, _) in zip(targets, chosen, strict=True) if not in_place)
    return [
        MappedColumn(
            values=numeric_column(frame, place, option="columns"),
            home=place if in_place else home_of.get(label),
            target=label,
        )
        for label, (place, in_place, _) in zip(targets, chosen, strict=True)
    ]


def numeric_column(frame: pd.DataFrame, place: int, *, option: str) -> Array:
    """Return the numbers of the column at a place; whole numbers without nulls as int64, others as float64.

    Raises:
        PostProcessingError: the column does not hold numbers.
    """
    series = frame.iloc[:, place]
    if not is_numeric(series):
        reject_column(frame, labels(frame)[place], option=option)
    return numbers(series)


def _require_distinct(labels_of_results: Iterable[Hashable]) -> None:
    shared = [label for label, count in Counter(labels_of_results).items() if count > 1]
    if shared:
        raise PostProcessingError(f"columns: several columns would be called {listed(shared)}; name each differently")


def _renamed(label: Hashable, first: str) -> Hashable:
    return (first, *label[1:]) if isinstance(label, tuple) else first


def with_results(frame: pd.DataFrame, columns: Sequence[MappedColumn], results: Sequence[Array]) -> pd.DataFrame:
    """Return a new frame with the results in their places; columns that nothing replaces stay."""
    replaced: dict[int, Array] = {}
    added: dict[Hashable, Array] = {}
    for column, result in zip(columns, results, strict=True):
        if column.home is None:
            added[column.target] = result
        else:
            replaced[column.home] = result
    return append_columns(_replaced(frame, replaced), added)


def _replaced(frame: pd.DataFrame, arrays: Mapping[int, Array]) -> pd.DataFrame:
    if len(arrays) < len(frame.columns):
        result = frame.copy(deep=False)
        for place, values in arrays.items():
            # A Series is taken over as it stands, an array would be copied.
            series: Any = pd.Series(values, index=frame.index, copy=False)
            result.isetitem(place, series)
        return result
    result = pd.DataFrame({place: arrays[place] for place in range(len(arrays))}, index=frame.index, copy=False)
    result.columns = frame.columns
    return result


def require_different(new_columns: Mapping[str, str | None]) -> None:
    """Check that options that name new columns, or none, name different ones.

    Raises:
        PostProcessingError: two options name the same column.
    """
    named = [name for name in new_columns.values() if name is not None]
    if len(set(named)) < len(named):
        raise PostProcessingError(
            f"{', '.join(new_columns)}: two of the new columns have one name; name each otherwise"
        )


def append_columns(frame: pd.DataFrame, added: Mapping[Hashable, Any]) -> pd.DataFrame:
    """Return a new frame with further columns on the right; of flat columns, one that bears the label is replaced.

    Under multi-level columns, a plain name becomes the first level and the further levels are empty.

    Raises:
        PostProcessingError: several flat columns bear the label of one, so that it is not clear which to replace.
    """
    result = frame.copy(deep=False)
    if not added:
        return result
    levels = frame.columns.nlevels
    if levels == 1:
        _require_one_place(frame, added)
        for label, values in added.items():
            result[label] = pd.Series(values, index=frame.index, copy=False)
        return result
    extra = pd.DataFrame(dict(enumerate(added.values())), index=frame.index, copy=False)
    full = [label if isinstance(label, tuple) else (label, *[""] * (levels - 1)) for label in added]
    extra.columns = pd.MultiIndex.from_tuples(full, names=frame.columns.names)
    return pd.concat([result, extra], axis="columns", sort=False)


def _require_one_place(frame: pd.DataFrame, added: Iterable[Hashable]) -> None:
    if frame.columns.is_unique:
        return
    for label in added:
        count = len(places_by_name(frame).get(label, ()))
        if count > 1:
            raise PostProcessingError(f"the new column {label!r} would replace {count} columns; name it differently")


def only_place(frame: pd.DataFrame, name: str, *, option: str) -> int:
    """Return where the one column of a name stands; of multi-level columns, the one under the first-level name.

    Raises:
        PostProcessingError: there is no such column, or there are several.
    """
    places = places_by_name(frame).get(name, [])
    if len(places) != 1:
        require_columns(frame, [name], option=option)
        raise PostProcessingError(f"{option}: {len(places)} columns are called {name!r}; flatten or rename them first")
    return places[0]


def only_column(frame: pd.DataFrame, name: str, *, option: str) -> pd.Series[Any]:
    """Return the one column of a name, as `only_place` finds it.

    Raises:
        PostProcessingError: there is no such column, or there are several.
    """
    columns = frame.columns
    if isinstance(columns.dtype, pd.StringDtype) and columns.is_unique and name in columns:  # most often
        return frame[name]
    return frame.iloc[:, only_place(frame, name, option=option)]


def text_column(frame: pd.DataFrame, name: str, *, option: str) -> pa.LargeStringArray:
    """Return a column of text as one Arrow array, without a copy where its storage allows.

    Raises:
        PostProcessingError: there is no such column, or it holds something else than text and nulls.
    """
    import pyarrow as pa

    series = only_column(frame, name, option=option)
    try:
        array = pa.array(_as_text(series), type=pa.large_string(), from_pandas=True)
    except (TypeError, ValueError, NotImplementedError):  # the Arrow errors are among these
        kinds = (pd.api.types.infer_dtype(frame.iloc[:, place], skipna=True) for place in range(len(frame.columns)))
        texts = [label for label, kind in zip(labels(frame), kinds, strict=True) if kind == "string"]
        raise PostProcessingError(
            f"{option}: column {name!r} does not hold text; the columns of text are: {listed(texts)}"
        ) from None
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _as_text(series: pd.Series[Any]) -> pd.Series[Any]:
    """Return the column such that Arrow refuses numbers and days: those of its own types it would turn into text."""
    return series if pd.api.types.is_string_dtype(series.dtype) else series.astype(object)


def text_series(rows: Array, present: Array, index: pd.Index[Any]) -> pd.Series[Any]:
    """Return a column of text from an array of ASCII bytes with a row for each; rows that are not present are null."""
    import pyarrow as pa

    width = rows.shape[1]
    offsets = np.arange(0, len(rows) * width + 1, width, dtype=np.int64)
    valid = None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))
    array = pa.LargeStringArray.from_buffers(len(rows), pa.py_buffer(offsets), pa.py_buffer(rows), valid)
    return pd.Series(array.to_pandas(), index=index)


def reject_rows(valid: Array, message: str) -> None:
    """Check that all rows are valid.

    Raises:
        PostProcessingError: some are not; the message is followed by how many, and which comes first.
    """
    if not valid.all():
        raise PostProcessingError(
            f"{message} ({int((~valid).sum())} such rows, the first is row {int(valid.argmin())})"
        )

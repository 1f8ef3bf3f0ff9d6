"""The columns of a frame: their labels, what operations ask of them, and the errors that name option and choices."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from analytics_core.errors import PostProcessingError, nearest

_MOST_LISTED = 20

Array = np.ndarray[Any, np.dtype[Any]]


def labels(frame: pd.DataFrame) -> list[Hashable]:
    """Return the labels of the columns in order; of multi-level columns those of the first level."""
    return list(frame.columns.get_level_values(0))


def require_columns(frame: pd.DataFrame, names: Iterable[Hashable], *, option: str) -> None:
    """Check that every name is a column, and of flat columns exactly one.

    Raises:
        PostProcessingError: a name is no column of the frame, or several columns share it.
    """
    wanted = tuple(names)
    if not wanted or _are_among(wanted, frame.columns):
        return
    present = labels(frame)
    known = set(present)
    for name in wanted:
        if name not in known:
            hint = did_you_mean(name, known)
            raise PostProcessingError(f"{option}: there is no column {name!r}{hint} The columns are: {listed(present)}")
        if frame.columns.nlevels == 1 and len(present) > len(known) and present.count(name) > 1:
            raise PostProcessingError(
                f"{option}: {present.count(name)} columns are called {name!r}; rename one. "
                f"The columns are: {listed(present)}"
            )


def _are_among(names: Iterable[Hashable], columns: pd.Index[Any]) -> bool:
    """Tell the common case at once: all names are among columns that are different texts."""
    return isinstance(columns.dtype, pd.StringDtype) and columns.is_unique and all(name in columns for name in names)


def did_you_mean(name: Hashable, known: Iterable[Hashable]) -> str:
    """Return the end of a sentence about an unknown name: the nearest known one, if any is near."""
    close = nearest(str(name), [str(label) for label in known])
    return f"; did you mean {close[0]!r}?" if close else "."


def listed(names: Iterable[Hashable]) -> str:
    """Return names for a message, in order and once each, the first 20 of many."""
    distinct = list(dict.fromkeys(map(str, names)))
    text = ", ".join(distinct[:_MOST_LISTED])
    if len(distinct) > _MOST_LISTED:
        return f"{text} and {len(distinct) - _MOST_LISTED} more"
    return text or "none"


def require_numeric(frame: pd.DataFrame, names: Sequence[Hashable], *, option: str) -> None:
    """Check that every name is a column of numbers or Booleans; of multi-level columns all under the name.

    Raises:
        PostProcessingError: a column is missing, named twice or holds something else than numbers.
    """
    require_columns(frame, names, option=option)
    wanted = set(names)
    for place, label in enumerate(labels(frame)):
        if label in wanted and not is_numeric(frame.iloc[:, place]):
            reject_column(frame, label, option=option)


def reject_column(frame: pd.DataFrame, label: Hashable, *, option: str) -> NoReturn:
    """Raise the error of a column that holds no numbers where numbers are needed."""
    present = labels(frame)
    numeric = listed(present[place] for place in numeric_places(frame))
    raise PostProcessingError(f"{option}: column {label!r} does not hold numbers; the numeric columns are: {numeric}")


def numeric_places(frame: pd.DataFrame) -> list[int]:
    """Return where the columns of numbers stand; those of Booleans are none."""
    return [place for place in range(len(frame.columns)) if is_numeric(frame.iloc[:, place], booleans=False)]


def places_by_name(frame: pd.DataFrame) -> dict[Hashable, list[int]]:
    """Return where the columns of each name stand; of multi-level columns all under the first-level name."""
    places: dict[Hashable, list[int]] = {}
    for place, name in enumerate(labels(frame)):
        places.setdefault(name, []).append(place)
    return places


def is_numeric(series: pd.Series[Any], *, booleans: bool = True) -> bool:
    """Tell whether a column holds numbers: a numeric dtype, or objects that are all numbers or null (decimals)."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iuf":
        return True
    if pd.api.types.is_bool_dtype(dtype) and not pd.api.types.is_object_dtype(dtype):
        return booleans
    if pd.api.types.is_numeric_dtype(dtype):
        return not pd.api.types.is_complex_dtype(dtype)
    return pd.api.types.is_object_dtype(dtype) and _objects_are_numbers(series, booleans=booleans)


def _objects_are_numbers(series: pd.Series[Any], *, booleans: bool) -> bool:
    objects = series.to_numpy()
    kinds = set(map(type, objects[~pd.isna(objects)]))
    return all(
        issubclass(kind, int | float | Decimal | np.number | np.bool_)
        and (booleans or not issubclass(kind, bool | np.bool_))
        for kind in kinds
    )


def numbers(series: pd.Series[Any]) -> Array:
    """Return a numeric column as a NumPy array: whole numbers as int64 where they have no nulls, else float64.

    Booleans are 0 and 1, nulls NaN, decimals the nearest float64; the array may share memory with the column.
    """
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "fib":
        # Small whole numbers would wrap around in sums and differences, halves and singles lose digits.
        return series.to_numpy().astype(np.float64 if dtype.kind == "f" else np.int64, copy=False)
    if not series.hasnans and pd.api.types.is_integer_dtype(dtype):
        return _integers(series)
    if not pd.api.types.is_object_dtype(dtype):
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    return _numbers_of_objects(series)


def nulls_as_0(values: Array) -> Array:
    """Return numbers with 0 for null; they may be the array that is given."""
    missing = np.isnan(values)
    return np.where(missing, 0.0, values) if missing.any() else values


def _integers(series: pd.Series[Any]) -> Array:
    if series.dtype == np.dtype(np.uint64) or str(series.dtype).lower().startswith("uint64"):
        return series.to_numpy(dtype=np.float64)
    return series.to_numpy(dtype=np.int64)


def _numbers_of_objects(series: pd.Series[Any]) -> Array:
    objects = series.to_numpy()
    missing = pd.isna(objects)
    if not missing.any() and all(issubclass(kind, int) for kind in set(map(type, objects))):
        try:
            return objects.astype(np.int64)
        except OverflowError:
            pass  # whole numbers beyond 64 bits are floats
    values = np.full(len(objects), np.nan)
    values[~missing] = [float(value) for value in objects[~missing]]
    return values


def require_unique_columns(frame: pd.DataFrame) -> None:
    """Check that no two columns share a label (all levels taken together).

    Raises:
        PostProcessingError: two columns do.
    """
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()]
        raise PostProcessingError(f"several columns are called {listed(twice)}; rename one")


def require_flat(frame: pd.DataFrame) -> None:
    """Check that the columns have one level.

    Raises:
        PostProcessingError: they have several, as after `pivot`.
    """
    if frame.columns.nlevels > 1:
        raise PostProcessingError("the columns have several levels; put the operation flatten before this one")


SEPARATOR = ", "
"""Stands between the parts of a joined label."""


def escaped(part: str) -> str:
    r"""Return a part of a label with a backslash before each comma: `a, b` is `a\, b`."""
    return part.replace(",", "\\,")


def unescaped(label: str) -> str:
    r"""Return a label without the backslashes that `escaped` wrote: `a\, b` is `a, b`."""
    return label.replace("\\,", ",")


def split_label(label: str) -> tuple[str, ...]:
    r"""Return the unescaped parts of a joined label: `a\, b, c` is (`a, b`, `c`)."""
    parts = [""]
    for piece in label.split(SEPARATOR):
        if parts[-1].endswith("\\"):
            parts[-1] += SEPARATOR + piece
        else:
            parts.append(piece)
    return tuple(unescaped(part) for part in parts[1:])


def with_labels(frame: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """Return the frame with every text label of its columns, at every level, changed."""
    result = frame.copy(deep=False)
    if isinstance(frame.columns, pd.MultiIndex):
        changed = [tuple(_changed(part, change) for part in label) for label in frame.columns]
        result.columns = pd.MultiIndex.from_tuples(changed, names=frame.columns.names)
    else:
        result.columns = label_index((_changed(label, change) for label in frame.columns), name=frame.columns.name)
    return result


def _changed(part: Any, change: Callable[[str], str]) -> Any:
    return change(part) if isinstance(part, str) else part


def label_index(names: Iterable[Hashable], *, name: Hashable = None) -> pd.Index[Any]:
    """Return flat column labels as they are: text is not turned into another dtype."""
    return pd.Index(list(names), dtype=object, name=name, tupleize_cols=False)


def level_place(columns: pd.Index[Any], level: int | str, *, option: str) -> int:
    """Return the position of a level given by its name or its position; negative ones count from the end.

    Raises:
        PostProcessingError: there is no such level.
    """
    names = list(columns.names)
    if isinstance(level, str) and names.count(level) == 1:
        return names.index(level)
    if isinstance(level, int) and -len(names) <= level < len(names):
        return level % len(names)
    known = ", ".join(f"{place} ({name})" if name is not None else str(place) for place, name in enumerate(names))
    raise PostProcessingError(f"{option}: the labels have no level {level!r}; they have: {known}")

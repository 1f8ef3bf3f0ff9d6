"""Frames of pandas, Polars and Arrow, and rows as Python has them, as Arrow data, without a copy where that goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
from pandas.api.types import infer_dtype

from analytics_core._engine.execution.handed_over import HandedFrame
from analytics_core.errors import SourceError
from analytics_core.errors.base import short_repr

_MISFITS = (pa.ArrowException, TypeError, ValueError, OverflowError)
"""What Arrow raises for values that have no type in common, or none at all."""


def frame_of(thing: Any, name: str) -> HandedFrame | None:
    """Return a frame as Arrow data, and None for what is no frame; `name` is what errors call it.

    Numbers, moments and texts that Arrow, Polars or pandas hold in Arrow's way are not copied. A lazy frame is
    collected, a relation of DuckDB run, a reader is read to its end.

    Raises:
        SourceError: it has no columns, two of one name, or one that no column of a database can be.
    """
    thing, package = _collected(thing, name), type(thing).__module__.partition(".")[0]
    if isinstance(thing, ds.Dataset):
        return _of_dataset(thing, name)
    if isinstance(thing, pd.DataFrame):
        return _of_pandas(thing, name)
    if package == "polars" and type(thing).__name__ == "DataFrame":
        return _of_polars(thing, name)
    if isinstance(thing, pa.Table | pa.RecordBatch):
        table = thing if isinstance(thing, pa.Table) else pa.Table.from_batches([thing])
        return _of_arrow(table, name)
    if hasattr(thing, "__arrow_c_stream__") and not _is_one_column(thing):
        return _of_arrow(_read_stream(thing, name), name)
    return None


def required_frame(thing: Any, name: str) -> HandedFrame:
    """Return a frame as Arrow data; SourceError for what is none."""
    found = frame_of(thing, name)
    if found is None:
        raise SourceError(
            f"{name}: {type(thing).__name__} is no frame of pandas, Polars or Arrow", extra={"name": name}
        )
    return found


def frame_of_rows(rows: Sequence[Mapping[str, Any]], name: str) -> HandedFrame:
    """Return rows, each a mapping from names to values, as a frame; a name that a row has not is null there.

    Raises:
        SourceError: as in `frame_of`.
    """
    headers = list(dict.fromkeys(header for row in rows for header in row))
    columns = [_column([row.get(header) for row in rows], header, name) for header in headers]
    return _of_arrow(_table(columns, headers, name), name)


_LAZY: Final = {"LazyFrame": "collect", "DuckDBPyRelation": "to_arrow_table"}
"""How rows that are not yet there are asked for."""


def _collected(thing: Any, name: str) -> Any:
    method = _LAZY.get(type(thing).__name__)
    if method is None:
        return thing
    try:
        return getattr(thing, method)()
    except Exception as error:  # whatever the rows are made of
        what = f"what it is made of cannot be run ({type(error).__name__}); run it yourself, and give its rows"
        raise SourceError(f"{name}: {what}") from error


def _is_one_column(thing: Any) -> bool:
    return type(thing).__name__ in ("Series", "ChunkedArray", "Array")


def _read_stream(thing: Any, name: str) -> pa.Table:
    try:
        return pa.RecordBatchReader.from_stream(thing).read_all()
    except Exception as error:  # the object is the host's own, and so is what it raises
        raise SourceError(f"{name}: its rows cannot be read as Arrow ({type(error).__name__})") from error


# ------------------------------------------------------------------------------------------------------------- pandas
def _of_pandas(frame: pd.DataFrame, name: str) -> HandedFrame:
    # A shallow copy: pandas then copies a column before it is changed, so that what was handed over stays as it is.
    owner = _with_index(frame.copy(deep=False), name)
    headers = [_pandas_header(header, name) for header in owner.columns]
    columns = [_pandas_column(owner.iloc[:, place], header, name) for place, header in enumerate(headers)]
    return _of_arrow(_table(columns, headers, name), name, owner=owner)


def _with_index(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the frame with its index as columns; one that only numbers the rows is left out."""
    index = frame.index
    is_number = index.nlevels == 1 and index.name is None and index.dtype.kind in "iu"
    if is_number or (index.name is None and not len(index) and index.nlevels == 1):
        return frame
    try:
        return frame.reset_index()
    except ValueError as error:
        raise SourceError(f"{name}: a level of the index is called as a column is; rename one of them") from error


def _pandas_header(header: Any, name: str) -> str:
    if isinstance(header, tuple):
        raise SourceError(
            f"{name}: its columns have several levels, such as {short_repr(header)}; join them first, for example "
            "frame.columns = ['_'.join(map(str, levels)) for levels in frame.columns]"
        )
    return "" if header is None or header != header else str(header)  # noqa: PLR0124 - NaN as a header


def _pandas_column(series: pd.Series[Any], header: str, name: str) -> pa.Array | pa.ChunkedArray:
    if series.dtype == object:
        return _column(series, header, name)
    if isinstance(series.dtype, pd.SparseDtype):
        series = pd.Series(series.to_numpy(), dtype=series.dtype.subtype)
    if series.dtype.name.startswith(("period", "interval", "complex")):
        raise _no_column(header, name, f"is of type {series.dtype}", "convert it, for example by .astype(str)")
    try:
        return pa.Array.from_pandas(series)
    except _MISFITS:  # their texts hold values
        raise _no_column(header, name, f"is of type {series.dtype}", "convert it, or leave it out") from None


_PLAIN_OBJECTS = frozenset(
    {"string", "bytes", "floating", "integer", "mixed-integer-float", "decimal", "boolean", "datetime", "datetime64"}
    | {"date", "timedelta", "timedelta64", "time", "empty"}
)
"""What pandas calls columns of Python objects that are of one kind."""


def _column(values: Any, header: str, name: str) -> pa.Array | pa.ChunkedArray:
    """Return Python objects as an Arrow array; SourceError where they are of several kinds, or of none that fits."""
    kinds = None if infer_dtype(values, skipna=True) in _PLAIN_OBJECTS else _kinds(values)
    if kinds is None or len(kinds) <= 1:
        try:
            return pa.array(values, from_pandas=True)
        except _MISFITS:
            kinds = _kinds(values)
    listed = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common(4))
    what = "holds values of several types" if len(kinds) > 1 else "holds values of a type that no database has"
    raise _no_column(header, name, f"{what}: {listed}", "make them one, for example by .astype(str)")


def _kinds(values: Iterable[Any]) -> Counter[str]:
    missing = (type(None), float)
    found = Counter(
        type(value).__name__
        for value in values
        if not (isinstance(value, missing) and (value is None or value != value))  # noqa: PLR0124 - NaN is none
    )
    for nothing in ("NAType", "NaTType"):
        found.pop(nothing, None)
    return found


# ------------------------------------------------------------------------------------------------------ Polars, Arrow
def _of_dataset(dataset: ds.Dataset, name: str) -> HandedFrame:
    """Return a dataset as it is: its files are read each time anew, by Arrow."""
    names = dataset.schema.names
    if _named(names, name) != names or not names:
        raise SourceError(f"{name}: a column of this Arrow dataset has no name; name it", extra={"name": name})
    return HandedFrame(data=dataset)


def _of_polars(frame: Any, name: str) -> HandedFrame:
    from polars import CompatLevel

    for header, kind in frame.schema.items():
        if str(kind).startswith("Object"):
            raise _no_column(header, name, "holds Python objects", "cast it to a type of Polars")
    return _of_arrow(frame.to_arrow(compat_level=CompatLevel.newest()), name, owner=frame)


def _of_arrow(table: pa.Table, name: str, owner: Any = None) -> HandedFrame:
    """Return a table as DuckDB reads it: each column named, and of a type that it has."""
    headers = _named(table.column_names, name)
    columns = [_readable(column, header, name) for column, header in zip(table.columns, headers, strict=True)]
    return HandedFrame(data=_table(columns, headers, name), owner=owner)


def _table(columns: Sequence[Any], headers: Sequence[str], name: str) -> pa.Table:
    if not headers:
        raise SourceError(f"{name}: it has no columns; a table needs one at least", extra={"name": name})
    return pa.Table.from_arrays(list(columns), names=list(headers))


def _named(headers: Sequence[str], name: str) -> list[str]:
    """Return the headers with those that are empty named by their place; two that differ by case alone are refused."""
    named = [header if header.strip() else f"column_{place}" for place, header in enumerate(headers, start=1)]
    count = Counter(header.casefold() for header in named)
    twice = next((header for header in named if count[header.casefold()] > 1), None)
    if twice is not None:
        message = f"{name}: two columns are called {short_repr(twice)} (capitals do not count); rename one of them"
        raise SourceError(message, extra={"name": name, "column": twice})
    return named


def _readable(column: pa.ChunkedArray, header: str, name: str) -> pa.ChunkedArray:
    """Return a column as a type that DuckDB reads."""
    kind = column.type
    try:
        if pa.types.is_float16(kind):
            return column.cast(pa.float32())
        if pa.types.is_decimal256(kind):
            return column.cast(pa.decimal128(38, kind.scale))
        if pa.types.is_null(kind):
            return column.cast(pa.string())
    except _MISFITS:
        what = f"holds numbers of more than 38 digits ({kind})"
        raise _no_column(header, name, what, "cast it to a smaller type") from None
    if pa.types.is_union(kind):
        raise _no_column(header, name, f"is of type {kind}", "make it one type")
    return column


def raise_unreadable(data: Any, name: str, can_read: Callable[[pa.Table], bool]) -> NoReturn:
    """Raise SourceError for a frame that the database cannot read, naming the column."""
    for field in data.schema:
        if not can_read(pa.schema([field]).empty_table()):
            raise _no_column(field.name, name, f"is of type {field.type}", "convert it, or leave it out")
    raise SourceError(f"{name}: its rows cannot be read", extra={"name": name})


def _no_column(header: str, name: str, what: str, instead: str) -> SourceError:
    return SourceError(f"{name}: column {short_repr(header)} {what}; {instead}", extra={"name": name, "column": header})

"""Columns of text as Arrow arrays and back, for work on their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from analytics_core._frames.operations.checks import Array, labels, listed
from analytics_core._frames.operations.column_maps import only_column
from analytics_core.errors import PostProcessingError

if TYPE_CHECKING:
    import pyarrow as pa


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
        texts = [label for place, label in enumerate(labels(frame)) if _is_text(frame.iloc[:, place])]
        raise PostProcessingError(
            f"{option}: column {name!r} does not hold text; the columns of text are: {listed(texts)}"
        ) from None
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _as_text(series: pd.Series[Any]) -> pd.Series[Any]:
    """Return the column such that Arrow refuses numbers and days: those of its own types it would turn into text."""
    return series if pd.api.types.is_string_dtype(series.dtype) else series.astype(object)


def _is_text(series: pd.Series[Any]) -> bool:
    return pd.api.types.infer_dtype(series, skipna=True) == "string"


def text_series(rows: Array, present: Array, index: pd.Index[Any]) -> pd.Series[Any]:
    """Return a column of text from an array of ASCII bytes with a row for each; rows that are not present are null."""
    import pyarrow as pa

    width = rows.shape[1]
    offsets = np.arange(0, len(rows) * width + 1, width, dtype=np.int64)
    valid = None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))
    array = pa.LargeStringArray.from_buffers(len(rows), pa.py_buffer(offsets), pa.py_buffer(rows), valid)
    return pd.Series(array.to_pandas(), index=index)


def refuse_rows(valid: Array, message: str) -> None:
    """Check that all rows are valid.

    Raises:
        PostProcessingError: some are not; the message is followed by how many, and which comes first.
    """
    if not valid.all():
        raise PostProcessingError(
            f"{message} ({int((~valid).sum())} such rows, the first is row {int(valid.argmin())})"
        )

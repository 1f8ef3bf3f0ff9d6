"""`geohash_decode`: geohashes become the latitudes and longitudes of the middles of their cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from analytics_core._engine.frames.column_maps import append_columns, reject_rows, require_different, text_column
from analytics_core._engine.frames.columns import Array
from analytics_core._engine.frames.geohash import LENGTH, decode
from analytics_core.models.postprocessing import GeohashDecodeOptions

if TYPE_CHECKING:
    import pyarrow as pa


def apply(frame: pd.DataFrame, options: GeohashDecodeOptions) -> pd.DataFrame:
    """Return the frame with columns of degrees; they are null where the geohash is.

    Raises:
        PostProcessingError: the column is missing or holds no text, a text is no geohash of 1 to 12 characters, or
            both new columns have one name.
    """
    require_different({"latitude": options.latitude, "longitude": options.longitude})
    text = text_column(frame, options.geohash, option="geohash")
    present = ~text.is_null().to_numpy(zero_copy_only=False)
    rows, lengths = _characters(text)
    latitude, longitude, valid = decode(rows, np.clip(lengths, 1, LENGTH))
    valid &= (lengths >= 1) & (lengths <= LENGTH)
    reject_rows(
        valid | ~present,
        f"Invalid geohash string: column {options.geohash!r} must hold geohashes of 1 to 12 characters",
    )
    latitude[~present] = longitude[~present] = np.nan
    return append_columns(frame, {options.latitude: latitude, options.longitude: longitude})


def _characters(text: pa.LargeStringArray) -> tuple[Array, Array]:
    """Return the first 12 bytes of each text, filled up with "0", and how many bytes the text has."""
    _, offset_bytes, data_bytes = text.buffers()
    if not len(text) or offset_bytes is None:
        return np.empty((0, LENGTH), np.uint8), np.empty(0, np.int64)
    offsets = np.frombuffer(offset_bytes, np.int64)[text.offset : text.offset + len(text) + 1]
    data = np.frombuffer(data_bytes or b"", np.uint8)[: offsets[-1]]
    lengths = np.diff(offsets)
    if (lengths == LENGTH).all():
        return data[offsets[0] :].reshape(-1, LENGTH), lengths
    places = offsets[:-1, np.newaxis] + np.arange(LENGTH)
    inside = np.arange(LENGTH) < lengths[:, np.newaxis]
    padded = np.append(data, np.uint8(ord("0")))
    return padded[np.where(inside, places, len(data))], lengths

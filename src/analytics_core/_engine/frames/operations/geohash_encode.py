"""`geohash_encode`: degrees of latitude and longitude become geohashes of 12 characters."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analytics_core._engine.frames.column_maps import (
    append_columns,
    numeric_column,
    only_place,
    reject_rows,
    text_series,
)
from analytics_core._engine.frames.columns import Array
from analytics_core._engine.frames.geohash import encode
from analytics_core.models.postprocessing import GeohashEncodeOptions


def apply(frame: pd.DataFrame, options: GeohashEncodeOptions) -> pd.DataFrame:
    """Return the frame with a column of geohashes; it is null where a latitude or a longitude is.

    Raises:
        PostProcessingError: a column is missing or holds no numbers, or a value lies outside the globe.
    """
    latitude = _degrees(frame, options.latitude, "latitude", 90)
    longitude = _degrees(frame, options.longitude, "longitude", 180)
    present = ~(np.isnan(latitude) | np.isnan(longitude))
    rows = encode(np.where(present, latitude, 0.0), np.where(present, longitude, 0.0))
    return append_columns(frame, {options.geohash: text_series(rows, present, frame.index)})


def _degrees(frame: pd.DataFrame, name: str, option: str, most: int) -> Array:
    values = numeric_column(frame, only_place(frame, name, option=option), option=option).astype(np.float64, copy=False)
    fitting = ~(np.abs(values) > most)
    reject_rows(fitting, f"Invalid longitude/latitude: column {name!r} must hold degrees from -{most} to {most}")
    return values

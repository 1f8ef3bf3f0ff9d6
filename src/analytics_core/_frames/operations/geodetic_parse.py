"""`geodetic_parse`: texts such as "52.5, 13.4" become columns of degrees, and of kilometres if asked."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from analytics_core._frames.operations.base import Operation
from analytics_core._frames.operations.column_maps import append_columns, require_different
from analytics_core._frames.operations.geodetic import parse
from analytics_core._frames.operations.texts import refuse_rows, text_column
from analytics_core.models.postprocessing import GeodeticParseOptions


def apply(frame: pd.DataFrame, options: GeodeticParseOptions) -> pd.DataFrame:
    """Return the frame with columns of degrees; they are null where the text is.

    A longitude beyond 180 degrees is turned back onto the globe. The altitude is in kilometres, 0 where the text names
    none.

    Raises:
        PostProcessingError: the column is missing or holds no text, a text is no point on the globe, or two new columns
            have one name.
    """
    require_different({"latitude": options.latitude, "longitude": options.longitude, "altitude": options.altitude})
    text = text_column(frame, options.geodetic, option="geodetic")
    missing = text.is_null().to_numpy(zero_copy_only=False)
    points = parse(text)
    valid = np.abs(points.latitude) <= 90
    valid &= np.isfinite(points.longitude) & np.isfinite(points.altitude)
    refuse_rows(
        valid | missing,
        f'Invalid geodetic string: column {options.geodetic!r} must hold points such as "52.5, 13.4" '
        'or "52 30m 0s N, 13 24m 0s E, 34 m"',
    )
    added: dict[Hashable, Any] = {options.latitude: points.latitude, options.longitude: points.longitude}
    if options.altitude is not None:
        added[options.altitude] = points.altitude
    return append_columns(frame, added)


OPERATION = Operation(name="geodetic_parse", options=GeodeticParseOptions, apply=apply)

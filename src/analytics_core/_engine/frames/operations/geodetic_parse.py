"""`geodetic_parse`: texts such as "52.5, 13.4" become columns of degrees, and of kilometres if asked."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from analytics_core._engine.frames.column_maps import append_columns, reject_rows, require_different, text_column
from analytics_core._engine.frames.columns import Array
from analytics_core.models.postprocessing import GeodeticParseOptions

if TYPE_CHECKING:
    import pyarrow as pa


_NUMBER = r"(?>\d+(?:\.\d*)?|\.\d+)(?>(?:[eE][+-]?\d+)?)"
_DECIMAL_PAIR: Final = r"^\s*-?\d+(?:\.\d+)?\s*,\s*-?\d+(?:\.\d+)?\s*$"
_COMMA: Final = ord(",")
_BLANK: Final = ord(" ")
_LONGEST: Final = 100
"""Characters of the longest text that is tried as a point; it bounds how long the pattern may search."""


def _angle(name: str, directions: str) -> str:
    """Return the pattern of one angle: `N 39.5`, `39 30' 0" N`, `-39.5` ..."""
    return (
        rf"(?:(?P<{name}_front>[{directions}]) ?)?(?P<{name}_sign>[+-])?(?P<{name}_degrees>{_NUMBER})(?: ?[°*Dd])?"
        rf"(?: ?(?P<{name}_minutes>{_NUMBER}) ?(?:['′m](?!')))?"
        rf"(?: ?(?P<{name}_seconds>{_NUMBER}) ?(?:[\"″s]|''|′′))?"
        rf"(?: ?(?P<{name}_back>[{directions}]))?"
    )


_SEPARATOR = r"(?: ?[,;/] ?| |(?<=[NSns]))"
_POINT: Final = re.compile(
    rf"{_angle('latitude', 'NSns')}{_SEPARATOR}{_angle('longitude', 'EWew')}"
    rf"(?:(?: ?[,;/] ?| )(?P<altitude>[+-]?{_NUMBER}) ?(?P<unit>km|mi|ft|nmi|nm|m)?)?"
)
"""A point in a text whose blanks are single ones: so no two parts of the pattern compete for a run of them."""
_KILOMETRES: Final[Mapping[str | None, float]] = MappingProxyType(
    {None: 1.0, "km": 1.0, "m": 0.001, "mi": 1.609344, "ft": 0.0003048, "nm": 1.852, "nmi": 1.852}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Degrees of latitude and longitude and kilometres of altitude; NaN where a text is null or no point."""

    latitude: Array
    longitude: Array
    altitude: Array


def parse(text: pa.LargeStringArray) -> Points:
    """Return the points of texts; a longitude beyond 180 degrees is turned back onto the globe."""
    import pyarrow as pa

    try:
        points = plain_pairs(text) or decimal_pairs(text)
    except pa.ArrowInvalid:
        points = _any_notation(text)
    longitude = points.longitude
    beyond = np.abs(longitude) > 180
    if beyond.any():
        turned = np.where(np.isinf(longitude), np.nan, np.remainder(np.nan_to_num(longitude) + 180.0, 360.0) - 180.0)
        longitude = np.where(beyond, turned, longitude)
    return Points(latitude=points.latitude, longitude=longitude, altitude=points.altitude)


def plain_pairs(text: pa.LargeStringArray) -> Points | None:
    """Return the points of texts such as `52.5, 13.4`, or None when one has other blanks, is null or anything else.

    The texts lie end to end in memory. Cut where they are, into latitude, separator, longitude and so on, with the
    separators null, their numbers are read without a copy.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    cuts = _cuts_at_commas(text)
    if cuts is None:
        return None
    present = np.ones(len(cuts) - 1, dtype=np.bool_)
    present[1::3] = False
    valid = pa.py_buffer(np.packbits(present, bitorder="little"))
    try:
        parts = pa.LargeStringArray.from_buffers(len(present), pa.py_buffer(cuts), text.buffers()[2], valid)
        numbers = pc.cast(parts, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    return _at_sea_level(np.ascontiguousarray(numbers[0::3]), np.ascontiguousarray(numbers[2::3]))


def _cuts_at_commas(text: pa.LargeStringArray) -> Array | None:
    """Return for each text where it begins, its comma stands and its second half begins, and the end of them all.

    None when there are no texts, or not each has exactly one comma.
    """
    _, starts, text_bytes = text.buffers()
    if not len(text) or text.null_count or text_bytes is None:
        return None
    bounds = np.frombuffer(starts, dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    letters = np.frombuffer(text_bytes, dtype=np.uint8)[: bounds[-1]]
    commas = np.flatnonzero(letters[bounds[0] :] == _COMMA) + bounds[0]
    if len(commas) != len(text) or not ((commas >= bounds[:-1]) & (commas < bounds[1:])).all():
        return None
    behind = np.minimum(commas + 1, len(letters) - 1)
    cuts = np.empty(3 * len(text) + 1, dtype=np.int64)
    cuts[0:-1:3], cuts[1::3], cuts[-1] = bounds[:-1], commas, bounds[-1]
    cuts[2::3] = np.minimum(commas + 1 + (letters[behind] == _BLANK), bounds[1:])  # a blank may be the next text's
    return cuts


def _at_sea_level(latitude: Array, longitude: Array) -> Points:
    return Points(latitude=latitude, longitude=longitude, altitude=np.where(np.isnan(latitude), np.nan, 0.0))


def decimal_pairs(text: pa.LargeStringArray) -> Points:
    """Return the points of texts such as `52.5, 13.4`; Arrow raises when one is anything else."""
    import pyarrow as pa
    import pyarrow.compute as pc

    halves = pc.split_pattern(text, ",", max_splits=1)
    latitude, longitude = (
        np.array(pc.cast(pc.utf8_trim_whitespace(pc.list_element(halves, half)), pa.float64())) for half in (0, 1)
    )
    return _at_sea_level(latitude, longitude)


def _any_notation(text: pa.LargeStringArray) -> Points:
    import pyarrow.compute as pc

    table = np.full((len(text), 3), np.nan)
    plain = pc.fill_null(pc.match_substring_regex(text, _DECIMAL_PAIR), False)
    rows = np.flatnonzero(plain.to_numpy(zero_copy_only=False))
    points = decimal_pairs(text.filter(plain))
    table[rows] = np.column_stack((points.latitude, points.longitude, points.altitude))
    others = np.setdiff1d(np.arange(len(text)), rows, assume_unique=True)
    for row, value in zip(others, text.take(others).to_pylist(), strict=True):
        table[row] = _point(value) if value is not None else np.nan
    return Points(latitude=table[:, 0], longitude=table[:, 1], altitude=table[:, 2])


def _point(text: str) -> tuple[float, float, float]:
    """Return latitude, longitude and altitude of one text; NaN when it is no point."""
    found = _POINT.fullmatch(" ".join(text.split())) if len(text) <= _LONGEST else None
    if found is None:
        return (np.nan, np.nan, np.nan)
    parts = found.groupdict()
    altitude = float(parts["altitude"] or 0) * _KILOMETRES[parts["unit"]]
    return _degrees(parts, "latitude", "S"), _degrees(parts, "longitude", "W"), altitude


def _degrees(parts: Mapping[str, str | None], name: str, negative: str) -> float:
    degrees, minutes, seconds = (float(parts[f"{name}_{unit}"] or 0) for unit in ("degrees", "minutes", "seconds"))
    sign, *directions = (parts[f"{name}_{part}"] for part in ("sign", "front", "back"))
    given = [direction.upper() for direction in directions if direction]
    # Of a sign and a letter, or two letters, none can tell which is meant.
    if len(given) + (sign is not None) > 1 or minutes >= 60 or seconds >= 60:
        return np.nan
    size = degrees + minutes / 60 + seconds / 3600
    return -size if sign == "-" or given == [negative] else size


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
    reject_rows(
        valid | missing,
        f'Invalid geodetic string: column {options.geodetic!r} must hold points such as "52.5, 13.4" '
        'or "52 30m 0s N, 13 24m 0s E, 34 m"',
    )
    added: dict[Hashable, Any] = {options.latitude: points.latitude, options.longitude: points.longitude}
    if options.altitude is not None:
        added[options.altitude] = points.altitude
    return append_columns(frame, added)

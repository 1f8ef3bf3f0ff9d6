"""Points written as text."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from tests.support.cases import for_each
from tests.support.window_frames import cells

from analytics_core import postprocessing
from analytics_core.errors import PostProcessingError


def parsed(*texts: str | None, altitude: str | None = "alt", dtype: Any = "str") -> list[tuple[Any, ...]]:
    frame = pd.DataFrame({"point": pd.Series(list(texts), dtype=dtype)})
    result = postprocessing.geodetic_parse(frame, geodetic="point", latitude="lat", longitude="lon", altitude=altitude)
    names = ["lat", "lon"] if altitude is None else ["lat", "lon", altitude]
    return list(zip(*(cells(result[name]) for name in names), strict=True))


@for_each(
    ("text", "point"),
    [
        ("52.5, 13.4", (52.5, 13.4, 0)),
        ("-33,151.25", (-33, 151.25, 0)),
        ("  41.5 ,-81.0  ", (41.5, -81, 0)),
        ("41.5;-81.0", (41.5, -81, 0)),
        ("41.5/-81.0", (41.5, -81, 0)),
        ("41.5 -81.0", (41.5, -81, 0)),
        ("+41.5, +81", (41.5, 81, 0)),
        (".5, 5.", (0.5, 5, 0)),
        ("1e1, 2E0", (10, 2, 0)),
        ("39 N, 74 E", (39, 74, 0)),
        ("S39.5 W74.2", (-39.5, -74.2, 0)),
        ("41.5N81W", (41.5, -81, 0)),
        ("N 39°20' 0'' / W 74°35' 0''", (39 + 20 / 60, -74 - 35 / 60, 0)),
        ("23 26m 22s N 23 27m 30s E", (23 + 26 / 60 + 22 / 3600, 23 + 27 / 60 + 30 / 3600, 0)),
        ("41°30′0″N, 81°0′36″W", (41.5, -81.01, 0)),
        ("41.5, -81, 10km", (41.5, -81, 10)),
        ("41.5, -81, 10 m", (41.5, -81, 0.01)),
        ("41.5, -81, 10ft", (41.5, -81, 0.003048)),
        ("41.5, -81, -2mi", (41.5, -81, -3.218688)),
        ("41.5, -81, 1nm", (41.5, -81, 1.852)),
        ("41.5, -81, 1 nmi", (41.5, -81, 1.852)),
        ("41.5, -81, 3", (41.5, -81, 3)),
        ("90, 180", (90, 180, 0)),
        ("-90, -180", (-90, -180, 0)),
    ],
)
def test_a_point_is_read_in_each_notation(text: str, point: tuple[float, ...]) -> None:
    assert parsed(text) == [pytest.approx(point, rel=1e-12)]
    assert parsed("1, 2", text, None)[1] == pytest.approx(point, rel=1e-12)


@pytest.mark.parametrize(("text", "longitude"), [("0, 181", -179), ("0, -181", 179), ("0, 540", -180), ("0,361 E", 1)])
def test_a_longitude_beyond_the_date_line_is_turned_back_onto_the_globe(text: str, longitude: float) -> None:
    assert parsed(text)[0][1] == longitude


def test_decimal_pairs_are_read_to_the_last_bit() -> None:
    texts = ["52.51627463, 13.37770275", "0.1,0.30000000000000004", "-0.000001, 179.99999999999997"]
    assert [row[:2] for row in parsed(*texts)] == [tuple(map(float, text.split(","))) for text in texts]


def test_the_altitude_is_a_column_only_if_named() -> None:
    frame = pd.DataFrame({"point": ["1, 2, 3 km"]})
    result = postprocessing.geodetic_parse(frame, geodetic="point", latitude="a", longitude="b")
    assert list(result.columns) == ["point", "a", "b"]
    result = postprocessing.geodetic_parse(frame, geodetic="point", latitude="a", longitude="b", altitude="c")
    assert result.iloc[0].tolist() == ["1, 2, 3 km", 1, 2, 3]


@for_each("dtype", ["str", "object", "string", "string[pyarrow]", "category"])
def test_nulls_stay_null_in_every_storage(dtype: str) -> None:
    assert parsed("1, 2", None, dtype=dtype) == [(1, 2, 0), (None, None, None)]
    assert parsed("1 N, 2 E", None, dtype=dtype) == [(1, 2, 0), (None, None, None)]
    assert parsed(None, dtype="object") == [(None, None, None)]
    assert parsed() == []


@for_each(
    "text",
    [
        "", " ", "abc", "41.5", "91, 0", "-90.5, 0", "nan, 0", "0, inf", "0, nan", "1e999, 0", "0, 1e999", "1,2,3,4",
        "abc 1, 2", "1, 2 abc", "1,,2", "0x10, 1", "1_0, 2", "-41.5 S, 81 W", "N 41 N, 2", "41 61m N, 2 E",
        "41 1m 60s N, 2 E", "41 30 N 81 W", "3 26 22 N 23 27 30 E", "1,2,1e999", "1" * 101 + ",2", "41 E, 12 N",
    ],
)  # fmt: skip
def test_a_text_that_is_no_point_is_refused_with_its_row(text: str) -> None:
    with pytest.raises(
        PostProcessingError,
        match=r"Invalid geodetic string: column 'point' must hold .*\(1 such rows, the first is row 1",
    ):
        parsed("1, 2", text)


@for_each(
    "text",
    [
        " " * 99 + "x",
        "1" + " " * 98 + "x",
        "1" * 99 + "x",
        "1 " * 49 + "x",
        "1" + " " * 30 + "1" + " " * 35 + "x",
        "1" * 10**6,
    ],
)
def test_no_text_keeps_the_search_busy(text: str) -> None:
    with pytest.raises(PostProcessingError):  # a search that tries all ways to split these texts would never end
        parsed(*[text] * 20)


def test_numbers_are_refused_with_the_columns_of_text() -> None:
    frame = pd.DataFrame({"x": [1.0], "t": ["1, 2"]})
    with pytest.raises(
        PostProcessingError, match="geodetic: column 'x' does not hold text; the columns of text are: t"
    ):
        postprocessing.geodetic_parse(frame, geodetic="x", latitude="a", longitude="b")


def test_a_missing_column_is_named() -> None:
    with pytest.raises(PostProcessingError, match=r"geodetic: there is no column 'p'\. .*: t"):
        postprocessing.geodetic_parse(pd.DataFrame({"t": ["1, 2"]}), geodetic="p", latitude="a", longitude="b")


def test_the_frame_that_is_given_never_changes_and_the_result_can_be() -> None:
    frame = pd.DataFrame({"t": ["1, 2", "3, 4"]})
    before = frame.copy()
    result = postprocessing.geodetic_parse(frame, geodetic="t", latitude="a", longitude="b", altitude="c")
    result.iloc[0, [1, 2, 3]] = 9.0
    assert result.iloc[0, 1:].tolist() == [9, 9, 9]
    pd.testing.assert_frame_equal(frame, before)


def test_two_new_columns_of_one_name_are_refused() -> None:
    frame = pd.DataFrame({"p": ["1, 2"]})
    with pytest.raises(PostProcessingError, match="latitude, longitude, altitude: two of the new columns"):
        postprocessing.geodetic_parse(frame, geodetic="p", latitude="a", longitude="b", altitude="a")

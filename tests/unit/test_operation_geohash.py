"""Geohashes made of degrees, and degrees made of geohashes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support.cases import for_each
from tests.support.window_frames import NUMERIC_DTYPES, cells, column, pivoted

from analytics_core import postprocessing
from analytics_core.errors import PostProcessingError

KNOWN = [
    (57.64911, 10.40744, "u4pruydqqvj8"),
    (40.689247, -74.044502, "dr5r7p62n13s"),
    (-33.856784, 151.215297, "r3gx2ux9gy1b"),
    (0.0, 0.0, "s00000000000"),
    (-90.0, -180.0, "000000000000"),
    (90.0, 180.0, "zzzzzzzzzzzz"),
    (45.0, -90.0, "f00000000000"),
]
TEXT_DTYPES: list[Any] = [
    pd.StringDtype("python", na_value=np.nan),
    pd.StringDtype("pyarrow", na_value=np.nan),
    pd.StringDtype("pyarrow"),
    "object",
    "category",
    "string[pyarrow]",
]


def places() -> pd.DataFrame:
    return pd.DataFrame(
        {"lat": [place[0] for place in KNOWN], "lon": [place[1] for place in KNOWN], "name": list("abcdefg")}
    )


def encoded(frame: pd.DataFrame, **options: str) -> pd.DataFrame:
    return postprocessing.geohash_encode(frame, **({"geohash": "gh", "latitude": "lat", "longitude": "lon"} | options))


def decoded(frame: pd.DataFrame, **options: str) -> pd.DataFrame:
    return postprocessing.geohash_decode(frame, **({"geohash": "gh", "latitude": "lat", "longitude": "lon"} | options))


def test_known_places_have_their_known_geohashes() -> None:
    result = encoded(places())
    assert cells(result["gh"]) == [place[2] for place in KNOWN]
    assert list(result.columns) == ["lat", "lon", "name", "gh"]
    assert result["gh"].dtype == pd.Series(["u4pr"]).dtype


def test_a_geohash_is_the_middle_of_its_cell() -> None:
    result = decoded(pd.DataFrame({"gh": ["s", "ezs42", "u4pruydqqvj8"]}))
    assert cells(result["lat"])[0] == 22.5
    assert cells(result["lon"])[0] == 22.5
    assert cells(result["lat"])[1] == pytest.approx(42.60498046875, abs=0)
    assert cells(result["lon"])[1] == pytest.approx(-5.60302734375, abs=0)
    assert cells(result["lat"])[2] == pytest.approx(57.64911, abs=1e-7)
    assert list(result.columns) == ["gh", "lat", "lon"]


def test_each_character_halves_degrees_five_times_in_turn_beginning_with_longitude() -> None:
    lengths = range(1, 13)
    result = decoded(pd.DataFrame({"gh": ["s" + "0" * (length - 1) for length in lengths]}))
    halvings = [(5 * length // 2, 5 * length - 5 * length // 2) for length in lengths]
    assert cells(result["lat"]) == [180 / 2**north / 2 for north, _ in halvings]
    assert cells(result["lon"]) == [360 / 2**east / 2 for _, east in halvings]


def test_the_names_of_the_options_are_the_names_of_the_columns() -> None:
    frame = pd.DataFrame({"north": [57.64911], "east": [10.40744], "lat": ["no"], "lon": ["no"]})
    result = encoded(frame, geohash="cell", latitude="north", longitude="east")
    assert cells(result["cell"]) == ["u4pruydqqvj8"]
    back = decoded(result[["cell"]], geohash="cell", latitude="n", longitude="e")
    assert list(back.columns) == ["cell", "n", "e"]
    assert (cells(back["n"])[0], cells(back["e"])[0]) == pytest.approx((57.64911, 10.40744), abs=1e-6)


def test_a_column_that_bears_the_name_already_is_replaced_in_its_place() -> None:
    result = encoded(places(), geohash="name")
    assert list(result.columns) == ["lat", "lon", "name"]
    assert cells(result["name"])[0] == "u4pruydqqvj8"


def test_nulls_stay_null() -> None:
    frame = pd.DataFrame({"lat": [1.0, None, 3.0], "lon": [None, 2.0, 3.0]})
    assert [cell is None for cell in cells(encoded(frame)["gh"])] == [True, True, False]
    result = decoded(pd.DataFrame({"gh": ["s", None]}))
    assert (cells(result["lat"]), cells(result["lon"])) == ([22.5, None], [22.5, None])


@for_each("dtype", TEXT_DTYPES)
def test_text_of_every_storage_is_decoded(dtype: Any) -> None:
    frame = pd.DataFrame({"gh": pd.Series(["s", None, "ezs42"], dtype=dtype)})
    assert cells(decoded(frame)["lat"]) == [22.5, None, 42.60498046875]


def test_a_slice_of_a_column_is_decoded_as_the_slice() -> None:
    frame = pd.DataFrame({"gh": ["bad!", "s", "ezs42", "ai"]}).iloc[1:3]
    result = decoded(frame)
    assert cells(result["lat"]) == [22.5, 42.60498046875]
    assert list(result.index) == [1, 2]


@for_each("dtype", NUMERIC_DTYPES)
def test_degrees_of_every_dtype_are_encoded(dtype: str) -> None:
    frame = pd.DataFrame({"lat": column([45.0, None], dtype), "lon": column([-90.0, None], dtype)})
    assert cells(encoded(frame)["gh"]) == ["f00000000000", None]


def test_the_storage_of_text_is_the_one_that_pandas_is_set_to() -> None:
    is_text_a_type = () if pd.__version__ >= "3" else ("future.infer_string", True)
    with pd.option_context("mode.string_storage", "python", *is_text_a_type):
        result = encoded(places())
        assert result["gh"].dtype.storage == "python"
        assert cells(result["gh"])[0] == "u4pruydqqvj8"


def test_capitals_are_read_as_small_letters() -> None:
    result = decoded(pd.DataFrame({"gh": ["EZS42", "ezs42", "eZs42"]}))
    assert len(set(cells(result["lat"]))) == 1


@for_each("text", ["", "a", "ezs4i", "ezs4l", "ezs4o", "ez s", "é", "ezs42\n", "u4pruydqqvj88", "-", "\x00"])
def test_a_text_that_is_no_geohash_is_refused_with_its_row(text: str) -> None:
    frame = pd.DataFrame({"gh": ["ezs42", None, text, text]})
    with pytest.raises(
        PostProcessingError,
        match=r"Invalid geohash string: column 'gh' must hold .*\(2 such rows, the first is row 2\)",
    ):
        decoded(frame)


@pytest.mark.parametrize(
    ("latitude", "longitude", "named"),
    [(90.001, 0, "'lat' must hold degrees from -90 to 90"), (0, -180.5, "'lon' must hold degrees from -180 to 180")],
)
def test_a_point_off_the_globe_is_refused(latitude: float, longitude: float, named: str) -> None:
    frame = pd.DataFrame({"lat": [0, latitude], "lon": [0, longitude]})
    with pytest.raises(PostProcessingError, match=f"Invalid longitude/latitude: column {named}.*first is row 1"):
        encoded(frame)


def test_infinite_degrees_are_off_the_globe() -> None:
    with pytest.raises(PostProcessingError, match="Invalid longitude/latitude"):
        encoded(pd.DataFrame({"lat": [0.0], "lon": [float("inf")]}))


def test_a_column_of_the_wrong_kind_is_refused_with_the_right_ones() -> None:
    with pytest.raises(PostProcessingError, match=r"latitude: column 'name' does not hold numbers; .*: lat, lon"):
        encoded(places(), latitude="name")
    with pytest.raises(PostProcessingError, match=r"geohash: column 'lat' does not hold text; .*: name"):
        decoded(places(), geohash="lat")
    with pytest.raises(PostProcessingError, match="geohash: column 'x' does not hold text"):
        decoded(pd.DataFrame({"x": ["s", 1, b"s"]}), geohash="x")
    with pytest.raises(PostProcessingError, match="longitude: there is no column 'lng'; did you mean 'lon'"):
        encoded(places(), longitude="lng")


def test_of_columns_of_several_levels_one_must_be_meant() -> None:
    with pytest.raises(PostProcessingError, match="latitude: 2 columns are called 'sales'; flatten or rename"):
        encoded(pivoted(), latitude="sales", longitude="cost")
    one = pivoted()[[("sales", "AT"), ("cost", "AT")]]
    result = encoded(one, latitude="sales", longitude="cost")
    assert list(result.columns)[-1] == ("gh", "")
    assert list(result.columns.names) == [None, "country"]


def test_empty_and_all_null_frames_are_no_errors() -> None:
    empty = pd.DataFrame({"lat": pd.Series(dtype="float64"), "lon": pd.Series(dtype="float64")})
    assert len(encoded(empty)) == 0
    assert len(decoded(pd.DataFrame({"gh": pd.Series(dtype="str")}))) == 0
    assert cells(decoded(pd.DataFrame({"gh": pd.Series([None, None], dtype="object")}))["lat"]) == [None, None]


def test_the_frame_that_is_given_never_changes_and_the_result_can_be() -> None:
    frame = places()
    before = frame.copy()
    result = decoded(encoded(frame), latitude="a", longitude="b")
    result.iloc[0, [0, 4, 5]] = 1.0
    pd.testing.assert_frame_equal(frame, before)


def test_two_new_columns_of_one_name_are_refused() -> None:
    with pytest.raises(PostProcessingError, match="latitude, longitude: two of the new columns have one name"):
        postprocessing.geohash_decode(pd.DataFrame({"g": ["u33"]}), geohash="g", latitude="a", longitude="a")

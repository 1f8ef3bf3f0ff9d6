"""Laws of geohashes and of points as text."""

from __future__ import annotations

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from tests.support.window_frames import cells

from analytics_core import postprocessing

ALPHABET = "0123456789bcdefghjkmnpqrstuvwxyz"
LATITUDES = st.floats(-90, 90)
LONGITUDES = st.floats(-180, 180)
GEOHASHES = st.text(alphabet=ALPHABET, min_size=1, max_size=12)


def encode(points: list[tuple[float, float]]) -> pd.DataFrame:
    frame = pd.DataFrame(points, columns=["lat", "lon"], dtype="float64")
    return postprocessing.geohash_encode(frame, geohash="gh", latitude="lat", longitude="lon")


def decode(frame: pd.DataFrame) -> pd.DataFrame:
    return postprocessing.geohash_decode(frame, geohash="gh", latitude="a", longitude="b")


def plain_geohash(latitude: float, longitude: float) -> str:
    """Cut the globe in half sixty times."""
    spans = [[-180.0, 180.0], [-90.0, 90.0]]
    bits = 0
    for cut in range(60):
        span, value = spans[cut % 2], (longitude, latitude)[cut % 2]
        middle = (span[0] + span[1]) / 2
        bits = bits << 1 | (value >= middle)
        span[value < middle] = middle
    return "".join(ALPHABET[bits >> shift & 31] for shift in range(55, -1, -5))


@given(points=st.lists(st.tuples(LATITUDES, LONGITUDES), max_size=10))
def test_a_geohash_is_that_of_sixty_cuts_in_half(points: list[tuple[float, float]]) -> None:
    assert cells(encode(points)["gh"]) == [plain_geohash(*point) for point in points]


@given(north=st.integers(0, 2**30 - 1), east=st.integers(0, 2**30 - 1))
def test_the_edge_of_a_cell_belongs_to_the_cell_above_it(north: int, east: int) -> None:
    latitude, longitude = north * 180 / 2**30 - 90, east * 360 / 2**30 - 180
    assert cells(encode([(latitude, longitude)])["gh"]) == [plain_geohash(latitude, longitude)]


@given(points=st.lists(st.tuples(LATITUDES, LONGITUDES), max_size=10))
def test_decoding_an_encoded_point_lies_within_its_cell(points: list[tuple[float, float]]) -> None:
    result = decode(encode(points))
    assert ((result["lat"] - result["a"]).abs() <= 90 / 2**30).all()
    assert ((result["lon"] - result["b"]).abs() <= 180 / 2**30).all()


@given(geohashes=st.lists(GEOHASHES, max_size=10))
def test_encoding_a_decoded_geohash_gives_its_characters_back(geohashes: list[str]) -> None:
    points = decode(pd.DataFrame({"gh": pd.Series(geohashes, dtype="str")}))
    again = cells(encode(list(zip(cells(points["a"]), cells(points["b"]), strict=True)))["gh"])
    assert [text[: len(geohash)] for text, geohash in zip(again, geohashes, strict=True)] == geohashes


@given(
    points=st.lists(st.tuples(LATITUDES, LONGITUDES), min_size=1, max_size=10),
    separator=st.sampled_from([", ", ",", " ,", ";", " / ", " "]),
)
def test_the_text_of_a_point_is_read_back_to_the_last_bit(points: list[tuple[float, float]], separator: str) -> None:
    frame = pd.DataFrame({"point": [f"{latitude!r}{separator}{longitude!r}" for latitude, longitude in points]})
    result = postprocessing.geodetic_parse(frame, geodetic="point", latitude="a", longitude="b")
    assert list(zip(cells(result["a"]), cells(result["b"]), strict=True)) == points

"""Geohashes of 12 characters and the points in the middle of their cells, for whole arrays at once.

A geohash is a row of cuts in half, 5 to a character: of the longitudes, of the latitudes, of the longitudes ... Two
characters hold 5 cuts of each, so all is done in pairs of characters, 6 to a full geohash.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from analytics_core._engine.frames.columns import Array

ALPHABET: Final = "0123456789bcdefghjkmnpqrstuvwxyz"
LENGTH: Final = 12
"""Characters of a full geohash; its cell is at most 19 mm by 38 mm."""

_PAIRS: Final = LENGTH // 2
_CUTS: Final = 5 * _PAIRS
_INVALID: Final = np.uint16(0xFFFF)
_LONGITUDE_BITS: Final = (9, 7, 5, 3, 1)
_LATITUDE_BITS: Final = (8, 6, 4, 2, 0)
"""Where the 5 cuts of each stand in the 10 bits of a pair of characters, first cut first."""


def encode(latitude: Array, longitude: Array) -> Array:
    """Return the geohashes of points as an array of bytes, a row of 12 for each point.

    Args:
        latitude: degrees from -90 to 90; the pole belongs to the northernmost cell.
        longitude: degrees from -180 to 180; 180 belongs to the easternmost cell.
    """
    north, east = _cell_numbers(latitude, 90.0), _cell_numbers(longitude, 180.0)
    characters = _characters_by_cuts()
    pairs = np.empty((len(latitude), _PAIRS), dtype="<u2")
    for pair in range(_PAIRS):
        shift = _CUTS - 5 * (pair + 1)
        pairs[:, pair] = characters[((east >> shift) & 31) << 5 | ((north >> shift) & 31)]
    return pairs.view(np.uint8)


def _cell_numbers(degrees: Array, most: float) -> Array:
    """Return how many cells lie below each value, of the 2**30 cells from -most to most."""
    size = 2 * most / 2**_CUTS
    numbers: Array = np.clip((degrees + most) / size, 0, 2**_CUTS - 1).astype(np.int64)
    # The sum above is rounded; the edges of cells are exact, so a neighbour's value is seen and put right.
    numbers -= degrees < numbers * size - most
    numbers += (degrees >= (numbers + 1) * size - most) & (numbers < 2**_CUTS - 1)
    return numbers


def decode(text: Array, lengths: Array) -> tuple[Array, Array, Array]:
    """Return the latitudes and longitudes of the middles of cells, and a mask of the geohashes that are valid.

    Args:
        text: an array of bytes, a row of 12 for each geohash, filled up with "0"; capitals are read as small letters.
        lengths: how many characters each geohash has, 1 to 12.
    """
    cuts = _cuts_by_characters()[text.view("<u2")]
    north, east = np.zeros(len(text), np.int64), np.zeros(len(text), np.int64)
    for pair in range(_PAIRS):
        north = north << 5 | (cuts[:, pair] & 31)
        east = east << 5 | (cuts[:, pair] >> 5 & 31)
    latitude = north * (180.0 / 2**_CUTS) - 90.0 + 90.0 / 2.0 ** (5 * lengths // 2)
    longitude = east * (360.0 / 2**_CUTS) - 180.0 + 180.0 / 2.0 ** ((5 * lengths + 1) // 2)
    return latitude, longitude, (cuts != _INVALID).all(axis=1)


def _cuts_by_characters() -> Array:
    """Return, for each pair of bytes, its cuts of longitude (times 32) and of latitude; or the mark of no geohash."""
    table = np.full((256, 256), _INVALID, dtype=np.uint16)
    codes = np.arange(1024)
    first, second, cuts = codes >> 5, codes & 31, _cuts_of_codes(codes)
    for alphabet in (ALPHABET, ALPHABET.upper()):
        for other in (ALPHABET, ALPHABET.upper()):
            table[_bytes_of(other)[second], _bytes_of(alphabet)[first]] = cuts
    return table.reshape(-1)


def _characters_by_cuts() -> Array:
    """Return the pair of characters of each combination of cuts: the inverse of the table above."""
    codes = np.arange(1024)
    letters = _bytes_of(ALPHABET).astype(np.uint16)
    table = np.empty(1024, dtype="<u2")
    table[_cuts_of_codes(codes)] = letters[codes >> 5] | letters[codes & 31] << 8
    return table


def _cuts_of_codes(codes: Array) -> Array:
    """Return the 10 bits of pairs of characters sorted apart: 5 of longitude, then 5 of latitude."""
    cuts = np.zeros_like(codes)
    for bit in (*_LONGITUDE_BITS, *_LATITUDE_BITS):
        cuts = cuts << 1 | (codes >> bit & 1)
    return cuts


def _bytes_of(text: str) -> Array:
    return np.frombuffer(text.encode("ascii"), dtype=np.uint8)

"""What a picture is made of: the columns of an answer, a size and a theme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureData:
    """The columns of one answer.

    Args:
        columns: the values of each column by its name, in the order of the answer; shorter columns end in nulls.
        labels: what people read in place of a column's name.
        temporal: the names of the columns that hold moments; numbers in them are milliseconds since 1970 in UTC, and
            a date without a zone is in UTC.
        notes: limits of the answer, as sentences; they stand at the foot of the picture.
        is_cut: whether the answer lacks rows that there are.
        annotations: the annotation layers by their names, as a result holds them.
        error: why there is no answer; the picture then says so.
    """

    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    temporal: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    is_cut: bool = False
    annotations: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The size of a whole picture, its title and notes included.

    `fits_rows` tells that nobody asked for the height: a table is then as tall as its rows, fifty at most.
    """

    width_px: int = 640
    height_px: int = 400
    fits_rows: bool = False


class Theme(StrEnum):
    """Whether a picture is drawn for a light or a dark page."""

    LIGHT = "light"
    DARK = "dark"

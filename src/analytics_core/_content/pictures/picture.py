"""A picture of a chart or a dashboard, as callers get it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, Final

from analytics_core._content.pictures.display import picture_bundle
from analytics_core._tools.atomic_files import requested_path, write_requested
from analytics_core._tools.display.bundles import Bundle, own_mime_bundle
from analytics_core._tools.display.text import visible
from analytics_core.errors import AnalyticsError, PictureError, UnknownNameError
from analytics_core.models.enums import PictureFormat

_TYPES: Final[Mapping[PictureFormat, str]] = {
    PictureFormat.SVG: "image/svg+xml",
    PictureFormat.PNG: "image/png",
    PictureFormat.PDF: "application/pdf",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Picture:
    """A picture: `data` are its bytes, `description` tells in words what it shows (its alternative text).

    `specification` is the Vega-Lite specification, which a host's page can embed; None for a dashboard. `width_px` and
    `height_px` are those of the layout: a PNG has `scale` times as many pixels. `failure` is the error of a query
    that has no answer, which the picture tells; None where all have one.

    A pickle or a copy is the same picture, which can be saved in its own format alone.
    """

    data: bytes
    format: PictureFormat
    description: str
    width_px: int
    height_px: int
    specification: Mapping[str, Any] | None = None
    failure: AnalyticsError | None = field(default=None, compare=False)
    redraw: Callable[[PictureFormat], bytes] | None = field(default=None, compare=False)
    """Draws the same in another format, for a notebook or a file; None: nobody can."""

    def __repr__(self) -> str:
        size = f"{self.width_px}x{self.height_px}"
        return f"<Picture, {self.format.name}, {size}, {len(self.data)} bytes: {visible(self.description)}>"

    @property
    def content_type(self) -> str:
        """Its media type, for example `image/png`."""
        return _TYPES[self.format]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture to a file, and return its path; what is there is replaced.

        The ending of the name says the format: a picture of another one is drawn anew. Without an ending it is written
        as it is.

        Raises:
            UnknownNameError: an ending that is no format of pictures.
            PictureError: it cannot be drawn in that format.
            FileWriteError: the file cannot be written.

        Examples:
            >>> core.charts.picture(1).save("sales.svg").read_bytes()[:4]
            b'<svg'
        """
        file = requested_path(path)
        return write_requested(file, self._in(file.suffix))

    def _in(self, ending: str) -> bytes:
        name = ending.removeprefix(".").lower()
        if not name or name == self.format:
            return self.data
        if name not in tuple(PictureFormat):
            known = tuple(f".{one}" for one in PictureFormat)
            raise UnknownNameError(ending, place="the name of a picture's file", known=known)
        if self.redraw is None:
            raise PictureError(f"this picture is {self.format.name} alone; save it as .{self.format}")
        return self.redraw(PictureFormat(name))

    def __reduce__(self) -> tuple[Any, ...]:
        """Tell what pickles and copies are made from: all but who draws it anew, which is of this core."""
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "redraw"}
        return partial(type(self), **values), ()

    _repr_mimebundle_ = own_mime_bundle

    def _bundle(self) -> Bundle:
        return picture_bundle(self)

"""Pictures in notebooks: small enough that a notebook with fifty of them stays under a megabyte."""

from __future__ import annotations

import json
import struct
import zlib
from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from analytics_core._content.pictures.data import picture_data
from analytics_core._pictures.specification import VEGA_LITE_VERSION, chart_specification
from analytics_core._tools.display.bundles import Bundle
from analytics_core.models.enums import PictureFormat

if TYPE_CHECKING:
    from analytics_core._content.pictures.picture import Picture
    from analytics_core._engine.results.answer import ChartData

VEGA_LITE_TYPE: Final = f"application/vnd.vegalite.v{VEGA_LITE_VERSION.partition('.')[0]}+json"
_SVG_TYPE: Final = "image/svg+xml"
_PNG_TYPE: Final = "image/png"
_PNG_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
MOST_CHARACTERS: Final = 18_000
"""Of a picture in a notebook, with its Vega-Lite specification."""

_MOST_ROWS: Final = 5_000


def picture_bundle(picture: Picture) -> Bundle:
    """Return a picture as a notebook stores it: as SVG, or as PNG where that is smaller, and as Vega-Lite if it fits.

    A notebook that knows Vega-Lite shows that, with values under the pointer; the others show the picture.
    """
    plain = {"text/plain": repr(picture)}
    small_form = _small_form(picture)
    remaining = MOST_CHARACTERS - sum(map(len, small_form.values()))
    return {**_vega_lite(picture.specification, most=remaining), **small_form, **plain}


def vega_lite_of(answer: ChartData) -> Bundle:
    """Return the Vega-Lite specification of an answer that says how it is drawn; nothing where it would be large."""
    rows = sum(result.rowcount for result in answer.results)
    if not answer.form or not answer.form.get("viz_type") or rows > _MOST_ROWS:
        return {}
    return _vega_lite(chart_specification(answer.form, picture_data(answer, answer.form)), most=MOST_CHARACTERS)


def _vega_lite(specification: Mapping[str, Any] | None, *, most: int) -> Bundle:
    if specification is None or len(json.dumps(specification)) > most:
        return {}
    return {VEGA_LITE_TYPE: dict(specification)}


def _small_form(picture: Picture) -> Bundle:
    """Return the picture as SVG; where that is large, as PNG, if it is smaller so."""
    svg = _in(picture, PictureFormat.SVG)
    if svg is not None and len(svg) <= MOST_CHARACTERS:
        return {_SVG_TYPE: svg.decode()}
    png = _in(picture, PictureFormat.PNG)
    forms = {} if svg is None else {_SVG_TYPE: svg.decode()}
    if png is not None:
        forms[_PNG_TYPE] = b64encode(recompressed_png(png)).decode("ascii")
    if not forms:
        return {picture.content_type: b64encode(picture.data).decode("ascii")}
    return dict([min(forms.items(), key=lambda form: len(form[1]))])


def _in(picture: Picture, format: PictureFormat) -> bytes | None:
    if picture.format is format:
        return picture.data
    is_chart = picture.specification is not None  # the SVG of a dashboard is large
    return picture.redraw(format) if picture.redraw is not None and is_chart else None


def recompressed_png(png: bytes) -> bytes:
    """Return the same PNG, its pixels pressed harder: those of charts become a third to a twelfth as large."""
    head, pixels = png[: len(_PNG_SIGNATURE)], b""
    if head != _PNG_SIGNATURE:
        return png
    others: list[tuple[bytes, bytes]] = []
    place = len(head)
    while place < len(png):
        length, kind = struct.unpack_from(">I4s", png, place)
        content = png[place + 8 : place + 8 + length]
        place += 12 + length
        if kind == b"IDAT":
            pixels += content
        else:
            others.append((kind, content))
    packed = (b"IDAT", zlib.compress(zlib.decompress(pixels), 9))
    *before, end = others
    return head + b"".join(_chunk(*one) for one in (*before, packed, end))


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

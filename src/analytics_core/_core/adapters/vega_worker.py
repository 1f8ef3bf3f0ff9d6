"""What a process of `VegaRenderer` runs: it draws one picture after the other, with vl-convert.

A conversion holds the interpreter's lock to its end, cannot be stopped, and hangs for ever in a forked child: so it has
a process of its own. It has no secrets of its parent, UTC as its zone, and the bundled fonts as the only ones.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, BinaryIO, Final

from analytics_core.errors import AnalyticsError, MissingExtraError

VEGA_LITE: Final = "5.21"
"""The version of Vega-Lite that draws; vl-convert brings several."""

_IDLE_S: Final = 300.0
_STACK: Final = "\n    at "
_LONGEST_REASON: Final = 300
_SHAPE: Final = re.compile(r"<(?:path|rect|line|circle|ellipse|polyline|polygon|text)\b[^>]*>")
_PAINT: Final = re.compile(r' (fill|stroke|stroke-width|fill-opacity|stroke-opacity)="([^"]*)"')
_NO_PAINT: Final = ("none", "transparent")
_EMOJI: Final = re.compile(
    "[\U0001f000-\U0001faff\u2600-\u2639\u2690-\u26ff\u2700-\u27bf\ufe0e\ufe0f\u200d\U000e0020-\U000e007f]+"
)
"""Signs that the bundled fonts lack; a box in place of each would tell nothing."""


def main(font_directories: Sequence[str], folder: str) -> None:
    """Answer the requests of the standard input on the standard output until there are no more, or none for long.

    A request is a line of JSON (`format`, `scale`, `kind`, `limit_s`, `lengths`) and the texts of these lengths in
    bytes; so is an answer: `length` and the picture, or `error`, and `is_broken` where this process ends after it.
    The folder is this process's own; it is removed here as well as by the parent, which may be gone by then.
    """
    if hasattr(signal, "SIGHUP"):  # sent to whoever is stopped when the parent is killed, and may go on then
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever a library prints is no answer
    try:
        while (request := _next_request(requests, folder)) is not None:
            texts = [requests.read(length).decode() for length in request["lengths"]]
            _end_after(request["limit_s"])
            head, picture = _answer(request, texts, has_fonts=bool(font_directories))
            _end_after(0)
            answers.write(json.dumps(head).encode() + b"\n" + picture)
            answers.flush()
            if head.get("is_broken"):
                break
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _next_request(requests: BinaryIO, folder: str) -> dict[str, Any] | None:
    """Return the head of the next request; None at the end. A parent that asks nothing for long starts another one."""
    over = threading.Timer(_IDLE_S, _leave, (folder,))
    over.daemon = True
    over.start()
    line = requests.readline()
    over.cancel()
    return json.loads(line) if line else None


def _leave(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _end_after(limit_s: float) -> None:
    """Let the system end this process when a picture takes longer, for which nobody may wait any more; 0: go on."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, limit_s)


def _answer(request: Mapping[str, Any], texts: Sequence[str], *, has_fonts: bool) -> tuple[dict[str, Any], bytes]:
    try:
        picture = _drawn(request, texts, has_fonts=has_fonts)
    except AnalyticsError as error:
        return {"error": error.message, "extra": getattr(error, "extra_name", None)}, b""
    except BaseException as error:  # border of a process
        is_panic = not isinstance(error, Exception)  # of the library, which may not have survived it
        return {"error": _reason(error), "is_broken": is_panic}, b""
    return {"length": len(picture)}, picture


def _reason(error: BaseException) -> str:
    """Return what the library says, without its stack."""
    text = str(error).partition(_STACK)[0].partition("\n\nStack")[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:_LONGEST_REASON]


def _drawn(request: Mapping[str, Any], texts: Sequence[str], *, has_fonts: bool) -> bytes:
    import vl_convert

    pages = list(texts)
    if request["kind"] == "specification":
        pages = [vl_convert.vegalite_to_svg(text, vl_version=VEGA_LITE, allowed_base_urls=[]) for text in texts]
    from analytics_core._pictures.safe_svg import safe_svg

    pages = [safe_svg(page) for page in pages]
    if request["format"] == "svg":
        return pages[0].encode()
    if not has_fonts:
        pages = [_EMOJI.sub("", page) for page in pages]
    if request["format"] == "png":
        return bytes(vl_convert.svg_to_png(pages[0], scale=request["scale"]))
    pages = [_SHAPE.sub(_flat_shape, page) for page in pages]
    return _one_document([vl_convert.svg_to_pdf(page, scale=request["scale"]) for page in pages])


def _flat_shape(found: re.Match[str]) -> str:
    """Return the tag of a shape with its opacity as that of its only paint.

    In a document a shape with an opacity is a drawing of its own: of thousands it takes a minute.
    """
    tag = found[0].replace(' opacity="1"', "")
    if ' opacity="' not in tag:
        return tag
    paint = dict(_PAINT.findall(tag))
    is_filled = paint.get("fill") not in _NO_PAINT
    is_stroked = paint.get("stroke", "none") not in _NO_PAINT and paint.get("stroke-width") != "0"
    if is_filled == is_stroked or "fill-opacity" in paint or "stroke-opacity" in paint:
        return tag
    return tag.replace(' opacity="', ' fill-opacity="' if is_filled else ' stroke-opacity="', 1)


def _one_document(pages: Sequence[bytes]) -> bytes:
    """Return one document of pages, the same bytes for the same pages: the library writes names in any order."""
    try:
        from pypdf import PdfReader, PdfWriter
    except ImportError:
        raise MissingExtraError(needed_for="a picture as PDF", extra_name="charts") from None
    written = PdfWriter()
    for page in pages:
        for found in PdfReader(BytesIO(page)).pages:
            _sort_names(found["/Resources"])
            written.add_page(found)
    written.metadata = None
    out = BytesIO()
    written.write(out)
    return out.getvalue()


def _sort_names(resources: Any) -> None:
    """Put the resources of a page, and those of the forms that it draws, in the order of their names."""
    for name in list(resources):
        named = resources[name]
        if not isinstance(named, dict):
            continue
        for key in sorted(named):
            raw = dict.pop(named, key)
            dict.__setitem__(named, key, raw)
            drawn = raw.get_object()
            if isinstance(drawn, dict) and "/Resources" in drawn:
                _sort_names(drawn["/Resources"])
    for name in sorted(resources):
        dict.__setitem__(resources, name, dict.pop(resources, name))

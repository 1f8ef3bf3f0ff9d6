"""A renderer that draws nothing: it keeps what it is asked for, and answers with small files of the right kind."""

from __future__ import annotations

import hashlib
import json
import struct
import threading
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from analytics_core.errors import PictureError
from analytics_core.models.enums import PictureFormat

_PNG: Final = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnPicture:
    """One call of `FakeRenderer`.

    Attributes:
        specification: the Vega-Lite specification; None for pages.
        pages: the SVG pages; empty for a specification.
        format: what was asked for.
        scale: likewise.
    """

    specification: Mapping[str, Any] | None = None
    pages: tuple[str, ...] = ()
    format: PictureFormat
    scale: float


class FakeRenderer:
    """Keeps what it is asked to draw (port `Renderer`), and answers with a file that holds a digest of it.

    Any thread may use it. It costs next to nothing; nothing of the picture can be seen in the file.

    Examples:
        >>> renderer = FakeRenderer()
        >>> renderer.render({"mark": "bar", "width": 30}, format=PictureFormat.SVG)[:4]
        b'<svg'
        >>> renderer.drawn[0].specification["mark"]
        'bar'
    """

    fingerprint = "FakeRenderer 1"

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._drawn: list[DrawnPicture] = []
        self._failures: list[str] = []
        self._is_closed = False

    @property
    def drawn(self) -> tuple[DrawnPicture, ...]:
        """What was drawn, in order."""
        with self._guard:
            return tuple(self._drawn)

    def fail_next(self, message: str = "the renderer was told to fail") -> None:
        """Let the next call that is not to fail already be a PictureError with this message."""
        with self._guard:
            self._failures.append(message)

    def render(self, specification: Mapping[str, Any], *, format: PictureFormat, scale: float = 1.0) -> bytes:
        """Return a file of the format.

        Raises:
            PictureError: it is no JSON object, as `fail_next` says, or after `close`.
        """
        try:
            text = json.dumps(specification, sort_keys=True, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise PictureError("the specification of a picture holds something that is no JSON value") from None
        self._keep(DrawnPicture(specification=json.loads(text), format=format, scale=scale))
        size = [specification.get(name) for name in ("width", "height")]
        width, height = (value if isinstance(value, int | float) else 100 for value in size)
        description = str(specification.get("description", ""))
        return _file(format, [text], scale=scale, description=description, width=width, height=height)

    def render_pages(self, pages: Sequence[str], *, format: PictureFormat, scale: float = 1.0) -> bytes:
        """Return a file of the format, with as many pages.

        Raises:
            PictureError: no page, or several in a format that has one; as `fail_next` says; after `close`.
        """
        if not pages or (len(pages) > 1 and format is not PictureFormat.PDF):
            raise PictureError(f"{len(pages)} pages do not make one {format.name}; PDF takes several")
        self._keep(DrawnPicture(pages=tuple(pages), format=format, scale=scale))
        return _file(format, pages, scale=scale, description="", width=100, height=100)

    def close(self) -> None:
        """Draw nothing afterwards; what was drawn can still be read."""
        with self._guard:
            self._is_closed = True

    def _keep(self, picture: DrawnPicture) -> None:
        with self._guard:
            if self._is_closed:
                raise PictureError("the renderer is closed")
            if self._failures:
                raise PictureError(self._failures.pop(0))
            self._drawn.append(picture)


def _file(
    format: PictureFormat, texts: Sequence[str], *, scale: float, description: str, width: float, height: float
) -> bytes:
    digest = hashlib.sha256(json.dumps([*texts, scale]).encode()).hexdigest()
    if format is PictureFormat.SVG:
        size = f'width="{width:g}" height="{height:g}"'
        words = f"<desc>{escape(description)}</desc>" if description else ""
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><title>{digest}</title>{words}</svg>'.encode()
    if format is PictureFormat.PNG:
        head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
        chunks = ((b"IHDR", head), (b"tEXt", b"digest\0" + digest.encode()), (b"IDAT", zlib.compress(b"\0\xff")))
        return _PNG + b"".join(_chunk(kind, content) for kind, content in (*chunks, (b"IEND", b"")))
    return _document(len(texts), digest)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _document(pages: int, digest: str) -> bytes:
    """Return a PDF with so many empty pages."""
    kids = " ".join(f"{3 + number} 0 R" for number in range(pages))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {pages} /Kids [{kids}] >>",
        *["<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] >>"] * pages,
    ]
    written, places = f"%PDF-1.4\n%{digest}\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    trailer = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(written)}\n%%EOF\n"
    return f"{written}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}".encode()

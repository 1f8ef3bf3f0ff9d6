"""What every `Renderer` must keep."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from xml.etree import ElementTree as ET

import pytest

from analytics_core.errors import PictureError
from analytics_core.models.enums import PictureFormat
from analytics_core.ports import Renderer

_MAGIC: Final = {PictureFormat.SVG: b"<svg", PictureFormat.PNG: b"\x89PNG\r\n\x1a\n", PictureFormat.PDF: b"%PDF-"}
_SVG: Final = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">{}</svg>'
_PAGE: Final = _SVG.format('<rect width="20" height="10"/>')
_HOSTILE: Final = '"><script>alert(1)</script><image href="http://x.invalid/"/>'


def _bars(labels: tuple[str, ...] = ("a", "b"), **more: Any) -> dict[str, Any]:
    return {
        "data": {"values": [{"x": label, "y": place} for place, label in enumerate(labels, 1)]},
        "mark": "bar",
        "encoding": {"x": {"field": "x", "type": "nominal"}, "y": {"field": "y", "type": "quantitative"}},
        "width": 60,
        "height": 40,
        **more,
    }


class RendererConformance:
    """Subclass it and override the fixtures `renderer` and `wrong_specification`."""

    @pytest.fixture
    def renderer(self) -> Renderer:
        """Return the renderer under test."""
        raise NotImplementedError("override the fixture `renderer`")

    @pytest.fixture
    def wrong_specification(self) -> Mapping[str, Any] | None:
        """Return a JSON object that it cannot draw; None: it looks at none."""
        return {"mark": "no such mark"}

    @pytest.fixture
    def requests(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the address of a server of the loopback, and the list of what it was asked for."""
        paths: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                paths.append(self.path)
                self.send_error(404)

            def log_message(self, *_words: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        serving = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}", paths
        server.shutdown()
        serving.join()
        server.server_close()

    def test_it_is_a_renderer(self, renderer: Renderer) -> None:
        """It has all of the port, and says what its bytes depend on."""
        assert isinstance(renderer, Renderer)
        assert isinstance(renderer.fingerprint, str)
        assert renderer.fingerprint == renderer.fingerprint

    @pytest.mark.parametrize("format", list(PictureFormat))
    def test_it_draws_a_specification_alike_each_time(self, renderer: Renderer, format: PictureFormat) -> None:
        """The file is of the format; equal input gives equal bytes, other data give others; the input stays."""
        given = _bars(description="two bars")
        before = copy.deepcopy(given)
        first = renderer.render(given, format=format)
        assert first.startswith(_MAGIC[format])
        assert renderer.render(given, format=format) == first
        assert renderer.render(_bars(("a", "b", "c")), format=format) != first
        assert given == before

    @pytest.mark.parametrize("format", list(PictureFormat))
    def test_it_draws_a_page(self, renderer: Renderer, format: PictureFormat) -> None:
        """A page that is drawn already becomes a file of the format."""
        found = renderer.render_pages([_PAGE], format=format)
        assert found.startswith(_MAGIC[format])
        assert renderer.render_pages([_PAGE], format=format) == found

    def test_several_pages_make_a_document(self, renderer: Renderer) -> None:
        """A PDF has as many pages as are given, and no other format has several."""
        found = renderer.render_pages([_PAGE, _PAGE, _PAGE], format=PictureFormat.PDF)
        assert b"/Count 3" in found
        for kind in (PictureFormat.SVG, PictureFormat.PNG):
            with pytest.raises(PictureError):
                renderer.render_pages([_PAGE, _PAGE], format=kind)
        with pytest.raises(PictureError):
            renderer.render_pages([], format=PictureFormat.PDF)

    def test_a_text_is_a_text(self, renderer: Renderer) -> None:
        """A label that looks like elements becomes none."""
        found = renderer.render(_bars((_HOSTILE, "b"), title=_HOSTILE), format=PictureFormat.SVG)
        names = {element.tag.rpartition("}")[2].lower() for element in ET.fromstring(found).iter()}  # noqa: S314 - ours
        assert not names & {"script", "image", "foreignobject"}

    def test_it_loads_nothing(self, renderer: Renderer, requests: tuple[str, list[str]]) -> None:
        """Neither data nor pictures are fetched, whichever way they are named."""
        address, paths = requests
        marked = _bars(mark={"type": "image", "url": f"{address}/mark.png", "width": 9, "height": 9})
        loading = {**_bars(), "data": {"url": f"{address}/rows.json"}}
        image = _SVG.format(
            f'<image xmlns:xlink="http://www.w3.org/1999/xlink" width="9" height="9" xlink:href="{address}/a.png"/>'
            f'<image width="9" height="9" href="{address}/b.png"/>'
        )
        for specification in (marked, loading):
            for kind in PictureFormat:
                try:
                    found = renderer.render(specification, format=kind)
                except PictureError:
                    continue
                assert kind is not PictureFormat.SVG or address.encode() not in found
        for kind in PictureFormat:
            renderer.render_pages([image], format=kind)
        assert paths == []

    def test_what_cannot_be_drawn_says_so_without_a_stack(
        self, renderer: Renderer, wrong_specification: Mapping[str, Any] | None
    ) -> None:
        """The error is one short text."""
        with pytest.raises(PictureError):
            renderer.render({"mark": object()}, format=PictureFormat.PNG)
        if wrong_specification is None:
            return
        with pytest.raises(PictureError) as caught:
            renderer.render(wrong_specification, format=PictureFormat.PNG)
        assert "\n" not in caught.value.message
        assert " at " not in caught.value.message
        assert renderer.render(_bars(), format=PictureFormat.PNG).startswith(_MAGIC[PictureFormat.PNG])

    def test_many_threads_may_draw(self, renderer: Renderer) -> None:
        """Each gets its own picture."""
        wanted = [_bars(tuple("abc"[: 1 + number % 3])) for number in range(6)]
        alone = [renderer.render(one, format=PictureFormat.SVG) for one in wanted]
        with ThreadPoolExecutor(6) as pool:
            found = list(pool.map(lambda one: renderer.render(one, format=PictureFormat.SVG), wanted))
        assert found == alone

    def test_a_closed_one_draws_nothing(self, renderer: Renderer) -> None:
        """What is asked afterwards is an error; closing again is none."""
        renderer.close()
        renderer.close()
        with pytest.raises(PictureError):
            renderer.render(_bars(), format=PictureFormat.SVG)

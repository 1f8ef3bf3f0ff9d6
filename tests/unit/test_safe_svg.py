"""What is copied of an SVG document, and what is not."""

from __future__ import annotations

import pytest
from tests.support.cases import for_each

from analytics_core._pictures.safe_svg import safe_svg
from analytics_core.errors import PictureError

HEAD = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
COPIED = HEAD.replace(">", ' font-family="sans-serif">')


def copied(inner: str, **options: str) -> str:
    return safe_svg(f"{HEAD}{inner}</svg>", **options).removeprefix(COPIED.removesuffix(">")).removeprefix(">")


@for_each(
    ("given", "expected"),
    [
        ("<script>alert(1)</script>", ""),
        ("<style>@import url(http://x)</style>", ""),
        ('<foreignObject><p xmlns="http://www.w3.org/1999/xhtml">x</p></foreignObject>', ""),
        ('<g onclick="x()" ONLOAD="x()" fill="red"/>', '<g fill="red"/>'),
        ('<a xlink:href="javascript:x()"><text>a</text></a>', "<g><text>a</text></g>"),
        ('<a href="http://x"/>', "<g/>"),
        ('<image xlink:href="http://x/a.png"/>', "<image/>"),
        ('<image href="file:///etc/passwd"/>', "<image/>"),
        ('<image href="data:image/svg+xml;base64,AAAA"/>', "<image/>"),
        ('<image href="data:image/png;base64,AA=="/>', '<image xlink:href="data:image/png;base64,AA=="/>'),
        ('<g fill="url(http://x/#a)"/>', "<g/>"),
        ("<g fill=\"URL( '#a' )\"/>", "<g/>"),
        ("<g fill=\"url( '#a' )\"/>", '<g fill="url(#n0)"/>'),
        ('<g fill="url(#a) url(http://x)"/>', "<g/>"),
        ('<g style="fill:url(http://x)"/>', "<g/>"),
        ('<g style="font-size:9px;fill:red"/>', '<g style="font-size:9px;fill:red"/>'),
        ('<g style="fill:u\\72l(http://x)"/>', "<g/>"),
        ('<g fill="u\\72l(http://x)" mask="image-set(\'http://x\' 1x)"/>', "<g/>"),
        ('<g STYLE="fill:u\\72l(http://x)" Style="fill:url(http://x)"/>', "<g/>"),
        ('<image HREF="http://x/a.png" XLINK="a"/>', "<image/>"),
        ('<image src="http://x/a.png" srcset="http://x" background="http://x"/>', "<image/>"),
        ('<g FILL="red" data-x="a" tabindex="0" fill="red"/>', '<g fill="red"/>'),
        ('<desc>a<image src="http://x/a.png"/><g>b</g>c</desc>', "<desc>ac</desc>"),
        ("<title><desc><text>a</text></desc>b &lt;img src=x&gt;</title>", "<title>b &lt;img src=x&gt;</title>"),
        ('<animate attributeName="href" to="javascript:x()"/>', ""),
        ('<use href="http://x/#a"/>', ""),
        ('<text aria-label="a url(b) &lt;c&gt;">&lt;script&gt;</text>', None),
        ("<text>a &amp; b</text>", "<text>a &amp; b</text>"),
        ('<g transform="rotate(9) translate(1,2)"/>', '<g transform="rotate(9) translate(1,2)"/>'),
    ],
)
def test_what_could_act_or_load_is_left_out(given: str, expected: str | None) -> None:
    wanted = '<text aria-label="a url(b) &lt;c&gt;">&lt;script&gt;</text>' if expected is None else expected
    assert copied(given).removesuffix("</svg>").removesuffix("/>" if not wanted else "\0") == wanted


def test_ids_are_numbered_in_their_order_with_what_names_them() -> None:
    inner = '<defs><clipPath id="clip7"/></defs><g clip-path="url(#clip7)" id="mine"/>'
    assert 'clipPath id="c1-n0"' in copied(inner, prefix="c1-")
    assert '<g clip-path="url(#c1-n0)" id="c1-n1"/>' in copied(inner, prefix="c1-")
    assert copied(inner) == copied(inner.replace("clip7", "clip8"))


@for_each(
    "text",
    [
        "",
        "<svg",
        "no markup",
        "<svg/>",
        "<html><body/></html>",
        '<!DOCTYPE svg [<!ENTITY a "b">]><svg xmlns="http://www.w3.org/2000/svg">&a;</svg>',
        f"{HEAD}<g></svg>",
        f"{HEAD}\ud800</svg>",
    ],
)
def test_what_is_no_svg_document_is_an_error(text: str) -> None:
    with pytest.raises(PictureError, match="SVG document"):
        safe_svg(text)


def test_what_is_nested_beyond_reason_is_cut() -> None:
    assert copied("<g>" * 5_000 + "<text>a</text>" + "</g>" * 5_000).count("<g") < 300


def test_a_long_value_is_read_in_one_pass() -> None:
    assert copied(f'<g fill="{"a" * 1_000_000}()"/>') == "<g/></svg>"
    assert copied(f'<g fill="rgb() {"a" * 1_000_000}"/>').count("a") == 1_000_000

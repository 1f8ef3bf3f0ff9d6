"""Style sheets of dashboards: what is kept of them."""

from __future__ import annotations

import pytest
from tests.support.cases import for_each

from analytics_core._pictures.pages.safe_css import safe_css


@for_each(
    ("given", "expected"),
    [
        (".a { color: red; margin: 0 4px }", ".a{color:red;margin:0 4px;}"),
        (".a>b:hover,[x='y']{width:calc(1px + 2px)!important}", ".a>b:hover,[x='y']{width:calc(1px + 2px)!important;}"),
        ("@import url(http://x/a.css); .a{color:red}", ".a{color:red;}"),
        ("@import 'http://x/a.css';.a{color:red}", ".a{color:red;}"),
        ("@font-face{font-family:x;src:url(http://x)}", ""),
        (".a{background:url(http://x);color:red}", ".a{color:red;}"),
        (".a{background:URL( 'http://x' )}", ""),
        (".a{background:u\\72l(http://x)}", ""),
        (".a{background:ur/**/l(http://x)}", ""),
        (".a{background:image-set('http://x' 1x)}", ""),
        (".a{background:-webkit-image-set('http://x' 1x)}", ""),
        (".a{--x:url(http://x);background:var(--x)}", ".a{background:var(--x);}"),
        (".a{behavior:url(x);-moz-binding:x;width:expression(alert(1))}", ""),
        (".a{content:'</style><script>alert(1)</script>'}", ""),
        ("</style><script>alert(1)</script>{color:red}", ""),
        (".a{content:'unclosed;color:red}.b{color:red}", ".a{color:red;}\n.b{color:red;}"),
        ("@media print{.a{color:red}}", "@media print{.a{color:red;}\n}"),
        ("@media url(http://x){.a{color:red}}", ""),
        ("@supports (display:grid){@media print{.a{color:red}}}", None),
        ("@keyframes x{from{color:red}}", ""),
        (".a{color:red", ".a{color:red;}"),
        ("/* .a{color:red} ", ""),
        (".a{background: -X-Url-y \t ('http:x')}", ""),
        (".a:not( .my-url-x (b)){color:red}", ""),
        (".a{color: ;margin:0}", ".a{margin:0;}"),
        (".a{color}", ""),
        ("", ""),
        ("}}}{{{", ""),
    ],
)
def test_what_could_load_something_or_end_the_sheet_is_left_out(given: str, expected: str | None) -> None:
    wanted = "@supports (display:grid){@media print{.a{color:red;}\n}\n}" if expected is None else expected
    assert safe_css(given).strip() == wanted


def test_a_long_sheet_is_cut_and_read_in_one_pass() -> None:
    assert safe_css("{" * 400_000) == ""
    assert safe_css(".a{color:red}" * 40_000).count("{") <= 20_000


SIZE = 200_000


@pytest.mark.slow
@for_each(
    "given",
    [
        "a{b:" + " " * SIZE + "\\}",
        "a{" + " " * SIZE + "}",
        "a{b:c" + " " * SIZE + "<}",
        "a{b:" + "url" * SIZE + "}",
        "a{b:" + "a" * SIZE + "}",
        "a{b:" + "a" * SIZE + "(}",
        "a" * SIZE + "{b:c}",
        "a" + " " * SIZE + "{b:c}",
        "url-" * SIZE + "({b:c}",
        "@media " + "import" * SIZE + "{a{b:c}}",
        "a" * 3_999 + "\\{b:c}",
        ("a{b:" + " " * 3_900 + "\\}") * 50,
        ("a{b:" + "url" * 1_300 + "}") * 50,
        ("a" * 3_900 + "\\{b:c}") * 50,
        "/*" * SIZE,
        "@media x{" * SIZE,
    ],
    ids=range(16),
)
def test_no_pattern_makes_a_long_sheet_take_longer_than_its_length(given: str) -> None:
    """Each took minutes, some of them hours, when names and values were found by patterns that try again."""
    css = safe_css(given)
    assert len(css) <= SIZE
    assert "\\" not in css


def test_a_declaration_or_a_selector_beyond_reason_is_left_out() -> None:
    assert safe_css(f".a{{color:red;margin:{'0 ' * 3_000};top:0}}").strip() == ".a{color:red;top:0;}"
    assert safe_css(f"{'.a,' * 3_000}.b{{color:red}}.c{{color:red}}").strip() == ".c{color:red;}"

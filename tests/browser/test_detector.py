"""The browser that looks at pages finds what is bad: else its silence would mean nothing."""

from __future__ import annotations

import pytest
from tests.support.browser import Browser

ACTING = {
    "script": "<script>executed('x')</script>",
    "image": "<img src=x onerror=executed('x')>",
    "svg in a page": "<svg onload=executed('x')></svg>",
    "link": "<a href=\"javascript:executed('x')\">a</a>",
    "link in svg": "<svg><a xlink:href=\"javascript:executed('x')\"><text y=20>a</text></a></svg>",
    "pointer": "<div style='width:600px;height:400px' onmousemove=executed('x')></div>",
    "frame": "<iframe srcdoc=\"<script>parent.executed('x')</script>\"></iframe>",
    "dialog": "<script>setTimeout(() => alert('x'))</script>",
    "button": "<form><button formaction=\"javascript:executed('x')\">a</button></form>",
}
LOADING = {
    "image": "<img src={}/a.png>",
    "style sheet": "<style>@import '{}/a.css';</style>",
    "background": "<style>body{{background:image-set('{}/a.png' 1x)}}</style>",
    "svg image": "<svg><image href='{}/a.png'/></svg>",
    "svg paint": "<svg><rect width=9 height=9 mask='url({}/a.svg#b)'/></svg>",
    "refresh": "<meta http-equiv=refresh content='0;url={}/a'>",
    "frame": "<iframe src={}/a></iframe>",
    "relative": "<img src=/a.png>",
    "other host": "<img src=http://elsewhere.example/a.png>",
    "preload": "<link rel=preload as=image href={}/a.png>",
}


@pytest.mark.parametrize("name", ACTING)
def test_what_runs_is_found(browser: Browser, name: str) -> None:
    view = browser.show(f"<!doctype html><body>{ACTING[name]}</body>")
    assert set(view.executed) in ({"x"}, {"dialog: x"})


def test_what_runs_in_a_file_of_its_own_is_found(browser: Browser) -> None:
    file = '<svg xmlns="http://www.w3.org/2000/svg"><script>executed("x")</script></svg>'
    assert browser.show(file, "image/svg+xml").executed == ("x",)


@pytest.mark.parametrize("name", LOADING)
def test_what_is_loaded_is_found(browser: Browser, name: str) -> None:
    view = browser.show(f"<!doctype html><body>{LOADING[name].format(browser.address)}</body>")
    assert len(view.loaded) >= 1


def test_a_harmless_page_is_calm(browser: Browser) -> None:
    page = "<!doctype html><title>a</title><p>executed('x')<a href='https://example.com/'>b</a><img src='data:,'>"
    view = browser.show(page)
    assert (view.is_calm, view.title) == (True, "a")
    assert view.elements >= 6

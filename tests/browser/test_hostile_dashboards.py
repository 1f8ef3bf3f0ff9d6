"""Dashboards whose every text is hostile: as pages of HTML, as SVG in a page, and as a file of its own."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest
from tests.browser.conftest import Calm
from tests.support.browser import Browser
from tests.support.hostile_pages import MARKDOWN, STYLES, TEXTS, aimed
from tests.support.hostile_world import charts, dashboard, dataset, stored

from analytics_core import AnalyticsCore
from analytics_core._pictures.pages.safe_css import safe_css
from analytics_core.errors import PayloadSchemaError

POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_that_a_text_says_is_done(
    core: AnalyticsCore, browser: Browser, is_calm: Calm, tmp_path: Path, name: str
) -> None:
    text = aimed(TEXTS[name], browser.address)
    made = dashboard(core, text=text, chart_ids=charts(core, dataset(core, tmp_path, text), text))
    filters = {stored(text): [stored(text), "EU"]}
    page = core.dashboards.page(made)
    assert page.count("<svg ") == 7
    is_calm(page)
    is_calm(POLICY.sub("", core.dashboards.page(made, filters=filters, theme="dark")))
    svg = core.dashboards.picture(made, format="svg").data
    is_calm(svg, "image/svg+xml")
    is_calm(f"<!doctype html><body>{svg.decode()}</body>")


@pytest.mark.parametrize("name", MARKDOWN)
def test_nothing_that_markdown_says_is_done(core: AnalyticsCore, browser: Browser, is_calm: Calm, name: str) -> None:
    made = dashboard(core, text="a", markdown=aimed(MARKDOWN[name], browser.address))
    is_calm(POLICY.sub("", core.dashboards.page(made)))
    is_calm(core.dashboards.picture(made, format="svg").data, "image/svg+xml")


@pytest.mark.parametrize("name", STYLES)
def test_nothing_that_a_style_sheet_says_is_loaded(
    core: AnalyticsCore, browser: Browser, is_calm: Calm, name: str
) -> None:
    css = aimed(STYLES[name], browser.address)
    is_calm(f"<!doctype html><style>{safe_css(css)}</style><h1>a</h1><p><a href='https://example.com'>b</a></p>")
    with suppress(PayloadSchemaError):  # what ends the style sheet is no CSS, and is not stored
        made = dashboard(core, text="a", markdown="[a](https://example.com)", css=css)
        is_calm(POLICY.sub("", core.dashboards.page(made)))


def test_a_style_sheet_that_is_calm_counts(core: AnalyticsCore, browser: Browser) -> None:
    browser.show(core.dashboards.page(dashboard(core, text="a", css=".dashboard-title{color:rgb(1,2,3)}")))
    color = browser.evaluate("getComputedStyle(document.querySelector('.dashboard-title')).color")
    assert color == "rgb(1, 2, 3)"

"""Tables of Markdown: tables on HTML pages, in which nothing acts, and lines of columns in pictures."""

from __future__ import annotations

import pytest

from analytics_core._content.field_formatter import MarkdownToHtml
from analytics_core._pictures.data import Theme
from analytics_core._pictures.pages.dashboard_page import DashboardPage
from analytics_core._pictures.pages.markdown_lines import markdown_lines
from analytics_core._pictures.pages.page_layout import BoxKind, PageBox, PageLayout

TABLE = "| city | amount |\n|:-----|-------:|\n| Bonn | **12** |\n"
HOSTILE = (
    "| a<script>alert(1)</script> | b |\n|:-:|---|\n| <img src=x onerror=alert(1)> | <b onclick=alert(1)>x</b> |\n"
    "| [go](javascript:alert(1)) | ![map](http://x.example/a.png) |\n| <td style='x' onload=y> | `a\\|b` |\n"
)
WIDE = "|".join("a" * 200) + "\n" + "|".join("-" * 200) + "\n" + "a\n" * 120


def page(text: str) -> str:
    """Return a dashboard of one Markdown text as a page."""
    box = PageBox(kind=BoxKind.MARKDOWN, x=0, y=0, width=400, height=200, text=text)
    layout = PageLayout(title="", boxes=(box,), width=400, height=200)
    document = DashboardPage(title="Shop", facts="", pages=[layout], charts={}, theme=Theme.LIGHT)
    markdown = MarkdownToHtml(loads_images=False)
    return document.html(lambda words: markdown(words) or "")


def test_a_table_is_a_table_on_a_page_aligned_as_it_says() -> None:
    html = "".join(page(TABLE).split())
    assert '<tableclass="' not in html
    assert '<thead><tr><thalign="left">city</th><thalign="right">amount</th></tr></thead>' in html
    assert '<tdalign="left">Bonn</td><tdalign="right"><strong>12</strong></td>' in html
    assert "|---" not in html


def test_nothing_in_a_table_acts_or_loads() -> None:
    html = page(HOSTILE).split("<main")[1]
    assert html.count("<table") == html.count("</table>") == 1
    for word in ("<script", "onerror", "onclick", "onload", "x.example", "<img", 'href="javascript', "style='x'"):
        assert word not in html
    assert "map" in html
    assert "<code>a|b</code>" in html


def test_a_picture_has_the_rows_of_the_table_as_lines() -> None:
    assert [line.text for line in markdown_lines(TABLE, 400)] == ["city │ amount", "─" * 13, "Bonn │ 12"]


@pytest.mark.parametrize("loads_images", [False, True])
def test_a_table_of_too_many_cells_is_shown_as_it_was_written(loads_images: bool) -> None:
    write = MarkdownToHtml(loads_images=loads_images)
    assert "<table" not in (write(WIDE) or "")
    assert "<table" in (write(TABLE) or "")
    assert "│" not in "".join(line.text for line in markdown_lines(WIDE, 400))

"""Where the parts of a dashboard stand."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.cases import for_each

from analytics_core._pictures.pages.page_layout import BoxKind, PageLayout, page_layouts, tabs_around

WIDTH = 1_184  # twelve columns of 84 pixels, and eleven gutters of 16


def node(kind: str, *children: str, **meta: Any) -> dict[str, Any]:
    return {"type": kind, "children": list(children), "meta": meta}


def laid_out(nodes: dict[str, Any], charts: tuple[int, ...] = (1, 2, 3), **options: Any) -> tuple[PageLayout, ...]:
    chosen = {"width_px": WIDTH, "visible_tabs": None, "markdown_px": lambda text, width: float(len(text))}
    return page_layouts({"DASHBOARD_VERSION_KEY": "v2", **nodes}, charts, **{**chosen, **options})


def places(page: PageLayout) -> list[tuple[str, float, float, float, float]]:
    return [(box.kind.value, box.x, box.y, box.width, box.height) for box in page.boxes]


def grid(*children: str) -> dict[str, Any]:
    return {"ROOT_ID": node("ROOT", "GRID_ID"), "GRID_ID": node("GRID", *children)}


def test_rows_stand_below_each_other_and_charts_beside_each_other_on_twelve_columns() -> None:
    (page,) = laid_out(
        {
            **grid("R1", "R2"),
            "R1": node("ROW", "A", "B"),
            "R2": node("ROW", "C"),
            "A": node("CHART", chartId=1, width=4, height=50),
            "B": node("CHART", chartId=2, width=8, height=25),
            "C": node("CHART", chartId=3, width=12, height=10),
        }
    )
    assert places(page) == [
        ("chart", 0, 0, 384, 400),
        ("chart", 400, 0, 784, 200),
        ("chart", 0, 416, 1184, 80),
    ]
    assert (page.title, page.width, page.height) == ("", 1184, 496)


def test_a_column_stacks_its_parts_and_a_row_that_is_too_wide_is_narrowed() -> None:
    (page,) = laid_out(
        {
            **grid("R1"),
            "R1": node("ROW", "COL", "C"),
            "COL": node("COLUMN", "A", "INNER", width=6),
            "INNER": node("ROW", "B"),
            "A": node("CHART", chartId=1, width=6, height=10),
            "B": node("CHART", chartId=2, width=3, height=10),
            "C": node("CHART", chartId=3, width=18, height=10),
        }
    )
    (_, x, y, width, _), second, third = places(page)
    assert (x, y, second[1], second[2]) == (0, 0, 0, 96)
    assert second[3] == pytest.approx((width - 16) / 2)
    assert third[1] + third[3] == pytest.approx(WIDTH)


def test_texts_headers_and_dividers_have_heights_of_their_own() -> None:
    (page,) = laid_out(
        {
            **grid("H", "D", "M"),
            "H": node("HEADER", text="Sales", headerSize="LARGE_HEADER"),
            "D": node("DIVIDER"),
            "M": node("MARKDOWN", code="x" * 300, width=12, height=10),
        },
        charts=(),
    )
    assert places(page) == [
        ("header", 0, 0, 1184, 44),
        ("divider", 0, 60, 1184, 16),
        ("markdown", 0, 92, 1184, 300),
    ]


TABS = {
    **grid("T"),
    "T": node("TABS", "T1", "T2"),
    "T1": node("TAB", "A", text="One"),
    "T2": node("TAB", "U", text="Two"),
    "U": node("TABS", "U1", "U2"),
    "U1": node("TAB", "B", text="Inner"),
    "U2": node("TAB", "C"),
    "A": node("CHART", chartId=1, width=4, height=50),
    "B": node("CHART", chartId=2, width=4, height=50),
    "C": node("CHART", chartId=3, width=4, height=50),
}


def test_markdown_beyond_what_all_texts_of_a_dashboard_may_have_is_cut_with_a_note() -> None:
    texts = ["a" * 15_000, "b" * 30_000, "c" * 10_000, "d" * 15_000, "e" * 2_000, "f", ""]
    names = [f"M{place}" for place in range(len(texts))]
    boxes = {name: node("MARKDOWN", code=text) for name, text in zip(names, texts, strict=True)}
    read = list[str]()
    (page,) = laid_out(
        {**grid(*names), **boxes}, charts=(), markdown_px=lambda text, width: float(len(read.append(text) or text))
    )
    rendered = [box.text for box in page.boxes]
    assert rendered == read
    notes = ["left out" in text for text in rendered]
    assert notes == [False, True, False, True, True, True, False]
    assert rendered[0] == texts[0]
    assert rendered[2] == texts[2]
    assert [len(text) <= 20_000 for text in rendered] == [True] * 7
    assert sum(len(text) for text in rendered if not text.startswith("\n")) <= 50_200
    assert rendered[3].startswith("d")
    assert rendered[4] == rendered[5]


def test_tabs_at_the_top_are_pages_and_inner_ones_stand_below_their_titles() -> None:
    first, second = laid_out(TABS)
    assert ([box.chart_id for box in first.boxes], first.title) == ([1], "One")
    assert [(box.kind.value, box.text or box.chart_id) for box in second.boxes] == [
        ("section", "Inner"),
        ("chart", 2),
        ("section", "U2"),
        ("chart", 3),
    ]
    title, chart = second.boxes[:2]
    assert (title.height, chart.y - title.y) == (32, 32 + 12)


@pytest.mark.parametrize(
    ("wanted", "visible", "charts"),
    [({"T1"}, {"T1"}, [[1]]), ({"U2"}, {"T2", "U2"}, [[3]]), ({"T2"}, {"T2", "U1", "U2"}, [[2, 3]])],
    ids=["one tab", "an inner tab", "a tab with inner ones"],
)
def test_tabs_are_shown_with_those_around_and_inside_them(
    wanted: set[str], visible: set[str], charts: list[list[int]]
) -> None:
    assert tabs_around(TABS, wanted) == visible
    inside = tuple(chart for page in charts for chart in page)
    found = laid_out(TABS, inside, visible_tabs=visible)
    assert [[box.chart_id for box in page.boxes if box.kind is BoxKind.CHART] for page in found] == charts


def test_charts_without_a_place_come_last_two_in_a_row() -> None:
    (page,) = laid_out({}, (1, 2, 3))
    assert [(box.chart_id, box.x, box.y) for box in page.boxes] == [(1, 0, 0), (2, 600, 0), (3, 0, 416)]
    _, last = laid_out(TABS, (1, 2, 3, 4))
    assert [box.chart_id for box in last.boxes][-1] == 4
    assert last.boxes[-1].y == max(box.y + box.height for box in last.boxes[:-1]) + 16


@for_each(
    "nodes",
    [
        {"ROOT_ID": node("ROOT", "A"), "A": node("ROW", "B"), "B": node("COLUMN", "A", width=6)},
        {"ROOT_ID": node("ROOT", "ROOT_ID")},
        {"ROOT_ID": {"type": "ROOT", "children": "GRID_ID"}, "GRID_ID": 7},
        {"ROOT_ID": node("ROOT", *["R"] * 9), "R": node("ROW", "missing", "A"), "A": {"type": "CHART", "meta": []}},
        {"ROOT_ID": node("ROOT", "A"), "A": node("CHART", chartId=1, width=float("nan"), height=-5)},
        {"ROOT_ID": node("ROOT", "N0"), **{f"N{i}": node("COLUMN", f"N{i + 1}") for i in range(3_000)}},
    ],
    ids=["cycle", "root in itself", "no lists", "named again", "no numbers", "deep"],
)
def test_a_layout_that_makes_no_sense_shows_its_charts_all_the_same(nodes: dict[str, Any]) -> None:
    pages = laid_out(nodes, (1,))
    assert [box.chart_id for page in pages for box in page.boxes if box.kind is BoxKind.CHART] == [1]


def test_a_tab_that_is_named_again_and_sections_beyond_the_most_boxes_are_left_out() -> None:
    again = {
        **grid("TABS"),
        "GRID_ID": node("GRID", "X", "TABS"),
        "X": node("HEADER", text="x"),
        "TABS": node("TABS", *["T"] * 20_000),
        "T": node("TAB", text="t" * 20_000),
    }
    (page,) = laid_out(again, ())
    (section,) = [box for box in page.boxes if box.kind is BoxKind.SECTION]
    assert len(section.text) == 500
    assert section.text.endswith("…")
    many = {f"T{number}": node("TAB", text="t") for number in range(20_000)}
    (page,) = laid_out({**again, "TABS": node("TABS", *many), **many}, ())
    assert len(page.boxes) <= 2_001


def test_a_row_that_names_a_chart_again_has_it_once_and_headers_are_cut() -> None:
    row = {**grid("R", "H"), "R": node("ROW", *["A"] * 20_000), "A": node("CHART", chartId=1, width=4, height=10)}
    (page,) = laid_out({**row, "H": node("HEADER", text="h" * 20_000)}, (1,))
    chart, header = page.boxes
    assert (chart.width, header.text) == (384, "h" * 499 + "…")


def test_a_tab_at_the_top_that_is_named_again_is_one_page() -> None:
    pages = laid_out(
        {"ROOT_ID": node("ROOT", "TABS"), "TABS": node("TABS", *["T"] * 9), "T": node("TAB", "A", text="One"),
         "A": node("CHART", chartId=1)},
        (1,),
    )  # fmt: skip
    assert [page.title for page in pages] == ["One"]

"""Dashboards whose every text is hostile: as pages of HTML, as SVG in a page, and as a file of its own."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import Calm
from tests.support.browser import Browser
from tests.support.hostile_pages import MARKDOWN, STYLES, TEXTS, aimed

from analytics_core import AnalyticsCore, Settings
from analytics_core._pictures.safe_css import safe_css
from analytics_core.errors import PayloadSchemaError
from analytics_core.renderers import VegaRenderer

POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
TOTAL = {"expressionType": "SIMPLE", "column": {"column_name": "amount"}, "aggregate": "SUM"}


class SharedRenderer(VegaRenderer):
    """A renderer that outlives the cores that it is handed to."""

    def close(self) -> None:
        """Go on."""


@pytest.fixture(scope="module")
def renderer() -> Iterator[VegaRenderer]:
    made = SharedRenderer()
    yield made
    VegaRenderer.close(made)


@pytest.fixture
def core(tmp_path: Path, renderer: VegaRenderer) -> Iterator[AnalyticsCore]:
    settings = Settings(secret_key="a-test-key-that-is-long-enough-9f3a", data_roots=(tmp_path,))
    with AnalyticsCore(settings, metadata_url="sqlite://", renderer=renderer) as host:
        yield host.as_user(host.create_first_administrator("ada").id)


def stored(text: str, longest: int = 200) -> str:
    """Return as much of a text as names of records and columns may have."""
    return "".join(letter for letter in text if letter != "\0" and not "\ud800" <= letter <= "\udfff")[:longest]


def dataset(core: AnalyticsCore, folder: Path, text: str) -> int:
    """Return a dataset with a text in a value, in a column's name and in its label."""
    file, column = folder / "shop.db", stored(text, 60).replace('"', '""')
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f'CREATE TABLE orders (day DATE, region TEXT, amount REAL, "{column}" TEXT)')
        rows = [("2026-01-01", text.encode("utf-8", "replace").decode(), 1, text[:50]), ("2026-01-02", "EU", 2, "b")]
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", [(*row[:3], stored(row[3])) for row in rows])
        connection.commit()
    core.databases.create({"database_name": "shop", "sqlalchemy_uri": f"sqlite:///{file}"})
    made = core.datasets.create({"database": 1, "table_name": "orders"})
    columns = [{"id": one.id, "column_name": one.column_name} for one in core.datasets.get(made.id).columns]
    named = [{**one, "verbose_name": stored(text)} if one["column_name"] == "region" else one for one in columns]
    core.datasets.update(made.id, {"columns": named})
    return made.id


def charts(core: AnalyticsCore, dataset_id: int, text: str) -> list[int]:
    """Return charts of several kinds with a text in their names and in all of their fields that take one."""
    total = {**TOTAL, "label": stored(text, 100)}
    forms: list[dict[str, Any]] = [
        {"viz_type": "table", "query_mode": "raw", "all_columns": ["region", stored(text, 60)], "html": True},
        {"viz_type": "echarts_timeseries_bar", "x_axis": "region", "metrics": [total], "y_axis_title": text[:500]},
        {
            "viz_type": "pie",
            "groupby": ["region"],
            "metric": total,
            "color_scheme": text[:100],
            "number_format": text[:99],
        },
        {"viz_type": "echarts_timeseries_line", "x_axis": "day", "metrics": [total], "groupby": ["region"]},
        {"viz_type": "big_number_total", "metric": total, "subheader": text[:500], "y_axis_format": text[:100]},
        {"viz_type": "table", "groupby": [stored(text, 60), "no column"], "metrics": [total]},
        {"viz_type": stored(text, 100) or "x", "groupby": ["region"], "metrics": [total]},
    ]
    colours = {stored(text): f"url({text[:100]})", "EU": f'red" onmouseover="{text[:50]}'}
    made = []
    for form in forms:
        params = json.dumps(
            {"datasource": f"{dataset_id}__table", "label_colors": colours, "show_legend": True, **form}
        )
        chart = {"slice_name": stored(text), "datasource_id": dataset_id, "datasource_type": "table", "params": params}
        made.append(core.charts.create({**chart, "viz_type": form["viz_type"]}).id)
    return made


def dashboard(
    core: AnalyticsCore, *, text: str, chart_ids: Sequence[int] = (), markdown: str = "", css: str = ""
) -> int:
    """Return a dashboard of two tabs with texts everywhere."""
    cells = [f"CHART-{chart}" for chart in chart_ids]
    places = {
        f"CHART-{chart}": {"type": "CHART", "children": [], "meta": {"chartId": chart, "width": 4, "height": 30}}
        for chart in chart_ids
    }
    nodes: dict[str, Any] = {
        "ROOT_ID": {"type": "ROOT", "children": ["GRID_ID"]},
        "GRID_ID": {"type": "GRID", "children": ["TABS"]},
        "TABS": {"type": "TABS", "children": ["TAB-1", "TAB-2"]},
        "TAB-1": {"type": "TAB", "children": ["HEADER", "MARKDOWN", "ROW"], "meta": {"text": stored(text)}},
        "TAB-2": {"type": "TAB", "children": ["INNER"], "meta": {"text": "Second"}},
        "INNER": {"type": "TABS", "children": ["TAB-3"]},
        "TAB-3": {"type": "TAB", "children": ["DIVIDER"], "meta": {"text": stored(text)}},
        "DIVIDER": {"type": "DIVIDER", "children": []},
        "HEADER": {"type": "HEADER", "meta": {"text": stored(text), "headerSize": stored(text)}},
        "MARKDOWN": {"type": "MARKDOWN", "meta": {"code": stored(f"{text}\n\n{markdown}", 2_000), "width": 12}},
        "ROW": {"type": "ROW", "children": cells},
        **places,
    }
    native = {
        "id": "NATIVE_FILTER-r",
        "name": stored(text),
        "filterType": "filter_select",
        "targets": [{"datasetId": 1, "column": {"name": "region"}}],
        "scope": {"rootPath": ["ROOT_ID"], "excluded": []},
    }
    metadata = json.dumps({"native_filter_configuration": [native] if chart_ids else []})
    payload = {"dashboard_title": stored(text) or "x", "css": css, "position_json": json.dumps(nodes)}
    return core.dashboards.create({**payload, "json_metadata": metadata}).id


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
    shown = browser.evaluate("getComputedStyle(document.querySelector('.dashboard-title')).color")
    assert shown == "rgb(1, 2, 3)"

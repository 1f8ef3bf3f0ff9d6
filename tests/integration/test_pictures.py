"""`core.charts.picture`, `core.dashboards.picture` and `.page`: what is drawn, and for whom."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support import reports
from tests.support.cases import for_each
from tests.support.guests import guest_world
from tests.support.reports import KEY, TOTAL, ReportWorld, form

from analytics_core import AnalyticsCore, Settings
from analytics_core._content.dashboards.pictures import filter_facts
from analytics_core._content.pictures.display import VEGA_LITE_TYPE
from analytics_core._engine.results.dashboard_answer import DashboardChart, FilterState
from analytics_core.errors import (
    AnalyticsError,
    ChartAccessError,
    DashboardAccessError,
    FileWriteError,
    GuestAccessError,
    NotFoundError,
    PictureError,
    QueryError,
    SettingsError,
    UnknownNameError,
)
from analytics_core.testing import FakeRenderer

DAY = {"expressionType": "SQL", "sqlExpression": "day", "label": "day", "columnType": "BASE_AXIS", "timeGrain": "P1D"}
WORD = {"expressionType": "SQL", "sqlExpression": "'word'", "label": "word"}
HOSTILE = "</text><script>alert(1)</script>"

renderer, world = reports.renderer, reports.drawing_world


def question(**query: Any) -> dict[str, Any]:
    return {"datasource": {"id": 1, "type": "table"}, "queries": [{"metrics": [TOTAL], **query}]}


# ------------------------------------------------------------------------------------------------------ what is drawn
@for_each(
    ("query", "begins"),
    [
        ({"columns": [DAY]}, "Line chart of total"),
        ({"columns": [DAY, "region"]}, "Line chart of 2 series (EU, US)"),
        ({"columns": [DAY, "region", WORD]}, "Table of 3 rows"),
        ({"columns": ["region"]}, "Bar chart of total by region"),
        ({"columns": ["region"], "metrics": []}, "Table of 2 rows"),
        ({"columns": []}, "Table of 1 row"),
        ({"columns": ["region"], "filters": [{"col": "region", "op": "==", "val": "x"}]}, "No data"),
        ({"columns": ["region"], "orderby": [["nothing", True]]}, "This chart has no answer"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_the_picture_of_a_bare_query_context_is_chosen_by_its_columns(
    world: ReportWorld, query: dict[str, Any], begins: str
) -> None:
    found = world.admin.charts.picture(question(**query))
    assert found.description.startswith(begins)


def test_more_than_fifty_groups_of_a_bare_query_context_are_a_table(world: ReportWorld) -> None:
    rows = ", ".join(f"({number}, '2026-01-04', 'region {number}', 1)" for number in range(4, 53))
    world.run_sql(f"INSERT INTO orders VALUES {rows};")
    assert world.admin.charts.picture(question(columns=["region"])).description.startswith("Table of 51 rows")
    fewer = question(columns=["region"], filters=[{"col": "region", "op": "!=", "val": "EU"}])
    assert world.admin.charts.picture(fewer).description.startswith("Bar chart of total by region")


def test_form_data_of_a_query_context_say_how_it_is_drawn(world: ReportWorld) -> None:
    request = {**question(columns=["region"]), "form_data": {"viz_type": "table"}}
    assert world.admin.charts.picture(request).description.startswith("Table of 2 rows")


def test_a_stored_chart_is_drawn_by_its_form_with_its_name_and_its_labels(
    world: ReportWorld, renderer: FakeRenderer
) -> None:
    columns = [{"id": one.id, "column_name": one.column_name} for one in world.admin.datasets.get(1).columns]
    columns[2]["verbose_name"] = "Area"
    world.admin.datasets.update(1, {"columns": columns})
    world.admin.charts.update(1, {"params": form(1, row_limit=1), "slice_name": "Sums"})
    found = world.admin.charts.picture(1, format="svg", theme="dark", width_px=500, height_px=300, scale=3)
    (drawn,) = renderer.drawn
    text = json.dumps(drawn.specification)
    assert ("Area" in text, "Sums" in text) == (True, True)
    assert (drawn.format, drawn.scale, found.width_px, found.height_px) == ("svg", 3.0, 500, 300)
    assert drawn.specification == found.specification
    assert (drawn.specification or {})["background"] != "#ffffff"


def test_what_a_renderer_cannot_draw_is_an_error(world: ReportWorld, renderer: FakeRenderer) -> None:
    renderer.fail_next("no ink")
    with pytest.raises(PictureError, match="no ink"):
        world.admin.charts.picture(1)


@for_each(
    ("options", "error", "says"),
    [
        ({"format": "gif"}, UnknownNameError, "format"),
        ({"format": 7}, UnknownNameError, "format"),
        ({"theme": "pink"}, UnknownNameError, "theme"),
        ({"width_px": 10}, QueryError, "width_px"),
        ({"width_px": True}, QueryError, "width_px"),
        ({"height_px": 1e9}, QueryError, "height_px"),
        ({"scale": float("nan")}, QueryError, "scale"),
        ({"scale": 100}, QueryError, "scale"),
        ({"scale": 4, "width_px": 4_000, "height_px": 4_000}, QueryError, r"256,000,000 pixels.* scale 1\.36 or less"),
    ],
    ids=str,
)
def test_a_look_that_cannot_be_is_an_error(
    world: ReportWorld, options: dict[str, Any], error: type[AnalyticsError], says: str
) -> None:
    with pytest.raises(error, match=says):
        world.admin.charts.picture(1, **options)


def test_a_large_layout_is_drawn_at_the_scale_that_the_error_names_and_as_svg_at_any(world: ReportWorld) -> None:
    size: dict[str, Any] = {"width_px": 4_000, "height_px": 4_000}
    assert world.admin.charts.picture(1, scale=1.36, **size).width_px == 4_000
    assert world.admin.charts.picture(1, scale=4, format="svg", **size).width_px == 4_000


def test_a_picture_is_saved_and_shown_in_a_notebook(world: ReportWorld, tmp_path: Path) -> None:
    found = world.admin.charts.picture(1)
    assert found.save(tmp_path / "a.png").read_bytes() == found.data
    svg = world.admin.charts.picture(1, format="svg")
    assert found._repr_mimebundle_()["image/svg+xml"] == svg.data.decode()  # what is smaller to store than the PNG
    assert found.content_type == "image/png"
    assert repr(found).startswith("<Picture, PNG, 640x115, ")  # as tall as its two rows


def test_rows_beyond_a_limit_are_told_but_where_the_first_groups_were_asked_for(world: ReportWorld) -> None:
    world.admin.charts.update(1, {"params": form(1, row_limit=1)})
    assert "there are more" not in world.admin.charts.picture(1).description
    rows = form(1, row_limit=1, query_mode="raw", all_columns=["region"])
    world.admin.charts.update(1, {"params": rows})
    assert "The first 1 row; there are more (row_limit)" in world.admin.charts.picture(1).description


def test_a_table_is_as_tall_as_its_rows_unless_a_height_is_asked_for(world: ReportWorld) -> None:
    found = world.admin.charts.picture(1)
    assert found.specification is not None
    assert found.height_px == found.specification["height"] < 120
    assert world.admin.charts.picture(1, height_px=300).height_px == 300
    bars = {**question(columns=["region"]), "form_data": {"viz_type": "pie", "metric": "total", "groupby": ["region"]}}
    assert world.admin.charts.picture(bars).height_px == 400


def test_a_tall_picture_is_drawn_at_the_scale_that_its_pixels_allow(world: ReportWorld, renderer: FakeRenderer) -> None:
    world.run_sql(
        "INSERT INTO orders VALUES " + ", ".join(f"({n}, '2026-01-04', 'r{n}', 1)" for n in range(4, 60)) + ";"
    )
    found = world.admin.charts.picture(1, width_px=4_000, scale=4)
    scale = renderer.drawn[-1].scale
    assert found.height_px > 1_000
    assert 29e6 < found.width_px * found.height_px * scale**2 < 30.1e6
    boxes = {f"C{n}": {"type": "CHART", "meta": {"chartId": 1, "width": 12, "height": 100 + n}} for n in range(6)}
    nodes = {"ROOT_ID": {"type": "ROOT", "children": [*boxes]}, **boxes}
    made = world.admin.dashboards.create({"dashboard_title": "Tall", "position_json": json.dumps(nodes)}).id
    board = world.admin.dashboards.picture(made, width_px=4_000, scale=4)
    scale = renderer.drawn[-1].scale
    assert scale < 4
    assert 29e6 < board.width_px * board.height_px * scale**2 < 30.1e6


@pytest.mark.parametrize("shows", ["chart", "dashboard"])
def test_a_picture_is_saved_in_the_format_of_the_ending(
    world: ReportWorld, renderer: FakeRenderer, tmp_path: Path, shows: str
) -> None:
    found = world.admin.charts.picture(1) if shows == "chart" else world.admin.dashboards.picture(dashboard(world))
    for ending in ("svg", "PDF"):
        found.save(tmp_path / f"a.{ending}")
        assert renderer.drawn[-1].format == ending.lower()
    count = len(renderer.drawn)
    assert found.save(tmp_path / "a").read_bytes() == found.save(tmp_path / "a.png").read_bytes() == found.data
    assert len(renderer.drawn) == count
    with pytest.raises(UnknownNameError, match=r"'\.jpg'.*\.pdf"):
        found.save(tmp_path / "a.jpg")
    with pytest.raises(FileWriteError, match=r"missing/a\.png' cannot be written: there is no folder"):
        found.save(tmp_path / "missing" / "a.png")
    assert not (tmp_path / "a.jpg").exists()


def test_a_picture_tells_why_there_is_no_answer(world: ReportWorld) -> None:
    failed = world.admin.charts.picture(question(columns=["region"], orderby=[["nothing", True]]))
    assert isinstance(failed.failure, AnalyticsError)
    assert world.admin.charts.picture(1).failure is None


# ---------------------------------------------------------------------------------------------------------- for whom
def reader(world: ReportWorld, name: str, region: str) -> AnalyticsCore:
    """Return the core as somebody who sees the rows of one region."""
    core = world.person(name, world.admin.datasets.get(1))
    rule = {"name": name, "filter_type": "Regular", "clause": f"region = '{region}'", "tables": [1]}
    world.admin.row_level_security.create({**rule, "roles": [core._actor().roles[0].id]})
    return core


def displayed(renderer: FakeRenderer) -> list[set[str]]:
    """Return the regions that stand in each picture that was drawn."""
    texts = [json.dumps(drawn.specification or drawn.pages) for drawn in renderer.drawn]
    return [{region for region in ("EU", "US") if f'"{region}"' in text} for text in texts]


@pytest.mark.slow
def test_everybody_gets_pictures_of_their_own_rows(world: ReportWorld, renderer: FakeRenderer) -> None:
    anna, bert, carl = reader(world, "anna", "EU"), reader(world, "bert", "US"), reader(world, "carl", "EU")
    pictures = [core.charts.picture(1).data for core in (world.admin, anna, bert, carl)]
    assert displayed(renderer) == [{"EU", "US"}, {"EU"}, {"US"}]  # the rows of the last one are those of the second
    assert pictures[1] == pictures[3]
    rule = world.admin.row_level_security.list(order_by="id").result[-1]
    world.admin.row_level_security.update(rule.id, {"clause": "region = 'US'"})
    carl.charts.picture(1)
    assert len(renderer.drawn) == 3  # and now those of the third
    with pytest.raises(ChartAccessError):
        world.person("dora").charts.picture(1)


@pytest.mark.slow
def test_guests_get_pictures_of_the_rows_and_dashboards_of_their_token(tmp_path: Path, renderer: FakeRenderer) -> None:
    with guest_world(f"sqlite:///{tmp_path / 'shop.db'}", renderer=renderer) as world:
        acme, globex = world.guest("acme"), world.guest("globex")
        assert acme.charts.picture(1).data != globex.charts.picture(1).data
        page, picture = acme.dashboards.page(1), acme.dashboards.picture(1, filters={"NATIVE_FILTER-city": ["Kiel"]})
        assert (page.count("<svg "), picture.format) == (2, "png")
        texts = [json.dumps(drawn.specification) for drawn in renderer.drawn if drawn.specification]
        assert ["Bonn" in texts[0], "Oslo" in texts[0], "Bonn" in texts[1], "Oslo" in texts[1]] == [
            True,
            False,
            False,
            True,
        ]
        assert not any("Oslo" in text for text in texts[2:])
        with pytest.raises(ChartAccessError):
            acme.charts.picture(3)
        with pytest.raises(DashboardAccessError):
            acme.dashboards.page(2)
        for options in ({"force": True}, {"permalink": "abc"}, {"filters": {"Nothing": 1}}):
            with pytest.raises(GuestAccessError):
                acme.dashboards.picture(1, **options)


# -------------------------------------------------------------------------------------------------------- dashboards
def dashboard(world: ReportWorld, *, css: str = "") -> int:
    """Return a dashboard of two tabs with texts and a chart each."""
    second = {"slice_name": HOSTILE, "viz_type": "table", "datasource_id": 1, "datasource_type": "table"}
    chart = world.admin.charts.create({**second, "params": form(1, groupby=[])}).id
    nodes: dict[str, Any] = {
        "ROOT_ID": {"type": "ROOT", "children": ["GRID_ID"]},
        "GRID_ID": {"type": "GRID", "children": ["TABS"]},
        "TABS": {"type": "TABS", "children": ["TAB-1", "TAB-2"]},
        "TAB-1": {"type": "TAB", "children": ["HEADER", "CHART-1"], "meta": {"text": "Regions"}},
        "TAB-2": {"type": "TAB", "children": ["MARKDOWN", "CHART-2"], "meta": {"text": HOSTILE}},
        "HEADER": {"type": "HEADER", "meta": {"text": HOSTILE}},
        "MARKDOWN": {
            "type": "MARKDOWN",
            "meta": {"code": f"*Hello* ![a map](http://x.example/b.png) {HOSTILE}", "width": 12, "height": 10},
        },
        "CHART-1": {"type": "CHART", "meta": {"chartId": 1, "width": 6, "height": 30}},
        "CHART-2": {"type": "CHART", "meta": {"chartId": chart, "width": 12, "height": 30}},
    }
    native = {
        "id": "NATIVE_FILTER-r",
        "name": "Region",
        "filterType": "filter_select",
        "targets": [{"datasetId": 1, "column": {"name": "region"}}],
        "scope": {"rootPath": ["ROOT_ID"], "excluded": []},
    }
    payload = {"dashboard_title": HOSTILE, "css": css, "position_json": json.dumps(nodes), "published": True}
    metadata = json.dumps({"native_filter_configuration": [native]})
    return world.admin.dashboards.create({**payload, "json_metadata": metadata}).id


def test_a_dashboard_is_drawn_as_one_picture_or_a_page_for_each_tab(world: ReportWorld, renderer: FakeRenderer) -> None:
    made = dashboard(world)
    png = world.admin.dashboards.picture(made, width_px=900)
    assert [len(drawn.pages) for drawn in renderer.drawn if drawn.pages] == [1]
    assert (png.format, png.width_px, png.specification) == ("png", 900, None)
    pdf = world.admin.dashboards.picture(made, format="pdf")
    assert [len(drawn.pages) for drawn in renderer.drawn if drawn.pages] == [1, 2]
    assert "dashboard of 2 charts" in pdf.description
    world.admin.dashboards.picture(made, format="pdf", tabs=["Regions"])
    assert len(renderer.drawn[-1].pages) == 1
    before = len(renderer.drawn)
    world.admin.dashboards.picture(made, format="pdf", tabs=["Regions"])
    assert len(renderer.drawn) == before
    texts = "".join(page for drawn in renderer.drawn for page in drawn.pages)
    assert "<script" not in texts
    assert "&lt;/text&gt;&lt;script&gt;alert(1)" in texts


def test_a_dashboard_of_hundreds_of_sizes_of_its_charts_is_an_error_before_any_is_drawn(
    world: ReportWorld, renderer: FakeRenderer
) -> None:
    made = dashboard(world)
    boxes: dict[str, Any] = {
        f"C{place}": {"type": "CHART", "meta": {"chartId": 1, "width": 6, "height": place + 10}} for place in range(301)
    }
    nodes = {**boxes, "ROOT_ID": {"type": "ROOT", "children": ["GRID"]}, "GRID": {"type": "GRID", "children": [*boxes]}}
    world.admin.dashboards.update(made, {"position_json": json.dumps(nodes)})
    for draw in (world.admin.dashboards.picture, world.admin.dashboards.page):
        with pytest.raises(PictureError, match=r"30[12] charts and sizes of charts.* 300; ask for some of its tabs"):
            draw(made)
    assert not renderer.drawn


def test_the_filters_of_a_dashboard_count_and_are_told(world: ReportWorld, renderer: FakeRenderer) -> None:
    world.admin.dashboards.picture(dashboard(world), filters={"Region": ["EU"]})
    assert displayed(renderer)[0] == {"EU"}
    assert ">Region: EU</text>" in renderer.drawn[-1].pages[0]


def test_the_head_of_a_board_tells_ranges_and_the_tabs_that_a_filter_acts_on() -> None:
    charts = [DashboardChart(chart_id=place, name="a", tabs=(tab,)) for place, tab in ((1, "Sums"), (2, "Rows"))]
    price = FilterState(
        filter_id="p", name="Price", kind="filter_range", value=[50, 100], set_by="caller", chart_ids=(2,)
    )
    assert filter_facts([price], charts) == "Price: 50 – 100 (tab Rows)"
    open_one = replace(price, value=[None, 100], chart_ids=(1, 2))
    assert filter_facts([open_one], charts) == "Price: at most 100"


def test_emoji_are_told_by_their_names_in_pictures(world: ReportWorld, renderer: FakeRenderer) -> None:
    made = dashboard(world)
    world.admin.dashboards.update(made, {"dashboard_title": "Go \U0001f680"})
    world.admin.dashboards.picture(made)
    assert "Go :rocket:" in renderer.drawn[-1].pages[0]


def test_a_page_of_a_dashboard_holds_its_charts_and_nothing_that_acts(
    world: ReportWorld, renderer: FakeRenderer
) -> None:
    made = dashboard(world, css=".dashboard-title{color:red;background:url(http://x.example/a.png)}")
    page = world.admin.dashboards.page(made, theme="dark")
    assert page.count("<svg ") == 2
    assert ".dashboard-title{color:red;}" in page
    assert "<em>Hello</em> a map" in page
    for word in ("<script", "x.example", "onerror"):
        assert word not in page
    assert "Content-Security-Policy\" content=\"default-src 'none'" in page
    assert page.count("<h2") == 2
    assert {(drawn.specification or {})["background"] for drawn in renderer.drawn} == {"#1b1f24"}
    assert 'class="dashboard dark"' in page


def test_a_chart_that_fails_is_a_box_that_says_so(world: ReportWorld, renderer: FakeRenderer) -> None:
    made = dashboard(world)
    world.run_sql("ALTER TABLE orders RENAME TO gone;")
    world.admin.dashboards.picture(made)
    texts = [json.dumps(drawn.specification) for drawn in renderer.drawn if drawn.specification]
    assert len(texts) == 2
    assert all("This chart has no answer" in text for text in texts)


def test_a_chart_that_is_not_for_the_reader_is_a_box_without_its_name(
    world: ReportWorld, renderer: FakeRenderer
) -> None:
    world.admin.datasets.create({"database": 1, "table_name": "other", "sql": "SELECT 77 AS amount, 'EU' AS region"})
    hidden = {"slice_name": "Hidden", "viz_type": "table", "datasource_id": 2, "datasource_type": "table"}
    chart = world.admin.charts.create({**hidden, "params": form(2)}).id
    nodes = {name: {"type": "CHART", "meta": {"chartId": key}} for name, key in (("A", 1), ("B", chart))}
    layout = json.dumps({"ROOT_ID": {"type": "ROOT", "children": ["A", "B"]}, **nodes})
    anna = reader(world, "anna", "EU")
    roles = [role.id for role in anna._actor().roles]
    payload = {"dashboard_title": "Shop", "position_json": layout, "published": True, "roles": roles}
    made = world.admin.dashboards.create(payload).id
    anna.dashboards.picture(made)
    first, second = (json.dumps(drawn.specification) for drawn in renderer.drawn if drawn.specification)
    assert ("By region" in first, "This chart has no answer" in second) == (True, True)
    assert "Hidden" not in first + second
    assert "77" not in second


def test_a_chart_that_cannot_be_drawn_is_a_box_that_says_so(world: ReportWorld, renderer: FakeRenderer) -> None:
    renderer.fail_next("no ink")
    page = world.admin.dashboards.page(dashboard(world))
    assert any("no ink" in json.dumps(drawn.specification) for drawn in renderer.drawn)
    assert page.count("<svg ") == 2


@for_each(
    ("options", "error"),
    [
        ({"tabs": ["Nowhere"]}, UnknownNameError),
        ({"filters": {"Nothing": 1}}, UnknownNameError),
        ({"width_px": 100}, QueryError),
        ({"widht_px": 900}, UnknownNameError),
        ({"permalink": "none"}, NotFoundError),
    ],
    ids=str,
)
def test_what_a_dashboard_has_not_is_an_error(
    world: ReportWorld, options: dict[str, Any], error: type[AnalyticsError]
) -> None:
    made = dashboard(world)
    with pytest.raises(error):
        world.admin.dashboards.picture(made, **options)
    with pytest.raises(error):
        world.admin.dashboards.page(made, **options)


@pytest.mark.slow
def test_a_core_without_a_renderer_says_which_extra_brings_one() -> None:
    script = f"""
import sys; sys.modules['vl_convert'] = None
from analytics_core import AnalyticsCore, Settings, errors
from analytics_core.renderers import VegaRenderer
core = AnalyticsCore(Settings(secret_key={KEY!r}))
core = core.as_user(core.create_first_administrator("ada").id)
core.databases.create({{"database_name": "main", "sqlalchemy_uri": "sqlite://"}})
report = {{"name": "r", "type": "Report", "crontab": "@daily", "chart": 1,
          "recipients": [{{"type": "Email", "recipient_config_json": {{"target": "a@b.example"}}}}]}}
for ask in (lambda: core.charts.picture(1), lambda: core.dashboards.picture(1), lambda: core.dashboards.page(1),
            VegaRenderer, lambda: core.reports.create({{**report, "report_format": "PNG"}}),
            lambda: core.reports.create({{**report, "extra": {{"format": "PDF"}}}})):
    try:
        ask()
    except errors.AnalyticsError as error:
        print('pip install "analytics-core[charts]"' in error.message)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["True"] * 6, "")


def test_a_renderer_that_is_none_is_told_when_the_core_is_made() -> None:
    with pytest.raises(SettingsError, match="renderer: a Renderer has"):
        AnalyticsCore(Settings(secret_key=KEY), renderer=object())  # type: ignore[arg-type]


def test_the_answer_of_a_job_is_drawn_as_one_that_was_waited_for(world: ReportWorld) -> None:
    for request in (1, {**question(columns=["region"]), "form_data": {"viz_type": "pie", "groupby": ["region"]}}):
        answers = (world.admin.charts.data(request), world.admin.charts.submit(request).result(timeout_s=30))
        drawn = [answer._repr_mimebundle_()[VEGA_LITE_TYPE] for answer in answers]
        assert drawn[0] == drawn[1]

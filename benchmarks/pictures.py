"""What a picture takes beside vl-convert on the same specification, and a page beside the pictures of its charts."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from analytics_core import AnalyticsCore, Settings
from analytics_core.renderers import VegaRenderer
from analytics_core.testing.sample_data import make_shop
from benchmarks.report import Ratio
from benchmarks.timing import paired_ratio

MOST_OF_A_PICTURE = 1.3
MOST_OF_A_PAGE = 1.5
CHARTS = 12
PAGE_PX = 1_200
BOX_PX = (357, 384)
"""What a box of four columns and 50 units leaves for its chart."""

REVENUE = {
    "expressionType": "SIMPLE",
    "aggregate": "SUM",
    "column": {"column_name": "amount"},
    "label": "revenue",
}
KINDS: Mapping[str, Mapping[str, Any]] = {
    "echarts_timeseries_line": {
        "x_axis": "order_date",
        "time_grain_sqla": "P1W",
        "metrics": [REVENUE],
        "groupby": ["category"],
    },
    "echarts_timeseries_bar": {"x_axis": "category", "metrics": [REVENUE], "groupby": ["country"]},
    "pie": {"groupby": ["country"], "metric": REVENUE},
    "big_number": {"x_axis": "order_date", "time_grain_sqla": "P1M", "metric": REVENUE},
    "table": {"query_mode": "aggregate", "groupby": ["country", "category"], "metrics": [REVENUE], "row_limit": 20},
    "heatmap_v2": {"x_axis": "category", "groupby": "country", "metric": REVENUE},
}


class DrawingAnew(VegaRenderer):
    """The renderer as it is shipped, whose pictures are never those that were kept."""

    _numbers = itertools.count()

    @property
    def fingerprint(self) -> str:
        """Another one each time."""
        return str(next(self._numbers))


def compare() -> Iterator[Ratio]:
    """Draw the sample shop on SQLite, measure; no picture that was kept is shown."""
    settings = Settings(secret_key="a-key-of-the-benchmark-0123456789")
    with tempfile.TemporaryDirectory() as folder:
        url, file = make_shop(Path(folder) / "shop.db"), Path(folder) / "shop.db"
        with AnalyticsCore(settings, metadata_url="sqlite://", renderer=DrawingAnew(), allowed_files=[file]) as host:
            core = host.as_user(host.create_first_administrator("admin").id)
            core.databases.create({"database_name": "shop", "orm_uri": url})
            dataset = core.datasets.create({"database": 1, "table_name": "orders"}).id
            charts = {kind: _chart(core, dataset, kind) for kind in KINDS}
            for kind, chart in charts.items():
                for made_as in ("svg", "png"):
                    yield _beside_vl_convert(core, chart, kind, made_as)
            yield _page_beside_its_charts(core, _dashboard(core, dataset))


def _beside_vl_convert(core: AnalyticsCore, chart: int, kind: str, format: str) -> Ratio:
    import vl_convert

    spec = json.dumps(core.charts.picture(chart, format=format).specification)
    convert = vl_convert.vegalite_to_svg if format == "svg" else vl_convert.vegalite_to_png

    def drawn() -> Any:
        return core.charts.picture(chart, format=format)

    return Ratio(
        name=f"picture of a {kind} as {format.upper()}, its answer kept: over vl-convert",
        value=paired_ratio(lambda: drawn, lambda: convert(spec, vl_version="5.21", allowed_base_urls=[]), rounds=15),
        goal=MOST_OF_A_PICTURE,
    )


def _page_beside_its_charts(core: AnalyticsCore, made: tuple[int, list[int]]) -> Ratio:
    dashboard, charts = made
    width, height = BOX_PX

    def one_by_one() -> Any:
        look: Any = {"format": "svg", "width_px": width, "height_px": height}
        return [core.charts.picture(chart, force=True, **look) for chart in charts]

    return Ratio(
        name=f"page of a dashboard of {CHARTS} charts: over its charts' pictures",
        value=paired_ratio(
            lambda: lambda: core.dashboards.page(dashboard, force=True, width_px=PAGE_PX), one_by_one, rounds=5
        ),
        goal=MOST_OF_A_PAGE,
    )


def _chart(core: AnalyticsCore, dataset: int, kind: str, number: int = 0) -> int:
    """Return a chart whose question is another one for each number: a dashboard asks equal ones once."""
    form: dict[str, Any] = {"viz_type": kind, "datasource": f"{dataset}__table", "row_limit": 1_000, **KINDS[kind]}
    form["row_limit"] += number
    chart = {"slice_name": f"Revenue, {kind}", "viz_type": kind, "datasource_id": dataset, "datasource_type": "table"}
    return core.charts.create({**chart, "params": json.dumps(form)}).id


def _dashboard(core: AnalyticsCore, dataset: int) -> tuple[int, list[int]]:
    """Return a dashboard of four rows of three charts, and the charts."""
    charts = [_chart(core, dataset, kind, number) for number, kind in zip(range(CHARTS), itertools.cycle(KINDS))]
    places = {f"CHART-{key}": {"type": "CHART", "meta": {"chartId": key, "width": 4, "height": 50}} for key in charts}
    rows = {
        f"ROW-{row}": {"type": "ROW", "children": [f"CHART-{key}" for key in charts[row : row + 3]]}
        for row in range(0, CHARTS, 3)
    }
    layout = {"ROOT_ID": {"type": "ROOT", "children": list(rows)}, **rows, **places}
    made = core.dashboards.create({"dashboard_title": "Sales", "position_json": json.dumps(layout)})
    return made.id, charts

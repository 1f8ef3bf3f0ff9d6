"""Charts of every kind whose every text is hostile: as files, in a page, and drawn by Vega in the browser itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.browser.conftest import Calm
from tests.support.browser import Browser
from tests.support.hostile_pages import TEXTS, aimed

from analytics_core._pictures.data import PictureData
from analytics_core._pictures.specification import KINDS, VEGA_LITE_VERSION, chart_specification
from analytics_core.renderers import PictureFormat, VegaRenderer

HALF = "half a character"
PER_CHART = 6
TEXT_FIELDS = (
    *(
        "x_axis_title",
        "y_axis_title",
        "x_axis_label",
        "y_axis_label",
        "subheader",
        "subtitle",
        "color_scheme",
        "currency",
    ),
    *("linear_color_scheme", "y_axis_format", "number_format", "d3NumberFormat", "date_format", "x_axis_time_format"),
    *("time_format", "table_timestamp_format", "metric_label", "label_type", "legendOrientation", "layout", "symbol"),
    *("seriesType", "markup_type", "code", "handlebarsTemplate", "styleTemplate", "compare_suffix", "defaultText"),
    *("mapbox_style", "mapbox_label", "tooltip_template", "secondary_metric_label", "root_node_id", "url", "icon"),
)


def hostile_data(texts: list[str]) -> PictureData:
    """Return rows whose texts, names and labels are hostile."""
    names = {role: f"{role} {texts[place % len(texts)]}" for place, role in enumerate(("day", "a", "b", "x", "y", "z"))}
    rows = range(len(texts))
    columns: dict[str, list[Any]] = {
        names["day"]: [datetime(2026, 1, 1) + timedelta(days=row) for row in rows],
        names["a"]: texts,
        names["b"]: texts[1:] + texts[:1],
        names["x"]: [row + 1 for row in rows],
        names["y"]: [10.5 * row + 3 for row in rows],
        names["z"]: [row % 3 + 1 for row in rows],
    }
    records = [{"start_dttm": 1_767_225_600_000, "end_dttm": 1_767_398_400_000, "short_descr": text} for text in texts]
    layer = {"annotation_type": "EVENT", "records": records, "columns": [], "source_type": "NATIVE"}
    return PictureData(
        columns=columns,
        labels=dict.fromkeys(columns, f"label {texts[0]}"),
        temporal=frozenset({names["day"]}),
        notes=(texts[0],),
        annotations={texts[0]: layer},
    )


def hostile_form(kind: str, data: PictureData, texts: list[str]) -> dict[str, Any]:
    """Return a form that draws these rows as a kind, with hostile texts wherever one may stand."""
    day, first, second, x, y, z = data.columns
    form: dict[str, Any] = {
        **dict.fromkeys(("x_axis", "granularity_sqla"), day),
        **{key: [first, second] for key in ("groupby", "columns", "groupbyRows", "all_columns")},
        **{key: [x, y] for key in ("metrics", "percent_metrics")},
        **dict.fromkeys(("metric", "secondary_metric", "size", "y"), y),
        **dict.fromkeys(("entity", "source", "id", "name", "series", "start_time"), first),
        **dict.fromkeys(("target", "parent", "end_time"), second),
        "x": x,
        "x_axis_b": z,
        "groupbyColumns": [],
        "column": x,
        "show_legend": True,
        "show_labels": True,
        "subcategories": [second],
        "y_axis": second,
        "showLabel": True,
        "show_value": True,
        "latitude": x,
        "label_colors": {texts[0]: f"url({texts[0]})", texts[-1]: f'red" onload="{texts[0]}'},
        "conditional_formatting": [
            {"column": y, "operator": ">", "targetValue": 1, "colorScheme": f'#fff" onload="{texts[0]}'}
        ],
        "currency_format": {"symbol": texts[0], "symbolPosition": texts[0]},
        "column_config": {
            first: {"customColumnName": texts[0], "d3NumberFormat": texts[0], "horizontalAlign": texts[0]}
        },
        "annotation_layers": [
            {"name": texts[0], "annotationType": "EVENT", "show": True, "color": texts[0], "value": 1},
            {"name": texts[-1], "annotationType": "FORMULA", "show": True, "value": texts[0], "color": texts[0]},
        ],
        "color_picker": {"r": texts[0], "g": 0, "b": 0},
    }
    return {"viz_type": kind, **form}


def specifications(texts: list[str]) -> Iterator[dict[str, Any]]:
    """Yield pictures of some kinds of texts: with the forms that they usually have, and with all fields of text set."""
    data = hostile_data(texts)
    for kind in (*KINDS, texts[0]):
        form = hostile_form(kind, data, texts)
        yield chart_specification(form, [data, data], title=texts[0])
        yield chart_specification({**form, **dict.fromkeys(TEXT_FIELDS, texts[0])}, [data, data], title=texts[0])
    yield chart_specification({"viz_type": "table"}, [PictureData(error=texts[0])], title=texts[0])


GROUPS = [list(TEXTS)[place : place + PER_CHART] for place in range(0, len(TEXTS), PER_CHART)]


@pytest.mark.parametrize("names", GROUPS, ids=lambda names: names[0])
def test_pictures_of_all_kinds_are_calm_as_files_and_in_a_page(
    browser: Browser, is_calm: Calm, renderer: VegaRenderer, names: list[str]
) -> None:
    texts = [aimed(TEXTS[name], browser.address) for name in names]
    drawn = [
        renderer.render(specification, format=PictureFormat.SVG).decode()
        for specification in specifications([text for name, text in zip(names, texts, strict=True) if name != HALF])
    ]
    assert len(drawn) > 2 * len(KINDS)
    is_calm(f"<!doctype html><body>{''.join(drawn)}</body>", payloads=len(drawn))
    inner = "".join(drawn)
    is_calm(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="900" height="600">{inner}</svg>',
        "image/svg+xml",
        payloads=len(drawn),
    )


@pytest.mark.parametrize("names", GROUPS, ids=lambda names: names[0])
def test_specifications_of_all_kinds_are_calm_where_vega_draws_them_in_a_page(
    browser: Browser, is_calm: Calm, names: list[str]
) -> None:
    """The scripts of Vega are in the page; tooltips show what the pointer is over."""
    texts = [aimed(TEXTS[name], browser.address) for name in names if name != HALF]
    made = list(specifications(texts))
    is_calm(page_with_vega(made), payloads=len(made), until="window.ready")
    drawn = browser.evaluate("document.querySelectorAll('svg.marks').length")
    assert (drawn, browser.evaluate("window.failed.join()")) == (len(made), "")
    assert browser.evaluate("document.querySelectorAll('#vg-tooltip-element').length") == 1


def page_with_vega(specifications: list[dict[str, Any]]) -> str:
    """Return a page in which vega-embed draws pictures, as the page of a host would."""
    import vl_convert

    library = vl_convert.javascript_bundle(vl_version=VEGA_LITE_VERSION)
    draw = """
        window.failed = [];
        (async () => {
          for (const one of specifications) {
            const place = document.body.appendChild(document.createElement('div'));
            try { await vegaEmbed(place, one, {renderer: 'svg'}) } catch (error) { failed.push(String(error)) }
          }
          window.ready = true;
        })();
    """
    text = json.dumps(specifications).replace("<", "\\u003c")  # ASCII otherwise
    head = f"<!doctype html><meta charset=utf-8><script>{library}</script>"
    return f"{head}<body><script>const specifications = {text};{draw}</script></body>"

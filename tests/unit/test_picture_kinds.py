"""Every kind of chart as a picture: specifications that compile, say what they show, and stay the same."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import vl_convert
from tests.support.cases import for_each
from tests.support.picture_samples import SAMPLES, sample_of

from analytics_core._pictures.data import PictureData, Size, Theme
from analytics_core._pictures.specification import KINDS, VEGA_LITE_VERSION, chart_specification
from analytics_core._superset.registry import ChartKinds

SMALL = Size(width_px=320, height_px=220)
PROJECT = Path(__file__).parents[2]
HOSTILE = (
    "</text><script>alert(1)</script>",
    "javascript:alert(1)",
    "datum['x'] || alert(1)",
    "a'] + alert(1) + ['",
    "\x00\x1b[31malert(1)\u202e",
    "${alert(1)} {{alert(1)}}",
    "__proto__",
    "alert(1)" + "k" * 10_000,
)


def vega(specification: Mapping[str, Any]) -> dict[str, Any]:
    """Return a specification as it is compiled, from the text that a renderer is sent."""
    text = json.dumps(specification, allow_nan=False)
    compiled: dict[str, Any] = vl_convert.vegalite_to_vega(text, vl_version=VEGA_LITE_VERSION)
    return compiled


def places(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Give each value that is no list and no object, with the name that it stands under."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from places(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from places(inner, name)
    else:
        yield name, value


def rows(specification: Mapping[str, Any]) -> int:
    """Return how many rows all layers but the notes have, which is no less than their marks."""
    if specification.get("name") == "notes":
        return 0
    inner = sum(rows(layer) for layer in specification.get("layer", ()))
    return inner + len(specification.get("data", {}).get("values", ()))


def with_values(data: PictureData, change: Any) -> PictureData:
    """Return an answer whose values are changed."""
    columns = {name: [change(value) for value in values] for name, values in data.columns.items()}
    return replace(data, columns=columns)


# ------------------------------------------------------------------------------------------------------ every kind
@pytest.mark.slow
@for_each("theme", Theme)
@for_each("kind", sorted(KINDS))
def test_a_kind_is_drawn_as_itself_and_says_what_it_shows(kind: str, theme: Theme) -> None:
    form, data = sample_of(kind)
    specification = chart_specification(form, data, title="Shown", size=SMALL, theme=theme)
    assert vega(specification)["marks"]
    assert specification["description"].startswith("Shown. ")
    assert len(specification["description"]) > len("Shown. ")
    assert "ot drawn" not in specification["description"]
    assert specification["background"] == {Theme.LIGHT: "#ffffff", Theme.DARK: "#1b1f24"}[theme]


def test_every_kind_of_the_registry_is_drawn_or_told_not_to_be() -> None:
    answer = PictureData(columns={"region": ["North"], "n": [1]})
    info = [chart_specification({"viz_type": kind}, [answer])["description"] for kind in set(ChartKinds()) - set(KINDS)]
    assert info == [
        "Table of 1 row: region, n. Charts of the kind deck_multi are not drawn; this table shows their data."
    ]
    assert set(KINDS) == set(SAMPLES)


@for_each("kind", sorted(KINDS))
def test_a_picture_loads_nothing_and_names_fields_by_its_own_names(kind: str) -> None:
    form, data = sample_of(kind)
    found = list(places(chart_specification(form, data)))
    assert [name for name, _ in found if name in ("url", "href", "src", "signal", "calculate")] == []
    fields = {value for name, value in found if name == "field"}
    assert {field for field in fields if field != "t" and not field.removeprefix("c").isdigit()} == set()


def test_the_same_call_gives_the_same_bytes_in_every_process() -> None:
    program = (
        "import json; from tests.support.picture_samples import SAMPLES, sample_of\n"
        "from analytics_core._pictures.specification import chart_specification\n"
        "print(json.dumps([chart_specification(*sample_of(kind)) for kind in SAMPLES]))"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            check=True,
            cwd=PROJECT,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": f"{PROJECT / 'src'}{os.pathsep}{PROJECT}"},
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]
    assert json.loads(said[0]) == [chart_specification(*sample_of(kind)) for kind in SAMPLES]


# --------------------------------------------------------------------------------------------------- hostile labels
@pytest.mark.slow
@for_each("kind", sorted(KINDS))
def test_no_label_becomes_an_expression_or_a_control(kind: str) -> None:
    form, data = sample_of(kind)
    number = iter(range(10_000))

    def hostile(value: Any) -> Any:
        return HOSTILE[next(number) % len(HOSTILE)] if isinstance(value, str) else value

    named = {name: hostile(name) for one in data for name in one.columns}
    attacked = [replace(with_values(one, hostile), labels=named, notes=HOSTILE) for one in data]
    specification = chart_specification({**form, "y_axis_title": HOSTILE[2]}, attacked, title=HOSTILE[0], size=SMALL)
    expressions = [
        value
        for name, value in places(vega(specification))
        if name in ("signal", "expr", "test", "update", "init", "labelExpr", "formula") and isinstance(value, str)
    ]
    outside_of_texts = [re.sub(r'"(?:[^"\\]|\\.)*"', "", expression) for expression in expressions]
    assert [expression for expression in outside_of_texts if "alert" in expression or "\\" in expression] == []
    assert not any(ord(letter) < 32 or letter == "\u202e" for letter in json.dumps(specification, ensure_ascii=False))
    assert len(json.dumps(specification)) < 100_000


@for_each("kind", ["echarts_timeseries_bar", "pie", "table", "sankey_v2", "heatmap_v2", "treemap_v2"])
def test_a_hostile_label_is_a_text_of_the_svg(kind: str) -> None:
    form, data = sample_of(kind)
    attacked = [with_values(one, lambda value: HOSTILE[0] if isinstance(value, str) else value) for one in data]
    specification = chart_specification(form, attacked, title=HOSTILE[1], size=SMALL)
    svg = ET.fromstring(vl_convert.vegalite_to_svg(json.dumps(specification), vl_version=VEGA_LITE_VERSION))
    assert {element.tag.rpartition("}")[2] for element in svg.iter()} <= {
        *("svg", "g", "rect", "path", "text", "tspan", "line", "defs", "clipPath", "linearGradient", "stop", "title")
    }
    assert [name for element in svg.iter() for name in element.attrib if name.startswith("on") or "href" in name] == []


def test_a_currency_that_is_no_currency_stays_a_literal() -> None:
    form, data = sample_of("echarts_timeseries_line", currency_format={"symbol": "'+alert", "symbolPosition": "prefix"})
    specification = chart_specification(form, data, size=SMALL)
    svg = ET.fromstring(vl_convert.vegalite_to_svg(json.dumps(specification), vl_version=VEGA_LITE_VERSION))
    written = {"".join(element.itertext()) for element in svg.iter() if element.tag.endswith("}text")}
    assert "'+alert 2" in written


# ----------------------------------------------------------------------------------------- answers that lack something
@for_each("kind", sorted(KINDS))
def test_values_that_are_missing_or_no_numbers_are_left_out(kind: str) -> None:
    form, data = sample_of(kind)
    odd = iter([None, float("nan"), float("inf"), -float("inf"), Decimal("NaN"), 10**400, 1e308, True] * 1_000)
    for changed in (
        [with_values(one, lambda _: None) for one in data],
        [with_values(one, lambda value: next(odd) if isinstance(value, int | float) else value) for one in data],
        [replace(one, columns={name: [] for name in one.columns}) for one in data],
        [replace(one, columns=dict(list(one.columns.items())[:1])) for one in data],
    ):
        specification = chart_specification(form, changed, size=SMALL)
        assert json.dumps(specification, allow_nan=False)
        assert specification["description"].strip(". ")


@for_each("kind", sorted(KINDS))
def test_a_form_whose_columns_the_answer_lacks_gives_a_picture(kind: str) -> None:
    form, _ = sample_of(kind)
    specification = chart_specification(form, [PictureData(columns={"other": ["x", "y"], "count": [3, 4]})], size=SMALL)
    assert vega(specification)["marks"]
    assert specification["description"].strip(". ")


@for_each(
    ("data", "message"),
    [
        ([], "No data: The answer has no rows."),
        ([PictureData()], "No data: The answer has no rows."),
        ([PictureData(columns={"n": []})], "No data: The answer has no rows."),
        ([PictureData(error="no column 'x'; it has: n")], "This chart has no answer: no column 'x'; it has: n."),
        ([PictureData(columns={"n": [1]}), PictureData(error="")], "This chart has no answer."),
    ],
)
def test_a_chart_without_an_answer_is_a_picture_that_says_so(data: list[PictureData], message: str) -> None:
    specification = chart_specification({"viz_type": "pie"}, data, size=SMALL)
    assert specification["description"].replace(" .", ".").replace(":.", ".") == message
    assert vega(specification)["marks"]


@for_each("kind", ["spaceship", None, "", 7, "k" * 1_000, HOSTILE[0]])
def test_an_unknown_kind_is_a_table_that_says_so(kind: Any) -> None:
    specification = chart_specification({"viz_type": kind}, [PictureData(columns={"n": [1]})], size=SMALL)
    assert "are not drawn; this table shows their data" in specification["description"]
    assert vega(specification)["marks"]


def test_a_kind_that_lacks_its_columns_is_a_table_with_the_reason() -> None:
    specification = chart_specification({"viz_type": "radar"}, [PictureData(columns={"n": [1], "m": [2]})])
    assert specification["description"].endswith("Not drawn as a radar: a radar needs three metrics or more.")


# -------------------------------------------------------------------------------------------------------- much of it
MANY = 8_000
_CODES = [f"g{place % 7_000}" for place in range(MANY)]
_OTHER = [f"h{place // 7_000}" for place in range(MANY)]
_VALUES = [(place * 7919) % 1000 + 1 for place in range(MANY)]
_TIMES = [1_700_000_000_000 + place * 60_000 for place in range(MANY)]


@pytest.mark.slow
@for_each("kind", sorted(set(KINDS) - {"big_number_total", "pop_kpi"}))
def test_a_large_answer_is_cut_to_what_can_be_drawn(kind: str) -> None:
    form, data = sample_of(kind)
    fill = {"month": _TIMES, "__timestamp": _TIMES, "start": _TIMES, "end": _TIMES, "line": None, "shape": None}

    def many(name: str, values: Any) -> Any:
        if name in fill and fill[name] is not None:
            return fill[name]
        return _CODES if isinstance(values[0], str) and fill.get(name, 0) == 0 else [values[0]] * MANY

    large = [replace(one, columns={name: many(name, own) for name, own in one.columns.items()}) for one in data]
    specification = chart_specification(form, large, size=Size(width_px=640, height_px=400))
    assert rows(specification) <= 5_000
    assert len(json.dumps(specification)) < 2_000_000


@pytest.mark.slow
@for_each(
    ("kind", "form", "columns", "note"),
    [
        ("echarts_timeseries_line", {"x_axis": "t"}, {"t": _TIMES, "n": _VALUES}, "Each point is the mean of up to 2"),
        ("echarts_timeseries_bar", {"x_axis": "g"}, {"g": list(range(MANY)), "n": _VALUES}, "Shows the first 4,000"),
        (
            "echarts_timeseries_scatter",
            {"x_axis": "n"},
            {"n": list(range(MANY)), "m": _VALUES},
            "Each point is the mean",
        ),
        ("pie", {"groupby": ["g"], "metric": "n"}, {"g": _CODES[:7_000], "n": _VALUES[:7_000]}, "Others: 6,900"),
        ("table", {}, {"g": _CODES, "n": _VALUES}, "Shows the first 15 of 8,000 rows"),
        ("bubble_v2", {"x": "n", "y": "m"}, {"n": _VALUES, "m": list(range(MANY))}, "Shows one of 2 points, of 8,000"),
        (
            "heatmap_v2",
            {"x_axis": "g", "groupby": "h", "metric": "n"},
            {"g": _CODES, "h": _OTHER, "n": _VALUES},
            "150 of",
        ),
        (
            "sankey_v2",
            {"source": "g", "target": "h", "metric": "n"},
            {"g": _CODES, "h": _OTHER, "n": _VALUES},
            "largest of",
        ),
        (
            "treemap_v2",
            {"groupby": ["g"], "metric": "n"},
            {"g": _CODES[:7_000], "n": _VALUES[:7_000]},
            "largest of 7,000",
        ),
        (
            "word_cloud",
            {"series": "g", "metric": "n"},
            {"g": _CODES[:7_000], "n": _VALUES[:7_000]},
            "150 largest of 7,000",
        ),
    ],
)
def test_what_a_large_answer_loses_stands_in_the_picture(
    kind: str, form: dict[str, Any], columns: dict[str, Any], note: str
) -> None:
    data = PictureData(columns=columns, temporal=frozenset({"t"}))
    specification = chart_specification({"viz_type": kind, **form}, [data])
    assert note in specification["description"]
    assert rows(specification) <= 5_000


@pytest.mark.parametrize("kind", ["pie", "echarts_timeseries_line"])
def test_the_title_and_the_notes_of_an_answer_are_drawn(kind: str) -> None:
    form, (data, *_) = sample_of(kind)
    noted = replace(data, notes=("Only the first rows.",))
    specification = chart_specification(form, [noted], title="A name", size=SMALL)
    svg = ET.fromstring(vl_convert.vegalite_to_svg(json.dumps(specification), vl_version=VEGA_LITE_VERSION))
    written = ["".join(element.itertext()) for element in svg.iter() if element.tag.endswith("}text")]
    assert (written.count("Only the first rows."), written.count("A name")) == (1, 1)
    assert specification["description"].endswith("Only the first rows.")


@for_each("kind", ["treemap", "sunburst", "heatmap", "histogram", "sankey", "bubble", "pivot_table"])
def test_a_kind_with_an_old_name_is_drawn_as_the_new_one(kind: str) -> None:
    form, data = sample_of(f"{kind}_v2")
    assert chart_specification({**form, "viz_type": kind}, data) == chart_specification(form, data)


@pytest.mark.parametrize(("requested", "drawn"), [(0, 60), (9_999_999, 4_000), (123, 123)])
def test_a_size_that_cannot_be_is_the_nearest_that_can(requested: int, drawn: int) -> None:
    form, data = sample_of("pie")
    specification = chart_specification(form, data, size=Size(width_px=requested, height_px=requested))
    assert (specification["width"], specification["height"]) == (drawn, drawn)
    assert vega(specification)["marks"]

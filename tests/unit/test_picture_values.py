"""What pictures make of values: stacks, quarters, colours by conditions, formulas, places of nodes; by hand."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.picture_samples import sample_of

from analytics_core._pictures import cells
from analytics_core._pictures.data import PictureData, Size
from analytics_core._pictures.formulas import FormulaError, parse_formula
from analytics_core._pictures.number_formats import number_format
from analytics_core._pictures.specification import chart_specification
from analytics_core._pictures.stacks import DOWN, UP, seen, stacked
from analytics_core._pictures.time_formats import moment_text, time_format


def marks(specification: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the rows of the layers that draw a kind of mark."""
    layers = [layer for layer in specification["layer"] if layer["mark"]["type"] == kind]
    return [row for layer in layers for row in layer["data"]["values"]]


def draw(form: Mapping[str, Any], columns: Mapping[str, Any], *temporal: str, width_px: int = 640) -> dict[str, Any]:
    data = PictureData(columns=columns, temporal=frozenset(temporal))
    return chart_specification(form, [data], size=Size(width_px=width_px, height_px=400))


# ------------------------------------------------------------------------------------------------------------- series
@for_each(
    ("stack", "sign", "ends"),
    [
        ("zero", UP, [[(0, 1), (0, 0)], [(1, 4), (0, 2)]]),
        ("zero", DOWN, [[(0, 0), (0, -2)], [(0, 0), (-2, -2)]]),
        ("normalize", UP, [[(0, 0.25), (0, 0)], [(0.25, 1), (0, 0.5)]]),
        ("center", UP, [[(-2, -1), (-2, -2)], [(-1, 2), (-2, 0)]]),
    ],
)
def test_series_stand_on_each_other(stack: str, sign: int, ends: list[list[tuple[float, float]]]) -> None:
    assert stacked([[1, -2], [3, 2]], stack, sign=sign) == ends


def test_an_area_is_drawn_at_its_values_and_beside_them() -> None:
    assert seen([None, None, 1, -1, -1, None], UP) == [False, True, True, True, False, False]
    assert seen([None, None, 1, -1, -1, None], DOWN) == [False, False, True, True, True, True]


@for_each(
    ("moment", "grain", "text"),
    [
        (datetime(2024, 1, 1), "P1Y", "2024"),
        (datetime(2024, 2, 1), "P1Y", "2024-02-01"),
        (datetime(2024, 1, 1), "P3M", "2024 Q1"),
        (datetime(2024, 4, 1), "P3M", "2024 Q2"),
        (datetime(2024, 10, 1), "P0.25Y", "2024 Q4"),
        (datetime(2024, 5, 1), "P3M", "2024-05"),
        (datetime(2024, 5, 1), "P1M", "2024-05"),
        (datetime(2024, 5, 2), "P1M", "2024-05-02"),
        (datetime(2024, 5, 1), None, "2024-05-01"),
        (datetime(2024, 5, 1, 13), None, "2024-05-01 13:00"),
        (datetime(2024, 5, 1, 13, 4, 5), None, "2024-05-01 13:04:05"),
        (datetime(2024, 5, 1, 13, 4, 5, 60_000), None, "2024-05-01 13:04:05.060"),
        (datetime(804, 5, 1), "P1Y", "0804-05-01"),
    ],
)
def test_a_moment_is_written_as_much_as_its_grain_has(moment: datetime, grain: str | None, text: str) -> None:
    ms = round((moment - datetime(1970, 1, 1)) / timedelta(milliseconds=1))
    assert moment_text(ms, "", grain=grain) == text


@for_each(
    ("spec", "found"),
    [("smart_date", ""), (None, ""), ("%d.%m.%Y", "%d.%m.%Y"), ("%-d", "%-d"), ("%E", None), ("day", None), (7, None)],
)
def test_formats_of_times_are_those_of_d3(spec: Any, found: str | None) -> None:
    assert time_format(spec) == found
    assert time_format("%Y" + "x" * 58) is not None
    assert time_format("%Y" + "x" * 59) is None
    assert moment_text(0, "%d.%m.%Y") == "01.01.1970"


# ------------------------------------------------------------------------------------------------------------- values
@for_each(
    ("value", "ms"),
    [
        (datetime(1970, 1, 2), 86_400_000),
        (datetime(1970, 1, 1, 2, tzinfo=UTC), 7_200_000),
        (date(1970, 1, 3), 2 * 86_400_000),
        ("1970-01-01T00:00:01", 1_000),
        ("yesterday", None),
        (8_640_000_000_000_000, 8_640_000_000_000_000),
        (8_640_000_000_000_001, None),
        (-8_640_000_000_000_001, None),
        (Decimal("1.9"), 1),
        (True, None),
        (None, None),
    ],
)
def test_a_moment_is_milliseconds_that_javascript_has(value: Any, ms: int | None) -> None:
    assert cells.moment_ms(value) == ms


@for_each(
    ("value", "number"),
    [
        (timedelta(minutes=1), 60.0),
        (1e100, 1e100),
        (1.1e100, None),
        (2 * 10**100, None),
        ("7.5", 7.5),
        ("x", None),
        (True, 1.0),
        (date(2024, 1, 1), None),
        (math.nan, None),
    ],
)
def test_a_number_is_what_can_be_drawn(value: Any, number: float | None) -> None:
    assert cells.number(value) == number


@for_each(
    ("value", "text"),
    [
        (True, "true"),
        (2.0, "2"),
        (1e15, "1000000000000000.0"),
        (b"\x01\x02", "0x0102"),
        (bytes(9), "0x0000000000000000…"),
        ("", "(empty)"),
        ("a\n\tb\u202ec", "a b c"),
        ("constructor", "constructor\u200b"),
        ({"a": 1}, '{"a": 1}'),
        ("x" * 160, "x" * 160),
        ("x" * 161, "x" * 159 + "…"),
    ],
)
def test_a_value_is_a_short_text_in_one_line(value: Any, text: str) -> None:
    assert cells.text(value) == text


def test_texts_that_are_seen_alike_are_told_apart() -> None:
    found = cells.made_distinct(["a", "b", "a", "a"])
    assert len(set(found)) == 4
    assert [text.strip("\u200b\u200c") for text in found] == ["a", "b", "a", "a"]


# ------------------------------------------------------------------------------------------------- numbers and colours
def test_a_currency_stands_beside_numbers_of_any_format() -> None:
    euro = {"symbol": "EUR", "symbolPosition": "suffix"}
    for spec, text in ((",.1f", "1,234.5 €"), (None, "1.23k €"), ("$,.0f", "1,235 €")):
        form = number_format(spec, euro)
        assert form is not None
        assert form.text(1234.5).replace("\u00a0", " ") == text
        assert form.axis()["labelExpr"].endswith(' + " \\u20ac"') or "€" in form.axis()["labelExpr"]
    long = number_format(",.1f", {"symbol": "x" * 9, "symbolPosition": "suffix"})
    assert long is not None
    assert long.text(1.0) == "1.0"


@for_each(
    ("operator", "targets", "hits"),
    [
        (">", [2], [3, 4]),
        ("≥", [2], [2, 3, 4]),
        ("<", [2], [0, 1]),
        ("≤", [2], [0, 1, 2]),
        ("=", [2], [2]),
        ("≠", [2], [0, 1, 3, 4]),
        ("< x <", [1, 3], [2]),
        ("≤ x ≤", [1, 3], [1, 2, 3]),
        ("≤ x <", [1, 3], [1, 2]),
        ("< x ≤", [1, 3], [2, 3]),
        ("None", [None], [0, 1, 2, 3, 4]),
    ],
)
def test_a_condition_colours_the_numbers_for_which_it_holds(operator: str, targets: list[Any], hits: list[int]) -> None:
    for value in range(5):
        names = ("targetValueLeft", "targetValueRight") if len(targets) == 2 else ("targetValue",)
        rule = {"column": "n", "operator": operator, "colorScheme": "#ff0000", **dict(zip(names, targets, strict=True))}
        form = {"viz_type": "table", "conditional_formatting": [rule]}
        plain = len(marks(draw({"viz_type": "table"}, {"n": [value]}), "rect"))
        assert (len(marks(draw(form, {"n": [value]}), "rect")) > plain) is (value in hits)


@for_each(
    ("operator", "target", "hits"),
    [
        ("=", "ab", ["ab"]),
        ("begins with", "a", ["ab", "abc"]),
        ("ends with", "c", ["abc", "c"]),
        ("containing", "b", ["ab", "abc"]),
        ("not containing", "b", ["c"]),
    ],
)
def test_a_condition_colours_the_texts_for_which_it_holds(operator: str, target: str, hits: list[str]) -> None:
    rule = {"column": "g", "operator": operator, "targetValue": target, "colorScheme": "#ff0000"}
    form = {"viz_type": "table", "conditional_formatting": [rule]}
    for value in ("ab", "abc", "c"):
        plain = len(marks(draw({"viz_type": "table"}, {"g": [value]}), "rect"))
        assert (len(marks(draw(form, {"g": [value]}), "rect")) > plain) is (value in hits)


# ----------------------------------------------------------------------------------------------------------- formulas
@for_each(
    ("text", "x", "value"),
    [
        ("log10(x)", 1000, 3),
        ("ln(e)", 0, 1),
        ("log(x)", math.e, 1),
        ("floor(x) + ceil(x) + round(x)", 1.6, 1 + 2 + 2),
        ("exp(0) - cos(0) + sin(0) + tan(0)", 0, 0),
        ("x - 1 - 1", 5, 3),
        ("8 / 2 / 2", 0, 2),
        ("2^3^2", 0, 512),
        ("2 * -X", 3, -6),
        ("--x", 3, 3),
        (".5e1 + 1.", 0, 6),
    ],
)
def test_a_formula_is_computed_from_left_to_right_and_powers_first(text: str, x: float, value: float) -> None:
    assert parse_formula(text)(x) == pytest.approx(value)


def test_a_formula_has_no_value_where_arithmetic_has_none() -> None:
    assert [parse_formula(text)(0) for text in ("1 / x", "ln(x)", "exp(1000)", "sqrt(x - 1)")] == [None] * 4
    assert parse_formula("x" + " + 1" * 49)(0) == 49
    with pytest.raises(FormulaError, match="at most 200 characters"):
        parse_formula("x" + " " * 199 + "1")
    assert parse_formula("(" * 40 + "x" + ")" * 40)(7) == 7
    with pytest.raises(FormulaError, match="at most 40 brackets"):
        parse_formula("(" * 41 + "x" + ")" * 41)


# ------------------------------------------------------------------------------------------------------------- places
NODES = ["Root", "Left", "Right"]


@for_each(("orient", "axis", "ascends"), [("LR", 0, True), ("RL", 0, False), ("TB", 1, True), ("BT", 1, False)])
def test_a_tree_grows_from_its_root_in_the_direction_of_the_form(orient: str, axis: int, ascends: bool) -> None:
    form, data = sample_of("tree_chart", orient=orient)
    picture = chart_specification(form, data)
    words = {row["c2"]: (row["c0"], row["c1"]) for row in marks(picture, "text") if row.get("c2") in NODES}
    assert list(words) == NODES
    assert words["Left"] != words["Right"]
    paths = [layer["data"]["values"] for layer in picture["layer"] if layer["mark"]["type"] not in ("text", "rect")]
    curves = [re.findall(r"[MCL ](-?[\d.]+),(-?[\d.]+)", row[key]) for rows in paths for row in rows for key in row
            if str(row[key]).startswith("M")]  # fmt: skip
    assert len(curves) == 2
    (root, first), (again, second) = ((float(points[0][axis]), float(points[-1][axis])) for points in curves)
    assert (root, first) == (again, second)
    assert first - root > 100 if ascends else root - first > 100


@for_each("angle", [45, -45])
def test_names_that_lean_end_at_their_tick(angle: int) -> None:
    form = {"viz_type": "echarts_timeseries_bar", "x_axis": "g", "metrics": ["n"], "xAxisLabelRotation": angle}
    picture = draw(form, {"g": ["north", "south"], "n": [1, 2]})
    axis = picture["layer"][0]["encoding"]["x"]["axis"]
    assert (axis["labelAngle"], axis["labelAlign"], axis["labelBaseline"]) == (-45, "right", "middle")


# -------------------------------------------------------------------------------------------------------- form fields
@for_each(
    ("kind", "percents"),
    [("first_step", [100, 50, 25]), (None, [100, 50, 25]), ("prev_step", [100, 50, 50]), ("total", [57.1, 28.6, 14.3])],
)
def test_the_steps_of_a_funnel_are_shares_of_what_the_form_says(kind: str | None, percents: list[float]) -> None:
    form = {"viz_type": "funnel", "groupby": ["g"], "metric": "n", "percent_calculation_type": kind}
    words = " ".join(str(row["c2"]) for row in marks(draw(form, {"g": ["a", "b", "c"], "n": [8, 4, 2]}), "text"))
    assert [float(found) for found in re.findall(r"\(([\d.]+)%\)", words)] == pytest.approx(percents, abs=0.6)


def test_flows_are_measured_by_the_metric_of_the_form() -> None:
    columns = {"a": ["x", "x"], "b": ["y", "z"], "more": [9, 1], "n": [2, 5], "other": [9, 1]}
    for kind in ("sankey_v2", "graph_chart", "chord"):
        form = {"viz_type": kind, "source": "a", "target": "b", "groupby": "a", "columns": "b", "metric": "n"}
        description = draw(form, columns)["description"]
        assert "of n: 2 links between 3 nodes; the largest goes from x to z with 5" in description


@for_each(
    ("form", "written"),
    [
        ({"contributionMode": "row"}, ".0%"),
        ({"comparison_type": "percentage", "time_compare": ["1 year ago"]}, "+,.1~%"),
        ({"contributionMode": "row", "y_axis_format": ",.3f"}, ",.3f"),
    ],
)
def test_shares_are_written_as_such_unless_the_form_names_a_format(form: dict[str, Any], written: str) -> None:
    full_form = {"viz_type": "echarts_timeseries_bar", "x_axis": "g", "metrics": ["n"], **form}
    axis = draw(full_form, {"g": ["a", "b"], "n": [0.25, 0.75]})["layer"][0]["encoding"]["y"]["axis"]
    assert f"'{written}'" in axis["labelExpr"] or f'"{written}"' in axis["labelExpr"]


@for_each(
    ("scheme", "colours"),
    [
        ("d3Category10", ["#1f77b4", "#ff7f0e"]),
        ("d3Category20", ["#1f77b4", "#aec7e8"]),
        ("d3Category20b", ["#393b79", "#5254a3"]),
        ("d3Category20c", ["#3182bd", "#6baed6"]),
        ("waterfall", ["#009e73", "#d55e00"]),
        ("blueToGreen", ["#1d3f72", "#22659a"]),
        ("colorsOfRainbow", ["#b5302f", "#d9792b"]),
        ("modernSunset", ["#3b2f63", "#7b3f78"]),
    ],
)
def test_series_have_the_colours_of_the_scheme(scheme: str, colours: list[str]) -> None:
    form = {"viz_type": "echarts_timeseries_bar", "x_axis": "g", "metrics": ["n", "m"], "color_scheme": scheme}
    picture = draw(form, {"g": ["a", "b"], "n": [1, 2], "m": [3, 4]})
    assert picture["layer"][0]["encoding"]["color"]["scale"]["range"] == colours


def test_a_calendar_without_room_for_all_weeks_shows_the_last_ones() -> None:
    days = [datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=place) for place in range(1_000)]
    columns = {"__timestamp": days, "n": [1] * 1_000}
    weeks = (640 - 70) // 5 - 2
    description = draw({"viz_type": "cal_heatmap", "metrics": ["n"]}, columns, "__timestamp")["description"]
    assert f"Shows the last {weeks * 7:,} of 1,000 days." in description
    assert (
        "Shows the last"
        not in draw({"viz_type": "cal_heatmap", "metrics": ["n"]}, columns, "__timestamp", width_px=900)["description"]
    )


@for_each("name", ["sort_series_type", "x_axis_sort_series", "legendOrientation", "seriesType", "orientation", "stack"])
def test_a_word_of_a_series_chart_that_nobody_knows_is_told(name: str) -> None:
    form, data = sample_of("echarts_timeseries_bar", **{name: "sideways"})
    assert name in chart_specification(form, data)["description"]


def test_many_arcs_are_paler_than_few() -> None:
    ends = {
        f"{end}_spatial": {"type": "latlong", "lonCol": f"{end}_lon", "latCol": f"{end}_lat"}
        for end in ("start", "end")
    }
    for count, opacity in ((100, 0.6), (101, 0.2)):
        places = {name: [float(place % 50) for place in range(count)] for name in ("start_lon", "start_lat")}
        columns = {**places, "end_lon": [60.0] * count, "end_lat": [10.0] * count}
        picture = draw({"viz_type": "deck_arc", **ends}, columns)
        (mark,) = (layer["mark"] for layer in picture["layer"] if layer["mark"]["type"] == "rule")
        assert (mark["opacity"], len(marks(picture, "rule"))) == (opacity, count)


def test_polygons_are_filled_by_their_measure() -> None:
    squares = [f"[[{x}.0, 47.0], [{x + 1}.0, 47.0], [{x + 1}.0, 48.0]]" for x in (8, 9)]
    form = {"viz_type": "deck_polygon", "line_column": "line", "line_type": "json", "metric": "n"}
    for kind, field in (("deck_polygon", "fill"), ("deck_path", "color")):
        picture = draw({**form, "viz_type": kind}, {"line": squares, "n": [3, 5]})
        layer = next(one for one in picture["layer"] if one["mark"]["type"] == "line")
        domain = layer["encoding"][field]["scale"]["domain"]
        assert (domain[0], domain[-1]) == (3, 5)
        assert layer["mark"]["strokeWidth"] == (2 if kind == "deck_path" else 0.5)
        assert [row["c2"] for row in layer["data"]["values"]] == [3, 3, 3, 5, 5, 5]
        alike = draw({**form, "viz_type": kind}, {"line": squares, "n": [3, 3]})
        assert field not in next(one for one in alike["layer"] if one["mark"]["type"] == "line")["encoding"]

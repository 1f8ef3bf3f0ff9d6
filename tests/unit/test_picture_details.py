"""What stands in pictures: numbers as Vega writes them, tables, series, annotations, and what has no room."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import vl_convert
from tests.support.cases import for_each
from tests.support.picture_samples import sample_of

from analytics_core._pictures.data import PictureData, Size
from analytics_core._pictures.formulas import FormulaError, parse_formula
from analytics_core._pictures.number_formats import NumberFormat, number_format
from analytics_core._pictures.specification import VEGA_LITE_VERSION, chart_specification
from analytics_core._pictures.text_metrics import fitted, text_width, wrapped

MONTHS = [datetime(2024, month, 1, tzinfo=UTC) for month in range(1, 13)]
NUMBERS = [0, 1, 1.5, -1.5, 12.345, 999, 1000, 1234.5, -9_876_543, 1e9, 2.5e12, 0.25, 0.001234, 0.00001234, 63.456]


def drawn_texts(specification: Mapping[str, Any]) -> list[str]:
    """Return the texts of a picture in the order in which they are drawn."""
    svg = vl_convert.vegalite_to_svg(json.dumps(specification), vl_version=VEGA_LITE_VERSION)
    return ["".join(element.itertext()) for element in ET.fromstring(svg).iter() if element.tag.endswith("}text")]


def draw(form: Mapping[str, Any], columns: Mapping[str, Any], *temporal: str, **further: Any) -> dict[str, Any]:
    data = PictureData(columns=columns, temporal=frozenset(temporal), **further)
    return chart_specification(form, [data], size=Size(width_px=640, height_px=400))


def texts(value: Any) -> list[str]:
    """Return all texts of a specification."""
    if isinstance(value, Mapping):
        return [text for inner in value.values() for text in texts(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in texts(inner)]
    return [value] if isinstance(value, str) else []


# ------------------------------------------------------------------------------------------------------------ numbers
@pytest.mark.slow
@for_each(
    ("spec", "currency"),
    [
        ("SMART_NUMBER", None),
        ("SMART_NUMBER_SIGNED", None),
        (",.2f", None),
        (".1%", None),
        ("$,.0f", None),
        (".3~s", None),
        ("+,d", None),
        (".2e", None),
        ("~g", None),
        ("MEMORY_DECIMAL", None),
        ("MEMORY_BINARY", None),
        ("MEMORY_TRANSFER_RATE_BINARY", None),
        (",.1f", {"symbol": "EUR", "symbolPosition": "suffix"}),
        ("$,.1f", {"symbol": "USD", "symbolPosition": "prefix"}),
        (".1%", {"symbol": "CHF", "symbolPosition": "suffix"}),
        (None, {"symbol": "GBP", "symbolPosition": "prefix"}),
    ],
)
def test_texts_and_the_labels_of_axes_are_written_alike(spec: str | None, currency: dict[str, str] | None) -> None:
    form = number_format(spec, currency)
    assert form is not None
    axis = {"values": [place for place, _ in enumerate(NUMBERS)], "labelOverlap": False}
    expression = form.axis()["labelExpr"].replace("datum.value", f"({json.dumps(NUMBERS)})[datum.value]")
    specification = {
        "data": {"values": [{"y": 0}, {"y": len(NUMBERS) - 1}]},
        "mark": "point",
        "height": 900,
        "encoding": {
            "y": {"field": "y", "type": "quantitative", "axis": {**axis, "labelExpr": expression, "title": None}}
        },
    }
    assert drawn_texts(specification) == [form.text(value) for value in NUMBERS]


@for_each("spec", ["spaceship", ".2q", "%Y", "9999f", ",.2f" * 20, 7, ["f"], ",.2f'"])
def test_what_is_no_number_format_is_told_and_not_applied(spec: Any) -> None:
    assert number_format(spec) is None
    form, data = sample_of("pie", number_format=spec)
    assert "is no number format; not applied" in chart_specification(form, data)["description"]


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
def test_what_is_no_number_has_no_text(value: float | None) -> None:
    assert NumberFormat().text(value) == ""


# ------------------------------------------------------------------------------------------------------------- tables
def test_a_column_of_a_table_has_the_same_digits_in_each_cell() -> None:
    columns = {"price": [95.7, 100.0, 0.004], "share": [0.5, 0.1234, None], "count": [1_004, 5, 12]}
    labels = drawn_texts(draw({"viz_type": "table"}, columns))
    assert {"95.7", "100.0", "0.004", "0.5000", "0.1234", "1004", "5"} <= set(labels)


def test_headers_of_a_table_are_whole_where_there_is_room() -> None:
    names = ["order_date", "product_line", "customer_name", "city"]
    labels = drawn_texts(draw({"viz_type": "table"}, {name: ["a", "b"] for name in names}))
    assert labels[:4] == names


def test_columns_without_room_are_left_out_and_counted_rather_than_cut() -> None:
    names = [f"a_long_name_of_a_column_{place}" for place in range(12)]
    specification = draw({"viz_type": "table"}, {name: ["a value that is long"] for name in names})
    assert specification["description"].endswith("Shows 6 of 12 columns.")


def test_cells_are_coloured_where_their_condition_holds_and_stay_readable() -> None:
    condition = {"column": "n", "operator": ">", "targetValue": 2, "colorScheme": "#112233"}
    columns = {"n": [1, 9], "g": ["a", "b"]}
    plain = draw({"viz_type": "table"}, columns)
    coloured = draw({"viz_type": "table", "conditional_formatting": [condition]}, columns)
    fills = [
        row["c4"]
        for layer in coloured["layer"]
        for row in layer["data"]["values"]
        if layer["mark"]["type"] == "rect" and row["c4"] not in texts(plain)
    ]
    assert fills == ["#354352"]
    inks = {row["c2"]: row["c3"] for layer in coloured["layer"] for row in layer["data"]["values"] if "c5" in row}
    assert inks["9"] == "#ffffff"
    assert inks["1"] != "#ffffff"


def test_a_table_shows_the_totals_of_a_second_answer() -> None:
    form = {"viz_type": "table", "groupby": ["g"], "metrics": ["n"], "show_totals": True}
    rows, total = PictureData(columns={"g": ["a", "b"], "n": [1, 2]}), PictureData(columns={"n": [3]})
    assert {"Total", "3"} <= set(drawn_texts(chart_specification(form, [rows, total])))


# ------------------------------------------------------------------------------------------------------------- series
def grouped(count: int, **form: Any) -> dict[str, Any]:
    columns = {"t": MONTHS, **{f"s{place}": [place + 1] * len(MONTHS) for place in range(count)}}
    return draw({"viz_type": "echarts_timeseries_bar", "x_axis": "t", **form}, columns, "t")


def test_a_table_may_be_as_tall_as_its_rows_up_to_fifty() -> None:
    heights = []
    for rows in (2, 20, 500):
        data = PictureData(columns={"n": list(range(rows))})
        found = chart_specification({"viz_type": "table"}, [data], title="N", size=Size(fits_rows=True))
        heights.append(found["height"])
        assert ("Shows the first" in found["description"]) is (rows == 500)
    assert heights == sorted(heights)
    assert (heights[0] < 130, 480 < heights[1] < 540, 1_150 < heights[2] <= 1_240) == (True, True, True)


@pytest.mark.parametrize("kind", ["pie", "treemap_v2"])
def test_the_sum_of_an_answer_that_was_cut_is_not_called_the_whole(kind: str) -> None:
    form = {"viz_type": kind, "metric": "n", "groupby": ["g"]}
    full, cut = (draw(form, {"g": ["a", "b"], "n": [30, 10]}, is_cut=is_cut)["description"] for is_cut in (False, True))
    assert ("of 40 in all" in full, "there are more" in full) == (True, False)
    assert ("of 40 together, and there are more" in cut, "in all" in cut) == (True, False)
    assert "sums and shares are those of the groups that are shown" in cut


def test_changes_in_percent_are_written_and_titled_as_such() -> None:
    form = {"viz_type": "echarts_timeseries_bar", "x_axis": "g", "metrics": ["n"]}
    compared = {"time_compare": ["1 year ago"], "comparison_type": "percentage"}
    labels = texts(draw({**form, **compared}, {"g": ["a", "b"], "1 year ago": [0.3, -0.2]}))
    assert "change from 1 year ago" in labels
    assert any("+30%" in text for text in labels)


def test_colours_by_conditions_are_not_covered_by_bars_that_nobody_asked_for() -> None:
    rule = {"column": "n", "operator": ">", "targetValue": 1, "colorScheme": "#ff0000"}
    form = {"viz_type": "table", "metrics": ["n"], "groupby": ["g"], "conditional_formatting": [rule]}
    columns = {"g": ["a", "b"], "n": [1, 5]}
    plain, with_bars = (draw({**form, **more}, columns) for more in ({}, {"show_cell_bars": True}))
    drawn = [
        sum(len(layer["data"]["values"]) for layer in one["layer"] if layer["mark"]["type"] == "rect")
        for one in (plain, with_bars)
    ]
    assert drawn[1] == drawn[0] + 2


def test_a_trend_is_called_by_its_metric_and_its_last_period() -> None:
    form = {"viz_type": "big_number", "metric": "n", "time_grain_sqla": "P1M"}
    labels = texts(draw(form, {"day": MONTHS, "n": list(range(12))}, "day"))
    assert "n, 2024-12" in labels


@pytest.mark.parametrize(("value", "end"), [(0.9, "1"), (1.4, "3")])
def test_the_gauge_of_a_share_ends_at_the_whole(value: float, end: str) -> None:
    description = draw({"viz_type": "gauge_chart", "metric": "n"}, {"n": [value]})["description"]
    assert description.startswith(f"Gauge of n from 0 to {end}")


def test_a_number_in_a_treemap_is_whole_or_left_out() -> None:
    values = [round(1_000 / place, 6) for place in range(1, 40)]
    columns = {"g": [f"group {place}" for place in range(1, 40)], "n": values}
    found = draw({"viz_type": "treemap_v2", "metric": "n", "groupby": ["g"], "number_format": ",.6f"}, columns)
    layers = [layer for layer in found["layer"] if layer["mark"]["type"] == "text"]
    written = {row["c2"] for layer in layers for row in layer["data"]["values"]}
    numbers = {text for text in written if text[0].isdigit()}
    assert 3 < len(numbers) < 39
    assert numbers <= {f"{value:,.6f}" for value in values}


def test_bars_side_by_side_that_have_no_room_are_those_of_the_largest_series() -> None:
    specification = grouped(48)
    assert specification["description"].endswith("Shows the 11 largest of 48 series.")
    assert {"s47", "s37"} <= set(texts(specification))
    assert "s36" not in texts(specification)


def test_stacks_end_in_the_sum_of_the_smaller_series() -> None:
    specification = grouped(30, stack="Stack")
    assert specification["description"].endswith("Other series: the sum of 10 smaller ones.")
    others = [row for row in specification["layer"][0]["data"]["values"] if row["c1"] == "Other series"]
    assert [row["c2"] for row in others] == [sum(range(1, 11))] * len(MONTHS)


def test_lines_that_nobody_can_tell_apart_are_left_out() -> None:
    columns = {"t": MONTHS, **{f"s{place}": [place] * len(MONTHS) for place in range(60)}}
    specification = draw({"viz_type": "echarts_timeseries_line", "x_axis": "t"}, columns, "t")
    assert specification["description"].endswith("Shows the 25 largest of 60 series.")


def test_a_forecast_is_dashed_and_has_a_band() -> None:
    columns = {"t": MONTHS, "n": [1] * 12, "n__yhat": [2] * 12, "n__yhat_lower": [1] * 12, "n__yhat_upper": [3] * 12}
    specification = draw({"viz_type": "echarts_timeseries_line", "x_axis": "t"}, columns, "t")
    band, lines = specification["layer"][:2]
    assert {(row["c2"], row["c3"]) for row in band["data"]["values"]} == {(1.0, 3.0)}
    dash = lines["encoding"]["strokeDash"]
    assert dict(zip(dash["scale"]["domain"], dash["scale"]["range"], strict=True)) == {
        "n": [1, 0],
        "n (forecast)": [5, 3],
    }
    assert dash["legend"] == lines["encoding"]["color"]["legend"] is not None  # so that the legend has the dashes


def test_a_logarithmic_axis_leaves_out_what_is_not_above_zero() -> None:
    form = {"viz_type": "echarts_timeseries_line", "x_axis": "t", "logAxis": True}
    specification = draw(form, {"t": MONTHS[:3], "n": [0, 10, -5]}, "t")
    assert specification["layer"][0]["encoding"]["y"]["scale"]["type"] == "log"
    assert [row["c2"] for row in specification["layer"][0]["data"]["values"]] == [None, 10.0, None]


def test_the_axis_keeps_the_bounds_of_the_form() -> None:
    form = {"viz_type": "echarts_timeseries_line", "x_axis": "t", "y_axis_bounds": [5, None], "truncateYAxis": True}
    scale = draw(form, {"t": MONTHS[:3], "n": [6, 10, 8]}, "t")["layer"][0]["encoding"]["y"]["scale"]
    assert scale == {"zero": False, "nice": False, "domainMin": 5.0}


def test_a_lone_moment_is_written_with_its_day() -> None:
    labels = drawn_texts(draw({"viz_type": "echarts_timeseries_line", "x_axis": "t"}, {"t": MONTHS[:1], "n": [4]}, "t"))
    assert "2024-01-01" in labels


def test_the_moments_of_spans_are_written_in_the_format_of_the_form() -> None:
    form = {"viz_type": "gantt_chart", "start_time": "a", "end_time": "b", "y_axis": "task"}
    spans = {"task": ["Plan", "Build"], "a": MONTHS[:2], "b": MONTHS[1:3]}
    labels = drawn_texts(draw({**form, "x_axis_time_format": "%d.%m.%y"}, spans, "a", "b"))
    assert {"01.01.24", "01.03.24"} & set(labels)


# -------------------------------------------------------------------------------------------------------- annotations
def annotated(layer: Mapping[str, Any], records: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    form = {"viz_type": "echarts_timeseries_line", "x_axis": "t", "annotation_layers": [{"show": True, **layer}]}
    return draw(form, {"t": MONTHS, "n": [5] * 12}, "t", annotations={"Releases": {"records": list(records)}})


def test_events_and_intervals_stand_at_their_moments() -> None:
    event = {"start_dttm": "2024-03-10", "short_descr": "Version 2"}
    assert "Version 2" in drawn_texts(annotated({"name": "Releases", "annotationType": "EVENT"}, [event]))
    interval = {"start_dttm": "2024-07-01", "end_dttm": "2024-08-01", "short_descr": "Summer"}
    assert "Summer" in drawn_texts(annotated({"name": "Releases", "annotationType": "INTERVAL"}, [interval]))


def test_an_annotation_outside_the_chart_is_counted() -> None:
    event = {"start_dttm": "1999-03-10", "short_descr": "Old"}
    specification = annotated({"name": "Releases", "annotationType": "EVENT"}, [event])
    assert "1 of 1 annotations Releases lie outside the chart" in specification["description"]
    assert "Old" not in texts(specification)


def test_a_formula_is_drawn_and_what_is_none_is_told() -> None:
    specification = annotated({"name": "Target", "annotationType": "FORMULA", "value": "2 * 3 + 1"})
    assert {row["c1"] for row in specification["layer"][1]["data"]["values"]} == {7.0}
    assert "Target" in drawn_texts(specification)
    description = annotated({"name": "Bad", "annotationType": "FORMULA", "value": "__import__('os')"})["description"]
    assert "The formula Bad is not drawn" in description


@for_each(
    ("text", "x", "value"),
    [
        ("2*x + 1", 3, 7),
        ("-x^2", 3, -9),
        ("(1 + x) / 4", 7, 2),
        ("sqrt(abs(x))", -16, 4),
        ("2 ** 3 - x", 1, 7),
        ("pi", 0, 3.141592653589793),
    ],
)
def test_a_formula_counts_as_arithmetic_does(text: str, x: float, value: float) -> None:
    assert parse_formula(text)(x) == pytest.approx(value)


@for_each("text", ["", "(", "x x", "1 +", "import os", "__import__('os')", "x.y", "exec(1)", "9" * 10_000, "(" * 199])
def test_what_is_no_formula_is_an_error(text: str) -> None:
    with pytest.raises(FormulaError):
        parse_formula(text)


# --------------------------------------------------------------------------------------------------------------- room
def test_a_text_that_fits_is_whole_and_another_ends_in_an_ellipsis() -> None:
    assert fitted("order_date", text_width("order_date", 12), 12) == "order_date"
    cut = fitted("order_date", 40, 12)
    assert cut.endswith("…")
    assert text_width(cut, 12) <= 40


def test_lines_are_broken_at_spaces_and_the_last_one_is_cut() -> None:
    lines = wrapped("one two three four five six seven eight nine ten", 60, 12, most=2)
    assert len(lines) == 2
    assert lines[0] == "one two"
    assert lines[1].endswith("…")


def test_a_legend_takes_no_more_than_a_quarter_of_the_height() -> None:
    columns = {"t": MONTHS, **{f"a series with a long name {place}": [place] * 12 for place in range(25)}}
    specification = draw({"viz_type": "echarts_timeseries_line", "x_axis": "t"}, columns, "t")
    legend = specification["layer"][0]["encoding"]["color"]["legend"]
    assert -(-legend["symbolLimit"] // legend["columns"]) * 16 <= 400 / 4


def test_the_words_of_a_cloud_do_not_overlap() -> None:
    columns = {"word": [f"word{place}" for place in range(60)], "n": [60 - place for place in range(60)]}
    specification = draw({"viz_type": "word_cloud", "series": "word", "metric": "n", "rotation": "flat"}, columns)
    placed = [row for layer in specification["layer"] for row in layer["data"]["values"]]
    boxes = [
        (
            row["c0"] - text_width(row["c2"], row["c4"]) / 2,
            row["c1"] - row["c4"] / 2,
            text_width(row["c2"], row["c4"]),
            row["c4"],
        )
        for row in placed
        if row["c2"].startswith("word")
    ]
    assert len(boxes) == 60
    overlaps = [
        (one, other)
        for place, one in enumerate(boxes)
        for other in boxes[:place]
        if abs(one[0] + one[2] / 2 - other[0] - other[2] / 2) < (one[2] + other[2]) / 2
        and abs(one[1] + one[3] / 2 - other[1] - other[3] / 2) < (one[3] + other[3]) / 2
    ]
    assert overlaps == []


# --------------------------------------------------------------------------------------------------------------- maps
def test_points_of_a_grid_are_added_up_in_squares() -> None:
    spatial = {"type": "latlong", "lonCol": "lon", "latCol": "lat"}
    columns = {"lon": [8.0, 8.0, 12.0, None], "lat": [47.0, 47.0, 50.0, 1.0], "n": [3, 4, 5, 6]}
    specification = draw({"viz_type": "deck_grid", "spatial": spatial, "size": "n"}, columns)
    assert sorted(row["c4"] for row in specification["layer"][0]["data"]["values"]) == [5.0, 7.0]
    assert "Map of n in 2 squares by longitude and latitude, of 3 points; from 5 to 7" in specification["description"]


def test_a_geohash_is_a_point_in_the_middle_of_its_cell() -> None:
    form = {"viz_type": "deck_scatter", "spatial": {"type": "geohash", "geohashCol": "place"}, "size": "n"}
    specification = draw(form, {"place": ["u0qjd", "DR5REG", "none!", None], "n": [1, 2, 3, 4]})
    points = [(round(row["c0"], 2), round(row["c1"], 2)) for row in specification["layer"][0]["data"]["values"]]
    assert points == [(8.55, 47.4), (-74.01, 40.71)]


def test_the_highest_bubble_is_told_by_its_number_where_it_has_no_name() -> None:
    form = {"viz_type": "bubble_v2", "x": "x", "y": "y", "size": "size"}
    specification = draw(form, {"x": [1, 2], "y": [3, 4], "size": [5, 6]})
    assert specification["description"] == "Bubble chart of y against x: 2 points, sized by size; the highest is 4."


def test_labels_of_a_crowded_heatmap_do_not_overlap() -> None:
    names = [f"a channel with number {place}" for place in range(40)]
    columns = {"a": names * 40, "b": [name for name in names for _ in names], "n": list(range(1_600))}
    specification = draw({"viz_type": "heatmap_v2", "x_axis": "a", "groupby": "b", "metric": "n"}, columns)
    axis = {name: specification["layer"][0]["encoding"][name]["axis"] for name in ("x", "y")}
    assert len(axis["x"]["values"]) * 11 * 1.4 < 640 - 160
    assert len(axis["y"]["values"]) * (axis["y"]["labelFontSize"] + 1) < 400 - 80 - 90


def test_series_of_one_metric_are_called_by_their_groups() -> None:
    columns = {"t": MONTHS, "sales, North": [1] * 12, "sales, South": [2] * 12}
    form = {"viz_type": "echarts_timeseries_line", "x_axis": "t", "metrics": ["sales"], "groupby": ["region"]}
    assert "Line chart of 2 series (North, South) by t" in draw(form, columns, "t")["description"]


@pytest.mark.parametrize(("series_type", "drawn"), [(None, "step-before"), ("middle", "step"), ("end", "step-after")])
def test_steps_turn_where_the_form_says(series_type: str | None, drawn: str) -> None:
    form = {"viz_type": "echarts_timeseries_step", "x_axis": "t", "seriesType": series_type}
    assert draw(form, {"t": MONTHS, "n": [1] * 12}, "t")["layer"][0]["mark"]["interpolate"] == drawn


# ------------------------------------------------------------------------------------------------------ small pictures
def small(labels: Sequence[str]) -> dict[str, Any]:
    columns = {"t": MONTHS, **{label: [1] * 12 for label in labels}}
    form = {"viz_type": "echarts_timeseries_line", "x_axis": "t", "y_axis_title": "a title that is long"}
    data = PictureData(columns=columns, temporal=frozenset({"t"}))
    return chart_specification(form, [data], size=Size(width_px=260, height_px=180))


def test_a_legend_that_could_name_nothing_is_left_out() -> None:
    def legend(labels: Sequence[str]) -> Any:
        return small(labels)["layer"][0]["encoding"]["color"]["legend"]

    assert legend([f"a series with a long name {place}" for place in range(9)]) is None
    assert legend(["one", "two"])["columns"] == 2


def test_the_title_of_an_axis_is_cut_before_it_moves_the_plot() -> None:
    assert small(["one", "two"])["config"]["axisY"] == {"titleLimit": 70}
    labels = drawn_texts(small(["one", "two"]))
    assert "a title that is long" not in labels
    assert [text for text in labels if text.startswith("a title") and text.endswith("…")] != []

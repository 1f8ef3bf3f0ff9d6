"""Pictures of series: stacks of both signs, gaps, bounds, logarithmic axes, the labels of times, and unknown words."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import vl_convert
from tests.support.cases import for_each

from analytics_core._pictures.data import PictureData, Size
from analytics_core._pictures.specification import VEGA_LITE_VERSION, chart_specification

MONTHS = [datetime(2024, month, 1, tzinfo=UTC) for month in range(1, 6)]
AREA, BAR, LINE = "echarts_area", "echarts_timeseries_bar", "echarts_timeseries_line"


def drawn(kind: str, columns: Mapping[str, Any], **form: Any) -> dict[str, Any]:
    """Return the picture of series over the first column."""
    axis, *metrics = columns
    temporal = frozenset({axis}) if isinstance(columns[axis][0], datetime) else frozenset()
    full_form = {"viz_type": kind, "x_axis": axis, "metrics": metrics, **form}
    return chart_specification(full_form, [PictureData(columns=columns, temporal=temporal)], size=Size())


def rows_of(picture: Mapping[str, Any], mark: str) -> list[dict[str, Any]]:
    """Return the rows of the first layer of a mark."""
    return next(layer["data"]["values"] for layer in picture["layer"] if layer["mark"]["type"] == mark)


def svg_of(picture: Mapping[str, Any]) -> ET.Element:
    return ET.fromstring(vl_convert.vegalite_to_svg(json.dumps(picture), vl_version=VEGA_LITE_VERSION))


def texts_of(picture: Mapping[str, Any]) -> list[list[str]]:
    """Return the texts of a picture as they are drawn, each as its lines."""
    found = [one for one in svg_of(picture).iter() if one.tag.endswith("}text")]
    return [[part for part in one.itertext() if part] for one in found]


def notes_of(picture: Mapping[str, Any]) -> str:
    return " ".join(
        row["c0"] for layer in picture["layer"] if layer.get("name") == "notes" for row in layer["data"]["values"]
    )


# ------------------------------------------------------------------------------------------------------------- stacks
def reference_stack(series: Mapping[str, Sequence[float]], stack: str) -> dict[tuple[str, int], tuple[float, float]]:
    """Return where each value begins and ends, written from the rule: signs stand apart, and shares are of sizes."""
    found = {}
    for place in range(len(next(iter(series.values())))):
        column = {name: values[place] for name, values in series.items()}
        total = sum(abs(value) for value in column.values()) if stack == "Expand" else 1.0
        for name, value in column.items():
            names = list(column)[: list(column).index(name)]
            before = sum(column[other] for other in names if (column[other] < 0) == (value < 0))
            found[name, place] = (before / total, (before + value) / total)
    return found


@for_each("stack", ["Stack", "Expand"])
@for_each("kind", [AREA, BAR])
@for_each("axis", ["time", "category"])
def test_stacks_of_both_signs_stand_up_and_down_from_zero(kind: str, stack: str, axis: str) -> None:
    series = {"a": [100, -100, 5, 0, 3], "b": [-50, 50, 5, 7, -3], "c": [-10, -20, -30, 1, 4]}
    places = MONTHS if axis == "time" else list("pqrst")
    picture = drawn(kind, {"day": places, **series}, stack=stack)
    rows = rows_of(picture, "area" if kind == AREA else "bar")
    expected = reference_stack(series, stack)
    seen = {}
    for name in series:
        own = [row for row in rows if row["c1"] == name]
        by_place: dict[Any, int] = {}
        for row in own:
            place = by_place.setdefault(row.get("c3", row["c0"]), len(by_place))
            if row["c8"] is not None and ("c9" not in row or (row["c2"] >= 0) is (row["c9"] > 0)):
                seen[name, place] = (row["c7"], row["c8"])
    assert seen == {key: pytest.approx(ends) for key, ends in expected.items()}


def test_an_area_never_crosses_the_one_below_it() -> None:
    series = {"a": [10, -10, 10, -10, 10], "b": [-5, 5, -5, 5, -5]}
    rows = rows_of(drawn(AREA, {"day": MONTHS, **series}, stack="Stack"), "area")
    for sign in (1, -1):
        own = [row for row in rows if row["c9"] == sign and row["c8"] is not None]
        assert own
        assert all(sign * row["c8"] >= sign * row["c7"] >= 0 for row in own)


def test_a_stream_with_negative_values_stands_on_zero_and_says_so() -> None:
    picture = drawn(AREA, {"day": MONTHS, "a": [1, 2, 3, 4, 5], "b": [1, -2, 3, 4, 5]}, stack="Stream")
    assert min(row["c7"] for row in rows_of(picture, "area") if row["c8"] is not None and row["c9"] > 0) == 0
    assert "stack: 'Stream' has no side for values below 0; not applied" in notes_of(picture)


def test_totals_of_shares_stand_on_their_stacks() -> None:
    picture = drawn(BAR, {"k": ["p", "q"], "a": [100, 30], "b": [50, 30]}, stack="Expand", show_value=True)
    assert [(row["c2"], row["c3"]) for row in rows_of(picture, "text")] == [(1, "150"), (1, "60")]


def test_a_missing_value_of_a_stack_has_no_height_and_no_hole() -> None:
    picture = drawn(AREA, {"day": MONTHS, "a": [1, 2, None, 4, 5], "b": [1, 2, 3, 4, 5]}, stack="Expand")
    ends = {(row["c1"], row["c0"]): (row["c7"], row["c8"]) for row in rows_of(picture, "area")}
    march = round(MONTHS[2].timestamp() * 1_000)
    assert (ends["a", march], ends["b", march]) == ((0, 0), (0, 1))


def test_points_of_stacks_stand_at_values_alone() -> None:
    columns = {"day": MONTHS, "a": [1, None, -3, 4, 5], "b": [1, 2, 3, 4, 5]}
    picture = drawn(AREA, columns, stack="Stack", markerEnabled=True)
    assert len(rows_of(picture, "point")) == 9


# --------------------------------------------------------------------------------------------------------------- gaps
GAPS: dict[str, list[Any]] = {"day": MONTHS, "a": [1, None, 3, None, 5], "b": [1, 2, 3, None, 5]}


def line(picture: Mapping[str, Any], name: str, mark: str = "line") -> list[Any]:
    return [row["c2"] for row in rows_of(picture, mark) if row["c1"] == name]


@pytest.mark.parametrize(("kind", "mark"), [(LINE, "line"), (AREA, "area")])
def test_a_line_runs_over_places_that_others_have_and_breaks_where_none_has_a_value(kind: str, mark: str) -> None:
    picture = drawn(kind, GAPS, stack=None)
    assert line(picture, "a", mark) == [1, 3, None, 5]
    assert line(picture, "b", mark) == [1, 2, 3, None, 5]


def lone_points(picture: Mapping[str, Any]) -> list[tuple[str, Any]]:
    layers = [layer for layer in picture["layer"] if layer["mark"]["type"] == "point"]
    return [(row["c1"], row["c2"]) for layer in layers for row in layer["data"]["values"]]


@pytest.mark.parametrize("kind", [LINE, AREA])
@for_each(
    ("series", "lone"),
    [
        ({"a": [1, None, 3, 4, None]}, [("a", 1)]),
        ({"a": [1, None, None, None, 5]}, [("a", 1), ("a", 5)]),
        ({"a": [None, 2, 3, None, None]}, []),
        ({"a": [1, 2, None, None, 5], "b": [6, 7, None, 9, None]}, [("a", 5), ("b", 9)]),
        ({"a": [1, 2, None, 4, 5], "b": [6, None, None, None, None]}, [("b", 6)]),
        ({"a": [1, 2, None, None, 5], "b": [6, None, None, None, 8]}, [("a", 5), ("b", 6), ("b", 8)]),
    ],
)
def test_a_value_without_a_neighbour_is_a_point(kind: str, series: dict[str, Any], lone: list[Any]) -> None:
    picture = drawn(kind, {"day": MONTHS, **series}, stack=None)
    assert lone_points(picture) == lone
    assert not lone_points(drawn(kind, {"day": MONTHS, **series}, stack=None, markerEnabled=True))


def test_the_only_moment_of_two_series_is_two_points() -> None:
    assert lone_points(drawn(LINE, {"day": MONTHS[:1], "a": [1], "b": [2]})) == [("a", 1), ("b", 2)]


def test_the_first_three_hundred_lone_values_are_points() -> None:
    for many in (299, 300, 301, 700):
        days = [MONTHS[0] + timedelta(days=day) for day in range(2 * many)]
        values = [day // 2 if day % 2 else None for day in range(2 * many)]
        found = lone_points(drawn(LINE, {"day": days, "a": values}, stack=None))
        assert found == [("a", number) for number in range(min(many, 300))]


def test_a_lone_value_of_a_stack_has_its_point_on_its_own_side() -> None:
    picture = drawn(AREA, {"day": MONTHS[:3], "a": [-1, None, 3], "b": [-2, None, 4]}, stack="Stack")
    assert sorted(lone_points(picture)) == [("a", -1), ("a", 3), ("b", -3), ("b", 7)]


def test_a_line_breaks_at_each_value_that_resampling_found_missing() -> None:
    assert line(drawn(LINE, GAPS, resample_rule="1MS"), "a") == [1, None, 3, None, 5]


# ------------------------------------------------------------------------------------------------- bounds, logarithms
PLOT = {"k": ["a", "b", "c"], "v": [10, -20, 30]}


@pytest.mark.parametrize("form", [{}, {"orientation": "horizontal"}])
def test_labels_of_bars_beyond_the_bounds_stand_at_the_end_of_the_axis(form: dict[str, Any]) -> None:
    picture = drawn(BAR, PLOT, y_axis_bounds=[0, 20], show_value=True, **form)
    assert [(row["c2"], row["c3"]) for row in rows_of(picture, "text")] == [(10, "10"), (0, "−20"), (20, "30")]
    assert {"0", "5", "10", "15", "20"} <= {text for (text, *_) in texts_of(picture)}
    assert "Cut at the bounds of the axis: 2 values of 3." in notes_of(picture)


@pytest.mark.parametrize("kind", [LINE, AREA, "echarts_timeseries_scatter"])
def test_labels_of_points_beyond_the_bounds_are_left_out(kind: str) -> None:
    picture = drawn(kind, PLOT, y_axis_bounds=[0, 20], show_value=True)
    assert [row["c3"] for row in rows_of(picture, "text")] == ["10"]


def test_a_formula_beyond_the_bounds_leaves_the_axis() -> None:
    layers = [{"annotationType": "FORMULA", "name": "target", "value": "5000"}]
    picture = drawn(LINE, {"day": MONTHS, "v": [1, 2, 3, 2, 1]}, y_axis_bounds=[0, 4], annotation_layers=layers)
    assert {"0", "1", "2", "3", "4"} <= {text for (text, *_) in texts_of(picture)}


def test_bubbles_beyond_the_bounds_leave_the_axis() -> None:
    columns: dict[str, Any] = {"e": ["p", "q"], "x": [1, 7], "y": [2, 3_000]}
    form = {"viz_type": "bubble_v2", "x": "x", "y": "y", "entity": "e", "y_axis_bounds": [0, 4]}
    picture = chart_specification(form, [PictureData(columns=columns)])
    assert {"0", "1", "2", "3", "4"} <= {text for (text, *_) in texts_of(picture)}


@for_each(("values", "least"), [([10, -20, 30], 1), ([25, 300], 10), ([0.03, 5], 0.01), ([2, 9], 1)])
@for_each("axis", ["time", "category"])
def test_bars_on_a_logarithmic_axis_begin_below_the_smallest(values: list[float], least: float, axis: str) -> None:
    places = MONTHS if axis == "time" else list("pqrst")
    picture = drawn(BAR, {"k": places[: len(values)], "v": values}, logAxis=True)
    layer = picture["layer"][0]
    assert layer["encoding"]["y"]["scale"]["domainMin"] == pytest.approx(least)
    assert [row["c2"] for row in layer["data"]["values"]] == [value for value in values if value > 0]


@pytest.mark.parametrize("kind", [LINE, AREA, BAR, "echarts_timeseries_scatter"])
def test_what_a_logarithmic_axis_leaves_out_is_told(kind: str) -> None:
    picture = drawn(kind, PLOT, logAxis=True, show_value=True)
    assert "Left out: 1 value not above 0" in notes_of(picture)
    assert [row["c3"] for row in rows_of(picture, "text")] == ["10", "30"]


@pytest.mark.parametrize("kind", [LINE, AREA, BAR, "echarts_timeseries_scatter"])
def test_zero_has_no_place_on_a_logarithmic_axis_and_is_told_once(kind: str) -> None:
    columns = {"k": ["a", "b", "c", "d"], "v": [10, 0, 30, 99]}
    picture = drawn(kind, columns, logAxis=True, y_axis_bounds=[1, 50], truncateYAxis=True)
    assert "Left out: 1 value not above 0, where a logarithmic axis has no place." in notes_of(picture)
    assert "Cut at the bounds of the axis: 1 value of 3." in notes_of(picture)
    numbers = [row["c2"] for row in picture["layer"][0]["data"]["values"]]
    assert [value for value in numbers if value is not None] == [10, 30, 99]


def test_a_band_that_ends_at_zero_is_left_out_of_a_logarithmic_axis() -> None:
    columns = {"day": MONTHS, "v": [3, 4, 5, 6, None], "v__yhat": [3, 4, 5, 6, 7]}
    columns |= {"v__yhat_lower": [2, 3, 4, 5, -9], "v__yhat_upper": [4, 5, 6, 7, 0]}
    picture = drawn(LINE, columns, metrics=["v"], logAxis=True)
    assert [(row["c2"], row["c3"]) for row in rows_of(picture, "area")] == [(2, 4), (3, 5), (4, 6), (5, 7)]


def test_stacks_have_no_logarithmic_axis_and_say_so() -> None:
    picture = drawn(BAR, {"k": ["p", "q"], "a": [1, 2], "b": [3, 4]}, stack="Stack", logAxis=True)
    assert "type" not in picture["layer"][0]["encoding"]["y"]["scale"]
    assert "logAxis: True is for series that do not stack; not applied" in notes_of(picture)


def test_a_band_and_a_formula_below_zero_keep_a_logarithmic_axis() -> None:
    columns = {"day": MONTHS, "v": [3, 4, 5, 6, None], "v__yhat": [3, 4, 5, 6, 7]}
    columns |= {"v__yhat_lower": [2, 3, 4, 5, -9], "v__yhat_upper": [4, 5, 6, 7, 9]}
    layers = [{"annotationType": "FORMULA", "name": "target", "value": "x / 1e12 - 5"}]
    form = {"metrics": ["v"], "logAxis": True, "annotation_layers": layers}
    picture = drawn(LINE, columns, **form)
    assert [row["c2"] for row in rows_of(picture, "area")] == [2, 3, 4, 5, 1]
    assert {"1", "10"} <= {text for (text, *_) in texts_of(picture)}


def test_kinds_that_place_each_number_say_that_a_logarithmic_axis_does_not_hold_it() -> None:
    columns: dict[str, Any] = {"e": ["p", "q"], "x": [1, 7], "y": [2, 0]}
    form = {"viz_type": "bubble_v2", "x": "x", "y": "y", "entity": "e", "logYAxis": True, "logXAxis": True}
    picture = chart_specification(form, [PictureData(columns=columns)])
    scales = [picture["layer"][0]["encoding"][name]["scale"].get("type") for name in ("x", "y")]
    assert scales == ["log", None]
    assert "logYAxis: True has no place for values not above 0; not applied" in notes_of(picture)
    parts = {"min": 0, "q1": 2, "median": 4, "q3": 6, "max": 9}
    boxes: dict[str, Any] = {"e": ["p"], **{f"v__{name}": [value] for name, value in parts.items()}}
    picture = chart_specification({"viz_type": "box_plot", "logAxis": True}, [PictureData(columns=boxes)])
    assert "logAxis: True has no place for values not above 0; not applied" in notes_of(picture)


def test_both_groups_of_a_mixed_chart_share_the_logarithmic_axis_of_a_side() -> None:
    form = {"viz_type": "mixed_timeseries", "x_axis": "day", "metrics": ["a"], "metrics_b": ["b"], "logAxis": True}
    data = [
        PictureData(columns={"day": MONTHS, name: [place] * 5}, temporal=frozenset({"day"}))
        for name, place in (("a", 30), ("b", 4_000))
    ]
    picture = chart_specification({**form, "seriesType": "bar", "y_axis_bounds": [0, None]}, data)
    scales = [group["layer"][0]["encoding"]["y"]["scale"] for group in picture["layer"][:2]]
    assert [(scale["type"], scale["domainMin"]) for scale in scales] == [("log", 10)] * 2
    assert "y_axis_bounds: 0.0 is not above 0, as a logarithmic axis is; not applied" in notes_of(picture)


# -------------------------------------------------------------------------------------------------------------- times
def labels_of(start: datetime, step: timedelta, count: int, kind: str = LINE) -> list[list[str]]:
    """Return the labels of an axis of moments, each as its lines."""
    moments = [start + step * place for place in range(count)]
    texts = texts_of(drawn(kind, {"t": moments, "v": [0] * count}))
    return [lines for lines in texts if ":" in lines[0]]


def test_times_of_three_days_have_their_dates() -> None:
    labels = labels_of(datetime(2024, 3, 1, 18, 30, tzinfo=UTC), timedelta(days=1), 3, BAR)
    assert labels == [["18:30", "2024-03-01"], ["18:30", "2024-03-02"], ["18:30", "2024-03-03"]]


def test_the_first_time_of_a_day_has_its_date_and_all_have_24_hours() -> None:
    labels = labels_of(datetime(2024, 1, 1, 22, 30, tzinfo=UTC), timedelta(minutes=15), 16)
    assert labels[0] == ["22:30", "2024-01-01"]
    assert [lines for lines in labels if len(lines) > 1] == [labels[0], ["00:00", "2024-01-02"]]
    assert [lines[0] for lines in labels if lines[0] < "12"] == ["00:00", "00:30", "01:00", "01:30", "02:00"]


@for_each(
    ("step", "count", "first"),
    [
        (timedelta(seconds=7), 6, "12:00:05"),
        (timedelta(hours=1), 49, "12:00"),
        (timedelta(hours=12), 5, "12:00"),
        (timedelta(milliseconds=3), 24, "12:00:05"),
        (timedelta(milliseconds=300), 24, "12:00:05"),
    ],
)
def test_the_first_label_of_times_has_the_date(step: timedelta, count: int, first: str) -> None:
    start = datetime(2024, 10, 26, 12, 0, 5 if step < timedelta(hours=1) else 0, tzinfo=UTC)
    labels = labels_of(start, step, count)
    assert labels[0] == [first, "2024-10-26"]
    days = [lines[1] for lines in labels if len(lines) > 1]
    assert (
        len(days) == len(set(days)) == math.ceil((start.hour * 3_600 + (count - 1) * step.total_seconds() + 1) / 86_400)
    )


def test_days_among_many_keep_labels_of_days() -> None:
    assert labels_of(datetime(2024, 3, 1, tzinfo=UTC), timedelta(days=1), 10) == []


# ------------------------------------------------------------------------------------------------------ unknown words
@for_each(
    ("kind", "name"),
    [
        *((BAR, name) for name in ("color_scheme", "orientation", "stack", "legendOrientation", "x_axis_sort_series")),
        ("echarts_timeseries", "seriesType"),
        (AREA, "stacked_style"),
        ("pie", "label_type"),
        ("pie", "roseType"),
        ("funnel", "percent_calculation_type"),
        ("treemap_v2", "color_scheme"),
        ("big_number", "aggregation"),
    ],
)
def test_a_word_that_pictures_do_not_know_is_told_in_the_picture(kind: str, name: str) -> None:
    form = {"metric": "a", "groupby": ["k"]} if kind in ("pie", "funnel", "treemap_v2") else {"metrics": ["a", "b"]}
    columns = {"k": MONTHS if kind == "big_number" else list("pqrst"), "a": [1, 2, 3, 4, 5], "b": [1, 2, 3, 4, 5]}
    picture = drawn(kind, columns, **form, **{name: "nope"})
    assert f"{name}: 'nope' is " in picture["description"]
    assert any(f"{name}: 'nope' is " in " ".join(lines) for lines in texts_of(picture))


@pytest.mark.parametrize(
    ("kind", "name", "word"),
    [
        (BAR, "orientation", "Horizontal"),
        (BAR, "legendOrientation", "LEFT"),
        (BAR, "color_scheme", "D3CATEGORY10"),
        ("pivot_table_v2", "metricsLayout", "rows"),
    ],
)
def test_a_word_in_another_case_than_pictures_know_is_told(kind: str, name: str, word: str) -> None:
    columns = {"k": list("pqrst"), "a": [1, 2, 3, 4, 5], "b": [1, 2, 3, 4, 5]}
    description = drawn(kind, columns, metrics=["a", "b"], **{name: word})["description"]
    assert f"{name}: '{word}' is n" in description


@pytest.mark.parametrize("label_type", ["KEY_VALUE", "key_value"])
def test_kinds_of_labels_of_parts_are_read_without_regard_to_case(label_type: str) -> None:
    picture = drawn("pie", {"k": ["p", "q"], "a": [1, 3]}, metric="a", groupby=["k"], label_type=label_type)
    assert {"p: 1", "q: 3"} <= {lines[0] for lines in texts_of(picture)}
    assert "not applied" not in picture["description"]


class CountedForm(dict[str, Any]):
    """A form that counts how often `show_labels` is read, which a pie does once when it is drawn."""

    reads = 0

    def get(self, key: str, default: Any = None) -> Any:
        self.reads += key == "show_labels"
        return super().get(key, default)


@pytest.mark.parametrize(("field", "times"), [("number_format", 1), ("label_type", 2)])
def test_a_canvas_is_drawn_again_only_for_notes_that_it_lacks(field: str, times: int) -> None:
    form = CountedForm({"viz_type": "pie", "metric": "a", "groupby": ["k"], field: "nope"})
    picture = chart_specification(form, [PictureData(columns={"k": ["p", "q"], "a": [1, 3]})], size=Size())
    assert form.reads == times
    notes = [" ".join(lines) for lines in texts_of(picture)]
    assert [text.split(" is ")[0] for text in notes if "nope" in text] == [f"{field}: 'nope'"]
    assert picture["description"].count("nope") == 1


@for_each("stack", [None, "", "expand", "Stack", True, False])
def test_words_that_pictures_know_are_not_told(stack: Any) -> None:
    columns = {"day": MONTHS, "a": [1, 2, 3, 4, 5], "b": [1, 2, 3, 4, 5]}
    assert "not applied" not in drawn(BAR, columns, stack=stack, color_scheme="supersetColors")["description"]


def condition(**changes: Any) -> dict[str, Any]:
    return {"column": "v", "operator": ">", "targetValue": 3, "colorScheme": "#ff0000"} | changes


@for_each(
    ("given", "note"),
    [
        (condition(column="zz"), "'zz' is no column of the answer"),
        (condition(operator=">>"), "'>>' is no operator"),
        (condition(targetValue=None), "None is no targetValue for >"),
        (condition(operator="< x <", targetValueLeft=1), "None is no targetValueRight for < x <"),
        ("red", "'red' is no condition"),
        (condition(), ""),
        (condition(operator="None", targetValue=None), ""),
    ],
)
def test_a_condition_that_never_holds_is_told(given: Any, note: str) -> None:
    description = drawn("table", PLOT, conditional_formatting=[given])["description"]
    assert f"conditional_formatting: {note}; not applied" in description if note else "not applied" not in description


# --------------------------------------------------------------------------------------------------------- categories
def test_long_names_of_horizontal_bars_are_all_shown() -> None:
    names = [f"A rather long name of the category number {place}" for place in range(30)]
    picture = drawn(BAR, {"k": names, "v": list(range(30))}, orientation="horizontal")
    assert {lines[0] for lines in texts_of(picture)} >= set(names)


def test_names_without_room_are_told() -> None:
    names = [f"name {place}" for place in range(90)]
    picture = drawn(BAR, {"k": names, "v": list(range(90))}, orientation="horizontal")
    assert "Shows one name in 3 on an axis; the others have no room." in notes_of(picture)

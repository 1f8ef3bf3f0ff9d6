"""Numbers in pictures: all their digits, no number that is left out unsaid, and how many rows and columns are shown."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest
from tests.support.cases import for_each

from analytics_core._pictures import cells
from analytics_core._pictures.data import PictureData, Size
from analytics_core._pictures.specification import chart_specification
from analytics_core._pictures.text_metrics import text_width
from analytics_core._tools.display.values import column_texts
from analytics_core._tools.formats import format_number

BIG = (2**53 + 1, 2**53 + 3, 2**53 + 5)
ALL = f"{sum(BIG):,}"
EACH = [f"{value:,}" for value in BIG]
MONEY = (Decimal("12345678901234567.89"), Decimal("0.10"), Decimal("-2.675"))


def draw(form: Mapping[str, Any], columns: Mapping[str, Sequence[Any]], **size: Any) -> dict[str, Any]:
    return chart_specification(form, [PictureData(columns=columns)], size=Size(**size))


def texts(specification: Mapping[str, Any]) -> list[str]:
    """Return the texts that a specification draws, in their order."""
    found = []
    for layer in specification["layer"]:
        if layer["mark"]["type"] == "text":
            name = layer["encoding"]["text"]["field"]
            found += [row[name] for row in layer["data"]["values"]]
    return found


# ----------------------------------------------------------------------------------------------------------- all digits
@for_each(
    ("kind", "form"),
    [
        ("table", {"column_config": {"n": {"d3NumberFormat": ",d"}}}),
        ("table", {}),
        ("echarts_timeseries_bar", {"y_axis_format": ",d", "show_value": True, "x_axis": "k"}),
        ("pie", {"number_format": ",d", "label_type": "key_value", "groupby": ["k"]}),
        ("treemap_v2", {"number_format": ",d", "groupby": ["k"]}),
        ("funnel", {"number_format": ",d", "groupby": ["k"]}),
        ("pivot_table_v2", {"valueFormat": ",d", "groupbyRows": ["k"]}),
        ("partition", {"number_format": ",d", "groupby": ["k"]}),
    ],
)
def test_integers_that_doubles_round_keep_their_digits(kind: str, form: Mapping[str, Any]) -> None:
    spec = draw({"viz_type": kind, "metrics": ["n"], "metric": "n", **form}, {"k": ["a", "b", "c"], "n": BIG})
    words = " ".join([*texts(spec), spec["description"]])
    assert [one for one in EACH if one not in words] == []


@pytest.mark.parametrize("kind", ["pie", "treemap_v2", "sunburst_v2"])
def test_a_description_has_the_exact_sum(kind: str) -> None:
    form = {"viz_type": kind, "number_format": ",d", "metric": "n", "groupby": ["k"], "columns": ["k"]}
    assert f" of {ALL} in all" in draw(form, {"k": ["a", "b", "c"], "n": BIG})["description"]


def test_descriptions_of_flows_and_of_steps_have_exact_numbers() -> None:
    ends: dict[str, Sequence[Any]] = {"k": ["a", "a"], "t": ["b", "b"], "n": [2**53, 1]}
    flow = {"viz_type": "sankey_v2", "metric": "n", "source": "k", "target": "t", "number_format": ",d"}
    assert draw(flow, ends)["description"].endswith(f"from a to b with {EACH[0]}.")
    steps = {"viz_type": "waterfall", "metric": "n", "x_axis": "k", "y_axis_format": ",d"}
    assert draw(steps, {"k": ["a", "b", "c"], "n": BIG})["description"].endswith(f"which end at {ALL}.")


def test_a_big_number_has_all_digits_of_integers_and_decimals() -> None:
    form = {"viz_type": "big_number_total", "metric": "n"}
    assert texts(draw({**form, "y_axis_format": ",d"}, {"n": [sum(BIG)]}))[0] == ALL
    assert texts(draw({**form, "y_axis_format": ",.3f"}, {"n": [sum(MONEY)]}))[0] == "12,345,678,901,234,565.315"


def test_totals_of_pivots_add_decimals_exactly() -> None:
    columns = {"k": ["a", "b", "c"], "n": MONEY}
    form = {"viz_type": "pivot_table_v2", "metrics": ["n"], "groupbyRows": ["k"], "colTotals": True}
    assert "12,345,678,901,234,565.315" in texts(draw({**form, "valueFormat": ",.3f"}, columns, width_px=900))


def test_decimals_are_rounded_by_their_own_digits_not_those_of_the_nearest_double() -> None:
    form = {"viz_type": "table", "column_config": {"n": {"d3NumberFormat": ".2f"}}}
    assert texts(draw(form, {"n": [Decimal("2.675"), Decimal("1.005")]}))[1:] == ["2.68", "1.01"]


def test_sums_are_exact_unless_a_double_is_among_them() -> None:
    decimals = [cells.number(value) or 0 for value in MONEY]
    assert format_number(cells.exact(cells.total(decimals)), ".3f") == "12345678901234565.315"
    assert cells.total(BIG) == sum(BIG)
    assert cells.total([0.1] * 10) == 1.0
    assert cells.total([]) == 0


# ------------------------------------------------------------------------------------ tables without formats
@for_each(
    ("name", "values"),
    [
        ("id", [1_234_567_890_123_451, 1_234_567_890_123_452]),
        ("order id", [1_204, 12_040]),
        ("year", [2023, 2024]),
        ("amount", [1_204, 12_040]),
        ("amount", [1_204.5, 12_040.25]),
        ("year", [2023.0, None]),
    ],
)
def test_tables_write_numbers_as_tables_of_notebooks_do(name: str, values: Sequence[Any]) -> None:
    expected = [text or "<NULL>" for text in column_texts(values, name=name)]
    assert texts(draw({"viz_type": "table"}, {name: values}))[1:] == expected


def test_ids_and_years_have_no_commas_and_no_exponent() -> None:
    ids = [1_234_567_890_123_451, 1_234_567_890_123_452]
    assert texts(draw({"viz_type": "table"}, {"id": ids, "year": [2023, 2024]}))[2:] == [
        *map(str, ids),
        "2023",
        "2024",
    ]


# ------------------------------------------------------------------------------------------------ what tables leave out
def test_a_wide_pivot_says_once_how_many_columns_it_shows() -> None:
    wide: dict[str, Sequence[Any]] = {"k": ["a"] * 60, "c": [f"column {place}" for place in range(60)], "n": [1] * 60}
    form = {"viz_type": "pivot_table_v2", "metrics": ["n"], "groupbyRows": ["k"], "groupbyColumns": ["c"]}
    spec = draw({**form, "rowTotals": True}, wide)
    assert spec["description"].count("Shows") == 1
    assert " of 63 columns." in spec["description"]


def test_a_wide_table_says_once_how_many_columns_it_shows() -> None:
    spec = draw({"viz_type": "table"}, {f"column {place}": [1] for place in range(80)})
    assert spec["description"].count("Shows") == 1
    assert " of 80 columns." in spec["description"]


@pytest.mark.parametrize("title", ["", "Orders"])
def test_a_table_without_a_height_shows_fifty_rows_at_most(title: str) -> None:
    data = PictureData(columns={"n": list(range(10, 90))})
    spec = chart_specification({"viz_type": "table"}, [data], size=Size(fits_rows=True), title=title)
    assert [text for text in texts(spec) if text.isdigit()] == [str(number) for number in range(10, 60)]
    assert "Shows the first 50 of 80 rows." in spec["description"]
    assert max(row["c1"] for layer in spec["layer"] for row in layer["data"]["values"]) <= spec["height"]


# --------------------------------------------------------------------------------------- scales, and numbers below zero
def scale(values: Sequence[float], **form: Any) -> tuple[float, float]:
    """Return the ends of the scale of a gauge, as its picture names them."""
    columns = {"k": [str(place) for place in range(len(values))], "n": values}
    spec = draw({"viz_type": "gauge_chart", "metric": "n", "groupby": ["k"], "number_format": ".6g", **form}, columns)
    found = re.search(r" from (\S+) to (\S+):", spec["description"])
    assert found is not None
    low, high = (float(end.replace("\u2212", "-")) for end in found.groups())
    return low, high


@for_each("values", [[-34], [-0.2], [-1e9], [34], [0], [-3, -7], [-5, 10, 33], [1e-3, -1e6], [5, 500]])
@for_each("steps", [1, 5, 10])
def test_the_scale_of_a_gauge_holds_zero_and_all_values(values: Sequence[float], steps: int) -> None:
    low, high = scale(values, split_number=steps)
    assert low <= min(0, *values) < max(0, *values) <= high or low <= 0 == values[0] < high


def test_a_gauge_says_that_a_value_lies_beyond_its_scale() -> None:
    form = {"viz_type": "gauge_chart", "metric": "n", "min_val": 0, "max_val": 20}
    assert "Beyond the ends of the scale: 1 of 1 value." in draw(form, {"n": [34]})["description"]
    assert "Beyond" not in draw(form, {"n": [14]})["description"]
    assert "is not above" in draw({**form, "max_val": -1}, {"n": [14]})["description"]


def test_hands_of_several_gauges_stay_in_their_rings() -> None:
    spec = draw({"viz_type": "gauge_chart", "metric": "n", "groupby": ["k"]}, {"k": ["a", "b"], "n": [10, 20]})
    paths = [row["c0"] for layer in spec["layer"] for row in layer["data"]["values"] if str(row["c0"]).startswith("M")]
    lengths = [math.dist(*(map(float, point.split(",")) for point in path[1:].split("L"))) for path in paths]
    assert len(lengths) == 2
    assert max(lengths) < 30


BELOW: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "pie": ({"metric": "n", "groupby": ["k"]}, "Left out: 1 of 3 groups without a value above zero."),
    "funnel": ({"metric": "n", "groupby": ["k"]}, "Left out: 1 of 3 groups without a value above zero."),
    "treemap_v2": ({"metric": "n", "groupby": ["k"]}, "Left out: 1 of 3 groups without a value above zero."),
    "sunburst_v2": ({"metric": "n", "columns": ["k"]}, "Left out: 1 of 3 groups without a value above zero."),
    "partition": ({"metrics": ["n"], "groupby": ["k"]}, "Left out: 1 of 3 groups without a value above zero."),
    "word_cloud": ({"metric": "n", "series": "k"}, "Left out: 1 of 3 groups without a value above zero."),
    "sankey_v2": ({"metric": "n", "source": "k", "target": "t"}, "Left out: 1 of 3 groups without a value above zero."),
    "chord": ({"metric": "n", "groupby": "k", "columns": "t"}, "Left out: 1 of 3 groups without a value above zero."),
    "graph_chart": (
        {"metric": "n", "source": "k", "target": "t"},
        "Left out: 1 of 3 groups without a value above zero.",
    ),
    "rose": ({"metrics": ["n"], "x_axis": "k"}, "Below zero: 1 of 9 values, not drawn."),
    "bubble_v2": ({"x": "x", "y": "y", "size": "n"}, "Below zero: 1 of 3 values, drawn as the smallest bubbles."),
    "radar": ({"metrics": ["n", "x", "y"], "groupby": ["k"]}, "Below zero: 1 of 9 values, drawn in the middle, as 0."),
}
THREE: Mapping[str, Sequence[Any]] = {
    "k": ["a", "b", "c"],
    "t": ["d", "e", "f"],
    "x": [1, 2, 3],
    "y": [3, 1, 2],
    "n": [10, -40, 20],
}


@for_each("kind", BELOW)
def test_kinds_that_cannot_draw_numbers_below_zero_say_so(kind: str) -> None:
    form, note = BELOW[kind]
    assert note in draw({"viz_type": kind, **form}, THREE)["description"]
    assert "zero" not in draw({"viz_type": kind, **form}, {**THREE, "n": [10, 40, 20]})["description"]


def test_a_bubble_below_zero_is_the_smallest() -> None:
    spec = draw({"viz_type": "bubble_v2", "x": "x", "y": "y", "size": "n", "entity": "k"}, THREE)
    sizes = {row["c4"]: row["c5"] for row in spec["layer"][0]["data"]["values"]}
    assert sizes["b"] < sizes["a"] < sizes["c"]


def test_a_bubble_chart_and_a_waterfall_say_what_has_no_number() -> None:
    columns = {**THREE, "n": [10, None, 20]}
    bubbles = draw({"viz_type": "bubble_v2", "x": "x", "y": "y", "size": "n"}, columns)
    assert "Left out: 1 of 3 rows without all numbers." in bubbles["description"]
    steps = draw({"viz_type": "waterfall", "metric": "n", "x_axis": "k"}, columns)
    assert "1 step without a value: drawn as 0." in steps["description"]


# --------------------------------------------------------------------------------------------------------- small rooms
def test_names_and_numbers_of_one_character_stand_in_a_treemap() -> None:
    spec = draw({"viz_type": "treemap_v2", "metric": "n", "groupby": ["k"]}, {"k": ["a", "b", "cc"], "n": [30, 20, 7]})
    assert set(texts(spec)) == {"a", "30", "b", "20", "cc", "7"}


@for_each("size", [(60, 60), (120, 80), (160, 100), (200, 120), (300, 100), (640, 400)])
def test_the_words_of_an_error_stay_in_their_box(size: tuple[int, int]) -> None:
    data = PictureData(error="column 'sales' of table 'orders' does not exist; " * 9)
    spec = chart_specification({"viz_type": "pie"}, [data], size=Size(width_px=size[0], height_px=size[1]), title="A")
    (box,) = next(layer for layer in spec["layer"] if layer["mark"]["type"] == "rect")["data"]["values"]
    for layer in spec["layer"]:
        for row in layer["data"]["values"] if layer["mark"]["type"] == "text" else ():
            if row["c2"] == "A":
                continue
            wide, high = text_width(row["c2"], row["c4"], bold=layer["mark"]["fontWeight"] == "bold"), row["c4"]
            assert box["c0"] <= row["c0"] - wide / 2
            assert row["c0"] + wide / 2 <= box["c2"]
            assert box["c1"] <= row["c1"] - high / 2 + 1
            assert row["c1"] + high / 2 <= box["c3"] + 1


def test_a_null_is_not_as_large_as_a_number() -> None:
    spec = draw({"viz_type": "big_number_total", "metric": "n"}, {"n": [None]})
    assert [row["c4"] for layer in spec["layer"] for row in layer["data"]["values"] if row["c2"] == "<NULL>"] == [28.0]

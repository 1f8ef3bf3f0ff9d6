"""Fields of forms that change a picture: legends, annotations, columns of tables, colours and bounds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import vl_convert

from analytics_core._pictures.data import PictureData, Size
from analytics_core._pictures.form_fields import FormFields
from analytics_core._pictures.specification import VEGA_LITE_VERSION, chart_specification

MONTHS = [datetime(2024, month, 1, tzinfo=UTC) for month in range(1, 13)]
FIRST_MS = MONTHS[0].timestamp() * 1_000


def draw(form: Mapping[str, Any], *answers: PictureData) -> dict[str, Any]:
    return chart_specification(form, answers, size=Size(width_px=640, height_px=400))


def drawn(specification: Mapping[str, Any]) -> list[str]:
    """Return the texts of a picture in the order in which they are drawn."""
    svg = vl_convert.vegalite_to_svg(json.dumps(specification), vl_version=VEGA_LITE_VERSION)
    return ["".join(element.itertext()) for element in ET.fromstring(svg).iter() if element.tag.endswith("}text")]


def marks(specification: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the rows of all layers of one kind of mark."""
    layers = [layer for layer in specification["layer"] if layer["mark"]["type"] == kind]
    return [row for layer in layers for row in layer["data"]["values"]]


def test_the_reason_of_an_error_is_drawn() -> None:
    labels = drawn(draw({"viz_type": "pie"}, PictureData(error="there is no column 'x'")))
    assert labels == ["This chart has no answer", "there is no column 'x'"]


@pytest.mark.parametrize(
    ("options", "side"), [({}, "top"), ({"legendOrientation": "left"}, "left"), ({"show_legend": False}, None)]
)
def test_a_legend_stands_where_the_form_says(options: dict[str, Any], side: str | None) -> None:
    answer = PictureData(columns={"t": MONTHS, "a": [1] * 12, "b": [2] * 12}, temporal=frozenset({"t"}))
    found = draw({"viz_type": "echarts_timeseries_line", "x_axis": "t", **options}, answer)
    legend = found["layer"][0]["encoding"]["color"]["legend"]
    assert (None if legend is None else legend["orient"]) == side


# -------------------------------------------------------------------------------------------------------- annotations
def annotated(layer: Mapping[str, Any], *records: Mapping[str, Any]) -> dict[str, Any]:
    answer = PictureData(
        columns={"t": MONTHS, "n": [5] * 12},
        temporal=frozenset({"t"}),
        annotations={"Releases": {"records": list(records)}},
    )
    form = {"viz_type": "echarts_timeseries_line", "x_axis": "t", "annotation_layers": [{"name": "Releases", **layer}]}
    return draw(form, answer)


@pytest.mark.parametrize("is_visible", [True, False])
def test_an_annotation_is_drawn_unless_it_is_switched_off(is_visible: bool) -> None:
    event = {"start_dttm": "2024-03-10", "short_descr": "Version 2"}
    assert ("Version 2" in drawn(annotated({"annotationType": "EVENT", "show": is_visible}, event))) is is_visible


def test_an_interval_that_begins_before_the_chart_is_cut_at_its_edge() -> None:
    interval = {"start_dttm": "2023-01-01", "end_dttm": "2024-02-01", "short_descr": "Before"}
    (span,) = marks(annotated({"annotationType": "INTERVAL"}, interval), "rect")
    assert (span["c0"], span["c1"]) == (FIRST_MS, MONTHS[1].timestamp() * 1_000)


def test_the_series_of_another_chart_is_a_line() -> None:
    rows = [{"day": month.isoformat(), "target": 7 + place} for place, month in enumerate(MONTHS[:3])]
    found = annotated({"annotationType": "TIME_SERIES", "timeColumn": "day"}, *rows)
    values = [row.get("c1") for row in found["layer"][1]["data"]["values"]]
    assert (found["layer"][1]["mark"]["type"], values) == ("line", [7.0, 8.0, 9.0])
    assert "Releases: target" in drawn(found)


def test_annotations_on_an_axis_of_categories_are_told_not_to_be_drawn() -> None:
    layer = {"name": "Releases", "annotationType": "EVENT", "show": True}
    form = {"viz_type": "echarts_timeseries_bar", "x_axis": "g", "annotation_layers": [layer]}
    found = draw(form, PictureData(columns={"g": ["a", "b"], "n": [1, 2]}))
    assert "The annotations Releases are not drawn on an axis of categories." in found["description"]


# ------------------------------------------------------------------------------------------------------------- tables
def table(config: Mapping[str, Any], columns: Mapping[str, Sequence[Any]], **form: Any) -> dict[str, Any]:
    return draw({"viz_type": "table", "column_config": config, **form}, PictureData(columns=columns))


def test_numbers_stand_at_the_right_and_texts_at_the_left_unless_the_form_says_otherwise() -> None:
    def sides(config: Mapping[str, Any]) -> dict[str, str]:
        found = table(config, {"g": ["north"], "n": [7]})
        layers = [layer for layer in found["layer"] if layer["mark"]["type"] == "text"]
        return {row["c2"]: layer["mark"]["align"] for layer in layers for row in layer["data"]["values"]}

    assert {"north": "left", "7": "right"}.items() <= sides({}).items()
    assert {"north": "left", "7": "center"}.items() <= sides({"n": {"horizontalAlign": "center"}}).items()


def test_columns_have_the_names_that_the_form_gives_and_hidden_ones_are_left_out() -> None:
    config = {"g": {"customColumnName": "Region"}, "m": {"visible": False}}
    assert sorted(drawn(table(config, {"g": ["a"], "n": [7], "m": [88]}))) == ["7", "Region", "a", "n"]


def test_small_numbers_of_a_column_have_a_format_of_their_own() -> None:
    config = {"n": {"d3NumberFormat": ",.0f", "d3SmallNumberFormat": ".3f"}}
    assert drawn(table(config, {"n": [1234.5, 0.25]}))[1:] == ["1,235", "0.250"]


def test_bars_behind_numbers_begin_at_their_zero() -> None:
    found = table({}, {"n": [-5, 15]}, metrics=["n"], show_cell_bars=True)
    without = table({}, {"n": [-5, 15]}, metrics=["n"], show_cell_bars=False)
    bars = [row for row in marks(found, "rect") if row not in marks(without, "rect")]
    negative, positive = sorted(bars, key=lambda row: row["c0"])
    assert negative["c2"] - negative["c0"] == pytest.approx((positive["c2"] - positive["c0"]) / 3, rel=0.01)
    assert negative["c2"] == pytest.approx(positive["c0"], abs=1)


def test_a_table_tells_how_many_rows_the_server_counted() -> None:
    form = {"viz_type": "table", "server_pagination": True}
    rows, count = PictureData(columns={"n": [1, 2, 3]}), PictureData(columns={"rowcount": [1_234]})
    assert "of 1,234 rows" in draw(form, rows, count)["description"]


# ------------------------------------------------------------------------------------------------------------- fields
def test_a_picked_colour_has_two_digits_for_each_part() -> None:
    assert FormFields({"c": {"r": 1, "g": 0, "b": 255, "a": 1}}).rgb("c") == "#0100ff"
    assert FormFields({"c": {"r": 1, "g": 300, "b": 255}}).rgb("c") is None


@pytest.mark.parametrize(
    ("setting", "bounds", "note"),
    [
        ([1, "5"], (1.0, 5.0), ""),
        ([None, 5], (None, 5.0), ""),
        ([5, 1], (None, None), "is no range; not applied"),
        ([1], (None, None), "is no pair of numbers; not applied"),
    ],
)
def test_bounds_that_are_no_range_are_told_and_not_used(setting: Any, bounds: tuple[Any, Any], note: str) -> None:
    fields = FormFields({"y": setting})
    assert fields.bounds("y") == bounds
    assert "".join(fields.notes).endswith(note)
    assert bool(fields.notes) is bool(note)

"""A time column that a dashboard chooses takes the place of the one that a chart, asked by its form, is bounded on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.filtered_dashboard import FilteredDashboard, answered, by_hand, filtered_dashboard, native

from analytics_core import AnalyticsCore

CHOSEN = {"time": "2024-04-01 : 2024-06-01", "time column": "paid"}
IN_TIME = "paid >= '2024-04-01' AND paid < '2024-06-01'"
ON_DAY = {
    "clause": "WHERE",
    "expressionType": "SIMPLE",
    "subject": "day",
    "operator": "TEMPORAL_RANGE",
    "comparator": "No filter",
}
BY_MONTH = {"x_axis": "day", "time_grain_sqla": "P1M", "adhoc_filters": [ON_DAY]}


@pytest.fixture
def filtered(tmp_path: Path) -> Iterator[FilteredDashboard]:
    with filtered_dashboard(f"sqlite:///{tmp_path}/shop.db") as made:
        yield made


@pytest.fixture
def core(filtered: FilteredDashboard) -> AnalyticsCore:
    return filtered.world.admin


def ask_by_form(board: FilteredDashboard, name: str, **form: Any) -> None:
    changes = {"viz_type": form["viz_type"], "params": json.dumps(form), "query_context": None}
    board.world.admin.charts.update(board.charts[name], changes)


@pytest.mark.slow
@for_each(
    "form",
    [
        {"viz_type": "echarts_timeseries_line", "metrics": ["revenue"]},
        {"viz_type": "echarts_timeseries_bar", "metrics": ["revenue"], "x_axis_sort": "day", "x_axis_sort_asc": True},
        {"viz_type": "big_number", "metric": "revenue"},
        {"viz_type": "waterfall", "metric": "revenue", "groupby": []},
        {"viz_type": "mixed_timeseries", "metrics": ["revenue"], "metrics_b": ["revenue"]},
    ],
    ids=lambda form: str(form["viz_type"]),
)
def test_a_chosen_time_column_is_the_axis_of_charts_over_time(
    filtered: FilteredDashboard, core: AnalyticsCore, form: dict[str, Any]
) -> None:
    ask_by_form(filtered, "months", **BY_MONTH, **form)
    assert answered(core, "months", filters=CHOSEN) == by_hand("months", IN_TIME, axis="paid")
    assert core.dashboards.data(1, filters=CHOSEN).chart("months").results[0].colnames[0] == "paid"
    assert answered(core, "months") == by_hand("months", "1 = 1")


def test_a_forecast_and_ranks_follow_the_chosen_time_column(filtered: FilteredDashboard, core: AnalyticsCore) -> None:
    heat = {"viz_type": "heatmap_v2", "groupby": "region", "metric": "revenue", "normalize_across": "x"}
    ask_by_form(filtered, "months", **BY_MONTH, **heat, sort_x_axis="alpha_asc")
    result = core.dashboards.data(1, filters=CHOSEN).chart("months").raise_for_error().results[0]
    assert result.colnames == ("paid", "region", "revenue", "rank")
    line = {"viz_type": "echarts_timeseries_line", "metrics": ["revenue"]}
    ask_by_form(filtered, "months", **BY_MONTH, **line, forecastEnabled=True, forecastPeriods=2, forecastInterval=0.8)
    chosen = {"time column": "paid", "time": "2024-03-01 : 2024-07-01"}
    result = core.dashboards.data(1, filters=chosen).chart("months").raise_for_error().results[0]
    assert [row[0].month for row in result.rows()] == [3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("total", {"viz_type": "big_number_total", "metric": "revenue"}),
        ("ids", {"viz_type": "table", "query_mode": "raw", "all_columns": ["id"]}),
        ("cities", {"viz_type": "table", "query_mode": "aggregate", "groupby": ["city"], "metrics": ["revenue"]}),
        ("cities", {"viz_type": "echarts_timeseries_bar", "x_axis": "city", "metrics": ["revenue"]}),
    ],
)
def test_a_chosen_time_column_takes_over_the_range_of_charts_without_a_time_axis(
    filtered: FilteredDashboard, core: AnalyticsCore, name: str, form: dict[str, Any]
) -> None:
    ask_by_form(filtered, name, **form, adhoc_filters=[ON_DAY])
    assert answered(core, name, filters=CHOSEN) == by_hand(name, IN_TIME)
    assert answered(core, name, filters={"time": CHOSEN["time"]}) == by_hand(
        name, "day >= '2024-04-01' AND day < '2024-06-01'"
    )


def test_the_range_of_the_chart_itself_moves_to_the_chosen_time_column(
    filtered: FilteredDashboard, core: AnalyticsCore
) -> None:
    own = {**ON_DAY, "comparator": CHOSEN["time"]}
    ask_by_form(filtered, "ids", viz_type="table", query_mode="raw", all_columns=["id"], adhoc_filters=[own])
    assert answered(core, "ids", filters={"time column": "paid"}) == by_hand("ids", IN_TIME)


def test_a_filter_on_the_chosen_time_column_and_others_stay(filtered: FilteredDashboard, core: AnalyticsCore) -> None:
    other = {**ON_DAY, "comparator": "2024-03-01 : 2024-04-01"}
    on_paid = {**ON_DAY, "subject": "paid"}
    ask_by_form(filtered, "ids", viz_type="table", query_mode="raw", all_columns=["id"], adhoc_filters=[other, on_paid])
    expected = by_hand("ids", "day >= '2024-03-01' AND day < '2024-04-01'")
    assert answered(core, "ids", filters={"time column": "paid"}) == expected


def test_a_chart_whose_dataset_lacks_the_chosen_time_column_keeps_its_own(
    filtered: FilteredDashboard, core: AnalyticsCore
) -> None:
    plain = core.dashboards.data(1).chart("elsewhere").results[0]
    found = core.dashboards.data(1, filters={"time column": "paid"})
    (passed,) = found.chart("elsewhere").results
    assert (passed.rows(), passed.failure) == (plain.rows(), None)
    assert passed.rejected_filters == ({"column": "paid", "reason": "not_in_datasource"},)
    assert found.chart("months").results[0].rejected_filters == ()
    question = core.charts.question(filtered.charts["elsewhere"], extra_filters=[{"col": "__time_col", "val": "paid"}])
    assert core.charts.data(question, strict=True).raise_for_error().results[0].rows() == plain.rows()


def test_what_a_filter_offers_is_not_bounded_by_a_time_column_that_its_dataset_lacks(
    filtered: FilteredDashboard, core: AnalyticsCore
) -> None:
    column = native("column", "filter_timecolumn")
    city = native("city", "filter_select", column="city", dataset=1, cascadeParentIds=["column"])
    filtered.store(column, city)
    given = {"column": "paid"}
    offered = core.dashboards.filter_options(1, "city", filters=given).raise_for_error().results[0]
    assert offered.rows() == core.dashboards.filter_options(1, "city").results[0].rows()
    assert offered.rejected_filters == ({"column": "paid", "reason": "not_in_datasource"},)

"""What is picked in a chart finds, in the other charts, the rows that the chart showed under it, on each engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.filtered_dashboard import (
    ENGINES,
    FilteredDashboard,
    answered,
    by_hand,
    filtered_dashboard,
    url_of,
)
from tests.support.guests import chart

from analytics_core import AnalyticsCore

TOWN = {"expressionType": "SQL", "sqlExpression": "UPPER(city)", "label": "town"}
MONTH = {"columnType": "BASE_AXIS", "sqlExpression": "day", "label": "In month", "timeGrain": "P1M"}
BY_GRANULARITY = {"granularity": "day", "extras": {"time_grain_sqla": "P1M"}, "metrics": ["revenue"]}


@pytest.fixture(scope="module", params=ENGINES)
def filtered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilteredDashboard]:
    with filtered_dashboard(url_of(request, tmp_path_factory.mktemp("picked"))) as made:
        yield made


@pytest.fixture
def core(filtered: FilteredDashboard) -> AnalyticsCore:
    return filtered.world.admin


def values_of(core: AnalyticsCore, name: str, label: str, **given: Any) -> dict[Any, int]:
    """Return the values that a chart shows in a column, with the revenue beside each."""
    return {row[label]: row["revenue"] for row in core.dashboards.data(1, **given).chart(name).results[0].data}


def test_a_picked_month_is_all_of_the_month(filtered: FilteredDashboard, core: AnalyticsCore) -> None:
    (february,) = (month for month, revenue in values_of(core, "months", "day").items() if revenue == 250)
    for value in (february, str(february)):
        picked = {filtered.charts["months"]: {"day": [value]}}
        assert answered(core, "total", cross_filters=picked) == [(250,)]


@pytest.mark.slow
@for_each(
    ("name", "query", "label"),
    [
        ("months", {"columns": [MONTH], "metrics": ["revenue"]}, "In month"),
        ("months", {"columns": [{**MONTH, "timeGrain": "P1W"}], "metrics": ["revenue"]}, "In month"),
        ("months", {"columns": [{**MONTH, "timeGrain": None}], **BY_GRANULARITY}, "In month"),
        ("months", {"columns": [{**MONTH, "timeGrain": None}], "metrics": ["revenue"]}, "In month"),
        ("months", {"columns": ["day"], **BY_GRANULARITY}, "day"),
        ("months", {"columns": ["day"], "metrics": ["revenue"]}, "day"),
        ("months", {"columns": [], "is_timeseries": True, **BY_GRANULARITY}, "__timestamp"),
        ("cities", {"columns": [TOWN], "metrics": ["revenue"]}, "town"),
        ("cities", {"columns": [{**TOWN, "sqlExpression": "city"}], "metrics": ["revenue"]}, "town"),
        ("cities", {"columns": ["city"], "metrics": ["revenue"]}, "city"),
    ],
)
def test_each_value_of_a_chart_picks_what_the_chart_shows_beside_it(
    filtered: FilteredDashboard, core: AnalyticsCore, name: str, query: dict[str, Any], label: str
) -> None:
    before = core.charts.get(filtered.charts[name])
    core.charts.update(filtered.charts[name], {"query_context": chart(name, filtered.dataset, query)["query_context"]})
    try:
        values = values_of(core, name, label)
        assert len(values) > 3
        for value, revenue in values.items():
            picked = {filtered.charts[name]: {label: [value]}}
            data = core.dashboards.data(1, cross_filters=picked, tabs=["All"])  # `total` alone is asked
            assert data.chart("total").results[0].rows() == [(revenue,)], (value, data.chart("total").results[0].query)
    finally:
        core.charts.update(filtered.charts[name], {"query_context": before.query_context})


@pytest.mark.slow
def test_the_grain_and_the_time_column_of_the_dashboard_count_for_what_is_picked(
    filtered: FilteredDashboard, core: AnalyticsCore
) -> None:
    for filters, column in (({"grain": "P3M"}, "day"), ({"grain": "P1Y", "time column": "paid"}, "paid")):
        values = values_of(core, "months", column, filters=filters)
        for value, revenue in values.items():
            given = {"filters": filters, "cross_filters": {filtered.charts["months"]: {column: [value]}}}
            assert answered(core, "total", **given) == [(revenue,)]


@pytest.mark.slow
def test_the_mask_of_a_front_end_has_its_own_grain_or_that_of_the_chart(
    filtered: FilteredDashboard, core: AnalyticsCore
) -> None:
    (february,) = (month for month, revenue in values_of(core, "months", "day").items() if revenue == 250)
    of_february, of_2024 = "strftime('%Y-%m', day) = '2024-02'", "1 = 1"
    (january,) = (month for month, revenue in values_of(core, "months", "day").items() if revenue == 110)
    for value, grain, condition in ((february, {}, of_february), (january, {"grain": "P1Y"}, of_2024)):
        item = {"col": "day", "op": "IN", "val": [value], **grain}
        mask = {"extraFormData": {"filters": [item]}}
        picked = {filtered.charts["months"]: mask}
        assert answered(core, "ids", cross_filters=picked) == by_hand("ids", condition)
        key = core.permalinks.create_for_dashboard(1, {"dataMask": {str(filtered.charts["months"]): mask}}).key
        assert answered(core, "ids", permalink=key) == by_hand("ids", condition)


@pytest.mark.slow
def test_a_column_of_sql_is_not_asked_of_charts_of_another_dataset(
    filtered: FilteredDashboard, core: AnalyticsCore
) -> None:
    before = core.charts.get(filtered.charts["cities"])
    query = {"columns": [TOWN], "metrics": ["revenue"]}
    core.charts.update(
        filtered.charts["cities"], {"query_context": chart("cities", filtered.dataset, query)["query_context"]}
    )
    try:
        data = core.dashboards.data(1, cross_filters={filtered.charts["cities"]: {"town": ["KIEL"]}})
        assert data.chart("elsewhere").results[0].rejected_filters == (
            {"column": "town", "reason": "not_in_datasource"},
        )
        assert answered(core, "ids", cross_filters={filtered.charts["cities"]: {"town": ["KIEL"]}}) == [(1,), (2,)]
    finally:
        core.charts.update(filtered.charts["cities"], {"query_context": before.query_context})

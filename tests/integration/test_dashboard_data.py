"""Dashboards as data on four engines: every kind of filter, for owner, reader and guest, beside SQL written by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.filtered_dashboard import (
    ENGINES,
    FILTERS,
    QUERIES,
    FilteredDashboard,
    answered,
    answered_together,
    by_hand,
    filtered_dashboard,
    native,
    url_of,
)

GIVEN: list[tuple[dict[str, Any], str]] = [
    ({}, "1 = 1"),
    ({"region": ["north"]}, "region = 'north'"),
    ({"Region": "north"}, "region = 'north'"),
    ({"region": ["south", None]}, "(region = 'south' OR region IS NULL)"),
    ({"region": ["nowhere"]}, "1 = 0"),
    ({"without": ["Kiel", "Oslo"]}, "city NOT IN ('Kiel', 'Oslo')"),
    ({"amount": [20, 200]}, "amount BETWEEN 20 AND 200"),
    ({"amount": [None, 30]}, "amount <= 30"),
    ({"amount": (40, 40)}, "amount = 40"),
    ({"time": "2024-02-01 : 2024-04-01"}, "day >= '2024-02-01' AND day < '2024-04-01'"),
    ({"time": "2024-04-01 : 2024-05-01", "time column": "paid"}, "paid >= '2024-04-01' AND paid < '2024-05-01'"),
    ({"region": ["south"], "amount": [35, None], "city": ["Ulm", "Rome"]}, "amount >= 35 AND city IN ('Ulm', 'Rome')"),
]

BACKENDS = ("sqlite", "duckdb", "postgresql", "mysql")


@pytest.fixture(scope="module", params=ENGINES)
def filtered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilteredDashboard]:
    with filtered_dashboard(url_of(request, tmp_path_factory.mktemp("filtered"))) as made:
        yield made


@pytest.mark.slow
@for_each("number", range(len(GIVEN)))
def test_filters_narrow_each_chart_as_sql_by_hand_does(filtered: FilteredDashboard, number: int) -> None:
    given, condition = GIVEN[number]
    place = BACKENDS.index(filtered.world.admin.databases.get(1).backend)
    for who in ("owner", ("reader", "guest")[(number + place) % 2]):  # whose rows are the same: two engines each
        core, permitted = filtered.actors()[who]
        axis = given.get("time column", "day")  # a time column sets the axis of charts over time too
        expected = {name: by_hand(name, condition, permitted, axis=axis) for name in QUERIES}
        assert answered_together(core, QUERIES, filters=given) == expected, who


@for_each("who", ["owner", "reader", "guest"])
def test_a_grain_sets_the_steps_of_the_axis(filtered: FilteredDashboard, who: str) -> None:
    core, permitted = filtered.actors()[who]
    years = answered(core, "months", filters={"grain": "P1Y"})
    assert years == [("2024-01", *by_hand("total", permitted)[0])]


@pytest.mark.slow
@for_each("who", ["owner", "reader", "guest"])
def test_options_are_inside_the_rows_of_the_actor_and_the_values_of_the_parents(
    filtered: FilteredDashboard, who: str
) -> None:
    core, permitted = filtered.actors()[who]
    expected = {city for city, _ in by_hand("cities", "region = 'south'", permitted)}
    offered = core.dashboards.filter_options(1, "city", filters={"region": ["south"]}).raise_for_error()
    assert [row["city"] for row in offered.results[0].data] == sorted(expected)
    lowest, highest = (min, max)
    amounts = [amount for amount, *_ in by_hand("ids", permitted)]
    ends = core.dashboards.filter_options(1, "amount").raise_for_error().results[0].data
    assert len(amounts) > 1
    assert [set(row) for row in ends] == [{"min", "max"}]
    assert lowest(row["min"] for row in ends) == 10
    assert highest(row["max"] for row in ends) == (400 if who == "owner" else 50)


@pytest.mark.slow
def test_the_first_item_of_a_filter_is_that_of_each_actor(filtered: FilteredDashboard) -> None:
    first = {"defaultToFirstItem": True}
    filtered.store(
        native("region", "filter_select", column="region", controlValues={**first, "sortAscending": False}),
        native("city", "filter_select", column="city", controlValues=first, cascadeParentIds=["region"]),
    )
    try:
        for who, city in (("owner", "Bonn"), ("reader", "Bonn"), ("guest", "Bonn")):
            core, permitted = filtered.actors()[who]
            states = core.dashboards.data(1).filters
            assert [(state.name, state.value, state.set_by) for state in states] == [
                ("Region", ["south"], "first item"),
                ("City", [city], "first item"),
            ]
            assert answered(core, "ids") == by_hand("ids", f"city = '{city}'", permitted)
            north = by_hand("cities", "region = 'north'", permitted)[0][0]
            found = answered(core, "ids", filters={"region": ["north"]})
            assert found == by_hand("ids", f"city = '{north}'", permitted)
    finally:
        filtered.store(*FILTERS)


# ------------------------------------------------------------------------------ picks, permalinks and addresses
@pytest.mark.slow
@for_each("who", ["owner", "reader"])
def test_picks_and_permalinks_filter_as_sql_by_hand_does(filtered: FilteredDashboard, who: str) -> None:
    core, permitted = filtered.actors()[who]
    source = filtered.charts["cities"]
    picked = {source: {"city": ["Kiel", "Rome"]}}
    assert answered(core, "ids", cross_filters=picked) == by_hand("ids", "city IN ('Kiel', 'Rome')", permitted)
    assert answered(core, "cities", cross_filters=picked) == by_hand("cities", permitted)
    both = {"cross_filters": picked, "filters": {"region": ["south"], "amount": [None, 300]}}
    assert answered(core, "months", **both) == by_hand("months", "city = 'Rome' AND amount <= 300", permitted)
    mask = {"extraFormData": {"filters": [{"col": "region", "op": "IN", "val": ["south"]}]}}
    state = {"dataMask": {"region": mask, "time": {"extraFormData": {"time_range": "2024-02-01 : 2024-03-01"}}}}
    key = filtered.world.admin.permalinks.create_for_dashboard(1, state).key
    month = "day >= '2024-02-01' AND day < '2024-03-01'"
    for name in QUERIES:
        assert answered(core, name, permalink=key) == by_hand(name, "region = 'south'", month, permitted), name
    cleared = {"permalink": key, "filters": {"region": None}}
    assert answered(core, "ids", **cleared) == by_hand("ids", month, permitted)


@pytest.mark.slow
@for_each("who", ["owner", "reader", "guest"])
def test_defaults_and_scopes_by_tab_and_chart_act_for_everybody(filtered: FilteredDashboard, who: str) -> None:
    core, permitted = filtered.actors()[who]
    north = {"filters": [{"col": "region", "op": "IN", "val": ["north"]}]}
    default = {"defaultDataMask": {"extraFormData": north, "filterState": {"value": ["north"]}}}
    scope = {"rootPath": ["TAB-1"], "excluded": [filtered.charts["cities"]]}
    needed = native("needed", "filter_range", column="amount", controlValues={"enableEmptyFilter": True})
    filtered.store(
        {**native("region", "filter_select", column="region"), "scope": scope, **default},
        {**needed, "scope": {"rootPath": ["TAB-3"], "excluded": []}},
    )
    try:
        assert answered(core, "ids") == by_hand("ids", "region = 'north'", permitted)
        for name in ("cities", "months"):
            assert answered(core, name) == by_hand(name, permitted), name
        assert "needs a value" in next(chart.error or "" for chart in core.dashboards.data(1, tabs=["All"]))
        given = {"region": None, "needed": [20, 60]}
        assert answered(core, "ids", filters=given) == by_hand("ids", permitted)
        assert answered(core, "total", filters=given) == by_hand("total", "amount BETWEEN 20 AND 60", permitted)
    finally:
        filtered.store(*FILTERS)


@pytest.mark.slow
@for_each("who", ["owner", "reader"])
def test_parameters_of_the_address_and_customisations_act_alike_on_each_engine(
    filtered: FilteredDashboard, who: str
) -> None:
    core, permitted = filtered.actors()[who]
    admin, key = filtered.world.admin, filtered.charts["ids"]
    before = admin.charts.get(key).query_context
    context = json.loads(before or "")
    context["queries"][0]["extras"] = {"where": "city = {{ url_param('city', 'Ulm') }}"}
    admin.charts.update(key, {"query_context": json.dumps(context)})
    grain = native("step", "chart_customization_timegrain", type="CHART_CUSTOMIZATION")
    filtered.store(*FILTERS, chart_customization_config=[grain])
    try:
        assert answered(core, "ids") == by_hand("ids", "city = 'Ulm'", permitted)
        given = {"url_params": {"city": "Kiel"}, "filters": {"amount": [15, None]}}
        assert answered(core, "ids", **given) == by_hand("ids", "city = 'Kiel' AND amount >= 15", permitted)
        (year,) = answered(core, "months", filters={"step": "P1Y"})
        assert year == ("2024-01", *by_hand("total", permitted)[0])
    finally:
        admin.charts.update(key, {"query_context": before})
        filtered.store(*FILTERS)

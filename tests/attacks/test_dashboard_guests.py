"""Guests set declared filters of a dashboard, and nothing else: no hidden row and no other column comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from tests.support.filtered_dashboard import (
    ENGINES,
    FILTERS,
    QUERIES,
    VISITS,
    FilteredDashboard,
    answered,
    answered_together,
    by_hand,
    filtered_dashboard,
    native,
    url_of,
)

from analytics_core import errors

ACME = "tenant = 'acme'"
HIDDEN = {"globex", "Oslo", "Rome", "Pisa", "hidden-word"}
HIDDEN_NUMBERS = {100, 200, 400}
OPTIONS = {"controlValues": {"sortAscending": True}}
GROUP_BY = native("Shown by", "chart_customization_dynamic_groupby", type="CHART_CUSTOMIZATION")
PLUG_IN = native("plug-in", "filter_of_a_plug_in", column="tenant")
NAMED_AS_ANOTHER = {**native("decoy", "filter_select", column="city"), "name": "Shown by"}


@pytest.fixture(scope="module", params=ENGINES)
def filtered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilteredDashboard]:
    with filtered_dashboard(url_of(request, tmp_path_factory.mktemp("attacked"))) as made:
        form = {"viz_type": "pie", "groupby": ["city"], "metric": "revenue", "row_limit": 100}
        stored = {"params": json.dumps(form), "viz_type": "pie", "query_context": None}
        made.world.admin.charts.update(made.charts["cities"], stored)
        made.store(*FILTERS, PLUG_IN, NAMED_AS_ANOTHER, chart_customization_config=[GROUP_BY])
        yield made


# ------------------------------------------------------------------------------------------------ what guests may do
HARMLESS: list[tuple[dict[str, Any], str]] = [
    ({"region": ["south"], "city": ["Ulm"]}, "region = 'south' AND city = 'Ulm'"),
    ({"without": ["Ulm"]}, "city <> 'Ulm'"),
    ({"amount": [20, 400]}, "amount BETWEEN 20 AND 400"),
    ({"time": "2024-02-01 : 2024-04-01"}, "day >= '2024-02-01' AND day < '2024-04-01'"),
    ({"grain": "P1M", "region": ["north"]}, "region = 'north'"),
]


@pytest.mark.parametrize(("given", "condition"), HARMLESS)
def test_declared_filters_act_inside_the_rows_of_the_guest(
    filtered: FilteredDashboard, given: dict[str, Any], condition: str
) -> None:
    guest = filtered.world.guest("acme")
    for name, found in answered_together(guest, QUERIES, filters=given).items():
        expected = by_hand(name, condition, ACME)
        assert [row[: len(expected[0])] for row in found] == expected, name  # a pie adds the share of each slice


# -------------------------------------------------------------------------------------------- what they may not do
def mask(**extra: Any) -> dict[str, Any]:
    return {"extraFormData": extra, "filterState": {"value": ["x"]}}


SQL = {"expressionType": "SQL", "clause": "WHERE", "sqlExpression": "1 = 1) OR (1 = 1"}
OF_TENANT = {"col": "tenant", "op": "IN", "val": ["globex"]}
MASKS: Mapping[str, dict[str, Any]] = {
    "another column": mask(filters=[OF_TENANT]),
    "another operator": mask(filters=[{"col": "region", "op": "ILIKE", "val": "%"}]),
    "SQL": mask(adhoc_filters=[SQL]),
    "having": mask(adhoc_filters=[{**SQL, "clause": "HAVING"}]),
    "a column of time": mask(granularity_sqla="paid", time_range="2020-01-01 : 2030-01-01"),
    "a grain": mask(time_grain_sqla="P1Y"),
    "an end of time": mask(relative_start="now"),
    "columns to show": mask(columns=["tenant"], groupby=["tenant"], metrics=["count"]),
    "nothing": mask(),
    "no mask": {},
}
ONE_ENGINE = pytest.mark.parametrize("filtered", ["sqlite"], indirect=True, scope="module")
"""For what is refused before any engine is asked; that is tried on each engine by one filter."""
UNDECLARED = ["tenant", "day", "plug-in", "Plug-In", "line", "#8", "", "5", "DECOY", "__time_range", "region\x00"]


@ONE_ENGINE
@pytest.mark.parametrize("road", ["data", "filter_options"])
@pytest.mark.parametrize("name", MASKS)
def test_data_masks_are_refused(filtered: FilteredDashboard, name: str, road: str) -> None:
    for key in ("region", "Region", "city", "time", "grain", "time column", "amount"):
        refused(filtered, road, filters={key: MASKS[name]})


@ONE_ENGINE
@pytest.mark.parametrize("road", ["data", "filter_options"])
@pytest.mark.parametrize("name", [*UNDECLARED, 5, None, True, ("region",)])
def test_filters_that_the_dashboard_does_not_declare_are_refused(
    filtered: FilteredDashboard, name: Any, road: str
) -> None:
    for value in (["globex"], "tenant", None, []):
        refused(filtered, road, filters={name: value})


@pytest.mark.parametrize("road", ["data", "filter_options"])
def test_a_filter_named_as_a_customisation_does_not_open_it(filtered: FilteredDashboard, road: str) -> None:
    refused(filtered, road, filters={"Shown by": ["tenant"]})


@pytest.mark.parametrize("option", ["cross_filters", "extra_filters", "url_params", "permalink", "force", "extra"])
def test_what_only_readers_may_set_is_no_argument(filtered: FilteredDashboard, option: str) -> None:
    guest: Any = filtered.world.guest("acme")
    given = filtered.world.admin.permalinks.create_for_dashboard(2, {}).key if option == "permalink" else {}
    with pytest.raises(TypeError):
        guest.dashboards.data(1, **{option: given})


def test_other_dashboards_are_closed(filtered: FilteredDashboard) -> None:
    guest: Any = filtered.world.guest("acme")
    for key in (2, 99, True, "1", None, 1.0, -1):
        with pytest.raises(errors.DashboardAccessError):
            guest.dashboards.data(key)
        with pytest.raises(errors.DashboardAccessError):
            guest.dashboards.filter_options(key, "city")


HOSTILE: list[dict[str, Any]] = [
    {"region": ["' OR '1'='1", "x') OR 1=1 --", "{{ current_user_id() }}", "\\' OR 1=1 #", "%", "_"]},
    {"city": ["Oslo", "Rome", "Pisa"], "region": ["north", "south"]},
    {"without": ["Kiel", "Bonn", "Ulm"]},
    {"amount": [60, None]},
    {"amount": [float("nan"), None]},
    {"amount": [float("-inf"), float("inf")]},
    {"amount": [-(10**400), 10**400]},
    {"amount": ["1 OR 1=1", None]},
    {"time": "2020-01-01 : 2030-01-01' OR '1'='1"},
    {"time": "2020-01-01 : 2030-01-01"},
    {"time": "No filter"},
    {"grain": "P1Y') OR 1=1 --"},
    {"grain": "P1Y", "time": "No filter"},
    {"time column": "tenant", "time": "2020-01-01 : 2030-01-01"},
    {"time column": "(SELECT word FROM secrets)", "time": "2020-01-01 : 2030-01-01"},
    {"time column": "day) OR (1=1", "time": "No filter"},
    {"region": [[OF_TENANT]]},
    {"region": ["x"] * 5_000},
    {"region": "a" * 100_000},
]


@pytest.mark.parametrize("position", range(len(HOSTILE)))
def test_no_value_of_a_filter_shows_a_hidden_row(filtered: FilteredDashboard, position: int) -> None:
    guest = filtered.world.guest("acme")
    try:
        data, message = tuple(guest.dashboards.data(1, filters=HOSTILE[position])), ""
    except errors.AnalyticsError as error:
        data, message = (), str(error)
    assert not leaked(message, HOSTILE[position])
    for chart in data:
        assert not leaked(chart.error or "", HOSTILE[position])
        for result in chart.answer.results if chart.answer else ():
            cells = [cell for row in (result.rows() if not result.error else ()) for cell in row]
            assert not HIDDEN & {cell for cell in cells if isinstance(cell, str)}
            if chart.name == "ids":
                assert {int(cell) for cell in cells} <= {row[0] for row in VISITS if row[1] == "acme"}
            if chart.name == "total":
                assert sum(int(cell) for cell in cells if cell is not None) <= 150


def leaked(text: str, given: Mapping[str, Any]) -> set[str]:
    """Return what a message tells of hidden rows; it may repeat what the guest wrote."""
    return {word for word in HIDDEN if word in text and word not in repr(given)}


@pytest.mark.parametrize("search", ["glob", "Os", "o", "%", "_", "' OR '1'='1", "\\", "%' OR tenant = 'globex", ""])
def test_a_search_offers_no_value_of_a_hidden_row(filtered: FilteredDashboard, search: str) -> None:
    guest = filtered.world.guest("acme")
    for key in ("region", "city", "without"):
        for filters in ({}, {"region": ["north", "south"]}, {"amount": [0, 500]}):
            offered = guest.dashboards.filter_options(1, key, search=search, filters=filters).raise_for_error()
            assert not HIDDEN & {value for row in offered.results[0].rows() for value in row}
            assert offered.results[0].query == ""
    ends = guest.dashboards.filter_options(1, "amount").raise_for_error().results[0].rows()
    assert not HIDDEN_NUMBERS & {int(end) for row in ends for end in row}


def test_undeclared_filters_offer_nothing(filtered: FilteredDashboard) -> None:
    guest: Any = filtered.world.guest("acme")
    for key in ("plug-in", "Shown by", "Region", "line", "tenant", 5, None, True, ""):
        with pytest.raises(errors.NotFoundError):
            guest.dashboards.filter_options(1, key)
    for wrong in (5, ["x"], "x" * 100_000, b"x"):
        with pytest.raises(errors.LimitError):
            guest.dashboards.filter_options(1, "city", search=wrong)


def test_the_default_of_a_maker_stays_inside_the_rows_of_the_guest(filtered: FilteredDashboard) -> None:
    stored = {
        **native("region", "filter_select", column="region", **OPTIONS),
        "defaultDataMask": mask(filters=[OF_TENANT]),
    }
    filtered.store(stored)
    try:
        assert answered(filtered.world.guest("acme"), "ids") == []
    finally:
        filtered.store(*FILTERS, PLUG_IN, NAMED_AS_ANOTHER, chart_customization_config=[GROUP_BY])


def refused(dashboard: FilteredDashboard, road: str, **given: Any) -> None:
    guest: Any = dashboard.world.guest("acme")
    with pytest.raises(errors.GuestAccessError):
        guest.dashboards.data(1, **given) if road == "data" else guest.dashboards.filter_options(1, "city", **given)

"""Dashboards as data: defaults, required filters, picks in charts, permalinks, tabs, customisations, and what fails."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.filtered_dashboard import (
    FILTERS,
    FilteredDashboard,
    answered,
    by_hand,
    filtered_dashboard,
    native,
)

from analytics_core import AnalyticsCore, errors

REGION = native("region", "filter_select", column="region")


def default(extra: dict[str, Any], value: Any = None, **more: Any) -> dict[str, Any]:
    """Return a data mask as a dashboard stores it."""
    return {"defaultDataMask": {"extraFormData": extra, "filterState": {"value": value}}, **more}


def among(column: str, *values: Any) -> dict[str, Any]:
    return {"filters": [{"col": column, "op": "IN", "val": list(values)}]}


@pytest.fixture
def filtered(tmp_path: Path) -> Iterator[FilteredDashboard]:
    with filtered_dashboard(f"sqlite:///{tmp_path}/shop.db") as made:
        yield made


@pytest.fixture
def core(filtered: FilteredDashboard) -> AnalyticsCore:
    return filtered.world.admin


# ------------------------------------------------------------------------------------------------- values of makers
def test_a_default_counts_until_somebody_sets_or_clears_the_filter(
    filtered: FilteredDashboard, core: AnalyticsCore
) -> None:
    filtered.store({**REGION, **default(among("region", "north"), ["north"])})
    assert answered(core, "ids") == by_hand("ids", "region = 'north'")
    assert answered(core, "ids", filters={"region": ["south"]}) == by_hand("ids", "region = 'south'")
    for cleared in (None, [], ()):
        assert answered(core, "ids", filters={"region": cleared}) == by_hand("ids", "1 = 1")
    (state,) = core.dashboards.data(1).filters
    assert (state.filter_id, state.kind, state.value, state.set_by) == ("region", "filter_select", ["north"], "default")
    assert state.chart_ids == tuple(sorted(filtered.charts.values()))


@pytest.mark.slow
@for_each(
    ("extra", "condition"),
    [
        ({"time_range": "2024-02-01 : 2024-03-01"}, "day >= '2024-02-01' AND day < '2024-03-01'"),
        ({"adhoc_filters": [{"expressionType": "SQL", "clause": "WHERE", "sqlExpression": "1 = 0"}]}, "1 = 0"),
        (
            {"adhoc_filters": [{"expressionType": "SQL", "sqlExpression": "amount > 10 OR city = 'Kiel' -- all"}]},
            "(amount > 10 OR city = 'Kiel')",
        ),
        (
            {
                "adhoc_filters": [
                    {
                        "expressionType": "SIMPLE",
                        "clause": "WHERE",
                        "subject": "city",
                        "operator": "==",
                        "comparator": "Ulm",
                    }
                ]
            },
            "city = 'Ulm'",
        ),
        ({"granularity_sqla": "paid", "time_range": "2024-05-01 : 2024-07-01"}, "paid >= '2024-05-01'"),
    ],
)
def test_every_part_of_a_default_mask_counts(
    filtered: FilteredDashboard, core: AnalyticsCore, extra: dict[str, Any], condition: str
) -> None:
    filtered.store({**REGION, **default(extra)})
    assert answered(core, "ids") == by_hand("ids", condition)


def test_parts_of_masks_that_nobody_knows_are_told(filtered: FilteredDashboard, core: AnalyticsCore) -> None:
    broken = [5, {"expressionType": "SIMPLE"}, {"expressionType": "SQL", "clause": "WHAT", "sqlExpression": "1 = 0"}]
    filtered.store({**REGION, **default({"time_compare": "1 year ago", "adhoc_filters": broken, "filters": "x"})})
    notes = core.dashboards.data(1).chart("ids").results[0].notes
    reported = [note for note in notes if note.startswith("not applied")]
    assert [note.rpartition(" ")[2] for note in reported] == ["time_compare", "filters", *["adhoc_filters"] * 3]


def test_a_condition_of_a_mask_stands_beside_those_of_the_chart(
    filtered: FilteredDashboard, core: AnalyticsCore
) -> None:
    chart = core.charts.get(filtered.charts["ids"])
    context = json.loads(chart.query_context or "")
    context["queries"][0]["extras"] = {"where": "city = 'Kiel' OR city = 'Ulm'"}
    core.charts.update(filtered.charts["ids"], {"query_context": json.dumps(context)})
    sql = {"expressionType": "SQL", "clause": "WHERE", "sqlExpression": "region = 'north' OR region = 'west'"}
    filtered.store({**REGION, **default({"adhoc_filters": [sql]})})
    both = by_hand("ids", "(city = 'Kiel' OR city = 'Ulm')", "region = 'north'")
    assert answered(core, "ids") == both


@pytest.mark.slow
@for_each("extras", [{"where": 5}, {"having": ["x"]}, "x", 5, ["where"]])
def test_a_chart_whose_conditions_are_malformed_fails_alone(
    filtered: FilteredDashboard, core: AnalyticsCore, extras: Any
) -> None:
    context = json.loads(core.charts.get(filtered.charts["ids"]).query_context or "")
    context["queries"][0]["extras"] = extras
    core.charts.update(filtered.charts["ids"], {"query_context": json.dumps(context)})
    sql = {"expressionType": "SQL", "clause": "WHERE", "sqlExpression": "amount > 1"}
    grain = native("grain", "filter_timegrain", **default({"time_grain_sqla": "P1Y", "relative_start": "now"}))
    filtered.store({**REGION, **default({"adhoc_filters": [sql]})}, grain)
    data = core.dashboards.data(1)
    assert [chart.name for chart in data if chart.error] == ["ids"]
    with pytest.raises(errors.PayloadError, match="extras"):
        data.chart("ids")


def test_a_filter_that_needs_a_value_stops_the_charts_of_its_scope_alone(
    filtered: FilteredDashboard, core: AnalyticsCore
) -> None:
    needed = {**REGION, "controlValues": {"enableEmptyFilter": True}, "chartsInScope": [filtered.charts["ids"]]}
    filtered.store(needed)
    data = core.dashboards.data(1)
    assert [chart.name for chart in data if chart.error] == ["ids"]
    with pytest.raises(errors.QueryError, match=r"filter 'Region' of dashboard 1 needs a value; give filters="):
        data.chart("ids")
    with pytest.raises(errors.QueryError, match="needs a value"):
        data.raise_for_error()
    assert answered(core, "ids", filters={"region": ["north"]}) == by_hand("ids", "region = 'north'")


def test_a_first_item_that_cannot_be_found_fails_the_charts_that_wait_for_it(
    filtered: FilteredDashboard, core: AnalyticsCore
) -> None:
    first = {"controlValues": {"defaultToFirstItem": True}, "chartsInScope": [filtered.charts["ids"]]}
    filtered.store(native("gone", "filter_select", column="gone", **first))
    data = core.dashboards.data(1)
    assert [chart.name for chart in data if chart.error] == ["ids"]
    with pytest.raises(errors.UnknownColumnError, match="gone"):
        data.chart("ids")


def test_parents_in_a_circle_end(filtered: FilteredDashboard, core: AnalyticsCore) -> None:
    first = {"controlValues": {"defaultToFirstItem": True}}
    filtered.store(
        native("region", "filter_select", column="region", cascadeParentIds=["city", "region", "nobody"], **first),
        native("city", "filter_select", column="city", cascadeParentIds=["region"], **first),
    )
    assert {state.set_by for state in core.dashboards.data(1).filters} == {"first item"}
    assert core.dashboards.filter_options(1, "city").raise_for_error().results[0].rowcount


@pytest.mark.slow
def test_a_cascade_of_any_length_ends(filtered: FilteredDashboard, core: AnalyticsCore) -> None:
    first = {"controlValues": {"defaultToFirstItem": True}}
    chain = [
        native(f"f{n}", "filter_select", column="region", cascadeParentIds=[f"f{n + 1}"], **first) for n in range(600)
    ]
    filtered.store(*chain, chart_configuration={})
    data = core.dashboards.data(1, tabs=["All"])
    with pytest.raises(errors.QueryError, match="depends on others over more than 20 steps"):
        data.chart("total")


# ------------------------------------------------------------------------------------------------- what is offered
def test_options_keep_to_the_conditions_and_the_order_of_their_filter(
    filtered: FilteredDashboard, core: AnalyticsCore
) -> None:
    def offered(actor: AnalyticsCore, key: str, **options: Any) -> list[Any]:
        result = actor.dashboards.filter_options(1, key, **options).raise_for_error().results[0]
        return [row[0] for row in result.rows()]

    only = {"adhoc_filters": [{"expressionType": "SQL", "clause": "WHERE", "sqlExpression": "amount < 100"}]}
    ranged = {"time_range": "2024-02-01 : 2024-03-01", "granularity_sqla": "day"}
    filtered.store(
        native("small", "filter_select", column="city", controlValues={"sortAscending": False}, **only),
        native("early", "filter_select", column="city", **ranged),
        native("best", "filter_select", column="city", sortMetric="revenue", controlValues={"sortAscending": False}),
        native("grain", "filter_timegrain"),
        native("column", "filter_timecolumn"),
        native("time", "filter_time", dataset=None),
        native("of plug-in", "filter_of_a_plug_in", column="city"),
    )
    assert offered(core, "small")[:3] in (["Ulm", "Kiel", "Bonn"], [None, "Ulm", "Kiel"])
    assert set(offered(core, "small")) == {"Ulm", "Kiel", "Bonn", None}
    assert offered(core, "early") == ["Bonn", "Kiel", "Rome"]
    assert offered(core, "best")[:3] == ["Pisa", "Rome", "Oslo"]
    assert offered(core, "best", row_limit=1, search="o") == ["Rome"]
    guest = filtered.world.guest("acme")
    assert offered(guest, "best")[:2] in (["Ulm", "Kiel"], [None, "Ulm"])
    assert set(offered(guest, "small")) == {"Ulm", "Kiel", "Bonn", None}
    assert core.dashboards.filter_options(1, "grain").results[0].rowcount > 10
    assert "paid" in {row["column_name"] for row in core.dashboards.filter_options(1, "column").results[0].data}
    for key, options in (("time", {}), ("of plug-in", {}), ("grain", {"search": "x"})):
        with pytest.raises(errors.QueryError, match="no list of values"):
            core.dashboards.filter_options(1, key, **options)
    with pytest.raises(errors.NotFoundError):
        guest.dashboards.filter_options(1, "of plug-in")


# ------------------------------------------------------------------------------------------------- picks in charts
@pytest.mark.slow
def test_what_is_picked_in_a_chart_filters_the_others(filtered: FilteredDashboard, core: AnalyticsCore) -> None:
    source = filtered.charts["cities"]
    for picked in ({"city": ["Kiel"]}, {"city": "Kiel"}, {"extraFormData": among("city", "Kiel")}):
        for key in (source, str(source)):
            given: Any = {key: picked}
            assert answered(core, "ids", cross_filters=given) == by_hand("ids", "city = 'Kiel'")
            assert answered(core, "cities", cross_filters=given) == by_hand("cities", "1 = 1")
    scoped = {str(source): {"crossFilters": {"scope": {"rootPath": ["TAB-3"], "excluded": []}}}}
    filtered.store(chart_configuration=scoped)
    assert answered(core, "ids", cross_filters={source: {"city": ["Kiel"]}}) == by_hand("ids", "1 = 1")
    assert answered(core, "total", cross_filters={source: {"city": ["Kiel"]}}) == by_hand("total", "city = 'Kiel'")
    filtered.store(
        chart_configuration={str(source): {"crossFilters": {"scope": "global"}}},
        global_chart_configuration={"scope": {"rootPath": ["ROOT_ID"], "excluded": [filtered.charts["total"]]}},
    )
    assert answered(core, "total", cross_filters={source: {"city": ["Kiel"]}}) == by_hand("total", "1 = 1")
    assert answered(core, "ids", cross_filters={source: {"city": ["Kiel"]}}) == by_hand("ids", "city = 'Kiel'")
    filtered.store(cross_filters_enabled=False)
    with pytest.raises(errors.PayloadSchemaError, match="cross_filters_enabled"):
        core.dashboards.data(1, cross_filters={source: {"city": ["Kiel"]}})


# ------------------------------------------------------------------------------------------ permalinks, tabs, address
def test_a_permalink_brings_its_filters_picks_and_open_tabs(filtered: FilteredDashboard, core: AnalyticsCore) -> None:
    filtered.store({**REGION, **default(among("region", "north"), ["north"])})
    masks = {
        "region": {"extraFormData": among("region", "south"), "filterState": {"value": ["south"]}},
        str(filtered.charts["cities"]): {"extraFormData": among("city", "Rome", "Oslo")},
        "gone": {"extraFormData": {}},
        "broken": 5,
    }
    key = core.permalinks.create_for_dashboard(1, {"dataMask": masks, "activeTabs": ["TAB-2", "TAB-3"]}).key
    data = core.dashboards.data(1, permalink=key)
    assert [chart.name for chart in data] == ["total", "elsewhere"]
    assert [chart.tabs for chart in data] == [("Sums", "All"), ("Sums",)]
    assert (data.filters[0].value, data.filters[0].set_by) == (["south"], "permalink")
    assert {note.split("'")[1] for note in data.notes} == {"gone", "broken"}
    assert answered(core, "total", permalink=key) == by_hand("total", "city = 'Rome'")
    given = {"permalink": key, "filters": {"region": None}, "tabs": ["Cities"]}
    assert answered(core, "ids", **given) == by_hand("ids", "city IN ('Rome', 'Oslo')")
    filtered.store(cross_filters_enabled=False)
    assert "cross filters off" in core.dashboards.data(1, permalink=key).notes[0]
    other = core.permalinks.create_for_dashboard(2, {}).key
    for wrong in (other, "nothing"):
        with pytest.raises(errors.NotFoundError):
            core.dashboards.data(1, permalink=wrong)


def test_tabs_are_named_by_ids_or_titles(core: AnalyticsCore) -> None:
    def names(*tabs: str) -> list[str | None]:
        return [chart.name for chart in core.dashboards.data(1, tabs=tabs)]

    assert names("TAB-1") == names("Cities") == ["cities", "ids"]
    assert names("Sums") == ["total", "months", "elsewhere"]
    assert names("By month", "Cities") == ["cities", "ids", "months"]
    assert names() == []
    assert [chart.name for chart in core.dashboards.data(1)] == ["cities", "ids", "total", "months", "elsewhere"]
    with pytest.raises(errors.UnknownNameError, match="did you mean 'Cities'"):
        names("Citys")
    wrong: list[Any] = ["Cities", 5, [5]]
    for tabs in wrong:
        with pytest.raises(errors.PayloadSchemaError, match="tabs: must be a list"):
            core.dashboards.data(1, tabs=tabs)


@pytest.mark.slow
def test_parameters_of_the_address_reach_the_templates(filtered: FilteredDashboard, core: AnalyticsCore) -> None:
    context = json.loads(core.charts.get(filtered.charts["ids"]).query_context or "")
    context["queries"][0]["extras"] = {"where": "city = {{ url_param('city', 'Ulm') }}"}
    core.charts.update(filtered.charts["ids"], {"query_context": json.dumps(context)})
    assert answered(core, "ids") == by_hand("ids", "city = 'Ulm'")
    assert answered(core, "ids", url_params={"city": "Kiel"}) == by_hand("ids", "city = 'Kiel'")
    for params in ([["city", "Rome"]], [{"city": "Rome"}]):
        key = core.permalinks.create_for_dashboard(1, {"urlParams": params}).key
        assert answered(core, "ids", permalink=key) == by_hand("ids", "city = 'Rome'")
        assert answered(core, "ids", permalink=key, url_params={"city": "Oslo"}) == by_hand("ids", "city = 'Oslo'")


def test_extra_filters_count_for_every_chart(core: AnalyticsCore) -> None:
    given = [{"col": "city", "op": "==", "val": "Kiel"}, {"col": "__time_range", "val": "2024-02-01 : 2024-03-01"}]
    data = core.dashboards.data(1, extra_filters=given)
    assert [row[0] for row in data.chart("ids").results[0].rows()] == [2]
    assert [row[0] for row in data.chart("elsewhere").results[0].rows()] == ["Kiel"]


# ------------------------------------------------------------------------------------------------- customisations
def test_a_customisation_groups_and_steps_the_charts_of_its_dataset(
    filtered: FilteredDashboard, core: AnalyticsCore
) -> None:
    form = {"viz_type": "pie", "groupby": ["city"], "metric": "revenue", "row_limit": 100}
    core.charts.update(filtered.charts["cities"], {"params": json.dumps(form), "viz_type": "pie"})
    group = native("by", "chart_customization_dynamic_groupby", type="CHART_CUSTOMIZATION")
    grain = native("grain", "chart_customization_timegrain", type="CHART_CUSTOMIZATION")
    stored = [{**group, **default({}, ["region"])}, {**grain, **default({"time_grain_sqla": "P1Y"}, "P1Y")}]
    filtered.store(chart_customization_config=stored)
    data = core.dashboards.data(1)
    regions = {row[0]: int(row[1]) for row in data.chart("cities").results[0].rows()}
    assert regions == {"north": 130, "south": 670, None: 50}
    assert data.chart("months").results[0].rowcount == 1
    assert any("not grouped by region" in note for note in data.chart("ids").results[0].notes)
    assert not any("not grouped" in note for note in data.chart("elsewhere").results[0].notes)
    for given in ("city", ["city"], None):
        rows = core.dashboards.data(1, filters={"by": given}).chart("cities").results[0].rows()
        assert {(row[0], int(row[1])) for row in rows} == set(by_hand("cities", "1 = 1"))
    with pytest.raises(errors.GuestAccessError):
        filtered.world.guest("acme").dashboards.data(1, filters={"by": "tenant"})


def test_options_are_asked_by_the_id_or_the_name_of_a_filter(filtered: FilteredDashboard, core: AnalyticsCore) -> None:
    filtered.store(
        REGION, {**native("a", "filter_select", column="city"), "name": "Twice"}, native("Twice", "filter_time")
    )
    for actor in (core, filtered.reader):
        by_id, by_name = (actor.dashboards.filter_options(1, name).results[0].rows() for name in ("region", "Region"))
        assert by_id == by_name
    with pytest.raises(errors.NotFoundError, match="did you mean 'Region'"):
        core.dashboards.filter_options(1, "Regoin")
    for name in ("Region", "Regoin"):  # guests name filters by their ids, and learn of no other
        with pytest.raises(errors.NotFoundError) as caught:
            filtered.world.guest("acme").dashboards.filter_options(1, name)
        assert "mean" not in str(caught.value)
    with pytest.raises(errors.QueryError, match="a time range"):  # an id goes before a name
        core.dashboards.filter_options(1, "Twice")
    filtered.store(*({**native(key, "filter_select", column="city"), "name": "Twice"} for key in "ab"))
    with pytest.raises(errors.PayloadSchemaError, match="several filters have this name"):
        core.dashboards.filter_options(1, "Twice")


# ------------------------------------------------------------------------------------------------- what goes wrong
WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"filters": {"Regoin": ["x"]}}, errors.UnknownNameError, "did you mean 'Region'"),
    ({"filters": {5: ["x"]}}, errors.UnknownNameError, "has no name"),
    ({"filters": ["x"]}, errors.PayloadSchemaError, "filters: must be an object"),
    ({"filters": {"region": [["x"]]}}, errors.PayloadSchemaError, "filters.Region: must be a value or a list"),
    ({"filters": {"region": {"extraFormData": 5}}}, errors.PayloadSchemaError, "extraFormData"),
    ({"filters": {"region": ["a\x00"]}}, errors.PayloadFormatError, "NUL"),
    ({"filters": {"amount": 5}}, errors.PayloadSchemaError, "a pair of numbers"),
    ({"filters": {"amount": [1, "2"]}}, errors.PayloadSchemaError, "a pair of numbers"),
    ({"filters": {"amount": [True, 2]}}, errors.PayloadSchemaError, "a pair of numbers"),
    ({"filters": {"time": ["a", "b"]}}, errors.PayloadSchemaError, "a time range"),
    ({"filters": {"grain": 7}}, errors.PayloadSchemaError, "a time grain"),
    ({"filters": {"grain": "month"}}, errors.PayloadSchemaError, "filters.Grain: 'month' is no time grain; .* P1M"),
    ({"filters": {"amount": [2, 1]}}, errors.PayloadSchemaError, "the smaller one first"),
    ({"filters": {"time column": 7}}, errors.PayloadSchemaError, "a time column"),
    ({"cross_filters": {99: {"city": ["x"]}}}, errors.PayloadSchemaError, "no chart of the dashboard"),
    ({"cross_filters": {5: ["x"]}}, errors.PayloadSchemaError, "columns and values"),
    ({"cross_filters": {5: {"city": {"x": 1}}}}, errors.PayloadSchemaError, "value or a list of values"),
    ({"cross_filters": 5}, errors.PayloadSchemaError, "cross_filters: must be an object"),
    ({"url_params": 5}, errors.PayloadSchemaError, "url_params: must be an object"),
    ({"extra_filters": 5}, errors.PayloadSchemaError, "extra_filters"),
    ({"parallel": 0}, errors.PayloadSchemaError, "parallel"),
    ({"parallel": "4"}, errors.PayloadSchemaError, "parallel"),
    ({"permalink": "x"}, errors.NotFoundError, "permalink"),
]


@for_each(("given", "error", "message"), WRONG)
def test_what_is_wrong_is_told_before_anything_runs(
    core: AnalyticsCore, given: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        core.dashboards.data(1, **given)


def test_values_that_one_chart_cannot_take_fail_there(core: AnalyticsCore) -> None:
    data = core.dashboards.data(1, filters={"time": "Lst week"})
    assert {chart.name for chart in data if chart.error} >= {"months"}
    with pytest.raises(errors.AnalyticsError, match="Lst week"):
        data.chart("months")


def test_a_chart_that_the_actor_may_not_read_fails_alone(filtered: FilteredDashboard) -> None:
    data = filtered.reader.dashboards.data(1)
    failed = [chart for chart in data if chart.error]
    assert [(chart.chart_id, chart.name) for chart in failed] == [(filtered.charts["elsewhere"], None)]
    with pytest.raises(errors.AccessError):
        data.chart(filtered.charts["elsewhere"])
    assert len(data) == 5


@pytest.mark.parametrize("parallel", [1, 2, 64])
def test_each_chart_is_told_in_the_callers_thread_as_soon_as_it_is_there(core: AnalyticsCore, parallel: int) -> None:
    calls: list[tuple[str | None, int]] = []
    data = core.dashboards.data(
        1, parallel=parallel, on_chart=lambda chart: calls.append((chart.name, threading.get_ident()))
    )
    assert sorted(name or "" for name, _ in calls) == sorted(chart.name or "" for chart in data)
    assert {thread for _, thread in calls} == {threading.get_ident()}
    assert data.to_payload() == {**core.dashboards.data(1, parallel=1, force=False).to_payload(), **_cached_alike(data)}


def _cached_alike(data: Any) -> dict[str, Any]:
    return {"charts": data.to_payload()["charts"]}


def test_a_caller_who_goes_away_leaves_no_thread_behind(core: AnalyticsCore) -> None:
    class GoneError(Exception):
        pass

    def go(_chart: Any) -> None:
        raise GoneError

    for _ in range(3):
        with pytest.raises(GoneError):
            core.dashboards.data(1, on_chart=go, force=True)
    for thread in threading.enumerate():
        if thread.name == "dashboard":
            thread.join(15)
            assert not thread.is_alive()


def test_forcing_leaves_the_cache_out(core: AnalyticsCore) -> None:
    def cached(**options: Any) -> set[bool]:
        data = core.dashboards.data(1, **options)
        return {result.is_cached for chart in data for result in chart.raise_for_error().results}

    assert [cached(), cached(), cached(force=True)] == [{False}, {True}, {False}]


def test_a_warm_up_fills_what_the_dashboard_finds(filtered: FilteredDashboard, core: AnalyticsCore) -> None:
    first = {"controlValues": {"defaultToFirstItem": True}}
    filtered.store(
        {**REGION, **first}, native("city", "filter_select", column="city", **default(among("city", "Bonn")))
    )
    for name in ("cities", "ids", "total", "months"):
        core.cache.warm_up_chart({"chart_id": filtered.charts[name], "dashboard_id": 1})
    data = core.dashboards.data(1)
    assert {
        name: data.chart(name).results[0].is_cached for name in ("cities", "ids", "total", "months")
    } == dict.fromkeys(("cities", "ids", "total", "months"), True)


# ------------------------------------------------------------------------------------------------------------ guests
def test_guests_give_values_of_declared_filters_and_nothing_else(filtered: FilteredDashboard) -> None:
    guest: Any = filtered.world.guest("acme")
    filtered.store(*FILTERS, native("plug-in", "filter_of_a_plug_in", column="tenant"))
    data = guest.dashboards.data(1, filters={"region": ["north"]}, tabs=["Cities"])
    assert [chart.name for chart in data] == ["cities", "ids"]
    assert {result.query for chart in data for result in chart.raise_for_error().results} == {""}
    for given in (
        {"tenant": ["globex"]},
        {"plug-in": ["globex"]},
        {"region": {"extraFormData": among("tenant", "globex")}},
        {"region": {"extraFormData": {"adhoc_filters": []}}},
    ):
        with pytest.raises(errors.GuestAccessError):
            guest.dashboards.data(1, filters=given)
        with pytest.raises(errors.GuestAccessError):
            guest.dashboards.filter_options(1, "city", filters=given)
    for option in ("cross_filters", "extra_filters", "url_params", "permalink", "force"):
        with pytest.raises(TypeError):
            guest.dashboards.data(1, **{option: None})
    with pytest.raises(errors.DashboardAccessError):
        guest.dashboards.data(2)


@pytest.mark.parametrize("column", ["tenant", "amount"])
def test_a_time_column_shows_guests_no_other_column(filtered: FilteredDashboard, column: str) -> None:
    data = filtered.world.guest("acme").dashboards.data(1, filters={"time column": column, "time": "No filter"})
    with pytest.raises(errors.QueryError, match="is not temporal and cannot take the place of x-axis 'day'"):
        data.chart("months")


def test_a_name_that_several_filters_have_is_no_name(filtered: FilteredDashboard, core: AnalyticsCore) -> None:
    filtered.store(REGION, {**native("other", "filter_select", column="city"), "name": "Region"})
    with pytest.raises(errors.PayloadSchemaError, match="several filters"):
        core.dashboards.data(1, filters={"Region": ["north"]})
    assert answered(core, "ids", filters={"other": ["Ulm"]}) == by_hand("ids", "city = 'Ulm'")


def test_the_answer_shows_itself(core: AnalyticsCore) -> None:
    data = core.dashboards.data(1, tabs=["All"], filters={"region": ["north"]})
    assert repr(data) == "<DashboardData of 1: 1 charts>"
    bundle = data._repr_mimebundle_()
    assert "<b>total</b>" in bundle["text/html"]
    assert "Region  [north]" in bundle["text/plain"]
    payload = json.loads(json.dumps(data.to_payload(), default=str))
    assert payload["charts"][0]["slice_name"] == "total"
    assert payload["charts"][0]["result"][0]["data"] == [{"revenue": 130}]
    assert payload["filters"][0]["value"] == ["north"]
    with pytest.raises(errors.UnknownNameError, match="did you mean 'total'"):
        data.chart("totl")

"""What a guest may ask of a stored chart: declared filters, the order and a page inside it; nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.guests import QUERY, RULE, GuestWorld, chart, context, dashboard, guest_world, requested

from analytics_core import AnalyticsCore, errors
from analytics_core._content.guests.requests import StoredRequest, answerable
from analytics_core.models.parsing.query_context import parse_query_context
from analytics_core.models.query import ChartDataQueryContext, ChartDataQueryObject

BONN, KIEL = {"city": "Bonn", "revenue": 40}, {"city": "Kiel", "revenue": 20}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuestWorld]:
    with guest_world(f"sqlite:///{tmp_path_factory.mktemp('guests')}/shop.db") as world:
        yield world


@pytest.fixture
def own(tmp_path: Path) -> Iterator[GuestWorld]:
    with guest_world(f"sqlite:///{tmp_path}/shop.db") as world:
        yield world


@pytest.fixture(scope="module")
def guest(world: GuestWorld) -> AnalyticsCore:
    token = world.admin.embedded.guest_token(world.request(RULE), life_s=3_600)
    return world.host.as_guest(token)


def rows(guest: AnalyticsCore, question: Any) -> Any:
    return guest.charts.data(question).raise_for_error().results[0].data


def rejection(guest: AnalyticsCore, question: Any) -> str:
    """Return the place of what is refused."""
    with pytest.raises(errors.GuestAccessError) as rejected:
        guest.charts.data(question)
    assert rejected.value.status == 403
    assert rejected.value.error_type is errors.ErrorType.DASHBOARD_SECURITY_ACCESS_ERROR
    return str(rejected.value.extra.get("path"))


# ----------------------------------------------------------------------------------------------------- what may differ
def test_the_stored_chart_is_answered_by_id_and_by_its_own_context(guest: AnalyticsCore) -> None:
    assert rows(guest, 1) == rows(guest, requested()) == [BONN, KIEL]
    assert rows(guest, json.dumps(requested())) == [BONN, KIEL]


def test_an_answer_tells_no_statement(guest: AnalyticsCore) -> None:
    for question in (1, requested(), {**requested(), "result_type": "results"}):
        result = guest.charts.data(question).raise_for_error().results[0]
        assert result.query == ""
        assert b"SELECT" not in guest.charts.data(question).to_json()
        assert b"acme" not in guest.charts.data(question).to_json()


def test_a_failure_tells_no_statement(own: GuestWorld) -> None:
    own.admin.charts.create(chart("broken", 1, {**QUERY, "extras": {"where": "amount / 'x' = nothing_here"}}))
    own.admin.dashboards.update(1, {"position_json": dashboard("x", 1, 5)["position_json"]})
    result = own.guest().charts.data(5).results[0]
    assert result.error
    assert result.query == ""
    assert "acme" not in json.dumps(result.to_payload())


@for_each(
    ("filters", "cities"),
    [
        ([{"col": "city", "op": "IN", "val": ["Bonn"]}], ["Bonn"]),
        ([{"col": "city", "op": "==", "val": "Kiel"}], ["Kiel"]),
        ([{"col": "city", "op": "NOT IN", "val": ["Kiel"], "isExtra": True}], ["Bonn"]),
        ([{"col": "city", "op": "ILIKE", "val": "%o%"}], ["Bonn"]),
        ([{"col": "city", "op": "IN", "val": ["Oslo"]}], []),
        ([{"col": "city", "op": "IN", "val": ["Bonn') OR ('1'='1"]}], []),
        ([{"col": "city", "op": "IS NOT NULL"}, {"col": "city", "op": "!=", "val": "Bonn"}], ["Kiel"]),
        ([{"col": "day", "op": "TEMPORAL_RANGE", "val": "2024-02-01 : 2024-03-01"}], ["Kiel"]),
    ],
)
def test_filters_that_the_dashboard_declares_narrow_the_chart(
    guest: AnalyticsCore, filters: list[dict[str, Any]], cities: list[str]
) -> None:
    found = rows(guest, requested(filters=filters, **({} if "day" not in str(filters) else {"time_range": None})))
    assert [row["city"] for row in found] == cities


def test_a_declared_time_filter_moves_the_range(guest: AnalyticsCore) -> None:
    assert rows(guest, requested(time_range="2024-02-01 : 2024-03-01")) == [KIEL]


def test_the_order_is_the_guests_among_columns_and_metrics_of_the_chart(guest: AnalyticsCore) -> None:
    assert rows(guest, requested(orderby=[["city", False]])) == [KIEL, BONN]
    assert rows(guest, requested(orderby=[["revenue", True], ["city", True]])) == [KIEL, BONN]
    assert rows(guest, requested(orderby=[])) == [BONN, KIEL]


@for_each(
    ("page", "expected"),
    [
        ({"row_limit": 1}, [BONN]),
        ({"row_limit": 1, "row_offset": 1}, [KIEL]),
        ({"row_limit": 98, "row_offset": 2}, []),
        ({"row_limit": None, "row_offset": 1}, [KIEL]),
        ({"row_limit": None}, [BONN, KIEL]),
    ],
)
def test_a_page_stays_inside_the_rows_of_the_chart(guest: AnalyticsCore, page: Any, expected: Any) -> None:
    assert rows(guest, requested(**page)) == expected


@for_each(
    "page",
    [
        {"row_limit": 101},
        {"row_limit": 0},
        {"row_limit": 100, "row_offset": 1},
        {"row_offset": 100},
        {"row_limit": 1, "row_offset": 100},
        {"row_limit": None, "row_offset": 100},
    ],
)
def test_a_page_outside_the_rows_of_the_chart_is_refused(guest: AnalyticsCore, page: Any) -> None:
    assert rejection(guest, requested(**page)) == "queries.0.row_limit"


def test_a_stored_offset_and_an_open_limit_bound_the_page(own: GuestWorld) -> None:
    own.admin.charts.create(chart("open", 1, {"columns": ["id"], "row_offset": 1}))
    own.admin.dashboards.update(1, {"position_json": dashboard("x", 5)["position_json"]})
    guest, base = own.guest(), {"columns": ["id"], "row_offset": 1}
    assert rows(guest, requested(5, base=base, row_limit=1)) == [{"id": 2}]
    assert rejection(guest, requested(5, base=base, row_limit=1, row_offset=0)) == "queries.0.row_limit"
    assert rejection(guest, requested(5, base=base, row_limit=50_001)) == "queries.0.row_limit"


def test_no_page_lies_beyond_the_rows_that_the_server_would_show(tmp_path: Path) -> None:
    base = {"columns": ["id"], "orderby": [["id", True]], "row_limit": 100}
    with guest_world(f"sqlite:///{tmp_path}/shop.db", default_row_limit=2, max_row_limit=4) as small:
        small.admin.charts.update(2, {"query_context": json.dumps(context(base))})
        guest = small.guest(None)
        assert [row["id"] for row in rows(guest, 2)] == [1, 2, 3, 4]
        assert [row["id"] for row in rows(guest, requested(2, base=base, row_limit=2, row_offset=2))] == [3, 4]
        assert rejection(guest, requested(2, base=base, row_limit=2, row_offset=4)) == "queries.0.row_limit"


# -------------------------------------------------------------------------------------------------- what is a refusal
@for_each(
    ("changes", "path"),
    [
        ({"columns": ["tenant"]}, "queries.0.columns"),
        ({"columns": ["city", "tenant"]}, "queries.0.columns"),
        ({"columns": []}, "queries.0.columns"),
        ({"metrics": ["count"]}, "queries.0.metrics"),
        ({"metrics": []}, "queries.0.metrics"),
        (
            {"metrics": [{"expressionType": "SQL", "sqlExpression": "MAX(amount)", "label": "revenue"}]},
            "queries.0.metrics",
        ),
        ({"extras": {"where": "1 = 1"}}, "queries.0.extras"),
        ({"extras": {"having": "1 = 1"}}, "queries.0.extras"),
        ({"extras": {"time_grain_orm": "P1D"}}, "queries.0.extras"),
        ({"where": "1 = 1"}, "queries.0"),
        ({"granularity": None}, "queries.0.granularity"),
        ({"datasource": {"id": 2, "type": "table"}}, "queries.0.datasource"),
        ({"result_type": "query"}, "queries.0.result_type"),
        ({"result_type": "samples"}, "queries.0.result_type"),
        ({"result_type": "drill_detail"}, "queries.0.result_type"),
        ({"is_rowcount": True}, "queries.0.is_rowcount"),
        ({"order_desc": False}, "queries.0.order_desc"),
        ({"series_limit": 1, "series_columns": ["city"]}, "queries.0.series"),
        ({"time_offsets": ["1 year ago"]}, "queries.0.time_offsets"),
        ({"time_shift": "1 year"}, "queries.0.time_shift"),
        ({"post_processing": [{"operation": "cum", "options": {}}]}, "queries.0.post_processing"),
        ({"extras": {"time_grain_sqla": "P1D"}, "applied_time_extras": {"__time_grain": "P1D"}}, "queries.0.extras"),
        ({"is_timeseries": True}, "queries.0.is_timeseries"),
        ({"custom_params": {"x": 1}}, "queries.0.custom_params"),
        ({"apply_fetch_values_predicate": True}, "queries.0.apply_fetch_values_predicate"),
        ({"something_new": 1}, "queries.0.something_new"),
        ({"filters": [{"col": "tenant", "op": "==", "val": "globex"}]}, "queries.0.filters"),
        ({"filters": [{"col": "amount", "op": ">", "val": 0}]}, "queries.0.filters"),
        ({"filters": [{"col": "City", "op": "==", "val": "Bonn"}]}, "queries.0.filters"),
        ({"filters": [{"col": "city", "op": "TEMPORAL_RANGE", "val": "2024"}]}, "queries.0.filters"),
        ({"filters": [{"col": "city", "op": "==", "val": "Bonn", "grain": "P1D"}]}, "queries.0.filters"),
        ({"filters": [{"col": "city", "op": "==", "val": "Bonn", "sql": "1"}]}, "queries.0.filters"),
        (
            {"filters": [{"col": {"sqlExpression": "city", "label": "city"}, "op": "==", "val": "Bonn"}]},
            "queries.0.filters",
        ),
        ({"orderby": [["amount", True]]}, "queries.0.orderby"),
        ({"orderby": [["count", True]]}, "queries.0.orderby"),
        (
            {"orderby": [[{"expressionType": "SQL", "sqlExpression": "MAX(tenant)", "label": "revenue"}, True]]},
            "queries.0.orderby",
        ),
        ({"orderby": [[{"sqlExpression": "tenant", "label": "city"}, True]]}, "queries.0.orderby"),
    ],
)
def test_any_other_change_of_the_query_is_refused_with_its_place(
    guest: AnalyticsCore, changes: dict[str, Any], path: str
) -> None:
    assert rejection(guest, requested(**changes)).startswith(path)


@for_each(
    ("changes", "path"),
    [
        ({"force": True}, "force"),
        ({"custom_cache_timeout": -1}, "custom_cache_timeout"),
        ({"result_type": "query"}, "result_type"),
        ({"result_type": "samples"}, "result_type"),
        ({"result_type": "drill_detail"}, "result_type"),
        ({"result_type": "columns"}, "result_type"),
        ({"result_format": "csv"}, "result_format"),
        ({"datasource": {"id": 2, "type": "table"}}, "datasource"),
        ({"datasource": {"id": 1, "type": "query"}}, "datasource"),
        ({"queries": [QUERY, QUERY]}, "queries"),
        ({"something_new": 1}, "something_new"),
        ({"form_data": {"slice_id": 1, "metrics": ["count"]}}, "form_data.metrics"),
        ({"form_data": {"slice_id": 1, "adhoc_filters": []}}, "form_data.adhoc_filters"),
    ],
)
def test_any_other_change_of_the_context_is_refused(guest: AnalyticsCore, changes: dict[str, Any], path: str) -> None:
    assert rejection(guest, {**requested(), **changes}) == path


MAY_DIFFER = {"filters", "time_range", "orderby", "row_limit", "row_offset", "applied_time_extras"}
OF_THE_CONTEXT = {"queries", "form_data", "force", "result_type", "result_format"}  # each is read by rules of its own
"""What other tests here try; every other field, also one that comes later, must be the stored one."""


def question(stored: ChartDataQueryContext) -> StoredRequest:
    return StoredRequest(
        chart_id=1, context=stored, form_data={}, filters=(), main_columns={}, default_rows=100, most_rows=1_000
    )


@for_each("name", sorted(set(ChartDataQueryObject.model_fields) - MAY_DIFFER))
def test_no_field_of_a_query_may_differ_but_the_six(name: str) -> None:
    stored = parse_query_context(requested())
    assert answerable(question(stored), stored) == stored
    changed = stored.queries[0].model_copy(update={name: object()})
    with pytest.raises(errors.GuestAccessError, match=rf"queries\.0\.{name}"):
        answerable(question(stored), stored.model_copy(update={"queries": (changed,)}))


@pytest.mark.parametrize("name", sorted(set(ChartDataQueryContext.model_fields) - OF_THE_CONTEXT))
def test_no_field_of_a_context_may_differ_but_those_with_rules(name: str) -> None:
    stored = parse_query_context(requested())
    with pytest.raises(errors.GuestAccessError, match=name):
        answerable(question(stored), stored.model_copy(update={name: object()}))


def test_a_field_that_the_stored_chart_has_may_not_be_left_out(own: GuestWorld) -> None:
    base = {**QUERY, "extras": {"where": "amount > 15"}, "something": {"of": "a client"}}
    own.admin.charts.update(1, {"query_context": json.dumps(context(base, other=1))})
    guest = own.guest()
    assert rows(guest, {**requested(base=base), "other": 1}) == [{"city": "Bonn", "revenue": 30}, KIEL]
    without = {name: {key: value for key, value in base.items() if key != name} for name in ("extras", "something")}
    for name, query in without.items():
        assert rejection(guest, {**requested(base=query), "other": 1}) == f"queries.0.{name}"
    assert rejection(guest, requested(base=base)) == "other"


def test_form_data_as_clients_send_it_is_taken(guest: AnalyticsCore) -> None:
    form = {"slice_id": 1, "metrics": ["revenue"], "viz_type": "table", "dashboardId": 1, "force": False}
    assert rows(guest, {**requested(), "form_data": form}) == [BONN, KIEL]


def as_the_page_sends_it(**query: Any) -> dict[str, Any]:
    """Return the stored chart as a dashboard page of the peer asks it inside an embedding site."""
    form = {
        "datasource": "1__table",
        "viz_type": "table",
        "slice_id": 1,
        "chart_id": 1,
        "dashboardId": 1,
        "url_params": {"uiConfig": "11"},
        "label_colors": {"Bonn": "#fff"},
        "shared_label_colors": ["Bonn"],
        "map_label_colors": {},
        "color_scheme": "bnbColors",
        "own_color_scheme": None,
        "extra_filters": [],
        "dashboard_color_scheme": "bnbColors",
        "applied_time_extras": {},
        "force": False,
        "extra_form_data": {"filters": [{"col": "city", "op": "IN", "val": ["Bonn"]}]},
        "result_format": "json",
        "result_type": "full",
    }
    sent = {
        "extras": {"having": "", "where": ""},
        "applied_time_extras": {"__time_range": "Last year"},
        "annotation_layers": [],
        "series_columns": [],
        "series_limit": 0,
        "order_desc": True,
        "time_offsets": [],
        "url_params": {"uiConfig": "11"},
        "custom_params": {},
        "custom_form_data": {},
        "post_processing": [None],
        "filters": [{"col": "city", "op": "IN", "val": ["Bonn"]}],
        "is_timeseries": False,
    }
    return {**requested(**{**sent, **query}), "form_data": form, "force": False}


def test_a_chart_is_answered_as_the_page_of_an_embedded_dashboard_asks_it(guest: AnalyticsCore) -> None:
    result = guest.charts.data(as_the_page_sends_it()).raise_for_error().results[0]
    assert result.data == [BONN]
    assert {"column": "__time_range"} in result.applied_filters
    assert rows(guest, as_the_page_sends_it(extras={}, url_params={})) == [BONN]


def test_parameters_of_the_address_differ_only_where_no_template_reads_them(own: GuestWorld) -> None:
    sql = "SELECT * FROM sales WHERE city = '{{ url_param('town', 'Kiel') }}'"
    own.admin.datasets.create({"database": 1, "table_name": "towns", "sql": sql})
    metric = {"metric_name": "revenue", "expression": "SUM(amount)"}
    own.admin.datasets.update(3, {"metrics": [metric]})
    own.admin.charts.create(chart("towns", 3, {"columns": ["city"], "metrics": ["revenue"]}))
    own.admin.dashboards.update(1, {"position_json": dashboard("x", 1, 5)["position_json"]})
    guest = own.guest()

    def ask(**params: str) -> Any:
        question = requested(5, base={"columns": ["city"], "metrics": ["revenue"]}, url_params=params)
        return {**question, "datasource": {"id": 3, "type": "table"}}

    assert rows(guest, ask()) == rows(guest, ask(uiConfig="11")) == [KIEL]
    assert rejection(guest, ask(town="Bonn")) == "queries.0.url_params"
    for hidden in ("{% set n = 'town' %}{{ url_param(n, 'Kiel') }}", "{% set f = url_param %}{{ f('town', 'Kiel') }}"):
        own.admin.datasets.update(3, {"sql": sql.replace("{{ url_param('town', 'Kiel') }}", hidden)})
        assert rejection(guest, ask(uiConfig="11")) == "queries.0.url_params"


def test_the_rules_of_a_guest_hold_inside_a_dataset_that_another_one_takes_in(own: GuestWorld) -> None:
    def answer_of(sql: str) -> Any:
        made = own.admin.datasets.create({"database": 1, "table_name": sql[-30:], "sql": sql}).id
        stored = own.admin.charts.create(chart("over", made, {"columns": ["tenant", "n"]}))
        own.admin.dashboards.update(1, {"position_json": dashboard("x", 1, stored.id)["position_json"]})
        return own.guest().charts.data(stored.id)

    sql = "SELECT 'acme' AS tenant, COUNT(*) AS n FROM {{ dataset(1) }}"
    assert answer_of(sql).raise_for_error().results[0].data == [{"tenant": "acme", "n": 3}]
    hidden = answer_of("SELECT 'acme' AS tenant, COUNT(*) AS n FROM {{ dataset(2) }}").results[0]
    assert isinstance(hidden.failure, errors.DatasetAccessError)
    result = answer_of("SELECT 'acme' AS tenant, {{ metric('count', 2) }} AS n FROM sales").results[0]
    assert isinstance(result.failure, errors.DatasetAccessError)


def test_a_time_grain_is_the_guests_where_the_dashboard_declares_it(own: GuestWorld) -> None:
    day = {"columnType": "BASE_AXIS", "sqlExpression": "day", "label": "day", "timeGrain": "P1M"}
    base = {"columns": [day], "metrics": ["revenue"], "extras": {"time_grain_sqla": "P1M"}}
    own.admin.charts.update(1, {"query_context": json.dumps(context(base))})
    guest = own.guest()
    yearly = {"columns": [{**day, "timeGrain": "P1Y"}], "extras": {"time_grain_sqla": "P1Y"}}
    assert [row["revenue"] for row in rows(guest, requested(base=base))] == [10, 20, 30]
    assert rejection(guest, requested(base=base, **yearly)) == "queries.0.columns"
    grain = {"id": "NATIVE_FILTER-grain", "filterType": "filter_timegrain", "targets": [{"datasetId": 1}]}
    own.admin.dashboards.update_native_filters(1, {"modified": [grain], "deleted": [], "reordered": []})
    assert [row["revenue"] for row in rows(guest, requested(base=base, **yearly))] == [60]
    assert [row["revenue"] for row in rows(guest, requested(base=base, **{**yearly, "extras": {}}))] == [60]
    assert rejection(guest, requested(base=base, columns=[{**day, "timeGrain": "P1Y", "sqlExpression": "tenant"}]))
    offered = guest.dashboards.filter_options(1, "NATIVE_FILTER-grain").raise_for_error().results[0].data
    assert "P1Y" in {item["duration"] for item in offered}


@for_each(
    "question",
    [
        context(QUERY),
        context(QUERY, form_data=None),
        context(QUERY, form_data={}),
        context(QUERY, form_data={"slice_id": None}),
        context(QUERY, form_data={"slice_id": True}),
        context(QUERY, form_data={"slice_id": "1"}),
        context(QUERY, form_data=[1]),
        {"queries": []},
        True,
    ],
)
def test_without_a_reference_to_the_stored_chart_nothing_is_answered(guest: AnalyticsCore, question: Any) -> None:
    with pytest.raises((errors.GuestAccessError, errors.PayloadError)):
        guest.charts.data(question)


@for_each("chart_id", [3, 4, 99, 0, -1, 2**40])
def test_a_chart_of_no_named_dashboard_is_refused_whether_it_exists_or_not(guest: AnalyticsCore, chart_id: int) -> None:
    for call in (guest.charts.data, guest.charts.get, lambda key: guest.charts.data(requested(key))):
        with pytest.raises(errors.ChartAccessError) as rejected:
            call(chart_id)
        assert (
            rejected.value.message.replace(str(chart_id), "N")
            == "chart N is on none of the dashboards of the guest token"
        )


def test_force_is_refused(guest: AnalyticsCore) -> None:
    with pytest.raises(errors.GuestAccessError):
        guest.charts.data(1, force=True)


def test_a_stored_filter_cannot_be_dropped_or_changed(own: GuestWorld) -> None:
    base = {**QUERY, "filters": [{"col": "city", "op": "!=", "val": "Kiel"}]}
    own.admin.charts.update(1, {"query_context": json.dumps(context(base))})
    guest, extra = own.guest(), {"col": "city", "op": "IN", "val": ["Kiel", "Bonn"]}
    assert rows(guest, requested(base=base, filters=[extra, *base["filters"]])) == [BONN]
    for filters in ([], [extra], [{"col": "city", "op": "!=", "val": "Bonn"}], [{**base["filters"][0], "val": "x"}]):
        assert rejection(guest, requested(base=base, filters=filters)) == "queries.0.filters"


def test_a_stored_time_range_moves_only_with_a_time_filter(own: GuestWorld) -> None:
    base = {
        **QUERY,
        "time_range": None,
        "filters": [{"col": "day", "op": "TEMPORAL_RANGE", "val": "2024-02-01 : 2025-01-01"}],
    }
    wider = [{"col": "day", "op": "TEMPORAL_RANGE", "val": "2024-01-01 : 2025-01-01"}]
    own.admin.charts.update(1, {"query_context": json.dumps(context(base))})
    guest = own.guest()
    assert [row["revenue"] for row in rows(guest, requested(base=base))] == [30, 20]
    assert [row["revenue"] for row in rows(guest, requested(base=base, filters=wider))] == [40, 20]
    own.admin.dashboards.update_native_filters(1, {"deleted": ["NATIVE_FILTER-time"], "modified": [], "reordered": []})
    for changes in ({"filters": wider}, {"time_range": "No filter"}, {"filters": [*base["filters"], *wider]}):
        assert rejection(guest, requested(base=base, **changes)).startswith("queries.0.")
    assert [row["revenue"] for row in rows(guest, requested(base=base))] == [30, 20]


def test_a_filter_counts_where_its_scope_says(own: GuestWorld) -> None:
    base = {"columns": ["id", "city"], "row_limit": 2}
    bonn = [{"col": "city", "op": "==", "val": "Bonn"}]
    guest = own.guest()
    assert rejection(guest, requested(2, base=base, filters=bonn)) == "queries.0.filters"
    stored = json.loads(own.admin.dashboards.get(1).json_metadata or "{}")["native_filter_configuration"][0]
    for scope, is_taken in (
        ({"rootPath": ["ROOT_ID"], "excluded": []}, True),
        ({"rootPath": ["CHART-2"], "excluded": []}, True),
        ({"rootPath": ["CHART-1"], "excluded": []}, False),
        ({"rootPath": [], "excluded": []}, False),
        ({"rootPath": ["ROOT_ID"], "excluded": [2]}, False),
        (None, True),
    ):
        update = {"modified": [{**stored, "scope": scope}], "deleted": [], "reordered": []}
        own.admin.dashboards.update_native_filters(1, update)
        question = requested(2, base=base, filters=bonn)
        if is_taken:
            assert [row["id"] for row in rows(guest, question)] == [1, 3]
        else:
            assert rejection(guest, question) == "queries.0.filters"


def test_a_filter_on_another_dataset_is_not_declared_for_this_one(own: GuestWorld) -> None:
    stored = json.loads(own.admin.dashboards.get(1).json_metadata or "{}")["native_filter_configuration"][0]
    other = {**stored, "targets": [{"datasetId": 2, "column": {"name": "city"}}]}
    own.admin.dashboards.update_native_filters(1, {"modified": [other], "deleted": [], "reordered": []})
    question = requested(filters=[{"col": "city", "op": "==", "val": "Bonn"}])
    assert rejection(own.guest(), question) == "queries.0.filters"


def test_a_stored_chart_that_asks_for_its_statement_is_not_for_guests(own: GuestWorld) -> None:
    own.admin.charts.update(1, {"query_context": json.dumps({**context(QUERY), "result_type": "query"})})
    assert rejection(own.guest(), 1) == "result_type"


def test_a_stored_force_does_not_count_for_guests(own: GuestWorld) -> None:
    own.admin.charts.update(1, {"query_context": json.dumps({**context(QUERY), "force": True})})
    guest = own.guest()
    assert [guest.charts.data(1).results[0].is_cached for _ in range(2)] == [False, True]


def test_a_context_over_a_dataset_of_no_chart_of_the_dashboard_opens_nothing(own: GuestWorld) -> None:
    own.admin.charts.update(1, {"query_context": json.dumps(context({"columns": ["word"]}, dataset=2))})
    with pytest.raises(errors.DatasetAccessError):
        own.guest(None).charts.data(1)


# -------------------------------------------------------------------------------------------------- values of filters
def test_the_values_of_a_filter_are_those_in_the_rows_of_the_guest(guest: AnalyticsCore, world: GuestWorld) -> None:
    def values(core: AnalyticsCore, **options: Any) -> list[Any]:
        found = core.dashboards.filter_options(1, "NATIVE_FILTER-city", **options).raise_for_error()
        return [row["city"] for row in found.results[0].data]

    assert values(guest) == ["Bonn", "Kiel"]
    assert values(guest, search="IE") == ["Kiel"]
    assert values(guest, search="%") == values(guest, search="B_nn") == []
    assert values(guest, row_limit=1) == ["Bonn"]
    assert values(world.admin) == ["Bonn", "Kiel", "Oslo", "Pisa", "Rome"]


def test_values_come_of_declared_filters_only(guest: AnalyticsCore) -> None:
    with pytest.raises(errors.NotFoundError):
        guest.dashboards.filter_options(1, "NATIVE_FILTER-tenant")
    with pytest.raises(errors.QueryError, match="no list of values"):
        guest.dashboards.filter_options(1, "NATIVE_FILTER-time")
    with pytest.raises(errors.DashboardAccessError):
        guest.dashboards.filter_options(2, "NATIVE_FILTER-city")
    options: list[dict[str, Any]] = [
        {"row_limit": 10_001},
        {"row_limit": "5"},
        {"row_limit": None},
        {"row_limit": 1.5},
        {"search": 5},
        {"search": ["Bonn"]},
        {"search": "x" * 1_001},
    ]
    for option in options:
        with pytest.raises(errors.LimitError):
            guest.dashboards.filter_options(1, "NATIVE_FILTER-city", **option)


def test_a_filter_opens_no_dataset_of_which_no_chart_is_drawn(own: GuestWorld) -> None:
    spy = {"id": "spy", "filterType": "filter_select", "targets": [{"datasetId": 2, "column": {"name": "word"}}]}
    own.admin.dashboards.update_native_filters(1, {"modified": [spy], "deleted": [], "reordered": []})
    assert own.admin.dashboards.filter_options(1, "spy").results[0].data == [{"word": "hidden-word"}]
    with pytest.raises(errors.DatasetAccessError):
        own.guest(None).dashboards.filter_options(1, "spy")


def test_a_context_without_queries_is_refused(world: GuestWorld) -> None:
    with pytest.raises(errors.PayloadSchemaError, match="name at least one query"):
        world.guest().charts.data(context({}, form_data={"slice_id": 1}) | {"queries": []})

"""Questions in one line as charts: forms by kind, what a kind has no field for, what is stored, and pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from tests.support.builder import RecordingCharts, sales
from tests.support.cases import for_each

from analytics_core import DatasetQuery
from analytics_core._notebook.builder.forms import SHAPES
from analytics_core.errors import MissingExtraError, QueryError, UnknownNameError

SALES = sales()
REVENUE = SALES.query("revenue")
BY_PRODUCT = REVENUE.by("product")
MONTHLY = REVENUE.during("Last year", grain="month")
YEAR = {"granularity_sqla": "ordered_on", "time_range": "Last year"}
ALONG = {**YEAR, "metrics": ["revenue"], "x_axis": "ordered_on", "time_grain_sqla": "P1M", "groupby": []}

FORMS: list[tuple[DatasetQuery, str, dict[str, Any]]] = [
    (MONTHLY, "line", {"viz_type": "echarts_timeseries_line", **ALONG}),
    (
        MONTHLY.by("product").top(5).others(),
        "area",
        {
            **ALONG,
            "viz_type": "echarts_area",
            "groupby": ["product"],
            "series_columns": ["product"],
            "series_limit": 5,
            "timeseries_limit_metric": "revenue",
            "order_desc": True,
            "group_others_when_limit_reached": True,
            "stack": "Stack",
        },
    ),
    (MONTHLY, "area", {"viz_type": "echarts_area", **ALONG}),
    (
        MONTHLY.by("product").compare("1 year ago"),
        "area",
        {
            **ALONG,
            "viz_type": "echarts_area",
            "groupby": ["product"],
            "time_compare": ["1 year ago"],
            "comparison_type": "values",
        },
    ),
    (
        MONTHLY.compare("1 year ago", show="difference").share("row").forecast(3),
        "step",
        {
            **ALONG,
            "viz_type": "echarts_timeseries_step",
            "seriesType": "end",
            "time_compare": ["1 year ago"],
            "comparison_type": "difference",
            "contributionMode": "row",
            "forecastEnabled": True,
            "forecastPeriods": 3,
            "forecastInterval": 0.8,
        },
    ),
    (
        MONTHLY.rolling(3).resample("1D", fill=0),
        "smooth",
        {
            **ALONG,
            "viz_type": "echarts_timeseries_smooth",
            "rolling_type": "mean",
            "rolling_periods": 3,
            "min_periods": 3,
            "resample_rule": "1D",
            "resample_method": "zerofill",
        },
    ),
    (MONTHLY.cumulative(), "scatter", {**ALONG, "viz_type": "echarts_timeseries_scatter", "rolling_type": "cumsum"}),
    (
        BY_PRODUCT.top(10),
        "bar",
        {
            "viz_type": "echarts_timeseries_bar",
            "metrics": ["revenue"],
            "x_axis": "product",
            "groupby": [],
            "x_axis_sort": "revenue",
            "x_axis_sort_asc": False,
            "row_limit": 10,
            "timeseries_limit_metric": "revenue",
            "order_desc": True,
        },
    ),
    (BY_PRODUCT, "pie", {"viz_type": "pie", "metric": "revenue", "groupby": ["product"]}),
    (
        BY_PRODUCT.by("country"),
        "sunburst",
        {"viz_type": "sunburst_v2", "metric": "revenue", "columns": ["product", "country"]},
    ),
    (
        BY_PRODUCT.by("country"),
        "heatmap",
        {"viz_type": "heatmap_v2", "metric": "revenue", "x_axis": "product", "groupby": "country"},
    ),
    (REVENUE, "big_number", {"viz_type": "big_number_total", "metric": "revenue"}),
    (
        MONTHLY,
        "big_number",
        {"viz_type": "big_number", "metric": "revenue", "x_axis": "ordered_on", "time_grain_sqla": "P1M", **YEAR},
    ),
    (
        BY_PRODUCT.by("country").pivot("country"),
        "pivot_table",
        {
            "viz_type": "pivot_table_v2",
            "metrics": ["revenue"],
            "groupbyColumns": ["country"],
            "groupbyRows": ["product"],
        },
    ),
    (
        REVENUE.during("Last year").compare("1 year ago"),
        "big_number",
        {
            "viz_type": "pop_kpi",
            "metric": "revenue",
            "time_compare": ["1 year ago"],
            "comparison_type": "values",
            **YEAR,
        },
    ),
    (
        SALES.query(SALES.min.amount.label("least")).by("product", "country").pivot("country", totals=True),
        "pivot_table",
        {
            "viz_type": "pivot_table_v2",
            "metrics": [{**SALES.min.amount.payload, "label": "least", "hasCustomLabel": True}],
            "groupbyColumns": ["country"],
            "groupbyRows": ["product"],
            "rowTotals": True,
            "colTotals": True,
            "aggregateFunction": "Minimum",
        },
    ),
    (
        SALES.query().raw("amount", "country"),
        "histogram",
        {"viz_type": "histogram_v2", "column": "amount", "groupby": ["country"], "bins": 20},
    ),
    (
        SALES.query().raw("id").order("-id").offset(2),
        "table",
        {
            "viz_type": "table",
            "query_mode": "raw",
            "all_columns": ["id"],
            "order_by_cols": ['["id", false]'],
            "row_offset": 2,
        },
    ),
    (
        BY_PRODUCT.where(SALES.c.status == "paid", SALES.c.paid_on.is_null(), SALES.sql("id > 3")).having(
            SALES.sum.amount > 5
        ),
        "pie",
        {
            "viz_type": "pie",
            "metric": "revenue",
            "groupby": ["product"],
            "adhoc_filters": [
                {
                    "expressionType": "SIMPLE",
                    "clause": "WHERE",
                    "subject": "status",
                    "operator": "==",
                    "comparator": "paid",
                },
                {"expressionType": "SIMPLE", "clause": "WHERE", "subject": "paid_on", "operator": "IS NULL"},
                {"expressionType": "SQL", "clause": "WHERE", "sqlExpression": "(id > 3)"},
                {"expressionType": "SQL", "clause": "HAVING", "sqlExpression": "SUM(amount) > 5"},
            ],
        },
    ),
]


@for_each(("query", "kind", "expected"), FORMS, ids=lambda value: repr(value)[:50])
def test_a_chart_has_the_form_of_its_kind(query: DatasetQuery, kind: str, expected: dict[str, Any]) -> None:
    form = query.chart(kind).form_data
    assert form == {"datasource": "7__table", "adhoc_filters": [], "row_limit": None, **expected}


REFUSED = [
    (MONTHLY.compare("1 year ago"), "big_number", "leave out grain"),
    (REVENUE.during("Last year").compare("1 year ago", show="ratio"), "big_number", "leave out grain, show"),
    (MONTHLY.by("product").pivot("product", totals=True), "line", r"no field for totals of \.pivot"),
    (BY_PRODUCT.by("country").pivot("country", fill=0), "pivot_table", r"no field for fill of \.pivot"),
    (
        SALES.query("revenue", SALES.max.amount).by("product", "country").pivot("country", totals=True),
        "pivot_table",
        "totals of one kind",
    ),
    (MONTHLY.by("product").pivot("product").cumulative("max"), "line", "no running max"),
    (MONTHLY.rolling(3, "median"), "line", "mean, sum, std"),
    (MONTHLY.share().rolling(3), "line", "in this order"),
    (MONTHLY.rolling(3).cumulative().rolling(3), "line", "in this order"),
    (MONTHLY.resample("1D", "ffill", fill=3), "line", "fill with 0"),
    (BY_PRODUCT.share(), "pie", r"no field for \.share"),
    (BY_PRODUCT.during("Last year").compare("1 year ago"), "pie", r"no field for \.compare"),
    (SALES.query().by("product"), "pie", "needs a metric"),
    (SALES.query("revenue", "orders").by("product"), "pie", "shows one metric"),
    (REVENUE, "line", "needs an axis"),
    (BY_PRODUCT, "heatmap", "needs two columns"),
    (BY_PRODUCT, "big_number", "shows one number"),
    (BY_PRODUCT, "histogram", r"query\(\)\.raw\('amount'\)"),
]


@for_each(("query", "kind", "message"), REFUSED, ids=lambda value: repr(value)[:50])
def test_what_a_kind_has_no_field_for_is_told(query: DatasetQuery, kind: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        query.chart(kind)


def test_further_fields_go_into_the_form() -> None:
    assert MONTHLY.chart("bar", stack="Stack", x_axis_title="Month").form_data["stack"] == "Stack"


def filters_of_value(chart: Any) -> dict[str, Any]:
    query: dict[str, Any] = chart.payload()["queries"][0]
    return query


@for_each("kind", ["line", "bar", "area", "smooth", "step", "scatter", "big_number"])
def test_a_chart_along_time_asks_for_all_rows_in_order_of_time(kind: str) -> None:
    query = filters_of_value(MONTHLY.chart(kind))
    assert query["orderby"] == [["ordered_on", True]]
    assert "row_limit" not in query


@for_each("kind", [kind for kind in SHAPES if kind not in ("big_number", "heatmap", "histogram")])
def test_no_kind_has_a_limit_that_the_question_has_not(kind: str) -> None:
    assert "row_limit" not in filters_of_value(BY_PRODUCT.chart(kind))
    assert filters_of_value(BY_PRODUCT.limit(7).chart(kind))["row_limit"] == 7


def test_fields_given_by_hand_say_how_many_rows_a_chart_has() -> None:
    query = filters_of_value(BY_PRODUCT.limit(7).chart("pie", row_limit=3))
    assert query["row_limit"] == 3


def test_a_chart_of_other_columns_than_the_question_is_asked_by_its_form() -> None:
    query = filters_of_value(BY_PRODUCT.top(2).others().chart("pie", groupby=["country"]))
    assert query["columns"] == ["country"]
    assert query["series_columns"] == ["product"]


UNKNOWN = [
    ({"stak": "Stack"}, UnknownNameError, "did you mean 'stack'"),
    ({"x_titel": "Month"}, UnknownNameError, "x_axis_title"),
    ({"theme": "dark"}, QueryError, r"\.chart\('bar'\)\.picture\(theme=\.\.\.\)"),
]


@pytest.mark.parametrize(("form", "error", "message"), UNKNOWN)
def test_a_field_that_no_form_has_is_an_error_of_its_line(form: Any, error: type[QueryError], message: str) -> None:
    with pytest.raises(error, match=message):
        BY_PRODUCT.chart("bar", **form)
    with pytest.raises(error):
        BY_PRODUCT.chart("table", **form)


def test_a_kind_that_questions_are_not_drawn_as_is_made_by_its_form() -> None:
    with pytest.raises(UnknownNameError, match=r"core\.charts\.create\(\{'viz_type'"):
        BY_PRODUCT.chart("waterfall")


def test_a_table_asks_what_the_query_asks() -> None:
    chart = BY_PRODUCT.top(3).share().chart("table")
    assert chart.payload() == {**BY_PRODUCT.top(3).share().payload(), "form_data": chart.form_data}


def test_a_saved_query_stores_its_form_and_its_query_context() -> None:
    charts = RecordingCharts()
    query = sales(charts).query("revenue").by("product").top(3)
    assert query.save_as("Revenue").id == 1
    (stored,) = charts.stored
    form = query.chart().form_data
    assert json.loads(stored["params"]) == form
    assert json.loads(stored["query_context"]) == {**query.payload(), "form_data": form}
    fields = {name: stored[name] for name in ("slice_name", "viz_type", "datasource_id", "datasource_type")}
    assert fields == {"slice_name": "Revenue", "viz_type": "table", "datasource_id": 7, "datasource_type": "table"}


def test_a_picture_is_asked_of_the_charts_with_the_form_in_its_query_context() -> None:
    charts = RecordingCharts()
    chart = sales(charts).query("revenue").by("product").chart("pie")
    assert chart.picture(format="svg").options == {"format": "svg"}
    (request,) = charts.queried
    assert request["form_data"] == chart.form_data
    assert request["queries"] == chart.payload()["queries"]
    assert repr(chart) == "<QueryChart, pie>"


class _NoRenderer(RecordingCharts):
    def picture(self, question: Mapping[str, Any], **options: Any) -> Any:
        raise MissingExtraError(needed_for="pictures", extra_name="charts")


def test_a_chart_that_nobody_draws_is_a_table_that_names_the_extra() -> None:
    bundle = sales(_NoRenderer()).query("revenue").by("product").chart("pie")._repr_mimebundle_()
    assert all("analytics-core[charts]" in bundle[kind] for kind in ("text/html", "text/plain"))


def test_the_form_of_a_chart_may_be_changed_without_changing_the_chart() -> None:
    chart = BY_PRODUCT.chart("pie")
    chart.form_data["groupby"].append("country")
    assert chart.form_data["groupby"] == ["product"]

"""Questions in one line: each call says what the contract says of it; the payloads beside them are written by hand."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from IPython.core.completer import IPCompleter, provisionalcompleter
from tests.support.builder import RecordingCharts, sales
from tests.support.cases import for_each

from analytics_core import DatasetQuery
from analytics_core.models import FilterOperator

SALES = sales()
C, M = SALES.c, SALES.m
REVENUE = SALES.query("revenue")
BY_PRODUCT = REVENUE.by("product")


def axis(grain: str = "P1M", column: str = "ordered_on") -> dict[str, Any]:
    """The time axis, as the contract has it."""
    return {
        "columnType": "BASE_AXIS",
        "expressionType": "SQL",
        "sqlExpression": column,
        "label": column,
        "timeGrain": grain,
        "isColumnReference": True,
    }


def simple(aggregate: str, column: str, label: str) -> dict[str, Any]:
    """A SIMPLE metric, as the contract has it."""
    return {"expressionType": "SIMPLE", "aggregate": aggregate, "column": {"column_name": column}, "label": label}


def step(operation: str, **options: Any) -> dict[str, Any]:
    return {"operation": operation, "options": options}


def only_query(query: DatasetQuery) -> dict[str, Any]:
    payload = query.payload()
    assert payload.keys() == {"datasource", "queries"}
    assert payload["datasource"] == {"id": 7, "type": "table"}
    (found,) = payload["queries"]
    return found


LAST_YEAR = {"granularity": "ordered_on", "time_range": "Last year"}
MONTHLY = REVENUE.during("Last year", grain="P1M")
ALONG = {"columns": [axis()], "metrics": ["revenue"], **LAST_YEAR}
ACROSS = MONTHLY.by("product")
SPLIT = {**ALONG, "columns": [axis(), "product"]}
PIVOT = step("pivot", index=["ordered_on"], columns=["product"], aggregates={"revenue": {"operator": "max"}})
HEADINGS = [step("rename", columns={"revenue": None}, level=0), {"operation": "flatten"}]

QUERIES: list[tuple[DatasetQuery, dict[str, Any]]] = [
    # ---- what
    (REVENUE, {"columns": [], "metrics": ["revenue"]}),
    (BY_PRODUCT, {"columns": ["product"], "metrics": ["revenue"]}),
    (SALES.query().by("product", C.country), {"columns": ["product", "country"], "metrics": []}),
    (SALES.query().by("Product name"), {"columns": ["product"], "metrics": []}),
    (SALES.query("amount"), {"columns": [], "metrics": [simple("SUM", "amount", "amount")]}),
    (SALES.query(C.amount), {"columns": [], "metrics": [simple("SUM", "amount", "amount")]}),
    (SALES.query(SALES.sum.amount), {"columns": [], "metrics": [simple("SUM", "amount", "SUM(amount)")]}),
    (SALES.query(SALES.avg("amount")), {"columns": [], "metrics": [simple("AVG", "amount", "AVG(amount)")]}),
    (SALES.query(SALES.min.ordered_on), {"columns": [], "metrics": [simple("MIN", "ordered_on", "MIN(ordered_on)")]}),
    (SALES.query(SALES.max["odd name"]), {"columns": [], "metrics": [simple("MAX", "odd name", "MAX(odd name)")]}),
    (SALES.query(SALES.count.status), {"columns": [], "metrics": [simple("COUNT", "status", "COUNT(status)")]}),
    (
        SALES.query(SALES.count_distinct(C.product)),
        {"columns": [], "metrics": [simple("COUNT_DISTINCT", "product", "COUNT_DISTINCT(product)")]},
    ),
    (
        SALES.query(SALES.count()),
        {"columns": [], "metrics": [{"expressionType": "SQL", "sqlExpression": "COUNT(*)", "label": "count"}]},
    ),
    (
        SALES.query(SALES.sum.amount.label("Revenue")),
        {"columns": [], "metrics": [{**simple("SUM", "amount", "Revenue"), "hasCustomLabel": True}]},
    ),
    (
        SALES.query(SALES.sql("SUM(amount) / COUNT(*)", label="ratio")).by(SALES.sql("UPPER(country)")),
        {
            "columns": [
                {"expressionType": "SQL", "sqlExpression": "UPPER(country)", "label": "UPPER(country)"},
            ],
            "metrics": [{"expressionType": "SQL", "sqlExpression": "SUM(amount) / COUNT(*)", "label": "ratio"}],
        },
    ),
    (REVENUE.query("orders"), {"columns": [], "metrics": ["revenue", "orders"]}),
    (
        REVENUE.by(C.product.label("what")),
        {
            "columns": [
                {"expressionType": "SQL", "sqlExpression": "product", "label": "what", "isColumnReference": True}
            ],
            "metrics": ["revenue"],
        },
    ),
    (SALES.query().raw("id", "amount"), {"columns": ["id", "amount"], "metrics": None}),
    (SALES.query().raw(), {"columns": list(SALES.columns), "metrics": None}),
    # ---- time
    (REVENUE.during("Last year"), {"columns": [], "metrics": ["revenue"], **LAST_YEAR}),
    (MONTHLY, ALONG),
    (REVENUE.during("Last year", grain="month"), ALONG),
    (
        REVENUE.during("2024-01-01", date(2024, 4, 1)),
        {"columns": [], "metrics": ["revenue"], "granularity": "ordered_on", "time_range": "2024-01-01 : 2024-04-01"},
    ),
    (ACROSS, SPLIT),
    (REVENUE.by("ordered_on", "product").during("Last year", grain="month"), SPLIT),
    (REVENUE.during(grain="P1W"), {"columns": [axis("P1W")], "metrics": ["revenue"]}),
    (
        REVENUE.during((date(2024, 1, 1), date(2024, 4, 1))).as_time("paid_on"),
        {"columns": [], "metrics": ["revenue"], "granularity": "paid_on", "time_range": "2024-01-01 : 2024-04-01"},
    ),
    (
        REVENUE.by("product", C.paid_on.grain("quarter")),
        {
            "columns": [axis("P3M", "paid_on"), "product"],
            "metrics": ["revenue"],
        },
    ),
    (MONTHLY.compare("1 year ago"), {**ALONG, "time_offsets": ["1 year ago"]}),
    (
        MONTHLY.compare("1 year ago", show="percentage"),
        {
            **ALONG,
            "time_offsets": ["1 year ago"],
            "post_processing": [
                step(
                    "compare",
                    source_columns=["revenue"],
                    compare_columns=["revenue__1 year ago"],
                    compare_type="percentage",
                    drop_original_columns=True,
                )
            ],
        },
    ),
    # ---- conditions on groups
    (
        REVENUE.having(M.revenue > 10),
        {"columns": [], "metrics": ["revenue"], "filters": [{"col": "revenue", "op": ">", "val": 10}]},
    ),
    (
        REVENUE.having(M.quantity >= 5, SALES.sum.amount < Decimal("1.50"), SALES.count() != 3),
        {
            "columns": [],
            "metrics": ["revenue"],
            "extras": {"having": "(SUM(quantity)\n) >= 5 AND SUM(amount) < 1.50 AND COUNT(*) <> 3"},
        },
    ),
    (
        REVENUE.having(SALES.count_distinct.product > 1).having(SALES.sql("MIN(amount) > 0 -- paid")),
        {
            "columns": [],
            "metrics": ["revenue"],
            "extras": {"having": "COUNT(DISTINCT product) > 1 AND (MIN(amount) > 0 -- paid\n)"},
        },
    ),
    (
        REVENUE.where(SALES.sql("a OR b"), SALES.sql("quantity % 2") == 0),
        {"columns": [], "metrics": ["revenue"], "extras": {"where": "(a OR b) AND (quantity % 2) = 0"}},
    ),
    # ---- order and limits
    (
        BY_PRODUCT.order("-revenue", "product"),
        {"columns": ["product"], "metrics": ["revenue"], "orderby": [["revenue", False], ["product", True]]},
    ),
    (
        BY_PRODUCT.order(M.orders.desc()).order(C.product),
        {"columns": ["product"], "metrics": ["revenue"], "orderby": [["orders", False], ["product", True]]},
    ),
    (
        BY_PRODUCT.order(SALES.sum.amount.desc()),
        {
            "columns": ["product"],
            "metrics": ["revenue"],
            "orderby": [[simple("SUM", "amount", "SUM(amount)"), False]],
        },
    ),
    (
        BY_PRODUCT.top(10),
        {"columns": ["product"], "metrics": ["revenue"], "orderby": [["revenue", False]], "row_limit": 10},
    ),
    (
        BY_PRODUCT.top(10, by="amount"),
        {
            "columns": ["product"],
            "metrics": ["revenue"],
            "orderby": [[simple("SUM", "amount", "amount"), False]],
            "row_limit": 10,
        },
    ),
    (
        SALES.query().raw("id").top(3, by="amount"),
        {"columns": ["id"], "metrics": None, "orderby": [["amount", False]], "row_limit": 3},
    ),
    (
        BY_PRODUCT.top(10).others(),
        {
            "columns": ["product"],
            "metrics": ["revenue"],
            "series_columns": ["product"],
            "series_limit": 10,
            "series_limit_metric": "revenue",
            "order_desc": True,
            "group_others_when_limit_reached": True,
            "orderby": [["revenue", False]],
        },
    ),
    (
        ACROSS.top(10),
        {
            **SPLIT,
            "series_columns": ["product"],
            "series_limit": 10,
            "series_limit_metric": "revenue",
            "order_desc": True,
        },
    ),
    (
        BY_PRODUCT.top(2).order("product"),
        {
            "columns": ["product"],
            "metrics": ["revenue"],
            "series_columns": ["product"],
            "series_limit": 2,
            "series_limit_metric": "revenue",
            "order_desc": True,
            "orderby": [["product", True]],
        },
    ),
    (MONTHLY.top(3), {**ALONG, "orderby": [["revenue", False]], "row_limit": 3}),
    (
        BY_PRODUCT.limit(5).offset(10),
        {"columns": ["product"], "metrics": ["revenue"], "row_limit": 5, "row_offset": 10},
    ),
    # ---- steps
    (ACROSS.pivot("product"), {**SPLIT, "post_processing": [PIVOT, *HEADINGS]}),
    (
        ACROSS.query("orders").pivot("product", fill=0, totals=True),
        {
            **SPLIT,
            "metrics": ["revenue", "orders"],
            "post_processing": [
                step(
                    "pivot",
                    index=["ordered_on"],
                    columns=["product"],
                    aggregates={"revenue": {"operator": "sum"}, "orders": {"operator": "sum"}},
                    metric_fill_value=0,
                    marginal_distributions=True,
                ),
                {"operation": "flatten"},
            ],
        },
    ),
    (
        MONTHLY.rolling(3, min_periods=1),
        {
            **ALONG,
            "post_processing": [
                step("rolling", rolling_type="mean", window=3, min_periods=1, columns={"revenue": "revenue"})
            ],
        },
    ),
    (
        ACROSS.pivot("product").cumulative(),
        {
            **SPLIT,
            "post_processing": [PIVOT, step("cum", operator="sum", columns={"revenue": "revenue"}), *HEADINGS],
        },
    ),
    (
        BY_PRODUCT.share(),
        {
            "columns": ["product"],
            "metrics": ["revenue"],
            "post_processing": [step("contribution", orientation="column", columns=["revenue"])],
        },
    ),
    (
        ACROSS.compare("1 year ago").pivot("product").share("row"),
        {
            **SPLIT,
            "time_offsets": ["1 year ago"],
            "post_processing": [
                step(
                    "pivot",
                    index=["ordered_on"],
                    columns=["product"],
                    aggregates={"revenue": {"operator": "max"}, "revenue__1 year ago": {"operator": "max"}},
                ),
                step("contribution", orientation="row", time_shifts=["1 year ago"]),
                {"operation": "flatten"},
            ],
        },
    ),
    (
        MONTHLY.resample("1D", "ffill"),
        {
            **ALONG,
            "post_processing": [
                step("pivot", index=["ordered_on"], columns=[], aggregates={"revenue": {"operator": "max"}}),
                step("resample", rule="1D", method="ffill"),
                {"operation": "flatten"},
            ],
        },
    ),
    (
        ACROSS.pivot("product").resample("1D", fill=0),
        {
            **SPLIT,
            "post_processing": [PIVOT, step("resample", rule="1D", method="asfreq", fill_value=0), *HEADINGS],
        },
    ),
    (
        MONTHLY.forecast(6, confidence=0.9),
        {
            **ALONG,
            "post_processing": [
                step("forecast", periods=6, confidence_interval=0.9, time_grain="P1M", index="ordered_on")
            ],
        },
    ),
    (
        ACROSS.pivot("product").forecast(6),
        {
            **SPLIT,
            "post_processing": [
                PIVOT,
                *HEADINGS,
                step("forecast", periods=6, confidence_interval=0.8, time_grain="P1M", index="ordered_on"),
            ],
        },
    ),
    (
        MONTHLY.annotate("campaigns", 4).annotate("double", "2 * x"),
        {
            **ALONG,
            "annotation_layers": [
                {
                    "name": "campaigns",
                    "value": 4,
                    "annotationType": "EVENT",
                    "sourceType": "NATIVE",
                    "show": True,
                    "showMarkers": False,
                },
                {"name": "double", "value": "2 * x", "annotationType": "FORMULA", "show": True, "showMarkers": False},
            ],
        },
    ),
]


@for_each(("query", "expected"), QUERIES, ids=lambda value: repr(value)[:90])
def test_a_call_says_what_the_contract_says_of_it(query: DatasetQuery, expected: dict[str, Any]) -> None:
    assert only_query(query) == expected


FILTERS: list[tuple[Any, list[dict[str, Any]]]] = [
    (C.status == "paid", [{"col": "status", "op": "==", "val": "paid"}]),
    (C.status != "paid", [{"col": "status", "op": "!=", "val": "paid"}]),
    (C.status == None, [{"col": "status", "op": "==", "val": None}]),  # noqa: E711
    (C.amount < 3, [{"col": "amount", "op": "<", "val": 3}]),
    (3 <= C.amount, [{"col": "amount", "op": ">=", "val": 3}]),  # noqa: SIM300
    (C.amount > Decimal("2.50"), [{"col": "amount", "op": ">", "val": "2.50"}]),
    (C.amount >= np.float64(2.5), [{"col": "amount", "op": ">=", "val": 2.5}]),
    (C.id == np.int64(3), [{"col": "id", "op": "==", "val": 3}]),
    (C.is_new == np.bool_(True), [{"col": "is_new", "op": "==", "val": True}]),
    (
        C.ordered_on >= np.datetime64("2024-01-01T06:00", "ns"),
        [{"col": "ordered_on", "op": ">=", "val": "2024-01-01T06:00:00.000000"}],
    ),
    (C.status == FilterOperator.IN, [{"col": "status", "op": "==", "val": "IN"}]),
    (C["odd name"] == 1, [{"col": "odd name", "op": "==", "val": 1}]),
    (C.query == 1, [{"col": "query", "op": "==", "val": 1}]),
    (C.port == "https", [{"col": "port", "op": "==", "val": "https"}]),
    (C.ordered_on >= date(2024, 1, 1), [{"col": "ordered_on", "op": ">=", "val": "2024-01-01"}]),
    (
        C.ordered_on < datetime(2024, 1, 1, 12, tzinfo=UTC),
        [{"col": "ordered_on", "op": "<", "val": "2024-01-01T12:00:00+00:00"}],
    ),
    (C.status.isin(["paid", None]), [{"col": "status", "op": "IN", "val": ["paid", None]}]),
    (C.id.isin(range(2)), [{"col": "id", "op": "IN", "val": [0, 1]}]),
    (C.status.not_in({"paid"}), [{"col": "status", "op": "NOT IN", "val": ["paid"]}]),
    (C.status.like("p%"), [{"col": "status", "op": "LIKE", "val": "p%"}]),
    (C.status.ilike("p%"), [{"col": "status", "op": "ILIKE", "val": "p%"}]),
    (C.status.is_null(), [{"col": "status", "op": "IS NULL"}]),
    (C.status.not_null(), [{"col": "status", "op": "IS NOT NULL"}]),
    (C.is_new.is_true(), [{"col": "is_new", "op": "IS TRUE"}]),
    (C.is_new.is_false(), [{"col": "is_new", "op": "IS FALSE"}]),
    (C.paid_on.during("Last week"), [{"col": "paid_on", "op": "TEMPORAL_RANGE", "val": "Last week"}]),
    (C.amount.between(1, 2), [{"col": "amount", "op": ">=", "val": 1}, {"col": "amount", "op": "<=", "val": 2}]),
    (
        (C.status == "paid") & (C.amount > 3) & C.is_new.is_true(),
        [
            {"col": "status", "op": "==", "val": "paid"},
            {"col": "amount", "op": ">", "val": 3},
            {"col": "is_new", "op": "IS TRUE"},
        ],
    ),
    (
        (C.status == "paid") | C.status.isin(["open", None]) | (C.status == "sent"),
        [{"col": "status", "op": "IN", "val": ["paid", "open", None, "sent"]}],
    ),
    (C.status.is_null() | (C.status == "sent"), [{"col": "status", "op": "IN", "val": [None, "sent"]}]),
    (~(C.status == "paid"), [{"col": "status", "op": "!=", "val": "paid"}]),
    (~C.status.isin(["paid"]), [{"col": "status", "op": "NOT IN", "val": ["paid"]}]),
    (~C.status.is_null(), [{"col": "status", "op": "IS NOT NULL"}]),
    (~(C.amount < 3), [{"col": "amount", "op": ">=", "val": 3}]),
]


@for_each(("condition", "expected"), FILTERS, ids=lambda value: repr(value)[:60])
def test_a_comparison_is_a_filter_of_the_contract(condition: Any, expected: list[dict[str, Any]]) -> None:
    assert only_query(REVENUE.where(condition))["filters"] == expected
    assert {item["op"] for item in expected} <= set(FilterOperator)


def test_conditions_of_several_calls_all_hold() -> None:
    twice = REVENUE.where(C.amount > 1).where(C.status == "paid", C.id < 9)
    assert [item["col"] for item in only_query(twice)["filters"]] == ["amount", "status", "id"]


def test_a_payload_may_be_changed_without_changing_the_query() -> None:
    query = BY_PRODUCT.where(C.status.isin(["paid"])).top(3)
    first = query.payload()
    first["queries"][0]["filters"][0]["val"].append("open")
    first["queries"][0]["orderby"].clear()
    assert query.payload()["queries"][0]["filters"][0]["val"] == ["paid"]
    assert query.payload()["queries"][0]["orderby"] == [["revenue", False]]


def test_nothing_is_asked_before_it_runs() -> None:
    charts = RecordingCharts()
    query = sales(charts).query("revenue").by("product").top(3)
    repr(query)
    query.payload()
    query.chart("bar")
    assert charts.queried == []
    query.run()
    query.explain()
    assert charts.queried == [query.payload(), query.payload()]


@for_each(
    "code",
    [
        "sales.query('revenue').by('product').during('Last quarter', grain='P1M').where(sales.c.status == 'paid')"
        ".compare('1 year ago').top(10)",
        "sales.query(sales.sum.amount.label('Revenue'), sales.count()).by(sales.c.ordered_on.grain('month'))",
        "sales.query().raw('id', sales.c['odd name']).order(sales.c.id.desc()).limit(5).offset(2)",
        "sales.query('revenue').where((sales.c.status == 'paid') & (sales.c.amount > 3))",
        "sales.query('revenue').where(~sales.c.status.like('p%')).having(sales.m.revenue > 3, sales.sql('1 = 1'))",
        "sales.query('revenue').by('product', 'id').top(3, by='amount').others().pivot('id', totals=True).share()",
        "sales.query('revenue').during(grain='P1D').rolling(7, 'mean', min_periods=1).cumulative().forecast(3)",
        "sales.query('revenue').where((sales.c.status == 'a') | sales.c.status.isin(['b']))",
        "sales.query('revenue').where(sales.c.amount.between(1, 2)).annotate('x', 3)",
        "sales.query('revenue').during('Last year', grain='day').resample('1D', 'ffill')",
    ],
)
def test_a_query_is_shown_as_the_code_that_makes_it(code: str) -> None:
    query = eval(code, {"sales": SALES})
    assert repr(query) == code
    assert eval(repr(query), {"sales": SALES}).payload() == query.payload()


def test_a_dataset_with_an_odd_name_is_shown_as_the_call_that_finds_it() -> None:
    assert repr(sales(table_name="2024 sales").c.amount) == "core.dataset('2024 sales').c.amount"


def test_editors_complete_columns_and_metrics() -> None:
    assert dir(C) == sorted(name for name in SALES.columns if " " not in name)
    assert dir(M) == ["orders", "quantity", "revenue"]
    assert {"amount", "quantity", "id"} <= set(dir(SALES.sum))
    assert {"product", "ordered_on"} & set(dir(SALES.sum)) == set()
    assert "product" in dir(SALES.count_distinct)
    assert "odd name" in C._ipython_key_completions_()
    assert "odd name" in C
    assert (list(C), len(C)) == (list(SALES.columns), 13)


@pytest.mark.slow
@for_each("asks_jedi", [True, False])
@for_each(
    ("written", "completed"),
    [
        ("orders.m.", {"orders", "quantity", "revenue"}),
        ("orders.c.am", {"amount"}),
        ("orders.query('revenue').by(orders.c.coun", {"country"}),
        ("orders.sum.am", {"amount"}),
        ("orders.c['odd", {"odd name"}),
        ("question.tot", set()),
        ("question.roll", {"rolling"}),
    ],
)
def test_ipython_completes_columns_metrics_and_calls(written: str, completed: set[str], asks_jedi: bool) -> None:
    """Without Jedi, it reads attributes of classes alone that leave Python's own way to read them unchanged."""
    completer = IPCompleter(namespace={"orders": SALES, "question": SALES.query("revenue")}, use_jedi=asks_jedi)
    with provisionalcompleter():
        found = {one.text.lstrip(".") for one in completer.completions(written, len(written))}
    assert found == completed


def test_a_dataset_tells_what_it_is() -> None:
    assert (SALES.id, SALES.name, SALES.description) == (7, "sales", "What was sold")
    assert (SALES.columns[:2], SALES.metrics) == (("id", "product"), ("revenue", "orders", "quantity"))

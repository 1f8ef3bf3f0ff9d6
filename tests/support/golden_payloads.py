"""Payloads whose statements are kept as golden files: one for every way in which a statement can look."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tests.support.planning import spec_of, view_of

from analytics_core._engine.compile.planning_context import DatasetView
from analytics_core._engine.gate.guard import check_select
from analytics_core._records.people import RowFilter

SUM = {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": "quantity"}}
MONTHS = {"columnType": "BASE_AXIS", "sqlExpression": "ordered_at", "label": "ordered_at", "timeGrain": "P1M"}
JUNE = "2024-06-01 : 2024-07-01"
VIRTUAL_SQL = "WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent"


def aggregate(name: str, column: str) -> dict[str, Any]:
    """Return a SIMPLE metric."""
    return {"expressionType": "SIMPLE", "aggregate": name, "column": {"column_name": column}}


def item(col: Any, op: str, val: Any = None, **fields: Any) -> dict[str, Any]:
    """Return a filter."""
    return {"col": col, "op": op, "val": val, **fields}


PAYLOADS: Mapping[str, dict[str, Any]] = MappingProxyType(
    {
        "one metric": {"metrics": ["orders"]},
        "raw rows": {"columns": ["id", "city", "revenue"], "orderby": [["ordered_at", False]], "row_limit": 10},
        "distinct rows": {"columns": ["city", "is_paid"], "metrics": [], "row_limit": 0},
        "every aggregate": {
            "columns": ["country"],
            "metrics": [
                aggregate("COUNT", "city"),
                aggregate("COUNT_DISTINCT", "city"),
                SUM,
                aggregate("AVG", "quantity"),
                aggregate("MIN", "city"),
                aggregate("MAX", "ordered_at"),
                aggregate("SUM", "is_paid"),
                aggregate("MAX", "is_paid"),
                aggregate("SUM", "revenue"),
            ],
        },
        "saved and SQL metrics": {
            "columns": ["city"],
            "metrics": [
                "turnover",
                {"expressionType": "SQL", "sqlExpression": "SUM(quantity) / COUNT(*)", "label": "per order"},
            ],
            "orderby": [["turnover", False]],
        },
        "months": {
            "columns": [MONTHS, "city"],
            "metrics": [SUM],
            "filters": [item("ordered_at", "TEMPORAL_RANGE", JUNE)],
        },
        "a time series": {
            "columns": ["city"],
            "metrics": [SUM],
            "granularity": "ordered_at",
            "time_range": JUNE,
            "is_timeseries": True,
            "extras": {"time_grain_sqla": "P1W"},
        },
        "bounds on every encoding": {
            "metrics": ["orders"],
            "filters": [
                item(name, "TEMPORAL_RANGE", JUNE)
                for name in ("ordered_at", "shipped_on", "epoch", "epoch_ms", "day_text")
            ],
        },
        "comparisons": {
            "metrics": ["orders"],
            "filters": [
                item("quantity", "==", 5),
                item("city", "!=", "Köln"),
                item("price", ">", 9.99),
                item("weight", ">=", 0.5),
                item("city", "<", "M"),
                item("city", "<=", "z"),
                item("is_paid", "==", True),
                item("thing", "==", "unknown kind"),
            ],
        },
        "moments": {
            "metrics": ["orders"],
            "filters": [
                item("ordered_at", ">=", "2024-01-31T10:00:00"),
                item("ordered_at", "<=", 1_718_000_000_500),
                item("shipped_on", "==", "2024-01-31"),
                item("epoch", "!=", "2024-01-31"),
                item("ordered_at", "IN", ["2024-01-31", "2024-02-01"]),
                item("ordered_at", "==", "2024-01-01", grain="P1M"),
            ],
        },
        "membership": {
            "metrics": ["orders"],
            "filters": [
                item("city", "IN", ["Bonn", "Köln", None]),
                item("city", "NOT IN", ["Rom", None]),
                item("quantity", "IN", [1, 2, 3]),
                item("country", "NOT IN", ["x"]),
                item("city", "NOT IN", [None]),
            ],
        },
        "patterns": {
            "metrics": ["orders"],
            "filters": [
                item("city", "LIKE", "B%_n"),
                item("city", "NOT LIKE", r"50\%"),
                item("city", "ILIKE", "%ö%"),
                item("quantity", "NOT ILIKE", "1%"),
            ],
        },
        "null and truth": {
            "metrics": ["orders"],
            "filters": [
                item("city", "IS NULL"),
                item("country", "IS NOT NULL"),
                item("is_paid", "IS TRUE"),
                item("is_paid", "IS FALSE"),
                item("quantity", "IS TRUE"),
                item("city", "==", None),
            ],
        },
        "awkward values": {
            "metrics": ["orders"],
            "filters": [
                item("city", "==", "O'Hara \\ 50% ? :p0 %(p0)s $p0 -- /* {{ x }}"),
                item("country", "IN", ["a'b", "", "a\nb"]),
            ],
        },
        "awkward labels": {
            "columns": [{"label": '50% "of" `it` [x] :p0 ?', "sqlExpression": "city"}],
            "metrics": [
                {**SUM, "label": "ü" * 100},
                {**SUM, "label": "Ü" * 100},
                {**SUM, "label": "sum"},
                {**SUM, "label": "SUM"},
            ],
        },
        "fragments": {
            "columns": [{"label": "shout", "sqlExpression": "UPPER(city)"}, "size"],
            "metrics": ["orders"],
            "filters": [item({"label": "s", "sqlExpression": "quantity + 1"}, ">", 3)],
            "extras": {"where": "quantity > 1 OR city = 'a%b' -- tail", "having": "COUNT(*) > 1"},
        },
        "a filter on a metric": {"columns": ["city"], "metrics": ["orders"], "filters": [item("turnover", ">", 100)]},
        "a series limit": {
            "columns": [MONTHS, "city"],
            "metrics": [SUM],
            "series_columns": ["city"],
            "series_limit": 3,
            "filters": [item("ordered_at", "TEMPORAL_RANGE", JUNE), item("country", "==", "DE")],
        },
        "a series limit by another metric": {
            "columns": ["city", "quantity"],
            "metrics": ["orders"],
            "series_columns": ["city", "quantity"],
            "series_limit": 3,
            "series_limit_metric": "turnover",
            "order_desc": False,
        },
        "the rest as others": {
            "columns": [MONTHS, "city"],
            "metrics": [SUM],
            "series_columns": ["city"],
            "series_limit": 2,
            "group_others_when_limit_reached": True,
        },
        "numbers and others": {
            "columns": ["quantity"],
            "metrics": ["orders"],
            "series_columns": ["quantity"],
            "series_limit": 2,
            "group_others_when_limit_reached": True,
        },
        "a page": {
            "columns": ["city"],
            "metrics": ["orders"],
            "orderby": [["orders", False]],
            "row_limit": 5,
            "row_offset": 10,
        },
        "a count of groups": {"columns": ["city"], "metrics": ["orders"], "is_rowcount": True},
        "row rules": {"columns": ["city"], "metrics": ["orders"], "extras": {"where": "1 = 1 OR 2 = 2"}},
        "row rules beside safe conditions": {
            "columns": [MONTHS, "city"],
            "metrics": ["orders", SUM, aggregate("COUNT_DISTINCT", "city")],
            "filters": [
                item("ordered_at", "TEMPORAL_RANGE", JUNE),
                item("city", "LIKE", "B%"),
                item("quantity", "IN", [1, 2, None]),
            ],
        },
        "row rules and what may fail": {
            "columns": ["growth", "country"],
            "metrics": ["entropy"],
            "filters": [item("quantity", ">", 3), item("growth", ">", 9), item("thing", "==", "unknown kind")],
            "extras": {"where": "LN(id) > 0", "having": "MAX(LN(quantity)) > 0"},
        },
        "row rules and a series limit": {
            "columns": [MONTHS, "growth"],
            "metrics": [SUM],
            "series_columns": ["growth"],
            "series_limit": 2,
            "filters": [item("quantity", ">", 3)],
        },
        "row rules and SQL that fails on no row": {
            "columns": ["size"],
            "metrics": ["turnover", aggregate("SUM", "revenue")],
            "filters": [item("size", "==", "big")],
            "extras": {"where": "price * quantity > 100 AND city <> 'x'", "having": "SUM(price) > 5"},
        },
        "row rules and a count": {"columns": ["id"], "extras": {"where": "LN(id) > 0"}, "is_rowcount": True},
        "a virtual dataset with rules of its own": {
            "columns": ["city"],
            "metrics": ["orders"],
            "filters": [item("city", "!=", "x")],
            "extras": {"where": "LN(id) > 0"},
        },
        "an offset dataset": {
            "columns": [MONTHS],
            "metrics": ["orders"],
            "filters": [item("ordered_at", "TEMPORAL_RANGE", JUNE)],
        },
        "a virtual dataset": {"columns": ["city"], "metrics": ["orders"], "filters": [item("city", "!=", "x")]},
        "a virtual dataset with a series limit": {
            "columns": ["city"],
            "metrics": ["orders"],
            "series_columns": ["city"],
            "series_limit": 2,
        },
        "a table in a schema": {"columns": ["city"], "metrics": ["orders"]},
    }
)

RULES = (
    RowFilter(name="a", clause="country = 'DE' OR city IS NULL"),
    RowFilter(name="b", clause="quantity > 1", group_key="team"),
    RowFilter(name="c", clause="quantity < 0", group_key="team"),
)


def rules_for(name: str) -> tuple[RowFilter, ...]:
    """Return the row rules under which the payload `name` is planned."""
    return RULES if name.startswith("row rules") or name.endswith("rules of its own") else ()


def view_for(name: str, engine: str) -> DatasetView:
    """Return the dataset that the payload `name` asks, on an engine."""
    if name.startswith("a virtual dataset"):
        return view_of(engine, check_select(VIRTUAL_SQL, spec=spec_of(engine), place="dataset 'orders'"))
    if name == "an offset dataset":
        return view_of(engine, offset=-5)
    return view_of(engine, schema="shop") if name == "a table in a schema" else view_of(engine)

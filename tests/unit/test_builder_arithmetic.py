"""Arithmetic on columns and metrics, and comparisons between them, become SQL that means the same on every engine."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from tests.support.builder import sales
from tests.support.cases import for_each

SALES = sales()
C, M = SALES.c, SALES.m
amount_sum, rows = SALES.sum.amount, SALES.count()

METRICS: list[tuple[Any, str, str]] = [
    (amount_sum / rows, "CAST(SUM(amount) AS DOUBLE) / NULLIF(COUNT(*), 0)", "SUM(amount) / count"),
    (amount_sum - SALES.sum.quantity, "SUM(amount) - SUM(quantity)", "SUM(amount) - SUM(quantity)"),
    (M.revenue * 2, "(SUM(amount)\n) * 2", "revenue * 2"),
    (100 * M.quantity, "100 * (SUM(quantity)\n)", "100 * quantity"),
    (1 - amount_sum / rows, "1 - (CAST(SUM(amount) AS DOUBLE) / NULLIF(COUNT(*), 0))", "1 - (SUM(amount) / count)"),
    (amount_sum + Decimal("1.50"), "SUM(amount) + 1.50", "SUM(amount) + 1.50"),
    (amount_sum - -3, "SUM(amount) - (-3)", "SUM(amount) - -3"),
    (2 / amount_sum, "CAST(2 AS DOUBLE) / NULLIF(SUM(amount), 0)", "2 / SUM(amount)"),
    (amount_sum * np.float64(0.5), "SUM(amount) * 0.5", "SUM(amount) * 0.5"),
    (SALES.sql("SUM(a) -- all") + 1, "(SUM(a) -- all\n) + 1", "(SUM(a) -- all) + 1"),
    (SALES.sum(C.amount - C.quantity), "SUM(amount - quantity)", "SUM(amount - quantity)"),
    (C.amount * C.quantity, "SUM(amount * quantity)", "SUM(amount * quantity)"),
    (
        SALES.count_distinct(SALES.sql("UPPER(product)")),
        "COUNT(DISTINCT UPPER(product))",
        "COUNT_DISTINCT(UPPER(product))",
    ),
    (SALES.avg(C.amount * 2).label("twice"), "AVG(amount * 2)", "twice"),
    ((amount_sum / rows).label("each"), "CAST(SUM(amount) AS DOUBLE) / NULLIF(COUNT(*), 0)", "each"),
]


@for_each(("metric", "text", "label"), METRICS, ids=lambda value: repr(value)[:60])
def test_arithmetic_is_a_metric_of_sql(metric: Any, text: str, label: str) -> None:
    query = SALES.query(metric)
    (found,) = query.payload()["queries"][0]["metrics"]
    assert found["sqlExpression"] == text
    assert found["label"] == label
    assert eval(repr(query), {"sales": SALES, "Decimal": Decimal, "np": np}).payload() == query.payload()


def test_arithmetic_on_columns_is_a_column_to_group_by() -> None:
    (found,) = SALES.query(rows).by((C.amount * C.quantity).label("price")).payload()["queries"][0]["columns"]
    assert (found["sqlExpression"], found["label"]) == ("amount * quantity", "price")


CONDITIONS: list[tuple[Any, dict[str, str]]] = [
    (SALES.query(rows).where(C.amount - C.quantity > 3), {"where": "(amount - quantity) > 3"}),
    (SALES.query(rows).where(C.paid_on >= C.ordered_on), {"where": "paid_on >= ordered_on"}),
    (SALES.query(rows).where(C.product != C.country), {"where": "product <> country"}),
    (SALES.query(rows).having(SALES.sum.quantity < amount_sum), {"having": "SUM(quantity) < SUM(amount)"}),
    (SALES.query(rows).having(amount_sum < -3), {"having": "SUM(amount) < (-3)"}),
    (
        SALES.query(rows).having(amount_sum / rows <= 5),
        {"having": "(CAST(SUM(amount) AS DOUBLE) / NULLIF(COUNT(*), 0)) <= 5"},
    ),
]


@for_each(("query", "extras"), CONDITIONS, ids=lambda value: repr(value)[:60])
def test_comparisons_between_expressions_are_conditions_of_sql(query: Any, extras: dict[str, str]) -> None:
    assert query.payload()["queries"][0]["extras"] == extras


def test_the_top_of_one_column_leaves_the_others_whole() -> None:
    query = SALES.query("revenue").by("product", "country").top(3, of="product").others()
    request = query.payload()["queries"][0]
    assert (request["series_columns"], request["series_limit"]) == (["product"], 3)
    assert repr(query) == "sales.query('revenue').by('product', 'country').top(3, of='product').others()"
    assert query.chart("line").payload()["queries"][0]["series_columns"] == ["product"]

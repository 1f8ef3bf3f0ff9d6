"""What is wrong with a question in one line is told when the line is written, typed, with what would work."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from tests.support.builder import sales
from tests.support.cases import for_each

from analytics_core.errors import (
    DuplicateLabelError,
    EmptyQueryError,
    FilterValueError,
    FragmentError,
    LimitError,
    QueryError,
    TimeOffsetError,
    TimeRangeError,
    UnknownColumnError,
    UnknownMetricError,
    UnknownNameError,
    UnknownTimeGrainError,
)

SALES = sales()
C, M = SALES.c, SALES.m
REVENUE = SALES.query("revenue")
MONTHLY = REVENUE.during("Last year", grain="month")
Line = Callable[[], Any]

WRITTEN: list[tuple[Line, type[Exception], str]] = [
    (lambda: C.contry, UnknownColumnError, "did you mean 'country'"),
    (lambda: C["contry"], UnknownColumnError, "did you mean 'country'"),
    (lambda: M.revenu, UnknownMetricError, "did you mean 'revenue'"),
    (lambda: SALES.query("revenu"), UnknownMetricError, "did you mean 'revenue'"),
    (lambda: SALES.query("amont"), UnknownMetricError, "did you mean 'amount'"),
    (lambda: SALES.query("product"), FilterValueError, r"holds text.*count_distinct\.product"),
    (lambda: SALES.query(3), QueryError, "3 is no metric"),
    (lambda: SALES.sum.product, FilterValueError, "SUM needs a numeric column"),
    (lambda: SALES.avg("ordered_on"), FilterValueError, "AVG needs a numeric column"),
    (lambda: SALES.sql(" "), FragmentError, "SQL is a text"),
    (lambda: M.revenue.label("x"), QueryError, "saved metric"),
    (lambda: SALES.sum.amount.label(""), QueryError, "a label takes a text"),
    (lambda: REVENUE.by("contry"), UnknownColumnError, "did you mean 'country'"),
    (lambda: REVENUE.by(3), QueryError, "3 is no column"),
    (lambda: REVENUE.raw("id"), QueryError, "has no metrics|have no metrics"),
    (lambda: SALES.query().raw("id").query("revenue"), QueryError, "have no metrics"),
    (lambda: REVENUE.during("Last quartr"), TimeRangeError, "did you mean 'Last quarter'"),
    (lambda: REVENUE.during("2025-01-01 : 2024-01-01"), TimeRangeError, "write the earlier moment first"),
    (lambda: C.ordered_on.during("today : yesterday"), TimeRangeError, "write the earlier moment first"),
    (lambda: REVENUE.filter, AttributeError, r"use \.where"),
    (lambda: REVENUE.polars, UnknownNameError, r"use \.run\(\)\[0\]\.polars\(\)"),
    (lambda: REVENUE.by("product").chart("pie").ordr, UnknownNameError, "has no step 'ordr'"),
    (lambda: REVENUE.during(("a", "b")), TimeRangeError, "'a : b' is not understood"),
    (lambda: REVENUE.during((1, 2)), TimeRangeError, "its two ends"),
    (lambda: REVENUE.during("2024-01-01", None), TimeRangeError, "its two ends"),
    (lambda: REVENUE.during("2024-02-01", "2024-01-01"), TimeRangeError, "write the earlier moment first"),
    (lambda: REVENUE.during("2024-01-01", "month"), TimeRangeError, "grain='month'"),
    (C.ordered_on.during, TimeRangeError, "its two ends"),
    (lambda: REVENUE.limit(0), LimitError, r"leave it out for all.*\.limit\(100\)"),
    (lambda: len(REVENUE), QueryError, r"\.run\(\)\[0\]\.rows\(\)"),
    (lambda: list(REVENUE), TypeError, r"no rows before it runs"),
    (lambda: REVENUE[0], TypeError, r"no rows before it runs"),
    (lambda: len(REVENUE.by("product").chart("pie")), QueryError, r"\.pandas\(\)"),
    (lambda: REVENUE.during("Last year", grain="P1X"), UnknownTimeGrainError, "month, quarter"),
    (lambda: REVENUE.as_time("orderd_on"), UnknownColumnError, "did you mean 'ordered_on'"),
    (lambda: REVENUE.compare("1 yaer ago"), TimeOffsetError, "1 year ago"),
    (lambda: REVENUE.compare("1 year ago", show="percent"), UnknownNameError, "did you mean 'percentage'"),
    (lambda: REVENUE.where("status = 'paid'"), QueryError, r"sales\.c\.NAME"),
    (lambda: REVENUE.where(True), QueryError, "takes conditions"),
    (lambda: REVENUE.where(M.revenue > 3), QueryError, r"use \.having"),
    (lambda: REVENUE.having(C.amount > 3), QueryError, r"use \.where"),
    (lambda: SALES.avg.amount > 3, QueryError, "no filter on this metric"),
    (lambda: SALES.sum.double > 3, QueryError, "no filter on this metric"),
    (lambda: SALES.sum.amount > "x", FilterValueError, "with a number"),
    (lambda: SALES.sum.amount > float("inf"), FilterValueError, "with a number"),
    (lambda: REVENUE.order("-revenu"), UnknownColumnError, "did you mean 'revenue'"),
    (lambda: REVENUE.order(3), QueryError, "nothing to order by"),
    (lambda: REVENUE.top(0), LimitError, "1 or more"),
    (lambda: REVENUE.top(2.5), LimitError, "whole number"),
    (lambda: REVENUE.top(3, by="amont"), UnknownMetricError, "did you mean 'amount'"),
    (lambda: REVENUE.limit(-1), LimitError, "1 or more"),
    (lambda: REVENUE.offset(True), LimitError, "whole number"),
    (REVENUE.pivot, QueryError, r"\.pivot\('country'\)"),
    (lambda: REVENUE.pivot("contry"), UnknownColumnError, "did you mean 'country'"),
    (lambda: REVENUE.rolling(0), LimitError, "1 or more"),
    (lambda: REVENUE.rolling(3, "men"), UnknownNameError, "did you mean 'mean'"),
    (lambda: REVENUE.cumulative("summ"), UnknownNameError, "did you mean 'sum'"),
    (lambda: REVENUE.share("rows"), UnknownNameError, "did you mean 'row'"),
    (lambda: REVENUE.resample("1D", "fill"), UnknownNameError, "ffill"),
    (lambda: REVENUE.forecast("3"), LimitError, "whole number"),
    (lambda: REVENUE.forecast(3, confidence=80), QueryError, "between 0 and 1"),
    (lambda: REVENUE.chart("lin"), UnknownNameError, "did you mean 'line'"),
    # ---- conditions
    (lambda: bool(C.status == "paid"), QueryError, "join conditions with &"),
    (lambda: C.status == "paid" and C.amount > 3, QueryError, "not 'and'"),
    (lambda: C.status == "paid" or C.amount > 3, QueryError, "not 'or'"),
    (lambda: not C.is_new, QueryError, "compare it with one"),
    (lambda: 1 < C.amount < 3, QueryError, r"\.between"),
    (lambda: C.status in ["paid"], QueryError, "condition of a query"),
    (lambda: "paid" in C.status, QueryError, r"isin"),
    (lambda: C.id == 1 & C.amount, QueryError, "parentheses"),
    (lambda: (C.id == 1) & True, QueryError, "parentheses"),
    (lambda: (C.id == 1) | 3, QueryError, "parentheses"),
    (lambda: (C.status == "paid") | (C.country == "France"), QueryError, r"\.where\(dataset\.sql\("),
    (lambda: (C.amount > 3) | (C.amount < 1), QueryError, "as SQL"),
    (lambda: ~((C.id == 1) & (C.amount > 3)), QueryError, "inverts one comparison"),
    (lambda: ~C.is_new.is_true(), QueryError, "inverts one comparison"),
    # ---- values
    (lambda: C.amount == "abc", FilterValueError, "takes a number"),
    (lambda: C.amount > None, FilterValueError, "is_null"),
    (lambda: C.id.isin([1, "x"]), FilterValueError, "takes a number"),
    (lambda: C.id.isin([]), FilterValueError, "at least one value"),
    (lambda: C.status.isin("paid"), FilterValueError, r"\['paid'\]"),
    (lambda: C.status == object(), FilterValueError, "is no text, number"),
    (lambda: C.status == ["paid"], FilterValueError, r"use \.isin"),
    (lambda: C.amount > C.product, FilterValueError, "different kinds"),
    (lambda: C.revenue, UnknownColumnError, r"it is a metric: sales\.m\.revenue, or query\('revenue'\)"),
    (lambda: M.amount, UnknownMetricError, r"it is a column: sales\.sum\.amount, or query\('amount'\)"),
    (lambda: REVENUE.by("product", ["country"]), QueryError, "each is an argument of its own"),
    (lambda: SALES.query(["revenue"]), QueryError, "each is an argument of its own"),
    (lambda: REVENUE.where(C.is_new), QueryError, r"\.is_true\(\)"),
    (lambda: C.amount > SALES.sum.amount, QueryError, "aggregate the column"),
    (lambda: C.amount > C["odd name"], QueryError, r"cannot be written as SQL"),
    (lambda: C.amount + C.product, QueryError, "does not hold numbers"),
    (lambda: C.amount * "3", QueryError, "'3' is no number"),
    (lambda: C.amount / float("nan"), QueryError, "is no number"),
    (lambda: C.amount - Decimal("sNaN"), QueryError, "is no number"),
    (lambda: SALES.sum.amount > Decimal("sNaN"), FilterValueError, "with a number"),
    (lambda: C.amount + 10**400, QueryError, "is no number"),
    (lambda: True * C.amount, QueryError, "is no number"),
    (lambda: C.amount + None, QueryError, "is no number"),
    (lambda: 1 - C.double, QueryError, r"dataset\.sql"),
    (lambda: SALES.avg.amount / 2, QueryError, r"dataset\.sql"),
    (lambda: SALES.sum(SALES.sum.amount / 2), QueryError, "is a metric already"),
    (lambda: REVENUE.by(SALES.sum.amount / 2), QueryError, "rows cannot be grouped by"),
    (lambda: REVENUE.where(SALES.sum.amount / 2 > 1), QueryError, r"use \.having"),
    (lambda: REVENUE.having(C.amount / 2 > 1), QueryError, r"use \.where"),
    (lambda: REVENUE.by("product").top(3, of="prodct"), UnknownColumnError, "product"),
    (lambda: C.id == np.timedelta64(3, "D"), FilterValueError, "is no text, number"),
    (lambda: C.status.like(3), FilterValueError, "text pattern"),
    (lambda: C.is_new > True, FilterValueError, "== and != only"),
    (lambda: C.is_new == "perhaps", FilterValueError, "is_new"),
    (lambda: C.ordered_on > "yesterday", FilterValueError, "ordered_on"),
    (lambda: C.status.during("Last week"), FilterValueError, "needs a time column"),
    (lambda: C.amount.grain("month"), FilterValueError, "needs a time column"),
]


def test_ranges_that_are_possible_at_some_time_are_left_to_the_run() -> None:
    for text in ("2024-01-01 : now", "now : 2024-01-01", "2024-02-29 : 2024-03-01", "Last quarter", "No filter"):
        assert REVENUE.during(text).payload()["queries"][0]["time_range"] == text


@for_each(("line", "error", "message"), WRITTEN)
def test_a_wrong_line_is_told_when_it_is_written(line: Line, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        line()


TOGETHER: list[tuple[Line, type[Exception], str]] = [
    (SALES.query, EmptyQueryError, "asks for nothing"),
    (lambda: SALES.query("revenue", "revenue"), DuplicateLabelError, "'revenue'"),
    (lambda: SALES.query("amount").by("amount"), DuplicateLabelError, "'amount'"),
    (REVENUE.others, QueryError, r"add a metric, \.by\(\.\.\.\) and \.top\(n\)"),
    (lambda: SALES.query().raw("id").top(3), QueryError, "by='amount'"),
    (lambda: MONTHLY.by("product").rolling(3), QueryError, r"\.pivot\('product'\)"),
    (lambda: MONTHLY.by("product").cumulative(), QueryError, r"\.pivot\('product'\)"),
    (lambda: MONTHLY.by("product", "country").pivot("product").forecast(3), QueryError, r"\.pivot\('country'\)"),
    (lambda: MONTHLY.by("product", "country").pivot("product").resample("1D"), QueryError, "time axis alone"),
    (lambda: REVENUE.forecast(3), QueryError, "needs a time axis"),
    (lambda: REVENUE.by("product").resample("1D"), QueryError, "needs a time axis"),
    (lambda: REVENUE.pivot("product"), QueryError, r"add \.by\('product'\)"),
    (lambda: SALES.query().by("product", "country").pivot("product"), QueryError, "needs a metric"),
    (lambda: MONTHLY.by("product").pivot("product").pivot("product"), QueryError, "pivoted once"),
    (lambda: REVENUE.by("product").pivot("product"), QueryError, "leaves nothing for the rows"),
    (lambda: REVENUE.by("product").top(3, of="country"), QueryError, r"add \.by\('country'\)"),
]


@for_each(("line", "error", "message"), TOGETHER)
def test_calls_that_do_not_go_together_are_told_before_anything_runs(
    line: Line, error: type[Exception], message: str
) -> None:
    query = line()
    with pytest.raises(error, match=message):
        query.payload()


def test_a_question_is_true_although_it_has_no_length() -> None:
    assert REVENUE


def test_a_range_needs_a_time_column() -> None:
    query = sales(main_dttm_col=None).query("revenue").during("Last year")
    with pytest.raises(QueryError, match=r"\.as_time\('ordered_on'\)"):
        query.payload()
    assert query.as_time("paid_on").payload()["queries"][0]["granularity"] == "paid_on"


def test_a_name_that_is_missing_is_no_attribute() -> None:
    assert not hasattr(C, "contry")
    assert not hasattr(M, "_repr_html_")
    assert getattr(C, "__wrapped__", None) is None

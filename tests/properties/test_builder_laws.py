"""Laws of questions in one line: a base never changes, order of calls does not matter where it must not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.support.builder import sales

from analytics_core import DatasetQuery
from analytics_core.errors import AnalyticsError
from analytics_core.models import ChartDataQueryContext
from analytics_core.models.parsing import parse

SALES = sales()
C = SALES.c
Call = Callable[[DatasetQuery], DatasetQuery]

CALLS: list[Call] = [
    lambda q: q.query("orders"),
    lambda q: q.query(SALES.avg.amount),
    lambda q: q.by("product"),
    lambda q: q.by(C.country, SALES.sql("UPPER(status)", label="state")),
    lambda q: q.during("Last year"),
    lambda q: q.during("2024-01-01 : 2025-01-01", grain="month"),
    lambda q: q.as_time("paid_on"),
    lambda q: q.compare("1 year ago"),
    lambda q: q.where(C.status == "paid"),
    lambda q: q.where((C.amount > 3) & ~C.country.isin(["France"])),
    lambda q: q.having(SALES.m.revenue > 3, SALES.sum.amount < 9),
    lambda q: q.order("-revenue"),
    lambda q: q.top(3),
    lambda q: q.others(),
    lambda q: q.limit(5),
    lambda q: q.offset(5),
    lambda q: q.pivot("product"),
    lambda q: q.rolling(3),
    lambda q: q.cumulative(),
    lambda q: q.share(),
    lambda q: q.forecast(2),
    lambda q: q.resample("1D"),
    lambda q: q.annotate("double", "2 * x"),
]
FREE = [CALLS[place] for place in (2, 5, 6, 7, 8, 11, 12, 13, 14, 15)]
"""Calls that say the same in any order: none of them is a step on the rows, or adds to what another one adds to."""


def outcome(query: DatasetQuery) -> Any:
    try:
        return query.payload()
    except AnalyticsError as error:
        return type(error), str(error)


@given(st.lists(st.sampled_from(CALLS), max_size=8), st.lists(st.sampled_from(CALLS), max_size=4))
def test_a_base_is_the_same_after_it_was_built_upon(calls: list[Call], further: list[Call]) -> None:
    base = SALES.query("revenue")
    for call in calls:
        base = call(base)
    before = repr(base), outcome(base)
    for call in further:
        assert call(base) is not base
        outcome(call(call(base)))
    assert (repr(base), outcome(base)) == before


@given(st.lists(st.sampled_from(CALLS), max_size=8))
def test_what_has_a_payload_is_one_of_the_contract_and_anything_else_a_typed_error(calls: list[Call]) -> None:
    query = SALES.query("revenue")
    for call in calls:
        query = call(query)
    payload = outcome(query)
    if isinstance(payload, dict):
        context = parse(ChartDataQueryContext, payload, shape="ChartDataQueryContextSchema")
        assert not context.queries[0].model_extra
        assert query.payload() == payload


@given(st.permutations(range(len(FREE))), st.sets(st.sampled_from(range(len(FREE))), max_size=6))
def test_the_order_of_calls_counts_for_steps_and_keys_alone(order: list[int], chosen: set[int]) -> None:
    queries = [SALES.query("revenue"), SALES.query("revenue")]
    for place in sorted(chosen):
        queries[0] = FREE[place](queries[0])
    for place in order:
        if place in chosen:
            queries[1] = FREE[place](queries[1])
    assert outcome(queries[0]) == outcome(queries[1])

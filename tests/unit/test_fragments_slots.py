"""What a fragment may hold depends on where it stands; what it gives is told where that is obvious."""

from __future__ import annotations

import pytest
from tests.support.cases import for_each
from tests.support.fragments import parse

from analytics_core._engine.compile.fragments.parser import FragmentSlot
from analytics_core._engine.engines.types import ValueKind
from analytics_core.errors import FragmentError

S = FragmentSlot
AGGREGATES = {S.METRIC, S.HAVING, S.ORDER}
WINDOWS = {S.METRIC, S.COLUMN, S.CALCULATED, S.ORDER}
PLACES = {S.WHERE: "where", S.COLUMN: "column", S.ROW_RULE: "row rule", S.CALCULATED: "calculated column"}


@for_each("slot", S)
@for_each(
    ("on", "text"),
    [
        ("sqlite", "SUM(a) > 1"),
        ("sqlite", "COUNT(*) > 1"),
        ("sqlite", "total(a) > 1"),
        ("sqlite", "CASE WHEN MAX(a) > 1 THEN 1 ELSE 0 END = 1"),
        ("duckdb", "median(a) > 1"),
        ("duckdb", "COUNT(*) FILTER (WHERE a > 1) > 1"),
        ("postgresql", "percentile_cont(0.5) WITHIN GROUP (ORDER BY a) > 1"),
        ("postgresql", "bool_or(a > 1)"),
        ("mysql", "GROUP_CONCAT(Name) = 'x'"),
    ],
)
def test_aggregates_stand_in_metrics_having_and_order_only(slot: FragmentSlot, on: str, text: str) -> None:
    if slot in AGGREGATES:
        assert parse(text, on, slot=slot).sql
    else:
        with pytest.raises(FragmentError, match=f"the aggregate .* is not allowed in a {PLACES[slot]};"):
            parse(text, on, slot=slot)


@for_each("slot", S)
@for_each("text", ["ROW_NUMBER() OVER (ORDER BY a) <= 3", "SUM(a) OVER (PARTITION BY b) > 1"])
def test_windows_stand_in_metrics_columns_and_order_only(slot: FragmentSlot, text: str) -> None:
    if slot in WINDOWS:
        assert parse(text, slot=slot).sql
    else:
        with pytest.raises(FragmentError, match=r"window functions \(OVER\) are not allowed|aggregate"):
            parse(text, slot=slot)


def test_an_aggregate_inside_a_window_is_an_aggregate() -> None:
    with pytest.raises(FragmentError, match="the aggregate SUM"):
        parse("SUM(SUM(a)) OVER ()", slot=S.COLUMN)


def test_the_larger_of_two_values_is_no_aggregate_on_sqlite() -> None:
    assert parse("max(a, b) > 1", slot=S.WHERE).sql == 'MAX("t"."a", "t"."b") > 1'


@for_each("slot", [S.WHERE, S.HAVING, S.ROW_RULE])
@for_each("text", ["'text'", "UPPER(Name)", "Name || 'x'", "CAST(a AS TEXT)"])
def test_a_condition_that_gives_text_is_refused(slot: FragmentSlot, text: str) -> None:
    with pytest.raises(FragmentError, match="it gives a text, not true or false"):
        parse(text, slot=slot)


@for_each("text", ["1 = 1", "a", "a AND b", "a = 1", "NOT a", "a IS NULL", "a IN (1)", "TRUE", "1"])
def test_what_can_be_a_condition_is_accepted_as_one(text: str) -> None:
    assert parse(text, slot=S.WHERE).sql


@for_each(
    ("on", "text", "kind"),
    [
        ("sqlite", "COUNT(*)", ValueKind.INTEGER),
        ("sqlite", "COUNT(DISTINCT a)", ValueKind.INTEGER),
        ("sqlite", "COUNT(*) > 5", ValueKind.BOOLEAN),
        ("sqlite", "a = 1 AND b = 2", ValueKind.BOOLEAN),
        ("sqlite", "(a IS NULL)", ValueKind.BOOLEAN),
        ("sqlite", "'x'", ValueKind.TEXT),
        ("sqlite", "Name || ' ' || a", ValueKind.TEXT),
        ("sqlite", "a || b", ValueKind.UNKNOWN),
        ("mysql", "a || b", ValueKind.BOOLEAN),
        ("sqlite", "UPPER(Name)", ValueKind.TEXT),
        ("sqlite", "1", ValueKind.INTEGER),
        ("sqlite", "SUM(a) / COUNT(*)", ValueKind.UNKNOWN),
        ("sqlite", "SUM(a)", ValueKind.UNKNOWN),
        ("sqlite", "CAST(a AS TEXT)", ValueKind.TEXT),
        ("duckdb", "a::int", ValueKind.INTEGER),
        ("postgresql", "a::numeric(10, 2)", ValueKind.DECIMAL),
        ("postgresql", "ts::date", ValueKind.DATE),
        ("sqlite", "CASE WHEN a = 1 THEN 'yes' ELSE 'no' END", ValueKind.TEXT),
        ("sqlite", "CASE WHEN a = 1 THEN 'yes' END", ValueKind.TEXT),
        ("sqlite", "CASE WHEN a = 1 THEN 'yes' ELSE Name END", ValueKind.UNKNOWN),
        ("sqlite", "CASE WHEN a = 1 THEN 1 ELSE 0 END", ValueKind.INTEGER),
        ("sqlite", "COALESCE(Name, 'none')", ValueKind.UNKNOWN),
        ("sqlite", "ROW_NUMBER() OVER (ORDER BY a)", ValueKind.INTEGER),
    ],
)
def test_the_kind_is_told_only_where_it_is_obvious(on: str, text: str, kind: ValueKind) -> None:
    assert parse(text, on).kind is kind

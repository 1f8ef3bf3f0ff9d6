"""SQL of people who may not write SQL makes no values far larger than those of its columns; what charts need passes."""

from __future__ import annotations

import re

import pytest
import sqlglot
from tests.support.cases import for_each
from tests.support.fragments import NAMES, engine

from analytics_core._engine.compile.fragments.parser import FragmentParser, FragmentSlot
from analytics_core._engine.compile.fragments.sizes import reject_large_values
from analytics_core.errors import FragmentError


def nested(call: str, levels: int) -> str:
    text = "Name"
    for _ in range(levels):
        text = call.format(text)
    return text


HUNDRED = "a" * 100
LARGE = [
    *(
        ("duckdb", text)
        for text in (
            "MAX(LENGTH(FORMAT('{:>100000000}', Name)))",
            "FORMAT('{:>{}}', Name, 100000000)",
            "PRINTF('%1000000000d', a)",
            "PRINTF('%*d', 100000000, a)",
            "PRINTF(CONCAT('%1000000', '000d'), a)",
            "LPAD(Name, 1000000000, 'x')",
            "LPAD(Name, 1e9, 'x')",
            "RPAD(Name, a * a * a, 'x')",
            "LPAD(Name, CAST('1000000000' AS INT), 'x')",
            "(Name || '').lpad(1000000000, 'x')",
            "BITSTRING('0', 1000000000)",
            nested("REPLACE({}, 'a', '" + HUNDRED + "')", 5),
            nested("REPLACE({}, 'a', Name)", 3),
            nested("REGEXP_REPLACE({}, 'x*', 'yy', 'g')", 12),
            nested("HEX({})", 12),
            nested("CAST(TO_JSON({}) AS VARCHAR)", 12),
            nested("CONCAT_WS({}" + ", ''" * 40 + ")", 3),
            nested("LIST_SELECT([{}], [" + ", ".join(["1"] * 40) + "])", 3),
            "LIST_TRANSFORM([1, 2], x -> LIST_TRANSFORM([1, 2], y -> LIST_TRANSFORM([1, 2], z -> Name)))",
            "RESERVOIR_QUANTILE(a, 0.5, 1000000000)",
            "MAX(Name, 999999)",
            "ARG_MAX(Name, a, 999999)",
            "EQUI_WIDTH_BINS(0, a, 1000000, TRUE)",
            "CAST(NULL AS INTEGER[999][999]) IS NULL",
            "CAST(NULL AS STRUCT(x INTEGER[99999])) IS NULL",
            "[CAST(NULL AS INTEGER[600]), CAST(NULL AS INTEGER[600])]",
            "[BAR(a, 0, 9, 600), BAR(a, 0, 9, 700)]",
            "STRING_AGG(Name, '" + "x" * 2_000 + "')",
            "STRING_AGG(Name, ', ') OVER ()",
            "ARRAY_AGG(Name) FILTER (WHERE a > 1) OVER (ORDER BY a)",
        )
    ),
    *(
        ("postgresql", text)
        for text in (
            "LPAD(Name, 1000000000)",
            "pg_catalog.rpad(Name, 1000000000)",
            "FORMAT('%1000000000s', Name)",
            "FORMAT('%*s', 1000000000, Name)",
            "CAST(Name AS CHAR(10000000))",
            "CAST(B'1' AS BIT(83886080))",
            nested("quote_literal({})", 12),
            "STRING_AGG(Name, ',') OVER (ORDER BY a)",
        )
    ),
    *(
        ("mysql", text)
        for text in (
            "LPAD(Name, 1000000000, 'x')",
            "SFORMAT('{:>100000000}', Name)",
            "CAST(Name AS BINARY(100000000))",
            "WEIGHT_STRING(Name AS CHAR(100000000))",
            nested("EXPORT_SET(5, {}, '', ',', 64)", 2),
            nested("REPLACE({}, 'a', '" + HUNDRED + "')", 3),
        )
    ),
    *(
        ("sqlite", text)
        for text in (
            "PRINTF('%1000000000d', a)",
            "FORMAT('%.*c', 1000000000, 'x')",
            nested("REPLACE({}, 'a', '" + HUNDRED + "')", 3),
            nested("QUOTE({})", 12),
            "REPLACE(PRINTF('%1000000000d', a), 'a', 'b')",
        )
    ),
    ("databricks", "SEQUENCE(-1000000000, 10)"),
    ("databricks", "SEQUENCE(1000000000, 5)"),
    ("bigquery", "GENERATE_ARRAY(-1000000000, 10)"),
    ("bigquery", "GENERATE_ARRAY(0, 1, 0.00000001)"),
    ("bigquery", "GENERATE_ARRAY(0, a)"),
    ("trino", "SEQUENCE(-1000000000, 10)"),
    ("snowflake", "ARRAY_GENERATE_RANGE(-1000000000, 10)"),
    ("clickhouse", "arrayWithConstant(1000000000, 5)"),
]
UNLISTED = [
    ("duckdb", "MAX(LEN(RANGE(900000000)))"),
    ("duckdb", "CONCAT_WS(Name, RANGE(50000000))"),
    ("duckdb", "LIST_TRANSFORM([Name], x -> x.lpad(1000000000, 'x'))"),
    ("duckdb", "BITSTRING_AGG(a, 0, 1000000000)"),
    ("duckdb", "LIST_REDUCE([Name, Name], (x, y) -> CONCAT(x, x))"),
    ("mysql", "SPACE(1000000)"),
    ("sqlite", "HEX(ZEROBLOB(1000000000))"),
    ("clickhouse", "arrayFold((acc, x) -> concat(acc, acc), [1, 2, 3], Name)"),
]
NEEDED = [
    *(
        ("duckdb", text)
        for text in (
            "LPAD(CAST(a AS VARCHAR), 12, '0')",
            "PRINTF('%05.2f', a)",
            "FORMAT('{:>10} of {}', Name, a)",
            "PRINTF('%s', LPAD(Name, 600, 'x'))",
            "REPLACE(REPLACE(Name, 'a', 'ae'), ' ', '')",
            r"REGEXP_REPLACE(REGEXP_REPLACE(Name, '\s+', ' '), '[^a-z]', '')",
            "STRING_AGG(DISTINCT Name, ', ')",
            "LIST_TRANSFORM([1, 2, 3], x -> x * 2 + 1)",
            "MAX(a, 3)",
            "BAR(a, 0, 100, 20)",
            "LIST_COSINE_SIMILARITY(doc, CAST([1, 2, 3] AS FLOAT[3]))",
            "CAST(Name AS VARCHAR(4000))",
            "CONCAT_WS(' ', Name, b, doc)",
            "CASE " + " ".join(f"WHEN a = {n} THEN 'a long name of {n}'" for n in range(400)) + " ELSE HEX(a) END",
        )
    ),
    ("postgresql", "LPAD(Name, 10)"),
    ("postgresql", "FORMAT('%s - %s', Name, a)"),
    ("postgresql", "STRING_AGG(Name, ', ' ORDER BY a)"),
    ("mysql", "FORMAT(a, 2)"),
    ("mysql", "GROUP_CONCAT(DISTINCT Name SEPARATOR ', ')"),
    ("sqlite", "MAX(a, 1000000)"),
    ("sqlite", "PRINTF('%,d', a)"),
    ("bigquery", "GENERATE_ARRAY(1, 12, 3)"),
    ("databricks", "SEQUENCE(1, 10)"),
    ("bigquery", "RANGE(DATE '2024-01-01', DATE '2024-02-01')"),
    ("mssql", "FORMAT(a, 'N2')"),
]


def parse(on: str, text: str) -> str:
    return (
        FragmentParser()
        .parse(text, spec=engine(on), slot=FragmentSlot.METRIC, place="m", names=NAMES, only_listed=True)
        .sql
    )


@for_each(("on", "text"), LARGE)
def test_values_that_grow_large_are_refused_to_people_who_may_not_write_sql(on: str, text: str) -> None:
    with pytest.raises(FragmentError, match=r"may make values|makes values|gathers the rows|not after a dot"):
        parse(on, text)


@for_each(("on", "text"), UNLISTED)
def test_functions_whose_size_nobody_can_tell_are_on_no_list(on: str, text: str) -> None:
    with pytest.raises(FragmentError, match=r"is not on the list|is not allowed"):
        parse(on, text)


@for_each(("on", "text"), NEEDED)
def test_sizes_that_charts_need_pass(on: str, text: str) -> None:
    assert parse(on, text)


def test_the_refusal_says_which_size_would_do() -> None:
    with pytest.raises(FragmentError, match=r"lpad makes values as large as argument 2 tells: .* up to 1,000"):
        parse("duckdb", "LPAD(Name, 1001, 'x')")
    assert parse("duckdb", "LPAD(Name, 1000, 'x')")


@for_each(
    ("on", "make", "most"),
    [
        ("duckdb", "LPAD(a, {n})", 1_000),
        ("trino", "SEQUENCE({n}, 1)", 1_000),
        ("trino", "SEQUENCE(1, {n})", 1_000),
        ("trino", "SEQUENCE(1, 2, {n})", 1_000),
        ("duckdb", "PRINTF('%{n}d', a)", 999),
        ("duckdb", "PRINTF('{s}', a)", 501),
        ("duckdb", "REPLACE(a, 'x', '{y}')", 1_001),
        ("duckdb", "REPLACE(a, 'xyz', '{y}')", 3_003),
        ("duckdb", "REGEXP_REPLACE(a, 'x', '{y}')", 1_000),
        ("duckdb", "CONCAT_WS(CONCAT(a, b, doc){a})", 334),
        ("duckdb", "ARRAY_TO_STRING([a{a}], CONCAT(a, b, doc))", 500),
        ("duckdb", "LIST_TRANSFORM([a{a}], x -> 1)", 10),
        ("duckdb", "CAST(NULL AS INTEGER[{n}])", 1_000),
        ("duckdb", "STRING_AGG(Name, '{y}')", 1_001),
        ("postgresql", "CAST(Name AS CHAR({n}))", 1_000),
        ("postgresql", "pg_catalog.LPAD(Name, {n})", 1_000),
    ],
)
def test_each_kind_of_growth_has_its_most(on: str, make: str, most: int) -> None:
    for n in (most, most + 1):
        filled = {"n": str(n), "s": "%s" * n, "y": "y" * n, "a": ", a" * n}
        text = re.sub(r"\{(\w)\}", lambda found, filled=filled: filled[found[1]], make)  # type: ignore[misc]
        if n == most:
            assert parse(on, text)
            continue
        with pytest.raises(FragmentError, match=r"may make values|makes values"):
            parse(on, text)


@for_each(
    ("on", "call", "most"),
    [
        ("duckdb", "HEX({})", 9),
        ("duckdb", "REPLACE({}, 'x', b)", 2),
        ("duckdb", "REGEXP_REPLACE({}, 'x', 'y')", 8),
        ("mysql", "EXPORT_SET(5, {}, 'b')", 1),
    ],
)
def test_what_grows_with_each_level_has_its_most(on: str, call: str, most: int) -> None:
    assert parse(on, nested(call, most))
    with pytest.raises(FragmentError, match="may make values"):
        parse(on, nested(call, most + 1))


@for_each("package", ["pg_catalog", "safe", "net", "utl_raw"])
def test_a_package_before_a_function_is_no_value_of_a_method(package: str) -> None:
    tokens = sqlglot.tokenize(f"{package}.lpad(a, 9)"), sqlglot.tokenize("a.lpad(9)")

    def check(number: int) -> None:
        syntax = engine("postgresql").syntax
        reject_large_values(tokens[number], sqlglot.parse_one("a"), syntax, FragmentError)

    check(0)
    with pytest.raises(FragmentError, match="write lpad as a function with all its arguments, not after a dot"):
        check(1)

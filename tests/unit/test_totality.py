"""What may fail on some row although it looks harmless, and what the trial on servers cannot tell."""

from __future__ import annotations

import pytest
from sqlglot import parse_one
from tests.support.cases import for_each
from tests.support.planning import ENGINES, spec_of

from analytics_core._engine.compile.totality import Totality

TRIED = ("duckdb", "mysql", "postgresql", "sqlite")
TYPES = {
    "n": "INTEGER",
    "big": "BIGINT",
    "un": "INTEGER UNSIGNED",
    "price": "DECIMAL(10, 2)",
    "sum": "DECIMAL(38, 0)",
    "wide": "DECIMAL(38, 10)",
    "x": "DOUBLE PRECISION",
    "t": "TEXT",
    "u": "VARCHAR(20)",
    "b": "BOOLEAN",
    "d": "DATE",
    "made": "TIMESTAMP",
    "doc": "JSON",
}


def is_total(text: str, engine: str, *, has_bounds: bool = True) -> bool:
    """Tell whether an expression fails on no row."""
    spec = spec_of(engine)
    tree = parse_one(text, dialect=spec.dialect)
    return Totality(spec, TYPES, has_bounds=has_bounds).of_rows(tree) is not None


@for_each("engine", TRIED)
@for_each(
    "text",
    [
        "gone = 1",
        "LN(n) > 0",
        "SQRT(n) > 0",
        "my_own(n) > 0",
        "t LIKE '%a%b%c%'",
        "t LIKE u",
        "t REGEXP 'a'",
        "made > CURRENT_DATE - INTERVAL '99999999999' DAY",
        "made > CURRENT_DATE - INTERVAL '1' EON",
        "n > (SELECT 1)",
        "n IN (SELECT 1)",
        "EXISTS (SELECT 1)",
        "SUM(n) > 1",
        "RANK() OVER () = 1",
        "CASE WHEN b THEN LN(n) ELSE 1 END",
        "COALESCE(t, my_own(t))",
        "n > 12345678901234567890",
    ],
)
def test_what_is_not_listed_may_fail(text: str, engine: str) -> None:
    assert not is_total(text, engine)


@for_each(
    ("text", "engines"),
    [
        ("big + 1 > 0", "sqlite"),
        ("n + 1 > 0", "duckdb mysql sqlite"),
        ("n * n * n > 0", "sqlite"),
        ("-big > 0", "sqlite"),
        ("ABS(n) > 0", "duckdb mysql"),
        ("ABS(big) > 0", ""),
        ("un - n > 0", "duckdb sqlite"),
        ("-un < 0", "sqlite"),
        ("big / n > 0", "mysql sqlite"),
        ("n / 12 > 0", "duckdb mysql postgresql sqlite"),
        ("n / n > 0", "duckdb mysql sqlite"),
        ("price / NULLIF(n, 0) > 0", "duckdb mysql postgresql sqlite"),
        ("x * 2 > 0", "duckdb sqlite"),
        ("x + 2 > 0", "duckdb mysql postgresql sqlite"),
        ("x + x > 0", "duckdb sqlite"),
        ("x / n > 0", "duckdb mysql sqlite"),
        ("x / price > 0", "duckdb sqlite"),
        ("sum = wide", "mysql postgresql sqlite"),
        ("n IN (sum, wide)", "mysql postgresql sqlite"),
        ("n = 'x'", "mysql sqlite"),
        ("d > 'today'", "sqlite"),
        ("d > '2024-02-30'", "sqlite"),
        ("d > '2024-02-28'", "duckdb mysql postgresql sqlite"),
        ("d > made", "mysql postgresql sqlite"),
        ("COALESCE(d, made) IS NULL", "mysql sqlite"),
        ("made > CURRENT_DATE - INTERVAL '30' DAY", "duckdb mysql postgresql"),
        ("made > CURRENT_DATE - INTERVAL '30' DAY - INTERVAL '30' DAY", "mysql"),
        ("made - INTERVAL '1' DAY IS NULL", "mysql"),
        ("doc = 'x'", "sqlite"),
        ("t = u", "duckdb mysql sqlite"),
        ("t LIKE '%a%'", "duckdb mysql sqlite"),
        ("t LIKE '%a%' AND NOT t LIKE 'x\\\\%'", "duckdb mysql sqlite"),
        ("UPPER(t) = 'A'", "duckdb mysql sqlite"),
        ("CAST(t AS INTEGER) > 1", "sqlite"),
    ],
)
def test_what_engines_bear(text: str, engines: str) -> None:
    assert [engine for engine in TRIED if is_total(text, engine)] == engines.split()


def test_the_sign_of_numbers_is_not_believed_where_it_is_not_told() -> None:
    assert is_total("n - n > 0", "mysql")
    assert not is_total("n - n > 0", "mysql", has_bounds=False)
    assert is_total("n > 0 AND t = 'x'", "mysql", has_bounds=False)


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_a_pattern_that_ends_in_a_lone_escape_may_fail(engine: str) -> None:
    assert [is_total(f"t LIKE 'a{end}'", engine) for end in ("", "\\", "\\\\")] == [True, False, True]


@for_each("engine", [name for name in ENGINES.names() if name not in TRIED])
def test_nothing_is_total_on_an_engine_that_was_not_tried(engine: str) -> None:
    assert not is_total("n = 1", engine)


@pytest.mark.parametrize("engine", ["duckdb", "postgresql"])
def test_what_is_nested_too_deeply_to_be_read_may_fail(engine: str) -> None:
    assert is_total(" + ".join(["price"] * 20), engine)
    assert not is_total(" + ".join(["price"] * 3_000), engine)


def test_many_conditions_are_read_in_no_time() -> None:
    members = ", ".join(f"'{number}'" for number in range(5_000))
    assert is_total(f"t IN ({members})", "duckdb")

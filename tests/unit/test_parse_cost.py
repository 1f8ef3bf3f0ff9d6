"""SQL that the parser would read again and again is refused from its tokens; what people write is not."""

from __future__ import annotations

import contextlib
import time

import pytest
import sqlglot
from tests.support.cases import for_each
from tests.support.fragments import ENGINES, engine, parse

from analytics_core._engine.compile.fragments.sql_text import is_too_deep
from analytics_core._engine.gate.guard import check_select
from analytics_core.errors import FragmentError, VirtualDatasetError

pytestmark = pytest.mark.slow

ENOUGH_S = 3.0
"""Processor time for one text on a slow machine; what is refused here took from ten seconds to days."""


def nested(opening: str, levels: int, inner: str = "a", closing: str = ")") -> str:
    return opening * levels + inner + closing * levels


DEEP = {
    "date": nested("DATE(", 20),
    "types in turn": nested("DATE(TIMESTAMP(CHAR(", 8, closing=")))"),
    "binary": nested("BINARY(", 16),
    "array": nested("ARRAY[", 20, "1", "]"),
    "struct": nested("STRUCT(", 20, "1"),
    "object": nested("OBJECT(", 20, "1"),
    "beside others": "a = 1 AND " + nested("COALESCE(b, DATE(", 20, closing="))"),
    "wide inside": nested("DATE(", 9, ", ".join(["a"] * 3_000)),
    "if": "1 + " + "IF - " * 30 + "a",
    "subscripts": "doc" + "[1]" * 3_000,
    "subscripts of subscripts": " + ".join(["doc" + "[1]" * 150] * 40),
}


WITH_BRACKETS = frozenset({"array", "subscripts", "subscripts of subscripts"})
"""SQLite reads `[1]` as a name."""


def deep_on(engine_name: str) -> list[str]:
    return [text for name, text in DEEP.items() if engine_name != "sqlite" or name not in WITH_BRACKETS]


@for_each(("on", "text"), [(on, text) for on in ENGINES for text in deep_on(on)])
def test_nesting_that_takes_the_parser_long_is_refused_at_once(text: str, on: str) -> None:
    started = time.process_time()
    with pytest.raises(FragmentError, match="nested too deeply"):
        parse(text, on)
    assert time.process_time() - started < ENOUGH_S


@for_each("on", ENGINES)
@for_each("text", [nested("[", 20, "1", "]"), nested("{'k': ", 20, "1", "}")])
def test_nested_lists_are_a_typed_error_or_an_answer_at_once(text: str, on: str) -> None:
    """PostgreSQL writes `[1]` as `ARRAY[1]`: the text that is read back nests as well."""
    started = time.process_time()
    with contextlib.suppress(FragmentError):
        assert parse(text, on).sql
    assert time.process_time() - started < ENOUGH_S


@for_each("on", ENGINES)
@for_each("join", ["JOIN t ", "LEFT JOIN t AS u ", "JOIN (t) ", "INNER JOIN f(1) ", "STRAIGHT_JOIN t "])
def test_joins_without_conditions_are_refused_where_they_would_take_long(join: str, on: str) -> None:
    started = time.process_time()
    with pytest.raises(VirtualDatasetError, match="nested too deeply"):
        check_select("SELECT 1 AS n FROM t " + join * 30, spec=engine(on), place="dataset 'd'")
    assert time.process_time() - started < ENOUGH_S


@pytest.mark.parametrize("on", ENGINES)
def test_deep_sql_of_a_virtual_dataset_is_refused_at_once(on: str) -> None:
    started = time.process_time()
    for text in deep_on(on):
        with pytest.raises(VirtualDatasetError, match="nested too deeply"):
            check_select(f"SELECT {text} AS v FROM t", spec=engine(on), place="dataset 'd'")
    assert time.process_time() - started < ENOUGH_S


@pytest.mark.parametrize("on", ENGINES)
@pytest.mark.parametrize(
    "text",
    [
        "DATE(a) = DATE(b) AND CAST(DATE(CAST(a AS CHAR(10))) AS CHAR(7)) = '2024-01'",
        nested("COALESCE(", 30, "a", ", b)"),
        nested("(", 60, "a + 1"),
        nested("CASE WHEN a = 1 THEN 1 ELSE ", 30, "0", " END"),
        "COALESCE(" + ", ".join(["a"] * 5_000) + ")",
        "a IN (" + ", ".join(map(str, range(3_000))) + ")",
        " + ".join(["CAST(a AS DECIMAL(10, 2))"] * 600),
        "NULLIF(a, 0) / NULLIF(b, 0)",
    ],
)
def test_what_people_write_is_read(text: str, on: str) -> None:
    started = time.process_time()
    assert parse(text, on).sql
    assert time.process_time() - started < ENOUGH_S


def test_a_path_into_a_document_is_read() -> None:
    assert parse("doc['a']['b'][1]['c'][2]['d']", "duckdb").sql


@pytest.mark.parametrize("on", ENGINES)
def test_many_joins_are_read(on: str) -> None:
    joined = "".join(f" LEFT JOIN t AS t{n} ON t{n}.a = t.a" for n in range(60))
    crossed = " CROSS JOIN t AS c1 CROSS JOIN t AS c2"
    sql = f"SELECT t.a FROM t{joined}{crossed} WHERE t.a IN (SELECT a FROM t JOIN t AS u JOIN t AS v ON 1 = 1 ON 1 = 1)"
    assert check_select(sql, spec=engine(on), place="dataset 'd'").sql.count("JOIN") == 64


JOINED = "SELECT 1 FROM t "


@for_each(
    ("most", "beyond"),
    [
        (nested("DATE(", 7), nested("DATE(", 8)),
        (nested("ARRAY[", 7, closing="]"), nested("ARRAY[", 8, closing="]")),
        (nested("IF(", 100), nested("IF(", 101)),
        (nested("[", 100, closing="]"), nested("[", 101, closing="]")),
        ("1 + " + "IF - " * 12 + "a", "1 + " + "IF - " * 13 + "a"),
        ("doc" + "[1]" * 146, "doc" + "[1]" * 147),
        (JOINED + "JOIN t " * 12, JOINED + "JOIN t " * 13),
        (JOINED + "STRAIGHT_JOIN t " * 12, JOINED + "STRAIGHT_JOIN t " * 13),
        (JOINED + nested("JOIN (t ", 11), JOINED + nested("JOIN (t ", 12)),
        (JOINED + "JOIN t " * 4 + nested("JOIN (DATE(", 3, "a", "))"), JOINED + "JOIN t " * 5 + nested("DATE(", 6)),
        (JOINED + "CROSS JOIN t " * 99 + "NATURAL JOIN t " * 99, JOINED + "CROSS JOIN t " + "LEFT JOIN t " * 13),
        (JOINED + "JOIN t ON 1 " * 99 + "JOIN t USING (a) " * 99, JOINED + "JOIN t " * 14 + "ON 1"),
        (JOINED + "JOIN t WHERE a GROUP BY a " * 99, JOINED + "JOIN t , a " * 13),
        (JOINED + "ON 1 " * 5 + "JOIN t " * 12, JOINED + "ON 1 " * 5 + "JOIN t " * 13),
    ],
)
def test_each_kind_of_nesting_has_its_most(most: str, beyond: str) -> None:
    tokens = [sqlglot.tokenize(text, read="postgres") for text in (most, beyond)]
    assert [is_too_deep(one, "postgres") for one in tokens] == [False, True]

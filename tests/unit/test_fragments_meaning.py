"""An expression gives the same value before and after it was parsed and written again (SQLite and DuckDB)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import duckdb
import pytest
from tests.support.cases import for_each
from tests.support.meaning import COMMON, ROWS, Run, assert_same_meaning

SQLITE = [
    "s || '-' || i", "i || (j * 2)", "s GLOB 'A*'", "s NOT GLOB 'A*'", "strftime('%Y-%m', ts)", "date(ts, '+1 day')",
    "datetime(ts, 'start of month')", "julianday(d)", "CAST(s AS TEXT)", "CAST('7.5' AS NUMERIC)",
    "CAST(i AS REAL)", "CAST(i AS DECIMAL) / 2", "mod(f, 2)", "iif(i > 0, 1, 2)", "total(i)", "group_concat(s, ';')",
    "max(i, j)", "min(i, f)", "printf('%05d', i)", "i & 3", "i | 4", "i << 2", "~i", "i IS j", "i IS NOT j",
    "s COLLATE NOCASE = 'AB C,D'", "instr(s, 'b')", "substr(s, -2)", "typeof(f)", "hex(s)", "x'41'", "0x1F",
    "i NOT NULL", "j ISNULL", "(i NOT IN (1, 2)) = j", "i = j IN (1, 0)", "(i < j) IS NULL",
    "NOT i = 7 AND j NOT IN (1)", "b IS TRUE", "i == 7", "json_extract('{\"k\": 7}', '$.k')",
    "'{\"k\": 7}' ->> '$.k'", "unixepoch(ts)", "sign(i)", "likely(i)", "quote(s)", "char(65, 66)", "unicode(s)",
    "s LIKE '%\\%'", "1e3 + i", "nth_value(i, 2) OVER (ORDER BY i)", "round(f)", "ltrim(s, 'A')",
]  # fmt: skip

DUCKDB = [
    "i // j", "i ** 2", "i ^ 2", "i::varchar", "try_cast(s AS int)", "date_trunc('month', ts)",
    "extract(year FROM ts)", "date_part('dow', ts)", "ts + INTERVAL 1 DAY", "ts - INTERVAL '90 minutes'",
    "date_add(ts, INTERVAL 3 DAY)", "date_diff('day', d, ts::date)", "strftime(ts, '%Y-%m')", "dayofweek(ts)",
    "isodow(ts)", "week(ts)", "epoch(ts)", "last_day(d)", "time_bucket(INTERVAL '2 hours', ts)", "s ILIKE 'ab%'",
    "s SIMILAR TO 'A.*'", "regexp_matches(s, 'b')", "NOT regexp_full_match(s, 'A')",
    "regexp_replace(s, '[a-z]', 'x', 'g')", "s || '-' || i",
    "concat(s, i)", "s[1:2]", "list_transform([1, 2], x -> x + i)", "list_filter([1, 2, 3], x -> x > 1)", "[i, j][1]",
    "{'k': i}.k", "struct_pack(k := i).k", "median(i)", "quantile_cont(i, 0.5)", "arg_max(s, i)",
    "count(*) FILTER (WHERE i > 0)", "string_agg(s, ';' ORDER BY i)", "list(i ORDER BY i)", "bool_or(b)",
    "any_value(7)", "approx_count_distinct(i)", "i IS DISTINCT FROM j", "i IS NOT DISTINCT FROM j", "b IS TRUE",
    "b IS NOT TRUE", "NOT b", "i = ANY([7, 3])", "if(i > 0, 1, 2)", "greatest(i, j)", "least(i, j)", "round(f, 1)",
    "i NOT IN (1, 2) = b", "strpos(s, 'b')", "split_part(s, ',', 1)", "to_json({'k': i})",
    "'{\"k\": 7}'::json ->> '$.k'", "ts AT TIME ZONE 'UTC'", "first_value(i) OVER (ORDER BY i)",
    "i - date_diff('day', d, d + 1)", "md5(s)", "lpad(s, 3, '*')", "d + 1",
]  # fmt: skip


@pytest.fixture(scope="module")
def sqlite() -> Iterator[Run]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (i integer, j integer, f real, s text, d date, ts timestamp, b boolean)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?)", ROWS)
        yield lambda sql: connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def duck() -> Iterator[Run]:
    with closing(duckdb.connect()) as connection:
        connection.execute("CREATE TABLE t (i int, j int, f double, s text, d date, ts timestamp, b boolean)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?)", ROWS)

        def run(sql: str) -> list[Any]:
            return connection.execute(sql).fetchall()

        yield run


@for_each("expression", [*COMMON, *SQLITE])
def test_an_expression_means_the_same_on_sqlite(sqlite: Run, expression: str) -> None:
    assert_same_meaning(sqlite, expression, "sqlite")


@for_each("expression", [*COMMON, *DUCKDB])
def test_an_expression_means_the_same_on_duckdb(duck: Run, expression: str) -> None:
    assert_same_meaning(duck, expression, "duckdb")

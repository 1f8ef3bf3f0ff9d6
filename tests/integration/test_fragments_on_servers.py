"""An expression gives the same value before and after it was parsed and written again (PostgreSQL and MariaDB)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import Connection
from tests.support.cases import for_each
from tests.support.fragments import engine, parse
from tests.support.meaning import COMMON, ROWS, Run, assert_same_meaning

from analytics_core.errors import FragmentError

pytestmark = pytest.mark.server

POSTGRES = [
    "i::text", "i::numeric / 2", "i::float8 / 2", "s || '-' || i", "date_trunc('month', ts)", "extract(year FROM ts)",
    "extract(epoch FROM ts)", "date_part('dow', ts)", "date_part('epoch', ts) / 2", "ts + interval '1 day'",
    "ts - interval '1 month 2 days'", "ts::date", "d + 1", "age(ts, d)", "to_char(ts, 'YYYY-MM')",
    "ts AT TIME ZONE 'UTC'", "date_bin('2 hours', ts, timestamp '2001-01-01')", "make_date(2024, 2, 29)",
    "make_interval(days => i)", "s ~ '^A'", "s ~* '^a'", "s !~ '^A'", "s !~ '^A' = b", "s ILIKE 'ab%'",
    "s SIMILAR TO 'A%'", "s LIKE 'it''s%'", "'{\"k\": {\"l\": 7}}'::jsonb -> 'k' ->> 'l'",
    "'{\"k\": 7}'::jsonb ? 'k'", "'{\"k\": 7}'::jsonb @> '{\"k\": 7}'", "'{\"k\": {\"l\": 7}}'::jsonb #>> '{k,l}'",
    "i = ANY(ARRAY[7, 3])", "i = ANY('{7,3}')", "(ARRAY[i, j])[1]", "array_length(ARRAY[1, 2], 1)",
    "i IS DISTINCT FROM j", "i IS NOT DISTINCT FROM j", "b IS TRUE", "b IS NOT TRUE", "b IS UNKNOWN", "i NOTNULL",
    "i ^ 2", "|/ 16", "i & 3", "i | 4", "i # 3", "~i", "i << 2", "mod(i, 3)", "3 * mod(i, 3)", "div(i, 3)",
    "width_bucket(f, 0, 10, 5)", "round(f::numeric, 1)", "trunc(f)", "log(10, 100)", "substring(s FROM 2 FOR 3)",
    "substring(s FROM 'b')", "overlay(s PLACING 'x' FROM 1)", "position('b' IN s)", "trim(BOTH 'A' FROM s)",
    "split_part(s, ',', 1)", "regexp_replace(s, '[a-z]', 'x', 'g')", "initcap(s)", "left(s, 2)", "\"left\"(s, 2)",
    "concat(s, i)", "concat_ws(',', s, i)", "format('%s-%s', s, i)", "md5(s)", "E'a\\nb\\\\c\\'d'", "U&'d\\0061t'",
    "$$it's$$", "s = E'\\'' OR 1 = 2", "count(*) FILTER (WHERE i > 0)",
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY i)", "mode() WITHIN GROUP (ORDER BY i)",
    "string_agg(s, ';' ORDER BY i)", "array_agg(i ORDER BY i)", "bool_or(b)", "stddev(i)", "variance(i)",
    "corr(i, j)", "count(DISTINCT (i, j))", "json_build_object('k', 7)::text", "(ts, ts) OVERLAPS (ts, ts)",
    "i BETWEEN SYMMETRIC 8 AND 1", "s COLLATE \"C\"", "(i, j) = (7, 2)", "(i, j) IN ((7, 2), (3, 4))",
    "i OPERATOR(pg_catalog.+) j", "- i ^ 2", "2 ^ 3 ^ 2", "date '2024-01-31'", "timestamp '2024-01-31 10:00:00'",
    "interval '1' day", "ts BETWEEN date '2024-01-01' AND '2025-01-01'",
    "rank() OVER (PARTITION BY b ORDER BY i DESC NULLS LAST)", "coalesce(s, '-')::text", "greatest(i, j)",
    "now() IS NULL", "log10(abs(f) + 1)", "log(10, i + 8) - log10(100)", "to_hex(i)",
]  # fmt: skip

MARIADB = [
    "i DIV j", "i MOD j", "MOD(i, 3)", "3 * MOD(i, 3)", "-MOD(i, 3)", "i || j", "i && j", "!i", "i XOR j", "i <=> j",
    "CONCAT(s, '-', i)", "CONCAT_WS(',', s, i)", "IF(i > 0, 1, 2)", "IFNULL(j, 0)", "ISNULL(j)", "s REGEXP '^A'",
    "s RLIKE 'b'", "s NOT REGEXP '^A'", "(s NOT REGEXP '^A') = b", "s REGEXP BINARY '^a'",
    "REGEXP_REPLACE(s, '[a-z]', 'x')", "s SOUNDS LIKE 'abcd'", "i = s SOUNDS LIKE 'abcd'",
    "DATE_FORMAT(ts, '%Y-%m-%d %H:%i:%s')", "DATE_FORMAT(ts, '%M %W %e')", "ts + INTERVAL 1 DAY",
    "ts - INTERVAL '1:30' HOUR_MINUTE", "DATE_ADD(ts, INTERVAL 1 MONTH)", "DATE_SUB(d, INTERVAL i DAY)",
    "ADDDATE(d, 3)", "TIMESTAMPADD(DAY, 1, ts)", "TIMESTAMPADD(HOUR, -2, ts)", "TIMESTAMPDIFF(DAY, d, '2024-03-31')",
    "DATEDIFF(d, '2024-01-01')", "TO_DAYS(d)", "LAST_DAY(d)", "MONTHNAME(d)", "DAYNAME(d)", "WEEKDAY(d)",
    "DAYOFWEEK(d)", "DAYOFYEAR(d)", "WEEK(d)", "WEEK(d, 3)", "YEARWEEK(d)", "QUARTER(d)", "YEAR(ts)", "HOUR(ts)",
    "MICROSECOND(ts)", "EXTRACT(YEAR_MONTH FROM ts)", "STR_TO_DATE('31/01/2024', '%d/%m/%Y')", "MAKEDATE(2024, 60)",
    "DATE(ts)", "TIME(ts)", "TIMESTAMP('2024-01-31')", "TIMESTAMP '2024-01-31 10:00:00'", "DATE '2024-01-31'",
    "CAST(s AS CHAR)", "CAST(f AS SIGNED)", "CAST(f AS DECIMAL(10, 2))", "CONVERT(s USING utf8mb4)",
    "CONVERT(f, SIGNED)", "BINARY s = 'ab c,d'", "s COLLATE utf8mb4_bin = 'ab c,d'", "s = \"it's 50%_\"",
    "s = 'it\\'s 50%_'", "s LIKE '%50\\%%'", "s LIKE '%\\\\\\\\%'", "'a\\nb\\\\c'", "N'x'", "_utf8mb4'x'", "x'4D'",
    "0x4D", "0x4D + i", "x'4D' + i", "CHR(65)",
    "b'101'", "GROUP_CONCAT(i ORDER BY i SEPARATOR ';')", "GROUP_CONCAT(DISTINCT i ORDER BY i)",
    "COUNT(DISTINCT i, j)", "STD(i)", "STDDEV(i)", "VAR_POP(i)", "BIT_OR(i)", "MEDIAN(i) OVER ()",
    "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY i) OVER ()", "RANK() OVER (ORDER BY i)", "LEFT(s, 2)",
    "MID(s, 2, 3)", "SUBSTRING(s FROM 2 FOR 3)", "SUBSTRING_INDEX(s, ',', 1)", "POSITION('b' IN s)", "LOCATE('b', s)",
    "INSERT(s, 1, 2, 'x')", "LPAD(s, 3, '*')", "CHAR_LENGTH(s)", "HEX(s)", "MD5(s)", "CRC32(s)", "FORMAT(f, 2)",
    "TRUNCATE(f, 0)", "POW(i, 2)", "i & 3", "i | 4", "i ^ 3", "~i", "i << 2", "FIELD(i, 7, 3)", "ELT(1, s)",
    "FIND_IN_SET('d', s)", "JSON_EXTRACT('{\"k\": 7}', '$.k')", "JSON_VALUE('{\"k\": 7}', '$.k')",
    "JSON_UNQUOTE(JSON_EXTRACT('{\"k\": \"v\"}', '$.k'))", "(i, j) IN ((7, 2))", "i IN (7, 3) = b", "i IS TRUE",
    "b IS NOT TRUE", "CONVERT_TZ(ts, '+00:00', '+02:00')", "TIME_TO_SEC('10:00:00')", "SEC_TO_TIME(60)",
    "(i NOT IN (7)) = 0", "i = j >= 0", "(i < j) IS NULL", "-1 = i >= j", "UTC_DATE() IS NULL", "UTC_TIMESTAMP IS NULL",
    "CURDATE() IS NULL", "INET_ATON('10.0.0.1')", "BIT_COUNT(7)",
]  # fmt: skip


def _filled(url: str, columns: str) -> Iterator[Connection]:
    engine = create_engine(url)
    with engine.connect() as connection:
        connection.execute(text("DROP TABLE IF EXISTS t"))
        connection.execute(text(f"CREATE TABLE t ({columns})"))
        for row in ROWS:
            values = {f"p{position}": value for position, value in enumerate(row)}
            connection.execute(text(f"INSERT INTO t VALUES ({', '.join(f':{name}' for name in values)})"), values)
        connection.commit()
        yield connection
        connection.rollback()
        connection.execute(text("DROP TABLE t"))
        connection.commit()
    engine.dispose()


def _runner(connection: Connection) -> Run:
    def run(sql: str) -> list[Any]:
        connection.rollback()
        return [tuple(row) for row in connection.exec_driver_sql(sql.replace("%", "%%")).fetchall()]

    return run


@pytest.fixture(scope="module")
def postgres(make_postgres_database: Any) -> Iterator[Run]:
    columns = "i int, j int, f float8, s text, d date, ts timestamp, b boolean"
    yield from map(_runner, _filled(make_postgres_database(), columns))


@pytest.fixture(scope="module")
def mariadb(make_mariadb_database: Any) -> Iterator[Run]:
    columns = "i int, j int, f double, s text, d date, ts datetime(6), b boolean"
    yield from map(_runner, _filled(make_mariadb_database(), columns))


@for_each("expression", [*(each for each in COMMON if each != "ROUND(f, 0)"), *POSTGRES])
def test_an_expression_means_the_same_on_postgresql(postgres: Run, expression: str) -> None:
    assert_same_meaning(postgres, expression, "postgresql")


@for_each("expression", [*COMMON, *MARIADB])
def test_an_expression_means_the_same_on_mariadb(mariadb: Run, expression: str) -> None:
    assert_same_meaning(mariadb, expression, "mysql")


def test_no_listed_function_of_postgresql_reads_the_catalog_or_makes_rows(postgres: Run) -> None:
    """The server's own word: what is not immutable is known by name, and none is volatile but chance and the clock."""
    known = postgres(
        "SELECT DISTINCT proname::text, provolatile::text, proretset FROM pg_catalog.pg_proc "
        "WHERE pronamespace = 'pg_catalog'::regnamespace"
    )
    listed = [row for row in known if row[0] in engine("postgresql").guards.allowed_functions]
    assert len({name for name, _, _ in listed}) > 250
    assert {name for name, kind, _ in listed if kind == "v"} == {"clock_timestamp", "gen_random_uuid", "random"}
    assert [name for name, _, makes_rows in listed if makes_rows] == []
    functions = {
        name for name, kind, _ in known if kind != "i" and name.startswith(("has_", "pg_get_", "pg_stat", "to_reg"))
    }
    assert [name for name in functions if name not in engine("postgresql").guards.denied_functions] == []


def test_no_function_of_postgresql_takes_a_name_of_the_catalog_from_a_row(postgres: Run) -> None:
    """The server's own word: what takes or gives a name that is looked up is denied, or its name is a constant's."""
    known = postgres(
        "SELECT DISTINCT proname::text FROM pg_catalog.pg_proc AS p WHERE pronamespace = 'pg_catalog'::regnamespace "
        "AND p.proname !~ '^(bt|hash)' AND EXISTS (SELECT 1 FROM pg_catalog.pg_type AS t WHERE t.oid = ANY "
        "(p.prorettype || p.proargtypes::oid[] || p.proallargtypes) AND t.typname ~ '^_?(reg|aclitem)')"
    )
    assert len(known) > 80
    searches = ("to_ts", "json_to_ts", "jsonb_to_ts", "phraseto_ts", "plainto_ts", "websearch_to_ts", "ts_")
    remaining = {name for (name,) in known if name not in engine("postgresql").guards.denied_functions}
    assert {name for name in remaining if not name.startswith(searches)} == {"pg_typeof"}


def test_no_type_of_postgresql_that_holds_a_name_of_the_catalog_may_be_cast_to(postgres: Run) -> None:
    """The server's own word: such types, their arrays, and the rows of its own tables, which have such fields."""
    known = postgres(
        "SELECT typname::text FROM pg_catalog.pg_type WHERE typnamespace = 'pg_catalog'::regnamespace "
        "AND (typname ~ '^_?(reg|aclitem)' OR typtype = 'c' OR typelem IN (SELECT oid FROM pg_catalog.pg_type AS row "
        "WHERE row.typtype = 'c' AND row.typnamespace = 'pg_catalog'::regnamespace))"
    )
    assert len(known) > 150
    for (name,) in known:
        for cast in (f"CAST(s AS {name})", f's::pg_catalog."{name}"', f"{name}(s)"):
            with pytest.raises(FragmentError, match="is not allowed"):
                parse(cast, "postgresql")

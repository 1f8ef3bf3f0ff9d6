"""What people really write as custom SQL goes through, in the dialect of its engine, with columns qualified."""

from __future__ import annotations

import pytest
from tests.support.cases import for_each
from tests.support.fragments import ENGINES, parse

EVERYWHERE = [
    "a / b",
    "SUM(a) / COUNT(*)",
    "SUM(a) / NULLIF(COUNT(DISTINCT b), 0)",
    "COUNT(*) > 5",
    "a % 2",
    "CASE WHEN a = 0 THEN 'No' WHEN a = 1 THEN 'Yes' ELSE 'No Answer' END",
    "CASE a WHEN 1 THEN 'x' END",
    "Name = 'drop table orders; -- /* not a comment */'",
    "Name LIKE '%100%%' OR Name LIKE 'a_b'",
    "Name = 'it''s'",
    "Name = '/*! not executed */'",
    "Name = '{{ not a template }}'",
    "Name IN ('select', 'union', 'delete')",
    "a IS NULL OR b IS NOT NULL",
    "NOT (a = 1 OR b = 2) AND a <> b",
    "a BETWEEN 1 AND 10",
    "a NOT BETWEEN 1 AND 10",
    "COALESCE(a, b, 0)",
    "CAST(a AS DECIMAL(10, 2))",
    "UPPER(Name)",
    "-a + (b - 1) * 2",
    "SUM(a) OVER (PARTITION BY Name ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
    "ROW_NUMBER() OVER (ORDER BY a DESC)",
    "SUM(SUM(a)) OVER ()",
    "COUNT(DISTINCT CASE WHEN a > 1 THEN b END)",
    "CURRENT_DATE",
    "CURRENT_TIMESTAMP",
    "1",
    "'text'",
    "TRUE",
    "REPLACE(Name, 'a', 'b')",
    "Name = '漢字 😀 é'",
]


@for_each("on", ENGINES)
@for_each("text", EVERYWHERE)
def test_common_expressions_are_accepted_on_every_engine(text: str, on: str) -> None:
    assert parse(text, on).sql


@for_each(
    ("on", "text", "sql"),
    [
        ("sqlite", "SUM(a) / COUNT(*)", 'SUM("t"."a") / COUNT(*)'),
        ("duckdb", "SUM(a) / COUNT(*)", 'SUM("t"."a") / COUNT(*)'),
        ("postgresql", "SUM(a) / COUNT(*)", 'SUM("t"."a") / COUNT(*)'),
        ("mysql", "SUM(a) / COUNT(*)", "SUM(`t`.`a`) / COUNT(*)"),
        ("sqlite", "strftime('%Y', ts)", 'STRFTIME(\'%Y\', "t"."ts")'),
        ("sqlite", "a || b", '"t"."a" || "t"."b"'),
        ("sqlite", "Name GLOB 'x*'", '"t"."Name" GLOB \'x*\''),
        ("sqlite", "CAST(a AS NUMERIC)", 'CAST("t"."a" AS DECIMAL)'),
        ("sqlite", "mod(a, 2) + 1", 'MOD("t"."a", 2) + 1'),
        ("sqlite", "max(a, b)", 'MAX("t"."a", "t"."b")'),
        ("sqlite", "doc ->> '$.k'", '"t"."doc" ->> \'$.k\''),
        ("duckdb", "a::int // 2", 'CAST("t"."a" AS INT) // 2'),
        ("duckdb", "date_trunc('month', ts)", 'DATE_TRUNC(\'MONTH\', "t"."ts")'),
        ("duckdb", "count(*) FILTER (WHERE a > 1)", 'COUNT(*) FILTER(WHERE "t"."a" > 1)'),
        ("duckdb", "list_filter(doc, x -> x > b)", 'LIST_FILTER("t"."doc", LAMBDA x : x > "t"."b")'),
        ("duckdb", "doc.field.deep", '"t"."doc".field.deep'),
        ("duckdb", "orders.doc.field", '"t"."doc".field'),
        ("duckdb", "UPPER(doc.field) || a", 'UPPER("t"."doc".field) || "t"."a"'),
        ("mysql", "ISNULL(a)", "(`t`.`a` IS NULL)"),
        ("mysql", "a = 1 AND TO_DAYS(ts) > 5", "`t`.`a` = 1 AND (DATEDIFF(`t`.`ts`, '0000-01-01') + 1) > 5"),
        ("duckdb", "time_bucket(interval '1 day', ts, ts)", 'TIME_BUCKET(INTERVAL \'1\' DAY, "t"."ts", "t"."ts")'),
        ("postgresql", "doc ->> 'k' = 'v'", "\"t\".\"doc\" ->> 'k' = 'v'"),
        ("postgresql", "doc @> '{}' AND doc ? 'k'", '"t"."doc" @> \'{}\' AND "t"."doc" ? \'k\''),
        ("postgresql", "a = ANY(ARRAY[1, 2])", '"t"."a" = ANY(ARRAY[1, 2])'),
        ("postgresql", "extract(epoch from ts)", 'EXTRACT(EPOCH FROM "t"."ts")'),
        ("postgresql", "date_part('dow', ts)", 'CAST(EXTRACT(DOW FROM "t"."ts") AS DOUBLE PRECISION)'),
        ("postgresql", '"left"(Name, 2)', 'left("t"."Name", 2)'),
        ("postgresql", "(a, b) = (1, 2)", '("t"."a", "t"."b") = (1, 2)'),
        ("postgresql", "Name = 'x\\'", '"t"."Name" = \'x\\\''),
        ("postgresql", "date_bin('1 day', ts, ts)", 'DATE_BIN(\'1 day\', "t"."ts", "t"."ts")'),
        ("mysql", 'Name = "text"', "`t`.`Name` = 'text'"),
        ("mysql", "a || b", "`t`.`a` OR `t`.`b`"),
        ("mysql", "Name REGEXP '^x'", "(REGEXP_INSTR(`t`.`Name`, '^x') > 0)"),
        ("mysql", "Name NOT RLIKE '^x'", "NOT (REGEXP_INSTR(`t`.`Name`, '^x') > 0)"),
        ("mysql", "Name = 'x\\' or 1=1 -- '", "`t`.`Name` = 'x'' or 1=1 -- '"),
        ("mysql", "ts + INTERVAL 1 DAY", "`t`.`ts` + INTERVAL '1' DAY"),
        ("mysql", "TIMESTAMPADD(DAY, 1, ts)", "DATE_ADD(`t`.`ts`, INTERVAL '1' DAY)"),
        ("mysql", "UTC_TIMESTAMP", "UTC_TIMESTAMP()"),
        ("mysql", "UTC_DATE()", "UTC_DATE()"),
        ("mysql", "MEDIAN(a) OVER ()", "MEDIAN(`t`.`a`) OVER ()"),
        ("mysql", "a DIV b", "`t`.`a` DIV `t`.`b`"),
    ],
)
def test_an_expression_is_written_again_as_its_engine_means_it(on: str, text: str, sql: str) -> None:
    written = parse(text, on).sql
    assert written.replace("LEFT(", "left(") == sql


@for_each(
    ("on", "text", "sql"),
    [
        ("sqlite", "(a NOT IN (1, 2)) = b", '(NOT "t"."a" IN (1, 2)) = "t"."b"'),
        ("duckdb", "a NOT IN (1, 2) = b", '(NOT "t"."a" IN (1, 2)) = "t"."b"'),
        ("mysql", "-MOD(a, 2)", "-(`t`.`a` % 2)"),
        ("mysql", "3 * MOD(a, 2)", "3 * (`t`.`a` % 2)"),
        ("mysql", "a = Name SOUNDS LIKE 'x'", "`t`.`a` = (SOUNDEX(`t`.`Name`) = SOUNDEX('x'))"),
        ("postgresql", "Name !~ 'x' = true", '(NOT "t"."Name" ~ \'x\') = TRUE'),
        ("duckdb", "ts - date_add(ts, interval 1 day)", '"t"."ts" - ("t"."ts" + INTERVAL \'1\' DAY)'),
    ],
)
def test_what_the_parser_makes_of_an_operator_keeps_its_grouping(on: str, text: str, sql: str) -> None:
    assert parse(text, on).sql == sql


@pytest.mark.parametrize("comment", ["a -- b", "a /* b */", "/* b */ a", "a /*+ hint */"])
def test_comments_vanish(comment: str) -> None:
    assert parse(comment).sql == '"t"."a"'


def test_a_comment_cannot_swallow_what_follows() -> None:
    assert parse("a > 1 -- )", "mysql").sql == "`t`.`a` > 1"


def test_a_parsed_fragment_is_kept() -> None:
    from tests.support.fragments import NAMES, engine

    from analytics_core._engine.compile.fragments.parser import FragmentParser, FragmentSlot

    parser = FragmentParser(cache_size=1)

    def again(text: str) -> object:
        return parser.parse(text, spec=engine("sqlite"), slot=FragmentSlot.METRIC, place="m", names=NAMES)

    first = again("SUM(a)")
    assert again("SUM(a)") is first
    again("SUM(b)")
    assert again("SUM(a)") is not first

"""Custom SQL that is not exactly one expression, or reaches beyond its dataset, is a typed error."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest
from tests.support.cases import for_each
from tests.support.fragments import ENGINES, NAMES, engine, parse

from analytics_core._engine.compile.fragments.parser import FragmentParser, FragmentSlot
from analytics_core.errors import AnalyticsError, ErrorType, FragmentError, SubqueryNotAllowedError


@for_each("on", ENGINES)
@for_each(
    "text",
    [
        "",
        "   ",
        ";",
        "-- only a comment",
        "a; b",
        "a; DROP TABLE orders",
        "1=1; DROP TABLE orders",
        "a = 1) OR (1 = 1",
        "a = 1)",
        "(a = 1",
        "a AS x",
        "a x",
        "a, b",
        "(a, b)",
        "a ORDER BY b",
        "a LIMIT 5",
        "a UNION SELECT 1",
        "SELECT a",
        "DROP TABLE orders",
        "a FROM orders",
        "*",
        "orders.*",
        "COUNT(orders.*)",
        "a IN ()",
        "Name = 'open",
        "?",
        ":p0",
        "a = :p0",
        "{{ x }} > 1",
        "{% if x %} a {% endif %}",
        "a = 1 /*! OR 1 = 1 */",
        "a = 1 /*M! OR 1 = 1 */",
        "a\x00b",
        "a = '\x01p0\x01'",
        "Name = '\ud800'",
        "REPLACE(Name, 'a', 'b') FROM orders",
        "REPLACE(Name, 'a', 'b') AS x",
        "REPLACE INTO orders VALUES (1)",
    ],
)
def test_what_is_not_one_expression_is_refused(text: str, on: str) -> None:
    with pytest.raises(FragmentError, match=r"^metric 'm': "):
        parse(text, on)


@for_each("on", ENGINES)
@for_each(
    "text",
    [
        "(SELECT 1)",
        "(SELECT MAX(a) FROM orders) > 1",
        "a IN (SELECT a FROM orders)",
        "EXISTS (SELECT 1)",
        "a = ANY (SELECT 1)",
        "CASE WHEN (SELECT 1) = 1 THEN a END",
        "COALESCE(a, (SELECT password FROM users))",
        "json_each(doc)",
    ],
)
def test_what_reads_a_relation_of_its_own_is_refused(text: str, on: str) -> None:
    with pytest.raises(SubqueryNotAllowedError) as caught:
        parse(text, on)
    assert caught.value.error_type is ErrorType.ADHOC_SUBQUERY_NOT_ALLOWED_ERROR


@for_each(
    ("on", "text"),
    [
        ("sqlite", "a IN orders"),
        ("sqlite", "a IN json_each('[1]')"),
        ("duckdb", "(FROM orders)"),
        ("duckdb", "(TABLE orders)"),
        ("duckdb", "unnest([1, 2])"),
        ("postgresql", "unnest(ARRAY[1])"),
        ("postgresql", "generate_series(1, 3)"),
        ("postgresql", "regexp_matches(Name, 'x')"),
        ("postgresql", "jsonb_path_query(doc, '$')"),
        ("postgresql", "array(SELECT 1)"),
        ("postgresql", "(VALUES (1))"),
    ],
)
def test_rows_from_elsewhere_are_refused_in_each_dialects_words(on: str, text: str) -> None:
    with pytest.raises(SubqueryNotAllowedError):
        parse(text, on)


@for_each(
    ("on", "text"),
    [
        ("sqlite", "load_extension('x')"),
        ("sqlite", "LOAD_EXTENSION ('x')"),
        ("sqlite", "readfile('/etc/passwd')"),
        ("sqlite", "length(randomblob(1000000000))"),
        ("duckdb", "read_text('/etc/passwd')"),
        ("duckdb", "getenv('HOME')"),
        ("duckdb", "current_setting('s3_secret_access_key')"),
        ("postgresql", "pg_sleep(5)"),
        ("postgresql", "pg_catalog.pg_sleep(5)"),
        ("postgresql", '"pg_sleep"(5)'),
        ("postgresql", "pg_read_file('/etc/passwd')"),
        ("postgresql", "query_to_xml('select 1', true, true, '')"),
        ("postgresql", "set_config('statement_timeout', '0', false)"),
        ("postgresql", "CASE WHEN a = 1 THEN nextval('s') END"),
        ("postgresql", "dblink('host=x', 'select 1')"),
        ("mysql", "SLEEP(5)"),
        ("mysql", "BENCHMARK(1000000, MD5('x'))"),
        ("mysql", "LOAD_FILE('/etc/passwd')"),
        ("mysql", "GET_LOCK('x', 10)"),
    ],
)
def test_functions_with_effects_are_refused(on: str, text: str) -> None:
    with pytest.raises(FragmentError, match=r"the function \w+ is not allowed"):
        parse(text, on)


@for_each(
    ("text", "denied"),
    [
        ("sleep(5) FROM orders", "sleep"),  # before a parser sees it
        ("Name REGEXP 'x'", "regexp_instr"),  # in the text that is sent, whatever it was before
    ],
)
def test_a_denied_function_is_refused_before_and_after_the_parser(text: str, denied: str) -> None:
    spec = replace(engine("mysql"), guards=replace(engine("mysql").guards, denied_functions=frozenset({denied})))
    with pytest.raises(FragmentError, match=f"^metric 'm': the function {denied} is not allowed$"):
        FragmentParser().parse(text, spec=spec, slot=FragmentSlot.METRIC, place="metric 'm'", names=NAMES)


@pytest.mark.parametrize("on", ENGINES)
def test_a_column_named_like_a_denied_function_is_a_column(on: str) -> None:
    names = type(NAMES)(alias="t", columns=("sleep", "pg_sleep", "load_file", "query"))
    assert parse("sleep + pg_sleep + load_file + query", on, names=names).sql.count("+") == 3


def test_a_denied_name_inside_text_is_text() -> None:
    assert parse("Name = 'pg_sleep(5)'", "postgresql").sql == '"t"."Name" = \'pg_sleep(5)\''


@for_each(
    ("on", "text"),
    [
        ("sqlite", "$p0"),
        ("sqlite", "@x"),
        ("duckdb", "$p0"),
        ("duckdb", "#1"),
        ("duckdb", "COLUMNS(*)"),
        ("duckdb", "[x FOR x IN doc]"),
        ("postgresql", "$1"),
        ("postgresql", "%s"),
        ("postgresql", "%(p0)s"),
        ("postgresql", "@ a"),
        ("postgresql", "a ?"),
        ("mysql", "@x"),
        ("mysql", "@@version"),
        ("mysql", "@x := 1"),
        ("mysql", "$$x$$"),
        ("mysql", "INTERVAL(a, 1, 2)"),
        ("mysql", "a INTO OUTFILE 'x'"),
        ("postgresql", '"MyFunction"(a)'),
    ],
)
def test_parameters_and_constructs_of_one_dialect_are_refused(on: str, text: str) -> None:
    with pytest.raises(FragmentError):
        parse(text, on)


@for_each("on", ["sqlite", "mysql"])
@for_each("text", ["a = b NOT IN (1)", "a NOT IN (1) = b", "a IS NOT NULL = b"])
def test_what_an_engine_would_group_in_its_own_way_needs_parentheses(text: str, on: str) -> None:
    with pytest.raises(FragmentError, match="put parentheses"):
        parse(text, on)


def test_sqlite_binds_concatenation_closer_than_the_parser_knows() -> None:
    with pytest.raises(FragmentError, match="put parentheses"):
        parse("a || b * 2", "sqlite")
    assert parse("a || (b * 2)", "sqlite").sql == '"t"."a" || ("t"."b" * 2)'


@for_each("text", ["DATE '2024-12-01'", "Name::date", "CAST(Name AS DATETIME)", "TIME '10:00'", 'CAST(Name AS "DATE")'])
def test_casts_to_moments_that_leave_the_year_on_sqlite_are_refused(text: str) -> None:
    with pytest.raises(FragmentError, match=r"write date\(x\)"):
        parse(text, "sqlite")


@for_each("text", ["Name ~ 'x'", "Name !~ 'x'", "Name ~* 'x'", "regexp_matches(Name, 'x') AND Name REGEXP 'x'"])
def test_operators_that_versions_of_duckdb_read_differently_are_refused(text: str) -> None:
    with pytest.raises(FragmentError, match=r"write regexp_full_match\(a, 'x'\) for the whole"):
        parse(text, "duckdb")


@pytest.mark.slow
@for_each("on", ENGINES)
@for_each(
    "text",
    [
        "(" * 5_000 + "1" + ")" * 5_000,
        "NOT " * 4_000 + "a",
        "ABS(" * 3_000 + "a" + ")" * 3_000,
        "CASE WHEN " * 900 + "a",
        "(SELECT " * 2_000,
        "a" + "::int" * 3_000,
        "-" * 9_999 + "1",
    ],
)
def test_deep_nesting_is_a_typed_error_or_an_answer(text: str, on: str) -> None:
    with contextlib.suppress(AnalyticsError):
        assert parse(text, on).sql


def test_a_long_flat_condition_is_accepted() -> None:
    assert parse(" OR ".join(f"a = {n}" for n in range(1_000)), slot=FragmentSlot.WHERE).sql.count(" OR ") == 999


def test_text_beyond_the_limit_is_refused_before_it_is_parsed() -> None:
    parser = FragmentParser(max_length=10)
    with pytest.raises(FragmentError, match="it has 11 characters; at most 10 are allowed"):
        parser.parse("a" * 11, spec=engine("sqlite"), slot=FragmentSlot.WHERE, place="where", names=NAMES)


def test_sub_queries_are_accepted_where_a_deployment_allows_them() -> None:
    allowed = parse("a IN (SELECT id FROM other WHERE kind = 'x')", allow_subqueries=True)
    assert allowed.sql == '"t"."a" IN (SELECT id FROM other WHERE kind = \'x\')'


@pytest.mark.parametrize("text", ["(DELETE FROM orders)", "(WITH x AS (DELETE FROM o RETURNING *) SELECT * FROM x)"])
def test_allowed_sub_queries_still_cannot_change_data(text: str) -> None:
    with pytest.raises(FragmentError):
        parse(text, "postgresql", allow_subqueries=True)


ROW_MAKERS = """
json_array_elements jsonb_array_elements json_array_elements_text jsonb_array_elements_text json_each jsonb_each
json_each_text jsonb_each_text json_tree json_object_keys jsonb_object_keys json_populate_recordset
jsonb_populate_recordset json_to_recordset jsonb_to_recordset jsonb_path_query regexp_split_to_table string_to_table
generate_subscripts posexplode posexplode_outer explode_outer inline_outer arrayjoin
"""
AGGREGATES = """
total json_group_array json_group_object jsonb_group_array jsonb_group_object every histogram product favg fsum
sumkahan kahan_sum mad entropy json_object_agg jsonb_object_agg xmlagg range_agg json_arrayagg
bitstring_agg listagg reservoir_quantile
"""


@for_each("name", ROW_MAKERS.split())
def test_each_function_that_makes_rows_reads_a_relation(name: str) -> None:
    with pytest.raises(SubqueryNotAllowedError):
        parse(f"{name}(doc)", "sqlite")


@for_each("name", AGGREGATES.split())
def test_each_aggregate_stays_out_of_conditions_on_rows(name: str) -> None:
    with pytest.raises(FragmentError, match=r"the aggregate .* is not allowed in a where"):
        parse(f"{name}(a) > 1", "sqlite", slot=FragmentSlot.WHERE)


@for_each(
    ("text", "message"),
    [
        ("a b c", "it is not one SQL expression: see 'b' in line 1, column 3"),
        ("a +\n(1", "it is not one SQL expression"),
        ("nosuch", "dataset 't' has no column 'nosuch'"),
        ("orders.nosuch", "dataset 't' has no column 'nosuch'"),
        ("other.a", "dataset 't' has no column 'other.a'"),
        ("shop.other.a", "dataset 't' has no column 'shop.other.a'"),
        ('"nosuch"', "write text in single quotes: 'nosuch'"),
    ],
)
def test_a_refusal_shows_the_place_and_the_name_as_it_was_written(text: str, message: str) -> None:
    with pytest.raises(AnalyticsError, match=f"^metric 'm': .*{message}"):
        parse(text, "postgresql")


@for_each("on", ["duckdb", "postgresql"])
@for_each("text", ["1 day ago", "1 day 02:00:00", "2 3 days", "P1D", "5q days", "-1 day -02:00"])
def test_an_interval_of_which_the_parser_would_take_a_part_is_refused(text: str, on: str) -> None:
    with pytest.raises(FragmentError, match=f"^metric 'm': the interval '{text}' is not one number and a unit; write"):
        parse(f"ts - INTERVAL '{text}'", on)


@for_each("on", ["duckdb", "postgresql"])
@for_each("text", ["1 day", " -1.5 days ", "+2 h", "1 year 2 months", "01:02:03", "1d", "x"])
def test_other_intervals_are_read(text: str, on: str) -> None:
    assert parse(f"ts - INTERVAL '{text}'", on).sql

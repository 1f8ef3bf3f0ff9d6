"""Which tables a query reads: CTE names hide tables only where they are visible."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from tests.support.cases import for_each
from tests.support.fragments import ENGINES, NAMES, engine, parse

from analytics_core._engine.compile.fragments.parser import FragmentParser, FragmentSlot
from analytics_core._engine.compile.relation import TableRef
from analytics_core._engine.gate.guard import check_select, check_statement
from analytics_core._engine.gate.relations import tables_of
from analytics_core.errors import StatementRefusedError, SubqueryNotAllowedError, VirtualDatasetError


def _tables(sql: str, on: str = "postgresql") -> list[str]:
    spec = engine(on)
    source = check_select(sql, spec=spec, place="d")
    assert source.tree is not None
    return [str(table) for table in tables_of(source.tree, spec)]


@for_each("on", ENGINES)
@for_each(
    ("sql", "tables"),
    [
        ("SELECT 1", []),
        ("SELECT * FROM a", ["a"]),
        ("SELECT * FROM a, b JOIN c ON 1 = 1", ["a", "b", "c"]),
        ("SELECT * FROM a AS b", ["a"]),
        ("SELECT * FROM a UNION SELECT * FROM b", ["a", "b"]),
        ("SELECT * FROM a WHERE x IN (SELECT y FROM b WHERE EXISTS (SELECT 1 FROM c))", ["a", "b", "c"]),
        ("SELECT (SELECT 1 FROM b) FROM a ORDER BY (SELECT 1 FROM c)", ["a", "b", "c"]),
        ("SELECT * FROM (SELECT * FROM a) AS a", ["a"]),
        ("WITH x AS (SELECT * FROM a) SELECT * FROM x", ["a"]),
        ("WITH a AS (SELECT * FROM a) SELECT * FROM a", ["a"]),
        ("WITH a AS (SELECT * FROM b) SELECT * FROM a", ["b"]),
        ("WITH a AS (SELECT * FROM b), c AS (SELECT * FROM a) SELECT * FROM c", ["b"]),
        ("WITH a AS (SELECT 1) SELECT * FROM s.a", ["s.a"]),
        ("WITH a AS (SELECT 1 AS x) SELECT * FROM a JOIN s.a AS b ON 1 = 1", ["s.a"]),
        ("SELECT * FROM (WITH a AS (SELECT 1 AS x) SELECT * FROM a) AS q JOIN a ON 1 = 1", ["a"]),
        (
            "SELECT * FROM b WHERE x IN (WITH a AS (SELECT 1 AS x) SELECT x FROM a) AND y IN (SELECT y FROM a)",
            ["a", "b"],
        ),
        ("WITH RECURSIVE r AS (SELECT n FROM a UNION ALL SELECT n + 1 FROM r) SELECT * FROM r", ["a"]),
    ],
)
def test_tables_are_found_with_the_scopes_of_sql(sql: str, tables: list[str], on: str) -> None:
    assert _tables(sql, on) == tables


def test_a_common_name_of_another_case_hides_as_the_engine_says() -> None:
    assert _tables("WITH Recent AS (SELECT * FROM orders) SELECT * FROM recent") == ["orders"]
    assert _tables('WITH "Recent" AS (SELECT * FROM orders) SELECT * FROM recent') == ["orders", "recent"]


@for_each(
    ("on", "sql", "tables"),
    [
        ("postgresql", "WITH c AS (SELECT 1 AS id) SELECT b.id FROM c AS a CROSS JOIN a AS b", ["a"]),
        ("postgresql", "WITH c AS (SELECT 1 AS id) SELECT b.id FROM c AS a, a AS b", ["a"]),
        ("postgresql", "WITH c AS (SELECT * FROM d), d AS (SELECT 1 AS x) SELECT * FROM c", ["d"]),
        ("duckdb", "WITH RECURSIVE a AS (SELECT x FROM a UNION ALL SELECT x FROM a) SELECT * FROM a", ["a"]),
        ("duckdb", "WITH RECURSIVE a AS (SELECT x FROM a) SELECT * FROM a", ["a"]),
        (
            "duckdb",
            "WITH RECURSIVE a AS (SELECT 1 AS x UNION ALL SELECT x FROM (SELECT x FROM a) AS q) SELECT * FROM a",
            [],
        ),
        ("duckdb", "WITH RECURSIVE a AS (SELECT 1 AS x UNION BY NAME SELECT x FROM a) SELECT * FROM a", ["a"]),
        ("duckdb", "WITH RECURSIVE a AS (SELECT 1 AS x INTERSECT SELECT x FROM a) SELECT * FROM a", ["a"]),
        ("duckdb", "WITH RECURSIVE a AS (SELECT 1 AS x EXCEPT SELECT x FROM a) SELECT * FROM a", ["a"]),
        ("clickhouse", "WITH 1 AS a SELECT x FROM a", ["a"]),
        ("clickhouse", "WITH (SELECT 1) AS a SELECT x FROM a", ["a"]),
        ("clickhouse", "WITH a AS (SELECT 1 AS x) SELECT x FROM a", []),
        ("sqlite", 'WITH "\u00c4" AS (SELECT 1 AS x) SELECT * FROM "\u00e4"', ["\u00e4"]),
        ("sqlite", 'WITH "\u00e4" AS (SELECT 1 AS x) SELECT * FROM "\u00e4"', []),
        ("sqlite", 'WITH "A" AS (SELECT 1 AS x) SELECT * FROM a', []),
        ("mysql", "WITH A AS (SELECT 1 AS x) SELECT * FROM a", ["a"]),
        ("postgresql", 'WITH a AS (SELECT 1 AS x) SELECT * FROM "A"', ["A"]),
        (
            "postgresql",
            "WITH a AS (SELECT 1 AS x) SELECT * FROM (WITH b AS (SELECT * FROM a) SELECT * FROM b) AS q",
            [],
        ),
        ("mysql", "WITH a AS (SELECT 1 AS x) SELECT * FROM (WITH b AS (SELECT * FROM a) SELECT * FROM b) AS q", []),
        ("mysql", "WITH a AS (SELECT 1 AS x) SELECT (WITH a AS (SELECT x FROM a) SELECT x FROM a)", []),
        ("mysql", "WITH a AS (SELECT 1 AS x), c AS (WITH b AS (SELECT x FROM a) SELECT x FROM b) SELECT x FROM c", []),
        ("mysql", "WITH a AS (SELECT 1 AS x) SELECT x FROM (SELECT x FROM a) AS q", []),
    ],
)
def test_in_doubt_a_name_is_a_table(on: str, sql: str, tables: list[str]) -> None:
    assert _tables(sql, on) == tables


@for_each(
    ("sql", "sent"),
    [
        ("WITH a AS (SELECT 1 AS x) SELECT x FROM a", "WITH a AS (SELECT 1 AS x) SELECT x FROM a"),
        (
            "WITH a AS (SELECT * FROM a) SELECT a.x, b.x FROM a, a AS b",
            "WITH `a clause 1` AS (SELECT * FROM a) SELECT a.x, b.x FROM `a clause 1` AS a, `a clause 1` AS b",
        ),
        (
            "WITH a AS (SELECT 1 AS x) SELECT x FROM (WITH b AS (SELECT x FROM a) SELECT x FROM b) AS q",
            "WITH `a clause 2` AS (SELECT 1 AS x) SELECT x FROM (WITH `b clause 1` AS "
            "(SELECT x FROM `a clause 2` AS a) SELECT x FROM `b clause 1` AS b) AS q",
        ),
        (
            "WITH a AS (WITH a AS (SELECT x FROM a) SELECT x FROM a) SELECT x FROM a",
            "WITH `a clause 1` AS (WITH `a clause 2` AS (SELECT x FROM a) SELECT x FROM `a clause 2` AS a) "
            "SELECT x FROM `a clause 1` AS a",
        ),
        (
            "WITH RECURSIVE a AS (SELECT x FROM a UNION SELECT a.x + 1 FROM a) SELECT x FROM a",
            "WITH RECURSIVE `a clause 1` AS (SELECT x FROM a UNION SELECT a.x + 1 FROM `a clause 1` AS a) "
            "SELECT x FROM `a clause 1` AS a",
        ),
    ],
)
def test_a_clause_that_mariadb_could_take_for_a_table_is_sent_by_another_name(sql: str, sent: str) -> None:
    assert check_select(sql, spec=engine("mysql"), place="d").sql == sent
    assert check_select(sql, spec=engine("postgresql"), place="d").sql == sql


def test_a_table_after_in_is_refused_where_it_would_be_read() -> None:
    with pytest.raises(StatementRefusedError, match="write IN"):
        _tables("SELECT a FROM b WHERE a IN secret", "sqlite")
    assert _tables("SELECT a FROM b WHERE a IN (SELECT x FROM secret)", "sqlite") == ["b", "secret"]
    assert _tables("SELECT a FROM b WHERE a IN ('secret')", "sqlite") == ["b"]


@for_each("member", ["secret", "(secret)", "d.secret", "`d`.`secret`", "a.b.c.d.e", "+secret", "(secret AS z)"])
def test_a_name_alone_after_in_is_refused_where_it_could_be_a_table(member: str) -> None:
    """ClickHouse reads the table, without its row rules, where no column has the name."""
    for sql in (f"SELECT a FROM b WHERE a IN ({member})", f"SELECT countIf(NOT a GLOBAL IN ({member})) FROM b"):
        with pytest.raises(StatementRefusedError, match="a name alone after IN could be a table"):
            _tables(sql, "clickhouse")
    assert _tables("SELECT a FROM b WHERE a IN (c, d) AND a IN (1) AND a IN (lower(c))", "clickhouse") == ["b"]
    assert _tables("SELECT a FROM b WHERE a IN (c)", "sqlite") == _tables("SELECT a FROM b WHERE a IN (c)", "duckdb")


@for_each("call", ["aiGenerate(a)", "AIEmbed(a)", "fullHostName()", "authUser()", "query_id()", "logTrace('x')"])
def test_newer_functions_and_other_names_of_denied_ones_are_refused(call: str) -> None:
    """Of ClickHouse 26.9: they reach the network, the log, or tell of the server and the session."""
    with pytest.raises(StatementRefusedError, match="not allowed"):
        _tables(f"SELECT {call} FROM b", "clickhouse")


def test_a_table_in_the_place_of_rows_or_of_a_list_is_refused() -> None:
    for sql in ("SELECT * FROM TABLE('secret')", "SELECT * FROM TABLE(secret)"):
        with pytest.raises(StatementRefusedError, match="without it"):
            _tables(sql, "snowflake")
    with pytest.raises(StatementRefusedError, match="table function my_rows"):
        _tables("SELECT * FROM TABLE(my_rows(1))", "snowflake")
    assert _tables("SELECT * FROM TABLE(GENERATOR(ROWCOUNT => 3))", "snowflake") == []
    for call in ("`in`", '"in"', "globalIn", "notIn", "nullIn"):
        with pytest.raises(StatementRefusedError, match="not allowed"):
            _tables(f"SELECT {call}(x, secret) FROM a", "clickhouse")
    assert _tables("SELECT x NOT IN (1, 2), x GLOBAL IN (SELECT y FROM b) FROM a", "clickhouse") == ["a", "b"]


def test_files_are_refused_where_their_paths_are_relations() -> None:
    for sql in ("SELECT * FROM delta.`s3://lake/sales`", "SELECT * FROM parquet.`/lake/sales`"):
        with pytest.raises(StatementRefusedError, match="reads files by such a name"):
            _tables(sql, "databricks")
        with pytest.raises(StatementRefusedError, match="is a file"):
            _tables(sql, "spark")


INVISIBLE = [*map(chr, range(0x2000, 0x2010)), "\u202f", "\u205f", "\u2060", "\u3000", "\ufeff"]
"""DuckDB takes most of them for blanks, and the tokenizer some of them for letters."""


@for_each("on", ["duckdb", "sqlite", "postgresql", "mysql"])
def test_no_name_takes_in_characters_that_an_engine_passes_over(on: str) -> None:
    spec = engine(on)
    for sign in INVISIBLE:
        for sql in (f"SELECT * FROM orders{sign}", f"SELECT getenv{sign}('HOME') FROM {sign}orders"):
            with suppress(VirtualDatasetError, StatementRefusedError):
                assert check_select(sql, spec=spec, place="d").sql.isascii()  # a blank for the tokenizer, too
    with pytest.raises(VirtualDatasetError, match=r"'orders\\u200b' holds a character that cannot be seen"):
        check_select("SELECT * FROM orders\u200b", spec=spec, place="d")
    quoted = "`a\u200b`" if on == "mysql" else '"a\u200b"'
    assert check_select(f"SELECT 'x\u200by' AS {quoted} FROM orders", spec=spec, place="d").sql.count("\u200b") == 2


def test_names_are_told_as_they_are_written() -> None:
    assert _tables('SELECT * FROM "Shop"."Orders" JOIN Catalog.shop.Lines ON 1 = 1') == [
        "Catalog.shop.Lines",
        "Shop.Orders",
    ]


def test_a_reference_holds_its_parts() -> None:
    spec = engine("postgresql")
    tree = check_select("SELECT * FROM c.s.t", spec=spec, place="d").tree
    assert tree is not None
    assert tables_of(tree, spec) == (TableRef(table="t", schema="s", catalog="c"),)


def test_catalog_views_are_relations_like_any_other() -> None:
    assert _tables("SELECT * FROM information_schema.tables, pg_catalog.pg_user") == [
        "information_schema.tables",
        "pg_catalog.pg_user",
    ]


@for_each(
    ("on", "sql", "tables"),
    [
        ("postgresql", "SELECT * FROM a, LATERAL (SELECT * FROM b WHERE b.x = a.x) AS q", ["a", "b"]),
        ("postgresql", "SELECT * FROM a CROSS JOIN generate_series(1, 3)", ["a"]),
        ("postgresql", "SELECT * FROM a, jsonb_array_elements(a.doc)", ["a"]),
        ("postgresql", "TABLE a", ["a"]),
        ("sqlite", "SELECT * FROM a, json_each(a.doc)", ["a"]),
        ("duckdb", "FROM a", ["a"]),
        ("duckdb", "PIVOT a ON x IN (1) USING SUM(y)", ["a"]),
        ("duckdb", "UNPIVOT (SELECT * FROM a JOIN b USING (x)) ON y, z", ["a", "b"]),
        ("duckdb", "WITH a AS (SELECT * FROM a) PIVOT a ON x IN ((SELECT 1 FROM b)) USING SUM(y)", ["a", "b"]),
        ("duckdb", "SELECT * FROM a, unnest(a.xs)", ["a"]),
        ("duckdb", "SELECT * FROM range(3)", []),
        ("duckdb", "SELECT * FROM a ASOF JOIN b USING (x)", ["a", "b"]),
        ("mysql", "SELECT * FROM a STRAIGHT_JOIN b", ["a", "b"]),
    ],
)
def test_each_dialects_ways_to_read_are_known(on: str, sql: str, tables: list[str]) -> None:
    assert _tables(sql, on) == tables


ROW_MAKERS = {
    "postgresql": (
        *("generate_series", "generate_subscripts", "unnest", "json_each", "jsonb_each", "json_each_text"),
        *("jsonb_each_text", "json_array_elements", "json_array_elements_text", "jsonb_array_elements"),
        *("jsonb_array_elements_text", "json_object_keys", "jsonb_object_keys", "json_to_recordset"),
        *("jsonb_to_recordset", "json_populate_recordset", "jsonb_populate_recordset", "jsonb_path_query"),
        *("regexp_matches", "regexp_split_to_table", "string_to_table"),
    ),
    "duckdb": ("generate_series", "range", "unnest", "json_each", "json_tree"),
    "sqlite": ("json_each", "json_tree", "generate_series"),
    "mysql": ("json_table",),
}


def test_functions_that_make_rows_of_values_read_no_table() -> None:
    for on, names in ROW_MAKERS.items():
        for name in names:
            assert _tables(f"SELECT * FROM a, {name}('[1]', 2) AS t", on) == ["a"], (on, name)


@pytest.mark.parametrize("name", ["my_function", "execute_sql", "remote"])
def test_a_table_function_nobody_knows_is_refused(name: str) -> None:
    with pytest.raises(StatementRefusedError, match=f"the table function {name} is not allowed"):
        _tables(f"SELECT * FROM {name}('x')")


def test_the_tables_of_a_fragments_sub_query_are_found() -> None:
    tree = parse("a IN (SELECT id FROM secret)", allow_subqueries=True).tree
    assert tree is not None
    assert [str(table) for table in tables_of(tree, engine("sqlite"))] == ["secret"]


def test_a_plain_statement_is_a_query_unless_changes_are_allowed() -> None:
    spec = engine("postgresql")
    assert check_statement("SELECT * FROM a", spec=spec).changes_data is False
    with pytest.raises(StatementRefusedError):
        check_statement("DELETE FROM a", spec=spec)
    allowed = check_statement("DELETE FROM a WHERE x IN (SELECT x FROM b)", spec=spec, allow_dml=True)
    assert (allowed.changes_data, [str(t) for t in allowed.tables]) == (True, ["a", "b"])


@for_each(
    "sql",
    [
        "SET x = 1",
        "CALL f()",
        "COPY a TO 'x'",
        "GRANT ALL ON a TO b",
        "CREATE FUNCTION f() RETURNS INT AS 'x'",
        "VACUUM",
    ],
)
def test_changes_allowed_does_not_mean_everything(sql: str) -> None:
    with pytest.raises(StatementRefusedError):
        check_statement(sql, spec=engine("postgresql"), allow_dml=True)


def test_an_engine_names_its_own_functions_that_make_rows() -> None:
    plain = engine("sqlite")
    own = replace(plain, guards=replace(plain.guards, row_makers=frozenset({"pond_days"})))
    sql = "SELECT * FROM pond_days(3)"
    with pytest.raises(StatementRefusedError, match="the table function pond_days is not allowed"):
        check_select(sql, spec=plain, place="d")
    assert check_select(sql, spec=own, place="d").sql.lower() == sql.lower()
    with pytest.raises(SubqueryNotAllowedError):
        FragmentParser().parse("pond_days(3)", spec=own, slot=FragmentSlot.METRIC, place="m", names=NAMES)


def test_the_name_of_a_with_clause_may_be_longer_than_that_of_a_table() -> None:
    name, spec = "a" * 100, engine("postgresql")
    assert (
        check_select(f"WITH {name} AS (SELECT 1 AS n) SELECT * FROM {name}", spec=spec, place="d").sql.count(name) == 2
    )
    with pytest.raises(StatementRefusedError, match="more than 63 bytes"):
        check_select(f"SELECT * FROM b, {name}", spec=spec, place="d")
    with pytest.raises(StatementRefusedError, match="more than 63 bytes"):
        check_select(f"SELECT * FROM (WITH {name} AS (SELECT 1 AS n) SELECT 1 AS m) AS q, {name}", spec=spec, place="d")

"""What is safe beside a row rule, which form of fence a statement gets, and what explain says of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from sqlglot import parse_one
from tests.support.cases import for_each
from tests.support.golden_payloads import JUNE, SUM, aggregate, item
from tests.support.planning import COLUMNS, ENGINES, plan, spec_of, statement, stored, view_of

from analytics_core._engine.compile.explanation import explain_plan
from analytics_core._engine.compile.fence import (
    FenceForm,
    Safety,
    fence_of_plan,
    fence_of_series,
    fences_relations,
)
from analytics_core._engine.compile.plain_sql import is_plain_query
from analytics_core._engine.compile.plan import (
    AggregateExpr,
    AllOf,
    AnyOf,
    BucketExpr,
    ColumnExpr,
    Compare,
    Comparison,
    FragmentExpr,
    InOthersExpr,
    InValues,
    IsNull,
    IsTruth,
    Match,
    RelationRule,
    Within,
)
from analytics_core._engine.compile.render import relation_sql
from analytics_core._engine.engines.types import Collation, NumberRange, TimeEncoding, TimeFormat, ValueKind
from analytics_core._engine.gate.guard import check_select
from analytics_core._records.people import RowFilter
from analytics_core.models.enums import Aggregate, TimeGrain

RULE = RowFilter(name="own", clause="country = 'DE'")
TRIED = ("postgresql", "mysql", "duckdb", "sqlite")
DERIVED = ("mysql", "duckdb", "sqlite")
STORED = {"price": "DECIMAL(6, 2)", "city": "TEXT"}
FRAGMENT = {"label": "f", "sqlExpression": "LN(id)"}


def form(query: dict[str, Any], engine: str, **options: Any) -> FenceForm:
    """Return the form of the fence of a query under the rule."""
    made = plan(query, view=options.pop("view", None) or view_of(engine), row_filters=[RULE])
    return fence_of_plan(made, spec_of(engine)).form


SAFE = [
    item("city", "==", "Bonn"),
    item("city", "IN", ["Bonn", None]),
    item("city", "NOT IN", ["Bonn"]),
    item("city", "IS NULL"),
    item("city", "LIKE", "B%"),
    item("city", "NOT ILIKE", "%x%"),
    item("quantity", ">=", 5),
    item("quantity", ">", 2.5),
    item("price", "<=", "9.99"),
    item("price", "<=", "9.999"),
    item("weight", "<", 0.5),
    item("is_paid", "IS TRUE"),
    item("is_paid", "==", True),
    item("ordered_at", "TEMPORAL_RANGE", JUNE),
    item("ordered_at", ">=", "2024-01-31"),
    item("shipped_on", "TEMPORAL_RANGE", JUNE),
    item("epoch", "TEMPORAL_RANGE", JUNE),
    item("epoch", "==", "2024-01-31"),
    item("day_text", "TEMPORAL_RANGE", JUNE),
    item("Land", "!=", "FR"),
]


@pytest.mark.slow
@for_each("engine", ENGINES.names())
@for_each("safe", SAFE, ids=str)
def test_a_comparison_of_a_plain_column_needs_no_fence(safe: dict[str, Any], engine: str) -> None:
    if engine not in TRIED and safe["col"] == "price":
        return  # nothing is known there of the digits that a DECIMAL holds
    assert form({"metrics": ["orders"], "filters": [safe]}, engine) is FenceForm.NONE


UNSAFE = [
    {"extras": {"where": "LN(id) > 0"}},
    {"filters": [item(FRAGMENT, "==", 1)]},
    {"filters": [item("growth", ">", 1)]},
    {"filters": [item("thing", "==", "unknown kind")]},
    {"filters": [item("quantity", "LIKE", "1%")]},
    {"filters": [item("city", "LIKE", "B\\")]},
    {"filters": [item("ordered_at", "==", "2024-01-01", grain="P1M")]},
    {"extras": {"having": "MAX(LN(quantity)) > 0"}},
]


@for_each("engine", TRIED)
@for_each("unsafe", UNSAFE, ids=str)
def test_what_may_fail_on_a_row_is_tested_on_permitted_rows(unsafe: dict[str, Any], engine: str) -> None:
    found = form({"metrics": ["orders"], **unsafe}, engine)
    guarded = engine == "postgresql" and "having" not in unsafe.get("extras", {})
    assert found is (FenceForm.CASE if guarded else FenceForm.TABLE)


COMPUTED = [
    {"columns": ["growth"], "metrics": ["orders"]},
    {"columns": [FRAGMENT]},
    {"metrics": ["entropy"]},
    {"metrics": [{"expressionType": "SQL", "sqlExpression": "SUM(LN(id))", "label": "x"}]},
    {"metrics": [aggregate("SUM", "growth")]},
    {"columns": ["id"], "orderby": [[FRAGMENT, True]]},
    {"columns": [{"columnType": "BASE_AXIS", "sqlExpression": "epoch", "timeGrain": "P1M"}], "metrics": ["orders"]},
]


@for_each("engine", TRIED)
@for_each("query", COMPUTED, ids=str)
def test_what_is_computed_needs_a_fence_where_engines_compute_early(query: dict[str, Any], engine: str) -> None:
    assert form(query, engine) is (FenceForm.TABLE if engine in DERIVED else FenceForm.NONE)


PLAIN = [
    {"columns": ["id", "city"]},
    {"columns": ["city"], "metrics": ["orders", SUM, aggregate("AVG", "price"), aggregate("COUNT_DISTINCT", "city")]},
    {"metrics": [{"expressionType": "SQL", "sqlExpression": "SUM(price) / COUNT(*)", "label": "x"}]},
    {"metrics": ["orders"], "extras": {"having": "COUNT(*) > 1 AND MAX(price) < 9"}},
    {
        "columns": [{"columnType": "BASE_AXIS", "sqlExpression": "ordered_at", "timeGrain": "P1M"}],
        "metrics": ["orders"],
    },
    {"columns": ["city"], "metrics": ["orders"], "orderby": [["orders", False]], "filters": [item("orders", ">", 1)]},
    {"columns": ["city"], "metrics": ["orders"], "series_columns": ["city"], "series_limit": 3},
    {
        "columns": ["city"],
        "metrics": ["orders"],
        "series_columns": ["city"],
        "series_limit": 3,
        "group_others_when_limit_reached": True,
    },
    {"metrics": [{"expressionType": "SQL", "sqlExpression": "COUNT(DISTINCT city)", "label": "x"}]},
    {"metrics": ["orders"], "filters": [item("ordered_at", "!=", 1_717_200_000_000)]},
]


@pytest.mark.slow
@for_each("engine", ENGINES.names())
@for_each("query", PLAIN, ids=str)
def test_plain_columns_and_metrics_keep_their_statement(query: dict[str, Any], engine: str) -> None:
    if engine == "druid" and "series_limit" in query:
        return  # it joins nothing
    assert form(query, engine) is FenceForm.NONE
    assert statement(query, engine, row_filters=[RULE]).display_sql.count("'DE'") == 1 + ("series_limit" in query)


SERIES = {"columns": ["city"], "metrics": ["orders"], "series_columns": ["city"], "series_limit": 3}


@pytest.mark.parametrize("engine", TRIED)
def test_series_that_are_computed_are_joined_behind_the_fence(engine: str) -> None:
    assert form({**SERIES, "columns": ["growth"], "series_columns": ["growth"]}, engine) is FenceForm.TABLE


@for_each("engine", DERIVED)
@for_each(
    ("metric", "expected"), [("orders", FenceForm.NONE), ("turnover", FenceForm.NONE), ("entropy", FenceForm.TABLE)]
)
def test_what_chooses_the_best_series_is_computed_of_permitted_rows(
    metric: str, expected: FenceForm, engine: str
) -> None:
    made = plan({**SERIES, "series_limit_metric": metric}, view=view_of(engine), row_filters=[RULE])
    assert made.series_limit is not None
    assert fence_of_series(made, made.series_limit, spec_of(engine)).form is expected


@for_each("engine", TRIED)
@for_each(
    ("query", "expected"),
    [
        (SERIES, False),
        ({**SERIES, "extras": {"having": "COUNT(*) > 1"}}, False),
        ({**SERIES, "extras": {"having": "MAX(LN(quantity)) > 0"}}, True),
        ({**SERIES, "extras": {"where": "LN(id) > 0"}}, True),
        ({**SERIES, "series_limit_metric": "entropy"}, True),
        ({**SERIES, "orderby": [["entropy", False]]}, True),
    ],
    ids=str,
)
def test_rules_inside_a_virtual_dataset_stand_behind_fences_where_something_around_it_may_fail(
    query: dict[str, Any], expected: bool, engine: str
) -> None:
    source = check_select("SELECT * FROM orders", spec=spec_of(engine), place="d")
    made = plan(
        query, view=view_of(engine, replace(source, rules=(RelationRule(position=0, relation="orders", clauses=()),)))
    )
    assert fences_relations(made, spec_of(engine)) is expected


@pytest.mark.parametrize("engine", TRIED)
def test_without_rules_there_is_no_fence(engine: str) -> None:
    made = plan({"columns": [FRAGMENT], "extras": {"where": "LN(id) > 0"}}, view=view_of(engine))
    assert fence_of_plan(made, spec_of(engine)).form is FenceForm.NONE


def test_only_what_is_needed_is_read_through_a_derived_table() -> None:
    query = {"columns": ["city"], "metrics": ["turnover"], "extras": {"where": "LN(id) > 0"}}
    found = fence_of_plan(plan(query, row_filters=[RULE]), spec_of("sqlite"))
    assert found.columns == ("city", "price", "quantity", "id")
    counted = fence_of_plan(
        plan({"metrics": ["orders"], "extras": {"where": "LN(1) = 1"}}, row_filters=[RULE]), spec_of("sqlite")
    )
    assert counted.columns == ()


# --------------------------------------------------------------------------------------------- computed and misdeclared
@pytest.mark.slow
@for_each("engine", ENGINES.names())
@for_each("query", [*({"columns": ["id"], "filters": [item]} for item in SAFE), *PLAIN[:2]], ids=str)
def test_what_a_view_computes_is_not_safe(query: dict[str, Any], engine: str) -> None:
    if query in PLAIN and engine == "postgresql":
        return  # there it is computed after the rule was tested
    assert form(query, engine, view=view_of(engine, columns=COLUMNS)) is not FenceForm.NONE


@for_each("engine", DERIVED)
@for_each(
    "query",
    [
        {"columns": ["city"]},
        {"metrics": [aggregate("MAX", "city")]},
        {"metrics": [{"expressionType": "SQL", "sqlExpression": "MAX(city)", "label": "x"}]},
        {"columns": ["id"], "orderby": [["city", True]]},
    ],
    ids=str,
)
def test_what_is_computed_beside_stored_columns_is_not_safe(query: dict[str, Any], engine: str) -> None:
    assert form(query, engine) is FenceForm.NONE
    columns = [replace(c, stored_type=None) if c.column_name == "city" else c for c in stored(COLUMNS)]
    assert form(query, engine, view=view_of(engine, columns=columns)) is FenceForm.TABLE


@pytest.mark.slow
@for_each("engine", ENGINES.names())
@for_each("safe", SAFE, ids=str)
def test_a_column_that_a_table_computes_is_not_safe_beside_stored_ones(safe: dict[str, Any], engine: str) -> None:
    view = view_of(engine)
    known = {name: kind for name, kind in view.stored.items() if name != view.find_column(safe["col"])}
    found = form({"columns": ["id"], "filters": [safe]}, engine, view=replace(view, stored=known))
    assert found is not FenceForm.NONE


@pytest.mark.parametrize("engine", DERIVED)
def test_the_first_moment_of_texts_that_must_be_read_is_computed(engine: str) -> None:
    written = (replace(c, python_date_format="%d/%m/%Y") if c.column_name == "day_text" else c for c in COLUMNS)
    view = view_of(engine, columns=stored(tuple(written)))
    assert form({"metrics": [aggregate("MIN", "day_text")]}, engine, view=view) is FenceForm.TABLE


CAST = [item("quantity", ">=", 5), item("ordered_at", "TEMPORAL_RANGE", JUNE), item("is_paid", "IS TRUE")]
READ_AS_DECLARED = ("duckdb", "mysql", "postgresql", "sqlite")


@for_each("engine", ENGINES.names())
@for_each("cast", CAST, ids=str)
def test_only_the_type_that_the_database_told_is_believed_where_columns_are_cast(
    cast: dict[str, Any], engine: str
) -> None:
    declared = view_of(engine)
    types = {name: "VARCHAR(20)" if name == cast["col"] else known for name, known in declared.stored.items()}
    query = {"metrics": ["orders"], "filters": [cast]}
    assert form(query, engine, view=declared) is FenceForm.NONE
    found = form(query, engine, view=replace(declared, stored=types))
    assert found is (FenceForm.NONE if engine in READ_AS_DECLARED else FenceForm.TABLE)


@pytest.mark.parametrize("rule_is_inside", [False, True])
def test_duckdb_compares_columns_as_declared_where_rules_bind_them(rule_is_inside: bool) -> None:
    query = {"metrics": ["orders"], "filters": [item("quantity", ">=", 5)]}
    assert "TRY_CAST" not in statement(query, "duckdb").sql
    view, row_filters = view_of("duckdb"), [RULE]
    if rule_is_inside:
        (clause,) = plan({"columns": ["id"]}, view=view, row_filters=row_filters).where
        source = check_select("SELECT * FROM orders", spec=view.spec, place="d")
        rule = RelationRule(position=0, relation="orders", clauses=(clause,))
        view, row_filters = view_of("duckdb", replace(source, rules=(rule,))), []
    assert "TRY_CAST" in statement(query, "duckdb", view=view, row_filters=row_filters).sql


def test_duckdb_reads_each_column_of_sql_without_a_fence_as_its_type() -> None:
    query = {
        "columns": ["size"],
        "metrics": [aggregate("SUM", "revenue"), "turnover"],
        "filters": [item("size", "==", "big")],
        "extras": {"where": "price * quantity > 100 AND city <> 'x' OR is_paid", "having": "SUM(price + weight) > 5"},
    }
    assert "CAST" not in statement(query, "duckdb").sql
    sql = statement(query, "duckdb", row_filters=[RULE]).sql
    assert "MATERIALIZED" not in sql
    columns = sql.replace('"orders"."country" = \'DE\'', "").count('"orders".')
    assert sql.count('TRY_CAST("orders".') == columns > 10


FENCE_MARKS = {"postgresql": "UNION ALL", "mysql": "LIMIT", "duckdb": "AS MATERIALIZED", "sqlite": "LIMIT -1"}


@pytest.mark.parametrize("engine", TRIED)
def test_what_a_template_takes_in_of_a_ruled_dataset_stands_behind_a_fence(engine: str) -> None:
    view, query = view_of(engine), {"columns": ["id", "city"], "row_limit": 0}
    assert FENCE_MARKS[engine] in relation_sql(plan(query, view=view, row_filters=[RULE]), view.spec)
    assert FENCE_MARKS[engine] not in relation_sql(plan(query, view=view), view.spec)
    (clause,) = plan(query, view=view, row_filters=[RULE]).where
    source = check_select("SELECT * FROM orders", spec=view.spec, place="d")
    inside = replace(source, rules=(RelationRule(position=0, relation="orders", clauses=(clause,)),))
    around = relation_sql(plan(query, view=view, row_filters=[RULE]), view.spec).count(FENCE_MARKS[engine])
    assert relation_sql(plan(query, view=view_of(engine, inside)), view.spec).count(FENCE_MARKS[engine]) > around


# ------------------------------------------------------------------------------------------------- unknown and large
class Strange:
    """A predicate that nobody thought of."""


@for_each("engine", ENGINES.names())
def test_an_unknown_kind_of_condition_or_expression_is_not_safe(engine: str) -> None:
    safety = Safety(spec=spec_of(engine), stored=STORED)
    assert not safety.of_condition(Strange())  # type: ignore[arg-type]
    assert not safety.of_expr(Strange())  # type: ignore[arg-type]
    assert not safety.of_groups(Strange())  # type: ignore[arg-type]


def test_a_decimal_that_would_widen_the_column_is_not_safe_where_columns_are_cast() -> None:
    numbers = NumberRange(low=-9999, high=9999, scale=2)
    known = ColumnExpr("price", ValueKind.DECIMAL, numbers=numbers, declared="DECIMAL(6, 2)")
    unknown = ColumnExpr("price", ValueKind.DECIMAL)
    for engine, column, value, is_safe in (
        ("duckdb", known, "1.25", True),
        ("duckdb", known, "0.0000000000000000000000000001", False),
        ("duckdb", unknown, "1.25", False),
        ("sqlite", unknown, "1.25", True),
    ):
        safety = Safety(spec=spec_of(engine), stored=STORED)
        assert safety.of_condition(Compare(column, Comparison.EQUAL, Decimal(value))) is is_safe


@pytest.mark.parametrize(("pattern", "is_safe"), [("a%", True), ("a\\", False), ("a\\\\", True), ("a\\\\\\", False)])
def test_a_pattern_that_ends_in_a_lone_escape_is_not_safe(pattern: str, is_safe: bool) -> None:
    safety = Safety(spec=spec_of("postgresql"), stored=STORED)
    assert safety.of_condition(Match(ColumnExpr("city", ValueKind.TEXT), pattern)) is is_safe


def test_like_is_not_safe_where_it_fails_on_every_row_of_a_collation() -> None:
    exact = ColumnExpr("city", ValueKind.TEXT, collation=Collation.EXACT)
    folded = ColumnExpr("city", ValueKind.TEXT, collation=Collation.FOLDED)
    for engine, is_safe in (("postgresql", False), ("mysql", True)):
        safety = Safety(spec=spec_of(engine), stored=STORED)
        assert safety.of_condition(Match(exact, "a%"))
        assert safety.of_condition(Match(folded, "a%")) is is_safe


def test_nothing_about_computed_columns_is_safe() -> None:
    safety = Safety(spec=spec_of("sqlite"), stored={})
    assert not safety.of_condition(Compare(ColumnExpr("city", ValueKind.TEXT), Comparison.EQUAL, "x"))
    assert not safety.of_expr(ColumnExpr("city", ValueKind.TEXT))


CITY, PRICE = ColumnExpr("city", ValueKind.TEXT, declared="TEXT"), ColumnExpr("price", ValueKind.DECIMAL)
PAID, OTHER = ColumnExpr("paid", ValueKind.BOOLEAN), ColumnExpr("other", ValueKind.OTHER)
AT = ColumnExpr("at", ValueKind.TIMESTAMP, None, TimeFormat(encoding=TimeEncoding.TIMESTAMP), declared="TIMESTAMP")
EPOCHS = TimeFormat(encoding=TimeEncoding.EPOCH_S, value_kind=ValueKind.INTEGER)
EPOCH = ColumnExpr("n", ValueKind.INTEGER, None, EPOCHS)
SAID = ColumnExpr("city", ValueKind.TEXT, None, TimeFormat(encoding=TimeEncoding.TEXT, strftime="%d/%m/%Y"))
MOMENT, GONE = datetime(2024, 5, 15), ColumnExpr("gone", ValueKind.TEXT)
ALL_STORED = {**STORED, "paid": "BOOLEAN", "other": "JSON", "at": "TIMESTAMP", "n": "INTEGER"}
EQUAL, SAFE_ONE, UNSAFE_ONE = Comparison.EQUAL, IsNull(CITY), IsNull(GONE)


@for_each(
    ("predicate", "is_safe"),
    [
        (Compare(CITY, EQUAL, "x"), True),
        (Compare(CITY, EQUAL, 1), False),
        (Compare(CITY, EQUAL, b"x"), False),  # type: ignore[arg-type]
        (Compare(CITY, EQUAL, MOMENT), False),
        (Compare(PRICE, EQUAL, 1), True),
        (Compare(PRICE, EQUAL, 1.5), False),
        (Compare(PRICE, EQUAL, "x"), False),
        (Compare(PRICE, EQUAL, True), False),
        (Compare(PAID, EQUAL, True), True),
        (Compare(EPOCH, EQUAL, 1.5), True),
        (Compare(EPOCH, EQUAL, MOMENT), True),
        (Compare(AT, EQUAL, MOMENT), True),
        (Compare(AT, Comparison.GREATER, MOMENT), True),
        (Compare(SAID, Comparison.GREATER, MOMENT), False),
        (Compare(GONE, EQUAL, "x"), False),
        (InValues(CITY, ("x", "y")), True),
        (InValues(CITY, ("x", 1)), False),
        (InValues(AT, (MOMENT,)), True),
        (InValues(CITY, (MOMENT,)), False),
        (InValues(GONE, ("x",)), False),
        (IsTruth(PAID, True), True),
        (IsTruth(PRICE, True), True),
        (IsTruth(CITY, True), False),
        (IsTruth(GONE, True), False),
        (Match(CITY, "x"), True),
        (Match(PRICE, "x"), False),
        (Match(GONE, "x"), False),
        (Within(AT, MOMENT, None), True),
        (Within(AT, None, MOMENT), True),
        (Within(SAID, MOMENT, None), False),
        (Within(CITY, MOMENT, None), False),
        (SAFE_ONE, True),
        (UNSAFE_ONE, False),
        (AnyOf((SAFE_ONE, SAFE_ONE)), True),
        (AnyOf((SAFE_ONE, UNSAFE_ONE)), False),
        (AllOf((UNSAFE_ONE, SAFE_ONE)), False),
    ],
    ids=str,
)
def test_each_kind_of_condition_says_whether_it_may_fail(predicate: Any, is_safe: bool) -> None:
    safety = Safety(spec=spec_of("postgresql"), stored=ALL_STORED)
    assert safety.of_condition(predicate) is is_safe


@for_each(
    ("expr", "is_safe"),
    [
        (CITY, True),
        (GONE, False),
        (InOthersExpr(), True),
        (BucketExpr(AT, TimeGrain.DAY), True),
        (BucketExpr(AT, TimeGrain.DAY, 2), False),
        (BucketExpr(SAID, TimeGrain.DAY), False),
        (AggregateExpr(Aggregate.SUM, PRICE), True),
        (AggregateExpr(Aggregate.AVG, PAID), True),
        (AggregateExpr(Aggregate.SUM, CITY), False),
        (AggregateExpr(Aggregate.MAX, CITY), True),
        (AggregateExpr(Aggregate.MAX, BucketExpr(AT, None)), True),
        (AggregateExpr(Aggregate.MAX, BucketExpr(SAID, None)), False),
        (FragmentExpr("1", tree=None), False),
        *(
            (FragmentExpr(sql, tree=parse_one(sql)), is_safe)
            for sql, is_safe in (
                ("COUNT(*)", True),
                ("COUNT(DISTINCT city)", True),
                ("COUNT(DISTINCT city, n)", False),
                ("SUM(price) / NULLIF(COUNT(*), 0)", True),
                ("SUM(price / 2)", False),
                ("MAX(price, n)", False),
                ("price", False),
                ("1", False),
                ("COUNT(*) + LOG(2)", False),
                ("SUM(gone)", False),
            )
        ),
    ],
    ids=str,
)
def test_each_kind_of_expression_says_whether_it_may_fail(expr: Any, is_safe: bool) -> None:
    safety = Safety(spec=spec_of("trino"), stored=ALL_STORED)
    assert safety.of_expr(expr) is is_safe


# -------------------------------------------------------------------------------------------------- virtual datasets
PLAIN_SQL = [
    "SELECT * FROM orders",
    "SELECT id, city AS c FROM shop.orders AS o WHERE o.city = 'x' AND NOT o.country IS NULL",
    "WITH q AS (SELECT * FROM orders) SELECT id FROM q",
    "SELECT city, COUNT(*) AS n, MAX(price) AS p FROM orders GROUP BY city ORDER BY city LIMIT 5",
    "SELECT id FROM orders WHERE TRUE",
    "SELECT DISTINCT city FROM (SELECT city FROM orders WHERE city IN ('a', 'b')) AS q",
]
PLAIN_WHERE_NO_COLUMN_IS_CAST = [
    "SELECT o.id FROM orders AS o JOIN tenants AS t ON o.tenant = t.id WHERE o.id > 5",
    "SELECT o.id FROM orders AS o LEFT JOIN tenants AS t USING (id)",
    "SELECT o.id FROM orders AS o NATURAL JOIN tenants AS t",
    "SELECT id FROM orders WHERE id BETWEEN 1 AND 5 OR id IN (7, 8)",
]
NOT_PLAIN_SQL = [
    "SELECT o.id FROM orders AS o JOIN tenants AS t ON o.is_paid",
    "SELECT o.id FROM orders AS o WHERE o.is_paid",
    "SELECT LN(id) AS x FROM orders",
    "SELECT UPPER(city) AS x FROM orders",
    "SELECT CAST(city AS INT) AS x FROM orders",
    "SELECT id FROM orders WHERE LN(id) > 0",
    "SELECT id FROM orders WHERE city LIKE 'x'",
    "SELECT id FROM orders WHERE is_paid",
    "SELECT id FROM orders WHERE id IN (SELECT id FROM orders)",
    "SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM orders)",
    "SELECT id FROM orders ORDER BY LN(id)",
    "SELECT o.id FROM orders AS o JOIN orders AS p ON 1 / o.id > p.id",
    "SELECT SUM(price) AS p FROM orders",
    "SELECT id FROM orders UNION ALL SELECT id FROM orders",
    "SELECT id, SUM(id) OVER () AS s FROM orders",
    "WITH RECURSIVE q AS (SELECT id FROM orders UNION ALL SELECT id FROM q) SELECT id FROM q",
    "SELECT CASE WHEN id > 1 THEN 1 END AS x FROM orders",
    "SELECT id FROM orders GROUP BY id HAVING LN(id) > 0",
]


@for_each("engine", ENGINES.names())
def test_sql_that_only_takes_stored_columns_is_plain(engine: str) -> None:
    spec = spec_of(engine)
    trees = [parse_one(sql) for sql in PLAIN_SQL]
    assert [tree.sql() for tree in trees if not is_plain_query(tree, spec)] == []
    trees = [parse_one(sql) for sql in PLAIN_WHERE_NO_COLUMN_IS_CAST]
    assert {is_plain_query(tree, spec) for tree in trees} == {not spec.guards.casts_columns}


@for_each("sql", NOT_PLAIN_SQL)
def test_sql_that_computes_something_is_not_plain(sql: str) -> None:
    assert not any(is_plain_query(parse_one(sql), spec_of(engine)) for engine in TRIED)
    assert not is_plain_query(None, spec_of("sqlite"))


@pytest.mark.parametrize("engine", TRIED)
def test_a_condition_on_a_computed_column_of_a_virtual_dataset_sees_permitted_rows_alone(engine: str) -> None:
    query = {"columns": ["id"], "filters": [item("city", "==", "x")]}
    plain = view_of(engine, check_select("SELECT * FROM orders", spec=spec_of(engine), place="d"))
    assert form(query, engine, view=plain) is FenceForm.NONE
    computed = view_of(engine, check_select("SELECT LN(id) AS city FROM orders", spec=spec_of(engine), place="d"))
    assert form(query, engine, view=computed) is (FenceForm.CASE if engine == "postgresql" else FenceForm.TABLE)


# ----------------------------------------------------------------------------------------------------------- explain
@pytest.mark.parametrize("engine", TRIED)
def test_explain_shows_the_fence_and_why_it_stands(engine: str) -> None:
    query = {"columns": ["city"], "extras": {"where": "LN(id) > 0"}, "filters": [item("quantity", ">=", 5)]}
    spec = spec_of(engine)
    (line,) = [
        c for c in explain_plan(plan(query, view=view_of(engine), row_filters=[RULE]), spec) if c.part == "fence"
    ]
    assert line.origin == "engine: row rules are tested before what may fail"
    assert line.sql in statement(query, engine, row_filters=[RULE]).display_sql
    safe = explain_plan(plan({**query, "extras": {}}, view=view_of(engine), row_filters=[RULE]), spec)
    conditions = [clause.sql for clause in safe if clause.part == "where"]
    assert [sql for sql in conditions if sql not in statement(query, engine, row_filters=[RULE]).display_sql] == []
    assert [clause for clause in safe if clause.part == "fence"] == []

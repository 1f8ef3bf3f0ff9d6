"""Plans become statements: what is bound, what is written, what is quoted, on every engine and without a database."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
import sqlglot
from sqlglot import exp
from tests.support.cases import for_each
from tests.support.golden_payloads import PAYLOADS, aggregate, item, rules_for, view_for
from tests.support.planning import (
    COLUMNS,
    ENGINES,
    bound_values,
    dataset,
    plan,
    query_of,
    scope_of,
    spec_of,
    statement,
    stored,
    view_of,
)

from analytics_core._engine.compile.explanation import explain_plan
from analytics_core._engine.compile.lowering.expressions import MARK, KnownTexts, aliases
from analytics_core._engine.compile.lowering.query import lower
from analytics_core._engine.compile.metrics import metric_label
from analytics_core._engine.compile.plan import FragmentExpr, RelationRule, TableSource
from analytics_core._engine.compile.planner import PlanRequest, plan_query
from analytics_core._engine.compile.planning_context import DatasetView, make_view
from analytics_core._engine.compile.render import compile_plan
from analytics_core._engine.compile.series_limit import plan_of_series
from analytics_core._engine.engines.spec import EngineSpec, ParamStyle
from analytics_core._engine.gate.guard import check_select
from analytics_core._records.datasource import DatasetColumn, DatasetMetric
from analytics_core._records.people import RowFilter
from analytics_core.errors import QueryError, UnsupportedByEngineError
from analytics_core.models.enums import TimeGrain

NAMES = ENGINES.names()
SERIES = {"columns": ["city"], "metrics": ["orders"], "series_columns": ["city"], "series_limit": 2}
JOINING = tuple(name for name in NAMES if spec_of(name).allows_joins)
MARKS = {
    ParamStyle.QMARK: r"\?",
    ParamStyle.NUMERIC_DOLLAR: r"\$p\d+",
    ParamStyle.PYFORMAT: r"%\(p\d+\)s",
    ParamStyle.NAMED: r":p\d+",
}
SECRETS = ("Zanzibar'; DROP TABLE orders --", "%(p0)s", "50%", ":p0", "?", "$p0", "\\", "{{ 7 * 7 }}")


def parsed(sql: str, engine: str) -> exp.Expr:
    return sqlglot.parse_one(sql, dialect=spec_of(engine).dialect)


def without_parentheses(tree: exp.Expr) -> exp.Expr:
    for paren in list(tree.find_all(exp.Paren)):
        paren.replace(paren.this)
    return tree


def readable(tree: exp.Expr, engine: str) -> str:
    """Return the text of a lowered tree with a literal for every bound value."""
    pieces = tree.sql(spec_of(engine).dialect).split(MARK)
    return "".join("'v'" if i % 2 else piece for i, piece in enumerate(pieces))


# ------------------------------------------------------------------------------------------------------------ values
@pytest.mark.slow
@for_each("engine", NAMES)
@for_each("value", SECRETS)
def test_a_value_is_bound_and_never_written(engine: str, value: str) -> None:
    for filter_ in (item("city", "==", value), item("city", "IN", [value, "x"]), item("city", ">", value)):
        made = statement({"metrics": ["orders"], "filters": [filter_]}, engine)
        assert value not in made.sql.replace("%%", "%") or re.fullmatch(MARKS[spec_of(engine).paramstyle], value)
        flat = [one for bound in bound_values(made) for one in (bound if isinstance(bound, list) else [bound])]
        assert value in flat


@for_each("engine", NAMES)
def test_numbers_and_moments_are_bound_too(engine: str) -> None:
    filters = [item("quantity", ">", 987654), item("weight", "<", 1234.5), item("ordered_at", ">=", "2031-05-07")]
    made = statement({"metrics": ["orders"], "filters": filters}, engine)
    for text in ("987654", "1234.5", "2031"):
        assert text not in made.sql
        assert text in made.display_sql
    near = 2 if engine == "sqlite" else 0  # the days beside the moment, by which an index serves
    assert len(bound_values(made)) == 3 + near


@for_each("engine", NAMES)
def test_values_are_counted_without_an_end_at_two_thousand_millions(engine: str) -> None:
    cities = {"expressionType": "SIMPLE", "aggregate": "COUNT", "column": {"column_name": "city"}, "label": "n"}
    sql = statement({"metrics": [cities]}, engine).sql
    assert sql.count("COUNT_BIG(" if engine == "mssql" else "COUNT(") == 1


@for_each("engine", ["sqlite", "duckdb", "postgresql", "mysql"])
@for_each("moments", [["2031-05-07"], ["2031-05-07", "2032-06-08"]])
def test_every_moment_of_a_list_is_bound_even_one_alone(engine: str, moments: list[str]) -> None:
    made = statement({"metrics": ["orders"], "filters": [item("ordered_at", "IN", moments)]}, engine)
    assert [str(value)[:10] for value in bound_values(made)] == moments


@pytest.mark.slow
@for_each("engine", NAMES)
def test_the_statement_has_a_mark_for_each_value_and_the_readable_one_has_none(engine: str) -> None:
    mark = MARKS[spec_of(engine).paramstyle]
    for name in set(PAYLOADS) - {"awkward values", "awkward labels", "patterns"}:  # their texts look like marks
        try:
            made = statement(PAYLOADS[name], view=view_for(name, engine), row_filters=rules_for(name))
        except UnsupportedByEngineError:
            continue
        assert len(re.findall(mark, made.sql)) == len(bound_values(made)), name
        assert not re.search(mark, made.display_sql), name
        assert MARK not in made.sql + made.display_sql


@for_each("engine", NAMES)
def test_percent_signs_of_labels_and_fragments_are_doubled_for_drivers_that_format(engine: str) -> None:
    query = {"columns": [{"label": "50%", "sqlExpression": "city"}], "extras": {"where": "city = 'a%b'"}}
    made = statement(query, engine)
    doubled = spec_of(engine).paramstyle is ParamStyle.PYFORMAT
    assert ("50%%" in made.sql, "a%%b" in made.sql) == (doubled, doubled)
    assert "50%%" not in made.display_sql


@pytest.mark.slow
@for_each("engine", NAMES)
def test_the_readable_statement_is_one_query_of_the_engine(engine: str) -> None:
    for name in PAYLOADS:
        try:
            made = statement(PAYLOADS[name], view=view_for(name, engine), row_filters=rules_for(name))
        except UnsupportedByEngineError:
            continue
        assert isinstance(parsed(made.display_sql, engine), exp.Select), name


# --------------------------------------------------------------------------------------------------- the same tree
@pytest.mark.slow
@for_each("engine", ["sqlite", "duckdb", "postgresql", "mysql"])
@for_each("name", list(PAYLOADS))
def test_what_was_written_reads_back_as_what_was_meant(engine: str, name: str) -> None:
    """Trees built from nodes get no parentheses of their own: with all of them it must read as the same tree."""
    made = plan(PAYLOADS[name], view=view_for(name, engine), row_filters=rules_for(name))
    tree, _ = lower(made, spec_of(engine))
    plain, closed = readable(tree, engine), readable(tree.transform(_close), engine)
    assert without_parentheses(parsed(plain, engine)) == without_parentheses(parsed(closed, engine))


def _close(node: exp.Expr) -> exp.Expr:
    return (
        exp.Paren(this=node) if isinstance(node, exp.Binary | exp.Not) and not isinstance(node, _NEVER_CLOSED) else node
    )


_NEVER_CLOSED = (exp.Dot, exp.Escape, exp.PropertyEQ, exp.Kwarg)


# ---------------------------------------------------------------------------------------------------- row rules
@for_each("engine", NAMES)
@for_each("where", ["LN(1) = 1 OR 2 = 2", "LN(id) > 1 -- ", "NOT LN(id) > 1 OR 1 = 1", "id = 1 OR LN(id) = 3"])
def test_no_condition_of_a_user_widens_a_row_rule(engine: str, where: str) -> None:
    rules = [RowFilter(name="eu", clause="country = 'EU' OR id = 7")]
    made = statement(
        {"columns": ["city"], "metrics": ["orders"], "extras": {"where": where}}, engine, row_filters=rules
    )
    tree = parsed(made.display_sql, engine)
    condition = tree.args["where"].this
    if engine == "postgresql":  # rules, and beside them a CASE that asks for them again
        assert isinstance(condition, exp.And)
        rule, (guard,) = condition.this, condition.expression.args["ifs"]
        assert guard.this == rule
        condition = guard.args["true"]
    else:  # a derived table of the permitted rows
        rule = next(w.this for w in tree.args["from_"].find_all(exp.Where))
    assert isinstance(rule, exp.Paren)
    assert isinstance(rule.this, exp.Or)
    assert rule.this.expression.expression.this == "7", "rules are tested before what a user writes"
    assert isinstance(condition, exp.Paren)
    assert "7" not in condition.sql()


@pytest.mark.parametrize("engine", ["duckdb", "mysql", "postgresql", "sqlite"])
@for_each("where", ["1 = 1 OR 2 = 2", "id > 1 -- ", "NOT id > 1 OR 1 = 1", "id = 1 OR id = 2 AND id = 3"])
def test_no_condition_that_fails_on_no_row_widens_a_row_rule(engine: str, where: str) -> None:
    rules = [RowFilter(name="eu", clause="country = 'EU' OR id = 7")]
    query = {"columns": ["city"], "metrics": ["orders"], "extras": {"where": where}}
    made = statement(query, engine, row_filters=rules)
    both = parsed(made.display_sql, engine).args["where"].this
    assert isinstance(both, exp.And)
    assert [type(both.this), type(both.expression)] == [exp.Paren, exp.Paren]
    assert isinstance(both.this.this, exp.Or)
    assert ["7" in side.sql() for side in (both.this, both.expression)].count(True) == 1


@for_each("engine", JOINING)
def test_row_rules_also_bind_the_choice_of_series_and_counts(engine: str) -> None:
    rules = [RowFilter(name="eu", clause="country = 'Lapland'")]
    assert statement(SERIES, engine, row_filters=rules).display_sql.count("'Lapland'") == 2
    others = {**SERIES, "group_others_when_limit_reached": True}
    assert statement(others, engine, row_filters=rules).display_sql.count("'Lapland'") == 2
    counted = {"columns": ["city"], "is_rowcount": True}
    assert statement(counted, engine, row_filters=rules).display_sql.count("'Lapland'") == 1


# --------------------------------------------------------------------------------------------------------- names
@for_each("engine", NAMES)
@for_each("name", ['we"ird', "back`tick", "br]acket", "semi; DROP TABLE x --", "50%", "Ünïcode", "select"])
def test_names_are_quoted_whatever_they_hold(engine: str, name: str) -> None:
    view = view_of(engine, table_name=name, columns=(DatasetColumn(column_name=name, type="INTEGER"),), metrics=())
    made = statement({"columns": [name], "metrics": []}, view=view)
    tree = parsed(made.display_sql, engine)
    assert {column.name for column in tree.find_all(exp.Column)} == {name}
    assert [table.name for table in tree.find_all(exp.Table)] == [name]


@pytest.mark.parametrize("name", ["\x01p0\x01", "a\x01"])
def test_a_name_that_looks_like_our_mark_of_a_value_is_refused(name: str) -> None:
    column = DatasetColumn(column_name=name, type="INTEGER")
    for fields in ({"columns": (*COLUMNS, column)}, {"table_name": name}, {"schema": name}):
        with pytest.raises(QueryError, match="control character"):
            view_of("sqlite", **fields)


@for_each("engine", NAMES)
def test_aliases_are_unique_without_case_and_short_enough_in_bytes(engine: str) -> None:
    spec = spec_of(engine)
    labels = ["ü" * 200, "Ü" * 200, "x" * 400, "a", "A", "a ", "50%"]
    metrics = [{"expressionType": "SQL", "sqlExpression": "COUNT(*)", "label": label} for label in labels]
    made = statement({"metrics": metrics}, engine)
    found = [select.alias for select in parsed(made.display_sql, engine).selects]
    assert len({alias.casefold() for alias in found}) == len(labels)
    assert all(len(alias.encode()) <= (spec.max_identifier_bytes or 10_000) for alias in found)
    assert list(made.labels) == labels


@for_each("engine", NAMES)
def test_group_by_and_order_by_never_name_an_alias(engine: str) -> None:
    view = view_of(engine)
    query = {**PAYLOADS["months"], "orderby": [["ordered_at", False]]}
    tree = parsed(statement(query, view=view).display_sql, engine)
    for part in ("group", "order"):
        for column in tree.args[part].find_all(exp.Column):
            assert column.table == "orders", (part, column)


@for_each("engine", JOINING)
def test_a_table_called_like_our_own_alias_is_told_apart(engine: str) -> None:
    view = view_of(engine, table_name="Series_Limit")
    tree = parsed(statement({**SERIES, "group_others_when_limit_reached": True}, view=view).display_sql, engine)
    joined = next(tree.find_all(exp.Join)).this.alias
    assert joined.casefold() != "series_limit"


# --------------------------------------------------------------------------------------------------------- sources
@for_each("engine", NAMES)
def test_a_virtual_dataset_is_a_derived_table(engine: str) -> None:
    source = check_select("SELECT * FROM orders WHERE id > 5", spec=spec_of(engine), place="dataset")
    made = statement({"columns": ["city"], "metrics": []}, view=make_view(dataset(), spec_of(engine), source))
    tree = parsed(made.display_sql, engine)
    inner = tree.args["from_"].this
    assert isinstance(inner, exp.Subquery)
    assert inner.alias == "virtual_table"
    assert {column.table for column in tree.args["group"].find_all(exp.Column)} == {"virtual_table"}


def test_engines_without_ctes_in_derived_tables_get_them_in_front() -> None:
    for name in ("a virtual dataset", "a virtual dataset with a series limit"):
        made = statement(PAYLOADS[name], view=view_for(name, "mssql"))
        assert made.sql.startswith("WITH recent AS (")
        assert made.sql.count("WITH ") == 1


@for_each("engine", NAMES)
def test_a_schema_and_a_catalog_qualify_the_table(engine: str) -> None:
    source = TableSource(table="orders", schema="shop", catalog="prod")
    tree = parsed(statement({"metrics": ["orders"]}, view=view_of(engine, source)).display_sql, engine)
    (table,) = tree.find_all(exp.Table)
    assert (table.catalog, table.db, table.name) == ("prod", "shop", "orders")


def test_an_engine_that_cannot_join_refuses_a_series_limit() -> None:
    for engine in set(NAMES) - set(JOINING):
        with pytest.raises(UnsupportedByEngineError, match="series_limit"):
            statement(SERIES, engine)


# ---------------------------------------------------------------------------------------------------------- limits
@pytest.mark.parametrize("engine", ["sqlite", "duckdb", "postgresql", "mysql"])
def test_one_row_more_than_the_limit_is_asked_for(engine: str) -> None:
    assert statement({"columns": ["city"], "row_limit": 10}, engine).sql.endswith("LIMIT 11")
    assert statement({"columns": ["city"], "row_limit": 10, "row_offset": 5}, engine).sql.endswith("LIMIT 11 OFFSET 5")


@for_each("engine", NAMES)
def test_a_count_counts_the_rows_of_the_query(engine: str) -> None:
    made = statement({"columns": ["city"], "metrics": ["orders"], "is_rowcount": True, "row_limit": 10}, engine)
    assert made.labels == ("rowcount",)
    assert "ORDER BY" not in made.sql


# --------------------------------------------------------------------------------------------------- fragments
@for_each("engine", ["sqlite", "duckdb", "postgresql", "mysql"])
@for_each("text", ["id - 1", "CASE WHEN id > 1 THEN 2 ELSE 3 END", "-id", "id % 2", "ABS(id)"])
def test_a_fragment_stands_for_one_operand(engine: str, text: str) -> None:
    query = {"metrics": ["orders"], "filters": [item({"label": "x", "sqlExpression": text}, "==", 5)]}
    condition = parsed(statement(query, engine).display_sql, engine).args["where"].this
    assert isinstance(condition, exp.EQ)
    assert condition.expression == exp.Literal.number(5)


@pytest.mark.slow
@for_each("engine", NAMES)
@for_each("text", ["2", "-2", "(2)", "'x'", "NULL", "1.5"])
def test_a_constant_is_never_taken_for_the_position_of_a_column(engine: str, text: str) -> None:
    constant = {"label": "x", "sqlExpression": text}
    query = {"columns": [constant, "city"], "metrics": ["orders"], "orderby": [[constant, True]]}
    for columns in ([constant, "city"], [constant]):
        tree = parsed(statement({**query, "columns": columns}, engine).display_sql, engine)
        for key in tree.args["group"].expressions:
            assert not isinstance(key.unnest(), exp.Literal | exp.Neg | exp.Null)
        for term in tree.args["order"].expressions if tree.args.get("order") else ():
            assert not isinstance(term.this.unnest(), exp.Literal | exp.Neg | exp.Null)


def test_a_function_that_is_written_as_an_operator_stands_in_parentheses() -> None:
    column = DatasetColumn(
        column_name="later", type="TIMESTAMP", is_dttm=True, expression="DATE_ADD(ordered_at, INTERVAL 1 DAY)"
    )
    view = view_of("duckdb", columns=(*COLUMNS, column))
    made = statement({"metrics": ["orders"], "filters": [item("later", ">=", "2024-01-01")]}, view=view)
    condition = parsed(made.display_sql, "duckdb").args["where"].this
    assert isinstance(condition, exp.GTE)
    assert isinstance(condition.this, exp.Paren)


# ------------------------------------------------------------------------------------------------- explanations
@for_each("engine", NAMES)
def test_an_explanation_has_every_clause_with_its_values_and_origin(engine: str) -> None:
    query: dict[str, Any] = {
        **PAYLOADS["months"],
        "extras": {"where": "LN(id) > 1", "having": "COUNT(*) > 1"},
        "row_offset": 3,
        "orderby": [["city", False]],
    }
    made = plan(query, view=view_of(engine), row_filters=[RowFilter(name="eu", clause="country = 'EU'")])
    clauses = explain_plan(made, spec_of(engine))
    parts = [clause.part for clause in clauses]
    how = ("group by", "collate", "nulls last")  # which keys and which of them need words differs by engine
    after = ["fence", "having", "order by", "order by", "limit", "limit", "offset"]
    assert [part for part in parts if part not in how] == ["select"] * 3 + ["from"] + ["where"] * 3 + after
    assert parts.count("group by") == 2
    assert all(clause.origin and MARK not in clause.sql for clause in clauses)
    assert "row rule: eu" in {clause.origin for clause in clauses}


def test_lowering_never_changes_the_plan_nor_shares_nodes() -> None:
    for name in PAYLOADS:
        for engine in ("sqlite", "mssql"):
            made = plan(PAYLOADS[name], view=view_for(name, engine), row_filters=rules_for(name))
            before = repr(made)
            first, _ = lower(made, spec_of(engine))
            second, _ = lower(made, spec_of(engine))
            assert repr(made) == before
            assert not {id(node) for node in first.walk()} & {id(node) for node in second.walk()}


@for_each("engine", NAMES)
def test_a_page_that_is_read_in_two_parts_has_only_aliases_that_its_engine_takes(engine: str) -> None:
    columns = (DatasetColumn(column_name="quantity", type="INTEGER", nullable=True, leads_index=True),)
    smile = {"label": "\U0001f600", "sqlExpression": "quantity"}
    query = {"columns": [smile], "orderby": [["quantity", True]], "row_limit": 10, "row_offset": 5}
    written = statement(query, engine, view=view_of(engine, columns=columns)).sql
    assert max(written) <= spec_of(engine).largest_identifier_character


def test_groups_are_sorted_by_the_metric_that_differs_from_another_by_the_case_of_a_text_alone() -> None:
    great, small = (
        {"label": label, "expressionType": "SQL", "sqlExpression": f"SUM(CASE WHEN country = '{text}' THEN 1 END)"}
        for label, text in (("great", "A"), ("small", "a"))
    )
    made = statement({**SERIES, "metrics": [great, small], "orderby": [[small, False]]}, "postgresql")
    assert '"page"."c2" AS "small"' in made.sql
    assert 'ORDER BY "page"."c2" DESC' in made.sql


# ------------------------------------------------------------------------------------- texts that were written before
def same_by_known_texts(query: Mapping[str, Any], engine: str, *, view: DatasetView, **options: Any) -> None:
    """Compile a query from nodes, from texts that are written now, and from texts and outputs that were before."""
    made = plan(query, view=view, **options)
    plain = compile_plan(made, view.spec)
    assert compile_plan(made, view.spec, view.known) == plain
    again = plan(query, view=view, **options)
    assert again == made
    assert compile_plan(again, view.spec, view.known) == plain


@pytest.mark.slow
@for_each("engine", NAMES)
def test_known_texts_give_the_statements_that_nodes_give(engine: str) -> None:
    for name, payload in PAYLOADS.items():
        with suppress(UnsupportedByEngineError):
            same_by_known_texts(payload, engine, view=view_for(name, engine), row_filters=rules_for(name))


@pytest.mark.slow
@for_each("engine", NAMES)
def test_known_texts_tell_columns_grains_and_aggregates_apart(engine: str) -> None:
    view = view_of(engine, offset=3)
    times = [column.column_name for column in COLUMNS if column.is_dttm]
    series = {"series_columns": ["city"], "series_limit": 2}
    for number, grain in enumerate((None, *TimeGrain)):
        time = times[(number + NAMES.index(engine)) % len(times)]  # every pair of grain and column, over all engines
        axis = {"columnType": "BASE_AXIS", "sqlExpression": time, "label": "t", "timeGrain": grain}
        metrics = [
            {"expressionType": "SIMPLE", "aggregate": name, "column": {"column_name": column}, "label": name}
            for name, column in (("MIN", time), ("MAX", "city"), ("AVG", "is_paid"), ("COUNT_DISTINCT", "weight"))
        ]
        query = {"columns": [axis, "city"], "metrics": metrics, "orderby": [[metrics[0], True], ["city", False]]}
        with suppress(UnsupportedByEngineError):
            same_by_known_texts({**query, **(series if number % 4 == 0 else {})}, engine, view=view)


@pytest.mark.slow
def test_one_view_serves_many_threads_and_everybody_s_own_rules() -> None:
    view = view_of("postgresql")
    axis = {"columnType": "BASE_AXIS", "sqlExpression": "ordered_at", "label": "t", "timeGrain": "P1M"}
    query = {"columns": [axis, "city"], "metrics": ["orders"], "series_columns": ["city"], "series_limit": 2}
    rules = [[RowFilter(name=country, clause=f"country = '{country}'")] for country in ("EU", "US", "JP", "BR")]

    def compiled(number: int) -> str:
        made = plan({**query, "row_limit": number}, view=view, row_filters=rules[number % len(rules)])
        return compile_plan(made, view.spec, view.known).display_sql

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(compiled, range(1, 101)))
    for number, sql in enumerate(found, start=1):
        fresh = plan({**query, "row_limit": number}, view=view_of("postgresql"), row_filters=rules[number % len(rules)])
        assert sql == compile_plan(fresh, view.spec).display_sql


class RecordedTexts(KnownTexts):
    """Texts that tell for which keys they were asked."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[Hashable] = []

    def nodes(self, key: Hashable, make: Callable[[], Sequence[exp.Expr]], spec: EngineSpec) -> list[exp.Expr]:
        self.keys.append(key)
        return super().nodes(key, make, spec)


def test_no_texts_are_remembered_of_the_sql_of_a_payload() -> None:
    axis = {"columnType": "BASE_AXIS", "sqlExpression": "ordered_at + 0", "label": "t", "timeGrain": "P1M"}
    others = {"series_columns": ["t"], "series_limit": 2, "group_others_when_limit_reached": True}
    known, view = RecordedTexts(), view_of("sqlite")
    compile_plan(plan({"columns": [axis, "city"], "metrics": ["orders"], **others}, view=view), view.spec, known)
    assert "city" in known.keys
    assert "ordered_at" not in repr(known.keys)


def test_a_saved_metric_with_a_template_is_read_anew_each_time() -> None:
    texts = iter(["1", "2"])
    metrics = (DatasetMetric(metric_name="m", expression="SUM(quantity + {{ n }})"),)
    scope = replace(scope_of(view_of(metrics=metrics)), render=lambda text: text.replace("{{ n }}", next(texts)))
    query = query_of({"metrics": ["m"]})
    for number in ("1", "2"):
        expr = plan_query(query, scope, PlanRequest()).outputs[0].expr
        assert isinstance(expr, FragmentExpr)
        assert f"+ {number}" in expr.sql


def test_known_outputs_of_one_column_are_told_apart_by_their_grain_and_place() -> None:
    view = view_of()
    queries: list[dict[str, Any]] = [
        {"columns": columns, "metrics": metrics, "granularity": "ordered_at", "extras": {"time_grain": grain}}
        for columns in (["ordered_at", "city"], ["city", "ordered_at"])
        for metrics in (["orders"], None)
        for grain in ("P1D", "P1M", None)
    ]
    for query in (*queries, *queries):
        assert plan(query, view=view) == plan(query, view=view_of())


# ------------------------------------------------------------------------------------------- what reflection has told
BINARY = "utf8mb4_nopad_bin"
REFLECTED = (
    DatasetColumn(column_name="id", type="BIGINT", nullable=False),
    DatasetColumn(column_name="n", type="INTEGER", leads_index=True),
    DatasetColumn(column_name="folds", type="VARCHAR(9)", collation="utf8mb4_general_ci", leads_index=True),
    DatasetColumn(column_name="told", type="VARCHAR(9)", collation="utf8mb4_bin", leads_index=True, nullable=False),
    DatasetColumn(column_name="exact", type="VARCHAR(9)", collation=BINARY, leads_index=True),
    DatasetColumn(column_name="latin", type="VARCHAR(9)", collation="latin1_swedish_ci", leads_index=True),
    DatasetColumn(column_name="plain", type="VARCHAR(9)", collation="utf8mb4_general_ci"),
    DatasetColumn(column_name="bits", type="BIT(4)"),
    DatasetColumn(column_name="at", type="TIMESTAMP", is_dttm=True),
    DatasetColumn(column_name="day", type="DATE", is_dttm=True),
    DatasetColumn(column_name="said", type="VARCHAR(10)", is_dttm=True, python_date_format="%d/%m/%Y"),
    DatasetColumn(column_name="iso", type="VARCHAR(30)", is_dttm=True),
)


def shortly(query: dict[str, Any], engine: str) -> str:
    """Return the readable statement on one line without quotes and the names of the table."""
    made = statement(query, view=view_of(engine, columns=stored(REFLECTED), main_dttm_col="at"))
    text = " ".join(made.display_sql.split()).replace(BINARY, "utf8")
    return re.sub(r"[`\"]|orders[`\"]?\.", "", text)


NEVER, NOT_NULL = "WHERE 1 = 0 LIMIT", "WHERE NOT day IS NULL LIMIT"
HOUR, SUNDAYS = "2024-05-15 01:00", "P1W/1970-01-03T00:00:00Z"


@for_each(
    ("engine", "filter_", "where"),
    [
        # Beside the exact comparison stands one by which an index finds the rows.
        ("mysql", item("folds", "==", "x"), "WHERE folds = 'x' AND folds = 'x' COLLATE utf8 LIMIT"),
        ("mysql", item("folds", "==", "é"), "WHERE folds = 'é' AND folds = 'é' COLLATE utf8 LIMIT"),
        ("mysql", item("folds", "!=", "x"), "WHERE folds <> 'x' COLLATE utf8 LIMIT"),
        ("mysql", item("folds", ">", "x"), "WHERE folds > 'x' COLLATE utf8 LIMIT"),
        ("mysql", item("folds", "IN", ["x"]), "WHERE folds IN ('x') AND folds IN ('x' COLLATE utf8) LIMIT"),
        ("mysql", item("folds", "NOT IN", ["x"]), "WHERE NOT (folds IN ('x' COLLATE utf8)) LIMIT"),
        ("mysql", item("latin", "==", "x"), "WHERE latin = 'x' AND latin = 'x' COLLATE utf8 LIMIT"),
        ("mysql", item("latin", "==", "é"), "WHERE latin = 'é' COLLATE utf8 LIMIT"),
        ("mysql", item("exact", "==", "x"), "WHERE exact = 'x' COLLATE utf8 LIMIT"),
        ("mysql", item("plain", "==", "x"), "WHERE plain = 'x' COLLATE utf8 LIMIT"),
        ("mysql", item("n", "==", 1), "WHERE n = 1 LIMIT"),
        ("postgresql", item("folds", "==", "x"), "WHERE folds = 'x' LIMIT"),
        # No bucket is a moment beside its label, and no day is an hour.
        ("postgresql", item("at", "==", "2024-05-15", grain="P1M"), NEVER),
        ("postgresql", item("at", "!=", "2024-05-15", grain="P1M"), "WHERE NOT DATE_TRUNC('month', at) IS NULL LIMIT"),
        ("postgresql", item("at", "==", "9999-12-31", grain=SUNDAYS), NEVER),
        ("postgresql", item("day", "==", HOUR), NEVER),
        ("postgresql", item("day", "!=", HOUR), NOT_NULL),
        ("postgresql", item("day", "IN", [HOUR]), NEVER),
        ("postgresql", item("day", "NOT IN", [HOUR]), NOT_NULL),
        ("postgresql", item("day", "NOT IN", [HOUR, None]), NOT_NULL),
        ("postgresql", item("day", "IN", [HOUR, None]), "WHERE day IS NULL LIMIT"),
        ("postgresql", item("n", "IN", [1, None]), "WHERE (n IS NULL OR n IN (1)) LIMIT"),
        ("postgresql", item("n", "NOT IN", [1, None]), "WHERE NOT n IS NULL AND NOT (n IN (1)) LIMIT"),
        ("postgresql", item("at", "TEMPORAL_RANGE", "2024-01-01 : "), "WHERE at >= TIMESTAMP '2024-01-01 00:00:00' L"),
        ("postgresql", item("at", "TEMPORAL_RANGE", " : 2024-01-01"), "WHERE at < TIMESTAMP '2024-01-01 00:00:00' L"),
    ],
)
def test_a_condition_is_written_as_its_engine_needs_it(engine: str, filter_: dict[str, Any], where: str) -> None:
    assert where in shortly({"metrics": ["orders"], "filters": [filter_]}, engine)


MONTHS = {"columnType": "BASE_AXIS", "sqlExpression": "at", "timeGrain": "P1M"}
SAID = "CAST(TO_DATE(said, 'DD/MM/YYYY') AS TIMESTAMP)"


@for_each(
    ("engine", "columns", "order", "limit", "keys"),
    [
        # Where nulls last hides the index, a page of few rows is read in two parts, each in the index's order.
        ("mysql", ["n"], ["n", True], 9_999, "NOT n IS NULL ORDER BY n ASC LIMIT 10000)"),
        ("mysql", ["n"], ["n", True], 10_000, "ORDER BY CASE WHEN n IS NULL THEN 1 ELSE 0 END, n ASC LIMIT 10001"),
        ("mysql", ["n"], ["n", False], 5, "FROM orders ORDER BY n DESC LIMIT 6"),
        ("mysql", ["exact"], ["exact", True], 5, "NOT exact IS NULL ORDER BY exact ASC LIMIT 6)"),
        ("mysql", ["folds"], ["folds", True], 5, "FROM orders ORDER BY CASE WHEN folds COLLATE utf8 IS NULL"),
        ("postgresql", ["n"], ["n", False], 5, "NOT n IS NULL ORDER BY n DESC LIMIT 6)"),
        ("postgresql", ["id"], ["id", False], 5, "FROM orders ORDER BY id DESC LIMIT 6"),
        ("postgresql", ["n"], ["n", False], 5, "WHERE n IS NULL AND (SELECT COUNT(*) FROM not_null) < 6 LIMIT 6)) AS"),
        ("sqlite", ["n"], ["n", True], 5, "FROM orders ORDER BY n ASC NULLS LAST LIMIT 6"),
        # Texts come in the order of their moments where the engine reads them and none of them can fail.
        ("postgresql", ["said", "n"], ["said", True], 5, f"ORDER BY {SAID} ASC, n ASC LIMIT"),
        ("postgresql", ["iso", "n"], ["iso", True], 5, "ORDER BY iso COLLATE C ASC, n ASC LIMIT"),
        ("sqlite", ["iso", "id"], ["id", False], 5, "'Zz') END DESC, iso COLLATE BINARY DESC LIMIT"),
        ("sqlite", ["said"], ["said", True], 5, "ORDER BY SUBSTR(said, 7, 4) || '-' || SUBSTR(said, 4, 2) || '-'"),
        ("postgresql", [MONTHS], ["at", True], 5, "FROM orders ORDER BY DATE_TRUNC('month', at) ASC LIMIT 6"),
    ],
)
def test_an_order_is_written_as_its_engine_needs_it(
    engine: str, columns: list[Any], order: list[Any], limit: int, keys: str
) -> None:
    assert keys in shortly({"columns": columns, "orderby": [order], "row_limit": limit}, engine)


@for_each(
    ("engine", "column", "join"),
    [
        ("mysql", "told", "told = series_limit.s0 COLLATE utf8mb4_bin AND told COLLATE utf8 = series_limit.s0"),
        ("mysql", "folds", "folds <=> series_limit.s0 COLLATE utf8mb4_general_ci AND (folds COLLATE utf8) <=> "),
        ("mysql", "latin", "ON (CAST(latin AS CHAR CHARACTER SET utf8mb4) COLLATE utf8) <=> series_limit.s0 GROUP"),
        ("mysql", "plain", "ON (plain COLLATE utf8) <=> series_limit.s0 GROUP"),
        ("mysql", "exact", "ON exact <=> series_limit.s0 GROUP"),
        ("postgresql", "n", "ON COALESCE(n, '0') = COALESCE(series_limit.s0, '0') AND n IS NOT DISTINCT FROM "),
        ("postgresql", "told", "ON told = series_limit.s0 GROUP"),
        ("postgresql", MONTHS, "ON COALESCE(DATE_TRUNC('month', at), '1970-01-01') = COALESCE("),
        ("sqlite", "n", "FROM orders JOIN (SELECT n AS s0"),
        ("sqlite", "plain", "FROM orders CROSS JOIN (SELECT plain COLLATE BINARY AS s0"),
    ],
)
def test_series_are_joined_as_their_engine_finds_them(engine: str, column: Any, join: str) -> None:
    name = column if isinstance(column, str) else "at"
    query = {"columns": [column], "metrics": ["orders"], "series_columns": [name], "series_limit": 2}
    assert join in shortly(query, engine)


def test_bits_are_summed_as_numbers() -> None:
    assert "SELECT SUM((bits + 0)) AS SUM(bits)" in shortly({"metrics": [aggregate("SUM", "bits")]}, "mysql")


def test_a_page_of_skipped_rows_that_is_read_in_two_parts_counts_those_it_skips() -> None:
    text = shortly({"columns": ["n"], "orderby": [["n", False]], "row_limit": 5, "row_offset": 2}, "postgresql")
    assert "ORDER BY n DESC LIMIT 6 OFFSET 2)" in text
    assert "(SELECT n AS c0, ROW_NUMBER() OVER () AS n FROM orders WHERE n IS NULL AND (SELECT COUNT(*)" in text
    assert "< 6 LIMIT 8) AS rest WHERE n > 2 - (SELECT COUNT(*) FROM (SELECT n AS n FROM orders WHERE NOT n" in text
    assert text.endswith("IS NULL LIMIT 2) AS skipped))) AS page ORDER BY page.c0 DESC NULLS LAST LIMIT 6")


@for_each(("where", "splits"), [("", True), ("LN(id) > 0", False)])
def test_permitted_rows_that_are_read_whole_are_not_split(where: str, splits: bool) -> None:
    query = {"columns": ["n"], "orderby": [["n", True]], "row_limit": 5, "extras": {"where": where}}
    view = view_of("mysql", columns=stored(REFLECTED), main_dttm_col="at")
    made = statement(query, view=view, row_filters=[RowFilter(name="own", clause="n > 1")])
    assert ("not_null" in made.sql) is splits


def explained(query: dict[str, Any], view: DatasetView | None = None) -> dict[str, list[str]]:
    """Return the lines of a query's explanation by their part."""
    found: dict[str, list[str]] = {}
    view = view or view_of("sqlite")
    for clause in explain_plan(plan(query, view=view), view.spec):
        found.setdefault(clause.part, []).append(clause.sql.replace('"', "").replace("orders.", ""))
    return found


def test_an_explanation_tells_counts_series_and_what_is_no_key() -> None:
    counted = explained({"columns": ["id"], "orderby": [["id", True]], "is_rowcount": True})
    assert counted["rowcount"] == ["COUNT(*) of the rows above, up to the limit"]
    assert counted["limit"] == ["50000"]
    assert "order by" not in counted
    assert "ORDER BY" not in statement({"columns": ["id"], "orderby": [["id", True]], "is_rowcount": True}).sql
    constant = {"label": "one", "sqlExpression": "1"}
    assert explained({"columns": [constant, "id"], "orderby": [["one", True]]})["order by"] == ["id ASC"]
    assert explained({"columns": ["id"], "row_limit": 5, "row_offset": 3})["offset"] == ["3"]
    assert explained({"columns": ["id"], "row_limit": 5})["limit"] == ["5", "+ 1"]
    for fields, text in (
        ({}, "the 2 highest of (city) by COUNT(*)"),
        ({"order_desc": False}, "the 2 lowest of (city) by COUNT(*)"),
        ({"metrics": []}, "the 2 highest of (city) by their names"),
        ({"group_others_when_limit_reached": True}, "the 2 highest of (city) by COUNT(*); the others become 'Others'"),
    ):
        assert explained({**SERIES, **fields})["series limit"] == [text]


def test_an_explanation_tells_the_rules_inside_a_virtual_dataset() -> None:
    (clause,) = plan({"columns": ["id"]}, row_filters=[RowFilter(name="own", clause="country = 'DE'")]).where
    source = check_select("SELECT * FROM orders -- all of them", spec=spec_of("sqlite"), place="d")
    view = view_of("sqlite", replace(source, rules=(RelationRule(position=0, relation="orders", clauses=(clause,)),)))
    found = explained({"columns": ["id"], "extras": {"where": "LN(id) > 0"}}, view)
    assert found["fence"] == ["the permitted rows of orders are read before the rest"]
    assert found["from orders"] == ["(country = 'DE')"]
    assert "fence" not in explained({"columns": ["id"]}, view)
    assert "all of them" not in statement({"columns": ["id"]}, view=view).sql


def test_what_a_view_gave_once_is_remembered() -> None:
    view = view_of("sqlite")
    first, second = (plan({"columns": ["city"], "metrics": ["orders"]}, view=view).outputs for _ in range(2))
    assert [one is other for one, other in zip(first, second, strict=True)] == [True, True]


def test_an_alias_may_hold_the_largest_letter_that_the_engine_takes() -> None:
    assert aliases(["a\uffff", "b\U00010000"], max_bytes=None, largest="\uffff")[0] == "a\uffff"


@for_each(
    ("metric", "label"),
    [
        ("orders", "orders"),
        ({"expressionType": "SQL", "sqlExpression": "MAX(id)"}, "MAX(id)"),
        ({"expressionType": "SQL", "sqlExpression": "MAX(id)", "label": "most"}, "most"),
        (aggregate("SUM", "id"), "SUM(id)"),
    ],
)
def test_a_metric_has_a_label(metric: Any, label: str) -> None:
    assert metric_label(query_of({"metrics": [metric]}).metrics[0]) == label  # type: ignore[index]


def test_the_series_of_a_limit_are_listed_by_a_plan_of_their_own() -> None:
    others = {"group_others_when_limit_reached": True, "row_offset": 3, "extras": {"having": "COUNT(*) > 1"}}
    made = plan({**SERIES, **others})
    assert made.series_limit is not None
    of_series = plan_of_series(made, made.series_limit)
    assert [output.label for output in of_series.outputs] == ["city"]
    assert [output.expr for output in of_series.outputs] == [plan(SERIES).outputs[0].expr]
    assert (of_series.limit.rows, of_series.limit.offset, of_series.having, of_series.order) == (2, 0, (), ())
    limit = of_series.series_limit
    assert limit is not None
    assert (limit.columns, limit.group_others) == ((0,), False)

"""Laws of plans and statements for arbitrary queries, without a database.

`--hypothesis-profile night` searches longer than the usual run does.
"""

from __future__ import annotations

from typing import Any

import pytest
import sqlglot
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sqlglot import exp
from tests.support.any_payload import METRICS, contexts
from tests.support.cases import for_each
from tests.support.planning import ENGINES, plan, query_of, spec_of, view_of

from analytics_core._engine.compile.fingerprint import fingerprint
from analytics_core._engine.compile.lowering.expressions import MARK
from analytics_core._engine.compile.plan import QueryPlan
from analytics_core._engine.compile.render import compile_plan
from analytics_core._records.datasource import DatasetColumn, DatasetMetric
from analytics_core._records.people import RowFilter
from analytics_core.errors import AnalyticsError

search = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.filter_too_much],
)

TYPES = {
    "id": "BIGINT",
    "city": "VARCHAR(20)",
    "quantity": "INTEGER",
    "price": "DECIMAL(10,2)",
    "weight": "DOUBLE",
    "is_paid": "BOOLEAN",
    "ordered_at": "TIMESTAMP",
    "shipped_on": "DATE",
    "note": "VARCHAR(40)",
    "visible": "INTEGER",
}
COLUMNS = tuple(DatasetColumn(column_name=name, type=kind, nullable=name != "id") for name, kind in TYPES.items())
SAVED = tuple(
    DatasetMetric(metric_name=name, expression=text)
    for name, text in zip(METRICS, ("COUNT(*)", "SUM(quantity)", "SUM(quantity) / 2.0"), strict=True)
)
VIEWS = {engine: view_of(engine, columns=COLUMNS, metrics=SAVED) for engine in ENGINES.names()}
RULE = (RowFilter(name="visible only", clause="visible = 1 OR visible IS NULL"),)


def planned(context: dict[str, Any], engine: str) -> QueryPlan:
    """Return the plan of a context's first query; contexts that are refused are not of interest here."""
    try:
        query = context["queries"][0]
        query_of(query)
        return plan(query, view=VIEWS[engine], row_filters=RULE)
    except (AnalyticsError, LookupError, TypeError):
        assume(False)
        raise


ANY_ENGINE = st.sampled_from(ENGINES.names())


@pytest.mark.slow
@search
@given(context=contexts(), engine=ANY_ENGINE)
def test_planning_and_rendering_are_deterministic(context: dict[str, Any], engine: str) -> None:
    first, second = planned(context, engine), planned(context, engine)
    assert first == second
    assert fingerprint(first) == fingerprint(second)
    assert compile_plan(first, spec_of(engine)) == compile_plan(second, spec_of(engine))


@pytest.mark.slow
@search
@given(one=contexts(), other=contexts())
def test_different_plans_have_different_fingerprints(one: dict[str, Any], other: dict[str, Any]) -> None:
    first, second = planned(one, "duckdb"), planned(other, "duckdb")
    assert (first == second) == (fingerprint(first) == fingerprint(second))


@pytest.mark.slow
@search
@given(context=contexts(), engine=ANY_ENGINE)
def test_a_statement_is_one_query_with_a_sound_select(context: dict[str, Any], engine: str) -> None:
    spec = spec_of(engine)
    made = compile_plan(planned(context, engine), spec)
    assert MARK not in made.sql
    trees = sqlglot.parse(made.display_sql, dialect=spec.dialect)
    assert len(trees) == 1
    (tree,) = trees
    assert isinstance(tree, exp.Select)
    assert len(tree.selects) == len(made.labels) == len(made.kinds)
    names = [select.alias for select in tree.selects]
    assert len({name.casefold() for name in names}) == len(names)
    assert all(len(name.encode()) <= (spec.max_identifier_bytes or 10_000) for name in names)


@pytest.mark.slow
@search
@given(context=contexts(), engine=ANY_ENGINE)
def test_the_row_rule_stands_alone_in_every_where(context: dict[str, Any], engine: str) -> None:
    """Whatever the payload says, the rule is one whole member of the outermost AND of each query on the table."""
    made = compile_plan(planned(context, engine), spec_of(engine))
    tree = sqlglot.parse_one(made.display_sql, dialect=spec_of(engine).dialect)
    fenced = {cte.alias for cte in tree.find_all(exp.CTE)}
    for select in tree.find_all(exp.Select):
        source = select.args.get("from_")
        if source is None or not isinstance(source.this, exp.Table) or source.this.name in fenced:
            continue
        condition = select.args["where"].this
        if condition == exp.false():  # the arm of a fence that gives no rows
            continue
        members = condition.flatten(unnest=False) if isinstance(condition, exp.And) else [condition]
        rules = [member.this for member in members if isinstance(member, exp.Paren) and "visible" in member.sql()]
        assert any(
            isinstance(rule, exp.Or) and {c.name for c in rule.find_all(exp.Column)} == {"visible"} for rule in rules
        )


@search
@given(
    word=st.text("qxzjkvw", min_size=12, max_size=20),
    op=st.sampled_from(["==", "!=", ">", "IN", "NOT IN", "LIKE", "NOT ILIKE"]),
    column=st.sampled_from(["city", "note"]),
    engine=ANY_ENGINE,
)
def test_a_text_value_is_never_in_the_bound_statement(word: str, op: str, column: str, engine: str) -> None:
    value = [word, f"'{word}"] if op in ("IN", "NOT IN") else word
    made = compile_plan(
        plan({"columns": ["id"], "filters": [{"col": column, "op": op, "val": value}]}, view=VIEWS[engine]),
        spec_of(engine),
    )
    assert word not in made.sql.casefold()
    assert word in made.display_sql.casefold()


@for_each("engine", ENGINES.names())
def test_the_laws_are_tried_on_every_engine(engine: str) -> None:
    made = planned({"queries": [{"columns": ["city"], "metrics": ["count"]}]}, engine)
    assert compile_plan(made, spec_of(engine)).labels == ("city", "count")

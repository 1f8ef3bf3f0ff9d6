"""Plans and statements without any database: a dataset of orders on any engine, and payloads turned into plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from analytics_core._engine.compile.fragments.parser import FragmentParser
from analytics_core._engine.compile.plan import Output, Predicate, QueryPlan, SqlSource, TableSource
from analytics_core._engine.compile.planner import PlanRequest, plan_query
from analytics_core._engine.compile.planning_context import DatasetView, PlanLimits, PlanningContext, make_view
from analytics_core._engine.compile.render import compile_plan
from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._records.datasource import Dataset, DatasetColumn, DatasetMetric
from analytics_core._records.people import RowFilter
from analytics_core.models.parsing.query_context import parse_query_context
from analytics_core.models.query import ChartDataQueryObject

NOW = datetime(2024, 7, 15, 10, 30, 45, tzinfo=UTC)
ENGINES = installed_engines(())
PARSER = FragmentParser()

COLUMNS = (
    DatasetColumn(column_name="id", type="BIGINT", nullable=False),
    DatasetColumn(column_name="country", verbose_name="Land", type="VARCHAR(50)"),
    DatasetColumn(column_name="city", type="VARCHAR(50)"),
    DatasetColumn(column_name="quantity", type="INTEGER"),
    DatasetColumn(column_name="price", type="DECIMAL(10,2)"),
    DatasetColumn(column_name="weight", type="DOUBLE"),
    DatasetColumn(column_name="is_paid", type="BOOLEAN"),
    DatasetColumn(column_name="ordered_at", type="TIMESTAMP", is_dttm=True, nullable=False),
    DatasetColumn(column_name="shipped_on", type="DATE", is_dttm=True),
    DatasetColumn(column_name="epoch", type="BIGINT", is_dttm=True, python_date_format="epoch_s"),
    DatasetColumn(column_name="epoch_ms", type="BIGINT", is_dttm=True, python_date_format="epoch_ms"),
    DatasetColumn(column_name="day_text", type="VARCHAR(10)", is_dttm=True, python_date_format="%Y-%m-%d"),
    DatasetColumn(column_name="thing"),
    DatasetColumn(column_name="revenue", type="DOUBLE", expression="price * quantity"),
    DatasetColumn(
        column_name="size", type="VARCHAR(10)", expression="CASE WHEN quantity > 5 THEN 'big' ELSE 'small' END"
    ),
    DatasetColumn(column_name="growth", type="DOUBLE", expression="LN(quantity)"),
)
METRICS = (
    DatasetMetric(metric_name="orders", expression="COUNT(*)"),
    DatasetMetric(metric_name="turnover", expression="SUM(price * quantity)"),
    DatasetMetric(metric_name="entropy", expression="SUM(price * LN(quantity))"),
)


def dataset(**fields: Any) -> Dataset:
    """Return the dataset of orders, with changes."""
    known = {"columns": stored(COLUMNS), "metrics": METRICS, "main_dttm_col": "ordered_at", "table_name": "orders"}
    return Dataset(**{"id": 7, "uuid": "u-7", "database_id": 1, **known, **fields})


def spec_of(engine: str) -> EngineSpec:
    """Return an engine's spec."""
    return ENGINES.get(engine)


def view_of(engine: str = "sqlite", source: TableSource | SqlSource | None = None, **fields: Any) -> DatasetView:
    """Return the view of the dataset of orders, with changes, on an engine."""
    stored = dataset(**fields)
    if engine == "mssql":  # there TIMESTAMP is a row version
        stored = replace(stored, columns=tuple(_with_datetime2(column) for column in stored.columns))
    return make_view(stored, spec_of(engine), source or TableSource(table=stored.table_name, schema=stored.schema))


def _with_datetime2(column: DatasetColumn) -> DatasetColumn:
    changed = replace(column, type="DATETIME2") if column.type == "TIMESTAMP" else column
    return stored((changed,))[0] if column.stored_type is not None else changed


def stored(columns: Sequence[DatasetColumn]) -> tuple[DatasetColumn, ...]:
    """Return the columns as the database tells those of a table."""
    return tuple(replace(c, stored_type=None if c.expression else c.type or "") for c in columns)


def query_of(query: Mapping[str, Any]) -> ChartDataQueryObject:
    """Return the first query of a payload as the planner is given it."""
    return parse_query_context({"datasource": {"id": 7, "type": "table"}, "queries": [query]}).queries[0]


def scope_of(view: DatasetView, *, limits: PlanLimits | None = None, now: datetime = NOW) -> PlanningContext:
    """Return the surroundings of a query."""
    return PlanningContext(view=view, parser=PARSER, now=now, limits=limits or PlanLimits(), render=lambda text: text)


def plan(
    query: Mapping[str, Any],
    *,
    view: DatasetView | None = None,
    limits: PlanLimits | None = None,
    now: datetime = NOW,
    row_filters: Sequence[RowFilter] = (),
    samples: bool = False,
) -> QueryPlan:
    """Return the plan of a query's payload."""
    scope = scope_of(view or view_of(), limits=limits, now=now)
    return plan_query(query_of(query), scope, PlanRequest(row_filters=tuple(row_filters), samples=samples))


def statement(query: Mapping[str, Any], engine: str = "sqlite", **options: Any) -> Statement:
    """Return the statement of a query's payload on an engine."""
    view = options.pop("view", None) or view_of(engine)
    return compile_plan(plan(query, view=view, **options), view.spec)


def outputs(query: Mapping[str, Any], **options: Any) -> dict[str, Output]:
    """Return the outputs of a query's payload by label."""
    return {output.label: output for output in plan(query, **options).outputs}


def condition(item: Mapping[str, Any], **options: Any) -> Predicate:
    """Return what one filter of a payload becomes in WHERE."""
    (clause,) = plan({"metrics": ["orders"], "filters": [item]}, **options).where
    return clause.predicate


def bound_values(made: Statement) -> list[Any]:
    """Return the bound values of a statement in the order of their places."""
    parameters = made.parameters
    return list(parameters.values() if isinstance(parameters, dict) else parameters)

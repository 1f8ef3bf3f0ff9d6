"""From one query of a context to its plan and statement; stored fragments of SQL are read as a query would."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from analytics_core._engine.compile.advanced_types import AdvancedDataType
from analytics_core._engine.compile.fragments.parser import FragmentParser, FragmentSlot
from analytics_core._engine.compile.plan import QueryPlan, SqlSource
from analytics_core._engine.compile.planner import PlanRequest, plan_query
from analytics_core._engine.compile.planning_context import (
    DatasetView,
    PlanLimits,
    PlanningContext,
    RenderTemplate,
    make_view,
    table_of,
    time_format,
)
from analytics_core._engine.compile.render import compile_plan
from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.compile.statement_shapes import StatementShapes
from analytics_core._engine.engines.bounds import written_format
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.engines.types import TimeEncoding, ValueKind
from analytics_core._engine.querying.chart_request import ChartRequest
from analytics_core._engine.querying.templating import BoundTemplates, QueryTemplates
from analytics_core._records.datasource import Dataset
from analytics_core.errors import AnalyticsError, MissingTemplateValueError, Problem, UnsupportedByEngineError
from analytics_core.models.query import ChartDataQueryObject


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedQuery:
    """A query ready to run: what was asked, the plan, and the statement; the rest as in `BoundTemplates`."""

    query: ChartDataQueryObject
    plan: QueryPlan
    statement: Statement
    looks_up: bool = False
    taken_in: tuple[Hashable, ...] = ()


class Preparer:
    """Plans and compiles queries."""

    def __init__(
        self, *, parser: FragmentParser, limits: PlanLimits, advanced_types: Mapping[str, AdvancedDataType]
    ) -> None:
        self._parser = parser
        self._limits = limits
        self._advanced_types = advanced_types
        self._shapes = StatementShapes()

    def prepare(
        self,
        query: ChartDataQueryObject,
        view: DatasetView,
        request: PlanRequest,
        chart_request: ChartRequest,
        *,
        templates: BoundTemplates,
    ) -> PreparedQuery:
        """Return the prepared query, whose SQL the request's budget pays for; QueryError when it cannot be honoured.

        Who may not write SQL uses the functions of the engine's list.
        """
        scope = PlanningContext(
            view=view,
            parser=self._parser,
            now=chart_request.now,
            limits=self._limits,
            render=templates.render,
            template_range=templates.range_read,
            advanced_types=self._advanced_types,
            only_listed=not request.writes_sql,
            charge=chart_request.budget.take_sql if chart_request.budget else None,
            recalls=chart_request.is_of_known_shape,
        )
        plan = plan_query(query, scope, request)
        if templates.counts_seconds:
            plan = replace(plan, counts_seconds=True)
        compiled = self._shapes.compile if chart_request.is_of_known_shape else compile_plan
        statement = compiled(plan, view.spec, view.known)
        return PreparedQuery(
            query=query,
            plan=plan,
            statement=statement,
            looks_up=templates.looks_up,
            taken_in=tuple(templates.taken_in),
        )

    def scope(self, view: DatasetView, *, now: datetime, render: RenderTemplate) -> PlanningContext:
        """Return the surroundings in which queries on a dataset are planned."""
        return PlanningContext(
            view=view,
            parser=self._parser,
            now=now,
            limits=self._limits,
            render=render,
            advanced_types=self._advanced_types,
        )


Fragment = tuple[str, str, FragmentSlot]
"""Where a fragment stands in a payload, its SQL, and what it may hold."""


class StoredFragments:
    """Reads the fragments and date formats of datasets as a query would."""

    def __init__(self, preparer: Preparer, templates: QueryTemplates) -> None:
        self._preparer = preparer
        self._templates = templates

    def problems(
        self, dataset: Dataset, spec: EngineSpec, chart_request: ChartRequest, *, before: Dataset | None
    ) -> tuple[Problem, ...]:
        """Return what is wrong with what a dataset says and `before` does not (None: all of it): SQL, date formats."""
        formats = tuple(_unread_formats(dataset, spec, before))
        known = {(sql, slot) for _, sql, slot in _fragments(before)} if before is not None else set()
        fresh = [fragment for fragment in _fragments(dataset) if fragment[1:] not in known]
        if not fresh:
            return formats
        scope = self._scope(dataset, spec, chart_request)
        return (*formats, *(found for fragment in fresh if (found := _problem(scope, *fragment)) is not None))

    def _scope(self, dataset: Dataset, spec: EngineSpec, chart_request: ChartRequest) -> PlanningContext:
        source = SqlSource(sql=dataset.sql) if dataset.sql else table_of(dataset)
        templates = self._templates.for_query(ChartDataQueryObject(), dataset, spec, chart_request)
        return self._preparer.scope(make_view(dataset, spec, source), now=chart_request.now, render=templates.render)


def _fragments(dataset: Dataset) -> Iterator[Fragment]:
    for i, column in enumerate(dataset.columns):
        if column.expression:
            yield f"columns.{i}.expression", column.expression, FragmentSlot.CALCULATED
    for i, metric in enumerate(dataset.metrics):
        yield f"metrics.{i}.expression", metric.expression, FragmentSlot.METRIC
    if dataset.fetch_values_predicate:
        yield "fetch_values_predicate", dataset.fetch_values_predicate, FragmentSlot.WHERE


def _unread_formats(dataset: Dataset, spec: EngineSpec, before: Dataset | None) -> Iterator[Problem]:
    """Yield which date formats no engine reads, or not in such a column, where `before` said something else of it."""
    stored = before.columns if before is not None else ()
    known = {column.column_name: (column.is_dttm, column.python_date_format) for column in stored}
    for i, column in enumerate(dataset.columns):
        time = time_format(column, spec.value_kind(column.type) if column.type else ValueKind.UNKNOWN)
        is_known = known.get(column.column_name) == (column.is_dttm, column.python_date_format)
        if is_known or time is None or time.encoding is not TimeEncoding.TEXT:
            continue
        try:
            written_format(time)
        except UnsupportedByEngineError as error:
            yield Problem(path=f"columns.{i}.python_date_format", message=error.message)


def _problem(scope: PlanningContext, path: str, sql: str, slot: FragmentSlot) -> Problem | None:
    """Return why a fragment cannot be read; one whose template waits for a query is not known yet."""
    try:
        scope.read_stored(sql, slot, path)
    except MissingTemplateValueError:
        return None
    except AnalyticsError as error:
        return Problem(path=path, message=error.message.removeprefix(f"{path}: "))
    return None

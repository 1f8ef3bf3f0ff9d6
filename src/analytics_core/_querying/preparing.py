"""From one query of a context to its plan and statement."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from analytics_core._compile.advanced_types.base import AdvancedDataType
from analytics_core._compile.dataset_view import DatasetView
from analytics_core._compile.fragments import FragmentParser
from analytics_core._compile.plan import QueryPlan, Statement
from analytics_core._compile.planner import PlanRequest, plan_query
from analytics_core._compile.render import compile_plan
from analytics_core._compile.scope import PlanLimits, RenderTemplate, Scope
from analytics_core._querying.chart_request import ChartRequest
from analytics_core._querying.templating import BoundTemplates
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
        scope = replace(
            self.scope(view, now=chart_request.now, render=templates.render),
            template_range=templates.range_read,
            only_listed=not request.writes_sql,
            charge=chart_request.budget.take_sql if chart_request.budget else None,
        )
        plan = plan_query(query, scope, request)
        statement = compile_plan(plan, view.spec)
        return PreparedQuery(
            query=query,
            plan=plan,
            statement=statement,
            looks_up=templates.looks_up,
            taken_in=tuple(templates.taken_in),
        )

    def scope(self, view: DatasetView, *, now: datetime, render: RenderTemplate) -> Scope:
        """Return the surroundings in which queries on a dataset are planned."""
        return Scope(
            view=view,
            parser=self._parser,
            now=now,
            limits=self._limits,
            render=render,
            advanced_types=self._advanced_types,
        )

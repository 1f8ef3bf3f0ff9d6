"""Reads the SQL that a dataset stores beside its own: metrics, calculated columns, the predicate of filter values.

What cannot be read is refused when it is saved, not when the first chart asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from analytics_core._compile.dataset_view import make_view
from analytics_core._compile.fragments import FragmentSlot
from analytics_core._compile.plan import SqlSource, TableSource
from analytics_core._compile.scope import Scope
from analytics_core._engines.spec import EngineSpec
from analytics_core._querying.chart_request import ChartRequest
from analytics_core._querying.preparing import Preparer
from analytics_core._querying.templating import QueryTemplates
from analytics_core._records.dataset import Dataset
from analytics_core.errors import AnalyticsError, MissingTemplateValueError, Problem
from analytics_core.models.query import ChartDataQueryObject

Fragment = tuple[str, str, FragmentSlot]
"""Where a fragment stands in a payload, its SQL, and what it may hold."""


class StoredFragments:
    """Reads fragments as a query would."""

    def __init__(self, preparer: Preparer, templates: QueryTemplates) -> None:
        self._preparer = preparer
        self._templates = templates

    def problems(
        self, dataset: Dataset, spec: EngineSpec, chart_request: ChartRequest, *, before: Dataset | None
    ) -> tuple[Problem, ...]:
        """Return what is wrong with the fragments of a dataset that `before` does not have (None: all of them)."""
        known = {(sql, slot) for _, sql, slot in _fragments(before)} if before is not None else set()
        fresh = [fragment for fragment in _fragments(dataset) if fragment[1:] not in known]
        if not fresh:
            return ()
        scope = self._scope(dataset, spec, chart_request)
        return tuple(found for fragment in fresh if (found := _problem(scope, *fragment)) is not None)

    def _scope(self, dataset: Dataset, spec: EngineSpec, chart_request: ChartRequest) -> Scope:
        schema, catalog = dataset.schema or None, dataset.catalog or None
        source = (
            SqlSource(sql=dataset.sql)
            if dataset.sql
            else TableSource(table=dataset.table_name, schema=schema, catalog=catalog)
        )
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


def _problem(scope: Scope, path: str, sql: str, slot: FragmentSlot) -> Problem | None:
    """Return why a fragment cannot be read; one whose template waits for a query is not known yet."""
    try:
        scope.read_stored(sql, slot, path)
    except MissingTemplateValueError:
        return None
    except AnalyticsError as error:
        return Problem(path=path, message=error.message.removeprefix(f"{path}: "))
    return None

"""What templates take in from elsewhere: metrics and rows of other datasets, row rules, partitions of tables."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

from analytics_core._engine.compile.planner import PlanRequest, plan_query
from analytics_core._engine.compile.planning_context import make_view
from analytics_core._engine.compile.render import relation_sql
from analytics_core._engine.compile.templates import written_clause
from analytics_core._engine.gate.gate import DatasetAdmission, Gate
from analytics_core._engine.gate.guard import select_in_schema
from analytics_core._engine.gate.loaded_datasets import LoadedDataset, StoredDatasets
from analytics_core._engine.gate.partitions import Partitions
from analytics_core._engine.gate.relations import NO_SCHEMA
from analytics_core._engine.querying.preparing import Preparer
from analytics_core._engine.querying.templating import BoundTemplates, QueryTemplates, TemplateRequest
from analytics_core._engine.rights.policy import Policy
from analytics_core._records.datasource import Dataset
from analytics_core._records.people import RowFilter
from analytics_core.errors import TemplateError, UnknownMetricError
from analytics_core.models.enums import DatasourceType
from analytics_core.models.query import ChartDataDatasource, ChartDataQueryObject

_DEEPEST = 5
_MOST = 50
"""How many different things the templates of one query look up."""


class LookupFactory:
    """Binds what templates look up to the query that they belong to."""

    def __init__(
        self, *, loader: StoredDatasets, gate: Gate, policy: Policy, preparer: Preparer, partitions: Partitions
    ) -> None:
        self.loader = loader
        self.gate = gate
        self.policy = policy
        self.preparer = preparer
        self.partitions = partitions

    def __call__(self, templates: QueryTemplates, request: TemplateRequest) -> QueryLookups:
        """Return the look-ups of one query; `templates` render what they find."""
        return QueryLookups(parts=self, templates=templates, request=request)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLookups:
    """The look-ups of one query, within what its actor may read."""

    parts: LookupFactory
    templates: QueryTemplates
    request: TemplateRequest

    def metric(self, name: str, dataset_id: int | None) -> str:
        """Return the SQL of a saved metric, its template rendered.

        Raises:
            NotFoundError, DatasetAccessError: the dataset is not there, or not for this actor.
            UnknownMetricError: it has no such metric.
            TemplateError: metrics take each other in.
        """
        requested = self.request.dataset.id if dataset_id is None else dataset_id
        path = self._path(f"metric {name!r} of dataset {requested}")
        return self._once(("metric", requested, name), lambda: self._rendered_metric(name, requested, path))

    def _rendered_metric(self, name: str, dataset_id: int, path: tuple[str, ...]) -> str:
        dataset, filters = self.request.dataset, self.request.plan_request.row_filters
        if dataset_id != dataset.id:
            loaded = self._readable(dataset_id)
            dataset, filters = loaded.dataset, self._admit(loaded).row_filters
        found = next((metric for metric in dataset.metrics if metric.metric_name == name), None)
        if found is None:
            known = [metric.metric_name for metric in dataset.metrics]
            raise UnknownMetricError(name, dataset=dataset.table_name, known=known)
        return self._nested(dataset, path, filters).render(found.expression)

    def relation(self, dataset_id: int, columns: Sequence[str] | None, *, with_metrics: bool) -> str:
        """Return the query of another dataset's rows that the actor may see.

        Raises:
            NotFoundError, DatasetAccessError: the dataset is not there, or not for this actor.
            QueryError: it has no such column, or stands in another database.
            TemplateError: datasets take each other in.
        """
        path = self._path(f"dataset {dataset_id}")
        key = ("dataset", dataset_id, None if columns is None else tuple(columns), with_metrics)
        rows = self._once(key, lambda: self._rows_of(dataset_id, columns, path, with_metrics=with_metrics))
        if not self.request.dataset.schema:
            return rows
        return select_in_schema(rows, NO_SCHEMA, spec=self.request.spec, place=f"dataset({dataset_id})")

    def _rows_of(
        self, dataset_id: int, columns: Sequence[str] | None, path: tuple[str, ...], *, with_metrics: bool
    ) -> str:
        request, parts, loaded = self.request, self.parts, self._readable(dataset_id)
        dataset = loaded.dataset
        if dataset.database_id != request.dataset.database_id:
            raise TemplateError(f"dataset({dataset_id}): it stands in another database; join what one database holds")
        admission = self._admit(loaded)
        templates = self._nested(dataset, path, admission.row_filters)
        view = make_view(dataset, loaded.spec, parts.gate.source(admission, templates.render_source()))
        scope = parts.preparer.scope(view, now=request.chart_request.now, render=templates.render)
        metrics = tuple(metric.metric_name for metric in dataset.metrics) if with_metrics else None
        names = tuple(columns) if columns is not None else tuple(c.column_name for c in dataset.columns)
        query = ChartDataQueryObject(columns=names, metrics=metrics)
        return relation_sql(plan_query(query, scope, PlanRequest(row_filters=admission.row_filters)), loaded.spec)

    def row_rules(self) -> tuple[str, ...]:
        """Return the conditions that bind the actor on the dataset, with their values written in them, sorted."""
        dialect, filters = self.request.spec.dialect, self.request.plan_request.row_filters
        return tuple(sorted(written_clause(item.clause, item.placeholders, dialect) for item in filters))

    def latest_partition(self, table: str) -> str:
        """Return the value by which the newest partition of a table that has rows is found.

        Raises:
            DatabaseAccessError: the actor may not read the tables of its schema.
            UnsupportedByEngineError: the engine's partitions are not known.
            QueryError: the table has no partitions, or none in an order.
        """
        return self._once(("partition", self.request.dataset.id, table), lambda: self._newest(table))

    def _newest(self, table: str) -> str:
        request = self.request
        database = self.parts.loader.database(request.dataset.database_id)
        asker = request.chart_request
        return self.parts.partitions.latest(asker.actor, request.dataset, database, table, budget=asker.budget)

    def _once(self, key: Hashable, look_up: Callable[[], str]) -> str:
        """Return what a template looks up: once in a query, for loops of templates inside templates multiply."""
        found = self.request.found
        if key not in found:
            if len(found) >= _MOST:
                raise TemplateError(f"templates look up more than {_MOST} metrics, datasets and partitions")
            found[key] = look_up()
        return found[key]

    def _readable(self, dataset_id: int) -> LoadedDataset:
        loaded = self.parts.loader.load(ChartDataDatasource(id=dataset_id, type=DatasourceType.TABLE))
        self.parts.policy.require_read_dataset(self.request.chart_request.actor, loaded.dataset)
        self.request.taken_in.append(loaded.versions)
        return loaded

    def _admit(self, loaded: LoadedDataset) -> DatasetAdmission:
        return self.parts.gate.admit(self.request.chart_request.actor, loaded.database, on=loaded)

    def _path(self, name: str) -> tuple[str, ...]:
        path = self.request.path
        if name in path or len(path) >= _DEEPEST:
            how = "in a circle" if name in path else "too deeply"
            raise TemplateError(f"templates look each other up {how}: {' > '.join((*path, name))}")
        return (*path, name)

    def _nested(self, dataset: Dataset, path: tuple[str, ...], row_filters: Sequence[RowFilter]) -> BoundTemplates:
        request = self.request
        return self.templates.for_query(
            request.query,
            dataset,
            request.spec,
            request.chart_request,
            request=replace(request.plan_request, row_filters=row_filters),
            is_sample=request.is_sample,
            path=path,
            taken_in=request.taken_in,
            found=request.found,
        )

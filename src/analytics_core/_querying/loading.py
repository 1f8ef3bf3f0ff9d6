"""Loads the dataset of a query with its database and engine, and the chart that a query belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from analytics_core._engines.registry import EngineRegistry
from analytics_core._gate.loaded_dataset import LoadedDataset
from analytics_core._querying.fresh import Fresh
from analytics_core._querying.generations import generation_of
from analytics_core._records.chart import DATASET_TYPES, Chart
from analytics_core._records.database import Database
from analytics_core._records.dataset import Dataset
from analytics_core._records.repositories import UnitOfWork
from analytics_core.errors import NotFoundError, UnknownDatasourceTypeError
from analytics_core.models.enums import DatasourceType
from analytics_core.models.query import ChartDataDatasource
from analytics_core.ports import Clock, MetadataStore

_STORED_QUERIES = frozenset({DatasourceType.QUERY, DatasourceType.SAVED_QUERY})
_QUERYABLE = ("table", "dataset", "query", "saved_query")


def find_dataset_of(unit: UnitOfWork, chart: Chart) -> Dataset | None:
    """Return the dataset that a chart is drawn from; None when it has none or it was deleted."""
    if chart.dataset_id is None:
        return None
    try:
        return unit.datasets.get(chart.dataset_id)
    except NotFoundError:
        return None


class DatasetLoader:
    """Loads datasets; one that was just loaded is not read again."""

    def __init__(self, store: MetadataStore, registry: EngineRegistry, clock: Clock, *, freshness_s: float) -> None:
        self._store = store
        self._registry = registry
        self._loaded: Fresh[int, LoadedDataset] = Fresh(store, clock, seconds=freshness_s)

    def load(self, datasource: ChartDataDatasource) -> LoadedDataset:
        """Return the dataset that a datasource names.

        Raises:
            NotFoundError: there is no such dataset, or no such stored query (this store keeps none yet).
            UnknownDatasourceTypeError: the type of the datasource cannot be queried.
        """
        if datasource.type in _STORED_QUERIES:
            raise NotFoundError("stored query", datasource.id)
        if datasource.type not in DATASET_TYPES:
            raise UnknownDatasourceTypeError(str(datasource.type), place="the query engine", known=_QUERYABLE)
        return self._loaded.get(datasource.id, partial(self._read, datasource.id))

    def database(self, database_id: int) -> Database:
        """Return a database; NotFoundError when there is none."""
        with self._store.unit_of_work() as unit:
            return unit.databases.get(database_id)

    def _read(self, dataset_id: int) -> LoadedDataset:
        with self._store.unit_of_work() as unit:
            dataset = unit.datasets.get(dataset_id)
            database = unit.databases.get(dataset.database_id)
            generation = generation_of(unit, dataset)
        spec = self._registry.get(database.engine)
        return LoadedDataset(dataset=dataset, database=database, spec=spec, generation=generation)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedChart:
    """A stored chart and the dataset that it is drawn from; None when it has none or it was deleted."""

    chart: Chart
    dataset: Dataset | None


class ChartLoader:
    """Loads charts for questions; one that was just loaded is not read again."""

    def __init__(self, store: MetadataStore, clock: Clock, *, freshness_s: float) -> None:
        self._store = store
        self._loaded: Fresh[int, LoadedChart] = Fresh(store, clock, seconds=freshness_s, nouns=("chart", "dataset"))

    def load(self, chart_id: int) -> LoadedChart:
        """Return the chart with its dataset; NotFoundError when there is no such chart."""
        return self._loaded.get(chart_id, partial(self._read, chart_id))

    def _read(self, chart_id: int) -> LoadedChart:
        with self._store.unit_of_work() as unit:
            chart = unit.charts.get(chart_id)
            return LoadedChart(chart=chart, dataset=find_dataset_of(unit, chart))

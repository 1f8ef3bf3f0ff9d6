"""Loads the dataset of a query with its database and engine, and keeps what was made of it until it changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from analytics_core._engines.registry import EngineRegistry
from analytics_core._engines.spec import EngineSpec
from analytics_core._records.database import Database
from analytics_core._records.dataset import Dataset
from analytics_core.errors import UnknownDatasourceTypeError
from analytics_core.models.enums import DatasourceType
from analytics_core.models.query import ChartDataDatasource
from analytics_core.ports import MetadataStore

_DATASET_TYPES = frozenset({None, DatasourceType.TABLE, DatasourceType.DATASET})
_QUERYABLE = ("table", "dataset")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedDataset:
    """A dataset with all that is needed to plan and run queries on it."""

    dataset: Dataset
    database: Database
    spec: EngineSpec


class DatasetLoader:
    """Loads datasets; a dataset whose version has not changed is not read again (one small statement asks)."""

    def __init__(self, store: MetadataStore, registry: EngineRegistry, *, capacity: int = 500) -> None:
        self._store = store
        self._registry = registry
        self._capacity = capacity
        self._loaded: OrderedDict[int, LoadedDataset] = OrderedDict()
        self._guard = threading.Lock()

    def load(self, datasource: ChartDataDatasource) -> LoadedDataset:
        """Return the dataset that a datasource names.

        Raises:
            NotFoundError: there is no such dataset.
            UnknownDatasourceTypeError: the type of the datasource cannot be queried.
        """
        if datasource.type not in _DATASET_TYPES:
            raise UnknownDatasourceTypeError(str(datasource.type), place="the query engine", known=_QUERYABLE)
        with self._store.unit_of_work() as unit:
            kept = self._kept(datasource.id)
            if kept is not None:
                versions = (unit.datasets.version(datasource.id), unit.databases.version(kept.database.id))
                if versions == (kept.dataset.audit.version, kept.database.audit.version):
                    return kept
            dataset = unit.datasets.get(datasource.id)
            database = unit.databases.get(dataset.database_id)
        loaded = LoadedDataset(dataset=dataset, database=database, spec=self._registry.get(database.engine))
        self._keep(loaded)
        return loaded

    def _kept(self, dataset_id: int) -> LoadedDataset | None:
        with self._guard:
            return self._loaded.get(dataset_id)

    def _keep(self, loaded: LoadedDataset) -> None:
        with self._guard:
            self._loaded[loaded.dataset.id] = loaded
            self._loaded.move_to_end(loaded.dataset.id)
            while len(self._loaded) > self._capacity:
                self._loaded.popitem(last=False)

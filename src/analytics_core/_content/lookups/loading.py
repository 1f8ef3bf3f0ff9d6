"""Loads datasets, charts and annotation layers for questions; generations make cached answers unreachable.

What was read of the metadata store is remembered for a moment, and never past a change made through the same store.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from analytics_core._engine.engines.registry import EngineRegistry
from analytics_core._engine.gate.loaded_datasets import LoadedDataset
from analytics_core._engine.rights.policy import Policy
from analytics_core._engine.rights.scopes import NOT_LOOKED_AT, needs_full_datasets
from analytics_core._records.chart import DATASET_TYPES, AnnotationLayer, Chart, NativeLayer
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.repositories import ListFilter, ListQuery, Snapshot, UnitOfWork
from analytics_core._records.shared_state import KeyValue
from analytics_core._tools.memo import Memo
from analytics_core.errors import (
    AlreadyExistsError,
    NotFoundError,
    StaleVersionError,
    UnknownDatasourceTypeError,
)
from analytics_core.ports import Clock, MetadataStore

if TYPE_CHECKING:
    from analytics_core.models.query import ChartDataDatasource

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class _CachedValue(Generic[Value]):
    value: Value
    revision: int
    ends_s: float


@contextmanager
def snapshot(store: MetadataStore) -> Iterator[Snapshot]:
    """Open a unit of work in which several read what is of one moment."""
    revision = store.revision()
    with store.unit_of_work() as unit:
        yield Snapshot(unit=unit, revision=revision)


class StoreReadCache(Generic[Key, Value]):
    """Values read from a store, each believed for `seconds`, and none once this store was written to.

    With `nouns` only changes that bear on these kinds of records end the belief.
    A change made by another process is seen at the latest after `seconds`; 0 reads each time.
    """

    def __init__(
        self, store: MetadataStore, clock: Clock, *, seconds: float, capacity: int = 500, nouns: tuple[str, ...] = ()
    ) -> None:
        self._store = store
        self._nouns = nouns
        self._clock = clock
        self._lasts_s = seconds
        self._cached: Memo[Key, _CachedValue[Value]] = Memo(capacity=capacity)

    def get(self, key: Key, read: Callable[[], Value], *, at: Snapshot | None = None) -> Value:
        """Return the value of `key`: a fresh one that is kept, else what `read` returns; errors are not kept.

        `at`: in what is read, if not in a unit of work of its own.
        """
        if not self._lasts_s:
            return read()
        revision, now_s = self._store.revision(*self._nouns), self._clock.monotonic()
        cached = self._cached.get(key)
        if cached is not None and cached.revision == revision and now_s < cached.ends_s:
            return cached.value
        value = read()
        if at is None or at.revision == self._store.revision():
            self._cached.put(key, _CachedValue(value, revision, now_s + self._lasts_s))
        return value


_QUERYABLE = ("table", "dataset", "query", "saved_query")


def find_dataset_of(unit: UnitOfWork, chart: Chart) -> Dataset | None:
    """Return the dataset that a chart is drawn from; None when it has none or it was deleted."""
    if chart.dataset_id is None:
        return None
    try:
        return unit.datasets.get(chart.dataset_id)
    except NotFoundError:
        return None


def chart_and_dataset(store: MetadataStore, chart_id: int) -> tuple[Chart, Dataset | None]:
    """Read a chart and the dataset that it is drawn from, if it has one; NotFoundError for an unknown chart."""
    with store.unit_of_work() as unit:
        chart = unit.charts.get(chart_id)
        return chart, find_dataset_of(unit, chart)


class DatasetLoader:
    """Loads datasets; one that was just loaded is not read again."""

    def __init__(self, store: MetadataStore, registry: EngineRegistry, clock: Clock, *, freshness_s: float) -> None:
        self._store = store
        self._registry = registry
        self._loaded: StoreReadCache[int, LoadedDataset] = StoreReadCache(store, clock, seconds=freshness_s)

    def load(self, datasource: ChartDataDatasource, *, at: Snapshot | None = None) -> LoadedDataset:
        """Return the dataset that a datasource names.

        Raises:
            NotFoundError: there is no such dataset.
            UnknownDatasourceTypeError: the type of the datasource is not that of datasets.
        """
        if datasource.type not in DATASET_TYPES:
            raise UnknownDatasourceTypeError(str(datasource.type), place="the query engine", known=_QUERYABLE)
        return self._loaded.get(datasource.id, partial(self._read, datasource.id, at), at=at)

    def database(self, database_id: int) -> Database:
        """Return a database; NotFoundError when there is none."""
        with self._store.unit_of_work() as unit:
            return unit.databases.get(database_id)

    def _read(self, dataset_id: int, at: Snapshot | None) -> LoadedDataset:
        with self._store.unit_of_work() if at is None else nullcontext(at.unit) as unit:
            dataset = unit.datasets.get(dataset_id)
            database = unit.databases.get(dataset.database_id)
            generation = generation_of(unit, dataset)
        spec = self._registry.get(database.engine)
        return LoadedDataset(dataset=dataset, database=database, spec=spec, generation=generation)


class ChartLoader:
    """Loads charts for questions; one that was just loaded is not read again."""

    def __init__(self, store: MetadataStore, clock: Clock, policy: Policy, *, freshness_s: float) -> None:
        self._store = store
        self._policy = policy
        self._loaded: StoreReadCache[int, tuple[Chart, Dataset | None]] = StoreReadCache(
            store, clock, seconds=freshness_s, nouns=("chart", "dataset")
        )

    def load(self, chart_id: int) -> tuple[Chart, Dataset | None]:
        """Return a chart, and the dataset that it is drawn from, if it has one, as far as the policy needs it.

        It is whole for a policy with methods of its own; else columns and metrics are left unread.

        Raises:
            NotFoundError: there is no such chart.
        """
        return self._loaded.get(chart_id, partial(self._read, chart_id))

    def load_at(self, chart_id: int, at: Snapshot, dataset_of: Callable[[int], Dataset]) -> None:
        """Load a chart as it is in a snapshot, with the dataset that `dataset_of` gives for its id.

        Raises:
            NotFoundError: there is no such chart.
        """

        def read() -> tuple[Chart, Dataset | None]:
            chart = at.unit.charts.get(chart_id)
            return chart, None if chart.dataset_id is None else dataset_of(chart.dataset_id)

        self._loaded.get(chart_id, read, at=at)

    def _read(self, chart_id: int) -> tuple[Chart, Dataset | None]:
        if needs_full_datasets(self._policy):
            return chart_and_dataset(self._store, chart_id)
        with self._store.unit_of_work() as unit:
            chart = unit.charts.get(chart_id)
            ids = () if chart.dataset_id is None else (chart.dataset_id,)
            return chart, next(iter(unit.datasets.get_many(ids, without=NOT_LOOKED_AT)), None)


KIND = "cache_generation"


def generation_of(unit: UnitOfWork, dataset: Dataset) -> int:
    """Return the generation of a dataset's cached answers; 0 until they are made unreachable for the first time."""
    record = unit.key_values.find(kind=KIND, key=dataset.uuid)
    return record.audit.version if record is not None else 0


def next_generation(unit: UnitOfWork, dataset: Dataset, *, actor_id: int) -> None:
    """Make all cached answers of a dataset unreachable.

    Raises:
        StaleVersionError: somebody did the same in this moment; try again in a new unit of work.
    """
    record = unit.key_values.find(kind=KIND, key=dataset.uuid)
    if record is not None:
        unit.key_values.update(record, actor_id=actor_id)
        return
    try:
        unit.key_values.append(KeyValue(kind=KIND, key=dataset.uuid, value="{}"), actor_id=actor_id)
    except AlreadyExistsError:
        raise StaleVersionError("generation of dataset", dataset.id) from None


def forget_generation(unit: UnitOfWork, dataset: Dataset) -> None:
    """Forget the generation of a dataset that is deleted."""
    of_it = [ListFilter(col="kind", op="eq", val=KIND), ListFilter(col="key", op="eq", val=dataset.uuid)]
    unit.key_values.delete_matching(of_it)


_DELETED: Final = "deleted annotation layer"
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
_TICK: Final = timedelta(microseconds=1)
"""The smallest step between two stored moments."""


class AnnotationReader:
    """Reads what annotation layers name; `most` bounds the annotations of one layer."""

    def __init__(self, store: MetadataStore, *, most: int) -> None:
        self._store = store
        self._most = most

    def native(self, layer_id: int, *, since: datetime | None, until: datetime | None) -> NativeLayer:
        """Return a layer with the annotations that touch `[since, until)` (aware; None: open), earliest first.

        A layer that was deleted comes back empty, under the name that it had.

        Raises:
            NotFoundError: there never was such a layer.
        """
        query = ListQuery(
            filters=tuple(_touching(layer_id, since, until)),
            order_by=(("start_dttm", False), ("end_dttm", False)),
            page_size=self._most,
        )
        with self._store.unit_of_work() as unit:
            try:
                layer = unit.annotation_layers.get(layer_id)
            except NotFoundError:
                return _deleted_layer(unit, layer_id)
            count, annotations = unit.annotations.list(query)
        return NativeLayer(name=layer.name, annotations=tuple(annotations), count=count)

    def chart(self, chart_id: int) -> tuple[Chart, Dataset | None]:
        """Return a chart and the dataset that it is drawn from, as `chart_and_dataset`."""
        return chart_and_dataset(self._store, chart_id)


def remember_deleted_layer(unit: UnitOfWork, layer: AnnotationLayer, *, actor_id: int) -> None:
    """Keep the name of a deleted layer, so that charts which show it can tell it from one that never was."""
    entry = KeyValue(kind=_DELETED, key=str(layer.id), value=json.dumps(layer.name))
    unit.key_values.append(entry, actor_id=actor_id)


def _deleted_layer(unit: UnitOfWork, layer_id: int) -> NativeLayer:
    entry = unit.key_values.find(kind=_DELETED, key=str(layer_id))
    if entry is None:
        raise NotFoundError("annotation layer", layer_id)
    return NativeLayer(name=json.loads(entry.value), is_deleted=True)


def _touching(layer_id: int, since: datetime | None, until: datetime | None) -> Iterator[ListFilter]:
    """Yield the conditions of the annotations that begin before `until` and do not end before `since`."""
    yield ListFilter(col="layer_id", op="eq", val=layer_id)
    if until is not None:
        yield ListFilter(col="start_dttm", op="lt", val=until)
    if since is not None and since > _EARLIEST:
        yield ListFilter(col="end_dttm", op="gt", val=since - _TICK)

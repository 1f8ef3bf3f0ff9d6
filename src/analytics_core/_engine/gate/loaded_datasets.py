"""Datasets as questions take them: with their databases, and all that is needed to plan and run queries on them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.rights.row_rules import RuledDataset, ruled_dataset
from analytics_core._records.chart import DATASET_TYPES
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.repositories import Snapshot
from analytics_core.errors import AnalyticsError

if TYPE_CHECKING:
    from analytics_core.models.query import ChartDataDatasource


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedDataset:
    """A dataset with all that is needed to plan and run queries on it.

    Attributes:
        generation: how often its cached answers were made unreachable.
        is_statement: whether it is a stored statement, which is for whoever may read each of its tables.
        ruled: what row rules need to know of it.
        versions: what names this state of it, also where a store that was put back uses ids and versions again.
    """

    dataset: Dataset
    database: Database
    spec: EngineSpec
    generation: int = 0
    is_statement: bool = False
    # What every question asks for is put together once.
    ruled: RuledDataset = field(init=False, repr=False, compare=False)
    versions: tuple[Hashable, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ruled", ruled_dataset(self.dataset))
        object.__setattr__(self, "versions", (*_state(self.dataset), *_state(self.database), self.generation))


def _state(record: Dataset | Database) -> tuple[Hashable, ...]:
    return record.id, record.uuid, record.audit.version, record.audit.changed_on


class DatasetSource(Protocol):
    """Gives the datasets that questions name."""

    def load(self, datasource: ChartDataDatasource, *, at: Snapshot | None = None) -> LoadedDataset:
        """Return the dataset that a datasource names; an AnalyticsError says why it cannot be asked."""


class StoredDatasets(DatasetSource, Protocol):
    """Gives stored datasets, and databases by their ids."""

    def database(self, database_id: int) -> Database:
        """Return a database; NotFoundError when there is none."""


class GivenDatasets:
    """Gives some datasets in place of the stored ones (a `DatasetSource`).

    Args:
        given: by their ids; an error is why one cannot be asked.
        otherwise: gives all others.
    """

    def __init__(self, given: Mapping[int, LoadedDataset | AnalyticsError], *, otherwise: DatasetSource) -> None:
        self._given = given
        self._otherwise = otherwise

    def load(self, datasource: ChartDataDatasource, *, at: Snapshot | None = None) -> LoadedDataset:
        """Return the given dataset, or else the one that `otherwise` gives."""
        found = self._given.get(datasource.id) if datasource.type in DATASET_TYPES else None
        if isinstance(found, AnalyticsError):
            raise found
        return self._otherwise.load(datasource, at=at) if found is None else found

"""A dataset as questions need it: with its database, its engine, and what names its state."""

from __future__ import annotations

from dataclasses import dataclass, field

from analytics_core._engines.spec import EngineSpec
from analytics_core._records.database import Database
from analytics_core._records.dataset import Dataset
from analytics_core._security.row_rules import RuledDataset, ruled_dataset


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedDataset:
    """A dataset with all that is needed to plan and run queries on it.

    Attributes:
        generation: how often its cached answers were made unreachable.
        ruled: what row rules need to know of it.
        versions: what names this state of it: its id, its version, the database's, and the generation.
    """

    dataset: Dataset
    database: Database
    spec: EngineSpec
    generation: int = 0
    # What every question asks for is put together once.
    ruled: RuledDataset = field(init=False, repr=False, compare=False)
    versions: tuple[int, int, int, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        dataset = self.dataset
        object.__setattr__(self, "ruled", ruled_dataset(dataset))
        versions = (dataset.id, dataset.audit.version, self.database.audit.version, self.generation)
        object.__setattr__(self, "versions", versions)

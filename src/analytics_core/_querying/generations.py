"""Generations of datasets: a number in every cache key, by which kept answers become unreachable at once.

No cache has to find entries by dataset; whatever process wrote them, nobody asks for the old keys again.
"""

from __future__ import annotations

from analytics_core._records.dataset import Dataset
from analytics_core._records.repositories import ListFilter, UnitOfWork
from analytics_core._records.shared_state import KeyValue
from analytics_core.errors import AlreadyExistsError, StaleVersionError

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

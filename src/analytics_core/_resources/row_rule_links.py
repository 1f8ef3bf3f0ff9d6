"""What row rules mean for the datasets that they name: a dataset cannot walk away from its rules."""

from __future__ import annotations

from analytics_core._records.dataset import Dataset
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork


def has_row_rules(unit: UnitOfWork, dataset: Dataset) -> bool:
    """Tell whether a row rule names the dataset."""
    named = ListFilter(col="dataset_ids", op="eq", val=dataset.id)
    return unit.row_rules.list(ListQuery(filters=(named,), page_size=1))[0] > 0


def moves_its_rules(before: Dataset, after: Dataset) -> bool:
    """Tell whether an update would leave the table, on which the rules stand, without them.

    The rules of a virtual dataset stand on no table: they bind the dataset, whatever it reads.
    """
    return not before.sql and _table(before) != _table(after)


def _table(dataset: Dataset) -> tuple[int, str | None, str | None, str, str | None]:
    return dataset.database_id, dataset.catalog, dataset.schema, dataset.table_name, dataset.sql

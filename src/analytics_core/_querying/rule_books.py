"""Reads the stored row rules, and remembers them for a moment: a chart query costs no statement for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from analytics_core._querying.fresh import Fresh
from analytics_core._records.dataset import Dataset
from analytics_core._records.repositories import ListFilter, ListQuery, Repository
from analytics_core._security.row_rules import RuleBook, make_book
from analytics_core.ports import Clock, MetadataStore

Record = TypeVar("Record")
_BATCH = 500
_ALL = "all rules"


class StoredRuleBooks:
    """The rules of a metadata store; a change through the same store counts at once."""

    def __init__(self, store: MetadataStore, clock: Clock, *, freshness_s: float) -> None:
        self._store = store
        self._books: Fresh[str, RuleBook] = Fresh(store, clock, seconds=freshness_s)
        self._tables: Fresh[int, tuple[Dataset, ...]] = Fresh(store, clock, seconds=freshness_s)

    def book(self) -> RuleBook:
        """Return all rules with the datasets that they name; an error of the store stops whatever asks."""
        return self._books.get(_ALL, self._read)

    def tables(self, database_id: int) -> tuple[Dataset, ...]:
        """Return the physical datasets of a database, for hosts' own sources of row filters."""
        return self._tables.get(database_id, lambda: self._read_tables(database_id))

    def _read(self) -> RuleBook:
        with self._store.unit_of_work() as unit:
            rules = tuple(_every(unit.row_rules, ListQuery(page_size=_BATCH)))
            wanted = frozenset(dataset_id for rule in rules for dataset_id in rule.dataset_ids)
            datasets = tuple(_every(unit.datasets, ListQuery(ids=wanted, page_size=_BATCH))) if wanted else ()
        return make_book(rules, datasets)

    def _read_tables(self, database_id: int) -> tuple[Dataset, ...]:
        query = ListQuery(filters=(ListFilter(col="database_id", op="eq", val=database_id),), page_size=_BATCH)
        with self._store.unit_of_work() as unit:
            return tuple(dataset for dataset in _every(unit.datasets, query) if not dataset.sql)


def _every(repository: Repository[Record], query: ListQuery) -> Iterator[Record]:
    page = 0
    while True:
        asked = ListQuery(filters=query.filters, ids=query.ids, page=page, page_size=query.page_size)
        _, records = repository.list(asked)
        yield from records
        if len(records) < query.page_size:
            return
        page += 1

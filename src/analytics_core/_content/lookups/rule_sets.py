"""Reads the stored row rules that concern a question, and remembers them for a moment.

What is read is found by indexes: rules on the dataset, and rules on datasets that may stand over the same tables. How
many others the store holds does not count.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain, count
from operator import attrgetter
from typing import TypeVar

from analytics_core._content.lookups.loading import StoreReadCache
from analytics_core._engine.rights.row_rules import ANY_TABLE, RuleSet, TableName, make_rule_set, table_key
from analytics_core._records.datasource import Dataset
from analytics_core._records.people import RowRule, RowRuleType
from analytics_core._records.repositories import ListFilter, ListQuery, Repository, Snapshot, UnitOfWork
from analytics_core.ports import Clock, MetadataStore

Record = TypeVar("Record")
_BATCH = 500
_MOST_COUNTED = 10_000
_PARTS = frozenset({"columns", "metrics", "owner_ids"})
_NOUNS = ("row rule", "dataset")
_REGULAR = ListFilter(col="filter_type", op="eq", val=RowRuleType.REGULAR.value)
_NOT_REGULAR = replace(_REGULAR, op="neq")
_BookKey = tuple[int, int | None, frozenset[TableName], frozenset[int]]


class StoredRuleSets:
    """The rules of a metadata store; a change through the same store counts at once."""

    def __init__(self, store: MetadataStore, clock: Clock, *, freshness_s: float) -> None:
        self._store = store
        self._books: StoreReadCache[_BookKey, RuleSet] = StoreReadCache(
            store, clock, seconds=freshness_s, capacity=2_000, nouns=_NOUNS
        )
        self._tables: StoreReadCache[tuple[int, TableName], tuple[Dataset, ...]] = StoreReadCache(
            store, clock, seconds=freshness_s, nouns=_NOUNS
        )

    def book(
        self,
        database_id: int,
        dataset_id: int | None,
        tables: frozenset[TableName],
        *,
        role_ids: frozenset[int],
        at: Snapshot | None = None,
    ) -> RuleSet:
        """Return the rules on a dataset and on those that may stand over the tables, for people with these roles.

        An error of the store stops whatever asks.
        """
        key = (database_id, dataset_id, tables, role_ids)
        return self._books.get(key, partial(self._read, *key, at), at=at)

    def book_with_others(
        self, database_id: int, dataset_id: int, tables: frozenset[TableName], *, role_ids: frozenset[int]
    ) -> tuple[RuleSet, int]:
        """Return what `book` does with the first of the rules on other people, and how many more of those there are."""
        with self._store.unit_of_work() as unit:
            over = _over(unit, database_id, tables)
            rules = _rules(unit, over | {dataset_id}, role_ids)
            may_bind = {rule.id for rule in rules}
            on_them = ListFilter(col="dataset_ids", op="in", val=sorted(over | {dataset_id}))
            regular = ListQuery(filters=(on_them, _REGULAR), page_size=_BATCH, count_up_to=_MOST_COUNTED)
            total, first = unit.row_rules.list(regular)
            others = [rule for rule in first if rule.id not in may_bind]
            counted = sum(rule.filter_type is RowRuleType.REGULAR for rule in rules) + len(others)
            return _rule_set(unit, [*rules, *others], over), max(total - counted, 0)

    def tables(self, database_id: int, table: TableName) -> tuple[Dataset, ...]:
        """Return the physical datasets of a database that may stand over a table."""
        return self._tables.get((database_id, table), partial(self._read_tables, database_id, table))

    def _read(
        self,
        database_id: int,
        dataset_id: int | None,
        tables: frozenset[TableName],
        role_ids: frozenset[int],
        at: Snapshot | None,
    ) -> RuleSet:
        with self._store.unit_of_work() if at is None else nullcontext(at.unit) as unit:
            over = _over(unit, database_id, tables)
            ids = over if dataset_id is None else over | {dataset_id}
            return _rule_set(unit, _rules(unit, ids, role_ids) if ids else [], over)

    def _read_tables(self, database_id: int, table: TableName) -> tuple[Dataset, ...]:
        with self._store.unit_of_work() as unit:
            return tuple(unit.datasets.get_many(_over(unit, database_id, (table,))))


def _over(unit: UnitOfWork, database_id: int, tables: Collection[TableName]) -> frozenset[int]:
    """Return the physical datasets of a database that may stand over one of the tables."""
    if not tables:
        return frozenset()
    filters = [ListFilter(col="database_id", op="eq", val=database_id)]
    keys = list(map(table_key, tables))
    if None not in keys:
        filters.append(ListFilter(col="table_key", op="in", val=[*keys, ANY_TABLE]))
    found = set()
    for dataset in _every(unit.datasets, ListQuery(filters=tuple(filters), page_size=_BATCH, without=_PARTS)):
        if not dataset.sql and _may_be_one(dataset, tables):
            found.add(dataset.id)
    return frozenset(found)


def _may_be_one(dataset: Dataset, tables: Collection[TableName]) -> bool:
    own = TableName(table=dataset.table_name, schema=dataset.schema or None, catalog=dataset.catalog or None)
    return own in tables or any(own.may_be(name, two_parts_are_loose=True) for name in tables)


def _rules(unit: UnitOfWork, dataset_ids: Collection[int], role_ids: frozenset[int]) -> list[RowRule]:
    """Return the rules on datasets that may bind somebody with these roles; Base rules bind whom they do not name."""
    on_them = ListFilter(col="dataset_ids", op="in", val=sorted(dataset_ids))
    # Whatever is not Regular is read: a rule of a type that does not decode must stop the question.
    rules = _every(unit.row_rules, ListQuery(filters=(on_them, _NOT_REGULAR), page_size=_BATCH))
    if role_ids:
        named = ListFilter(col="role_ids", op="in", val=sorted(role_ids))
        rules += _every(unit.row_rules, ListQuery(filters=(on_them, _REGULAR, named), page_size=_BATCH))
    return rules


def _rule_set(unit: UnitOfWork, rules: Sequence[RowRule], over: frozenset[int]) -> RuleSet:
    """Return the rules with those datasets over the tables that they name."""
    ruled = over.intersection(chain.from_iterable(map(attrgetter("dataset_ids"), rules)))
    return make_rule_set(rules, unit.datasets.get_many(ruled) if ruled else ())


def _every(repository: Repository[Record], query: ListQuery) -> list[Record]:
    found: list[Record] = []
    for page in count():
        _, records = repository.list(replace(query, page=page))
        found += records
        if len(records) < query.page_size:
            break
    return found

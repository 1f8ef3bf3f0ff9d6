"""Which stored row rules bind an actor, on a dataset and on each relation that a virtual dataset reads.

A rule belongs to its datasets, and so to their tables: it also binds other datasets over the same table, and the
relations inside virtual datasets. Names of tables are compared without case, and a part that is not written (a schema,
a catalog) is every one: in doubt a rule binds.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from analytics_core._records.datasource import Dataset
from analytics_core._records.people import RowFilter, RowRule, RowRuleType
from analytics_core._records.repositories import Snapshot

ANY_TABLE: Final = "*"
"""The key of datasets whose name may lead to any table."""

_ADDED: Final = re.compile(r"[$@]")
_ACCENTS: Final = frozenset(map(chr, range(0x300, 0x370)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableName:
    """A table of a database as somebody wrote it; None stands for a part that was left out."""

    table: str
    schema: str | None = None
    catalog: str | None = None

    def may_be(self, other: TableName, *, two_parts_are_loose: bool = False) -> bool:
        """Tell whether both may name one table; `two_parts_are_loose`: `a.t` may be catalog `a` and no schema."""
        if not (_may_name(self.table, other.table) or _may_name(other.table, self.table)):
            return False
        if not _alike(self.catalog, other.catalog):
            return False
        return _alike(self.schema, other.schema) or (two_parts_are_loose and not (self.catalog and other.catalog))


@dataclass(frozen=True, slots=True, kw_only=True)
class RuledDataset:
    """What rules need to know of a dataset; `name` is None for a virtual one, `columns` are (name, type)."""

    id: int
    database_id: int
    name: TableName | None
    columns: tuple[tuple[str, str | None], ...]


def ruled_dataset(dataset: Dataset) -> RuledDataset:
    """Return what rules need to know of a stored dataset."""
    name = TableName(table=dataset.table_name, schema=dataset.schema or None, catalog=dataset.catalog or None)
    return RuledDataset(
        id=dataset.id,
        database_id=dataset.database_id,
        name=None if dataset.sql else name,
        columns=tuple([(c.column_name, c.type) for c in dataset.columns if not c.expression]),
    )


def table_key(name: TableName) -> str | None:
    """Return what two names have in common that may lead to one table: equal for `orders`, `sales.orders`, `ORDERS`.

    Names with different keys never name one table, so that stores find datasets over a table by an index. None: the
    name may lead to tables of any key.
    """
    folded = _folded(name.table)
    plain = _ADDED.split(folded, 1)[0]
    if folded.endswith("*") or "." in folded[len(plain) :]:
        return None
    return hashlib.blake2b(plain.rpartition(".")[2].encode(), digest_size=16).hexdigest()


def key_of_table(dataset: Dataset) -> str:
    """Return by which key a store finds a dataset: of its table, `ANY_TABLE`, or empty for a virtual dataset."""
    name = ruled_dataset(dataset).name
    return "" if name is None else table_key(name) or ANY_TABLE


def binds(rule: RowRule, role_ids: frozenset[int]) -> bool:
    """Tell whether a rule binds somebody with these roles; being an administrator exempts nobody."""
    has_role = not role_ids.isdisjoint(rule.role_ids)
    return has_role if rule.filter_type is RowRuleType.REGULAR else not has_role


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleUnit:
    """Rules of which one must hold: a rule without a group, or the rules of one group; `dataset` is where they stand.

    `dataset.columns` are the columns that their clauses may use.
    """

    rules: tuple[RowRule, ...]
    dataset: RuledDataset
    is_own: bool

    def filters(self, *, for_guest: bool) -> Iterator[RowFilter]:
        """Yield the rules as row filters; a group is one dataset's own, so that no other dataset's rule widens it.

        Guests learn of a rule that stops their query by its number, and not what it is called.
        """
        for rule in self.rules:
            yield RowFilter(
                name=str(rule.id) if for_guest else f"{rule.id} {rule.name!r}",
                clause=rule.clause,
                group_key=f"{rule.group_key} on dataset {self.dataset.id}" if rule.group_key else None,
                columns=None if self.is_own else self.dataset.columns,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """The stored rules that concern a question, with their datasets; `digest` is equal for equal books."""

    rules: tuple[RowRule, ...] = ()
    datasets: Mapping[int, RuledDataset] = field(default_factory=dict)
    digest: str = ""

    def on_dataset(self, role_ids: frozenset[int], dataset: RuledDataset) -> tuple[RuleUnit, ...]:
        """Return what binds on a dataset: its own rules first, then those of other datasets over the same table."""
        found = [*self._units(role_ids, dataset, is_own=True)]
        if dataset.name is not None:
            others = self._over(dataset.database_id, dataset.name, two_parts_are_loose=False)
            found += [unit for other in others if other.id != dataset.id for unit in self._units(role_ids, other)]
        return _without_weaker(found)

    def on_table(
        self, role_ids: frozenset[int], database_id: int, name: TableName, *, two_parts_are_loose: bool
    ) -> tuple[RuleUnit, ...]:
        """Return what binds on a table that the SQL of a virtual dataset reads."""
        over = self._over(database_id, name, two_parts_are_loose=two_parts_are_loose)
        return _without_weaker([unit for dataset in over for unit in self._units(role_ids, dataset)])

    def concerning(self, dataset: RuledDataset) -> Iterator[tuple[RowRule, str]]:
        """Yield every rule on a dataset or on its table, binding or not, and on what it is a rule."""
        yield from ((rule, "this dataset") for rule in self.rules if dataset.id in rule.dataset_ids)
        if dataset.name is None:
            return
        for rule in self.rules_over(dataset.database_id, dataset.name, two_parts_are_loose=False):
            if dataset.id not in rule.dataset_ids:
                yield rule, "another dataset over the same table"

    def rules_over(self, database_id: int, name: TableName, *, two_parts_are_loose: bool) -> tuple[RowRule, ...]:
        """Return every rule on a table, binding or not."""
        ids = {dataset.id for dataset in self._over(database_id, name, two_parts_are_loose=two_parts_are_loose)}
        return tuple(rule for rule in self.rules if not ids.isdisjoint(rule.dataset_ids))

    def _over(self, database_id: int, name: TableName, *, two_parts_are_loose: bool) -> Iterator[RuledDataset]:
        for dataset in self.datasets.values():
            if dataset.name is None or dataset.database_id != database_id:
                continue
            if dataset.name.may_be(name, two_parts_are_loose=two_parts_are_loose):
                yield dataset

    def _units(self, role_ids: frozenset[int], dataset: RuledDataset, *, is_own: bool = False) -> Iterator[RuleUnit]:
        groups: dict[str, list[RowRule]] = {}
        for rule in self.rules:
            if dataset.id not in rule.dataset_ids or not binds(rule, role_ids):
                continue
            if rule.group_key:
                groups.setdefault(rule.group_key, []).append(rule)
            else:
                yield RuleUnit(rules=(rule,), dataset=dataset, is_own=is_own)
        for members in groups.values():
            yield RuleUnit(rules=tuple(members), dataset=dataset, is_own=is_own)


def make_rule_set(rules: Iterable[RowRule], datasets: Iterable[Dataset]) -> RuleSet:
    """Return the book of rules and the datasets that they name."""
    ordered = tuple(sorted(rules, key=lambda rule: rule.id))
    known = {dataset.id: ruled_dataset(dataset) for dataset in sorted(datasets, key=lambda dataset: dataset.id)}
    facts = [(r.id, r.name, r.clause, r.filter_type, r.group_key, r.role_ids, r.dataset_ids) for r in ordered]
    digest = hashlib.sha256(repr((facts, list(known.values()))).encode()).hexdigest()
    return RuleSet(rules=ordered, datasets=known, digest=digest)


def _without_weaker(units: Sequence[RuleUnit]) -> tuple[RuleUnit, ...]:
    """Return the units without those that another one implies: `a` implies `a OR b`, and so does `a` once more."""
    found: list[RuleUnit] = []
    seen: list[frozenset[int]] = []
    for unit in units:
        ids = frozenset(rule.id for rule in unit.rules)
        if not any(stronger <= ids for stronger in seen):
            found.append(unit)
            seen.append(ids)
    return tuple(found)


def _may_name(written: str, table: str) -> bool:
    """Tell whether a written name may lead to a table: by itself, or by what engines add to names.

    `t$partitions` and `t@v1` are parts of a table or older states of it, `t*` is every table that begins so, `s.t` in
    one pair of quotes is the table of a schema, and blanks at the end do not count everywhere. Nor do accents and wide
    letters on SQL Server, by the collation of its database.
    """
    written, table = _folded(written), _folded(table)
    if written == table or written.endswith(f".{table}"):
        return True
    if written.endswith("*"):
        return table.startswith(written[:-1])
    return written.startswith((f"{table}$", f"{table}@"))


def _alike(first: str | None, second: str | None) -> bool:
    return not first or not second or _folded(first) == _folded(second)


def _folded(name: str) -> str:
    if name.isascii():
        return name.casefold().rstrip()
    letters = unicodedata.normalize("NFKD", name.casefold())
    return "".join(letter for letter in letters if letter not in _ACCENTS).casefold().rstrip()


class StoredRules(Protocol):
    """Gives the stored rules that concern questions."""

    def book(
        self,
        database_id: int,
        dataset_id: int | None,
        tables: frozenset[TableName],
        *,
        role_ids: frozenset[int],
        at: Snapshot | None = None,
    ) -> RuleSet:
        """Return what may bind people with these roles on a dataset and on those that may stand over the tables."""

    def book_with_others(
        self, database_id: int, dataset_id: int, tables: frozenset[TableName], *, role_ids: frozenset[int]
    ) -> tuple[RuleSet, int]:
        """Return what `book` does with some of the rules on other people, and how many more of those there are."""

    def tables(self, database_id: int, table: TableName) -> tuple[Dataset, ...]:
        """Return the physical datasets of a database that may stand over a table."""

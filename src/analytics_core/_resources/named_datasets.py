"""Finds datasets by the names of their database and table, and tells nobody which ones there are.

A name is a guess where an id is a number: whoever may not read a dataset gets the same answer as for one that is not
there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analytics_core._error_texts import short_repr
from analytics_core._records.database import Database
from analytics_core._records.dataset import Dataset
from analytics_core._records.repositories import ListFilter, UnitOfWork
from analytics_core._resources.visibility import every
from analytics_core._security.actor import Actor
from analytics_core._security.policy import Act, Policy
from analytics_core.errors import DatasetAccessError, NotFoundError


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetName:
    """A dataset by name; `schema` None is the database's default one, `database` None any."""

    database: str | None
    schema: str | None
    table: str

    def __str__(self) -> str:
        return ".".join(part for part in (self.database, self.schema, self.table) if part)


def datasets_by_name(
    unit: UnitOfWork, policy: Policy, actor: Actor, names: Sequence[DatasetName]
) -> tuple[Dataset, ...]:
    """Return the datasets of these names, all read together; a name without a database may mean several.

    Raises:
        NotFoundError: there is no such dataset, and the actor would see it.
        DatasetAccessError: the actor may not read it, or it is not there.
    """
    databases = _databases(unit, {name.database for name in names if name.database is not None})
    anywhere = any(name.database is None for name in names)
    known = _datasets(unit, None if anywhere else databases.values(), names)
    found: dict[int, Dataset] = {}
    for name in names:
        database = databases.get(name.database or "")
        meant = [dataset for dataset in known if _is_meant(dataset, name, database)]
        readable = [dataset for dataset in meant if policy.can_read_dataset(actor, dataset)]
        if not readable:
            raise _refusal(policy, actor, database, next(iter(meant), None), schema=name.schema, name=str(name))
        found.update((dataset.id, dataset) for dataset in readable)
    return tuple(found.values())


def dataset_called(unit: UnitOfWork, policy: Policy, actor: Actor, name: str) -> Dataset:
    """Return the one dataset of a name, `table` or `schema.table`, that the actor may read.

    Raises:
        NotFoundError: there is none, or there are several.
    """
    schema, _, table = name.rpartition(".")
    wanted = {(None, name), *([(schema, table)] if schema else ())}
    tables = ListFilter(col="table_name", op="in", val=sorted({one for _, one in wanted}))
    named = [dataset for dataset in every(unit.datasets, (tables,)) if policy.can_read_dataset(actor, dataset)]
    exact = [d for d in named if (None, d.table_name) in wanted or (d.schema, d.table_name) in wanted]
    if len(exact) == 1:
        return exact[0]
    if not exact:
        raise NotFoundError("dataset", name)
    ids = ", ".join(str(dataset.id) for dataset in exact)
    raise NotFoundError("dataset", name, place=f"one dataset alone: {ids} are called so; get one by its id")


def _is_meant(dataset: Dataset, name: DatasetName, database: Database | None) -> bool:
    if name.database is not None and (database is None or dataset.database_id != database.id):
        return False
    return (dataset.schema, dataset.table_name) == (name.schema, name.table)


def datasets_of_table(
    unit: UnitOfWork, policy: Policy, actor: Actor, *, database: str, table: str
) -> tuple[Dataset, ...]:
    """Return the datasets of a table's name, in any schema, that the actor may read; errors as `datasets_by_name`."""
    stored = _databases(unit, {database}).get(database)
    name = DatasetName(database=database, schema=None, table=table)
    found = () if stored is None else _datasets(unit, (stored,), (name,), any_catalog=True)
    readable = tuple(dataset for dataset in found if policy.can_read_dataset(actor, dataset))
    if not readable:
        raise _refusal(policy, actor, stored, next(iter(found), None), schema=None, name=str(name))
    return readable


def _databases(unit: UnitOfWork, names: set[str]) -> dict[str, Database]:
    named = (ListFilter(col="database_name", op="in", val=tuple(names)),)
    return {database.database_name: database for database in every(unit.databases, named)} if names else {}


def _datasets(
    unit: UnitOfWork, databases: Iterable[Database] | None, names: Iterable[DatasetName], *, any_catalog: bool = False
) -> tuple[Dataset, ...]:
    """Return the datasets of these tables in these databases (None: in all)."""
    of_them = [ListFilter(col="table_name", op="in", val=tuple({name.table for name in names}))]
    if databases is not None:
        ids = tuple(database.id for database in databases)
        if not ids:
            return ()
        of_them.append(ListFilter(col="database_id", op="in", val=ids))
    return tuple(dataset for dataset in every(unit.datasets, tuple(of_them)) if any_catalog or dataset.catalog is None)


def _refusal(
    policy: Policy, actor: Actor, database: Database | None, dataset: Dataset | None, *, schema: str | None, name: str
) -> NotFoundError | DatasetAccessError:
    if database is None:
        would_see = policy.sees_all(Act.READ_DATASET, actor)
    else:
        would_see = policy.can_read_tables(actor, database, schema=schema)
    if dataset is None and would_see:
        return NotFoundError("dataset", name)
    return DatasetAccessError(
        f"there is no dataset {short_repr(name)} that you may read; ask an administrator for a grant on it, or on its "
        "database"
    )

"""What callers call datasets, by number (`1__table`) or by name (`sales.orders`), and the datasets that they mean.

A name is a guess where a number is none: whoever may not read a dataset of a name gets the same answer as for one that
is not there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from analytics_core._content.batches import by_ids, every
from analytics_core._content.reader import Reader
from analytics_core._engine.querying.stored_statements import STATEMENT_TYPES, statement_dataset
from analytics_core._engine.rights.policy import Permission
from analytics_core._records.chart import DATASET_TYPES
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.repositories import ListFilter, UnitOfWork
from analytics_core.errors import DatasetAccessError, NotFoundError
from analytics_core.errors.base import short_repr
from analytics_core.models.enums import DatasourceType
from analytics_core.models.parsing import payload_error
from analytics_core.models.query import ChartDataDatasource

_UID = re.compile(r"([0-9]{1,10})__([a-z_]{1,20})")
_KINDS = frozenset(kind.value for kind in DatasourceType)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A datasource by id and type (contract, enum `datasource_type`)."""

    id: int
    type: str

    @property
    def uid(self) -> str:
        """The text that means this datasource, for example `1__table`."""
        return f"{self.id}__{self.type}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QualifiedDatasetName:
    """A dataset by name; `schema` None is the database's default one, `database` None any."""

    database: str | None
    schema: str | None
    table: str

    def __str__(self) -> str:
        return ".".join(part for part in (self.database, self.schema, self.table) if part)


def parse_source(given: Any, *, shape: str, place: str) -> Source:
    """Return the datasource of a uid such as `1__table`, of `{"id": 1, "type": "table"}` or of a dataset's id.

    Raises:
        PayloadSchemaError: it is none of these.
    """
    match given:
        case bool():
            pass
        case int():
            return Source(id=given, type=DatasourceType.TABLE.value)
        case str() if (found := _UID.fullmatch(given)) and found[2] in _KINDS:
            return Source(id=int(found[1]), type=found[2])
        case ChartDataDatasource(id=key, type=DatasourceType() as model_kind):
            return Source(id=key, type=model_kind.value)
        case {"id": int(key), "type": str(kind)} if kind in _KINDS and not isinstance(key, bool):
            return Source(id=key, type=kind)
    message = 'must name a datasource, for example "1__table" or {"id": 1, "type": "table"}'
    raise payload_error(shape, place, message)


def dataset_of_source(reader: Reader, source: Source) -> Dataset:
    """Return the dataset of a datasource; a stored statement is one without columns.

    Raises:
        NotFoundError: there is no such dataset, or the datasource is of a type of which nothing is stored.
        DatasetAccessError: the actor may not read it.
        AccessError: the actor may not run the stored statement.
    """
    if source.type in STATEMENT_TYPES:
        return statement_dataset(reader.unit, reader.policy, reader.actor, kind=source.type, key=source.id)[0]
    return datasets_of_sources(reader, (source,))[0]


def datasets_of_sources(reader: Reader, sources: Sequence[Source]) -> tuple[Dataset, ...]:
    """Return the datasets of datasources, all read together; errors as in `dataset_of_source`."""
    strange = next((source for source in sources if source.type not in DATASET_TYPES), None)
    if strange is not None:
        raise NotFoundError(f"{strange.type} datasource", strange.id)
    found = by_ids(reader.unit.datasets, (source.id for source in sources))
    for source in sources:
        if source.id not in found:
            raise NotFoundError("dataset", source.id)
        reader.require_dataset(found[source.id])
    return tuple(found[source.id] for source in sources)


def datasets_by_name(reader: Reader, names: Sequence[QualifiedDatasetName]) -> tuple[Dataset, ...]:
    """Return the datasets of these names, all read together; a name without a database may mean several.

    Raises:
        NotFoundError: there is no such dataset, and the actor would see it.
        DatasetAccessError: the actor may not read it, or it is not there.
    """
    databases = _databases(reader.unit, {name.database for name in names if name.database is not None})
    anywhere = any(name.database is None for name in names)
    known = _datasets(reader.unit, None if anywhere else databases.values(), names)
    found: dict[int, Dataset] = {}
    for name in names:
        database = None if name.database is None else databases.get(name.database)
        meant = [dataset for dataset in known if _is_meant(dataset, name, database)]
        readable = reader.among_datasets(meant)
        if not readable:
            raise _rejection(reader, database, next(iter(meant), None), schema=name.schema, name=str(name))
        found.update((dataset.id, dataset) for dataset in readable)
    return tuple(found.values())


def dataset_called(reader: Reader, name: str) -> Dataset:
    """Return the one dataset of a name, `table` or `schema.table`, that the actor may read.

    Raises:
        NotFoundError: there is none, or there are several.
    """
    schema, _, table = name.rpartition(".")
    wanted = {(None, name), *([(schema, table)] if schema else ())}
    tables = ListFilter(col="table_name", op="in", val=sorted({one for _, one in wanted}))
    named = reader.among_datasets(every(reader.unit.datasets, (tables,)))
    exact = [d for d in named if (None, d.table_name) in wanted or (d.schema, d.table_name) in wanted]
    if len(exact) == 1:
        return exact[0]
    if not exact:
        raise NotFoundError("dataset", name)
    ids = ", ".join(str(dataset.id) for dataset in exact)
    raise NotFoundError("dataset", name, place=f"one dataset alone: {ids} are called so; get one by its id")


def _is_meant(dataset: Dataset, name: QualifiedDatasetName, database: Database | None) -> bool:
    if name.database is not None and (database is None or dataset.database_id != database.id):
        return False
    return (dataset.schema, dataset.table_name) == (name.schema, name.table)


def datasets_of_table(reader: Reader, *, database: str, table: str) -> tuple[Dataset, ...]:
    """Return the datasets of a table's name, in any schema, that the actor may read; errors as `datasets_by_name`."""
    stored = _databases(reader.unit, {database}).get(database)
    name = QualifiedDatasetName(database=database, schema=None, table=table)
    found = () if stored is None else _datasets(reader.unit, (stored,), (name,), any_catalog=True)
    readable = reader.among_datasets(found)
    if not readable:
        raise _rejection(reader, stored, next(iter(found), None), schema=None, name=str(name))
    return readable


def _databases(unit: UnitOfWork, names: set[str]) -> dict[str, Database]:
    named = (ListFilter(col="database_name", op="in", val=tuple(names)),)
    return {database.database_name: database for database in every(unit.databases, named)} if names else {}


def _datasets(
    unit: UnitOfWork,
    databases: Iterable[Database] | None,
    names: Iterable[QualifiedDatasetName],
    *,
    any_catalog: bool = False,
) -> tuple[Dataset, ...]:
    """Return the datasets of these tables in these databases (None: in all)."""
    of_them = [ListFilter(col="table_name", op="in", val=tuple({name.table for name in names}))]
    if databases is not None:
        ids = tuple(database.id for database in databases)
        if not ids:
            return ()
        of_them.append(ListFilter(col="database_id", op="in", val=ids))
    return tuple(dataset for dataset in every(unit.datasets, tuple(of_them)) if any_catalog or dataset.catalog is None)


def _rejection(
    reader: Reader, database: Database | None, dataset: Dataset | None, *, schema: str | None, name: str
) -> NotFoundError | DatasetAccessError:
    if database is None:
        would_see = reader.policy.sees_all(Permission.READ_DATASET, reader.actor)
    else:
        would_see = reader.policy.can_read_tables(reader.actor, database, schema=schema)
    if dataset is None and would_see:
        return NotFoundError("dataset", name)
    return DatasetAccessError(
        f"there is no dataset {short_repr(name)} that you may read; ask an administrator for a grant on it, or on its "
        "database"
    )

"""What was handed over, as a database and its datasets."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import uuid4

import sqlalchemy as sa

from analytics_core._content.batches import every
from analytics_core._content.changes import until_accepted
from analytics_core._content.runtime import ContentRuntime
from analytics_core._engine.execution.handed_over import (
    MARK,
    HandedEngine,
    HandedOver,
    HandedOverConnector,
    HandedTable,
    HandedTables,
    is_marked,
)
from analytics_core._engine.network import is_host
from analytics_core._notebook.sources import taking
from analytics_core._notebook.sources.in_memory import enough_memory
from analytics_core._notebook.sources.reading import FileReading
from analytics_core._notebook.sources.taking import DatabaseFile
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.repositories import ListFilter
from analytics_core.errors import AlreadyExistsError, DatabaseError, SourceError
from analytics_core.models.dataset import DatasetGet

if TYPE_CHECKING:
    from analytics_core._content.charts.namespace import Charts
    from analytics_core._content.databases.namespace import Databases
    from analytics_core._content.datasets.namespace import Datasets

_FRAMES: Final = "frames"
"""The database of frames that were handed over to a core which had none."""

_MOST_TABLES: Final = 100
"""A database of more tables is connected without a dataset for each."""


class Registry(Protocol):
    """The namespaces in which databases and datasets are registered, and asked once."""

    @property
    def databases(self) -> Databases:
        """The databases."""

    @property
    def datasets(self) -> Datasets:
        """The datasets."""

    @property
    def charts(self) -> Charts:
        """The charts."""


def url_of(file: DatabaseFile) -> str:
    """Return the URL of the file of a database; SourceError for a path that no URL can name."""
    url = sa.URL.create(file.engine, database=str(file.path)).render_as_string()
    if sa.make_url(url).database != str(file.path):
        raise SourceError(f"the path of {file.path.name!r} has characters that no URL can hold; rename it")
    return url


def add_database(core: Registry, runtime: ContentRuntime, source: HandedOver, *, name: str) -> int:
    """Store the database of what was handed over, and return its id."""
    connector, uuid = _connector(runtime), str(uuid4())
    connector.hand_over(uuid, source)
    try:
        payload = {"database_name": name, "orm_uri": _uri(source), "uuid": uuid, "extra": json.dumps({MARK: True})}
        return _id(core.databases.create(payload))
    except BaseException:  # whatever happens, an interruption too: it is not held for ever
        connector.take_back(uuid)
        raise


def add_datasets(core: Registry, database_id: int, source: HandedOver | DatabaseFile) -> None:
    """Store a dataset for each table; a database of more than a hundred tables gets none."""
    if isinstance(source, HandedTables):
        made = [_dataset_of(core, database_id, name, table) for name, table in source.tables.items()]
        _read_one_row(core, made[0])
        return
    tables = [table.value for table in core.databases.tables(database_id) if table.value]
    for table in tables if len(tables) <= _MOST_TABLES else ():
        with suppress(DatabaseError):  # a view that is broken is no dataset; whoever asks for it is told why
            core.datasets._created({"database": database_id, "table_name": table})  # an answer would be thrown away


def _dataset_of(core: Registry, database_id: int, name: str, table: HandedTable) -> DatasetGet:
    """Store a dataset of a table; what was read in one of several ways is its description."""
    made = core.datasets.create({"database": database_id, "table_name": name})
    return core.datasets.update(made.id, {"description": "\n".join(table.notes)}) if table.notes else made


def warn_of_guesses(tables: Mapping[str, HandedTable], *, stacklevel: int) -> None:
    """Warn of what was read in one of several ways; `stacklevel` is that of the caller's line."""
    for name, table in tables.items():
        if table.notes:
            text = "\n".join(table.notes)
            warnings.warn(f"dataset {name!r}: {text}", stacklevel=stacklevel + 1)


def _read_one_row(core: Registry, dataset: DatasetGet) -> None:
    """Ask for a row as everybody will: what cannot be read shows now, and the first question finds all ready."""
    query = {"columns": [dataset.columns[0].column_name], "row_limit": 1}
    payload = {"datasource": {"id": dataset.id, "type": "table"}, "queries": [query]}
    core.charts.data(payload).raise_for_error()


def dataset_from(
    core: Registry, runtime: ContentRuntime, thing: Any, name: str, reading: FileReading, *, may_replace: bool
) -> DatasetGet:
    """Store a dataset of a frame or of files, or put them in the place of the one of this name; see the facade."""
    taking.check_name(name)
    connector = _connector(runtime)
    with enough_memory():
        table = taking.table(thing, name, reading)
    warn_of_guesses({name: table}, stacklevel=3)
    database = _database_of_tables(core, runtime, connector)
    known = _dataset_called(runtime, name, database, may_replace=may_replace)
    before = connector.put_table(database.uuid, name, table)
    try:
        if known is None:
            return _dataset_of(core, database.id, name, table)
        until_accepted(partial(_renew, runtime, database.id))
        return core.datasets.refresh(known.id)
    except BaseException:  # whatever happens, an interruption too: what was there is there
        connector.put_table(database.uuid, name, before)
        raise


def _renew(runtime: ContentRuntime, database_id: int) -> None:
    """Store a database as it is: its version is in the keys of all answers that were kept."""
    with runtime.store.unit_of_work() as unit:
        stored = unit.databases.get(database_id)
        unit.databases.update(stored, actor_id=stored.audit.changed_by)
    runtime.engine.connections.connector.dispose(database_id)


def _connector(runtime: ContentRuntime) -> HandedOverConnector:
    if not isinstance(runtime.engine.connections.connector, HandedOverConnector):
        raise SourceError(
            "this core reaches databases by a connector of the host's own, which takes nothing in hand; make a core "
            "without connector="
        )
    return runtime.engine.connections.connector


def _uri(source: HandedOver) -> str:
    """Return a URI that names engine and place, without a secret; nothing is reached by it."""
    if not isinstance(source, HandedEngine):
        return "duckdb://"
    dialect, url = source.engine.dialect, source.engine.url
    host = url.host if url.host and is_host(url.host) else None
    named = sa.URL.create(
        f"{dialect.name}+{dialect.driver}", host=host, port=url.port if host else None, database=url.database
    )
    return named.render_as_string()


def _database_of_tables(core: Registry, runtime: ContentRuntime, connector: HandedOverConnector) -> Database:
    """Return the database of what was handed over to this core before, or else the one called `frames`, made now."""
    uuids = tuple(connector.handed_tables())
    found = _databases(runtime, ListFilter(col="uuid", op="in", val=uuids)) if uuids else []
    if found:
        return found[0]
    by_name = ListFilter(col="database_name", op="eq", val=_FRAMES)
    if not _databases(runtime, by_name):
        add_database(core, runtime, HandedTables(), name=_FRAMES)
    database = _databases(runtime, by_name)[0]
    if not is_marked(database.extra):
        hint = "frames go into one of this name; rename the database that has it"
        raise AlreadyExistsError("database", "database_name", _FRAMES, hint=hint)
    return database


def _databases(runtime: ContentRuntime, condition: ListFilter) -> list[Database]:
    with runtime.store.unit_of_work() as unit:
        return list(every(unit.databases, (condition,)))


def _dataset_called(runtime: ContentRuntime, name: str, database: Database, *, may_replace: bool) -> Dataset | None:
    """Return the dataset whose place is taken; AlreadyExistsError for one that stays."""
    with runtime.store.unit_of_work() as unit:
        known = list(every(unit.datasets, (ListFilter(col="table_name", op="eq", val=name),)))
    here = next((dataset for dataset in known if dataset.database_id == database.id and dataset.sql is None), None)
    if known and here is None:
        hint = "it is of another database, and stays; choose another name"
        raise AlreadyExistsError("dataset", "name", name, hint=hint)
    if here is not None and not may_replace:
        raise AlreadyExistsError("dataset", "name", name, hint="replace=True puts this one in its place")
    return here


def _id(record: Any) -> int:
    return int(record.id)

"""Statements that the SQL editor stores, each asked by chart queries as if it were a virtual dataset."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from typing import Final

from analytics_core._engine.engines.registry import EngineRegistry
from analytics_core._engine.gate.loaded_datasets import LoadedDataset
from analytics_core._engine.gate.metadata import MetadataReader
from analytics_core._engine.querying.chart_request import ChartRequest
from analytics_core._engine.querying.templating import QueryTemplates
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.policy import Policy
from analytics_core._records.datasource import Database, Dataset, DatasetColumn
from analytics_core._records.repositories import UnitOfWork
from analytics_core._records.sql_query import SavedQuery, SqlQuery
from analytics_core.errors import DatabaseAccessError, QueryAccessError
from analytics_core.models.enums import DatasourceType
from analytics_core.models.query import ChartDataDatasource
from analytics_core.ports import MetadataStore

STATEMENT_TYPES: Final = frozenset({DatasourceType.QUERY.value, DatasourceType.SAVED_QUERY.value})
"""Types of datasources that are stored statements: executions and saved queries."""


def require_open_editor(database: Database) -> None:
    """Raise DatabaseAccessError where nobody may run SQL of their own on a database."""
    if not database.expose_in_sqllab:
        raise DatabaseAccessError(
            f"database {database.id} is closed to the SQL editor; an administrator may set expose_in_sqllab"
        )


def require_own_query(policy: Policy, actor: Actor, query: SqlQuery) -> None:
    """Raise QueryAccessError for the execution of somebody else, but to those who see the activity of all."""
    if query.user_id != actor.id and not policy.reads_all_activity(actor):
        raise QueryAccessError(f"query {query.id} is somebody else's; ask an administrator")


def statement_dataset(
    unit: UnitOfWork, policy: Policy, actor: Actor, *, kind: str, key: int
) -> tuple[Dataset, Database]:
    """Return a stored statement as a virtual dataset without columns, and its database.

    Its UUID tells an execution, a saved query and a dataset of one id apart; its version is that of the record. Whoever
    gets it may see the statement: which of its tables they may read is decided when it runs.

    Raises:
        NotFoundError: there is none.
        QueryAccessError: it is the execution of somebody else.
        DatabaseAccessError: it is the saved query of somebody else, which takes a grant on the whole database, or the
            database is closed to the editor.
    """
    if kind == DatasourceType.QUERY.value:
        query = unit.sql_queries.get(key)
        require_own_query(policy, actor, query)
        name, uuid = f"query {query.id}", f"query {query.job_id}"
        record: SqlQuery | SavedQuery = query
    else:
        record = saved = unit.saved_queries.get(key)
        name, uuid = saved.label, f"saved query {saved.uuid}"
    database = unit.databases.get(record.database_id)
    require_open_editor(database)
    if isinstance(record, SavedQuery) and record.audit.created_by != actor.stored_id:
        policy.require_query_database(actor, database)
    dataset = Dataset(
        audit=record.audit,
        uuid=uuid,
        database_id=database.id,
        table_name=name,
        schema=record.schema,
        sql=record.sql,
        template_params=record.template_params,
        is_sqllab_view=True,
    )
    return dataset, database


ColumnCache = Callable[[Hashable, Callable[[], tuple[DatasetColumn, ...]]], tuple[DatasetColumn, ...]]
"""Gives what is believed under a key, else what the function finds."""


class StoredStatements:
    """Gives stored statements as datasets; the columns that a database told are believed for a moment."""

    def __init__(
        self,
        store: MetadataStore,
        registry: EngineRegistry,
        policy: Policy,
        metadata: MetadataReader,
        templates: QueryTemplates,
        *,
        columns: ColumnCache,
    ) -> None:
        self._store = store
        self._registry = registry
        self._policy = policy
        self._metadata = metadata
        self._templates = templates
        self._columns = columns

    def load(self, request: ChartRequest, datasource: ChartDataDatasource) -> LoadedDataset:
        """Return a stored statement with its columns, as the actor of a request may ask it.

        Raises:
            AnalyticsError: as for `statement_dataset`.
            TableAccessError: it reads tables on which the actor has no grant.
            VirtualDatasetError, StatementRefusedError, TemplateError: it is not one SELECT that can be asked.
            DatabaseError: the database refuses it, or cannot be reached.
        """
        with self._store.unit_of_work() as unit:
            kind = str(datasource.type)
            plain, database = statement_dataset(unit, self._policy, request.actor, kind=kind, key=datasource.id)
        spec = self._registry.get(database.engine)
        loaded = LoadedDataset(dataset=plain, database=database, spec=spec, is_statement=True)
        key = (request.actor, loaded.versions)
        columns = self._columns(key, partial(self._found, request, loaded))
        main = next((column.column_name for column in columns if column.is_dttm), None)
        return replace(loaded, dataset=replace(plain, columns=columns, main_dttm_col=main))

    def _found(self, request: ChartRequest, loaded: LoadedDataset) -> tuple[DatasetColumn, ...]:
        sql = self._templates.sample_source(loaded.dataset, loaded.spec, request)
        found = self._metadata.columns_of(request.actor, loaded.dataset, loaded.database, sql=sql, is_statement=True)
        return tuple(column.as_dataset_column() for column in found)

"""What one table of a database holds, without a dataset over it: its structure, a statement of it, its first rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from analytics_core._engine.compile.plan import SqlSource
from analytics_core._engine.compile.render import render_source
from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.compile.table_preview import select_star
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.execution.connections import Admission
from analytics_core._engine.execution.fetching import FetchLimits
from analytics_core._engine.execution.reflection import Reflector
from analytics_core._engine.execution.sessions.table_details import TableDetails
from analytics_core._engine.frames.frame import Frame
from analytics_core._engine.gate.gate import Gate, SchemaTables
from analytics_core._engine.gate.guard import check_select
from analytics_core._engine.gate.metadata import FoundColumn, with_kinds
from analytics_core._engine.gate.relations import reject_revealing_table
from analytics_core._engine.gate.row_security import RowSecurity
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.datasource import Database, Dataset, DatasetColumn
from analytics_core._records.settings import Settings
from analytics_core.errors import DatabaseAccessError

NO_PREVIEW = "disable_data_preview"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTable:
    """A table as its database describes it, with the SELECT of its first rows as people would write it."""

    columns: tuple[FoundColumn, ...]
    details: TableDetails
    select_star: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledRows:
    """The first rows of a table that somebody may see; `was_cut`: there are more."""

    columns: tuple[FoundColumn, ...]
    frame: Frame
    was_cut: bool


class TableReader:
    """Looks at tables of databases for those who may read their schema; any thread may use it."""

    def __init__(self, *, gate: Gate, reflector: Reflector, row_security: RowSecurity, settings: Settings) -> None:
        self._gate = gate
        self._reflector = reflector
        self._row_security = row_security
        self._settings = settings

    def describe(self, actor: Actor, database: Database, table: str, *, schema: str | None, rows: int) -> FoundTable:
        """Return columns, keys, indexes and comments of a table or view, and the SELECT of its first `rows`.

        Raises:
            DatabaseAccessError: the actor may not read this schema.
            StatementRefusedError: nobody may read this table.
            DatabaseError: there is no such table, or the database cannot be reached.
        """
        admission, named, columns = self._columns(actor, database, table, schema)
        details = self._reflector.details(admission, table=table, schema=schema)
        return FoundTable(columns=columns, details=details, select_star=_select(columns, named, rows, admission.spec))

    def sample(self, actor: Actor, database: Database, table: str, *, schema: str | None, rows: int) -> SampledRows:
        """Return the first rows of a table that the actor may see, in no order.

        Row rules bind as they do on a relation in the SQL of a dataset: those of all datasets over the table.

        Raises:
            DatabaseAccessError: as in `describe`; or the database has previews disabled.
            DatabaseError, StatementRefusedError: as in `describe`.
            TemplateError, QueryError: a row rule that binds the actor cannot be evaluated.
        """
        if database.sets(NO_PREVIEW):
            raise DatabaseAccessError(
                f"database {database.database_name!r} shows no rows of its tables ({NO_PREVIEW} in its extra); ask a "
                "dataset over the table"
            )
        admission, named, columns = self._columns(actor, database, table, schema)
        sql = _select(columns, named, rows + 1, admission.spec)  # one more tells whether there are more
        checked = check_select(sql, spec=admission.spec, place=f"table {table!r}")
        ruled = self._row_security.ruled(actor, replace(named, sql=sql), admission.spec)
        source = self._row_security.in_source(ruled, checked)
        fetched = self._gate.statements.run(
            admission.to_run(_statement(source, columns, admission)),
            limits=FetchLimits(
                max_rows=rows,
                max_bytes=self._settings.max_result_bytes,
                timeout_s=self._settings.statement_timeout_s,
            ),
        )
        return SampledRows(columns=columns, frame=fetched.frame, was_cut=fetched.has_more)

    def _columns(
        self, actor: Actor, database: Database, table: str, schema: str | None
    ) -> tuple[Admission, Dataset, tuple[FoundColumn, ...]]:
        admission = self._gate.admit(actor, database, on=SchemaTables(schema))
        named = Dataset(uuid="", database_id=database.id, table_name=table, schema=schema)
        reject_revealing_table(named, admission.spec)
        found = self._reflector.columns(admission, table=table, schema=schema)
        return admission, named, with_kinds(found, admission.spec)


def _select(columns: tuple[FoundColumn, ...], table: Dataset, rows: int, spec: EngineSpec) -> str:
    """Return the SELECT of the first rows by the names of the columns, so that none comes along that nobody saw."""
    named = replace(table, columns=tuple(DatasetColumn(column_name=column.name) for column in columns))
    return select_star(named, spec, rows=rows)


def _statement(source: SqlSource, columns: tuple[FoundColumn, ...], admission: Admission) -> Statement:
    sql, parameters = render_source(source, admission.spec)
    return Statement(
        sql=sql,
        parameters=parameters,
        display_sql=source.sql,
        labels=tuple(column.name for column in columns),
        kinds=tuple(column.kind for column in columns),
    )

"""The one value that an alert's query gives, read as whoever the alert runs as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from analytics_core._engine.compile.render import render_source
from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.compile.templates import is_template
from analytics_core._engine.execution.fetching import FetchLimits
from analytics_core._engine.gate.gate import DatabaseUse, Gate
from analytics_core._engine.gate.guard import check_select
from analytics_core._engine.gate.metadata import MetadataReader
from analytics_core._engine.gate.row_security import RowSecurity
from analytics_core._engine.querying.chart_request import ChartRequest
from analytics_core._engine.querying.templating import QueryTemplates
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.settings import Settings
from analytics_core.models.query import ChartDataQueryObject

_MOST_ROWS: Final = 2
"""One is judged; a second one tells that there are more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRows:
    """What an alert's query gave: at most two rows; `sql` is the statement as people read it."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    sql: str


class AlertQueries:
    """Runs the queries of alerts, which are SQL of their owners, through the gate; any thread may use it."""

    def __init__(
        self,
        *,
        gate: Gate,
        metadata: MetadataReader,
        row_security: RowSecurity,
        templates: QueryTemplates,
        settings: Settings,
    ) -> None:
        self._gate = gate
        self._metadata = metadata
        self._row_security = row_security
        self._templates = templates
        self._limits = FetchLimits(
            max_rows=_MOST_ROWS, max_bytes=settings.max_result_bytes, timeout_s=settings.statement_timeout_s
        )

    def check(self, actor: Actor, database: Database, sql: str) -> None:
        """Raise where a query can never be asked, as far as that is known without asking it.

        What a template makes is known when it runs.

        Raises:
            DatabaseAccessError, StatementRefusedError, VirtualDatasetError: as for `read`.
        """
        admission = self._gate.admit(actor, database, on=DatabaseUse.QUERY)
        if not is_template(sql):
            check_select(sql, spec=admission.spec, place="the query")

    def read(self, request: ChartRequest, database: Database, sql: str, *, name: str) -> AlertRows:
        """Return the first rows of an alert's query as the actor of a request may see them, at its moment.

        Raises:
            DatabaseAccessError: the actor may not run SQL on this database.
            TemplateError: the template of the query, or of a row rule, cannot be rendered.
            StatementRefusedError, VirtualDatasetError: it is not one SELECT with distinct column names.
            DatabaseError: the database refuses it, or cannot be reached.
        """
        admission = self._gate.admit(request.actor, database, on=DatabaseUse.QUERY)
        dataset = Dataset(uuid="", database_id=database.id, table_name=name, sql=sql)
        rendered = self._templates.for_query(ChartDataQueryObject(), dataset, admission.spec, request).render(sql)
        checked = check_select(rendered, spec=admission.spec, place=f"alert {name!r}")
        columns = self._metadata.columns_of(request.actor, dataset, database, sql=rendered)
        source = self._row_security.in_source(self._row_security.ruled(request.actor, dataset, admission.spec), checked)
        text, parameters = render_source(source, admission.spec)
        statement = Statement(
            sql=text,
            parameters=parameters,
            display_sql=source.sql,
            labels=tuple(column.name for column in columns),
            kinds=tuple(column.kind for column in columns),
        )
        fetched = self._gate.statements.run(
            admission.to_run(statement), limits=self._limits, cancel=request.cancel, budget=request.budget
        )
        return AlertRows(columns=statement.labels, rows=list(fetched.frame.rows()), sql=source.sql)

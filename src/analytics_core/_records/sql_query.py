"""What somebody ran in the SQL editor and where it stands, and statements that are kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from analytics_core._records.audit import StoredRecord


class QueryState(StrEnum):
    """Where a query of the SQL editor stands (contract, `status` of a query record)."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    STOPPED = "stopped"
    TIMED_OUT = "timed_out"

    @property
    def is_over(self) -> bool:
        """Tell whether the query has its last state."""
        return not NEXT_QUERY_STATES[self]


NEXT_QUERY_STATES: Final[Mapping[QueryState, frozenset[QueryState]]] = {
    QueryState.PENDING: frozenset({QueryState.RUNNING, QueryState.STOPPED, QueryState.FAILED}),
    QueryState.RUNNING: frozenset({QueryState.SUCCESS, QueryState.FAILED, QueryState.STOPPED, QueryState.TIMED_OUT}),
    QueryState.SUCCESS: frozenset(),
    QueryState.FAILED: frozenset(),
    QueryState.STOPPED: frozenset(),
    QueryState.TIMED_OUT: frozenset(),
}
"""Which states may follow each one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlQuery(StoredRecord):
    """A query of the SQL editor; times are milliseconds since 1970, as the contract has them.

    `client_id` is its caller's name for it, unique among their queries. `job_id` names the job that runs it, in any
    process. `query_limit` is what the caller asked for, `limit` what counted, and `limiting_factor` which limit cut.
    `tables` are the relations that it reads. `tmp_*` and `select_as_cta*` are of a table or view that it makes.
    """

    client_id: str
    user_id: int
    database_id: int
    sql: str
    job_id: str
    state: QueryState = QueryState.PENDING
    schema: str | None = None
    tab_name: str | None = None
    sql_editor_id: str | None = None
    template_params: str | None = None
    query_limit: int | None = None
    expand_data: bool = False
    select_sql: str | None = None
    executed_sql: str | None = None
    limit: int | None = None
    limiting_factor: str | None = None
    progress: int = 0
    rows: int | None = None
    tables: tuple[str, ...] = ()
    results_key: str | None = None
    tmp_schema_name: str | None = None
    tmp_table_name: str | None = None
    ctas_method: str | None = None
    select_as_cta: bool = False
    select_as_cta_used: bool = False
    error_message: str | None = None
    error_type: str | None = None
    start_time: float | None = None
    start_running_time: float | None = None
    end_time: float | None = None
    end_result_backend_time: float | None = None
    extra: str | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """What `extra` tells, a JSON text: of each statement of a script, and what to know of what it made."""
        return dict(json.loads(self.extra or "{}"))

    @property
    def tracking_url(self) -> str | None:
        """Where the server of the database shows what was run, once that is over; None where no driver told it."""
        return self.facts.get("tracking_url")

    def moved(self, state: QueryState, **fields: Any) -> SqlQuery | None:
        """Return the record in another state, with what is told of it then; None where that state does not follow."""
        return replace(self, state=state, **fields) if state in NEXT_QUERY_STATES[self.state] else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedQuery(StoredRecord):
    """A statement that somebody keeps, to run it again; `template_params` is a JSON text."""

    uuid: str
    label: str
    database_id: int
    sql: str
    description: str | None = None
    schema: str | None = None
    template_params: str | None = None
    tag_ids: tuple[int, ...] = ()

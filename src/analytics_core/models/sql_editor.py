"""Shapes of the SQL editor and its queries (contract, section SQL editor and queries).

Attributes are in our spelling, payloads in the contract's: `query_limit` is `queryLimit`.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from analytics_core.models.base import (
    Answer,
    AnswerWithSchema,
    Bool,
    Integer,
    JsonInput,
    JsonObject,
    Moment,
    Number,
    Objects,
    Omittable,
    ReadOnly,
    SqlText,
    StrictShape,
    Text11,
    Text16,
    Text64,
    Text256,
    Title250,
)
from analytics_core.models.dataset import DatabaseNameOnly, DatabaseOfDatasetItem
from analytics_core.models.references import TagReference, UserDetails, UserReference


class ExecutePayload(StrictShape):
    """A statement to run (contract, `ExecutePayloadSchema`); its field `json` is the attribute `as_json`."""

    database_id: Integer
    sql: SqlText
    client_id: str | None = None
    ctas_method: str | None = None
    expand_data: Bool | None = None
    as_json: Bool | None = Field(default=None, alias="json")
    query_limit: Integer | None = Field(default=None, alias="queryLimit")
    run_async: Bool | None = Field(default=None, alias="runAsync")
    schema_name: str | None = Field(default=None, alias="schema")
    select_as_cta: Bool | None = None
    sql_editor_id: str | None = None
    tab: str | None = None
    template_params: JsonInput | None = Field(default=None, alias="templateParams")
    tmp_table_name: str | None = None


class EstimateQueryCost(StrictShape):
    """A statement whose cost is to be estimated (contract, `EstimateQueryCostSchema`)."""

    database_id: Integer
    sql: SqlText
    schema_name: str | None = Field(default=None, alias="schema")
    template_params: Omittable[JsonObject] = None


class SqlQueryResult(AnswerWithSchema):
    """A query of the SQL editor as its client sees it (contract, `QueryResult`).

    `start_dttm` and `end_dttm` are in milliseconds since 1970.
    """

    id: str | None = None
    query_id: Integer | None = Field(default=None, alias="queryId")
    server_id: Integer | None = Field(default=None, alias="serverId")
    sql: str | None = None
    executed_sql: str | None = Field(default=None, alias="executedSql")
    db: str | None = None
    db_id: Integer | None = Field(default=None, alias="dbId")
    tab: str | None = None
    sql_editor_id: str | None = Field(default=None, alias="sqlEditorId")
    user: str | None = None
    user_id: Integer | None = Field(default=None, alias="userId")
    state: str | None = None
    limit: Integer | None = None
    limiting_factor: str | None = Field(default=None, alias="limitingFactor")
    progress: Integer | None = None
    rows: Integer | None = None
    results_key: str | None = Field(default=None, alias="resultsKey")
    start_dttm: Number | None = Field(default=None, alias="startDttm")
    end_dttm: Number | None = Field(default=None, alias="endDttm")
    changed_on: Moment | None = None
    ctas: Bool | None = None
    error_message: str | None = Field(default=None, alias="errorMessage")
    extra: JsonObject | None = None
    temp_schema: str | None = Field(default=None, alias="tempSchema")
    temp_table: str | None = Field(default=None, alias="tempTable")
    tracking_url: str | None = Field(default=None, alias="trackingUrl")


class QueryExecutionResponse(Answer):
    """The rows of a statement and the record of its run (contract, `QueryExecutionResponseSchema`)."""

    query_id: Integer | None = None
    status: str | None = None
    query: SqlQueryResult | None = None
    columns: Objects = ()
    selected_columns: Objects = ()
    expanded_columns: Objects = ()
    data: Objects = ()


class DatabaseOfQuery(Answer):
    """The database of a query (contract, field `database` of `QueryRestApi.get`)."""

    id: Integer = 0


class _QueryAnswer(AnswerWithSchema):
    """What a query and an item of a list of queries share."""

    id: Integer = 0
    sql: str | None = None
    executed_sql: str | None = None
    status: Text16 | None = None
    schema_name: Text256 | None = Field(default=None, alias="schema")
    tab_name: Text256 | None = None
    tmp_table_name: Text256 | None = None
    rows: Integer | None = None
    start_time: Number | None = None
    end_time: Number | None = None
    changed_on: Moment | None = None
    tracking_url: ReadOnly[str] = None


class QueryGet(_QueryAnswer):
    """One query of the SQL editor; times are in milliseconds since 1970 (contract, `QueryRestApi.get`)."""

    client_id: Text11
    database: DatabaseOfQuery
    select_sql: str | None = None
    sql_editor_id: Text256 | None = None
    tmp_schema_name: Text256 | None = None
    results_key: Text64 | None = None
    limit: Integer | None = None
    progress: Integer | None = None
    select_as_cta: Bool | None = None
    select_as_cta_used: Bool | None = None
    error_message: str | None = None
    start_running_time: Number | None = None
    end_result_backend_time: Number | None = None


class QueryListItem(_QueryAnswer):
    """One query of a list; times are in milliseconds since 1970 (contract, `QueryRestApi.get_list`)."""

    database: DatabaseNameOnly | None = None
    sql_tables: ReadOnly[tuple[Any, ...]] = None
    user: UserDetails | None = None


class SavedQueryPost(StrictShape):
    """A statement to keep; the contract has no shape for it."""

    label: Title250
    database: Integer
    sql: SqlText
    description: str | None = None
    schema_name: Text256 | None = Field(default=None, alias="schema")
    template_params: JsonInput | None = None
    tags: tuple[TagReference, ...] = ()


class SavedQueryPut(StrictShape):
    """Changes of a statement that is kept."""

    label: Omittable[Title250] = None
    database: Omittable[Integer] = None
    sql: Omittable[SqlText] = None
    description: str | None = None
    schema_name: Text256 | None = Field(default=None, alias="schema")
    template_params: JsonInput | None = None
    tags: Omittable[tuple[TagReference, ...]] = None


class SavedQueryGet(AnswerWithSchema):
    """A statement that somebody keeps."""

    id: Integer = 0
    uuid: str
    label: str
    database: DatabaseOfDatasetItem
    sql: str
    description: str | None = None
    schema_name: Text256 | None = Field(default=None, alias="schema")
    template_params: str | None = None
    tags: tuple[TagReference, ...] = ()
    created_by: UserReference | None = None
    changed_on: Moment | None = None


class SavedQueryListItem(SavedQueryGet):
    """One statement of a list of those that are kept."""

    created_on: Moment | None = None
    changed_by: UserReference | None = None
    changed_on_delta_humanized: ReadOnly[str] = None

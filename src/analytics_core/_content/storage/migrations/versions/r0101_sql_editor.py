"""The tables of the SQL editor: what was run, and the statements that people keep.

Revision ID: 0101
Revises: 0100
"""

from __future__ import annotations

from typing import Any

from alembic.operations import Operations
from sqlalchemy import Boolean, Column, Double, ForeignKey, Integer, UniqueConstraint
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeEngine

from analytics_core._content.storage.column_types import LongText, Name, UtcMoment
from analytics_core._content.storage.migrations import made_indexes

revision = "0101"
down_revision = "0100"
branch_labels = None
depends_on = None


def upgrade(op: Operations) -> None:
    """Make the tables and indexes; those that a run cut off on MariaDB had made already are left as they are."""
    _create_queries(op)
    _create_saved_statements(op)


def _create_queries(op: Operations) -> None:
    _create_records(
        op,
        "ac_sql_queries",
        Column("client_id", Name(11), nullable=False),
        Column("user_id", Integer(), nullable=False),
        _database("fk_ac_sql_queries_database"),
        Column("sql", LongText(), nullable=False),
        Column("job_id", Name(64), nullable=False),
        Column("state", Name(16), nullable=False),
        *_nullable(Name(256), "schema", "tab_name", "sql_editor_id", "tmp_schema_name", "tmp_table_name"),
        *_nullable(LongText(), "template_params", "select_sql", "executed_sql", "error_message"),
        *_nullable(Integer(), "query_limit", "limit", "rows"),
        *_nullable(Name(64), "limiting_factor", "results_key", "ctas_method", "error_type"),
        *(Column(name, Boolean(), nullable=False) for name in ("expand_data", "select_as_cta", "select_as_cta_used")),
        Column("progress", Integer(), nullable=False),
        Column("tables", LongText(), nullable=False),
        *_nullable(Double(), "start_time", "start_running_time", "end_time", "end_result_backend_time"),
        Column("extra", LongText()),
        UniqueConstraint("user_id", "client_id", name="uq_ac_sql_queries_client"),
    )
    _create_indexes(op, "ac_sql_queries", database="database_id", job="job_id", end="end_time")


def _create_saved_statements(op: Operations) -> None:
    _create_records(
        op,
        "ac_saved_statements",
        Column("uuid", Name(36), nullable=False),
        Column("label", Name(256), nullable=False),
        _database("fk_ac_saved_statements_database"),
        Column("sql", LongText(), nullable=False),
        Column("description", LongText()),
        Column("schema", Name(256)),
        Column("template_params", LongText()),
        UniqueConstraint("uuid", name="uq_ac_saved_statements_uuid"),
    )
    _create_indexes(op, "ac_saved_statements", database="database_id")
    op.create_table(
        "ac_saved_statement_tags",
        _link("saved_statement", "fk_ac_saved_statement_tags_saved_statement"),
        _link("tag", "fk_ac_saved_statement_tags_tag"),
        if_not_exists=True,
    )
    _create_indexes(op, "ac_saved_statement_tags", tag="tag_id")


def _create_records(op: Operations, name: str, *items: SchemaItem) -> None:
    op.create_table(
        name,
        Column("id", Integer(), primary_key=True, autoincrement=True),
        *items,
        Column("created_on", UtcMoment(), nullable=False),
        Column("changed_on", UtcMoment(), nullable=False),
        Column("created_by", Integer()),
        Column("changed_by", Integer()),
        Column("version", Integer(), nullable=False),
        sqlite_autoincrement=True,
        if_not_exists=True,
    )


def _nullable(kind: TypeEngine[Any], *names: str) -> tuple[Column[Any], ...]:
    return tuple(Column(name, kind) for name in names)


def _database(name: str) -> Column[int]:
    key = ForeignKey("ac_databases.id", name=name, ondelete="CASCADE")
    return Column("database_id", Integer(), key, nullable=False)


def _link(of: str, name: str) -> Column[int]:
    key = ForeignKey(f"ac_{of}s.id", name=name, ondelete="CASCADE")
    return Column(f"{of}_id", Integer(), key, primary_key=True, autoincrement=False)


def _create_indexes(op: Operations, table: str, /, **columns: str) -> None:
    """Make the indexes that are not there."""
    made = made_indexes(op, table)
    for name, column in columns.items():
        if f"ix_{table}_{name}" not in made:
            op.create_index(f"ix_{table}_{name}", table, [column])

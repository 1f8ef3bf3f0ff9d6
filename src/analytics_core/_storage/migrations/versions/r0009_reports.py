"""Schedules of alerts and reports, where they stand, their runs, and what was sent to whom.

Revision ID: 0009
Revises: 0008

Everything here is written out, so that later changes of the tables do not change what this revision makes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations
from sqlalchemy.schema import SchemaItem

from analytics_core._storage.column_types import LongText, Name, UtcMoment

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade(op: Operations) -> None:
    """Make the tables and indexes; those that a run cut off on MariaDB had made already are left as they are."""
    _create_schedules(op)
    _create_progress(op)
    _create_executions(op)
    _create_deliveries(op)


def _create_schedules(op: Operations) -> None:
    keys = {
        of: sa.ForeignKey(f"ac_{of}s.id", name=f"fk_ac_report_schedules_{of}")
        for of in ("chart", "dashboard", "database")
    }
    _create_records(
        op,
        "ac_report_schedules",
        sa.Column("uuid", Name(36), nullable=False),
        sa.Column("name", Name(150), nullable=False),
        sa.Column("type", Name(50), nullable=False),
        sa.Column("crontab", LongText(), nullable=False),
        sa.Column("timezone", Name(100), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("creation_method", Name(255), nullable=False),
        sa.Column("description", LongText()),
        sa.Column("context_markdown", LongText()),
        *(sa.Column(f"{of}_id", sa.Integer(), key) for of, key in keys.items()),
        sa.Column("custom_width", sa.Integer()),
        sa.Column("force_screenshot", sa.Boolean(), nullable=False),
        sa.Column("grace_period", sa.Integer()),
        sa.Column("log_retention", sa.Integer()),
        sa.Column("working_timeout", sa.Integer()),
        sa.Column("report_format", Name(50), nullable=False),
        sa.Column("selected_tabs", LongText()),
        sa.Column("sql", LongText()),
        sa.Column("validator_type", Name(100)),
        sa.Column("validator_config_json", LongText()),
        sa.Column("extra", LongText()),
        sa.Column("recipients", LongText(), nullable=False),
        sa.Column("saved_by", sa.Integer()),
        sa.UniqueConstraint("uuid", name="uq_ac_report_schedules_uuid"),
        sa.UniqueConstraint("type", "name", name="uq_ac_report_schedules_name"),
    )
    _create_indexes(op, "ac_report_schedules", **{of: f"{of}_id" for of in keys}, changed="changed_on")
    schedule = sa.ForeignKey(
        "ac_report_schedules.id", ondelete="CASCADE", name="fk_ac_report_schedule_owners_report_schedule_id"
    )
    op.create_table(
        "ac_report_schedule_owners",
        sa.Column("report_schedule_id", sa.Integer(), schedule, primary_key=True, autoincrement=False),
        sa.Column("user_id", sa.Integer(), primary_key=True, autoincrement=False),
        if_not_exists=True,
    )
    _create_indexes(op, "ac_report_schedule_owners", user="user_id")


def _create_progress(op: Operations) -> None:
    _create_records(
        op,
        "ac_report_progress",
        _schedule_column("ac_report_progress"),
        sa.Column("next_due_on", UtcMoment()),
        sa.Column("last_eval_dttm", UtcMoment()),
        sa.Column("last_state", Name(50)),
        sa.Column("last_value", sa.Double()),
        sa.Column("last_value_row_json", LongText()),
        sa.Column("last_success_on", UtcMoment()),
        sa.Column("last_notice_on", UtcMoment()),
        sa.UniqueConstraint("schedule_id", name="uq_ac_report_progress_schedule"),
    )
    _create_indexes(op, "ac_report_progress", due="next_due_on")


def _create_executions(op: Operations) -> None:
    _create_records(
        op,
        "ac_report_executions",
        sa.Column("uuid", Name(36), nullable=False),
        _schedule_column("ac_report_executions"),
        sa.Column("scheduled_dttm", UtcMoment(), nullable=False),
        sa.Column("cause", Name(20), nullable=False),
        sa.Column("state", Name(50), nullable=False),
        sa.Column("start_dttm", UtcMoment()),
        sa.Column("end_dttm", UtcMoment()),
        sa.Column("error_message", LongText()),
        sa.Column("value", sa.Double()),
        sa.Column("value_row_json", LongText()),
        sa.Column("job_id", Name(64)),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("lease_until", UtcMoment()),
        sa.Column("late_on", UtcMoment()),
        sa.Column("manifest", LongText()),
        sa.UniqueConstraint("uuid", name="uq_ac_report_executions_uuid"),
        sa.UniqueConstraint("schedule_id", "scheduled_dttm", name="uq_ac_report_executions_scheduled_dttm"),
    )
    _create_indexes(op, "ac_report_executions", end="end_dttm")


def _create_deliveries(op: Operations) -> None:
    run = sa.ForeignKey("ac_report_executions.id", ondelete="CASCADE", name="fk_ac_report_deliveries_execution")
    _create_records(
        op,
        "ac_report_deliveries",
        sa.Column("execution_id", sa.Integer(), run, nullable=False),
        sa.Column("recipient_key", Name(64), nullable=False),
        sa.Column("address", LongText(), nullable=False),
        sa.Column("state", Name(20), nullable=False),
        sa.Column("reason", LongText()),
        sa.UniqueConstraint("execution_id", "recipient_key", name="uq_ac_report_deliveries_recipient_key"),
    )


def _schedule_column(table: str) -> sa.Column[int]:
    key = sa.ForeignKey("ac_report_schedules.id", ondelete="CASCADE", name=f"fk_{table}_schedule")
    return sa.Column("schedule_id", sa.Integer(), key, nullable=False)


def _create_records(op: Operations, name: str, *items: SchemaItem) -> None:
    op.create_table(
        name,
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
        *items,
        sa.Column("created_on", UtcMoment(), nullable=False),
        sa.Column("changed_on", UtcMoment(), nullable=False),
        sa.Column("created_by", sa.Integer()),
        sa.Column("changed_by", sa.Integer()),
        sa.Column("version", sa.Integer(), nullable=False),
        sqlite_autoincrement=True,
        if_not_exists=True,
    )


def _create_indexes(op: Operations, table: str, **columns: str) -> None:
    made = {index["name"] for index in sa.inspect(op.get_bind()).get_indexes(table)}
    for name, column in columns.items():  # MySQL has no IF NOT EXISTS for indexes
        if f"ix_{table}_{name}" not in made:
            op.create_index(f"ix_{table}_{name}", table, [column])

"""Jobs and what came out of them lie in the store, so that every process finds them.

Revision ID: 0006
Revises: 0005

Everything here is written out, so that later changes of the tables do not change what this revision makes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations
from sqlalchemy.schema import SchemaItem

from analytics_core._storage.column_types import LongBytes, LongText, Name, UtcMoment

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade(op: Operations) -> None:
    """Make the tables and indexes; those that a run cut off on MariaDB had made already are left as they are."""
    _create_jobs(op)
    _create_job_results(op)
    _create_records(
        op,
        "ac_job_workers",
        sa.Column("token", Name(64), nullable=False),
        sa.Column("lease_until", UtcMoment(), nullable=False),
        sa.UniqueConstraint("token", name="uq_ac_job_workers_token"),
    )


def _create_jobs(op: Operations) -> None:
    _create_records(
        op,
        "ac_jobs",
        sa.Column("job_id", Name(64), nullable=False),
        sa.Column("kind", Name(32), nullable=False),
        sa.Column("payload", LongText(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("claims", LongText()),
        sa.Column("queue", Name(250), nullable=False),
        sa.Column("moment", UtcMoment()),
        sa.Column("state", Name(20), nullable=False),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("worker", Name(64)),
        sa.Column("lease_until", UtcMoment()),
        sa.Column("started_on", UtcMoment()),
        sa.Column("ended_on", UtcMoment()),
        sa.Column("bound", Name(128)),
        sa.Column("error", LongText()),
        sa.Column("result_bytes", sa.Integer()),
        sa.Column("expires_on", UtcMoment()),
        sa.UniqueConstraint("job_id", name="uq_ac_jobs_job_id"),
    )
    made = {index["name"] for index in sa.inspect(op.get_bind()).get_indexes("ac_jobs")}
    orders = {"end": ["ended_on"], "worker": ["worker"], "user": ["user_id", "id"], "expiry": ["expires_on"]}
    for name, columns in orders.items():  # MySQL has no IF NOT EXISTS for indexes
        if f"ix_ac_jobs_{name}" not in made:
            op.create_index(f"ix_ac_jobs_{name}", "ac_jobs", columns)


def _create_job_results(op: Operations) -> None:
    job = sa.ForeignKey("ac_jobs.id", name="fk_ac_job_results_job", ondelete="CASCADE")
    _create_records(
        op,
        "ac_job_results",
        sa.Column("job_record_id", sa.Integer(), job, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("data", LongBytes(), nullable=False),
        sa.UniqueConstraint("job_record_id", "position", name="uq_ac_job_results_position"),
    )


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

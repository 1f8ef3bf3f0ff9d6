"""Locks among the processes of a store.

Revision ID: 0007
Revises: 0006

Everything here is written out, so that later changes of the tables do not change what this revision makes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations

from analytics_core._storage.column_types import Name, UtcMoment

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade(op: Operations) -> None:
    """Make the table; one that a run cut off on MariaDB had made already is left as it is."""
    op.create_table(
        "ac_locks",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
        sa.Column("name", Name(), nullable=False),
        sa.Column("owner", Name(64), nullable=False),
        sa.Column("ends_on", UtcMoment(), nullable=False),
        sa.UniqueConstraint("name", name="uq_ac_locks_name"),
        sa.Column("created_on", UtcMoment(), nullable=False),
        sa.Column("changed_on", UtcMoment(), nullable=False),
        sa.Column("created_by", sa.Integer()),
        sa.Column("changed_by", sa.Integer()),
        sa.Column("version", sa.Integer(), nullable=False),
        sqlite_autoincrement=True,
        if_not_exists=True,
    )
